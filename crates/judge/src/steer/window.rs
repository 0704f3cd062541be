//! How long a window is, and whether windows can be used at all.

use weighbridge_model::quantity::{Nanoseconds, PerSecond, Ratio};

use crate::thresholds::{ALMOST_IDLE_SHARE, WINDOW_LONGEST, WINDOW_NOMINAL, WINDOW_PERIODS, WINDOW_REQUESTS};

/// What decides a window's extent, besides the pace of the variants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowRule {
    /// The wanted length; `None` for 20 ms.
    pub nominal: Option<Nanoseconds>,
    /// The longest period that a layer, setting or service declares.
    pub period: Option<Nanoseconds>,
    /// Requests outstanding at once: connections × requests in flight. A window sends at least that many.
    pub slots: u64,
}

/// How fast a warm variant answered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace {
    /// Requests answered.
    pub requests: u64,
    /// In this time.
    pub time: Nanoseconds,
    /// The share of its cores that the service used meanwhile; `None` where that is not known, which counts as busy.
    pub busy: Option<Ratio>,
}

/// How far a window goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// So many requests, the same for every variant (closed load).
    Requests(u64),
    /// So long a schedule, and then until it is empty (open load).
    Time(Nanoseconds),
}

/// Whether every window holds the declared periods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Periods {
    /// At least 20 of the longest period, or none is declared.
    Whole,
    /// The fastest variant's windows hold fewer: the slowest one would take too long.
    Cut,
}

/// How variants are put side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pairing {
    /// Windows in turn, all but one variant frozen.
    Windows {
        /// How far each goes.
        extent: Extent,
        /// Whether they hold the declared periods.
        periods: Periods,
    },
    /// Nothing frozen, variants sent to in turn, request by request.
    Requests,
    /// One variant after another; windows would hold too few requests, and the variants are too busy to run at once.
    Sequential {
        /// How far each goes.
        extent: Extent,
    },
}

impl Pace {
    fn rate(&self) -> f64 {
        PerSecond::from_count(self.requests, self.time).get()
    }

    fn almost_idle(&self) -> bool {
        self.busy.is_some_and(|share| share.get() < ALMOST_IDLE_SHARE)
    }
}

impl WindowRule {
    /// The nominal length: what the experiment says or 20 ms, and never below 20 of the longest period.
    pub fn nominal(&self) -> Nanoseconds {
        self.nominal.unwrap_or(WINDOW_NOMINAL).max(self.periods())
    }

    /// What the slowest variant's window may take: 1 s, or 20 of the longest period where that is longer.
    pub fn longest(&self) -> Nanoseconds {
        WINDOW_LONGEST.max(self.periods()).max(self.nominal.unwrap_or_default())
    }

    fn periods(&self) -> Nanoseconds {
        self.period.unwrap_or_default() * WINDOW_PERIODS
    }

    fn least(&self) -> u64 {
        WINDOW_REQUESTS.max(self.slots)
    }

    /// Closed load: the count with which the *fastest* variant takes the nominal length and the slowest at most 1 s (20
    /// periods), and at least 200 requests. `paces` holds every variant's pace at the end of its warm-up.
    ///
    /// A variant that answered nothing is left out: it must not stop the others, and is found by the diagnosis.
    pub fn closed(&self, paces: &[Pace]) -> Pairing {
        let rates = || paces.iter().map(Pace::rate).filter(|rate| *rate > 0.0);
        let (Some(fastest), Some(slowest)) = (rates().reduce(f64::max), rates().reduce(f64::min)) else {
            return Pairing::Sequential { extent: Extent::Requests(self.slots.max(1)) };
        };
        let within_cap = slowest * self.longest().as_secs_f64();
        let count = (fastest * self.nominal().as_secs_f64()).min(within_cap);
        if (self.least() as f64) <= within_cap {
            let requests = (count.round() as u64).max(self.least());
            let held = requests as f64 / fastest >= self.periods().as_secs_f64() * 0.99;
            let periods = if held { Periods::Whole } else { Periods::Cut };
            return Pairing::Windows { extent: Extent::Requests(requests), periods };
        }
        let requests = (count.round() as u64).max(self.slots).max(1);
        self.without_windows(paces, Extent::Requests(requests))
    }

