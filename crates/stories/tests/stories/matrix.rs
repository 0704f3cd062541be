//! Any shape of load over any protocol: `weigh load` of every shape against real servers of every protocol, and what
//! is told is exactly what was asked for and what the servers served. Nothing here is about times.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};

use serde_json::Value;
use weighbridge_load::pace::{Flow, Schedule};
use weighbridge_model::experiment::Arrivals;
use weighbridge_model::quantity::{Nanoseconds, PerSecond, Timestamp};

use crate::support::World;
use crate::support::service::{self, Service};

/// Of Poisson arrivals: how many a second, for how many milliseconds, from which seed.
const POISSON: (u32, u64, u64) = (900, 100, 11);

/// Seconds at which requests come, and which of two operations each is where the line says it.
const TRACE: [(&str, Option<usize>); 8] = [
    ("3.000", Some(1)),
    ("3.000", Some(0)),
    ("3.002", None),
    ("3.010", Some(1)),
    ("3.0105", Some(1)),
    ("3.010500001", Some(0)),
    ("3.050", Some(1)),
    ("3.070", Some(1)),
];

/// How one protocol is loaded.
struct Stack<'a> {
    /// The address, and the flags that go with it.
    base: Vec<String>,
    /// The flags that ask for one kind of request.
    single: Vec<String>,
    /// The flags that ask for two kinds, and their names; `None` where the command line has but one.
    mix: Option<(Vec<String>, [&'static str; 2])>,
    /// Requests that the server says it has served, where it counts them.
    served: Option<&'a dyn Fn() -> u64>,
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// One shape: its flags, and how many requests it has.
struct Shape {
    name: &'static str,
    flags: Vec<String>,
    requests: u64,
}

/// Every shape of load whose requests are of one kind.
fn shapes() -> Vec<Shape> {
    let shape = |name, requests, flags: &str| {
        let flags = flags.split('|').map(|flag| flag.trim().to_owned()).collect();
        Shape { name, flags, requests }
    };
    let (rate, length, seed) = POISSON;
    let poisson = format!("-r|{rate}|-d|{length}ms|--seed|{seed}");
    vec![
        shape("closed", 120, "-n|120|-c|2"),
        shape("closed, on three threads", 100, "-n|100|-c|4|-t|3"),
        // Numbers of arrivals lie half a request away from the end, so that no rounding decides.
        shape("open, constant", 75, "-r|500|--arrivals|constant|-d|149ms"),
        shape("open, jitter", 75, "-r|500|--jitter|20%|-d|149.9ms"),
        shape("open, Poisson", poisson_arrivals(), &poisson),
        shape("open, by count", 60, "-r|2k/s|-n|60"),
        shape("partly open", 60, "--sessions|300|--length|3|-n|60"),
        shape(
            "partly open, thinking",
            50,
            "--sessions|200|--length|geometric:mean=4|--think|exponential:mean=1ms|-n|50",
        ),
        shape("steps", 30, "--profile|steps:210/s for 50ms, 380/s for 50ms|--arrivals|constant"),
        shape("ramp", 40, "--profile|ramp:0/s..790/s over 100ms|--arrivals|constant"),
        // 400 · 0.1 + 300 · 0.04 / 2π · (1 − cos 5π) = 43.8, and the one at the start.
        shape("sine", 44, "--profile|sine:400/s +- 300/s every 40ms|--arrivals|constant|-d|100ms"),
        // 2 · (900 · 0.02 + 100 · 0.03) + 900 · 0.015 = 55.5, and the one at the start.
        shape("burst", 56, "--profile|burst:100/s..900/s for 20ms every 50ms|--arrivals|constant|-d|115ms"),
        shape("churn in closed load", 100, "-n|100|-c|1|--churn|7"),
        shape("churn in open load", 50, "-r|500|--arrivals|constant|-d|99ms|-c|2|--churn|3"),
        shape("a connection for each request", 40, "-n|40|-c|2|--no-keepalive"),
        shape("think time", 40, "-n|40|-c|4|--think|uniform:low=500us,high=2ms"),
    ]
}

/// How many Poisson arrivals the schedule itself has.
fn poisson_arrivals() -> u64 {
    let (rate, length, seed) = POISSON;
    let flow = Flow::steady(PerSecond::new(f64::from(rate)).expect("a rate"), Arrivals::Poisson);
    let start = Timestamp::from_nanos(0);
    // The measured window's stream of the first thread.
    let mut schedule = Schedule::new(&flow, seed + (1 << 32), start);
    let arrivals = std::iter::from_fn(|| schedule.next_arrival());
    arrivals.take_while(|due| due.since(start) < Nanoseconds::from_millis(length)).count() as u64
}

/// One load, whose figures hold in themselves: nothing failed, nothing was left out, and whatever was sent was
/// answered, as the server has it too.
#[track_caller]
fn load(stack: &Stack<'_>, name: &str, flags: &[&[String]], requests: u64) -> Value {
    let world = World::idle();
    let before = stack.served.map(|served| served());
    let arguments = [&words(&["load", "--format", "json"])[..], &stack.base, &flags.concat()].concat();
    let ended = world.weigh(&arguments).end();
    // A machine that is busy with other things makes figures invalid (3), never wrong.
    assert!(matches!(ended.code, Some(0 | 3)), "{name}: {arguments:?}: {ended}");
    let figures = ended.json();
    let count = |key: &str| figures[key].as_u64().unwrap_or_else(|| panic!("{key}: {figures}"));
    assert_eq!((count("errors"), count("not_sent")), (0, 0), "{name}: {arguments:?}: {figures}");
    assert_eq!(count("requests"), requests, "{name}: {arguments:?}: {figures}");
    let good = figures["throughput_per_s"].as_f64().expect("a rate") * count("took_ns") as f64 / 1e9;
    assert_eq!(good.round() as u64, requests, "{name}: {figures}");
    if let Some(operations) = figures["operations"].as_array().filter(|operations| !operations.is_empty()) {
        let sum: u64 = operations.iter().filter_map(|operation| operation["good"].as_u64()).sum();
        assert_eq!(sum, requests, "{name}: {figures}");
    }
    if let Some((before, served)) = before.zip(stack.served) {
        assert_eq!(served() - before, requests, "{name}: what the server has served");
    }
    figures
}

/// All shapes over one protocol.
fn every_shape(stack: &Stack<'_>) {
    for Shape { name, flags, requests } in shapes() {
        let figures = load(stack, name, &[&stack.single, &flags], requests);
        if name == "churn in closed load" {
            // The first, and 14 more: each is opened when the one before has served seven.
            assert_eq!((&figures["connects"], &figures["churn"]), (&15.into(), &7.into()), "{figures}");
        }
    }
    every_mix(stack);
}

/// Two kinds of request: by their weights, and as a trace names them.
fn every_mix(stack: &Stack<'_>) {
    let world = World::idle();
    let trace = |names: Option<&[&str; 2]>| {
        let line = |(time, operation): &(&str, Option<usize>)| match operation.zip(names) {
            Some((operation, names)) => format!("{time},\"{}\"\n", names[operation].replace('"', "\"\"")),
            None => format!("{time}\n"),
        };
        let text: String = TRACE.iter().map(line).collect();
        let name = if names.is_some() { "named.csv" } else { "times.csv" };
        let path = world.write(name, &text);
        words(&["--trace", path.to_str().expect("a plain path"), "--speed", "2"])
    };
    let all = TRACE.len() as u64;
    load(stack, "trace", &[&stack.single, &trace(None)], all);
    let sessions = words(&["--length", "2", "-n", "10"]);
    load(stack, "trace of sessions", &[&stack.single, &trace(None), &sessions], 10);
    let Some((mix, names)) = &stack.mix else { return };
    let figures = load(stack, "mix", &[mix, &words(&["-n", "90", "-c", "2"])], 90);
    assert_eq!(figures["operations"].as_array().map(Vec::len), Some(2), "{figures}");
    let figures = load(stack, "trace that names operations", &[mix, &trace(Some(names))], all);
    for (at, name) in names.iter().enumerate() {
        let operations = figures["operations"].as_array().expect("two operations");
        let good = operations.iter().find(|operation| operation["name"] == *name);
        let good = good.and_then(|operation| operation["good"].as_u64()).expect("it is there");
        let named = TRACE.iter().filter(|(_, operation)| *operation == Some(at)).count() as u64;
        // One line names none.
        assert!((named..=named + 1).contains(&good), "{name}: {good} and not {named}: {figures}");
    }
}

fn paths() -> Option<(Vec<String>, [&'static str; 2])> {
    Some((words(&["--mix", "3 GET /pong/5", "--mix", "GET /pong/1000"]), ["GET /pong/5", "GET /pong/1000"]))
}

#[test]
fn every_shape_over_http1() {
    let service = Service::start("rust", "http1-json");
    let base = format!("http://127.0.0.1:{}", service.port);
    every_shape(&Stack {
        base: words(&[&base, "--pipeline", "2"]),
        single: words(&["--mix", "GET /pong/64"]),
        mix: paths(),
        served: None,
    });
}

#[test]
fn every_shape_over_http1_with_tls() {
    let service = Service::start_secured("go", "http1-json");
    let base = format!("https://127.0.0.1:{}", service.port);
    every_shape(&Stack {
        base: words(&[&base, "--cacert", &service.authority()]),
        single: words(&["--mix", "GET /pong/64"]),
        mix: paths(),
        served: None,
    });
}

#[test]
fn every_shape_over_http2() {
    let service = Service::start("rust", "http2-json");
    let base = format!("http://127.0.0.1:{}", service.port);
    every_shape(&Stack {
        base: words(&[&base, "--http2", "--streams", "4"]),
        single: words(&["--mix", "GET /pong/64"]),
        mix: paths(),
        served: None,
    });
}

#[test]
fn every_shape_over_grpc() {
    let service = Service::start("go", "grpc");
    let base = format!("grpc://127.0.0.1:{}/weighbridge.pong.v1.Pong/Pong", service.port);
    let proto = service::folder().join("proto/pong.proto");
    let proto = proto.to_str().expect("a plain path");
    every_shape(&Stack {
        base: words(&[&base, "--proto", proto, "--data", r#"{"size": 64}"#, "--streams", "4"]),
        single: Vec::new(),
        mix: None,
        served: None,
    });
}

/// A Unix socket that leads to a port: services listen on TCP only. It ends with the test.
fn relay(port: u16) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("socket");
    let listener = UnixListener::bind(&path).expect("binds");
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let server = TcpStream::connect(("127.0.0.1", port)).expect("connects");
            let _ = server.set_nodelay(true);
            let (mut up, mut down) =
                (client.try_clone().expect("a copy"), server.try_clone().expect("a copy"));
            std::thread::spawn(move || {
                let _ = std::io::copy(&mut up, &mut &server);
                let _ = server.shutdown(Shutdown::Write);
            });
            std::thread::spawn(move || {
                let _ = std::io::copy(&mut down, &mut &client);
                let _ = client.shutdown(Shutdown::Both);
            });
        }
    });
    let path = path.to_str().expect("a plain path").to_owned();
    (folder, path)
}

#[test]
fn every_shape_over_grpc_on_a_unix_socket() {
    let service = Service::start("rust", "grpc");
    let (_folder, socket) = relay(service.port);
    let base = "grpc://localhost/weighbridge.pong.v1.Pong/Pong";
    every_shape(&Stack {
        base: words(&[base, "--unix", &socket, "--reflection", "--data", r#"{"size": 64}"#]),
        single: Vec::new(),
        mix: None,
        served: None,
    });
}

#[test]
fn every_shape_over_http2_with_tls_on_a_unix_socket() {
    let service = Service::start_secured("rust", "http2-json");
    let (_folder, socket) = relay(service.port);
    let flags = ["https://localhost", "--unix", &socket, "--cacert", &service.authority(), "--http2"];
    every_shape(&Stack {
        base: words(&flags),
        single: words(&["--mix", "GET /pong/64"]),
        mix: paths(),
        served: None,
    });
}

/// Asks a server for its statistics over a connection of its own and adds up what `count` finds in its lines.
fn statistics<S>(stream: S, ask: &str, end: &str, count: impl Fn(&str) -> Option<u64>) -> u64
where
    for<'a> &'a S: Read + Write,
{
    (&stream).write_all(ask.as_bytes()).expect("asked");
    let lines = BufReader::new(&stream).lines().map(|line| line.expect("a line"));
    lines.take_while(|line| line.trim() != end).filter_map(|line| count(&line)).sum()
}

fn memcached_served(line: &str) -> Option<u64> {
    let rest = line.strip_prefix("STAT cmd_").and_then(|rest| rest.split_once(' '));
    rest.filter(|(name, _)| matches!(*name, "get" | "set")).and_then(|(_, count)| count.trim().parse().ok())
}

#[test]
fn every_shape_over_memcached() {
    let cached = crate::servers::memcached();
    let connect = || TcpStream::connect(cached.address).expect("connects");
    let served = || statistics(connect(), "stats\r\n", "END", memcached_served);
    every_shape(&over_memcached(
        words(&[&format!("memcached://{}", cached.address), "--pipeline", "4"]),
        &served,
    ));
}

#[test]
fn every_shape_over_memcached_on_a_unix_socket() {
    let cached = crate::servers::memcached_on_unix();
    let connect = || UnixStream::connect(&cached.socket).expect("connects");
    let served = || statistics(connect(), "stats\r\n", "END", memcached_served);
    let socket = cached.socket.to_str().expect("a plain path");
    every_shape(&over_memcached(words(&["memcached://localhost", "--unix", socket]), &served));
}

fn over_memcached(base: Vec<String>, served: &dyn Fn() -> u64) -> Stack<'_> {
    let mix = (words(&["-X", "set k 0 0 v", "-X", "get k"]), ["set k 0 0 v", "get k"]);
    Stack { base, single: words(&["-X", "get k"]), mix: Some(mix), served: Some(served) }
}

/// `cmdstat_get:calls=3,usec=…`
fn redis_served(line: &str) -> Option<u64> {
    let rest = line.strip_prefix("cmdstat_").and_then(|rest| rest.split_once(":calls="));
    let (_, rest) = rest.filter(|(name, _)| matches!(*name, "get" | "set"))?;
    rest.split(',').next()?.parse().ok()
}

/// Redis ends a bulk string with nothing of its own: a second command marks the end.
const ASK_REDIS: &str = "INFO commandstats\r\nECHO over\r\n";

#[test]
fn every_shape_over_redis() {
    let redis = crate::servers::redis(&[]);
    let connect = || TcpStream::connect(redis.address).expect("connects");
    let served = || statistics(connect(), ASK_REDIS, "over", redis_served);
    let url = format!("redis://{}", redis.address);
    every_shape(&over_redis(words(&[&url, "--resp", "3", "--pipeline", "4"]), &served));
}

#[test]
fn every_shape_over_redis_on_a_unix_socket() {
    let redis = crate::servers::redis(&[]);
    let connect = || UnixStream::connect(&redis.socket).expect("connects");
    let served = || statistics(connect(), ASK_REDIS, "over", redis_served);
    let socket = redis.socket.to_str().expect("a plain path");
    every_shape(&over_redis(words(&["redis://localhost", "--unix", socket]), &served));
}

fn over_redis(base: Vec<String>, served: &dyn Fn() -> u64) -> Stack<'_> {
    let mix = (words(&["-X", "SET k \"a, b\"", "-X", "GET k"]), ["SET k \"a, b\"", "GET k"]);
    Stack { base, single: words(&["-X", "GET k"]), mix: Some(mix), served: Some(served) }
}
