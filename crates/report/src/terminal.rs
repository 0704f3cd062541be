//! The result of a run for a terminal, with all details: alarms, the headline in words, absolute figures, one
//! quantity per line, findings, and the run's path; by default only what is asked most (`brief`). It fits
//! 80 columns unless a path is longer.

mod brief;

use weighbridge_model::estimate::{ContrastKind, Estimate, Quantity, Validity, Verdict};
use weighbridge_model::finding::{self, BEST_BY_SIZE, FindingHead, title};
use weighbridge_model::gate::GateResult;
use weighbridge_model::summary::{Cost, Finding, Severity, Summary, VariantSummary};

use crate::style::{Style, Tone};
use crate::table::{Align, Cell, Table};
use crate::text::{clean, columns, counted, grouped, hanging, hanging_whole};
use crate::view::{self, Pair, Point};
use crate::{
    TextOptions, capacity, factorial, goodput, layering, legs, names, parts, plain, reliability,
    result_tables, words,
};

/// Columns for the words beside two names: ` against `, ` (baseline)`.
const NAME_ROOM: usize = 20;
const HEADLINE_MARK: &str = "▸ ";
const NO_MARK: &str = "  ";
/// More headlines than this are listed in short.
const SENTENCES_MOST: usize = 4;
/// Up to this many [`BEST_BY_SIZE`] findings are shown with the headline; there is one per point and
/// operation.
const ADVICE_MOST: usize = 3;

/// The whole text, with a final newline.
pub fn verdicts(summary: &Summary, gates: &[GateResult], options: &TextOptions<'_>) -> String {
    let columns = options.width();
    // Lines hold two names and a few words.
    let summary = &names::shortened(summary, (columns - NAME_ROOM) / 2);
    let page = Page { summary, gates, style: options.style, columns };
    let mut lines = if options.details { page.whole() } else { page.brief() };
    let place = options.place.map(|place| format!("run: {}", clean(place)));
    lines.extend(place.map(|place| hanging_whole("", &place, columns)));
    lines.push(String::new());
    lines.join("\n")
}

struct Page<'a> {
    summary: &'a Summary,
    gates: &'a [GateResult],
    style: Style,
    columns: usize,
}

