//! Puts figures, intervals and verdicts into words, the same in every format for people.
//!
//! Only rounding happens here. An interval decides the digits: they end where its half-width begins, and no
//! bound is rounded to no change unless it is none, because the side on which it lies carries the verdict.
//! Verdicts rest on the interval of the ratio, so that is the one shown beside them.

use weighbridge_model::estimate::{ContrastKind, Effect, Estimate, Quantity, Unit, Validity, Verdict};
use weighbridge_model::event::Interim;
use weighbridge_model::id::PointLabel;
use weighbridge_model::idle::Idle;
use weighbridge_model::quantity::{Bytes, Ratio};
use weighbridge_model::record::{ErrorCounts, ErrorKind};
use weighbridge_model::summary::{Cost, Summary, VariantSummary};

use crate::style::Tone;
use crate::text::{clean, counted, grouped};

/// From this ratio on, what is certainly higher is shown as a factor: `× 2,447` rather than `+244,600 %`.
const FACTOR_FROM: f64 = 3.0;
/// Decimals that no figure needs unless a bound would else be rounded to no change.
const DECIMALS_MOST: usize = 3;
/// Then this many at most.
const DECIMALS_LIMIT: usize = 9;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// `+20.1 µs`
    pub point: String,
    /// `[+19.8, +20.4]`
    pub interval: Option<String>,
}

/// When a figure's sign is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    Always,
    Negative,
}

/// How figures of one magnitude are shown.
pub(crate) struct UnitScale {
    pub(crate) divisor: f64,
    pub(crate) suffix: &'static str,
    decimals: usize,
}

