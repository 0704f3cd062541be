//! HTTP/2 servers, clear text and prior knowledge, that break the framing, flood, starve and bomb.
//!
//! If a connection must be credible until its misbehaviour, it begins with SETTINGS; the peer acknowledges what the
//! client sends.

use weighbridge_model::record::ErrorKind::{Protocol as Unreadable, Reset, Timeout};

use super::Expected::{Every, OneOf, Some};
use super::oddities;
use super::script::{Script, ScriptStep};
use super::{Case, Expected, Needs, Protocol, case};
use crate::frames::{Frame, On, STATUS_200, block, flag, goaway, kind, literal, setting, trailers};

/// Error codes of RFC 9113, section 7.
const NO_ERROR: u32 = 0;
const INTERNAL_ERROR: u32 = 2;
const REFUSED_STREAM: u32 = 7;
const ENHANCE_YOUR_CALM: u32 = 11;

/// The largest window (RFC 9113, section 6.9.1).
const LARGEST_WINDOW: u32 = (1 << 31) - 1;

/// A client may defend itself against a flood, or read until its timeout.
const DEFENDED: Expected = OneOf(&[Unreadable, Timeout]);

const fn http2(name: &'static str, expected: Expected, does: &'static str, script: fn() -> Script) -> Case {
    case(name, Protocol::Http2, expected, does, script)
}

/// Frames of a good reply.
fn good() -> Vec<Frame> {
    vec![Frame::head(&[("content-length", "5")]), Frame::last(b"hello")]
}

/// Settings first, then these frames for each request.
fn reply(frames: impl Into<Vec<Frame>>) -> Script {
    Script::then_each([opening(&[])], [ScriptStep::Frames(frames.into())])
}

/// Settings first, then these frames for the first request, and `flood` repeatedly.
fn flood(frames: impl Into<Vec<Frame>>, flood: impl Into<Vec<Frame>>) -> Script {
    let flood = flood.into();
    let length: usize = flood.iter().map(|frame| frame.payload.len() + 9).sum();
    let many = flood.iter().cycle().take(flood.len() * (64 * 1024 / length).max(1)).cloned().collect();
    Script::then_each([opening(&[])], [ScriptStep::Frames(frames.into()), ScriptStep::FloodFrames(many)])
}

fn opening(values: &[(u16, u32)]) -> ScriptStep {
    ScriptStep::Frames(vec![Frame::settings(values)])
}

/// HEADERS with this block, whole.
fn headers(block: impl Into<Vec<u8>>) -> Frame {
    Frame::new(kind::HEADERS, flag::END_HEADERS, block)
}

/// HEADERS with this block, whole, that end the stream.
fn last_headers(block: impl Into<Vec<u8>>) -> Frame {
    Frame::new(kind::HEADERS, flag::END_HEADERS | flag::END_STREAM, block)
}

/// A good status followed by these bytes of a header block.
fn status_and(bytes: &[u8]) -> Frame {
    last_headers([STATUS_200, bytes].concat())
}

fn update(increment: u32) -> Frame {
    Frame::window(On::Fixed(0), increment)
}

