//! Stories of `weigh load`: servers that refuse, reset, stall, trickle, fail and die. The load ends on time, every
//! failure is counted under its kind, and the exit code says whether the figures may be used.

use std::collections::BTreeSet;
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::server::{self, GOOD, Server, read_head, reset};
use crate::support::{Ended, World, eventually, measuring, send};

/// More than any of these loads may take: a second of load, a timeout, and a slow machine.
const ON_TIME: Duration = Duration::from_secs(60);

/// One second of load on a server, as JSON.
fn load(url: &str, more: &[&str]) -> Ended {
    let world = World::idle();
    let mut arguments = vec!["load", url, "-d", "1s", "--timeout", "300ms", "--format", "json"];
    arguments.extend(more);
    let ended = world.weigh(&arguments).end();
    assert!(ended.took < ON_TIME, "{ended}");
    ended
}

/// Errors by kind, those that occurred.
fn errors(figures: &Value) -> Vec<(String, u64)> {
    let counts = figures["errors_by_kind"].as_object().expect("counts");
    let counts = counts.iter().filter_map(|(kind, count)| Some((kind.clone(), count.as_u64()?)));
    counts.filter(|(_, count)| *count > 0).collect()
}

/// Fails unless every request failed with this kind, and the figures say that they must not be used.
#[track_caller]
fn assert_all_fail(ended: &Ended, kind: &str) {
    ended.assert_code(3);
    let figures = ended.json();
    let found = errors(&figures);
    assert!(found.len() == 1 && found[0].0 == kind, "{found:?}: {ended}");
    assert_eq!(figures["errors"], found[0].1);
    assert_eq!((&figures["errors"], &figures["validity"]), (&figures["requests"], &"invalid".into()));
    assert_eq!(figures["throughput_per_s"], 0.0);
}

#[test]
fn a_refusing_port_is_named_at_once() {
    let address = server::refusing();
    let ended = load(&format!("http://{address}/"), &[]);
    ended.assert_error(&[&address.to_string(), "refused", "check that the service listens there"]);
    assert!(ended.stdout.is_empty(), "{ended}");
}

#[test]
fn a_server_that_resets_every_connection_is_counted_as_reset() {
    let server = Server::start(|stream, _| reset(&stream));
    assert_all_fail(&load(&server.url(), &[]), "reset");
}

#[test]
fn a_server_that_says_nothing_is_counted_as_timeout_and_the_load_ends_on_time() {
    let server = Server::silent();
    let ended = load(&server.url(), &[]);
    assert_all_fail(&ended, "timeout");
    // A timeout is a lower bound of the response time, not nothing.
    assert!(ended.json()["response"]["max_ns"].as_u64() >= Some(300_000_000), "{ended}");
    let ended = load(&server.url(), &["-r", "100"]);
    assert_eq!(ended.code, Some(3), "{ended}");
    assert!(ended.json()["not_sent"].as_u64() > Some(0) || ended.json()["errors"].as_u64() > Some(0));
}

