//! Smoothed quantiles of a positive quantity over size, with the curves of resampled blocks.
//!
//! Each place of the curve uses its nearest observations on the scale on which sizes are evenly spread
//! (linear, logarithmic or between, `Scale`). Their weights fall off as in LOESS (Cleveland 1979: (1 − |u|³)³
//! at the share u of the farthest's distance). A resistant line of time over size goes through the medians of
//! their lower and upper half (Brown & Mood 1951; Tukey 1977, ch. 5, polished). The weighted quantile of the
//! residuals, as ratios, is moved along that line to the place. So a time of a + b bytes is reproduced at
//! every place, both ends included, however sizes are spread. Nothing is smoothed over a *cut* (a step of the
//! level). Neither a slow request nor a gap between sizes can distort a curve much, and nothing is left out.
//! There is no curve where the scatter has no observation nearby.
//!
//! A quantile band (p5 to p95 …) shows where requests lie; an interval shows how well a curve is known, by
//! resampling whole blocks. The two are unrelated.

use super::scatter::Scatter;
use super::weighed::{Draws, Item, Weighed};

/// Share of the observations that the curve uses at each place …
const SPAN: f64 = 0.1;
/// … within these limits; more would only blur it.
const FEWEST: usize = 120;
const MOST: usize = 1000;
/// Most places of a curve, without those in gaps.
const PLACES: usize = 100;

/// How far from the nearest observation a curve is reported: a share of the scatter's own range on its scale
/// …
const NEAR: f64 = 0.02;
/// … or this many steps between its sizes, if they are few: among a hundred random sizes, no gap is twice as
/// large in a hundred scatters.
const STEPS: f64 = 6.0;

/// How often a line is polished: each time, the medians of its residuals in either half are added to its
/// ends.
const POLISH: usize = 3;
/// A line does not fall below this share of its lower end, since times are above 0.
const FLOOR: f64 = 0.02;

/// The quantile whose curve is computed for every resample.
const MEDIAN: f64 = 0.5;

#[derive(Debug, Clone, PartialEq)]
pub struct Smooth {
    /// By quantile, in the order asked for: natural logarithms of times; `None` where too few observations
    /// lie beyond the quantile.
    pub curves: Vec<Vec<Option<f64>>>,
    /// The median at each place in each resample of blocks; empty if one of them has no value there.
    pub(crate) medians: Vec<Vec<f64>>,
}

/// Fewest observations beyond a quantile near a place.
const BEYOND: f64 = 3.0;

/// At most a hundred sizes, ascending, at equal ranks of the observations of all scatters, both ends
/// included; and one in each gap of a scatter without such a place, so that its curve is interrupted there.
pub fn places(scatters: &[Scatter]) -> Vec<f64> {
    let mut all: Vec<f64> = scatters.iter().flat_map(|scatter| scatter.size.iter().copied()).collect();
    all.sort_by(f64::total_cmp);
    let Some(last) = all.len().checked_sub(1) else { return Vec::new() };
    let steps = (PLACES - 1).min(last).max(1);
    let mut places: Vec<f64> = (0..=steps).map(|step| all[step * last / steps]).collect();
    places.dedup();
    let gaps: Vec<(f64, f64)> = scatters.iter().flat_map(gaps).collect();
    for (low, high) in gaps {
        let at = places.partition_point(|place| *place <= low);
        if places.get(at).is_none_or(|place| *place >= high) {
            places.insert(at, 0.5 * (low + high));
        }
    }
    places
}

fn gaps(scatter: &Scatter) -> Vec<(f64, f64)> {
    let reach = Reach::new(scatter);
    let is_gap = |pair: &&[f64]| !reach.holds(scatter, 0.5 * (pair[0] + pair[1]));
    scatter
        .size
        .windows(2)
        .filter(|pair| pair[0] < pair[1])
        .filter(is_gap)
        .map(|pair| (pair[0], pair[1]))
        .collect()
}

fn neighbourhood(count: usize) -> usize {
    ((SPAN * count as f64) as usize).clamp(FEWEST, MOST)
}

/// The scale on which the sizes of a scatter are about evenly spread.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Scale {
    Linear,
    /// ln(size + start); logarithmic for a start of 0.
    Log(f64),
}

impl Scale {
    /// The scale on which the median size m is halfway between the ends l and h: (m + c)² = (l + c)(h + c),
    /// solved for c.
    fn new(sizes: &[f64]) -> Self {
        let (Some(low), Some(high)) = (sizes.first(), sizes.last()) else { return Self::Log(0.0) };
        let middle = sizes[sizes.len() / 2];
        let past = low + high - 2.0 * middle;
        if past <= 0.0 && low < high {
            return Self::Linear;
        }
        let start = (middle * middle - low * high) / past;
        Self::Log(if start.is_finite() { start.max(0.0) } else { 0.0 })
    }

