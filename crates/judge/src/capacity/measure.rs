//! From single requests to the record of a step.

use weighbridge_model::objective::{ACHIEVED_LEAST, Limit, Measure, Objectives, Resolved};
use weighbridge_model::quantity::{Nanoseconds, Timestamp};
use weighbridge_model::record::steps::{COUNTED, PARTS, Step, StepFigure, StepRecord, Tenth};
use weighbridge_model::record::{Outcome, RequestRecord, Tallies};

/// The record of a step: of `requests`, in any order, those that were due in it.
pub fn record(objectives: &Objectives, step: Step, requests: &[RequestRecord]) -> StepRecord {
    let parts = Parts { start: step.start, length: step.length };
    let mut tenths = [Tenth::default(); PARTS];
    let mut tallies = Tallies::default();
    for request in requests {
        if request.outcome == Outcome::Ok
            && let Some(at) = parts.position(request.done)
        {
            tenths[at].replies += 1;
        }
        let Some(at) = parts.position(request.due) else { continue };
        tenths[at].add(request);
        if at > 0 {
            tallies.record(request);
        }
    }
    parts.backlogs(requests, &mut tenths);
    let [lead_in, counted @ ..] = tenths;
    let figure = |condition| figure(condition, &parts, requests, &counted);
    let figures = objectives.conditions().iter().map(figure).collect();
    let achieved = share(&counted.map(|tenth| Count { part: tenth.replies, whole: tenth.due }));
    StepRecord { step, lead_in, tenths: counted, tallies, figures, achieved }
}

/// A part of a whole, of one tenth.
#[derive(Debug, Clone, Copy)]
struct Count {
    part: u64,
    whole: u64,
}

/// A time and the counted tenth that its request was due in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Timed {
    time: u64,
    tenth: usize,
}

/// A step's tenths.
struct Parts {
    start: Timestamp,
    length: Nanoseconds,
}

impl Parts {
    /// The tenth that a moment is in, lead-in included.
    fn position(&self, at: Timestamp) -> Option<usize> {
        let since = (at >= self.start).then(|| at.since(self.start).as_nanos())?;
        let at = u128::from(since) * PARTS as u128 / u128::from(self.length.as_nanos().max(1));
        usize::try_from(at).ok().filter(|at| *at < PARTS)
    }

    fn begin(&self, tenth: usize) -> u64 {
        self.start.as_nanos() + self.length.as_nanos() / PARTS as u64 * tenth as u64
    }

    /// Sweeps through all moments at which a request falls due or is done.
    fn backlogs(&self, requests: &[RequestRecord], tenths: &mut [Tenth; PARTS]) {
        let sorted = |time: fn(&RequestRecord) -> Timestamp| {
            let mut times: Vec<u64> = requests.iter().map(|request| time(request).as_nanos()).collect();
            times.sort_unstable();
            times
        };
        let (due, done) = (sorted(|request| request.due), sorted(|request| request.done));
        let (mut fallen_due, mut completed) = (0, 0);
        for (at, tenth) in tenths.iter_mut().enumerate() {
            let (begin, end) = (self.begin(at), self.begin(at + 1));
            let mut waiting_at = |moment: u64| {
                fallen_due += due[fallen_due..].iter().take_while(|due| **due <= moment).count();
                completed += done[completed..].iter().take_while(|done| **done <= moment).count();
                ((fallen_due - completed) as u64, done.get(completed).copied())
            };
            let (mut smallest, mut next) = waiting_at(begin);
            while let Some(moment) = next.filter(|moment| *moment < end) {
                let (waiting, after) = waiting_at(moment);
                (smallest, next) = (smallest.min(waiting), after);
            }
            tenth.smallest_backlog = smallest;
        }
    }
}

