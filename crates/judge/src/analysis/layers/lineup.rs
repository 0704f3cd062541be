//! Which variants of a question form chains, and which are single layers of a whole: found from what they are
//! made of, before anything is examined that was measured.

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

/// The chains of a question: one for each variant above which there is none, and one for each variant that is
/// on none of these; so every variant stands above the largest one below it. A single pair at one point says
/// nothing that its cost does not say, so it needs two steps, or another chain or point to be compared with.
pub fn chains(question: &Question) -> Vec<Chain> {
    let paths = paths(question);
    let is_top = |top: &VariantId| !known(question).any(|other| is_above(question, other, *top));
    let (mut chains, mut others): (Vec<_>, Vec<_>) =
        paths.iter().filter(|(_, path)| path.len() > 1).partition(|(id, _)| is_top(id));
    // Largest first, so that those on its path need none of their own.
    others.sort_by_key(|(id, _)| Reverse(stack(question, **id).elements.len()));
    for other in others {
        if !chains.iter().any(|(_, chain)| chain.contains(other.0)) {
            chains.push(other);
        }
    }
    let is_worth =
        chains.len() > 1 || question.points.len() > 1 || chains.iter().any(|(_, path)| path.len() > 2);
    chains.retain(|_| is_worth);
    chains.into_iter().map(|(_, path)| chain_along(question, path)).collect()
}

/// The sum checks of a question: for each whole the base with the most singles above it that make it up, of
/// variants that were all measured where there are such.
pub fn single_layers(question: &Question) -> Vec<SingleLayers> {
    let all = members(question);
    let largest_check = |whole: &KnownMember<'_>| {
        let bases = all.iter().filter(|base| whole.stack.is_above(base.stack));
        let found = bases.filter_map(|base| singles(&all, *base, *whole));
        let is_measured = |member: Member| matches!(member, Member::Measured(_));
        found.max_by_key(|found| (found.members().all(is_measured), found.singles.len()))
    };
    all.iter().filter_map(largest_check).collect()
}

/// A variant of which it is known what it is.
#[derive(Debug, Clone, Copy)]
struct KnownMember<'q> {
    member: Member,
    stack: &'q Stack,
}

/// Variants of which it is known what they are, of several that are alike the first; then the absent ones.
fn members(question: &Question) -> Vec<KnownMember<'_>> {
    let measured =
        known(question).map(|id| KnownMember { member: Member::Measured(id), stack: stack(question, id) });
    let mut all: Vec<KnownMember<'_>> = measured.collect();
    for (at, absent) in question.absent.iter().enumerate() {
        let is_new = !all.iter().any(|other| other.stack.is_like(&absent.stack));
        if is_new && absent.stack.family.is_some() {
            all.push(KnownMember { member: Member::Absent(at), stack: &absent.stack });
        }
    }
    all
}

fn known(question: &Question) -> impl Iterator<Item = VariantId> {
    let is_first = |(id, variant): &(VariantId, &crate::question::Variant)| {
        let mut before = question.variants[..id.index()].iter();
        variant.stack.family.is_some() && !before.any(|other| other.stack.is_like(&variant.stack))
    };
    question.variants().filter(is_first).map(|(id, _)| id)
}

/// A setting that two steps have otherwise, and its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// The setting: `cores`, or a variable.
    pub key: String,
    /// Its value in the one.
    pub from: String,
    /// Its value in the other.
    pub to: String,
}

/// A variant and one above it, of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// The one below.
    pub lower: VariantId,
    /// The one above it.
    pub upper: VariantId,
}

/// The setting in which alone two steps differ. `None` where they differ in something
/// else, or in more.
pub fn changed_setting(question: &Question, from: Step, to: Step) -> Option<Changed> {
    let added = |step: Step| {
        let beyond = stack(question, step.upper).beyond(stack(question, step.lower));
        beyond.into_iter().map(|element| &element.id)
    };
    added(from).eq(added(to)).then_some(())?;
    let changed = stack(question, from.lower).changed(stack(question, to.lower))?;
    let above = stack(question, from.upper).changed(stack(question, to.upper));
    (above.as_ref() == Some(&changed)).then_some(changed)
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

/// The path down from every variant, from below: each time to the largest variant there is; of several to the
/// one with the longest path of its own, then to one that has all but the innermost, then to the one that
/// comes first in the experiment.
fn paths(question: &Question) -> BTreeMap<VariantId, Vec<VariantId>> {
    let mut rising: Vec<VariantId> = known(question).collect();
    rising.sort_by_key(|id| stack(question, *id).elements.len());
    let mut paths: BTreeMap<VariantId, Vec<VariantId>> = BTreeMap::new();
    for top in rising {
        let below = paths.iter().filter(|(id, _)| is_above(question, top, **id));
        let rank = |(id, path): &(&VariantId, &Vec<VariantId>)| {
            let below = stack(question, **id);
            (below.elements.len(), path.len(), stack(question, top).begins_with(below), Reverse(**id))
        };
        let mut path = below.max_by_key(rank).map_or_else(Vec::new, |(_, path)| path.clone());
        path.push(top);
        paths.insert(top, path);
    }
    paths
}

fn chain_along(question: &Question, path: &[VariantId]) -> Chain {
    let mut stages = vec![(path[0], bottom(question, path[0]))];
    stages.extend(path.windows(2).map(|pair| (pair[1], stage_name(question, pair[0], pair[1]))));
    let is_between = |place: usize, absent: &Stack| {
        let is_above_last = |place: usize| absent.is_above(stack(question, path[place]));
        stack(question, path[place]).is_above(absent) && place.checked_sub(1).is_none_or(is_above_last)
    };
    let missing = (0..path.len()).flat_map(|place| {
        let there = question.absent.iter().enumerate();
        there.filter(move |(_, absent)| is_between(place, &absent.stack)).map(move |(at, _)| (place, at))
    });
    Chain { family: stack(question, path[0]).name.clone(), missing: missing.collect(), stages }
}

/// What a lowest variant has: its layers, and settings that not every variant of its family has.
fn bottom(question: &Question, id: VariantId) -> String {
    let own = stack(question, id);
    let family = || question.variants.iter().filter(|other| other.stack.family == own.family);
    let is_common = |element: &StackElement| {
        family().all(|other| other.stack.elements.iter().any(|p| p.id == element.id))
    };
    names(own.elements.iter().filter(|element| element.is_layer || !is_common(element)))
}

/// The variants that have one element of `whole` each above `base`, if there is one for every element.
fn singles(all: &[KnownMember<'_>], base: KnownMember<'_>, whole: KnownMember<'_>) -> Option<SingleLayers> {
    let single = |element: &StackElement| {
        let has_it_alone = |one: &&KnownMember<'_>| {
            one.stack.is_above(base.stack)
                && matches!(one.stack.beyond(base.stack)[..], [own] if own.id == element.id)
        };
        all.iter().find(has_it_alone).map(|one| (one.member, element.name.clone()))
    };
    let elements = whole.stack.beyond(base.stack);
    let found: Option<Vec<_>> = (elements.len() > 1).then(|| elements.into_iter().map(single).collect())?;
    Some(SingleLayers {
        family: base.stack.name.clone(),
        base: base.member,
        singles: found?,
        whole: whole.member,
    })
}
