//! Do the figures show the generator instead of the variant: was it late, at its limit, or in the variant's
//! way?

use weighbridge_model::estimate::Quantity;
use weighbridge_model::finding;
use weighbridge_model::objective::Objectives;
use weighbridge_model::pairing::Pairing;
use weighbridge_model::quantity::{Nanoseconds, Ratio};
use weighbridge_model::record::counts::Count;
use weighbridge_model::record::{LoopHealth, WindowEnd};

use super::{Alarm, CheckContext, Impact, VariantTotals, lateness, nanos};
use crate::question::Placement;
use crate::records::{Cell, quantile};
use crate::thresholds::{
    ALMOST_IDLE_SHARE, BUSY_SHARE, LAG_FLOOR, LAG_SHARE, LOOP_DELAY_SHARE, SERVICE_BUSY_SHARE,
};

/// Withholds verdicts on throughput.
pub const GENERATOR_BOUND: &str = "generator-bound";

/// Whether a step of a search for capacity shows the generator instead of the service: lag p99 > max(100 µs, 10 % of the
/// smallest limit of a time), or busy > 85 % while the service's cores are < 90 % busy (unknown counts as idle).
pub fn spoils_step(health: &LoopHealth, objectives: &Objectives, service: Option<Ratio>) -> bool {
    let times = objectives.conditions().iter().filter(|one| one.measure.statistic().is_some());
    let smallest = times.map(|one| one.limit.value()).fold(f64::INFINITY, f64::min);
    let smallest = if smallest.is_finite() { smallest } else { 0.0 };
    let late = health.lag_p99.as_nanos() as f64 > (LAG_SHARE * smallest).max(LAG_FLOOR.as_nanos() as f64);
    let busy = health.busy.share_of(health.wall).get() > BUSY_SHARE;
    late || (busy && service.is_none_or(|share| share.get() < SERVICE_BUSY_SHARE))
}

/// What lateness could have moved is withheld. Invalid if that is all that was asked for: the headline, and the
/// quantities of gates.
pub(super) fn late(context: &CheckContext<'_>) -> Option<Alarm> {
    let moved = lateness::moved_by_scope(context).into_iter().next()?;
    let late = quantile(&context.totals.lag, 0.99)?;
    let is_moved = |quantity: &Quantity| moved.iter().any(|figure| figure.quantity == *quantity);
    let question = context.question;
    let is_useless = is_moved(&question.headline) && question.gated.iter().all(is_moved);
    let names: Vec<String> = moved.iter().map(|figure| figure.quantity.label()).collect();
    (!moved.is_empty()).then(|| Alarm {
        impact: if is_useless { Impact::Invalid } else { Impact::Note },
        name: finding::GENERATOR_LATE,
        evidence: match is_useless {
            true => format!("requests were sent {} late at p99, which moves {}", nanos(late), names.join(", ")),
            false => format!("requests were sent {} late at p99; withheld: {}", nanos(late), names.join(", ")),
        },
        remedy: "`weigh doctor` says what disturbs the client; or lower the rate, or give the client a core of its own",
    })
}

pub(super) fn saturated(context: &CheckContext<'_>) -> Option<Alarm> {
    let windows = || context.totals.cells.iter().flat_map(|cell| &cell.windows);
    let bad = windows().filter(|w| w.figures.end == WindowEnd::Saturated).count();
    let has_script = windows().any(|w| w.figures.counts.is_some_and(|counts| counts.get(Count::Actions) > 0));
    let all = windows().count();
    (bad > 0).then(|| Alarm {
        impact: Impact::Invalid,
        name: "saturated",
        evidence: match has_script {
            true => format!("in {bad} of {all} windows sessions arrived faster than they were carried out"),
            false => format!("{bad} of {all} windows never drained"),
        },
        remedy: "lower the rate until every window drains",
    })
}

