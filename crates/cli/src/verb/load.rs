//! `weigh load`: puts load on one URL, or compares several.

pub(super) mod target;

use std::collections::BTreeMap;

use anyhow::{Context, bail};
use weighbridge_conductor::failures::FailureText;
use weighbridge_conductor::single::{self, Ending, LoadJob, Seen, SingleRecord};
use weighbridge_conductor::words;
use weighbridge_conductor::{Checked, Options, Shape, check_remote};
use weighbridge_judge::gate::judge_single;
use weighbridge_judge::messages::{MessageTimes, messages};
use weighbridge_judge::single::{self as judged, Withheld};
use weighbridge_load::generator::Waiting;
use weighbridge_load::window::Stop;
use weighbridge_model::estimate::{Quantity, Validity};
use weighbridge_model::experiment::{
    Experiment, Flow, Hooks, Layers, Limits, LoadModel, OwnSlots, PlanRules, Point, Profile, Scheme, Target,
    TlsSpec, TlsVersion, Url, Variant, WorkloadSpec, typed_schemes,
};
use weighbridge_model::gate::{Bound, Gate, GateResult, Subject};
use weighbridge_model::id::PointLabel;
use weighbridge_model::pairing::PairingChoice;
use weighbridge_model::quantity::{Nanoseconds, PerSecond};
use weighbridge_model::record::MessageBasis;
use weighbridge_model::secret::shown_path;
use weighbridge_report::TextOptions;
use weighbridge_report::load::{
    Failure, Handshakes, LoadModel as ShownModel, LoadSummary, Messages, Operation, QUEUE_GREW, StatusCount,
    Times, sent_late, withheld,
};

use super::run::{Printed, carry_out};
use super::shape::load_spec;
use super::support::{Destination, gates, options, pass_gates};
use crate::args::{Load, TlsFlags, Wait};
use crate::exit::Exit;
use crate::live::load::LoadProgress;
use crate::printer::{Liveliness, Printer};
use crate::signals;

/// Default duration for one URL.
const DURATION: Nanoseconds = Nanoseconds::from_secs(10);
/// Number of blocks for several URLs.
const BLOCKS: u32 = 6;
/// Warm-up in each block for several URLs.
const WARMUP: Nanoseconds = Nanoseconds::from_millis(200);

pub fn run(arguments: &Load, printer: &Printer) -> anyhow::Result<Exit> {
    let asked = target::Target::read(arguments)?;
    let gates = gates(&arguments.fail_if, &arguments.require)?;
    let connect_to = arguments.connect_to.as_deref().map(parse_address).transpose()?;
    if arguments.unix.is_none() {
        let peak = Shape::new(&load_spec(arguments, Nanoseconds::ZERO)?, None)?.peak_rate();
        check_remote(&asked.urls, connect_to.as_ref(), peak, arguments.allow_remote)?;
    }
    match &asked.urls[..] {
        [_] => one(arguments, &asked, connect_to, &gates, printer),
        _ => several(arguments, &asked, connect_to, gates, printer),
    }
}

/// Parses `host:port`, where the host may be an IPv6 address in brackets.
pub(super) fn parse_address(text: &str) -> anyhow::Result<(String, u16)> {
    let url = Url::parse(&format!("http://{text}")).map_err(anyhow::Error::msg);
    let url = url.with_context(|| format!("`--connect-to {text}` is not `host:port`"))?;
    Ok((url.host, url.port))
}

