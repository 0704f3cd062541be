//! Stories of the workload `cache`: memcached and Redis themselves, and servers over HTTP that tell the truth or lie.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::support::World;
use crate::support::server::Server;

const WORKLOAD: &str = "[workload]\nname = \"cache\"\nkeys = 300\nvalue = \"fb_value\"\n\
    mix = { get = 6, set = 2, delete = 1, head = 1 }\n[load]\nconnections = 4\nwarmup = \"20 ms\"\ntimeout = \"2 s\"\n";

const SERVERS: [&str; 2] = [
    "name = \"memcached\"\nprotocol = \"memcached\"\n\
     command = \"memcached -u root -l 127.0.0.1 -U 0 -t 1 -p {port}\"",
    "name = \"redis\"\nprotocol = \"resp\"\n\
     command = [\"redis-server\", \"--bind\", \"127.0.0.1\", \"--port\", \"{port}\", \"--save\", \"\"]",
];

#[test]
fn memcached_and_redis_are_filled_and_every_value_is_right() {
    let world = World::idle();
    world.experiment_with(WORKLOAD, &SERVERS);
    world.run(&[]).end().assert_measured();
    let summary = world.json("summary.json");
    let variants = summary["variants"].as_array().expect("variants");
    assert_eq!(variants.len(), 2);
    for variant in variants {
        assert_eq!(variant["errors"], 0, "{variant}");
    }
    let text = summary.to_string();
    for operation in ["get", "set", "delete", "head", "get hit", "get miss"] {
        assert!(text.contains(&format!("\"{operation}\"")), "no operation `{operation}` in {text}");
    }
}

/// The sum of a column of a trial's file.
fn sum(rows: &str, column: &str) -> u64 {
    let names: Vec<&str> = rows.lines().next().expect("a header").split(',').collect();
    let at =
        names.iter().position(|name| *name == column).unwrap_or_else(|| panic!("no {column} in {names:?}"));
    rows.lines()
        .skip(1)
        .map(|row| row.split(',').nth(at).expect("a cell").parse::<u64>().expect("a count"))
        .sum()
}

#[test]
fn every_key_of_a_get_of_several_is_a_lookup() {
    let world = World::idle();
    let laws = "absent = \"10 %\"\nvalue = \"uniform:1,200\"\n";
    let workload =
        format!("[workload]\nname = \"cache\"\nkeys = 300\nmix = {{ get = 1 }}\nbatch = 16\n{laws}");
    world.experiment_with(&workload, &SERVERS);
    world.run(&[]).end().assert_measured();
    for variant in world.json("summary.json")["variants"].as_array().expect("variants") {
        assert_eq!(variant["errors"], 0, "{variant}");
    }
    for trial in std::fs::read_dir(world.run_folder().join("trials")).expect("trials").flatten() {
        let text = |name| std::fs::read_to_string(trial.path().join(name)).expect("a file");
        let (counts, windows) = (text("counts.csv"), text("windows.csv"));
        let misses = ["compulsory", "capacity", "invalidated", "expired", "under_way"];
        let misses: u64 = misses.iter().map(|cause| sum(&counts, &format!("{cause}_misses"))).sum();
        let lookups = sum(&counts, "hits") + misses;
        // The first requests fill it, each key by a set.
        assert_eq!(lookups, 16 * (sum(&windows, "requests") - 300), "{windows}\n{counts}");
        let share = misses as f64 / lookups as f64;
        assert!((0.09..0.11).contains(&share), "{share} of all keys are not there");
    }
}

/// What a server does wrong with keys of the load, once in twenty gets.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Lie {
    None,
    /// The first value that it ever got for the key, deleted or not.
    First,
    /// The value of another key.
    Other,
    /// The value without its end.
    Cut,
    /// The first half of the value, and letters of its own.
    Mixed,
}

#[derive(Debug, Default)]
struct Values {
    held: HashMap<String, String>,
    first: HashMap<String, String>,
    gets: u64,
    /// Every request with its body, in order: what it remembers.
    history: Vec<String>,
}

impl Values {
    fn get(&mut self, key: &str, lie: Lie) -> Option<String> {
        self.gets += 1;
        let held = self.held.get(key).cloned();
        if lie == Lie::None || !key.starts_with('k') || !self.gets.is_multiple_of(20) {
            return held;
        }
        match lie {
            Lie::None => held,
            Lie::First => self.first.get(key).cloned(),
            Lie::Other => self.held.iter().find(|(other, _)| *other != key).map(|(_, value)| value.clone()),
            Lie::Cut => held.map(|value| value[..value.len().saturating_sub(1)].to_owned()),
            Lie::Mixed => held
                .map(|value| format!("{}{}", &value[..value.len() / 2], "x".repeat(value.len().div_ceil(2)))),
        }
    }
}

/// A cache over HTTP as the table of the workload in docs/EXPERIMENT.md has it.
fn cache(lie: Lie) -> Server {
    cache_with(&Arc::default(), lie, Duration::ZERO)
}

