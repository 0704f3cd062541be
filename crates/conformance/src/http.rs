//! Rows H1 to H22: HTTP/1.1 as needed by every protocol based on it, for any workload.

use std::thread;
use std::time::{Duration, Instant};

use super::client::{ClientError, Connection};
use super::harness::Harness;
use super::limits::STREAM_END;
use super::outcome::{Shortfall, Verdict, differs};
use super::process::version_line;
use super::reply::{Expected, RawRequest, Reply, ask, check_open, exchange, receive};
use super::{Needs, Test, row};

pub(super) const ROWS: &[Test] = &[
    row("H1", "`GET /version` answers the line of `--version`")
        .tried(Needs::Service, |harness| get_version(harness).map(drop)),
    row("H2", "`HEAD /version` answers the head of `GET /version` without a body")
        .tried(Needs::Service, head_of_version_equals_get),
    row("H3", "a path that is not known is 404, never a redirect")
        .tried(Needs::Service, unknown_paths_are_404),
    row("H4", "a method that a known path has not is 405 with `Allow: GET, HEAD`")
        .tried(Needs::Service, other_methods_are_405),
    row("H5", "the method is judged before the size").tried(Needs::Service, |harness| {
        harness.ask(&RawRequest::empty("POST", "/pong/abc"), &Expected::Problem(405)).map(drop)
    }),
    row("H6", "100 requests in turn on one connection are answered and leave it open")
        .tried(Needs::Service, a_connection_is_kept),
    row("H7", "400, 404 and 405 leave the connection usable")
        .tried(Needs::Service, errors_keep_the_connection),
    row("H8", "`Connection: close` is obeyed behind the reply").tried(Needs::Service, |harness| {
        answers_and_closes(harness, &RawRequest::pong(5).with("Connection: close"))
    }),
    row("H9", "HTTP/1.0 without `Connection` is answered and closed")
        .tried(Needs::Service, |harness| answers_and_closes(harness, &RawRequest::pong(5).in_http10())),
    row("H10", "16 pipelined requests are answered in order")
        .tried(Needs::Service, |harness| pipeline(harness, &(4..20).collect::<Vec<_>>(), Duration::ZERO)),
    row("H11", "pipelined requests are answered in order where the replies are large and read late")
        .tried(Needs::Service, |harness| pipeline(harness, &[1000, 200_000, 5], Duration::from_millis(100))),
    row("H12", "a head that comes byte by byte is read").tried(Needs::Service, |harness| {
        in_pieces(harness, &(1..RawRequest::pong(5).bytes().len()).collect::<Vec<_>>(), Duration::ZERO)
    }),
    row("H13", "a head cut at any awkward place is read").tried(Needs::Service, cut_heads_are_read),
    row("H14", "a head of 4,000 bytes is read").tried(Needs::Service, a_long_head_is_read),
    row("H15", "what is not HTTP is refused with 400 or by closing, and nobody else notices")
        .tried(Needs::Service, |harness| refuses_or_closes(harness, "`frobnicate`", b"frobnicate\r\n\r\n")),
    row("H16", "connections that are closed before a whole head harm nobody")
        .tried(Needs::Service, abandoned_connections_harm_nobody),
    row("H17", "a connection that is reset amid a reply harms nobody")
        .tried(Needs::Service, a_reset_harms_nobody),
    row("H18", "20 connections at once with 50 requests each get all their replies")
        .tried(Needs::Service, many_connections_are_served),
    row("H19", "a connection that was idle for 15 s is still served")
        .tried(Needs::ServiceAndTime, idle_connections_are_kept),
    row("H20", "replies of 1,000 bytes do not wait for a timer (Nagle's algorithm)")
        .tried(Needs::Service, replies_do_not_wait),
    row("H21", "a body of up to 64 KiB is passed over, and the connection kept")
        .tried(Needs::Service, bodies_are_passed_over),
    row("H22", "a body of 2,000,000 bytes is passed over, refused with 413 or cut off, and nobody waits")
        .tried(Needs::Service, a_large_body_makes_nobody_wait),
];

