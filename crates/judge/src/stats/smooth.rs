//! Quantiles of a positive quantity over size, smoothed, with the curves of resampled blocks.
//!
//! At each place of the curve: the nearest observations on the scale of ln(size), their weights falling off as in LOESS
//! (Cleveland 1979: (1 − |u|³)³ at the share u of the farthest's distance), a resistant line of ln(time) through the
//! medians of the lower and the upper half of them (Brown & Mood 1951; Tukey 1977, ch. 5), and the weighted quantile of
//! what is left, moved along that line to the place. Nothing is taken over a *cut* (a step of the level). Neither a slow
//! request nor a gap between sizes can pull a curve far, and none is left out.
//!
//! A quantile band (p5 to p95 …) is where requests lie; an interval is how well a curve is known, blocks being resampled
//! whole. They have nothing to do with each other.

use super::scatter::Scatter;
use super::weighed::{Draws, Item, Weighed};

/// Share of the observations that the curve rests on at each place …
const SPAN: f64 = 0.1;
/// … the fewest that it rests on, where there are so many, and the most: more would only blur it.
const FEWEST: usize = 120;
const MOST: usize = 1000;
/// Most places of a curve.
const PLACES: usize = 100;

/// The quantile whose curve is made anew of every resample.
const MEDIAN: f64 = 0.5;

/// Curves of several quantiles, one value for each place.
#[derive(Debug, Clone, PartialEq)]
pub struct Smooth {
    /// Curves by quantile in the order asked for: natural logarithms of times; `None` where too few observations lie
    /// beyond a quantile.
    pub curves: Vec<Vec<Option<f64>>>,
    /// The median at each place in each resample of blocks; empty where it is not told in one of them.
    pub(crate) medians: Vec<Vec<f64>>,
}

/// Fewest observations beyond a quantile, within reach of a place, for it to be told.
const BEYOND: f64 = 3.0;

/// At most a hundred sizes, as dense as the observations of all scatters together: places of equal rank, both ends among
/// them, rising.
pub fn places(scatters: &[Scatter]) -> Vec<f64> {
    let mut all: Vec<f64> = scatters.iter().flat_map(|scatter| scatter.size.iter().copied()).collect();
    all.sort_by(f64::total_cmp);
    let Some(last) = all.len().checked_sub(1) else { return Vec::new() };
    let steps = (PLACES - 1).min(last).max(1);
    let mut places: Vec<f64> = (0..=steps).map(|step| all[step * last / steps]).collect();
    places.dedup();
    places
}

/// How many observations a curve rests on at each place.
fn neighbourhood(count: usize) -> usize {
    ((SPAN * count as f64) as usize).clamp(FEWEST, MOST)
}

/// The curves at `places`; what lies on different sides of a cut does not see each other.
pub fn smooth(scatter: &Scatter, quantiles: &[f64], places: &[f64], cuts: &[f64]) -> Smooth {
    let blocks = scatter.blocks().len();
    // One block is the same in every resample.
    let resamples = if blocks > 1 { scatter.resamples() } else { Vec::new() };
    let (once, resamples) = (Draws::new(&[scatter.once()], blocks), Draws::new(&resamples, blocks));
    let mut curves = vec![vec![None; places.len()]; quantiles.len()];
    let mut medians = vec![Vec::new(); places.len()];
    for (at, place) in places.iter().enumerate() {
        let Some(near) = Near::new(scatter, *place, cuts, &once) else { continue };
        for (curve, quantile) in curves.iter_mut().zip(quantiles) {
            curve[at] = near.quantiles(*quantile, &once).and_then(|values| values.first().copied());
        }
        medians[at] = near.quantiles(MEDIAN, &resamples).unwrap_or_default();
    }
    Smooth { curves, medians }
}

/// The observations near one place.
struct Near {
    /// Those of smaller sizes and those of larger ones, by ln(time).
    halves: [Weighed; 2],
    /// All of them, by what the line leaves.
    rest: Weighed,
    /// The line's slope in the sample itself.
    slope: f64,
}

impl Near {
    fn new(scatter: &Scatter, place: f64, cuts: &[f64], once: &Draws) -> Option<Self> {
        let (low, high) = within(scatter, place, cuts);
        let count = neighbourhood(scatter.len()).min(high - low);
        if count == 0 {
            return None;
        }
        let centre = place.ln();
        let off = |at: usize| scatter.size[at].ln() - centre;
        // The nearest `count` between `low` and `high`: slide a window while its right neighbour is nearer than its left end.
        let start = (low..high - count).find(|from| off(from + count).abs() > off(*from).abs());
        let from = start.unwrap_or(high - count);
        let reach = off(from).abs().max(off(from + count - 1).abs()) * (1.0 + 1e-9);
        let item = |at: usize| {
            let off = off(at);
            let share = if reach > 0.0 { off.abs() / reach } else { 0.0 };
            let weight = (1.0 - share.powi(3)).powi(3);
            Item { block: scatter.block[at], off, value: scatter.log_time[at], weight }
        };
        let mut all: Vec<Item> = (from..from + count).map(item).collect();
        let blocks = scatter.blocks().len();
        let (lower, upper) = all.split_at(all.len() / 2);
        let halves = [lower, upper].map(|half| Weighed::new(half.to_vec(), blocks));
        let slope = slopes(&halves, once)[0];
        all.iter_mut().for_each(|item| item.value -= slope * item.off);
        Some(Self { halves, rest: Weighed::new(all, blocks), slope })
    }

