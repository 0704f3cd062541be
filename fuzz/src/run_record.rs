//! Run folders: one file of a trial, or the log of events, is replaced by the input, hashes put right, and the run read.
//! What is accepted is written by the store and reads back as the same trials.
//!
//! The first byte chooses the file (`6` is `stamps.csv`, `7` `samples.csv`, `8` `steps.csv`, `9`
//! `steps.hlog` and `a` `counts.csv`, which only some trials have), the rest is its content; in a `trial.json` the names of the other files, in capital
//! letters (`WINDOWS.CSV`), stand for their hashes.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use sha2::{Digest, Sha256};
use weighbridge_model::id::{OperationId, PointId, VariantId};
use weighbridge_model::legs::{KernelStamps, LegFigures, StampFigures};
use weighbridge_model::quantity::{Bytes, Nanoseconds, PerSecond, Timestamp};
use weighbridge_model::record::counts::{Count, Counts};
use weighbridge_model::record::samples::{Relayed, Sample};
use weighbridge_model::record::steps::{Course, Step, StepEnd, StepFigure, StepKind, StepRecord, Tenth};
use weighbridge_model::record::{
    ErrorKind, FailedReplies, JvmPauses, LoopHealth, OperationFigures, Outcome, RequestRecord, RoleCpu,
    ServiceFacts, Tallies, TrialRecord, WindowEnd, WindowFigures, WindowKind, WindowRecord,
};
use weighbridge_store::{Participant, RunFolder, RunWriter, UtcTime};

const FILES: [&str; 9] = [
    "windows.csv",
    "operations.csv",
    "resources.csv",
    "total.hlog",
    "stamps.csv",
    "samples.csv",
    "steps.csv",
    "steps.hlog",
    "counts.csv",
];

/// What else the first byte may choose, behind the first four files.
const EVENTS: usize = 4;
const TRIAL: usize = 5;

/// Reads a run one of whose files is `data` without its first byte.
pub fn check(data: &[u8]) {
    accepts(data);
}

/// The same; whether the run is accepted.
pub fn accepts(data: &[u8]) -> bool {
    let Some((&choice, content)) = data.split_first() else { return false };
    let home = scratch();
    let run = home.path().join("run");
    for folder in ["blocks", "trials/000"] {
        fs::create_dir_all(run.join(folder)).expect("a writable folder");
    }
    for (name, bytes) in whole_run() {
        fs::write(run.join(name), bytes).expect("a writable folder");
    }
    let chosen = match choice {
        b'6' => Some(FILES[4]),
        b'7' => Some(FILES[5]),
        b'8' => Some(FILES[6]),
        b'9' => Some(FILES[7]),
        b'a' => Some(FILES[8]),
        other if usize::from(other) % 6 == EVENTS => return events(&run, content),
        other if usize::from(other) % 6 == TRIAL => None,
        other => Some(FILES[usize::from(other) % 6]),
    };
    let trial = run.join("trials/000");
    match chosen {
        Some(name) => {
            let text = fs::read_to_string(trial.join("trial.json")).expect("a whole trial");
            let before = fs::read(trial.join(name)).expect("a whole trial");
            fs::write(trial.join(name), content).expect("a writable folder");
            replace(&trial.join("trial.json"), &text, &digest(&before), &digest(content));
        }
        None => fs::write(trial.join("trial.json"), with_hashes(&trial, content)).expect("a writable folder"),
    }
    let block = run.join("blocks/000.json");
    let marker = fs::read_to_string(&block).expect("a whole block");
    let stated = digest_in(&marker);
    replace(&block, &marker, &stated, &digest(&fs::read(trial.join("trial.json")).expect("just written")));

    let folder = RunFolder::open(&run).expect("its manifest is whole");
    match folder.load_blocks() {
        Ok(blocks) => {
            let [trials] = &blocks[..] else { panic!("one block was written") };
            let again = written(&home.path().join("again"), trials);
            let back = RunFolder::open(&again).and_then(|run| run.load_blocks()).expect("just written");
            assert!(back == blocks, "{} reads back with other contents", chosen.unwrap_or("trial.json"));
            true
        }
        Err(error) => {
            let message = error.to_string();
            assert!(message.contains(run.to_str().expect("a plain path")), "no file is named: {message}");
            false
        }
    }
}

