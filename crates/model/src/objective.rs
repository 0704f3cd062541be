//! Objectives: what a service must keep while its rate rises, such as `p99 < 10 ms and errors < 0.1 %`.
//!
//! That at least [`ACHIEVED_LEAST`] of the offered requests get a good reply in time is part of every objective.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::OperationId;
use crate::quantity::{Nanoseconds, Ratio};

/// Share of the offered requests that every objective wants achieved.
pub const ACHIEVED_LEAST: f64 = 0.99;

/// Conditions that must hold together. Text in files, as the user wrote it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Objective {
    /// As written.
    pub text: String,
    /// In the order written; at least one.
    pub conditions: Vec<Condition>,
}

/// `[operation] measure < limit`.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// As written.
    pub text: String,
    /// `None` for all operations together.
    pub operation: Option<String>,
    pub measure: Measure,
    pub limit: Limit,
}

/// What a condition limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// A statistic of the response times of good replies.
    Response(TimeStatistic),
    /// A statistic of the service times of good replies.
    Service(TimeStatistic),
    /// Failed requests among those due.
    Errors,
}

/// A statistic of times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeStatistic {
    Mean,
    P50,
    P90,
    P95,
    P99,
    P999,
}

/// The limit itself. It belongs to what is allowed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Limit {
    Time(Nanoseconds),
    /// Of the requests due.
    Share(Ratio),
    /// In one step.
    Count(u64),
}

/// The objectives of a run, their operations found in the workload. The first one is the headline.
#[derive(Debug, Clone, PartialEq)]
pub struct Objectives {
    list: Vec<Objective>,
    conditions: Vec<Resolved>,
}

/// A condition of one of the [`Objectives`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Resolved {
    /// The objective that it is of, from 0.
    pub objective: usize,
    pub operation: Option<OperationId>,
    pub measure: Measure,
    pub limit: Limit,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ObjectiveError {
    #[error(
        "`{0}` is not a condition; write one such as `p99 < 10 ms` or `errors < 0.1 %`, several joined by `and`"
    )]
    Shape(String),
    #[error(
        "`{0}` asks for more than a limit; a condition of capacity is an upper limit, such as `p99 < 10 ms`"
    )]
    Direction(String),
    #[error(
        "`{0}` cannot be part of an objective; allowed are mean, p50, p90, p95, p99, p99.9 (also `service p99`), errors"
    )]
    Measure(String),
    #[error("`{limit}` cannot limit {measure}; write {allowed}")]
    Limit {
        /// As written.
        limit: String,
        /// What it should limit.
        measure: String,
        allowed: &'static str,
    },
    #[error("`{text}` names the operation `{operation}`, which the workload does not have; it has {known}")]
    Operation {
        /// The condition.
        text: String,
        operation: String,
        /// Those of the workload, joined.
        known: String,
    },
    #[error("there is no objective; write one such as `p99 < 10 ms`")]
    None,
}

impl TimeStatistic {
    const ALL: [Self; 6] = [Self::Mean, Self::P50, Self::P90, Self::P95, Self::P99, Self::P999];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::P50 => "p50",
            Self::P90 => "p90",
            Self::P95 => "p95",
            Self::P99 => "p99",
            Self::P999 => "p99.9",
        }
    }

    /// The share of times that are not above it; `None` for the mean.
    pub const fn quantile(self) -> Option<f64> {
        match self {
            Self::Mean => None,
            Self::P50 => Some(0.5),
            Self::P90 => Some(0.9),
            Self::P95 => Some(0.95),
            Self::P99 => Some(0.99),
            Self::P999 => Some(0.999),
        }
    }
}

impl Measure {
    /// The statistic of times that it is; `None` for shares.
    pub const fn statistic(self) -> Option<TimeStatistic> {
        match self {
            Self::Response(statistic) | Self::Service(statistic) => Some(statistic),
            Self::Errors => None,
        }
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Response(statistic) => f.write_str(statistic.name()),
            Self::Service(statistic) => write!(f, "service {}", statistic.name()),
            Self::Errors => f.write_str("errors"),
        }
    }
}