fn one(
    arguments: &Load,
    asked: &target::Target,
    connect_to: Option<(String, u16)>,
    gates: &[Gate],
    printer: &Printer,
) -> anyhow::Result<Exit> {
    let url = &asked.urls[0];
    refuse_changes(gates)?;
    let load = load_spec(arguments, Nanoseconds::ZERO)?;
    let mut shape = Shape::new(&load, None)?;
    let destination = Destination::open(&arguments.output)?;
    let workload = asked.workload(arguments, connect_to.as_ref(), load.timeout)?;
    shape.resolve(&load, &workload)?;
    let job = LoadJob {
        url: url.clone(),
        tls: tls_spec(&arguments.tls, url)?,
        connect_to,
        unix: arguments.unix.clone(),
        protocol: asked.protocol_of(url),
        workload,
        load,
        stop: stop(arguments, &shape),
        shape,
        threads: arguments.threads,
        waiting: waiting(arguments.wait),
        idle: arguments.idle.into(),
        seed: arguments.seed,
        control: signals::install().control(),
    };
    let mut shown = LoadProgress::new(&url.to_string(), job.stop, printer);
    let mut watch = |seen: &Seen| shown.see(seen);
    let watched = printer.liveliness() != Liveliness::Quiet;
    let outcome = single::run(&job, watched.then_some(&mut watch as &mut dyn FnMut(&Seen)));
    drop(shown);
    let record = outcome?;
    if record.restarts > 0 {
        printer
            .warning("stopped in the middle, so the load was begun anew; these figures are of the last time");
    }
    if let (Some(why), remedy) = (&record.idle.refused, record.idle.remedy.as_deref().unwrap_or_default()) {
        printer.warning(format_args!("idle cores could not be kept awake: {why}; {remedy}"));
    }
    let facts = judged::LoadFacts {
        due: due(&job),
        sharing: record.sharing.as_deref(),
        connects: record.connects,
        given_up: record.given_up,
    };
    let figures = judged::single(&record.windows, &record.tallies, &facts);
    let mut summary = summary_of(&job, &record, &figures, arguments.latency);
    // What was measured so far is shown, and the output says that it is not all that was requested.
    let cut = match (record.ending, &record.trouble) {
        (Ending::Interrupted, _) => Some(format!("interrupted after {} of {}", figures.took, extent(&job))),
        (Ending::Complete, Some(trouble)) => Some(format!("given up: {trouble}")),
        (Ending::Complete, None) => None,
    };
    summary.reasons.extend(cut.clone());
    let options =
        TextOptions { style: printer.style(), columns: printer.columns(), place: None, details: true };
    let gates: Vec<GateResult> = gates.iter().map(|gate| judge_single(gate, &figures)).collect();
    let text = weighbridge_report::load::render(arguments.output.format, &summary, &gates, &options)?;
    destination.write(&text, printer)?;
    let exit = pass_gates(&gates, printer);
    let exit = if figures.validity == Validity::Invalid { Exit::Invalid } else { exit };
    match cut {
        Some(cut) => bail!("{cut}"),
        None => Ok(exit),
    }
}

/// When to stop loading one URL.
fn stop(arguments: &Load, shape: &Shape) -> Stop {
    match arguments.requests {
        Some(count) => Stop::Count(count),
        None => Stop::Time(arguments.duration.or(shape.default_duration()).unwrap_or(DURATION)),
    }
}

/// The time in which requests become due, where it is known beforehand.
fn due(job: &LoadJob) -> Option<Nanoseconds> {
    match (job.load.model.flow()?, job.stop) {
        (_, Stop::Time(time)) => Some(time),
        (Flow::Law { profile: Profile::Constant { .. }, .. }, Stop::Count(count)) => {
            Some(Nanoseconds::from_secs_f64(count as f64 / job.shape.request_rate()?.get()))
        }
        (_, Stop::Count(_)) => None,
    }
}

/// How the generator waits with one URL.
fn waiting(asked: Option<Wait>) -> Waiting {
    match asked {
        Some(Wait::Asleep) => Waiting::Asleep,
        None | Some(Wait::Brief) => Waiting::AwakeIfBrief,
        Some(Wait::Awake) => Waiting::Awake,
    }
}

/// Refuses gates that need a baseline.
fn refuse_changes(gates: &[Gate]) -> anyhow::Result<()> {
    if let Some(gate) = gates
        .iter()
        .find(|gate| matches!((gate.subject, gate.bound), (Subject::Quantity(_), Bound::Change(_))))
    {
        bail!(
            "`{gate}` asks for a change, and one URL has no baseline; give two URLs, or a bound such as `5ms`"
        );
    }
    Ok(())
}

/// How much was to be sent.
fn extent(job: &LoadJob) -> String {
    match job.stop {
        Stop::Count(count) => format!("{count} requests"),
        Stop::Time(time) => time.to_string(),
    }
}

