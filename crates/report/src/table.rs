//! Tables of text with aligned columns.

use crate::style::{Style, Tone};
use crate::text::{Wide, columns, fold};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    Left,
    Right,
}

#[derive(Debug, Clone)]
pub struct Cell {
    /// Foreign text must be [clean](crate::text::clean).
    pub text: String,
    pub tone: Tone,
}

impl Cell {
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), tone: Tone::Plain }
    }
    pub fn toned(tone: Tone, text: impl Into<String>) -> Self {
        Self { text: text.into(), tone }
    }
}

#[derive(Debug)]
enum TableRow {
    Cells(Vec<Cell>),
    /// A label in the first column, and text across all others.
    Spanning(String, Cell),
    Line(String),
}

/// Rows of cells with common column widths, and lines between them that do not affect the widths.
#[derive(Debug)]
pub struct Table {
    align: Vec<Align>,
    gap: usize,
    rows: Vec<TableRow>,
}

impl Table {
    /// An empty table whose columns are `gap` spaces apart.
    pub fn new(align: impl Into<Vec<Align>>, gap: usize) -> Self {
        Self { align: align.into(), gap, rows: Vec::new() }
    }

    /// Adds a row; cells beyond the known columns are aligned left.
    pub fn push(&mut self, row: Vec<Cell>) {
        self.rows.push(TableRow::Cells(row));
    }

    /// Adds a row whose text spans all columns but the first, folded if it is long.
    pub fn span(&mut self, label: impl Into<String>, text: Cell) {
        self.rows.push(TableRow::Spanning(label.into(), text));
    }

    /// Adds a line that is printed as it is.
    pub fn line(&mut self, line: impl Into<String>) {
        self.rows.push(TableRow::Line(line.into()));
    }

    fn widths(&self) -> Vec<usize> {
        let cells = || {
            self.rows.iter().filter_map(|row| match row {
                TableRow::Cells(cells) => Some(cells),
                _ => None,
            })
        };
        let count = cells().map(Vec::len).max().unwrap_or(0);
        let width =
            |at: usize| cells().filter_map(|row| row.get(at)).map(|c| columns(&c.text)).max().unwrap_or(0);
        (0..count).map(width).collect()
    }

    /// Width of the widest row of cells.
    pub fn width(&self) -> usize {
        let used: Vec<usize> = self.widths().into_iter().filter(|width| *width > 0).collect();
        used.iter().sum::<usize>() + self.gap * used.len().saturating_sub(1)
    }

    /// The lines, without trailing blanks. Columns that are empty in every row take no space; spanning text
    /// is folded to `most` columns.
    pub fn lines(&self, style: Style, most: usize) -> Vec<String> {
        let widths = self.widths();
        let first = widths.first().copied().unwrap_or(0);
        let row = |row: &TableRow| match row {
            TableRow::Cells(cells) => self.cells(cells, &widths, style),
            TableRow::Spanning(label, text) => {
                let lead = format!("{label:first$}{}", " ".repeat(self.gap));
                let indent = " ".repeat(if columns(&lead) > most / 2 { 4 } else { columns(&lead) });
                let rest = fold(&text.text, &lead, &indent, most, Wide::Cut);
                rest.iter().map(|line| style.paint(text.tone, line)).collect::<Vec<_>>().join("\n")
            }
            TableRow::Line(line) => line.clone(),
        };
        self.rows.iter().map(row).collect()
    }

    fn cells(&self, row: &[Cell], widths: &[usize], style: Style) -> String {
        let mut line = String::new();
        let mut blanks = 0;
        for (at, cell) in row.iter().enumerate().filter(|(at, _)| widths[*at] > 0) {
            let pad = widths[at] - columns(&cell.text);
            let before = if self.align.get(at) == Some(&Align::Right) { pad } else { 0 };
            if cell.text.is_empty() {
                blanks += widths[at] + self.gap;
                continue;
            }
            line.push_str(&" ".repeat(blanks + before));
            line.push_str(&style.paint(cell.tone, &cell.text));
            blanks = pad - before + self.gap;
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_align_and_nothing_trails() {
        let mut table = Table::new([Align::Left, Align::Right, Align::Left], 2);
        table.push(vec![Cell::new("p50"), Cell::new("1.5 µs"), Cell::new("higher")]);
        table.push(vec![Cell::new("mean"), Cell::new("12.0 µs"), Cell::new("")]);
        assert_eq!(table.lines(Style::Plain, 80), ["p50    1.5 µs  higher", "mean  12.0 µs"]);
        assert_eq!(table.width(), 21);
    }

    #[test]
    fn colour_does_not_move_columns() {
        let mut table = Table::new([Align::Right, Align::Left], 1);
        table.push(vec![Cell::toned(Tone::Worse, "1"), Cell::new("a")]);
        table.push(vec![Cell::new("22"), Cell::new("b")]);
        assert_eq!(table.lines(Style::Ansi, 80), [" \x1b[31m1\x1b[0m a", "22 b"]);
    }

    #[test]
    fn spanning_text_begins_at_the_second_column_and_stays_there() {
        let mut table = Table::new([Align::Left, Align::Right], 2);
        table.push(vec![Cell::new("response p50"), Cell::new("1 ns")]);
        table.span("p99", Cell::new("withheld: too few requests"));
        table.line("as it is");
        assert_eq!(
            table.lines(Style::Plain, 30),
            ["response p50  1 ns", "p99           withheld: too\n              few requests", "as it is"]
        );
    }
}
