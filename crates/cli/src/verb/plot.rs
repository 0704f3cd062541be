//! `weigh plot`: charts of a stored run as files.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use weighbridge_model::id::PointLabel;
use weighbridge_model::sizes::SizeTime;
use weighbridge_model::summary::Summary;
use weighbridge_report::plot::{self, AxisScale, Drawing, Guide, Kind, Options, PlotError, Plotter, Theme};
use weighbridge_store::RunFolder;

use super::ends::{self, ends};
use super::series;
use super::support::{Stored, open_run};
use crate::args::{self, Plot, PlotFormat, PlotScale, PlotTheme, PlotTime};
use crate::exit::Exit;
use crate::printer::Printer;

/// The most drawings of one kind without a selected point, since a matrix may have hundreds.
const MOST_OF_A_KIND: usize = 6;
/// Default folder for charts, inside the run's folder.
const FOLDER: &str = "charts";

pub fn run(arguments: &Plot, printer: &Printer) -> anyhow::Result<Exit> {
    let (run, kinds) = run_and_kinds(arguments)?;
    ends::check(&kinds, &arguments.over)?;
    let format = format(arguments)?;
    let folder = open_run(run.as_deref(), arguments.verification, printer)?;
    let stored = Stored::read(&folder)?;
    check_names(arguments, stored.summary())?;
    let report = stored.report();
    let tags = series::tags(&folder, report.summary, arguments.names.as_ref())?;
    let chosen_variants = tags.chosen(arguments)?;
    let names = tags.names();
    let plotter = if names.is_empty() {
        Plotter::new(report.summary, report.detail)?
    } else {
        let (summary, detail) = plot::rename_variants(report.summary.clone(), report.detail.clone(), &names);
        Plotter::new(&summary, &detail)?
    };
    let names = VariantNames {
        variants: chosen_variants,
        reference: tags.name_of(arguments.over.reference.as_deref()),
    };
    let all = plotter.list()?;
    if arguments.list {
        return list(&all, printer);
    }
    let why = |kind: Kind| {
        let drawing = Drawing { kind, point: arguments.point.iter().cloned().collect() };
        plotter.svg(kind, &options(arguments, &drawing, &names)).err().unwrap_or(PlotError::Nothing(kind))
    };
    let (chosen, left) = choose(&all, &kinds, arguments, &why)?;
    let output = ChartOutput::choose(arguments, &folder, &chosen)?;
    for drawing in &chosen {
        let svg = match plotter.svg(drawing.kind, &options(arguments, drawing, &names)) {
            // The user did not name this kind, and the selection has no data for it.
            Err(PlotError::Nothing(_)) if kinds.is_empty() => continue,
            Err(PlotError::Refused(why)) if kinds.is_empty() => {
                printer.note(format_args!("left out `{}`: {why}", drawing.kind));
                continue;
            }
            drawn => drawn?,
        };
        if format != PlotFormat::Svg {
            note_lacking(&svg, printer);
        }
        let path = output.path(drawing, &all, format);
        output.write(path, &bytes(&svg, format, arguments.scale)?, printer)?;
    }
    if left > 0 {
        printer.note(format_args!(
            "left out {left} more drawings of the same kinds at other points; name a kind and `--point KEY=VALUE` for them"
        ));
    }
    Ok(Exit::Fine)
}

/// Reports characters that the shipped font lacks.
fn note_lacking(svg: &str, printer: &Printer) {
    let lacking: String = plot::missing_characters(svg).into_iter().collect();
    if !lacking.is_empty() {
        printer.note(format_args!(
            "the shipped font has no `{lacking}`: they are drawn where a font of this machine has them; `--names` gives other names"
        ));
    }
}

