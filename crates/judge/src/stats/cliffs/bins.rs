//! Stretches of sizes with the median of their times: what segments are fitted to, so that no single slow
//! request can pull a fit.

use std::ops::Range;

use crate::stats::sample::median;
use crate::stats::scatter::{Multiplicity, Scatter};

/// Most bins.
const MOST: usize = 240;
/// Fewest observations of a bin, where there are enough.
const FEWEST: usize = 8;
/// So many times as many as a bin has lie between it and the nearer end, at least, where bins are not at
/// their fewest: near an end they are finer, so that a cliff that lies there is seen.
const TAPER: usize = 4;
/// Bins on either side over which the spread is smoothed.
const NEIGHBOURS: usize = 6;
/// The least relative standard error that a bin is believed to have: clocks and histograms are no better.
const LEAST_ERROR: f64 = 1e-5;

/// Bins of about equal count; observations of one size are in one bin.
#[derive(Debug, Clone)]
pub(super) struct Bins {
    /// The mean size of each.
    pub size: Vec<f64>,
    /// Smallest and largest size of each.
    pub range: Vec<(f64, f64)>,
    /// The median time of each.
    pub time: Vec<f64>,
    /// The standard error of that median.
    pub error: Vec<f64>,
    /// Each bin's observations, rising by time, with the levels of blocks taken out.
    members: Vec<Vec<Timed>>,
    /// The same observations by size, for places within a bin.
    singles: Vec<Single>,
    /// Where each bin begins among the singles, and their count.
    starts: Vec<usize>,
}

/// One observation, its block's level taken out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Single {
    pub block: u32,
    pub size: f64,
    pub time: f64,
}

impl Bins {
    /// Bins that end at each of `cuts` (sizes), so that none holds both sides of a step. `None` where there
    /// are too few sizes for a curve to have parts.
    pub fn new(scatter: &Scatter, cuts: &[f64]) -> Option<Self> {
        let times: Vec<f64> = scatter.levelled().into_iter().map(f64::exp).collect();
        let groups = groups(&scatter.size, cuts);
        if groups.len() < 12 {
            return None;
        }
        let members: Vec<Vec<Timed>> = groups
            .iter()
            .map(|group| {
                let mut all: Vec<_> =
                    group.clone().map(|at| Timed { block: scatter.block[at], time: times[at] }).collect();
                all.sort_by(|a, b| a.time.total_cmp(&b.time));
                all
            })
            .collect();
        let mean = |g: &Range<usize>| scatter.size[g.clone()].iter().sum::<f64>() / g.len() as f64;
        let mut bins = Self {
            size: groups.iter().map(mean).collect(),
            range: groups.iter().map(|g| (scatter.size[g.start], scatter.size[g.end - 1])).collect(),
            time: Vec::new(),
            error: Vec::new(),
            members,
            singles: (0..scatter.len())
                .map(|at| Single { block: scatter.block[at], size: scatter.size[at], time: times[at] })
                .collect(),
            starts: groups.iter().map(|group| group.start).chain([scatter.len()]).collect(),
        };
        bins.time = bins.medians(&scatter.once());
        bins.error = bins.errors();
        Some(bins)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.size.len()
    }

    /// The same bins with a quartile of each in place of its median. Of a normal law its standard error is
    /// 1.3626 · σ/√n.
    pub fn quartile(&self, quantile: f64) -> Self {
        let error = self.error.iter().map(|error| 1.3626 / 1.2533 * error).collect();
        Self { time: self.quantiles(quantile), error, ..self.clone() }
    }

    /// A quantile of each bin's times.
    fn quantiles(&self, quantile: f64) -> Vec<f64> {
        let bin_quantile = |members: &Vec<Timed>| {
            let at = quantile * (members.len() - 1) as f64;
            let (below, share) = (at.floor() as usize, at.fract());
            let above = (below + 1).min(members.len() - 1);
            (1.0 - share) * members[below].time + share * members[above].time
        };
        self.members.iter().map(bin_quantile).collect()
    }

    /// How many observations there are.
    pub fn observations(&self) -> usize {
        self.singles.len()
    }

    /// How many of them are in the bins up to a gap between two.
    pub fn below(&self, gap: usize) -> usize {
        self.starts[gap + 1]
    }

    /// The observations of some bins, by size.
    pub fn singles(&self, bins: Range<usize>) -> &[Single] {
        &self.singles[self.starts[bins.start]..self.starts[bins.end.min(self.len())]]
    }

    /// Each bin's median with every block so many times; a bin without any observation left keeps its median.
    pub fn medians(&self, times: &Multiplicity) -> Vec<f64> {
        let bin_median = |(at, members): (usize, &Vec<Timed>)| {
            weighted_median(members, times).unwrap_or_else(|| self.time.get(at).copied().unwrap_or(f64::NAN))
        };
        self.members.iter().enumerate().map(bin_median).collect()
    }

