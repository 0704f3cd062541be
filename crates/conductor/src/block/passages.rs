//! Whole passages of one variant, outside any measurement: whether it gets through them, and how long each takes.

use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, channel};

use weighbridge_load::window::{Load, Stop};
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::record::{RequestRecord, Void, WindowKind};

use super::turn::WindowPlace;
use super::{Abort, Block, BlockContext, BlockError};
use crate::failures;

/// How many passages there are, and how long one may take.
pub(crate) struct PassageLimits<'a> {
    pub longest: Nanoseconds,
    /// Is told of each; whether there is another one.
    pub each: &'a mut dyn FnMut(Passage) -> bool,
}

/// A whole passage, every reply of which was right.
#[derive(Debug)]
pub(crate) struct Passage {
    pub took: Nanoseconds,
    /// None of a service that plays it in its own process.
    pub requests: Vec<RequestRecord>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PassagesEnd {
    Whole,
    /// This process was stopped meanwhile, or the clock jumped: nothing is known of the variant.
    Disturbed,
}

impl BlockContext<'_> {
    /// Starts the only variant, lets it carry out passages at the first point, each from a restored database, and stops it.
    ///
    /// Errors: whatever keeps it from that; a request that fails or a reply that is wrong, a database that is not what it
    /// should be afterwards, a passage that takes too long, or the service's end.
    pub fn passages(&self, number: u32, limits: PassageLimits<'_>) -> Result<PassagesEnd, BlockError> {
        let _engaged = self.control.engage();
        let mut ignored = |_| {};
        let mut block = Block::new(self, number, &mut ignored);
        let outcome = block.passages(limits).map_err(|abort| block.classify_abort(abort));
        block.end();
        match outcome {
            Ok(()) => Ok(PassagesEnd::Whole),
            Err(Abort::Error(error)) => Err(error),
            Err(Abort::Void(Void::Stopped | Void::ClockJump)) => Ok(PassagesEnd::Disturbed),
            Err(Abort::Void(void)) => Err(BlockError::Died { how: void.detail().to_owned() }),
        }
    }
}

impl Block<'_, '_> {
    fn passages(&mut self, limits: PassageLimits<'_>) -> Result<(), Abort> {
        let order = self.context.plan.block(self.number);
        self.start(&order.starts)?;
        let point = order.points[0];
        let bound = self.bind(point, &order.connects)?;
        let requests = bound[0].workload.passage().unwrap_or_default();
        self.variants[0].thaw()?;
        for round in 0.. {
            self.empty(point, 0, &bound[0])?;
            let place = WindowPlace { kind: WindowKind::Measured, point, round, position: 0 };
            let load = Load::Closed(Stop::Count(requests));
            self.passage_requests = Some(Vec::new());
            let figures =
                self.within(limits.longest, |block| block.window(0, place, load, None, Vec::new()))?;
            let failed = figures.errors.total();
            if failed > 0 {
                let said =
                    self.failures.remove(&0).map(|all| failures::shown(&all, self.context.launcher.secrets));
                let said =
                    said.and_then(|said| said.into_iter().next()).map(|first| format!(": {}", first.text));
                let said = said.unwrap_or_default();
                return Err(self.silent(format!("{failed} of {requests} requests of a passage failed{said}")));
            }
            self.check_end_state(point, 0, &bound[0], &figures)?;
            let took = figures.ended.since(figures.started);
            let requests = self.passage_requests.take().unwrap_or_default();
            if !(limits.each)(Passage { took, requests }) {
                break;
            }
        }
        Ok(())
    }

    /// Cuts what takes longer than the limit.
    fn within<T>(
        &mut self,
        limit: Nanoseconds,
        carry_out: impl FnOnce(&mut Self) -> Result<T, Abort>,
    ) -> Result<T, Abort> {
        let control = self.context.control;
        let (done, is_done) = channel::<()>();
        let (outcome, is_late) = std::thread::scope(|scope| {
            let watch = scope.spawn(move || {
                let is_late = is_done.recv_timeout(limit.as_duration()) == Err(RecvTimeoutError::Timeout);
                if is_late {
                    control.window.store(true, Ordering::SeqCst);
                }
                is_late
            });
            let outcome = carry_out(self);
            drop(done);
            (outcome, watch.join().unwrap_or_default())
        });
        if !is_late || control.is_interrupted() {
            return outcome;
        }
        control.window.store(false, Ordering::SeqCst);
        Err(self.silent(format!("a passage takes more than {limit}")))
    }

    fn silent(&self, trouble: String) -> Abort {
        BlockError::Silent { variant: self.variants[0].name.clone(), trouble }.into()
    }
}
