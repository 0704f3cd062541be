//! Typed tables for other programs: the columns of each table, and how each is read from a row. CSV and
//! Parquet write the same tables. Names end in the unit, as in the record; a figure comes with both bounds of
//! its interval.

mod cells;
mod layers;

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use weighbridge_model::estimate::{Effect, Estimate, Unit};
use weighbridge_model::evidence::{BlockValue, Evidence, OperationEvidence, SampleEvidence, WindowEvidence};
use weighbridge_model::id::PointLabel;
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::record::samples::Sample;
use weighbridge_model::record::{OperationFigures, WindowEnd, WindowFigures, WindowKind};
use weighbridge_model::summary::{Cost, Figure, Summary, VariantSummary};

use crate::words::baseline;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TableName {
    /// Variant against baseline, one cost per row.
    #[default]
    Costs,
    /// One absolute figure per row.
    Figures,
    /// One value of a single block per row.
    Blocks,
    /// One window per row.
    Windows,
    /// One request per row, for workloads that keep single requests.
    Samples,
    /// What each layer adds: one quantity of one stage per row.
    Waterfall,
    /// Whether single layers add up: one quantity of one sum check per row.
    Sums,
    /// Whether what a layer adds depends on a factor: one quantity of one stage at two values per row.
    Interactions,
    /// What a layer adds per operation and per byte: one quantity of one stage per row.
    Slopes,
    /// The summary's tables: one cell per row.
    Tables,
}

impl TableName {
    /// In the order of help texts.
    pub const ALL: [Self; 10] = [
        Self::Costs,
        Self::Figures,
        Self::Blocks,
        Self::Windows,
        Self::Samples,
        Self::Waterfall,
        Self::Sums,
        Self::Interactions,
        Self::Slopes,
        Self::Tables,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Costs => "costs",
            Self::Figures => "figures",
            Self::Blocks => "blocks",
            Self::Windows => "windows",
            Self::Samples => "samples",
            Self::Waterfall => "waterfall",
            Self::Sums => "sums",
            Self::Interactions => "interactions",
            Self::Slopes => "slopes",
            Self::Tables => "tables",
        }
    }

    /// Whether it needs more than the summary.
    pub const fn needs_evidence(self) -> bool {
        matches!(self, Self::Blocks | Self::Windows | Self::Samples)
    }
}

impl fmt::Display for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a table; allowed: {list}", list = TableName::ALL.map(TableName::name).join(", "))]
pub struct UnknownTable(pub String);

impl FromStr for TableName {
    type Err = UnknownTable;
    fn from_str(text: &str) -> Result<Self, UnknownTable> {
        let name = text.trim().to_lowercase();
        Self::ALL.into_iter().find(|table| table.name() == name).ok_or_else(|| UnknownTable(text.to_owned()))
    }
}

/// One column of a table whose rows are `R`.
pub(crate) struct Column<R> {
    pub(crate) name: &'static str,
    pub(crate) read: Read<R>,
}

/// Reads a column from a row; `None` is an empty field.
pub(crate) enum Read<R> {
    Text(fn(&R) -> Option<Cow<'_, str>>),
    Count(fn(&R) -> Option<u64>),
    Number(fn(&R) -> Option<f64>),
    Flag(fn(&R) -> bool),
}

/// Writes tables in one format.
pub(crate) trait TableSink {
    type Output;
    fn write<R>(self, columns: &[Column<R>], rows: &[R]) -> Self::Output;
}

/// Writes one of a run's tables into `sink`. Without evidence, the tables that need it are empty.
pub(crate) fn write<S: TableSink>(
    table: TableName,
    summary: &Summary,
    evidence: Option<&Evidence>,
    sink: S,
) -> S::Output {
    match table {
        TableName::Costs => sink.write(&cost_columns(), &cost_rows(&[summary])),
        TableName::Figures => {
            let row = |variant| move |figure| FigureRow { summary, variant, figure };
            let rows = summary.variants.iter().flat_map(|v| v.figures.iter().map(row(v)));
            sink.write(&figure_columns(), &rows.collect::<Vec<_>>())
        }
        TableName::Blocks => {
            let operations = evidence.into_iter().flat_map(|evidence| &evidence.operations);
            let row = |source| move |value| BlockRow { summary, source, value };
            let rows = operations.flat_map(|operation| operation.blocks.iter().map(row(operation)));
            sink.write(&block_columns(), &rows.collect::<Vec<_>>())
        }
        TableName::Windows => {
            let windows = evidence.into_iter().flat_map(|evidence| &evidence.windows);
            let rows = windows.map(|window| WindowRow { summary, window });
            sink.write(&window_columns(), &rows.collect::<Vec<_>>())
        }
        TableName::Samples => {
            let parts = evidence.into_iter().flat_map(|evidence| &evidence.samples);
            let row = |source| move |sample| SampleRow { summary, source, sample };
            let rows = parts.flat_map(|part| part.samples.iter().map(row(part)));
            sink.write(&sample_columns(), &rows.collect::<Vec<_>>())
        }
        TableName::Waterfall => sink.write(&layers::waterfall_columns(), &layers::waterfall_rows(summary)),
        TableName::Sums => sink.write(&layers::sum_columns(), &layers::sum_rows(summary)),
        TableName::Interactions => {
            sink.write(&layers::interaction_columns(), &layers::interaction_rows(summary))
        }
        TableName::Slopes => sink.write(&layers::slope_columns(), &layers::slope_rows(summary)),
        TableName::Tables => sink.write(&cells::cell_columns(), &cells::cell_rows(summary)),
    }
}

pub(crate) struct CostRow<'a> {
    summary: &'a Summary,
    cost: &'a Cost,
}

