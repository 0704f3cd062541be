//! The experiment file: what is read, what is refused and in which words.

use super::*;
use crate::quantity::Bytes;

/// An experiment that is read, written and read again.
pub(super) fn read_back(text: &str) -> Result<Experiment, String> {
    let experiment = Experiment::parse("x.toml", text).map_err(|error| error.to_string())?;
    let again = Experiment::parse("again", &experiment.to_toml()).expect("what is stored is read");
    assert_eq!(again, experiment);
    Ok(experiment)
}

const QUICKSTART: &str = r#"
title = "pong"
[workload]
name = "pingpong"
[load]
connections = 4
[plan]
headline = "response p50"
blocks = { min = 6, max = 10 }
until = "1 %"
budget = "90 s"
[gates]
fail_if = "p50 > +50 %"
[matrix]
service = ["rust", "go"]
workload.size = ["64 B", "64 KiB"]
"#;

fn error(text: &str) -> String {
    Experiment::parse("x.toml", text).unwrap_err().to_string()
}

#[test]
fn a_number_of_blocks_is_exactly_so_many() {
    let e = Experiment::parse("x.toml", &QUICKSTART.replace("{ min = 6, max = 10 }", "8")).unwrap();
    assert_eq!((e.plan.blocks_min, e.plan.blocks_max), (8, 8));
}

#[test]
fn a_matrix_makes_variants_and_points() {
    let e = Experiment::parse("x.toml", QUICKSTART).unwrap();
    let names: Vec<_> = e.variants.iter().map(|v| v.name.as_str()).collect();
    assert_eq!(names, ["rust", "go"]);
    assert_eq!(e.points.len(), 2);
    assert_eq!(e.points[1].label["workload.size"], "64 KiB");
    assert_eq!(e.points[1].workload, WorkloadSpec::Pingpong(PingpongSpec::new(vec![Bytes::new(65536)])));
    assert_eq!(e.points[0].load.connections, 4);
    assert_eq!((e.plan.blocks_min, e.plan.blocks_max), (6, 10));
    assert_eq!(e.gates.len(), 1);
}

#[test]
fn what_is_written_reads_back_the_same() {
    let http = r#"
        title = "two"
        [workload]
        name = "http"
        equal = "json"
        [[workload.request]]
        name = "get"
        path = "/a?b=c"
        weight = 3
        headers = { Accept = "application/json", Authorization = "env:TOKEN" }
        check = { status = 200, length = "10", headers = { server = "x" }, json = { "/a/0" = 1, "/b" = "t" } }
        [[workload.request]]
        method = "post"
        path = "/p"
        body = "hello"
        [load]
        model = "open"
        rate = "1234.5/s"
        arrivals = "constant"
        [plan]
        window = "20 ms"
        margin = "3 %"
        [hooks]
        reset = "true"
        [gates]
        require = ["p99 <= +5 %", "errors < 1"]
        [[variant]]
        url = "http://[::1]:8080/base"
        [[variant]]
        url = "https://[::1]/base"
        [[variant]]
        name = "secured"
        command = "./server --port {port}"
        tls = true
        [[variant]]
        name = "secured otherwise"
        url = "https://h:1/"
        tls = { ca = "a b.pem", cert = "c", key = "k", server_name = "n", resumption = false, min = 1.3, max = "1.3" }
        [[variant]]
        name = "unverified"
        url = "https://h:1/"
        tls = { insecure = true }
        [[variant]]
        name = "mine"
        command = "./server --port {port} 'a b'"
        env = { A = "1" }
        cpu = "0.125"
        [[variant]]
        name = "other"
        command = ["x"]
    "#;
    for text in [QUICKSTART, http] {
        let e = Experiment::parse("x.toml", text).unwrap();
        let written = e.to_toml();
        let again = Experiment::parse("again.toml", &written).unwrap_or_else(|e| panic!("{e}\n{written}"));
        assert_eq!(again, e, "{written}");
    }
}

