//! Sessions of several requests against a shop that checks every one of them: the example of the documentation, over
//! HTTP/1.1 and HTTP/2.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use weighbridge_load::dial::SocketDial;
use weighbridge_load::exchange::{Limits, exchange};
use weighbridge_load::generator::{Generator, LoopOptions, WindowReport, WindowSpec};
use weighbridge_load::window::{Load, Stop};
use weighbridge_load::{Recording, Settings};
use weighbridge_model::experiment::{Experiment, HttpSpec, Protocol, WorkloadSpec};
use weighbridge_model::id::VariantId;
use weighbridge_model::quantity::{Bytes, Nanoseconds};
use weighbridge_model::record::{RequestRecord, Tallies, WindowEnd};
use weighbridge_workload::{Address, Given, Received, Rows, UrlScheme, Workload, WorkloadError};

use crate::shop::Shop;

const VARIANT: VariantId = VariantId(0);
const CUSTOMERS: [(&str, &str, &str); 2] = [("ann", "s3cret, \"really\"", "17"), ("bob", "hunter2", "23")];

/// The fenced block of the page that contains `mark`.
fn documented(info: &str, mark: &str) -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/EXPERIMENT.md");
    let page = std::fs::read_to_string(path).expect("the page");
    let blocks = page.split("\n```").filter_map(|block| block.strip_prefix(info)?.strip_prefix('\n'));
    blocks.into_iter().find(|block| block.contains(mark)).expect("the example").to_owned() + "\n"
}

fn spec(toml: &str) -> WorkloadSpec {
    let experiment = Experiment::parse("experiment.toml", toml).expect("an experiment");
    assert_eq!(
        Experiment::parse("again", &experiment.to_toml()),
        Ok(experiment.clone()),
        "what is stored is read"
    );
    experiment.points[0].workload.clone()
}

fn rows(spec: &WorkloadSpec, text: &str) -> Vec<Arc<Rows>> {
    let WorkloadSpec::Http(HttpSpec { scenario, .. }) = spec else { panic!("http") };
    scenario.data.iter().map(|data| Arc::new(Rows::parse(data, text.as_bytes()).expect("rows"))).collect()
}

fn bind(
    spec: &WorkloadSpec,
    protocol: Protocol,
    address: SocketAddr,
    rows: &[Arc<Rows>],
) -> Result<Workload, WorkloadError> {
    let address =
        Address { authority: address.to_string(), base: "/".to_owned(), scheme: UrlScheme::default() };
    let load = weighbridge_model::experiment::LoadSpec::default();
    Workload::with_rows(
        spec,
        &load,
        protocol,
        &address,
        Given { environment: &|_| None, rows, replay: None, script: None },
    )
}

/// One window of `count` requests, and its requests in the order in which they were sent.
fn window(
    workload: &Workload,
    address: SocketAddr,
    (connections, count): (u32, u64),
) -> (WindowReport, Vec<RequestRecord>) {
    let dial = Box::new(SocketDial::to(VARIANT, [address]));
    let mut generator = Generator::new(dial, LoopOptions::default()).expect("a generator");
    let settings = Settings { connections, timeout: Nanoseconds::from_secs(30), ..Settings::default() };
    generator.attach(VARIANT, settings, workload.framing(), workload.sessions());
    generator.connect(VARIANT).expect("connects");
    let spec =
        WindowSpec { substream: 7, load: Load::Closed(Stop::Count(count)), recording: Recording::Exact };
    let mut samples = Vec::new();
    let report =
        generator.run(VARIANT, &spec, &mut Tallies::default(), Some(&mut samples), None).expect("runs");
    samples.sort_by_key(|sample| sample.sent);
    (report, samples)
}

fn counts(samples: &[RequestRecord]) -> BTreeMap<u16, usize> {
    let mut counts = BTreeMap::new();
    samples.iter().for_each(|sample| *counts.entry(sample.operation.0).or_default() += 1);
    counts
}

#[test]
fn the_documented_sessions_log_in_and_buy_over_both_protocols() {
    let toml = documented("toml", "[[workload.session]]");
    let spec = spec(&toml);
    let rows = rows(&spec, &documented("text", "user,password,item"));
    let mut logs = Vec::new();
    for protocol in [Protocol::HTTP1_JSON, Protocol::HTTP2_JSON] {
        let shop = Shop::new(&CUSTOMERS);
        let address = if protocol == Protocol::HTTP1_JSON { shop.open() } else { shop.open_http2() };
        let workload = bind(&spec, protocol, address, &rows).expect("binds");
        let (report, samples) = window(&workload, address, (3, 400));
        assert_eq!(
            (report.figures.end, report.figures.errors.total()),
            (WindowEnd::Complete, 0),
            "{protocol:?}"
        );
        // login, item, order, front: two items per login, and the window cuts at most three sessions short.
        let counts = counts(&samples);
        let (logins, items, orders) = (counts[&0], counts[&1], counts[&2]);
        assert!(logins - orders <= 3 && 2 * logins - items <= 6 && 2 * orders <= items, "{counts:?}");
        // Sessions of one request have three times the share: 400 = 4 × buy + front.
        assert!(counts[&3] > logins, "{counts:?}");
        let log = shop.log.lock().expect("unpoisoned").clone();
        let sessions = |user: &str| log.iter().filter(|name| *name == user).count();
        assert!(sessions("ann") > 5 && sessions("bob") > 5, "every row is taken: {log:?}");
        // One after the other: the same sessions with the same rows on every server.
        shop.log.lock().expect("unpoisoned").clear();
        let (report, samples) = window(&workload, address, (1, 100));
        assert_eq!(report.figures.errors.total(), 0, "{protocol:?}");
        let operations: Vec<u16> = samples.iter().map(|sample| sample.operation.0).collect();
        logs.push((shop.log.lock().expect("unpoisoned").clone(), operations));
        ask_once(&workload, address);
    }
    assert!(logs[0].0.len() > 5);
    assert_eq!(logs[0], logs[1]);
}

