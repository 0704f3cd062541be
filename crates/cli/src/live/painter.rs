//! The thread that draws. It runs on another core than the client, and draws only on an event between two
//! windows or while nothing is measured.
//!
//! The sender of an event waits until it is drawn, so that drawing never overlaps a window. A terminal that
//! accepts no output (Ctrl-S) delays the sender only briefly.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use weighbridge_lab::host::cores::{CoreLayout, Sharing, pin_current_thread};
use weighbridge_model::event::TimedEvent;
use weighbridge_report::Style;

use super::run::{RunView, Shown};
use super::screen::Screen;
use crate::terminal::size_of_stderr;

/// Shortest time between drawings, unless a new phase begins.
const APART: Duration = Duration::from_millis(200);
/// Interval at which the clock on the screen advances while nothing is measured.
const TICK: Duration = Duration::from_secs(1);
/// Longest wait for the terminal.
const PATIENCE: Duration = Duration::from_millis(100);

/// The handle of the thread. Dropping it erases the view.
#[derive(Debug)]
pub struct Painter {
    events: Option<Sender<TimedEvent>>,
    drawn: Receiver<()>,
    thread: Option<JoinHandle<()>>,
    /// Events that the thread has not confirmed, because the terminal is slow.
    owed: u32,
}

impl Painter {
    /// Starts the thread.
    pub fn start(style: Style) -> io::Result<Self> {
        let (events, inbox) = channel();
        let (answer, drawn) = channel();
        let aside = CoreLayout::detect().ok().filter(|layout| layout.sharing() == Sharing::Apart);
        let thread = std::thread::Builder::new().name("painter".to_owned()).spawn(move || {
            // Without pinning it still draws only between windows.
            let _ = aside.map(|layout| pin_current_thread(layout.service()[0]));
            Canvas::new(style).paint(&inbox, &answer);
        })?;
        Ok(Self { events: Some(events), drawn, thread: Some(thread), owed: 0 })
    }

    /// Shows an event and waits until it is on the screen.
    pub fn event(&mut self, event: &TimedEvent) {
        let sent = self.events.as_ref().is_some_and(|events| events.send(event.clone()).is_ok());
        self.owed += u32::from(sent);
        while self.owed > 0 && self.drawn.try_recv().is_ok() {
            self.owed -= 1;
        }
        if self.owed == 1 && self.drawn.recv_timeout(PATIENCE).is_ok() {
            self.owed = 0;
        }
    }
}

impl Drop for Painter {
    fn drop(&mut self) {
        self.events = None;
        if let Some(thread) = self.thread.take() {
            // Its panic has already been printed.
            let _ = thread.join();
        }
    }
}

/// The thread's state.
struct Canvas {
    view: RunView,
    screen: Screen<io::Stderr>,
    style: Style,
    /// Time of the latest event: by the run's clock, and by ours.
    latest: (weighbridge_model::quantity::Nanoseconds, Instant),
    painted: Option<Instant>,
    /// Whether something is not on the screen yet.
    stale: bool,
}

impl Canvas {
    fn new(style: Style) -> Self {
        Self {
            view: RunView::default(),
            screen: Screen::new(io::stderr()),
            style,
            latest: (weighbridge_model::quantity::Nanoseconds::ZERO, Instant::now()),
            painted: None,
            stale: false,
        }
    }

    fn paint(&mut self, inbox: &Receiver<TimedEvent>, answer: &Sender<()>) {
        loop {
            let received = match (self.view.is_measuring(), self.stale) {
                (true, _) => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
                (false, true) => inbox.recv_timeout(APART),
                (false, false) => inbox.recv_timeout(TICK),
            };
            match received {
                Ok(event) => {
                    self.take_in(&event);
                    let _ = answer.send(());
                }
                Err(RecvTimeoutError::Timeout) => self.draw(),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn take_in(&mut self, event: &TimedEvent) {
        self.latest = (event.at, Instant::now());
        let Shown { above, at_once } = self.view.event(event);
        let printed = !above.is_empty();
        for text in above {
            let (columns, _) = size_of_stderr();
            // If the terminal is gone, nobody reads it.
            let _ = self.screen.print(&text.folded(columns, self.style));
        }
        self.stale = true;
        let due = self.painted.is_none_or(|then| then.elapsed() >= APART);
        if printed || at_once || due {
            self.draw();
        }
    }

    fn draw(&mut self) {
        let (columns, rows) = size_of_stderr();
        let (at, then) = self.latest;
        let now = at + weighbridge_model::quantity::Nanoseconds::from_nanos(then.elapsed().as_nanos() as u64);
        let mut lines = self.view.lines(now, columns, rows);
        lines.truncate(rows.saturating_sub(1));
        let lines: Vec<String> =
            lines.iter().map(|line| line.fitted(columns.saturating_sub(1), self.style)).collect();
        let _ = match lines.is_empty() {
            true => self.screen.erase(),
            false => self.screen.draw(&lines),
        };
        (self.painted, self.stale) = (Some(Instant::now()), false);
    }
}