    /// A quantile at the place in each draw; `None` where one of them has too few observations beyond it. A draw has a line
    /// of its own; by how much its slope differs moves what is left in proportion to how far its observations lie off the
    /// place, on average.
    fn quantiles(&self, quantile: f64, draws: &Draws) -> Option<Vec<f64>> {
        let beyond = |count: &f64| quantile.min(1.0 - quantile) * count >= BEYOND;
        if !self.rest.counts(draws).iter().all(beyond) {
            return None;
        }
        let values = self.rest.quantiles(quantile, draws);
        let moved = slopes(&self.halves, draws).into_iter().zip(self.rest.offs(draws));
        values
            .into_iter()
            .zip(moved)
            .map(|(value, (slope, off))| Some(value? - (slope - self.slope) * off?))
            .collect()
    }
}

/// Slopes through the weighted medians of two halves, one for each draw; level where these lie at one size.
fn slopes(halves: &[Weighed; 2], draws: &Draws) -> Vec<f64> {
    let middles = halves.each_ref().map(|half| half.quantiles(MEDIAN, draws));
    let offs = halves.each_ref().map(|half| half.offs(draws));
    let slope = |draw: usize| {
        let [lower, upper] = [0, 1].map(|half| middles[half][draw].zip(offs[half][draw]));
        match lower.zip(upper) {
            Some((lower, upper)) if upper.1 - lower.1 > 1e-9 => (upper.0 - lower.0) / (upper.1 - lower.1),
            _ => 0.0,
        }
    };
    (0..draws.len()).map(slope).collect()
}

/// The observations between the cuts around a place.
fn within(scatter: &Scatter, place: f64, cuts: &[f64]) -> (usize, usize) {
    let below = cuts.iter().copied().filter(|cut| *cut < place).fold(f64::NEG_INFINITY, f64::max);
    let above = cuts.iter().copied().filter(|cut| *cut >= place).fold(f64::INFINITY, f64::min);
    (scatter.size.partition_point(|size| *size <= below), scatter.size.partition_point(|size| *size <= above))
}

#[cfg(test)]
mod tests {
    use super::super::scatter::Observation;
    use super::*;

    /// A power law is a straight line on these scales: the curve must be it, at the ends too, whatever the spacing.
    #[test]
    fn a_power_law_is_met_everywhere() {
        let law = |size: f64| 50.0 * size.powf(0.7);
        let observation = |n: u32| {
            let size = 10.0 * 1.01_f64.powi(n as i32);
            // Residuals that repeat with a period: their quantiles are the same at every place.
            let share = (f64::from((n * 7) % 11) + 0.5) / 11.0;
            Observation { block: n % 5, size, time: law(size) * (share - 0.5).exp() }
        };
        let scatter = Scatter::new((0..800).map(observation));
        let places = places(std::slice::from_ref(&scatter));
        let found = smooth(&scatter, &[0.5, 0.9], &places, &[]);
        for (q, curve) in [0.5, 0.9].into_iter().zip(&found.curves) {
            for (place, value) in places.iter().zip(curve) {
                let off = value.unwrap() - law(*place).ln() - (q - 0.5);
                assert!(off.abs() < 0.06, "{q} at {place}: {off}");
            }
        }
    }

    #[test]
    fn nothing_is_smoothed_over_a_cut() {
        let law = |size: f64| if size > 500.0 { 3000.0 } else { 1000.0 };
        let all =
            (1..=1000).map(|n| Observation { block: n % 4, size: f64::from(n), time: law(f64::from(n)) });
        let scatter = Scatter::new(all);
        let places = [1.0, 400.0, 499.0, 501.0, 600.0, 1000.0];
        let cut = smooth(&scatter, &[0.5], &places, &[500.0]);
        for (place, value) in places.iter().zip(&cut.curves[0]) {
            assert!((value.unwrap().exp() / law(*place) - 1.0).abs() < 1e-9, "{place}");
        }
        let over = smooth(&scatter, &[0.5], &places, &[]);
        assert!(
            (over.curves[0][3].unwrap().exp() - 3000.0).abs() > 1.0,
            "without the cut the step is blurred"
        );
    }

    #[test]
    fn places_are_as_dense_as_sizes_and_hold_both_ends() {
        let sizes = (0..5000).map(|n| Observation { block: 0, size: f64::from(n * n + 4), time: 1.0 });
        let places = places(&[Scatter::new(sizes)]);
        assert_eq!((places.len(), places[0], places[99]), (100, 4.0, 4999.0 * 4999.0 + 4.0));
        assert!(places.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(super::places(&[]), Vec::<f64>::new());
    }

    #[test]
    fn a_quantile_of_too_few_is_not_told() {
        let all = (1..=20).map(|n| Observation { block: n % 4, size: f64::from(n), time: f64::from(n) });
        let found = smooth(&Scatter::new(all), &[0.5, 0.95], &[10.0], &[]);
        assert!(found.curves[0][0].is_some() && found.curves[1][0].is_none());
    }
}
