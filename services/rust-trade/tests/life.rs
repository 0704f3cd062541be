//! What ends the process before it is ready, and how it says so.

mod support;

use std::fs;
use std::net::TcpListener;
use std::process::Output;

use support::{Database, Service, data, program};

fn ended(variables: &[(&str, &str)]) -> (Option<i32>, String) {
    let Output { status, stdout, stderr } =
        program().envs(variables.iter().copied()).output().expect("it runs");
    assert!(stdout.is_empty(), "{variables:?}");
    let line = String::from_utf8(stderr).expect("text");
    assert_eq!(line.lines().count(), 1, "{variables:?}: {line}");
    (status.code(), line)
}

fn refused(variables: &[(&str, &str)], words: &[&str]) {
    let (code, line) = ended(variables);
    assert_eq!(code, Some(2), "{line}");
    assert!(words.iter().all(|word| line.contains(word)), "{words:?}: {line}");
}

#[test]
fn wrong_variables_are_refused_in_their_order() {
    let data = data();
    let data = data.path().to_str().expect("text");
    refused(&[("PORT", "abc"), ("WORKLOAD", "x")], &["`PORT`", "abc"]);
    refused(&[("WORKLOAD", "pingpong")], &["`WORKLOAD`", "pingpong", "`trade`"]);
    refused(&[("PROTOCOL", "soap12")], &["`PROTOCOL`", "soap12", "`http1-json`", "`grpc`"]);
    refused(&[("NAGLE", "on")], &["`NAGLE`", "on"]);
    refused(&[("DIRECT", "2"), ("DATA", data)], &["`DIRECT`", "2"]);
    refused(&[("HOST", "192.0.2.1")], &["`HOST`", "192.0.2.1"]);
    refused(&[], &["`DATA`", "required"]);
    refused(&[("DATA", "/nowhere")], &["`DATA`", "/nowhere", "stocks.txt"]);
    refused(&[("DATA", data), ("DATABASE", "oracle")], &["`DATABASE`", "oracle", "`memory`"]);
    refused(&[("DATA", data), ("DATABASE", "file")], &["`STATE`", "required"]);
    refused(&[("DATA", data), ("DATABASE", "file"), ("STATE", "/nowhere")], &["`STATE`", "/nowhere"]);
    refused(&[("DATA", data), ("DATABASE", "postgres:host")], &["`DATABASE`", "postgres:host"]);
    let nobody = "postgres:host=/nowhere user=trade dbname=trade";
    refused(&[("DATA", data), ("DATABASE", nobody)], &["`DATABASE`", "/nowhere"]);
    refused(&[("DATA", data), ("DATABASE", nobody), ("DIRECT", "1")], &["`DATABASE`", "/nowhere"]);
}

#[test]
fn a_port_in_use_is_told_apart() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port().to_string();
    let (code, line) = ended(&[("PORT", &port)]);
    assert_eq!(code, Some(3));
    assert!(line.contains("PORT") && line.contains(&port), "{line}");
}

#[test]
fn damaged_lines_name_file_and_line() {
    for (file, line, words) in [
        ("stocks.txt", "E\tx\tcheap\t1B", ["line 6", "cheap"]),
        ("stocks.txt", "A\tx\t1.00\t1B", ["line 6", "symbol"]),
        ("users.txt", "000001\t1\tc\te\tp\tf\ta\t", ["line 32", "before"]),
        ("users.txt", "000031\t1\tc\te\tp\tf\ta\tNONE 1", ["line 32", "NONE"]),
        ("users.txt", "", ["line 32", "columns"]),
        ("workload.txt", "000001\tpw\tb A", ["line 21", "quantity"]),
        ("workload.txt", "000001\tpw\tz", ["line 21", "no step"]),
    ] {
        let folder = data();
        let path = folder.path().join(file);
        let text = fs::read_to_string(&path).expect("a file");
        fs::write(&path, format!("{text}{line}\n")).expect("written");
        let data = folder.path().to_str().expect("text");
        refused(&[("DATA", data)], &["`DATA`", file, words[0], words[1]]);
    }
    let folder = data();
    fs::write(folder.path().join("stocks.txt"), b"A\t\xff\t1.00\t1B\n").expect("written");
    refused(&[("DATA", folder.path().to_str().expect("text"))], &["`DATA`", "line 1", "UTF-8"]);
}

#[test]
fn sigterm_ends_it_well_and_the_version_is_told() {
    let data = data();
    let service =
        Service::start(&Database::Memory, data.path(), &[("NAGLE", "default"), ("HOST", "127.0.0.1")]);
    assert_eq!(service.stop(), Some(0));
    let output = program().arg("--version").output().expect("it runs");
    let line = String::from_utf8(output.stdout).expect("text");
    assert!(line.starts_with("Rust ") && line.contains(" axum ") && line.contains(" rusqlite "), "{line}");
    assert_eq!(line.split_whitespace().count() % 2, 0);
    assert_eq!(program().args(["--version", "x"]).output().expect("it runs").status.code(), Some(2));
}
