//! The workload `grpc`: its checked form, read from the file and written.
//!
//! Calls are known by name, messages as JSON. No `.proto` file is read here, and whether a method exists is
//! checked where the workload is bound to a variant, with the descriptors.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use toml::{Table, Value as Toml};

use super::{Equality, Spec, TextVisitor};
use crate::experiment::node::{Node, Read, Reader, Value, suggestion};
use crate::experiment::{read, write};
use crate::id::OperationId;
use crate::id::PointLabel;
use crate::quantity::Nanoseconds;

/// Where the descriptors of messages and methods come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum DescriptorSource {
    /// A `.proto` file, which is compiled first.
    Proto {
        /// The file, relative to the experiment's folder.
        file: String,
        /// Folders for imports, relative to the experiment's folder.
        include: Vec<String>,
    },
    /// The server's reflection service, asked before the run.
    Reflection,
    /// A compiled `FileDescriptorSet`; the other two are turned into this.
    Descriptors { base64: String },
}

/// The user's own calls over gRPC.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GrpcSpec {
    pub source: DescriptorSource,
    /// At least one.
    pub calls: Vec<CallSpec>,
    pub equal: Equality,
}

/// A call, which is one operation, or two if it returns a stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallSpec {
    pub name: String,
    /// `package.Service/Method`, without a leading slash.
    pub method: String,
    /// Which sides send a stream; `None` until the descriptors are known.
    pub kind: Option<CallKind>,
    /// Messages to send, in protobuf's JSON form; one for methods that take one.
    pub messages: Vec<Json>,
    /// Name and value, in order; a value `env:NAME` is read from the environment when the run starts.
    pub metadata: Vec<(String, String)>,
    /// The deadline that is sent to the server, if any.
    pub deadline: Option<Nanoseconds>,
    pub sending: MessageSending,
    /// Share of the mix, above zero.
    pub weight: f64,
    pub check: CallCheck,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CallKind {
    Unary,
    ServerStream,
    ClientStream,
    BidiStream,
}

/// When the messages of a client's stream are sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MessageSending {
    /// All at once, then the stream is closed.
    #[default]
    Together,
    /// The first at once, each further one after a reply message.
    Alternating,
}

/// Conditions for a good reply to a call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CallCheck {
    pub status: GrpcStatus,
    /// Exactly this many messages. `None`: one for a single reply, any number for a stream.
    pub messages: Option<u64>,
    /// JSON pointers (RFC 6901) with the expected values, in the message or in the list of a stream's
    /// messages.
    pub json: Vec<(String, Json)>,
}

/// A call with a stream in either direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallStream {
    pub operation: OperationId,
    /// The operation for the messages of its reply, if that is a stream.
    pub replies: Option<OperationId>,
    pub sent: u64,
}

impl CallStream {
    pub(super) fn from_calls(calls: &[CallSpec]) -> Vec<Self> {
        let mut operation = 0;
        let mut streams = Vec::new();
        for call in calls {
            let replies = call.message_operation().map(|_| OperationId(operation + 1));
            if call.kind.is_some_and(|kind| kind != CallKind::Unary) {
                let sent = call.messages.len() as u64;
                streams.push(Self { operation: OperationId(operation), replies, sent });
            }
            operation += 1 + u16::from(replies.is_some());
        }
        streams
    }
}

/// A gRPC status code, 0 to 16.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GrpcStatus(u8);

const STATUS_NAMES: [&str; 17] = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];

impl GrpcStatus {
    pub const OK: Self = Self(0);
    pub const NOT_FOUND: Self = Self(5);
    pub const UNIMPLEMENTED: Self = Self(12);

    pub fn from_number(number: u64) -> Option<Self> {
        u8::try_from(number).ok().filter(|n| usize::from(*n) < STATUS_NAMES.len()).map(Self)
    }

    /// Parses a name such as `NOT_FOUND`, or a number.
    pub fn parse(text: &str) -> Result<Self, String> {
        let by_name = STATUS_NAMES.iter().position(|name| *name == text).map(|number| number as u64);
        let found = by_name.or_else(|| text.parse().ok()).and_then(Self::from_number);
        found.ok_or_else(|| {
            format!("`{text}` is no status of gRPC, 0 to 16{}", suggestion(text, &STATUS_NAMES))
        })
    }