impl Limit {
    /// Nanoseconds, parts of 1, or a count.
    pub fn value(self) -> f64 {
        match self {
            Self::Time(time) => time.as_nanos() as f64,
            Self::Share(share) => share.get(),
            Self::Count(count) => count as f64,
        }
    }
}

impl FromStr for Objective {
    type Err = ObjectiveError;

    fn from_str(text: &str) -> Result<Self, ObjectiveError> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let parts = words.split(|word| word.eq_ignore_ascii_case("and"));
        let conditions = parts.map(|part| part.join(" ").parse()).collect::<Result<_, _>>()?;
        Ok(Self { text: text.trim().to_owned(), conditions })
    }
}

impl TryFrom<String> for Objective {
    type Error = ObjectiveError;

    fn try_from(text: String) -> Result<Self, ObjectiveError> {
        text.parse()
    }
}

impl From<Objective> for String {
    fn from(objective: Objective) -> Self {
        objective.text
    }
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Condition {
    type Err = ObjectiveError;

    /// `<=` reads as `<`.
    fn from_str(text: &str) -> Result<Self, ObjectiveError> {
        let shape = || ObjectiveError::Shape(text.to_owned());
        let (left, right) = match (text.split_once('<'), text.contains('>')) {
            (_, true) => return Err(ObjectiveError::Direction(text.to_owned())),
            (None, false) => return Err(shape()),
            (Some(parts), false) => parts,
        };
        let right = right.strip_prefix('=').unwrap_or(right).trim();
        let words: Vec<&str> = left.split_whitespace().collect();
        let Some((name, before)) = words.split_last().filter(|_| !right.is_empty()) else {
            return Err(shape());
        };
        let (measure, operation) = parse_measure(name, before)?;
        let operation = (!operation.is_empty()).then(|| operation.join(" "));
        Ok(Self { text: text.trim().to_owned(), operation, measure, limit: parse_limit(measure, right)? })
    }
}

/// The measure, and the words of the operation before it.
fn parse_measure<'a>(name: &str, before: &'a [&'a str]) -> Result<(Measure, &'a [&'a str]), ObjectiveError> {
    if name == "errors" {
        return Ok((Measure::Errors, before));
    }
    let statistic = TimeStatistic::ALL.into_iter().find(|statistic| statistic.name() == name);
    let statistic = statistic.ok_or_else(|| ObjectiveError::Measure(name.to_owned()))?;
    Ok(match before.split_last() {
        Some((&"service", operation)) => (Measure::Service(statistic), operation),
        Some((&"response", operation)) => (Measure::Response(statistic), operation),
        _ => (Measure::Response(statistic), before),
    })
}

fn parse_limit(measure: Measure, text: &str) -> Result<Limit, ObjectiveError> {
    let (limit, allowed) = match measure {
        Measure::Errors if text.ends_with('%') => {
            let share = text.parse::<Ratio>().ok().filter(|share| (0.0..1.0).contains(&share.get()));
            (share.map(Limit::Share), "a share below 100 %, such as `0.1 %`, or a count, such as `0`")
        }
        Measure::Errors => (
            text.parse().ok().map(Limit::Count),
            "a share below 100 %, such as `0.1 %`, or a count, such as `0`",
        ),
        _ => {
            let time = text.parse::<Nanoseconds>().ok().filter(|time| *time > Nanoseconds::ZERO);
            (time.map(Limit::Time), "a time above 0, such as `10 ms`")
        }
    };
    limit.ok_or_else(|| ObjectiveError::Limit {
        limit: text.to_owned(),
        measure: measure.to_string(),
        allowed,
    })
}

impl Objectives {
    /// `operations` are those of the workload, in its order.
    pub fn new(list: Vec<Objective>, operations: &[String]) -> Result<Self, ObjectiveError> {
        if list.is_empty() {
            return Err(ObjectiveError::None);
        }
        let mut conditions = Vec::new();
        for (objective, written) in list.iter().enumerate() {
            for condition in &written.conditions {
                let operation = condition.operation(operations)?;
                let Condition { measure, limit, .. } = *condition;
                conditions.push(Resolved { objective, operation, measure, limit });
            }
        }
        Ok(Self { list, conditions })
    }

    pub fn list(&self) -> &[Objective] {
        &self.list
    }

    /// The conditions of all objectives, one after another: the order of a step's figures.
    pub fn conditions(&self) -> &[Resolved] {
        &self.conditions
    }

    /// The text of a condition by its place in [`Self::conditions`].
    pub fn condition_text(&self, at: usize) -> &str {
        self.list.iter().flat_map(|objective| &objective.conditions).nth(at).map_or("", |found| &found.text)
    }
}

impl Condition {
    fn operation(&self, operations: &[String]) -> Result<Option<OperationId>, ObjectiveError> {
        let Some(name) = &self.operation else { return Ok(None) };
        let found = operations.iter().position(|known| known == name);
        match found.and_then(|at| u16::try_from(at).ok()) {
            Some(at) => Ok(Some(OperationId(at))),
            None => Err(ObjectiveError::Operation {
                text: self.text.clone(),
                operation: name.clone(),
                known: operations.join(", "),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_read_and_written_as_they_were() {
        let text = "getPerson p99 < 10 ms and service mean <= 1ms AND errors < 0.1 %";
        let objective: Objective = text.parse().unwrap();
        assert_eq!(objective.to_string(), text);
        let [first, second, third] = &objective.conditions[..] else { panic!("three") };
        assert_eq!(first.operation.as_deref(), Some("getPerson"));
        assert_eq!((first.measure, first.limit.value()), (Measure::Response(TimeStatistic::P99), 1e7));
        assert_eq!((second.measure, second.limit.value()), (Measure::Service(TimeStatistic::Mean), 1e6));
        assert_eq!((third.measure, third.limit), (Measure::Errors, Limit::Share(Ratio::new(0.001))));
        let none: Objective = "errors < 0".parse().unwrap();
        assert_eq!(none.conditions[0].limit, Limit::Count(0));
    }

    #[test]
    fn a_bad_text_says_what_is_allowed() {
        for (text, part) in [
            ("", "such as `p99 < 10 ms`"),
            ("p99 < 10 ms and", "such as `p99 < 10 ms`"),
            ("p99 10 ms", "such as `p99 < 10 ms`"),
            ("< 10 ms", "such as `p99 < 10 ms`"),
            ("p99 <", "such as `p99 < 10 ms`"),
            ("p99 > 10 ms", "upper limit"),
            ("p98 < 10 ms", "mean, p50, p90, p95, p99, p99.9"),
            ("p99 < 10", "a time above 0, such as `10 ms`"),
            ("p99 < 0 ms", "a time above 0"),
            ("errors < 100 %", "a share below 100 %"),
            ("errors < -1", "or a count"),
        ] {
            let error = text.parse::<Objective>().unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn an_operation_must_be_one_of_the_workload() {
        let operations = ["get".to_owned(), "set".to_owned()];
        let parse = |text: &str| vec![text.parse::<Objective>().unwrap()];
        let found = Objectives::new(parse("set p90 < 5 ms"), &operations).unwrap();
        assert_eq!(found.conditions()[0].operation, Some(OperationId(1)));
        let error = Objectives::new(parse("del p90 < 5 ms"), &operations).unwrap_err().to_string();
        assert!(error.contains("`del`") && error.contains("get, set"), "{error}");
        assert_eq!(Objectives::new(Vec::new(), &operations), Err(ObjectiveError::None));
    }
}
