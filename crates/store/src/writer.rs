//! Writes a run: the process that holds the lock adds to the folder, block by block, and never changes what
//! is there. The caller decides whether a run may be continued on this host.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Serialize;
use weighbridge_model::environment::Environment;
use weighbridge_model::event::TimedEvent;
use weighbridge_model::id::VariantId;
use weighbridge_model::plan::PlanFile;
use weighbridge_model::record::TrialRecord;
use weighbridge_model::summary::{Detail, Summary};

use crate::digests::{Digests, sha256_hex};
use crate::durable::{Durable, is_there, read_file, sync_folder};
use crate::error::{NextStep, ReadError, WriteError};
use crate::events::EventLog;
use crate::folder::{RunFolder, WireBlock, WireBlockTrial, WireRun, marker_name, numbered, slug};
use crate::lock::Lock;
use crate::redact::redact_json;
use crate::schema::{check_readable, pretty};
use crate::trial;
use crate::utc::UtcTime;
use crate::{
    BLOCKS, DETAIL, DIGESTS, ENVIRONMENT, EVENTS, EXPERIMENT, IMPORTED, PLAN, RECORD_SCHEMA_VERSION, RUN,
    SUMMARY, TRIAL_FILE, TRIALS,
};

/// A variant that takes part in a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Participant {
    /// Position in the experiment.
    pub variant: VariantId,
    pub name: String,
}

/// A run folder, open for writing and locked.
#[derive(Debug)]
pub struct RunWriter {
    folder: RunFolder,
    durable: Durable,
    events: EventLog,
    next_trial: u32,
    _lock: Lock,
}

impl RunWriter {
    /// Creates `<out_dir>/<YYYYMMDD-HHMMSS>-<name>`, with `-2`, `-3` … appended if that exists. `name` is
    /// turned into a [`slug`].
    pub fn create(out_dir: impl AsRef<Path>, name: &str, started: UtcTime) -> Result<Self, WriteError> {
        let durable = Durable::new(NextStep::StartAgain);
        durable.make_folder(out_dir.as_ref())?;
        let name = slug(name);
        let path = create_unused_folder(out_dir.as_ref(), &format!("{}-{name}", started.stamp()), &durable)?;
        Self::fill(&path, name, started, &durable).inspect_err(|_| {
            let _ = fs::remove_dir_all(&path); // not a run yet; the first error is the one to report
        })
    }

    /// Opens a run to continue it. Temporary files of the killed writer are removed; an incomplete block
    /// stays until [`RunWriter::discard_incomplete`], so that refusing to continue changes nothing.
    pub fn resume(path: impl Into<PathBuf>) -> Result<Self, WriteError> {
        let folder = RunFolder::open(path)?;
        let durable = Durable::new(NextStep::Resume(folder.path().to_owned()));
        let lock = Lock::take(folder.path(), &durable)?;
        for part in [folder.path().to_owned(), folder.path().join(TRIALS), folder.path().join(BLOCKS)] {
            durable.remove_temporary(&part)?;
        }
        let events = EventLog::open(folder.path().join(EVENTS), &durable)?;
        Self::begin(folder, events, lock)
    }

    /// The folder, for reading.
    pub fn folder(&self) -> &RunFolder {
        &self.folder
    }

    /// Writes `experiment.toml`, which the caller has [redacted](crate::redact::redact).
    pub fn write_experiment(&self, text: &str) -> Result<(), WriteError> {
        self.write(EXPERIMENT, text.as_bytes())
    }

    /// Writes `environment.json`, [redacted](redact_json).
    pub fn write_environment(&self, environment: &Environment) -> Result<(), WriteError> {
        self.write_redacted(ENVIRONMENT, environment)
    }

    /// Writes `plan.json`, [redacted](redact_json).
    pub fn write_plan(&self, plan: &PlanFile) -> Result<(), WriteError> {
        self.write_redacted(PLAN, plan)
    }

    /// Appends a line to `events.jsonl`; followers see it at once.
    pub fn append_event(&mut self, event: &TimedEvent) -> Result<(), WriteError> {
        self.events.append(event, &self.durable)
    }