fn get_version(harness: &mut Harness) -> Result<Reply, Shortfall> {
    let line = version_line(harness, &[])
        .map_err(|_| Shortfall::Skipped("`--version` gives no line to compare with (row C1)".to_owned()))?;
    harness.ask(&RawRequest::get("/version"), &Expected::Version(line))
}

fn head_of_version_equals_get(harness: &mut Harness) -> Verdict {
    let get = get_version(harness)?;
    let request = RawRequest::head("/version");
    let expected = Expected::Version(String::from_utf8_lossy(&get.body).into_owned());
    let mut connection = harness.connect()?;
    let head = ask(&mut connection, &request, &expected)?.head;
    let (expected, came) = (get.head.lasting_headers(), head.lasting_headers());
    if expected != came {
        return Err(differs(request, format_args!("the headers {expected:?}"), format_args!("{came:?}")));
    }
    ask(&mut connection, &RawRequest::pong(5), &Expected::Pong(5)).map(drop)
}

fn unknown_paths_are_404(harness: &mut Harness) -> Verdict {
    const PATHS: [&str; 9] =
        ["/", "/pong", "/pong/5/", "/pong/5/6", "/pong%2F5", "/Pong/5", "/ping", "/version/", "/versions"];
    PATHS
        .into_iter()
        .try_for_each(|path| harness.ask(&RawRequest::get(path), &Expected::Problem(404)).map(drop))
}

fn other_methods_are_405(harness: &mut Harness) -> Verdict {
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"] {
        for path in ["/pong/5", "/pong/", "/version"] {
            let request = RawRequest::empty(method, path);
            let reply = harness.ask(&request, &Expected::Problem(405))?;
            reply.allows(&request, &["GET", "HEAD"])?;
        }
    }
    Ok(())
}

fn a_connection_is_kept(harness: &mut Harness) -> Verdict {
    let steps: Vec<_> = (4..104).map(|n| (RawRequest::pong(n), Expected::Pong(n))).collect();
    in_turn(harness, &steps)
}

fn errors_keep_the_connection(harness: &mut Harness) -> Verdict {
    in_turn(
        harness,
        &[
            (RawRequest::get("/pong/abc"), Expected::Problem(400)),
            (RawRequest::get("/nowhere"), Expected::Problem(404)),
            (RawRequest::empty("POST", "/pong/5"), Expected::Problem(405)),
            (RawRequest::pong(5), Expected::Pong(5)),
        ],
    )
}

/// Sends requests one after another on one connection, which must stay open after each reply.
fn in_turn(harness: &mut Harness, steps: &[(RawRequest, Expected)]) -> Verdict {
    let mut connection = harness.connect()?;
    steps.iter().try_for_each(|(request, expected)| ask(&mut connection, request, expected).map(drop))
}

fn answers_and_closes(harness: &mut Harness, request: &RawRequest) -> Verdict {
    let mut connection = harness.connect()?;
    exchange(&mut connection, request, &Expected::Pong(5))?;
    connection
        .end_behind_reply()
        .map_err(|came| differs(request, "the end of the stream behind the reply", came))
}

/// Sends requests for these sizes in one write and reads the replies after `pause`.
fn pipeline(harness: &mut Harness, sizes: &[usize], pause: Duration) -> Verdict {
    let mut connection = harness.connect()?;
    let bytes: Vec<u8> = sizes.iter().flat_map(|size| RawRequest::pong(*size).bytes()).collect();
    connection.send(&bytes).map_err(|error| differs("a pipeline", "a write that is taken", error))?;
    thread::sleep(pause);
    let mut last = None;
    for size in sizes {
        let request = RawRequest::pong(*size);
        let reply = receive(&mut connection, &request, &Expected::Pong(*size))?;
        last = Some((request, reply));
    }
    last.map_or(Ok(()), |(request, reply)| check_open(&mut connection, &request, &reply))
}