    fn at(self, size: f64) -> f64 {
        match self {
            Self::Linear => size,
            Self::Log(start) => (size + start).ln(),
        }
    }
}

/// How near to its own sizes a scatter's curve is reported.
struct Reach {
    scale: Scale,
    most: f64,
}

impl Reach {
    fn new(scatter: &Scatter) -> Self {
        let scale = Scale::new(&scatter.size);
        let mut sizes = scatter.size.clone();
        sizes.dedup();
        let range = match (sizes.first(), sizes.last()) {
            (Some(low), Some(high)) => scale.at(*high) - scale.at(*low),
            _ => 0.0,
        };
        let step = 1.0 / (sizes.len() as f64 - 1.0).max(1.0);
        Self { scale, most: range * NEAR.max(STEPS * step).min(1.0) }
    }

    /// Whether some observation is near enough; one of the same size always is.
    fn holds(&self, scatter: &Scatter, place: f64) -> bool {
        let after = scatter.size.partition_point(|size| *size < place);
        let off = |at: usize| (self.scale.at(scatter.size[at]) - self.scale.at(place)).abs();
        let (above, below) = (after < scatter.len(), after.checked_sub(1));
        let (low, high) = (0, scatter.len().saturating_sub(1));
        // Beyond the ends, no observation on the other side supports the curve.
        let most = match (below, above) {
            (Some(_), true) => self.most,
            _ => self.most.min(NEAR * (self.scale.at(scatter.size[high]) - self.scale.at(scatter.size[low]))),
        };
        (above && off(after) <= most) || below.is_some_and(|at| off(at) <= most)
    }
}

/// The curves at `places`. Observations beyond a cut are not used; there is no curve where no observation is
/// near.
pub fn smooth(scatter: &Scatter, quantiles: &[f64], places: &[f64], cuts: &[f64]) -> Smooth {
    let blocks = scatter.blocks().len();
    // One block is the same in every resample.
    let resamples = if blocks > 1 { scatter.resamples() } else { Vec::new() };
    let (once, resamples) = (Draws::new(&[scatter.once()], blocks), Draws::new(&resamples, blocks));
    let mut curves = vec![vec![None; places.len()]; quantiles.len()];
    let mut medians = vec![Vec::new(); places.len()];
    let reach = Reach::new(scatter);
    for (at, place) in places.iter().enumerate() {
        if scatter.is_empty() || !reach.holds(scatter, *place) {
            continue;
        }
        let Some(near) = Near::new(scatter, *place, reach.scale, cuts, &once) else { continue };
        for (curve, quantile) in curves.iter_mut().zip(quantiles) {
            curve[at] = near.quantiles(*quantile, &once).and_then(|values| values.first().copied());
        }
        medians[at] = near.quantiles(MEDIAN, &resamples).unwrap_or_default();
    }
    Smooth { curves, medians }
}

/// A line of time over size through two ends, each given as its distance from the place and its ln(time).
#[derive(Debug, Clone, Copy, PartialEq)]
struct Line {
    ends: [(f64, f64); 2],
}

impl Line {
    /// ln(time) at a distance from the place.
    fn at(&self, off: f64) -> f64 {
        let [(from, low), (to, high)] = self.ends;
        if to - from <= 1e-9 * from.abs().max(to.abs()) {
            return 0.5 * (low + high);
        }
        // In units of the lower end's time, so that nothing overflows.
        let unit = low.min(high);
        let (first, last) = ((low - unit).exp(), (high - unit).exp());
        unit + (first + (last - first) * (off - from) / (to - from)).max(FLOOR).ln()
    }

    fn moved(&self, [low, high]: [f64; 2]) -> Self {
        let [from, to] = self.ends;
        Self { ends: [(from.0, from.1 + low), (to.0, to.1 + high)] }
    }
}

struct Near {
    /// The residuals of smaller and of larger sizes.
    halves: [Weighed; 2],
    /// All residuals, moved to the place.
    rest: Weighed,
    /// The line in the sample itself …
    line: Line,
    /// … and the median residuals of its halves.
    left: [f64; 2],
}

