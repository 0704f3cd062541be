//! One server under one load: the figures of `weigh load URL`, and whether they may be used.
//!
//! There are no blocks, so no figure has an interval and nothing is compared.

use std::collections::BTreeSet;

use weighbridge_model::distribution::{Percentile, TimeBucket, TimeDistribution};
use weighbridge_model::estimate::{Statistic, Validity};
use weighbridge_model::histogram::{TimeHistogram, time_histogram};
use weighbridge_model::id::OperationId;
use weighbridge_model::legs::StampSummary;
use weighbridge_model::quantity::{Nanoseconds, PerSecond, Ratio, grouped};
use weighbridge_model::record::{
    ErrorCounts, ErrorKind, HandshakeKind, Outcome, Tallies, Tally, Traffic, WindowEnd, WindowFigures,
};
use weighbridge_model::summary::Finding;

use crate::checks::delayed_ack_stalls::replies_stalled;
use crate::checks::lateness::Late;
use crate::thresholds::{
    BEYOND_PER_BLOCK, BUSY_SHARE, ERROR_SHARE, LOOP_DELAY_SHARE, QUEUE_DRAIN, QUEUE_DRAIN_LEAST,
    RETRANSMIT_SHARE,
};

#[derive(Debug, Clone, PartialEq)]
pub struct Single {
    /// Requests due: good ones, errors and those not sent.
    pub requests: u64,
    pub good: u64,
    pub errors: ErrorCounts,
    pub not_sent: u64,
    /// How often a request was sent again on another connection.
    pub resent: u64,
    /// Requests due, per second of the time in which they became due.
    pub offered: PerSecond,
    /// Requests answered at all, of those due; absent if none was due.
    pub availability: Option<f64>,
    /// Requests answered rightly, of those due.
    pub reliability: Option<f64>,
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
    /// Connections opened before and while measuring.
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
    /// Quantile and its time.
    pub quantiles: [(f64, Result<Nanoseconds, Withheld>); 5],
    pub mean: Option<Nanoseconds>,
    /// Why there is no mean, where lateness could have moved it.
    pub mean_withheld: Option<Withheld>,
    pub max: Option<Nanoseconds>,
}

/// Why a time is not told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Withheld {
    /// Only so many requests lie beyond the quantile.
    Beyond(u64),
    /// The queue grew until the end, so there is no steady state; mean and longest are withheld too.
    QueueGrew,
    /// The generator sent requests late, by so much at the same rank.
    Late { at_most: Nanoseconds, late: Nanoseconds },
}

/// Times of TLS handshakes of one kind. They are too few for quantiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HandshakeTimes {
    pub kind: HandshakeKind,
    pub count: u64,
    pub mean: Nanoseconds,
    pub max: Nanoseconds,
}

/// What a distribution tells.
const SPREAD: [f64; 8] = [0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999, 0.99999];
const QUANTILES: [f64; 5] = [0.5, 0.9, 0.95, 0.99, 0.999];

/// What is known of a load beside its windows.
#[derive(Debug, Clone, Copy, Default)]
pub struct LoadFacts<'a> {
    /// The time in which requests were to become due, where it was known beforehand: not in closed load.
    pub due: Option<Nanoseconds>,
    /// Says that client and server have to share a core.
    pub sharing: Option<&'a str>,
    /// All connections that were opened.
    pub connects: u64,
    /// Requests that were in flight when the user stopped it.
    pub given_up: u64,
}

