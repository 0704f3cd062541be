//! What may be typed of `weigh plot`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use weighbridge_model::summary::Quantity;
use weighbridge_report::plot::Kind;

/// Arguments of `weigh plot`.
#[derive(Debug, Args)]
#[command(
    after_help = "Kinds: forest, percentiles, density, time, samples, size, resources, operations, radar, heatmap, \
waterfall, capacity

Examples:
  weigh plot runs/20260101-120000-pong                           # every chart it has, into its folder `charts`
  weigh plot runs/20260101-120000-pong forest --format png -o forest.png
  weigh plot runs/20260101-120000-pong percentiles --theme dark -o - > percentiles.svg
  weigh plot runs/20260101-120000-pong size --quantity p99 --variant old --variant new
  weigh plot runs/20260101-120000-pong --list"
)]
pub struct Plot {
    /// Run folder; the newest in `runs` without one.
    #[arg(value_name = "RUN")]
    pub run: Option<PathBuf>,
    /// Kinds of charts [default: all that the run can fill].
    #[arg(value_name = "KIND")]
    pub kinds: Vec<Kind>,
    /// Format: svg, png or pdf (where built with it) [default: as the output's name ends, else svg].
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub format: Option<PlotFormat>,
    /// File for one chart, folder for several, `-` for stdout [default: `charts` in the run folder].
    #[arg(short, long, value_name = "PATH")]
    pub output: Option<PathBuf>,
    /// The ground that charts lie on.
    #[arg(long, value_enum, default_value_t = PlotTheme::Light)]
    pub theme: PlotTheme,
    /// Width in pixels [default: 900; of a radar 760].
    #[arg(long, value_name = "PIXELS", value_parser = clap::value_parser!(u32).range(320..=8000))]
    pub width: Option<u32>,
    /// Height in pixels [default: as much as is needed].
    #[arg(long, value_name = "PIXELS", value_parser = clap::value_parser!(u32).range(200..=8000))]
    pub height: Option<u32>,
    /// Pixels of a PNG for each of the drawing's.
    #[arg(long, value_name = "FACTOR", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=8))]
    pub scale: u32,
    /// Only this variant; repeat for several.
    #[arg(long = "variant", value_name = "NAME")]
    pub variants: Vec<String>,
    /// Only this operation; repeat for several.
    #[arg(long = "operation", value_name = "NAME")]
    pub operations: Vec<String>,
    /// The quantity, where a chart shows one [default: the headline].
    #[arg(long, value_name = "QUANTITY")]
    pub quantity: Option<Quantity>,
    /// The point, where a chart shows one: `workload.size=64 B`; repeat for several factors.
    #[arg(long = "point", value_name = "KEY=VALUE", value_parser = factor)]
    pub point: Vec<(String, String)>,
    /// List the charts that the run can fill, and draw none.
    #[arg(long)]
    pub list: bool,
}

/// Into what a chart is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PlotFormat {
    /// Scalable, text as text.
    Svg,
    /// Pixels.
    Png,
    /// A page, where built with the feature `pdf`.
    Pdf,
}

/// On what ground charts lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PlotTheme {
    /// White.
    Light,
    /// Dark.
    Dark,
    /// Paper.
    Print,
}

fn factor(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("write `KEY=VALUE`, such as `workload.size=64 B`")?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}
