//! The self-check: what the records say against themselves.
//!
//! Every check compares one figure of one variant at one point with a constant of [`crate::thresholds`], and says what was
//! seen and what to do. Nothing is repaired and nothing is left out; what a verdict makes of it is decided in
//! [`crate::summary`].

pub mod core_latency;
pub mod delayed_ack_stalls;
pub mod idle;
pub mod limits;
pub mod network;
pub mod pauses;
pub mod settled;
pub mod steadiness;
pub mod tail;

use weighbridge_model::estimate::{Quantity, Validity, Verdict};
use weighbridge_model::histogram::{TimeHistogram, time_histogram};
use weighbridge_model::id::PointLabel;
use weighbridge_model::id::{PointId, VariantId};
use weighbridge_model::pairing::Pairing;
use weighbridge_model::quantity::{Nanoseconds, Ratio};
use weighbridge_model::record::{ErrorCounts, ErrorKind, TrialRecord, WindowEnd};
use weighbridge_model::summary::{Finding, Severity};

use crate::checks::delayed_ack_stalls::{relay_waited, stood_still};
use crate::checks::settled::NOT_WARM;
use crate::question::{Placement, Question, Scope, Transport};
use crate::records::{Cell, Gathered, Lens, Times, add, quantile};
use crate::thresholds::{
    ALMOST_IDLE_SHARE, BUSY_SHARE, ERROR_SHARE, LAG_FLOOR, LAG_SHARE, LOOP_DELAY_SHARE, RETRANSMIT_SHARE,
    SERVICE_BUSY_SHARE,
};

/// Something noticed of one variant.
#[derive(Debug, Clone, PartialEq)]
pub struct Alarm {
    /// What it does to the variant's figures.
    pub validity: Validity,
    /// A short fixed name.
    pub name: &'static str,
    /// What was seen, in numbers.
    pub evidence: String,
    /// What to do.
    pub remedy: &'static str,
}

/// Everything noticed of one variant at one point.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Diagnosis {
    /// In the order of the checks.
    pub alarms: Vec<Alarm>,
}

/// Why figures of a variant decide nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Objection {
    /// `invalid` or `withheld`.
    pub verdict: Verdict,
    /// The alarm, in words.
    pub reason: String,
}

/// The name of the alarm that withholds verdicts on throughput.
pub const GENERATOR_BOUND: &str = "generator-bound";

impl Alarm {
    /// The alarm as the summary shows it.
    pub fn finding(&self, subject: &str) -> Finding {
        Finding {
            severity: match self.validity {
                Validity::Valid => Severity::Note,
                Validity::Suspect => Severity::Warning,
                Validity::Invalid => Severity::Problem,
            },
            name: self.name.to_owned(),
            subject: subject.to_owned(),
            evidence: self.evidence.clone(),
            remedy: self.remedy.to_owned(),
        }
    }
}

impl Diagnosis {
    /// The worst that any alarm says.
    pub fn validity(&self) -> Validity {
        self.alarms.iter().map(|alarm| alarm.validity).max().unwrap_or_default()
    }

    /// What speaks against the figures, in words.
    pub fn reasons(&self) -> Vec<String> {
        let against = self.alarms.iter().filter(|alarm| alarm.validity > Validity::Valid);
        against.map(|alarm| format!("{}: {}", alarm.name, alarm.evidence)).collect()
    }

    /// The reason by which the figures must not be used, if there is one.
    pub fn invalid(&self) -> Option<String> {
        let worst = self.alarms.iter().find(|alarm| alarm.validity == Validity::Invalid)?;
        Some(format!("{}: {}", worst.name, worst.evidence))
    }

