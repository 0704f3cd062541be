//! Watches the host's clocks: a step of the wall clock or a suspended machine makes the current measurement
//! void.
//!
//! `CLOCK_REALTIME` and `CLOCK_MONOTONIC` are slewed together, so their difference stays constant; only a
//! step (a set clock, a resumed or migrated machine) changes it. The watch compares the difference at two
//! times. It corrects nothing.

use weighbridge_model::quantity::{Nanoseconds, Timestamp, display_nanos};

use crate::host::sys;

/// A larger change of the difference is a jump. Time services slew below about 0.1 s and step above. A read
/// that was interrupted adds at most [`ClockReading`]'s own uncertainty, which is added.
const TOLERANCE: Nanoseconds = Nanoseconds::from_millis(10);

/// Readings within this time are close enough to stop trying.
const CLOSE: Nanoseconds = Nanoseconds::from_micros(100);

/// The monotonic clock now.
pub fn monotonic_now() -> Timestamp {
    sys::monotonic()
}

/// Both clocks at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockReading {
    /// `CLOCK_MONOTONIC`.
    pub monotonic: Timestamp,
    /// `CLOCK_REALTIME`, since 1970.
    pub realtime: Nanoseconds,
    /// The longest time between the two readings.
    pub uncertainty: Nanoseconds,
}

impl ClockReading {
    /// Reads the wall clock between two readings of the other, repeatedly until these are close together.
    pub fn take() -> Self {
        let attempt = || {
            let before = sys::monotonic();
            let realtime = sys::realtime();
            let after = sys::monotonic();
            let apart = after.since(before);
            Self { monotonic: before + apart / 2, realtime, uncertainty: apart }
        };
        let mut best = attempt();
        for _ in 0..10 {
            if best.uncertainty <= CLOSE {
                break;
            }
            let next = attempt();
            if next.uncertainty < best.uncertainty {
                best = next;
            }
        }
        best
    }

    fn distance(self) -> i128 {
        i128::from(self.realtime.as_nanos()) - i128::from(self.monotonic.as_nanos())
    }
}

/// A change of the clocks' difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockJump {
    /// By how much the wall clock went ahead of the monotonic one, in nanoseconds; negative if it fell
    /// behind.
    pub nanos: i64,
}

impl std::fmt::Display for ClockJump {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let direction = if self.nanos < 0 { "back" } else { "ahead" };
        write!(f, "the wall clock jumped {} {direction}", display_nanos(self.nanos.unsigned_abs() as f64))
    }
}

/// Remembers the clocks' difference.
#[derive(Debug, Clone, Copy)]
pub struct ClockWatch {
    last: ClockReading,
}

impl ClockWatch {
    /// Starts from a reading.
    pub const fn start(reading: ClockReading) -> Self {
        Self { last: reading }
    }

    /// The jump since the last reading, if any; each jump is reported once.
    pub fn check(&mut self, reading: ClockReading) -> Option<ClockJump> {
        let moved = reading.distance() - self.last.distance();
        let allowed = TOLERANCE + reading.uncertainty + self.last.uncertainty;
        self.last = reading;
        let nanos = i64::try_from(moved).unwrap_or(if moved < 0 { i64::MIN } else { i64::MAX });
        (nanos.unsigned_abs() > allowed.as_nanos()).then_some(ClockJump { nanos })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(monotonic_ms: u64, realtime_ms: u64) -> ClockReading {
        ClockReading {
            monotonic: Timestamp::from_nanos(monotonic_ms * 1_000_000),
            realtime: Nanoseconds::from_millis(realtime_ms),
            uncertainty: Nanoseconds::ZERO,
        }
    }

    #[test]
    fn clocks_that_run_together_do_not_jump_however_long() {
        let mut watch = ClockWatch::start(reading(1_000, 500_000));
        assert_eq!(watch.check(reading(2_000, 501_000)), None);
        assert_eq!(watch.check(reading(90_000_000, 90_499_005)), None);
    }

    #[test]
    fn a_step_in_either_direction_is_reported_once_with_its_size() {
        let mut watch = ClockWatch::start(reading(1_000, 500_000));
        let jump = watch.check(reading(2_000, 561_000)).expect("a minute ahead");
        assert_eq!(jump.nanos, 60_000_000_000);
        assert_eq!(watch.check(reading(3_000, 562_000)), None);
        let back = watch.check(reading(4_000, 502_000)).expect("a minute back");
        assert_eq!(back.nanos, -61_000_000_000);
        assert_eq!(back.to_string(), "the wall clock jumped 61.0 s back");
    }

    #[test]
    fn an_interrupted_reading_is_not_taken_for_a_jump() {
        let mut watch = ClockWatch::start(reading(1_000, 500_000));
        let late = ClockReading { uncertainty: Nanoseconds::from_millis(40), ..reading(2_000, 501_020) };
        assert_eq!(watch.check(late), None);
    }

    #[test]
    fn the_hosts_clocks_can_be_read_and_advance() {
        let first = ClockReading::take();
        let second = ClockReading::take();
        assert!(second.monotonic > first.monotonic);
        // 2020-01-01 in seconds since 1970: a realtime below it would be another clock.
        assert!(second.realtime > Nanoseconds::from_secs(1_577_836_800));
    }
}
