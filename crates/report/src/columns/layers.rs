//! Tables of what layers cost: chains, sum checks, interactions with factors, slopes over size.

use weighbridge_model::estimate::{Estimate, Quantity};
use weighbridge_model::layering::{
    Additivity, Chain, Interaction, Slope, StageCost, SumCheck, SumRow, Unchecked,
};
use weighbridge_model::summary::Summary;

use super::Read::{Count, Number, Text};
use super::{Column, column, point, some, unit};

pub(super) struct WaterfallRow<'a> {
    summary: &'a Summary,
    chain: &'a Chain,
    /// Position in the chain, from 0; the whole chain comes last.
    place: u64,
    stage: &'a str,
    variant: &'a str,
    cost: &'a StageCost,
}

impl WaterfallRow<'_> {
    fn estimate(&self) -> Option<&Estimate> {
        self.cost.difference.as_ref().or(self.cost.figure.as_ref())
    }
}

pub(super) fn waterfall_rows(summary: &Summary) -> Vec<WaterfallRow<'_>> {
    let mut rows = Vec::new();
    for chain in &summary.layering.chains {
        for (place, stage) in (0..).zip(&chain.stages) {
            let row = |cost| WaterfallRow {
                summary,
                chain,
                place,
                stage: &stage.name,
                variant: &stage.variant,
                cost,
            };
            rows.extend(stage.costs.iter().map(row));
        }
        let variant = chain.stages.last().map_or("", |stage| stage.variant.as_str());
        let place = chain.stages.len() as u64;
        let row = |cost| WaterfallRow { summary, chain, place, stage: "whole", variant, cost };
        rows.extend(chain.whole.iter().map(row));
    }
    rows
}

pub(super) fn waterfall_columns<'a>() -> Vec<Column<WaterfallRow<'a>>> {
    vec![
        column("run", Text(|row| some(&row.summary.run))),
        column("point", Text(|row| Some(point(&row.chain.point)))),
        column("of", Text(|row| some(&row.chain.of))),
        column("place", Count(|row| Some(row.place))),
        column("stage", Text(|row| some(row.stage))),
        column("variant", Text(|row| some(row.variant))),
        column("quantity", Text(|row| some(row.cost.quantity.name()))),
        column("unit", Text(|row| some(unit(row.cost.unit)))),
        column("figure", Number(|row| row.cost.figure.map(|estimate| estimate.point))),
        column("figure_lower", Number(|row| row.cost.figure?.lower)),
        column("figure_upper", Number(|row| row.cost.figure?.upper)),
        column("difference", Number(|row| row.cost.difference.map(|estimate| estimate.point))),
        column("difference_lower", Number(|row| row.cost.difference?.lower)),
        column("difference_upper", Number(|row| row.cost.difference?.upper)),
        column("ratio", Number(|row| row.cost.ratio.map(|estimate| estimate.point))),
        column("ratio_lower", Number(|row| row.cost.ratio?.lower)),
        column("ratio_upper", Number(|row| row.cost.ratio?.upper)),
        column("level", Number(|row| row.estimate().map(|estimate| estimate.level))),
        column("blocks", Count(|row| row.estimate().map(|estimate| u64::from(estimate.blocks)))),
        column("against", Text(|row| row.cost.against.as_deref().and_then(some))),
        column("reason", Text(|row| row.cost.reason.as_deref().and_then(some))),
    ]
}

pub(super) struct SumsRow<'a> {
    summary: &'a Summary,
    check: &'a SumCheck,
    row: Result<&'a SumRow, &'a Unchecked>,
}

impl SumsRow<'_> {
    fn quantity(&self) -> Option<Quantity> {
        self.row.map_or_else(|unchecked| unchecked.quantity, |row| Some(row.quantity))
    }

    fn estimate(&self, read: fn(&SumRow) -> &Estimate) -> Option<&Estimate> {
        self.row.ok().map(read)
    }

    fn sum(&self) -> Option<&Estimate> {
        self.estimate(|row| &row.sum)
    }

    fn whole(&self) -> Option<&Estimate> {
        self.estimate(|row| &row.whole)
    }

    fn interaction(&self) -> Option<&Estimate> {
        self.estimate(|row| &row.interaction)
    }

    /// `8140;45000`
    fn singles(&self, read: fn(&Estimate) -> Option<f64>) -> Option<String> {
        let numbers: Option<Vec<String>> =
            self.row.ok()?.singles.iter().map(|single| Some(read(single)?.to_string())).collect();
        numbers.map(|numbers| numbers.join(";"))
    }
}

pub(super) fn sum_rows(summary: &Summary) -> Vec<SumsRow<'_>> {
    let mut all = Vec::new();
    for check in &summary.layering.sums {
        let rows = check.rows.iter().map(Ok).chain(check.unchecked.iter().map(Err));
        all.extend(rows.map(|row| SumsRow { summary, check, row }));
    }
    all
}

