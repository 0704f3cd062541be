//! A story of secrets: tokens in every place where one can be put, against servers that repeat them in bodies, in header
//! fields and in what they print. They are nowhere in what is kept or shown.

use std::fs;
use std::path::Path;

use crate::support::World;

/// What is read from the environment, by variable.
const VARIABLES: [(&str, &str); 7] = [
    ("STORY_QUERY", "q-4f81a0c2e97b55d1"),
    ("STORY_FIELD", "f \"7c1d/90e2\" b6a4+8f3e"),
    ("STORY_AUTHORIZATION", "Bearer a-0d9f4e7b61c82a35"),
    ("STORY_BODY", "b\"{19e7c4}\\5ad0 82f6"),
    ("STORY_ENVIRONMENT", "e-c2b95f07184ea36d"),
    ("STORY_ADDRESS", "d-6a3e81f4927bc05d"),
    ("STORY_ROW", "unused"),
];

/// What stands in the file under a name that makes it a secret, and in the rows.
const LITERALS: [&str; 8] = [
    "literal-cookie-51f8",
    "literal-body-93ac",
    "literal-query-07de",
    "literal-argument-2b6f",
    "literal-environment-e841",
    "literal-hook-5c07",
    "literal-form-66d2",
    "row-password-b3e9",
];

/// What must be nowhere: the whole of each and the parts that stand alone.
fn forbidden() -> Vec<String> {
    let mut all: Vec<String> = LITERALS[..7].iter().map(|text| (*text).to_owned()).collect();
    for (_, value) in &VARIABLES[..6] {
        all.push((*value).to_owned());
        let words = value.split([' ', '"', '{', '}', '\\', '/', '+']).filter(|word| word.len() > 5);
        all.extend(words.map(str::to_owned));
    }
    // Handed out by the servers; never written by us.
    all.push("handed-out-".to_owned());
    all
}

fn assert_clean(what: &str, bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for secret in forbidden() {
        let shown = || text.lines().find(|line| line.contains(&secret)).unwrap_or_default().to_owned();
        assert!(!text.contains(&secret), "`{secret}` is in {what}: {}", shown());
    }
}

fn assert_clean_folder(folder: &Path) -> usize {
    let mut files = 0;
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        assert_clean("a name", path.to_string_lossy().as_bytes());
        if path.is_dir() {
            files += assert_clean_folder(&path);
        } else {
            files += 1;
            assert_clean(&path.display().to_string(), &fs::read(&path).expect("a file"));
        }
    }
    files
}

/// Prints its arguments, its environment and every request, and repeats the request in its reply. The token that it hands
/// out it prints under a name.
const ECHO: &str = r#"
import os, socket, sys, threading
listener = socket.create_server(("127.0.0.1", 0))
mine = {k: v for k, v in os.environ.items() if k.startswith("MY_")}
print("started with", sys.argv, mine, flush=True)
print("ready", listener.getsockname()[1], flush=True)
print("\x1b[2Jon standard error:", mine, file=sys.stderr, flush=True)
if "die" in sys.argv:
    sys.exit(4)

def serve(stream):
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    seen, count = b"", 0
    while True:
        while b"\r\n\r\n" not in seen:
            more = stream.recv(65536)
            if not more:
                return
            seen += more
        head, _, seen = seen.partition(b"\r\n\r\n")
        length = 0
        for line in head.split(b"\r\n"):
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        while len(seen) < length:
            seen += stream.recv(65536)
        body, seen = seen[:length], seen[length:]
        count += 1
        if count <= 3:
            print("asked", head.decode("utf-8", "replace"), body.decode("utf-8", "replace"), flush=True)
            print('{"token": "handed-out-%d"}' % count, flush=True)
        fields = b"".join(b"X-Echo: " + line + b"\r\n" for line in head.split(b"\r\n"))
        who = b"other" if "other" in sys.argv else b"one"
        quoted = (head + body).decode("utf-8", "replace").replace("\\", "\\\\").replace('"', '\\"').replace("\r\n", "\\r\\n")
        text = b'{"who": "' + who + b'", "echo": "' + quoted.encode() + b'"}'
        reply = b"HTTP/1.1 200 OK\r\nX-Session-Token: handed-out-%d\r\n" % count + fields
        stream.sendall(reply + b"Content-Length: %d\r\n\r\n" % len(text) + text)

while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
"#;

const WORKLOAD: &str = r#"
[workload]
name = "http"
equal = "EQUAL"
[[workload.data]]
file = "users.csv"
[[workload.request]]
name = "login"
method = "POST"
path = "/login?key=${env:STORY_QUERY:url}&token=literal-query-07de"
headers = { Authorization = "env:STORY_AUTHORIZATION", X-Field = "x ${env:STORY_FIELD}", Cookie = "sid=literal-cookie-51f8" }
body = '{"a": "${env:STORY_BODY:json}", "password": "literal-body-93ac", "row": "${user}", "word": "${word}"}'
extract.session = { header = "X-Session-Token" }
[[workload.request]]
name = "read"
method = "POST"
path = "/read"
headers = { X-Session-Token = "${session}" }
body = "user=${user:url}&secret=literal-form-66d2"
check = CHECK
[[workload.session]]
requests = ["login", "read"]
[hooks]
prepare = 'echo "$STORY_ENVIRONMENT"; API_TOKEN=literal-hook-5c07 true'
"#;

