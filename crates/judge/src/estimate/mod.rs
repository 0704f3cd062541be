//! Block estimates, and the estimates made from them: the only place where two variants are compared.
//!
//! There are two estimands. The *typical* (p50 in closed load) is the median over a block's rounds of the
//! log-ratio, and of the difference, of the windows' p50 (in a duet over pairs of rounds, between which the
//! cores were swapped). A *total* (everything else) pools all measured windows of a variant in a block,
//! nothing trimmed, and gives one log-ratio and one difference per block. Ratios are exp of the mean of block
//! log-ratios; intervals are Student's t over blocks. No robust location is ever taken of a total.
//!
//! A block's estimate compares a variant with the baseline of the same batch. Two variants that never lived
//! in one batch are compared through a third that lived beside both: log-ratios and differences are
//! subtracted block by block.

mod capacity;
pub mod parts;

pub(crate) use capacity::BlockSteps;

use weighbridge_model::estimate::{Bounds, ContrastKind, Estimate, Quantity, Statistic};
use weighbridge_model::id::{PointId, VariantId};
use weighbridge_model::pairing::Pairing;
use weighbridge_model::quantity::PerSecond;
use weighbridge_model::record::WindowKind;

use crate::question::{Load, Point, Question, Scope};
use crate::records::{Cell, CellTotals, Records, RoundValue, Totals, WindowSelection, means_of_swapped};
use crate::stats::bootstrap::studentised;
use crate::stats::interval::{Interval, Mean};
use crate::stats::sample::median;
use crate::stats::share::{self, Tried};
use crate::thresholds::{BEYOND_IN_ALL, BEYOND_PER_BLOCK, BLOCKS_FOR_BOOTSTRAP, BLOCKS_FOR_INTERVAL, LEVEL};

#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum Absence {
    #[error("no block that counts; run it again and look at the findings")]
    NoBlock,
    #[error("not measured")]
    NotMeasured,
    #[error(
        "variants were sent to in turn, request by request, and share one time; set `pairing = \"sequential\"` for throughput"
    )]
    SharedTime,
    #[error(
        "{found} requests beyond this quantile in a block, {BEYOND_PER_BLOCK} are needed; allow a larger budget"
    )]
    FewPerBlock {
        /// In the block with the fewest.
        found: u64,
    },
    #[error(
        "{found} requests beyond this quantile in all, {BEYOND_IN_ALL} are needed; allow a larger budget"
    )]
    FewInAll {
        /// Of the variant or the baseline, whichever has fewer.
        found: u64,
    },
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BlockEstimate {
    pub block: u32,
    /// On the scale of the contrast: ln(variant / baseline), or the difference where that is plain.
    pub compared: f64,
    /// Variant minus baseline, in the quantity's unit.
    pub difference: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Contrast {
    blocks: Vec<BlockEstimate>,
    first_stage: usize,
    kind: ContrastKind,
    allowance: Allowance,
    /// See [`Mean::least`].
    least: f64,
}

/// What a contrast may be off, either way, without showing in the spread of blocks: where capacities lie between two
/// rates that all blocks have in common.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Allowance {
    /// On the scale of the contrast.
    compared: f64,
    /// In the quantity's unit.
    difference: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Estimand {
    pub point: PointId,
    pub variant: VariantId,
    pub scope: Scope,
}

#[derive(Debug, Clone)]
pub struct VariantSamples<'a> {
    scope: Scope,
    load: Load,
    first_stage: usize,
    cells: Vec<CellTotals<'a>>,
    /// One for each trial; empty if no block has several trials of the variant.
    trials: Vec<CellTotals<'a>>,
    throughput: Result<(), Absence>,
    /// Of the capacity, on the log scale.
    allowance: f64,
}

impl Contrast {
    /// `blocks` ascend by block; `first_stage` is the number of blocks whose spread counts (see
    /// [`Mean::with_first_stage`]).
    pub fn new(blocks: Vec<BlockEstimate>, first_stage: usize) -> Self {
        let (kind, allowance) = (ContrastKind::Log, Allowance::default());
        Self { blocks, first_stage, kind, allowance, least: 0.0 }
    }

    /// Of differences of shares; for `least` see [`Mean::least`].
    pub fn plain(blocks: Vec<BlockEstimate>, first_stage: usize, least: f64) -> Self {
        Self { kind: ContrastKind::Plain, least, ..Self::new(blocks, first_stage) }
    }

