//! What a run stored beside what the judge makes of its records now.

use serde::Serialize;
use serde_json::{Map, Value};
use weighbridge_model::summary::{Cost, Summary};

use crate::table::{Align, Cell, Table};
use crate::text::{clean, counted, hanging};
use crate::{Style, Tone, json, words};

/// How far two numbers may differ and be called equal, as a share of the larger: other processors and libraries
/// round the last digits of logarithms otherwise.
const ROUNDING: f64 = 1e-9;
/// Places of the text other than costs; JSON has all.
const PLACES: usize = 8;

/// Keys of sentences.
const WORDING: [&str; 3] = ["/reason", "/evidence", "/remedy"];

/// A run's stored summary, and the one that the judge makes of its records now.
#[derive(Debug, Clone, Copy)]
pub struct Rejudged<'s> {
    pub stored: &'s Summary,
    pub again: &'s Summary,
    /// The version of `weigh` that stored it, where the run has it.
    pub stored_by: Option<&'s str>,
    pub judged_by: &'s str,
}

/// A place where the two summaries differ.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// A JSON pointer (RFC 6901) into the summary.
    pub place: String,
    /// Absent where only the other has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stored: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recomputed: Option<Value>,
    /// Whether it is a sentence to be read, whose wording changes between versions, and no figure or verdict.
    pub wording: bool,
}

#[derive(Serialize)]
struct Document<'r> {
    run: &'r str,
    stored_by: Option<&'r str>,
    judged_by: &'r str,
    agrees: bool,
    differences: Vec<Difference>,
    recomputed: &'r Summary,
}

impl Rejudged<'_> {
    /// Every place where the summaries differ by more than rounding.
    pub fn differences(&self) -> Vec<Difference> {
        let value = |summary| serde_json::to_value(summary).expect("string keys");
        let mut found = Vec::new();
        compare("", Some(&value(self.stored)), Some(&value(self.again)), &mut found);
        found
    }

    /// Whether figures and verdicts are those of the records, however they are worded.
    pub fn agrees(&self) -> bool {
        self.differences().iter().all(|one| one.wording)
    }

    /// With the whole recomputed summary.
    pub fn json(&self) -> String {
        let differences = self.differences();
        json::pretty(&Document {
            run: &self.stored.run,
            stored_by: self.stored_by,
            judged_by: self.judged_by,
            agrees: differences.iter().all(|one| one.wording),
            differences,
            recomputed: self.again,
        })
    }

    /// One line where they agree; else the costs that differ side by side, and the other places.
    pub fn text(&self, style: Style, columns: usize) -> String {
        let by = format!(
            "stored by {}, judged by {}",
            self.stored_by.unwrap_or("an unknown version"),
            self.judged_by
        );
        let all = counted(self.stored.costs.len() as u64, "cost");
        let (wording, others): (Vec<Difference>, Vec<Difference>) =
            self.differences().into_iter().partition(|one| one.wording);
        let worded = match wording.len() {
            0 => String::new(),
            count => format!("{} worded otherwise; ", counted(count as u64, "text")),
        };
        let said =
            |what: &str| hanging("", &clean(&format!("{}: {what}; {worded}{by}", self.stored.run)), columns);
        if others.is_empty() {
            return format!("{}\n", said(&format!("the stored summary follows from its records: {all}")));
        }
        let costs = self.costs();
        let differ = match costs.len() {
            0 => "no cost differs".to_owned(),
            count => format!("{count} of {all} differ"),
        };
        let head = said(&format!("the stored summary does not follow from its records: {differ}"));
        let mut lines = vec![style.paint(Tone::Problem, &head)];
        if !costs.is_empty() {
            lines.push(String::new());
            lines.extend(table(&costs).lines(style, columns));
        }
        let others: Vec<&Difference> =
            others.iter().filter(|one| !one.place.starts_with("/costs/")).collect();
        if !others.is_empty() {
            lines.push(String::new());
            lines.extend(others.iter().take(PLACES).map(|one| hanging("", &clean(&one.line()), columns)));
        }
        if let Some(more @ 1..) = others.len().checked_sub(PLACES) {
            lines.push(format!("… and {}; `--format json` has all", counted(more as u64, "more place")));
        }
        lines.push(String::new());
        lines.join("\n")
    }

    /// Costs of which one side lacks the other or says otherwise, by variant, point, operation and quantity.
    fn costs(&self) -> Vec<CostPair<'_>> {
        let same = |one: &Cost, other: &Cost| {
            (&one.variant, &one.point, &one.operation, one.quantity)
                == (&other.variant, &other.point, &other.operation, other.quantity)
        };
        let find = |all: &'_ [Cost], cost: &Cost| all.iter().position(|other| same(other, cost));
        let mut pairs: Vec<CostPair<'_>> = self
            .stored
            .costs
            .iter()
            .map(|cost| CostPair {
                stored: Some(cost),
                again: find(&self.again.costs, cost).map(|at| &self.again.costs[at]),
            })
            .collect();
        let new = self.again.costs.iter().filter(|cost| find(&self.stored.costs, cost).is_none());
        pairs.extend(new.map(|cost| CostPair { stored: None, again: Some(cost) }));
        pairs.retain(CostPair::differs);
        pairs
    }
}

