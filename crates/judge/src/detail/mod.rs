//! The data that charts draw in addition to the summary's figures, so that `report` computes no statistic.
//!
//! Curves are estimates over blocks with intervals; densities merge all blocks that count; courses and dots
//! show single windows. None of it decides anything.

mod course;
mod curve;
mod density;
mod factor;
mod waterfall;

use weighbridge_model::record::TrialRecord;
use weighbridge_model::summary::{Detail, Summary};

use crate::analysis::capacity;
use crate::analysis::layers::is_asked;
use crate::analysis::roles;
use crate::analysis::sizes::{self, SizeAnalysis};
use crate::question::Question;
use crate::records::Records;
use crate::summary::summary_of_records;

pub fn detail(question: &Question, trials: &[TrialRecord]) -> Detail {
    let records = Records::new(trials);
    let sizes_analysis = SizeAnalysis::new(question, &records);
    let mut chart_data = chart_data(question, &records, &sizes_analysis);
    if is_asked(question, &records) {
        chart_data.waterfalls =
            waterfall::waterfalls(&summary_of_records(question, &records, None, &sizes_analysis));
    }
    chart_data
}

/// A run's summary and its charts' data, cheaper than one after the other.
pub fn whole(question: &Question, trials: &[TrialRecord]) -> (Summary, Detail) {
    let records = Records::new(trials);
    let sizes_analysis = SizeAnalysis::new(question, &records);
    let summary = summary_of_records(question, &records, None, &sizes_analysis);
    let mut chart_data = chart_data(question, &records, &sizes_analysis);
    chart_data.waterfalls = waterfall::waterfalls(&summary);
    (summary, chart_data)
}

fn chart_data(question: &Question, records: &Records<'_>, sizes_analysis: &SizeAnalysis<'_>) -> Detail {
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
        capacities: capacity::charted(question, records),
        waterfalls: Vec::new(),
    }
}
