//! What a terminal shows by default: the verdict as a sentence, one table of what is asked most, what is not
//! shown and why, and the findings that change what the reader should do. Two variants at one point take at
//! most 24 lines of 80 columns; the rest is with `--details` and in the report.

use weighbridge_model::estimate::{Quantity, Verdict};
use weighbridge_model::finding::{WORTH_READING, title};
use weighbridge_model::quantity::Ratio;
use weighbridge_model::summary::{Cost, Finding, Severity, VariantSummary};

use super::{Page, change_cells, label_cell, reading, severity, unavailable_words};
use crate::style::Tone;
use crate::table::{Align, Cell, Table};
use crate::text::{clean, columns, cut};
use crate::view::{self, Pair, Point};
use crate::{capacity, layering, result_tables, words};

/// What is asked most, by name, in the order of rows.
const ASKED_MOST: [&str; 9] = [
    "hit_rate",
    "response_p50",
    "response_p95",
    "response_p99",
    "service_p50",
    "service_p99",
    "throughput",
    "cpu_per_operation",
    "memory_peak",
];
/// With more pairs than this, only the headline of each is shown, beside absolute figures.
const PAIRS_MOST: usize = 3;
/// Findings that are told at most; the others are named.
const FINDINGS_MOST: usize = 2;
/// Lines of a screen.
const SCREEN: usize = 24;
/// The place of the run, which is always below.
const PLACE: usize = 1;
/// What a run tells beside its result: three lines of warnings, and its place.
const BESIDE: usize = 3 + PLACE;
/// Names up to this many columns head their own column.
const NAME_MOST: usize = 14;

