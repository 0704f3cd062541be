//! Rounds and turns: each variant's windows of a block, one after another, and whether it is still alive.

use std::ops::Range;

use weighbridge_judge::steer::{CheckRule, Extent, IdleCheckRule, Pace, RoundHistory, RoundRule, RoundStep};
use weighbridge_lab::host::clock::monotonic_now;
use weighbridge_load::Recording;
use weighbridge_load::generator::{self, Trouble, WindowSpec};
use weighbridge_load::window::{Load, OpenEnd, Stop};
use weighbridge_model::event::{Event, Recent};
use weighbridge_model::id::{PointId, VariantId};
use weighbridge_model::quantity::{Nanoseconds, PerSecond};
use weighbridge_model::record::{RoleCpu, Tallies, WindowEnd, WindowFigures, WindowKind, WindowRecord};

use super::samples::expected;
use super::{Abort, Block, BlockError, BoundWorkload};
use crate::prepare::shapes::{Shape, Slice};
use crate::variant::direct;
use crate::with_variant::with_variant;

/// Shortest lead-in after a switch, as time at the variant's own pace.
const LEAD_IN: Nanoseconds = Nanoseconds::from_millis(1);
/// Fewest requests of a lead-in on each slot.
const LEAD_IN_REQUESTS: u64 = 2;
/// A window of fewer requests can go unanswered by chance.
const MUTE_REQUESTS: u64 = 10;
/// Shortest time between two reports of rounds.
const REPORT_EVERY: Nanoseconds = Nanoseconds::from_millis(250);
/// The same within a turn: no lead-in separates its windows from the report.
const REPORT_IN_TURN: Nanoseconds = Nanoseconds::from_secs(1);

impl Block<'_, '_> {
    pub(super) fn rounds(
        &mut self,
        point: PointId,
        rule: RoundRule,
        one: &mut dyn FnMut(&mut Self, u32) -> Result<(), Abort>,
    ) -> Result<RoundHistory, Abort> {
        let mut history = RoundHistory::default();
        while let RoundStep::Round { of } = rule.next(history) {
            let began = monotonic_now();
            self.core_latency.sample();
            one(self, history.rounds)?;
            let took = monotonic_now().since(began);
            history = RoundHistory { rounds: history.rounds + 1, spent: history.spent + took };
            self.times.measured += took;
            self.report(point, history.rounds - 1, of, REPORT_EVERY);
        }
        self.report(point, history.rounds.saturating_sub(1), history.rounds, Nanoseconds::ZERO);
        self.times.round += history.spent / u64::from(history.rounds.max(1));
        Ok(history)
    }

    /// Reports a point's progress, at most once in `every`. The receiver blocks: call this only between
    /// windows.
    pub(super) fn report(&mut self, point: PointId, round: u32, of: u32, every: Nanoseconds) {
        if monotonic_now().since(self.reported) >= every {
            let recent = self.recent();
            if recent.is_empty() {
                return;
            }
            let label = self.context.experiment.points[point.index()].label.clone();
            (self.emit)(Event::Round { block: self.number, point: label, round, of, recent });
            self.reported = monotonic_now();
        }
    }

    fn recent(&mut self) -> Vec<Recent> {
        self.reported_windows.resize(self.trials.len(), 0);
        let trials = self.trials.iter().zip(&mut self.reported_windows);
        let recent = trials.filter_map(|(trial, told)| {
            let fresh = &trial.windows[std::mem::replace(told, trial.windows.len())..];
            let measured = || fresh.iter().filter(|window| window.kind == WindowKind::Measured);
            let sum =
                |count: fn(&WindowFigures) -> u64| measured().map(|window| count(&window.figures)).sum();
            let p50 = measured().next_back()?.figures.all.map(|all| all.response_p50);
            Some(Recent {
                variant: self.context.experiment.variants[trial.variant.index()].name.clone(),
                requests: sum(WindowFigures::begun),
                errors: sum(|figures| figures.errors.total()),
                time: measured().map(|window| window.figures.ended.since(window.figures.started)).sum(),
                p50,
            })
        });
        recent.collect()
    }

