//! The kernel's text (`/proc/<pid>/stat`, `/proc/stat` with its counts, core lists, mounts), in which the names of processes, mounts
//! and groups are anybody's: what is read is written in the kernel's form again and reads back the same.

use std::fmt::Write as _;
use std::path::Component;

use weighbridge_lab::doctor::noise::parse_counts;
use weighbridge_lab::host::cores::{core_list, parse_core_list};
use weighbridge_lab::host::cputime::{CoreTimes, CpuTimes};
use weighbridge_lab::host::procfs::ProcessStat;
use weighbridge_lab::layers::ovs::switch::parse_port_counts;
use weighbridge_lab::net::parse_devices;
use weighbridge_lab::process::cgroup::Hierarchy;
use weighbridge_lab::process::quota;
use weighbridge_lab::service::runtime;
use weighbridge_model::quantity::Nanoseconds;

/// Longest text that is tried: a list of ranges may stand for many cores.
const LONGEST: usize = 1024;

/// Reads `data` as each of them.
pub fn check(data: &[u8]) {
    let Some(Ok(text)) = data.get(..data.len().min(LONGEST)).map(std::str::from_utf8) else { return };
    if let Some(stat) = ProcessStat::parse(text) {
        let zeros = |count: usize| "0 ".repeat(count);
        let line = format!(
            "{} ({}) {} {} {} {} {}{} 0 {}{} 0 {} 0",
            stat.pid,
            stat.name,
            stat.state,
            stat.parent,
            stat.group,
            stat.session,
            zeros(7),
            stat.cpu_ticks,
            zeros(4),
            stat.threads,
            stat.start_time,
        );
        assert_eq!(ProcessStat::parse(&line), Some(stat), "{line}");
    }
    if let Some(times) = CpuTimes::parse(text, Nanoseconds::from_nanos(1)) {
        let mut lines = String::new();
        writeln!(lines, "cpu {}", fields(&times.machine)).expect("memory takes every write");
        for (core, of_core) in &times.cores {
            writeln!(lines, "cpu{core} {}", fields(of_core)).expect("memory takes every write");
        }
        assert_eq!(CpuTimes::parse(&lines, Nanoseconds::from_nanos(1)), Some(times), "{lines}");
    }
    if let Some(counts) = parse_counts(text) {
        let written = format!("intr {} 5\nctxt {}\n", counts.interrupts, counts.switches);
        assert_eq!(parse_counts(&written), Some(counts), "{written}");
    }
    check_devices(text);
    check_port_counts(text);
    if let Some(mut cores) = parse_core_list(text) {
        cores.sort_unstable();
        cores.dedup();
        let written = core_list(&cores);
        assert_eq!(parse_core_list(&written), Some(cores), "{written}");
    }
    // A group of ours lies below the mount, whatever the text says.
    let (mounts, own) = text.split_once("\n\n").unwrap_or((text, "0::/a"));
    if let Some(found) = Hierarchy::locate(mounts, own) {
        assert!(found.base().starts_with(found.mount()), "{found:?}");
        let below = found.base().strip_prefix(found.mount()).expect("it starts with it");
        assert!(!below.components().any(|part| part == Component::ParentDir), "{found:?}");
    }
    for place in quota::CgroupLocation::locate(quota::ControllerKind::Cpu, mounts, own) {
        assert!(place.group.starts_with(&place.mount), "{place:?}");
        let below = place.group.strip_prefix(&place.mount).expect("it starts with it");
        assert!(!below.components().any(|part| part == Component::ParentDir), "{place:?}");
    }
    if let Some(found) = quota::parse_max(text) {
        let micros = |time: Nanoseconds| time.as_nanos() / 1_000;
        let written = format!("{} {}", micros(found.time), micros(found.period));
        assert_eq!(quota::parse_max(&written), Some(found), "{written}");
    }
    if let Some(found) = quota::parse_throttling(text) {
        let nanos = found.time.as_nanos();
        let (periods, throttled) = (found.periods, found.throttled);
        let written = format!("nr_periods {periods}\nnr_throttled {throttled}\nthrottled_time {nanos}\n");
        assert_eq!(quota::parse_throttling(&written), Some(found), "{written}");
    }
    let said = runtime::parse(text);
    let words: Vec<String> = said.iter().map(|(key, value)| format!("{key}={value}")).collect();
    assert_eq!(runtime::parse(&words.join(" ")), said, "{words:?}");
}

fn fields(times: &CoreTimes) -> String {
    let CoreTimes { user, nice, system, idle, iowait, irq, softirq, steal } = times;
    let all = [user, nice, system, idle, iowait, irq, softirq, steal];
    all.map(|time| time.as_nanos().to_string()).join(" ")
}

/// What is read of a table of devices reads back the same.
fn check_devices(text: &str) {
    let devices = parse_devices("client", text);
    let written: Vec<String> = devices
        .iter()
        .map(|link| {
            let (received, sent) = (link.received_bytes, link.sent_bytes);
            let (packets_in, packets_out) = (link.received_packets, link.sent_packets);
            format!("{}: {received} {packets_in} 0 0 0 0 0 0 {sent} {packets_out}", link.device)
        })
        .collect();
    assert_eq!(parse_devices("client", &written.join("\n")), devices, "{written:?}");
}

/// What a switch of Open vSwitch counted at a port reads back the same.
fn check_port_counts(text: &str) {
    let Some(counts) = parse_port_counts(text) else { return };
    let (received, sent) = (counts.received, counts.sent);
    let (bytes_in, bytes_out) = (counts.received_bytes, counts.sent_bytes);
    let written =
        format!("port tun0: rx pkts={received}, bytes={bytes_in}\n tx pkts={sent}, bytes={bytes_out}");
    assert_eq!(parse_port_counts(&written), Some(counts), "{written}");
}
