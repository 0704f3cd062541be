//! Weighted quantiles of the same items in many draws of their blocks at once.
//!
//! A draw contains every item as often as its block. Items are sorted once, and weights are summed by block
//! over runs of items. So each draw's weight of a run is one small product, computed for all draws at once,
//! and only the run that holds the quantile is examined item by item. The results equal those of separate
//! draws.

use super::scatter::Multiplicity;

const RUN: usize = 32;

#[derive(Debug, Clone, Copy)]
pub(super) struct Item {
    pub block: u32,
    pub off: f64,
    pub value: f64,
    /// Not below 0.
    pub weight: f64,
}

#[derive(Debug)]
pub(super) struct Draws {
    /// How often a block occurs in each draw, by block.
    times: Vec<Vec<f64>>,
    count: usize,
}

impl Draws {
    /// `blocks` is the number of blocks of every draw.
    pub fn new(draws: &[Multiplicity], blocks: usize) -> Self {
        let times_drawn = |block: usize| draws.iter().map(|times| f64::from(times[block])).collect();
        Self { times: (0..blocks).map(times_drawn).collect(), count: draws.len() }
    }

    pub fn len(&self) -> usize {
        self.count
    }

    fn sums(&self, by_block: &[f64], into: &mut Vec<f64>) {
        into.clear();
        into.resize(self.count, 0.0);
        for (times, part) in self.times.iter().zip(by_block) {
            into.iter_mut().zip(times).for_each(|(sum, times)| *sum += part * times);
        }
    }
}

/// Items in the order of their values.
#[derive(Debug)]
pub(super) struct Weighed {
    items: Vec<Item>,
    /// Weight of each run, by block.
    runs: Vec<Vec<f64>>,
    weight: Vec<f64>,
    off: Vec<f64>,
    number: Vec<f64>,
}

impl Weighed {
    pub fn new(mut items: Vec<Item>, blocks: usize) -> Self {
        items.sort_by(|a, b| a.value.total_cmp(&b.value));
        let by_block = |items: &[Item], pick: fn(&Item) -> f64| {
            let mut sums = vec![0.0; blocks];
            items.iter().for_each(|item| sums[item.block as usize] += pick(item));
            sums
        };
        Self {
            runs: items.chunks(RUN).map(|run| by_block(run, |item| item.weight)).collect(),
            weight: by_block(&items, |item| item.weight),
            off: by_block(&items, |item| item.weight * item.off),
            number: by_block(&items, |_| 1.0),
            items,
        }
    }

    pub fn counts(&self, draws: &Draws) -> Vec<f64> {
        let mut counts = Vec::new();
        draws.sums(&self.number, &mut counts);
        counts
    }

    /// The weighted mean distance from the place in each draw; `None` without weight.
    pub fn offs(&self, draws: &Draws) -> Vec<Option<f64>> {
        let (mut weights, mut offs) = (Vec::new(), Vec::new());
        draws.sums(&self.weight, &mut weights);
        draws.sums(&self.off, &mut offs);
        weights.iter().zip(&offs).map(|(weight, off)| (*weight > 0.0).then(|| off / weight)).collect()
    }

    /// The quantile in each draw: the value at which the cumulative weight passes the share q of the total,
    /// an item's own weight counted half (Hazen's rule). It is interpolated between values, so that it is
    /// smooth in q. `None` without weight.
    pub fn quantiles(&self, q: f64, draws: &Draws) -> Vec<Option<f64>> {
        let (mut totals, mut run_sums) = (Vec::new(), Vec::new());
        draws.sums(&self.weight, &mut totals);
        let wanted: Vec<f64> = totals.iter().map(|total| q * total).collect();
        // The run that holds each draw's quantile, and the weight of all runs before it.
        let mut found = vec![(0, 0.0); draws.len()];
        let mut before = vec![0.0; draws.len()];
        for (run, by_block) in self.runs.iter().enumerate() {
            draws.sums(by_block, &mut run_sums);
            for (draw, sum) in run_sums.iter().enumerate() {
                if before[draw] < wanted[draw] {
                    found[draw] = (run, before[draw]);
                }
                before[draw] += sum;
            }
        }
        let value = |draw: usize| {
            let (run, before) = found[draw];
            (totals[draw] > 0.0).then(|| {
                self.seek(run * RUN, before, wanted[draw], |item| {
                    item.weight * draws.times[item.block as usize][draw]
                })
            })?
        };
        (0..draws.len()).map(value).collect()
    }

