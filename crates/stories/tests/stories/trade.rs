//! The brokerage: what the service answers and leaves behind is what the model of `weigh` says, which knows nothing of
//! databases and threads.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Lines, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value;
use weighbridge_model::experiment::{PlanRules, TradeOperation};
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::record::counts::Count;
use weighbridge_model::record::{OperationFigures, WindowKind};
use weighbridge_store::RunFolder;
use weighbridge_workload::trade::dacapo::{self, ScriptFiles};
use weighbridge_workload::trade::{Brokerage, Grain, ScriptLaw, ScriptMaker, TradeScript};

use crate::support::{Ended, World, measuring, say, service};

/// The service playing the script of a folder in its own process.
struct Player {
    child: Child,
    tasks: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
}

impl Player {
    fn start(script: &Path, database: &str, state: &Path) -> Self {
        fs::create_dir(state).expect("a new folder");
        let folder = service::folder().join("rust-trade");
        let mut command = Command::new(folder.join("target/release/weigh-rust-trade"));
        command
            .env_clear()
            .env("DIRECT", "1")
            .env("DATA", script)
            .env("DATABASE", database)
            .env("STATE", state);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it was built");
        let tasks = child.stdin.take().expect("piped");
        let mut answers = BufReader::new(child.stdout.take().expect("piped")).lines();
        assert_eq!(answers.next().expect("a line").expect("text"), "ready direct");
        Self { child, tasks, answers }
    }

