//! Which machine and experiment tag each variant of a run has, and what a naming file calls it. Only looks up; of a run that
//! was not imported, a variant's name is its experiment tag and there is no machine.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use anyhow::{Context, bail};
use weighbridge_model::ppbench;
use weighbridge_model::summary::Summary;
use weighbridge_store::RunFolder;

use super::import::{self, ROWS};
use super::support::read_text;
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

/// Reads the tags of a run, and the naming file where there is one.
pub fn tags(folder: &RunFolder, summary: &Summary, naming: Option<&PathBuf>) -> anyhow::Result<Tags> {
    let naming = naming.map(|file| import::naming(Some(file))).transpose()?;
    let mut variants: Vec<&str> = summary.variants.iter().map(|variant| variant.name.as_str()).collect();
    let mut seen = BTreeSet::new();
    variants.retain(|name| seen.insert(*name));
    let tagged = imported(folder)?;
    let all = match tagged {
        // Series are in the order of their first rows, and so are variants.
        Some(tagged) if tagged.len() == variants.len() => tagged
            .into_iter()
            .zip(variants)
            .map(|((machine, experiment), variant)| Series {
                shown: naming.as_ref().map_or_else(
                    || variant.to_owned(),
                    |n| n.name(Some(machine.as_str()).filter(|tag| !tag.is_empty()), &experiment),
                ),
                variant: variant.to_owned(),
                machine: Some(machine),
                experiment,
            })
            .collect(),
        // A naming file gave several series one name.
        _ => variants
            .into_iter()
            .map(|variant| Series {
                shown: naming.as_ref().map_or_else(|| variant.to_owned(), |n| n.name(None, variant)),
                variant: variant.to_owned(),
                machine: None,
                experiment: variant.to_owned(),
            })
            .collect(),
    };
    Ok(Tags { all })
}

/// Machine and experiment tags of an imported run, each pair once, in the order of their first rows.
fn imported(folder: &RunFolder) -> anyhow::Result<Option<Vec<(String, String)>>> {
    let path = folder.path().join(ROWS);
    if !path.exists() {
        return Ok(None);
    }
    let (name, text) = read_text(&path, "import it again")?;
    let rows = ppbench::read(&text).with_context(|| format!("`{name}` is damaged; import it again"))?.rows;
    let mut seen = BTreeSet::new();
    let pairs = rows.iter().map(|row| (row.machine().to_owned(), row.experiment().to_owned()));
    Ok(Some(pairs.filter(|pair| seen.insert(pair.clone())).collect()))
}

impl Tags {
    /// The variants to show by the name they are shown by; `None` for all.
    ///
    /// # Errors
    /// For a tag that no variant has.
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
        of: &dyn Fn(&Series) -> Option<&str>,
    ) -> anyhow::Result<()> {
        let mut seen = BTreeSet::new();
        let known: Vec<&str> = self.all.iter().filter_map(of).filter(|tag| seen.insert(*tag)).collect();
        match asked.iter().find(|tag| !known.contains(&tag.as_str())) {
            None => Ok(()),
            Some(tag) if known.is_empty() => {
                bail!("no variant of this run has a {what} tag, so not `{tag}` either; leave the flag out")
            }
            Some(tag) => bail!("`{tag}` is no {what} tag of this run; it has: {}", known.join(", ")),
        }
    }

    /// What variants are called, where it is not their own name.
    pub fn names(&self) -> BTreeMap<String, String> {
        let other = self.all.iter().filter(|series| series.shown != series.variant);
        other.map(|series| (series.variant.clone(), series.shown.clone())).collect()
    }

    /// The name by which a variant is shown.
    pub fn name_of(&self, variant: Option<&str>) -> Option<String> {
        let variant = variant?;
        let series = self.all.iter().find(|series| series.variant == variant);
        Some(series.map_or_else(|| variant.to_owned(), |series| series.shown.clone()))
    }
}