#[test]
fn heads_without_end_and_half_bodies_cost_bounded_time_and_memory() {
    let endless = Server::start(|mut stream, _| {
        if read_head(&mut stream) && stream.write_all(b"HTTP/1.1 200 OK\r\n").is_ok() {
            while stream.write_all(&b"X-More: and more\r\n".repeat(100)).is_ok() {}
        }
    });
    assert_all_fail(&load(&endless.url(), &[]), "protocol");
    let closing = Server::start(|mut stream, _| {
        if read_head(&mut stream) {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf of it");
        }
    });
    assert_all_fail(&load(&closing.url(), &[]), "reset");
    let waiting = Server::answering(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf of it");
    assert_all_fail(&load(&waiting.url(), &[]), "timeout");
    let foreign = Server::answering(b"220 mail.example ESMTP ready\r\n");
    assert_all_fail(&load(&foreign.url(), &[]), "protocol");
}

#[test]
fn failing_statuses_are_errors_and_change_the_first_line() {
    let server = Server::answering(b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n");
    assert_all_fail(&load(&server.url(), &[]), "status");
    let world = World::idle();
    let ended = world.weigh(&["load", &server.url(), "-n", "20"]).end();
    let first = ended.stdout.lines().next().expect("a first line");
    assert_eq!(first, "20 of 20 requests failed: 20 status", "{ended}");
    let sometimes = Server::start(|mut stream, _| {
        let mut good = false;
        while read_head(&mut stream) {
            good = !good;
            let reply = if good { GOOD } else { b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n" };
            if stream.write_all(reply).is_err() {
                return;
            }
        }
    });
    let ended = world.weigh(&["load", &sometimes.url(), "-n", "20"]).end();
    ended.assert_measured();
    assert!(ended.stdout.starts_with("10 of 20 requests failed: 10 status\n"), "{ended}");
    let told = ["load", &sometimes.url(), "-n", "20", "--latency", "--format", "json"];
    let statuses = world.weigh(&told).end().json()["statuses"].clone();
    let wanted = json!([{ "status": "2xx", "count": 10 }, { "status": "404 Not Found", "count": 10 }]);
    assert_eq!(statuses, wanted);
}

#[test]
fn a_server_that_closes_after_each_reply_is_no_error() {
    let server = Server::start(|mut stream, _| {
        if read_head(&mut stream) {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
        }
    });
    // By count: a load that ends by time may have opened a connection for which no request was left.
    let world = World::idle();
    let ended =
        world.weigh(&["load", &server.url(), "-n", "5000", "--timeout", "300ms", "--format", "json"]).end();
    ended.assert_measured();
    let figures = ended.json();
    assert_eq!((errors(&figures), figures["requests"].as_u64()), (vec![], Some(5000)));
    assert_eq!(figures["connects"].as_u64(), Some(5000), "{ended}");
    // Without announcing it, the close shows only when the next request is sent; that is opened again, not failed.
    let silent = Server::start(|mut stream, _| {
        if read_head(&mut stream) {
            let _ = stream.write_all(GOOD);
        }
    });
    let figures = load(&silent.url(), &["-r", "50", "--arrivals", "constant"]).json();
    let (failed, sent) = (figures["errors"].as_u64(), figures["requests"].as_u64().expect("a count"));
    assert!(failed <= Some(sent / 10), "{failed:?} of {sent} failed");
}

#[test]
fn a_server_that_dies_in_the_middle_leaves_what_was_measured_and_the_errors() {
    let over = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&over);
    let server = Server::start(move |mut stream, _| {
        while !flag.load(Ordering::SeqCst) && read_head(&mut stream) {
            if stream.write_all(GOOD).is_err() {
                return;
            }
        }
    });
    let url = server.url();
    let world = World::idle();
    let weigh = world.weigh(&["load", &url, "-d", "2s", "--timeout", "300ms", "--format", "json"]).start();
    std::thread::sleep(Duration::from_millis(1000));
    over.store(true, Ordering::SeqCst);
    drop(server);
    let ended = weigh.end();
    assert!(ended.took < ON_TIME, "{ended}");
    ended.assert_measured();
    let figures = ended.json();
    let (requests, failed) = (figures["requests"].as_u64(), figures["errors"].as_u64());
    assert!(failed > Some(0) && failed < requests, "{ended}");
    // By count the load cannot be finished: it is given up, and says so.
    let weigh = world.weigh(&["load", &url, "-n", "1000000", "--timeout", "300ms"]).start();
    weigh.end().assert_error(&["refused"]);
}

#[test]
fn a_count_that_cannot_be_reached_is_given_up_with_what_there_is() {
    let server = Server::start(|mut stream, number| {
        // The first connection answers ten times; after that nobody is answered any more.
        let replies = if number == 0 { 10 } else { 0 };
        for _ in 0..replies {
            if !read_head(&mut stream) || stream.write_all(GOOD).is_err() {
                return;
            }
        }
        reset(&stream);
    });
    let world = World::idle();
    let ended = world.weigh(&["load", &server.url(), "-n", "1000000", "--format", "json"]).end();
    ended.assert_error(&["given up", &server.address.to_string(), "requests in a row failed", "check that"]);
    let figures = ended.json();
    assert!(figures["requests"].as_u64() > Some(10) && figures["errors"].as_u64() > Some(0), "{ended}");
}

#[test]
fn gates_decide_the_exit_code() {
    let server = Server::start(|mut stream, _| {
        while read_head(&mut stream) {
            std::thread::sleep(Duration::from_millis(10));
            if stream.write_all(GOOD).is_err() {
                return;
            }
        }
    });
    let world = World::idle();
    // Enough requests that p90 is shown; each takes at least 10 ms by construction.
    let gated_by_count = |gates: &[&str]| {
        let url = server.url();
        let arguments = [&["load", &url, "-n", "220"], gates].concat();
        world.weigh(&arguments).end()
    };
    let failed = gated_by_count(&["--fail-if", "p50 > 5ms"]);
    failed.assert_gate_failed("p50 > 5ms");
    assert!(
        failed.stdout.contains("response p50: ") && failed.stdout.contains(", at most 5ms ✗"),
        "{failed}"
    );
    let passed = gated_by_count(&["--fail-if", "p50 > 5s", "--fail-if", "errors > 0"]);
    passed.assert_measured();
    assert!(
        passed.stdout.contains(", at most 5s ✓") && passed.stdout.contains("errors: 0, at most 0 ✓"),
        "{passed}"
    );
    let required = gated_by_count(&["--require", "p90 < 5ms"]);
    required.assert_gate_failed("p90 < 5ms");
    // Too few requests lie beyond p99: --fail-if needs proof to fail, --require needs proof to pass.
    gated_by_count(&["--fail-if", "p99 > 5ms"]).assert_measured();
    let unproven = gated_by_count(&["--require", "p99 < 5s"]);
    unproven.assert_gate_failed("p99 < 5s");
}

#[test]
fn an_error_gate_fails_on_errors() {
    let server = Server::start(|mut stream, _| {
        let mut good = true;
        while read_head(&mut stream) {
            let reply = if good { GOOD } else { b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n" };
            good = !good;
            if stream.write_all(reply).is_err() {
                return;
            }
        }
    });
    let world = World::idle();
    let ended = world.weigh(&["load", &server.url(), "-n", "10", "--fail-if", "errors > 0"]).end();
    ended.assert_gate_failed("errors > 0");
    assert!(ended.says("errors: 5, at most 0"), "{ended}");
    assert!(ended.stdout.contains("errors: 5, at most 0 ✗"), "{ended}");
    let url = server.url();
    let load = |gate: &[&str]| world.weigh(&[&["load", &url, "-n", "10"], gate].concat()).end();
    load(&["--fail-if", "errors > 50%"]).assert_measured();
    load(&["--require", "errors < 1%"]).assert_gate_failed("errors < 1%");
}

/// A probe that answers a request a millisecond is asked for a multiple of that.
#[test]
fn overload_says_what_was_offered_and_what_the_server_kept_up_with() {
    let world = World::new();
    let probe = world.weigh(&["probe", "delay", "constant:time=1ms", "--port", "0"]).start();
    eventually("the probe is ready", || probe.stdout().ends_with('\n'));
    let port = probe.stdout().trim().strip_prefix("ready ").expect("`ready <port>`").to_owned();
    let url = format!("http://127.0.0.1:{port}/pong/5");
    let load = |rate: u64, format: &str| {
        let rate = rate.to_string();
        let flags = ["-r", &rate, "--arrivals", "constant", "-d", "2s", "--format", format];
        world.weigh(&[&["load", &url], &flags[..]].concat()).end()
    };
    for rate in [2_000, 5_000, 50_000] {
        let ended = load(rate, "json");
        ended.assert_code(3);
        assert!(
            ended.took < Duration::from_secs(8),
            "2 s of load, as long for the queue, a timeout: {ended}"
        );
        let figures = ended.json();
        let [requests, good, errors, not_sent] =
            ["requests", "good", "errors", "not_sent"].map(|name| figures[name].as_u64().expect("a count"));
        assert!(requests.abs_diff(2 * rate) <= 1 && errors == 0, "{ended}");
        assert_eq!(requests, good + not_sent, "{ended}");
        let [offered, kept_up] = [&figures["load"]["offered_per_s"], &figures["throughput_per_s"]]
            .map(|rate| rate.as_f64().expect("a rate"));
        assert!((offered / rate as f64 - 1.0).abs() < 0.01 && kept_up < 1_050.0, "{ended}");
        let said = figures["reasons"][0].as_str().expect("a reason");
        assert!(
            said.starts_with("the server kept up with ") && said.ends_with("; the queue grew until the end")
        );
        let response = &figures["response"];
        assert!(response["p50_ns"].is_null() && response["max_ns"].is_null(), "{ended}");
        assert!(
            response["withheld"]["p50"].as_str().is_some_and(|why| why.contains("queue grew")),
            "{ended}"
        );
        assert!(figures["service"]["p50_ns"].is_number(), "{ended}");
    }
    for format in ["text", "markdown"] {
        let ended = load(5_000, format);
        ended.assert_code(3);
        let words = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        for said in [
            "/s of 5000/s; the queue grew until the end",
            "of 10,000 requests that were due were never sent",
            "response times not shown: the queue grew until the end",
        ] {
            assert!(words.contains(said), "{said}: {ended}");
        }
    }
    let kept_up = load(500, "json");
    assert!(!kept_up.stdout.contains("queue grew"), "{kept_up}");
    probe.end_by("TERM").assert_code(0);
}

// --- Several URLs -------------------------------------------------------------------------------------------------

#[test]
fn of_several_urls_one_that_refuses_is_named() {
    let good = Server::answering(GOOD);
    let address = server::refusing();
    let world = World::idle();
    let refusing = format!("http://{address}/");
    let arguments = ["load", &good.url(), &refusing, "-d", "2s", "--out", "runs"];
    let ended = world.weigh(&arguments).end();
    ended.assert_error(&[&refusing, "refused", "check that the service listens there"]);
    world.assert_nothing_left();
}

#[test]
fn of_several_urls_one_that_dies_ends_the_run_and_keeps_whole_blocks() {
    measuring(|| {
        let good = Server::answering(GOOD);
        let over = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&over);
        let mortal = Server::start(move |mut stream, _| {
            while read_head(&mut stream) && !flag.load(Ordering::SeqCst) && stream.write_all(GOOD).is_ok() {}
        });
        let world = World::new();
        let url = mortal.url();
        let arguments = ["load", &good.url(), &url, "-d", "6s", "--timeout", "300ms", "--out", "runs"];
        let mut weigh = world.weigh(&arguments).start();
        weigh.until_event("block-ended", 1);
        weigh.until_event("round", 3);
        over.store(true, Ordering::SeqCst);
        drop(mortal);
        let ended = weigh.end();
        ended.assert_error(&[&url, "kept", "weigh run --resume runs/"]);
        assert!(world.blocks() >= 1);
        world.assert_nothing_left();
    });
}

#[test]
fn several_urls_print_what_a_run_prints() {
    measuring(|| {
        let (one, two) = (Server::answering(GOOD), Server::answering(GOOD));
        let world = World::new();
        let arguments = ["load", &one.url(), &two.url(), "-d", "2s", "--format", "json"];
        let ended = world.weigh(&arguments).end();
        ended.assert_measured();
        let result = ended.json();
        assert_eq!(result["variants"].as_array().map(Vec::len), Some(2));
        assert_eq!(result["costs"][0]["quantity"], "response_p50");
        assert_eq!(result["costs"][0]["ratio"]["blocks"], 6);
        world.assert_nothing_left();
    });
}

/// nginx with a log of its own, ending each connection after 100 requests.
struct Nginx<'a> {
    world: &'a World,
    process: Child,
    address: SocketAddr,
}

impl<'a> Nginx<'a> {
    fn start(world: &'a World, listen: &str) -> Self {
        let address = server::refusing();
        let at = |name| world.path(name).display().to_string();
        let text = format!(
            "daemon off; worker_processes 1; pid {pid}; error_log {errors};\nevents {{ worker_connections 256; }}\n\
             http {{ log_format one '$connection'; access_log {log} one; keepalive_requests 100;\n\
             server {{ listen {address} {listen}; location / {{ return 200 'hello'; }} }} }}\n",
            pid = at("nginx.pid"),
            errors = at("errors.log"),
            log = at("access.log"),
        );
        let settings = world.write("nginx.conf", &text);
        let process = Command::new("nginx")
            .arg("-c")
            .arg(settings)
            .arg("-p")
            .arg(world.path(""))
            .spawn()
            .expect("nginx");
        eventually("nginx listens", || TcpStream::connect(address).is_ok());
        Self { world, process, address }
    }

    /// The connection of each request that it answered.
    fn stop(mut self) -> Vec<String> {
        send("QUIT", self.process.id());
        self.process.wait().expect("it ends");
        let log = std::fs::read_to_string(self.world.path("access.log")).expect("a log");
        log.lines().map(str::to_owned).collect()
    }
}

#[test]
fn requests_behind_the_announced_end_of_a_connection_are_sent_again_and_none_fails() {
    const ASKED: usize = 20_000;
    for (listen, more) in [("", ["--pipeline", "16"].as_slice()), ("http2", &["--http2", "--streams", "16"])]
    {
        let world = World::idle();
        let nginx = Nginx::start(&world, listen);
        let url = format!("http://{}/", nginx.address);
        let mut arguments = vec!["load", &url, "-n", "20000", "-c", "4", "--format", "json"];
        arguments.extend(more);
        let ended = world.weigh(&arguments).end();
        let answered = nginx.stop();
        let figures = ended.json();
        assert_eq!((&figures["requests"], &figures["errors"]), (&json!(ASKED), &json!(0)), "{ended}");
        assert_eq!(answered.len(), ASKED, "{more:?}: each was answered once");
        assert!(figures["resent"].as_u64() > Some(0), "{more:?}: {ended}");
        let connections = answered.iter().collect::<BTreeSet<_>>().len();
        assert!(connections >= ASKED / 100, "{more:?}: {connections}");
        // At the end up to four may have been opened on which nothing was left to ask.
        let connects = figures["connects"].as_u64().expect("a count") as usize;
        assert!((connections..=connections + 4).contains(&connects), "{more:?}: {connections} {connects}");
    }
}
