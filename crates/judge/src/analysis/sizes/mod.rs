//! Times over size, from single requests to curves, cliffs and advice. The mathematics are in [`crate::stats::smooth`] and
//! [`crate::stats::cliffs`]; here they are given the requests of a run and their answers get names.
//!
//! Figures are of good replies of blocks that count; failures are counted beside. Cliffs and advice are of service time:
//! waiting for a free connection is no property of a size.

mod advice;
mod cause;
mod words;

pub use words::findings;

use std::collections::BTreeSet;

use weighbridge_model::id::{OperationId, PointId, VariantId};
use weighbridge_model::quantity::{Bytes, Nanoseconds};
use weighbridge_model::record::samples::Sample;
use weighbridge_model::sizes::{
    Bounded, CliffChange, OverSize, SizeCliff, SizeCurve, SizeGuide, SizeJudged, SizeQuantile, SizeRatio,
    SizeRatios, SizeSamples, SizeTime,
};

use crate::question::{AskedSizes, Point, Question};
use crate::records::{Records, WindowSelection};
use crate::stats::cliffs::{self, Change, Cliff, Found};
use crate::stats::scatter::{Observation, Scatter, half_width, standard_error};
use crate::stats::smooth::{Smooth, places, smooth};
use crate::steer::SCOUTS;
use crate::thresholds::{BLOCKS_FOR_INTERVAL, LEVEL};

/// The quantiles of a curve: the median, the middle half, and nine in ten.
pub(crate) const QUANTILES: [f64; 5] = [0.05, 0.25, 0.5, 0.75, 0.95];
/// Which of them is the median.
const MEDIAN: usize = 2;

/// What the guide of a segment is called, at first.
pub const SEGMENT: &str = "segment";
/// Bytes of a segment that are not payload: the heads of IPv4 and TCP with its time stamps.
pub const SEGMENT_HEAD: u64 = 20 + 20 + 12;

/// Most variants of which each can be the reference of all others: their pairs are kept.
const REFERENCES: usize = 12;

/// The requests of a run over their sizes, with what cliffs, advice and charts have in common: made once for all of them.
pub struct SizeAnalysis<'a> {
    question: &'a Question,
    operations: Vec<OperationAnalysis<'a>>,
}

/// The requests of one operation with their service times, variant by variant.
struct OperationAnalysis<'a> {
    operation: OperationRequests<'a>,
    found: Vec<Found>,
    /// Steps, which nothing is smoothed over.
    cuts: Vec<Vec<f64>>,
    service: Curves,
}

/// Scatters and their smoothed quantiles, variant by variant, at common places.
struct Curves {
    places: Vec<f64>,
    scatters: Vec<Scatter>,
    smoothed: Vec<Smooth>,
    /// Where variants lived in batches: the baseline in all of them …
    base: Option<Smooth>,
    /// … and in those of some variants alone, with which it is by variant; none of those that lived in all.
    beside: Vec<(Scatter, Smooth)>,
    beside_of: Vec<Option<usize>>,
}

