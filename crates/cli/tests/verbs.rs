//! Small verbs and their promises, told by the whole program: each asks once and starts nothing that it does not need.

#[allow(dead_code)] // services are only built here
#[path = "support/service.rs"]
mod service;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn weigh(folder: &Path, arguments: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_weigh");
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
    ["go", "rust"].map(service::build);
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
