//! How the cores' frequency is governed.

use weighbridge_model::environment::{Frequency, Switch};

use crate::host::cores::CoreId;

const CPU: &str = "/sys/devices/system/cpu";

/// As files tell it of these cores, by a function that gives a file's text.
pub(super) fn facts(cores: &[CoreId], read: &dyn Fn(&str) -> Option<String>) -> Option<Frequency> {
    let word = |path: String| read(&path).map(|text| text.trim().to_owned());
    let file = |core: &CoreId, name: &str| word(format!("{CPU}/cpu{core}/cpufreq/{name}"));
    let mut governors: Vec<String> = cores.iter().filter_map(|core| file(core, "scaling_governor")).collect();
    governors.sort();
    governors.dedup();
    let first = cores.first().filter(|_| !governors.is_empty())?;
    Some(Frequency {
        governors,
        driver: file(first, "scaling_driver"),
        mode: word(format!("{CPU}/intel_pstate/status"))
            .or_else(|| word(format!("{CPU}/amd_pstate/status")).filter(|mode| mode != "disable")),
        preference: file(first, "energy_performance_preference"),
        boost: boost(read),
        lowest_khz: file(first, "cpuinfo_min_freq").and_then(|text| text.parse().ok()),
        highest_khz: file(first, "cpuinfo_max_freq").and_then(|text| text.parse().ok()),
    })
}

fn boost(read: &dyn Fn(&str) -> Option<String>) -> Option<Switch> {
    if let Some(text) = read(&format!("{CPU}/cpufreq/boost")) {
        return Switch::parse(&text);
    }
    match Switch::parse(&read(&format!("{CPU}/intel_pstate/no_turbo"))?)? {
        Switch::On => Some(Switch::Off),
        Switch::Off => Some(Switch::On),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boost_is_read_from_either_driver() {
        let read = |path: &str, text: &str| {
            let (path, text) = (format!("{CPU}/{path}"), text.to_owned());
            boost(&move |asked: &str| (asked == path).then(|| text.clone()))
        };
        assert_eq!(read("cpufreq/boost", "1\n"), Some(Switch::On));
        assert_eq!(read("cpufreq/boost", "0\n"), Some(Switch::Off));
        assert_eq!(read("intel_pstate/no_turbo", "1\n"), Some(Switch::Off));
        assert_eq!(read("intel_pstate/no_turbo", "0\n"), Some(Switch::On));
        assert_eq!(read("cpufreq/other", "1\n"), None);
    }
}
