//! A probe as a variant is told by its environment what to serve, as a service is.

use crate::support::{World, measuring, probe};

#[test]
fn a_probe_serves_what_its_variant_says() {
    measuring(|| {
        let world = World::new();
        let variant = |protocol: &str| format!("{}\nprotocol = \"{protocol}\"", probe(protocol, "null"));
        let variants = ["http2-protobuf", "grpc-avro", "thrift-compact", "soap"].map(variant);
        // People that are not those of the services come by `DATA`.
        let workload =
            "[workload]\nname = \"person\"\noperations = [\"listPersons\", \"getMissing\"]\npersons = 20\n";
        world.experiment_with(workload, &variants.each_ref().map(String::as_str));
        let ended = world.run(&[]).end();
        ended.assert_measured();
        for variant in world.json("summary.json")["variants"].as_array().expect("variants") {
            assert_eq!(variant["errors"], 0, "{variant}");
        }
    });
}

#[test]
fn a_probe_that_does_not_serve_the_protocol_of_its_variant_ends_the_run() {
    let world = World::idle();
    let variant = format!("{}\nprotocol = \"http2-json\"", probe("pong", "null"));
    world.experiment_with("[workload]\nname = \"pingpong\"\n", &[&variant]);
    world.run(&[]).end().assert_error(&["does not serve `pingpong` over `http2-json`", "`http1-json`"]);
}