    /// What overrides every verdict on a quantity of this variant.
    pub fn objection(&self, quantity: Quantity) -> Option<Objection> {
        if let Some(reason) = self.invalid() {
            return Some(Objection { verdict: Verdict::Invalid, reason });
        }
        if let Some(cold) = self.alarm(NOT_WARM).filter(|alarm| alarm.validity == Validity::Suspect) {
            let reason = format!("{}: {}; {}", cold.name, cold.evidence, cold.remedy);
            return Some(Objection { verdict: Verdict::Withheld, reason });
        }
        let bound = self.alarm(GENERATOR_BOUND).filter(|_| quantity == Quantity::Throughput)?;
        let reason = format!("{}: {}", bound.name, bound.evidence);
        Some(Objection { verdict: Verdict::Withheld, reason })
    }

    /// An alarm by name.
    pub fn alarm(&self, name: &str) -> Option<&Alarm> {
        self.alarms.iter().find(|alarm| alarm.name == name)
    }
}

/// A finding's subject: the variant, and the point where there are several.
pub fn subject(variant: &str, point: &PointLabel) -> String {
    let factors: Vec<_> = point.iter().map(|(key, value)| format!("{key} = {value}")).collect();
    if factors.is_empty() { variant.to_owned() } else { format!("{variant} at {}", factors.join(", ")) }
}

/// All that one variant's records at one point add up to, over the blocks that count.
struct Whole<'a> {
    cells: Vec<Cell<'a>>,
    response: TimeHistogram,
    service: TimeHistogram,
    lag: TimeHistogram,
    loop_delay: TimeHistogram,
    requests: u64,
    failed: u64,
}

impl<'a> Whole<'a> {
    fn new(gathered: &Gathered<'a>, point: PointId, variant: VariantId) -> Self {
        Self::of(gathered.cells(point, variant, Lens::Measured), point)
    }

    fn of(cells: Vec<Cell<'a>>, point: PointId) -> Self {
        let [mut response, mut service, mut lag, mut loop_delay] = [(); 4].map(|()| time_histogram());
        for cell in &cells {
            let Times { response: more_response, service: more_service } = cell.times(Scope::All);
            add(&mut response, &more_response);
            add(&mut service, &more_service);
            for tallies in cell.trials.iter().filter_map(|trial| trial.tallies.get(point.index())) {
                add(&mut lag, &tallies.lag);
                add(&mut loop_delay, &tallies.loop_delay);
            }
        }
        let requests = cells.iter().map(Cell::requests).sum();
        let failed = cells.iter().map(|cell| cell.errors().total()).sum();
        Self { cells, response, service, lag, loop_delay, requests, failed }
    }

    fn trials(&self) -> impl Iterator<Item = &'a TrialRecord> + Clone {
        self.cells.iter().flat_map(|cell| cell.trials.iter().copied())
    }

    fn error_share(&self) -> f64 {
        self.failed as f64 / self.requests.max(1) as f64
    }
}

/// Checks one variant at one point against itself, the host and the baseline.
pub fn diagnose(
    question: &Question,
    gathered: &Gathered<'_>,
    point: PointId,
    variant: VariantId,
) -> Diagnosis {
    let whole = Whole::new(gathered, point, variant);
    if whole.cells.is_empty() {
        let alarm = Alarm {
            validity: Validity::Invalid,
            name: "not measured",
            evidence: "no block counts".to_owned(),
            remedy: "look at why blocks were void, and run it again",
        };
        return Diagnosis { alarms: vec![alarm] };
    }
    let transport = question.variants.get(variant.index()).map_or(Transport::Uncounted, |v| v.transport);
    let mut alarms = Vec::new();
    alarms.extend(no_good_reply(&whole));
    alarms.extend(late(&whole));
    alarms.extend(saturated(&whole));
    alarms.extend(never_sent(&whole));
    alarms.extend(generator_bound(&whole, question.cores.service));
    alarms.extend(busy_beside(&whole, gathered.pairing(point), question.cores.service));
    alarms.extend(loop_delay(&whole));
    alarms.extend(shared_core(question.cores.placement));
    alarms.extend(retransmits(&whole));
    alarms.extend(network::lost_on_the_way(whole.trials()));
    alarms.extend(network::no_null_path(question, variant, whole.trials()));
    alarms.extend(wrong_transport(&whole, transport));
    alarms.extend(network::another_way(whole.trials()));
    alarms.extend(errors(&whole));
    alarms.extend(errors_elsewhere(&whole));
    alarms.extend(timeouts(&whole));
    alarms.extend(held_up(question, &whole, point, variant));
    alarms.extend(limits::quota(whole.trials()));
    alarms.extend(limits::memory(whole.trials()));
    alarms.extend(reconnects(&whole));
    let beside: Vec<_> =
        gathered.pairs(point, variant, Lens::Measured).into_iter().map(|(_, theirs)| theirs).collect();
    if variant != VariantId(0) && !beside.is_empty() {
        alarms.extend(other_errors(&whole, &Whole::of(beside, point)));
    }
    Diagnosis { alarms }
}

