//! What layers cost, as text rows for every format: waterfalls, sum checks, interactions with factors, slopes
//! over size.

use std::collections::BTreeSet;

use weighbridge_model::estimate::{Estimate, Quantity, Unit, Validity};
use weighbridge_model::id::PointLabel;
use weighbridge_model::layering::{
    Additivity, Chain, Interaction, Slope, Stage, StageCost, SumCheck, SumRow,
};
use weighbridge_model::summary::Summary;

use crate::style::{Style, Tone};
use crate::table::{Align, Cell, Table};
use crate::text::{clean, hanging};
use crate::words::{self, Shown, joined, label};

/// From this terminal width on, the second column's interval is shown too.
const WIDE: usize = 110;

/// The quantities of a waterfall that a run has: the headline, the latency, then CPU, memory and traffic.
pub(crate) fn quantities(summary: &Summary) -> Vec<Quantity> {
    let headline = summary.headline;
    let mut all = vec![headline];
    if !(headline.is_response() || headline.is_service()) {
        all.push(Quantity::ResponseP50);
    }
    let more = [
        Quantity::CpuPerOperation,
        Quantity::MemoryPeak,
        Quantity::WireBytesPerOperation,
        Quantity::SegmentsPerOperation,
    ];
    all.extend(more.into_iter().filter(|quantity| *quantity != headline));
    let is_there = |quantity: &Quantity| {
        let costs = summary.layering.chains.iter().flat_map(|chain| &chain.stages).flat_map(|s| &s.costs);
        costs
            .into_iter()
            .any(|cost| cost.quantity == *quantity && (cost.figure.is_some() || *quantity == headline))
    };
    all.retain(is_there);
    all
}

pub(crate) fn head(quantity: Quantity) -> String {
    match quantity {
        Quantity::CpuPerOperation => "CPU/op".to_owned(),
        Quantity::MemoryPeak => "memory".to_owned(),
        Quantity::WireBytesPerOperation => "bytes on the wire/op".to_owned(),
        Quantity::SegmentsPerOperation => "TCP segments/op".to_owned(),
        other => label(other),
    }
}

/// A row of a waterfall or of a sum check.
pub(crate) struct LayeringRow {
    /// `bare`, `+ veth`, `= all together`, with a mark if it is invalid.
    pub(crate) name: String,
    /// Empty if the row belongs to no variant.
    pub(crate) variant: String,
    /// One per quantity; a dash if there is no figure.
    pub(crate) cells: Vec<Shown>,
}

pub(crate) fn at<'a>(summary: &'a Summary, point: &PointLabel) -> Vec<&'a Chain> {
    summary.layering.chains.iter().filter(|chain| chain.point == *point).collect()
}

pub(crate) fn sums_at<'a>(summary: &'a Summary, point: &PointLabel) -> Vec<&'a SumCheck> {
    summary.layering.sums.iter().filter(|check| check.point == *point).collect()
}

/// A chain's rows: figures of its first variant, what each stage adds to the row above, and what all add.
pub(crate) fn rows(chain: &Chain, quantities: &[Quantity]) -> Vec<LayeringRow> {
    let row = |name: String, variant: &str, costs: &[StageCost], is_first: bool| {
        let cell = |quantity: &Quantity| {
            let cost = costs.iter().find(|cost| cost.quantity == *quantity);
            let shown = cost.and_then(|cost| match is_first {
                true => cost.figure.as_ref().map(|figure| words::absolute(cost.unit, figure)),
                false => cost.difference.as_ref().map(|estimate| words::difference(cost.unit, estimate)),
            });
            shown.unwrap_or_else(dash)
        };
        LayeringRow { name, variant: variant.to_owned(), cells: quantities.iter().map(cell).collect() }
    };
    let stages = chain.stages.iter().enumerate().map(|(place, stage)| {
        let lead = if place == 0 { "" } else { "+ " };
        let invalid = if stage.validity == Validity::Invalid { " (invalid)" } else { "" };
        let name = format!("{lead}{}{invalid}", clean(&stage.name));
        row(name, &stage.variant, &stage.costs, place == 0)
    });
    let last = chain.stages.last().map_or("", |stage| stage.variant.as_str());
    stages.chain(std::iter::once(row("= all together".to_owned(), last, &chain.whole, false))).collect()
}

