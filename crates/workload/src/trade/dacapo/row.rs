//! One line of a file of a script: its columns and what may stand in them. Whatever is wrong is told with file, line and
//! column.

use std::collections::HashMap;

use super::super::script::{Action, Cents, Lot, Profile, Session, StockId, User};
use super::{STOCKS, WORKLOAD};

/// Most shares that are bought or sold at once, or held.
const QUANTITY_MOST: u64 = 1_000_000;
/// Highest balance and capitalisation, in dollars.
const BALANCE_MOST: u64 = 1_000_000_000;
const CAPITALISATION_MOST: u64 = 1_000_000_000_000_000;
/// Longest text in characters: what a column of a database takes.
const TEXT_MOST: usize = 250;

/// What is wrong with a file of a script.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: column {column}: {message}")]
pub struct ScriptFileError {
    /// As the caller gave it.
    pub file: String,
    /// From 1; the last one for an error of the whole file.
    pub line: usize,
    /// Which of the columns, parted by tabulators, from 1.
    pub column: usize,
    /// What is wrong and what is allowed.
    pub message: String,
}

/// Stocks by their symbols.
pub(super) type Symbols = HashMap<String, StockId>;

/// The lines of a file that say something.
pub(super) struct ScriptRows<'a> {
    rest: &'a [u8],
    file: &'a str,
    line: usize,
}

impl<'a> ScriptRows<'a> {
    pub fn new(bytes: &'a [u8], file: &'a str) -> Self {
        Self { rest: bytes, file, line: 0 }
    }
}

impl<'a> Iterator for ScriptRows<'a> {
    type Item = Result<ScriptRow<'a>, ScriptFileError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if self.rest.is_empty() {
                return None;
            }
            let end = self.rest.iter().position(|byte| *byte == b'\n');
            let (line, behind) = self.rest.split_at(end.unwrap_or(self.rest.len()));
            self.rest = behind.get(1..).unwrap_or_default();
            self.line += 1;
            if line.is_empty() || line.starts_with(b"#") {
                continue;
            }
            let mut row = ScriptRow { file: self.file, line: self.line, columns: Vec::new() };
            return Some(match std::str::from_utf8(line) {
                Ok(text) => {
                    row.columns.extend(text.split('\t'));
                    Ok(row)
                }
                Err(error) => {
                    let before = line[..error.valid_up_to()].iter().filter(|byte| **byte == b'\t').count();
                    Err(row.error(before, "bytes that are not UTF-8; the file must be UTF-8"))
                }
            });
        }
    }
}

/// One line, cut into its columns. Columns are numbered from 0 here, and from 1 in messages.
pub(super) struct ScriptRow<'a> {
    file: &'a str,
    pub line: usize,
    pub columns: Vec<&'a str>,
}

