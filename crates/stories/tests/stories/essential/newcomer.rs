//! The user's own service: from its first commit to a gate in CI, as docs/TUTORIAL.md says, to the letter; and what is told
//! where it cannot be done.

use std::fs;
use std::path::Path;

use crate::support::server::{GOOD, Server};
use crate::support::{Ended, WEIGH, World, eventually, measuring};

// --- The page ----------------------------------------------------------------------------------------------------

/// The shell commands of the page, block by block.
fn blocks() -> Vec<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/TUTORIAL.md");
    let page = fs::read_to_string(page).expect("the page");
    let fenced = page.split("\n```").skip(1).step_by(2);
    fenced.filter_map(|block| block.strip_prefix("sh\n")).map(|text| format!("{text}\n")).collect()
}

/// The block of the page that holds `part`.
fn block(part: &str) -> String {
    blocks().into_iter().find(|block| block.contains(part)).unwrap_or_else(|| panic!("no block with {part}"))
}

/// What a user of the page types, in a folder of the world, with `weigh` on the path.
fn typed(world: &World, folder: &str, script: &str) -> Ended {
    let (folder, programs) = (world.path(folder), world.path("bin"));
    for folder in [&folder, &programs] {
        fs::create_dir_all(folder).expect("a folder");
    }
    if !programs.join("weigh").exists() {
        std::os::unix::fs::symlink(WEIGH, programs.join("weigh")).expect("a link");
    }
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").expect("a path"));
    let mut shell = world.weigh(&[""; 0]).through("sh", &["-e", "-c", script]).folder(&folder);
    shell = shell.env("PATH", &path);
    for role in ["AUTHOR", "COMMITTER"] {
        shell =
            shell.env(&format!("GIT_{role}_NAME"), "n").env(&format!("GIT_{role}_EMAIL"), "e@example.org");
    }
    shell.end()
}

/// The output of commands that succeed, in the world's folder.
fn shell(world: &World, script: &str) -> String {
    let ended = typed(world, ".", script);
    ended.assert_code(0);
    ended.stdout
}

/// A world with the page's service and its first two commits.
fn shop(world: &World) {
    shell(world, &block("cat > server.py"));
    world.write(".gitignore", "/*\n!/server.py\n!/.gitignore\n");
    shell(world, "git add --all && git commit --quiet --amend --message 'a small shop'");
    shell(world, &block("--create compare"));
}

/// The headline of a run that measured what the page's commit costs: a search through 10,000 prices for every item.
fn assert_dearer(world: &World, ended: &Ended, run: &Path) {
    let summary = fs::read_to_string(run.join("summary.json")).expect("a summary");
    let summary: serde_json::Value = serde_json::from_str(&summary).expect("JSON");
    let names: Vec<&str> = summary["variants"]
        .as_array()
        .expect("variants")
        .iter()
        .filter_map(|one| one["name"].as_str())
        .collect();
    let hashes = ["main", "compare"].map(|name| {
        let asked = typed(world, "shop", &format!("git rev-parse {name}"));
        format!("{name}@{}", &asked.stdout[..7])
    });
    assert_eq!(names, hashes, "{ended}");
    let headline = &summary["costs"][0];
    assert_eq!(headline["quantity"], "response_p50");
    assert!(headline["ratio"]["point"].as_f64().expect("a ratio") > 1.2, "{headline}");
    if summary["validity"] == "valid" {
        assert_eq!(headline["verdict"], "higher", "{ended}");
    }
}

