//! Some lines at a terminal that are redrawn repeatedly, and text printed above them for good.
//!
//! Between two drawings the cursor is hidden and at the first column of the first line. One constant text
//! therefore erases the view, whether its end, a panic, or a signal handler that stops this process writes
//! it.
//!
//! A key that sends a signal makes the kernel discard the output that the terminal has not read yet, so a
//! drawing may lose any part, and with it the cursor's way back. Each drawing therefore saves the first line's
//! position in the terminal, and after such a key the view is erased from there. Otherwise it is not: a terminal
//! that was resized may have moved its text since.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crossterm::cursor::{Hide, MoveToColumn, MoveUp, SavePosition};
use crossterm::queue;
use crossterm::terminal::{BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate};

/// Erases the lines and shows the cursor: to the first column, clear all below, show.
const ERASE: &[u8] = b"\r\x1b[J\x1b[?25h";

/// The same from the saved position.
const ERASE_TORN: &[u8] = b"\x1b8\r\x1b[J\x1b[?25h";

/// Lines that are drawn on stderr's screen.
static DRAWN: AtomicUsize = AtomicUsize::new(0);

/// Whether drawing is forbidden because this process is about to stop.
static HELD: AtomicBool = AtomicBool::new(false);

/// Whether a part of the last drawing may be lost.
static TORN: AtomicBool = AtomicBool::new(false);

/// What erases the drawn lines; nothing where none are. A signal handler may ask.
pub fn erasure() -> &'static [u8] {
    match (DRAWN.load(Ordering::SeqCst), TORN.load(Ordering::SeqCst)) {
        (0, _) => b"",
        (_, false) => ERASE,
        (_, true) => ERASE_TORN,
    }
}

/// Notes that a key may have sent a signal, so that a part of the last drawing may be lost.
pub fn tear() {
    TORN.store(true, Ordering::SeqCst);
}

/// Forbids drawing until [`release`].
pub fn hold() {
    HELD.store(true, Ordering::SeqCst);
}

/// Allows drawing again. What was drawn before has been erased.
pub fn release() {
    DRAWN.store(0, Ordering::SeqCst);
    HELD.store(false, Ordering::SeqCst);
}

/// The lines on a terminal. A process has one at a time.
#[derive(Debug)]
pub struct Screen<W: Write> {
    out: W,
}

impl<W: Write> Screen<W> {
    /// A screen without lines; `out` must be unbuffered.
    pub fn new(out: W) -> Self {
        Self { out }
    }

    /// Draws these lines instead of the previous ones, in one write. Each must be narrower than the terminal,
    /// and all together lower.
    pub fn draw(&mut self, lines: &[String]) -> io::Result<()> {
        if HELD.load(Ordering::SeqCst) {
            return Ok(());
        }
        let torn = TORN.load(Ordering::SeqCst);
        let mut frame = if torn { taken_away() } else { Vec::new() };
        queue!(frame, BeginSynchronizedUpdate, Hide, MoveToColumn(0))?;
        let last = lines.len().saturating_sub(1);
        if lines.len() > DRAWN.load(Ordering::SeqCst) && last > 0 {
            // What scrolls, scrolls before the position is saved.
            frame.extend_from_slice("\n".repeat(last).as_bytes());
            queue!(frame, MoveUp(last as u16), MoveToColumn(0))?;
        }
        queue!(frame, SavePosition)?;
        for (at, line) in lines.iter().enumerate() {
            frame.extend_from_slice(if at == 0 { b"" } else { b"\r\n" });
            frame.extend_from_slice(line.as_bytes());
            queue!(frame, Clear(ClearType::UntilNewLine))?;
        }
        queue!(frame, Clear(ClearType::FromCursorDown))?;
        if last > 0 {
            queue!(frame, MoveUp(last as u16))?;
        }
        queue!(frame, MoveToColumn(0), EndSynchronizedUpdate)?;
        DRAWN.store(lines.len(), Ordering::SeqCst);
        self.out.write_all(&frame)?;
        self.out.flush()
    }

    /// Prints lines for good in place of the drawn ones, which are gone until the next drawing.
    pub fn print(&mut self, text: &str) -> io::Result<()> {
        let mut whole = taken_away();
        whole.extend_from_slice(text.replace('\n', "\r\n").as_bytes());
        whole.extend_from_slice(b"\r\n");
        self.out.write_all(&whole)?;
        self.out.flush()
    }