/// How requests were issued, for output.
fn shown_model(job: &LoadJob, figures: &judged::Single) -> ShownModel {
    let Some(flow) = job.load.model.flow() else { return ShownModel::Closed };
    let (arrivals, profile) = match flow {
        Flow::Law { profile: Profile::Constant { .. }, arrivals } => (arrivals.name().to_owned(), None),
        Flow::Law { profile, arrivals } => (arrivals.name().to_owned(), Some(profile.words())),
        Flow::Trace(_) => (words::flow(flow), None),
    };
    let offered = figures.offered;
    let per_arrival = job.load.model.requests_per_arrival();
    let requests = job.shape.request_rate().map_or(0.0, |rate| rate.get());
    let rate = PerSecond::new(requests / per_arrival).unwrap_or(offered);
    match &job.load.model {
        LoadModel::PartlyOpen { length, .. } => {
            ShownModel::PartlyOpen { sessions: rate, arrivals, profile, length: length.to_string(), offered }
        }
        LoadModel::Closed | LoadModel::Open { .. } => ShownModel::Open { rate, arrivals, profile, offered },
    }
}

/// The figures, for output.
fn summary_of(
    job: &LoadJob,
    record: &SingleRecord,
    figures: &judged::Single,
    is_latency_asked: bool,
) -> LoadSummary {
    let are_statuses_asked = is_latency_asked;
    let is_latency_asked = is_latency_asked && figures.response.quantiles[0].1 != Err(Withheld::QueueGrew);
    let messages = messages(&record.tallies, &job.workload.streams(), figures.took);
    let said = |FailureText { text, count, .. }: &FailureText| Failure { text: text.clone(), count: *count };
    let names = job.workload.operations();
    let operation = |of: &judged::OperationTimes| Operation {
        name: names.get(of.operation.index()).cloned().unwrap_or_default(),
        good: of.good,
        errors: of.errors,
        throughput: of.throughput,
        response: shown_times(&of.response),
        service: shown_times(&of.service),
    };
    LoadSummary {
        schema: LoadSummary::SCHEMA,
        url: shown_path(&job.url.to_string()),
        requests: figures.requests,
        good: figures.good,
        errors: figures.errors.total(),
        errors_by_kind: figures.errors,
        failures: record.failures.iter().map(said).collect(),
        failures_unlisted: record.failures_unlisted,
        not_sent: figures.not_sent,
        resent: figures.resent,
        took: figures.took,
        connections: job.load.connections,
        threads: job.threads,
        wait: job.waiting.name(),
        idle: record.idle.clone(),
        connects: figures.connects,
        handshakes: figures.handshakes.iter().map(shown_handshakes).collect(),
        load: shown_model(job, figures),
        think: words::think(job.load.think),
        churn: job.load.churn.map(std::num::NonZeroU32::get),
        throughput: figures.throughput,
        response: shown_times(&figures.response),
        service: shown_times(&figures.service),
        latency: is_latency_asked.then(|| judged::distribution(&record.tallies)),
        statuses: if are_statuses_asked { statuses(job, record, figures) } else { Vec::new() },
        operations: figures.operations.iter().map(operation).collect(),
        messages: shown_messages(job, &messages),
        sent: figures.traffic.sent,
        received: figures.traffic.received,
        kernel_timestamps: figures.stamps.clone(),
        lag_p99: figures.lag_p99,
        validity: figures.validity,
        reasons: figures.reasons.clone(),
        findings: figures.findings.clone(),
    }
}

