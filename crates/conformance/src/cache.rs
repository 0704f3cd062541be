//! Rows K1 to K15: the workload `cache`.
//!
//! What is evicted when is compared with a plain model, request by request on one connection.

use serde_json::{Value, json};
use weighbridge_model::experiment::{EvictionPolicy, Protocol};
use weighbridge_workload::{ModelCache, Put};

use super::client::Connection;
use super::harness::{Harness, Service};
use super::limits::IDLE_END;
use super::outcome::{Shortfall, Verdict, differs, quoted};
use super::process::{refuses, version_line};
use super::reply::{Expected, RawRequest, ask, exchange};
use super::streams::{Http2, Windows, drive};
use super::{Needs, Test, row};

const NEEDS: Needs = Needs::Cache(Protocol::HTTP1_JSON);

pub(super) const ROWS: &[Test] = &[
    row("K1", "values are put, replaced, read and deleted, with the statuses for that")
        .tried(NEEDS, statuses),
    row("K2", "`Accept: application/octet-stream` gets the value alone").tried(NEEDS, forms),
    row("K3", "keys and values are percent-decoded").tried(NEEDS, escapes),
    row("K4", "keys and values are any bytes; what is not UTF-8 has no JSON").tried(NEEDS, any_bytes),
    row("K5", "other paths are 404, other methods 405, wrong keys 400").tried(NEEDS, wrong_requests),
    row("K6", "a value of the limit is taken, a larger one is 413").tried(NEEDS, limits),
    row("K7", "`fifo` evicts what was stored first")
        .tried(NEEDS, |harness| evicts(harness, EvictionPolicy::Fifo)),
    row("K8", "`lru` evicts what was used least recently")
        .tried(NEEDS, |harness| evicts(harness, EvictionPolicy::Lru)),
    row("K9", "`largest` evicts the largest value")
        .tried(NEEDS, |harness| evicts(harness, EvictionPolicy::Largest)),
    row("K10", "`none` evicts nothing and refuses")
        .tried(NEEDS, |harness| evicts(harness, EvictionPolicy::None)),
    row("K11", "`/memsize` counts, and `/reset` empties").tried(NEEDS, counts_and_reset),
    row("K12", "eight connections at once keep values whole and counts right").tried(NEEDS, hammered),
    row("K13", "`POST /shutdown` ends the process with exit code 0").tried(NEEDS, shutdown),
    row("K14", "wrong settings are refused in one line, exit code 2").tried(NEEDS, wrong_settings),
    row("K15", "over HTTP/2 statuses and values are the same")
        .tried(Needs::Cache(Protocol::HTTP2_JSON), statuses_over_http2),
];

/// The limit where none is set.
const DEFAULT_LIMIT: u64 = 64 << 20;

fn start(harness: &Harness, settings: &[(&str, &str)]) -> Result<Service, Shortfall> {
    harness.start_with(&[&[("WORKLOAD", "cache")], settings].concat())
}

fn get(path: &str) -> RawRequest {
    RawRequest::get(path)
}

fn bytes_of(path: &str) -> RawRequest {
    get(path).with("Accept: application/octet-stream")
}

fn value(key: &str, value: &str) -> Expected {
    Expected::Object(json!({ "key": key, "value": value }))
}

fn asks(service: &Service, exchanges: &[(RawRequest, Expected)]) -> Verdict {
    let mut connection = service.connect()?;
    exchanges.iter().try_for_each(|(request, expected)| ask(&mut connection, request, expected).map(drop))
}