/// Sends `GET /pong/5` cut at these places, with `pause` between the pieces.
fn in_pieces(harness: &mut Harness, cuts: &[usize], pause: Duration) -> Verdict {
    let mut connection = harness.connect()?;
    let request = RawRequest::pong(5);
    let bytes = request.bytes();
    let remark = match cuts {
        [cut] => format!(" (sent in two pieces, {cut} bytes first)"),
        _ => " (sent byte by byte)".to_owned(),
    };
    let starts = [0].into_iter().chain(cuts.iter().copied());
    let ends = cuts.iter().copied().chain([bytes.len()]);
    for (start, end) in starts.zip(ends) {
        if start > 0 {
            thread::sleep(pause);
        }
        connection
            .send(&bytes[start..end])
            .map_err(|error| differs(format_args!("{request}{remark}"), "pong(5)", error))?;
    }
    receive(&mut connection, &request, &Expected::Pong(5))
        .and_then(|reply| check_open(&mut connection, &request, &reply))
        .map_err(|shortfall| shortfall.behind(&remark))
}

fn cut_heads_are_read(harness: &mut Harness) -> Verdict {
    let bytes = RawRequest::pong(5).bytes();
    let find = |text: &[u8]| bytes.windows(text.len()).position(|window| window == text).unwrap_or(0);
    let cuts = ["GET /po".len(), find(b"Host") + 2, find(b"\r") + 1, bytes.len() - 1];
    cuts.into_iter().try_for_each(|cut| in_pieces(harness, &[cut], Duration::from_millis(20)))
}

fn a_long_head_is_read(harness: &mut Harness) -> Verdict {
    let short = RawRequest::pong(5).with("X-Long: ").bytes().len();
    let request = RawRequest::pong(5).with(&format!("X-Long: {}", "a".repeat(4000 - short)));
    harness.ask(&request, &Expected::Pong(5)).map(drop)
}

/// Sends what must be refused: status 400 or the end of the stream, without effect on other connections.
pub(super) fn refuses_or_closes(harness: &mut Harness, what: &str, bytes: &[u8]) -> Verdict {
    let mut connection = harness.connect()?;
    let deadline = harness.limits().within(STREAM_END);
    let head = connection.send(bytes).and_then(|()| connection.head(deadline));
    let came = match head {
        Ok(head) if head.status == 400 => None,
        Ok(head) => Some(format!("status {}", head.status)),
        Err(error) if error.is_silent_close() => None,
        Err(error) => Some(error.to_string()),
    };
    match came {
        Some(came) => Err(differs(what, "status 400 or the end of the stream within 2 s", came)),
        None => harness.answers(),
    }
}

fn abandoned_connections_harm_nobody(harness: &mut Harness) -> Verdict {
    drop(harness.connect()?);
    let mut connection = harness.connect()?;
    let bytes = RawRequest::pong(5).bytes();
    connection
        .send(&bytes[..bytes.len() / 2])
        .map_err(|error| differs("half a head", "a write that is taken", error))?;
    drop(connection);
    harness.answers()
}

fn a_reset_harms_nobody(harness: &mut Harness) -> Verdict {
    let mut connection = harness.connect()?;
    let request = RawRequest::pong(10_000_000);
    let begun = connection.send(&request.bytes()).and_then(|()| connection.receive_at_least(1000));
    begun
        .and_then(|()| connection.reset())
        .map_err(|error| differs(request, "a reply that begins", error))?;
    harness.answers()
}

/// Connections of row H18.
const CROWD: usize = 20;

fn many_connections_are_served(harness: &mut Harness) -> Verdict {
    harness.shared()?.at_once(CROWD, one_of_many)
}

