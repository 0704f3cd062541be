//! How the variants of a block are put side by side at a point: in windows by turns, at the same time,
//! request by request, or one after another.
//!
//! The judge decides, from what the experiment asks, the paces of the warm-up and earlier blocks. This module
//! asks it and carries the decision out.

use weighbridge_judge::steer::{Arrangement, Extent, Pace, Periods, RoundHistory, RoundRule, Wanted};
use weighbridge_lab::host::clock::monotonic_now;
use weighbridge_model::event::{Event, Phase};
use weighbridge_model::id::PointId;
use weighbridge_model::pairing::{Pairing, PairingChoice};
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::record::WindowKind;

use super::turn::WindowPlace;
use super::{Abort, Block, BoundWorkload, PriorDecisions};

impl Block<'_, '_> {
    pub(super) fn arrange(
        &mut self,
        id: PointId,
        bound: &[BoundWorkload],
        prior: PriorDecisions<'_>,
    ) -> Result<Arrangement, Abort> {
        let point = &self.context.experiment.points[id.index()];
        let chosen = prior.windows.get(id.index()).copied().flatten();
        let mut rule = self.window_rule(point);
        rule.nominal = rule.nominal.or(chosen);
        self.warn_lengthened(&self.window_rule(point));
        let paces = paces(bound);
        let asked = self.context.experiment.plan.pairing;
        let wanted =
            prior.pairings.get(id.index()).map_or(Wanted::Asked(asked), |done| Wanted::Settled(*done));
        let rate = self.context.shapes[id.index()].request_rate();
        let passage = bound.iter().find_map(|one| one.workload.passage());
        let arrangement = match (passage, rate) {
            (Some(requests), _) => Ok(Arrangement::passages(requests)),
            (None, None) => rule.closed(&paces, wanted),
            (None, Some(rate)) => rule.open(rate, &paces, wanted),
        };
        let mut arrangement = arrangement.map_err(super::BlockError::Windows)?;
        let could_be_windows = arrangement.pairing == Pairing::Windows;
        if prior.pairings.is_empty() && arrangement.pairing == Pairing::Windows && rule.nominal.is_none() {
            let began = monotonic_now();
            arrangement = self.choose_window_length(id, bound, rule, arrangement)?;
            let took = monotonic_now().since(began);
            (self.choosing, self.times.measured) = (self.choosing + took, self.times.measured + took);
        } else {
            self.record_window_length(id, chosen);
        }
        if arrangement.periods == Periods::Cut && self.holds_periods(arrangement.extent, bound) {
            arrangement.periods = Periods::Whole;
        }
        // Where windows would have been possible, `choose_window_length` has already warned about them.
        let few = !could_be_windows;
        for trial in &mut self.trials {
            trial.pairings[id.index()] = arrangement.pairing;
        }
        if let Some(text) = remark(&arrangement, asked, few).filter(|_| self.number == 0) {
            (self.emit)(Event::Warning { text: text.to_owned() });
        }
        Ok(arrangement)
    }

    pub(super) fn measure_point(
        &mut self,
        point: PointId,
        bound: &[BoundWorkload],
        arrangement: Arrangement,
        time: Nanoseconds,
    ) -> Result<(), Abort> {
        let shape = &self.context.shapes[point.index()];
        let arrangement = arrangement.within(time, &paces(bound));
        let (extent, passage) = match arrangement.extent {
            Extent::Time(time) => {
                let fitted = shape.fitted(time);
                (Extent::Time(fitted), shape.slices(fitted))
            }
            requests @ Extent::Requests(_) => (requests, 1),
        };
        let rule = RoundRule { time, variants: self.variants.len(), passage };
        match arrangement.pairing {
            Pairing::Windows => {
                let rounds = self.rounds(point, rule, &mut |block, round| {
                    block.round(WindowKind::Measured, point, bound, extent, round)
                })?;
                self.idle_check(point, rounds, &mut |block, count| {
                    (0..count).try_for_each(|at| block.round(WindowKind::IdleCheck, point, bound, extent, at))
                })?;
                let windows = self.context.plan.round(self.number, point, 0).len();
                self.check_windows(point, windows, extent, rounds, &mut |block, longer, round| {
                    block.round(WindowKind::Check, point, bound, longer, round)
                })
            }
            Pairing::Duet => self.duet_rounds(point, bound, extent, rule),
            Pairing::Requests => self.interleaved_rounds(point, bound, extent, rule),
            Pairing::Sequential => {
                let each = Arrangement { extent, ..arrangement }.round_time(&paces(bound));
                let windows = RoundRule { variants: 1, ..rule }.fitting(each);
                self.sequential_turns(point, bound, extent, windows)
            }
        }
    }

    /// Each variant's share of the time in one turn. The same window of every variant reads the same
    /// requests.
    fn sequential_turns(
        &mut self,
        point: PointId,
        bound: &[BoundWorkload],
        extent: Extent,
        windows: u32,
    ) -> Result<(), Abort> {
        let began = monotonic_now();
        self.turns(WindowKind::Measured, point, bound, extent, windows)?;
        let spent = monotonic_now().since(began);
        self.report(point, windows.saturating_sub(1), windows, Nanoseconds::ZERO);
        self.times.measured += spent;
        self.times.round += spent / u64::from(windows.max(1));
        self.idle_check(point, RoundHistory { rounds: windows, spent }, &mut |block, count| {
            block.turns(WindowKind::IdleCheck, point, bound, extent, count)
        })
    }

    fn turns(
        &mut self,
        kind: WindowKind,
        point: PointId,
        bound: &[BoundWorkload],
        extent: Extent,
        windows: u32,
    ) -> Result<(), Abort> {
        for (position, variant) in (0..).zip(self.context.plan.stretches(self.number, point)) {
            let place = WindowPlace { kind, point, round: 0, position };
            let name = self.variants[variant.index()].name.clone();
            let label = &self.context.experiment.points[point.index()].label;
            self.phase(Phase::Measuring, Some(&name), Some(label));
            self.core_latency.sample();
            self.turn(place, 0..windows, variant, bound, extent)?;
        }
        Ok(())
    }
}

pub(super) fn paces(bound: &[BoundWorkload]) -> Vec<Pace> {
    bound.iter().map(|bound| bound.pace).collect()
}

fn remark(arrangement: &Arrangement, asked: PairingChoice, few: bool) -> Option<&'static str> {
    match (arrangement.pairing, arrangement.periods) {
        (Pairing::Windows, Periods::Cut) => Some(
            "windows hold fewer than 20 of the longest declared period: the slowest variant would take too long",
        ),
        (Pairing::Sequential, _) if asked == PairingChoice::Auto && few => Some(
            "windows cannot hold 200 requests within 1 s, and variants are too busy to be sent to in turn: they run one after another, and drift of the host is not shared; raise the load for windows",
        ),
        _ => None,
    }
}
