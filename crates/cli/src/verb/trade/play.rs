//! `weigh trade play`: a variant's passages with the lines that DaCapo prints.

use std::path::Path;

use anyhow::Context;
use weighbridge_conductor::passages::{Convergence, PassageKind, PlayError, Played, WarmUps, play};
use weighbridge_judge::metered::{ClosedLog, MeteredQuantiles};
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_workload::passage_actions;

use super::super::heaps::sized;
use super::latency::LatencyFile;
use super::passages::{Chosen, say};
use crate::exit::Exit;
use crate::printer::Printer;

/// Passages of `--converge` at most before the one that counts, as DaCapo has it.
const MOST: u32 = 20;

/// Smoothing windows that are printed.
const SMOOTHING_MS: [u64; 3] = [1, 10, 100];

/// Of `passages` the last counts; else warm-ups until they converge and one more.
pub fn warm_ups(passages: Option<u32>) -> WarmUps {
    match passages {
        Some(number) => WarmUps::Exactly(number.saturating_sub(1)),
        None => WarmUps::Until(Convergence::DACAPO, MOST),
    }
}

/// Plays, and writes the latency of the passage that counts to a file, if one is named.
pub fn run(
    path: &Path,
    only: Option<&str>,
    warm_ups: WarmUps,
    latency: Option<&Path>,
    printer: &Printer,
) -> anyhow::Result<Exit> {
    let chosen = Chosen::new(path, only)?;
    let lines = Lines { variant: chosen.variant().to_owned() };
    let counts = passage_actions(&chosen.experiment.points[0].workload, chosen.checked.script());
    let counts = counts.context("the workload has no actions")?;
    let file = latency.map(|file| LatencyFile::create(file, &chosen.experiment)).transpose()?;
    let first = if warm_ups.are_over(&[]) { PassageKind::Counted } else { PassageKind::WarmUp };
    let (mut number, mut printed) = (1, printer.data(&lines.starting(1, first)));
    let mut requests = Vec::new();
    let mut ended = |played: Played| {
        let text = match played {
            Played::Counted { took, requests: all } => {
                requests = all;
                format!("{counts}{}", lines.passed(took))
            }
            Played::WarmUp { took, next } => {
                let completed = lines.completed(number, took);
                number += 1;
                let starting = next.map(|next| format!("\n{}", lines.starting(number, next)));
                completed + &starting.unwrap_or_default()
            }
        };
        if printed.is_ok() {
            printed = printer.data(&text);
        }
    };
    let Chosen { checked, options, .. } = chosen;
    let checked = sized(checked, &options, printer)?;
    let played = play(checked, &options, warm_ups, &mut |event| say(event, printer), &mut ended);
    printed?;
    if let Err(PlayError::Failed(_) | PlayError::NotConverged { .. }) = played {
        printer.data(&lines.failed())?;
    }
    played?;
    if requests.is_empty() {
        return Ok(Exit::Fine);
    }
    let log = ClosedLog::of_records(&requests)?;
    printer.data(&lines.latency(&log).join("\n"))?;
    if let Some(file) = file {
        file.write(&log)?;
    }
    Ok(Exit::Fine)
}

/// DaCapo's lines about iterations.
struct Lines {
    variant: String,
}

impl Lines {
    fn about(&self, what: &str) -> String {
        format!("===== Weighbridge {} {} {what} =====", env!("CARGO_PKG_VERSION"), self.variant)
    }

    fn starting(&self, number: u32, passage: PassageKind) -> String {
        match passage {
            PassageKind::Counted => self.about("starting"),
            PassageKind::WarmUp => self.about(&format!("starting warmup {number}")),
        }
    }

    fn completed(&self, number: u32, took: Nanoseconds) -> String {
        self.about(&format!("completed warmup {number} in {} msec", millis(took)))
    }

    fn passed(&self, took: Nanoseconds) -> String {
        self.about(&format!("PASSED in {} msec", millis(took)))
    }

    fn failed(&self) -> String {
        self.about("FAILED")
    }

