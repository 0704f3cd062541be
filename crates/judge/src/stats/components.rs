//! Variance components: one-way nested analysis of variance by the method of moments, and the number of inner
//! repetitions that uses a budget best.
//!
//! The caller decides which level of repetition is a block and which a round.

use super::fisher::quantile;
use super::interval::Interval;
use super::sample::mean;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Components {
    /// Variance of values within a group, σ²_w = MS_w.
    pub within: f64,
    /// Variance of the groups' true means, σ²_b = (MS_b − MS_w)/m₀. Negative estimates are kept, so that it
    /// is unbiased.
    pub between: f64,
    /// m₀: the mean number of values of a group, weighted so that the method of moments is unbiased.
    pub size: f64,
    pub ratio: f64,
    /// Degrees of freedom of MS_b: groups − 1.
    pub over: f64,
    /// Degrees of freedom of MS_w: values − groups.
    pub under: f64,
}

/// One-way analysis of variance with random groups, of unequal size too: y_ij = µ + B_i + e_ij.
///
/// With n_i values in group i, N in all, k groups: MS_w = Σ_i Σ_j (y_ij − ȳ_i)²/(N − k), MS_b = Σ_i n_i (ȳ_i
/// − ȳ)²/(k − 1), m₀ = (N − Σ n_i²/N)/(k − 1); E MS_w = σ²_w and E MS_b = σ²_w + m₀σ²_b (Searle, Casella &
/// McCulloch 1992, §3.6; with equal groups the T² of Kalibera & Jones 2013). `None` below two groups, or
/// without a group of two.
pub fn one_way(groups: &[Vec<f64>]) -> Option<Components> {
    let groups: Vec<&Vec<f64>> = groups.iter().filter(|group| !group.is_empty()).collect();
    let all: f64 = groups.iter().map(|group| group.len() as f64).sum();
    let (over, under) = (groups.len() as f64 - 1.0, all - groups.len() as f64);
    if over < 1.0 || under < 1.0 {
        return None;
    }
    let grand = groups.iter().flat_map(|group| group.iter()).sum::<f64>() / all;
    let (mut within, mut between, mut squares) = (0.0, 0.0, 0.0);
    for group in &groups {
        let (centre, size) = (mean(group)?, group.len() as f64);
        within += group.iter().map(|y| (y - centre) * (y - centre)).sum::<f64>();
        between += size * (centre - grand) * (centre - grand);
        squares += size * size;
    }
    let (within, between) = (within / under, between / over);
    let size = (all - squares / all) / over;
    let component = (between - within) / size;
    Some(Components { within, between: component, size, ratio: between / within, over, under })
}

impl Components {
    /// The groups' share of the variance of a group's mean, which no number of values within a group reduces:
    /// σ²_b / (σ²_b + σ²_w/m₀) = 1 − 1/τ with τ = E MS_b / E MS_w.
    ///
    /// (MS_b/MS_w)/τ is F distributed with k − 1 and N − k degrees of freedom (exactly for normal components
    /// and equal groups), which gives the interval; estimate and bounds are clipped to 0 … 1. `None` without
    /// any spread.
    pub fn share_between(&self, level: f64) -> Option<Interval> {
        if self.ratio.is_nan() {
            return None;
        }
        let tail = 0.5 * (1.0 - level);
        let share = |tau: f64| (1.0 - 1.0 / tau).clamp(0.0, 1.0);
        let bound = |p: f64| share(self.ratio / quantile(p, self.over, self.under));
        Some(Interval { point: share(self.ratio), lower: bound(1.0 - tail), upper: bound(tail) })
    }
}

