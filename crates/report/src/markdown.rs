//! The verdict table for a pull request, in GitHub's Markdown. Foreign text cannot form markup or mention
//! anyone.

use weighbridge_model::capacity::CapacityFound;
use weighbridge_model::estimate::Quantity;
use weighbridge_model::factorial::{Factorial, FactorialTable};
use weighbridge_model::finding::title;
use weighbridge_model::gate::GateResult;
use weighbridge_model::id::PointLabel;
use weighbridge_model::layering::{Chain, SumCheck};
use weighbridge_model::parts::RelayParts;
use weighbridge_model::summary::{Cost, Severity, Summary};
use weighbridge_model::table::ResultTable;

use crate::result_tables::{ColumnChoice, TableHead};
use crate::table::Align;
use crate::text::clean;
use crate::view::{self, Pair};
use crate::words::Shown;
use crate::{capacity, factorial, goodput, layering, parts, result_tables, words};

/// One run: alarms, the headline in words, a table per variant and point, findings.
pub fn verdicts(summary: &Summary, gates: &[GateResult]) -> String {
    let mut text = format!("### {}\n\n", escape(&summary.title));
    for alarm in words::alarms(summary) {
        text.push_str(&format!("> **{}**\n", escape(&alarm.line)));
        for detail in alarm.details {
            text.push_str(&format!("> - {}\n", escape(&detail)));
        }
        text.push('\n');
    }
    for cost in words::headlines(summary) {
        let words::Sentence { who, what, joint, verdict } = words::sentence_parts(summary, cost);
        text.push_str(&format!("- {}: {}{joint}**{}**\n", escape(&who), escape(&what), escape(&verdict)));
    }
    for (name, reason) in &summary.unavailable {
        text.push_str(&format!("- {} unavailable: {}\n", escape(name), escape(reason)));
    }
    text.push_str(&self::gates(gates));
    for point in view::points(summary) {
        text.push_str(&capacities(summary, point.label));
        for pair in &point.pairs {
            text.push_str(&heading(&words::point(point.label), pair));
            text.push_str(&table(summary, pair));
        }
        for variant in &point.variants {
            for remark in words::remarks(variant) {
                text.push_str(&format!("\n{} {}\n", escape(&variant.name), escape(&remark)));
            }
        }
        let bodies = goodput::goodput(summary, point.label, 0);
        text.push_str(&used("carried", &goodput::GOODPUT, &bodies));
        text.push_str(&used("by role", &goodput::ROLES, &goodput::roles(summary, point.label)));
        for table in result_tables::at(summary, point.label) {
            text.push_str(&result_table(table));
        }
        for chain in layering::at(summary, point.label) {
            text.push_str(&waterfall(chain, &layering::quantities(summary)));
        }
        for check in layering::sums_at(summary, point.label) {
            text.push_str(&sums(check));
        }
        for one in factorial::at(summary, point.label) {
            text.push_str(&crossed(summary, one));
        }
        for relay in parts::at(summary, point.label) {
            text.push_str(&relayed(&words::point(point.label), relay));
        }
    }
    text.push_str(&over_points(summary));
    text.push_str(&closing(summary));
    text
}

/// Each gate with its figure and a mark.
pub(crate) fn gates(gates: &[GateResult]) -> String {
    let line = |gate: &GateResult| format!("- {} {}\n", gate.mark(), escape(&gate.figure));
    gates.iter().map(line).collect()
}

/// The highest rates at a point; empty without a search for capacity.
fn capacities(summary: &Summary, label: &PointLabel) -> String {
    let found = capacity::at(summary, label);
    if found.is_empty() {
        return String::new();
    }
    let point = words::point(label);
    let title = if point.is_empty() { String::new() } else { format!("\n**{}**\n", escape(&point)) };
    let row = |one: &&CapacityFound| {
        let shown = capacity::rate(one);
        let cells = [&one.variant, &one.objective, &shown.point, &shown.interval.unwrap_or_default()];
        let cells = cells.map(|cell| escape(cell)).join(" | ");
        format!("| {cells} | {} |\n", escape(&capacity::remark(one)))
    };
    let rows: String = found.iter().map(row).collect();
    let others = capacity::common_rate(summary, label).map(|text| format!("\n{}\n", escape(&text)));
    let others = others.unwrap_or_default();
    format!(
        "{title}\n| variant | keeps | up to | 95 % interval | remark |\n| --- | --- | ---: | --- | --- |\n{rows}{others}"
    )
}

fn heading(point: &str, pair: &Pair<'_>) -> String {
    let point = if point.is_empty() { String::new() } else { format!(", {}", escape(point)) };
    format!("\n**{} against {} (baseline){point}**\n\n", escape(pair.variant), escape(pair.baseline))
}

