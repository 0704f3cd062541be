//! What was measured: requests, windows, trials and the histograms they are gathered in.
//!
//! Records hold facts, never estimates. They are serialised by `store` and read by `judge`.

pub mod counts;
mod failures;
mod jvm;
pub mod samples;
mod servers;
pub mod steps;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::histogram::{FoldableHistogram, TimeHistogram, time_histogram};
use crate::id::{OperationId, PointId, VariantId};
use crate::legs::{KernelStamps, Legs};
use crate::machine::MachineCpu;
use crate::network::NetworkFacts;
use crate::pairing::{Pairing, Preparation};
use crate::quantity::{Bytes, Nanoseconds, Ratio, Timestamp};
use crate::record::counts::Counts;
use crate::record::samples::Sample;
use crate::record::steps::StepRecord;

pub use failures::FailedReplies;
pub use jvm::JvmPauses;
pub use servers::{DatabaseFacts, PeerFacts};

/// Why a request failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum ErrorKind {
    /// No connection: refused, unreachable, or not established in time.
    Connect,
    /// No TLS session on an established connection: an alert, a certificate that does not hold, no common protocol.
    Tls,
    /// The connection ended (reset or closed) before the reply was whole.
    Reset,
    /// No whole reply within the request's timeout.
    Timeout,
    /// Bytes that are not a reply of this protocol.
    Protocol,
    /// A reply whose status says failure.
    Status,
    /// A reply of good status whose content is not what the workload expects.
    Check,
}

impl ErrorKind {
    /// Every kind, in the order of counts.
    pub const ALL: [Self; 7] =
        [Self::Connect, Self::Tls, Self::Reset, Self::Timeout, Self::Protocol, Self::Status, Self::Check];

    /// The kind's name as in JSON and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::Reset => "reset",
            Self::Timeout => "timeout",
            Self::Protocol => "protocol",
            Self::Status => "status",
            Self::Check => "check",
        }
    }

    /// Whether a whole reply came, however bad. Every list of kinds that are, or are not, answers asks here.
    pub const fn is_answered(self) -> bool {
        match self {
            Self::Connect | Self::Tls | Self::Reset | Self::Timeout | Self::Protocol => false,
            Self::Status | Self::Check => true,
        }
    }
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// A whole reply that passed its checks.
    Ok,
    /// Anything else.
    Error(ErrorKind),
}

impl Outcome {
    /// `ok` or the error kind's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error(kind) => kind.name(),
        }
    }
}

/// One request: which, how it ended, and its three times. Response time is `done - due`, service time `done - sent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestRecord {
    /// When the load model wanted it sent.
    pub due: Timestamp,
    /// The clock before the write that carried its first byte (equal to `due` where it was never sent).
    pub sent: Timestamp,
    /// The clock after the read that completed it.
    pub done: Timestamp,
    pub operation: OperationId,
    pub outcome: Outcome,
}

/// Errors counted by kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ErrorCounts {
    /// See [`ErrorKind::Connect`].
    pub connect: u64,
    /// See [`ErrorKind::Tls`].
    #[serde(default)]
    pub tls: u64,
    /// See [`ErrorKind::Reset`].
    pub reset: u64,
    /// See [`ErrorKind::Timeout`].
    pub timeout: u64,
    /// See [`ErrorKind::Protocol`].
    pub protocol: u64,
    /// See [`ErrorKind::Status`].
    pub status: u64,
    /// See [`ErrorKind::Check`].
    pub check: u64,
}

