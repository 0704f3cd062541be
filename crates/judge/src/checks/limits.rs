//! Limits of CPU time and memory: what they were and what they did, as notes.
//!
//! A limit is a setting, not a defect: only a process killed at one makes figures invalid. `steer` makes
//! windows long enough for a quota.

use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::record::{MemoryFacts, QuotaFacts, QuotaOrigin, Throttling};

use super::{Alarm, CheckContext, Impact};

pub const CPU_QUOTA: &str = "cpu quota";

pub const MEMORY_LIMIT: &str = "memory limit";

pub const OUT_OF_MEMORY: &str = "out of memory";

/// `None` without a limit of memory.
pub(super) fn memory(context: &CheckContext<'_>) -> Option<Alarm> {
    let facts: Vec<MemoryFacts> = context.totals.trials().filter_map(|trial| trial.service.memory).collect();
    let limit = facts.iter().map(|facts| facts.limit).min()?;
    let held = match facts.iter().filter_map(|facts| facts.peak).max() {
        Some(peak) => format!("{peak} at most was held, the files that it read among them"),
        None => "the kernel does not tell what was held".to_owned(),
    };
    let sum = |count: fn(&MemoryFacts) -> u64| facts.iter().map(count).sum::<u64>();
    let (met, killed) = (sum(|facts| facts.met), sum(|facts| facts.killed));
    let evidence = format!("{limit} of memory; {held}; the limit was met {met} times");
    Some(match killed {
        0 => Alarm { impact: Impact::Note, name: MEMORY_LIMIT, evidence, remedy: "" },
        _ => Alarm {
            impact: Impact::Invalid,
            name: OUT_OF_MEMORY,
            evidence: format!("{evidence}, and {killed} of its processes were killed for it"),
            remedy: "give `memory` more, or the service a smaller heap",
        },
    })
}

/// `None` without a quota.
pub(super) fn quota(context: &CheckContext<'_>) -> Option<Alarm> {
    let facts: Vec<QuotaFacts> = context.totals.trials().filter_map(|trial| trial.service.quota).collect();
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
    Some(Alarm { impact: Impact::Note, name: CPU_QUOTA, evidence, remedy })
}

fn effect(known: &[Throttling]) -> String {
    let sum = |count: fn(&Throttling) -> u64| known.iter().map(count).sum::<u64>();
    let held: Nanoseconds = known.iter().map(|throttling| throttling.time).sum();
    match (sum(|t| t.periods), sum(|t| t.throttled)) {
        _ if known.is_empty() => "the kernel does not tell how often it was held up".to_owned(),
        (periods, throttled) => {
            format!("held up in {throttled} of {periods} periods, for {held} in all")
        }
    }
}