/// Replies that stood still on the way to the client, or to the relay that asked for them.
fn held_up(question: &Question, whole: &Whole<'_>, point: PointId, variant: VariantId) -> Option<Alarm> {
    let windows = || whole.cells.iter().flat_map(|cell| &cell.windows).map(|window| &window.figures);
    let held_up = windows().map(|figures| figures.held_up).sum();
    let good = whole.cells.iter().map(|cell| cell.good(Scope::All)).sum();
    stood_still(held_up, good).or_else(|| {
        let variant = question.variants.get(variant.index()).filter(|variant| variant.relay.is_some())?;
        let mut calls = time_histogram();
        let samples = whole.trials().flat_map(|trial| &trial.samples).filter(|sample| sample.point == point);
        for relayed in samples.filter_map(|sample| sample.relayed) {
            calls.saturating_record(relayed.duration.as_nanos());
        }
        // A delay that was asked for is in the client's times, and in none of the relay's calls.
        match calls.is_empty() {
            false => relay_waited(&calls, "calls to its peer"),
            true if network::is_delayed(variant) => None,
            true => relay_waited(&whole.service, "replies"),
        }
    })
}

fn no_good_reply(whole: &Whole<'_>) -> Option<Alarm> {
    let good: u64 = whole.cells.iter().map(|cell| cell.good(Scope::All)).sum();
    (good == 0).then(|| Alarm {
        validity: Validity::Invalid,
        name: "no good reply",
        evidence: format!("none of {} requests was answered well", whole.requests),
        remedy: "run `weigh verify` and look at the errors by kind",
    })
}

/// Invalid: lag p99 > max(100 µs, 10 % of response p50).
fn late(whole: &Whole<'_>) -> Option<Alarm> {
    let (lag, response) = (quantile(&whole.lag, 0.99)?, quantile(&whole.response, 0.5)?);
    let limit = (LAG_SHARE * response).max(LAG_FLOOR.as_nanos() as f64);
    (lag > limit).then(|| Alarm {
        validity: Validity::Invalid,
        name: "generator late",
        evidence: format!("lag p99 {} is above {}", nanos(lag), nanos(limit)),
        remedy: "lower the rate, give the client a core of its own, or use a quieter machine",
    })
}

fn saturated(whole: &Whole<'_>) -> Option<Alarm> {
    let windows = || whole.cells.iter().flat_map(|cell| &cell.windows);
    let bad = windows().filter(|w| w.figures.end == WindowEnd::Saturated).count();
    (bad > 0).then(|| Alarm {
        validity: Validity::Invalid,
        name: "saturated",
        evidence: format!("{bad} of {} windows never drained", windows().count()),
        remedy: "lower the rate until every window drains",
    })
}

/// Requests left out are the slow ones: any at all makes the rest look fast.
fn never_sent(whole: &Whole<'_>) -> Option<Alarm> {
    let count: u64 = whole.cells.iter().map(Cell::not_sent).sum();
    (count > 0).then(|| Alarm {
        validity: Validity::Invalid,
        name: "never sent",
        evidence: format!("{count} requests were due and never sent"),
        remedy: "lower the rate or allow more connections",
    })
}