pub(crate) fn scale(unit: Unit, magnitude: f64) -> UnitScale {
    let steps: &[(f64, f64, &'static str)] = match unit {
        Unit::Ns => &[(999.5e6, 1e9, " s"), (999.5e3, 1e6, " ms"), (999.5, 1e3, " µs"), (0.0, 1.0, " ns")],
        Unit::Bytes => &[
            (1073741824.0, 1073741824.0, " GiB"),
            (1048576.0, 1048576.0, " MiB"),
            (1024.0, 1024.0, " KiB"),
            (0.0, 1.0, " B"),
        ],
        Unit::PerSecond => {
            &[(999.5e6, 1e9, "G/s"), (999.5e3, 1e6, "M/s"), (9999.5, 1e3, "k/s"), (0.0, 1.0, "/s")]
        }
        Unit::Count => &[(0.0, 1.0, "")],
        Unit::Share => &[(0.0, 0.01, " %")],
    };
    let fits = steps.iter().find(|step| magnitude >= step.0).unwrap_or(&steps[steps.len() - 1]);
    let scaled = magnitude / fits.1;
    let decimals = match scaled {
        _ if fits.1 == 1.0 && matches!(unit, Unit::Ns | Unit::Bytes) => 0,
        s if s >= 99.95 => 0,
        s if s >= 9.995 => 1,
        _ => 2,
    };
    UnitScale { divisor: fits.1, suffix: fits.2, decimals }
}

/// Decimals that show the first digit of `half_width`, and the second if the first is a 1.
fn decimals_of(half_width: f64) -> usize {
    if half_width <= 0.0 || !half_width.is_finite() {
        return 0;
    }
    let exponent = half_width.log10().floor();
    let leading = half_width / 10f64.powf(exponent);
    let digits = -exponent + if leading < 1.95 { 1.0 } else { 0.0 };
    digits.clamp(0.0, DECIMALS_MOST as f64) as usize
}

fn rounds_to_zero(value: f64, decimals: usize) -> bool {
    // Halves round to even, which is zero.
    value != 0.0 && value.abs() <= 0.5 * 10f64.powi(-(decimals as i32))
}

/// Decimals for an interval, of which no bound may be rounded to `unchanged`.
fn decimals_for(bounds: [f64; 2], unchanged: f64) -> usize {
    let mut decimals = decimals_of((bounds[1] - bounds[0]) / 2.0);
    while decimals < DECIMALS_LIMIT && bounds.iter().any(|bound| rounds_to_zero(bound - unchanged, decimals))
    {
        decimals += 1;
    }
    decimals
}

fn number(value: f64, decimals: usize, sign: Sign) -> String {
    let text = match sign {
        Sign::Always => format!("{value:+.decimals$}"),
        Sign::Negative => format!("{value:.decimals$}"),
    };
    let is_zero = text.chars().all(|c| !c.is_ascii_digit() || c == '0');
    if is_zero { text.trim_start_matches(['+', '-']).to_owned() } else { text }
}

/// Writes point, lower and upper bound, already divided by their scale.
fn shown(estimate: [f64; 3], suffix: &str, interval: bool, fallback: usize, sign: Sign) -> Shown {
    let [point, lower, upper] = estimate;
    if !point.is_finite() {
        return Shown { point: "–".into(), interval: None };
    }
    let decimals = if interval { decimals_for([lower, upper], 0.0) } else { fallback };
    let text = |value: f64| number(value, decimals, sign);
    Shown {
        point: format!("{}{suffix}", text(point)),
        interval: interval.then(|| format!("[{}, {}]", text(lower), text(upper))),
    }
}

fn in_unit(unit: Unit, estimate: &Estimate, sign: Sign) -> Shown {
    let (lower, upper) = estimate.interval().unwrap_or((estimate.point, estimate.point));
    let magnitude = estimate.point.abs().max((upper - lower).abs() / 2.0);
    let scale = scale(unit, magnitude);
    let scaled = [estimate.point, lower, upper].map(|value| value / scale.divisor);
    // 2 % more than 90 % could be 92 % or 91.8 %.
    let suffix = if unit == Unit::Share && sign == Sign::Always { " pp" } else { scale.suffix };
    shown(scaled, suffix, estimate.interval().is_some(), scale.decimals, sign)
}

/// A difference in its unit: `+20.1 µs`, `[+19.8, +20.4]`.
pub(crate) fn difference(unit: Unit, estimate: &Estimate) -> Shown {
    in_unit(unit, estimate, Sign::Always)
}

/// An absolute figure in its unit: `35.4 µs`, `[35.1, 35.7]`.
pub(crate) fn absolute(unit: Unit, estimate: &Estimate) -> Shown {
    in_unit(unit, estimate, Sign::Negative)
}

/// A ratio as a change: 2.31 is `+131 %`, and 3.02 `× 3.02` if the interval lies above 1.
pub(crate) fn change(ratio: &Estimate) -> Shown {
    let percent = |value: f64| (value - 1.0) * 100.0;
    let (lower, upper) = ratio.interval().unwrap_or((ratio.point, ratio.point));
    if ratio.point >= FACTOR_FROM && lower > 1.0 && upper.is_finite() {
        return factor(ratio.point, ratio.interval());
    }
    let point = percent(ratio.point);
    let fallback = match point.abs() {
        p if p >= 99.95 => 0,
        p if p >= 0.995 => 1,
        _ => 2,
    };
    shown([point, percent(lower), percent(upper)], " %", ratio.interval().is_some(), fallback, Sign::Always)
}

/// `× 3.02`, `[2.96, 3.08]`
fn factor(point: f64, interval: Option<(f64, f64)>) -> Shown {
    let decimals = match interval {
        Some((lower, upper)) => decimals_for([lower, upper], 1.0),
        None if point >= 99.95 => 0,
        None => 1,
    };
    let text = |value: f64| {
        let text = number(value, decimals, Sign::Negative);
        let (whole, rest) = text.split_once('.').map_or((&*text, None), |(whole, rest)| (whole, Some(rest)));
        let whole = whole.parse().map_or_else(|_| whole.to_owned(), grouped);
        rest.map_or_else(|| whole.clone(), |rest| format!("{whole}.{rest}"))
    };
    Shown {
        point: format!("× {}", text(point)),
        interval: interval.map(|(lower, upper)| format!("[{}, {}]", text(lower), text(upper))),
    }
}

/// A figure and its interval as one text: `+20.9 % [+20.2, +21.6]`.
pub(crate) fn joined(shown: &Shown) -> String {
    match &shown.interval {
        Some(interval) => format!("{} {interval}", shown.point),
        None => shown.point.clone(),
    }
}

/// A quantity's name, in text, tables and charts alike: `response p50`, `CPU/op`.
pub(crate) fn label(quantity: Quantity) -> String {
    quantity.label().replace("cpu", "CPU").replace(" per operation", "/op")
}

/// A change as a share, with the bounds of its interval: 1.31 is `+131 %`.
pub(crate) fn change_of(point: f64, bounds: Option<(f64, f64)>) -> Shown {
    change(&estimate(point + 1.0, bounds.map(|(lower, upper)| (lower + 1.0, upper + 1.0))))
}

/// The headline so far: of shares in percentage points.
pub fn interim_change(interim: &Interim) -> Shown {
    let bounds = interim.lower.zip(interim.upper);
    match interim.contrast {
        ContrastKind::Log => change_of(interim.change, bounds),
        ContrastKind::Plain => difference(Unit::Share, &estimate(interim.change, bounds)),
    }
}

fn estimate(point: f64, bounds: Option<(f64, f64)>) -> Estimate {
    Estimate {
        point,
        lower: bounds.map(|(lower, _)| lower),
        upper: bounds.map(|(_, upper)| upper),
        level: 0.95,
        blocks: 0,
        bootstrap: None,
    }
}

/// `higher (worse)`
pub(crate) fn verdict(cost: &Cost) -> String {
    verdict_of(cost.verdict, cost.effect)
}

pub(crate) fn verdict_of(verdict: Verdict, effect: Option<Effect>) -> String {
    match effect {
        Some(Effect::Better) => format!("{} (better)", verdict.name()),
        Some(Effect::Worse) => format!("{} (worse)", verdict.name()),
        None => verdict.name().to_owned(),
    }
}

pub(crate) fn tone(cost: &Cost) -> Tone {
    tone_of(cost.verdict, cost.effect)
}

pub(crate) fn tone_of(verdict: Verdict, effect: Option<Effect>) -> Tone {
    match (verdict, effect) {
        (Verdict::Invalid, _) => Tone::Problem,
        (Verdict::Undecided | Verdict::Withheld, _) => Tone::Undecided,
        (_, Some(Effect::Better)) => Tone::Better,
        (_, Some(Effect::Worse)) => Tone::Worse,
        (_, None) => Tone::Plain,
    }
}

/// Whether a cost has figures that a reader may use.
pub(crate) fn has_figures(cost: &Cost) -> bool {
    cost.difference.is_some() && !matches!(cost.verdict, Verdict::Invalid | Verdict::Withheld)
}

/// A point in words: `connections 4, keep_alive true, 64 B`; empty if the experiment has one point.
pub fn point(label: &PointLabel) -> String {
    let words = label.iter().map(|(key, value)| {
        // A number with a unit needs no key; a bare number or `true` does.
        let has_digit = value.chars().any(|c| c.is_ascii_digit());
        if has_digit && value.chars().any(char::is_alphabetic) {
            clean(value)
        } else {
            format!("{} {}", clean(key.rsplit('.').next().unwrap_or(key)), clean(value))
        }
    });
    words.collect::<Vec<_>>().join(", ")
}

/// The heading of a point: its condition, after the point if the condition does not name it.
pub(crate) fn point_heading(label: &PointLabel, condition: Option<&str>) -> String {
    let (point, condition) = (point(label), clean(condition.unwrap_or_default()));
    match (point.is_empty(), condition.is_empty()) {
        (true, _) => condition,
        (false, true) => point,
        (false, false) if condition.contains(&point) => condition,
        (false, false) => format!("{point}: {condition}"),
    }
}

/// `name, point`
pub(crate) fn subject(name: &str, label: &PointLabel) -> String {
    let point = point(label);
    if point.is_empty() { clean(name) } else { format!("{}, {point}", clean(name)) }
}

/// Whether another program measured it: then no block was planned or used.
pub(crate) const fn is_imported(summary: &Summary) -> bool {
    summary.blocks.max == 0 && summary.blocks.used == 0
}

/// Whether there are several operations, so that each must be named.
pub(crate) fn several_operations(summary: &Summary) -> bool {
    summary.costs.iter().any(|cost| cost.operation != summary.costs[0].operation)
}

/// Names of quantities, with the kind of time only once: `response p50, p90, p99`.
pub(crate) fn quantities(costs: &[&Cost]) -> String {
    let mut text = String::new();
    let mut last_kind = None;
    for cost in costs {
        let label = label(cost.quantity);
        let kind = label.split_once(' ').map(|(kind, _)| kind.to_owned());
        let is_time = cost.quantity.is_response() || cost.quantity.is_service();
        let name = match &kind {
            Some(kind) if is_time && last_kind.as_ref() == Some(kind) => &label[kind.len() + 1..],
            _ => &label,
        };
        text.push_str(if text.is_empty() { "" } else { ", " });
        text.push_str(name);
        last_kind = kind;
    }
    text
}

pub(crate) fn baseline<'a>(summary: &'a Summary, label: &PointLabel) -> &'a str {
    let here = summary.variants.iter().find(|v| v.baseline && v.point == *label);
    let any = || summary.variants.iter().find(|v| v.baseline);
    here.or_else(any).map_or("baseline", |v| v.name.as_str())
}