fn dash() -> Shown {
    Shown { point: "–".to_owned(), interval: None }
}

/// Notes on a chain: which variants are missing, and why a stage has no cost, or a cost against another stage
/// than the row above. The whole chain lacks a cost if a stage does, so it needs no note of its own.
pub(crate) fn reasons(chain: &Chain, quantities: &[Quantity]) -> Vec<String> {
    let missing = chain.missing.iter().map(|one| {
        let (variant, below) = (clean(&one.variant), clean(&one.below));
        format!("{variant}, which stands below {below}, is unavailable: {}", clean(&one.reason))
    });
    let stage_reasons = |stage: &Stage| {
        let costs: Vec<&StageCost> =
            stage.costs.iter().filter(|cost| quantities.contains(&cost.quantity)).collect();
        let given: Vec<(Quantity, &str)> =
            costs.iter().filter_map(|cost| Some((cost.quantity, cost.reason.as_deref()?))).collect();
        let notes =
            by_reason(&given).into_iter().map(|(quantities, reason)| match quantities.len() == costs.len() {
                true => format!("{}: {}", clean(&stage.name), clean(reason)),
                false => format!("{}: {}: {}", clean(&stage.name), labels(&quantities), clean(reason)),
            });
        notes.collect::<Vec<_>>()
    };
    missing.chain(chain.stages.iter().flat_map(stage_reasons)).collect()
}

/// Groups quantities by reason.
fn by_reason<'r>(given: &[(Quantity, &'r str)]) -> Vec<(Vec<Quantity>, &'r str)> {
    let mut groups: Vec<(Vec<Quantity>, &str)> = Vec::new();
    for &(quantity, reason) in given {
        match groups.iter_mut().find(|(_, known)| *known == reason) {
            Some((quantities, _)) => quantities.push(quantity),
            None => groups.push((vec![quantity], reason)),
        }
    }
    groups
}

fn labels(quantities: &[Quantity]) -> String {
    quantities.iter().copied().map(label).collect::<Vec<_>>().join(", ")
}

/// `rust with veth + vxlan: what each layer adds to the line above`
pub(crate) fn title(chain: &Chain) -> String {
    let layers: Vec<String> = chain.stages.iter().skip(1).map(|stage| clean(&stage.name)).collect();
    format!("{} with {}: what each layer adds to the line above", clean(&chain.of), layers.join(" + "))
}

/// `rust: vxlan and sidecar:haproxy one by one and together, above veth`
pub(crate) fn sum_title(check: &SumCheck) -> String {
    let names: Vec<String> = check.singles.iter().map(|single| clean(&single.name)).collect();
    format!(
        "{}: {} one by one and together, above {}",
        clean(&check.of),
        names.join(" and "),
        clean(&check.base)
    )
}

/// Columns of a sum check after the quantity and the single layers.
pub(crate) const SUMS: [&str; 4] = ["one by one, added", "all together", "interaction", "verdict"];

/// Columns of a sum check after the quantity.
pub(crate) fn sum_heads(check: &SumCheck) -> Vec<String> {
    let alone = check.singles.iter().map(|single| format!("{} alone", clean(&single.name)));
    alone.chain(SUMS.map(str::to_owned)).collect()
}

/// The cells under [`sum_heads`].
pub(crate) fn sum_cells(row: &SumRow) -> Vec<Shown> {
    let difference = |estimate: &Estimate| words::difference(row.unit, estimate);
    let figures = row.singles.iter().chain([&row.sum, &row.whole, &row.interaction]);
    figures.map(difference).chain([verdict_cell(row.verdict, row.reason.as_deref())]).collect()
}

