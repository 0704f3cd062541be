//! Server reflection: descriptors requested from the server itself, by `grpc.reflection.v1` first and by `v1alpha` if
//! the server lacks it.
//!
//! It builds the questions and parses the answers; the caller sends them, on a separate connection, before anything is
//! timed. It requests only the calls' services and the files that these import.

use std::collections::{BTreeMap, BTreeSet};

use prost::Message as _;
use prost_reflect::prost_types::FileDescriptorProto;
use protox::file::{FileResolver as _, GoogleFileResolver};
use weighbridge_load::Framing;
use weighbridge_load::exchange::{Collected, ExchangeError};
use weighbridge_load::request::{Call, RenderError, Rendered, Sending};
use weighbridge_model::experiment::{
    CallSpec, DescriptorSource, GrpcSpec, GrpcStatus, Protocol, WorkloadSpec, suggestion,
};
use weighbridge_model::id::OperationId;

use super::GrpcError;
use super::proto::{embedded, settle};
use crate::UrlScheme;
use crate::canonical::message_text;

/// Most files that a server may describe: more than any real service has, and too few to fill memory.
const FILES: usize = 10_000;

/// Paths of the versions of reflection, the preferred one first; their messages are the same on the wire.
const PATHS: [&str; 2] = [
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
];

/// Why a server's descriptors are unknown.
#[derive(Debug, thiserror::Error)]
pub enum ReflectionError {
    #[error("asking for descriptors: {0}")]
    Exchange(#[from] ExchangeError),
    #[error("asking for descriptors: {0}")]
    Render(#[from] RenderError),
    #[error("the server offers no reflection (grpc.reflection.v1 or v1alpha); give `proto = \"file.proto\"`")]
    Absent,
    #[error(
        "asking for descriptors ended with gRPC status {status}: {message}; give `proto = \"file.proto\"`"
    )]
    Status {
        /// Number and name.
        status: String,
        /// The server's message.
        message: String,
    },
    #[error("the server knows no service `{service}`{hint}")]
    Service {
        service: String,
        /// The nearest name and all names.
        hint: String,
    },
    #[error(
        "the server does not describe `{file}`, which others import: {message}; give `proto = \"file.proto\"`"
    )]
    File {
        file: String,
        /// The server's message.
        message: String,
    },
    #[error(
        "the server's reflection answers with something else than descriptors: {0}; give `proto = \"file.proto\"`"
    )]
    Foreign(String),
    #[error(transparent)]
    Grpc(#[from] GrpcError),
}

/// How a question is sent: one request, one whole reply.
pub type RoundTrip<'a> = dyn FnMut(&Framing, &Rendered) -> Result<Collected, ExchangeError> + 'a;

/// Whether a workload needs to ask the server before it can be bound.
pub fn is_needed(spec: &WorkloadSpec) -> bool {
    matches!(spec, WorkloadSpec::Grpc(spec) if spec.source == DescriptorSource::Reflection)
}

/// The workload with the server's descriptors; unchanged if it needs none. `framing` is the variant's.
pub fn resolve(
    spec: &WorkloadSpec,
    authority: &str,
    scheme: UrlScheme,
    ask: &mut RoundTrip<'_>,
) -> Result<WorkloadSpec, ReflectionError> {
    let mut spec = spec.clone();
    if let WorkloadSpec::Grpc(GrpcSpec { source, calls, .. }) = &mut spec
        && *source == DescriptorSource::Reflection
    {
        let framing = crate::framing(Protocol::GRPC, scheme);
        *source = Reflection { framing, authority, ask, path: PATHS[0] }.descriptors(calls)?;
        settle(source, calls)?;
    }
    Ok(spec)
}

/// A conversation with one server.
struct Reflection<'a, 'b> {
    framing: Framing,
    authority: &'a str,
    ask: &'a mut RoundTrip<'b>,
    path: &'static str,
}

