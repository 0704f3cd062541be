//! What framing and codec cost, as text for every format: the figures of all cells, what each framing and each codec
//! costs more than the first, and where the two do not add up.

use weighbridge_model::estimate::{Estimate, Quantity};
use weighbridge_model::factorial::{CellInteraction, DifferenceParts, Factorial, FactorialTable, MainEffect};
use weighbridge_model::id::PointLabel;
use weighbridge_model::layering::Additivity;
use weighbridge_model::summary::Summary;

use crate::style::{Style, Tone};
use crate::table::{Align, Cell, Table};
use crate::text::{clean, hanging};
use crate::words::{self, Shown, joined};

pub(crate) fn at<'a>(summary: &'a Summary, point: &PointLabel) -> Vec<&'a Factorial> {
    summary.factorials.iter().filter(|factorial| factorial.point == *point).collect()
}

/// The tables that are shown: the headline, or the latency where the headline's costs do not add up, then CPU, bytes and payload.
pub(crate) fn tables<'f>(summary: &Summary, factorial: &'f Factorial) -> Vec<&'f FactorialTable> {
    let find = |quantity: Quantity| factorial.tables.iter().find(|table| table.quantity == quantity);
    let first = find(summary.headline).or_else(|| find(Quantity::ResponseP50));
    let more = [Quantity::CpuPerOperation, Quantity::BytesPerOperation, Quantity::PayloadBytesPerOperation];
    let more = more.into_iter().filter_map(find);
    let more = more.filter(|table| first.is_none_or(|first| first.quantity != table.quantity));
    first.into_iter().chain(more).collect()
}

/// `rust: framing and codec, response p50`
pub(crate) fn title(factorial: &Factorial, table: &FactorialTable) -> String {
    format!("{}: framing and codec, {}", clean(&factorial.of), words::label(table.quantity))
}

/// The figure of each cell, a row for each framing. Their intervals hold what a block's cells share, and would hide by how
/// little cells differ; they stand among all figures.
pub(crate) fn figures(table: &FactorialTable) -> Vec<Vec<Shown>> {
    let shown =
        |figure: &Estimate| words::absolute(table.unit, &Estimate { lower: None, upper: None, ..*figure });
    table.figures.iter().map(|row| row.iter().map(shown).collect()).collect()
}

/// Columns of main effects after the two values.
pub(crate) const EFFECTS: [&str; 3] = ["difference", "change", "verdict"];

/// The cells under [`EFFECTS`].
pub(crate) fn effect_cells(table: &FactorialTable, effect: &MainEffect) -> [Shown; 3] {
    let reason = effect.reason.as_ref().map(|reason| format!(" ({})", clean(reason))).unwrap_or_default();
    let verdict = Shown { point: format!("{}{reason}", verdict(effect)), interval: None };
    let difference = Shown { interval: None, ..words::difference(table.unit, &effect.difference) };
    [difference, words::change(&effect.ratio), verdict]
}

fn verdict(effect: &MainEffect) -> String {
    words::verdict_of(effect.verdict, effect.effect)
}

/// `http2 against http1`
pub(crate) fn effect_name(effect: &MainEffect) -> String {
    format!("{} against {}", clean(&effect.value), clean(&effect.against))
}

pub(crate) fn effects(table: &FactorialTable) -> impl Iterator<Item = &MainEffect> {
    table.framings.iter().chain(&table.codecs)
}

/// Whether framing and codec add up, and where they do not.
pub(crate) fn additivity(table: &FactorialTable) -> String {
    let count = |verdict: Additivity| table.interactions.iter().filter(|one| one.verdict == verdict).count();
    let found = table.interactions.iter().filter(|one| one.verdict == Additivity::Interaction);
    let found: Vec<String> = found.map(|one| interaction(table, one)).collect();
    let (agree, all) = (count(Additivity::Agrees), table.interactions.len());
    match found.is_empty() {
        _ if agree == all => {
            format!("framing and codec add up: {all} of {all} interactions within the margin")
        }
        true => format!(
            "framing and codec: {agree} of {all} interactions within the margin, the others undecided"
        ),
        false => format!("framing and codec do not add up: {}", found.join("; ")),
    }
}

