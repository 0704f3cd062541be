//! Stories of overlays in user space: real requests through switches of Open vSwitch and tunnels of WireGuard, alone and in
//! compositions, counted by them and by the links below.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;
use weighbridge_lab::layers;

use super::layered::{may_switch, may_tunnel, path_with_tools, rust};
use crate::support::{World, measuring, must_have_layers, service};

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The roles whose resources a trial has.
fn roles(trial: &Path) -> BTreeSet<String> {
    let text = read(&trial.join("resources.csv"));
    let mut rows = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let header = rows.next().expect("a header");
    let column = header.iter().position(|name| *name == "role").expect("roles");
    rows.map(|row| row[column].to_owned()).collect()
}

/// Names, layers and how many bytes a packet may have at most.
const STACKS: [(&str, &str, u64); 7] = [
    ("ovs", "[\"veth\", \"ovs\"]", 1500),
    ("geneve", "[\"veth\", { layer = \"rate\", rate = \"1 Gbit/s\" }, \"ovs-geneve\"]", 1450),
    ("vxlan", "[\"veth\", \"relay\", \"ovs-vxlan\"]", 1450),
    ("gre", "[\"veth\", \"ovs-gre\", { layer = \"container\", network = \"layer\" }]", 1458),
    ("proxy", "[\"veth\", \"ovs-geneve\", \"sidecar:haproxy\"]", 1450),
    ("two", "[\"veth\", \"vxlan\", \"ovs-gre\"]", 1408),
    ("bursts", "[\"veth\", \"relay\", { layer = \"loss\", p = \"1 %\", r = \"50 %\" }, \"ovs\"]", 1500),
];

#[test]
fn requests_pass_the_switches_in_every_composition() {
    if !may_switch() {
        return;
    }
    measuring(|| {
        service::build("rust");
        let world = World::new();
        let variants: Vec<String> = std::iter::once(rust("bare", "[]"))
            .chain(STACKS.map(|(name, layers, _)| rust(name, layers)))
            .collect();
        let variants: Vec<&str> = variants.iter().map(String::as_str).collect();
        // Within a burst every second SYN is lost, and each is sent again after twice the time.
        world.experiment_with(
            "[load]\nwarmup = \"20 ms\"\ntimeout = \"30 s\"\n\
             [plan]\nblocks = { min = 2, max = 2 }\nbudget = \"4 s\"\nwindow = \"5 ms\"\ntogether = 8",
            &variants,
        );
        let ended = world.run(&["--format", "json"]).end();
        ended.assert_counts();
        let folders = fs::read_dir(world.run_folder().join("trials")).expect("trials");
        let mut seen = 0;
        for folder in folders.map(|entry| entry.expect("an entry").path()) {
            let trial: Value = serde_json::from_str(&read(&folder.join("trial.json"))).expect("JSON");
            let Some((name, _, mtu)) = STACKS.iter().find(|(name, ..)| trial["variant_name"] == *name) else {
                continue;
            };
            let network = &trial["service"]["network"];
            assert_eq!((&network["unproved"], &network["mtu"]), (&Value::Null, &(*mtu).into()), "{network}");
            let roles = roles(&folder);
            for role in ["ovs-client", "ovs-server", "ovs-database-client", "ovs-database-server"] {
                assert!(roles.contains(role), "{name}: {roles:?}");
            }
            seen += 1;
        }
        assert_eq!(seen, 2 * STACKS.len());
        world.assert_nothing_left();
    });
}

#[test]
fn a_variant_whose_layers_cannot_be_put_in_is_left_out_and_the_rest_is_measured() {
    if !may_switch() {
        return;
    }
    measuring(|| {
        service::build("rust");
        let world = World::new();
        // All that a probe asks is answered; the tunnel's bridge is refused.
        let real = ["/usr/bin/ovs-vsctl", "/usr/local/bin/ovs-vsctl"]
            .into_iter()
            .find(|path| Path::new(path).is_file());
        let script = format!(
            "case \"$*\" in *br1*) echo 'no room for a second bridge' >&2; exit 1;; esac\nexec {} \"$@\"",
            real.expect("it is installed")
        );
        world.script("tools/ovs-vsctl", &script);
        let variants =
            [rust("geneve", "[\"veth\", \"ovs-geneve\"]"), rust("one", "[]"), rust("two", "[\"veth\"]")];
        world.experiment(&variants.each_ref().map(String::as_str));
        let path = format!("{}:{}", world.path("tools").display(), std::env::var("PATH").unwrap_or_default());
        let ended = world.run(&["--format", "json"]).env("PATH", &path).end();
        ended.assert_measured();
        assert!(
            ended.says("its layers could not be put in") && ended.says("no room for a second bridge"),
            "{ended}"
        );
        assert_eq!(ended.json()["costs"][0]["variant"], "two", "{ended}");
        let experiment = read(&world.run_folder().join("experiment.toml"));
        assert!(!experiment.contains("geneve"), "{experiment}");
        assert_eq!((world.count("unavailable"), world.count("run-started")), (1, 2));
        world.assert_nothing_left();
    });
}

