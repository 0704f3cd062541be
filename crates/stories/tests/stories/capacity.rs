//! Stories of the search for capacity: probes whose capacity is known, in one command and from a file; what is said where
//! there is only a limit; and runs that are stopped in it.

use std::fs;

use serde_json::Value;

use crate::support::{World, eventually, measuring, probe};

/// Exponential times: an M/M/1 queue, whose mean response time is 1 / (μ − λ).
const FAST: &str = "delay exponential:mean=400us";
const SLOW: &str = "delay exponential:mean=800us";
/// The rates at which these means are 4 ms: μ − 1 / 4 ms.
const FAST_CAPACITY: f64 = 2_500.0 - 250.0;
const SLOW_CAPACITY: f64 = 1_250.0 - 250.0;

fn write(world: &World, capacity: &str, variants: &[&str]) {
    write_with(world, "", capacity, variants);
}

fn write_with(world: &World, load: &str, capacity: &str, variants: &[&str]) {
    let variants: String = variants.iter().map(|variant| format!("[[variant]]\n{variant}\n")).collect();
    let text = format!(
        "title = \"capacity\"\n[workload]\nname = \"pingpong\"\n[load]\nwarmup = \"50 ms\"\n{load}\n[capacity]\n{capacity}\n\
         [plan]\nblocks = {{ min = 4, max = 4 }}\nbudget = \"40 s\"\n{variants}"
    );
    world.write("experiment.toml", &text);
}

fn capacity_of<'s>(summary: &'s Value, variant: &str) -> &'s Value {
    let all = summary["capacities"].as_array().expect("capacities");
    all.iter().find(|one| one["variant"] == variant).unwrap_or_else(|| panic!("{variant} in {summary}"))
}

#[test]
#[ignore = "minutes: `make accuracy` tells it"]
fn two_queues_keep_a_mean_up_to_about_what_theory_says_and_the_slower_one_less() {
    measuring(|| {
        let world = World::new();
        write(
            &world,
            "objective = [\"mean < 4 ms and errors < 0.1 %\", \"p90 < 20 ms\"]",
            &[&probe("fast", FAST), &probe("slow", SLOW)],
        );
        let ended = world.run(&["--format", "json", "--fail-if", "capacity < -5 %"]).end();
        ended.assert_code(1);
        let summary = ended.json();
        for (name, known) in [("fast", FAST_CAPACITY), ("slow", SLOW_CAPACITY)] {
            let found = capacity_of(&summary, name);
            let highest = found["highest"]["point"].as_f64().unwrap_or_else(|| panic!("{ended}"));
            // A host that takes time from the probe lowers it; nothing raises it.
            assert!((0.6 * known..1.15 * known).contains(&highest), "{name}: {found}");
            assert_eq!(found["limited_by"], "mean < 4 ms", "{found}");
        }
        let cost = &summary["costs"][0];
        assert_eq!(
            (&cost["quantity"], &cost["verdict"], &cost["effect"]),
            (&"capacity".into(), &"lower".into(), &"worse".into())
        );
        assert_eq!(
            summary["capacities"].as_array().expect("a list").len(),
            4,
            "two variants, two objectives"
        );
        let run = world.run_folder();
        for file in ["steps.csv", "steps.hlog"] {
            assert!(run.join("trials/000").join(file).is_file(), "{file}");
        }
        // What the records say again is what the run said.
        let again =
            world.weigh(&["compare", run.to_str().expect("UTF-8"), "fast", "slow", "--format", "json"]).end();
        assert_eq!(again.json()["costs"][0]["ratio"], cost["ratio"], "{again}");
        let report = fs::read_to_string(run.join("report.html")).expect("a report");
        assert!(report.contains("Highest rate"), "the page has the table");
        world.assert_nothing_left();
    });
}

#[test]
#[ignore = "minutes: `make accuracy` tells it"]
fn listed_rates_are_all_that_is_tried_and_a_high_limit_gives_at_least_the_highest() {
    measuring(|| {
        let world = World::new();
        write(&world, "objective = \"p50 < 1 s\"\nrates = [\"50/s\", \"100/s\"]", &[&probe("a", FAST)]);
        let ended = world.run(&["--format", "json", "--budget", "6 s"]).end();
        ended.assert_code(0);
        let found = ended.json()["capacities"][0].clone();
        assert_eq!(
            (&found["outcome"]["kind"], &found["highest"]),
            (&"at-most".into(), &Value::Null),
            "{found}"
        );
        assert_eq!(found["outcome"]["rate_per_s"], 100.0);
    });
}

#[test]
fn a_server_that_is_faster_than_the_generator_gives_at_least_and_exit_code_3() {
    measuring(|| {
        let world = World::new();
        // Reading JSON takes the generator several times as long as the server takes to send what it has ready.
        let text = format!(
            "title = \"capacity\"\n[workload]\nname = \"http\"\n[[workload.request]]\npath = \"/person\"\n\
             check = {{ json = {{ \"/persons/0/id\" = \"1\" }} }}\n[load]\nwarmup = \"50 ms\"\n\
             [capacity]\nobjective = \"mean < 100 ms\"\n[plan]\nblocks = {{ min = 4, max = 4 }}\n\
             [[variant]]\n{}\n",
            probe("null", "--workload person null")
        );
        world.write("experiment.toml", &text);
        let ended = world.run(&["--budget", "15 s"]).end();
        ended.assert_code(3);
        assert!(
            ended.stdout.contains("at least") && ended.stdout.contains("the generator is the limit"),
            "{ended}"
        );
        world.assert_nothing_left();
    });
}