    fn ask(&mut self, line: &str) -> Value {
        writeln!(self.tasks, "{line}").expect("it reads");
        let answer = self.answers.next().expect("an answer").expect("text");
        serde_json::from_str(&answer).unwrap_or_else(|_| panic!("{line}: {answer}"))
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read(folder: &Path) -> TradeScript {
    let file = |name: &str| fs::read(folder.join(name)).expect("a file of the script");
    let (stocks, users, workload) = (file(dacapo::STOCKS), file(dacapo::USERS), file(dacapo::WORKLOAD));
    let files = ScriptFiles { stocks: &stocks, users: &users, workload: &workload };
    dacapo::read(&files, None).expect("a script")
}

#[test]
fn the_service_answers_and_ends_as_the_model_says_on_each_embedded_database_with_any_number_of_threads() {
    service::build("rust-trade");
    let world = World::idle();
    let script = world.path("script");
    world.weigh(&["trade", "script", "--size", "default", "--out", "script"]).end().assert_code(0);
    let read = read(&script);
    let opening = serde_json::to_value(Brokerage::new(&read).end_state()).expect("JSON");
    let grains = [("fine", Grain::Fine), ("coarse", Grain::Coarse)].map(|(name, grain)| {
        let mut model = Brokerage::new(&read);
        let digest = model.play(&read.sessions, grain).expect("its own script").to_string();
        model.check().expect("its books add up");
        let end = serde_json::to_value(model.end_state()).expect("JSON");
        let names: BTreeSet<_> = TradeOperation::recorded(grain).iter().map(|one| one.name()).collect();
        (name, names, digest, end)
    });
    for database in ["memory", "file"] {
        let mut player = Player::start(&script, database, &world.path(&format!("state-{database}")));
        assert_eq!(player.ask("state"), opening, "{database}");
        for threads in [1, 2, 16] {
            for (grain, names, digest, end) in &grains {
                let what = format!("{database}, {threads} threads, {grain}");
                let played = player.ask(&format!("window 1 {} {threads} {grain}", read.sessions.len()));
                assert_eq!(played["digest"], *digest, "{what}");
                let operations = played["operations"].as_object().expect("operations");
                assert_eq!(&operations.keys().map(String::as_str).collect::<BTreeSet<_>>(), names, "{what}");
                for (operation, counts) in operations {
                    assert_eq!(
                        (&counts["failed"], &counts["retried"]),
                        (&0.into(), &0.into()),
                        "{what}: {operation}"
                    );
                }
                assert_eq!(player.ask("state"), *end, "{what}");
                player.ask("reset");
                assert_eq!(player.ask("state"), opening, "{what}");
            }
        }
    }
}

#[test]
fn whole_passages_are_measured_in_process_and_over_each_protocol_and_every_reply_is_the_models() {
    service::build("rust-trade");
    measuring(|| {
        for (grain, actions) in [("fine", "sell"), ("coarse", "sell-first")] {
            let world = World::new();
            let variants = ["direct", "http1-json", "http2-json", "grpc", "soap"].map(|protocol| {
                format!("[[variant]]\nname = \"{protocol}\"\nservice = \"rust-trade\"\nprotocol = \"{protocol}\"\n")
            });
            world.write(
                "experiment.toml",
                &format!(
                    "[workload]\nname = \"trade\"\nsessions = 24\ngrain = \"{grain}\"\n\
                     [load]\nconnections = 3\nwarmup = \"50 ms\"\n\
                     [plan]\nblocks = 1\nbudget = \"5 s\"\n{}",
                    variants.concat()
                ),
            );
            let ended = world.run(&["--format", "json"]).with_services().end();
            ended.assert_measured();
            let summary = ended.json();
            assert_actions_are_alike(&world, 5);
            let mut passages = Vec::new();
            for variant in summary["variants"].as_array().expect("variants") {
                assert_eq!(variant["errors"], 0, "{grain}: {variant}");
                let (requests, windows) = (variant["requests"].as_u64(), variant["windows"].as_u64());
                let (requests, windows) = (requests.expect("a number"), windows.expect("a number"));
                assert!(requests > 0 && requests % windows == 0, "a window is a passage: {variant}");
                passages.push(requests / windows);
                let figures = variant["figures"].as_array().expect("figures");
                let restore = figures.iter().find(|figure| figure["quantity"] == "restore_time");
                let restore = restore.expect("what restoring takes is told");
                assert!(restore["estimate"]["point"].as_f64() > Some(0.0), "{restore}");
            }
            assert_restored_between_windows(&world);
            assert!(passages.iter().all(|one| *one == passages[0]), "{grain}: {passages:?}");
            let costs = summary["costs"].as_array().expect("costs");
            assert!(costs.iter().any(|cost| cost["operation"] == actions), "{grain}: {summary}");
            world.assert_nothing_left();
        }
    });
}

#[test]
fn sessions_that_arrive_are_carried_out_whole_and_at_their_rate() {
    service::build("rust-trade");
    measuring(|| {
        let world = World::new();
        let variants = ["http1-json", "grpc"].map(|protocol| {
            format!(
                "[[variant]]\nname = \"{protocol}\"\nservice = \"rust-trade\"\nprotocol = \"{protocol}\"\n"
            )
        });
        let load =
            "model = \"partly-open\"\nsessions = \"100/s\"\narrivals = \"constant\"\nlength = \"workload\"";
        world.write(
            "experiment.toml",
            &format!(
                "[workload]\nname = \"trade\"\nsessions = 24\n[load]\nconnections = 8\nwarmup = \"50 ms\"\n{load}\n\
                 [plan]\nblocks = 2\nbudget = \"8 s\"\n{}",
                variants.concat()
            ),
        );
        let ended = world.run(&["--format", "json"]).with_services().end();
        ended.assert_measured();
        assert_actions_are_alike(&world, 8);
        assert_restored_between_windows(&world);
        for variant in ended.json()["variants"].as_array().expect("variants") {
            assert_eq!((&variant["errors"], &variant["not_sent"]), (&0.into(), &0.into()), "{variant}");
        }
        let blocks = RunFolder::open(world.run_folder()).expect("a run").load_blocks().expect("its record");
        let windows = blocks.iter().flatten().flat_map(|trial| &trial.windows);
        for window in windows.filter(|window| window.kind == WindowKind::Measured) {
            // The last of 24 arrives 230 ms after the first.
            let figures = &window.figures;
            let lasted = figures.ended.since(figures.started);
            assert!(lasted >= Nanoseconds::from_millis(225), "{lasted}");
            assert_eq!((figures.offered, figures.not_sent), (figures.requests, 0), "{window:?}");
        }
        world.assert_nothing_left();
    });
}

#[test]
fn the_same_sessions_are_played_in_bases_of_several_sizes() {
    service::build("rust-trade");
    measuring(|| {
        let world = World::new();
        world.write(
            "experiment.toml",
            "[workload]\nname = \"trade\"\nsessions = 24\n[load]\nconnections = 2\nwarmup = \"50 ms\"\n\
             [plan]\nblocks = 1\nbudget = \"6 s\"\n[matrix]\nservice = [\"rust-trade\"]\n\
             protocol = [\"direct\", \"http1-json\"]\nbase = [24, \"large\"]\n",
        );
        let ended = world.run(&["--format", "json"]).with_services().end();
        ended.assert_measured();
        assert_actions_are_alike(&world, 8);
        let variants = ended.json()["variants"].as_array().expect("variants").clone();
        assert!(variants.len() == 4 && variants.iter().all(|one| one["errors"] == 0), "{variants:?}");
        // 1.5 users a session.
        let users = |folder: &str| {
            let users = fs::read_to_string(world.run_folder().join("logs").join(folder).join(dacapo::USERS));
            users.expect("a population").lines().count()
        };
        assert_eq!((users("data-24"), users("data-1024")), (36, 1_536));
        world.assert_nothing_left();
    });
}

/// Of 24 sessions: those of the script, in every window, in process and over every protocol, in calls or whole actions.
fn assert_actions_are_alike(world: &World, windows_least: usize) {
    let script = ScriptMaker::new(
        ScriptLaw::default().with_seed(PlanRules::default().seed).with_sessions(24).expect("sessions"),
    )
    .script();
    let whole: usize = script.sessions.iter().map(|session| session.whole().count()).sum();
    let blocks = RunFolder::open(world.run_folder()).expect("a run").load_blocks().expect("its record");
    let windows = blocks.iter().flatten().flat_map(|trial| &trial.windows);
    let measured: Vec<_> = windows.filter(|window| window.kind == WindowKind::Measured).collect();
    assert!(measured.len() >= windows_least);
    for window in measured {
        let counts = window.figures.counts.expect("a brokerage has actions");
        assert_eq!(counts.get(Count::Actions), whole as u64, "{window:?}");
    }
}

/// Before each passage the database is restored, between the window before it and its own first request.
fn assert_restored_between_windows(world: &World) {
    let trials = fs::read_dir(world.run_folder().join("trials")).expect("trials").flatten();
    for trial in trials {
        let table = fs::read_to_string(trial.path().join("windows.csv")).expect("a table");
        let mut lines = table.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let heads = lines.next().expect("a head");
        let column = |name: &str| heads.iter().position(|head| *head == name).expect("a column");
        let [kind, started, ended, restore] = ["kind", "started_ns", "ended_ns", "restore_ns"].map(column);
        let number = |cell: &str| cell.parse::<u64>().expect("a number");
        let mut before = 0;
        for row in lines {
            if row[kind] == "measured" {
                let restored = number(row[restore]);
                assert!(restored > 0 && before + restored <= number(row[started]), "{row:?}");
            }
            before = number(row[ended]);
        }
    }
}

/// DaCapo's own sessions, with their overdrafts and orders of no shares: each reply and the end state are the model's, or the
/// run ends.
#[test]
fn dacapos_own_script_runs_in_process_and_over_each_protocol() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/dacapo");
    let Ok(folder) = folder.canonicalize() else {
        say("SKIPPED", "DaCapo's files are not in ../shared/data/dacapo");
        return;
    };
    service::build("rust-trade");
    measuring(|| {
        let world = World::new();
        let variants = ["direct", "http1-json", "grpc", "soap"].map(|protocol| {
            format!(
                "[[variant]]\nname = \"{protocol}\"\nservice = \"rust-trade\"\nprotocol = \"{protocol}\"\n"
            )
        });
        world.write(
            "experiment.toml",
            &format!(
                "[workload]\nname = \"trade\"\nscript = \"{}\"\nsessions = 128\n[load]\nconnections = 4\n\
                 warmup = \"50 ms\"\n[plan]\nblocks = 1\nbudget = \"5 s\"\n{}",
                folder.display(),
                variants.concat()
            ),
        );
        let ended = world.run(&["--format", "json"]).with_services().end();
        ended.assert_measured();
        for variant in ended.json()["variants"].as_array().expect("variants") {
            assert_eq!(variant["errors"], 0, "{variant}");
            assert!(variant["requests"].as_u64() > Some(3_000), "{variant}");
        }
        let copy = fs::read_to_string(world.run_folder().join("experiment.toml")).expect("its copy");
        assert!(copy.contains("sha256 = "), "{copy}");
        world.assert_nothing_left();
    });
}

/// Stands before the service, and does one thing wrong: `loses` the third update after each restore, which it answers as if it
/// were carried out (the first one's user updates the same profile once more); leaves the price where it was (`unmoved`) at the
/// third order; answers each `fifth` attempt after a restore with *again*; or `all` from the fiftieth attempt on. The file that it
/// is given has a byte for each *again*.
const STANDS_BEFORE: &str = r#"
import http.client, http.server, json, os, subprocess, sys, threading

_, own, program, fault, told = sys.argv
child = subprocess.Popen([program], env={**os.environ, "PORT": "0"}, stdout=subprocess.PIPE, text=True)
port = int(child.stdout.readline().split()[1])
lock, updates, orders, attempts = threading.Lock(), 0, 0, 0

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version, wbufsize = "HTTP/1.1", 65536

