//! The cells of the summary's tables, one a row.

use weighbridge_model::estimate::Verdict;
use weighbridge_model::summary::Summary;
use weighbridge_model::table::{ResultTable, TableCell, TableColumn};

use super::Read::{Count, Number, Text};
use super::{Column, column, point, some, unit};

pub(super) struct CellRow<'a> {
    summary: &'a Summary,
    table: &'a ResultTable,
    /// From 1.
    row: u64,
    column: &'a TableColumn,
    cell: &'a TableCell,
}

pub(super) fn cell_rows(summary: &Summary) -> Vec<CellRow<'_>> {
    let mut rows = Vec::new();
    for table in &summary.tables {
        for (row, cells) in (1..).zip(&table.rows) {
            let cells = table.columns.iter().zip(cells);
            rows.extend(cells.map(|(column, cell)| CellRow { summary, table, row, column, cell }));
        }
    }
    rows
}

pub(super) fn cell_columns<'a>() -> Vec<Column<CellRow<'a>>> {
    vec![
        column("run", Text(|row| some(&row.summary.run))),
        column("table", Text(|row| some(&row.table.name))),
        column("point", Text(|row| Some(point(&row.table.point)))),
        column("row", Count(|row| Some(row.row))),
        column("column", Text(|row| some(&row.column.name))),
        column("unit", Text(|row| row.column.unit.map(|of| unit(of).into()))),
        column("text", Text(|row| text(row.cell).and_then(some))),
        column("value", Number(|row| value(row.cell))),
        column("lower", Number(|row| row.cell.estimate()?.lower)),
        column("upper", Number(|row| row.cell.estimate()?.upper)),
    ]
}

fn text(cell: &TableCell) -> Option<&str> {
    match cell {
        TableCell::Variant { variant: text } | TableCell::Text { text } => Some(text),
        TableCell::Difference { verdict, .. } => Some(Verdict::name(*verdict)),
        TableCell::Absent { reason } => reason.as_deref(),
        TableCell::Count { .. } | TableCell::Figure { .. } | TableCell::Share { .. } => None,
    }
}

fn value(cell: &TableCell) -> Option<f64> {
    match cell {
        TableCell::Count { count } => Some(*count as f64),
        TableCell::Share { share } => Some(*share),
        other => other.estimate().map(|estimate| estimate.point),
    }
}
