//! The view of a run at a terminal: its progress, the time it may still take, and each variant's recent
//! windows with the headline so far.
//!
//! It is a function of events and judges nothing. Intervals are shown as reported, before four blocks there
//! is only a point, and no verdict is shown before the end.

use std::collections::BTreeMap;

use weighbridge_model::detail::Kept;
use weighbridge_model::event::{Event, Interim, Phase, Recent, TimedEvent};
use weighbridge_model::id::PointLabel;
use weighbridge_model::quantity::{Nanoseconds, PerSecond};
use weighbridge_report::text::{clean, grouped, hanging_whole, shorten};
use weighbridge_report::{Style, Tone, interim_change, point_words};

use super::bar::bar;
use super::forecast::{Forecast, clock};
use super::line::StyledLine;
use super::plain::span;
use super::spark;

/// Medians remembered for each variant.
const REMEMBERED: usize = 200;
/// From this width on requests per second and errors have their own columns.
const WIDE: usize = 76;
/// Lines around the variants' rows: title, block, bar, heading, and one above them.
const AROUND: usize = 5;

/// A run, as far as its events report it.
#[derive(Debug, Default)]
pub struct RunView {
    title: String,
    headline: String,
    variants: Vec<Variant>,
    points: usize,
    point: PointLabel,
    /// The current block, from 1.
    block: u32,
    most: u32,
    doing: String,
    measuring: bool,
    forecast: Forecast,
    interim: BTreeMap<(String, PointLabel), Interim>,
}

/// One variant so far.
#[derive(Debug, Default)]
struct Variant {
    name: String,
    /// Median of each reported window at the current point, the oldest first.
    medians: Vec<Nanoseconds>,
    /// Rates tried at the current point in search of a capacity, ascending.
    tried: Vec<Tried>,
    rate: Option<f64>,
    errors: u64,
}

/// A rate and what its last step showed.
#[derive(Debug, Clone, Copy)]
struct Tried {
    rate: PerSecond,
    kept: Kept,
}

/// What an event shows on the screen.
#[derive(Debug, Default)]
pub struct Shown {
    /// Lines that stay, above the view.
    pub above: Vec<Said>,
    /// Whether the view must be redrawn at once.
    pub at_once: bool,
}

/// A remark that stays on the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// `warning`, if it is one.
    pub word: Option<&'static str>,
    /// The text.
    pub text: String,
}

impl Said {
    /// A remark without a word.
    pub fn note(text: impl Into<String>) -> Self {
        Self { word: None, text: text.into() }
    }

    pub fn warning(text: impl Into<String>) -> Self {
        Self { word: Some("warning"), text: text.into() }
    }

    /// The remark in lines of at most `columns` columns.
    pub fn folded(&self, columns: usize, style: Style) -> String {
        let text = clean(&self.text);
        match self.word {
            None => hanging_whole("", &text, columns),
            Some(word) => {
                let folded = hanging_whole(&format!("{word}: "), &text, columns);
                format!("{}{}", style.paint(Tone::Undecided, word), &folded[word.len()..])
            }
        }
    }
}

