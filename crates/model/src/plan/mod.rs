//! The plan: which variant runs when, as a pure function of the seed. It does not depend on measurements.

mod batches;
mod file;

use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

use crate::id::{PointId, VariantId};

pub use batches::Batches;
pub use file::{BatchPlan, ConnectTo, Division, ImportedPlan, PlanFile, RunPlan};

/// All orders of a run; they follow from the seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    seed: u64,
    /// The seed of orders: `seed`, or one derived from it for a batch.
    orders: u64,
    variants: u16,
    points: u16,
    baseline: BaselineWindows,
}

/// How many windows of a round the baseline has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BaselineWindows {
    /// As many as its part in every cost is worth.
    ByVariants,
    One,
}

/// The order within one block.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BlockPlan {
    /// Variants in the order they are started.
    pub starts: Vec<VariantId>,
    /// Variants in the order they are connected to, at every point, and in which they are asked for the
    /// answers to compare.
    pub connects: Vec<VariantId>,
    /// Points in the order they are measured.
    pub points: Vec<PointId>,
}

impl Plan {
    /// # Panics
    /// If `variants` or `points` is zero; a checked experiment has at least one of each.
    pub fn new(seed: u64, variants: usize, points: usize) -> Self {
        assert!(variants > 0 && points > 0, "a plan needs a variant and a point");
        let (variants, points) = (variants as u16, points as u16);
        Self { seed, orders: seed, variants, points, baseline: BaselineWindows::ByVariants }
    }

    /// The plan in which every variant has one window a round, so that all have been sent the same.
    pub fn one_window_each(self) -> Self {
        Self { baseline: BaselineWindows::One, ..self }
    }

    /// The plan of a batch of so many variants: its own orders, but the request streams of every other batch,
    /// so that all variants of a block do the same work.
    pub fn for_batch(&self, batch: u32, variants: usize) -> Self {
        Self { orders: mix(self.seed, &[5, u64::from(batch)]), variants: variants as u16, ..*self }
    }

    /// The order in which the batches of a block run.
    pub fn batch_order(&self, block: u32, batches: u32) -> Vec<u32> {
        let mut order: Vec<_> = (0..batches).collect();
        order.shuffle(&mut self.random(&[4, u64::from(block)]));
        order
    }

    /// Orders of starts, connects and points in a block. Warm-ups follow the order of starts.
    ///
    /// Blocks come in pairs; the second of a pair starts variants in the reverse order of the first. A
    /// variant that starts and warms up first waits longest for its first window; over a pair of blocks, all
    /// wait equally. Connects are drawn separately, in pairs too: the first variant to be connected to gets
    /// other places in the memory of generator and kernel.
    pub fn block(&self, block: u32) -> BlockPlan {
        let first_of_pair = u64::from(block / 2 * 2);
        let mut random = self.random(&[1, first_of_pair]);
        let mut starts: Vec<_> = (0..self.variants).map(VariantId).collect();
        let mut connects = starts.clone();
        let mut points: Vec<_> = (0..self.points).map(PointId).collect();
        starts.shuffle(&mut random);
        connects.shuffle(&mut self.random(&[6, first_of_pair]));
        if block % 2 == 1 {
            starts.reverse();
            connects.reverse();
            random = self.random(&[1, u64::from(block)]);
        }
        points.shuffle(&mut random);
        BlockPlan { starts, connects, points }
    }

    /// Variants of a round in the order of their windows.
    ///
    /// Two variants: rounds come in pairs AB, BA in random order, so that both orders are equally frequent.
    /// More variants: a fresh random permutation. From five variants on, the baseline gets ⌈√(K−1)⌉ windows,
    /// since every cost needs it (the square-root rule for comparing many treatments with one control,
    /// Dunnett 1955).
    pub fn round(&self, block: u32, point: PointId, round: u32) -> Vec<VariantId> {
        let context = [2, u64::from(block), u64::from(point.0)];
        if self.variants == 2 {
            let mut random = self.random(&[&context[..], &[u64::from(round / 2)]].concat());
            let first = u32::from(random.random::<bool>());
            let first = VariantId(((round % 2) ^ first) as u16);
            return vec![first, VariantId(1 - first.0)];
        }
        let mut random = self.random(&[&context[..], &[u64::from(round)]].concat());
        let mut order: Vec<_> = (0..self.variants).map(VariantId).collect();
        order.extend(std::iter::repeat_n(VariantId(0), self.baseline_windows() - 1));
        order.shuffle(&mut random);
        order
    }