impl Page<'_> {
    fn folded(&self, lead: &str, text: &str) -> String {
        hanging(lead, text, self.columns)
    }

    /// Folded; each line is dimmed by itself.
    fn secondary(&self, text: &str) -> String {
        let folded = self.folded("", text);
        folded.lines().map(|line| self.style.paint(Tone::Secondary, line)).collect::<Vec<_>>().join("\n")
    }

    fn whole(&self) -> Vec<String> {
        let mut lines = self.alarms(true);
        lines.extend(self.opening());
        let unavailable = self.summary.unavailable.iter();
        lines.extend(unavailable.map(|(name, reason)| self.folded("", &unavailable_words(name, reason))));
        lines.extend(self.body());
        lines.push(String::new());
        lines.extend(self.closing());
        lines
    }

    fn alarms(&self, has_details: bool) -> Vec<String> {
        let mut lines = Vec::new();
        for alarm in words::alarms(self.summary) {
            lines.push(self.style.paint(Tone::Problem, &alarm.line));
            let details = alarm.details.iter().filter(|_| has_details);
            lines.extend(details.map(|text| self.folded("  ", text)));
        }
        lines
    }

    fn opening(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let quick = if self.summary.quick { " (quick: few blocks, short warm-up)" } else { "" };
        let title = format!("{}{quick}", clean(&self.summary.title));
        lines.push(self.style.paint(Tone::Strong, &self.folded("", &title)));
        let is_few = words::headlines(self.summary).count() <= SENTENCES_MOST;
        let sentence = if is_few { plain::spoken } else { words::sentence };
        for cost in words::headlines(self.summary) {
            let sentence = self.folded("", &sentence(self.summary, cost));
            lines.push(self.style.paint(words::tone(cost), &sentence));
            let others = plain::other_statistics(self.summary, cost).filter(|_| is_few);
            lines.extend(others.map(|text| self.folded("", &text)));
        }
        lines.extend(self.advice());
        lines.extend(gate_lines(self.gates, self.style, self.columns));
        lines
    }

    /// Which variant is best at which size. It comes with the headline, because runs over sizes are made to
    /// find it.
    fn advice(&self) -> Vec<String> {
        let advice = self.summary.findings.iter().filter(|finding| finding.name == BEST_BY_SIZE);
        let line = |finding: &Finding| {
            let subject =
                if finding.subject.is_empty() { String::new() } else { format!(", {}", finding.subject) };
            self.folded("", &clean(&format!("{BEST_BY_SIZE}{subject}: {}", finding.evidence)))
        };
        advice.take(ADVICE_MOST).map(line).collect()
    }

    /// The point, with workload and load in words.
    fn condition(&self, point: &Point<'_>) -> Vec<String> {
        let mut lines = Vec::new();
        let heading = words::point_heading(point.label, point.condition);
        if !heading.is_empty() {
            lines.push(self.style.paint(Tone::Strong, &self.folded("", &heading)));
        }
        if point.condition.is_none() {
            lines.extend(self.summary.conditions.iter().map(|text| self.secondary(&clean(text))));
        }
        lines
    }

    /// Absolute figures; of a search, capacities, and then those at the rate that all keep.
    fn figures(&self, point: &Point<'_>) -> Vec<String> {
        let mut lines = self.condition(point);
        let capacities = capacity::at(self.summary, point.label);
        if !capacities.is_empty() {
            lines.extend(capacity::table(&capacities).lines(self.style, self.columns));
            let Some(at) = capacity::common_rate(self.summary, point.label) else { return lines };
            lines.push(at);
        }
        let table = figures_table(&point.variants, true);
        if table.width() <= self.columns {
            lines.extend(table.lines(self.style, self.columns));
            return lines;
        }
        // If names are too long for the table, each gets a line of its own.
        let narrow = figures_table(&point.variants, false).lines(self.style, self.columns);
        let mut rows = narrow.into_iter();
        lines.extend(rows.next());
        for (variant, row) in point.variants.iter().zip(rows) {
            lines.extend([name_of(variant), row]);
        }
        lines
    }

    /// The connections of a point's variants, and what their runtimes reported of the machine.
    fn remarks(&self, point: &Point<'_>) -> Vec<String> {
        let lines = |variant: &&VariantSummary| {
            let name = clean(&variant.name);
            words::remarks(variant)
                .map(|text| self.secondary(&format!("{name} {}", clean(&text))))
                .collect::<Vec<_>>()
        };
        point.variants.iter().flat_map(lines).collect()
    }

    fn pair_heading(&self, point: &Point<'_>, pair: &Pair<'_>) -> String {
        let heading = format!("{} against {} (baseline)", clean(pair.variant), clean(pair.baseline));
        let label = words::point(point.label);
        let heading = if label.is_empty() { heading } else { format!("{heading}, {label}") };
        self.folded("", &heading)
    }

    /// Points, their figures and costs, in one table, so that columns are aligned over all points.
    fn body(&self) -> Vec<String> {
        let points = view::points(self.summary);
        let [wide, narrow] = [2, 1].map(|gap| self.table(&points, gap));
        let table = if wide.width() <= self.columns { wide } else { narrow };
        table.lines(self.style, self.columns)
    }

    fn table(&self, points: &[Point<'_>], gap: usize) -> Table {
        let align = [Align::Left, Align::Right, Align::Right, Align::Left, Align::Left];
        let mut table = Table::new(align, gap);
        for point in points {
            table.line("");
            let figures = self.figures(point).into_iter().chain(self.remarks(point));
            figures.for_each(|line| table.line(line));
            for pair in &point.pairs {
                table.line("");
                table.line(self.style.paint(Tone::Strong, &self.pair_heading(point, pair)));
                for operation in pair.operations() {
                    if words::several_operations(self.summary) {
                        table.line(self.style.paint(Tone::Strong, &format!("  {}", clean(operation))));
                    }
                    let own = pair.costs.iter().copied().filter(|cost| cost.operation == operation);
                    groups(own).iter().for_each(|group| self.group(&mut table, group));
                }
            }
            let mut used = goodput::point_lines(self.summary, point.label, self.style, self.columns);
            used.extend(result_tables::point_lines(self.summary, point.label, self.style, self.columns));
            let all = self.where_time_went(point).into_iter().chain(used).chain(self.layers(point));
            all.for_each(|line| table.line(line));
        }
        let over = layering::over_points(self.summary, self.style, self.columns);
        over.into_iter().for_each(|line| table.line(line));
        table
    }

    fn where_time_went(&self, point: &Point<'_>) -> Vec<String> {
        let mut lines = legs::variant_lines(&point.variants, self.style, self.columns);
        let relays = parts::at(self.summary, point.label);
        lines.extend(parts::point_lines(&relays, self.style, self.columns));
        lines
    }

    fn layers(&self, point: &Point<'_>) -> Vec<String> {
        let mut lines = layering::point_lines(self.summary, point.label, self.style, self.columns);
        lines.extend(factorial::point_lines(self.summary, point.label, self.style, self.columns));
        lines
    }

    /// A cost with its reason, or one line for several costs without figures that share a reason.
    fn group(&self, table: &mut Table, group: &[&Cost]) {
        let cost = group[0];
        let reason = cost.reason.as_deref().map(|reason| clean(self.short_reason(reason)));
        if !words::has_figures(cost) {
            let mark = if group.iter().any(|cost| cost.headline) { HEADLINE_MARK } else { NO_MARK };
            let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
            let text = format!("{}{reason}", cost.verdict.name());
            table.span(format!("{mark}{}", words::quantities(group)), Cell::toned(words::tone(cost), text));
            return;
        }
        table.push(cost_row(cost));
        match reason {
            // Under the verdict if it fits there, else under the row.
            Some(reason) if columns(&reason) <= columns(Verdict::NoRelevantDifference.name()) => {
                let mut row = vec![Cell::new(""); 4];
                row.push(Cell::new(reason));
                table.push(row);
            }
            Some(reason) => table.line(self.folded("      ", &reason)),
            None => {}
        }
    }

    /// Only the name of a reason that a finding below states in full.
    fn short_reason<'r>(&self, reason: &'r str) -> &'r str {
        let is_finding =
            |head: &FindingHead<'_>| self.summary.findings.iter().any(|finding| head.is_of(&finding.name));
        finding::head(reason).filter(is_finding).map_or(reason, |head| head.text)
    }

    /// Findings that are alike together, without advice that stands with the headline.
    fn findings(&self) -> Vec<Vec<&Finding>> {
        let is_advice = |finding: &&Finding| finding.name == BEST_BY_SIZE;
        let is_above = self.summary.findings.iter().filter(is_advice).count() <= ADVICE_MOST;
        let left = self.summary.findings.iter().filter(|finding| !(is_above && is_advice(finding)));
        alike_together(left)
    }

    fn closing(&self) -> Vec<String> {
        let mut lines: Vec<String> =
            self.findings().iter().flat_map(|findings| self.finding(findings)).collect();
        if !lines.is_empty() {
            lines.push(String::new());
        }
        lines.extend(words::goal(self.summary).map(|text| self.folded("", &text)));
        lines.push(self.secondary(&reading(self.summary)));
        lines.extend(
            self.summary.calibration.as_ref().map(|quote| self.secondary(&reliability::quote(quote))),
        );
        lines
    }

    fn finding(&self, findings: &[&Finding]) -> Vec<String> {
        let finding = findings[0];
        let (word, tone) = severity(finding.severity);
        let subject = match findings {
            [one] if !one.subject.is_empty() => {
                format!(" ({}): {}", clean(&one.subject), clean(&one.evidence))
            }
            [one] => format!(": {}", clean(&one.evidence)),
            _ => String::new(),
        };
        let plain = self.folded(&format!("{word}: "), &format!("{}{subject}", clean(title(&finding.name))));
        let rest = plain.strip_prefix(word).unwrap_or(&plain);
        let mut lines = vec![format!("{}{rest}", self.style.paint(tone, word))];
        if findings.len() > 1 {
            let each = |finding: &&Finding| {
                self.folded("     ", &format!("{}: {}", clean(&finding.subject), clean(&finding.evidence)))
            };
            lines.extend(findings.iter().map(each));
        }
        if !finding.remedy.is_empty() {
            lines.push(self.folded("  -> ", &clean(&finding.remedy)));
        }
        lines
    }
}