fn table(summary: &Summary, pair: &Pair<'_>) -> String {
    let several = words::several_operations(summary);
    let mut text = String::from(if several { "| operation " } else { "" });
    text.push_str("| quantity | difference | change | 95 % interval | verdict |\n");
    text.push_str(if several { "| --- " } else { "" });
    text.push_str("| --- | ---: | ---: | --- | --- |\n");
    for cost in &pair.costs {
        if several {
            text.push_str(&format!("| {} ", escape(&cost.operation)));
        }
        text.push_str(&row(cost));
    }
    text
}

/// Goodput or use by role; empty without rows.
fn used(name: &str, heads: &[&str], rows: &[goodput::UsageRow]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let rule = "| ---: ".repeat(heads.len());
    let mut text = format!("\n| {name} | {} |\n| --- {rule}|\n", heads.join(" | "));
    for row in rows {
        let name =
            if row.part.is_empty() { row.variant.clone() } else { format!("{}, {}", row.variant, row.part) };
        let cells: Vec<String> = row.cells.iter().map(|cell| escape(cell)).collect();
        text.push_str(&format!("| {} | {} |\n", escape(&name), cells.join(" | ")));
    }
    text
}

fn result_table(table: &ResultTable) -> String {
    let point = words::point(&table.point);
    let point = if point.is_empty() { point } else { format!(", {}", escape(&point)) };
    let heads = result_tables::heads(table, ColumnChoice::All);
    let rule = |head: &TableHead| if head.align() == Align::Left { " --- |" } else { " ---: |" };
    let rules: String = heads.iter().map(rule).collect();
    let line = |cells: Vec<String>| {
        let cells: Vec<String> = cells.iter().map(|cell| escape(cell)).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let named = line(heads.into_iter().map(|head| head.text).collect());
    let rows = table.rows.iter().map(|row| line(result_tables::cells(table, row, ColumnChoice::All)));
    let rows: String = rows.collect();
    let (title, reading) = (escape(&table.title), escape(&table.reading));
    format!("\n**{title}{point}**\n\n{named}|{rules}\n{rows}\n{reading}\n{}", notes(&table.notes))
}

fn waterfall(chain: &Chain, quantities: &[Quantity]) -> String {
    let point = words::point(&chain.point);
    let point = if point.is_empty() { point } else { format!(", {}", escape(&point)) };
    let heads: Vec<String> = quantities.iter().map(|quantity| layering::head(*quantity)).collect();
    let mut text = format!(
        "\n**{}{point}**\n\n| layer | {} |\n| --- {}|\n",
        escape(&layering::title(chain)),
        heads.join(" | "),
        "| ---: ".repeat(heads.len())
    );
    for row in layering::rows(chain, quantities) {
        text.push_str(&line(&row.name, &row.cells));
    }
    text.push_str(&notes(&layering::reasons(chain, quantities)));
    text
}

fn sums(check: &SumCheck) -> String {
    let point = words::point(&check.point);
    let point = if point.is_empty() { point } else { format!(", {}", escape(&point)) };
    let mut text = format!("\n**{}{point}**\n", escape(&layering::sum_title(check)));
    if !check.rows.is_empty() {
        text.push('\n');
        text.push_str(&header("quantity", &layering::sum_heads(check), 0));
    }
    for row in &check.rows {
        text.push_str(&line(&words::label(row.quantity), &layering::sum_cells(row)));
    }
    text.push_str(&notes(&layering::unchecked(check)));
    text
}

fn crossed(summary: &Summary, factorial: &Factorial) -> String {
    let point = words::point(&factorial.point);
    let point = if point.is_empty() { point } else { format!(", {}", escape(&point)) };
    let table = |table: &FactorialTable| {
        let mut text = format!("\n**{}{point}**\n\n", escape(&factorial::title(factorial, table)));
        text.push_str(&header("", &factorial.codecs, 0));
        for (framing, figures) in factorial.framings.iter().zip(factorial::figures(table)) {
            text.push_str(&line(framing, &figures));
        }
        text.push('\n');
        text.push_str(&header("", &factorial::EFFECTS.map(str::to_owned), 0));
        for effect in factorial::effects(table) {
            text.push_str(&line(&factorial::effect_name(effect), &factorial::effect_cells(table, effect)));
        }
        text.push_str(&notes(&[factorial::additivity(table)]));
        text.push_str(&notes(&factorial::parts(factorial, table)));
        text
    };
    let tables: String = factorial::tables(summary, factorial).into_iter().map(table).collect();
    let reason = factorial.reason.iter().map(|reason| format!("{}: {reason}", factorial.of));
    format!("{tables}{}", notes(&reason.collect::<Vec<_>>()))
}

/// Interactions with factors, and slopes over size.
fn over_points(summary: &Summary) -> String {
    let mut text = String::new();
    let (interactions, slopes) = (&summary.layering.interactions, &summary.layering.slopes);
    if !interactions.is_empty() {
        text.push_str("\n**does what a layer adds depend on a factor?**\n\n");
        text.push_str(&header("layer", &layering::FACTORS.map(str::to_owned), 5));
    }
    for one in interactions {
        let (name, cells) = layering::factor_cells(one);
        text.push_str(&line(&name, &cells));
    }
    if !slopes.is_empty() {
        text.push_str("\n**what a layer adds per operation and per byte**\n\n");
        text.push_str(&header("layer", &layering::SLOPES.map(str::to_owned), 3));
    }
    for slope in slopes {
        let (name, cells) = layering::slope_cells(slope);
        text.push_str(&line(&name, &cells));
    }
    text
}

/// A table's head: the first column and `words` more hold text, the others figures, except a verdict.
fn header(first: &str, heads: &[String], words: usize) -> String {
    let rule = |(at, head): (usize, &String)| match at < words || head == "verdict" {
        true => "| --- ",
        false => "| ---: ",
    };
    let rules: String = heads.iter().enumerate().map(rule).collect();
    let heads: Vec<String> = heads.iter().map(|head| escape(head)).collect();
    format!("| {first} | {} |\n| --- {rules}|\n", heads.join(" | "))
}

fn line(name: &str, cells: &[Shown]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| escape(&words::joined(cell))).collect();
    format!("| {} | {} |\n", escape(name), cells.join(" | "))
}