impl Near {
    fn new(scatter: &Scatter, place: f64, scale: Scale, cuts: &[f64], once: &Draws) -> Option<Self> {
        let (low, high) = within(scatter, place, cuts);
        let count = neighbourhood(scatter.len()).min(high - low);
        if count == 0 {
            return None;
        }
        let centre = scale.at(place);
        let off = |at: usize| (scale.at(scatter.size[at]) - centre).abs();
        // The nearest `count` between `low` and `high`: slides a window until its right neighbour is farther
        // than its left end.
        let start = (low..high - count).find(|from| off(from + count) > off(*from));
        let from = start.unwrap_or(high - count);
        let reach = off(from).max(off(from + count - 1)) * (1.0 + 1e-9);
        let item = |at: usize| {
            let share = if reach > 0.0 { off(at) / reach } else { 0.0 };
            let weight = (1.0 - share.powi(3)).powi(3);
            let (block, off) = (scatter.block[at], scatter.size[at] - place);
            Item { block, off, value: scatter.log_time[at], weight }
        };
        let all: Vec<Item> = (from..from + count).map(item).collect();
        let blocks = scatter.blocks().len();
        let line = line(&all, once, blocks);
        let halves = halves(&all, line, blocks);
        let left = middles(&halves, once)[0];
        let moved = |item: &Item| Item { value: item.value - line.at(item.off) + line.at(0.0), ..*item };
        Some(Self { halves, rest: Weighed::new(all.iter().map(moved).collect(), blocks), line, left })
    }

    /// A quantile at the place in each draw; `None` if one draw has too few observations beyond it. Each draw
    /// has a line of its own; residuals are shifted by the difference between its rise and the sample's, from
    /// the observations' mean position to the place.
    fn quantiles(&self, quantile: f64, draws: &Draws) -> Option<Vec<f64>> {
        let beyond = |count: &f64| quantile.min(1.0 - quantile) * count >= BEYOND;
        if !self.rest.counts(draws).iter().all(beyond) {
            return None;
        }
        let values = self.rest.quantiles(quantile, draws);
        let moved = middles(&self.halves, draws).into_iter().zip(self.rest.offs(draws));
        values
            .into_iter()
            .zip(moved)
            .map(|(value, (middles, off))| {
                let own = self.line.moved([0, 1].map(|half| middles[half] - self.left[half]));
                let to_place = |line: &Line, off: f64| line.at(0.0) - line.at(off);
                Some(value? + to_place(&own, off?) - to_place(&self.line, off?))
            })
            .collect()
    }
}

/// The resistant line through the medians of items in the order of their sizes.
fn line(all: &[Item], once: &Draws, blocks: usize) -> Line {
    let (lower, upper) = all.split_at(all.len() / 2);
    let end = |half: &[Item]| {
        let middle = |pick: fn(&Item) -> f64| {
            let items = half.iter().map(|item| Item { value: pick(item), ..*item }).collect();
            Weighed::new(items, blocks).quantiles(MEDIAN, once)[0]
        };
        Some((middle(|item| item.off)?, middle(|item| item.value)?))
    };
    // If a half has no weight, the line is level.
    let ends = [end(lower), end(upper)];
    let known = ends[0].or(ends[1]).unwrap_or((0.0, 0.0));
    let mut line = Line { ends: ends.map(|end| end.unwrap_or(known)) };
    for _ in 0..POLISH {
        line = line.moved(middles(&halves(all, line, blocks), once)[0]);
    }
    line
}

fn halves(all: &[Item], line: Line, blocks: usize) -> [Weighed; 2] {
    let (lower, upper) = all.split_at(all.len() / 2);
    let left = |item: &Item| Item { value: item.value - line.at(item.off), ..*item };
    [lower, upper].map(|half| Weighed::new(half.iter().map(left).collect(), blocks))
}

/// The weighted medians of two halves in each draw; 0 for a half without weight.
fn middles(halves: &[Weighed; 2], draws: &Draws) -> Vec<[f64; 2]> {
    let [lower, upper] = halves.each_ref().map(|half| half.quantiles(MEDIAN, draws));
    lower.into_iter().zip(upper).map(|(low, high)| [low, high].map(Option::unwrap_or_default)).collect()
}

fn within(scatter: &Scatter, place: f64, cuts: &[f64]) -> (usize, usize) {
    let below = cuts.iter().copied().filter(|cut| *cut < place).fold(f64::NEG_INFINITY, f64::max);
    let above = cuts.iter().copied().filter(|cut| *cut >= place).fold(f64::INFINITY, f64::min);
    (scatter.size.partition_point(|size| *size <= below), scatter.size.partition_point(|size| *size <= above))
}

#[cfg(test)]
mod tests {
    use super::super::scatter::Observation;
    use super::*;

