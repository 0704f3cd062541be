//! Rows F1 to F16: HTTP/2 in clear text, by prior knowledge, with the paths of `pingpong`.
//!
//! Most rows use a client library. Rows about what no library would send write frames by hand.

use std::time::Duration;

use tokio::time::sleep;
use weighbridge_model::experiment::Protocol;

use super::client::{Connection, Quiet};
use super::frames::{
    ACK, CONTINUATION, DATA, END_HEADERS, END_STREAM, Frame, GOAWAY, HEAD_OF_PONG, HEADERS, PADDED, PING,
    PREFACE, PRIORITY, SETTINGS, frame, read_frame, went_away,
};
use super::harness::{Harness, Service, Stopping};
use super::limits::{Limits, STREAM_END};
use super::outcome::{Shortfall, Verdict, differs, quoted};
use super::process::version_line;
use super::reply::{Expected, RawRequest};
use super::streams::{Http2, Windows, drive, next_chunk, receive, timely};
use super::{Needs, Test, row};

const NEEDS: Needs = Needs::Speaks(Protocol::HTTP2_JSON);

pub(super) const ROWS: &[Test] = &[
    row("F1", "`GET /pong/{n}` is answered by prior knowledge, sizes 4 to 1,000,000")
        .tried(NEEDS, sizes_are_answered),
    row("F2", "`GET /version` and `HEAD /version` answer as over HTTP/1.1").tried(NEEDS, version_is_answered),
    row("F3", "400, 404 and 405 are those of HTTP/1.1 and leave the connection usable")
        .tried(NEEDS, errors_keep_the_connection),
    row("F4", "`HEAD` has the head of `GET` and no body").tried(NEEDS, heads_have_no_body),
    row("F5", "10,000,000 bytes come whole under the windows that HTTP/2 begins with")
        .tried(NEEDS, |harness| asks(harness, Windows::DEFAULT, &[10_000_000])),
    row("F6", "a window of 1,000 bytes for a stream is kept to")
        .tried(NEEDS, |harness| asks(harness, Windows { stream: 1000, ..Windows::DEFAULT }, &[200_000])),
    row("F7", "100 streams at once on one connection get all their replies")
        .tried(NEEDS, many_streams_are_served),
    row("F8", "a stream that nobody reads does not hold up the others of its connection")
        .tried(NEEDS, an_unread_stream_holds_nobody_up),
    row("F9", "a stream that is reset amid its reply harms neither its connection nor others")
        .tried(NEEDS, a_reset_stream_harms_nobody),
    row("F10", "SETTINGS come first and ours are acknowledged, PING is answered")
        .tried(NEEDS, settings_and_ping_are_answered),
    row("F11", "a head in HEADERS and CONTINUATION, padded and with priority, is read")
        .tried(NEEDS, cut_and_padded_heads_are_read),
    row("F12", "a wrong preface, HTTP/1.1 included, is refused and nobody else notices")
        .tried(NEEDS, wrong_prefaces_are_refused),
    row("F13", "frames that break the protocol end their connection only")
        .tried(NEEDS, wrong_frames_are_refused),
    row("F14", "SIGTERM ends an idle connection within 2 s; exit code 0").tried(NEEDS, idle_connections_end),
    row("F15", "SIGTERM amid ten replies: GOAWAY, all are sent in full, then connection and process end")
        .tried(NEEDS, outstanding_streams_are_finished),
    row("F16", "a client that does not read its replies does not keep the process beyond 5 s")
        .tried(NEEDS, a_client_that_does_not_read_is_cut_off),
];

/// Time between a signal and the next check.
const MOMENT: Duration = Duration::from_millis(200);

const LARGE: usize = 1_000_000;

fn start(harness: &Harness) -> Result<Service, Shortfall> {
    harness.start_with(&[("PROTOCOL", "http2-json")])
}

async fn open(service: &Service, windows: Windows, limits: Limits) -> Result<Http2, Shortfall> {
    Http2::open(service.address(), limits, windows).await
}