/// Whatever hangs on programs that `scripts/setup --tests` installs or builds, and on no module of the kernel.
const INSTALLED: [&str; 23] = [
    "veth",
    "rate",
    "relay",
    "delay",
    "loss",
    "vxlan",
    "ovs",
    "ovs-vxlan",
    "ovs-geneve",
    "ovs-gre",
    "wireguard by wireguard-go",
    "wireguard by boringtun",
    "sidecar:haproxy",
    "sidecar:nginx",
    "sidecar:envoy",
    "container",
    "container crun",
    "container published by slirp4netns",
    "container published by pasta",
    "container docker",
    "container docker published",
    "container podman",
    "container podman published",
];

#[test]
fn every_layer_whose_programs_are_installed_can_be_run() {
    if !must_have_layers() {
        return;
    }
    let report = layers::report();
    for name in INSTALLED {
        let found = report.iter().find(|found| found.name == name);
        let found = found.unwrap_or_else(|| panic!("no kind of layer is called `{name}`: {report:?}"));
        found.found.as_ref().unwrap_or_else(|why| panic!("{name}: {why}"));
    }
}

#[test]
fn several_connections_through_a_network_and_one_for_each_request_are_measured() {
    if !may_switch() {
        return;
    }
    measuring(|| {
        service::build("rust");
        for load in ["connections = 3", "connections = 2\nchurn = 1"] {
            let world = World::new();
            let plan = format!(
                "[load]\n{load}\n[plan]\nblocks = {{ min = 2, max = 2 }}\nbudget = \"2 s\"\nwindow = \"5 ms\""
            );
            let variants = [
                rust("bare", "[]"),
                rust("veth", "[\"veth\"]"),
                rust("geneve", "[\"veth\", \"ovs-geneve\"]"),
                rust("proxy", "[\"veth\", \"sidecar:haproxy\"]"),
            ];
            world.experiment_with(&plan, &variants.each_ref().map(String::as_str));
            let ended = world.run(&["--format", "json"]).end();
            ended.assert_counts();
            world.assert_nothing_left();
        }
    });
}

/// Names, layers and how many bytes a packet may have at most.
const TUNNELS: [(&str, &str, u64); 5] = [
    ("alone", "[\"veth\", \"wireguard\"]", 1440),
    ("rate", "[\"veth\", { layer = \"rate\", rate = \"1 Gbit/s\" }, \"wireguard\"]", 1440),
    ("delay", "[\"veth\", { layer = \"delay\", time = \"200 us\" }, \"wireguard\"]", 1440),
    ("vxlan", "[\"veth\", \"vxlan\", \"wireguard\"]", 1390),
    ("proxy", "[\"veth\", \"wireguard\", \"sidecar:haproxy\"]", 1440),
];

#[test]
fn requests_pass_a_tunnel_in_every_composition_and_its_record_has_no_keys() {
    if !may_tunnel() {
        return;
    }
    measuring(|| {
        service::build("rust");
        let world = World::new();
        let variants: Vec<String> = std::iter::once(rust("bare", "[]"))
            .chain(TUNNELS.map(|(name, layers, _)| rust(name, layers)))
            .collect();
        let variants: Vec<&str> = variants.iter().map(String::as_str).collect();
        world.experiment_with(
            "[plan]\nblocks = { min = 2, max = 2 }\nbudget = \"4 s\"\nwindow = \"5 ms\"\ntogether = 6",
            &variants,
        );
        let ended = world.run(&["--format", "json"]).env("PATH", &path_with_tools()).end();
        ended.assert_counts();
        let folders = fs::read_dir(world.run_folder().join("trials")).expect("trials");
        let mut seen = 0;
        for folder in folders.map(|entry| entry.expect("an entry").path()) {
            let text = read(&folder.join("trial.json"));
            assert!(!text.contains("private"), "{text}");
            let trial: Value = serde_json::from_str(&text).expect("JSON");
            let Some((name, _, mtu)) = TUNNELS.iter().find(|(name, ..)| trial["variant_name"] == *name)
            else {
                continue;
            };
            let network = &trial["service"]["network"];
            assert_eq!((&network["unproved"], &network["mtu"]), (&Value::Null, &(*mtu).into()), "{network}");
            let is_tunnel = |facts: &&Value| facts["layer"] == "wireguard";
            let facts = network["layers"].as_array().expect("layers").iter().find(is_tunnel).expect("it");
            let by = facts["by"].as_str().expect("words");
            assert!(by.contains("UDP port 51820") && by.contains(|c: char| c.is_ascii_digit()), "{by}");
            let roles = roles(&folder);
            let is_daemon = by.contains("in user space");
            for role in ["wireguard-client", "wireguard-server"] {
                assert_eq!(roles.contains(role), is_daemon, "{name}: {by}: {roles:?}");
            }
            seen += 1;
        }
        assert_eq!(seen, 2 * TUNNELS.len());
        world.assert_nothing_left();
    });
}

#[test]
fn tunnels_that_make_no_sense_are_refused_in_a_sentence() {
    for (layers, said) in [
        ("[\"veth\", \"wireguard\", \"ovs\"]", "joins devices of Ethernet"),
        ("[\"veth\", { layer = \"wireguard\", implementation = \"openvpn\" }]", "allowed: `kernel`"),
        ("[\"wireguard\"]", "needs two hosts"),
    ] {
        let world = World::idle();
        world.experiment_with("", &[&rust("bare", "[]"), &rust("tunnel", layers)]);
        world.run(&[]).end().assert_error(&["experiment.toml:", said]);
    }
}