impl ErrorCounts {
    /// The counter of one kind.
    pub fn get_mut(&mut self, kind: ErrorKind) -> &mut u64 {
        match kind {
            ErrorKind::Connect => &mut self.connect,
            ErrorKind::Tls => &mut self.tls,
            ErrorKind::Reset => &mut self.reset,
            ErrorKind::Timeout => &mut self.timeout,
            ErrorKind::Protocol => &mut self.protocol,
            ErrorKind::Status => &mut self.status,
            ErrorKind::Check => &mut self.check,
        }
    }
    /// The count of one kind.
    pub fn get(mut self, kind: ErrorKind) -> u64 {
        *self.get_mut(kind)
    }
    /// All errors.
    pub fn total(self) -> u64 {
        ErrorKind::ALL.into_iter().map(|kind| self.get(kind)).sum()
    }
    /// Those without an answer.
    pub fn unanswered(self) -> u64 {
        let unanswered = ErrorKind::ALL.into_iter().filter(|kind| !kind.is_answered());
        unanswered.map(|kind| self.get(kind)).sum()
    }
    /// Adds another window's counts.
    pub fn add(&mut self, other: Self) {
        for kind in ErrorKind::ALL {
            *self.get_mut(kind) += other.get(kind);
        }
    }
}

/// What went through the generator's sockets. Bytes and segments are the kernel's counts (`TCP_INFO`); on Unix sockets the
/// generator counts the bytes itself, and there are no segments: their counts are 0 then. Payload is the generator's own
/// count: bodies of requests and replies without what frames them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Traffic {
    /// Bytes sent and acknowledged.
    pub sent: Bytes,
    /// Bytes received.
    pub received: Bytes,
    /// Segments sent.
    pub segments_out: u64,
    /// Segments received.
    pub segments_in: u64,
    /// Segments retransmitted by the generator's side.
    pub retransmits: u64,
    /// Bytes of the bodies of requests; 0 in records from before it was counted.
    #[serde(default)]
    pub payload_sent: Bytes,
    /// Bytes of the bodies of replies; 0 in records from before it was counted.
    #[serde(default)]
    pub payload_received: Bytes,
}

impl Traffic {
    /// Adds another socket's or window's counts.
    pub fn add(&mut self, other: Self) {
        self.sent = self.sent + other.sent;
        self.received = self.received + other.received;
        self.segments_out += other.segments_out;
        self.segments_in += other.segments_in;
        self.retransmits += other.retransmits;
        self.payload_sent = self.payload_sent + other.payload_sent;
        self.payload_received = self.payload_received + other.payload_received;
    }
}

/// How the generator itself fared in one window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LoopHealth {
    /// Loop time outside epoll and spin.
    pub busy: Nanoseconds,
    /// Whole loop time, from the window's first action to its last.
    pub wall: Nanoseconds,
    /// CPU time of the loop's thread.
    pub cpu: Nanoseconds,
    /// Median of the time from epoll's return to the handling of an event.
    pub loop_delay_p50: Nanoseconds,
    /// 99th percentile of the generator's own lateness: sent minus the later of due and slot free.
    pub lag_p99: Nanoseconds,
}

/// What a window was for.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum WindowKind {
    /// Before the rounds of a trial.
    WarmUp,
    /// After a switch of variants: sent, checked and recorded apart.
    LeadIn,
    /// Counts towards every estimate.
    #[default]
    Measured,
    /// A longer window that asks whether costs depend on the window's length.
    Check,
    /// One in which idle cores wait the other way, which asks whether costs depend on that.
    IdleCheck,
    /// One rate tried in search of a capacity.
    Step,
}

/// How a window ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WindowEnd {
    /// It did its work, nothing left outstanding.
    #[default]
    Complete,
    /// Open load: outstanding requests never drained before the cap.
    Saturated,
    /// The user or the conductor stopped it.
    Aborted,
}

/// Count and quick figures of one operation's good replies in one window. Times of errors are in the trial's
/// histograms only. Quantiles are exact (nearest rank on the window's own records).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OperationFigures {
    pub operation: OperationId,
    /// Good replies.
    pub ok: u64,
    /// Sum of response times of good replies.
    pub response_sum: Nanoseconds,
    /// Sum of service times of good replies.
    pub service_sum: Nanoseconds,
    pub response_p50: Nanoseconds,
    pub service_p50: Nanoseconds,
    /// 90th percentile of response time.
    pub response_p90: Nanoseconds,
    /// 90th percentile of service time.
    pub service_p90: Nanoseconds,
    pub response_max: Nanoseconds,
}

