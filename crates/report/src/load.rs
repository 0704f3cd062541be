//! Renders the result of `weigh load URL` as text, JSON, CSV or Markdown.
//!
//! A quantile with fewer than [`MIN_BEYOND`] requests beyond it must arrive as absent with its reason.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use weighbridge_model::distribution::TimeDistribution;
use weighbridge_model::estimate::Validity;
use weighbridge_model::finding::title;
use weighbridge_model::gate::GateResult;
use weighbridge_model::idle::IdleWait;
use weighbridge_model::legs::StampSummary;
use weighbridge_model::quantity::{Bytes, Nanoseconds, PerSecond, display_bytes};
use weighbridge_model::record::{ErrorCounts, HandshakeKind, MessageBasis};
use weighbridge_model::summary::{Finding, SCHEMA_VERSION};

use crate::latency;
use crate::style::{Style, Tone};
use crate::table::{Align, Cell, Table};
use crate::text::{clean, counted, grouped, hanging, shorten};
use crate::{Format, FormatError, TextOptions, csv, json, legs, markdown, terminal, words};

/// Requests that must lie beyond a quantile before it is shown.
pub const MIN_BEYOND: u64 = 20;

/// Statistics of one kind of time over good replies. `None` is withheld (see `withheld`) or, where nothing
/// was answered, not there.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Times {
    /// Median.
    #[serde(rename = "p50_ns")]
    pub p50: Option<Nanoseconds>,
    /// 90th percentile.
    #[serde(rename = "p90_ns")]
    pub p90: Option<Nanoseconds>,
    /// 99th percentile.
    #[serde(rename = "p99_ns")]
    pub p99: Option<Nanoseconds>,
    /// 99.9th percentile.
    #[serde(rename = "p99_9_ns")]
    pub p99_9: Option<Nanoseconds>,
    /// Arithmetic mean.
    #[serde(rename = "mean_ns")]
    pub mean: Option<Nanoseconds>,
    /// The longest.
    #[serde(rename = "max_ns")]
    pub max: Option<Nanoseconds>,
    /// Why a statistic is absent, by its name (`p99.9`): see [`withheld`] and [`QUEUE_GREW`].
    pub withheld: BTreeMap<String, String>,
}

/// TLS handshakes of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Handshakes {
    /// Full or resumed.
    pub kind: HandshakeKind,
    /// How many.
    pub count: u64,
    /// Arithmetic mean of their times.
    #[serde(rename = "mean_ns")]
    pub mean: Nanoseconds,
    /// The longest.
    #[serde(rename = "max_ns")]
    pub max: Nanoseconds,
}

/// How requests were issued.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase", tag = "model")]
pub enum LoadModel {
    /// The next request when a reply came.
    Closed,
    /// At a rate, whatever the replies do.
    Open {
        /// Requests due per second, as asked for.
        #[serde(rename = "rate_per_s")]
        rate: PerSecond,
        /// The law of arrivals: `poisson`, `constant` …
        arrivals: String,
        /// The rate over time in words, where it changes.
        #[serde(skip_serializing_if = "Option::is_none")]
        profile: Option<String>,
        /// Requests due per second, as they were.
        #[serde(rename = "offered_per_s")]
        offered: PerSecond,
    },
    /// Sessions at a rate; inside one the next request when a reply came.
    #[serde(rename = "partly-open")]
    PartlyOpen {
        /// Sessions due per second, as asked for.
        #[serde(rename = "sessions_per_s")]
        sessions: PerSecond,
        /// The law of arrivals.
        arrivals: String,
        /// The rate over time in words, where it changes.
        #[serde(skip_serializing_if = "Option::is_none")]
        profile: Option<String>,
        /// Operations of a session: `10`, `geometric:mean=10`.
        length: String,
        /// Requests due per second, as they were.
        #[serde(rename = "offered_per_s")]
        offered: PerSecond,
    },
}

