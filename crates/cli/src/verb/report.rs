//! `weigh report`: the page of a stored run.

use std::path::Path;

use weighbridge_report::{Format, TextOptions, render};

use super::support::{Destination, Stored, open_run};
use crate::args::{Output, Report};
use crate::exit::Exit;
use crate::printer::Printer;

/// Writes the page.
pub fn run(arguments: &Report, printer: &Printer) -> anyhow::Result<Exit> {
    let folder = open_run(arguments.run.as_deref())?;
    let stored = Stored::read(&folder)?;
    let page = render(Format::Html, &stored.report(), &TextOptions::default());
    match &arguments.output {
        None => {
            let path = folder.write_derived("report.html", page.as_bytes())?;
            printer.note(format_args!("wrote `{}`", path.display()));
        }
        Some(path) => {
            let output = Output { format: Format::Html, output: Some(path.clone()) };
            Destination::open(&output)?.write(&page, printer)?;
            if path != Path::new("-") {
                printer.note(format_args!("wrote `{}`", path.display()));
            }
        }
    }
    Ok(Exit::Fine)
}