/// How long a reply stands still whose second part is held back until the first is acknowledged (Nagle's algorithm), where the
/// client's kernel holds that acknowledgement back: 40 ms on Linux (`TCP_DELACK_MIN`; HZ / 25 ticks, so a few less may be
/// seen), a round trip, and the time that a busy host takes to wake whoever is concerned.
pub const HELD_UP: RangeInclusive<Nanoseconds> = Nanoseconds::from_millis(38)..=Nanoseconds::from_millis(48);

/// One window as the generator saw it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WindowFigures {
    /// First byte sent (where nothing was sent: the window's start).
    pub started: Timestamp,
    /// Last reply complete.
    pub ended: Timestamp,
    /// How it ended.
    pub end: WindowEnd,
    /// The same as `requests`; older records had this name for requests due, and `requests` for those begun.
    pub offered: u64,
    /// Requests due in the window: good ones, errors and those not sent.
    pub requests: u64,
    /// Those among them that were never begun (the queue's bound, or the end of a window that could not drain).
    pub not_sent: u64,
    /// Those among them that failed, by kind; some before they could be sent.
    pub errors: ErrorCounts,
    /// How often a request was sent again, because the server had announced that it would not answer it where it was
    /// sent first. Each request counts once in `requests` all the same.
    pub resent: u64,
    /// Good replies that [stood still](HELD_UP) between two of their parts, those of streamed messages left out.
    pub held_up: u64,
    /// Connections opened during the window.
    pub connects: u64,
    /// TLS handshakes completed during the window.
    pub handshakes: u64,
    /// Those among them that took up an earlier session.
    pub resumed: u64,
    /// Per operation, in the order of the workload; operations without a good reply are left out. An operation of
    /// messages counts messages, and both its times are those between them; one of sessions counts sessions that were
    /// good to the end, and both its times are theirs. The first entry
    /// of a workload with several operations is *not* a total: `all` is computed by merging.
    pub operations: Vec<OperationFigures>,
    /// All operations together, those of messages and sessions left out: exact median and 90th percentile over every good reply of
    /// the window.
    pub all: Option<OperationFigures>,
    /// Kernel's counts on the sockets.
    pub traffic: Traffic,
    /// The generator's own condition.
    pub health: LoopHealth,
    /// Where service times went, by the kernel's time stamps; absent where they were not asked for.
    pub stamps: Option<KernelStamps>,
    /// What the workload counted; absent where it counts nothing.
    pub counts: Option<Counts>,
}

impl WindowFigures {
    /// Requests begun, however they ended.
    pub fn begun(&self) -> u64 {
        self.requests.saturating_sub(self.not_sent)
    }

    /// Requests that were answered well.
    pub fn good(&self) -> u64 {
        self.begun().saturating_sub(self.errors.total())
    }

    /// Requests that got an answer, well or not: bytes and packets are shared out among these.
    pub fn answered(&self) -> u64 {
        self.begun().saturating_sub(self.errors.unanswered())
    }
}

/// CPU time that the roles of a variant used between thaw and freeze around one window (its lead-in included).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RoleCpu {
    /// The role's name: `service`, later `sidecar`, `peer` …
    pub role: String,
    /// CPU time by the processes' own clocks.
    pub cpu: Nanoseconds,
    /// Good and bad requests answered in that time, lead-in included.
    pub requests: u64,
}

