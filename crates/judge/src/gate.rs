//! Whether a gate passes. `fail_if` fails only if the condition is shown; `require` passes only if it is
//! shown.

use weighbridge_model::estimate::{ContrastKind, Estimate, Quantity, Verdict};
use weighbridge_model::gate::{Bound, Gate, GateKind, Subject};
use weighbridge_model::summary::{Cost, Summary};

use crate::single::Single;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GateOutcome {
    Passed,
    /// The text says on which figure.
    Failed(String),
}

/// A figure under a gate: its name and interval; for counts, a point.
struct Figure {
    name: String,
    interval: Option<(f64, f64)>,
}

/// Judges a gate on a run. A relative bound applies to every cost of the quantity over the whole workload, an
/// absolute one to every variant's figure; all must pass.
pub fn judge(gate: &Gate, summary: &Summary) -> GateOutcome {
    let (figures, bound) = match (gate.subject, gate.bound) {
        (Subject::Errors, Bound::Absolute(bound)) => (errors(summary, |errors, _| errors), bound),
        (Subject::Errors, Bound::Change(bound)) => {
            (errors(summary, |errors, requests| errors / requests.max(1.0)), bound)
        }
        (Subject::Quantity(quantity), Bound::Change(bound)) => (costs(summary, quantity), bound),
        (Subject::Quantity(quantity), Bound::Absolute(bound)) => (absolutes(summary, quantity), bound),
    };
    decide(gate, &figures, bound)
}

/// Judges a gate on one URL's figures. A relative bound has no baseline there, so nothing can be shown.
pub fn judge_single(gate: &Gate, single: &Single) -> GateOutcome {
    let count = |value: f64| Some((value, value));
    let figure = |name: &str, interval| vec![Figure { name: name.to_owned(), interval }];
    let total = single.errors.total() as f64;
    let (figures, bound) = match (gate.subject, gate.bound) {
        (Subject::Errors, Bound::Absolute(bound)) => (figure("errors", count(total)), bound),
        (Subject::Errors, Bound::Change(bound)) => {
            (figure("errors", count(total / single.requests.max(1) as f64)), bound)
        }
        (Subject::Quantity(quantity), Bound::Absolute(bound)) => {
            (figure(&quantity.label(), single_value(single, quantity).and_then(count)), bound)
        }
        (Subject::Quantity(quantity), Bound::Change(bound)) => (figure(&quantity.label(), None), bound),
    };
    decide(gate, &figures, bound)
}

fn decide(gate: &Gate, figures: &[Figure], bound: f64) -> GateOutcome {
    if figures.is_empty() {
        return match gate.kind {
            GateKind::FailIf => GateOutcome::Passed,
            GateKind::Require => GateOutcome::Failed("there is no such figure".to_owned()),
        };
    }
    let shown =
        |figure: &Figure| figure.interval.is_some_and(|(lower, upper)| gate.is_shown(lower, upper, bound));
    let failing = figures.iter().find(|figure| match gate.kind {
        GateKind::FailIf => shown(figure),
        GateKind::Require => !shown(figure),
    });
    match failing {
        None => GateOutcome::Passed,
        Some(Figure { name, interval: None }) => GateOutcome::Failed(format!("{name} has no interval")),
        Some(Figure { name, interval: Some((lower, upper)) }) => {
            GateOutcome::Failed(format!("{name} is {}", range(gate, *lower, *upper)))
        }
    }
}

/// In the unit of the gate's bound.
fn range(gate: &Gate, lower: f64, upper: f64) -> String {
    let show = |value: f64| match (gate.subject, gate.bound) {
        (Subject::Errors, Bound::Absolute(_)) => format!("{value:.0}"),
        (Subject::Quantity(quantity), Bound::Change(_)) if quantity.contrast() == ContrastKind::Plain => {
            format!("{:+.2} pp", value * 100.0)
        }
        (_, Bound::Change(_)) => format!("{:+.2} %", value * 100.0),
        (Subject::Quantity(quantity), Bound::Absolute(_)) => quantity.unit().display(value),
    };
    if lower == upper { show(lower) } else { format!("[{}, {}]", show(lower), show(upper)) }
}

/// Whether a cost is of the whole workload: of `all`, or of the only operation.
fn is_whole(summary: &Summary, cost: &Cost) -> bool {
    let several = summary.costs.iter().any(|other| other.point == cost.point && other.operation == "all");
    !several || cost.operation == "all"
}

