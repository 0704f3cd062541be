//! The summary's tables in every format, byte for byte. `UPDATE_GOLDEN=1` rewrites the golden files.

use weighbridge_model::estimate::{Estimate, Unit, Verdict};
use weighbridge_model::evidence::Evidence;
use weighbridge_model::summary::Summary;
use weighbridge_model::table::{ResultTable, TableCell, TableColumn, TableDrawing};
use weighbridge_report::{
    ExportFormat, Exported, Format, JmhClass, Report, Style, TableName, TextOptions, export,
};

use crate::support::{self, golden};

fn estimate(point: f64) -> Estimate {
    let half = point.abs() * 0.01;
    let (lower, upper) = (Some(point - half), Some(point + half));
    Estimate { point, lower, upper, level: 0.95, blocks: 6, bootstrap: None }
}

fn figure(point: f64) -> TableCell {
    TableCell::Figure { estimate: estimate(point) }
}

/// A cell of every kind, in two rows a variant.
pub fn actions(of: &Summary) -> ResultTable {
    let row = |variant: &str, action: &str, time: f64, rest: [TableCell; 2]| {
        let counted = [TableCell::Count { count: 12_345 }, TableCell::Share { share: 0.25 }];
        let named = [TableCell::variant(variant), TableCell::text(action)];
        named.into_iter().chain(counted).chain([figure(time)]).chain(rest).collect()
    };
    let difference = |ratio| TableCell::Difference { ratio: estimate(ratio), verdict: Verdict::Higher };
    let withheld = || TableCell::Absent { reason: Some("needs more requests".to_owned()) };
    ResultTable {
        name: "actions".to_owned(),
        title: "Actions".to_owned(),
        point: of.variants[0].point.clone(),
        reading: "How often each action was carried out, and how long it took until its last reply came, however many requests \
                  it had."
            .to_owned(),
        columns: vec![
            TableColumn::text("variant"),
            TableColumn::text("action"),
            TableColumn::of("good", Unit::Count),
            TableColumn::of("share", Unit::Share),
            TableColumn::of("mean", Unit::Ns),
            TableColumn::of("p99", Unit::Ns),
            TableColumn::text("mean against baseline"),
        ],
        rows: vec![
            row("rust", "home", 61_000.0, [figure(152_000.0), TableCell::figure(None)]),
            row("rust", "buy", 104_000.0, [withheld(), TableCell::figure(None)]),
            row("go", "home", 73_200.0, [figure(300_000.0), difference(1.2)]),
            row("go", "buy", 208_000.0, [withheld(), difference(2.0)]),
        ],
        notes: vec!["Times of `buy` are of *all* of them.".to_owned()],
        is_answer: false,
        drawing: Some(TableDrawing::Bars { value: 4 }),
    }
}

fn pauses(of: &Summary) -> ResultTable {
    let row =
        |variant: &str, each: f64| vec![TableCell::variant(variant), figure(each * 100.0), figure(each)];
    ResultTable {
        name: "pauses".to_owned(),
        title: "Pauses".to_owned(),
        point: of.variants[0].point.clone(),
        reading: "How often, and for which share of the time.".to_owned(),
        columns: vec![
            TableColumn::text("variant"),
            TableColumn::of("pauses", Unit::PerSecond),
            TableColumn::of("paused", Unit::Share),
        ],
        rows: vec![row("rust", 0.0105), row("go", 0.0)],
        ..ResultTable::default()
    }
}

fn tabled() -> Summary {
    let mut summary = support::valid();
    // The rest of the summary is kept short.
    let point = summary.variants[0].point.clone();
    summary.costs.retain(|cost| cost.point == point && cost.headline);
    summary.variants.retain(|variant| variant.point == point);
    summary.conditions.truncate(1);
    summary.tables = vec![actions(&summary), pauses(&summary)];
    summary
}

fn made(summary: &Summary, format: Format, columns: usize) -> String {
    support::made(summary, format, &TextOptions { style: Style::Plain, columns, place: None, details: true })
}

fn csv(summary: &Summary) -> String {
    let (detail, environment, how) = (support::detail(), support::environment(), support::how());
    let report = Report { summary, detail: &detail, environment: &environment, how: &how, gates: &[] };
    let evidence = Evidence::default();
    let run = Exported { report, evidence: Some(&evidence), rows: &[], jmh_class: JmhClass::Measure };
    let bytes = export(ExportFormat::Csv, TableName::Tables, &run, &TextOptions::default()).expect("CSV");
    String::from_utf8(bytes).expect("text")
}

/// The part of a page that shows the tables.
fn section(page: &str) -> &str {
    let from = page.find("<h2>Further results</h2>").expect("the section");
    let length = page[from..].find("</section>").expect("its end");
    &page[from..from + length]
}

#[test]
fn tables_are_shown_in_every_format() {
    let summary = tabled();
    golden("tables.txt", &made(&summary, Format::Text, 80));
    golden("tables-wide.txt", &made(&summary, Format::Text, 140));
    golden("tables.md", &made(&summary, Format::Markdown, 80));
    golden("tables.html", section(&made(&summary, Format::Html, 80)));
    golden("tables.csv", &csv(&summary));
    let json = made(&summary, Format::Json, 80);
    let read: Summary = serde_json::from_str(&json).expect("a summary");
    assert_eq!(read.tables, summary.tables);
    assert!(!made(&support::valid(), Format::Html, 80).contains("Further results"));
}

#[test]
fn tables_fit_and_foreign_words_form_no_markup() {
    let mut summary = tabled();
    let hostile = "<script>alert(1)</script>|`x` of a name that is long";
    for cell in summary.tables.iter_mut().flat_map(|table| &mut table.rows).flatten() {
        match cell {
            TableCell::Variant { variant: text } | TableCell::Text { text } => *text = hostile.to_owned(),
            _ => {}
        }
    }
    summary.variants.iter_mut().for_each(|variant| variant.name = hostile.to_owned());
    for table in &mut summary.tables {
        (table.title, table.reading, table.notes) =
            (hostile.to_owned(), hostile.to_owned(), vec![hostile.to_owned()]);
        table.columns.iter_mut().for_each(|column| column.name = "<b>".to_owned());
    }
    let page = made(&summary, Format::Html, 80);
    assert!(!section(&page).contains("<script>") && !section(&page).contains("<b>"));
    assert!(!made(&summary, Format::Markdown, 80).contains("<script>"));
    let text = made(&tabled(), Format::Text, 80);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}