    /// Order of variants if they run one after another, each for its whole share of a point's time.
    ///
    /// Blocks come in groups as large as the number of variants. Each group is a cyclic Latin square in
    /// random order, so in a group every variant is first, second … last once (two variants: AB and BA).
    pub fn stretches(&self, block: u32, point: PointId) -> Vec<VariantId> {
        let size = u32::from(self.variants);
        let (group, at) = (block / size, (block % size) as usize);
        let mut random = self.random(&[4, u64::from(point.0), u64::from(group)]);
        let mut order: Vec<_> = (0..self.variants).map(VariantId).collect();
        let mut turns: Vec<usize> = (0..usize::from(self.variants)).collect();
        order.shuffle(&mut random);
        turns.shuffle(&mut random);
        order.rotate_left(turns[at]);
        order
    }

    /// Windows of the baseline in a round.
    pub fn baseline_windows(&self) -> usize {
        match self.baseline {
            BaselineWindows::ByVariants if self.variants > 4 => {
                f64::from(self.variants - 1).sqrt().ceil() as usize
            }
            BaselineWindows::ByVariants | BaselineWindows::One => 1,
        }
    }

    /// The seed of the request stream that every window of the round reads from its start.
    pub fn substream(&self, block: u32, point: PointId, round: u32) -> u64 {
        mix(self.seed, &[3, u64::from(block), u64::from(point.0), u64::from(round)])
    }

    fn random(&self, context: &[u64]) -> ChaCha8Rng {
        ChaCha8Rng::seed_from_u64(mix(self.orders, context))
    }
}

