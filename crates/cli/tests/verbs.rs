//! Small verbs and their promises, told by the whole program: each asks once and starts nothing that it does not need.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn weigh(folder: &Path, arguments: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_weigh");
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder).env("WEIGH_SERVICES", services());
    command.output().expect("weigh starts")
}

fn services() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../services")
}

fn text(bytes: &[u8]) -> String {
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
            let error = text(&refused.stderr);
            assert_eq!(refused.status.code(), Some(2), "{verb}: {error}");
            assert_eq!(error.lines().count(), 1, "{error}");
            let wanted = [&format!("`{key}`: there is no service `rsut`")[..], "did you mean `rust`"];
            assert!(wanted.iter().all(|part| error.contains(part)), "{verb}: {error}");
            assert!(refused.stdout.is_empty() && !folder.path().join("runs").exists());
        }
    }
}
