//! The summary's tables in words, the same in every format for people, and as lines for a terminal.

use weighbridge_model::estimate::{Unit, Verdict};
use weighbridge_model::id::PointLabel;
use weighbridge_model::summary::Summary;
use weighbridge_model::table::{ResultTable, TableCell};

use crate::style::{Style, Tone};
use crate::table::{Align, Cell, Table};
use crate::text::{Wide, clean, columns, fold, grouped, hanging};
use crate::words::{self, Shown};

/// Heads of a terminal's columns are folded to this width, or to that of the column's cells.
const HEAD_WIDTH: usize = 9;

/// What a column of figures is followed by.
const INTERVAL: &str = "95 % interval";

pub(crate) struct TableHead {
    pub(crate) text: String,
    pub(crate) kind: HeadKind,
}

/// What stands below a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeadKind {
    Words,
    Number,
    Interval,
}

impl TableHead {
    pub(crate) const fn align(&self) -> Align {
        match self.kind {
            HeadKind::Number => Align::Right,
            HeadKind::Words | HeadKind::Interval => Align::Left,
        }
    }
}

/// Which columns are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColumnChoice {
    /// Each figure with its interval beside it.
    All,
    /// Where there is no room for them.
    WithoutIntervals,
}

pub(crate) fn at<'a>(summary: &'a Summary, point: &PointLabel) -> impl Iterator<Item = &'a ResultTable> {
    summary.tables.iter().filter(move |table| table.point == *point)
}

/// A cell in words; the interval is that of a figure, and a difference's verdict.
pub(crate) fn shown(cell: &TableCell, unit: Option<Unit>) -> Shown {
    let plain = |point: String| Shown { point, interval: None };
    match cell {
        TableCell::Variant { variant: text } | TableCell::Text { text } => plain(clean(text)),
        TableCell::Count { count } => plain(grouped(*count)),
        TableCell::Share { share } => plain(Unit::Share.display(*share)),
        TableCell::Figure { estimate } => words::absolute(unit.unwrap_or(Unit::Count), estimate),
        TableCell::Difference { ratio, verdict } => {
            let Shown { point, interval } = words::change(ratio);
            let verdict = Verdict::name(*verdict);
            let interval = interval.map_or_else(|| verdict.to_owned(), |both| format!("{both} {verdict}"));
            Shown { point, interval: Some(interval) }
        }
        TableCell::Absent { reason: Some(_) } => plain("withheld".to_owned()),
        TableCell::Absent { reason: None } => plain("–".to_owned()),
    }
}

pub(crate) fn heads(table: &ResultTable, choice: ColumnChoice) -> Vec<TableHead> {
    let mut heads = Vec::new();
    for (at, column) in table.columns.iter().enumerate() {
        let is_text = table.rows.iter().filter_map(|row| row.get(at)).all(is_text);
        let kind = if is_text { HeadKind::Words } else { HeadKind::Number };
        heads.push(TableHead { text: clean(&column.name), kind });
        if has_intervals(table, at) && choice == ColumnChoice::All {
            heads.push(TableHead { text: INTERVAL.to_owned(), kind: HeadKind::Interval });
        }
    }
    heads
}

/// As many as there are heads.
pub(crate) fn cells(table: &ResultTable, row: &[TableCell], choice: ColumnChoice) -> Vec<String> {
    let mut cells = Vec::new();
    for (at, (column, cell)) in table.columns.iter().zip(row).enumerate() {
        let Shown { mut point, interval } = shown(cell, column.unit);
        if let (TableCell::Difference { verdict, .. }, ColumnChoice::WithoutIntervals) = (cell, choice) {
            point = format!("{point} {}", Verdict::name(*verdict));
        }
        cells.push(point);
        if has_intervals(table, at) && choice == ColumnChoice::All {
            cells.push(interval.unwrap_or_default());
        }
    }
    cells
}

const fn is_text(cell: &TableCell) -> bool {
    matches!(cell, TableCell::Variant { .. } | TableCell::Text { .. })
}

