//! The order of a block's rates.

use weighbridge_model::quantity::PerSecond;
use weighbridge_model::record::steps::{Course, Step};

use crate::stats::bootstrap::draw_index;

use super::search::CapacityRule;

/// A rate of the grid in its place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Placed {
    pub rate: PerSecond,
    pub course: Course,
}

impl CapacityRule {
    /// The grid in the random order of a block. The next block has the reverse order, so that over two blocks
    /// each rate that follows a lower one also follows a higher one.
    pub fn order(&self, grid: &[PerSecond], block: u32) -> Vec<Placed> {
        let mut rates = grid.to_vec();
        let mut state = self.seed ^ u64::from(block / 2).wrapping_mul(0xd134_2543_de82_ef95);
        for last in (1..rates.len()).rev() {
            rates.swap(last, draw_index(&mut state, last + 1));
        }
        if block % 2 == 1 {
            rates.reverse();
        }
        let before = std::iter::once(None).chain(rates.iter().copied().map(Some));
        rates
            .iter()
            .zip(before)
            .map(|(rate, before)| Placed { rate: *rate, course: Step::course(before, *rate) })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use weighbridge_model::objective::Objectives;
    use weighbridge_model::quantity::{Nanoseconds, Ratio};

    use super::*;

    #[test]
    fn rising_and_falling_are_balanced_over_two_blocks() {
        let rule = CapacityRule {
            objectives: Objectives::new(vec!["p99 < 1 ms".parse().unwrap()], &[]).unwrap(),
            from: None,
            to: None,
            curve: 0,
            rates: Vec::new(),
            length: Nanoseconds::from_secs(2),
            width: Ratio::new(0.01),
            seed: 7,
        };
        let grid: Vec<PerSecond> = (1..=5).map(|rate| PerSecond::new(f64::from(rate)).unwrap()).collect();
        for pair in 0..20 {
            let blocks = [2 * pair, 2 * pair + 1].map(|block| rule.order(&grid, block));
            let falling = blocks.iter().flatten().filter(|placed| placed.course == Course::Falling).count();
            assert_eq!(falling, 4, "each of four neighbours once, the first of a block rises");
            let mut sorted: Vec<f64> = blocks[0].iter().map(|placed| placed.rate.get()).collect();
            sorted.sort_by(f64::total_cmp);
            assert_eq!(sorted, [1.0, 2.0, 3.0, 4.0, 5.0]);
        }
        assert_ne!(rule.order(&grid, 0), rule.order(&grid, 2));
    }
}
