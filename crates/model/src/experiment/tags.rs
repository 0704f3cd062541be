//! The keys `tags` of an experiment and of a variant, read and written.

use toml::Table;

use super::Variant;
use super::node::{ExperimentError, Node, Reader};
use super::read::pairs;
use crate::tags::{TagSet, Tags, check};

pub(super) fn read(reader: &Reader<'_>) -> Result<TagSet, ExperimentError> {
    let Some(node) = reader.node("tags") else { return Ok(TagSet::new()) };
    let tags = pairs(reader, "tags")?;
    for (name, value) in &tags {
        check(name, value)
            .map_err(|error| reader.error(node.line, format!("`{}`: {error}", reader.full_key("tags"))))?;
    }
    Ok(tags.into_iter().collect())
}

/// Adds the tags of single variants, read from `nodes`, to those of the run.
pub(super) fn read_variants(
    file: &str,
    run: TagSet,
    variants: &[Variant],
    nodes: &[Node],
) -> Result<Tags, ExperimentError> {
    let mut tags = Tags { run, ..Tags::default() };
    for (variant, node) in variants.iter().zip(nodes) {
        let own = read(&Reader::new(file, "variant", node)?)?;
        if !own.is_empty() {
            tags.variants.insert(variant.name.clone(), own);
        }
    }
    Ok(tags)
}

/// A table of tags; `None` if there are none.
pub(super) fn write(tags: Option<&TagSet>) -> Option<Table> {
    let tags = tags.filter(|tags| !tags.is_empty())?;
    Some(tags.iter().map(|(name, value)| (name.clone(), value.clone().into())).collect())
}

#[cfg(test)]
mod tests {
    use crate::experiment::Experiment;

    const TEXT: &str = "[workload]\nname = 'pingpong'\n[tags]\nmachine = 'm3.large'\n[[variant]]\nservice = 'rust'\n\
                        [[variant]]\nservice = 'go'\ntags = { experiment = 'docker-go', zone = 'b' }\n";

    #[test]
    fn tags_are_read_for_all_and_for_one_and_written_again() {
        let experiment = Experiment::parse("x.toml", TEXT).expect("an experiment");
        assert_eq!(experiment.tags.machine("go"), Some("m3.large"));
        assert_eq!(experiment.tags.get("go", "zone"), Some("b"));
        assert_eq!(experiment.tags.get("rust", "zone"), None);
        let again = Experiment::parse("y.toml", &experiment.to_toml()).expect("what was written");
        assert_eq!(again.tags, experiment.tags);
    }

    #[test]
    fn a_matrix_may_tag_its_variants() {
        let text =
            "[workload]\nname = 'pingpong'\n[matrix]\nservice = ['go', 'rust']\n[tags]\nmachine = 'a'\n";
        let experiment = Experiment::parse("x.toml", text).expect("an experiment");
        assert_eq!(experiment.tags.machine("rust"), Some("a"));
        assert!(experiment.tags.variants.is_empty());
    }

    #[test]
    fn what_is_no_tag_is_an_error_with_its_line() {
        for (from, to, words) in [
            ("'m3.large'", "''", "x.toml:3: `tags`: the tag `machine` has a value that is empty"),
            ("machine =", "'a b' =", "x.toml:3: `tags`: `a b` is not the name of a tag"),
            ("zone = 'b'", "zone = ['b']", "x.toml:9: `variant.tags.zone` must be text"),
        ] {
            let error = Experiment::parse("x.toml", &TEXT.replace(from, to)).expect_err("no tag").to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