/// The same, so much slower.
fn cache_with(values: &Arc<Mutex<Values>>, lie: Lie, slower: Duration) -> Server {
    let values = Arc::clone(values);
    Server::start(move |stream, _| drop(serve(&stream, &values, lie, slower)))
}

fn serve(stream: &TcpStream, values: &Mutex<Values>, lie: Lie, slower: Duration) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let (mut reader, mut writer) = (BufReader::new(stream), stream);
    loop {
        let (mut line, mut length) = (String::new(), 0);
        reader.read_line(&mut line)?;
        loop {
            let mut field = String::new();
            if reader.read_line(&mut field)? <= 2 {
                break;
            }
            length = field
                .to_lowercase()
                .strip_prefix("content-length:")
                .map_or(length, |n| n.trim().parse().unwrap_or(0));
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let mut words = line.split(' ');
        let (Some(method), Some(target)) = (words.next(), words.next()) else { return Ok(()) };
        let key = target.trim_start_matches("/key/");
        std::thread::sleep(slower);
        let mut values = values.lock().expect("whole");
        values.history.push(format!("{}{}", line.trim_end(), String::from_utf8_lossy(&body)));
        let (status, reply) = match method {
            "PUT" => {
                let value = String::from_utf8(body).expect("letters");
                values.first.entry(key.to_owned()).or_insert_with(|| value.clone());
                (if values.held.insert(key.to_owned(), value).is_some() { 200 } else { 201 }, String::new())
            }
            "DELETE" => (if values.held.remove(key).is_some() { 200 } else { 404 }, String::new()),
            "POST" => {
                values.held.clear();
                (204, String::new())
            }
            "HEAD" => (if values.held.contains_key(key) { 200 } else { 404 }, String::new()),
            _ => match values.get(key, lie) {
                Some(value) => (200, format!("{{\"key\":\"{key}\",\"value\":\"{value}\"}}")),
                None => (404, String::new()),
            },
        };
        drop(values);
        write!(writer, "HTTP/1.1 {status} Said\r\nContent-Length: {}\r\n\r\n{reply}", reply.len())?;
    }
}

/// The errors of a run against a server, and what was said of them.
fn run(lie: Lie) -> (u64, String) {
    let world = World::idle();
    let server = cache(lie);
    let workload = WORKLOAD.replace("fb_value", "uniform:20,300");
    world.experiment_with(&workload, &[&format!("name = \"cache\"\nurl = \"{}\"", server.url())]);
    let ended = world.run(&[]).end();
    ended.assert_measured();
    let errors = world.json("summary.json")["variants"][0]["errors"].as_u64().expect("a count");
    (errors, ended.stderr)
}

#[test]
fn a_server_over_http_that_tells_the_truth_has_no_errors() {
    let (errors, said) = run(Lie::None);
    assert_eq!(errors, 0, "{said}");
}

#[test]
fn a_lying_server_is_caught_and_told_how_it_lies() {
    for (lie, words) in [
        (Lie::First, &["stale: a value older", "resurrected: a value that was deleted"][..]),
        (Lie::Other, &["foreign: a value of another key"]),
        (Lie::Cut, &["torn: a value that no single write has made"]),
        (Lie::Mixed, &["torn: a value that no single write has made"]),
    ] {
        let (errors, said) = run(lie);
        assert!(errors > 0, "{lie:?}: {said}");
        for words in words {
            assert!(said.contains(words), "{lie:?}, no `{words}`: {said}");
        }
    }
}

/// Runs caches side by side, two alike and the others slower, on one connection each. Returns what each was sent, and the
/// summary.
fn side_by_side(caches: usize, workload: &str) -> (Vec<Vec<String>>, serde_json::Value) {
    let world = World::idle();
    let values: Vec<Arc<Mutex<Values>>> = (0..caches).map(|_| Arc::default()).collect();
    let slower = |at: usize| Duration::from_micros(if at < 2 { 0 } else { 40 * at as u64 });
    let servers: Vec<Server> =
        values.iter().enumerate().map(|(at, values)| cache_with(values, Lie::None, slower(at))).collect();
    let variant = |(at, server): (usize, &Server)| format!("name = \"v{at}\"\nurl = \"{}\"", server.url());
    let variants: Vec<String> = servers.iter().enumerate().map(variant).collect();
    let variants: Vec<&str> = variants.iter().map(String::as_str).collect();
    // In one batch: each batch has rounds of its own.
    let plan = "[plan]\nblocks = { min = 4, max = 4 }\nbudget = \"8 s\"\nwindow = \"5 ms\"\ntogether = 8\n";
    world.experiment_with(&format!("{workload}{plan}"), &variants);
    world.run(&[]).end();
    let sent = values.iter().map(|values| std::mem::take(&mut values.lock().expect("whole").history));
    (sent.collect(), world.json("summary.json"))
}

