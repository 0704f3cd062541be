//! Canned replies: for each request that a workload makes, bytes that were encoded before the probe began to serve.
//!
//! A request is known by its target and its body alone. Neither is kept: a digest of both finds the reply, so a request of
//! any length takes no memory.

use std::collections::HashMap;

use weighbridge_load::thrift::Envelope;
use weighbridge_model::experiment::{CodecName, FramingName, GrpcStatus, Protocol};

use crate::frames;

/// The place of the reply to requests that nobody foresaw.
pub(crate) const UNKNOWN: u32 = 0;

const NOT_FOUND: u16 = 404;

/// The replies over one protocol; by default none, over HTTP/1.1.
#[derive(Debug, Clone, PartialEq)]
pub struct Canned {
    protocol: Protocol,
    replies: Vec<Reply>,
    places: HashMap<Key, u32>,
}

/// How requests and replies are framed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wire {
    Http1,
    Http2,
    Thrift(Envelope),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reply {
    /// Of HTTP/1.1 the head up to the end of `Content-Length`, of HTTP/2 the header block, of Thrift the method's name.
    pub head: Vec<u8>,
    pub content: Vec<u8>,
    /// The header block behind the content; empty where there is none.
    pub trailers: Vec<u8>,
}

/// Which request it is: FNV-1a of 64 bits over target and body. It need not withstand an enemy, who could only get
/// another of these replies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Key(u64);

impl Key {
    pub fn of(target: &[u8]) -> Self {
        let mut key = Self(0xcbf2_9ce4_8422_2325);
        key.add(target);
        key.add(&[0]);
        key
    }

    /// Goes on with a piece of the body.
    pub fn add(&mut self, bytes: &[u8]) {
        let step = |key: u64, byte: &u8| (key ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        self.0 = bytes.iter().fold(self.0, step);
    }
}

impl Canned {
    /// No replies yet; `None` where a probe does not speak the protocol.
    pub fn over(protocol: Protocol) -> Option<Self> {
        use FramingName::{Grpc, Http1, Http2, Soap, Thrift};
        if !matches!(protocol.framing(), Http1 | Http2 | Grpc | Thrift | Soap) {
            return None;
        }
        let mut canned = Self { protocol, replies: Vec::new(), places: HashMap::new() };
        let unknown = match canned.wire() {
            // The end of a struct: an exception that says nothing else.
            Wire::Thrift(_) => Reply { head: Vec::new(), content: vec![0], trailers: Vec::new() },
            _ if protocol.has_calls() => canned.call(GrpcStatus::UNIMPLEMENTED, Vec::new()),
            _ => canned.http(NOT_FOUND, br#"{"error":"no reply is known to this request"}"#.to_vec()),
        };
        canned.replies.push(unknown);
        Some(canned)
    }

    /// Adds the reply to a request. The target is a path, and the name of a method in Thrift; the body of a request of gRPC
    /// is its message. A status is one of HTTP: 404 where something is not found.
    pub fn add(&mut self, target: &str, body: &[u8], status: u16, messages: &[Vec<u8>]) {
        let mut key = Key::of(target.as_bytes());
        let reply = if self.protocol.has_calls() {
            key.add(&prefix(body));
            let status = if status == NOT_FOUND { GrpcStatus::NOT_FOUND } else { GrpcStatus::OK };
            let framed = |message: &Vec<u8>| [&prefix(message)[..], message].concat();
            self.call(status, messages.iter().flat_map(framed).collect())
        } else if let Wire::Thrift(_) = self.wire() {
            Reply { head: target.into(), content: messages.concat(), trailers: Vec::new() }
        } else {
            self.http(status, messages.concat())
        };
        key.add(body);
        let place = self.replies.len() as u32;
        if *self.places.entry(key).or_insert(place) == place {
            self.replies.push(reply);
        }
    }

    fn http(&self, status: u16, content: Vec<u8>) -> Reply {
        let media = match self.protocol.codec() {
            Some(codec) if status != NOT_FOUND => codec.media_type(),
            _ => CodecName::Json.media_type(),
        };
        let length = content.len().to_string();
        let head = if self.wire() == Wire::Http2 {
            frames::block(status, &[("content-type", media), ("content-length", &length)])
        } else {
            let reason = match status {
                200 => "OK",
                NOT_FOUND => "Not Found",
                _ => "Internal Server Error",
            };
            format!("HTTP/1.1 {status} {reason}\r\nContent-Type: {media}\r\nContent-Length: {length}").into()
        };
        Reply { head, content, trailers: Vec::new() }
    }

    /// The reply to a call of gRPC; one that fails has its status in the only header block.
    fn call(&self, status: GrpcStatus, content: Vec<u8>) -> Reply {
        let codec = self.protocol.codec().unwrap_or(CodecName::Protobuf);
        let media = match codec {
            CodecName::Protobuf => "application/grpc".to_owned(),
            other => format!("application/grpc+{}", other.name()),
        };
        let number = status.number().to_string();
        let (media, status_field) = (("content-type", &*media), ("grpc-status", &*number));
        if status == GrpcStatus::OK {
            let trailers = frames::trailers(&[status_field]);
            return Reply { head: frames::block(200, &[media]), content, trailers };
        }
        Reply { head: frames::block(200, &[media, status_field]), content: Vec::new(), trailers: Vec::new() }
    }

    pub(crate) fn wire(&self) -> Wire {
        match (self.protocol.framing(), self.protocol.codec()) {
            (FramingName::Http2 | FramingName::Grpc, _) => Wire::Http2,
            (FramingName::Thrift, Some(CodecName::Compact)) => Wire::Thrift(Envelope::Compact),
            (FramingName::Thrift, _) => Wire::Thrift(Envelope::Binary),
            _ => Wire::Http1,
        }
    }

    /// Whether no request is known.
    pub(crate) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    pub(crate) fn find(&self, key: Key) -> Option<u32> {
        self.places.get(&key).copied()
    }

    pub(crate) fn reply(&self, place: u32) -> &Reply {
        &self.replies[place as usize]
    }
}

impl Default for Canned {
    fn default() -> Self {
        Self::over(Protocol::HTTP1_JSON).expect("a probe speaks HTTP/1.1")
    }
}

/// What stands before a message of gRPC that is not compressed.
fn prefix(message: &[u8]) -> [u8; 5] {
    let [a, b, c, d] = (message.len() as u32).to_be_bytes();
    [0, a, b, c, d]
}
