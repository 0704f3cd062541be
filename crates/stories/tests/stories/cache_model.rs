//! The model of a cache predicts every reply of the services, agrees with a simulator by others, and stock servers count
//! lookups and hits as the load does.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use weighbridge_load::Recording;
use weighbridge_load::Settings;
use weighbridge_load::dial::{SocketDial, resolve};
use weighbridge_load::framer::Head;
use weighbridge_load::generator::{Generator, LoopOptions, WindowSpec};
use weighbridge_load::session::Reply;
use weighbridge_load::window::{Load, Stop};
use weighbridge_model::experiment::{CacheMix, CacheSpec, EvictionPolicy, LoadSpec, Protocol, WorkloadSpec};
use weighbridge_model::id::{OperationId, VariantId};
use weighbridge_model::quantity::Ratio;
use weighbridge_model::record::{Outcome, Tallies};
use weighbridge_workload::{Address, ModelCache, Put, UrlScheme, Workload};

use crate::servers::{memcached, redis, valkey};
use crate::support::service::Service;
use crate::support::{World, skipped};

const REQUESTS: u32 = 100_000;
/// A third of the values fits.
const LIMIT: u64 = 300_000;

fn spec(keys: u32) -> CacheSpec {
    CacheSpec {
        keys,
        mix: CacheMix { get: 60.0, set: 25.0, delete: 10.0, head: 5.0 },
        value: "uniform:1,500".parse().expect("a law"),
        absent: Ratio::new(0.01),
        fresh: Ratio::new(0.02),
        delete_absent: Ratio::new(0.1),
        ..CacheSpec::default()
    }
}

fn bound(spec: &CacheSpec, protocol: Protocol, address: SocketAddr) -> Workload {
    let address = Address { authority: address.to_string(), base: "/".to_owned(), scheme: UrlScheme::Http };
    let spec = WorkloadSpec::from(spec.clone());
    Workload::new(&spec, &LoadSpec::default(), protocol, &address, &|_| None).expect("a workload")
}

// --- The services --------------------------------------------------------------------------------------------------

/// The status that a request over HTTP gets from a cache like the model.
fn predicted(model: &mut ModelCache<String, ()>, request: &[u8]) -> u16 {
    let text = String::from_utf8_lossy(request);
    let (head, body) = text.split_once("\r\n\r\n").expect("a head");
    let mut words = head.split(' ');
    let method = words.next().expect("a method");
    let key = words.next().and_then(|target| target.strip_prefix("/key/")).expect("a key");
    let there = |is_there| if is_there { 200 } else { 404 };
    match method {
        "GET" | "HEAD" => there(model.get(key).is_some()),
        "DELETE" => there(model.delete(key)),
        "PUT" => match model.put(key.to_owned(), body.len() as u64, ()) {
            Put::Created => 201,
            Put::Replaced => 200,
            Put::TooLarge => 413,
            Put::Full => 507,
        },
        other => panic!("{other}"),
    }
}

/// Status and body of the reply on a connection.
fn reply(reader: &mut impl BufRead, has_body: bool) -> (u16, Vec<u8>) {
    let mut line = String::new();
    reader.read_line(&mut line).expect("a status line");
    let status = line.split(' ').nth(1).and_then(|word| word.parse().ok()).expect("a status");
    let mut length = 0;
    loop {
        line.clear();
        reader.read_line(&mut line).expect("a field");
        if line == "\r\n" {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().expect("a length");
        }
    }
    let mut body = vec![0; if has_body { length } else { 0 }];
    reader.read_exact(&mut body).expect("a body");
    (status, body)
}

