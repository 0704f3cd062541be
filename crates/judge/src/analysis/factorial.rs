//! What framing and codec cost where every framing was measured with every codec.
//!
//! In a block let D(f, c) be what the variant with framing f and codec c costs more than the first one. Times add
//! up, so a framing costs the mean over codecs of D(f, c) − D(0, c), a codec the mean over framings of
//! D(f, c) − D(f, 0), and both together, beyond that, D(f, c) − D(f, 0) − D(0, c) + D(0, 0): the main effects and
//! interactions of a two-way table. Each is a weighted sum of one block's values, so what a block's variants share
//! cancels; intervals are over blocks.

use std::collections::BTreeMap;

use weighbridge_model::estimate::{Estimate, Quantity, Verdict};
use weighbridge_model::experiment::{CodecName, FramingName, Protocol};
use weighbridge_model::factorial::{CellInteraction, DifferenceParts, Factorial, FactorialTable, MainEffect};
use weighbridge_model::id::VariantId;
use weighbridge_model::layering::Additivity;

use super::layers::{Level, PointContext, adds_up, conclude};
use crate::estimate::{estimate, mean_with_error};
use crate::question::{Question, Stack};
use crate::stats::multiple::{holm, p_against_zero};
use crate::stats::sample::mean;
use crate::thresholds::FAMILY_ERROR;
use crate::verdict::{append_reason, effect, only_alone, verdict_from_interval};

/// Variants that differ in framing and codec alone: each framing with each codec.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Grid {
    of: String,
    framings: Vec<FramingName>,
    codecs: Vec<CodecName>,
    /// A row for each framing.
    variants: Vec<Vec<VariantId>>,
}

impl Grid {
    fn framings(&self) -> Vec<&'static str> {
        self.framings.iter().map(|framing| framing.name()).collect()
    }

    fn codecs(&self) -> Vec<&'static str> {
        self.codecs.iter().map(|codec| codec.name()).collect()
    }
}

/// A variant with a framing and a codec.
#[derive(Debug, Clone, Copy)]
struct Member {
    id: VariantId,
    framing: FramingName,
    codec: CodecName,
}

/// The grids of a run; points are added one after another.
pub(crate) struct Factorials<'q> {
    question: &'q Question,
    grids: Vec<Grid>,
    found: Vec<Factorial>,
}

impl<'q> Factorials<'q> {
    pub(crate) fn new(question: &'q Question) -> Self {
        Self { question, grids: grids(question), found: Vec::new() }
    }

    pub(crate) fn is_asked(&self) -> bool {
        !self.grids.is_empty()
    }

    pub(crate) fn add(&mut self, context: &PointContext<'_, '_>) {
        let found = self.grids.iter().map(|grid| factorial(self.question, context, grid));
        self.found.extend(found);
    }

    pub(crate) fn end(self) -> Vec<Factorial> {
        self.found
    }
}

fn grids(question: &Question) -> Vec<Grid> {
    let mut groups: Vec<(Stack, Vec<Member>)> = Vec::new();
    for (id, variant) in question.variants() {
        let Some((stack, protocol)) = without_protocol(&variant.stack) else { continue };
        let Some(codec) = protocol.codec() else { continue };
        let member = Member { id, framing: protocol.framing(), codec };
        match groups.iter_mut().find(|(known, _)| known.is_like(&stack)) {
            Some((_, members)) => members.push(member),
            None => groups.push((stack, vec![member])),
        }
    }
    groups.iter().filter_map(|(stack, members)| largest_grid(&stack.name, members)).collect()
}

/// The stack as that of the plainest protocol, and the protocol that it has.
fn without_protocol(stack: &Stack) -> Option<(Stack, Protocol)> {
    let mut plain = stack.clone();
    let family = plain.family.as_mut()?;
    let protocol = std::mem::replace(&mut family.protocol, Protocol::HTTP1_JSON);
    if let Some(name) = plain.name.strip_suffix(&format!(", {}", protocol.name())) {
        plain.name = name.to_owned();
    }
    Some((plain, protocol))
}

