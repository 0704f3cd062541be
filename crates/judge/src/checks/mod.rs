//! The self-check: what the records say against themselves.
//!
//! A check is a function in a file of this folder and a line of a list below. It compares one variant's
//! records at one point with constants of [`crate::thresholds`], and says what was seen, what to do, and what
//! that means for figures and verdicts. Nothing is repaired and nothing is left out.

mod batches;
mod capacity;
pub(crate) mod carry_over;
mod composition;
mod context;
pub mod core_latency;
pub mod delayed_ack_stalls;
mod drift;
mod errors;
pub mod generator;
pub mod idle;
pub(crate) mod lateness;
pub mod limits;
pub mod network;
mod pauses;
mod setup;
pub mod tail;
mod turns;
mod two_levels;
mod void_blocks;
mod warm;
mod window_length;

pub(crate) use context::{CheckContext, RunContext, VariantTotals};
use lateness::MovedFigure;
pub(crate) use setup::not_paired;

use weighbridge_model::estimate::{Quantity, Validity, Verdict};
use weighbridge_model::finding;
use weighbridge_model::id::PointLabel;
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::summary::{Finding, Severity};

type Check = fn(&CheckContext<'_>) -> Option<Alarm>;

/// Alarms are reported in this order.
const CHECKS: &[Check] = &[
    errors::no_good_reply,
    generator::late,
    generator::saturated,
    generator::never_sent,
    generator::generator_bound,
    generator::busy_beside,
    generator::loop_delay,
    generator::shared_core,
    network::retransmits,
    network::lost_on_the_way,
    network::no_null_path,
    network::wrong_transport,
    network::another_way,
    errors::wrong_replies,
    errors::errors,
    errors::errors_elsewhere,
    errors::timeouts,
    delayed_ack_stalls::stalls,
    limits::quota,
    limits::memory,
    errors::reconnects,
    errors::other_errors,
    drift::within_trials,
    warm::not_warm,
    turns::needs_longer_turns,
    two_levels::window_levels,
    tail::few_tail_events,
    carry_over::carried_over,
    window_length::depends_on_window,
    turns::depends_on_turns,
    idle::depends_on_idle,
    core_latency::depends_on_place,
    pauses::pauses,
    drift::through_the_run,
    two_levels::start_levels,
];

/// The checks of a point at which a capacity is searched for: its steps have rates of their own on purpose, so what
/// compares windows with one another has no say.
const CAPACITY_CHECKS: &[Check] = &[
    capacity::ends,
    capacity::repeated_steps,
    errors::wrong_replies,
    generator::shared_core,
    network::wrong_transport,
    network::another_way,
    limits::quota,
    limits::memory,
];

type RunCheck = fn(&RunContext<'_>) -> Vec<Finding>;

/// Findings are reported in this order.
const RUN_CHECKS: &[RunCheck] = &[
    setup::one_instance,
    setup::one_service_core,
    idle::not_held,
    void_blocks::void_blocks,
    batches::in_batches,
    composition::not_its_parts,
];

pub(crate) fn run_findings(context: &RunContext<'_>) -> Vec<Finding> {
    RUN_CHECKS.iter().flat_map(|check| check(context)).collect()
}

pub(crate) fn diagnose(context: &CheckContext<'_>) -> Diagnosis {
    let alarms = match context.totals.cells.is_empty() {
        true => vec![errors::not_measured()],
        false => checks_of(context).iter().filter_map(|check| check(context)).collect(),
    };
    Diagnosis { alarms, moved: lateness::moved_by_scope(context) }
}

fn checks_of(context: &CheckContext<'_>) -> &'static [Check] {
    match context.question.objectives(context.point) {
        Some(_) => CAPACITY_CHECKS,
        None => CHECKS,
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Alarm {
    pub impact: Impact,
    pub name: &'static str,
    pub evidence: String,
    pub remedy: &'static str,
}

/// What an alarm means for its variant. All but a note make the figures suspect at least.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Impact {
    Note,
    Suspect,
    /// The reason of the headline's verdict mentions it too.
    HeadlineSuspect,
    ThroughputWithheld,
    CostsWithheld,
    /// Every verdict is withheld, also where the variant is a baseline or a stage of a chain.
    VerdictsWithheld,
    Invalid,
}

impl Impact {
    fn validity(self) -> Validity {
        match self {
            Self::Note => Validity::Valid,
            Self::Invalid => Validity::Invalid,
            _ => Validity::Suspect,
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Diagnosis {
    pub alarms: Vec<Alarm>,
    /// What the generator's lateness could have moved, by scope of the point; empty if nothing.
    moved: Vec<Vec<MovedFigure>>,
}

/// Why figures of a variant decide nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Objection {
    pub verdict: Verdict,
    pub reason: String,
}

impl Alarm {
    pub fn finding(&self, subject: &str) -> Finding {
        Finding {
            severity: match self.impact.validity() {
                Validity::Valid => Severity::Note,
                Validity::Suspect => Severity::Warning,
                Validity::Invalid => Severity::Problem,
            },
            name: self.name.to_owned(),
            subject: subject.to_owned(),
            evidence: self.evidence.clone(),
            remedy: self.remedy.to_owned(),
        }
    }

    /// For use as the reason of something else.
    pub(crate) fn reason(&self) -> String {
        finding::reason(self.name, &self.evidence)
    }

    /// For a verdict that would be given if the remedy were followed.
    pub(crate) fn reason_with_remedy(&self) -> String {
        format!("{}; {}", self.reason(), self.remedy)
    }
}

impl Diagnosis {
    pub fn validity(&self) -> Validity {
        self.alarms.iter().map(|alarm| alarm.impact.validity()).max().unwrap_or_default()
    }

    pub fn reasons(&self) -> Vec<String> {
        let against = self.alarms.iter().filter(|alarm| alarm.impact != Impact::Note);
        against.map(Alarm::reason).collect()
    }

    pub fn invalid(&self) -> Option<String> {
        self.with(Impact::Invalid).next().map(Alarm::reason)
    }

    /// The figure of a scope of the point, by its place, if the generator's lateness could have moved it. Figures of an
    /// invalid variant are shown as they are.
    pub(crate) fn moved(&self, scope: usize, quantity: Quantity) -> Option<&MovedFigure> {
        let figures = self.moved.get(scope).filter(|_| self.invalid().is_none())?;
        figures.iter().find(|figure| figure.quantity == quantity)
    }

    /// What overrides every verdict on a quantity of this variant, over all operations.
    pub fn objection(&self, quantity: Quantity) -> Option<Objection> {
        if let Some(reason) = self.invalid() {
            return Some(Objection { verdict: Verdict::Invalid, reason });
        }
        let all = self.with(Impact::VerdictsWithheld).next().map(Alarm::reason_with_remedy);
        let throughput = || {
            let bound = self.with(Impact::ThroughputWithheld).next();
            bound.filter(|_| quantity == Quantity::Throughput).map(Alarm::reason)
        };
        let late = || self.moved(0, quantity).map(MovedFigure::reason);
        all.or_else(throughput).or_else(late).map(|reason| Objection { verdict: Verdict::Withheld, reason })
    }

    pub(crate) fn with(&self, impact: Impact) -> impl Iterator<Item = &Alarm> {
        self.alarms.iter().filter(move |alarm| alarm.impact == impact)
    }
}

/// A finding's subject: the variant, and the point if there are several.
pub fn subject(variant: &str, point: &PointLabel) -> String {
    let factors: Vec<_> = point.iter().map(|(key, value)| format!("{key} = {value}")).collect();
    if factors.is_empty() { variant.to_owned() } else { format!("{variant} at {}", factors.join(", ")) }
}

fn nanos(value: f64) -> Nanoseconds {
    Nanoseconds::from_nanos(value as u64)
}
