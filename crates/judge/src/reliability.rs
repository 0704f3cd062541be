//! What runs of a variant beside copies of itself say about the host: how often two copies appear different,
//! how small a difference can be found, and how much the variant differs from itself from run to run.
//!
//! Each run was made and judged like any other; this module sums up over runs. The conductor chooses the
//! variant, the number of runs, and how a copy is slowed down.

use weighbridge_model::estimate::{ContrastKind, Effect, Estimate, Quantity, Validity};
use weighbridge_model::id::{PointId, VariantId};
use weighbridge_model::quantity::{Nanoseconds, Ratio, Timestamp};
use weighbridge_model::record::{TrialRecord, WindowKind};
use weighbridge_model::reliability::{
    CalibrationQuote, Detectable, HostCalibration, HostIdentity, Planted, PlantedRun, Planting,
    QuantitySpread, RunToRun, Share, VariantReliability,
};

use crate::analysis::variance_components::block_times;
use crate::estimate::parts::CostParts;
use crate::estimate::{Contrast, Estimand, VariantSamples};
use crate::question::{Question, Scope};
use crate::records::{Records, WindowSelection};
use crate::stats::binomial::clopper_pearson;
use crate::stats::chi_square::deviation_interval;
use crate::stats::components::one_way;
use crate::stats::interval::Mean;
use crate::stats::power::smallest_detectable;
use crate::stats::sample::{mean, standard_deviation};
use crate::thresholds::{LEVEL, POWER, ROUNDS_LEAST, RUNS_FOR_DEVIATION};

/// Measured times for which the smallest detectable difference is reported.
const MEASURED: [Nanoseconds; 3] =
    [Nanoseconds::from_secs(20), Nanoseconds::from_secs(60), Nanoseconds::from_secs(300)];

#[derive(Debug, Clone)]
pub struct CalibrationRun {
    /// `None` if it has no interval or must not be used.
    headline: Option<Contrast>,
    quantities: Vec<RunQuantity>,
    rounds: f64,
    /// Time of one round with its switches, on average over blocks.
    each: Nanoseconds,
    span: Option<(Timestamp, Timestamp)>,
}

#[derive(Debug, Clone)]
struct RunQuantity {
    quantity: Quantity,
    /// ln(copy / variant), block by block.
    logs: Vec<f64>,
    /// The same for parts of blocks, if parts have the quantity.
    parts: Vec<Vec<f64>>,
    /// Logarithm of the variant's own figure, block by block.
    levels: Vec<f64>,
}

impl CalibrationRun {
    /// Evaluates the first point of a run of two variants: the variant itself, and a copy.
    pub fn new(question: &Question, trials: &[TrialRecord], validity: Validity) -> Self {
        let records = Records::new(trials);
        let point = PointId(0);
        let scope = question.points.first().map_or(Scope::Only, |point| point.scopes()[0]);
        let samples = |variant| {
            let estimand = Estimand { point, variant, scope };
            VariantSamples::new(question, &records, estimand, WindowSelection::Measured)
        };
        let (variant, copy) = (samples(VariantId(0)), samples(VariantId(1)));
        let usable = |contrast: &Contrast| contrast.half_width().is_some() && validity != Validity::Invalid;
        let pairs = records.pairs(point, VariantId(1), WindowSelection::Measured);
        let run_quantity = |quantity: Quantity| {
            if quantity.contrast() == ContrastKind::Plain {
                return None;
            }
            let contrast = copy.against(&variant, quantity).ok()?;
            let parts = CostParts::for_quantity(&pairs, scope, variant.load(), quantity);
            Some(RunQuantity {
                quantity,
                logs: contrast.compared(),
                parts: parts.map(|parts| parts.costs).unwrap_or_default(),
                levels: variant.log_values(quantity),
            })
        };
        let times: Vec<_> = records.used.iter().filter_map(block_times).collect();
        let measured: Nanoseconds = times.iter().map(|(_, measured)| *measured).sum();
        let rounds = f64::from(total_rounds(&records)) / records.used.len().max(1) as f64;
        let count = rounds * times.len() as f64;
        let figures = || trials.iter().flat_map(|trial| &trial.windows).map(|window| &window.figures);
        let began = figures().map(|figures| figures.started).min();
        let ended = figures().map(|figures| figures.ended).max();
        Self {
            headline: copy.against(&variant, question.headline).ok().filter(usable),
            quantities: match validity {
                Validity::Invalid => Vec::new(),
                _ => Quantity::ALL.into_iter().filter(|q| scope.has(*q)).filter_map(run_quantity).collect(),
            },
            rounds,
            each: Nanoseconds::from_nanos((measured.as_nanos() as f64 / count.max(1.0)) as u64),
            span: began.zip(ended),
        }
    }

