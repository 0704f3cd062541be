//! The steps of a run with `[capacity]`: in the first block each variant's rates are searched for, and every
//! block then measures them in rounds of one step of each variant.
//!
//! Which rate is next, how long a step is and what it shows is the judge's to say.

use std::collections::BTreeMap;

use weighbridge_judge::analysis::capacity::kept;
use weighbridge_judge::capacity::{self, CapacityRule, Outside, SearchStep, Try};
use weighbridge_judge::checks::generator::spoils_step;
use weighbridge_judge::thresholds::SEARCH_STEP;
use weighbridge_lab::host::clock::monotonic_now;
use weighbridge_load::Recording;
use weighbridge_load::generator::{self, WindowSpec};
use weighbridge_load::window::Load;
use weighbridge_model::estimate::Unit;
use weighbridge_model::event::{Event, Phase};
use weighbridge_model::experiment::{CapacitySpec, Variant};
use weighbridge_model::id::{PointId, VariantId};
use weighbridge_model::objective::{Measure, Objectives};
use weighbridge_model::quantity::{Nanoseconds, PerSecond, Ratio};
use weighbridge_model::record::steps::{Step, StepEnd, StepKind, StepRecord, Tenth};
use weighbridge_model::record::{RequestRecord, TrialRecord, WindowEnd, WindowFigures, WindowKind};
use weighbridge_workload::Emptying;

use super::turn::WindowPlace;
use super::{Abort, Block, BlockError, BoundWorkload};

/// How often a step at a listed rate is run again in a block while the generator spoils it.
const SPOILED_AGAIN: u32 = 2;

/// What earlier blocks that count tell of a search, by the variant's name: variants have other numbers in batches.
#[derive(Debug, Clone, Default)]
pub(crate) struct PriorSteps<'a> {
    /// One list a point, from the last block.
    rates: BTreeMap<String, Vec<Vec<PerSecond>>>,
    /// One entry a block, each with one list a point.
    steps: BTreeMap<String, Vec<&'a [Vec<StepRecord>]>>,
}

impl<'a> PriorSteps<'a> {
    /// Adds a trial of an earlier block.
    pub fn add(&mut self, name: &str, trial: &'a TrialRecord) {
        self.learn(name, trial);
        self.steps.entry(name.to_owned()).or_default().push(&trial.steps);
    }

    /// The rates that a trial's steps say were chosen last.
    pub fn learn(&mut self, name: &str, trial: &TrialRecord) {
        self.rates.insert(name.to_owned(), trial.steps.iter().map(|steps| grid_of(steps)).collect());
    }

    fn rates(&self, name: &str, point: PointId) -> Option<&Vec<PerSecond>> {
        self.rates.get(name)?.get(point.index())
    }

    /// By block.
    fn steps(&self, name: &str, point: PointId) -> Vec<Vec<&'a StepRecord>> {
        let blocks = self.steps.get(name).into_iter().flatten();
        blocks.filter_map(|points| points.get(point.index())).map(|steps| steps.iter().collect()).collect()
    }
}

/// The steps of a point: what all have in common, and each variant's rates.
pub(super) struct StepPlan<'w> {
    at: StepPoint<'w>,
    /// Of the closed warm-up.
    paces: Vec<PerSecond>,
    rates: Vec<Vec<PerSecond>>,
}

/// What all steps of a point have in common.
struct StepPoint<'w> {
    id: PointId,
    rule: CapacityRule,
    /// By variant.
    bound: &'w [BoundWorkload],
}

