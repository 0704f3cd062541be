//! The pages of `weigh serve` other than the report: the list of runs, the overview of a run, a run in
//! progress, a comparison. They know nothing of sockets and access.
//!
//! Foreign text passes `escape`. Pages use the style of the report; the page that follows a run has a script
//! that sets text. Both are constants, so that a policy can name their hashes.

mod live;
mod pictures;

use weighbridge_model::estimate::Validity;
use weighbridge_model::summary::{Cost, Summary};

use crate::columns::TableName;
use crate::export::ExportFormat;
use crate::html::escape::{escape, escape_exactly};
use crate::html::{STYLE as REPORT_STYLE, alarms, moment, tone_class, warnings};
use crate::{view, words};

pub use live::{Live, LiveState};
pub use pictures::forest;

pub const SCRIPT: &str = include_str!("follow.js");
/// Shows times in the reader's time zone.
pub const MOMENTS: &str = include_str!("moments.js");
/// Added to the style of the report.
const OWN_STYLE: &str = include_str!("style.css");

#[derive(Debug, Clone, PartialEq)]
pub struct RunRow {
    pub folder: String,
    /// The experiment's title, or the folder's name if it is not known.
    pub title: String,
    /// RFC 3339; empty if it is not known.
    pub started: String,
    pub state: RunState,
    /// The headline of each variant in words; empty until the run has ended.
    pub headlines: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunState {
    Ended(Validity),
    /// A process is writing it.
    Running,
    /// It has no summary and no process writes it; it may be resumed.
    Stopped,
    /// It cannot be read, for this reason.
    Damaged(String),
}

/// The whole content of every page's `<style>`, for a policy with its hash.
pub fn style() -> String {
    format!("\n{REPORT_STYLE}{OWN_STYLE}")
}

pub fn list(place: &str, runs: &[RunRow]) -> String {
    let rows: String = runs.iter().map(row).collect();
    let body = if runs.is_empty() {
        "<p>There is no run here. <code>weigh run</code> and <code>weigh load</code> with two or more URLs make one.</p>\n"
            .to_owned()
    } else {
        format!(
            "<div class=\"scroll\"><table class=\"listed\">\n<thead><tr><th>run</th><th>headline</th><th>figures</th></tr></thead>\n\
             <tbody>\n{rows}</tbody>\n</table></div>\n"
        )
    };
    let heading =
        format!("<h1>Runs</h1>\n<p class=\"quiet\">in <code>{}</code>, newest first</p>\n", escape(place));
    page("Runs", &format!("<header>\n{heading}</header>\n<main>\n{body}</main>\n"), Script::Moments)
}

fn row(run: &RunRow) -> String {
    let headlines: String = run.headlines.iter().map(|text| format!("<li>{}</li>", escape(text))).collect();
    let (class, state, more) = match &run.state {
        RunState::Ended(validity) => (validity.name(), validity.name(), format!("<ul>{headlines}</ul>")),
        RunState::Running => ("same", "running", "<p class=\"quiet\">not ended yet</p>".to_owned()),
        RunState::Stopped => ("suspect", "not ended", "<p class=\"quiet\">can be resumed</p>".to_owned()),
        RunState::Damaged(reason) => ("invalid", "cannot be read", format!("<p>{}</p>", escape(reason))),
    };
    let title = match run.state {
        RunState::Damaged(_) => escape(&run.title),
        _ => format!("<a href=\"{}\">{}</a>", address(&run.folder, ""), escape(&run.title)),
    };
    format!(
        "<tr><th scope=\"row\">{title}<span class=\"name\">{} · {}</span></th><td>{more}</td>\
         <td class=\"{class}\">{state}</td></tr>\n",
        escape(&run.folder),
        if run.started.is_empty() { String::new() } else { moment(&run.started) }
    )
}

/// The page of a run that has ended: headline, costs as a picture ([`forest`]), links to the report and downloads, forms
/// for comparisons. `others` are the folders of the other ended runs.
pub fn overview(folder: &str, summary: &Summary, picture: &str, others: &[&str]) -> String {
    let sentences = crate::headline_sentences(summary);
    let sentences: String = sentences.iter().map(|text| format!("<li>{}</li>\n", escape(text))).collect();
    let header = format!(
        "{}<h1>{}</h1>\n<p class=\"quiet\">{} · {} · figures <span class=\"{}\">{}</span></p>\n",
        alarms(summary, "alert"),
        escape(&summary.title),
        moment(&summary.started),
        escape(folder),
        summary.validity.name(),
        summary.validity.name(),
    );
    let report = format!(
        "<section id=\"verdict\">\n<h2>Headline</h2>\n<ul class=\"plain\">\n{sentences}</ul>\n{picture}\
         <p><a href=\"{}\">Open the report</a></p>\n</section>\n",
        address(folder, "report")
    );
    let sections = [report, comparisons(folder, summary, others), downloads(folder)].concat();
    let body = format!("<header>\n{header}{}</header>\n<main>\n{sections}</main>\n", home_link());
    page(&summary.title, &body, Script::Moments)
}

fn home_link() -> &'static str {
    "<nav aria-label=\"pages\"><a href=\"/\">All runs</a></nav>\n"
}