#[test]
fn kernel_timestamps_need_one_request_in_flight_at_every_point() {
    let head = "[workload]\nname = \"pingpong\"\n[[variant]]\nservice = \"go\"\n";
    let stamps = |load: &str| {
        let text = format!("{head}[load]\nkernel_timestamps = true\n{load}\n");
        Experiment::parse("x.toml", &text).map(|e| (e.to_toml(), e))
    };
    let (written, e) = stamps("connections = 4").unwrap();
    assert_eq!(e.points[0].load.stamps, Stamps::Kernel);
    assert_eq!(Experiment::parse("again.toml", &written).unwrap(), e, "{written}");
    for load in ["in_flight = 8", "[matrix]\nload.in_flight = [1, 8]"] {
        let error = stamps(load).unwrap_err().to_string();
        assert!(error.contains("`load.kernel_timestamps`") && error.contains("not 8"), "{error}");
    }
}

#[test]
fn order_types_and_small_numbers_survive_writing() {
    let text = r#"
        [workload]
        name = "http"
        [[workload.request]]
        headers = { Zeta = "1", Accept = "x" }
        check = { json = { "/z" = 1, "/a" = { k = [true, 1.5] } } }
        [load]
        model = "open"
        rate = "0.000001/s"
        [plan]
        until = "0.0001 %"
        [[variant]]
        command = ["x"]
        env = { Z = "1", A = "2" }
        [matrix]
        workload.equal = ["status", "bytes"]
        load.rate = ["0.5/s", "1/s", "2/s"]
        load.connections = [1, 16]
        load.keep_alive = [true, false]
    "#;
    let lists = "[workload]\nname='pingpong'\nsizes=[8]\n[[variant]]\nservice='a'\n[matrix]\nworkload.sizes=[[64,128],['1 KiB']]";
    let names = "[matrix]\nservice=['a']\nworkload.name=['pingpong','http']";
    for (text, points) in [(text, 24), (lists, 2), (names, 2)] {
        let e = Experiment::parse("x.toml", text).unwrap();
        assert_eq!(e.points.len(), points);
        let written = e.to_toml();
        let again = Experiment::parse("again.toml", &written).unwrap_or_else(|e| panic!("{e}\n{written}"));
        assert_eq!(again, e, "{written}");
    }
}

#[test]
fn commands_are_split_like_a_shell_and_know_their_readiness() {
    let text = "[workload]\nname='http'\n[[variant]]\ncommand = \"./s --p {port} 'a b' c\\\\ d\"\n[[variant]]\nname='b'\ncommand='y'";
    let e = Experiment::parse("x", text).unwrap();
    let Target::Command(first) = &e.variants[0].target else { panic!() };
    assert_eq!(first.argv, ["./s", "--p", "{port}", "a b", "c d"]);
    assert_eq!(first.ready, Readiness::Port);
    let Target::Command(second) = &e.variants[1].target else { panic!() };
    assert_eq!(second.ready, Readiness::Line);
}

#[test]
fn errors_name_file_line_key_and_what_is_allowed() {
    let variant = "[[variant]]\nservice = \"go\"\n";
    for (text, parts) in [
        (
            "titel = 'x'\n[workload]\nname='http'\n",
            &["x.toml:1:", "unknown key `titel`", "did you mean `title`?"][..],
        ),
        ("[workload]\nname='pingpong'\nsizs = [1]\n", &["x.toml:3:", "`sizs` in `[workload]`", "`sizes`"]),
        ("[workload]\nname = 'pngpong'\n", &["x.toml:2:", "`workload.name`", "did you mean `pingpong`?"]),
        ("[workload]\nname='pingpong'\nsize = '2 B'\n", &["x.toml:3:", "from 4 B to 100 MB"]),
        (
            "[workload]\nname='http'\n[load]\nconnections = 0\n",
            &["x.toml:4:", "`load.connections`", "1 to 60000"],
        ),
        ("[workload]\nname='http'\n[load]\nmodel='open'\n", &["x.toml:3:", "`rate = \"5000/s\"`"]),
        ("[workload]\nname='http'\n[load]\nrate='5/s'\n", &["`model = \"open\"`"]),
        ("[workload]\nname='http'\n[plan]\nblocks = 0\n", &["x.toml:4:", "`plan.blocks`", "1 to 10000"]),
        (
            "[workload]\nname='http'\n[plan]\nblocks = { min = 9, max = 3 }\n",
            &["x.toml:4:", "max = 3 is below min = 9"],
        ),
        ("[workload]\nname='http'\n[plan]\nheadline = 'p98'\n", &["x.toml:4:", "`p98` is not a quantity"]),
        (
            "[workload]\nname='pingpong'\n[plan]\nheadline = 'hit rate'\n",
            &["x.toml:4:", "only the workload `cache` has `hit rate`, and this one is `pingpong`"],
        ),
        (
            "[workload]\nname='http'\n[plan]\nbudget = '10 parsecs'\n",
            &["x.toml:4:", "`10 parsecs` is not a time"],
        ),
        ("[workload]\nname='http'\n[gates]\nfail_if = 'p50'\n", &["x.toml:4:", "`p50` is not a condition"]),
        (
            "[workload]\nname='http'\n[gates]\nrequire = 'abort rate < 5 %'\n",
            &["the gate `abort rate < 5 %`: only the workload `trade` has"],
        ),
        ("x = \n", &["x.toml:1:"]),
        ("", &["no `[workload]`"]),
    ] {
        let message = error(&format!("{text}{variant}"));
        let message = if text.is_empty() { error("[[variant]]\nservice='go'") } else { message };
        for part in parts {
            assert!(message.contains(part), "{text:?}: {message}");
        }
    }
}