struct CostPair<'s> {
    stored: Option<&'s Cost>,
    again: Option<&'s Cost>,
}

impl CostPair<'_> {
    fn differs(&self) -> bool {
        let value = |cost: Option<&Cost>| serde_json::to_value(cost).expect("string keys");
        let mut found = Vec::new();
        compare("", Some(&value(self.stored)), Some(&value(self.again)), &mut found);
        found.iter().any(|one| !one.wording)
    }

    fn name(&self) -> String {
        let cost = self.stored.or(self.again).expect("one of both");
        format!("{}: {}", words::subject(&cost.variant, &cost.point), words::label(cost.quantity))
    }
}

/// Three lines of a cost: its name, and both sides below one another.
fn table(costs: &[CostPair<'_>]) -> Table {
    let mut table = Table::new([Align::Left, Align::Left], 2);
    let side = |cost: Option<&Cost>| match cost {
        None => Cell::new("–"),
        Some(cost) => {
            let change =
                cost.ratio.as_ref().map(|ratio| format!("{} ", words::joined(&words::change(ratio))));
            Cell::toned(words::tone(cost), format!("{}{}", change.unwrap_or_default(), words::verdict(cost)))
        }
    };
    for pair in costs {
        table.line(clean(&pair.name()));
        table.push(vec![Cell::new("  stored"), side(pair.stored)]);
        table.push(vec![Cell::new("  from the records"), side(pair.again)]);
    }
    table
}

impl Difference {
    fn line(&self) -> String {
        let side =
            |value: &Option<Value>| value.as_ref().map_or_else(|| "nothing".to_owned(), Value::to_string);
        format!("{}: stored {}, from the records {}", self.place, side(&self.stored), side(&self.recomputed))
    }
}

/// Adds where the values differ, as deep as they are of one kind.
fn compare(place: &str, stored: Option<&Value>, again: Option<&Value>, found: &mut Vec<Difference>) {
    match (stored, again) {
        (Some(Value::Object(one)), Some(Value::Object(other))) => {
            let missing = other.keys().filter(|key| !one.contains_key(*key));
            for key in one.keys().chain(missing) {
                let side = |map: &Map<String, Value>| map.get(key).cloned();
                let key = key.replace('~', "~0").replace('/', "~1");
                compare(&format!("{place}/{key}"), side(one).as_ref(), side(other).as_ref(), found);
            }
        }
        (Some(Value::Array(one)), Some(Value::Array(other))) => {
            for at in 0..one.len().max(other.len()) {
                compare(&format!("{place}/{at}"), one.get(at), other.get(at), found);
            }
        }
        (Some(Value::Number(one)), Some(Value::Number(other)))
            if is_rounded(one.as_f64(), other.as_f64()) => {}
        (one, other) if one == other => {}
        (stored, recomputed) => found.push(Difference {
            place: place.to_owned(),
            stored: stored.cloned(),
            recomputed: recomputed.cloned(),
            wording: WORDING.iter().any(|key| place.ends_with(key)),
        }),
    }
}

fn is_rounded(one: Option<f64>, other: Option<f64>) -> bool {
    let (Some(one), Some(other)) = (one, other) else { return false };
    (one - other).abs() <= ROUNDING * one.abs().max(other.abs())
}
