//! Where the machine's CPU went, told by a run and counted again by the kernel: alone in its file, since the kernel's count
//! of ended children is of the whole test program.

use std::fs;

use serde_json::Value;

use crate::support::{World, measuring, probe};

/// What the probe works before each answer.
const SPIN: u64 = 100_000;

/// CPU time of children that ended and were waited for, theirs included: fields 16 and 17 of `/proc/self/stat`, in ticks
/// of 10 ms.
fn children_ns() -> u64 {
    let stat = fs::read_to_string("/proc/self/stat").expect("/proc");
    let fields: Vec<&str> = stat.rsplit(") ").next().expect("fields").split(' ').collect();
    let ticks = |at: usize| fields[at].parse::<u64>().expect("ticks");
    10_000_000 * (ticks(13) + ticks(14))
}

/// One trial of each batch of every block.
fn stretches(world: &World) -> Vec<(Value, u64)> {
    let trials = fs::read_dir(world.run_folder().join("trials")).expect("trials");
    let mut found: Vec<(u64, Value, u64)> = Vec::new();
    for folder in trials.map(|entry| entry.expect("an entry").path()) {
        let own: Value =
            serde_json::from_str(&fs::read_to_string(folder.join("trial.json")).expect("a trial"))
                .expect("JSON");
        let windows = fs::read_to_string(folder.join("windows.csv")).expect("windows");
        let column = windows.lines().next().expect("a header").split(',').position(|name| name == "requests");
        let number = |line: &str| {
            line.split(',').nth(column.expect("a column")).and_then(|cell| cell.parse::<u64>().ok())
        };
        let slow = own["variant"] == 1;
        let spun = if slow { SPIN * windows.lines().skip(1).filter_map(number).sum::<u64>() } else { 0 };
        let block = own["block"].as_u64().expect("a block");
        match found.iter_mut().find(|(of, machine, _)| (*of, machine) == (block, &mut own["machine"].clone()))
        {
            Some((_, _, known)) => *known += spun,
            None => found.push((block, own["machine"].clone(), spun)),
        }
    }
    found.into_iter().map(|(_, machine, spun)| (machine, spun)).collect()
}

#[test]
fn the_roles_of_a_run_are_what_the_kernel_counted() {
    measuring(|| {
        let world = World::new();
        let spin = format!("delay {}us", SPIN / 1_000);
        world.experiment_with("", &[&probe("none", "null"), &probe("busy", &spin)]);
        let before = children_ns();
        let ended = world.run(&["--format", "json"]).end();
        let children = children_ns() - before;
        ended.assert_measured();
        let stretches = stretches(&world);
        assert_eq!(stretches.len(), 4, "one a block, the same in both of its trials");
        let (mut own, mut service) = (0, 0);
        for (machine, spun) in &stretches {
            let number = |key: &str| machine[key].as_u64().unwrap_or_else(|| panic!("{key}: {machine}"));
            assert_eq!(number("resolution_ns"), 50_000_000);
            own += number("generator_ns");
            service += number("service_ns");
            // It works by the wall clock: what others take of its core is not its own. Half of it is the least.
            assert!(2 * number("service_ns") > *spun, "{machine}: {spun} ns of work were asked for");
            assert!(number("generator_ns") <= 3 * number("span_ns"), "{machine}");
            // Sampling by ticks and the rounding of two readings; a tenth of the stretch is far beyond both.
            let slack = number("resolution_ns") + number("span_ns") / 10;
            assert!(number("busy_ns") + slack >= number("generator_ns") + number("service_ns"), "{machine}");
        }
        // Starts, warm-ups of runtimes and the report are in the kernel's count alone.
        assert!(own + service <= children + 20_000_000, "{own} and {service} of {children}");
        assert!(own + service >= children / 3, "{own} and {service} of {children}");

        let roles = &ended.json()["cpu_roles"];
        let point = |role: &str| roles[role]["point"].as_f64().unwrap_or_else(|| panic!("{role}: {roles}"));
        let sum = point("generator") + point("service") + point("unattributed");
        assert!((sum - point("busy")).abs() < 1e-9, "{roles}");
        assert!((point("busy") - point("generator") - point("beside_generator")).abs() < 1e-9, "{roles}");
        assert_eq!(roles["unattributed"]["blocks"], 4);
        let page = fs::read_to_string(world.run_folder().join("report.html")).expect("a page");
        assert!(page.contains("unattributed: interrupts"), "the page tells the roles");
    });
}
