//! How long judging a run over many sizes takes, and its memory: 10 variants with 25,000 requests each, in so
//! many blocks. `cargo run --release -p weighbridge-judge --example many_sizes -- [BLOCKS [REQUESTS]]`;
//! docs/PERFORMANCE.md has its figures.

#[path = "../tests/common/mod.rs"]
mod common;

use std::time::Instant;

use common::{Place, add_window, good, normal, question, random, trial};
use rand::Rng;
use weighbridge_judge::whole;
use weighbridge_model::id::{OperationId, PointId};
use weighbridge_model::quantity::{Bytes, Nanoseconds};
use weighbridge_model::record::samples::Sample;
use weighbridge_model::record::{Outcome, TrialRecord, WindowKind};

const VARIANTS: u16 = 10;
const REQUESTS: u32 = 25_000;
const MOST: f64 = 500_000.0;

/// Each variant has its own level, rate and step.
fn law(variant: u16, size: f64) -> f64 {
    let variant = f64::from(variant);
    2e5 * (1.0 + variant) + (2.0 + variant) * size + if size > 40_000.0 * variant { 4e5 } else { 0.0 }
}

fn sample(size: f64, time: f64) -> Sample {
    let nanos = Nanoseconds::from_nanos;
    Sample {
        kind: WindowKind::Measured,
        point: PointId(0),
        round: 0,
        operation: OperationId(0),
        size: Bytes::new(size as u64),
        due: nanos(1_000),
        sent: nanos(1_500),
        done: nanos(1_500 + time as u64),
        outcome: Outcome::Ok,
        status: Some(200),
        length: Bytes::new(size as u64),
        relayed: None,
    }
}

fn run(blocks: u32, requests: u32) -> Vec<TrialRecord> {
    let mut random = random(1);
    let each = requests / blocks;
    let mut trials = Vec::new();
    for block in 0..blocks {
        let sizes: Vec<f64> = (0..each).map(|_| (4.0 + random.random::<f64>() * MOST).round()).collect();
        for variant in 0..VARIANTS {
            let level = 0.01 * normal(&mut random);
            let mut trial = trial(block, variant);
            add_window(&mut trial, Place::measured(0, u32::from(variant)), &[good(1_000); 200]);
            let mut time = |size: f64| law(variant, size) * (level + 0.1 * normal(&mut random)).exp();
            trial.samples = sizes.iter().map(|size| sample(*size, time(*size))).collect();
            trials.push(trial);
        }
    }
    trials
}

/// Peak memory of this process in MiB.
fn peak() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|text| text.trim().strip_suffix(" kB")?.parse::<f64>().ok());
    kib.unwrap_or(f64::NAN) / 1024.0
}

#[allow(clippy::print_stdout)] // figures are all that this program makes
fn main() {
    let argument = |at: usize| std::env::args().nth(at).and_then(|text| text.parse().ok());
    let (blocks, requests) = (argument(1).unwrap_or(6), argument(2).unwrap_or(REQUESTS));
    let trials = run(blocks, requests);
    let before = peak();
    let names: Vec<String> = (0..VARIANTS).map(|variant| format!("v{variant}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let from = Instant::now();
    let (summary, detail) = whole(&question(&names), &trials);
    let took = from.elapsed();
    println!(
        "{blocks} blocks, {requests} requests of each: {:.2} s, {:.0} MiB held at most, {before:.0} MiB of it before; {} cliffs, {} curves",
        took.as_secs_f64(),
        peak(),
        summary.over_size.cliffs.len(),
        detail.size_curves.len()
    );
}
