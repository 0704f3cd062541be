//! Rows T1 to T13: TLS on the listener, for any protocol inside.
//!
//! Each row makes its own certificate. Ciphers, curves and the order of messages are left to the library.

use std::sync::Arc;
use std::time::Duration;

use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, HandshakeKind, ProtocolVersion, SupportedProtocolVersion};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::sleep;
use tokio_rustls::client::TlsStream;
use weighbridge_model::experiment::Protocol;

use super::client::Quiet;
use super::harness::{Harness, Service};
use super::limits::{Limits, STREAM_END};
use super::outcome::{Shortfall, Verdict, differs, quoted};
use super::process::refuses;
use super::reply::{Expected, RawRequest};
use super::secure::Identity;
use super::streams::{Http2, Windows, ask_http1, drive, handshake, receive_http1, timely};
use super::{Needs, SPOKEN, Test, grpc, row};

const HTTP1: Needs = Needs::SpeaksTls(Protocol::HTTP1_JSON);

pub(super) const ROWS: &[Test] = &[
    row("T1", "`TLS_CERT` without `TLS_KEY`, or the other way round, is refused in one line, exit code 2")
        .tried(HTTP1, one_without_the_other_is_refused),
    row("T2", "files that are absent, no PEM or of different pairs are refused in one line, exit code 2")
        .tried(HTTP1, wrong_files_are_refused),
    row("T3", "TLS 1.3: requests are answered, with `http/1.1` by ALPN and without ALPN")
        .tried(HTTP1, |harness| speaks_http1(harness, &TLS13)),
    row("T4", "TLS 1.2: requests are answered, with `http/1.1` by ALPN and without ALPN")
        .tried(HTTP1, |harness| speaks_http1(harness, &TLS12)),
    row("T5", "TLS 1.3: a second connection resumes the session of the first")
        .tried(HTTP1, |harness| resumes(harness, &TLS13)),
    row("T6", "TLS 1.2: a second connection resumes the session of the first")
        .tried(HTTP1, |harness| resumes(harness, &TLS12)),
    row("T7", "10,000,000 bytes come whole").tried(HTTP1, a_large_body_comes_whole),
    row("T8", "`http2-json` is chosen by ALPN `h2` in TLS 1.3 and 1.2")
        .tried(Needs::SpeaksTls(Protocol::HTTP2_JSON), speaks_http2),
    row("T9", "`grpc` is chosen by ALPN `h2` in TLS 1.3 and 1.2")
        .tried(Needs::SpeaksTls(Protocol::GRPC), speaks_grpc),
    row("T10", "a client that offers only other protocols by ALPN is refused in the handshake")
        .tried(HTTP1, foreign_protocols_are_refused),
    row("T11", "plain text is refused within 2 s, and nobody else notices")
        .tried(HTTP1, plain_text_is_refused),
    row("T12", "silence and half a handshake hold up neither others nor, beyond 5 s, the process")
        .tried(HTTP1, silence_holds_nobody_up),
    row("T13", "SIGTERM amid a reply: it is sent in full, then the connection and the process end")
        .tried(HTTP1, stop_amid_a_reply),
];

/// Time between a signal and the next check.
const MOMENT: Duration = Duration::from_millis(200);

const LARGE: usize = 10_000_000;

/// A service that speaks TLS, and the certificate given to it.
fn start(harness: &Harness, protocol: Protocol) -> Result<(Service, Identity), Shortfall> {
    let identity = Identity::new()?;
    let (certificate, key) = (identity.certificate(), identity.key());
    let service = harness.start_with(&[
        ("PROTOCOL", protocol.name()),
        ("TLS_CERT", &certificate.to_string_lossy()),
        ("TLS_KEY", &key.to_string_lossy()),
    ])?;
    Ok((service, identity))
}

/// A connection after a handshake, which must have chosen this version and protocol.
async fn open(
    service: &Service,
    limits: Limits,
    config: &Arc<ClientConfig>,
    chosen: Option<&str>,
) -> Result<TlsStream<TcpStream>, Shortfall> {
    let wrong = |came: String| differs("the handshake of TLS", "its end", came);
    let stream = handshake(service.address(), limits, config).await?.map_err(wrong)?;
    let came = stream.get_ref().1.alpn_protocol();
    // A service need not support ALPN for HTTP/1.1, which predates it.
    if came != chosen.map(str::as_bytes) {
        let expected =
            chosen.map_or("nothing chosen by ALPN".to_owned(), |name| format!("`{name}` chosen by ALPN"));
        let came = came.map_or("nothing".to_owned(), quoted);
        return Err(differs("the handshake of TLS", expected, came));
    }
    Ok(stream)
}

/// A new connection gets pong(5).
fn answers(service: &Service, limits: Limits, identity: &Identity) -> Verdict {
    let config = identity.client(&TLS13, &[])?;
    drive(async {
        let mut stream = open(service, limits, &config, None).await?;
        ask_http1(&mut stream, limits, &RawRequest::pong(5), &Expected::Pong(5)).await
    })
}