    /// This contrast over another against the same third variant: the differences of what is compared in every
    /// block that both have.
    pub fn over(&self, other: &Self) -> Result<Self, Absence> {
        let block = |mine: &BlockEstimate| {
            let theirs = other.blocks.iter().find(|block| block.block == mine.block)?;
            Some(BlockEstimate {
                block: mine.block,
                compared: mine.compared - theirs.compared,
                difference: mine.difference - theirs.difference,
            })
        };
        let blocks: Vec<_> = self.blocks.iter().filter_map(block).collect();
        let allowance = Allowance {
            compared: self.allowance.compared + other.allowance.compared,
            difference: self.allowance.difference + other.allowance.difference,
        };
        let least = self.least.hypot(other.least);
        let over = Self { blocks, allowance, least, ..*self };
        if over.blocks.is_empty() { Err(Absence::NotMeasured) } else { Ok(over) }
    }

    pub fn blocks(&self) -> &[BlockEstimate] {
        &self.blocks
    }

    /// Block by block, on the scale of the contrast.
    pub fn compared(&self) -> Vec<f64> {
        self.blocks.iter().map(|block| block.compared).collect()
    }

    /// The mean on the scale of the contrast, with its error; `None` below 4 blocks, where there is no interval.
    pub fn mean(&self) -> Option<Mean> {
        let mean = mean_with_error(&self.compared(), self.first_stage)?;
        Some(mean.with_allowance(self.allowance.compared).with_least(self.least))
    }

    /// Variant over baseline: exp of the mean of block log-ratios, with exponentiated bounds; `None` of a plain contrast.
    pub fn ratio(&self) -> Option<Estimate> {
        let logs = widened(estimate(&self.compared(), self.first_stage), self.allowance.compared);
        let ratio = Estimate {
            point: logs.point.exp(),
            lower: logs.lower.map(f64::exp),
            upper: logs.upper.map(f64::exp),
            bootstrap: bootstrap(&self.compared())
                .map(|Bounds { lower, upper }| Bounds { lower: lower.exp(), upper: upper.exp() }),
            ..logs
        };
        (self.kind == ContrastKind::Log).then_some(ratio)
    }

    /// Variant minus baseline: the mean of block differences.
    pub fn difference(&self) -> Estimate {
        let differences: Vec<f64> = self.blocks.iter().map(|block| block.difference).collect();
        let difference = widened(estimate(&differences, self.first_stage), self.allowance.difference);
        match self.kind {
            ContrastKind::Log => Estimate { bootstrap: bootstrap(&differences), ..difference },
            ContrastKind::Plain => {
                let interval = self.mean().map(|mean| mean.interval(LEVEL));
                let bound = |of: fn(&Interval) -> f64| Some(of(interval.as_ref()?).clamp(-1.0, 1.0));
                Estimate { lower: bound(|i| i.lower), upper: bound(|i| i.upper), ..difference }
            }
        }
    }

    /// Half-width of the interval that the contrast is judged by: of a ratio relative to it (0.01: known within a
    /// factor of 1.01 either way), of a plain difference in its unit; `None` below 4 blocks.
    pub fn half_width(&self) -> Option<f64> {
        let half = self.mean()?.interval(LEVEL).half_width();
        Some(if self.kind == ContrastKind::Log { half.exp_m1() } else { half })
    }
}

pub(crate) fn mean_with_error(values: &[f64], first_stage: usize) -> Option<Mean> {
    let stage = first_stage.max(BLOCKS_FOR_INTERVAL);
    (values.len() >= BLOCKS_FOR_INTERVAL).then(|| Mean::with_first_stage(values, stage)).flatten()
}

/// The bootstrap-t interval of block values, from 10 blocks on. It ignores that Stein's rule may have set the
/// number of blocks, so it is shown and decides nothing.
fn bootstrap(values: &[f64]) -> Option<Bounds> {
    let enough = (values.len() >= BLOCKS_FOR_BOOTSTRAP).then_some(values)?;
    let interval = studentised(enough, LEVEL)?;
    Some(Bounds { lower: interval.lower, upper: interval.upper })
}

/// The mean of block values, with a t interval from 4 blocks on. `values` must not be empty.
pub(crate) fn estimate(values: &[f64], first_stage: usize) -> Estimate {
    let interval = mean_with_error(values, first_stage).map(|mean| mean.interval(LEVEL));
    Estimate {
        point: values.iter().sum::<f64>() / values.len() as f64,
        lower: interval.map(|i| i.lower),
        upper: interval.map(|i| i.upper),
        level: LEVEL,
        blocks: values.len() as u32,
        bootstrap: None,
    }
}

