//! The only way out: data to stdout, everything else to stderr.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

use weighbridge_model::secret::printable;

use crate::args::Color;

/// Where text goes and whether it may be coloured.
#[derive(Debug, Clone, Copy)]
pub struct Printer {
    color_out: bool,
    color_err: bool,
}

impl Printer {
    /// Decides on colour: as asked; by default where the stream is a terminal and `NO_COLOR` is not set.
    pub fn new(color: Color) -> Self {
        let wanted = |terminal: bool| match color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => {
                terminal
                    && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
                    && std::env::var_os("TERM").is_none_or(|value| value != "dumb")
            }
        };
        Self { color_out: wanted(io::stdout().is_terminal()), color_err: wanted(io::stderr().is_terminal()) }
    }

    /// The style for text on stdout.
    pub fn style(&self) -> weighbridge_report::Style {
        if self.color_out { weighbridge_report::Style::Ansi } else { weighbridge_report::Style::Plain }
    }

    /// Columns for text on stdout: the terminal's, or 80.
    pub fn columns(&self) -> usize {
        let of_terminal = || crate::signals::terminal_columns(libc::STDOUT_FILENO);
        if io::stdout().is_terminal() { of_terminal().unwrap_or(80) } else { 80 }
    }

    /// Whether stderr is a terminal, so that a line may be rewritten.
    pub fn is_live(&self) -> bool {
        io::stderr().is_terminal()
    }

    /// Data, with a line feed at the end if it has none. A reader that has gone is no error: it has what it wanted,
    /// and gates are still to be judged.
    pub fn data(&self, text: &str) -> anyhow::Result<()> {
        let mut out = io::stdout().lock();
        let end = if text.ends_with('\n') { "" } else { "\n" };
        let written = out.write_all(text.as_bytes()).and_then(|()| out.write_all(end.as_bytes()));
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

    /// Text for the person at the terminal as it is, for lines that are rewritten.
    pub fn raw(&self, text: &str) {
        let mut err = io::stderr().lock();
        let _ = err.write_all(text.as_bytes());
        let _ = err.flush();
    }

    /// A warning.
    pub fn warning(&self, text: impl Display) {
        let word = if self.color_err { "\x1b[33mwarning\x1b[0m" } else { "warning" };
        self.note(format_args!("{word}: {}", printable(&text.to_string())));
    }

    /// An error with its causes, on one line.
    pub fn error(&self, error: &anyhow::Error) {
        let word = if self.color_err { "\x1b[31merror\x1b[0m" } else { "error" };
        self.note(format_args!("{word}: {}", printable(&one_line(error))));
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
