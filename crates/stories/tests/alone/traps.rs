//! Traps: services whose figures would mislead, each planted by a probe, each in a whole run. The run must see through it:
//! extend what is too short, or say what is wrong.
//!
//! What is asserted is what the run says and what its record holds, never how fast anything was. Effects are planted large,
//! so that a machine that is busy with other things shows them too; the traps that such a machine springs or hides by
//! itself run with the tests of accuracy, by `make accuracy`. One run without a trap is compared with all the names
//! that the others look for.

use std::fs;

use serde_json::Value;
use weighbridge_model::id::VariantId;
use weighbridge_model::record::{TrialRecord, WindowKind, WindowRecord};
use weighbridge_probe::record::from_csv;
use weighbridge_store::RunFolder;

use crate::support::server::{self, GOOD, Server};
use crate::support::{World, measuring, probe};

/// What the traps are called by. A run without one must not be called any of it.
const NAMES: [&str; 12] = [
    "drift",
    "not warm",
    "depends on turns",
    "depends on window",
    "carry-over",
    "two levels",
    "two levels of starts",
    "drift through the run",
    "pauses",
    "reconnects",
    "errors",
    "unequal errors",
];

/// A finished run.
struct Run {
    summary: Value,
    trials: Vec<TrialRecord>,
    said: String,
}

/// What a story says when it did not hold.
type Told = Result<(), String>;

/// Ends a story that does not hold.
macro_rules! hold {
    ($holds:expr, $($words:tt)+) => {
        let holds: bool = $holds;
        if !holds {
            return Err(format!($($words)+));
        }
    };
}

#[track_caller]
fn story(tell: impl Fn() -> Told) {
    measuring(|| tell().unwrap_or_else(|miss| panic!("the story did not hold: {miss}")));
}

impl Run {
    /// A run of pongs on these variants; `load` and `plan` are lines of those tables.
    fn measure(world: &World, load: &str, plan: &str, variants: &[String]) -> Self {
        let variants: String = variants.iter().map(|lines| format!("[[variant]]\n{lines}\n")).collect();
        let load = format!("[load]\ntimeout = \"2 s\"\n{load}\n");
        let text =
            format!("title = \"trap\"\n[workload]\nname = \"pingpong\"\n{load}[plan]\n{plan}\n{variants}");
        world.write("experiment.toml", &text);
        let ended = world.run(&["--format", "json"]).end();
        ended.assert_measured();
        let folder = RunFolder::open(world.run_folder()).expect("a run");
        let trials = folder.load_blocks().expect("its record").into_iter().flatten().collect();
        Self { summary: ended.json(), trials, said: ended.stderr.clone() + &findings_of(&ended.json()) }
    }

    /// The evidence of a finding about a variant, or about the run.
    fn finding(&self, name: &str, subject: &str) -> Option<&str> {
        let findings = self.summary["findings"].as_array().expect("findings");
        let found = findings.iter().find(|f| f["name"] == name && f["subject"] == subject);
        found.map(|finding| finding["evidence"].as_str().expect("evidence"))
    }

    /// Names of findings that only a trap is called by.
    fn caught(&self) -> Vec<&str> {
        let findings = self.summary["findings"].as_array().expect("findings").iter();
        findings.filter_map(|f| f["name"].as_str()).filter(|name| NAMES.contains(name)).collect()
    }

    /// The verdict on the headline of the only cost, and what is said of it.
    fn headline(&self) -> (&str, &str) {
        let cost = &self.summary["costs"][0];
        assert_eq!(cost["headline"], true, "{cost}");
        (cost["verdict"].as_str().expect("a verdict"), cost["reason"].as_str().unwrap_or_default())
    }

    fn trials_of(&self, variant: u16) -> impl Iterator<Item = &TrialRecord> {
        self.trials.iter().filter(move |trial| trial.variant == VariantId(variant))
    }

    fn windows(&self, variant: u16, kind: WindowKind) -> impl Iterator<Item = &WindowRecord> {
        self.trials_of(variant).flat_map(|trial| &trial.windows).filter(move |w| w.kind == kind)
    }
}

