//! The generator, and a client that is not ours, get the right replies over every protocol.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread::JoinHandle;

use weighbridge_load::dial::SocketDial;
use weighbridge_load::generator::{Generator, LoopOptions, WindowSpec};
use weighbridge_load::window::{Load, Stop as End};
use weighbridge_load::{Recording, Settings};
use weighbridge_model::experiment::{Experiment, FramingName, LoadSpec, Protocol, WorkloadSpec};
use weighbridge_model::id::VariantId;
use weighbridge_model::record::{Tallies, WindowEnd};
use weighbridge_probe::law::Law;
use weighbridge_probe::{Finished, Options, ServeError, Stop, serve};
use weighbridge_workload::{Address, UrlScheme, Workload, service_data};

use super::{canned, law_text};
use crate::args::ProbeLaw;

const VARIANT: VariantId = VariantId(0);

struct Probe {
    address: SocketAddr,
    stop: Stop,
    thread: JoinHandle<Result<Finished, ServeError>>,
}

impl Probe {
    /// One that answers for the persons of a specification.
    fn start(law: &str, protocol: Protocol, spec: &WorkloadSpec) -> Self {
        let data = tempfile::tempdir().expect("a folder");
        for file in service_data(spec, None) {
            std::fs::write(data.path().join(file.name), file.contents).expect("a file");
        }
        let canned = canned("person", Some(protocol.name()), Some(data.path().into())).expect("served");
        let options = Options { canned: Arc::new(canned), ..Options::new(law.parse().expect("a law")) };
        let (sender, receiver) = mpsc::channel();
        let stop = Stop::new().expect("a descriptor");
        let theirs = stop.clone();
        let thread =
            std::thread::spawn(move || serve(options, &theirs, |port| sender.send(port).expect("awaited")));
        let port = receiver.recv().expect("it listens");
        Self { address: SocketAddr::from(([127, 0, 0, 1], port)), stop, thread }
    }

    fn finish(self) -> Finished {
        self.stop.request();
        self.thread.join().expect("no panic").expect("served")
    }

    /// Sends so many requests, 16 at once where the protocol allows it; all replies are right.
    fn ask(&self, protocol: Protocol, spec: &WorkloadSpec, count: u64) {
        let address = Address {
            authority: self.address.to_string(),
            base: "/".to_owned(),
            scheme: UrlScheme::default(),
        };
        let workload =
            Workload::new(spec, &LoadSpec::default(), protocol, &address, &|_| None).expect("bound");
        let dial = SocketDial::to(VARIANT, vec![self.address]);
        let mut generator = Generator::new(Box::new(dial), LoopOptions::default()).expect("a generator");
        let is_pipelined = !matches!(protocol.framing(), FramingName::Http1 | FramingName::Soap);
        let in_flight = if is_pipelined { 16 } else { 1 };
        let patience = weighbridge_model::quantity::Nanoseconds::from_secs(60);
        let settings = Settings {
            connections: 2,
            in_flight,
            timeout: patience,
            connect_timeout: patience,
            ..Settings::default()
        };
        generator.attach(VARIANT, settings, workload.framing(), workload.sessions());
        generator.connect(VARIANT).expect("connected");
        let (mut tallies, load) = (Tallies::default(), Load::Closed(End::Count(count)));
        let spec = WindowSpec { substream: 1, load, recording: Recording::Exact };
        let report = generator.run(VARIANT, &spec, &mut tallies, None, None).expect("it runs");
        let figures = report.figures;
        let seen = (figures.end, figures.requests, figures.errors.total(), figures.connects);
        assert_eq!(seen, (WindowEnd::Complete, count, 0, 0), "{}: {:?}", protocol.name(), figures.errors);
    }
}

fn offered() -> impl Iterator<Item = Protocol> {
    let served = |protocol: &Protocol| canned("person", Some(protocol.name()), None).is_ok();
    Protocol::NAMED.into_iter().map(|row| row.protocol).filter(served)
}

