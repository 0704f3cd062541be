//! Did the cores change places?
//!
//! A request over loopback moves dozens of cache lines between the client's core and the service's. On a
//! virtual machine the hypervisor moves virtual cores: for some seconds they are neighbours, for others a
//! cache line takes several times as long, and all times change. Compared variants share that, round by
//! round. Absolute figures do not, and a cost can differ between the places.

use weighbridge_model::estimate::Quantity;
use weighbridge_model::id::{PointId, VariantId};
use weighbridge_model::quantity::{Nanoseconds, Ratio, display_nanos};
use weighbridge_model::summary::{Finding, Severity};

use super::{Alarm, CheckContext, Impact, subject};
use crate::question::{Question, Scope};
use crate::records::{Cell, Records, WindowSelection};
use crate::stats::interval::{Interval, Mean};
use crate::stats::multiple::p_against_zero;
use crate::stats::sample::median;
use crate::stats::steady::two_levels;
use crate::thresholds::{CHECKED_BLOCKS, CORE_LATENCY_CHANGE, CORE_LATENCY_LEVELS, CORE_LATENCY_P, LEVEL};
use crate::verdict::signed_percent;

/// The cost differs between the places.
pub const DEPENDS_ON_PLACE: &str = "depends on core latency";

/// A block's median in a place needs this many windows.
const WINDOWS_IN_A_PLACE: usize = 5;

/// The quantity that is examined: single windows hold no higher quantile.
const QUANTITY: Quantity = Quantity::ResponseP50;

/// Two levels of core latency in the measured windows of a point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CorePlaces {
    /// Near and far, in nanoseconds.
    latencies: [f64; 2],
    /// The share of far windows.
    far: f64,
}

impl CorePlaces {
    /// The places at a point; `None` if the cores stayed in one.
    pub fn seen(records: &Records<'_>, point: PointId) -> Option<Self> {
        let cells = records.cells(point, VariantId(0), WindowSelection::Measured);
        let windows = cells.iter().flat_map(|cell| &cell.windows);
        let logs: Vec<f64> = windows.filter_map(|window| log(window.core_latency?)).collect();
        let found = two_levels(&logs)?;
        let latencies = [found.low.exp(), found.high.exp()];
        (latencies[1] >= CORE_LATENCY_LEVELS * latencies[0])
            .then_some(Self { latencies, far: found.high_share })
    }

    fn parts<'a>(&self, cell: &Cell<'a>) -> [Option<Cell<'a>>; 2] {
        let middle = (self.latencies[0] * self.latencies[1]).sqrt();
        [false, true].map(|far| {
            let is_there = |latency: Nanoseconds| (latency.as_nanos() as f64 >= middle) == far;
            let windows = cell.windows.iter().copied();
            let windows: Vec<_> =
                windows.filter(|window| window.core_latency.is_some_and(is_there)).collect();
            (windows.len() >= WINDOWS_IN_A_PLACE).then(|| cell.with(windows))
        })
    }

    fn p50s(&self, cell: &Cell<'_>, scope: Scope) -> [Option<f64>; 2] {
        self.parts(cell).map(|part| part?.middle_p50(scope, QUANTITY).filter(|p50| *p50 > 0.0))
    }

    /// A variant's p50 in each place, the median over blocks.
    fn middle_p50s(&self, records: &Records<'_>, point: PointId, variant: VariantId) -> Option<[f64; 2]> {
        let cells = records.cells(point, variant, WindowSelection::Measured);
        let middle_p50 = |place: usize| {
            let p50s: Vec<f64> = cells.iter().filter_map(|cell| self.p50s(cell, Scope::All)[place]).collect();
            median(&p50s)
        };
        Some([middle_p50(0)?, middle_p50(1)?])
    }
}

fn log(latency: Nanoseconds) -> Option<f64> {
    (latency > Nanoseconds::ZERO).then(|| (latency.as_nanos() as f64).ln())
}

/// The places of a point and the baseline's p50 in each, if the two differ.
fn distinct_places(records: &Records<'_>, point: PointId) -> Option<(CorePlaces, [f64; 2])> {
    let places = CorePlaces::seen(records, point)?;
    let p50s = places.middle_p50s(records, point, VariantId(0))?;
    (change(&p50s) >= CORE_LATENCY_CHANGE).then_some((places, p50s))
}

fn change([near, far]: &[f64; 2]) -> f64 {
    (far / near).ln().abs()
}

/// How far apart two levels of windows or starts may lie, on the log scale, that the places of a point's cores
/// explain: twice the change of the baseline's p50 between them, since a cost holds the changes of two variants.
/// A variant whose starts draw levels says nothing here: slow starts may have had the far place. Zero where there
/// is one place.
pub fn explained_by_places(records: &Records<'_>, point: PointId) -> f64 {
    distinct_places(records, point).map_or(0.0, |(_, p50s)| 2.0 * change(&p50s))
}