/// `go against rust (baseline), 64 B`
fn comparison(summary: &Summary, cost: &Cost) -> String {
    let mut words =
        format!("{} against {} (baseline)", clean(&cost.variant), clean(baseline(summary, &cost.point)));
    let point = point(&cost.point);
    if !point.is_empty() {
        words.push_str(&format!(", {point}"));
    }
    if several_operations(summary) {
        words.push_str(&format!(", {}", clean(&cost.operation)));
    }
    words
}

/// The parts of a sentence about a cost, which formats emphasise differently: `{who}:
/// {what}{joint}{verdict}`.
pub(crate) struct Sentence {
    /// `go against rust (baseline), 64 B`
    pub(crate) who: String,
    /// `response p50 +21 % [+20, +22], +3.2 µs`; only the quantity if it has no figures.
    pub(crate) what: String,
    /// `: ` after figures, else a space.
    pub(crate) joint: &'static str,
    /// With its reason.
    pub(crate) verdict: String,
}

/// One cost in words: `go against rust (baseline), 64 B: response p50 +21 % [+20, +22], +3.2 µs: higher
/// (worse)`. Foreign text in it has no control characters, but is not escaped for any format.
pub fn sentence(summary: &Summary, cost: &Cost) -> String {
    let Sentence { who, what, joint, verdict } = sentence_parts(summary, cost);
    format!("{who}: {what}{joint}{verdict}")
}

