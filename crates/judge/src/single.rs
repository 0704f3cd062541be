//! One server under one load: the figures of `weigh load URL`, and whether they may be used.
//!
//! There are no blocks, so no figure has an interval and nothing is compared.

use std::collections::BTreeSet;

use weighbridge_model::estimate::Validity;
use weighbridge_model::histogram::{TimeHistogram, time_histogram};
use weighbridge_model::id::OperationId;
use weighbridge_model::legs::StampSummary;
use weighbridge_model::quantity::{Nanoseconds, PerSecond, Ratio};
use weighbridge_model::record::{
    ErrorCounts, ErrorKind, HandshakeKind, Outcome, Tallies, Tally, Traffic, WindowEnd, WindowFigures,
};
use weighbridge_model::summary::Finding;

use crate::checks::delayed_ack_stalls::replies_stalled;
use crate::thresholds::{
    BEYOND_PER_BLOCK, BUSY_SHARE, LAG_FLOOR, LAG_SHARE, LOOP_DELAY_SHARE, RETRANSMIT_SHARE,
};

#[derive(Debug, Clone, PartialEq)]
pub struct Single {
    pub requests: u64,
    pub errors: ErrorCounts,
    pub not_sent: u64,
    pub offered: PerSecond,
    /// From first sent to last done.
    pub took: Nanoseconds,
    pub throughput: PerSecond,
    /// Done minus due; a timeout counts as a lower bound.
    pub response: Times,
    /// Done minus sent; a timeout counts as a lower bound.
    pub service: Times,
    /// In the order of the workload; empty if there is only one operation.
    pub operations: Vec<OperationTimes>,
    /// The kernel's counts on the sockets.
    pub traffic: Traffic,
    pub connects: u64,
    /// By kind, without those that did not occur; of connections opened before and while measuring.
    pub handshakes: Vec<HandshakeTimes>,
    /// Where service times went; absent unless the kernel was asked for stamps.
    pub stamps: Option<StampSummary>,
    /// Absent if nothing was sent.
    pub lag_p99: Option<Nanoseconds>,
    pub validity: Validity,
    pub reasons: Vec<String>,
    pub findings: Vec<Finding>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct OperationTimes {
    pub operation: OperationId,
    pub good: u64,
    pub errors: u64,
    pub throughput: PerSecond,
    pub response: Times,
    pub service: Times,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Times {
    /// Quantile and its time; if too few requests lie beyond it, their number.
    pub quantiles: [(f64, Result<Nanoseconds, u64>); 4],
    pub mean: Option<Nanoseconds>,
    pub max: Option<Nanoseconds>,
}

/// Times of TLS handshakes of one kind. They are too few for quantiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HandshakeTimes {
    pub kind: HandshakeKind,
    pub count: u64,
    pub mean: Nanoseconds,
    pub max: Nanoseconds,
}

const QUANTILES: [f64; 4] = [0.5, 0.9, 0.99, 0.999];

/// Sums up one window of each thread. `sharing` says that client and server have to share a core.
pub fn single(windows: &[WindowFigures], tallies: &Tallies, sharing: Option<&str>) -> Single {
    let sum = |pick: fn(&WindowFigures) -> u64| windows.iter().map(pick).sum::<u64>();
    let (mut errors, mut traffic) = (ErrorCounts::default(), Traffic::default());
    for window in windows {
        errors.add(window.errors);
        traffic.add(window.traffic);
    }
    let started = windows.iter().map(|w| w.started).min().unwrap_or_default();
    let took = windows.iter().map(|w| w.ended).max().unwrap_or_default().since(started);
    // Counted, not subtracted: in a window that was cut short, some requests are neither good nor failed.
    let good = tallies.ok().0.len();
    let (response, service) = histograms(&tallies.entries);
    let mut single = Single {
        requests: sum(|w| w.requests),
        errors,
        not_sent: sum(|w| w.not_sent),
        offered: PerSecond::from_count(sum(|w| w.offered), took),
        took,
        throughput: PerSecond::from_count(good, took),
        response: times(&response),
        service: times(&service),
        operations: operations(tallies, took),
        traffic,
        connects: sum(|w| w.connects),
        handshakes: handshakes(tallies),
        stamps: crate::analysis::legs::stamps(windows, &tallies.legs),
        lag_p99: (!tallies.lag.is_empty()).then(|| quantile(&tallies.lag, 0.99)),
        validity: Validity::Valid,
        reasons: Vec::new(),
        findings: replies_stalled(sum(|w| w.held_up), good).iter().map(|alarm| alarm.finding("")).collect(),
    };
    check(&mut single, windows, tallies, good);
    if let Some(sharing) = sharing {
        single.doubt(Validity::Suspect, sharing.to_owned());
    }
    single
}

/// Good replies and timeouts: a request that was given up took at least that long.
fn histograms<'a>(tallies: impl IntoIterator<Item = &'a Tally>) -> (TimeHistogram, TimeHistogram) {
    let (mut response, mut service) = (time_histogram(), time_histogram());
    for tally in tallies {
        if matches!(tally.outcome, Outcome::Ok | Outcome::Error(ErrorKind::Timeout)) {
            crate::records::add(&mut response, &tally.response);
            crate::records::add(&mut service, &tally.service);
        }
    }
    (response, service)
}

