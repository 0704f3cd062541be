//! `weigh verify` of one service: the table of `services/README.md`, tried from outside, row by row.
//!
//! It starts the built service, sends it requests over loopback and checks replies by the letter. It builds
//! and measures nothing (row H20 only advises) and knows no service by name. A service that hangs, dies or
//! sends wrong replies costs limited time: every wait ends, every process is killed, and the row says what
//! was expected and what came.

mod cache;
mod calls;
mod client;
mod direct;
mod frames;
mod grpc;
mod harness;
mod http;
mod http2;
mod limits;
mod outcome;
mod peer;
mod person;
mod person_client;
mod ping;
mod pingpong;
mod process;
mod reply;
mod running;
mod secure;
mod sleepers;
mod stopping;
mod streams;
mod sys;
mod tls;
mod trade;
mod trade_by_hand;
mod trade_calls;
mod trade_direct;
mod trade_model;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use serde::ser::{Serialize, SerializeStruct, Serializer};
use weighbridge_model::experiment::Protocol;

use harness::Harness;
use outcome::{Shortfall, Verdict};
use sleepers::Sleepers;

/// A built service of the catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// `name` of its `service.toml`.
    pub name: String,
    /// `language` of its `service.toml`: the first word that `--version` must print.
    pub language: String,
    /// The folder of its `service.toml`, in which it is started.
    pub folder: PathBuf,
    /// `start.command`. A first word with a `/` is a path from the folder, any other is searched in `PATH`.
    pub start: Vec<String>,
    /// `workloads` of its `service.toml`: each with the protocols over which it is offered.
    pub workloads: BTreeMap<String, Vec<String>>,
    /// `clients.person` of its `service.toml`: the protocols over which its client calls `person`.
    pub clients: Vec<String>,
    /// Other services that are built, to be the peers that it is not itself.
    pub others: Vec<Subject>,
    /// `tls` of its `service.toml`.
    pub tls: TlsOffer,
}

impl Subject {
    /// Whether a workload is offered over a protocol.
    fn offers(&self, workload: &str, protocol: Protocol) -> bool {
        let protocols = self.workloads.get(workload);
        protocols.is_some_and(|protocols| protocols.iter().any(|name| name == protocol.name()))
    }
}

/// Whether a service offers TLS on its listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TlsOffer {
    /// With `TLS_CERT` and `TLS_KEY` it speaks TLS.
    Offered,
    /// It refuses both variables.
    Absent,
}

/// How thorough a verification is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// All rows.
    Full,
    /// Without the rows that take long (marked † in the table).
    Quick,
}

/// The result of one row of the table. Serialises as `{"id", "stack", "claim", "result", "detail"}`, where
/// `stack` is null for rows about the program, `result` is `passed`, `failed`, `skipped` or `warned`, and
/// `detail` a text, or null if the row passed; with `notes`, what was found beside it, where there are some.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Its name in the table, such as `C1`.
    pub id: &'static str,
    /// The stack used with the service, such as `grpc` or `http1-json over TLS`; `None` for rows about the
    /// program.
    pub stack: Option<String>,
    /// What the service must do.
    pub claim: &'static str,
    /// How it went.
    pub result: RowResult,
    /// What was found beside it, a line each.
    pub notes: Vec<String>,
}

/// A row's result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowResult {
    /// The service keeps this part of the contract.
    Passed,
    /// It does not; the text says what was expected and what came.
    Failed(String),
    /// The row was not tried; the text says why.
    Skipped(String),
    /// The contract is kept, but measurements will suffer; the text says how.
    Warned(String),
}

impl RowResult {
    /// `passed`, `failed`, `skipped` or `warned`.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed(_) => "failed",
            Self::Skipped(_) => "skipped",
            Self::Warned(_) => "warned",
        }
    }

    /// The text, if any; `None` if the row passed.
    pub fn detail(&self) -> Option<&str> {
        match self {
            Self::Passed => None,
            Self::Failed(text) | Self::Skipped(text) | Self::Warned(text) => Some(text),
        }
    }
}

impl From<Verdict> for RowResult {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Ok(()) => Self::Passed,
            Err(Shortfall::Failed(text)) => Self::Failed(text),
            Err(Shortfall::Skipped(text)) => Self::Skipped(text),
            Err(Shortfall::Warned(text)) => Self::Warned(text),
        }
    }
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut row = serializer.serialize_struct("Row", 6)?;
        row.serialize_field("id", self.id)?;
        row.serialize_field("stack", &self.stack)?;
        row.serialize_field("claim", self.claim)?;
        row.serialize_field("result", self.result.word())?;
        row.serialize_field("detail", &self.result.detail())?;
        match self.notes.is_empty() {
            true => row.skip_field("notes")?,
            false => row.serialize_field("notes", &self.notes)?,
        }
        row.end()
    }
}