fn widened(estimate: Estimate, by: f64) -> Estimate {
    let (lower, upper) = (estimate.lower.map(|lower| lower - by), estimate.upper.map(|upper| upper + by));
    Estimate { lower, upper, ..estimate }
}

/// The estimate over blocks; `None` if there are none, or if any has no value.
pub(crate) fn estimate_if_all(
    values: impl Iterator<Item = Option<f64>>,
    first_stage: usize,
) -> Option<Estimate> {
    let values: Vec<f64> = values.collect::<Option<_>>()?;
    (!values.is_empty()).then(|| estimate(&values, first_stage))
}

/// How p50 is estimated at a point: pooled, as in open load, unless windows are paired by round.
pub(crate) fn pooling(question: &Question, records: &Records<'_>, point: PointId) -> Load {
    match records.pairing(point) {
        Pairing::Duet | Pairing::Windows => {
            question.points.get(point.index()).map_or(Load::Closed, |point| point.load)
        }
        Pairing::Requests | Pairing::Sequential => Load::Open,
    }
}

/// Whether a quantity is a typical: only p50 in closed load is.
pub fn is_typical(quantity: Quantity, load: Load) -> bool {
    load == Load::Closed && quantity.statistic() == Statistic::Quantile(0.5)
}

impl<'a> VariantSamples<'a> {
    pub fn new(
        question: &Question,
        records: &Records<'a>,
        Estimand { point, variant, scope }: Estimand,
        selection: WindowSelection,
    ) -> Self {
        let load = pooling(question, records, point);
        let asked = question.points.get(point.index()).map_or(Load::Closed, |point| point.load);
        let throughput = match (records.pairing(point), asked) {
            (Pairing::Requests, Load::Closed) => Err(Absence::SharedTime),
            _ => Ok(()),
        };
        let blocks = question.objectives(point).map(|_| BlockSteps::new(records, point, variant));
        let capacities = blocks.as_ref().map(|blocks| blocks.estimates(question, point)).unwrap_or_default();
        let with_totals = |cell: Cell<'a>| match &blocks {
            None => cell.with_totals(scope),
            Some(blocks) => {
                let value = blocks.value(&capacities, cell.block);
                let is_measured = cell.windows.iter().any(|window| window.kind == WindowKind::Measured);
                let totals = if is_measured { cell.totals(scope) } else { Totals::unknown() };
                CellTotals { totals: totals.with_capacity(value), cell }
            }
        };
        let cells: Vec<_> = records.cells(point, variant, selection).into_iter().map(with_totals).collect();
        let trials = match cells.iter().any(|one| one.cell.trials.len() > 1) {
            true => records.trial_cells(point, variant, selection).into_iter().map(with_totals).collect(),
            false => Vec::new(),
        };
        let allowance = capacities.first().map_or(0.0, |capacity| capacity.allowance);
        Self { scope, load, first_stage: question.blocks.min as usize, cells, trials, throughput, allowance }
    }

    /// Those of one rate of a search for capacity. They have no quantiles, since windows alone tell of them.
    pub(crate) fn of_rate(
        question: &Question,
        records: &Records<'a>,
        Estimand { point, variant, scope }: Estimand,
        rate: PerSecond,
    ) -> Self {
        let steps = records.cells(point, variant, WindowSelection::Steps).into_iter();
        let cells = steps.filter_map(|cell| cell.at_rate(rate)).map(|cell| cell.with_totals(scope)).collect();
        let first_stage = question.blocks.min as usize;
        Self {
            scope,
            load: Load::Open,
            first_stage,
            cells,
            trials: Vec::new(),
            throughput: Ok(()),
            allowance: 0.0,
        }
    }

    /// The same samples with p50 estimated from single windows, as if paired by round in closed load: for
    /// checks, whose windows have no histograms.
    pub(crate) fn by_windows(self) -> Self {
        Self { load: Load::Closed, ..self }
    }

    /// The variant's own figure: the mean of block values.
    pub fn figure(&self, quantity: Quantity) -> Result<Estimate, Absence> {
        let values: Vec<f64> = self.values(quantity)?.into_iter().map(|(_, value)| value).collect();
        let figure = widened(estimate(&values, self.first_stage), self.allowance_in_unit(quantity, &values));
        if quantity.contrast() == ContrastKind::Log {
            return Ok(figure);
        }
        let tries = self.cells.iter().map(|one| one.totals.tries(quantity)).sum();
        let interval =
            mean_with_error(&values, self.first_stage).map(|mean| share::interval(mean, tries, LEVEL));
        Ok(Estimate { lower: interval.map(|i| i.lower), upper: interval.map(|i| i.upper), ..figure })
    }

    /// Only rates can be too far apart to tell.
    fn allowance_of(&self, quantity: Quantity) -> f64 {
        if quantity == Quantity::Capacity { self.allowance } else { 0.0 }
    }

    fn allowance_in_unit(&self, quantity: Quantity, values: &[f64]) -> f64 {
        self.allowance_of(quantity) * values.iter().sum::<f64>() / values.len().max(1) as f64
    }

    /// The value of a quantity in each block; never empty. A block's typical is the median of its windows'
    /// p50.
    pub fn values(&self, quantity: Quantity) -> Result<Vec<(u32, f64)>, Absence> {
        self.enough_per_block(self.cells.iter(), quantity)?;
        let block_value =
            |one: &CellTotals<'_>| Some((one.cell.block, one.figure(self.scope, self.load, quantity)?));
        let values: Vec<_> = self.cells.iter().filter_map(block_value).collect();
        if values.is_empty() { Err(Absence::NotMeasured) } else { Ok(values) }
    }

    /// This variant against `baseline`, over blocks in which both were measured in one batch.
    ///
    /// A quantile needs 20 requests beyond it in every block and 100 in all, of both variants.
    pub fn against(&self, baseline: &VariantSamples<'_>, quantity: Quantity) -> Result<Contrast, Absence> {
        let pairs: Vec<_> =
            self.cells.iter().filter_map(|mine| Some((mine, baseline.beside(&mine.cell)?))).collect();
        self.enough(self.cells.iter(), quantity)?;
        match pairs.is_empty() {
            true => baseline.enough(baseline.cells.iter(), quantity)?,
            false => baseline.enough(pairs.iter().map(|(_, theirs)| *theirs), quantity)?,
        }
        let estimate = |(mine, theirs): &(&CellTotals<'_>, &CellTotals<'_>)| {
            block_estimate(mine, theirs, self.scope, self.load, quantity)
        };
        let blocks: Vec<_> = pairs.iter().filter_map(estimate).collect();
        if blocks.is_empty() {
            return Err(Absence::NotMeasured);
        }
        if quantity.contrast() == ContrastKind::Plain {
            let mine = tried(pairs.iter().map(|(mine, _)| *mine), quantity);
            let theirs = tried(pairs.iter().map(|(_, theirs)| *theirs), quantity);
            return Ok(Contrast::plain(blocks, self.first_stage, mine.least(theirs, LEVEL)));
        }
        let in_unit = |samples: &VariantSamples<'_>| {
            let values: Vec<f64> = samples.values(quantity)?.into_iter().map(|(_, value)| value).collect();
            Ok(samples.allowance_in_unit(quantity, &values))
        };
        let allowance = Allowance {
            compared: self.allowance_of(quantity) + baseline.allowance_of(quantity),
            difference: in_unit(self)? + in_unit(baseline)?,
        };
        Ok(Contrast { allowance, ..Contrast::new(blocks, self.first_stage) })
    }

    /// The part of this variant in the same block and the same batches as another's cell.
    fn beside(&self, other: &Cell<'_>) -> Option<&CellTotals<'a>> {
        let beside =
            |one: &&CellTotals<'_>| one.cell.block == other.block && one.cell.batches().eq(other.batches());
        self.trials.iter().chain(&self.cells).find(beside)
    }

    pub(crate) fn log_values(&self, quantity: Quantity) -> Vec<f64> {
        let log = |one: &CellTotals<'_>| one.log_figure(self.scope, self.load, quantity);
        self.cells.iter().filter_map(log).collect()
    }

    /// Whether the workload counted anything.
    pub(crate) fn counts(&self) -> bool {
        self.cells.iter().any(|one| one.cell.counts().is_some())
    }

    pub(crate) fn cells(&self) -> &[CellTotals<'a>] {
        &self.cells
    }

    /// The cells for each trial, ascending by block.
    pub(crate) fn trials(&self) -> &[CellTotals<'a>] {
        if self.trials.is_empty() { &self.cells } else { &self.trials }
    }

    pub(crate) fn scope(&self) -> Scope {
        self.scope
    }

    pub(crate) fn load(&self) -> Load {
        self.load
    }

    /// Requests beyond a quantile in each cell; for any other quantity, always enough.
    fn beyond<'s>(&self, cells: impl Iterator<Item = &'s CellTotals<'a>>, quantity: Quantity) -> Vec<u64>
    where
        'a: 's,
    {
        let count = |CellTotals { cell, totals }: &CellTotals<'_>| match quantity.statistic() {
            Statistic::Quantile(q) if is_typical(quantity, self.load) => beyond(cell.good(self.scope), q),
            Statistic::Quantile(q) => beyond(totals.recorded, q),
            _ => BEYOND_IN_ALL,
        };
        cells.map(count).collect()
    }

    fn enough_per_block<'s>(
        &self,
        cells: impl Iterator<Item = &'s CellTotals<'a>>,
        quantity: Quantity,
    ) -> Result<u64, Absence>
    where
        'a: 's,
    {
        let beyond = self.beyond(cells, quantity);
        if quantity == Quantity::Throughput && !beyond.is_empty() {
            self.throughput?;
        }
        match beyond.iter().min() {
            None => Err(Absence::NoBlock),
            Some(&found) if found < BEYOND_PER_BLOCK => Err(Absence::FewPerBlock { found }),
            Some(_) => Ok(beyond.iter().sum()),
        }
    }

    /// Whether it holds enough requests for a cost of this quantity, whatever it is compared with.
    pub(crate) fn can_cost(&self, quantity: Quantity) -> Result<(), Absence> {
        self.enough(self.cells.iter(), quantity)
    }

    fn enough<'s>(
        &self,
        cells: impl Iterator<Item = &'s CellTotals<'a>>,
        quantity: Quantity,
    ) -> Result<(), Absence>
    where
        'a: 's,
    {
        let found = self.enough_per_block(cells, quantity)?;
        if found < BEYOND_IN_ALL { Err(Absence::FewInAll { found }) } else { Ok(()) }
    }
}

