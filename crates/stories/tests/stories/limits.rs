//! Limits of a variant as a user meets them: told before and after a run, refused where there is not so much, and a service
//! that is killed at one is told by name.

use std::fs;

use serde_json::Value;

use crate::support::{World, measuring, skipped_layers};

/// Answers as `pingpong` wants it, and keeps half a MiB for each request where it is told to.
const SERVER: &str = r#"
import http.server, os, socketserver, sys
held = []
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def setup(self):
        super().setup()
        self.connection.setsockopt(6, 1, 1)
    def do_GET(self):
        size = int(self.path.rsplit("/", 1)[1])
        if "EATS" in os.environ:
            held.append(bytearray(b"x" * (1 << 19)))
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(size))
        self.end_headers()
        self.wfile.write(b"p" + b"o" * (size - 3) + b"ng")
    def log_message(self, *_):
        pass
class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
server = Server(("127.0.0.1", 0), Handler)
print("ready", server.server_address[1], flush=True)
server.serve_forever()
"#;

/// Whether memory can be limited here; says so where it cannot.
fn can_limit() -> bool {
    let can = weighbridge_lab::process::memory::Controller::detect().is_ok();
    if !can {
        skipped_layers("limits of memory need root");
    }
    can
}

fn server(world: &World, name: &str, more: &str) -> String {
    let program = world.write("server.py", SERVER);
    format!("name = \"{name}\"\ncommand = [\"python3\", \"{}\"]\nready = \"line\"\n{more}", program.display())
}

#[test]
fn limits_are_told_by_plan_and_recorded_with_what_they_did() {
    if !can_limit() {
        return;
    }
    measuring(|| {
        let world = World::new();
        let plan = "[plan]\nblocks = { min = 2, max = 2 }\nbudget = \"2 s\"\nwindow = \"5 ms\"";
        let small = server(&world, "small", "memory = \"64 MB\"\ncores = 1");
        let wide = server(&world, "wide", "cores = 4000");
        world.experiment_with(plan, &[&server(&world, "whole", ""), &small, &wide]);
        let planned = world.weigh(&["plan", "experiment.toml"]).end();
        assert!(planned.stdout.contains(", 64 MB of memory, one core"), "{planned}");
        let ended = world.run(&["--format", "json"]).end();
        ended.assert_measured();
        // What this machine has not is left out, and the others are measured.
        assert!(ended.says("`wide`") && ended.says("`cores = 4000` is more than the "), "{ended}");
        let note = ended.json()["findings"].as_array().expect("findings").iter().any(|finding| {
            let told = finding["evidence"].as_str().unwrap_or_default();
            finding["name"] == "memory limit"
                && finding["subject"] == "small"
                && told.contains("64 MB of memory")
        });
        assert!(note, "{ended}");
        let trials = fs::read_dir(world.run_folder().join("trials")).expect("trials");
        for trial in trials {
            let text =
                fs::read_to_string(trial.expect("an entry").path().join("trial.json")).expect("a trial");
            let trial: Value = serde_json::from_str(&text).expect("JSON");
            let (memory, runtime) = (&trial["service"]["memory"], &trial["service"]["runtime"]);
            if trial["variant_name"] == "whole" {
                assert!(memory.is_null(), "{memory}");
                continue;
            }
            assert_eq!((&memory["limit_bytes"], &memory["killed"]), (&64_000_000.into(), &0.into()));
            assert!(
                memory["peak_bytes"].as_u64().is_none_or(|peak| (1..=64_000_000).contains(&peak)),
                "{memory}"
            );
            assert_eq!(runtime["cores"].as_array().map(Vec::len), Some(1), "{runtime}");
        }
        world.assert_nothing_left();
    });
}

#[test]
fn a_service_that_is_killed_at_its_limit_is_told_by_name() {
    if !can_limit() {
        return;
    }
    measuring(|| {
        let world = World::new();
        let eats = server(&world, "eats", "memory = \"64 MB\"\nenv = { EATS = \"1\" }");
        world.experiment(&[&server(&world, "whole", ""), &eats]);
        let ended = world.run(&[]).end();
        assert_ne!(ended.code, Some(0), "{ended}");
        assert!(ended.says("`eats` ended with signal 9"), "{ended}");
        assert!(ended.says("its limit is 64 MB of memory"), "{ended}");
        world.assert_nothing_left();
    });
}

#[test]
fn more_than_there_is_is_refused_with_what_there_is() {
    let world = World::idle();
    for (limit, said) in [
        (
            "memory = \"900000 GB\"",
            " of memory of this machine that services may use; give it less, or leave `memory` out",
        ),
        ("cpu = 999", "`cpu = \"999\"` is more than the "),
    ] {
        world.experiment(&[&server(&world, "whole", ""), &server(&world, "much", limit)]);
        let ended = world.run(&[]).end();
        ended.assert_code(2);
        assert!(ended.says("variant `much`") && ended.says(said), "{limit}: {ended}");
    }
    world.assert_nothing_left();
}
