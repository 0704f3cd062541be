//! Every way to ask wrongly for a load, on the command line and in `[load]` and `tls`: each gets one line that says what
//! is wrong, where, and what would be right, and nothing is sent.

use crate::support::{Ended, World, experiment};

/// An address at which nobody must ever be asked.
const NOWHERE: &str = "http://127.0.0.1:1/";

/// What is asked, and the words that its refusal must have.
type Table = &'static [(&'static str, &'static [&'static str])];

/// Flags beside `http://`. Words of one flag are parted by `_`.
const ON_WEB: Table = &[
    // Rates and profiles.
    ("--rate -5", &["'--rate", "`-5`", "a rate such as"]),
    ("--rate NaN", &["'--rate", "`NaN`", "a rate such as"]),
    ("--rate 0", &["`--rate` must be above zero"]),
    ("--rate 5 --profile ramp:1/s..5/s_over_1s", &["--profile", "cannot be used with", "--rate"]),
    ("--rate 5 --sessions 5", &["--sessions", "cannot be used with", "--rate"]),
    ("--profile ramp:1/s..5/s", &["'--profile", "is not a profile", "`ramp:1000/s..5000/s over 30s`"]),
    ("--profile ramp:1/s..5/s_over_0s", &["'--profile", "`0s`", "above zero"]),
    ("--profile ramp:0/s..0/s_over_1s", &["'--profile", "never above zero"]),
    ("--profile steps:", &["'--profile", "is not a profile", "`steps:1000/s for 10s, 2000/s for 10s`"]),
    ("--profile steps:5/s_for_0s", &["'--profile", "`0s`", "above zero"]),
    ("--profile sine:5/s_+-_9/s_every_1s", &["'--profile", "the amplitude 9.00/s is above the mean"]),
    ("--profile burst:1/s..5/s_for_2s_every_1s", &["'--profile", "a burst of 2.00 s in every 1.00 s"]),
    ("--profile ramp:1/s..5/s_over_25h", &["'--profile", "at most 24 h"]),
    // Laws of arrivals.
    ("--rate 5 --arrivals bursty", &["'--arrivals", "bursty", "poisson, constant, jitter"]),
    ("--rate 5 --jitter 60%", &["jitter of `60", "at most 50 %"]),
    ("--rate 5 --jitter -5%", &["'--jitter", "`-5%`", "a share such as"]),
    ("--jitter 5%", &["`--jitter` needs arrivals", "`--rate`", "`--trace`"]),
    ("--speed 2", &["`--speed` belongs to a trace", "`--trace FILE`"]),
    ("--trace times.csv --speed 0", &["'--speed", "from 0.001 to 1000000"]),
    ("--trace times.csv --speed NaN", &["'--speed", "from 0.001 to 1000000"]),
    ("--trace times.csv --jitter 5%", &["`--jitter` has no use beside `--trace`"]),
    ("--trace absent.csv", &["`absent.csv`", "name a file of arrival times"]),
    // Sessions, think time, churn.
    ("--sessions -5 --length 1", &["'--sessions", "`-5`", "a rate such as"]),
    ("--sessions 5", &["`--sessions` needs their length", "`--length 10`"]),
    ("--sessions 5 --length 0", &["'--length", "write `10`, `geometric:mean=10` or `workload`"]),
    ("--sessions 5 --length geometric:mean=0.5", &["'--length", "from 1 to 1000000"]),
    ("--length 5", &["`--length` needs arrivals"]),
    ("--think NaN", &["'--think", "write `10ms`, `exponential:mean=10ms`"]),
    ("--think -1ms", &["'--think", "`-1ms`", "write `10ms`, `exponential:mean=10ms`"]),
    ("--think exponential:mean=0ms", &["'--think", "above zero"]),
    ("--think uniform:low=5ms,high=5ms", &["'--think", "`low` (5.00 ms) must be below `high`"]),
    ("--rate 5 --think 1ms", &["`--think` has no use in open load", "`--sessions`"]),
    ("--churn 0", &["'--churn", "0 is not in 1..=1000000"]),
    ("--churn 5 --no-keepalive", &["--churn", "cannot be used with", "--no-keepalive"]),
    // Whose server.
    (
        "-q 100",
        &["`100` is a number, not a URL", "`--rate 100`", "`-q` is `--quiet`", "`http://127.0.0.1:100/`"],
    ),
    ("1.5", &["`1.5` is a number, not a URL", "`--rate 1.5`"]),
    ("--connect-to 192.0.2.1:80", &["closed load", "`192.0.2.1`, which is neither loopback nor private"]),
    ("--connect-to 192.0.2.1:80 -r 1001", &["1001/s against `192.0.2.1`", "`--allow-remote`"]),
    ("--connect-to 224.0.0.1:80 --allow-remote", &["`224.0.0.1` is a multicast address", "no server's"]),
    // Extent.
    ("--duration 0s", &["`--duration` must be above zero"]),
    ("-d -5s", &["'--duration", "`-5s`", "`20 ms`"]),
    ("--duration 5parsecs", &["'--duration", "`5parsecs`", "`20 ms`"]),
    ("--duration 5s -n 5", &["--duration", "cannot be used with", "--requests"]),
    ("-n 0", &["'--requests", "0 is not in 1.."]),
    ("-c 0", &["'--connections", "0 is not in 1..=60000"]),
    ("-c 60001", &["'--connections", "60001 is not in 1..=60000"]),
    ("-t 4 -c 2", &["4 threads need at least as many connections, not 2"]),
    ("--timeout 0s", &["`--timeout` must be above zero"]),
    // Protocols.
    ("--streams 4", &["`--streams` belongs to HTTP/2", "`--http2`", "`--pipeline`"]),
    ("--http2 --pipeline 4", &["`--pipeline` belongs to HTTP/1.1", "`--streams`"]),
    ("--pipeline 0", &["'--pipeline", "0 is not in 1..=1000"]),
    ("--mix GET", &["`--mix GET` is not `[WEIGHT] METHOD PATH`"]),
    ("--mix 0_GET_/a", &["`0` is not a weight", "above zero"]),
    ("--mix GET_a", &["path `a` must start with `/`"]),
    ("--mix GET_/a --method PUT", &["--mix", "cannot be used with", "--method"]),
    ("-X GET_k", &["`--command` belongs to `memcached://`, `redis://` or `rediss://`"]),
    ("--resp 3", &["`--resp` belongs to `redis://`"]),
    ("--password x", &["`--password` belongs to `redis://`"]),
    ("--unix /nowhere.sock --connect-to h:1", &["--unix", "cannot be used with", "--connect-to"]),
    ("--unix /nowhere.sock -n 1", &["`unix:/nowhere.sock`", "check that the service listens there"]),
    ("--connect-to h:x", &["`--connect-to h:x` is not `host:port`"]),
    ("-k", &["is plain text, so TLS options have no use", "`https://`"]),
    ("--mix GET_/a --grpc a.B/C --reflection", &["no method, header, body or mix", "`--data`"]),
];

