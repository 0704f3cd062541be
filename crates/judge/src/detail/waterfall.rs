//! Waterfall charts of chains, one for each quantity.

use weighbridge_model::detail::{Level, Waterfall};
use weighbridge_model::estimate::{Estimate, Quantity};
use weighbridge_model::layering::{Chain, StageCost};
use weighbridge_model::summary::Summary;

/// One for each chain and quantity with at least two comparable stages; the headline first.
pub(super) fn waterfalls(summary: &Summary) -> Vec<Waterfall> {
    let mut quantities = vec![summary.headline];
    quantities.extend(Quantity::ALL.into_iter().filter(|quantity| *quantity != summary.headline));
    let waterfalls_of_chain = |chain: &Chain| {
        let operation = operation(summary, chain);
        let each = quantities.iter().filter_map(|quantity| waterfall(chain, *quantity, &operation));
        each.collect::<Vec<_>>()
    };
    summary.layering.chains.iter().flat_map(waterfalls_of_chain).collect()
}

/// The operation name of figures of all requests.
fn operation(summary: &Summary, chain: &Chain) -> String {
    let first = &chain.stages[0].variant;
    let variant = summary.variants.iter().find(|v| v.name == *first && v.point == chain.point);
    let figure = variant.and_then(|variant| variant.figures.first());
    figure.map_or_else(|| "all".to_owned(), |figure| figure.operation.clone())
}

/// A stage in the chart: its figure, and what it adds to the stage before.
struct ChartStage<'c> {
    /// Its index in the chain.
    place: usize,
    figure: Estimate,
    cost: &'c StageCost,
}

fn waterfall(chain: &Chain, quantity: Quantity, operation: &str) -> Option<Waterfall> {
    let stretch = longest(chain, quantity);
    let (from, rest) = stretch.split_first()?;
    let last = rest.last()?;
    // A stage that was passed over is part of the next.
    let name = |(below, own): (Option<usize>, usize)| {
        let places = below.map_or(0, |below| below + 1)..=own;
        let names = places.map(|place| chain.stages[place].name.as_str());
        let names = names.filter(|name| below.is_some() || own == 0 || *name != "bare");
        names.collect::<Vec<_>>().join(" + ")
    };
    let level = |name: String, estimate: Estimate| Level { name, estimate };
    let layer = |pair: &[ChartStage<'_>]| {
        Some(level(name((Some(pair[0].place), pair[1].place)), pair[1].cost.difference?))
    };
    let is_whole = last.place + 1 == chain.stages.len();
    let to = if is_whole { "all together" } else { "together" };
    Some(Waterfall {
        point: chain.point.clone(),
        of: chain.of.clone(),
        operation: operation.to_owned(),
        quantity,
        unit: quantity.unit(),
        from: level(name((None, from.place)), from.figure),
        layers: stretch.windows(2).map(layer).collect::<Option<_>>()?,
        to: level(to.to_owned(), last.figure),
    })
}

/// The longest run of stages with figures, each with a cost against the one before; the lowest of several.
fn longest(chain: &Chain, quantity: Quantity) -> Vec<ChartStage<'_>> {
    let mut stretches: Vec<Vec<ChartStage<'_>>> = Vec::new();
    for (place, stage) in chain.stages.iter().enumerate() {
        let cost = stage.costs.iter().find(|cost| cost.quantity == quantity);
        let Some((cost, figure)) = cost.and_then(|cost| Some((cost, cost.figure?))) else { continue };
        let before = place.checked_sub(1).map(|before| &chain.stages[before].variant);
        let below = cost.against.as_ref().or(before).filter(|_| cost.difference.is_some());
        let ends_below = |stretch: &&mut Vec<ChartStage<'_>>| {
            stretch.last().is_some_and(|last| Some(&chain.stages[last.place].variant) == below)
        };
        let stage = ChartStage { place, figure, cost };
        match stretches.iter_mut().find(ends_below) {
            Some(stretch) => stretch.push(stage),
            None => stretches.push(vec![stage]),
        }
    }
    stretches.into_iter().rev().max_by_key(Vec::len).unwrap_or_default()
}