impl Reflection<'_, '_> {
    /// The files of the calls' services and everything they import.
    fn descriptors(&mut self, calls: &[CallSpec]) -> Result<DescriptorSource, ReflectionError> {
        let services: BTreeSet<&str> = calls.iter().map(|call| call.service_and_method().0).collect();
        let mut files = Files::default();
        for service in services {
            match self.first_question(Question::Symbol(service.to_owned()))? {
                ReflectionAnswer::Files(found) => files.add(found)?,
                ReflectionAnswer::Error(_) => return Err(self.unknown(service)),
                ReflectionAnswer::Services(_) => return Err(foreign("a list of services")),
            }
        }
        while let Some(name) = files.missing() {
            match self.question(&Question::File(name.clone()))? {
                ReflectionAnswer::Files(found) => files.add(found)?,
                // A server may leave out files that every implementation has.
                ReflectionAnswer::Error(message) => match GoogleFileResolver::new().open_file(&name) {
                    Ok(file) => files.add(vec![file.file_descriptor_proto().encode_to_vec()])?,
                    Err(_) => return Err(ReflectionError::File { file: name, message }),
                },
                ReflectionAnswer::Services(_) => return Err(foreign("a list of services")),
            }
            if files.missing().as_ref() == Some(&name) {
                return Err(foreign(&format!("another file than `{name}`")));
            }
        }
        Ok(files.into_source())
    }

    /// A question that also finds out which version the server has.
    fn first_question(&mut self, question: Question) -> Result<ReflectionAnswer, ReflectionError> {
        for path in PATHS {
            self.path = path;
            match self.question(&question) {
                Err(ReflectionError::Absent) => {}
                answer => return answer,
            }
        }
        Err(ReflectionError::Absent)
    }

    fn unknown(&mut self, service: &str) -> ReflectionError {
        let names = match self.question(&Question::Services) {
            Ok(ReflectionAnswer::Services(names)) => names,
            _ => Vec::new(),
        };
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let hint = if names.is_empty() { String::new() } else { suggestion(service, &names) };
        ReflectionError::Service { service: service.to_owned(), hint }
    }

    fn question(&mut self, question: &Question) -> Result<ReflectionAnswer, ReflectionError> {
        let rendered = self.framing.render_call(&Call {
            path: self.path,
            authority: self.authority,
            metadata: &[],
            messages: &[question.encode(self.authority)],
            sending: Sending::Together,
            operation: OperationId(0),
            message_operation: None,
        })?;
        let reply = (self.ask)(&self.framing, &rendered)?;
        match reply.header("grpc-status").map(GrpcStatus::parse) {
            Some(Ok(GrpcStatus::OK)) => {}
            Some(Ok(GrpcStatus::UNIMPLEMENTED)) => return Err(ReflectionError::Absent),
            None if reply.status == 404 => return Err(ReflectionError::Absent),
            Some(Ok(status)) => {
                let message = message_text(reply.header("grpc-message").unwrap_or("no message"));
                // Some servers end the call instead of answering with an error message.
                return match status {
                    GrpcStatus::NOT_FOUND => Ok(ReflectionAnswer::Error(message)),
                    _ => Err(ReflectionError::Status { status: status.to_string(), message }),
                };
            }
            _ => return Err(foreign(&format!("HTTP status {} without a status of gRPC", reply.status))),
        }
        let Some(end) = reply.messages.first() else { return Err(foreign("no message")) };
        answer(&reply.body[..*end])
    }
}

fn foreign(what: &str) -> ReflectionError {
    ReflectionError::Foreign(what.to_owned())
}

/// A question to the server.
enum Question {
    Symbol(String),
    File(String),
    Services,
}

impl Question {
    fn encode(&self, host: &str) -> Vec<u8> {
        let request = match self {
            Self::Symbol(name) => wire::MessageRequest::FileContainingSymbol(name.clone()),
            Self::File(name) => wire::MessageRequest::FileByFilename(name.clone()),
            Self::Services => wire::MessageRequest::ListServices(String::new()),
        };
        wire::ReflectionRequest { host: host.to_owned(), message_request: Some(request) }.encode_to_vec()
    }
}

