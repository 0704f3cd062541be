//! `weigh cite`: how to cite this program, and what a run measured.

use anyhow::bail;
use weighbridge_model::environment::HostFacts;
use weighbridge_model::quantity::display_bytes;
use weighbridge_report::cite::{self, Citation, CitedRun, CitedVariant, WEIGHBRIDGE};
use weighbridge_store::RunFolder;

use super::support::summary_of;
use crate::args::{Cite, CiteFormat};
use crate::exit::Exit;
use crate::printer::Printer;

pub fn run(arguments: &Cite, printer: &Printer) -> anyhow::Result<Exit> {
    if arguments.format == CiteFormat::Cff && arguments.run.is_some() {
        bail!("`cff` is of the program alone; use `text`, `bibtex` or `json` for a run");
    }
    let run = arguments.run.as_deref().map(RunFolder::open).transpose()?;
    let citation = Citation { software: WEIGHBRIDGE, run: run.as_ref().map(cited).transpose()? };
    printer.data(&match arguments.format {
        CiteFormat::Text => cite::text(&citation),
        CiteFormat::Bibtex => cite::bibtex(&citation),
        CiteFormat::Json => cite::json(&citation),
        CiteFormat::Cff => cite::cff(&WEIGHBRIDGE),
    })?;
    Ok(Exit::Fine)
}

fn cited(folder: &RunFolder) -> anyhow::Result<CitedRun> {
    let summary = summary_of(folder)?;
    let environment = folder.environment()?;
    let mut variants: Vec<CitedVariant> = Vec::new();
    for variant in &summary.variants {
        if variants.iter().all(|known| known.name != variant.name) {
            let (name, version) = (variant.name.clone(), variant.version.clone());
            variants.push(CitedVariant { name, version });
        }
    }
    Ok(CitedRun {
        run: summary.run,
        title: summary.title,
        started: summary.started,
        host: environment.host.as_ref().and_then(host),
        weigh: environment.weigh.and_then(|weigh| weigh.version),
        variants,
        digest: folder.digest()?,
    })
}

/// The host in words: processor, cores, memory, kernel, as far as they are known.
fn host(host: &HostFacts) -> Option<String> {
    let cores = host.cores.as_ref().map(|cores| match cores.len() {
        1 => "1 core".to_owned(),
        count => format!("{count} cores"),
    });
    let text = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let memory = host.memory.map(|bytes| display_bytes(bytes.get() as f64));
    // Name and release; the build's date and host are of no use to a reader.
    let kernel = host
        .kernel
        .as_deref()
        .map(text)
        .map(|kernel| kernel.split(' ').take(2).collect::<Vec<_>>().join(" "));
    let known: Vec<String> =
        [host.processor.as_deref().map(text), cores, memory, kernel].into_iter().flatten().collect();
    (!known.is_empty()).then(|| known.join(", "))
}
