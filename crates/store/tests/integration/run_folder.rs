//! The life of a run folder: made, listed, locked, left half-way, continued, damaged.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use weighbridge_model::detail::{Curve, TimeKind};
use weighbridge_model::environment::Environment;
use weighbridge_model::estimate::{Estimate, Quantity, Unit, Validity, Verdict};
use weighbridge_model::event::{Event, TimedEvent};
use weighbridge_model::experiment::PlanRules;
use weighbridge_model::id::PointLabel;
use weighbridge_model::id::VariantId;
use weighbridge_model::plan::{PlanFile, RunPlan};
use weighbridge_model::quantity::{Nanoseconds, Ratio};
use weighbridge_model::record::Void;
use weighbridge_model::summary::{BlockCounts, Cost, Detail, SCHEMA_VERSION, Summary};
use weighbridge_store::{ReadError, RunFolder, RunWriter, UtcTime, WriteError};

use crate::support::*;

/// A finished run with two blocks: its parent, which removes it on drop, and its path.
fn two_blocks() -> (tempfile::TempDir, PathBuf) {
    let out = tempfile::tempdir().unwrap();
    let mut run = RunWriter::create(out.path(), "two blocks", STARTED).unwrap();
    for number in 0..2 {
        run.write_block(&participants(), &block(number)).unwrap();
    }
    let path = run.folder().path().to_owned();
    (out, path)
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn folders_are_named_by_time_and_name_and_never_reused() {
    let parent = tempfile::tempdir().unwrap();
    let out = parent.path().join("not/there/yet");
    for _ in 0..3 {
        RunWriter::create(&out, "JSON vs. gRPC", STARTED).unwrap();
    }
    assert_eq!(
        names(&out),
        ["20261121-212204-json-vs-grpc", "20261121-212204-json-vs-grpc-2", "20261121-212204-json-vs-grpc-3"]
    );
}

#[test]
fn runs_are_listed_newest_first_and_nothing_else_is() {
    let out = tempfile::tempdir().unwrap();
    assert_eq!(RunFolder::list(out.path().join("missing")).unwrap().len(), 0);
    assert!(RunFolder::latest(out.path()).unwrap().is_none());
    let later = |seconds: u64| UtcTime::from_unix_ns(STARTED.unix_ns() + seconds * 1_000_000_000);
    for (name, started) in [("b", later(1)), ("a", later(3600)), ("c", STARTED), ("c", STARTED)] {
        RunWriter::create(out.path(), name, started).unwrap();
    }
    fs::create_dir(out.path().join("20991231-000000-no-run")).unwrap();
    fs::write(out.path().join("notes.txt"), "x").unwrap();
    let listed = RunFolder::list(out.path()).unwrap();
    let found: Vec<_> = listed.iter().map(|run| run.path().file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(found, ["20261121-222204-a", "20261121-212205-b", "20261121-212204-c-2", "20261121-212204-c"]);
    let latest = RunFolder::latest(out.path()).unwrap().unwrap();
    assert_eq!((latest.name(), latest.started()), ("a", later(3600)));
}

#[test]
fn what_is_given_is_what_is_read() {
    let out = tempfile::tempdir().unwrap();
    let mut run = RunWriter::create(out.path(), "given", STARTED).unwrap();
    run.write_experiment("title = \"größer\"\n").unwrap();
    let programs = |word: &str| BTreeMap::from([("PGPASSWORD".to_owned(), word.to_owned())]);
    let environment = |word: &str| Environment { network: Some(programs(word)), ..Environment::default() };
    run.write_environment(&environment("swordfish")).unwrap();
    let rules = PlanRules { seed: u64::MAX, margin: Ratio::new(0.1 + 0.2), ..PlanRules::default() };
    let plan = PlanFile::Measured(Box::new(RunPlan { rules, division: Some(None), ..RunPlan::default() }));
    run.write_plan(&plan).unwrap();
    let event = TimedEvent {
        at: Nanoseconds::from_micros(12),
        event: Event::Started { variant: "grpc".to_owned(), took: Some(Nanoseconds::from_millis(3)) },
    };
    run.append_event(&event).unwrap();
    run.append_event(&event).unwrap();

    let read = RunFolder::open(run.folder().path()).unwrap();
    assert_eq!(read.experiment().unwrap(), "title = \"größer\"\n");
    assert_eq!(read.environment().unwrap(), environment("<redacted sha256:b9f195c5>"));
    assert_eq!(read.plan().unwrap(), plan);
    assert_eq!(read.events().unwrap(), [event.clone(), event]);
    assert!(read.load_blocks().unwrap().is_empty());
    assert!(matches!(read.summary(), Err(ReadError::Missing { .. })));
}

fn summary() -> Summary {
    let estimate = |point: f64| {
        Some(Estimate {
            point,
            lower: Some(point - 1.0 / 3.0),
            upper: Some(point + 1.0 / 7.0),
            level: 0.95,
            blocks: 6,
            bootstrap: None,
        })
    };
    Summary {
        schema: SCHEMA_VERSION,
        title: "JSON against gRPC".to_owned(),
        run: "20261121-212204-json-vs-grpc".to_owned(),
        started: STARTED.rfc3339(),
        took: Nanoseconds::from_secs(60),
        quick: false,
        validity: Validity::Valid,
        headline: Quantity::ResponseP50,
        margin: Ratio::new(0.02),
        share_margin: None,
        blocks: BlockCounts { used: 6, void: 0, min: 6, max: 30 },
        goal: None,
        conditions: vec!["person, closed, 4 connections".to_owned()],
        pairings: Vec::new(),
        costs: vec![Cost {
            point: PointLabel::new(),
            variant: "grpc".to_owned(),
            operation: "all".to_owned(),
            quantity: Quantity::ResponseP50,
            unit: Unit::Ns,
            difference: estimate(20_100.1),
            ratio: estimate(2.31),
            verdict: Verdict::Higher,
            effect: None,
            reason: None,
            p: Some(1e-17 / 3.0),
            headline: true,
        }],
        variants: Vec::new(),
        findings: Vec::new(),
        cpu_roles: None,
        spread: Vec::new(),
        over_size: Default::default(),
        tags: Default::default(),
        relays: Vec::new(),
        carried: Vec::new(),
        roles: Vec::new(),
        tables: Vec::new(),
        layering: Default::default(),
        factorials: Vec::new(),
        capacities: Vec::new(),
        common_rates: Vec::new(),
        unavailable: vec![("soap".to_owned(), "no JDK: install one".to_owned())],
        idle: None,
        calibration: None,
    }
}

#[test]
fn summary_and_detail_come_back_to_the_last_bit() {
    let (_out, path) = two_blocks();
    let run = RunWriter::resume(&path).unwrap();
    run.write_summary(&Summary { title: "replaced".to_owned(), ..summary() }).unwrap();
    run.write_summary(&summary()).unwrap();
    let curve = Curve {
        variant: "grpc".to_owned(),
        point: PointLabel::new(),
        operation: "all".to_owned(),
        time: TimeKind::Response,
        points: vec![(0.5, 15_300.0), (1.0 / 3.0, 1.0 / 7.0)],
        band: vec![(0.1 + 0.2, 0.4)],
    };
    let detail = Detail { curves: vec![curve], ..Detail::default() };
    run.write_detail(&detail).unwrap();
    let read = RunFolder::open(&path).unwrap();
    assert_eq!(read.summary().unwrap(), summary());
    assert_eq!(read.detail().unwrap(), detail);
}

#[test]
fn a_summary_that_is_not_a_number_is_refused() {
    let (_out, path) = two_blocks();
    let run = RunWriter::resume(&path).unwrap();
    let mut bad = summary();
    bad.margin = Ratio::new(f64::NAN);
    let error = run.write_summary(&bad).unwrap_err().to_string();
    assert!(error.contains("the summary cannot be stored") && error.contains("null"), "{error}");
    assert!(!path.join("summary.json").exists());
}

#[test]
fn derived_files_stay_beside_the_record() {
    let (_out, path) = two_blocks();
    let run = RunFolder::open(&path).unwrap();
    let written = run.write_derived("report.html", b"<html>").unwrap();
    assert_eq!(fs::read(written).unwrap(), b"<html>");
    let chart = run.write_derived("charts/forest.svg", b"<svg>").unwrap();
    assert_eq!(fs::read(chart).unwrap(), b"<svg>");
    for name in [
        "",
        "run.json",
        "trials",
        "trials/b",
        "blocks",
        "lock",
        "summary.json",
        "../x",
        "a/b/c",
        "a/",
        "a/.b",
        "/tmp/x",
        ".",
        "..",
        ".x",
    ] {
        let error = run.write_derived(name, b"x").unwrap_err();
        assert!(matches!(error, WriteError::DerivedName { .. }), "{name}: {error}");
    }
    let elsewhere = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), path.join("linked")).unwrap();
    let error = run.write_derived("linked/x", b"x").unwrap_err().to_string();
    assert!(error.contains("linked` cannot be read: it is a link"), "{error}");
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
}

