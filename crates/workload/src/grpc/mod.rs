//! Calls over gRPC: descriptors, messages from JSON to bytes, and the call as `load` renders it.
//!
//! Everything here happens once, when a workload is bound to a variant; what happens for each reply is in `check`.
//! HTTP/2 and the prefixes of messages are in `load`.

mod bind;
mod check;
pub mod proto;
pub mod reflection;

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use prost::Message as _;
use prost::encoding::encode_varint;
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor, MethodDescriptor, ServiceDescriptor};
use weighbridge_load::Framing;
use weighbridge_load::request::{Call, RenderError, Rendered, Sending};
use weighbridge_model::experiment::{CallKind, CallSpec, DescriptorSource, MessageSending, Side, suggestion};
use weighbridge_model::id::OperationId;
use weighbridge_model::quantity::{Bytes, Nanoseconds};

pub(crate) use check::{CallExpect, Envelope, GrpcCheck, PongMessageCheck};

/// Why a call cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GrpcError {
    #[error(
        "the calls' descriptors are to be asked of the server, which has not been done; give `proto` instead of `reflection`"
    )]
    Unreflected,
    #[error("`{file}` was not compiled; read the experiment with its folder")]
    Uncompiled { file: String },
    #[error("`proto = \"{file}\"` does not compile: {message}")]
    Proto {
        file: String,
        /// Place and what is wrong there.
        message: String,
    },
    #[error("`descriptors` is not a FileDescriptorSet in base64: {0}; give `proto = \"file.proto\"`")]
    Descriptors(String),
    #[error("call `{call}`: there is no service `{service}`{hint}")]
    Service {
        call: String,
        service: String,
        /// The nearest name and all names.
        hint: String,
    },
    #[error("call `{call}`: service `{service}` has no method `{method}`{hint}")]
    Method {
        call: String,
        service: String,
        method: String,
        /// The nearest name and all names.
        hint: String,
    },
    #[error("call `{call}`: `{method}` is `kind = \"{}\"`; write that", .actual.name())]
    Kind {
        call: String,
        method: String,
        /// The method's real kind.
        actual: CallKind,
    },
    #[error("call `{call}`: `{method}` takes exactly one message, not {given}; write one `message`")]
    Count {
        call: String,
        method: String,
        /// Messages given.
        given: usize,
    },
    #[error("call `{call}`: `sending = \"alternating\"` needs a method with a stream each way, and `{method}` is `{}`; leave it out", .kind.name())]
    Alternating {
        call: String,
        method: String,
        /// The method's real kind.
        kind: CallKind,
    },
    #[error("call `{call}`: message {index} is not a `{kind}`: {message}")]
    Message {
        call: String,
        /// Number of the message, from 1.
        index: usize,
        /// The type's full name.
        kind: String,
        /// What does not fit.
        message: String,
    },
    #[error(
        "`{name}` is the operation of another call's messages; give the call of that name another `name`"
    )]
    Name { name: String },
}

/// The descriptors of all services.
#[derive(Debug, Clone)]
pub(crate) struct Methods(DescriptorPool);

#[derive(Debug, Clone)]
pub(crate) struct Method {
    pub kind: CallKind,
    input: MessageDescriptor,
    output: MessageDescriptor,
}

impl Methods {
    /// Parses the descriptors in a source.
    pub fn read(source: &DescriptorSource) -> Result<Self, GrpcError> {
        match source {
            DescriptorSource::Proto { file, .. } => Err(GrpcError::Uncompiled { file: file.clone() }),
            DescriptorSource::Reflection => Err(GrpcError::Unreflected),
            DescriptorSource::Descriptors { base64 } => {
                let wrong = |error: String| GrpcError::Descriptors(error);
                let bytes = STANDARD.decode(base64).map_err(|e| wrong(e.to_string()))?;
                DescriptorPool::decode(&bytes[..]).map(Self).map_err(|e| wrong(e.to_string()))
            }
        }
    }

    /// The method that a call names.
    pub fn find(&self, call: &CallSpec) -> Result<Method, GrpcError> {
        let (service_name, method_name) = call.service_and_method();
        let service = self.0.get_service_by_name(service_name).ok_or_else(|| {
            let names: Vec<_> = self.0.services().map(|s| s.full_name().to_owned()).collect();
            GrpcError::Service {
                call: call.name.clone(),
                service: service_name.to_owned(),
                hint: hint(service_name, &names),
            }
        })?;
        let method = method_of(&service, method_name).ok_or_else(|| {
            let names: Vec<_> = service.methods().map(|m| m.name().to_owned()).collect();
            GrpcError::Method {
                call: call.name.clone(),
                service: service_name.to_owned(),
                method: method_name.to_owned(),
                hint: hint(method_name, &names),
            }
        })?;
        let side = |streams: bool| if streams { Side::Stream } else { Side::One };
        let kind =
            CallKind::from_sides(side(method.is_client_streaming()), side(method.is_server_streaming()));
        if call.kind.is_some_and(|given| given != kind) {
            let (call, method) = (call.name.clone(), call.method.clone());
            return Err(GrpcError::Kind { call, method, actual: kind });
        }
        Ok(Method { kind, input: method.input(), output: method.output() })
    }
}

