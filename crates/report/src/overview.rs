//! Renders overviews, which have one row per variant of each run: text for a terminal, JSON, CSV and
//! Markdown. A figure comes with its interval, or says that it has none.

use weighbridge_model::estimate::{Unit, Validity};
use weighbridge_model::overview::{Origin, Overview, OverviewFigure, OverviewRow};
use weighbridge_model::quantity::display_bytes;

use crate::csv::line;
use crate::json;
use crate::markdown::escape;
use crate::style::{Style, Tone};
use crate::table::{Align, Cell, Table};
use crate::text::{clean, counted, grouped, hanging};

const COLUMNS: usize = 9;
const HEADS: [&str; COLUMNS] =
    ["", "requests", "failed", "retried", "sizes", "median", "p90", "transfer, median", "throughput"];
/// Shown for a missing figure or count.
const ABSENT: &str = "-";

pub fn json(overview: &Overview) -> String {
    json::pretty(overview)
}

/// For a terminal: a table if it fits, else a paragraph per row.
pub fn text(overview: &Overview, style: Style, columns: usize) -> String {
    let mut table = Table::new(
        [Align::Left, Align::Right, Align::Right, Align::Right]
            .into_iter()
            .chain([Align::Left; 5])
            .collect::<Vec<_>>(),
        2,
    );
    table.push(HEADS.map(|head| Cell::toned(Tone::Secondary, head)).to_vec());
    for row in &overview.rows {
        let mut cells: Vec<Cell> = cells(row).into_iter().map(Cell::new).collect();
        cells[0].text = clean(&heading(row));
        cells[0].tone = tone(row);
        table.push(cells);
    }
    let mut lines = match table.width() <= columns {
        true => table.lines(style, columns),
        false => overview.rows.iter().flat_map(|row| paragraph(row, style, columns)).collect(),
    };
    lines.push(String::new());
    lines
        .extend(notes(overview).iter().map(|note| style.paint(Tone::Secondary, &hanging("", note, columns))));
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// A row for a narrow terminal.
fn paragraph(row: &OverviewRow, style: Style, columns: usize) -> Vec<String> {
    let cells = cells(row);
    let mut lines = vec![style.paint(tone(row), &hanging("", &clean(&heading(row)), columns))];
    let [_, _, failed, retried, sizes, ..] = &cells;
    let counted_in = match row.origin {
        Origin::Measured => "request",
        Origin::Imported => "row",
    };
    let mut counts = format!("{}, {failed} failed", counted(row.requests, counted_in));
    if row.retried.is_some() {
        counts.push_str(&format!(", {retried} retried"));
    }
    if sizes != ABSENT {
        counts.push_str(&format!("; sizes {sizes}"));
    }
    lines.push(hanging("  ", &counts, columns));
    for (head, cell) in HEADS.iter().zip(&cells).skip(5).filter(|(_, cell)| *cell != ABSENT) {
        lines.push(format!("  {head:16}  {cell}"));
    }
    lines
}

/// The series, the point, and a doubt about its figures.
fn heading(row: &OverviewRow) -> String {
    let mut text = row.name.clone();
    for value in row.point.values() {
        text.push_str(&format!(", {value}"));
    }
    match row.validity {
        Some(Validity::Valid) | None => text,
        Some(doubted) => format!("{text} ({})", doubted.name()),
    }
}

fn tone(row: &OverviewRow) -> Tone {
    match row.validity {
        Some(Validity::Invalid) => Tone::Problem,
        Some(Validity::Suspect) => Tone::Undecided,
        _ => Tone::Strong,
    }
}

/// A row's cells; the first is left empty for the caller's heading.
fn cells(row: &OverviewRow) -> [String; COLUMNS] {
    let sizes = match (row.size_from_bytes, row.size_to_bytes) {
        (Some(from), Some(to)) if from == to => display_bytes(from as f64),
        (Some(from), Some(to)) => format!("{} to {}", display_bytes(from as f64), display_bytes(to as f64)),
        _ => ABSENT.to_owned(),
    };
    [
        String::new(),
        grouped(row.requests),
        grouped(row.failed),
        row.retried.map_or(ABSENT.to_owned(), grouped),
        sizes,
        time(row, row.median_ns),
        time(row, row.p90_ns),
        figure(row.transfer_median_bytes_per_s, |rate| format!("{}/s", display_bytes(rate))),
        figure(row.throughput_per_s, |rate| Unit::PerSecond.display(rate)),
    ]
}

/// A time with its interval, and which time it is.
fn time(row: &OverviewRow, value: Option<OverviewFigure>) -> String {
    let shown = figure(value, |time| Unit::Ns.display(time));
    if value.is_none() { shown } else { format!("{shown} {}", row.time.name()) }
}

fn figure(value: Option<OverviewFigure>, shown: impl Fn(f64) -> String) -> String {
    let Some(figure) = value else { return ABSENT.to_owned() };
    let point = shown(figure.point);
    match figure.interval() {
        Some((lower, upper)) => format!("{point} [{}, {}]", shown(lower), shown(upper)),
        None => format!("{point} (no interval)"),
    }
}

/// Explains intervals and kinds of time.
fn notes(overview: &Overview) -> Vec<String> {
    let has = |origin: Origin| overview.rows.iter().any(|row| row.origin == origin);
    let mut notes = Vec::new();
    if has(Origin::Measured) {
        notes.push("[lower, upper]: 95 % interval over blocks. service: done minus sent, at the client; relayed: what a relay measured of its own request.".to_owned());
    }
    if has(Origin::Imported) {
        notes.push("Imported: 95 % interval of the quantile over the log's rows, as if they were independent; it says nothing of another run. Requests are counted in rows, each the mean of one or many. relayed: as ping measured it.".to_owned());
    }
    let mut figures = overview.rows.iter().flat_map(figures).flatten();
    if figures.any(|figure| figure.interval().is_none()) {
        notes.push(
            "no interval: too few blocks, or rows of a log, for one; the figure alone says little."
                .to_owned(),
        );
    }
    notes
}

fn figures(row: &OverviewRow) -> [Option<OverviewFigure>; 4] {
    [row.median_ns, row.p90_ns, row.transfer_median_bytes_per_s, row.throughput_per_s]
}

pub fn markdown(overview: &Overview) -> String {
    let mut text = format!("| {} |\n", HEADS.join(" | "));
    text.push_str(&format!("|{}\n", " --- |".repeat(COLUMNS)));
    for row in &overview.rows {
        let mut cells = cells(row).map(|cell| escape(&cell));
        cells[0] = escape(&heading(row));
        text.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    for note in notes(overview) {
        text.push_str(&format!("\n{}\n", escape(&note)));
    }
    text
}

/// Base units, not rounded; absent figures and bounds are empty fields.
pub fn csv(overview: &Overview) -> String {
    const FIGURES: [&str; 4] = ["median", "p90", "transfer_median", "throughput"];
    const UNITS: [&str; 4] = ["ns", "ns", "bytes_per_s", "per_s"];
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let mut header = words(&[
        "run",
        "variant",
        "point",
        "machine",
        "experiment",
        "name",
        "tags",
        "origin",
        "validity",
        "requests",
        "failed",
        "retried",
        "size_from_bytes",
        "size_to_bytes",
        "time",
    ]);
    for (figure, unit) in FIGURES.iter().zip(UNITS) {
        header.extend(["", "_lower", "_upper"].map(|bound| format!("{figure}{bound}_{unit}")));
    }
    let mut text = String::new();
    line(&mut text, &header);
    for row in &overview.rows {
        line(&mut text, &fields(row));
    }
    text
}

fn fields(row: &OverviewRow) -> Vec<String> {
    let joined = |pairs: &std::collections::BTreeMap<String, String>| {
        pairs.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("; ")
    };
    let count = |count: Option<u64>| count.map(|count| count.to_string()).unwrap_or_default();
    let mut fields = vec![
        row.run.clone(),
        row.variant.clone(),
        joined(&row.point),
        row.machine.clone().unwrap_or_default(),
        row.experiment.clone(),
        row.name.clone(),
        joined(&row.tags),
        match row.origin {
            Origin::Measured => "measured".to_owned(),
            Origin::Imported => "imported".to_owned(),
        },
        row.validity.map(|validity| validity.name().to_owned()).unwrap_or_default(),
        row.requests.to_string(),
        row.failed.to_string(),
        count(row.retried),
        count(row.size_from_bytes),
        count(row.size_to_bytes),
        row.time.name().to_owned(),
    ];
    for value in figures(row) {
        let numbers =
            value.map_or_else(Default::default, |figure| [Some(figure.point), figure.lower, figure.upper]);
        fields.extend(numbers.map(|number| number.map(|number| number.to_string()).unwrap_or_default()));
    }
    fields
}