/// Replies by HTTP status: good ones together, the others as far as their texts were kept.
fn statuses(job: &LoadJob, record: &SingleRecord, figures: &judged::Single) -> Vec<StatusCount> {
    if !job.protocol.is_rest() {
        return Vec::new();
    }
    let count = |status: &str, count: u64| StatusCount { status: status.to_owned(), count };
    let is_status = |text: &str| {
        let (number, rest) = text.split_at_checked(3).unwrap_or_default();
        number.parse().is_ok_and(|number: u16| (100..600).contains(&number))
            && (rest.is_empty() || rest.starts_with(' '))
    };
    let bad = record.failures.iter().filter(|said| is_status(&said.text));
    let bad: Vec<StatusCount> = bad.map(|said| count(&said.text, said.count)).collect();
    let listed: u64 = bad.iter().map(|one| one.count).sum();
    let good = count("2xx", record.tallies.ok().0.len());
    let other = count("other", figures.errors.status.saturating_sub(listed));
    let all = std::iter::once(good).chain(bad).chain([other]);
    all.filter(|one| one.count > 0).collect()
}

/// The times of messages. A message whose time is a share of its call gets its own name, `… message sent`.
fn shown_messages(job: &LoadJob, messages: &[MessageTimes]) -> Vec<Messages> {
    let names = job.workload.operations();
    let shown = |of: &MessageTimes| {
        let name = names.get(of.operation.index()).cloned().unwrap_or_default();
        Messages {
            name: match of.basis {
                MessageBasis::BetweenReplies => name,
                MessageBasis::ShareOfCall => format!("{name} message sent"),
            },
            basis: of.basis,
            count: of.count,
            throughput: of.throughput,
            time: shown_times(&of.times),
        }
    };
    messages.iter().map(shown).collect()
}

fn shown_times(times: &judged::Times) -> Times {
    let [p50, p90, _, p99, p99_9] = times.quantiles.map(|(_, time)| time);
    let why = |why| match why {
        Withheld::Beyond(beyond) => withheld(beyond),
        Withheld::QueueGrew => QUEUE_GREW.to_owned(),
        Withheld::Late { at_most, late } => sent_late(at_most, late),
    };
    let names = ["p50", "p90", "p99", "p99.9"].into_iter().zip([p50, p90, p99, p99_9]);
    let mut reasons: BTreeMap<String, String> =
        names.filter_map(|(name, time)| Some((name.to_owned(), why(time.err()?)))).collect();
    reasons.extend(times.mean_withheld.map(|late| ("mean".to_owned(), why(late))));
    if p50 == Err(Withheld::QueueGrew) {
        reasons.extend(["mean", "max"].map(|name| (name.to_owned(), QUEUE_GREW.to_owned())));
    }
    Times {
        withheld: reasons,
        p50: p50.ok(),
        p90: p90.ok(),
        p99: p99.ok(),
        p99_9: p99_9.ok(),
        mean: times.mean,
        max: times.max,
    }
}

fn shown_handshakes(times: &judged::HandshakeTimes) -> Handshakes {
    let judged::HandshakeTimes { kind, count, mean, max } = *times;
    Handshakes { kind, count, mean, max }
}

/// The TLS settings for a URL: its scheme says whether to use TLS, the flags say how.
fn tls_spec(flags: &TlsFlags, url: &Url) -> anyhow::Result<Option<TlsSpec>> {
    let given = TlsSpec {
        ca: flags.cacert.clone(),
        insecure: flags.insecure,
        cert: flags.cert.clone(),
        key: flags.key.clone(),
        server_name: flags.server_name.clone(),
        resumption: !flags.no_resumption,
        min: version(flags.tls_min.as_deref(), TlsVersion::V12),
        max: version(flags.tls_max.as_deref(), TlsVersion::V13),
    };
    if !url.scheme.is_secured() {
        if given != TlsSpec::default() {
            bail!(
                "`{url}` is plain text, so TLS options have no use; write {}, or leave them out",
                typed_schemes(Scheme::is_secured)
            );
        }
        return Ok(None);
    }
    given.check().map_err(anyhow::Error::msg).context("TLS options")?;
    Ok(Some(given))
}

fn version(given: Option<&str>, default: TlsVersion) -> TlsVersion {
    let named = |name| TlsVersion::ALL.into_iter().find(|version| version.name() == name);
    given.and_then(named).unwrap_or(default)
}

