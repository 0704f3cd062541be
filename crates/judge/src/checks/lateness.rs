//! Which figures the generator's lateness could have moved.
//!
//! A request that is sent late has a response time that is longer by so much, so a response time is at most what was
//! measured. Service times begin when a request is sent; open load's throughput follows from its schedule. In closed
//! load the next request waits for the late one, so throughput too is at least what was measured.

use weighbridge_model::estimate::{Quantity, Statistic};
use weighbridge_model::histogram::{TimeHistogram, time_histogram};
use weighbridge_model::quantity::Nanoseconds;

use super::{CheckContext, nanos};
use crate::question::{Load, Scope};
use crate::records::{add, quantile};
use crate::thresholds::{LAG_FLOOR, LAG_SHARE};

/// The rank whose lag is asked first: below [`LAG_FLOOR`] there, no figure of a lower rank was moved.
const TAIL: f64 = 0.99;

/// How late requests were sent, and the response time at the same rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Late {
    pub late: Nanoseconds,
    pub at_most: Nanoseconds,
}

/// A figure that lateness could have moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MovedFigure {
    pub quantity: Quantity,
    lateness: Late,
}

impl MovedFigure {
    /// With the next step.
    pub(crate) fn reason(&self) -> String {
        let Late { late, at_most } = self.lateness;
        let bound = match self.quantity.is_response() {
            true => format!("at most {at_most}"),
            false => format!("requests were answered within {at_most}"),
        };
        format!("{bound}, since requests were sent {late} late; `weigh doctor` says what disturbs the client")
    }
}

/// For each scope of the point; empty if nothing was late.
pub(super) fn moved_by_scope(context: &CheckContext<'_>) -> Vec<Vec<MovedFigure>> {
    let (lag, point) = (&context.totals.lag, &context.question.points[context.point.index()]);
    let is_late = quantile(lag, TAIL).is_some_and(|tail| tail.max(lag.mean()) > LAG_FLOOR.as_nanos() as f64);
    if !is_late {
        return Vec::new();
    }
    let response = |scope: Scope| {
        let mut response = time_histogram();
        context.totals.cells.iter().for_each(|cell| add(&mut response, &cell.times(scope).response));
        response
    };
    point.scopes().into_iter().map(|scope| moved(lag, &response(scope), point.load)).collect()
}

/// Those of the response times, and of throughput, whose lag is more than [`LAG_SHARE`] of them, unless it is within
/// [`LAG_FLOOR`] at p99.
fn moved(lag: &TimeHistogram, response: &TimeHistogram, load: Load) -> Vec<MovedFigure> {
    let statistic = |quantity: Quantity| match quantity {
        Quantity::Throughput => (load == Load::Closed).then_some(Statistic::Mean),
        _ => quantity.is_response().then(|| quantity.statistic()),
    };
    let figure = |quantity: Quantity| {
        let statistic = statistic(quantity)?;
        let lateness = Late::new(lag, statistic, nanos(value(response, statistic)?))?;
        Some(MovedFigure { quantity, lateness })
    };
    Quantity::ALL.into_iter().filter_map(figure).collect()
}

impl Late {
    /// `None` where lateness does not matter for this statistic of response times, measured as `at_most`.
    pub(crate) fn new(lag: &TimeHistogram, statistic: Statistic, at_most: Nanoseconds) -> Option<Self> {
        let late = value(lag, statistic)?;
        let in_the_tail = quantile(lag, TAIL)?.max(late);
        let floor = LAG_FLOOR.as_nanos() as f64;
        let matters = in_the_tail > floor && late > LAG_SHARE * at_most.as_nanos() as f64;
        matters.then(|| Self { late: nanos(late), at_most })
    }
}

fn value(times: &TimeHistogram, statistic: Statistic) -> Option<f64> {
    match statistic {
        Statistic::Quantile(q) => quantile(times, q),
        Statistic::Mean => (!times.is_empty()).then(|| times.mean()),
        Statistic::Other => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(counts: &[(u64, u64)]) -> TimeHistogram {
        let mut times = time_histogram();
        counts.iter().for_each(|(micros, count)| times.saturating_record_n(micros * 1_000, *count));
        times
    }

    fn names(lag: &TimeHistogram, response: &TimeHistogram, load: Load) -> Vec<&'static str> {
        moved(lag, response, load).iter().map(|figure| figure.quantity.name()).collect()
    }

    #[test]
    fn lateness_moves_figures_of_its_own_rank() {
        let response = histogram(&[(1_000, 1_000)]);
        let tail = histogram(&[(1, 970), (592, 30)]);
        assert_eq!(names(&tail, &response, Load::Open), ["response_p99"]);
        let upper = histogram(&[(1, 850), (592, 150)]);
        assert_eq!(names(&upper, &response, Load::Open), ["response_p90", "response_p95", "response_p99"]);
        let half = histogram(&[(1, 450), (592, 550)]);
        let all = ["response_p50", "response_p90", "response_p95", "response_p99", "response_mean"];
        assert_eq!(names(&half, &response, Load::Open), all);
        assert_eq!(names(&half, &response, Load::Closed), [&all[..], &["throughput"]].concat());
    }

    #[test]
    fn lateness_within_the_floor_or_a_tenth_moves_nothing() {
        let short = histogram(&[(50, 1_000)]);
        assert!(names(&histogram(&[(99, 1_000)]), &short, Load::Closed).is_empty());
        let long = histogram(&[(10_000, 1_000)]);
        assert!(names(&histogram(&[(990, 1_000)]), &long, Load::Closed).is_empty());
        assert!(names(&time_histogram(), &long, Load::Closed).is_empty());
        assert!(names(&histogram(&[(990, 1_000)]), &time_histogram(), Load::Closed).is_empty());
    }

    #[test]
    fn a_median_below_the_floor_is_moved_where_the_tail_is_late() {
        let response = histogram(&[(110, 1_000)]);
        let lag = histogram(&[(90, 980), (400, 20)]);
        assert!(names(&lag, &response, Load::Open).contains(&"response_p50"));
    }

    #[test]
    fn a_reason_gives_the_bound_and_the_next_step() {
        let response = histogram(&[(1_000, 1_000)]);
        let [figure] = moved(&histogram(&[(1, 970), (592, 30)]), &response, Load::Open)[..] else { panic!() };
        assert_eq!(
            figure.reason(),
            "at most 1.00 ms, since requests were sent 592 µs late; `weigh doctor` says what disturbs the client"
        );
    }
}
