//! Two variants at the same time, each on cores of its own with a client of its own; nothing is frozen.
//!
//! Whatever the host does during a window affects both. Within every two rounds each variant has used either
//! set of cores, so no cost contains a difference between the sets. A variant's client moves with it: its
//! connections stay, and its thread and service are pinned anew before the lead-in. The plan decides who uses
//! which lane in a round.

use std::sync::Arc;

use weighbridge_judge::steer::{Extent, Pace, RoundRule};
use weighbridge_lab::host::cores::pin_current_thread;
use weighbridge_lab::host::lanes::Lane;
use weighbridge_load::Recording;
use weighbridge_load::generator::{RunError, WindowReport, WindowSpec};
use weighbridge_load::window::Load;
use weighbridge_model::id::{PointId, VariantId};
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::record::{RequestRecord, Tallies, WindowKind};

use super::samples::expected;
use super::turn::WindowPlace;
use super::{Abort, Block, BlockError, BoundWorkload};
use crate::block::client::PendingAnswer;
use crate::block::common_start::CommonStart;

/// Both windows begin this long after the later client is ready, which covers its wake-up.
const HEAD_START: Nanoseconds = Nanoseconds::from_micros(200);

impl Block<'_, '_> {
    /// Rounds of simultaneous windows, then the idle check and check windows.
    pub(super) fn duet_rounds(
        &mut self,
        point: PointId,
        bound: &[BoundWorkload],
        extent: Extent,
        rule: RoundRule,
    ) -> Result<(), Abort> {
        let round = |block: &mut Self, kind, extent, round| {
            let place = WindowPlace { kind, point, round, position: 0 };
            block.duet_round(place, bound, extent)
        };
        let rounds =
            self.rounds(point, rule, &mut |block, at| round(block, WindowKind::Measured, extent, at))?;
        self.idle_check(point, rounds, &mut |block, count| {
            (0..count).try_for_each(|at| round(block, WindowKind::IdleCheck, extent, at))
        })?;
        self.check_windows(point, 1, extent, rounds, &mut |block, longer, at| {
            round(block, WindowKind::Check, longer, at)
        })
    }

    /// One round: lanes, lead-in, windows. CPU time counts from before the lead-in to after the window.
    fn duet_round(
        &mut self,
        place: WindowPlace,
        bound: &[BoundWorkload],
        extent: Extent,
    ) -> Result<(), Abort> {
        let order = self.context.plan.round(self.number, place.point, place.round);
        self.set_idle(VariantId(0));
        self.take_lanes(&order)?;
        let lead_in = |index: usize| {
            // Nothing is frozen, so a quota's period continues from one round to the next.
            let period = self.variants[index].period.filter(|_| place.round == 0);
            match self.is_stateful(place.point) {
                true => self.lead_in_of(place.point, index, bound),
                false => self.lead_in(place.point, period, bound[index].pace),
            }
        };
        let lead_ins: Vec<Load> = (0..order.len()).map(lead_in).collect();
        let paces: Vec<Pace> = bound.iter().map(|bound| bound.pace).collect();
        let before = self.cpu_times();
        let leads =
            self.run_both(WindowPlace { kind: WindowKind::LeadIn, ..place }, &order, &lead_ins, &paces)?;
        let load = self.measured_load(extent, place);
        (0..order.len()).try_for_each(|index| self.empty_for(place, index, bound).map(drop))?;
        let windows = self.run_both(place, &order, &vec![load; order.len()], &paces)?;
        let after = self.cpu_times();
        for (index, trial) in self.trials.iter_mut().enumerate() {
            let record = trial.windows.last_mut().expect("the window was just recorded");
            record.cpu.extend(after[index].since(&before[index], leads[index] + windows[index]));
            record.pauses = after[index].pauses_since(&before[index]);
        }
        Ok(())
    }

    /// Moves every service to its cores: the first of `order` to the first lane.
    fn take_lanes(&mut self, order: &[VariantId]) -> Result<(), Abort> {
        let placement = self.context.launcher.placement;
        for (variant, lane) in order.iter().zip(Lane::BOTH) {
            let running = &mut self.variants[variant.index()];
            if let Err(error) = running.take_lane(lane, placement.at(lane).service()) {
                return Err(match running.death_soon() {
                    Some(how) => Abort::Void(how),
                    None => error.into(),
                });
            }
        }
        Ok(())
    }

    /// Runs one window on both clients, started at one moment, and records them. `loads`, `paces` and the
    /// returned request counts are indexed by variant.
    fn run_both(
        &mut self,
        place: WindowPlace,
        order: &[VariantId],
        loads: &[Load],
        paces: &[Pace],
    ) -> Result<Vec<u64>, Abort> {
        self.check_control()?;
        let expected = |index: usize| expected(&loads[index], Some(paces[index]));
        // The slower variant reads this many requests. The next round's stream begins there, so neither skips
        // any.
        let common = (0..loads.len()).map(expected).min().unwrap_or_default();
        let substream = self.substream(place, common);
        let measured = place.kind == WindowKind::Measured;
        let start = Arc::new(CommonStart::new(order.len(), HEAD_START));
        let mut asked: Vec<PendingLane> = Vec::with_capacity(order.len());
        for (&variant, lane) in order.iter().zip(Lane::BOTH) {
            let index = variant.index();
            let load = loads[index].clone();
            let mut tallies =
                if measured { self.take_tallies(index, place.point) } else { Tallies::default() };
            let mut buffer = self.sample_buffer(place, expected(index));
            let (start, core) = (Arc::clone(&start), self.context.launcher.placement.at(lane).client());
            let answer = self.context.clients.get(variant).ask(move |generator| {
                // A thread that cannot be pinned still measures; the self-check detects the effect.
                let _ = pin_current_thread(core);
                let spec = WindowSpec { substream, load, recording: Recording::Exact };
                start.begin();
                let report = generator.run(variant, &spec, &mut tallies, buffer.as_mut(), None);
                (report, tallies, buffer)
            });
            asked.push(PendingLane { index, lane, answer });
        }
        // Both windows must be over before either is processed.
        let done: Vec<_> = asked.into_iter().map(|one| (one.index, one.lane, one.answer.wait())).collect();
        let mut reports: Vec<Option<WindowReport>> = vec![None; order.len()];
        for (index, lane, (report, tallies, buffer)) in done {
            let mut report = report.map_err(BlockError::Generator)?;
            if measured {
                self.trials[index].tallies[place.point.index()] = tallies;
            }
            let place = WindowPlace { position: lane.index() as u32, ..place };
            self.record(index, place, &report.figures, Vec::new());
            let seen = std::mem::take(&mut report.seen);
            self.keep(index, place, buffer.unwrap_or_default(), seen);
            reports[index] = Some(report);
        }
        self.check_control()?;
        let reports: Vec<WindowReport> = reports.into_iter().flatten().collect();
        for (index, WindowReport { figures, trouble, failures, .. }) in reports.iter().enumerate() {
            self.add_failures(index, failures);
            self.check_alive(index, place.kind, figures, trouble.clone())?;
        }
        Ok(reports.iter().map(|report| report.figures.begun()).collect())
    }
}

type Measured = (Result<WindowReport, RunError>, Tallies, Option<Vec<RequestRecord>>);

struct PendingLane {
    index: usize,
    lane: Lane,
    answer: PendingAnswer<Measured>,
}
