//! What there is to say of a run in one row a variant: counts, and figures that have an interval. Of measured runs these
//! are over blocks; of imported logs over their rows.

use std::collections::BTreeMap;

use weighbridge_model::overview::{Origin, OverviewRow};
use weighbridge_model::ppbench::Row;
use weighbridge_model::quantity::Bytes;
use weighbridge_model::record::{PointId, TrialRecord, VariantId};
use weighbridge_model::samples::Sample;
use weighbridge_model::sizes::{Bounded, SizeTime};
use weighbridge_model::summary::{Estimate, Quantity, Summary, VariantSummary};
use weighbridge_model::tags::{EXPERIMENT, MACHINE, TagSet};

use crate::estimate::{beyond, estimate};
use crate::gather::{Gathered, Lens};
use crate::question::Question;
use crate::stats::ranks::quantile_interval;
use crate::stats::sample::{ascending, median, quantile_nearest_rank};
use crate::thresholds::LEVEL;

/// The quantile beside the median.
const UPPER: f64 = 0.9;
/// Requests beyond a quantile from which on a block has one.
const BEYOND: u64 = 20;

/// Smallest and largest size that each point asks for, in the order of points; `None` of workloads without sizes.
pub type AskedSizes = [Option<(Bytes, Bytes)>];

/// The rows of a measured run.
pub fn measured(
    question: &Question,
    trials: &[TrialRecord],
    summary: &Summary,
    sizes: &AskedSizes,
) -> Vec<OverviewRow> {
    let gathered = Gathered::new(trials);
    let row = |variant: &VariantSummary| {
        let point = question.points().find(|(_, point)| point.label == variant.point).map(|(id, _)| id);
        let id = question.variants().find(|(_, known)| known.name == variant.name).map(|(id, _)| id);
        let samples = point.zip(id).map(|(point, id)| samples(&gathered, point, id)).unwrap_or_default();
        let asked = point.and_then(|point| sizes.get(point.index()).copied().flatten());
        of_variant(summary, variant, &samples, asked)
    };
    summary.variants.iter().map(row).collect()
}

/// Single requests of a variant at a point, with their blocks; none where they were not kept.
fn samples<'a>(gathered: &Gathered<'a>, point: PointId, variant: VariantId) -> Vec<(u32, &'a Sample)> {
    let trials = gathered.cells(point, variant, Lens::Measured).into_iter().flat_map(|cell| cell.trials);
    let of = move |sample: &&Sample| sample.point == point;
    trials.flat_map(|trial| trial.samples.iter().filter(of).map(move |one| (trial.block, one))).collect()
}

