//! `weigh verify`: services against their contract, or an experiment's variants against each other.

use std::path::Path;

use anyhow::bail;
use serde_json::json;
use weighbridge_conductor::find_catalog;
use weighbridge_conductor::run;
use weighbridge_conductor::{Checked, Control, Options};
use weighbridge_conformance::{Depth, Row, RowResult, Subject, TlsOffer};
use weighbridge_lab::service::{Service, Tls};
use weighbridge_report::Format;

use super::services::each_built;
use super::support::{folder_of, options, read_experiment};
use crate::args::Verify;
use crate::exit::Exit;
use crate::printer::Printer;

pub fn run(arguments: &Verify, printer: &Printer) -> anyhow::Result<Exit> {
    if !matches!(arguments.format, Format::Text | Format::Json) {
        bail!("`{}` is not available for `verify`; use `text` or `json`", arguments.format);
    }
    match &arguments.subjects[..] {
        [file] if file.ends_with(".toml") => experiment(Path::new(file), arguments.format, printer),
        names => services(names, arguments, printer),
    }
}

fn services(names: &[String], arguments: &Verify, printer: &Printer) -> anyhow::Result<Exit> {
    // Without our handlers Ctrl-C ends this process at once, and the kernel ends the service with it.
    let control = Control::default();
    let mut all = Vec::new();
    let mut failed = 0;
    let built = each_built(names, &control, printer, &mut |service| {
        if service.is_stock() {
            printer.note(format_args!(
                "`{}` is a stock server, for which the contract is not; there is nothing to verify",
                service.name()
            ));
            return Ok(());
        }
        let rows = table(service, arguments, printer)?;
        let wrong = rows.iter().filter(|row| matches!(row.result, RowResult::Failed(_))).count();
        let skipped = rows.iter().filter(|row| matches!(row.result, RowResult::Skipped(_))).count();
        let tried = rows.len() - skipped;
        let held = tried - wrong;
        printer.note(format_args!("`{}`: {held} of {tried} rows hold, {skipped} skipped", service.name()));
        failed += wrong;
        all.push(json!({ "service": service.name(), "failed": wrong, "rows": rows }));
        Ok(())
    });
    if arguments.format == Format::Json {
        printer.data(&serde_json::to_string_pretty(&all)?)?;
    }
    built?;
    Ok(if failed > 0 { Exit::GateFailed } else { Exit::Fine })
}

/// Verifies a service; with text format, prints each row once it is tried.
fn table(service: &Service, arguments: &Verify, printer: &Printer) -> anyhow::Result<Vec<Row>> {
    let depth = if arguments.quick { Depth::Quick } else { Depth::Full };
    let text = arguments.format == Format::Text;
    let mut trouble = Ok(());
    let mut heading = None;
    let catalog = find_catalog(None)?;
    let others =
        catalog.names().filter(|name| *name != service.name()).filter_map(|name| catalog.get(name).ok());
    let others = others.filter(Service::is_built).map(|other| subject(&other)).collect();
    let subject = Subject { others, ..subject(service) };
    let rows = weighbridge_conformance::service(&subject, depth, &mut |row| {
        if text && trouble.is_ok() {
            let stack = row.stack.clone().unwrap_or_else(|| "the program".to_owned());
            let above = (heading.as_ref() != Some(&stack)).then(|| format!("{}, {stack}\n", service.name()));
            heading = Some(stack);
            trouble = printer.data(&format!("{}{}", above.unwrap_or_default(), line(row)));
        }
    });
    trouble?;
    Ok(rows)
}

fn subject(service: &Service) -> Subject {
    let start = service.launch("", "", Path::new("/dev/null"), Path::new("/dev/null")).command;
    Subject {
        name: service.name().to_owned(),
        language: service.language().to_owned(),
        folder: service.folder().to_owned(),
        start,
        workloads: service
            .workloads()
            .iter()
            .map(|offer| (offer.name.clone(), offer.protocols.clone()))
            .collect(),
        clients: service.clients("person"),
        others: Vec::new(),
        tls: match service.tls() {
            Tls::Offered => TlsOffer::Offered,
            Tls::Absent => TlsOffer::Absent,
        },
    }
}

fn line(row: &Row) -> String {
    let detail = row.result.detail().map(|detail| format!("\n      {detail}")).unwrap_or_default();
    let notes: String = row.notes.iter().map(|note| format!("\n      {note}")).collect();
    format!("  {:<4} {:<8} {}{detail}{notes}", row.id, row.result.word(), row.claim)
}

fn experiment(file: &Path, format: Format, printer: &Printer) -> anyhow::Result<Exit> {
    let experiment = read_experiment(file)?;
    let options = Options { experiment_folder: folder_of(file), ..options("runs".into())? };
    let compared = run::verify(Checked::new(experiment, &options)?, &options, &mut |_| {})?;
    let text = match format {
        Format::Json => serde_json::to_string_pretty(&json!({ "requests": compared, "agree": true }))?,
        _ => format!("all variants answer alike ({compared} requests)"),
    };
    printer.data(&text)?;
    Ok(Exit::Fine)
}
