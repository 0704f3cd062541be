//! Sidecars and containers around the real Rust service: traffic passes them and they say so, what they use is told apart,
//! and nothing of them is left, however a run ends.

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use support::{World, eventually, send, service, told};

/// What a run could leave on this host: control groups of ours in every hierarchy, named networks, and how many mounts
/// there are.
#[derive(Debug, PartialEq, Eq)]
struct Around {
    groups: BTreeSet<PathBuf>,
    mounts: usize,
}

impl Around {
    fn see() -> Self {
        let below =
            |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let hierarchies = below(Path::new("/sys/fs/cgroup")).filter(|path| path.is_dir());
        let containers = hierarchies.flat_map(|hierarchy| below(&hierarchy).collect::<Vec<_>>());
        let named = |path: &PathBuf| {
            path.file_name().is_some_and(|name| name.to_string_lossy().contains("-container"))
        };
        Self {
            groups: containers.filter(named).collect(),
            mounts: fs::read_to_string("/proc/self/mountinfo").expect("/proc is mounted").lines().count(),
        }
    }
}

/// A catalogue with the Rust service alone.
fn catalogue(world: &World) -> PathBuf {
    service::build("rust");
    let folder = world.path("services");
    fs::create_dir_all(&folder).expect("a folder");
    std::os::unix::fs::symlink(service::folder().join("rust"), folder.join("rust")).expect("a link");
    folder
}

/// The search path with Envoy, where `scripts/setup --tests` has put it.
fn path_with_envoy() -> String {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/tools");
    let path = std::env::var("PATH").unwrap_or_default();
    format!("{}:{path}", tools.display())
}

fn start<'a>(world: &'a World, catalogue: &Path) -> support::Start<'a> {
    // Toolchains are found by way of the user's home.
    let home = std::env::var("HOME").expect("a home");
    let run = world.run(&[]).env("WEIGH_SERVICES", catalogue.to_str().expect("a plain path"));
    run.env("HOME", &home).env("PATH", &path_with_envoy())
}

fn trials(run: &Path) -> Vec<(Value, String)> {
    let folders = fs::read_dir(run.join("trials")).expect("trials");
    let read = |folder: PathBuf| {
        let text = |name: &str| fs::read_to_string(folder.join(name)).expect("a file");
        (serde_json::from_str(&text("trial.json")).expect("JSON"), text("resources.csv"))
    };
    folders.map(|entry| read(entry.expect("an entry").path())).collect()
}

fn roles(resources: &str) -> BTreeSet<&str> {
    let header = resources.lines().next().expect("a header");
    let column = header.split(',').position(|name| name == "role").expect("roles");
    resources.lines().skip(1).filter_map(|line| line.split(',').nth(column)).collect()
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
    told(|| {
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
        for (trial, resources) in &trials {
            check(trial, resources);
        }
        let envoy = path_with_envoy().split(':').any(|folder| Path::new(folder).join("envoy").is_file());
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

fn layered(name: &str, layers: &str) -> String {
    format!("name = \"{name}\"\nservice = \"rust\"\nlayers = {layers}")
}

fn check(trial: &Value, resources: &str) {
    let number = trial["variant"].as_u64().expect("a number") as usize;
    let Some((name, wanted, programs)) = EXPECTED.get(number) else { return };
    assert_eq!(roles(resources), wanted.iter().copied().collect(), "{name}: {resources}");
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
fn after_kill_9_of_run_and_guardian_the_doctor_removes_containers_and_sidecars() {
    told(|| {
        let world = World::new();
        let services = catalogue(&world);
        let before = Around::see();
        world.experiment(&[
            "name = \"bare\"\nservice = \"rust\"",
            &layered("both", "[\"sidecar:haproxy\", \"container\"]"),
        ]);
        let mut weigh = start(&world, &services).start();
        weigh.until_event("warm", 2);
        let bundle = world.run_folder().join("logs/000-1-layers/container");
        assert!(bundle.join("rootfs").is_dir());
        let guardians = world.processes("guardian");
        assert_eq!(guardians.len(), 1);
        send("STOP", weigh.pid());
        send("KILL", guardians[0]);
        weigh.end_by("KILL");
        assert!(!world.processes("haproxy").is_empty(), "somebody has to be left for the doctor");
        let doctor = world.weigh(&["doctor", "--clean"]).end();
        assert!(doctor.assert_code(0).stdout.contains("container `wb-"), "{doctor}");
        world.assert_nothing_left();
        eventually("nothing of a container is left", || {
            !bundle.join("rootfs").exists() && Around::see() == before
        });
        assert!(bundle.join("config.json").is_file(), "it belongs to the record");
    });
}
