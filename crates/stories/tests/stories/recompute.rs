//! Every cost of a run is recomputed from its folder by other code: `recompute.py`, which shares nothing with this
//! workspace and needs only Python's standard library.
//!
//! The runs are small and real: the built program measures probes. Nothing is asserted about how fast anything is,
//! so a noisy machine may change every figure here without failing a test.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::support::{WEIGH, World};

/// A run in a folder of its own, removed with it.
struct Run {
    _home: tempfile::TempDir,
    folder: PathBuf,
}

/// A `[[variant]]` that starts a probe of a known law.
fn probe(name: &str, law: &str) -> String {
    let words: Vec<String> = [WEIGH, "probe"]
        .into_iter()
        .chain(law.split_whitespace())
        .map(|word| Value::from(word).to_string())
        .collect();
    format!("[[variant]]\nname = \"{name}\"\ncommand = [{}]\n", words.join(", "))
}

fn measure(experiment: &str) -> Run {
    // It measures, so it has the machine alone.
    let _alone = World::new();
    let home = tempfile::tempdir().expect("a folder");
    let file = home.path().join("experiment.toml");
    std::fs::write(&file, experiment).expect("a file");
    let out = home.path().join("runs");
    let output = Command::new(WEIGH)
        .args(["run".as_ref(), file.as_os_str(), "--out".as_ref(), out.as_os_str()])
        .current_dir(home.path())
        .env("XDG_STATE_HOME", home.path().join("state"))
        .output()
        .expect("the built program starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    // 3 is "invalid": a late generator on a busy machine, which is a verdict to recompute like any other.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}: {errors}", output.status);
    let mut runs = std::fs::read_dir(&out).expect("a folder of runs");
    let folder = runs.next().expect("one run").expect("an entry").path();
    assert!(runs.next().is_none(), "one run makes one folder");
    Run { _home: home, folder }
}

fn recompute(run: &Path) -> Output {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stories/recompute.py");
    Command::new("python3")
        .args([script.as_path(), run])
        .output()
        .expect("`python3` 3.11 or later starts; it is in the package `python3` of most systems")
}

fn summary(run: &Path) -> Value {
    let text = std::fs::read_to_string(run.join("summary.json")).expect("a summary");
    serde_json::from_str(&text).expect("JSON")
}

#[track_caller]
fn assert_recomputed(run: &Run, costs: usize) {
    let output = recompute(&run.folder);
    let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{errors}{said}");
    assert!(said.contains(&format!("{costs} costs agree")), "{said}");
    assert_eq!(summary(&run.folder)["costs"].as_array().map(Vec::len), Some(costs));
}

#[test]
fn costs_in_closed_load_are_recomputed_at_every_point() {
    let experiment = [
        "title = \"closed\"\n[workload]\nname = \"pingpong\"\n",
        "[load]\nconnections = 2\nwarmup = \"50 ms\"\n",
        // The goal cannot be met: there are more blocks than the first stage, whose spread alone counts.
        "[plan]\nblocks = { min = 4, max = 5 }\nuntil = \"0.001 %\"\nbudget = \"9 s\"\nwindow = \"5 ms\"\n",
        "[matrix]\nworkload.size = [\"64 B\", \"16 KiB\"]\n",
        &probe("null", "null"),
        &probe("delay", "delay 20us"),
    ]
    .concat();
    let run = measure(&experiment);
    assert_recomputed(&run, 28);
    a_changed_summary_is_noticed(&run);
    a_changed_record_is_noticed(&run);
}

#[test]
fn costs_in_open_load_are_recomputed() {
    let experiment = [
        "title = \"open\"\n[workload]\nname = \"pingpong\"\n",
        "[load]\nmodel = \"open\"\nrate = \"2000/s\"\nwarmup = \"50 ms\"\n",
        "[plan]\nblocks = { min = 4, max = 4 }\nbudget = \"1 s\"\n",
        &probe("null", "null"),
        &probe("delay", "delay 20us"),
    ]
    .concat();
    assert_recomputed(&measure(&experiment), 14);
}

/// Two operations, several windows of the baseline in a round, timeouts in the tail, Holm over a hundred rows.
#[test]
fn costs_of_many_variants_and_operations_are_recomputed() {
    let experiment = [
        "title = \"many\"\n[workload]\nname = \"http\"\n",
        "[[workload.request]]\nname = \"small\"\npath = \"/pong/64\"\nweight = 3\n",
        "[[workload.request]]\nname = \"large\"\npath = \"/pong/4096\"\n",
        "[load]\nwarmup = \"20 ms\"\ntimeout = \"8 ms\"\n",
        "[plan]\nblocks = { min = 4, max = 4 }\nbudget = \"1 s\"\nwindow = \"5 ms\"\n",
        "margin = \"30 %\"\nheadline = \"response mean\"\n",
        &probe("null", "null"),
        &probe("same", "null"),
        &probe("delay", "delay 20us"),
        &probe("exponential", "delay exponential:mean=30us"),
        &probe("stops", "periodic-stall --every 60ms --length 10ms"),
    ]
    .concat();
    // For each of four variants: 13 quantities of all operations, 9 of each of the two.
    assert_recomputed(&measure(&experiment), 4 * (14 + 10 + 10));
}

/// Every variant alone with the baseline, whose four trials a block are merged in its own row and apart in costs.
#[test]
fn costs_in_batches_are_recomputed() {
    let experiment = [
        "title = \"batches\"\n[workload]\nname = \"pingpong\"\n[load]\nwarmup = \"20 ms\"\n",
        "[plan]\nblocks = { min = 4, max = 4 }\nbudget = \"2 s\"\nwindow = \"5 ms\"\ntogether = 2\n",
        &probe("null", "null"),
        &probe("same", "null"),
        &probe("delay", "delay 20us"),
        &probe("exponential", "delay exponential:mean=30us"),
    ]
    .concat();
    let run = measure(&experiment);
    assert_recomputed(&run, 42);
    let block = std::fs::read_to_string(run.folder.join("blocks/000.json")).expect("a block");
    let block: Value = serde_json::from_str(&block).expect("JSON");
    assert_eq!(block["trials"].as_array().map(Vec::len), Some(6), "two trials in each of three batches");
}

/// One bound moved by a millionth of itself is found, and named.
fn a_changed_summary_is_noticed(run: &Run) {
    let path = run.folder.join("summary.json");
    let kept = std::fs::read(&path).expect("a summary");
    let mut changed = summary(&run.folder);
    let cost = &mut changed["costs"][14];
    let name = format!(
        "{} / {} / {} at workload.size = 16 KiB, ratio, upper",
        cost["variant"].as_str().expect("a name"),
        cost["operation"].as_str().expect("a name"),
        cost["quantity"].as_str().expect("a name"),
    );
    let upper = cost["ratio"]["upper"].as_f64().expect("an interval: p90 has enough requests");
    cost["ratio"]["upper"] = Value::from(upper * 1.000_001);
    std::fs::write(&path, changed.to_string()).expect("a file");
    let output = recompute(&run.folder);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains(&name), "{errors} does not name {name}");
    std::fs::write(&path, kept).expect("a file");
}

/// A record that is not the one written is refused, not computed with.
fn a_changed_record_is_noticed(run: &Run) {
    let path = run.folder.join("trials/000/windows.csv");
    let text = std::fs::read_to_string(&path).expect("a table");
    std::fs::write(&path, text.replacen(",measured,", ",check,", 1)).expect("a file");
    let output = recompute(&run.folder);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains("windows.csv was altered"), "{errors}");
    std::fs::write(&path, text).expect("a file");
}
