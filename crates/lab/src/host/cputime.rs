//! The machine's CPU time from `/proc/stat`: used and stolen.
//!
//! The kernel counts in ticks (usually 10 ms), so these figures serve a block or a run, never a short window.

use std::collections::BTreeMap;
use std::fs;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weighbridge_model::quantity::{Nanoseconds, Ratio};

use crate::host::cores::CoreId;
use crate::host::sys;

/// Time since boot by kind, of one core or of all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CoreTimes {
    /// In user mode, guests included.
    pub user: Nanoseconds,
    /// In user mode at low priority.
    pub nice: Nanoseconds,
    /// In the kernel.
    pub system: Nanoseconds,
    /// With nothing to do.
    pub idle: Nanoseconds,
    /// With nothing to do but to wait for a disk.
    pub iowait: Nanoseconds,
    /// In interrupt handlers.
    pub irq: Nanoseconds,
    /// In deferred interrupt work: on loopback, most of the receiver's network stack.
    pub softirq: Nanoseconds,
    /// Ready to run, while the hypervisor ran someone else.
    pub steal: Nanoseconds,
}

impl CoreTimes {
    /// Time in which the core worked: all but idle, iowait and steal.
    pub fn busy(&self) -> Nanoseconds {
        self.user + self.nice + self.system + self.irq + self.softirq
    }

    /// All time.
    pub fn total(&self) -> Nanoseconds {
        self.busy() + self.idle + self.iowait + self.steal
    }

    /// The difference to `earlier`. A counter that decreased (the kernel corrects iowait and idle) counts as
    /// zero.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            user: self.user.saturating_sub(earlier.user),
            nice: self.nice.saturating_sub(earlier.nice),
            system: self.system.saturating_sub(earlier.system),
            idle: self.idle.saturating_sub(earlier.idle),
            iowait: self.iowait.saturating_sub(earlier.iowait),
            irq: self.irq.saturating_sub(earlier.irq),
            softirq: self.softirq.saturating_sub(earlier.softirq),
            steal: self.steal.saturating_sub(earlier.steal),
        }
    }
}

/// One reading of `/proc/stat`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CpuTimes {
    /// All cores together.
    pub machine: CoreTimes,
    /// Each core that is online.
    pub cores: BTreeMap<CoreId, CoreTimes>,
}

impl CpuTimes {
    /// Reads them now; `None` if `/proc` is not mounted or not as expected.
    pub fn read() -> Option<Self> {
        Self::parse(&fs::read_to_string("/proc/stat").ok()?, sys::tick())
    }

    /// Parses the text of `/proc/stat`, whose numbers are multiples of `tick`.
    pub fn parse(text: &str, tick: Nanoseconds) -> Option<Self> {
        let mut machine = None;
        let mut cores = BTreeMap::new();
        for line in text.lines() {
            let mut fields = line.split_ascii_whitespace();
            let Some(number) = fields.next().and_then(|name| name.strip_prefix("cpu")) else { continue };
            let times = core_times(fields, tick)?;
            if number.is_empty() {
                machine = Some(times);
            } else {
                cores.insert(CoreId::new(number.parse().ok()?), times);
            }
        }
        Some(Self { machine: machine?, cores })
    }
}

fn core_times<'a>(fields: impl Iterator<Item = &'a str>, tick: Nanoseconds) -> Option<CoreTimes> {
    let ticks: Vec<u64> = fields.map(str::parse).collect::<Result<_, _>>().ok()?;
    // Guest time (fields 9 and 10) is already included in user and nice.
    let [user, nice, system, idle, iowait, irq, softirq, steal, ..] = ticks[..] else { return None };
    let time = |count: u64| tick * count;
    Some(CoreTimes {
        user: time(user),
        nice: time(nice),
        system: time(system),
        idle: time(idle),
        iowait: time(iowait),
        irq: time(irq),
        softirq: time(softirq),
        steal: time(steal),
    })
}

/// The share of the machine's CPU time between two readings that the hypervisor gave to others.
pub fn steal_share(before: &CpuTimes, after: &CpuTimes) -> Ratio {
    let passed = after.machine.since(&before.machine);
    passed.steal.share_of(passed.total())
}

/// CPU time that the whole machine used between two readings: machine minus idle.
pub fn machine_busy(before: &CpuTimes, after: &CpuTimes) -> Nanoseconds {
    after.machine.since(&before.machine).busy()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: Nanoseconds = Nanoseconds::from_millis(10);
    const BEFORE: &str = "cpu  2354 0 688 153214 300 0 20 4 0 0\n\
        cpu0 840 0 266 77166 21 0 7 1 0 0\n\
        cpu1 1514 0 421 76047 278 0 12 2 0 0\n\
        intr 133318 0 0\nctxt 1\nbtime 1\n";
    const AFTER: &str = "cpu  2454 10 718 153284 299 1 29 84 50 0\n\
        cpu0 840 0 266 77166 21 0 7 1 0 0\n\
        cpu1 1514 0 421 76047 278 0 12 2 0 0\n";

    fn parse(text: &str) -> CpuTimes {
        CpuTimes::parse(text, TICK).expect("a whole sample")
    }

    #[test]
    fn ticks_become_time_per_core_and_for_the_machine() {
        let times = parse(BEFORE);
        assert_eq!(times.machine.user, Nanoseconds::from_millis(23_540));
        assert_eq!(times.machine.softirq, Nanoseconds::from_millis(200));
        assert_eq!(times.cores.keys().copied().collect::<Vec<_>>(), [CoreId::new(0), CoreId::new(1)]);
        assert_eq!(times.cores[&CoreId::new(1)].steal, Nanoseconds::from_millis(20));
    }

    #[test]
    fn busy_time_is_machine_minus_idle_iowait_and_steal() {
        // 100 user + 10 nice + 30 system + 1 irq + 9 softirq ticks.
        assert_eq!(machine_busy(&parse(BEFORE), &parse(AFTER)), Nanoseconds::from_millis(1_500));
    }

    #[test]
    fn steal_is_a_share_of_all_time_and_a_falling_counter_counts_zero() {
        // 150 busy + 70 idle + 0 iowait (it fell by 1) + 80 stolen ticks.
        assert_eq!(steal_share(&parse(BEFORE), &parse(AFTER)).get(), 80.0 / 300.0);
        assert_eq!(steal_share(&parse(BEFORE), &parse(BEFORE)).get(), 0.0);
    }

    #[test]
    fn unexpected_text_gives_no_reading() {
        for text in ["", "cpu  1 2 3\n", "cpu  a b c d e f g h\n", "cpu0 1 2 3 4 5 6 7 8\n"] {
            assert_eq!(CpuTimes::parse(text, TICK), None, "{text:?}");
        }
    }

    #[test]
    fn the_hosts_own_times_sum_over_its_cores() {
        let times = CpuTimes::read().expect("/proc/stat");
        assert!(!times.cores.is_empty());
        // The kernel sums in nanoseconds and rounds once per line, so each core and kind may differ by one
        // tick.
        let cores: Nanoseconds = times.cores.values().map(|core| core.user).sum();
        let slack = sys::tick() * (times.cores.len() as u64 + 1);
        assert!(times.machine.user + slack >= cores, "{:?} against {cores:?}", times.machine.user);
    }
}
