//! Stories of overlays in user space: real requests through switches of Open vSwitch and tunnels of WireGuard, alone and in
//! compositions, counted by them and by the links below; nothing is left afterwards, however a run ends.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;
use weighbridge_lab::layers;
use weighbridge_model::experiment::{Layer, Layers, Ovs, Veth, Wireguard};

use crate::support::{World, eventually, measuring, must_have_layers, send, service, skipped_layers};

/// Whether switches can run here; says so where they cannot.
fn may_switch() -> bool {
    let stack = Layers::new(vec![Layer::Veth(Veth::default()), Layer::Ovs(Ovs::PLAIN)]).expect("right");
    let found = layers::probe(&stack);
    if let Err(why) = &found {
        skipped_layers(why);
    }
    found.is_ok()
}

/// The Rust service behind these layers.
fn rust(name: &str, layers: &str) -> String {
    let program = service::folder().join("rust/target/release/weigh-rust");
    format!(
        "name = \"{name}\"\ncommand = [\"{}\"]\nready = \"line\"\nenv = {{ WORKLOAD = \"pingpong\" }}\nlayers = {layers}",
        program.display()
    )
}

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
        world.experiment_with(
            "[plan]\nblocks = { min = 2, max = 2 }\nbudget = \"4 s\"\nwindow = \"5 ms\"\ntogether = 8",
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

/// Two variants, one of them behind a tunnel, in an endless run.
fn endless(world: &World) {
    let plan = "[plan]\nblocks = { min = 30, max = 30 }\nbudget = \"5 min\"";
    world.experiment_with(plan, &[&rust("bare", "[]"), &rust("geneve", "[\"veth\", \"ovs-geneve\"]")]);
}

#[test]
fn a_run_that_is_interrupted_or_killed_leaves_no_switch() {
    if !may_switch() {
        return;
    }
    service::build("rust");
    let world = World::idle();
    endless(&world);
    let mut weigh = world.run(&[]).start();
    weigh.until_event("warm", 2);
    assert_eq!(world.processes("ovs-vswitchd").len(), 2);
    weigh.end_by("INT").assert_error(&["interrupted"]);
    world.assert_nothing_left();
    // Its guardian first, so that nobody cleans up; then the run.
    let world = World::idle();
    endless(&world);
    let mut weigh = world.run(&[]).start();
    weigh.until_event("warm", 2);
    let guardians = world.processes("guardian");
    assert!(!guardians.is_empty());
    guardians.into_iter().for_each(|pid| send("KILL", pid));
    eventually("the guardian is gone", || world.processes("guardian").is_empty());
    weigh.signal("KILL");
    let _ = weigh.end();
    assert!(!world.processes("ovs-vswitchd").is_empty(), "somebody has to be left for the doctor");
    let cleaned = world.weigh(&["doctor", "--clean"]).end();
    cleaned.assert_code(0);
    assert_eq!(cleaned.stdout.matches("network namespace").count(), 3, "{cleaned}");
    world.assert_nothing_left();
}

/// A terminal sends to all of a group, also to the programs by which a network is made.
#[test]
fn a_run_that_a_terminal_interrupts_while_a_switch_or_a_tunnel_is_made_leaves_nothing() {
    if !may_switch() || !may_tunnel() {
        return;
    }
    service::build("rust");
    for (layers, program) in
        [("[\"veth\", \"ovs-geneve\"]", "ovs-vswitchd"), ("[\"veth\", \"wireguard\"]", "wireguard-go")]
    {
        for signal in ["INT", "TERM"] {
            let world = World::idle();
            world.experiment(&[&rust("bare", "[]"), &rust("layered", layers)]);
            let mut weigh = world.run(&[]).env("PATH", &path_with_tools()).leading().start();
            weigh.until("a program of the layer", |world| !world.processes(program).is_empty());
            weigh.group_ends_by(signal).assert_error(&["interrupted"]);
            world.assert_nothing_left();
        }
    }
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

/// The search path with what `scripts/setup --tests` builds.
fn path_with_tools() -> String {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/tools");
    format!("{}:{}", tools.display(), std::env::var("PATH").unwrap_or_default())
}

/// Whether tunnels of WireGuard can run here; says so where they cannot.
fn may_tunnel() -> bool {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/tools/wireguard-go");
    let hosts = Layer::Veth(Veth::default());
    let tunnel = Layer::Wireguard(Wireguard::default());
    // That program needs no more than hosts do, but is not on the search path of this one.
    let wanted = if tools.is_file() { vec![hosts] } else { vec![hosts, tunnel] };
    let found = layers::probe(&Layers::new(wanted).expect("right"));
    if let Err(why) = &found {
        skipped_layers(why);
    }
    found.is_ok()
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
fn a_run_with_a_tunnel_that_is_killed_leaves_nothing_after_the_doctor() {
    if !may_tunnel() {
        return;
    }
    service::build("rust");
    let world = World::idle();
    let plan = "[plan]\nblocks = { min = 30, max = 30 }\nbudget = \"5 min\"";
    world.experiment_with(plan, &[&rust("bare", "[]"), &rust("tunnel", "[\"veth\", \"wireguard\"]")]);
    let mut weigh = world.run(&[]).env("PATH", &path_with_tools()).start();
    weigh.until_event("warm", 2);
    let guardians = world.processes("guardian");
    guardians.into_iter().for_each(|pid| send("KILL", pid));
    eventually("the guardian is gone", || world.processes("guardian").is_empty());
    weigh.signal("KILL");
    let _ = weigh.end();
    let cleaned = world.weigh(&["doctor", "--clean"]).end();
    cleaned.assert_code(0);
    assert_eq!(cleaned.stdout.matches("network namespace").count(), 3, "{cleaned}");
    world.assert_nothing_left();
    assert!(!Path::new("/var/run/wireguard/wg0.sock").exists(), "sockets are not the host's");
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