impl CellTotals<'_> {
    /// The p50 is taken by windows if it is a typical.
    pub(crate) fn figure(&self, scope: Scope, load: Load, quantity: Quantity) -> Option<f64> {
        match is_typical(quantity, load) {
            true => self.cell.middle_p50(scope, quantity),
            false => self.totals.get(quantity),
        }
    }

    /// `None` where the figure is 0.
    pub(crate) fn log_figure(&self, scope: Scope, load: Load, quantity: Quantity) -> Option<f64> {
        self.figure(scope, load, quantity).filter(|figure| *figure > 0.0).map(f64::ln)
    }
}

/// Requests of `count` that lie beyond the `q` quantile, by nearest rank.
pub(crate) fn beyond(count: u64, q: f64) -> u64 {
    (count as f64 * (1.0 - q) + 1e-6).floor() as u64
}

pub(crate) fn block_estimate(
    mine: &CellTotals<'_>,
    theirs: &CellTotals<'_>,
    scope: Scope,
    load: Load,
    quantity: Quantity,
) -> Option<BlockEstimate> {
    if is_typical(quantity, load) {
        return typical(&mine.cell, &theirs.cell, scope, quantity);
    }
    let (block, mine, theirs) = (mine.cell.block, mine.totals.get(quantity)?, theirs.totals.get(quantity)?);
    match quantity.contrast() {
        ContrastKind::Log => total(block, mine, theirs),
        ContrastKind::Plain => {
            let difference = mine - theirs;
            Some(BlockEstimate { block, compared: difference, difference })
        }
    }
}