impl<'a> SizeAnalysis<'a> {
    /// Looks at all requests that were kept.
    pub fn new(question: &'a Question, records: &Records<'a>) -> Self {
        let analysed = |operation: OperationRequests<'a>| {
            let scatters = operation.scatters(SizeTime::Service);
            let (margin, scouts) = (question.margin.get(), operation.scouts);
            let confirmed = |scatter: &Scatter| cliffs::confirmed(scatter, margin, scouts);
            let found: Vec<Found> = scatters.iter().map(confirmed).collect();
            let each = found.iter().zip(&scatters);
            let cuts = each.map(|(found, scatter)| steps(&found.cliffs, scatter)).collect::<Vec<_>>();
            let service = Curves::new(&operation, SizeTime::Service, scatters, &cuts);
            OperationAnalysis { operation, found, service, cuts }
        };
        Self { question, operations: operations(question, records).into_iter().map(analysed).collect() }
    }

    /// What is said of times over size.
    pub fn over_size(&self) -> OverSize {
        let mut over = OverSize::default();
        for analysis in &self.operations {
            over.advice.extend(advice::advice(self.question, &analysis.operation, &analysis.service));
            for (variant, found) in analysis.found.iter().enumerate() {
                let named = |cliff| named(self.question, &analysis.operation, variant, cliff);
                over.cliffs.extend(found.cliffs.iter().map(named));
                over.judged.extend(judged(self.question, &analysis.operation, variant, found));
            }
        }
        if !over.is_empty() {
            over.guides = self.question.guides.clone();
        }
        over
    }

    /// How many variants have times where a cliff lies.
    pub fn measured(&self, cliff: &SizeCliff) -> usize {
        let here = |analysis: &&OperationAnalysis<'_>| {
            (&analysis.operation.point.label, &analysis.operation.name) == (&cliff.point, &cliff.operation)
        };
        let scatters = self.operations.iter().filter(here).flat_map(|analysis| &analysis.service.scatters);
        scatters.filter(|scatter| !scatter.is_empty()).count()
    }

    /// What charts draw of times over size: curves, with ratios to the baseline, and ratios to the other variants.
    pub fn curves(&self) -> (Vec<SizeCurve>, Vec<SizeRatios>) {
        let (mut all, mut ratios) = (Vec::new(), Vec::new());
        for analysis in &self.operations {
            for time in SizeTime::ALL {
                let made;
                let curves = match time {
                    SizeTime::Service => &analysis.service,
                    _ => {
                        made = Curves::new(
                            &analysis.operation,
                            time,
                            analysis.operation.scatters(time),
                            &analysis.cuts,
                        );
                        &made
                    }
                };
                all.extend(self.drawn(analysis, time, curves));
                ratios.extend(self.others(analysis, time, curves));
            }
        }
        (all, ratios)
    }

    fn others(&self, analysis: &OperationAnalysis<'_>, time: SizeTime, curves: &Curves) -> Vec<SizeRatios> {
        let medians: Vec<Median<'_>> = (0..curves.scatters.len()).map(|at| curves.median(at)).collect();
        let ratios = |variant, reference| curves.ratios(variant, reference);
        let pair = |(variant, reference, ratio): (usize, usize, Vec<Option<SizeRatio>>)| SizeRatios {
            variant: self.question.variants[variant].name.clone(),
            reference: self.question.variants[reference].name.clone(),
            point: analysis.operation.point.label.clone(),
            operation: analysis.operation.name.clone(),
            time,
            ratio,
        };
        ratios_to_others(&medians, ratios).map(pair).collect()
    }

    fn drawn(&self, analysis: &OperationAnalysis<'_>, time: SizeTime, curves: &Curves) -> Vec<SizeCurve> {
        let there = (0..curves.scatters.len()).filter(|variant| !curves.scatters[*variant].is_empty());
        let curve = |variant: usize| {
            let median = curves.median(variant);
            SizeCurve {
                variant: self.question.variants[variant].name.clone(),
                point: analysis.operation.point.label.clone(),
                operation: analysis.operation.name.clone(),
                time,
                requests: curves.scatters[variant].len() as u64,
                size_bytes: curves.places.iter().map(|place| *place as u64).collect(),
                quantiles: quantiles(&curves.smoothed[variant]),
                median_interval_ns: median.intervals(),
                ratio: if variant > 0 { curves.ratios(variant, 0) } else { Vec::new() },
            }
        };
        there.map(curve).collect()
    }
}

impl Curves {
    fn new(
        operation: &OperationRequests<'_>,
        time: SizeTime,
        scatters: Vec<Scatter>,
        cuts: &[Vec<f64>],
    ) -> Self {
        let places = places(&scatters);
        let each = scatters.iter().zip(cuts);
        let smoothed = each.map(|(scatter, cuts)| smooth(scatter, &QUANTILES, &places, cuts)).collect();
        let all = batches(&operation.base);
        let (mut known, mut beside) = (Vec::<BTreeSet<BatchId>>::new(), Vec::new());
        let position_of_baseline = |requests: &Vec<Request<'_>>| {
            let own: BTreeSet<BatchId> = batches(requests).intersection(&all).copied().collect();
            // Blocks that a variant lacks are no batches that it was not in.
            let is_apart =
                |batch: &BatchId| own.iter().any(|one| one.block == batch.block && one.batch != batch.batch);
            if own.is_empty() || !all.iter().any(is_apart) || own == all {
                return None;
            }
            let at = known.iter().position(|batches| *batches == own).unwrap_or_else(|| {
                let there = operation.base.iter().filter(|request| own.contains(&request.batch)).copied();
                let scatter = Scatter::new(good(&there.collect::<Vec<_>>(), time).map(observation));
                let smooth = smooth(&scatter, &QUANTILES, &places, &[]);
                beside.push((scatter, smooth));
                known.push(own);
                known.len() - 1
            });
            Some(at)
        };
        let beside_of: Vec<Option<usize>> = operation.by_variant.iter().map(position_of_baseline).collect();
        let base = (!beside.is_empty()).then(|| {
            let scatter = Scatter::new(good(&operation.base, time).map(observation));
            smooth(&scatter, &QUANTILES, &places, &[])
        });
        Self { places, scatters, smoothed, base, beside, beside_of }
    }

    fn median(&self, variant: usize) -> Median<'_> {
        Median { scatter: &self.scatters[variant], smooth: &self.smoothed[variant] }
    }

    /// A variant's median over another's at each place; of different batches each over the baseline of its own.
    fn ratios(&self, variant: usize, reference: usize) -> Vec<Option<SizeRatio>> {
        let [mine, theirs] = [variant, reference].map(|at| self.beside_of[at]);
        let base = |at: Option<usize>| {
            at.map(|at| Median { scatter: &self.beside[at].0, smooth: &self.beside[at].1 })
        };
        let (this, other) = (self.median(variant), self.median(reference));
        match (base(mine), base(theirs)) {
            (Some(beside), None) if reference == 0 => ratios(&[this], &[beside]),
            (Some(mine_base), Some(their_base)) if mine != theirs => {
                ratios(&[this, their_base], &[mine_base, other])
            }
            _ => ratios(&[this], &[other]),
        }
    }
}