#[test]
fn what_was_added_to_a_run_that_had_ended_is_refused() {
    let (_out, path) = ended();
    // A block of another run of the same experiment.
    let (_other, other) = two_blocks();
    let mut more = RunWriter::resume(&other).unwrap();
    more.write_block(&participants(), &block(2)).unwrap();
    let listed = fs::read_to_string(other.join("blocks/002.json")).unwrap();
    let folder = serde_json::from_str::<serde_json::Value>(&listed).unwrap();
    for trial in folder["trials"].as_array().unwrap() {
        let folder = Path::new("trials").join(trial["folder"].as_str().unwrap());
        fs::create_dir(path.join(&folder)).unwrap();
        for name in names(&other.join(&folder)) {
            fs::copy(other.join(&folder).join(&name), path.join(&folder).join(&name)).unwrap();
        }
    }
    fs::write(path.join("blocks/002.json"), listed).unwrap();
    let run = RunFolder::open(&path).unwrap();
    for error in [run.summary().map(drop).unwrap_err(), run.load_blocks().map(drop).unwrap_err()] {
        assert!(error.to_string().contains("blocks/002.json`: it was added after the run"), "{error}");
    }
}

#[test]
fn a_block_missing_from_the_middle_of_a_run_that_had_not_ended_is_named() {
    let (_out, path) = two_blocks();
    fs::remove_file(path.join("blocks/000.json")).unwrap();
    let error = RunFolder::open(&path).unwrap().load_blocks().map(drop).unwrap_err().to_string();
    assert!(error.contains("blocks/000.json` is missing"), "{error}");
}

