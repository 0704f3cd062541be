//! How often a curve without a cliff is said to have one, and how often planted ones are found: the table of
//! docs/METHODOLOGY.md. `cargo run --release -p weighbridge-judge --example false_cliffs -- [SEEDS]`

#[path = "../tests/cliff_laws/mod.rs"]
mod cliff_laws;

use cliff_laws::{BENT, Law, PLANS, Plan, SMOOTH, Spacing, planted, scatter};
use weighbridge_judge::stats::cliffs::{Change, Cliff, cliffs};

const MARGIN: f64 = 0.02;

fn is_near(found: &[Cliff], change: Change, place: f64) -> bool {
    found.iter().any(|cliff| cliff.change == change && (cliff.place.point / place - 1.0).abs() <= 0.05)
}

fn share(seeds: u64, mut is: impl FnMut(u64) -> bool) -> f64 {
    (0..seeds).filter(|seed| is(*seed)).count() as f64 / seeds as f64
}

fn alarms(laws: &[Law], spacing: Spacing, plan: Plan, seeds: u64) -> f64 {
    let one = |law: &Law| {
        share(seeds, |seed| !cliffs(&scatter(law.1, spacing, plan, 1000 + seed), MARGIN).is_empty())
    };
    laws.iter().map(one).sum::<f64>() / laws.len() as f64
}

#[allow(clippy::print_stdout)] // a table is all that this program makes
fn main() {
    let seeds = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(100);
    println!("| sizes | blocks × requests | step found | corner found | alarms, smooth | alarms, bent |");
    println!("| --- | --- | --- | --- | --- | --- |");
    for spacing in Spacing::ALL {
        for plan in PLANS {
            let found: Vec<_> =
                (0..seeds).map(|seed| cliffs(&scatter(planted, spacing, plan, seed), MARGIN)).collect();
            let near = |change, place| {
                found.iter().filter(|found| is_near(found, change, place)).count() as f64 / seeds as f64
            };
            println!(
                "| {spacing:?} | {} × {} | {:.0} % | {:.0} % | {:.1} % | {:.1} % |",
                plan.0,
                plan.1,
                100.0 * near(Change::Level, 87_380.0),
                100.0 * near(Change::Slope, 250_000.0),
                100.0 * alarms(&SMOOTH, spacing, plan, seeds),
                100.0 * alarms(&BENT, spacing, plan, seeds)
            );
        }
    }
}
