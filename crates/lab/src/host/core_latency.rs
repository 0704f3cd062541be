//! Core latency: the time that a cache line takes from one core to another and back.
//!
//! On a virtual machine it changes over time: the hypervisor may run two virtual cores on neighbours that
//! share a cache and, seconds later, on cores that do not. A request over loopback moves dozens of lines
//! between client and service, so its cost changes too. Two pinned threads pass one line to and fro to
//! measure it.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use weighbridge_model::quantity::Nanoseconds;

use crate::host::clock::monotonic_now;
use crate::host::cores::{CoreId, pin_current_thread};

/// How much to measure: the number of batches, whose median counts since interruptions spoil some, and round
/// trips per batch.
#[derive(Debug, Clone, Copy)]
struct Effort {
    batches: usize,
    trips: u32,
}

/// For a figure that is reported.
const THOROUGH: Effort = Effort { batches: 15, trips: 500 };

/// For use between windows. The levels of a virtual machine differ enough for it.
const BRIEF: Effort = Effort { batches: 5, trips: 60 };

/// A longer batch ends the measurement, since the other core does not run.
const PATIENCE: Nanoseconds = Nanoseconds::from_millis(500);

/// Polls between two readings of the clock while waiting for a line.
const LOOKS: u32 = 65_536;

/// A number alone on its cache line and on the neighbouring one, which some processors prefetch.
#[repr(align(128))]
struct CacheLine(AtomicU32);

/// The median round trip of a cache line between two cores. Takes some milliseconds.
pub fn round_trip(here: CoreId, there: CoreId) -> io::Result<Nanoseconds> {
    measure(here, there, THOROUGH)
}

/// Like [`round_trip`], within some tenths of a millisecond and accurate to a fifth.
pub fn glance(here: CoreId, there: CoreId) -> io::Result<Nanoseconds> {
    measure(here, there, BRIEF)
}

fn measure(here: CoreId, there: CoreId, effort: Effort) -> io::Result<Nanoseconds> {
    if here == there {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "two different cores are needed"));
    }
    let (ball, over) = (CacheLine(AtomicU32::new(0)), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let returning = scope.spawn(|| give_back(there, &ball.0, &over));
        let measured = scope.spawn(|| {
            let trips =
                pin_current_thread(here).map_err(io::Error::other).and_then(|()| trips(&ball.0, effort));
            over.store(true, Ordering::Relaxed);
            trips
        });
        let ended = |_| io::Error::other("a thread ended before its time");
        let (returned, measured) = (returning.join().map_err(ended)?, measured.join().map_err(ended)?);
        // If a core was not available, that is the cause, and the missing answer its effect.
        returned.and(measured)
    })
}

fn give_back(core: CoreId, ball: &AtomicU32, over: &AtomicBool) -> io::Result<()> {
    pin_current_thread(core).map_err(io::Error::other)?;
    while !over.load(Ordering::Relaxed) {
        if ball.load(Ordering::Acquire) == 1 {
            ball.store(0, Ordering::Release);
        }
    }
    Ok(())
}

fn trips(ball: &AtomicU32, effort: Effort) -> io::Result<Nanoseconds> {
    // The first batch runs while the other thread is still starting, so it is discarded.
    batch(ball, effort.trips)?;
    let times = (0..effort.batches).map(|_| batch(ball, effort.trips));
    let mut times = times.collect::<io::Result<Vec<_>>>()?;
    times.sort_unstable();
    Ok(times[effort.batches / 2])
}

/// The mean of one batch.
fn batch(ball: &AtomicU32, trips: u32) -> io::Result<Nanoseconds> {
    let from = monotonic_now();
    for _ in 0..trips {
        ball.store(1, Ordering::Release);
        let mut looks: u32 = 0;
        while ball.load(Ordering::Acquire) != 0 {
            looks = looks.wrapping_add(1);
            if looks.is_multiple_of(LOOKS) && monotonic_now().since(from) > PATIENCE {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "the other core did not run"));
            }
        }
    }
    Ok(monotonic_now().since(from) / u64::from(trips))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::cores::CoreLayout;

    #[test]
    fn a_cache_line_goes_to_another_core_and_back() {
        let cores = CoreLayout::detect().expect("cores");
        let (here, there) = (cores.client(), cores.service()[0]);
        if here == there {
            assert!(round_trip(here, there).is_err());
            return;
        }
        // On a loaded machine the other core may not run for half a second.
        let trip = (0..20).find_map(|_| round_trip(here, there).ok()).expect("measured");
        // It cannot be faster than light crosses a chip; there is no upper bound to test.
        assert!(trip >= Nanoseconds::from_nanos(1), "{trip}");
        let glance = (0..20).find_map(|_| glance(here, there).ok()).expect("measured");
        assert!(glance >= Nanoseconds::from_nanos(1), "{glance}");
    }

    #[test]
    fn a_missing_core_is_an_error_at_once() {
        let nowhere = CoreId::new(u32::from(u16::MAX));
        let here = CoreLayout::detect().expect("cores").client();
        round_trip(here, nowhere).expect_err("no such core");
        round_trip(nowhere, here).expect_err("no such core");
        round_trip(here, here).expect_err("one core");
    }
}