/// A new connection gets pong(5).
fn answers(service: &Service, limits: Limits) -> Verdict {
    drive(async {
        let mut connection = open(service, Windows::DEFAULT, limits).await?;
        connection.ask(&RawRequest::pong(5), &Expected::Pong(5)).await
    })
}

/// Asks for these sizes one after another on one connection.
fn asks(harness: &mut Harness, windows: Windows, sizes: &[usize]) -> Verdict {
    let (service, limits) = (start(harness)?, harness.limits());
    drive(async {
        let mut connection = open(&service, windows, limits).await?;
        for size in sizes {
            connection.ask(&RawRequest::pong(*size), &Expected::Pong(*size)).await?;
        }
        Ok(())
    })
}

fn sizes_are_answered(harness: &mut Harness) -> Verdict {
    let sizes =
        [4, 5, 6, 99, 1000, 16_383, 16_384, 16_385, 32_768, 65_534, 65_535, 65_536, 65_537, 200_000, LARGE];
    asks(harness, Windows::DEFAULT, &sizes)
}

/// Sends requests one after another on one connection.
fn exchanges(harness: &mut Harness, exchanges: &[(RawRequest, Expected)]) -> Verdict {
    let (service, limits) = (start(harness)?, harness.limits());
    drive(async {
        let mut connection = open(&service, Windows::DEFAULT, limits).await?;
        for (request, expected) in exchanges {
            connection.ask(request, expected).await?;
        }
        Ok(())
    })
}

fn version_is_answered(harness: &mut Harness) -> Verdict {
    let version = Expected::Version(version_line(harness, &[])?);
    exchanges(
        harness,
        &[(RawRequest::get("/version"), version.clone()), (RawRequest::head("/version"), version)],
    )
}

fn errors_keep_the_connection(harness: &mut Harness) -> Verdict {
    let (service, limits) = (start(harness)?, harness.limits());
    drive(async {
        let mut connection = open(&service, Windows::DEFAULT, limits).await?;
        let problems =
            [("/pong/abc", 400), ("/pong/3", 400), ("/pong/", 400), ("/nowhere", 404), ("/pong", 404)];
        for (path, status) in problems {
            connection.ask(&RawRequest::get(path), &Expected::Problem(status)).await?;
        }
        let post = RawRequest::empty("POST", "/pong/5");
        connection.ask(&post, &Expected::Problem(405)).await?;
        let allowed = allowed_methods(&mut connection, &post, limits).await;
        let allowed = allowed.map_err(|came| differs(&post, "status 405", came))?;
        if allowed != ["GET", "HEAD"] {
            let came = format!("`{}`", allowed.join(", "));
            return Err(differs(&post, "`Allow` with GET and HEAD", came));
        }
        connection.ask(&RawRequest::pong(5), &Expected::Pong(5)).await
    })
}

/// The words of `Allow`, in alphabetical order.
async fn allowed_methods(
    connection: &mut Http2,
    request: &RawRequest,
    limits: Limits,
) -> Result<Vec<String>, String> {
    let response = connection.begin(request).await?;
    let response = timely("head of the reply", limits.for_reply(0), response).await?;
    let values = response.headers().get_all("allow").iter().filter_map(|value| value.to_str().ok());
    let mut words: Vec<_> =
        values.flat_map(|value| value.split(',')).map(|word| word.trim().to_owned()).collect();
    words.sort();
    Ok(words)
}

fn heads_have_no_body(harness: &mut Harness) -> Verdict {
    exchanges(
        harness,
        &[
            (RawRequest::head("/pong/5"), Expected::Pong(5)),
            (RawRequest::head("/pong/1000000"), Expected::Pong(LARGE)),
            (RawRequest::head("/pong/abc"), Expected::Problem(400)),
            (RawRequest::pong(5), Expected::Pong(5)),
        ],
    )
}

