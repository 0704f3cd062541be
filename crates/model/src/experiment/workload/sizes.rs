//! Sizes spread over a range: which sizes, and in which order they are requested. Pure functions of the key
//! and the experiment's seed.
//!
//! The range is divided into as many strata as there shall be sizes. One size is drawn at random from each,
//! so no size occurs twice and the whole range is covered. All are requested once (or `repetitions` times in
//! a row) in random order, then all again in another order. A window reads a part of that order; the number
//! of its stream says which.

use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use toml::{Table, Value as Toml};

use crate::experiment::node::{ExperimentError, Reader};
use crate::quantity::{Bytes, Ratio};

/// The default number of sizes; enough for a first curve over size.
const NUMBER: u32 = 200;

/// Most sizes; a request is prepared in memory for each.
const MOST: u64 = 100_000;

const REPETITIONS_MOST: u64 = 1_000;

/// Bits of a stream's number that hold its position in the order.
const POSITION_BITS: u32 = 40;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sizes {
    /// Drawn uniformly from a list: at least one, 4 bytes to 100 MB each.
    List(Vec<Bytes>),
    /// One from each stratum of a range.
    Spread(SizeSpread),
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SizeSpread {
    /// Smallest size that may be drawn.
    pub min: Bytes,
    /// Largest, not below `min`.
    pub max: Bytes,
    pub spacing: Spacing,
    pub count: SizeCount,
    /// How often each is requested in a row, at least 1.
    pub repetitions: u32,
    pub seed: u64,
}

/// How a range is divided into strata.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Spacing {
    /// Equally wide: as many sizes from 1 kB to 2 kB as from 101 kB to 102 kB.
    Linear,
    /// Each wider than the one below by a constant factor: as many sizes from 1 kB to 2 kB as from 100 kB to
    /// 200 kB.
    #[default]
    Log,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SizeCount {
    Number(u32),
    /// This share of all integers in the range.
    Coverage(f64),
}

impl SizeSpread {
    /// At least 1 and at most as many as the range holds.
    pub fn number(&self) -> u32 {
        // It was checked when it was read: at least 1, at most `MOST`.
        (self.wanted().round() as u64).clamp(1, self.width().min(MOST)) as u32
    }

    /// The requested number of sizes, possibly fractional.
    fn wanted(&self) -> f64 {
        match self.count {
            SizeCount::Number(number) => f64::from(number),
            SizeCount::Coverage(share) => share * self.width() as f64,
        }
    }

    fn width(&self) -> u64 {
        self.max.get() - self.min.get() + 1
    }

    /// The sizes in ascending order, each once.
    pub fn sizes(&self) -> Vec<Bytes> {
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        let cuts = self.cuts();
        let draw = |two: &[u64]| {
            let (from, to) = (two[0], two[1]);
            let size = match self.spacing {
                Spacing::Linear => random.random_range(from..to),
                // Uniform in the logarithm; rounding may leave the stratum by one.
                Spacing::Log => {
                    let (low, high) = ((from as f64).ln(), (to as f64).ln());
                    let at = low + (high - low) * random.random::<f64>();
                    (at.exp() as u64).clamp(from, to - 1)
                }
            };
            Bytes::new(size)
        };
        cuts.windows(2).map(draw).collect()
    }

    /// The borders of the strata, ascending: one more than there are strata; the last is beyond the range.
    fn cuts(&self) -> Vec<u64> {
        let (from, to) = (self.min.get(), self.max.get() + 1);
        let number = u64::from(self.number());
        let mut cuts = vec![from];
        for at in 1..=number {
            let share = at as f64 / number as f64;
            let ideal = match self.spacing {
                Spacing::Linear => from as f64 + (to - from) as f64 * share,
                Spacing::Log => from as f64 * (to as f64 / from as f64).powf(share),
            };
            // Strata narrower than a byte get one byte each, and enough must be left for the strata above.
            let least = cuts[cuts.len() - 1] + 1;
            cuts.push((ideal.round() as u64).clamp(least, to - (number - at)));
        }
        cuts
    }

    /// Requests in one pass through all sizes.
    pub fn passage(&self) -> u64 {
        u64::from(self.number()) * u64::from(self.repetitions)
    }

    /// Writes the order of a passage into `order`, as indices into [`sizes`](Self::sizes). It allocates only
    /// if `order` is too small.
    pub fn order(&self, passage: u64, order: &mut Vec<u32>) {
        order.clear();
        order.extend(0..self.number());
        let seed = self.seed ^ (passage + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        order.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
    }

    /// The number of a stream that begins at `position` of the order; `salt` distinguishes streams that begin
    /// at the same position.
    pub const fn stream(salt: u64, position: u64) -> u64 {
        salt << POSITION_BITS | Self::position(position)
    }

    /// The position at which a stream begins.
    pub const fn position(stream: u64) -> u64 {
        stream & ((1 << POSITION_BITS) - 1)
    }
}

/// Reads `{ min, max, spacing, coverage | number }` and the workload's `repetitions`. The seed is set later.
pub(super) fn read(reader: &Reader<'_>, table: Reader<'_>) -> Result<SizeSpread, ExperimentError> {
    let line = table.line();
    let bound = |key: &'static str| -> Result<Bytes, ExperimentError> {
        let missing =
            || table.error(line, format!("`workload.sizes` has no `{key}`; write a size such as `\"1 kB\"`"));
        table.value(key, super::pingpong::size)?.ok_or_else(missing)
    };
    let (min, max) = (bound("min")?, bound("max")?);
    if max < min {
        let message =
            format!("`workload.sizes`: max = {max} is below min = {min}; raise one or lower the other");
        return Err(table.error(line, message));
    }
    let spacings = [("linear", Spacing::Linear), ("log", Spacing::Log)];
    let spacing = table.choice("spacing", &spacings)?.unwrap_or_default();
    let number = table.integer("number", 1, MOST)?.map(|number| SizeCount::Number(number as u32));
    let coverage = table.value("coverage", |node| match node.show().parse::<Ratio>() {
        Ok(share) if share.get() > 0.0 && share.get() <= 1.0 => Ok(SizeCount::Coverage(share.get())),
        Ok(share) => Err(format!("`{share}` must be above 0 % and at most 100 %")),
        Err(error) => Err(error.to_string()),
    })?;
    let count = match (number, coverage) {
        (Some(_), Some(_)) => {
            return Err(table.error(line, "`workload.sizes`: `number` and `coverage` cannot stand together"));
        }
        (Some(count), None) | (None, Some(count)) => count,
        // A narrow range has fewer sizes.
        (None, None) => SizeCount::Number(u64::from(NUMBER).min(max.get() - min.get() + 1) as u32),
    };
    // Files of earlier versions may contain it.
    table.value::<()>("adaptive", |_| {
        Err("this key was removed; list the sizes to look at closely, `sizes = ['80 kB', '90 kB']`, or raise `number`"
            .to_owned())
    })?;
    let repetitions = reader.integer("repetitions", 1, REPETITIONS_MOST)?.unwrap_or(1) as u32;
    let spread = SizeSpread { min, max, spacing, count, repetitions, seed: 0 };
    if let Some(fault) = fault(&spread) {
        return Err(table.error(line, format!("`workload.sizes`: {fault}")));
    }
    table.finish()?;
    Ok(spread)
}

/// Why the number of sizes is impossible, and what to do.
fn fault(spread: &SizeSpread) -> Option<String> {
    let SizeSpread { min, max, count, .. } = *spread;
    let (all, wanted) = (spread.width(), spread.wanted());
    let key = match count {
        SizeCount::Number(_) => "number",
        SizeCount::Coverage(_) => "coverage",
    };
    // A product such as 0.1 · 10 may be rounded to just below 1.
    if wanted < 1.0 - 1e-9 {
        let share = Ratio::new(wanted / all as f64);
        return Some(format!(
            "a coverage of {share} of the {all} sizes from {min} to {max} is less than one size; raise `coverage`, or give a `number`"
        ));
    }
    let wanted = wanted.round() as u64;
    if wanted > MOST {
        return Some(format!("{wanted} sizes are more than {MOST}; lower `{key}`"));
    }
    (wanted > all)
        .then(|| format!("{wanted} sizes are more than the {all} from {min} to {max}; lower `number`"))
}

pub(super) fn write(table: &mut Table, spread: &SizeSpread) {
    let mut sizes = Table::new();
    sizes.insert("min".into(), spread.min.get().to_string().into());
    sizes.insert("max".into(), spread.max.get().to_string().into());
    let spacing = match spread.spacing {
        Spacing::Linear => "linear",
        Spacing::Log => "log",
    };
    sizes.insert("spacing".into(), spacing.into());
    match spread.count {
        SizeCount::Number(number) => sizes.insert("number".into(), i64::from(number).into()),
        SizeCount::Coverage(share) => sizes.insert("coverage".into(), share.to_string().into()),
    };
    table.insert("sizes".into(), Toml::from(sizes));
    table.insert("repetitions".into(), i64::from(spread.repetitions).into());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Experiment, PingpongSpec, WorkloadSpec};

    fn parse(workload: &str) -> Result<SizeSpread, String> {
        let text = format!(
            "[workload]\nname = 'pingpong'\n{workload}\n[plan]\nseed = 7\n[[variant]]\nurl = 'http://h'\n"
        );
        let experiment = Experiment::parse("x.toml", &text).map_err(|error| error.to_string())?;
        let again = Experiment::parse("again", &experiment.to_toml()).expect("what is stored is read");
        assert_eq!(again, experiment);
        match &experiment.points[0].workload {
            WorkloadSpec::Pingpong(PingpongSpec { sizes: Sizes::Spread(spread), .. }) => Ok(*spread),
            other => panic!("{other:?}"),
        }
    }

    fn spread(min: u64, max: u64, spacing: Spacing, number: u32) -> SizeSpread {
        let count = SizeCount::Number(number);
        SizeSpread { min: Bytes::new(min), max: Bytes::new(max), spacing, count, repetitions: 1, seed: 3 }
    }

    fn sizes(spread: &SizeSpread) -> Vec<u64> {
        spread.sizes().into_iter().map(Bytes::get).collect()
    }

    #[test]
    fn each_stratum_gives_one_size() {
        for seed in 0..20 {
            let linear = SizeSpread { seed, ..spread(4, 1_003, Spacing::Linear, 10) };
            for (at, size) in (0..).zip(sizes(&linear)) {
                assert!((4 + at * 100..4 + at * 100 + 100).contains(&size), "{seed}: {size}");
            }
            // Six strata, each ten times as wide as the one below.
            let log = SizeSpread { seed, ..spread(10, 9_999_999, Spacing::Log, 6) };
            for (at, size) in (0..).zip(sizes(&log)) {
                assert!((10 * 10_u64.pow(at)..100 * 10_u64.pow(at)).contains(&size), "{seed}: {size}");
            }
        }
        let (one, other) = (spread(4, 99_999, Spacing::Log, 50), spread(4, 99_999, Spacing::Log, 50));
        assert_eq!(one.sizes(), other.sizes(), "the seed decides");
        assert_ne!(one.sizes(), SizeSpread { seed: 4, ..one }.sizes());
    }

    #[test]
    fn no_size_comes_twice_and_none_lies_outside_however_narrow_strata_are() {
        for (min, max, number) in
            [(4, 4, 1), (4, 13, 10), (4, 13, 9), (4, 1_000, 500), (4, 100_000_000, 1_000)]
        {
            for spacing in [Spacing::Linear, Spacing::Log] {
                let found = sizes(&spread(min, max, spacing, number));
                assert_eq!(found.len(), number as usize);
                assert!(found.windows(2).all(|two| two[0] < two[1]), "{found:?}");
                assert!(found[0] >= min && found[found.len() - 1] <= max, "{found:?}");
            }
        }
        assert_eq!(sizes(&spread(4, 13, Spacing::Log, 10)), (4..14).collect::<Vec<_>>(), "all there are");
    }

    #[test]
    fn every_passage_has_every_size_once_in_an_order_of_its_own() {
        let spread = spread(4, 9_999, Spacing::Linear, 100);
        let (mut first, mut second, mut again) = (Vec::new(), Vec::new(), Vec::new());
        spread.order(0, &mut first);
        spread.order(1, &mut second);
        spread.order(0, &mut again);
        assert_eq!(first, again);
        assert_ne!(first, second);
        for order in [&mut first, &mut second] {
            order.sort_unstable();
            assert_eq!(*order, (0..100).collect::<Vec<u32>>());
        }
    }

    #[test]
    fn a_stream_says_where_it_begins() {
        for (salt, position) in [(0, 0), (0xFF_FFFF, 12), (5, (1 << 39) - 1)] {
            assert_eq!(SizeSpread::position(SizeSpread::stream(salt, position)), position);
        }
        assert_ne!(SizeSpread::stream(1, 5), SizeSpread::stream(2, 5));
    }

    #[test]
    fn sizes_are_read_with_their_defaults_and_the_seed_of_the_plan() {
        let plain = parse("sizes = { min = '4 B', max = '500 kB' }").expect("right");
        assert_eq!((plain.spacing, plain.count, plain.seed), (Spacing::Log, SizeCount::Number(200), 7));
        assert_eq!((plain.number(), plain.passage()), (200, 200));
        let covered =
            parse("sizes = { min = 4, max = 1003, spacing = 'linear', coverage = '5 %' }\nrepetitions = 3");
        let covered = covered.expect("right");
        assert_eq!((covered.number(), covered.passage()), (50, 150));
        let one = parse("sizes = { min = 4, max = 13, coverage = 0.1 }").expect("a tenth of ten");
        assert_eq!(one.number(), 1);
        for (wrong, said) in [
            ("sizes = { max = 5 }", "`workload.sizes` has no `min`"),
            ("sizes = { min = 3, max = 5 }", "must be from 4 B to 100 MB"),
            ("sizes = { min = 6, max = 5 }", "max = 5 B is below min = 6 B"),
            ("sizes = { min = 4, max = 5, number = 3 }", "3 sizes are more than the 2 from 4 B to 5 B"),
            ("sizes = { min = 4, max = 50, number = 3, coverage = 0.5 }", "cannot stand together"),
            ("sizes = { min = 4, max = 50, coverage = 1.5 }", "at most 100 %"),
            (
                "sizes = { min = 4, max = 50, adaptive = '50 %' }",
                "`workload.sizes.adaptive`: this key was removed; list the sizes",
            ),
            ("sizes = { min = 4, max = '50 MB', coverage = 0.5 }", "lower `coverage`"),
            (
                "sizes = { min = 4, max = 503, coverage = '0.1 %' }",
                "a coverage of 0.10 % of the 500 sizes from 4 B to 503 B is less than one size; raise `coverage`, or give a `number`",
            ),
            ("sizes = { min = 4, max = 50, spacing = 'even' }", "`log`"),
            ("sizes = { min = 4, max = 50, steps = 3 }", "steps"),
            ("sizes = [4, 5]\nrepetitions = 2", "`repetitions` belongs to"),
            ("size = 5\nsizes = { min = 4, max = 50 }", "cannot stand together"),
        ] {
            let error = parse(wrong).expect_err(wrong);
            assert!(error.contains(said), "{wrong}: {error}");
        }
    }
}
