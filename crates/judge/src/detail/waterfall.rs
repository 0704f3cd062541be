//! Waterfalls: what a chart of a chain draws, one quantity each.

use weighbridge_model::detail::{Level, Waterfall};
use weighbridge_model::layering::{Chain, Stage};
use weighbridge_model::summary::{Estimate, Quantity, Summary, Validity};

/// One for each chain and quantity whose every stage has a figure that may be used, from the first that has one on; the
/// headline first.
pub(super) fn waterfalls(summary: &Summary) -> Vec<Waterfall> {
    let mut quantities = vec![summary.headline];
    quantities.extend(Quantity::ALL.into_iter().filter(|quantity| *quantity != summary.headline));
    let of = |chain: &Chain| {
        let operation = operation(summary, chain);
        let each = quantities.iter().filter_map(|quantity| waterfall(chain, *quantity, &operation));
        each.collect::<Vec<_>>()
    };
    summary.layering.chains.iter().flat_map(of).collect()
}

/// The name under which figures of all requests stand.
fn operation(summary: &Summary, chain: &Chain) -> String {
    let first = &chain.stages[0].variant;
    let variant = summary.variants.iter().find(|v| v.name == *first && v.point == chain.point);
    let figure = variant.and_then(|variant| variant.figures.first());
    figure.map_or_else(|| "all".to_owned(), |figure| figure.operation.clone())
}

fn waterfall(chain: &Chain, quantity: Quantity, operation: &str) -> Option<Waterfall> {
    let cost = |stage: &Stage| stage.costs.iter().find(|cost| cost.quantity == quantity).cloned();
    let figure = |stage: &Stage| cost(stage)?.figure.filter(|_| stage.validity != Validity::Invalid);
    let difference = |stage: &Stage| cost(stage)?.difference;
    let first = chain.stages.iter().rposition(|stage| figure(stage).is_none()).map_or(0, |last| last + 1);
    let (from, rest) = chain.stages.get(first..)?.split_first()?;
    let level = |name: &str, estimate: Estimate| Level { name: name.to_owned(), estimate };
    let layers: Vec<Level> =
        rest.iter().map(|stage| Some(level(&stage.name, difference(stage)?))).collect::<Option<_>>()?;
    let last = rest.last()?;
    let before: Vec<&str> = chain.stages[..=first].iter().map(|stage| stage.name.as_str()).collect();
    let name =
        before.into_iter().filter(|name| first == 0 || *name != "bare").collect::<Vec<_>>().join(" + ");
    Some(Waterfall {
        point: chain.point.clone(),
        of: chain.of.clone(),
        operation: operation.to_owned(),
        quantity,
        unit: quantity.unit(),
        from: level(&name, figure(from)?),
        layers,
        to: level("all together", figure(last)?),
    })
}
