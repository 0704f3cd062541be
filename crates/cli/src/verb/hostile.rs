//! `weigh hostile`: a server with a named misbehaviour, on loopback.

use std::fs;

use anyhow::{Context, bail};
use serde_json::json;
use weighbridge_probe::hostile::{self, Authority, Case, Hostile};
use weighbridge_probe::{LoopbackHost, Stop};
use weighbridge_report::Format;

use super::probe::{environment, refused};
use crate::args;
use crate::exit::Exit;
use crate::printer::Printer;

/// Lists the cases, or serves until SIGTERM or Ctrl-C.
pub fn run(arguments: &args::Hostile, printer: &Printer) -> anyhow::Result<Exit> {
    if arguments.list {
        printer.data(&listed(arguments.format)?)?;
        return Ok(Exit::Fine);
    }
    let stop = Stop::on_termination().context("could not watch for signals")?;
    let cases: Vec<&Case> = match &arguments.misbehaviour {
        Some(name) => vec![hostile::find(name)?],
        None => hostile::cases().collect(),
    };
    let port = match arguments.port {
        Some(port) => port,
        None => environment("PORT")?.unwrap_or(if cases.len() == 1 { 8080 } else { 0 }),
    };
    let host = environment::<LoopbackHost>("HOST")?.unwrap_or_default();
    let authority = Authority::new()?;
    if let Some(path) = &arguments.authority {
        fs::write(path, authority.pem()).with_context(|| format!("could not write `{}`", path.display()))?;
    }
    let alone = cases.len() == 1;
    let mut said = Ok(());
    let served = hostile::serve(Hostile { host, port, cases, authority }, &stop, |case, port| {
        let line = if alone { format!("ready {port}") } else { format!("ready {port} {}", case.name) };
        let result = printer.data(&line);
        if said.is_ok() {
            said = result;
        }
    });
    said?;
    match served {
        Ok(()) => Ok(Exit::Fine),
        Err(error) => refused(error, printer),
    }
}

/// All cases in a format.
fn listed(format: Format) -> anyhow::Result<String> {
    Ok(match format {
        Format::Text => hostile::cases().map(line).collect(),
        Format::Markdown => hostile::table(),
        Format::Json => serde_json::to_string_pretty(&hostile::cases().map(object).collect::<Vec<_>>())?,
        Format::Csv | Format::Html => {
            bail!("`{format}` is not available for `--list`; use text, json or markdown")
        }
    })
}

fn line(case: &Case) -> String {
    let needs = case.needs.map(|needs| format!(" (needs {needs})")).unwrap_or_default();
    let (name, protocol) = (case.name, case.protocol.name());
    format!("{name:34} {protocol:10} {:20} {}{needs}\n", case.expected.to_string(), case.does)
}

fn object(case: &Case) -> serde_json::Value {
    json!({
        "name": case.name,
        "protocol": case.protocol.name(),
        "expected": case.expected.to_string(),
        "does": case.does,
        "needs": case.needs.map(|needs| needs.to_string()),
    })
}
