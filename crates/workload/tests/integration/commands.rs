//! The workload `commands` against real redis-server and memcached, through the generator and by single exchanges:
//! counts, outcomes and values are the documented ones.

use weighbridge_load::dial::{Endpoint, SocketDial};
use weighbridge_load::exchange::{Collected, ExchangeError, Limits, exchange};
use weighbridge_load::generator::{Generator, LoopOptions, WindowReport, WindowSpec};
use weighbridge_load::window::{Load, Stop};
use weighbridge_load::{Recording, Settings};
use weighbridge_model::experiment::{
    CommandCheck, CommandSpec, CommandsSpec, Equality, LoadSpec, Presence, Protocol, RespSetup, RespVersion,
    ValueSpec, WorkloadSpec,
};
use weighbridge_model::id::VariantId;
use weighbridge_model::quantity::{Bytes, Nanoseconds};
use weighbridge_model::record::{ErrorKind, Tallies, WindowEnd};
use weighbridge_workload::{Address, Received, UrlScheme, Workload};

use crate::servers::{Server, memcached, memcached_on_unix, redis};

const VARIANT: VariantId = VariantId(0);
const MEBIBYTE: u64 = 1 << 20;
const LIMITS: Limits =
    Limits { timeout: Nanoseconds::from_secs(30), body: Bytes::new(8 * MEBIBYTE), stop: None };

fn command(text: &str) -> CommandSpec {
    CommandSpec::parse(text).expect("a command")
}

fn hit(text: &str, value: &str) -> CommandSpec {
    let check = CommandCheck { value: Some(value.into()), ..CommandCheck::default() };
    CommandSpec { check, ..command(text) }
}

fn present(text: &str, presence: Presence) -> CommandSpec {
    CommandSpec { check: CommandCheck { presence, ..CommandCheck::default() }, ..command(text) }
}

fn workload_in(protocol: Protocol, commands: Vec<CommandSpec>, setup: RespSetup, base: &str) -> Workload {
    let load = LoadSpec { timeout: Nanoseconds::from_secs(30), ..LoadSpec::default() };
    let spec = WorkloadSpec::Commands(CommandsSpec { commands, equal: Equality::Bytes, setup });
    let address =
        Address { authority: "localhost".to_owned(), base: base.to_owned(), scheme: UrlScheme::default() };
    Workload::new(&spec, &load, protocol, &address, &|_| None).expect("binds")
}

fn resp(commands: Vec<CommandSpec>) -> Workload {
    workload_in(Protocol::RESP, commands, RespSetup::default(), "/")
}

fn resp3(commands: Vec<CommandSpec>) -> Workload {
    let setup = RespSetup { version: RespVersion::Three, ..RespSetup::default() };
    workload_in(Protocol::RESP, commands, setup, "/")
}

fn cache(commands: Vec<CommandSpec>) -> Workload {
    workload_in(Protocol::MEMCACHED, commands, RespSetup::default(), "/")
}

/// Asks every kind of request once, in order.
fn ask(endpoint: &Endpoint, workload: &Workload) -> Vec<Collected> {
    let one = |kind| try_asking(endpoint, workload, kind).expect("a reply");
    (0..workload.len()).map(one).collect()
}

fn try_asking(endpoint: &Endpoint, workload: &Workload, kind: usize) -> Result<Collected, ExchangeError> {
    exchange(std::slice::from_ref(endpoint), workload.framing(), workload.rendered(kind), LIMITS)
}

fn statuses_and_values(replies: &[Collected]) -> Vec<(u16, String)> {
    replies.iter().map(|reply| (reply.status, String::from_utf8_lossy(&reply.body).into_owned())).collect()
}

/// One window of `count` requests on a new generator.
fn window(
    endpoint: &Endpoint,
    workload: &Workload,
    count: u64,
    (connections, in_flight): (u32, u32),
) -> WindowReport {
    let dial = Box::new(SocketDial::to(VARIANT, [endpoint.clone()]));
    let mut generator = Generator::new(dial, LoopOptions::default()).expect("a generator");
    let settings = Settings { connections, in_flight, ..Settings::default() };
    generator.attach(VARIANT, settings, workload.framing(), workload.sessions());
    generator.connect(VARIANT).expect("connects");
    let load = Load::Closed(Stop::Count(count));
    let spec = WindowSpec { substream: 1, load, recording: Recording::Exact };
    generator.run(VARIANT, &spec, &mut Tallies::default(), None, None).expect("runs")
}

