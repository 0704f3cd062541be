//! Progress of a run on stderr: drawn at a terminal, in plain lines elsewhere, and not at all with `--quiet`.

use weighbridge_model::event::TimedEvent;

use crate::live::Painter;
use crate::live::plain::PlainRun;
use crate::live::run::remarks;
use crate::printer::{Liveliness, Printer};

/// Follows a run's events.
pub struct Progress<'a> {
    printer: &'a Printer,
    view: View,
}

/// How events are shown.
enum View {
    Painted(Painter),
    Lines(PlainRun),
    /// Warnings only.
    Nothing,
}

impl<'a> Progress<'a> {
    /// Before the first event.
    pub fn new(printer: &'a Printer) -> Self {
        let view = match printer.liveliness() {
            Liveliness::Quiet => View::Nothing,
            Liveliness::Plain => View::Lines(PlainRun::default()),
            // Without a thread to draw, plain lines are printed.
            Liveliness::Live => Painter::start(printer.style_of_notes())
                .map_or_else(|_| View::Lines(PlainRun::default()), View::Painted),
        };
        Self { printer, view }
    }

    /// Shows one event. Called between windows; returns when it is on the screen.
    pub fn event(&mut self, timed: &TimedEvent) {
        let said = match &mut self.view {
            View::Painted(painter) => return painter.event(timed),
            View::Lines(plain) => plain.event(timed),
            View::Nothing => remarks(&timed.event).into_iter().filter(|said| said.word.is_some()).collect(),
        };
        for said in said {
            match said.word {
                Some(_) => self.printer.warning(said.text),
                None => self.printer.progress(said.text),
            }
        }
    }
}
