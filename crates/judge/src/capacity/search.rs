//! Which rate to try next.

use std::ops::RangeInclusive;

use weighbridge_model::experiment::{CapacitySpec, TriedRates};
use weighbridge_model::objective::{Objectives, TimeStatistic};
use weighbridge_model::quantity::{Nanoseconds, PerSecond, Ratio};
use weighbridge_model::record::steps::{COUNTED, PARTS, StepEnd, StepKind, StepRecord};

use crate::stats::bootstrap::draw_index;
use crate::thresholds::{
    BEYOND_PER_STEP, BRACKET_WIDTH, BUSY_SHARE, BUSY_STEPS, CAPACITY_WIDTH, CEILING_NEAR, EXTRA_STEPS,
    LATE_STEPS, LISTED_STEP_REQUESTS, SEARCH_BEGIN, SEARCH_HALVINGS, SEARCH_STEP, SEARCH_STEPS,
    SPOILED_HALVINGS, STEEP_ELASTICITY, STEP_LONGEST, STEP_REQUESTS,
};

use super::classify::{Class, classify, is_hopeless, is_kept, load_ratio};
use super::estimate::{CapacityEnd, CapacityEstimate, rate};
use super::fit::{Enclosed, InverseLine, NEAR, RatePoint, is_steep, isotonic, largest_points, line_weight};
use super::pool::{Which, by_rate};

/// Statistics, as multiples of the limit, that all help to place the grid …
const GRID_FIT: RangeInclusive<f64> = 0.5..=2.0;
/// … and the fewest steps that do.
const LINE_STEPS: usize = 3;
/// Statistics far below the limit.
const CALM: RangeInclusive<f64> = 1e-6..=0.6;
/// By how much the curve may be steeper at the limit than its chord.
const CHORD_FACTOR: f64 = 3.0;

/// Then long steps are run where the statistic is expected to be these multiples of the limit.
const AIMED_RATIOS: [f64; 4] = [0.8, 1.25, 1.0, 0.8];

/// Fewer than so many, however unsure the place of the limit is.
const AIMED_MOST: usize = 12;

/// So many rates at which not one request was fast enough say that none will be.
const HOPELESS_STEPS: usize = 3;

/// The standard error of the limit's place, as a share of the grid's width, at which the search is content.
const PLACED: f64 = 0.15;

/// The statistics, as multiples of the limit, at which the rates of the grid are expected.
const GRID_RATIOS: [f64; 5] = [0.6, 0.8, 0.95, 1.15, 1.4];

/// How the capacity of every variant is looked for; fixed for a run.
#[derive(Debug, Clone, PartialEq)]
pub struct CapacityRule {
    pub objectives: Objectives,
    /// Lowest rate to try.
    pub from: Option<PerSecond>,
    /// Highest rate to try.
    pub to: Option<PerSecond>,
    /// Further rates at 10 to 90 % of the capacity, for the curve.
    pub curve: u32,
    /// Only these rates, if any: nothing is searched for.
    pub rates: Vec<PerSecond>,
    /// Length of the steps that count.
    pub length: Nanoseconds,
    /// How near to each other the rates of a block come, as a share.
    pub width: Ratio,
    pub seed: u64,
}

/// One step to run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Try {
    pub rate: PerSecond,
    /// Lead-in included.
    pub length: Nanoseconds,
    pub kind: StepKind,
}

/// What to do next in the first block of one variant.
#[derive(Debug, Clone, PartialEq)]
pub enum SearchStep {
    Try(Try),
    /// Every block measures these, ascending.
    Grid(Vec<PerSecond>),
    /// There is nothing to measure: [`CapacityEnd::AtLeast`] or [`CapacityEnd::Below`].
    Ended(CapacityEnd),
}

/// Where the capacity lies if the rates of a grid do not enclose it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outside {
    Above,
    Below,
}

impl Outside {
    /// Whether a step of that grid says the opposite, by chance.
    fn is_denied_by(self, step: &StepRecord, is_kept: bool) -> bool {
        step.step.kind == StepKind::Grid && is_kept == (self == Self::Below)
    }
}

/// What a search for one objective wants.
enum Seek {
    Try(Try),
    Rates(Vec<f64>),
    Ended(CapacityEnd),
}