fn world(equal: &str, check: &str, other: &str) -> World {
    let world = World::idle();
    world.write("users.csv", "user,word\nann,row-password-b3e9\nbob,x\n");
    let echo = world.write("echo.py", ECHO);
    let variant = |name: &str, more: &str| {
        format!(
            "name = \"{name}\"\ncommand = [\"python3\", \"{}\", \"--password\", \"literal-argument-2b6f\"{more}]\nready = \"line\"\n\
             env = {{ MY_SETTING = \"env:STORY_ENVIRONMENT\", MY_ADDRESS = \"db://u:${{env:STORY_ADDRESS}}@h\", MY_SECRET = \"literal-environment-e841\" }}",
            echo.display()
        )
    };
    let workload = WORKLOAD.replace("EQUAL", equal).replace("CHECK", check);
    let more = if other.is_empty() { String::new() } else { format!(", \"{other}\"") };
    world.experiment_with(&workload, &[&variant("a", ""), &variant("b", &more)]);
    world
}

fn told_secrets(start: crate::support::Start<'_>) -> crate::support::Start<'_> {
    VARIABLES.iter().fold(start, |start, (name, value)| start.env(name, value))
}

fn end(start: crate::support::Start<'_>) -> crate::support::Ended {
    told_secrets(start).end()
}

#[test]
fn tokens_are_nowhere_in_what_a_killed_run_leaves() {
    let world = world("status", "{ status = 200 }", "");
    let mut weigh = told_secrets(world.run(&[])).start();
    // Both servers have printed their arguments and what they were asked.
    weigh.until_event("warm", 1);
    let ended = weigh.end_by("KILL");
    assert_eq!(ended.code, None, "{ended}");
    crate::support::eventually("the guardian ends the servers", || world.processes("echo.py").is_empty());
    let run = world.run_folder();
    assert!(run.join("logs/hook-prepare.log").is_file(), "what had ended is kept");
    assert!(assert_clean_folder(&run) > 3);
    world.weigh(&["doctor", "--clean"]).end().assert_code(0);
    world.assert_nothing_left();
}

#[test]
fn tokens_are_nowhere_in_a_run_a_report_or_an_export() {
    let world = world("status", "{ status = 200 }", "");
    let ended = end(world.run(&[]));
    ended.assert_measured();
    assert_clean("the terminal", format!("{}{}", ended.stdout, ended.stderr).as_bytes());
    let run = world.run_folder();
    assert!(assert_clean_folder(&run) > 20);

    let stored = fs::read_to_string(run.join("experiment.toml")).expect("the experiment");
    for kept in [
        "${env:STORY_QUERY:url}",
        "env:STORY_AUTHORIZATION",
        "${env:STORY_BODY:json}",
        "${env:STORY_ADDRESS}",
    ] {
        assert!(stored.contains(kept), "{kept}: {stored}");
    }
    assert!(stored.matches("<redacted sha256:").count() >= 6, "{stored}");
    assert!(stored.contains("sha256 = \""), "the rows are known by their hash: {stored}");
    let log = fs::read_to_string(run.join("logs/000-0-out.log")).expect("a log");
    assert!(log.contains("asked") && log.matches("<redacted sha256:").count() > 5, "{log}");
    // Rows are the user's own file, and it is not kept; what a server prints of them stays.
    assert!(log.contains("row-password-b3e9"), "{log}");

    let folder = run.display().to_string();
    for asked in [
        &["report", &folder, "-o", "-"][..],
        &["export", &folder, "--format", "json"],
        &["export", &folder, "--format", "csv"],
        &["export", &folder, "--format", "markdown"],
    ] {
        let shown = end(world.weigh(asked));
        assert_clean(asked[0], format!("{}{}", shown.stdout, shown.stderr).as_bytes());
        assert!(shown.stdout.len() > 100, "{asked:?}: {shown}");
    }
}

#[test]
fn tokens_are_in_no_message() {
    for (equal, check, other, says) in [
        ("json", "{ status = 200 }", "other", "differ"),
        ("status", "{ json = { \"/who\" = \"nobody\" } }", "", "wrongly"),
        ("status", "{ status = 404 }", "", "wrongly"),
        ("status", "{ status = 200 }", "die", "ended with"),
    ] {
        let world = world(equal, check, other);
        for verb in ["verify", "run"] {
            let ended = end(world.weigh(&[verb, "experiment.toml"]));
            ended.assert_code(2);
            assert!(ended.stderr.contains(says), "{ended}");
            assert!(
                !ended.stderr.contains('\u{1b}'),
                "what a terminal would obey is shown as its code: {ended}"
            );
            assert_clean(says, format!("{}{}", ended.stdout, ended.stderr).as_bytes());
        }
        assert_clean_folder(&world.path("runs"));
    }
}
