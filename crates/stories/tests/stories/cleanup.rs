//! However a run ends, nothing of its layers is left, and nothing of anybody else's is touched: layers of every kind in one
//! run, ended in every way, beside a neighbour that goes on.

use std::path::Path;
use std::process::Command;

use super::layered::{Around, catalogue, layered, may_make_networks, may_switch, may_tunnel, start};
use crate::support::{Weigh, World, eventually, measuring, send};

/// Layers of every kind, in the order in which they are put in.
const STACKS: [(&str, &str); 7] = [
    ("bare", "[]"),
    ("switch", "['veth', 'ovs-geneve', 'sidecar:haproxy', 'container']"),
    ("tunnel", "['veth', 'relay', 'wireguard']"),
    (
        "published",
        "['veth', 'vxlan', 'sidecar:nginx', { layer = 'container', network = 'published', publish = 'slirp4netns' }]",
    ),
    (
        "pasta",
        "['veth', { layer = 'container', runtime = 'crun', network = 'published', publish = 'pasta' }]",
    ),
    ("docker", "['veth', { layer = 'container', engine = 'docker', network = 'published' }]"),
    ("podman", "[{ layer = 'container', engine = 'podman' }]"),
];

/// Those of the neighbour.
const NEIGHBOURS: [&str; 4] = ["bare", "published", "pasta", "docker"];

/// When a run ends, and how.
type End = (&'static str, fn(&mut Weigh<'_>), How);

#[derive(Clone, Copy)]
enum How {
    /// By a signal to the run alone.
    Signal(&'static str),
    /// By a signal to its whole group, as a terminal sends it, also to the programs by which a network is made.
    Group(&'static str),
    /// By SIGKILL; its guardian cleans up while the doctor does.
    Killed,
    /// By SIGKILL, and its guardian before it, so that only the doctor cleans up.
    KilledWithGuardian,
}

const ENDS: [End; 7] = [
    (
        "while a network is made",
        |weigh| weigh.until("a network", |world| !world.networks().is_empty()),
        How::Signal("INT"),
    ),
    ("while a switch is made", |weigh| until_program(weigh, "ovs-vswitchd"), How::Group("TERM")),
    ("while a tunnel is made", |weigh| until_program(weigh, "wireguard-go"), How::Group("INT")),
    ("when answers are verified", |weigh| weigh.until_event("verified", 1), How::Signal("HUP")),
    ("in the rounds", |weigh| weigh.until_event("warm", STACKS.len()), How::Signal("INT")),
    ("killed when its services run", |weigh| weigh.until_event("started", STACKS.len()), How::Killed),
    (
        "killed in the rounds, after its guardian",
        |weigh| weigh.until_event("warm", STACKS.len()),
        How::KilledWithGuardian,
    ),
];

fn until_program(weigh: &mut Weigh<'_>, name: &str) {
    weigh.until(name, |world| !world.processes(name).is_empty());
}

/// An endless run of these layers.
fn endless(world: &World, chosen: impl Fn(&str) -> bool) {
    let stacks: Vec<String> =
        STACKS.iter().filter(|(name, _)| chosen(name)).map(|(name, layers)| layered(name, layers)).collect();
    let plan =
        "[plan]\nblocks = { min = 30, max = 30 }\nbudget = \"5 min\"\nwindow = \"5 ms\"\ntogether = 7\n";
    world.experiment_with(plan, &stacks.iter().map(String::as_str).collect::<Vec<_>>());
}

fn ip(arguments: &str) -> bool {
    Command::new("ip").args(arguments.split(' ')).status().expect("iproute2").success()
}

#[test]
fn however_a_run_ends_nothing_of_its_layers_is_left_and_its_neighbour_goes_on() {
    if !may_make_networks() || !may_switch() || !may_tunnel() {
        return;
    }
    measuring(|| {
        // Nobody else has containers meanwhile.
        let neighbour = World::new();
        let before = Around::see();
        let theirs = format!("story-{}", std::process::id());
        assert!(ip(&format!("netns add {theirs}")));
        assert!(ip(&format!("-n {theirs} link add wb-theirs type bridge")));
        let services = catalogue(&neighbour);
        endless(&neighbour, |name| NEIGHBOURS.contains(&name));
        let mut beside = start(&neighbour, &services).start();
        beside.until_event("warm", NEIGHBOURS.len());
        let among = Around::see();
        for end in &ENDS {
            ends(end, &among);
        }
        // The neighbour goes on as if nothing had been.
        let blocks = neighbour.count("block-ended");
        beside.until("another block of the neighbour's", |world| world.count("block-ended") > blocks);
        beside.end_by("INT").assert_error(&["interrupted"]);
        neighbour.assert_nothing_left();
        eventually("all is as it was", || Around::see() == before);
        assert!(ip(&format!("-n {theirs} link show wb-theirs")));
        assert!(ip(&format!("netns delete {theirs}")));
    });
}

/// Ends a run in one of the ways; `among` is what this host has beside it.
fn ends((when, reached, how): &End, among: &Around) {
    let world = World::idle();
    let services = catalogue(&world);
    endless(&world, |_| true);
    let leads = matches!(how, How::Group(_));
    let begun = start(&world, &services);
    let mut weigh = if leads { begun.leading().start() } else { begun.start() };
    reached(&mut weigh);
    match how {
        How::Signal(signal) => {
            weigh.end_by(signal).assert_error(&["interrupted"]);
        }
        How::Group(signal) => {
            weigh.group_ends_by(signal).assert_error(&["interrupted"]);
        }
        How::Killed => {
            weigh.end_by("KILL");
            world.weigh(&["doctor", "--clean"]).end().assert_code(0);
        }
        How::KilledWithGuardian => killed_with_guardian(&world, weigh),
    }
    assert!(world.processes("").is_empty(), "{when}");
    assert_eq!((world.groups(), world.networks()), (Vec::new(), Vec::new()), "{when}");
    world.assert_nothing_left();
    eventually(when, || Around::see() == *among);
}

/// Everything is still there when the doctor comes, and it says what it removes.
fn killed_with_guardian(world: &World, weigh: Weigh<'_>) {
    send("STOP", weigh.pid());
    let guardians = world.processes("guardian");
    assert!(!guardians.is_empty());
    guardians.into_iter().for_each(|pid| send("KILL", pid));
    eventually("the guardian is gone", || world.processes("guardian").is_empty());
    weigh.end_by("KILL");
    for program in ["haproxy", "ovs-vswitchd", "wireguard-go", "slirp4netns", "pasta", "dockerd"] {
        assert!(!world.processes(program).is_empty(), "{program} has to be left for the doctor");
    }
    let bundle = world.run_folder().join("logs/000-1-layers/container");
    assert!(bundle.join("rootfs").is_dir());
    let networks = world.networks().len();
    let told = world.weigh(&["doctor", "--format", "json"]).end();
    assert!(told.stdout.contains("network namespace `/run/netns/wb-"), "{told}");
    let cleaned = world.weigh(&["doctor", "--clean"]).end();
    cleaned.assert_code(0);
    assert_eq!(cleaned.stdout.matches("network namespace").count(), networks, "{cleaned}");
    assert!(cleaned.stdout.contains("container `wb-"), "{cleaned}");
    assert!(!bundle.join("rootfs").exists(), "{cleaned}");
    assert!(!bundle.join("config.json").exists(), "who could have hidden what is secret in it is gone");
    assert!(!Path::new("/var/run/wireguard/wg0.sock").exists(), "sockets are not the host's");
}
