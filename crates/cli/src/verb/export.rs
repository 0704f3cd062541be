//! `weigh export`: a stored run in another format.

use std::io::IsTerminal;
use std::path::Path;

use anyhow::bail;
use weighbridge_conductor::compare::evidence::evidence;
use weighbridge_model::evidence::Evidence;
use weighbridge_report::{ExportError, ExportFormat, Exported, JmhClass, TableName, TextOptions, export};
use weighbridge_store::RunFolder;

use super::import::{Rows, rows_of};
use super::support::{Destination, Stored, gates, open_run};
use crate::args::Export;
use crate::exit::Exit;
use crate::printer::Printer;

pub fn run(arguments: &Export, printer: &Printer) -> anyhow::Result<Exit> {
    let format = arguments.format;
    if !format.is_built() {
        return Err(ExportError::NotBuilt(format).into());
    }
    if arguments.table.is_some() && !format.has_tables() {
        bail!("`--table` is for `csv` and `parquet`; `{format}` has no tables");
    }
    let jmh_class = match (&arguments.class, format) {
        (None, _) => JmhClass::Measure,
        (Some(_), ExportFormat::Jmh | ExportFormat::JmhText) => JmhClass::Variant,
        (Some(_), _) => bail!("`--class` is for `jmh` and `jmh-text`; `{format}` has no classes"),
    };
    let to_stdout = arguments.output.as_deref().is_none_or(|path| path == Path::new("-"));
    if !format.is_text() && to_stdout && std::io::stdout().is_terminal() {
        bail!("`{format}` is not text; name a file with `--output`, or pipe it");
    }
    let extra = gates(&arguments.fail_if, &arguments.require)?;
    let folder = open_run(arguments.run.as_deref(), arguments.verification, printer)?;
    let stored = Stored::read(&folder)?.with_gates(&extra);
    let place = folder.path().display().to_string();
    let options = TextOptions {
        style: printer.style(),
        columns: printer.columns(),
        place: Some(&place),
        details: true,
    };
    let table = arguments.table.unwrap_or_default();
    let wanted = Wanted { format, table, jmh_class };
    let (bytes, left_out) = exported(&folder, &stored, wanted, &options)?;
    left_out.iter().for_each(|said| printer.note(format_args!("{said}")));
    Destination::at(arguments.output.as_deref())?.write_bytes(&bytes, printer)?;
    Ok(Exit::Fine)
}

/// What is written of a run.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    pub format: ExportFormat,
    pub table: TableName,
    pub jmh_class: JmhClass,
}

/// A stored run in a format, and what the format leaves out. The records are read only if the format needs
/// them.
pub fn exported(
    folder: &RunFolder,
    stored: &Stored,
    wanted: Wanted,
    options: &TextOptions<'_>,
) -> anyhow::Result<(Vec<u8>, Vec<String>)> {
    let Wanted { format, table, jmh_class } = wanted;
    let records: Option<Evidence> = match format.needs_evidence(table) {
        true => Some(evidence(folder)?),
        false => None,
    };
    let Rows { rows, left_out } = match format {
        ExportFormat::PpbenchCsv => rows_of(folder)?,
        _ => Rows::default(),
    };
    let report = stored.report();
    let run = Exported { report, evidence: records.as_ref(), rows: &rows, jmh_class };
    Ok((export(format, table, &run, options)?, left_out))
}
