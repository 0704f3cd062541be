//! `weigh completions`: a completion script for a shell.

use clap::CommandFactory;

use crate::args::{Arguments, Completions};
use crate::exit::Exit;
use crate::printer::Printer;

/// Prints the script.
pub fn run(arguments: &Completions, printer: &Printer) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::command(), "weigh", &mut script);
    printer.data(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Fine)
}
