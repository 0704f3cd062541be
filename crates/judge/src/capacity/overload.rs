//! Whether a step may end early.

use weighbridge_model::quantity::PerSecond;
use weighbridge_model::record::steps::Tenth;

use crate::thresholds::{OVERLOAD_GROWTH, OVERLOAD_TENTHS, OVERLOAD_WAIT};

use super::search::CapacityRule;

impl CapacityRule {
    /// Whether a queue stands and grows: asked during a step, of the tenths that are over, lead-in included.
    ///
    /// As in CoDel (Nichols & Jacobson 2012) it is the smallest backlog of an interval that tells a standing queue
    /// from a burst. A server of many cores always has some requests, so it must also grow: in each of the last
    /// tenths, and by half over them. Nor is a queue worth waiting for in which everybody waits for ten times the
    /// limit (by Little's law). Single requests that wait as long are no sign: they occur wherever a mean is near its
    /// limit.
    pub fn is_overloaded(&self, rate: PerSecond, tenths: &[Tenth]) -> bool {
        let Some(last) = tenths.last() else { return false };
        let times = self.objectives.conditions().iter().filter(|c| c.measure.statistic().is_some());
        let limit = times.map(|condition| condition.limit.value() / 1e9).fold(0.0, f64::max);
        let wait = last.smallest_backlog as f64 / rate.get();
        (limit > 0.0 && wait > OVERLOAD_WAIT * limit) || grows(tenths)
    }
}

fn grows(tenths: &[Tenth]) -> bool {
    let Some(from) = tenths.len().checked_sub(OVERLOAD_TENTHS) else { return false };
    let backlogs: Vec<f64> = tenths[from..].iter().map(|tenth| tenth.smallest_backlog as f64).collect();
    let (first, last) = (backlogs[0], backlogs[OVERLOAD_TENTHS - 1]);
    first > 0.0 && last > first * OVERLOAD_GROWTH && backlogs.windows(2).all(|pair| pair[1] > pair[0])
}
