//! The state of a running run for the page that follows it, computed from its events alone: a client that
//! connects late or again sees what all others see.

use serde::Serialize;
use weighbridge_model::event::{Event, Interim, TimedEvent};
use weighbridge_model::quantity::Nanoseconds;

use crate::words;

/// Most notes kept: the newest.
const NOTES: usize = 50;

/// What the page shows. Texts are foreign and not escaped.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Live {
    pub title: String,
    /// `block 3 of 6: round 5 of about 40`
    pub step: String,
    /// Share of the planned blocks that has been measured, 0 to 1.
    pub progress: f64,
    /// Time since the run began, and its budget.
    pub clock: String,
    /// The headline of each variant so far, with its interval.
    pub costs: Vec<String>,
    /// Warnings, void blocks, unavailable variants; newest first.
    pub notes: Vec<String>,
    pub state: LiveState,
    #[serde(skip)]
    budget: Nanoseconds,
    #[serde(skip)]
    block: (u32, u32),
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LiveState {
    #[default]
    Running,
    Ended,
    /// Its user stopped it; a later event means that it was resumed.
    Interrupted,
}

impl Live {
    pub fn apply(&mut self, timed: &TimedEvent) {
        self.state = LiveState::Running;
        self.event(&timed.event);
        let budget = match self.budget {
            Nanoseconds::ZERO => String::new(),
            budget => format!(" of about {}", whole_seconds(budget)),
        };
        self.clock = format!("{}{budget}", whole_seconds(timed.at));
    }

    fn event(&mut self, event: &Event) {
        match event {
            Event::RunStarted { title, blocks, budget, .. } => {
                *self = Self { title: title.clone(), budget: *budget, ..Self::default() };
                self.block = (0, blocks.0);
                self.step = "starting".to_owned();
            }
            Event::Divided { blocks, run } => {
                self.note(format!("the budget is divided into {blocks} blocks, as run `{run}` advises"));
            }
            Event::Building { service } => self.step = format!("building `{service}`"),
            Event::Unavailable { variant, reason } => {
                self.note(format!("`{variant}` is left out: {reason}"));
            }
            Event::BlockStarted { block, of } => {
                self.block = (*block, *of);
                self.set_step("starting");
                self.set_progress(0.0);
            }
            Event::Batches { reason, .. } => self.note(format!("measured in batches: {reason}")),
            Event::BatchStarted { batch, of, variants, .. } => {
                self.set_step(&format!("batch {} of {of}: starting {}", batch + 1, variants.join(", ")));
            }
            Event::Phase { phase, variant, .. } => {
                let variant = variant.as_ref().map(|variant| format!(" {variant}")).unwrap_or_default();
                self.set_step(&format!("{}{variant}", phase.name()));
            }
            Event::Started { variant, .. } => self.set_step(&format!("{variant} is ready")),
            Event::Verified { requests } => self.set_step(&format!("{requests} answers compared")),
            Event::Warm { variant, .. } => self.set_step(&format!("{variant} is warm")),
            Event::Round { block, round, of, .. } => {
                self.block.0 = *block;
                self.set_step(&format!("round {} of about {of}", round + 1));
                self.set_progress(f64::from(round + 1) / f64::from((*of).max(round + 1)));
            }
            Event::Step { variant, rate, kept, shown, .. } => {
                self.set_step(&format!("{variant} at {rate}: {} ({shown})", kept.words()));
            }
            Event::BlockEnded { block, interim, of } => {
                self.block = (*block, *of);
                self.set_step("measured");
                self.set_progress(1.0);
                self.costs = interim.iter().map(headline).collect();
            }
            Event::BlockVoid { block, reason } => {
                self.note(format!("block {} is void and measured again: {reason}", block + 1));
            }
            Event::Warning { text } => self.note(format!("warning: {text}")),
            Event::RunEnded { .. } => {
                (self.step, self.progress, self.state) = ("ended".to_owned(), 1.0, LiveState::Ended);
            }
            Event::Interrupted { blocks, .. } => {
                self.step = format!("interrupted; whole blocks kept: {blocks}");
                self.state = LiveState::Interrupted;
            }
        }
    }