pub(crate) fn sentence_parts(summary: &Summary, cost: &Cost) -> Sentence {
    let mut what = label(cost.quantity);
    let figure = cost.difference.as_ref().filter(|_| has_figures(cost));
    if let Some(figure) = figure {
        let change = cost.ratio.as_ref().map(|ratio| format!(" {},", joined(&change(ratio))));
        what.push_str(&format!("{} {}", change.unwrap_or_default(), difference(cost.unit, figure).point));
    }
    let reason = match cost.reason.as_deref().map(clean) {
        Some(reason) if figure.is_some() => format!(" ({reason})"),
        Some(reason) => format!(": {reason}"),
        None => String::new(),
    };
    Sentence {
        who: comparison(summary, cost),
        what,
        joint: if figure.is_some() { ": " } else { " " },
        verdict: format!("{}{reason}", verdict(cost)),
    }
}

/// The headline in words, one sentence per variant and point.
pub fn headline_sentences(summary: &Summary) -> Vec<String> {
    headlines(summary).map(|cost| sentence(summary, cost)).collect()
}

pub(crate) fn headlines(summary: &Summary) -> impl Iterator<Item = &Cost> {
    summary.costs.iter().filter(|cost| cost.headline)
}

/// `12 of 1,000 requests failed: 10 status, 2 timeout`
pub(crate) fn failures(requests: u64, errors: ErrorCounts) -> Option<String> {
    let kinds: Vec<String> = ErrorKind::ALL
        .into_iter()
        .filter(|kind| errors.get(*kind) > 0)
        .map(|kind| format!("{} {}", grouped(errors.get(kind)), kind.name()))
        .collect();
    let (failed, of) = (grouped(errors.total()), counted(requests, "request"));
    (!kinds.is_empty()).then(|| format!("{failed} of {of} failed: {}", kinds.join(", ")))
}

