//! What a check is given: a run, or one variant at one point and what its records add up to.

use weighbridge_model::histogram::{TimeHistogram, time_histogram};
use weighbridge_model::id::{PointId, VariantId};
use weighbridge_model::pairing::Pairing;
use weighbridge_model::record::TrialRecord;

use crate::estimate::{Estimand, VariantSamples};
use crate::question::{Question, Scope, Variant};
use crate::records::{Cell, CellPair, Records, WindowSelection, add};

pub(crate) struct RunContext<'c> {
    pub question: &'c Question,
    pub records: &'c Records<'c>,
    /// The variant through which others are compared that never lived at the same time.
    pub bridge: Option<&'c str>,
}

pub(crate) struct CheckContext<'c> {
    pub question: &'c Question,
    pub records: &'c Records<'c>,
    pub point: PointId,
    pub variant: VariantId,
    /// The headline's.
    pub scope: Scope,
    /// The samples from which the variant's estimates are made, in that scope.
    pub samples: &'c VariantSamples<'c>,
    pub totals: VariantTotals<'c>,
    /// How far apart levels may lie, on the log scale, that the places of the cores explain.
    pub explained_by_places: f64,
}

impl<'c> CheckContext<'c> {
    pub(crate) fn is_baseline(&self) -> bool {
        self.variant == VariantId(0)
    }

    /// `None` for the variant through which others are compared.
    pub(crate) fn variant_facts(&self) -> Option<&'c Variant> {
        self.question.variants.get(self.variant.index())
    }

    pub(crate) fn estimand(&self) -> Estimand {
        Estimand { point: self.point, variant: self.variant, scope: self.scope }
    }

    pub(crate) fn pairing(&self) -> Pairing {
        self.records.pairing(self.point)
    }

    /// The variant's measured windows, trial by trial.
    pub(crate) fn trial_cells(&self) -> Vec<Cell<'c>> {
        self.records.trial_cells(self.point, self.variant, WindowSelection::Measured)
    }

    /// Its measured windows with those of the baseline in the same batch, block by block.
    pub(crate) fn pairs(&self) -> Vec<CellPair<'c>> {
        self.records.pairs(self.point, self.variant, WindowSelection::Measured)
    }
}

/// One variant's records at one point, added up over the blocks that count.
pub(crate) struct VariantTotals<'a> {
    pub cells: Vec<Cell<'a>>,
    pub service: TimeHistogram,
    pub lag: TimeHistogram,
    pub loop_delay: TimeHistogram,
    pub requests: u64,
    pub failed: u64,
}

impl<'a> VariantTotals<'a> {
    pub(crate) fn new(records: &Records<'a>, point: PointId, variant: VariantId) -> Self {
        Self::from_cells(records.cells(point, variant, WindowSelection::Measured), point)
    }

    pub(crate) fn from_cells(cells: Vec<Cell<'a>>, point: PointId) -> Self {
        let [mut service, mut lag, mut loop_delay] = [(); 3].map(|()| time_histogram());
        for cell in &cells {
            add(&mut service, &cell.times(Scope::All).service);
            for tallies in cell.trials.iter().filter_map(|trial| trial.tallies.get(point.index())) {
                tallies.lag.add_to(&mut lag);
                tallies.loop_delay.add_to(&mut loop_delay);
            }
        }
        let requests = cells.iter().map(Cell::requests).sum();
        let failed = cells.iter().map(|cell| cell.errors().total()).sum();
        Self { cells, service, lag, loop_delay, requests, failed }
    }

    pub(crate) fn trials(&self) -> impl Iterator<Item = &'a TrialRecord> + Clone {
        self.cells.iter().flat_map(|cell| cell.trials.iter().copied())
    }

    pub(crate) fn error_share(&self) -> f64 {
        self.failed as f64 / self.requests.max(1) as f64
    }
}
