//! Stories of layers: real requests through networks of our own, alone and in compositions, with proof that packets took
//! that way, and what is said where they cannot be had.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use super::layered::{may_make_networks, rust};
use crate::support::{World, measuring, service};

/// The links of every trial of a variant.
fn networks(world: &World, variant: &str) -> Vec<Value> {
    let folders = fs::read_dir(world.run_folder().join("trials")).expect("trials");
    let read = |folder: PathBuf| -> Value {
        let text = fs::read_to_string(folder.join("trial.json")).expect("a trial");
        serde_json::from_str(&text).expect("JSON")
    };
    let trials = folders.map(|entry| read(entry.expect("an entry").path()));
    trials
        .filter(|trial| trial["variant_name"] == variant)
        .map(|trial| trial["service"]["network"].clone())
        .collect()
}

/// Packets out of a device in one trial.
fn sent(network: &Value, host: &str, device: &str) -> u64 {
    let links = network["links"].as_array().expect("links");
    let link = links.iter().find(|link| link["host"] == host && link["device"] == device);
    link.unwrap_or_else(|| panic!("no `{device}` of the {host}: {network}"))["sent_packets"]
        .as_u64()
        .expect("a count")
}

/// The host's own devices and mounts, but for what has a name among networks: other tests have some meanwhile.
fn host() -> (Vec<String>, Vec<String>) {
    let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let device = |line: &str| Some(line.split_once(':')?.0.trim().to_owned());
    let devices = text("/proc/net/dev").lines().filter_map(device).collect();
    let mounts = text("/proc/self/mountinfo");
    let mounts = mounts.lines().filter(|line| !line.contains(" /run/netns")).map(str::to_owned).collect();
    (devices, mounts)
}

#[test]
fn a_service_is_measured_behind_its_layers_and_its_packets_take_that_way() {
    if !may_make_networks() {
        return;
    }
    measuring(|| {
        service::build("rust");
        let before = host();
        let world = World::new();
        let layers = [
            ("bare", "[]"),
            ("veth", "[\"veth\"]"),
            ("jumbo", "[{ layer = \"veth\", mtu = 9000, congestion_control = \"reno\" }]"),
            ("rate", "[\"veth\", { layer = \"rate\", rate = \"1 Gbit/s\" }]"),
            ("vxlan", "[\"veth\", \"vxlan\"]"),
            (
                "all",
                "[\"veth\", { layer = \"rate\", rate = \"1 Gbit/s\" }, { layer = \"vxlan\", layout = \"flannel\" }]",
            ),
        ];
        let variants: Vec<String> = layers.iter().map(|(name, layers)| rust(name, layers)).collect();
        let variants: Vec<&str> = variants.iter().map(String::as_str).collect();
        world.experiment_with(
            "[plan]\nblocks = { min = 2, max = 2 }\nbudget = \"3 s\"\nwindow = \"5 ms\"",
            &variants,
        );
        let ended = world.run(&["--format", "json"]).end();
        ended.assert_counts();
        assert_eq!(networks(&world, "bare"), [Value::Null, Value::Null]);
        for name in ["veth", "jumbo", "rate", "vxlan", "all"] {
            let found = networks(&world, name);
            assert_eq!(found.len(), 2, "{name}");
            for network in &found {
                assert_eq!(network["unproved"], Value::Null, "{name}: {network}");
                // One packet for a request and one for its reply, at least.
                for (host, device) in [("client", "eth0"), ("switch", "server0"), ("server", "eth0")] {
                    assert!(sent(network, host, device) > 100, "{name}: {network}");
                }
            }
        }
        let jumbo = &networks(&world, "jumbo")[0];
        assert_eq!((&jumbo["mtu"], &jumbo["congestion_control"]), (&9000.into(), &"reno".into()));
        let vxlan = &networks(&world, "vxlan")[0];
        let (above, below) = (sent(vxlan, "client", "vxlan0"), sent(vxlan, "client", "eth0"));
        assert!(above > 100 && below >= above, "{vxlan}");
        let all = &networks(&world, "all")[0];
        let by: Vec<_> =
            all["layers"].as_array().expect("layers").iter().map(|layer| layer["layer"].clone()).collect();
        assert_eq!((by, &all["mtu"]), (vec!["veth".into(), "rate".into(), "vxlan".into()], &1450.into()));
        assert!(sent(all, "server", "flannel.1") > 100, "{all}");
        world.assert_nothing_left();
        assert_eq!(host(), before);
    });
}

