//! Workloads: one file each, with its specification and its keys, read and written.
//!
//! No other code distinguishes workloads: what others need to know, each workload provides by functions of
//! [`WorkloadSpec`]. A new one is a file with a [`Spec`] and a row of `workloads!`. The crate `workload`
//! binds it to a protocol and knows what a good reply is.

pub(super) mod cache;
pub(super) mod commands;
pub(super) mod grpc;
pub(super) mod http;
pub(super) mod person;
pub(super) mod person_client;
pub(super) mod pingpong;
pub(super) mod scenario;
pub(super) mod sizes;
pub(super) mod trade;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use toml::Table;

use super::node::{Read, Reader};
use super::{Flow, LoadModel, LoadSpec, PlanRules, Profile, SessionLength, Target, Think, Variant};
use crate::id::{OperationId, PointLabel};
use crate::pairing::PairingChoice;
use crate::quantity::{Bytes, Nanoseconds};

pub use cache::{
    CacheMix, CacheOperation, CacheSpec, CacheStart, FbTail, KEY_MOST, LengthLaw, PopularShare, Popularity,
    REPLAY_MOST, ReplayFormat, ReplaySets, ReplaySpec, VALUE_MOST, WeightedLength,
};
pub use commands::{
    CommandCheck, CommandSpec, CommandsSpec, Presence, RespSetup, RespVersion, ValueSpec, split_words,
};
pub use grpc::{
    CallCheck, CallKind, CallSpec, CallStream, DescriptorSource, GrpcSpec, GrpcStatus, MessageSending, Side,
    parse_method,
};
pub use http::{HttpSpec, ReplyCheck, RequestSpec};
pub use person::{PEOPLE, PersonIds, PersonOperation, PersonSpec};
pub use person_client::PersonClientSpec;
pub use pingpong::{PingpongOperation, PingpongSpec};
pub use scenario::{
    DataSpec, Extract, ExtractFrom, RowOrder, SESSION_LONGEST, Scenario, SessionPlan, SessionSpec,
    VALUE_LONGEST, ValueError, check_columns,
};
pub use sizes::{SizeCount, SizeSpread, Sizes, Spacing};
pub use trade::{
    Grain, Prices, SESSIONS_MOST, SKEW_MOST, STOCKS_MOST, ScriptSize, TradeOperation, TradeSpec,
};

