//! A TOML file as a tree with line numbers, and the reader that takes keys from it.
//!
//! The reader remembers every key that was asked for, so that any other key is an error that lists the known
//! ones.

use std::cell::RefCell;
use std::fmt;
use std::str::FromStr;

use toml::de::{DeTable, DeValue};

use super::misplaced::misplaced_hint;
use crate::secret::is_unprintable;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ExperimentError {
    /// As the caller gave it.
    pub file: String,
    /// Line, from 1; 0 for an error of the whole file.
    pub line: usize,
    /// What is wrong and what is allowed.
    pub message: String,
}

pub(super) type Read<T> = Result<T, ExperimentError>;

impl fmt::Display for ExperimentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.file, self.message),
            line => write!(f, "{}:{line}: {}", self.file, self.message),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    pub line: usize,
    pub value: Value,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Text(String),
    Integer(i64),
    Float(f64),
    Boolean(bool),
    List(Vec<Node>),
    Table(Vec<(String, Node)>),
}

impl Node {
    pub fn parse(file: &str, text: &str) -> Result<Self, ExperimentError> {
        let error = |line, message| ExperimentError { file: file.to_owned(), line, message };
        if text.len() > LONGEST_FILE {
            let message = format!(
                "the file has {} bytes, and at most {LONGEST_FILE} are read; let a `[matrix]` make variants and points, and keep bodies in files of their own",
                text.len()
            );
            return Err(error(0, message));
        }
        let lines = Lines::new(text);
        let table = DeTable::parse(text).map_err(|e| {
            error(e.span().map_or(0, |span| lines.at(span.start)), e.message().replace('\n', ", "))
        })?;
        let line = lines.at(table.span().start);
        convert_table(table.get_ref(), line, &lines).map_err(|(line, message)| error(line, message))
    }

    /// The value as errors and labels show it: text without quotes.
    pub fn show(&self) -> String {
        match &self.value {
            Value::Text(text) => text.clone(),
            Value::Integer(n) => n.to_string(),
            Value::Float(x) => x.to_string(),
            Value::Boolean(b) => b.to_string(),
            Value::List(items) => {
                let items: Vec<_> = items.iter().map(Self::show).collect();
                format!("[{}]", items.join(", "))
            }
            Value::Table(entries) => {
                let entries: Vec<_> = entries.iter().map(|(k, v)| format!("{k} = {}", v.show())).collect();
                format!("{{ {} }}", entries.join(", "))
            }
        }
    }

    /// Sets `value` at a dotted path and creates missing tables.
    pub fn set(&mut self, path: &str, value: Self) {
        let (key, rest) = path.split_once('.').map_or((path, None), |(key, rest)| (key, Some(rest)));
        if !matches!(self.value, Value::Table(_)) {
            self.value = Value::Table(Vec::new());
        }
        let Value::Table(entries) = &mut self.value else { return };
        let at = entries.iter().position(|(name, _)| name == key).unwrap_or_else(|| {
            entries.push((key.to_owned(), Self { line: value.line, value: Value::Table(Vec::new()) }));
            entries.len() - 1
        });
        match rest {
            Some(rest) => entries[at].1.set(rest, value),
            None => entries[at].1 = value,
        }
    }

    pub fn remove(&mut self, key: &str) -> Option<Self> {
        let Value::Table(entries) = &mut self.value else { return None };
        let at = entries.iter().position(|(name, _)| name == key)?;
        Some(entries.remove(at).1)
    }
}

/// Longest experiment file, in bytes: some 100,000 lines.
const LONGEST_FILE: usize = 4 << 20;

/// Where the lines of a text begin.
struct Lines(Vec<usize>);

impl Lines {
    fn new(text: &str) -> Self {
        Self(std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect())
    }

    /// The number, from 1, of the line that holds a byte.
    fn at(&self, offset: usize) -> usize {
        self.0.partition_point(|start| *start <= offset)
    }
}

type LineError = (usize, String);

