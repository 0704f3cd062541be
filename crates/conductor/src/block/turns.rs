//! Whether windows may be as short as their nominal length. The first block compares windows that follow a
//! freeze with windows that follow none, by the steps of the judge's rule, and records the chosen length.

use weighbridge_judge::steer::{
    Arrangement, Compared, Extent, Pace, TurnRule, TurnStep, Wanted, WindowRule, turn_effect,
};
use weighbridge_judge::thresholds::{ROUNDS_LEAST, TURN_RUN_ON, TURN_WINDOWS, WARM_WINDOWS};
use weighbridge_model::event::Event;
use weighbridge_model::id::PointId;
use weighbridge_model::pairing::{Pairing, PairingChoice, TurnEffect};
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::record::{WindowFigures, WindowKind};

use super::pairing::paces;
use super::turn::WindowPlace;
use super::{Abort, Block, BoundWorkload};

impl Block<'_, '_> {
    /// The arrangement with windows long enough for the effect of turns, or without windows if none are.
    pub(super) fn choose_window_length(
        &mut self,
        id: PointId,
        bound: &[BoundWorkload],
        window_rule: WindowRule,
        arrangement: Arrangement,
    ) -> Result<Arrangement, Abort> {
        let is_closed = self.context.shapes[id.index()].request_rate().is_none();
        if self.variants.len() < 2
            || !is_closed
            // A comparison sends some variants more than others.
            || self.is_stateful(id)
            || self.variants.iter().any(|running| running.direct.is_some())
        {
            return Ok(arrangement);
        }
        let rule = self.turn_rule(window_rule, &paces(bound))?;
        let mut history: Vec<Compared> = Vec::new();
        let chosen = loop {
            let (window, closely) = match rule.next(&history) {
                TurnStep::Glance(window) => (window, false),
                TurnStep::Compare(window) => (window, true),
                TurnStep::Windows(window) => break Some(window),
                TurnStep::None => break None,
            };
            let rule_of_length = WindowRule { nominal: Some(window), ..window_rule };
            let arrangement = rule_of_length.closed(&paces(bound), Wanted::Settled(Pairing::Windows))?;
            history.push(self.compare(id, bound, window, arrangement.extent, closely)?);
        };
        // Windows that the experiment asks for are used in any case; the diagnosis reports the effect.
        let asked = self.context.experiment.plan.pairing == PairingChoice::Windows;
        let longest =
            history.last().and_then(|compared| compared.effects.first()).map(|effect| effect.window);
        let window = chosen.or(longest.filter(|_| asked));
        self.warn_turns(rule, &history, chosen, window);
        self.record_window_length(id, window);
        let wanted = Wanted::Settled(if window.is_some() { Pairing::Windows } else { Pairing::Sequential });
        Ok(WindowRule { nominal: window, ..window_rule }.closed(&paces(bound), wanted)?)
    }

    pub(super) fn record_window_length(&mut self, id: PointId, window: Option<Nanoseconds>) {
        for trial in &mut self.trials {
            trial.preparations[id.index()].window = window;
        }
    }

    /// Lengths whose fewest rounds do not fit into a block's share of the budget are not tried.
    fn turn_rule(&self, window_rule: WindowRule, paces: &[Pace]) -> Result<TurnRule, Abort> {
        let plan = &self.context.experiment.plan;
        let nominal = window_rule.nominal();
        let rule_of_length = WindowRule { nominal: Some(nominal), ..window_rule };
        let round = rule_of_length.closed(paces, Wanted::Settled(Pairing::Windows))?.round_time(paces);
        let share = self.context.rule.share(self.context.experiment.points.len()) / u64::from(ROUNDS_LEAST);
        let longest = Nanoseconds::from_secs_f64(nominal.as_secs_f64() * share.share_of(round).get());
        Ok(TurnRule { nominal, longest, margin: plan.margin })
    }

