//! `weigh calibrate`: how good the measurements on this host are.

use anyhow::{Context, bail};
use weighbridge_conductor::calibrate::{self, Calibration};
use weighbridge_report::Format;
use weighbridge_report::calibration::render;

use super::support::{Destination, options};
use crate::args::Calibrate;
use crate::exit::Exit;
use crate::printer::Printer;

/// Calibrates the generator.
pub fn run(arguments: &Calibrate, printer: &Printer) -> anyhow::Result<Exit> {
    let format = arguments.output.format;
    if !matches!(format, Format::Text | Format::Json) {
        bail!("`{format}` is not available for `calibrate`; use `text` or `json`");
    }
    let destination = Destination::open(&arguments.output)?;
    let options = options("runs".into())?;
    let program = std::env::current_exe().context("could not find this program's own file")?;
    let probe = [program.display().to_string(), "probe".to_owned()];
    let logs = std::env::temp_dir().join(format!("weigh-calibrate-{}", std::process::id()));
    std::fs::create_dir_all(&logs).with_context(|| format!("could not make `{}`", logs.display()))?;
    let calibration = Calibration {
        probe: &probe,
        guardian: &options.guardian,
        logs: &logs,
        requests: arguments.requests,
        duration: arguments.duration,
        control: options.control.clone(),
    };
    let found = calibrate::generator(&calibration, &mut |part| printer.note(part));
    let _ = std::fs::remove_dir_all(&logs);
    let text = render(format, &found?, printer.style())?;
    destination.write(&text, printer)?;
    Ok(Exit::Fine)
}
