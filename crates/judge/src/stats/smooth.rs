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

use super::scatter::{Multiplicity, Scatter};

/// Share of the observations that the curve rests on at each place …
const SPAN: f64 = 0.1;
/// … the fewest that it rests on, where there are so many, and the most: more would only blur it.
const FEWEST: usize = 120;
const MOST: usize = 1000;
/// Most places of a curve.
const PLACES: usize = 100;

/// Curves of several quantiles, one value for each place.
#[derive(Debug, Clone, PartialEq)]
pub struct Smooth {
    /// Curves by quantile in the order asked for: natural logarithms of times; `None` where too few observations lie
    /// beyond a quantile.
    pub curves: Vec<Vec<Option<f64>>>,
    /// The same in each resample of blocks.
    pub(crate) resampled: Vec<Vec<Vec<Option<f64>>>>,
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

/// At how many places a curve can be looked at without one observation being seen twice.
pub fn independent(scatter: &Scatter) -> usize {
    scatter.len().div_ceil(neighbourhood(scatter.len())).max(1)
}

/// The curves at `places`; what lies on different sides of a cut does not see each other.
pub fn smooth(scatter: &Scatter, quantiles: &[f64], places: &[f64], cuts: &[f64]) -> Smooth {
    let draws: Vec<Multiplicity> = std::iter::once(scatter.once()).chain(scatter.resamples()).collect();
    let mut all = vec![vec![vec![None; places.len()]; quantiles.len()]; draws.len()];
    for (at, place) in places.iter().enumerate() {
        let Some(near) = Near::new(scatter, *place, cuts) else { continue };
        for (draw, curves) in draws.iter().zip(&mut all) {
            for (curve, value) in curves.iter_mut().zip(near.quantiles(quantiles, draw)) {
                curve[at] = value;
            }
        }
    }
    let mut all = all.into_iter();
    Smooth { curves: all.next().unwrap_or_default(), resampled: all.collect() }
}

/// An observation near a place.
#[derive(Debug, Clone, Copy)]
struct Neighbour {
    block: u32,
    /// ln(size) less that of the place.
    off: f64,
    /// ln(time).
    time: f64,
    weight: f64,
}

/// The observations near one place.
struct Near {
    /// Those of smaller sizes and those of larger ones, each rising by time.
    halves: [Vec<Neighbour>; 2],
    /// All of them, rising by what the line leaves.
    rest: Vec<Neighbour>,
    /// The line's slope in the sample itself.
    slope: f64,
}

impl Near {
    fn new(scatter: &Scatter, place: f64, cuts: &[f64]) -> Option<Self> {
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
        let neighbour = |at: usize| {
            let share = if reach > 0.0 { off(at).abs() / reach } else { 0.0 };
            let weight = (1.0 - share.powi(3)).powi(3);
            Neighbour { block: scatter.block[at], off: off(at), time: scatter.log_time[at], weight }
        };
        let mut all: Vec<Neighbour> = (from..from + count).map(neighbour).collect();
        let upper = all.split_off(all.len() / 2);
        let mut halves = [all, upper];
        halves.iter_mut().for_each(|half| half.sort_by(|a, b| a.time.total_cmp(&b.time)));
        let mut near = Self { halves, rest: Vec::new(), slope: 0.0 };
        near.slope = near.slope_of(&scatter.once());
        near.rest = near.halves.iter().flatten().copied().collect();
        let slope = near.slope;
        near.rest.iter_mut().for_each(|neighbour| neighbour.time -= slope * neighbour.off);
        near.rest.sort_by(|a, b| a.time.total_cmp(&b.time));
        Some(near)
    }

    /// Through the weighted medians of the two halves; level where these lie at one size.
    fn slope_of(&self, draw: &Multiplicity) -> f64 {
        let [lower, upper] = [0, 1].map(|half| {
            let weighed = Weighed::new(&self.halves[half], draw);
            Some((weighed.quantile(&self.halves[half], 0.5)?, weighed.off))
        });
        match lower.zip(upper) {
            Some((lower, upper)) if upper.1 - lower.1 > 1e-9 => (upper.0 - lower.0) / (upper.1 - lower.1),
            _ => 0.0,
        }
    }