/// The longest step at a rate.
#[derive(Debug, Clone, Copy)]
struct Tried {
    rate: f64,
    ratio: f64,
    is_kept: bool,
    class: Class,
    length: Nanoseconds,
    /// Not one good reply came within the limit.
    is_hopeless: bool,
}

impl Tried {
    /// Whether a longer step may say otherwise. A short one near the limit may not even have seen the queue that
    /// belongs to its rate: it began without one.
    fn is_open(&self) -> bool {
        self.class == Class::Undecided || NEAR.contains(&self.ratio)
    }

    /// Whether it is far from the limit. If a rate beyond the limit is near, the statistic jumps between them.
    fn is_calm(&self) -> bool {
        self.ratio < *NEAR.start()
    }
}

/// The steps of a search as one objective sees them.
struct Steps<'a> {
    history: &'a [StepRecord],
    /// The longest at each rate, ascending.
    tried: Vec<Tried>,
}

impl Steps<'_> {
    /// Long steps near the limit so far.
    fn aimed(&self, long: impl Fn(PerSecond) -> Nanoseconds) -> usize {
        let narrow = self.history.iter().filter(|step| step.step.kind == StepKind::Narrow);
        narrow.filter(|step| step.step.length >= long(step.step.rate)).count()
    }
}

impl CapacityRule {
    /// As the experiment asks, with steps as short as they may be.
    pub fn new(spec: &CapacitySpec, objectives: Objectives, seed: u64) -> Self {
        let (from, to, curve, rates) = match &spec.rates {
            TriedRates::Searched { from, to, curve } => (*from, *to, *curve, Vec::new()),
            TriedRates::Listed(rates) => (None, None, 0, rates.clone()),
        };
        let (length, width) = (SEARCH_STEP, Ratio::new(CAPACITY_WIDTH));
        Self { objectives, from, to, curve, rates, length, width, seed }
    }

    /// The next step of the search, from those of this variant in this block and the pace of its closed warm-up.
    /// Where it goes on from a grid, [`Self::lies_outside`] says on which side.
    pub fn search(&self, history: &[StepRecord], outside: Option<Outside>, pace: PerSecond) -> SearchStep {
        if !self.rates.is_empty() {
            return SearchStep::Grid(ascending(self.rates.iter().map(|rate| rate.get()).collect(), 0.0));
        }
        let (mut grid, mut ended) = (Vec::new(), None);
        for objective in 0..self.objectives.list().len() {
            let tried = self.tried(objective, history, outside);
            match self.seek(&Steps { history, tried }, pace.get()) {
                Seek::Try(next) => return SearchStep::Try(next),
                Seek::Rates(rates) => grid.extend(rates),
                Seek::Ended(end) => ended = ended.or(Some(end)),
            }
        }
        if let (true, Some(end)) = (grid.is_empty(), ended) {
            return SearchStep::Ended(end);
        }
        let highest = grid.iter().copied().fold(0.0, f64::max);
        let share = |at: u32| f64::from(at + 1) / f64::from(self.curve + 1);
        grid.extend((0..self.curve).map(|at| (0.1 + 0.8 * share(at)) * highest));
        SearchStep::Grid(ascending(grid, 0.5 * self.width.get()))
    }

    /// On which side of the grid that the last block has measured the headline's capacity lies, if it is not enclosed:
    /// something disturbed the search, or the service has changed. The search then goes on from there. One block must be
    /// sure of it; of several the pooled figures decide.
    pub fn lies_outside(&self, blocks: &[Vec<&StepRecord>]) -> Option<Outside> {
        let own = blocks.last().filter(|_| self.rates.is_empty())?;
        let measured =
            |one: &&&StepRecord| one.step.kind == StepKind::Grid && one.step.end != StepEnd::Generator;
        let mut grid: Vec<&StepRecord> = own.iter().filter(measured).copied().collect();
        grid.sort_by(|a, b| a.step.rate.get().total_cmp(&b.step.rate.get()));
        // The generator spoiled all of it: lower rates may be measured.
        let (Some(lowest), Some(highest)) = (grid.first(), grid.last()) else { return Some(Outside::Below) };
        let class = |step: &StepRecord| classify(&self.objectives, 0, step);
        match grid.iter().filter(|step| is_kept(&self.objectives, 0, step)).count() {
            0 if matches!(class(lowest), Class::Exceeded | Class::Cut) => return Some(Outside::Below),
            kept if kept == grid.len() && class(highest) == Class::Kept => return Some(Outside::Above),
            _ if blocks.len() == 1 => return None,
            _ => {}
        }
        let mut pools = by_rate(&self.objectives, blocks, |kind| kind == StepKind::Grid);
        pools.retain(|pool| (lowest.step.rate.get()..=highest.step.rate.get()).contains(&pool.rate));
        let points = largest_points(&self.objectives, 0, &pools, Which::All);
        match points.iter().filter(|point| point.ratio <= 1.0).count() {
            0 => Some(Outside::Below),
            kept => (kept == points.len()).then_some(Outside::Above),
        }
    }

