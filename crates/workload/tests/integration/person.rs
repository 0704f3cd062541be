//! The composition of the workload `person` against a server that takes a known time for each call.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use weighbridge_load::dial::SocketDial;
use weighbridge_load::generator::{Generator, LoopOptions, WindowSpec};
use weighbridge_load::window::{Load, Stop};
use weighbridge_load::{Recording, Settings};
use weighbridge_model::experiment::{Experiment, LoadSpec, Protocol, Think};
use weighbridge_model::id::{OperationId, VariantId};
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::record::{ErrorKind, Outcome, Tallies, WindowFigures};
use weighbridge_workload::{Address, UrlScheme, Workload};

const VARIANT: VariantId = VariantId(0);
/// The number of `programComposition`, behind its four kinds of calls.
const SESSION: OperationId = OperationId(4);
/// How long the server takes for each call.
const TAKES: Duration = Duration::from_millis(2);
/// Far more than a busy host holds up a call.
const TIMEOUT: Duration = Duration::from_millis(500);
/// The calls of a session.
const CALLS: [&str; 8] = [
    "GET /person",
    "GET /person/1",
    "GET /person/2",
    "GET /person/3",
    "GET /person/4",
    "GET /person/1/links",
    "GET /person/3/links",
    "POST /person",
];

/// How the call of person 3 fails.
#[derive(Clone, Copy, PartialEq)]
enum Failing {
    Never,
    Status,
    Silence,
}

/// A server of persons, and the calls that it got, in order.
struct Persons {
    address: SocketAddr,
    calls: Arc<Mutex<Vec<String>>>,
}

impl Persons {
    fn start(failing: Failing) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let address = listener.local_addr().expect("bound");
        let calls = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&calls);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let log = Arc::clone(&log);
                std::thread::spawn(move || serve(stream, failing, &log));
            }
        });
        Self { address, calls }
    }
}

fn serve(mut stream: TcpStream, failing: Failing, log: &Mutex<Vec<String>>) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    loop {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).ok()?;
            head.push(byte[0]);
        }
        let head = String::from_utf8(head).ok()?;
        let length = head
            .lines()
            .find_map(|line| line.to_lowercase().strip_prefix("content-length:")?.trim().parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        stream.read_exact(&mut body).ok()?;
        let call = head.split(" HTTP").next()?.to_owned();
        log.lock().expect("whole").push(call.clone());
        std::thread::sleep(TAKES);
        let fails = call == "GET /person/3";
        if fails && failing == Failing::Silence {
            std::thread::sleep(TIMEOUT * 4);
        }
        let status = if fails && failing == Failing::Status { "500 Oops" } else { "200 OK" };
        let reply = if call.starts_with("POST") { body } else { answer(&call).to_string().into_bytes() };
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            reply.len()
        );
        stream.write_all(&[head.into_bytes(), reply].concat()).ok()?;
    }
}

fn answer(call: &str) -> Value {
    let file: Value =
        serde_json::from_str(include_str!("../../../../services/person/people.json")).expect("JSON");
    let persons = file["persons"].as_array().expect("persons");
    let person = |id: &Value| persons[id.as_u64().expect("a number") as usize - 1].clone();
    match call.split('/').skip(2).collect::<Vec<_>>()[..] {
        [] => json!({ "persons": persons, "count": persons.len() }),
        [id] => person(&id.parse::<u64>().expect("a number").into()),
        [id, _] => {
            let id = Value::from(id.parse::<u64>().expect("a number"));
            let has_it = |link: &&Value| link[0] == id || link[1] == id;
            let links = file["links"].as_array().expect("links").iter().filter(has_it);
            let links: Vec<_> =
                links.map(|link| json!({ "p1": person(&link[0]), "p2": person(&link[1]) })).collect();
            json!({ "count": links.len(), "links": links })
        }
        _ => panic!("{call}"),
    }
}

