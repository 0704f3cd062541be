//! Gates: conditions on a result that decide the exit code, such as `p50 > +2 %`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::estimate::{ContrastKind, Quantity, Unit, UnknownQuantity};
use crate::quantity::{Bytes, Nanoseconds, PerSecond, Ratio, percentage_points};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateKind {
    /// Fails when the condition is shown to hold: the whole interval satisfies it.
    FailIf,
    /// Passes only when the condition is shown to hold.
    Require,
}

impl GateKind {
    /// Its key in TOML.
    pub const fn name(self) -> &'static str {
        match self {
            Self::FailIf => "fail_if",
            Self::Require => "require",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Comparison {
    /// `>` or `>=`.
    Above,
    /// `<` or `<=`.
    Below,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    Quantity(Quantity),
    /// Failed requests, counted (or as a share of all with a relative bound).
    Errors,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// Change relative to the baseline: 0.02 for `+2 %`. Of a share, the difference: -0.01 for `-1 pp`.
    Change(f64),
    /// An absolute figure in the quantity's unit.
    Absolute(f64),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Gate {
    pub kind: GateKind,
    /// As written in the file.
    pub text: String,
    pub subject: Subject,
    pub comparison: Comparison,
    pub bound: Bound,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GateError {
    #[error("`{0}` is not a condition; write one such as `p50 > +2 %`, `p99 > 5 ms` or `errors > 0`")]
    Shape(String),
    #[error("{0}, errors")]
    Quantity(#[from] UnknownQuantity),
    #[error("`{bound}` cannot bound {subject}; write a change such as {change}{also}")]
    Bound {
        /// As written in the file.
        bound: String,
        /// What it should bound.
        subject: String,
        /// How a change of it is written.
        change: &'static str,
        /// What else is allowed, to end the message.
        also: &'static str,
    },
}

impl Gate {
    /// Parses `<quantity> <comparison> <bound>`; the bound is a change (`+2 %`, `-10%`, of a share `-1 pp`) or an
    /// absolute figure (`5 ms`, of a share `90 %`).
    pub fn parse(kind: GateKind, text: &str) -> Result<Self, GateError> {
        let shape = || GateError::Shape(text.to_owned());
        let at = text.find(['<', '>']).ok_or_else(shape)?;
        let comparison = if text[at..].starts_with('>') { Comparison::Above } else { Comparison::Below };
        let left = text[..at].trim();
        let right = text[at + 1..].trim_start_matches('=').trim();
        if left.is_empty() || right.is_empty() {
            return Err(shape());
        }
        let subject = match left {
            "errors" => Subject::Errors,
            _ => Subject::Quantity(left.parse()?),
        };
        let bound = parse_bound(subject, right)?;
        Ok(Self { kind, text: text.to_owned(), subject, comparison, bound })
    }

    /// `None` for errors.
    pub fn quantity(&self) -> Option<Quantity> {
        match self.subject {
            Subject::Quantity(quantity) => Some(quantity),
            Subject::Errors => None,
        }
    }

    /// Whether it wants a figure of at most its bound, rather than of at least.
    pub fn wants_at_most(&self) -> bool {
        (self.kind == GateKind::FailIf) == (self.comparison == Comparison::Above)
    }

    /// The bound, as written.
    pub fn written_bound(&self) -> &str {
        let bound = self.text.split_once(['<', '>']).map_or("", |(_, bound)| bound);
        bound.trim_start_matches('=').trim()
    }

    /// Whether the whole interval satisfies the condition.
    pub fn is_shown(&self, lower: f64, upper: f64, bound: f64) -> bool {
        match self.comparison {
            Comparison::Above => lower > bound,
            Comparison::Below => upper < bound,
        }
    }
}

/// A gate, judged.
#[derive(Debug, Clone, PartialEq)]
pub struct GateResult {
    pub gate: Gate,
    pub passed: bool,
    /// The figure that is nearest to the bound or furthest beyond it: `response p95 of go: 3.20 ms, at most 5 ms`.
    pub figure: String,
}

impl GateResult {
    pub const fn mark(&self) -> char {
        if self.passed { '✓' } else { '✗' }
    }
}

impl fmt::Display for GateResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.figure, self.mark())
    }
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn parse_bound(subject: Subject, text: &str) -> Result<Bound, GateError> {
    let signed = |text: &str| -> Option<f64> {
        let (sign, rest) = match text.strip_prefix('-') {
            Some(rest) => (-1.0, rest),
            None => (1.0, text.strip_prefix('+').unwrap_or(text)),
        };
        Some(sign * Ratio::from_str(rest).ok()?.get())
    };
    if let Subject::Quantity(quantity) = subject
        && quantity.contrast() == ContrastKind::Plain
    {
        return share_bound(quantity, text);
    }
    if text.ends_with('%')
        && let Some(change) = signed(text)
    {
        return Ok(Bound::Change(change));
    }
    let (absolute, name, also) = match subject {
        Subject::Errors => (text.parse::<u64>().ok().map(|n| n as f64), "errors".to_owned(), ", or a count"),
        Subject::Quantity(quantity) => {
            let (value, also) = match quantity.unit() {
                Unit::Ns => (
                    text.parse::<Nanoseconds>().ok().map(|t| t.as_nanos() as f64),
                    ", or a time such as `5 ms`",
                ),
                Unit::Bytes => {
                    (text.parse::<Bytes>().ok().map(|b| b.get() as f64), ", or a size such as `64 KiB`")
                }
                Unit::PerSecond => {
                    (text.parse::<PerSecond>().ok().map(PerSecond::get), ", or a rate such as `5000/s`")
                }
                Unit::Count => {
                    let count = text.parse::<f64>().ok().filter(|count| count.is_finite() && *count >= 0.0);
                    (count, ", or a count such as `4`")
                }
                // A change in percent, which it has in common with all others, was read above.
                Unit::Share => (None, ""),
            };
            (value, quantity.label(), also)
        }
    };
    absolute.map(Bound::Absolute).ok_or_else(|| GateError::Bound {
        bound: text.to_owned(),
        subject: name,
        change: "`+2 %`",
        also,
    })
}

/// A share is changed by percentage points: `+2 %` of 90 % would read as 92 % and as 91.8 %.
fn share_bound(quantity: Quantity, text: &str) -> Result<Bound, GateError> {
    let change = text.ends_with("pp").then(|| percentage_points(text)).flatten();
    let share = || text.parse::<Ratio>().ok().filter(|share| share.get() <= 1.0);
    match change {
        Some(change) => Ok(Bound::Change(change.get())),
        None => share().map(|share| Bound::Absolute(share.get())).ok_or_else(|| GateError::Bound {
            bound: text.to_owned(),
            subject: quantity.label(),
            change: "`-1 pp`",
            also: ", or a share from 0 to 100 %, such as `90 %`",
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_read() {
        let gate = Gate::parse(GateKind::FailIf, "p50 > +2%").unwrap();
        assert_eq!(
            (gate.subject, gate.bound),
            (Subject::Quantity(Quantity::ResponseP50), Bound::Change(0.02))
        );
        let gate = Gate::parse(GateKind::Require, "throughput >= -5 %").unwrap();
        assert_eq!((gate.comparison, gate.bound), (Comparison::Above, Bound::Change(-0.05)));
        let gate = Gate::parse(GateKind::FailIf, "p99 > 5 ms").unwrap();
        assert_eq!(gate.bound, Bound::Absolute(5e6));
        assert_eq!(Gate::parse(GateKind::FailIf, "errors > 0").unwrap().bound, Bound::Absolute(0.0));
    }

    #[test]
    fn a_share_is_bounded_in_percent_and_its_change_in_percentage_points() {
        let bound = |text| Gate::parse(GateKind::Require, text).map(|gate| gate.bound);
        assert_eq!(bound("hit rate >= 90 %"), Ok(Bound::Absolute(0.9)));
        assert_eq!(
            bound("availability >= 99.9%"),
            Ok(Bound::Absolute("99.9%".parse::<Ratio>().unwrap().get()))
        );
        assert_eq!(bound("hit_rate < -1 pp"), Ok(Bound::Change(-0.01)));
        assert_eq!(bound("reliability > +0.5pp"), Ok(Bound::Change(0.005)));
        for wrong in ["hit rate < -1 %", "hit rate < +2 %", "hit rate > 120 %", "hit rate > 5 ms"] {
            let error = bound(wrong).unwrap_err().to_string();
            assert!(
                error.contains("`-1 pp`, or a share from 0 to 100 %, such as `90 %`"),
                "{wrong}: {error}"
            );
        }
        assert!(bound("p50 > 1 pp").is_err());
    }

    #[test]
    fn wrong_conditions_say_what_is_right() {
        for (text, part) in [
            ("p50", "such as `p50 > +2 %`"),
            ("p5 > 1 %", "`p5` is not a quantity"),
            ("p99 > 5 kB", "`5 ms`"),
            ("> 1 %", "such as"),
        ] {
            let error = Gate::parse(GateKind::FailIf, text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn a_gate_says_what_it_wants() {
        let wants = |kind, text| {
            let gate = Gate::parse(kind, text).unwrap();
            (gate.wants_at_most(), gate.written_bound().to_owned())
        };
        assert_eq!(wants(GateKind::FailIf, "p50 > +2%"), (true, "+2%".to_owned()));
        assert_eq!(wants(GateKind::Require, "p99 <= 5 ms"), (true, "5 ms".to_owned()));
        assert_eq!(wants(GateKind::Require, "throughput >=-5 %"), (false, "-5 %".to_owned()));
        assert_eq!(wants(GateKind::FailIf, "throughput < 5000/s"), (false, "5000/s".to_owned()));
    }

    #[test]
    fn only_a_whole_interval_shows_a_condition() {
        let gate = Gate::parse(GateKind::FailIf, "p50 > +2%").unwrap();
        assert!(gate.is_shown(0.021, 0.03, 0.02) && !gate.is_shown(0.019, 0.03, 0.02));
    }
}