#[test]
fn every_command_of_the_tutorial_does_what_the_page_says() {
    measuring(|| {
        let world = World::new();
        let port = std::net::TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
        let port = port.expect("a free port").port().to_string();
        let mut seen = 0;
        for block in blocks() {
            let ended = typed(&world, "shop", &block.replace("8080", &port));
            let known = |part: &str| block.contains(part);
            let is_gate = known("|| echo");
            // A disturbed host may make figures invalid (3), which says nothing of the page.
            let may_be_invalid = known("weigh load") || known("weigh run");
            assert!(ended.code == Some(0) || (may_be_invalid && ended.code == Some(3)), "{block}\n{ended}");
            assert!(!ended.says("error: "), "{block}\n{ended}");
            seen += usize::from(is_gate || known("weigh run --revisions main,compare"));
            if is_gate {
                assert!(
                    ended.stdout.ends_with("exit code 1\n") || ended.stdout.ends_with("exit code 3\n"),
                    "{ended}"
                );
                assert!(ended.says("gate failed: `p50 > +10%`"), "{ended}");
            } else if known("weigh run --revisions main,compare") {
                let runs = fs::read_dir(world.path("shop/runs")).expect("runs");
                let run = runs.map(|run| run.expect("a run").path()).next().expect("one run");
                assert_dearer(&world, &ended, &run);
                let trees = typed(&world, "shop", "git worktree list").stdout;
                assert_eq!(trees.lines().count(), 1, "{trees}");
            } else if known("gate.sh && cat weigh.md") && ended.code == Some(0) {
                assert!(ended.stdout.contains("| --- |"), "{ended}");
            }
        }
        assert_eq!(seen, 2);
        assert_eq!(
            typed(&world, "shop", "git status --porcelain").stdout,
            "",
            "what the page makes is committed"
        );
        world.assert_nothing_left();
    });
}

#[test]
fn the_file_that_the_tutorial_writes_is_verified_for_two_revisions() {
    let world = World::idle();
    shop(&world);
    world.weigh(&["init", "--command", "python3 server.py {port}", "/items/17"]).end().assert_code(0);
    let planned = world.weigh(&["plan", "experiment.toml"]).end();
    planned.assert_code(0);
    assert!(planned.stdout.contains("variant  mine (baseline), http1-json"), "{planned}");
    // The same variants, written out, come up and answer.
    let file = fs::read_to_string(world.path("experiment.toml")).expect("the file");
    let build =
        "test ! -e untracked; printf '#!/bin/sh\\nexec python3 server.py $1\\n' > serve; chmod +x serve";
    let revision = |name: &str| {
        format!(
            "[[variant]]\nrevision = '{name}'\nbuild = \"{build}\"\ncommand = './serve {{port}}'\nready = '/items/1'\n"
        )
    };
    let head = file.split("\n[[variant]]").next().expect("a beginning");
    world.write("untracked", "");
    world.write("two.toml", &format!("{head}\n{}{}", revision("main"), revision("compare")));
    let ended = world.weigh(&["verify", "two.toml"]).end();
    ended.assert_code(0);
    assert!(ended.stdout.contains("all variants answer alike"), "{ended}");
    world.assert_nothing_left();
}

// --- What cannot be done -----------------------------------------------------------------------------------------

fn revisions<'a>(names: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [
        &["run", "--quick", "--budget", "5s", "--command", "python3 server.py {port}", "--revisions", names],
        more,
    ]
    .concat()
}