/// The findings, a line each.
fn findings_of(summary: &Value) -> String {
    let findings = summary["findings"].as_array().into_iter().flatten();
    findings.map(|f| format!("{} ({}): {}\n", f["name"], f["subject"], f["evidence"])).collect()
}

fn longest(window: &WindowRecord) -> u64 {
    window.figures.all.as_ref().map_or(0, |all| all.response_max.as_nanos())
}

fn two(baseline: &str, variant: &str) -> Vec<String> {
    vec![probe("steady", baseline), probe("trap", variant)]
}

// --- No trap ------------------------------------------------------------------------------------------------------

#[test]
fn a_run_without_a_trap_is_called_by_none_of_their_names() {
    story(|| {
        let world = World::new();
        let plan = "blocks = { min = 6, max = 6 }\nbudget = \"9 s\"\nwindow = \"10 ms\"";
        let run = Run::measure(&world, "warmup = \"100 ms\"", plan, &two("delay 100us", "delay 100us"));
        hold!(run.caught().is_empty(), "{:?}: {}", run.caught(), run.said);
        Ok(())
    });
}

// --- Warming ------------------------------------------------------------------------------------------------------

const FOUR_BLOCKS: &str = "blocks = { min = 4, max = 4 }\nbudget = \"6 s\"\nwindow = \"10 ms\"";

#[test]
#[ignore = "measures: needs a release build and a quiet machine"]
fn a_server_that_becomes_faster_is_warmed_until_it_is_steady() {
    story(|| {
        let world = World::new();
        // 250 ms of becoming faster, where 100 ms of warm-up are asked for.
        let trap = two("delay 100us", "trend --from 400us --to 100us --over 1000");
        let run = Run::measure(&world, "warmup = \"100 ms\"", FOUR_BLOCKS, &trap);
        for trial in run.trials_of(1) {
            let warming = trial.windows.iter().filter(|window| window.kind == WindowKind::WarmUp);
            let requests: u64 = warming.map(|window| window.figures.requests).sum();
            hold!(requests >= 1_000, "measured after {requests} of 1,000 requests: {}", run.said);
        }
        hold!(run.finding("not warm", "trap").is_none(), "{}", run.said);
        hold!(run.finding("drift", "trap").is_none(), "{}", run.said);
        Ok(())
    });
}

#[test]
fn a_server_that_becomes_faster_for_longer_than_the_longest_warm_up_is_found_to_drift() {
    story(|| {
        let world = World::new();
        // Faster for four seconds, of which the longest warm-up is less than a third; what of a block remains, too.
        let plan = "blocks = { min = 4, max = 4 }\nbudget = \"10 s\"\nwindow = \"10 ms\"";
        let trap = two("delay 100us", "trend --from 400us --to 100us --over 4s");
        let run = Run::measure(&world, "warmup = \"20 ms\"", plan, &trap);
        let drift = run.finding("drift", "trap").unwrap_or_default();
        hold!(drift.contains("by -"), "{drift}: {}", run.said);
        assert_ne!(run.summary["variants"][1]["validity"], "valid", "{}", run.said);
        Ok(())
    });
}

#[test]
#[ignore = "measures: needs a release build and a quiet machine"]
fn a_warm_up_that_ends_with_its_time_is_told() {
    story(|| {
        let world = World::new();
        // Over the longest warm-up, 1.2 s, by a third and more in each half second: three times what may pass for noise.
        // On a busy machine it may be told as a change whose direction is not sure.
        let trap = two("delay 100us", "trend --from 4ms --to 100us --over 1500ms");
        let run = Run::measure(&world, "warmup = \"20 ms\"", FOUR_BLOCKS, &trap);
        let cold = run.finding("not warm", "trap").unwrap_or_default();
        hold!(cold.contains("response p50 still"), "{cold}: {}", run.said);
        hold!(run.finding("not warm", "steady").is_none(), "{}", run.said);
        Ok(())
    });
}

