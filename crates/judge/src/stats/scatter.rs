//! Observations of a positive quantity over size, in blocks: the input of curves and cliffs over size.
//!
//! Only whole blocks are resampled; an observation is never a unit of its own. Nothing is left out here: the
//! caller decides which observations a [`Scatter`] has.

use super::bootstrap::draw_index;
use super::sample::median;
use super::student::two_sided_quantile;

/// Resamples of blocks behind each standard error. Its Monte Carlo error is 1/√(2R), about 4 %.
pub const RESAMPLES: usize = 299;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observation {
    /// Any number.
    pub block: u32,
    /// At least 1.
    pub size: f64,
    /// Above 0.
    pub time: f64,
}

/// Observations in the order of their sizes, with their blocks numbered from 0.
#[derive(Debug, Clone, PartialEq)]
pub struct Scatter {
    pub(crate) size: Vec<f64>,
    /// Natural logarithms of the times.
    pub(crate) log_time: Vec<f64>,
    pub(crate) block: Vec<u32>,
    blocks: Vec<u32>,
}

/// How often each block occurs in a resample; in the sample itself, once each.
pub(crate) type Multiplicity = Vec<u32>;

impl Scatter {
    /// Sorts observations by size (those of one size by time). Sizes below 1 and times not above 0 count as
    /// 1.
    pub fn new(observations: impl IntoIterator<Item = Observation>) -> Self {
        let mut all: Vec<Observation> = observations.into_iter().collect();
        all.sort_by(|a, b| a.size.total_cmp(&b.size).then(a.time.total_cmp(&b.time)));
        let mut blocks: Vec<u32> = all.iter().map(|o| o.block).collect();
        blocks.sort_unstable();
        blocks.dedup();
        let number = |block: u32| blocks.binary_search(&block).unwrap_or_default() as u32;
        Self {
            size: all.iter().map(|o| o.size.max(1.0)).collect(),
            log_time: all.iter().map(|o| if o.time > 0.0 { o.time.ln() } else { 0.0 }).collect(),
            block: all.iter().map(|o| number(o.block)).collect(),
            blocks,
        }
    }

    pub fn len(&self) -> usize {
        self.size.len()
    }

    pub fn is_empty(&self) -> bool {
        self.size.is_empty()
    }

    /// The original numbers of its blocks, ascending.
    pub fn blocks(&self) -> &[u32] {
        &self.blocks
    }

    pub(crate) fn once(&self) -> Multiplicity {
        vec![1; self.blocks.len()]
    }

    /// [`RESAMPLES`] draws of as many blocks, with replacement. They depend on the number of blocks only, so
    /// two scatters of the same blocks are resampled together.
    pub(crate) fn resamples(&self) -> Vec<Multiplicity> {
        resamples(self.blocks.len())
    }

    /// Each block's level on the log scale: the median distance of its observations from the rough course of
    /// the whole.
    pub(crate) fn levels(&self) -> Vec<f64> {
        let rough = self.rough();
        let mut residuals = vec![Vec::new(); self.blocks.len()];
        for ((time, block), rough) in self.log_time.iter().zip(&self.block).zip(&rough) {
            residuals[*block as usize].push(time - rough);
        }
        residuals.iter().map(|rest| median(rest).unwrap_or(0.0)).collect()
    }

    /// The observations' logarithmic times without their blocks' levels.
    pub(crate) fn levelled(&self) -> Vec<f64> {
        let levels = self.levels();
        self.log_time.iter().zip(&self.block).map(|(time, block)| time - levels[*block as usize]).collect()
    }

    /// Medians of about forty groups of equal count.
    fn rough(&self) -> Vec<f64> {
        let stretch = (self.len() / 40).max(8);
        let medians = self.log_time.chunks(stretch).map(|part| (part.len(), median(part).unwrap_or(0.0)));
        medians.flat_map(|(count, middle)| std::iter::repeat_n(middle, count)).collect()
    }
}

