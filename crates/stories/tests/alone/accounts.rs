//! Where the machine's CPU went while layers worked, told by a run and counted beside it from `/proc/stat`: alone in its
//! file, since the kernel's count of ended children is of the whole test program.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;
use weighbridge_lab::host::clock::monotonic_now;
use weighbridge_lab::net::{Capability, tools};

use crate::support::{World, measuring, service, skipped_layers};

/// One tick of the kernel's count.
const TICK: f64 = 10e6;

/// What all cores of the machine have worked since it started, in nanoseconds: user, nice, system, irq, softirq.
fn machine_busy() -> f64 {
    let stat = fs::read_to_string("/proc/stat").expect("/proc");
    let fields: Vec<f64> = stat
        .lines()
        .next()
        .expect("a line")
        .split_whitespace()
        .skip(1)
        .map(|field| field.parse().expect("ticks"))
        .collect();
    [0, 1, 2, 5, 6].into_iter().map(|at: usize| fields[at] * TICK).sum()
}

/// Readings until told to stop: the monotonic clock, and what was worked by then.
fn readings(stop: &AtomicBool) -> Vec<(f64, f64)> {
    let mut seen = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        seen.push((monotonic_now().as_nanos() as f64, machine_busy()));
        std::thread::sleep(Duration::from_millis(5));
    }
    seen
}

/// What was worked between two moments: the readings next to them.
fn worked(readings: &[(f64, f64)], from: f64, to: f64) -> f64 {
    let at = |moment: f64| {
        readings[readings.partition_point(|(time, _)| *time < moment).min(readings.len() - 1)].1
    };
    at(to) - at(from)
}

/// The trials of a run: what is written of the machine, and when the first window began and the last ended.
fn stretches(world: &World) -> Vec<(u64, Value, f64, f64)> {
    let mut blocks: Vec<(u64, Value, f64, f64)> = Vec::new();
    for entry in fs::read_dir(world.run_folder().join("trials")).expect("trials") {
        let folder = entry.expect("an entry").path();
        let text = |name: &str| fs::read_to_string(folder.join(name)).expect("a file");
        let trial: Value = serde_json::from_str(&text("trial.json")).expect("JSON");
        let windows = text("windows.csv");
        let header: Vec<&str> = windows.lines().next().expect("a header").split(',').collect();
        let column = |name: &str| {
            let at = header.iter().position(|one| *one == name).expect("a column");
            let cell = move |line: &str| line.split(',').nth(at).and_then(|cell| cell.parse::<f64>().ok());
            windows.lines().skip(1).filter_map(cell).collect::<Vec<f64>>()
        };
        let first = column("started_ns").into_iter().fold(f64::INFINITY, f64::min);
        let last = column("ended_ns").into_iter().fold(0.0, f64::max);
        let block = trial["block"].as_u64().expect("a block");
        match blocks.iter_mut().find(|(known, ..)| *known == block) {
            Some((_, _, from, to)) => (*from, *to) = (from.min(first), to.max(last)),
            None => blocks.push((block, trial["machine"].clone(), first, last)),
        }
    }
    blocks
}

/// CPU time of children that ended and were waited for, theirs included.
fn children() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").expect("/proc");
    let fields: Vec<&str> = stat.rsplit(") ").next().expect("fields").split(' ').collect();
    TICK * (fields[13].parse::<f64>().expect("ticks") + fields[14].parse::<f64>().expect("ticks"))
}

#[test]
fn roles_and_what_is_left_are_the_machine_while_layers_work() {
    if !tools::missing(&[Capability::SysAdmin, Capability::NetAdmin]).is_empty() {
        skipped_layers("networks need root");
        return;
    }
    measuring(|| {
        service::build("rust");
        let world = World::new();
        let program = service::folder().join("rust/target/release/weigh-rust");
        let rust = |name: &str, layers: &str| {
            format!(
                "name = \"{name}\"\ncommand = [\"{}\"]\nready = \"line\"\nenv = {{ WORKLOAD = \"pingpong\" }}\nlayers = {layers}",
                program.display()
            )
        };
        let variants = [
            rust("bare", "[]"),
            rust("veth", "[\"veth\"]"),
            rust("relay", "[\"veth\", \"relay\"]"),
            rust("beside", "[\"veth\", \"sidecar:haproxy\"]"),
        ];
        let variants: Vec<&str> = variants.iter().map(String::as_str).collect();
        world.experiment_with(
            "[plan]\nblocks = { min = 2, max = 2 }\nbudget = \"17 s\"\nwindow = \"20 ms\"",
            &variants,
        );
        let (stop, before) = (AtomicBool::new(false), children());
        let (readings, ended) = std::thread::scope(|scope| {
            let reader = scope.spawn(|| readings(&stop));
            let ended = world.run(&["--format", "json"]).end();
            stop.store(true, Ordering::Relaxed);
            (reader.join().expect("readings"), ended)
        });
        let children = children() - before;
        ended.assert_measured();
        let (mut roles, mut told, mut seen, mut span) = (0.0, 0.0, 0.0, 0.0);
        for (_, machine, from, to) in stretches(&world) {
            let number = |key: &str| machine[key].as_f64().unwrap_or_else(|| panic!("{key}: {machine}"));
            // A stretch also holds the answers that were compared before its first window: as much per time is taken.
            let share = (to - from) / number("span_ns");
            assert!((0.8..=1.0).contains(&share), "{share}: {machine}");
            (told, roles) =
                (told + number("busy_ns") * share, roles + number("generator_ns") + number("service_ns"));
            (seen, span) = (seen + worked(&readings, from, to), span + number("span_ns"));
        }
        assert!(span >= 10e9, "{span} ns were measured");
        assert!((told / seen - 1.0).abs() <= 0.02, "{told} were told and {seen} counted");
        // No role has what the kernel did not count for this program's children, nor less than most of it: starts, builds
        // of the report and warm-ups are in the kernel's count alone.
        assert!(roles <= children + 2.0 * TICK && roles >= children / 2.0, "{roles} of {children}");
        let summary = ended.json();
        let cores = |role: &str| summary["cpu_roles"][role]["point"].as_f64().expect("a figure");
        let sum = cores("generator") + cores("service") + cores("unattributed");
        assert!((sum - cores("busy")).abs() < 1e-9, "{}", summary["cpu_roles"]);
        for (variant, role) in [("relay", "relay"), ("beside", "sidecar-server"), ("beside", "service")] {
            let found = summary["roles"].as_array().into_iter().flatten();
            let mut found = found.filter(|one| one["variant"] == variant && one["role"] == role);
            let one = found.next().unwrap_or_else(|| panic!("no {role} of {variant}: {}", summary["roles"]));
            assert!(one["cpu_per_operation"]["point"].as_f64().is_some_and(|cpu| cpu > 0.0), "{one}");
            assert!(one["memory_peak"]["point"].as_f64().is_some_and(|peak| peak > 65_536.0), "{one}");
        }
        // The chain from bare, with what crossed the link of whoever has one.
        let chain = &summary["layering"]["chains"][0];
        assert_eq!(chain["stages"][0]["name"], "bare", "{chain}");
        world.assert_nothing_left();
    });
}