    /// The headline's ratio and difference; `None` if the run has no interval or must not be used, or of a share.
    pub fn headline(&self) -> Option<(Estimate, Estimate)> {
        self.headline.as_ref().and_then(|contrast| Some((contrast.ratio()?, contrast.difference())))
    }

    /// The variant's own figure: exp of the mean logarithm over blocks.
    pub fn figure(&self, quantity: Quantity) -> Option<f64> {
        mean(&self.quantity(quantity)?.levels).map(f64::exp)
    }

    fn quantity(&self, quantity: Quantity) -> Option<&RunQuantity> {
        self.quantities.iter().find(|run| run.quantity == quantity)
    }

    fn measured(&self, blocks: u32) -> Nanoseconds {
        Nanoseconds::from_nanos((self.each.as_nanos() as f64 * self.rounds * f64::from(blocks)) as u64)
    }
}

fn total_rounds(records: &Records<'_>) -> u32 {
    let last = |block: &crate::records::Block<'_>| {
        let windows = block.trials.iter().flat_map(|trial| &trial.windows);
        let rounds = windows.filter(|w| w.kind == WindowKind::Measured).map(|w| w.round + 1);
        rounds.max().unwrap_or(0)
    };
    records.used.iter().map(last).sum()
}

/// Time of the measured rounds over all blocks that count: it selects the detectable difference to quote.
pub fn measured_time(trials: &[TrialRecord]) -> Nanoseconds {
    Records::new(trials).used.iter().filter_map(block_times).map(|(_, measured)| measured).sum()
}

#[derive(Debug, Clone)]
pub struct Runs<'a> {
    pub variant: &'a str,
    pub copies: &'a [CalibrationRun],
    pub slower: &'a [SlowerRun],
    /// How the copy was slowed down, and by how much nominally.
    pub planting: (Planting, Nanoseconds),
    /// Runs that failed by a disturbance, and so have no result.
    pub lost: u32,
}

#[derive(Debug, Clone)]
pub struct SlowerRun {
    pub run: CalibrationRun,
    /// The real slowdown in nanoseconds; `None` if the headline does not show it one to one.
    pub truth: Option<f64>,
}

pub fn reliability(question: &Question, runs: &Runs<'_>) -> VariantReliability {
    let blocks = question.blocks.min;
    let all: Vec<&CalibrationRun> =
        runs.copies.iter().chain(runs.slower.iter().map(|slower| &slower.run)).collect();
    let average = |value: &dyn Fn(&CalibrationRun) -> f64| {
        all.iter().map(|run| value(run)).sum::<f64>() / all.len().max(1) as f64
    };
    let excluded = |run: &CalibrationRun| {
        let (lower, upper) = run.headline()?.0.interval()?;
        Some(lower > 1.0 || upper < 1.0)
    };
    let verdicts: Vec<bool> = runs.copies.iter().filter_map(excluded).collect();
    let unusable = all.iter().filter(|run| run.headline.is_none()).count() as u32;
    let mut quantities: Vec<QuantitySpread> =
        Quantity::ALL.into_iter().filter_map(|quantity| copy_spread(runs.copies, quantity, blocks)).collect();
    quantities.sort_by_key(|spread| spread.quantity != question.headline);
    let began = all.iter().filter_map(|run| run.span).map(|(began, _)| began).min();
    let ended = all.iter().filter_map(|run| run.span).map(|(_, ended)| ended).max();
    VariantReliability {
        variant: runs.variant.to_owned(),
        blocks,
        rounds: average(&|run| run.rounds),
        measured: Nanoseconds::from_nanos(average(&|run| run.measured(blocks).as_nanos() as f64) as u64),
        false_alarms: share(verdicts.iter().filter(|alarm| **alarm).count(), verdicts.len()),
        lost: runs.lost + unusable,
        quantities,
        planted: planted(question.headline, runs),
        run_to_run: Quantity::ALL.into_iter().filter_map(|quantity| run_to_run(&all, quantity)).collect(),
        spread_over: began.zip(ended).map(|(began, ended)| ended.since(began)).unwrap_or_default(),
    }
}

