//! Stories of looking at runs: a run followed live in `weigh serve` to its report, exports that are what their schemas and
//! the served downloads say, and a folder full of runs that are torn, damaged, hostile or no runs.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use weighbridge_model::event::{Event, Interim, TimedEvent};
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_store::{RunWriter, UtcTime};

use crate::support::server::{GOOD, Server};
use crate::support::{Weigh, World, eventually, measuring};

/// A `weigh serve` of the world's `runs`.
pub struct Served<'a> {
    weigh: Weigh<'a>,
    address: String,
}

/// A whole reply.
pub struct Reply {
    pub status: u16,
    head: String,
    pub body: String,
}

impl<'a> Served<'a> {
    pub fn start(world: &'a World) -> Self {
        fs::create_dir_all(world.path("runs")).unwrap();
        let weigh = world.weigh(&["serve", "--out", "runs", "--port", "0"]).start();
        eventually("it prints its address", || weigh.stdout().ends_with('\n'));
        let said = weigh.stdout();
        let address = said.trim().strip_prefix("http://").and_then(|rest| rest.strip_suffix('/'));
        let address = address.unwrap_or_else(|| panic!("it prints its address: {said:?}")).to_owned();
        Self { weigh, address }
    }

    fn send(&self, path: &str, headers: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        // Only so that a story that would hang fails.
        stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: {}\r\n{headers}Connection: close\r\n\r\n", self.address);
        stream.write_all(request.as_bytes()).expect("it reads");
        stream
    }

    pub fn get(&self, path: &str) -> Reply {
        let mut reply = Vec::new();
        self.send(path, "").read_to_end(&mut reply).expect("it answers");
        let reply = String::from_utf8(reply).expect("text");
        let (head, body) = reply.split_once("\r\n\r\n").expect("a head and a body");
        let status = head.split(' ').nth(1).and_then(|text| text.parse().ok()).expect("a status");
        Reply { status, head: head.to_owned(), body: body.to_owned() }
    }

    #[track_caller]
    pub fn page(&self, path: &str) -> String {
        let reply = self.get(path);
        assert_eq!(reply.status, 200, "{path}: {}", reply.body);
        reply.body
    }

    pub fn end(self) {
        self.weigh.end_by("INT").assert_code(0);
    }
}

/// Reads events until the server ends them: their names and data.
fn events(stream: TcpStream) -> Vec<(String, String)> {
    let (mut name, mut found) = (String::new(), Vec::new());
    for line in BufReader::new(stream).lines() {
        let line = line.expect("events");
        if let Some(text) = line.strip_prefix("event: ") {
            name = text.to_owned();
        } else if let Some(data) = line.strip_prefix("data:") {
            found.push((name.clone(), data.trim().to_owned()));
        }
    }
    found
}

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// The schema that the command prints.
fn validator(world: &World, name: &str) -> jsonschema::Validator {
    let schema = world.weigh(&["schema", name]).end().json();
    jsonschema::validator_for(&schema).expect("a schema")
}

#[track_caller]
fn assert_valid(world: &World, schema: &str, values: &[Value]) {
    let validator = validator(world, schema);
    for value in values {
        let errors: Vec<String> =
            validator.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert!(errors.is_empty(), "{schema}: {errors:?}: {value}");
    }
    assert!(!values.is_empty());
}

#[test]
fn a_run_is_followed_to_its_report_and_exported() {
    measuring(|| {
        let (one, two) = (Server::answering(GOOD), Server::answering(GOOD));
        let world = World::new();
        let served = Served::start(&world);
        assert!(served.page("/").contains("There is no run here"));

        let arguments = ["load", &one.url(), &two.url(), "-d", "2s", "--out", "runs"];
        let mut load = world.weigh(&arguments).start();
        load.until_event("run-started", 1);
        let folder = world.run_folder();
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        let followed = served.send(&format!("/run/{name}/events"), "");
        let live = served.get(&format!("/run/{name}/"));
        load.end().assert_measured();

        assert!(live.head.contains("script-src 'sha256-"), "{}", live.head);
        assert!(live.body.contains("id=\"step\"") && live.body.contains("EventSource"), "{}", live.body);
        let told = events(followed);
        let states = told.iter().filter(|(name, _)| name == "state");
        let steps: Vec<Value> = states.map(|(_, data)| serde_json::from_str(data).expect("JSON")).collect();
        assert!(
            steps.iter().any(|state| state["step"].as_str().is_some_and(|step| step.starts_with("block ")))
        );
        let progress: Vec<f64> = steps.iter().filter_map(|state| state["progress"].as_f64()).collect();
        assert!(
            progress.is_sorted() && progress.iter().all(|share| (0.0..=1.0).contains(share)),
            "{progress:?}"
        );
        assert_eq!(told.last().map(|(name, _)| name.as_str()), Some("ended"), "{told:?}");

        look_at_the_end(&world, &served, &folder, &name);
        exports_are_what_is_served(&world, &served, &folder, &name);
        what_was_printed_keeps_its_schemas(&world, &folder, &one.url());
        served.end();
        world.assert_nothing_left();
    });
}