/// Sums up one window of each thread.
pub fn single(windows: &[WindowFigures], tallies: &Tallies, facts: &LoadFacts<'_>) -> Single {
    let LoadFacts { due, sharing, connects, given_up } = *facts;
    let sum = |pick: fn(&WindowFigures) -> u64| windows.iter().map(pick).sum::<u64>();
    let (mut errors, mut traffic) = (ErrorCounts::default(), Traffic::default());
    for window in windows {
        errors.add(window.errors);
        traffic.add(window.traffic);
    }
    let started = windows.iter().map(|w| w.started).min().unwrap_or_default();
    let took = windows.iter().map(|w| w.ended).max().unwrap_or_default().since(started);
    let good = tallies.ok().0.len();
    let (response, service) = histograms(&tallies.entries);
    let aborted = windows.iter().any(|w| w.end == WindowEnd::Aborted);
    let due = due.map(|due| if aborted { due.min(took) } else { due });
    let offered = sum(|w| w.requests);
    let of_offered = |part: u64| (offered > 0).then(|| part as f64 / offered as f64);
    let mut single = Single {
        requests: offered,
        good,
        errors,
        not_sent: sum(|w| w.not_sent),
        resent: sum(|w| w.resent),
        offered: PerSecond::from_count(offered, due.unwrap_or(took)),
        availability: of_offered(sum(WindowFigures::answered)),
        reliability: of_offered(good),
        took,
        throughput: PerSecond::from_count(good, took),
        response: times(&response),
        service: times(&service),
        operations: operations(tallies, took),
        traffic,
        connects,
        handshakes: handshakes(tallies),
        stamps: crate::analysis::legs::stamps(windows, &tallies.legs),
        lag_p99: (!tallies.lag.is_empty()).then(|| quantile(&tallies.lag, 0.99)),
        validity: Validity::Valid,
        reasons: Vec::new(),
        findings: replies_stalled(sum(|w| w.held_up), good).iter().map(|alarm| alarm.finding("")).collect(),
    };
    if single.not_sent > 0 && aborted {
        let reason =
            format!("{} requests that were due had not been sent when it was stopped", single.not_sent);
        single.doubt(Validity::Invalid, reason);
    } else if single.queue_grew(due) {
        single.withhold();
    }
    check(&mut single, windows, tallies, given_up);
    if let Some(sharing) = sharing {
        single.doubt(Validity::Suspect, sharing.to_owned());
    }
    single
}

/// The distribution of response times: good replies, and timeouts as lower bounds.
pub fn distribution(tallies: &Tallies) -> TimeDistribution {
    let response = histograms(&tallies.entries).0;
    if response.is_empty() {
        return TimeDistribution::default();
    }
    let has_enough = |q: f64| response.len() - (q * response.len() as f64).ceil() as u64 >= BEYOND_PER_BLOCK;
    let was_in_time =
        |q: f64| Late::new(&tallies.lag, Statistic::Quantile(q), quantile(&response, q)).is_none();
    let is_told = |q: &f64| has_enough(*q) && was_in_time(*q);
    let percentile = |q: f64| Percentile { quantile: q, time: quantile(&response, q) };
    let edges = edges(response.min(), response.max());
    let time = Nanoseconds::from_nanos;
    let bucket = |pair: &[u64]| TimeBucket { above: time(pair[0]), to: time(pair[1]), count: 0 };
    let mut buckets: Vec<TimeBucket> = edges.windows(2).map(bucket).collect();
    for recorded in response.iter_recorded() {
        let shortest = time(response.lowest_equivalent(recorded.value_iterated_to()));
        let at = buckets.partition_point(|bucket| bucket.to < shortest).min(buckets.len() - 1);
        buckets[at].count += recorded.count_since_last_iteration();
    }
    let is_empty = |bucket: &TimeBucket| bucket.count == 0;
    buckets.drain(..buckets.iter().take_while(|bucket| is_empty(bucket)).count());
    buckets.truncate(buckets.len() - buckets.iter().rev().take_while(|bucket| is_empty(bucket)).count());
    TimeDistribution {
        percentiles: SPREAD.into_iter().filter(is_told).map(percentile).collect(),
        histogram: buckets,
    }
}

/// 1, 2, 5 times the powers of ten, from below `low` to `high` or above.
fn edges(low: u64, high: u64) -> Vec<u64> {
    let decades = std::iter::successors(Some(1_u64), |decade| decade.checked_mul(10));
    let all: Vec<u64> =
        decades.flat_map(|decade| [1, 2, 5].map(|digit| decade.saturating_mul(digit))).collect();
    let first = all.partition_point(|edge| *edge < low).saturating_sub(1);
    let last = all.partition_point(|edge| *edge < high);
    all[first..=last.min(all.len() - 1)].to_vec()
}

