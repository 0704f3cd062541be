//! What charts draw beside the summary's own figures, so that `report` computes no statistic.
//!
//! Curves are estimates over blocks, with their intervals; densities are of all blocks that count, merged; courses and
//! dots are of single windows. Nothing in here is decided by.

mod course;
mod curve;
mod density;
mod factor;
mod waterfall;

use weighbridge_model::record::TrialRecord;
use weighbridge_model::summary::{Detail, Summary};

use crate::analysis::layers::is_asked;
use crate::analysis::roles;
use crate::analysis::sizes::{self, Looked};
use crate::question::Question;
use crate::records::Gathered;
use crate::summary::judged;

/// Everything that charts draw of a run.
pub fn detail(question: &Question, trials: &[TrialRecord]) -> Detail {
    let gathered = Gathered::new(trials);
    let looked = Looked::new(question, &gathered);
    let mut drawn = drawn(question, &gathered, &looked);
    if is_asked(question, &gathered) {
        drawn.waterfalls = waterfall::waterfalls(&judged(question, &gathered, (None, &looked)));
    }
    drawn
}

/// A run's summary and what charts draw of it, at less than the price of one after the other.
pub fn whole(question: &Question, trials: &[TrialRecord]) -> (Summary, Detail) {
    let gathered = Gathered::new(trials);
    let looked = Looked::new(question, &gathered);
    let summary = judged(question, &gathered, (None, &looked));
    let mut drawn = drawn(question, &gathered, &looked);
    drawn.waterfalls = waterfall::waterfalls(&summary);
    (summary, drawn)
}

fn drawn(question: &Question, gathered: &Gathered<'_>, looked: &Looked<'_>) -> Detail {
    let (size_curves, size_ratios) = looked.curves();
    Detail {
        curves: curve::curves(question, gathered),
        densities: density::densities(question, gathered),
        courses: course::courses(question, gathered),
        samples: course::samples(question, gathered),
        axes: factor::axes(question),
        roles: roles::roles(question, gathered),
        size_curves,
        size_ratios,
        size_samples: sizes::samples(question, gathered),
        capacities: Vec::new(),
        waterfalls: Vec::new(),
    }
}
