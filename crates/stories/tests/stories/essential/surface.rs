//! Stories of what a person and a script see when all goes well: formats, streams, exit codes, files.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::recorded::copy_of;
use crate::support::{World, experiment, measuring, probe};

/// A world with a finished run of two probes, the second slower, and the run's folder as text.
fn finished_run() -> (World, String) {
    let world = World::new();
    world.experiment(&[&probe("a", "null"), &probe("b", "delay 50us")]);
    world.run(&[]).end().assert_measured();
    let run = world.run_folder().to_str().expect("UTF-8").to_owned();
    (world, run)
}

/// The same, recorded, for stories that only read it.
fn recorded_run() -> (World, String) {
    let world = World::idle();
    fs::create_dir(world.path("runs")).expect("a folder");
    copy_of("pair", &world.path("runs/pair"));
    let run = world.run_folder().to_str().expect("UTF-8").to_owned();
    (world, run)
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().expect("an object").keys().map(String::as_str).collect()
}

#[test]
fn json_of_a_run_has_the_published_keys_and_stands_alone_on_stdout() {
    measuring(|| {
        let world = World::new();
        let hooks = "[hooks]\nprepare = \"echo hooks may print\"";
        world.experiment_with(hooks, &[&probe("a", "null"), &probe("b", "delay 50us")]);
        let ended = world.run(&["--format", "json"]).end();
        ended.assert_measured();
        let result = ended.json();
        let cost = &result["costs"][0];
        for key in ["variant", "operation", "quantity", "unit", "difference", "ratio", "verdict", "reason"] {
            assert!(keys(cost).contains(&key), "`{key}` is not in {cost}");
        }
        assert_eq!(
            (&cost["variant"], &cost["quantity"], &cost["unit"]),
            (&"b".into(), &"response_p50".into(), &"ns".into())
        );
        for estimate in ["difference", "ratio"] {
            for key in ["point", "lower", "upper", "level", "blocks"] {
                assert!(keys(&cost[estimate]).contains(&key), "`{estimate}.{key}`: {cost}");
            }
        }
        // 50 µs of busy waiting were added to every request: the difference cannot be below that.
        assert!(cost["difference"]["point"].as_f64() >= Some(49_000.0), "{cost}");
        assert!(cost["ratio"]["point"].as_f64() > Some(1.0));
        for key in ["name", "validity", "requests", "errors"] {
            assert!(keys(&result["variants"][0]).contains(&key), "`{key}`");
        }
        assert!(ended.says("story: a, b, 4 blocks"), "progress is on stderr: {ended}");
        assert_eq!(ended.stderr.matches("block ").count(), 4, "a line a block where nobody watches: {ended}");
        let stored: Value = world.json("summary.json");
        assert_eq!(stored["costs"], result["costs"]);
    });
}

#[test]
fn an_experiment_may_come_from_stdin_and_be_narrowed() {
    measuring(|| {
        let world = World::new();
        let file = world.experiment(&[&probe("a", "null"), &probe("b", "null"), &probe("c", "null")]);
        let ended = world
            .weigh(&["run", "-", "--only", "c,a", "--quick", "--out", "runs", "--format", "json"])
            .stdin(&file)
            .end();
        ended.assert_measured();
        let result = ended.json();
        let names: Vec<_> =
            result["variants"].as_array().expect("variants").iter().map(|v| &v["name"]).collect();
        assert_eq!(names, ["c", "a"]);
        assert_eq!((&result["quick"], &result["variants"][0]["baseline"]), (&true.into(), &true.into()));
        let ended = world.weigh(&["run", "-"]).stdin(&world.write("bad.toml", "nonsense = 1")).end();
        ended.assert_error(&["stdin:1:", "`nonsense`"]);
    });
}