/// One line of the table.
struct Test {
    id: &'static str,
    claim: &'static str,
    needs: Needs,
    run: fn(&mut Harness) -> Verdict,
}

/// A row's data, without its check.
struct RowLabel {
    id: &'static str,
    claim: &'static str,
}

const fn row(id: &'static str, claim: &'static str) -> RowLabel {
    RowLabel { id, claim }
}

impl RowLabel {
    /// The row with its requirement and its check.
    const fn tried(self, needs: Needs, run: fn(&mut Harness) -> Verdict) -> Test {
        Test { id: self.id, claim: self.claim, needs, run }
    }
}

/// What a row requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Needs {
    /// A program that can be started.
    Program,
    /// A service that becomes ready and speaks `pingpong` over `http1-json`.
    Service,
    /// Like `Service`, and more time than a quick verification has.
    ServiceAndTime,
    /// A service that becomes ready and speaks `ping` over `http1-json`.
    Relay,
    /// A service that becomes ready and speaks `person` over some protocol.
    Persons,
    /// A service that becomes ready and offers `trade` over some protocol, or in its process.
    Brokerage,
    /// A service that becomes ready and speaks `person-client` over `http1-json`.
    Caller,
    /// A service that becomes ready and speaks `cache` over this protocol.
    Cache(Protocol),
    /// A service that speaks `pingpong` over this protocol.
    Speaks(Protocol),
    /// A service that speaks `pingpong` over this protocol with TLS.
    SpeaksTls(Protocol),
}

/// The protocols of services with a listener.
const SPOKEN: [Protocol; 3] = [Protocol::HTTP1_JSON, Protocol::HTTP2_JSON, Protocol::GRPC];

impl Needs {
    /// The protocol; `None` if only the program is needed.
    const fn protocol(self) -> Option<Protocol> {
        match self {
            Self::Program | Self::Persons | Self::Brokerage => None,
            Self::Service | Self::ServiceAndTime | Self::Relay | Self::Caller => Some(Protocol::HTTP1_JSON),
            Self::Speaks(protocol) | Self::SpeaksTls(protocol) | Self::Cache(protocol) => Some(protocol),
        }
    }

    /// The stack as text.
    fn stack(self) -> Option<String> {
        match self {
            Self::SpeaksTls(protocol) => Some(format!("{} over TLS", protocol.name())),
            Self::Relay => Some("ping over http1-json".to_owned()),
            Self::Persons => Some("person".to_owned()),
            Self::Brokerage => Some("trade".to_owned()),
            Self::Caller => Some("person-client over http1-json".to_owned()),
            Self::Cache(protocol) => Some(format!("cache over {}", protocol.name())),
            _ => self.protocol().map(|protocol| protocol.name().to_owned()),
        }
    }
}

/// The table, in its order.
fn table() -> impl Iterator<Item = &'static Test> {
    let plain = [process::ROWS, http::ROWS, pingpong::ROWS, ping::ROWS, stopping::ROWS];
    plain
        .into_iter()
        .chain([
            http2::ROWS,
            grpc::ROWS,
            tls::ROWS,
            direct::ROWS,
            person::ROWS,
            person_client::ROWS,
            cache::ROWS,
            trade::ROWS,
        ])
        .flatten()
}

/// The longest time that all rows of a full and of a quick verification may take together; about ten times
/// what a slow language runtime needs.
const FULL_BUDGET: Duration = Duration::from_secs(600);
const QUICK_BUDGET: Duration = Duration::from_secs(300);

/// Verifies a service: tries each row in the order of the table, passes its result to `on_row`, and returns
/// all results. The service keeps the contract if no row failed.
///
/// It takes up to a minute for a service that keeps the contract, and at most 10 minutes (5 if quick) and one
/// row for any other. The first row beyond that time fails, and the rest is skipped.
pub fn service(subject: &Subject, depth: Depth, on_row: &mut dyn FnMut(&Row)) -> Vec<Row> {
    let budget = match depth {
        Depth::Full => FULL_BUDGET,
        Depth::Quick => QUICK_BUDGET,
    };
    within(subject, depth, budget, on_row)
}

fn within(subject: &Subject, depth: Depth, budget: Duration, on_row: &mut dyn FnMut(&Row)) -> Vec<Row> {
    thread::scope(|scope| {
        let end = Instant::now() + budget;
        let mut harness = Harness::new(subject);
        let mut sleepers = Sleepers::default();
        let mut rows: Vec<Row> = Vec::new();
        let mut exhausted_at = None;
        for test in table() {
            let result = if let Some(id) = exhausted_at {
                RowResult::Skipped(format!("the time was used up before row {id}"))
            } else if Instant::now() >= end {
                exhausted_at = Some(test.id);
                RowResult::Failed(format!("expected all rows within {budget:?}, came this one only then"))
            } else {
                match sleepers.verdict(test.id) {
                    Some(verdict) => verdict.into(),
                    None => attempt(&mut harness, test, depth).into(),
                }
            };
            // The first row that a service passes shows that it starts; only then are several instances
            // started at once.
            if test.needs == Needs::Service && result == RowResult::Passed {
                sleepers.begin(scope, subject, depth);
            }
            let notes = harness.take_notes();
            let row = Row { id: test.id, stack: test.needs.stack(), claim: test.claim, result, notes };
            on_row(&row);
            rows.push(row);
        }
        rows
    })
}