fn handshakes(tallies: &Tallies) -> Vec<HandshakeTimes> {
    let handshake_times = |kind: HandshakeKind| {
        let times = tallies.handshakes.get(kind)?;
        let (mean, max) = (times.mean().round() as u64, times.max());
        let (mean, max) = (Nanoseconds::from_nanos(mean), Nanoseconds::from_nanos(max));
        Some(HandshakeTimes { kind, count: times.len(), mean, max })
    };
    HandshakeKind::ALL.into_iter().filter_map(handshake_times).collect()
}

/// Empty if there is only one operation.
fn operations(tallies: &Tallies, took: Nanoseconds) -> Vec<OperationTimes> {
    let each: BTreeSet<OperationId> = tallies.entries.iter().map(|tally| tally.operation).collect();
    let figures = |operation: OperationId| {
        let mine = || tallies.entries.iter().filter(move |tally| tally.operation == operation);
        let (response, service) = histograms(mine());
        let count = |good: bool| {
            mine()
                .filter(|tally| (tally.outcome == Outcome::Ok) == good)
                .map(|tally| tally.response.len())
                .sum()
        };
        let good = count(true);
        OperationTimes {
            operation,
            good,
            errors: count(false),
            throughput: PerSecond::from_count(good, took),
            response: times(&response),
            service: times(&service),
        }
    };
    if each.len() < 2 { Vec::new() } else { each.into_iter().map(figures).collect() }
}

fn quantile(histogram: &TimeHistogram, q: f64) -> Nanoseconds {
    Nanoseconds::from_nanos(histogram.value_at_quantile(q))
}

pub(crate) fn times(histogram: &TimeHistogram) -> Times {
    let at = |q: f64| {
        let beyond = histogram.len() - (q * histogram.len() as f64).ceil() as u64;
        if beyond < BEYOND_PER_BLOCK { Err(beyond) } else { Ok(quantile(histogram, q)) }
    };
    let present = !histogram.is_empty();
    Times {
        quantiles: QUANTILES.map(|q| (q, at(q))),
        mean: present.then(|| Nanoseconds::from_nanos(histogram.mean().round() as u64)),
        max: present.then(|| Nanoseconds::from_nanos(histogram.max())),
    }
}

impl Single {
    fn doubt(&mut self, validity: Validity, reason: String) {
        self.validity = self.validity.max(validity);
        self.reasons.push(reason);
    }
}

