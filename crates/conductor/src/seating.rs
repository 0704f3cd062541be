//! Which cores the variants of a run and their clients have: one set of them for all by turns, or one for each of two.
//!
//! It says who sits where; pinning is the lab's, and which of two variants has which set in a round is the plan's.

use weighbridge_lab::host::cores::{CoreId, CoreLayout};
use weighbridge_lab::host::lanes::{Lane, LaneError, Lanes};
use weighbridge_model::experiment::Experiment;
use weighbridge_model::pairing::PairingChoice;

use crate::run::{Options, RunError};

/// Who sits where.
#[derive(Debug)]
pub(crate) enum Seating {
    /// One client, and the rest for whichever variants run.
    One(CoreLayout),
    /// A client and a share of the rest for each of two variants that run at the same time.
    Duet(Lanes),
}

impl Seating {
    /// The seating for an experiment. Call it before pinning anything.
    ///
    /// # Errors
    /// [`RunError::FewCores`] where two variants cannot run at the same time; [`RunError::Cores`] where the kernel will not
    /// tell what cores there are.
    pub fn detect(experiment: &Experiment, options: &Options) -> Result<Self, RunError> {
        Ok(match (experiment.plan.pairing, &options.lanes) {
            (PairingChoice::Duet, Some(lanes)) => Self::Duet(lanes.clone()),
            (PairingChoice::Duet, None) => Self::Duet(Lanes::detect().map_err(|error| match error {
                LaneError::Few { cores } => RunError::FewCores { cores },
                LaneError::Cores(error) => RunError::Cores(error),
            })?),
            _ => Self::One(CoreLayout::detect()?),
        })
    }

    /// The cores of whoever is in that lane.
    pub const fn at(&self, lane: Lane) -> &CoreLayout {
        match self {
            Self::One(layout) => layout,
            Self::Duet(lanes) => lanes.get(lane),
        }
    }

    /// As many cores of either kind as any variant has.
    pub const fn usual(&self) -> &CoreLayout {
        self.at(Lane::First)
    }

    /// The core of everything of ours that is not measured.
    pub const fn own(&self) -> CoreId {
        match self {
            Self::One(layout) => layout.client(),
            Self::Duet(lanes) => lanes.own(),
        }
    }
}

/// The cores that a variant of this experiment would have on this host; `None` where it would have none.
pub(crate) fn layout(experiment: &Experiment) -> Option<CoreLayout> {
    match experiment.plan.pairing {
        PairingChoice::Duet => Lanes::detect().ok().map(|lanes| lanes.get(Lane::First).clone()),
        _ => CoreLayout::detect().ok(),
    }
}