/// The most variants of which each framing has each codec: at least two framings and two codecs. There are few
/// framings, so every set of them is looked at.
fn largest_grid(of: &str, members: &[Member]) -> Option<Grid> {
    let framings = distinct(members.iter().map(|member| member.framing));
    let codecs = distinct(members.iter().map(|member| member.codec));
    let find = |framing: FramingName, codec: CodecName| {
        let is_it = |member: &&Member| member.framing == framing && member.codec == codec;
        members.iter().find(is_it).map(|member| member.id)
    };
    let grid = |set: u32| {
        let chosen: Vec<FramingName> =
            framings.iter().enumerate().filter(|(at, _)| set >> at & 1 == 1).map(|(_, one)| *one).collect();
        let has_all = |codec: &CodecName| chosen.iter().all(|framing| find(*framing, *codec).is_some());
        let common: Vec<CodecName> = codecs.iter().copied().filter(has_all).collect();
        let row = |framing: &FramingName| common.iter().filter_map(|codec| find(*framing, *codec)).collect();
        let variants = chosen.iter().map(row).collect();
        Grid { of: of.to_owned(), framings: chosen, codecs: common, variants }
    };
    let grids = (1..1u32 << framings.len()).map(grid);
    let is_crossed = |grid: &Grid| grid.framings.len() > 1 && grid.codecs.len() > 1;
    // Of grids of one size the first, whose framings come first in the experiment.
    grids.filter(is_crossed).reduce(|best, grid| {
        let size = |grid: &Grid| grid.framings.len() * grid.codecs.len();
        if size(&grid) > size(&best) { grid } else { best }
    })
}

fn distinct<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut seen = Vec::new();
    for one in all {
        if !seen.contains(&one) {
            seen.push(one);
        }
    }
    seen
}

fn factorial(question: &Question, context: &PointContext<'_, '_>, grid: &Grid) -> Factorial {
    let all: Vec<VariantId> = grid.variants.concat();
    let (mut tables, mut reason) = (Vec::new(), None);
    for quantity in Quantity::ALL.into_iter().filter(|quantity| adds_up(*quantity)) {
        match table(question, context, grid, quantity) {
            Ok(table) => tables.push(table),
            Err(why) if quantity == question.headline || reason.is_none() => reason = Some(why),
            Err(_) => {}
        }
    }
    let remark = context.crossing(question, &all);
    let name = |id: &VariantId| question.variants[id.index()].name.clone();
    Factorial {
        point: question.points[context.id.index()].label.clone(),
        of: grid.of.clone(),
        framings: grid.framings().into_iter().map(str::to_owned).collect(),
        codecs: grid.codecs().into_iter().map(str::to_owned).collect(),
        variants: grid.variants.iter().map(|row| row.iter().map(name).collect()).collect(),
        reason: if tables.is_empty() { reason } else { remark },
        tables,
    }
}

