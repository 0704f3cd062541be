//! Stories of ten thousand connections in one process: every one is used, every request is counted, threads divide them
//! without a remainder getting lost, and where they do not fit it is said before the first is opened.

use std::process::{Command, Output};

use serde_json::Value;

use crate::support::{Ended, WEIGH, Weigh, World, eventually, skipped};

/// Connections of one process.
const MANY: u64 = 10_000;

/// A null probe, whose truth is asked over a connection of its own.
struct Probe<'a> {
    weigh: Weigh<'a>,
    port: String,
}

impl<'a> Probe<'a> {
    fn start(world: &'a World) -> Self {
        let weigh = world.weigh(&["probe", "null", "--port", "0"]).start();
        let port = || weigh.stdout().lines().find_map(|line| line.strip_prefix("ready ").map(str::to_owned));
        eventually("the probe listens", || port().is_some());
        let port = port().expect("it listens");
        Self { weigh, port }
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }

    /// Requests served, and connections on which any came.
    fn served(&self) -> (u64, u64) {
        let reply = crate::support::server::get(&format!("127.0.0.1:{}", self.port), "/probe/summary");
        let summary: Value = serde_json::from_str(&reply).expect("JSON");
        let count = |name: &str| summary[name].as_u64().expect("a count");
        (count("requests"), count("connections"))
    }

    fn stop(self) {
        self.weigh.end_by("TERM").assert_code(0);
    }
}

/// A load on the probe, as JSON.
fn load(world: &World, probe: &Probe<'_>, arguments: &str) -> (Ended, Value) {
    let url = probe.url();
    let words: Vec<&str> =
        ["load", &url, "--format", "json"].into_iter().chain(arguments.split(' ')).collect();
    let ended = world.weigh(&words).end();
    ended.assert_measured();
    let figures = ended.json();
    (ended, figures)
}

/// Whether this process may have the files for so many connections, or the story says why it is not told.
fn has_room() -> bool {
    let allowed = limit("ulimit -H -n").is_none_or(|files| files >= MANY + 512);
    if !allowed {
        skipped("this process may not have the files for ten thousand connections");
    }
    allowed
}

fn limit(command: &str) -> Option<u64> {
    let said = Command::new("sh").args(["-c", command]).output().expect("a shell").stdout;
    String::from_utf8_lossy(&said).trim().parse().ok()
}

#[test]
fn ten_thousand_connections_are_all_used_and_every_request_is_counted() {
    if !has_room() {
        return;
    }
    let world = World::new();
    let probe = Probe::start(&world);
    let (mut requests, mut connections) = (0, 0);
    // Closed load; open load; and both dealt out to threads where nothing divides.
    for (count, more) in
        [(30_011, ""), (20_021, " -r 8000"), (30_031, " -t 3"), (20_041, " -t 3 -r 7001 --arrivals constant")]
    {
        let (ended, figures) = load(&world, &probe, &format!("-c {MANY} -n {count}{more}"));
        assert_eq!((&figures["requests"], &figures["errors"]), (&count.into(), &0.into()), "{more}: {ended}");
        assert_eq!(
            (&figures["connections"], &figures["connects"]),
            (&MANY.into(), &MANY.into()),
            "{more}: {ended}"
        );
        assert_eq!(figures["not_sent"], 0, "{more}: {ended}");
        requests += count;
        connections += MANY;
        assert_eq!(probe.served(), (requests, connections), "{more}: {ended}");
    }
    probe.stop();
}

#[test]
fn threads_divide_connections_rate_and_count_without_a_remainder_lost() {
    let world = World::new();
    let probe = Probe::start(&world);
    let (mut requests, mut connections) = (0, 0);
    for threads in [1, 2, 3, 7] {
        // Constant arrivals: so many are due in a second, whoever sends them.
        for (count, arguments) in
            [(1_001, "-n 1001"), (101, "-n 101 -r 997"), (997, "-d 1s -r 997 --arrivals constant")]
        {
            let (ended, figures) = load(&world, &probe, &format!("-c 11 -t {threads} {arguments}"));
            assert_eq!((&figures["requests"], &figures["errors"]), (&count.into(), &0.into()), "{ended}");
            assert_eq!((&figures["threads"], &figures["connections"]), (&threads.into(), &11.into()));
            requests += count;
            connections += 11;
            assert_eq!(probe.served(), (requests, connections), "{arguments} on {threads} threads: {ended}");
        }
    }
    let ended = world.weigh(&["load", &probe.url(), "-c", "3", "-t", "4", "-n", "10"]).end();
    ended.assert_error(&["4 threads need at least as many connections, not 3", "fewer threads"]);
    probe.stop();
}