#[test]
fn a_server_that_collapses_while_many_wait_is_called_hysteretic() {
    measuring(|| {
        // Beyond 2,500 a second it stays slow once a burst has made it so, and below it recovers. Whether a step of
        // thousands of requests meets a burst that makes six wait is chance from 3,000 to 4,500 a second.
        let world = World::new();
        let server = probe("a", "crowded --time 100us --above 5 --factor 4");
        let capacity = "objective = \"mean < 1 ms\"\nfrom = \"500/s\"";
        write_with(&world, "connections = 64", capacity, &[&server]);
        let ended = world.run(&["--details", "--budget", "20 s"]).end();
        assert!(ended.stdout.contains("hysteresis"), "{ended}");
        world.assert_nothing_left();
    });
}

/// The rates that a block measured as every block does, sorted, as its records spell them.
fn grid(world: &World, block: u32) -> Vec<String> {
    let steps = fs::read_to_string(world.run_folder().join(format!("trials/{block:03}/steps.csv")));
    let steps = steps.expect("steps");
    let mut rows = steps.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let columns = rows.next().expect("a head");
    let column = |name| columns.iter().position(|column| *column == name).expect(name);
    let (kind, rate) = (column("kind"), column("rate_per_s"));
    let mut rates: Vec<_> = rows.filter(|row| row[kind] == "grid").map(|row| row[rate].to_owned()).collect();
    rates.sort();
    rates.dedup(); // what the generator spoiled was tried again
    rates
}

#[test]
fn a_search_that_is_stopped_or_killed_goes_on_with_the_rates_that_it_had_chosen() {
    measuring(|| {
        let world = World::new();
        // A queue at 1,800 a second forgets its bursts within 20 ms, so that steps of half a second place the rates
        // surely; where a mean of 4 ms is reached it takes 150 ms, and a block may have to search anew by chance.
        write(&world, "objective = \"p50 < 1 ms\"", &[&probe("a", FAST)]);
        let mut weigh = world.run(&["--budget", "12 s"]).start();
        weigh.until_event("step", 2);
        let ended = weigh.end_by("INT");
        ended.assert_error(&["interrupted", "weigh run --resume runs/", "no block was whole"]);
        world.assert_nothing_left();
        let run = world.run_folder().to_str().expect("UTF-8").to_owned();
        let mut weigh = world.weigh(&["run", "--resume", &run]).start();
        weigh.until_event("block-ended", 1);
        weigh.until_event("phase", 8);
        weigh.end_by("KILL");
        eventually("the guardian ends everything", || world.processes("").is_empty());
        let ended = world.weigh(&["run", "--resume", &run, "--format", "json"]).end();
        ended.assert_measured();
        assert_eq!(world.blocks(), 4, "{ended}");
        let rates: Vec<_> = (0..4).map(|block| grid(&world, block)).collect();
        // A block that a busy host disturbs searches anew, beside the rates that it was given, and later ones have what
        // it found. A run that chose rates of its own when it went on would share none with the block before.
        let has_all = |some: &[String], all: &[String]| some.iter().all(|rate| all.contains(rate));
        let goes_on = |pair: &[Vec<String>]| has_all(&pair[0], &pair[1]) || has_all(&pair[1], &pair[0]);
        assert!(rates[0].len() >= 4 && has_all(&rates[0], &rates[1]), "{rates:?}\n{ended}");
        assert!(rates.windows(2).all(goes_on), "{rates:?}\n{ended}");
    });
}

#[test]
fn wrong_flags_are_one_line_with_what_is_allowed() {
    let world = World::idle();
    for (arguments, words) in [
        (
            &["capacity", "http://127.0.0.1:1/"][..],
            &["`objective` takes 1 to 8 objectives", "p99 < 10 ms"][..],
        ),
        (&["capacity", "http://127.0.0.1:1/", "-O", "p99 > 1ms"], &["an upper limit"]),
        (&["capacity", "http://127.0.0.1:1/", "-O", "p97 < 1ms"], &["allowed are mean, p50"]),
        (&["capacity", "http://127.0.0.1:1/", "-O", "GET p99 < 1ms"], &["names the operation `GET`"]),
        (&["capacity", "http://127.0.0.1:1/", "-O", "p99 < 1ms", "-r", "5"], &["--rate", "--from", "--to"]),
        (&["capacity", "http://127.0.0.1:1/", "-O", "p99 < 1ms", "-t", "2"], &["--threads"]),
        (
            &["capacity", "http://127.0.0.1:1/", "-O", "p99 < 1ms", "--from", "9", "--to", "3"],
            &["must be below `to`"],
        ),
        (&["capacity", "http://127.0.0.1:1/", "-O", "p99 < 1ms", "--rates", "5,5"], &["twice"]),
        (&["capacity", "http://127.0.0.1:1/", "-O", "p99 < 1ms", "--think", "5ms"], &["--think"]),
    ] {
        world.weigh(arguments).end().assert_error(words);
    }
    world.write(
        "experiment.toml",
        "workload.name = \"pingpong\"\n[[variant]]\nurl = \"http://127.0.0.1:1\"\n",
    );
    world.weigh(&["capacity", "none.toml"]).end().assert_error(&["none.toml", "No such file"]);
    world.weigh(&["capacity", "experiment.toml"]).end().assert_error(&["has no table `[capacity]`"]);
}