#[test]
fn without_the_capabilities_the_others_run_and_what_is_missing_is_said() {
    measuring(|| {
        service::build("rust");
        let world = World::new();
        world.experiment(&[&rust("bare", "[]"), &rust("too", "[]"), &rust("veth", "[\"veth\"]")]);
        let without = "-sys_admin,-net_admin";
        let words = ["--bounding-set", without, "--inh-caps", without];
        let run = world.run(&["--format", "json"]).through("setpriv", &words).end();
        run.assert_measured();
        assert!(run.says("this process lacks CAP_SYS_ADMIN and CAP_NET_ADMIN"), "{run}");
        assert!(run.says("run as root"), "{run}");
        assert_eq!(run.json()["costs"][0]["variant"], "too", "{run}");
        world.assert_nothing_left();
    });
}

#[test]
fn a_network_is_removed_with_its_run() {
    if !may_make_networks() {
        return;
    }
    service::build("rust");
    let world = World::idle();
    // It does not end before it is interrupted.
    let plan = "[plan]\nblocks = 1\nbudget = \"10 min\"\n";
    world.experiment_with(plan, &[&rust("bare", "[]"), &rust("linked", "[\"veth\"]")]);
    let mut weigh = world.run(&[]).start();
    weigh.until("a network", |world| !world.networks().is_empty());
    weigh.until_event("started", 2);
    weigh.end_by("INT").assert_error(&["interrupted"]);
    world.assert_nothing_left();
}

/// Where `/run/netns` is made for a run it goes with it, however it ends.
#[test]
fn the_folder_of_networks_is_as_it_was() {
    if !may_make_networks() {
        return;
    }
    service::build("rust");
    let world = World::idle();
    world.experiment(&[&rust("bare", "[]"), &rust("veth", "[\"veth\"]")]);
    // In mounts of its own there is no such folder yet.
    let script = "mount -t tmpfs tmpfs /run && \"$@\"; code=$?; for name in /run/*; do echo \"left: $name\" >&2; done; exit $code";
    let ended = world.run(&[]).through("unshare", &["-m", "sh", "-c", script, "sh"]).end();
    ended.assert_measured();
    assert!(ended.says("left: /run/*"), "{ended}");
}

/// The suite as it stands, but for the service, which is built already, and for how long it takes.
#[test]
fn without_root_the_suite_of_containers_says_what_is_missing_and_runs_the_rest() {
    measuring(|| {
        service::build("rust");
        let world = World::new();
        let folder = world.path("services");
        fs::create_dir_all(&folder).expect("a folder");
        std::os::unix::fs::symlink(service::folder().join("rust"), folder.join("rust")).expect("a link");
        let suite = service::folder().join("../suites/layers/containers.toml");
        let text = fs::read_to_string(suite).expect("the suite");
        let short = [
            ("service = \"go\"", "service = \"rust\""),
            ("blocks = { min = 6, max = 12 }", "blocks = { min = 2, max = 2 }"),
            ("budget = \"15 min\"", "budget = \"3 s\"\nwindow = \"5 ms\""),
            ("[\"64 B\", \"64 kB\"]", "[\"64 B\"]"),
        ];
        let text = short.iter().fold(text, |text, (from, to)| {
            assert!(text.contains(from), "`{from}` is not in the suite any more: {text}");
            text.replace(from, to)
        });
        world.write("experiment.toml", &text);
        let home = std::env::var("HOME").expect("a home");
        let run =
            world.run(&[]).env("WEIGH_SERVICES", folder.to_str().expect("a plain path")).env("HOME", &home);
        // No capability is left, as an ordinary user has none; files are still to be read where they lie.
        let run = run.through("setpriv", &["--bounding-set", "-all", "--inh-caps", "-all"]).end();
        run.assert_measured();
        for name in
            ["container", "veth", "veth + container", "veth + container published", "veth + Docker published"]
        {
            assert!(run.says(&format!("`{name}`")), "{name}: {run}");
        }
        assert!(run.says("this process lacks CAP_SYS_ADMIN"), "{run}");
        let trials = fs::read_dir(world.run_folder().join("trials")).expect("trials").count();
        assert_eq!(trials, 2, "those of `bare` alone: {run}");
        world.assert_nothing_left();
    });
}