pub(crate) fn cost_rows<'a>(summaries: &[&'a Summary]) -> Vec<CostRow<'a>> {
    let rows = |summary: &'a Summary| summary.costs.iter().map(move |cost| CostRow { summary, cost });
    summaries.iter().flat_map(|summary| rows(summary)).collect()
}

impl CostRow<'_> {
    /// An estimate with the cost's level and number of blocks, which are the same for difference and ratio.
    fn estimate(&self) -> Option<&Estimate> {
        self.cost.difference.as_ref().or(self.cost.ratio.as_ref())
    }
}

const fn column<R>(name: &'static str, read: Read<R>) -> Column<R> {
    Column { name, read }
}

fn some(text: &str) -> Option<Cow<'_, str>> {
    Some(Cow::Borrowed(text))
}

pub(crate) fn cost_columns<'a>() -> Vec<Column<CostRow<'a>>> {
    use Read::{Count, Flag, Number, Text};
    vec![
        column("run", Text(|row| some(&row.summary.run))),
        column("point", Text(|row| Some(point(&row.cost.point)))),
        column("variant", Text(|row| some(&row.cost.variant))),
        column("baseline", Text(|row| some(baseline(row.summary, &row.cost.point)))),
        column("operation", Text(|row| some(&row.cost.operation))),
        column("quantity", Text(|row| some(row.cost.quantity.name()))),
        column("unit", Text(|row| some(unit(row.cost.unit)))),
        column("difference", Number(|row| row.cost.difference.map(|estimate| estimate.point))),
        column("difference_lower", Number(|row| row.cost.difference?.lower)),
        column("difference_upper", Number(|row| row.cost.difference?.upper)),
        column("ratio", Number(|row| row.cost.ratio.map(|estimate| estimate.point))),
        column("ratio_lower", Number(|row| row.cost.ratio?.lower)),
        column("ratio_upper", Number(|row| row.cost.ratio?.upper)),
        column("level", Number(|row| row.estimate().map(|estimate| estimate.level))),
        column("blocks", Count(|row| row.estimate().map(|estimate| u64::from(estimate.blocks)))),
        column("verdict", Text(|row| some(row.cost.verdict.name()))),
        column("effect", Text(|row| row.cost.effect.map(|effect| Cow::Borrowed(effect_name(effect))))),
        column("reason", Text(|row| row.cost.reason.as_deref().and_then(some))),
        column("p", Number(|row| row.cost.p)),
        column("headline", Flag(|row| row.cost.headline)),
    ]
}

struct FigureRow<'a> {
    summary: &'a Summary,
    variant: &'a VariantSummary,
    figure: &'a Figure,
}

fn figure_columns<'a>() -> Vec<Column<FigureRow<'a>>> {
    use Read::{Count, Flag, Number, Text};
    vec![
        column("run", Text(|row| some(&row.summary.run))),
        column("point", Text(|row| Some(point(&row.variant.point)))),
        column("variant", Text(|row| some(&row.variant.name))),
        column("baseline", Flag(|row| row.variant.baseline)),
        column("operation", Text(|row| some(&row.figure.operation))),
        column("quantity", Text(|row| some(row.figure.quantity.name()))),
        column("unit", Text(|row| some(unit(row.figure.unit)))),
        column("figure", Number(|row| row.figure.estimate.map(|estimate| estimate.point))),
        column("figure_lower", Number(|row| row.figure.estimate?.lower)),
        column("figure_upper", Number(|row| row.figure.estimate?.upper)),
        column("level", Number(|row| row.figure.estimate.map(|estimate| estimate.level))),
        column("blocks", Count(|row| row.figure.estimate.map(|estimate| u64::from(estimate.blocks)))),
        column("reason", Text(|row| row.figure.reason.as_deref().and_then(some))),
        column("validity", Text(|row| some(row.variant.validity.name()))),
    ]
}