/// Figures of one of several operations.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Operation {
    /// Its name.
    pub name: String,
    /// Good replies.
    pub good: u64,
    /// Failures.
    pub errors: u64,
    /// Good replies per second.
    #[serde(rename = "throughput_per_s")]
    pub throughput: PerSecond,
    /// Done minus due.
    pub response: Times,
    /// Done minus sent.
    pub service: Times,
}

/// What the server said of failed requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Failure {
    /// Its words, escaped and cut.
    pub text: String,
    /// How often.
    pub count: u64,
}

/// Replies with one HTTP status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StatusCount {
    /// `2xx` for good replies, `404 Not Found` for others, `other` beyond a few distinct ones.
    pub status: String,
    pub count: u64,
}

/// Messages of one call that streams.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Messages {
    /// The call's name with `message` behind it; where the client alone streams, `message sent`.
    pub name: String,
    /// What the times are.
    pub basis: MessageBasis,
    /// Messages.
    pub count: u64,
    /// Messages per second.
    #[serde(rename = "throughput_per_s")]
    pub throughput: PerSecond,
    /// Their times.
    pub time: Times,
}

/// One URL, measured.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LoadSummary {
    /// Version of this JSON.
    pub schema: u32,
    /// The URL, credentials removed.
    pub url: String,
    /// Requests that were due: good ones, errors and those not sent.
    pub requests: u64,
    /// Good replies.
    pub good: u64,
    /// Failures; some may have failed before they could be sent.
    pub errors: u64,
    /// The same by kind.
    pub errors_by_kind: ErrorCounts,
    /// What the server said of them, the most frequent first: a few distinct texts. Not every failure has
    /// one.
    pub failures: Vec<Failure>,
    /// Failures with other words than those.
    pub failures_unlisted: u64,
    /// Requests never sent.
    pub not_sent: u64,
    /// How often a request was sent again on another connection, because the server had announced the end of the one
    /// that it was sent on. It counts once in `requests`.
    pub resent: u64,
    /// First request sent to last reply complete.
    #[serde(rename = "took_ns")]
    pub took: Nanoseconds,
    /// Connections kept open.
    pub connections: u32,
    /// Threads of the generator.
    pub threads: u32,
    /// How they waited: `asleep`, `brief` or `awake`.
    pub wait: &'static str,
    /// How idle cores waited.
    pub idle: IdleWait,
    /// All connections that were opened, before and while measuring, whether or not a TLS handshake followed.
    pub connects: u64,
    /// TLS handshakes by kind, of the connections opened before and while measuring; empty without TLS.
    pub handshakes: Vec<Handshakes>,
    /// How requests were issued.
    pub load: LoadModel,
    /// How long users think, in words, where they do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub think: Option<String>,
    /// Requests that each connection served, where that was bounded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub churn: Option<u32>,
    /// Good replies per second.
    #[serde(rename = "throughput_per_s")]
    pub throughput: PerSecond,
    /// Done minus due.
    pub response: Times,
    /// Done minus sent.
    pub service: Times,
    /// The distribution of response times; only where asked for, and where there is a steady state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency: Option<TimeDistribution>,
    /// Replies by HTTP status; only where asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub statuses: Vec<StatusCount>,
    /// Each operation by itself, where there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub operations: Vec<Operation>,
    /// The messages of each call that streams, where there are any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<Messages>,
    /// Bytes sent on the sockets.
    #[serde(rename = "bytes_sent")]
    pub sent: Bytes,
    /// Bytes received on the sockets.
    #[serde(rename = "bytes_received")]
    pub received: Bytes,
    /// Where service times went, by the kernel's time stamps; only where asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel_timestamps: Option<StampSummary>,
    /// The generator's own lateness, 99th percentile; absent where nothing was sent.
    #[serde(rename = "lag_p99_ns")]
    pub lag_p99: Option<Nanoseconds>,
    /// Whether these figures may be used.
    pub validity: Validity,
    /// What speaks against them.
    pub reasons: Vec<String>,
    /// What was noticed of the server; absent where nothing was.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
}