pub(crate) const fn validity(validity: Validity) -> Option<&'static str> {
    match validity {
        Validity::Valid => None,
        Validity::Suspect => Some("suspect: read these figures with care"),
        Validity::Invalid => Some("invalid: these figures must not be used"),
    }
}

/// What a reader must know before any figure: a line, then a line for each variant that it concerns.
pub(crate) struct Alarm {
    pub(crate) line: String,
    pub(crate) details: Vec<String>,
}

/// Alarms of a run: validity first, then failed and unsent requests.
pub(crate) fn alarms(summary: &Summary) -> Vec<Alarm> {
    let doubted: Vec<&VariantSummary> =
        summary.variants.iter().filter(|v| v.validity != Validity::Valid).collect();
    let details = doubted.iter().map(|v| {
        let reasons: Vec<String> = v.reasons.iter().map(|reason| clean(reason)).collect();
        format!("{}: {}: {}", subject(&v.name, &v.point), v.validity.name(), reasons.join("; "))
    });
    let mut alarms: Vec<Alarm> = validity(summary.validity)
        .map(|line| Alarm { line: line.to_owned(), details: details.collect() })
        .into_iter()
        .collect();
    let (mut errors, mut requests, mut unsent) = (ErrorCounts::default(), 0, 0);
    for variant in &summary.variants {
        errors.add(variant.errors_by_kind);
        requests += variant.requests;
        unsent += variant.not_sent;
    }
    if let Some(line) = failures(requests, errors) {
        let failed = |v: &&VariantSummary| v.errors > 0;
        let details = summary.variants.iter().filter(failed).filter_map(|v| {
            failures(v.requests, v.errors_by_kind)
                .map(|text| format!("{}: {text}", subject(&v.name, &v.point)))
        });
        alarms.push(Alarm { line, details: details.collect() });
    }
    // A search for capacity overloads on purpose.
    if unsent > 0 && summary.capacities.is_empty() {
        alarms
            .push(Alarm { line: format!("{unsent} requests were due but never sent"), details: Vec::new() });
    }
    alarms
}

/// The collector's name in JVM flags, from the name of its management bean; `None` if it is not known.
fn collector(bean: &str) -> Option<&'static str> {
    let name = |known: &(&str, &'static str)| bean.starts_with(known.0).then_some(known.1);
    [("Copy", "Serial"), ("PS_", "Parallel"), ("G1_", "G1"), ("ZGC", "Z"), ("Shenandoah", "Shenandoah")]
        .iter()
        .find_map(name)
}

/// What a variant's runtime reported of the machine: `1 core, collector G1 (G1_Young_Generation), heap up to
/// 256 MiB`. Unknown keys are shown as they are.
pub(crate) fn runtime(variant: &VariantSummary) -> Option<String> {
    let word = |(key, value): (&String, &String)| match (key.as_str(), value.parse::<u64>()) {
        ("cores", Ok(1)) => "1 core".to_owned(),
        ("cores", _) => format!("{value} cores"),
        ("gc", _) => match collector(value) {
            Some(name) => format!("collector {name} ({value})"),
            None => format!("collector {value}"),
        },
        ("heap_bytes", Ok(bytes)) => format!("heap up to {}", Bytes::new(bytes)),
        _ => format!("{key} {value}"),
    };
    let words: Vec<String> = variant.runtime.iter().map(word).collect();
    (!words.is_empty()).then(|| words.join(", "))
}