struct BlockRow<'a> {
    summary: &'a Summary,
    source: &'a OperationEvidence,
    value: &'a BlockValue,
}

fn block_columns<'a>() -> Vec<Column<BlockRow<'a>>> {
    use Read::{Count, Number, Text};
    vec![
        column("run", Text(|row| some(&row.summary.run))),
        column("point", Text(|row| Some(point(&row.source.point)))),
        column("variant", Text(|row| some(&row.source.variant))),
        column("operation", Text(|row| some(&row.source.operation))),
        column("quantity", Text(|row| some(row.value.quantity.name()))),
        column("unit", Text(|row| some(unit(row.value.quantity.unit())))),
        column("block", Count(|row| Some(u64::from(row.value.block)))),
        column("value", Number(|row| Some(row.value.value))),
    ]
}

struct WindowRow<'a> {
    summary: &'a Summary,
    window: &'a WindowEvidence,
}

impl WindowRow<'_> {
    fn figures(&self) -> &WindowFigures {
        &self.window.record.figures
    }

    /// A time over all operations together.
    fn all(&self, read: fn(&OperationFigures) -> Nanoseconds) -> Option<u64> {
        self.figures().all.as_ref().map(|figures| read(figures).as_nanos())
    }
}

/// The columns of `windows.csv` in the record, with names instead of indices.
fn window_columns<'a>() -> Vec<Column<WindowRow<'a>>> {
    let mut columns = window_identity();
    columns.extend(window_counts());
    columns.extend(window_times());
    columns.extend(window_health());
    columns
}

fn window_identity<'a>() -> Vec<Column<WindowRow<'a>>> {
    use Read::{Count, Text};
    vec![
        column("run", Text(|row| some(&row.summary.run))),
        column("point", Text(|row| Some(point(&row.window.point)))),
        column("variant", Text(|row| some(&row.window.variant))),
        column("kind", Text(|row| some(kind(row.window.record.kind)))),
        column("void", Text(|row| row.window.void.as_deref().and_then(some))),
        column("block", Count(|row| Some(u64::from(row.window.record.block)))),
        column("batch", Count(|row| Some(u64::from(row.window.batch)))),
        column("round", Count(|row| Some(u64::from(row.window.record.round)))),
        column("position", Count(|row| Some(u64::from(row.window.record.position)))),
        column("started_ns", Count(|row| Some(row.figures().started.as_nanos()))),
        column("ended_ns", Count(|row| Some(row.figures().ended.as_nanos()))),
        column("end", Text(|row| some(end(row.figures().end)))),
    ]
}

fn window_counts<'a>() -> Vec<Column<WindowRow<'a>>> {
    use Read::Count;
    vec![
        column("offered", Count(|row| Some(row.figures().offered))),
        column("requests", Count(|row| Some(row.figures().requests))),
        column("not_sent", Count(|row| Some(row.figures().not_sent))),
        column("errors_connect", Count(|row| Some(row.figures().errors.connect))),
        column("errors_tls", Count(|row| Some(row.figures().errors.tls))),
        column("errors_reset", Count(|row| Some(row.figures().errors.reset))),
        column("errors_timeout", Count(|row| Some(row.figures().errors.timeout))),
        column("errors_protocol", Count(|row| Some(row.figures().errors.protocol))),
        column("errors_status", Count(|row| Some(row.figures().errors.status))),
        column("errors_check", Count(|row| Some(row.figures().errors.check))),
        column("resent", Count(|row| Some(row.figures().resent))),
        column("connects", Count(|row| Some(row.figures().connects))),
        column("handshakes", Count(|row| Some(row.figures().handshakes))),
        column("resumed", Count(|row| Some(row.figures().resumed))),
    ]
}

fn window_times<'a>() -> Vec<Column<WindowRow<'a>>> {
    use Read::Count;
    vec![
        column("all_ok", Count(|row| row.figures().all.as_ref().map(|figures| figures.ok))),
        column("all_response_sum_ns", Count(|row| row.all(|figures| figures.response_sum))),
        column("all_service_sum_ns", Count(|row| row.all(|figures| figures.service_sum))),
        column("all_response_p50_ns", Count(|row| row.all(|figures| figures.response_p50))),
        column("all_service_p50_ns", Count(|row| row.all(|figures| figures.service_p50))),
        column("all_response_p90_ns", Count(|row| row.all(|figures| figures.response_p90))),
        column("all_service_p90_ns", Count(|row| row.all(|figures| figures.service_p90))),
        column("all_response_max_ns", Count(|row| row.all(|figures| figures.response_max))),
    ]
}

