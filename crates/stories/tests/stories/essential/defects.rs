//! Method defects of earlier benchmark systems whose guard is the whole program or the meeting of several crates, by the
//! number in docs/METHODOLOGY.md. Others stand beside the functions that guard against them.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;
use weighbridge_load::pace::{Flow, Schedule};
use weighbridge_load::session::Sessions;
use weighbridge_model::experiment::{Arrivals, Experiment, LoadSpec, Protocol};
use weighbridge_model::quantity::{PerSecond, Ratio, Timestamp};
use weighbridge_probe::record::{Served, from_csv};
use weighbridge_probe::runner::Sampler;
use weighbridge_store::RunFolder;
use weighbridge_workload::{Address, UrlScheme, Workload};

use crate::support::server::{self, Server};
use crate::support::{World, eventually, experiment, measuring, probe};

/// What probes recorded into this folder, one list for each life, in the order they began.
fn lives(world: &World, folder: &str) -> Vec<Vec<Served>> {
    let files = fs::read_dir(world.path(folder)).expect("records").map(|entry| entry.expect("a file").path());
    let record = |path| from_csv(&fs::read_to_string(path).expect("text")).expect("a record");
    let mut lives: Vec<Vec<Served>> =
        files.map(record).filter(|life: &Vec<Served>| !life.is_empty()).collect();
    lives.sort_by_key(|life| life[0].begin);
    lives
}

// --- 2 ------------------------------------------------------------------------------------------------------------

/// 2: a pause of 1000/rate whole milliseconds stood on both sides of the call, so that rates from 501/s to 999/s were one and
/// the same, those above 1000/s were no rate at all, and none was offered. Here a real probe is sent to at such rates: what was
/// due in a second, what was sent and what the probe served are the rate, to the request.
#[test]
fn defect_2_what_is_offered_is_the_rate_by_absolute_times_and_is_held_against_what_was_achieved() {
    let world = World::new();
    for rate in [501_u64, 999, 1_100, 1_900] {
        let record = world.path(&format!("record-{rate}")).display().to_string();
        let probe = world.weigh(&["probe", "delay", "1us", "--port", "0", "--record", &record]).start();
        eventually("the probe is ready", || probe.stdout().ends_with('\n'));
        let port = probe.stdout().trim().strip_prefix("ready ").expect("`ready <port>`").to_owned();
        let (url, per_second) = (format!("http://127.0.0.1:{port}/pong/5"), format!("{rate}/s"));
        let flags =
            ["--rate", &per_second, "--arrivals", "constant", "-d", "1s", "-c", "4", "--format", "json"];
        let ended = world.weigh(&[&["load", &url], &flags[..]].concat()).end();
        ended.assert_measured();
        probe.end_by("TERM").assert_code(0);
        let load = ended.json();
        let requests = load["requests"].as_u64().expect("a count");
        assert!(requests.abs_diff(rate) <= 1, "{requests} requests in a second at {rate}/s: {ended}");
        assert_eq!((&load["not_sent"], &load["errors"]), (&0.into(), &0.into()), "{ended}");
        let served: usize = lives(&world, &format!("record-{rate}")).iter().map(Vec::len).sum();
        assert_eq!(served as u64, requests, "what was sent is what the probe served, at {rate}/s");
        // Both are reported: replies may come later than they were due, and never make more than was offered.
        let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("{ended}"));
        let (offered, achieved) = (number(&load["load"]["offered_per_s"]), number(&load["throughput_per_s"]));
        assert!(number(&load["load"]["rate_per_s"]) == rate as f64, "{ended}");
        assert!(offered <= 1.02 * rate as f64 && achieved <= 1.02 * offered, "{offered} {achieved}: {ended}");
    }
}

// --- 8 ------------------------------------------------------------------------------------------------------------

const JSON_HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length:";

/// A server whose every reply has this body.
fn answering(body: &'static str) -> Server {
    let reply = format!("{JSON_HEAD} {}\r\n\r\n{body}", body.len());
    Server::start(move |mut stream, _| {
        while server::read_head(&mut stream)
            && std::io::Write::write_all(&mut stream, reply.as_bytes()).is_ok()
        {}
    })
}

/// The start of an experiment that asks two servers for one thing and wants their answers equal in this way.
fn asking(equal: &str, one: &Server, two: &Server) -> String {
    format!(
        "title = \"answers\"\n[workload]\nname = \"http\"\nequal = \"{equal}\"\n[[workload.request]]\nname = \"person\"\n\
         [[variant]]\nname = \"one\"\nurl = \"{}\"\n[[variant]]\nname = \"two\"\nurl = \"{}\"\n",
        one.url(),
        two.url()
    )
}