    /// The length of a step of the grid at `rate`: [`Self::length`], or longer where a quantile needs it.
    pub fn grid_length(&self, rate: PerSecond) -> Nanoseconds {
        self.least_length(rate.get(), StepKind::Grid).max(self.length)
    }

    /// The last step: the lower end of the headline's interval, twice as long.
    pub fn confirm(&self, estimate: &CapacityEstimate) -> Option<Try> {
        let rate = estimate.interval?.0;
        Some(Try { rate, length: self.grid_length(rate) * 2, kind: StepKind::Confirm })
    }

    /// A further rate that a block needs, asked after its grid and after every such step: `steps` are all of this
    /// variant in this block, `before` those of the blocks before. Where the statistic is steep, each block narrows
    /// to [`Self::width`] for itself, at a random place, so that blocks do not share the error of their brackets.
    pub fn extra(&self, before: &[Vec<&StepRecord>], steps: &[&StepRecord]) -> Option<Try> {
        let extras = steps.iter().filter(|step| step.step.kind == StepKind::Extra).count();
        let all: Vec<Vec<&StepRecord>> = before.iter().cloned().chain([steps.to_vec()]).collect();
        let grid = by_rate(&self.objectives, &all, |kind| kind == StepKind::Grid);
        let own = by_rate(&self.objectives, &all[before.len()..], |kind| {
            matches!(kind, StepKind::Grid | StepKind::Extra)
        });
        let objectives = 0..self.objectives.list().len();
        if extras >= EXTRA_STEPS * objectives.len() {
            return None;
        }
        let mut state = self.seed ^ ((before.len() as u64) << 32 | extras as u64);
        let part = (1.0 + draw_index(&mut state, 1_000) as f64 / 1_000.0) / 3.0;
        let wider = 1.0 + 2.0 * self.width.get() * f64::from(1 << extras.min(EXTRA_STEPS));
        let next = objectives.into_iter().find_map(|objective| {
            if !is_steep(&largest_points(&self.objectives, objective, &grid, Which::All)) {
                return None;
            }
            let points = isotonic(&largest_points(&self.objectives, objective, &own, Which::All));
            let (first, last) = (points.first()?, points.last()?);
            match Enclosed::new(&points) {
                Some(Enclosed { kept, exceeded }) => {
                    let gap = exceeded.rate - kept.rate;
                    (gap > kept.rate * self.width.get() * 1.001).then_some(kept.rate + part * gap)
                }
                None if last.ratio <= 1.0 => Some(last.rate * wider),
                None => Some(first.rate / wider),
            }
        });
        let rate = rate(next?);
        let is_allowed = self.to.is_none_or(|to| rate <= to) && self.from.is_none_or(|from| rate >= from);
        is_allowed.then(|| Try { rate, length: self.grid_length(rate), kind: StepKind::Extra })
    }