fn with_hashes(trial: &Path, content: &[u8]) -> Vec<u8> {
    let Ok(text) = std::str::from_utf8(content) else { return content.to_vec() };
    let hashed = FILES.into_iter().fold(text.to_owned(), |text, name| {
        let hash = digest(&fs::read(trial.join(name)).expect("a whole trial"));
        text.replace(&name.to_uppercase(), &hash)
    });
    hashed.into_bytes()
}

/// Whole lines are read one by one, and each is an event that reads back the same.
fn events(run: &Path, content: &[u8]) -> bool {
    fs::write(run.join("events.jsonl"), content).expect("a writable folder");
    let Ok(events) = RunFolder::open(run).expect("its manifest is whole").events() else { return false };
    let lines = content.iter().filter(|byte| **byte == b'\n').count();
    assert!(events.len() <= lines, "{} events of {lines} whole lines", events.len());
    for event in events {
        let text = serde_json::to_string(&event).expect("an event can be written");
        let back: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let again = serde_json::to_value(
            serde_json::from_str::<weighbridge_model::event::TimedEvent>(&text).expect("an event reads back"),
        )
        .expect("an event can be written");
        assert_eq!(again, back);
    }
    true
}

/// Every file of a run with the sample for its only trial.
fn whole_run() -> &'static [(String, Vec<u8>)] {
    static FILES_OF_RUN: OnceLock<Vec<(String, Vec<u8>)>> = OnceLock::new();
    FILES_OF_RUN.get_or_init(|| {
        let home = scratch();
        let run = written(home.path(), &[sample()]);
        let trial = FILES.into_iter().chain(["trial.json"]).map(|name| format!("trials/000/{name}"));
        ["run.json", "digests.json", "blocks/000.json"]
            .map(str::to_owned)
            .into_iter()
            .chain(trial)
            .map(|name| (name.clone(), fs::read(run.join(&name)).expect("the store wrote it")))
            .collect()
    })
}

/// A folder in memory where there is one: the store waits for the disk after every file.
fn scratch() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let made = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    made.expect("a writable folder for temporary files")
}

/// A run of one block with these trials, each of the one variant.
fn written(out: &Path, trials: &[TrialRecord]) -> PathBuf {
    let mut writer = RunWriter::create(out, "fuzz", UtcTime::from_unix_ns(1)).expect("a writable folder");
    let participants: Vec<_> =
        trials.iter().map(|trial| Participant { variant: trial.variant, name: "one".to_owned() }).collect();
    writer.write_block(&participants, trials).expect("what was read can be written");
    writer.folder().path().to_owned()
}

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The one hash in a block's marker.
fn digest_in(marker: &str) -> String {
    let at = marker.find("\"sha256\": \"").expect("a marker has a hash") + "\"sha256\": \"".len();
    marker[at..at + 64].to_owned()
}

fn replace(path: &Path, text: &str, old: &str, new: &str) {
    fs::write(path, text.replace(old, new)).expect("a writable folder");
}

fn counts() -> Counts {
    let mut counts = Counts::default();
    Count::ALL.into_iter().zip(1..).for_each(|(count, n)| counts.add(count, n));
    counts
}

fn stamps() -> KernelStamps {
    let leg = |n: u64| {
        let time = Nanoseconds::from_nanos(n);
        LegFigures { sum: time * 2, p50: time, p90: time, p99: time }
    };
    KernelStamps::Taken(StampFigures {
        requests: 2,
        unmatched: 0,
        clock_error: Nanoseconds::from_nanos(80),
        round_trip: Some(Nanoseconds::from_micros(3)),
        legs: [leg(200), leg(500), leg(200)],
    })
}

/// A good reply of a relay, and one that was refused.
fn samples() -> Vec<Sample> {
    let relayed = Relayed {
        duration: Nanoseconds::from_nanos(700),
        status: 200,
        length: Bytes::new(1_000),
        retries: 0,
    };
    let good = Sample {
        kind: WindowKind::Measured,
        point: PointId(0),
        round: 1,
        operation: OperationId(1),
        size: Bytes::new(1_000),
        due: Nanoseconds::from_nanos(0),
        sent: Nanoseconds::from_nanos(500),
        done: Nanoseconds::from_nanos(1_400),
        outcome: Outcome::Ok,
        status: Some(200),
        length: Bytes::new(60),
        relayed: Some(relayed),
    };
    let refused =
        Sample { outcome: Outcome::Error(ErrorKind::Status), status: Some(502), relayed: None, ..good };
    vec![good, refused]
}

