//! Variance components of a cost: starts, rounds, and what pairing removed; carry-over and drift too.
//!
//! The rounds of every block are cut into consecutive parts, and the cost of each part is estimated like that
//! of a whole block. A nested analysis of variance compares parts within blocks with blocks. Nothing here
//! changes an estimate, a verdict or a running plan.

use std::collections::BTreeMap;

use weighbridge_model::estimate::Estimate;
use weighbridge_model::id::PointId;
use weighbridge_model::quantity::{Nanoseconds, Ratio, Timestamp};
use weighbridge_model::record::{TrialRecord, WindowKind};
use weighbridge_model::summary::{Advice, Finding, Severity, Source, Spread};

use crate::checks::carry_over::order_effect;
use crate::checks::subject;
use crate::estimate::Estimand;
use crate::estimate::parts::{CostParts, Variances};
use crate::question::{Blocks, Question};
use crate::records::{Block, Records};
use crate::stats::interval::Mean;
use crate::steer::{SpendHistory, SpendRule, SpendStep};
use crate::thresholds::{BLOCKS_FOR_INTERVAL, LEVEL};

/// The variance components of one variant's headline cost; `None` below four blocks.
pub fn variance_components(question: &Question, records: &Records<'_>, estimand: Estimand) -> Option<Spread> {
    let parts = CostParts::new(question, records, estimand)?;
    let Estimand { point, variant, .. } = estimand;
    let blocks = parts.costs.iter().filter(|costs| !costs.is_empty()).count();
    let variances = parts.variances().filter(|_| blocks >= BLOCKS_FOR_INTERVAL)?;
    let share = variances.cost.share_between(LEVEL)?;
    let ratio_estimate = |mean: Mean| {
        let interval = mean.interval(LEVEL).exp();
        estimate(interval.point, interval.lower, interval.upper, mean.degrees as u32 + 1)
    };
    Some(Spread {
        point: question.points[point.index()].label.clone(),
        variant: question.variants[variant.index()].name.clone(),
        quantity: parts.quantity,
        rounds: parts.rounds,
        block: Ratio::new(variances.block.sqrt()),
        start: Ratio::new(variances.start.sqrt()),
        round: Ratio::new(variances.round.sqrt()),
        share_of_starts: estimate(share.point, share.lower, share.upper, blocks as u32),
        dominates: match share {
            share if share.lower > 0.5 => Source::Starts,
            share if share.upper < 0.5 => Source::Rounds,
            _ => Source::Neither,
        },
        advice: advice(question.blocks, records, &parts, &variances),
        carry_over: order_effect(records, point, variant)
            .map(|found| (found.difference.exp(), found.blocks))
            .map(|(i, blocks)| estimate(i.point, i.lower, i.upper, blocks as u32)),
        drift: parts.drift().map(ratio_estimate),
    })
}

fn estimate(point: f64, lower: f64, upper: f64, blocks: u32) -> Estimate {
    Estimate { point, lower: Some(lower), upper: Some(upper), level: LEVEL, blocks, bootstrap: None }
}

/// A better division of the same time; `None` if there is none, or if the records hold no times.
fn advice(blocks: Blocks, records: &Records<'_>, parts: &CostParts, variances: &Variances) -> Option<Advice> {
    let times: Vec<(Nanoseconds, Nanoseconds)> = records.used.iter().filter_map(block_times).collect();
    let average = |time: fn(&(Nanoseconds, Nanoseconds)) -> Nanoseconds| {
        times.iter().map(time).sum::<Nanoseconds>() / times.len().max(1) as u64
    };
    let (overhead, measured) = (average(|t| t.0), average(|t| t.1));
    let each = Nanoseconds::from_nanos((measured.as_nanos() as f64 / parts.rounds) as u64);
    let history = SpendHistory {
        start: variances.start,
        round: variances.round,
        blocks: times.len() as u32,
        rounds: parts.rounds,
        overhead,
        each,
    };
    if each == Nanoseconds::ZERO || history.blocks < 2 {
        return None;
    }
    match (SpendRule { blocks }).next(&history) {
        SpendStep::Keep => None,
        SpendStep::Divide { blocks, rounds, now, then } => {
            Some(Advice { blocks, rounds, now: Ratio::new(now.exp_m1()), then: Ratio::new(then.exp_m1()) })
        }
    }
}

/// What a block spent on starts and on everything around its measured windows, and what its measured windows
/// took, from the first of each point to the last. Batches are added up.
pub(crate) fn block_times(block: &Block<'_>) -> Option<(Nanoseconds, Nanoseconds)> {
    let mut batches: BTreeMap<u32, Vec<&TrialRecord>> = BTreeMap::new();
    for trial in &block.trials {
        batches.entry(trial.batch).or_default().push(trial);
    }
    let times = batches.values().map(|trials| batch_times(trials)).collect::<Option<Vec<_>>>()?;
    (!times.is_empty()).then(|| (times.iter().map(|t| t.0).sum(), times.iter().map(|t| t.1).sum()))
}

fn batch_times(trials: &[&TrialRecord]) -> Option<(Nanoseconds, Nanoseconds)> {
    let windows = || trials.iter().flat_map(|trial| &trial.windows);
    let mut spans: BTreeMap<PointId, (Timestamp, Timestamp)> = BTreeMap::new();
    for window in windows().filter(|window| window.kind == WindowKind::Measured) {
        let (started, ended) = (window.figures.started, window.figures.ended);
        let span = spans.entry(window.point).or_insert((started, ended));
        *span = (span.0.min(started), span.1.max(ended));
    }
    let measured: Nanoseconds = spans.values().map(|(from, to)| to.since(*from)).sum();
    let from = windows().map(|window| window.figures.started).min()?;
    let whole = windows().map(|window| window.figures.ended).max()?.since(from);
    let starts: Nanoseconds = trials.iter().filter_map(|trial| trial.service.start).sum();
    Some((starts + whole.saturating_sub(measured), measured))
}

pub(crate) fn finding(spread: &Spread) -> Finding {
    let (evidence, remedy) = in_words(spread);
    Finding {
        severity: Severity::Note,
        name: "spread".to_owned(),
        subject: subject(&spread.variant, &spread.point),
        evidence,
        remedy,
    }
}

fn in_words(spread: &Spread) -> (String, String) {
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    let share = &spread.share_of_starts;
    let (lower, upper) = share.interval().unwrap_or((0.0, 1.0));
    let dominates = match spread.dominates {
        Source::Starts => "most of it is between starts",
        Source::Rounds => "most of it is between rounds",
        Source::Neither => "neither starts nor rounds certainly cause most of it",
    };
    let evidence = format!(
        "{dominates}: starts have {} [{}, {}] of the variance of a block's {}; standard deviations: {} from start to \
         start, {} from round to round; variant and baseline share {} from block to block, which cancels",
        percent(share.point),
        percent(lower),
        percent(upper),
        spread.quantity,
        spread.start,
        spread.round,
        spread.block,
    );
    let remedy = match spread.advice {
        Some(advice) => format!(
            "{} blocks of {} rounds would take as long and give ±{} instead of ±{}",
            advice.blocks, advice.rounds, advice.then, advice.now
        ),
        None if spread.dominates == Source::Starts => {
            "more blocks would narrow the interval; more rounds in each would not".to_owned()
        }
        None => "none is needed: another division into blocks and rounds would hardly narrow the interval"
            .to_owned(),
    };
    (evidence, remedy)
}
