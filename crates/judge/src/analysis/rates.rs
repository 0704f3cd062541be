//! What each rate that an experiment lists showed: mean times, what was answered, and rightly, hits, and whether the objective
//! was kept; and what another start of a cache changes at the same rates.

use weighbridge_model::estimate::{Quantity, Unit};
use weighbridge_model::id::{PointId, PointLabel, VariantId};
use weighbridge_model::objective::Objectives;
use weighbridge_model::quantity::PerSecond;
use weighbridge_model::table::{ResultTable, TableCell, TableColumn, TableDrawing};

use super::TabledPoint;
use super::capacity::kept;
use crate::capacity::{CurvePoint, curve};
use crate::estimate::{BlockSteps, Estimand, VariantSamples};
use crate::question::{Point, Scope};
use crate::verdict::conclude;

/// The factor that says what a cache holds when a load begins.
const START: &str = "workload.start";

/// What is told of all operations together, where the workload counts it.
const SHARES: [Quantity; 3] = [Quantity::Availability, Quantity::Reliability, Quantity::HitRate];

/// Of every variant and listed rate.
pub(super) fn rates(point: &TabledPoint<'_>) -> Option<ResultTable> {
    let objectives = point.question.objectives(point.id)?;
    let listed = &point.question.listed_rates;
    if listed.is_empty() {
        return None;
    }
    let mut rows = Vec::new();
    for (variant, facts) in point.variants() {
        let curve = curve(objectives, BlockSteps::new(point.records, point.id, variant).steps());
        for rate in listed {
            let names = [TableCell::variant(&facts.name), TableCell::text(&rate.to_string())];
            let shown = curve.iter().find(|shown| shown.rate == *rate);
            let figures = figures(point, variant, *rate).chain(answers(objectives, shown));
            rows.push(names.into_iter().chain(figures).collect::<Vec<_>>());
        }
    }
    let mut columns = vec![TableColumn::text("variant"), TableColumn::text("rate")];
    columns.extend(timed(point.facts).map(|scope| TableColumn::of(&mean_name(point.facts, scope), Unit::Ns)));
    columns.extend(SHARES.map(|share| TableColumn::of(&share.label(), share.unit())));
    columns.extend(objectives.list().iter().map(|objective| match objectives.list() {
        [_] => TableColumn::text("kept"),
        _ => TableColumn::text(&objective.to_string()),
    }));
    let (rows, columns) = without_unknown(rows, columns);
    Some(ResultTable {
        name: "rates".to_owned(),
        title: "Listed rates".to_owned(),
        point: point.facts.label.clone(),
        reading: "Of the steps at each rate: mean response times, the share of requests that were answered, and rightly, the \
                  share of lookups that found their key, and whether the objective was kept."
            .to_owned(),
        columns,
        rows,
        is_answer: true,
        drawing: Some(TableDrawing::Bars { value: 2 }),
        ..ResultTable::default()
    })
}

/// The scopes that have a mean of their own: operations, not all together where there are several, nor the kinds of one, such
/// as `get hit` of `get`.
fn timed(facts: &Point) -> impl Iterator<Item = Scope> {
    let is_kind = |scope: Scope| {
        let name = facts.name(scope);
        facts
            .operations
            .iter()
            .any(|whole| name.strip_prefix(&whole[..]).is_some_and(|kind| kind.starts_with(' ')))
    };
    facts.scopes().into_iter().filter(move |scope| *scope != Scope::All && !is_kind(*scope))
}

fn mean_name(facts: &Point, scope: Scope) -> String {
    match scope {
        Scope::One(_) => format!("{} mean", facts.name(scope)),
        Scope::All | Scope::Only => "mean".to_owned(),
    }
}

fn figures<'a>(
    point: &'a TabledPoint<'_>,
    variant: VariantId,
    rate: PerSecond,
) -> impl Iterator<Item = TableCell> + 'a {
    let of_scope = move |scope| samples(point, point.id, variant, scope, rate);
    let mean = move |scope| TableCell::figure(of_scope(scope).figure(Quantity::ResponseMean).ok());
    let whole = of_scope(point.facts.scopes()[0]);
    timed(point.facts).map(mean).chain(SHARES.map(|share| TableCell::figure(whole.figure(share).ok())))
}