fn several(
    arguments: &Load,
    asked: &target::Target,
    connect_to: Option<(String, u16)>,
    gates: Vec<Gate>,
    printer: &Printer,
) -> anyhow::Result<Exit> {
    if arguments.threads > 1 {
        bail!("several URLs are weighed by one generator on one core; leave `--threads` out");
    }
    if arguments.requests.is_some() {
        bail!("several URLs are weighed for a time; use `--duration` instead of `--requests`");
    }
    if arguments.wait.is_some_and(|wait| wait != Wait::Awake) {
        bail!(
            "several URLs are always waited for awake, or a fast one would be favoured; leave `--wait` out"
        );
    }
    let workload = asked.workload(arguments, connect_to.as_ref(), arguments.timeout)?;
    let experiment = experiment(arguments, asked, workload, gates)?;
    let options = Options {
        measured_budget: true,
        allow_remote: arguments.allow_remote,
        connect_to,
        ..options(arguments.out.clone())?
    };
    let checked = Checked::new(experiment, &options)?;
    let printed = Printed::new(&arguments.output, arguments.details)?;
    carry_out(checked, &options, printed, printer)
}

/// The experiment for a command line with several URLs.
pub(super) fn experiment(
    arguments: &Load,
    asked: &target::Target,
    workload: WorkloadSpec,
    gates: Vec<Gate>,
) -> anyhow::Result<Experiment> {
    let names = names(asked)?;
    let variant = |(name, url): (String, &Url)| {
        Ok(Variant {
            name,
            target: Target::Url(url.clone()),
            protocol: asked.protocol_of(url),
            tls: tls_spec(&arguments.tls, url)?,
            unix: arguments.unix.clone(),
            env: Vec::new(),
            limits: Limits::default(),
            slots: OwnSlots::default(),
            idle: None,
            peer: None,
            cache: None,
            database: None,
            base: None,
            jvm: None,
            layers: Layers::default(),
        })
    };
    Ok(Experiment {
        capacity: None,
        title: format!("load {}", names.join(" ")),
        points: vec![Point { label: PointLabel::new(), workload, load: load_spec(arguments, WARMUP)? }],
        variants: names.into_iter().zip(&asked.urls).map(variant).collect::<anyhow::Result<_>>()?,
        plan: PlanRules {
            headline: Quantity::ResponseP50,
            blocks_min: BLOCKS,
            blocks_max: BLOCKS,
            until: None,
            budget: arguments.duration.unwrap_or(DURATION),
            margin: arguments.margin,
            share_margin: PlanRules::default().share_margin,
            seed: arguments.seed,
            window: None,
            together: 64,
            freeze: false,
            idle: arguments.idle.into(),
            pairing: PairingChoice::Auto,
            quick: Vec::new(),
        },
        gates,
        hooks: Hooks::default(),
        tags: Default::default(),
    })
}

/// The names that were given, or the URLs. A repeated URL gets a number, so that a server can be compared with itself.
fn names(asked: &target::Target) -> anyhow::Result<Vec<String>> {
    let given = |(name, url): (&String, &Url)| {
        if name.is_empty() { shown_path(&url.to_string()) } else { name.clone() }
    };
    let shown: Vec<String> = asked.names.iter().zip(&asked.urls).map(given).collect();
    let before = |at: usize| shown[..at].iter().filter(|other| **other == shown[at]).count();
    if let Some(at) = (0..shown.len()).find(|at| !asked.names[*at].is_empty() && before(*at) > 0) {
        bail!("`{}` names two URLs; give each a name of its own", shown[at]);
    }
    let numbered = |(at, name): (usize, &String)| match before(at) {
        0 => name.clone(),
        count => format!("{name} #{}", count + 1),
    };
    Ok(shown.iter().enumerate().map(numbered).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_wait_has_its_displayed_name() {
        use clap::ValueEnum;
        for wait in Wait::value_variants() {
            let typed = wait.to_possible_value().unwrap();
            assert_eq!(typed.get_name(), waiting(Some(*wait)).name());
        }
        assert_eq!(waiting(None), Waiting::AwakeIfBrief);
    }

    #[test]
    fn an_address_to_connect_to_needs_no_scheme() {
        assert_eq!(parse_address("[::1]:81").unwrap(), ("::1".to_owned(), 81));
        assert!(parse_address("a b").is_err());
    }
}
