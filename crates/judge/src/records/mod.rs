//! Trials sorted into blocks: which ones count, which are void, and the sums of one variant in one block.
//!
//! A *cell* is one variant at one point in one block. This module adds up and merges; it never compares two
//! variants, and never averages a percentile.

mod cell;
mod times;

pub use cell::{Cell, CellPair, CellTotals, Totals, scope_figures};
pub(crate) use cell::{Figure, RoundValue, means_of_swapped, response_mean, response_p50, window_logs};
pub use times::Times;
pub(crate) use times::{add, quantile};

use std::collections::BTreeMap;

use weighbridge_model::id::{PointId, VariantId};
use weighbridge_model::pairing::Pairing;
use weighbridge_model::quantity::{Nanoseconds, Ratio};
use weighbridge_model::record::{TrialRecord, Void, WindowEnd, WindowKind, WindowRecord};

use crate::thresholds::STEAL_SHARE;

#[derive(Debug, Clone)]
pub struct Records<'a> {
    /// Blocks that count, ascending by number.
    pub used: Vec<Block<'a>>,
    /// Void blocks: number and reason.
    pub void: Vec<(u32, String)>,
    /// The variant through which the others are compared if they never lived at the same time.
    pub bridge: Option<VariantId>,
}

/// One block: a trial of every variant that took part; of the baseline, one in each batch.
#[derive(Debug, Clone)]
pub struct Block<'a> {
    /// From 0.
    pub number: u32,
    pub trials: Vec<&'a TrialRecord>,
}

impl Block<'_> {
    fn pairing(&self, point: PointId) -> Pairing {
        let pairing = |trial: &&TrialRecord| trial.pairings.get(point.index()).copied().unwrap_or_default();
        self.trials.iter().map(pairing).max().unwrap_or_default()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WindowSelection {
    Measured,
    /// Windows of the window check, by their length in requests relative to a measured window.
    Check(Longer),
    IdleCheck,
    /// One of each rate tried in search of a capacity.
    Steps,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Longer {
    /// About ten times: 3 to 32.
    Tenfold,
    /// About a hundred times: above 32.
    Hundredfold,
}

impl<'a> Records<'a> {
    /// A block is void as a whole if it has a void trial, more than 10 % of its CPU time stolen, or an
    /// aborted measured window: the rest of it was not measured under the same conditions.
    pub fn new(trials: &'a [TrialRecord]) -> Self {
        let mut blocks: BTreeMap<u32, Vec<&TrialRecord>> = BTreeMap::new();
        for trial in trials {
            blocks.entry(trial.block).or_default().push(trial);
        }
        let mut records = Self { used: Vec::new(), void: Vec::new(), bridge: None };
        for (number, trials) in blocks {
            match trials.iter().find_map(|trial| why_void(trial)) {
                Some(reason) => records.void.push((number, reason)),
                None => records.used.push(Block { number, trials }),
            }
        }
        records
    }

    /// How variants were paired at a point. A run decides that once; if blocks differ nevertheless, the
    /// weakest pairing is returned.
    pub fn pairing(&self, point: PointId) -> Pairing {
        self.used.iter().map(|block| block.pairing(point)).max().unwrap_or_default()
    }

    /// The nominal window length that the first block chose at a point; `None` if the experiment sets it, or
    /// no block chose one.
    pub fn window(&self, point: PointId) -> Option<Nanoseconds> {
        let mut trials = self.used.iter().flat_map(|block| &block.trials);
        trials.find_map(|trial| trial.preparations.get(point.index())?.window)
    }

    /// The requests of the windows by which the first block warmed its variants at a point, as its first trial has them.
    pub fn warm_up(&self, point: PointId) -> Vec<u64> {
        let first = self.used.first().and_then(|block| block.trials.first());
        first.map(|trial| trial.warm_up_requests(point)).unwrap_or_default()
    }

    /// Whether our packet relay carried a variant's packets; its layers need not name one.
    pub(crate) fn was_relayed(&self, variant: VariantId) -> bool {
        let trials = self.used.iter().flat_map(|block| &block.trials);
        let mut networks = trials
            .filter(|trial| trial.variant == variant)
            .filter_map(|trial| trial.service.network.as_ref());
        networks.any(|network| network.relayed.is_some())
    }

    pub fn cells(&self, point: PointId, variant: VariantId, selection: WindowSelection) -> Vec<Cell<'a>> {
        self.used.iter().filter_map(|block| block.cell(point, variant, selection)).collect()
    }

    /// One cell for each trial, in the order of blocks and batches, so that changes within a trial are not
    /// mixed with changes between trials.
    pub fn trial_cells(
        &self,
        point: PointId,
        variant: VariantId,
        selection: WindowSelection,
    ) -> Vec<Cell<'a>> {
        self.used.iter().flat_map(|block| block.trial_cells(point, variant, selection)).collect()
    }

    /// Cells of a variant and of the baseline in the same batch, from the blocks in which both were measured.
    /// Empty if the two are compared through a third variant.
    pub fn pairs(&self, point: PointId, variant: VariantId, selection: WindowSelection) -> Vec<CellPair<'a>> {
        let pair = |block: &Block<'a>| {
            let own = block.cell(point, variant, selection)?;
            let is_beside = |trial: &&TrialRecord| own.trials.iter().any(|one| one.batch == trial.batch);
            let beside = block.variant_trials(VariantId(0)).filter(is_beside).collect();
            Some(CellPair { variant: own, baseline: block.cell_from_trials(beside, point, selection)? })
        };
        let blocks = if self.bridge.is_none() { &self.used[..] } else { &[] };
        blocks.iter().filter_map(pair).collect()
    }

    /// The variants of every batch, ascending; one entry if all lived at once.
    pub fn batches(&self) -> BTreeMap<u32, Vec<VariantId>> {
        let mut batches: BTreeMap<u32, Vec<VariantId>> = BTreeMap::new();
        for trial in self.used.first().iter().flat_map(|block| &block.trials) {
            batches.entry(trial.batch).or_default().push(trial.variant);
        }
        batches.values_mut().for_each(|members| members.sort_unstable());
        batches
    }
}

