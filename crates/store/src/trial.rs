//! Encodes a trial as a folder of files, and decodes it. `trial.json` holds what occurs once, and the SHA-256
//! of the other files, so its hash identifies the whole trial.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use weighbridge_model::id::VariantId;
use weighbridge_model::machine::MachineCpu;
use weighbridge_model::pairing::{Pairing, Preparation};
use weighbridge_model::record::{FailedReplies, RoleMemory, ServiceFacts, TrialRecord, Void};

use crate::counts::{read_counts, write_counts};
use crate::digests::sha256_hex;
use crate::durable::{read_file, refuse_link};
use crate::error::{Problem, ReadError};
use crate::histograms::{Series, read_histograms, write_histograms};
use crate::samples::{read_samples, write_samples};
use crate::schema::parse_versioned;
use crate::stamps::{read_stamps, write_stamps};
use crate::steps::{read_steps, write_steps};
use crate::windows::{
    read_operations, read_resources, read_windows, write_operations, write_resources, write_windows,
};
use crate::{RECORD_SCHEMA_VERSION, TRIAL_FILE};

const WINDOWS: &str = "windows.csv";
const OPERATIONS: &str = "operations.csv";
const RESOURCES: &str = "resources.csv";
const STAMPS: &str = "stamps.csv";
const COUNTS: &str = "counts.csv";
const SAMPLES: &str = "samples.csv";
const HISTOGRAMS: &str = "total.hlog";
const STEPS: &str = "steps.csv";
const STEP_HISTOGRAMS: &str = "steps.hlog";

/// `trial.json`.
#[derive(Debug, Serialize, Deserialize)]
struct WireTrial {
    schema: u32,
    block: u32,
    /// Absent in records from before there were batches, when all variants lived at once.
    #[serde(default)]
    batch: u32,
    variant: VariantId,
    variant_name: String,
    service: ServiceFacts,
    /// One per point; absent in records older than pairings.
    #[serde(default)]
    pairings: Vec<Pairing>,
    /// One per point; absent in older records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    preparations: Vec<Preparation>,
    memory: Vec<RoleMemory>,
    /// Absent if no request failed, and in older records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    failures: Vec<FailedReplies>,
    steal: f64,
    /// Absent in records from before CPU was accounted by role.
    #[serde(default)]
    machine: Option<MachineCpu>,
    /// Requests of measured windows that are not kept though their point has samples; absent without samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    samples_left_out: Option<u64>,
    void: Option<Void>,
    sha256: WireHashes,
}

#[derive(Debug, Serialize, Deserialize)]
struct WireHashes {
    #[serde(rename = "windows.csv")]
    windows: String,
    #[serde(rename = "operations.csv")]
    operations: String,
    #[serde(rename = "resources.csv")]
    resources: String,
    /// Absent if no window has stamps.
    #[serde(rename = "stamps.csv", default, skip_serializing_if = "Option::is_none")]
    stamps: Option<String>,
    /// Absent if the workload counts nothing.
    #[serde(rename = "counts.csv", default, skip_serializing_if = "Option::is_none")]
    counts: Option<String>,
    /// Absent if the workload keeps no samples.
    #[serde(rename = "samples.csv", default, skip_serializing_if = "Option::is_none")]
    samples: Option<String>,
    #[serde(rename = "total.hlog")]
    histograms: String,
    /// Absent, with the next, if no capacity was searched for.
    #[serde(rename = "steps.csv", default, skip_serializing_if = "Option::is_none")]
    steps: Option<String>,
    #[serde(rename = "steps.hlog", default, skip_serializing_if = "Option::is_none")]
    step_histograms: Option<String>,
}