/// What was not checked, and why.
pub(crate) fn unchecked(check: &SumCheck) -> Vec<String> {
    let whole = check.unchecked.iter().filter(|one| one.quantity.is_none());
    let whole = whole.map(|one| format!("not checked: {}", clean(&one.reason)));
    let given: Vec<(Quantity, &str)> =
        check.unchecked.iter().filter_map(|one| Some((one.quantity?, one.reason.as_str()))).collect();
    let groups = by_reason(&given);
    let each = groups
        .into_iter()
        .map(|(quantities, why)| format!("not checked: {}: {}", labels(&quantities), clean(why)));
    whole.chain(each).collect()
}

fn verdict_cell(verdict: Additivity, reason: Option<&str>) -> Shown {
    let reason = reason.map(|reason| format!(" ({})", clean(reason))).unwrap_or_default();
    plain(format!("{}{reason}", verdict.name()))
}

fn plain(text: String) -> Shown {
    Shown { point: text, interval: None }
}

/// Columns of the table of interactions with factors.
pub(crate) const FACTORS: [&str; 7] =
    ["variant", "above", "quantity", "from", "to", "costs more by", "verdict"];

/// Name and cells under [`FACTORS`].
pub(crate) fn factor_cells(one: &Interaction) -> (String, [Shown; 7]) {
    let cells = [
        plain(clean(&one.variant)),
        plain(clean(&one.above)),
        plain(label(one.quantity)),
        plain(words::point(&one.from)),
        plain(words::point(&one.to)),
        words::difference(one.unit, &one.difference),
        verdict_cell(one.verdict, one.reason.as_deref()),
    ];
    (format!("{}: {}", clean(&one.of), clean(&one.stage)), cells)
}

/// Columns of the table of slopes over size.
pub(crate) const SLOPES: [&str; 5] = ["variant", "above", "quantity", "per operation", "per byte"];

/// Name and cells under [`SLOPES`].
pub(crate) fn slope_cells(slope: &Slope) -> (String, [Shown; 5]) {
    let point = words::point(&slope.point);
    let at = if point.is_empty() { point } else { format!(", {point}") };
    let name = format!("{}: {}{at}", clean(&slope.of), clean(&slope.stage));
    let cells = [
        plain(clean(&slope.variant)),
        plain(clean(&slope.above)),
        plain(label(slope.quantity)),
        words::difference(slope.unit, &slope.per_operation),
        per_byte(slope),
    ];
    (name, cells)
}

fn per_byte(slope: &Slope) -> Shown {
    match slope.unit {
        // Mostly less than a nanosecond, so no larger unit is needed.
        Unit::Ns => plain_number(&slope.per_byte, " ns"),
        Unit::Bytes => plain_number(&slope.per_byte, " B"),
        Unit::Count | Unit::PerSecond | Unit::Share => plain_number(&slope.per_byte, ""),
    }
}

/// An estimate whose largest number has three significant digits, and the others as many decimals.
fn plain_number(estimate: &Estimate, suffix: &str) -> Shown {
    let largest = [estimate.point, estimate.lower.unwrap_or(0.0), estimate.upper.unwrap_or(0.0)]
        .into_iter()
        .map(f64::abs)
        .fold(0.0, f64::max);
    let decimals = if largest > 0.0 { (2.0 - largest.log10().floor()).clamp(0.0, 9.0) as usize } else { 0 };
    let text = |value: f64| format!("{value:+.decimals$}");
    Shown {
        point: format!("{}{suffix}", text(estimate.point)),
        interval: estimate.interval().map(|(low, high)| format!("[{}, {}]", text(low), text(high))),
    }
}