fn tcp(server: &Server) -> Endpoint {
    Endpoint::Tcp(server.address)
}

fn unix(server: &Server) -> Endpoint {
    Endpoint::Unix(server.socket.clone())
}

#[test]
fn redis_serves_every_depth_of_pipelining_in_both_versions_on_both_kinds_of_socket() {
    let server = redis(&[]);
    ask(&tcp(&server), &resp(vec![command("SET k hello")]));
    for bind in [resp, resp3] {
        for endpoint in [tcp(&server), unix(&server)] {
            for in_flight in [1, 16, 100] {
                let workload = bind(vec![
                    hit("GET k", "hello"),
                    present("GET nothing", Presence::Miss),
                    hit("SET other \"a\\r\\nb\"", "OK"),
                    hit("STRLEN k", "5"),
                ]);
                let report = window(&endpoint, &workload, 4_000, (3, in_flight));
                let figures = &report.figures;
                assert_eq!((figures.requests, figures.errors.total()), (4_000, 0), "{endpoint} {in_flight}");
                assert_eq!(figures.end, WindowEnd::Complete);
                let by_operation: u64 = figures.operations.iter().map(|operation| operation.ok).sum();
                assert_eq!((by_operation, figures.operations.len()), (4_000, 4));
            }
        }
    }
}

#[test]
fn memcached_serves_text_and_meta_commands_at_every_depth() {
    let (server, on_unix) = (memcached(), memcached_on_unix());
    for endpoint in [tcp(&server), unix(&on_unix)] {
        for in_flight in [1, 16, 100] {
            let workload = cache(vec![
                hit("set k 7 0 hello", "STORED"),
                present("get nothing", Presence::Miss),
                hit("ms m hello T0", "HD"),
                hit("mn", "MN"),
                present("mg nothing v", Presence::Miss),
            ]);
            ask(&endpoint, &workload);
            let figures = window(&endpoint, &workload, 3_000, (3, in_flight)).figures;
            assert_eq!((figures.requests, figures.errors.total()), (3_000, 0), "{endpoint} {in_flight}");
            let gets = cache(vec![
                hit("get k", "hello"),
                hit("mg m v", "hello"),
                hit("gets k nothing k", "hello\nhello"),
            ]);
            let figures = window(&endpoint, &gets, 3_000, (3, in_flight)).figures;
            assert_eq!((figures.requests, figures.errors.total()), (3_000, 0), "{endpoint} {in_flight}");
        }
    }
}

#[test]
fn redis_answers_with_every_type() {
    let server = redis(&[]);
    let commands = || {
        [
            "FLUSHALL",
            "RPUSH list a b c",
            "LRANGE list 0 -1",
            "HSET hash f 1",
            "HGETALL hash",
            "ZADD set 1.5 m",
            "ZSCORE set m",
            "SMEMBERS nothing",
            "MGET list nothing",
            "GET nothing",
            "GET list",
            "nonsense",
            "INFO clients",
            "EVAL \"return {1, {2, {3, {4, {5}}}}}\" 0",
            "EVAL \"return redis.error_reply('MY fault')\" 0",
        ]
        .map(command)
        .to_vec()
    };
    let two = statuses_and_values(&ask(&tcp(&server), &resp(commands())));
    let three = statuses_and_values(&ask(&tcp(&server), &resp3(commands())));
    for answers in [&two, &three] {
        let statuses: Vec<u16> = answers.iter().map(|(status, _)| *status).collect();
        assert_eq!(statuses, [200, 200, 200, 200, 200, 200, 200, 200, 200, 404, 500, 500, 200, 200, 500]);
        let value = |at: usize| answers[at].1.as_str();
        assert_eq!([value(1), value(2), value(4), value(6)], ["3", "a\nb\nc", "f\n1", "1.5"]);
        assert_eq!([value(7), value(8), value(9), value(13)], ["", "\n", "", "1\n2\n3\n4\n5"]);
        assert!(value(10).starts_with("WRONGTYPE "), "{}", value(10));
        assert!(value(12).contains("connected_clients:"), "{}", value(12));
        assert_eq!(value(14), "MY fault");
    }
}