impl LoadSummary {
    /// The value of the field `schema`.
    pub const SCHEMA: u32 = SCHEMA_VERSION;
}

/// The reason for response times that are absent because more was due than the server answered.
pub const QUEUE_GREW: &str = "the queue grew until the end, so they tell only how long the load lasted";

/// The reason for a quantile that is absent because only `beyond` requests lie beyond it.
pub fn withheld(beyond: u64) -> String {
    format!("{beyond} of {MIN_BEYOND} requests needed beyond it")
}

/// The reason for a statistic that is absent because the generator was `late` by as much as could have moved it.
pub fn sent_late(at_most: Nanoseconds, late: Nanoseconds) -> String {
    format!("{AT_MOST}{at_most}{SENT_LATE}{late}{LATE}")
}

const AT_MOST: &str = "at most ";
const SENT_LATE: &str = ", since requests were sent ";
const LATE: &str = " late";

/// A reason of [`sent_late`] in parts.
struct Bounded<'r> {
    at_most: &'r str,
    late: &'r str,
}

impl<'r> Bounded<'r> {
    fn read(reason: &'r str) -> Option<Self> {
        let (at_most, late) = reason.strip_prefix(AT_MOST)?.split_once(SENT_LATE)?;
        let late = late.strip_suffix(LATE)?;
        Some(Self { at_most, late })
    }
}

pub fn render(
    format: Format,
    summary: &LoadSummary,
    gates: &[GateResult],
    options: &TextOptions<'_>,
) -> Result<String, FormatError> {
    Ok(match format {
        Format::Text => text(summary, gates, options.style, options.width()),
        Format::Json => json::pretty(summary),
        Format::Csv => table_csv(summary),
        Format::Markdown => table_markdown(summary, gates),
        Format::Html => {
            return Err(FormatError::Unavailable {
                format,
                what: "one URL",
                allowed: "text, json, csv, markdown",
            });
        }
    })
}

fn text(summary: &LoadSummary, gates: &[GateResult], style: Style, columns: usize) -> String {
    let mut lines = alarms(summary, style, columns);
    lines.push(style.paint(Tone::Strong, &shorten(&clean(&summary.url), columns)));
    let conditions = hanging("", &conditions(summary), columns);
    lines.extend(conditions.lines().map(|line| style.paint(Tone::Secondary, line)));
    lines.push(String::new());
    lines.extend(times(summary, columns).lines(style, columns));
    let not_shown = not_shown(summary).into_iter().map(|line| hanging("  ", &line, columns));
    lines.extend(not_shown.map(|line| style.paint(Tone::Undecided, &line)));
    lines.push(String::new());
    if let Some(latency) = &summary.latency {
        lines.extend(latency::lines(latency, style, columns));
        lines.push(String::new());
    }
    if !summary.statuses.is_empty() {
        lines.extend(status_lines(&summary.statuses, style, columns));
        lines.push(String::new());
    }
    if let Some(stamps) = &summary.kernel_timestamps {
        lines.extend(legs::lines(stamps, style, columns));
        lines.push(String::new());
    }
    let tone = match summary.validity {
        Validity::Valid => Tone::Plain,
        Validity::Suspect => Tone::Undecided,
        Validity::Invalid => Tone::Problem,
    };
    let mut facts = Table::new([Align::Left, Align::Left], 2);
    for (name, value) in facts_of(summary) {
        let tone = if name == "generator" { tone } else { Tone::Plain };
        facts.span(format!("  {name:<10}"), Cell::toned(tone, value));
    }
    lines.extend(facts.lines(style, columns));
    lines.extend(terminal::gate_lines(gates, style, columns));
    lines.push(String::new());
    lines.join("\n")
}

