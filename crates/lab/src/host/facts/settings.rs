//! Settings of the kernel that affect results and differ between hosts. METHODOLOGY has the effect of each.

use std::collections::BTreeMap;

use weighbridge_model::environment::{
    AddressLayout, HugePages, KernelSettings, Numa, PacketSteering, Switch,
};

use super::interrupts;
use crate::host::cores::{CoreId, parse_core_list};

/// Vulnerabilities of processors that the kernel may mitigate, by its names for them.
const WEAKNESSES: [&str; 19] = [
    "gather_data_sampling",
    "ghostwrite",
    "indirect_target_selection",
    "itlb_multihit",
    "l1tf",
    "mds",
    "meltdown",
    "mmio_stale_data",
    "old_microcode",
    "reg_file_data_sampling",
    "retbleed",
    "spec_rstack_overflow",
    "spec_store_bypass",
    "spectre_v1",
    "spectre_v2",
    "srbds",
    "tsa",
    "tsx_async_abort",
    "vmscape",
];

/// Parameters of the kernel's command line that affect timing. Others are not recorded, since they may name
/// disks and hosts.
const PARAMETERS: [&str; 17] = [
    "amd_pstate",
    "cpufreq.default_governor",
    "intel_pstate",
    "irqaffinity",
    "isolcpus",
    "mitigations",
    "nohz",
    "nohz_full",
    "norandmaps",
    "nosmt",
    "numa_balancing",
    "preempt",
    "rcu_nocbs",
    "skew_tick",
    "threadirqs",
    "transparent_hugepage",
    "tsc",
];

/// `ADDR_NO_RANDOMIZE` of `personality(2)`, which programs inherit.
const NO_RANDOMIZE: u64 = 0x0004_0000;

/// The settings that files tell, by a function that gives a file's text.
pub(super) fn facts(read: &dyn Fn(&str) -> Option<String>) -> KernelSettings {
    let word = |path: &str| read(path).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    let switch = |path: &str| Switch::parse(&read(path)?);
    KernelSettings {
        smt: word("/sys/devices/system/cpu/smt/control"),
        huge_pages: huge_pages(read),
        address_layout: address_layout(read),
        numa: read("/sys/devices/system/node/online").and_then(|text| parse_core_list(&text)).map(|nodes| {
            Numa { nodes: nodes.len() as u32, balancing: switch("/proc/sys/kernel/numa_balancing") }
        }),
        autogroup: switch("/proc/sys/kernel/sched_autogroup_enabled"),
        packet_steering: packet_steering(read),
        interrupts: interrupts::facts(read),
        preemption: read("/sys/kernel/debug/sched/preempt").and_then(|text| chosen(&text, ['(', ')'])),
        mitigations: mitigations(read),
        parameters: parameters(&read("/proc/cmdline").unwrap_or_default()),
    }
}

/// The value in brackets, from a list of all values.
fn chosen(text: &str, [open, close]: [char; 2]) -> Option<String> {
    let (_, rest) = text.split_once(open)?;
    let (value, _) = rest.split_once(close)?;
    Some(value.to_owned())
}

fn huge_pages(read: &dyn Fn(&str) -> Option<String>) -> Option<HugePages> {
    let value =
        |name: &str| chosen(&read(&format!("/sys/kernel/mm/transparent_hugepage/{name}"))?, ['[', ']']);
    Some(HugePages { enabled: value("enabled")?, defrag: value("defrag") })
}

/// The system's setting, or ours if this process has a fixed layout, since programs inherit that.
fn address_layout(read: &dyn Fn(&str) -> Option<String>) -> Option<AddressLayout> {
    let own = read("/proc/self/personality").and_then(|text| u64::from_str_radix(text.trim(), 16).ok());
    if own.is_some_and(|own| own & NO_RANDOMIZE != 0) {
        return Some(AddressLayout::Fixed);
    }
    match read("/proc/sys/kernel/randomize_va_space")?.trim() {
        "0" => Some(AddressLayout::Fixed),
        "1" => Some(AddressLayout::RandomButHeap),
        "2" => Some(AddressLayout::Random),
        _ => None,
    }
}

fn packet_steering(read: &dyn Fn(&str) -> Option<String>) -> Option<PacketSteering> {
    let mask = |path: &str| parse_core_mask(&read(path)?);
    Some(PacketSteering {
        loopback: mask("/sys/class/net/lo/queues/rx-0/rps_cpus")?,
        new_interfaces: mask("/proc/sys/net/core/rps_default_mask"),
    })
}

