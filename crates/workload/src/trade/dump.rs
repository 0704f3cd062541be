//! The records of a dump, which is everything in a brokerage's database as text.

/// One record of a dump: its kind, and lines of fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DumpRecord<'a> {
    pub kind: &'a str,
    lines: Vec<&'a str>,
}

/// A record begins at a line without `=`.
pub(super) fn records(dump: &str) -> Vec<DumpRecord<'_>> {
    let mut records: Vec<DumpRecord<'_>> = Vec::new();
    for line in dump.lines() {
        match records.last_mut() {
            Some(record) if line.contains('=') => record.lines.push(line),
            _ => records.push(DumpRecord { kind: line, lines: Vec::new() }),
        }
    }
    records
}

impl<'a> DumpRecord<'a> {
    /// A field's value; empty where there is none.
    pub fn text(&self, field: &str) -> &'a str {
        let mut values = self.lines.iter().filter_map(|line| line.split_once('='));
        values.find_map(|(name, value)| (name == field).then_some(value)).unwrap_or_default()
    }

    /// 0 where it is no number.
    pub fn number(&self, field: &str) -> i64 {
        self.text(field).parse().unwrap_or_default()
    }

    /// The first field of another value.
    pub fn difference(&self, got: &Self) -> String {
        let unlike = self.lines.iter().zip(&got.lines).find(|(expected, got)| expected != got);
        match unlike {
            Some((expected, got)) => {
                let (field, expected) = expected.split_once('=').unwrap_or((expected, ""));
                let got = got.split_once('=').map_or(*got, |(_, got)| got);
                format!("`{field}` is `{got}`, expected `{expected}`")
            }
            None => format!("`{}` stands in its place", got.kind),
        }
    }
}