fn one_without_the_other_is_refused(harness: &mut Harness) -> Verdict {
    let identity = Identity::new()?;
    let (certificate, key) = (identity.certificate(), identity.key());
    for (name, path) in [("TLS_CERT", certificate), ("TLS_KEY", key)] {
        refuses(harness, &[], &[(name, &path.to_string_lossy())], &["TLS_CERT", "TLS_KEY"])?;
    }
    Ok(())
}

fn wrong_files_are_refused(harness: &mut Harness) -> Verdict {
    let (identity, other) = (Identity::new()?, Identity::new()?);
    let text = |path: std::path::PathBuf| path.to_string_lossy().into_owned();
    let (certificate, key) = (text(identity.certificate()), text(identity.key()));
    let garbage = text(identity.folder().join("garbage.pem"));
    std::fs::write(&garbage, "frobnicate\n").map_err(|error| Shortfall::Skipped(error.to_string()))?;
    let absent = text(identity.folder().join("absent.pem"));
    for (certificate, key, blamed, wrong) in [
        (&absent, &key, "TLS_CERT", &absent),
        (&garbage, &key, "TLS_CERT", &garbage),
        (&certificate, &absent, "TLS_KEY", &absent),
        (&certificate, &garbage, "TLS_KEY", &garbage),
        (&certificate, &text(other.key()), "TLS_KEY", &text(other.key())),
    ] {
        refuses(harness, &[], &[("TLS_CERT", certificate), ("TLS_KEY", key)], &[blamed, wrong])?;
    }
    Ok(())
}

fn speaks_http1(harness: &mut Harness, version: &'static SupportedProtocolVersion) -> Verdict {
    let (service, identity) = start(harness, Protocol::HTTP1_JSON)?;
    let limits = harness.limits();
    for chosen in [Some("http/1.1"), None] {
        let config = identity.client(version, chosen.as_slice())?;
        drive(async {
            let mut stream = open(&service, limits, &config, chosen).await?;
            for size in [4, 5, 1000, 16_384, 16_385, 65_536, 1_000_000] {
                ask_http1(&mut stream, limits, &RawRequest::pong(size), &Expected::Pong(size)).await?;
            }
            ask_http1(&mut stream, limits, &RawRequest::get("/nowhere"), &Expected::Problem(404)).await?;
            ask_http1(&mut stream, limits, &RawRequest::pong(5), &Expected::Pong(5)).await
        })?;
    }
    Ok(())
}

fn resumes(harness: &mut Harness, version: &'static SupportedProtocolVersion) -> Verdict {
    let (service, identity) = start(harness, Protocol::HTTP1_JSON)?;
    let limits = harness.limits();
    let config = identity.client(version, &["http/1.1"])?;
    drive(async {
        for connection in ["the first connection", "the second connection", "the third connection"] {
            let mut stream = open(&service, limits, &config, Some("http/1.1")).await?;
            // The tickets for resumption arrive with the reply at the latest.
            ask_http1(&mut stream, limits, &RawRequest::pong(5), &Expected::Pong(5)).await?;
            let kind = stream.get_ref().1.handshake_kind();
            let resumed = kind == Some(HandshakeKind::Resumed);
            if resumed != (connection != "the first connection") {
                return Err(differs(
                    connection,
                    "a resumed session on all but the first",
                    format!("{kind:?}"),
                ));
            }
            let _ = stream.shutdown().await;
        }
        Ok(())
    })
}

fn a_large_body_comes_whole(harness: &mut Harness) -> Verdict {
    let (service, identity) = start(harness, Protocol::HTTP1_JSON)?;
    let limits = harness.limits();
    let config = identity.client(&TLS13, &["http/1.1"])?;
    drive(async {
        let mut stream = open(&service, limits, &config, Some("http/1.1")).await?;
        ask_http1(&mut stream, limits, &RawRequest::pong(LARGE), &Expected::Pong(LARGE)).await
    })
}

/// A connection for HTTP/2 over TLS.
async fn open_http2(
    service: &Service,
    limits: Limits,
    config: &Arc<ClientConfig>,
    version: ProtocolVersion,
) -> Result<Http2, Shortfall> {
    let stream = open(service, limits, config, Some("h2")).await?;
    let came = stream.get_ref().1.protocol_version();
    if came != Some(version) {
        return Err(differs("the handshake of TLS", format!("{version:?}"), format!("{came:?}")));
    }
    Http2::over(stream, "https", limits, Windows::DEFAULT).await
}

fn speaks_http2(harness: &mut Harness) -> Verdict {
    let (service, identity) = start(harness, Protocol::HTTP2_JSON)?;
    let limits = harness.limits();
    for version in [&TLS13, &TLS12] {
        let config = identity.client(version, &["h2", "http/1.1"])?;
        drive(async {
            let mut connection = open_http2(&service, limits, &config, version.version).await?;
            for size in [4, 5, 1000, 65_536, 1_000_000] {
                connection.ask(&RawRequest::pong(size), &Expected::Pong(size)).await?;
            }
            connection.ask(&RawRequest::get("/nowhere"), &Expected::Problem(404)).await
        })?;
    }
    Ok(())
}

