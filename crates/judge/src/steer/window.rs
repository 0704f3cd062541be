//! How long a window is, and whether windows can be used at all.

use weighbridge_model::estimate::Quantity;
use weighbridge_model::pairing::{Pairing, PairingChoice};
use weighbridge_model::quantity::{Nanoseconds, PerSecond, Ratio};

use crate::thresholds::{
    ALMOST_IDLE_SHARE, BEYOND_PER_BLOCK, ROUNDS_LEAST, WINDOW_LONGEST, WINDOW_NOMINAL, WINDOW_PERIODS,
    WINDOW_REQUESTS,
};

/// Fewest requests of a pooled window, if the extent allows it: ten such windows give a block half as many
/// again as its p50 needs.
const POOLED_LEAST: u64 = 3 * BEYOND_PER_BLOCK / ROUNDS_LEAST as u64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowRule {
    /// `None` for 20 ms.
    pub nominal: Option<Nanoseconds>,
    /// The longest period that a layer, setting or service declares.
    pub period: Option<Nanoseconds>,
    /// Requests outstanding at once: connections × requests in flight. A window sends at least that many.
    pub slots: u64,
    /// Not every pairing gives every quantity.
    pub headline: Quantity,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace {
    pub requests: u64,
    pub time: Nanoseconds,
    /// The share of its cores that the service used, or at most used ([`Pace::most_busy`]); `None` if
    /// unknown, which counts as busy.
    pub busy: Option<Ratio>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// So many requests, the same for every variant (closed load).
    Requests(u64),
    /// A schedule for so long, and then until it is empty (open load); or whatever is answered in that time
    /// (closed load of variants that run at the same time).
    Time(Nanoseconds),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Periods {
    /// At least 20 of the longest period, or none is declared.
    Whole,
    /// The fastest variant's windows hold fewer: the slowest one would take too long.
    Cut,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    Asked(PairingChoice),
    /// The pairing of earlier blocks. Blocks repeat each other, so it does not change.
    Settled(Pairing),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrangement {
    pub pairing: Pairing,
    /// How far each window goes; of [`Pairing::Requests`] the count is of rounds of requests, one to each
    /// variant.
    pub extent: Extent,
    /// The least extent, used if ten full windows do not fit into the time.
    pub least: Extent,
    pub periods: Periods,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "`pairing = \"{}\"` needs windows of at least {least} requests, and within {longest} there are only {held}; leave `pairing` out, raise the load, or set `window` to {needed}", pairing.name()
)]
pub struct FewRequests {
    pub pairing: Pairing,
    pub least: u64,
    pub longest: Nanoseconds,
    /// Requests that fit into that time.
    pub held: u64,
    /// The time that the requests would take.
    pub needed: Nanoseconds,
}

impl Pace {
    fn rate(&self) -> f64 {
        PerSecond::from_count(self.requests, self.time).get()
    }

    /// An upper bound of the share of time in which a server of unknown CPU time was at work, from the time
    /// that requests spent in it. By Little's law, the sum of their times over the elapsed time is the mean
    /// number of requests in the server; a single thread works for no larger share of the time. At most 1.
    pub fn most_busy(in_service: Nanoseconds, time: Nanoseconds) -> Option<Ratio> {
        (time > Nanoseconds::ZERO).then(|| Ratio::new(in_service.share_of(time).get().min(1.0)))
    }

    /// Whether the variant hardly uses its cores, at the pace of its warm-up or at a rate of open load.
    fn almost_idle(&self, rate: Option<PerSecond>) -> bool {
        // The warm-up is closed load; a request takes the same CPU time at any rate.
        let share = |busy: Ratio| match rate.filter(|_| self.rate() > 0.0) {
            None => busy.get(),
            Some(rate) => busy.get() * rate.get() / self.rate(),
        };
        self.busy.is_some_and(|busy| share(busy) < ALMOST_IDLE_SHARE)
    }
}

/// Whether there are several variants, and every one of them hardly uses its cores.
fn all_idle(paces: &[Pace], rate: Option<PerSecond>) -> bool {
    paces.len() > 1 && paces.iter().all(|pace| pace.almost_idle(rate))
}

impl WindowRule {
    /// The experiment's length or 20 ms, and never below 20 of the longest period.
    pub fn nominal(&self) -> Nanoseconds {
        self.nominal.unwrap_or(WINDOW_NOMINAL).max(self.periods())
    }

    /// What the slowest variant's window may take: 1 s, or 20 of the longest period if that is longer.
    pub fn longest(&self) -> Nanoseconds {
        WINDOW_LONGEST.max(self.periods()).max(self.nominal.unwrap_or_default())
    }

    fn periods(&self) -> Nanoseconds {
        self.period.unwrap_or_default() * WINDOW_PERIODS
    }

    fn least(&self) -> u64 {
        WINDOW_REQUESTS.max(self.slots)
    }

    /// Closed load; `paces` holds every variant's pace at the end of its warm-up.
    ///
    /// Windows have the number of requests with which the *fastest* variant takes the nominal length and the
    /// slowest at most 1 s (or 20 periods), and at least 200. Sequential and shared windows take as many
    /// requests as the slowest variant, or all of them together, answer in that time. Variants of a duet run
    /// for the same time: the nominal length, or what 200 requests of the slowest take.
    ///
    /// A variant that answered nothing is left out: it must not stop the others, and the self-check reports
    /// it.
    ///
    /// Errors: [`FewRequests`] if windows were asked for and cannot hold 200 requests.
    pub fn closed(&self, paces: &[Pace], wanted: Wanted) -> Result<Arrangement, FewRequests> {
        let rates = || paces.iter().map(Pace::rate).filter(|rate| *rate > 0.0);
        let each = self.slots.max(1);
        let (Some(fastest), Some(slowest)) = (rates().reduce(f64::max), rates().reduce(f64::min)) else {
            let pairing = wanted.settled().unwrap_or(Pairing::Sequential);
            let extent = Extent::Requests(each);
            return Ok(Arrangement { pairing, extent, least: extent, periods: Periods::Cut });
        };
        let longest = self.longest().as_secs_f64();
        let within_cap = slowest * longest;
        let fits = (self.least() as f64) <= within_cap;
        // Variants that share their time have no throughput of their own.
        let idle = self.headline != Quantity::Throughput && all_idle(paces, None);
        let few = || FewRequests {
            pairing: wanted.paired(),
            least: self.least(),
            longest: self.longest(),
            held: within_cap as u64,
            needed: Nanoseconds::from_secs_f64((self.least() as f64 / slowest).ceil()),
        };
        let pairing = wanted.decide(fits, idle).ok_or_else(few)?;
        let requests = match pairing {
            Pairing::Duet => return Ok(self.at_once(slowest)),
            Pairing::Windows => {
                let count = (fastest * self.nominal().as_secs_f64()).min(within_cap);
                (count.round() as u64).max(self.least())
            }
            Pairing::Sequential => (within_cap.round() as u64).max(each),
            Pairing::Requests => {
                let round: f64 = rates().map(f64::recip).sum();
                ((longest / round).round() as u64).max(each)
            }
        };
        let held = requests as f64 / fastest >= self.periods().as_secs_f64() * 0.99;
        let periods = if held { Periods::Whole } else { Periods::Cut };
        let least = match pairing {
            Pairing::Windows | Pairing::Duet => requests,
            Pairing::Requests | Pairing::Sequential => each.max(POOLED_LEAST).min(requests),
        };
        let [extent, least] = [requests, least].map(Extent::Requests);
        Ok(Arrangement { pairing, extent, least, periods })
    }

    /// Windows of variants that run at the same time, the slowest at `rate`.
    fn at_once(&self, rate: f64) -> Arrangement {
        let length = self.nominal().max(Nanoseconds::from_secs_f64(self.least() as f64 / rate));
        let extent = Extent::Time(length);
        Arrangement { pairing: Pairing::Duet, extent, least: extent, periods: Periods::Whole }
    }

    /// Open load at `rate`. Windows, by turns or at the same time, last the nominal length, or as long as 200
    /// requests take to become due. Otherwise they last the longest time allowed, or until one request is
    /// due.
    ///
    /// Errors: [`FewRequests`] if windows were asked for and cannot hold 200 requests.
    pub fn open(&self, rate: PerSecond, paces: &[Pace], wanted: Wanted) -> Result<Arrangement, FewRequests> {
        let longest = self.longest();
        let gap = rate.gap().unwrap_or(longest);
        let length = self.nominal().max(gap * WINDOW_REQUESTS);
        let idle = all_idle(paces, Some(rate));
        let few = || FewRequests {
            pairing: wanted.paired(),
            least: WINDOW_REQUESTS,
            longest,
            held: (rate.get() * longest.as_secs_f64()) as u64,
            needed: Nanoseconds::from_secs_f64(length.as_secs_f64().ceil()),
        };
        let pairing = wanted.decide(length <= longest, idle).ok_or_else(few)?;
        let times = match pairing {
            Pairing::Windows | Pairing::Duet => [length, length],
            Pairing::Requests | Pairing::Sequential => {
                let extent = longest.max(gap);
                [extent, self.nominal().max(gap * POOLED_LEAST).min(extent)]
            }
        };
        let [extent, least] = times.map(Extent::Time);
        Ok(Arrangement { pairing, extent, least, periods: Periods::Whole })
    }
}

impl Wanted {
    fn settled(self) -> Option<Pairing> {
        match self {
            Self::Settled(pairing) => Some(pairing),
            Self::Asked(PairingChoice::Windows) => Some(Pairing::Windows),
            Self::Asked(PairingChoice::Duet) => Some(Pairing::Duet),
            Self::Asked(PairingChoice::Requests) => Some(Pairing::Requests),
            Self::Asked(PairingChoice::Sequential) => Some(Pairing::Sequential),
            Self::Asked(PairingChoice::Auto) => None,
        }
    }

    /// The kind of windows that are paired by round.
    fn paired(self) -> Pairing {
        self.settled().filter(|pairing| *pairing == Pairing::Duet).unwrap_or(Pairing::Windows)
    }

    /// The pairing, given whether windows hold enough requests and whether variants are almost idle; `None`
    /// if what was asked for is impossible.
    fn decide(self, fits: bool, idle: bool) -> Option<Pairing> {
        match (self, self.settled()) {
            (Self::Asked(_), Some(paired @ (Pairing::Windows | Pairing::Duet))) => fits.then_some(paired),
            (_, Some(pairing)) => Some(pairing),
            (_, None) if fits => Some(Pairing::Windows),
            (_, None) if idle => Some(Pairing::Requests),
            (_, None) => Some(Pairing::Sequential),
        }
    }
}

impl Arrangement {
    /// Windows that are whole passages of a script of so many requests, however long they take.
    pub fn passages(requests: u64) -> Self {
        let extent = Extent::Requests(requests);
        Self { pairing: Pairing::Windows, extent, least: extent, periods: Periods::Whole }
    }

    /// Shortens windows so that ten rounds fit into `time`, as far as allowed: windows that are not paired by
    /// round are pooled, so their length does not matter.
    pub fn within(self, time: Nanoseconds, paces: &[Pace]) -> Self {
        let share = time.as_secs_f64() / (self.round_time(paces) * u64::from(ROUNDS_LEAST)).as_secs_f64();
        if share >= 1.0 || !share.is_finite() {
            return self;
        }
        let extent = match (self.extent, self.least) {
            (Extent::Time(extent), Extent::Time(least)) => {
                Extent::Time(Nanoseconds::from_secs_f64(extent.as_secs_f64() * share).max(least))
            }
            (Extent::Requests(extent), Extent::Requests(least)) => {
                Extent::Requests(((extent as f64 * share) as u64).max(least))
            }
            (extent, _) => extent,
        };
        Self { extent, ..self }
    }

    /// About what one window of every variant takes, by their paces.
    pub fn round_time(&self, paces: &[Pace]) -> Nanoseconds {
        match self.extent {
            Extent::Time(time) if matches!(self.pairing, Pairing::Requests | Pairing::Duet) => time,
            Extent::Time(time) => time * paces.len() as u64,
            Extent::Requests(count) => {
                let rates = paces.iter().map(Pace::rate).filter(|rate| *rate > 0.0);
                Nanoseconds::from_secs_f64(rates.map(|rate| count as f64 / rate).sum())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: WindowRule =
        WindowRule { nominal: None, period: None, slots: 1, headline: Quantity::ResponseP50 };
    const AUTO: Wanted = Wanted::Asked(PairingChoice::Auto);

    fn pace(per_second: u64, busy: f64) -> Pace {
        Pace { requests: per_second, time: Nanoseconds::from_secs(1), busy: Some(Ratio::new(busy)) }
    }

    fn requests(pairing: Pairing, requests: u64) -> Arrangement {
        let [extent, least] = [requests, 6].map(Extent::Requests);
        Arrangement { pairing, extent, least, periods: Periods::Whole }
    }

    fn windows(count: u64, periods: Periods) -> Arrangement {
        Arrangement { periods, least: Extent::Requests(count), ..requests(Pairing::Windows, count) }
    }

    fn closed(rule: WindowRule, paces: &[Pace]) -> Arrangement {
        rule.closed(paces, AUTO).expect("nothing was asked for")
    }

    fn rate(per_second: f64) -> PerSecond {
        PerSecond::new(per_second).expect("a positive rate")
    }

    fn open(per_second: f64, paces: &[Pace]) -> Arrangement {
        RULE.open(rate(per_second), paces, AUTO).expect("nothing was asked for")
    }

    fn time(pairing: Pairing, millis: u64, least: u64) -> Arrangement {
        let [extent, least] = [millis, least].map(Nanoseconds::from_millis).map(Extent::Time);
        Arrangement { pairing, extent, least, periods: Periods::Whole }
    }

    #[test]
    fn the_fastest_takes_the_nominal_length() {
        // 66,000/s and 33,000/s: 20 ms of the faster are 1,320 requests, 40 ms of the slower.
        let paces = [pace(66_000, 1.0), pace(33_000, 1.0)];
        assert_eq!(closed(RULE, &paces), windows(1320, Periods::Whole));
        let longer = WindowRule { nominal: Some(Nanoseconds::from_millis(100)), ..RULE };
        assert_eq!(closed(longer, &[pace(66_000, 1.0)]), windows(6600, Periods::Whole));
    }

    #[test]
    fn the_slowest_takes_at_most_a_second() {
        // 20 ms at 60,000/s are 1,200; the slowest manages 500 in a second.
        assert_eq!(closed(RULE, &[pace(60_000, 1.0), pace(500, 1.0)]), windows(500, Periods::Whole));
    }

    #[test]
    fn a_window_holds_two_hundred_requests_and_every_connection() {
        assert_eq!(closed(RULE, &[pace(1000, 1.0)]), windows(200, Periods::Whole));
        let many = WindowRule { slots: 512, ..RULE };
        assert_eq!(closed(many, &[pace(2000, 1.0)]), windows(512, Periods::Whole));
    }

    #[test]
    fn long_requests_are_sent_in_turn_if_everyone_is_idle_else_in_sequence() {
        // A round takes 40 ms and 10 ms: 20 in a second.
        let idle = [pace(25, 0.01), pace(100, 0.02)];
        assert_eq!(closed(RULE, &idle), requests(Pairing::Requests, 20));
        let busy = [pace(25, 0.01), pace(100, 0.5)];
        assert_eq!(closed(RULE, &busy), requests(Pairing::Sequential, 25));
        let unknown = Pace { busy: None, ..pace(25, 0.0) };
        assert_eq!(closed(RULE, &[unknown]).pairing, Pairing::Sequential);
        let throughput = WindowRule { headline: Quantity::Throughput, ..RULE };
        assert_eq!(closed(throughput, &idle).pairing, Pairing::Sequential);
    }

    #[test]
    fn a_duet_lasts_as_long_for_both_and_holds_two_hundred_requests_of_the_slower() {
        let duet = |rule: WindowRule, paces: &[Pace]| rule.closed(paces, Wanted::Asked(PairingChoice::Duet));
        let millis = |n| Ok(time(Pairing::Duet, n, n));
        assert_eq!(duet(RULE, &[pace(66_000, 1.0), pace(33_000, 1.0)]), millis(20));
        assert_eq!(duet(RULE, &[pace(66_000, 1.0), pace(1_000, 1.0)]), millis(200), "200 of the slower");
        assert_eq!(
            duet(WindowRule { slots: 512, ..RULE }, &[pace(2_048, 1.0)]),
            millis(250),
            "every connection"
        );
        let limited = WindowRule { period: Some(Nanoseconds::from_millis(100)), ..RULE };
        assert_eq!(duet(limited, &[pace(66_000, 1.0); 2]), millis(2_000), "20 periods");
        let few = duet(RULE, &[pace(66_000, 1.0), pace(100, 0.01)]).expect_err("100 within 1 s");
        assert_eq!((few.pairing, few.held), (Pairing::Duet, 100));
        assert!(few.to_string().contains("`pairing = \"duet\"`"), "{few}");
        let settled = RULE.closed(&[pace(199, 1.0); 2], Wanted::Settled(Pairing::Duet)).expect("it stays");
        assert_eq!(settled.pairing, Pairing::Duet);
        // An open load has the windows that it has by turns, and a round takes the time of one window.
        let open = RULE.open(rate(1000.0), &[], Wanted::Asked(PairingChoice::Duet));
        assert_eq!(open, millis(200));
        let both = [pace(66_000, 1.0), pace(33_000, 1.0)];
        assert_eq!(time(Pairing::Duet, 200, 200).round_time(&both), Nanoseconds::from_millis(200));
    }

    #[test]
    fn a_declared_period_is_held_twenty_times() {
        // A CFS quota of 100 ms asks for windows of 2 s.
        let limited = WindowRule { period: Some(Nanoseconds::from_millis(100)), ..RULE };
        assert_eq!(limited.nominal(), Nanoseconds::from_secs(2));
        assert_eq!(closed(limited, &[pace(1000, 1.0)]), windows(2000, Periods::Whole));
        assert_eq!(closed(limited, &[pace(10_000, 1.0), pace(1000, 1.0)]), windows(2000, Periods::Cut));
    }

    #[test]
    fn an_open_window_is_as_long_as_two_hundred_requests() {
        assert_eq!(open(50_000.0, &[]), time(Pairing::Windows, 20, 20));
        assert_eq!(open(1000.0, &[]), time(Pairing::Windows, 200, 200));
    }

    #[test]
    fn at_a_low_rate_the_busy_share_is_that_of_the_rate() {
        // In its warm-up it was busy all the time: 10,000/s at 100/s is busy for 1 %, 100/s at 20/s for 20 %.
        assert_eq!(open(100.0, &[pace(10_000, 1.0); 2]), time(Pairing::Requests, 1_000, 60));
        assert_eq!(open(20.0, &[pace(100, 1.0); 2]), time(Pairing::Sequential, 1_000, 300));
        assert_eq!(open(0.25, &[pace(100, 1.0); 2]), time(Pairing::Requests, 4_000, 4_000));
        assert_eq!(open(100.0, &[Pace { busy: None, ..pace(9, 0.0) }; 2]).pairing, Pairing::Sequential);
        // A single variant cannot share its windows.
        assert_eq!(open(100.0, &[pace(10_000, 1.0)]).pairing, Pairing::Sequential);
    }

    #[test]
    fn a_server_of_unknown_cpu_time_is_at_most_as_busy_as_requests_are_in_it() {
        let millis = Nanoseconds::from_millis;
        // One connection that always has a request in it: at most busy all the time, 100/s of 10 ms each.
        let busy = Pace::most_busy(millis(990), millis(1_000)).expect("a time");
        assert!((busy.get() - 0.99).abs() < 1e-9);
        let url = |per_second, busy| Pace { busy: Some(busy), ..pace(per_second, 0.0) };
        // 5/s × 10 ms are 5 %, 20/s × 10 ms are 20 %.
        assert_eq!(open(5.0, &[url(100, busy); 2]).pairing, Pairing::Requests);
        assert_eq!(open(20.0, &[url(100, busy); 2]).pairing, Pairing::Sequential);
        // Eight connections: at most busy all the time, whatever waits in the server; 100/s of 800/s are an
        // eighth.
        let queued = Pace::most_busy(millis(8_000), millis(1_000)).expect("a time");
        assert_eq!(queued, Ratio::new(1.0));
        assert_eq!(open(100.0, &[url(800, queued); 2]).pairing, Pairing::Sequential);
        assert_eq!(open(70.0, &[url(800, queued); 2]).pairing, Pairing::Requests);
        // Closed load with a think time of 190 ms after each 10 ms; without think time there is always a
        // request.
        let thinking = Pace::most_busy(millis(50), millis(1_000)).expect("a time");
        assert_eq!(closed(RULE, &[url(5, thinking); 2]).pairing, Pairing::Requests);
        assert_eq!(closed(RULE, &[url(100, busy); 2]).pairing, Pairing::Sequential);
        assert_eq!(Pace::most_busy(millis(1), Nanoseconds::ZERO), None);
    }

    #[test]
    fn what_is_asked_for_is_done_or_refused_with_the_way_out() {
        let asked = |choice, paces: &[Pace]| RULE.closed(paces, Wanted::Asked(choice));
        let (fast, slow) = ([pace(66_000, 1.0)], [pace(25, 0.5)]);
        assert_eq!(asked(PairingChoice::Requests, &fast), Ok(requests(Pairing::Requests, 66_000)));
        assert_eq!(asked(PairingChoice::Sequential, &fast), Ok(requests(Pairing::Sequential, 66_000)));
        let error = asked(PairingChoice::Windows, &slow).expect_err("25 in a second");
        assert_eq!((error.held, error.needed), (25, Nanoseconds::from_secs(8)));
        let text = error.to_string();
        assert!(text.contains("at least 200") && text.contains("`window` to 8.00 s"), "{text}");
        let longer = WindowRule { nominal: Some(error.needed), ..RULE };
        assert_eq!(
            longer.closed(&slow, Wanted::Asked(PairingChoice::Windows)),
            Ok(windows(200, Periods::Whole))
        );
        let error =
            RULE.open(rate(10.0), &[], Wanted::Asked(PairingChoice::Windows)).expect_err("10 in a second");
        assert_eq!((error.held, error.needed), (10, Nanoseconds::from_secs(20)));
    }

    #[test]
    fn later_blocks_do_as_the_first() {
        let settled = |pairing, paces: &[Pace]| RULE.closed(paces, Wanted::Settled(pairing));
        // The slowest would take a little more than a second.
        assert_eq!(settled(Pairing::Windows, &[pace(199, 1.0)]), Ok(windows(200, Periods::Whole)));
        assert_eq!(settled(Pairing::Requests, &[pace(50, 0.11)]), Ok(requests(Pairing::Requests, 50)));
        assert_eq!(settled(Pairing::Sequential, &[pace(50, 0.01)]), Ok(requests(Pairing::Sequential, 50)));
    }

    #[test]
    fn a_round_takes_what_its_windows_take() {
        let paces = [pace(100, 0.1), pace(50, 0.1)];
        assert_eq!(requests(Pairing::Sequential, 50).round_time(&paces), Nanoseconds::from_millis(1_500));
        assert_eq!(time(Pairing::Sequential, 1_000, 20).round_time(&paces), Nanoseconds::from_secs(2));
        assert_eq!(time(Pairing::Requests, 1_000, 20).round_time(&paces), Nanoseconds::from_secs(1));
    }

    #[test]
    fn windows_that_are_pooled_are_short_where_there_is_little_time() {
        let paces = [pace(100, 0.1), pace(100, 0.1)];
        let seconds = Nanoseconds::from_secs;
        let long = time(Pairing::Requests, 1_000, 100);
        assert_eq!(long.within(seconds(10), &paces), long);
        assert_eq!(long.within(seconds(5), &paces).extent, Extent::Time(Nanoseconds::from_millis(500)));
        assert_eq!(
            long.within(Nanoseconds::ZERO, &paces).extent,
            Extent::Time(Nanoseconds::from_millis(100))
        );
        let stretch = requests(Pairing::Sequential, 100);
        assert_eq!(stretch.within(seconds(2), &paces).extent, Extent::Requests(10));
        assert_eq!(stretch.within(Nanoseconds::ZERO, &paces).extent, Extent::Requests(6));
        let paired = windows(200, Periods::Whole);
        assert_eq!(paired.within(Nanoseconds::ZERO, &paces), paired);
    }

    #[test]
    fn a_variant_that_answers_nothing_does_not_stop_the_others() {
        let dead = Pace { requests: 0, time: Nanoseconds::from_secs(1), busy: None };
        assert_eq!(closed(RULE, &[dead, pace(66_000, 1.0)]), windows(1320, Periods::Whole));
        assert_eq!(closed(RULE, &[dead]).extent, Extent::Requests(1));
    }
}
