//! Stories of the workload `person`: equal work is proven before anything is timed, and what framing and codec cost is told.

use std::io::Write;

use crate::support::server::{Server, read_head};
use crate::support::{World, measuring, service};

/// A person as the people file has it, but for the city, where the street stands again.
const STREET_IN_CITY: &str = r#"{"id":"1","name":{"title":"mr","first":"walter","last":"brinkman"},"gender":"male","location":{"street":"4093 admiraal kortenaer dijkweg","city":"4093 admiraal kortenaer dijkweg","state":"drenthe","postCode":70318},"email":"walter.brinkman@example.com","picture":null}"#;

#[test]
fn a_street_in_the_place_of_the_city_ends_a_run_before_anything_is_timed() {
    let world = World::idle();
    let wrong = Server::start(|mut stream, _| {
        while read_head(&mut stream) {
            let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length:";
            let reply = format!("{head} {}\r\n\r\n{STREET_IN_CITY}", STREET_IN_CITY.len());
            if stream.write_all(reply.as_bytes()).is_err() {
                return;
            }
        }
    });
    let workload = "[workload]\nname = \"person\"\noperation = \"getPerson\"\n";
    world.experiment_with(workload, &[&format!("name = \"wrong\"\nurl = \"{}\"", wrong.url())]);
    let ended = world.run(&[]).end();
    ended.assert_error(&["`wrong`", "/location/city", "oudendijk"]);
    assert_eq!(world.count("warm"), 0, "{ended}");
}

#[test]
fn people_that_differ_from_point_to_point_are_refused_before_anything_is_started() {
    service::build("rust");
    let world = World::idle();
    let text = "[workload]\nname = \"person\"\noperation = \"listPersons\"\n[matrix]\nworkload.persons = [4, 5]\n\
                [[variant]]\nservice = \"rust\"\n[[variant]]\nservice = \"go\"\n";
    world.write("experiment.toml", text);
    let folder = service::folder();
    let run = world.run(&[]).env("WEIGH_SERVICES", folder.to_str().expect("a plain path")).end();
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
        let home = std::env::var("HOME").expect("a home");
        let folder = service::folder();
        let run = world.run(&["--format", "json"]).env("HOME", &home);
        let ended = run.env("WEIGH_SERVICES", folder.to_str().expect("a plain path")).end();
        ended.assert_measured();
        let summary = ended.json();
        let factorial = &summary["factorials"][0];
        assert_eq!(
            (&factorial["of"], &factorial["tables"][0]["figures"][1].as_array().map(Vec::len)),
            (&"rust".into(), &Some(2)),
            "{factorial}"
        );
        let tables = factorial["tables"].as_array().expect("tables");
        let bytes = tables.iter().find(|table| table["quantity"] == "bytes_per_operation").expect("bytes");
        // A person is 138 bytes shorter in Avro, and a head does not grow by them.
        let codec = bytes["codecs"][0]["difference"]["point"].as_f64().expect("a difference");
        assert!((-145.0..=-130.0).contains(&codec), "{bytes}");
    });
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
        let home = std::env::var("HOME").expect("a home");
        let folder = service::folder();
        let run = world.run(&["--format", "json"]).env("HOME", &home);
        let ended = run.env("WEIGH_SERVICES", folder.to_str().expect("a plain path")).end();
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
