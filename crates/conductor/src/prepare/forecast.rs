//! The time a run will take, as far as it is known before anything is measured.

use weighbridge_judge::steer::WindowRule;
use weighbridge_judge::thresholds::ROUNDS_LEAST;
use weighbridge_lab::layers;
use weighbridge_model::experiment::{CpuLimit, Experiment, Variant};
use weighbridge_model::id::PointId;
use weighbridge_model::pairing::PairingChoice;
use weighbridge_model::plan::Batches;
use weighbridge_model::quantity::Nanoseconds;

use crate::prepare::plan::whole_plan;

/// The longest time constant of a variant's limits and layers.
pub fn period_of(variant: &Variant) -> Option<Nanoseconds> {
    let limit = variant.limits.cpu.map(|_| CpuLimit::PERIOD);
    limit.max(layers::period(&variant.layers))
}

/// Why a run will exceed its budget, where windows of the length asked for, or of 20 of the longest period,
/// in at least ten rounds already do. `period` gives each variant's longest time constant.
pub fn over_budget(
    experiment: &Experiment,
    batches: &Batches,
    period: impl Fn(&Variant) -> Option<Nanoseconds>,
) -> Option<String> {
    let rules = &experiment.plan;
    if matches!(rules.pairing, PairingChoice::Sequential | PairingChoice::Requests) {
        return None;
    }
    let plan = whole_plan(experiment);
    let (mut round, mut longest) = (Nanoseconds::ZERO, Nanoseconds::ZERO);
    for (number, members) in (0..).zip(batches.iter()) {
        let period = members.iter().filter_map(|id| period(&experiment.variants[id.index()])).max();
        if period.or(rules.window).is_none() {
            continue;
        }
        let rule = WindowRule { nominal: rules.window, period, slots: 1, headline: rules.headline };
        let turns = match rules.pairing {
            PairingChoice::Duet => 1,
            _ => plan.for_batch(number, members.len()).round(0, PointId(0), 0).len() as u64,
        };
        round += rule.nominal() * turns;
        longest = longest.max(rule.nominal());
    }
    let rounds = u64::from(rules.blocks_min) * u64::from(ROUNDS_LEAST) * experiment.points.len() as u64;
    let least = round * rounds;
    (least > rules.budget).then(|| {
        format!(
            "it will take about {least}, not {}: windows are {longest} long, and each of {} blocks has at least {ROUNDS_LEAST} rounds of them",
            rules.budget, rules.blocks_min
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limited(budget: &str, more: &str) -> Experiment {
        let text = format!(
            "[workload]\nname = \"pingpong\"\n[plan]\nblocks = {{ min = 4, max = 4 }}\nbudget = \"{budget}\"\n{more}\n\
             [[variant]]\nname = \"whole\"\nservice = \"go\"\n[[variant]]\nname = \"half\"\nservice = \"go\"\ncpu = 0.5\n"
        );
        Experiment::parse("x.toml", &text).expect("an experiment")
    }

    #[test]
    fn what_declared_periods_make_longer_than_the_budget_is_foreseen() {
        let of = |experiment: &Experiment| over_budget(experiment, &Batches::even(2, 5), period_of);
        let text = of(&limited("60 s", "")).expect("longer");
        assert!(
            text.contains("about 160 s, not 60.0 s") && text.contains("windows are 2.00 s long"),
            "{text}"
        );
        assert_eq!(of(&limited("160 s", "")), None);
        assert_eq!(of(&limited("60 s", "pairing = \"sequential\"")), None);
        let mut unlimited = limited("60 s", "");
        unlimited.variants[1].limits.cpu = None;
        assert_eq!(of(&unlimited), None);
        unlimited.plan.window = Some(Nanoseconds::from_secs(3));
        assert!(of(&unlimited).is_some_and(|text| text.contains("about 240 s")));
    }
}
