//! Arguments of `weigh plot`.

use super::Verification;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use weighbridge_model::estimate::Quantity;
use weighbridge_model::quantity::{Bytes, Nanoseconds, PerSecond};
use weighbridge_report::plot::Kind;

/// Arguments of `weigh plot`.
#[derive(Debug, Args)]
#[command(
    after_help = "Kinds: forest, percentiles, density, time, samples, size, latency, latency-relative, transfer, \
transfer-relative, requests, requests-relative, resources, operations, radar, heatmap, waterfall, capacity

Examples:
  weigh plot runs/20260101-120000-pong                           # every chart it has, into its folder `charts`
  weigh plot runs/20260101-120000-pong forest --format png -o forest.png
  weigh plot runs/20260101-120000-pong percentiles --theme dark -o - > percentiles.svg
  weigh plot runs/20260101-120000-pong size --quantity p99 --variant old --variant new
  weigh plot runs/20260101-120000-pingpong latency --variant go --variant rust --x-scale linear
  weigh plot runs/20260101-120000-pingpong transfer-relative --reference go --y-max 2
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
    /// The title [default: what was found].
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// Other names for variants, by their tags or own names: ppbench's naming file, as `weigh summary --naming` takes it.
    #[arg(long, value_name = "FILE")]
    pub names: Option<PathBuf>,
    /// Only variants that have one of these machine tags, comma-separated.
    #[arg(long = "machine", visible_alias = "machines", value_delimiter = ',', value_name = "TAG")]
    pub machines: Vec<String>,
    /// Only variants that have one of these experiment tags, comma-separated: a variant's name, where it has none.
    #[arg(long = "experiment", visible_alias = "experiments", value_delimiter = ',', value_name = "TAG")]
    pub experiments: Vec<String>,
    /// List the charts that the run can fill, and draw none.
    #[arg(long)]
    pub list: bool,
    /// Of charts over message size.
    #[command(flatten)]
    pub over: Over,
    #[command(flatten)]
    pub verification: Verification,
}

/// What charts over message size show.
#[derive(Debug, Args)]
#[command(next_help_heading = "Charts over message size")]
pub struct Over {
    /// The time: as the client sent it, was due, or as a relay measured its own call [default: service, else what there is].
    #[arg(long, value_enum)]
    pub time: Option<PlotTime>,
    /// What relative charts are relative to [default: the baseline].
    #[arg(long, value_name = "VARIANT")]
    pub reference: Option<String>,
    /// Draw single requests as dots [default: up to 4 variants, or apart].
    #[arg(long, overrides_with = "no_points")]
    pub points: bool,
    /// Draw no dots.
    #[arg(long, overrides_with = "points")]
    pub no_points: bool,
    /// Draw bands that hold so many percent of the requests, 50 or 90 or both [default: both up to 2 variants, or apart].
    #[arg(long, value_name = "PERCENT", value_delimiter = ',', value_parser = band, overrides_with = "no_bands")]
    pub bands: Vec<u32>,
    /// Draw no bands.
    #[arg(long, overrides_with = "bands")]
    pub no_bands: bool,
    /// Draw no medians.
    #[arg(long)]
    pub no_medians: bool,
    /// Draw 95 % intervals of the medians [default: up to 6 variants, or apart].
    #[arg(long, overrides_with = "no_intervals")]
    pub intervals: bool,
    /// Draw no intervals.
    #[arg(long, overrides_with = "intervals")]
    pub no_intervals: bool,
    /// Draw a panel for each variant [default: where dots or bands of more than 4 are asked for, or ratios of more than 6].
    #[arg(long, overrides_with = "together")]
    pub apart: bool,
    /// Draw all variants in one panel.
    #[arg(long, overrides_with = "apart")]
    pub together: bool,
    /// Draw no lines at sizes at which something of the host changes; those asked for are drawn.
    #[arg(long)]
    pub no_guides: bool,
    /// Draw a line at this size; repeat for several.
    #[arg(long = "guide", value_name = "NAME=SIZE", value_parser = guide)]
    pub guides: Vec<(String, u64)>,
    /// Draw lines at this size and each multiple of it, as of a receive window; 0 for none.
    #[arg(long, value_name = "SIZE")]
    pub receive_window: Option<Bytes>,
    /// Mark no cliffs.
    #[arg(long)]
    pub no_cliffs: bool,
    /// How the axis of sizes divides its length [default: log, where sizes are spread so].
    #[arg(long, value_enum)]
    pub x_scale: Option<PlotScale>,
    /// How the upright axis divides its length [default: log, where figures range over more than a factor of 6, but of rates
    /// over a linear axis of sizes].
    #[arg(long, value_enum)]
    pub y_scale: Option<PlotScale>,
    /// Where the axis of sizes begins: `1 kB`.
    #[arg(long, value_name = "SIZE", value_parser = end)]
    pub x_min: Option<AxisEnd>,
    /// Where the axis of sizes ends: `500 kB`.
    #[arg(long, value_name = "SIZE", value_parser = end)]
    pub x_max: Option<AxisEnd>,
    /// Where the upright axis begins: `0`, `100 us`, `10 MB/s`, `200/s`, or a ratio such as `0.5`.
    #[arg(long, value_name = "FIGURE", value_parser = end)]
    pub y_min: Option<AxisEnd>,
    /// Where the upright axis ends.
    #[arg(long, value_name = "FIGURE", value_parser = end)]
    pub y_max: Option<AxisEnd>,
    /// Steps of the axis of sizes.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub x_steps: Option<u32>,
    /// Steps of the upright axis.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub y_steps: Option<u32>,
    /// Title of the axis of sizes.
    #[arg(long, value_name = "TEXT")]
    pub x_title: Option<String>,
    /// Title of the upright axis.
    #[arg(long, value_name = "TEXT")]
    pub y_title: Option<String>,
}