fn of_variant(
    summary: &Summary,
    variant: &VariantSummary,
    samples: &[(u32, &Sample)],
    asked: Option<(Bytes, Bytes)>,
) -> OverviewRow {
    let relayed = samples.iter().any(|(_, sample)| sample.relayed.is_some());
    let time = if relayed { SizeTime::Relayed } else { SizeTime::Service };
    let seconds = |sample: &Sample| -> Option<(f64, f64)> {
        let relay = sample.relayed.filter(|_| relayed);
        let (bytes, time) = match (relay, relayed) {
            (Some(relay), _) => (relay.length, relay.duration),
            (None, false) => (sample.length, sample.service()),
            (None, true) => return None,
        };
        (sample.is_good() && time.as_nanos() > 0).then(|| (bytes.get() as f64, time.as_nanos() as f64))
    };
    let over_blocks = |q: f64, value: &dyn Fn(f64, f64) -> f64| {
        let mut blocks: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for (block, (bytes, time)) in samples.iter().filter_map(|(block, one)| Some((*block, seconds(one)?)))
        {
            blocks.entry(block).or_default().push(value(bytes, time));
        }
        let of = |values: &Vec<f64>| {
            let enough = q <= 0.5 || beyond(values.len() as u64, q) >= BEYOND;
            enough.then(|| quantile_nearest_rank(values, q)).flatten()
        };
        let values: Option<Vec<f64>> = blocks.values().map(of).collect();
        of_blocks(&values.filter(|values| !values.is_empty())?, summary.blocks.min as usize)
    };
    let figure = |quantity: Quantity| {
        let of = |operation: &str| {
            let mut all = variant.figures.iter();
            all.find(|figure| figure.quantity == quantity && figure.operation == operation)
        };
        let whole = of("all").or_else(|| variant.figures.iter().find(|figure| figure.quantity == quantity));
        whole.and_then(|figure| figure.estimate.as_ref()).and_then(bounded)
    };
    let (median_ns, p90_ns) = match time {
        SizeTime::Relayed => (over_blocks(0.5, &|_, time| time), over_blocks(UPPER, &|_, time| time)),
        _ => (figure(Quantity::ServiceP50), figure(Quantity::ServiceP90)),
    };
    let rate = |bytes: f64, time: f64| bytes * 1e9 / time;
    // Of one size the median of the rates is the rate of the median time.
    let of_one = || {
        let size = asked.filter(|(from, to)| from == to).map(|(size, _)| size.get() as f64)?;
        median_ns.map(|time| inverse(size * 1e9, time))
    };
    let kept = || samples.iter().map(|(_, sample)| sample.size);
    let asked = kept().min().zip(kept().max()).or(asked);
    let name = &variant.name;
    OverviewRow {
        run: summary.run.clone(),
        variant: name.clone(),
        point: variant.point.clone(),
        machine: summary.tags.machine(name).map(str::to_owned),
        experiment: summary.tags.experiment(name),
        name: name.clone(),
        tags: summary.tags.of(name),
        origin: Origin::Measured,
        validity: Some(variant.validity),
        requests: variant.requests,
        failed: variant.errors,
        retried: relayed.then(|| {
            samples.iter().filter(|(_, sample)| sample.relayed.is_some_and(|relay| relay.retries > 0)).count()
                as u64
        }),
        size_from_bytes: asked.map(|(from, _)| from.get()),
        size_to_bytes: asked.map(|(_, to)| to.get()),
        time,
        median_ns,
        p90_ns,
        transfer_median_bytes_per_s: over_blocks(0.5, &rate).or_else(of_one),
        throughput_per_s: figure(Quantity::Throughput),
    }
}

/// The geometric mean of blocks' values, which are above zero: on the scale of logarithms no bound can be below it.
fn of_blocks(values: &[f64], first_stage: usize) -> Option<Bounded> {
    let logarithms: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    let Bounded { point, lower, upper } = bounded(&estimate(&logarithms, first_stage))?;
    Some(Bounded { point: point.exp(), lower: lower.exp(), upper: upper.exp() })
}

/// An estimate that has an interval.
fn bounded(estimate: &Estimate) -> Option<Bounded> {
    estimate.interval().map(|(lower, upper)| Bounded { point: estimate.point, lower, upper })
}

/// `over` divided by a figure above zero: its bounds change places.
fn inverse(over: f64, of: Bounded) -> Bounded {
    Bounded { point: over / of.point, lower: over / of.upper, upper: over / of.lower }
}

/// The rows of an imported log: one for each machine and experiment, in the order in which they first come. `name` says how
/// a series is called in its run.
pub fn imported(rows: &[Row], name: &dyn Fn(&Row) -> String, run: &str) -> Vec<OverviewRow> {
    let mut series: Vec<Vec<&Row>> = Vec::new();
    for row in rows {
        let same = |known: &&mut Vec<&Row>| {
            known[0].machine() == row.machine() && known[0].experiment() == row.experiment()
        };
        match series.iter_mut().find(same) {
            Some(known) => known.push(row),
            None => series.push(vec![row]),
        }
    }
    series.iter().map(|rows| of_series(rows, name(rows[0]), run)).collect()
}

fn of_series(rows: &[&Row], name: String, run: &str) -> OverviewRow {
    let good = || rows.iter().filter(|row| row.is_good());
    let times: Vec<f64> = good().map(|row| row.time_ms() * 1e6).collect();
    let rates: Vec<f64> =
        good().map(|row| row.transfer_bytes_per_s()).filter(|rate| rate.is_finite()).collect();
    let (machine, experiment) = (rows[0].machine(), rows[0].experiment());
    let tags = [(MACHINE, machine), (EXPERIMENT, experiment)].into_iter().filter(|(_, tag)| !tag.is_empty());
    OverviewRow {
        run: run.to_owned(),
        variant: name.clone(),
        point: Default::default(),
        machine: (!machine.is_empty()).then(|| machine.to_owned()),
        experiment: experiment.to_owned(),
        name,
        tags: tags.map(|(name, tag)| (name.to_owned(), tag.to_owned())).collect::<TagSet>(),
        origin: Origin::Imported,
        validity: None,
        requests: rows.len() as u64,
        failed: (rows.len() - times.len()) as u64,
        retried: Some(rows.iter().filter(|row| row.retries() > 0.0).count() as u64),
        size_from_bytes: rows.iter().map(|row| row.size()).min(),
        size_to_bytes: rows.iter().map(|row| row.size()).max(),
        time: SizeTime::Relayed,
        median_ns: by_ranks(&times, 0.5),
        p90_ns: by_ranks(&times, UPPER),
        transfer_median_bytes_per_s: by_ranks(&rates, 0.5),
        throughput_per_s: None,
    }
}