    /// Erases the drawn lines.
    pub fn erase(&mut self) -> io::Result<()> {
        let whole = taken_away();
        self.out.write_all(&whole)?;
        self.out.flush()
    }
}

/// What erases the drawn lines, which are then no longer drawn.
fn taken_away() -> Vec<u8> {
    let erasure = erasure();
    DRAWN.store(0, Ordering::SeqCst);
    TORN.store(false, Ordering::SeqCst);
    erasure.to_vec()
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
        let _ = io::stderr().write_all(erasure());
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
        assert!(screen.out.0.screen().hide_cursor() && !erasure().is_empty());
        screen.print("warning: a\n  b").expect("printed");
        screen.draw(&lines(&["3", "4", "5"])).expect("drawn");
        // Six rows are full, so the earlier text has scrolled up, and the lines are there once.
        assert_eq!(shown(screen.out), ["$ weigh run", "warning: a", "  b", "3", "4", "5"]);
        screen.draw(&lines(&["6", "7", "8", "9"])).expect("drawn");
        assert_eq!(shown(screen.out), ["warning: a", "  b", "6", "7", "8", "9"]);
        drop(screen);
        assert_eq!(shown(&terminal), ["warning: a", "  b"]);
        assert!(!terminal.0.screen().hide_cursor() && erasure().is_empty());
    }

    #[test]
    fn a_signal_handler_can_erase_the_lines_and_nothing_is_drawn_while_held() {
        let _turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut terminal = Terminal(vt100::Parser::new(6, 20, 0));
        let mut screen = Screen::new(&mut terminal);
        screen.draw(&lines(&["one", "two"])).expect("drawn");
        hold();
        screen.out.write_all(erasure()).expect("written");
        screen.draw(&lines(&["one", "two"])).expect("not drawn");
        release();
        assert!(shown(screen.out).is_empty() && !screen.out.0.screen().hide_cursor());
        screen.draw(&lines(&["again"])).expect("drawn");
        assert_eq!(shown(screen.out), ["again"]);
    }

    /// A terminal that loses a part of what is written to it, and the last of that.
    struct Losing<'a>(&'a mut Terminal, std::ops::Range<usize>, Vec<u8>);

    impl Write for Losing<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let (from, to) = (self.1.start, self.1.end);
            let _ = (&mut *self.0).write(&bytes[..from])?;
            let _ = (&mut *self.0).write(&bytes[to..])?;
            self.2 = bytes.to_vec();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Draws twice at the bottom of a terminal, the second time with that loss, then prints.
    ///
    /// Returns what is shown, and what was drawn.
    fn shown_after(lost: std::ops::Range<usize>) -> (Vec<String>, Vec<u8>) {
        let mut terminal = Terminal(vt100::Parser::new(6, 20, 0));
        terminal.0.process(b"1\r\n2\r\n3\r\n$ weigh run\r\n");
        let mut losing = Losing(&mut terminal, 0..0, Vec::new());
        let mut screen = Screen::new(&mut losing);
        screen.draw(&lines(&["one", "two", "three"])).expect("drawn");
        screen.out.1 = lost;
        screen.draw(&lines(&["four", "five", "six"])).expect("drawn");
        let drawn = screen.out.2.clone();
        tear();
        screen.out.1 = 0..0;
        screen.print("error: interrupted").expect("printed");
        drop(screen);
        (shown(&terminal), drawn)
    }

    /// The kernel passes on a write to a terminal in pieces: each \r and \n, and what is between them.
    #[test]
    fn a_drawing_that_lost_any_pieces_to_a_key_is_erased_as_a_whole() {
        let _turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let (_, drawn) = shown_after(0..0);
        let ends: Vec<usize> = (0..=drawn.len())
            .filter(|&at| [at.wrapping_sub(1), at].iter().any(|&at| is_end(&drawn, at)))
            .collect();
        assert_eq!(ends.len(), 8, "pieces of {:?}", String::from_utf8_lossy(&drawn));
        for (at, &from) in ends.iter().enumerate() {
            for &to in &ends[at..] {
                let (found, _) = shown_after(from..to);
                assert_eq!(found, ["2", "3", "$ weigh run", "error: interrupted"], "{from}..{to} is lost");
            }
        }
    }

    /// Whether a piece ends before or after that byte, or there is none.
    fn is_end(bytes: &[u8], at: usize) -> bool {
        bytes.get(at).is_none_or(|byte| b"\r\n".contains(byte))
    }
}
