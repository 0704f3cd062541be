//! Which variants of a question form chains, and which are single layers of a whole. This follows from what
//! the variants consist of, not from measurements.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use weighbridge_model::id::VariantId;

use crate::question::{Question, Stack, StackElement, names};

/// Variants of which each has everything that the one before has, and something more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chain {
    pub family: String,
    /// Lowest first, each with what it adds.
    pub stages: Vec<(VariantId, String)>,
    /// Absent variants between two stages or below the first: the index of the stage above, and the variant's
    /// among [`Question::absent`].
    pub missing: Vec<(usize, usize)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Member {
    Measured(VariantId),
    /// A variant that could not be measured, by its index in [`Question::absent`].
    Absent(usize),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SingleLayers {
    pub family: String,
    pub base: Member,
    pub singles: Vec<(Member, String)>,
    pub whole: Member,
}

impl SingleLayers {
    pub fn members(&self) -> impl Iterator<Item = Member> {
        std::iter::once(self.base).chain(self.singles.iter().map(|(single, _)| *single)).chain([self.whole])
    }
}

/// One chain for each variant that has none above it, and one for each variant that is on none of these: so
/// every variant is compared with the largest one below it. A chain needs two steps, or another chain or
/// point to compare with: a single pair at one point adds nothing to its cost.
pub fn chains(question: &Question) -> Vec<Chain> {
    let paths = paths(question);
    let is_top = |top: &VariantId| !known(question).any(|other| is_above(question, other, *top));
    let (mut chains, mut others): (Vec<_>, Vec<_>) =
        paths.iter().filter(|(_, path)| path.len() > 1).partition(|(id, _)| is_top(id));
    // Largest first: variants on the path of a larger one need no chain of their own.
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

/// The sum checks of a question. Each whole is checked above the base with the most single layers that make
/// it up; variants that were all measured take precedence.
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

#[derive(Debug, Clone, Copy)]
struct KnownMember<'q> {
    member: Member,
    stack: &'q Stack,
}

/// One of each set of identical variants, the first; then the absent ones.
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

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    pub key: String,
    pub from: String,
    pub to: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    pub lower: VariantId,
    pub upper: VariantId,
}

/// The only setting in which two steps differ; `None` if they differ in anything else, or in more.
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
    /// The only setting that has another value in `other`; `None` if the two differ otherwise.
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

/// What `upper` has more than `lower`: the name of the stage.
pub(super) fn stage_name(question: &Question, lower: VariantId, upper: VariantId) -> String {
    names(stack(question, upper).beyond(stack(question, lower)))
}

fn stack(question: &Question, id: VariantId) -> &Stack {
    &question.variants[id.index()].stack
}

fn is_above(question: &Question, above: VariantId, below: VariantId) -> bool {
    stack(question, above).is_above(stack(question, below))
}

/// For every variant, the path from the lowest variant up to it. Each step goes to the largest variant below;
/// of several, to the one with the longest path, then to one that lacks only the innermost element, then to
/// the first in the experiment.
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

/// The name of a chain's lowest stage: its layers, and settings that not all of its family have.
fn bottom(question: &Question, id: VariantId) -> String {
    let own = stack(question, id);
    let family = || question.variants.iter().filter(|other| other.stack.family == own.family);
    let is_common = |element: &StackElement| {
        family().all(|other| other.stack.elements.iter().any(|p| p.id == element.id))
    };
    names(own.elements.iter().filter(|element| element.is_layer || !is_common(element)))
}

/// Variants that add one element of `whole` to `base`; `None` unless there is one for each element.
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