/// A window on one connection.
fn run(server: &Persons, load: Load) -> (WindowFigures, Tallies) {
    let text = "[workload]\nname = 'person'\noperation = 'programComposition'\n[[variant]]\nservice = 'x'";
    let spec = Experiment::parse("x.toml", text).expect("an experiment").points.remove(0).workload;
    let address =
        Address { authority: server.address.to_string(), base: "/".to_owned(), scheme: UrlScheme::default() };
    let workload = Workload::new(&spec, &LoadSpec::default(), Protocol::HTTP1_JSON, &address, &|_| None);
    let workload = workload.expect("bound");
    let dial = SocketDial::to(VARIANT, vec![server.address]);
    let mut generator = Generator::new(Box::new(dial), LoopOptions::default()).expect("a generator");
    let timeout = Nanoseconds::from_millis(TIMEOUT.as_millis() as u64);
    let settings = Settings { connections: 1, timeout, ..Settings::default() };
    generator.attach(VARIANT, settings, workload.framing(), workload.sessions());
    generator.connect(VARIANT).expect("connected");
    let mut tallies = Tallies::default();
    let spec = WindowSpec { substream: 1, load, recording: Recording::Exact };
    let report = generator.run(VARIANT, &spec, &mut tallies, None, None).expect("it runs");
    (report.figures, tallies)
}

fn sums(figures: &WindowFigures) -> (u64, u64, u64) {
    let session = figures.operations.iter().find(|one| one.operation == SESSION).expect("sessions");
    let all = figures.all.expect("good replies");
    (session.ok, session.response_sum.as_nanos(), all.response_sum.as_nanos())
}

#[test]
fn a_session_takes_as_long_as_its_calls_and_the_times_between_them() {
    let server = Persons::start(Failing::Never);
    let (figures, _) = run(&server, Load::Closed(Stop::Count(40)));
    assert_eq!((figures.requests, figures.errors.total()), (40, 0));
    assert_eq!(*server.calls.lock().expect("whole"), CALLS.repeat(5));
    let counts: Vec<u64> = figures.operations.iter().map(|one| one.ok).collect();
    assert_eq!(counts, [5, 20, 10, 5, 5], "sessions are no requests");
    let (sessions, session_time, call_time) = sums(&figures);
    // To the nanosecond: a call is due when the one before is done.
    assert_eq!(session_time, call_time);
    assert!(session_time >= sessions * 8 * TAKES.as_nanos() as u64);
    // What lies between them is in the session alone, and what lies before and behind is not.
    let time = Nanoseconds::from_millis(3);
    let thinking = Load::Thinking { stop: Stop::Count(40), think: Think::Constant { time } };
    let (sessions, session_time, call_time) = sums(&run(&server, thinking).0);
    assert_eq!(session_time, call_time + sessions * 7 * time.as_nanos());
}

#[test]
fn a_session_ends_with_the_first_call_that_fails() {
    for (failing, kind) in [(Failing::Status, ErrorKind::Status), (Failing::Silence, ErrorKind::Timeout)] {
        let server = Persons::start(failing);
        let (figures, tallies) = run(&server, Load::Closed(Stop::Count(12)));
        assert_eq!((figures.requests, figures.errors.get(kind), figures.errors.total()), (12, 3, 3));
        assert_eq!(*server.calls.lock().expect("whole"), CALLS[..4].repeat(3));
        assert!(figures.operations.iter().all(|one| one.operation != SESSION), "no session was good");
        assert_eq!(tallies.messages_of(SESSION, Outcome::Ok), None);
        let ended = tallies.messages_of(SESSION, Outcome::Error(kind)).expect("ended so");
        assert_eq!(ended.len(), 3);
        let least = TAKES * 4 + if failing == Failing::Silence { TIMEOUT - TAKES } else { Duration::ZERO };
        assert!(u128::from(ended.min()) >= least.as_nanos() * 99 / 100, "{} ns", ended.min());
    }
}
