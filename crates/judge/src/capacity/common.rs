//! The rate at which all variants are measured once more, for what else they cost.

use weighbridge_model::quantity::PerSecond;
use weighbridge_model::record::steps::{StepKind, StepRecord};

use super::estimate::{CapacityEnd, capacities, rate};
use super::fit::largest_points;
use super::pool::{Which, by_rate};
use super::search::CapacityRule;

/// Of the smallest capacity where rates are searched for: one that every variant surely keeps.
const OF_SMALLEST: f64 = 0.8;

/// The highest listed rate that every variant keeps; where rates are searched for, four fifths of the smallest capacity
/// in two digits. By the first objective. `steps` are each variant's, by block. `None` where a variant keeps no rate, or was
/// not measured yet.
pub fn common_rate(rule: &CapacityRule, steps: &[Vec<Vec<&StepRecord>>]) -> Option<PerSecond> {
    if rule.rates.is_empty() {
        let kept: Option<Vec<f64>> = steps.iter().map(|blocks| surely_kept(rule, blocks)).collect();
        let smallest = kept?.into_iter().reduce(f64::min)?;
        return Some(rate(two_digits(smallest * OF_SMALLEST))).filter(|rate| rate.get() > 0.0);
    }
    let kept: Vec<Vec<f64>> = steps.iter().map(|blocks| kept_rates(rule, blocks)).collect();
    let by_all = |rate: &&PerSecond| kept.iter().all(|kept| kept.contains(&rate.get()));
    rule.rates.iter().rev().find(by_all).filter(|_| !kept.is_empty()).copied()
}

/// The capacity, or the highest rate at which nothing broke.
fn surely_kept(rule: &CapacityRule, blocks: &[Vec<&StepRecord>]) -> Option<f64> {
    let found = capacities(&rule.objectives, blocks, blocks.len()).into_iter().next()?;
    let is_kept = !matches!(found.end, CapacityEnd::Below(_)) && found.value.get() > 0.0;
    is_kept.then(|| found.value.get())
}

fn kept_rates(rule: &CapacityRule, blocks: &[Vec<&StepRecord>]) -> Vec<f64> {
    let pools = by_rate(&rule.objectives, blocks, |kind| kind == StepKind::Grid);
    let points = largest_points(&rule.objectives, 0, &pools, Which::All);
    points.iter().filter(|point| point.ratio <= 1.0).map(|point| point.rate).collect()
}

fn two_digits(value: f64) -> f64 {
    if value <= 0.0 {
        return 0.0;
    }
    let unit = 10_f64.powf(value.log10().floor() - 1.0);
    (value / unit).floor() * unit
}

#[cfg(test)]
mod tests {
    use weighbridge_model::id::OperationId;
    use weighbridge_model::objective::Objectives;
    use weighbridge_model::quantity::{Nanoseconds, Ratio, Timestamp};
    use weighbridge_model::record::steps::{Course, Step, StepEnd};
    use weighbridge_model::record::{LoopHealth, Outcome, RequestRecord};

    use super::*;
    use crate::capacity::record;

    fn rule(rates: &[f64]) -> CapacityRule {
        let objectives = vec!["mean < 1 ms".parse().unwrap()];
        CapacityRule {
            objectives: Objectives::new(objectives, &["get".to_owned()]).unwrap(),
            from: None,
            to: None,
            curve: 0,
            rates: rates.iter().map(|value| rate(*value)).collect(),
            length: Nanoseconds::from_secs(1),
            width: Ratio::new(0.01),
            seed: 1,
        }
    }

    /// A second at `per_second`, each request answered after so many microseconds.
    fn step(rule: &CapacityRule, per_second: f64, micros: u64) -> StepRecord {
        let at = |nanos: u64| Timestamp::from_nanos(1_000_000_000 + nanos);
        let request = |number: u64| {
            let due = (number as f64 * 1e9 / per_second) as u64;
            let (sent, done) = (at(due), at(due + micros * 1_000));
            RequestRecord { due: sent, sent, done, operation: OperationId(0), outcome: Outcome::Ok }
        };
        let step = Step {
            number: 0,
            kind: StepKind::Grid,
            course: Course::Rising,
            rate: rate(per_second),
            start: at(0),
            length: Nanoseconds::from_secs(1),
            end: StepEnd::Complete,
            health: LoopHealth::default(),
        };
        record(&rule.objectives, step, &(0..per_second as u64).map(request).collect::<Vec<_>>())
    }

    fn chosen(rule: &CapacityRule, variants: &[&[(f64, u64)]]) -> Option<f64> {
        let made = |steps: &&[(f64, u64)]| -> Vec<StepRecord> {
            steps.iter().map(|(rate, micros)| step(rule, *rate, *micros)).collect()
        };
        let made: Vec<Vec<StepRecord>> = variants.iter().map(made).collect();
        let steps: Vec<_> = made.iter().map(|steps| vec![steps.iter().collect::<Vec<_>>()]).collect();
        common_rate(rule, &steps).map(|rate| rate.get())
    }

    #[test]
    fn of_listed_rates_it_is_the_highest_that_all_keep() {
        let rule = rule(&[100.0, 200.0, 400.0]);
        let (fast, slow) =
            ([(100.0, 200), (200.0, 300), (400.0, 400)], [(100.0, 200), (200.0, 900), (400.0, 2_000)]);
        assert_eq!(chosen(&rule, &[&fast, &fast]), Some(400.0));
        assert_eq!(chosen(&rule, &[&fast, &slow]), Some(200.0));
        let none = [(100.0, 1_500), (200.0, 1_500), (400.0, 1_500)];
        assert_eq!(chosen(&rule, &[&fast, &none]), None);
        assert_eq!(chosen(&rule, &[&fast, &[]]), None, "one was not measured yet");
    }

    #[test]
    fn of_searched_rates_it_is_below_the_smallest_capacity() {
        let rule = rule(&[]);
        let never_broken = [(100.0, 200), (200.0, 300), (1_234.0, 400)];
        assert_eq!(chosen(&rule, &[&never_broken]), Some(980.0), "0.8 × 1,234 in two digits");
        assert_eq!(chosen(&rule, &[&never_broken, &[(100.0, 3_000), (200.0, 3_000)]]), None);
    }
}
