//! The summary's tables, each with how to read it, and its figures as bars where it asks for them.

use weighbridge_model::summary::Summary;
use weighbridge_model::table::{ResultTable, TableCell, TableDrawing};

use super::escape::{attributes, escape, figure, suffix};
use super::quiet;
use crate::result_tables::{ColumnChoice, HeadKind, cells, heads};
use crate::words;

pub(crate) fn section(summary: &Summary) -> String {
    summary.tables.iter().map(table).collect()
}

fn table(table: &ResultTable) -> String {
    let point = words::point(&table.point);
    let filter = attributes(&[("point", &point)]);
    let heads = heads(table, ColumnChoice::All);
    let named: String = heads
        .iter()
        .map(|head| format!("<th scope=\"col\"{}>{}</th>", class(head.kind), escape(&head.text)))
        .collect();
    let bars = Bars::of(table);
    let bar_head = if bars.is_some() { "<td class=\"gauge value\" aria-hidden=\"true\"></td>" } else { "" };
    let row = |row: &Vec<TableCell>| {
        let variant = ResultTable::variant_of(row).unwrap_or_default();
        let filter = attributes(&[("variant", variant), ("point", &point)]);
        let cells = cells(table, row, ColumnChoice::All);
        let cell = |(at, text): (usize, &String)| match heads[at].kind {
            _ if at == 0 => format!("<th scope=\"row\">{}</th>", escape(text)),
            HeadKind::Words => format!("<td>{}</td>", escape(text)),
            kind => format!("<td{}>{}</td>", class(kind), figure(text)),
        };
        let texts: String = cells.iter().enumerate().map(cell).collect();
        let bar = bars.as_ref().map(|bars| bars.cell(row)).unwrap_or_default();
        format!("<tr{filter}>{texts}{bar}</tr>\n")
    };
    let rows: String = table.rows.iter().map(row).collect();
    let notes: String =
        [&table.reading].into_iter().chain(&table.notes).map(|text| quiet(&escape(text))).collect();
    format!(
        "<div{filter}><div class=\"scroll\"><table><caption>{}{}</caption><thead><tr>{named}{bar_head}</tr></thead><tbody>\n\
         {rows}</tbody></table></div>\n{notes}</div>\n",
        escape(&table.title),
        suffix(&point),
    )
}

const fn class(kind: HeadKind) -> &'static str {
    match kind {
        HeadKind::Words => "",
        HeadKind::Number | HeadKind::Interval => " class=\"n\"",
    }
}

/// Bars from nothing to a row's figure, with its interval. They repeat what cells say, so they are hidden from screen readers.
struct Bars {
    column: usize,
    /// What fills a bar.
    most: f64,
}

impl Bars {
    /// None where nothing is above 0.
    fn of(table: &ResultTable) -> Option<Self> {
        let TableDrawing::Bars { value: column } = table.drawing?;
        let ends = table.rows.iter().filter_map(|row| extent(row.get(column)?));
        let most = ends.map(|[point, _, upper]| upper.max(point)).fold(0.0, f64::max);
        (most > 0.0 && most.is_finite()).then_some(Self { column, most })
    }

    fn cell(&self, row: &[TableCell]) -> String {
        let bar = row.get(self.column).and_then(extent).map(|ends| {
            let [point, lower, upper] = ends.map(|end| (100.0 * end / self.most).clamp(0.0, 100.0));
            format!("<i style=\"--l:{lower:.1}%;--u:{upper:.1}%;--p:{point:.1}%\"></i>")
        });
        format!("<td class=\"gauge value\" aria-hidden=\"true\">{}</td>", bar.unwrap_or_default())
    }
}

/// Point, lower and upper bound of what a cell's bar shows.
fn extent(cell: &TableCell) -> Option<[f64; 3]> {
    let alone = |value: f64| [value; 3];
    match cell {
        TableCell::Count { count } => Some(alone(*count as f64)),
        TableCell::Share { share } => Some(alone(*share)),
        other => {
            let estimate = other.estimate()?;
            let (lower, upper) = estimate.interval().unwrap_or((estimate.point, estimate.point));
            Some([estimate.point, lower, upper])
        }
    }
}