    fn seek(&self, steps: &Steps<'_>, pace: f64) -> Seek {
        let Steps { history, tried } = steps;
        let spoiled = || history.iter().filter(|step| step.step.end == StepEnd::Generator);
        let is_ceiling = |rate: f64| {
            let here: Vec<_> = spoiled().filter(|step| step.step.rate.get() == rate).collect();
            let is_busy = here.iter().any(|step| is_busy(step));
            here.len() >= if is_busy { BUSY_STEPS } else { LATE_STEPS }
        };
        if let Some(last) = history.last().filter(|last| last.step.end == StepEnd::Generator)
            && !is_ceiling(last.step.rate.get())
        {
            return Seek::Try(self.plan(last.step.rate.get(), last.step.kind));
        }
        let is_low = |rate: f64| rate <= self.clamp(pace * SEARCH_BEGIN) * 0.5_f64.powi(SPOILED_HALVINGS);
        let rates = spoiled().map(|step| step.step.rate.get());
        let ceiling = rates.filter(|rate| is_ceiling(*rate)).min_by(f64::total_cmp);
        let low = tried.iter().rfind(|tried| tried.is_kept);
        let high = tried.iter().find(|tried| !tried.is_kept && low.is_none_or(|low| tried.rate > low.rate));
        match (low, high) {
            (None, None) => match ceiling {
                Some(ceiling) if ceiling <= self.lowest() || is_low(ceiling) => {
                    Seek::Ended(CapacityEnd::AtLeast(rate(0.0)))
                }
                Some(ceiling) => Seek::Try(self.plan(0.5 * ceiling, StepKind::Bracket)),
                None => Seek::Try(self.plan(self.clamp(pace * SEARCH_BEGIN), StepKind::Bracket)),
            },
            (None, Some(_)) => self.lower(tried, pace),
            (Some(low), None) => self.higher(low.rate, ceiling),
            (Some(low), Some(high)) => self.between(steps, low, high),
        }
    }

    /// The longest step at each rate, ascending. What is open is left out where a longer step says otherwise.
    fn tried(&self, objective: usize, history: &[StepRecord], outside: Option<Outside>) -> Vec<Tried> {
        let mut tried: Vec<Tried> = Vec::new();
        for step in history {
            let is_kept = is_kept(&self.objectives, objective, step);
            if outside.is_some_and(|outside| outside.is_denied_by(step, is_kept)) {
                continue;
            }
            let class = classify(&self.objectives, objective, step);
            let new = Tried {
                rate: step.step.rate.get(),
                ratio: load_ratio(&self.objectives, objective, step),
                is_kept,
                class,
                length: step.step.length,
                is_hopeless: !is_kept && is_hopeless(&self.objectives, objective, step),
            };
            match tried.iter_mut().find(|old| old.rate == new.rate) {
                _ if class == Class::Generator => {}
                Some(old) if old.length <= new.length => *old = new,
                Some(_) => {}
                None => tried.push(new),
            }
        }
        tried.sort_by(|a, b| a.rate.total_cmp(&b.rate));
        let contradicted = |tried: &Tried, other: &Tried| {
            let reversed = if tried.is_kept { other.rate <= tried.rate } else { other.rate >= tried.rate };
            reversed && other.is_kept != tried.is_kept && other.length > tried.length
        };
        let all = tried.clone();
        tried.retain(|tried| !tried.is_open() || !all.iter().any(|other| contradicted(tried, other)));
        tried
    }

    /// Nothing is kept so far. Where the queue empties it may not be the load: a few higher rates are tried too.
    fn lower(&self, tried: &[Tried], pace: f64) -> Seek {
        let (lowest, highest) = (&tried[0], &tried[tried.len() - 1]);
        // A lower rate, and a higher one, which a service that is slow after each pause would like better.
        if tried.len() >= HOPELESS_STEPS && tried.iter().all(|one| one.is_hopeless) {
            return Seek::Ended(CapacityEnd::Below(rate(lowest.rate)));
        }
        let up = self.clamp(2.0 * highest.rate);
        if tried.len() > 1 && highest.class != Class::Cut && up <= 0.5 * pace && up > highest.rate {
            return Seek::Try(self.plan(up, StepKind::Bracket));
        }
        let first = pace * SEARCH_BEGIN;
        // Far below the first rate not even a long step is worth its time.
        let is_far = |halvings: i32| lowest.rate <= first * 0.5_f64.powi(halvings);
        let is_long = self.least_length(0.5 * lowest.rate, StepKind::Bracket) > SEARCH_STEP * 10;
        if lowest.rate <= self.lowest() || is_far(SEARCH_HALVINGS) || (is_far(3) && is_long) {
            return Seek::Ended(CapacityEnd::Below(rate(lowest.rate)));
        }
        Seek::Try(self.plan(self.clamp(0.5 * lowest.rate), StepKind::Bracket))
    }

