//! Costs between variants of two runs, which were not measured together: through a baseline that both runs
//! hold, or with the host's known variance from run to run.
//!
//! No block of one run is ever paired with a block of the other. The caller must know, and say, whether
//! either way applies (same program, same host, same load).

use weighbridge_model::estimate::{ContrastKind, Estimate, Quantity, Validity, Verdict};
use weighbridge_model::finding::reason;
use weighbridge_model::id::{PointId, VariantId};
use weighbridge_model::record::TrialRecord;
use weighbridge_model::reliability::RunToRun;
use weighbridge_model::summary::{Cost, Summary};

use crate::checks::generator::GENERATOR_BOUND;
use crate::estimate::{Absence, Estimand, VariantSamples};
use crate::question::{Question, Scope};
use crate::records::{Records, WindowSelection};
use crate::reliability::run_deviation;
use crate::stats::interval::Mean;
use crate::thresholds::{BLOCKS_FOR_INTERVAL, LEVEL};
use crate::verdict::{conclude_from_mean, correct, cost_without_verdict};

/// The part of one run that is compared: a shared baseline as variant 0 and the compared variant as 1, or the
/// compared variant alone. Question and trials hold only these variants, numbered so.
#[derive(Debug, Clone, Copy)]
pub struct ComparedRun<'a> {
    pub question: &'a Question,
    pub trials: &'a [TrialRecord],
    pub summary: &'a Summary,
}

/// Block means of ln(quantity or ratio).
struct Logs {
    mean: Mean,
    blocks: u32,
}

struct BothLogs {
    first: Logs,
    second: Logs,
}

/// Compares the second run's variant with the first's, each as a ratio to the baseline of its own run: with
/// block log-ratios a and b of the runs, ln ratio = b̄ − ā; variances add; degrees of freedom by Welch and
/// Satterthwaite. A change of the host between the runs cancels if it multiplies baseline and variant alike.
pub fn through_baseline(first: ComparedRun<'_>, second: ComparedRun<'_>) -> Vec<Cost> {
    let records = [first, second].map(|part| Records::new(part.trials));
    table(first, second, VariantId(1), |point, scope, quantity| {
        let logs = |part: ComparedRun<'_>, records: &Records<'_>| {
            let samples = |variant| {
                let estimand = Estimand { point, variant, scope };
                VariantSamples::new(part.question, records, estimand, WindowSelection::Measured)
            };
            let contrast = samples(VariantId(1)).against(&samples(VariantId(0)), quantity);
            let contrast = contrast.map_err(|absence: Absence| absence.to_string())?;
            let blocks = contrast.blocks().len() as u32;
            let mean = contrast.mean().ok_or_else(|| few(blocks))?;
            Ok::<_, String>(Logs { mean, blocks })
        };
        Ok(BothLogs { first: logs(first, &records[0])?, second: logs(second, &records[1])? })
    })
}

/// Compares the second run's variant with the first's; the host's deviation from run to run is part of the
/// error: s_a²/n_a + s_b²/n_b + 2·s_run². The last term has its own degrees of freedom. Quantities whose
/// deviation was not calibrated are withheld.
pub fn through_calibration(first: ComparedRun<'_>, second: ComparedRun<'_>, found: &[RunToRun]) -> Vec<Cost> {
    let records = [first, second].map(|part| Records::new(part.trials));
    table(first, second, VariantId(0), |point, scope, quantity| {
        let run = run_deviation(found, quantity).filter(|_| scope.is_whole());
        let run =
            run.ok_or("its deviation from run to run was not calibrated; put both into one experiment")?;
        let logs = |part: ComparedRun<'_>, records: &Records<'_>| {
            let estimand = Estimand { point, variant: VariantId(0), scope };
            let samples = VariantSamples::new(part.question, records, estimand, WindowSelection::Measured);
            samples.figure(quantity).map_err(|absence: Absence| absence.to_string())?;
            let logs = samples.log_values(quantity);
            let blocks = logs.len() as u32;
            let first_stage = (part.question.blocks.min as usize).max(BLOCKS_FOR_INTERVAL);
            let enough = logs.len() >= BLOCKS_FOR_INTERVAL;
            let mean =
                Mean::with_first_stage(&logs, first_stage).filter(|_| enough).ok_or_else(|| few(blocks))?;
            Ok::<_, String>(Logs { mean, blocks })
        };
        let (first, second) = (logs(first, &records[0])?, logs(second, &records[1])?);
        let both = std::f64::consts::SQRT_2 * run.deviation.get();
        let mean = first.mean.widened(both, f64::from(run.runs) - 1.0);
        Ok(BothLogs { first: Logs { mean, ..first }, second })
    })
}

