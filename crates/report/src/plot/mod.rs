//! Charts of a run as files: SVG from the same chart descriptions as the page, and PNG and PDF rendered from
//! it.
//!
//! The chart library runs in an embedded JavaScript engine. Figures come from [`Summary`] and [`Detail`];
//! nothing is estimated here, and what was withheld is not drawn.

mod font;
mod raster;
mod script;
mod size_options;

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use weighbridge_model::estimate::Quantity;
use weighbridge_model::id::PointLabel;
use weighbridge_model::summary::{Detail, Summary};

#[cfg(feature = "pdf")]
pub use raster::pdf;
pub use raster::png;
use script::{BUNDLE, Script};
pub use size_options::{Axis, AxisScale, Guide, SizeOptions, rename_variants};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    Forest,
    Percentiles,
    Density,
    Time,
    Samples,
    Size,
    Latency,
    LatencyRelative,
    Transfer,
    TransferRelative,
    Requests,
    RequestsRelative,
    Resources,
    Operations,
    Radar,
    Heatmap,
    Waterfall,
    Capacity,
}

impl Kind {
    /// In the order of reports.
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

    /// One line for help texts.
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

/// Colours of background and text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Theme {
    #[default]
    Light,
    Dark,
    /// For paper: darker lines, black text.
    Print,
}

/// What a chart shows and how. The kind of chart decides whatever is absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Options {
    pub theme: Theme,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variants: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operations: Option<Vec<String>>,
    /// For kinds that show one quantity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantity: Option<Quantity>,
    /// Factor values that the point must have, for kinds that show one point.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub point: Option<PointLabel>,
    /// For charts over message size.
    pub over: SizeOptions,
    /// Replaces the title that states the finding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// In pixels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub width: Option<u32>,
    /// In pixels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub height: Option<u32>,
}

/// One chart for which a run has data.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Drawing {
    pub kind: Kind,
    /// Empty if the chart shows all points, or the run has only one.
    pub point: PointLabel,
}

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
    fn exception(error: rquickjs::CaughtError<'_>) -> Self {
        Self::Script(error.to_string())
    }
}

/// The script returns this prefix and a reason if it knows why there is nothing to draw.
const REFUSAL: &str = "refused: ";

/// The characters of a chart that the shipped font lacks. PNG and PDF show them in a font of the machine, if
/// one has them.
pub fn missing_characters(svg: &str) -> BTreeSet<char> {
    font::Widths::new().missing(svg)
}

/// Draws charts of one run.
pub struct Plotter {
    script: Script,
}

impl Plotter {
    /// Loads the library and the run. That takes about half a second, so use one plotter for all charts of a
    /// run.
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

    /// Every chart for which the run has data, in the order of reports.
    pub fn list(&self) -> Result<Vec<Drawing>, PlotError> {
        let json = self.script.call("list", &[])?;
        serde_json::from_str(&json).map_err(|error| PlotError::Script(error.to_string()))
    }

    /// One chart as SVG. The same run and options give the same text.
    ///
    /// Errors: [`PlotError::Refused`] with a reason if the run or the options leave nothing to draw,
    /// [`PlotError::Nothing`] if the reason is not known; [`PlotError::Script`] for defects.
    pub fn svg(&self, kind: Kind, options: &Options) -> Result<String, PlotError> {
        let options = serde_json::to_string(options).map_err(|error| PlotError::Script(error.to_string()))?;
        let svg = self.script.call("draw", &[kind.name(), &options])?;
        match svg.strip_prefix(REFUSAL) {
            Some(why) => Err(PlotError::Refused(why.to_owned())),
            None if svg.is_empty() => Err(PlotError::Nothing(kind)),
            None => Ok(svg),
        }
    }
}