fn why_void(trial: &TrialRecord) -> Option<String> {
    if let Some(void) = &trial.void {
        return Some(match void {
            Void::Stopped => "the run was stopped in the middle of it".to_owned(),
            Void::ClockJump => "the wall clock jumped".to_owned(),
            Void::ServiceDied(detail) => format!("a service ended by itself: {detail}"),
            Void::OutOfMemory(detail) => format!("a service was killed for want of memory: {detail}"),
            Void::Steal(detail) => format!("the hypervisor took its CPU time: {detail}"),
            Void::GivenUp(detail) => format!("requests were given up: {detail}"),
        });
    }
    if trial.steal > STEAL_SHARE {
        let (share, limit) = (Ratio::new(trial.steal), Ratio::new(STEAL_SHARE));
        return Some(format!("the hypervisor took {share} of its CPU time (limit {limit})"));
    }
    let cut = |w: &WindowRecord| w.kind == WindowKind::Measured && w.figures.end == WindowEnd::Aborted;
    trial.windows.iter().any(cut).then(|| "a measured window was cut short".to_owned())
}

impl<'a> Block<'a> {
    /// `None` if no window is selected.
    pub fn cell(&self, point: PointId, variant: VariantId, selection: WindowSelection) -> Option<Cell<'a>> {
        self.cell_from_trials(self.variant_trials(variant).collect(), point, selection)
    }

    fn trial_cells(&self, point: PointId, variant: VariantId, selection: WindowSelection) -> Vec<Cell<'a>> {
        self.variant_trials(variant)
            .filter_map(|trial| self.cell_from_trials(vec![trial], point, selection))
            .collect()
    }

    fn variant_trials(&self, variant: VariantId) -> impl Iterator<Item = &'a TrialRecord> {
        self.trials.iter().copied().filter(move |trial| trial.variant == variant)
    }

    fn cell_from_trials(
        &self,
        trials: Vec<&'a TrialRecord>,
        point: PointId,
        selection: WindowSelection,
    ) -> Option<Cell<'a>> {
        let here = |w: &&WindowRecord| w.point == point;
        let windows_of_kind = |kind: WindowKind| {
            trials.iter().flat_map(|t| &t.windows).filter(here).filter(move |w| w.kind == kind)
        };
        let windows: Vec<_> = match selection {
            WindowSelection::Measured => {
                let measured: Vec<_> = windows_of_kind(WindowKind::Measured).collect();
                // A search for capacity measures no other load unless all variants keep some rate.
                if measured.is_empty() { windows_of_kind(WindowKind::Step).collect() } else { measured }
            }
            WindowSelection::Steps => windows_of_kind(WindowKind::Step).collect(),
            WindowSelection::IdleCheck => windows_of_kind(WindowKind::IdleCheck).collect(),
            WindowSelection::Check(longer) => {
                let mut sizes: Vec<u64> =
                    windows_of_kind(WindowKind::Measured).map(|w| w.figures.requests).collect();
                sizes.sort_unstable();
                let usual = *sizes.get(sizes.len() / 2)?;
                windows_of_kind(WindowKind::Check)
                    .filter(|w| longer_by(w.figures.requests, usual) == Some(longer))
                    .collect()
            }
        };
        let pairing = self.pairing(point);
        (!windows.is_empty()).then_some(Cell {
            block: self.number,
            trials,
            windows,
            point,
            selection,
            pairing,
        })
    }
}

/// How much longer `requests` is than `usual`; `None` below about three times.
fn longer_by(requests: u64, usual: u64) -> Option<Longer> {
    match requests as f64 / usual.max(1) as f64 {
        factor if factor > 32.0 => Some(Longer::Hundredfold),
        factor if factor >= 3.0 => Some(Longer::Tenfold),
        _ => None,
    }
}
