//! Rows R1 to R20: the workload `ping` over `http1-json`, with verify as the peer, and `NAGLE`.
//!
//! Rows that need no separate peer share one instance of the relay; the peer's behaviour changes from row to
//! row. The cost of the relay's client is measured elsewhere; here it only has to be right.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::client::Connection;
use super::harness::{Harness, RelayAndPeer, no_peer};
use super::outcome::{Shortfall, Verdict, differs};
use super::peer::{Absent, Ending, Framing, Manner, Notice, Peer, REFUSAL};
use super::pingpong::SIZES as PONG_SIZES;
use super::process::refuses;
use super::reply::{Expected, RawRequest, ask, receive};
use super::stopping::ends_idle_connections;
use super::{Needs, Test, row};

pub(super) const ROWS: &[Test] = &[
    row("R1", "a `PEER` that is missing or no address with a port is refused in one line, exit code 2")
        .tried(Needs::Relay, wrong_peers_are_refused),
    row("R2", "`/ping/{n}` passes the body on and asks the peer once")
        .tried(Needs::Relay, bodies_are_passed_on),
    row("R3", "10,000,000 bytes are passed on, on four connections at once too")
        .tried(Needs::Relay, large_bodies_are_passed_on),
    row("R4", "`/mping/{n}` tells duration, length, code and retries")
        .tried(Needs::Relay, calls_are_measured),
    row("R5", "a wrong size is 400, and the peer is not asked")
        .tried(Needs::Relay, wrong_sizes_do_not_reach_the_peer),
    row("R6", "other paths are 404, other methods 405, and `HEAD` answers the head")
        .tried(Needs::Relay, paths_and_methods_are_judged),
    row("R7", "`duration_ns` contains the time that the peer takes")
        .tried(Needs::Relay, the_duration_contains_the_peer),
    row("R8", "another status of the peer is 502 on `/ping`, and told by `/mping`")
        .tried(Needs::Relay, other_statuses_are_told),
    row("R9", "a peer that is not there is 502, until it is there")
        .tried(Needs::Relay, an_absent_peer_is_502),
    row("R10", "the connection to the peer is kept").tried(Needs::Relay, the_connection_is_kept),
    row("R11", "20 connections at once are passed on, over about as many to the peer")
        .tried(Needs::Relay, many_are_passed_on),
    row("R12", "a peer that closes behind its replies is connected anew")
        .tried(Needs::Relay, a_closing_peer_is_connected_anew),
    row("R13", "a body that breaks off, in chunks or not, is 502, and harms nobody afterwards")
        .tried(Needs::Relay, half_a_body_is_502),
    row("R14", "a body that came in chunks is passed on with its length").tried(Needs::Relay, |harness| {
        let relay = harness.relay(Manner::Chunked)?;
        ask(&mut relay.service.connect()?, &ping(1000), &Expected::Pong(1000)).map(drop)
    }),
    row("R15", "SIGTERM while the peer is asked: the reply is sent, then the connection and the process end")
        .tried(Needs::Relay, stop_while_the_peer_is_asked),
    row("R16", "`NAGLE=default` is taken, another value refused in one line, exit code 2")
        .tried(Needs::Service, nagle_is_understood),
    row("R17", "SIGTERM ends idle connections of a relay within 1 s").tried(Needs::Relay, |harness| {
        let RelayAndPeer { service, peer: _peer } = RelayAndPeer::start(harness)?;
        ends_idle_connections(service, &ping(5))
    }),
    row("R18", "a peer that hangs up before a byte is asked again, three times, and `retries` tells of it")
        .tried(Needs::Relay, hang_ups_are_repeated),
    row("R19", "a peer that hangs up for ever is 502 after at most twelve requests")
        .tried(Needs::Relay, hanging_up_for_ever_is_502),
    row("R20", "half a head is 502 after at most four requests, and harms nobody afterwards")
        .tried(Needs::Relay, half_a_head_is_502),
];

const LARGE: usize = 10_000_000;

/// How long a relay may take to ask its peer, on any machine.
const ASKED_PATIENCE: Duration = Duration::from_secs(5);

const SIZES: [usize; 8] = [4, 5, 6, 1000, 1460, 65_536, 87_380, 1_000_000];

