//! Capacities as text: the highest rate that keeps each objective, and what limits it.

use weighbridge_model::capacity::{CapacityFound, CapacityOutcome};
use weighbridge_model::estimate::Unit;
use weighbridge_model::id::PointLabel;
use weighbridge_model::summary::Summary;

use crate::style::Tone;
use crate::table::{Align, Cell, Table};
use crate::text::clean;
use crate::words;

/// Those at a point, by objective and then by variant.
pub(crate) fn at<'a>(summary: &'a Summary, point: &PointLabel) -> Vec<&'a CapacityFound> {
    let mut found: Vec<_> = summary.capacities.iter().filter(|one| one.point == *point).collect();
    let first = |one: &CapacityFound| {
        summary.capacities.iter().position(|other| other.objective == one.objective).unwrap_or_default()
    };
    found.sort_by_key(|one| first(one));
    found
}

/// `12.3k/s [12.1k, 12.5k]`, or what is known instead.
pub(crate) fn rate(found: &CapacityFound) -> words::Shown {
    let instead = |text: String| words::Shown { point: text, interval: None };
    let per_second = |rate: f64| Unit::PerSecond.display(rate);
    match (&found.highest, found.outcome) {
        (Some(highest), _) => words::absolute(Unit::PerSecond, highest),
        // At no rate was anything seen.
        (
            None,
            CapacityOutcome::AtCeiling { rate_per_s }
            | CapacityOutcome::AtMost { rate_per_s }
            | CapacityOutcome::NotBroken { rate_per_s },
        ) if rate_per_s > 0.0 => instead(format!("at least {}", per_second(rate_per_s))),
        (None, CapacityOutcome::Below { rate_per_s }) => instead(format!("below {}", per_second(rate_per_s))),
        (None, _) => instead("unknown".to_owned()),
    }
}

/// What is known where one of the two has a limit alone: `Both cpp and rust keep mean < 1 ms up to 4096/s, the highest rate allowed.`
/// By the first objective. `None` where both have a figure, or one has not even a limit.
pub(crate) fn limits(summary: &Summary, point: &PointLabel, names: [&str; 2]) -> Option<String> {
    let found = at(summary, point);
    let objective = &found.first()?.objective;
    let of =
        |name: &str| found.iter().find(|one| one.variant == name && one.objective == *objective).copied();
    let both = [of(names[0])?, of(names[1])?];
    if both.iter().all(|one| one.highest.is_some()) {
        return None;
    }
    let [first, second] = names.map(clean);
    let objective = clean(objective);
    let [most, other] = both.map(kept_up_to);
    match (most, other) {
        (Some(most), Some(other)) if most == other => {
            Some(format!("Both {first} and {second} keep {objective} up to {most}"))
        }
        (most, other) => {
            let words = |one: &CapacityFound, most: Option<String>| match (most, one.outcome) {
                (Some(most), _) => Some(format!("keeps {objective} up to {most}")),
                (None, CapacityOutcome::Below { rate_per_s }) => {
                    Some(format!("does not keep {objective} at {}", Unit::PerSecond.display(rate_per_s)))
                }
                (None, _) => None,
            };
            Some(format!("{first} {}; {second} {}", words(both[0], most)?, words(both[1], other)?))
        }
    }
}

/// `4096/s, the highest rate allowed`, or the estimate with its interval.
fn kept_up_to(found: &CapacityFound) -> Option<String> {
    let limit =
        |rate: f64, why: &str| (rate > 0.0).then(|| format!("{}, {why}", Unit::PerSecond.display(rate)));
    match (&found.highest, found.outcome) {
        (Some(highest), _) => {
            let words::Shown { point, interval } = words::absolute(Unit::PerSecond, highest);
            Some(interval.map_or_else(|| point.clone(), |both| format!("{point} {both}")))
        }
        (None, CapacityOutcome::AtCeiling { rate_per_s }) => {
            limit(rate_per_s, "the most that the generator can offer")
        }
        (None, CapacityOutcome::AtMost { rate_per_s }) => limit(rate_per_s, "the highest rate allowed"),
        (None, CapacityOutcome::NotBroken { rate_per_s }) => limit(rate_per_s, "the highest rate tried"),
        (None, _) => None,
    }
}

/// The rate at which a point's other figures were measured, in words.
pub(crate) fn common_rate(summary: &Summary, point: &PointLabel) -> Option<String> {
    let common = summary.common_rates.iter().find(|common| common.point == *point)?;
    Some(format!("Other figures at {}, which all keep:", Unit::PerSecond.display(common.rate_per_s)))
}

/// What limits it, and what speaks against it.
pub(crate) fn remark(found: &CapacityFound) -> String {
    let limit = found.limited_by.as_deref().map(|by| format!("limited by {}", clean(by)));
    let against = match found.outcome {
        CapacityOutcome::Estimated | CapacityOutcome::Below { .. } => None,
        CapacityOutcome::AtCeiling { .. } => Some("the generator is the limit"),
        CapacityOutcome::AtMost { .. } => Some("the highest rate allowed"),
        CapacityOutcome::NotBroken { .. } => Some("no rate tried broke it"),
        CapacityOutcome::NotMonotone { .. } => Some("not monotone"),
        CapacityOutcome::Hysteresis { .. } => Some("hysteresis"),
        CapacityOutcome::Drift { .. } => Some("it drifts"),
        CapacityOutcome::NotConfirmed { .. } => Some("not confirmed"),
        CapacityOutcome::NotMeasured => Some("no block counts"),
    };
    limit.into_iter().chain(against.map(str::to_owned)).collect::<Vec<_>>().join("; ")
}

/// A heading for each objective, and a row for each variant under it.
pub(crate) fn table(found: &[&CapacityFound]) -> Table {
    let mut table = Table::new([Align::Left, Align::Right, Align::Left, Align::Left], 2);
    let mut objective = None;
    for one in found {
        if objective != Some(&one.objective) {
            let heading = format!("highest rate that keeps {}", clean(&one.objective));
            table.line(heading);
            objective = Some(&one.objective);
        }
        let words::Shown { point, interval } = rate(one);
        table.push(vec![
            Cell::new(format!("  {}", clean(&one.variant))),
            Cell::toned(Tone::Strong, point),
            Cell::new(interval.unwrap_or_default()),
            Cell::toned(Tone::Secondary, remark(one)),
        ]);
    }
    table
}
