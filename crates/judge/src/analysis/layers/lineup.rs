//! Which variants of a question form chains, and which are single layers of a whole: found from what they are made of,
//! before anything is looked at that was measured.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use weighbridge_model::id::VariantId;

use crate::question::{Question, Stack, StackElement, names};

/// Variants of which each has everything that the one before has, and something more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chain {
    /// What all of them are.
    pub family: String,
    /// The one with the least first, each with what it has more.
    pub stages: Vec<(VariantId, String)>,
    /// Absent variants between two stages or below the first: the place of the stage above, and which.
    pub missing: Vec<(usize, usize)>,
}

/// A variant of the experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Member {
    /// One that the question is about.
    Measured(VariantId),
    /// One that could not be measured, by its place among [`Question::absent`].
    Absent(usize),
}

/// Single layers above one variant, and the variant that has them all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SingleLayers {
    /// What all of them are.
    pub family: String,
    /// The variant below.
    pub base: Member,
    /// One layer each.
    pub singles: Vec<(Member, String)>,
    /// All layers.
    pub whole: Member,
}

impl SingleLayers {
    /// All variants of it: the base, the single layers, the whole.
    pub fn members(&self) -> impl Iterator<Item = Member> {
        std::iter::once(self.base).chain(self.singles.iter().map(|(single, _)| *single)).chain([self.whole])
    }
}

/// The chains of a question: one for each variant above which there is none, and one for each variant that is on none of
/// these; so every variant stands above the largest one below it. A single pair at one point says nothing that its cost does
/// not say, so it needs two steps, or another chain or point to be held against.
pub fn chains(question: &Question) -> Vec<Chain> {
    let ways = ways(question);
    let is_top = |top: &VariantId| !known(question).any(|other| is_above(question, other, *top));
    let (mut chains, mut others): (Vec<_>, Vec<_>) =
        ways.iter().filter(|(_, way)| way.len() > 1).partition(|(id, _)| is_top(id));
    // Largest first, so that those on its way need none of their own.
    others.sort_by_key(|(id, _)| Reverse(stack(question, **id).parts.len()));
    for other in others {
        if !chains.iter().any(|(_, chain)| chain.contains(other.0)) {
            chains.push(other);
        }
    }
    let is_worth =
        chains.len() > 1 || question.points.len() > 1 || chains.iter().any(|(_, way)| way.len() > 2);
    chains.retain(|_| is_worth);
    chains.into_iter().map(|(_, way)| named(question, way)).collect()
}

/// The sum checks of a question: for each whole the base with the most singles above it that make it up, of variants that
/// were all measured where there are such.
pub fn single_layers(question: &Question) -> Vec<SingleLayers> {
    let all = members(question);
    let largest_check = |&(whole, stack): &(Member, &Stack)| {
        let bases = all.iter().filter(|(_, base)| stack.is_above(base));
        let found = bases.filter_map(|base| singles(&all, *base, (whole, stack)));
        let is_measured = |member: Member| matches!(member, Member::Measured(_));
        found.max_by_key(|found| (found.members().all(is_measured), found.singles.len()))
    };
    all.iter().filter_map(largest_check).collect()
}

/// Variants of which it is known what they are, of several that are alike the first; then the absent ones.
fn members(question: &Question) -> Vec<(Member, &Stack)> {
    let measured = known(question).map(|id| (Member::Measured(id), stack(question, id)));
    let mut all: Vec<(Member, &Stack)> = measured.collect();
    for (at, absent) in question.absent.iter().enumerate() {
        let is_new = !all.iter().any(|(_, other)| other.is_like(&absent.stack));
        if is_new && !absent.stack.family.is_empty() {
            all.push((Member::Absent(at), &absent.stack));
        }
    }
    all
}

fn known(question: &Question) -> impl Iterator<Item = VariantId> {
    let is_first = |(id, variant): &(VariantId, &crate::question::Variant)| {
        let mut before = question.variants[..id.index()].iter();
        !variant.stack.family.is_empty() && !before.any(|other| other.stack.is_like(&variant.stack))
    };
    question.variants().filter(is_first).map(|(id, _)| id)
}

/// A setting that two pairs have otherwise, and its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// The setting: `cores`, or a variable.
    pub key: String,
    /// Its value in the one.
    pub from: String,
    /// Its value in the other.
    pub to: String,
}