/// The list of workloads, one row each. It defines the enum, and `each_workload!`, which evaluates an
/// expression for the specification of any workload.
macro_rules! workloads {
    ($dollar:tt $($(#[$doc:meta])* $arm:ident($spec:ident),)+) => {
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case", tag = "name")]
        pub enum WorkloadSpec {
            $($(#[$doc])* $arm($spec),)+
        }

        /// Names of all workloads, with their readers.
        const KINDS: &[(&str, ReadWorkload)] =
            &[$(($spec::NAME, |reader| $spec::read(reader).map(WorkloadSpec::$arm))),+];

        $(impl From<$spec> for WorkloadSpec {
            fn from(spec: $spec) -> Self {
                Self::$arm(spec)
            }
        })+

        /// Evaluates an expression for the specification of any workload.
        #[macro_export]
        macro_rules! each_workload {
            ($dollar workload:expr, $dollar spec:ident => $dollar value:expr) => {
                match $dollar workload {
                    $($dollar crate::experiment::WorkloadSpec::$arm($dollar spec) => $dollar value,)+
                }
            };
        }
    };
}

workloads! {
    $
    /// `GET /pong/{n}`: fetch n bytes, directly or through a relay.
    Pingpong(PingpongSpec),
    Http(HttpSpec),
    /// Values under keys, over HTTP and the protocols of memcached and Redis.
    Cache(CacheSpec),
    Commands(CommandsSpec),
    /// The user's own calls over gRPC.
    Grpc(GrpcSpec),
    /// Persons and their links, over every framing and codec.
    Person(PersonSpec),
    /// The same calls by the client of a relay.
    PersonClient(PersonClientSpec),
    /// Scripted sessions of a brokerage.
    Trade(TradeSpec),
}

type ReadWorkload = fn(&Reader<'_>) -> Read<WorkloadSpec>;

/// What each workload provides. Default functions suit most workloads.
trait Spec: Sized + Clone {
    const NAME: &'static str;
    /// The workload of the peer, if it can be asked of a relay.
    const PEER: Option<&'static str> = None;

    /// Reads the keys of `[workload]` but `name`.
    fn read(reader: &Reader<'_>) -> Read<Self>;

    /// Adds every key but `name`.
    fn write(&self, table: &mut Table);

    /// Names of the operations, in the order of [`OperationId`].
    fn operations(&self) -> Vec<String>;

    /// A short description: `pingpong 64 B`.
    fn words(&self) -> String;

    fn first_operations(&self) -> Vec<(OperationId, String)> {
        (0..).map(OperationId).zip(self.operations()).collect()
    }

    fn session_length(&self) -> f64 {
        1.0
    }

    fn composition(&self) -> Option<(OperationId, Vec<Part<Self>>)> {
        None
    }

    /// Whether a session may have several requests.
    fn has_long_sessions(&self) -> bool {
        false
    }

    /// Whether a reply may lead to a request that the load does not have.
    fn leads_to_more(&self) -> bool {
        false
    }

    /// Whether a server remembers what it was sent, so that replies depend on all requests before.
    fn is_stateful(&self) -> bool {
        false
    }

    /// Whether what a server remembers changes with time alone, also while it is frozen.
    fn ages(&self) -> bool {
        false
    }

    /// The sessions of a script of which each window is a whole passage, from a server as it was at first; `None` where
    /// windows are as long as they should be.
    fn sessions_of_a_passage(&self) -> Option<u32> {
        None
    }

    /// `None` without a script.
    fn script_operations(&self) -> Option<ScriptOperations> {
        None
    }

    /// `None` if every variant is asked alike.
    fn for_variant(&self, _variant: &Variant) -> Option<WorkloadSpec> {
        None
    }

    fn streams(&self) -> Vec<CallStream> {
        Vec::new()
    }

    fn offered_as(&self, _variant: &Variant) -> Option<&'static str> {
        None
    }

    fn listed_sizes(&self) -> &[Bytes] {
        &[]
    }

    fn spread(&self) -> Option<&SizeSpread> {
        None
    }

    fn keeps_samples(&self) -> bool {
        false
    }

    fn data_files(&mut self) -> &mut [DataSpec] {
        &mut []
    }

    /// The specification if its requests come from a trace.
    fn replaying(&mut self) -> Option<&mut CacheSpec> {
        None
    }

    /// The specification if its script is in files.
    fn scripted(&mut self) -> Option<&mut TradeSpec> {
        None
    }

    fn visit_texts(&mut self, _visitor: &mut dyn TextVisitor) {}

    fn set_seed(&mut self, _seed: u64) {}

    /// Errors: in words, why a point with this label could not be read again once stored.
    fn check_label(&self, _label: &PointLabel) -> Result<(), String> {
        Ok(())
    }

    /// Errors: in words, why one of these variants cannot answer it.
    fn check_variants(&self, variants: &[Variant]) -> Result<(), String> {
        refuse_peers(variants, Self::NAME)
    }

    /// Errors: why a service cannot carry it out in its own process.
    fn check_direct(&self) -> Result<(), &'static str> {
        Err("the workloads that it carries are `pingpong` and `trade`")
    }
}

/// What an operation that is a session calls, and how often.
#[derive(Debug, Clone, PartialEq)]
pub struct Part<S> {
    /// The workload that has these calls alone.
    pub alone: S,
    pub times: u32,
}

/// What the operations of a workload that plays a script are in terms of the script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptOperations {
    pub actions: Vec<ActionOperation>,
    /// Those that are requests; others are actions of several.
    pub requests: Vec<OperationId>,
    /// That of attempts that were answered *again*.
    pub again: OperationId,
}

/// An action of a script, by the operation that has its times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActionOperation {
    pub name: &'static str,
    pub operation: OperationId,
    pub counted: ActionCounting,
}

/// How often an action was carried out, where its operation may be a part of other actions, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActionCounting {
    /// As often as its operation.
    Alone,
    /// This operation has it once as a part.
    Beside(OperationId),
    /// Another has it any number of times; it is the rest of all actions.
    Rest,
}

fn refuse_peers(variants: &[Variant], workload: &str) -> Result<(), String> {
    match variants.iter().find(|variant| variant.peer.is_some()) {
        None => Ok(()),
        Some(variant) => Err(format!(
            "variant `{}`: `peer` belongs to the workloads `pingpong` and `person-client`, and this one is `{workload}`; leave it out",
            variant.name
        )),
    }
}

/// Whether it is a service without a peer. Whether a `command` or a `url` passes requests on is not known.
fn has_no_peer(variant: &Variant) -> bool {
    matches!(variant.target, Target::Service { .. }) && variant.peer.is_none()
}

/// Visits every text of a workload that may contain a secret.
pub trait TextVisitor {
    /// A value with a name, such as a header's or a metadata field's.
    fn named(&mut self, name: &str, value: &mut String);
    /// A text that may contain `name=value`.
    fn text(&mut self, text: &mut String);
    /// The same as bytes.
    fn bytes(&mut self, bytes: &mut Vec<u8>);
    /// A value that is always a secret.
    fn secret(&mut self, value: &mut String);
}

/// The longest time in which the sessions of a passage arrive.
const ARRIVING_MOST: Nanoseconds = Nanoseconds::from_secs(30);

/// Refuses a script's sessions that arrive otherwise than at one rate, or for too long.
fn check_arriving(sessions: u32, flow: &Flow) -> Result<(), String> {
    let Flow::Law { profile: Profile::Constant { rate }, .. } = flow else {
        return Err(
            "`load`: the sessions of a script arrive at one rate; use `sessions`, no `profile` or trace"
                .to_owned(),
        );
    };
    let takes = f64::from(sessions) / rate.get();
    if takes <= ARRIVING_MOST.as_secs_f64() {
        return Ok(());
    }
    Err(format!(
        "`load.sessions`: at {rate} the script's {sessions} sessions take {takes:.0} s to arrive, and a passage may take {ARRIVING_MOST} at most; use a smaller `workload.size`, or let more arrive"
    ))
}

impl WorkloadSpec {
    pub(super) fn read(reader: Reader<'_>) -> Read<Self> {
        let line = reader.line();
        let Some(read) = reader.choice("name", KINDS)? else {
            let names = KINDS.iter().map(|(name, _)| format!("`{name}`")).collect::<Vec<_>>().join(", ");
            return Err(reader.error(line, format!("`workload.name` is missing; allowed: {names}")));
        };
        let spec = read(&reader)?;
        reader.finish()?;
        Ok(spec)
    }

    pub(super) fn write(&self) -> Table {
        let mut table = Table::new();
        table.insert("name".into(), self.name().into());
        each_workload!(self, spec => spec.write(&mut table));
        table
    }

    pub fn name(&self) -> &'static str {
        fn name<S: Spec>(_spec: &S) -> &'static str {
            S::NAME
        }
        each_workload!(self, spec => name(spec))
    }

    /// The specification of `pingpong`, for records of ppbench, which has no other workload.
    pub const fn as_pingpong(&self) -> Option<&PingpongSpec> {
        match self {
            Self::Pingpong(spec) => Some(spec),
            _ => None,
        }
    }

    /// A short description: `pingpong 64 B`, `http, 3 kinds of request`.
    pub fn words(&self) -> String {
        each_workload!(self, spec => spec.words())
    }

    /// The workload as this variant is asked: with a peer it passes requests on, without one it answers them.
    pub fn for_variant(&self, variant: &Variant) -> Cow<'_, Self> {
        each_workload!(self, spec => spec.for_variant(variant)).map_or(Cow::Borrowed(self), Cow::Owned)
    }

    /// Whether a server remembers what it was sent, so that variants compare only after the same requests in the same
    /// order.
    pub fn is_stateful(&self) -> bool {
        each_workload!(self, spec => spec.is_stateful())
    }

    /// Whether what a server remembers changes with time alone, also while it is frozen.
    pub(super) fn ages(&self) -> bool {
        each_workload!(self, spec => spec.ages())
    }

    /// The sessions of its script, where each window is a whole passage of it.
    pub fn sessions_of_a_passage(&self) -> Option<u32> {
        each_workload!(self, spec => spec.sessions_of_a_passage())
    }

    /// What its operations are in terms of its script; `None` if it plays none.
    pub fn script_operations(&self) -> Option<ScriptOperations> {
        each_workload!(self, spec => spec.script_operations())
    }

    /// Refuses what does not go with windows that are whole passages of a script.
    pub(super) fn check_passages(
        &self,
        load: &LoadSpec,
        plan: &PlanRules,
        is_capacity: bool,
    ) -> Result<(), String> {
        let Some(sessions) = self.sessions_of_a_passage() else { return Ok(()) };
        let name = self.name();
        if is_capacity {
            return Err(format!(
                "`[capacity]`: windows of `{name}` are whole passages of its script, which no rate can change; leave `capacity` out"
            ));
        }
        let is_allowed = match &load.model {
            LoadModel::Closed => true,
            LoadModel::Open { .. } => false,
            LoadModel::PartlyOpen { flow, length } => {
                check_arriving(sessions, flow)?;
                *length == SessionLength::Workload
            }
        };
        if !is_allowed || load.think != Think::None {
            return Err(format!(
                "`load`: windows of `{name}` are whole passages of its script; allowed is `closed` load, or `partly-open` with `length = \"workload\"`, each without `think`"
            ));
        }
        if load.slots() > u64::from(sessions) {
            return Err(format!(
                "`load`: {} requests at once are more than the script's {sessions} sessions, each of which has one at a time; use fewer connections, or a larger `workload.size`",
                load.slots()
            ));
        }
        if plan.window.is_some() {
            return Err(format!(
                "`plan.window`: windows of `{name}` are whole passages of its script, and take as long as those; leave it out, or change `workload.size`"
            ));
        }
        match plan.pairing {
            PairingChoice::Auto | PairingChoice::Windows => Ok(()),
            other => Err(format!(
                "`plan.pairing`: windows of `{name}` are whole passages of its script, and `{}` has none; use `windows`, or leave `pairing` out",
                other.name()
            )),
        }
    }

    /// The workload that the peer of a relay runs.
    pub fn peer_workload(&self) -> Option<&'static str> {
        fn peer<S: Spec>(_spec: &S) -> Option<&'static str> {
            S::PEER
        }
        each_workload!(self, spec => peer(spec))
    }

    /// Names of the operations, in the order of [`OperationId`].
    pub fn operations(&self) -> Vec<String> {
        each_workload!(self, spec => spec.operations())
    }

    /// The operations with which a session can begin, without those for times between messages.
    pub fn first_operations(&self) -> Vec<(OperationId, String)> {
        each_workload!(self, spec => spec.first_operations())
    }

    /// Mean number of requests in the workload's own sessions.
    pub fn session_length(&self) -> f64 {
        each_workload!(self, spec => spec.session_length())
    }

    /// The operation that is a session with a time of its own, and its parts, if they can be measured alone.
    pub fn composition(&self) -> Option<(OperationId, Vec<Part<Self>>)> {
        each_workload!(self, spec => {
            let (operation, parts) = spec.composition()?;
            let parts = parts.into_iter();
            Some((operation, parts.map(|part| Part { alone: part.alone.into(), times: part.times }).collect()))
        })
    }

    /// The calls with a stream in either direction, in order; empty until the kinds of calls are known.
    pub fn streams(&self) -> Vec<CallStream> {
        each_workload!(self, spec => spec.streams())
    }

    /// The name of this workload in a service's list of what it offers; `None` if the requests are the user's
    /// own, which any service may have.
    pub fn offered_as(&self, variant: &Variant) -> Option<&'static str> {
        each_workload!(self, spec => spec.offered_as(variant))
    }

    /// The requested sizes, if they are a list.
    pub fn listed_sizes(&self) -> &[Bytes] {
        each_workload!(self, spec => spec.listed_sizes())
    }

    /// The range of the requested sizes, if they are spread over one.
    pub fn spread(&self) -> Option<&SizeSpread> {
        each_workload!(self, spec => spec.spread())
    }

    /// The smallest and the largest requested size; `None` without sizes.
    pub fn size_range(&self) -> Option<(Bytes, Bytes)> {
        let listed = self.listed_sizes();
        let of_list = || listed.iter().min().copied().zip(listed.iter().max().copied());
        self.spread().map(|spread| (spread.min, spread.max)).or_else(of_list)
    }

    /// Whether samples are kept: for sizes over a range, and if a relay reports its own calls.
    pub fn keeps_samples(&self) -> bool {
        each_workload!(self, spec => spec.keeps_samples())
    }

    pub fn data_files(&mut self) -> &mut [DataSpec] {
        each_workload!(self, spec => spec.data_files())
    }

    /// The specification of a cache whose requests come from a trace; `None` for all others.
    pub fn replaying(&mut self) -> Option<&mut CacheSpec> {
        each_workload!(self, spec => spec.replaying())
    }

    /// The specification of a brokerage whose script is in files; `None` for all others.
    pub fn scripted(&mut self) -> Option<&mut TradeSpec> {
        each_workload!(self, spec => spec.scripted())
    }

    pub fn visit_texts(&mut self, visitor: &mut dyn TextVisitor) {
        each_workload!(self, spec => spec.visit_texts(visitor));
    }

    pub(super) fn set_seed(&mut self, seed: u64) {
        each_workload!(self, spec => spec.set_seed(seed));
    }

    pub(super) fn check_label(&self, label: &PointLabel) -> Result<(), String> {
        each_workload!(self, spec => spec.check_label(label))
    }

    pub(super) fn check_variants(&self, variants: &[Variant]) -> Result<(), String> {
        let keeps_records = matches!(self, Self::Trade(_));
        let key_of = |variant: &Variant| match (variant.database, variant.base) {
            (Some(_), _) => Some("database"),
            (None, base) => base.map(|_| "base"),
        };
        let mut keys = variants.iter().filter_map(|variant| Some((&variant.name, key_of(variant)?)));
        if let (false, Some((name, key))) = (keeps_records, keys.next()) {
            return Err(format!(
                "variant `{name}`: `{key}` belongs to the workload `{}`, and this one is `{}`; leave it out",
                TradeSpec::NAME,
                self.name()
            ));
        }
        each_workload!(self, spec => spec.check_variants(variants))
    }

    pub(super) fn check_direct(&self) -> Result<(), &'static str> {
        each_workload!(self, spec => spec.check_direct())
    }

    /// Refuses sessions of several requests in open load, where single requests arrive: how far a session
    /// gets would depend on how fast its server replies.
    pub(super) fn check_arrivals(&self, load: &LoadSpec) -> Result<(), String> {
        let has_long_sessions = each_workload!(self, spec => spec.has_long_sessions());
        if has_long_sessions && matches!(load.model, LoadModel::Open { .. }) {
            return Err("`load.model`: in `open` load single requests arrive, and the workload has sessions of several; write `model = \"partly-open\"` with `sessions` and `length = \"workload\"`".to_owned());
        }
        let leads_to_more = each_workload!(self, spec => spec.leads_to_more());
        let has_pauses = load.think != Think::None || matches!(load.model, LoadModel::PartlyOpen { .. });
        if leads_to_more && has_pauses {
            return Err("`load`: with `workload.refill` slots wait for the backend, and neither think nor stay in sessions; leave `think` out, and use `closed` or `open` load, or write `refill = false`".to_owned());
        }
        Ok(())
    }
}

/// What must agree between the variants' answers before timing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Equality {
    #[default]
    Status,
    /// Status and body length.
    Length,
    /// Status and body as a JSON value.
    Json,
    /// Status and body bytes.
    Bytes,
}

impl Equality {
    const ALL: [Self; 4] = [Self::Status, Self::Length, Self::Json, Self::Bytes];

    const fn name(self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::Length => "length",
            Self::Json => "json",
            Self::Bytes => "bytes",
        }
    }
}

fn equality(reader: &Reader<'_>) -> Read<Equality> {
    let words = Equality::ALL.map(|equal| (equal.name(), equal));
    Ok(reader.choice("equal", &words)?.unwrap_or_default())
}