/// A trial of two windows and two operations, every file with content.
pub fn sample() -> TrialRecord {
    let figures = OperationFigures {
        operation: OperationId(1),
        ok: 2,
        response_sum: Nanoseconds::from_nanos(3_000),
        service_sum: Nanoseconds::from_nanos(2_000),
        response_p50: Nanoseconds::from_nanos(1_400),
        service_p50: Nanoseconds::from_nanos(900),
        response_p90: Nanoseconds::from_nanos(1_600),
        service_p90: Nanoseconds::from_nanos(1_100),
        response_max: Nanoseconds::from_nanos(1_600),
    };
    let window = |kind, round: u32| WindowRecord {
        kind,
        block: 0,
        point: PointId(0),
        round,
        position: 0,
        variant: VariantId(0),
        figures: WindowFigures {
            started: Timestamp::from_nanos(1_000_000),
            ended: Timestamp::from_nanos(2_000_000),
            end: WindowEnd::Complete,
            offered: 2,
            requests: 2,
            connects: 1,
            handshakes: 1,
            operations: vec![figures],
            all: (round > 0).then_some(figures),
            stamps: (round > 0).then(stamps),
            counts: (round > 0).then(counts),
            ..Default::default()
        },
        core_latency: (round > 0).then(|| Nanoseconds::from_nanos(320)),
        restore: (round > 1).then(|| Nanoseconds::from_nanos(7_001)),
        pauses: (round > 0).then_some(JvmPauses { count: 2, time: Nanoseconds::from_nanos(9_007) }),
        cpu: vec![RoleCpu { role: "service".to_owned(), cpu: Nanoseconds::from_nanos(7), requests: 2 }],
    };
    let mut tallies = Tallies::default();
    for done in [1_400, 1_600] {
        tallies.record(&RequestRecord {
            due: Timestamp::from_nanos(0),
            sent: Timestamp::from_nanos(500),
            done: Timestamp::from_nanos(done),
            operation: OperationId(1),
            outcome: Outcome::Ok,
        });
    }
    TrialRecord {
        block: 0,
        batch: 0,
        variant: VariantId(0),
        service: ServiceFacts::default(),
        windows: vec![window(WindowKind::WarmUp, 0), window(WindowKind::Measured, 1)],
        steps: vec![vec![step(0, tallies.clone()), step(1, Tallies::default())]],
        tallies: vec![tallies],
        samples: samples(),
        pairings: Vec::new(),
        preparations: Vec::new(),
        memory: Vec::new(),
        failures: vec![failure()],
        steal: 0.0,
        machine: None,
        void: None,
    }
}

fn failure() -> FailedReplies {
    let [text, example] = ["stale", "k1"].map(str::to_owned);
    FailedReplies { point: PointId(0), kind: ErrorKind::Check, text, example, count: 2 }
}

/// A step of a search for capacity.
fn step(number: u32, tallies: Tallies) -> StepRecord {
    let nanos = Nanoseconds::from_nanos;
    let tenth = |due: u64| Tenth {
        due,
        good: due - 1,
        errors: 1,
        response_sum: nanos(due * 1_000),
        replies: due,
        smallest_backlog: number.into(),
    };
    StepRecord {
        step: Step {
            number,
            kind: if number == 0 { StepKind::Bracket } else { StepKind::Grid },
            course: Course::Falling,
            rate: PerSecond::new(1234.5).expect("a rate"),
            start: Timestamp::from_nanos(5),
            length: nanos(500_000_000),
            end: StepEnd::Complete,
            health: LoopHealth { busy: nanos(1), wall: nanos(2), cpu: nanos(3), ..LoopHealth::default() },
        },
        lead_in: tenth(9),
        tenths: std::array::from_fn(|at| tenth(10 + at as u64)),
        tallies,
        figures: vec![StepFigure { value: 0.1 + 0.2, error: 1e-9 }, StepFigure { value: 2e6, error: 0.0 }],
        achieved: StepFigure { value: 0.995, error: 0.001 },
    }
}
