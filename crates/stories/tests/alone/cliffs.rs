//! Cliffs over the size of a message, planted by a probe and found by whole runs; and none where none was planted.
//!
//! What is asserted is where the run says that something happens, never how fast anything was. A machine that is busy with
//! other things hides a cliff, so one run in ten may go wrong. `CLIFF_SEEDS=1-20` tells the story of these seeds, as
//! `make accuracy` does; the figures of that are in docs/PERFORMANCE.md.

use std::ops::RangeInclusive;

use serde_json::Value;

use crate::support::{World, measuring, probe};

/// A step of 5 ms above so many bytes …
const STEP: f64 = 87_380.0;
/// … and another slope from so many on.
const CORNER: f64 = 250_000.0;

/// How far a place may be off.
const OFF: f64 = 0.05;

/// Of so many runs one may go wrong; of fewer none.
const ONE_MISS_IN: usize = 10;

/// Seeds where none are asked for.
const SEEDS: RangeInclusive<u64> = 1..=2;

const SMOOTH: &str = "cliff --step 0ms --base 500us --slope 2ns/B";
const PLANTED: &str = "cliff --step 5ms --base 500us --slope 2ns/B --corner 250kB --slope-above 6ns/B";

/// The summary of a run over 600 sizes, two seconds of measured time a block. One second gives half as many requests, and a
/// host that takes a few milliseconds now and then hides the corner in some of such runs. One after another, since the slower
/// probe answers about as many requests a second as windows in turns need at least.
fn run(seed: u64) -> Value {
    let world = World::new();
    let text = format!(
        "title = \"cliffs\"\n\
         [workload]\nname = \"pingpong\"\n\
         sizes = {{ min = \"4 B\", max = \"500 kB\", spacing = \"linear\", number = 600 }}\n\
         [load]\nconnections = 1\nwarmup = \"20 ms\"\n\
         [plan]\nblocks = {{ min = 6, max = 6 }}\nbudget = \"12 s\"\npairing = \"sequential\"\nseed = {seed}\n\
         [[variant]]\n{}\n[[variant]]\n{}\n",
        probe("smooth", SMOOTH),
        probe("planted", PLANTED)
    );
    world.write("experiment.toml", &text);
    let ended = world.run(&["--format", "json"]).end();
    ended.assert_measured();
    ended.json()
}

/// How far the place of the only cliff of this kind is off; `None` unless there is exactly one.
fn off(cliffs: &[Value], change: &str, truth: f64) -> Option<f64> {
    let mut those = cliffs.iter().filter(|cliff| cliff["change"] == change);
    let (Some(only), None) = (those.next(), those.next()) else { return None };
    Some(only["place_bytes"]["point"].as_f64()? / truth - 1.0)
}

/// How far both places are off, where exactly those two are found and both on the planted probe.
fn told(seed: u64) -> Result<[f64; 2], String> {
    let summary = run(seed);
    let cliffs = summary["over_size"]["cliffs"].as_array().cloned().unwrap_or_default();
    let of_planted = cliffs.iter().all(|cliff| cliff["variant"] == "planted");
    let offs = [off(&cliffs, "level", STEP), off(&cliffs, "slope", CORNER)];
    match offs {
        [Some(step), Some(corner)] if of_planted && step.abs() <= OFF && corner.abs() <= OFF => {
            Ok([step, corner])
        }
        _ => Err(format!("seed {seed}: {offs:?} of {cliffs:#?}; the run says {:#}", summary["findings"])),
    }
}

/// The seeds asked for, `first-last`.
fn seeds() -> RangeInclusive<u64> {
    let Ok(text) = std::env::var("CLIFF_SEEDS") else { return SEEDS };
    let ends = text.split_once('-').and_then(|(a, b)| Some(a.parse().ok()?..=b.parse().ok()?));
    ends.unwrap_or_else(|| panic!("`CLIFF_SEEDS` is `first-last`, not `{text}`"))
}

#[test]
#[ignore = "measures: needs a release build and a quiet machine"]
#[allow(clippy::print_stderr)] // the figures of a study
fn a_step_and_a_corner_are_found_where_they_are_and_a_smooth_probe_has_none() {
    measuring(|| {
        let seeds = seeds();
        let allowed = seeds.clone().count() / ONE_MISS_IN;
        let mut missed = Vec::new();
        for seed in seeds {
            match told(seed) {
                Ok([step, corner]) => {
                    eprintln!(
                        "seed {seed}: step {:+.2} % off, corner {:+.2} % off",
                        100.0 * step,
                        100.0 * corner
                    );
                }
                Err(why) => missed.push(why),
            }
            assert!(missed.len() <= allowed, "more than {allowed} runs went wrong:\n{}", missed.join("\n"));
        }
        eprintln!("{} runs went wrong", missed.len());
    });
}
