//! Stories of `weigh load` with a shape: what is asked for is what is sent and what is told, and what means nothing is
//! refused in one line.

use std::time::Duration;

use serde_json::Value;

use crate::support::server::{GOOD, Server, read_head};
use crate::support::{Ended, World};

/// More than any of these loads may take on a slow machine.
const ON_TIME: Duration = Duration::from_secs(60);

fn good() -> Server {
    use std::io::Write;
    Server::start(|mut stream, _| while read_head(&mut stream) && stream.write_all(GOOD).is_ok() {})
}

fn load(url: &str, more: &[&str]) -> Ended {
    let mut arguments = vec!["load", url, "--format", "json"];
    arguments.extend(more);
    let ended = World::idle().weigh(&arguments).end();
    assert!(ended.took < ON_TIME, "{ended}");
    ended
}

/// The figures of a load without a failed request. A machine that is busy with other things may make them invalid.
fn figures(url: &str, more: &[&str]) -> Value {
    let ended = load(url, more);
    let figures = ended.json();
    assert_eq!((&figures["errors"], &figures["not_sent"]), (&0.into(), &0.into()), "{ended}");
    figures
}

#[test]
fn a_profile_is_passed_through_once_where_no_duration_is_given() {
    let server = good();
    let figures = figures(
        &server.url(),
        &["--profile", "steps:100/s for 200ms, 600/s for 100ms", "--arrivals", "constant"],
    );
    assert_eq!(figures["requests"], 80);
    let load = &figures["load"];
    assert_eq!((&load["model"], &load["arrivals"]), (&"open".into(), &"constant".into()));
    assert!((load["rate_per_s"].as_f64().expect("a rate") - 80.0 / 0.3).abs() < 1e-6, "{load}");
    assert!(load["profile"].as_str().expect("words").contains("2 steps"), "{load}");
}

#[test]
fn a_trace_is_played_once_and_its_mistakes_are_named_by_line() {
    let server = good();
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("a file");
        path.display().to_string()
    };
    let times = file("times.csv", "ms\n0\n10\n10\n25\n70\n");
    assert_eq!(figures(&server.url(), &["--trace", &times, "--speed", "2"])["requests"], 5);
    let wrong = file("wrong.csv", "0\n0.5\n0.4\n");
    load(&server.url(), &["--trace", &wrong]).assert_error(&["wrong.csv:3", "earlier", "sort the times"]);
    load(&server.url(), &["--trace", "nowhere.csv"])
        .assert_error(&["`nowhere.csv`", "name a file of arrival times"]);
}

#[test]
fn a_trace_says_which_operation_is_sent_when() {
    let server = good();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("times.csv");
    let play = |text: &str, more: &[&str]| {
        std::fs::write(&path, text).expect("a file");
        let mix = ["--trace", path.to_str().expect("plain"), "--mix", "GET /a", "--mix", "9 POST /b,c"];
        load(&server.url(), &[&mix, more].concat())
    };
    let text = "ms,operation\n0,GET /a\n10,\"POST /b,c\"\n10,GET /a\n25,GET /a\n70,GET /a\n";
    for more in [&[][..], &["-t", "2"], &["--churn", "1"], &["--length", "1"]] {
        let figures = play(text, more).json();
        let good = |at: usize| figures["operations"][at]["good"].as_u64().unwrap_or(0);
        assert_eq!((good(0), good(1), figures["requests"].as_u64()), (4, 1, Some(5)), "{more:?}: {figures}");
        assert_eq!((&figures["errors"], &figures["not_sent"]), (&0.into(), &0.into()), "{more:?}: {figures}");
    }
    let wrong = [
        (
            "0,GET /a\n1,POST /b\n",
            &["times.csv:2: `POST /b` is no operation", "allowed: `GET /a`, `POST /b,c`"][..],
        ),
        (
            "0,GET /a\n1,POST /b,c\n",
            &["times.csv:2: `1,POST /b,c` has more than two columns", "stands in quotes"],
        ),
        ("time,name\n0,GET /a\n", &["times.csv:1: `name` is no column", "`time,operation`"]),
    ];
    for (text, words) in wrong {
        play(text, &[]).assert_error(words);
    }
}

#[test]
fn several_threads_share_one_count_and_one_rate() {
    let server = good();
    let shared = ["-t", "3", "-c", "6", "-n", "100", "-r", "1000", "--jitter", "20%"];
    let figures = figures(&server.url(), &shared);
    assert_eq!((&figures["requests"], &figures["threads"]), (&100.into(), &3.into()));
    assert_eq!(figures["load"]["arrivals"], "jitter");
}

#[test]
fn sessions_think_and_churn_are_told() {
    let server = good();
    let sessions = ["--sessions", "100", "--length", "4", "--think", "1ms", "-n", "60", "--churn", "5"];
    let figures = figures(&server.url(), &sessions);
    assert_eq!((&figures["requests"], &figures["load"]["model"]), (&60.into(), &"partly-open".into()));
    assert_eq!(
        (&figures["load"]["sessions_per_s"], &figures["load"]["length"]),
        (&100.0.into(), &"4".into())
    );
    assert_eq!((&figures["think"], &figures["churn"]), (&"think time 1.00 ms".into(), &5.into()));
}

#[test]
fn a_mix_is_reported_operation_by_operation() {
    let server = good();
    let mix = ["--mix", "3 GET /a", "--mix", "POST /b", "--body", "x", "-n", "400"];
    let figures = figures(&server.url(), &mix);
    let operations = figures["operations"].as_array().expect("operations");
    let names: Vec<_> =
        operations.iter().map(|operation| operation["name"].as_str().expect("a name")).collect();
    assert_eq!(names, ["GET /a", "POST /b"]);
    let good: Vec<u64> =
        operations.iter().map(|operation| operation["good"].as_u64().expect("a count")).collect();
    assert_eq!(good.iter().sum::<u64>(), 400);
    // Three quarters of 400, within five standard deviations; the seed is fixed.
    assert!((257..=343).contains(&good[0]), "{good:?}");
}

#[test]
fn shapes_that_mean_nothing_are_refused() {
    let refused = |more: &[&str], parts: &[&str]| {
        load("http://127.0.0.1:1/", more).assert_error(parts);
    };
    refused(&["--arrivals", "constant"], &["`--arrivals` needs arrivals", "`--rate`"]);
    refused(&["-r", "5", "--think", "1ms"], &["`--think` has no use in open load"]);
    refused(&["-r", "5", "--length", "3"], &["`--length` belongs to sessions"]);
    refused(
        &["-r", "5", "--arrivals", "poisson", "--jitter", "5%"],
        &["`--jitter` belongs to `--arrivals jitter`"],
    );
    refused(&["-r", "5", "--jitter", "70%"], &["at most 50 %"]);
    refused(&["-r", "0"], &["`--rate` must be above zero"]);
    refused(&["--mix", "GET"], &["`[WEIGHT] METHOD PATH`"]);
    refused(&["--mix", "GET /a", "--mix", "2 GET /a"], &["`GET /a` twice"]);
}
