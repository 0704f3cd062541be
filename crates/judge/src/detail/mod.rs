//! What charts draw beside the summary's own figures, so that `report` computes no statistic.
//!
//! Curves are estimates over blocks, with their intervals; densities are of all blocks that count, merged;
//! courses and dots are of single windows. Nothing in here is decided by.

mod course;
mod curve;
mod density;
mod factor;
mod waterfall;

use weighbridge_model::record::TrialRecord;
use weighbridge_model::summary::{Detail, Summary};

use crate::analysis::layers::is_asked;
use crate::analysis::roles;
use crate::analysis::sizes::{self, SizeAnalysis};
use crate::question::Question;
use crate::records::Records;
use crate::summary::summary_of_records;

/// Everything that charts draw of a run.
pub fn detail(question: &Question, trials: &[TrialRecord]) -> Detail {
    let records = Records::new(trials);
    let sizes_analysis = SizeAnalysis::new(question, &records);
    let mut drawn = drawn(question, &records, &sizes_analysis);
    if is_asked(question, &records) {
        drawn.waterfalls =
            waterfall::waterfalls(&summary_of_records(question, &records, None, &sizes_analysis));
    }
    drawn
}

/// A run's summary and what charts draw of it, at less than the price of one after the other.
pub fn whole(question: &Question, trials: &[TrialRecord]) -> (Summary, Detail) {
    let records = Records::new(trials);
    let sizes_analysis = SizeAnalysis::new(question, &records);
    let summary = summary_of_records(question, &records, None, &sizes_analysis);
    let mut drawn = drawn(question, &records, &sizes_analysis);
    drawn.waterfalls = waterfall::waterfalls(&summary);
    (summary, drawn)
}

fn drawn(question: &Question, records: &Records<'_>, sizes_analysis: &SizeAnalysis<'_>) -> Detail {
    let (size_curves, size_ratios) = sizes_analysis.curves();
    Detail {
        curves: curve::curves(question, records),
        densities: density::densities(question, records),
        courses: course::courses(question, records),
        samples: course::samples(question, records),
        axes: factor::axes(question),
        roles: roles::roles(question, records),
        size_curves,
        size_ratios,
        size_samples: sizes::samples(question, records),
        capacities: Vec::new(),
        waterfalls: Vec::new(),
    }
}