/// The run folder and the kinds. A first word that is a kind and not a folder means the newest run.
fn run_and_kinds(arguments: &Plot) -> anyhow::Result<(Option<PathBuf>, Vec<Kind>)> {
    let Some(first) = &arguments.run else { return Ok((None, Vec::new())) };
    let kind = first.to_str().and_then(|text| text.parse::<Kind>().ok());
    let kinds = arguments.kinds.iter().copied();
    Ok(match kind {
        Some(kind) if !first.is_dir() => (None, std::iter::once(kind).chain(kinds).collect()),
        _ => (Some(first.clone()), kinds.collect()),
    })
}

/// Refuses names that the run does not have.
fn check_names(arguments: &Plot, summary: &Summary) -> anyhow::Result<()> {
    let variants = summary.variants.iter().map(|variant| variant.name.as_str());
    check_known("variant", &arguments.variants, variants.clone().collect())?;
    check_known("variant", arguments.over.reference.as_slice(), variants.collect())?;
    let figures = summary.variants.iter().flat_map(|variant| &variant.figures);
    check_known(
        "operation",
        &arguments.operations,
        figures.map(|figure| figure.operation.as_str()).collect(),
    )?;
    for (key, value) in &arguments.point {
        let labels = || summary.variants.iter().map(|variant| &variant.point);
        check_known(
            "factor",
            std::slice::from_ref(key),
            labels().flat_map(|label| label.keys()).map(String::as_str).collect(),
        )?;
        let values = labels().filter_map(|label| label.get(key)).map(String::as_str).collect();
        check_known(&format!("value of `{key}`"), std::slice::from_ref(value), values)?;
    }
    Ok(())
}

fn check_known(what: &str, asked: &[String], mut known: Vec<&str>) -> anyhow::Result<()> {
    let mut seen = std::collections::BTreeSet::new();
    known.retain(|name| seen.insert(*name));
    match asked.iter().find(|name| !known.contains(&name.as_str())) {
        None => Ok(()),
        Some(_) if known.is_empty() => bail!("this run has no {what}; leave the flag out"),
        Some(name) => bail!("`{name}` is no {what} of this run; it has: {}", known.join(", ")),
    }
}

fn list(all: &[Drawing], printer: &Printer) -> anyhow::Result<Exit> {
    let width = all.iter().map(|drawing| drawing.kind.name().len()).max().unwrap_or(0);
    let line = |drawing: &Drawing| {
        let point: Vec<String> = drawing.point.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let about = drawing.kind.about();
        format!(
            "{:<width$}  {about}{}{}\n",
            drawing.kind,
            if point.is_empty() { "" } else { "  " },
            point.join(" ")
        )
    };
    printer.data(&all.iter().map(line).collect::<String>())?;
    Ok(Exit::Fine)
}

/// What to draw, and how many drawings are left out.
fn choose(
    all: &[Drawing],
    kinds: &[Kind],
    arguments: &Plot,
    why: &dyn Fn(Kind) -> PlotError,
) -> anyhow::Result<(Vec<Drawing>, usize)> {
    if all.is_empty() {
        bail!("this run has nothing to draw; `weigh report` shows why");
    }
    let wanted = |drawing: &&Drawing| {
        // A drawing of one point must be of the selected point; a drawing of all points selects data itself.
        let fits = |(key, value): &(String, String)| {
            drawing.point.get(key).map_or(drawing.point.is_empty(), |own| own == value)
        };
        (kinds.is_empty() || kinds.contains(&drawing.kind)) && arguments.point.iter().all(fits)
    };
    let chosen: Vec<&Drawing> = all.iter().filter(wanted).collect();
    if let Some(kind) = kinds.iter().find(|kind| !chosen.iter().any(|drawing| drawing.kind == **kind)) {
        return Err(why(*kind).into());
    }
    let is_early = |drawing: &&&Drawing| {
        let before = chosen.iter().take_while(|other| !std::ptr::eq(**other, **drawing));
        before.filter(|other| other.kind == drawing.kind).count() < MOST_OF_A_KIND
    };
    let kept: Vec<Drawing> = chosen.iter().filter(is_early).map(|drawing| (*drawing).clone()).collect();
    let left = chosen.len() - kept.len();
    Ok((kept, left))
}

