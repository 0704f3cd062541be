//! What stories of layers share: the Rust service behind layers, whether this host can have them, and what they could leave
//! on it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use weighbridge_lab::layers;
use weighbridge_lab::net::{Capability, tools};
use weighbridge_model::experiment::{Layer, Layers, Ovs, Veth, Wireguard};

use crate::support::{Start, World, service, skipped_layers};

/// What a run could leave on this host: control groups of ours in every hierarchy, mounts, devices, rules of the firewall's
/// tables, and the state of engines.
#[derive(Debug, PartialEq, Eq)]
pub struct Around {
    groups: BTreeSet<PathBuf>,
    mounts: BTreeSet<String>,
    devices: BTreeSet<String>,
    firewall: String,
    state: BTreeSet<PathBuf>,
}

/// Where engines keep what is theirs, when they are let.
const STATE: [&str; 10] = [
    "/run/docker",
    "/run/docker.sock",
    "/run/containerd",
    "/run/containers",
    "/run/libpod",
    "/var/lib/docker",
    "/var/lib/containers",
    "/var/lib/cni",
    "/etc/docker",
    "/dev/shm/libpod_lock",
];

impl Around {
    pub fn see() -> Self {
        let below =
            |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let hierarchies = below(Path::new("/sys/fs/cgroup")).filter(|path| path.is_dir());
        let containers = hierarchies.flat_map(|hierarchy| below(&hierarchy).collect::<Vec<_>>());
        let named = |path: &PathBuf| {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            name.contains("-container") || ["docker", "libpod_parent"].contains(&name.as_str())
        };
        let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
        // Other tests have networks of their own meanwhile.
        let mounts = text("/proc/self/mountinfo");
        let mounts = mounts.lines().filter(|line| !line.contains("/run/netns"));
        let devices = text("/proc/net/dev");
        let device = |line: &str| Some(line.split_once(':')?.0.trim().to_owned());
        let rules = Command::new("nft").args(["--stateless", "list", "ruleset"]).output();
        let rules = rules.expect("run `scripts/setup --tests` as root");
        assert!(rules.status.success(), "{}", String::from_utf8_lossy(&rules.stderr));
        let below_state = STATE.into_iter().map(PathBuf::from).filter(|path| path.exists());
        Self {
            groups: containers.filter(named).collect(),
            mounts: mounts.map(str::to_owned).collect(),
            devices: devices.lines().filter_map(device).collect(),
            firewall: String::from_utf8_lossy(&rules.stdout).into_owned(),
            state: below_state
                .flat_map(|path| below(&path).chain([path.clone()]).collect::<Vec<_>>())
                .collect(),
        }
    }
}

/// A catalogue with the Rust service alone.
pub fn catalogue(world: &World) -> PathBuf {
    service::build("rust");
    let folder = world.path("services");
    fs::create_dir_all(&folder).expect("a folder");
    std::os::unix::fs::symlink(service::folder().join("rust"), folder.join("rust")).expect("a link");
    folder
}

/// The search path with what `scripts/setup --tests` has put beside it.
pub fn path_with_tools() -> String {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/tools");
    let path = std::env::var("PATH").unwrap_or_default();
    format!("{}:{path}", tools.display())
}

pub fn start<'a>(world: &'a World, catalogue: &Path) -> Start<'a> {
    // Toolchains are found by way of the user's home.
    let home = std::env::var("HOME").expect("a home");
    let run = world.run(&[]).env("WEIGH_SERVICES", catalogue.to_str().expect("a plain path"));
    run.env("HOME", &home).env("PATH", &path_with_tools())
}

/// The Rust service of the catalogue behind these layers.
pub fn layered(name: &str, layers: &str) -> String {
    format!("name = \"{name}\"\nservice = \"rust\"\nlayers = {layers}")
}

/// The Rust service behind these layers, started as it is built.
pub fn rust(name: &str, layers: &str) -> String {
    let program = service::folder().join("rust/target/release/weigh-rust");
    format!(
        "name = \"{name}\"\ncommand = [\"{}\"]\nready = \"line\"\nenv = {{ WORKLOAD = \"pingpong\" }}\nlayers = {layers}",
        program.display()
    )
}

/// Whether this process may make networks; says so where it may not.
pub fn may_make_networks() -> bool {
    let missing = tools::missing(&[Capability::SysAdmin, Capability::NetAdmin]);
    if !missing.is_empty() {
        skipped_layers("networks need root");
    }
    missing.is_empty()
}

/// Whether switches can run here; says so where they cannot.
pub fn may_switch() -> bool {
    may_run(vec![Layer::Veth(Veth::default()), Layer::Ovs(Ovs::PLAIN)])
}

/// Whether tunnels of WireGuard can run here; says so where they cannot.
pub fn may_tunnel() -> bool {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/tools/wireguard-go");
    let hosts = Layer::Veth(Veth::default());
    let tunnel = Layer::Wireguard(Wireguard::default());
    // That program needs no more than hosts do, but is not on the search path of this one.
    may_run(if tools.is_file() { vec![hosts] } else { vec![hosts, tunnel] })
}

fn may_run(stack: Vec<Layer>) -> bool {
    let found = layers::probe(&Layers::new(stack).expect("right"));
    if let Err(why) = &found {
        skipped_layers(why);
    }
    found.is_ok()
}