/// Asks each kind of session once, as before a run.
fn ask_once(workload: &Workload, address: SocketAddr) {
    let limits = Limits { timeout: Nanoseconds::from_secs(30), body: Bytes::new(1 << 20), stop: None };
    let mut titles = Vec::new();
    for number in 0..workload.conversations() {
        let mut conversation = workload.conversation(number);
        while let Some(question) = conversation.question() {
            titles.push(question.title.to_owned());
            let reply = exchange(&[address], workload.framing(), question.rendered, limits).expect("a reply");
            let received =
                Received { status: reply.status, headers: &reply.headers, body: &reply.body, messages: &[] };
            conversation.answer(&received, &|text| text.to_owned()).expect("right");
        }
        // The token and the session's number.
        assert_eq!(
            conversation.hidden().len(),
            if number == 0 { 2 } else { 0 },
            "{:?}",
            conversation.hidden()
        );
    }
    assert_eq!(
        titles,
        ["POST /login", "GET /items/${item:url}", "GET /items/${item:url}", "POST /orders", "GET /"]
    );
}

const LOGIN: &str = r#"
[[variant]]
url = "h:1"
[workload]
name = "http"
[[workload.data]]
file = "users.csv"
[[workload.request]]
name = "login"
method = "POST"
path = "/login"
body = '{"user": "${user}", "password": "${password:json}"}'
extract.token = { json = "/token" }
[[workload.request]]
name = "front"
path = "/"
headers = { X-Token = "${token}" }
[[workload.session]]
requests = ["login", "front"]
"#;

#[test]
fn a_value_that_is_missing_is_an_error_with_its_name_and_ends_the_session() {
    let spec = spec(LOGIN);
    let customers = [("broken", "pw", "1"), ("good", "pw", "2")];
    let shop = Shop::new(&customers);
    let address = shop.open();
    let rows = rows(&spec, "user,password\nbroken,pw\ngood,pw\nnobody,pw\n");
    let workload = bind(&spec, Protocol::HTTP1_JSON, address, &rows).expect("binds");
    let (report, samples) = window(&workload, address, (3, 300));
    let errors = report.figures.errors;
    let counts = counts(&samples);
    // Of three sessions one continues, whose second request is the only one of its kind.
    assert_eq!(errors.total(), errors.check + errors.status, "{errors:?}");
    assert!(errors.check.abs_diff(errors.status) <= 3 && errors.check > 50, "{errors:?}");
    assert!(counts[&0] - counts[&1] >= errors.total() as usize, "{counts:?} {errors:?}");
    assert!((counts[&0] - counts[&1]).abs_diff(errors.total() as usize) <= 3, "{counts:?} {errors:?}");
    let said: Vec<String> =
        report.failures.texts().iter().map(|f| String::from_utf8_lossy(&f.text).into_owned()).collect();
    assert!(said.contains(&"extract `token`: nothing at `/token` of the JSON body".to_owned()), "{said:?}");
    assert!(said.contains(&"401 Unauthorized".to_owned()) && said.len() == 2, "{said:?}");
}

#[test]
fn invalid_requests_are_refused_before_any_is_sent() {
    let refused = |toml: &str, text: &str| {
        let spec = spec(toml);
        let rows = rows(&spec, text);
        let address = "127.0.0.1:1".parse().expect("an address");
        bind(&spec, Protocol::HTTP1_JSON, address, &rows).expect_err("refused").to_string()
    };
    let good = "user,password\na,b\n";
    for (toml, text, says) in [
        (
            LOGIN.to_owned(),
            "user,pass\na,b\n",
            "request `login`: `${password}` has no value in session `login, front`",
        ),
        (
            LOGIN.to_owned(),
            "user,password,token\na,b,c\n",
            "`token` is a column of a data file and is extracted too",
        ),
        (
            LOGIN.replace("path = \"/\"", "path = \"/${env:NO_SUCH}\""),
            good,
            "request `front`: its path asks for `env:NO_SUCH`",
        ),
        (
            LOGIN.replace("json = \"/token\"", "regex = '('"),
            good,
            "request `login`: extract `token`: `regex`",
        ),
        (
            LOGIN.replace("${token}", "${user}"),
            "user,password\na,b\n\"x\ny\",c\n",
            "`users.csv:3`: the value in column `user` holds a control character",
        ),
    ] {
        let message = refused(&toml, text);
        assert!(message.contains(says), "{message}");
    }
    let none = bind(&spec(LOGIN), Protocol::HTTP1_JSON, "127.0.0.1:1".parse().expect("one"), &[]);
    assert!(matches!(none, Err(WorkloadError::NoRows)));
}