#[test]
#[ignore = "measures: needs a release build and a quiet machine"]
fn a_server_that_becomes_faster_all_at_once_after_the_warm_up_is_flagged() {
    story(|| {
        let world = World::new();
        // Steady for 2,500 requests, then faster: a compiler that has waited long enough.
        let trap = two("delay 100us", "cold --idle 10h --requests 2500 --cold 200us --warm 100us");
        let plan = "blocks = { min = 4, max = 4 }\nbudget = \"10 s\"\nwindow = \"10 ms\"";
        let run = Run::measure(&world, "warmup = \"20 ms\"", plan, &trap);
        let drift = run.finding("drift", "trap").unwrap_or_default();
        hold!(drift.contains("by -"), "{drift}: {}", run.said);
        Ok(())
    });
}

// --- Leaking ------------------------------------------------------------------------------------------------------

#[test]
fn a_server_that_becomes_slower_all_its_life_is_flagged() {
    story(|| {
        let world = World::new();
        let plan = "blocks = { min = 4, max = 4 }\nbudget = \"8 s\"\nwindow = \"10 ms\"";
        let trap = two("delay 100us", "trend --from 100us --to 200us --over 4s");
        let run = Run::measure(&world, "warmup = \"50 ms\"", plan, &trap);
        let drift = run.finding("drift", "trap").unwrap_or_default();
        hold!(drift.contains("changed by") && !drift.contains("by -"), "{drift}: {}", run.said);
        Ok(())
    });
}

// --- Pausing ------------------------------------------------------------------------------------------------------

/// A run of a probe that stops for 100 ms in every so much running time; `gap` is what a freeze counts for.
fn pausing(world: &World, every: &str, budget: &str) -> Run {
    let law = |every: &str| format!("periodic-stall --every {every} --length 100ms --gap 1ms --record {{}}");
    let record = |law: String, name: &str| law.replace("{}", &world.path(name).display().to_string());
    let trap = two(&record(law("10h"), "steady"), &record(law(every), "trap"));
    let plan = format!("blocks = {{ min = 4, max = 4 }}\nbudget = \"{budget}\"\nwindow = \"5 ms\"");
    Run::measure(world, "warmup = \"50 ms\"", &plan, &trap)
}

/// How often the probe stopped, by its own account.
fn stops(world: &World) -> usize {
    let files =
        fs::read_dir(world.path("trap")).expect("its records").map(|entry| entry.expect("a file").path());
    let served = files.flat_map(|path| from_csv(&fs::read_to_string(path).expect("text")).expect("a record"));
    served.filter(|request| request.spent().as_nanos() >= 100_000_000).count()
}

/// Windows of the pausing variant that hold a stop. None may be missing from the record.
fn windows_with_stops(run: &Run) -> usize {
    let windows = run.trials_of(1).flat_map(|trial| &trial.windows);
    windows.filter(|window| longest(window) >= 100_000_000).count()
}

#[test]
fn a_server_that_pauses_again_and_again_is_said_to_and_its_totals_hold_every_pause() {
    story(|| {
        let world = World::new();
        let run = pausing(&world, "500ms", "10 s");
        let (stops, seen) = (stops(&world), windows_with_stops(&run));
        assert!(stops >= 4 && seen >= stops, "{seen} of {stops} stops are in the record: {}", run.said);
        let pauses = run.finding("pauses", "trap").unwrap_or_default();
        hold!(pauses.contains("hold a pause near 1") && pauses.contains(" ms"), "{pauses}: {}", run.said);
        let (verdict, _) = run.headline();
        hold!(verdict == "no relevant difference" || verdict == "undecided", "the p50: {}", run.said);
        let cost = |quantity: &str| {
            let costs = run.summary["costs"].as_array().expect("costs");
            costs.iter().find(|cost| cost["quantity"] == quantity).expect("a row").clone()
        };
        let mean = cost("response_mean");
        let upper = mean["ratio"]["upper"].as_f64().expect("an interval");
        hold!(upper > 1.1, "the mean holds a fifth of pauses: {mean}");
        Ok(())
    });
}

