//! Block estimates, and the estimates made of them: the only place where two variants meet.
//!
//! Two estimands, never mixed. The *typical* (p50 in closed load) is the median over a block's rounds of the
//! log-ratio, and of the difference, of the windows' p50 (in a duet over every two rounds, between which
//! cores were swapped). A *total* (everything else) pools all measured windows of a variant in a block,
//! nothing trimmed, and gives one log-ratio and one difference per block. Ratios are exp of the mean of block
//! log-ratios; intervals are Student's t over blocks. No robust location is ever taken of a total.
//!
//! A block's estimate sets a variant against the baseline that lived beside it, in the same batch. Two
//! variants that never did are compared through a third that lived beside both: log-ratios and differences
//! are subtracted block by block.

pub mod parts;

use weighbridge_model::estimate::{Bounds, Estimate, Quantity, Statistic};
use weighbridge_model::id::{PointId, VariantId};
use weighbridge_model::pairing::Pairing;

use crate::question::{Load, Question, Scope};
use crate::records::{Cell, CellTotals, Records, RoundValue, WindowSelection, means_of_swapped};
use crate::stats::bootstrap::studentised;
use crate::stats::interval::{Interval, Mean};
use crate::stats::sample::median;
use crate::thresholds::{BEYOND_IN_ALL, BEYOND_PER_BLOCK, BLOCKS_FOR_BOOTSTRAP, BLOCKS_FOR_INTERVAL, LEVEL};

/// Why there is no estimate.
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

/// What one block says of variant against baseline.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BlockEstimate {
    /// The block's number.
    pub block: u32,
    /// ln(variant / baseline).
    pub log_ratio: f64,
    /// Variant minus baseline, in the quantity's unit.
    pub difference: f64,
}

/// Variant against baseline over all blocks.
#[derive(Debug, Clone, PartialEq)]
pub struct Contrast {
    blocks: Vec<BlockEstimate>,
    first_stage: usize,
}

/// What an estimate is of: some requests of one variant at one point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Estimand {
    pub point: PointId,
    pub variant: VariantId,
    /// Which requests.
    pub scope: Scope,
}

/// One variant at one point in one scope: its cells with their totals.
#[derive(Debug, Clone)]
pub struct VariantSamples<'a> {
    scope: Scope,
    load: Load,
    first_stage: usize,
    /// One for each block.
    cells: Vec<CellTotals<'a>>,
    /// One for each trial, of blocks in which there were several.
    trials: Vec<CellTotals<'a>>,
    throughput: Result<(), Absence>,
}

impl Contrast {
    /// A contrast of block estimates, rising by block; `first_stage` is the number of blocks whose spread
    /// counts (see [`Mean::with_first_stage`]).
    pub fn new(blocks: Vec<BlockEstimate>, first_stage: usize) -> Self {
        Self { blocks, first_stage }
    }

    /// This contrast over another, both against the same third variant: the difference of log-ratios, and of
    /// differences, of every block that both have.
    pub fn over(&self, other: &Self) -> Result<Self, Absence> {
        let block = |mine: &BlockEstimate| {
            let theirs = other.blocks.iter().find(|block| block.block == mine.block)?;
            Some(BlockEstimate {
                block: mine.block,
                log_ratio: mine.log_ratio - theirs.log_ratio,
                difference: mine.difference - theirs.difference,
            })
        };
        let blocks: Vec<_> = self.blocks.iter().filter_map(block).collect();
        if blocks.is_empty() { Err(Absence::NotMeasured) } else { Ok(Self::new(blocks, self.first_stage)) }
    }

    pub fn blocks(&self) -> &[BlockEstimate] {
        &self.blocks
    }

    /// The blocks' log-ratios.
    pub fn log_ratios(&self) -> Vec<f64> {
        self.blocks.iter().map(|block| block.log_ratio).collect()
    }

    /// Mean log-ratio with its error; `None` below 4 blocks, where no interval is given.
    pub fn log_mean(&self) -> Option<Mean> {
        mean_with_error(&self.log_ratios(), self.first_stage)
    }

    /// Variant over baseline: exp of the mean of block log-ratios, with exponentiated bounds.
    pub fn ratio(&self) -> Estimate {
        let logs = estimate(&self.log_ratios(), self.first_stage);
        Estimate {
            point: logs.point.exp(),
            lower: logs.lower.map(f64::exp),
            upper: logs.upper.map(f64::exp),
            bootstrap: bootstrap(&self.log_ratios())
                .map(|Bounds { lower, upper }| Bounds { lower: lower.exp(), upper: upper.exp() }),
            ..logs
        }
    }

