//! Tables as comma-separated values, quoted as in RFC 4180. Figures are in base units and not rounded; absent
//! figures are empty fields.

use weighbridge_model::evidence::Evidence;
use weighbridge_model::summary::Summary;

use crate::columns::{self, Column, Read, TableName, TableSink};

/// The costs of one or several runs under one header.
pub fn costs(summaries: &[&Summary]) -> String {
    Csv.write(&columns::cost_columns(), &columns::cost_rows(summaries))
}

/// One table of a run. Without evidence, the tables that need it are empty.
pub fn table(table: TableName, summary: &Summary, evidence: Option<&Evidence>) -> String {
    columns::write(table, summary, evidence, Csv)
}

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

/// Appends a line of `fields`, quoted if necessary.
pub(crate) fn line(text: &mut String, fields: &[String]) {
    let quoted: Vec<String> = fields.iter().map(|field| quote(field)).collect();
    text.push_str(&quoted.join(","));
    text.push_str("\r\n");
}

/// Quotes a field with a comma, a quote or a line end; quotes in it are doubled (RFC 4180).
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