/// Requests left out are the slow ones: any at all makes the rest look fast.
pub(super) fn never_sent(context: &CheckContext<'_>) -> Option<Alarm> {
    let count: u64 = context.totals.cells.iter().map(Cell::not_sent).sum();
    (count > 0).then(|| Alarm {
        impact: Impact::Invalid,
        name: "never sent",
        evidence: format!("{count} requests were due and never sent"),
        remedy: "lower the rate or allow more connections",
    })
}

/// Suspect: busy > 85 % while the service's cores are < 90 % busy. If the service's CPU time is unknown (a
/// URL), it cannot be shown to be the limit, and counts as idle.
pub(super) fn generator_bound(context: &CheckContext<'_>) -> Option<Alarm> {
    let service_cores = context.question.cores.service;
    let windows = || context.totals.cells.iter().flat_map(|cell| &cell.windows);
    let busy: Nanoseconds = windows().map(|w| w.figures.health.busy).sum();
    let wall: Nanoseconds = windows().map(|w| w.figures.health.wall).sum();
    let busy = busy.share_of(wall);
    let service = service_cores.and_then(|cores| service_busy(&context.totals, cores));
    let idle = service.is_none_or(|share| share.get() < SERVICE_BUSY_SHARE);
    (busy.get() > BUSY_SHARE && idle).then(|| Alarm {
        impact: Impact::ThroughputWithheld,
        name: GENERATOR_BOUND,
        evidence: match service {
            Some(share) => format!("the loop was busy {busy} of the time, the service's cores {share}"),
            None => format!("the loop was busy {busy} of the time, the service's cores are not known"),
        },
        remedy: "use more client threads or fewer requests in flight; verdicts on throughput are withheld",
    })
}

/// CPU per request × requests / (time × cores).
fn service_busy(totals: &VariantTotals<'_>, cores: u32) -> Option<Ratio> {
    let used = |cell: &Cell<'_>| Some(cell.cpu_per_request()? * cell.begun() as f64);
    let cpu: f64 = totals.cells.iter().map(used).sum::<Option<f64>>()?;
    let time: Nanoseconds = totals.cells.iter().map(Cell::time).sum();
    let available = time.as_nanos() as f64 * f64::from(cores);
    (available > 0.0).then(|| Ratio::new(cpu / available))
}

/// Suspect: variants that run at once and are at least 10 % busy: each waits for the others' CPU time.
pub(super) fn busy_beside(context: &CheckContext<'_>) -> Option<Alarm> {
    let share = context.question.cores.service.and_then(|cores| service_busy(&context.totals, cores))?;
    (context.pairing() == Pairing::Requests && share.get() >= ALMOST_IDLE_SHARE).then(|| Alarm {
        impact: Impact::Suspect,
        name: "variants disturb each other",
        evidence: format!(
            "nothing was frozen, and it used {share} of the service's cores (limit {})",
            Ratio::new(ALMOST_IDLE_SHARE)
        ),
        remedy: "leave `pairing` out or set `pairing = \"sequential\"`",
    })
}

pub(super) fn loop_delay(context: &CheckContext<'_>) -> Option<Alarm> {
    let (delay, service) =
        (quantile(&context.totals.loop_delay, 0.5)?, quantile(&context.totals.service, 0.5)?);
    (delay > LOOP_DELAY_SHARE * service).then(|| Alarm {
        impact: Impact::Suspect,
        name: "loop delay",
        evidence: format!("loop delay p50 {} of service p50 {}", nanos(delay), nanos(service)),
        remedy: "use fewer connections per client thread: replies wait in the generator",
    })
}

pub(super) fn shared_core(context: &CheckContext<'_>) -> Option<Alarm> {
    (context.question.cores.placement == Placement::Shared).then(|| Alarm {
        impact: Impact::Suspect,
        name: "shared core",
        evidence: "client and service ran on the same core".to_owned(),
        remedy: "allow at least two cores, or pin the service elsewhere",
    })
}
