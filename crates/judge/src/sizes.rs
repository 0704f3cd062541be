//! Times over size, from single requests to curves, cliffs and advice. The mathematics are in [`crate::stats::smooth`] and
//! [`crate::stats::cliffs`]; here they are given the requests of a run and their answers get names.
//!
//! Figures are of good replies of blocks that count; failures are counted beside. Cliffs and advice are of service time:
//! waiting for a free connection is no property of a size.

mod advice;
mod cause;
mod words;

pub use words::{BEST_BY_SIZE, CLIFF, findings};

use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::record::{OperationId, PointId, VariantId};
use weighbridge_model::samples::Sample;
use weighbridge_model::sizes::{
    Bounded, CliffChange, OverSize, SizeCliff, SizeCurve, SizeQuantile, SizeRatio, SizeRatios, SizeSamples,
    SizeTime,
};

use crate::gather::{Gathered, Lens};
use crate::question::{AskedSizes, Point, Question};
use crate::stats::cliffs::{self, Change, Cliff};
use crate::stats::scatter::{Observation, Scatter, half_width, standard_error};
use crate::stats::smooth::{Smooth, places, smooth};
use crate::steer::SCOUTS;
use crate::thresholds::{BLOCKS_FOR_INTERVAL, LEVEL};

/// The quantiles of a curve: the median, the middle half, and nine in ten.
pub(crate) const QUANTILES: [f64; 5] = [0.05, 0.25, 0.5, 0.75, 0.95];
/// Which of them is the median.
const MEDIAN: usize = 2;

/// Most variants of which each can be the reference of all others: their pairs are kept.
const REFERENCES: usize = 12;

/// The requests of a run over their sizes, with what cliffs, advice and charts have in common: made once for all of them.
pub struct Looked<'a> {
    question: &'a Question,
    families: Vec<LookedAt<'a>>,
}

/// A family with its service times, variant by variant.
struct LookedAt<'a> {
    family: Family<'a>,
    cliffs: Vec<Vec<Cliff>>,
    /// Steps, which nothing is smoothed over.
    cuts: Vec<Vec<f64>>,
    service: Curves,
}

/// Scatters and their smoothed quantiles, variant by variant, at common places.
struct Curves {
    places: Vec<f64>,
    scatters: Vec<Scatter>,
    smoothed: Vec<Smooth>,
}

impl<'a> Looked<'a> {
    /// Looks at all requests that were kept.
    pub fn new(question: &'a Question, gathered: &Gathered<'a>) -> Self {
        let look = |family: Family<'a>| {
            let scatters = family.scatters(SizeTime::Service);
            let of = |scatter: &Scatter| cliffs::confirmed(scatter, question.margin.get(), family.scouts);
            let cliffs: Vec<Vec<Cliff>> = scatters.iter().map(of).collect();
            let cuts: Vec<Vec<f64>> = cliffs.iter().map(|cliffs| steps(cliffs)).collect();
            LookedAt { family, cliffs, service: Curves::new(scatters, &cuts), cuts }
        };
        Self { question, families: families(question, gathered).into_iter().map(look).collect() }
    }

    /// What is said of times over size.
    pub fn over_size(&self) -> OverSize {
        let mut over = OverSize::default();
        for looked in &self.families {
            over.advice.extend(advice::advice(self.question, &looked.family, &looked.service));
            for (variant, cliffs) in looked.cliffs.iter().enumerate() {
                let named = |cliff| named(self.question, &looked.family, variant, cliff);
                over.cliffs.extend(cliffs.iter().map(named));
            }
        }
        if !over.is_empty() {
            over.guides = self.question.guides.clone();
        }
        over
    }

    /// How many variants have times where a cliff lies.
    pub fn measured(&self, cliff: &SizeCliff) -> usize {
        let here = |looked: &&LookedAt<'_>| {
            (&looked.family.point.label, &looked.family.operation) == (&cliff.point, &cliff.operation)
        };
        let scatters = self.families.iter().filter(here).flat_map(|looked| &looked.service.scatters);
        scatters.filter(|scatter| !scatter.is_empty()).count()
    }

    /// What charts draw of times over size: curves, with ratios to the baseline, and ratios to the other variants.
    pub fn curves(&self) -> (Vec<SizeCurve>, Vec<SizeRatios>) {
        let (mut all, mut ratios) = (Vec::new(), Vec::new());
        for looked in &self.families {
            for time in SizeTime::ALL {
                let made;
                let curves = match time {
                    SizeTime::Service => &looked.service,
                    _ => {
                        made = Curves::new(looked.family.scatters(time), &looked.cuts);
                        &made
                    }
                };
                all.extend(self.drawn(looked, time, curves));
                ratios.extend(self.others(looked, time, curves));
            }
        }
        (all, ratios)
    }

    fn others(&self, looked: &LookedAt<'_>, time: SizeTime, curves: &Curves) -> Vec<SizeRatios> {
        let medians: Vec<Median<'_>> = (0..curves.scatters.len()).map(|at| curves.median(at)).collect();
        let pair = |(variant, reference, ratio): (usize, usize, Vec<Option<SizeRatio>>)| SizeRatios {
            variant: self.question.variants[variant].name.clone(),
            reference: self.question.variants[reference].name.clone(),
            point: looked.family.point.label.clone(),
            operation: looked.family.operation.clone(),
            time,
            ratio,
        };
        ratios_to_others(&medians).map(pair).collect()
    }

    fn drawn(&self, looked: &LookedAt<'_>, time: SizeTime, curves: &Curves) -> Vec<SizeCurve> {
        let there = (0..curves.scatters.len()).filter(|variant| !curves.scatters[*variant].is_empty());
        let curve = |variant: usize| {
            let median = curves.median(variant);
            SizeCurve {
                variant: self.question.variants[variant].name.clone(),
                point: looked.family.point.label.clone(),
                operation: looked.family.operation.clone(),
                time,
                requests: curves.scatters[variant].len() as u64,
                size_bytes: curves.places.iter().map(|place| *place as u64).collect(),
                quantiles: quantiles(&curves.smoothed[variant]),
                median_interval_ns: median.intervals(),
                ratio: if variant > 0 { median.ratios(&curves.median(0)) } else { Vec::new() },
            }
        };
        there.map(curve).collect()
    }
}

