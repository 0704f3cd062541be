//! The view of a load on one URL: its progress, rate, response times and errors.
//!
//! Times come from the live counts and are accurate to 1.6 %; the result uses more accurate ones.

use std::io;
use std::time::Duration;

use weighbridge_conductor::single::Seen;
use weighbridge_load::live::LiveCounts;
use weighbridge_load::window::Stop;
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_report::Tone;
use weighbridge_report::text::{clean, counted, grouped};

use super::bar::bar;
use super::forecast::clock;
use super::line::StyledLine;
use super::screen::Screen;
use super::spark;
use crate::printer::{Liveliness, Printer};
use crate::terminal::size_of_stderr;

/// Interval of plain progress lines.
const SILENCE: Duration = Duration::from_secs(10);
/// Time that each bar of recent times covers.
const EACH: Nanoseconds = Nanoseconds::from_millis(500);
/// Number of bars remembered.
const REMEMBERED: usize = 200;

/// A load, as observed so far.
#[derive(Debug)]
pub struct LoadView {
    url: String,
    stop: Stop,
    seen: Option<Seen>,
    /// The counts at the time of the latest bar.
    before: (Nanoseconds, LiveCounts),
    medians: Vec<Nanoseconds>,
}

impl LoadView {
    /// Nothing observed yet.
    pub fn new(url: &str, stop: Stop) -> Self {
        let before = (Nanoseconds::ZERO, LiveCounts::default());
        Self { url: clean(url), stop, seen: None, before, medians: Vec::new() }
    }

    /// Updates the view with new counts.
    pub fn see(&mut self, seen: &Seen) {
        let now = seen.progress.elapsed;
        if self.seen.as_ref().is_some_and(|earlier| now < earlier.progress.elapsed) {
            // The load was restarted.
            (self.before, self.medians) = ((Nanoseconds::ZERO, LiveCounts::default()), Vec::new());
        }
        if now.saturating_sub(self.before.0) >= EACH {
            self.medians.extend(seen.times.since(&self.before.1).quantile(0.5));
            let surplus = self.medians.len().saturating_sub(REMEMBERED);
            self.medians.drain(..surplus);
            self.before = (now, seen.times.clone());
        }
        self.seen = Some(seen.clone());
    }

    /// The view for a terminal of this width; empty before the first counts.
    pub fn lines(&self, columns: usize) -> Vec<StyledLine> {
        let Some(seen) = &self.seen else { return Vec::new() };
        let errors = seen.progress.errors.total();
        let mut counts = StyledLine::new(Tone::Plain, self.counts(seen));
        counts.push(if errors > 0 { Tone::Problem } else { Tone::Plain }, format!(", {}", failed(errors)));
        let mut times = StyledLine::new(Tone::Plain, self.times(seen));
        let room = columns.saturating_sub(self.times(seen).chars().count() + 12).min(40);
        if room >= 4 && !self.medians.is_empty() {
            times.push(Tone::Secondary, "  recent ");
            let bars = spark::row(&self.medians, room.min(self.medians.len()));
            times.push(Tone::Secondary, bars);
        }
        vec![StyledLine::new(Tone::Strong, &*self.url), self.bar(seen, columns), counts, times]
    }

    /// The view as one plain line.
    pub fn line(&self) -> Option<String> {
        let seen = self.seen.as_ref()?;
        let (_, extent) = self.extent(seen);
        let failed = failed(seen.progress.errors.total());
        Some(format!("{extent}: {}, {failed}; {}", self.counts(seen), self.times(seen)))
    }

    fn bar(&self, seen: &Seen, columns: usize) -> StyledLine {
        let (done, extent) = self.extent(seen);
        let words = format!("{:3.0} %  {extent}", done * 100.0);
        let room = columns.saturating_sub(words.chars().count() + 2).min(40);
        let mut line = StyledLine::default();
        if room >= 5 {
            line.push(Tone::Strong, bar(done, room));
        }
        line.push(Tone::Plain, words);
        line
    }

    /// The share that is done, and the progress as text.
    fn extent(&self, seen: &Seen) -> (f64, String) {
        let elapsed = seen.progress.elapsed;
        match self.stop {
            Stop::Time(time) if elapsed >= time => {
                (1.0, format!("{}, waiting for the last replies", clock(time)))
            }
            Stop::Time(time) => {
                let done = elapsed.as_secs_f64() / time.as_secs_f64().max(f64::MIN_POSITIVE);
                let left = clock(time.saturating_sub(elapsed));
                (done, format!("{} of {}, {left} left", clock(elapsed), clock(time)))
            }
            Stop::Count(count) => {
                let over = seen.progress.good + seen.progress.errors.total();
                let done = over as f64 / count.max(1) as f64;
                let left = match over {
                    0 => String::new(),
                    _ => {
                        let seconds = elapsed.as_secs_f64() / done * (1.0 - done).max(0.0);
                        format!(", about {} left", clock(Nanoseconds::from_nanos((seconds * 1e9) as u64)))
                    }
                };
                (done, format!("{} of {} requests{left}", grouped(over), grouped(count)))
            }
        }
    }