    /// The value at which the weight passes `wanted`; `before` is the weight before item `from`.
    fn seek(&self, from: usize, mut before: f64, wanted: f64, weight: impl Fn(&Item) -> f64) -> Option<f64> {
        let mut last: Option<(f64, f64)> = None;
        for item in &self.items[from..] {
            let own = weight(item);
            if own <= 0.0 {
                continue;
            }
            let middle = before + 0.5 * own;
            if middle >= wanted {
                let earlier = || {
                    let item = self.items[..from].iter().rev().find(|item| weight(item) > 0.0)?;
                    Some((before - 0.5 * weight(item), item.value))
                };
                let Some((below, value)) = last.or_else(earlier) else { return Some(item.value) };
                let share = ((wanted - below) / (middle - below)).clamp(0.0, 1.0);
                return Some(value + share * (item.value - value));
            }
            before += own;
            last = Some((middle, item.value));
        }
        last.map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(values: &[(u32, f64)]) -> Vec<Item> {
        values
            .iter()
            .map(|(block, value)| Item { block: *block, off: 0.0, value: *value, weight: 1.0 })
            .collect()
    }

    #[test]
    fn quantiles_lie_between_the_middles_of_the_weights() {
        let weighed = Weighed::new(items(&[(0, 2.0), (0, 1.0), (1, 3.0), (1, 5.0), (1, 4.0)]), 2);
        let draws = Draws::new(&[vec![1, 1], vec![2, 0], vec![0, 0]], 2);
        // Hazen's rule: the k-th of n is the quantile (k − ½)/n.
        for (q, wanted) in
            [(0.1, 1.0), (0.3, 2.0), (0.5, 3.0), (0.6, 3.5), (0.9, 5.0), (0.0, 1.0), (1.0, 5.0)]
        {
            let found = weighed.quantiles(q, &draws)[0].expect("there are some");
            assert!((found - wanted).abs() < 1e-12, "{q}: {found}");
        }
        assert_eq!(weighed.quantiles(0.5, &draws)[1..], [Some(1.5), None]);
        assert_eq!(weighed.counts(&draws), [5.0, 4.0, 0.0]);
    }

    /// All draws at once must equal each draw by itself, over several runs of items.
    #[test]
    fn many_draws_at_once_are_each_draw_by_itself() {
        let mut state = 7_u64;
        let mut next = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as f64 / f64::from(1_u32 << 31)
        };
        let all: Vec<Item> = (0..200)
            .map(|n| Item { block: n % 5, off: next() - 0.3, value: next(), weight: (4.0 * next()).floor() })
            .collect();
        let draws: Vec<Multiplicity> =
            (0..40).map(|_| (0..5).map(|_| (3.0 * next()) as u32).collect()).collect();
        let weighed = Weighed::new(all.clone(), 5);
        let together = Draws::new(&draws, 5);
        for q in [0.03, 0.25, 0.5, 0.9] {
            let found = weighed.quantiles(q, &together);
            for (draw, times) in draws.iter().enumerate() {
                assert_eq!(found[draw].is_some(), times.iter().sum::<u32>() > 0);
                let Some(found) = found[draw] else { continue };
                let expected = by_itself(&all, times, q);
                assert!((found - expected).abs() < 1e-12, "{q} {times:?}: {found} {expected}");
            }
        }
    }

    /// The quantile by definition: the middles of the weights, linearly interpolated.
    fn by_itself(items: &[Item], times: &Multiplicity, q: f64) -> f64 {
        let mut present: Vec<(f64, f64)> = items
            .iter()
            .map(|item| (item.value, item.weight * f64::from(times[item.block as usize])))
            .filter(|(_, weight)| *weight > 0.0)
            .collect();
        present.sort_by(|a, b| a.0.total_cmp(&b.0));
        let total: f64 = present.iter().map(|(_, weight)| weight).sum();
        let mut sum = 0.0;
        let middles: Vec<(f64, f64)> = present
            .iter()
            .map(|(value, weight)| {
                sum += weight;
                (sum - 0.5 * weight, *value)
            })
            .collect();
        let above = middles.partition_point(|(middle, _)| *middle < q * total);
        let Some(upper) = middles.get(above) else { return middles[middles.len() - 1].1 };
        let Some(lower) = above.checked_sub(1).map(|at| middles[at]) else { return upper.1 };
        lower.1 + (q * total - lower.0) / (upper.0 - lower.0) * (upper.1 - lower.1)
    }
}
