//! Sidecars and containers around the real Rust service: traffic passes them and they say so, and what they use is told
//! apart.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::layered::{Around, catalogue, layered, path_with_tools, start};
use crate::support::{World, measuring};

/// What is kept of a trial: its record, its windows, and who used what.
struct Trial {
    record: Value,
    windows: String,
    resources: String,
}

fn trials(run: &Path) -> Vec<Trial> {
    let folders = fs::read_dir(run.join("trials")).expect("trials");
    let read = |folder: PathBuf| {
        let text = |name: &str| fs::read_to_string(folder.join(name)).expect("a file");
        Trial {
            record: serde_json::from_str(&text("trial.json")).expect("JSON"),
            windows: text("windows.csv"),
            resources: text("resources.csv"),
        }
    };
    folders.map(|entry| read(entry.expect("an entry").path())).collect()
}

/// The cells of a table's column.
fn column<'t>(table: &'t str, named: &str) -> impl Iterator<Item = &'t str> {
    let header = table.lines().next().expect("a header");
    let column = header.split(',').position(|name| name == named).expect("the column");
    table.lines().skip(1).filter_map(move |line| line.split(',').nth(column))
}

/// Roles of a variant's programs, and the programs that must have counted what passed.
const EXPECTED: [(&str, &[&str], &[&str]); 8] = [
    ("bare", &["service"], &[]),
    ("haproxy", &["service", "sidecar-server"], &["sidecar:haproxy"]),
    ("nginx", &["service", "sidecar-client"], &["sidecar:nginx"]),
    ("both", &["service", "sidecar-client", "sidecar-server"], &["sidecar:haproxy", "sidecar:haproxy"]),
    ("runc", &["container-runtime", "service"], &[]),
    ("crun", &["container-runtime", "service"], &[]),
    (
        "all",
        &["container-runtime", "service", "sidecar-client", "sidecar-server"],
        &["sidecar:haproxy", "sidecar:nginx"],
    ),
    (
        "mesh",
        &["container-runtime", "service", "sidecar-client", "sidecar-server"],
        &["sidecar:haproxy", "sidecar:haproxy"],
    ),
];

#[test]
fn traffic_passes_sidecars_and_containers_and_they_are_told_apart() {
    measuring(|| {
        let world = World::new();
        let services = catalogue(&world);
        let before = Around::see();
        let more =
            "[plan]\nblocks = { min = 4, max = 4 }\nbudget = \"3 s\"\nwindow = \"5 ms\"\ntogether = 9\n";
        let mut variants = vec![
            "name = \"bare\"\nservice = \"rust\"".to_owned(),
            layered("haproxy", "[\"sidecar:haproxy\"]"),
            layered("nginx", "[{ layer = \"sidecar:nginx\", side = \"client\" }]"),
            layered("both", "[{ layer = \"sidecar:haproxy\", side = \"both\", mode = \"tcp\" }]"),
            layered("runc", "[\"container\"]"),
            layered("crun", "[{ layer = \"container\", runtime = \"crun\" }]"),
            layered(
                "all",
                "[{ layer = \"sidecar:haproxy\", side = \"client\" }, \"sidecar:nginx\", \"container\"]",
            ),
        ];
        variants.push(layered(
            "mesh",
            "[\"veth\", { layer = \"sidecar:haproxy\", side = \"both\" }, { layer = \"container\", network = \"layer\" }]",
        ));
        variants.push(layered("envoy", "[\"sidecar:envoy\"]"));
        let variants: Vec<&str> = variants.iter().map(String::as_str).collect();
        world.experiment_with(more, &variants);
        let ended = start(&world, &services).end();
        ended.assert_measured();
        let run = world.run_folder();
        let trials = trials(&run);
        for Trial { record: trial, resources, .. } in &trials {
            check(trial, resources);
        }
        let envoy = path_with_tools().split(':').any(|folder| Path::new(folder).join("envoy").is_file());
        assert_eq!(trials.len(), if envoy { 36 } else { 32 }, "{ended}");
        assert!(envoy || ended.says("the program `envoy` is not installed"), "{ended}");
        // What was configured is kept, what was only needed meanwhile is not.
        assert!(run.join("logs/000-1-layers/sidecar-server/haproxy.cfg").is_file());
        let bundle = run.join("logs/000-4-layers/container");
        assert!(bundle.join("config.json").is_file() && !bundle.join("rootfs").exists());
        world.assert_nothing_left();
        assert_eq!(Around::see(), before);
    });
}

