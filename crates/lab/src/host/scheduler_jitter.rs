//! Scheduler jitter: how much of a core's time others take, as gaps seen by a thread that never gives up its
//! core.
//!
//! Hypervisor, interrupts and other programs take cores away for tens of microseconds to tens of
//! milliseconds. If that is more than a hundredth of the time, a 99th percentile shows them and not the
//! server. This only measures: it neither prevents gaps nor finds their cause.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use weighbridge_model::quantity::{Nanoseconds, Timestamp};

use crate::host::clock::monotonic_now;
use crate::host::cores::{CoreId, CoreLayout, pin_current_thread};

/// A shorter time between two clock reads is not a gap: handling an interrupt takes a few microseconds.
pub const GAP: Nanoseconds = Nanoseconds::from_micros(50);

/// The gaps that were seen on one core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SchedulerJitter {
    /// How long the core was watched.
    pub watched: Nanoseconds,
    /// The sum of the gaps.
    pub away: Nanoseconds,
    /// Their number.
    pub count: u64,
    pub longest: Nanoseconds,
}

impl SchedulerJitter {
    /// Counts the time between two consecutive clock reads if it is a gap.
    fn between(&mut self, earlier: Timestamp, later: Timestamp) {
        let gap = later.since(earlier);
        self.watched += gap;
        if gap >= GAP {
            self.away += gap;
            self.count += 1;
            self.longest = self.longest.max(gap);
        }
    }

    /// The share of time that gaps took, 0 to 1.
    pub fn share(&self) -> f64 {
        if self.watched == Nanoseconds::ZERO {
            0.0
        } else {
            self.away.as_secs_f64() / self.watched.as_secs_f64()
        }
    }

    /// Gaps per second.
    pub fn per_second(&self) -> f64 {
        if self.watched == Nanoseconds::ZERO { 0.0 } else { self.count as f64 / self.watched.as_secs_f64() }
    }
}

/// Watches the client's core for `time` while the services' cores are kept busy, as under load.
pub fn watch(cores: &CoreLayout, time: Nanoseconds) -> io::Result<SchedulerJitter> {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for core in cores.service().iter().filter(|core| **core != cores.client()) {
            let over = &over;
            scope.spawn(move || {
                // If a core cannot be kept busy, the watch sees somewhat fewer gaps than under load.
                let pinned = pin_current_thread(*core).is_ok();
                while pinned && !over.load(Ordering::Relaxed) {
                    std::hint::black_box(monotonic_now());
                }
            });
        }
        let watched = scope.spawn(|| look(cores.client(), time)).join();
        over.store(true, Ordering::Relaxed);
        watched.unwrap_or_else(|_| Err(io::Error::other("the watch ended")))
    })
}

fn look(core: CoreId, time: Nanoseconds) -> io::Result<SchedulerJitter> {
    pin_current_thread(core).map_err(io::Error::other)?;
    let mut jitter = SchedulerJitter::default();
    let mut last = monotonic_now();
    let end = last + time;
    while last < end {
        let now = monotonic_now();
        jitter.between(last, now);
        last = now;
    }
    Ok(jitter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_long_times_between_two_clock_reads() {
        let mut jitter = SchedulerJitter::default();
        let looks = [0, 49_999, 100_000, 1_100_000, 1_100_100, 2_000_000].map(Timestamp::from_nanos);
        looks.windows(2).for_each(|two| jitter.between(two[0], two[1]));
        // 50,001 ns, 1 ms and 899,900 ns.
        let nanos = Nanoseconds::from_nanos;
        assert_eq!(jitter.watched, nanos(2_000_000));
        assert_eq!((jitter.count, jitter.longest, jitter.away), (3, nanos(1_000_000), nanos(1_949_901)));
        assert!((jitter.share() - 0.974_950_5).abs() < 1e-9 && (jitter.per_second() - 1500.0).abs() < 1e-9);
        assert_eq!((SchedulerJitter::default().share(), SchedulerJitter::default().per_second()), (0.0, 0.0));
    }

    #[test]
    fn a_core_is_watched_as_long_as_asked() {
        let cores = CoreLayout::detect().expect("cores");
        let time = Nanoseconds::from_millis(20);
        let jitter = watch(&cores, time).expect("watched");
        assert!(jitter.watched >= time && jitter.away <= jitter.watched && jitter.longest <= jitter.away);
        let nowhere = CoreLayout::from_allowed(&[CoreId::new(u32::from(u16::MAX))]).expect("a layout");
        watch(&nowhere, time).expect_err("no such core");
    }
}
