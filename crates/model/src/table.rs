//! Tables of what a run tells beyond its costs. Each brings its columns and how to read it, so that every format shows it without
//! knowing what it is about.
//!
//! These types are part of the published JSON, as those of [`crate::summary`] are.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::estimate::{Estimate, Unit, Verdict};
use crate::id::PointLabel;

/// One table of one point.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResultTable {
    /// For programs, the same in every run: `collectors`.
    pub name: String,
    pub title: String,
    /// Left out if the experiment has one point.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub point: PointLabel,
    /// How to read it, in a sentence.
    pub reading: String,
    pub columns: Vec<TableColumn>,
    /// Each with a cell for every column.
    pub rows: Vec<Vec<TableCell>>,
    /// What must be known of some of its figures; left out if nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Whether it answers what the experiment asks, so that what is short shows it too; left out if not.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_answer: bool,
    /// How to draw it; left out if it should not be drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drawing: Option<TableDrawing>,
}

const fn is_false(value: &bool) -> bool {
    !*value
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TableColumn {
    pub name: String,
    /// Of the numbers in it; `null` for text, and for differences, which are ratios.
    pub unit: Option<Unit>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TableCell {
    /// The name of the variant that the row is about.
    Variant {
        variant: String,
    },
    Text {
        text: String,
    },
    Count {
        count: u64,
    },
    /// An estimate over blocks, in the unit of its column.
    Figure {
        estimate: Estimate,
    },
    /// Variant over baseline.
    Difference {
        ratio: Estimate,
        verdict: Verdict,
    },
    /// A part of a whole, 0 to 1, counted and not estimated.
    Share {
        share: f64,
    },
    /// Nothing is known; `reason` is there if a figure was withheld.
    Absent {
        reason: Option<String>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TableDrawing {
    /// A bar for each row, as long as its cell in the column `value` (from 0) says.
    Bars { value: usize },
}

impl TableColumn {
    pub fn text(name: &str) -> Self {
        Self { name: name.to_owned(), unit: None }
    }

    pub fn of(name: &str, unit: Unit) -> Self {
        Self { name: name.to_owned(), unit: Some(unit) }
    }
}

impl TableCell {
    pub fn variant(name: &str) -> Self {
        Self::Variant { variant: name.to_owned() }
    }

    pub fn text(text: &str) -> Self {
        Self::Text { text: text.to_owned() }
    }

    pub fn figure(estimate: Option<Estimate>) -> Self {
        estimate.map_or(Self::Absent { reason: None }, |estimate| Self::Figure { estimate })
    }

    /// The estimate in it, if it has one.
    pub const fn estimate(&self) -> Option<&Estimate> {
        match self {
            Self::Figure { estimate } | Self::Difference { ratio: estimate, .. } => Some(estimate),
            _ => None,
        }
    }
}

impl ResultTable {
    /// The variant that a row is about.
    pub fn variant_of(row: &[TableCell]) -> Option<&str> {
        row.iter().find_map(|cell| match cell {
            TableCell::Variant { variant } => Some(&variant[..]),
            _ => None,
        })
    }
}