/// Tries a row, unless there is a reason to skip it.
fn attempt(harness: &mut Harness, test: &Test, depth: Depth) -> Verdict {
    if let Some(reason) = obstacle(harness, test, depth) {
        return Err(Shortfall::Skipped(reason));
    }
    harness.begin_row();
    let verdict = (test.run)(harness);
    harness.end_row(verdict)
}

fn obstacle(harness: &Harness, test: &Test, depth: Depth) -> Option<String> {
    let any_protocol = match test.needs {
        Needs::Persons => Some("person"),
        Needs::Brokerage => Some("trade"),
        _ => None,
    };
    if let Some(workload) = any_protocol {
        let Subject { name, workloads, .. } = harness.subject;
        let lacking = || format!("`{name}` does not offer the workload `{workload}`");
        return if workloads.contains_key(workload) {
            harness.unstartable().map(str::to_owned)
        } else {
            Some(lacking())
        };
    }
    let protocol = test.needs.protocol()?;
    if test.needs == Needs::ServiceAndTime && depth == Depth::Quick {
        return Some("takes long, and this verification is a quick one".to_owned());
    }
    let Subject { name, workloads, tls, .. } = harness.subject;
    let workload = match test.needs {
        Needs::Relay => "ping",
        Needs::Caller => "person-client",
        Needs::Cache(_) => "cache",
        _ => "pingpong",
    };
    let Some(protocols) = workloads.get(workload) else {
        return Some(format!("`{name}` does not offer the workload `{workload}`"));
    };
    if !harness.subject.offers(workload, protocol) {
        let (protocol, offered) = (protocol.name(), protocols.join("`, `"));
        return Some(format!(
            "`{name}` does not offer the protocol `{protocol}` for the workload `{workload}`; it has `{offered}`"
        ));
    }
    if matches!(test.needs, Needs::SpeaksTls(_)) && *tls == TlsOffer::Absent {
        return Some(format!("`{name}` does not offer TLS"));
    }
    harness.unstartable().map(|why| format!("the service could not be started before: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_the_rows_of_the_contract_in_their_order() {
        let group = |letter: char, count: usize| (1..=count).map(move |number| format!("{letter}{number}"));
        let expected: Vec<_> = group('C', 15)
            .chain(group('H', 22))
            .chain(group('P', 15))
            .chain(group('R', 20))
            .chain(group('S', 9))
            .chain(group('F', 16))
            .chain(group('G', 17))
            .chain(group('T', 13))
            .chain(group('D', 7))
            .chain(group('V', 7))
            .chain(group('W', 5))
            .chain(group('K', 15))
            .chain(group('B', 10))
            .collect();
        assert_eq!(table().map(|test| test.id.to_owned()).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_row_serialises_with_five_fields() {
        let row = |result| {
            serde_json::to_string(&Row { id: "C1", stack: None, claim: "is", result, notes: Vec::new() })
                .expect("plain text")
        };
        assert_eq!(
            row(RowResult::Passed),
            r#"{"id":"C1","stack":null,"claim":"is","result":"passed","detail":null}"#
        );
        let failed = row(RowResult::Failed("expected a, came b".to_owned()));
        assert_eq!(
            failed,
            r#"{"id":"C1","stack":null,"claim":"is","result":"failed","detail":"expected a, came b"}"#
        );
    }

    #[test]
    fn the_first_row_beyond_the_time_limit_fails_and_later_rows_are_skipped() {
        let subject = Subject {
            name: "shell".to_owned(),
            language: "sh".to_owned(),
            folder: std::env::temp_dir(),
            start: ["sh", "-c", "exec sleep 600"].map(str::to_owned).to_vec(),
            workloads: BTreeMap::new(),
            clients: Vec::new(),
            others: Vec::new(),
            tls: TlsOffer::Absent,
        };
        let rows = within(&subject, Depth::Full, Duration::ZERO, &mut |_| {});
        assert!(matches!(rows[0].result, RowResult::Failed(_)), "{:?}", rows[0]);
        let skipped = rows[1..].iter().filter(|row| matches!(row.result, RowResult::Skipped(_))).count();
        assert_eq!(skipped, table().count() - 1);
    }
}
