//! HTTP/1.1 servers that are odd but legal, or so common that every client tolerates them.

use std::fmt::Write as _;

use super::http1::GOOD;
use super::script::{Script, ScriptStep};
use super::{Case, Expected, Protocol, case};

const fn odd(name: &'static str, does: &'static str, script: fn() -> Script) -> Case {
    case(name, Protocol::Http1, Expected::Ok, does, script)
}

/// A chunked reply with these bytes for a body.
fn chunked(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{body}")
}

/// `hello`, compressed by gzip.
const GZIPPED: &[u8] =
    b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff\xcbH\xcd\xc9\xc9\x07\x00\x86\xa6\x106\x05\x00\x00\x00";

/// All cases.
pub const CASES: &[Case] = &[
    odd("many-fields", "sends 1,000 header fields", || {
        Script::answer(format!("HTTP/1.1 200 OK\r\n{}Content-Length: 5\r\n\r\nhello", fields(1000)))
    }),
    odd("long-field", "sends a header field of 100 KiB", || {
        let long = "x".repeat(100 * 1024);
        Script::answer(format!("HTTP/1.1 200 OK\r\nX-Long: {long}\r\nContent-Length: 5\r\n\r\nhello"))
    }),
    odd("trailers", "sends trailers behind its chunks", || {
        Script::answer(chunked("5\r\nhello\r\n0\r\nX-One: 1\r\nX-Two: 2\r\n\r\n"))
    }),
    odd("many-trailers", "sends 1,000 trailers behind its chunks", || {
        Script::answer(chunked(&format!("5\r\nhello\r\n0\r\n{}\r\n", fields(1000))))
    }),
    odd("chunk-extensions", "sends extensions with its chunks", || {
        Script::answer(chunked("5;name=value;other=\"quoted text\"\r\nhello\r\n0;last\r\n\r\n"))
    }),
    odd("chunk-zeros", "writes a chunk's size with leading zeros and in both cases", || {
        Script::answer(chunked("000a\r\nhellohello\r\n0A\r\nhellohello\r\n000\r\n\r\n"))
    }),
    odd("tiny-chunks", "sends chunks of one byte", || {
        Script::answer(chunked(&format!("{}0\r\n\r\n", "1\r\nx\r\n".repeat(2000))))
    }),
    odd("continue-first", "sends `100 Continue` before its reply", || {
        Script::answer(format!("HTTP/1.1 100 Continue\r\n\r\n{GOOD}"))
    }),
    odd("early-hints", "sends `103 Early Hints` twice before its reply", || {
        let hints = "HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n";
        Script::answer(format!("{hints}{hints}{GOOD}"))
    }),
    odd("http-1-0-close", "answers in HTTP/1.0 and closes", || {
        Script::answer_and_close("HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello")
    }),
    odd("http-1-0-keep-alive", "answers in HTTP/1.0 and keeps the connection", || {
        Script::answer("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello")
    }),
    odd("close-each", "announces the end of the connection with each reply, and closes", || {
        Script::answer_and_close("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello")
    }),
    odd("body-until-close", "ends its body by the end of the connection", || {
        Script::answer_and_close("HTTP/1.1 200 OK\r\n\r\nhello")
    }),
    odd("gzip-body", "sends a compressed body", || {
        let head =
            format!("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n", GZIPPED.len());
        Script::answer([head.as_bytes(), GZIPPED].concat())
    }),
    odd("odd-case", "writes header names in odd letter case and without blanks", || {
        Script::answer("HTTP/1.1 200 OK\r\ncOnTeNt-LeNgTh:5\r\nCONNECTION:\tKeep-Alive \r\n\r\nhello")
    }),
    odd("empty-reason", "leaves the reason phrase empty", || {
        Script::answer("HTTP/1.1 200 \r\nContent-Length: 5\r\n\r\nhello")
    }),
    odd("no-reason", "leaves the reason phrase and the blank before it out", || {
        Script::answer("HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhello")
    }),
    odd("line-feeds", "ends lines with line feeds alone", || {
        Script::answer("HTTP/1.1 200 OK\nContent-Length: 5\n\nhello")
    }),
    odd("no-content", "answers with 204 and no length", || Script::answer("HTTP/1.1 204 No Content\r\n\r\n")),
    odd("empty-body", "answers with a body of no bytes", || {
        Script::answer("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    }),
    odd("byte-writes", "writes each byte of its reply by itself", || {
        Script::each([ScriptStep::SendBytewise(chunked("5\r\nhello\r\n0\r\nX-One: 1\r\n\r\n").into_bytes())])
    }),
];

/// `count` header lines.
pub fn fields(count: usize) -> String {
    (0..count).fold(String::new(), |mut text, number| {
        // Writing to a string cannot fail.
        let _ = write!(text, "X-Field-{number}: value {number}\r\n");
        text
    })
}