/// The standard error of an estimate from its values in resamples of `blocks` blocks; `None` below two
/// blocks, or if a value is not finite. It is half the distance between their 15.87th and 84.13th percentiles
/// (one standard deviation of a normal distribution either way, insensitive to a few failed fits), multiplied
/// by √(b/(b − 1)): the bootstrap variance of a mean is too small by the square of that factor (Efron &
/// Tibshirani 1993, §5.3).
pub(crate) fn standard_error(resampled: &[f64], blocks: usize) -> Option<f64> {
    let [lower, upper] = [0.1587, 0.8413].map(|q| super::sample::quantile_nearest_rank(resampled, q));
    let deviation = 0.5 * (upper? - lower?);
    let inflated = deviation * (blocks as f64 / (blocks as f64 - 1.0)).sqrt();
    (blocks > 1 && inflated.is_finite()).then_some(inflated)
}

/// Half the width of a two-sided interval at `level` (0 to 1): Student's quantile with blocks − 1 degrees of
/// freedom times the standard error. For a mean over blocks it is Student's own interval except for the Monte
/// Carlo error.
pub(crate) fn half_width(error: f64, blocks: usize, level: f64) -> f64 {
    two_sided_quantile(level, blocks as f64 - 1.0) * error
}

/// Resamples from a constant seed.
fn resamples(blocks: usize) -> Vec<Multiplicity> {
    let mut state = 0xb10c_b10c_5eed_5eed_u64;
    let one = |state: &mut u64| {
        let mut times = vec![0; blocks];
        for _ in 0..blocks {
            times[draw_index(state, blocks)] += 1;
        }
        times
    };
    (0..RESAMPLES).map(|_| one(&mut state)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(block: u32, size: f64, time: f64) -> Observation {
        Observation { block, size, time }
    }

    #[test]
    fn observations_are_sorted_and_blocks_are_numbered() {
        let scatter = Scatter::new([at(7, 30.0, 1.0), at(2, 10.0, 1.0), at(7, 20.0, 1.0)]);
        assert_eq!((scatter.len(), scatter.blocks()), (3, &[2, 7][..]));
        assert_eq!(
            (scatter.size.as_slice(), scatter.block.as_slice()),
            (&[10.0, 20.0, 30.0][..], &[0, 1, 1][..])
        );
    }

    #[test]
    fn a_resample_has_as_many_blocks_and_each_is_drawn_equally_often() {
        let draws = resamples(6);
        assert!(draws.iter().all(|times| times.iter().sum::<u32>() == 6));
        for block in 0..6 {
            let count: u32 = draws.iter().map(|times| times[block]).sum();
            // 299 · 6 draws with probability 1/6 each: 299 ± 4 · √(299 · 5/6).
            assert!((235..=363).contains(&count), "{count}");
        }
    }

    /// For a mean over blocks the interval must be Student's.
    #[test]
    fn the_interval_of_a_mean_is_students() {
        let estimates = [1.0, 2.0, 3.0, 4.0, 5.0, 6.5];
        let mean = |times: &Multiplicity| {
            times.iter().zip(estimates).map(|(times, value)| f64::from(*times) * value).sum::<f64>() / 6.0
        };
        let resampled: Vec<f64> = resamples(6).iter().map(mean).collect();
        let half = half_width(standard_error(&resampled, 6).unwrap(), 6, 0.95);
        let student = super::super::interval::Mean::new(&estimates).unwrap().interval(0.95).half_width();
        assert!((half / student - 1.0).abs() < 0.12, "{half} {student}");
    }

    #[test]
    fn the_levels_of_blocks_are_taken_out() {
        let noise = |n: u32| f64::from((n * 7919) % 101) / 1000.0;
        let law = |block: u32, n: u32| f64::from(n).sqrt() * f64::from(1 + block) * noise(n).exp();
        let all = (1..=400).flat_map(|n| (0..4).map(move |block| at(block, f64::from(n), law(block, n))));
        let scatter = Scatter::new(all);
        let levelled = scatter.levelled();
        let middle = |block: u32| {
            let its: Vec<f64> =
                levelled.iter().zip(&scatter.block).filter(|(_, b)| **b == block).map(|(y, _)| *y).collect();
            median(&its).unwrap()
        };
        assert!(
            (1..4).all(|block| (middle(block) - middle(0)).abs() < 0.02),
            "{:?}",
            (0..4).map(middle).collect::<Vec<_>>()
        );
    }
}
