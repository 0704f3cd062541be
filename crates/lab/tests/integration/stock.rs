//! The stock servers of the catalogue: started with settings, asked for their counters, emptied, frozen and stopped.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;

use weighbridge_lab::process::GRACE;
use weighbridge_lab::process::launch::Lab;
use weighbridge_lab::service::Service;
use weighbridge_model::experiment::{CacheSettings, EvictionPolicy};
use weighbridge_model::quantity::Bytes;

use crate::skips;

/// Sends a line; returns the first one of the reply.
fn say(address: SocketAddr, line: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.write_all(line.as_bytes()).expect("it reads");
    let mut reply = String::new();
    BufReader::new(stream).read_line(&mut reply).expect("it answers");
    reply.trim_end().to_owned()
}

/// A server, a line that stores, the counters of hits and of the limit, and the limit as it counts it.
fn lives(name: &str, store: &str, get: &str, hits: &str, workload: [&str; 2]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../services").join(name);
    let service = Service::read(&folder).expect("it is ours");
    if let Err(error) = service.probe() {
        return skips::skipped(&error.to_string());
    }
    let version = service.version().expect("it tells its version");
    assert!(version.starts_with(&format!("{name} ")) && version.split(' ').count() == 2, "{version}");
    let logs = tempfile::tempdir().expect("a folder");
    let lab = Lab::new(&logs.path().display().to_string(), None, None);
    let log = logs.path().join("log");
    let mut launch = service.launch(workload[0], workload[1], &log, &log);
    let cache = CacheSettings {
        limit: Some(Bytes::new(80 << 20)),
        policy: Some(EvictionPolicy::None),
        threads: Some(2),
        load_factor: None,
    };
    service.takes_cache(&cache, None).expect("it can");
    service.set_cache(&cache, &mut launch);
    let mut running = lab.launch(&launch).expect("it starts");
    let address = SocketAddr::from(([127, 0, 0, 1], running.port()));
    let stock = service.stock().expect("a stock server");
    let counted = |name: &str| stock.counters(address).expect("counters")[name];
    say(address, store);
    let before = counted(hits);
    assert!(say(address, get).starts_with(['$', 'V']), "the value is there");
    assert_eq!(counted(hits), before + 1);
    stock.empty(address).expect("it is emptied");
    assert!(!say(address, get).contains(['V', '3']), "nothing is there");
    assert_eq!(counted(hits), before + 1);
    running.freeze().expect("it is frozen");
    running.thaw().expect("it goes on");
    assert_eq!(counted(hits), before + 1);
    running.stop(GRACE);
}

#[test]
fn memcached_is_a_stock_server() {
    lives("memcached", "set k 0 0 3\r\nabc\r\n", "get k\r\n", "get_hits", ["cache", "memcached"]);
}

#[test]
fn redis_is_a_stock_server() {
    lives("redis", "SET k abc\r\n", "GET k\r\n", "keyspace_hits", ["cache", "resp"]);
}

#[test]
fn valkey_is_a_stock_server() {
    lives("valkey", "SET k abc\r\n", "GET k\r\n", "keyspace_hits", ["cache", "resp"]);
}