fn ping(n: usize) -> RawRequest {
    RawRequest::get(format!("/ping/{n}"))
}

fn mping(n: usize) -> RawRequest {
    RawRequest::get(format!("/mping/{n}"))
}

/// Asks `/mping/{n}` and returns the duration, which must be above 0 and at most the time that the client
/// waited.
fn measured(connection: &mut Connection, n: usize, expected: &Expected) -> Result<Duration, Shortfall> {
    timed(connection, &mping(n), expected)
}

/// The same of any request that a relay answers with a duration.
pub(super) fn timed(
    connection: &mut Connection,
    request: &RawRequest,
    expected: &Expected,
) -> Result<Duration, Shortfall> {
    let begin = Instant::now();
    let reply = ask(connection, request, expected)?;
    let waited = begin.elapsed();
    let nanoseconds = serde_json::from_slice::<Value>(&reply.body).ok();
    let nanoseconds = nanoseconds.and_then(|body| body.get("duration_ns").and_then(Value::as_u64));
    let duration = Duration::from_nanos(nanoseconds.unwrap_or(0));
    if duration.is_zero() || duration > waited {
        let expected = format!("`duration_ns` above 0 and at most the {waited:?} that its client waited");
        return Err(differs(request, expected, format_args!("{duration:?}")));
    }
    Ok(duration)
}

/// The reply to `/mping/{n}` with a lawful peer.
fn mpong(n: usize) -> Expected {
    Expected::Measured { length: n, code: 200, retries: 0..=0 }
}

