//! `weigh load` against every HTTP/1.1 misbehaviour of `weigh hostile`, one test each, by its name: every request is
//! accounted for under the kind of error that the case declares, memory stays bounded, the load ends, and nothing is
//! left. Then the probe itself, and servers that die.

use std::fs;
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use weighbridge_probe::hostile;

use crate::support::World;
use crate::support::enemy::{Enemy, ON_TIME, errors};

met! {
    [Http1]
    close_at_accept
    close_before_reply
    close_mid_head
    close_mid_body
    close_mid_chunk
    close_before_last_chunk
    reset_before_reply
    reset_mid_body
    endless_head
    huge_field
    endless_reason
    endless_interim
    endless_body
    endless_chunks
    endless_chunk_extension
    endless_trailers
    endless_after_length
    stall_at_accept
    never_reads
    stall_before_reply
    stall_mid_head
    stall_after_head
    stall_mid_body
    drip_head
    drip_body
    length_too_small
    length_too_large
    length_doubled
    length_listed
    length_negative
    length_signed
    length_overflow
    length_empty
    chunk_size_letters
    chunk_size_overflow
    chunk_size_missing
    chunk_without_end
    chunk_too_long
    garbage
    other_protocol
    tls_answer
    http_0_9
    version_unknown
    status_letters
    status_zero
    switching
    folded_line
    line_without_colon
    nul_in_value
    nul_in_name
    blank_before_colon
    reply_before_request
    two_replies
    refused_upload
    failing_status
    many_fields
    long_field
    trailers
    many_trailers
    chunk_extensions
    chunk_zeros
    tiny_chunks
    continue_first
    early_hints
    http_1_0_close
    http_1_0_keep_alive
    close_each
    body_until_close
    gzip_body
    odd_case
    empty_reason
    no_reason
    line_feeds
    no_content
    empty_body
    byte_writes
}

// --- The probe itself ---------------------------------------------------------------------------------------------

#[test]
fn the_page_of_misbehaviours_holds_what_is_declared() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/HOSTILE.md");
    let page = fs::read_to_string(path).expect("docs/HOSTILE.md");
    let table = hostile::table();
    assert!(
        page.contains(&table),
        "replace the table by what `weigh hostile --list --format markdown` prints"
    );
}

#[test]
fn the_list_has_every_case_in_each_format() {
    let world = World::idle();
    let list = |format| world.weigh(&["hostile", "--list", "--format", format]).end();
    let (text, json) = (list("text"), list("json").json());
    assert_eq!(text.assert_code(0).stdout.lines().count(), hostile::cases().count());
    assert_eq!(json.as_array().map(Vec::len), Some(hostile::cases().count()));
    assert_eq!((&json[0]["name"], &json[0]["expected"]), (&"close-at-accept".into(), &"reset".into()));
    assert_eq!(list("markdown").stdout, hostile::table());
    list("csv").assert_error(&["`csv`", "text, json or markdown"]);
}

#[test]
fn without_a_name_every_misbehaviour_has_a_port() {
    let world = World::idle();
    let process = world.weigh(&["hostile"]).start();
    let begun = Instant::now();
    let count = hostile::cases().count();
    while process.stdout().lines().count() < count {
        assert!(begun.elapsed() < ON_TIME, "it is not ready: {}", process.stderr());
        std::thread::sleep(Duration::from_millis(2));
    }
    let said = process.stdout();
    for (line, case) in said.lines().zip(hostile::cases()) {
        let words: Vec<&str> = line.split(' ').collect();
        assert_eq!((words[0], words[2]), ("ready", case.name), "{line}");
        TcpStream::connect(("127.0.0.1", words[1].parse().expect("a port"))).expect("it listens");
    }
    process.end_by("TERM").assert_code(0);
}

#[test]
fn a_name_that_is_wrong_is_answered_with_the_nearest() {
    let world = World::idle();
    let ended = world.weigh(&["hostile", "close-mid-boddy"]).end();
    ended.assert_error(&["`close-mid-boddy`", "did you mean `close-mid-body`", "--list"]);
}

#[test]
fn a_port_in_use_has_its_own_exit_code() {
    let world = World::idle();
    let enemy = Enemy::start(&world, "garbage", &[]);
    let ended = world.weigh(&["hostile", "garbage", "--port", &enemy.port.to_string()]).end();
    ended.assert_code(3);
    assert!(ended.says("in use"), "{ended}");
    enemy.stop();
}

/// Neither a client that never reads nor one that is never answered keeps the probe's processor busy.
#[test]
fn while_nobody_reads_the_probe_sleeps() {
    let world = World::idle();
    for name in ["endless-body", "endless-interim", "stall-at-accept", "never-reads", "h2-ping-flood"] {
        let enemy = Enemy::start(&world, name, &[]);
        let mut stream = TcpStream::connect(("127.0.0.1", enemy.port)).expect("it accepts");
        let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\x01\x01\x05\0\0\0\x01\x82";
        let request: &[u8] = if name.starts_with("h2") { preface } else { b"GET / HTTP/1.1\r\n\r\n" };
        std::io::Write::write_all(&mut stream, request).expect("it takes a request");
        // Until the buffers between are full its work is bounded by their size; after that there is none.
        let mut before = processor_time(enemy.process.pid());
        let begun = Instant::now();
        loop {
            std::thread::sleep(Duration::from_millis(300));
            let after = processor_time(enemy.process.pid());
            if after == before {
                break;
            }
            assert!(begun.elapsed() < ON_TIME, "{name}: {before} and then {after} ticks");
            before = after;
        }
        drop(stream);
        enemy.stop();
    }
}

/// User and system time of a process, in ticks of 10 ms.
fn processor_time(pid: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("it runs");
    let fields: Vec<&str> = stat.rsplit(") ").next().expect("fields").split(' ').collect();
    fields[11].parse::<u64>().expect("ticks") + fields[12].parse::<u64>().expect("ticks")
}

/// A server that dies takes every connection with it: what was outstanding is a reset, what comes after finds nobody.
#[test]
fn a_server_that_is_killed_in_the_middle_costs_its_requests_and_no_more() {
    let world = World::idle();
    let enemy = Enemy::start(&world, "trailers", &[]);
    let url = format!("http://127.0.0.1:{}/", enemy.port);
    let load = world.weigh(&["load", &url, "-c", "4", "-d", "3s", "--format", "json"]).start();
    std::thread::sleep(Duration::from_millis(1000));
    enemy.process.signal("KILL");
    let ended = load.end();
    assert!(ended.took < ON_TIME, "{ended}");
    let figures = ended.json();
    let found = errors(&figures);
    let known = |kind: &str| kind == "reset" || kind == "connect";
    assert!(!found.is_empty() && found.iter().all(|(kind, _)| known(kind)), "{ended}");
    // The four that were outstanding, and one for each connection that a dying listener still accepted.
    let resets = figures["connects"].as_u64().unwrap_or_default();
    assert!(found.iter().filter(|(kind, _)| kind == "reset").all(|(_, count)| *count <= resets), "{ended}");
    assert!(figures["errors"].as_u64() < figures["requests"].as_u64(), "{ended}");
    enemy.process.end();
    world.assert_nothing_left();
}

#[test]
fn a_name_that_nobody_knows_is_named() {
    let world = World::idle();
    let ended = world.weigh(&["load", "http://nobody.invalid/", "-n", "1"]).end();
    ended.assert_error(&["nobody.invalid"]);
    assert!(ended.stdout.is_empty(), "{ended}");
}
