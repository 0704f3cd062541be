//! The only way out: data to stdout, everything else to stderr.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

use weighbridge_model::secret::printable;
use weighbridge_report::{Style, Tone};

use crate::args::Color;

/// Columns where nobody says how many.
const COLUMNS: usize = weighbridge_report::DEFAULT_COLUMNS;

/// How much is said on stderr while something is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Liveliness {
    /// Lines at a terminal that are drawn over and over.
    Live,
    /// Plain lines, without any control character.
    Plain,
    /// Warnings and errors only.
    Quiet,
}

/// What was asked for and what the environment says of both streams.
#[derive(Debug, Clone, Copy)]
pub struct Printer {
    color_out: bool,
    color_err: bool,
    liveliness: Liveliness,
}

impl Printer {
    /// Decides on colour and on what is drawn: as asked, else as the streams and the environment are.
    pub fn new(color: Color, quiet: bool) -> Self {
        let live = io::stderr().is_terminal()
            && !anstyle_query::no_color()
            && !anstyle_query::is_ci()
            && anstyle_query::term_supports_color();
        Self {
            color_out: is_coloured(color, io::stdout().is_terminal()),
            color_err: is_coloured(color, io::stderr().is_terminal()),
            liveliness: match (quiet, live) {
                (true, _) => Liveliness::Quiet,
                (false, true) => Liveliness::Live,
                (false, false) => Liveliness::Plain,
            },
        }
    }

    /// The style for text on stdout.
    pub fn style(&self) -> Style {
        if self.color_out { Style::Ansi } else { Style::Plain }
    }

    /// The style for text on stderr.
    pub fn style_of_notes(&self) -> Style {
        if self.color_err { Style::Ansi } else { Style::Plain }
    }

    /// Columns for text on stdout: the terminal's; elsewhere `COLUMNS`, or 80.
    pub fn columns(&self) -> usize {
        let terminal = || io::stdout().is_terminal().then(crate::terminal::columns_of_stdout).flatten();
        let said = || std::env::var("COLUMNS").ok()?.trim().parse().ok().filter(|columns| *columns > 0);
        terminal().or_else(said).unwrap_or(COLUMNS)
    }

    /// How much is said while something is measured.
    pub fn liveliness(&self) -> Liveliness {
        self.liveliness
    }

    /// Data, with a line feed at the end if it has none. A reader that has gone is no error: it has what it wanted,
    /// and gates are still to be judged.
    pub fn data(&self, text: &str) -> anyhow::Result<()> {
        let end: &[u8] = if text.ends_with('\n') { b"" } else { b"\n" };
        Self::out(&[text.as_bytes(), end])
    }

    /// Data that is no text, as it is.
    pub fn bytes(&self, bytes: &[u8]) -> anyhow::Result<()> {
        Self::out(&[bytes])
    }

    fn out(parts: &[&[u8]]) -> anyhow::Result<()> {
        let mut out = io::stdout().lock();
        let written = parts.iter().try_for_each(|part| out.write_all(part));
        match written.and_then(|()| out.flush()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(anyhow::Error::new(error).context("could not write to stdout"))
            }
            _ => Ok(()),
        }
    }

    /// A line for the person at the terminal.
    pub fn note(&self, text: impl Display) {
        // Nobody is left to tell when stderr is gone.
        let _ = writeln!(io::stderr().lock(), "{text}");
    }

    /// A line of progress, for which a quiet person does not care.
    pub fn progress(&self, text: impl Display) {
        if self.liveliness != Liveliness::Quiet {
            self.note(text);
        }
    }

    pub fn warning(&self, text: impl Display) {
        let word = self.style_of_notes().paint(Tone::Undecided, "warning");
        self.note(format_args!("{word}: {}", printable(&text.to_string())));
    }

    /// An error with its causes, on one line.
    pub fn error(&self, error: &anyhow::Error) {
        let word = self.style_of_notes().paint(Tone::Problem, "error");
        self.note(format_args!("{word}: {}", printable(&one_line(error))));
    }
}

/// Whether a stream is coloured. `NO_COLOR` goes before `CLICOLOR_FORCE`, as in most programs that know both.
fn is_coloured(asked: Color, terminal: bool) -> bool {
    match asked {
        Color::Always => true,
        Color::Never => false,
        Color::Auto if anstyle_query::no_color() => false,
        Color::Auto if anstyle_query::clicolor_force() => true,
        Color::Auto => {
            terminal && anstyle_query::clicolor() != Some(false) && anstyle_query::term_supports_color()
        }
    }
}

/// An error and its causes; a cause that the message before it has quoted already is not said twice.
fn one_line(error: &anyhow::Error) -> String {
    let add = |mut text: String, cause: &(dyn std::error::Error + 'static)| {
        let cause = cause.to_string();
        if !text.contains(&cause) {
            text.extend([": ", &cause]);
        }
        text
    };
    let text = error.chain().skip(1).fold(error.to_string(), add);
    // What a program said may hold anything; a message is one line all the same.
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" | ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_said_once() {
        let cause = io::Error::other("no route");
        assert_eq!(
            one_line(&anyhow::Error::new(cause).context("`a`: no route; wait")),
            "`a`: no route; wait"
        );
        let cause = io::Error::other("no route");
        assert_eq!(one_line(&anyhow::Error::new(cause).context("`a` is away")), "`a` is away: no route");
        assert_eq!(one_line(&anyhow::Error::msg("one\n\n  two")), "one | two");
    }
}