#[test]
fn a_suite_prints_its_experiments_and_goes_on_after_one_that_fails() {
    measuring(|| {
        let world = World::new();
        world.write("suite/1.toml", &experiment("", &[&probe("a", "null"), &probe("b", "null")]));
        world.write("suite/2.toml", &experiment("", &["name = \"x\"\ncommand = [\"/nonexistent\"]"]));
        world.write("suite/3.toml", &experiment("", &[&probe("c", "null"), &probe("d", "null")]));
        world.write("suite/notes.txt", "not an experiment");
        let ended = world.weigh(&["run", "suite", "--out", "runs", "--format", "json"]).end();
        ended.assert_error(&["experiment `story`", "`/nonexistent`"]);
        let result = ended.json();
        let experiments = result["experiments"].as_array().expect("experiments");
        let first: Vec<_> = experiments.iter().map(|one| one["variants"][0]["name"].clone()).collect();
        assert_eq!(first, ["a", "c"]);
        let mut runs: Vec<_> = fs::read_dir(world.path("runs"))
            .expect("runs")
            .map(|entry| entry.expect("an entry").path())
            .filter(|run| run.join("summary.json").is_file())
            .collect();
        runs.sort();
        let page = fs::read_to_string(runs[0].join("suite.html")).expect("the page of the suite");
        assert!(page.contains("href=\"#run-2\"") && page.contains("id=\"run-2\""), "both are in it");
        assert!(!runs[1].join("suite.html").exists());
        world.assert_nothing_left();
    });
}

#[test]
fn gates_of_a_run_decide_the_exit_code() {
    let (world, run) = recorded_run();
    let compare = |gates: &[&str]| {
        let arguments = [&["compare", &run, "a", "b"], gates].concat();
        world.weigh(&arguments).end()
    };
    compare(&["--fail-if", "p50 > +2%"]).assert_code(1);
    compare(&["--fail-if", "p50 > +900000%"]).assert_code(0);
    compare(&["--require", "p50 <= +2%"]).assert_code(1);
    compare(&["--require", "p50 > 1 s"]).assert_code(1);
    // Memory of two like programs over 4 blocks: whatever the verdict, a gate that nothing can show does not fail, and
    // one that needs showing does not pass.
    compare(&["--fail-if", "p99 < -99%"]).assert_code(0);
    compare(&["--require", "p99 < -99%"]).assert_code(1);
    let failed = compare(&["--fail-if", "p50 > +2%"]);
    assert!(failed.says("gate failed: `p50 > +2%`") && !failed.stdout.contains("gate"), "{failed}");
}

#[test]
fn a_run_is_exported_reported_listed_and_compared() {
    let (world, run) = recorded_run();
    let weigh = |arguments: &[&str]| world.weigh(arguments).end();
    let json = weigh(&["export", &run, "--format", "json"]);
    assert_eq!(json.assert_code(0).json(), world.json("summary.json"));
    let csv = weigh(&["export", &run, "--format", "csv"]);
    let mut lines = csv.assert_code(0).stdout.lines();
    let columns = lines.next().expect("a header").split(',').count();
    assert!(columns > 5 && lines.clone().count() > 5, "{csv}");
    let markdown = weigh(&["export", &run, "--format", "markdown"]);
    assert!(markdown.assert_code(0).stdout.contains("| --- |"), "{markdown}");
    weigh(&["export", "--format", "json"]).assert_code(0);
    weigh(&["export", &run, "-o", "out.json", "--format", "json"]).assert_code(0);
    assert!(world.path("out.json").exists());

    let report = weigh(&["report", &run]);
    assert!(report.assert_code(0).says("wrote `") && report.stdout.is_empty(), "{report}");
    let page = weigh(&["report", &run, "-o", "-"]);
    assert!(page.assert_code(0).stdout.starts_with("<!DOCTYPE html>"), "{}", &page.stdout[..200]);

    let list = weigh(&["plot", &run, "--list"]);
    assert!(
        ["forest ", "percentiles ", "time "].map(|kind| list.stdout.contains(kind)) == [true; 3],
        "{list}"
    );
    let drawn = weigh(&["plot", &run]);
    assert!(drawn.assert_code(0).says("forest.svg`") && drawn.stdout.is_empty(), "{drawn}");
    let one = weigh(&["plot", "percentiles", "--variant", "a", "--theme", "dark", "-o", "-"]);
    assert!(one.assert_code(0).stdout.starts_with("<svg"), "{}", one.stderr);
    weigh(&["plot", &run, "time", "-o", "time.png", "--scale", "1"]).assert_code(0);
    let picture = fs::read(world.path("time.png")).expect("a file");
    assert!(picture.starts_with(b"\x89PNG"), "its name says the format");
    weigh(&["plot", &run, "pie"]).assert_error(&["`pie`", "heatmap"]);
    weigh(&["plot", &run, "waterfall"]).assert_error(&["`waterfall`", "weigh plot --list"]);
    weigh(&["plot", &run, "--variant", "z"]).assert_error(&["`z`", "a, b"]);
    weigh(&["plot", &run, "-o", "-"]).assert_error(&["stdout", "name one kind"]);
    weigh(&["plot", &run, "latency"]).assert_error(&["no curves over message size", "6 good requests"]);
    weigh(&["plot", &run, "time", "-o", "x.jpg"]).assert_error(&["`x.jpg`", ".svg, .png, .pdf"]);
    assert!(!world.path("x.jpg").exists());
    weigh(&["plot", &run, "time", "--height", "200"]).assert_error(&["a height of", "pixels at least"]);
    weigh(&["plot", &run, "latency", "--y-max", "1 MB"]).assert_error(&["`--y-max`", "takes a time"]);
    weigh(&["plot", &run, "--x-min", "2 kB", "--x-max", "1 kB"]).assert_error(&["`--x-min`", "below"]);

    let history = weigh(&["history"]);
    assert!(history.assert_code(0).stdout.contains(" story"), "{history}");
    assert!(history.stdout.contains("\n  b against a"), "{history}");
    let listed = weigh(&["history", "runs", "--format", "json"]).json();
    assert_eq!((&listed[0]["title"], &listed[0]["ended"]), (&"story".into(), &true.into()));
    let none = weigh(&["history", "nowhere"]);
    assert!(none.assert_code(0).says("no run in `nowhere`"), "{none}");

    let swapped = weigh(&["compare", &run, "b", "a", "--format", "json"]);
    swapped.assert_measured();
    let cost = &swapped.json()["costs"][0];
    assert_eq!(cost["variant"], "a");
    assert!(cost["ratio"]["point"].as_f64() < Some(1.0), "{cost}");
    weigh(&["compare", &run, "a", "z"]).assert_error(&["no variant `z`", "`a`, `b`"]);
    weigh(&["compare", "a", "b"]).assert_error(&["`a`", "weigh compare RUN BASELINE VARIANT"]);
}

