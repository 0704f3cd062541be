//! HTTP/1.1 servers that close, stall, flood and lie.

use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use weighbridge_model::record::ErrorKind::{Protocol as Unreadable, Reset, Status, Timeout};

use super::Expected::{Every, Some};
use super::script::{Script, ScriptStep};
use super::{Case, Expected, Needs, Protocol, case};

/// A whole good reply.
pub const GOOD: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// A head that announces a body of 100 bytes, and the first few.
const HALF_BODY: &str = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf of it";

/// A head that announces chunks.
const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

const fn http1(name: &'static str, expected: Expected, does: &'static str, script: fn() -> Script) -> Case {
    case(name, Protocol::Http1, expected, does, script)
}

/// A good head with one more line in it.
fn with_line(line: &[u8]) -> Vec<u8> {
    [b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n", line, b"\r\n\r\nhello"].concat()
}

/// A chunked reply with these bytes for a body.
fn chunked(body: &str) -> String {
    format!("{CHUNKED}{body}")
}

/// All cases.
pub const CASES: &[Case] = &[
    // Early ends.
    http1("close-at-accept", Every(Reset), "closes as soon as it has accepted", || {
        Script::once([ScriptStep::Close])
    }),
    http1("close-before-reply", Every(Reset), "reads a request and closes", || Script::answer_and_close("")),
    http1("close-mid-head", Every(Reset), "closes in the middle of a header line", || {
        Script::answer_and_close("HTTP/1.1 200 OK\r\nContent-Le")
    }),
    http1("close-mid-body", Every(Reset), "closes after 10 of 100 bytes of body", || {
        Script::answer_and_close(HALF_BODY)
    }),
    http1("close-mid-chunk", Every(Reset), "closes in the middle of a chunk", || {
        Script::answer_and_close(chunked("5\r\nhel"))
    }),
    http1("close-before-last-chunk", Every(Reset), "closes after whole chunks, without the last one", || {
        Script::answer_and_close(chunked("5\r\nhello\r\n"))
    }),
    http1("reset-before-reply", Every(Reset), "reads a request and resets the connection", || {
        Script::each([ScriptStep::Reset])
    }),
    http1("reset-mid-body", Every(Reset), "resets the connection after 10 of 100 bytes of body", || {
        Script::each([ScriptStep::Send(HALF_BODY.into()), ScriptStep::Reset])
    }),
    // Never ends.
    http1("endless-head", Every(Unreadable), "sends header fields without end", || {
        Script::answer_and_flood("HTTP/1.1 200 OK\r\n", b"X-More: and more\r\n")
    }),
    http1("huge-field", Every(Unreadable), "sends one header field of 16 MiB", || {
        Script::each([
            ScriptStep::Send(b"HTTP/1.1 200 OK\r\nX-Huge: ".to_vec()),
            ScriptStep::Send(vec![b'x'; 16 << 20]),
            ScriptStep::Send(b"\r\n\r\n".to_vec()),
        ])
    }),
    http1("endless-reason", Every(Unreadable), "sends a reason phrase without end", || {
        Script::answer_and_flood("HTTP/1.1 200 ", b"OK and ")
    }),
    http1("endless-interim", Every(Timeout), "sends `100 Continue` again and again", || {
        Script::answer_and_flood("", b"HTTP/1.1 100 Continue\r\n\r\n")
    }),
    http1(
        "endless-body",
        Every(Timeout),
        "sends a body that only the end of the connection would end",
        || Script::answer_and_flood("HTTP/1.1 200 OK\r\n\r\n", b"more of it "),
    ),
    http1("endless-chunks", Every(Timeout), "sends chunks without end", || {
        Script::answer_and_flood(CHUNKED, b"b\r\nmore of it \r\n")
    }),
    http1("endless-chunk-extension", Every(Unreadable), "sends a chunk's extension without end", || {
        Script::answer_and_flood(chunked("5;"), b"name=value;")
    }),
    http1("endless-trailers", Every(Unreadable), "sends trailers without end", || {
        Script::answer_and_flood(chunked("5\r\nhello\r\n0\r\n"), b"X-More: and more\r\n")
    }),
    http1(
        "endless-after-length",
        Some(Unreadable),
        "goes on without end after the body that it announced",
        || Script::answer_and_flood(GOOD, b"and more "),
    ),
    // Slow or silent.
    http1("stall-at-accept", Every(Timeout), "accepts, and neither reads nor writes", || {
        Script::once([ScriptStep::Stall])
    }),
    http1("never-reads", Every(Timeout), "accepts and never reads, so that an upload stands still", || {
        Script::once([ScriptStep::Stall])
    })
    .needs(Needs::LargeBody),
    http1("stall-before-reply", Every(Timeout), "reads a request and says nothing", || {
        Script::answer_and_stall("")
    }),
    http1("stall-mid-head", Every(Timeout), "stops in the middle of the head", || {
        Script::answer_and_stall("HTTP/1.1 200 OK\r\nContent-Le")
    }),
    http1("stall-after-head", Every(Timeout), "stops after the head", || {
        Script::answer_and_stall("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
    }),
    http1("stall-mid-body", Every(Timeout), "stops after 10 of 100 bytes of body", || {
        Script::answer_and_stall(HALF_BODY)
    }),
    http1("drip-head", Every(Timeout), "sends the head byte by byte, with pauses", || {
        Script::each([ScriptStep::Drip(with_line(&[b'x'; 4096])), ScriptStep::Stall])
    }),
    http1("drip-body", Every(Timeout), "sends the body byte by byte, with pauses", || {
        Script::each([
            ScriptStep::Send(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n".to_vec()),
            ScriptStep::Drip(vec![b'x'; 100_000]),
        ])
    }),
    // Lengths.
    http1("length-too-small", Some(Unreadable), "sends more than the length that it announced", || {
        Script::answer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhello")
    }),
    http1("length-too-large", Every(Timeout), "sends less than the length that it announced", || {
        Script::answer_and_stall("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello")
    }),
    http1("length-doubled", Every(Unreadable), "announces two lengths that differ", || {
        Script::answer(with_line(b"Content-Length: 6"))
    }),
    http1("length-listed", Every(Unreadable), "announces two lengths that differ in one field", || {
        Script::answer("HTTP/1.1 200 OK\r\nContent-Length: 5, 6\r\n\r\nhello")
    }),
    http1("length-negative", Every(Unreadable), "announces a negative length", || {
        Script::answer("HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello")
    }),
    http1("length-signed", Every(Unreadable), "announces a length with a plus sign", || {
        Script::answer("HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nhello")
    }),
    http1("length-overflow", Every(Unreadable), "announces a length beyond 64 bits", || {
        Script::answer("HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551621\r\n\r\nhello")
    }),
    http1("length-empty", Every(Unreadable), "announces a length without a number", || {
        Script::answer("HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\nhello")
    }),
    // Chunks.
    http1("chunk-size-letters", Every(Unreadable), "sends a chunk's size that is no number", || {
        Script::answer(chunked("five\r\nhello\r\n0\r\n\r\n"))
    }),
    http1("chunk-size-overflow", Every(Unreadable), "sends a chunk's size beyond 64 bits", || {
        Script::answer(chunked("10000000000000005\r\nhello\r\n0\r\n\r\n"))
    }),
    http1("chunk-size-missing", Every(Unreadable), "sends a chunk without a size", || {
        Script::answer(chunked("\r\nhello\r\n0\r\n\r\n"))
    }),
    http1("chunk-without-end", Every(Unreadable), "leaves out the line end after a chunk", || {
        Script::answer(chunked("5\r\nhello0\r\n\r\n"))
    }),
    http1("chunk-too-long", Every(Unreadable), "sends more in a chunk than its size says", || {
        Script::answer(chunked("3\r\nhello\r\n0\r\n\r\n"))
    }),
    // Not a reply.
    http1("garbage", Every(Unreadable), "answers with random bytes", || Script::answer(random_bytes(512))),
    http1("other-protocol", Every(Unreadable), "greets as a mail server", || {
        Script::once([ScriptStep::Send(b"220 mail.example ESMTP ready\r\n".to_vec()), ScriptStep::Stall])
    }),
    http1("tls-answer", Every(Unreadable), "answers with a TLS alert", || {
        Script::answer_and_close(b"\x15\x03\x01\x00\x02\x02\x16")
    }),
    http1("http-0-9", Every(Unreadable), "answers with a page and no head, and closes", || {
        Script::answer_and_close("<html>hello</html>\r\n")
    }),
    http1("version-unknown", Every(Unreadable), "answers in `HTTP/3.7`", || {
        Script::answer("HTTP/3.7 200 OK\r\nContent-Length: 5\r\n\r\nhello")
    }),
    http1("status-letters", Every(Unreadable), "answers with a status that is no number", || {
        Script::answer("HTTP/1.1 abc OK\r\nContent-Length: 5\r\n\r\nhello")
    }),
    http1("status-zero", Every(Unreadable), "answers with status 000", || {
        Script::answer("HTTP/1.1 000 OK\r\nContent-Length: 5\r\n\r\nhello")
    }),
    http1("switching", Every(Unreadable), "switches protocols though nobody asked", || {
        Script::answer(
            "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: other\r\n\r\nhello",
        )
    }),
    http1("folded-line", Every(Unreadable), "folds a header line", || {
        Script::answer(with_line(b"X-Folded: one\r\n two"))
    }),
    http1("line-without-colon", Every(Unreadable), "sends a header line without a colon", || {
        Script::answer(with_line(b"X-No-Colon"))
    }),
    http1("nul-in-value", Every(Unreadable), "sends a NUL in a header's value", || {
        Script::answer(with_line(b"X-Nul: a\0b"))
    }),
    http1("nul-in-name", Every(Unreadable), "sends a NUL in a header's name", || {
        Script::answer(with_line(b"X-N\0ul: ab"))
    }),
    http1("blank-before-colon", Every(Unreadable), "sends a blank before a header's colon", || {
        Script::answer(with_line(b"X-Blank : ab"))
    }),
    // Unrequested bytes.
    http1("reply-before-request", Some(Unreadable), "answers before anything was asked", || {
        Script::once([ScriptStep::Send(GOOD.into()), ScriptStep::Stall])
    })
    .needs(Needs::Pauses),
    http1("two-replies", Some(Unreadable), "answers each request twice", || Script::answer(GOOD.repeat(2))),
    // Proper refusals.
    http1("refused-upload", Every(Status), "refuses a body with 413 before it was sent", || {
        Script::once([
            ScriptStep::Hello,
            ScriptStep::Send(
                b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_vec(),
            ),
            ScriptStep::Finish,
        ])
    })
    .needs(Needs::LargeBody),
    http1("failing-status", Every(Status), "answers with status 500", || {
        Script::answer("HTTP/1.1 500 Internal Server Error\r\nContent-Length: 4\r\n\r\noops")
    }),
];

/// The same random bytes each time; no prefix of them begins a reply.
fn random_bytes(count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    ChaCha8Rng::seed_from_u64(7).fill_bytes(&mut bytes);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn garbage_is_the_same_each_time_and_no_reply() {
        assert_eq!(random_bytes(64), random_bytes(64));
        assert!(!random_bytes(1).starts_with(b"H"));
    }
}
