//! Which variants of a question form chains, and which are single layers of a whole: found from what they are made of,
//! before anything is looked at that was measured.

use std::collections::BTreeMap;

use weighbridge_model::record::VariantId;

use super::stack::{Part, names};
use crate::question::Question;

/// Variants of which each has everything that the one before has, and something more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// What all of them are.
    pub of: String,
    /// The one with the least first, each with what it has more.
    pub stages: Vec<(VariantId, String)>,
}

/// Single layers above one variant, and the variant that has them all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Singles {
    /// What all of them are.
    pub of: String,
    /// The variant below.
    pub base: VariantId,
    /// One layer each.
    pub singles: Vec<(VariantId, String)>,
    /// All layers.
    pub whole: VariantId,
}

/// The chains of a question: one for each variant above which there is none, through as many others as there are. A single
/// pair says nothing that its cost does not say, so it needs two steps, or another chain to be held against.
pub fn lines(question: &Question) -> Vec<Line> {
    let ways = longest(question);
    let is_top = |top: &VariantId| !known(question).any(|other| is_above(question, other, *top));
    let lines: Vec<Line> = ways
        .iter()
        .filter(|(top, line)| line.len() > 1 && is_top(top))
        .map(|(_, line)| named(question, line))
        .collect();
    let is_worth = lines.len() > 1 || lines.iter().any(|line| line.stages.len() > 2);
    if is_worth { lines } else { Vec::new() }
}

/// The sum checks of a question: for each whole the base with the most singles above it that make it up.
pub fn sums(question: &Question) -> Vec<Singles> {
    let of_whole = |whole: VariantId| {
        let bases = known(question).filter(|&base| is_above(question, whole, base));
        bases.filter_map(|base| singles(question, base, whole)).max_by_key(|found| found.singles.len())
    };
    known(question).filter_map(of_whole).collect()
}

/// Variants of which it is known what they are; of several that are alike the first.
fn known(question: &Question) -> impl Iterator<Item = VariantId> {
    let is_first = |(id, variant): &(VariantId, &crate::question::Variant)| {
        let alike = |other: &crate::question::Variant| {
            let (a, b) = (&variant.stack, &other.stack);
            a.family == b.family && a.beyond(b).is_empty() && b.beyond(a).is_empty()
        };
        !variant.stack.family.is_empty() && !question.variants[..id.index()].iter().any(alike)
    };
    question.variants().filter(is_first).map(|(id, _)| id)
}

/// A setting that two chains have otherwise, and its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// The setting: `cores`, or a variable.
    pub key: String,
    /// Its value in the one.
    pub from: String,
    /// Its value in the other.
    pub to: String,
}

/// The setting in which alone two chains of the same stages differ. `None` where they differ in something else, or in more.
pub fn changed_setting(question: &Question, from: &Line, to: &Line) -> Option<Changed> {
    let names = |line: &Line| line.stages[1..].iter().map(|(_, name)| name.clone()).collect::<Vec<_>>();
    let stack = |line: &Line| &question.variants[line.stages[0].0.index()].stack;
    let (one, other) = (stack(from), stack(to));
    (one.family == other.family && names(from) == names(to)).then_some(())?;
    match (&one.beyond(other)[..], &other.beyond(one)[..]) {
        ([one], [other]) => {
            let ((key, from), (same, to)) = (one.value.as_ref()?, other.value.as_ref()?);
            (key == same).then(|| Changed { key: key.clone(), from: from.clone(), to: to.clone() })
        }
        _ => None,
    }
}

fn is_above(question: &Question, above: VariantId, below: VariantId) -> bool {
    question.variants[above.index()].stack.is_above(&question.variants[below.index()].stack)
}

/// The longest way down from every variant, from below; of several the one whose variants come first in the experiment.
fn longest(question: &Question) -> BTreeMap<VariantId, Vec<VariantId>> {
    let mut rising: Vec<VariantId> = known(question).collect();
    rising.sort_by_key(|id| question.variants[id.index()].stack.parts.len());
    let mut ways: BTreeMap<VariantId, Vec<VariantId>> = BTreeMap::new();
    for top in rising {
        // By number, so that of ways that are as long the first stays.
        let below = ways.iter().filter(|(id, _)| is_above(question, top, **id)).map(|(_, way)| way);
        let best = below.reduce(|best, way| if way.len() > best.len() { way } else { best });
        let mut way = best.cloned().unwrap_or_default();
        way.push(top);
        ways.insert(top, way);
    }
    ways
}

fn named(question: &Question, line: &[VariantId]) -> Line {
    let stack = |id: VariantId| &question.variants[id.index()].stack;
    let mut stages = vec![(line[0], bottom(question, line[0]))];
    stages.extend(line.windows(2).map(|pair| (pair[1], names(stack(pair[1]).beyond(stack(pair[0]))))));
    Line { of: stack(line[0]).name.clone(), stages }
}

/// What a lowest variant has: its layers, and settings that not every variant of its family has.
fn bottom(question: &Question, id: VariantId) -> String {
    let own = &question.variants[id.index()].stack;
    let family = || question.variants.iter().filter(|other| other.stack.family == own.family);
    let is_common = |part: &Part| family().all(|other| other.stack.parts.iter().any(|p| p.id == part.id));
    names(own.parts.iter().filter(|part| part.is_layer || !is_common(part)))
}

/// The variants that have one part of `whole` each above `base`, if there is one for every part.
fn singles(question: &Question, base: VariantId, whole: VariantId) -> Option<Singles> {
    let stack = |id: VariantId| &question.variants[id.index()].stack;
    let single = |part: &Part| {
        let has_it_alone = |&id: &VariantId| {
            is_above(question, id, base)
                && matches!(stack(id).beyond(stack(base))[..], [own] if own.id == part.id)
        };
        known(question).find(has_it_alone).map(|id| (id, part.name.clone()))
    };
    let parts = stack(whole).beyond(stack(base));
    let found: Option<Vec<_>> = (parts.len() > 1).then(|| parts.into_iter().map(single).collect())?;
    Some(Singles { of: stack(base).name.clone(), base, singles: found?, whole })
}
