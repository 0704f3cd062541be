//! Run folders: written while a run goes on, listed, opened, resumed.
//!
//! One execution of an experiment is one folder, and the folder is the record: every figure of every report
//! can be computed from it again, with public tools. This crate writes and reads that folder. It measures
//! nothing, computes no figure, decides nothing about validity, and keeps no index or database beside the
//! folders. `docs/RECORD.md` describes every file, field and column.
//!
//! **A block counts when its `blocks/NNN.json` exists.** It lists the folders of its trials with the hash of
//! each `trial.json`, which has the hashes of the files beside it; `digests.json` has those of the blocks and of
//! all other files but the events and what is derived. So a later change of any file is found when the run is read:
//! each file when it is used, and everything when the summary is, since that rests on all of it.
//!
//! Each trial is written under a temporary name (`.NNN.<pid>.partial`), its files and the folder are flushed
//! to the disk, the folder is renamed, and the parent is flushed. When all trials of a block are in place,
//! the block's file is written in the same way. So `kill -9` or a power cut loses at most the block that was
//! running. Readers ignore what it leaves (temporary names, trials that no block lists);
//! [`RunWriter::resume`] and [`RunWriter::discard_incomplete`] remove it. `events.jsonl` is not flushed to
//! the disk: a kill loses none of it, a power cut may lose its end. A torn last line is ignored, and cut off
//! on resume.
//!
//! [`RECORD_SCHEMA_VERSION`] is in the field `schema` of `run.json`, of each `blocks/NNN.json` and of each
//! `trial.json`; another version is refused. `summary.json` has its own.
//!
//! # Example
//!
//! ```
//! use weighbridge_model::id::VariantId;
//! use weighbridge_model::record::{ServiceFacts, TrialRecord};
//! use weighbridge_store::{Participant, RunFolder, RunWriter, UtcTime};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let out = tempfile::tempdir()?;
//! let mut run = RunWriter::create(out.path(), "JSON vs. gRPC", UtcTime::from_unix_ns(1_795_296_124_000_000_000))?;
//! run.write_experiment("title = \"JSON vs. gRPC\"\n")?;
//! let baseline = Participant { variant: VariantId(0), name: "http-json".to_owned() };
//! let trial = TrialRecord {
//!     block: 0,
//!     batch: 0,
//!     variant: VariantId(0),
//!     service: ServiceFacts::default(),
//!     windows: Vec::new(),
//!     tallies: Vec::new(),
//!     steps: Vec::new(),
//!     samples: Vec::new(),
//!     pairings: Vec::new(),
//!     preparations: Vec::new(),
//!     memory: Vec::new(),
//!     steal: 0.0,
//!     machine: None,
//!     void: None,
//! };
//! run.write_block(&[baseline], &[trial.clone()])?;
//!
//! let latest = RunFolder::latest(out.path())?.expect("one run");
//! assert!(latest.path().ends_with("20261121-212204-json-vs-grpc"));
//! assert_eq!(latest.load_blocks()?, [[trial]]);
//! # Ok(())
//! # }
//! ```

mod decode;
pub mod error;
pub mod redact;
pub mod scrub;

mod calibrations;
mod counts;
mod digest;
mod digests;
mod durable;
mod events;
mod folder;
mod histograms;
mod lock;
mod samples;
mod schema;
mod stamps;
mod steps;
mod table;
mod trial;
mod utc;
mod windows;
mod writer;

pub use calibrations::Calibrations;
pub use error::{NextStep, ReadError, WriteError};
pub use events::{EventFollower, NewEvents};
pub use folder::{ListedRun, RunFolder, slug};
pub use utc::UtcTime;
pub use writer::{Participant, RunWriter};

use lock::LOCK;

/// Version of the format of `run.json`, `blocks/NNN.json` and `trials/NNN/`.
pub const RECORD_SCHEMA_VERSION: u32 = 1;

const RUN: &str = "run.json";
const EXPERIMENT: &str = "experiment.toml";
const ENVIRONMENT: &str = "environment.json";
const PLAN: &str = "plan.json";
const EVENTS: &str = "events.jsonl";
const TRIALS: &str = "trials";
const BLOCKS: &str = "blocks";
const SUMMARY: &str = "summary.json";
const DETAIL: &str = "detail.json";
const DIGESTS: &str = "digests.json";
/// The imported rows, in the folder of an imported run.
const IMPORTED: &str = "imported.csv";
const TRIAL_FILE: &str = "trial.json";