impl Block<'_, '_> {
    /// The rates of every variant at a point: those of earlier blocks, or found now.
    pub(super) fn choose_rates<'w>(
        &mut self,
        id: PointId,
        spec: &CapacitySpec,
        bound: &'w [BoundWorkload],
        prior: &PriorSteps<'_>,
    ) -> Result<StepPlan<'w>, Abort> {
        let point = &self.context.experiment.points[id.index()];
        let objectives = spec.objectives_for(&point.workload).expect("the experiment was checked");
        let rule = CapacityRule::new(spec, objectives, self.context.experiment.plan.seed);
        let pace = |one: &BoundWorkload| PerSecond::from_count(one.pace.requests, one.pace.time);
        let paces: Vec<PerSecond> = bound.iter().map(pace).collect();
        // Where there was nothing to measure, this block looks again.
        let known = |running: &super::RunningVariant| {
            prior.rates(&running.name, id).filter(|rates| !rates.is_empty()).cloned()
        };
        let known = self.variants.iter().map(known).collect();
        let at = StepPoint { id, rule, bound };
        let began = monotonic_now();
        let rates = self.search(&at, &paces, known, &[])?;
        let took = monotonic_now().since(began);
        self.choosing += took;
        self.times.measured += took;
        Ok(StepPlan { at, paces, rates })
    }

    /// Searches for the rates of those variants that have none, outside of the grids that they had.
    fn search(
        &mut self,
        at: &StepPoint<'_>,
        paces: &[PerSecond],
        mut rates: Vec<Option<Vec<PerSecond>>>,
        outside: &[Option<Outside>],
    ) -> Result<Vec<Vec<PerSecond>>, Abort> {
        let (id, rule) = (at.id, &at.rule);
        if rates.iter().any(Option::is_none) {
            self.phase(Phase::Searching, None, Some(&self.context.experiment.points[id.index()].label));
        }
        let mut round = 0;
        while rates.iter().any(Option::is_none) {
            for (position, variant) in (0..).zip(self.context.plan.round(self.number, id, round)) {
                let index = variant.index();
                if rates[index].is_some() {
                    continue;
                }
                let outside = outside.get(index).copied().flatten();
                match rule.search(&self.trials[index].steps[id.index()], outside, paces[index]) {
                    SearchStep::Try(one) => {
                        let place = WindowPlace { kind: WindowKind::Step, point: id, round, position };
                        self.step(at, variant, place, one)?;
                    }
                    SearchStep::Grid(grid) => rates[index] = Some(grid),
                    SearchStep::Ended(_) => rates[index] = Some(Vec::new()),
                }
            }
            round += 1;
        }
        Ok(rates.into_iter().flatten().collect())
    }

    /// Every rate of every variant once, in rounds, and then those that a block needs beside them.
    pub(super) fn measure_steps(
        &mut self,
        plan: StepPlan<'_>,
        prior: &PriorSteps<'_>,
        time: Nanoseconds,
    ) -> Result<(), Abort> {
        let StepPlan { mut at, paces, rates } = plan;
        let id = at.id;
        let began = monotonic_now();
        // One more of each variant, for its other costs.
        let count: usize = rates.iter().map(|rates| rates.len() + 1).sum();
        at.rule.length = (time / (count as u64).max(1)).max(SEARCH_STEP);
        let mut rounds = self.grid_rounds(&at, &rates, 0)?;
        self.times.round += monotonic_now().since(began) / u64::from(rounds.max(1));
        let lies_outside = |(index, rates): (usize, &Vec<PerSecond>)| {
            let mut blocks = prior.steps(&self.variants[index].name, id);
            blocks.push(self.trials[index].steps[id.index()].iter().collect());
            if rates.is_empty() { None } else { at.rule.lies_outside(&blocks) }
        };
        let outside: Vec<Option<Outside>> = rates.iter().enumerate().map(lies_outside).collect();
        if outside.iter().any(Option::is_some) {
            // Later blocks take over what is found now.
            let wanted = outside.iter().map(|one| one.is_none().then(Vec::new)).collect();
            let found = self.search(&at, &paces, wanted, &outside)?;
            rounds = self.grid_rounds(&at, &found, rounds)?;
        }
        let rounds = self.further_steps(&at, prior, rounds)?;
        self.confirm(&at, prior, rounds)?;
        self.common_steps(&at, prior, rounds)?;
        self.times.measured += monotonic_now().since(began);
        Ok(())
    }

    /// Returns the next round.
    fn grid_rounds(
        &mut self,
        at: &StepPoint<'_>,
        rates: &[Vec<PerSecond>],
        first: u32,
    ) -> Result<u32, Abort> {
        let (id, rule) = (at.id, &at.rule);
        let orders: Vec<_> = rates.iter().map(|grid| rule.order(grid, self.number)).collect();
        let rounds = orders.iter().map(Vec::len).max().unwrap_or_default();
        for turn in 0..rounds {
            let round = first + turn as u32;
            for (position, variant) in (0..).zip(self.context.plan.round(self.number, id, round)) {
                let Some(rate) = orders[variant.index()].get(turn).map(|placed| placed.rate) else {
                    continue;
                };
                let place = WindowPlace { kind: WindowKind::Step, point: id, round, position };
                let one = Try { rate, length: rule.grid_length(rate), kind: StepKind::Grid };
                self.step(at, variant, place, one)?;
                // A listed rate has no neighbour that could tell of it.
                let mut left = if rule.rates.is_empty() { 0 } else { SPOILED_AGAIN };
                while left > 0 && self.is_spoiled(id, variant) {
                    self.step(at, variant, place, one)?;
                    left -= 1;
                }
            }
        }
        Ok(first + rounds as u32)
    }

    /// Whether the generator spoiled the variant's last step.
    fn is_spoiled(&self, id: PointId, variant: VariantId) -> bool {
        let last = self.trials[variant.index()].steps[id.index()].last();
        last.is_some_and(|last| last.step.end == StepEnd::Generator)
    }

    /// From the last of the fewest blocks on: a longer step of each variant at the lower end of its interval so far.
    fn confirm(&mut self, at: &StepPoint<'_>, prior: &PriorSteps<'_>, round: u32) -> Result<(), Abort> {
        let (id, rule) = (at.id, &at.rule);
        let fewest = self.context.experiment.plan.blocks_min as usize;
        for (position, variant) in (0..).zip(self.context.plan.round(self.number, id, round)) {
            let index = variant.index();
            let mut blocks = prior.steps(&self.variants[index].name, id);
            let own: Vec<&StepRecord> = self.trials[index].steps[id.index()].iter().collect();
            // From five variants on the baseline has several turns of a round.
            let is_done = own.iter().any(|one| one.step.kind == StepKind::Confirm);
            blocks.push(own);
            if blocks.len() < fewest || is_done {
                continue;
            }
            let estimates = capacity::capacities(&rule.objectives, &blocks, fewest);
            if let Some(one) = estimates.first().and_then(|estimate| rule.confirm(estimate)) {
                let place = WindowPlace { kind: WindowKind::Step, point: id, round, position };
                self.step(at, variant, place, one)?;
            }
        }
        Ok(())
    }

    /// One step of each variant at a rate that all keep, whose costs are told as those of any other load.
    fn common_steps(&mut self, at: &StepPoint<'_>, prior: &PriorSteps<'_>, round: u32) -> Result<(), Abort> {
        let (id, rule) = (at.id, &at.rule);
        let Some(rate) = self.common_rate(id, rule, prior) else { return Ok(()) };
        for (position, variant) in (0..).zip(self.context.plan.round(self.number, id, round)) {
            let steps = &self.trials[variant.index()].steps[id.index()];
            // From five variants on the baseline has several turns of a round.
            if steps.iter().any(|one| one.step.kind == StepKind::Common) {
                continue;
            }
            let place = WindowPlace { kind: WindowKind::Measured, point: id, round: 0, position };
            let one = Try { rate, length: rule.grid_length(rate), kind: StepKind::Common };
            self.step(at, variant, place, one)?;
        }
        Ok(())
    }

    /// That of earlier blocks, or chosen now from what all variants showed.
    fn common_rate(&self, id: PointId, rule: &CapacityRule, prior: &PriorSteps<'_>) -> Option<PerSecond> {
        let own = |name: &str| {
            let here = self.variants.iter().position(|running| running.name == name);
            here.map(|index| self.trials[index].steps[id.index()].iter().collect::<Vec<_>>())
        };
        let of_variant = |variant: &Variant| {
            let before = prior.steps(&variant.name, id).into_iter();
            before.chain(own(&variant.name)).collect::<Vec<_>>()
        };
        let steps: Vec<Vec<Vec<&StepRecord>>> =
            self.context.experiment.variants.iter().map(of_variant).collect();
        let mut chosen = steps.iter().flatten().flatten().filter(|one| one.step.kind == StepKind::Common);
        let chosen = chosen.next().map(|one| one.step.rate);
        chosen.or_else(|| capacity::common_rate(rule, &steps))
    }

    /// The rates that this block needs beside those that all blocks have in common. Returns the next round.
    fn further_steps(
        &mut self,
        at: &StepPoint<'_>,
        prior: &PriorSteps<'_>,
        first: u32,
    ) -> Result<u32, Abort> {
        let (id, rule) = (at.id, &at.rule);
        let mut round = first;
        loop {
            let mut done = true;
            for (position, variant) in (0..).zip(self.context.plan.round(self.number, id, round)) {
                let index = variant.index();
                let before = prior.steps(&self.variants[index].name, id);
                let own: Vec<&StepRecord> = self.trials[index].steps[id.index()].iter().collect();
                if let Some(one) = rule.extra(&before, &own) {
                    let place = WindowPlace { kind: WindowKind::Step, point: id, round, position };
                    self.step(at, variant, place, one)?;
                    done = false;
                }
            }
            if done {
                return Ok(round);
            }
            round += 1;
        }
    }

    /// One step: thaw, emptying where the workload wants it, the window, freeze.
    fn step(
        &mut self,
        at: &StepPoint<'_>,
        variant: VariantId,
        place: WindowPlace,
        one: Try,
    ) -> Result<(), Abort> {
        self.check_control()?;
        let index = variant.index();
        let Try { rate, length, kind } = one;
        let rule = &at.rule;
        let patience = patience(&rule.objectives, length);
        let load = self.context.shapes[place.point.index()].step(rate, length, patience);
        let load = load.expect("the experiment was checked: its load has arrivals");
        self.core_latency.sample();
        self.set_idle(variant);
        self.variants[index].thaw()?;
        if self.is_emptied_for(at, index, kind) {
            self.empty(at.id, index, &at.bound[index])?;
        }
        let before = self.trials[index].steps[place.point.index()].last().map(|before| before.step.rate);
        let number = self.trials[index].steps[place.point.index()].len() as u32;
        let cpu = self.variants[index].clocks();
        // A measured window is found by its round, a step by its number.
        let place = match kind {
            StepKind::Common => place,
            _ => WindowPlace { round: number, ..place },
        };
        let (figures, records) = self.step_window(index, place, load)?;
        let after = self.variants[index].clocks();
        let used = after.total().zip(cpu.total()).map(|(after, before)| after.saturating_sub(before));
        let window = self.trials[index].windows.last_mut().expect("the window was just recorded");
        window.cpu.extend(after.since(&cpu, figures.begun()));
        window.pauses = after.pauses_since(&cpu);
        self.variants[index].freeze()?;
        let cores = self.context.launcher.placement.usual().service().len().max(1) as f64;
        let busy = used.map(|used| Ratio::new(used.share_of(figures.health.wall).get() / cores));
        let step = Step {
            number,
            kind,
            course: Step::course(before, rate),
            rate,
            start: figures.started,
            length,
            end: match spoils_step(&figures.health, &rule.objectives, busy) {
                true => StepEnd::Generator,
                false => step_end(&figures),
            },
            health: figures.health,
        };
        let mut record = capacity::record(&rule.objectives, step, &records);
        let tenths: Vec<Tenth> = std::iter::once(record.lead_in).chain(record.tenths).collect();
        if record.step.end == StepEnd::Complete && rule.is_overloaded(rate, &tenths) {
            record.step.end = StepEnd::Cut;
        }
        self.tell_step(rule, place.point, index, &record);
        self.trials[index].steps[place.point.index()].push(record);
        Ok(())
    }

    /// Before each step, or before the first of the block that counts.
    fn is_emptied_for(&self, at: &StepPoint<'_>, index: usize, kind: StepKind) -> bool {
        let steps = &self.trials[index].steps[at.id.index()];
        match at.bound[index].workload.emptying() {
            Emptying::Never => false,
            Emptying::EachWindow => true,
            Emptying::Once => {
                kind == StepKind::Grid && steps.iter().all(|one| one.step.kind != StepKind::Grid)
            }
        }
    }

    fn step_window(
        &mut self,
        index: usize,
        place: WindowPlace,
        load: Load,
    ) -> Result<(WindowFigures, Vec<RequestRecord>), Abort> {
        let variant = self.variants[index].variant;
        let expected = super::samples::expected(&load, None);
        let substream = self.substream(place, expected);
        let measured = (place.kind == WindowKind::Measured).then(|| self.take_tallies(index, place.point));
        let (report, tallies, records) = self.context.clients.get(variant).call(move |generator| {
            let mut records = Vec::with_capacity(2 * expected as usize + 64);
            let spec = WindowSpec { substream, load, recording: Recording::Exact };
            let mut tallies = measured.unwrap_or_default();
            let report = generator.run(variant, &spec, &mut tallies, Some(&mut records), None);
            (report, tallies, records)
        });
        let generator::WindowReport { figures, failures, .. } = report.map_err(BlockError::Generator)?;
        self.add_failures(index, &failures);
        if place.kind == WindowKind::Measured {
            self.trials[index].tallies[place.point.index()] = tallies;
        }
        self.record(index, place, &figures, Vec::new());
        self.check_control()?;
        // A service may fail requests beyond its capacity, but it must live.
        if let Some(how) = self.variants[index].death() {
            return Err(Abort::Void(how));
        }
        Ok((figures, records))
    }

    fn tell_step(&mut self, rule: &CapacityRule, point: PointId, index: usize, record: &StepRecord) {
        let experiment = self.context.experiment;
        let kept = kept(capacity::classify(&rule.objectives, 0, record));
        let first = rule.objectives.conditions()[0];
        let value = record.figures.first().map_or(0.0, |figure| figure.value);
        let value = match first.measure {
            Measure::Errors => Ratio::new(value).to_string(),
            _ => Unit::Ns.display(value),
        };
        (self.emit)(Event::Step {
            block: self.number,
            variant: self.variants[index].name.clone(),
            point: experiment.points[point.index()].label.clone(),
            kind: record.step.kind,
            rate: record.step.rate,
            kept,
            shown: format!("{} {value}", first.measure),
        });
    }
}