/// A finding for the point at which the baseline's p50 differs most between the places.
pub fn cores_moved(question: &Question, records: &Records<'_>) -> Option<Finding> {
    // Where rates are tried, windows differ by their rate.
    let at_one_rate = question.points().filter(|(id, _)| question.objectives(*id).is_none());
    let found = at_one_rate.filter_map(|(id, point)| {
        let (places, p50s) = distinct_places(records, id)?;
        Some((places, p50s, subject(&question.variants.first()?.name, &point.label)))
    });
    let (places, p50s, subject) = found.max_by(|a, b| change(&a.1).total_cmp(&change(&b.1)))?;
    let ([near, far], [near_latency, far_latency]) =
        (p50s.map(display_nanos), places.latencies.map(display_nanos));
    let share = Ratio::new(((1.0 - places.far) * 100.0).round() / 100.0);
    Some(Finding {
        severity: Severity::Note,
        name: "cores moved".to_owned(),
        subject,
        evidence: format!(
            "a cache line took {near_latency} between the client's and the service's core and back in {share} of the windows, {far_latency} in the others: p50 {near} and {far}"
        ),
        remedy: "compare runs by their costs, not by their times; a host that pins its virtual cores has one place".to_owned(),
    })
}

/// Whether a variant's cost differs between the places, by more than blocks differ.
///
/// Each block gives the cost in each place in which both variants had five windows; the means over blocks are
/// compared by Welch's t test. The cost's own interval is not used: it is wide where blocks were in different
/// places.
pub(super) fn depends_on_place(context: &CheckContext<'_>) -> Option<Alarm> {
    let &CheckContext { records, point, scope, .. } = context;
    if context.is_baseline() {
        return None;
    }
    let places = CorePlaces::seen(records, point)?;
    let mut logs = [Vec::new(), Vec::new()];
    for pair in context.pairs() {
        let variant = places.p50s(&pair.variant, scope).into_iter();
        let both = variant.zip(places.p50s(&pair.baseline, scope));
        for (logs, (mine, theirs)) in logs.iter_mut().zip(both) {
            logs.extend(mine.zip(theirs).map(|(mine, theirs)| (mine / theirs).ln()));
        }
    }
    let enough = logs.iter().all(|logs| logs.len() >= CHECKED_BLOCKS);
    let costs = [Mean::new(&logs[0]).filter(|_| enough)?, Mean::new(&logs[1])?];
    let change = difference(costs[0], costs[1]);
    if change.point.abs() < CORE_LATENCY_CHANGE || p_against_zero(change) >= CORE_LATENCY_P {
        return None;
    }
    let [near, far] = costs.map(|cost| {
        let Interval { point, lower, upper } = cost.interval(LEVEL);
        let [point, lower, upper] = [point, lower, upper].map(|log| signed_percent(log.exp_m1()));
        format!("{point} [{lower}, {upper}]")
    });
    let [near_latency, far_latency] = places.latencies.map(display_nanos);
    Some(Alarm {
        impact: Impact::Note,
        name: DEPENDS_ON_PLACE,
        evidence: format!(
            "{QUANTITY} against the baseline: {near} where a cache line took {near_latency} between the cores, {far} where it took {far_latency}"
        ),
        remedy: "both are true: of cores that are neighbours, and of cores that are not; a host that pins its virtual cores shows one of them",
    })
}

/// The difference of two means, with the degrees of freedom of Welch (1947).
fn difference(one: Mean, other: Mean) -> Mean {
    let squares = [one, other].map(|mean| (mean.error.powi(2), mean.degrees));
    let variance: f64 = squares.iter().map(|(square, _)| square).sum();
    let share: f64 = squares.iter().map(|(square, degrees)| square.powi(2) / degrees).sum();
    let degrees = if share > 0.0 { variance.powi(2) / share } else { one.degrees + other.degrees };
    Mean { point: other.point - one.point, error: variance.sqrt(), degrees, allowance: 0.0, least: 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand with Welch's formulas: variances of the means 5/12 and 47/12.
    #[test]
    fn the_difference_of_two_means_is_welchs() {
        let mean = |values: &[f64]| Mean::new(values).expect("several");
        let found = difference(mean(&[1.0, 2.0, 3.0, 4.0]), mean(&[3.0, 5.0, 7.0, 12.0]));
        assert!((found.point / found.error - 2.087_291).abs() < 1e-6, "{found:?}");
        assert!((found.degrees - 3.662_125).abs() < 1e-6, "{found:?}");
    }
}
