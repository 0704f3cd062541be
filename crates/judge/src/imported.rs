//! Rows that another program measured, as a run with figures and curves, but without verdicts. Its series
//! were measured one after another, each once. Without blocks there is no interval, and whatever changed
//! between two series is in every comparison of them.

use weighbridge_model::estimate::{Estimate, Quantity, Validity, Verdict};
use weighbridge_model::ppbench::{Fault, Series};
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::record::ErrorCounts;
use weighbridge_model::sizes::{SizeCurve, SizeRatios, SizeSamples, SizeTime};
use weighbridge_model::summary::{
    BlockCounts, Cost, Detail, Figure, Finding, SCHEMA_VERSION, Severity, Summary, VariantSummary,
};

use crate::analysis::sizes::{QUANTILES, medians, quantiles, ratios_to_others};
use crate::question::Run;
use crate::stats::sample::median;
use crate::stats::scatter::{Observation, Scatter};
use crate::stats::smooth::{Smooth, places, smooth};
use crate::thresholds::LEVEL;

const OPERATION: &str = "pong";
const REASON: &str = "not measured together";

/// A summary without verdicts, and data for charts. The first series is the reference.
pub fn imported(series: &[Series<'_>], run: Run) -> (Summary, Detail) {
    let (size_curves, size_ratios) = curves(series);
    let detail = Detail { size_curves, size_ratios, size_samples: samples(series), ..Detail::default() };
    (summary(series, run), detail)
}

/// Size and time in nanoseconds of each usable row.
fn good<'a>(series: &'a Series<'_>) -> impl Iterator<Item = (u64, f64)> + 'a {
    series.good().map(|row| (row.size(), row.time_ms() * 1e6))
}

fn summary(series: &[Series<'_>], run: Run) -> Summary {
    let variants: Vec<VariantSummary> =
        series.iter().enumerate().map(|(at, series)| variant(at == 0, series)).collect();
    let cost = |series: &Series<'_>| Cost {
        point: Default::default(),
        variant: series.name.clone(),
        operation: OPERATION.to_owned(),
        quantity: Quantity::ServiceP50,
        unit: Quantity::ServiceP50.unit(),
        difference: None,
        ratio: None,
        verdict: Verdict::Invalid,
        effect: None,
        reason: Some(REASON.to_owned()),
        p: None,
        headline: true,
    };
    Summary {
        schema: SCHEMA_VERSION,
        title: run.title,
        run: run.name,
        started: run.started,
        took: run.took,
        quick: false,
        validity: Validity::Invalid,
        headline: Quantity::ServiceP50,
        share_margin: None,
        margin: weighbridge_model::quantity::Ratio::new(0.02),
        blocks: BlockCounts::default(),
        goal: None,
        conditions: run.conditions,
        pairings: Vec::new(),
        costs: series.iter().skip(1).map(cost).collect(),
        findings: findings(series),
        variants,
        cpu_roles: None,
        spread: Vec::new(),
        over_size: Default::default(),
        tags: run.tags,
        relays: Vec::new(),
        carried: Vec::new(),
        roles: Vec::new(),
        tables: Vec::new(),
        layering: Default::default(),
        factorials: Vec::new(),
        capacities: Vec::new(),
        common_rates: Vec::new(),
        unavailable: Vec::new(),
        idle: None,
        calibration: None,
    }
}

fn findings(series: &[Series<'_>]) -> Vec<Finding> {
    let mut all = vec![Finding {
        severity: Severity::Problem,
        name: REASON.to_owned(),
        subject: String::new(),
        evidence: "imported: another program measured these series one after another, each once".to_owned(),
        remedy: "measure the alternatives here, in one experiment, for intervals and verdicts".to_owned(),
    }];
    all.extend(series.iter().filter_map(errors));
    all.extend(series.iter().filter_map(retried));
    all
}

fn errors(series: &Series<'_>) -> Option<Finding> {
    let faults = series.faults();
    (faults.total() > 0).then(|| Finding {
        severity: Severity::Note,
        name: "errors".to_owned(),
        subject: series.name.clone(),
        evidence: format!("{} of {} rows are in no figure: {faults}", faults.total(), series.count()),
        remedy: "what is left out need not be like the rest: measure again where they are many".to_owned(),
    })
}

fn retried(series: &Series<'_>) -> Option<Finding> {
    let retried = series.retried().filter(|retried| *retried > 0)?;
    Some(Finding {
        severity: Severity::Note,
        name: "retried".to_owned(),
        subject: series.name.clone(),
        evidence: format!("{retried} of {} rows hold requests that were repeated", series.count()),
        remedy: "their times are over all tries: measure again where they are many".to_owned(),
    })
}

/// Errors by kind, as far as the log has it: a failed row may have any reason, and a time that is not above 0
/// is no error of the service.
fn by_kind(series: &Series<'_>) -> ErrorCounts {
    let faults = series.faults();
    let status = series.rows().filter(|row| row.has_other_status()).count() as u64;
    ErrorCounts { status, check: faults.get(Fault::Length), ..Default::default() }
}

fn variant(baseline: bool, series: &Series<'_>) -> VariantSummary {
    let times: Vec<f64> = good(series).map(|(_, time)| time).collect();
    let estimate =
        |point| Estimate { point, lower: None, upper: None, level: LEVEL, blocks: 1, bootstrap: None };
    VariantSummary {
        name: series.name.clone(),
        point: Default::default(),
        baseline,
        validity: Validity::Invalid,
        reasons: vec![REASON.to_owned()],
        requests: series.count(),
        errors: series.faults().total(),
        errors_by_kind: by_kind(series),
        other_windows: Default::default(),
        samples: None,
        connects: 0,
        not_sent: 0,
        resent: 0,
        windows: 0,
        blocks: 0,
        batches: Vec::new(),
        version: None,
        runtime: Default::default(),
        slots: None,
        relay: None,
        figures: vec![Figure {
            operation: OPERATION.to_owned(),
            quantity: Quantity::ServiceP50,
            unit: Quantity::ServiceP50.unit(),
            estimate: median(&times).map(estimate),
            reason: times.is_empty().then(|| "no row has a time that can be used".to_owned()),
        }],
        traffic: Default::default(),
        kernel_timestamps: None,
    }
}

/// Curves, and ratios without intervals: there are no blocks.
fn curves(series: &[Series<'_>]) -> (Vec<SizeCurve>, Vec<SizeRatios>) {
    let scatter = |series: &Series<'_>| {
        Scatter::new(good(series).map(|(size, time)| Observation { block: 0, size: size as f64, time }))
    };
    let scatters: Vec<Scatter> = series.iter().map(scatter).collect();
    let places = places(&scatters);
    let smoothed: Vec<Smooth> =
        scatters.iter().map(|scatter| smooth(scatter, &QUANTILES, &places, &[])).collect();
    let medians = medians(&scatters, &smoothed);
    // Ping's times and the client's are not compared.
    let is_like =
        |variant: usize, reference: usize| time_kind(&series[variant]) == time_kind(&series[reference]);
    let ratios = |variant: usize, reference: usize| medians[variant].ratios(&medians[reference]);
    let alike =
        ratios_to_others(&medians, ratios).filter(|(variant, reference, _)| is_like(*variant, *reference));
    let others = alike.map(|(variant, reference, ratio)| SizeRatios {
        variant: series[variant].name.clone(),
        reference: series[reference].name.clone(),
        point: Default::default(),
        operation: OPERATION.to_owned(),
        time: time_kind(&series[variant]),
        ratio,
    });
    let curve = |at: usize, series: &Series<'_>| SizeCurve {
        variant: series.name.clone(),
        point: Default::default(),
        operation: OPERATION.to_owned(),
        time: time_kind(series),
        requests: scatters[at].len() as u64,
        size_bytes: places.iter().map(|place| *place as u64).collect(),
        quantiles: quantiles(&smoothed[at]),
        median_interval_ns: Vec::new(),
        ratio: if at > 0 && is_like(at, 0) { medians[at].ratios(&medians[0]) } else { Vec::new() },
    };
    let filled = series.iter().enumerate().filter(|(at, _)| !scatters[*at].is_empty());
    (filled.map(|(at, series)| curve(at, series)).collect(), others.collect())
}

/// All rows of a series in one log hold the same time.
fn time_kind(series: &Series<'_>) -> SizeTime {
    if series.is_relayed() { SizeTime::Relayed } else { SizeTime::Service }
}

fn samples(series: &[Series<'_>]) -> Vec<SizeSamples> {
    let size_samples = |series: &Series<'_>| {
        let mut pairs: Vec<(u64, u64)> = good(series)
            .map(|(size, time)| (size, Nanoseconds::from_secs_f64(time / 1e9).as_nanos()))
            .collect();
        pairs.sort_unstable();
        let (size_bytes, time_ns) = pairs.into_iter().unzip();
        SizeSamples {
            variant: series.name.clone(),
            point: Default::default(),
            operation: OPERATION.to_owned(),
            time: time_kind(series),
            size_bytes,
            time_ns,
            failed: series.faults().total(),
        }
    };
    series.iter().map(size_samples).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use weighbridge_model::ppbench::{COLUMNS, Naming, read, series};

    #[test]
    fn times_of_ping_and_of_the_client_are_distinguished_and_not_compared() {
        let mut text = COLUMNS.join(",") + "\n";
        for size in (1..=50).map(|n| 1000 * n) {
            for (experiment, path) in [("a", "mping"), ("b", "ping"), ("c", "ping")] {
                text += &format!(",{experiment},/{path}/{size},0,1,{size},2,1,1,0,200\n");
            }
        }
        let rows = read(&text).unwrap().rows;
        let (_, detail) = imported(&series(&rows, &Naming::default()), Run::default());
        let times: Vec<_> = detail.size_curves.iter().map(|curve| (curve.time, curve.ratio.len())).collect();
        assert_eq!(times, [(SizeTime::Relayed, 0), (SizeTime::Service, 0), (SizeTime::Service, 0)]);
        let [pair] = &detail.size_ratios[..] else { panic!("one pair is alike") };
        assert_eq!(
            (pair.variant.as_str(), pair.reference.as_str(), pair.time),
            ("c", "b", SizeTime::Service)
        );
    }

    #[test]
    fn imported_rows_become_series_with_figures_and_without_verdicts() {
        let mut text = COLUMNS.join(",") + "\n";
        for n in 1..=200 {
            let size = 1000 * n;
            text += &format!("m,go,/mping/{size},0,1,{size},{},1,1,0,200\n", 1.0 + f64::from(n) / 100.0);
            text += &format!("m,ruby,/mping/{size},0,1,{size},4.5,1,1,0,200\n");
        }
        text += "m,ruby,/mping/5,1,1,0,4,1,1,100,503\nm,ruby,/mping/6,0,1,6,-990.5,1,1,0,200\n";
        let rows = read(&text).unwrap().rows;
        let (summary, detail) = imported(&series(&rows, &Naming::default()), Run::default());
        let names: Vec<_> =
            summary.variants.iter().map(|v| (v.name.as_str(), v.requests, v.errors)).collect();
        assert_eq!(names, [("go on m", 200, 0), ("ruby on m", 202, 2)]);
        let found: Vec<_> = summary.findings.iter().map(|f| (f.name.as_str(), f.subject.as_str())).collect();
        assert_eq!(found, [(REASON, ""), ("errors", "ruby on m"), ("retried", "ruby on m")]);
        let evidence = &summary.findings[1].evidence;
        assert_eq!(evidence, "2 of 202 rows are in no figure: 1 failed, 1 of a time not above 0");
        let kinds = summary.variants[1].errors_by_kind;
        assert_eq!(
            (kinds.status, kinds.total()),
            (1, 1),
            "a clock that goes backwards is no error of the service"
        );
        let [cost] = &summary.costs[..] else { panic!("{:?}", summary.costs) };
        assert_eq!((cost.verdict, cost.reason.as_deref()), (Verdict::Invalid, Some("not measured together")));
        assert_eq!(summary.variants[1].figures[0].estimate.unwrap().point, 4.5e6);
        let go = &detail.size_curves[0];
        let at = go.size_bytes.iter().position(|size| *size >= 100_000).unwrap();
        let truth = 1e6 + go.size_bytes[at] as f64 * 10.0;
        assert!((go.quantiles[2].time_ns[at].unwrap() / truth - 1.0).abs() < 0.02);
        assert!(go.median_interval_ns.is_empty() && go.ratio.is_empty());
        let ratio = detail.size_curves[1].ratio[at].unwrap();
        assert!((ratio.point / (4.5e6 / truth) - 1.0).abs() < 0.02 && ratio.interval.is_none());
        assert_eq!((detail.size_samples[1].failed, detail.size_samples[1].time_ns.len()), (2, 200));
    }
}