fn many_streams_are_served(harness: &mut Harness) -> Verdict {
    const SIZES: [usize; 5] = [4, 5, 1000, 65_536, 200_000];
    let (service, limits) = (start(harness)?, harness.limits());
    drive(async {
        let mut connection = open(&service, Windows::DEFAULT, limits).await?;
        let mut responses = Vec::new();
        for index in 0..100 {
            let size = SIZES[index % SIZES.len()];
            let (request, expected) = (RawRequest::pong(size), Expected::Pong(size));
            let response = connection.begin(&request).await;
            responses.push((response.map_err(|came| differs(&request, &expected, came))?, request, expected));
        }
        let tasks: Vec<_> = responses
            .into_iter()
            .map(|(response, request, expected)| {
                tokio::spawn(async move { receive(response, &request, &expected, limits).await })
            })
            .collect();
        for task in tasks {
            task.await.map_err(|error| Shortfall::Skipped(error.to_string()))??;
        }
        Ok(())
    })
}

fn an_unread_stream_holds_nobody_up(harness: &mut Harness) -> Verdict {
    let (service, limits) = (start(harness)?, harness.limits());
    drive(async {
        let mut connection = open(&service, Windows::ROOMY, limits).await?;
        let (request, expected) = (RawRequest::pong(LARGE), Expected::Pong(LARGE));
        let unread = connection.begin(&request).await;
        let unread = unread.map_err(|came| differs(&request, &expected, came))?;
        for size in 4..104 {
            connection.ask(&RawRequest::pong(size), &Expected::Pong(size)).await?;
        }
        receive(unread, &request, &expected, limits).await
    })
}

fn a_reset_stream_harms_nobody(harness: &mut Harness) -> Verdict {
    let (service, limits) = (start(harness)?, harness.limits());
    drive(async {
        let mut connection = open(&service, Windows::ROOMY, limits).await?;
        for _ in 0..20 {
            // A stream that is dropped before its bytes have arrived is reset with CANCEL.
            drop(begun(&mut connection, LARGE, limits).await?);
            connection.ask(&RawRequest::pong(5), &Expected::Pong(5)).await?;
        }
        Ok(())
    })?;
    answers(&service, limits)
}

/// A reply of `size` bytes whose head has arrived.
async fn begun(connection: &mut Http2, size: usize, limits: Limits) -> Result<h2::RecvStream, Shortfall> {
    let request = RawRequest::pong(size);
    let wrong = |came| differs(&request, "a reply that begins", came);
    let response = connection.begin(&request).await.map_err(wrong)?;
    let response = timely("head of the reply", limits.for_reply(0), response).await.map_err(wrong)?;
    Ok(response.into_body())
}

// Frames by hand

/// A connection on which the preface, our SETTINGS and `frames` were sent in one write.
fn sent(service: &Service, frames: &[u8]) -> Result<Connection, Shortfall> {
    let mut connection = service.connect()?;
    let bytes = [PREFACE, &frame(SETTINGS, 0, 0, &[]), frames].concat();
    connection.send(&bytes).map_err(|error| differs("frames", "a write that is taken", error))?;
    Ok(connection)
}

fn settings_and_ping_are_answered(harness: &mut Harness) -> Verdict {
    let service = start(harness)?;
    let mut connection = sent(&service, &frame(PING, 0, 0, b"weighing"))?;
    let wrong = |expected: &str, came: String| differs("a preface, SETTINGS and PING", expected, came);
    let first = read_frame(&mut connection).map_err(|came| wrong("SETTINGS", came))?;
    if (first.kind, first.flags & ACK, first.stream) != (SETTINGS, 0, 0) {
        return Err(wrong("SETTINGS as the first frame", format!("{first:?}")));
    }
    let (mut acknowledged, mut answered) = (0, 0);
    while (acknowledged, answered) != (1, 1) {
        let next = read_frame(&mut connection)
            .map_err(|came| wrong("an acknowledgement of SETTINGS and of PING", came))?;
        match next {
            Frame { kind: SETTINGS, flags: ACK, payload, .. } if payload.is_empty() => acknowledged += 1,
            Frame { kind: PING, flags: ACK, payload, .. } if payload == b"weighing" => answered += 1,
            Frame { kind: GOAWAY | SETTINGS | PING, .. } => {
                return Err(wrong("an acknowledgement of SETTINGS and of PING", format!("{next:?}")));
            }
            _ => {}
        }
    }
    Ok(())
}