    pub(super) fn round(
        &mut self,
        kind: WindowKind,
        point: PointId,
        bound: &[BoundWorkload],
        extent: Extent,
        round: u32,
    ) -> Result<(), Abort> {
        for (position, variant) in (0..).zip(self.context.plan.round(self.number, point, round)) {
            let place = WindowPlace { kind, point, round, position };
            self.turn(place, round..round + 1, variant, bound, extent)?;
        }
        Ok(())
    }

    /// One variant's turn: thaw, lead-in, its windows of some rounds, freeze.
    pub(super) fn turn(
        &mut self,
        place: WindowPlace,
        rounds: Range<u32>,
        variant: VariantId,
        bound: &[BoundWorkload],
        extent: Extent,
    ) -> Result<(), Abort> {
        let index = variant.index();
        self.set_idle(variant);
        self.variants[index].thaw()?;
        let mut before = self.variants[index].clocks();
        let lead_in = self.lead_in_of(place.point, index, bound);
        let lead_place = WindowPlace { kind: WindowKind::LeadIn, ..place };
        let lead = self.window(index, lead_place, lead_in, None, Vec::new())?;
        let mut before_it = lead.begun();
        let of = rounds.end;
        for round in rounds {
            let place = WindowPlace { round, ..place };
            let emptying = self.empty_for(place, index, bound)?;
            if emptying.is_some() {
                // What emptying takes is in no window.
                (before, before_it) = (self.variants[index].clocks(), 0);
            }
            let tallies = (place.kind == WindowKind::Measured).then(|| self.take_tallies(index, place.point));
            let window = self.measured_load(extent, place);
            let figures = self.window(index, place, window, tallies, Vec::new())?;
            let after = self.variants[index].clocks();
            let record = self.trials[index].windows.last_mut().expect("the window was just recorded");
            record.restore = emptying.filter(|_| bound[index].workload.passage().is_some());
            record.cpu.extend(after.since(&before, before_it + figures.begun()));
            record.pauses = after.pauses_since(&before);
            self.check_end_state(place.point, index, &bound[index], &figures)?;
            (before, before_it) = (after, 0);
            if of - place.round > 1 && place.kind == WindowKind::Measured {
                self.report(place.point, place.round, of, REPORT_IN_TURN);
            }
        }
        Ok(self.variants[index].freeze()?)
    }

    pub(super) fn lead_in(&self, point: PointId, period: Option<Nanoseconds>, pace: Pace) -> Load {
        let load = &self.context.experiment.points[point.index()].load;
        // It lasts at least one period: a quota, for example, starts its period with the switch.
        let time = LEAD_IN.max(period.unwrap_or_default());
        let requests = (pace.requests as f64 / pace.time.as_secs_f64().max(1e-9) * time.as_secs_f64()) as u64;
        Load::Closed(Stop::Count(requests.max(LEAD_IN_REQUESTS * load.slots())))
    }

    /// The load of a window. Where variants remember, arrivals end at the same due time for all of them: busy cycles of
    /// a slower one would be sent more.
    pub(super) fn measured_load(&self, extent: Extent, place: WindowPlace) -> Load {
        let point = &self.context.experiment.points[place.point.index()];
        let (shape, timeout) = (&self.context.shapes[place.point.index()], point.load.timeout);
        if let (Some(sessions), Extent::Requests(requests)) = (point.workload.sessions_of_a_passage(), extent)
        {
            let end = OpenEnd::Sessions { count: sessions.into(), requests, limit: timeout };
            return shape.window(Stop::Count(requests), end, Slice::from(Nanoseconds::ZERO));
        }
        let drain = self.is_stateful(place.point).then_some(timeout);
        measured_load(shape, extent, place, drain)
    }

    pub(super) fn take_tallies(&mut self, index: usize, point: PointId) -> Tallies {
        std::mem::take(&mut self.trials[index].tallies[point.index()])
    }