impl RunView {
    /// Updates the view with an event.
    pub fn event(&mut self, timed: &TimedEvent) -> Shown {
        let at = timed.at;
        match &timed.event {
            Event::RunStarted { title, variants, points, blocks, budget, headline, .. } => {
                (self.title, self.points, self.most) = (clean(title), *points, blocks.1);
                self.headline = headline.map(|quantity| quantity.label()).unwrap_or_default();
                self.forecast = Forecast::new(blocks.0, *budget);
                let named = |name: &String| Variant { name: clean(name), ..Variant::default() };
                self.variants = variants.iter().map(named).collect();
                self.doing = "preparing".to_owned();
            }
            Event::Divided { blocks, .. } => self.forecast.fewest = *blocks,
            Event::Building { service } => self.doing = format!("building {}", clean(service)),
            Event::BlockStarted { block, of } => {
                (self.block, self.forecast.planned) = (block + 1, *of);
                self.forecast.begin(at);
                self.doing = "starting".to_owned();
            }
            Event::Phase { phase, variant, point, .. } => return self.phase(*phase, variant, point, at),
            Event::Round { round, of, recent, .. } => {
                self.forecast.round(round + 1, *of);
                self.recent(recent);
                self.doing = match of {
                    0 => "measuring".to_owned(),
                    of => format!("measuring, round {} of about {of}", round + 1),
                };
            }
            Event::Step { variant, rate, kept, shown, .. } => {
                self.doing = format!("{} at {rate}: {} ({shown})", clean(variant), kept.words());
                self.tried(&clean(variant), Tried { rate: *rate, kept: *kept });
            }
            Event::BlockEnded { interim, of, .. } => {
                self.over(at);
                self.forecast.done += 1;
                self.forecast.planned = *of;
                for one in interim {
                    let key = (clean(&one.variant), one.point.clone());
                    self.interim.insert(key, one.clone());
                }
            }
            Event::BlockVoid { .. } => {
                self.over(at);
                self.forecast.void += 1;
            }
            Event::RunEnded { .. } | Event::Interrupted { .. } => self.over(at),
            Event::Unavailable { .. }
            | Event::Batches { .. }
            | Event::BatchStarted { .. }
            | Event::Started { .. }
            | Event::Verified { .. }
            | Event::Warm { .. }
            | Event::Warning { .. } => {}
        }
        Shown { above: remarks(&timed.event), at_once: false }
    }

    fn phase(
        &mut self,
        phase: Phase,
        variant: &Option<String>,
        point: &Option<PointLabel>,
        at: Nanoseconds,
    ) -> Shown {
        self.measuring = phase == Phase::Measuring;
        self.forecast.phase(phase, at);
        if let Some(point) = point.as_ref().filter(|point| **point != self.point) {
            self.point = point.clone();
            for variant in &mut self.variants {
                variant.medians.clear();
                variant.tried.clear();
            }
        }
        self.doing = match (phase, variant) {
            (Phase::Verifying, _) => "comparing answers".to_owned(),
            (phase, Some(variant)) => format!("{} {}", phase.name(), clean(variant)),
            (phase, None) => phase.name().to_owned(),
        };
        Shown { above: Vec::new(), at_once: self.measuring }
    }

    fn recent(&mut self, recent: &[Recent]) {
        for seen in recent {
            let name = clean(&seen.variant);
            let Some(variant) = self.variants.iter_mut().find(|variant| variant.name == name) else {
                continue;
            };
            variant.medians.extend(seen.p50);
            let surplus = variant.medians.len().saturating_sub(REMEMBERED);
            variant.medians.drain(..surplus);
            variant.errors += seen.errors;
            let time = seen.time.as_secs_f64();
            variant.rate = (time > 0.0).then(|| seen.requests as f64 / time);
        }
    }

    fn tried(&mut self, name: &str, tried: Tried) {
        if let Some(variant) = self.variants.iter_mut().find(|variant| variant.name == name) {
            variant.tried.retain(|other| other.rate != tried.rate);
            variant.tried.push(tried);
            variant.tried.sort_by(|a, b| a.rate.get().total_cmp(&b.rate.get()));
            variant.rate = Some(tried.rate.get());
        }
    }

    fn over(&mut self, at: Nanoseconds) {
        self.forecast.end(at);
        (self.measuring, self.doing) = (false, "stopping".to_owned());
    }

    /// Whether windows are being measured, so that drawing is allowed only between them.
    pub fn is_measuring(&self) -> bool {
        self.measuring
    }