/// Parses a mask such as `3` or `1,00000000`: hexadecimal words of 32 bits, the highest first.
pub(super) fn parse_core_mask(text: &str) -> Option<Vec<CoreId>> {
    let words: Vec<u32> =
        text.trim().split(',').map(|word| u32::from_str_radix(word, 16)).collect::<Result<_, _>>().ok()?;
    let bits = |(place, word): (usize, &u32)| {
        let word = *word;
        (0..32).filter(move |bit| word >> bit & 1 == 1).map(move |bit| CoreId::new(place as u32 * 32 + bit))
    };
    Some(words.iter().rev().enumerate().flat_map(bits).collect())
}

fn mitigations(read: &dyn Fn(&str) -> Option<String>) -> BTreeMap<String, String> {
    let mitigation = |name: &&str| {
        let text = read(&format!("/sys/devices/system/cpu/vulnerabilities/{name}"))?.trim().to_owned();
        (!text.is_empty() && text != "Not affected").then(|| ((*name).to_owned(), text))
    };
    WEAKNESSES.iter().filter_map(mitigation).collect()
}

fn parameters(command_line: &str) -> Vec<String> {
    let bears_on_timing = |word: &&str| PARAMETERS.contains(&word.split('=').next().unwrap_or_default());
    command_line.split_ascii_whitespace().filter(bears_on_timing).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cores(numbers: &[u32]) -> Vec<CoreId> {
        numbers.iter().copied().map(CoreId::new).collect()
    }

    fn sample(path: &str) -> Option<String> {
        let text = match path {
            "/sys/devices/system/cpu/smt/control" => "on\n",
            "/sys/kernel/mm/transparent_hugepage/enabled" => "[always] madvise never\n",
            "/sys/kernel/mm/transparent_hugepage/defrag" => "always defer defer+madvise [madvise] never\n",
            "/proc/sys/kernel/randomize_va_space" => "2\n",
            "/proc/self/personality" => "00000000\n",
            "/sys/devices/system/node/online" => "0-1\n",
            "/proc/sys/kernel/numa_balancing" => "2\n",
            "/proc/sys/kernel/sched_autogroup_enabled" => "0\n",
            "/sys/class/net/lo/queues/rx-0/rps_cpus" => "1,00000006\n",
            "/proc/sys/net/core/rps_default_mask" => "00000000,00000000\n",
            "/sys/kernel/debug/sched/preempt" => "none voluntary (full) lazy \n",
            "/sys/devices/system/cpu/vulnerabilities/meltdown" => "Not affected\n",
            "/sys/devices/system/cpu/vulnerabilities/retbleed" => "Mitigation: untrained return thunk\n",
            "/proc/cmdline" => "root=UUID=1-2 isolcpus=2,3 quiet mitigations=off nosmt secret=x\n",
            _ => return None,
        };
        Some(text.to_owned())
    }

    #[test]
    fn literal_settings_are_read_one_by_one() {
        let settings = facts(&sample);
        assert_eq!(settings.smt.as_deref(), Some("on"));
        let pages = settings.huge_pages.expect("they are told");
        assert_eq!((pages.enabled.as_str(), pages.defrag.as_deref()), ("always", Some("madvise")));
        assert_eq!(settings.address_layout, Some(AddressLayout::Random));
        assert_eq!(settings.numa, Some(Numa { nodes: 2, balancing: Some(Switch::On) }));
        assert_eq!(settings.autogroup, Some(Switch::Off));
        let steering = settings.packet_steering.expect("it is told");
        assert_eq!(steering.loopback, cores(&[1, 2, 32]));
        assert_eq!(steering.new_interfaces, Some(Vec::new()));
        assert_eq!(settings.preemption.as_deref(), Some("full"));
        let mitigations: Vec<_> = settings.mitigations.keys().map(String::as_str).collect();
        assert_eq!(mitigations, ["retbleed"]);
        assert_eq!(settings.parameters, ["isolcpus=2,3", "mitigations=off", "nosmt"]);
    }

    #[test]
    fn a_fixed_layout_of_our_own_counts_since_services_inherit_it() {
        let fixed = |path: &str| match path {
            "/proc/self/personality" => Some("00040000\n".to_owned()),
            path => sample(path),
        };
        assert_eq!(facts(&fixed).address_layout, Some(AddressLayout::Fixed));
        let by_sysctl = |text: &str| address_layout(&|path| path.ends_with("space").then(|| text.to_owned()));
        assert_eq!(by_sysctl("0\n"), Some(AddressLayout::Fixed));
        assert_eq!(by_sysctl("1\n"), Some(AddressLayout::RandomButHeap));
        assert_eq!(by_sysctl("7\n"), None);
    }

    #[test]
    fn what_is_missing_or_foreign_is_missing() {
        assert_eq!(facts(&|_| None), KernelSettings::default());
        let silly = facts(&|_| Some("\u{0}\n,-: x -".to_owned()));
        assert_eq!((silly.huge_pages, silly.numa, silly.packet_steering), (None, None, None));
        assert_eq!((silly.address_layout, silly.autogroup), (None, None));
        assert_eq!(parse_core_mask("g"), None);
    }
}