#[test]
fn limits_of_cpu_are_read_as_text_and_as_numbers_and_vary_in_a_matrix() {
    let text = "[workload]\nname='pingpong'\n[matrix]\nservice=['a']\ncpu=['0.5', 1, 1.5]\n";
    let e = Experiment::parse("x.toml", text).unwrap();
    let found: Vec<_> =
        e.variants.iter().map(|v| (v.name.as_str(), v.limits.cpu.map(|cpu| cpu.cores().get()))).collect();
    assert_eq!(found, [("a/0.5", Some(0.5)), ("a/1", Some(1.0)), ("a/1.5", Some(1.5))]);
}

#[test]
fn limits_of_memory_and_cores_vary_in_a_matrix_and_are_written_as_they_are_read() {
    let text =
        "[workload]\nname='pingpong'\n[matrix]\nservice=['a']\nmemory=['64 MB', '1 GiB']\ncores=[1, 2]\n";
    let e = Experiment::parse("x.toml", text).unwrap();
    let found: Vec<_> = e
        .variants
        .iter()
        .map(|v| (v.name.as_str(), v.limits.memory.unwrap().get(), v.limits.cores))
        .collect();
    assert_eq!(
        found,
        [
            ("a/64 MB/1", 64_000_000, Some(1)),
            ("a/64 MB/2", 64_000_000, Some(2)),
            ("a/1 GiB/1", 1 << 30, Some(1)),
            ("a/1 GiB/2", 1 << 30, Some(2)),
        ]
    );
    let again = Experiment::parse("x.toml", &e.to_toml()).unwrap();
    assert_eq!(again.variants, e.variants);
}

