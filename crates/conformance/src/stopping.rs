//! Rows S1 to S9: the effect of SIGTERM. Each starts its own instance.

use std::thread;
use std::time::Duration;

use super::client::{ClientError, Connection};
use super::harness::{Harness, Service, Stopping};
use super::limits::IDLE_END;
use super::outcome::{Shortfall, Verdict, differs};
use super::reply::{Expected, RawRequest, ask, receive};
use super::{Needs, Test, row};

pub(super) const ROWS: &[Test] = &[
    row("S1", "SIGTERM without connections: exit code 0 within 5 s, without a word")
        .tried(Needs::Service, |harness| harness.start()?.terminate()?.end()),
    row("S2", "SIGTERM ends idle connections within 1 s").tried(Needs::Service, idle_connections_end),
    row("S3", "SIGTERM amid a reply: it is sent in full, then the connection and the process end")
        .tried(Needs::Service, |harness| stop_amid_a_reply(harness).map(drop)),
    row("S4", "SIGTERM closes the listener while a reply is outstanding")
        .tried(Needs::Service, the_listener_is_closed),
    row("S5", "a client that does not read its reply does not keep the process beyond 5 s")
        .tried(Needs::Service, a_client_that_does_not_read_is_cut_off),
    row("S6", "a connection that never carried a request does not keep the process beyond 5 s")
        .tried(Needs::Service, |harness| stop_behind(harness, 0)),
    row("S7", "half a head does not keep the process beyond 5 s")
        .tried(Needs::Service, |harness| stop_behind(harness, RawRequest::pong(5).bytes().len() / 2)),
    row("S8", "the port can be used again at once").tried(Needs::Service, the_port_is_free_again),
    row("S9", "SIGTERM is handled as soon as `ready` is said").tried(Needs::Service, sigterm_at_once),
];

/// Time between a signal or a connection and the next check.
const MOMENT: Duration = Duration::from_millis(200);

/// Time for the service to accept a connection on which nothing can be answered.
const ACCEPT: Duration = Duration::from_millis(50);

/// How often row S9 tries to hit the gap between `ready` and the handling of SIGTERM.
const TRIES: usize = 5;

/// How often row S8 tries, since another process may take the port meanwhile.
const ATTEMPTS: usize = 3;

const LARGE: usize = 10_000_000;

fn idle_connections_end(harness: &mut Harness) -> Verdict {
    ends_idle_connections(harness.start()?, &RawRequest::pong(5))
}

/// Gets pong(5) by this request on three connections, then sends SIGTERM.
pub(super) fn ends_idle_connections(service: Service, request: &RawRequest) -> Verdict {
    let mut connections = Vec::new();
    for _ in 0..3 {
        let mut connection = service.connect()?;
        ask(&mut connection, request, &Expected::Pong(5))?;
        connections.push(connection);
    }
    let stopping = service.terminate()?;
    let deadline = stopping.signalled() + IDLE_END;
    for connection in &mut connections {
        let end = connection.end(deadline);
        end.map_err(|came| differs("SIGTERM", "the end of each idle connection within 1 s", came))?;
    }
    stopping.end()
}

/// Starts an instance, asks for a large reply, reads its beginning and sends SIGTERM.
fn signal_amid_a_reply(harness: &mut Harness) -> Result<(Stopping, Connection), Shortfall> {
    let service = harness.start()?;
    let mut connection = service.connect()?;
    let request = RawRequest::pong(LARGE);
    connection
        .send(&request.bytes())
        .and_then(|()| connection.receive_at_least(1000))
        .map_err(|error| differs(request, "a reply that begins", error))?;
    Ok((service.terminate()?, connection))
}

/// Row S3; returns the port.
fn stop_amid_a_reply(harness: &mut Harness) -> Result<u16, Shortfall> {
    let (stopping, mut connection) = signal_amid_a_reply(harness)?;
    thread::sleep(MOMENT);
    receive(&mut connection, &RawRequest::pong(LARGE), &Expected::Pong(LARGE))?;
    let end = connection.end_behind_reply();
    end.map_err(|came| differs("SIGTERM amid a reply", "the end of the stream behind the reply", came))?;
    let port = stopping.address().port();
    stopping.end()?;
    Ok(port)
}

fn the_listener_is_closed(harness: &mut Harness) -> Verdict {
    let (stopping, connection) = signal_amid_a_reply(harness)?;
    thread::sleep(MOMENT);
    let came = match Connection::open(stopping.address(), harness.limits()) {
        Err(ClientError::Refused) => None,
        Err(error) => Some(error.to_string()),
        Ok(_) => Some("an accepted one".to_owned()),
    };
    drop(connection);
    match came {
        None => Ok(()),
        Some(came) => Err(differs("connecting 200 ms after SIGTERM", "a refused connection", came)),
    }
}

fn a_client_that_does_not_read_is_cut_off(harness: &mut Harness) -> Verdict {
    let (stopping, connection) = signal_amid_a_reply(harness)?;
    let end = stopping.end();
    drop(connection);
    end
}

/// Connects, sends the beginning of a head, then SIGTERM.
fn stop_behind(harness: &mut Harness, length: usize) -> Verdict {
    let service = harness.start()?;
    let mut connection = service.connect()?;
    connection
        .send(&RawRequest::pong(5).bytes()[..length])
        .map_err(|error| differs("half a head", "a write that is taken", error))?;
    thread::sleep(ACCEPT);
    let end = service.terminate()?.end();
    drop(connection);
    end
}

fn the_port_is_free_again(harness: &mut Harness) -> Verdict {
    let mut outcome = Ok(());
    for _ in 0..ATTEMPTS {
        let port = stop_amid_a_reply(harness)?;
        outcome = again_on(harness, port);
        if outcome.is_ok() {
            break;
        }
    }
    outcome
}

fn again_on(harness: &Harness, port: u16) -> Verdict {
    let service = harness.start_with(&[("PORT", &port.to_string())])?;
    let came = service.address().port();
    if came == port {
        return Ok(());
    }
    Err(differs(format_args!("start with `PORT={port}` again"), format_args!("`ready {port}`"), came))
}

fn sigterm_at_once(harness: &mut Harness) -> Verdict {
    (0..TRIES).try_for_each(|_| harness.start()?.terminate()?.end())
}
