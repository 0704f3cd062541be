//! Options of charts over message size, and other names for variants. The script draws them; no figure
//! changes here.

use std::collections::BTreeMap;

use serde::Serialize;
use weighbridge_model::sizes::SizeTime;
use weighbridge_model::summary::{Detail, Summary};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AxisScale {
    Linear,
    Log,
}

/// An axis. The chart decides whatever is absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Axis {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale: Option<AxisScale>,
    /// In bytes, nanoseconds, bytes per second, requests per second, or as a ratio.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    /// In the unit of `min`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
    /// Steps between both ends; on a logarithmic axis about as many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

/// A vertical line at a size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Guide {
    pub name: String,
    pub bytes: u64,
    /// Whether each multiple has a line too.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub every: bool,
}

/// What charts over message size show. The chart decides whatever is absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct SizeOptions {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<SizeTime>,
    /// The variant that others are relative to; by default the baseline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// Whether to draw single requests as dots.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub points: Option<bool>,
    /// Percent of the requests within each band: 50, 90, or none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bands: Option<Vec<u32>>,
    /// Whether to draw the medians.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub medians: Option<bool>,
    /// Whether to draw their intervals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intervals: Option<bool>,
    /// Whether to draw lines at the sizes at which something changes on the host. Those of `more_guides` are
    /// always drawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guides: Option<bool>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub more_guides: Vec<Guide>,
    /// Whether to mark cliffs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cliffs: Option<bool>,
    /// Whether each variant has a panel of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub apart: Option<bool>,
    /// Sizes.
    pub x: Axis,
    /// Values.
    pub y: Axis,
}

/// Renames the variants of a run; variants that are not in `names` keep their name. No two may end up with
/// the same name, because charts find the data of a variant by its name.
pub fn rename_variants(
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
    detail.curves.iter_mut().for_each(|series| rename(&mut series.variant));
    detail.densities.iter_mut().for_each(|series| rename(&mut series.variant));
    detail.courses.iter_mut().for_each(|series| rename(&mut series.variant));
    detail.samples.iter_mut().for_each(|series| rename(&mut series.variant));
    detail.roles.iter_mut().for_each(|series| rename(&mut series.variant));
    detail.size_curves.iter_mut().for_each(|series| rename(&mut series.variant));
    detail.size_samples.iter_mut().for_each(|series| rename(&mut series.variant));
    detail.capacities.iter_mut().for_each(|series| rename(&mut series.found.variant));
    for pair in &mut detail.size_ratios {
        rename(&mut pair.variant);
        rename(&mut pair.reference);
    }
    (summary, detail)
}