/// A trial as files, `trial.json` last.
///
/// Errors: in words, what cannot be stored.
pub(crate) fn encode(
    variant_name: &str,
    trial: &TrialRecord,
) -> Result<Vec<(&'static str, Vec<u8>)>, String> {
    if !trial.steal.is_finite() {
        return Err(format!("steal is {}, not a share", trial.steal));
    }
    let mut files = vec![
        (WINDOWS, write_windows(&trial.windows, trial.batch)),
        (OPERATIONS, write_operations(&trial.windows)),
        (RESOURCES, write_resources(&trial.windows, &trial.memory)),
        (HISTOGRAMS, write_histograms(Series::Points, &trial.tallies, &trial.windows)?),
    ];
    let stamps = write_stamps(&trial.windows);
    let counts = write_counts(&trial.windows);
    let samples = write_samples(&trial.samples);
    let steps = write_steps(&trial.steps);
    let step_histograms = match &steps {
        Some(_) => {
            let tallies = trial.steps.iter().flatten().map(|step| &step.tallies);
            Some(write_histograms(Series::Steps, tallies, &trial.windows)?)
        }
        None => None,
    };
    let wire = WireTrial {
        schema: RECORD_SCHEMA_VERSION,
        block: trial.block,
        batch: trial.batch,
        variant: trial.variant,
        variant_name: variant_name.to_owned(),
        service: trial.service.clone(),
        pairings: trial.pairings.clone(),
        preparations: trial.preparations.clone(),
        memory: trial.memory.clone(),
        failures: trial.failures.clone(),
        steal: trial.steal,
        machine: trial.machine,
        samples_left_out: samples.is_some().then(|| trial.all_samples_left_out()),
        void: trial.void.clone(),
        sha256: WireHashes {
            windows: sha256_hex(&files[0].1),
            operations: sha256_hex(&files[1].1),
            resources: sha256_hex(&files[2].1),
            stamps: stamps.as_deref().map(sha256_hex),
            counts: counts.as_deref().map(sha256_hex),
            samples: samples.as_deref().map(sha256_hex),
            histograms: sha256_hex(&files[3].1),
            steps: steps.as_deref().map(sha256_hex),
            step_histograms: step_histograms.as_deref().map(sha256_hex),
        },
    };
    let mut json = serde_json::to_vec_pretty(&wire).map_err(|error| error.to_string())?;
    json.push(b'\n');
    files.extend(stamps.map(|stamps| (STAMPS, stamps)));
    files.extend(counts.map(|counts| (COUNTS, counts)));
    files.extend(samples.map(|samples| (SAMPLES, samples)));
    files.extend(steps.map(|steps| (STEPS, steps)));
    files.extend(step_histograms.map(|histograms| (STEP_HISTOGRAMS, histograms)));
    files.push((TRIAL_FILE, json));
    Ok(files)
}