fn spec(protocol: Protocol, keys: &str) -> WorkloadSpec {
    let variant = format!("service = 'x'\nprotocol = '{}'", protocol.name());
    let text = format!("[workload]\nname = 'person'\n{keys}\n[[variant]]\n{variant}");
    Experiment::parse("x.toml", &text).expect("an experiment").points.remove(0).workload
}

#[test]
fn every_protocol_answers_every_operation() {
    assert_eq!(offered().count(), 12);
    for protocol in offered() {
        let stream = if protocol.has_calls() { ", 'streamPersons'" } else { "" };
        let spec = spec(
            protocol,
            &format!(
                "persons = 20\nids = 'all'\noperations = ['listPersons', 'getPerson', 'getPersonLinks', 'createPerson', \
             'getMissing', 'programComposition'{stream}]"
            ),
        );
        let probe = Probe::start("null", protocol, &spec);
        probe.ask(protocol, &spec, 2_000);
        assert_eq!(probe.finish().totals.requests, 2_000);
    }
}

#[test]
fn ten_thousand_persons_and_long_texts_pass_every_window() {
    for name in ["http1-protobuf", "http2-json", "grpc", "thrift-binary"] {
        let protocol = offered().find(|protocol| protocol.name() == name).expect("offered");
        let stream = if protocol.has_calls() { ", 'streamPersons'" } else { "" };
        let many = spec(protocol, &format!("persons = 10000\noperations = ['listPersons'{stream}]"));
        let probe = Probe::start("null", protocol, &many);
        probe.ask(protocol, &many, 64);
        probe.finish();
        // A request of 250 kB, which windows of requests hold back.
        let long = spec(protocol, "text = 1000\noperations = ['createPerson', 'getPerson']");
        let probe = Probe::start("null", protocol, &long);
        probe.ask(protocol, &long, 200);
        probe.finish();
    }
}

#[test]
fn the_law_holds_and_is_recorded_over_every_protocol() {
    for protocol in offered() {
        let spec = spec(protocol, "operations = ['getPerson', 'getMissing']");
        let probe = Probe::start("constant:time=30us", protocol, &spec);
        probe.ask(protocol, &spec, 200);
        let finished = probe.finish();
        assert_eq!((finished.records.len(), finished.totals.connections), (200, 2), "{}", protocol.name());
        let least = finished.records.iter().map(|served| served.spent().as_nanos()).min();
        assert!(least >= Some(30_000), "{}: {least:?}", protocol.name());
    }
}

#[test]
fn a_client_of_http2_that_is_not_ours_reads_replies_and_trailers() {
    let long = spec(Protocol::GRPC, "persons = 2000");
    let [rest, calls] =
        [Protocol::HTTP2_JSON, Protocol::GRPC].map(|protocol| Probe::start("null", protocol, &long));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().expect("a runtime");
    runtime.block_on(async {
        let get = |path: &str| http::Request::get(format!("http://probe{path}")).body(()).expect("a request");
        let asked =
            [(get("/person/2"), ""), (get("/person"), ""), (get("/person/0"), ""), (get("/else"), "")];
        let replies = foreign(rest.address, asked).await;
        let read = |body: &[u8]| serde_json::from_slice::<serde_json::Value>(body).expect("JSON");
        assert_eq!(replies[0].0, 200);
        assert_eq!(read(&replies[0].1)["id"], "2");
        assert_eq!(read(&replies[1].1)["persons"].as_array().map(Vec::len), Some(2_000));
        assert_eq!([replies[2].0, replies[3].0], [404, 404]);
        let call = |id: &'static str| {
            let path = "http://probe/weighbridge.person.v1.People/GetPerson";
            let request =
                http::Request::post(path).header("content-type", "application/grpc").header("te", "trailers");
            (request.body(()).expect("a request"), id)
        };
        let replies =
            foreign(calls.address, [call("\0\0\0\0\x03\n\x01\x32"), call("\0\0\0\0\x03\n\x010"), call("")])
                .await;
        let statuses: Vec<_> = replies.iter().map(|(status, _, grpc)| (*status, grpc.as_str())).collect();
        assert_eq!(statuses, [(200, "0"), (200, "5"), (200, "12")]);
        assert_eq!(replies[0].1[5..8], *b"\n\x01\x32");
    });
    rest.finish();
    calls.finish();
}