/// Suspect: busy > 85 % while the service's cores are < 90 % busy. Where nothing accounts for the service (a URL), it
/// cannot be shown to be the limit, and counts as idle.
fn generator_bound(whole: &Whole<'_>, service_cores: Option<u32>) -> Option<Alarm> {
    let windows = || whole.cells.iter().flat_map(|cell| &cell.windows);
    let busy: Nanoseconds = windows().map(|w| w.figures.health.busy).sum();
    let wall: Nanoseconds = windows().map(|w| w.figures.health.wall).sum();
    let busy = busy.share_of(wall);
    let service = service_cores.and_then(|cores| service_busy(whole, cores));
    let idle = service.is_none_or(|share| share.get() < SERVICE_BUSY_SHARE);
    (busy.get() > BUSY_SHARE && idle).then(|| Alarm {
        validity: Validity::Suspect,
        name: GENERATOR_BOUND,
        evidence: match service {
            Some(share) => format!("the loop was busy {busy} of the time, the service's cores {share}"),
            None => format!("the loop was busy {busy} of the time, the service's cores are not known"),
        },
        remedy: "use more client threads or fewer requests in flight; verdicts on throughput are withheld",
    })
}

/// The share of its cores that the service used in its windows: CPU per request × requests / (time × cores).
fn service_busy(whole: &Whole<'_>, cores: u32) -> Option<Ratio> {
    let used = |cell: &Cell<'_>| Some(cell.cpu_per_request()? * cell.requests() as f64);
    let cpu: f64 = whole.cells.iter().map(used).sum::<Option<f64>>()?;
    let time: Nanoseconds = whole.cells.iter().map(Cell::time).sum();
    let available = time.as_nanos() as f64 * f64::from(cores);
    (available > 0.0).then(|| Ratio::new(cpu / available))
}

/// Suspect: variants that run at once and are at least 10 % busy. Each then waits for the others' CPU time.
fn busy_beside(whole: &Whole<'_>, pairing: Pairing, service_cores: Option<u32>) -> Option<Alarm> {
    let share = service_cores.and_then(|cores| service_busy(whole, cores))?;
    (pairing == Pairing::Requests && share.get() >= ALMOST_IDLE_SHARE).then(|| Alarm {
        validity: Validity::Suspect,
        name: "variants disturb each other",
        evidence: format!(
            "nothing was frozen, and it used {share} of the service's cores (limit {})",
            Ratio::new(ALMOST_IDLE_SHARE)
        ),
        remedy: "leave `pairing` out or set `pairing = \"sequential\"`",
    })
}

fn loop_delay(whole: &Whole<'_>) -> Option<Alarm> {
    let (delay, service) = (quantile(&whole.loop_delay, 0.5)?, quantile(&whole.service, 0.5)?);
    (delay > LOOP_DELAY_SHARE * service).then(|| Alarm {
        validity: Validity::Suspect,
        name: "loop delay",
        evidence: format!("loop delay p50 {} of service p50 {}", nanos(delay), nanos(service)),
        remedy: "use fewer connections per client thread: replies wait in the generator",
    })
}

fn shared_core(placement: Placement) -> Option<Alarm> {
    (placement == Placement::Shared).then(|| Alarm {
        validity: Validity::Suspect,
        name: "shared core",
        evidence: "client and service ran on the same core".to_owned(),
        remedy: "allow at least two cores, or pin the service elsewhere",
    })
}

fn retransmits(whole: &Whole<'_>) -> Option<Alarm> {
    let traffic = || whole.cells.iter().map(Cell::traffic);
    let again: u64 = traffic().map(|t| t.retransmits).sum();
    let sent: u64 = traffic().map(|t| t.segments_out).sum();
    (again as f64 > RETRANSMIT_SHARE * sent as f64).then(|| Alarm {
        validity: if network::loses(whole.trials()) { Validity::Valid } else { Validity::Suspect },
        name: "retransmits",
        evidence: format!("{again} of {sent} segments were sent again"),
        remedy: "look for loss or a full buffer between client and service",
    })
}

