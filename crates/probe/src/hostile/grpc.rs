//! gRPC servers that break the layer above HTTP/2: messages, statuses, trailers.

use weighbridge_model::record::ErrorKind::{Check, Protocol as Unreadable, Reset, Status, Timeout};

use super::Expected::{Every, OneOf};
use super::script::{Script, ScriptStep};
use super::{Case, Expected, Protocol, case};
use crate::frames::{Frame, block, flag, kind, trailers};

const fn grpc(name: &'static str, expected: Expected, does: &'static str, script: fn() -> Script) -> Case {
    case(name, Protocol::Grpc, expected, does, script)
}

/// Settings first, then these frames for each request.
fn reply(frames: impl Into<Vec<Frame>>) -> Script {
    Script::then_each([ScriptStep::Frames(vec![Frame::settings(&[])])], [ScriptStep::Frames(frames.into())])
}

fn head() -> Frame {
    Frame::head(&[("content-type", "application/grpc")])
}

/// A message after its prefix: not compressed, and its length.
fn message(bytes: &[u8]) -> Frame {
    Frame::data(&[&[0][..], &(bytes.len() as u32).to_be_bytes(), bytes].concat())
}

/// Trailers that end the stream.
fn ending(fields: &[(&str, &str)]) -> Frame {
    Frame::new(kind::HEADERS, flag::END_HEADERS | flag::END_STREAM, trailers(fields))
}

/// A head that is the whole reply.
fn trailers_only(status: u16, fields: &[(&str, &str)]) -> Frame {
    Frame::new(kind::HEADERS, flag::END_HEADERS | flag::END_STREAM, block(status, fields))
}

/// `pong` as field 1, a string, of a protobuf message.
const PONG: &[u8] = b"\x0a\x04pong";

/// All cases.
pub const CASES: &[Case] = &[
    grpc(
        "grpc-no-status",
        OneOf(&[Status, Unreadable]),
        "ends a reply with trailers that have no `grpc-status`",
        || reply([head(), message(PONG), ending(&[("x-other", "1")])]),
    ),
    grpc("grpc-no-trailers", OneOf(&[Status, Unreadable]), "ends a reply without trailers", || {
        reply([head(), Frame::last(&[0, 0, 0, 0, 0])])
    }),
    grpc(
        "grpc-status-letters",
        OneOf(&[Status, Unreadable]),
        "sends a `grpc-status` that is no number",
        || reply([head(), message(PONG), ending(&[("grpc-status", "fine")])]),
    ),
    grpc("grpc-status-13", Every(Status), "ends a whole reply with status 13, internal", || {
        reply([head(), message(PONG), ending(&[("grpc-status", "13"), ("grpc-message", "oops")])])
    }),
    grpc(
        "grpc-trailers-only",
        Every(Status),
        "answers with status 12, unimplemented, in a head alone",
        || reply([trailers_only(200, &[("content-type", "application/grpc"), ("grpc-status", "12")])]),
    ),
    grpc("grpc-http-status", Every(Status), "answers with HTTP's status 503 and no gRPC", || {
        reply([trailers_only(503, &[("content-type", "text/plain")])])
    }),
    grpc(
        "grpc-length-beyond",
        OneOf(&[Unreadable, Check]),
        "ends the stream in the middle of a message",
        || reply([head(), Frame::data(&[0, 0, 0, 1, 0, b'x']), ending(&[("grpc-status", "0")])]),
    ),
    grpc(
        "grpc-prefix-cut",
        OneOf(&[Unreadable, Check]),
        "ends the stream in the middle of a message's prefix",
        || reply([head(), Frame::data(&[0, 0, 0]), ending(&[("grpc-status", "0")])]),
    ),
    grpc(
        "grpc-compressed",
        OneOf(&[Unreadable, Check]),
        "flags a message as compressed though nothing was agreed",
        || {
            reply([
                head(),
                Frame::data(&[&[1, 0, 0, 0, 6][..], PONG].concat()),
                ending(&[("grpc-status", "0")]),
            ])
        },
    ),
    grpc("grpc-flag-unknown", OneOf(&[Unreadable, Check]), "sends a message with an unknown flag", || {
        reply([
            head(),
            Frame::data(&[&[0x80, 0, 0, 0, 6][..], PONG].concat()),
            ending(&[("grpc-status", "0")]),
        ])
    }),
    grpc(
        "grpc-message-too-large",
        OneOf(&[Unreadable, Check, Timeout]),
        "announces a message of 4 GiB and sends it without end",
        || {
            let many = vec![Frame::data(&[b'x'; 16_000]); 4];
            Script::then_each(
                [ScriptStep::Frames(vec![Frame::settings(&[])])],
                [
                    ScriptStep::Frames(vec![head(), Frame::data(&[0, 0xff, 0xff, 0xff, 0xff])]),
                    ScriptStep::FloodFrames(many),
                ],
            )
        },
    ),
    grpc(
        "grpc-no-message",
        OneOf(&[Unreadable, Check, Status]),
        "ends a reply with status 0 and no message",
        || reply([head(), ending(&[("grpc-status", "0")])]),
    ),
    grpc("grpc-reset-mid-message", Every(Reset), "resets the stream in the middle of a message", || {
        reply([head(), Frame::data(&[0, 0, 0, 1, 0, b'x']), Frame::reset(2)])
    }),
    grpc("grpc-stall-before-trailers", Every(Timeout), "sends a message and never its trailers", || {
        reply([head(), message(PONG)])
    }),
];
