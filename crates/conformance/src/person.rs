//! Rows V1 to V7: the workload `person`, over each protocol for which a service offers it.
//!
//! Requests, replies and what is right of them come from the workload itself, and travel as under load.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use tempfile::TempDir;
use weighbridge_load::exchange::{Collected, ExchangeError, Limits, exchange};
use weighbridge_model::experiment::{
    CodecName, FramingName, LoadSpec, PersonIds, PersonOperation, PersonSpec, Protocol, WorkloadSpec,
};
use weighbridge_model::quantity::{Bytes, Nanoseconds};
use weighbridge_workload::{
    Address, PersonTrial, Received, UrlScheme, Workload, WorkloadError, person_trial, service_data,
};

use super::harness::{Harness, Service};
use super::limits::left;
use super::outcome::{Shortfall, Verdict, differs};
use super::reply::{Expected, RawRequest, ask};
use super::running::Patience;
use super::{Needs, Test, row};

pub(super) const ROWS: &[Test] = &[
    row("V1", "every operation answers the value that the people file gives")
        .tried(Needs::Persons, every_operation),
    row("V2", "a created person comes back whole, whatever its texts hold")
        .tried(Needs::Persons, |harness| over_each(harness, |asked| asked.trial(PersonTrial::HardTexts))),
    row("V3", "a person in another legal spelling is read, and written as the codec writes it")
        .tried(Needs::Persons, |harness| over_each(harness, Asked::other_spelling)),
    row("V4", "a body that ends too early is refused, and leaves the service usable").tried(
        Needs::Persons,
        |harness| {
            over_each(harness, |asked| {
                asked.trial(PersonTrial::Truncated)?;
                asked.all_operations(&people(4)).map(drop)
            })
        },
    ),
    row("V5", "10,000 persons are answered").tried(Needs::Persons, many_persons),
    row("V6", "without a people file it does not start").tried(Needs::Persons, data_is_needed),
    row("V7", "another media type is 415, another method 405, another path 404")
        .tried(Needs::Persons, wrong_requests_are_refused),
];

/// Longest reply: 10,000 persons in JSON.
const LONGEST: Bytes = Bytes::new(16 << 20);

fn people(persons: u32) -> PersonSpec {
    PersonSpec {
        operations: PersonOperation::ALL
            .into_iter()
            .filter(|one| *one != PersonOperation::ProgramComposition)
            .collect(),
        ids: PersonIds::All,
        persons,
        ..PersonSpec::default()
    }
}

/// The protocols for which the service offers the workload.
fn offered(harness: &Harness) -> impl Iterator<Item = Protocol> + use<> {
    let names = harness.subject.workloads.get("person").cloned().unwrap_or_default();
    let is_offered = move |protocol: &Protocol| names.iter().any(|name| name == protocol.name());
    Protocol::NAMED.into_iter().map(|row| row.protocol).filter(is_offered)
}

/// An instance that speaks one protocol.
pub(super) struct Asked {
    pub(super) place: SocketAddr,
    pub(super) protocol: Protocol,
    pub(super) limits: super::limits::Limits,
}

/// A right reply.
pub(super) struct RightReply {
    operation: String,
    body: Vec<u8>,
    /// Whether these are the bytes of the request's body.
    is_echo: bool,
}

fn every_operation(harness: &mut Harness) -> Verdict {
    let mut notes = Vec::new();
    over_each(harness, |asked| {
        let payloads = asked.all_operations(&people(4))?;
        notes.push(format!("{}, bytes of payload: {payloads}", asked.protocol.name()));
        Ok(())
    })?;
    notes.into_iter().for_each(|note| harness.note(note));
    Ok(())
}

/// Tries the service with the people file over each protocol.
fn over_each(harness: &mut Harness, mut row: impl FnMut(&Asked) -> Verdict) -> Verdict {
    let limits = harness.limits();
    for protocol in offered(harness) {
        let service = harness.with_data("person", protocol, |harness| {
            // The people are read before the service is ready.
            let folder = folder_of(&people(4))?;
            start(harness, protocol, folder.path())
        })?;
        row(&Asked { place: service.address(), protocol, limits })
            .map_err(|shortfall| over(protocol, shortfall))?;
    }
    Ok(())
}

