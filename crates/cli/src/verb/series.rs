//! The machine and experiment tags of each variant of a run, and its name from a naming file. Tags come from
//! the run's summary; for an imported run they come from its log.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use anyhow::bail;
use weighbridge_model::ppbench::{Naming, Tagged};
use weighbridge_model::summary::Summary;
use weighbridge_model::tags::EXPERIMENT;
use weighbridge_store::RunFolder;

use super::import;
use crate::args::Plot;

/// A variant with its tags and its name.
struct Series {
    variant: String,
    machine: Option<String>,
    experiment: String,
    shown: String,
}

/// The variants of a run.
pub struct Tags {
    all: Vec<Series>,
}

/// The tags of a run, and its variants' names by the naming file, if there is one.
pub fn tags(folder: &RunFolder, summary: &Summary, naming: Option<&PathBuf>) -> anyhow::Result<Tags> {
    let is_imported = folder.environment()?.imported.is_some();
    let mut seen = BTreeSet::new();
    let names = summary.variants.iter().map(|variant| variant.name.as_str());
    let series = |name: &str| Series {
        variant: name.to_owned(),
        machine: summary.tags.machine(name).map(str::to_owned),
        experiment: match is_imported {
            // An imported variant's name is no substitute for a missing tag.
            true => summary.tags.get(name, EXPERIMENT).unwrap_or_default().to_owned(),
            false => summary.tags.experiment(name),
        },
        shown: name.to_owned(),
    };
    let mut all: Vec<Series> = names.filter(|name| seen.insert(*name)).map(series).collect();
    if let Some(naming) = naming.map(|file| import::naming(Some(file))).transpose()? {
        rename(&mut all, &naming, is_imported);
    }
    Ok(Tags { all })
}

/// Names variants by their tags. Names are made unique, since charts distinguish variants by name.
fn rename(all: &mut [Series], naming: &Naming, is_imported: bool) {
    let tagged = all.iter().map(|series| Tagged {
        machine: series.machine.as_deref(),
        experiment: &series.experiment,
        variant: (!is_imported).then_some(series.variant.as_str()),
    });
    let names = naming.names(&tagged.collect::<Vec<_>>());
    let mut taken = BTreeSet::new();
    for (series, mut name) in all.iter_mut().zip(names) {
        // Variants of one run can have both tags in common.
        while !taken.insert(name.clone()) {
            name = format!("{name} ({})", series.variant);
        }
        series.shown = name;
    }
}

impl Tags {
    /// The display names of the variants to show; `None` for all.
    pub fn chosen(&self, arguments: &Plot) -> anyhow::Result<Option<Vec<String>>> {
        let (machines, experiments) = (&arguments.machines, &arguments.experiments);
        if machines.is_empty() && experiments.is_empty() && arguments.variants.is_empty() {
            return Ok(None);
        }
        self.check("machine", machines, &|series| series.machine.as_deref())?;
        self.check("experiment", experiments, &|series| Some(&series.experiment))?;
        let wanted = |series: &&Series| {
            let machine = series.machine.as_ref().is_some_and(|tag| machines.contains(tag));
            (machines.is_empty() || machine)
                && (experiments.is_empty() || experiments.contains(&series.experiment))
                && (arguments.variants.is_empty() || arguments.variants.contains(&series.variant))
        };
        let names: Vec<String> = self.all.iter().filter(wanted).map(|series| series.shown.clone()).collect();
        if names.is_empty() {
            bail!("no variant of this run has all that was asked for; leave out a tag or a name");
        }
        Ok(Some(names))
    }

    fn check(
        &self,
        what: &str,
        asked: &[String],
        read: &dyn Fn(&Series) -> Option<&str>,
    ) -> anyhow::Result<()> {
        let mut seen = BTreeSet::new();
        let known: Vec<&str> = self.all.iter().filter_map(read).filter(|tag| seen.insert(*tag)).collect();
        match asked.iter().find(|tag| !known.contains(&tag.as_str())) {
            None => Ok(()),
            Some(tag) if known.is_empty() => {
                bail!("no variant of this run has a {what} tag, so not `{tag}` either; leave the flag out")
            }
            Some(tag) => bail!("`{tag}` is no {what} tag of this run; it has: {}", known.join(", ")),
        }
    }

    /// Display names of variants, if they differ from their own names.
    pub fn names(&self) -> BTreeMap<String, String> {
        let other = self.all.iter().filter(|series| series.shown != series.variant);
        other.map(|series| (series.variant.clone(), series.shown.clone())).collect()
    }

    /// The display name of a variant.
    pub fn name_of(&self, variant: Option<&str>) -> Option<String> {
        let variant = variant?;
        let series = self.all.iter().find(|series| series.variant == variant);
        Some(series.map_or_else(|| variant.to_owned(), |series| series.shown.clone()))
    }
}