#[test]
fn a_kill_before_the_first_summary_leaves_a_run_that_goes_on() {
    let (_out, path) = ended();
    for name in ["summary.json", "detail.json"] {
        fs::remove_file(path.join(name)).unwrap();
    }
    assert_eq!(RunFolder::open(&path).unwrap().load_blocks().unwrap().len(), 2);
    RunWriter::resume(&path).unwrap().write_summary(&summary()).unwrap();
    assert!(
        RunFolder::open(&path).unwrap().load_blocks().is_err(),
        "by its summary it has ended, and lacks its detail"
    );
}

#[test]
fn no_link_is_followed_to_a_run_or_within_one() {
    let (out, path) = ended();
    let elsewhere = tempfile::tempdir().unwrap();
    for part in ["trials", "blocks", "trials/001"] {
        let (here, there) = (path.join(part), elsewhere.path().join("part"));
        fs::rename(&here, &there).unwrap();
        std::os::unix::fs::symlink(&there, &here).unwrap();
        let error = RunFolder::open(&path).and_then(|run| run.summary()).map(drop).unwrap_err().to_string();
        assert!(error.contains(&format!("{part}` cannot be read: it is a link")), "{error}");
        fs::remove_file(&here).unwrap();
        fs::rename(&there, &here).unwrap();
    }
    std::os::unix::fs::symlink(&path, out.path().join("link")).unwrap();
    assert_eq!(RunFolder::list(out.path()).unwrap().len(), 1);
}

#[test]
fn a_writer_overwrites_nothing_that_a_link_leads_to_and_waits_for_no_pipe() {
    let (out, path) = two_blocks();
    let precious = out.path().join("precious");
    fs::write(&precious, "precious").unwrap();
    for name in ["lock", "events.jsonl"] {
        let kept = fs::read(path.join(name)).unwrap();
        fs::remove_file(path.join(name)).unwrap();
        std::os::unix::fs::symlink(&precious, path.join(name)).unwrap();
        let error = RunWriter::resume(&path).map(drop).unwrap_err().to_string();
        assert!(error.contains(name) && error.contains("it is a link"), "{error}");
        fs::remove_file(path.join(name)).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, path.join(name), rustix::fs::FileType::Fifo, 0o600.into(), 0)
            .unwrap();
        let error = RunWriter::resume(&path).map(drop).unwrap_err().to_string();
        assert!(error.contains(name) && error.contains("no regular file"), "{error}");
        fs::remove_file(path.join(name)).unwrap();
        fs::write(path.join(name), kept).unwrap();
    }
    assert_eq!(fs::read_to_string(precious).unwrap(), "precious");
}