/// A variant must be what its name says: bytes on the wire over TCP, none in process.
fn wrong_transport(whole: &Whole<'_>, transport: Transport) -> Option<Alarm> {
    let bytes: u64 = whole.cells.iter().map(Cell::traffic).map(|t| t.sent.get() + t.received.get()).sum();
    let evidence = match (transport, bytes) {
        (Transport::Tcp, 0) => "not one byte was counted on its connections".to_owned(),
        (Transport::InProcess, 1..) => format!("{bytes} bytes were counted on connections of a direct call"),
        _ => return None,
    };
    Some(Alarm {
        validity: Validity::Suspect,
        name: "not what it says",
        evidence,
        remedy: "check the variant's protocol: what ran is not what its name says",
    })
}

fn errors(whole: &Whole<'_>) -> Option<Alarm> {
    let mut counts = ErrorCounts::default();
    whole.cells.iter().for_each(|cell| counts.add(cell.errors()));
    (whole.failed > 0).then(|| Alarm {
        validity: if whole.error_share() > ERROR_SHARE { Validity::Suspect } else { Validity::Valid },
        name: "errors",
        evidence: format!("{} of {} requests failed: {}", whole.failed, whole.requests, by_kind(&counts)),
        remedy: "look at the service's output; times and throughput are of good replies",
    })
}

/// No figure suffers from them, but the variant failed.
fn errors_elsewhere(whole: &Whole<'_>) -> Option<Alarm> {
    let (mut counts, mut requests) = (ErrorCounts::default(), 0);
    for window in whole.cells.iter().flat_map(Cell::other_windows) {
        counts.add(window.figures.errors);
        requests += window.figures.requests;
    }
    (counts.total() > 0).then(|| Alarm {
        validity: Validity::Valid,
        name: "errors elsewhere",
        evidence: format!(
            "{} of {requests} requests of longer windows and of further sizes failed: {}",
            counts.total(),
            by_kind(&counts)
        ),
        remedy: "look at the service's output; they are in no figure, and gates on `errors` see them",
    })
}

fn by_kind(counts: &ErrorCounts) -> String {
    let kinds = ErrorKind::ALL.into_iter().filter(|kind| counts.get(*kind) > 0);
    kinds.map(|kind| format!("{} {}", counts.get(kind), kind.name())).collect::<Vec<_>>().join(", ")
}

fn timeouts(whole: &Whole<'_>) -> Option<Alarm> {
    let count: u64 = whole.cells.iter().map(|cell| cell.errors().timeout).sum();
    (count > 0).then(|| Alarm {
        validity: Validity::Valid,
        name: "lower bounds",
        evidence: format!("{count} timeouts count as if answered when given up: true times are longer"),
        remedy: "allow a longer `timeout` where the tail matters",
    })
}

/// Connections that had to be opened while it was measured: their cost is in its figures.
fn reconnects(whole: &Whole<'_>) -> Option<Alarm> {
    let count: u64 = whole.cells.iter().flat_map(|cell| &cell.windows).map(|w| w.figures.connects).sum();
    (count > 0).then(|| Alarm {
        validity: Validity::Valid,
        name: "reconnects",
        evidence: format!(
            "{count} connections were opened in measured windows, one for every {:.0} requests",
            whole.requests as f64 / count as f64
        ),
        remedy: "see whether the service closes connections, and whether all variants do so alike",
    })
}

/// A variant that fails more often than the other does less work, and its cost is not one of the same work.
fn other_errors(whole: &Whole<'_>, baseline: &Whole<'_>) -> Option<Alarm> {
    let (mine, theirs) = (whole.error_share(), baseline.error_share());
    ((mine - theirs).abs() > ERROR_SHARE).then(|| Alarm {
        validity: Validity::Suspect,
        name: "unequal errors",
        evidence: format!(
            "{} of its requests failed, {} of the baseline's",
            Ratio::new(mine),
            Ratio::new(theirs)
        ),
        remedy: "make both answer well before comparing their times",
    })
}

fn nanos(value: f64) -> Nanoseconds {
    Nanoseconds::from_nanos(value as u64)
}