fn samples<'a>(
    point: &TabledPoint<'a>,
    at: PointId,
    variant: VariantId,
    scope: Scope,
    rate: PerSecond,
) -> VariantSamples<'a> {
    let estimand = Estimand { point: at, variant, scope };
    VariantSamples::of_rate(point.question, point.records, estimand, rate)
}

/// What the rate showed of each objective.
fn answers(objectives: &Objectives, shown: Option<&CurvePoint>) -> Vec<TableCell> {
    let Some(shown) = shown else {
        return vec![TableCell::text("not measured"); objectives.list().len()];
    };
    shown.classes.iter().map(|class| TableCell::text(kept(*class).words())).collect()
}

/// Without columns of which no cell is known, such as hits of what has no keys.
fn without_unknown(
    rows: Vec<Vec<TableCell>>,
    columns: Vec<TableColumn>,
) -> (Vec<Vec<TableCell>>, Vec<TableColumn>) {
    let is_known = |at: usize| rows.iter().any(|row| row[at] != TableCell::figure(None));
    let known: Vec<bool> = (0..columns.len()).map(is_known).collect();
    let keep = |row: Vec<TableCell>| {
        row.into_iter().zip(&known).filter(|(_, known)| **known).map(|(cell, _)| cell).collect()
    };
    let columns = columns.into_iter().zip(&known).filter(|(_, known)| **known).map(|(one, _)| one).collect();
    (rows.into_iter().map(keep).collect(), columns)
}

/// Of every variant and listed rate, at a point that differs from an earlier one by the start alone: against that one.
pub(super) fn starts(point: &TabledPoint<'_>) -> Option<ResultTable> {
    let own = point.facts.label.get(START)?;
    let alike = |label: &PointLabel| {
        let mut label = label.clone();
        label.remove(START).map(|_| label)
    };
    let mut earlier = point.question.points().take_while(|(id, _)| *id != point.id);
    let (before, first) = earlier.find(|(_, other)| alike(&other.label) == alike(&point.facts.label))?;
    let first = first.label.get(START)?;
    let mut rows = Vec::new();
    for (variant, facts) in point.variants() {
        for rate in &point.question.listed_rates {
            let names = [TableCell::variant(&facts.name), TableCell::text(&rate.to_string())];
            rows.push(names.into_iter().chain(beside(point, before, variant, *rate)).collect::<Vec<_>>());
        }
    }
    let column =
        |name: &str, start: &dyn std::fmt::Display, unit| TableColumn::of(&format!("{name} {start}"), unit);
    (!rows.is_empty()).then(|| ResultTable {
        name: "starts".to_owned(),
        title: format!("Start {own} against {first}"),
        point: point.facts.label.clone(),
        reading: "Mean response times over all operations, their change with its verdict, and the share of lookups that found \
                  their key, from the same blocks."
            .to_owned(),
        columns: vec![
            TableColumn::text("variant"),
            TableColumn::text("rate"),
            column("mean", first, Unit::Ns),
            column("mean", own, Unit::Ns),
            TableColumn::text("change of the mean"),
            column("hit rate", first, Unit::Share),
            column("hit rate", own, Unit::Share),
        ],
        rows,
        is_answer: true,
        drawing: Some(TableDrawing::Bars { value: 6 }),
        ..ResultTable::default()
    })
}

fn beside(point: &TabledPoint<'_>, before: PointId, variant: VariantId, rate: PerSecond) -> [TableCell; 5] {
    let scope = point.facts.scopes()[0];
    let [first, own] = [before, point.id].map(|at| samples(point, at, variant, scope, rate));
    let figure = |samples: &VariantSamples<'_>, quantity| TableCell::figure(samples.figure(quantity).ok());
    let change = own.against(&first, Quantity::ResponseMean).ok();
    let change = change.and_then(|change| {
        let verdict = conclude(&change, Quantity::ResponseMean, point.question.margin).verdict;
        Some(TableCell::Difference { ratio: change.ratio()?, verdict })
    });
    [
        figure(&first, Quantity::ResponseMean),
        figure(&own, Quantity::ResponseMean),
        change.unwrap_or(TableCell::figure(None)),
        figure(&first, Quantity::HitRate),
        figure(&own, Quantity::HitRate),
    ]
}
