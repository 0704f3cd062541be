//! Stories of the workload `person`: equal work is proven before anything is timed, and what framing and codec cost is told.

use std::io::Write;

use crate::support::server::{Server, get, read_head};
use crate::support::{World, eventually, measuring, service};

/// A person as the people file has it, but for the city, where the street stands again.
const STREET_IN_CITY: &str = r#"{"id":"1","name":{"title":"mr","first":"walter","last":"brinkman"},"gender":"male","location":{"street":"4093 admiraal kortenaer dijkweg","city":"4093 admiraal kortenaer dijkweg","state":"drenthe","postCode":70318},"email":"walter.brinkman@example.com","picture":null}"#;

/// A server that answers this to everybody.
fn scripted(body: &'static str) -> Server {
    Server::start(move |mut stream, _| {
        while read_head(&mut stream) {
            let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length:";
            let reply = format!("{head} {}\r\n\r\n{body}", body.len());
            if stream.write_all(reply.as_bytes()).is_err() {
                return;
            }
        }
    })
}

#[test]
fn a_street_in_the_place_of_the_city_ends_a_run_before_anything_is_timed() {
    let world = World::idle();
    let wrong = scripted(STREET_IN_CITY);
    let workload = "[workload]\nname = \"person\"\noperation = \"getPerson\"\n";
    world.experiment_with(workload, &[&format!("name = \"wrong\"\nurl = \"{}\"", wrong.url())]);
    let ended = world.run(&[]).end();
    ended.assert_error(&["`wrong`", "/location/city", "oudendijk"]);
    assert_eq!(world.count("warm"), 0, "{ended}");
}

/// A relay's report in the form of the contract, with the digest of another person.
const ANOTHER: &str = r#"{"duration_ns": 1000, "calls": 1, "digest": "672984e7f5987eb1"}"#;

#[test]
fn a_relay_whose_client_read_something_else_ends_a_run_before_anything_is_timed() {
    let world = World::idle();
    let relay = scripted(ANOTHER);
    let workload = "[workload]\nname = \"person-client\"\noperation = \"getPerson\"\n";
    world.experiment_with(workload, &[&format!("name = \"careless\"\nurl = \"{}\"", relay.url())]);
    let ended = world.run(&[]).end();
    ended.assert_error(&["`careless`", "`digest` is `672984e7f5987eb1`", "instead of `cc063a70c1f917ae`"]);
    assert_eq!(world.count("warm"), 0, "{ended}");
}

#[test]
fn a_relay_without_a_client_for_the_protocol_is_told_which_it_has() {
    service::build("rust");
    let world = World::idle();
    let text = "[workload]\nname = \"person-client\"\n[[variant]]\nservice = \"rust\"\n\
                peer = { service = \"go\", protocol = \"thrift-binary\" }\n";
    world.write("experiment.toml", text);
    let run = world.run(&[]).with_services().end();
    run.assert_error(&["`rust` has no client that calls `person` over `thrift-binary`", "`grpc-avro`"]);
}

#[test]
fn a_call_is_split_into_server_and_client_over_each_protocol() {
    measuring(|| {
        service::build("rust");
        let world = World::new();
        let relay = |protocol: &str| {
            format!("service = \"rust\"\npeer = {{ service = \"rust\", protocol = \"{protocol}\" }}")
        };
        world.experiment_with(
            "[workload]\nname = \"person-client\"\noperations = [\"listPersons\", \"getMissing\"]\n",
            &[
                &relay("http1-json"),
                &relay("grpc"),
                "name = \"json alone\"\nservice = \"rust\"",
                "name = \"grpc alone\"\nservice = \"rust\"\nprotocol = \"grpc\"",
            ],
        );
        let ended = world.run(&[]).with_services().end();
        ended.assert_measured();
        assert!(ended.stdout.contains("where the time went"), "{ended}");
        let summary = world.json("summary.json");
        let relays = summary["relays"].as_array().expect("relays");
        let directs: Vec<_> = relays.iter().map(|relay| (&relay["variant"], &relay["direct"])).collect();
        let (json, grpc) = ("rust to rust".into(), "rust to rust over grpc".into());
        assert_eq!(directs, [(&json, &"json alone".into()), (&grpc, &"grpc alone".into())]);
        for relay in relays {
            let mean = |part: &str| {
                let parts = relay["parts"].as_array().expect("parts");
                let of = parts.iter().find(|one| one["part"] == part).unwrap_or_else(|| panic!("no {part}"));
                of["mean_ns"]["point"].as_f64().expect("a mean")
            };
            assert_eq!(relay["failed"], 0, "{relay}");
            let (inside, split) = (mean("inside"), mean("server") + mean("client"));
            assert!((inside - split).abs() <= 1e-9 * inside, "{relay}");
        }
        for variant in summary["variants"].as_array().expect("variants") {
            assert_eq!(variant["errors"], 0, "{variant}");
        }
    });
}

#[test]
fn people_that_differ_from_point_to_point_are_refused_before_anything_is_started() {
    service::build("rust");
    let world = World::idle();
    let text = "[workload]\nname = \"person\"\noperation = \"listPersons\"\n[matrix]\nworkload.persons = [4, 5]\n\
                [[variant]]\nservice = \"rust\"\n[[variant]]\nservice = \"go\"\n";
    world.write("experiment.toml", text);
    let run = world.run(&[]).with_services().end();
    run.assert_error(&["workload.persons = 4", "workload.persons = 5", "one experiment for each"]);
    assert!(world.run_folders().is_empty());
}

