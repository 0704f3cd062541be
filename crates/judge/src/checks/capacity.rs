//! What a search for capacity says against itself.

use weighbridge_model::record::steps::StepEnd;

use super::{Alarm, CheckContext, Impact};
use crate::capacity::CapacityEnd;
use crate::estimate::BlockSteps;
use crate::thresholds::SPOILED_MANY;

/// The alarms of the headline's objective.
pub(crate) fn ends(context: &CheckContext<'_>) -> Option<Alarm> {
    let blocks = BlockSteps::new(context.records, context.point, context.variant);
    let estimates = blocks.estimates(context.question, context.point);
    let estimate = estimates.first()?;
    let alarm = |impact, name, evidence, remedy| Some(Alarm { impact, name, evidence, remedy });
    match estimate.end {
        CapacityEnd::Estimated => None,
        CapacityEnd::AtLeast(rate) if context.question.highest_rate.is_some_and(|most| rate >= most) => {
            alarm(
                Impact::Note,
                "capacity at least",
                format!("the objective was kept at every rate up to {rate}, the highest allowed"),
                "raise `to` to find the rate at which it breaks",
            )
        }
        CapacityEnd::AtLeast(rate) if !blocks.met_ceiling() => alarm(
            Impact::Note,
            "capacity at least",
            format!("the objective was kept at every rate tried, up to {rate}"),
            "run it again: the first block saw less than the service can do, so something disturbed it",
        ),
        CapacityEnd::AtLeast(rate) if rate.get() <= 0.0 => alarm(
            Impact::Note,
            "generator is the limit",
            "at every rate tried the generator was late, or busy all the time".to_owned(),
            "`weigh doctor` says what disturbs the client; run it again on a quiet host, or give the client a core of its own",
        ),
        CapacityEnd::AtLeast(rate) => alarm(
            Impact::Note,
            "generator is the limit",
            format!("the objective was kept up to {rate}, and the generator cannot offer more on time"),
            "give the client a faster core or a machine of its own, or measure a service that does more per request",
        ),
        CapacityEnd::Below(rate) => alarm(
            Impact::Note,
            "capacity below",
            format!("the objective was not kept at {rate}, and it is not known which lower rate keeps it"),
            "lower `from`, relax the objective, or run it again: the rates measured lay too high",
        ),
        CapacityEnd::NotMonotone { exceeded, kept } => alarm(
            Impact::HeadlineSuspect,
            "not monotone",
            format!("{exceeded} breaks the objective, and {kept}, a higher rate, keeps it"),
            "look at the chart `capacity`: the lower rate counts, and something makes low rates slow",
        ),
        CapacityEnd::Hysteresis(rate) => alarm(
            Impact::HeadlineSuspect,
            "hysteresis",
            format!("{rate} keeps the objective or breaks it by chance, or by what came before"),
            "look at rising and falling steps apart: the service does not recover from overload at once",
        ),
        CapacityEnd::Drift(change) => alarm(
            Impact::HeadlineSuspect,
            "capacity drifts",
            format!("it changes by {:+.0} % from the first block to the last", change * 100.0),
            "run more blocks, or find out what changes in the service or on the host",
        ),
        CapacityEnd::NotConfirmed(rate) => alarm(
            Impact::HeadlineSuspect,
            "not confirmed",
            format!("a last, longer step at {rate}, the lower end of the interval, broke the objective"),
            "raise the budget: steps are too short to show what this rate does over time",
        ),
    }
}

/// Steps that the generator spoiled at rates which it offered on time at others: something took its time.
pub(crate) fn repeated_steps(context: &CheckContext<'_>) -> Option<Alarm> {
    let blocks = BlockSteps::new(context.records, context.point, context.variant);
    let steps = || blocks.steps().iter().flatten().map(|one| &one.step);
    let is_spoiled = |end: StepEnd| end == StepEnd::Generator;
    let carried =
        steps().filter(|step| !is_spoiled(step.end)).map(|step| step.rate.get()).fold(0.0, f64::max);
    let spoiled = steps().filter(|step| is_spoiled(step.end) && step.rate.get() <= carried).count();
    (spoiled >= SPOILED_MANY).then(|| Alarm {
        impact: Impact::Note,
        name: "steps repeated",
        evidence: format!(
            "in {spoiled} of {} steps the generator was late, or busy all the time, at rates that it offered on time in others",
            steps().count()
        ),
        remedy: "`weigh doctor` says what disturbs the client; on a quiet host the run takes less time",
    })
}