    /// Stores a block: each trial, then the marker that makes the block count. After success, the block
    /// survives a kill and a power cut. After an error, the folder is as before.
    ///
    /// Every participant must have a trial, unless a trial is void: then the block does not count and is kept
    /// as evidence. A variant may have several trials (the baseline, one per batch).
    pub fn write_block(
        &mut self,
        participants: &[Participant],
        trials: &[TrialRecord],
    ) -> Result<(), WriteError> {
        let block = self.check_block(participants, trials)?;
        let encoded = encode_block(participants, trials)?;
        let first = self.next_trial;
        let written = self.write_trials(encoded).and_then(|listed| {
            let marker = WireBlock { schema: RECORD_SCHEMA_VERSION, block, trials: listed };
            let path = self.folder.path().join(marker_name(block));
            self.durable.write_file(&path, &pretty("the block", &marker)?)
        });
        written.inspect_err(|_| self.roll_back(block, first))
    }

    /// Removes trials of incomplete blocks; returns how many.
    pub fn discard_incomplete(&mut self) -> Result<usize, WriteError> {
        let markers = self.folder.markers()?;
        let listed: Vec<&str> = markers
            .iter()
            .flat_map(|(_, marker)| &marker.trials)
            .map(|trial| trial.folder.as_str())
            .collect();
        let mut stray = self.folder.trial_folders()?;
        stray.retain(|(name, _)| !listed.contains(&name.as_str()));
        for (_, path) in &stray {
            self.durable.remove_folder(path)?;
        }
        Ok(stray.len())
    }

    /// Writes `summary.json`, replacing an earlier one. From then on the blocks that it rests on are under digests too.
    pub fn write_summary(&self, summary: &Summary) -> Result<(), WriteError> {
        let json = pretty("the summary", summary)?;
        check_readable::<Summary>("the summary", &json)?;
        let mut digests = self.digests()?;
        for (path, marker) in self.folder.markers()? {
            digests.note(&marker_name(marker.block), &read_file(&path)?, None);
        }
        let rows = self.folder.path().join(IMPORTED);
        if is_there(&rows) {
            digests.note(IMPORTED, &read_file(&rows)?, None);
        }
        self.write_under(digests, SUMMARY, &json)
    }

    /// Writes `detail.json`, replacing an earlier one.
    pub fn write_detail(&self, detail: &Detail) -> Result<(), WriteError> {
        let json = serde_json::to_vec(detail).map_err(|error| WriteError::NotStorable {
            what: "the detail".to_owned(),
            problem: error.to_string(),
        })?;
        check_readable::<Detail>("the detail", &json)?;
        self.write(DETAIL, &json)
    }

    fn fill(path: &Path, name: String, started: UtcTime, durable: &Durable) -> Result<Self, WriteError> {
        let lock = Lock::take(path, durable)?;
        durable.make_folder(&path.join(TRIALS))?;
        durable.make_folder(&path.join(BLOCKS))?;
        let events = EventLog::open(path.join(EVENTS), durable)?;
        let manifest = WireRun {
            schema: RECORD_SCHEMA_VERSION,
            name,
            started: started.rfc3339(),
            started_unix_ns: started.unix_ns(),
            digests: true,
        };
        let manifest = pretty("the run", &manifest)?;
        let mut digests = Digests::new();
        digests.note(RUN, &manifest, None);
        durable.write_file(&path.join(DIGESTS), &digests.to_json()?)?;
        // Last, since this file makes the folder a run.
        durable.write_file(&path.join(RUN), &manifest)?;
        Self::begin(RunFolder::open(path)?, events, lock)
    }

    fn begin(folder: RunFolder, events: EventLog, lock: Lock) -> Result<Self, WriteError> {
        let durable = Durable::new(NextStep::Resume(folder.path().to_owned()));
        let last = folder.trial_folders()?.iter().filter_map(|(name, _)| name.parse::<u32>().ok()).max();
        let next_trial = last.map_or(0, |last| last.saturating_add(1));
        Ok(Self { folder, durable, events, next_trial, _lock: lock })
    }

    fn check_block(&self, participants: &[Participant], trials: &[TrialRecord]) -> Result<u32, WriteError> {
        let Some(TrialRecord { block, .. }) = trials.first() else { return Err(WriteError::EmptyBlock) };
        let block = *block;
        if let Some(other) = trials.iter().map(|trial| trial.block).find(|other| *other != block) {
            return Err(WriteError::MixedBlock { first: block, other });
        }
        if self.folder.path().join(marker_name(block)).exists() {
            return Err(WriteError::BlockExists { block });
        }
        let void = trials.iter().any(|trial| trial.void.is_some());
        let absent = participants.iter().find(|one| !trials.iter().any(|trial| trial.variant == one.variant));
        match absent {
            Some(one) if !void => Err(WriteError::MissingVariant { block, variant: one.name.clone() }),
            _ => Ok(block),
        }
    }