    pub const fn number(self) -> u8 {
        self.0
    }

    pub fn name(self) -> &'static str {
        STATUS_NAMES[usize::from(self.0)]
    }
}

impl fmt::Display for GrpcStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.0, self.name())
    }
}

impl CallKind {
    pub const ALL: [Self; 4] = [Self::Unary, Self::ServerStream, Self::ClientStream, Self::BidiStream];

    /// The kind of a method, from how many messages each side sends.
    pub const fn from_sides(client: Side, server: Side) -> Self {
        match (client, server) {
            (Side::One, Side::One) => Self::Unary,
            (Side::One, Side::Stream) => Self::ServerStream,
            (Side::Stream, Side::One) => Self::ClientStream,
            (Side::Stream, Side::Stream) => Self::BidiStream,
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Unary => "unary",
            Self::ServerStream => "server-stream",
            Self::ClientStream => "client-stream",
            Self::BidiStream => "bidi-stream",
        }
    }

    pub const fn client(self) -> Side {
        match self {
            Self::Unary | Self::ServerStream => Side::One,
            Self::ClientStream | Self::BidiStream => Side::Stream,
        }
    }

    pub const fn server(self) -> Side {
        match self {
            Self::Unary | Self::ClientStream => Side::One,
            Self::ServerStream | Self::BidiStream => Side::Stream,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    One,
    Stream,
}

impl CallSpec {
    /// A call of `method` with one empty message, checked for the status OK only.
    pub fn new(method: &str) -> Self {
        Self {
            name: short_name(method),
            method: method.to_owned(),
            kind: None,
            messages: vec![Json::Object(serde_json::Map::new())],
            metadata: Vec::new(),
            deadline: None,
            sending: MessageSending::default(),
            weight: 1.0,
            check: CallCheck::default(),
        }
    }

    /// Service and method of `package.Service/Method`.
    pub fn service_and_method(&self) -> (&str, &str) {
        self.method.rsplit_once('/').unwrap_or((&self.method, ""))
    }

    /// The operation for times between messages of its reply, if that is a stream.
    pub fn message_operation(&self) -> Option<String> {
        let streams = self.kind.is_some_and(|kind| kind.server() == Side::Stream);
        streams.then(|| format!("{} message", self.name))
    }

    /// Its operations: the call, then that of its messages if there is one.
    pub(super) fn operations(&self) -> impl Iterator<Item = String> {
        [self.name.clone()].into_iter().chain(self.message_operation())
    }
}

/// Parses `package.Service/Method`, with or without a leading slash.
pub fn parse_method(text: &str) -> Result<String, String> {
    let method = text.strip_prefix('/').unwrap_or(text);
    let word = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'.')
    };
    match method.split_once('/') {
        Some((service, name)) if word(service) && word(name) && !name.contains('.') => Ok(method.to_owned()),
        _ => Err(format!("`{text}` is not a method; write `package.Service/Method`")),
    }
}

/// `Service/Method`, without the package.
fn short_name(method: &str) -> String {
    let start = method.split('/').next().unwrap_or_default().rfind('.').map_or(0, |dot| dot + 1);
    method[start..].to_owned()
}

impl Spec for GrpcSpec {
    const NAME: &'static str = "grpc";

    fn read(reader: &Reader<'_>) -> Read<Self> {
        let source = source(reader)?;
        let equal = super::equality(reader)?;
        let mut calls = Vec::new();
        for table in reader.tables("call")? {
            calls.push(call(table)?);
        }
        if calls.is_empty() {
            let message = "`workload.call` is missing; write `[[workload.call]]` with `method = \"package.Service/Method\"`, once for each";
            return Err(reader.error(reader.line(), message));
        }
        let mut names = BTreeSet::new();
        for name in calls.iter().flat_map(CallSpec::operations) {
            if !names.insert(name.clone()) {
                let message =
                    format!("two operations are named `{name}`; give each call a `name` of its own");
                return Err(reader.error(reader.line(), message));
            }
        }
        Ok(Self { source, calls, equal })
    }

