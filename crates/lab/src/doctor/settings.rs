//! Findings about the kernel's settings. METHODOLOGY has the measured effect of each ("What else of the host
//! moves a figure").

use weighbridge_model::environment::AddressLayout;

use super::{Finding, Level, Observation, Subject};
use crate::host::cores::{CoreId, core_list};
use crate::host::{InterruptLine, parse_interrupts};

/// Device interrupts per second on one core from which they are reported. This many on the client's core
/// changed p50 by less than 0.5 %, and their cause changed the mean by 9 %.
const INTERRUPTS_NOTE: f64 = 1_000.0;

/// How often devices interrupted one core during the observation.
#[derive(Debug, Clone, PartialEq)]
pub struct CoreInterrupts {
    pub core: CoreId,
    /// Interrupts per second.
    pub per_second: f64,
    /// The device with most of them.
    pub device: String,
}

pub(super) fn read_interrupts() -> Vec<InterruptLine> {
    std::fs::read_to_string("/proc/interrupts")
        .ok()
        .and_then(|text| parse_interrupts(&text))
        .unwrap_or_default()
}

/// Interrupts between two readings by core, without cores that had none.
pub(super) fn interrupts_between(
    before: &[InterruptLine],
    after: &[InterruptLine],
    seconds: f64,
) -> Vec<CoreInterrupts> {
    let earlier = |line: &InterruptLine, core: CoreId| {
        let same = before.iter().find(|other| other.number == line.number && other.device == line.device);
        same.and_then(|same| same.counts.iter().find(|(other, _)| *other == core))
            .map_or(0, |(_, count)| *count)
    };
    let cores = after.first().map(|line| line.counts.iter().map(|(core, _)| *core)).into_iter().flatten();
    let on_core = |(place, core): (usize, CoreId)| {
        let more = |line: &InterruptLine| line.counts[place].1.saturating_sub(earlier(line, core));
        let busiest = after.iter().max_by_key(|line| more(line)).filter(|line| more(line) > 0)?;
        let count: u64 = after.iter().map(more).sum();
        Some(CoreInterrupts { core, per_second: count as f64 / seconds, device: busiest.device.clone() })
    };
    cores.enumerate().filter_map(on_core).collect()
}

pub(super) fn interrupts(seen: &Observation) -> Option<Finding> {
    let layout = seen.layout.as_ref()?;
    let rate = |on: &CoreInterrupts| {
        let whose = if on.core == layout.client() { "the client's" } else { "service" };
        format!("{:.0} a second on {whose} core {}, most by `{}`", on.per_second, on.core, on.device)
    };
    let ours = |on: &&CoreInterrupts| on.core == layout.client() || layout.service().contains(&on.core);
    let many: Vec<&CoreInterrupts> =
        seen.interrupts.iter().filter(ours).filter(|on| on.per_second >= INTERRUPTS_NOTE).collect();
    if many.is_empty() {
        let most = seen.interrupts.iter().filter(ours).max_by(|a, b| a.per_second.total_cmp(&b.per_second));
        let evidence = most.map_or_else(|| "no device interrupted".to_owned(), rate);
        return Some(Finding::new(Level::Fine, Subject::Interrupts, evidence));
    }
    let evidence = many.iter().map(|on| rate(on)).collect::<Vec<_>>().join("; ");
    let cores: Vec<CoreId> = many.iter().map(|on| on.core).collect();
    let remedy = format!(
        "stop what uses the device, or write another core into `/proc/irq/*/smp_affinity_list` (under irqbalance: set \
         `IRQBALANCE_BANNED_CPULIST={}`)",
        core_list(&cores)
    );
    Some(Finding::new(Level::Note, Subject::Interrupts, evidence).with_remedy(remedy))
}

pub(super) fn packet_steering(seen: &Observation) -> Option<Finding> {
    let steering = seen.facts.settings.packet_steering.as_ref()?;
    let fresh = steering.new_interfaces.as_deref().unwrap_or_default();
    let handed = |cores: &[CoreId], of: &str| {
        let noun = if cores.len() == 1 { "core" } else { "cores" };
        (!cores.is_empty()).then(|| format!("packets of {of} are handed to {noun} {}", core_list(cores)))
    };
    let evidence: Vec<String> =
        [handed(&steering.loopback, "`lo`"), handed(fresh, "new interfaces")].into_iter().flatten().collect();
    if evidence.is_empty() {
        return Some(Finding::new(
            Level::Fine,
            Subject::PacketSteering,
            "packets of `lo` stay on the core that sent them",
        ));
    }
    let file = if steering.loopback.is_empty() {
        "/proc/sys/net/core/rps_default_mask"
    } else {
        "/sys/class/net/lo/queues/rx-0/rps_cpus"
    };
    let finding = Finding::new(Level::Warning, Subject::PacketSteering, evidence.join("; "));
    Some(finding.with_remedy(format!("write `0` to {file} as root")))
}

pub(super) fn huge_pages(seen: &Observation) -> Option<Finding> {
    let pages = seen.facts.settings.huge_pages.as_ref()?;
    if pages.enabled != "always" {
        return Some(Finding::new(Level::Fine, Subject::HugePages, format!("`{}`", pages.enabled)));
    }
    let evidence = "`always`: some programs hold more memory than where they are given on request alone";
    let remedy = "where services run with `madvise` in production, write that to \
                  /sys/kernel/mm/transparent_hugepage/enabled as root";
    Some(Finding::new(Level::Note, Subject::HugePages, evidence).with_remedy(remedy))
}

pub(super) fn address_layout(seen: &Observation) -> Option<Finding> {
    let (level, evidence) = match seen.facts.settings.address_layout? {
        AddressLayout::Random => (Level::Fine, "another with each start"),
        AddressLayout::RandomButHeap => {
            (Level::Note, "the heap's is the same with each start: costs are those of one of many")
        }
        AddressLayout::Fixed => {
            (Level::Note, "the same with each start: costs are those of one layout of many")
        }
    };
    let finding = Finding::new(level, Subject::AddressLayout, evidence);
    let remedy =
        "write `2` to /proc/sys/kernel/randomize_va_space as root, and do not run `weigh` under `setarch -R`";
    Some(if level > Level::Fine { finding.with_remedy(remedy) } else { finding })
}
