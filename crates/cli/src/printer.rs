//! The only way out: data to stdout, everything else to stderr.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

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

    /// Data, with a line feed at the end if it has none.
    pub fn data(&self, text: &str) -> io::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        if !text.ends_with('\n') {
            out.write_all(b"\n")?;
        }
        out.flush()
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
        self.note(format_args!("{word}: {text}"));
    }

    /// An error with its causes, on one line.
    pub fn error(&self, error: &anyhow::Error) {
        let word = if self.color_err { "\x1b[31merror\x1b[0m" } else { "error" };
        self.note(format_args!("{word}: {error:#}"));
    }
}

/// Whether the reader of our output has gone, which is no error.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.downcast_ref::<io::Error>().is_some_and(|io| io.kind() == io::ErrorKind::BrokenPipe)
    })
}