fn table(
    question: &Question,
    context: &PointContext<'_, '_>,
    grid: &Grid,
    quantity: Quantity,
) -> Result<FactorialTable, String> {
    let all: Vec<VariantId> = grid.variants.concat();
    let exclusion = |id: &VariantId| {
        let exclusion = context.exclusion(*id, quantity)?;
        Some(format!("`{}`: {}", question.variants[id.index()].name, exclusion.own_reason(context, quantity)))
    };
    if let Some(reason) = all.iter().find_map(exclusion) {
        return Err(reason);
    }
    let figure = |id: &VariantId| {
        let found = context.samples.all[id.index()].figure(quantity);
        found.map_err(|absence| (context.why)(absence, quantity))
    };
    let figures: Vec<Vec<Estimate>> =
        grid.variants.iter().map(|row| row.iter().map(figure).collect()).collect::<Result<_, _>>()?;
    let cells = Cells::new(question, context, grid, quantity)?;
    let first_row: Vec<f64> = figures[0].iter().map(|figure| figure.point).collect();
    let first_column: Vec<f64> = figures.iter().map(|row| row[0].point).collect();
    let [least_framing, least_codec] = [&first_row, &first_column]
        .map(|figures| mean(figures).unwrap_or_default().abs() * question.margin.get());
    let (framings, codecs) = (grid.framings(), grid.codecs());
    let (rows, columns) = (framings.len() as f64, codecs.len() as f64);
    let framing_effects = (1..framings.len()).map(|f| {
        let contrast = cells.contrast(|row, _| (indicator(row == f) - indicator(row == 0)) / columns);
        contrast.effect(quantity, [framings[f], framings[0]], least_framing)
    });
    let codec_effects = (1..codecs.len()).map(|c| {
        let contrast = cells.contrast(|_, column| (indicator(column == c) - indicator(column == 0)) / rows);
        contrast.effect(quantity, [codecs[c], codecs[0]], least_codec)
    });
    let pairs = (1..framings.len()).flat_map(|f| (1..codecs.len()).map(move |c| (f, c)));
    let least = figures[0][0].point.abs() * question.margin.get();
    let interactions = pairs.map(|(f, c)| {
        let weight = |row: usize, column: usize| {
            (indicator(row == f) - indicator(row == 0)) * (indicator(column == c) - indicator(column == 0))
        };
        cells.contrast(weight).interaction(framings[f], codecs[c], least)
    });
    let mut table = FactorialTable {
        quantity,
        unit: quantity.unit(),
        framings: framing_effects.collect(),
        codecs: codec_effects.collect(),
        interactions: interactions.collect(),
        parts: (1..codecs.len()).map(|codec| parts(&cells, grid, codec)).collect(),
        figures,
    };
    correct(&mut table);
    Ok(table)
}

/// What the last framing and a codec differ by from the first ones.
fn parts(cells: &Cells, grid: &Grid, codec: usize) -> DifferenceParts {
    let framing = grid.framings.len() - 1;
    let at = |row: usize, column: usize| {
        move |r: usize, c: usize| indicator((r, c) == (row, column)) - indicator((r, c) == (0, 0))
    };
    let difference = |contrast: Contrast| estimate(&contrast.differences, contrast.first_stage);
    let (whole, row, column) = (at(framing, codec), at(framing, 0), at(0, codec));
    DifferenceParts {
        framing: grid.framings()[framing].to_owned(),
        codec: grid.codecs()[codec].to_owned(),
        whole: difference(cells.contrast(whole)),
        of_framing: difference(cells.contrast(row)),
        of_codec: difference(cells.contrast(column)),
        of_both: difference(cells.contrast(|r, c| whole(r, c) - row(r, c) - column(r, c))),
    }
}

/// 1 or 0.
fn indicator(is: bool) -> f64 {
    f64::from(u8::from(is))
}

/// What each cell costs more than the first, in the blocks that have all of them.
struct Cells {
    rows: Vec<Vec<BTreeMap<u32, Level>>>,
    blocks: Vec<u32>,
    first_stage: usize,
}

impl Cells {
    fn new(
        question: &Question,
        context: &PointContext<'_, '_>,
        grid: &Grid,
        quantity: Quantity,
    ) -> Result<Self, String> {
        let levels = context.levels(&grid.variants.concat(), quantity);
        let first = grid.variants[0][0];
        let cell = |id: &VariantId| {
            levels.between(first, *id).map_err(|gap| context.why_apart(question, gap, quantity))
        };
        let rows: Vec<Vec<BTreeMap<u32, Level>>> =
            grid.variants.iter().map(|row| row.iter().map(cell).collect()).collect::<Result<_, _>>()?;
        let has_all = |block: &&u32| rows.iter().flatten().all(|cell| cell.contains_key(block));
        let blocks: Vec<u32> = rows[0][0].keys().filter(has_all).copied().collect();
        if blocks.is_empty() {
            return Err("no block holds all of them".to_owned());
        }
        Ok(Self { blocks, rows, first_stage: context.samples.first_stage })
    }