/// Failures come first, so that they change the first line.
fn alarms(summary: &LoadSummary, style: Style, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = words::failures(summary.requests, summary.errors_by_kind)
        .map(|line| style.paint(Tone::Problem, &line))
        .into_iter()
        .collect();
    lines.extend(failure_lines(summary, columns));
    lines.extend(not_sent(summary).map(|line| style.paint(Tone::Problem, &line)));
    if summary.requests == summary.not_sent {
        lines.push(style.paint(Tone::Problem, "no request was sent"));
    }
    if let Some(line) = words::validity(summary.validity) {
        let tone = if summary.validity == Validity::Suspect { Tone::Undecided } else { Tone::Problem };
        lines.push(style.paint(tone, line));
    }
    lines.extend(summary.reasons.iter().map(|reason| hanging("  ", &clean(reason), columns)));
    lines.extend(summary.findings.iter().map(|finding| {
        let words = format!("{}: {}; {}", title(&finding.name), finding.evidence, finding.remedy);
        hanging("note: ", &clean(&words), columns)
    }));
    lines
}

fn status_lines(statuses: &[StatusCount], style: Style, columns: usize) -> Vec<String> {
    let mut table = Table::new([Align::Left, Align::Right], 2);
    for StatusCount { status, count } in statuses {
        let status = shorten(&clean(status), LEAST_NAME * 2);
        table.push(vec![Cell::new(format!("  {status}")), Cell::new(grouped(*count))]);
    }
    let mut lines = vec![style.paint(Tone::Secondary, "replies by status")];
    lines.extend(table.lines(style, columns));
    lines
}

fn not_sent(summary: &LoadSummary) -> Option<String> {
    let [unsent, due] = [summary.not_sent, summary.requests].map(grouped);
    (summary.not_sent > 0).then(|| format!("{unsent} of {due} requests that were due were never sent"))
}

fn failure_lines(summary: &LoadSummary, columns: usize) -> Vec<String> {
    let line = |count: u64, text: &str| hanging(&format!("  {} × ", grouped(count)), text, columns);
    let listed = summary.failures.iter().map(|failure| line(failure.count, &clean(&failure.text)));
    let unlisted = (summary.failures_unlisted > 0).then(|| line(summary.failures_unlisted, "other words"));
    listed.chain(unlisted).collect()
}

fn conditions(summary: &LoadSummary) -> String {
    let load = match &summary.load {
        LoadModel::Closed => "closed load".to_owned(),
        LoadModel::Open { rate, arrivals, profile, offered } => {
            let profile = profile.as_ref().map_or_else(String::new, |words| format!("{}, ", clean(words)));
            format!("open load of {rate} ({profile}{}, offered {offered})", clean(arrivals))
        }
        LoadModel::PartlyOpen { sessions, arrivals, profile, length, offered } => {
            let profile = profile.as_ref().map_or_else(String::new, |words| format!("{}, ", clean(words)));
            format!(
                "partly open load of {sessions} sessions ({profile}{}; length {}; requests offered {offered})",
                clean(arrivals),
                clean(length)
            )
        }
    };
    let think = summary.think.as_ref().map_or_else(String::new, |think| format!(", {}", clean(think)));
    let churn = match summary.churn {
        None => String::new(),
        Some(1) => ", a new connection for each request".to_owned(),
        Some(requests) => format!(", a new connection every {requests} requests"),
    };
    format!(
        "{} in {}, {load}{think}{churn}, {}, {}",
        counted(summary.requests, "request"),
        summary.took,
        counted(u64::from(summary.connections), "connection"),
        counted(u64::from(summary.threads), "thread")
    )
}

