//! The whole machine's CPU time over a stretch, beside this program's own.
//!
//! The kernel tells the machine's in ticks (10 ms as a rule), one rounding for each kind of time and reading:
//! a figure for seconds, never for a short window. This program's is by its own clock, in nanoseconds.

use weighbridge_model::quantity::{Nanoseconds, Timestamp};

use crate::host::clock::monotonic_now;
use crate::host::cputime::{CpuTimes, machine_busy};
use crate::host::procfs::Pid;
use crate::host::sys;

/// Kinds of time that a busy core's is the sum of, each rounded down to a tick by itself.
const BUSY_KINDS: u64 = 5;

/// A stretch that has begun.
#[derive(Debug)]
pub struct MachineWatch {
    began: Timestamp,
    machine: CpuTimes,
    own: Nanoseconds,
}

/// What was used in a stretch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MachineUse {
    /// How long it was.
    pub span: Nanoseconds,
    /// What all cores worked.
    pub busy: Nanoseconds,
    /// By so much `busy` may be off by rounding, either way.
    pub resolution: Nanoseconds,
    /// What this program used of it, all its threads together.
    pub own: Nanoseconds,
}

impl MachineWatch {
    /// Begins now; `None` where `/proc` does not tell.
    pub fn start() -> Option<Self> {
        let machine = CpuTimes::read()?;
        Some(Self { began: monotonic_now(), machine, own: own_clock()? })
    }

    /// Ends now.
    pub fn end(&self) -> Option<MachineUse> {
        let (machine, own) = (CpuTimes::read()?, own_clock()?);
        Some(MachineUse {
            span: monotonic_now().since(self.began),
            busy: machine_busy(&self.machine, &machine),
            resolution: sys::tick() * BUSY_KINDS,
            own: own.saturating_sub(self.own),
        })
    }
}

fn own_clock() -> Option<Nanoseconds> {
    sys::process_cpu_clock(Pid::new(std::process::id() as i32)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fields 14 and 15 of `/proc/self/stat`: this process's ticks, which the kernel counts apart from its
    /// CPU clock.
    fn own_ticks() -> u64 {
        let stat = std::fs::read_to_string("/proc/self/stat").expect("/proc");
        let fields: Vec<&str> = stat.rsplit(") ").next().expect("fields").split(' ').collect();
        fields[11].parse::<u64>().expect("utime") + fields[12].parse::<u64>().expect("stime")
    }

    #[test]
    fn what_is_burnt_is_seen_by_the_clock_and_by_the_machine() {
        let (watch, ticks) = (MachineWatch::start().expect("/proc/stat"), own_ticks());
        let goal = own_clock().expect("a clock") + Nanoseconds::from_millis(400);
        while own_clock().expect("a clock") < goal {
            std::hint::black_box((0..10_000_u64).sum::<u64>());
        }
        let (used, ticks) = (watch.end().expect("/proc/stat"), sys::tick() * (own_ticks() - ticks));
        assert!(used.own >= Nanoseconds::from_millis(400), "{used:?}");
        // Other tests of this process may burn meanwhile; both counts see them. Reading comes a moment apart.
        let apart = used.own.as_nanos().abs_diff(ticks.as_nanos());
        assert!(apart <= Nanoseconds::from_millis(80).as_nanos(), "{used:?} against {ticks}");
        // Where the kernel samples by ticks a stretch this short may be off by some of them.
        assert!(used.busy + used.resolution + Nanoseconds::from_millis(150) >= used.own, "{used:?}");
        let cores = CpuTimes::read().expect("/proc/stat").cores.len() as u64;
        assert!(used.busy <= used.span * cores + used.resolution + Nanoseconds::from_millis(100), "{used:?}");
    }
}