/// One window in its place in the run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WindowRecord {
    /// What it was for.
    pub kind: WindowKind,
    /// Block, from 0.
    pub block: u32,
    /// The point it belongs to.
    pub point: PointId,
    /// Round within the block and point, from 0.
    pub round: u32,
    /// Place within the round, from 0.
    pub position: u32,
    /// The variant it ran on.
    pub variant: VariantId,
    /// What the generator saw.
    pub figures: WindowFigures,
    /// CPU by role; empty where the variant is not ours to account.
    pub cpu: Vec<RoleCpu>,
    /// Round trip of a cache line between the client's core and the first of the services', shortly before; `None` where it
    /// was not measured. A hypervisor that moves virtual cores changes it.
    pub core_latency: Option<Nanoseconds>,
    /// What it took to make the service's database what it was at first, before the window and in no time of it; `None` where
    /// nothing was restored.
    pub restore: Option<Nanoseconds>,
    /// Of the service's Java virtual machine, from thaw to freeze; `None` where none tells.
    pub pauses: Option<JvmPauses>,
}

/// Whether a TLS handshake agreed on everything anew or took up an earlier session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HandshakeKind {
    /// With certificate and signature.
    Full,
    /// By a ticket or session number.
    Resumed,
}

impl HandshakeKind {
    /// Every kind, in the order of files.
    pub const ALL: [Self; 2] = [Self::Full, Self::Resumed];

    /// The kind's name as in JSON and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Resumed => "resumed",
        }
    }
}

/// What the times of a stream's messages are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MessageBasis {
    /// Of messages that the server streams: from the one before to this one, of the first since the call was sent.
    BetweenReplies,
    /// Of messages that the client alone streams, whose arrival nothing tells: the call's service time divided by them.
    ShareOfCall,
}

/// Times of TLS handshakes, from the connection's establishment to the end of the handshake, by kind. Empty, and then
/// without memory of its own, where there is no TLS.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Handshakes {
    kinds: [Option<TimeHistogram>; 2],
}

impl Handshakes {
    /// The times of one kind, if any such handshake occurred.
    pub fn get(&self, kind: HandshakeKind) -> Option<&TimeHistogram> {
        self.kinds[kind as usize].as_ref().filter(|times| !times.is_empty())
    }

    /// How many there were of one kind.
    pub fn count(&self, kind: HandshakeKind) -> u64 {
        self.get(kind).map_or(0, TimeHistogram::len)
    }

    /// Adds one handshake.
    pub fn record(&mut self, kind: HandshakeKind, time: Nanoseconds) {
        let times = self.kinds[kind as usize].get_or_insert_with(time_histogram);
        times.saturating_record(time.as_nanos().max(1));
    }

    pub fn add(&mut self, kind: HandshakeKind, times: &TimeHistogram) {
        let mine = self.kinds[kind as usize].get_or_insert_with(time_histogram);
        mine.add(times).expect("same bounds");
    }

    /// Adds everything in `other`.
    pub fn merge(&mut self, other: &Self) {
        for kind in HandshakeKind::ALL {
            if let Some(times) = other.get(kind) {
                self.add(kind, times);
            }
        }
    }

    /// Forgets all of them, keeping the memory.
    pub fn clear(&mut self) {
        self.kinds.iter_mut().flatten().for_each(TimeHistogram::reset);
    }
}

/// Histograms of one operation and outcome.
#[derive(Debug, Clone, PartialEq)]
pub struct Tally {
    pub operation: OperationId,
    /// The outcome; a timeout's times are lower bounds.
    pub outcome: Outcome,
    pub response: FoldableHistogram,
    pub service: FoldableHistogram,
}

/// Times that are no request's: of the messages of streams, of each the time since the one before, or since its request
/// was sent; and of sessions with a time of their own. They are in no count of requests and in no total.
#[derive(Debug, Clone, PartialEq)]
pub struct MessageTally {
    /// The operation that stands for such messages or sessions.
    pub operation: OperationId,
    /// How a session ended: as the call that ended it. Messages are always good.
    pub outcome: Outcome,
    pub times: TimeHistogram,
}

