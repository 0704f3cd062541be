//! ppbench's naming file: readable names of machines and experiments. Series with different tags get
//! different names, even if the file gives them the same.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::tags::{EXPERIMENT, MACHINE, TagSet};

/// Name of a series or a variant without an experiment tag.
const UNTAGGED: &str = "untagged";

/// The expected content, for errors.
const EXPECTED: &str = "a naming file is {\"machines\": {tag: name}, \"experiments\": {tag: name}}";
/// Most characters of the parser's message in an error; the message quotes the file.
const MESSAGE_LENGTH: usize = 100;

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
    /// Other keys; ppbench ignores them too.
    #[serde(flatten)]
    others: BTreeMap<String, serde_json::Value>,
}

fn names_or_null<'de, D: serde::Deserializer<'de>>(from: D) -> Result<BTreeMap<String, String>, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

/// The tags of something that needs a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tagged<'a> {
    /// Where it ran; `None` if not given.
    pub machine: Option<&'a str>,
    /// What was tried there; empty if not given.
    pub experiment: &'a str,
    /// The variant; used if the file has no name for the experiment tag. It does not distinguish names.
    pub variant: Option<&'a str>,
}

impl Naming {
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let naming: Self = serde_json::from_str(text).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            let words = error.to_string();
            let words = words.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&words);
            let dots = if words.chars().nth(MESSAGE_LENGTH).is_some() { "…" } else { "" };
            let words: String = words.chars().take(MESSAGE_LENGTH).collect();
            format!("line {line}, column {column}: {words}{dots}; {EXPECTED}")
        })?;
        let is_empty = naming.machines.is_empty() && naming.experiments.is_empty();
        match naming.others.keys().next().filter(|_| is_empty) {
            Some(_) => Err(format!("line 1: it names no machine and no experiment; {EXPECTED}")),
            None => Ok(naming),
        }
    }

    /// Adds tags that have no name yet, each named like itself, so that a user can edit the file. Empty tags
    /// are skipped.
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

    /// The readable name of each: the experiment's, and the machine's if it has a tag. Different tags get
    /// different names: where the file names them alike, the distinguishing tags are appended.
    pub fn names(&self, all: &[Tagged<'_>]) -> Vec<String> {
        let plain: Vec<String> = all.iter().map(|one| self.name(*one)).collect();
        let mut alike: BTreeMap<&str, Vec<&Tagged<'_>>> = BTreeMap::new();
        for (one, name) in all.iter().zip(&plain) {
            alike.entry(name).or_default().push(one);
        }
        let mut taken = BTreeMap::new();
        let named = all.iter().zip(&plain).map(|(one, name)| {
            let qualified =
                one.distinguishing_tags(&alike[name.as_str()]).map(|tags| format!("{name} ({tags})"));
            let wanted = qualified.unwrap_or_else(|| name.clone());
            // The file may contain a name that another one gets by appending its tags.
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
    /// The part that distinguishes it from others.
    const fn key(&self) -> (Option<&str>, &str) {
        (self.machine, self.experiment)
    }

    /// As tags of a run; empty ones are left out.
    pub fn tags(&self) -> TagSet {
        let both = [(MACHINE, self.machine), (EXPERIMENT, Some(self.experiment))];
        let given =
            both.into_iter().filter_map(|(name, tag)| Some((name, tag?))).filter(|(_, tag)| !tag.is_empty());
        given.map(|(name, tag)| (name.to_owned(), tag.to_owned())).collect()
    }

    /// The tags by which it differs from others of its name; `None` if all have its tags.
    fn distinguishing_tags(&self, like: &[&Self]) -> Option<String> {
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