/// Fails unless all were sent the same in the same order.
fn assert_same_history(sent: &[Vec<String>]) {
    assert!(sent[0].len() > 2_000, "{} requests", sent[0].len());
    for (at, other) in sent.iter().enumerate().skip(1) {
        let differs = sent[0].iter().zip(other).position(|(one, other)| one != other);
        assert_eq!((differs, sent[0].len()), (None, other.len()), "variant {at}");
    }
}

/// Every variant's hit rate surely differs by less than the margin of a percentage point, and is judged by that, unless a busy
/// host withholds all verdicts.
fn assert_same_hit_rate(summary: &serde_json::Value) {
    let costs = summary["costs"].as_array().expect("costs").iter();
    let shares: Vec<_> = costs.filter(|cost| cost["quantity"] == "hit_rate").collect();
    assert_eq!(shares.len(), 7, "{summary}");
    for cost in shares {
        let [lower, upper] = ["lower", "upper"].map(|end| cost["difference"][end].as_f64().expect("a bound"));
        assert!(lower <= 0.0 && upper >= 0.0 && lower > -0.01 && upper < 0.01, "{cost}");
        assert!(
            ["no relevant difference", "withheld"].map(|one| cost["verdict"] == one).contains(&true),
            "{cost}"
        );
    }
}

#[test]
fn two_that_remember_alike_end_alike_with_six_beside_them() {
    let workload = "[workload]\nname = \"cache\"\nkeys = 200\nmix = { get = 6, set = 2, delete = 1 }\n\
                    [load]\nconnections = 1\nwarmup = \"20 ms\"\ntimeout = \"5 s\"\n";
    let (sent, summary) = side_by_side(8, workload);
    assert_same_history(&sent);
    assert_same_hit_rate(&summary);
}

#[test]
fn what_is_emptied_before_each_window_is_sent_the_same_in_open_load_too() {
    let (sent, _) = side_by_side(
        3,
        "[workload]\nname = \"cache\"\nkeys = 200\nmix = { get = 6, set = 2, delete = 1 }\nstart = \"empty\"\n\
         [load]\nconnections = 1\nwarmup = \"20 ms\"\ntimeout = \"5 s\"\nmodel = \"open\"\nrate = 1000\n",
    );
    assert_same_history(&sent);
    assert!(sent[0].iter().any(|request| request.starts_with("POST /reset")));
}

#[test]
#[ignore = "minutes: `make accuracy` tells it"]
fn a_hit_rate_of_none_and_of_all_has_a_verdict() {
    for (start, rate) in [("warm", "1.0"), ("cold", "0.0")] {
        let workload = format!(
            "[workload]\nname = \"cache\"\nkeys = 200\nmix = {{ get = 1 }}\nstart = \"{start}\"\n\
             [load]\nconnections = 1\nwarmup = \"20 ms\"\ntimeout = \"5 s\"\n"
        );
        let (_, summary) = side_by_side(8, &workload);
        assert_same_hit_rate(&summary);
        let figures = summary["variants"][0]["figures"].as_array().expect("figures");
        let of_it = figures.iter().find(|figure| figure["quantity"] == "hit_rate").expect("a hit rate");
        assert_eq!(of_it["estimate"]["point"].to_string(), rate, "{of_it}");
    }
}

#[test]
fn a_server_of_canned_replies_ends_a_run_before_anything_is_timed() {
    let world = World::idle();
    let canned =
        Server::answering(b"HTTP/1.1 200 OK\r\nContent-Length: 25\r\n\r\n{\"key\":\"k\",\"value\":\"abc\"}");
    world.experiment_with(
        "[workload]\nname = \"cache\"\nmix = { get = 1 }\n",
        &[&format!("name = \"canned\"\nurl = \"{}\"", canned.url())],
    );
    let ended = world.run(&[]).end();
    ended.assert_error(&["`canned`", "get of a key that was set", "the value that was set was expected"]);
    assert_eq!(world.count("warm"), 0, "{ended}");
}

#[test]
fn laws_that_cannot_be_read_are_refused_in_one_line() {
    for (key, part) in [
        ("popularity = \"zip:1\"", "write `uniform`, `zipf:0.99`"),
        ("value = \"gev:1,2\"", "is not a law of lengths; write `16`"),
        ("key = 4\nkeys = 100_000", "100000 keys need 6 to 250 B"),
        ("batch = 4\nrefill = \"1 ms\"", "write `refill = false`, or leave `batch` out"),
        ("refill = true", "does not say how long after a miss the key is set; write `1 ms`"),
    ] {
        let world = World::idle();
        let text =
            format!("[workload]\nname = \"cache\"\n{key}\n[[variant]]\nurl = \"redis://127.0.0.1:1\"\n");
        world.write("experiment.toml", &text);
        world.weigh(&["plan", "experiment.toml"]).end().assert_error(&[part]);
    }
}
