//! Times over size: curves, cliffs and advice from single requests. The mathematics are in
//! [`crate::stats::smooth`] and [`crate::stats::cliffs`]; this module applies them to the requests of a run
//! and names the results.
//!
//! Figures are over good replies of blocks that count; failures are counted separately. Cliffs and advice are
//! about service time: waiting for a free connection is not a property of a size.

mod advice;
mod cause;
mod medians;
mod requests;
mod words;

use medians::{MEDIAN, Median, ratios};
pub(crate) use medians::{QUANTILES, medians, quantiles, ratios_to_others};
use requests::{BatchId, OperationRequests, Request, good, observation, operations};
pub use words::findings;

use std::collections::BTreeSet;

use weighbridge_model::sizes::{
    Bounded, CliffChange, OverSize, SizeCliff, SizeCurve, SizeJudged, SizeRatio, SizeRatios, SizeSamples,
    SizeTime,
};

use crate::question::Question;
use crate::records::Records;
use crate::stats::cliffs::{self, Change, Cliff, Found};
use crate::stats::interval::Interval;
use crate::stats::scatter::Scatter;
use crate::stats::smooth::{Smooth, places, smooth};

/// The first part of the name of a segment's guide.
pub const SEGMENT: &str = "segment";
/// Bytes of a segment that are not payload: the heads of IPv4 and TCP with its time stamps.
pub const SEGMENT_HEAD: u64 = 20 + 20 + 12;

/// The requests of a run over their sizes, prepared once for cliffs, advice and charts.
pub struct SizeAnalysis<'a> {
    question: &'a Question,
    operations: Vec<OperationAnalysis<'a>>,
}

struct OperationAnalysis<'a> {
    operation: OperationRequests<'a>,
    found: Vec<Found>,
    /// Places of steps, over which nothing is smoothed.
    cuts: Vec<Vec<f64>>,
    service: Curves,
}

struct Curves {
    places: Vec<f64>,
    scatters: Vec<Scatter>,
    smoothed: Vec<Smooth>,
    /// If variants lived in batches: the baseline over all of them.
    base: Option<Smooth>,
    /// The baseline over the batches of some variants only; none for variants that lived in all batches.
    beside: Vec<(Scatter, Smooth)>,
    batch_base_of_variant: Vec<Option<usize>>,
}

impl<'a> SizeAnalysis<'a> {
    pub fn new(question: &'a Question, records: &Records<'a>) -> Self {
        let analysed = |operation: OperationRequests<'a>| {
            let scatters = operation.scatters(SizeTime::Service);
            let margin = question.margin.get();
            let found: Vec<Found> = scatters.iter().map(|scatter| cliffs::find(scatter, margin)).collect();
            let each = found.iter().zip(&scatters);
            let cuts = each.map(|(found, scatter)| steps(&found.cliffs, scatter)).collect::<Vec<_>>();
            let service = Curves::new(&operation, SizeTime::Service, scatters, &cuts);
            OperationAnalysis { operation, found, service, cuts }
        };
        Self { question, operations: operations(question, records).into_iter().map(analysed).collect() }
    }

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

    /// What charts draw: curves with ratios to the baseline, and ratios between the other variants.
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
                all.extend(self.chart_curves(analysis, time, curves));
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

    fn chart_curves(
        &self,
        analysis: &OperationAnalysis<'_>,
        time: SizeTime,
        curves: &Curves,
    ) -> Vec<SizeCurve> {
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
        let batch_base_index = |requests: &Vec<Request<'_>>| {
            let own: BTreeSet<BatchId> = batches(requests).intersection(&all).copied().collect();
            // A variant is in other batches only if another batch of the same block has the baseline: it may
            // also lack whole blocks.
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
        let batch_base_of_variant: Vec<Option<usize>> =
            operation.by_variant.iter().map(batch_base_index).collect();
        let base = (!beside.is_empty()).then(|| {
            let scatter = Scatter::new(good(&operation.base, time).map(observation));
            smooth(&scatter, &QUANTILES, &places, &[])
        });
        Self { places, scatters, smoothed, base, beside, batch_base_of_variant }
    }

    fn median(&self, variant: usize) -> Median<'_> {
        Median { scatter: &self.scatters[variant], smooth: &self.smoothed[variant] }
    }

    /// The ratio of two variants' medians at each place; variants of different batches are divided by the
    /// baseline of their own batches first.
    fn ratios(&self, variant: usize, reference: usize) -> Vec<Option<SizeRatio>> {
        let [mine, theirs] = [variant, reference].map(|at| self.batch_base_of_variant[at]);
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
    let bounded = |b: Interval| Bounded { point: b.point, lower: b.lower, upper: b.upper };
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