/// Each gate with its figure and a mark.
pub(crate) fn gate_lines(gates: &[GateResult], style: Style, columns: usize) -> Vec<String> {
    let line = |gate: &GateResult| {
        let tone = if gate.passed { Tone::Better } else { Tone::Problem };
        let text = hanging("", &clean(&gate.to_string()), columns);
        text.lines().map(|line| style.paint(tone, line)).collect::<Vec<_>>().join("\n")
    };
    gates.iter().map(line).collect()
}

fn unavailable_words(name: &str, reason: &str) -> String {
    format!("{} unavailable: {}", clean(name), clean(reason))
}

const fn severity(severity: Severity) -> (&'static str, Tone) {
    match severity {
        Severity::Note => ("note", Tone::Plain),
        Severity::Warning => ("warning", Tone::Undecided),
        Severity::Problem => ("problem", Tone::Problem),
    }
}

/// The difference, and the change with the interval on which the verdict rests.
fn cost_row(cost: &Cost) -> Vec<Cell> {
    let difference = cost.difference.as_ref().map(|figure| words::difference(cost.unit, figure).point);
    let mut row = vec![label_cell(cost), Cell::new(difference.unwrap_or_default())];
    row.extend(change_cells(cost));
    row
}

fn label_cell(cost: &Cost) -> Cell {
    let (mark, tone) = if cost.headline { (HEADLINE_MARK, Tone::Strong) } else { (NO_MARK, Tone::Plain) };
    Cell::toned(tone, format!("{mark}{}", words::label(cost.quantity)))
}