/// Flags beside `https://`.
const SECURED: Table = &[
    ("--key a.pem", &["TLS options", "`key` needs its `cert`"]),
    ("--cert a.pem", &["TLS options", "`cert` needs its `key`"]),
    ("--cert a.pem --key a.pem -k", &["no certificate"]),
    ("--cacert a.pem", &["no certificate to trust"]),
    ("--cacert a.pem -k", &["--cacert", "cannot be used with", "--insecure"]),
    ("--tls-min 1.1", &["'--tls-min", "1.2, 1.3"]),
    ("--tls-min 1.3 --tls-max 1.2", &["newer than `max` 1.2", "allowed: `1.2`, `1.3`"]),
];

/// Flags beside `redis://`.
const REDIS: Table = &[
    ("-X GET_k --mix GET_/a", &["`--mix` belongs to HTTP", "`--command 'SET k v'`"]),
    ("-X GET_k --username me", &["`--username` needs a `--password`"]),
    ("-X GET_k --http2", &["`--http2` belongs to `http://`"]),
    ("-X GET_k --resp 4", &["'--resp", "4 is not in 2..=3"]),
];

/// Traces.
const TRACES: Table = &[
    ("", &["times.csv:1: no arrival", "write one time a line"]),
    ("# nothing\n\n", &["times.csv:2: no arrival"]),
    ("0\n2\n1\n", &["times.csv:3: `1` is earlier than the arrival before it", "sort the times"]),
    ("0\n-1\n", &["times.csv:2: `-1` is before the start", "count from 0"]),
    ("0\nsoon\n", &["times.csv:2: `soon` is not a time", "`1250 ms`"]),
    ("0\n1e3\n", &["times.csv:2: `1e3` is not a time"]),
    ("5\n5\n", &["times.csv:2: all arrivals are at the same time"]),
    ("0\n1700000000\n", &["more than a year apart", "check the unit"]),
    ("0;GET /a\n1;GET /a\n", &["times.csv:1:", "columns are parted by a comma"]),
    (
        "0,GET /a\n1,GET /b\n",
        &["times.csv:2: `GET /b` is no operation", "did you mean `GET /a`?", "allowed: `GET /a`"],
    ),
    ("0,GET /a,1\n", &["times.csv:1:", "more than two columns", "stands in quotes"]),
    ("0,\"GET /a\n", &["times.csv:1:", "ends inside quotes"]),
    ("s,path\n0,/a\n", &["times.csv:1: `path` is no column", "`s,operation`"]),
];