fn cut_and_padded_heads_are_read(harness: &mut Harness) -> Verdict {
    let service = start(harness)?;
    let (one, two) = HEAD_OF_PONG.split_at(5);
    let (two, three) = two.split_at(1);
    let cut = [
        frame(HEADERS, END_STREAM, 1, one),
        frame(CONTINUATION, 0, 1, two),
        frame(CONTINUATION, END_HEADERS, 1, three),
    ];
    let padded = [&[3][..], HEAD_OF_PONG, &[0; 3]].concat();
    // Depends on stream 0, weight 16.
    let urgent = [&[0, 0, 0, 0, 15][..], HEAD_OF_PONG].concat();
    for (what, frames) in [
        ("HEADERS and two CONTINUATION", cut.concat()),
        ("padded HEADERS", frame(HEADERS, END_STREAM | END_HEADERS | PADDED, 1, &padded)),
        ("HEADERS with priority", frame(HEADERS, END_STREAM | END_HEADERS | PRIORITY, 1, &urgent)),
    ] {
        let mut connection = sent(&service, &frames)?;
        read_pong(&mut connection).map_err(|came| differs(what, "pong(5)", came))?;
    }
    Ok(())
}

/// Reads frames until stream 1 has ended and checks its body.
fn read_pong(connection: &mut Connection) -> Result<(), String> {
    let mut body = Vec::new();
    loop {
        let next = read_frame(connection)?;
        match next {
            Frame { kind: SETTINGS, flags: 0, .. } => {
                connection.send(&frame(SETTINGS, ACK, 0, &[])).map_err(|error| error.to_string())?;
            }
            Frame { kind: HEADERS, flags, stream: 1, .. } if flags & END_STREAM == 0 => {}
            Frame { kind: DATA, flags, stream: 1, payload } => {
                body.extend(payload);
                if flags & END_STREAM != 0 {
                    return Expected::Pong(5).check_body(&body);
                }
            }
            Frame { stream: 0, kind, .. } if kind != GOAWAY => {}
            other => return Err(format!("{other:?}")),
        }
    }
}

fn wrong_prefaces_are_refused(harness: &mut Harness) -> Verdict {
    let (service, limits) = (start(harness)?, harness.limits());
    for wrong in
        [&b"PRI * HTTP/2.0\r\n\r\nXM\r\n\r\n"[..], &RawRequest::pong(5).bytes(), b"\x16\x03\x01\x00\x05hello"]
    {
        let mut connection = service.connect()?;
        // If the service has already closed, the write may fail, which is also a refusal.
        let _ = connection.send(&[wrong, &[b'\n'; 64]].concat());
        refused(&mut connection, &quoted(wrong))?;
        answers(&service, limits)?;
    }
    Ok(())
}

fn wrong_frames_are_refused(harness: &mut Harness) -> Verdict {
    let (service, limits) = (start(harness)?, harness.limits());
    let mut endless = frame(HEADERS, END_STREAM | END_HEADERS, 1, HEAD_OF_PONG);
    endless[..3].fill(0xff);
    for (what, wrong) in [
        ("a frame of 16,777,215 bytes", endless),
        ("DATA on stream 0", frame(DATA, END_STREAM, 0, b"x")),
        ("HEADERS on stream 2", frame(HEADERS, END_STREAM | END_HEADERS, 2, HEAD_OF_PONG)),
        ("SETTINGS of 5 bytes", frame(SETTINGS, 0, 0, &[0; 5])),
        ("a head that is no HPACK", frame(HEADERS, END_STREAM | END_HEADERS, 1, &[0x80])),
        ("a CONTINUATION that continues nothing", frame(CONTINUATION, END_HEADERS, 1, HEAD_OF_PONG)),
    ] {
        refused(&mut sent(&service, &wrong)?, what)?;
        answers(&service, limits)?;
    }
    Ok(())
}