fn over(protocol: Protocol, shortfall: Shortfall) -> Shortfall {
    shortfall.behind(format_args!(" (over {})", protocol.name()))
}

/// Each instance has its people and ends before the next one starts.
fn many_persons(harness: &mut Harness) -> Verdict {
    harness.end_those_with_data();
    let many = PersonSpec { ids: PersonIds::One, ..people(10_000) };
    let folder = folder_of(&many)?;
    for protocol in offered(harness) {
        let service = start(harness, protocol, folder.path())?;
        let asked = Asked { place: service.address(), protocol, limits: harness.limits() };
        asked.all_operations(&many).map_err(|shortfall| over(protocol, shortfall))?;
    }
    Ok(())
}

fn start(harness: &Harness, protocol: Protocol, folder: &Path) -> Result<Service, Shortfall> {
    let folder = folder.display().to_string();
    harness.start_with(&[("WORKLOAD", "person"), ("PROTOCOL", protocol.name()), ("DATA", &folder)])
}

/// A folder with the people file.
pub(super) fn folder_of(spec: &PersonSpec) -> Result<TempDir, Shortfall> {
    let unwritten = |error: std::io::Error| Shortfall::Skipped(format!("this host takes no file: {error}"));
    let folder = tempfile::tempdir().map_err(unwritten)?;
    for file in service_data(&WorkloadSpec::Person(spec.clone()), None) {
        fs::write(folder.path().join(file.name), file.contents).map_err(unwritten)?;
    }
    Ok(folder)
}

impl Asked {
    pub(super) fn address(&self) -> Address {
        Address { authority: self.place.to_string(), base: "/".to_owned(), scheme: UrlScheme::default() }
    }

    /// Those that the protocol has. Says the bytes of each operation's replies, for one person after the other.
    fn all_operations(&self, spec: &PersonSpec) -> Result<String, Shortfall> {
        let mut spec = spec.clone();
        spec.operations.retain(|one| *one != PersonOperation::StreamPersons || self.protocol.has_calls());
        let spec = WorkloadSpec::Person(spec);
        let load = LoadSpec::default();
        let replies =
            self.replies_are_right(Workload::new(&spec, &load, self.protocol, &self.address(), &|_| None))?;
        let of_one = replies.chunk_by(|a, b| a.operation == b.operation).map(|replies| {
            let bytes: Vec<_> = replies.iter().map(|reply| self.payload(&reply.body).to_string()).collect();
            format!("{} {}", replies[0].operation, bytes.join(" "))
        });
        Ok(of_one.collect::<Vec<_>>().join(", "))
    }

    fn trial(&self, trial: PersonTrial) -> Verdict {
        self.replies_are_right(person_trial(trial, self.protocol, &self.address())).map(drop)
    }

    /// Whoever sends a body back as it came has not read it. Of JSON alone that can be told: other codecs may keep what
    /// they do not know.
    fn other_spelling(&self) -> Verdict {
        let trial = person_trial(PersonTrial::OtherSpelling, self.protocol, &self.address());
        let replies = self.replies_are_right(trial)?;
        match replies.iter().find(|reply| reply.is_echo && self.protocol.codec() == Some(CodecName::Json)) {
            None => Ok(()),
            Some(reply) => {
                let title = format!("`{}` of a person in another spelling", reply.operation);
                Err(differs(title, "the person as the codec writes it", "the bytes that were sent"))
            }
        }
    }

