//! A run as OpenMetrics text, which Prometheus and compatible systems read. Figures, costs and ratios are
//! gauges in seconds, bytes and per second, each with both bounds of its interval under the label `bound`;
//! verdicts and validity are state sets. Figures that must not be used are left out; validity and its reasons
//! say why.
//!
//! No sample has a time stamp, because textfile collectors refuse them: the run's start is a label.

use std::fmt::Write;

use weighbridge_model::estimate::{ContrastKind, Estimate, Quantity, Unit, Validity, Verdict};
use weighbridge_model::record::ErrorKind;
use weighbridge_model::summary::{Cost, Summary, VariantSummary};

use crate::columns::point_text;
use crate::text::clean;
use crate::words::{baseline, has_figures};

const VERDICTS: [Verdict; 6] = [
    Verdict::NoRelevantDifference,
    Verdict::Higher,
    Verdict::Lower,
    Verdict::Undecided,
    Verdict::Invalid,
    Verdict::Withheld,
];
const VALIDITIES: [Validity; 3] = [Validity::Valid, Validity::Suspect, Validity::Invalid];

/// Label names are constants of this file; values are foreign text.
type Labels<'a> = Vec<(&'static str, &'a str)>;

pub(crate) fn exposition(summary: &Summary) -> String {
    let mut text = String::new();
    run(&mut text, summary);
    variants(&mut text, summary);
    for quantity in Quantity::ALL {
        figures(&mut text, summary, quantity);
        costs(&mut text, summary, quantity);
    }
    verdicts(&mut text, summary);
    text.push_str("# EOF\n");
    text
}

/// The format's base unit, and the divisor that converts to it.
const fn base_unit(unit: Unit) -> (&'static str, f64) {
    match unit {
        Unit::Ns => ("seconds", 1e9),
        Unit::Bytes => ("bytes", 1.0),
        Unit::PerSecond => ("per_second", 1.0),
        // Not `count`, the suffix of a histogram's samples: segments are all that is counted.
        Unit::Count => ("segments", 1.0),
        Unit::Share => ("ratio", 1.0),
    }
}

/// Writes the head of a metric family. A name must end in its unit, if it has one.
fn family(text: &mut String, name: &str, kind: &str, unit: Option<&str>, help: &str) {
    let _ = writeln!(text, "# TYPE {name} {kind}");
    if let Some(unit) = unit {
        let _ = writeln!(text, "# UNIT {name} {unit}");
    }
    let _ = writeln!(text, "# HELP {name} {help}");
}

fn sample(text: &mut String, name: &str, labels: &[(&'static str, &str)], value: f64) {
    let labels: Vec<String> =
        labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escape(value))).collect();
    let _ = writeln!(text, "{name}{{{}}} {value}", labels.join(","));
}

/// Escapes a label's value. Control characters are shown as their codes.
fn escape(value: &str) -> String {
    clean(value).replace('\\', "\\\\").replace('"', "\\\"")
}

fn run(text: &mut String, summary: &Summary) {
    family(text, "weighbridge_run", "info", None, "The run.");
    let quick = if summary.quick { "true" } else { "false" };
    let labels = [
        ("run", summary.run.as_str()),
        ("title", &summary.title),
        ("started", &summary.started),
        ("headline", summary.headline.name()),
        ("quick", quick),
    ];
    sample(text, "weighbridge_run_info", &labels, 1.0);
    let mut gauge = |name: &str, unit, help: &str, value| {
        family(text, name, "gauge", unit, help);
        sample(text, name, &[("run", &summary.run)], value);
    };
    gauge(
        "weighbridge_took_seconds",
        Some("seconds"),
        "From first start to last stop.",
        summary.took.as_secs_f64(),
    );
    gauge("weighbridge_margin_ratio", Some("ratio"), "Margin of relevance.", summary.margin.get());
    gauge("weighbridge_blocks", None, "Blocks that count.", f64::from(summary.blocks.used));
}

fn variants(text: &mut String, summary: &Summary) {
    let each = || summary.variants.iter().map(|variant| (variant, point_text(&variant.point)));
    family(text, "weighbridge_validity", "stateset", None, "Whether a variant's figures may be used.");
    for (variant, point) in each() {
        for state in VALIDITIES {
            let labels =
                with_label(variant_labels(summary, variant, &point), "weighbridge_validity", state.name());
            sample(text, "weighbridge_validity", &labels, f64::from(u8::from(variant.validity == state)));
        }
    }
    family(text, "weighbridge_doubt", "info", None, "What speaks against a variant's figures.");
    for (variant, point) in each() {
        for reason in &variant.reasons {
            let labels = with_label(variant_labels(summary, variant, &point), "reason", reason);
            sample(text, "weighbridge_doubt_info", &labels, 1.0);
        }
    }
    let mut counter = |name: &str, help: &str, count: fn(&VariantSummary) -> u64| {
        family(text, name, "counter", None, help);
        for (variant, point) in each() {
            let labels = variant_labels(summary, variant, &point);
            sample(text, &format!("{name}_total"), &labels, count(variant) as f64);
        }
    };
    counter("weighbridge_requests", "Requests due in measured windows.", |variant| variant.requests);
    counter("weighbridge_not_sent", "Those never sent.", |variant| variant.not_sent);
    counter("weighbridge_resent", "How often requests were sent again.", |variant| variant.resent);
    family(text, "weighbridge_errors", "counter", None, "Failed requests by kind.");
    for (variant, point) in each() {
        for kind in ErrorKind::ALL {
            let labels = with_label(variant_labels(summary, variant, &point), "kind", kind.name());
            sample(text, "weighbridge_errors_total", &labels, variant.errors_by_kind.get(kind) as f64);
        }
    }
}