    /// One line for each smoothing window that is shorter than the whole log, and one for full smoothing.
    fn latency(&self, log: &ClosedLog) -> Vec<String> {
        let left_out = log.left_out();
        let events = format!(
            "measured over {} events, without {left_out} that began after a connection had no session left",
            log.kept()
        );
        let line = |kind: &str, row: MeteredQuantiles| {
            let MeteredQuantiles { p50, p90, p99, p999, max, .. } = row;
            let quantiles = [("50%", p50), ("90%", p90), ("99%", p99), ("99.9%", p999), ("max", max)]
                .map(|(name, time)| format!("{name} {} usec", time.as_nanos().div_ceil(1_000)));
            self.about(&format!("{kind}: {}, {events}", quantiles.join(", ")))
        };
        let simple = line("simple tail latency", log.quantiles(Nanoseconds::ZERO));
        let smoothed = SMOOTHING_MS.into_iter().filter_map(|ms| {
            let window = Nanoseconds::from_millis(ms);
            (window < log.full_window())
                .then(|| line(&format!("metered tail latency ({ms}ms smoothing)"), log.quantiles(window)))
        });
        let full = line("metered tail latency (full smoothing)", log.quantiles(log.full_window()));
        std::iter::once(simple).chain(smoothed).chain([full]).collect()
    }
}

fn millis(took: Nanoseconds) -> u64 {
    took.as_nanos().div_ceil(1_000_000)
}

#[cfg(test)]
mod tests {
    use weighbridge_model::id::OperationId;
    use weighbridge_model::quantity::Timestamp;
    use weighbridge_model::record::{Outcome, RequestRecord};

    use super::*;

    #[test]
    fn lines_are_those_of_dacapo() {
        let lines = Lines { variant: "beans".to_owned() };
        let line = |what: &str| format!("===== Weighbridge {} beans {what} =====", env!("CARGO_PKG_VERSION"));
        let took = Nanoseconds::from_micros(11_477_200);
        assert_eq!(lines.starting(2, PassageKind::WarmUp), line("starting warmup 2"));
        assert_eq!(lines.completed(2, took), line("completed warmup 2 in 11478 msec"));
        assert_eq!(lines.starting(3, PassageKind::Counted), line("starting"));
        assert_eq!(lines.passed(took), line("PASSED in 11478 msec"));
        assert_eq!(lines.failed(), line("FAILED"));
    }

    /// One connection, ten requests of 1 ms, the fifth of which takes 30 ms more: the base stretch is 40 ms.
    #[test]
    fn latency_is_simple_and_metered_by_windows_shorter_than_twice_the_log() {
        let start = |at: u64| Timestamp::from_nanos((at + if at >= 5 { 30 } else { 0 }) * 1_000_000);
        let record = |at| RequestRecord {
            due: start(at),
            sent: start(at),
            done: start(at + 1),
            operation: OperationId(0),
            outcome: Outcome::Ok,
        };
        let log = ClosedLog::of_records(&(0..10).map(record).collect::<Vec<_>>()).expect("a closed log");
        let lines = Lines { variant: "rest".to_owned() }.latency(&log);
        let line = |kind: &str, median: u32, ninety: u32| {
            format!(
                "===== Weighbridge {} rest {kind}: 50% {median} usec, 90% {ninety} usec, 99% 31000 usec, 99.9% 31000 \
                 usec, max 31000 usec, measured over 10 events, without 0 that began after a connection had no session left =====",
                env!("CARGO_PKG_VERSION")
            )
        };
        // Smoothed over everything, starts are 4 ms apart: 0, 4 … 36. From the sixth on, request i ends at i + 31 ms.
        let expected = [
            line("simple tail latency", 1_000, 1_000),
            line("metered tail latency (1ms smoothing)", 1_000, 1_000),
            line("metered tail latency (10ms smoothing)", 1_000, 1_000),
            line("metered tail latency (full smoothing)", 4_000, 16_000),
        ];
        assert_eq!(lines, expected);
    }
}
