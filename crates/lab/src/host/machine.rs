//! The whole machine's CPU time over an interval, and this program's own.
//!
//! The kernel reports the machine's in ticks (usually 10 ms), rounded for each kind of time and reading, so
//! it serves intervals of seconds, never a short window. This program's is by its own clock, in nanoseconds.

use weighbridge_model::quantity::{Nanoseconds, Timestamp};

use crate::host::clock::monotonic_now;
use crate::host::cputime::{CpuTimes, machine_busy};
use crate::host::procfs::Pid;
use crate::host::sys;

/// Kinds of time that add up to a core's busy time; each is rounded down to a tick separately.
const BUSY_KINDS: u64 = 5;

/// An interval that has begun.
#[derive(Debug)]
pub struct MachineWatch {
    began: Timestamp,
    machine: CpuTimes,
    own: Nanoseconds,
}

/// CPU time used in an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MachineUse {
    /// Length of the interval.
    pub span: Nanoseconds,
    /// Busy time of all cores.
    pub busy: Nanoseconds,
    /// Largest rounding error of `busy`, either way.
    pub resolution: Nanoseconds,
    /// CPU time of all threads of this program, included in `busy`.
    pub own: Nanoseconds,
}

impl MachineWatch {
    /// Begins an interval; `None` if `/proc` does not report the times.
    pub fn start() -> Option<Self> {
        let machine = CpuTimes::read()?;
        Some(Self { began: monotonic_now(), machine, own: own_clock()? })
    }

    /// Ends the interval.
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

    /// Fields 14 and 15 of `/proc/self/stat`: this process's ticks, which the kernel counts separately from
    /// its CPU clock.
    fn own_ticks() -> u64 {
        let stat = std::fs::read_to_string("/proc/self/stat").expect("/proc");
        let fields: Vec<&str> = stat.rsplit(") ").next().expect("fields").split(' ').collect();
        fields[11].parse::<u64>().expect("utime") + fields[12].parse::<u64>().expect("stime")
    }

    #[test]
    fn used_cpu_time_is_counted_by_the_clock_and_by_the_machine() {
        let (watch, ticks) = (MachineWatch::start().expect("/proc/stat"), own_ticks());
        let goal = own_clock().expect("a clock") + Nanoseconds::from_millis(400);
        while own_clock().expect("a clock") < goal {
            std::hint::black_box((0..10_000_u64).sum::<u64>());
        }
        let (used, ticks) = (watch.end().expect("/proc/stat"), sys::tick() * (own_ticks() - ticks));
        assert!(used.own >= Nanoseconds::from_millis(400), "{used:?}");
        // Other tests of this process may use CPU meanwhile. Both counts include that, but are read at
        // different times.
        let apart = used.own.as_nanos().abs_diff(ticks.as_nanos());
        assert!(apart <= Nanoseconds::from_millis(80).as_nanos(), "{used:?} against {ticks}");
        // A kernel that samples by ticks may be off by some ticks in so short an interval.
        assert!(used.busy + used.resolution + Nanoseconds::from_millis(150) >= used.own, "{used:?}");
        let cores = CpuTimes::read().expect("/proc/stat").cores.len() as u64;
        assert!(used.busy <= used.span * cores + used.resolution + Nanoseconds::from_millis(100), "{used:?}");
    }
}