#[test]
fn http2_grpc_and_tls_pass_networks_and_proxies_also_with_a_connection_for_each_request() {
    /// Name, protocol and TLS, layers.
    const WAYS: [(&str, &str, &str); 9] = [
        ("h2", "protocol = 'http2-json'", "[]"),
        ("h2 vxlan", "protocol = 'http2-json'", "['veth', 'vxlan']"),
        ("h2 haproxy", "protocol = 'http2-json'", "['veth', 'sidecar:haproxy']"),
        ("h2 envoy", "protocol = 'http2-json'", "[{ layer = 'sidecar:envoy', side = 'both' }]"),
        ("grpc geneve", "protocol = 'grpc'", "['veth', 'ovs-geneve']"),
        ("grpc nginx", "protocol = 'grpc'", "['veth', 'vxlan', 'sidecar:nginx']"),
        ("grpc envoy", "protocol = 'grpc'", "['sidecar:envoy']"),
        ("grpc runc", "protocol = 'grpc'", "['veth', 'container']"),
        ("tls", "tls = {}", "['veth', 'vxlan', { layer = 'sidecar:haproxy', mode = 'tcp' }]"),
    ];
    measuring(|| {
        for more in [
            "[workload]\nname = 'pingpong'\nsize = '4 kB'\n[load]\nconnections = 2",
            "[workload]\nname = 'pingpong'\nsize = '64 B'\n[load]\nconnections = 2\nchurn = 1",
        ] {
            let world = World::new();
            let services = catalogue(&world);
            let plan = "blocks = { min = 1, max = 1 }\nbudget = '3 s'\nwindow = '5 ms'\ntogether = 9\n";
            let variants = WAYS.map(|(name, how, layers)| format!("{}\n{how}", layered(name, layers)));
            world.experiment_with(
                &format!("{more}\n[plan]\n{plan}"),
                &variants.each_ref().map(String::as_str),
            );
            let ended = start(&world, &services).end();
            ended.assert_measured();
            let trials = trials(&world.run_folder());
            let envoy = path_with_tools().split(':').any(|folder| Path::new(folder).join("envoy").is_file());
            assert_eq!(trials.len(), if envoy { 9 } else { 7 }, "{ended}");
            for Trial { record: trial, windows, .. } in &trials {
                let name = trial["variant_name"].as_str().expect("a name");
                let network = &trial["service"]["network"];
                assert_eq!(network.is_null(), name == "h2", "{name}");
                assert!(network["unproved"].is_null(), "{name}: {network}");
                let answered =
                    column(windows, "requests").map(|count| count.parse::<u64>().expect("a count"));
                assert!(answered.sum::<u64>() > 0, "{name}: {windows}");
                for kind in ["connect", "tls", "reset", "timeout", "protocol", "status", "check"] {
                    let failed = column(windows, &format!("errors_{kind}")).any(|count| count != "0");
                    assert!(!failed, "{name}: {windows}");
                }
            }
            world.assert_nothing_left();
        }
    });
}

fn check(trial: &Value, resources: &str) {
    let number = trial["variant"].as_u64().expect("a number") as usize;
    let Some((name, wanted, programs)) = EXPECTED.get(number) else { return };
    assert_eq!(
        column(resources, "role").collect::<BTreeSet<_>>(),
        wanted.iter().copied().collect(),
        "{name}: {resources}"
    );
    let network = &trial["service"]["network"];
    assert_eq!(network.is_null(), number == 0, "{name}");
    assert!(network["unproved"].is_null(), "{name}: {network}");
    let counted = network["programs"].as_array().cloned().unwrap_or_default();
    let names: Vec<_> = counted.iter().map(|program| program["layer"].as_str().unwrap_or_default()).collect();
    assert_eq!(names, *programs, "{name}");
    for program in &counted {
        assert!(program["version"].as_str().is_some_and(|text| text.contains('.')), "{program}");
        assert!(program["connections"].as_u64().is_some_and(|seen| seen > 0), "{program}");
        assert_eq!(program["requests"].is_null(), *name == "both", "{program}");
    }
    if let "runc" | "crun" = *name {
        let by = network["layers"][0]["by"].as_str().expect("by what");
        assert!(by.starts_with(&format!("{name} ")), "{by}");
        assert!(
            trial["service"]["runtime"]["threads"].as_u64().is_some_and(|threads| threads > 0),
            "{trial}"
        );
    }
}