fn variant_labels<'a>(summary: &'a Summary, variant: &'a VariantSummary, point: &'a str) -> Labels<'a> {
    vec![("run", &summary.run), ("variant", &variant.name), ("point", point)]
}

fn cost_labels<'a>(summary: &'a Summary, cost: &'a Cost, point: &'a str) -> Labels<'a> {
    vec![
        ("run", &summary.run),
        ("variant", &cost.variant),
        ("baseline", baseline(summary, &cost.point)),
        ("point", point),
        ("operation", &cost.operation),
    ]
}

fn with_label<'a>(mut labels: Labels<'a>, name: &'static str, value: &'a str) -> Labels<'a> {
    labels.push((name, value));
    labels
}

/// Writes the point and, if there is an interval, its bounds.
fn estimate(text: &mut String, name: &str, labels: &Labels<'_>, estimate: &Estimate, divisor: f64) {
    let level = estimate.level.to_string();
    let bounds = [("point", Some(estimate.point)), ("lower", estimate.lower), ("upper", estimate.upper)];
    for (bound, value) in bounds {
        if let Some(value) = value {
            let labels = with_label(with_label(labels.clone(), "level", &level), "bound", bound);
            sample(text, name, &labels, value / divisor);
        }
    }
}

fn figures(text: &mut String, summary: &Summary, quantity: Quantity) {
    let (unit, divisor) = base_unit(quantity.unit());
    let name = format!("weighbridge_{}_{unit}", quantity.name());
    let mut rows = Vec::new();
    for variant in summary.variants.iter().filter(|variant| variant.validity != Validity::Invalid) {
        let mine = variant.figures.iter().filter(|figure| figure.quantity == quantity);
        rows.extend(mine.filter_map(|figure| Some((variant, &figure.operation, figure.estimate?))));
    }
    if rows.is_empty() {
        return;
    }
    family(text, &name, "gauge", Some(unit), &format!("{} of a variant.", capital(quantity)));
    for (variant, operation, figure) in rows {
        let point = point_text(&variant.point);
        let labels = with_label(variant_labels(summary, variant, &point), "operation", operation);
        estimate(text, &name, &labels, &figure, divisor);
    }
}

fn costs(text: &mut String, summary: &Summary, quantity: Quantity) {
    let (unit, divisor) = base_unit(quantity.unit());
    let mine = || {
        let usable = |cost: &&Cost| cost.quantity == quantity && has_figures(cost);
        summary.costs.iter().filter(usable).map(|cost| (cost, point_text(&cost.point)))
    };
    if mine().next().is_none() {
        return;
    }
    let quantity_name = quantity.name();
    let name = format!("weighbridge_{quantity_name}_difference_{unit}");
    family(text, &name, "gauge", Some(unit), &format!("{}, variant minus baseline.", capital(quantity)));
    for (cost, point) in mine() {
        if let Some(difference) = &cost.difference {
            estimate(text, &name, &cost_labels(summary, cost, &point), difference, divisor);
        }
    }
    if quantity.contrast() == ContrastKind::Plain {
        // Its own figures have that name.
        return;
    }
    let name = format!("weighbridge_{quantity_name}_ratio");
    family(text, &name, "gauge", Some("ratio"), &format!("{}, variant over baseline.", capital(quantity)));
    for (cost, point) in mine() {
        if let Some(ratio) = &cost.ratio {
            estimate(text, &name, &cost_labels(summary, cost, &point), ratio, 1.0);
        }
    }
}

fn capital(quantity: Quantity) -> String {
    crate::html::capital(&crate::words::label(quantity))
}

/// One state of each verdict is 1, the others are 0.
fn verdicts(text: &mut String, summary: &Summary) {
    family(text, "weighbridge_verdict", "stateset", None, "What a comparison concludes.");
    for cost in &summary.costs {
        let point = point_text(&cost.point);
        for state in VERDICTS {
            let labels = with_label(cost_labels(summary, cost, &point), "quantity", cost.quantity.name());
            let labels = with_label(labels, "weighbridge_verdict", state.name());
            sample(text, "weighbridge_verdict", &labels, f64::from(u8::from(cost.verdict == state)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_escaped_as_the_format_wants_it() {
        let mut text = String::new();
        sample(&mut text, "x", &[("name", "a\"b\\c\nd")], 0.5);
        assert_eq!(text, "x{name=\"a\\\"b\\\\c\\\\u{a}d\"} 0.5\n");
    }
}
