//! Tables as comma-separated values, quoted by RFC 4180: figures in the base unit that stands beside them, nothing
//! rounded. Absent figures are empty fields.

use weighbridge_model::evidence::Evidence;
use weighbridge_model::summary::Summary;

use crate::columns::{self, Column, Read, TableName, TableSink};

/// The costs of one or several runs under one header; lines end with CR LF.
pub fn costs(summaries: &[&Summary]) -> String {
    Csv.write(&columns::cost_columns(), &columns::cost_rows(summaries))
}

/// One table of a run. Blocks and windows come of the evidence, and are empty without it.
pub fn table(table: TableName, summary: &Summary, evidence: Option<&Evidence>) -> String {
    columns::write(table, summary, evidence, Csv)
}

/// Writes CSV.
struct Csv;

impl TableSink for Csv {
    type Output = String;

    fn write<R>(self, columns: &[Column<R>], rows: &[R]) -> String {
        let mut text = String::new();
        line(&mut text, &columns.iter().map(|column| column.name.to_owned()).collect::<Vec<_>>());
        for row in rows {
            line(&mut text, &columns.iter().map(|column| field(column, row)).collect::<Vec<_>>());
        }
        text
    }
}

fn field<R>(column: &Column<R>, row: &R) -> String {
    match column.read {
        Read::Text(read) => read(row).map(|text| text.into_owned()).unwrap_or_default(),
        Read::Count(read) => read(row).map(|count| count.to_string()).unwrap_or_default(),
        Read::Number(read) => read(row).map(|number| number.to_string()).unwrap_or_default(),
        Read::Flag(read) => read(row).to_string(),
    }
}

/// One line of `fields`, quoted where they need it.
pub(crate) fn line(text: &mut String, fields: &[String]) {
    let quoted: Vec<String> = fields.iter().map(|field| quote(field)).collect();
    text.push_str(&quoted.join(","));
    text.push_str("\r\n");
}

/// A field as RFC 4180 wants it: quoted where it holds a comma, a quote or a line end, quotes doubled.
fn quote(field: &str) -> String {
    if field.contains([',', '"', '\r', '\n']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_only_where_needed() {
        for (field, quoted) in [
            ("plain", "plain"),
            ("a,b", "\"a,b\""),
            ("say \"hi\"", "\"say \"\"hi\"\"\""),
            ("two\r\nlines", "\"two\r\nlines\""),
        ] {
            assert_eq!(quote(field), quoted);
        }
    }
}
