//! Stories of operations that run in the service's own process: `protocol = "direct"`.
//!
//! What is asserted of figures is which of two is larger, where one is many times the other by what it does.

use serde_json::Value;
use weighbridge_model::record::{TrialRecord, WindowKind};
use weighbridge_store::RunFolder;

use crate::support::service::{build, folder};
use crate::support::{World, measuring};

/// The Rust service over HTTP, and without anything between.
const VARIANTS: [&str; 2] = [
    "name = \"http\"\nservice = \"rust\"\nprotocol = \"http1-json\"",
    "name = \"direct\"\nservice = \"rust\"\nprotocol = \"direct\"",
];

/// Short windows: of the number of requests, some hundreds, that the direct variant does in so short a time.
const TABLES: &str = "[workload]\nname = \"pingpong\"\nsizes = [\"64 B\", \"1 KiB\"]\n[load]\nwarmup = \"20 ms\"\n\
    [plan]\nblocks = { min = 4, max = 4 }\nbudget = \"4 s\"\nwindow = \"50 us\"\n";

fn row<'a>(summary: &'a Value, quantity: &str) -> &'a Value {
    let rows = summary["costs"].as_array().expect("costs");
    rows.iter().find(|row| row["quantity"] == quantity).unwrap_or_else(|| panic!("no row {quantity}"))
}

fn measured(trial: &TrialRecord) -> Vec<u64> {
    let windows = trial.windows.iter().filter(|window| window.kind == WindowKind::Measured);
    windows.map(|window| window.figures.requests).collect()
}

#[test]
fn a_direct_call_costs_less_than_http_over_the_same_service() {
    measuring(|| {
        build("rust");
        let world = World::new();
        world.experiment_with(TABLES, &VARIANTS);
        let services = folder();
        let run = world.run(&["--format", "json"]);
        let ended = run.env("WEIGH_SERVICES", services.to_str().expect("UTF-8")).end();
        ended.assert_measured();
        let summary = ended.json();
        for (quantity, verdict) in [
            ("response_p50", "lower"),
            ("response_mean", "lower"),
            ("service_mean", "lower"),
            ("throughput", "higher"),
            ("cpu_per_operation", "lower"),
        ] {
            let row = row(&summary, quantity);
            assert_eq!((&row["verdict"], &row["variant"]), (&verdict.into(), &"direct".into()), "{row}");
        }
        let direct = &summary["variants"][1];
        assert_eq!((&direct["errors"], &direct["connects"]), (&0.into(), &0.into()), "{direct}");
        assert!(direct["version"].as_str().is_some_and(|version| version.starts_with("Rust ")), "{direct}");
        let figures = direct["figures"].as_array().expect("figures");
        let bytes = figures.iter().find(|figure| figure["quantity"] == "bytes_per_operation").expect("bytes");
        assert!(bytes["estimate"].is_null(), "{bytes}");
        assert!(
            bytes["reason"].as_str().is_some_and(|why| why.contains("the service's own process")),
            "{bytes}"
        );
        let findings = summary["findings"].as_array().expect("findings");
        assert!(findings.iter().all(|finding| finding["name"] != "not what it says"), "{findings:?}");
        let trials = RunFolder::open(world.run_folder()).expect("a run").load_blocks().expect("its record");
        for block in &trials {
            let [http, direct] = &block[..] else { panic!("two variants") };
            assert_eq!(measured(http), measured(direct), "the same work");
            let ok = direct.tallies[0].ok();
            assert_eq!(ok.0.len(), measured(direct).iter().sum::<u64>());
            assert!(direct.windows.iter().all(|window| window.figures.traffic.sent.get() == 0));
            assert!(direct.memory.iter().any(|role| role.peak.get() > 0));
        }
        world.assert_nothing_left();
    });
}