impl Page<'_> {
    /// With as many findings as leave room on a screen for what else a run tells, but always with problems; where that
    /// does not fit even a screen alone, with all that may be told.
    pub(super) fn brief(&self) -> Vec<String> {
        let problems = self.findings().iter().filter(|group| group[0].severity == Severity::Problem).count();
        let fewest = problems.min(FINDINGS_MOST);
        let mut texts: Vec<_> = (fewest..=FINDINGS_MOST).map(|count| self.told(count)).collect();
        let height = |lines: &Vec<String>| lines.iter().map(|text| text.split('\n').count()).sum::<usize>();
        let roomy = texts.iter().rposition(|lines| height(lines) <= SCREEN - BESIDE);
        let alone = (height(&texts[0]) <= SCREEN - PLACE).then_some(0);
        let at = roomy.or(alone).unwrap_or(texts.len() - 1);
        texts.swap_remove(at)
    }

    fn told(&self, findings: usize) -> Vec<String> {
        let is_told = self.summary.findings.iter().any(|finding| finding.severity > Severity::Note);
        let mut lines = self.alarms(!is_told);
        lines.extend(self.opening());
        let unavailable = self.summary.unavailable.iter();
        lines.extend(unavailable.map(|(name, reason)| cut(&unavailable_words(name, reason), self.columns)));
        let points = view::points(self.summary);
        let is_many = points.iter().map(|point| point.pairs.len()).sum::<usize>() > PAIRS_MOST;
        for point in &points {
            lines.push(String::new());
            lines.extend(self.point(point, is_many));
        }
        lines.extend(layering::over_points(self.summary, self.style, self.columns));
        lines.push(String::new());
        lines.extend(self.notes(findings));
        lines.extend(words::goal_missed(self.summary).map(|text| self.folded("", &text)));
        lines.push(self.secondary(&reading(self.summary)));
        lines
    }

    fn point(&self, point: &Point<'_>, is_many: bool) -> Vec<String> {
        let has_capacities = !capacity::at(self.summary, point.label).is_empty();
        let mut lines = if is_many || point.pairs.is_empty() || has_capacities {
            let mut lines = self.figures(point);
            if has_capacities && !is_many && capacity::common_rate(self.summary, point.label).is_some() {
                lines.extend(self.pairs(point));
            }
            lines
        } else {
            let mut lines = self.condition(point);
            lines.extend(self.pairs(point));
            lines
        };
        lines.extend(result_tables::answer_lines(self.summary, point.label, self.style, self.columns));
        if !is_many {
            lines.extend(self.where_time_went(point));
        }
        lines.extend(self.layers(point));
        lines
    }

    fn pairs(&self, point: &Point<'_>) -> Vec<String> {
        let mut lines = Vec::new();
        for pair in &point.pairs {
            lines.push(self.style.paint(Tone::Strong, &self.pair_heading(point, pair)));
            lines.extend(self.pair(point, pair));
        }
        lines
    }

    fn pair(&self, point: &Point<'_>, pair: &Pair<'_>) -> Vec<String> {
        let (shown, left): (Vec<&Cost>, Vec<&Cost>) =
            // Capacities have a table of their own.
            asked_most(pair)
                .into_iter()
                .filter(|cost| cost.quantity != Quantity::Capacity)
                .partition(|cost| words::has_figures(cost));
        let mut lines = Vec::new();
        if !shown.is_empty() {
            let tables = [2, 1].map(|gap| table(point, pair, &shown, gap));
            let fits = |table: &&Table| table.width() <= self.columns;
            lines.extend(tables.iter().find(fits).unwrap_or(&tables[1]).lines(self.style, self.columns));
        }
        let margin = self.summary.margin;
        let unclear = shown.iter().copied().filter(|cost| needs_reason(cost, margin));
        let unclear = by_reason(unclear).into_iter();
        lines.extend(unclear.map(|text| self.folded("  ", &text)));
        let left = by_reason(left.into_iter());
        if !left.is_empty() {
            lines.push(self.folded("not shown: ", &left.join("; ")));
        }
        lines
    }

    /// Findings that change what the reader should do, in two lines each; then the names of the others.
    fn notes(&self, most: usize) -> Vec<String> {
        let mut groups = self.findings();
        groups.sort_by_key(|group| std::cmp::Reverse(group[0].severity));
        let is_worth = |group: &&Vec<&Finding>| {
            group[0].severity > Severity::Note || WORTH_READING.contains(&&*group[0].name)
        };
        let told: Vec<_> = groups.iter().filter(is_worth).take(most).collect();
        let names =
            groups.iter().filter(|group| !told.contains(group)).map(|group| clean(title(&group[0].name)));
        let names = view::distinct(names);
        let mut lines: Vec<String> = told.iter().flat_map(|group| self.note(group)).collect();
        let also = if names.is_empty() { String::new() } else { format!(", notes on {}", names.join(", ")) };
        let more = cut(&format!("`--details`: all quantities{also}"), self.columns);
        lines.push(self.style.paint(Tone::Secondary, &more));
        lines
    }

    fn note(&self, group: &[&Finding]) -> [String; 2] {
        let finding = group[0];
        let (word, tone) = severity(finding.severity);
        let subject = match (finding.subject.as_str(), group.len()) {
            ("", _) => String::new(),
            (subject, 1) => format!(" ({subject})"),
            (subject, count) => format!(" ({subject}, and {} more)", count - 1),
        };
        let text = clean(&format!("{}{subject}: {}", title(&finding.name), finding.evidence));
        let room = self.columns - columns(word) - 2;
        let first = format!("{}: {}", self.style.paint(tone, word), cut(&text, room));
        [first, format!("  -> {}", cut(&clean(&finding.remedy), self.columns - 5))]
    }
}

/// The headline, then what is asked most, over all operations; service times only where they differ from
/// response times.
fn asked_most<'a>(pair: &Pair<'a>) -> Vec<&'a Cost> {
    let has_all = pair.costs.iter().any(|cost| cost.operation == "all");
    let whole: Vec<&Cost> =
        pair.costs.iter().copied().filter(|cost| !has_all || cost.operation == "all").collect();
    let place = |cost: &Cost| ASKED_MOST.iter().position(|name| *name == cost.quantity.name());
    let mut rows: Vec<&Cost> = whole
        .iter()
        .copied()
        .filter(|cost| cost.headline || place(cost).is_some())
        .filter(|cost| cost.headline || !says_the_same(cost, &whole))
        .collect();
    rows.sort_by_key(|cost| (!cost.headline, place(cost)));
    rows
}