    /// The view at a time of the run's clock, for a terminal of this size; empty before there is anything to
    /// show.
    pub fn lines(&self, now: Nanoseconds, columns: usize, rows: usize) -> Vec<StyledLine> {
        if self.variants.is_empty() {
            return if self.doing.is_empty() {
                Vec::new()
            } else {
                vec![StyledLine::new(Tone::Plain, &*self.doing)]
            };
        }
        let mut lines =
            vec![StyledLine::new(Tone::Strong, &*self.title), self.place(columns), self.bar(now, columns)];
        let room = rows.saturating_sub(AROUND + 1).max(1);
        let shown = if self.variants.len() > room { room.saturating_sub(1) } else { self.variants.len() };
        let layout = Layout::new(&self.variants, columns);
        let searches = self.variants.iter().any(|variant| !variant.tried.is_empty());
        lines.push(layout.heading(&self.headline, if searches { "rates tried" } else { "recent" }));
        for (at, variant) in self.variants.iter().take(shown).enumerate() {
            let (tone, so_far) = self.so_far(at, variant, layout.wide);
            lines.push(layout.row(variant, tone, &so_far));
        }
        if shown < self.variants.len() {
            lines.push(StyledLine::new(
                Tone::Secondary,
                format!("… and {} more", self.variants.len() - shown),
            ));
        }
        lines
    }

    /// `block 3 of 6 · 64 B · measuring, round 41 of about 120`
    fn place(&self, columns: usize) -> StyledLine {
        if self.block == 0 {
            return StyledLine::new(Tone::Plain, &*self.doing);
        }
        let (void, planned) = (self.forecast.void, self.forecast.planned + self.forecast.void);
        // In the first stage the number of blocks for the goal is not known yet.
        let fewest = self.forecast.fewest + void;
        let of = if self.block > fewest { planned.to_string() } else { span(fewest.min(planned), planned) };
        let mut parts = vec![format!("block {} of {of}", self.block)];
        if self.points > 1 {
            parts.push(point_words(&self.point));
        }
        let doing = if columns < WIDE { self.doing.replace(" of about ", "/") } else { self.doing.clone() };
        parts.push(doing);
        if void > 0 {
            parts.push(format!("{void} void"));
        }
        parts.retain(|part| !part.is_empty());
        StyledLine::new(Tone::Plain, parts.join(" · "))
    }

    /// The progress and the remaining time.
    fn bar(&self, now: Nanoseconds, columns: usize) -> StyledLine {
        let left = self.forecast.left(now);
        let done = left.map_or(0.0, |left| {
            let (gone, left) = (now.as_secs_f64(), left.most.as_secs_f64());
            if gone + left > 0.0 { gone / (gone + left) } else { 0.0 }
        });
        let left = left.map(|left| format!(", {}", left.words())).unwrap_or_default();
        let words = format!("{:3.0} %  {}{left}", done * 100.0, clock(now));
        let room = columns.saturating_sub(words.chars().count() + 2).min(40);
        let mut line = StyledLine::default();
        if room >= 5 {
            line.push(Tone::Strong, bar(done, room));
        }
        line.push(Tone::Plain, words);
        line
    }

    /// A variant's headline so far, at the current point.
    fn so_far(&self, at: usize, variant: &Variant, wide: bool) -> (Tone, String) {
        if at == 0 {
            return (Tone::Secondary, "baseline".to_owned());
        }
        let Some(interim) = self.interim.get(&(variant.name.clone(), self.point.clone())) else {
            return (Tone::Secondary, "–".to_owned());
        };
        let shown = interim_change(interim);
        match (shown.interval, interim.half_width) {
            (Some(interval), _) if wide => (Tone::Strong, format!("{} {interval}", shown.point)),
            (Some(_), Some(half)) => {
                // The half-width is a share, which beside a factor must be said.
                let unit = if shown.point.starts_with('×') { " %" } else { "" };
                (Tone::Strong, format!("{} ±{:.1}{unit}", shown.point, half * 100.0))
            }
            _ => (Tone::Secondary, format!("{} so far", shown.point)),
        }
    }
}

