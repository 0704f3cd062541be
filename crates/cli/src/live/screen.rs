//! Some lines at a terminal that are redrawn repeatedly, and text printed above them for good.
//!
//! Between two drawings the cursor is hidden and at the first column of the first line. One constant text
//! therefore erases the view, whether its end, a panic, or a signal handler that stops this process writes
//! it.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::cursor::{Hide, MoveToColumn, MoveUp};
use crossterm::queue;
use crossterm::terminal::{BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate};

/// Erases the lines and shows the cursor: to the first column, clear all below, show.
pub const ERASE: &[u8] = b"\r\x1b[J\x1b[?25h";

/// Whether lines are drawn on stderr's screen.
static DRAWN: AtomicBool = AtomicBool::new(false);

/// Whether drawing is forbidden because this process is about to stop.
static HELD: AtomicBool = AtomicBool::new(false);

/// Whether lines are drawn, so that [`ERASE`] is needed.
pub fn is_drawn() -> bool {
    DRAWN.load(Ordering::SeqCst)
}

/// Forbids drawing until [`release`].
pub fn hold() {
    HELD.store(true, Ordering::SeqCst);
}

/// Allows drawing again.
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
    /// A screen without lines; `out` must be unbuffered.
    pub fn new(out: W) -> Self {
        Self { out, drawn: false }
    }

    /// Draws these lines instead of the previous ones, in one write. Each must be narrower than the terminal,
    /// and all together lower.
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

    /// Prints lines for good in place of the drawn ones, which are gone until the next drawing.
    pub fn print(&mut self, text: &str) -> io::Result<()> {
        let mut whole = self.taken_away();
        whole.extend_from_slice(text.replace('\n', "\r\n").as_bytes());
        whole.extend_from_slice(b"\r\n");
        self.out.write_all(&whole)?;
        self.out.flush()
    }

    /// Erases the drawn lines.
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
        // A terminal that is gone needs no clean-up.
        let _ = self.erase();
    }
}

/// Erases the lines before a panic prints its message.
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

    /// Tests run one at a time, since the process has only one screen state.
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
    fn lines_are_redrawn_and_erased_without_a_trace() {
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
        // Six rows are full, so the earlier text has scrolled up, and the lines are there once.
        assert_eq!(shown(screen.out), ["$ weigh run", "warning: a", "  b", "3", "4", "5"]);
        screen.draw(&lines(&["6", "7", "8", "9"])).expect("drawn");
        assert_eq!(shown(screen.out), ["warning: a", "  b", "6", "7", "8", "9"]);
        drop(screen);
        assert_eq!(shown(&terminal), ["warning: a", "  b"]);
        assert!(!terminal.0.screen().hide_cursor() && !is_drawn());
    }

    #[test]
    fn a_signal_handler_can_erase_the_lines_and_nothing_is_drawn_while_held() {
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
