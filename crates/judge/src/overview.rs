//! One row for each variant of a run: counts, and figures with intervals if they have any. Figures of
//! measured runs are over blocks, those of imported logs over rows.

use std::collections::BTreeMap;

use weighbridge_model::estimate::{Estimate, Quantity};
use weighbridge_model::id::{PointId, VariantId};
use weighbridge_model::overview::{Origin, OverviewFigure, OverviewRow};
use weighbridge_model::ppbench::{Row, Series, Tagged};
use weighbridge_model::quantity::Bytes;
use weighbridge_model::record::TrialRecord;
use weighbridge_model::record::samples::Sample;
use weighbridge_model::sizes::SizeTime;
use weighbridge_model::summary::{Summary, VariantSummary};

use crate::estimate::{beyond, estimate};
use crate::question::Question;
use crate::records::{Records, WindowSelection};
use crate::stats::ranks::quantile_interval;
use crate::stats::sample::{ascending, median, quantile_nearest_rank};
use crate::thresholds::LEVEL;

/// The quantile shown beside the median.
const UPPER: f64 = 0.9;
/// A block has a quantile from this many requests beyond it on.
const BEYOND: u64 = 20;

/// The smallest and the largest size that a point asks for, or that its requests had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SizeBounds {
    pub min: Bytes,
    pub max: Bytes,
}

/// `sizes` are those that each point asks for; `None` for workloads without sizes.
pub fn measured(
    question: &Question,
    trials: &[TrialRecord],
    summary: &Summary,
    sizes: &[Option<SizeBounds>],
) -> Vec<OverviewRow> {
    let records = Records::new(trials);
    let row = |variant: &VariantSummary| {
        let point = question.points().find(|(_, point)| point.label == variant.point).map(|(id, _)| id);
        let id = question.variants().find(|(_, known)| known.name == variant.name).map(|(id, _)| id);
        let samples = point.zip(id).map(|(point, id)| samples(&records, point, id)).unwrap_or_default();
        let asked = point.and_then(|point| sizes.get(point.index()).copied().flatten());
        variant_row(summary, variant, &samples, asked)
    };
    summary.variants.iter().map(row).collect()
}

struct BlockSample<'a> {
    block: u32,
    sample: &'a Sample,
}

/// Single requests of a variant's measured windows at a point; none if they were not kept.
fn samples<'a>(records: &Records<'a>, point: PointId, variant: VariantId) -> Vec<BlockSample<'a>> {
    let trials =
        records.cells(point, variant, WindowSelection::Measured).into_iter().flat_map(|cell| cell.trials);
    let is_measured = move |sample: &&Sample| sample.is_measured(point);
    trials
        .flat_map(|trial| {
            trial
                .samples
                .iter()
                .filter(is_measured)
                .map(move |sample| BlockSample { block: trial.block, sample })
        })
        .collect()
}

struct Kept<'a> {
    samples: &'a [BlockSample<'a>],
    /// Whether a relay reported times of its own requests, which are then used.
    relayed: bool,
}

impl<'a> Kept<'a> {
    fn new(samples: &'a [BlockSample<'a>]) -> Self {
        Self { samples, relayed: samples.iter().any(|one| one.sample.relayed.is_some()) }
    }

    /// Body size in bytes and time in nanoseconds of a good reply.
    fn figures(&self, sample: &Sample) -> Option<(f64, f64)> {
        let (bytes, time) = match sample.relayed.filter(|_| self.relayed) {
            Some(relay) => (relay.length, relay.duration),
            None if self.relayed => return None,
            None => (sample.length, sample.service()),
        };
        (sample.is_good() && time.as_nanos() > 0).then(|| (bytes.get() as f64, time.as_nanos() as f64))
    }

    /// Quantile `q` of `value` of bytes and time, over blocks.
    fn over_blocks(
        &self,
        q: f64,
        value: &dyn Fn(f64, f64) -> f64,
        first_stage: usize,
    ) -> Option<OverviewFigure> {
        let mut blocks: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for BlockSample { block, sample } in self.samples {
            if let Some((bytes, time)) = self.figures(sample) {
                blocks.entry(*block).or_default().push(value(bytes, time));
            }
        }
        let block_quantile = |values: &Vec<f64>| {
            let enough = q <= 0.5 || beyond(values.len() as u64, q) >= BEYOND;
            enough.then(|| quantile_nearest_rank(values, q)).flatten()
        };
        let values: Option<Vec<f64>> = blocks.values().map(block_quantile).collect();
        figure_over_blocks(&values.filter(|values| !values.is_empty())?, first_stage)
    }

    fn sizes(&self) -> Option<SizeBounds> {
        let sizes = || self.samples.iter().map(|one| one.sample.size);
        Some(SizeBounds { min: sizes().min()?, max: sizes().max()? })
    }

    /// Requests that the relay had to repeat; `None` if no relay reported any.
    fn retried(&self) -> Option<u64> {
        let is_retried = |sample: &Sample| sample.relayed.is_some_and(|relay| relay.retries > 0);
        self.relayed.then(|| self.samples.iter().filter(|one| is_retried(one.sample)).count() as u64)
    }
}