    /// Quantiles at the place. A resample has a line of its own; by how much its slope differs moves what is left in
    /// proportion to how far its observations lie off the place, on average.
    fn quantiles(&self, quantiles: &[f64], draw: &Multiplicity) -> Vec<Option<f64>> {
        let weighed = Weighed::new(&self.rest, draw);
        let moved = (self.slope_of(draw) - self.slope) * weighed.off;
        let is_told = |q: f64| q.min(1.0 - q) * f64::from(weighed.count) >= BEYOND;
        let value = |q: &f64| Some(weighed.quantile(&self.rest, *q)? - moved);
        quantiles.iter().map(|q| value(q).filter(|_| is_told(*q))).collect()
    }
}

/// The observations between the cuts around a place.
fn within(scatter: &Scatter, place: f64, cuts: &[f64]) -> (usize, usize) {
    let below = cuts.iter().copied().filter(|cut| *cut < place).fold(f64::NEG_INFINITY, f64::max);
    let above = cuts.iter().copied().filter(|cut| *cut >= place).fold(f64::INFINITY, f64::min);
    (scatter.size.partition_point(|size| *size <= below), scatter.size.partition_point(|size| *size <= above))
}

/// The weights of neighbours in one draw.
struct Weighed {
    /// The weight of all before each, its own counted half.
    middle: Vec<f64>,
    total: f64,
    /// How many observations, each as often as its block is there.
    count: u32,
    /// Their weighted mean distance from the place.
    off: f64,
}

impl Weighed {
    fn new(neighbours: &[Neighbour], draw: &Multiplicity) -> Self {
        let (mut total, mut off, mut count) = (0.0, 0.0, 0);
        let middle = neighbours
            .iter()
            .map(|neighbour| {
                let times = draw[neighbour.block as usize];
                let weight = neighbour.weight * f64::from(times);
                total += weight;
                off += weight * neighbour.off;
                count += times;
                total - 0.5 * weight
            })
            .collect();
        Self { middle, total, count, off: if total > 0.0 { off / total } else { 0.0 } }
    }

    /// The quantile of times that are rising: where the weight passes the share q of all. Between two times in proportion,
    /// so that it is smooth in q.
    fn quantile(&self, rising: &[Neighbour], q: f64) -> Option<f64> {
        if self.total <= 0.0 {
            return None;
        }
        let wanted = q * self.total;
        let above = self.middle.partition_point(|middle| *middle < wanted).min(rising.len() - 1);
        let below = above.saturating_sub(1);
        let (from, to) = (self.middle[below], self.middle[above]);
        let share = if to > from { ((wanted - from) / (to - from)).clamp(0.0, 1.0) } else { 1.0 };
        Some(rising[below].time + share * (rising[above].time - rising[below].time))
    }
}

#[cfg(test)]
mod tests {
    use super::super::scatter::Observation;
    use super::*;

    fn neighbours(times: &[(u32, f64)]) -> Vec<Neighbour> {
        times
            .iter()
            .map(|(block, time)| Neighbour { block: *block, off: 0.0, time: *time, weight: 1.0 })
            .collect()
    }

    #[test]
    fn quantiles_lie_between_the_middles_of_the_weights() {
        let rising = neighbours(&[(0, 1.0), (0, 2.0), (1, 3.0), (1, 4.0), (1, 5.0)]);
        let all = Weighed::new(&rising, &vec![1, 1]);
        // Hazen's rule: the k-th of n is the quantile (k − ½)/n.
        for (q, wanted) in
            [(0.1, 1.0), (0.3, 2.0), (0.5, 3.0), (0.6, 3.5), (0.9, 5.0), (0.0, 1.0), (1.0, 5.0)]
        {
            let found = all.quantile(&rising, q).unwrap();
            assert!((found - wanted).abs() < 1e-12, "{q}: {found}");
        }
        assert_eq!(Weighed::new(&rising, &vec![2, 0]).quantile(&rising, 0.5), Some(1.5));
        assert_eq!(Weighed::new(&rising, &vec![0, 0]).quantile(&rising, 0.5), None);
    }

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