/// All histograms of one trial at one point, measured windows only; merged by addition.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tallies {
    /// One entry per operation and outcome that occurred.
    pub entries: Vec<Tally>,
    /// One entry per operation of messages or sessions, and outcome.
    pub messages: Vec<MessageTally>,
    /// The generator's own lateness.
    pub lag: FoldableHistogram,
    /// Time from epoll's return to the handling of an event.
    pub loop_delay: FoldableHistogram,
    /// TLS handshakes of the connections opened for the point and during its measured windows.
    pub handshakes: Handshakes,
    /// Legs of good replies, where the kernel stamped them.
    pub legs: Legs,
}

impl Tallies {
    /// The tally of an operation and outcome, made empty on first use.
    pub fn entry(&mut self, operation: OperationId, outcome: Outcome) -> &mut Tally {
        let found = self.entries.iter().position(|t| t.operation == operation && t.outcome == outcome);
        let at = found.unwrap_or_else(|| {
            self.entries.push(Tally {
                operation,
                outcome,
                response: FoldableHistogram::default(),
                service: FoldableHistogram::default(),
            });
            self.entries.len() - 1
        });
        &mut self.entries[at]
    }

    /// The tally of an operation and outcome, if any such request occurred.
    pub fn get(&self, operation: OperationId, outcome: Outcome) -> Option<&Tally> {
        self.entries.iter().find(|t| t.operation == operation && t.outcome == outcome)
    }

    /// Adds one request.
    pub fn record(&mut self, request: &RequestRecord) {
        let tally = self.entry(request.operation, request.outcome);
        tally.response.saturating_record(request.done.since(request.due).as_nanos().max(1));
        tally.service.saturating_record(request.done.since(request.sent).as_nanos().max(1));
    }

    /// The times of an operation's messages or sessions that ended so, if any did.
    pub fn messages_of(&self, operation: OperationId, outcome: Outcome) -> Option<&TimeHistogram> {
        let found = self.messages.iter().find(|t| t.operation == operation && t.outcome == outcome);
        found.map(|tally| &tally.times)
    }

    /// The times of an operation's messages or sessions, made empty on first use.
    fn messages_entry(&mut self, operation: OperationId, outcome: Outcome) -> &mut TimeHistogram {
        let found = self.messages.iter().position(|t| t.operation == operation && t.outcome == outcome);
        let at = found.unwrap_or_else(|| {
            self.messages.push(MessageTally { operation, outcome, times: time_histogram() });
            self.messages.len() - 1
        });
        &mut self.messages[at].times
    }

    /// Adds one message or session.
    pub fn record_message(&mut self, operation: OperationId, outcome: Outcome, time: Nanoseconds) {
        self.messages_entry(operation, outcome).saturating_record(time.as_nanos().max(1));
    }

    /// Adds everything in `other`.
    pub fn merge(&mut self, other: &Self) {
        for tally in &other.entries {
            let mine = self.entry(tally.operation, tally.outcome);
            tally.response.add_to(&mut mine.response);
            tally.service.add_to(&mut mine.service);
        }
        for tally in &other.messages {
            self.messages_entry(tally.operation, tally.outcome).add(&tally.times).expect("same bounds");
        }
        other.lag.add_to(&mut self.lag);
        other.loop_delay.add_to(&mut self.loop_delay);
        self.handshakes.merge(&other.handshakes);
        self.legs.merge(&other.legs);
    }

    /// Gives back what empty buckets take, of times of requests and of the generator's lateness and delay.
    pub fn fold(&mut self) {
        for tally in &mut self.entries {
            tally.response.fold();
            tally.service.fold();
        }
        self.lag.fold();
        self.loop_delay.fold();
    }

    /// Response and service histograms of all good replies, operations merged.
    pub fn ok(&self) -> (TimeHistogram, TimeHistogram) {
        let (mut response, mut service) = (time_histogram(), time_histogram());
        for tally in self.entries.iter().filter(|t| t.outcome == Outcome::Ok) {
            tally.response.add_to(&mut response);
            tally.service.add_to(&mut service);
        }
        (response, service)
    }
}