/// Whether it is a service time whose response time has the same verdict, and its change in the interval.
fn says_the_same(cost: &Cost, all: &[&Cost]) -> bool {
    let Some(name) = cost.quantity.name().strip_prefix("service_").map(|rest| format!("response_{rest}"))
    else {
        return false;
    };
    let twin = |other: &&&Cost| other.quantity.name() == name && other.operation == cost.operation;
    all.iter().find(twin).is_some_and(|twin| {
        let within = |(lower, upper)| cost.ratio.is_none_or(|own| lower <= own.point && own.point <= upper);
        let interval = twin.ratio.and_then(|ratio| ratio.interval());
        (cost.verdict, cost.effect) == (twin.verdict, twin.effect) && interval.is_none_or(within)
    })
}

/// Absolute figures of both, the change with the interval on which the verdict rests, and the verdict.
fn table(point: &Point<'_>, pair: &Pair<'_>, costs: &[&Cost], gap: usize) -> Table {
    let align = [Align::Left, Align::Right, Align::Right, Align::Right, Align::Left, Align::Left];
    let mut table = Table::new(align, gap);
    let names = [pair.baseline, pair.variant].map(clean);
    let heads = if names.iter().all(|name| columns(name) <= NAME_MOST) {
        names
    } else {
        ["baseline", "variant"].map(str::to_owned)
    };
    let [base, own] = heads;
    let heads = [String::new(), base, own, "change".to_owned(), "95 % interval".to_owned(), String::new()];
    table.push(heads.into_iter().map(|head| Cell::toned(Tone::Secondary, head)).collect());
    let base = point.variants.iter().find(|variant| variant.baseline).copied();
    let own = point.variants.iter().find(|variant| variant.name == pair.variant).copied();
    for cost in costs {
        let mut row = vec![label_cell(cost), absolute(base, cost), absolute(own, cost)];
        row.extend(change_cells(cost));
        table.push(row);
    }
    table
}

fn absolute(variant: Option<&VariantSummary>, cost: &Cost) -> Cell {
    let figure = variant.and_then(|variant| view::figure(variant, &cost.operation, cost.quantity));
    let estimate = figure.and_then(|figure| figure.estimate.as_ref());
    Cell::new(estimate.map_or_else(|| "–".to_owned(), |estimate| cost.unit.display(estimate.point)))
}

/// Whether it is undecided although its interval lies on one side of no change, or within the margin; or has none.
fn needs_reason(cost: &Cost, margin: Ratio) -> bool {
    let bounds = cost.ratio.and_then(|ratio| ratio.interval());
    let decides = |(lower, upper): (f64, f64)| {
        lower > 1.0 || upper < 1.0 || (lower >= 1.0 - margin.get() && upper <= 1.0 + margin.get())
    };
    cost.verdict == Verdict::Undecided && bounds.is_none_or(decides)
}

/// Costs that share a reason as one text: `p99: p99 needs about 2,000 requests in each block`.
fn by_reason<'a>(costs: impl Iterator<Item = &'a Cost>) -> Vec<String> {
    let mut groups: Vec<(String, Vec<&Cost>)> = Vec::new();
    for cost in costs {
        let reason = cost.reason.as_deref().unwrap_or(cost.verdict.name());
        // What follows is the remedy, or a remark.
        let reason = clean(reason.split("; ").next().unwrap_or(reason));
        match groups.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, group)) => group.push(cost),
            None => groups.push((reason, vec![cost])),
        }
    }
    groups.into_iter().map(|(reason, group)| format!("{}: {reason}", words::quantities(&group))).collect()
}