    fn write_trials(&mut self, trials: Vec<Encoded<'_>>) -> Result<Vec<WireBlockTrial>, WriteError> {
        let mut listed = Vec::new();
        for Encoded { participant, batch, files, sha256 } in trials {
            let number = self.next_trial;
            self.next_trial += 1; // even where writing fails: the number may be taken by then
            self.durable.write_folder(&self.trial_path(number), &files)?;
            listed.push(WireBlockTrial {
                folder: numbered(number),
                batch,
                variant: participant.variant.0,
                variant_name: participant.name.clone(),
                sha256,
            });
        }
        Ok(listed)
    }

    /// Removes what a failed [`RunWriter::write_block`] wrote, to free its space. The marker is removed
    /// first: while it exists, its trials must stay. Trials that cannot be removed are not listed and do no
    /// harm.
    fn roll_back(&self, block: u32, first_trial: u32) {
        let marker = self.folder.path().join(marker_name(block));
        let _ = fs::remove_file(&marker);
        if !marker.exists() {
            for number in first_trial..self.next_trial {
                let _ = fs::remove_dir_all(self.trial_path(number));
            }
        }
    }

    fn trial_path(&self, number: u32) -> PathBuf {
        self.folder.path().join(TRIALS).join(numbered(number))
    }

    fn write_redacted(&self, name: &str, value: &impl Serialize) -> Result<(), WriteError> {
        let mut value = serde_json::to_value(value)
            .map_err(|error| WriteError::NotStorable { what: name.to_owned(), problem: error.to_string() })?;
        redact_json(&mut value);
        self.write(name, &pretty(name, &value)?)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), WriteError> {
        self.write_under(self.digests()?, name, bytes)
    }

    fn write_under(&self, mut digests: Digests, name: &str, bytes: &[u8]) -> Result<(), WriteError> {
        let path = self.folder.path().join(name);
        let now = is_there(&path).then(|| read_file(&path)).transpose()?;
        digests.note(name, bytes, now.as_deref());
        self.durable.write_file(&self.folder.path().join(DIGESTS), &digests.to_json()?)?;
        self.durable.write_file(&path, bytes)
    }

    /// The digests so far; none of a run that was written before there were any.
    fn digests(&self) -> Result<Digests, ReadError> {
        match Digests::read(self.folder.path()) {
            Err(ReadError::Missing { .. }) if !self.folder.has_digests() => Ok(Digests::new()),
            read => read,
        }
    }
}

struct Encoded<'a> {
    participant: &'a Participant,
    batch: u32,
    files: Vec<(&'static str, Vec<u8>)>,
    sha256: String,
}

/// Encodes all trials before the first is written, so that a value that cannot be stored leaves nothing
/// behind.
fn encode_block<'a>(
    participants: &'a [Participant],
    trials: &[TrialRecord],
) -> Result<Vec<Encoded<'a>>, WriteError> {
    let encode = |record: &TrialRecord| {
        let (block, variant) = (record.block, record.variant);
        let participant = participants
            .iter()
            .find(|one| one.variant == variant)
            .ok_or(WriteError::UnknownVariant { block, variant: variant.0 })?;
        let files = trial::encode(&participant.name, record).map_err(|problem| WriteError::NotStorable {
            what: format!("the trial of `{}` in block {block}", participant.name),
            problem,
        })?;
        let json = files.iter().find(|(name, _)| *name == TRIAL_FILE);
        let sha256 = json.map(|(_, bytes)| sha256_hex(bytes)).unwrap_or_default();
        Ok(Encoded { participant, batch: record.batch, files, sha256 })
    };
    trials.iter().map(encode).collect()
}

/// Creates a folder of that name, with the first free suffix if it exists.
fn create_unused_folder(out_dir: &Path, name: &str, durable: &Durable) -> Result<PathBuf, WriteError> {
    let mut path = out_dir.join(name);
    for suffix in 2u32.. {
        match fs::create_dir(&path) {
            Ok(()) => break,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                path = out_dir.join(format!("{name}-{suffix}"));
            }
            Err(error) => return Err(durable.error(&path, error)),
        }
    }
    sync_folder(out_dir).map_err(|error| durable.error(out_dir, error))?;
    Ok(path)
}