impl Curves {
    fn new(scatters: Vec<Scatter>, cuts: &[Vec<f64>]) -> Self {
        let places = places(&scatters);
        let each = scatters.iter().zip(cuts);
        let smoothed = each.map(|(scatter, cuts)| smooth(scatter, &QUANTILES, &places, cuts)).collect();
        Self { places, scatters, smoothed }
    }

    fn median(&self, variant: usize) -> Median<'_> {
        Median { scatter: &self.scatters[variant], smooth: &self.smoothed[variant] }
    }
}

/// The medians of all variants, in their order.
pub(crate) fn medians<'a>(scatters: &'a [Scatter], smoothed: &'a [Smooth]) -> Vec<Median<'a>> {
    scatters.iter().zip(smoothed).map(|(scatter, smooth)| Median { scatter, smooth }).collect()
}

/// Variant, reference and ratios of each pair without the baseline, the reference being the earlier; none where there are
/// too many variants.
pub(crate) fn ratios_to_others<'a>(
    medians: &'a [Median<'a>],
) -> impl Iterator<Item = (usize, usize, Vec<Option<SizeRatio>>)> + 'a {
    let count = if medians.len() > REFERENCES { 0 } else { medians.len() };
    let pairs = (1..count).flat_map(move |reference| (reference + 1..count).map(move |v| (v, reference)));
    let there = |at: usize| !medians[at].scatter.is_empty();
    pairs
        .filter(move |(variant, reference)| there(*variant) && there(*reference))
        .map(|(variant, reference)| (variant, reference, medians[variant].ratios(&medians[reference])))
}

/// The single requests that curves are made of.
pub fn samples(question: &Question, gathered: &Gathered<'_>) -> Vec<SizeSamples> {
    let mut all = Vec::new();
    for family in families(question, gathered) {
        for (variant, requests) in family.requests.iter().enumerate() {
            for time in SizeTime::ALL {
                let mut pairs: Vec<(u64, u64)> = good(requests, time)
                    .map(|(_, sample, time)| (sample.size.get(), time.as_nanos()))
                    .collect();
                pairs.sort_unstable();
                if pairs.is_empty() {
                    continue;
                }
                let (size_bytes, time_ns) = pairs.into_iter().unzip();
                all.push(SizeSamples {
                    variant: question.variants[variant].name.clone(),
                    point: family.point.label.clone(),
                    operation: family.operation.clone(),
                    time,
                    size_bytes,
                    time_ns,
                    failed: requests.iter().filter(|(_, sample)| !sample.is_good()).count() as u64,
                });
            }
        }
    }
    all
}

/// The requests of one operation at one point, variant by variant.
struct Family<'a> {
    point: &'a Point,
    operation: String,
    /// How many of the first blocks decided which sizes the others asked for besides; 0 where none were asked for: then
    /// nothing was chosen, and every block may tell of a cliff.
    scouts: usize,
    /// Block and request, by variant.
    requests: Vec<Vec<(u32, &'a Sample)>>,
}

