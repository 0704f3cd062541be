//! What sessions ask: one file a workload, with its specification and its keys, read and written.
//!
//! Nobody else asks which workload it is: what others need to know each says of itself ([`WorkloadSpec`]'s functions). A new
//! one is a file with a [`Spec`] and a row of `workloads!`. How it is bound to a protocol, and what a good reply is, the
//! crate `workload` knows.

pub(super) mod commands;
pub(super) mod grpc;
pub(super) mod http;
pub(super) mod pingpong;
pub(super) mod scenario;
pub(super) mod sizes;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use toml::Table;

use super::node::{Read, Reader};
use super::{LoadModel, LoadSpec, Variant};
use crate::id::{OperationId, PointLabel};
use crate::quantity::Bytes;

pub use commands::{
    CommandCheck, CommandSpec, CommandsSpec, Presence, RespSetup, RespVersion, ValueSpec, split_words,
};
pub use grpc::{
    CallCheck, CallKind, CallSpec, CallStream, DescriptorSource, GrpcSpec, GrpcStatus, MessageSending, Side,
    parse_method,
};
pub use http::{HttpSpec, ReplyCheck, RequestSpec};
pub use pingpong::{PingpongOperation, PingpongSpec};
pub use scenario::{
    DataSpec, Extract, ExtractFrom, RowOrder, SESSION_LONGEST, Scenario, SessionPlan, SessionSpec,
    VALUE_LONGEST, ValueError, check_columns,
};
pub use sizes::{SizeCount, SizeSpread, Sizes, Spacing};