    /// The standard error of a median of n, 1.2533 · σ/√n (of a normal law), with σ from the median absolute
    /// deviation. Relative deviations are smoothed over neighbours: of eight values one is a poor estimate.
    /// All are then scaled by what the second differences of the medians say, so that laws far from normal do
    /// not pass for exact.
    fn errors(&self) -> Vec<f64> {
        let relative: Vec<f64> = self
            .members
            .iter()
            .zip(&self.time)
            .map(|(members, middle)| {
                let distances: Vec<f64> = members.iter().map(|one| (one.time / middle - 1.0).abs()).collect();
                1.4826 * median(&distances).unwrap_or(0.0)
            })
            .collect();
        let smooth = |at: usize| {
            let (from, to) = (at.saturating_sub(NEIGHBOURS), (at + NEIGHBOURS + 1).min(relative.len()));
            median(&relative[from..to]).unwrap_or(0.0)
        };
        let error = |at: usize| {
            let count = self.members[at].len() as f64;
            (1.2533 * smooth(at) / count.sqrt()).max(LEAST_ERROR) * self.time[at]
        };
        let errors: Vec<f64> = (0..self.len()).map(error).collect();
        let scale = self.excess(&errors).max(1.0);
        errors.into_iter().map(|error| error * scale).collect()
    }

    /// How many times larger the second differences of the medians are than their errors say.
    fn excess(&self, errors: &[f64]) -> f64 {
        let second = |at: usize| {
            let [a, b, c] = [at - 1, at, at + 1].map(|at| (self.size[at], self.time[at], errors[at]));
            let share = (b.0 - a.0) / (c.0 - a.0);
            let between = (1.0 - share) * a.1 + share * c.1;
            let error = (b.2 * b.2 + (1.0 - share).powi(2) * a.2 * a.2 + share * share * c.2 * c.2).sqrt();
            ((b.1 - between) / error).abs()
        };
        let all: Vec<f64> = (1..self.len() - 1).map(second).collect();
        1.4826 * median(&all).unwrap_or(0.0)
    }
}

/// Observations by bin, sizes rising: of about equal count, finer towards both ends, none with two sides of a
/// cut.
fn groups(size: &[f64], cuts: &[f64]) -> Vec<Range<usize>> {
    let most = size.len().div_ceil(MOST).max(FEWEST);
    let is_cut = |at: usize| cuts.iter().any(|cut| (size[at - 1]..size[at]).contains(cut));
    let (mut from, mut groups) = (0, Vec::<Range<usize>>::new());
    for at in 1..=size.len() {
        let last = at == size.len();
        let cut = !last && is_cut(at);
        let to_end = from.min(size.len() - at);
        let is_full = at - from >= (to_end / TAPER).clamp(FEWEST, most);
        if !(last || cut || is_full && size[at] > size[at - 1]) {
            continue;
        }
        // A rest is not worth a bin of its own, save behind a cut.
        match groups.last_mut() {
            Some(before) if at - from < FEWEST / 2 && !is_cut(from) => before.end = at,
            _ => groups.push(from..at),
        }
        from = at;
    }
    groups
}

/// The time of an observation with its block.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Timed {
    block: u32,
    time: f64,
}

/// The middle of values that are rising, each as often as its block is there.
fn weighted_median(rising: &[Timed], times: &Multiplicity) -> Option<f64> {
    let total: u32 = rising.iter().map(|one| times[one.block as usize]).sum();
    let (mut seen, mut lower) = (0, None);
    for Timed { block, time } in rising {
        let weight = times[*block as usize];
        seen += weight;
        if weight == 0 {
            continue;
        }
        if 2 * seen >= total && total > 0 {
            match lower {
                Some(lower) => return Some(0.5 * (lower + time)),
                None if 2 * seen > total => return Some(*time),
                None => lower = Some(*time),
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_finer_towards_the_ends_and_hold_no_cut() {
        let size: Vec<f64> = (0..24_000).map(f64::from).collect();
        let bins = groups(&size, &[12_345.0]);
        let counts: Vec<usize> = bins.iter().map(Range::len).collect();
        assert!(bins.windows(2).all(|two| two[0].end == two[1].start) && bins[bins.len() - 1].end == 24_000);
        assert!(
            counts[..3] == [8, 8, 8] && counts[counts.len() - 3..].iter().all(|count| *count < 16),
            "{counts:?}"
        );
        assert!(counts[100] == 100 && bins.iter().any(|bin| bin.end == 12_346), "{counts:?}");
        assert!((240..280).contains(&bins.len()), "{}", bins.len());
        // Of sizes that were asked for many times no bin holds a part.
        let few: Vec<f64> = (0..600).map(|at| f64::from(at / 20)).collect();
        assert!(groups(&few, &[]).iter().all(|bin| bin.len() == 20));
    }

    #[test]
    fn a_median_with_blocks_several_times_is_that_of_the_values_written_out() {
        let rising =
            [(0, 1.0), (1, 2.0), (0, 3.0), (2, 4.0), (1, 5.0)].map(|(block, time)| Timed { block, time });
        assert_eq!(weighted_median(&rising, &vec![1, 1, 1]), Some(3.0));
        // 1 1 3 3 4: block 0 twice, block 1 never.
        assert_eq!(weighted_median(&rising, &vec![2, 0, 1]), Some(3.0));
        // 2 4 4 5 has the middle 4; 1 3 has 2.
        assert_eq!(weighted_median(&rising, &vec![0, 1, 2]), Some(4.0));
        assert_eq!(weighted_median(&rising, &vec![1, 0, 0]), Some(2.0));
        assert_eq!(weighted_median(&rising, &vec![0, 0, 0]), None);
    }
}