/// The typical of one block: medians over rounds. If a variant has several windows in a round (the baseline,
/// from five variants on), the round's value is the median of their p50.
///
/// In a duet, the difference between the two sets of cores is in every round: added in one round of each
/// pair, subtracted in the other. The mean of a pair is free of it, so the median is taken over these means;
/// a median over rounds would lie anywhere between two clusters.
fn typical(mine: &Cell<'_>, theirs: &Cell<'_>, scope: Scope, quantity: Quantity) -> Option<BlockEstimate> {
    let rounds = round_pairs(mine, theirs, scope, quantity);
    let middle = |compare: fn(f64, f64) -> f64| {
        let compared = |(round, a, b): &(u32, f64, f64)| RoundValue { round: *round, value: compare(*a, *b) };
        let values: Vec<RoundValue> = rounds.iter().map(compared).collect();
        match mine.pairing() {
            Pairing::Duet => median(&means_of_swapped(&values)),
            _ => median(&values.iter().map(|one| one.value).collect::<Vec<_>>()),
        }
    };
    let (compared, difference) = (middle(|a, b| (a / b).ln())?, middle(|a, b| a - b)?);
    Some(BlockEstimate { block: mine.block, compared, difference })
}

/// The p50s of variant and baseline in every round in which both had a good reply, ascending by round.
fn round_pairs(mine: &Cell<'_>, theirs: &Cell<'_>, scope: Scope, quantity: Quantity) -> Vec<(u32, f64, f64)> {
    let theirs = theirs.medians_by_round(scope, quantity);
    let pair =
        |(round, windows): (u32, Vec<f64>)| Some((round, median(&windows)?, median(theirs.get(&round)?)?));
    let positive = |(_, a, b): &(u32, f64, f64)| *a > 0.0 && *b > 0.0;
    mine.medians_by_round(scope, quantity).into_iter().filter_map(pair).filter(positive).collect()
}