fn few(blocks: u32) -> String {
    format!("{blocks} blocks; an interval needs {BLOCKS_FOR_INTERVAL}")
}

/// Costs of every point, scope and quantity, the headline first, with Holm's correction over each point.
fn table(
    first: ComparedRun<'_>,
    second: ComparedRun<'_>,
    compared: VariantId,
    logs: impl Fn(PointId, Scope, Quantity) -> Result<BothLogs, String>,
) -> Vec<Cost> {
    let mut costs = Vec::new();
    for (id, point) in first.question.points() {
        let mut rows = Vec::new();
        for scope in point.scopes() {
            // Shares are told where the first run told them.
            let has_figure = |quantity: Quantity| {
                let mut figures = first.summary.variants.iter().flat_map(|variant| &variant.figures);
                quantity.contrast() == ContrastKind::Log || figures.any(|figure| figure.quantity == quantity)
            };
            let is_told = |quantity: &Quantity| scope.has(*quantity) && has_figure(*quantity);
            for quantity in Quantity::ALL.into_iter().filter(is_told) {
                let name = &second.question.variants[compared.index()].name;
                let mut row = cost_without_verdict(point, scope, name, quantity, first.question.headline);
                match logs(id, scope, quantity) {
                    Err(reason) => row.reason = Some(reason),
                    Ok(logs) => {
                        let figure = figure(first, &row, compared);
                        fill(&mut row, logs, first.question, figure);
                    }
                }
                doubt(&mut row, first, second, compared);
                rows.push(row);
            }
        }
        rows.sort_by_key(|row| !row.headline);
        correct(&mut rows);
        costs.extend(rows);
    }
    costs
}

/// The first run's own figure for the row. It turns a ratio into a difference.
fn figure(first: ComparedRun<'_>, row: &Cost, compared: VariantId) -> Option<f64> {
    let name = &first.question.variants[compared.index()].name;
    let variant = first.summary.variants.iter().find(|v| v.name == *name && v.point == row.point)?;
    let own =
        |f: &&weighbridge_model::summary::Figure| f.quantity == row.quantity && f.operation == row.operation;
    Some(variant.figures.iter().find(own)?.estimate?.point)
}

fn fill(row: &mut Cost, logs: BothLogs, question: &Question, figure: Option<f64>) {
    let BothLogs { first, second } = logs;
    let mean = second.mean.minus(first.mean);
    let interval = match row.quantity.contrast() {
        ContrastKind::Log => mean.interval(LEVEL).exp(),
        ContrastKind::Plain => mean.interval(LEVEL),
    };
    let estimate = |scaled: &dyn Fn(f64) -> f64| Estimate {
        point: scaled(interval.point),
        lower: Some(scaled(interval.lower)),
        upper: Some(scaled(interval.upper)),
        level: LEVEL,
        blocks: first.blocks + second.blocks,
        bootstrap: None,
    };
    let interval = estimate(&|value| value);
    (row.ratio, row.difference) = match row.quantity.contrast() {
        // No block holds both variants, so the difference follows from the ratio, at the first run's level.
        ContrastKind::Log => (Some(interval), figure.map(|figure| estimate(&|ratio| figure * (ratio - 1.0)))),
        ContrastKind::Plain => (None, Some(interval)),
    };
    let conclusion = conclude_from_mean(mean, row.quantity, question.margin_of(row.quantity));
    (row.verdict, row.effect, row.reason, row.p) =
        (conclusion.verdict, conclusion.effect, conclusion.reason, conclusion.p);
}

fn doubt(row: &mut Cost, first: ComparedRun<'_>, second: ComparedRun<'_>, compared: VariantId) {
    let mut refuse = |verdict: Verdict, reason: String| {
        (row.verdict, row.effect, row.reason) = (verdict, None, Some(reason));
    };
    for part in [first, second] {
        let run = &part.summary.run;
        let names = part.question.variants.iter().take(compared.index() + 1).map(|v| &v.name);
        for name in names {
            let own = part.summary.variants.iter().find(|v| v.name == *name && v.point == row.point);
            if let Some(variant) = own.filter(|variant| variant.validity == Validity::Invalid) {
                let why = variant.reasons.first().cloned().unwrap_or_default();
                return refuse(Verdict::Invalid, format!("`{name}` of `{run}`: {why}"));
            }
        }
        let bound = part.summary.findings.iter().find(|finding| finding.name == GENERATOR_BOUND);
        if let Some(finding) = bound.filter(|_| row.quantity == Quantity::Throughput) {
            return refuse(
                Verdict::Withheld,
                format!("`{run}`: {}", reason(&finding.name, &finding.evidence)),
            );
        }
    }
}
