//! The long form of the simulated searches for capacity, which makes a table of docs/STUDY.md.
//!
//! `cargo run --release -p weighbridge-judge --example capacity -- [RUNS] [PART OF A SERVICE'S NAME]`, by default
//! 1000 of each. The same numbers give the same table, on any machine and any number of cores.
//!
//! `… capacity -- --runs SERVICE OBJECTIVE SEED` is one life of a service for another program that searches: it says
//! the closed loop's pace, and answers each line `RATE SECONDS` with the statistic as a multiple of its limit.

#[path = "../tests/capacity_laws/mod.rs"]
mod capacity_laws;
mod threads;

use std::io::{self, Write};

use capacity_laws::Case;
use capacity_laws::peers::{Runs, Tool};
use capacity_laws::study::{OBJECTIVES, Outcome, SERVICES, STARTS, study, truth};
use threads::simulated;

/// Searches of one task of a thread.
const CHUNK: u64 = 10;
const TOOLS: [Tool; 2] = [Tool::Mutilate, Tool::Nighthawk];

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, service, objective, seed] = &arguments[..]
        && flag == "--runs"
    {
        return answer_runs(service, objective, seed.parse().map_err(io::Error::other)?);
    }
    let runs = arguments.first().map_or(Ok(1_000), |text| text.parse()).map_err(io::Error::other)?;
    let wanted = arguments.get(1).cloned().unwrap_or_default();
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "| service | objective | capacity | bias | rmse | half-width | holds it | seconds | mutilate | Nighthawk | other ends |"
    )?;
    writeln!(out, "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")?;
    for (name, service) in SERVICES.into_iter().filter(|(name, _)| name.contains(&wanted)) {
        for objective in OBJECTIVES {
            let case = Case { service, objective, starts: STARTS, blocks: 6 };
            let truth = truth(&case);
            let outcome = simulated(runs, CHUNK, |runs| study(&case, truth, runs, &TOOLS), Outcome::merge);
            writeln!(out, "| {name} | `{objective}` | {truth:.0}/s {}", row(&outcome))?;
            out.flush()?;
        }
    }
    Ok(())
}

fn answer_runs(service: &str, objective: &str, seed: u64) -> io::Result<()> {
    let known = SERVICES.into_iter().find(|(name, _)| *name == service);
    let objective = OBJECTIVES.into_iter().find(|known| *known == objective);
    let (Some((_, service)), Some(objective)) = (known, objective) else {
        return Err(io::Error::other("the service or the objective is not one of the study"));
    };
    let mut runs = Runs::new(&Case { service, objective, starts: STARTS, blocks: 1 }, 0.0, seed);
    let mut out = io::stdout().lock();
    writeln!(out, "{}", runs.server.pace())?;
    for line in io::stdin().lines() {
        let line = line?;
        let mut numbers = line.split_whitespace().map(|word| word.parse().map_err(io::Error::other));
        let (Some(rate), Some(seconds)) = (numbers.next().transpose()?, numbers.next().transpose()?) else {
            return Err(io::Error::other("a line has a rate and seconds"));
        };
        runs.length = seconds;
        writeln!(out, "{}", runs.excess(rate))?;
    }
    Ok(())
}

fn row(outcome: &Outcome) -> String {
    let percent = |share: f64| format!("{:.2} %", 100.0 * share);
    let mut cells = vec![
        percent(outcome.bias()),
        percent(outcome.rmse()),
        percent(outcome.half_width()),
        format!("{:.1} %", 100.0 * outcome.coverage()),
        format!("{:.0}", outcome.seconds / f64::from(outcome.runs)),
    ];
    cells.extend(
        outcome
            .peers
            .values()
            .map(|peer| format!("{} in {:.0} s", percent(peer.rmse()), peer.seconds / f64::from(peer.runs))),
    );
    let ends: Vec<String> = outcome.ends.iter().map(|(end, count)| format!("{count} {end}")).collect();
    cells.push(ends.join(", "));
    format!("| {} |", cells.join(" | "))
}