/// Change, interval and verdict.
fn change_cells(cost: &Cost) -> [Cell; 3] {
    // Shares have no ratio: their difference is the change.
    let difference = || cost.difference.as_ref().map(|difference| words::difference(cost.unit, difference));
    let change = match cost.quantity.contrast() {
        ContrastKind::Log => cost.ratio.as_ref().map(words::change),
        ContrastKind::Plain => difference(),
    };
    let (point, interval) = change.map_or_else(Default::default, |change| (change.point, change.interval));
    [
        Cell::new(point),
        Cell::new(interval.unwrap_or_else(|| "no interval".into())),
        Cell::toned(words::tone(cost), words::verdict(cost)),
    ]
}

/// Groups neighbouring costs without figures that share verdict and reason.
fn groups<'a>(costs: impl Iterator<Item = &'a Cost>) -> Vec<Vec<&'a Cost>> {
    let alike = |a: &Cost, b: &Cost| {
        !words::has_figures(a)
            && !words::has_figures(b)
            && (a.verdict, &a.reason) == (b.verdict, &b.reason)
            && matches!(a.verdict, Verdict::Invalid | Verdict::Withheld)
    };
    let mut groups: Vec<Vec<&Cost>> = Vec::new();
    for cost in costs {
        match groups.last_mut() {
            Some(group) if alike(group[0], cost) => group.push(cost),
            _ => groups.push(vec![cost]),
        }
    }
    groups
}

/// Groups findings that are alike, in the order of their first.
fn alike_together<'f>(findings: impl Iterator<Item = &'f Finding>) -> Vec<Vec<&'f Finding>> {
    let alike =
        |a: &Finding, b: &Finding| (a.severity, &a.name, &a.remedy) == (b.severity, &b.name, &b.remedy);
    let mut groups: Vec<Vec<&Finding>> = Vec::new();
    for finding in findings {
        match groups.iter_mut().find(|group| !finding.subject.is_empty() && alike(group[0], finding)) {
            Some(group) => group.push(finding),
            None => groups.push(vec![finding]),
        }
    }
    groups
}

fn reading(summary: &Summary) -> String {
    if words::is_imported(summary) {
        return "imported: measured by another program, each series once; no intervals".to_owned();
    }
    let blocks = summary.blocks;
    let void = if blocks.void > 0 { format!(" ({} void)", blocks.void) } else { String::new() };
    format!(
        "95 % intervals over {}{void}; margin ±{}{}; took {}",
        counted(u64::from(blocks.used), "block"),
        summary.margin,
        words::idle(summary),
        summary.took
    )
}

fn name_of(variant: &VariantSummary) -> String {
    let mut marks = Vec::new();
    if variant.baseline {
        marks.push("baseline");
    }
    if variant.validity != Validity::Valid {
        marks.push(variant.validity.name());
    }
    let name = clean(&variant.name);
    if marks.is_empty() { name } else { format!("{name} ({})", marks.join(", ")) }
}

/// Absolute figures of each variant; `named` is false if names are on lines of their own.
fn figures_table(variants: &[&VariantSummary], named: bool) -> Table {
    let mut align = vec![Align::Right; 8];
    align[0] = Align::Left;
    let mut table = Table::new(align, 2);
    let heads = ["p50", "p99", "req/s", "CPU/op", "memory", "requests", "errors"];
    let first = |name: String| Cell::new(if named { name } else { NO_MARK.into() });
    let heads = heads.map(|head| Cell::toned(Tone::Secondary, head));
    table.push(std::iter::once(first(String::new())).chain(heads).collect());
    for variant in variants {
        let shown = |quantity: Quantity, estimate: Option<&Estimate>| {
            let shown = estimate.map(|estimate| quantity.unit().display(estimate.point));
            Cell::new(shown.unwrap_or_else(|| "–".into()))
        };
        let figure = |quantity: Quantity| shown(quantity, view::overall(variant, quantity));
        let mut rate = figure(Quantity::Throughput);
        rate.text = rate.text.trim_end_matches("/s").to_owned();
        let errors = variant.errors;
        let tone = if errors > 0 { Tone::Problem } else { Tone::Plain };
        table.push(vec![
            first(name_of(variant)),
            shown(Quantity::ResponseP50, view::typical(variant)),
            figure(Quantity::ResponseP99),
            rate,
            figure(Quantity::CpuPerOperation),
            figure(Quantity::MemoryPeak),
            Cell::new(grouped(variant.requests)),
            Cell::toned(tone, grouped(errors)),
        ]);
    }
    table
}
