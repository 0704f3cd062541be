//! A gRPC call: length-prefixed messages, status and text from trailers; and the messages of the contract and
//! of reflection.
//!
//! The messages are declared here independently of the interface file, so that an error in that file is found
//! too. Nothing here knows a row.

use bytes::{Buf, Bytes, BytesMut};
use h2::client::ResponseFuture;
use h2::{RecvStream, SendStream};
use prost::Message;

use super::limits::Limits;
use super::outcome::{Shortfall, Verdict, differs, quoted};
use super::streams::{Http2, next_chunk, timely};

/// Largest message that a service may have to send, with a reserve for its overhead.
const LARGEST: usize = 100_000_000 + 64;

pub(super) const OK: u32 = 0;
pub(super) const INVALID_ARGUMENT: u32 = 3;
pub(super) const UNIMPLEMENTED: u32 = 12;

// Messages

#[derive(Clone, PartialEq, Message)]
pub(super) struct PongRequest {
    #[prost(uint32, tag = "1")]
    pub(super) size: u32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct PongReply {
    #[prost(bytes = "bytes", tag = "1")]
    pub(super) body: Bytes,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct StreamRequest {
    #[prost(uint32, tag = "1")]
    pub(super) size: u32,
    #[prost(uint32, tag = "2")]
    pub(super) count: u32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Summary {
    #[prost(uint64, tag = "1")]
    pub(super) count: u64,
    #[prost(uint64, tag = "2")]
    pub(super) bytes: u64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct VersionReply {
    #[prost(string, tag = "1")]
    pub(super) text: String,
}

/// `grpc.reflection.v1.ServerReflectionRequest`, only the fields used.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ReflectionRequest {
    #[prost(string, optional, tag = "4")]
    pub(super) file_containing_symbol: Option<String>,
    #[prost(string, optional, tag = "7")]
    pub(super) list_services: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ReflectionReply {
    #[prost(message, optional, tag = "4")]
    pub(super) files: Option<ReflectedFiles>,
    #[prost(message, optional, tag = "6")]
    pub(super) services: Option<ReflectedServices>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ReflectedFiles {
    #[prost(bytes = "bytes", repeated, tag = "1")]
    pub(super) files: Vec<Bytes>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ReflectedServices {
    #[prost(message, repeated, tag = "1")]
    pub(super) services: Vec<Named>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Named {
    #[prost(string, tag = "1")]
    pub(super) name: String,
}

/// `google.protobuf.FileDescriptorProto`, only the fields used.
#[derive(Clone, PartialEq, Message)]
pub(super) struct File {
    #[prost(string, tag = "2")]
    pub(super) package: String,
    #[prost(message, repeated, tag = "6")]
    pub(super) services: Vec<ServiceDescription>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ServiceDescription {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(message, repeated, tag = "2")]
    pub(super) methods: Vec<MethodDescription>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct MethodDescription {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(bool, tag = "5")]
    pub(super) client_streams: bool,
    #[prost(bool, tag = "6")]
    pub(super) server_streams: bool,
}

// Calls

/// A call that has begun.
pub(super) struct Call {
    pub(super) what: String,
    pub(super) requests: SendStream<Bytes>,
    pub(super) replies: Replies,
    pub(super) limits: Limits,
}

pub(super) enum Replies {
    Awaited(ResponseFuture),
    Coming {
        body: RecvStream,
        unread: BytesMut,
    },
    /// With the status and message of a trailers-only reply.
    Ended(u32, String),
}

impl Call {
    pub(super) async fn begin(
        connection: &mut Http2,
        operation: &str,
        limits: Limits,
    ) -> Result<Self, Shortfall> {
        Self::at(connection, &format!("/weighbridge.pong.v1.Pong/{operation}"), limits).await
    }

    pub(super) async fn at(connection: &mut Http2, path: &str, limits: Limits) -> Result<Self, Shortfall> {
        let what = format!("`{}`", path.rsplit('/').next().unwrap_or(path));
        let begun = connection.call(path).await;
        let (response, requests) = begun.map_err(|came| differs(&what, "a stream for the call", came))?;
        Ok(Self { what, requests, replies: Replies::Awaited(response), limits })
    }

    /// Sends a message with its prefix in one piece.
    pub(super) fn send(&mut self, message: &impl Message, end: bool) -> Verdict {
        self.send_bytes(framed(&message.encode_to_vec()), end)
    }

    pub(super) fn send_bytes(&mut self, bytes: Bytes, end: bool) -> Verdict {
        let sent = self.requests.send_data(bytes, end);
        sent.map_err(|error| differs(&self.what, "a request that is taken", error))
    }

    pub(super) fn end(&mut self) -> Verdict {
        self.send_bytes(Bytes::new(), true)
    }

    /// The next message; `None` after the last.
    pub(super) async fn next<M: Message + Default>(&mut self) -> Result<Option<M>, Shortfall> {
        let message = self.receive().await.map_err(|came| self.wrong("a message or a status", came))?;
        let decoded = message.map(M::decode).transpose();
        decoded.map_err(|error| self.wrong("a message of its type", error.to_string()))
    }

    pub(super) async fn receive(&mut self) -> Result<Option<Bytes>, String> {
        let deadline = self.limits.for_reply(LARGEST);
        loop {
            match &mut self.replies {
                Replies::Ended(..) => return Ok(None),
                Replies::Awaited(response) => {
                    let response = timely("head of the reply", deadline, response).await?;
                    self.replies = begun(response)?;
                }
                Replies::Coming { body, unread } => {
                    if let Some(message) = take_message(unread)? {
                        return Ok(Some(message));
                    }
                    if let Some(chunk) = next_chunk(body, deadline).await? {
                        unread.extend_from_slice(&chunk);
                        continue;
                    }
                    if !unread.is_empty() {
                        return Err(format!("the end of the stream amid a message: {}", quoted(unread)));
                    }
                    let trailers = timely("status", deadline, body.trailers()).await?;
                    let (status, text) = status_of(&trailers.ok_or("a stream without trailers")?)?;
                    self.replies = Replies::Ended(status, text);
                }
            }
        }
    }

    /// Exactly one message, then status 0.
    pub(super) async fn only<M: Message + Default>(mut self) -> Result<M, Shortfall> {
        let message = self.next().await?;
        let Some(message) = message else { return Err(self.wrong("one message", self.ending())) };
        self.ends_with(OK).await?;
        Ok(message)
    }

    /// Checks that no further message comes and that the status is `expected`.
    pub(super) async fn ends_with(&mut self, expected: u32) -> Verdict {
        let message = self.receive().await.map_err(|came| self.wrong("a status", came))?;
        if let Some(message) = message {
            return Err(self.wrong("no more message", format!("one of {} bytes", message.len())));
        }
        // The contract requires a text only after an invalid argument.
        let texted = expected == INVALID_ARGUMENT;
        match &self.replies {
            Replies::Ended(status, text) if *status == expected && !(texted && text.is_empty()) => Ok(()),
            _ => {
                let more = if texted { " with a message" } else { "" };
                Err(self.wrong(&format!("status {expected}{more}"), self.ending()))
            }
        }
    }

    /// How it ended, as text.
    pub(super) fn ending(&self) -> String {
        match &self.replies {
            Replies::Ended(status, text) => {
                format!("status {status} with the message {}", quoted(text.as_bytes()))
            }
            _ => "a call that has not ended".to_owned(),
        }
    }

    pub(super) fn wrong(&self, expected: &str, came: String) -> Shortfall {
        differs(&self.what, expected, came)
    }
}

/// A message with its prefix: not compressed, length (gRPC over HTTP/2, "Length-Prefixed-Message").
pub(super) fn framed(message: &[u8]) -> Bytes {
    [&[0][..], &(message.len() as u32).to_be_bytes(), message].concat().into()
}

/// Removes the first message from the received bytes, if it is complete.
fn take_message(unread: &mut BytesMut) -> Result<Option<Bytes>, String> {
    let [compressed, a, b, c, d, ..] = **unread else { return Ok(None) };
    if compressed != 0 {
        return Err(format!("a message with {compressed} as its flag of compression"));
    }
    let length = u32::from_be_bytes([a, b, c, d]) as usize;
    if length > LARGEST {
        return Err(format!("a message of {length} bytes"));
    }
    if unread.len() < 5 + length {
        return Ok(None);
    }
    unread.advance(5);
    Ok(Some(unread.split_to(length).freeze()))
}

fn begun(response: http::Response<RecvStream>) -> Result<Replies, String> {
    if response.status() != 200 {
        return Err(format!("status {} of HTTP", response.status()));
    }
    let kind =
        response.headers().get("content-type").map(|value| value.as_bytes().to_vec()).unwrap_or_default();
    if kind != b"application/grpc" && kind != b"application/grpc+proto" {
        return Err(format!("{} as `content-type`", quoted(&kind)));
    }
    if response.headers().contains_key("grpc-status") {
        let (status, text) = status_of(response.headers())?;
        return Ok(Replies::Ended(status, text));
    }
    Ok(Replies::Coming { body: response.into_body(), unread: BytesMut::new() })
}

fn status_of(headers: &http::HeaderMap) -> Result<(u32, String), String> {
    let text = |name| headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    let status = text("grpc-status").ok_or("trailers without `grpc-status`")?;
    let number = status.parse().map_err(|_| format!("{} as `grpc-status`", quoted(status.as_bytes())))?;
    Ok((number, text("grpc-message").unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_taken_once_it_is_whole() {
        // Written by hand: flag, length, then field 1 of type 0 with the number 300 (the varint in the
        // encoding's own documentation).
        let bytes = [0, 0, 0, 0, 3, 0x08, 0xac, 0x02];
        assert_eq!(framed(&PongRequest { size: 300 }.encode_to_vec()), &bytes[..]);
        let mut unread = BytesMut::new();
        for (index, byte) in bytes.iter().enumerate() {
            assert_eq!(take_message(&mut unread), Ok(None), "after {index} bytes");
            unread.extend([*byte]);
        }
        let message = take_message(&mut unread).expect("it is right").expect("it is whole");
        assert_eq!(PongRequest::decode(message), Ok(PongRequest { size: 300 }));
        assert!(unread.is_empty());
    }

    #[test]
    fn compressed_and_endless_messages_are_refused() {
        for wrong in [[1, 0, 0, 0, 0], [0, 255, 255, 255, 255]] {
            assert!(take_message(&mut BytesMut::from(&wrong[..])).is_err(), "{wrong:?}");
        }
    }
}
