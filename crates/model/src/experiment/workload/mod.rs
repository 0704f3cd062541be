//! What sessions ask: one file a workload, with its specification and its keys, read and written.
//!
//! Nobody else asks which workload it is: what others need to know each says of itself ([`WorkloadSpec`]'s functions). A new
//! one is a file with a [`Spec`], an arm of [`WorkloadSpec`] and one of `each!`. How it is bound to a protocol, and what a
//! good reply is, the crate `workload` knows.

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
use super::{
    CallStream, CommandsSpec, DataSpec, GrpcSpec, HttpSpec, LoadModel, LoadSpec, PingpongSpec, SizeSpread,
    Variant,
};
use crate::id::{OperationId, PointLabel};
use crate::quantity::Bytes;

/// What sessions ask.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "name")]
pub enum WorkloadSpec {
    /// `GET /pong/{n}`: fetch n bytes, directly or through a relay.
    Pingpong(PingpongSpec),
    /// The user's own requests.
    Http(HttpSpec),
    /// Commands of memcached or Redis.
    Commands(CommandsSpec),
    /// The user's own calls over gRPC.
    Grpc(GrpcSpec),
}

/// Evaluates the same for the specification of every workload.
macro_rules! each {
    ($workload:expr, $spec:ident => $value:expr) => {
        match $workload {
            WorkloadSpec::Pingpong($spec) => $value,
            WorkloadSpec::Http($spec) => $value,
            WorkloadSpec::Commands($spec) => $value,
            WorkloadSpec::Grpc($spec) => $value,
        }
    };
}

/// How a workload is read from its table.
type ReadWorkload = fn(&Reader<'_>) -> Read<WorkloadSpec>;

/// Names of all workloads, and how each is read.
const KINDS: [(&str, ReadWorkload); 4] = [
    (PingpongSpec::NAME, |reader| PingpongSpec::read(reader).map(WorkloadSpec::Pingpong)),
    (HttpSpec::NAME, |reader| HttpSpec::read(reader).map(WorkloadSpec::Http)),
    (CommandsSpec::NAME, |reader| CommandsSpec::read(reader).map(WorkloadSpec::Commands)),
    (GrpcSpec::NAME, |reader| GrpcSpec::read(reader).map(WorkloadSpec::Grpc)),
];

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
        let Some(read) = reader.choice("name", &KINDS)? else {
            let names = KINDS.map(|(name, _)| format!("`{name}`")).join(", ");
            return Err(reader.error(line, format!("`workload.name` is missing; allowed: {names}")));
        };
        let spec = read(&reader)?;
        reader.finish()?;
        Ok(spec)
    }

    pub(super) fn write(&self) -> Table {
        let mut table = Table::new();
        table.insert("name".into(), self.name().into());
        each!(self, spec => spec.write(&mut table));
        table
    }

    /// The workload's name in TOML.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Pingpong(_) => PingpongSpec::NAME,
            Self::Http(_) => HttpSpec::NAME,
            Self::Commands(_) => CommandsSpec::NAME,
            Self::Grpc(_) => GrpcSpec::NAME,
        }
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
        each!(self, spec => spec.words())
    }

    /// What is asked of a variant: one with a peer passes bodies on.
    pub fn asked_of(&self, variant: &Variant) -> Cow<'_, Self> {
        macro_rules! asked {
            ($arm:ident, $spec:expr) => {
                match $spec.asked_of(variant) {
                    Cow::Borrowed(_) => Cow::Borrowed(self),
                    Cow::Owned(spec) => Cow::Owned(Self::$arm(spec)),
                }
            };
        }
        match self {
            Self::Pingpong(spec) => asked!(Pingpong, spec),
            Self::Http(spec) => asked!(Http, spec),
            Self::Commands(spec) => asked!(Commands, spec),
            Self::Grpc(spec) => asked!(Grpc, spec),
        }
    }

    /// Names of the operations, in the order of [`OperationId`].
    pub fn operations(&self) -> Vec<String> {
        each!(self, spec => spec.operations())
    }

    /// The operations that a session can begin with, with their numbers: none that hold times between messages.
    pub fn requested(&self) -> Vec<(OperationId, String)> {
        each!(self, spec => spec.requested())
    }

    /// Mean number of requests of the workload's own sessions.
    pub fn session_length(&self) -> f64 {
        each!(self, spec => spec.session_length())
    }

    /// The calls with a stream in either direction, in order; none before their kinds are known.
    pub fn streams(&self) -> Vec<CallStream> {
        each!(self, spec => spec.streams())
    }

    /// The name by which a service offers what is asked of this variant; `None` where the requests are the user's own, and
    /// ask whatever the service has.
    pub fn offered_as(&self, variant: &Variant) -> Option<&'static str> {
        each!(self, spec => spec.offered_as(variant))
    }

    /// The sizes that it asks for, where they are a list.
    pub fn listed_sizes(&self) -> &[Bytes] {
        each!(self, spec => spec.listed_sizes())
    }

    /// The range over which the sizes are spread that it asks for, where they are.
    pub fn spread(&self) -> Option<&SizeSpread> {
        each!(self, spec => spec.spread())
    }

    /// The smallest and the largest size that it asks for; `None` where it asks for none.
    pub fn size_range(&self) -> Option<(Bytes, Bytes)> {
        let listed = self.listed_sizes();
        let of_list = || listed.iter().min().copied().zip(listed.iter().max().copied());
        self.spread().map(|spread| (spread.min, spread.max)).or_else(of_list)
    }

    /// Whether single requests are kept: of sizes over a range, and where a relay tells of its own.
    pub fn keeps_requests(&self) -> bool {
        each!(self, spec => spec.keeps_requests())
    }

    /// The files of rows that it names.
    pub fn data_files(&mut self) -> &mut [DataSpec] {
        each!(self, spec => spec.data_files())
    }

    /// Shows every text in which a secret may stand.
    pub fn visit_texts(&mut self, visitor: &mut dyn TextVisitor) {
        each!(self, spec => spec.visit_texts(visitor));
    }

    pub(super) fn set_seed(&mut self, seed: u64) {
        each!(self, spec => spec.set_seed(seed));
    }

    pub(super) fn check_label(&self, label: &PointLabel) -> Result<(), String> {
        each!(self, spec => spec.check_label(label))
    }

    pub(super) fn check_variants(&self, variants: &[Variant]) -> Result<(), String> {
        each!(self, spec => spec.check_variants(variants))
    }

    pub(super) fn check_direct(&self) -> Result<(), &'static str> {
        each!(self, spec => spec.check_direct())
    }

    /// Refuses sessions of several requests where single requests arrive: which of them a session would have got on to
    /// depended on how fast its server replies.
    pub(super) fn check_arrivals(&self, load: &LoadSpec) -> Result<(), String> {
        let has_long_sessions = each!(self, spec => spec.has_long_sessions());
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