fn convert(value: &DeValue<'_>, line: usize, lines: &Lines) -> Result<Node, LineError> {
    let value = match value {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Boolean(b) => Value::Boolean(*b),
        DeValue::Integer(n) => {
            let digits = n.as_str().replace('_', "");
            let number = i64::from_str_radix(&digits, n.radix());
            Value::Integer(number.map_err(|_| (line, format!("`{}` is too large", n.as_str())))?)
        }
        DeValue::Float(x) => {
            let number = x.as_str().replace('_', "").parse();
            Value::Float(number.map_err(|_| (line, format!("`{}` is not a number", x.as_str())))?)
        }
        DeValue::Datetime(d) => {
            return Err((line, format!("`{d}`: dates have no use here; write text in quotes")));
        }
        DeValue::Array(items) => {
            let items = items.iter().map(|item| convert(item.get_ref(), lines.at(item.span().start), lines));
            Value::List(items.collect::<Result<_, _>>()?)
        }
        DeValue::Table(table) => return convert_table(table, line, lines),
    };
    Ok(Node { line, value })
}

fn convert_table(table: &DeTable<'_>, line: usize, lines: &Lines) -> Result<Node, LineError> {
    let mut entries = Vec::new();
    for (key, value) in table.iter() {
        let key_line = lines.at(key.span().start);
        entries.push((
            key.span().start,
            key.get_ref().to_string(),
            convert(value.get_ref(), key_line, lines)?,
        ));
    }
    // The parser sorts keys. The file's order matters: it is the order of variants' settings and of the
    // matrix.
    entries.sort_by_key(|(start, ..)| *start);
    Ok(Node { line, value: Value::Table(entries.into_iter().map(|(_, key, node)| (key, node)).collect()) })
}

pub(super) struct Reader<'a> {
    file: &'a str,
    path: String,
    line: usize,
    entries: &'a [(String, Node)],
    asked: RefCell<Vec<&'static str>>,
}

impl<'a> Reader<'a> {
    /// Errors: `node` is not a table. `path` names it in errors (empty for the whole file).
    pub fn new(file: &'a str, path: &str, node: &'a Node) -> Result<Self, ExperimentError> {
        let Value::Table(entries) = &node.value else {
            let message = format!("`{path}` must be a table, not `{}`", node.show());
            return Err(ExperimentError { file: file.to_owned(), line: node.line, message });
        };
        Ok(Self { file, path: path.to_owned(), line: node.line, entries, asked: RefCell::default() })
    }

    pub fn error(&self, line: usize, message: impl Into<String>) -> ExperimentError {
        ExperimentError { file: self.file.to_owned(), line, message: message.into() }
    }

    pub fn line(&self) -> usize {
        self.line
    }