    fn write(&self, table: &mut Table) {
        match &self.source {
            DescriptorSource::Proto { file, include } => {
                table.insert("proto".into(), file.clone().into());
                table.insert(
                    "include".into(),
                    include.iter().cloned().map(Toml::from).collect::<Vec<_>>().into(),
                );
            }
            DescriptorSource::Reflection => {
                table.insert("reflection".into(), true.into());
            }
            DescriptorSource::Descriptors { base64 } => {
                table.insert("descriptors".into(), base64.clone().into());
            }
        }
        table.insert("equal".into(), self.equal.name().into());
        table.insert("call".into(), self.calls.iter().map(write_call).collect::<Vec<Toml>>().into());
    }

    fn operations(&self) -> Vec<String> {
        self.calls.iter().flat_map(CallSpec::operations).collect()
    }

    fn first_operations(&self) -> Vec<(OperationId, String)> {
        let messages: Vec<String> = self.calls.iter().filter_map(CallSpec::message_operation).collect();
        let numbered = (0..).map(OperationId).zip(self.operations());
        numbered.filter(|(_, name)| !messages.contains(name)).collect()
    }

    fn words(&self) -> String {
        match &self.calls[..] {
            [call] => format!("grpc, {}", call.method),
            calls => format!("grpc, {} kinds of call", calls.len()),
        }
    }

    fn streams(&self) -> Vec<CallStream> {
        CallStream::from_calls(&self.calls)
    }

    fn visit_texts(&mut self, visitor: &mut dyn TextVisitor) {
        let metadata = self.calls.iter_mut().flat_map(|call| &mut call.metadata);
        metadata.for_each(|(name, value)| visitor.named(name, value));
    }

    /// Refuses a matrix over keys that are stored in another form than they were written.
    fn check_label(&self, label: &PointLabel) -> Result<(), String> {
        let varied = |key: &&String| {
            key.starts_with("workload.") && *key != "workload.equal" && *key != "workload.name"
        };
        match label.keys().find(varied) {
            None => Ok(()),
            Some(key) => Err(format!(
                "`matrix.{key}`: of a `grpc` workload a matrix can only vary `equal`; write one experiment for each value"
            )),
        }
    }
}

fn source(reader: &Reader<'_>) -> Read<DescriptorSource> {
    let proto = reader.text("proto")?;
    let include = reader.value("include", |node| match &node.value {
        Value::List(items) => Ok(items.iter().map(Node::show).collect::<Vec<_>>()),
        _ => Err(format!("`{}` must be a list of folders", node.show())),
    })?;
    let reflection = reader.boolean("reflection")?.unwrap_or(false);
    let descriptors = reader.text("descriptors")?;
    if include.is_some() && proto.is_none() {
        return Err(reader.error(reader.line(), "`workload.include` belongs to `workload.proto`"));
    }
    match (proto, reflection, descriptors) {
        (Some(file), false, None) => {
            Ok(DescriptorSource::Proto { file, include: include.unwrap_or_default() })
        }
        (None, true, None) => Ok(DescriptorSource::Reflection),
        (None, false, Some(base64)) => Ok(DescriptorSource::Descriptors { base64 }),
        _ => Err(reader.error(
            reader.line(),
            "a `grpc` workload needs exactly one of `proto = \"file.proto\"`, `reflection = true` and `descriptors`",
        )),
    }
}

fn call(reader: Reader<'_>) -> Read<CallSpec> {
    let Some(method) = reader.value("method", |node| parse_method(&node.show()))? else {
        let message = "`workload.call.method` is missing; write `method = \"package.Service/Method\"`";
        return Err(reader.error(reader.line(), message));
    };
    let kinds = CallKind::ALL.map(|kind| (kind.name(), kind));
    let sendings = [("together", MessageSending::Together), ("alternating", MessageSending::Alternating)];
    let call = CallSpec {
        name: reader.name("name")?.unwrap_or_else(|| short_name(&method)),
        kind: reader.choice("kind", &kinds)?,
        messages: messages(&reader)?,
        metadata: metadata(&reader)?,
        deadline: read::positive_time(&reader, "deadline")?,
        sending: reader.choice("sending", &sendings)?.unwrap_or_default(),
        weight: read::weight(&reader)?,
        check: match reader.table("check")? {
            Some(table) => check(table)?,
            None => CallCheck::default(),
        },
        method,
    };
    reader.finish()?;
    Ok(call)
}