#[test]
fn a_pause_that_comes_once_in_a_block_widens_what_it_is_in_and_is_said_to() {
    story(|| {
        let world = World::new();
        // About a second of running time in a block, and a stop after the first of every two.
        let run = pausing(&world, "1s", "10 s");
        let (stops, seen) = (stops(&world), windows_with_stops(&run));
        assert!(seen >= stops, "{seen} of {stops} stops are in the record: {}", run.said);
        hold!(stops >= 2, "only {stops} stops");
        let told = ["pauses", "few tail events"].iter().any(|name| run.finding(name, "trap").is_some());
        hold!(told, "{}", run.said);
        let costs = run.summary["costs"].as_array().expect("costs");
        let mean = costs.iter().find(|cost| cost["quantity"] == "response_mean").expect("a row");
        assert_ne!(mean["verdict"], "no relevant difference", "{mean}");
        Ok(())
    });
}

// --- Cold after standing still --------------------------------------------------------------------------------------

// On a machine that is busy otherwise it is cold all the time, and then there is no trap.
#[test]
#[ignore = "measures: needs a release build and a quiet machine"]
fn a_cache_that_is_cold_after_each_freeze_is_no_silent_bias() {
    story(|| {
        let world = World::new();
        let plan = "blocks = { min = 6, max = 6 }\nbudget = \"8 s\"\nwindow = \"30 ms\"";
        // As fast as the baseline while it runs, and slow for most of a window after it has stood still for 15 ms.
        let trap = two("delay 50us", "cold --idle 15ms --requests 500 --cold 100us --warm 50us");
        let run = Run::measure(&world, "warmup = \"200 ms\"", plan, &trap);
        let turns = run.finding("depends on turns", "trap").unwrap_or_default();
        hold!(turns.contains("without a break"), "{}", run.said);
        let (_, reason) = run.headline();
        assert!(reason.contains("slower or faster after idling"), "the row says so too: {reason}");
        Ok(())
    });
}

#[test]
#[ignore = "measures: needs a release build and a quiet machine"]
fn what_is_cold_for_two_requests_is_in_the_lead_in_and_not_in_the_window() {
    story(|| {
        let world = World::new();
        let trap = two("delay 100us", "cold --idle 15ms --requests 2 --cold 8ms --warm 100us");
        let run =
            Run::measure(&world, "warmup = \"50 ms\"", FOUR_BLOCKS.replace("10 ms", "20 ms").as_str(), &trap);
        let slow = |kind| {
            let all: Vec<bool> = run.windows(1, kind).map(|window| longest(window) >= 8_000_000).collect();
            all.iter().filter(|slow| **slow).count() as f64 / all.len() as f64
        };
        // Every other turn follows one's own in the round before: it has not stood still.
        hold!(slow(WindowKind::LeadIn) > 0.4, "{} of the lead-ins are slow", slow(WindowKind::LeadIn));
        hold!(slow(WindowKind::Measured) < 0.2, "{} of the windows are slow", slow(WindowKind::Measured));
        Ok(())
    });
}

// --- Connections that are closed --------------------------------------------------------------------------------------

// A machine that keeps the probe from running for 60 ms closes them in windows too.
#[test]
#[ignore = "measures: needs a release build and a quiet machine"]
fn connections_closed_while_a_variant_stands_still_are_opened_in_the_lead_in_and_cost_nothing() {
    story(|| {
        let world = World::new();
        let plan = "blocks = { min = 4, max = 4 }\nbudget = \"6 s\"\nwindow = \"100 ms\"";
        let trap = two("delay 50us", "delay 50us --close-idle 60ms");
        let run = Run::measure(&world, "warmup = \"50 ms\"\nconnections = 4", plan, &trap);
        let opened = |kind| run.windows(1, kind).map(|window| window.figures.connects).sum::<u64>();
        let rounds = run.windows(1, WindowKind::Measured).count() as u64;
        // Half of the turns follow one's own in the round before, without a pause between them.
        hold!(opened(WindowKind::LeadIn) >= rounds, "{} in {rounds} lead-ins", opened(WindowKind::LeadIn));
        hold!(opened(WindowKind::Measured) == 0, "{}", run.said);
        hold!(run.summary["variants"][1]["errors"] == 0, "{}", run.said);
        let (verdict, _) = run.headline();
        hold!(verdict == "no relevant difference" || verdict == "undecided", "{}", run.said);
        Ok(())
    });
}

