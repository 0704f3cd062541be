//! Stories of memcached, Redis and Unix sockets: the command line and experiments, with the servers themselves.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::servers::{memcached, redis};

fn weigh(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(crate::support::WEIGH).args(arguments).current_dir(folder).output().expect("weigh runs")
}

/// What `weigh load … --format json` printed, with the exit code.
fn load(arguments: &[&str]) -> (Value, Option<i32>) {
    let folder = tempfile::tempdir().expect("a folder");
    let output = weigh(folder.path(), &[&["load", "--format", "json"], arguments].concat());
    let value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    (value, output.status.code())
}

fn refusal(arguments: &[&str]) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let output = weigh(folder.path(), &[&["load"], arguments].concat());
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    String::from_utf8(output.stderr).expect("text")
}

#[test]
fn commands_are_counted_on_every_kind_of_address() {
    let (redis, cached) = (redis(&[]), memcached());
    let by_tcp = format!("redis://{}/1", redis.address);
    let socket = redis.socket.to_str().expect("a plain path");
    let to_cache = format!("memcached://{}", cached.address);
    for arguments in [
        &[by_tcp.as_str(), "-X", "SET k \"a b\"", "--command", "GET k", "-X", "GET k"][..],
        &[&by_tcp, "-X", "GET k", "--resp", "3", "--rate", "20k"],
        &["redis://localhost", "--unix", socket, "-X", "SET k v"],
        &[&to_cache, "-X", "set k 0 0 v", "-X", "get k", "-X", "mg k v"],
    ] {
        let (value, _) = load(&[arguments, &["-n", "2000", "--pipeline", "16", "-c", "2"]].concat());
        assert_eq!((&value["requests"], &value["errors"]), (&2000.into(), &0.into()), "{arguments:?}");
        let sent = value["bytes_sent"].as_u64().expect("a count");
        assert!(sent > 2000 * 7, "{arguments:?}: {sent}");
    }
    let (value, code) = load(&[&by_tcp, "-X", "LPUSH k v", "-n", "50"]);
    assert_eq!((&value["errors_by_kind"]["status"], code), (&50.into(), Some(3)), "k is no list");
}

#[test]
fn what_cannot_be_sent_is_refused_with_the_way_out() {
    for (arguments, part) in [
        (&["redis://127.0.0.1:1"][..], "such as `--command 'GET key:1'`"),
        (&["http://127.0.0.1:1", "-X", "GET k"], "`--command` belongs to"),
        (&["redis://127.0.0.1:1", "-X", "GET k", "--body", "x"], "`--body` belongs to HTTP"),
        (&["redis://127.0.0.1:1", "-X", "SUBSCRIBE c"], "answered once each"),
        (&["memcached://127.0.0.1:1", "-X", "set k 0 0 v noreply"], "asks for no reply"),
        (&["redis://127.0.0.1:1", "-X", "GET \"k"], "ends inside quotes"),
        (&["redis://127.0.0.1:1", "http://127.0.0.1:1", "-X", "GET k"], "different work"),
        (&["redis://127.0.0.1:1/x", "-X", "GET k"], "is no database"),
        (&["http://localhost", "--unix", "/nowhere.sock"], "`unix:/nowhere.sock`"),
        (&["redis://127.0.0.1:1", "-X", "GET k", "--password", "env:WEIGH_NO_SUCH"], "env:WEIGH_NO_SUCH"),
    ] {
        let message = refusal(arguments);
        assert!(message.contains(part), "{arguments:?}: {message}");
    }
}

#[test]
fn http_is_spoken_over_a_unix_socket() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("http.sock");
    let listener = std::os::unix::net::UnixListener::bind(&path).expect("binds");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut head = Vec::new();
                let mut byte = [0];
                while std::io::Read::read(&mut stream, &mut byte).is_ok_and(|count| count == 1) {
                    head.push(byte[0]);
                    if head.ends_with(b"\r\n\r\n") {
                        assert!(head.starts_with(b"GET /a HTTP/1.1\r\nHost: localhost\r\n"));
                        head.clear();
                        let reply = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
                        std::io::Write::write_all(&mut stream, reply).expect("answered");
                    }
                }
            });
        }
    });
    let path = path.to_str().expect("a plain path");
    let (value, _) = load(&["http://localhost/a", "--unix", path, "-n", "500"]);
    assert_eq!((&value["requests"], &value["errors"]), (&500.into(), &0.into()));
    let head = "GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n".len();
    assert_eq!(value["bytes_sent"], 500 * head);
    assert_eq!(value["bytes_received"], 500 * "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".len());
}

#[test]
fn an_experiment_verifies_that_caches_answer_alike() {
    let (redis, cached) = (redis(&[]), memcached());
    load(&[&format!("redis://{}", redis.address), "-X", "SET k same", "-n", "1"]);
    load(&[&format!("memcached://{}", cached.address), "-X", "set k 0 0 same", "-n", "1"]);
    let folder = tempfile::tempdir().expect("a folder");
    let experiment = |text: &str| {
        let variants = format!(
            "[[variant]]\nname = 'redis'\nurl = 'redis://localhost'\nunix = '{}'\n\
             [[variant]]\nname = 'memcached'\nurl = 'memcached://{}'\n",
            redis.socket.display(),
            cached.address
        );
        let file = folder.path().join("experiment.toml");
        let workload = "[workload]\nname = 'commands'\nequal = 'bytes'\n[[workload.command]]";
        fs::write(&file, format!("{workload}\n{text}\n{variants}")).expect("written");
        weigh(folder.path(), &["verify", "experiment.toml"])
    };
    let alike = experiment("command = 'get k'\ncheck = { value = 'same' }");
    assert_eq!(alike.status.code(), Some(0), "{}", String::from_utf8_lossy(&alike.stderr));
    let wrong = experiment("command = 'get k'\ncheck = { value = 'other' }");
    assert_ne!(wrong.status.code(), Some(0));
    load(&[&format!("redis://{}", redis.address), "-X", "SET k else", "-n", "1"]);
    let differ = experiment("command = 'get k'");
    assert_ne!(differ.status.code(), Some(0), "{}", String::from_utf8_lossy(&differ.stdout));
}
