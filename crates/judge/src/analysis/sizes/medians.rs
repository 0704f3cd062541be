//! Medians over size with their intervals, and ratios between those of several variants.

use weighbridge_model::sizes::{SizeQuantile, SizeRatio};

use crate::stats::scatter::{Scatter, half_width, standard_error};
use crate::stats::smooth::Smooth;
use crate::thresholds::{BLOCKS_FOR_INTERVAL, LEVEL};

/// The quantiles of a curve: median, middle half, and middle 90 %.
pub(crate) const QUANTILES: [f64; 5] = [0.05, 0.25, 0.5, 0.75, 0.95];
pub(super) const MEDIAN: usize = 2;

/// Up to this many variants, every pair's ratio is kept.
const REFERENCES: usize = 12;

pub(crate) fn medians<'a>(scatters: &'a [Scatter], smoothed: &'a [Smooth]) -> Vec<Median<'a>> {
    scatters.iter().zip(smoothed).map(|(scatter, smooth)| Median { scatter, smooth }).collect()
}

/// Variant, reference and ratios of each pair without the baseline; the reference is the earlier of the two.
/// Empty if there are too many variants.
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

pub(crate) fn quantiles(smooth: &Smooth) -> Vec<SizeQuantile> {
    let times = |curve: &Vec<Option<f64>>| curve.iter().map(|log| log.map(f64::exp)).collect();
    let each = QUANTILES.into_iter().zip(&smooth.curves);
    each.map(|(quantile, curve)| SizeQuantile { quantile, time_ns: times(curve) }).collect()
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Median<'a> {
    pub(super) scatter: &'a Scatter,
    pub(super) smooth: &'a Smooth,
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
    pub(super) fn curve(&self) -> &[Option<f64>] {
        &self.smooth.curves[MEDIAN]
    }

    fn value(&self, place: usize) -> Option<f64> {
        self.curve()[place]
    }

    fn resampled(&self, place: usize) -> Option<&[f64]> {
        Some(&*self.smooth.medians[place]).filter(|medians| !medians.is_empty())
    }

    /// The interval at each place; empty below four blocks.
    pub(super) fn intervals(&self) -> Vec<Option<(f64, f64)>> {
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

    pub(crate) fn ratios(&self, other: &Self) -> Vec<Option<SizeRatio>> {
        ratios(&[*self], &[*other])
    }
}

/// The ratio of the product of some medians to that of others at each place.
pub(super) fn ratios(over: &[Median<'_>], under: &[Median<'_>]) -> Vec<Option<SizeRatio>> {
    let ratio = |log: LogRatio| {
        let half = log.error.map(|error| half_width(error, log.blocks, LEVEL));
        let interval = half.map(|half| ((log.point - half).exp(), (log.point + half).exp()));
        SizeRatio { point: log.point.exp(), interval }
    };
    (0..over[0].curve().len()).map(|place| log_ratio(over, under, place).map(ratio)).collect()
}

/// Medians measured in the same blocks are resampled together, so that what a block does to all of them
/// cancels; otherwise the errors add up.
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
