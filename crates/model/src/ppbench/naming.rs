//! ppbench's naming file: how machines and experiments are called where people read of them. What differs in its tags differs
//! in its name, even where the file calls it the same.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::tags::{EXPERIMENT, MACHINE, TagSet};

/// What a series or a variant without an experiment's tag is called.
const UNTAGGED: &str = "untagged";

/// What a naming file is, behind an error.
const SHAPE: &str = "a naming file is {\"machines\": {tag: name}, \"experiments\": {tag: name}}";
/// Characters of the parser's words that an error repeats: they quote the file.
const WORDS: usize = 100;

/// Readable names for the tags of machines and experiments: ppbench's naming file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub struct Naming {
    /// By machine tag.
    #[serde(deserialize_with = "names_or_null")]
    pub machines: BTreeMap<String, String>,
    /// By experiment tag.
    #[serde(deserialize_with = "names_or_null")]
    pub experiments: BTreeMap<String, String>,
    /// Keys that ppbench does not look at, and neither do we.
    #[serde(flatten)]
    others: BTreeMap<String, serde_json::Value>,
}

fn names_or_null<'de, D: serde::Deserializer<'de>>(from: D) -> Result<BTreeMap<String, String>, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

/// What is to be named, by its tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tagged<'a> {
    /// Where it ran; `None` where nobody said.
    pub machine: Option<&'a str>,
    /// What was tried there; empty where nobody said.
    pub experiment: &'a str,
    /// The variant, whose name goes where the file has none for its experiment's tag. It tells nothing apart.
    pub variant: Option<&'a str>,
}

impl Naming {
    /// Reads a naming file.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let naming: Self = serde_json::from_str(text).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            let words = error.to_string();
            let words = words.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&words);
            let dots = if words.chars().nth(WORDS).is_some() { "…" } else { "" };
            let words: String = words.chars().take(WORDS).collect();
            format!("line {line}, column {column}: {words}{dots}; {SHAPE}")
        })?;
        let is_empty = naming.machines.is_empty() && naming.experiments.is_empty();
        match naming.others.keys().next().filter(|_| is_empty) {
            Some(_) => Err(format!("line 1: it names no machine and no experiment; {SHAPE}")),
            None => Ok(naming),
        }
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

    /// The readable name of each: of the experiment, and of the machine where there is a tag of one. Two that have other tags
    /// have other names: where the file calls them the same, the tags that tell them apart stand behind.
    pub fn names(&self, all: &[Tagged<'_>]) -> Vec<String> {
        let plain: Vec<String> = all.iter().map(|one| self.name(*one)).collect();
        let mut alike: BTreeMap<&str, Vec<&Tagged<'_>>> = BTreeMap::new();
        for (one, name) in all.iter().zip(&plain) {
            alike.entry(name).or_default().push(one);
        }
        let mut taken = BTreeMap::new();
        let named = all.iter().zip(&plain).map(|(one, name)| {
            let told = one.apart(&alike[name.as_str()]).map(|tags| format!("{name} ({tags})"));
            let wanted = told.unwrap_or_else(|| name.clone());
            // A file can give one what another gets of its tags.
            let numbered = (2..).map(|number| format!("{wanted} {number}"));
            let mut offered = std::iter::once(wanted.clone()).chain(numbered);
            let free = offered.find(|name| *taken.entry(name.clone()).or_insert(one.key()) == one.key());
            free.expect("numbers do not end")
        });
        named.collect()
    }

    fn name(&self, Tagged { machine, experiment, variant }: Tagged<'_>) -> String {
        let known = |tag: &str| self.experiments.get(tag).map(String::as_str);
        let experiment = match known(experiment).or_else(|| variant.and_then(known)).unwrap_or(experiment) {
            "" => UNTAGGED,
            experiment => experiment,
        };
        match machine {
            None => experiment.to_owned(),
            Some(machine) => {
                format!("{experiment} on {}", self.machines.get(machine).map_or(machine, String::as_str))
            }
        }
    }
}

impl Tagged<'_> {
    /// What tells it from others.
    const fn key(&self) -> (Option<&str>, &str) {
        (self.machine, self.experiment)
    }

    /// As tags of a run have them; an empty one is none.
    pub fn tags(&self) -> TagSet {
        let both = [(MACHINE, self.machine), (EXPERIMENT, Some(self.experiment))];
        let given =
            both.into_iter().filter_map(|(name, tag)| Some((name, tag?))).filter(|(_, tag)| !tag.is_empty());
        given.map(|(name, tag)| (name.to_owned(), tag.to_owned())).collect()
    }

    /// The tags by which it differs from others of its name; `None` where all have its tags.
    fn apart(&self, like: &[&Self]) -> Option<String> {
        let experiment = if self.experiment.is_empty() { UNTAGGED } else { self.experiment };
        let experiments_differ = like.iter().any(|other| other.experiment != self.experiment);
        let machines_differ = like.iter().any(|other| other.machine != self.machine);
        match (experiments_differ, machines_differ, self.machine) {
            (false, false, _) => None,
            (true, false, _) => Some(experiment.to_owned()),
            (false, true, Some(machine)) => Some(machine.to_owned()),
            (true, true, Some(machine)) => Some(format!("experiment {experiment}, machine {machine}")),
            (_, true, None) => Some(format!("experiment {experiment}")),
        }
    }
}
