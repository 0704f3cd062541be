//! Renders the calibration of a host as text or JSON, and the sentence that later reports quote.

use weighbridge_model::estimate::{Estimate, Quantity};
use weighbridge_model::quantity::{Nanoseconds, Ratio};
use weighbridge_model::reliability::{
    CalibrationQuote, HostCalibration, NoiseSource, Planted, Planting, QuantitySpread, RunToRun, Share,
    VariantReliability,
};

use crate::style::{Style, Tone};
use crate::table::{Align, Cell, Table};
use crate::text::{clean, counted, hanging};
use crate::{Format, FormatError, TextOptions, json, words};

/// Quantities in the text's table; JSON has them all.
const SHOWN: [Quantity; 5] = [
    Quantity::ResponseP50,
    Quantity::ResponseP99,
    Quantity::ResponseMean,
    Quantity::Throughput,
    Quantity::CpuPerOperation,
];

/// Quantities whose deviation from run to run the text shows.
const RUN_TO_RUN: [Quantity; 3] = [Quantity::ResponseP50, Quantity::ResponseMean, Quantity::Throughput];

pub fn render(
    format: Format,
    calibration: &HostCalibration,
    options: &TextOptions<'_>,
) -> Result<String, FormatError> {
    match format {
        Format::Text => Ok(text(calibration, &Page { style: options.style, columns: options.width() })),
        Format::Json => Ok(json::pretty(calibration)),
        Format::Csv | Format::Markdown | Format::Html => {
            Err(FormatError::Unavailable { format, what: "a calibration", allowed: "text, json" })
        }
    }
}

struct Page {
    style: Style,
    columns: usize,
}

fn text(calibration: &HostCalibration, page: &Page) -> String {
    let style = page.style;
    let title =
        format!("Calibration with {}: {}", clean(&calibration.experiment), clean(&calibration.conditions));
    let mut lines = vec![style.paint(Tone::Strong, &page.folded("", &title))];
    for variant in &calibration.variants {
        lines.push(String::new());
        lines.extend(variant_lines(variant, calibration.headline, page));
    }
    lines.push(String::new());
    lines.push(style.paint(Tone::Strong, "What gets into figures on this host"));
    lines.extend(calibration.noise.iter().flat_map(|source| noise(source, page)));
    lines.push(String::new());
    lines.push(page.folded("", &format!("host {}; took {}", calibration.host.key, calibration.took)));
    lines.push(String::new());
    lines.join("\n")
}

impl Page {
    fn folded(&self, lead: &str, text: &str) -> String {
        hanging(lead, text, self.columns)
    }
}

fn variant_lines(variant: &VariantReliability, headline: Quantity, page: &Page) -> Vec<String> {
    let style = page.style;
    let mut lines = vec![style.paint(Tone::Strong, &clean(&variant.variant))];
    lines.push(match &variant.false_alarms {
        Some(share) => page.folded(
            "  ",
            &format!(
                "false alarms: {} of two copies called the {headline} different ({})",
                counted_of(share, "run"),
                share_words(share)
            ),
        ),
        None => page.folded("  ", "false alarms: no run of two copies gave an interval"),
    });
    lines.extend(variant.planted.as_ref().map(|found| planted(found, headline, page)));
    let run = format!(
        "each run: {} of {:.0} rounds, {} measured; {} lost",
        counted(u64::from(variant.blocks), "block"),
        variant.rounds,
        variant.measured,
        variant.lost
    );
    lines.push(page.folded("  ", &run));
    lines.push(
        style.paint(
            Tone::Plain,
            "  smallest difference found in 4 of 5 tries, by measured time; deviations of",
        ),
    );
    lines.push("  starts and of single rounds".to_owned());
    lines.extend(spreads(&variant.quantities).lines(style, page.columns));
    lines.extend(positions(&variant.quantities).map(|text| page.folded("  ", &text)));
    if !variant.run_to_run.is_empty() {
        let shown = variant.run_to_run.iter().filter(|found| RUN_TO_RUN.contains(&found.quantity));
        let runs: Vec<String> = shown.map(run_to_run).collect();
        let over = format!("from run to run over {}: {}", variant.spread_over, runs.join("; "));
        lines.push(page.folded("  ", &over));
    }
    lines
}

/// `1 of 29 runs`
fn counted_of(share: &Share, word: &str) -> String {
    format!("{} of {}", share.hits, counted(u64::from(share.of), word))
}

/// `3.4 %, 95 % interval 0.1 to 17.8 %`
fn share_words(share: &Share) -> String {
    let percent = |value: f64| format!("{:.1}", 100.0 * value);
    format!(
        "{} %, {:.0} % interval {} to {} %",
        percent(share.point),
        100.0 * share.level,
        percent(share.lower),
        percent(share.upper)
    )
}

fn planted(found: &Planted, headline: Quantity, page: &Page) -> String {
    let how = match found.planting {
        Planting::Probe => "a probe slower by",
        Planting::HoldBack => "replies held back in the generator by",
    };
    let unit = headline.unit();
    let estimate = found.difference.as_ref().map(|estimate| {
        let shown = words::difference(unit, estimate);
        let interval = shown.interval.map(|interval| format!(" {interval}")).unwrap_or_default();
        format!("; estimated {}{interval} on average over runs", shown.point)
    });
    let truth = found.truth.map(|truth| format!(", truth {}", unit.display(truth)));
    let covered = found
        .covered
        .as_ref()
        .map(|share| format!("; the truth was in the interval of {}", counted_of(share, "run")));
    let text = format!(
        "{how} {}: found in {} ({}){}{}{}",
        found.asked,
        counted_of(&found.found, "run"),
        share_words(&found.found),
        estimate.unwrap_or_default(),
        truth.unwrap_or_default(),
        covered.unwrap_or_default()
    );
    page.folded("  ", &text)
}