#[test]
fn revisions_that_cannot_be_weighed_are_told_and_leave_nothing() {
    let world = World::idle();
    world.weigh(&revisions("main,HEAD", &[])).end().assert_error(&["is in no git repository"]);
    shop(&world);
    for (names, more, parts) in [
        ("main,cmopare", &[][..], &["`cmopare` is no revision of", "did you mean `compare`?"][..]),
        ("main..compare", &[], &["write two: `main,compare`"]),
        ("main,a..b", &[], &["write two: `a,b`"]),
        ("main", &[], &["wants two or more, such as `main,HEAD`"]),
        ("main,compare", &["--url-path", "items"], &["`items` is no path"]),
        (
            "main,compare",
            &["--build", "echo so far; echo 'no rule to make it' >&2; exit 7"],
            &["variant `main@", "ended with exit status: 7", "no rule to make it", "the whole log: `"],
        ),
    ] {
        let ended = world.weigh(&revisions(names, more)).end();
        ended.assert_error(parts);
        if let Some(log) =
            ended.stderr.split("the whole log: `").nth(1).and_then(|rest| rest.split('`').next())
        {
            assert_eq!(fs::read_to_string(log).expect("the log"), "so far\nno rule to make it\n");
            fs::remove_dir_all(Path::new(log).parent().expect("a folder")).expect("it can be removed");
        }
    }
    world
        .weigh(&["run", "--revisions", "main,compare"])
        .end()
        .assert_error(&["`--revisions` wants a program", "`--command './server --port {port}'`"]);
    world.write("url.toml", "[workload]\nname = 'http'\n[[variant]]\nurl = 'http://127.0.0.1:1/'\n");
    world
        .weigh(&["run", "url.toml", "--revisions", "main,HEAD"])
        .end()
        .assert_error(&["wants a variant with a `command`"]);
    world.write(
        "two.toml",
        "[workload]\nname = 'http'\n[[variant]]\nname='a'\ncommand='a'\n[[variant]]\nname='b'\ncommand='b'\n",
    );
    let ended = world.weigh(&["run", "two.toml", "--revisions", "main,HEAD"]).end();
    ended.assert_error(&["in the place of one variant", "has 2; keep one with `--only`"]);
    world.assert_nothing_left();
}

#[test]
fn a_commit_against_itself_and_the_working_tree_are_said_to_be_so() {
    let world = World::idle();
    shop(&world);
    shell(&world, "echo '# not committed' >> server.py");
    // It ends in the build, which both have to pass.
    let ended = world
        .weigh(&revisions(
            "HEAD,compare,worktree",
            &["--build", "grep -q 'not committed' server.py || exit 3"],
        ))
        .end();
    ended.assert_error(&["ended with exit status: 3"]);
    assert!(ended.says("`HEAD` and `compare` are the same commit: it is weighed against itself"), "{ended}");
    assert!(ended.says("`worktree` is the working tree as it is: one file is not as committed"), "{ended}");
    assert_eq!(shell(&world, "git status --porcelain").trim(), "M server.py");
    world.assert_nothing_left();
}

#[test]
fn worktrees_are_gone_after_ctrl_c_and_after_a_kill() {
    for signal in ["INT", "KILL"] {
        let world = World::idle();
        shop(&world);
        let mut running = world.weigh(&revisions("main,compare", &["--build", "sleep 613; true"])).start();
        running.until("the build runs in a worktree", |world| {
            // Beside `weigh` itself, which was told so, the shell and what it started. Git stumbles over a worktree that is
            // half made, so it is asked once the build runs.
            world.processes("sleep 613").len() > 2 && shell(world, "git worktree list").lines().count() == 2
        });
        let ended = running.end_by(signal);
        match signal {
            "INT" => {
                ended.assert_error(&["interrupted before anything was measured"]);
            }
            _ => assert_eq!(ended.code, None, "{ended}"),
        }
        eventually("nothing is built any more", || world.processes("sleep 613").is_empty());
        eventually("no worktree is left", || world.worktrees().is_empty());
        // What the guardian of a killed run leaves is its registry, which `doctor` strikes out.
        world.weigh(&["doctor", "--clean"]).end().assert_code(0);
        eventually("git knows of none", || {
            shell(&world, "git worktree prune; git worktree list").lines().count() == 1
        });
        world.assert_nothing_left();
    }
}

#[test]
fn a_run_of_revisions_that_was_interrupted_goes_on() {
    measuring(|| {
        let world = World::new();
        shop(&world);
        let build = ["--build", "touch built", "--url-path", "/items/1"];
        let mut running = world.weigh(&revisions("main,compare", &build)).start();
        running.until_event("block-ended", 1);
        running.end_by("INT").assert_error(&["go on with `weigh run --resume"]);
        assert!(world.worktrees().is_empty(), "they are made again");
        let run = world.run_folder().display().to_string();
        world.weigh(&["run", "--resume", &run]).end().assert_measured();
        let names = world.json("summary.json")["variants"].clone();
        assert!(names[0]["name"].as_str().is_some_and(|name| name.starts_with("main@")), "{names}");
        assert_eq!(world.json("environment.json")["variants"].as_array().map(Vec::len), Some(2));
        world.assert_nothing_left();
    });
}

