//! `weigh suites`: the experiments that come with the program.

use std::fmt::Write;

use anyhow::bail;
use serde_json::json;
use weighbridge_report::Format;
use weighbridge_report::text::{cut, hanging};

use crate::args::Suites;
use crate::exit::Exit;
use crate::printer::Printer;
use crate::sources::{self, Suite};

pub fn run(arguments: &Suites, printer: &Printer) -> anyhow::Result<Exit> {
    let all = chosen(sources::suites(), &arguments.names)?;
    let text = match arguments.format {
        Format::Json => {
            let row = |Suite { name, question }: &Suite| json!({ "name": name, "question": question });
            serde_json::to_string_pretty(&all.iter().map(row).collect::<Vec<_>>())?
        }
        Format::Text => {
            let mut text = listed(&all, !arguments.names.is_empty(), printer.columns());
            text.push_str(
                "\n`weigh run NAME --quick` answers one in minutes; `weigh suites NAME` tells more.",
            );
            text
        }
        other => bail!("suites are listed as text or json, not as {other}"),
    };
    printer.data(&(text + "\n"))?;
    Ok(Exit::Fine)
}

/// Those that are named, by themselves or by their folder; all where nothing is named.
fn chosen(mut all: Vec<Suite>, names: &[String]) -> anyhow::Result<Vec<Suite>> {
    let is_meant = |suite: &Suite, name: &str| {
        let rest = suite.name.strip_prefix(name.trim_end_matches('/'));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    if let Some(name) = names.iter().find(|name| !all.iter().any(|suite| is_meant(suite, name))) {
        bail!("there is no suite `{name}`; `weigh suites` lists them");
    }
    all.retain(|suite| names.is_empty() || names.iter().any(|name| is_meant(suite, name)));
    Ok(all)
}

/// A line each, or all of each question.
fn listed(all: &[Suite], whole: bool, columns: usize) -> String {
    let widest = all.iter().map(|suite| suite.name.len()).max().unwrap_or_default();
    let mut text = String::new();
    for Suite { name, question } in all {
        let lead = format!("{name:<widest$}  ");
        let line = match whole {
            true => hanging(&lead, question, columns),
            false => {
                let end = question.find('?').map_or(question.len(), |at| at + 1);
                format!("{lead}{}", cut(&question[..end], columns.saturating_sub(lead.len())))
            }
        };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{line}");
    }
    text
}
