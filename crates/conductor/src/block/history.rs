//! Variants that remember what they were sent: at the start of each window all of them have been sent the same requests
//! in the same order. So they are warmed by the same windows, which the first block fixes for all others, led in by
//! equally many requests, and emptied together.

use weighbridge_judge::steer::{Pace, WarmRule, WarmStep};
use weighbridge_lab::host::clock::monotonic_now;
use weighbridge_load::Stack;
use weighbridge_load::exchange::{Collected, Limits, exchange};
use weighbridge_load::request::Rendered;
use weighbridge_load::window::Load;
use weighbridge_model::event::{Event, Phase};
use weighbridge_model::experiment::{Point, Target};
use weighbridge_model::id::{PointId, VariantId};
use weighbridge_model::pairing::WarmUp;
use weighbridge_model::quantity::{Bytes, Nanoseconds};
use weighbridge_model::record::WindowKind;
use weighbridge_workload::Emptying;

use super::answers::{AnswerError, received};
use super::turn::WindowPlace;
use super::warm::WarmedVariant;
use super::{Abort, Block, BoundWorkload};
use crate::with_variant::with_variant;

/// Longest reply to a request between windows: everything in the database of a brokerage.
const REPLY_LIMIT: Bytes = Bytes::new(256 << 20);

/// A server that holds much takes its time.
const EMPTYING_LEAST: Nanoseconds = Nanoseconds::from_secs(5);

impl Block<'_, '_> {
    pub(super) fn is_stateful(&self, point: PointId) -> bool {
        self.context.experiment.points[point.index()].workload.is_stateful()
    }

    /// Warms every variant by the same windows: those that earlier blocks have fixed, or, in the first, as many as the
    /// last variant to become warm needs, each as large as one of them wants it.
    pub(super) fn warm_alike(
        &mut self,
        id: PointId,
        bound: &mut [BoundWorkload],
        fixed: &[u64],
    ) -> Result<(), Abort> {
        let point = &self.context.experiment.points[id.index()];
        let order = self.context.plan.block(self.number).starts;
        let mut warmed: Vec<WarmedVariant> = (0..order.len()).map(|_| WarmedVariant::default()).collect();
        let fill = bound.first().map_or(0, |bound| bound.workload.fill());
        let filled = usize::from(fill > 0);
        for &variant in &order {
            let index = variant.index();
            let name = self.variants[index].name.clone();
            self.phase(Phase::Warming, Some(&name), Some(&point.label));
            self.set_idle(variant);
            self.variants[index].thaw()?;
            warmed[index].cpu_before = self.variants[index].cpu();
            if fill > 0 {
                self.warm_window(id, index, 0, fill)?;
            }
            self.variants[index].freeze()?;
        }
        let mut fixed = fixed.iter().copied().skip(filled).fuse();
        let is_fixed = fixed.clone().next().is_some();
        for round in filled.. {
            let next = if is_fixed { fixed.next() } else { self.next_common(point, &order, &mut warmed)? };
            let Some(requests) = next else { break };
            for &variant in &order {
                let index = variant.index();
                self.set_idle(variant);
                self.variants[index].thaw()?;
                if bound[index].workload.passage().is_some() {
                    self.empty(id, index, &bound[index])?;
                }
                let figures = self.warm_window(id, index, round, requests)?;
                warmed[index].add(&figures);
                self.variants[index].freeze()?;
            }
        }
        for variant in order {
            let index = variant.index();
            let rule = self.warm_rule(point, variant);
            let (pace, now) = rule.assess(&warmed[index].history);
            let end = warmed[index].end.unwrap_or(now);
            let busy = self.busy(index, &warmed[index]);
            let windows = (filled + warmed[index].history.windows.len()) as u32;
            let time = warmed[index].history.spent();
            self.trials[index].preparations[id.index()].warm_up = Some(WarmUp { end, time, windows });
            let variant = self.variants[index].name.clone();
            (self.emit)(Event::Warm { variant, point: point.label.clone(), windows });
            bound[index].pace = Pace { busy, ..pace };
        }
        Ok(())
    }

    /// The requests of the next window that all variants get; `None` once the warm-up of each of them has ended, or one has
    /// taken as long as any may, or as its share of the budget. Those that have ended are not asked again, since all of
    /// them rarely look steady at the same time.
    fn next_common(
        &mut self,
        point: &Point,
        order: &[VariantId],
        warmed: &mut [WarmedVariant],
    ) -> Result<Option<u64>, Abort> {
        let (mut wanted, mut is_over) = (None, false);
        for &variant in order {
            let index = variant.index();
            let share = self.context.rule.share(self.context.experiment.points.len());
            let rule = self.warm_rule(point, variant).within(share);
            is_over |= warmed[index].history.spent() >= rule.longest;
            if warmed[index].end.is_none() {
                wanted = wanted.max(self.wanted(index, rule, &mut warmed[index])?);
            }
        }
        Ok(wanted.filter(|_| !is_over))
    }