/// The remarks about an event.
pub fn remarks(event: &Event) -> Vec<Said> {
    match event {
        Event::Divided { blocks, run } => {
            vec![Said::note(format!("the budget is divided into {blocks} blocks, as run `{run}` advises"))]
        }
        Event::Unavailable { variant, reason } => {
            vec![Said::warning(format!("`{variant}` is left out: {reason}"))]
        }
        Event::Batches { batches, reason } => {
            let sizes: Vec<_> = batches.iter().map(|batch| batch.len().to_string()).collect();
            let sizes = sizes.join(" + ");
            vec![Said::note(format!("{sizes} variants live at once, each time with the baseline: {reason}"))]
        }
        Event::BlockVoid { block, reason } => {
            vec![Said::warning(format!("block {} is void and measured again: {reason}", block + 1))]
        }
        Event::Warning { text } => vec![Said::warning(text)],
        _ => Vec::new(),
    }
}

/// Widths of the columns in the variants' rows.
struct Layout {
    name: usize,
    spark: usize,
    wide: bool,
}

/// Columns of a median, of requests per second, of errors, and of the headline with its interval.
const MEDIAN: usize = 8;
const RATE: usize = 8;
const ERRORS: usize = 6;
const HEADLINE: usize = 25;
/// Columns of the headline on a narrow terminal.
const HEADLINE_SHORT: usize = 14;

impl Layout {
    fn new(variants: &[Variant], columns: usize) -> Self {
        let wide = columns >= WIDE;
        let longest = variants.iter().map(|variant| weighbridge_report::text::columns(&variant.name)).max();
        let fixed = match wide {
            true => MEDIAN + RATE + ERRORS + HEADLINE + 2 * 5,
            false => MEDIAN + HEADLINE_SHORT + 3,
        };
        let left = columns.saturating_sub(fixed + 1);
        // Names get what remains beside the narrowest row of bars, and bars get what remains beside the
        // names.
        let name = longest.unwrap_or_default().min(left.saturating_sub(4)).max(1);
        Self { name, spark: left.saturating_sub(name).clamp(1, 40), wide }
    }

    fn gap(&self) -> &'static str {
        if self.wide { "  " } else { " " }
    }

    fn heading(&self, headline: &str, recent: &str) -> StyledLine {
        let (gap, name, spark) = (self.gap(), self.name, self.spark);
        let mut text = format!("{:name$}{gap}{:>MEDIAN$}{gap}{:spark$}", "", "p50", recent);
        if self.wide {
            text.push_str(&format!("{gap}{:>RATE$}{gap}{:>ERRORS$}", "req/s", "errors"));
        }
        text.push_str(&format!("{gap}{headline}"));
        StyledLine::new(Tone::Secondary, text)
    }

    fn row(&self, variant: &Variant, tone: Tone, so_far: &str) -> StyledLine {
        let (gap, width) = (self.gap(), self.name);
        let name = shorten(&variant.name, width);
        let blank = " ".repeat(width - weighbridge_report::text::columns(&name));
        let median = variant.medians.last().map(Nanoseconds::to_string).unwrap_or_default();
        let mut line = StyledLine::new(Tone::Plain, format!("{name}{blank}{gap}{median:>MEDIAN$}{gap}"));
        let recent = match variant.tried.is_empty() {
            true => spark::row(&variant.medians, self.spark),
            false => marks(&variant.tried, self.spark),
        };
        line.push(Tone::Secondary, recent);
        let error = if variant.errors > 0 { Tone::Problem } else { Tone::Plain };
        if self.wide {
            let rate = variant.rate.map(|rate| grouped(rate.round() as u64)).unwrap_or_default();
            line.push(Tone::Plain, format!("{gap}{rate:>RATE$}{gap}"));
            line.push(error, format!("{:>ERRORS$}", grouped(variant.errors)));
        }
        line.push(Tone::Plain, gap);
        line.push(tone, so_far);
        if !self.wide && variant.errors > 0 {
            line.push(error, format!(" {} failed", grouped(variant.errors)));
        }
        line
    }
}

