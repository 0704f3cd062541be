//! `weigh run --revisions`: replaces one program by one variant per revision.

use anyhow::{Context, bail};
use weighbridge_conductor::{NamedRevision, look_up};
use weighbridge_model::experiment::{Experiment, Target, Variant};

use super::init;
use crate::args::Revisions;
use crate::printer::Printer;

/// The experiment of programs that are given without a file.
pub fn experiment_of(commands: &[String], path: Option<&str>) -> anyhow::Result<Experiment> {
    let text = init::draft_of_commands(commands, path.unwrap_or("/"))?.to_file();
    Experiment::parse("--command", &text)
        .with_context(|| format!("`{}` cannot be run", commands.join("`, `")))
}

/// Replaces the experiment's only variant by one for each revision.
pub fn expand(experiment: &mut Experiment, asked: &Revisions, printer: &Printer) -> anyhow::Result<()> {
    if asked.revisions.is_empty() {
        return Ok(());
    }
    let title = &experiment.title;
    let [variant] = &experiment.variants[..] else {
        bail!(
            "`--revisions` puts revisions in the place of one variant, and `{title}` has {}; keep one with `--only`",
            experiment.variants.len()
        );
    };
    let Target::Command(_) = &variant.target else {
        bail!(
            "`--revisions` wants a variant with a `command`, which can be built and started; `{}` has none",
            variant.name
        );
    };
    let found = look_up(&asked.revisions)?;
    if found.len() < 2 {
        bail!(
            "`--revisions` wants two or more, such as `main,HEAD`; `worktree` is the working tree as it is"
        );
    }
    tell(&found, printer);
    experiment.variants = (0..found.len()).map(|at| variant_at(variant, at, &found, asked)).collect();
    Ok(())
}

/// Prints what the user should know about the revisions before they are compared.
fn tell(found: &[NamedRevision], printer: &Printer) {
    for one in found {
        match one.uncommitted_files {
            Some(0) => {
                printer.note(format_args!("`{}` is the working tree, which is as committed", one.asked))
            }
            Some(count) => {
                let files = if count == 1 { "one file is" } else { &format!("{count} files are") };
                printer.note(format_args!(
                    "`{}` is the working tree as it is: {files} not as committed",
                    one.asked
                ));
            }
            None => {}
        }
    }
    for (at, one) in found.iter().enumerate() {
        let same = |other: &&NamedRevision| other.hash == one.hash && other.uncommitted_files.is_none();
        if let Some(first) = found[..at].iter().find(same).filter(|_| one.uncommitted_files.is_none()) {
            let (first, second) = (&first.asked, &one.asked);
            printer.note(format_args!(
                "`{first}` and `{second}` are the same commit: it is weighed against itself"
            ));
        }
    }
}

fn variant_at(variant: &Variant, at: usize, found: &[NamedRevision], asked: &Revisions) -> Variant {
    let one = &found[at];
    let mut variant = variant.clone();
    // Later revisions of the same name are numbered.
    let before = found[..at].iter().filter(|other| other.name == one.name).count();
    variant.name = if before == 0 { one.name.clone() } else { format!("{}#{}", one.name, before + 1) };
    if let Target::Command(program) = &mut variant.target {
        let revision = if one.uncommitted_files.is_some() { &one.asked } else { &one.hash };
        program.revision = Some(revision.clone());
        program.build = asked.build.clone().or(program.build.take());
    }
    variant
}