    /// `key` after the table's path.
    pub fn full_key(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// The raw value of `key`, which counts as known from now on.
    pub fn node(&self, key: &'static str) -> Option<&'a Node> {
        let mut asked = self.asked.borrow_mut();
        if !asked.contains(&key) {
            asked.push(key);
        }
        self.entries.iter().find(|(name, _)| name == key).map(|(_, node)| node)
    }

    pub fn table(&self, key: &'static str) -> Result<Option<Reader<'a>>, ExperimentError> {
        self.node(key).map(|node| Reader::new(self.file, &self.full_key(key), node)).transpose()
    }

    pub fn tables(&self, key: &'static str) -> Result<Vec<Reader<'a>>, ExperimentError> {
        let Some(node) = self.node(key) else { return Ok(Vec::new()) };
        let Value::List(items) = &node.value else {
            return Err(self.error(
                node.line,
                format!("`{}` must be written `[[{0}]]`, once for each", self.full_key(key)),
            ));
        };
        items.iter().map(|item| Reader::new(self.file, &self.full_key(key), item)).collect()
    }

    pub fn entry_table(&self, name: &str, node: &'a Node) -> Result<Reader<'a>, ExperimentError> {
        Reader::new(self.file, &self.full_key(name), node)
    }

    /// All entries of a table with free keys.
    pub fn free_entries(&self) -> &'a [(String, Node)] {
        self.entries
    }

    /// Parses the value at `key` by `read`; adds key and line to its error.
    pub fn value<T>(
        &self,
        key: &'static str,
        read: impl FnOnce(&Node) -> Result<T, String>,
    ) -> Result<Option<T>, ExperimentError> {
        let Some(node) = self.node(key) else { return Ok(None) };
        read(node)
            .map(Some)
            .map_err(|message| self.error(node.line, format!("`{}`: {message}", self.full_key(key))))
    }

    pub fn text(&self, key: &'static str) -> Result<Option<String>, ExperimentError> {
        self.value(key, |node| match &node.value {
            Value::Text(text) => Ok(text.clone()),
            _ => Err(format!("`{}` must be text in quotes", node.show())),
        })
    }

    /// Text for tables and messages: control characters and the like are refused.
    pub fn name(&self, key: &'static str) -> Result<Option<String>, ExperimentError> {
        let name = self.text(key)?;
        match name.as_deref().and_then(|name| name.chars().find(|c| is_unprintable(*c))) {
            None => Ok(name),
            Some(c) => {
                let line = self.node(key).map_or(self.line, |node| node.line);
                let shown = c.escape_unicode();
                Err(self.error(
                    line,
                    format!(
                        "`{}` holds the character `{shown}`, which cannot be shown; leave it out",
                        self.full_key(key)
                    ),
                ))
            }
        }
    }

    /// A quantity, or a plain number if its type parses that.
    pub fn quantity<T: FromStr<Err: fmt::Display>>(
        &self,
        key: &'static str,
    ) -> Result<Option<T>, ExperimentError> {
        self.value(key, |node| node.show().parse().map_err(|e: T::Err| e.to_string()))
    }

    /// An integer from `low` to `high`, inclusive.
    pub fn integer(&self, key: &'static str, low: u64, high: u64) -> Result<Option<u64>, ExperimentError> {
        self.value(key, |node| match node.value {
            Value::Integer(n) if u64::try_from(n).is_ok_and(|n| (low..=high).contains(&n)) => Ok(n as u64),
            _ => Err(format!("`{}` must be a whole number from {low} to {high}", node.show())),
        })
    }

    pub fn boolean(&self, key: &'static str) -> Result<Option<bool>, ExperimentError> {
        self.value(key, |node| match node.value {
            Value::Boolean(b) => Ok(b),
            _ => Err(format!("`{}` must be `true` or `false`", node.show())),
        })
    }

    pub fn choice<T: Copy>(
        &self,
        key: &'static str,
        words: &[(&str, T)],
    ) -> Result<Option<T>, ExperimentError> {
        self.value(key, |node| {
            let text = node.show();
            words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value).ok_or_else(|| {
                let names: Vec<_> = words.iter().map(|(word, _)| *word).collect();
                format!("`{text}` is not known{}", suggestion(&text, &names))
            })
        })
    }

    /// Refuses keys that were not asked for.
    pub fn finish(self) -> Result<(), ExperimentError> {
        let asked = self.asked.borrow();
        for (key, node) in self.entries {
            if !asked.contains(&key.as_str()) {
                let place =
                    if self.path.is_empty() { "the file".to_owned() } else { format!("`[{}]`", self.path) };
                let hint = misplaced_hint(&self.path, key).unwrap_or_else(|| suggestion(key, &asked));
                let message = format!("unknown key `{key}` in {place}{hint}");
                return Err(self.error(node.line, message));
            }
        }
        Ok(())
    }
}

/// `; did you mean `x`? allowed: …` for a word that is not in `allowed`.
pub fn suggestion(word: &str, allowed: &[&str]) -> String {
    let nearest = allowed.iter().map(|name| (strsim::levenshtein(word, name), name)).min();
    let hint = match nearest {
        Some((distance, name)) if distance <= ((word.len() + 1) / 3).max(1) => {
            format!("; did you mean `{name}`?")
        }
        _ => ";".to_owned(),
    };
    let names: Vec<_> = allowed.iter().map(|name| format!("`{name}`")).collect();
    format!("{hint} allowed: {}", names.join(", "))
}
