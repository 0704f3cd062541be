//! Hostile servers, and `weigh load` against one: the requirements for every case.

use std::time::{Duration, Instant};

use serde_json::Value;
use weighbridge_model::record::ErrorKind;
use weighbridge_probe::hostile::{self, Case, Expected, Needs, Protocol};

use super::{Ended, Weigh, World};

/// More time than any of these loads needs on a slow machine. A load that hangs is killed and fails.
pub const ON_TIME: Duration = Duration::from_secs(60);

/// The most memory that the client may use. A flood exceeds it in less time than a request may take.
const MEMORY_LIMIT_KIB: u64 = 100 * 1024;

/// Requests of each load.
const REQUESTS: u64 = 8;

/// Where the probe writes the certificate of its authority.
const AUTHORITY: &str = "authority.pem";

/// A running hostile server.
pub struct Enemy<'a> {
    pub process: Weigh<'a>,
    pub port: u16,
}

impl<'a> Enemy<'a> {
    pub fn start(world: &'a World, name: &str, more: &[&str]) -> Self {
        let arguments = [&["hostile", name, "--port", "0"], more].concat();
        let process = world.weigh(&arguments).start();
        let begun = Instant::now();
        while !process.stdout().ends_with('\n') {
            assert!(begun.elapsed() < ON_TIME, "it is not ready: {}", process.stderr());
            std::thread::sleep(Duration::from_millis(2));
        }
        let said = process.stdout();
        let port = said.trim_end().strip_prefix("ready ").expect("`ready <port>`").parse().expect("a port");
        Self { process, port }
    }

    /// SIGTERM stops it cleanly, in whatever state its connections are.
    pub fn stop(self) {
        self.process.end_by("TERM").assert_code(0);
    }
}

/// Whether a time-out is allowed for a good client.
fn may_time_out(expected: Expected) -> bool {
    match expected {
        Expected::Every(kind) | Expected::Some(kind) => kind == ErrorKind::Timeout,
        Expected::OneOf(kinds) => kinds.contains(&ErrorKind::Timeout),
        Expected::Ok => false,
    }
}

/// The interface of the gRPC cases.
const PROTO: &str = "syntax = \"proto3\";\npackage hostile;\nmessage Text { string text = 1; }\n\
                     service Echo { rpc Call(Text) returns (Text); }\n";

/// The load that shows the case.
fn load(world: &World, case: &Case, port: u16) -> Ended {
    // Short only where it must expire; elsewhere a busy host must not look like a late reply.
    let timeout = if may_time_out(case.expected) { "300ms" } else { "30s" };
    let path = if case.protocol == Protocol::Grpc { "/hostile.Echo/Call" } else { "/" };
    let url = format!("{}://127.0.0.1:{port}{path}", case.protocol.scheme());
    let requests = REQUESTS.to_string();
    let mut arguments = vec!["load", &url, "-n", &requests, "--timeout", timeout];
    arguments.extend(["--format", "json", "-c", "2"]);
    match case.protocol {
        Protocol::Http1 => {}
        Protocol::Http2 => arguments.push("--http2"),
        Protocol::Grpc => {
            world.write("hostile.proto", PROTO);
            arguments.extend(["--proto", "hostile.proto", "--data", "{\"text\": \"ping\"}"]);
        }
        Protocol::Tls if case.needs == Some(Needs::Trust) => arguments.extend(["--cacert", AUTHORITY]),
        Protocol::Tls => arguments.push("-k"),
        Protocol::Memcached => arguments.extend(["-X", "get k"]),
        Protocol::Resp => arguments.extend(["-X", "GET k"]),
    }
    match case.needs {
        Some(Needs::LargeBody) => {
            world.write("body", &"x".repeat(8 << 20));
            arguments.extend(["--body-file", "body"]);
        }
        Some(Needs::Pauses) => arguments.extend(["-r", "8", "--arrivals", "constant"]),
        Some(Needs::Trust | Needs::NoVerification) | None => {}
    }
    world.weigh(&arguments).end()
}