fn look_at_the_end(world: &World, served: &Served<'_>, folder: &Path, name: &str) {
    let summary = world.json("summary.json");
    let list = served.page("/");
    assert!(
        list.contains(&format!("href=\"/run/{name}/\""))
            && list.contains(summary["validity"].as_str().unwrap())
    );
    let overview = served.page(&format!("/run/{name}/"));
    assert!(overview.contains("Open the report") && overview.contains("export/csv/windows"), "{overview}");
    assert!(!overview.contains("EventSource"), "only a run that goes on is followed");
    assert_eq!(overview.matches("<script").count(), 1, "the one that shows local times");
    assert_eq!(served.get(&format!("/run/{name}")).status, 303);

    let path = folder.canonicalize().unwrap();
    let page = world.weigh(&["export", path.to_str().unwrap(), "--format", "html"]).end();
    let report = served.get(&format!("/run/{name}/report"));
    assert!(report.body == page.stdout, "the report is the one that `weigh report` makes");
    let own = "http-equiv=\"Content-Security-Policy\" content=\"";
    let own = report.body.split_once(own).and_then(|(_, rest)| rest.split_once('"')).expect("a policy").0;
    let mut said = report.head.lines().filter_map(|line| line.strip_prefix("content-security-policy: "));
    let said: Vec<&str> = said.next().expect("the same in the head").split("; ").collect();
    for directive in own.split("; ") {
        assert_eq!(said.iter().filter(|one| **one == directive).count(), 1, "{directive}: {said:?}");
    }

    let names: Vec<String> = summary["variants"]
        .as_array()
        .unwrap()
        .iter()
        .map(|v| encoded(v["name"].as_str().unwrap()))
        .collect();
    let compared = served.page(&format!("/compare?run={name}&baseline={}&variant={}", names[0], names[1]));
    assert!(compared.contains("response p50") && compared.contains("against"), "{compared}");
    let missing = served.get(&format!("/compare?run={name}&baseline=nobody&variant={}", names[1]));
    assert_eq!(missing.status, 500);
    assert!(missing.body.contains("no variant `nobody`"), "{}", missing.body);
}