/// All cases.
pub const CASES: &[Case] = &[
    // The connection itself.
    http2("h2-not-at-all", Every(Unreadable), "answers the preface in HTTP/1.1", || {
        Script::once([
            ScriptStep::Hello,
            ScriptStep::Send(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n".to_vec()),
            ScriptStep::Finish,
        ])
    }),
    http2("h2-silent", Every(Timeout), "reads the request and says nothing, not even SETTINGS", || {
        Script::once([ScriptStep::Hello, ScriptStep::Stall])
    }),
    http2("h2-no-settings", Every(Unreadable), "replies without SETTINGS first", || {
        Script::each([ScriptStep::Frames(good())])
    }),
    http2("h2-close-mid-frame", Every(Reset), "closes in the middle of a frame", || {
        Script::then_each(
            [opening(&[])],
            [
                ScriptStep::Frames(vec![Frame::head(&[]), Frame::data(b"half").telling(100)]),
                ScriptStep::Close,
            ],
        )
    }),
    http2("h2-stall-mid-frame", Every(Timeout), "stops in the middle of a frame", || {
        Script::then_each(
            [opening(&[])],
            [
                ScriptStep::Frames(vec![Frame::head(&[]), Frame::data(b"half").telling(100)]),
                ScriptStep::Stall,
            ],
        )
    }),
    http2("h2-drip", Every(Timeout), "sends a large frame byte by byte, with pauses", || {
        let mut frame = Vec::new();
        Frame::data(&[b'x'; 16_000]).on(1).encode(1, &mut frame);
        Script::then_each(
            [opening(&[])],
            [ScriptStep::Frames(vec![Frame::head(&[])]), ScriptStep::Drip(frame)],
        )
    }),
    // Invalid frames.
    http2("h2-frame-too-large", Every(Unreadable), "sends a frame of 16 MiB", || {
        reply([Frame::head(&[]), Frame::data(&[b'x'; 100_000]).telling((1 << 24) - 1)])
    }),
    http2("h2-ping-short", Every(Unreadable), "sends a PING of 4 bytes", || {
        reply([Frame::new(kind::PING, flag::NONE, [0; 4]).on(0)])
    }),
    http2("h2-ping-on-stream", Every(Unreadable), "sends a PING on a stream", || {
        reply([Frame::new(kind::PING, flag::NONE, [0; 8])])
    }),
    http2("h2-settings-odd-length", Every(Unreadable), "sends SETTINGS of 5 bytes", || {
        reply([Frame::new(kind::SETTINGS, flag::NONE, [0; 5]).on(0)])
    }),
    http2("h2-settings-ack-with-payload", Every(Unreadable), "acknowledges SETTINGS with a payload", || {
        reply([Frame::new(kind::SETTINGS, flag::ACK, [0; 6]).on(0)])
    }),
    http2("h2-settings-frame-size", Every(Unreadable), "sets a largest frame below what is allowed", || {
        reply([Frame::settings(&[(setting::MAX_FRAME_SIZE, 100)])])
    }),
    http2(
        "h2-padding-too-long",
        Every(Unreadable),
        "sends DATA with more padding than the frame is long",
        || reply([Frame::head(&[]), Frame::new(kind::DATA, flag::PADDED, [200, b'x', b'x'])]),
    ),
    http2("h2-data-on-connection", Every(Unreadable), "sends DATA on stream 0", || {
        reply([Frame::head(&[]), Frame::last(b"hello").on(0)])
    }),
    http2("h2-push-promise", Every(Unreadable), "promises a push", || {
        let promise = [&2u32.to_be_bytes()[..], STATUS_200].concat();
        reply([Frame::new(kind::PUSH_PROMISE, flag::END_HEADERS, promise)])
    }),
    // Streams.
    http2("h2-idle-stream", Every(Unreadable), "replies on a stream that nobody opened", || {
        reply([Frame::head(&[]).on(1_000_001)])
    }),
    http2("h2-even-stream", Every(Unreadable), "opens a stream of its own", || {
        reply([Frame::head(&[]).on(2)])
    }),
    http2("h2-closed-stream", Some(Unreadable), "goes on on a stream that it has ended", || {
        reply([good(), vec![Frame::head(&[]), Frame::last(b"again")]].concat())
    }),
    http2("h2-data-before-headers", Every(Unreadable), "sends DATA before HEADERS", || {
        reply([Frame::last(b"hello")])
    }),
    http2("h2-headers-interrupted", Every(Unreadable), "sends DATA in the middle of a header block", || {
        reply([Frame::new(kind::HEADERS, flag::NONE, STATUS_200), Frame::last(b"hello")])
    }),
    http2(
        "h2-stray-continuation",
        Every(Unreadable),
        "sends CONTINUATION after a whole header block",
        || reply([Frame::head(&[]), Frame::new(kind::CONTINUATION, flag::END_HEADERS, [])]),
    ),
    http2("h2-reset-streams", Every(Reset), "resets every stream", || reply([Frame::reset(INTERNAL_ERROR)])),
    http2("h2-refused-streams", Every(Reset), "refuses every stream", || {
        reply([Frame::reset(REFUSED_STREAM)])
    }),
    http2("h2-reset-mid-body", Every(Reset), "resets every stream in the middle of its body", || {
        reply([Frame::head(&[]), Frame::data(b"half"), Frame::reset(INTERNAL_ERROR)])
    }),
    http2(
        "h2-goaway-storm",
        Every(Reset),
        "says that it goes away, again and again, and answers nothing",
        || flood([], [goaway(0, ENHANCE_YOUR_CALM)]),
    ),
    http2(
        "h2-goaway-then-close",
        Every(Reset),
        "says that it goes away, answers nothing, and closes",
        || {
            Script::then_each(
                [opening(&[])],
                [ScriptStep::Frames(vec![goaway(0, NO_ERROR)]), ScriptStep::Close],
            )
        },
    ),
    // Messages.
    http2("h2-length-too-large", Every(Unreadable), "announces 6 bytes and sends 5", || {
        reply([Frame::head(&[("content-length", "6")]), Frame::last(b"hello")])
    }),
    http2("h2-length-too-small", Every(Unreadable), "announces 4 bytes and sends 5", || {
        reply([Frame::head(&[("content-length", "4")]), Frame::last(b"hello")])
    }),
    http2("h2-no-status", Every(Unreadable), "sends a head without a status", || {
        reply([last_headers(trailers(&[("server", "hostile")]))])
    }),
    http2("h2-status-letters", Every(Unreadable), "sends a status that is no number", || {
        reply([last_headers(trailers(&[(":status", "abc")]))])
    }),
    http2("h2-status-late", Every(Unreadable), "sends the status behind another field", || {
        reply([last_headers(trailers(&[("server", "hostile"), (":status", "200")]))])
    }),
    http2("h2-upper-case", Every(Unreadable), "sends a field name in upper case", || {
        reply([last_headers(block(200, &[("Server", "hostile")]))])
    }),
    http2("h2-connection-field", Every(Unreadable), "sends a field that HTTP/2 forbids", || {
        reply([last_headers(block(200, &[("connection", "close")]))])
    }),
    // Header compression.
    http2("h2-hpack-index-zero", Every(Unreadable), "refers to field 0 of the table", || {
        reply([status_and(&[0x80])])
    }),
    http2(
        "h2-hpack-index-beyond",
        Every(Unreadable),
        "refers to a field that the table does not have",
        || reply([status_and(&[0xff, 0xff, 0x7f])]),
    ),
    http2("h2-hpack-integer", Every(Unreadable), "sends an index beyond 64 bits", || {
        reply([status_and(&[0xff; 16])])
    }),
    http2(
        "h2-hpack-huffman",
        Every(Unreadable),
        "sends a Huffman code that holds the end of strings",
        || reply([status_and(&[0x00, 0x84, 0xff, 0xff, 0xff, 0xff, 0x01, b'x'])]),
    ),
    http2("h2-hpack-padding", Every(Unreadable), "pads a Huffman code with zeros", || {
        // `a` is 00011; the rest of the byte must be ones (RFC 7541, section 5.2).
        reply([status_and(&[0x00, 0x81, 0b0001_1000, 0x01, b'x'])])
    }),
    http2("h2-hpack-table-size", Every(Unreadable), "takes a larger table than it was allowed", || {
        reply([last_headers([&[0x3f, 0xe1, 0xff, 0xff, 0xff, 0x07], STATUS_200].concat())])
    }),
    http2("h2-hpack-cut", Every(Unreadable), "ends a header block in the middle of a field", || {
        reply([status_and(&[0x00, 0x7f, 0x01, b'x'])])
    }),
    http2("h2-hpack-bomb", Every(Unreadable), "sends 48 MiB of fields in 16 KiB, by the table", || {
        // One field of about 4,000 bytes is added to the table as number 62; each byte after it repeats it.
        let mut entry = vec![0x40, 0x01, b'x', 0x7f, 0xa1, 0x1e];
        entry.extend(vec![b'y'; 4000]);
        reply([last_headers([STATUS_200, &entry, &[0xbe; 12_000]].concat())])
    }),
    // Floods.
    http2("h2-settings-flood", DEFENDED, "sends SETTINGS without end", || flood([], [Frame::settings(&[])])),
    http2("h2-ping-flood", DEFENDED, "sends PING without end", || {
        flood([], [Frame::new(kind::PING, flag::NONE, [0; 8]).on(0)])
    }),
    http2("h2-empty-data-flood", DEFENDED, "sends empty DATA without end", || {
        flood([Frame::head(&[])], [Frame::data(b"")])
    }),
    http2("h2-continuation-flood", Every(Unreadable), "sends a header block without end", || {
        let mut more = Vec::new();
        literal("x-more", "and more", &mut more);
        flood(
            [Frame::new(kind::HEADERS, flag::NONE, STATUS_200)],
            [Frame::new(kind::CONTINUATION, flag::NONE, more)],
        )
    }),
    http2("h2-empty-continuation-flood", DEFENDED, "sends empty CONTINUATION without end", || {
        flood(
            [Frame::new(kind::HEADERS, flag::NONE, STATUS_200)],
            [Frame::new(kind::CONTINUATION, flag::NONE, [])],
        )
    }),
    http2("h2-interim-flood", DEFENDED, "sends heads of status 103 without end", || {
        flood([], [headers(block(103, &[]))])
    }),
    http2("h2-unknown-flood", DEFENDED, "sends frames of an unknown type without end", || {
        flood([], [Frame::new(0xbe, flag::NONE, [0; 64])])
    }),
    http2("h2-window-flood", Every(Unreadable), "opens the window further without end", || {
        flood([], [update(1 << 20)])
    }),
    http2("h2-endless-body", DEFENDED, "sends DATA without end and without regard to the window", || {
        flood([Frame::head(&[])], [Frame::data(&[b'x'; 16_000])])
    }),
    // Flow control.
    http2(
        "h2-window-starvation",
        Every(Timeout),
        "never allows more of an upload than it did at first",
        || Script { opening: vec![opening(&[])], each: vec![ScriptStep::Starve] },
    )
    .needs(Needs::LargeBody),
    http2("h2-window-none", Every(Timeout), "allows nothing of an upload", || Script {
        opening: vec![opening(&[(setting::INITIAL_WINDOW_SIZE, 0)])],
        each: vec![ScriptStep::Starve],
    })
    .needs(Needs::LargeBody),
    http2("h2-window-overflow", Every(Unreadable), "opens the connection's window beyond its limit", || {
        reply([update(LARGEST_WINDOW)])
    }),
    http2(
        "h2-stream-window-overflow",
        OneOf(&[Unreadable, Reset]),
        "opens a stream's window beyond its limit",
        || reply([Frame::head(&[]), Frame::window(On::Request, LARGEST_WINDOW)]),
    ),
    http2("h2-initial-window-overflow", Every(Unreadable), "sets the first window beyond its limit", || {
        reply([Frame::settings(&[(setting::INITIAL_WINDOW_SIZE, LARGEST_WINDOW + 1)])])
    }),
    http2("h2-window-zero", Every(Unreadable), "opens the window by nothing", || reply([update(0)])),
    // Legal.
    http2("h2-padding", Expected::Ok, "pads its frames", || {
        let padded = |kind, flags, bytes: &[u8]| {
            Frame::new(kind, flags | flag::PADDED, [&[9], bytes, &[0; 9]].concat())
        };
        reply([
            padded(kind::HEADERS, flag::END_HEADERS, STATUS_200),
            padded(kind::DATA, flag::END_STREAM, b"hello"),
        ])
    }),
    http2("h2-continuations", Expected::Ok, "sends its header block a byte a frame", || {
        let bytes = block(200, &[("content-length", "5"), ("server", "hostile")]);
        let last = bytes.len() - 1;
        let piece = |(at, byte): (usize, &u8)| {
            let kind = if at == 0 { kind::HEADERS } else { kind::CONTINUATION };
            Frame::new(kind, if at == last { flag::END_HEADERS } else { flag::NONE }, [*byte])
        };
        let mut frames: Vec<Frame> = bytes.iter().enumerate().map(piece).collect();
        frames.push(Frame::last(b"hello"));
        reply(frames)
    }),
    http2("h2-trailers", Expected::Ok, "sends trailers", || {
        reply([Frame::head(&[]), Frame::data(b"hello"), last_headers(trailers(&[("x-one", "1")]))])
    }),
    http2("h2-early-hints", Expected::Ok, "sends status 103 twice before its reply", || {
        let hint = || headers(block(103, &[("link", "</style.css>; rel=preload")]));
        reply([vec![hint(), hint()], good()].concat())
    }),
    http2(
        "h2-unknown-frames",
        Expected::Ok,
        "sends frames, flags and settings of unknown types in between",
        || {
            let unknown = || Frame::new(0xbe, 0xff, [1, 2, 3]);
            reply([vec![unknown(), Frame::settings(&[(0x77, 1)]), unknown().on(0)], good()].concat())
        },
    ),
    http2("h2-priority", Expected::Ok, "sends PRIORITY in between", || {
        let priority = Frame::new(kind::PRIORITY, flag::NONE, [0, 0, 0, 0, 16]);
        reply([vec![priority], good()].concat())
    }),
    http2("h2-table-resized", Expected::Ok, "shrinks its table before each header block", || {
        reply([headers([&[0x20], STATUS_200].concat()), Frame::last(b"hello")])
    }),
    http2("h2-huffman", Expected::Ok, "sends Huffman codes", || {
        // The name is `a`, the value `www.example.com` of RFC 7541, C.4.1.
        let field = b"\x00\x81\x1f\x8c\xf1\xe3\xc2\xe5\xf2\x3a\x6b\xa0\xab\x90\xf4\xff";
        reply([headers([STATUS_200, field].concat()), Frame::last(b"hello")])
    }),
    http2("h2-empty-data", Expected::Ok, "sends a few empty DATA in between", || {
        reply(
            [
                vec![Frame::head(&[]), Frame::data(b"")],
                vec![Frame::data(b"hello"), Frame::data(b""), Frame::last(b"")],
            ]
            .concat(),
        )
    }),
    http2("h2-one-stream", Expected::Ok, "allows one stream at a time", || {
        Script::then_each([opening(&[(setting::MAX_CONCURRENT_STREAMS, 1)])], [ScriptStep::Frames(good())])
    }),
    http2(
        "h2-small-window",
        Expected::Ok,
        "allows 1,000 bytes of an upload at first, then as many as have come",
        || {
            Script::then_each(
                [opening(&[(setting::INITIAL_WINDOW_SIZE, 1000)])],
                [ScriptStep::Frames(good())],
            )
        },
    )
    .needs(Needs::LargeBody),
    http2("h2-goaway-each", Expected::Ok, "says that it goes away, then answers and closes", || {
        let frames = [vec![goaway(1, NO_ERROR)], good()].concat();
        Script::then_each([opening(&[])], [ScriptStep::Frames(frames), ScriptStep::Finish])
    }),
    http2("h2-many-fields", Expected::Ok, "sends 1,000 header fields", many_fields),
    http2("h2-byte-writes", Expected::Ok, "writes each byte by itself", || {
        let mut reply = Vec::new();
        // GOAWAY comes before the reply is whole; otherwise a request could cross it.
        let [head, data] = [Frame::head(&[("content-length", "5")]), Frame::last(b"hello")];
        for frame in [head.on(1), goaway(1, NO_ERROR), data.on(1)] {
            frame.encode(1, &mut reply);
        }
        let reply = vec![ScriptStep::SendBytewise(reply), ScriptStep::Finish];
        Script::then_each([opening(&[])], reply)
    }),
];

/// A reply with 1,000 fields, in as many frames as needed.
fn many_fields() -> Script {
    let mut bytes = STATUS_200.to_vec();
    for line in oddities::fields(1000).to_lowercase().lines() {
        let (name, value) = line.split_once(": ").unwrap_or((line, ""));
        literal(name, value, &mut bytes);
    }
    let pieces: Vec<&[u8]> = bytes.chunks(16_384).collect();
    let last = pieces.len() - 1;
    let mut frames: Vec<Frame> = Vec::new();
    for (at, piece) in pieces.into_iter().enumerate() {
        let kind = if at == 0 { kind::HEADERS } else { kind::CONTINUATION };
        frames.push(Frame::new(kind, if at == last { flag::END_HEADERS } else { flag::NONE }, piece));
    }
    frames.push(Frame::last(b"hello"));
    reply(frames)
}