/// Memory of one role at one point of a trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoleMemory {
    /// The role's name.
    pub role: String,
    /// The point.
    pub point: PointId,
    /// Largest resident size of its processes while the point was measured, summed (`VmHWM`).
    #[serde(rename = "peak_bytes")]
    pub peak: Bytes,
}

/// CPU time that a process may have: so much in every period, and it stands still for the rest of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CpuQuota {
    /// Time of all its threads together.
    #[serde(rename = "quota_ns")]
    pub time: Nanoseconds,
    /// In every period of this length.
    #[serde(rename = "period_ns")]
    pub period: Nanoseconds,
}

impl CpuQuota {
    /// Cores' worth.
    pub fn cores(self) -> Ratio {
        self.time.share_of(self.period)
    }
}

/// How often a process was held up by its quota, since it started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Throttling {
    /// Periods in which it wanted to run.
    pub periods: u64,
    /// Periods among them in which it was held up.
    pub throttled: u64,
    /// For how long in all; of several cores each counts.
    #[serde(rename = "throttled_ns")]
    pub time: Nanoseconds,
}

/// Who set a quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum QuotaOrigin {
    /// The experiment, by `cpu`.
    Experiment,
    /// Somebody else: the command itself, a container, the session that `weigh` runs in.
    Host,
}

/// The tightest quota that a service's processes ran under.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QuotaFacts {
    /// How much.
    #[serde(flatten)]
    pub quota: CpuQuota,
    /// Who set it.
    pub origin: QuotaOrigin,
    /// What it did from the service's start to its last window; `None` where the kernel does not tell.
    pub throttling: Option<Throttling>,
}

/// The limit of memory that a service's processes ran under, and what it did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryFacts {
    /// How much, as the kernel keeps it: in whole pages.
    #[serde(rename = "limit_bytes")]
    pub limit: Bytes,
    /// Most that was held from the service's start to its last window, files that it read and what is shared counted once;
    /// `None` where the kernel does not tell.
    #[serde(rename = "peak_bytes")]
    pub peak: Option<Bytes>,
    /// How often the limit was met, and something had to be given up for what was wanted.
    pub met: u64,
    /// Processes that were killed since nothing could be given up.
    pub killed: u64,
}

/// What a service's run-time saw of the machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RuntimeFacts {
    /// Threads of all its processes, after its last window.
    pub threads: u32,
    /// The cores that it may run on, ascending.
    pub cores: Vec<u32>,
    /// What it says itself, by the contract's `RUNTIME_FACTS`: `cores`, `gc`, `heap_bytes` …
    pub said: BTreeMap<String, String>,
}

/// What the service said of itself when it started, and what was seen of its processes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceFacts {
    /// Its answer to `--version` or `GET /version`; `None` for a URL or command that has none.
    pub version: Option<String>,
    /// SHA-256 of the executable, hexadecimal.
    pub binary_sha256: Option<String>,
    /// Time from start to ready.
    #[serde(rename = "start_ns")]
    pub start: Option<Nanoseconds>,
    /// The quota of CPU time that it ran under; `None` without one, and for URLs.
    #[serde(default)]
    pub quota: Option<QuotaFacts>,
    /// The limit of memory that the experiment gave it; `None` without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryFacts>,
    /// What its run-time saw; `None` for URLs, and where it had ended before it was looked at.
    #[serde(default)]
    pub runtime: Option<RuntimeFacts>,
    /// The service to which it passed requests on; `None` where it answered them itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<Box<PeerFacts>>,
    /// The server that kept its records; `None` where none was started for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub database: Option<Box<DatabaseFacts>>,
    /// What stood between it and the client, and what passed there; `None` where nothing did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<Box<NetworkFacts>>,
}