fn comparisons(folder: &str, summary: &Summary, others: &[&str]) -> String {
    let names = view::distinct(summary.variants.iter().map(|variant| variant.name.as_str()));
    let select = |name: &str, options: &[&str], chosen: Option<usize>| {
        let option = |(at, text): (usize, &&str)| {
            let mark = if Some(at) == chosen { " selected" } else { "" };
            format!("<option value=\"{}\"{mark}>{}</option>", escape_exactly(text), escape(text))
        };
        let options: String = options.iter().enumerate().map(option).collect();
        format!("<select name=\"{name}\">{options}</select>")
    };
    let hidden = format!("<input type=\"hidden\" name=\"run\" value=\"{}\">", escape_exactly(folder));
    let mut forms = format!(
        "<form action=\"/compare\" method=\"get\">{hidden}\n<label>variant {}</label>\n<label>against {}</label>\n\
         <button type=\"submit\">Compare variants</button>\n</form>\n",
        select("variant", &names, Some(names.len().saturating_sub(1))),
        select("baseline", &names, Some(0)),
    );
    if !others.is_empty() {
        forms.push_str(&format!(
            "<form action=\"/compare\" method=\"get\">{hidden}\n<label>this run against the run {}</label>\n\
             <label>in the variant {}</label>\n<button type=\"submit\">Compare runs</button>\n</form>\n",
            select("against", others, Some(0)),
            select("variant", &names, Some(names.len().saturating_sub(1))),
        ));
    }
    format!("<section id=\"compare\">\n<h2>Compare</h2>\n{forms}</section>\n")
}

fn downloads(folder: &str) -> String {
    let mut links = Vec::new();
    for format in ExportFormat::ALL.into_iter().filter(|format| format.is_built() && format.is_of_every_run())
    {
        if format.has_tables() {
            links.extend(
                TableName::ALL.map(|table| (format!("{format}/{table}"), format!("{format}: {table}"))),
            );
        } else {
            links.push((format.to_string(), format.to_string()));
        }
    }
    let item = |(path, text): &(String, String)| {
        format!("<li><a href=\"{}\" download>{text}</a></li>\n", address(folder, &format!("export/{path}")))
    };
    let items: String = links.iter().map(item).collect();
    format!(
        "<section id=\"downloads\">\n<h2>Download</h2>\n<ul class=\"downloads\">\n{items}</ul>\n</section>\n"
    )
}

/// The page of a run that has not ended. If `state` is running, [`SCRIPT`] follows it.
pub fn following(folder: &str, state: &RunState, live: &Live) -> String {
    let title = if live.title.is_empty() { folder } else { &live.title };
    let items = |texts: &[String]| -> String {
        texts.iter().map(|text| format!("<li>{}</li>", escape(text))).collect()
    };
    let (script, refresh, connection) = match state {
        RunState::Running => (Script::Follow, "<meta http-equiv=\"refresh\" content=\"5\">", "followed live"),
        _ => (Script::None, "", "nobody measures it"),
    };
    let stopped = match state {
        RunState::Running => String::new(),
        _ => format!(
            "<div class=\"alarm\" role=\"alert\"><p>This run has not ended; go on with <code>weigh run --resume</code> and \
             its folder <code>{}</code>.</p></div>\n",
            escape(folder)
        ),
    };
    let body = format!(
        "<header>\n{stopped}<h1>{}</h1>\n<p class=\"quiet\">{} · <span id=\"connection\">{connection}</span></p>\n{}</header>\n\
         <main>\n<section id=\"progress\">\n<h2>Progress</h2>\n<p id=\"step\" aria-live=\"polite\">{}</p>\n\
         <progress id=\"bar\" max=\"1\" value=\"{}\" aria-label=\"share of the planned blocks\"></progress>\n\
         <p class=\"quiet\" id=\"clock\">{}</p>\n<h3>Headline so far</h3>\n<ul class=\"plain\" id=\"costs\">{}</ul>\n\
         <p class=\"quiet\">A verdict is given at the end only: who stops at an interval that pleases is wrong more often than it says.</p>\n\
         <h3>Notes</h3>\n<ul class=\"plain\" id=\"notes\">{}</ul>\n</section>\n</main>\n",
        escape(title),
        escape(folder),
        home_link(),
        escape(&live.step),
        live.progress,
        escape(&live.clock),
        items(&live.costs),
        items(&live.notes),
    );
    let refresh =
        if refresh.is_empty() { String::new() } else { format!("<noscript>{refresh}</noscript>\n") };
    document(title, &body, script, &refresh)
}