#[test]
fn redis_answers_with_the_types_of_version_three() {
    let own = resp3(vec![
        command("DEBUG PROTOCOL double"),
        command("DEBUG PROTOCOL true"),
        command("DEBUG PROTOCOL bignum"),
        command("DEBUG PROTOCOL verbatim"),
        command("DEBUG PROTOCOL attrib"),
        command("DEBUG PROTOCOL map"),
        command("DEBUG PROTOCOL set"),
        command("DEBUG PROTOCOL null"),
        command("DEBUG PROTOCOL string"),
        command("DEBUG PROTOCOL integer"),
        command("DEBUG PROTOCOL array"),
        command("DEBUG PROTOCOL push"),
        command("ECHO after"),
    ]);
    let debug = redis(&["--enable-debug-command", "yes"]);
    let answers = statuses_and_values(&ask_all_but(&tcp(&debug), &own, 11));
    let values: Vec<_> = answers.iter().map(|(status, value)| (*status, value.as_str())).collect();
    assert_eq!(
        values,
        [
            (200, "3.141"),
            (200, "t"),
            (200, "1234567999999999999999999999999999999"),
            (200, "This is a verbatim\nstring"),
            (200, "Some real reply following the attribute"),
            (200, "0\nf\n1\nt\n2\nf"),
            (200, "0\n1\n2"),
            (404, ""),
            (200, "Hello World"),
            (200, "12345"),
            (200, "0\n1\n2"),
            (200, "after"),
        ]
    );
}

/// Asks every kind except one: `DEBUG PROTOCOL push` sends a push message and no reply.
fn ask_all_but(endpoint: &Endpoint, workload: &Workload, left_out: usize) -> Vec<Collected> {
    let kinds = (0..workload.len()).filter(|kind| *kind != left_out);
    kinds.map(|kind| try_asking(endpoint, workload, kind).expect("a reply")).collect()
}

#[test]
fn push_messages_of_a_tracking_connection_disturb_nothing() {
    let server = redis(&[]);
    // Every connection tracks every key, so that each SET sends a push message to all others.
    let tracking = resp3(vec![command("CLIENT TRACKING on BCAST"), hit("SET k v", "OK"), hit("GET k", "v")]);
    let figures = window(&tcp(&server), &tracking, 5_000, (4, 8)).figures;
    // A GET before the first SET misses.
    let missed = figures.errors.check;
    assert_eq!((figures.requests, figures.errors.total() - missed), (5_000, 0), "{:?}", figures.errors);
    assert!(missed <= 32, "at most what was in flight before the first SET: {missed}");
}

#[test]
fn error_replies_are_status_errors_and_wrong_values_check_errors() {
    let server = redis(&[]);
    ask(&tcp(&server), &resp(vec![command("LPUSH list a"), command("SET k v")]));
    for (spec, kind) in [
        (command("GET list"), ErrorKind::Status),
        (command("nonsense"), ErrorKind::Status),
        (present("GET list", Presence::Miss), ErrorKind::Status),
        (hit("GET k", "w"), ErrorKind::Check),
        (present("GET nothing", Presence::Hit), ErrorKind::Check),
        (present("GET k", Presence::Miss), ErrorKind::Check),
    ] {
        for bind in [resp, resp3] {
            let figures = window(&tcp(&server), &bind(vec![spec.clone()]), 100, (2, 4)).figures;
            assert_eq!((figures.requests, figures.errors.get(kind)), (100, 100), "{spec:?}");
        }
    }
    let server = memcached();
    ask(&tcp(&server), &cache(vec![command("set k 0 0 text")]));
    for (spec, kind) in [
        (command("incr k 1"), ErrorKind::Status),
        (hit("get k", "other"), ErrorKind::Check),
        (present("delete nothing", Presence::Hit), ErrorKind::Check),
    ] {
        let figures = window(&tcp(&server), &cache(vec![spec.clone()]), 100, (2, 4)).figures;
        assert_eq!((figures.requests, figures.errors.get(kind)), (100, 100), "{spec:?}");
    }
    let wrong = statuses_and_values(&ask(&tcp(&server), &cache(vec![command("incr k 1")])));
    assert_eq!((wrong[0].0, wrong[0].1.starts_with("CLIENT_ERROR ")), (500, true), "{wrong:?}");
}

