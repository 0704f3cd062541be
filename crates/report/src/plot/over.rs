//! What may be asked of charts over message size, and other names for variants. Says nothing of how they are drawn, which
//! is the script's matter, and changes no figure.

use std::collections::BTreeMap;

use serde::Serialize;
use weighbridge_model::sizes::SizeTime;
use weighbridge_model::summary::{Detail, Summary};

/// How an axis divides its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AxisScale {
    /// Equal differences.
    Linear,
    /// Equal ratios.
    Log,
}

/// An axis; what is absent is the chart's own choice.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Axis {
    /// How it divides its length.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale: Option<AxisScale>,
    /// Where it begins: bytes, nanoseconds, bytes per second, requests per second, or a ratio.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    /// Where it ends, in the same unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
    /// Steps between its ends; about as many on a logarithmic one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

/// A line at a size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Guide {
    /// What lies there.
    pub name: String,
    /// The size in bytes.
    pub bytes: u64,
    /// Whether each multiple of it has a line too.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub every: bool,
}

/// What charts over message size show; what is absent is the chart's own choice.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Over {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<SizeTime>,
    /// The variant that others are relative to; the baseline where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// Single requests as dots.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub points: Option<bool>,
    /// Bands that hold so many percent of the requests: 50, 90, or none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bands: Option<Vec<u32>>,
    /// Lines of medians.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub medians: Option<bool>,
    /// Intervals of the medians.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intervals: Option<bool>,
    /// Lines at the sizes at which something of the host changes; those of `more_guides` are drawn either way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guides: Option<bool>,
    /// More such lines.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub more_guides: Vec<Guide>,
    /// Marks of cliffs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cliffs: Option<bool>,
    /// A panel for each variant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub apart: Option<bool>,
    /// The axis of sizes.
    pub x: Axis,
    /// The upright axis.
    pub y: Axis,
}

/// A run whose variants have other names: those that `names` has none for keep theirs. No two may end with one name, since charts
/// find what is of a variant by its name.
pub fn named(
    mut summary: Summary,
    mut detail: Detail,
    names: &BTreeMap<String, String>,
) -> (Summary, Detail) {
    let rename = |name: &mut String| {
        if let Some(other) = names.get(name.as_str()) {
            name.clone_from(other);
        }
    };
    summary.variants.iter_mut().for_each(|variant| rename(&mut variant.name));
    summary.costs.iter_mut().for_each(|cost| rename(&mut cost.variant));
    summary.over_size.cliffs.iter_mut().for_each(|cliff| rename(&mut cliff.variant));
    detail.curves.iter_mut().for_each(|of| rename(&mut of.variant));
    detail.densities.iter_mut().for_each(|of| rename(&mut of.variant));
    detail.courses.iter_mut().for_each(|of| rename(&mut of.variant));
    detail.samples.iter_mut().for_each(|of| rename(&mut of.variant));
    detail.roles.iter_mut().for_each(|of| rename(&mut of.variant));
    detail.size_curves.iter_mut().for_each(|of| rename(&mut of.variant));
    detail.size_samples.iter_mut().for_each(|of| rename(&mut of.variant));
    detail.capacities.iter_mut().for_each(|of| rename(&mut of.variant));
    for pair in &mut detail.size_ratios {
        rename(&mut pair.variant);
        rename(&mut pair.reference);
    }
    (summary, detail)
}
