//! How often a curve without a cliff is said to have one, and how often planted ones are found: the tables of
//! docs/STUDY.md (Cliffs). `cargo run --release -p weighbridge-judge --example false_cliffs -- [SEEDS]`

#[path = "../tests/cliff_laws/mod.rs"]
mod cliff_laws;

use cliff_laws::{
    BENT, CASES, Case, Law, PLANS, Plan, RANGE, SHARES, SILENT, SMOOTH, Spacing, cliffs, draw_scatter,
    planted, scatter, shared,
};
use weighbridge_judge::stats::cliffs::{Change, Cliff};

fn is_near(found: &[Cliff], change: Change, place: f64) -> bool {
    found.iter().any(|cliff| cliff.change == change && (cliff.place.point / place - 1.0).abs() <= 0.05)
}

fn share(seeds: u64, mut is: impl FnMut(u64) -> bool) -> f64 {
    (0..seeds).filter(|seed| is(*seed)).count() as f64 / seeds as f64
}

fn alarms(laws: &[Law], spacing: Spacing, plan: Plan, seeds: u64) -> f64 {
    let one =
        |law: &Law| share(seeds, |seed| !cliffs(&scatter(law.1, spacing, plan, 1000 + seed)).is_empty());
    laws.iter().map(one).sum::<f64>() / laws.len() as f64
}

/// For a case: how often each truth is found, how far off in nine of ten, and how often something else is
/// reported.
#[allow(clippy::print_stdout)]
fn row(case: &Case, seeds: u64) {
    let found: Vec<Vec<Cliff>> = (0..seeds).map(|seed| cliffs(&case.scatter(1000 + seed))).collect();
    let wrong = found.iter().filter(|found| case.false_ones(found) > 0).count() as f64 / seeds as f64;
    let accuracy = |truth: &(Change, f64)| {
        let mut offs: Vec<f64> =
            found.iter().filter_map(|found| Case::off(found, *truth)).map(f64::abs).collect();
        offs.sort_by(f64::total_cmp);
        let most = offs.get((0.9 * offs.len() as f64) as usize).or(offs.last());
        let found = 100.0 * offs.len() as f64 / seeds as f64;
        format!("{found:.0} %, {:.1} %", 100.0 * most.copied().unwrap_or(f64::NAN))
    };
    let each: Vec<String> = case.truths.iter().map(accuracy).collect();
    println!(
        "| {} | {:?} | {} × {} | {} | {:.1} % |",
        case.name,
        case.range.spacing,
        case.plan.0,
        case.plan.1,
        each.join("; "),
        100.0 * wrong
    );
}

#[allow(clippy::print_stdout)] // a table is all that this program makes
fn main() {
    let seeds = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(100);
    println!("| sizes | blocks × requests | step found | corner found | alarms, smooth | alarms, bent |");
    println!("| --- | --- | --- | --- | --- | --- |");
    for spacing in Spacing::ALL {
        for plan in PLANS {
            let found: Vec<_> =
                (0..seeds).map(|seed| cliffs(&scatter(planted, spacing, plan, seed))).collect();
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
    println!("\n| law | sizes | blocks × requests | found, off by at most | another told |");
    println!("| --- | --- | --- | --- | --- |");
    CASES.iter().chain(&SILENT).for_each(|case| row(case, seeds));
    for (most, factor) in SHARES {
        for plan in [PLANS[0], PLANS[1]] {
            let reported = share(seeds, |seed| {
                !cliffs(&draw_scatter(RANGE, plan, 0.02, 1000 + seed, shared(most, factor))).is_empty()
            });
            println!(
                "| share to {most}, {factor} × slower | Linear | {plan:?} | | {:.1} % |",
                100.0 * reported
            );
        }
    }
}
