//! CPU time of a unit by its processes' own clocks; the sum never decreases.
//!
//! The clock of a process disappears when it ends. The account keeps the last value that it saw and counts
//! the process as lost; it does not guess what the process used after the last reading.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weighbridge_model::quantity::Nanoseconds;

use crate::host::procfs::Pid;

/// CPU time of a unit at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CpuReading {
    /// Sum over the clocks of the processes that run, and the last seen values of those that ended.
    pub time: Nanoseconds,
    /// Processes whose clock was read.
    pub processes: u32,
    /// Processes that ended since the start: where not zero, `time` is a lower bound.
    pub exited: u32,
}

/// The clocks seen so far.
#[derive(Debug, Default)]
pub(crate) struct CpuAccount {
    running: BTreeMap<Pid, Nanoseconds>,
    ended: Nanoseconds,
    exited: u32,
}

impl CpuAccount {
    /// Adds one reading of every member's clock.
    pub(crate) fn observe(&mut self, clocks: &[(Pid, Nanoseconds)]) -> CpuReading {
        let now: BTreeMap<Pid, Nanoseconds> = clocks.iter().copied().collect();
        for (pid, seen) in &self.running {
            // A clock that has decreased belongs to a new process with a reused id.
            if now.get(pid).is_none_or(|clock| clock < seen) {
                self.ended += *seen;
                self.exited += 1;
            }
        }
        self.running = now;
        CpuReading {
            time: self.ended + self.running.values().copied().sum(),
            processes: self.running.len() as u32,
            exited: self.exited,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clocks(values: &[(i32, u64)]) -> Vec<(Pid, Nanoseconds)> {
        values.iter().map(|(pid, nanos)| (Pid::new(*pid), Nanoseconds::from_nanos(*nanos))).collect()
    }

    #[test]
    fn clocks_are_summed_and_those_that_ended_are_kept_and_counted() {
        let mut account = CpuAccount::default();
        let reading =
            |time, processes, exited| CpuReading { time: Nanoseconds::from_nanos(time), processes, exited };
        assert_eq!(account.observe(&clocks(&[(10, 100), (11, 50)])), reading(150, 2, 0));
        assert_eq!(account.observe(&clocks(&[(10, 130)])), reading(180, 1, 1));
        assert_eq!(account.observe(&clocks(&[(10, 140), (11, 5)])), reading(195, 2, 1));
    }

    #[test]
    fn a_reused_id_is_another_process() {
        let mut account = CpuAccount::default();
        account.observe(&clocks(&[(10, 100)]));
        let reading = account.observe(&clocks(&[(10, 7)]));
        assert_eq!((reading.time, reading.exited), (Nanoseconds::from_nanos(107), 1));
    }

    #[test]
    fn no_running_process_does_not_mean_no_cpu_time() {
        let mut account = CpuAccount::default();
        account.observe(&clocks(&[(10, 100)]));
        let reading = account.observe(&[]);
        assert_eq!((reading.time, reading.processes), (Nanoseconds::from_nanos(100), 0));
    }
}
