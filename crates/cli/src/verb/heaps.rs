//! Heaps that are multiples of the smallest one get their sizes, before anything is measured.

use weighbridge_conductor::passages::{HeapSearch, HeapTry};
use weighbridge_conductor::{Checked, Options};

use super::trade::{say, shown};
use crate::printer::Printer;

/// Searches once for all variants that differ in collector and heap alone.
pub fn sized(mut checked: Checked, options: &Options, printer: &Printer) -> anyhow::Result<Checked> {
    while let Some(search) = HeapSearch::first_of(&checked, options)? {
        let variant = search.variant().to_owned();
        printer
            .progress(format_args!("searching for the smallest heap of `{variant}`, with G1: some minutes"));
        let mut tried = |tried: &HeapTry| printer.progress(shown(tried));
        let found = search.carry_out(&mut checked, options, &mut |event| say(event, printer), &mut tried)?;
        printer.progress(format_args!("smallest heap: {}", found.minimum));
    }
    Ok(checked)
}