/// Lines of `[load]`; `open:` stands for the model.
const KEYS: Table = &[
    ("open: rate = -5", &["`load.rate`", "`-5`", "a rate such as"]),
    ("open: rate = nan", &["`load.rate`", "a rate such as"]),
    ("open: rate = 0", &["open load needs a `rate` above zero", "`rate = \"5000/s\"`"]),
    ("open: ", &["open load needs a `rate` above zero", "`profile`"]),
    ("open: rate = 5\nprofile = \"ramp:1/s..5/s over 1s\"", &["cannot stand together"]),
    ("open: profile = \"ramp:1/s..5/s over 0s\"", &["`load.profile`", "`0s`", "above zero"]),
    (
        "open: profile = { ramp = { from = \"1/s\", to = \"5/s\", over = \"0 s\" } }",
        &["`load.profile`", "above zero"],
    ),
    (
        "open: profile = { steps = [{ rate = \"1/s\" }] }",
        &["`load.profile`", "is not a step", "`{ rate = \"1000/s\", for = \"10 s\" }`"],
    ),
    ("open: profile = { ramp = 5 }", &["`load.profile`", "`from`, `to` and `over`"]),
    ("open: profile = { wave = 5 }", &["`load.profile`", "`steps`, `ramp`, `sine` and `burst`"]),
    ("open: rate = 5\narrivals = \"bursty\"", &["`load.arrivals`", "`poisson`, `constant`"]),
    ("open: rate = 5\narrivals = { jitter = 0.9 }", &["`load.arrivals`", "at most 50 %"]),
    ("open: arrivals = { speed = 2 }", &["`load.arrivals`", "names no file"]),
    ("open: arrivals = { trace = \"times.csv\", speed = 0 }", &["`load.arrivals`", "from 0.001 to 1000000"]),
    ("open: arrivals = { trace = \"times.csv\" }\nrate = 5", &["a trace brings its own rate", "`speed`"]),
    ("open: arrivals = { trace = \"times.csv\", sha256 = \"x\" }", &["`load.arrivals`", "`sha256 = x`"]),
    ("open: rate = 5\nthink = \"1 ms\"", &["`load.think` has no use in open load"]),
    ("model = \"partly-open\"\nsessions = 5", &["needs the `length` of sessions", "`length = 10`"]),
    ("model = \"partly-open\"\nsessions = 5\nlength = 0", &["`load.length`", "`10`, `geometric:mean=10`"]),
    ("model = \"partly-open\"\nrate = 5\nlength = 5", &["`sessions = \"50/s\"`"]),
    ("rate = 5", &["`load.rate`", "`model = \"open\"`"]),
    ("length = 5", &["`load.length` belong", "`model = \"partly-open\"`"]),
    ("think = \"NaN\"", &["`load.think`", "`10ms`, `exponential:mean=10ms`"]),
    ("think = nan", &["`load.think`", "`10ms`, `exponential:mean=10ms`"]),
    ("think = { law = \"uniform\", low = \"5 ms\" }", &["`load.think`", "high = \"15 ms\""]),
    ("churn = 0", &["`load.churn`", "from 1 to 1000000"]),
    ("churn = 5\nkeep_alive = false", &["cannot stand together", "`churn = 1`"]),
    ("in_flight = 1001", &["`load.in_flight`", "from 1 to 1000"]),
    ("timeout = \"0 s\"", &["`load.timeout`", "above zero"]),
    ("churm = 5", &["unknown key `churm` in `[load]`", "did you mean `churn`?"]),
];

/// Lines of a variant.
const SECURITY: Table = &[
    (
        "url = \"https://127.0.0.1:1/\"\ntls = { key = \"a.pem\" }",
        &["`variant.tls`", "`key` needs its `cert`"],
    ),
    ("url = \"https://127.0.0.1:1/\"\ntls = { min = \"1.4\" }", &["`variant.tls.min`", "`1.2`", "`1.3`"]),
    (
        "url = \"https://127.0.0.1:1/\"\ntls = { ca = \"a.pem\", insecure = true }",
        &["`variant.tls`", "leave one out"],
    ),
    (
        "url = \"https://127.0.0.1:1/\"\ntls = { certificate = \"a.pem\" }",
        &["unknown key `certificate`", "`cert`"],
    ),
    ("url = \"https://127.0.0.1:1/\"\ntls = 5", &["`variant.tls`", "must be `true` or a table"]),
    ("url = \"https://127.0.0.1:1/\"\ntls = false", &["`tls = false` beside", "`http://`"]),
    ("url = \"http://127.0.0.1:1/\"\ntls = true", &["`http", "`tls`"]),
];

