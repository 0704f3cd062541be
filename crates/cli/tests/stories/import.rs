//! What another program measured: imported, shown, written again to the letter; a damaged file named with its line.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn weigh(folder: &Path, arguments: &[&str]) -> Output {
    let program = crate::support::WEIGH;
    Command::new(program).args(arguments).current_dir(folder).output().expect("weigh starts")
}

fn corpus(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/ppbench_csv").join(name)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

const HEADER: &str = "Machine Tag,Experiment Tag,Document Path,Failed requests,Concurrency Level,Total transferred,\
                      Time per request,Transfer rate,Requests per second,Retries,Response Code\n";

/// A log of good rows: machine, experiment, and the milliseconds of each of its sizes.
fn log(series: &[(&str, &str, f64)]) -> String {
    let mut text = HEADER.to_owned();
    for (machine, experiment, time) in series {
        for size in (1..=30).map(|step| 1000 * step) {
            text += &format!("{machine},{experiment},/mping/{size},0,1,{size},{time},1,1,0,200\n");
        }
    }
    text
}

/// Imports and gives the run's folder.
fn imported(folder: &Path, arguments: &[&str]) -> String {
    let done = weigh(folder, &[&["import", "ppbench"], arguments].concat());
    assert!(done.status.success(), "{}", text(&done.stderr));
    text(&done.stdout).trim().to_owned()
}

fn summary_of(folder: &Path, run: &str) -> serde_json::Value {
    let json = weigh(folder, &["export", run, "--format", "json"]);
    serde_json::from_slice(&json.stdout).expect("JSON")
}

#[test]
fn a_log_of_ppbench_becomes_a_run_and_comes_out_as_it_went_in() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = corpus("failed-and-retried.csv");
    let log = log.to_str().expect("a plain path");
    let done = weigh(folder.path(), &["import", "ppbench", log]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let run = text(&done.stdout).trim().to_owned();
    let out = weigh(folder.path(), &["export", &run, "--format", "ppbench-csv"]);
    assert_eq!(text(&out.stdout), std::fs::read_to_string(log).expect("the log"), "{}", text(&out.stderr));
    let json = weigh(folder.path(), &["export", &run, "--format", "json"]);
    let summary: serde_json::Value = serde_json::from_slice(&json.stdout).expect("JSON");
    let names: Vec<_> = summary["variants"].as_array().unwrap().iter().map(|v| v["name"].clone()).collect();
    assert_eq!(names, ["ruby on m", "docker on m3.large"]);
    assert_eq!(summary["costs"][0]["verdict"], "invalid");
    assert_eq!(summary["costs"][0]["reason"], "not measured together");
    let told = "imported 2 rows in 2 series; in no figure: 1 failed; repeated before they were answered: 1; ";
    assert!(text(&done.stderr).starts_with(told), "{}", text(&done.stderr));
    let shown = text(&weigh(folder.path(), &["export", &run, "--format", "text"]).stdout);
    assert!(shown.contains("1 of 1 rows are in no figure: 1 failed"), "{shown}");
    assert!(shown.contains("1 of 1 rows hold requests that were repeated"), "{shown}");
    let report = weigh(folder.path(), &["report", &run]);
    assert!(report.status.success(), "{}", text(&report.stderr));
}

#[test]
fn a_damaged_log_is_one_error_with_line_and_column_and_leaves_no_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = corpus("open-quote.csv");
    let failed = weigh(folder.path(), &["import", "ppbench", log.to_str().expect("a plain path")]);
    assert_eq!(failed.status.code(), Some(2));
    let error = text(&failed.stderr);
    assert!(error.contains("open-quote.csv") && error.contains("line 2, column 11"), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
    assert!(!folder.path().join("runs").exists());
}

/// Two experiments that a naming file calls the same stay two.
#[test]
fn series_of_one_name_stay_apart() {
    let folder = tempfile::tempdir().expect("a folder");
    let put = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("a file");
    put("log.csv", &log(&[("", "a", 1.0), ("", "b", 2.0), ("m", "go", 3.0), ("", "go on m", 4.0)]));
    put("names.json", r#"{"experiments": {"a": "X", "b": "X"}}"#);
    let run = imported(folder.path(), &["--naming", "names.json", "log.csv"]);
    let names = ["X (a)", "X (b)", "go on m (experiment go, machine m)", "go on m (experiment go on m)"];
    let summary = summary_of(folder.path(), &run);
    let told: Vec<_> = summary["variants"].as_array().unwrap().iter().map(|v| v["name"].clone()).collect();
    assert_eq!(told, names);
    let rows = weigh(folder.path(), &["summary", &run, "--format", "json"]);
    let rows: serde_json::Value = serde_json::from_slice(&rows.stdout).expect("JSON");
    let told: Vec<_> = rows["rows"].as_array().unwrap().iter().map(|row| row["variant"].clone()).collect();
    assert_eq!(told, names, "as the run calls them");
}
