//! Which cores handle device interrupts, and how many there were so far.
//!
//! Numbered lines of `/proc/interrupts` are devices. Named ones (timers, calls between cores) are the
//! kernel's own and depend on the work that a core does.

use std::collections::BTreeMap;

use weighbridge_model::environment::Interrupts;

use super::settings::parse_core_mask;
use crate::host::cores::{CoreId, core_list, parse_core_list};

/// One device's line of `/proc/interrupts`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterruptLine {
    /// The kernel's number for it.
    pub number: u32,
    /// The device, as named by its driver.
    pub device: String,
    /// Interrupts on each core, in the order of the file's columns.
    pub counts: Vec<(CoreId, u64)>,
}

/// What files tell, by a function that gives a file's text; `None` where there is no `/proc/interrupts`.
pub(super) fn facts(read: &dyn Fn(&str) -> Option<String>) -> Option<Interrupts> {
    let lines = parse_lines(&read("/proc/interrupts")?)?;
    let mut devices: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in lines.into_iter().filter(|line| line.counts.iter().any(|(_, count)| *count > 0)) {
        let file = |name: &str| {
            let cores = parse_core_list(&read(&format!("/proc/irq/{}/{name}", line.number))?)?;
            (!cores.is_empty()).then(|| core_list(&cores))
        };
        // Which of the allowed cores is meant; older kernels tell only what is allowed.
        if let Some(cores) = file("effective_affinity_list").or_else(|| file("smp_affinity_list")) {
            devices.entry(cores).or_default().push(line.device);
        }
    }
    let default_cores = read("/proc/irq/default_smp_affinity").and_then(|text| parse_core_mask(&text));
    Some(Interrupts { default_cores, devices, balancer: None })
}

/// The devices' lines of `/proc/interrupts`; `None` if the text is not such a file.
pub fn parse_lines(text: &str) -> Option<Vec<InterruptLine>> {
    let mut lines = text.lines();
    let core = |word: &str| word.strip_prefix("CPU")?.parse().ok().map(CoreId::new);
    let cores: Vec<CoreId> = lines.next()?.split_ascii_whitespace().map(core).collect::<Option<_>>()?;
    let parse = |line: &str| {
        let (number, rest) = line.split_once(':')?;
        let number = number.trim().parse().ok()?;
        let mut words = rest.split_ascii_whitespace();
        let mut counts = Vec::new();
        for core in &cores {
            counts.push((*core, words.next()?.parse().ok()?));
        }
        Some(InterruptLine { number, device: words.last()?.to_owned(), counts })
    };
    Some(lines.filter_map(parse).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "           CPU0       CPU1\n 24:          1          0  IO-APIC   5-edge      ACPI:Ged\n \
        36:          0     105596 PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0\n \
        37:          0          0 PCI-MSIX-0000:00:03.0   0-edge      virtio2-config\n \
        38:          7       9454 PCI-MSIX-0000:00:03.0   1-edge      virtio2-input.0\n\
        NMI:          0          0   Non-maskable interrupts\nERR:          0\n";

    fn sample(path: &str) -> Option<String> {
        let text = match path {
            "/proc/interrupts" => TEXT,
            "/proc/irq/default_smp_affinity" => "3\n",
            "/proc/irq/24/effective_affinity_list" => "0\n",
            "/proc/irq/36/effective_affinity_list" => "1\n",
            // A virtual interrupt has no effective affinity.
            "/proc/irq/38/effective_affinity_list" => "\n",
            "/proc/irq/38/smp_affinity_list" => "0-1\n",
            _ => return None,
        };
        Some(text.to_owned())
    }

    #[test]
    fn devices_that_have_interrupted_are_told_by_their_cores() {
        let found = facts(&sample).expect("the file");
        assert_eq!(found.default_cores, Some(vec![CoreId::new(0), CoreId::new(1)]));
        let listed: Vec<_> =
            found.devices.iter().map(|(cores, names)| (cores.as_str(), names.join(" "))).collect();
        let expected = [("0", "ACPI:Ged"), ("0-1", "virtio2-input.0"), ("1", "virtio1-req.0")];
        assert_eq!(listed, expected.map(|(cores, names)| (cores, names.to_owned())));
    }

    #[test]
    fn only_lines_of_devices_are_counted() {
        let lines = parse_lines(TEXT).expect("the file");
        let numbers: Vec<u32> = lines.iter().map(|line| line.number).collect();
        assert_eq!(numbers, [24, 36, 37, 38]);
        assert_eq!(lines[3].counts, [(CoreId::new(0), 7), (CoreId::new(1), 9454)]);
        assert_eq!(parse_lines("no such file\n"), None);
        assert_eq!(parse_lines(""), None);
    }
}
