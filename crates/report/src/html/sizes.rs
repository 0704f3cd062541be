//! Message sizes: which variant for which sizes, where times step or bend, and what changes there on this
//! host. The tables state the judge's conclusions and how to read them.

use std::collections::BTreeSet;

use weighbridge_model::quantity::{display_bytes, display_nanos};
use weighbridge_model::sizes::{
    Bounded, CliffChange, SizeAdvice, SizeCliff, SizeGuide, SizeJudged, SizeRange,
};
use weighbridge_model::summary::{Detail, Summary};

use super::escape::{attributes, escape, figure, suffix};
use super::medians;
use super::quiet;
use super::tables::number;
use crate::text::{counted, grouped};
use crate::words;

/// Sentences name at most this many variants; the table has all.
const MOST_NAMED: usize = 4;
const INTRODUCTION: &str = "The longer a message, the longer it takes, but not evenly: where a buffer, a window or a packet is \
     full, times jump or rise faster from there on. Below: which variant to take for which size, how the times run over size, \
     and where they step or bend.";

/// The section; empty if sizes do not vary.
pub(crate) fn section(summary: &Summary, detail: &Detail) -> String {
    let over = &summary.over_size;
    if over.is_empty() && detail.size_curves.is_empty() {
        return String::new();
    }
    let advice: String = over.advice.iter().map(|advice| self::advice(summary, advice)).collect();
    format!(
        "{}{advice}<div class=\"charts\"></div>\n{}{}{}",
        quiet(INTRODUCTION),
        basis(summary),
        medians::tables(summary, detail) + &cliffs(summary, &over.cliffs) + &found_between(&over.judged),
        guides(&over.guides)
    )
}

/// How many requests are missing in the curves.
fn basis(summary: &Summary) -> String {
    let counts = || summary.variants.iter().filter_map(|variant| variant.samples);
    let (kept, left_out): (u64, u64) =
        (counts().map(|counts| counts.kept).sum(), counts().map(|counts| counts.left_out).sum());
    if left_out == 0 {
        return String::new();
    }
    quiet(&format!(
        "Times over size are of the {} that were kept one by one, in rounds from the first of a block to its last; {} more are \
         in all other figures only.",
        counted(kept, "request"),
        grouped(left_out)
    ))
}

/// Which variant is best at which size, one line per point and operation, for the verdict.
pub(crate) fn advice_lines(summary: &Summary) -> String {
    let several = words::several_operations(summary);
    let line = |advice: &SizeAdvice| {
        let point = words::point(&advice.point);
        let filter = attributes(&[("operation", &advice.operation), ("point", &point)]);
        let ranges: Vec<String> =
            advice.ranges.iter().map(|range| range_words(summary, advice, range)).collect();
        let suffix = caption_suffix(&advice.operation, &point, several);
        format!(
            "<p class=\"plain\"{filter}>Fastest at single message sizes, by the median service time{suffix}: {}.</p>\n",
            ranges.join("; ")
        )
    };
    summary.over_size.advice.iter().take(MOST_NAMED).map(line).collect()
}

/// `4 B to 64 KiB <b>go</b> or <b>rust</b>, indistinguishable`
fn range_words(summary: &Summary, advice: &SizeAdvice, range: &SizeRange) -> String {
    let sizes =
        format!("{} to {}", display_bytes(range.from_bytes as f64), display_bytes(range.to_bytes as f64));
    let names = range.best.iter().map(|name| format!("<b>{}</b>", escape(name)));
    match (range.best.len(), slower(summary, advice, range).len()) {
        (1, _) => format!("{sizes} {}", names.collect::<String>()),
        (_, 0) => format!("{sizes} all are indistinguishable"),
        (count, _) if count > MOST_NAMED => format!("{sizes} any of {count} that are indistinguishable"),
        _ => format!("{sizes} {}, indistinguishable", names.collect::<Vec<_>>().join(" or ")),
    }
}

