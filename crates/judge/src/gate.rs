//! Whether a gate passes. `fail_if` fails only if the condition is shown; `require` passes only if it is
//! shown.

use weighbridge_model::estimate::{ContrastKind, Estimate, Quantity, Verdict};
use weighbridge_model::gate::{Bound, Gate, GateKind, GateResult, Subject};
use weighbridge_model::summary::{Cost, Summary};

use crate::single::Single;

/// A figure under a gate.
struct Figure {
    name: String,
    /// `None` if it is withheld or has no interval.
    value: Option<Value>,
}

/// The interval of a count is a point.
#[derive(Debug, Clone, Copy)]
struct Value {
    point: f64,
    lower: f64,
    upper: f64,
}

impl Value {
    const fn exact(point: f64) -> Self {
        Self { point, lower: point, upper: point }
    }

    /// `None` without an interval.
    fn of(estimate: &Estimate) -> Option<Self> {
        let (lower, upper) = estimate.interval()?;
        Some(Self { point: estimate.point, lower, upper })
    }
}

/// Judges a gate on a run. A relative bound applies to every cost of the quantity over the whole workload, an
/// absolute one to every variant's figure; all must pass.
pub fn judge(gate: &Gate, summary: &Summary) -> GateResult {
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
pub fn judge_single(gate: &Gate, single: &Single) -> GateResult {
    let figure = |name: &str, value: Option<f64>| {
        vec![Figure { name: name.to_owned(), value: value.map(Value::exact) }]
    };
    let total = single.errors.total() as f64;
    let (figures, bound) = match (gate.subject, gate.bound) {
        (Subject::Errors, Bound::Absolute(bound)) => (figure("errors", Some(total)), bound),
        (Subject::Errors, Bound::Change(bound)) => {
            (figure("errors", Some(total / single.requests.max(1) as f64)), bound)
        }
        (Subject::Quantity(quantity), Bound::Absolute(bound)) => {
            (figure(&quantity.label(), single_value(single, quantity)), bound)
        }
        (Subject::Quantity(quantity), Bound::Change(bound)) => (figure(&quantity.label(), None), bound),
    };
    decide(gate, &figures, bound)
}

fn decide(gate: &Gate, figures: &[Figure], bound: f64) -> GateResult {
    let result = |passed, figure| GateResult { gate: gate.clone(), passed, figure };
    let Some(worst) = figures.iter().max_by(|a, b| badness(gate, a).total_cmp(&badness(gate, b))) else {
        return result(gate.kind == GateKind::FailIf, format!("`{gate}`: there is no such figure"));
    };
    let is_shown = worst.value.is_some_and(|value| gate.is_shown(value.lower, value.upper, bound));
    result(is_shown == (gate.kind == GateKind::Require), in_words(gate, worst, figures.len(), bound))
}

/// The greater, the further a figure is towards failing or beyond.
fn badness(gate: &Gate, figure: &Figure) -> f64 {
    // What has no interval shows nothing: that fails what is required, and no other gate.
    let Some(Value { lower, upper, .. }) = figure.value else {
        return if gate.kind == GateKind::Require { f64::INFINITY } else { f64::NEG_INFINITY };
    };
    match (gate.kind, gate.wants_at_most()) {
        (GateKind::FailIf, true) => lower,
        (GateKind::Require, true) => upper,
        (GateKind::FailIf, false) => -upper,
        (GateKind::Require, false) => -lower,
    }
}

/// `response p95 of `go`, the highest of 3: 3.20 ms [3.10 ms, 3.30 ms], at most 5 ms`
fn in_words(gate: &Gate, worst: &Figure, of: usize, bound: f64) -> String {
    let most = gate.wants_at_most();
    let rank = match worst.value {
        Some(_) if of > 1 => format!(", the {} of {of}", if most { "highest" } else { "lowest" }),
        _ => String::new(),
    };
    let shown =
        worst.value.map_or_else(|| "withheld or without interval".to_owned(), |value| range(gate, value));
    let limit = format!("{} {}", if most { "at most" } else { "at least" }, gate.written_bound());
    let is_open = |value: Value| {
        let is_good = |figure: f64| if most { figure <= bound } else { figure >= bound };
        is_good(value.lower) != is_good(value.upper)
    };
    let undecided = if worst.value.is_some_and(is_open) { " (undecided)" } else { "" };
    format!("{}{rank}: {shown}, {limit}{undecided}", worst.name)
}

/// `+2.00 %`; what rounds to zero has a plus.
fn signed(share: f64, unit: &str) -> String {
    format!("{:+.2} {unit}", (share * 1e4).round() / 1e2 + 0.0)
}

/// In the unit of the gate's bound.
fn range(gate: &Gate, value: Value) -> String {
    let Value { point, lower, upper } = value;
    let show = |value: f64| match (gate.subject, gate.bound) {
        (Subject::Errors, Bound::Absolute(_)) => format!("{value:.0}"),
        (Subject::Quantity(quantity), Bound::Change(_)) if quantity.contrast() == ContrastKind::Plain => {
            signed(value, "pp")
        }
        (_, Bound::Change(_)) => signed(value, "%"),
        (Subject::Quantity(quantity), Bound::Absolute(_)) => quantity.unit().display(value),
    };
    if lower == upper { show(point) } else { format!("{} [{}, {}]", show(point), show(lower), show(upper)) }
}

/// Whether a cost is of the whole workload: of `all`, or of the only operation.
fn is_whole(summary: &Summary, cost: &Cost) -> bool {
    let several = summary.costs.iter().any(|other| other.point == cost.point && other.operation == "all");
    !several || cost.operation == "all"
}

fn costs(summary: &Summary, quantity: Quantity) -> Vec<Figure> {
    let rows = summary.costs.iter().filter(|cost| cost.quantity == quantity && is_whole(summary, cost));
    let usable = |cost: &Cost| !matches!(cost.verdict, Verdict::Invalid | Verdict::Withheld);
    let minus_one = |Value { point, lower, upper }: Value| Value {
        point: point - 1.0,
        lower: lower - 1.0,
        upper: upper - 1.0,
    };
    let change = |cost: &Cost| match quantity.contrast() {
        ContrastKind::Log => Value::of(&cost.ratio?).map(minus_one),
        ContrastKind::Plain => Value::of(&cost.difference?),
    };
    rows.map(|cost| Figure {
        name: named(&cost.variant, &cost.point, &quantity.label()),
        value: change(cost).filter(|_| usable(cost)),
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
            value: figure.estimate.as_ref().and_then(Value::of),
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
        Figure { name: named(&variant.name, &variant.point, "errors"), value: Some(Value::exact(value)) }
    };
    summary.variants.iter().map(figure).collect()
}

fn named(variant: &str, point: &weighbridge_model::id::PointLabel, what: &str) -> String {
    let values: Vec<_> = point.values().map(String::as_str).collect();
    if values.is_empty() {
        format!("{what} of {variant}")
    } else {
        format!("{what} of {variant} ({})", values.join(", "))
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

    fn figure(lower: f64, upper: f64) -> Figure {
        let value = Value { point: f64::midpoint(lower, upper), lower, upper };
        Figure { name: "response p50 of b".to_owned(), value: Some(value) }
    }

    fn none() -> Figure {
        Figure { name: "response p50 of c".to_owned(), value: None }
    }

    fn judged(kind: GateKind, text: &str, figures: &[Figure]) -> GateResult {
        let gate = Gate::parse(kind, text).unwrap();
        let (Bound::Change(bound) | Bound::Absolute(bound)) = gate.bound;
        decide(&gate, figures, bound)
    }

    fn passes(kind: GateKind, text: &str, figures: &[Figure]) -> bool {
        judged(kind, text, figures).passed
    }

    #[test]
    fn undecided_passes_fail_if_and_fails_require() {
        let undecided = [figure(-0.01, 0.05)];
        assert!(passes(FailIf, "p50 > +2%", &undecided));
        assert!(!passes(Require, "p50 <= +2%", &undecided));
    }

    #[test]
    fn what_is_shown_decides() {
        assert!(!passes(FailIf, "p50 > +2%", &[figure(0.021, 0.05)]));
        assert!(passes(Require, "p50 <= +2%", &[figure(-0.01, 0.019)]));
        assert!(!passes(FailIf, "throughput < -5%", &[figure(-0.08, -0.06)]));
        assert!(passes(FailIf, "throughput < -5%", &[figure(-0.08, -0.04)]));
        assert!(passes(Require, "throughput >= -5%", &[figure(-0.04, 0.0)]));
    }

    #[test]
    fn a_figure_without_interval_shows_nothing() {
        for figures in [vec![none()], Vec::new(), vec![figure(-0.02, -0.01), none()]] {
            assert!(passes(FailIf, "p50 > +2%", &figures));
            assert!(!passes(Require, "p50 <= +2%", &figures));
        }
    }

    #[test]
    fn one_bad_figure_among_good_ones_fails_wherever_it_stands() {
        let mut figures = vec![figure(0.03, 0.04), figure(-0.01, 0.01), none(), figure(-0.02, 0.06)];
        for _ in 0..4 {
            figures.rotate_left(1);
            assert!(!passes(FailIf, "p50 > +2%", &figures) && !passes(Require, "p50 < +2%", &figures));
            assert!(!passes(FailIf, "p50 < +2%", &figures) && !passes(Require, "p50 > +2%", &figures));
        }
    }

    #[test]
    fn a_gate_is_told_with_the_figure_that_decides_and_a_mark() {
        let told = |kind, text: &str, figures: &[Figure]| judged(kind, text, figures).to_string();
        let exact = Figure { name: "response p95 of go".into(), value: Some(Value::exact(3.2e6)) };
        assert_eq!(told(Require, "p95 <= 5 ms", &[exact]), "response p95 of go: 3.20 ms, at most 5 ms ✓");
        let rows = [figure(0.03, 0.05), figure(-0.01, 0.01), none()];
        assert_eq!(
            told(FailIf, "p50 > +2 %", &rows),
            "response p50 of b, the highest of 3: +4.00 % [+3.00 %, +5.00 %], at most +2 % ✗"
        );
        assert_eq!(
            told(Require, "p50 <= +2 %", &rows),
            "response p50 of c: withheld or without interval, at most +2 % ✗"
        );
        let open = [figure(-0.01, 0.05)];
        let words = "response p50 of b: +2.00 % [-1.00 %, +5.00 %], at most +2% (undecided)";
        assert_eq!(told(FailIf, "p50 > +2%", &open), format!("{words} ✓"));
        assert_eq!(told(Require, "p50 < +2%", &open), format!("{words} ✗"));
        assert_eq!(told(FailIf, "p50 > +2%", &[]), "`p50 > +2%`: there is no such figure ✓");
    }
}