fn window_health<'a>() -> Vec<Column<WindowRow<'a>>> {
    use Read::Count;
    vec![
        column("sent_bytes", Count(|row| Some(row.figures().traffic.sent.get()))),
        column("received_bytes", Count(|row| Some(row.figures().traffic.received.get()))),
        column("segments_out", Count(|row| Some(row.figures().traffic.segments_out))),
        column("segments_in", Count(|row| Some(row.figures().traffic.segments_in))),
        column("retransmits", Count(|row| Some(row.figures().traffic.retransmits))),
        column("payload_sent_bytes", Count(|row| Some(row.figures().traffic.payload_sent.get()))),
        column("payload_received_bytes", Count(|row| Some(row.figures().traffic.payload_received.get()))),
        column("loop_busy_ns", Count(|row| Some(row.figures().health.busy.as_nanos()))),
        column("loop_wall_ns", Count(|row| Some(row.figures().health.wall.as_nanos()))),
        column("loop_cpu_ns", Count(|row| Some(row.figures().health.cpu.as_nanos()))),
        column("loop_delay_p50_ns", Count(|row| Some(row.figures().health.loop_delay_p50.as_nanos()))),
        column("lag_p99_ns", Count(|row| Some(row.figures().health.lag_p99.as_nanos()))),
        column("core_latency_ns", Count(|row| row.window.record.core_latency.map(Nanoseconds::as_nanos))),
        column("restore_ns", Count(|row| row.window.record.restore.map(Nanoseconds::as_nanos))),
        column("pauses", Count(|row| row.window.record.pauses.map(|pauses| pauses.count))),
        column("paused_ns", Count(|row| row.window.record.pauses.map(|pauses| pauses.time.as_nanos()))),
    ]
}

struct SampleRow<'a> {
    summary: &'a Summary,
    source: &'a SampleEvidence,
    sample: &'a Sample,
}

/// The columns of `samples.csv` in the record, with names instead of indices.
fn sample_columns<'a>() -> Vec<Column<SampleRow<'a>>> {
    use Read::{Count, Text};
    vec![
        column("run", Text(|row| some(&row.summary.run))),
        column("point", Text(|row| Some(point(&row.source.point)))),
        column("variant", Text(|row| some(&row.source.variant))),
        column("operation", Text(|row| some(&row.source.operation))),
        column("kind", Text(|row| some(kind(row.sample.kind)))),
        column("void", Text(|row| row.source.void.as_deref().and_then(some))),
        column("block", Count(|row| Some(u64::from(row.source.block)))),
        column("round", Count(|row| Some(u64::from(row.sample.round)))),
        column("size_bytes", Count(|row| Some(row.sample.size.get()))),
        column("due_ns", Count(|row| Some(row.sample.due.as_nanos()))),
        column("sent_ns", Count(|row| Some(row.sample.sent.as_nanos()))),
        column("done_ns", Count(|row| Some(row.sample.done.as_nanos()))),
        column("outcome", Text(|row| some(row.sample.outcome.name()))),
        column("status", Count(|row| row.sample.status.map(u64::from))),
        column("length_bytes", Count(|row| Some(row.sample.length.get()))),
        column("relayed_duration_ns", Count(|row| Some(row.sample.relayed?.duration.as_nanos()))),
        column("relayed_status", Count(|row| Some(u64::from(row.sample.relayed?.status)))),
        column("relayed_length_bytes", Count(|row| Some(row.sample.relayed?.length.get()))),
        column("relayed_retries", Count(|row| Some(u64::from(row.sample.relayed?.retries)))),
    ]
}

/// `key=value;key=value`
fn point(label: &PointLabel) -> Cow<'_, str> {
    label.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(";").into()
}

/// The unit's name, as in JSON.
pub(crate) const fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Ns => "ns",
        Unit::Bytes => "bytes",
        Unit::PerSecond => "per_second",
        Unit::Count => "count",
        Unit::Share => "share",
    }
}

const fn effect_name(effect: Effect) -> &'static str {
    match effect {
        Effect::Better => "better",
        Effect::Worse => "worse",
    }
}

const fn kind(kind: WindowKind) -> &'static str {
    match kind {
        WindowKind::WarmUp => "warm-up",
        WindowKind::LeadIn => "lead-in",
        WindowKind::Measured => "measured",
        WindowKind::Check => "check",
        WindowKind::IdleCheck => "idle-check",
        WindowKind::Step => "step",
    }
}

const fn end(end: WindowEnd) -> &'static str {
    match end {
        WindowEnd::Complete => "complete",
        WindowEnd::Saturated => "saturated",
        WindowEnd::Aborted => "aborted",
    }
}

/// [`point`] for other formats; empty if the experiment has one point.
pub(crate) fn point_text(label: &PointLabel) -> String {
    point(label).into_owned()
}
