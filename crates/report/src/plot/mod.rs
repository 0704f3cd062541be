//! Charts of a run as files: SVG by the same descriptions that the page draws, PNG and PDF of that.
//!
//! The library runs in an embedded engine; figures come from [`Summary`] and [`Detail`] and nothing is estimated on the
//! way. What was withheld is not drawn.

mod font;
mod over;
mod raster;
mod script;

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use weighbridge_model::estimate::Quantity;
use weighbridge_model::id::PointLabel;
use weighbridge_model::summary::{Detail, Summary};

pub use over::{Axis, AxisScale, Guide, Over, named};
#[cfg(feature = "pdf")]
pub use raster::pdf;
pub use raster::png;
use script::{BUNDLE, Script};

/// A kind of chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Costs with their intervals.
    Forest,
    /// Percentile curves.
    Percentiles,
    /// How times are spread.
    Density,
    /// Medians over the time of the run.
    Time,
    /// A dot for each window or request.
    Samples,
    /// A figure against size, rate or another number.
    Size,
    /// Times over message size.
    Latency,
    /// Times over message size, relative to a reference.
    LatencyRelative,
    /// Bytes per second over message size.
    Transfer,
    /// Bytes per second over message size, relative to a reference.
    TransferRelative,
    /// Requests one after another in a second, over message size.
    Requests,
    /// Requests one after another in a second, over message size, relative to a reference.
    RequestsRelative,
    /// CPU and memory by role.
    Resources,
    /// Figures of each operation.
    Operations,
    /// Several quantities or operations at once.
    Radar,
    /// Costs over a matrix.
    Heatmap,
    /// What each layer adds.
    Waterfall,
    /// A time against the rate, up to the highest that keeps an objective.
    Capacity,
}

impl Kind {
    /// Every kind, in the order of reports.
    pub const ALL: [Self; 18] = [
        Self::Forest,
        Self::Percentiles,
        Self::Density,
        Self::Time,
        Self::Samples,
        Self::Size,
        Self::Latency,
        Self::LatencyRelative,
        Self::Transfer,
        Self::TransferRelative,
        Self::Requests,
        Self::RequestsRelative,
        Self::Resources,
        Self::Operations,
        Self::Radar,
        Self::Heatmap,
        Self::Waterfall,
        Self::Capacity,
    ];

    /// The name by which it is asked for.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Forest => "forest",
            Self::Percentiles => "percentiles",
            Self::Density => "density",
            Self::Time => "time",
            Self::Samples => "samples",
            Self::Size => "size",
            Self::Latency => "latency",
            Self::LatencyRelative => "latency-relative",
            Self::Transfer => "transfer",
            Self::TransferRelative => "transfer-relative",
            Self::Requests => "requests",
            Self::RequestsRelative => "requests-relative",
            Self::Resources => "resources",
            Self::Operations => "operations",
            Self::Radar => "radar",
            Self::Heatmap => "heatmap",
            Self::Waterfall => "waterfall",
            Self::Capacity => "capacity",
        }
    }

    /// What it shows, in a line.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Forest => "costs with their intervals",
            Self::Percentiles => "percentile curves with bands",
            Self::Density => "how times are spread, variant by variant",
            Self::Time => "medians of windows over the time of the run",
            Self::Samples => "a dot for each window or request",
            Self::Size => "a figure against size, rate or another number",
            Self::Latency => "times over message size",
            Self::LatencyRelative => "times over message size, relative to a reference",
            Self::Transfer => "bytes per second over message size",
            Self::TransferRelative => "bytes per second over message size, relative to a reference",
            Self::Requests => "requests in a second over message size",
            Self::RequestsRelative => "requests in a second over message size, relative to a reference",
            Self::Resources => "CPU and memory by role",
            Self::Operations => "figures of each operation",
            Self::Radar => "several quantities or operations at once",
            Self::Heatmap => "costs over a matrix",
            Self::Waterfall => "what each layer adds",
            Self::Capacity => "a time against the rate, and the highest that keeps an objective",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Kind {
    type Err = PlotError;
    fn from_str(text: &str) -> Result<Self, PlotError> {
        let name = text.trim().to_lowercase();
        Self::ALL
            .into_iter()
            .find(|kind| kind.name() == name)
            .ok_or_else(|| PlotError::UnknownKind(text.to_owned()))
    }
}

