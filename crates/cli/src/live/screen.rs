//! A few lines at a terminal that are drawn over and over, and what is printed above them for good.
//!
//! Between two drawings the cursor is hidden and stands at the first column of the first line. So one fixed text takes all
//! of it away again, whoever writes it: the end of a view, a panic, or a signal handler that stops this process.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::cursor::{Hide, MoveToColumn, MoveUp};
use crossterm::queue;
use crossterm::terminal::{BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate};

/// Takes the lines away and shows the cursor: to the first column, clear all below, show.
pub const ERASE: &[u8] = b"\r\x1b[J\x1b[?25h";

/// Whether lines are on the screen of stderr.
static DRAWN: AtomicBool = AtomicBool::new(false);

/// Whether nothing may be drawn: this process is about to stop.
static HELD: AtomicBool = AtomicBool::new(false);

/// Whether lines are on the screen, so that [`ERASE`] is due.
pub fn is_drawn() -> bool {
    DRAWN.load(Ordering::SeqCst)
}

/// Nothing is drawn from here on, until [`release`].
pub fn hold() {
    HELD.store(true, Ordering::SeqCst);
}

/// Drawing goes on.
pub fn release() {
    HELD.store(false, Ordering::SeqCst);
}

/// The lines on a terminal.
#[derive(Debug)]
pub struct Screen<W: Write> {
    out: W,
    drawn: bool,
}

impl<W: Write> Screen<W> {
    /// Nothing drawn yet; `out` writes through at once.
    pub fn new(out: W) -> Self {
        Self { out, drawn: false }
    }

    /// Draws these lines instead of those drawn before, in one write. None of them may be as wide as the terminal, nor they
    /// together as high.
    pub fn draw(&mut self, lines: &[String]) -> io::Result<()> {
        if HELD.load(Ordering::SeqCst) {
            return Ok(());
        }
        let mut frame = Vec::new();
        queue!(frame, BeginSynchronizedUpdate, Hide, MoveToColumn(0))?;
        for (at, line) in lines.iter().enumerate() {
            frame.extend_from_slice(if at == 0 { b"" } else { b"\r\n" });
            frame.extend_from_slice(line.as_bytes());
            queue!(frame, Clear(ClearType::UntilNewLine))?;
        }
        queue!(frame, Clear(ClearType::FromCursorDown))?;
        if lines.len() > 1 {
            queue!(frame, MoveUp(lines.len() as u16 - 1))?;
        }
        queue!(frame, MoveToColumn(0), EndSynchronizedUpdate)?;
        self.mark(true);
        self.out.write_all(&frame)?;
        self.out.flush()
    }

    /// Prints lines for good, where the drawn ones stood; those are gone until they are drawn again.
    pub fn print(&mut self, text: &str) -> io::Result<()> {
        let mut whole = self.taken_away();
        whole.extend_from_slice(text.replace('\n', "\r\n").as_bytes());
        whole.extend_from_slice(b"\r\n");
        self.out.write_all(&whole)?;
        self.out.flush()
    }

    /// Takes the drawn lines away.
    pub fn erase(&mut self) -> io::Result<()> {
        let whole = self.taken_away();
        self.out.write_all(&whole)?;
        self.out.flush()
    }

    fn taken_away(&mut self) -> Vec<u8> {
        let drawn = self.drawn;
        self.mark(false);
        if drawn { ERASE.to_vec() } else { Vec::new() }
    }

    fn mark(&mut self, drawn: bool) {
        self.drawn = drawn;
        DRAWN.store(drawn, Ordering::SeqCst);
    }
}

impl<W: Write> Drop for Screen<W> {
    fn drop(&mut self) {
        // A terminal that is gone needs no tidying.
        let _ = self.erase();
    }
}

/// Has a panic take the lines away before it says what happened.
pub fn tidy_up_on_panic() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |what| {
        if is_drawn() {
            let _ = io::stderr().write_all(ERASE);
        }
        before(what);
    }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    /// What is on the screen is one for the whole process.
    static TURN: Mutex<()> = Mutex::new(());

    /// A terminal of 6 rows and 20 columns that shows what was written to it.
    struct Terminal(vt100::Parser);

    impl Write for &mut Terminal {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.process(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn lines(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    fn shown(terminal: &Terminal) -> Vec<String> {
        let text = terminal.0.screen().contents();
        text.lines().map(|line| line.trim_end().to_owned()).collect()
    }

    #[test]
    fn lines_are_drawn_over_and_end_without_a_trace() {
        let _turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut terminal = Terminal(vt100::Parser::new(6, 20, 0));
        terminal.0.process(b"$ weigh run\r\n");
        let mut screen = Screen::new(&mut terminal);
        screen.draw(&lines(&["one", "two", "three"])).expect("drawn");
        screen.draw(&lines(&["1", "2"])).expect("drawn");
        assert_eq!(shown(screen.out), ["$ weigh run", "1", "2"]);
        assert!(screen.out.0.screen().hide_cursor() && is_drawn());
        screen.print("warning: a\n  b").expect("printed");
        screen.draw(&lines(&["3", "4", "5"])).expect("drawn");
        // Six rows are full: what was above has moved up, and the lines stand once.
        assert_eq!(shown(screen.out), ["$ weigh run", "warning: a", "  b", "3", "4", "5"]);
        screen.draw(&lines(&["6", "7", "8", "9"])).expect("drawn");
        assert_eq!(shown(screen.out), ["warning: a", "  b", "6", "7", "8", "9"]);
        drop(screen);
        assert_eq!(shown(&terminal), ["warning: a", "  b"]);
        assert!(!terminal.0.screen().hide_cursor() && !is_drawn());
    }

    #[test]
    fn a_signal_handler_can_take_the_lines_away_and_nothing_is_drawn_while_held() {
        let _turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut terminal = Terminal(vt100::Parser::new(6, 20, 0));
        let mut screen = Screen::new(&mut terminal);
        screen.draw(&lines(&["one", "two"])).expect("drawn");
        hold();
        screen.out.write_all(ERASE).expect("written");
        screen.draw(&lines(&["one", "two"])).expect("not drawn");
        release();
        assert!(shown(screen.out).is_empty() && !screen.out.0.screen().hide_cursor());
        screen.draw(&lines(&["again"])).expect("drawn");
        assert_eq!(shown(screen.out), ["again"]);
    }
}