fn by_ranks(values: &[f64], q: f64) -> Option<Bounded> {
    let values = ascending(values);
    let (lower, upper) = quantile_interval(&values, q, LEVEL)?;
    let point = if q == 0.5 { median(&values) } else { quantile_nearest_rank(&values, q) };
    Some(Bounded { point: point?, lower, upper })
}

#[cfg(test)]
mod tests {
    use super::*;
    use weighbridge_model::ppbench::{COLUMNS, Naming, read};

    #[test]
    fn an_imported_series_has_counts_and_figures_with_intervals_over_its_rows() {
        let mut text = COLUMNS.join(",") + "\n";
        // Times 1 to 25 ms: by the sign test's table the median's interval is from the 8th to the 18th.
        for n in 1..=25 {
            text += &format!("m,go,/mping/{},0,1,{},{n},{},1,0,200\n", 1000 * n, 1000 * n, 1_000_000);
        }
        text += "m,go,/mping/9,1,1,0,4,0,1,100,503\nm,go,/mping/7,0,1,7,2.5,2800,1,3,200\n";
        text += "n,go,/mping/5,0,1,5,1,5000,1,0,200\n";
        let rows = read(&text).unwrap().rows;
        let naming = Naming::default();
        let [on_m, on_n] = &imported(&rows, &|row| naming.series(row), "r")[..] else { panic!("two series") };
        assert_eq!(
            (on_m.name.as_str(), on_m.requests, on_m.failed, on_m.retried),
            ("go on m", 27, 1, Some(2))
        );
        assert_eq!((on_m.size_from_bytes, on_m.size_to_bytes), (Some(7), Some(25_000)));
        let median = on_m.median_ns.expect("26 times are enough");
        // 26 values with 2.5 between 2 and 3: the 13th and 14th are 12 and 13; ranks 8 and 19 are 7 and 18.
        assert_eq!((median.point, median.lower, median.upper), (12.5e6, 7e6, 18e6));
        assert_eq!(on_m.p90_ns, None, "nothing bounds the 90th percentile of 26 values above");
        let rate = on_m.transfer_median_bytes_per_s.expect("likewise");
        assert_eq!((rate.point, rate.lower, rate.upper), (1e6, 1e6, 1e6));
        assert_eq!((on_n.machine.as_deref(), on_n.requests, on_n.median_ns), (Some("n"), 1, None));
        assert_eq!(on_m.throughput_per_s, None);
    }

    #[test]
    fn values_of_blocks_have_bounds_above_zero_and_below_four_blocks_none() {
        // e^1 … e^4: mean 2.5, s = 1.291, t(3) = 3.182446: 2.5 ± 2.054 on the scale of logarithms.
        let values: Vec<f64> = (1..=4).map(|power| f64::from(power).exp()).collect();
        let found = of_blocks(&values, 4).expect("four blocks");
        let half = 3.182_446_305 * (5.0_f64 / 3.0).sqrt() / 2.0;
        for (got, wanted) in [(found.point, 2.5), (found.lower, 2.5 - half), (found.upper, 2.5 + half)] {
            assert!((got.ln() - wanted).abs() < 1e-6, "{got} {wanted}");
        }
        assert_eq!(of_blocks(&values[..3], 4), None);
    }

    #[test]
    fn a_rate_of_one_size_has_the_bounds_of_its_time_the_other_way_round() {
        let time = Bounded { point: 2e6, lower: 1e6, upper: 4e6 };
        let rate = inverse(1000.0 * 1e9, time);
        assert_eq!((rate.point, rate.lower, rate.upper), (5e5, 2.5e5, 1e6));
    }
}