/// The requested format, or the one that matches the output's extension.
fn format(arguments: &Plot) -> anyhow::Result<PlotFormat> {
    if let Some(format) = arguments.format {
        return Ok(format);
    }
    let Some(output) = arguments.output.as_deref().filter(|path| !path.is_dir()) else {
        return Ok(PlotFormat::Svg);
    };
    let ending = output.extension().map(|ending| ending.to_string_lossy().to_lowercase());
    match ending.as_deref() {
        None | Some("svg") => Ok(PlotFormat::Svg),
        Some("png") => Ok(PlotFormat::Png),
        Some("pdf") => Ok(PlotFormat::Pdf),
        Some(_) => bail!(
            "`{}` ends with none of .svg, .png, .pdf; end it so, or say what it is to be by `--format`",
            output.display()
        ),
    }
}

/// Display names of variants.
struct VariantNames {
    variants: Option<Vec<String>>,
    reference: Option<String>,
}

fn options(arguments: &Plot, drawing: &Drawing, names: &VariantNames) -> Options {
    let some = |names: &[String]| (!names.is_empty()).then(|| names.to_vec());
    let mut point: PointLabel = drawing.point.clone();
    if drawing.kind == Kind::Forest || drawing.kind == Kind::Heatmap {
        point.extend(arguments.point.iter().cloned());
    }
    Options {
        theme: match arguments.theme {
            PlotTheme::Light => Theme::Light,
            PlotTheme::Dark => Theme::Dark,
            PlotTheme::Print => Theme::Print,
        },
        variants: names.variants.clone(),
        operations: some(&arguments.operations),
        quantity: arguments.quantity,
        point: Some(point),
        over: over(drawing.kind, &arguments.over, names.reference.clone()),
        title: arguments.title.clone(),
        width: arguments.width,
        height: arguments.height,
    }
}

/// The value of two opposite flags, of which at most one was given.
fn either(yes: bool, no: bool) -> Option<bool> {
    match (yes, no) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    }
}

fn over(kind: Kind, typed: &args::Over, reference: Option<String>) -> plot::SizeOptions {
    let ends = ends(kind, typed);
    let scale = |scale: PlotScale| match scale {
        PlotScale::Linear => AxisScale::Linear,
        PlotScale::Log => AxisScale::Log,
    };
    let mut more_guides: Vec<Guide> =
        typed.guides.iter().map(|(name, bytes)| guide(name, *bytes, false)).collect();
    // As in ppbench, 0 means none.
    let window = typed.receive_window.filter(|window| window.get() > 0);
    more_guides.extend(window.map(|window| guide("receive window", window.get(), true)));
    plot::SizeOptions {
        time: typed.time.map(|time| match time {
            PlotTime::Service => SizeTime::Service,
            PlotTime::Response => SizeTime::Response,
            PlotTime::Relayed => SizeTime::Relayed,
        }),
        reference,
        points: either(typed.points, typed.no_points),
        bands: match (typed.bands.is_empty(), typed.no_bands) {
            (false, _) => Some(typed.bands.clone()),
            (true, true) => Some(Vec::new()),
            (true, false) => None,
        },
        medians: either(false, typed.no_medians),
        intervals: either(typed.intervals, typed.no_intervals),
        guides: either(false, typed.no_guides),
        more_guides,
        cliffs: either(false, typed.no_cliffs),
        apart: either(typed.apart, typed.together),
        x: plot::Axis {
            scale: typed.x_scale.map(scale),
            min: ends.x[0],
            max: ends.x[1],
            steps: typed.x_steps,
            title: typed.x_title.clone(),
        },
        y: plot::Axis {
            scale: typed.y_scale.map(scale),
            min: ends.y[0],
            max: ends.y[1],
            steps: typed.y_steps,
            title: typed.y_title.clone(),
        },
    }
}

fn guide(name: &str, bytes: u64, every: bool) -> Guide {
    Guide { name: name.to_owned(), bytes, every }
}