    /// Nothing is exceeded so far.
    fn higher(&self, low: f64, ceiling: Option<f64>) -> Seek {
        let doubled = self.clamp(2.0 * low);
        let next = ceiling.map_or(doubled, |ceiling| doubled.min((low * ceiling).sqrt()));
        let is_near = ceiling.is_some_and(|ceiling| ceiling <= low * CEILING_NEAR);
        if is_near || next <= low {
            return Seek::Ended(CapacityEnd::AtLeast(rate(low)));
        }
        Seek::Try(self.plan(next, StepKind::Bracket))
    }

    /// A long step where an end of the bracket is open. Then inverse interpolation in limit/statistic, within the
    /// middle half of the bracket. When that is narrow, a few long steps where the line through the steps so far
    /// expects the statistic below, above and at its limit.
    fn between(&self, steps: &Steps<'_>, low: &Tried, high: &Tried) -> Seek {
        if steps.history.len() >= SEARCH_STEPS * self.objectives.list().len() {
            return Seek::Rates(self.grid(&steps.tried, low, high));
        }
        for open in [low, high].into_iter().filter(|tried| tried.is_open()) {
            let (rate, length) = (rate(open.rate), self.grid_length(rate(open.rate)));
            if open.length < length {
                return Seek::Try(Try { rate, length, kind: StepKind::Narrow });
            }
        }
        let width = if low.is_calm() { 4.0 * self.width.get() } else { BRACKET_WIDTH };
        if high.rate > low.rate * (1.0 + width) {
            let [before, after] = [low, high].map(|tried| 1.0 / tried.ratio.max(1e-3));
            let part = ((before - 1.0) / (before - after)).clamp(0.25, 0.75);
            return Seek::Try(self.plan(low.rate + part * (high.rate - low.rate), StepKind::Narrow));
        }
        let line = line_near_limit(&steps.tried, low, high);
        let aimed = steps.aimed(|rate| self.grid_length(rate));
        // Whatever short steps do not see, such as stalls, long ones may.
        let short = |end: &&&Tried| line.is_none() && end.length < self.grid_length(rate(end.rate));
        if let Some(short) = [low, high].iter().find(short) {
            let (rate, length) = (rate(short.rate), self.grid_length(rate(short.rate)));
            return Seek::Try(Try { rate, length, kind: StepKind::Narrow });
        }
        let ratio = AIMED_RATIOS[aimed % AIMED_RATIOS.len()];
        let wants_more =
            |line: &InverseLine| aimed < AIMED_RATIOS.len() || (aimed < AIMED_MOST && !is_placed(line));
        let aim = line.filter(wants_more).and_then(|line| line.reaches(ratio));
        match aim.map(|aim| rate(self.clamp(aim))) {
            Some(rate) => Seek::Try(Try { rate, length: self.grid_length(rate), kind: StepKind::Narrow }),
            None => Seek::Rates(self.grid(&steps.tried, low, high)),
        }
    }

    /// The rates at which the statistic is expected to be [`GRID_RATIOS`] of the limit, or rates evenly spaced in
    /// the bracket. Where those of the line would be too near to each other each block narrows for itself, and the
    /// grid only encloses its capacity.
    fn grid(&self, tried: &[Tried], low: &Tried, high: &Tried) -> Vec<f64> {
        let line = line_near_limit(tried, low, high);
        let middle = line.and_then(|line| line.reaches(1.0));
        let mut rates: Vec<f64> = match (line, middle) {
            (Some(line), Some(middle)) if line.elasticity().is_some_and(|e| e >= STEEP_ELASTICITY) => {
                (-2..=2).map(|at| middle * (1.0 + 2.0 * self.width.get() * f64::from(at))).collect()
            }
            (Some(line), Some(_)) => GRID_RATIOS.iter().filter_map(|ratio| line.reaches(*ratio)).collect(),
            _ => (0..=4).map(|at| low.rate + 0.25 * f64::from(at) * (high.rate - low.rate)).collect(),
        };
        for at in 1..rates.len() {
            rates[at] = rates[at].max(rates[at - 1] * (1.0 + self.width.get()));
        }
        // A rate far below that is surely exceeded is measured by every block, and the surest kept above it: both
        // must be shown for "not monotone".
        let reversed = |tried: &&Tried| tried.class == Class::Exceeded && tried.rate < low.rate * 0.8;
        if let Some(worst) = tried.iter().filter(reversed).max_by(|a, b| a.ratio.total_cmp(&b.ratio)) {
            let above = tried.iter().filter(|tried| tried.is_kept && tried.rate > worst.rate);
            let calmest = above.min_by(|a, b| a.ratio.total_cmp(&b.ratio));
            rates.extend([worst].into_iter().chain(calmest).map(|tried| tried.rate));
        }
        rates.into_iter().filter(|rate| *rate > 0.0).map(|rate| self.clamp(rate)).collect()
    }

