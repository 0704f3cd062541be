//! Rows W1 to W5: the workload `person-client`, over each protocol for which a service has a client of `person`.
//!
//! The peer is the service itself where it answers `person` over that protocol, else another one that is built.

use std::thread;
use std::time::Duration;

use weighbridge_model::experiment::{
    LoadSpec, PersonClientSpec, PersonIds, PersonOperation, PersonSpec, Protocol, WorkloadSpec,
};
use weighbridge_workload::Workload;

use super::harness::{Harness, Service, no_peer};
use super::outcome::{Shortfall, Verdict, differs};
use super::peer::Absent;
use super::person::{Asked, folder_of};
use super::ping::timed;
use super::process::refuses;
use super::reply::{Expected, RawRequest, ask};
use super::{Needs, Subject, Test, row};

pub(super) const ROWS: &[Test] = &[
    row("W1", "every call tells the digest of the reply that the people file gives")
        .tried(Needs::Caller, |harness| over_each(harness, calls_are_right)),
    row("W2", "so do calls of eight connections at once")
        .tried(Needs::Caller, |harness| over_each(harness, calls_at_once_are_right)),
    row("W3", "a body that is no person is 400, another method 405, another path 404")
        .tried(Needs::Caller, wrong_requests_are_refused),
    row("W4", "a peer that is not there is 502, until it is there")
        .tried(Needs::Caller, an_absent_peer_is_502),
    row("W5", "a wrong `PEER_PROTOCOL` is refused in one line, exit code 2")
        .tried(Needs::Caller, wrong_protocols_are_refused),
];

/// How long a client may take until it connects again: gRPC's libraries wait for a second first.
const RECONNECTED: u32 = 100;
const LOOK: Duration = Duration::from_millis(50);

/// Connections of row W2.
const CROWD: usize = 8;

fn people() -> PersonSpec {
    let is_a_call = |one: &PersonOperation| {
        !matches!(one, PersonOperation::StreamPersons | PersonOperation::ProgramComposition)
    };
    let calls = PersonOperation::ALL.into_iter().filter(is_a_call);
    PersonSpec { operations: calls.collect(), ids: PersonIds::All, ..PersonSpec::default() }
}

fn start_relay(harness: &Harness, peer: &str, protocol: &str) -> Result<Service, Shortfall> {
    harness.start_with(&[("WORKLOAD", "person-client"), ("PEER", peer), ("PEER_PROTOCOL", protocol)])
}

/// Who answers `person` over a protocol.
fn answering<'a>(subject: &'a Subject, protocol: &str) -> Option<&'a Subject> {
    let named = Protocol::NAMED.into_iter().find(|row| row.name == protocol)?;
    std::iter::once(subject).chain(&subject.others).find(|one| one.offers("person", named.protocol))
}

/// Starts a relay and a peer for each protocol, and tries it; a protocol over which nobody here answers is told.
fn over_each(harness: &Harness, row: fn(&Service, &Asked) -> Verdict) -> Verdict {
    let folder = folder_of(&people())?;
    let data = folder.path().display().to_string();
    for protocol in &harness.subject.clients {
        let peer = answering(harness.subject, protocol).ok_or_else(|| nobody(protocol))?;
        let environment = [("WORKLOAD", "person"), ("PROTOCOL", protocol.as_str()), ("DATA", &data)];
        let peer = Harness::new(peer).start_with(&environment)?;
        let relay = start_relay(harness, &peer.address().to_string(), protocol)?;
        let asked =
            Asked { place: relay.address(), protocol: Protocol::HTTP1_JSON, limits: harness.limits() };
        row(&relay, &asked)
            .map_err(|shortfall| shortfall.behind(format_args!(" (its peer over {protocol})")))?;
    }
    Ok(())
}

fn nobody(protocol: &str) -> Shortfall {
    Shortfall::Skipped(format!("no service that is built here answers `person` over `{protocol}`"))
}

fn calls_are_right(relay: &Service, asked: &Asked) -> Verdict {
    timed(&mut relay.connect()?, &RawRequest::get("/call/getPerson/1"), &Expected::Called)?;
    all_calls(asked)
}

fn all_calls(asked: &Asked) -> Verdict {
    let spec = WorkloadSpec::PersonClient(PersonClientSpec(people()));
    let load = LoadSpec::default();
    asked
        .replies_are_right(Workload::new(&spec, &load, asked.protocol, &asked.address(), &|_| None))
        .map(drop)
}

fn calls_at_once_are_right(relay: &Service, asked: &Asked) -> Verdict {
    relay.at_once(CROWD, |_, _connection| all_calls(asked))
}

fn wrong_requests_are_refused(harness: &mut Harness) -> Verdict {
    let service = start_relay(harness, "127.0.0.1:9", "")?;
    let post =
        |body: usize| RawRequest::post("/call/createPerson", body).with("Content-Type: application/json");
    for (request, status) in [
        (post(0), 400),
        (post(6), 400),
        (RawRequest::get("/"), 404),
        (RawRequest::get("/person"), 404),
        (RawRequest::get("/call/getMissing"), 404),
        (RawRequest::get("/call/getPerson/1/2"), 404),
        (RawRequest::get("/call/createPerson"), 405),
        (RawRequest::empty("POST", "/call/listPersons"), 405),
        (RawRequest::empty("PUT", "/call/getPerson/1"), 405),
    ] {
        ask(&mut service.connect()?, &request, &Expected::Problem(status))?;
    }
    Ok(())
}

fn an_absent_peer_is_502(harness: &mut Harness) -> Verdict {
    let folder = folder_of(&people())?;
    let data = folder.path().display().to_string();
    let request = RawRequest::get("/call/getPerson/1");
    for protocol in &harness.subject.clients {
        let peer = answering(harness.subject, protocol).ok_or_else(|| nobody(protocol))?;
        let address = Absent::new().map_err(no_peer)?.address();
        let relay = start_relay(harness, &address.to_string(), protocol)?;
        ask(&mut relay.connect()?, &request, &Expected::Problem(502))?;
        let port = address.port().to_string();
        let environment =
            [("PORT", port.as_str()), ("WORKLOAD", "person"), ("PROTOCOL", protocol), ("DATA", &data)];
        let _peer = Harness::new(peer).start_with(&environment)?;
        let again = || ask(&mut relay.connect()?, &request, &Expected::Called).map(drop);
        let mut came = again();
        for _ in 0..RECONNECTED {
            if came.is_ok() {
                break;
            }
            thread::sleep(LOOK);
            came = again();
        }
        came.map_err(|shortfall| shortfall.behind(format_args!(" (its peer over {protocol} is there)")))?;
    }
    Ok(())
}

fn wrong_protocols_are_refused(harness: &mut Harness) -> Verdict {
    let relay = [("WORKLOAD", "person-client"), ("PEER", "127.0.0.1:9")];
    refuses(harness, &[], &relay[..1], &["PEER"])?;
    for value in ["frobnicate", "HTTP1-JSON", "grpc-frobnicate"] {
        let words = ["PEER_PROTOCOL", value, "http1-json"];
        refuses(harness, &[], &[relay[0], relay[1], ("PEER_PROTOCOL", value)], &words)?;
    }
    let other = [("WORKLOAD", "pingpong"), ("PEER_PROTOCOL", "frobnicate")];
    match harness.start_with(&other) {
        Err(Shortfall::Failed(_)) => {
            Err(differs("`PEER_PROTOCOL` of another workload", "that it is not read", "a refusal"))
        }
        started => started.map(drop),
    }
}
