//! Stories of the packet relay: as a process of its own between two interfaces, and as layers of variants that are weighed.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use weighbridge_lab::net::{Capability, tools};

use crate::support::{WEIGH, World, measuring, send, service, skipped_layers};

/// Whether this process may make networks; says so where it may not.
fn may_make_networks() -> bool {
    let missing = tools::missing(&[Capability::SysAdmin, Capability::NetAdmin, Capability::NetRaw]);
    if !missing.is_empty() {
        skipped_layers("networks need root");
    }
    missing.is_empty()
}

/// A network namespace with the interfaces `left` and `right`, both up. It goes with the value.
struct Middle(String);

impl Middle {
    fn new() -> Self {
        let middle = Self(format!("wb-{:08x}-story", std::process::id()));
        let name = &middle.0;
        ip(&format!("netns add {name}"));
        for side in ["left", "right"] {
            ip(&format!("-n {name} link add {side} type veth peer name {side}-end"));
            for end in [side, &format!("{side}-end")] {
                ip(&format!("-n {name} link set {end} addrgenmode none up"));
            }
        }
        middle
    }

    fn relay(&self, arguments: &[&str]) -> Child {
        let mut command = Command::new("ip");
        command
            .args(["netns", "exec", &self.0, WEIGH, "frames", "--between", "left", "right"])
            .args(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("`ip` of iproute2")
    }
}

impl Drop for Middle {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "delete", &self.0]).status();
    }
}

#[track_caller]
fn ip(arguments: &str) {
    let done = Command::new("ip").args(arguments.split(' ')).status().expect("`ip` of iproute2");
    assert!(done.success(), "ip {arguments}");
}

#[test]
fn a_relay_reports_when_asked_and_at_its_end_however_that_comes() {
    if !may_make_networks() {
        return;
    }
    let middle = Middle::new();
    for by_signal in [true, false] {
        let mut relay = middle.relay(&["--forth", "delay=1ms,jitter=200us,loss=1%", "--seed", "7"]);
        let mut lines =
            BufReader::new(relay.stdout.take().expect("piped")).lines().map(|line| line.expect("text"));
        assert_eq!(lines.next().as_deref(), Some("ready direct"));
        let mut orders = relay.stdin.take().expect("piped");
        orders.write_all(b"\n").expect("it reads");
        let first: Value = serde_json::from_str(&lines.next().expect("a report")).expect("JSON");
        assert_eq!(first["forth"]["way"], "delay=1000000ns,jitter=200000ns,distribution=uniform,loss=0.01");
        assert_eq!((&first["back"]["way"], &first["seed"]), (&"null".into(), &7.into()));
        if by_signal {
            send("TERM", relay.id());
        } else {
            drop(orders);
        }
        let last: Value = serde_json::from_str(&lines.next().expect("a report")).expect("JSON");
        assert!(last["time_ns"].as_u64() > first["time_ns"].as_u64());
        assert_eq!(lines.next(), None);
        assert!(relay.wait().expect("it is ours").success());
    }
    for (arguments, complaint) in [
        (&["--forth", "delay=5"][..], "`--forth` is no way"),
        (&["--back", "jitter=1ms"][..], "would let frames leave before they came"),
        (&["--core", "1000"][..], "core"),
    ] {
        let refused = middle.relay(arguments).wait_with_output().expect("it is ours");
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(refused.status.code() == Some(2) && said.contains(complaint), "{said}");
        assert!(refused.stdout.is_empty(), "{said}");
    }
}

#[test]
fn a_relay_without_the_capability_says_which_it_needs() {
    let without = "-net_raw";
    let words = ["--bounding-set", without, "--inh-caps", without];
    let world = World::idle();
    let arguments = ["frames", "--between", "lo", "lo2"];
    let refused = world.weigh(&arguments).through("setpriv", &words).end();
    refused.assert_code(2);
    assert!(refused.says("CAP_NET_RAW") && refused.says("run as root"), "{refused}");
    assert!(world.weigh(&["frames", "--between", "lo", "lo"]).end().says("`lo` is named for both sides"));
}

