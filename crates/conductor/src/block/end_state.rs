//! What the database of a brokerage holds after a whole passage, compared with the model's: replies alone do not show an
//! update that was lost.

use serde_json::Value;
use weighbridge_model::id::PointId;
use weighbridge_model::record::counts::Count;
use weighbridge_model::record::{Void, WindowFigures};
use weighbridge_workload::trade::ATTEMPTS;

use super::answers::{AnswerError, received};
use super::{Abort, Block, BoundWorkload};
use crate::with_variant::with_variant;

/// What the question is called where its answer is wrong.
const QUESTION: &str = "state";

impl Block<'_, '_> {
    /// Ends the run where every reply of a passage was right, and the database does not hold what it should. Nothing is timed
    /// meanwhile.
    pub(super) fn check_end_state(
        &mut self,
        point: PointId,
        index: usize,
        bound: &BoundWorkload,
        figures: &WindowFigures,
    ) -> Result<(), Abort> {
        let Some(expected) = bound.workload.expected_state() else { return Ok(()) };
        let is_whole = bound.workload.passage() == Some(figures.requests);
        if !is_whole || figures.errors.total() > 0 {
            return Ok(());
        }
        let state = self.state(point, index, bound)?;
        let difference = expected.difference(&state);
        if difference.is_none() && !expected.depends_on_order() {
            return Ok(());
        }
        let dump = self.dump(point, index, bound);
        let is_told = dump.is_some();
        let place = dump.and_then(|dump| expected.locate(&dump));
        let what = match (difference, place) {
            (Some(difference), Some(place)) => format!("{difference}; {place}"),
            (Some(what), None) | (None, Some(what)) => what,
            (None, None) if is_told => return Ok(()),
            (None, None) => {
                "it does not tell its records, without which nothing shows that they are right".to_owned()
            }
        };
        let why = format!("every reply of a passage was right, but afterwards {what}");
        Err(self.wrong(index, why).into())
    }

    /// Voids the block where a request was given up after its last attempt: what its session had still to do is missing.
    pub(super) fn check_given_up(&self, index: usize, figures: &WindowFigures) -> Result<(), Abort> {
        let given_up = figures.counts.map_or(0, |counts| counts.get(Count::GivenUp));
        if given_up == 0 {
            return Ok(());
        }
        let name = &self.variants[index].name;
        let requests = if given_up == 1 { "a request" } else { &*format!("{given_up} requests") };
        Err(Abort::Void(Void::GivenUp(format!(
            "`{name}` answered each attempt of {requests} with *again*, {ATTEMPTS} in all; with fewer connections fewer \
             transactions meet"
        ))))
    }

    fn state(&mut self, point: PointId, index: usize, bound: &BoundWorkload) -> Result<Value, Abort> {
        let control = self.context.control;
        let running = &mut self.variants[index];
        if let Some(direct) = &mut running.direct {
            return Ok(direct.state(control).map_err(with_variant(&running.name))?);
        }
        let Some(control) = bound.workload.trade_control() else { return Ok(Value::Null) };
        let reply = self.ask_untimed(point, index, bound, QUESTION, &control.state)?;
        control.read_state(&received(&reply)).map_err(|why| self.wrong(index, why).into())
    }

    /// Everything in the database, where the service can be asked for it.
    fn dump(&self, point: PointId, index: usize, bound: &BoundWorkload) -> Option<String> {
        let control = bound.workload.trade_control()?;
        let reply = self.ask_untimed(point, index, bound, "dump", &control.dump).ok()?;
        control.read_dump(&received(&reply)).ok()
    }

    fn wrong(&self, index: usize, why: String) -> AnswerError {
        let (variant, request) = (self.variants[index].name.clone(), QUESTION.to_owned());
        AnswerError::Wrong { variant, request, why }
    }
}
