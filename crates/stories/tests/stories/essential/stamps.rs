//! Stories of the kernel's time stamps through the whole program: where the time went is told by every output, is the
//! whole service time, and a probe's delay is outside the client.

use serde_json::Value;

use crate::support::server::{GOOD, Server};
use crate::support::{World, probe};

/// The delay of the slower probe.
const BUSY: u64 = 200_000;

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("no number: {value}"))
}

/// The mean of the three legs together.
fn mean(stamps: &Value) -> u64 {
    ["client_send", "outside", "client_receive"].iter().map(|leg| number(&stamps[leg]["mean_ns"])).sum()
}

#[test]
fn one_url_is_told_in_legs_that_are_the_service_time() {
    let server = Server::answering(GOOD);
    let world = World::new();
    let arguments =
        ["load", &server.url(), "--kernel-timestamps", "-n", "3000", "-c", "2", "--warmup", "100ms"];
    let ended = world.weigh(&[&arguments[..], &["--format", "json"]].concat()).end();
    let figures = ended.assert_measured().json();
    let stamps = &figures["kernel_timestamps"];
    assert_eq!((number(&stamps["requests"]), number(&stamps["unmatched"])), (3_000, 0), "{ended}");
    // Means of legs are exact and rounded down; the mean of service times is of a histogram with three digits.
    let (legs, service) = (mean(stamps) as f64, number(&figures["service"]["mean_ns"]) as f64);
    assert!((legs / service - 1.0).abs() < 0.002, "{legs} of {service}");
    let text = world.weigh(&arguments).end();
    for words in ["where the service time went", "client send", "outside: wire and server", "client receive"]
    {
        assert!(text.stdout.contains(words), "`{words}`: {text}");
    }
}

#[test]
fn a_run_tells_every_variants_legs_and_a_probes_delay_is_outside() {
    let world = World::new();
    world.experiment_with(
        "[load]\nkernel_timestamps = true\nwarmup = \"20 ms\"\n",
        &[&probe("null", "null"), &probe("busy", "delay constant:time=200us")],
    );
    let ended = world.run(&["--format", "json"]).end();
    let summary = ended.assert_measured().json();
    let legs: Vec<&Value> = (0..2).map(|at| &summary["variants"][at]["kernel_timestamps"]).collect();
    for stamps in &legs {
        assert!(number(&stamps["requests"]) > 0, "{ended}");
        assert_eq!(number(&stamps["unmatched"]), 0, "{ended}");
    }
    let p50 = |leg: &str| number(&legs[1][leg]["p50_ns"]);
    // By the order of events no reply comes before its delay is over; histograms keep three digits.
    assert!(p50("outside") >= BUSY - BUSY / 1_000, "{ended}");
    assert!(p50("client_send") < p50("outside") && p50("client_receive") < p50("outside"), "{ended}");

    let run = world.run_folder();
    let file = |name: &str| std::fs::read_to_string(run.join(name)).expect("a file of the run");
    assert!(file("trials/000/stamps.csv").lines().count() > 1);
    assert!(file("report.html").contains("Where the time went"));
    let again = world.weigh(&["compare", run.to_str().expect("a plain path"), "null", "busy"]).end();
    assert!(again.stdout.contains("outside: wire and server"), "what is stored is read: {again}");
}

#[test]
fn what_cannot_be_stamped_is_refused_in_one_line() {
    let world = World::idle();
    let url = "http://127.0.0.1:1/";
    let several = ["load", url, "--kernel-timestamps", "--pipeline", "8"];
    world.weigh(&several).end().assert_error(&["`--kernel-timestamps` needs one request in flight", "not 8"]);
    let unix = world.weigh(&["load", url, "--kernel-timestamps", "--unix", "/nowhere"]).end();
    unix.assert_code(2);
    assert!(unix.says("--kernel-timestamps") && unix.says("cannot be used with"), "{unix}");
    world.experiment_with("[load]\nkernel_timestamps = true\nin_flight = 8\n", &[&probe("null", "null")]);
    world.run(&[]).end().assert_error(&["`load.kernel_timestamps` needs one request in flight", "not 8"]);
}
