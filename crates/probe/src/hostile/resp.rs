//! Redis servers that confuse types, count wrongly, nest and flood.

use weighbridge_model::record::ErrorKind::{Check, Protocol as Unreadable, Reset, Status, Timeout};

use super::Expected::{Every, OneOf, Some};
use super::script::{Script, ScriptStep};
use super::{Case, Expected, Protocol, case};

/// A good reply to `GET`.
const GOOD: &str = "$5\r\nhello\r\n";

const fn resp(name: &'static str, expected: Expected, does: &'static str, script: fn() -> Script) -> Case {
    case(name, Protocol::Resp, expected, does, script)
}

/// All cases. The client requests the value with `GET`.
pub const CASES: &[Case] = &[
    resp(
        "resp-integer-for-text",
        OneOf(&[Unreadable, Check]),
        "answers with a number though a text was asked for",
        || Script::answer(":5\r\n"),
    ),
    resp(
        "resp-array-for-text",
        OneOf(&[Unreadable, Check]),
        "answers with an array though a text was asked for",
        || Script::answer("*2\r\n$5\r\nhello\r\n:1\r\n"),
    ),
    resp("resp-unknown-type", Every(Unreadable), "answers with a value of no known type", || {
        Script::answer("@5\r\nhello\r\n")
    }),
    resp("resp-length-negative", Every(Unreadable), "sends a text of -5 bytes", || Script::answer("$-5\r\n")),
    resp("resp-length-letters", Every(Unreadable), "sends a text whose length is no number", || {
        Script::answer("$five\r\nhello\r\n")
    }),
    resp("resp-length-empty", Every(Unreadable), "sends a text without a length", || {
        Script::answer("$\r\nhello\r\n")
    }),
    resp("resp-length-overflow", Every(Unreadable), "sends a text of a length beyond 64 bits", || {
        Script::answer("$99999999999999999999\r\nhello\r\n")
    }),
    resp("resp-length-too-small", Every(Unreadable), "announces 2 bytes and sends 5", || {
        Script::answer("$2\r\nhello\r\n")
    }),
    resp("resp-length-too-large", Every(Timeout), "announces 100 bytes and sends 5", || {
        Script::answer_and_stall("$100\r\nhello\r\n")
    }),
    resp("resp-no-line-end", Every(Unreadable), "leaves the line end behind a text out", || {
        Script::answer("$5\r\nhelloXX")
    }),
    resp("resp-number-letters", Every(Unreadable), "sends a number that is none", || {
        Script::answer(":abc\r\n")
    }),
    resp("resp-array-negative", Every(Unreadable), "sends an array of -5 values", || {
        Script::answer("*-5\r\n")
    }),
    resp(
        "resp-array-huge",
        OneOf(&[Unreadable, Check, Timeout]),
        "sends an array of 2,147,483,647 values",
        || Script::answer_and_flood("*2147483647\r\n", b":1\r\n"),
    ),
    resp(
        "resp-array-silent",
        OneOf(&[Unreadable, Timeout]),
        "announces an array of 2,147,483,647 values and stops",
        || Script::answer_and_stall("*2147483647\r\n"),
    ),
    resp("resp-deep-nesting", Every(Unreadable), "sends arrays in arrays without end", || {
        Script::answer_and_flood("", b"*1\r\n")
    }),
    resp("resp-endless-line", Every(Unreadable), "sends a line without end", || {
        Script::answer_and_flood("+", b"OK and ")
    }),
    resp("resp-endless-text", OneOf(&[Timeout, Unreadable]), "sends a text of 4 GiB", || {
        Script::answer_and_flood("$4294967296\r\n", b"more of it ")
    }),
    resp("resp-push-cut", Every(Unreadable), "sends a push of no values", || Script::answer(">-1\r\n")),
    resp("resp-error", Every(Status), "answers with an error", || Script::answer("-ERR oops\r\n")),
    resp("resp-two-replies", Some(Unreadable), "answers each request twice", || {
        Script::answer(GOOD.repeat(2))
    }),
    resp("resp-garbage", Every(Unreadable), "answers with bytes that are no text", || {
        Script::answer(vec![0, 0xff, 0xfe, 0x80, b'\r', b'\n'])
    }),
    resp("resp-http", Every(Unreadable), "answers as a web server", || {
        Script::answer_and_close("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
    }),
    resp("resp-close-mid-text", Every(Reset), "closes in the middle of a text", || {
        Script::answer_and_close("$5\r\nhel")
    }),
    resp("resp-reset", Every(Reset), "resets the connection when a request has come", || {
        Script::each([ScriptStep::Reset])
    }),
    resp("resp-silent", Every(Timeout), "reads a request and says nothing", || Script::answer_and_stall("")),
    resp("resp-drip", Every(Timeout), "sends a text byte by byte, with pauses", || {
        Script::each([ScriptStep::Drip([&b"$60000\r\n"[..], &[b'x'; 60_000]].concat())])
    }),
    resp("resp-byte-writes", Expected::Ok, "writes each byte of its reply by itself", || {
        Script::each([ScriptStep::SendBytewise(GOOD.into())])
    }),
    resp("resp-simple-text", Expected::Ok, "answers with a simple string", || Script::answer("+hello\r\n")),
    resp("resp-line-ends-in-text", Expected::Ok, "sends a text that looks like replies", || {
        Script::answer("$12\r\n+OK\r\n$-1\r\n\r\n\r\n")
    }),
];