    /// The sum over all cells of their values times their weights, block by block.
    fn contrast(&self, weight: impl Fn(usize, usize) -> f64) -> Contrast {
        let sum = |block: &u32, pick: fn(&Level) -> f64| {
            let rows = self.rows.iter().enumerate();
            let row = |(row, cells): (usize, &Vec<BTreeMap<u32, Level>>)| -> f64 {
                cells.iter().enumerate().map(|(column, cell)| weight(row, column) * pick(&cell[block])).sum()
            };
            rows.map(row).sum::<f64>()
        };
        Contrast {
            differences: self.blocks.iter().map(|block| sum(block, |level| level.difference)).collect(),
            logs: self.blocks.iter().map(|block| sum(block, |level| level.log_ratio)).collect(),
            first_stage: self.first_stage,
        }
    }
}

/// A weighted sum of cells, block by block.
struct Contrast {
    differences: Vec<f64>,
    logs: Vec<f64>,
    first_stage: usize,
}

impl Contrast {
    fn p(&self) -> Option<f64> {
        mean_with_error(&self.differences, self.first_stage).map(p_against_zero)
    }

    /// Less than `least` is not relevant.
    fn effect(&self, quantity: Quantity, [value, against]: [&str; 2], least: f64) -> MainEffect {
        let difference = estimate(&self.differences, self.first_stage);
        let logs = estimate(&self.logs, self.first_stage);
        let ratio = Estimate {
            point: logs.point.exp(),
            lower: logs.lower.map(f64::exp),
            upper: logs.upper.map(f64::exp),
            ..logs
        };
        let (verdict, reason) = match difference.interval() {
            Some((lower, upper)) => (verdict_from_interval(lower, upper, least), None),
            None => (Verdict::Undecided, Some("too few blocks for an interval".to_owned())),
        };
        MainEffect {
            value: value.to_owned(),
            against: against.to_owned(),
            p: self.p(),
            effect: effect(quantity, verdict),
            difference,
            ratio,
            verdict,
            reason,
        }
    }

    fn interaction(&self, framing: &str, codec: &str, least: f64) -> CellInteraction {
        let difference = estimate(&self.differences, self.first_stage);
        let (verdict, reason) = conclude(&difference, least);
        let (framing, codec) = (framing.to_owned(), codec.to_owned());
        CellInteraction { framing, codec, difference, p: self.p(), verdict, reason }
    }
}

/// Holm's correction at 5 % over all rows of a table: what is concluded from a larger adjusted p becomes undecided.
fn correct(table: &mut FactorialTable) {
    let effects = || table.framings.iter().chain(&table.codecs).map(|effect| effect.p);
    let tested: Vec<Option<f64>> =
        effects().chain(table.interactions.iter().map(|interaction| interaction.p)).collect();
    let p_values: Vec<f64> = tested.iter().flatten().copied().collect();
    let mut adjusted = holm(&p_values).into_iter();
    let is_weak: Vec<bool> = tested
        .iter()
        .map(|p| p.is_some() && adjusted.next().is_some_and(|adjusted| adjusted > FAMILY_ERROR))
        .collect();
    let remark = || only_alone("significant", p_values.len());
    let mut is_weak = is_weak.into_iter();
    for effect in table.framings.iter_mut().chain(&mut table.codecs) {
        let is_found = matches!(effect.verdict, Verdict::Higher | Verdict::Lower);
        if is_weak.next() == Some(true) && is_found {
            append_reason(&mut effect.reason, remark());
            (effect.verdict, effect.effect) = (Verdict::Undecided, None);
        }
    }
    for one in &mut table.interactions {
        if is_weak.next() == Some(true) && one.verdict == Additivity::Interaction {
            append_reason(&mut one.reason, remark());
            one.verdict = Additivity::Undecided;
        }
    }
}