fn method_of(service: &ServiceDescriptor, name: &str) -> Option<MethodDescriptor> {
    service.methods().find(|method| method.name() == name)
}

fn hint(word: &str, names: &[String]) -> String {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    suggestion(word, &names)
}

/// A call with everything it needs, and the expected reply.
#[derive(Debug, Clone)]
pub(crate) struct BoundCall {
    messages: Vec<Vec<u8>>,
    pub expect: Arc<CallExpect>,
}

/// Encodes a call's messages and prepares its check.
pub(crate) fn bind(call: &CallSpec, methods: &Methods) -> Result<BoundCall, GrpcError> {
    let method = methods.find(call)?;
    if method.kind.client() == Side::One && call.messages.len() != 1 {
        let (name, given) = (call.name.clone(), call.messages.len());
        return Err(GrpcError::Count { call: name, method: call.method.clone(), given });
    }
    if call.sending == MessageSending::Alternating && method.kind != CallKind::BidiStream {
        let (name, kind) = (call.name.clone(), method.kind);
        return Err(GrpcError::Alternating { call: name, method: call.method.clone(), kind });
    }
    // Streaming kinds have a separate operation for messages, which must have been counted as one.
    if call.kind.is_none() && method.kind.server() == Side::Stream {
        let (name, method_name) = (call.name.clone(), call.method.clone());
        return Err(GrpcError::Kind { call: name, method: method_name, actual: method.kind });
    }
    let encode = |(index, json): (usize, &serde_json::Value)| {
        let message = DynamicMessage::deserialize(method.input.clone(), json.clone());
        message.map(|message| message.encode_to_vec()).map_err(|error| GrpcError::Message {
            call: call.name.clone(),
            index: index + 1,
            kind: method.input.full_name().to_owned(),
            message: error.to_string(),
        })
    };
    let messages = call.messages.iter().enumerate().map(encode).collect::<Result<_, _>>()?;
    Ok(BoundCall {
        messages,
        expect: Arc::new(CallExpect::new(call.check.clone(), method.kind, method.output)),
    })
}

/// Renders a call. `operation` is the call's; its messages' is the next one.
pub(crate) fn render(
    framing: Framing,
    call: &CallSpec,
    bound: &BoundCall,
    operation: OperationId,
    authority: &str,
    mut metadata: Vec<(String, String)>,
) -> Result<Rendered, RenderError> {
    if let Some(deadline) = call.deadline {
        metadata.insert(0, ("grpc-timeout".to_owned(), timeout_text(deadline)));
    }
    framing.render_call(&Call {
        path: &format!("/{}", call.method),
        authority,
        metadata: &metadata,
        messages: &bound.messages,
        sending: match call.sending {
            MessageSending::Together => Sending::Together,
            MessageSending::Alternating => Sending::Alternating,
        },
        operation,
        message_operation: call.message_operation().map(|_| OperationId(operation.0 + 1)),
    })
}

/// The unary call of pingpong.
pub(crate) fn render_pong(
    framing: Framing,
    authority: &str,
    size: Bytes,
    operation: OperationId,
) -> Result<Rendered, RenderError> {
    // PongRequest { uint32 size = 1 } of services/proto/pong.proto.
    let mut message = vec![0x08];
    encode_varint(size.get(), &mut message);
    framing.render_call(&Call {
        path: "/weighbridge.pong.v1.Pong/Pong",
        authority,
        metadata: &[],
        messages: &[message],
        sending: Sending::Together,
        operation,
        message_operation: None,
    })
}

/// The value of `grpc-timeout`: at most eight digits and a unit, never longer than the deadline, at least 1 ns.
fn timeout_text(deadline: Nanoseconds) -> String {
    let units = [("n", 1), ("u", 1_000), ("m", 1_000_000), ("S", 1_000_000_000), ("M", 60_000_000_000)];
    let nanos = deadline.as_nanos();
    let fits = units.iter().find(|(_, length)| nanos / length < 100_000_000);
    let (unit, length) = fits.unwrap_or(&("H", 3_600_000_000_000));
    format!("{}{unit}", (nanos / length).max(1))
}

#[cfg(test)]
mod tests;
