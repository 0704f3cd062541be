//! Small verbs and their promises, told by the whole program: each asks once and starts nothing that it does not need.

use crate::support::service;

#[allow(dead_code)] // services are only built here
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use sha2::{Digest, Sha256};

fn weigh(folder: &Path, arguments: &[&str]) -> Output {
    let program = crate::support::WEIGH;
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder).env("WEIGH_SERVICES", service::folder());
    command.output().expect("weigh starts")
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

#[test]
fn a_misspelt_peer_is_refused_by_plan_and_run_as_a_misspelt_service_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |variant: &str| {
        let text = format!("[workload]\nname = \"pingpong\"\n[[variant]]\n{variant}\n");
        fs::write(folder.path().join("x.toml"), text).expect("a file");
    };
    for (variant, key) in [("service = \"rsut\"", "service"), ("service = \"go\"\npeer = \"rsut\"", "peer")] {
        file(variant);
        for verb in ["plan", "run"] {
            let refused = weigh(folder.path(), &[verb, "x.toml"]);
            let error = text_of(&refused.stderr);
            assert_eq!(refused.status.code(), Some(2), "{verb}: {error}");
            assert_eq!(error.lines().count(), 1, "{error}");
            let wanted = [&format!("`{key}`: there is no service `rsut`")[..], "did you mean `rust`"];
            assert!(wanted.iter().all(|part| error.contains(part)), "{verb}: {error}");
            assert!(refused.stdout.is_empty() && !folder.path().join("runs").exists());
        }
    }
}

#[test]
fn services_are_asked_for_their_version_while_they_run() {
    let folder = tempfile::tempdir().expect("a folder");
    ["go", "rust"].into_iter().for_each(service::build);
    // Only these two: what else is built here is not known.
    for name in ["go", "rust"] {
        let link = folder.path().join("services").join(name);
        fs::create_dir_all(link.parent().expect("it has one")).expect("a folder");
        std::os::unix::fs::symlink(service::folder().join(name), link).expect("a link");
    }
    let unbuilt = folder.path().join("services/later");
    fs::create_dir(&unbuilt).expect("a folder");
    let text = fs::read_to_string(service::folder().join("go/service.toml")).expect("a service");
    fs::write(unbuilt.join("service.toml"), text.replace("name = \"go\"", "name = \"later\""))
        .expect("a file");
    let listed = |flags: &[&str]| -> serde_json::Value {
        let listed = weigh(folder.path(), &[&["services", "list", "--format", "json"], flags].concat());
        assert!(listed.status.success(), "{}", text_of(&listed.stderr));
        serde_json::from_slice(&listed.stdout).expect("JSON")
    };
    let (running, programs) = (listed(&[]), listed(&["--no-start"]));
    for (at, language) in [(0, "Go "), (2, "Rust ")] {
        assert_eq!((&running[at]["asked"], &programs[at]["asked"]), (&"running".into(), &"program".into()));
        assert_eq!(running[at]["version"], programs[at]["version"]);
        assert!(running[at]["version"].as_str().is_some_and(|text| text.starts_with(language)), "{running}");
        assert!(running[at]["reason"].is_null(), "{running}");
    }
    assert!(running[1]["version"].is_null() && running[1]["status"] == "available", "{running}");
    assert_eq!(running[1]["reason"], "not built yet; build it with `weigh services build later`");
}

#[test]
fn a_trace_that_is_wrong_is_a_mistake_and_one_that_is_not_there_is_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "[workload]\nname = 'cache'\ntrace = { file = 't.csv', format = 'twitter' }\n\
        [[variant]]\nservice = 'redis'\nprotocol = 'resp'\n";
    fs::write(folder.path().join("x.toml"), text).expect("a file");
    let absent = weigh(folder.path(), &["plan", "x.toml"]);
    assert_eq!(absent.status.code(), Some(0), "the plan does not need it");
    assert!(text_of(&absent.stderr).contains("name a file of requests, relative to the experiment's folder"));
    fs::write(folder.path().join("t.csv"), "0,a,1,1,0,get,0\n1,2\n").expect("a file");
    for verb in ["plan", "run"] {
        let refused = weigh(folder.path(), &[verb, "x.toml"]);
        let error = text_of(&refused.stderr);
        assert_eq!((refused.status.code(), error.lines().count()), (Some(2), 1), "{verb}: {error}");
        assert!(error.contains("t.csv:2: `1,2` does not have seven columns: time, key"), "{verb}: {error}");
    }
}