/// Kernels acknowledge the last reply when it has come and its variant stands still: whoever carries packets must not.
#[test]
fn nothing_is_sent_again_because_a_variant_stood_still() {
    measuring(|| {
        let world = World::new();
        let services = catalogue(&world);
        let more =
            "[plan]\nblocks = { min = 2, max = 2 }\nbudget = \"6 s\"\nwindow = \"5 ms\"\ntogether = 5\n";
        let published = "{ layer = 'container', network = 'published', publish = 'slirp4netns' }";
        let variants = [
            layered("link", "['veth']"),
            layered("relay", "['veth', 'relay']"),
            layered("switch", "['veth', 'ovs-vxlan']"),
            layered("tunnel", "['veth', 'wireguard']"),
            layered("published", &format!("['veth', {published}]")),
        ];
        world.experiment_with(more, &variants.each_ref().map(String::as_str));
        let ended = start(&world, &services).end();
        ended.assert_measured();
        let trials = trials(&world.run_folder());
        assert_eq!(trials.len(), 10, "run `scripts/setup --tests` as root: {ended}");
        for Trial { record: trial, windows, .. } in &trials {
            let name = &trial["variant_name"];
            let hosts = trial["service"]["network"]["segments"].as_array().expect("segments");
            let again: u64 = hosts.iter().map(|host| host["again"].as_u64().expect("a count")).sum();
            let turns = column(windows, "kind").filter(|kind| *kind == "measured").count() as u64;
            // Once in each turn where it stands still; a machine that is busy may be late once in a while.
            assert!(turns >= 8 && again * 4 < turns, "{name}: {again} in {turns} turns: {windows}");
        }
    });
}

#[test]
fn what_is_not_installed_is_left_out_with_its_remedy() {
    let world = World::idle();
    let services = catalogue(&world);
    world.experiment(&[
        "service = \"rust\"",
        &layered("envoy", "[\"sidecar:envoy\"]"),
        "name = \"b\"\nservice = \"rust\"",
    ]);
    // Toolchains are asked for through the user's home, so only the folder of Envoy is not on this path.
    let path = std::env::var("PATH").unwrap_or_default();
    let without = path.split(':').filter(|folder| !Path::new(folder).join("envoy").is_file());
    let path = without.collect::<Vec<_>>().join(":");
    let ended = start(&world, &services).env("PATH", &path).end();
    assert!(ended.says("`envoy`") && ended.says("is not installed") && ended.says("install it"), "{ended}");
    world.assert_nothing_left();
}

#[test]
fn an_engine_whose_daemon_does_not_come_up_is_left_out_with_what_it_said() {
    measuring(|| {
        let world = World::new();
        let services = catalogue(&world);
        let before = Around::see();
        world.script("dockerd", "echo 'failed to start daemon: no room at all' >&2\nexit 1");
        let broken = world.path("dockerd");
        world.experiment(&[
            "name = \"bare\"\nservice = \"rust\"",
            "name = \"same\"\nservice = \"rust\"",
            &layered("docker", "['veth', { layer = 'container', engine = 'docker', network = 'published' }]"),
        ]);
        // In mounts of its own the daemon is another one, wherever this host has it.
        let swap = format!(
            "for d in /usr/bin /usr/sbin; do [ ! -e $d/dockerd ] || mount --bind {} $d/dockerd || exit 9; done; exec \"$@\"",
            broken.display()
        );
        let ended = start(&world, &services).through("unshare", &["-m", "sh", "-c", &swap, "sh"]).end();
        ended.assert_measured();
        assert!(ended.says("the daemon of docker does not come up here"), "{ended}");
        assert!(ended.says("no room at all; fix that"), "{ended}");
        world.assert_nothing_left();
        assert_eq!(Around::see(), before);
    });
}