fn messages(reader: &Reader<'_>) -> Read<Vec<Json>> {
    let one = reader.value("message", |node| Ok(node.clone()))?;
    let many = reader.value("messages", |node| match &node.value {
        Value::List(items) => Ok(items.clone()),
        _ => Err("must be a list of messages".to_owned()),
    })?;
    match (one, many) {
        (Some(_), Some(_)) => Err(reader.error(
            reader.line(),
            "`workload.call.message` and `workload.call.messages` cannot stand together",
        )),
        (Some(node), None) => Ok(vec![message(reader, &node, "message")?]),
        (None, Some(nodes)) => nodes.iter().map(|node| message(reader, node, "messages")).collect(),
        (None, None) => Ok(vec![Json::Object(serde_json::Map::new())]),
    }
}

/// A message as a table, or as text that holds JSON.
fn message(reader: &Reader<'_>, node: &Node, key: &str) -> Read<Json> {
    let value = match &node.value {
        Value::Text(text) => serde_json::from_str(text).map_err(|e| (node.line, format!("is not JSON: {e}"))),
        _ => read::json_value(node),
    };
    value.map_err(|(line, message)| reader.error(line, format!("`{}`: {message}", reader.full_key(key))))
}

fn metadata(reader: &Reader<'_>) -> Read<Vec<(String, String)>> {
    let metadata = read::pairs(reader, "metadata")?;
    let reserved = |name: &str| {
        let name = name.to_ascii_lowercase();
        name.starts_with("grpc-") || name.starts_with(':') || name == "te"
    };
    match metadata.iter().find(|(name, _)| reserved(name)) {
        None => Ok(metadata),
        Some((name, _)) => {
            let message = format!(
                "`workload.call.metadata`: `{name}` is gRPC's own; leave it out (`deadline` sets `grpc-timeout`)"
            );
            Err(reader.error(reader.line(), message))
        }
    }
}

fn check(reader: Reader<'_>) -> Read<CallCheck> {
    let check = CallCheck {
        status: reader.value("status", |node| GrpcStatus::parse(&node.show()))?.unwrap_or_default(),
        messages: reader.integer("messages", 0, i64::MAX as u64)?,
        json: read::json_conditions(&reader)?,
    };
    reader.finish()?;
    Ok(check)
}

fn write_call(call: &CallSpec) -> Toml {
    let mut table = Table::new();
    table.insert("name".into(), call.name.clone().into());
    table.insert("method".into(), call.method.clone().into());
    if let Some(kind) = call.kind {
        table.insert("kind".into(), kind.name().into());
    }
    // Messages are stored as text, since TOML has no null and a narrower range of numbers.
    let messages: Vec<Toml> = call.messages.iter().map(|message| message.to_string().into()).collect();
    table.insert("messages".into(), messages.into());
    table.insert("metadata".into(), write::pairs(&call.metadata).into());
    if let Some(deadline) = call.deadline {
        table.insert("deadline".into(), write::time(deadline));
    }
    let sending = match call.sending {
        MessageSending::Together => "together",
        MessageSending::Alternating => "alternating",
    };
    table.insert("sending".into(), sending.into());
    table.insert("weight".into(), call.weight.into());
    let mut check = Table::new();
    check.insert("status".into(), call.check.status.name().into());
    if let Some(messages) = call.check.messages {
        check.insert("messages".into(), i64::try_from(messages).unwrap_or(i64::MAX).into());
    }
    if !call.check.json.is_empty() {
        check.insert("json".into(), write::json_conditions(&call.check.json).into());
    }
    table.insert("check".into(), check.into());
    table.into()
}