/// Reads the trial in `folder`; its `trial.json` must have the hash `sha256`.
pub(crate) fn read(folder: &Path, sha256: &str) -> Result<TrialRecord, ReadError> {
    refuse_link(folder)?;
    let json = Stored::load(folder, TRIAL_FILE, sha256)?;
    let wire: WireTrial = parse_versioned(&json.path, &json.bytes, RECORD_SCHEMA_VERSION)?;
    json.check_unaltered()?;
    let hashes = &wire.sha256;

    let (mut windows, removed) =
        Stored::load(folder, WINDOWS, &hashes.windows)?.parse(|bytes| read_windows(bytes, wire.batch))?;
    let operations = Stored::load(folder, OPERATIONS, &hashes.operations)?;
    operations.parse(|bytes| read_operations(bytes, &mut windows))?;
    let resources = Stored::load(folder, RESOURCES, &hashes.resources)?;
    let memory = resources.parse(|bytes| {
        let memory = read_resources(bytes, &mut windows)?;
        (memory == wire.memory)
            .then_some(memory)
            .ok_or_else(|| Problem::somewhere(format!("memory differs from `{TRIAL_FILE}`")))
    })?;
    if let Some(hash) = &hashes.stamps {
        Stored::load(folder, STAMPS, hash)?.parse(|bytes| read_stamps(bytes, &mut windows))?;
    }
    if let Some(hash) = &hashes.counts {
        Stored::load(folder, COUNTS, hash)?.parse(|bytes| read_counts(bytes, &mut windows))?;
    }
    let samples = match &hashes.samples {
        Some(hash) => {
            Stored::load(folder, SAMPLES, hash)?.parse(|bytes| read_samples(bytes, &windows, &removed))?
        }
        None => Vec::new(),
    };
    let mut removed = removed.into_iter();
    windows.retain(|_| removed.next() == Some(false));
    let histograms = Stored::load(folder, HISTOGRAMS, &hashes.histograms)?;
    // Altered bytes are never decompressed: they could ask for any amount of memory.
    histograms.check_unaltered()?;
    let tallies = histograms.parse(|bytes| read_histograms(Series::Points, bytes))?;
    let steps = match (&hashes.steps, &hashes.step_histograms) {
        (Some(table), Some(log)) => {
            let log = Stored::load(folder, STEP_HISTOGRAMS, log)?;
            log.check_unaltered()?;
            let histograms = log.parse(|bytes| read_histograms(Series::Steps, bytes))?;
            Stored::load(folder, STEPS, table)?.parse(|bytes| read_steps(bytes, histograms, tallies.len()))?
        }
        _ => Vec::new(),
    };

    Ok(TrialRecord {
        block: wire.block,
        batch: wire.batch,
        variant: wire.variant,
        service: wire.service,
        windows,
        tallies,
        steps,
        samples,
        pairings: wire.pairings,
        preparations: wire.preparations,
        memory,
        failures: wire.failures,
        steal: wire.steal,
        machine: wire.machine,
        void: wire.void,
    })
}

/// Checks the digests of all files of a trial, without reading what they hold.
pub(crate) fn verify(folder: &Path, sha256: &str) -> Result<(), ReadError> {
    refuse_link(folder)?;
    let json = Stored::load(folder, TRIAL_FILE, sha256)?;
    json.check_unaltered()?;
    let wire: WireTrial = parse_versioned(&json.path, &json.bytes, RECORD_SCHEMA_VERSION)?;
    let hashes = wire.sha256;
    let optional = [
        (STAMPS, hashes.stamps),
        (COUNTS, hashes.counts),
        (SAMPLES, hashes.samples),
        (STEPS, hashes.steps),
        (STEP_HISTOGRAMS, hashes.step_histograms),
    ];
    let always = [
        (WINDOWS, hashes.windows),
        (OPERATIONS, hashes.operations),
        (RESOURCES, hashes.resources),
        (HISTOGRAMS, hashes.histograms),
    ];
    let files = always.into_iter().chain(optional.into_iter().filter_map(|(name, hash)| Some((name, hash?))));
    for (name, hash) in files {
        Stored::load(folder, name, &hash)?.check_unaltered()?;
    }
    Ok(())
}

/// A file, with the hash that it should have.
struct Stored {
    path: PathBuf,
    bytes: Vec<u8>,
    sha256: String,
}

impl Stored {
    fn load(folder: &Path, name: &str, sha256: &str) -> Result<Self, ReadError> {
        let path = folder.join(name);
        Ok(Self { bytes: read_file(&path)?, path, sha256: sha256.to_owned() })
    }

    /// Parses before it compares hashes, because a parse error names the line.
    fn parse<T>(&self, read: impl FnOnce(&[u8]) -> Result<T, Problem>) -> Result<T, ReadError> {
        let value = read(&self.bytes).map_err(|problem| problem.at(&self.path))?;
        self.check_unaltered()?;
        Ok(value)
    }

    fn check_unaltered(&self) -> Result<(), ReadError> {
        if sha256_hex(&self.bytes) == self.sha256 {
            return Ok(());
        }
        Err(ReadError::Altered { path: self.path.clone() })
    }
}