#[test]
fn the_newest_run_is_named_where_it_cannot_be_opened() {
    let out = tempfile::tempdir().unwrap();
    for second in 0..2 {
        let started = UtcTime::from_unix_ns(STARTED.unix_ns() + second * 1_000_000_000);
        RunWriter::create(out.path(), "run", started).unwrap();
    }
    let newest = RunFolder::latest(out.path()).unwrap().unwrap().path().to_owned();
    fs::remove_file(newest.join("run.json")).unwrap();
    let error = RunFolder::latest(out.path()).map(drop).unwrap_err().to_string();
    assert!(error.contains(newest.to_str().unwrap()), "{error}");
    assert_eq!(RunFolder::list_all(out.path()).unwrap().len(), 2);
}

#[test]
fn one_run_has_one_writer() {
    let out = tempfile::tempdir().unwrap();
    let run = RunWriter::create(out.path(), "locked", STARTED).unwrap();
    let path = run.folder().path().to_owned();
    let error = RunWriter::resume(&path).unwrap_err().to_string();
    let expected = format!("`{}` is being written by process {};", path.display(), std::process::id());
    assert!(error.starts_with(&expected), "{error}");
    RunFolder::open(&path).unwrap();
    drop(run);
    RunWriter::resume(&path).unwrap();
}

#[test]
fn a_block_must_be_whole_and_new() {
    let out = tempfile::tempdir().unwrap();
    let mut run = RunWriter::create(out.path(), "blocks", STARTED).unwrap();
    let mut write =
        |trials: &[_]| run.write_block(&participants(), trials).map_err(|error| error.to_string());
    assert!(write(&[]).unwrap_err().contains("without trials"));
    assert!(write(&block(0)[..1]).unwrap_err().contains("block 0 has no trial of variant `grpc"));
    let mixed = [trial(0, VariantId(0)), trial(1, VariantId(2))];
    assert!(write(&mixed).unwrap_err().contains("trials of blocks 0 and 1"));
    let stranger = [block(0), vec![trial(0, VariantId(1))]].concat();
    assert!(write(&stranger).unwrap_err().contains("variant 1, which takes no part"));
    write(&block(0)).unwrap();
    assert!(write(&block(0)).unwrap_err().contains("block 0 is stored already"));
    // A void block is evidence, whole or not; a batch repeats the baseline.
    let mut void = trial(1, VariantId(0));
    void.void = Some(Void::Stopped);
    write(std::slice::from_ref(&void)).unwrap();
    let twice = [block(2), block(2)].concat();
    write(&twice).unwrap();
    assert_blocks(&run.folder().load_blocks().unwrap(), &[block(0), vec![void], twice], "");
}

/// Every state in which a kill can leave a block that is being written.
#[test]
fn half_a_block_is_left_aside_and_removed_on_resume() {
    let trials_kept = ["000", "001", "002", "003"];
    type Wreck = fn(&Path);
    let states: [(&str, Wreck, usize); 5] = [
        (
            "a trial half written",
            |path| copy(&path.join("trials/000"), &path.join("trials/.004.77.partial")),
            0,
        ),
        ("one trial of two", |path| copy(&path.join("trials/000"), &path.join("trials/004")), 1),
        (
            "all trials and no marker",
            |path| {
                copy(&path.join("trials/000"), &path.join("trials/004"));
                copy(&path.join("trials/001"), &path.join("trials/005"));
            },
            2,
        ),
        (
            "half a marker",
            |path| {
                copy(&path.join("trials/000"), &path.join("trials/004"));
                fs::write(path.join("blocks/.002.json.77.partial"), "{\"sch").unwrap();
            },
            1,
        ),
        (
            "a discarded trial half removed",
            |path| fs::create_dir(path.join("trials/.004.77.partial")).unwrap(),
            0,
        ),
    ];
    for (state, wreck, stray) in states {
        let (_out, path) = two_blocks();
        wreck(&path);
        assert_blocks(&RunFolder::open(&path).unwrap().load_blocks().unwrap(), &[block(0), block(1)], state);
        let mut run = RunWriter::resume(&path).unwrap();
        assert_eq!(run.folder().load_blocks().unwrap().len(), 2, "{state}");
        assert_eq!(run.discard_incomplete().unwrap(), stray, "{state}");
        assert_eq!(names(&path.join("trials")), trials_kept, "{state}");
        assert_eq!(names(&path.join("blocks")), ["000.json", "001.json"], "{state}");
        run.write_block(&participants(), &block(2)).unwrap();
        assert_blocks(&run.folder().load_blocks().unwrap(), &[block(0), block(1), block(2)], state);
    }
}