fn wrong_peers_are_refused(harness: &mut Harness) -> Verdict {
    refuses(harness, &[], &[("WORKLOAD", "ping")], &["PEER"])?;
    let wrong = ["frobnicate", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:65536", ":80", "::1:80"];
    wrong.into_iter().try_for_each(|value| {
        refuses(harness, &[], &[("WORKLOAD", "ping"), ("PEER", value)], &["PEER", value])
    })
}

fn bodies_are_passed_on(harness: &mut Harness) -> Verdict {
    let relay = harness.relay(Manner::Lawful)?;
    let mut connection = relay.service.connect()?;
    for n in SIZES {
        ask(&mut connection, &ping(n), &Expected::Pong(n))?;
    }
    relay.was_asked("`GET /ping/{n}` of eight sizes", &SIZES)
}

fn large_bodies_are_passed_on(harness: &mut Harness) -> Verdict {
    let relay = harness.relay(Manner::Lawful)?;
    ask(&mut relay.service.connect()?, &ping(LARGE), &Expected::Pong(LARGE))?;
    relay.service.at_once(4, |index, mut connection| match index % 2 {
        0 => ask(&mut connection, &ping(LARGE), &Expected::Pong(LARGE)).map(drop),
        _ => measured(&mut connection, LARGE, &mpong(LARGE)).map(drop),
    })
}

fn calls_are_measured(harness: &mut Harness) -> Verdict {
    let relay = harness.relay(Manner::Lawful)?;
    let mut connection = relay.service.connect()?;
    let sizes = [SIZES.as_slice(), &[LARGE]].concat();
    for n in &sizes {
        measured(&mut connection, *n, &mpong(*n))?;
    }
    relay.was_asked("`GET /mping/{n}` of nine sizes", &sizes)
}

fn wrong_sizes_do_not_reach_the_peer(harness: &mut Harness) -> Verdict {
    let relay = harness.relay(Manner::Lawful)?;
    for path in ["ping", "mping"] {
        for size in ["3", "abc", "05", "100000001", ""] {
            let request = RawRequest::get(format!("/{path}/{size}"));
            ask(&mut relay.service.connect()?, &request, &Expected::Problem(400))?;
        }
    }
    relay.was_asked("`GET` of wrong sizes", &[])
}

fn paths_and_methods_are_judged(harness: &mut Harness) -> Verdict {
    let relay = harness.relay(Manner::Lawful)?;
    for path in ["/", "/pong/5", "/ping", "/mping", "/ping/5/", "/ping/5/6"] {
        ask(&mut relay.service.connect()?, &RawRequest::get(path), &Expected::Problem(404))?;
    }
    for path in ["/ping/5", "/mping/5"] {
        let request = RawRequest::empty("POST", path);
        let reply = ask(&mut relay.service.connect()?, &request, &Expected::Problem(405))?;
        reply.allows(&request, &["GET", "HEAD"])?;
    }
    let mut connection = relay.service.connect()?;
    ask(&mut connection, &RawRequest::head("/ping/5"), &Expected::Pong(5))?;
    ask(&mut connection, &RawRequest::head("/mping/5"), &mpong(5))?;
    ask(&mut connection, &ping(5), &Expected::Pong(5)).map(drop)
}

fn the_duration_contains_the_peer(harness: &mut Harness) -> Verdict {
    const WAIT: Duration = Duration::from_millis(50);
    let relay = harness.relay(Manner::After(WAIT))?;
    let duration = measured(&mut relay.service.connect()?, 1000, &mpong(1000))?;
    if duration >= WAIT {
        return Ok(());
    }
    let what = "`GET /mping/1000` of a peer that waits 50 ms";
    Err(differs(what, "`duration_ns` from 50 ms on", format_args!("{duration:?}")))
}

fn other_statuses_are_told(harness: &mut Harness) -> Verdict {
    for code in [404, 500] {
        let relay = harness.relay(Manner::Refusing(code))?;
        ask(&mut relay.service.connect()?, &ping(5), &Expected::Problem(502))?;
        let expected = Expected::Measured { length: REFUSAL.len(), code, retries: 0..=0 };
        measured(&mut relay.service.connect()?, 5, &expected)?;
    }
    Ok(())
}

fn an_absent_peer_is_502(harness: &mut Harness) -> Verdict {
    let absent = Absent::new().map_err(no_peer)?;
    let service = harness.start_relay(absent.address())?;
    for request in [ping(5), mping(5)] {
        ask(&mut service.connect()?, &request, &Expected::Problem(502))?;
    }
    let peer = absent.listen().map_err(no_peer)?;
    ask(&mut service.connect()?, &ping(5), &Expected::Pong(5))?;
    drop(peer);
    Ok(())
}

fn the_connection_is_kept(harness: &mut Harness) -> Verdict {
    let relay = harness.relay(Manner::Lawful)?;
    let mut connection = relay.service.connect()?;
    for _ in 0..100 {
        ask(&mut connection, &ping(5), &Expected::Pong(5))?;
    }
    accepted_at_most(&relay.peer, "100 times `GET /ping/5` in turn", 2)
}

fn accepted_at_most(peer: &Peer, what: &str, most: usize) -> Verdict {
    let came = peer.accepted();
    if came <= most {
        return Ok(());
    }
    Err(differs(what, format_args!("at most {most} connections to the peer"), came))
}

/// Connections of row R11.
const CROWD: usize = 20;

fn many_are_passed_on(harness: &mut Harness) -> Verdict {
    const SIZES: [usize; 5] = [4, 5, 1000, 65_536, 200_000];
    let relay = harness.relay(Manner::Lawful)?;
    relay.service.at_once(CROWD, |index, mut connection| {
        (0..20).try_for_each(|turn| {
            let n = SIZES[turn % SIZES.len()];
            match (index + turn) % 2 {
                0 => ask(&mut connection, &ping(n), &Expected::Pong(n)).map(drop),
                _ => measured(&mut connection, n, &mpong(n)).map(drop),
            }
        })
    })?;
    accepted_at_most(&relay.peer, "20 connections with 20 requests each", 2 * CROWD)
}

fn a_closing_peer_is_connected_anew(harness: &mut Harness) -> Verdict {
    for notice in [Notice::Given, Notice::None] {
        let relay = harness.relay(Manner::Closing(notice))?;
        let mut connection = relay.service.connect()?;
        for _ in 0..10 {
            ask(&mut connection, &ping(5), &Expected::Pong(5))?;
            thread::sleep(Duration::from_millis(20));
        }
    }
    Ok(())
}

fn half_a_body_is_502(harness: &mut Harness) -> Verdict {
    for framing in [Framing::Length, Framing::Chunks] {
        let relay = harness.relay(Manner::BreakingOff(framing))?;
        for request in [ping(100_000), mping(100_000)] {
            ask(&mut relay.service.connect()?, &request, &Expected::Problem(502))?;
        }
        relay.peer.behave(Manner::Lawful);
        ask(&mut relay.service.connect()?, &ping(5), &Expected::Pong(5))?;
    }
    Ok(())
}

fn hang_ups_are_repeated(harness: &mut Harness) -> Verdict {
    for (ending, times) in [(Ending::Close, 1), (Ending::Close, 3), (Ending::Reset, 1), (Ending::Reset, 3)] {
        // Uses a connection that was open before, since that is where it happens in practice.
        let relay = harness.relay(Manner::Lawful)?;
        let mut connection = relay.service.connect()?;
        measured(&mut connection, 5, &mpong(5))?;
        relay.peer.behave(Manner::HangingUp(times, ending));
        // The client library may have repeated one unnoticed.
        let expected = Expected::Measured { length: 5, code: 200, retries: times / 2..=times };
        let remark = format!(" (the peer hangs up {times} times: {ending:?})");
        measured(&mut connection, 5, &expected).map_err(|shortfall| shortfall.behind(remark))?;
        relay.was_asked(
            &format!("`GET /mping/5` of a peer that hangs up {times} times"),
            &vec![5; times + 1],
        )?;
    }
    Ok(())
}

fn hanging_up_for_ever_is_502(harness: &mut Harness) -> Verdict {
    for ending in [Ending::Close, Ending::Reset] {
        let relay = harness.relay(Manner::HangingUp(usize::MAX, ending))?;
        // Four times by the service, each of them up to twice again by its client library.
        is_502_within(12, relay, "a peer that always hangs up")?;
    }
    Ok(())
}

fn half_a_head_is_502(harness: &mut Harness) -> Verdict {
    let relay = harness.relay(Manner::HalfAHead)?;
    is_502_within(4, relay, "a peer that sends half a head")?;
    relay.peer.behave(Manner::Lawful);
    ask(&mut relay.service.connect()?, &ping(5), &Expected::Pong(5)).map(drop)
}

/// Checks that both paths are 502, and that the peer is asked at most `most` times for each.
fn is_502_within(most: usize, relay: &RelayAndPeer, what: &str) -> Verdict {
    for request in [ping(5), mping(5)] {
        let before = relay.peer.asked().len();
        ask(&mut relay.service.connect()?, &request, &Expected::Problem(502))?;
        let came = relay.peer.asked().len() - before;
        if came > most {
            let expected = format!("at most {most} requests to the peer");
            return Err(differs(format_args!("{request} of {what}"), expected, came));
        }
    }
    Ok(())
}

fn stop_while_the_peer_is_asked(harness: &mut Harness) -> Verdict {
    // A separate instance, since it ends here.
    let RelayAndPeer { service, peer } = RelayAndPeer::start(harness)?;
    peer.behave(Manner::After(Duration::from_millis(500)));
    let mut connection = service.connect()?;
    let request = ping(5);
    connection.send(&request.bytes()).map_err(|error| differs(&request, "a write that is taken", error))?;
    // Waits long enough for any machine; if the relay never asks, the reply shows it.
    let start = Instant::now();
    while peer.asked().is_empty() && start.elapsed() < ASKED_PATIENCE {
        thread::sleep(Duration::from_millis(5));
    }
    let stopping = service.terminate()?;
    receive(&mut connection, &request, &Expected::Pong(5))?;
    let end = connection.end_behind_reply();
    end.map_err(|came| {
        differs("SIGTERM while the peer is asked", "the end of the stream behind the reply", came)
    })?;
    stopping.end()
}

fn nagle_is_understood(harness: &mut Harness) -> Verdict {
    refuses(harness, &[], &[("NAGLE", "frobnicate")], &["NAGLE", "frobnicate"])?;
    let service = harness.start_with(&[("NAGLE", "default"), ("WORKLOAD", "pingpong")])?;
    for n in [5].into_iter().chain(PONG_SIZES) {
        ask(&mut service.connect()?, &RawRequest::pong(n), &Expected::Pong(n))?;
    }
    Ok(())
}
