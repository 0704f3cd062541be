//! The JSON of the Java microbenchmark harness (JMH), so that its visualisers and CI plug-ins can show a run.
//!
//! A benchmark is an operation, a parameter is the variant or a factor of the point, a fork is a block, and
//! an iteration is all windows of a block. Response times have mode `sample`: the score is their mean with
//! its interval over blocks, the percentiles are those of requests, and other quantities are secondary
//! metrics. Throughput has mode `thrpt` and a class of its own, because charts mix whatever is in one class.
//! The format cannot express doubt: what is invalid or withheld is left out, and what is suspect is marked in
//! the member `weighbridge`, which readers of the format ignore.

use std::collections::{BTreeMap, BTreeSet};

use hdrhistogram::iterators::IterationValue;
use serde::Serialize;
use serde_json::{Value, json};
use weighbridge_model::estimate::{Estimate, Quantity, Unit, Validity};
use weighbridge_model::evidence::{Evidence, OperationEvidence, Percentile};
use weighbridge_model::histogram::TimeHistogram;
use weighbridge_model::summary::{Figure, Summary, VariantSummary};

use crate::json;
use crate::text::clean;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Benchmark<'a> {
    benchmark: String,
    mode: &'static str,
    threads: u64,
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

impl Benchmark<'_> {
    /// With the variant as its class and no more a parameter, if that is wanted.
    fn named(mut self, class: JmhClass) -> Self {
        if class == JmhClass::Variant
            && let Some(variant) = self.params.remove("variant")
            && let Some((package, method)) = self.benchmark.rsplit_once('.')
        {
            self.benchmark = format!("{package}.{}.{method}", java_name(variant));
        }
        self
    }
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

/// What a class is in the names of benchmarks: charts mix whatever is in one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum JmhClass {
    /// Response times in one, throughput in the other; variants are parameters.
    #[default]
    Measure,
    /// A variant, as harnesses of several stacks are written.
    Variant,
}

/// JSON, as the harness writes with `-rf json`.
pub(crate) fn results(summary: &Summary, evidence: &Evidence, class: JmhClass) -> String {
    json::pretty(&benchmarks(summary, evidence, class))
}

/// The table that the harness prints at its end.
pub(crate) fn table(summary: &Summary, evidence: &Evidence, class: JmhClass) -> String {
    let all = benchmarks(summary, evidence, class);
    let keys: BTreeSet<&str> = all.iter().flat_map(|one| one.params.keys().copied()).collect();
    let mut heads = vec!["Benchmark".to_owned()];
    heads.extend(keys.iter().map(|key| format!("({})", clean(key))));
    heads.extend(["Mode", "Cnt", "Score", "", "Error", "Units"].map(str::to_owned));
    let mut rows = vec![heads];
    for one in &all {
        let params = keys.iter().map(|key| clean(one.params.get(key).copied().unwrap_or("N/A")));
        let metric = &one.primary_metric;
        let error = metric.score_error.as_f64();
        let mut row = vec![one.benchmark.clone()];
        row.extend(params);
        row.extend([one.mode.to_owned(), one.forks.to_string(), rounded(&metric.score)]);
        row.extend(
            error.map_or(["", ""].map(str::to_owned), |_| ["±".to_owned(), rounded(&metric.score_error)]),
        );
        row.push(metric.score_unit.to_owned());
        rows.push(row);
    }
    aligned(&rows)
}

/// Three decimals, as the harness rounds.
fn rounded(value: &Value) -> String {
    value.as_f64().map_or_else(|| "NaN".to_owned(), |value| format!("{value:.3}"))
}

/// Columns of equal width with a blank between; the first to the left, the others to the right.
fn aligned(rows: &[Vec<String>]) -> String {
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or_default();
    let widths: Vec<usize> = (0..rows[0].len()).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().zip(&widths).enumerate().map(|(at, (cell, width))| match at {
            0 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        text.extend([cells.collect::<Vec<_>>().join("  ").trim_end(), "\n"]);
    }
    text
}

fn benchmarks<'a>(summary: &'a Summary, evidence: &'a Evidence, class: JmhClass) -> Vec<Benchmark<'a>> {
    let usable = summary.variants.iter().filter(|variant| variant.validity != Validity::Invalid);
    usable
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
        .map(|benchmark| benchmark.named(class))
        .collect()
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
        threads: operation.slots,
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
        (_, Unit::Share) => "share",
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