/// The list of workloads: one row each. It makes the enum, and `each_workload!`, which evaluates the same for the
/// specification of whichever workload it is.
macro_rules! workloads {
    ($dollar:tt $($(#[$doc:meta])* $arm:ident($spec:ident),)+) => {
        /// What sessions ask.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case", tag = "name")]
        pub enum WorkloadSpec {
            $($(#[$doc])* $arm($spec),)+
        }

        /// Names of all workloads, and how each is read.
        const KINDS: &[(&str, ReadWorkload)] =
            &[$(($spec::NAME, |reader| $spec::read(reader).map(WorkloadSpec::$arm))),+];

        $(impl From<$spec> for WorkloadSpec {
            fn from(spec: $spec) -> Self {
                Self::$arm(spec)
            }
        })+

        /// Evaluates the same for the specification of whichever workload it is.
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
    /// The user's own requests.
    Http(HttpSpec),
    /// Commands of memcached or Redis.
    Commands(CommandsSpec),
    /// The user's own calls over gRPC.
    Grpc(GrpcSpec),
}

/// How a workload is read from its table.
type ReadWorkload = fn(&Reader<'_>) -> Read<WorkloadSpec>;

/// What a workload says of itself. Whatever is not said is as most workloads have it.
trait Spec: Sized + Clone {
    /// Its name in TOML.
    const NAME: &'static str;

    /// Reads the keys of `[workload]` but `name`.
    fn read(reader: &Reader<'_>) -> Read<Self>;

    /// Adds every key but `name`.
    fn write(&self, table: &mut Table);

    /// Names of the operations, in the order of [`OperationId`].
    fn operations(&self) -> Vec<String>;

    /// What is asked, in a few words: `pingpong 64 B`.
    fn words(&self) -> String;

    fn requested(&self) -> Vec<(OperationId, String)> {
        (0..).map(OperationId).zip(self.operations()).collect()
    }

    fn session_length(&self) -> f64 {
        1.0
    }

    /// Whether a session may be of several requests.
    fn has_long_sessions(&self) -> bool {
        false
    }

    fn asked_of(&self, _variant: &Variant) -> Cow<'_, Self> {
        Cow::Borrowed(self)
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

    fn keeps_requests(&self) -> bool {
        false
    }

    fn data_files(&mut self) -> &mut [DataSpec] {
        &mut []
    }

    fn visit_texts(&mut self, _visitor: &mut dyn TextVisitor) {}

    /// Takes over the seed of the plan.
    fn set_seed(&mut self, _seed: u64) {}

    /// Why a point with this label cannot be read again once it is stored.
    fn check_label(&self, _label: &PointLabel) -> Result<(), String> {
        Ok(())
    }

    /// Why it cannot be asked of one of these variants.
    fn check_variants(&self, variants: &[Variant]) -> Result<(), String> {
        match variants.iter().find(|variant| variant.peer.is_some()) {
            None => Ok(()),
            Some(variant) => Err(format!(
                "variant `{}`: `peer` belongs to the workload `pingpong`, and this one is `{}`; leave it out",
                variant.name,
                Self::NAME
            )),
        }
    }

    /// Why it cannot be carried out in a service's own process.
    fn check_direct(&self) -> Result<(), &'static str> {
        Err("the only workload that it carries is `pingpong`")
    }
}

/// Sees every text of a workload in which a secret may stand.
pub trait TextVisitor {
    /// A value that has a name: a header's, a field's of metadata.
    fn named(&mut self, name: &str, value: &mut String);
    /// A text in which `name=value` may stand.
    fn text(&mut self, text: &mut String);
    /// The same as bytes.
    fn bytes(&mut self, bytes: &mut Vec<u8>);
    /// A value that is a secret whatever it is called.
    fn secret(&mut self, value: &mut String);
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

    /// The workload's name in TOML.
    pub fn name(&self) -> &'static str {
        fn name<S: Spec>(_spec: &S) -> &'static str {
            S::NAME
        }
        each_workload!(self, spec => name(spec))
    }

    /// What `pingpong` asks, where it is that workload: for records of ppbench, which knows no other.
    pub const fn as_pingpong(&self) -> Option<&PingpongSpec> {
        match self {
            Self::Pingpong(spec) => Some(spec),
            _ => None,
        }
    }

    /// What is asked, in a few words: `pingpong 64 B`, `http, 3 kinds of request`.
    pub fn words(&self) -> String {
        each_workload!(self, spec => spec.words())
    }

    /// What is asked of a variant: one with a peer passes bodies on.
    pub fn asked_of(&self, variant: &Variant) -> Cow<'_, Self> {
        each_workload!(self, spec => match spec.asked_of(variant) {
            Cow::Borrowed(_) => Cow::Borrowed(self),
            Cow::Owned(spec) => Cow::Owned(spec.into()),
        })
    }

    /// Names of the operations, in the order of [`OperationId`].
    pub fn operations(&self) -> Vec<String> {
        each_workload!(self, spec => spec.operations())
    }

    /// The operations that a session can begin with, with their numbers: none that hold times between messages.
    pub fn requested(&self) -> Vec<(OperationId, String)> {
        each_workload!(self, spec => spec.requested())
    }

    /// Mean number of requests of the workload's own sessions.
    pub fn session_length(&self) -> f64 {
        each_workload!(self, spec => spec.session_length())
    }

    /// The calls with a stream in either direction, in order; none before their kinds are known.
    pub fn streams(&self) -> Vec<CallStream> {
        each_workload!(self, spec => spec.streams())
    }

    /// The name by which a service offers what is asked of this variant; `None` where the requests are the user's own, and
    /// ask whatever the service has.
    pub fn offered_as(&self, variant: &Variant) -> Option<&'static str> {
        each_workload!(self, spec => spec.offered_as(variant))
    }

    /// The sizes that it asks for, where they are a list.
    pub fn listed_sizes(&self) -> &[Bytes] {
        each_workload!(self, spec => spec.listed_sizes())
    }

    /// The range over which the sizes are spread that it asks for, where they are.
    pub fn spread(&self) -> Option<&SizeSpread> {
        each_workload!(self, spec => spec.spread())
    }

    /// The smallest and the largest size that it asks for; `None` where it asks for none.
    pub fn size_range(&self) -> Option<(Bytes, Bytes)> {
        let listed = self.listed_sizes();
        let of_list = || listed.iter().min().copied().zip(listed.iter().max().copied());
        self.spread().map(|spread| (spread.min, spread.max)).or_else(of_list)
    }

    /// Whether single requests are kept: of sizes over a range, and where a relay tells of its own.
    pub fn keeps_requests(&self) -> bool {
        each_workload!(self, spec => spec.keeps_requests())
    }

    /// The files of rows that it names.
    pub fn data_files(&mut self) -> &mut [DataSpec] {
        each_workload!(self, spec => spec.data_files())
    }

    /// Shows every text in which a secret may stand.
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
        each_workload!(self, spec => spec.check_variants(variants))
    }

    pub(super) fn check_direct(&self) -> Result<(), &'static str> {
        each_workload!(self, spec => spec.check_direct())
    }

    /// Refuses sessions of several requests where single requests arrive: which of them a session would have got on to
    /// depended on how fast its server replies.
    pub(super) fn check_arrivals(&self, load: &LoadSpec) -> Result<(), String> {
        let has_long_sessions = each_workload!(self, spec => spec.has_long_sessions());
        if has_long_sessions && matches!(load.model, LoadModel::Open { .. }) {
            return Err("`load.model`: in `open` load single requests arrive, and the workload has sessions of several; write `model = \"partly-open\"` with `sessions` and `length = \"workload\"`".to_owned());
        }
        Ok(())
    }
}

/// What must agree between variants before timing.
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

/// What must agree between variants.
fn equality(reader: &Reader<'_>) -> Read<Equality> {
    let words = Equality::ALL.map(|equal| (equal.name(), equal));
    Ok(reader.choice("equal", &words)?.unwrap_or_default())
}