/// Row K1.
fn conversation() -> Vec<(RawRequest, Expected)> {
    vec![
        (get("/key/a"), Expected::Problem(404)),
        (RawRequest::head("/key/a"), Expected::Problem(404)),
        (RawRequest::empty("DELETE", "/key/a"), Expected::Problem(404)),
        (RawRequest::put("/key/a", "one"), Expected::Done(201)),
        (RawRequest::put("/key/a", "two"), Expected::Done(200)),
        (RawRequest::empty("PUT", "/key/b/three"), Expected::Done(201)),
        (RawRequest::empty("PUT", "/key/b/four"), Expected::Done(200)),
        (get("/key/a"), value("a", "two")),
        (RawRequest::head("/key/a"), value("a", "two")),
        (get("/key/b"), value("b", "four")),
        (RawRequest::head("/key/b"), value("b", "four")),
        (RawRequest::put("/key/a", ""), Expected::Done(200)),
        (get("/key/a"), value("a", "")),
        (RawRequest::empty("DELETE", "/key/b"), Expected::Done(200)),
        (RawRequest::empty("DELETE", "/key/b"), Expected::Problem(404)),
        (get("/key/b"), Expected::Problem(404)),
    ]
}

fn statuses(harness: &mut Harness) -> Verdict {
    asks(&start(harness, &[])?, &conversation())
}

fn statuses_over_http2(harness: &mut Harness) -> Verdict {
    let service = start(harness, &[("PROTOCOL", Protocol::HTTP2_JSON.name())])?;
    drive(async {
        let mut connection = Http2::open(service.address(), harness.limits(), Windows::DEFAULT).await?;
        for (request, expected) in conversation() {
            connection.ask(&request, &expected).await?;
        }
        Ok(())
    })
}

fn forms(harness: &mut Harness) -> Verdict {
    let accepting = |media: &str| get("/key/a").with(&format!("Accept: {media}"));
    let (text, bytes) = (value("a", "two"), Expected::Bytes(b"two".to_vec()));
    let exchanges = [
        (RawRequest::put("/key/a", "two"), Expected::Done(201)),
        (accepting("application/octet-stream"), bytes.clone()),
        (accepting("application/json"), text.clone()),
        (accepting("*/*"), text.clone()),
        (accepting("text/html, application/octet-stream;q=0.5"), bytes),
        (get("/key/a"), text),
    ];
    asks(&start(harness, &[])?, &exchanges)
}

fn escapes(harness: &mut Harness) -> Verdict {
    let mut exchanges = vec![
        (RawRequest::put("/key/a", "letter"), Expected::Done(201)),
        (get("/key/%61"), value("a", "letter")),
    ];
    for (escaped, decoded) in [
        ("a%2Fb", "a/b"),
        ("%25", "%"),
        ("a%20b", "a b"),
        ("a+b", "a+b"),
        ("%C3%BC", "ü"),
        ("%00", "\0"),
        ("%22%5C%0A", "\"\\\n"),
        ("..%2F", "../"),
    ] {
        exchanges.extend([
            (RawRequest::put(format!("/key/{escaped}"), decoded), Expected::Done(201)),
            (get(&format!("/key/{escaped}")), value(decoded, decoded)),
            (RawRequest::empty("PUT", format!("/key/x/{escaped}")), Expected::Done(200)),
            (get("/key/x"), value("x", decoded)),
        ]);
    }
    // The first value under `x` is new.
    exchanges.insert(2, (RawRequest::put("/key/x", ""), Expected::Done(201)));
    asks(&start(harness, &[])?, &exchanges)
}

fn any_bytes(harness: &mut Harness) -> Verdict {
    let all: Vec<u8> = (0..=u8::MAX).collect();
    let escaped: String = all.iter().map(|byte| format!("%{byte:02x}")).collect();
    let path = format!("/key/{escaped}");
    let exchanges = [
        (RawRequest::put(&path, all.clone()), Expected::Done(201)),
        (bytes_of(&path), Expected::Bytes(all.clone())),
        (get(&path), Expected::Problem(406)),
        (RawRequest::empty("PUT", format!("{path}/{escaped}")), Expected::Done(200)),
        (bytes_of(&path), Expected::Bytes(all)),
        (RawRequest::put("/key/%FF", "text"), Expected::Done(201)),
        (get("/key/%FF"), Expected::Problem(406)),
        (RawRequest::put("/key/text", [0xc3]), Expected::Done(201)),
        (get("/key/text"), Expected::Problem(406)),
        (bytes_of("/key/text"), Expected::Bytes(vec![0xc3])),
    ];
    asks(&start(harness, &[])?, &exchanges)
}

