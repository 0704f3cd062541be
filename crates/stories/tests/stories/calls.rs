//! Stories of calls over gRPC by the whole program, against tonic: `weigh load`, and an experiment with a `.proto` file
//! beside it whose stored form needs the file no more.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use weighbridge_conductor::tls::Certificates;

use crate::pong::{Reflects, Server};
use crate::support::World;

const PONG: &str = "weighbridge.pong.v1.Pong";

fn proto_file() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../services/proto/pong.proto").display().to_string()
}

/// 200 calls, as JSON.
fn load(server: &Server, method: &str, more: &[&str]) -> Value {
    load_at("grpc", server, method, more)
}

fn load_at(scheme: &str, server: &Server, method: &str, more: &[&str]) -> Value {
    let url = format!("{scheme}://{}/{PONG}/{method}", server.address);
    let mut arguments = vec!["load", &url, "-n", "200", "--streams", "8", "--format", "json"];
    arguments.extend(more);
    let world = World::idle();
    let ended = world.weigh(&arguments).end();
    assert_ne!(ended.code, Some(2), "{ended}");
    ended.json()
}

#[test]
fn calls_are_made_by_file_or_by_reflection() {
    let server = Server::start(Reflects::V1);
    let proto = proto_file();
    for (method, more) in [
        ("Pong", vec!["--proto", &proto, "--data", r#"{"size": 64}"#]),
        (
            "Pong",
            vec!["--reflection", "--data", r#"{"size": 64}"#, "--metadata", "x-a: b", "--deadline", "10s"],
        ),
        ("Stream", vec!["--reflection", "--data", r#"{"size": 4, "count": 3}"#]),
        ("Collect", vec!["--reflection", "--data", r#"[{"body": "AA=="}, {}]"#]),
        ("Chat", vec!["--reflection", "--data", r#"[{"size": 4}, {"size": 5}]"#, "--alternating"]),
    ] {
        let figures = load(&server, method, &more);
        let counts = (figures["requests"].as_u64(), figures["errors"].as_u64());
        assert_eq!(counts, (Some(200), Some(0)), "{method} {more:?}: {figures}");
    }
    let figures = load(&server, "Pong", &["--reflection", "--data", r#"{"size": 3}"#]);
    assert_eq!(figures["errors_by_kind"]["status"], 200, "{figures}");
    let said = "3 INVALID_ARGUMENT: size 3 is not from 4 to 100000000";
    assert_eq!(figures["failures"], json!([{ "text": said, "count": 200 }]), "{figures}");
}

#[test]
fn messages_of_streams_have_times_of_their_own() {
    let server = Server::start(Reflects::V1);
    for (method, data, name, basis, each) in [
        ("Stream", r#"{"size": 4, "count": 3}"#, "Pong/Stream message", "between-replies", 3),
        ("Chat", r#"[{"size": 4}, {"size": 5}]"#, "Pong/Chat message", "between-replies", 2),
        ("Collect", r#"[{"body": "AA=="}, {}, {}, {}]"#, "Pong/Collect message sent", "share-of-call", 4),
    ] {
        let figures = load(&server, method, &["--reflection", "--data", data]);
        let messages = figures["messages"].as_array().unwrap_or_else(|| panic!("{method}: {figures}"));
        let [messages] = &messages[..] else { panic!("{method}: {figures}") };
        assert_eq!((&messages["name"], &messages["basis"]), (&json!(name), &json!(basis)));
        assert_eq!(messages["count"], 200 * each, "{figures}");
        let time = |times: &Value, statistic: &str| times[statistic].as_u64().expect("a time");
        assert!(time(&messages["time"], "p50_ns") > 0, "{figures}");
        // Messages of a call follow one another within it.
        assert!(time(&messages["time"], "max_ns") <= time(&figures["service"], "max_ns"), "{figures}");
        let whole = time(&figures["service"], "mean_ns") as f64;
        let parts = time(&messages["time"], "mean_ns") as f64 * f64::from(each);
        assert!(parts <= whole * 1.01, "{method}: {each} messages of {parts} ns in {whole} ns");
    }
    let unary = load(&server, "Pong", &["--reflection", "--data", r#"{"size": 4}"#]);
    assert!(unary.get("messages").is_none(), "{unary}");
    let url = format!("grpc://{}/{PONG}/Chat", server.address);
    let world = World::idle();
    let shown = world.weigh(&["load", &url, "-n", "100", "--reflection", "--data", r#"[{"size": 4}]"#]).end();
    for words in ["  Pong/Chat message  ", "Pong/Chat message: 100, "] {
        assert!(shown.stdout.contains(words), "no `{words}` in {shown}");
    }
}

#[test]
fn calls_over_tls_are_described_by_the_server_itself() {
    let certificates = Certificates::make().expect("certificates");
    let [chain, key] =
        [certificates.certificate(), certificates.key()].map(|path| fs::read(path).expect("a file"));
    let authority = certificates.authority().display().to_string();
    for reflects in [Reflects::V1, Reflects::V1Alpha] {
        let server = Server::secured(reflects, &chain, &key);
        for (method, more) in [
            ("Pong", vec!["--data", r#"{"size": 64}"#]),
            ("Chat", vec!["--data", r#"[{"size": 4}, {"size": 5}]"#, "--alternating"]),
        ] {
            for trust in [&["--cacert", &*authority][..], &["-k"], &["-k", "--tls-max", "1.2"]] {
                let more = [&["--reflection"], trust, &more].concat();
                let figures = load_at("grpcs", &server, method, &more);
                let counts = (figures["requests"].as_u64(), figures["errors"].as_u64());
                assert_eq!(counts, (Some(200), Some(0)), "{reflects:?} {method} {more:?}: {figures}");
                assert_eq!(figures["handshakes"][0]["kind"], "full", "{figures}");
            }
        }
    }
}

#[test]
fn a_server_that_is_not_trusted_is_not_asked_what_it_offers() {
    let certificates = Certificates::make().expect("certificates");
    let [chain, key] =
        [certificates.certificate(), certificates.key()].map(|path| fs::read(path).expect("a file"));
    let server = Server::secured(Reflects::V1, &chain, &key);
    let plain = Server::start(Reflects::V1);
    let others = Certificates::make().expect("certificates");
    let stranger = others.authority().display().to_string();
    let world = World::idle();
    let url = |scheme: &str, server: &Server| format!("{scheme}://{}/{PONG}/Pong", server.address);
    let tell = |url: &str, more: &[&str], words: &[&str]| {
        let arguments = [&["load", url, "-n", "1", "--reflection"], more].concat();
        world.weigh(&arguments).end().assert_error(words);
    };
    tell(&url("grpcs", &server), &["--cacert", &stranger], &["asking for descriptors", "not trusted"]);
    tell(&url("grpcs", &plain), &["-k"], &["asking for descriptors", "TLS"]);
    tell(&url("grpc", &server), &[], &["asking for descriptors"]);
    tell(&url("grpc", &plain), &["-k"], &["is plain text", "`grpcs://`"]);
}

#[test]
fn http2_is_spoken_by_prior_knowledge() {
    let server = Server::start(Reflects::Not);
    let world = World::idle();
    let url = format!("http://{}/", server.address);
    let ended =
        world.weigh(&["load", &url, "--http2", "-n", "50", "--streams", "4", "--format", "json"]).end();
    // A server of gRPC knows no HTTP/1.1. That `/` is no method stands in `grpc-status`; to HTTP it is a 200.
    let figures = ended.json();
    assert_eq!((figures["requests"].as_u64(), figures["errors"].as_u64()), (Some(50), Some(0)), "{ended}");
}

#[test]
fn calls_that_cannot_be_made_are_refused_with_the_next_step() {
    let server = Server::start(Reflects::V1);
    let world = World::idle();
    let base = format!("grpc://{}", server.address);
    let (get, typo, http) =
        (format!("{base}/{PONG}/Pong"), format!("{base}/{PONG}/Png"), format!("http://{}/", server.address));
    let proto = proto_file();
    for (arguments, words) in [
        (vec![&*base, "--reflection"], vec!["which method?", "--grpc"]),
        (vec![&get], vec!["`--proto FILE`", "`--reflection`"]),
        (vec![&get, "--reflection", "--body", "x"], vec!["`--data`"]),
        (vec![&get, "--reflection", "--pipeline", "2"], vec!["`--streams`"]),
        (vec![&get, "--reflection", "--data", "{"], vec!["`--data {` is not JSON"]),
        (vec![&get, "--reflection", "--data", r#"{"siz": 4}"#], vec!["PongRequest", "siz"]),
        (vec![&get, "--reflection", "--alternating", "--data", "{}"], vec!["a stream each way"]),
        (vec![&typo, "--proto", &proto], vec!["no method `Png`", "did you mean `Pong`?"]),
        (vec![&typo, "--reflection"], vec!["no method `Png`", "did you mean `Pong`?"]),
        (vec![&get, "--proto", "absent.proto"], vec!["absent.proto"]),
        (vec![&get, &typo, "--reflection"], vec!["two methods"]),
        (vec![&http, "--data", "{}"], vec!["belong to gRPC", "--grpc"]),
        (vec![&http, "--streams", "2"], vec!["`--http2`"]),
    ] {
        let arguments = [vec!["load"], arguments].concat();
        world.weigh(&arguments).end().assert_error(&words);
    }
}

#[test]
fn an_experiment_of_calls_is_measured_per_call_and_per_message() {
    let world = World::new();
    let (one, two) = (Server::start(Reflects::Not), Server::start(Reflects::Not));
    world.write("interface/pong.proto", &fs::read_to_string(proto_file()).expect("a file"));
    let variant = |name: &str, server: &Server| {
        format!("[[variant]]\nname = '{name}'\nurl = 'http://{}/'\nprotocol = 'grpc'\n", server.address)
    };
    let text = format!(
        r#"
        [workload]
        name = "grpc"
        proto = "pong.proto"
        include = ["interface"]
        equal = "json"
        [[workload.call]]
        name = "pong"
        method = "{PONG}/Pong"
        message = {{ size = 64 }}
        [[workload.call]]
        name = "chat"
        method = "{PONG}/Chat"
        messages = [{{ size = 4 }}, {{ size = 5 }}]
        sending = "alternating"
        [load]
        in_flight = 4
        [plan]
        blocks = {{ min = 4, max = 4 }}
        budget = "4 s"
        {}{}"#,
        variant("one", &one),
        variant("two", &two)
    );
    let file = world.write("experiment.toml", &text);
    let ended = world.run(&["--format", "json"]).end();
    assert!(matches!(ended.code, Some(0 | 3)), "{ended}");
    let costs = ended.json()["costs"].as_array().expect("costs").clone();
    for operation in ["all", "pong", "chat", "chat message"] {
        let found = |cost: &&Value| cost["operation"] == operation && cost["quantity"] == "response_p50";
        assert!(costs.iter().any(|cost| found(&cost)), "`{operation}`: {costs:?}");
    }
    // The stored experiment is whole without the file.
    fs::remove_dir_all(world.path("interface")).expect("removed");
    let stored = world.run_folder().join("experiment.toml");
    world.weigh(&["verify", &*stored.display().to_string()]).end().assert_code(0);
    world.weigh(&["verify", &*file.display().to_string()]).end().assert_error(&["pong.proto"]);
}
