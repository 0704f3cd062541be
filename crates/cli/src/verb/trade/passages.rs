//! What `weigh trade heap` and `weigh trade play` have in common: a variant of an experiment, checked.

use std::path::Path;

use anyhow::Context;
use weighbridge_conductor::passages::experiment_of_passages;
use weighbridge_conductor::{Checked, Options};
use weighbridge_model::event::{Event, TimedEvent};
use weighbridge_model::experiment::Experiment;

use super::super::run::select;
use super::super::support::{folder_of, locate, options, read_experiment};
use crate::printer::Printer;

/// A variant of an experiment, and how it is run.
pub struct Chosen {
    pub experiment: Experiment,
    pub checked: Checked,
    pub options: Options,
}

impl Chosen {
    /// The variant of that name, or the first.
    pub fn new(path: &Path, only: Option<&str>) -> anyhow::Result<Self> {
        let file = locate(path)?;
        let mut experiment = read_experiment(&file)?;
        select(&mut experiment, &only.map(str::to_owned).into_iter().collect::<Vec<_>>())?;
        let experiment = experiment_of_passages(experiment)?;
        let options = Options { experiment_folder: folder_of(&file), ..options("runs".into())? };
        let checked = Checked::new(experiment.clone(), &options)
            .with_context(|| format!("experiment `{}` cannot be run", file.display()))?;
        Ok(Self { experiment, checked, options })
    }

    pub fn variant(&self) -> &str {
        &self.experiment.variants[0].name
    }
}

/// Says what a user wants to know before the first passage.
pub fn say(event: &TimedEvent, printer: &Printer) {
    match &event.event {
        Event::Warning { text } => printer.warning(text),
        Event::Building { service } => printer.progress(format_args!("building `{service}`")),
        _ => {}
    }
}