/// With the thresholds of a run.
fn check(single: &mut Single, windows: &[WindowFigures], tallies: &Tallies, good: u64) {
    if good == 0 {
        single.doubt(Validity::Invalid, "no good reply came".to_owned());
    }
    let response = histograms(&tallies.entries).0;
    let p50 = quantile(&response, 0.5);
    if let Some(lag) = single.lag_p99 {
        let limit = LAG_FLOOR.max(Nanoseconds::from_nanos((p50.as_nanos() as f64 * LAG_SHARE) as u64));
        if lag > limit {
            single.doubt(Validity::Invalid, format!("the generator was late: lag p99 {lag}, limit {limit}"));
        }
    }
    if windows.iter().any(|w| w.end == WindowEnd::Saturated) || single.not_sent > 0 {
        let reason = format!("overloaded: {} requests were due and never sent", single.not_sent);
        single.doubt(Validity::Invalid, reason);
    }
    let service = quantile(&histograms(&tallies.entries).1, 0.5);
    let delay = quantile(&tallies.loop_delay, 0.5);
    if good > 0 && delay.share_of(service).get() > LOOP_DELAY_SHARE {
        let reason =
            format!("replies waited in the generator: loop delay p50 {delay} of service p50 {service}");
        single.doubt(Validity::Suspect, reason);
    }
    let busy = windows.iter().map(|w| w.health.busy.share_of(w.health.wall).get()).fold(0.0, f64::max);
    if busy > BUSY_SHARE {
        let share = Ratio::new((busy * 100.0).round() / 100.0);
        let reason =
            format!("generator busy {share} of the time: throughput may be its limit; add `-t` threads");
        single.doubt(Validity::Suspect, reason);
    }
    let segments = single.traffic.segments_out;
    let again = single.traffic.retransmits;
    if segments > 0 && again as f64 > segments as f64 * RETRANSMIT_SHARE {
        single.doubt(Validity::Suspect, format!("{again} of {segments} segments were sent again"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weighbridge_model::id::OperationId;
    use weighbridge_model::quantity::Timestamp;
    use weighbridge_model::record::{LoopHealth, RequestRecord};

    fn record(due: u64, sent: u64, done: u64, outcome: Outcome) -> RequestRecord {
        let at = Timestamp::from_nanos;
        RequestRecord { due: at(due), sent: at(sent), done: at(done), operation: OperationId(0), outcome }
    }

    fn window(requests: u64, errors: ErrorCounts) -> WindowFigures {
        WindowFigures {
            started: Timestamp::from_nanos(1_000),
            ended: Timestamp::from_nanos(1_000_001_000),
            offered: requests,
            requests,
            errors,
            connects: 1,
            health: LoopHealth { wall: Nanoseconds::from_secs(1), ..LoopHealth::default() },
            ..Default::default()
        }
    }

    #[test]
    fn quantiles_come_with_enough_requests_beyond_them_or_not_at_all() {
        let mut tallies = Tallies::default();
        // 1 to 2000 µs: asymmetric enough that the 5th percentile cannot pass for the 95th.
        (1..=2000).for_each(|t| tallies.record(&record(0, 0, t * 1000, Outcome::Ok)));
        let single = single(&[window(2000, ErrorCounts::default())], &tallies, None);
        let near = |q: usize, micros: f64| {
            let (_, time) = single.response.quantiles[q];
            (time.unwrap().as_nanos() as f64 / (micros * 1000.0) - 1.0).abs() < 0.001
        };
        assert!(near(0, 1000.0) && near(1, 1800.0) && near(2, 1980.0));
        assert_eq!(single.response.quantiles[3].1, Err(2), "2 of 2000 lie beyond p99.9");
        assert_eq!((single.validity, single.throughput.get().round()), (Validity::Valid, 2000.0));
    }

    #[test]
    fn several_operations_have_figures_each() {
        let mut tallies = Tallies::default();
        let other = |done| RequestRecord { operation: OperationId(1), ..record(0, 0, done, Outcome::Ok) };
        (1..=1000).for_each(|t| tallies.record(&other(t * 1000)));
        (1..=100).for_each(|_| tallies.record(&record(0, 0, 5_000_000, Outcome::Ok)));
        tallies.record(&record(0, 0, 1_000, Outcome::Error(ErrorKind::Status)));
        let errors = ErrorCounts { status: 1, ..ErrorCounts::default() };
        let single = single(&[window(1101, errors)], &tallies, None);
        let [first, second] = &single.operations[..] else { panic!("{:?}", single.operations) };
        assert_eq!((first.operation.0, first.good, first.errors), (0, 100, 1));
        assert_eq!((second.operation.0, second.good, second.errors), (1, 1000, 0));
        let p50 = |times: &Times| times.quantiles[0].1.unwrap().as_nanos() as f64;
        assert!((p50(&first.response) / 5e6 - 1.0).abs() < 0.001);
        assert!((p50(&second.service) / 5e5 - 1.0).abs() < 0.001);
        assert_eq!(first.throughput.get() + second.throughput.get(), single.throughput.get());
    }

    #[test]
    fn a_timeout_counts_as_a_lower_bound_and_other_errors_only_as_errors() {
        let mut tallies = Tallies::default();
        tallies.record(&record(0, 0, 1_000, Outcome::Ok));
        tallies.record(&record(0, 0, 9_000_000, Outcome::Error(ErrorKind::Timeout)));
        tallies.record(&record(0, 0, 70_000_000, Outcome::Error(ErrorKind::Status)));
        let errors = ErrorCounts { timeout: 1, status: 1, ..ErrorCounts::default() };
        let single = single(&[window(3, errors)], &tallies, None);
        let max = single.response.max.unwrap().as_nanos();
        assert!((9_000_000..9_100_000).contains(&max), "{max}");
        assert_eq!(single.throughput.get().round(), 1.0, "only good replies are throughput");
    }

    #[test]
    fn handshakes_are_summed_up_by_kind() {
        let mut tallies = Tallies::default();
        assert_eq!(single(&[window(0, ErrorCounts::default())], &tallies, None).handshakes, []);
        for micros in [100, 300] {
            tallies.handshakes.record(HandshakeKind::Full, Nanoseconds::from_micros(micros));
        }
        let single = single(&[window(0, ErrorCounts::default())], &tallies, None);
        let [full] = single.handshakes[..] else { panic!("{:?}", single.handshakes) };
        assert_eq!((full.kind, full.count), (HandshakeKind::Full, 2));
        let off = |time: Nanoseconds, micros: f64| (time.as_nanos() as f64 / (micros * 1000.0) - 1.0).abs();
        assert!(off(full.mean, 200.0) < 0.001 && off(full.max, 300.0) < 0.001, "{full:?}");
    }

    #[test]
    fn a_late_generator_invalidates_and_a_busy_one_is_suspect() {
        let mut tallies = Tallies::default();
        (0..100).for_each(|_| tallies.record(&record(0, 0, 100_000, Outcome::Ok)));
        tallies.lag.record_n(200_000, 100).unwrap();
        let late = single(&[window(100, ErrorCounts::default())], &tallies, None);
        assert_eq!(late.validity, Validity::Invalid);
        assert!(late.reasons[0].contains("lag p99 200 µs, limit 100 µs"), "{:?}", late.reasons);
        tallies.lag.reset();
        let mut busy = window(100, ErrorCounts::default());
        busy.health.busy = Nanoseconds::from_millis(900);
        let busy = single(&[busy], &tallies, Some("client and server share their cores"));
        assert_eq!((busy.validity, busy.reasons.len()), (Validity::Suspect, 2));
    }
}