    fn plan(&self, rate: f64, kind: StepKind) -> Try {
        let length = self.least_length(rate, kind).max(SEARCH_STEP);
        Try { rate: self::rate(rate), length, kind }
    }

    /// The length that holds enough requests, and enough beyond each quantile; a tenth of them in the bracket.
    fn least_length(&self, rate: f64, kind: StepKind) -> Nanoseconds {
        let beyond = |quantile: f64| BEYOND_PER_STEP as f64 / (1.0 - quantile);
        let statistics = self.objectives.conditions().iter().filter_map(|c| c.measure.statistic());
        let fewest = if self.rates.is_empty() { STEP_REQUESTS } else { LISTED_STEP_REQUESTS };
        let wanted = statistics.filter_map(TimeStatistic::quantile).map(beyond).fold(fewest as f64, f64::max);
        let wanted = if kind == StepKind::Bracket { 0.1 * wanted } else { wanted };
        let counted = COUNTED as f64 / PARTS as f64;
        Nanoseconds::from_secs_f64(wanted / (rate * counted).max(1e-3)).min(STEP_LONGEST)
    }

    fn lowest(&self) -> f64 {
        self.from.map_or(0.0, PerSecond::get)
    }

    fn clamp(&self, rate: f64) -> f64 {
        rate.min(self.to.map_or(f64::INFINITY, PerSecond::get)).max(self.lowest())
    }
}

/// Whether the limit's place is known well enough for a grid around it.
fn is_placed(line: &InverseLine) -> bool {
    let (Some(lowest), Some(highest)) = (line.reaches(GRID_RATIOS[0]), line.reaches(GRID_RATIOS[4])) else {
        return false;
    };
    line.error_at_limit().is_some_and(|error| error <= PLACED * (highest - lowest))
}

/// Whether the generator had hardly any time left. One that was late all the same was held up by the host.
fn is_busy(step: &StepRecord) -> bool {
    let health = step.step.health;
    health.busy.share_of(health.wall).get() > BUSY_SHARE
}

/// The line through the steps whose statistics are nearest to the limit; `None` where the statistic jumps, and where the
/// line does not meet the limit near the bracket.
fn line_near_limit(tried: &[Tried], low: &Tried, high: &Tried) -> Option<InverseLine> {
    if low.is_calm() {
        return None;
    }
    let mut near: Vec<&Tried> =
        tried.iter().filter(|tried| tried.class != Class::Cut && tried.ratio > 0.0).collect();
    near.sort_by(|a, b| a.ratio.ln().abs().total_cmp(&b.ratio.ln().abs()));
    let enough =
        near.len().min(LINE_STEPS).max(near.iter().filter(|tried| GRID_FIT.contains(&tried.ratio)).count());
    let point = |tried: &&Tried| {
        let weight = tried.length.as_secs_f64() * line_weight(tried.ratio);
        RatePoint { rate: tried.rate, ratio: tried.ratio, weight }
    };
    let line = InverseLine::new(&near[..enough].iter().map(point).collect::<Vec<_>>())?;
    // The few steps near the limit tell its place better than the slope there. The chord from a calm step is less
    // steep than the curve at the limit, since waiting grows ever faster, but not by much.
    let calm = tried.iter().rfind(|tried| CALM.contains(&tried.ratio));
    let line = calm.map_or(line, |calm| line.no_flatter_than_chord(point(&calm), CHORD_FACTOR));
    let meets = (low.rate * 0.9..=high.rate * 1.1).contains(&line.reaches(1.0)?);
    meets.then_some(line)
}

/// Each rate once; one that lies within `apart` above another is left out.
fn ascending(mut rates: Vec<f64>, apart: f64) -> Vec<PerSecond> {
    rates.sort_by(f64::total_cmp);
    rates.dedup_by(|next, kept| *next <= *kept * (1.0 + apart));
    rates.into_iter().map(rate).collect()
}