#[test]
fn a_block_written_beside_leftovers_is_not_mixed_with_them() {
    let (_out, path) = two_blocks();
    copy(&path.join("trials/000"), &path.join("trials/007"));
    let mut run = RunWriter::resume(&path).unwrap();
    run.write_block(&participants(), &block(2)).unwrap();
    assert_blocks(&run.folder().load_blocks().unwrap(), &[block(0), block(1), block(2)], "");
    assert_eq!(run.discard_incomplete().unwrap(), 1);
    assert_eq!(run.folder().load_blocks().unwrap().len(), 3);
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for name in names(from) {
        fs::copy(from.join(&name), to.join(&name)).unwrap();
    }
}

#[test]
fn a_folder_that_is_no_run_is_told_so() {
    let out = tempfile::tempdir().unwrap();
    fs::write(out.path().join("file"), "x").unwrap();
    for path in [out.path().to_owned(), out.path().join("missing"), out.path().join("file")] {
        let error = RunFolder::open(&path).unwrap_err();
        assert!(matches!(error, ReadError::NotARun { .. }), "{error}");
        assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
    }
}

#[test]
fn another_format_is_refused_wherever_it_stands() {
    for file in ["run.json", "blocks/001.json"] {
        let (_out, path) = two_blocks();
        replace(&path.join(file), "\"schema\": 1", "\"schema\": 99");
        let loaded = RunFolder::open(&path).and_then(|run| run.load_blocks());
        let error = loaded.map(|blocks| blocks.len()).unwrap_err().to_string();
        assert!(error.contains(&format!("{file}` has schema 99, this `weigh` reads schema 1")), "{error}");
    }
}

#[test]
fn damage_is_one_error_with_file_and_line() {
    type Damage = fn(&Path);
    let cases: [(&str, Damage, &str); 9] = [
        ("trials/002/windows.csv", |file| replace(file, "measured", "weighed"), "` line 4: column `kind`: "),
        ("trials/002/windows.csv", cut_last_line, "` was changed after the run"),
        ("trials/002/operations.csv", |file| replace(file, "\n1,", "\n9,"), "` line 2: column `window`: "),
        (
            "trials/002/resources.csv",
            |file| replace(file, ",,,", ",,,9"),
            "`: memory differs from `trial.json`",
        ),
        ("trials/002/total.hlog", cut_last_line, "` was changed after the run"),
        (
            "trials/002/trial.json",
            |file| replace(file, "\"steal\": 0.", "\"steal\": 1."),
            "` was changed after",
        ),
        (
            "trials/002/trial.json",
            |file| fs::write(file, "{\n\"schema\": 1,\n").unwrap(),
            "` line 3: EOF while",
        ),
        ("trials/002/total.hlog", |file| fs::remove_file(file).unwrap(), "` is missing: "),
        (
            "blocks/001.json",
            |file| replace(file, "\"002\"", "\"../../x\""),
            "`: `../../x` is not the number of",
        ),
    ];
    for (file, damage, expected) in cases {
        let (_out, path) = two_blocks();
        damage(&path.join(file));
        let error =
            RunFolder::open(&path).unwrap().load_blocks().map(|blocks| blocks.len()).unwrap_err().to_string();
        assert!(error.contains(&format!("{file}{expected}")), "{file}: {error}");
    }
}

#[test]
fn blocks_cannot_be_swapped() {
    let (_out, path) = two_blocks();
    fs::rename(path.join("blocks/001.json"), path.join("blocks/005.json")).unwrap();
    let error =
        RunFolder::open(&path).unwrap().load_blocks().map(|blocks| blocks.len()).unwrap_err().to_string();
    assert!(error.contains("005.json`: it is of block 1"), "{error}");
}

fn replace(file: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(file).unwrap();
    assert!(text.contains(from), "{} has no {from}", file.display());
    fs::write(file, text.replacen(from, to, 1)).unwrap();
}