fn wrong_requests(harness: &mut Harness) -> Verdict {
    let service = start(harness, &[])?;
    let mut connection = service.connect()?;
    for path in ["/key", "/", "/pong/5", "/memsize/", "/key/a/b/c"] {
        ask(&mut connection, &get(path), &Expected::Problem(404))?;
    }
    for (method, path, allowed) in [
        ("POST", "/key/a", &["DELETE", "GET", "HEAD", "PUT"][..]),
        ("GET", "/key/a/b", &["PUT"]),
        ("PUT", "/memsize", &["GET", "HEAD"]),
        ("GET", "/reset", &["POST"]),
        ("GET", "/shutdown", &["POST"]),
    ] {
        let request = if method == "GET" { get(path) } else { RawRequest::empty(method, path) };
        ask(&mut connection, &request, &Expected::Problem(405))?.allows(&request, allowed)?;
    }
    for request in
        [RawRequest::put("/key/", "x"), get("/key/"), get("/key/%zz"), RawRequest::empty("PUT", "/key/a/%zz")]
    {
        ask(&mut connection, &request, &Expected::Problem(400))?;
    }
    let version = Expected::Version(version_line(harness, &[])?);
    ask(&mut connection, &get("/version"), &version).map(drop)
}

fn limits(harness: &mut Harness) -> Verdict {
    let exact = "x".repeat(1000);
    let exchanges = [
        (RawRequest::put("/key/a", exact.as_str()), Expected::Done(201)),
        (RawRequest::put("/key/a", "y".repeat(1001)), Expected::Problem(413)),
        (RawRequest::put("/key/b", "y".repeat(65_536)), Expected::Problem(413)),
        (get("/key/a"), value("a", &exact)),
    ];
    asks(&start(harness, &[("CACHE_LIMIT", "1000")])?, &exchanges)?;
    let large = "z".repeat(10_000);
    let exchanges = [
        (RawRequest::put("/key/a", large.as_str()), Expected::Done(201)),
        (bytes_of("/key/a"), Expected::Bytes(large.into_bytes())),
    ];
    asks(&start(harness, &[("CACHE_LIMIT", "20000")])?, &exchanges)
}

/// The next of a sequence of numbers that look like random ones (splitmix64).
fn draw(state: &mut u64) -> usize {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((mixed ^ (mixed >> 31)) >> 33) as usize
}

fn name(key: usize) -> String {
    format!("k{key:02}")
}

const KEYS: usize = 40;
const OPERATIONS: usize = 3000;
const EVICTING_LIMIT: u64 = 1000;

/// What the cache must hold: texts by key.
type Model = ModelCache<String, String>;

fn evicts(harness: &mut Harness, policy: EvictionPolicy) -> Verdict {
    let service = start(harness, &[("CACHE_LIMIT", "1000"), ("CACHE_POLICY", policy.name())])?;
    let mut connection = service.connect()?;
    let mut model = Model::new(policy, EVICTING_LIMIT);
    let mut state = 1;
    for number in 0..OPERATIONS {
        let (request, expected) = operation(&mut model, &mut state, number);
        exchange(&mut connection, &request, &expected)
            .map_err(|shortfall| shortfall.behind(format_args!(" (request {number})")))?;
        if number % 100 == 0 {
            exchange(&mut connection, &get("/memsize"), &counted(&model))
                .map_err(|shortfall| shortfall.behind(format_args!(" (behind request {number})")))?;
        }
    }
    for key in (0..KEYS).map(name) {
        exchange(&mut connection, &get(&format!("/key/{key}")), &found(&mut model, &key))?;
    }
    Ok(())
}