/// Status, body and `grpc-status` of replies to requests that are all in flight at once.
async fn foreign<const N: usize>(
    address: SocketAddr,
    requests: [(http::Request<()>, &'static str); N],
) -> Vec<(u16, Vec<u8>, String)> {
    let socket = tokio::net::TcpStream::connect(address).await.expect("connected");
    let (mut client, connection) = h2::client::handshake(socket).await.expect("a connection");
    let asking = async move {
        let mut pending = Vec::new();
        for (request, body) in requests {
            client = client.ready().await.expect("room");
            let (reply, mut sender) = client.send_request(request, body.is_empty()).expect("sent");
            if !body.is_empty() {
                sender.send_data(bytes::Bytes::from_static(body.as_bytes()), true).expect("sent");
            }
            pending.push(reply);
        }
        let mut replies = Vec::new();
        for reply in pending {
            let (head, mut body) = reply.await.expect("a reply").into_parts();
            let mut whole = Vec::new();
            while let Some(piece) = body.data().await {
                let piece = piece.expect("a piece");
                body.flow_control().release_capacity(piece.len()).expect("released");
                whole.extend_from_slice(&piece);
            }
            let trailers = body.trailers().await.expect("the end").unwrap_or(head.headers);
            let grpc = trailers.get("grpc-status").map_or("", |value| value.to_str().expect("a number"));
            replies.push((head.status.as_u16(), whole, grpc.to_owned()));
        }
        replies
    };
    tokio::select! {
        replies = asking => replies,
        ended = connection => panic!("the connection ended: {ended:?}"),
    }
}

#[test]
fn what_a_probe_does_not_serve_is_refused_with_what_it_does() {
    let error = |workload, protocol| canned(workload, Some(protocol), None).expect_err("refused").to_string();
    let thrift = error("person", "thrift-json");
    assert!(thrift.contains("`person` over `thrift-json`") && thrift.contains("`thrift-binary`"), "{thrift}");
    assert!(thrift.contains("`soap`") && !thrift.contains("`resp`"), "{thrift}");
    let pong = error("pingpong", "grpc");
    assert!(pong.contains("`pingpong` over `grpc`") && pong.ends_with("may be `http1-json`"), "{pong}");
    let nowhere = canned("person", None, Some("/nowhere".into())).expect_err("refused");
    assert!(
        format!("{nowhere:#}")
            .contains("`DATA` must name a folder with a people file; `/nowhere/people.json`")
    );
    let folder = tempfile::tempdir().expect("a folder");
    for (contents, why) in
        [("{}", "`persons` is not a list"), ("{", "EOF"), (r#"{"persons":[{}]}"#, "is missing")]
    {
        std::fs::write(folder.path().join("people.json"), contents).expect("written");
        let broken = canned("person", None, Some(folder.path().into())).expect_err("refused");
        assert!(format!("{broken:#}").contains(why), "{broken:#}");
    }
    assert!(canned("http", None, None).is_ok(), "a user's own requests get what they always got");
}

#[test]
fn a_delay_is_seeded_where_its_law_draws() {
    let text = |law: &str| law_text(&ProbeLaw::Delay { law: law.to_owned(), seed: 3 });
    for (law, wanted) in [
        ("20us", "constant:time=20us"),
        ("exponential:mean=1ms", "exponential:mean=1ms,seed=3"),
        ("exponential:mean=1ms,seed=5", "exponential:mean=1ms,seed=5"),
        ("crowded:time=1ms,above=8,factor=2", "crowded:time=1ms,above=8,factor=2"),
        ("crowded:mean=1ms,above=8,factor=2", "crowded:mean=1ms,above=8,factor=2,seed=3"),
    ] {
        assert_eq!(text(law).parse::<Law>().expect("a law").to_string(), wanted);
    }
}
