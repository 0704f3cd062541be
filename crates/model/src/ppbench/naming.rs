//! ppbench's naming file: how machines and experiments are called where people read of them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Row;

/// Readable names for the tags of machines and experiments: ppbench's naming file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Naming {
    /// By machine tag.
    pub machines: BTreeMap<String, String>,
    /// By experiment tag.
    pub experiments: BTreeMap<String, String>,
}

impl Naming {
    /// Reads a naming file.
    ///
    /// # Errors
    /// In words, with line and column.
    pub fn parse(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| {
            format!(
                "{error}; a naming file is {{\"machines\": {{tag: name}}, \"experiments\": {{tag: name}}}}"
            )
        })
    }

    /// Adds tags that have no name yet, named like themselves: a file to be edited. Empty ones are no tags.
    pub fn add(&mut self, machine: Option<&str>, experiment: &str) {
        let tags = [(&mut self.machines, machine), (&mut self.experiments, Some(experiment))];
        for (names, tag) in tags {
            if let Some(tag) = tag.filter(|tag| !tag.is_empty()) {
                names.entry(tag.to_owned()).or_insert_with(|| tag.to_owned());
            }
        }
    }

    /// The file's text, which [`parse`](Self::parse) reads back.
    pub fn text(&self) -> String {
        serde_json::to_string_pretty(self).expect("maps of text can be written") + "\n"
    }

    /// The name of a row's series: of the experiment, and of the machine where there is a tag of one.
    pub fn series(&self, row: &Row) -> String {
        self.name((!row.machine().is_empty()).then(|| row.machine()), row.experiment())
    }

    /// The readable name of two tags; of neither it is `untagged`.
    pub fn name(&self, machine: Option<&str>, experiment: &str) -> String {
        let named = |names: &BTreeMap<String, String>, tag: &str| {
            names.get(tag).cloned().unwrap_or_else(|| tag.to_owned())
        };
        let experiment = match named(&self.experiments, experiment) {
            empty if empty.is_empty() => "untagged".to_owned(),
            experiment => experiment,
        };
        match machine {
            None => experiment,
            Some(machine) => format!("{experiment} on {}", named(&self.machines, machine)),
        }
    }
}
