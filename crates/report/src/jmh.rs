//! The JSON of the Java microbenchmark harness (JMH), so that its visualisers and CI plug-ins can show a run.
//!
//! A benchmark is an operation, a parameter is the variant or a factor of the point, a fork is a block, and
//! an iteration is all windows of a block. Response times have mode `sample`: the score is their mean with
//! its interval over blocks, the percentiles are those of requests, and other quantities are secondary
//! metrics. Throughput has mode `thrpt` and a class of its own, because charts mix whatever is in one class.
//! The format cannot express doubt: what is invalid or withheld is left out, and what is suspect is marked in
//! the member `weighbridge`, which readers of the format ignore.

use std::collections::BTreeMap;

use hdrhistogram::iterators::IterationValue;
use serde::Serialize;
use serde_json::{Value, json};
use weighbridge_model::estimate::{Estimate, Quantity, Unit, Validity};
use weighbridge_model::evidence::{Evidence, OperationEvidence, Percentile};
use weighbridge_model::histogram::TimeHistogram;
use weighbridge_model::summary::{Figure, Summary, VariantSummary};

use crate::json;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Benchmark<'a> {
    benchmark: String,
    mode: &'static str,
    threads: u32,
    forks: u32,
    warmup_iterations: u32,
    warmup_time: &'static str,
    warmup_batch_size: u32,
    measurement_iterations: u32,
    measurement_time: String,
    measurement_batch_size: u32,
    params: BTreeMap<&'a str, &'a str>,
    primary_metric: Metric,
    secondary_metrics: BTreeMap<String, Metric>,
    weighbridge: Remarks<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Metric {
    score: Value,
    score_error: Value,
    score_confidence: [Value; 2],
    score_percentiles: Value,
    score_unit: &'static str,
    raw_data: Vec<[f64; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    raw_data_histogram: Option<Value>,
}

/// Facts that the format has no field for.
#[derive(Serialize)]
struct Remarks<'a> {
    run: &'a str,
    operation: &'a str,
    validity: Validity,
    reasons: &'a [String],
    requests: u64,
    errors: u64,
}

pub(crate) fn results(summary: &Summary, evidence: &Evidence) -> String {
    let usable = summary.variants.iter().filter(|variant| variant.validity != Validity::Invalid);
    let all: Vec<Benchmark<'_>> = usable
        .flat_map(|variant| {
            let is_own = |operation: &&OperationEvidence| {
                operation.variant == variant.name && operation.point == variant.point
            };
            evidence.operations.iter().filter(is_own).map(move |operation| (variant, operation))
        })
        .flat_map(|(variant, operation)| {
            [sample(summary, variant, operation), throughput(summary, variant, operation)]
        })
        .flatten()
        .collect();
    json::pretty(&all)
}

/// Response times, with the other quantities as secondary metrics.
fn sample<'a>(
    summary: &'a Summary,
    variant: &'a VariantSummary,
    operation: &'a OperationEvidence,
) -> Option<Benchmark<'a>> {
    let figure = figure_of(variant, operation, Quantity::ResponseMean)?;
    let primary = Metric {
        score_percentiles: percentiles(operation, |percentile| {
            percentile.time.map(|time| time.as_nanos() as f64)
        }),
        raw_data_histogram: operation.outcomes.first().map(|good| histogram(&good.response)),
        ..metric(operation, Quantity::ResponseMean, figure)
    };
    let is_other = |quantity: &Quantity| !matches!(quantity, Quantity::ResponseMean | Quantity::Throughput);
    let secondary = Quantity::ALL.into_iter().filter(is_other).filter_map(|quantity| {
        let figure = figure_of(variant, operation, quantity)?;
        Some((format!("·{}", quantity.name()), metric(operation, quantity, figure)))
    });
    Some(Benchmark {
        secondary_metrics: secondary.collect(),
        ..benchmark(summary, variant, operation, "response", "sample", primary)
    })
}