fn costs(summary: &Summary, quantity: Quantity) -> Vec<Figure> {
    let rows = summary.costs.iter().filter(|cost| cost.quantity == quantity && is_whole(summary, cost));
    let usable = |cost: &Cost| !matches!(cost.verdict, Verdict::Invalid | Verdict::Withheld);
    let change = |cost: &Cost| match quantity.contrast() {
        ContrastKind::Log => cost.ratio?.interval().map(|(lower, upper)| (lower - 1.0, upper - 1.0)),
        ContrastKind::Plain => cost.difference?.interval(),
    };
    rows.map(|cost| Figure {
        name: named(&cost.variant, &cost.point, &quantity.label()),
        interval: change(cost).filter(|_| usable(cost)),
    })
    .collect()
}

fn absolutes(summary: &Summary, quantity: Quantity) -> Vec<Figure> {
    let figures = summary.variants.iter().flat_map(|variant| {
        let several = variant.figures.iter().any(|figure| figure.operation == "all");
        let mine = variant
            .figures
            .iter()
            .filter(move |f| f.quantity == quantity && (!several || f.operation == "all"));
        mine.map(|figure| Figure {
            name: named(&variant.name, &variant.point, &quantity.label()),
            interval: figure.estimate.as_ref().and_then(Estimate::interval),
        })
    });
    figures.collect()
}

/// Failures in all windows with proper load, including those that are in no figure.
fn errors(summary: &Summary, combine: fn(f64, f64) -> f64) -> Vec<Figure> {
    let figure = |variant: &weighbridge_model::summary::VariantSummary| {
        let other = variant.other_windows;
        let value =
            combine((variant.errors + other.errors) as f64, (variant.requests + other.requests) as f64);
        Figure { name: named(&variant.name, &variant.point, "errors"), interval: Some((value, value)) }
    };
    summary.variants.iter().map(figure).collect()
}

fn named(variant: &str, point: &weighbridge_model::id::PointLabel, what: &str) -> String {
    let values: Vec<_> = point.values().map(String::as_str).collect();
    if values.is_empty() {
        format!("`{variant}` {what}")
    } else {
        format!("`{variant}` ({}) {what}", values.join(", "))
    }
}

fn single_value(single: &Single, quantity: Quantity) -> Option<f64> {
    use weighbridge_model::estimate::Statistic;
    let times = if quantity.is_response() { &single.response } else { &single.service };
    match quantity.statistic() {
        Statistic::Quantile(wanted) => {
            let (_, time) = times.quantiles.iter().find(|(q, _)| *q == wanted)?;
            time.ok().map(|time| time.as_nanos() as f64)
        }
        Statistic::Mean => times.mean.map(|mean| mean.as_nanos() as f64),
        Statistic::Other if quantity == Quantity::Throughput => Some(single.throughput.get()),
        Statistic::Other if quantity == Quantity::Availability => single.availability,
        Statistic::Other if quantity == Quantity::Reliability => single.reliability,
        Statistic::Other => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weighbridge_model::gate::GateKind::{FailIf, Require};

    fn figure(lower: f64, upper: f64) -> Vec<Figure> {
        vec![Figure { name: "`b` response p50".to_owned(), interval: Some((lower, upper)) }]
    }

    fn passes(kind: GateKind, text: &str, figures: &[Figure]) -> bool {
        let gate = Gate::parse(kind, text).unwrap();
        let Bound::Change(bound) = gate.bound else { panic!("a change") };
        decide(&gate, figures, bound) == GateOutcome::Passed
    }

    #[test]
    fn undecided_passes_fail_if_and_fails_require() {
        let undecided = figure(-0.01, 0.05);
        assert!(passes(FailIf, "p50 > +2%", &undecided));
        assert!(!passes(Require, "p50 <= +2%", &undecided));
    }

    #[test]
    fn what_is_shown_decides() {
        assert!(!passes(FailIf, "p50 > +2%", &figure(0.021, 0.05)));
        assert!(passes(Require, "p50 <= +2%", &figure(-0.01, 0.019)));
        assert!(!passes(FailIf, "throughput < -5%", &figure(-0.08, -0.06)));
    }

    #[test]
    fn a_figure_without_interval_shows_nothing() {
        let none = vec![Figure { name: "x".to_owned(), interval: None }];
        assert!(passes(FailIf, "p50 > +2%", &none));
        assert!(!passes(Require, "p50 <= +2%", &none));
        assert!(!passes(Require, "p50 <= +2%", &[]));
    }
}