/// Good replies and timeouts: a request that was given up took at least that long.
fn histograms<'a>(tallies: impl IntoIterator<Item = &'a Tally>) -> (TimeHistogram, TimeHistogram) {
    let (mut response, mut service) = (time_histogram(), time_histogram());
    for tally in tallies {
        if matches!(tally.outcome, Outcome::Ok | Outcome::Error(ErrorKind::Timeout)) {
            tally.response.add_to(&mut response);
            tally.service.add_to(&mut service);
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
        if beyond < BEYOND_PER_BLOCK { Err(Withheld::Beyond(beyond)) } else { Ok(quantile(histogram, q)) }
    };
    let present = !histogram.is_empty();
    Times {
        quantiles: QUANTILES.map(|q| (q, at(q))),
        mean: present.then(|| Nanoseconds::from_nanos(histogram.mean().round() as u64)),
        mean_withheld: None,
        max: present.then(|| Nanoseconds::from_nanos(histogram.max())),
    }
}

impl Times {
    /// There is no steady state for these to describe.
    fn withhold(&mut self) {
        self.quantiles = QUANTILES.map(|q| (q, Err(Withheld::QueueGrew)));
        (self.mean, self.max) = (None, None);
    }
}

impl Single {
    /// Whether due requests were never sent, or sending those that waited took long after the last became due. A slow
    /// server ends late too, so at least half of that time must have been waiting.
    fn queue_grew(&self, due: Option<Nanoseconds>) -> bool {
        let Some(due) = due else { return self.not_sent > 0 };
        let drain = self.took.saturating_sub(due);
        let waited = |time: fn(&Times) -> Option<Nanoseconds>| {
            let [response, service] =
                [&self.response, &self.service].map(|times| time(times).unwrap_or_default());
            response.saturating_sub(service)
        };
        // In a queue that grows evenly the last request waits twice as long as the mean one.
        let last = (waited(|times| times.mean) * 2).max(waited(|times| times.max));
        let long =
            QUEUE_DRAIN_LEAST.max(Nanoseconds::from_nanos((due.as_nanos() as f64 * QUEUE_DRAIN) as u64));
        self.not_sent > 0 || (drain >= long && last * 2 >= drain)
    }

    /// Says that the server did not keep up, and withholds what then depends on how long that lasted.
    fn withhold(&mut self) {
        let reason = format!(
            "the server kept up with {} of {}; the queue grew until the end",
            self.throughput, self.offered
        );
        self.doubt(Validity::Invalid, reason);
        self.response.withhold();
        self.operations.iter_mut().for_each(|operation| operation.response.withhold());
    }

    /// Withholds the quantiles that lateness could have moved, as in a run. If the median is one of them, no response
    /// time is left to use.
    fn bound_what_lateness_moved(&mut self, lag: &TimeHistogram) {
        let withheld = |statistic: Statistic, measured: Nanoseconds| {
            let Late { late, at_most } = Late::new(lag, statistic, measured)?;
            Some(Withheld::Late { at_most, late })
        };
        let operations = self.operations.iter_mut().map(|operation| &mut operation.response);
        for times in operations.chain([&mut self.response]) {
            for (q, time) in &mut times.quantiles {
                let why = time.ok().and_then(|measured| withheld(Statistic::Quantile(*q), measured));
                *time = why.map_or(*time, Err);
            }
            times.mean_withheld = times.mean.and_then(|mean| withheld(Statistic::Mean, mean));
            times.mean = times.mean.filter(|_| times.mean_withheld.is_none());
        }
        if let (_, Err(Withheld::Late { at_most, late })) = self.response.quantiles[0] {
            let reason = format!(
                "the generator was late: by {late} at the median, of at most {at_most}; `weigh doctor` says what disturbs it"
            );
            self.doubt(Validity::Invalid, reason);
        }
    }

    fn doubt(&mut self, validity: Validity, reason: String) {
        self.validity = self.validity.max(validity);
        self.reasons.push(reason);
    }
}

/// With the thresholds of a run.
fn check(single: &mut Single, windows: &[WindowFigures], tallies: &Tallies, given_up: u64) {
    let good = single.good;
    if given_up > 0 {
        let what = if given_up == 1 {
            "request in flight counts as error"
        } else {
            "requests in flight count as errors"
        };
        single.reasons.push(format!("stopped: {} {what} of kind reset", grouped(given_up)));
    }
    if good == 0 {
        single.doubt(Validity::Invalid, "no good reply came".to_owned());
    }
    // Those given up are not the server's.
    let failed = single.errors.total().saturating_sub(given_up);
    if good > 0 && failed as f64 > single.requests as f64 * ERROR_SHARE {
        let requests = single.requests;
        let reason = format!(
            "{} of {} requests failed; times and throughput are of good replies",
            grouped(failed),
            grouped(requests)
        );
        single.doubt(Validity::Suspect, reason);
    }
    if good > 0 && !tallies.lag.is_empty() {
        single.bound_what_lateness_moved(&tallies.lag);
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
        let single = single(&[window(2000, ErrorCounts::default())], &tallies, &LoadFacts::default());
        let near = |q: usize, micros: f64| {
            let (_, time) = single.response.quantiles[q];
            (time.unwrap().as_nanos() as f64 / (micros * 1000.0) - 1.0).abs() < 0.001
        };
        assert!(near(0, 1000.0) && near(1, 1800.0) && near(2, 1900.0) && near(3, 1980.0));
        assert_eq!(single.response.quantiles[4].1, Err(Withheld::Beyond(2)), "2 of 2000 lie beyond p99.9");
        assert_eq!((single.validity, single.throughput.get().round()), (Validity::Valid, 2000.0));
    }

    #[test]
    fn a_distribution_counts_every_request_once() {
        let mut tallies = Tallies::default();
        (1..=2000).for_each(|t| tallies.record(&record(0, 0, t * 1000, Outcome::Ok)));
        let TimeDistribution { percentiles, histogram: buckets } = distribution(&tallies);
        let quantiles: Vec<f64> = percentiles.iter().map(|one| one.quantile).collect();
        assert_eq!(quantiles, [0.5, 0.75, 0.9, 0.95, 0.99], "2 of 2000 lie beyond p99.9");
        assert!((percentiles[1].time.as_nanos() as f64 / 1.5e6 - 1.0).abs() < 0.001);
        assert_eq!(buckets.iter().map(|bucket| bucket.count).sum::<u64>(), 2000);
        let to: Vec<u64> = buckets.iter().map(|bucket| bucket.to.as_nanos() / 1_000).collect();
        assert_eq!(to, [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000]);
        // A histogram keeps three digits, so a time at an edge may be counted beyond it.
        assert!(buckets[9].count.abs_diff(500) <= 1, "{buckets:?}");
        assert_eq!(distribution(&Tallies::default()), TimeDistribution::default());
    }

    #[test]
    fn several_operations_have_figures_each() {
        let mut tallies = Tallies::default();
        let other = |done| RequestRecord { operation: OperationId(1), ..record(0, 0, done, Outcome::Ok) };
        (1..=1000).for_each(|t| tallies.record(&other(t * 1000)));
        (1..=100).for_each(|_| tallies.record(&record(0, 0, 5_000_000, Outcome::Ok)));
        tallies.record(&record(0, 0, 1_000, Outcome::Error(ErrorKind::Status)));
        let errors = ErrorCounts { status: 1, ..ErrorCounts::default() };
        let single = single(&[window(1101, errors)], &tallies, &LoadFacts::default());
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
        let single = single(&[window(3, errors)], &tallies, &LoadFacts::default());
        let max = single.response.max.unwrap().as_nanos();
        assert!((9_000_000..9_100_000).contains(&max), "{max}");
        assert_eq!(single.throughput.get().round(), 1.0, "only good replies are throughput");
    }

    #[test]
    fn handshakes_are_summed_up_by_kind() {
        let mut tallies = Tallies::default();
        assert_eq!(
            single(&[window(0, ErrorCounts::default())], &tallies, &LoadFacts::default()).handshakes,
            []
        );
        for micros in [100, 300] {
            tallies.handshakes.record(HandshakeKind::Full, Nanoseconds::from_micros(micros));
        }
        let single = single(&[window(0, ErrorCounts::default())], &tallies, &LoadFacts::default());
        let [full] = single.handshakes[..] else { panic!("{:?}", single.handshakes) };
        assert_eq!((full.kind, full.count), (HandshakeKind::Full, 2));
        let off = |time: Nanoseconds, micros: f64| (time.as_nanos() as f64 / (micros * 1000.0) - 1.0).abs();
        assert!(off(full.mean, 200.0) < 0.001 && off(full.max, 300.0) < 0.001, "{full:?}");
    }

    #[test]
    fn lateness_bounds_the_quantiles_that_it_moves_and_leaves_the_others() {
        let mut tallies = Tallies::default();
        (0..10_000).for_each(|_| tallies.record(&record(0, 0, 300_000, Outcome::Ok)));
        tallies.lag.record_n(1_000, 9_500).unwrap();
        tallies.lag.record_n(600_000, 500).unwrap();
        let late = single(&[window(10_000, ErrorCounts::default())], &tallies, &LoadFacts::default());
        let [p50, p90, _, p99, _] = late.response.quantiles.map(|(_, time)| time);
        assert!(p50.is_ok() && p90.is_ok() && late.service.quantiles[3].1.is_ok(), "{late:?}");
        let Err(Withheld::Late { at_most, late: by }) = p99 else { panic!("{p99:?}") };
        let near =
            |time: Nanoseconds, micros: f64| (time.as_nanos() as f64 / micros / 1e3 - 1.0).abs() < 0.01;
        assert!(near(at_most, 300.0) && near(by, 600.0), "{p99:?}");
        assert_eq!((late.validity, &late.reasons), (Validity::Valid, &Vec::new()));
        let told: Vec<f64> = distribution(&tallies).percentiles.iter().map(|one| one.quantile).collect();
        assert_eq!(told, [0.5, 0.75, 0.9, 0.95], "the distribution leaves out what the table withholds");
    }

    #[test]
    fn a_mean_that_lateness_moved_is_withheld_with_its_bound() {
        let mut tallies = Tallies::default();
        (0..10_000).for_each(|_| tallies.record(&record(0, 0, 300_000, Outcome::Ok)));
        tallies.lag.record_n(1_000, 9_900).unwrap();
        tallies.lag.record_n(20_000_000, 100).unwrap();
        let late = single(&[window(10_000, ErrorCounts::default())], &tallies, &LoadFacts::default());
        let Some(Withheld::Late { at_most, late: by }) = late.response.mean_withheld else {
            panic!("{late:?}")
        };
        let near =
            |time: Nanoseconds, micros: f64| (time.as_nanos() as f64 / micros / 1e3 - 1.0).abs() < 0.01;
        assert!(near(at_most, 300.0) && near(by, 201.0), "{late:?}");
        assert_eq!((late.response.mean, late.validity), (None, Validity::Valid));
        assert!(late.service.mean.is_some() && late.response.quantiles[1].1.is_ok());
    }

    #[test]
    fn a_late_median_invalidates_and_a_busy_generator_is_suspect() {
        let mut tallies = Tallies::default();
        (0..100).for_each(|_| tallies.record(&record(0, 0, 100_000, Outcome::Ok)));
        tallies.lag.record_n(200_000, 100).unwrap();
        let late = single(&[window(100, ErrorCounts::default())], &tallies, &LoadFacts::default());
        assert_eq!(late.validity, Validity::Invalid);
        assert!(late.reasons[0].contains("by 200 µs at the median, of at most 100 µs"), "{:?}", late.reasons);
        tallies.lag.reset();
        let mut busy = window(100, ErrorCounts::default());
        busy.health.busy = Nanoseconds::from_millis(900);
        let facts =
            LoadFacts { sharing: Some("client and server share their cores"), ..LoadFacts::default() };
        let busy = single(&[busy], &tallies, &facts);
        assert_eq!((busy.validity, busy.reasons.len()), (Validity::Suspect, 2));
    }

    #[test]
    fn more_than_one_failure_of_a_hundred_is_suspect() {
        let validity = |status: u64| {
            let mut tallies = Tallies::default();
            (status..1_000).for_each(|_| tallies.record(&record(0, 0, 1_000, Outcome::Ok)));
            let errors = ErrorCounts { status, ..ErrorCounts::default() };
            single(&[window(1_000, errors)], &tallies, &LoadFacts::default())
        };
        assert_eq!(validity(10).validity, Validity::Valid);
        let suspect = validity(11);
        assert_eq!(suspect.validity, Validity::Suspect);
        assert!(suspect.reasons[0].starts_with("11 of 1,000 requests failed"), "{:?}", suspect.reasons);
        assert_eq!(validity(1_000).validity, Validity::Invalid);
        let mut tallies = Tallies::default();
        tallies.lag.record_n(5_000_000, 1_000).unwrap();
        let errors = ErrorCounts { status: 1_000, ..ErrorCounts::default() };
        let failed = single(&[window(1_000, errors)], &tallies, &LoadFacts::default());
        assert_eq!(failed.reasons, ["no good reply came"], "there is no time that lateness could have moved");
    }

    #[test]
    fn what_was_given_up_is_told_and_is_no_failure_of_the_server() {
        let mut tallies = Tallies::default();
        (0..1_000).for_each(|_| tallies.record(&record(0, 0, 1_000_000, Outcome::Ok)));
        let errors = ErrorCounts { reset: 64, ..ErrorCounts::default() };
        let judged = |given_up| {
            let facts = LoadFacts { given_up, ..LoadFacts::default() };
            let single = single(&[window(1_064, errors)], &tallies, &facts);
            assert_eq!(single.requests, single.good + single.errors.total() + single.not_sent);
            (single.validity, single.reasons.concat())
        };
        let (validity, reasons) = judged(64);
        assert_eq!(validity, Validity::Valid);
        assert!(reasons.starts_with("stopped: 64 requests in flight count"), "{reasons}");
        assert_eq!([50, 0].map(|given_up| judged(given_up).0), [Validity::Suspect; 2]);
    }

    /// A second of load that was due, on a server that takes 1 ms and answers 1,000/s.
    fn open(ended_millis: u64, wait_millis: impl Fn(u64) -> u64, not_sent: u64) -> Single {
        let mut tallies = Tallies::default();
        let done = (ended_millis / 2).max(1);
        for k in 0..done {
            let sent = wait_millis(k * 1_000 / done) * 1_000_000;
            tallies.record(&record(0, sent, sent + 1_000_000, Outcome::Ok));
        }
        let window = WindowFigures {
            ended: Timestamp::from_nanos(1_000 + ended_millis * 1_000_000),
            not_sent,
            ..window(2_000, ErrorCounts::default())
        };
        let due = Some(Nanoseconds::from_secs(1));
        single(&[window], &tallies, &LoadFacts { due, ..LoadFacts::default() })
    }

    #[test]
    fn a_queue_that_grows_has_no_response_times() {
        // Twice the capacity: all are sent, the last after a second of waiting.
        for (ended, not_sent) in [(2_000, 0), (2_000, 7), (1_000, 7)] {
            let grew = open(ended, |at| at, not_sent);
            assert_eq!((grew.validity, grew.offered.get()), (Validity::Invalid, 2_000.0));
            assert!(
                grew.reasons[0].ends_with("of 2000/s; the queue grew until the end"),
                "{:?}",
                grew.reasons
            );
            assert!(grew.reasons[0].starts_with("the server kept up with 500/s"), "{:?}", grew.reasons);
            assert!(grew.response.quantiles.iter().all(|(_, time)| *time == Err(Withheld::QueueGrew)));
            assert_eq!((grew.response.mean, grew.response.max), (None, None));
            assert!(grew.service.mean.is_some(), "of which there is a steady state");
        }
    }

    #[test]
    fn a_late_end_without_a_queue_is_no_overload() {
        // Ended on time; or late, and what was sent had not waited, or for a small part of that time.
        for (ended, wait) in [(1_040, 30), (1_099, 90), (1_900, 0), (1_900, 200)] {
            let steady = open(ended, |_| wait, 0);
            assert_eq!((steady.validity, &steady.reasons[..]), (Validity::Valid, &[][..]), "{ended} {wait}");
            assert!(steady.response.mean.is_some());
        }
    }
}
