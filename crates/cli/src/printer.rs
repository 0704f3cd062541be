//! All output: data to stdout, everything else to stderr.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

use weighbridge_model::secret::printable;
use weighbridge_report::{Style, Tone};

use crate::args::Color;

/// Columns if neither terminal nor environment gives them.
const COLUMNS: usize = weighbridge_report::DEFAULT_COLUMNS;

/// How much to print to stderr during a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Liveliness {
    /// Lines at a terminal that are redrawn.
    Live,
    /// Plain lines without control characters.
    Plain,
    /// Warnings and errors only.
    Quiet,
}

/// The requested output options, and the state of both streams.
#[derive(Debug, Clone, Copy)]
pub struct Printer {
    color_out: bool,
    color_err: bool,
    liveliness: Liveliness,
}

impl Printer {
    /// Decides on colour and drawing: as requested, else by the streams and the environment.
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

    /// How much to print during a measurement.
    pub fn liveliness(&self) -> Liveliness {
        self.liveliness
    }

    /// Prints data, with a line feed at the end if it has none. A closed pipe is not an error: the reader has
    /// what it wanted, and gates must still be judged.
    pub fn data(&self, text: &str) -> anyhow::Result<()> {
        let end: &[u8] = if text.ends_with('\n') { b"" } else { b"\n" };
        Self::out(&[text.as_bytes(), end])
    }

    /// Prints binary data unchanged.
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

    /// Prints a line for the user to stderr.
    pub fn note(&self, text: impl Display) {
        // If stderr is closed, nobody can be informed.
        let _ = writeln!(io::stderr().lock(), "{text}");
    }

    /// Prints a line of progress, unless `--quiet`.
    pub fn progress(&self, text: impl Display) {
        if self.liveliness != Liveliness::Quiet {
            self.note(text);
        }
    }

    pub fn warning(&self, text: impl Display) {
        let word = self.style_of_notes().paint(Tone::Undecided, "warning");
        self.note(format_args!("{word}: {}", printable(&text.to_string())));
    }

    /// Prints an error with its causes, on one line.
    pub fn error(&self, error: &anyhow::Error) {
        let word = self.style_of_notes().paint(Tone::Problem, "error");
        self.note(format_args!("{word}: {}", printable(&one_line(error))));
    }
}

/// Whether a stream is coloured. `NO_COLOR` takes precedence over `CLICOLOR_FORCE`, as in most programs.
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

/// An error and its causes, without causes that the message before already contains.
fn one_line(error: &anyhow::Error) -> String {
    let add = |mut text: String, cause: &(dyn std::error::Error + 'static)| {
        let cause = cause.to_string();
        if !text.contains(&cause) {
            text.extend([": ", &cause]);
        }
        text
    };
    let text = error.chain().skip(1).fold(error.to_string(), add);
    // A program's output may contain line breaks, but a message is one line.
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" | ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_printed_once() {
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