fn total(block: u32, mine: f64, theirs: f64) -> Option<BlockEstimate> {
    let positive = mine > 0.0 && theirs > 0.0;
    positive.then(|| BlockEstimate { block, compared: (mine / theirs).ln(), difference: mine - theirs })
}

/// The share that a side has over blocks, and of how many tries. Only blocks with a share have tries.
fn tried<'s, 'a: 's>(cells: impl Iterator<Item = &'s CellTotals<'a>>, quantity: Quantity) -> Tried {
    let shares: Vec<(f64, u64)> =
        cells.filter_map(|one| Some((one.totals.get(quantity)?, one.totals.tries(quantity)))).collect();
    let sum: f64 = shares.iter().map(|(share, _)| share).sum();
    Tried { share: sum / shares.len().max(1) as f64, tries: shares.iter().map(|(_, tries)| tries).sum() }
}

/// `mine` against `baseline`; through `bridge`, which lived beside both, if they never lived together.
pub(crate) fn contrast_between(
    mine: &VariantSamples<'_>,
    baseline: &VariantSamples<'_>,
    bridge: Option<&VariantSamples<'_>>,
    quantity: Quantity,
) -> Result<Contrast, Absence> {
    match bridge {
        None => mine.against(baseline, quantity),
        Some(bridge) => mine.against(bridge, quantity)?.over(&baseline.against(bridge, quantity)?),
    }
}

pub fn contrast(
    question: &Question,
    records: &Records<'_>,
    estimand: Estimand,
    selection: WindowSelection,
    quantity: Quantity,
) -> Result<Contrast, Absence> {
    let samples =
        |variant| VariantSamples::new(question, records, Estimand { variant, ..estimand }, selection);
    let bridge = records.bridge.map(samples);
    contrast_between(&samples(estimand.variant), &samples(VariantId(0)), bridge.as_ref(), quantity)
}

#[derive(Debug, Clone, PartialEq)]
pub struct Headline {
    pub point: PointId,
    /// Never the baseline.
    pub variant: VariantId,
    /// Over the blocks so far.
    pub contrast: Result<Contrast, Absence>,
}

/// The log capacities of a variant without another to compare it with, one list a point: what the goal of such a run is
/// about. Empty for any other run.
pub fn lone_log_capacities(question: &Question, records: &Records<'_>) -> Vec<Vec<f64>> {
    if question.variants.len() > 1 || question.headline != Quantity::Capacity {
        return Vec::new();
    }
    let logs = |(point, facts): (PointId, &Point)| {
        let scope = *facts.scopes().first()?;
        let estimand = Estimand { point, variant: VariantId(0), scope };
        let samples = VariantSamples::new(question, records, estimand, WindowSelection::Measured);
        Some(samples.log_values(Quantity::Capacity)).filter(|logs| !logs.is_empty())
    };
    question.points().filter_map(logs).collect()
}

/// The headline of every variant at every point, over the blocks so far, for stopping and for progress.
pub fn headlines(question: &Question, records: &Records<'_>) -> Vec<Headline> {
    let mut found = Vec::new();
    for (point, facts) in question.points() {
        let Some(&scope) = facts.scopes().first() else { continue };
        let samples = |variant| {
            let estimand = Estimand { point, variant, scope };
            VariantSamples::new(question, records, estimand, WindowSelection::Measured)
        };
        let (baseline, bridge) = (samples(VariantId(0)), records.bridge.map(samples));
        for (variant, _) in question.variants().skip(1) {
            let contrast = contrast_between(&samples(variant), &baseline, bridge.as_ref(), question.headline);
            found.push(Headline { point, variant, contrast });
        }
    }
    found
}