/// A mark for each rate, ascending: kept, undecided, exceeded. Where there are too many, the highest are shown.
fn marks(tried: &[Tried], columns: usize) -> String {
    let mark = |one: &Tried| match one.kept {
        Kept::Yes => '●',
        Kept::Undecided => '◐',
        Kept::No => '○',
    };
    let marks: String = tried[tried.len().saturating_sub(columns)..].iter().map(mark).collect();
    format!("{marks:columns$}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use weighbridge_model::estimate::Quantity;
    use weighbridge_model::record::steps::StepKind;

    #[test]
    fn a_search_shows_its_rates_in_order_with_what_each_showed() {
        let mut view = RunView::default();
        view.event(&at(0, started(&["rust"])));
        for (rate, kept) in
            [(400.0, Kept::Yes), (1600.0, Kept::No), (800.0, Kept::No), (800.0, Kept::Undecided)]
        {
            let (rate, shown) = (PerSecond::new(rate).unwrap(), "mean 2.10 ms".to_owned());
            let (variant, point, kind) = ("rust".to_owned(), PointLabel::new(), StepKind::Narrow);
            view.event(&at(1, Event::Step { block: 0, variant, point, kind, rate, kept, shown }));
        }
        let lines: Vec<String> = view
            .lines(Nanoseconds::from_secs(1), 100, 24)
            .iter()
            .map(|line| line.fitted(100, Style::Plain))
            .collect();
        assert!(lines[4].contains("●◐○") && lines[3].contains("rates tried"), "{lines:#?}");
    }

    fn at(seconds: u64, event: Event) -> TimedEvent {
        TimedEvent { at: Nanoseconds::from_secs(seconds), event }
    }

    fn started(variants: &[&str]) -> Event {
        Event::RunStarted {
            title: "pong: Rust against Go".to_owned(),
            folder: "runs/a".to_owned(),
            variants: variants.iter().map(|name| (*name).to_owned()).collect(),
            points: 1,
            blocks: (6, 30),
            budget: Nanoseconds::from_secs(120),
            headline: Some(Quantity::ResponseP50),
        }
    }

    fn round(number: u32, medians: &[(&str, u64)]) -> Event {
        let recent = |(name, micros): &(&str, u64)| Recent {
            variant: (*name).to_owned(),
            requests: 800,
            errors: u64::from(*name == "go" && number == 7),
            time: Nanoseconds::from_millis(20),
            p50: Some(Nanoseconds::from_micros(*micros)),
        };
        let recent = medians.iter().map(recent).collect();
        Event::Round { block: 0, point: PointLabel::new(), round: number, of: 40, recent }
    }

    fn measuring() -> Event {
        Event::Phase { block: 0, phase: Phase::Measuring, variant: None, point: Some(PointLabel::new()) }
    }

    fn ended(block: u32, interim: Interim) -> Event {
        Event::BlockEnded { block, interim: vec![interim], of: 30 }
    }

    fn interim(bounds: Option<(f64, f64)>) -> Interim {
        Interim {
            variant: "go".to_owned(),
            point: PointLabel::new(),
            change: 0.726,
            contrast: Default::default(),
            half_width: bounds.map(|_| 0.0043),
            lower: bounds.map(|bounds| bounds.0),
            upper: bounds.map(|bounds| bounds.1),
        }
    }

    fn drawn(view: &RunView, seconds: u64, size: (usize, usize)) -> Vec<String> {
        let lines = view.lines(Nanoseconds::from_secs(seconds), size.0, size.1);
        lines.iter().map(|line| line.fitted(size.0 - 1, Style::Plain).trim_end().to_owned()).collect()
    }

    /// The line with `#` for every bar, since another test checks their heights.
    fn without_bars(line: &str) -> String {
        line.chars().map(|c| if ('▁'..='█').contains(&c) { '#' } else { c }).collect()
    }

    /// A run in its fifth block.
    fn fifth() -> RunView {
        let mut view = RunView::default();
        view.event(&at(0, started(&["rust", "go"])));
        for block in 0..5 {
            view.event(&at(u64::from(block) * 4, Event::BlockStarted { block, of: 30 }));
            view.event(&at(u64::from(block) * 4 + 1, measuring()));
            for number in 0..8 {
                let medians = [("rust", 20 + u64::from(number % 3)), ("go", 36 + u64::from(number))];
                view.event(&at(u64::from(block) * 4 + 2, round(number, &medians)));
            }
            if block < 4 {
                let bounds = (block == 3).then_some((0.719, 0.734));
                view.event(&at(u64::from(block) * 4 + 4, ended(block, interim(bounds))));
            }
        }
        view
    }

    #[test]
    fn a_run_at_a_terminal_of_80_columns() {
        let lines: Vec<_> = drawn(&fifth(), 18, (80, 24)).iter().map(|line| without_bars(line)).collect();
        assert_eq!(
            lines,
            [
                "pong: Rust against Go",
                "block 5 of 6 to 30 · measuring, round 8 of about 40",
                "━━━━━━╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌ 15 %  0:18, 0:08 to 1:44 left",
                "           p50  recent                 req/s  errors  response p50",
                "rust   21.0 µs  ##################    40,000       0  baseline",
                "go     43.0 µs  ##################    40,000       5  +72.6 % [+71.9, +73.4]",
            ]
        );
    }

    #[test]
    fn a_narrow_terminal_shows_less_of_the_same() {
        let lines = drawn(&fifth(), 18, (40, 24));
        assert!(lines.iter().all(|line| line.chars().count() < 40), "{lines:#?}");
        assert!(lines.iter().any(|line| line.contains("+72.6 % ±0.4")), "{lines:#?}");
        assert!(lines.iter().any(|line| line.contains("left")), "{lines:#?}");
        let lines = drawn(&fifth(), 18, (20, 24));
        assert!(lines.iter().all(|line| line.chars().count() < 20), "{lines:#?}");
    }

    #[test]
    fn below_four_blocks_there_is_a_point_and_it_is_marked() {
        let mut view = RunView::default();
        view.event(&at(0, started(&["rust", "go"])));
        view.event(&at(0, Event::BlockStarted { block: 0, of: 6 }));
        assert!(drawn(&view, 0, (80, 24)).iter().any(|line| line.ends_with('–')));
        view.event(&at(20, ended(0, interim(None))));
        let lines = drawn(&view, 20, (80, 24));
        assert!(lines.iter().any(|line| line.ends_with("+72.6 % so far")), "{lines:#?}");
    }

    #[test]
    fn many_variants_on_a_low_terminal_leave_room() {
        let mut view = RunView::default();
        let names: Vec<String> = (0..12).map(|number| format!("variant {number}")).collect();
        view.event(&at(0, started(&names.iter().map(String::as_str).collect::<Vec<_>>())));
        let lines = drawn(&view, 0, (80, 10));
        assert!(lines.len() < 10, "{lines:#?}");
        assert_eq!(lines.last().map(String::as_str), Some("… and 9 more"));
    }

    #[test]
    fn warnings_stay_and_foreign_text_cannot_move_the_cursor() {
        let mut view = RunView::default();
        view.event(&at(0, started(&["a", "b\x1b[2J"])));
        assert!(drawn(&view, 0, (80, 24)).iter().all(|line| !line.contains('\x1b')));
        let shown = view.event(&at(1, Event::Warning { text: "late\r\x1b[2J by far".to_owned() }));
        let text = shown.above[0].folded(80, Style::Plain);
        assert_eq!(text, "warning: late\\u{d}\\u{1b}[2J by far");
    }

    #[test]
    fn drawing_is_forbidden_only_while_windows_are_measured() {
        let mut view = RunView::default();
        assert!(!view.is_measuring());
        view.event(&at(0, started(&["a", "b"])));
        view.event(&at(0, Event::BlockStarted { block: 0, of: 6 }));
        assert!(view.event(&at(1, measuring())).at_once && view.is_measuring());
        view.event(&at(2, round(0, &[])));
        assert!(view.is_measuring());
        view.event(&at(3, ended(0, interim(None))));
        assert!(!view.is_measuring());
    }
}