/// `weigh` under a limit of open files, as the shell sets it.
fn limited(world: &World, limits: &str, arguments: &[&str]) -> Output {
    let command = world.weigh(arguments).command();
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{limits} && exec \"$0\" \"$@\""), WEIGH]).args(arguments);
    shell.current_dir(command.get_current_dir().expect("the world's folder"));
    shell.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell.output().expect("a shell")
}

#[test]
fn files_are_made_room_for_and_where_they_cannot_be_nothing_is_opened() {
    let world = World::new();
    let probe = Probe::start(&world);
    let (url, load) = (probe.url(), ["load", "-c", "200", "-n", "200", "--format", "json"]);
    let arguments: Vec<&str> = load.into_iter().chain([url.as_str()]).collect();
    let raised = limited(&world, "ulimit -S -n 32", &arguments);
    let said = String::from_utf8_lossy(&raised.stderr).into_owned();
    assert!(matches!(raised.status.code(), Some(0 | 3)), "{said}");
    assert_eq!(probe.served(), (200, 200));
    // Threads have tables of their own, and the limit holds for each.
    let threads: Vec<&str> = arguments.iter().copied().chain(["-t", "4"]).collect();
    let apart = limited(&world, "ulimit -n 200", &threads);
    assert!(matches!(apart.status.code(), Some(0 | 3)), "{}", String::from_utf8_lossy(&apart.stderr));
    assert_eq!(probe.served(), (400, 400));

    let refused = limited(&world, "ulimit -n 200", &arguments);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    for words in
        ["200 connections need 264 open files", "may have 200", "`ulimit -Hn 264`", "fewer connections"]
    {
        assert!(said.contains(words), "`{words}` is not in: {said}");
    }
    assert_eq!(probe.served(), (400, 400), "a connection was opened all the same");
    probe.stop();
}

#[test]
fn a_run_refuses_what_does_not_fit_and_services_inherit_the_room() {
    let world = World::new();
    let script = world.script(
        "service",
        &format!("ulimit -S -n > '{}'\nexec '{WEIGH}' probe null", world.path("files").display()),
    );
    let load = "[load]\nconnections = 400\nwarmup = \"20 ms\"\n";
    world.experiment_with(load, &[&format!("name = \"a\"\n{script}"), &format!("name = \"b\"\n{script}")]);
    let arguments = ["run", "experiment.toml", "--out", "runs"];
    let refused = limited(&world, "ulimit -n 600", &arguments);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("800 connections need 864 open files"), "{said}");
    assert!(!world.path("files").exists(), "a service was started all the same");

    let ran = limited(&world, "ulimit -S -n 300", &arguments);
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(matches!(ran.status.code(), Some(0 | 3)), "{said}");
    // Room for all connections and for a service's own files.
    let files = std::fs::read_to_string(world.path("files")).expect("the service wrote it");
    assert_eq!(files.trim(), "1312");
    world.assert_nothing_left();
}

#[test]
fn doctor_and_load_agree_on_how_many_connections_fit() {
    let world = World::idle();
    let doctor = world.weigh(&["doctor", "--format", "json"]).end();
    let findings = doctor.json();
    let most = |subject: &str| {
        let found = findings.as_array().expect("findings").iter().find(|one| one["subject"] == subject);
        let evidence = found.expect(subject)["evidence"].as_str().expect("text").to_owned();
        let (_, count) = evidence.split_once("up to ").expect("a number of connections");
        count.split(' ').next().and_then(|count| count.parse::<u64>().ok()).expect("a number")
    };
    let (by_files, by_ports) = (most("open-files"), most("local-ports"));
    // Where nobody listens: the refusal comes before the first connect, and one less gets as far as that.
    let address = crate::support::server::refusing();
    let url = format!("http://{address}/");
    let refused = |connections: u64| {
        let ended = world.weigh(&["load", &url, "-c", &connections.to_string()]).end();
        ended.assert_code(2);
        !ended.says("refused")
    };
    let most = by_files.min(by_ports);
    if most >= 60_000 {
        return skipped("more connections fit than may be asked for");
    }
    assert!(refused(most + 1), "{most} and one fit");
    assert!(!refused(most), "{most} do not fit");
}
