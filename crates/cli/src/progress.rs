//! Progress of a run on stderr: one rewritten line at a terminal, a line per block elsewhere.

use std::time::{Duration, Instant};

use weighbridge_model::event::{Event, Interim, TimedEvent};
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::summary::PointLabel;

use crate::printer::Printer;

/// Rewriting more often than this only flickers.
const REWRITE: Duration = Duration::from_millis(100);

/// Follows a run's events.
pub struct Progress<'a> {
    printer: &'a Printer,
    budget: Nanoseconds,
    live: String,
    written: Option<Instant>,
    interim: String,
    /// The block that is measured, from 1.
    block: u32,
    /// Blocks planned by now.
    blocks: u32,
}

impl<'a> Progress<'a> {
    /// Before the first event.
    pub fn new(printer: &'a Printer) -> Self {
        Self {
            printer,
            budget: Nanoseconds::ZERO,
            live: String::new(),
            written: None,
            interim: String::new(),
            block: 0,
            blocks: 0,
        }
    }

    /// Shows one event.
    pub fn event(&mut self, timed: &TimedEvent) {
        match &timed.event {
            Event::RunStarted { title, variants, points, blocks, budget, .. } => {
                self.budget = *budget;
                let points = if *points > 1 { format!(", {points} points") } else { String::new() };
                let (variants, blocks) = (variants.join(", "), span(blocks.0, blocks.1));
                self.line(&format!("{title}: {variants}{points}, {blocks} blocks, about {budget}"));
            }
            Event::Divided { blocks, run } => {
                self.line(&format!("the budget is divided into {blocks} blocks, as run `{run}` advises"));
            }
            Event::Building { service } => self.status(&format!("building `{service}`")),
            Event::Unavailable { variant, reason } => {
                self.clear();
                self.printer.warning(format_args!("`{variant}` is left out: {reason}"));
            }
            Event::BlockStarted { block, of } => {
                (self.block, self.blocks) = (block + 1, *of);
                self.phase("starting", true);
            }
            Event::Batches { batches, reason } => {
                let sizes: Vec<_> = batches.iter().map(|batch| batch.len().to_string()).collect();
                let sizes = sizes.join(" + ");
                self.line(&format!("{sizes} variants live at once, each time with the baseline: {reason}"));
            }
            Event::BatchStarted { batch, of, variants, .. } => {
                self.phase(&format!("batch {} of {of}: starting {}", batch + 1, variants.join(", ")), true);
            }
            Event::Started { variant, .. } => self.phase(&format!("{variant} is ready"), false),
            Event::Verified { requests } => self.phase(&format!("{requests} answers compared"), false),
            Event::Warm { variant, point, .. } => {
                self.phase(&format!("{variant} is warm{}", show(point)), false);
            }
            Event::Round { point, round, of, .. } => {
                let left = self.budget.saturating_sub(timed.at);
                let round = round + 1;
                self.phase(&format!("round {round} of about {of}{}, about {left} left", show(point)), false);
            }
            Event::BlockEnded { block, interim, of } => self.block_ended(*block, *of, interim),
            Event::BlockVoid { block, reason } => {
                self.clear();
                self.printer
                    .warning(format_args!("block {} is void and measured again: {reason}", block + 1));
            }
            Event::Warning { text } => {
                self.clear();
                self.printer.warning(text);
            }
            Event::RunEnded { .. } => self.clear(),
            // What there is to say of it is the command's error.
            Event::Interrupted { .. } => self.clear(),
        }
    }

    /// What is done in the block, with the headline so far.
    fn phase(&mut self, what: &str, at_once: bool) {
        self.rewrite(&format!("block {} of {}: {what}{}", self.block, self.blocks, self.interim), at_once);
    }

    fn block_ended(&mut self, block: u32, of: u32, interim: &[Interim]) {
        let texts: Vec<_> = interim.iter().map(describe).collect();
        self.interim = texts.first().map(|text| format!("; {text}")).unwrap_or_default();
        if !self.printer.is_live() {
            let texts = if texts.is_empty() { String::new() } else { format!(": {}", texts.join("; ")) };
            self.line(&format!("block {} of {of}{texts}", block + 1));
        }
    }

    /// Something that takes a while: rewritten at a terminal, a line elsewhere.
    fn status(&mut self, text: &str) {
        if self.printer.is_live() { self.rewrite(text, true) } else { self.line(text) }
    }

    fn line(&mut self, text: &str) {
        self.clear();
        self.printer.note(text);
    }

    fn rewrite(&mut self, text: &str, at_once: bool) {
        let now = Instant::now();
        if !self.printer.is_live() || (!at_once && self.written.is_some_and(|then| now - then < REWRITE)) {
            return;
        }
        let columns = crate::signals::terminal_columns(libc::STDERR_FILENO).unwrap_or(80);
        self.live = text.chars().take(columns.saturating_sub(1)).collect();
        self.printer.raw(&format!("\r\x1b[2K{}", self.live));
        self.written = Some(now);
    }

    fn clear(&mut self) {
        if !self.live.is_empty() {
            self.printer.raw("\r\x1b[2K");
            self.live.clear();
        }
    }
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        self.clear();
    }
}

/// `6 to 30`, or `6` where both are the same.
pub fn span(least: u32, most: u32) -> String {
    if least == most { least.to_string() } else { format!("{least} to {most}") }
}

fn show(point: &PointLabel) -> String {
    let values: Vec<_> = point.values().map(String::as_str).collect();
    if values.is_empty() { String::new() } else { format!(" ({})", values.join(", ")) }
}

fn describe(interim: &Interim) -> String {
    let width = interim.half_width.map(|w| format!(" ± {:.1} %", w * 100.0)).unwrap_or_default();
    format!("{}{} {:+.1} %{width}", interim.variant, show(&interim.point), interim.change * 100.0)
}