fn batches(requests: &[Request<'_>]) -> BTreeSet<BatchId> {
    requests.iter().map(|request| request.batch).collect()
}

/// The medians of all variants, in their order.
pub(crate) fn medians<'a>(scatters: &'a [Scatter], smoothed: &'a [Smooth]) -> Vec<Median<'a>> {
    scatters.iter().zip(smoothed).map(|(scatter, smooth)| Median { scatter, smooth }).collect()
}

/// Variant, reference and ratios of each pair without the baseline, the reference being the earlier; none where there are
/// too many variants.
pub(crate) fn ratios_to_others<'a>(
    medians: &'a [Median<'a>],
    ratios: impl Fn(usize, usize) -> Vec<Option<SizeRatio>> + 'a,
) -> impl Iterator<Item = (usize, usize, Vec<Option<SizeRatio>>)> + 'a {
    let count = if medians.len() > REFERENCES { 0 } else { medians.len() };
    let pairs = (1..count).flat_map(move |reference| (reference + 1..count).map(move |v| (v, reference)));
    let there = |at: usize| !medians[at].scatter.is_empty();
    pairs
        .filter(move |(variant, reference)| there(*variant) && there(*reference))
        .map(move |(variant, reference)| (variant, reference, ratios(variant, reference)))
}

/// The single requests that curves are made of.
pub fn samples(question: &Question, records: &Records<'_>) -> Vec<SizeSamples> {
    let mut all = Vec::new();
    for operation in operations(question, records) {
        for (variant, requests) in operation.by_variant.iter().enumerate() {
            for time in SizeTime::ALL {
                let mut pairs: Vec<(u64, u64)> = good(requests, time)
                    .map(|timed| (timed.request.sample.size.get(), timed.time.as_nanos()))
                    .collect();
                pairs.sort_unstable();
                if pairs.is_empty() {
                    continue;
                }
                let (size_bytes, time_ns) = pairs.into_iter().unzip();
                all.push(SizeSamples {
                    variant: question.variants[variant].name.clone(),
                    point: operation.point.label.clone(),
                    operation: operation.name.clone(),
                    time,
                    size_bytes,
                    time_ns,
                    failed: requests.iter().filter(|request| !request.sample.is_good()).count() as u64,
                });
            }
        }
    }
    all
}

/// The requests of one operation at one point, variant by variant.
struct OperationRequests<'a> {
    point: &'a Point,
    name: String,
    /// How many of the first blocks decided which sizes the others asked for besides; 0 where none were asked for: then
    /// nothing was chosen, and every block may tell of a cliff.
    scouts: usize,
    by_variant: Vec<Vec<Request<'a>>>,
    /// Largest packet of each variant's innermost link; `None` where it runs on the bare host.
    mtus: Vec<Option<u32>>,
    /// Those of the variant through which others of different batches are compared.
    base: Vec<Request<'a>>,
}

/// One request of a variant.
#[derive(Debug, Clone, Copy)]
struct Request<'a> {
    batch: BatchId,
    sample: &'a Sample,
}

/// A request with one of its times.
#[derive(Debug, Clone, Copy)]
struct TimedRequest<'a> {
    request: Request<'a>,
    time: Nanoseconds,
}

/// The part of a block in which variants lived beside each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct BatchId {
    block: u32,
    batch: u32,
}