#[test]
fn what_framing_and_codec_cost_is_told_with_intervals() {
    measuring(|| {
        service::build("rust");
        let world = World::new();
        let text = "[workload]\nname = \"person\"\noperation = \"getPerson\"\n[load]\nwarmup = \"50 ms\"\n\
                    [plan]\nblocks = { min = 4, max = 4 }\nbudget = \"6 s\"\nwindow = \"5 ms\"\ntogether = 4\n\
                    [matrix]\nservice = [\"rust\"]\nprotocol.framing = [\"http2\", \"grpc\"]\n\
                    protocol.codec = [\"json\", \"avro\"]\n";
        world.write("experiment.toml", text);
        let ended = world.run(&["--format", "json"]).with_services().end();
        ended.assert_measured();
        let summary = ended.json();
        let factorial = &summary["factorials"][0];
        assert_eq!(
            (&factorial["of"], &factorial["tables"][0]["figures"][1].as_array().map(Vec::len)),
            (&"rust".into(), &Some(2)),
            "{factorial}"
        );
        let tables = factorial["tables"].as_array().expect("tables");
        let table =
            |quantity: &str| tables.iter().find(|table| table["quantity"] == quantity).expect(quantity);
        let (bytes, payload) = (table("bytes_per_operation"), table("payload_bytes_per_operation"));
        let codec = |table: &serde_json::Value| table["codecs"][0]["difference"]["point"].as_f64();
        // A person is 138 bytes shorter in Avro, and a head does not grow by them.
        assert!(codec(bytes).is_some_and(|bytes| (-145.0..=-130.0).contains(&bytes)), "{bytes}");
        // Over gRPC the id that is asked for is 8 bytes shorter too.
        assert!(codec(payload).is_some_and(|payload| (payload + 142.0).abs() < 0.01), "{payload}");
        // What frames a call is the same whatever it carries: bytes are payload and framing.
        for framing in 0..2 {
            let figure = |table: &serde_json::Value, codec: usize| {
                table["figures"][framing][codec]["point"].as_f64().expect("a figure")
            };
            let [json, avro] = [0, 1].map(|codec| figure(bytes, codec) - figure(payload, codec));
            assert!(json > 0.0 && (json - avro).abs() < 0.01 * figure(bytes, 1), "{bytes} {payload}");
        }
    });
}

#[test]
fn a_service_is_started_by_hand_with_a_workload_a_protocol_and_its_people() {
    service::build("rust");
    let world = World::idle();
    let services = |words: &[&str]| {
        world.weigh(&[&["services", "start", "rust", "--port", "0"], words].concat()).with_services()
    };
    let weigh = services(&["--workload", "person", "--protocol", "http1-json"]).start();
    eventually("its URL", || weigh.stdout().starts_with("http://127.0.0.1:"));
    let address = weigh.stdout().trim().trim_start_matches("http://").to_owned();
    assert!(get(&address, "/person/1").contains("oudendijk"));
    weigh.end_by("INT").assert_code(0);
    world.assert_nothing_left();
    let ended = services(&["--workload", "persons"]).end();
    ended.assert_error(&["does not offer the workload `persons`", "`pingpong`", "`person`"]);
    let ended = services(&["--workload", "person", "--protocol", "thrift-binary"]).end();
    ended.assert_error(&["does not offer the protocol `thrift-binary`", "`grpc-avro`"]);
}

#[test]
fn a_session_has_a_time_of_its_own_on_four_connections_and_on_one_channel() {
    measuring(|| {
        service::build("rust");
        let world = World::new();
        let text = "[workload]\nname = \"person\"\noperation = \"programComposition\"\n\
                    [load]\nconnections = 4\nwarmup = \"50 ms\"\n\
                    [plan]\nblocks = { min = 4, max = 4 }\nbudget = \"4 s\"\nwindow = \"10 ms\"\n\
                    [[variant]]\nname = \"rest\"\nservice = \"rust\"\n\
                    [[variant]]\nname = \"grpc\"\nservice = \"rust\"\nprotocol = \"grpc\"\nconnections = 1\nin_flight = 4\n";
        world.write("experiment.toml", text);
        let ended = world.run(&["--format", "json"]).with_services().end();
        ended.assert_measured();
        let summary = ended.json();
        let slots = serde_json::json!({ "connections": 1, "in_flight": 4, "pipelined": false });
        let [rest, grpc] = &summary["variants"].as_array().expect("variants")[..] else { panic!("{ended}") };
        assert_eq!((rest.get("slots"), &grpc["slots"]), (None, &slots), "{ended}");
        for variant in [rest, grpc] {
            assert_eq!(variant["errors"], 0, "{ended}");
            let mean = |operation: &str| {
                let figures = variant["figures"].as_array().expect("figures");
                let is_it = |one: &&serde_json::Value| {
                    one["operation"] == operation && one["quantity"] == "response_mean"
                };
                figures.iter().find(is_it).and_then(|one| one["estimate"]["point"].as_f64()).expect(operation)
            };
            // Windows cut sessions, so calls that began one are a little more than an eighth.
            let ratio = mean("programComposition") / mean("all");
            assert!((7.5..=8.5).contains(&ratio), "{ratio}: {ended}");
        }
    });
}