#[test]
fn two_runs_are_not_compared_as_if_they_were_measured_together() {
    measuring(|| {
        let (world, first) = finished_run();
        // The second run's load is another, so that nothing carries over from the one to the other.
        let load = "[load]\nwarmup = \"20 ms\"\nconnections = 2\n";
        world.experiment_with(load, &[&probe("a", "null"), &probe("b", "delay 50us")]);
        world.run(&[]).end().assert_measured();
        let second = world.run_folders().into_iter().find(|run| !run.ends_with(&first)).expect("another run");
        let second = second.to_str().expect("UTF-8");
        let ended = world.weigh(&["compare", &first, second]).end();
        ended.assert_code(3);
        assert!(ended.stdout.contains("not measured together: workload, load or points differ"), "{ended}");
        assert!(!ended.stderr.contains("error: "), "{ended}");
        let costs = world.weigh(&["compare", &first, second, "--format", "json"]).end().json();
        let costs = costs["costs"].as_array().expect("costs").clone();
        assert!(!costs.is_empty() && costs.iter().all(|cost| cost["verdict"] == "invalid"), "{costs:?}");
    });
}

#[test]
fn two_runs_are_compared_through_the_baseline_that_both_hold() {
    measuring(|| {
        let (world, first) = finished_run();
        world.experiment(&[&probe("a", "null"), &probe("c", "delay 150us")]);
        world.run(&[]).end().assert_measured();
        let second = world.run_folders().into_iter().find(|run| !run.ends_with(&first)).expect("another run");
        let second = second.to_str().expect("UTF-8");
        let ended = world.weigh(&["compare", &first, second, "--format", "json"]).end();
        ended.assert_measured();
        let found = ended.json();
        let cost = &found["costs"][0];
        assert!(cost["variant"].as_str().is_some_and(|name| name.starts_with("c (")), "{cost}");
        // A host may call either run invalid; what is said of the ratio is not of that.
        if ended.code == Some(0) {
            assert!(cost["ratio"]["point"].as_f64() > Some(1.0), "{cost}");
        }
        let note = found["findings"].as_array().and_then(|all| all.iter().find(|f| f["name"] == "two runs"));
        let evidence = note.and_then(|note| note["evidence"].as_str()).expect("a note");
        assert!(evidence.contains("through `a` in both runs"), "{evidence}");
        world.weigh(&["compare", &first, second, "z"]).end().assert_error(&["no variant `z`", "`a`, `b`"]);
    });
}