/// Ways in which a container is reached and run: the name, its layers, and the roles of its programs.
const WAYS: [(&str, &str, &[&str]); 11] = [
    ("bare", "[]", &["service"]),
    (
        "slirp4netns",
        "[{ layer = 'container', network = 'published', publish = 'slirp4netns' }]",
        &["container-runtime", "port-forwarder", "service"],
    ),
    (
        "pasta",
        "[{ layer = 'container', network = 'published', publish = 'pasta' }]",
        &["container-runtime", "port-forwarder", "service"],
    ),
    (
        "slirp4netns behind an overlay",
        "['veth', 'vxlan', 'sidecar:haproxy', { layer = 'container', network = 'published', publish = 'slirp4netns' }]",
        &["container-runtime", "port-forwarder", "service", "sidecar-server"],
    ),
    (
        "pasta behind a link",
        "['veth', { layer = 'container', runtime = 'crun', network = 'published', publish = 'pasta' }]",
        &["container-runtime", "port-forwarder", "service"],
    ),
    (
        "pasta behind a tunnel",
        "['veth', 'wireguard', { layer = 'container', network = 'published', publish = 'pasta' }]",
        &["container-runtime", "port-forwarder", "service", "wireguard-client", "wireguard-server"],
    ),
    (
        "pasta behind a switch",
        "['veth', 'ovs-vxlan', { layer = 'container', network = 'published', publish = 'pasta' }]",
        &[
            "container-runtime",
            "ovs-client",
            "ovs-database-client",
            "ovs-database-server",
            "ovs-server",
            "port-forwarder",
            "service",
        ],
    ),
    (
        "docker",
        "[{ layer = 'container', engine = 'docker' }]",
        &["container-engine", "container-runtime", "service"],
    ),
    (
        "docker published",
        "['veth', { layer = 'container', engine = 'docker', network = 'published' }]",
        &["container-engine", "container-runtime", "service"],
    ),
    ("podman", "[{ layer = 'container', engine = 'podman' }]", &["container-runtime", "service"]),
    (
        "podman published",
        "['veth', { layer = 'container', engine = 'podman', network = 'published' }]",
        &["container-runtime", "service"],
    ),
];

#[test]
fn containers_are_published_and_run_by_engines_and_their_packets_take_that_way() {
    measuring(|| {
        let world = World::new();
        let services = catalogue(&world);
        let before = Around::see();
        let plan =
            "[plan]\nblocks = { min = 2, max = 2 }\nbudget = \"3 s\"\nwindow = \"5 ms\"\ntogether = 11\n";
        let variants = WAYS.map(|(name, layers, _)| layered(name, layers));
        world.experiment_with(plan, &variants.each_ref().map(String::as_str));
        let ended = start(&world, &services).end();
        ended.assert_measured();
        let trials = trials(&world.run_folder());
        assert_eq!(trials.len(), 2 * WAYS.len(), "run `scripts/setup --tests` as root: {ended}");
        for Trial { record: trial, windows, resources } in &trials {
            let name = trial["variant_name"].as_str().expect("a name");
            let (.., wanted) = WAYS.iter().find(|(known, ..)| *known == name).expect("one of ours");
            assert_eq!(
                column(resources, "role").collect::<BTreeSet<_>>(),
                wanted.iter().copied().collect(),
                "{name}: {resources}"
            );
            let network = &trial["service"]["network"];
            assert!(network["unproved"].is_null(), "{name}: {network}");
            if let Some(device) = way_of(name) {
                let links = network["links"].as_array().expect("links");
                let link =
                    links.iter().find(|link| (link["host"].as_str(), link["device"].as_str()) == device);
                let link = link.unwrap_or_else(|| panic!("{name}: {network}"));
                // Each request and each reply is a packet at least, however few a busy machine has time for.
                let requests: u64 =
                    column(windows, "requests").map(|count| count.parse::<u64>().expect("a count")).sum();
                assert!(requests > 0, "{name}: {windows}");
                for packets in ["sent_packets", "received_packets"] {
                    assert!(link[packets].as_u64().is_some_and(|seen| seen >= requests), "{name}: {network}");
                }
            }
        }
        world.assert_nothing_left();
        assert_eq!(Around::see(), before);
    });
}

/// The device whose packets show that a container was reached by its published port.
fn way_of(name: &str) -> Option<(Option<&str>, Option<&str>)> {
    let (host, device) = match name {
        // Of connections to the host's loopback pasta makes such to the container's.
        "pasta" => ("container", "lo"),
        "docker published" => ("server", "docker0"),
        _ if name.starts_with("slirp4netns") || name.starts_with("pasta") => ("container", "tap0"),
        _ => return None,
    };
    Some((Some(host), Some(device)))
}
