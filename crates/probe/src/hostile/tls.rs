//! TLS servers that refuse, pretend, stall and cut; inside TLS they speak HTTP/1.1.

use weighbridge_model::record::ErrorKind::{Protocol as Unreadable, Reset, Timeout, Tls};

use super::Expected::{Every, OneOf};
use super::http1::GOOD;
use super::script::{Certificate, Script, ScriptStep, repeated};
use super::{Case, Expected, Needs, Protocol, case};

/// A reply whose body ends with the connection.
const UNTIL_CLOSE: &str = "HTTP/1.1 200 OK\r\n\r\nhello";

const fn tls(name: &'static str, expected: Expected, does: &'static str, script: fn() -> Script) -> Case {
    case(name, Protocol::Tls, expected, does, script)
}

/// Shakes hands properly, then performs these steps for each request.
fn session(steps: impl IntoIterator<Item = ScriptStep>) -> Script {
    Script::then_each([ScriptStep::Handshake(Certificate::Valid)], steps)
}

/// Answers properly to clients that accept such a certificate.
fn certified(certificate: Certificate) -> Script {
    Script::then_each([ScriptStep::Handshake(certificate)], [ScriptStep::Send(GOOD.into())])
}

/// Answers the client's first bytes with these.
fn to_hello(bytes: impl Into<Vec<u8>>, then: ScriptStep) -> Script {
    Script::once([ScriptStep::Hello, ScriptStep::Raw(bytes.into()), then])
}

/// A record of application data that was not encrypted with any key.
fn forged_record() -> Vec<u8> {
    [&b"\x17\x03\x03\x00\x40"[..], &[0x5a; 64]].concat()
}

/// All cases.
pub const CASES: &[Case] = &[
    tls("tls-alert", Every(Tls), "answers the client's hello with an alert", || {
        to_hello(b"\x15\x03\x03\x00\x02\x02\x28", ScriptStep::Finish)
    }),
    tls("tls-plain-text", Every(Tls), "answers the client's hello in plain HTTP", || {
        to_hello(
            "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            ScriptStep::Finish,
        )
    }),
    tls("tls-garbage", Every(Tls), "answers the client's hello with a record of no known type", || {
        to_hello([&b"\x63\x03\x03\x00\x10"[..], &[0; 16]].concat(), ScriptStep::Finish)
    }),
    tls(
        "tls-endless-records",
        Every(Tls),
        "answers the client's hello with a handshake that never ends",
        || {
            // A ServerHello of 16 MiB, in records of 16,000 bytes.
            let record = [&b"\x16\x03\x03\x3e\x80"[..], &[0x5a; 16_000]].concat();
            Script::once([
                ScriptStep::Hello,
                ScriptStep::Raw(b"\x16\x03\x03\x00\x04\x02\xff\xff\xff".to_vec()),
                ScriptStep::Flood(repeated(&record)),
            ])
        },
    ),
    tls("tls-close-at-hello", OneOf(&[Tls, Reset]), "closes when the client's hello has come", || {
        Script::once([ScriptStep::Hello, ScriptStep::Close])
    }),
    tls("tls-close-mid-handshake", OneOf(&[Tls, Reset]), "closes in the middle of its own hello", || {
        to_hello(b"\x16\x03\x03\x00\x7a\x02\x00\x00\x76\x03\x03", ScriptStep::Finish)
    }),
    tls("tls-stall-in-handshake", OneOf(&[Tls, Timeout]), "stops in the middle of its own hello", || {
        to_hello(b"\x16\x03\x03\x00\x7a\x02\x00\x00\x76\x03\x03", ScriptStep::Stall)
    }),
    tls("tls-expired", Every(Tls), "shows a certificate whose time is over", || {
        certified(Certificate::Expired)
    })
    .needs(Needs::Trust),
    tls("tls-future", Every(Tls), "shows a certificate whose time has not begun", || {
        certified(Certificate::Future)
    })
    .needs(Needs::Trust),
    tls("tls-wrong-name", Every(Tls), "shows another host's certificate", || {
        certified(Certificate::OtherName)
    })
    .needs(Needs::Trust),
    tls("tls-stranger", Every(Tls), "shows a certificate that it signed itself", || {
        certified(Certificate::Stranger)
    })
    .needs(Needs::Trust),
    tls(
        "tls-forged-record",
        OneOf(&[Tls, Unreadable]),
        "answers a request with a record that no key has made",
        || session([ScriptStep::Raw(forged_record()), ScriptStep::Finish]),
    )
    .needs(Needs::NoVerification),
    tls("tls-plain-reply", OneOf(&[Tls, Unreadable]), "answers a request beneath TLS", || {
        session([ScriptStep::Raw(GOOD.into()), ScriptStep::Finish])
    })
    .needs(Needs::NoVerification),
    tls(
        "tls-truncated",
        Every(Reset),
        "cuts a body that ends with the connection, without saying goodbye",
        || session([ScriptStep::Send(UNTIL_CLOSE.into()), ScriptStep::Finish]),
    )
    .needs(Needs::NoVerification),
    tls("tls-cut-in-record", Every(Reset), "cuts the connection in the middle of a record", || {
        session([ScriptStep::Raw(forged_record()[..20].to_vec()), ScriptStep::Finish])
    })
    .needs(Needs::NoVerification),
    tls("tls-reset", Every(Reset), "resets the connection when a request has come", || {
        session([ScriptStep::Reset])
    })
    .needs(Needs::NoVerification),
    tls("tls-silent", Every(Timeout), "reads a request and says nothing", || session([ScriptStep::Stall]))
        .needs(Needs::NoVerification),
    tls("tls-verified", Expected::Ok, "shows a certificate that its authority vouches for", || {
        certified(Certificate::Valid)
    })
    .needs(Needs::Trust),
    tls("tls-1-2", Expected::Ok, "speaks TLS 1.2 only", || certified(Certificate::ValidOld))
        .needs(Needs::NoVerification),
    tls("tls-tiny-records", Expected::Ok, "puts each byte of its reply into a record of its own", || {
        session([ScriptStep::SendBytewise(GOOD.into())])
    })
    .needs(Needs::NoVerification),
    tls("tls-goodbye", Expected::Ok, "ends a body with the connection, and says goodbye first", || {
        session([ScriptStep::Send(UNTIL_CLOSE.into()), ScriptStep::CloseNotify, ScriptStep::Finish])
    })
    .needs(Needs::NoVerification),
    tls(
        "tls-close-each",
        Expected::Ok,
        "announces the end with each reply and cuts without saying goodbye",
        || {
            let reply = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello";
            session([ScriptStep::Send(reply.into()), ScriptStep::Finish])
        },
    )
    .needs(Needs::NoVerification),
];