#[test]
fn memcached_answers_with_its_own_statuses() {
    let server = memcached();
    let workload = cache(
        [
            "version",
            "flush_all",
            "set k 0 0 5",
            "add k 0 0 6",
            "replace nothing 0 0 6",
            "append k 0 0 0",
            "prepend k 0 0 1",
            "get k",
            "incr k 10",
            "decr k 1",
            "touch k 100",
            "gat 100 k",
            "cas k 0 0 1 1",
            "cas nothing 0 0 1 1",
            "delete k",
            "delete k",
            "ms k hello",
            "ms k hello ME",
            "mg k v s",
            "mg k",
            "ma k",
            "me k",
            "md k",
            "mg k v",
            "md k",
        ]
        .map(command)
        .to_vec(),
    );
    let answers = statuses_and_values(&ask(&tcp(&server), &workload));
    let shown: Vec<_> = answers.iter().map(|(status, text)| (*status, text.as_str())).collect();
    assert!(shown[0].1.starts_with("VERSION "), "{shown:?}");
    assert_eq!(
        &shown[1..20],
        [
            (200, "OK"),
            (200, "STORED"),
            (412, "NOT_STORED"),
            (412, "NOT_STORED"),
            (200, "STORED"),
            (200, "STORED"),
            (200, "150"),
            (200, "160"),
            (200, "159"),
            (200, "TOUCHED"),
            (200, "159"),
            (409, "EXISTS"),
            (404, "NOT_FOUND"),
            (200, "DELETED"),
            (404, "NOT_FOUND"),
            (200, "HD"),
            (412, "NS"),
            (200, "hello"),
            (200, "HD"),
        ]
    );
    assert_eq!(shown[20].0, 500, "no number: {shown:?}");
    assert!(shown[21].0 == 200 && shown[21].1.starts_with("ME k "), "{shown:?}");
    assert_eq!(&shown[22..], [(200, "HD"), (404, "EN"), (404, "NF")]);
}

#[test]
fn large_values_pass_whole_and_bytes_are_counted_on_both_kinds_of_socket() {
    let size = ValueSpec::Size(Bytes::new(MEBIBYTE));
    let length = |text: &str| {
        let check = CommandCheck { length: Some(Bytes::new(MEBIBYTE)), ..CommandCheck::default() };
        CommandSpec { check, ..command(text) }
    };
    let (redis, cached) = (redis(&[]), memcached());
    let (in_redis, in_cache) = (
        CommandSpec { value: Some(size.clone()), ..hit("SET large", "OK") },
        CommandSpec { value: Some(size), ..hit("set large 0 0", "STORED") },
    );
    for (endpoint, set, get) in [
        (tcp(&redis), resp(vec![in_redis.clone()]), resp(vec![length("GET large")])),
        (unix(&redis), resp3(vec![in_redis]), resp3(vec![length("GET large")])),
        (tcp(&cached), cache(vec![in_cache]), cache(vec![length("get large")])),
    ] {
        let sets = window(&endpoint, &set, 20, (2, 3)).figures;
        let gets = window(&endpoint, &get, 20, (2, 3)).figures;
        assert_eq!((sets.requests, sets.errors.total()), (20, 0), "{endpoint}");
        assert_eq!((gets.requests, gets.errors.total()), (20, 0), "{endpoint}");
        let sent = 20 * set.rendered(0).bytes().len() as u64;
        let asked = 20 * get.rendered(0).bytes().len() as u64;
        // RESP3's handshake is sent once on each of the two connections.
        let slack = 2 * 64;
        assert!((sent..=sent + slack).contains(&sets.traffic.sent.get()), "{endpoint}: {:?}", sets.traffic);
        assert!((asked..=asked + slack).contains(&gets.traffic.sent.get()), "{endpoint}: {:?}", gets.traffic);
        let received = gets.traffic.received.get();
        assert!((20 * MEBIBYTE..20 * MEBIBYTE + 8_192).contains(&received), "{endpoint}: {received}");
        let segments = gets.traffic.segments_in;
        assert_eq!(segments == 0, matches!(endpoint, Endpoint::Unix(_)), "{endpoint}: {segments}");
    }
    // The stored value is what was sent, byte by byte.
    let stored = ask(&tcp(&redis), &resp(vec![command("GET large")])).remove(0).body;
    assert_eq!(stored, ask(&tcp(&cached), &cache(vec![command("get large")])).remove(0).body);
    assert_eq!(stored.len() as u64, MEBIBYTE);
}