/// What holds at every size, which the table states only range by range.
fn at_every_size(summary: &Summary, advice: &SizeAdvice) -> String {
    let common = |names: &dyn Fn(&SizeRange) -> BTreeSet<String>| {
        let all = advice.ranges.iter().map(names);
        all.reduce(|all, range| all.intersection(&range).cloned().collect()).unwrap_or_default()
    };
    let best = common(&|range| range.best.iter().cloned().collect());
    let slower = common(&|range| slower(summary, advice, range).into_iter().collect());
    let names = |names: &BTreeSet<String>| {
        names.iter().map(|name| format!("<b>{}</b>", escape(name))).collect::<Vec<_>>().join(", ")
    };
    let mut clauses = Vec::new();
    if (1..=MOST_NAMED).contains(&best.len()) {
        let verb = if best.len() == 1 { "is" } else { "are" };
        clauses.push(format!("{} {verb} fastest, or tied with the fastest, at every size", names(&best)));
    }
    if (1..=MOST_NAMED).contains(&slower.len()) {
        let verb = if slower.len() == 1 { "takes" } else { "take" };
        clauses.push(format!("{} {verb} longer at every size", names(&slower)));
    }
    if clauses.is_empty() { String::new() } else { format!("<p>{}.</p>\n", clauses.join("; ")) }
}

fn slower(summary: &Summary, advice: &SizeAdvice, range: &SizeRange) -> Vec<String> {
    let here = summary.variants.iter().filter(|variant| variant.point == advice.point);
    here.map(|variant| variant.name.clone()).filter(|name| !range.best.contains(name)).collect()
}

fn caption_suffix(operation: &str, point: &str, several: bool) -> String {
    format!("{}{}", suffix(if several { operation } else { "" }), suffix(point))
}

fn advice(summary: &Summary, advice: &SizeAdvice) -> String {
    let point = words::point(&advice.point);
    let filter = attributes(&[("operation", &advice.operation), ("point", &point)]);
    let suffix = caption_suffix(&advice.operation, &point, words::several_operations(summary));
    let rows: String = advice.ranges.iter().map(|range| range_row(summary, advice, range)).collect();
    let at_every_size = at_every_size(summary, advice);
    format!(
        "{at_every_size}<div class=\"scroll\"{filter}><table class=\"advice\"><caption>Which variant for which size{suffix}</caption><thead><tr>\
         <th scope=\"col\">size</th><th scope=\"col\">fastest, or tied with it</th><th scope=\"col\">take longer</th></tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n{}",
        quiet(
            "By the median service time. Tied: it cannot be told that they take longer by more than the margin. More blocks \
             give narrower intervals, and fewer ties."
        )
    )
}

fn range_row(summary: &Summary, advice: &SizeAdvice, range: &SizeRange) -> String {
    let point = words::point(&advice.point);
    let filter = attributes(&[("operation", &*advice.operation), ("point", &*point)]);
    let slower = slower(summary, advice, range);
    let names = |names: &[String]| names.iter().map(|name| escape(name)).collect::<Vec<_>>().join(", ");
    let best = match (&range.best[..], slower.len()) {
        ([one], _) => format!("<b>{}</b>", escape(one)),
        ([_, _, _, ..], 0) => "all tied".to_owned(),
        (several, _) => names(several),
    };
    let lead = range.lead.filter(|lead| *lead > 0.0);
    let by = lead.map(|lead| {
        let shown = words::change_of(lead, None).point;
        format!(" <span class=\"by\">by at least {}</span>", shown.trim_start_matches('+'))
    });
    let slower = match slower.len() {
        0 => "<span class=\"quiet\">none</span>".to_owned(),
        _ => format!("{}{}", names(&slower), by.unwrap_or_default()),
    };
    format!(
        "<tr{filter}><th scope=\"row\">{} to {}</th><td>{best}</td><td{}>{slower}</td></tr>\n",
        display_bytes(range.from_bytes as f64),
        display_bytes(range.to_bytes as f64),
        number(lead),
    )
}

fn cliffs(summary: &Summary, cliffs: &[SizeCliff]) -> String {
    if cliffs.is_empty() && summary.blocks.used == 0 {
        return quiet("Cliffs and advice need blocks, which a run that was imported has not.");
    }
    if cliffs.is_empty() {
        return quiet("No cliffs were found: no median steps, or bends, beyond the margin at any one size.");
    }
    let several = words::several_operations(summary);
    let head = if several { "<th scope=\"col\">operation</th>" } else { "" };
    let rows: String = cliffs.iter().map(|cliff| cliff_row(cliff, several)).collect();
    format!(
        "<div class=\"scroll\"><table class=\"cliffs sortable\"><caption>Cliffs: sizes at which a median steps or bends</caption>\
         <thead><tr><th scope=\"col\">variant</th>{head}<th scope=\"col\" class=\"n\">above, in bytes</th><th scope=\"col\">what \
         happens</th><th scope=\"col\" class=\"n\">by</th><th scope=\"col\" class=\"n\">before it</th><th scope=\"col\">likely \
         cause</th></tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n{}",
        quiet(
            "In brackets: 95 % intervals over blocks. A cause is what of this host lies in the interval of the place: change \
             that value and measure repeated, and the cliff moves with its cause."
        )
    )
}