#[test]
fn a_run_is_judged_again_beside_what_it_stored() {
    use crate::support::{World, probe, restate};
    let world = World::idle();
    world.experiment(&[&probe("a", "null"), &probe("b", "delay 100us")]);
    world.run(&[]).end().assert_measured();
    let run = world.run_folder();
    let path = run.to_str().expect("a plain path");
    let folder = run.parent().expect("it has one");
    let same = weigh(folder, &["judge", path]);
    assert_eq!(same.status.code(), Some(0), "{}{}", text_of(&same.stdout), text_of(&same.stderr));
    assert!(text_of(&same.stdout).contains("the stored summary follows from its records"));
    restate(&run, "summary.json", |summary| summary["costs"][0]["verdict"] = "lower".into());
    let other = weigh(folder, &["judge", path]);
    let text = text_of(&other.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(other.status.code(), Some(1), "{text}");
    assert!(text.contains("does not follow from its records: 1 of "), "{text}");
    let json = weigh(folder, &["judge", path, "--format", "json"]).stdout;
    let json: serde_json::Value = serde_json::from_slice(&json).expect("JSON");
    assert_eq!(json["differences"][0]["place"], "/costs/0/verdict");
    assert_eq!(json["differences"][0]["stored"], "lower");
    assert_eq!(json["recomputed"]["costs"][0]["verdict"], json["differences"][0]["recomputed"]);
}

fn corpus(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/ppbench_csv").join(name);
    path.to_str().expect("a plain path").to_owned()
}

#[test]
fn imported_logs_are_summed_up_chosen_by_tags_and_cited() {
    let folder = tempfile::tempdir().expect("a folder");
    let logs = [corpus("failed-and-retried.csv"), corpus("old-eight-columns.csv")];
    let done = weigh(folder.path(), &["import", "ppbench", &logs[0], &logs[1]]);
    assert!(done.status.success(), "{}", text_of(&done.stderr));
    let run = text_of(&done.stdout).trim().to_owned();
    fs::write(
        folder.path().join("names.json"),
        r#"{"machines": {"m": "mine"}, "experiments": {"ruby": "Ruby 2"}}"#,
    )
    .expect("a file");
    let shown =
        |flags: &[&str]| weigh(folder.path(), &[&["summary", &run, "--format", "json"], flags].concat());
    let rows: serde_json::Value =
        serde_json::from_slice(&shown(&["--naming", "names.json"]).stdout).expect("JSON");
    let rows = rows["rows"].as_array().expect("rows");
    let names: Vec<_> = rows.iter().map(|row| (row["name"].as_str(), row["retried"].as_u64())).collect();
    assert_eq!(names[0], (Some("Ruby 2 on mine"), Some(1)));
    assert_eq!(names.last().expect("a row"), &(Some("Test"), Some(1)), "of eight columns, without a machine");
    assert!(rows.iter().all(|row| row["origin"] == "imported" && row["throughput_per_s"].is_null()));
    let template =
        |flags: &[&str]| weigh(folder.path(), &[&["summary", &run, "--naming-template"], flags].concat());
    let text = text_of(&template(&["--naming", "names.json"]).stdout);
    assert!(
        text.contains(r#""m": "mine""#) && text.contains(r#""ruby": "Ruby 2""#),
        "names are kept: {text}"
    );
    assert!(text.contains(r#""Test": "Test""#), "tags without a name are added: {text}");
    assert!(template(&["-o", "names.json", "--naming", "names.json"]).status.success());
    assert_eq!(fs::read_to_string(folder.path().join("names.json")).expect("the file"), text);
    let both = template(&["--format", "csv"]);
    assert!(both.status.code() == Some(2) && text_of(&both.stderr).contains("--format"), "{both:?}");
    let chosen: serde_json::Value =
        serde_json::from_slice(&shown(&["--machines", "m"]).stdout).expect("JSON");
    assert_eq!(chosen["rows"].as_array().map(Vec::len), Some(1));
    let slip = shown(&["--experiments", "rubby"]);
    let error = text_of(&slip.stderr);
    assert!(slip.status.code() == Some(2) && error.contains("did you mean `ruby`?"), "{error}");
    let cited = text_of(&weigh(folder.path(), &["cite", &run]).stdout);
    // The digest is what public tools make of the folder.
    let script = "sha256sum environment.json experiment.toml imported.csv plan.json run.json | sha256sum";
    let made = Command::new("sh").args(["-c", script]).current_dir(folder.path().join(&run)).output();
    let made = text_of(&made.expect("a shell").stdout);
    let digest = made.split(' ').next().expect("a digest");
    assert!(digest.len() == 64 && cited.contains(&format!("sha256:{digest}")), "{cited}\n{made}");
    let of_run = weigh(folder.path(), &["cite", &run, "--format", "cff"]);
    assert_eq!(of_run.status.code(), Some(2), "{}", text_of(&of_run.stderr));
}

#[test]
fn a_log_that_was_damaged_on_its_way_is_one_error_with_its_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let whole = fs::read(corpus("failed-and-retried.csv")).expect("the log");
    let gz = [&[0x1f, 0x8b, 8, 0][..], &whole].concat();
    let cut = &whole[..whole.len() - 9];
    let latin = [&whole[..], b"\"m\xe4\",x\n"].concat();
    for (bytes, words) in [
        (&gz[..], "line 1, the first bytes: the file is compressed"),
        (cut, "line 3, "),
        (&latin, "line 4, its text: the byte 0xe4"),
    ] {
        fs::write(folder.path().join("log.csv"), bytes).expect("a file");
        let refused = weigh(folder.path(), &["import", "ppbench", "log.csv"]);
        let error = text_of(&refused.stderr);
        assert_eq!((refused.status.code(), error.lines().count()), (Some(2), 1), "{error}");
        assert!(
            error.contains("`log.csv` is no CSV of ppbench: ") && error.contains(words),
            "{error}, not {words}"
        );
    }
    assert!(!folder.path().join("runs").exists());
}

#[test]
fn a_script_is_written_once_and_its_actions_are_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let make = |sessions: &str, out: &str| {
        let words =
            ["trade", "script", "--sessions", sessions, "--seed", "7", "--stocks", "50", "--out", out];
        weigh(folder.path(), &words)
    };
    let read = |out: &str, name: &str| fs::read(folder.path().join(out).join(name)).expect("a file");
    for (sessions, out) in [("40", "short"), ("41", "long")] {
        let made = make(sessions, out);
        assert_eq!(made.status.code(), Some(0), "{}", text_of(&made.stderr));
        let about: serde_json::Value = serde_json::from_slice(&read(out, "about.json")).expect("JSON");
        let law = serde_json::json!({ "sessions": sessions.parse::<u32>().expect("a number"), "seed": 7, "stocks": 50, "skew": 0.55 });
        assert_eq!(about["law"], law);
        for name in ["stocks.txt", "users.txt", "workload.txt"] {
            let digest = weighbridge_model::hex::encode(&Sha256::digest(read(out, name)));
            assert_eq!(about["sha256"][name], digest);
            assert!(read("short", name).len() > 500 && read(out, name).starts_with(&read("short", name)));
        }
        let counted = weigh(folder.path(), &["trade", "count", out, "--format", "json"]);
        let counted: serde_json::Value = serde_json::from_slice(&counted.stdout).expect("JSON");
        assert_eq!(counted[0]["actions"], about["actions"]);
        for share in about["shares"].as_array().expect("a list") {
            let action = share["action"].as_str().expect("a name");
            assert_eq!(counted[0]["counts"][action], share["count"], "{action}");
        }
    }
    let table = text_of(&weigh(folder.path(), &["trade", "count", "long", "--sessions", "40"]).stdout);
    assert!(table.starts_with("Completed 40 trade sessions comprising "), "{table}");
    assert_eq!(table, text_of(&weigh(folder.path(), &["trade", "count", "short/workload.txt"]).stdout));
    fs::write(folder.path().join("bad.txt"), "000000\tpw\th\tb A\n").expect("a file");
    for (words, wrong) in [
        (
            &["script", "--out", "short"][..],
            "short/stocks.txt` is there already; remove it, or name another folder",
        ),
        (
            &["script", "--size", "tiny", "--out", "x"],
            "`tiny` is no size of a script; allowed: small (32 sessions)",
        ),
        (&["script", "--skew", "-1", "--out", "x"], "`skew` is -1; allowed: 0 (every stock alike) to 3"),
        (&["count", "none.txt"], "could not read `none.txt`"),
        (&["count", "/dev/null"], "`/dev/null` has no session; give a workload.txt"),
        (&["count", "bad.txt"], "bad.txt:1: column 4: `A` is not a symbol, a blank and a number of shares"),
        (&["count", "short", "--sessions", "41"], "the file has 40 sessions, and 41 are asked for"),
    ] {
        let refused = weigh(folder.path(), &[&["trade"], words].concat());
        let error = text_of(&refused.stderr);
        assert_eq!((refused.status.code(), error.lines().count()), (Some(2), 1), "{words:?}: {error}");
        assert!(error.contains(wrong), "{words:?}: {error}");
    }
}