#[derive(Debug, PartialEq)]
enum ReflectionAnswer {
    /// Files, each a `FileDescriptorProto`.
    Files(Vec<Vec<u8>>),
    Services(Vec<String>),
    /// The server's message.
    Error(String),
}

fn answer(bytes: &[u8]) -> Result<ReflectionAnswer, ReflectionError> {
    let response = wire::Response::decode(bytes).map_err(|e| foreign(&e.to_string()))?;
    match response.message_response {
        Some(wire::MessageResponse::Files(files)) => Ok(ReflectionAnswer::Files(files.file_descriptor_proto)),
        Some(wire::MessageResponse::Services(list)) => {
            Ok(ReflectionAnswer::Services(list.service.into_iter().map(|service| service.name).collect()))
        }
        Some(wire::MessageResponse::Error(error)) => {
            Ok(ReflectionAnswer::Error(format!("{} (status {})", error.error_message, error.error_code)))
        }
        None => Err(foreign("an empty answer")),
    }
}

/// Files by name, as the server sent them: options that are extensions are left undecoded.
#[derive(Default)]
struct Files {
    bytes: BTreeMap<String, Vec<u8>>,
    wanted: BTreeSet<String>,
}

impl Files {
    fn add(&mut self, files: Vec<Vec<u8>>) -> Result<(), ReflectionError> {
        for bytes in files {
            let file = FileDescriptorProto::decode(&bytes[..]).map_err(|e| foreign(&e.to_string()))?;
            self.wanted.extend(file.dependency.iter().cloned());
            self.bytes.entry(file.name().to_owned()).or_insert(bytes);
            if self.bytes.len() > FILES || self.wanted.len() > FILES {
                return Err(foreign(&format!("more than {FILES} files")));
            }
        }
        Ok(())
    }

    /// A file that is imported and missing.
    fn missing(&self) -> Option<String> {
        self.wanted.iter().find(|name| !self.bytes.contains_key(*name)).cloned()
    }

    /// All of them as one `FileDescriptorSet`.
    fn into_source(self) -> DescriptorSource {
        embedded(&wire::Set { file: self.bytes.into_values().collect() }.encode_to_vec())
    }
}

/// The messages of `grpc/reflection/v1/reflection.proto`, as far as they are used.
mod wire {
    /// `ServerReflectionRequest`.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct ReflectionRequest {
        #[prost(string, tag = "1")]
        pub host: String,
        #[prost(oneof = "MessageRequest", tags = "3, 4, 7")]
        pub message_request: Option<MessageRequest>,
    }

    #[derive(Clone, PartialEq, prost::Oneof)]
    pub enum MessageRequest {
        #[prost(string, tag = "3")]
        FileByFilename(String),
        #[prost(string, tag = "4")]
        FileContainingSymbol(String),
        #[prost(string, tag = "7")]
        ListServices(String),
    }

    /// `ServerReflectionResponse`.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Response {
        #[prost(oneof = "MessageResponse", tags = "4, 6, 7")]
        pub message_response: Option<MessageResponse>,
    }

    #[derive(Clone, PartialEq, prost::Oneof)]
    pub enum MessageResponse {
        #[prost(message, tag = "4")]
        Files(Files),
        #[prost(message, tag = "6")]
        Services(Services),
        #[prost(message, tag = "7")]
        Error(Error),
    }

    /// `FileDescriptorResponse`.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Files {
        #[prost(bytes = "vec", repeated, tag = "1")]
        pub file_descriptor_proto: Vec<Vec<u8>>,
    }

    /// `ListServiceResponse`.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Services {
        #[prost(message, repeated, tag = "1")]
        pub service: Vec<Service>,
    }

    /// `ServiceResponse`.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Service {
        #[prost(string, tag = "1")]
        pub name: String,
    }

    /// `ErrorResponse`.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Error {
        #[prost(int32, tag = "1")]
        pub error_code: i32,
        #[prost(string, tag = "2")]
        pub error_message: String,
    }

    /// `FileDescriptorSet`, its files as bytes.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Set {
        #[prost(bytes = "vec", repeated, tag = "1")]
        pub file: Vec<Vec<u8>>,
    }
}