/// All operations whose requests were kept.
fn families<'a>(question: &'a Question, gathered: &Gathered<'a>) -> Vec<Family<'a>> {
    let mut families = Vec::new();
    // Single requests of sizes in a list are kept for other reasons, and make no curve.
    for (id, point) in question.points().filter(|(id, _)| question.asked(*id) == AskedSizes::Range) {
        let scouts = if gathered.has_further(id) { SCOUTS } else { 0 };
        for (at, operation) in point.operations.iter().enumerate() {
            let of = |(variant, _)| requests(gathered, (id, variant), OperationId(at as u16));
            let requests: Vec<_> = question.variants().map(of).collect();
            if requests.iter().any(|requests| !requests.is_empty()) {
                families.push(Family { point, operation: operation.clone(), scouts, requests });
            }
        }
    }
    families
}

fn requests<'a>(
    gathered: &Gathered<'a>,
    (point, variant): (PointId, VariantId),
    operation: OperationId,
) -> Vec<(u32, &'a Sample)> {
    let trials = gathered.cells(point, variant, Lens::Measured).into_iter().flat_map(|cell| cell.trials);
    let of = move |sample: &&Sample| sample.point == point && sample.operation == operation;
    trials
        .flat_map(|trial| trial.samples.iter().filter(of).map(move |sample| (trial.block, sample)))
        .collect()
}

/// Good replies with the time asked for.
fn good<'a>(
    requests: &'a [(u32, &'a Sample)],
    time: SizeTime,
) -> impl Iterator<Item = (u32, &'a Sample, Nanoseconds)> {
    let of = move |sample: &Sample| match time {
        SizeTime::Response => Some(sample.response()),
        SizeTime::Service => Some(sample.service()),
        SizeTime::Relayed => sample.relayed.map(|relayed| relayed.duration),
    };
    requests
        .iter()
        .filter(|(_, sample)| sample.is_good())
        .filter_map(move |(block, sample)| Some((*block, *sample, of(sample)?)))
}

impl Family<'_> {
    fn scatters(&self, time: SizeTime) -> Vec<Scatter> {
        let observation = |(block, sample, time): (u32, &Sample, Nanoseconds)| Observation {
            block,
            size: sample.size.get() as f64,
            time: time.as_nanos() as f64,
        };
        self.requests.iter().map(|requests| Scatter::new(good(requests, time).map(observation))).collect()
    }
}

/// Places that nothing is smoothed over.
fn steps(cliffs: &[Cliff]) -> Vec<f64> {
    cliffs.iter().filter(|cliff| cliff.change == Change::Level).map(|cliff| cliff.place.point).collect()
}

fn named(question: &Question, family: &Family<'_>, variant: usize, cliff: &Cliff) -> SizeCliff {
    let bounded = |b: cliffs::Bounded| Bounded { point: b.point, lower: b.lower, upper: b.upper };
    SizeCliff {
        variant: question.variants[variant].name.clone(),
        point: family.point.label.clone(),
        operation: family.operation.clone(),
        change: match cliff.change {
            Change::Level => CliffChange::Level,
            Change::Slope => CliffChange::Slope,
        },
        place_bytes: bounded(cliff.place),
        height: bounded(cliff.height),
        before: cliff.before,
        cause: cause::cause(cliff, &question.guides),
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
        let of = |place: usize| {
            let half = half_width(standard_error(self.resampled(place)?, blocks)?, blocks, LEVEL);
            self.value(place).map(|log| ((log - half).exp(), (log + half).exp()))
        };
        (0..self.curve().len()).map(of).collect()
    }

    /// The ratio to another's median at each place.
    pub(crate) fn ratios(&self, other: &Self) -> Vec<Option<SizeRatio>> {
        let ratio = |log: LogRatio| {
            let half = log.error.map(|error| half_width(error, log.blocks, LEVEL));
            let interval = half.map(|half| ((log.point - half).exp(), (log.point + half).exp()));
            SizeRatio { point: log.point.exp(), interval }
        };
        (0..self.curve().len()).map(|place| self.log_ratio(other, place).map(ratio)).collect()
    }

    /// Where both were measured in the same blocks these are resampled together, so that what a block does to both cancels;
    /// else the two errors add up.
    fn log_ratio(&self, other: &Self, place: usize) -> Option<LogRatio> {
        let [mine, theirs] = [self, other].map(|median| median.scatter.blocks());
        let blocks = mine.len().min(theirs.len());
        let point = self.value(place)? - other.value(place)?;
        let error = || {
            let (numerator, denominator) = (self.resampled(place)?, other.resampled(place)?);
            if mine == theirs {
                let ratios: Vec<f64> = numerator.iter().zip(denominator).map(|(n, d)| n - d).collect();
                return standard_error(&ratios, blocks);
            }
            let errors = (standard_error(numerator, mine.len())?, standard_error(denominator, theirs.len())?);
            Some(errors.0.hypot(errors.1))
        };
        let error = if blocks < BLOCKS_FOR_INTERVAL { None } else { error() };
        Some(LogRatio { point, error, blocks })
    }
}
