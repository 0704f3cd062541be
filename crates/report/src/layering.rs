//! What layers cost, in rows of words for every format: chains as waterfalls, sum checks, interactions, lines over size.

use std::collections::BTreeSet;

use weighbridge_model::layering::{Additivity, Chain, Interaction, Slope, StageCost, SumCheck, SumRow};
use weighbridge_model::summary::{Estimate, PointLabel, Quantity, Summary, Unit};

use crate::style::{Style, Tone};
use crate::table::{Align, Cell, Table};
use crate::text::{clean, hanging};
use crate::words::{self, Shown};

/// Columns from which a terminal has room for the intervals of CPU time too.
const WIDE: usize = 110;

/// Columns of a waterfall: the headline, the latency, then what it takes.
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
        costs.into_iter().any(|cost| cost.quantity == *quantity && cost.figure.is_some())
    };
    all.retain(is_there);
    all
}

/// The head of a column.
pub(crate) fn head(quantity: Quantity) -> String {
    match quantity {
        Quantity::CpuPerOperation => "CPU/op".to_owned(),
        Quantity::MemoryPeak => "memory".to_owned(),
        Quantity::WireBytesPerOperation => "bytes on the wire/op".to_owned(),
        Quantity::SegmentsPerOperation => "TCP segments/op".to_owned(),
        other => other.label(),
    }
}

/// A row of a waterfall.
pub(crate) struct Row {
    /// `bare`, `+ veth`, `= all together`.
    pub(crate) name: String,
    /// The variant; empty where the row is of none.
    pub(crate) variant: String,
    /// One for each quantity; what has no figure is a dash.
    pub(crate) cells: Vec<Shown>,
    /// Why cells have none, each reason once.
    pub(crate) reasons: Vec<String>,
}

/// The chains of a point.
pub(crate) fn at<'a>(summary: &'a Summary, point: &PointLabel) -> Vec<&'a Chain> {
    summary.layering.chains.iter().filter(|chain| chain.point == *point).collect()
}

/// The sum checks of a point.
pub(crate) fn sums_at<'a>(summary: &'a Summary, point: &PointLabel) -> Vec<&'a SumCheck> {
    summary.layering.sums.iter().filter(|check| check.point == *point).collect()
}

/// A chain as a table: its first variant's own figures, what each stage adds to the line above, and what all add.
pub(crate) fn rows(chain: &Chain, quantities: &[Quantity]) -> Vec<Row> {
    let row = |name: String, variant: &str, costs: &[StageCost], is_first: bool| {
        let find = |quantity: &Quantity| costs.iter().find(|cost| cost.quantity == *quantity);
        let cell = |quantity: &Quantity| {
            let shown = find(quantity).and_then(|cost| match is_first {
                true => cost.figure.as_ref().map(|figure| words::absolute(cost.unit, figure)),
                false => cost.difference.as_ref().map(|estimate| words::difference(cost.unit, estimate)),
            });
            shown.unwrap_or_else(|| Shown { point: "–".to_owned(), interval: None })
        };
        let missing = |quantity: &Quantity| {
            let reason = find(quantity)?.reason.as_ref().filter(|_| !is_first)?;
            Some(format!("{}: {}", quantity.label(), clean(reason)))
        };
        Row {
            name,
            variant: variant.to_owned(),
            cells: quantities.iter().map(cell).collect(),
            reasons: quantities.iter().filter_map(missing).collect(),
        }
    };
    let stages = chain.stages.iter().enumerate().map(|(place, stage)| {
        let name = if place == 0 { clean(&stage.name) } else { format!("+ {}", clean(&stage.name)) };
        row(name, &stage.variant, &stage.costs, place == 0)
    });
    let last = chain.stages.last().map_or("", |stage| stage.variant.as_str());
    stages.chain(std::iter::once(row("= all together".to_owned(), last, &chain.whole, false))).collect()
}

/// What stands above a chain: `rust with veth + vxlan: what each layer adds to the line above`.
pub(crate) fn title(chain: &Chain) -> String {
    let layers: Vec<String> = chain.stages.iter().skip(1).map(|stage| clean(&stage.name)).collect();
    format!("{} with {}: what each layer adds to the line above", clean(&chain.of), layers.join(" + "))
}

/// What a sum check is of: `veth + vxlan alone, veth + sidecar:haproxy alone, and all together above veth`.
pub(crate) fn sum_title(check: &SumCheck) -> String {
    let names: Vec<String> = check.singles.iter().map(|single| clean(&single.name)).collect();
    format!(
        "{}: {} one by one and together, above {}",
        clean(&check.of),
        names.join(" and "),
        clean(&check.base)
    )
}

/// Columns of a sum check behind the quantity.
pub(crate) const SUMS: [&str; 4] = ["one by one, added", "all together", "interaction", "verdict"];

/// A row of a sum check: cells of [`SUMS`].
pub(crate) fn sum_cells(row: &SumRow) -> [Shown; 4] {
    let of = |estimate: &Estimate| words::difference(row.unit, estimate);
    [of(&row.sum), of(&row.whole), of(&row.interaction), said(row.verdict, row.reason.as_deref())]
}

fn said(verdict: Additivity, reason: Option<&str>) -> Shown {
    let reason = reason.map(|reason| format!(" ({})", clean(reason))).unwrap_or_default();
    Shown { point: format!("{}{reason}", verdict.name()), interval: None }
}

