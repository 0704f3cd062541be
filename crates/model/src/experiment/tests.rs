//! The experiment file: what is read, what is refused and in which words.

use super::*;

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
fn a_matrix_makes_variants_and_points() {
    let e = Experiment::parse("x.toml", QUICKSTART).unwrap();
    let names: Vec<_> = e.variants.iter().map(|v| v.name.as_str()).collect();
    assert_eq!(names, ["rust", "go"]);
    assert_eq!(e.points.len(), 2);
    assert_eq!(e.points[1].label["workload.size"], "64 KiB");
    assert_eq!(e.points[1].workload, WorkloadSpec::Pingpong { sizes: vec![Bytes::new(65536)] });
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
    let Target::Command { argv, ready } = &e.variants[0].target else { panic!() };
    assert_eq!(argv, &["./s", "--p", "{port}", "a b", "c d"]);
    assert_eq!(*ready, Readiness::Port);
    assert!(matches!(&e.variants[1].target, Target::Command { ready: Readiness::Line, .. }));
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
        (
            "[workload]\nname='http'\n[plan]\nblocks = { min = 9, max = 3 }\n",
            &["x.toml:4:", "max = 3 is below min = 9"],
        ),
        ("[workload]\nname='http'\n[plan]\nheadline = 'p98'\n", &["x.toml:4:", "`p98` is not a quantity"]),
        (
            "[workload]\nname='http'\n[plan]\nbudget = '10 parsecs'\n",
            &["x.toml:4:", "`10 parsecs` is not a time"],
        ),
        ("[workload]\nname='http'\n[gates]\nfail_if = 'p50'\n", &["x.toml:4:", "`p50` is not a condition"]),
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
        ("[[variant]]\nurl='http://x:99999'\n", "is not an address"),
        ("[[variant]]\nservice='a'\nprotocol='smoke'\n", "allowed: `http1-json`"),
        ("[[variant]]\nservice='a'\nlayers=['veth']\n", "no layer is available yet"),
        ("[[variant]]\nservice='a'\nready='port'\n", "`ready` belongs to `command`"),
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