impl ScriptRow<'_> {
    pub fn error(&self, column: usize, message: impl std::fmt::Display) -> ScriptFileError {
        let (file, message) = (self.file.to_owned(), message.to_string());
        ScriptFileError { file, line: self.line, column: column + 1, message }
    }

    pub fn columns_are(&self, least: usize, most: usize, names: &str) -> Result<(), ScriptFileError> {
        let count = self.columns.len();
        if (least..=most).contains(&count) {
            return Ok(());
        }
        Err(self.error(
            count.min(most + 1) - 1,
            format_args!("the line has {count} columns; allowed: {names}, parted by one tabulator"),
        ))
    }

    /// Digits of a whole number up to `most`.
    fn number(&self, column: usize, text: &str, most: u64) -> Result<u64, ScriptFileError> {
        let digits = !text.is_empty() && text.len() <= 19 && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = if digits { text.parse().ok() } else { None };
        let allowed = number.filter(|number| *number <= most);
        allowed.ok_or_else(|| {
            self.error(column, format_args!("`{}` is no whole number from 0 to {most}", start(text)))
        })
    }

    /// Money with at most two decimals.
    fn money(&self, column: usize, text: &str, most: u64) -> Result<u64, ScriptFileError> {
        let (whole, decimals) = text.split_once('.').unwrap_or((text, "00"));
        let is_money =
            (1..=2).contains(&decimals.len()) && decimals.bytes().all(|byte| byte.is_ascii_digit());
        if !is_money {
            return Err(self.error(column, format_args!("`{}` is no amount such as 17.87", start(text))));
        }
        let cents = decimals.parse::<u64>().unwrap_or(0) * if decimals.len() == 1 { 10 } else { 1 };
        Ok(self.number(column, whole, most)? * 100 + cents)
    }

    pub fn dollars(&self, column: usize, most: u64) -> Result<Cents, ScriptFileError> {
        Ok(Cents::new(self.money(column, self.columns[column], most)? as i64))
    }

    /// Money such as `6.13B`, `372.94M`, `12.00K` or `99.00`.
    pub fn capitalisation(&self, column: usize) -> Result<Cents, ScriptFileError> {
        let text = self.columns[column];
        let scales = [('B', 1_000_000_000), ('M', 1_000_000), ('K', 1_000)];
        let scaled = scales.into_iter().find_map(|(suffix, scale)| Some((text.strip_suffix(suffix)?, scale)));
        let (text, scale) = scaled.unwrap_or((text, 1));
        Ok(Cents::new((self.money(column, text, CAPITALISATION_MOST / scale)? * scale) as i64))
    }

    pub fn balance(&self, column: usize, text: &str) -> Result<Cents, ScriptFileError> {
        Ok(Cents::dollars(self.number(column, text, BALANCE_MOST)? as i64))
    }

    pub fn symbol<'t>(&self, column: usize, text: &'t str) -> Result<&'t str, ScriptFileError> {
        let is_plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte));
        if (1..=16).contains(&text.len()) && is_plain {
            return Ok(text);
        }
        Err(self.error(
            column,
            format_args!("`{}` is no symbol; allowed: 1 to 16 letters, digits, `.` and `-`", start(text)),
        ))
    }

    fn stock(
        &self,
        column: usize,
        text: &str,
        symbols: Option<&Symbols>,
    ) -> Result<StockId, ScriptFileError> {
        let symbol = self.symbol(column, text)?;
        match symbols {
            None => Ok(StockId(0)),
            Some(symbols) => symbols.get(symbol).copied().ok_or_else(|| {
                self.error(
                    column,
                    format_args!("there is no stock `{symbol}` among the {} of {STOCKS}", symbols.len()),
                )
            }),
        }
    }

    pub fn user(&self, column: usize, text: &str) -> Result<String, ScriptFileError> {
        let is_plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._:-".contains(&byte));
        if (1..=64).contains(&text.len()) && is_plain {
            return Ok(text.to_owned());
        }
        Err(self.error(
            column,
            format_args!(
                "`{}` is no user; allowed: 1 to 64 letters, digits, `.`, `_`, `:` and `-`",
                start(text)
            ),
        ))
    }

    pub fn text(&self, column: usize, text: &str) -> Result<String, ScriptFileError> {
        let wrong = if text.chars().any(char::is_control) {
            "a control character"
        } else if text.chars().count() > TEXT_MOST {
            "more than 250 characters"
        } else {
            return Ok(text.to_owned());
        };
        Err(self.error(column, format_args!("`{}` has {wrong}; leave that out", start(text))))
    }

    /// A profile from its five texts, each in a column of its own (`apart`) or all in one.
    pub fn profile(&self, column: usize, texts: &[&str], apart: bool) -> Result<Profile, ScriptFileError> {
        let text = |at: usize| {
            let column = if apart { column + at } else { column };
            let text = self.text(column, texts[at])?;
            if text.contains('|') {
                let start = start(&text);
                return Err(
                    self.error(column, format_args!("`{start}` has a `|`, which parts texts in {WORKLOAD}"))
                );
            }
            Ok(text)
        };
        let (card, email, password) = (text(0)?, text(1)?, text(2)?);
        Ok(Profile { card, email, password, full_name: text(3)?, address: text(4)? })
    }

    fn lot(&self, column: usize, text: &str, symbols: Option<&Symbols>) -> Result<Lot, ScriptFileError> {
        let Some((symbol, quantity)) = text.split_once(' ') else {
            return Err(self.error(
                column,
                format_args!("`{}` is not a symbol, a blank and a number of shares", start(text)),
            ));
        };
        let stock = self.stock(column, symbol, symbols)?;
        Ok(Lot { stock, quantity: self.number(column, quantity, QUANTITY_MOST)? as u32 })
    }

    pub fn holdings(&self, column: usize, symbols: &Symbols) -> Result<Vec<Lot>, ScriptFileError> {
        let text = self.columns.get(column).copied().unwrap_or_default();
        let lots = text.split(", ").filter(|_| !text.is_empty());
        lots.map(|lot| self.lot(column, lot, Some(symbols))).collect()
    }

    pub fn session(&self, symbols: Option<&Symbols>) -> Result<Session, ScriptFileError> {
        let [user, password, steps @ ..] = &self.columns[..] else {
            return Err(self.error(
                0,
                "the line has one column; allowed: user, password and steps, parted by one tabulator",
            ));
        };
        let (user, password) = (self.user(0, user)?, self.text(1, password)?);
        let steps = (2..).zip(steps).map(|(column, step)| self.step(column, step, symbols));
        let actions = steps.filter_map(Result::transpose).collect::<Result<_, _>>()?;
        Ok(Session { user, password, actions })
    }

    /// A step of a session; `None` for DaCapo's `a`.
    fn step(
        &self,
        column: usize,
        step: &str,
        symbols: Option<&Symbols>,
    ) -> Result<Option<Action>, ScriptFileError> {
        let (letter, rest) = step.split_once(' ').unwrap_or((step, ""));
        let parts = |count: usize, names: &str| {
            let parts: Vec<&str> = rest.split('|').collect();
            if parts.len() == count {
                return Ok(parts);
            }
            Err(self
                .error(column, format_args!("`{}` has {} parts; allowed: {names}", start(step), parts.len())))
        };
        Ok(Some(match letter {
            "h" if step == "h" => Action::Home,
            "p" if step == "p" => Action::Portfolio,
            "a" if step == "a" => return Ok(None),
            "q" => Action::Quote(self.stock(column, rest, symbols)?),
            "b" => Action::Buy(self.lot(column, rest, symbols)?),
            "s" => Action::Sell(self.lot(column, rest, symbols)?),
            "u" => {
                let parts = parts(5, "card|email|password|full_name|address")?;
                Action::Update(Box::new(self.profile(column, &parts, false)?))
            }
            "r" => {
                let parts = parts(7, "user|balance|card|email|password|full_name|address")?;
                let (user, balance) = (self.user(column, parts[0])?, self.balance(column, parts[1])?);
                let profile = self.profile(column, &parts[2..], false)?;
                Action::Register(Box::new(User { user, balance, profile, holdings: Vec::new() }))
            }
            _ => {
                let allowed = "`h`, `p`, `a`, `q SYM`, `b SYM n`, `s SYM n`, `u …`, `r …`";
                return Err(
                    self.error(column, format_args!("`{}` is no step; allowed: {allowed}", start(step)))
                );
            }
        }))
    }
}

/// The beginning of a text, for a message, without what a terminal would obey.
fn start(text: &str) -> String {
    text.chars().take(40).map(|c| if c.is_control() { '.' } else { c }).collect()
}