/// A share with its exact interval; `None` without tries.
fn share(hits: usize, tries: usize) -> Option<Share> {
    let (hits, tries) = (hits as u32, tries as u32);
    let found = clopper_pearson(hits, tries, LEVEL)?;
    Some(Share { hits, of: tries, point: found.point, lower: found.lower, upper: found.upper, level: LEVEL })
}

/// How two copies differ in one quantity. Copies have the same truth in every run, so the blocks of all runs
/// are one sample.
fn copy_spread(copies: &[CalibrationRun], quantity: Quantity, blocks: u32) -> Option<QuantitySpread> {
    let runs: Vec<&CalibrationRun> = copies.iter().filter(|run| run.quantity(quantity).is_some()).collect();
    let quantities: Vec<&RunQuantity> = runs.iter().filter_map(|run| run.quantity(quantity)).collect();
    let logs: Vec<f64> = quantities.iter().flat_map(|run| run.logs.iter().copied()).collect();
    let levels: Vec<f64> = quantities.iter().flat_map(|run| run.levels.iter().copied()).collect();
    let deviation = standard_deviation(&logs)?;
    let parts: Vec<Vec<f64>> = quantities.iter().flat_map(|run| run.parts.iter().cloned()).collect();
    let count = runs.len() as f64;
    let rounds = runs.iter().map(|run| run.rounds).sum::<f64>() / count;
    let each = runs.iter().map(|run| run.each.as_secs_f64()).sum::<f64>() / count;
    let components = one_way(&parts).map(|found| {
        let round = found.within * rounds / found.size;
        (found.between.max(0.0), round)
    });
    let detectable = match components {
        Some((start, round)) => {
            let detectable_in = |measured: Nanoseconds| {
                let fit = measured.as_secs_f64() / (f64::from(blocks) * each);
                let fit = if fit.is_finite() { fit.max(f64::from(ROUNDS_LEAST)) } else { return None };
                detectable((start + round / fit).sqrt(), blocks, measured)
            };
            MEASURED.into_iter().filter_map(detectable_in).collect()
        }
        None => {
            let measured = Nanoseconds::from_secs_f64(each * rounds * f64::from(blocks));
            detectable(deviation, blocks, measured).into_iter().collect()
        }
    };
    Some(QuantitySpread {
        quantity,
        unit: quantity.unit(),
        figure: mean(&levels)?.exp(),
        blocks: logs.len() as u32,
        deviation: Ratio::new(deviation),
        start: components.map(|(start, _)| Ratio::new(start.sqrt())),
        round: components.map(|(_, round)| Ratio::new(round.sqrt())),
        detectable,
        position: position(&quantities),
    })
}

/// The cost of being the second of two copies, as a ratio over the runs' means. Its interval includes any
/// variance between runs beyond that of their blocks, which no single run can show.
fn position(runs: &[&RunQuantity]) -> Option<Estimate> {
    let runs: Vec<f64> = runs.iter().filter_map(|run| mean(&run.logs)).collect();
    let log = over_runs(&runs)?;
    Some(Estimate {
        point: log.point.exp(),
        lower: log.lower.map(f64::exp),
        upper: log.upper.map(f64::exp),
        ..log
    })
}

fn detectable(deviation: f64, blocks: u32, measured: Nanoseconds) -> Option<Detectable> {
    let log = smallest_detectable(deviation, blocks, LEVEL, POWER)?;
    Some(Detectable { measured, blocks, change: Ratio::new(log.exp_m1()) })
}

/// How much the variant's own figure differs from run to run.
///
/// The deviation is that of the runs' means over blocks, so it includes the blocks' own spread (divided by
/// their number). Adding both counts a little twice, which is the safe side.
fn run_to_run(runs: &[&CalibrationRun], quantity: Quantity) -> Option<RunToRun> {
    let means: Vec<f64> = runs.iter().filter_map(|run| mean(&run.quantity(quantity)?.levels)).collect();
    if means.len() < RUNS_FOR_DEVIATION {
        return None;
    }
    let deviation = standard_deviation(&means)?;
    let (lower, upper) = deviation_interval(deviation, means.len() as f64 - 1.0, LEVEL);
    Some(RunToRun {
        quantity,
        deviation: Ratio::new(deviation),
        lower: Ratio::new(lower),
        upper: Ratio::new(upper),
        level: LEVEL,
        runs: means.len() as u32,
    })
}