/// Sends requests on one connection, and fails at the first whose status is not the model's. Values are checked as under
/// load.
fn follows_the_model(service: &str, policy: EvictionPolicy) {
    let settings =
        [("WORKLOAD", "cache"), ("CACHE_LIMIT", &LIMIT.to_string()), ("CACHE_POLICY", policy.name())];
    let running = Service::start_set(service, "http1-json", &settings);
    let address = SocketAddr::from(([127, 0, 0, 1], running.port));
    let workload = bound(&CacheSpec { seed: policy as u64, ..spec(4000) }, Protocol::HTTP1_JSON, address);
    let mut sessions = workload.sessions();
    sessions.prepare(1);
    sessions.rewind(1);
    let mut model = ModelCache::new(policy, LIMIT);
    let stream = TcpStream::connect(address).expect("it listens");
    stream.set_nodelay(true).expect("a socket");
    let (mut reader, mut writer) = (BufReader::new(&stream), &stream);
    let mut hits = 0;
    for number in 0..REQUESTS {
        let request = sessions.open(0);
        let bytes = sessions.request(request).bytes();
        let expected = predicted(&mut model, bytes);
        let (is_head, is_get) = (bytes.starts_with(b"HEAD"), bytes.starts_with(b"GET"));
        let line = String::from_utf8_lossy(&bytes[..bytes.len().min(60)]).into_owned();
        writer.write_all(bytes).expect("sent");
        let (status, body) = reply(&mut reader, !is_head);
        assert_eq!(status, expected, "{service}, {policy:?}, request {number}: {line}");
        hits += u32::from(is_get && status == 200);
        let check = sessions.check(0);
        check.head(&Head { status, fields: &[] });
        check.data(&body);
        let outcome = check.done();
        assert!(outcome == Outcome::Ok || status == 507, "{service}, request {number}: {outcome:?}");
        sessions.next(0, &Reply { request, outcome });
    }
    assert!(hits > REQUESTS / 20, "{service}, {policy:?}: {hits} hits");
    writer.write_all(b"GET /memsize HTTP/1.1\r\nHost: x\r\n\r\n").expect("sent");
    let (_, body) = reply(&mut reader, true);
    let size: Value = serde_json::from_slice(&body).expect("an object");
    let counted = serde_json::json!({
        "memused": model.used(), "items": model.len(), "evictions": model.evictions(), "limit": LIMIT
    });
    assert_eq!(size, counted, "{service}, {policy:?}");
    assert!(model.evictions() > 1000 || policy == EvictionPolicy::None, "{}", model.evictions());
}

#[test]
fn the_model_predicts_every_reply_of_the_service_in_rust() {
    let _world = World::idle();
    EvictionPolicy::ALL.into_iter().for_each(|policy| follows_the_model("rust", policy));
}

#[test]
#[ignore = "minutes: `make accuracy` tells it"]
fn the_model_predicts_every_reply_of_the_service_in_cpp() {
    let _world = World::idle();
    EvictionPolicy::ALL.into_iter().for_each(|policy| follows_the_model("cpp", policy));
}

// --- A simulator by others -----------------------------------------------------------------------------------------

/// What the model makes of a trace: a digit for each get, then bytes and keys held at the end.
fn modelled(trace: &str, policy: EvictionPolicy) -> String {
    let mut model = ModelCache::new(policy, LIMIT);
    let mut hits = String::new();
    for line in trace.lines() {
        let columns: Vec<&str> = line.split(',').collect();
        let [_, key, _, size, _, operation, _] = columns[..] else { panic!("{line}") };
        match operation {
            "get" => hits.push(if model.get(key).is_some() { '1' } else { '0' }),
            "set" => {
                model.put(key.to_owned(), size.parse().expect("a size"), ());
            }
            _ => {
                model.delete(key);
            }
        }
    }
    format!("{hits}\n{} {}\n", model.used(), model.len())
}