#[test]
fn plan_says_what_run_will_do_without_doing_it() {
    let world = World::idle();
    world.experiment(&[&probe("a", "null"), &probe("b", "null")]);
    let plan = world.weigh(&["plan", "experiment.toml"]).end();
    plan.assert_code(0);
    for text in ["variant  a (baseline)", "blocks   4", "within 2.00 s", "window   5.00 ms", "round 1: "] {
        assert!(plan.stdout.contains(text), "`{text}` is not in {plan}");
    }
    let json = world.weigh(&["plan", "experiment.toml", "--format", "json"]).end().json();
    assert_eq!(json["variants"], serde_json::json!(["a", "b"]));
    let again = world.weigh(&["plan", "experiment.toml", "--format", "json"]).end().json();
    assert_eq!(again, json, "the order is a function of the seed");
    world.weigh(&["plan", "experiment.toml", "--format", "csv"]).end().assert_error(&["`csv`", "`json`"]);
    assert!(world.run_folders().is_empty());
}

#[test]
fn init_writes_a_file_that_can_be_planned_and_overwrites_nothing() {
    let world = World::idle();
    let written = world.weigh(&["init"]).end();
    assert!(written.assert_code(0).says("wrote `experiment.toml`"), "{written}");
    world.weigh(&["plan", "experiment.toml"]).end().assert_code(0);
    let before = fs::read(world.path("experiment.toml")).expect("the file");
    world.weigh(&["init"]).end().assert_error(&["`experiment.toml`", "`--output`"]);
    assert_eq!(fs::read(world.path("experiment.toml")).expect("the file"), before);
    let to_stdout = world.weigh(&["init", "http://127.0.0.1:8080/api?q=1", "-o", "-"]).end();
    let file = world.write("url.toml", &to_stdout.assert_code(0).stdout);
    assert!(to_stdout.stdout.contains("/api?q=1"), "{to_stdout}");
    world.weigh(&["plan", file.to_str().expect("UTF-8")]).end().assert_code(0);
}

#[test]
fn verify_compares_answers_and_leaves_nothing() {
    let world = World::idle();
    world.experiment(&[&probe("a", "null"), &probe("b", "delay 20us")]);
    let ended = world.weigh(&["verify", "experiment.toml"]).end();
    assert!(ended.assert_code(0).stdout.contains("answer alike (2 requests)"), "{ended}");
    world.assert_nothing_left();
    assert!(world.run_folders().is_empty());
}

#[test]
fn colour_is_used_where_asked_for_and_no_color_is_obeyed() {
    let (world, run) = recorded_run();
    let export = |color: &str| world.weigh(&["export", &run, "--color", color]);
    assert!(!export("auto").end().stdout.contains('\x1b'), "a file is no terminal");
    assert!(export("always").end().stdout.contains("\x1b["));
    assert!(!export("never").end().stdout.contains('\x1b'));
    // `script` gives it a terminal.
    let terminal = |set: bool| {
        let mut start = world.weigh(&["export", &run]);
        if set {
            start = start.env("NO_COLOR", "1");
        }
        let mut weigh = start.command();
        let words: Vec<_> = std::iter::once(crate::support::WEIGH)
            .chain(weigh.get_args().filter_map(|word| word.to_str()))
            .map(str::to_owned)
            .collect();
        let mut script = Command::new("script");
        script
            .args(["-qec", &words.join(" "), "/dev/null"])
            .envs(weigh.get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned()))));
        script.current_dir(world.path("")).env("TERM", "xterm").stdin(Stdio::null());
        if !set {
            script.env_remove("NO_COLOR");
        }
        weigh.env_clear();
        script.output().ok().map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let Some(coloured) = terminal(false) else {
        crate::support::skipped("there is no `script` to give the program a terminal");
        return;
    };
    assert!(coloured.contains("\x1b[") && coloured.contains("against"), "{coloured}");
    let plain = terminal(true).expect("it ran before");
    assert!(!plain.contains("\x1b[") && plain.contains("against"), "{plain}");
}

#[test]
fn a_reader_that_goes_after_one_line_is_no_error_and_gates_are_judged_all_the_same() {
    let (world, run) = recorded_run();
    let mut weigh = world.weigh(&["export", &run, "--format", "json"]).command();
    let mut child = weigh.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!((line.as_str(), output.status.code()), ("{\n", Some(0)));
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut weigh = world.weigh(&["compare", &run, "a", "b", "--fail-if", "p50 > +2%"]).command();
    let output = weigh.stdout(writer).output().expect("it ends");
    assert!(matches!(output.status.code(), Some(1 | 3)), "a failed gate is not lost with its reader");
}