/// Value and count of every bucket that is not empty, as one iteration of one fork.
fn histogram(times: &TimeHistogram) -> Value {
    let bucket = |step: IterationValue<u64>| (step.value_iterated_to() as f64, step.count_at_value());
    json!([[times.iter_recorded().map(bucket).collect::<Vec<_>>()]])
}

fn throughput<'a>(
    summary: &'a Summary,
    variant: &'a VariantSummary,
    operation: &'a OperationEvidence,
) -> Option<Benchmark<'a>> {
    let figure = figure_of(variant, operation, Quantity::Throughput)?;
    let metric = metric(operation, Quantity::Throughput, figure);
    Some(benchmark(summary, variant, operation, "throughput", "thrpt", metric))
}

fn benchmark<'a>(
    summary: &'a Summary,
    variant: &'a VariantSummary,
    operation: &'a OperationEvidence,
    class: &str,
    mode: &'static str,
    metric: Metric,
) -> Benchmark<'a> {
    let mut params: BTreeMap<&str, &str> =
        variant.point.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    params.insert("variant", &variant.name);
    let blocks = u64::from(variant.blocks.max(1));
    let each = operation.measured.as_nanos() / blocks / 1_000_000;
    Benchmark {
        benchmark: format!("{}.{class}.{}", java_name(&summary.title), java_name(&operation.operation)),
        mode,
        threads: 1,
        forks: variant.blocks,
        warmup_iterations: 0,
        warmup_time: "0 ms",
        warmup_batch_size: 1,
        measurement_iterations: 1,
        measurement_time: format!("{each} ms"),
        measurement_batch_size: 1,
        params,
        primary_metric: metric,
        secondary_metrics: BTreeMap::new(),
        weighbridge: Remarks {
            run: &summary.run,
            operation: &operation.operation,
            validity: variant.validity,
            reasons: &variant.reasons,
            requests: variant.requests,
            errors: variant.errors,
        },
    }
}

/// The variant's figure of a quantity; `None` if it was withheld.
fn figure_of(
    variant: &VariantSummary,
    operation: &OperationEvidence,
    quantity: Quantity,
) -> Option<Estimate> {
    let is_wanted = |figure: &&Figure| figure.quantity == quantity && figure.operation == operation.operation;
    variant.figures.iter().find(is_wanted)?.estimate
}

/// A metric without percentiles: those of a few blocks would mean nothing.
fn metric(operation: &OperationEvidence, quantity: Quantity, figure: Estimate) -> Metric {
    let mine = operation.blocks.iter().filter(|value| value.quantity == quantity);
    Metric {
        score: json!(figure.point),
        score_error: number(figure.upper.map(|upper| upper - figure.point)),
        score_confidence: [number(figure.lower), number(figure.upper)],
        score_percentiles: percentiles(operation, |_| None),
        score_unit: unit(quantity),
        raw_data: mine.map(|value| [value.value]).collect(),
        raw_data_histogram: None,
    }
}

/// Every percentile that the harness names, with its spelling of keys: at least one decimal.
fn percentiles(operation: &OperationEvidence, value: fn(&Percentile) -> Option<f64>) -> Value {
    let each = operation.percentiles.iter().map(|one| (format!("{:?}", one.percent), number(value(one))));
    Value::Object(each.collect())
}

/// A number, or `NaN` as the harness writes it.
fn number(value: Option<f64>) -> Value {
    value.map_or_else(|| json!("NaN"), |value| json!(value))
}

const fn unit(quantity: Quantity) -> &'static str {
    match (quantity, quantity.unit()) {
        (_, Unit::Ns) => "ns/op",
        (_, Unit::PerSecond) => "ops/s",
        (_, Unit::Count) => "1/op",
        (Quantity::MemoryPeak, Unit::Bytes) => "B",
        (_, Unit::Bytes) => "B/op",
    }
}

/// Replaces what a part of a Java name cannot have: dots separate packages, classes and methods.
fn java_name(text: &str) -> String {
    let kept = |c: char| if c.is_alphanumeric() || c == '-' { c } else { '_' };
    let name: String = text.chars().map(kept).collect();
    let name = name.trim_matches('_');
    if name.is_empty() { "run".to_owned() } else { name.to_owned() }
}
