//! `weigh schema`: JSON schemas of what is printed and stored.

use std::fmt::Write;

use weighbridge_report::Schema;

use crate::args::SchemaOf;
use crate::exit::Exit;
use crate::printer::Printer;

pub fn run(arguments: &SchemaOf, printer: &Printer) -> anyhow::Result<Exit> {
    match arguments.name {
        Some(schema) => printer.data(&schema.text())?,
        None => {
            let mut list = String::new();
            for schema in Schema::ALL {
                // Writing to a string cannot fail.
                let _ = writeln!(list, "{:<13}{}", schema.name(), schema.describes());
            }
            printer.data(&list)?;
        }
    }
    Ok(Exit::Fine)
}