    /// A power law is a straight line on these scales: the curve must reproduce it, at the ends too, for any
    /// spacing.
    #[test]
    fn a_power_law_is_met_everywhere() {
        let law = |size: f64| 50.0 * size.powf(0.7);
        let observation = |n: u32| {
            let size = 10.0 * 1.01_f64.powi(n as i32);
            // Residuals with a period, so that their quantiles are the same at every place.
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

    /// A message's time is a + b·size: the curve must reproduce it, at both ends too, whatever the spacing
    /// and the noise, and however large b·size becomes compared with a.
    #[test]
    fn a_cost_for_each_byte_is_met_everywhere() {
        let linear = |share: f64| 1.0 + 499_999.0 * share;
        let log = |share: f64| 500_000_f64.powf(share);
        let squared = |share: f64| 1.0 + 499_999.0 * share * share;
        let spacings: [(&str, &dyn Fn(f64) -> f64); 3] =
            [("linear", &linear), ("log", &log), ("squared", &squared)];
        for (name, spacing) in spacings {
            for (per_byte, spread) in [(0.02, 0.0), (2.0, 0.0), (0.0, 0.3), (0.02, 0.3), (0.1, 0.3)] {
                let law = |size: f64| 1000.0 + per_byte * size;
                let observation = |n: u32| {
                    let size = spacing((f64::from(n) + 0.5) / 1500.0);
                    let share = (f64::from((n * 7) % 11) + 0.5) / 11.0;
                    Observation { block: n % 5, size, time: law(size) * (spread * (share - 0.5)).exp() }
                };
                let scatter = Scatter::new((0..1500).map(observation));
                let places = places(std::slice::from_ref(&scatter));
                let found = smooth(&scatter, &[0.5], &places, &[]);
                let bound = 0.002 + 0.1 * spread;
                for (place, value) in places.iter().zip(&found.curves[0]) {
                    let off = value.unwrap() - law(*place).ln();
                    assert!(off.abs() < bound, "{name}, {per_byte} a byte, at {place}: {off}");
                }
            }
        }
    }

    /// The scale's equation solved by hand: for 1, 3, 9 the middle is geometric, for 0, 5, 10 arithmetic; for
    /// 0, 2, 6 it is (2 + c)² = c(6 + c), c = 2.
    #[test]
    fn the_scale_is_that_on_which_sizes_are_spread_evenly() {
        assert_eq!(Scale::new(&[1.0, 3.0, 9.0]), Scale::Log(0.0));
        assert_eq!(Scale::new(&[0.0, 5.0, 10.0]), Scale::Linear);
        assert_eq!(Scale::new(&[0.0, 2.0, 6.0]), Scale::Log(2.0));
        assert_eq!(Scale::new(&[7.0, 7.0, 7.0]), Scale::Log(0.0));
    }

    #[test]
    fn there_is_no_curve_where_no_observation_is_near() {
        let sizes = (1..=500).map(f64::from).chain((4001..=4500).map(f64::from));
        let own = Scatter::new(sizes.enumerate().map(|(n, size)| Observation {
            block: n as u32 % 4,
            size,
            time: 100.0,
        }));
        let places = [1.0, 250.0, 500.0, 2000.0, 3500.0, 4001.0, 4500.0, 4560.0, 9000.0];
        let found = smooth(&own, &[0.5], &places, &[]);
        let there: Vec<bool> = found.curves[0].iter().map(Option::is_some).collect();
        assert_eq!(there, [true, true, true, false, false, true, true, true, false]);
        assert!(found.medians[3].is_empty() && !found.medians[1].is_empty());
        // A few sizes that are often repeated are far apart without being gaps.
        let few = Scatter::new((0..400).map(|n| Observation {
            block: n % 4,
            size: [64.0, 1024.0, 16_384.0, 262_144.0, 1_048_576.0][n as usize % 5],
            time: 100.0,
        }));
        assert!(
            smooth(&few, &[0.5], &[64.0, 4096.0, 500_000.0, 1_048_576.0], &[]).curves[0]
                .iter()
                .all(Option::is_some)
        );
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
    fn a_gap_has_a_place_of_its_own() {
        let sizes = |sizes: std::ops::Range<u32>| {
            sizes.map(|n| Observation { block: 0, size: f64::from(n + 1), time: 1.0 })
        };
        let split = Scatter::new(sizes(0..500).chain(sizes(4000..4500)));
        let alone = places(std::slice::from_ref(&split));
        assert!(alone.contains(&2250.5) && alone.windows(2).all(|pair| pair[0] < pair[1]), "{alone:?}");
        let filled = places(&[split, Scatter::new(sizes(0..4500))]);
        assert_eq!(filled.len(), 100, "others' places are in it already");
    }

    #[test]
    fn a_quantile_of_too_few_is_not_reported() {
        let all = (1..=20).map(|n| Observation { block: n % 4, size: f64::from(n), time: f64::from(n) });
        let found = smooth(&Scatter::new(all), &[0.5, 0.95], &[10.0], &[]);
        assert!(found.curves[0][0].is_some() && found.curves[1][0].is_none());
    }
}