pub(super) fn sum_columns<'a>() -> Vec<Column<SumsRow<'a>>> {
    vec![
        column("run", Text(|row| some(&row.summary.run))),
        column("point", Text(|row| Some(point(&row.check.point)))),
        column("of", Text(|row| some(&row.check.of))),
        column("base", Text(|row| some(&row.check.base))),
        column("singles", Text(|row| Some(names(row.check).into()))),
        column("whole", Text(|row| some(&row.check.whole))),
        column("quantity", Text(|row| row.quantity().and_then(|quantity| some(quantity.name())))),
        column("unit", Text(|row| row.quantity().and_then(|quantity| some(unit(quantity.unit()))))),
        column("alone", Text(|row| row.singles(|one| Some(one.point)).map(Into::into))),
        column("alone_lower", Text(|row| row.singles(|one| one.lower).map(Into::into))),
        column("alone_upper", Text(|row| row.singles(|one| one.upper).map(Into::into))),
        column("added", Number(|row| Some(row.sum()?.point))),
        column("added_lower", Number(|row| row.sum()?.lower)),
        column("added_upper", Number(|row| row.sum()?.upper)),
        column("together", Number(|row| Some(row.whole()?.point))),
        column("together_lower", Number(|row| row.whole()?.lower)),
        column("together_upper", Number(|row| row.whole()?.upper)),
        column("interaction", Number(|row| Some(row.interaction()?.point))),
        column("interaction_lower", Number(|row| row.interaction()?.lower)),
        column("interaction_upper", Number(|row| row.interaction()?.upper)),
        column("level", Number(|row| Some(row.interaction()?.level))),
        column("blocks", Count(|row| Some(u64::from(row.interaction()?.blocks)))),
        column("p", Number(|row| row.row.ok()?.p)),
        column("verdict", Text(|row| some(row.row.map_or("not checked", |row| row.verdict.name())))),
        column(
            "reason",
            Text(|row| {
                row.row.map_or_else(|one| some(&one.reason), |row| row.reason.as_deref().and_then(some))
            }),
        ),
    ]
}

/// `vxlan;sidecar:haproxy`
fn names(check: &SumCheck) -> String {
    check.singles.iter().map(|single| single.name.as_str()).collect::<Vec<_>>().join(";")
}

pub(super) struct SummaryRow<'a, T> {
    summary: &'a Summary,
    row: &'a T,
}

pub(super) fn interaction_rows(summary: &Summary) -> Vec<SummaryRow<'_, Interaction>> {
    summary.layering.interactions.iter().map(|row| SummaryRow { summary, row }).collect()
}

pub(super) fn interaction_columns<'a>() -> Vec<Column<SummaryRow<'a, Interaction>>> {
    vec![
        column("run", Text(|row| some(&row.summary.run))),
        column("of", Text(|row| some(&row.row.of))),
        column("stage", Text(|row| some(&row.row.stage))),
        column("variant", Text(|row| some(&row.row.variant))),
        column("above", Text(|row| some(&row.row.above))),
        column("factor", Text(|row| some(&row.row.factor))),
        column("from", Text(|row| Some(point(&row.row.from)))),
        column("to", Text(|row| Some(point(&row.row.to)))),
        column("quantity", Text(|row| some(row.row.quantity.name()))),
        column("unit", Text(|row| some(unit(row.row.unit)))),
        column("difference", Number(|row| Some(row.row.difference.point))),
        column("difference_lower", Number(|row| row.row.difference.lower)),
        column("difference_upper", Number(|row| row.row.difference.upper)),
        column("level", Number(|row| Some(row.row.difference.level))),
        column("blocks", Count(|row| Some(u64::from(row.row.difference.blocks)))),
        column("p", Number(|row| row.row.p)),
        column("verdict", Text(|row| some(Additivity::name(row.row.verdict)))),
        column("reason", Text(|row| row.row.reason.as_deref().and_then(some))),
    ]
}

pub(super) fn slope_rows(summary: &Summary) -> Vec<SummaryRow<'_, Slope>> {
    summary.layering.slopes.iter().map(|row| SummaryRow { summary, row }).collect()
}

pub(super) fn slope_columns<'a>() -> Vec<Column<SummaryRow<'a, Slope>>> {
    vec![
        column("run", Text(|row| some(&row.summary.run))),
        column("point", Text(|row| Some(point(&row.row.point)))),
        column("of", Text(|row| some(&row.row.of))),
        column("stage", Text(|row| some(&row.row.stage))),
        column("variant", Text(|row| some(&row.row.variant))),
        column("above", Text(|row| some(&row.row.above))),
        column("sizes", Text(|row| Some(sizes(row.row).into()))),
        column("quantity", Text(|row| some(row.row.quantity.name()))),
        column("unit", Text(|row| some(unit(row.row.unit)))),
        column("per_operation", Number(|row| Some(row.row.per_operation.point))),
        column("per_operation_lower", Number(|row| row.row.per_operation.lower)),
        column("per_operation_upper", Number(|row| row.row.per_operation.upper)),
        column("per_byte", Number(|row| Some(row.row.per_byte.point))),
        column("per_byte_lower", Number(|row| row.row.per_byte.lower)),
        column("per_byte_upper", Number(|row| row.row.per_byte.upper)),
        column("level", Number(|row| Some(row.row.per_operation.level))),
        column("blocks", Count(|row| Some(u64::from(row.row.per_operation.blocks)))),
    ]
}

/// `64;16384`
fn sizes(slope: &Slope) -> String {
    slope.sizes.iter().map(u64::to_string).collect::<Vec<_>>().join(";")
}
