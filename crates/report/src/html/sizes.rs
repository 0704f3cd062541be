//! Message sizes: which variant to take for which sizes, where times step or bend, and what lies there on this host. The
//! judge's own conclusions as tables that say how they are to be read; charts stand above them.

use weighbridge_model::quantity::{display_bytes, display_nanos};
use weighbridge_model::sizes::{Bounded, CliffChange, SizeAdvice, SizeCliff, SizeGuide, SizeRange};
use weighbridge_model::summary::{Detail, Summary};

use super::escape::{attributes, escape, figure};
use super::quiet;
use super::tables::number;
use crate::text::grouped;
use crate::words;

const INTRODUCTION: &str = "The longer a message, the longer it takes, but not evenly: where a buffer, a window or a packet is \
     full, times jump or rise faster from there on. Below: which variant to take for which size, how the times run over size, \
     and where they step or bend.";

/// The section; empty where sizes do not vary.
pub(crate) fn section(summary: &Summary, detail: &Detail) -> String {
    let over = &summary.over_size;
    if over.is_empty() && detail.size_curves.is_empty() {
        return String::new();
    }
    let advice: String = over.advice.iter().map(|advice| self::advice(summary, advice)).collect();
    format!(
        "{}{advice}<div class=\"charts\"></div>\n{}{}",
        quiet(INTRODUCTION),
        cliffs(summary, &over.cliffs),
        guides(&over.guides)
    )
}

/// Of an operation at a point, where there are several.
fn of(operation: &str, point: &str, several: bool) -> String {
    let operation = if several { format!(", {}", escape(operation)) } else { String::new() };
    let point = if point.is_empty() { String::new() } else { format!(", {}", escape(point)) };
    format!("{operation}{point}")
}

fn advice(summary: &Summary, advice: &SizeAdvice) -> String {
    let point = words::point(&advice.point);
    let filter = attributes(&[("operation", &advice.operation), ("point", &point)]);
    let of = of(&advice.operation, &point, words::several_operations(summary));
    let rows: String = advice.ranges.iter().map(|range| range_row(summary, advice, range)).collect();
    format!(
        "<div class=\"scroll\"{filter}><table class=\"advice\"><caption>Which variant for which size{of}</caption><thead><tr>\
         <th scope=\"col\">size</th><th scope=\"col\">lowest median</th><th scope=\"col\">tied with it</th>\
         <th scope=\"col\">take longer</th></tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n{}",
        quiet(
            "By the median service time. Tied: it cannot be told that they take longer by more than the margin. More blocks \
             give narrower intervals, and fewer ties."
        )
    )
}

fn range_row(summary: &Summary, advice: &SizeAdvice, range: &SizeRange) -> String {
    let (best, tied) = range.best.split_first().map_or(("", &[][..]), |(best, tied)| (best.as_str(), tied));
    let point = words::point(&advice.point);
    let place = attributes(&[("operation", &*advice.operation), ("point", &*point)]);
    let here = summary.variants.iter().filter(|variant| variant.point == advice.point);
    let behind: Vec<&str> = here
        .map(|variant| variant.name.as_str())
        .filter(|name| !range.best.iter().any(|b| b == name))
        .collect();
    let names = |names: &[&str]| names.iter().map(|name| escape(name)).collect::<Vec<_>>().join(", ");
    let tied: Vec<&str> = tied.iter().map(String::as_str).collect();
    let tied = match (tied.len(), behind.len()) {
        (0, _) => "<span class=\"quiet\">none</span>".to_owned(),
        (2.., 0) => "all others".to_owned(),
        _ => names(&tied),
    };
    let lead = range.lead.filter(|lead| *lead > 0.0);
    let by = lead.map(|lead| format!(", by at least {}", words::change_of(lead, None).point));
    let behind = match behind.len() {
        0 => "<span class=\"quiet\">none</span>".to_owned(),
        _ => format!("{}{}", names(&behind), by.unwrap_or_default()),
    };
    format!(
        "<tr{place}><th scope=\"row\">{} to {}</th><td><b>{}</b></td><td>{tied}</td><td{}>{behind}</td></tr>\n",
        display_bytes(range.from_bytes as f64),
        display_bytes(range.to_bytes as f64),
        escape(best),
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
             that value and measure again, and the cliff moves with its cause."
        )
    )
}

fn cliff_row(cliff: &SizeCliff, several: bool) -> String {
    let point = words::point(&cliff.point);
    let place = [("variant", &*cliff.variant), ("operation", &*cliff.operation), ("point", &*point)];
    let operation = if several { format!("<td>{}</td>", escape(&cliff.operation)) } else { String::new() };
    let (what, unit): (&str, fn(f64) -> String) = match cliff.change {
        CliffChange::Level => ("the time steps", display_nanos),
        CliffChange::Slope => ("each further KiB costs another", |value| display_nanos(1024.0 * value)),
    };
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
        "<tr{}><th scope=\"row\">{}{at}</th>{operation}{}<td>{what}</td>{}<td class=\"n\"{}>{}{per}</td>{cause}</tr>\n",
        attributes(&place),
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