// --- Readiness ---------------------------------------------------------------------------------------------------

/// A server that answers 503 at first, and says in its log where it listens.
const SLOW_STARTER: &str = r#"
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Server(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    asked = 0

    def do_GET(self):
        if self.path == "/health":
            Server.asked += 1
        self.send_response(503 if Server.asked in (1, 2) else 204 if self.path == "/health" else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass

server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Server)
print("a line before", file=sys.stderr)
print(f"listening on 127.0.0.1:{server.server_port}", file=sys.stderr, flush=True)
server.serve_forever()
"#;

fn readiness(world: &World, ready: &[(&str, &str)]) -> Ended {
    world.write("server.py", SLOW_STARTER);
    let variants: Vec<String> = ready
        .iter()
        .enumerate()
        .map(|(at, (port, ready))| {
            format!(
                "name = '{at}'\ncommand = 'python3 server.py {port}'\nready_timeout = '20 s'\nready = {ready}"
            )
        })
        .collect();
    let variants: Vec<&str> = variants.iter().map(String::as_str).collect();
    world.experiment_with("[workload]\nname = 'http'\n", &variants);
    world.weigh(&["verify", "experiment.toml"]).end()
}

#[test]
fn a_program_is_ready_by_port_path_address_or_a_line_of_its_log() {
    let world = World::idle();
    let free = std::net::TcpListener::bind("127.0.0.1:0")
        .and_then(|socket| socket.local_addr())
        .expect("a port")
        .port();
    let ended = readiness(
        &world,
        &[
            ("{port}", "'port'"),
            ("{port}", "'/health'"),
            ("{port}", "{ url = 'http://localhost:{port}/health', status = 204 }"),
            ("{port}", "{ log = 'listening on' }"),
            ("0", "{ log = 'listening on [0-9.]+:(?<port>[0-9]+)$' }"),
            (free.to_string().as_str(), format!("{{ port = {free} }}").as_str()),
        ],
    );
    ended.assert_code(0);
    world.assert_nothing_left();
}

#[test]
fn a_program_that_never_is_ready_is_told_with_what_was_waited_for() {
    let world = World::idle();
    // It answers from the start, however late the command is.
    let health = Server::answering(GOOD);
    let (url, says) =
        (format!("{}health", health.url()), "sh -c \"echo a line before; echo listening; exec sleep 600\"");
    let elsewhere = format!("{{ url = '{url}', status = 418 }}");
    for (command, ready, parts) in [
        (says, elsewhere.as_str(), &[&*url, "was not answered well: its status is 200", "listening"][..]),
        (
            says,
            "{ log = 'ready to serve' }",
            &["no line of its output matched `ready to serve`", "a line before | listening"],
        ),
        (
            "sleep 600",
            "'port'",
            &["it accepts no connection on 127.0.0.1:", "`{port}` or the variable `PORT`"],
        ),
        ("sleep 600", "'line'", &["it did not print `ready <port>`", "it has written nothing"]),
        ("sleep 600", "'http://127.0.0.1:{port}/up'", &["/up` was not answered well: no connection to"]),
    ] {
        let variant =
            format!("name = 'mine'\ncommand = '{command}'\nready_timeout = '1500 ms'\nready = {ready}");
        world.experiment_with("[workload]\nname = 'http'\n", &[&variant]);
        let ended = world.weigh(&["verify", "experiment.toml"]).end();
        ended.assert_error(&[&["`mine` was not ready within 1.5"][..], parts].concat());
    }
    world.assert_nothing_left();
}

// --- weigh init --------------------------------------------------------------------------------------------------

#[test]
fn what_init_writes_can_be_planned_and_is_never_written_over_unasked() {
    let world = World::idle();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../draft/tests/data");
    let file = |name: &str| data.join(name).display().to_string();
    let (har, api, copied) = (file("session.har"), file("shop.yaml"), data.join("copied.curl"));
    let line = fs::read_to_string(&copied).expect("a line");
    let curl = [
        "init",
        "--force",
        "curl",
        "-XPOST",
        "-H",
        "X-Token: swordfish",
        "-d",
        "@body",
        "-o",
        "out",
        "http://h:1/a",
    ];
    world.write("body", "a=1");
    let mutilate = "mutilate -s 127.0.0.1 -K fb_key -V fb_value --search=99:1000";
    let memtier = ["init", "--force", "memtier", "-P", "memcache_text", "-p", "11211", "--key-maximum=500"];
    let sources: [(&[&str], &str); 10] = [
        (&["init"], "service = \"rust\""),
        (&["init", "http://127.0.0.1:8080/a", "--force"], "url = \"http://127.0.0.1:8080/\""),
        (&["init", "--force", "--command", "./serve", "/a"], "ready = \"port\""),
        (&["init", "--force", &line], "path = \"/api/orders?dry=1\""),
        (&curl, "X-Token = \"env:X_TOKEN\""),
        (&["init", &har, "--origin", "https://shop.example.org", "--force"], "name = \"POST /login\""),
        (&["init", "--har", &har, "--origin", "shop.example.org", "--force"], "name = \"GET /logo.svg\""),
        (&["init", "--force", &api, "--methods", "get,post"], "name = \"addItem\""),
        (&["init", "--force", mutilate], "objective = \"p99 < 1000 us\""),
        (&memtier, "url = \"memcached://localhost:11211\""),
    ];
    for (arguments, part) in sources {
        let ended = world.weigh(arguments).end();
        ended.assert_code(0);
        let text = fs::read_to_string(world.path("experiment.toml")).expect("a file");
        assert!(text.contains(part) && !text.contains("swordfish"), "{arguments:?}: {text}");
        assert!(!ended.stderr.contains("swordfish"), "{ended}");
        world.weigh(&["plan", "experiment.toml"]).end().assert_code(0);
    }
    let before = fs::read(world.path("experiment.toml")).expect("a file");
    let ended = world.weigh(&["init", "http://h/"]).end();
    ended.assert_error(&["could not write `experiment.toml`; `--force` writes over it"]);
    assert_eq!(fs::read(world.path("experiment.toml")).expect("a file"), before);
    let printed = world.weigh(&["init", "-", "-o", "-"]).stdin(&copied).end();
    printed.assert_code(0);
    assert!(
        printed.stdout.contains("Authorization") || printed.stdout.contains("authorization"),
        "{printed}"
    );
    assert!(
        printed.says("note: set `AUTHORIZATION` to the value of the header `authorization`"),
        "{printed}"
    );
    for (arguments, parts) in [
        (&["init", "gone.har"][..], &["could not read `gone.har`"][..]),
        (&["init", "ftp://h/"], &["scheme `ftp` is not supported"]),
        (&["init", &har], &["requests went to 2 origins; choose one with `--origin`"]),
        (&["init", "curl", "-F", "a=b", "http://h/"], &["word 2: `-F` cannot be taken over"]),
        (&["init", "mutilate", "-s", "h", "-a", "other"], &["`-a`: there are no agents here"]),
        (&["init", "memtier_benchmark --cluster-mode"], &["`--cluster-mode`: clusters and replicas"]),
        (&["init", "server.json"], &["could not read `server.json`"]),
        (&["init", &api, "--origin", "http://h"], &["`--origin` belongs to a recording"]),
        (&["init", "--command", "./s", "items"], &["`items` is no path"]),
    ] {
        world.weigh(arguments).end().assert_error(parts);
    }
}