/// Columns of interactions with a factor.
pub(crate) const FACTORS: [&str; 5] = ["quantity", "from", "to", "costs more by", "verdict"];

/// Name and cells of [`FACTORS`].
pub(crate) fn factor_cells(one: &Interaction) -> (String, [Shown; 5]) {
    let plain = |text: String| Shown { point: text, interval: None };
    let cells = [
        plain(one.quantity.label()),
        plain(words::point(&one.from)),
        plain(words::point(&one.to)),
        words::difference(one.unit, &one.difference),
        said(one.verdict, one.reason.as_deref()),
    ];
    (format!("{}: {}", clean(&one.of), clean(&one.stage)), cells)
}

/// Columns of lines over size.
pub(crate) const SLOPES: [&str; 3] = ["quantity", "per operation", "per byte"];

/// Name and cells of [`SLOPES`].
pub(crate) fn slope_cells(slope: &Slope) -> (String, [Shown; 3]) {
    let per_byte = match slope.unit {
        // Less than a nanosecond, mostly: with the digits that the interval decides.
        Unit::Ns => plain_number(&slope.per_byte, " ns"),
        Unit::Bytes => plain_number(&slope.per_byte, " B"),
        Unit::Count | Unit::PerSecond => plain_number(&slope.per_byte, ""),
    };
    let quantity = Shown { point: slope.quantity.label(), interval: None };
    let point = words::point(&slope.point);
    let at = if point.is_empty() { point } else { format!(", {point}") };
    let name = format!("{}: {}{at}", clean(&slope.of), clean(&slope.stage));
    (name, [quantity, words::difference(slope.unit, &slope.per_operation), per_byte])
}

/// A small number with three significant digits of its own, and its interval with as many decimals.
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

/// The chains and sum checks of a point for a terminal; nothing where it has none.
pub(crate) fn of_point(summary: &Summary, point: &PointLabel, style: Style, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let quantities = quantities(summary);
    let mut told = BTreeSet::new();
    for chain in at(summary, point) {
        lines.push(String::new());
        lines.push(style.paint(Tone::Strong, &hanging("", &title(chain), columns)));
        lines.extend(waterfall(chain, &quantities, (style, columns)));
        // Chains share their first stages.
        let reasons = reasons(chain, &quantities).into_iter().filter(|reason| told.insert(reason.clone()));
        lines.extend(reasons.map(|text| hanging("  ", &text, columns)));
    }
    for check in sums_at(summary, point) {
        let told = check
            .rows
            .iter()
            .filter(|row| quantities.contains(&row.quantity) || row.verdict == Additivity::Interaction);
        lines.push(String::new());
        lines.push(style.paint(Tone::Strong, &hanging("", &sum_title(check), columns)));
        let mut table = Table::new([Align::Left, Align::Right, Align::Right, Align::Right, Align::Left], 2);
        table.push(
            std::iter::once("").chain(["added", "together", "interaction", ""]).map(secondary).collect(),
        );
        for row in told {
            let [sum, whole, interaction, _] = sum_cells(row);
            let tone = if row.verdict == Additivity::Interaction { Tone::Worse } else { Tone::Plain };
            table.push(vec![
                Cell::new(format!("  {}", row.quantity.label())),
                Cell::new(sum.point),
                Cell::new(whole.point),
                Cell::new(joined(&interaction)),
                Cell::toned(tone, row.verdict.name()),
            ]);
        }
        lines.extend(table.lines(style, columns));
    }
    lines
}

fn secondary(text: impl Into<String>) -> Cell {
    Cell::toned(Tone::Secondary, text)
}

/// A figure with its interval.
pub(crate) fn joined(shown: &Shown) -> String {
    match &shown.interval {
        Some(interval) => format!("{} {interval}", shown.point),
        None => shown.point.clone(),
    }
}

/// The table of a chain, with the interval of the latency, and where there is room of the CPU time. Where it is too wide
/// its last columns are left to the report.
fn waterfall(chain: &Chain, quantities: &[Quantity], (style, columns): (Style, usize)) -> Vec<String> {
    let with_interval = if columns >= WIDE { 2 } else { 1 };
    let layouts = (1..=quantities.len()).rev().flat_map(|count| [(count, 2), (count, 1)]);
    let mut tables = layouts.map(|(count, gap)| table(chain, &quantities[..count], (with_interval, gap)));
    let Some(widest) = tables.next() else { return Vec::new() };
    let fits = |table: &Table| table.width() <= columns;
    let table = if fits(&widest) { widest } else { tables.find(fits).unwrap_or(widest) };
    table.lines(style, columns)
}

/// Why stages have no figure. The whole has none where a stage has none: the stage's reason says it.
fn reasons(chain: &Chain, quantities: &[Quantity]) -> Vec<String> {
    let stages = rows(chain, quantities).into_iter().filter(|row| !row.name.starts_with('='));
    let of_stage = |row: Row| {
        let name = row.name.trim_start_matches(['+', ' ']).to_owned();
        row.reasons.into_iter().map(move |reason| format!("{name}: {reason}"))
    };
    stages.flat_map(of_stage).collect()
}

fn table(chain: &Chain, quantities: &[Quantity], (with_interval, gap): (usize, usize)) -> Table {
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
    for row in rows(chain, quantities) {
        let mut cells = vec![Cell::new(row.name)];
        for (at, shown) in row.cells.into_iter().enumerate() {
            cells.push(Cell::new(shown.point));
            if at < with_interval {
                cells.push(Cell::new(shown.interval.unwrap_or_default()));
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