/// The chains and sum checks of a point for a terminal.
pub(crate) fn point_lines(
    summary: &Summary,
    point: &PointLabel,
    style: Style,
    columns: usize,
) -> Vec<String> {
    let mut lines = Vec::new();
    let quantities = quantities(summary);
    let mut shown = BTreeSet::new();
    let heading = |text: &str| style.paint(Tone::Strong, &hanging("", text, columns));
    for chain in at(summary, point) {
        lines.extend([String::new(), heading(&title(chain))]);
        lines.extend(fitting(&rows(chain, &quantities), &quantities, style, columns));
        // Chains share their first stages, so a note may come again.
        let reasons = reasons(chain, &quantities).into_iter().filter(|reason| shown.insert(reason.clone()));
        lines.extend(reasons.map(|text| hanging("  ", &text, columns)));
    }
    for check in sums_at(summary, point) {
        let is_shown = |quantity: &Quantity| check.rows.iter().any(|row| row.quantity == *quantity);
        let quantities: Vec<Quantity> = quantities.iter().copied().filter(is_shown).collect();
        lines.extend([String::new(), heading(&sum_title(check))]);
        if !quantities.is_empty() {
            lines.extend(fitting(&sum_rows(check, &quantities), &quantities, style, columns));
        }
        lines.extend(verdicts(check, &quantities, style, columns));
        lines.extend(unchecked(check).iter().map(|text| hanging("  ", text, columns)));
    }
    lines
}

/// A sum check's rows, in the form of a chain's: single layers, their sum, all together.
fn sum_rows(check: &SumCheck, quantities: &[Quantity]) -> Vec<LayeringRow> {
    let sum_row = |quantity: &Quantity| check.rows.iter().find(|row| row.quantity == *quantity);
    let columns: Vec<Vec<Shown>> =
        quantities.iter().map(|quantity| sum_row(quantity).map(sum_cells).unwrap_or_default()).collect();
    let row = |(at, name): (usize, String)| LayeringRow {
        name,
        variant: String::new(),
        cells: columns.iter().map(|cells| cells.get(at).cloned().unwrap_or_else(dash)).collect(),
    };
    let mut heads = sum_heads(check);
    // Interaction and verdict follow below the table.
    heads.truncate(heads.len() - 2);
    heads.into_iter().enumerate().map(row).collect()
}

/// Verdicts on the quantities that are shown, and on any other that shows an interaction.
fn verdicts(check: &SumCheck, quantities: &[Quantity], style: Style, columns: usize) -> Vec<String> {
    let is_shown =
        |row: &&SumRow| quantities.contains(&row.quantity) || row.verdict == Additivity::Interaction;
    let line = |row: &SumRow| {
        let interaction = joined(&words::difference(row.unit, &row.interaction));
        let verdict = verdict_cell(row.verdict, row.reason.as_deref()).point;
        let text = format!("interaction in {} {interaction}: {verdict}", label(row.quantity));
        style.paint(tone(row.verdict), &hanging("  ", &text, columns))
    };
    check.rows.iter().filter(is_shown).map(line).collect()
}

const fn tone(verdict: Additivity) -> Tone {
    match verdict {
        Additivity::Interaction => Tone::Worse,
        Additivity::Agrees | Additivity::Undecided => Tone::Plain,
    }
}