/// Notes below a table.
fn notes(all: &[String]) -> String {
    let lead = if all.is_empty() { "" } else { "\n" };
    let each: String = all.iter().map(|text| format!("- {}\n", escape(text))).collect();
    format!("{lead}{each}")
}

fn relayed(point: &str, relay: &RelayParts) -> String {
    let point = if point.is_empty() { String::new() } else { format!(", {}", escape(point)) };
    let mut text = format!("\n**where the time went: {}{point}**\n\n", escape(&relay.variant));
    text.push_str(&format!(
        "| part | {} |\n| --- | ---: | --- | ---: | ---: | --- |\n",
        parts::HEADS.join(" | ")
    ));
    for row in parts::rows(relay) {
        let cells = row.cells.map(|cell| escape(&cell));
        text.push_str(&format!("| {} | {} |\n", escape(row.part.trim()), cells.join(" | ")));
    }
    text.push_str(&format!("\n{}\n", escape(&parts::basis(relay))));
    text
}

fn row(cost: &Cost) -> String {
    let figures = words::has_figures(cost);
    let difference = cost.difference.as_ref().filter(|_| figures);
    let point = difference.map(|figure| words::difference(cost.unit, figure).point).unwrap_or_default();
    let change = cost.ratio.as_ref().filter(|_| figures).map(words::change);
    let (change, interval) = change.map_or_else(Default::default, |shown| (shown.point, shown.interval));
    let mark = if cost.headline { "**" } else { "" };
    let reason = match cost.reason.as_deref().map(escape) {
        Some(reason) if figures => format!(" ({reason})"),
        Some(reason) => format!(": {reason}"),
        None => String::new(),
    };
    format!(
        "| {mark}{}{mark} | {point} | {change} | {} | {mark}{}{mark}{reason} |\n",
        words::label(cost.quantity),
        interval.as_deref().map(escape).unwrap_or_default(),
        words::verdict(cost)
    )
}

fn closing(summary: &Summary) -> String {
    let mut text = String::new();
    if !summary.findings.is_empty() {
        text.push('\n');
    }
    for finding in &summary.findings {
        let word = match finding.severity {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Problem => "problem",
        };
        let subject = match finding.subject.as_str() {
            "" => String::new(),
            subject => format!(" ({})", escape(subject)),
        };
        let remedy = match finding.remedy.as_str() {
            "" => String::new(),
            remedy => format!(" → {}", escape(remedy)),
        };
        text.push_str(&format!(
            "- {word}: **{}**{subject}: {}{remedy}\n",
            escape(title(&finding.name)),
            escape(&finding.evidence)
        ));
    }
    let goal = words::goal(summary).map(|goal| format!("; {goal}")).unwrap_or_default();
    text.push_str(&format!(
        "\n95 % intervals over {} blocks; margin ±{}{goal}{}; run {}\n",
        summary.blocks.used,
        summary.margin,
        words::idle(summary),
        escape(&summary.run)
    ));
    text
}

/// Escapes what is markup in Markdown or HTML, and `@`, which would mention somebody.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in clean(text).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '@' => out.push_str("&#64;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '!' => {
                out.push('\\');
                out.push(c);
            }
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_forms_no_markup() {
        assert_eq!(escape("<b>|*x*|[a](b) @you"), "&lt;b&gt;\\|\\*x\\*\\|\\[a\\](b) &#64;you");
    }
}