fn figure(
    condition: &Resolved,
    parts: &Parts,
    requests: &[RequestRecord],
    tenths: &[Tenth; COUNTED],
) -> StepFigure {
    let concerned = requests
        .iter()
        .filter(|request| condition.operation.is_none_or(|operation| operation == request.operation));
    let counted = concerned.filter_map(|request| {
        let tenth = parts.position(request.due)?.checked_sub(1)?;
        Some((tenth, request))
    });
    let (time, statistic): (fn(&RequestRecord) -> Nanoseconds, _) = match condition.measure {
        Measure::Response(statistic) => (|request| request.done.since(request.due), statistic),
        Measure::Service(statistic) => (|request| request.done.since(request.sent), statistic),
        Measure::Errors => {
            let mut counts = [Count { part: 0, whole: 0 }; COUNTED];
            for (tenth, request) in counted {
                counts[tenth].whole += 1;
                counts[tenth].part += u64::from(request.outcome != Outcome::Ok);
            }
            return errors(condition.limit, &counts);
        }
    };
    let good = counted.filter(|(_, request)| request.outcome == Outcome::Ok);
    let times = good.map(|(tenth, request)| Timed { time: time(request).as_nanos(), tenth });
    match (statistic.quantile(), condition.operation, condition.measure) {
        (Some(q), ..) => quantile(q, times.collect()),
        (None, None, Measure::Response(_)) => {
            share(&tenths.map(|tenth| Count { part: tenth.response_sum.as_nanos(), whole: tenth.good }))
        }
        (None, ..) => {
            let mut sums = [Count { part: 0, whole: 0 }; COUNTED];
            for timed in times {
                sums[timed.tenth].part = sums[timed.tenth].part.saturating_add(timed.time);
                sums[timed.tenth].whole += 1;
            }
            share(&sums)
        }
    }
}

/// Errors as the limit counts them. Where few or none occurred, tenths tell too little of the error of a share:
/// it is at least that of one error more.
fn errors(limit: Limit, counts: &[Count]) -> StepFigure {
    let (part, whole) =
        counts.iter().fold((0, 0), |(part, whole), count| (part + count.part, whole + count.whole));
    if matches!(limit, Limit::Count(_)) {
        return StepFigure { value: part as f64, error: 0.0 };
    }
    let found = share(counts);
    StepFigure { error: found.error.max(((part + 1) as f64).sqrt() / whole.max(1) as f64), ..found }
}

/// Σ parts / Σ wholes, with the jackknife's error over tenths: √((m − 1)/m · Σ(θ₍ₖ₎ − θ̄)²) for the estimates θ₍ₖ₎
/// without the k-th (Quenouille 1956, Tukey 1958).
fn share(counts: &[Count]) -> StepFigure {
    let sum = |of: fn(&Count) -> u64| counts.iter().map(|count| of(count) as f64).sum::<f64>();
    let (part, whole) = (sum(|count| count.part), sum(|count| count.whole));
    let used = counts.iter().filter(|count| count.whole > 0);
    let without = used.map(|count| (part - count.part as f64) / (whole - count.whole as f64));
    StepFigure { value: part / whole.max(1.0), error: jackknife_error(without.collect()) }
}

/// The quantile by nearest rank, with the jackknife's error over tenths.
fn quantile(q: f64, mut times: Vec<Timed>) -> StepFigure {
    times.sort_unstable();
    let mut by_tenth = [0_usize; COUNTED];
    times.iter().for_each(|timed| by_tenth[timed.tenth] += 1);
    // Counted from above, since quantiles of interest lie there.
    let beyond = |count: usize| count - ((q * count as f64 - 1e-9).ceil().max(1.0) as usize).min(count);
    let value = times.iter().rev().nth(beyond(times.len())).map_or(0.0, |timed| timed.time as f64);
    let without = (0..COUNTED).filter(|tenth| by_tenth[*tenth] > 0).filter_map(|tenth| {
        let others = times.iter().rev().filter(|timed| timed.tenth != tenth);
        let at = beyond(times.len() - by_tenth[tenth]);
        others.into_iter().nth(at).map(|timed| timed.time as f64)
    });
    StepFigure { value, error: jackknife_error(without.collect()) }
}