/// Waits for the end of the stream or a GOAWAY within the limit.
fn refused(connection: &mut Connection, what: &str) -> Verdict {
    let expected = "GOAWAY or the end of the stream within 2 s, and no reply";
    let deadline = connection.limits().within(STREAM_END);
    let (came, end) = connection.rest(deadline).map_err(|error| differs(what, expected, error))?;
    let refused =
        (end == Quiet::Closed || went_away(&came)) && !came.windows(5).any(|bytes| bytes == b"poong");
    if refused { Ok(()) } else { Err(differs(what, expected, quoted(&came))) }
}

// Stopping

fn idle_connections_end(harness: &mut Harness) -> Verdict {
    let (service, limits) = (start(harness)?, harness.limits());
    let stopping = drive(async {
        let mut connections = Vec::new();
        for _ in 0..3 {
            let mut connection = open(&service, Windows::DEFAULT, limits).await?;
            connection.ask(&RawRequest::pong(5), &Expected::Pong(5)).await?;
            connections.push(connection);
        }
        let stopping = service.terminate()?;
        let deadline = stopping.signalled() + STREAM_END;
        for connection in connections {
            let end = connection.end(deadline).await;
            end.map_err(|came| differs("SIGTERM", "the end of each idle connection within 2 s", came))?;
        }
        Ok(stopping)
    })?;
    stopping.end()
}

/// Begins ten large replies on one connection and sends SIGTERM when their heads have arrived.
async fn signal_amid_replies(
    service: Service,
    limits: Limits,
) -> Result<(Stopping, Http2, Vec<h2::RecvStream>), Shortfall> {
    let mut connection = open(&service, Windows::DEFAULT, limits).await?;
    let mut replies = Vec::new();
    for _ in 0..10 {
        replies.push(begun(&mut connection, LARGE, limits).await?);
    }
    Ok((service.terminate()?, connection, replies))
}

fn outstanding_streams_are_finished(harness: &mut Harness) -> Verdict {
    let (service, limits) = (start(harness)?, harness.limits());
    let stopping = drive(async {
        let (stopping, connection, replies) = signal_amid_replies(service, limits).await?;
        sleep(MOMENT).await;
        if !connection.is_going_away().await {
            return Err(differs(
                "SIGTERM amid replies",
                "GOAWAY within 200 ms",
                "a connection that takes more",
            ));
        }
        let tasks: Vec<_> =
            replies.into_iter().map(|reply| tokio::spawn(whole_body(reply, limits))).collect();
        for task in tasks {
            let body = task.await.map_err(|error| Shortfall::Skipped(error.to_string()))?;
            body.and_then(|body| Expected::Pong(LARGE).check_body(&body))
                .map_err(|came| differs("SIGTERM amid replies", "the whole of each", came))?;
        }
        let end = connection.end_behind_reply().await;
        end.map_err(|came| differs("SIGTERM amid replies", "the connection's end behind the last", came))?;
        Ok(stopping)
    })?;
    stopping.end()
}

async fn whole_body(mut reply: h2::RecvStream, limits: Limits) -> Result<Vec<u8>, String> {
    let mut body = Vec::new();
    while let Some(chunk) = next_chunk(&mut reply, limits.for_reply(LARGE)).await? {
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

fn a_client_that_does_not_read_is_cut_off(harness: &mut Harness) -> Verdict {
    let (service, limits) = (start(harness)?, harness.limits());
    drive(async {
        let (stopping, connection, replies) = signal_amid_replies(service, limits).await?;
        // The event loop must keep running, so that the client answers control frames.
        let end = tokio::task::spawn_blocking(move || stopping.end()).await;
        drop((connection, replies));
        end.map_err(|error| Shortfall::Skipped(error.to_string()))?
    })
}