fn has_intervals(table: &ResultTable, at: usize) -> bool {
    table.rows.iter().filter_map(|row| row.get(at)).any(|cell| cell.estimate().is_some())
}

/// The tables of a point for a terminal.
pub(crate) fn point_lines(summary: &Summary, point: &PointLabel, style: Style, most: usize) -> Vec<String> {
    at(summary, point)
        .flat_map(|table| table_lines(table, style, most).chain(reading(table, style, most)))
        .collect()
}

/// Those alone that answer what the experiment asks, without how to read them.
pub(crate) fn answer_lines(summary: &Summary, point: &PointLabel, style: Style, most: usize) -> Vec<String> {
    at(summary, point)
        .filter(|table| table.is_answer)
        .flat_map(|table| table_lines(table, style, most))
        .collect()
}

fn table_lines(table: &ResultTable, style: Style, most: usize) -> impl Iterator<Item = String> {
    let title = style.paint(Tone::Strong, &hanging("", &clean(&table.title), most));
    let whole = aligned(table, ColumnChoice::All);
    let fitting = match whole.width() <= most {
        true => whole,
        false => aligned(table, ColumnChoice::WithoutIntervals),
    };
    [String::new(), title].into_iter().chain(fitting.lines(style, most))
}

/// How to read a table, and what must be known of it.
fn reading(table: &ResultTable, style: Style, most: usize) -> Vec<String> {
    let texts = [&table.reading].into_iter().chain(&table.notes);
    let folded = texts.flat_map(|text| fold(&clean(text), "  ", "  ", most, Wide::Cut));
    folded.map(|line| style.paint(Tone::Secondary, &line)).collect()
}

/// A variant of several rows is named once, above them.
fn aligned(table: &ResultTable, choice: ColumnChoice) -> Table {
    let is_named_above = table.rows.iter().flatten().any(|cell| matches!(cell, TableCell::Text { .. }));
    let skipped = usize::from(is_named_above);
    let heads: Vec<TableHead> = heads(table, choice).into_iter().skip(skipped).collect();
    let rows: Vec<Vec<String>> =
        table.rows.iter().map(|row| cells(table, row, choice).into_iter().skip(skipped).collect()).collect();
    let mut text = Table::new(heads.iter().map(TableHead::align).collect::<Vec<_>>(), 2);
    head_rows(&heads, &rows).into_iter().for_each(|row| text.push(row));
    let mut last = None;
    for (row, mut cells) in table.rows.iter().zip(rows) {
        let variant = ResultTable::variant_of(row).filter(|_| is_named_above);
        if variant != last {
            text.line(clean(variant.unwrap_or_default()));
            last = variant;
        }
        if let Some(first) = cells.first_mut().filter(|_| is_named_above) {
            first.insert_str(0, "  ");
        }
        text.push(cells.into_iter().map(Cell::new).collect());
    }
    text
}

/// The heads, folded, with their last lines beside one another. The first column needs none.
fn head_rows(heads: &[TableHead], rows: &[Vec<String>]) -> Vec<Vec<Cell>> {
    let folded = |(at, head): (usize, &TableHead)| {
        let widest = rows.iter().filter_map(|row| row.get(at)).map(|cell| columns(cell)).max();
        let text = if at == 0 { "" } else { &head.text };
        fold(text, "", "", widest.unwrap_or(0).max(HEAD_WIDTH), Wide::Whole)
    };
    let folded: Vec<Vec<String>> = heads.iter().enumerate().map(folded).collect();
    let height = folded.iter().map(Vec::len).max().unwrap_or(0);
    let line = |from_below: usize| {
        let cell = |lines: &Vec<String>| {
            let at = lines.len().checked_sub(from_below);
            Cell::new(at.and_then(|at| lines.get(at)).cloned().unwrap_or_default())
        };
        folded.iter().map(cell).collect()
    };
    (1..=height).rev().map(line).collect()
}