#[test]
fn every_verb_explains_itself_and_completions_can_be_had() {
    let world = World::idle();
    let help = world.weigh(&["--help"]).end();
    help.assert_code(0);
    assert!(help.stdout.contains("Exit codes: 0 fine, 1 a gate failed, 2 could not do it, 3"), "{help}");
    assert!(!help.stdout.contains("guardian"), "the hidden verb stays hidden: {help}");
    for verb in
        ["load", "run", "plan", "verify", "init", "compare", "report", "plot", "export", "history", "doctor"]
    {
        assert!(help.stdout.contains(&format!("  {verb} ")), "{verb}: {help}");
        let own = world.weigh(&[verb, "--help"]).end();
        assert!(own.assert_code(0).stdout.contains("Usage: weigh "), "{own}");
    }
    for shell in ["bash", "zsh", "fish"] {
        assert!(world.weigh(&["completions", shell]).end().assert_code(0).stdout.contains("weigh"));
    }
    let version = world.weigh(&["--version"]).end();
    assert!(version.assert_code(0).stdout.starts_with("weigh "), "{version}");
}

#[test]
fn doctor_looks_and_finds_nothing_to_clean() {
    let world = World::idle();
    let look = world.weigh(&["doctor", "--format", "json"]).end();
    assert!(matches!(look.code, Some(0 | 3)), "{look}");
    let findings = look.json();
    let count = |subject: &str| {
        findings.as_array().map(|list| list.iter().filter(|f| f["subject"] == subject).count())
    };
    assert_eq!((count("cores"), count("cpu-quota")), (Some(1), Some(1)), "{findings}");
    let clean = world.weigh(&["doctor", "--clean"]).end();
    assert_eq!(
        (clean.code, clean.stdout.as_str()),
        (
            Some(0),
            "nothing is left behind by a dead run of this user; not seen: what systemd, Docker or cron started on request\n"
        )
    );
    let clean = world.weigh(&["doctor", "--clean", "--format", "json"]).end();
    assert_eq!(clean.json(), serde_json::json!([]));
}

#[test]
fn nothing_is_printed_of_a_run_that_was_changed_unless_asked_for_unverified() {
    type Damage = fn(&Path);
    let damages: [(&str, Damage); 6] = [
        ("summary.json", |file| {
            // As if another quantity had been asked for: a verdict may be withheld on a disturbed host.
            let text = fs::read_to_string(file).expect("a file");
            assert!(text.contains("\"response_p50\""), "{text}");
            fs::write(file, text.replace("\"response_p50\"", "\"response_p90\"")).expect("a file");
        }),
        ("plan.json", |file| fs::write(file, "").expect("a file")),
        ("environment.json", |file| fs::write(file, "{}").expect("a file")),
        ("blocks/000.json", |file| fs::remove_file(file).expect("a file")),
        ("trials/001/windows.csv", |file| {
            let text = fs::read_to_string(file).expect("a file");
            fs::write(file, text.replacen(",1,", ",2,", 1)).expect("a file");
        }),
        ("trials/000/trial.json", |file| fs::remove_file(file).expect("a file")),
    ];
    for (name, damage) in damages {
        let (world, run) = recorded_run();
        damage(&Path::new(&run).join(name));
        for verb in [
            &["report"][..],
            &["export", "--format", "json"],
            &["export", "--format", "csv"],
            &["plot"],
            &["summary"],
            &["cite"],
            &["compare"],
        ] {
            let ended = world.weigh(&[verb, &[&*run]].concat()).end();
            ended.assert_error(&[name, "--unverified"]);
            assert_eq!(ended.stdout, "", "{name}, {verb:?}");
        }
        world.weigh(&["compare", &run, "a", "b"]).end().assert_error(&[name]);
        world.weigh(&["run", "--resume", &run]).end().assert_error(&[name]);
        let listed = world.weigh(&["history"]).end();
        assert!(listed.stdout.contains(name) && !listed.stdout.contains("typical request"), "{listed}");
        if name.starts_with("trials/") {
            let ended = world.weigh(&["export", "--format", "csv", "--unverified", &run]).end();
            ended.assert_code(0);
            let is_told = ended.stdout.contains("response_p50") && ended.stderr.contains("is not verified");
            assert!(is_told, "{ended}");
        }
    }
}
