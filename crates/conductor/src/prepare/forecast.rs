//! The time a run will take, as far as it is known before anything is measured.

use weighbridge_judge::capacity::CapacityRule;
use weighbridge_judge::steer::WindowRule;
use weighbridge_judge::thresholds::{ROUNDS_LEAST, SEARCH_STEP, WARM_UP_LEAST};
use weighbridge_lab::layers;
use weighbridge_model::experiment::{CpuLimit, Experiment, Point, Variant};
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

/// What a quick run may take, as far as that is foreseen: less than the five minutes that it promises.
const QUICK_LONGEST: Nanoseconds = Nanoseconds::from_secs(280);
/// A start until ready with its first connections; a virtual machine takes longer, and is one of those that declare a warm-up.
const START: Nanoseconds = Nanoseconds::from_millis(500);
const SLOW_START: Nanoseconds = Nanoseconds::from_secs(3);
/// The fewest rounds of one variant, with their switches.
const FEWEST_ROUNDS: Nanoseconds = Nanoseconds::from_millis(400);
/// Steps of a search in the first block, about, and rates that every block measures.
const SEARCHED: u64 = 16;
const GRID: u64 = 5;
/// What warm-ups take that do not end at once, and what nobody foresees.
const SLACK: f64 = 1.3;

/// About how long the fewest blocks of a run take at least.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LeastTime {
    starts: Nanoseconds,
    each_point: Nanoseconds,
}

impl LeastTime {
    /// `warmup` is what a variant's service declares.
    fn new(experiment: &Experiment, warmup: impl Fn(&Variant) -> Nanoseconds) -> Self {
        let blocks = u64::from(experiment.plan.blocks_min);
        let longest =
            |of: fn(&Point) -> Nanoseconds| experiment.points.iter().map(of).max().unwrap_or_default();
        let (told, steps) = (longest(|point| point.load.warmup), steps(experiment));
        let of_variant = |variant: &Variant| {
            let declared = warmup(variant);
            let start = if declared > Nanoseconds::ZERO { SLOW_START } else { START };
            Self { starts: start, each_point: declared.max(told).max(WARM_UP_LEAST) + steps }
        };
        let all = experiment.variants.iter().map(of_variant).fold(
            Self { starts: Nanoseconds::ZERO, each_point: Nanoseconds::ZERO },
            |sum, one| Self { starts: sum.starts + one.starts, each_point: sum.each_point + one.each_point },
        );
        let with_slack =
            |time: Nanoseconds| Nanoseconds::from_secs_f64((time * blocks).as_secs_f64() * SLACK);
        Self { starts: with_slack(all.starts), each_point: with_slack(all.each_point) }
    }

    /// The most points that a quick run has time for, but always one.
    fn points_in_quick(self) -> usize {
        let left = QUICK_LONGEST.saturating_sub(self.starts).as_secs_f64();
        ((left / self.each_point.as_secs_f64().max(1e-9)) as usize).max(1)
    }
}

/// What one variant is measured for in a block and at a point.
fn steps(experiment: &Experiment) -> Nanoseconds {
    let Some(spec) = &experiment.capacity else { return FEWEST_ROUNDS };
    let Ok(objectives) = spec.objectives_for(&experiment.points[0].workload) else { return FEWEST_ROUNDS };
    let rule = CapacityRule::new(spec, objectives, experiment.plan.seed);
    let listed: Nanoseconds = rule.rates.iter().map(|rate| rule.grid_length(*rate)).sum();
    let searched = SEARCH_STEP * (SEARCHED / u64::from(experiment.plan.blocks_min.max(1)) + GRID);
    // With the step at the rate that all keep.
    SEARCH_STEP + if rule.rates.is_empty() { searched } else { listed }
}

/// Leaves points out of a quick run that would take longer than it promises, evenly over all of them. Returns those that are kept,
/// by their places; `None` where all are.
pub(crate) fn kept_in_quick(
    experiment: &Experiment,
    warmup: impl Fn(&Variant) -> Nanoseconds,
) -> Option<Vec<usize>> {
    let (all, most) = (experiment.points.len(), LeastTime::new(experiment, warmup).points_in_quick());
    (most < all).then(|| match most {
        1 => vec![0],
        _ => (0..most).map(|at| at * (all - 1) / (most - 1)).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quick_run_of_many_points_keeps_those_it_has_time_for() {
        let matrix = |more: &str| {
            let text = format!(
                "[workload]\nname = \"person\"\n[plan]\nblocks = {{ min = 4, max = 4 }}\n[matrix]\nservice = [\"a\", \"b\", \"c\"]\n{more}"
            );
            Experiment::parse("x.toml", &text).expect("an experiment")
        };
        let five = "workload.operation = [\"listPersons\", \"getPerson\", \"getPersonLinks\", \"createPerson\", \"getMissing\"]";
        let slow = |_: &Variant| Nanoseconds::from_secs(4);
        // 3 starts of 3 s, and for each point 3 warm-ups of 4 s with 0.4 s of rounds; in 4 blocks, by 1.3.
        let least = LeastTime::new(&matrix(five), slow);
        let millis = |time: Nanoseconds| time.as_nanos() / 1_000_000;
        assert_eq!([millis(least.starts), millis(least.each_point)], [46_800, 68_640]);
        assert_eq!(kept_in_quick(&matrix(five), slow), Some(vec![0, 2, 4]));
        assert_eq!(kept_in_quick(&matrix(five), |_| Nanoseconds::ZERO), None);
        let minute = |_: &Variant| Nanoseconds::from_secs(60);
        assert_eq!(kept_in_quick(&matrix(five), minute), Some(vec![0]), "one is always kept");
    }

    #[test]
    fn steps_at_listed_rates_are_foreseen() {
        let text = "[workload]\nname = \"pingpong\"\n[capacity]\nobjective = \"mean < 1 ms\"\nrates = [\"100/s\", \"1000/s\"]\n\
                    [[variant]]\nservice = \"a\"\n";
        let experiment = Experiment::parse("x.toml", text).expect("an experiment");
        // 100 requests in nine tenths of a step of 1.11 s, one of 0.5 s, and that at the common rate.
        assert_eq!(steps(&experiment).as_nanos() / 1_000_000, 2_111);
    }

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
