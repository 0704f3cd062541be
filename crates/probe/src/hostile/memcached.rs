//! memcached servers that miscount, send too much and answer unrequested keys.

use weighbridge_model::record::ErrorKind::{Check, Protocol as Unreadable, Reset, Status, Timeout};

use super::Expected::{Every, OneOf, Some};
use super::script::{Script, ScriptStep};
use super::{Case, Expected, Protocol, case};

/// A good reply to `get`.
const GOOD: &str = "VALUE {key} 0 5\r\nhello\r\nEND\r\n";

const fn memcached(
    name: &'static str,
    expected: Expected,
    does: &'static str,
    script: fn() -> Script,
) -> Case {
    case(name, Protocol::Memcached, expected, does, script)
}

/// All cases. The client requests the value with `get`.
pub const CASES: &[Case] = &[
    memcached("memcached-length-too-large", Every(Timeout), "announces 100 bytes and sends 5", || {
        Script::answer_and_stall("VALUE {key} 0 100\r\nhello\r\nEND\r\n")
    }),
    memcached("memcached-length-too-small", Every(Unreadable), "announces 2 bytes and sends 5", || {
        Script::answer("VALUE {key} 0 2\r\nhello\r\nEND\r\n")
    }),
    memcached("memcached-length-letters", Every(Unreadable), "announces a length that is no number", || {
        Script::answer("VALUE {key} 0 five\r\nhello\r\nEND\r\n")
    }),
    memcached("memcached-length-negative", Every(Unreadable), "announces a negative length", || {
        Script::answer("VALUE {key} 0 -5\r\nhello\r\nEND\r\n")
    }),
    memcached("memcached-length-overflow", Every(Unreadable), "announces a length beyond 64 bits", || {
        Script::answer("VALUE {key} 0 99999999999999999999\r\nhello\r\nEND\r\n")
    }),
    memcached("memcached-no-length", Every(Unreadable), "announces no length", || {
        Script::answer("VALUE {key} 0\r\nhello\r\nEND\r\n")
    }),
    memcached("memcached-no-end", Every(Timeout), "leaves `END` out", || {
        Script::answer_and_stall("VALUE {key} 0 5\r\nhello\r\n")
    }),
    memcached(
        "memcached-value-without-line-end",
        Every(Unreadable),
        "leaves the line end behind a value out",
        || Script::answer("VALUE {key} 0 5\r\nhelloEND\r\n"),
    ),
    memcached("memcached-unknown-line", Every(Unreadable), "answers with a line of no known meaning", || {
        Script::answer("HELLO {key}\r\n")
    }),
    memcached("memcached-endless-line", Every(Unreadable), "sends a line without end", || {
        Script::answer_and_flood("VALUE ", b"more-and-")
    }),
    memcached("memcached-endless-value", Every(Timeout), "sends a value of 4 GiB", || {
        Script::answer_and_flood("VALUE {key} 0 4294967296\r\n", b"more of it ")
    }),
    memcached(
        "memcached-endless-values",
        OneOf(&[Unreadable, Check, Timeout]),
        "sends the value again and again",
        || Script::answer_and_flood("VALUE {key} 0 5\r\nhello\r\n", b"VALUE other 0 5\r\nhello\r\n"),
    ),
    memcached(
        "memcached-other-key",
        OneOf(&[Unreadable, Check]),
        "answers with a key that nobody asked for",
        || Script::answer("VALUE other-than-{key} 0 5\r\nhello\r\nEND\r\n"),
    ),
    memcached("memcached-stored", Every(Unreadable), "answers `STORED` though a value was asked for", || {
        Script::answer("STORED\r\n")
    }),
    memcached("memcached-server-error", Every(Status), "answers `SERVER_ERROR`", || {
        Script::answer("SERVER_ERROR out of memory\r\n")
    }),
    memcached("memcached-client-error", Every(Status), "answers `CLIENT_ERROR`", || {
        Script::answer("CLIENT_ERROR bad key\r\n")
    }),
    memcached("memcached-error", Every(Status), "answers `ERROR`", || Script::answer("ERROR\r\n")),
    memcached("memcached-two-replies", Some(Unreadable), "answers each request twice", || {
        Script::answer(GOOD.repeat(2))
    }),
    memcached("memcached-garbage", Every(Unreadable), "answers with bytes that are no text", || {
        Script::answer([&[0x80, 0, 0xff, 0xfe, 0][..], b"\r\n"].concat())
    }),
    memcached("memcached-http", Every(Unreadable), "answers as a web server", || {
        Script::answer_and_close("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
    }),
    memcached("memcached-close-mid-value", Every(Reset), "closes in the middle of a value", || {
        Script::answer_and_close("VALUE {key} 0 5\r\nhel")
    }),
    memcached("memcached-reset", Every(Reset), "resets the connection when a request has come", || {
        Script::each([ScriptStep::Reset])
    }),
    memcached("memcached-silent", Every(Timeout), "reads a request and says nothing", || {
        Script::answer_and_stall("")
    }),
    memcached("memcached-drip", Every(Timeout), "sends a value byte by byte, with pauses", || {
        let value = [&b"VALUE k 0 60000\r\n"[..], &[b'x'; 60_000]].concat();
        Script::each([ScriptStep::Drip(value)])
    }),
    memcached("memcached-byte-writes", Expected::Ok, "writes each byte of its reply by itself", || {
        Script::each([ScriptStep::SendBytewise(GOOD.into())])
    }),
    memcached("memcached-flags", Expected::Ok, "sends a value with the largest flags", || {
        Script::answer("VALUE {key} 4294967295 5\r\nhello\r\nEND\r\n")
    }),
    memcached(
        "memcached-line-ends-in-value",
        Expected::Ok,
        "sends a value that looks like the end of a reply",
        || Script::answer("VALUE {key} 0 13\r\nx\r\nEND\r\nEND\r\n\r\nEND\r\n"),
    ),
];