/// A variant's own connections: `1 connection × 4 in flight`.
pub(crate) fn slots(variant: &VariantSummary) -> Option<String> {
    let slots = variant.slots?;
    let pipelined = if slots.pipelined { ", pipelined" } else { "" };
    let connections = counted(u64::from(slots.connections), "connection");
    Some(format!("{connections} × {} in flight{pipelined}", slots.in_flight))
}

/// What is said of a variant below its figures: `has 1 connection × 4 in flight`, `saw 1 core`.
pub(crate) fn remarks(variant: &VariantSummary) -> impl Iterator<Item = String> {
    let slots = slots(variant).map(|text| format!("has {text}"));
    slots.into_iter().chain(runtime(variant).map(|text| format!("saw {text}")))
}

/// A margin or half-width of a quantity's changes: `±2 %`, of a share `±1 pp`.
pub(crate) fn plus_minus(quantity: Quantity, half: Ratio) -> String {
    match quantity.contrast() {
        ContrastKind::Log => format!("±{half}"),
        ContrastKind::Plain => format!("±{half}").replace('%', "pp"),
    }
}

pub(crate) fn goal(summary: &Summary) -> Option<String> {
    let goal = summary.goal.as_ref()?;
    let reached = if goal.reached { "reached" } else { "not reached" };
    let show = |half: Ratio| plus_minus(summary.headline, half);
    let width = goal.half_width.map_or("no interval below 4 blocks".to_owned(), |half| {
        format!("the widest headline interval is {}", show(half))
    });
    Some(format!("precision goal {} {reached}: {width}", show(goal.until)))
}

/// The goal that was not reached.
pub(crate) fn goal_missed(summary: &Summary) -> Option<String> {
    goal(summary).filter(|_| summary.goal.as_ref().is_some_and(|goal| !goal.reached))
}

/// How idle cores waited, as the end of a sentence; empty if it is not known.
pub(crate) fn idle(summary: &Summary) -> &'static str {
    match summary.idle.as_ref().map(|idle| idle.was) {
        Some(Idle::Polled) => "; cores awake",
        Some(Idle::Host) => "; cores may sleep",
        None => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The page formats figures in TypeScript; both are tested with the same cases.
    const CASES: &str = include_str!("../../../web/src/data/format.cases.json");

    #[test]
    fn figures_read_as_the_page_has_them() {
        let cases: serde_json::Value = serde_json::from_str(CASES).unwrap();
        for case in cases["figures"].as_array().unwrap() {
            let [point, lower, upper] = [0, 1, 2].map(|at| case["estimate"][at].as_f64());
            let point = point.unwrap();
            let estimate = Estimate { point, lower, upper, level: 0.95, blocks: 6, bootstrap: None };
            let unit = || serde_json::from_value(case["unit"].clone()).unwrap();
            let shown = match case["as"].as_str().unwrap() {
                "difference" => difference(unit(), &estimate),
                "absolute" => absolute(unit(), &estimate),
                "change" => change(&estimate),
                other => panic!("`{other}` is no way to show a figure"),
            };
            let text = |key: &str| case[key].as_str().map(str::to_owned);
            assert_eq!((Some(shown.point), shown.interval), (text("point"), text("interval")), "{case}");
        }
    }

    #[test]
    fn texts_read_as_the_page_has_them() {
        let cases: serde_json::Value = serde_json::from_str(CASES).unwrap();
        for case in cases["texts"].as_array().unwrap() {
            assert_eq!(clean(case["text"].as_str().unwrap()), case["clean"].as_str().unwrap());
        }
    }

    #[test]
    fn points_name_bare_numbers_only() {
        let label = PointLabel::from([
            ("load.connections".to_owned(), "4".to_owned()),
            ("workload.size".to_owned(), "64 B".to_owned()),
        ]);
        assert_eq!(point(&label), "connections 4, 64 B");
    }

    #[test]
    fn failures_are_counted_by_kind() {
        let errors = ErrorCounts { status: 12, ..ErrorCounts::default() };
        assert_eq!(failures(1000, errors).as_deref(), Some("12 of 1,000 requests failed: 12 status"));
        assert_eq!(failures(1000, ErrorCounts::default()), None);
    }
}
