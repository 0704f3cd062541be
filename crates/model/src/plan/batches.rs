//! Batches: which variants of an experiment are alive at once. Every batch holds the baseline, so that each
//! variant is compared with a baseline that ran beside it. How many fit into memory is decided elsewhere.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::VariantId;

/// The variants of every batch, by number. The baseline is first in each; every other variant is in exactly
/// one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Batches(Vec<Vec<VariantId>>);

impl Batches {
    /// Smallest size of a batch: the baseline and one other variant.
    pub const LEAST: usize = 2;

    /// The fewest batches that hold `variants` variants with at most `together` in each (including the
    /// baseline), of sizes as even as possible: seven others with `together = 6` make 4 and 3. Variants stay
    /// in the experiment's order. `together` is at least [`Batches::LEAST`].
    ///
    /// ```
    /// use weighbridge_model::plan::Batches;
    /// let sizes: Vec<usize> = Batches::even(8, 6).iter().map(<[_]>::len).collect();
    /// assert_eq!(sizes, [5, 4]);
    /// ```
    ///
    /// # Panics
    /// If `variants` is zero; a checked experiment has at least one.
    pub fn even(variants: usize, together: usize) -> Self {
        assert!(variants > 0, "batches need a variant");
        let others = variants - 1;
        let count = others.div_ceil(together.max(Self::LEAST) - 1).max(1);
        let mut next = 1;
        let batch = |number: usize| {
            let size = others / count + usize::from(number < others % count);
            let members = std::iter::once(0).chain(next..next + size);
            next += size;
            members.map(|index| VariantId(index as u16)).collect()
        };
        Self((0..count).map(batch).collect())
    }

    /// Whether these are batches of so many variants: the baseline first in each, every other variant in
    /// exactly one. For batches read from a file.
    pub fn fit(&self, variants: usize) -> bool {
        let baseline = |batch: &Vec<VariantId>| batch.first() == Some(&VariantId(0));
        let mut others: Vec<usize> =
            self.0.iter().flat_map(|batch| batch.iter().skip(1)).map(|id| id.index()).collect();
        others.sort_unstable();
        !self.0.is_empty() && self.0.iter().all(baseline) && others.into_iter().eq(1..variants)
    }

    pub fn count(&self) -> u32 {
        self.0.len() as u32
    }

    pub fn largest(&self) -> usize {
        self.0.iter().map(Vec::len).max().unwrap_or(0)
    }

    pub fn iter(&self) -> impl Iterator<Item = &[VariantId]> {
        self.0.iter().map(Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(variants: usize, together: usize) -> Vec<usize> {
        Batches::even(variants, together).iter().map(<[_]>::len).collect()
    }

    #[test]
    fn batches_are_even_and_as_few_as_can_be() {
        assert_eq!(sizes(1, 6), [1]);
        assert_eq!(sizes(6, 6), [6]);
        assert_eq!(sizes(7, 6), [4, 4], "not 6 and 2");
        assert_eq!(sizes(8, 6), [5, 4], "seven others are 4 and 3, not 5 and 2");
        assert_eq!(sizes(8, 3), [3, 3, 3, 2]);
        assert_eq!(sizes(4, 2), [2, 2, 2], "every variant alone with the baseline");
        assert_eq!(sizes(4, 1), [2, 2, 2]);
    }

    #[test]
    fn every_variant_is_in_one_batch_and_the_baseline_in_all() {
        for variants in 1..40 {
            for together in 2..12 {
                let batches = Batches::even(variants, together);
                assert!(batches.fit(variants), "{variants} with {together}: {batches:?}");
                assert!(batches.largest() <= together);
                let sizes = sizes(variants, together);
                assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1, "{sizes:?}");
            }
        }
    }

    #[test]
    fn batches_that_do_not_fit_are_known() {
        let read = |text: &str| serde_json::from_str::<Batches>(text).expect("lists of numbers");
        assert!(read("[[0,2],[0,1]]").fit(3));
        for text in ["[]", "[[0,1]]", "[[0,1],[2]]", "[[0,1],[0,1,2]]", "[[0,1],[0,3]]", "[[1,0,2]]", "[[]]"]
        {
            assert!(!read(text).fit(3), "{text}");
        }
    }
}