fn exports_are_what_is_served(world: &World, served: &Served<'_>, folder: &Path, name: &str) {
    let folder = folder.canonicalize().unwrap();
    let export = |more: &[&str]| {
        let ended = world.weigh(&[&["export", folder.to_str().unwrap(), "--format"], more].concat()).end();
        ended.assert_code(0);
        ended.stdout
    };
    for format in ["json", "detail", "markdown", "hdr-log", "jmh", "openmetrics", "junit"] {
        let reply = served.get(&format!("/run/{name}/export/{format}"));
        assert!(reply.head.contains("content-disposition: attachment; filename=\""), "{}", reply.head);
        assert!(reply.body == export(&[format]), "{format}");
    }
    for table in ["costs", "figures", "blocks", "windows"] {
        let made = export(&["csv", "--table", table]);
        assert!(served.page(&format!("/run/{name}/export/csv/{table}")) == made, "{table}");
        assert!(made.lines().count() > 8, "{made}");
    }
    for wrong in ["csv", "json/costs", "csv/rows", "xml"] {
        assert_eq!(served.get(&format!("/run/{name}/export/{wrong}")).status, 404, "{wrong}");
    }
    // Blocks of the headline are those that its figure is the mean of.
    let blocks = export(&["csv", "--table", "blocks"]);
    let summary: Value = serde_json::from_str(&export(&["json"])).unwrap();
    let figure = &summary["variants"][0]["figures"][0];
    let quantity = figure["quantity"].as_str().unwrap();
    let first = summary["variants"][0]["name"].as_str().unwrap();
    let values: Vec<f64> = blocks
        .lines()
        .map(|line| line.split(',').collect::<Vec<_>>())
        .filter(|fields| fields[2] == first && fields[4] == quantity)
        .map(|fields| fields[7].parse().unwrap())
        .collect();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let point = figure["estimate"]["point"].as_f64().unwrap();
    assert!((mean / point - 1.0).abs() < 1e-9, "{values:?}: {point}");
    let junit = export(&["junit", "--require", "p50 < 1ns"]);
    assert!(
        junit.contains("<testcase") && junit.contains("<failure") && junit.contains("require p50"),
        "{junit}"
    );
    let path = folder.to_str().unwrap();
    let wrong = world.weigh(&["export", path, "--format", "json", "--table", "costs"]).end();
    wrong.assert_error(&["`--table`", "`json` has no tables"]);
}

fn what_was_printed_keeps_its_schemas(world: &World, folder: &Path, url: &str) {
    let json = |name: &str| vec![world.json(name)];
    assert_valid(world, "summary", &json("summary.json"));
    assert_valid(world, "detail", &json("detail.json"));
    let lines = fs::read_to_string(folder.join("events.jsonl")).unwrap();
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_valid(world, "event", &lines);
    let load = world.weigh(&["load", url, "-n", "500", "--format", "json"]).end();
    assert_valid(world, "load", &[load.json()]);
    let list = world.weigh(&["schema"]).end();
    assert!(list.says("calibration") || list.stdout.contains("calibration"), "{list}");
}

/// What a hostile title tries.
const HOSTILE: &str = "<script>alert(1)</script>\"'&<img src=x onerror=y>";

fn started(title: &str) -> TimedEvent {
    let event = Event::RunStarted {
        title: title.into(),
        folder: "runs/x".into(),
        variants: vec!["a".into(), "b".into()],
        points: 1,
        blocks: (6, 30),
        budget: Nanoseconds::from_secs(60),
        headline: None,
    };
    TimedEvent { at: Nanoseconds::from_millis(1), event }
}

fn block_ended(block: u32) -> TimedEvent {
    let interim = Interim {
        variant: HOSTILE.into(),
        point: Default::default(),
        change: 0.0123,
        contrast: Default::default(),
        half_width: Some(0.004),
        lower: Some(0.0083),
        upper: Some(0.0163),
    };
    let event = Event::BlockEnded { block, interim: vec![interim], of: 6 };
    TimedEvent { at: Nanoseconds::from_secs(9), event }
}