/// Errors by kind, without kinds that did not occur.
pub fn errors(figures: &Value) -> Vec<(String, u64)> {
    let counts = figures["errors_by_kind"].as_object().expect("counts");
    let counts = counts.iter().filter_map(|(kind, count)| Some((kind.clone(), count.as_u64()?)));
    counts.filter(|(_, count)| *count > 0).collect()
}

/// Fails unless the load ended as the case declares, with every request accounted for.
#[track_caller]
fn assert_expected(case: &Case, ended: &Ended) {
    let figures = ended.json();
    let (found, failed) = (errors(&figures), figures["errors"].as_u64().expect("a count"));
    if ended.says("gave no reply for") {
        // The host held everything up for longer than a load waits for any reply at all.
        assert!((1..=REQUESTS).contains(&failed), "{ended}");
        ended.assert_code(2);
        return;
    }
    assert_eq!(figures["requests"], REQUESTS, "{ended}");
    assert_eq!(found.iter().map(|(_, count)| count).sum::<u64>(), failed, "{ended}");
    let only =
        |kinds: &[ErrorKind]| found.iter().all(|(found, _)| kinds.iter().any(|kind| kind.name() == found));
    match case.expected {
        Expected::Ok => assert_eq!((failed, &found[..]), (0, &[][..]), "{ended}"),
        Expected::Every(kind) => assert!(failed == REQUESTS && only(&[kind]), "{found:?}: {ended}"),
        Expected::Some(kind) => {
            assert!((1..=REQUESTS).contains(&failed) && only(&[kind]), "{found:?}: {ended}");
        }
        Expected::OneOf(kinds) => assert!(failed == REQUESTS && only(kinds), "{found:?}: {ended}"),
    }
    if failed == REQUESTS {
        ended.assert_code(3);
        assert_eq!(figures["validity"], "invalid", "{ended}");
    } else {
        ended.assert_measured();
    }
}

/// Whether the client gets no session and reports that before any request, as with a refused connection.
fn refuses_session(case: &Case) -> bool {
    case.protocol == Protocol::Tls
        && case.expected != Expected::Ok
        && case.needs != Some(Needs::NoVerification)
}

/// Runs one case.
pub fn met(name: &str) {
    let case = hostile::find(name).expect("it is declared");
    let world = World::idle();
    let enemy = Enemy::start(&world, case.name, &["--authority", AUTHORITY]);
    let ended = load(&world, case, enemy.port);
    assert!(ended.took < ON_TIME, "{ended}");
    assert!(ended.memory_peak_kib < MEMORY_LIMIT_KIB, "{} KiB: {ended}", ended.memory_peak_kib);
    if refuses_session(case) {
        ended.assert_error(&["no TLS session with", &format!("127.0.0.1:{}", enemy.port)]);
        assert!(ended.stdout.is_empty(), "{ended}");
    } else {
        assert_expected(case, &ended);
    }
    enemy.stop();
    world.assert_nothing_left();
}

/// Fails unless `met` names every case of these protocols, in order.
#[track_caller]
pub fn assert_all_met(met: &[&str], protocols: &[Protocol]) {
    let met: Vec<String> = met.iter().map(|name| name.replace('_', "-")).collect();
    let declared = hostile::cases().filter(|case| protocols.contains(&case.protocol));
    let declared: Vec<&str> = declared.map(|case| case.name).collect();
    assert_eq!(met, declared);
}

/// Defines one test per case, by its name, and one that checks that no case of the protocols is missing.
macro_rules! met {
    ([$($protocol:ident),*] $($name:ident)*) => {
        $(#[test]
        fn $name() {
            $crate::support::enemy::met(&stringify!($name).replace('_', "-"));
        })*

        #[test]
        fn every_misbehaviour_has_a_test() {
            use weighbridge_probe::hostile::Protocol;
            let protocols = [$(Protocol::$protocol),*];
            $crate::support::enemy::assert_all_met(&[$(stringify!($name)),*], &protocols);
        }
    };
}