    /// Runs one window on the generator and records it. Given tallies are continued and stored in the trial.
    pub(super) fn window(
        &mut self,
        index: usize,
        place: WindowPlace,
        load: Load,
        tallies: Option<Tallies>,
        cpu: Vec<RoleCpu>,
    ) -> Result<WindowFigures, Abort> {
        self.check_control()?;
        let requests = expected(&load, None);
        let substream = self.substream(place, requests);
        let keep = tallies.is_some();
        if self.variants[index].direct.is_some() {
            let figures = self.direct_window(index, place, &load, substream, tallies)?;
            self.record(index, place, &figures, cpu);
            self.check_control()?;
            return Ok(figures);
        }
        let variant = self.variants[index].variant;
        let buffer = self.sample_buffer(place, requests);
        let (report, tallies, buffer) = self.context.clients.get(variant).call(move |generator| {
            let (mut tallies, mut buffer) = (tallies.unwrap_or_default(), buffer);
            let spec = WindowSpec { substream, load, recording: Recording::Exact };
            let report = generator.run(variant, &spec, &mut tallies, buffer.as_mut(), None);
            (report, tallies, buffer)
        });
        let report = report.map_err(BlockError::Generator)?;
        self.add_failures(index, &report.failures);
        let generator::WindowReport { figures, trouble, seen, .. } = report;
        if keep {
            self.trials[index].tallies[place.point.index()] = tallies;
        }
        self.record(index, place, &figures, cpu);
        self.keep(index, place, buffer.unwrap_or_default(), seen);
        self.check_control()?;
        self.check_alive(index, place.kind, &figures, trouble)?;
        self.check_given_up(index, &figures)?;
        Ok(figures)
    }

    /// [`window`](Self::window) in the variant's own process.
    fn direct_window(
        &mut self,
        index: usize,
        place: WindowPlace,
        load: &Load,
        substream: u64,
        tallies: Option<Tallies>,
    ) -> Result<WindowFigures, Abort> {
        let control = self.context.control;
        let requests = direct::requests(load);
        let direct = self.variants[index].direct.as_mut().expect("the caller asked for it");
        if place.kind == WindowKind::LeadIn && !direct.can_lead_in() {
            let now = monotonic_now();
            return Ok(WindowFigures { started: now, ended: now, ..Default::default() });
        }
        match direct.window(requests, substream, control) {
            Ok((figures, result)) => {
                if let Some(mut tallies) = tallies {
                    result.add_to(&mut tallies);
                    self.trials[index].tallies[place.point.index()] = tallies;
                }
                Ok(figures)
            }
            Err(source) => {
                self.check_control()?;
                if let Some(how) = self.variants[index].death_soon() {
                    return Err(Abort::Void(how));
                }
                Err(BlockError::from(with_variant(&self.variants[index].name)(source)).into())
            }
        }
    }

    pub(super) fn record(
        &mut self,
        index: usize,
        place: WindowPlace,
        figures: &WindowFigures,
        cpu: Vec<RoleCpu>,
    ) {
        let variant = self.variants[index].variant;
        self.trials[index].windows.push(WindowRecord {
            kind: place.kind,
            block: self.number,
            point: place.point,
            round: place.round,
            position: place.position,
            variant,
            figures: figures.clone(),
            cpu,
            core_latency: self.core_latency.last(),
            restore: None,
            pauses: None,
        });
    }