/// Sends 50 requests one after another, in a different order on each connection.
fn one_of_many(index: usize, mut connection: Connection) -> Verdict {
    const SIZES: [usize; 5] = [4, 5, 1000, 65_536, 200_000];
    // A step coprime to 50 visits all of its residues; there are 20 such steps, one for each connection.
    let step = (1..50).filter(|step| step % 2 != 0 && step % 5 != 0).nth(index).unwrap_or(1);
    (0..50).try_for_each(|turn| {
        let size = SIZES[turn * step % 50 / 10];
        ask(&mut connection, &RawRequest::pong(size), &Expected::Pong(size)).map(drop)
    })
}

fn idle_connections_are_kept(harness: &mut Harness) -> Verdict {
    let mut connection = harness.connect()?;
    let request = RawRequest::pong(5);
    ask(&mut connection, &request, &Expected::Pong(5))?;
    thread::sleep(Duration::from_secs(15));
    ask(&mut connection, &request, &Expected::Pong(5))
        .map(drop)
        .map_err(|shortfall| shortfall.behind(" (after 15 s without a request)"))
}

fn replies_do_not_wait(harness: &mut Harness) -> Verdict {
    const PLATEAU: Duration = Duration::from_millis(20);
    let mut connection = harness.connect()?;
    let request = RawRequest::pong(1000);
    let mut times = Vec::new();
    for _ in 0..50 {
        let sent = Instant::now();
        exchange(&mut connection, &request, &Expected::Pong(1000))?;
        times.push(sent.elapsed());
    }
    times.sort();
    let median = times[times.len() / 2];
    if median < PLATEAU {
        return Ok(());
    }
    Err(Shortfall::Warned(format!(
        "expected a median below 20 ms, came {median:.1?}; near 40 ms it is Nagle's algorithm meeting delayed \
         acknowledgement: set `TCP_NODELAY`, or write head and body at once"
    )))
}

fn bodies_are_passed_over(harness: &mut Harness) -> Verdict {
    let mut connection = harness.connect()?;
    for length in [5, 64 << 10] {
        // A service that answers before the body has arrived must still read past it.
        for pause in [Duration::ZERO, Duration::from_millis(20)] {
            for (path, status) in [("/pong/5", 405), ("/nowhere", 404)] {
                let (request, expected) = (RawRequest::post(path, length), Expected::Problem(status));
                let bytes = request.bytes();
                let (head, body) = bytes.split_at(bytes.len() - length);
                let sent = connection.send(head).and_then(|()| {
                    thread::sleep(pause);
                    connection.send(body)
                });
                sent.map_err(|error| differs(&request, &expected, error))?;
                let reply = receive(&mut connection, &request, &expected)?;
                check_open(&mut connection, &request, &reply)?;
            }
        }
    }
    ask(&mut connection, &RawRequest::pong(5), &Expected::Pong(5)).map(drop)
}

fn a_large_body_makes_nobody_wait(harness: &mut Harness) -> Verdict {
    let request = RawRequest::post("/pong/5", 2_000_000);
    let mut connection = harness.connect()?;
    match past_a_body(&mut connection, &request) {
        Ok([405 | 413, 200]) => {}
        // A connection that is closed before its body was read is reset, and its reply may be lost.
        Err(error) if error.is_end() => {}
        came => {
            let came = came.map_or_else(
                |error| error.to_string(),
                |[first, then]| format!("status {first}, then {then}"),
            );
            return Err(differs(request, "405 or 413, then pong(5) or the end of the stream", came));
        }
    }
    harness.answers()
}

/// The status of the reply to a request with a body, and of the reply to the following `GET /pong/5`.
fn past_a_body(connection: &mut Connection, request: &RawRequest) -> Result<[u16; 2], ClientError> {
    let mut statuses = [0; 2];
    for (bytes, status) in [request.bytes(), RawRequest::pong(5).bytes()].iter().zip(&mut statuses) {
        connection.send(bytes)?;
        let deadline = connection.limits().for_reply(0);
        let head = connection.head(deadline)?;
        let length = head.only("content-length").and_then(|length| length.parse().ok());
        connection.body(length.unwrap_or(0), deadline)?;
        *status = head.status;
    }
    Ok(statuses)
}