fn variant_row(
    summary: &Summary,
    variant: &VariantSummary,
    samples: &[BlockSample<'_>],
    asked: Option<SizeBounds>,
) -> OverviewRow {
    let kept = Kept::new(samples);
    let time = if kept.relayed { SizeTime::Relayed } else { SizeTime::Service };
    let first_stage = summary.blocks.min as usize;
    let figure = |quantity: Quantity| {
        let figure_of_operation = |operation: &str| {
            let mut all = variant.figures.iter();
            all.find(|figure| figure.quantity == quantity && figure.operation == operation)
        };
        let whole = figure_of_operation("all")
            .or_else(|| variant.figures.iter().find(|figure| figure.quantity == quantity));
        whole.and_then(|figure| figure.estimate.as_ref()).map(shown)
    };
    let (median_ns, p90_ns) = match time {
        SizeTime::Relayed => {
            let quantile = |q: f64| kept.over_blocks(q, &|_, time| time, first_stage);
            (quantile(0.5), quantile(UPPER))
        }
        _ => (figure(Quantity::ServiceP50), figure(Quantity::ServiceP90)),
    };
    let rate = |bytes: f64, time: f64| bytes * 1e9 / time;
    // For one size, the median rate follows from the median time.
    let from_one_size = || {
        let size = asked.filter(|sizes| sizes.min == sizes.max).map(|sizes| sizes.min.get() as f64)?;
        median_ns.map(|time| inverse(size * 1e9, time))
    };
    let asked = kept.sizes().or(asked);
    let name = &variant.name;
    OverviewRow {
        run: summary.run.clone(),
        variant: name.clone(),
        point: variant.point.clone(),
        machine: summary.tags.machine(name).map(str::to_owned),
        experiment: summary.tags.experiment(name),
        name: name.clone(),
        tags: summary.tags.merged(name),
        origin: Origin::Measured,
        validity: Some(variant.validity),
        requests: variant.requests,
        failed: variant.errors,
        retried: kept.retried(),
        size_from_bytes: asked.map(|sizes| sizes.min.get()),
        size_to_bytes: asked.map(|sizes| sizes.max.get()),
        time,
        median_ns,
        p90_ns,
        transfer_median_bytes_per_s: kept.over_blocks(0.5, &rate, first_stage).or_else(from_one_size),
        throughput_per_s: figure(Quantity::Throughput),
    }
}

/// The geometric mean of blocks' values, so that no bound is below zero. `None` unless all are above zero.
fn figure_over_blocks(values: &[f64], first_stage: usize) -> Option<OverviewFigure> {
    if values.iter().any(|value| *value <= 0.0) {
        return None;
    }
    let logarithms: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    Some(shown(&estimate(&logarithms, first_stage)).map(f64::exp))
}

fn shown(estimate: &Estimate) -> OverviewFigure {
    OverviewFigure::new(estimate.point, estimate.interval())
}

/// `over` divided by a figure above zero; its bounds change places.
fn inverse(over: f64, under: OverviewFigure) -> OverviewFigure {
    OverviewFigure {
        point: over / under.point,
        lower: under.upper.map(|b| over / b),
        upper: under.lower.map(|b| over / b),
    }
}

pub fn imported(series: &[Series<'_>], run: &str) -> Vec<OverviewRow> {
    series.iter().map(|series| series_row(series, run)).collect()
}

fn series_row(series: &Series<'_>, run: &str) -> OverviewRow {
    let times: Vec<f64> = series.good().map(|row| row.time_ms() * 1e6).collect();
    let rates: Vec<f64> =
        series.good().map(|row| row.transfer_bytes_per_s()).filter(|rate| rate.is_finite()).collect();
    let Tagged { machine, experiment, .. } = series.tags();
    let sizes = || series.rows().map(Row::size);
    OverviewRow {
        run: run.to_owned(),
        variant: series.name.clone(),
        point: Default::default(),
        machine: machine.map(str::to_owned),
        experiment: experiment.to_owned(),
        name: series.name.clone(),
        tags: series.tags().tags(),
        origin: Origin::Imported,
        validity: None,
        requests: series.count(),
        failed: series.faults().total(),
        retried: series.retried(),
        size_from_bytes: sizes().min(),
        size_to_bytes: sizes().max(),
        time: if series.is_relayed() { SizeTime::Relayed } else { SizeTime::Service },
        median_ns: by_ranks(&times, 0.5),
        p90_ns: by_ranks(&times, UPPER),
        transfer_median_bytes_per_s: by_ranks(&rates, 0.5),
        throughput_per_s: None,
    }
}

/// A quantile of a log's rows, with an interval if there are enough of them.
fn by_ranks(values: &[f64], q: f64) -> Option<OverviewFigure> {
    let values = ascending(values);
    let point = if q == 0.5 { median(&values) } else { quantile_nearest_rank(&values, q) };
    Some(OverviewFigure::new(point?, quantile_interval(&values, q, LEVEL)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use weighbridge_model::ppbench::{COLUMNS, Naming, read, series};

    #[test]
    fn an_imported_series_has_counts_and_figures_with_intervals_over_its_rows_where_there_are_enough() {
        let mut text = COLUMNS.join(",") + "\n";
        // Times 1 to 25 ms: by the sign test's table, the median's interval is from the 8th to the 18th.
        for n in 1..=25 {
            text += &format!("m,go,/mping/{},0,1,{},{n},{},1,0,200\n", 1000 * n, 1000 * n, 1_000_000);
        }
        text += "m,go,/mping/9,1,1,0,4,0,1,100,503\nm,go,/mping/7,0,1,7,2.5,2800,1,3,200\n";
        text += "n,go,/mping/5,0,1,5,1,5000,1,0,200\n";
        let rows = read(&text).unwrap().rows;
        let all = imported(&series(&rows, &Naming::default()), "r");
        let [on_m, on_n] = &all[..] else { panic!("two series") };
        assert_eq!(
            (on_m.name.as_str(), on_m.requests, on_m.failed, on_m.retried),
            ("go on m", 27, 1, Some(2))
        );
        assert_eq!((on_m.size_from_bytes, on_m.size_to_bytes), (Some(7), Some(25_000)));
        // 26 values with 2.5 between 2 and 3: the 13th and 14th are 12 and 13; ranks 8 and 19 are 7 and 18.
        assert_eq!(on_m.median_ns, Some(OverviewFigure::new(12.5e6, Some((7e6, 18e6)))));
        // The 24th of 26; so few values give the 90th percentile no upper bound.
        assert_eq!(on_m.p90_ns, Some(OverviewFigure::new(23e6, None)));
        assert_eq!(on_m.transfer_median_bytes_per_s, Some(OverviewFigure::new(1e6, Some((1e6, 1e6)))));
        assert_eq!((on_n.machine.as_deref(), on_n.requests), (Some("n"), 1));
        assert_eq!(on_n.median_ns, Some(OverviewFigure::new(1e6, None)), "one row has no interval");
        assert_eq!(on_m.throughput_per_s, None);
    }

    #[test]
    fn values_of_blocks_have_bounds_above_zero_and_below_four_blocks_no_interval() {
        // e^1 … e^4: mean 2.5, s = 1.291, t(3) = 3.182446: 2.5 ± 2.054 on the log scale.
        let values: Vec<f64> = (1..=4).map(|power| f64::from(power).exp()).collect();
        let found = figure_over_blocks(&values, 4).expect("four blocks");
        let half = 3.182_446_305 * (5.0_f64 / 3.0).sqrt() / 2.0;
        let (lower, upper) = found.interval().expect("four blocks are enough");
        for (got, wanted) in [(found.point, 2.5), (lower, 2.5 - half), (upper, 2.5 + half)] {
            assert!((got.ln() - wanted).abs() < 1e-6, "{got} {wanted}");
        }
        let three = figure_over_blocks(&values[..3], 4).expect("three values");
        assert!((three.point.ln() - 2.0).abs() < 1e-9 && three.interval().is_none(), "{three:?}");
    }

    #[test]
    fn a_rate_of_one_size_has_the_bounds_of_its_time_the_other_way_round() {
        let time = OverviewFigure::new(2e6, Some((1e6, 4e6)));
        assert_eq!(inverse(1000.0 * 1e9, time), OverviewFigure::new(5e5, Some((2.5e5, 1e6))));
        assert_eq!(inverse(1000.0 * 1e9, OverviewFigure::new(2e6, None)), OverviewFigure::new(5e5, None));
    }
}