fn cut_last_line(file: &Path) {
    let text = fs::read_to_string(file).unwrap();
    let end = text.trim_end().rfind('\n').unwrap() + 1;
    fs::write(file, &text[..end]).unwrap();
}

/// A run that has ended, with every file that a run of this kind has.
fn ended() -> (tempfile::TempDir, PathBuf) {
    let (out, path) = two_blocks();
    let run = RunWriter::resume(&path).unwrap();
    run.write_experiment("title = \"ended\"\n").unwrap();
    run.write_environment(&Environment::default()).unwrap();
    run.write_plan(&PlanFile::Measured(Box::default())).unwrap();
    run.write_summary(&summary()).unwrap();
    run.write_detail(&Detail::default()).unwrap();
    (out, path)
}

/// Every file of a folder, by its path in it.
fn files(folder: &Path, within: &Path, found: &mut Vec<PathBuf>) {
    for name in names(&folder.join(within)) {
        let path = within.join(&name);
        match folder.join(&path).is_dir() {
            true => files(folder, &path, found),
            false => found.push(path),
        }
    }
}

#[test]
fn no_file_of_the_record_can_be_changed_cut_or_removed_unseen() {
    let (_out, path) = ended();
    let mut all = Vec::new();
    files(&path, Path::new(""), &mut all);
    // The lock and the events are no evidence.
    all.retain(|file| !["lock", "events.jsonl"].iter().any(|name| file == Path::new(name)));
    let read = || -> Result<_, ReadError> {
        let run = RunFolder::open(&path)?;
        Ok((run.summary()?, run.detail()?, run.load_blocks()?))
    };
    let original = read().unwrap();
    let mut changes = 0;
    for file in &all {
        let place = path.join(file);
        let bytes = fs::read(&place).unwrap();
        let mut refused = |what: &str, changed: Option<&[u8]>| {
            match changed {
                Some(changed) => fs::write(&place, changed).unwrap(),
                None => fs::remove_file(&place).unwrap(),
            }
            changes += 1;
            // Digests are JSON: white space says nothing.
            let same = read().is_ok_and(|read| file == Path::new("digests.json") && read == original);
            assert!(same || read().is_err(), "{} {what}", file.display());
        };
        refused("removed", None);
        for end in (0..bytes.len()).step_by(bytes.len().div_ceil(40).max(1)) {
            refused("cut", Some(&bytes[..end]));
        }
        for at in (0..bytes.len()).step_by(bytes.len().div_ceil(160).max(1)) {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            refused("changed", Some(&changed));
        }
        fs::write(&place, &bytes).unwrap();
    }
    assert_eq!(read().unwrap(), original);
    assert!(changes >= 2_000, "{changes}");
}

#[test]
fn results_are_shown_unverified_where_that_is_asked_for() {
    let (_out, path) = ended();
    replace(&path.join("trials/002/windows.csv"), "measured", "weighed");
    let run = RunFolder::open(&path).unwrap();
    let error = run.summary().unwrap_err().to_string();
    assert!(
        error.contains("trials/002/windows.csv") && error.contains("`weigh export --unverified` shows"),
        "{error}"
    );
    assert_eq!(run.clone().unverified().summary().unwrap(), summary());
    assert!(run.unverified().load_blocks().is_err(), "nothing is computed from a changed trial");
}

#[test]
fn a_run_of_before_there_were_digests_is_read() {
    let (_out, path) = ended();
    replace(&path.join("run.json"), ",\n  \"digests\": true", "");
    fs::remove_file(path.join("digests.json")).unwrap();
    assert_eq!(RunFolder::open(&path).unwrap().summary().unwrap(), summary());
    let run = RunWriter::resume(&path).unwrap();
    run.write_summary(&Summary { title: "again".to_owned(), ..summary() }).unwrap();
    assert_eq!(run.folder().summary().unwrap().title, "again");
}

#[test]
fn a_kill_between_digests_and_file_leaves_the_run_readable() {
    let (_out, path) = ended();
    let run = RunWriter::resume(&path).unwrap();
    let before = fs::read(path.join("summary.json")).unwrap();
    run.write_summary(&Summary { title: "again".to_owned(), ..summary() }).unwrap();
    // As if the second file had not been written.
    fs::write(path.join("summary.json"), before).unwrap();
    assert_eq!(RunFolder::open(&path).unwrap().summary().unwrap(), summary());
}