/// The sizes between which a cliff would have been found for every variant; nothing is known nearer to the
/// ends.
fn found_between(all: &[SizeJudged]) -> String {
    let within = |bytes: fn(&SizeJudged) -> (u64, u64)| {
        let from = all.iter().map(|judged| bytes(judged).0).max()?;
        let to = all.iter().map(|judged| bytes(judged).1).min()?;
        Some(format!("{} to {}", display_bytes(from as f64), display_bytes(to as f64)))
    };
    let (Some(steps), Some(corners)) = (within(|one| one.steps_bytes), within(|one| one.corners_bytes))
    else {
        return String::new();
    };
    let cut_off: Vec<String> =
        all.iter().filter(|one| one.cut_off).map(|one| format!("<b>{}</b>", escape(&one.variant))).collect();
    let rest = match &cut_off[..] {
        [] => String::new(),
        names => format!(
            " The curve of {} changes at more sizes than are looked for; no bend is told of it.",
            names.join(", ")
        ),
    };
    quiet(&format!(
        "Steps could be told from {steps}, bends from {corners}; nothing is said of sizes nearer to the ends.{rest}"
    ))
}

fn cliff_row(cliff: &SizeCliff, several: bool) -> String {
    let point = words::point(&cliff.point);
    let filter = [("variant", &*cliff.variant), ("operation", &*cliff.operation), ("point", &*point)];
    let operation = if several { format!("<td>{}</td>", escape(&cliff.operation)) } else { String::new() };
    let (what, unit): (&str, fn(f64) -> String) = match cliff.change {
        CliffChange::Level => ("the time steps", display_nanos),
        CliffChange::Slope => ("each further KiB costs another", |value| display_nanos(1024.0 * value)),
        CliffChange::Stairs => ("the time steps each time", display_nanos),
    };
    let repeated = cliff.period_bytes.map(|period| {
        let [point, lower, upper] =
            [period.point, period.lower, period.upper].map(|bytes| grouped(bytes.round() as u64));
        format!(", and repeated every {point} bytes <span class=\"interval\">[{lower}, {upper}]</span>, as chunks would")
    });
    let repeated = repeated.unwrap_or_default();
    let at = if point.is_empty() {
        String::new()
    } else {
        format!(" <span class=\"quiet\">{}</span>", escape(&point))
    };
    let signed = |value: f64| format!("{}{}", if value > 0.0 { "+" } else { "" }, unit(value));
    let per = if cliff.change == CliffChange::Slope { " a KiB" } else { "" };
    let cause = cliff.cause.as_deref().map_or_else(
        || "<td class=\"quiet\">none known</td>".to_owned(),
        |cause| format!("<td>{}</td>", escape(cause)),
    );
    format!(
        "<tr{}><th scope=\"row\">{}{at}</th>{operation}{}<td>{what}{repeated}</td>{}<td class=\"n\"{}>{}{per}</td>{cause}</tr>\n",
        attributes(&filter),
        escape(&cliff.variant),
        bounded(cliff.place_bytes, &|bytes| grouped(bytes.round() as u64)),
        bounded(cliff.height, &signed),
        number(Some(cliff.before)),
        figure(&unit(cliff.before)),
    )
}

fn bounded(value: Bounded, shown: &dyn Fn(f64) -> String) -> String {
    format!(
        "<td class=\"n\"{}>{} <span class=\"interval\">[{}, {}]</span></td>",
        number(Some(value.point)),
        figure(&shown(value.point)),
        figure(&shown(value.lower)),
        figure(&shown(value.upper))
    )
}

fn guides(guides: &[SizeGuide]) -> String {
    if guides.is_empty() {
        return String::new();
    }
    let row = |guide: &SizeGuide| {
        format!(
            "<tr><td class=\"n\">{}</td><td>{}</td></tr>\n",
            grouped(guide.bytes.get()),
            escape(&guide.name)
        )
    };
    format!(
        "<details><summary>Sizes at which something of this host changes</summary>\n<div class=\"scroll\"><table><thead><tr>\
         <th scope=\"col\" class=\"n\">bytes</th><th scope=\"col\">what</th></tr></thead><tbody>\n{}</tbody></table></div></details>\n",
        guides.iter().map(row).collect::<String>()
    )
}
