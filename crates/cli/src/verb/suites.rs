//! `weigh suites`: the experiments that come with the program.

use std::fmt::Write;

use anyhow::bail;
use serde_json::json;
use weighbridge_report::Format;
use weighbridge_report::text::hanging;

use crate::args::Suites;
use crate::exit::Exit;
use crate::printer::Printer;
use crate::sources::{self, Suite};

pub fn run(arguments: &Suites, printer: &Printer) -> anyhow::Result<Exit> {
    let all = sources::suites();
    let text = match arguments.format {
        Format::Json => {
            let row = |Suite { name, question }: &Suite| json!({ "name": name, "question": question });
            serde_json::to_string_pretty(&all.iter().map(row).collect::<Vec<_>>())?
        }
        Format::Text => {
            let widest = all.iter().map(|suite| suite.name.len()).max().unwrap_or_default();
            let mut text = String::new();
            for Suite { name, question } in &all {
                // Writing to a string cannot fail.
                let _ =
                    writeln!(text, "{}", hanging(&format!("{name:<widest$}  "), question, printer.columns()));
            }
            text.push_str(
                "\n`weigh run NAME --quick` answers one within minutes; its service is built first.",
            );
            text
        }
        other => bail!("suites are listed as text or json, not as {other}"),
    };
    printer.data(&(text + "\n"))?;
    Ok(Exit::Fine)
}