/// The setting in which alone two pairs differ, each of a lower and an upper variant. `None` where they differ in something
/// else, or in more.
pub fn changed_setting(
    question: &Question,
    from: (VariantId, VariantId),
    to: (VariantId, VariantId),
) -> Option<Changed> {
    let stack_of_variant = |id| stack(question, id);
    let added = |(lower, upper)| {
        stack_of_variant(upper).beyond(stack_of_variant(lower)).into_iter().map(|part| &part.id)
    };
    added(from).eq(added(to)).then_some(())?;
    let changed = stack_of_variant(from.0).changed(stack_of_variant(to.0))?;
    (stack_of_variant(from.1).changed(stack_of_variant(to.1)).as_ref() == Some(&changed)).then_some(changed)
}

impl Stack {
    /// The one setting that `other` has with another value; `None` where the two differ otherwise.
    fn changed(&self, other: &Self) -> Option<Changed> {
        (self.family == other.family).then_some(())?;
        match (&self.beyond(other)[..], &other.beyond(self)[..]) {
            ([one], [other]) => {
                let ((key, from), (same, to)) = (one.value.as_ref()?, other.value.as_ref()?);
                (key == same).then(|| Changed { key: key.clone(), from: from.clone(), to: to.clone() })
            }
            _ => None,
        }
    }
}

/// What one variant has more than another, as a stage is called.
pub(super) fn stage_name(question: &Question, lower: VariantId, upper: VariantId) -> String {
    names(stack(question, upper).beyond(stack(question, lower)))
}

fn stack(question: &Question, id: VariantId) -> &Stack {
    &question.variants[id.index()].stack
}

fn is_above(question: &Question, above: VariantId, below: VariantId) -> bool {
    stack(question, above).is_above(stack(question, below))
}

/// The way down from every variant, from below: each time to the largest variant there is; of several to the one with the
/// longest way of its own, then to one that has all but the innermost, then to the one that comes first in the experiment.
fn ways(question: &Question) -> BTreeMap<VariantId, Vec<VariantId>> {
    let mut rising: Vec<VariantId> = known(question).collect();
    rising.sort_by_key(|id| stack(question, *id).parts.len());
    let mut ways: BTreeMap<VariantId, Vec<VariantId>> = BTreeMap::new();
    for top in rising {
        let below = ways.iter().filter(|(id, _)| is_above(question, top, **id));
        let rank = |(id, way): &(&VariantId, &Vec<VariantId>)| {
            let below = stack(question, **id);
            (below.parts.len(), way.len(), stack(question, top).begins_with(below), Reverse(**id))
        };
        let mut way = below.max_by_key(rank).map_or_else(Vec::new, |(_, way)| way.clone());
        way.push(top);
        ways.insert(top, way);
    }
    ways
}

fn named(question: &Question, way: &[VariantId]) -> Chain {
    let mut stages = vec![(way[0], bottom(question, way[0]))];
    stages.extend(way.windows(2).map(|pair| (pair[1], stage_name(question, pair[0], pair[1]))));
    let is_between = |place: usize, absent: &Stack| {
        let is_above_last = |place: usize| absent.is_above(stack(question, way[place]));
        stack(question, way[place]).is_above(absent) && place.checked_sub(1).is_none_or(is_above_last)
    };
    let missing = (0..way.len()).flat_map(|place| {
        let there = question.absent.iter().enumerate();
        there.filter(move |(_, absent)| is_between(place, &absent.stack)).map(move |(at, _)| (place, at))
    });
    Chain { family: stack(question, way[0]).name.clone(), missing: missing.collect(), stages }
}

/// What a lowest variant has: its layers, and settings that not every variant of its family has.
fn bottom(question: &Question, id: VariantId) -> String {
    let own = stack(question, id);
    let family = || question.variants.iter().filter(|other| other.stack.family == own.family);
    let is_common =
        |part: &StackElement| family().all(|other| other.stack.parts.iter().any(|p| p.id == part.id));
    names(own.parts.iter().filter(|part| part.is_layer || !is_common(part)))
}

/// The variants that have one part of `whole` each above `base`, if there is one for every part.
fn singles(
    all: &[(Member, &Stack)],
    (base, below): (Member, &Stack),
    (whole, above): (Member, &Stack),
) -> Option<SingleLayers> {
    let single = |part: &StackElement| {
        let has_it_alone = |(_, stack): &&(Member, &Stack)| {
            stack.is_above(below) && matches!(stack.beyond(below)[..], [own] if own.id == part.id)
        };
        all.iter().find(has_it_alone).map(|(member, _)| (*member, part.name.clone()))
    };
    let parts = above.beyond(below);
    let found: Option<Vec<_>> = (parts.len() > 1).then(|| parts.into_iter().map(single).collect())?;
    Some(SingleLayers { family: below.name.clone(), base, singles: found?, whole })
}
