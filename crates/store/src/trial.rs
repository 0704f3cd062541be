//! Encodes a trial as a folder of files, and decodes it. `trial.json` holds what occurs once, and the SHA-256
//! of the other files, so its hash identifies the whole trial.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use weighbridge_model::hex;
use weighbridge_model::id::VariantId;
use weighbridge_model::machine::MachineCpu;
use weighbridge_model::network::NetworkFacts;
use weighbridge_model::pairing::{Pairing, Preparation};
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::record::{
    MemoryFacts, PeerFacts, QuotaFacts, RoleMemory, RuntimeFacts, ServiceFacts, TrialRecord, Void,
};

use crate::durable::read_file;
use crate::error::{Problem, ReadError};
use crate::histograms::{read_histograms, write_histograms};
use crate::samples::{read_samples, write_samples};
use crate::schema::parse_versioned;
use crate::stamps::{read_stamps, write_stamps};
use crate::windows::{
    read_operations, read_resources, read_windows, write_operations, write_resources, write_windows,
};
use crate::{RECORD_SCHEMA_VERSION, TRIAL_FILE};

const WINDOWS: &str = "windows.csv";
const OPERATIONS: &str = "operations.csv";
const RESOURCES: &str = "resources.csv";
const STAMPS: &str = "stamps.csv";
const SAMPLES: &str = "samples.csv";
const HISTOGRAMS: &str = "total.hlog";

/// `trial.json`.
#[derive(Debug, Serialize, Deserialize)]
struct WireTrial {
    schema: u32,
    block: u32,
    /// Absent in records from before there were batches, when all variants lived at once.
    #[serde(default)]
    batch: u32,
    variant: u16,
    variant_name: String,
    service: WireService,
    /// One per point; absent in older records.
    #[serde(default)]
    pairings: Vec<Pairing>,
    /// One per point; absent in older records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    preparations: Vec<Preparation>,
    memory: Vec<WireMemory>,
    steal: f64,
    /// Absent in records from before CPU was accounted by role.
    #[serde(default)]
    machine: Option<WireMachine>,
    /// Requests of measured windows that are not kept though their point has samples; absent without samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    samples_left_out: Option<u64>,
    void: Option<Void>,
    sha256: WireHashes,
}

#[derive(Debug, Serialize, Deserialize)]
struct WireService {
    version: Option<String>,
    binary_sha256: Option<String>,
    start_ns: Option<u64>,
    #[serde(default)]
    quota: Option<QuotaFacts>,
    /// Absent without a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    memory: Option<MemoryFacts>,
    #[serde(default)]
    runtime: Option<RuntimeFacts>,
    /// Absent if the service is not a relay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    peer: Option<Box<PeerFacts>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    network: Option<Box<NetworkFacts>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct WireMemory {
    role: String,
    point: u16,
    peak_bytes: u64,
}

#[derive(Debug, Serialize, Deserialize)]
struct WireMachine {
    span_ns: u64,
    busy_ns: u64,
    resolution_ns: u64,
    generator_ns: u64,
    service_ns: u64,
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
    /// Absent if the workload keeps no samples.
    #[serde(rename = "samples.csv", default, skip_serializing_if = "Option::is_none")]
    samples: Option<String>,
    #[serde(rename = "total.hlog")]
    histograms: String,
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
        (HISTOGRAMS, write_histograms(&trial.tallies, &trial.windows)?),
    ];
    let stamps = write_stamps(&trial.windows);
    let samples = write_samples(&trial.samples);
    let wire = WireTrial {
        schema: RECORD_SCHEMA_VERSION,
        block: trial.block,
        batch: trial.batch,
        variant: trial.variant.0,
        variant_name: variant_name.to_owned(),
        service: WireService {
            version: trial.service.version.clone(),
            binary_sha256: trial.service.binary_sha256.clone(),
            start_ns: trial.service.start.map(Nanoseconds::as_nanos),
            quota: trial.service.quota,
            memory: trial.service.memory,
            runtime: trial.service.runtime.clone(),
            peer: trial.service.peer.clone(),
            network: trial.service.network.clone(),
        },
        pairings: trial.pairings.clone(),
        preparations: trial.preparations.clone(),
        memory: trial.memory.iter().map(WireMemory::from).collect(),
        steal: trial.steal,
        machine: trial.machine.map(WireMachine::from),
        samples_left_out: samples.is_some().then(|| trial.all_samples_left_out()),
        void: trial.void.clone(),
        sha256: WireHashes {
            windows: sha256_hex(&files[0].1),
            operations: sha256_hex(&files[1].1),
            resources: sha256_hex(&files[2].1),
            stamps: stamps.as_deref().map(sha256_hex),
            samples: samples.as_deref().map(sha256_hex),
            histograms: sha256_hex(&files[3].1),
        },
    };
    let mut json = serde_json::to_vec_pretty(&wire).map_err(|error| error.to_string())?;
    json.push(b'\n');
    files.extend(stamps.map(|stamps| (STAMPS, stamps)));
    files.extend(samples.map(|samples| (SAMPLES, samples)));
    files.push((TRIAL_FILE, json));
    Ok(files)
}

/// Reads the trial in `folder`; its `trial.json` must have the hash `sha256`.
pub(crate) fn read(folder: &Path, sha256: &str) -> Result<TrialRecord, ReadError> {
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
        let agrees = memory.iter().map(WireMemory::from).eq(wire.memory.iter().cloned());
        agrees
            .then_some(memory)
            .ok_or_else(|| Problem::somewhere(format!("memory differs from `{TRIAL_FILE}`")))
    })?;
    if let Some(hash) = &hashes.stamps {
        Stored::load(folder, STAMPS, hash)?.parse(|bytes| read_stamps(bytes, &mut windows))?;
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
    let tallies = histograms.parse(read_histograms)?;

    Ok(TrialRecord {
        block: wire.block,
        batch: wire.batch,
        variant: VariantId(wire.variant),
        service: ServiceFacts {
            version: wire.service.version,
            binary_sha256: wire.service.binary_sha256,
            start: wire.service.start_ns.map(Nanoseconds::from_nanos),
            quota: wire.service.quota,
            memory: wire.service.memory,
            runtime: wire.service.runtime,
            peer: wire.service.peer,
            network: wire.service.network,
        },
        windows,
        tallies,
        samples,
        pairings: wire.pairings,
        preparations: wire.preparations,
        memory,
        steal: wire.steal,
        machine: wire.machine.map(MachineCpu::from),
        void: wire.void,
    })
}

pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    hex::encode(&Sha256::digest(bytes))
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

impl From<MachineCpu> for WireMachine {
    fn from(machine: MachineCpu) -> Self {
        Self {
            span_ns: machine.span.as_nanos(),
            busy_ns: machine.busy.as_nanos(),
            resolution_ns: machine.resolution.as_nanos(),
            generator_ns: machine.generator.as_nanos(),
            service_ns: machine.service.as_nanos(),
        }
    }
}

impl From<WireMachine> for MachineCpu {
    fn from(machine: WireMachine) -> Self {
        Self {
            span: Nanoseconds::from_nanos(machine.span_ns),
            busy: Nanoseconds::from_nanos(machine.busy_ns),
            resolution: Nanoseconds::from_nanos(machine.resolution_ns),
            generator: Nanoseconds::from_nanos(machine.generator_ns),
            service: Nanoseconds::from_nanos(machine.service_ns),
        }
    }
}

impl From<&RoleMemory> for WireMemory {
    fn from(memory: &RoleMemory) -> Self {
        Self { role: memory.role.clone(), point: memory.point.0, peak_bytes: memory.peak.get() }
    }
}