/// On what ground a chart lies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Theme {
    /// White.
    #[default]
    Light,
    Dark,
    /// Paper: darker lines, black text.
    Print,
}

/// What a chart shows and how; everything that is absent is the kind's own choice.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Options {
    /// The ground.
    pub theme: Theme,
    /// Only these variants.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variants: Option<Vec<String>>,
    /// Only these operations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operations: Option<Vec<String>>,
    /// The quantity, where a kind shows one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantity: Option<Quantity>,
    /// Factor values that the point must have, where a kind shows one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub point: Option<PointLabel>,
    /// Of charts over message size.
    pub over: Over,
    /// The title, instead of what was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Width in pixels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub width: Option<u32>,
    /// Height in pixels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub height: Option<u32>,
}

/// One drawing that a run can fill.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Drawing {
    pub kind: Kind,
    /// Its point; empty where a drawing shows all, and where there is one.
    pub point: PointLabel,
}

/// Why there is no chart.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlotError {
    #[error("`{0}` is not a kind of chart; allowed: {list}", list = Kind::ALL.map(Kind::name).join(", "))]
    UnknownKind(String),
    #[error("this run has nothing for a chart `{0}` as asked; `weigh plot --list` shows what it has")]
    Nothing(Kind),
    #[error("{0}")]
    Refused(String),
    #[error("the chart's script failed: {0}; please report it with the run folder")]
    Script(String),
    #[error("the chart's engine failed: {0}; free some memory and try again")]
    Engine(String),
    #[error("the drawing could not be made into a picture: {0}; ask for another size, or for svg")]
    NotDrawn(String),
}

impl PlotError {
    fn thrown(error: rquickjs::CaughtError<'_>) -> Self {
        Self::Script(error.to_string())
    }
}

/// Begins what the script gives instead of a drawing, where it says why there is none.
const REFUSED: &str = "refused: ";

/// The characters of a drawing that the shipped font lacks: a picture has them in a font of the machine, if it has one.
pub fn lacking(svg: &str) -> BTreeSet<char> {
    font::Widths::new().lacks(svg)
}

/// A run, ready to be drawn.
pub struct Plotter {
    script: Script,
}

impl Plotter {
    /// Loads the library and the run; takes about half a second, so one is made for all charts of a run.
    pub fn new(summary: &Summary, detail: &Detail) -> Result<Self, PlotError> {
        Self::with_bundle(BUNDLE, summary, detail)
    }

    fn with_bundle(bundle: &str, summary: &Summary, detail: &Detail) -> Result<Self, PlotError> {
        #[derive(Serialize)]
        struct Run<'a> {
            summary: &'a Summary,
            detail: &'a Detail,
        }
        let script = Script::new(bundle, font::Widths::new())?;
        let json = serde_json::to_string(&Run { summary, detail });
        let json = json.map_err(|error| PlotError::Script(error.to_string()))?;
        script.call("open", &[&json])?;
        Ok(Self { script })
    }

    /// Every drawing that the run can fill, in the order of reports.
    pub fn list(&self) -> Result<Vec<Drawing>, PlotError> {
        let json = self.script.call("list", &[])?;
        serde_json::from_str(&json).map_err(|error| PlotError::Script(error.to_string()))
    }

    /// One chart as SVG. Deterministic: the same run and options give the same text.
    ///
    /// Errors: [`PlotError::Refused`] where it is known why the run or the options leave nothing to draw, else
    /// [`PlotError::Nothing`]; [`PlotError::Script`] for defects.
    pub fn svg(&self, kind: Kind, options: &Options) -> Result<String, PlotError> {
        let options = serde_json::to_string(options).map_err(|error| PlotError::Script(error.to_string()))?;
        let svg = self.script.call("draw", &[kind.name(), &options])?;
        match svg.strip_prefix(REFUSED) {
            Some(why) => Err(PlotError::Refused(why.to_owned())),
            None if svg.is_empty() => Err(PlotError::Nothing(kind)),
            None => Ok(svg),
        }
    }
}