#[test]
fn runs_that_are_torn_damaged_or_hostile_are_listed_with_their_reasons() {
    let world = World::idle();
    let runs = world.path("runs");
    let create = |name: &str, second: u64| {
        RunWriter::create(&runs, name, UtcTime::from_unix_ns(1_795_296_124_000_000_000 + second)).unwrap()
    };
    let folder = |run: &RunWriter| run.folder().path().file_name().unwrap().to_str().unwrap().to_owned();

    // This process holds its lock: it goes on.
    let mut going_on = create("goes on", 1);
    going_on.append_event(&started(HOSTILE)).unwrap();
    let path = going_on.folder().path().join("events.jsonl");
    let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
    let line = serde_json::to_string(&block_ended(2)).unwrap();
    let (torn, rest) = line.split_at(line.len() / 2);
    file.write_all(torn.as_bytes()).unwrap();

    let newer = create("newer", 2);
    fs::write(newer.folder().path().join("run.json"), "{\"schema\": 99}").unwrap();
    let broken = create("broken summary", 3);
    fs::write(broken.folder().path().join("summary.json"), "{\"schema\": 1, \"title\": ").unwrap();
    let linked = create("linked file", 4);
    let secret = world.write("secret", "{\"schema\": 1, \"title\": \"a secret\"}");
    symlink(&secret, linked.folder().path().join("summary.json")).unwrap();
    let elsewhere = world.path("elsewhere");
    let outside = RunWriter::create(&elsewhere, "outside", UtcTime::from_unix_ns(0)).unwrap();
    symlink(outside.folder().path(), runs.join("link")).unwrap();
    fs::create_dir(runs.join("no run")).unwrap();

    let served = Served::start(&world);
    let list = served.page("/");
    for text in ["running", "schema 99", "linked-file", "is a link, which this view does not follow"] {
        assert!(list.contains(text), "`{text}`: {list}");
    }
    assert!(!list.contains("a secret") && !list.contains("no run") && !list.contains("outside"), "{list}");
    for missing in [
        "/run/link/",
        "/run/link/report",
        "/run/no%20run/",
        "/run/nobody/",
        "/run//",
        "/run/.hidden/",
        "/elsewhere",
    ] {
        assert_eq!(served.get(missing).status, 404, "{missing}");
    }
    for failing in [folder(&newer), folder(&broken), folder(&linked)] {
        let reply = served.get(&format!("/run/{failing}/"));
        assert_eq!(reply.status, 500, "{failing}");
        assert!(!reply.body.contains("a secret"), "{}", reply.body);
    }
    for outside in ["/run/../secret", "/run/%2e%2e/secret", "/run/..%2fsecret/", "/run/%2e%2e%2fsecret/"] {
        assert_eq!(served.get(outside).status, 400, "{outside}");
    }

    a_torn_line_is_waited_for(&served, &folder(&going_on), (&mut file, rest));
    drop(going_on);
    served.end();
}

/// The page shows what is whole; the rest of the line comes, and then an end without a summary.
fn a_torn_line_is_waited_for(served: &Served<'_>, name: &str, (file, rest): (&mut fs::File, &str)) {
    let page = served.page(&format!("/run/{name}/"));
    assert!(page.contains("&lt;script&gt;alert(1)") && !page.contains("<script>alert"), "{page}");
    assert!(page.contains("starting") && !page.contains("1.23"), "half a line is not there yet: {page}");
    let followed = served.send(&format!("/run/{name}/events"), "");
    let mut reader = BufReader::new(followed.try_clone().unwrap());
    let mut until = |text: &str| {
        let mut line = String::new();
        while !line.contains(text) {
            line.clear();
            assert!(reader.read_line(&mut line).expect("events") > 0, "it ended before `{text}`");
        }
        line
    };
    until("starting");
    file.write_all(format!("{rest}\nnot an event\n").as_bytes()).unwrap();
    let state = until("+1.23 % ± 0.40 %");
    assert!(state.contains("block 3 of 6") && state.contains("alert(1)"), "{state}");
    let interrupted = Event::Interrupted { folder: "runs/x".into(), blocks: 3 };
    let line =
        serde_json::to_string(&TimedEvent { at: Nanoseconds::from_secs(10), event: interrupted }).unwrap();
    file.write_all(format!("{line}\n").as_bytes()).unwrap();
    assert!(until("whole blocks kept: 3").contains("line 3"), "a line that is no event is named");
    until("event: stopped");
    let reply = served.send("/", "Origin: http://evil.example\r\n");
    let mut text = String::new();
    BufReader::new(reply).read_to_string(&mut text).unwrap();
    assert!(text.starts_with("HTTP/1.1 403"), "{text}");
}

#[test]
fn what_cannot_be_served_is_refused_in_words() {
    let world = World::idle();
    let missing = world.weigh(&["serve", "--out", "nowhere", "--port", "0"]).end();
    missing.assert_error(&["`nowhere`", "--out"]);
    let run = RunWriter::create(world.path("runs"), "x", UtcTime::from_unix_ns(0)).unwrap();
    let path = run.folder().path().to_str().unwrap().to_owned();
    world.weigh(&["serve", "--out", &path, "--port", "0"]).end().assert_error(&["is a run", "--out"]);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let ended = world.weigh(&["serve", "--out", "runs", "--port", &port]).end();
    ended.assert_error(&[&port, "choose another port"]);
    let ended = world.weigh(&["export", "--format", "parquet"]).end();
    ended.assert_error(&["not built into this `weigh`", "--features parquet"]);
}