fn percent(change: Ratio) -> String {
    let percent = 100.0 * change.get();
    let decimals = match percent.abs() {
        p if p >= 9.95 => 0,
        p if p >= 0.995 => 1,
        _ => 2,
    };
    format!("{percent:.decimals$} %")
}

fn spreads(quantities: &[QuantitySpread]) -> Table {
    let mut table = Table::new([&[Align::Left][..], &[Align::Right; 6]].concat(), 2);
    let shown: Vec<&QuantitySpread> =
        SHOWN.iter().filter_map(|wanted| quantities.iter().find(|found| found.quantity == *wanted)).collect();
    let times: Vec<Nanoseconds> = {
        let longest = shown.iter().map(|found| &found.detectable).max_by_key(|found| found.len());
        longest.into_iter().flatten().map(|found| found.measured).collect()
    };
    let heads = times.iter().map(|time| Cell::new(time.to_string()));
    let ends = ["as run", "start", "round"].map(Cell::new);
    table.push(std::iter::once(Cell::new("")).chain(heads).chain(ends).collect());
    for found in shown {
        let at = |time: &Nanoseconds| {
            let exact = found.detectable.iter().find(|one| one.measured == *time);
            Cell::new(exact.map_or_else(|| "–".to_owned(), |one| percent(one.change)))
        };
        let sd = |value: Option<Ratio>| Cell::new(value.map_or_else(|| "–".to_owned(), percent));
        let own = match found.start {
            Some(_) => None,
            None => found.detectable.first(),
        };
        let as_run = Cell::new(own.map_or_else(String::new, |one| percent(one.change)));
        let row = std::iter::once(Cell::new(format!("  {}", found.quantity)))
            .chain(times.iter().map(at))
            .chain([as_run, sd(found.start), sd(found.round)]);
        table.push(row.collect());
    }
    table
}

/// What the second of two copies costs, by quantity; `None` if no run of copies has an estimate.
fn positions(quantities: &[QuantitySpread]) -> Option<String> {
    let spread = |wanted: &Quantity| quantities.iter().find(|found| found.quantity == *wanted);
    let words =
        |found: &QuantitySpread| Some(format!("{} {}", found.quantity, position(found.position.as_ref()?)));
    let each: Vec<String> = SHOWN.iter().filter_map(spread).filter_map(words).collect();
    (!each.is_empty()).then(|| format!("position: the second of two copies costs {}", each.join("; ")))
}

/// `+0.02 % [-0.01, +0.05]`
fn position(found: &Estimate) -> String {
    let shown = words::change(found);
    format!("{}{}", shown.point, shown.interval.map(|interval| format!(" {interval}")).unwrap_or_default())
}

fn run_to_run(found: &RunToRun) -> String {
    format!(
        "{} ±{} (standard deviation of {}; 95 % interval {} to {})",
        found.quantity,
        percent(found.deviation),
        counted(u64::from(found.runs), "run"),
        percent(found.lower),
        percent(found.upper)
    )
}

fn noise(source: &NoiseSource, page: &Page) -> [String; 2] {
    [
        page.folded("  ", &format!("{}: {}", clean(&source.source), clean(&source.evidence))),
        page.folded("    -> ", &clean(&source.effect)),
    ]
}

fn age(age: Nanoseconds) -> String {
    let seconds = age.as_nanos() / 1_000_000_000;
    match seconds {
        s if s >= 2 * 86_400 => format!("{} days ago", s / 86_400),
        s if s >= 2 * 3_600 => format!("{} hours ago", s / 3_600),
        s if s >= 120 => format!("{} minutes ago", s / 60),
        _ => "just now".to_owned(),
    }
}

/// The quote of a host's calibration in one sentence.
pub(crate) fn quote(quote: &CalibrationQuote) -> String {
    let mut facts = Vec::new();
    if let Some(share) = &quote.false_alarms {
        let percent = |value: f64| format!("{:.1}", 100.0 * value);
        let (lower, upper) = (percent(share.lower), percent(share.upper));
        facts.push(format!("false alarms {} of {} ({lower} to {upper} %)", share.hits, share.of));
    }
    if let Some(found) = &quote.detectable {
        let (quantity, change) = (quote.headline, percent(found.change));
        facts.push(format!("{quantity} found from {change} in {} measured", found.measured));
    }
    if let Some(found) = &quote.position {
        facts.push(format!("the second of two copies {}", position(found)));
    }
    if let Some(found) = &quote.run_to_run {
        facts.push(format!("±{} from run to run", percent(found.deviation)));
    }
    let since = match quote.changed.is_empty() {
        true => String::new(),
        false => format!("; since then: {}", quote.changed.join(", ")),
    };
    let (age, experiment) = (age(quote.age), clean(&quote.experiment));
    format!("this host, calibrated {age} with {experiment}: {}{}", facts.join("; "), clean(&since))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_keep_two_digits() {
        let shown = |value: f64| percent(Ratio::new(value));
        assert_eq!(
            (shown(0.123), shown(0.0123), shown(0.00123)),
            ("12 %".into(), "1.2 %".into(), "0.12 %".into())
        );
    }

    #[test]
    fn ages_have_units_that_fit() {
        let shown = |seconds: u64| age(Nanoseconds::from_secs(seconds));
        assert_eq!((shown(5), shown(150)), ("just now".into(), "2 minutes ago".into()));
        assert_eq!((shown(7_300), shown(200_000)), ("2 hours ago".into(), "2 days ago".into()));
    }
}