/// The number of inner repetitions, not rounded, that gives the least error for a budget, if an outer
/// repetition costs `outer` by itself and each inner one `inner`: √((outer/inner)·(σ²_w/σ²_b)) (Kalibera &
/// Jones 2013, §9.2; Cochran 1977, §10.6). Infinite if the outer level has no variance of its own, 0 if the
/// inner has none.
pub fn best_inner(outer: f64, inner: f64, within: f64, between: f64) -> f64 {
    match (within > 0.0, between > 0.0) {
        (false, _) => 0.0,
        (true, false) => f64::INFINITY,
        (true, true) => ((outer / inner) * (within / between)).sqrt(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Strength of cloth from four looms drawn at random, four pieces of each (Montgomery, Design and
    /// Analysis of Experiments, §3.9): MS 29.73 and 1.90, F = 15.68, components 6.96 and 1.90.
    fn looms() -> Vec<Vec<f64>> {
        [[98, 97, 99, 96], [91, 90, 93, 92], [96, 95, 97, 95], [95, 96, 99, 98]]
            .map(|loom| loom.map(f64::from).to_vec())
            .to_vec()
    }

    #[test]
    fn the_looms_of_the_textbook() {
        let found = one_way(&looms()).unwrap();
        assert!((found.within - 1.895_833_333).abs() < 1e-8 && (found.between - 6.958_333_333).abs() < 1e-8);
        assert!((found.ratio - 15.681).abs() < 1e-3 && found.size == 4.0, "{found:?}");
        assert_eq!((found.over, found.under), (3.0, 12.0));
        let share = found.share_between(0.95).unwrap();
        assert!((share.point - (1.0 - 1.0 / 15.681)).abs() < 1e-4, "{share:?}");
        // The 97.5 % points of F are 4.4742 with 3 and 12 degrees of freedom, and 14.3366 with 12 and 3.
        let (lower, upper) = (1.0 - 4.4742 / 15.681, 1.0 - 1.0 / (15.681 * 14.3366));
        assert!((share.lower - lower).abs() < 1e-4 && (share.upper - upper).abs() < 1e-4, "{share:?}");
    }

    #[test]
    fn groups_of_unequal_size_worked_by_hand() {
        // Means 2 and 7, grand 25/5 = 5; within (1 + 1) + (4 + 0 + 4) … over 3; between 2·9 + 3·4 over 1.
        let found = one_way(&[vec![1.0, 3.0], vec![5.0, 7.0, 9.0]]).unwrap();
        assert!((found.within - 10.0 / 3.0).abs() < 1e-12);
        assert!((found.size - (5.0 - 13.0 / 5.0)).abs() < 1e-12);
        assert!((found.ratio - 30.0 / (10.0 / 3.0)).abs() < 1e-12);
        assert!((found.between - (30.0 - 10.0 / 3.0) / 2.4).abs() < 1e-12);
    }

    #[test]
    fn what_cannot_be_split_is_not() {
        assert_eq!(one_way(&[vec![1.0, 2.0, 3.0]]), None);
        assert_eq!(one_way(&[vec![1.0], vec![2.0]]), None);
        assert_eq!(one_way(&[]), None);
        let flat = one_way(&[vec![1.0, 1.0], vec![1.0, 1.0]]).unwrap();
        assert_eq!(flat.share_between(0.95), None);
        let exact = one_way(&[vec![1.0, 1.0], vec![2.0, 2.0]]).unwrap().share_between(0.95).unwrap();
        assert_eq!((exact.point, exact.lower), (1.0, 1.0));
    }

    #[test]
    fn best_inner_is_where_the_error_is_least_for_the_budget() {
        // Variance of the mean for budget T: with T/(outer + m·inner) groups of m, (b + w/m)·(outer +
        // m·inner)/T.
        for (outer, inner, within, between) in
            [(2.0, 0.05, 1e-4, 1e-5), (1.0, 1.0, 4.0, 1.0), (30.0, 0.1, 9e-4, 9e-4)]
        {
            let variance = |m: f64| (between + within / m) * (outer + m * inner);
            let best = best_inner(outer, inner, within, between);
            let searched =
                (1..20_000).map(|i| 0.1 * f64::from(i)).min_by(|a, b| variance(*a).total_cmp(&variance(*b)));
            assert!((best - searched.unwrap()).abs() <= 0.1, "{best} {searched:?}");
        }
        assert_eq!(best_inner(1.0, 1.0, 0.0, 1.0), 0.0);
        assert_eq!(best_inner(1.0, 1.0, 1.0, 0.0), f64::INFINITY);
    }
}
