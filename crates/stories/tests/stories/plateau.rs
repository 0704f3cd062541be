//! The plateau at 40 ms on real services: told of those that leave Nagle's algorithm on, of none that turns it off, and of
//! none that takes as long by itself; told of a relay whose peer has it.
//!
//! Their toolchains are there: `make test-all` has installed them, and where one is missing this story fails and says which.

use std::fs;

use crate::support::{WEIGH, World, measuring, service};

/// Services whose server leaves Nagle's algorithm on and writes head and body apart.
const SLOW_BY_DEFAULT: [&str; 3] = ["java", "ruby", "cpp"];

/// The name of a service as its server is by default.
fn by_default(name: &str) -> String {
    format!("{name} by default")
}

/// One block of them all, in one run: what is told is told of single requests, and needs no interval.
fn experiment() -> String {
    let pairs = SLOW_BY_DEFAULT.iter().map(|name| {
        let other = by_default(name);
        format!(
            "[[variant]]\nservice = \"{name}\"\n\
             [[variant]]\nname = \"{other}\"\nservice = \"{name}\"\nenv = {{ NAGLE = \"default\" }}\n"
        )
    });
    format!(
        "title = \"plateau\"\n[workload]\nname = \"pingpong\"\nsize = \"1 kB\"\n\
         [load]\nconnections = 1\nwarmup = \"100 ms\"\n\
         [plan]\nblocks = {{ min = 1, max = 1 }}\nbudget = \"5 s\"\npairing = \"sequential\"\nwindow = \"200 ms\"\n\
         [[variant]]\nservice = \"rust\"\n{}{}",
        pairs.collect::<String>(),
        others()
    )
}

/// A server that itself takes 40 ms, and relays whose peer has the plateau or has not.
fn others() -> String {
    let probe = format!(
        "[[variant]]\nname = \"takes 40 ms\"\ncommand = \"{} probe delay 41ms --port {{port}} --quiet\"\n",
        WEIGH
    );
    let relay = |name: &str, peer: &str| {
        format!("[[variant]]\nname = \"{name}\"\nservice = \"rust\"\npeer = {peer}\n")
    };
    let stalled = "{ service = \"cpp\", env = { NAGLE = \"default\" } }";
    probe + &relay("relay of cpp", "\"cpp\"") + &relay("relay of cpp by default", stalled)
}

#[test]
fn the_plateau_of_jdk_17_webrick_and_cpp_httplib_is_told_and_no_healthy_service_is_called_by_it() {
    measuring(|| {
        let services = ["rust"].iter().chain(&SLOW_BY_DEFAULT);
        services.for_each(|name| service::build(name));
        let world = World::new();
        world.write("experiment.toml", &experiment());
        let ended = world.run(&["--format", "json"]).with_services().end();
        ended.assert_measured();
        let summary = ended.json();
        let measured = summary["variants"].as_array().expect("variants");
        assert_eq!(measured.len(), 10, "all were there: {ended}");
        let findings = summary["findings"].as_array().expect("findings").iter();
        let found = findings.filter(|finding| finding["name"] == "delayed acknowledgement");
        let mut subjects = Vec::new();
        for finding in found {
            let said = |key: &str, text: &str| finding[key].as_str().is_some_and(|said| said.contains(text));
            assert!(
                said("evidence", "40 ms (38.0 ms to 48.0 ms)") && said("remedy", "TCP_NODELAY"),
                "{finding}"
            );
            subjects.push(finding["subject"].as_str().unwrap_or_default().to_owned());
        }
        let mut expected = SLOW_BY_DEFAULT.map(by_default).to_vec();
        expected.push("relay of cpp by default".to_owned());
        assert_eq!(subjects, expected, "{ended}");
        let report = fs::read_to_string(world.run_folder().join("report.html")).expect("a report");
        assert!(report.contains("delayed acknowledgement"), "the report tells it too");
    });
}