    /// Aborts the block where the variant is gone: its process has ended, the generator gave up, or no
    /// request of the window got a reply.
    pub(super) fn check_alive(
        &mut self,
        index: usize,
        kind: WindowKind,
        figures: &WindowFigures,
        trouble: Option<Trouble>,
    ) -> Result<(), Abort> {
        let unanswered = figures.errors.unanswered();
        let timed = !matches!(kind, WindowKind::WarmUp | WindowKind::LeadIn);
        let mute = timed && figures.begun() >= MUTE_REQUESTS && unanswered == figures.begun();
        let aborted = figures.end == WindowEnd::Aborted;
        if (unanswered > 0 || aborted)
            && let Some(how) = self.variants[index].death()
        {
            return Err(Abort::Void(how));
        }
        let trouble = match trouble {
            Some(trouble) => trouble.to_string(),
            None if aborted => "a window was cut".to_owned(),
            None if mute => {
                format!("all {unanswered} requests of a window went unanswered; check that it is still up")
            }
            None => return Ok(()),
        };
        Err(BlockError::Silent { variant: self.variants[index].name.clone(), trouble }.into())
    }

    /// Windows ten and a hundred times as long, each round by `one`, within a tenth of the measured time. None where
    /// variants remember: longer windows would be other histories.
    pub(super) fn check_windows(
        &mut self,
        point: PointId,
        windows: usize,
        extent: Extent,
        rounds: RoundHistory,
        one: &mut dyn FnMut(&mut Self, Extent, u32) -> Result<(), Abort>,
    ) -> Result<(), Abort> {
        if self.is_stateful(point) {
            return Ok(());
        }
        let rule = CheckRule {
            round: rounds.spent / u64::from(rounds.rounds.max(1)),
            windows: windows as u64,
            measured: rounds.spent,
            block: self.number,
        };
        for (at, factor) in (0..).zip(rule.factors()) {
            let began = monotonic_now();
            one(self, longer(extent, factor), at)?;
            self.times.measured += monotonic_now().since(began);
        }
        Ok(())
    }

    /// Rounds carried out by `some` with idle cores in the other state, within a tenth of the measured time.
    ///
    /// A single variant has no cost to check. Where the load follows a profile or a trace, a few rounds would
    /// only cover its beginning.
    pub(super) fn idle_check(
        &mut self,
        point: PointId,
        rounds: RoundHistory,
        some: &mut dyn FnMut(&mut Self, u32) -> Result<(), Abort>,
    ) -> Result<(), Abort> {
        let idle = self.context.idle;
        let follows = self.context.shapes[point.index()].passage().is_some();
        if !idle.can_check() || self.variants.len() < 2 || follows {
            return Ok(());
        }
        let rule = IdleCheckRule {
            round: rounds.spent / u64::from(rounds.rounds.max(1)),
            measured: rounds.spent,
            block: self.number,
            blocks: self.context.rule.blocks.min,
        };
        let count = rule.rounds();
        if count == 0 {
            return Ok(());
        }
        let began = monotonic_now();
        let checked = idle.check(|| some(self, count));
        self.times.measured += monotonic_now().since(began);
        checked
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct WindowPlace {
    pub kind: WindowKind,
    pub point: PointId,
    pub round: u32,
    pub position: u32,
}

/// Windows of a profile follow one another through it, round by round, the same for all variants; a check
/// window begins at its start. `drain` is how long what is due may still wait, if the window ends by due time.
fn measured_load(shape: &Shape, extent: Extent, place: WindowPlace, drain: Option<Nanoseconds>) -> Load {
    match extent {
        Extent::Time(nominal) => {
            let slice = match place.kind {
                WindowKind::Measured => place.round % shape.slices(nominal),
                _ => 0,
            };
            let slice = Slice::from(nominal * u64::from(slice));
            let stop = Stop::Time(nominal);
            let end = drain.map_or(OpenEnd::BusyCycles(nominal), |limit| OpenEnd::Drain { stop, limit });
            shape.window(stop, end, slice)
        }
        Extent::Requests(count) => {
            let gap = shape.request_rate().and_then(PerSecond::gap).unwrap_or_default();
            let end = OpenEnd::BusyCycles(gap * count);
            shape.window(Stop::Count(count), end, Slice::from(Nanoseconds::ZERO))
        }
    }
}

fn longer(extent: Extent, factor: u64) -> Extent {
    match extent {
        Extent::Requests(count) => Extent::Requests(count * factor),
        Extent::Time(time) => Extent::Time(time * factor),
    }
}