    /// Compares every variant's windows of one length after a freeze with windows that follow none.
    fn compare(
        &mut self,
        id: PointId,
        bound: &[BoundWorkload],
        window: Nanoseconds,
        extent: Extent,
        closely: bool,
    ) -> Result<Compared, Abort> {
        let Extent::Requests(requests) = extent else { unreachable!("closed load counts requests") };
        let warm: Vec<_> = (0..self.variants.len()).map(|index| self.warm_level(id, index)).collect();
        let mut changes: Vec<Vec<f64>> = vec![Vec::new(); self.variants.len()];
        for _ in 0..TURN_WINDOWS {
            for variant in self.context.plan.block(self.number).starts {
                let index = variant.index();
                let (first, later) = self.long_turn(id, bound, index, requests, closely)?;
                let level = if closely { later } else { warm[index] };
                if let (Some(first), Some(level)) = (log_p50(&first), level) {
                    changes[index].push(first - level);
                }
            }
        }
        for (trial, changes) in self.trials.iter_mut().zip(&changes) {
            trial.preparations[id.index()].turns.extend(turn_effect(window, changes));
        }
        let effects = changes.iter().filter_map(|changes| turn_effect(window, changes)).collect();
        Ok(Compared { closely, effects })
    }

    /// One variant's turn: the window after a freeze and, if it `runs_on`, the level of the later half of the
    /// rest.
    fn long_turn(
        &mut self,
        id: PointId,
        bound: &[BoundWorkload],
        index: usize,
        requests: u64,
        runs_on: bool,
    ) -> Result<(WindowFigures, Option<f64>), Abort> {
        self.set_idle(self.variants[index].variant);
        self.variants[index].thaw()?;
        let lead_in = self.lead_in(id, self.variants[index].period, bound[index].pace);
        let place = WindowPlace { kind: WindowKind::LeadIn, point: id, round: 0, position: 0 };
        self.window(index, place, lead_in, None, Vec::new())?;
        let mut round = self.warm_windows(id, index).count();
        let first = self.warm_window(id, index, round, requests)?;
        let took = first.ended.since(first.started).max(Nanoseconds::from_nanos(1));
        let more = if runs_on { (TURN_RUN_ON.as_nanos() / took.as_nanos()).max(1) } else { 0 };
        let mut logs = Vec::new();
        for _ in 0..more {
            round += 1;
            logs.push(log_p50(&self.warm_window(id, index, round, requests)?));
        }
        self.variants[index].freeze()?;
        let later: Vec<f64> = logs[logs.len() / 2..].iter().copied().flatten().collect();
        Ok((first, middle(later)))
    }

    fn warm_windows(&self, id: PointId, index: usize) -> impl Iterator<Item = &WindowFigures> {
        let windows = self.trials[index].windows.iter();
        let of = move |window: &&weighbridge_model::record::WindowRecord| {
            window.point == id && window.kind == WindowKind::WarmUp
        };
        windows.filter(of).map(|window| &window.figures)
    }

    /// The level of a variant's last ten warm-up windows.
    fn warm_level(&self, id: PointId, index: usize) -> Option<f64> {
        let logs: Vec<f64> = self.warm_windows(id, index).filter_map(log_p50).collect();
        middle(logs[logs.len().saturating_sub(WARM_WINDOWS / 2)..].to_vec())
    }

    /// Warns about windows that are longer than usual, or that are not used.
    fn warn_turns(
        &mut self,
        rule: TurnRule,
        history: &[Compared],
        chosen: Option<Nanoseconds>,
        used: Option<Nanoseconds>,
    ) {
        if history.len() < 3 && chosen.is_some() {
            return;
        }
        let Some(nominal) = history.get(1) else { return };
        let far = |effect: &&TurnEffect| !rule.is_within(effect);
        let Some(worst) =
            nominal.effects.iter().filter(far).max_by(|a, b| a.change.abs().total_cmp(&b.change.abs()))
        else {
            return;
        };
        let found = format!(
            "after idling, p50 is up to {:+.1} % from that without a break in windows of {}",
            100.0 * worst.change.exp_m1(),
            worst.window
        );
        let text = match (chosen, used) {
            (Some(window), _) => format!("{found}: windows are {window} long"),
            (None, Some(window)) => format!(
                "windows are {window} long, since `pairing` asks for windows: {found}, and in longer ones that fit into a block"
            ),
            (None, None) => {
                format!("variants run one after another: {found}; a larger `budget` holds longer ones")
            }
        };
        (self.emit)(Event::Warning { text });
    }
}

fn log_p50(figures: &WindowFigures) -> Option<f64> {
    figures.all.as_ref().map(|all| (all.response_p50.as_nanos().max(1) as f64).ln())
}

fn middle(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    let upper = values.get(half)?;
    Some(if values.len().is_multiple_of(2) { (values[half - 1] + upper) / 2.0 } else { *upper })
}
