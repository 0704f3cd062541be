//! Merged histograms of request times.

use weighbridge_model::detail::TimeKind;
use weighbridge_model::estimate::Quantity;
use weighbridge_model::histogram::TimeHistogram;
use weighbridge_model::id::PointId;
use weighbridge_model::record::{ErrorKind, Outcome, TrialRecord};

use crate::question::Scope;

/// Merged histograms of a cell's replies: good ones, and timeouts as lower bounds.
#[derive(Debug, Clone)]
pub struct Times {
    pub response: TimeHistogram,
    pub service: TimeHistogram,
}

impl Times {
    pub(crate) fn kind(&self, time: TimeKind) -> &TimeHistogram {
        match time {
            TimeKind::Response => &self.response,
            TimeKind::Service => &self.service,
        }
    }

    pub(super) fn histogram(&self, quantity: Quantity) -> &TimeHistogram {
        if quantity.is_response() { &self.response } else { &self.service }
    }

    pub(super) fn add_trial(&mut self, trial: &TrialRecord, point: PointId, scope: Scope) {
        self.add(trial, point, scope, Outcome::Ok);
        self.add(trial, point, scope, Outcome::Error(ErrorKind::Timeout));
    }

    pub(super) fn add(&mut self, trial: &TrialRecord, point: PointId, scope: Scope, outcome: Outcome) {
        let Some(tallies) = trial.tallies.get(point.index()) else { return };
        let wanted = |operation| match scope {
            Scope::All | Scope::Only => true,
            Scope::One(one) => one == operation,
        };
        for tally in tallies.entries.iter().filter(|t| t.outcome == outcome && wanted(t.operation)) {
            tally.response.add_to(&mut self.response);
            tally.service.add_to(&mut self.service);
        }
        // Messages and sessions are not requests: they count only for a scope that names them.
        if let Scope::One(operation) = scope
            && let Some(times) = tallies.messages_of(operation, outcome)
        {
            add(&mut self.response, times);
            add(&mut self.service, times);
        }
    }
}

pub(crate) fn add(into: &mut TimeHistogram, from: &TimeHistogram) {
    into.add(from).expect("every time histogram has the bounds of `time_histogram`");
}

/// The `q` quantile in nanoseconds, by nearest rank, to the histogram's three digits; `None` if it is empty.
pub(crate) fn quantile(histogram: &TimeHistogram, q: f64) -> Option<f64> {
    (!histogram.is_empty()).then(|| histogram.value_at_quantile(q) as f64)
}
