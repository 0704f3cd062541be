//! Quotas of CPU time: what a variant ran under and what it did, as a note beside its figures.
//!
//! A quota is a setting, not a defect: nothing here makes a figure suspect. Windows that are long enough for it are
//! `steer`'s business.

use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::record::{QuotaFacts, QuotaOrigin, Throttling, TrialRecord};
use weighbridge_model::summary::Validity;

use crate::diagnose::Alarm;

/// The name of the note.
pub const CPU_QUOTA: &str = "cpu quota";

/// What the quota of these trials of one variant did; `None` without one.
pub(crate) fn quota<'t>(trials: impl Iterator<Item = &'t TrialRecord>) -> Option<Alarm> {
    let facts: Vec<QuotaFacts> = trials.filter_map(|trial| trial.service.quota).collect();
    let tightest = facts.iter().min_by(|a, b| a.quota.cores().get().total_cmp(&b.quota.cores().get()))?;
    let known: Vec<Throttling> = facts.iter().filter_map(|facts| facts.throttling).collect();
    let (cores, time, period) = (tightest.quota.cores().get(), tightest.quota.time, tightest.quota.period);
    let set = match tightest.origin {
        QuotaOrigin::Experiment => "",
        QuotaOrigin::Host => ", not set by the experiment",
    };
    let evidence =
        format!("{time} of CPU time in every {period} ({cores} cores' worth{set}); {}", effect(&known));
    let remedy = match tightest.origin {
        QuotaOrigin::Experiment => "",
        QuotaOrigin::Host => "say `cpu` in the experiment if it is meant, or lift the quota",
    };
    Some(Alarm { validity: Validity::Valid, name: CPU_QUOTA, evidence, remedy })
}

fn effect(known: &[Throttling]) -> String {
    let sum = |of: fn(&Throttling) -> u64| known.iter().map(of).sum::<u64>();
    let held: Nanoseconds = known.iter().map(|throttling| throttling.time).sum();
    match (sum(|t| t.periods), sum(|t| t.throttled)) {
        _ if known.is_empty() => "the kernel does not tell how often it was held up".to_owned(),
        (periods, throttled) => {
            format!("held up in {throttled} of {periods} periods, for {held} in all")
        }
    }
}