    pub(super) fn replies_are_right(
        &self,
        workload: Result<Workload, WorkloadError>,
    ) -> Result<Vec<RightReply>, Shortfall> {
        let mut replies = Vec::new();
        let workload = workload.map_err(|error| Shortfall::Skipped(error.to_string()))?;
        for kind in 0..workload.len() {
            let title = format!("`{}`", workload.title(kind));
            match self.ask(&workload, kind) {
                Ok(reply) => {
                    let Collected { status, headers, body, messages, .. } = &reply;
                    let received = Received { status: *status, headers, body, messages };
                    let judged = workload.canonical(kind, &received);
                    judged.map_err(|why| differs(title, "the value of the people file", why))?;
                    let sent = workload.rendered(kind);
                    let sent = &sent.body()[sent.body().len() - sent.payload() as usize..];
                    let (operation, is_echo) =
                        (workload.name(kind).to_owned(), !sent.is_empty() && sent == body);
                    replies.push(RightReply { operation, body: reply.body, is_echo });
                }
                // Thrift has no other way to refuse what it cannot read.
                Err(ExchangeError::Reset { .. })
                    if self.protocol.framing() == FramingName::Thrift
                        && workload.name(kind) == "createPerson" => {}
                Err(error) => return Err(differs(title, "a reply", error)),
            }
        }
        Ok(replies)
    }

    /// The bytes of the value in a body: Thrift wraps it into a result, as its field 0.
    fn payload(&self, body: &[u8]) -> usize {
        let wrapping = match self.protocol {
            Protocol::THRIFT_BINARY => 4,
            Protocol::THRIFT_COMPACT => 3,
            _ => 0,
        };
        body.len().saturating_sub(wrapping)
    }

    fn ask(&self, workload: &Workload, kind: usize) -> Result<Collected, ExchangeError> {
        let timeout = left(self.limits.for_reply(LONGEST.get() as usize));
        let timeout = Nanoseconds::from_nanos(timeout.as_nanos() as u64);
        let limits = Limits { timeout, body: LONGEST, stop: None };
        exchange(&[self.place], workload.framing(), workload.rendered(kind), limits)
    }
}

fn data_is_needed(harness: &mut Harness) -> Verdict {
    let Some(protocol) = offered(harness).next() else { return Ok(()) };
    let empty = tempfile::tempdir().map_err(|error| Shortfall::Skipped(error.to_string()))?;
    let broken = tempfile::tempdir().map_err(|error| Shortfall::Skipped(error.to_string()))?;
    fs::write(broken.path().join("people.json"), "{\"persons\": [{}]}")
        .map_err(|error| Shortfall::Skipped(error.to_string()))?;
    for folder in ["".to_owned(), "/nowhere".to_owned(), shown(empty.path()), shown(broken.path())] {
        let environment = [("WORKLOAD", "person"), ("PROTOCOL", protocol.name()), ("DATA", folder.as_str())];
        let expected = "exit code 2, nothing on stdout, one line on stderr that holds `DATA` and the value";
        let ended = harness.run(&[], &environment, Patience::UntilItSpeaks)?;
        let ended = ended.map_err(|came| differs(format_args!("`DATA={folder}`"), expected, came))?;
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        let is_right = ended.code() == Some(2)
            && ended.stdout.is_empty()
            && said.lines().count() == 1
            && said.contains("DATA")
            && said.contains(&folder);
        if !is_right {
            return Err(differs(format_args!("`DATA={folder}`"), expected, ended));
        }
    }
    Ok(())
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// Of the REST interface; over others there is nothing of this.
fn wrong_requests_are_refused(harness: &mut Harness) -> Verdict {
    let Some(protocol) = offered(harness).find(|protocol| protocol.framing() == FramingName::Http1) else {
        return Err(Shortfall::Skipped("it offers `person` over no `http1` protocol".to_owned()));
    };
    let folder = folder_of(&people(4))?;
    let service = start(harness, protocol, folder.path())?;
    for (method, path, status) in [
        ("GET", "/person/0", 404),
        ("GET", "/persons", 404),
        ("GET", "/person/1/link", 404),
        ("PUT", "/person", 405),
        ("DELETE", "/person/1", 405),
    ] {
        let request = RawRequest::empty(method, path);
        ask(&mut service.connect()?, &request, &Expected::Problem(status))
            .map_err(|shortfall| shortfall.behind(format_args!(" ({method} {path})")))?;
    }
    let request = RawRequest::post("/person", 6).with("Content-Type: text/plain");
    ask(&mut service.connect()?, &request, &Expected::Problem(415)).map(drop)
}