/// It could not be done (exit code 2), and one paragraph says so with all of these words. Lists of what is allowed may
/// stand on a line of their own.
#[track_caller]
fn refused(ended: &Ended, words: &[&str]) {
    ended.assert_error(&[]);
    let paragraph = ended.stderr.split("\n\n").find(|part| part.contains("error: ")).unwrap_or_default();
    for word in words {
        assert!(paragraph.contains(word), "`{word}` is not in: {ended}");
    }
    assert_eq!(ended.stdout, "", "nothing was done: {ended}");
}

#[test]
fn wrong_flags_are_refused_with_the_way_out() {
    let world = World::idle();
    let pem = world.write("a.pem", "not a certificate").display().to_string();
    let tables = [(NOWHERE, ON_WEB), ("https://127.0.0.1:1/", SECURED), ("redis://127.0.0.1:1", REDIS)];
    for (url, table) in tables {
        for (flags, words) in table {
            let flags = flags.split(' ').map(|flag| flag.replace('_', " ").replace("a.pem", &pem));
            let arguments: Vec<String> =
                ["load".to_owned(), url.to_owned()].into_iter().chain(flags).collect();
            refused(&world.weigh(&arguments).end(), words);
        }
    }
}

#[test]
fn every_verb_asks_before_it_loads_a_stranger_and_refuses_what_is_no_server() {
    let world = World::idle();
    let stranger = ["neither loopback nor private", "`--allow-remote`"];
    let nowhere = ["`100` (0.0.0.100) is in 0.0.0.0/8", "`127.0.0.1`"];
    for (url, words) in
        [("http://192.0.2.1/", stranger), ("http://[2001:db8::1]/", stranger), ("http://100/", nowhere)]
    {
        world.write("experiment.toml", &experiment("", &[&format!("name = \"a\"\nurl = \"{url}\"")]));
        let ways: [&[&str]; 5] = [
            &["load", url],
            &["load", NOWHERE, url],
            &["capacity", url, "-O", "p99 < 10ms"],
            &["run", "experiment.toml"],
            &["calibrate", "--experiment", "experiment.toml", "--no-keep"],
        ];
        for arguments in ways {
            refused(&world.weigh(arguments).end(), &words);
        }
    }
    assert!(world.run_folders().is_empty(), "nothing was begun");
}

#[test]
fn wrong_traces_are_refused_with_the_line() {
    let world = World::idle();
    for (text, words) in TRACES {
        world.write("times.csv", text);
        let arguments = ["load", NOWHERE, "--trace", "times.csv", "--mix", "GET /a"];
        refused(&world.weigh(&arguments).end(), words);
    }
}

#[test]
fn wrong_keys_are_refused_with_file_line_and_key() {
    let world = World::idle();
    world.write("times.csv", "0\n1\n");
    let variant = "name = \"a\"\nurl = \"http://127.0.0.1:1/\"";
    for (lines, words) in KEYS {
        let lines = lines.replace("open: ", "model = \"open\"\n");
        world.write("experiment.toml", &experiment(&format!("[load]\n{lines}\n"), &[variant]));
        refused(&world.run(&[]).end(), &[&["experiment.toml:"], *words].concat());
    }
    for (lines, words) in SECURITY {
        world.write("experiment.toml", &experiment("", &[lines]));
        refused(&world.run(&[]).end(), &[&["experiment.toml:"], *words].concat());
    }
    assert!(world.run_folders().is_empty(), "nothing was begun");
}

#[test]
fn limits_that_are_none_are_refused() {
    let world = World::idle();
    for (cpu, words) in [
        ("\"0\"", &["experiment.toml:", "`variant.cpu`", "from 0.01 to 1000"][..]),
        ("-1", &["experiment.toml:", "`variant.cpu`", "`-1`"][..]),
        ("900", &["variant `a`", "`cpu = \"900\"` is more than", "that services may use"][..]),
    ] {
        world.write(
            "experiment.toml",
            &experiment("", &[&format!("name = \"a\"\ncommand = \"true\"\ncpu = {cpu}")]),
        );
        refused(&world.run(&[]).end(), words);
    }
    assert!(world.run_folders().is_empty(), "nothing was begun");
}
