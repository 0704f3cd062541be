//! Tags: names and values by which runs and their variants can be found, grouped and labelled later: `machine
//! = "m3.large"`. They are stored as given and affect no figure.
//!
//! Two have a meaning from ppbench: `machine`, where it ran, and `experiment`, what was tried there.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The tag for where something ran.
pub const MACHINE: &str = "machine";
/// The tag for what was tried.
pub const EXPERIMENT: &str = "experiment";
/// The longest name and the longest value of a tag, in bytes.
pub const LONGEST: usize = 200;

pub type TagSet = BTreeMap<String, String>;

/// The tags of a run and those that only some of its variants have.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tags {
    /// Tags of all variants.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub run: TagSet,
    /// Tags of single variants, by variant; they override those of the run.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variants: BTreeMap<String, TagSet>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TagError {
    #[error("`{0}` is not a tag; write `NAME=VALUE`, such as `machine=m3.large`")]
    NoPair(String),
    #[error("`{0}` is not the name of a tag; allowed: 1 to 200 letters, digits, `-`, `_` and `.`")]
    Name(String),
    #[error("the tag `{0}` has a value that is empty, longer than 200 bytes, or holds a control character")]
    Value(String),
}

/// Checks the name and value of a tag.
pub fn check(name: &str, value: &str) -> Result<(), TagError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || name.len() > LONGEST || !name.chars().all(plain) {
        return Err(TagError::Name(name.to_owned()));
    }
    if value.is_empty() || value.len() > LONGEST || value.chars().any(char::is_control) {
        return Err(TagError::Value(name.to_owned()));
    }
    Ok(())
}

/// Parses `machine=m3.large`.
pub fn parse(text: &str) -> Result<(String, String), TagError> {
    let (name, value) = text.split_once('=').ok_or_else(|| TagError::NoPair(text.to_owned()))?;
    let (name, value) = (name.trim(), value.trim());
    check(name, value)?;
    Ok((name.to_owned(), value.to_owned()))
}

impl Tags {
    pub fn is_empty(&self) -> bool {
        self.run.is_empty() && self.variants.is_empty()
    }

    /// One tag of a variant: its own, or else the run's.
    pub fn get(&self, variant: &str, name: &str) -> Option<&str> {
        let own = self.variants.get(variant).and_then(|tags| tags.get(name));
        own.or_else(|| self.run.get(name)).map(String::as_str)
    }

    pub fn merged(&self, variant: &str) -> TagSet {
        let own = self.variants.get(variant).into_iter().flatten();
        self.run.iter().chain(own).map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// Where a variant ran, if a tag says so.
    pub fn machine(&self, variant: &str) -> Option<&str> {
        self.get(variant, MACHINE)
    }

    /// What a variant tried: its own tag, else its name, with the run's tag before it if there is one, so
    /// that variants of one run stay distinct.
    pub fn experiment(&self, variant: &str) -> String {
        let own = self.variants.get(variant).and_then(|tags| tags.get(EXPERIMENT));
        match (own, self.run.get(EXPERIMENT)) {
            (Some(own), _) => own.clone(),
            (None, Some(run)) => format!("{run}/{variant}"),
            (None, None) => variant.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(pairs: &[(&str, &str)]) -> TagSet {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_variants_own_tags_go_before_the_runs() {
        let tags = Tags {
            run: set(&[("machine", "m3.large"), ("experiment", "bare"), ("zone", "a")]),
            variants: BTreeMap::from([("go".to_owned(), set(&[("experiment", "docker-go"), ("zone", "b")]))]),
        };
        assert_eq!((tags.machine("go"), tags.experiment("go").as_str()), (Some("m3.large"), "docker-go"));
        assert_eq!((tags.machine("rust"), tags.experiment("rust").as_str()), (Some("m3.large"), "bare/rust"));
        assert_eq!(
            tags.merged("go"),
            set(&[("machine", "m3.large"), ("experiment", "docker-go"), ("zone", "b")])
        );
        assert_eq!((Tags::default().machine("x"), Tags::default().experiment("x").as_str()), (None, "x"));
    }

    #[test]
    fn a_tag_is_a_plain_name_and_one_line() {
        assert_eq!(parse("machine = m3 large"), Ok(("machine".to_owned(), "m3 large".to_owned())));
        assert_eq!(parse("a.b-c_1=x=y"), Ok(("a.b-c_1".to_owned(), "x=y".to_owned())));
        for (text, words) in [
            ("machine", "write `NAME=VALUE`"),
            ("=x", "`` is not the name of a tag"),
            ("a b=x", "`a b` is not the name of a tag"),
            ("machine=", "the tag `machine` has a value that is empty"),
            ("machine=a\nb", "control character"),
        ] {
            let error = parse(text).expect_err("no tag").to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