/// A request, and the reply that a plain cache gives.
fn operation(model: &mut Model, state: &mut u64, number: usize) -> (RawRequest, Expected) {
    let key = name(draw(state) % KEYS);
    let path = format!("/key/{key}");
    match draw(state) % 10 {
        0..=3 => (get(&path), found(model, &key)),
        4 => (RawRequest::head(&path), found(model, &key)),
        5 => {
            let expected = if model.delete(&*key) { Expected::Done(200) } else { Expected::Problem(404) };
            (RawRequest::empty("DELETE", path), expected)
        }
        _ => {
            let value: String = format!("{number}.").chars().cycle().take(draw(state) % 301).collect();
            let expected = match model.put(key, value.len() as u64, value.clone()) {
                Put::Created => Expected::Done(201),
                Put::Replaced => Expected::Done(200),
                Put::TooLarge => Expected::Problem(413),
                Put::Full => Expected::Problem(507),
            };
            (RawRequest::put(path, value), expected)
        }
    }
}

fn found(model: &mut Model, key: &str) -> Expected {
    model.get(key).map_or(Expected::Problem(404), |text| value(key, text))
}

/// The object of `/memsize`.
fn counted(model: &Model) -> Expected {
    size(model.used(), model.len() as u64, model.evictions(), EVICTING_LIMIT)
}

fn size(used: u64, items: u64, evictions: u64, limit: u64) -> Expected {
    Expected::Object(json!({ "memused": used, "items": items, "evictions": evictions, "limit": limit }))
}

fn counts_and_reset(harness: &mut Harness) -> Verdict {
    let exchanges = [
        (RawRequest::put("/key/a", "1234"), Expected::Done(201)),
        (RawRequest::put("/key/b", "1234"), Expected::Done(201)),
        (RawRequest::put("/key/c", "123"), Expected::Done(201)),
        (get("/memsize"), size(7, 2, 1, 10)),
        (RawRequest::head("/memsize"), size(7, 2, 1, 10)),
        (RawRequest::empty("POST", "/reset"), Expected::Done(204)),
        (get("/key/c"), Expected::Problem(404)),
        (get("/memsize"), size(0, 0, 0, 10)),
        (RawRequest::put("/key/c", "12345"), Expected::Done(201)),
        (get("/memsize"), size(5, 1, 0, 10)),
    ];
    asks(&start(harness, &[("CACHE_LIMIT", "10")])?, &exchanges)
}

const CROWD: usize = 8;
const SHARED_KEYS: usize = 64;
const HAMMERED_LIMIT: usize = 20_000;

fn hammered(harness: &mut Harness) -> Verdict {
    for policy in [EvictionPolicy::Fifo, EvictionPolicy::Lru, EvictionPolicy::Largest] {
        let settings =
            [("CACHE_LIMIT", HAMMERED_LIMIT.to_string()), ("CACHE_POLICY", policy.name().to_owned())];
        let settings: Vec<_> = settings.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let service = start(harness, &settings)?;
        service
            .at_once(CROWD, |index, mut connection| hammer(&mut connection, index as u64))
            .and_then(|()| adds_up(&mut service.connect()?))
            .map_err(|shortfall| shortfall.behind(format_args!(" (`CACHE_POLICY={}`)", policy.name())))?;
    }
    Ok(())
}

/// A value that tells its key and its length.
fn telling(key: &str, length: usize) -> Vec<u8> {
    let head = format!("{key} {length:04} ");
    head.bytes().chain(std::iter::repeat(b'x')).take(length).collect()
}

/// Sends 500 requests, and looks whether each value was put under its key.
fn hammer(connection: &mut Connection, seed: u64) -> Verdict {
    let mut state = seed;
    for _ in 0..500 {
        let key = name(draw(&mut state) % SHARED_KEYS);
        let path = format!("/key/{key}");
        match draw(&mut state) % 10 {
            0..=4 => drop(value_of(connection, &key)?),
            5 => {
                let request = RawRequest::empty("DELETE", path);
                any_of(connection, &request, &[200, 404])?;
            }
            _ => {
                let request = RawRequest::put(path, telling(&key, 10 + draw(&mut state) % 1990));
                any_of(connection, &request, &[200, 201])?;
            }
        }
    }
    Ok(())
}

