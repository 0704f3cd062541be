//! The long form of the simulated shares, which makes a table of docs/STUDY.md.
//!
//! `cargo run --release -p weighbridge-judge --example shares -- [RUNS] [LOOKUPS A BLOCK]`, by default 4000 of each law
//! and 2000. The same numbers give the same table, on any machine and any number of cores.

#[path = "../tests/common/mod.rs"]
mod common;
#[path = "../tests/share_laws/mod.rs"]
mod share_laws;
mod threads;

use std::collections::BTreeMap;
use std::io::{self, Write};

use share_laws::{AT, Held, LOOKUPS, Law, ODDS, Outcome, SHARES, SPREADS, simulate};
use threads::simulated;

/// Runs of one task of a thread.
const CHUNK: u64 = 50;

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, default: u64| match arguments.get(at).map(|text| text.parse()) {
        None => Ok(default),
        Some(parsed) => parsed.map_err(|error| io::Error::other(format!("`{}`: {error}", arguments[at]))),
    };
    let (runs, lookups) = (number(0, 4_000)?, number(1, LOOKUPS)?);
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "| share | odds | spread | difference, 6 | 10 | 30 | half-width, 6 | Student alone, 6 | root, 6 | one share, 6 | 10 | 30 |"
    )?;
    writeln!(out, "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")?;
    for spread in SPREADS {
        for odds in ODDS {
            for share in SHARES {
                let law = Law { share, odds, spread, lookups };
                let outcome = simulated(runs, CHUNK, |runs| simulate(&law, runs), Outcome::merge);
                let mut cells =
                    vec![format!("{:.1} %", 100.0 * share), odds.to_string(), spread.name.to_owned()];
                cells.extend(coverages(&outcome.difference));
                let six = outcome.difference[&AT[0]];
                cells.push(format!("{:.3} pp", 100.0 * six.widths / f64::from(six.of)));
                cells.extend([&outcome.student, &outcome.root].map(|held| coverages(held)[0].clone()));
                cells.extend(coverages(&outcome.figure));
                writeln!(out, "| {} |", cells.join(" | "))?;
                out.flush()?;
            }
        }
    }
    Ok(())
}

fn coverages(held: &BTreeMap<usize, Held>) -> [String; AT.len()] {
    AT.map(|at| format!("{:.1} %", 100.0 * held[&at].get()))
}