    /// Open load at `rate`: the nominal length, or as long as 200 requests are due in.
    pub fn open(&self, rate: PerSecond, paces: &[Pace]) -> Pairing {
        let length = rate.gap().map(|gap| self.nominal().max(gap * WINDOW_REQUESTS));
        match length {
            Some(time) if time <= self.longest() => {
                Pairing::Windows { extent: Extent::Time(time), periods: Periods::Whole }
            }
            time => self.without_windows(paces, Extent::Time(time.unwrap_or(self.longest()))),
        }
    }

    fn without_windows(&self, paces: &[Pace], extent: Extent) -> Pairing {
        if paces.iter().all(Pace::almost_idle) { Pairing::Requests } else { Pairing::Sequential { extent } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: WindowRule = WindowRule { nominal: None, period: None, slots: 1 };

    fn pace(per_second: u64, busy: f64) -> Pace {
        Pace { requests: per_second, time: Nanoseconds::from_secs(1), busy: Some(Ratio::new(busy)) }
    }

    fn windows(requests: u64, periods: Periods) -> Pairing {
        Pairing::Windows { extent: Extent::Requests(requests), periods }
    }

    #[test]
    fn the_fastest_takes_the_nominal_length() {
        // 66,000/s and 33,000/s: 20 ms of the faster are 1,320 requests, 40 ms of the slower.
        assert_eq!(RULE.closed(&[pace(66_000, 1.0), pace(33_000, 1.0)]), windows(1320, Periods::Whole));
        let longer = WindowRule { nominal: Some(Nanoseconds::from_millis(100)), ..RULE };
        assert_eq!(longer.closed(&[pace(66_000, 1.0)]), windows(6600, Periods::Whole));
    }

    #[test]
    fn the_slowest_takes_at_most_a_second() {
        // 20 ms at 60,000/s are 1,200; the slowest manages 500 in a second.
        assert_eq!(RULE.closed(&[pace(60_000, 1.0), pace(500, 1.0)]), windows(500, Periods::Whole));
    }

    #[test]
    fn a_window_holds_two_hundred_requests_and_every_connection() {
        assert_eq!(RULE.closed(&[pace(1000, 1.0)]), windows(200, Periods::Whole));
        let many = WindowRule { slots: 512, ..RULE };
        assert_eq!(many.closed(&[pace(2000, 1.0)]), windows(512, Periods::Whole));
    }

    #[test]
    fn long_requests_are_sent_in_turn_if_everyone_is_idle_else_in_sequence() {
        assert_eq!(RULE.closed(&[pace(25, 0.01), pace(100, 0.02)]), Pairing::Requests);
        let busy = RULE.closed(&[pace(25, 0.01), pace(100, 0.5)]);
        assert_eq!(busy, Pairing::Sequential { extent: Extent::Requests(2) });
        let unknown = Pace { busy: None, ..pace(25, 0.0) };
        assert!(matches!(RULE.closed(&[unknown]), Pairing::Sequential { .. }));
    }

    #[test]
    fn a_declared_period_is_held_twenty_times() {
        // A CFS quota of 100 ms asks for windows of 2 s.
        let limited = WindowRule { period: Some(Nanoseconds::from_millis(100)), ..RULE };
        assert_eq!(limited.nominal(), Nanoseconds::from_secs(2));
        assert_eq!(limited.closed(&[pace(1000, 1.0)]), windows(2000, Periods::Whole));
        assert_eq!(limited.closed(&[pace(10_000, 1.0), pace(1000, 1.0)]), windows(2000, Periods::Cut));
    }

    #[test]
    fn an_open_window_is_as_long_as_two_hundred_requests() {
        let time = |millis| {
            let extent = Extent::Time(Nanoseconds::from_millis(millis));
            Pairing::Windows { extent, periods: Periods::Whole }
        };
        let rate = |r| PerSecond::new(r).expect("a positive rate");
        assert_eq!(RULE.open(rate(50_000.0), &[]), time(20));
        assert_eq!(RULE.open(rate(1000.0), &[]), time(200));
        assert_eq!(RULE.open(rate(100.0), &[pace(100, 0.01)]), Pairing::Requests);
        assert!(matches!(RULE.open(rate(100.0), &[pace(100, 0.3)]), Pairing::Sequential { .. }));
    }

    #[test]
    fn a_variant_that_answers_nothing_does_not_stop_the_others() {
        let dead = Pace { requests: 0, time: Nanoseconds::from_secs(1), busy: None };
        assert_eq!(RULE.closed(&[dead, pace(66_000, 1.0)]), windows(1320, Periods::Whole));
        assert!(matches!(RULE.closed(&[dead]), Pairing::Sequential { extent: Extent::Requests(1) }));
    }
}