#[test]
fn wrong_variants_are_refused() {
    let workload = "[workload]\nname='http'\n";
    for (text, part) in [
        ("", "no `[[variant]]`"),
        ("[[variant]]\nname='a'\n", "exactly one of"),
        ("[[variant]]\nservice='a'\nurl='http://x'\n", "exactly one of"),
        ("[[variant]]\nservice='a'\n[[variant]]\nservice='a'\n", "two variants are named `a`"),
        (
            "[[variant]]\nurl='http://x'\ntls=true\n",
            "x.toml:5: `tls` beside `http://x/`, which is plain text",
        ),
        ("[[variant]]\nurl='https://x'\ntls=false\n", "leave it out, or write `http://`"),
        ("[[variant]]\nservice='a'\ntls='yes'\n", "must be `true` or a table"),
        ("[[variant]]\nservice='a'\ntls={ cert='c' }\n", "`variant.tls`: `cert` needs its `key`"),
        ("[[variant]]\nservice='a'\ntls={ ca='c', insecure=true }\n", "leave one out"),
        ("[[variant]]\nservice='a'\ntls={ min='1.1' }\n", "allowed: `1.2`, `1.3`"),
        ("[[variant]]\nservice='a'\ntls={ min='1.3', max='1.2' }\n", "`min` 1.3 is newer than `max` 1.2"),
        ("[[variant]]\nservice='a'\ntls={ cafile='c' }\n", "unknown key `cafile`"),
        ("[[variant]]\nurl='ftp://x'\n", "scheme `ftp`"),
        (
            "[[variant]]\nservice='a'\ncpu='0'\n",
            "x.toml:5: `variant.cpu`: `0` must be a number of cores from 0.01",
        ),
        ("[[variant]]\nservice='a'\ncpu=-0.5\n", "`variant.cpu`: `-0.5` must be a number of cores"),
        ("[[variant]]\nservice='a'\ncpu='half'\n", "`variant.cpu`: `half` must be a number of cores"),
        ("[[variant]]\nservice='a'\ncpu=['1']\n", "such as \"0.5\" for half of one"),
        ("[[variant]]\nurl='http://x'\ncpu='0.5'\n", "`cpu` has no use beside `url`"),
        ("[[variant]]\nurl='http://x'\nmemory='1 GB'\n", "`memory` has no use beside `url`"),
        ("[[variant]]\nservice='a'\nmemory='64'\n", "`variant.memory`: `64` must be 1 MB or more"),
        ("[[variant]]\nservice='a'\nmemory='much'\n", "`variant.memory`: `much` is not a size"),
        ("[[variant]]\nservice='a'\ncores=0\n", "`variant.cores`: `0` must be a whole number from 1 to 4096"),
        ("[[variant]]\nservice='a'\ncores='1'\n", "must be a whole number from 1"),
        ("[[variant]]\nservice='a'\ncpu=2\ncores=1\n", "x.toml:6: `cpu = \"2\"` beside `cores = 1`"),
        ("[[variant]]\nservice='a'\ncores=1\npeer='b'\n", "`peer` beside `cores`"),
        ("[[variant]]\nurl='http://x:99999'\n", "is not an address"),
        ("[[variant]]\nservice='a'\nprotocol='smtp'\n", "allowed: `http1-json`"),
        ("[[variant]]\nservice='a'\nlayers=['vxlan']\n", "`vxlan` needs two hosts"),
        ("[[variant]]\nservice='a'\nready='port'\n", "`ready` belongs to `command`"),
        (
            "[[variant]]\nservice='a'\n[[workload.request]]\ncheck={ json={} }\n",
            "`workload.request.check.json` is empty",
        ),
        ("[[variant]]\nservice='a'\n[[workload.request]]\ncheck={ headers={} }\n", "would check nothing"),
        ("[[variant]]\nservice='a'\n[matrix]\nservice=['b']\n", "cannot stand together"),
        ("[matrix]\nservice=[]\n", "`matrix.service` must be a list"),
        ("[matrix]\nservice=['a', 'b', 'a']\n", "`matrix.service` holds `a` twice"),
        ("[matrix]\nworkload.request=[[{ path = '/a' }]]\n", "`matrix.workload.request` cannot hold tables"),
        (
            "[[variant]]\nservice='a'\n[[workload.request]]\ncheck = { json = { '/a' = nan } }\n",
            "`NaN` is no value in JSON",
        ),
    ] {
        let message = error(&format!("{workload}{text}"));
        assert!(message.contains(part), "{text:?}: {message}");
    }
}

#[test]
fn urls_are_read() {
    for (text, host, port, path) in [
        ("http://127.0.0.1:8080", "127.0.0.1", 8080, "/"),
        ("http://h/a/b?c#d", "h", 80, "/a/b?c"),
        ("http://[::1]:81/", "::1", 81, "/"),
        ("localhost:3000/x", "localhost", 3000, "/x"),
        ("http://h?q", "h", 80, "/?q"),
    ] {
        let url = Url::parse(text).unwrap();
        assert_eq!((url.host.as_str(), url.port, url.path.as_str()), (host, port, path), "{text}");
    }
    for text in ["http://", "http://h:0", "http://h:x", "http://[::zz]/", "http://a b/", "http://h/a b"] {
        assert!(Url::parse(text).is_err(), "{text}");
    }
}