fn speaks_grpc(harness: &mut Harness) -> Verdict {
    let (service, identity) = start(harness, Protocol::GRPC)?;
    let limits = harness.limits();
    for version in [&TLS13, &TLS12] {
        let config = identity.client(version, &["h2"])?;
        drive(async {
            let mut connection = open_http2(&service, limits, &config, version.version).await?;
            for size in [4, 5, 1000, 65_536, 1_000_000] {
                grpc::ask_pong(&mut connection, size, limits).await?;
            }
            Ok(())
        })?;
    }
    Ok(())
}

fn foreign_protocols_are_refused(harness: &mut Harness) -> Verdict {
    let offered = |protocol: &Protocol| harness.subject.offers("pingpong", *protocol);
    for protocol in SPOKEN.into_iter().filter(offered) {
        let (service, identity) = start(harness, protocol)?;
        let limits = harness.limits();
        let config = identity.client(&TLS13, &["frobnicate"])?;
        drive(async {
            let what = format!("ALPN `frobnicate` where `{}` is spoken", protocol.name());
            let refused = |came: &str| differs(&what, "a refused handshake", came);
            match handshake(service.address(), limits, &config).await? {
                Err(came) if came.starts_with("no end of the handshake") => Err(refused(&came)),
                Err(_) => Ok(()),
                // In TLS 1.3 the client's handshake may end before the refusal arrives.
                Ok(mut stream) => match timely("end", limits.within(STREAM_END), stream.read_u8()).await {
                    Ok(_) => Err(refused("bytes")),
                    Err(came) if came.starts_with("no end within") => Err(refused(&came)),
                    Err(_) => Ok(()),
                },
            }
        })?;
    }
    Ok(())
}

fn plain_text_is_refused(harness: &mut Harness) -> Verdict {
    let (service, identity) = start(harness, Protocol::HTTP1_JSON)?;
    let limits = harness.limits();
    for text in [RawRequest::pong(5).bytes(), b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(), vec![0; 100]] {
        let what = quoted(&text);
        let mut connection = service.connect()?;
        connection.send(&text).map_err(|error| differs(&what, "a write that is taken", error))?;
        let expected = "status 400, an alert or nothing, and the end of the stream within 2 s";
        let rest = connection.rest(limits.within(STREAM_END));
        let (came, end) = rest.map_err(|error| differs(&what, expected, error))?;
        if end != Quiet::Closed || came.windows(5).any(|bytes| bytes == b"poong") {
            return Err(differs(&what, expected, quoted(&came)));
        }
        answers(&service, limits, &identity)?;
    }
    Ok(())
}

fn silence_holds_nobody_up(harness: &mut Harness) -> Verdict {
    let (service, identity) = start(harness, Protocol::HTTP1_JSON)?;
    let limits = harness.limits();
    let silent = service.connect()?;
    let mut halved = service.connect()?;
    // The header of a record that announces 512 bytes of a handshake, and the first of them (ClientHello).
    let half = [0x16, 0x03, 0x01, 0x02, 0x00, 0x01];
    halved.send(&half).map_err(|error| differs("half a handshake", "a write that is taken", error))?;
    answers(&service, limits, &identity)?;
    let end = service.terminate()?.exit_code();
    drop((silent, halved));
    end
}

fn stop_amid_a_reply(harness: &mut Harness) -> Verdict {
    let (service, identity) = start(harness, Protocol::HTTP1_JSON)?;
    let limits = harness.limits();
    let config = identity.client(&TLS13, &["http/1.1"])?;
    let stopping = drive(async {
        let mut stream = open(&service, limits, &config, Some("http/1.1")).await?;
        let (request, expected) = (RawRequest::pong(LARGE), Expected::Pong(LARGE));
        let wrong = |came: String| differs("SIGTERM amid a reply", &expected, came);
        stream.write_all(&request.bytes()).await.map_err(|error| wrong(error.to_string()))?;
        let mut first = [0; 1];
        timely("reply", limits.for_reply(0), stream.read_exact(&mut first)).await.map_err(wrong)?;
        let stopping = service.terminate()?;
        sleep(MOMENT).await;
        let mut stream = tokio::io::join(std::io::Cursor::new(first).chain(stream), tokio::io::sink());
        receive_http1(&mut stream, limits, &request, &expected).await.map_err(wrong)?;
        match timely("end", limits.within(STREAM_END), stream.read_u8()).await {
            Ok(byte) => Err(wrong(format!("{} behind the reply", quoted(&[byte])))),
            Err(came) if came.starts_with("no end within") => Err(wrong(came)),
            Err(_) => Ok(stopping),
        }
    })?;
    stopping.end()
}
