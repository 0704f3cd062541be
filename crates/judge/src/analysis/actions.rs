//! Actions of a script: how often each was carried out and how long it took; and attempts that were answered *again*.
//!
//! Times are the figures of the operations that are actions. An operation may be a part of other actions too, a quote of a list of
//! holdings; then it is told how many were actions, and its times are of all.

use weighbridge_model::estimate::{Quantity, Unit};
use weighbridge_model::experiment::{ActionCounting, ActionOperation, ScriptOperations};
use weighbridge_model::id::OperationId;
use weighbridge_model::record::counts::Count;
use weighbridge_model::summary::VariantSummary;
use weighbridge_model::table::{ResultTable, TableCell, TableColumn, TableDrawing};

use super::TabledPoint;
use crate::question::Scope;
use crate::records::Cell;

/// The columns of an action's times.
const TIMES: [(&str, Quantity); 3] =
    [("mean", Quantity::ResponseMean), ("p50", Quantity::ResponseP50), ("p99", Quantity::ResponseP99)];

/// Of every variant and action.
pub(super) fn actions(point: &TabledPoint<'_>) -> Option<ResultTable> {
    let actions = &point.facts.script.as_ref()?.actions;
    let mut rows = Vec::new();
    for (variant, summary) in point.summaries() {
        let counts = counts(actions, &point.cells(variant));
        let all: u64 = counts.iter().sum();
        for (action, count) in actions.iter().zip(counts).filter(|(_, count)| *count > 0) {
            let operation = point.facts.name(Scope::One(action.operation));
            let times = TIMES.map(|(_, quantity)| figure(summary, operation, quantity));
            let share = TableCell::Share { share: count as f64 / all as f64 };
            let row = [TableCell::variant(&summary.name), TableCell::text(action.name)];
            let row = row.into_iter().chain([TableCell::Count { count }, share]).chain(times);
            rows.push(row.collect::<Vec<_>>());
        }
    }
    let named = [TableColumn::text("variant"), TableColumn::text("action")];
    let counted = [TableColumn::of("good", Unit::Count), TableColumn::of("share", Unit::Share)];
    let times = TIMES.map(|(name, quantity)| TableColumn::of(name, quantity.unit()));
    (!rows.is_empty()).then(|| ResultTable {
        name: "actions".to_owned(),
        title: "Actions".to_owned(),
        point: point.facts.label.clone(),
        reading: "How often each action was carried out with every reply right, its share of all actions, and its response time, \
                  from when its first request was due until its last reply."
            .to_owned(),
        columns: named.into_iter().chain(counted).chain(times).collect(),
        rows,
        notes: actions.iter().filter_map(shared_note).collect(),
        drawing: Some(TableDrawing::Bars { value: 4 }),
        ..ResultTable::default()
    })
}

/// How often each action was carried out.
fn counts(actions: &[ActionOperation], cells: &[Cell<'_>]) -> Vec<u64> {
    let good = |operation| cells.iter().map(|cell| cell.good(Scope::One(operation))).sum::<u64>();
    let known = |action: &ActionOperation| match action.counted {
        ActionCounting::Alone => good(action.operation),
        ActionCounting::Beside(other) => good(action.operation).saturating_sub(good(other)),
        ActionCounting::Rest => 0,
    };
    let mut counts: Vec<u64> = actions.iter().map(known).collect();
    if let Some(rest) = actions.iter().position(|action| action.counted == ActionCounting::Rest) {
        counts[rest] = counted(cells, Count::Actions).saturating_sub(counts.iter().sum());
    }
    counts
}

fn counted(cells: &[Cell<'_>], count: Count) -> u64 {
    cells.iter().filter_map(Cell::counts).map(|counts| counts.get(count)).sum()
}

fn shared_note(action: &ActionOperation) -> Option<String> {
    let name = action.name;
    let is_shared = action.counted != ActionCounting::Alone;
    is_shared.then(|| format!("Times of `{name}` are also of such requests that are parts of other actions."))
}

/// Of every variant, where one was answered *again* at all; by operation what attempts cost it.
pub(super) fn attempts(point: &TabledPoint<'_>) -> Option<ResultTable> {
    let script = point.facts.script.as_ref()?;
    let aborts = |variant| counted(&point.cells(variant), Count::Aborts);
    if point.variants().all(|(variant, _)| aborts(variant) == 0) {
        return None;
    }
    let name = |column: &str| TableColumn::of(column, Unit::Ns);
    let rows = point.summaries().flat_map(|(variant, summary)| {
        let count = aborts(variant);
        let all = attempts_in_all(point, script.again, summary, count);
        let each = requests(point, script, summary).into_iter().filter(move |_| count > 0);
        [all].into_iter().chain(each).collect::<Vec<_>>()
    });
    Some(ResultTable {
        name: "attempts".to_owned(),
        title: "Attempts answered again".to_owned(),
        point: point.facts.label.clone(),
        reading: "Attempts that others’ transactions were in the way of, and their share of all; mean times from an attempt until \
                  it was answered again, from when a request was due until its good reply with all attempts, and of the last \
                  attempt alone."
            .to_owned(),
        columns: vec![
            TableColumn::text("variant"),
            TableColumn::text("operation"),
            TableColumn::of("answered again", Unit::Count),
            TableColumn::of("abort rate", Unit::Share),
            name("until again"),
            name("until success"),
            name("last attempt"),
        ],
        rows: rows.collect(),
        notes: vec!["Attempts are counted for all operations together.".to_owned()],
        drawing: Some(TableDrawing::Bars { value: 3 }),
        ..ResultTable::default()
    })
}

fn attempts_in_all(
    point: &TabledPoint<'_>,
    again: OperationId,
    summary: &VariantSummary,
    count: u64,
) -> Vec<TableCell> {
    let all = point.facts.name(Scope::All);
    vec![
        TableCell::variant(&summary.name),
        TableCell::text(all),
        TableCell::Count { count },
        figure(summary, all, Quantity::AbortRate),
        figure(summary, point.facts.name(Scope::One(again)), Quantity::ResponseMean),
        figure(summary, all, Quantity::ResponseMean),
        figure(summary, all, Quantity::ServiceMean),
    ]
}

/// A row for each operation that is a request and was measured.
fn requests(
    point: &TabledPoint<'_>,
    script: &ScriptOperations,
    summary: &VariantSummary,
) -> Vec<Vec<TableCell>> {
    let row = |operation: &OperationId| {
        let operation = point.facts.name(Scope::One(*operation));
        let times = [Quantity::ResponseMean, Quantity::ServiceMean];
        let times = times.map(|quantity| figure(summary, operation, quantity));
        let is_known = times.iter().any(|cell| cell.estimate().is_some());
        let unknown = [(); 3].map(|()| TableCell::figure(None));
        let row = [TableCell::variant(&summary.name), TableCell::text(operation)];
        is_known.then(|| row.into_iter().chain(unknown).chain(times).collect())
    };
    script.requests.iter().filter_map(row).collect()
}

/// A figure of the summary; absent with its reason where it was withheld.
fn figure(summary: &VariantSummary, operation: &str, quantity: Quantity) -> TableCell {
    let is_it =
        |one: &&weighbridge_model::summary::Figure| one.operation == operation && one.quantity == quantity;
    match summary.figures.iter().find(is_it) {
        Some(found) if found.estimate.is_none() => TableCell::Absent { reason: found.reason.clone() },
        found => TableCell::figure(found.and_then(|one| one.estimate)),
    }
}