/// A service in shell that offers nothing but `direct` and answers windows by `answer`.
fn fake(world: &World, answer: &str) {
    world.write(
        "services/fake/service.toml",
        "name = \"fake\"\nlanguage = \"sh\"\nfreeze = \"safe\"\n\
         [workloads]\npingpong = [\"direct\"]\n[toolchain]\nprobe = [\"true\"]\nremedy = \"none\"\n[build]\ncommand = [\"true\"]\n\
         [start]\ncommand = [\"sh\", \"serve.sh\"]\n",
    );
    let script = format!(
        "[ \"$1\" = --version ] && echo sh 1 fake 1 && exit 0\necho ready direct\n\
         while read -r word number rest; do\n\
         if [ \"$word\" = reply ]; then echo poong; else {answer}; fi\ndone\n"
    );
    world.write("services/fake/serve.sh", &script);
    let tables = "[workload]\nname = \"pingpong\"\nsize = \"5 B\"\n";
    world.experiment_with(tables, &["name = \"fake\"\nservice = \"fake\"\nprotocol = \"direct\""]);
}

#[test]
fn an_answer_that_does_not_add_up_ends_the_run_with_what_was_wrong() {
    let world = World::new();
    for (answer, words) in [
        ("echo nonsense", &["`fake`", "`nonsense` is no answer", "services/README.md"][..]),
        ("echo error no time", &["`fake`", "it refuses: no time"]),
        ("echo window 99 1 5 5 0000000000000000 5:1", &["`fake`", "it answers window 99 of 1 requests"]),
        (
            "echo window $number ${rest%% *} $((${rest%% *} * 100)) 5 0000000000000000 100:${rest%% *}",
            &["`fake`", "the digest of its replies is 0000000000000000"],
        ),
    ] {
        fake(&world, answer);
        world.run(&[]).end().assert_error(words);
        world.assert_nothing_left();
    }
}

#[test]
fn a_service_that_dies_in_a_window_voids_the_block() {
    let world = World::new();
    fake(&world, "exit 7");
    let ended = world.run(&[]).end();
    assert_eq!(ended.code, Some(2), "{ended}");
    assert!(ended.says("`fake` ended with exit code 7"), "{ended}");
    world.assert_nothing_left();
}

#[test]
fn ctrl_c_while_a_window_is_waited_for() {
    let world = World::new();
    fake(&world, "sleep 600");
    let mut weigh = world.run(&[]).start();
    weigh.until_event("verified", 1);
    weigh.end_by("INT").assert_error(&["interrupted"]);
    world.assert_nothing_left();
}

#[test]
fn what_a_process_without_connections_cannot_do_is_refused_in_one_line() {
    let world = World::idle();
    let direct = "name = \"d\"\nservice = \"rust\"\nprotocol = \"direct\"";
    for (tables, variant, word) in [
        ("[load]\nmodel = \"open\"\nrate = \"100/s\"\n", direct, "`load.model` must be `closed`"),
        ("[load]\nconnections = 2\n", direct, "must be 1"),
        ("[load]\nin_flight = 2\n", direct, "must be 1"),
        ("[load]\nthink = \"1 ms\"\n", direct, "`load.think`"),
        ("[load]\nkernel_timestamps = true\n", direct, "`load.kernel_timestamps`"),
        ("[workload]\nname = \"http\"\n", direct, "`pingpong`"),
        ("[plan]\npairing = \"requests\"\n", direct, "`plan.pairing`"),
        ("", "name = \"d\"\nservice = \"rust\"\nprotocol = \"direct\"\ntls = true", "`tls`"),
        ("", "name = \"d\"\ncommand = \"server\"\nprotocol = \"direct\"", "`service`"),
    ] {
        world.experiment_with(tables, &[variant]);
        let ended = world.weigh(&["plan", "experiment.toml"]).end();
        ended.assert_error(&["experiment.toml:", "`d`", "`protocol = \"direct\"`", word]);
    }
    world.experiment_with("[plan]\npairing = \"duet\"\n", &["name = \"h\"\nservice = \"rust\"", direct]);
    let duet = world.weigh(&["plan", "experiment.toml"]).end();
    duet.assert_error(&["experiment.toml:", "`d`", "`protocol = \"direct\"`", "`plan.pairing`"]);
    world.experiment(&[direct]);
    let calibrate = world.weigh(&["calibrate", "--experiment", "experiment.toml", "--no-keep"]).end();
    calibrate.assert_error(&["`d` has no protocol", "`--only`"]);
    world.experiment(&["name = \"d\"\nurl = \"http://127.0.0.1:1/\"\nprotocol = \"direct\""]);
    world.weigh(&["plan", "experiment.toml"]).end().assert_error(&[
        "experiment.toml:",
        "`direct`",
        "not spoken",
    ]);
}