#[test]
fn connections_closed_in_the_middle_of_windows_are_counted_and_told() {
    story(|| {
        let world = World::new();
        let trap = two("delay 50us", "delay 50us --close-after 20");
        let run = Run::measure(&world, "warmup = \"50 ms\"\nconnections = 4", FOUR_BLOCKS, &trap);
        let told = run.finding("reconnects", "trap").unwrap_or_default();
        let connects = run.summary["variants"][1]["connects"].as_u64().expect("counted");
        let requests = run.summary["variants"][1]["requests"].as_u64().expect("counted");
        hold!(told.starts_with(&format!("{connects} connections")), "{told}: {}", run.said);
        hold!(connects >= requests / 25 && connects <= requests / 15, "{connects} for {requests} requests");
        hold!(run.summary["variants"][1]["errors"] == 0, "it announces the end: {}", run.said);
        hold!(run.summary["variants"][0]["connects"] == 0, "{}", run.said);
        Ok(())
    });
}

#[test]
fn connections_cut_without_a_word_in_the_middle_of_windows_are_errors_or_told() {
    story(|| {
        let world = World::new();
        let pong = |stream: &mut std::net::TcpStream| {
            server::read_head(stream) && std::io::Write::write_all(stream, GOOD).is_ok()
        };
        let whole = Server::start(move |mut stream, _| while pong(&mut stream) {});
        let cutting = Server::start(move |mut stream, _| {
            let _ = (0..50).all(|_| pong(&mut stream));
        });
        let http = "name = \"http\"\n[[workload.request]]\npath = \"/\"\n";
        let url = |name: &str, server: &Server| {
            format!("[[variant]]\nname = \"{name}\"\nurl = \"{}\"\n", server.url())
        };
        let text = format!(
            "title = \"trap\"\n[workload]\n{http}[load]\nwarmup = \"20 ms\"\ntimeout = \"2 s\"\n\
             [plan]\nblocks = {{ min = 4, max = 4 }}\nbudget = \"3 s\"\nwindow = \"5 ms\"\n{}{}",
            url("steady", &whole),
            url("trap", &cutting)
        );
        world.write("experiment.toml", &text);
        let ended = world.run(&["--format", "json"]).end();
        ended.assert_measured();
        let summary = ended.json();
        let findings = summary["findings"].as_array().expect("findings");
        let is_found = |name: &str| findings.iter().any(|f| f["name"] == name && f["subject"] == "trap");
        hold!(is_found("reconnects") || is_found("errors"), "{ended}");
        let trap = &summary["variants"][1];
        let (errors, connects) = (trap["errors"].as_u64(), trap["connects"].as_u64());
        hold!(errors.zip(connects).is_some_and(|(errors, connects)| errors + connects > 0), "{trap}");
        Ok(())
    });
}

// --- Two levels of starts ---------------------------------------------------------------------------------------------

#[test]
fn starts_that_draw_one_of_two_speeds_are_told_apart() {
    story(|| {
        let world = World::new();
        // Every start counts, and what it is decides its speed.
        let script = format!(
            "n=$(cat {count} 2>/dev/null || echo 0); echo $((n + 1)) > {count}\n\
             case $n in 0|3|4|6|9) delay=100us;; *) delay=150us;; esac\n\
             exec {weigh} probe delay $delay",
            count = world.path("count").display(),
            weigh = crate::support::WEIGH,
        );
        let command = world.script("starts.sh", &script);
        let variants = [probe("steady", "delay 100us"), format!("name = \"trap\"\n{command}")];
        let plan = "blocks = { min = 10, max = 10 }\nbudget = \"10 s\"\nwindow = \"5 ms\"";
        let run = Run::measure(&world, "warmup = \"50 ms\"", plan, &variants);
        let levels = run.finding("two levels of starts", "trap").unwrap_or_default();
        hold!(levels.contains("in 5 starts"), "{levels}: {}", run.said);
        hold!(run.finding("depends on window", "trap").is_none(), "{}", run.said);
        Ok(())
    });
}