/// Interactions with factors and slopes over size, for a terminal: those of the headline and the latency, and
/// whatever else shows an interaction. Whole chains are shown only if they interact.
pub(crate) fn over_points(summary: &Summary, style: Style, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let is_first = |quantity: Quantity| quantity == summary.headline || quantity == Quantity::ResponseP50;
    let is_shown = |one: &&Interaction| {
        one.verdict == Additivity::Interaction || is_first(one.quantity) && one.stage != WHOLE
    };
    let interactions: Vec<&Interaction> = summary.layering.interactions.iter().filter(is_shown).collect();
    let heading = |text: &str| style.paint(Tone::Strong, &hanging("", text, columns));
    if !interactions.is_empty() {
        lines.extend([String::new(), heading("Does what a layer adds depend on a factor?")]);
    }
    let subject =
        |one: &Interaction| (one.above.clone(), one.variant.clone(), one.from.clone(), one.to.clone());
    for group in interactions.chunk_by(|a, b| (subject(a), &a.stage) == (subject(b), &b.stage)) {
        let one = group[0];
        let places = format!("from {} to {}", words::point(&one.from), words::point(&one.to));
        lines.push(hanging("  ", &format!("{}, {places}", pair(&one.variant, &one.above)), columns));
        lines.extend(group.iter().map(|one| {
            let (difference, verdict) = (
                words::difference(one.unit, &one.difference),
                verdict_cell(one.verdict, one.reason.as_deref()),
            );
            let text = format!("{} {}: {}", label(one.quantity), joined(&difference), verdict.point);
            style.paint(tone(one.verdict), &hanging("    ", &text, columns))
        }));
    }
    let slopes = summary.layering.slopes.iter();
    let mut slopes = slopes.filter(|slope| is_first(slope.quantity) && slope.stage != WHOLE).peekable();
    if slopes.peek().is_some() {
        lines.extend([String::new(), heading("What a layer adds per operation and per byte")]);
    }
    for slope in slopes {
        let point = words::point(&slope.point);
        let at = if point.is_empty() { point } else { format!(", {point}") };
        lines.push(hanging("  ", &format!("{}{at}", pair(&slope.variant, &slope.above)), columns));
        let per_operation = joined(&words::difference(slope.unit, &slope.per_operation));
        let text = format!(
            "{} {per_operation} per operation, {} per byte",
            label(slope.quantity),
            joined(&per_byte(slope))
        );
        lines.push(hanging("    ", &text, columns));
    }
    lines
}

/// The model's name for a whole chain among stages.
const WHOLE: &str = "whole";

fn pair(variant: &str, above: &str) -> String {
    format!("{} above {}", clean(variant), clean(above))
}

fn secondary(text: impl Into<String>) -> Cell {
    Cell::toned(Tone::Secondary, text)
}

/// The widest table that fits: with the interval of the first column, from [`WIDE`] columns on of the second
/// too. What does not fit is only in the report.
fn fitting(rows: &[LayeringRow], quantities: &[Quantity], style: Style, columns: usize) -> Vec<String> {
    let with_interval = if columns >= WIDE { 2 } else { 1 };
    let layouts = (1..=quantities.len()).rev().flat_map(|count| [(count, 2), (count, 1)]);
    let mut tables = layouts.map(|(count, gap)| table(rows, &quantities[..count], with_interval, gap));
    let Some(widest) = tables.next() else { return Vec::new() };
    let fits = |table: &Table| table.width() <= columns;
    let table = if fits(&widest) { widest } else { tables.find(fits).unwrap_or(widest) };
    table.lines(style, columns)
}

fn table(rows: &[LayeringRow], quantities: &[Quantity], with_interval: usize, gap: usize) -> Table {
    let mut align = vec![Align::Left];
    let mut heads = vec![secondary("")];
    for (at, quantity) in quantities.iter().enumerate() {
        align.push(Align::Right);
        heads.push(secondary(short_head(*quantity)));
        if at < with_interval {
            align.push(Align::Left);
            heads.push(secondary(""));
        }
    }
    let mut table = Table::new(align, gap);
    table.push(heads);
    for row in rows {
        let mut cells = vec![Cell::new(row.name.as_str())];
        for (at, shown) in row.cells.iter().take(quantities.len()).enumerate() {
            cells.push(Cell::new(shown.point.as_str()));
            if at < with_interval {
                cells.push(Cell::new(shown.interval.clone().unwrap_or_default()));
            }
        }
        table.push(cells);
    }
    table
}

fn short_head(quantity: Quantity) -> String {
    match quantity {
        Quantity::WireBytesPerOperation => "wire/op".to_owned(),
        Quantity::SegmentsPerOperation => "TCP/op".to_owned(),
        other => head(other).trim_start_matches("response ").to_owned(),
    }
}