/// How long a request may wait for a slot before the step counts as overloaded: far beyond what a queue that keeps
/// the objectives holds, so that only one that grows reaches it, and at most half of the step.
fn patience(objectives: &Objectives, length: Nanoseconds) -> Nanoseconds {
    /// Multiple of the longest limit.
    const LIMITS: u64 = 50;
    const LEAST: Nanoseconds = Nanoseconds::from_millis(100);
    let times = objectives.conditions().iter().filter(|one| one.measure != Measure::Errors);
    let longest = times.map(|one| one.limit.value() as u64).max().unwrap_or_default();
    (Nanoseconds::from_nanos(longest) * LIMITS).clamp(LEAST, (length / 2).max(LEAST))
}

fn step_end(figures: &WindowFigures) -> StepEnd {
    match figures.end {
        WindowEnd::Aborted => StepEnd::Aborted,
        WindowEnd::Saturated => StepEnd::Cut,
        WindowEnd::Complete if figures.not_sent > 0 => StepEnd::Cut,
        WindowEnd::Complete => StepEnd::Complete,
    }
}

/// The rates that were measured in a block after its last search, ascending.
fn grid_of(steps: &[StepRecord]) -> Vec<PerSecond> {
    let searched = |one: &StepRecord| matches!(one.step.kind, StepKind::Bracket | StepKind::Narrow);
    let after = steps.iter().rposition(searched).map_or(0, |last| last + 1);
    let measured = steps[after..].iter().filter(|one| one.step.kind == StepKind::Grid);
    let mut rates: Vec<PerSecond> = measured.map(|one| one.step.rate).collect();
    rates.sort_by(|a, b| a.get().total_cmp(&b.get()));
    rates.dedup();
    rates
}