#[test]
fn libcachesim_agrees_with_the_model_about_every_get() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let python = root.join("scripts/tools/python/bin/python");
    let is_there = |module: &str| {
        let words = format!("import importlib.util as u, sys; sys.exit(u.find_spec('{module}') is None)");
        Command::new(&python).args(["-c", &words]).status().is_ok_and(|status| status.success())
    };
    if !is_there("libcachesim") {
        return skipped("`scripts/setup --tests` has no libcachesim for this machine");
    }
    let world = World::idle();
    world.write(
        "experiment.toml",
        "[workload]\nname = \"cache\"\nkeys = 4000\nmix = { get = 60, set = 25, delete = 10, head = 5 }\n\
         value = \"uniform:1,500\"\nfresh = \"2 %\"\nabsent = \"1 %\"\n[[variant]]\nservice = \"rust\"\n",
    );
    let count = REQUESTS.to_string();
    let trace = world.weigh(&["plan", "experiment.toml", "--stream", &count]).with_services().end();
    assert_eq!(trace.code, Some(0), "{trace:?}");
    let trace = trace.stdout;
    assert_eq!(trace.lines().count(), REQUESTS as usize + 4000);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stories/simulate_cache.py");
    for policy in [EvictionPolicy::Lru, EvictionPolicy::Fifo] {
        let mut simulator = Command::new(&python)
            .arg(&script)
            .args([policy.name(), &LIMIT.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python starts");
        let mut input = simulator.stdin.take().expect("piped");
        input.write_all(trace.as_bytes()).expect("it reads");
        drop(input);
        let output = simulator.wait_with_output().expect("it ends");
        let simulated = String::from_utf8(output.stdout).expect("digits");
        let modelled = modelled(&trace, policy);
        let hits = modelled.matches('1').count();
        assert!(hits > 10_000, "{hits} hits");
        assert!(simulated == modelled, "{policy:?}: {} and {} characters", simulated.len(), modelled.len());
    }
}

// --- Stock servers -------------------------------------------------------------------------------------------------

/// Gets that were hits and those that were misses, as the load records them: 10⁵ requests over 16 connections, behind
/// those that fill the cache.
fn load(protocol: Protocol, address: SocketAddr) -> (u64, u64) {
    // A head may count as a lookup or not, which no two servers have alike.
    let mix = CacheMix { head: 0.0, ..spec(1).mix };
    let spec = CacheSpec { mix, ..spec(4000) };
    let workload = bound(&spec, protocol, address);
    let dial = SocketDial::to(VariantId(0), resolve("127.0.0.1", address.port()).expect("an address"));
    let mut generator = Generator::new(Box::new(dial), LoopOptions::default()).expect("a generator");
    let settings = Settings { connections: 16, ..Settings::default() };
    generator.attach(VariantId(0), settings, workload.framing(), workload.sessions());
    generator.connect(VariantId(0)).expect("connections");
    let stop = Stop::Count(u64::from(REQUESTS) + workload.fill());
    let window = WindowSpec { substream: 1, load: Load::Closed(stop), recording: Recording::Exact };
    let (mut tallies, mut samples) = (Tallies::default(), Vec::new());
    generator.run(VariantId(0), &window, &mut tallies, Some(&mut samples), None).expect("a window");
    assert!(samples.iter().all(|sample| sample.outcome == Outcome::Ok), "an error");
    let names = WorkloadSpec::from(spec).operations();
    let count = |name: &str| {
        let at = names.iter().position(|one| one == name).expect("an operation");
        let times = tallies.messages_of(OperationId(at as u16), Outcome::Ok);
        times.map_or(0, |times| times.len())
    };
    (count("get hit"), count("get miss"))
}

/// The number behind a name in a server's answer.
fn counter(address: SocketAddr, command: &str, name: &str) -> u64 {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.write_all(format!("{command}\r\n").as_bytes()).expect("sent");
    let mut lines = BufReader::new(stream).lines().map(|line| line.expect("text"));
    let value = lines.find_map(|line| Some(line.strip_prefix(name)?.trim().to_owned())).expect("a counter");
    value.parse().expect("a number")
}

#[test]
fn stock_servers_count_lookups_and_hits_as_the_load_does() {
    let _world = World::idle();
    let evicting = ["--maxmemory", "3mb", "--maxmemory-policy", "allkeys-lru"];
    let (redis, valkey, memcached) = (redis(&evicting), valkey(&evicting), memcached());
    let keyspace = ["keyspace_hits:", "keyspace_misses:"];
    for (name, protocol, address, command, counters) in [
        ("redis", Protocol::RESP, redis.address, "INFO stats", keyspace),
        ("valkey", Protocol::RESP, valkey.address, "INFO stats", keyspace),
        (
            "memcached",
            Protocol::MEMCACHED,
            memcached.address,
            "stats",
            ["STAT get_hits ", "STAT get_misses "],
        ),
    ] {
        let (hits, misses) = load(protocol, address);
        let counted = counters.map(|counter_name| counter(address, command, counter_name));
        assert_eq!([hits, misses], counted, "{name}");
        assert!(hits > 10_000 && misses > 1000, "{name}: {hits} hits, {misses} misses");
    }
}