/// The Rust service behind these layers.
fn rust(name: &str, layers: &str) -> String {
    let program = service::folder().join("rust/target/release/weigh-rust");
    format!(
        "name = \"{name}\"\ncommand = [\"{}\"]\nready = \"line\"\nenv = {{ WORKLOAD = \"pingpong\" }}\nlayers = {layers}",
        program.display()
    )
}

/// The p50 of each window of a trial, in nanoseconds.
fn medians_of(trial: &Path) -> Vec<u64> {
    let text = fs::read_to_string(trial.join("windows.csv")).expect("windows");
    let mut rows = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let header = rows.next().expect("a header");
    let column = header.iter().position(|name| *name == "all_response_p50_ns").expect("a column");
    let medians: Vec<u64> = rows.filter_map(|row| row[column].parse().ok()).collect();
    assert!(!medians.is_empty(), "{text}");
    medians
}

#[test]
fn delay_and_loss_are_weighed_against_the_null_relay() {
    if !may_make_networks() {
        return;
    }
    measuring(|| {
        service::build("rust");
        let world = World::new();
        world.experiment_with(
            // TCP sends a lost SYN again after 1, 3, 7 and 15 s. At 5 % loss each way one in ten is lost, and twice in a row
            // often enough that the usual timeout of 2 s ends one run in ten.
            "[plan]\nblocks = { min = 2, max = 2 }\nbudget = \"3 s\"\nseed = 1\n[load]\nwarmup = \"20 ms\"\ntimeout = \"20 s\"",
            &[
                &rust("relay", "[\"veth\", \"relay\"]"),
                &rust("delay", "[\"veth\", \"relay\", { layer = \"delay\", time = \"1 ms\" }]"),
                &rust("loss", "[\"veth\", \"relay\", { layer = \"loss\", share = \"5 %\" }, \"vxlan\"]"),
            ],
        );
        let ended = world.run(&["--format", "json"]).end();
        ended.assert_counts();
        let folders = fs::read_dir(world.run_folder().join("trials")).expect("trials");
        let (mut seeds, mut medians) = (Vec::new(), Vec::new());
        for folder in folders {
            let folder = folder.expect("an entry").path();
            let text = fs::read_to_string(folder.join("trial.json")).expect("a trial");
            let trial: Value = serde_json::from_str(&text).expect("JSON");
            let relayed = &trial["service"]["network"]["relayed"];
            let count = |direction: &str, what: &str| relayed[direction][what].as_u64().expect("a count");
            seeds.push(relayed["seed"].as_u64());
            for direction in ["forth", "back"] {
                // How many a window has depends on what was lost while it was warmed; each crosses both ways.
                let requests =
                    trial["service"]["network"]["crossed"][0]["requests"].as_u64().expect("a count");
                assert!(requests > 0 && count(direction, "sent") >= requests, "{trial}");
                assert_eq!(count(direction, "whole") + count(direction, "full"), 0, "{trial}");
                let gone =
                    ["sent", "lost", "full", "refused", "cut", "waiting"].map(|what| count(direction, what));
                assert_eq!(count(direction, "came"), gone.iter().sum::<u64>(), "{trial}");
            }
            match trial["variant_name"].as_str() {
                Some("delay") => {
                    let median = relayed["forth"]["delay"]["p50_ns"].as_f64().expect("a time");
                    assert!((median / 1e6 - 1.0).abs() < 0.1, "{trial}");
                    assert_eq!(relayed["back"]["way"], "null", "{trial}");
                    // A busy machine adds to what was planted and takes nothing away. How near it comes on a quiet one the
                    // relay's own tests ask.
                    assert!(medians_of(&folder).into_iter().all(|median| median >= 1_000_000), "{trial}");
                }
                Some("loss") => assert!(count("forth", "lost") + count("back", "lost") > 0, "{trial}"),
                _ => {
                    let delayed = relayed["forth"]["delay"]["max_ns"].as_u64().expect("a time");
                    assert_eq!(count("forth", "lost") + delayed, 0, "{trial}");
                    medians.extend(medians_of(&folder));
                }
            }
        }
        let least = medians.into_iter().min().expect("windows of the null relay");
        assert!(least < 1_000_000, "the null relay delays as much: {least} ns");
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), 6, "each trial loses other packets");
        world.assert_nothing_left();
    });
}