/// All operations whose requests were kept.
fn operations<'a>(question: &'a Question, records: &Records<'a>) -> Vec<OperationRequests<'a>> {
    let mut operations = Vec::new();
    // Single requests of sizes in a list are kept for other reasons, and make no curve.
    for (id, point) in question.points().filter(|(id, _)| question.asked(*id) == AskedSizes::Range) {
        let scouts = if records.has_further(id) { SCOUTS } else { 0 };
        for (at, operation) in point.operations.iter().enumerate() {
            let requests_of_variant = |variant| requests(records, id, variant, OperationId(at as u16));
            let by_variant: Vec<_> =
                question.variants().map(|(variant, _)| requests_of_variant(variant)).collect();
            if by_variant.iter().any(|requests| !requests.is_empty()) {
                operations.push(OperationRequests {
                    point,
                    name: operation.clone(),
                    scouts,
                    by_variant,
                    mtus: question.variants().map(|(variant, _)| mtu(records, id, variant)).collect(),
                    base: requests_of_variant(records.bridge.unwrap_or(VariantId(0))),
                });
            }
        }
    }
    operations
}

fn requests<'a>(
    records: &Records<'a>,
    point: PointId,
    variant: VariantId,
    operation: OperationId,
) -> Vec<Request<'a>> {
    let trials =
        records.cells(point, variant, WindowSelection::Measured).into_iter().flat_map(|cell| cell.trials);
    let is_wanted = move |sample: &&Sample| sample.point == point && sample.operation == operation;
    trials
        .flat_map(|trial| {
            let batch = BatchId { block: trial.block, batch: trial.batch };
            trial.samples.iter().filter(is_wanted).map(move |sample| Request { batch, sample })
        })
        .collect()
}

fn mtu(records: &Records<'_>, point: PointId, variant: VariantId) -> Option<u32> {
    let cells = records.cells(point, variant, WindowSelection::Measured);
    let mut trials = cells.into_iter().flat_map(|cell| cell.trials);
    trials.find_map(|trial| trial.service.network.as_ref()?.mtu)
}

/// Good replies with the time asked for.
fn good<'a>(requests: &'a [Request<'a>], time: SizeTime) -> impl Iterator<Item = TimedRequest<'a>> {
    let sample_time = move |sample: &Sample| match time {
        SizeTime::Response => Some(sample.response()),
        SizeTime::Service => Some(sample.service()),
        SizeTime::Relayed => sample.relayed.map(|relayed| relayed.duration),
    };
    requests.iter().filter(|request| request.sample.is_good()).filter_map(move |request| {
        Some(TimedRequest { request: *request, time: sample_time(request.sample)? })
    })
}

impl OperationRequests<'_> {
    fn scatters(&self, time: SizeTime) -> Vec<Scatter> {
        self.by_variant.iter().map(|requests| Scatter::new(good(requests, time).map(observation))).collect()
    }

    /// The guides of a variant: where it runs over links of its own, a segment is theirs and not loopback's.
    fn guides(&self, question: &Question, variant: usize) -> Vec<SizeGuide> {
        let own = |guide: &SizeGuide| match self.mtus[variant] {
            Some(mtu) if guide.name.starts_with(SEGMENT) => SizeGuide {
                name: format!("{SEGMENT} (MTU {mtu} of this variant's link, less heads)"),
                bytes: Bytes::new(u64::from(mtu).saturating_sub(SEGMENT_HEAD)),
            },
            _ => guide.clone(),
        };
        question.guides.iter().map(own).collect()
    }
}

fn observation(TimedRequest { request, time }: TimedRequest<'_>) -> Observation {
    Observation {
        block: request.batch.block,
        size: request.sample.size.get() as f64,
        time: time.as_nanos() as f64,
    }
}

/// Places that nothing is smoothed over.
fn steps(cliffs: &[Cliff], scatter: &Scatter) -> Vec<f64> {
    let most = scatter.size.last().copied().unwrap_or_default();
    cliffs.iter().flat_map(|cliff| cliff.steps(most)).collect()
}

fn judged(
    question: &Question,
    operation: &OperationRequests<'_>,
    variant: usize,
    found: &Found,
) -> Option<SizeJudged> {
    let bytes = |(from, to): (f64, f64)| (from.ceil() as u64, to as u64);
    found.judged.map(|judged| SizeJudged {
        variant: question.variants[variant].name.clone(),
        point: operation.point.label.clone(),
        operation: operation.name.clone(),
        steps_bytes: bytes(judged.steps),
        corners_bytes: bytes(judged.corners),
        cut_off: found.is_cut_off,
    })
}

