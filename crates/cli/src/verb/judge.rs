//! `weigh judge`: a run's records judged again, beside what the run stored.

use anyhow::bail;
use weighbridge_conductor::compare::judge_again;
use weighbridge_report::Format;
use weighbridge_report::rejudged::Rejudged;

use super::support::{Destination, open_run, summary_of};
use crate::args::Judge;
use crate::exit::Exit;
use crate::printer::Printer;

pub fn run(arguments: &Judge, printer: &Printer) -> anyhow::Result<Exit> {
    let folder = open_run(arguments.run.as_deref(), arguments.verification, printer)?;
    let stored = summary_of(&folder)?;
    let environment = folder.environment()?;
    if environment.imported.is_some() {
        bail!(
            "`{}` was imported: another program measured it, and nothing was judged",
            folder.path().display()
        );
    }
    let again = judge_again(&folder)?;
    let result = Rejudged {
        stored: &stored,
        again: &again,
        stored_by: environment.weigh.as_ref().and_then(|build| build.version.as_deref()),
        judged_by: env!("CARGO_PKG_VERSION"),
    };
    let text = match arguments.output.format {
        Format::Text => result.text(printer.style(), printer.columns()),
        Format::Json => result.json(),
        other => bail!("`{}` is not available here; use `text` or `json`", other.name()),
    };
    Destination::open(&arguments.output)?.write(&text, printer)?;
    Ok(if result.agrees() { Exit::Fine } else { Exit::GateFailed })
}
