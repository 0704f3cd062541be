//! What another program measured: imported, shown, written again to the letter; a damaged file named with its line.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::support::{World, measuring, probe};

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

/// A chart has a line for each series, also of one name.
#[test]
fn charts_have_every_series_by_a_name_of_its_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let put = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("a file");
    put("log.csv", &log(&[("", "a", 1.0), ("", "b", 2.0)]));
    put("names.json", r#"{"experiments": {"a": "X", "b": "X"}}"#);
    let run = imported(folder.path(), &["log.csv"]);
    let drawn = weigh(folder.path(), &["plot", &run, "latency", "--names", "names.json", "-o", "-"]);
    let picture = text(&drawn.stdout);
    assert!(drawn.status.success(), "{}", text(&drawn.stderr));
    assert!(picture.contains("X (a)") && picture.contains("X (b)"), "{picture:.3000}");
}

/// Without a median nobody knows what was imported.
#[test]
fn few_rows_have_a_median_and_say_that_it_has_no_interval() {
    let folder = tempfile::tempdir().expect("a folder");
    let rows = [1.0, 2.0, 4.0, 8.0].map(|time| format!("m,go,/mping/1000,0,1,1000,{time},1,1,0,200\n"));
    std::fs::write(folder.path().join("log.csv"), HEADER.to_owned() + &rows.concat()).expect("a file");
    let run = imported(folder.path(), &["log.csv"]);
    let shown = text(&weigh(folder.path(), &["export", &run, "--format", "text"]).stdout);
    assert!(shown.lines().any(|line| line.trim_start().starts_with("3.00 ms ")), "under p50: {shown}");
    let summed = text(&weigh(folder.path(), &["summary", &run]).stdout);
    assert!(summed.contains("3.00 ms (no interval) relayed"), "{summed}");
    assert!(summed.contains("8.00 ms (no interval) relayed"), "the fourth of four is the p90: {summed}");
}

/// Nothing that failed leaves a run, which would be the newest that others find.
#[test]
fn what_is_refused_says_so_in_a_line_and_leaves_no_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let put = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("a file");
    let good = log(&[("m", "go", 1.0)]);
    put("log.csv", &good);
    put("endless.csv", &good.replacen(",1,1,1,0,200", ",1e303,1,1,0,200", 1));
    put("long.csv", &"x".repeat(5_000_000));
    put("naming.json", r#"{"machine": {}}"#);
    for (arguments, words) in [
        (&["endless.csv"][..], "line 2, column `Time per request`: `1e303` is not a time of at most 1e12 ms"),
        (&["long.csv"], "line 1, column 1: `xxx"),
        (&["log.csv", "./log.csv"], "`./log.csv` is given twice"),
        (
            &["--naming", "naming.json", "log.csv"],
            "`naming.json`: line 1: it names no machine and no experiment",
        ),
    ] {
        let refused = weigh(folder.path(), &[&["import", "ppbench"], arguments].concat());
        let error = text(&refused.stderr);
        assert_eq!((refused.status.code(), error.lines().count()), (Some(2), 1), "{error}");
        assert!(error.contains(words) && error.len() < 400, "{error}");
    }
    assert!(!folder.path().join("runs").exists());
    // As `cat` and spreadsheets leave it.
    put("two.csv", &format!("{good}\n{}\n", good.replace(",0,1,1000,", ",0.0,1.0,1000.0,")));
    let two = imported(folder.path(), &["two.csv"]);
    assert_eq!(summary_of(folder.path(), &two)["variants"][0]["requests"], 60);
}

/// One row of ApacheBench is a run of many requests, and tells of no status.
#[test]
fn rows_of_apache_bench_say_what_they_are() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = corpus("apache-bench.csv");
    let run = imported(folder.path(), &[log.to_str().expect("a plain path")]);
    let shown = text(&weigh(folder.path(), &["export", &run, "--format", "text"]).stdout);
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("a row is a run of 1000 requests"), "{shown}");
    let rows = text(&weigh(folder.path(), &["export", &run, "--format", "ppbench-csv"]).stdout);
    let row = rows.lines().nth(1).expect("a row");
    assert!(row.starts_with("\"\",\"Docker+SDN\",\"/ping/10\",\"0\",\"50\",\"10\",\"213.79"), "{row}");
    assert!(row.ends_with(",\"\",\"\""), "{row}");
    let summed = weigh(folder.path(), &["summary", &run, "--format", "json"]);
    let summed: serde_json::Value = serde_json::from_slice(&summed.stdout).expect("JSON");
    let row = &summed["rows"][0];
    assert_eq!((&row["time"], &row["retried"]), (&"service".into(), &serde_json::Value::Null));
    let (time, rate) = (&row["median_ns"]["point"], &row["transfer_median_bytes_per_s"]["point"]);
    let (time, rate) = (time.as_f64().expect("a time"), rate.as_f64().expect("a rate"));
    assert!((rate * time / 1e9 - 10.0).abs() < 1e-6, "10 bytes in {time} ns are not {rate} B/s");
}

/// A measured matrix comes out with a curve a point, and its tags serve charts as they serve the summary.
#[test]
fn a_measured_matrix_is_exported_point_by_point_and_drawn_by_tags() {
    measuring(|| {
        let world = World::new();
        world.experiment_with(
            "[tags]\nmachine = \"m3\"\n[workload]\nname = \"pingpong\"\n\
             sizes = { min = \"4 B\", max = \"20 kB\", number = 40 }\n[matrix]\n\"load.connections\" = [1, 2]\n",
            &[&probe("go", "null"), &probe("rust", "null")],
        );
        world.run(&[]).end().assert_measured();
        let run = world.run_folder().to_str().expect("a plain path").to_owned();
        let rows = world.weigh(&["export", &run, "--format", "ppbench-csv"]).end();
        world.write("all.csv", &rows.assert_code(0).stdout);
        let again = imported(&world.path(""), &["--out", "again", "all.csv"]);
        let summary = summary_of(&world.path(""), &again);
        let mut names: Vec<_> =
            summary["variants"].as_array().unwrap().iter().filter_map(|v| v["name"].as_str()).collect();
        names.sort_unstable();
        let wanted =
            ["go", "rust"].map(|name| [1, 2].map(|at| format!("{name}, load.connections={at} on m3")));
        assert_eq!(names, wanted.concat());
        world.write(
            "names.json",
            r#"{"machines": {"m3": "M3"}, "experiments": {"go": "Go", "rust": "Rust"}}"#,
        );
        let shown = world.weigh(&["summary", &run, "--naming", "names.json", "--machine", "m3"]).end();
        assert!(shown.assert_code(0).stdout.contains("Go on M3"), "{shown}");
        let flags = ["--names", "names.json", "--machine", "m3", "--point", "load.connections=1", "-o", "-"];
        let drawn = world.weigh(&[&["plot", &run, "latency"], &flags[..]].concat()).end();
        let picture = &drawn.assert_code(0).stdout;
        assert!(picture.contains("Go on M3") && picture.contains("Rust on M3"), "{picture:.3000}");
        world
            .weigh(&["plot", &run, "latency", "--machine", "m4"])
            .end()
            .assert_error(&["`m4`", "it has: m3"]);
    });
}