type Statistic = (&'static str, fn(&Times) -> Option<Nanoseconds>);

const STATISTICS: [Statistic; 6] = [
    ("mean", |times| times.mean),
    ("p50", |times| times.p50),
    ("p90", |times| times.p90),
    ("p99", |times| times.p99),
    ("p99.9", |times| times.p99_9),
    ("max", |times| times.max),
];

/// A statistic, or what it is at most: `≤ 935 µs`.
fn shown(times: &Times, statistic: Statistic) -> String {
    let (name, value) = statistic;
    let bound = || Some(format!("≤ {}", Bounded::read(times.withheld.get(name)?)?.at_most));
    value(times).map(|time| time.to_string()).or_else(bound).unwrap_or_else(|| "–".to_owned())
}

/// The table of times. Names of operations get the columns that the figures leave free.
fn times(summary: &LoadSummary, columns: usize) -> Table {
    let named = |most: usize, gap: usize| times_of(summary, most, gap);
    let (figures, gap) = match named(1, 3).width() {
        width if width + LEAST_NAME <= columns => (width, 3),
        _ => (named(1, 2).width(), 2),
    };
    // The narrowest table already has one column for the name.
    named((columns + 1).saturating_sub(figures).max(LEAST_NAME), gap)
}

/// Least columns for the name of an operation.
const LEAST_NAME: usize = 16;

fn times_of(summary: &LoadSummary, most: usize, gap: usize) -> Table {
    let mut align = vec![Align::Right; STATISTICS.len() + 1];
    align[0] = Align::Left;
    let mut table = Table::new(align, gap);
    let heads = STATISTICS.map(|(name, _)| Cell::toned(Tone::Secondary, name));
    table.push(std::iter::once(Cell::new("")).chain(heads).collect());
    let mut push = |name: String, times: &Times| {
        let figures = STATISTICS.map(|statistic| Cell::new(shown(times, statistic)));
        table.push(std::iter::once(Cell::new(format!("  {name}"))).chain(figures).collect());
    };
    for (name, times) in rows_of(summary) {
        push(shorten(&clean(&name), most), times);
    }
    table
}

/// Rows for all requests, for each operation if there are several, and for messages.
fn rows_of(summary: &LoadSummary) -> Vec<(String, &Times)> {
    let mut rows = vec![("response".to_owned(), &summary.response), ("service".to_owned(), &summary.service)];
    for operation in &summary.operations {
        rows.push((format!("{} response", operation.name), &operation.response));
        rows.push((format!("{} service", operation.name), &operation.service));
    }
    rows.extend(summary.messages.iter().map(|messages| (messages.name.clone(), &messages.time)));
    rows
}

/// What is bounded or not shown, and why: a sentence each, and one where the queue grew.
fn not_shown(summary: &LoadSummary) -> Vec<String> {
    let (mut lines, mut bounded, mut absent): (Vec<String>, Vec<String>, Vec<String>) = Default::default();
    let messages = summary.messages.iter().map(|messages| &messages.time);
    for times in [&summary.response, &summary.service].into_iter().chain(messages) {
        if times.withheld.get("mean").is_some_and(|reason| reason == QUEUE_GREW) {
            lines.push(format!("response times not shown: {QUEUE_GREW}"));
            continue;
        }
        for (statistic, reason) in &times.withheld {
            let (parts, why) = match Bounded::read(reason) {
                Some(Bounded { late, .. }) => (&mut bounded, late),
                None => (&mut absent, reason.as_str()),
            };
            let part = format!("{} ({})", clean(statistic), clean(why));
            if !parts.contains(&part) {
                parts.push(part);
            }
        }
    }
    if !bounded.is_empty() {
        lines.push(format!("at most (≤), since requests were sent late: {}", bounded.join(", ")));
    }
    if !absent.is_empty() {
        lines.push(format!("not shown: {}", absent.join(", ")));
    }
    lines
}

/// Whether the generator's lateness withholds anything.
fn is_late(summary: &LoadSummary) -> bool {
    summary.response.withheld.values().any(|reason| Bounded::read(reason).is_some())
}

fn facts_of(summary: &LoadSummary) -> Vec<(&'static str, String)> {
    let seconds = summary.took.as_secs_f64();
    // In units of 1024 both, whichever would be the shorter.
    let amount = |bytes: Bytes| {
        let bytes = bytes.get() as f64;
        let rate = if seconds > 0.0 { bytes / seconds } else { 0.0 };
        format!("{} ({}/s)", display_bytes(bytes), display_bytes(rate.round()))
    };
    let mut facts = vec![
        ("throughput", summary.throughput.to_string()),
        ("received", amount(summary.received)),
        ("sent", amount(summary.sent)),
    ];
    if summary.connects > u64::from(summary.connections) {
        facts.push(("connected", counted(summary.connects, "time")));
    }
    if summary.resent > 0 {
        let times = counted(summary.resent, "time");
        facts.push(("resent", format!("{times}, since the server had announced the end of a connection")));
    }
    for (at, shakes) in summary.handshakes.iter().enumerate() {
        let name = if at == 0 { "handshakes" } else { "" };
        let (count, kind) = (grouped(shakes.count), shakes.kind.name());
        facts.push((name, format!("{count} {kind}, mean {}, longest {}", shakes.mean, shakes.max)));
    }
    for operation in &summary.operations {
        let errors = match operation.errors {
            0 => String::new(),
            errors => format!(", {} failed", grouped(errors)),
        };
        let text = format!(
            "{}: {} good{errors}, {}",
            clean(&operation.name),
            grouped(operation.good),
            operation.throughput
        );
        facts.push(("operation", text));
    }
    for messages in &summary.messages {
        let basis = match messages.basis {
            MessageBasis::BetweenReplies => "each timed from the one before",
            MessageBasis::ShareOfCall => "each a share of its call's time",
        };
        let (name, count) = (clean(&messages.name), grouped(messages.count));
        facts.push(("messages", format!("{name}: {count}, {}, {basis}", messages.throughput)));
    }
    if let Some(lag) = summary.lag_p99 {
        // The default is not shown.
        let wait =
            if summary.wait == "brief" { String::new() } else { format!(", waiting {}", summary.wait) };
        let validity = summary.validity.name();
        let figures = match is_late(summary) {
            true => format!("figures shown are {validity}; `weigh doctor` says what disturbs the client"),
            false => format!("figures {validity}"),
        };
        facts.push(("generator", format!("late by {lag} at p99{wait}; {figures}")));
    }
    facts
}

/// Every figure as name, value and unit.
fn figures(summary: &LoadSummary) -> Vec<(String, String, &'static str)> {
    let count = |name: &str, value: u64| (name.to_owned(), value.to_string(), "count");
    let mut figures = vec![
        count("requests", summary.requests),
        count("good", summary.good),
        count("errors", summary.errors),
        count("not_sent", summary.not_sent),
        count("resent", summary.resent),
        count("connects", summary.connects),
        ("took".to_owned(), summary.took.as_nanos().to_string(), "ns"),
        ("throughput".to_owned(), summary.throughput.get().to_string(), "per_second"),
    ];
    for (name, times) in [("response", &summary.response), ("service", &summary.service)] {
        figures.extend(STATISTICS.map(|(statistic, value)| {
            let value = value(times).map(|time| time.as_nanos().to_string()).unwrap_or_default();
            (format!("{name}_{}", statistic.replace('.', "_")), value, "ns")
        }));
    }
    figures.extend(summary.failures.iter().map(|said| count(&format!("failure/{}", said.text), said.count)));
    if summary.failures_unlisted > 0 {
        figures.push(count("failures_unlisted", summary.failures_unlisted));
    }
    for operation in &summary.operations {
        let name = &operation.name;
        figures.push(count(&format!("{name}/good"), operation.good));
        figures.push(count(&format!("{name}/errors"), operation.errors));
        for (kind, times) in [("response", &operation.response), ("service", &operation.service)] {
            figures.extend(STATISTICS.map(|(statistic, value)| {
                let value = value(times).map(|time| time.as_nanos().to_string()).unwrap_or_default();
                (format!("{name}/{kind}_{}", statistic.replace('.', "_")), value, "ns")
            }));
        }
    }
    for (_, name, times) in summary.kernel_timestamps.iter().flat_map(legs::rows) {
        figures.extend(legs::STATISTICS.map(|(statistic, value)| {
            let value = value(&times).map(|time| time.as_nanos().to_string()).unwrap_or_default();
            (format!("{name}_{statistic}"), value, "ns")
        }));
    }
    for messages in &summary.messages {
        let name = &messages.name;
        figures.push(count(&format!("{name}/count"), messages.count));
        let throughput = messages.throughput.get().to_string();
        figures.push((format!("{name}/throughput"), throughput, "per_second"));
        figures.extend(STATISTICS.map(|(statistic, value)| {
            let value = value(&messages.time).map(|time| time.as_nanos().to_string()).unwrap_or_default();
            (format!("{name}/time_{}", statistic.replace('.', "_")), value, "ns")
        }));
    }
    figures.push(("bytes_sent".to_owned(), summary.sent.get().to_string(), "bytes"));
    figures.push(("bytes_received".to_owned(), summary.received.get().to_string(), "bytes"));
    for shakes in &summary.handshakes {
        let name = |figure: &str| format!("handshakes_{}_{figure}", shakes.kind.name());
        figures.push(count(&name("count"), shakes.count));
        figures.push((name("mean"), shakes.mean.as_nanos().to_string(), "ns"));
        figures.push((name("max"), shakes.max.as_nanos().to_string(), "ns"));
    }
    figures.push(("validity".to_owned(), summary.validity.name().to_owned(), ""));
    figures
}

fn table_csv(summary: &LoadSummary) -> String {
    let mut text = String::from("url,quantity,value,unit\r\n");
    for (name, value, unit) in figures(summary) {
        csv::line(&mut text, &[summary.url.clone(), name, value, unit.to_owned()]);
    }
    text
}

fn table_markdown(summary: &LoadSummary, gates: &[GateResult]) -> String {
    let mut text = format!("### {}\n\n", markdown::escape(&summary.url));
    if let Some(line) = words::failures(summary.requests, summary.errors_by_kind) {
        text.push_str(&format!("> **{line}**\n"));
        for Failure { text: said, count } in &summary.failures {
            text.push_str(&format!("> - {} × {}\n", grouped(*count), markdown::escape(said)));
        }
        if summary.failures_unlisted > 0 {
            text.push_str(&format!("> - {} × other words\n", grouped(summary.failures_unlisted)));
        }
        text.push('\n');
    }
    if let Some(line) = not_sent(summary) {
        text.push_str(&format!("> **{line}**\n\n"));
    }
    if let Some(line) = words::validity(summary.validity) {
        let reasons: Vec<String> = summary.reasons.iter().map(|reason| markdown::escape(reason)).collect();
        text.push_str(&format!("> **{line}** {}\n\n", reasons.join("; ")));
    }
    for finding in &summary.findings {
        let [name, evidence, remedy] =
            [title(&finding.name), &finding.evidence, &finding.remedy].map(markdown::escape);
        text.push_str(&format!("> **{name}** {evidence}; {remedy}\n\n"));
    }
    text.push_str(&format!(
        "{}, {} good replies per second\n\n| time |",
        markdown::escape(&conditions(summary)),
        summary.throughput.to_string().trim_end_matches("/s")
    ));
    text.push_str(&STATISTICS.map(|(name, _)| format!(" {name} |")).concat());
    text.push_str(&format!("\n| --- |{}\n", " ---: |".repeat(STATISTICS.len())));
    for (name, times) in rows_of(summary) {
        let name = markdown::escape(&name);
        let cells = STATISTICS.map(|statistic| format!(" {} |", shown(times, statistic)));
        text.push_str(&format!("| {name} |{}\n", cells.concat()));
    }
    for line in not_shown(summary) {
        text.push_str(&format!("\n{}\n", markdown::escape(&line)));
    }
    let gates = markdown::gates(gates);
    if gates.is_empty() { text } else { format!("{text}\n{gates}") }
}