    def setup(self):
        super().setup()
        self.service = http.client.HTTPConnection("127.0.0.1", port)

    def number(self, body):
        """Whether this update is lost, and whether this attempt is to be made again."""
        global updates, orders, attempts
        if self.path.startswith("/control/"):
            updates = orders = attempts = 0
            return False, False
        updates, attempts = updates + (self.command == "PUT"), attempts + 1
        orders += b'"factor"' in body
        is_lost = fault == "loses" and self.command == "PUT" and updates == 3
        is_aborted = fault == "fifth" and attempts % 5 == 0 or fault == "all" and attempts >= 50
        if is_aborted:
            with open(told, "a") as file:
                file.write("x")
        return is_lost, is_aborted

    def carry_out(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with lock:
            is_lost, is_aborted = self.number(body)
            if fault == "unmoved" and orders == 3 and b'"factor"' in body:
                body = json.dumps({**json.loads(body), "factor": None}).encode()
        if is_aborted:
            status, reply = 503, b'{"error":"in use"}'
        elif is_lost:
            profile = json.loads(body)
            del profile["password"]
            status, reply = 200, json.dumps({"user": self.path.split("/")[2].replace("%3A", ":"), **profile}).encode()
        else:
            self.service.request(self.command, self.path, body, {"Content-Type": "application/json"})
            answer = self.service.getresponse()
            status, reply = answer.status, answer.read()
        self.send_response(status)
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    do_GET = do_POST = do_PUT = carry_out

    def log_message(self, *words):
        pass

http.server.ThreadingHTTPServer(("127.0.0.1", int(own)), Handler).serve_forever()
"#;

/// Measures passages of the service behind it, on one connection; `more` is said of the workload.
fn stands_before(world: &World, fault: &str, more: &str, format: &[&str]) -> Ended {
    service::build("rust-trade");
    let program = world.write("before.py", STANDS_BEFORE);
    let service = service::folder().join("rust-trade/target/release/weigh-rust-trade");
    world.write(
        "experiment.toml",
        &format!(
            "[workload]\nname = \"trade\"\nsessions = 24\n{more}\n[load]\nwarmup = \"50 ms\"\n\
             [plan]\nblocks = 2\nbudget = \"5 s\"\n\
             [[variant]]\nname = \"mine\"\ncommand = [\"python3\", \"{}\", \"{{port}}\", \"{}\", \"{fault}\", \"{}\"]\n",
            program.display(),
            service.display(),
            world.path("told").display(),
        ),
    );
    world.run(format).end()
}

#[test]
fn an_update_that_is_lost_ends_the_run_and_is_told_with_session_action_and_field() {
    let world = World::idle();
    let ended = stands_before(&world, "loses", "", &[]);
    ended.assert_error(&[
        "`mine`",
        "`state`",
        "every reply of a passage was right, but afterwards `sha256` is ",
        "; session ",
    ]);
    ended.assert_error(&[", update, profile of `", "`, expected `"]);
    world.assert_nothing_left();
}

#[test]
fn a_price_that_an_order_did_not_move_ends_the_run_although_every_reply_was_right() {
    let world = World::idle();
    let ended = stands_before(&world, "unmoved", "prices = \"moving\"", &[]);
    ended.assert_error(&[
        "`mine`",
        "every reply of a passage was right, but afterwards quote of `",
        "`volume` is ",
        ", and its orders leave ",
    ]);
    world.assert_nothing_left();
}

#[test]
fn each_attempt_that_is_answered_again_is_made_once_more_and_counted() {
    let world = World::new();
    let ended = stands_before(&world, "fifth", "", &["--format", "json"]);
    ended.assert_measured();
    let blocks = RunFolder::open(world.run_folder()).expect("a run").load_blocks().expect("its record");
    let (mut aborts, is_again) =
        (0, |one: &&OperationFigures| one.operation == TradeOperation::again(Grain::Fine));
    for trial in blocks.iter().flatten() {
        for window in &trial.windows {
            let counts = window.figures.counts.expect("a brokerage has attempts");
            assert_eq!((window.figures.errors.total(), counts.get(Count::GivenUp)), (0, 0));
            if window.kind == WindowKind::Measured {
                // Four good ones come before each that is made again; none comes after the last.
                assert_eq!(counts.get(Count::Aborts), (window.figures.requests - 1) / 4);
                let again = window.figures.operations.iter().find(is_again);
                assert_eq!(again.expect("attempts").ok, counts.get(Count::Aborts));
            }
            aborts += counts.get(Count::Aborts);
        }
    }
    let told = fs::metadata(world.path("told")).expect("a file").len();
    // What is asked before the run and by no window may have been answered so, too.
    assert!(
        (1..=told).contains(&aborts) && told - aborts < 10,
        "{aborts} were counted, {told} were answered"
    );
    let summary = ended.json();
    let figures = summary["variants"][0]["figures"].as_array().expect("figures");
    let rate = figures.iter().find(|figure| figure["quantity"] == "abort_rate").expect("an abort rate");
    let rate = rate["estimate"]["point"].as_f64().expect("a share");
    assert!((rate - 0.2).abs() < 0.002, "every fifth attempt: {rate}");
    world.assert_nothing_left();
}

#[test]
fn five_attempts_in_a_row_void_the_block_and_a_run_of_such_blocks_ends() {
    let world = World::new();
    let ended = stands_before(&world, "all", "", &[]);
    ended.assert_error(&[
        "2 blocks were thrown away",
        "`mine` answered each attempt of ",
        " with *again*, 5 in all",
    ]);
    world.assert_nothing_left();
}

/// A service over SOAP that was started by hand, ended with the story.
struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts it and returns its URL.
fn served_over_soap(name: &str, command: &[&str], script: &Path, state: &Path) -> (Served, String) {
    fs::create_dir(state).expect("a new folder");
    let mut start = Command::new(command[0]);
    start.args(&command[1..]).current_dir(service::folder().join(name)).stdout(Stdio::piped());
    start.env("DATA", script).env("STATE", state).env("DATABASE", "memory").env("PORT", "0");
    let mut child = start.env("WORKLOAD", "trade").env("PROTOCOL", "soap").spawn().expect("it was built");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let ready = lines.next().expect("a line").expect("text");
    let port = ready.strip_prefix("ready ").unwrap_or_else(|| panic!("{name}: {ready}")).to_owned();
    (Served(child), format!("http://127.0.0.1:{port}/trade"))
}

#[test]
fn a_strangers_client_makes_all_nine_calls_by_the_wsdl_of_each_service() {
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/tools/zeep/bin/python");
    if !python.exists() {
        say("SKIPPED", "zeep is not there; `scripts/setup --tests` installs it");
        return;
    }
    let world = World::idle();
    let script = world.path("script");
    world.weigh(&["trade", "script", "--size", "small", "--out", "script"]).end().assert_code(0);
    let stock = read(&script).stocks[0].clone();
    for (name, command) in [
        ("rust-trade", &["target/release/weigh-rust-trade"][..]),
        ("java-trade", &["java", "-jar", "target/weigh-java-trade.jar"]),
    ] {
        service::build(name);
        let state = world.path(&format!("state-{name}"));
        let (_served, url) = served_over_soap(name, command, &script, &state);
        let client = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stories/trade_zeep.py");
        let output = Command::new(&python).arg(client).args([&url, &stock.symbol]).output().expect("Python");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: {errors}");
        let said: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_said(name, &said, &stock.symbol);
    }
}

/// Each call, with what the ones before have left.
fn assert_said(name: &str, said: &Value, symbol: &str) {
    const FEE: i64 = 2_495;
    let user = "zoë & <co>";
    let number = |call: &str, field: &str| said[call][field].as_i64().expect("a number");
    let price = number("getQuote", "price");
    assert_eq!(said["getQuote"]["symbol"], symbol, "{name}: {said}");
    assert_eq!((&said["register"]["user"], number("register", "balance")), (&user.into(), 100_000_000));
    for (call, kind) in [("buy", "buy"), ("sell", "sell")] {
        let order =
            (&said[call]["kind"], &said[call]["symbol"], number(call, "quantity"), number(call, "fee"));
        assert_eq!(order, (&kind.into(), &symbol.into(), 10, FEE), "{name}: {said}");
        assert_eq!(number(call, "price"), price, "{name}: {said}");
    }
    let held = said["listHoldings"].as_array().expect("a list");
    assert_eq!((held.len(), &held[0]["id"]), (1, &said["buy"]["holding"]), "{name}: {said}");
    assert_eq!(said["update"]["email"], "new@example.org");
    assert_eq!(said["update"]["full_name"], "Zoë 'Z' <Zeep>");
    // Bought and sold at one price, with a fee each time; logged in by registering, out, and in again.
    assert_eq!(number("getAccount", "balance"), 100_000_000 - 2 * FEE, "{name}: {said}");
    assert_eq!((number("getAccount", "logins"), number("getAccount", "logouts")), (2, 1), "{name}: {said}");
    assert_eq!(number("login", "id"), number("logout", "id"));
    assert_eq!(said["fault"], serde_json::json!(["denied"]), "{name}: {said}");
}
