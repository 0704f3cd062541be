//! How the cores' frequency is governed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::settings::Switch;
use crate::host::cores::CoreId;

const CPU: &str = "/sys/devices/system/cpu";

/// How the cores' frequency is governed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Frequency {
    /// The governors in use, each once.
    pub governors: Vec<String>,
    /// The driver of the first core.
    pub driver: Option<String>,
    /// Whether that driver leaves the choice to the processor: `active`, `passive`, `guided`.
    pub mode: Option<String>,
    /// What the processor is told to prefer on the first core, such as `performance` or `balance_power`.
    pub preference: Option<String>,
    /// Whether cores may run faster than their nominal frequency while power and heat allow it.
    pub boost: Option<Switch>,
    /// Lowest frequency of the first core, in kHz.
    pub lowest_khz: Option<u64>,
    /// Highest frequency of the first core, in kHz.
    pub highest_khz: Option<u64>,
}

impl Frequency {
    /// The frequency facts of these cores; `read` returns a file's text.
    pub(super) fn from_files(cores: &[CoreId], read: &dyn Fn(&str) -> Option<String>) -> Option<Self> {
        let word = |path: String| read(&path).map(|text| text.trim().to_owned());
        let file = |core: &CoreId, name: &str| word(format!("{CPU}/cpu{core}/cpufreq/{name}"));
        let mut governors: Vec<String> =
            cores.iter().filter_map(|core| file(core, "scaling_governor")).collect();
        governors.sort();
        governors.dedup();
        let first = cores.first().filter(|_| !governors.is_empty())?;
        Some(Self {
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
