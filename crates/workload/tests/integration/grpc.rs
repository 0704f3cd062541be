//! Calls over gRPC against tonic, another implementation: every kind of call, statuses, deadlines and reflection.

use std::path::Path;

use weighbridge_load::dial::SocketDial;
use weighbridge_load::exchange::{Collected, ExchangeError, Limits, exchange};
use weighbridge_load::generator::{Generator, LoopOptions, WindowSpec};
use weighbridge_load::window::{Load, Stop};
use weighbridge_load::{Recording, Settings};
use weighbridge_model::experiment::{Experiment, LoadSpec, Protocol, WorkloadSpec};
use weighbridge_model::id::{OperationId, VariantId};
use weighbridge_model::quantity::{Bytes, Nanoseconds};
use weighbridge_model::record::{ErrorCounts, Outcome, Tallies, WindowFigures};
use weighbridge_workload::{Address, Canonical, Received, UrlScheme, Workload, proto, reflection};

use crate::support::{Reflects, SLOW, Server};

const VARIANT: VariantId = VariantId(0);
const LIMITS: Limits = Limits { timeout: Nanoseconds::from_secs(60), body: Bytes::new(16 << 20), stop: None };

fn load() -> LoadSpec {
    LoadSpec { connections: 2, in_flight: 4, timeout: LIMITS.timeout, ..LoadSpec::default() }
}

/// The workload of a file whose `proto` is that of the services.
fn spec(workload: &str) -> WorkloadSpec {
    let text = format!("[workload]\n{workload}\n[[variant]]\nservice = 'x'\nprotocol = 'grpc'");
    let mut experiment = Experiment::parse("x.toml", &text).unwrap_or_else(|e| panic!("{e}"));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../services/proto");
    proto::embed(&mut experiment, &folder).unwrap_or_else(|e| panic!("{e}"));
    experiment.points.remove(0).workload
}

fn calls(calls: &str) -> WorkloadSpec {
    spec(&format!("name = 'grpc'\nproto = 'pong.proto'\nequal = 'json'\n{calls}"))
}

fn call(method: &str, rest: &str) -> String {
    format!("[[workload.call]]\nname = '{method}'\nmethod = 'weighbridge.pong.v1.Pong/{method}'\n{rest}\n")
}

fn bind(spec: &WorkloadSpec, server: &Server) -> Workload {
    let address =
        Address { authority: server.address.to_string(), base: "/".to_owned(), scheme: UrlScheme::default() };
    Workload::new(spec, &load(), Protocol::GRPC, &address, &|_| None).unwrap_or_else(|e| panic!("{e}"))
}

fn ask(workload: &Workload, kind: usize, server: &Server) -> Result<Canonical, String> {
    let reply =
        exchange(&[server.address], workload.framing(), workload.rendered(kind), LIMITS).expect("a reply");
    let Collected { status, headers, body, messages, .. } = &reply;
    workload.canonical(kind, &Received { status: *status, headers, body, messages })
}

fn run(workload: &Workload, server: &Server, count: u64) -> (WindowFigures, Tallies) {
    let dial = SocketDial::to(VARIANT, vec![server.address]);
    let mut generator = Generator::new(Box::new(dial), LoopOptions::default()).expect("a generator");
    let load = load();
    let settings = Settings {
        connections: load.connections,
        in_flight: load.in_flight,
        timeout: load.timeout,
        ..Settings::default()
    };
    generator.attach(VARIANT, settings, workload.framing(), workload.sessions());
    generator.connect(VARIANT).expect("connected");
    let mut tallies = Tallies::default();
    let spec =
        WindowSpec { substream: 1, load: Load::Closed(Stop::Count(count)), recording: Recording::Exact };
    let report = generator.run(VARIANT, &spec, &mut tallies, None, None).expect("it runs");
    assert!(report.trouble.is_none(), "{:?}", report.trouble);
    (report.figures, tallies)
}

#[test]
fn pingpong_over_grpc_and_http_have_equal_answers() {
    let server = Server::start(Reflects::Not);
    let spec = spec("name = 'pingpong'\nsizes = [4, 64, 70000, 2000000]");
    let workload = bind(&spec, &server);
    let http = Address { authority: "h".to_owned(), base: "/".to_owned(), scheme: UrlScheme::default() };
    for protocol in [Protocol::HTTP1_JSON, Protocol::HTTP2_JSON] {
        let over_http = Workload::new(&spec, &load(), protocol, &http, &|_| None).expect("bound");
        for (kind, size) in [4usize, 64, 70_000, 2_000_000].into_iter().enumerate() {
            let body = [&b"p"[..], &vec![b'o'; size - 3], b"ng"].concat();
            let received = Received { status: 200, headers: &[], body: &body, messages: &[] };
            let want = over_http.canonical(kind, &received).expect("right");
            assert_eq!(ask(&workload, kind, &server), Ok(want), "{size}");
        }
    }
    let (figures, _) = run(&workload, &server, 200);
    assert_eq!((figures.requests, figures.errors), (200, ErrorCounts::default()));
    assert_eq!(figures.all.map(|all| all.ok), Some(200));
}