/// The result of `weigh compare` as a page.
pub fn comparison(summary: &Summary) -> String {
    let sentences = crate::headline_sentences(summary);
    let sentences: String = sentences.iter().map(|text| format!("<li>{}</li>\n", escape(text))).collect();
    let tables: String = view::points(summary).iter().map(|point| point_tables(summary, point)).collect();
    let findings = match summary.findings.is_empty() {
        true => String::new(),
        false => format!("<section id=\"findings\">\n<h2>Findings</h2>\n{}</section>\n", warnings(summary)),
    };
    let body = format!(
        "<header>\n{}<h1>{}</h1>\n<p class=\"quiet\">{} · {} blocks · margin ±{}</p>\n{}</header>\n<main>\n\
         <section id=\"verdict\">\n<h2>Headline</h2>\n<ul class=\"plain\">\n{sentences}</ul>\n</section>\n\
         <section id=\"costs\">\n<h2>Verdicts</h2>\n{tables}</section>\n{findings}</main>\n",
        alarms(summary, "alert"),
        escape(&summary.title),
        escape(&summary.run),
        summary.blocks.used,
        summary.margin,
        home_link()
    );
    page(&summary.title, &body, Script::None)
}

fn point_tables(summary: &Summary, point: &view::Point<'_>) -> String {
    let several = words::several_operations(summary);
    let table = |pair: &view::Pair<'_>| {
        let heading = words::point_heading(point.label, point.condition);
        let heading = if heading.is_empty() { heading } else { format!("; {heading}") };
        let rows: String = pair.costs.iter().map(|cost| cost_row(cost, several)).collect();
        format!(
            "<div class=\"scroll\"><table class=\"verdicts\">\n<caption>{} against {}{}</caption>\n<thead><tr>\
             <th>quantity</th><th>difference</th><th>change, 95 % interval</th><th>verdict</th></tr></thead>\n\
             <tbody>\n{rows}</tbody>\n</table></div>\n",
            escape(pair.variant),
            escape(pair.baseline),
            escape(&heading)
        )
    };
    point.pairs.iter().map(table).collect()
}

fn cost_row(cost: &Cost, several: bool) -> String {
    let figures = words::has_figures(cost);
    let shown = cost.difference.as_ref().filter(|_| figures);
    let point = shown.map(|difference| words::difference(cost.unit, difference).point).unwrap_or_default();
    let change = cost.ratio.as_ref().filter(|_| figures).map(words::change);
    let (change, interval) = change.map_or_else(Default::default, |shown| (shown.point, shown.interval));
    let operation = if several { format!("{} ", cost.operation) } else { String::new() };
    let reason =
        cost.reason.as_deref().map(|reason| format!("<span class=\"reason\">{}</span>", escape(reason)));
    let class = if cost.headline { " class=\"headline\"" } else { "" };
    format!(
        "<tr{class}><th scope=\"row\">{}{}</th><td class=\"n\">{}</td><td class=\"n\">{} \
         <span class=\"interval\">{}</span></td><td class=\"says {}\">{}{}</td></tr>\n",
        escape(&operation),
        words::label(cost.quantity),
        escape(&point),
        escape(&change),
        escape(&interval.unwrap_or_default()),
        tone_class(words::tone(cost)),
        words::verdict(cost),
        reason.unwrap_or_default()
    )
}

/// The page for an error, with what to do.
pub fn problem(title: &str, text: &str) -> String {
    let body = format!(
        "<header>\n<h1>{}</h1>\n{}</header>\n<main>\n<p>{}</p>\n</main>\n",
        escape(title),
        home_link(),
        escape(text)
    );
    page(title, &body, Script::None)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Script {
    None,
    Moments,
    Follow,
}

fn page(title: &str, body: &str, script: Script) -> String {
    document(title, body, script, "")
}

fn document(title: &str, body: &str, script: Script, head: &str) -> String {
    let script = match script {
        Script::None => String::new(),
        Script::Moments => format!("<script>{MOMENTS}</script>\n"),
        Script::Follow => format!("<script>{SCRIPT}</script>\n"),
    };
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n{head}\
         <title>{} · Weighbridge</title>\n<style>{}</style>\n</head>\n<body>\n{body}<footer>Weighbridge</footer>\n\
         {script}</body>\n</html>\n",
        escape(title),
        style()
    )
}

/// The path of a run's page `what`; the folder's name is one percent-encoded segment.
pub fn address(folder: &str, what: &str) -> String {
    let mut segment = String::new();
    for byte in folder.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                segment.push(char::from(byte))
            }
            other => segment.push_str(&format!("%{other:02X}")),
        }
    }
    format!("/run/{segment}/{what}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_style_uses_no_variable_that_the_page_does_not_define() {
        let defined = |name: &str| REPORT_STYLE.contains(&format!("{name}:"));
        let used: Vec<&str> =
            OWN_STYLE.split("var(").skip(1).filter_map(|rest| rest.split(')').next()).collect();
        assert!(!used.is_empty());
        assert_eq!(used.into_iter().filter(|name| !defined(name)).collect::<Vec<_>>(), Vec::<&str>::new());
    }
}