/// The end of an axis, as typed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AxisEnd {
    /// The value: bytes, nanoseconds, bytes or requests per second, or a ratio.
    pub figure: f64,
    /// Its quantity; absent for a plain number.
    pub of: Option<EndOf>,
}

/// The quantity of a value with a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndOf {
    /// `100 us`
    Time,
    /// `1 MiB`
    Size,
    /// `10 MB/s`
    Transfer,
    /// `200/s`
    Rate,
}

/// Which time is drawn over message size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PlotTime {
    /// From sent to done.
    Service,
    /// From due to done.
    Response,
    /// As a relay measured its own call.
    Relayed,
}

/// How an axis divides its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PlotScale {
    /// Equal differences.
    Linear,
    /// Equal ratios.
    Log,
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

/// Parses a band whose quantiles the run's curves contain.
fn band(text: &str) -> Result<u32, String> {
    match text.trim().trim_end_matches('%').trim() {
        "50" => Ok(50),
        "90" => Ok(90),
        _ => Err("allowed: 50 (p25 to p75), 90 (p5 to p95), or both: `50,90`".to_owned()),
    }
}

fn guide(text: &str) -> Result<(String, u64), String> {
    let wanted = || "write `NAME=SIZE`, such as `receive window=87380`".to_owned();
    let (name, size) = text.split_once('=').ok_or_else(wanted)?;
    let size: Bytes = size.trim().parse().map_err(|_| wanted())?;
    Ok((name.trim().to_owned(), size.get()))
}

/// Parses an end of an axis with its unit.
fn end(text: &str) -> Result<AxisEnd, String> {
    let text = text.trim();
    let size = |text: &str| text.trim().parse::<Bytes>().ok().map(|size| size.get() as f64);
    let plain = || Some((text.parse::<f64>().ok()?, None));
    let time = || Some((text.parse::<Nanoseconds>().ok()?.as_nanos() as f64, Some(EndOf::Time)));
    let rate = || Some((text.parse::<PerSecond>().ok()?.get(), Some(EndOf::Rate)));
    let transfer = || Some((size(text.strip_suffix("/s")?)?, Some(EndOf::Transfer)));
    let bytes = || Some((size(text)?, Some(EndOf::Size)));
    match plain().or_else(time).or_else(bytes).or_else(rate).or_else(transfer) {
        Some((figure, of)) if figure.is_finite() && figure >= 0.0 => Ok(AxisEnd { figure, of }),
        _ => Err(
            "write a number from 0 on, with a unit where it has one: `100 us`, `1 MiB`, `10 MB/s`, `200/s`"
                .to_owned(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_axes_keep_their_quantity() {
        let read = |text: &str| end(text).map(|end| (end.figure, end.of));
        assert_eq!(read("0.5"), Ok((0.5, None)));
        assert_eq!(read("100 us"), Ok((100_000.0, Some(EndOf::Time))));
        assert_eq!(read("500 kB"), Ok((500_000.0, Some(EndOf::Size))));
        assert_eq!(read("10 MB/s"), Ok((10_000_000.0, Some(EndOf::Transfer))));
        assert_eq!(read("200/s"), Ok((200.0, Some(EndOf::Rate))));
        assert!(read("-1").is_err() && read("wide").is_err() && read("inf").is_err());
    }
}
