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