/// `Of the -12.3 µs [-13, -11] by which grpc/protobuf differs from http1/json, -8 µs [-9, -7] is the framing, …`
pub(crate) fn parts(factorial: &Factorial, table: &FactorialTable) -> Vec<String> {
    let first = [factorial.framings.first(), factorial.codecs.first()].map(|one| one.map(|name| clean(name)));
    let [Some(framing), Some(codec)] = first else { return Vec::new() };
    let shown = |estimate: &Estimate| joined(&words::difference(table.unit, estimate));
    let sentence = |one: &DifferenceParts| {
        format!(
            "Of the {} by which {}/{} differs from {framing}/{codec} in {}, {} is the framing, {} the codec, and {} both together.",
            shown(&one.whole),
            clean(&one.framing),
            clean(&one.codec),
            words::label(table.quantity),
            shown(&one.of_framing),
            shown(&one.of_codec),
            shown(&one.of_both)
        )
    };
    table.parts.iter().map(sentence).collect()
}

fn interaction(table: &FactorialTable, one: &CellInteraction) -> String {
    let difference = joined(&words::difference(table.unit, &one.difference));
    format!("{} with {} {difference} beyond what either costs", clean(&one.framing), clean(&one.codec))
}

/// The factorials of a point for a terminal, each with its first table.
pub(crate) fn point_lines(
    summary: &Summary,
    point: &PointLabel,
    style: Style,
    columns: usize,
) -> Vec<String> {
    let mut lines = Vec::new();
    for factorial in at(summary, point) {
        if let Some(table) = tables(summary, factorial).first() {
            let heading = style.paint(Tone::Strong, &hanging("", &title(factorial, table), columns));
            lines.extend([String::new(), heading]);
            lines.extend(grid(factorial, table).lines(style, columns));
            lines.extend(effect_table(table, columns).lines(style, columns));
            lines.push(hanging("  ", &additivity(table), columns));
            lines.extend(parts(factorial, table).iter().map(|text| hanging("", text, columns)));
        }
        if let Some(reason) = &factorial.reason {
            let text = format!("framing and codec of {}: {}", clean(&factorial.of), clean(reason));
            lines.push(hanging("  ", &text, columns));
        }
    }
    lines
}

fn grid(factorial: &Factorial, table: &FactorialTable) -> Table {
    let mut align = vec![Align::Right; factorial.codecs.len() + 1];
    align[0] = Align::Left;
    let mut grid = Table::new(align, 3);
    let heads = factorial.codecs.iter().map(|codec| Cell::toned(Tone::Secondary, clean(codec)));
    grid.push(std::iter::once(Cell::new("")).chain(heads).collect());
    for (framing, row) in factorial.framings.iter().zip(figures(table)) {
        let figures = row.into_iter().map(|figure| Cell::new(figure.point));
        grid.push(std::iter::once(Cell::new(format!("  {}", clean(framing)))).chain(figures).collect());
    }
    grid
}

/// A verdict's reason stands under its row.
fn effect_table(table: &FactorialTable, columns: usize) -> Table {
    let align = [Align::Left, Align::Right, Align::Right, Align::Left, Align::Left];
    let mut rows = Table::new(align, 2);
    for effect in effects(table) {
        let [difference, change, _] = effect_cells(table, effect);
        rows.push(vec![
            Cell::new(format!("  {}", effect_name(effect))),
            Cell::new(difference.point),
            Cell::new(change.point),
            Cell::new(change.interval.unwrap_or_default()),
            Cell::toned(words::tone_of(effect.verdict, effect.effect), verdict(effect)),
        ]);
        if let Some(reason) = &effect.reason {
            rows.line(hanging("      ", &clean(reason), columns));
        }
    }
    rows
}