    /// The requests that one variant's next window should have; `None` if its warm-up has ended. It rests where it should.
    fn wanted(
        &mut self,
        index: usize,
        rule: WarmRule,
        warmed: &mut WarmedVariant,
    ) -> Result<Option<u64>, Abort> {
        let history = &mut warmed.history;
        loop {
            match rule.next(history) {
                WarmStep::Window(requests) => return Ok(Some(requests)),
                WarmStep::End(_, end) => {
                    warmed.end = Some(end);
                    return Ok(None);
                }
                WarmStep::Rest(time) => {
                    self.variants[index].thaw()?;
                    let rest = self.rest(index, time)?;
                    self.variants[index].freeze()?;
                    history.rests.push((history.windows.len(), rest));
                }
            }
        }
    }

    /// The load before a variant's window: where variants remember, as many requests as the longest lead-in of all.
    pub(super) fn lead_in_of(&self, point: PointId, index: usize, bound: &[BoundWorkload]) -> Load {
        let (period, pace) = (self.variants[index].period, bound[index].pace);
        if !self.is_stateful(point) {
            return self.lead_in(point, period, pace);
        }
        let rate = |pace: &Pace| pace.requests as f64 / pace.time.as_secs_f64().max(1e-9);
        let fastest = bound.iter().map(|bound| bound.pace).max_by(|a, b| rate(a).total_cmp(&rate(b)));
        self.lead_in(point, self.period(), fastest.unwrap_or(pace))
    }

    /// Empties the variant's server where the workload wants it empty for this window, and what that took.
    pub(super) fn empty_for(
        &mut self,
        place: WindowPlace,
        index: usize,
        bound: &[BoundWorkload],
    ) -> Result<Option<Nanoseconds>, Abort> {
        let is_due = match bound[index].workload.emptying() {
            Emptying::Never => false,
            Emptying::Once => place.kind == WindowKind::Measured && place.round == 0,
            Emptying::EachWindow => true,
        };
        if !is_due {
            return Ok(None);
        }
        let began = monotonic_now();
        self.empty(place.point, index, &bound[index])?;
        Ok(Some(monotonic_now().since(began)))
    }

    /// Empties every server that was started for this run, so that a point begins as the first one did.
    pub(super) fn empty_ours(&mut self, point: PointId, bound: &[BoundWorkload]) -> Result<(), Abort> {
        for (index, one) in bound.iter().enumerate() {
            let is_ours = !matches!(self.context.experiment.variants[index].target, Target::Url { .. });
            if is_ours && one.workload.emptying_request().is_some() {
                self.variants[index].thaw()?;
                self.empty(point, index, one)?;
                self.variants[index].freeze()?;
            }
        }
        Ok(())
    }

    /// On a connection of its own, or in its own process, while the variant runs.
    pub(super) fn empty(&mut self, point: PointId, index: usize, bound: &BoundWorkload) -> Result<(), Abort> {
        let control = self.context.control;
        let running = &mut self.variants[index];
        if let Some(direct) = &mut running.direct {
            if bound.workload.emptying() == Emptying::EachWindow {
                direct.reset(control).map_err(with_variant(&running.name))?;
            }
            return Ok(());
        }
        let Some(request) = bound.workload.emptying_request() else { return Ok(()) };
        let reply = self.ask_untimed(point, index, bound, "empty", request)?;
        let (variant, request) = (self.variants[index].name.clone(), "empty".to_owned());
        let emptied = bound.workload.emptied(&received(&reply));
        emptied.map_err(|why| AnswerError::Wrong { variant, request, why }.into())
    }

    /// Asks the variant's server something between windows, while the variant runs.
    pub(super) fn ask_untimed(
        &self,
        point: PointId,
        index: usize,
        bound: &BoundWorkload,
        called: &str,
        request: &Rendered,
    ) -> Result<Collected, Abort> {
        let timeout = self.context.experiment.points[point.index()].load.timeout;
        let stop = &*self.context.control.window;
        let limits = Limits { timeout: timeout.max(EMPTYING_LEAST), body: REPLY_LIMIT, stop: Some(stop) };
        let running = &self.variants[index];
        let stack = Stack { framing: bound.workload.framing(), tls: running.secured.client.clone() };
        let reply = running.as_client(|| exchange(&running.addresses, stack, request, limits))?;
        let (variant, request) = (running.name.clone(), called.to_owned());
        reply.map_err(|source| AnswerError::Exchange { variant, request, source }.into())
    }
}