fn named(question: &Question, operation: &OperationRequests<'_>, variant: usize, cliff: &Cliff) -> SizeCliff {
    let bounded = |b: cliffs::Bounded| Bounded { point: b.point, lower: b.lower, upper: b.upper };
    SizeCliff {
        variant: question.variants[variant].name.clone(),
        point: operation.point.label.clone(),
        operation: operation.name.clone(),
        change: match cliff.change {
            Change::Level => CliffChange::Level,
            Change::Slope => CliffChange::Slope,
            Change::Stairs => CliffChange::Stairs,
        },
        place_bytes: bounded(cliff.place),
        period_bytes: cliff.period.map(bounded),
        height: bounded(cliff.height),
        before: cliff.before,
        cause: cause::cause(cliff, &operation.guides(question, variant)),
    }
}

pub(crate) fn quantiles(smooth: &Smooth) -> Vec<SizeQuantile> {
    let times = |curve: &Vec<Option<f64>>| curve.iter().map(|log| log.map(f64::exp)).collect();
    let each = QUANTILES.into_iter().zip(&smooth.curves);
    each.map(|(quantile, curve)| SizeQuantile { quantile, time_ns: times(curve) }).collect()
}

/// A variant's median over size.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Median<'a> {
    scatter: &'a Scatter,
    smooth: &'a Smooth,
}

/// ln(median / another's median) with its standard error over blocks.
#[derive(Debug, Clone, Copy)]
struct LogRatio {
    point: f64,
    /// Absent below four blocks.
    error: Option<f64>,
    blocks: usize,
}

impl Median<'_> {
    fn curve(&self) -> &[Option<f64>] {
        &self.smooth.curves[MEDIAN]
    }

    fn value(&self, place: usize) -> Option<f64> {
        self.curve()[place]
    }

    fn resampled(&self, place: usize) -> Option<&[f64]> {
        Some(&*self.smooth.medians[place]).filter(|medians| !medians.is_empty())
    }

    /// The interval at each place; empty below four blocks.
    fn intervals(&self) -> Vec<Option<(f64, f64)>> {
        let blocks = self.scatter.blocks().len();
        if blocks < BLOCKS_FOR_INTERVAL {
            return Vec::new();
        }
        let interval = |place: usize| {
            let half = half_width(standard_error(self.resampled(place)?, blocks)?, blocks, LEVEL);
            self.value(place).map(|log| ((log - half).exp(), (log + half).exp()))
        };
        (0..self.curve().len()).map(interval).collect()
    }

    /// The ratio to another's median at each place.
    pub(crate) fn ratios(&self, other: &Self) -> Vec<Option<SizeRatio>> {
        ratios(&[*self], &[*other])
    }
}

/// The ratio of the product of some medians to that of others at each place.
fn ratios(over: &[Median<'_>], under: &[Median<'_>]) -> Vec<Option<SizeRatio>> {
    let ratio = |log: LogRatio| {
        let half = log.error.map(|error| half_width(error, log.blocks, LEVEL));
        let interval = half.map(|half| ((log.point - half).exp(), (log.point + half).exp()));
        SizeRatio { point: log.point.exp(), interval }
    };
    (0..over[0].curve().len()).map(|place| log_ratio(over, under, place).map(ratio)).collect()
}

/// Where all were measured in the same blocks these are resampled together, so that what a block does to all of them
/// cancels; else the errors add up.
fn log_ratio(over: &[Median<'_>], under: &[Median<'_>], place: usize) -> Option<LogRatio> {
    let all: Vec<(f64, &Median<'_>)> =
        over.iter().map(|median| (1.0, median)).chain(under.iter().map(|median| (-1.0, median))).collect();
    let block_count = |median: &Median<'_>| median.scatter.blocks().len();
    let blocks = all.iter().map(|(_, median)| block_count(median)).min()?;
    let point = all.iter().map(|(sign, median)| Some(sign * median.value(place)?)).sum::<Option<f64>>()?;
    let error = || {
        let resampled: Vec<(f64, &[f64], usize)> = all
            .iter()
            .map(|(sign, median)| Some((*sign, median.resampled(place)?, block_count(median))))
            .collect::<Option<_>>()?;
        if all.iter().all(|(_, median)| median.scatter.blocks() == all[0].1.scatter.blocks()) {
            let ratio = |at: usize| resampled.iter().map(|(sign, values, _)| sign * values[at]).sum();
            let ratios: Vec<f64> = (0..resampled[0].1.len()).map(ratio).collect();
            return standard_error(&ratios, blocks);
        }
        let squares =
            resampled.iter().map(|(_, values, blocks)| Some(standard_error(values, *blocks)?.powi(2)));
        Some(squares.sum::<Option<f64>>()?.sqrt())
    };
    let error = if blocks < BLOCKS_FOR_INTERVAL { None } else { error() };
    Some(LogRatio { point, error, blocks })
}
