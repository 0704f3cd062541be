//! Bins of sizes with the median of their times. Terms are fitted to these medians, so a single slow request
//! cannot distort a fit.

use std::ops::Range;

use crate::stats::sample::median;
use crate::stats::scatter::{Multiplicity, Scatter};

const MOST: usize = 240;
/// Fewest observations of a bin, if there are that many.
const FEWEST: usize = 8;
/// Bins become finer towards an end, so that a cliff near it is seen: between a bin and the nearer end there
/// are at least this many times its own observations, unless it has the fewest allowed.
const TAPER: usize = 4;
/// Bins on either side over which the spread is smoothed.
const NEIGHBOURS: usize = 6;
/// The least relative standard error of a bin: clocks and histograms are no better.
const LEAST_ERROR: f64 = 1e-5;

/// Bins with about equal counts; observations of one size are in one bin.
#[derive(Debug, Clone)]
pub(super) struct Bins {
    pub size: Vec<f64>,
    /// The smallest and largest size of each bin.
    pub range: Vec<(f64, f64)>,
    pub time: Vec<f64>,
    pub error: Vec<f64>,
    /// Each bin's observations, ascending by time, with block levels removed.
    members: Vec<Vec<Timed>>,
    /// The same observations by size, to find places within a bin.
    singles: Vec<Single>,
    /// The index among `singles` at which each bin begins, and their count.
    starts: Vec<usize>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Single {
    pub block: u32,
    pub size: f64,
    pub time: f64,
}

impl Bins {
    /// No bin reaches across one of `cuts` (sizes), so none holds both sides of a step. `None` if there are
    /// too few sizes.
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

    pub fn len(&self) -> usize {
        self.size.len()
    }

    /// The bins with a quartile of each in place of its median. For a normal distribution its standard error
    /// is 1.3626 · σ/√n.
    pub fn quartile(&self, quantile: f64) -> Self {
        let error = self.error.iter().map(|error| 1.3626 / 1.2533 * error).collect();
        Self { time: self.quantiles(quantile), error, ..self.clone() }
    }

    fn quantiles(&self, quantile: f64) -> Vec<f64> {
        let bin_quantile = |members: &Vec<Timed>| {
            let at = quantile * (members.len() - 1) as f64;
            let (below, share) = (at.floor() as usize, at.fract());
            let above = (below + 1).min(members.len() - 1);
            (1.0 - share) * members[below].time + share * members[above].time
        };
        self.members.iter().map(bin_quantile).collect()
    }

    pub fn observations(&self) -> usize {
        self.singles.len()
    }

    /// The number of observations in the bins up to a gap.
    pub fn below(&self, gap: usize) -> usize {
        self.starts[gap + 1]
    }

    pub fn singles(&self, bins: Range<usize>) -> &[Single] {
        &self.singles[self.starts[bins.start]..self.starts[bins.end.min(self.len())]]
    }

    /// Each bin's median in a resample of blocks; a bin without observations keeps its median.
    pub fn medians(&self, times: &Multiplicity) -> Vec<f64> {
        let bin_median = |(at, members): (usize, &Vec<Timed>)| {
            weighted_median(members, times).unwrap_or_else(|| self.time.get(at).copied().unwrap_or(f64::NAN))
        };
        self.members.iter().enumerate().map(bin_median).collect()
    }

    /// The standard error of a median of n, 1.2533 · σ/√n (for a normal distribution), with σ from the median
    /// absolute deviation. Relative deviations are smoothed over neighbours, since eight values estimate one
    /// poorly. All are then scaled by the second differences of the medians, so that distributions far from
    /// normal do not appear exact.
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

    /// The factor by which the second differences of the medians exceed their errors.
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

/// Groups of observations by ascending size: about equal counts, finer towards both ends, no cut inside.
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
        // A small remainder gets a bin of its own only after a cut.
        match groups.last_mut() {
            Some(before) if at - from < FEWEST / 2 && !is_cut(from) => before.end = at,
            _ => groups.push(from..at),
        }
        from = at;
    }
    groups
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Timed {
    block: u32,
    time: f64,
}

/// The median of ascending values, each repeated as often as its block was drawn.
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
        // Repeated observations of one size stay in one bin.
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