fn bytes(svg: &str, format: PlotFormat, scale: u32) -> anyhow::Result<Vec<u8>> {
    Ok(match format {
        PlotFormat::Svg => svg.as_bytes().to_vec(),
        PlotFormat::Png => plot::png(svg, scale as f32)?,
        PlotFormat::Pdf => pdf(svg)?,
    })
}

#[cfg(feature = "pdf")]
fn pdf(svg: &str) -> anyhow::Result<Vec<u8>> {
    Ok(plot::pdf(svg)?)
}

#[cfg(not(feature = "pdf"))]
fn pdf(_: &str) -> anyhow::Result<Vec<u8>> {
    bail!("this `weigh` was built without pdf; build it with `--features pdf`, or use `--format svg`")
}

/// Destination of drawings.
enum ChartOutput {
    Stdout,
    File(PathBuf),
    Folder(PathBuf),
    /// The folder of charts of the run.
    Run(RunFolder),
}

impl ChartOutput {
    fn choose(arguments: &Plot, run: &RunFolder, chosen: &[Drawing]) -> anyhow::Result<Self> {
        let folder = |path: PathBuf| {
            std::fs::create_dir_all(&path).with_context(|| format!("could not make `{}`", path.display()))?;
            Ok(Self::Folder(path))
        };
        match &arguments.output {
            None => Ok(Self::Run(run.clone())),
            Some(path) if path == Path::new("-") && chosen.len() == 1 => Ok(Self::Stdout),
            Some(path) if path == Path::new("-") => {
                bail!(
                    "{} charts do not fit stdout; name one kind and, where there are several points, one by `--point`, or a folder by `-o`",
                    chosen.len()
                )
            }
            Some(path) if path.extension().is_some() && !path.is_dir() => match chosen.len() {
                1 => Ok(Self::File(path.clone())),
                many => bail!(
                    "{many} charts do not fit `{}`; name one kind and, where there are several points, one by `--point`, or a folder",
                    path.display()
                ),
            },
            Some(path) => folder(path.clone()),
        }
    }

    /// `percentiles-64-B.svg`: the kind, and the point if the kind has several.
    fn path(&self, drawing: &Drawing, all: &[Drawing], format: PlotFormat) -> PathBuf {
        let ending = match format {
            PlotFormat::Svg => "svg",
            PlotFormat::Png => "png",
            PlotFormat::Pdf => "pdf",
        };
        match self {
            Self::Stdout => PathBuf::from("-"),
            Self::File(path) => path.clone(),
            Self::Folder(_) | Self::Run(_) => {
                let several = all.iter().filter(|other| other.kind == drawing.kind).count() > 1;
                let values =
                    drawing.point.values().filter(|_| several).map(|value| format!("-{}", file_name(value)));
                let name = format!("{}{}.{ending}", drawing.kind, values.collect::<String>());
                match self {
                    Self::Folder(folder) => folder.join(name),
                    _ => Path::new(FOLDER).join(name),
                }
            }
        }
    }

    fn write(&self, path: PathBuf, bytes: &[u8], printer: &Printer) -> anyhow::Result<()> {
        let path = match self {
            Self::Stdout => return printer.bytes(bytes),
            Self::Run(run) => run.write_derived(&path.to_string_lossy(), bytes)?,
            Self::File(_) | Self::Folder(_) => {
                let written = std::fs::File::create(&path).and_then(|mut file| file.write_all(bytes));
                written.with_context(|| format!("could not write `{}`", path.display()))?;
                path
            }
        };
        printer.note(format_args!("wrote `{}`", path.display()));
        Ok(())
    }
}

/// The value with everything but letters, digits and dots replaced by dashes.
fn file_name(value: &str) -> String {
    let kept = |c: char| if c.is_alphanumeric() || c == '.' { c } else { '-' };
    value.chars().map(kept).collect::<String>().trim_matches(['-', '.']).to_owned()
}