    /// Variant minus baseline: the mean of block differences.
    pub fn difference(&self) -> Estimate {
        let differences: Vec<f64> = self.blocks.iter().map(|block| block.difference).collect();
        Estimate { bootstrap: bootstrap(&differences), ..estimate(&differences, self.first_stage) }
    }

    /// The interval of the ratio; `None` below 4 blocks.
    pub fn ratio_interval(&self) -> Option<Interval> {
        self.log_mean().map(|mean| mean.interval(LEVEL).exp())
    }

    /// Half-width of the ratio's interval, relative to the ratio (0.01: known to within a factor of 1.01
    /// either way); `None` below 4 blocks.
    pub fn half_width(&self) -> Option<f64> {
        self.log_mean().map(|mean| mean.interval(LEVEL).half_width().exp_m1())
    }
}

pub(crate) fn mean_with_error(values: &[f64], first_stage: usize) -> Option<Mean> {
    let stage = first_stage.max(BLOCKS_FOR_INTERVAL);
    (values.len() >= BLOCKS_FOR_INTERVAL).then(|| Mean::with_first_stage(values, stage)).flatten()
}

/// The bootstrap-t interval of block values, from 10 blocks on. It takes all blocks alike, also where Stein's
/// rule decided how many there are; so it is shown and decides nothing.
fn bootstrap(values: &[f64]) -> Option<Bounds> {
    let enough = (values.len() >= BLOCKS_FOR_BOOTSTRAP).then_some(values)?;
    let interval = studentised(enough, LEVEL)?;
    Some(Bounds { lower: interval.lower, upper: interval.upper })
}

/// The estimate of block values: their mean with a t interval from 4 blocks on. `values` is not empty.
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

/// How p50 is estimated at a point: as in open load, pooled, wherever windows are not paired by round.
pub(crate) fn pooling(question: &Question, records: &Records<'_>, point: PointId) -> Load {
    match records.pairing(point) {
        Pairing::Duet | Pairing::Windows => {
            question.points.get(point.index()).map_or(Load::Closed, |point| point.load)
        }
        Pairing::Requests | Pairing::Sequential => Load::Open,
    }
}

/// Whether a quantity is a typical under this load: p50 in closed load, and nothing else.
pub fn is_typical(quantity: Quantity, load: Load) -> bool {
    load == Load::Closed && quantity.statistic() == Statistic::Quantile(0.5)
}

impl<'a> VariantSamples<'a> {
    /// Adds up one variant at one point in one scope.
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
        let with_totals = |cell: Cell<'a>| cell.with_totals(scope);
        let cells: Vec<_> = records.cells(point, variant, selection).into_iter().map(with_totals).collect();
        let trials = match cells.iter().any(|one| one.cell.trials.len() > 1) {
            true => records.trial_cells(point, variant, selection).into_iter().map(with_totals).collect(),
            false => Vec::new(),
        };
        Self { scope, load, first_stage: question.blocks.min as usize, cells, trials, throughput }
    }

    /// The same with p50 estimated from single windows, as where they are paired by round, whatever the load:
    /// for checks, whose windows have no histograms.
    pub(crate) fn by_windows(self) -> Self {
        Self { load: Load::Closed, ..self }
    }

    /// The variant's own figure over blocks: the mean of block values.
    pub fn figure(&self, quantity: Quantity) -> Result<Estimate, Absence> {
        let values: Vec<f64> = self.values(quantity)?.into_iter().map(|(_, value)| value).collect();
        Ok(estimate(&values, self.first_stage))
    }

    /// What single blocks say of a quantity: block and value, never none. A block's typical is the median of
    /// its windows' p50.
    pub fn values(&self, quantity: Quantity) -> Result<Vec<(u32, f64)>, Absence> {
        self.enough_per_block(self.cells.iter(), quantity)?;
        let block_value =
            |one: &CellTotals<'_>| Some((one.cell.block, one.figure(self.scope, self.load, quantity)?));
        let values: Vec<_> = self.cells.iter().filter_map(block_value).collect();
        if values.is_empty() { Err(Absence::NotMeasured) } else { Ok(values) }
    }

    /// This variant against `baseline`, block by block.
    ///
    /// A block counts where both were measured in one batch of it. Needs, for a quantile, 20 requests beyond
    /// it in every block and 100 in all, of both variants.
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
        match blocks.is_empty() {
            true => Err(Absence::NotMeasured),
            false => Ok(Contrast::new(blocks, self.first_stage)),
        }
    }

    /// What of this variant lived beside a cell of another: in the same block, in the same batches.
    fn beside(&self, other: &Cell<'_>) -> Option<&CellTotals<'a>> {
        let beside =
            |one: &&CellTotals<'_>| one.cell.block == other.block && one.cell.batches().eq(other.batches());
        self.trials.iter().chain(&self.cells).find(beside)
    }

    /// Logarithms of what single blocks say of a quantity.
    pub(crate) fn log_values(&self, quantity: Quantity) -> Vec<f64> {
        let log = |one: &CellTotals<'_>| one.log_figure(self.scope, self.load, quantity);
        self.cells.iter().filter_map(log).collect()
    }

    /// Its cells, one for each block, and what they add up to.
    pub(crate) fn cells(&self) -> &[CellTotals<'a>] {
        &self.cells
    }

    /// A cell with its totals for each trial, rising by block.
    pub(crate) fn trials(&self) -> &[CellTotals<'a>] {
        if self.trials.is_empty() { &self.cells } else { &self.trials }
    }

    /// Which requests it covers.
    pub(crate) fn scope(&self) -> Scope {
        self.scope
    }

    /// Under which load.
    pub(crate) fn load(&self) -> Load {
        self.load
    }

    /// Requests beyond a quantile, cell by cell; of what is no quantile always enough.
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

    /// Whether these cells hold enough requests for a cost.
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
    /// The figure of a quantity; p50 by windows where it is a typical.
    pub(crate) fn figure(&self, scope: Scope, load: Load, quantity: Quantity) -> Option<f64> {
        match is_typical(quantity, load) {
            true => self.cell.middle_p50(scope, quantity),
            false => self.totals.get(quantity),
        }
    }

    /// Its natural logarithm; `None` where it is 0.
    pub(crate) fn log_figure(&self, scope: Scope, load: Load, quantity: Quantity) -> Option<f64> {
        self.figure(scope, load, quantity).filter(|figure| *figure > 0.0).map(f64::ln)
    }
}