/// Folds numbers into one seed by SplitMix64's finaliser (Steele, Lea & Flood 2014): equal contexts give
/// equal seeds, neighbouring ones unrelated seeds.
fn mix(seed: u64, context: &[u64]) -> u64 {
    context.iter().fold(seed, |state, value| {
        let mut z = (state ^ value.wrapping_mul(0xff51_afd7_ed55_8ccd)).wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_of_two_blocks_starts_in_reverse() {
        for variants in [2, 3, 7] {
            let plan = Plan::new(5, variants, 2);
            let mut reversed = plan.block(7).starts;
            reversed.reverse();
            assert_eq!(plan.block(6).starts, reversed);
            let first = (0..400).filter(|block| plan.block(*block).starts[0] == VariantId(0)).count();
            let expected = 400.0 / variants as f64;
            // Pairs are independent; of two variants each pair has either first exactly once.
            assert!((first as f64 - expected).abs() <= if variants == 2 { 0.0 } else { 45.0 }, "{first}");
        }
        let plan = Plan::new(5, 3, 4);
        assert!((0..20).any(|pair| plan.block(2 * pair).points != plan.block(2 * pair + 1).points));
    }

    #[test]
    fn the_second_of_two_blocks_connects_in_reverse_whoever_starts_first() {
        for variants in [2, 3, 7] {
            let plan = Plan::new(5, variants, 2);
            let mut reversed = plan.block(7).connects;
            reversed.reverse();
            assert_eq!(plan.block(6).connects, reversed);
            let orders: Vec<_> = (0..400).map(|block| plan.block(block)).collect();
            let first = orders.iter().filter(|order| order.connects[0] == VariantId(0)).count();
            let both = orders.iter().filter(|order| order.connects[0] == order.starts[0]).count();
            let expected = 400.0 / variants as f64;
            assert!((first as f64 - expected).abs() <= if variants == 2 { 0.0 } else { 45.0 }, "{first}");
            // 200 pairs of blocks: within four standard deviations of independent draws.
            assert!(
                (both as f64 - expected).abs() <= 57.0,
                "{both} of 400 connect to first who started first"
            );
        }
    }

    #[test]
    fn two_variants_are_balanced_in_every_pair_of_rounds() {
        let plan = Plan::new(7, 2, 1);
        let mut first_in_pair = [0, 0];
        for pair in 0..200 {
            let [a, b] = [0, 1].map(|half| plan.round(0, PointId(0), 2 * pair + half));
            assert_eq!(a, vec![b[1], b[0]], "the second round of a pair reverses the first");
            first_in_pair[a[0].index()] += 1;
        }
        assert!(first_in_pair.iter().all(|n| (60..=140).contains(n)), "{first_in_pair:?} of 200");
    }

    #[test]
    fn one_after_another_every_variant_has_every_place_equally_often() {
        for variants in [1, 2, 3, 5] {
            let plan = Plan::new(7, variants, 2);
            let mut places = vec![vec![0; variants]; variants];
            for block in 0..4 * variants as u32 {
                for (place, variant) in plan.stretches(block, PointId(1)).into_iter().enumerate() {
                    places[variant.index()][place] += 1;
                }
            }
            assert!(places.iter().flatten().all(|count| *count == 4), "{places:?}");
        }
        let first = |seed| -> Vec<_> {
            (0..40).map(|block| Plan::new(seed, 2, 1).stretches(block, PointId(0))[0]).collect()
        };
        assert_ne!(first(1), first(2));
    }

    #[test]
    fn many_variants_get_extra_baseline_windows() {
        for (variants, windows) in [(2, 1), (3, 1), (4, 1), (5, 2), (10, 3), (17, 4)] {
            let order = Plan::new(1, variants, 1).round(3, PointId(0), 5);
            assert_eq!(order.iter().filter(|v| v.0 == 0).count(), windows);
            assert_eq!(order.len(), variants + windows - 1);
            let order = Plan::new(1, variants, 1).one_window_each().round(3, PointId(0), 5);
            assert_eq!(order.len(), variants);
        }
    }

    #[test]
    fn the_same_seed_replays_and_another_differs() {
        let rounds = |seed| -> Vec<_> {
            let plan = Plan::new(seed, 5, 3);
            (0..20)
                .map(|r| (plan.round(1, PointId(2), r), plan.substream(1, PointId(2), r), plan.block(r)))
                .collect()
        };
        assert_eq!(rounds(1), rounds(1));
        assert_ne!(rounds(1), rounds(2));
    }

    #[test]
    fn batches_have_orders_of_their_own_and_the_same_work() {
        let plan = Plan::new(9, 8, 2);
        let (one, two) = (plan.for_batch(0, 5), plan.for_batch(1, 5));
        let orders = |plan: &Plan| (0..20).map(|r| plan.round(3, PointId(1), r)).collect::<Vec<_>>();
        assert_ne!(orders(&one), orders(&two));
        let work = |plan: &Plan| (0..20).map(|r| plan.substream(3, PointId(1), r)).collect::<Vec<_>>();
        assert_eq!((work(&one), work(&two)), (work(&plan), work(&plan)));
        // Two variants of a batch are balanced like those of an experiment of two.
        let pair = plan.for_batch(1, 2);
        let [a, b] = [0, 1].map(|half| pair.round(0, PointId(0), 6 + half));
        assert_eq!(a, vec![b[1], b[0]]);
    }

    #[test]
    fn batches_come_in_every_order_from_the_seed_alone() {
        let orders =
            |seed| (0..600).map(|block| Plan::new(seed, 8, 1).batch_order(block, 3)).collect::<Vec<_>>();
        assert_eq!(orders(1), orders(1));
        assert_ne!(orders(1), orders(2));
        for place in 0..3 {
            for batch in 0..3 {
                let count = orders(1).iter().filter(|order| order[place] == batch).count();
                assert!((150..=250).contains(&count), "batch {batch} at place {place}: {count} of 600");
            }
        }
        assert_eq!(Plan::new(1, 4, 1).batch_order(0, 1), [0]);
    }
}
