//! Records of comma-separated fields ([RFC 4180](https://www.rfc-editor.org/rfc/rfc4180)); errors name line
//! and column. Lines may end in a line feed alone, and empty lines are skipped.

use std::borrow::Cow;

use super::{Damage, damage, quoted};

/// The fields of one record, and its first line, from 1.
pub(super) struct Record<'a> {
    pub line: u64,
    pub fields: Vec<Cow<'a, str>>,
}

/// All records of a text, up to the first damaged one.
pub(super) fn records(text: &str) -> Records<'_> {
    Records { rest: text, line: 1, is_broken: false }
}

pub(super) struct Records<'a> {
    rest: &'a str,
    line: u64,
    is_broken: bool,
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>, Damage>;

    fn next(&mut self) -> Option<Self::Item> {
        self.skip();
        if self.rest.is_empty() || self.is_broken {
            return None;
        }
        let record = self.record();
        self.is_broken = record.is_err();
        Some(record)
    }
}

impl<'a> Records<'a> {
    /// Skips empty lines, and the byte order marks that concatenated files contain.
    fn skip(&mut self) {
        while let Some(rest) = self.line_end().or_else(|| self.rest.strip_prefix('\u{feff}')) {
            self.line += u64::from(!self.rest.starts_with('\u{feff}'));
            self.rest = rest;
        }
    }

    /// The text after a line end, if there is one here.
    fn line_end(&self) -> Option<&'a str> {
        self.rest.strip_prefix("\r\n").or_else(|| self.rest.strip_prefix('\n'))
    }

    fn record(&mut self) -> Result<Record<'a>, Damage> {
        let line = self.line;
        let mut fields = Vec::new();
        loop {
            fields.push(self.field(fields.len() + 1)?);
            if let Some(rest) = self.rest.strip_prefix(',') {
                self.rest = rest;
                continue;
            }
            let ended = self.line_end();
            self.line += u64::from(ended.is_some());
            self.rest = ended.unwrap_or_default();
            return Ok(Record { line, fields });
        }
    }

    fn field(&mut self, number: usize) -> Result<Cow<'a, str>, Damage> {
        if let Some(quoted) = self.rest.strip_prefix('"') {
            return self.quoted(quoted, number);
        }
        let end = self.rest.find([',', '\n']).unwrap_or(self.rest.len());
        let (field, rest) = self.rest.split_at(end);
        let (field, rest) = match field.strip_suffix('\r') {
            Some(field) if rest.starts_with('\n') => (field, &self.rest[end - 1..]),
            _ => (field, rest),
        };
        if field.contains(['"', '\r']) {
            let what = format!("a stray quote or carriage return in {}", quoted(field));
            return Err(damage(self.line, &format!("column {number}"), what));
        }
        self.rest = rest;
        Ok(Cow::Borrowed(field))
    }

    fn quoted(&mut self, text: &'a str, number: usize) -> Result<Cow<'a, str>, Damage> {
        let begun = self.line;
        let mut from = 0;
        loop {
            let Some(at) = text[from..].find('"').map(|at| from + at) else {
                let what = "a quote that is never closed".to_owned();
                return Err(damage(begun, &format!("column {number}"), what));
            };
            if text[at + 1..].starts_with('"') {
                from = at + 2;
                continue;
            }
            let (field, rest) = (&text[..at], &text[at + 1..]);
            self.line += field.matches('\n').count() as u64;
            let ends = rest.is_empty() || rest.starts_with([',', '\n']) || rest.starts_with("\r\n");
            if !ends {
                let what = "text behind a closing quote".to_owned();
                return Err(damage(self.line, &format!("column {number}"), what));
            }
            self.rest = rest;
            return Ok(if field.contains('"') {
                Cow::Owned(field.replace("\"\"", "\""))
            } else {
                Cow::Borrowed(field)
            });
        }
    }
}

/// Adds a record with every field in quotes.
pub(super) fn write<'a>(text: &mut String, fields: impl Iterator<Item = &'a str>) {
    for (at, field) in fields.enumerate() {
        text.push_str(if at == 0 { "\"" } else { ",\"" });
        text.push_str(&field.replace('"', "\"\""));
        text.push('"');
    }
    text.push('\n');
}
