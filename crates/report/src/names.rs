//! Shortens names of variants and operations for a terminal, the same everywhere. Other formats have them
//! whole.

use std::collections::BTreeMap;

use weighbridge_model::summary::Summary;
use weighbridge_model::table::TableCell;

use crate::text::{clean, columns, shorten};
use crate::view::distinct;

/// Cuts names to at most `most` columns. If two would then be the same, all stay whole.
pub(crate) fn shortened(summary: &Summary, most: usize) -> Summary {
    let variants = distinct(summary.variants.iter().map(|variant| variant.name.as_str()));
    let operations = distinct(summary.costs.iter().map(|cost| cost.operation.as_str()));
    let (variants, operations) = (short_names(&variants, most), short_names(&operations, most));
    let mut summary = summary.clone();
    let replace = |name: &mut String, names: &BTreeMap<String, String>| {
        if let Some(short) = names.get(name) {
            name.clone_from(short);
        }
    };
    for variant in &mut summary.variants {
        replace(&mut variant.name, &variants);
        variant.figures.iter_mut().for_each(|figure| replace(&mut figure.operation, &operations));
    }
    for cost in &mut summary.costs {
        replace(&mut cost.variant, &variants);
        replace(&mut cost.operation, &operations);
    }
    for relay in &mut summary.relays {
        replace(&mut relay.variant, &variants);
        relay.direct.iter_mut().for_each(|direct| replace(direct, &variants));
        replace(&mut relay.operation, &operations);
    }
    let layering = &mut summary.layering;
    for one in &mut layering.interactions {
        replace(&mut one.variant, &variants);
        replace(&mut one.above, &variants);
    }
    for one in &mut layering.slopes {
        replace(&mut one.variant, &variants);
        replace(&mut one.above, &variants);
    }
    layering.sums.iter_mut().for_each(|check| replace(&mut check.base, &variants));
    summary.carried.iter_mut().for_each(|one| replace(&mut one.variant, &variants));
    summary.roles.iter_mut().for_each(|one| replace(&mut one.variant, &variants));
    for cell in summary.tables.iter_mut().flat_map(|table| &mut table.rows).flatten() {
        if let TableCell::Variant { variant } = cell {
            replace(variant, &variants);
        }
    }
    for finding in &mut summary.findings {
        for (name, short) in &variants {
            finding.subject = finding.subject.replace(name, short);
        }
    }
    summary
}

/// Maps names that are too long to their short forms.
fn short_names(names: &[&str], most: usize) -> BTreeMap<String, String> {
    let cut: Vec<String> = names.iter().map(|name| shorten(&clean(name), most)).collect();
    let clashes = distinct(cut.iter()).len() < cut.len();
    let pairs = names.iter().zip(cut).filter(|(name, _)| !clashes && columns(&clean(name)) > most);
    pairs.map(|(name, short)| ((*name).to_owned(), short)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_would_be_the_same_stay_whole() {
        let long = "http://127.0.0.1:8080/a/very/long/path/that/ends/alike";
        let names = short_names(&[long, "go"], 20);
        assert_eq!(names.len(), 1);
        assert_eq!(names[long], "http://127…nds/alike");
        let other = long.replace("very", "more");
        assert!(short_names(&[long, &other], 20).is_empty());
    }
}