    /// `412,345 requests, 41,200/s, 16 connections`
    fn counts(&self, seen: &Seen) -> String {
        let progress = &seen.progress;
        let requests = progress.good + progress.errors.total();
        let rate = progress.good as f64 / progress.elapsed.as_secs_f64().max(1e-9);
        format!(
            "{}, {}/s, {}",
            counted(requests, "request"),
            grouped(rate.round() as u64),
            counted(u64::from(progress.connections), "connection")
        )
    }

    /// `p50 24 µs, p99 88 µs`
    fn times(&self, seen: &Seen) -> String {
        let time = |quantile: f64| match seen.times.quantile(quantile) {
            Some(time) => time.to_string(),
            None => "–".to_owned(),
        };
        format!("p50 {}, p99 {}", time(0.5), time(0.99))
    }
}

fn failed(errors: u64) -> String {
    match errors {
        0 => "none failed".to_owned(),
        errors => format!("{} failed", grouped(errors)),
    }
}

/// Shows a load as this process's stderr allows.
#[derive(Debug)]
pub struct LoadProgress<'a> {
    view: LoadView,
    printer: &'a Printer,
    screen: Option<Screen<io::Stderr>>,
    said: Nanoseconds,
}

impl<'a> LoadProgress<'a> {
    /// Before the first counts.
    pub fn new(url: &str, stop: Stop, printer: &'a Printer) -> Self {
        let screen = (printer.liveliness() == Liveliness::Live).then(|| Screen::new(io::stderr()));
        Self { view: LoadView::new(url, stop), printer, screen, said: Nanoseconds::ZERO }
    }

    /// Shows new counts.
    pub fn see(&mut self, seen: &Seen) {
        self.view.see(seen);
        let elapsed = seen.progress.elapsed;
        match &mut self.screen {
            Some(screen) => {
                let (columns, rows) = size_of_stderr();
                let mut lines = self.view.lines(columns);
                lines.truncate(rows.saturating_sub(1));
                let style = self.printer.style_of_notes();
                let lines: Vec<String> =
                    lines.iter().map(|line| line.fitted(columns.saturating_sub(1), style)).collect();
                // If the terminal is gone, nobody reads it.
                let _ = screen.draw(&lines);
            }
            None if elapsed.saturating_sub(self.said).as_nanos() >= SILENCE.as_nanos() as u64 => {
                self.said = elapsed;
                self.view.line().into_iter().for_each(|line| self.printer.progress(line));
            }
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weighbridge_load::generator::Progress;
    use weighbridge_load::live::LiveTimes;
    use weighbridge_model::record::ErrorCounts;
    use weighbridge_report::Style;

    fn seen(millis: u64, times: &LiveTimes, errors: u64) -> Seen {
        let progress = Progress {
            elapsed: Nanoseconds::from_millis(millis),
            good: times.counts().total(),
            errors: ErrorCounts { status: errors, ..ErrorCounts::default() },
            outstanding: 4,
            connections: 4,
        };
        Seen { progress, times: times.counts() }
    }

    fn drawn(view: &LoadView, columns: usize) -> Vec<String> {
        view.lines(columns).iter().map(|line| line.fitted(columns - 1, Style::Plain)).collect()
    }

    #[test]
    fn a_load_at_a_terminal_of_80_columns_and_of_40() {
        let mut view = LoadView::new("http://127.0.0.1:8080/", Stop::Time(Nanoseconds::from_secs(10)));
        assert!(view.lines(80).is_empty() && view.line().is_none());
        let times = LiveTimes::default();
        for step in 1..=10 {
            (0..1_000).for_each(|_| times.record(Nanoseconds::from_micros(if step > 7 { 48 } else { 24 })));
            (0..20).for_each(|_| times.record(Nanoseconds::from_micros(100)));
            view.see(&seen(step * 500, &times, 0));
        }
        assert_eq!(
            drawn(&view, 80),
            [
                "http://127.0.0.1:8080/",
                "━━━━━━━━━━━━━━━━━━━━╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌ 50 %  0:05 of 0:10, 0:05 left",
                "10,200 requests, 2,040/s, 4 connections, none failed",
                "p50 23.8 µs, p99 99.3 µs  recent ▁▁▁▁▁▁▁███",
            ]
        );
        assert!(drawn(&view, 40).iter().all(|line| line.chars().count() < 40));
    }

    #[test]
    fn the_remaining_count_and_failures_are_shown() {
        let mut view = LoadView::new("http://h/", Stop::Count(3_000));
        let times = LiveTimes::default();
        (0..990).for_each(|_| times.record(Nanoseconds::from_micros(24)));
        view.see(&seen(4_000, &times, 10));
        let text = drawn(&view, 80).join("\n");
        assert!(text.contains("1,000 of 3,000 requests, about 0:08 left"), "{text}");
        assert!(text.contains("10 failed"), "{text}");
    }

    #[test]
    fn a_restarted_load_forgets_earlier_counts() {
        let mut view = LoadView::new("http://h/", Stop::Count(3_000));
        let times = LiveTimes::default();
        (0..990).for_each(|_| times.record(Nanoseconds::from_micros(24)));
        view.see(&seen(4_000, &times, 0));
        assert_eq!(view.medians.len(), 1);
        view.see(&seen(100, &LiveTimes::default(), 0));
        assert!(view.medians.is_empty());
    }
}