#[test]
fn every_kind_of_call_is_made_and_checked() {
    let server = Server::start(Reflects::Not);
    let spec = calls(&[
        call("Pong", "message = { size = 5 }\ncheck = { json = { '/body' = 'cG9vbmc=' } }"),
        call("Stream", "message = { size = 4, count = 3 }\ncheck = { messages = 3, json = { '/2/body' = 'cG9uZw==' } }"),
        call("Collect", "messages = [{ body = 'AAAA' }, {}, { body = 'AA==' }]\ncheck = { json = { '/count' = 3, '/bytes' = 4 } }"),
        call("Chat", "messages = [{ size = 4 }, { size = 5 }, { size = 6 }]\nsending = 'alternating'\ncheck = { messages = 3, json = { '/1/body' = 'cG9vbmc=' } }"),
    ].concat());
    let workload = bind(&spec, &server);
    for kind in 0..workload.len() {
        ask(&workload, kind, &server).unwrap_or_else(|e| panic!("{}: {e}", workload.title(kind)));
    }
    let Ok(Canonical::Json(0, value)) = ask(&workload, 3, &server) else { panic!("JSON") };
    assert_eq!(value.as_array().map(Vec::len), Some(3));
    let (figures, tallies) = run(&workload, &server, 400);
    assert_eq!((figures.requests, figures.errors), (400, ErrorCounts::default()));
    // In the workload's order: messages of a stream of replies come after their call.
    assert_eq!(spec.operations(), ["Pong", "Stream", "Stream message", "Collect", "Chat", "Chat message"]);
    let ok =
        |at: u16| figures.operations.iter().find(|f| f.operation == OperationId(at)).expect("present").ok;
    assert_eq!(ok(0) + ok(1) + ok(3) + ok(4), 400);
    assert_eq!((ok(2), ok(5)), (3 * ok(1), 3 * ok(4)), "one time for each message");
    let times = tallies.messages_of(OperationId(5), Outcome::Ok);
    assert_eq!(times.map(|times| times.len()), Some(3 * ok(4)));
}

#[test]
fn a_stream_may_be_sent_together_and_may_be_empty() {
    let server = Server::start(Reflects::Not);
    let spec = calls(
        &[
            call("Chat", "messages = [{ size = 4 }, { size = 5 }]\ncheck = { messages = 2 }"),
            call("Collect", "messages = []\ncheck = { json = { '/count' = 0 } }"),
            call("Stream", "message = { size = 4, count = 0 }\ncheck = { messages = 0 }"),
        ]
        .concat(),
    );
    let workload = bind(&spec, &server);
    let (figures, _) = run(&workload, &server, 90);
    assert_eq!((figures.requests, figures.errors), (90, ErrorCounts::default()));
}

#[test]
fn statuses_are_errors_unless_they_are_wanted() {
    let server = Server::start(Reflects::Not);
    let bound = |rest: &str| bind(&calls(&call("Pong", rest)), &server);
    let (figures, _) = run(&bound("message = { size = 3 }"), &server, 20);
    assert_eq!(
        (figures.requests, figures.errors),
        (20, ErrorCounts { status: 20, ..ErrorCounts::default() })
    );
    let (figures, _) =
        run(&bound("message = { size = 3 }\ncheck = { status = 'INVALID_ARGUMENT' }"), &server, 20);
    assert_eq!(figures.errors, ErrorCounts::default());
    let (figures, _) =
        run(&bound("message = { size = 4 }\ncheck = { json = { '/body' = 'x' } }"), &server, 20);
    assert_eq!(figures.errors, ErrorCounts { check: 20, ..ErrorCounts::default() });
    let error = ask(&bound("message = { size = 3 }"), 0, &server).unwrap_err();
    assert!(error.contains("3 INVALID_ARGUMENT") && error.contains("size"), "{error}");
}

#[test]
fn the_server_enforces_the_deadline() {
    let server = Server::start(Reflects::Not);
    let rest = format!("message = {{ size = {SLOW} }}\ndeadline = '30 ms'");
    let (figures, _) = run(&bind(&calls(&call("Pong", &rest)), &server), &server, 8);
    assert_eq!(figures.errors, ErrorCounts { status: 8, ..ErrorCounts::default() });
}

#[test]
fn a_server_describes_its_own_calls() {
    let methods = ["Pong", "Stream", "Collect", "Chat"];
    let text: String = methods.map(|method| call(method, "")).concat();
    let spec = spec(&format!("name = 'grpc'\nreflection = true\n{text}"));
    let asked = |server: &Server, spec: &WorkloadSpec| {
        let mut ask = |framing: &_, rendered: &_| -> Result<Collected, ExchangeError> {
            exchange(&[server.address], framing, rendered, LIMITS)
        };
        reflection::resolve(spec, &server.address.to_string(), UrlScheme::Http, &mut ask)
    };
    for reflects in [Reflects::V1, Reflects::V1Alpha] {
        let server = Server::start(reflects);
        let resolved = asked(&server, &spec).unwrap_or_else(|e| panic!("{reflects:?}: {e}"));
        assert_eq!(resolved.operations().len(), 6, "streams of replies are found out");
        assert!(!reflection::is_needed(&resolved));
        bind(&resolved, &server);
        let wrong = self::spec(
            "name = 'grpc'\nreflection = true\n[[workload.call]]\nmethod = 'weighbridge.pong.v1.Png/Pong'",
        );
        let error = asked(&server, &wrong).unwrap_err().to_string();
        assert!(error.contains("no service `weighbridge.pong.v1.Png`"), "{error}");
        assert!(error.contains("did you mean `weighbridge.pong.v1.Pong`?"), "{error}");
    }
    let error = asked(&Server::start(Reflects::Not), &spec).unwrap_err().to_string();
    assert!(error.contains("offers no reflection") && error.contains("`proto ="), "{error}");
}