fn planted(headline: Quantity, runs: &Runs<'_>) -> Option<Planted> {
    let each: Vec<PlantedRun> = runs
        .slower
        .iter()
        .filter_map(|run| {
            let (ratio, difference) = run.run.headline()?;
            Some(PlantedRun { ratio, difference, truth: run.truth })
        })
        .collect();
    let worse = |run: &PlantedRun| match (run.ratio.interval(), headline.higher_is()) {
        (Some((lower, _)), Effect::Worse) => lower > 1.0,
        (Some((_, upper)), Effect::Better) => upper < 1.0,
        (None, _) => false,
    };
    let holds = |run: &PlantedRun| {
        let (lower, upper) = run.difference.interval()?;
        run.truth.map(|truth| lower <= truth && truth <= upper)
    };
    let held: Vec<bool> = each.iter().filter_map(holds).collect();
    let truths: Vec<f64> = each.iter().filter_map(|run| run.truth).collect();
    let points: Vec<f64> = each.iter().map(|run| run.difference.point).collect();
    Some(Planted {
        planting: runs.planting.0,
        asked: runs.planting.1,
        found: share(each.iter().filter(|run| worse(run)).count(), each.len())?,
        covered: share(held.iter().filter(|holds| **holds).count(), held.len()),
        difference: over_runs(&points),
        truth: mean(&truths),
        runs: each,
    })
}

fn over_runs(points: &[f64]) -> Option<Estimate> {
    let point = mean(points)?;
    let enough = points.len() >= RUNS_FOR_DEVIATION;
    let interval = Mean::new(points).filter(|_| enough).map(|mean| mean.interval(LEVEL));
    Some(Estimate {
        point,
        lower: interval.map(|i| i.lower),
        upper: interval.map(|i| i.upper),
        level: LEVEL,
        blocks: points.len() as u32,
        bootstrap: None,
    })
}

/// What a later report quotes of a calibration: its first variant, and the report's own headline if the
/// calibration has it. `measured` is the report's measured time, `now` the host's present state, `now_unix_s`
/// the wall clock.
pub fn quote(
    calibration: &HostCalibration,
    headline: Quantity,
    measured: Nanoseconds,
    now: &HostIdentity,
    now_unix_s: u64,
) -> CalibrationQuote {
    let variant = calibration.variants.first();
    let spread = variant.and_then(|variant| {
        let quantity_spread = |quantity| variant.quantities.iter().find(|spread| spread.quantity == quantity);
        quantity_spread(headline).or_else(|| quantity_spread(calibration.headline))
    });
    let away = |found: &Detectable| {
        (found.measured.as_secs_f64().max(1e-9).ln() - measured.as_secs_f64().max(1e-9).ln()).abs()
    };
    let quantity = spread.map_or(calibration.headline, |spread| spread.quantity);
    let run_to_run = variant.and_then(|variant| run_deviation(&variant.run_to_run, quantity));
    CalibrationQuote {
        experiment: calibration.experiment.clone(),
        started: calibration.started.clone(),
        age: Nanoseconds::from_secs(now_unix_s.saturating_sub(calibration.started_unix_s)),
        headline: quantity,
        false_alarms: variant.and_then(|variant| variant.false_alarms),
        detectable: spread
            .and_then(|spread| spread.detectable.iter().copied().min_by(|a, b| away(a).total_cmp(&away(b)))),
        position: spread.and_then(|spread| spread.position),
        run_to_run,
        changed: changed(&calibration.host, now),
    }
}

pub fn run_deviation(found: &[RunToRun], quantity: Quantity) -> Option<RunToRun> {
    found.iter().find(|run| run.quantity == quantity).copied()
}

/// What changed on the host, in words; empty if all facts are the same.
pub fn changed(then: &HostIdentity, now: &HostIdentity) -> Vec<String> {
    let differ = |before: &std::collections::BTreeMap<String, String>,
                  after: &std::collections::BTreeMap<String, String>| {
        let names = before.keys().chain(after.keys()).collect::<std::collections::BTreeSet<_>>();
        let words = |name: &String| {
            let (was, is) = (before.get(name), after.get(name));
            let text = |value: Option<&String>| value.map_or_else(|| "unknown".to_owned(), Clone::clone);
            (was != is).then(|| match name.as_str() {
                // A digest says only that something differs.
                "boot" => "the machine was started again".to_owned(),
                "name" => "another name of the host".to_owned(),
                "weigh" => "another build of `weigh`".to_owned(),
                name => format!("{name} was {}, is {}", text(was), text(is)),
            })
        };
        names.into_iter().filter_map(words).collect::<Vec<_>>()
    };
    [differ(&then.lasting, &now.lasting), differ(&then.passing, &now.passing)].concat()
}