fn jackknife_error(without: Vec<f64>) -> f64 {
    let parts = without.len() as f64;
    if parts < 2.0 {
        return f64::INFINITY;
    }
    let mean = without.iter().sum::<f64>() / parts;
    let squares: f64 = without.iter().map(|estimate| (estimate - mean) * (estimate - mean)).sum();
    ((parts - 1.0) / parts * squares).sqrt()
}

/// How far the implied condition is from its limit: the share that was not achieved, against what may be missing.
pub(super) fn missing(achieved: f64) -> f64 {
    (1.0 - achieved).max(0.0) / (1.0 - ACHIEVED_LEAST)
}

#[cfg(test)]
mod tests {
    use weighbridge_model::id::OperationId;
    use weighbridge_model::quantity::PerSecond;
    use weighbridge_model::record::steps::{Course, StepEnd, StepKind};
    use weighbridge_model::record::{ErrorKind, LoopHealth};

    use super::*;

    fn request(due: u64, done: u64, outcome: Outcome) -> RequestRecord {
        let at = |millis: u64| Timestamp::from_nanos(1_000_000_000 + millis * 1_000_000);
        RequestRecord { due: at(due), sent: at(due), done: at(done), operation: OperationId(0), outcome }
    }

    fn made(objective: &str, requests: &[RequestRecord]) -> StepRecord {
        let list = vec![objective.parse().unwrap()];
        let objectives = Objectives::new(list, &["get".to_owned()]).unwrap();
        let step = Step {
            number: 0,
            kind: StepKind::Grid,
            course: Course::Rising,
            rate: PerSecond::new(100.0).unwrap(),
            start: Timestamp::from_nanos(1_000_000_000),
            length: Nanoseconds::from_secs(1),
            end: StepEnd::Complete,
            health: LoopHealth::default(),
        };
        record(&objectives, step, requests)
    }

    #[test]
    fn the_first_tenth_is_in_no_figure() {
        // Ten a tenth, each answered after 1 ms, those of the lead-in after 50 ms.
        let requests: Vec<_> = (0..100)
            .map(|at| request(at * 10, at * 10 + if at < 10 { 50 } else { 1 }, Outcome::Ok))
            .collect();
        let found = made("mean < 2 ms and p99 < 2 ms and errors < 1 %", &requests);
        assert_eq!((found.lead_in.due, found.lead_in.response_sum), (10, Nanoseconds::from_millis(500)));
        assert_eq!([0, 1].map(|at| found.figures[at]), [StepFigure { value: 1e6, error: 0.0 }; 2]);
        // None failed: the error is that of one error in 90.
        assert_eq!(found.figures[2], StepFigure { value: 0.0, error: 1.0 / 90.0 });
        // Five replies to the lead-in came in the next tenth.
        assert!((found.achieved.value - 95.0 / 90.0).abs() < 1e-12, "{:?}", found.achieved);
    }

    #[test]
    fn errors_and_the_smallest_backlog_are_counted_by_tenths() {
        // One request stays for 350 ms, so that from the second tenth to the third somebody always waits.
        let mut requests: Vec<_> = (0..100).map(|at| request(at * 10, at * 10 + 1, Outcome::Ok)).collect();
        requests.push(request(95, 445, Outcome::Error(ErrorKind::Timeout)));
        requests.push(request(505, 506, Outcome::Error(ErrorKind::Reset)));
        let found = made("errors < 0", &requests);
        let backlogs = found.tenths.map(|tenth| tenth.smallest_backlog);
        assert_eq!(backlogs, [1, 1, 1, 0, 0, 0, 0, 0, 0]);
        assert_eq!((found.lead_in.errors, found.tenths[4].errors, found.figures[0].value), (1, 1, 1.0));
        // √(8/9 · Σ(θ₍ₖ₎ − θ̄)²) by hand: nine estimates of which one differs.
        let shares = made("errors < 1 %", &requests).figures[0];
        let without = [1.0 / 81.0; 8].into_iter().chain([0.0]).collect::<Vec<_>>();
        assert!(shares.error >= jackknife_error(without) * 0.99, "{shares:?}");
    }
}