    fn set_step(&mut self, what: &str) {
        self.step = format!("block {} of {}: {what}", self.block.0 + 1, self.block.1);
    }

    /// Sets the progress, with `share` of the present block done.
    fn set_progress(&mut self, share: f64) {
        let blocks = self.block.1.max(self.block.0 + 1);
        self.progress =
            ((f64::from(self.block.0) + share.clamp(0.0, 1.0)) / f64::from(blocks)).clamp(0.0, 1.0);
    }

    pub fn note(&mut self, text: String) {
        self.notes.insert(0, text);
        self.notes.truncate(NOTES);
    }
}

fn headline(interim: &Interim) -> String {
    let who = words::subject(&interim.variant, &interim.point);
    let (change, unit) = (interim.change * 100.0, interim.contrast.unit());
    match interim.half_width {
        Some(width) => format!("{who}: {change:+.2} {unit} ± {:.2} {unit}", width * 100.0),
        None => format!("{who}: {change:+.2} {unit}, no interval yet"),
    }
}

/// In whole seconds.
fn whole_seconds(time: Nanoseconds) -> String {
    let seconds = time.as_nanos() / 1_000_000_000;
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds} s"),
        (minutes, 0) => format!("{minutes} min"),
        (minutes, seconds) => format!("{minutes} min {seconds} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weighbridge_model::id::PointLabel;

    fn after(events: &[Event]) -> Live {
        let mut live = Live::default();
        for (event, second) in events.iter().zip(0..) {
            live.apply(&TimedEvent { at: Nanoseconds::from_secs(second), event: event.clone() });
        }
        live
    }

    fn started() -> Event {
        Event::RunStarted {
            title: "a against b".into(),
            folder: "runs/x".into(),
            variants: vec!["a".into(), "b".into()],
            points: 1,
            blocks: (6, 30),
            budget: Nanoseconds::from_secs(60),
            headline: None,
        }
    }

    #[test]
    fn events_move_the_bar_and_the_last_block_gives_the_headline() {
        let round = Event::Round { block: 2, point: PointLabel::new(), round: 9, of: 20, recent: Vec::new() };
        let interim = Interim {
            variant: "b".into(),
            point: PointLabel::new(),
            change: 0.0123,
            contrast: Default::default(),
            half_width: Some(0.004),
            lower: Some(0.0083),
            upper: Some(0.0163),
        };
        let ended = Event::BlockEnded { block: 1, interim: vec![interim], of: 6 };
        let live = after(&[started(), ended, Event::BlockStarted { block: 2, of: 6 }, round]);
        assert_eq!(live.title, "a against b");
        assert_eq!(live.step, "block 3 of 6: round 10 of about 20");
        assert!((live.progress - 2.5 / 6.0).abs() < 1e-12, "{}", live.progress);
        assert_eq!(live.costs, ["b: +1.23 % ± 0.40 %"]);
        assert_eq!(live.clock, "3 s of about 1 min");
        assert_eq!(live.state, LiveState::Running);
    }

    #[test]
    fn a_run_that_was_interrupted_and_taken_up_again_is_running() {
        let interrupted = Event::Interrupted { folder: "runs/x".into(), blocks: 2 };
        let live = after(&[started(), interrupted.clone()]);
        assert_eq!(live.state, LiveState::Interrupted);
        assert!(live.step.contains("kept: 2"));
        let live = after(&[started(), interrupted, Event::BlockStarted { block: 2, of: 6 }]);
        assert_eq!(live.state, LiveState::Running);
        let live = after(&[started(), Event::RunEnded { folder: "runs/x".into() }]);
        assert_eq!((live.state, live.progress), (LiveState::Ended, 1.0));
    }

    #[test]
    fn notes_are_bounded() {
        let warning = |number: u32| Event::Warning { text: format!("number {number}") };
        let events: Vec<_> = std::iter::once(started()).chain((0..200).map(warning)).collect();
        let live = after(&events);
        assert_eq!((live.notes.len(), live.notes[0].as_str()), (NOTES, "warning: number 199"));
    }
}
