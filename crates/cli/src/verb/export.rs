//! `weigh export`: a stored run in another format.

use weighbridge_report::{TextOptions, render};

use super::support::{Destination, Stored, open_run};
use crate::args::Export;
use crate::exit::Exit;
use crate::printer::Printer;

/// Prints the run.
pub fn run(arguments: &Export, printer: &Printer) -> anyhow::Result<Exit> {
    let folder = open_run(arguments.run.as_deref())?;
    let stored = Stored::read(&folder)?;
    let place = folder.path().display().to_string();
    let options = TextOptions { style: printer.style(), columns: printer.columns(), place: Some(&place) };
    let text = render(arguments.output.format, &stored.report(), &options);
    Destination::open(&arguments.output)?.write(&text, printer)?;
    Ok(Exit::Fine)
}
