//! Warm-ups: every variant alone and without a break, until the judge's rule says that it is warm.

use std::time::Duration;

use weighbridge_judge::steer::{Pace, Rest, WarmHistory, WarmRule, WarmStep, WarmWindow};
use weighbridge_judge::thresholds::{WARM_UP_LEAST, WARM_UP_LONGEST, WARM_UP_SETTLING, WINDOW_PERIODS};
use weighbridge_lab::host::clock::monotonic_now;
use weighbridge_load::window::Stop;
use weighbridge_model::event::{Event, Phase};
use weighbridge_model::experiment::Point;
use weighbridge_model::id::{PointId, VariantId};
use weighbridge_model::pairing::{WarmEnd, WarmUp};
use weighbridge_model::quantity::{Nanoseconds, Ratio};
use weighbridge_model::record::{WindowFigures, WindowKind};

use super::turn::WindowPlace;
use super::{Abort, Block, BoundWorkload};

/// Longest warm-up of a variant that does not become faster, as a multiple of the one asked for.
const WARM_UP_MOST: u64 = 10;

impl Block<'_, '_> {
    /// How long a variant is warmed: at least as long as a window with its period, since the pace of a few
    /// periods would make windows too long or too short; and as long as its service asks for.
    pub(super) fn warm_rule(&self, point: &Point, variant: VariantId) -> WarmRule {
        let running = &self.variants[variant.index()];
        let periods = running.period.unwrap_or_default() * WINDOW_PERIODS;
        let told = point.load.warmup.max(WARM_UP_LEAST).max(periods);
        let least = told.max(running.warmup.unwrap_or_default());
        let most = least.max(told * WARM_UP_MOST);
        WarmRule {
            least,
            most,
            longest: most.max((least * WARM_UP_SETTLING).min(WARM_UP_LONGEST)),
            nominal: self.window_rule(point).nominal(),
            slots: point.load.slots(),
            // The loop of a service with protocol `direct` is never idle.
            rests: running.is_ours() && running.direct.is_none(),
        }
    }

    /// Warms every variant. `fixed` are the requests of the windows by which earlier blocks warmed those that remember.
    pub(super) fn warm(
        &mut self,
        id: PointId,
        bound: &mut [BoundWorkload],
        fixed: &[u64],
    ) -> Result<(), Abort> {
        if self.is_stateful(id) {
            return self.warm_alike(id, bound, fixed);
        }
        for variant in self.context.plan.block(self.number).starts {
            let pace = self.warm_one(id, variant)?;
            bound[variant.index()].pace = pace;
        }
        Ok(())
    }

    fn warm_one(&mut self, id: PointId, variant: VariantId) -> Result<Pace, Abort> {
        let point = &self.context.experiment.points[id.index()];
        let rule = self.warm_rule(point, variant);
        let index = variant.index();
        let name = self.variants[index].name.clone();
        self.phase(Phase::Warming, Some(&name), Some(&point.label));
        self.set_idle(variant);
        self.variants[index].thaw()?;
        let mut warmed = WarmedVariant { cpu_before: self.variants[index].cpu(), ..Default::default() };
        let (pace, end) = loop {
            match rule.next(&warmed.history) {
                WarmStep::Window(requests) => {
                    let round = warmed.history.windows.len();
                    let figures = self.warm_window(id, index, round, requests)?;
                    warmed.add(&figures);
                }
                WarmStep::Rest(time) => {
                    let rest = self.rest(index, time)?;
                    warmed.history.rests.push((warmed.history.windows.len(), rest));
                }
                WarmStep::End(pace, end) => break (pace, end),
            }
        };
        let busy = self.busy(index, &warmed);
        self.variants[index].freeze()?;
        let windows = warmed.history.windows.len() as u32;
        self.trials[index].preparations[id.index()].warm_up =
            Some(WarmUp { end, time: warmed.history.spent(), windows });
        (self.emit)(Event::Warm { variant: name, point: point.label.clone(), windows });
        Ok(Pace { busy, ..pace })
    }

    pub(super) fn warm_window(
        &mut self,
        point: PointId,
        index: usize,
        round: usize,
        requests: u64,
    ) -> Result<WindowFigures, Abort> {
        let place = WindowPlace { kind: WindowKind::WarmUp, point, round: round as u32, position: 0 };
        let load = self.context.shapes[point.index()].closed(Stop::Count(requests));
        self.core_latency.sample();
        self.window(index, place, load, None, Vec::new())
    }

    /// Lets the variant run without requests; the CPU time used meanwhile is work beside its requests.
    pub(super) fn rest(&mut self, index: usize, time: Nanoseconds) -> Result<Rest, Abort> {
        self.check_control()?;
        let (began, before) = (monotonic_now(), self.variants[index].cpu());
        std::thread::sleep(Duration::from_nanos(time.as_nanos()));
        let cpu = self.variants[index].cpu().zip(before).map(|(after, before)| after.saturating_sub(before));
        Ok(Rest { time: monotonic_now().since(began), cpu: cpu.unwrap_or_default() })
    }

    /// The share of its cores that the variant used up to now, where it is known.
    pub(super) fn busy(&mut self, index: usize, warmed: &WarmedVariant) -> Option<Ratio> {
        let WarmedVariant { history, cpu_before, in_service, .. } = warmed;
        let used = self.variants[index].cpu().zip(*cpu_before);
        let used = used.map(|(after, before)| after.saturating_sub(before));
        let spent: Nanoseconds = history.windows.iter().map(|window| window.time).sum();
        let rested: Nanoseconds = history.rests.iter().map(|(_, rest)| rest.cpu).sum();
        let cores = self.context.launcher.placement.usual().service().len() as f64;
        match used {
            // Its loop is never idle, so it cannot take turns with others request by request.
            Some(_) if self.variants[index].direct.is_some() => None,
            Some(used) => Some(Ratio::new(used.saturating_sub(rested).share_of(spent).get() / cores)),
            // Not our process: estimate it from what the client knows.
            None => in_service.and_then(|in_service| Pace::most_busy(in_service, spent)),
        }
    }
}

/// A variant's warm-up so far.
pub(super) struct WarmedVariant {
    pub history: WarmHistory,
    /// CPU time used before its first window.
    pub cpu_before: Option<Nanoseconds>,
    /// The sum of service times; `None` where some are not known.
    in_service: Option<Nanoseconds>,
    /// How it ended, where others are still warmed beside it.
    pub end: Option<WarmEnd>,
}

impl Default for WarmedVariant {
    fn default() -> Self {
        Self {
            history: WarmHistory::default(),
            cpu_before: None,
            in_service: Some(Nanoseconds::ZERO),
            end: None,
        }
    }
}

impl WarmedVariant {
    pub fn add(&mut self, figures: &WindowFigures) {
        self.in_service = self.in_service.zip(in_service_of(figures)).map(|(sum, more)| sum + more);
        self.history.windows.push(warm_window(figures));
    }
}

fn warm_window(figures: &WindowFigures) -> WarmWindow {
    WarmWindow {
        requests: figures.begun(),
        time: figures.ended.since(figures.started),
        p50: figures.all.map(|all| all.response_p50),
    }
}

/// The sum of a window's service times; `None` where some requests failed and have none.
fn in_service_of(figures: &WindowFigures) -> Option<Nanoseconds> {
    figures.all.as_ref().filter(|_| figures.errors.total() == 0).map(|all| all.service_sum)
}
