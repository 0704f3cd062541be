//! The long form of the coverage simulation, which makes tables of docs/STUDY.md.
//!
//! `cargo run --release -p weighbridge-judge --example coverage -- [RUNS] [A/A RUNS] [PART OF A LAW'S NAME]`,
//! by default 4000 and 10000 of every law. The same numbers give the same tables, on any machine and any
//! number of cores.

#[path = "../tests/common/mod.rs"]
mod common;
#[path = "../tests/simulation/mod.rs"]
mod simulation;
mod threads;

use std::io::{self, Write};

use simulation::laws::{LAWS, Law, Shape, Truth};
use simulation::{AT, Bootstrap, Look, Outcome, Share, simulate};
use threads::simulated;

/// Runs of one task of a thread.
const CHUNK: u64 = 50;

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, default: u64| match arguments.get(at).map(|text| text.parse()) {
        None => Ok(default),
        Some(parsed) => parsed.map_err(|error| io::Error::other(format!("`{}`: {error}", arguments[at]))),
    };
    let (runs, same) = (number(0, 4_000)?, number(1, 10_000)?);
    let wanted = arguments.get(2).cloned().unwrap_or_default();
    let laws = || LAWS.iter().filter(|law| law.name.contains(&wanted));
    let mut out = io::stdout().lock();
    if runs > 0 {
        writeln!(
            out,
            "| law | quantity | t, 6 | t, 10 | t, 30 | stopping rule | blocks | bootstrap-t, 10 | 30 | BCa, 10 | 30 | bootstrap-t's width over t's, 10 | 30 | flagged |"
        )?;
        writeln!(
            out,
            "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
        )?;
    }
    for law in laws().filter(|_| runs > 0) {
        let look = Look { blocks: 30, bootstrap: Bootstrap::Computed, flag_every: 10 };
        let outcome = simulated(runs, CHUNK, |runs| simulate(law, Truth::Cost, runs, look), Outcome::merge);
        writeln!(out, "{}", coverage_row(law, &outcome, runs))?;
        out.flush()?;
    }
    if same > 0 {
        writeln!(
            out,
            "\n| law | quantity | 6 blocks | with the stopping rule | blocks | verdict, 6 | verdict, stopping |"
        )?;
        writeln!(out, "| --- | --- | --- | --- | --- | --- | --- |")?;
    }
    for law in laws().filter(|law| same > 0 && law.shape == Shape::NearNormal) {
        let look = Look { blocks: 6, bootstrap: Bootstrap::LeftOut, flag_every: u64::MAX };
        let outcome = simulated(same, CHUNK, |runs| simulate(law, Truth::Same, runs, look), Outcome::merge);
        let [fixed, stopped] = outcome.excludes_zero;
        let [verdict, verdict_stopped] = outcome.verdicts;
        let blocks = outcome.blocks as f64 / same as f64;
        writeln!(
            out,
            "| {} | {} | {} | {} | {blocks:.1} | {} | {} |",
            law.name,
            law.quantity,
            percent(fixed),
            percent(stopped),
            percent(verdict),
            percent(verdict_stopped)
        )?;
        out.flush()?;
    }
    Ok(())
}

fn percent(share: Share) -> String {
    format!("{:.2} %", 100.0 * share.get())
}

fn coverage_row(law: &Law, outcome: &Outcome, runs: u64) -> String {
    let mut cells = vec![law.name.to_owned(), law.quantity.label()];
    cells.extend(AT.map(|at| percent(outcome.covered[&at])));
    cells.push(percent(outcome.stopped));
    cells.push(format!("{:.1}", outcome.blocks as f64 / runs as f64));
    for shares in [&outcome.studentised, &outcome.bca] {
        cells.extend([10, 30].map(|at| percent(shares[&at])));
    }
    cells.extend([10, 30].map(|at| format!("{:.2}", outcome.wider[&at] / runs as f64)));
    cells.push(format!("{:.0} %", 100.0 * outcome.flagged.get()));
    format!("| {} |", cells.join(" | "))
}