/// The length of the value of a key, if there is one. It must be whole.
fn value_of(connection: &mut Connection, key: &str) -> Result<Option<usize>, Shortfall> {
    let request = bytes_of(&format!("/key/{key}"));
    let (status, body) = any_of(connection, &request, &[200, 404])?;
    if status == 200 && body != telling(key, body.len()) {
        return Err(differs(request, "a value that was put under its key", quoted(&body)));
    }
    Ok((status == 200).then_some(body.len()))
}

/// The status and the body of a reply with one of these statuses.
fn any_of(
    connection: &mut Connection,
    request: &RawRequest,
    statuses: &[u16],
) -> Result<(u16, Vec<u8>), Shortfall> {
    let expected = format!("one of the statuses {statuses:?}");
    let wrong = |came: String| differs(request, &expected, came);
    connection.send(&request.bytes()).map_err(|error| wrong(error.to_string()))?;
    let deadline = connection.limits().for_reply(HAMMERED_LIMIT);
    let head = connection.head(deadline).map_err(|error| wrong(error.to_string()))?;
    if !statuses.contains(&head.status) {
        return Err(wrong(format!("status {}", head.status)));
    }
    let length = head.only("content-length").and_then(|length| length.parse().ok());
    let length = length.ok_or_else(|| wrong("a head without a `Content-Length`".to_owned()))?;
    let body = connection.body(length, deadline).map_err(|error| wrong(error.to_string()))?;
    Ok((head.status, body))
}

/// Checks `/memsize` against the values that are there.
fn adds_up(connection: &mut Connection) -> Verdict {
    let lengths = (0..SHARED_KEYS).map(|key| value_of(connection, &name(key)));
    let lengths: Vec<usize> = lengths.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect();
    let request = get("/memsize");
    let (_, body) = any_of(connection, &request, &[200])?;
    let told: Value = serde_json::from_slice(&body).unwrap_or_default();
    let (used, items) = (lengths.iter().sum::<usize>(), lengths.len());
    if told["memused"] == used && told["items"] == items && used <= HAMMERED_LIMIT {
        return Ok(());
    }
    let expected = format!("`memused` {used} and `items` {items}, at most {HAMMERED_LIMIT} bytes");
    Err(differs(request, expected, quoted(&body)))
}

fn shutdown(harness: &mut Harness) -> Verdict {
    let service = start(harness, &[])?;
    let mut connections = [service.connect()?, service.connect()?, service.connect()?];
    for (number, connection) in connections.iter_mut().enumerate() {
        ask(connection, &RawRequest::put(format!("/key/{number}"), "x"), &Expected::Done(201))?;
    }
    let request = RawRequest::empty("POST", "/shutdown");
    exchange(&mut connections[0], &request, &Expected::Done(202))?;
    let end = harness.limits().within(IDLE_END);
    let stopping = service.told_to_end("`POST /shutdown`");
    for connection in &mut connections {
        let ended = connection.end(end);
        ended.map_err(|came| {
            differs("behind `POST /shutdown`", "the end of each connection within 1 s", came)
        })?;
    }
    stopping.end()
}

fn wrong_settings(harness: &mut Harness) -> Verdict {
    let wrong = [
        ("CACHE_LIMIT", &["0", "-1", "64M", "007", "1000000000001"][..]),
        ("CACHE_POLICY", &["random", "LRU"]),
        ("CACHE_LOAD_FACTOR", &["0", "full", "-1"]),
    ];
    for (name, values) in wrong {
        for value in values {
            refuses(harness, &[], &[("WORKLOAD", "cache"), (name, value)], &[name, value])?;
        }
    }
    let service = start(harness, &wrong.map(|(name, _)| (name, "")))?;
    asks(&service, &[(get("/memsize"), size(0, 0, 0, DEFAULT_LIMIT))])
}