#[test]
fn the_scheme_of_an_address_says_whether_there_is_tls_and_which_port() {
    let variant = |text: &str| {
        let text = format!("[workload]\nname='http'\n[[variant]]\nurl='{text}'\n");
        Experiment::parse("x", &text).unwrap().variants.remove(0)
    };
    assert_eq!(variant("http://h/").tls, None);
    assert_eq!(variant("https://h/").tls, Some(TlsSpec::default()));
    for (text, authority, port) in [
        ("https://h", "h", 443),
        ("https://h:80/", "h:80", 80),
        ("http://h:443/", "h:443", 443),
        ("h:443", "h:443", 443),
    ] {
        let url = Url::parse(text).unwrap();
        assert_eq!((url.authority().as_str(), url.port), (authority, port), "{text}");
        assert_eq!(Url::parse(&url.to_string()), Ok(url));
    }
}

fn load(text: &str) -> String {
    format!("[workload]\nname='pingpong'\n[load]\n{text}\n[[variant]]\nurl='h:1'\n")
}

#[test]
fn every_shape_of_load_reads_back_the_same() {
    for text in [
        "think='10ms'\nchurn=7",
        "think={ law='exponential', mean='10 ms' }\nkeep_alive=false",
        "think={ law='uniform', low='1ms', high='3ms' }",
        "model='open'\nrate=5\narrivals='jitter'",
        "model='open'\nrate=5\narrivals={ jitter='20 %' }",
        "model='open'\narrivals={ trace='a b.csv', speed=0.1 }",
        "model='open'\nprofile='ramp:1/s..0/s over 1h'\narrivals='constant'",
        "model='open'\nprofile={ steps=[{ rate='1000/s', for='10 s' }, { rate='0/s', for='1 s' }] }",
        "model='open'\nprofile={ sine={ mean='3.3/s', amplitude='1/min', period='10 s' } }",
        "model='open'\nprofile={ burst={ base=0, peak='1k/s', every='2 s', length='200 ms' } }",
        "model='partly-open'\nsessions='50/s'\nlength=10\nthink='1 ms'",
        "model='partly-open'\nprofile='sine:3/s ± 3/s every 1s'\nlength={ law='geometric', mean=2.5 }",
        "model='partly-open'\nsessions=1\nlength='workload'\narrivals={ trace='x', sha256='HASH' }",
    ] {
        let hash = "0123456789abcdef".repeat(4);
        let text =
            load(&text.replace("HASH", &hash)).replace("sessions=1\nlength='workload'", "length='workload'");
        let experiment = Experiment::parse("x.toml", &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let written = experiment.to_toml();
        assert_eq!(Experiment::parse("again.toml", &written).as_ref(), Ok(&experiment), "{written}");
        assert_eq!(experiment.points[0].load.connections, if text.contains("model") { 16 } else { 1 });
    }
}

#[test]
fn shapes_in_a_matrix_read_back_the_same() {
    for (base, factor) in [
        ("", "load.churn=[1, 10]"),
        ("churn=3", "load.keep_alive=[true]"),
        ("", "load.keep_alive=[false, true]"),
        ("", "load.think=['0 ms', '1 ms', 'exponential:mean=2ms']"),
        ("model='open'", "load.profile=['ramp:1/s..2/s over 1s', 'burst:1/s..2/s for 1ms every 2ms']"),
        ("model='open'\nrate=9", "load.arrivals=['poisson', 'constant', 'jitter:5%', 'gpd:k=0.2', 'fb_ia']"),
        ("model='partly-open'\nsessions=9", "load.length=[3, 'geometric:mean=3']"),
    ] {
        let text = load(base) + "[matrix]\n" + factor;
        match Experiment::parse("x.toml", &text) {
            Ok(experiment) => {
                let written = experiment.to_toml();
                assert_eq!(Experiment::parse("again.toml", &written).as_ref(), Ok(&experiment), "{written}");
            }
            Err(error) => {
                assert_eq!((base, true), ("churn=3", error.message.contains("cannot stand together")));
            }
        }
    }
}

#[test]
fn shapes_that_mean_nothing_are_refused() {
    for (text, part) in [
        ("rate=5", "belong to `model = \"open\"`"),
        ("sessions=5", "belong to `model = \"partly-open\"`"),
        ("model='open'", "needs a `rate` above zero"),
        ("model='open'\nrate=0", "needs a `rate` above zero"),
        ("model='open'\nrate=5\nlength=3", "belong to `model = \"partly-open\"`"),
        ("model='open'\nrate=5\nprofile='ramp:1/s..2/s over 1s'", "cannot stand together"),
        ("model='open'\nrate=5\narrivals={ trace='x' }", "a trace brings its own rate"),
        ("model='open'\nrate=5\nthink='1ms'", "has no use in open load"),
        ("model='open'\nrate=5\narrivals='poison'", "`poison` is not a law of arrivals; write `poisson`"),
        ("model='open'\nrate=5\narrivals='jitter:60%'", "at most 50 %"),
        ("model='open'\nrate=5\narrivals='gpd:k=0.5'", "to below 0.5"),
        ("model='open'\nrate=5\narrivals='gpd:k=-0.1'", "must be from 0"),
        ("model='open'\narrivals={ speed=2 }", "names no file"),
        ("model='open'\narrivals={ trace='x', sped=2 }", "`sped = 2` is not known here"),
        ("model='open'\narrivals={ trace='x', speed=0 }", "must be a number from 0.001"),
        ("model='open'\nprofile='ramp:1/s..2/s'", "is not a profile; write `steps:"),
        ("model='open'\nprofile='ramp:0/s..0/s over 1s'", "the rate is never above zero"),
        ("model='open'\nprofile='sine:1/s +- 2/s every 1s'", "a rate is never negative"),
        ("model='open'\nprofile='burst:1/s..2/s for 2s every 1s'", "cannot be"),
        ("model='open'\nprofile='steps:1/s for 0s'", "must be above zero"),
        ("model='open'\nprofile='ramp:1/s..2/s over 25h'", "at most 24 h"),
        ("model='open'\nprofile='ramp:x..2/s over 1s'", "`x` is not a rate"),
        ("model='open'\nprofile={ ramp={ from=1 } }", "`ramp` takes `from`, `to` and `over`"),
        ("model='partly-open'\nlength=3", "needs `sessions` above zero"),
        ("model='partly-open'\nsessions=3", "needs the `length` of sessions"),
        ("model='partly-open'\nsessions=3\nrate=4\nlength=1", "sessions arrive at `sessions"),
        ("model='partly-open'\nsessions=3\nlength=0", "is not a length of sessions"),
        ("model='partly-open'\nsessions=3\nlength='geometric:mean=0.5'", "must be from 1 to"),
        ("think='uniform:low=2ms,high=1ms'", "must be below `high`"),
        ("think='soon'", "is not a think time; write `10ms`"),
        ("churn=0", "must be a whole number from 1"),
        ("churn=2\nkeep_alive=false", "cannot stand together"),
    ] {
        let message = error(&load(text));
        assert!(message.starts_with("x.toml:") && message.contains(part), "{text}: {message}");
    }
}

const CALLS: &str = r#"
    [workload]
    name = "grpc"
    proto = "shop.proto"
    include = ["a", "b"]
    equal = "json"
    [[workload.call]]
    method = "/shop.v1.Shop/Get"
    message = { name = "hat", sizes = [1, 2.5], deep = { yes = true } }
    metadata = { x-tenant = "7", authorization = "env:TOKEN" }
    deadline = "250 ms"
    weight = 3
    check = { status = "NOT_FOUND", messages = 0, json = { "/name" = "hat" } }
    [[workload.call]]
    name = "haggle"
    method = "shop.v1.Shop/Haggle"
    kind = "bidi-stream"
    messages = ['{"n": null}', { n = 1 }]
    sending = "alternating"
    check = { status = 0 }
    [[variant]]
    service = "a"
    protocol = "grpc"
"#;

#[test]
fn calls_are_read_and_written() {
    let e = Experiment::parse("x.toml", CALLS).unwrap();
    let WorkloadSpec::Grpc(GrpcSpec { source, calls, equal }) = &e.points[0].workload else { panic!("grpc") };
    let DescriptorSource::Proto { file, include } = source else { panic!("proto") };
    assert_eq!((file.as_str(), include.len(), *equal), ("shop.proto", 2, Equality::Json));
    assert_eq!((calls[0].name.as_str(), calls[0].method.as_str()), ("Shop/Get", "shop.v1.Shop/Get"));
    assert_eq!(calls[0].service_and_method(), ("shop.v1.Shop", "Get"));
    assert_eq!(calls[0].messages[0].to_string(), r#"{"deep":{"yes":true},"name":"hat","sizes":[1,2.5]}"#);
    assert_eq!((calls[0].check.status.number(), calls[0].check.messages), (5, Some(0)));
    assert_eq!(calls[0].deadline, Some(Nanoseconds::from_millis(250)));
    assert_eq!(calls[1].messages[0]["n"], serde_json::Value::Null);
    assert_eq!((calls[1].sending, calls[1].check.status), (MessageSending::Alternating, GrpcStatus::OK));
    assert_eq!(e.points[0].workload.operations(), ["Shop/Get", "haggle", "haggle message"]);
    for source in ["reflection = true", "descriptors = 'AAAA'"] {
        let text = CALLS.replace("proto = \"shop.proto\"\n    include = [\"a\", \"b\"]", source);
        let e = Experiment::parse("x.toml", &text).unwrap();
        let written = e.to_toml();
        assert_eq!(Experiment::parse("again.toml", &written).unwrap(), e, "{written}");
    }
    let written = e.to_toml();
    assert_eq!(Experiment::parse("again.toml", &written).unwrap(), e, "{written}");
}

#[test]
fn wrong_calls_are_refused() {
    let changed = |old: &str, new: &str| error(&CALLS.replacen(old, new, 1));
    for (old, new, parts) in [
        (
            "/shop.v1.Shop/Get",
            "shop.v1.Shop.Get",
            &["x.toml:8:", "`workload.call.method`", "package.Service/Method"][..],
        ),
        ("/shop.v1.Shop/Get", "a/b/c", &["x.toml:8:", "is not a method"]),
        ("method = \"/shop.v1.Shop/Get\"", "", &["`workload.call.method` is missing"]),
        ("NOT_FOUND", "NOT_FUND", &["x.toml:13:", "did you mean `NOT_FOUND`?"]),
        ("status = 0", "status = 17", &["`17` is no status of gRPC, 0 to 16"]),
        ("bidi-stream", "bidi", &["x.toml:17:", "`workload.call.kind`", "`client-stream`"]),
        ("{\"n\": null}", "{n}", &["`workload.call.messages`: is not JSON"]),
        ("x-tenant", "grpc-timeout", &["`grpc-timeout` is gRPC's own"]),
        ("250 ms", "0 s", &["x.toml:11:", "must be above zero"]),
        ("proto = \"shop.proto\"", "", &["`workload.include` belongs to `workload.proto`"]),
        ("include = [\"a\", \"b\"]", "reflection = true", &["exactly one of `proto"]),
        ("include = [\"a\", \"b\"]", "inklude = []", &["unknown key `inklude`", "did you mean `include`?"]),
        ("name = \"haggle\"", "name = 'Shop/Get'", &["two operations are named `Shop/Get`"]),
        ("messages = 0", "mesages = 0", &["x.toml:13:", "did you mean `messages`?"]),
        ("name = \"grpc\"", "name = 'grp'", &["did you mean `grpc`?"]),
        (
            "[[variant]]",
            "[matrix]\nworkload.proto = ['a', 'b']\n[[variant]]",
            &["`matrix.workload.proto`", "only vary `equal`"],
        ),
    ] {
        let message = changed(old, new);
        for part in parts {
            assert!(message.contains(part), "{new:?}: {message}");
        }
    }
    let message = error("[workload]\nname='grpc'\nreflection=true\n[[variant]]\nservice='a'");
    assert!(message.contains("`[[workload.call]]`"), "{message}");
}

#[test]
fn a_quick_run_keeps_variants_that_are_there() {
    let text = |quick: &str| {
        format!(
            "[workload]\nname = 'pingpong'\n[plan]\nquick = {quick}\n[matrix]\nservice = ['rust', 'go', 'java']\n"
        )
    };
    let read = Experiment::parse("x.toml", &text("['rust', 'java']")).unwrap();
    assert_eq!(read.plan.quick, ["rust", "java"]);
    assert_eq!(Experiment::parse("x.toml", &read.to_toml()).unwrap(), read);
    let unknown = error(&text("['rust', 'jave']"));
    assert!(
        unknown.starts_with("x.toml:4: `plan.quick`: `jave` is no variant; did you mean `java`?"),
        "{unknown}"
    );
    assert!(error(&text("['go', 'go']")).contains("`go` stands there twice"));
    assert!(error(&text("[]")).contains("at least one variant's name"));
    assert!(error(&text("'go'")).contains("must be a list"));
}

#[test]
fn a_duet_is_of_two_variants_that_are_started_here() {
    let text = |variants: &str, more: &str| {
        format!("[workload]\nname = 'pingpong'\n[plan]\nseed = 2\npairing = 'duet'\n{more}\n{variants}")
    };
    let variants = |count: usize| -> String {
        (0..count).map(|n| format!("[[variant]]\nname = '{n}'\ncommand = 'x'\n")).collect()
    };
    let two = Experiment::parse("x.toml", &text(&variants(2), "")).unwrap();
    assert_eq!(two.plan.pairing, PairingChoice::Duet);
    assert_eq!(Experiment::parse("x.toml", &two.to_toml()).unwrap(), two);
    for (count, words) in [(1, "there is 1;"), (3, "there are 3;")] {
        let error = error(&text(&variants(count), ""));
        assert!(error.starts_with("x.toml:5: `plan.pairing`: `duet` is of exactly 2 variants"), "{error}");
        assert!(error.contains(words) && error.contains("use `windows`"), "{error}");
    }
    // Every point of a matrix has both; three values make three variants.
    let matrix = |services: &str| format!("[matrix]\nworkload.size = [64, 128]\nservice = {services}\n");
    let points = Experiment::parse("x.toml", &text("", &matrix("['rust', 'go']"))).unwrap();
    assert_eq!((points.points.len(), points.variants.len()), (2, 2));
    assert!(error(&text("", &matrix("['rust', 'go', 'java']"))).contains("there are 3;"));
    let url = "[[variant]]\nname = 'far'\nurl = 'http://localhost:1/'\n";
    let error = error(&text(&format!("{}{url}", variants(1)), ""));
    assert!(error.starts_with("x.toml:5: `plan.pairing`") && error.contains("`far` is a `url`"), "{error}");
}

#[test]
fn what_is_too_large_is_refused_before_it_is_expanded() {
    let refused = |text: &str| Experiment::parse("x.toml", text).expect_err("refused").to_string();
    let variants: String =
        (0..10_001).map(|at| format!("[[variant]]\nname = \"{at}\"\nurl = \"http://h:1\"\n")).collect();
    let pingpong = "workload.name = \"pingpong\"\n";
    assert!(
        refused(&format!("{pingpong}{variants}"))
            .contains("10001 variants at 1 points are more than 10000 combinations")
    );
    let matrix = "[matrix]\n\"workload.size\" = [\"1 B\", \"2 B\", \"3 B\", \"4 B\", \"5 B\", \"6 B\", \"7 B\", \"8 B\", \"9 B\", \"10 B\", \"11 B\"]\n";
    let thousand: String = variants.lines().take(3_000).fold(String::new(), |text, line| text + line + "\n");
    assert!(refused(&format!("{pingpong}{thousand}{matrix}")).contains("1000 variants at 11 points"));
    let long = format!("{pingpong}title = \"{}\"\n", "x".repeat(4 << 20));
    assert!(
        refused(&long)
            .starts_with(&format!("x.toml: the file has {} bytes, and at most 4194304 are read", long.len()))
    );
    let deep = format!("{pingpong}x = {}{}\n", "[".repeat(10_000), "]".repeat(10_000));
    assert!(refused(&deep).starts_with("x.toml:2: "), "{}", refused(&deep));
}

#[test]
fn what_remembers_is_in_no_duet_of_closed_load() {
    let text = |load: &str| {
        let variants = "[[variant]]\nname = 'a'\ncommand = 'x'\nprotocol = 'resp'\n\
                        [[variant]]\nname = 'b'\ncommand = 'x'\nprotocol = 'resp'\n";
        format!("[workload]\nname = 'cache'\n{load}\n[plan]\npairing = 'duet'\n{variants}")
    };
    let error = error(&text(""));
    assert!(error.contains("`duet` sends the faster variant more, and what `cache`"), "{error}");
    assert!(Experiment::parse("x.toml", &text("[load]\nmodel = 'open'\nrate = 100")).is_ok());
}