/// 8: stacks were compared that sent other payloads over other numbers of connections.
#[test]
fn defect_8_other_payloads_are_refused_and_connections_are_recorded_for_each_variant() {
    measuring(|| {
        let world = World::new();
        // One stack answers with the whole person, the other with half of it.
        let (whole, half) =
            (answering(r#"{"name":"Ann","friends":[1,2,3]}"#), answering(r#"{"name":"Ann"}"#));
        for equal in ["json", "bytes", "length"] {
            world.write("experiment.toml", &asking(equal, &whole, &half));
            let ended = world.run(&[]).end();
            ended.assert_error(&["answers to", "differ", "`one`", "`two`", "cannot be compared"]);
        }
        // One load for all variants; where a service does not keep its connections, the summary says how many it took.
        let load = "[load]\nconnections = 3\nwarmup = \"20 ms\"\n";
        let variants = [probe("keeps", "null"), probe("closes", "null --close-after 10")];
        world.write("experiment.toml", &experiment(load, &[&variants[0], &variants[1]]));
        let out = world.path("topology").display().to_string();
        let ended = world.weigh(&["run", "experiment.toml", "--out", &out, "--format", "json"]).end();
        ended.assert_measured();
        let summary = ended.json();
        let count = |variant: usize, key: &str| summary["variants"][variant][key].as_u64().expect("a count");
        assert_eq!(count(0, "connects"), 0, "{ended}");
        let (connects, requests) = (count(1, "connects"), count(1, "requests"));
        assert!((requests / 11..=requests / 9).contains(&connects), "{connects} for {requests}");
        let findings = summary["findings"].as_array().expect("findings");
        let told = findings.iter().find(|f| f["name"] == "reconnects").expect("it is told");
        assert_eq!(told["subject"], "closes");
        let run = RunFolder::latest(world.path("topology")).expect("a folder").expect("a run");
        let stored = fs::read_to_string(run.path().join("experiment.toml")).expect("the experiment");
        assert!(stored.contains("connections = 3"), "{stored}");
    });
}

// --- 10 -----------------------------------------------------------------------------------------------------------

/// 10, through the whole program: the same answer written otherwise is the same under `json`, another text under `bytes`; and
/// a wrong value is found whatever it looks like.
#[test]
fn defect_10_the_same_answer_written_otherwise_is_accepted_and_a_wrong_one_is_not() {
    let world = World::idle();
    let one = answering(r#"{"name":"Ann","age":41}"#);
    let otherwise = answering("{ \"age\": 41,\r\n  \"name\": \"Ann\" }");
    let wrong = answering(r#"{"name":"Ann","age":14}"#);
    let verify = |equal: &str, two: &Server| {
        world.write("experiment.toml", &asking(equal, &one, two));
        world.weigh(&["verify", "experiment.toml"]).end()
    };
    verify("json", &otherwise).assert_code(0);
    verify("bytes", &otherwise).assert_error(&["answers to", "differ", "SHA-256"]);
    verify("json", &wrong).assert_error(&["answers to", "differ", "`one`", "`two`"]);
    // Of the same length and status, the wrong answer passes where nothing more was asked for.
    verify("length", &wrong).assert_code(0);
}

// --- 12 -----------------------------------------------------------------------------------------------------------

/// The sizes that a probe was asked for in the windows of the first block of a run with this seed, by kind and round.
fn asked(world: &World, seed: u64, name: &str) -> BTreeMap<String, Vec<u64>> {
    let record = world.path(name).display().to_string();
    let sizes: Vec<_> = (5..37).map(|size| format!("\"{size} B\"")).collect();
    let text = format!(
        "title = \"seeds\"\n[workload]\nname = \"pingpong\"\nsizes = [{}]\n[load]\nwarmup = \"20 ms\"\n\
         [plan]\nblocks = {{ min = 4, max = 4 }}\nbudget = \"1 s\"\nwindow = \"5 ms\"\nseed = {seed}\n[[variant]]\n{}",
        sizes.join(", "),
        probe("probe", &format!("delay 1us --record {record}"))
    );
    world.write("experiment.toml", &text);
    let folder = world.path(&format!("runs-{name}"));
    world.weigh(&["run", "experiment.toml", "--out", &folder.display().to_string()]).end().assert_measured();
    let run = RunFolder::latest(&folder).expect("a folder").expect("a run");
    let windows = run.load_blocks().expect("its record").remove(0).remove(0).windows;
    // Each size is asked once for its answer; then come the windows, in the order in which they ran.
    let served: Vec<u64> = lives(world, name)[0].iter().map(|served| served.size.get()).collect();
    let (answers, mut rest) = served.split_at(sizes.len());
    assert_eq!(answers, (5..37).collect::<Vec<_>>(), "answers are asked for in the order of the file");
    let mut asked = BTreeMap::new();
    for window in windows {
        let (these, behind) = rest.split_at(window.figures.requests as usize);
        rest = behind;
        asked.insert(format!("{:?} {}", window.kind, window.round), these.to_vec());
    }
    assert!(rest.is_empty(), "the record tells of every request");
    asked
}

/// 12: the generator was unseeded, so no two runs sent the same, and parameters were read that did nothing.
#[test]
fn defect_12_a_seed_replays_the_same_requests_on_the_wire_and_another_does_not() {
    measuring(|| {
        let world = World::new();
        let (one, again, other) =
            (asked(&world, 7, "one"), asked(&world, 7, "again"), asked(&world, 8, "other"));
        // The pace of the day decides how long a window is, never what it asks.
        let (mut longest, mut differ) = (0, 0);
        for (place, sent) in &one {
            let common = |with: &BTreeMap<String, Vec<u64>>| {
                let theirs = with.get(place)?;
                let length = sent.len().min(theirs.len());
                Some((sent[..length] == theirs[..length], length))
            };
            if let Some((same, length)) = common(&again) {
                assert!(same, "{place}: {sent:?} against {:?}", again[place]);
                longest = longest.max(length);
            }
            differ += usize::from(common(&other).is_some_and(|(same, length)| !same && length >= 8));
        }
        assert!(longest >= 200, "a measured window holds 200 requests, and the same ones: {longest}");
        assert!(differ >= 10, "another seed asks for others: {differ} windows differ");
    });
}

/// 12: a parameter that does nothing is an error, in every table of an experiment.
#[test]
fn defect_12_a_key_that_nothing_reads_is_refused_in_every_table() {
    let world = World::idle();
    let whole = "title = \"x\"\n[workload]\nname = \"http\"\n#workload\n[[workload.request]]\nname = \"r\"\n#request\n\
                 [workload.request.check]\nstatus = 200\n#check\n[load]\nconnections = 1\n#load\n[plan]\nseed = 1\n#plan\n\
                 [gates]\nfail_if = [\"p50 > +2%\"]\n#gates\n[hooks]\nprepare = \"true\"\n#hooks\n\
                 [[variant]]\nname = \"v\"\nservice = \"go\"\n#variant\n";
    Experiment::parse("x", whole).expect("without the dead key it is one");
    let marks: Vec<&str> = whole.lines().filter(|line| line.starts_with('#')).collect();
    assert_eq!(marks.len(), 8);
    for mark in marks {
        world.write("experiment.toml", &whole.replace(mark, "popularity = 0.8"));
        let ended = world.weigh(&["plan", "experiment.toml"]).end();
        ended.assert_error(&["experiment.toml:", "unknown key `popularity`"]);
    }
    world.write("experiment.toml", &format!("popularity = 0.8\n{whole}"));
    world
        .weigh(&["plan", "experiment.toml"])
        .end()
        .assert_error(&["experiment.toml:1:", "unknown key `popularity`"]);
}

// --- 16 -----------------------------------------------------------------------------------------------------------

const DRAWS: usize = 50_000;

/// Kolmogorov's limit at 1 ‰: 1.9495 / √n (Smirnov 1948). Seeds are fixed, so the answer is always the same.
fn ks_limit() -> f64 {
    1.9495 / (DRAWS as f64).sqrt()
}

/// The largest distance between a sample and a distribution function.
fn ks(mut sample: Vec<f64>, law: impl Fn(f64) -> f64) -> f64 {
    sample.sort_by(f64::total_cmp);
    let n = sample.len() as f64;
    let distance = |(rank, x): (usize, &f64)| {
        let expected = law(*x);
        (expected - rank as f64 / n).abs().max(((rank + 1) as f64 / n - expected).abs())
    };
    sample.iter().enumerate().map(distance).fold(0.0, f64::max)
}

/// Pearson's statistic of counts against shares.
fn chi_square(counts: &[u64], shares: &[f64]) -> f64 {
    let n: u64 = counts.iter().sum();
    let term = |(count, share): (&u64, &f64)| (*count as f64 - n as f64 * share).powi(2) / (n as f64 * share);
    counts.iter().zip(shares).map(term).sum()
}

/// Holds a sample against its law, and against one that is a little off, which it must not fit.
fn fits(name: &str, sample: Vec<f64>, law: impl Fn(f64) -> f64, off: impl Fn(f64) -> f64) {
    let (right, wrong) = (ks(sample.clone(), law), ks(sample, off));
    assert!(right < ks_limit(), "{name}: {right}");
    assert!(wrong > ks_limit(), "{name}: the test would not notice: {wrong}");
}

fn exponential(mean: f64) -> impl Fn(f64) -> f64 {
    move |x| 1.0 - (-x / mean).exp()
}

fn arrivals(law: Arrivals) -> Vec<f64> {
    let flow = Flow::steady(PerSecond::new(1_000.0).expect("a rate"), law);
    let mut schedule = Schedule::new(&flow, 16, Timestamp::from_nanos(0));
    (0..=DRAWS).map_while(|_| schedule.next_arrival()).map(|at| at.as_nanos() as f64).collect()
}

fn delays(law: &str) -> Vec<f64> {
    let mut sampler = Sampler::new(law.parse().expect("a law"), 16);
    (0..DRAWS).map(|_| sampler.draw().as_nanos() as f64).collect()
}

/// How often a stream draws each of its requests.
fn drawn(weights: &[f64]) -> Vec<u64> {
    let requests: String = weights
        .iter()
        .enumerate()
        .map(|(at, weight)| format!("[[workload.request]]\nname = 'r{at}'\nweight = {weight}\n"))
        .collect();
    let text = format!("[workload]\nname = 'http'\n{requests}[[variant]]\nservice = 'x'");
    let spec = Experiment::parse("mix", &text).expect("an experiment").points.remove(0).workload;
    let address = Address { authority: "h:1".into(), base: "/".into(), scheme: UrlScheme::default() };
    let workload =
        Workload::new(&spec, &LoadSpec::default(), Protocol::HTTP1_JSON, &address, &|_| None).expect("binds");
    let mut sessions: Box<dyn Sessions> = workload.sessions();
    sessions.prepare(1);
    sessions.rewind(16);
    let mut counts = vec![0; weights.len()];
    (0..DRAWS).for_each(|_| counts[sessions.open(0).0 as usize] += 1);
    counts
}

/// 16: keys were drawn uniformly where they should have been popular, sizes were not tied to keys, and a normal law used one
/// random number for radius and angle. Every law that is drawn from here is held against its closed form.
#[test]
fn defect_16_every_law_that_is_drawn_from_has_its_closed_form() {
    let gaps: Vec<f64> = arrivals(Arrivals::Poisson).windows(2).map(|two| two[1] - two[0]).collect();
    fits("Poisson gaps", gaps, exponential(1e6), exponential(1.05e6));
    let moved = |share: f64| -> Vec<f64> {
        let times = arrivals(Arrivals::Jitter(Ratio::new(share)));
        times.iter().take(DRAWS).enumerate().map(|(k, at)| (at / 1e6 - k as f64) / (2.0 * share)).collect()
    };
    fits("jitter", moved(0.4), |u| u.clamp(0.0, 1.0), |u| (u - 0.02).clamp(0.0, 1.0));
    fits("exponential delays", delays("exponential:mean=1ms"), exponential(1e6), exponential(1.05e6));
    fits(
        "uniform delays",
        delays("uniform:low=1ms,high=3ms"),
        |x| ((x - 1e6) / 2e6).clamp(0.0, 1.0),
        |x| ((x - 1e6) / 2.1e6).clamp(0.0, 1.0),
    );
    // Two values: χ² with one degree of freedom, 10.83 at 1 ‰.
    let slow =
        delays("bimodal:low=100us,high=2ms,share=5%").iter().filter(|time| **time == 2e6).count() as u64;
    let two = [slow, DRAWS as u64 - slow];
    let (right, wrong) = (chi_square(&two, &[0.05, 0.95]), chi_square(&two, &[0.06, 0.94]));
    assert!(right < 10.83 && wrong > 10.83, "{two:?}: {right}, {wrong}");
    // Five weights: four degrees of freedom, 18.47 at 1 ‰. As many of each, which was the defect, is told apart.
    let weights = [1.0, 2.5, 0.5, 4.0, 2.0];
    let counts = drawn(&weights);
    let (right, even) = (chi_square(&counts, &weights.map(|w| w / 10.0)), chi_square(&counts, &[0.2; 5]));
    assert!(right < 18.47 && even > 18.47, "{counts:?}: {right}, {even}");
}

// --- All of them --------------------------------------------------------------------------------------------------

/// Each of the 17 defects has at least one test that is named after it.
#[test]
fn every_known_defect_has_a_test_of_its_name() {
    let crates = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let mut folders = vec![std::path::PathBuf::from(crates)];
    let mut text = String::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            match path.extension() {
                _ if path.is_dir() => folders.push(path),
                Some(end) if end == "rs" => text.push_str(&fs::read_to_string(&path).expect("text")),
                _ => {}
            }
        }
    }
    let tests: Vec<&str> = text
        .split("#[test]")
        .skip(1)
        .filter_map(|rest| rest.split("fn ").nth(1)?.split('(').next())
        .collect();
    let lacking: Vec<u32> = (1..=17)
        .filter(|number| !tests.iter().any(|name| name.starts_with(&format!("defect_{number}_"))))
        .collect();
    assert!(lacking.is_empty(), "no test is named after defects {lacking:?}");
}