#[test]
fn handshakes_log_in_and_choose_the_database() {
    let server = redis(&["--requirepass", "secret"]);
    let setup = |version, password: &str| RespSetup {
        version,
        password: Some(password.to_owned()),
        ..RespSetup::default()
    };
    for version in [RespVersion::Two, RespVersion::Three] {
        let bind =
            |commands, password, base| workload_in(Protocol::RESP, commands, setup(version, password), base);
        let in_three = bind(vec![hit("SET k 3", "OK")], "secret", "/3");
        assert_eq!(window(&tcp(&server), &in_three, 200, (2, 4)).figures.errors.total(), 0);
        let elsewhere =
            statuses_and_values(&ask(&tcp(&server), &bind(vec![command("GET k")], "secret", "/")));
        let there = statuses_and_values(&ask(&tcp(&server), &bind(vec![command("GET k")], "secret", "/3")));
        assert_eq!((elsewhere[0].0, there[0].clone()), (404, (200, "3".to_owned())));

        let refused = bind(vec![command("GET k")], "wrong", "/");
        let figures = window(&tcp(&server), &refused, 200, (2, 4)).figures;
        assert_eq!(figures.errors.get(ErrorKind::Status), 200);
        let reply = ask(&tcp(&server), &refused).remove(0);
        let received = Received { status: reply.status, headers: &[], body: &reply.body, messages: &[] };
        let why = refused.canonical(0, &received).expect_err("refused");
        assert!(why.contains("WRONGPASS"), "{why}");
        let beyond = statuses_and_values(&ask(&tcp(&server), &bind(vec![command("GET k")], "secret", "/99")));
        assert_eq!((beyond[0].0, beyond[0].1.contains("DB index")), (500, true), "{beyond:?}");
    }
    let anonymous = statuses_and_values(&ask(&tcp(&server), &resp(vec![command("GET k")])));
    assert_eq!((anonymous[0].0, anonymous[0].1.starts_with("NOAUTH")), (500, true), "{anonymous:?}");
}

#[test]
fn two_caches_with_equal_content_give_equal_answers() {
    let (redis, cached) = (redis(&[]), memcached());
    ask(&tcp(&redis), &resp(vec![command("SET k same")]));
    ask(&tcp(&cached), &cache(vec![command("set k 0 0 same")]));
    let canonical = |endpoint: &Endpoint, workload: &Workload| {
        let reply = ask(endpoint, workload).remove(0);
        workload
            .canonical(0, &Received { status: reply.status, headers: &[], body: &reply.body, messages: &[] })
    };
    let get = || vec![present("GET k", Presence::Hit)];
    let one = canonical(&tcp(&redis), &resp(get())).expect("right");
    assert_eq!(canonical(&tcp(&cached), &cache(get())).expect("right"), one);
    let absent = || vec![present("GET absent", Presence::Hit)];
    assert!(canonical(&tcp(&redis), &resp(absent())).is_err());
}

#[test]
fn a_wrong_protocol_is_reported_as_such() {
    let (redis, cached) = (redis(&[]), memcached());
    let error = try_asking(&tcp(&cached), &resp(vec![command("PING")]), 0).expect_err("no Redis");
    assert_eq!(error.kind(), ErrorKind::Protocol, "{error}");
    let error = try_asking(&tcp(&redis), &cache(vec![command("version")]), 0).expect_err("no memcached");
    assert_eq!(error.kind(), ErrorKind::Protocol, "{error}");
    let nowhere = Endpoint::Unix(redis.socket.with_file_name("nobody"));
    let error = try_asking(&nowhere, &resp(vec![command("PING")]), 0).expect_err("nobody listens");
    assert_eq!(error.kind(), ErrorKind::Connect, "{error}");
    assert!(error.to_string().contains("`unix:/"), "{error}");
}