/// Why a trial, and with it its block, counts for nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind", content = "detail")]
pub enum Void {
    /// The terminal stopped us (SIGTSTP) in the middle.
    Stopped,
    /// The wall clock and the monotonic clock moved apart.
    ClockJump,
    /// The service ended by itself.
    ServiceDied(String),
    /// The kernel killed the service: it wanted more memory than its limit.
    OutOfMemory(String),
    /// The hypervisor took more than 10 % of the block's CPU time.
    Steal(String),
    /// A service answered each attempt of a request with *again*, so that not the whole script was carried out.
    GivenUp(String),
}

impl Void {
    /// What is told of it; empty where its kind says all.
    pub fn detail(&self) -> &str {
        match self {
            Self::Stopped | Self::ClockJump => "",
            Self::ServiceDied(detail)
            | Self::OutOfMemory(detail)
            | Self::Steal(detail)
            | Self::GivenUp(detail) => detail,
        }
    }
}

/// One life of a variant in one block, with everything measured in it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TrialRecord {
    /// Block, from 0.
    pub block: u32,
    /// Batch within the block, from 0, by its number in the plan: the trials of a batch lived at the same time. The
    /// baseline has a trial in each; 0 where all variants fit into one.
    pub batch: u32,
    pub variant: VariantId,
    /// What the service said of itself.
    pub service: ServiceFacts,
    /// All windows in the order they ran, warm-up and lead-in included.
    pub windows: Vec<WindowRecord>,
    /// Histograms of the measured windows, one per point.
    pub tallies: Vec<Tallies>,
    /// Steps of a search for capacity in the order they ran, one list per point; empty where none is searched for.
    pub steps: Vec<Vec<StepRecord>>,
    /// Requests of the measured windows one by one, in the order in which they ended, of workloads whose sizes vary;
    /// empty for others.
    pub samples: Vec<Sample>,
    /// How it was put beside the others, one per point; [`Pairing::Windows`] where nothing is said.
    pub pairings: Vec<Pairing>,
    /// What was found before it was measured, one per point; empty in older records.
    pub preparations: Vec<Preparation>,
    pub memory: Vec<RoleMemory>,
    /// What was said of failed requests, in any of its windows; empty in older records.
    pub failures: Vec<FailedReplies>,
    /// Share of the machine's CPU time stolen by the hypervisor over the block, in parts of 1.
    pub steal: f64,
    /// CPU of the whole machine by role while the trial's batch was measured, the same in all trials of the batch; `None`
    /// where it was not to be had.
    pub machine: Option<MachineCpu>,
    /// Set where the trial must not be used.
    pub void: Option<Void>,
}

impl TrialRecord {
    /// Requests of measured windows at a point that are not among the samples, though others of the point are: of a
    /// workload without samples none are left out.
    pub fn samples_left_out(&self, point: PointId) -> u64 {
        let kept = self.samples.iter().filter(|sample| sample.is_measured(point)).count() as u64;
        if kept == 0 {
            return 0;
        }
        let is_measured =
            |window: &&WindowRecord| window.point == point && window.kind == WindowKind::Measured;
        let windows = self.windows.iter().filter(is_measured);
        let requests = windows.map(|window| window.figures.requests);
        // A record that was altered may say anything.
        requests.fold(0, u64::saturating_add).saturating_sub(kept)
    }

    /// The requests of each window that warmed the variant at a point.
    pub fn warm_up_requests(&self, point: PointId) -> Vec<u64> {
        let is_warm_up = |window: &&WindowRecord| window.point == point && window.kind == WindowKind::WarmUp;
        self.windows.iter().filter(is_warm_up).map(|window| window.figures.requests).collect()
    }

    /// The same of all points together.
    pub fn all_samples_left_out(&self) -> u64 {
        let points: BTreeSet<PointId> = self.samples.iter().map(|sample| sample.point).collect();
        points.into_iter().map(|point| self.samples_left_out(point)).fold(0, u64::saturating_add)
    }
}
