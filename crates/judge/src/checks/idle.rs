//! Does a cost depend on how idle cores wait?
//!
//! A service that answers one request at a time is idle between two, and so is its core. Every response time
//! includes waking that core, for each variant as often as it sleeps. A run measures with idle cores kept
//! awake, or as the host has it, and some rounds the other way; if the headline differs there, both are
//! reported. Neither is wrong: one is what a lightly loaded machine shows, the other what the software costs.

use weighbridge_model::id::VariantId;
use weighbridge_model::idle::{Idle, IdleWait};
use weighbridge_model::summary::{Finding, Severity};

use super::window_length::{is_log, moved};
use super::{Alarm, CheckContext, Impact, RunContext};
use crate::estimate::{Estimand, VariantSamples, contrast, contrast_between};
use crate::records::WindowSelection;
use crate::thresholds::IDLE_CHECK_P;
use crate::verdict::signed_percent;

pub const DEPENDS_ON_IDLE: &str = "depends on idle cores";

/// Whether a variant's headline cost leaves its interval when idle cores wait the other way.
///
/// p50 comes from single windows on both sides, even where the cost itself is pooled; other quantiles, which
/// need a trial's histograms, are not checked. As in the window check, each block's check is compared with
/// the same block, and the differences must be significant.
pub(super) fn depends_on_idle(context: &CheckContext<'_>) -> Option<Alarm> {
    let &CheckContext { question, records, variant, .. } = context;
    if context.is_baseline() || !is_log(question.headline) {
        return None;
    }
    let waited = question.idle.as_ref()?.was;
    let cost_in = |selection| {
        let samples = |variant| {
            let estimand = Estimand { variant, ..context.estimand() };
            VariantSamples::new(question, records, estimand, selection).by_windows()
        };
        contrast_between(&samples(variant), &samples(VariantId(0)), None, question.headline).ok()
    };
    let change =
        moved(&cost_in(WindowSelection::Measured)?, &cost_in(WindowSelection::IdleCheck)?, IDLE_CHECK_P)?;
    let headline =
        contrast(question, records, context.estimand(), WindowSelection::Measured, question.headline).ok()?;
    let log = headline.mean()?.point;
    let cost = |idle: Idle| {
        let log = if idle == waited { log } else { log + change };
        signed_percent(log.exp_m1())
    };
    Some(Alarm {
        impact: Impact::Note,
        name: DEPENDS_ON_IDLE,
        evidence: format!(
            "{} against the baseline: with cores {} {}; {} {}",
            question.headline,
            Idle::Host.words(),
            cost(Idle::Host),
            Idle::Polled.words(),
            cost(Idle::Polled),
        ),
        remedy: "the first is what a lightly loaded machine shows, the second what the software costs; `idle` says which is measured",
    })
}

/// The run's idle cores could not be kept awake as it asked.
pub(super) fn not_held(context: &RunContext<'_>) -> Vec<Finding> {
    context.question.idle.iter().filter_map(cores_sleep).collect()
}

fn cores_sleep(idle: &IdleWait) -> Option<Finding> {
    let refused = idle.refused.as_ref().filter(|_| idle.asked != idle.was)?;
    Some(Finding {
        severity: Severity::Note,
        name: "cores sleep".to_owned(),
        subject: String::new(),
        evidence: format!(
            "idle cores could not be kept awake: {refused}; the price of waking them is in every time"
        ),
        remedy: idle.remedy.clone().unwrap_or_default(),
    })
}