/// How many of `count` requests lie beyond the `q` quantile by nearest rank.
pub(crate) fn beyond(count: u64, q: f64) -> u64 {
    (count as f64 * (1.0 - q) + 1e-6).floor() as u64
}

/// What one block, or a part of one, says of `mine` against `theirs`.
pub(crate) fn block_estimate(
    mine: &CellTotals<'_>,
    theirs: &CellTotals<'_>,
    scope: Scope,
    load: Load,
    quantity: Quantity,
) -> Option<BlockEstimate> {
    match is_typical(quantity, load) {
        true => typical(&mine.cell, &theirs.cell, scope, quantity),
        false => total(mine.cell.block, mine.totals.get(quantity)?, theirs.totals.get(quantity)?),
    }
}

/// The typical of one block: medians over rounds. Where a variant has several windows in a round (the
/// baseline, from five variants on), the median of their p50 stands for the round.
///
/// In a duet a round also says by how much its cores differ, once added and once taken away in every two
/// rounds. Their mean is free of it, so it is these means of which the median is taken: of the rounds
/// themselves it would lie anywhere between two clusters.
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
    let (log_ratio, difference) = (middle(|a, b| (a / b).ln())?, middle(|a, b| a - b)?);
    Some(BlockEstimate { block: mine.block, log_ratio, difference })
}

/// The p50 of variant and baseline in every round in which both had a good reply, rising by round.
fn round_pairs(mine: &Cell<'_>, theirs: &Cell<'_>, scope: Scope, quantity: Quantity) -> Vec<(u32, f64, f64)> {
    let theirs = theirs.medians_by_round(scope, quantity);
    let pair =
        |(round, windows): (u32, Vec<f64>)| Some((round, median(&windows)?, median(theirs.get(&round)?)?));
    let positive = |(_, a, b): &(u32, f64, f64)| *a > 0.0 && *b > 0.0;
    mine.medians_by_round(scope, quantity).into_iter().filter_map(pair).filter(positive).collect()
}

fn total(block: u32, mine: f64, theirs: f64) -> Option<BlockEstimate> {
    let positive = mine > 0.0 && theirs > 0.0;
    positive.then(|| BlockEstimate { block, log_ratio: (mine / theirs).ln(), difference: mine - theirs })
}

/// `mine` against `baseline`; where they never lived beside each other, through `bridge`, which did beside
/// both.
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

/// One variant at one point against the baseline, added up from the records.
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

/// The headline of one variant at one point.
#[derive(Debug, Clone, PartialEq)]
pub struct Headline {
    pub point: PointId,
    /// The variant, never the baseline.
    pub variant: VariantId,
    /// Its cost over the blocks so far.
    pub contrast: Result<Contrast, Absence>,
}

/// The headline of every variant at every point, over the blocks so far: what stopping and progress look at.
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
