//! Run folders: write as it goes, list, open, resume.
//!
//! One execution of an experiment is one folder, and the folder is the record: every figure of every report can be
//! computed from it again, with public tools. This crate writes and reads that folder. It measures nothing, computes
//! no figure, decides nothing about validity, and keeps no index or database beside the folders.
//!
//! # Layout
//!
//! ```text
//! runs/20261121-212204-json-vs-grpc/     start in UTC, then the name; `-2`, `-3` … behind it where that exists
//!   run.json            schema, name, start: what makes the folder a run
//!   lock                held by the one process that writes; holds its process id
//!   experiment.toml     the experiment as resolved
//!   environment.json    host, toolchains, services
//!   plan.json           seeds and rules
//!   events.jsonl        what happened, one event a line, added to while the run lasts
//!   blocks/000.json     a whole block: its trials and their hashes
//!   trials/000/         one trial: one life of one variant
//!     trial.json        what is one of a kind, and the hashes of the other files
//!     windows.csv       every window, one row each
//!     operations.csv    every window's operations, one row each
//!     resources.csv     CPU by window and role, memory by role
//!     samples.csv       single requests, where sizes are spread over a range
//!     stamps.csv        legs of service times by window, where the kernel's time stamps were asked for
//!     total.hlog        histograms of the measured windows
//!   summary.json        estimates, verdicts, findings (written at the end)
//!   detail.json         what charts draw (written at the end)
//!   report.html …       derived files: can be made again from the rest
//! ```
//!
//! JSON and CSV are UTF-8. Numbers of time are whole nanoseconds, of size bytes; names end in the unit. Counts are below
//! 2^64. Times named `started_ns` and `ended_ns` are on the host's monotonic clock, whose beginning is arbitrary.
//! A version in the field `schema` of `run.json`, of each `blocks/NNN.json` and of each `trial.json` guards the format
//! ([`RECORD_SCHEMA_VERSION`]); another version is refused on opening. `summary.json` has its own.
//!
//! # What counts
//!
//! **A block counts when its `blocks/NNN.json` is there**, and not before. Blocks are numbered as they were planned,
//! trials as they were written, so `trials/` alone says nothing: take the folders that the blocks list. A block's file is
//!
//! ```json
//! {"schema": 1, "block": 0, "trials": [{"folder": "000", "batch": 0, "variant": 0, "variant_name": "http-json", "sha256": "…"}]}
//! ```
//!
//! `sha256` is the hash of the `trial.json` in that folder, which lists the hashes of the files beside it: a change
//! after the run, in any file of any trial, is found when the run is read.
//!
//! Each trial is written under a temporary name (`.NNN.<pid>.partial`), its files and the folder are flushed to the
//! disk, the folder is renamed, and the parent is flushed; when all trials of a block are in place, the block's file
//! appears in the same manner. So `kill -9` or a power cut loses at most the block that was running. What it leaves
//! (temporary names, trials that no block lists) is ignored by readers; [`RunWriter::resume`] and
//! [`RunWriter::discard_incomplete`] remove it. `events.jsonl` is not flushed to the disk: a kill loses none of it, a
//! power cut may lose its end; a torn last line is ignored, and cut off on resume.
//!
//! # `trial.json`
//!
//! | field | meaning |
//! | --- | --- |
//! | `schema` | version of the format |
//! | `block` | block, from 0 |
//! | `batch` | batch within the block, from 0; absent in older records, where it is 0 |
//! | `variant`, `variant_name` | position in the experiment (0 is the baseline), and name |
//! | `service.version`, `service.binary_sha256`, `service.start_ns` | its own word, its executable's hash, start to ready; `null` where unknown |
//! | `memory[].role`, `memory[].point`, `memory[].peak_bytes` | largest resident size by role and point |
//! | `machine` | CPU of the whole machine while the batch was measured, `null` where not known: `span_ns`, `busy_ns` (all cores, by ticks), `resolution_ns` (by which `busy_ns` may be off either way), `generator_ns` (`weigh` itself), `service_ns` (the variants' processes) |
//! | `steal` | share of CPU time the hypervisor took over the block, in parts of 1 |
//! | `void` | `null`, or `kind` (`stopped`, `clock-jump`, `service-died`, `out-of-memory`, `steal`) and `detail`: the trial must not be used |
//! | `sha256` | hash of each other file, by name |
//!
//! # `windows.csv`
//!
//! One row a window, in the order they ran, warm-up and lead-in included.
//!
//! | column | meaning |
//! | --- | --- |
//! | `window` | row number from 0; the key of the other tables |
//! | `kind` | `warm-up`, `lead-in`, `measured` (counts towards estimates) or `check` (a longer window) |
//! | `block`, `batch`, `point`, `round`, `position` | its place, each from 0: block, batch (absent in older records), point, round in batch and point, place in round |
//! | `variant` | position in the experiment |
//! | `started_ns`, `ended_ns` | first byte sent, last reply complete |
//! | `end` | `complete`, `saturated` (never drained) or `aborted` |
//! | `offered`, `requests`, `not_sent` | requests due, begun, and due but never sent |
//! | `errors_connect`, `errors_tls`, `errors_reset`, `errors_timeout`, `errors_protocol`, `errors_status`, `errors_check` | failures by kind |
//! | `connects` | connections opened |
//! | `handshakes`, `resumed` | TLS handshakes completed, and those among them that took up an earlier session |
//! | `all_operation` … `all_response_max_ns` | all operations together, in the columns of `operations.csv`; the nine are empty where there was no good reply |
//! | `sent_bytes`, `received_bytes`, `segments_out`, `segments_in`, `retransmits` | the kernel's counts on the generator's sockets |
//! | `loop_busy_ns`, `loop_wall_ns`, `loop_cpu_ns` | the generator's loop: time outside waiting, whole time, CPU time |
//! | `core_latency_ns` | round trip of a cache line between the client's core and the first of the services', shortly before; empty where it was not measured, absent in older records |
//! | `held_up` | good replies that stood still for 38 to 48 ms between two of their parts; absent in older records |
//! | `loop_delay_p50_ns`, `lag_p99_ns` | epoll's return to the handling of an event; the generator's own lateness |
//!
//! Libraries that know no empty integer read the nine as floating point; in pandas, `dtype="Int64"` keeps them whole.
//!
//! # `operations.csv`
//!
//! One row a window and operation with good replies.
//!
//! | column | meaning |
//! | --- | --- |
//! | `window` | the window |
//! | `operation` | position in the workload |
//! | `ok` | good replies; the times below are theirs |
//! | `response_sum_ns`, `service_sum_ns` | sums of response time (done − due) and service time (done − sent) |
//! | `response_p50_ns`, `service_p50_ns`, `response_p90_ns`, `service_p90_ns` | exact quantiles, nearest rank |
//! | `response_max_ns` | the longest response |
//!
//! # `resources.csv`
//!
//! | column | meaning |
//! | --- | --- |
//! | `resource` | `cpu`: one row a window and role; `memory`: one row a role and point, equal to `memory` in `trial.json` |
//! | `window` | the window (`cpu` only) |
//! | `role` | `service`, `sidecar`, `peer` … |
//! | `cpu_ns` | CPU time from thaw to freeze around the window, lead-in included (`cpu` only) |
//! | `requests` | requests answered in that time, good and bad (`cpu` only) |
//! | `peak_bytes` | largest resident size while the point was measured (`memory` only) |
//! | `point` | the point (`memory` only) |
//!
//! # `stamps.csv`
//!
//! One row a window, in trials whose load asked for the kernel's time stamps; the file is not there in others.
//!
//! | column | meaning |
//! | --- | --- |
//! | `window` | the window |
//! | `unavailable` | why there are no stamps; the other columns are empty then |
//! | `requests`, `unmatched` | good replies with both stamps, and those without |
//! | `clock_error_ns` | by how much the wall clock may have been misread against the monotonic one |
//! | `round_trip_ns` | the shortest round trip that TCP saw; empty where it saw none |
//! | `client_send_sum_ns`, `client_send_p50_ns`, `client_send_p90_ns`, `client_send_p99_ns` | from sent to the driver |
//! | `outside_sum_ns`, `outside_p50_ns`, `outside_p90_ns`, `outside_p99_ns` | from there until the reply's last packet came |
//! | `client_receive_sum_ns`, `client_receive_p50_ns`, `client_receive_p90_ns`, `client_receive_p99_ns` | from there to done |
//!
//! # `samples.csv`
//!
//! One row a request of a measured window, in the order in which they ended, where the workload's
//! sizes are spread over a range; the file is not there in others. A trial keeps a bounded number at each point, whole rounds
//! of it; `samples_left_out` in `trial.json` counts the rest.
//!
//! | column | meaning |
//! | --- | --- |
//! | `kind` | its window's: `measured`; absent in older records |
//! | `point`, `round`, `operation` | its place; in a round every variant is asked for the same sizes |
//! | `size_bytes` | the size asked for |
//! | `due_ns`, `sent_ns`, `done_ns` | its times since the start of the trial's first window |
//! | `outcome` | as in `total.hlog` |
//! | `status` | the reply's status; empty where no head of a reply came |
//! | `length_bytes` | bytes of the reply's body that came |
//! | `relayed_duration_ns`, `relayed_status`, `relayed_length_bytes`, `relayed_retries` | what a relay said of its own request (`mping`); empty elsewhere |
//!
//! # `total.hlog`
//!
//! Histograms of the trial's measured windows in the HdrHistogram interval-log format 1.3 (V2 compressed, base64), which
//! the project's Java, JavaScript, Python and Rust libraries read. Values are nanoseconds from 1 to 3.6 × 10^12 with
//! 3 significant digits; every line's interval is the trial's measured time, in seconds of the monotonic clock. The tag of a line says what it counts:
//!
//! ```text
//! point=0;operation=0;outcome=ok;time=response       done − due
//! point=0;operation=0;outcome=ok;time=service        done − sent
//! point=0;operation=1;outcome=ok;time=message        of a stream's messages: since the one before
//! point=0;time=handshake_full                        TLS handshakes, where there were any
//! point=0;time=handshake_resumed                     those that took up an earlier session
//! point=0;time=client_send                           legs of service times, where the kernel stamped them
//! point=0;time=outside
//! point=0;time=client_receive
//! point=0;time=lag                                   the generator's own lateness
//! point=0;time=loop_delay                            epoll's return to the handling of an event
//! ```
//!
//! Outcomes are `ok`, `connect`, `tls`, `reset`, `timeout` (whose times are lower bounds), `protocol`, `status` and `check`.
//! Histograms of several trials are merged by adding counts; percentiles are never averaged.
//!
//! # By hand
//!
//! ```python
//! import json, pathlib, pandas as pd
//! run = pathlib.Path("runs/20261121-212204-json-vs-grpc")
//! blocks = [json.loads(p.read_text()) for p in sorted((run / "blocks").glob("*.json"))]
//! folders = [run / "trials" / t["folder"] for b in blocks for t in b["trials"]]
//! windows = pd.concat(pd.read_csv(f / "windows.csv") for f in folders).query("kind == 'measured'")
//! windows.groupby(["variant", "block"])["all_response_p50_ns"].median()
//! ```
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

pub mod error;
pub mod redact;
pub mod scrub;

mod calibrations;
mod digest;
mod durable;
mod events;
mod folder;
mod histograms;
mod lock;
mod samples;
mod schema;
mod stamps;
mod table;
mod trial;
mod utc;
mod windows;
mod writer;

pub use calibrations::Calibrations;
pub use error::{NextStep, ReadError, WriteError};
pub use events::{EventFollower, Followed};
pub use folder::{RunFolder, slug};
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
const TRIAL_FILE: &str = "trial.json";
