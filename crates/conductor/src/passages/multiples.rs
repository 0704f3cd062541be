//! Heaps of an experiment that are multiples of the smallest one, which is searched for before anything is measured.

use weighbridge_model::event::TimedEvent;
use weighbridge_model::experiment::{Collector, HeapSize, JvmSettings, Variant};
use weighbridge_model::quantity::Bytes;

use super::heap::{HeapError, HeapTry, MinimumHeap, minimum_heap};
use super::{NoPassages, experiment_of_passages};
use crate::options::Options;
use crate::prepare::checked::Checked;
use crate::prepare::error::PrepareError;

/// Sizes are whole MiB: HotSpot rounds them up to two.
const STEP: u64 = 1 << 20;

/// Why there is no search.
#[derive(Debug, thiserror::Error)]
pub enum NoSearch {
    #[error(transparent)]
    Passages(#[from] NoPassages),
    #[error(transparent)]
    Prepare(#[from] PrepareError),
}

/// A search for the smallest heap of variants that differ in collector and heap alone. It is done with G1, whichever
/// collectors they have, so that the same multiple is the same size for all of them.
pub struct HeapSearch {
    checked: Checked,
}

impl HeapSearch {
    /// The search for the first variant whose heap is a multiple; `None` where all sizes are known.
    ///
    /// # Errors
    ///
    /// [`NoSearch`]: the variant has no passages, or cannot be started here.
    pub fn first_of(checked: &Checked, options: &Options) -> Result<Option<Self>, NoSearch> {
        let variants = &checked.experiment.variants;
        let Some(at) = variants.iter().position(|variant| multiple(variant).is_some()) else {
            return Ok(None);
        };
        let mut experiment = checked.experiment.clone();
        experiment.variants.swap(0, at);
        let mut experiment = experiment_of_passages(experiment)?;
        experiment.variants[0] = searched(&experiment.variants[0]);
        Ok(Some(Self { checked: Checked::for_resume(experiment, options)? }))
    }

    /// The first variant for which it is.
    pub fn variant(&self) -> &str {
        &self.checked.experiment.variants[0].name
    }

    /// Searches, and gives every variant for which it is done its size. Every try is passed to `tried` as it ends.
    ///
    /// # Errors
    ///
    /// [`HeapError`]: no heap or each is large enough, or the variant cannot be started at all.
    pub fn carry_out(
        self,
        checked: &mut Checked,
        options: &Options,
        sink: &mut dyn FnMut(&TimedEvent),
        tried: &mut dyn FnMut(&HeapTry),
    ) -> Result<MinimumHeap, HeapError> {
        let alike = self.checked.experiment.variants[0].clone();
        let found = minimum_heap(self.checked, options, sink, tried)?;
        set_sizes(&mut checked.experiment.variants, &alike, found.minimum);
        Ok(found)
    }
}

fn multiple(variant: &Variant) -> Option<f64> {
    variant.jvm.as_ref().and_then(JvmSettings::heap_multiple)
}

/// The variant as it is searched with.
fn searched(variant: &Variant) -> Variant {
    let options = variant.jvm.as_ref().and_then(|jvm| jvm.options.clone());
    let jvm = JvmSettings { collector: Some(Collector::G1), heap: None, options };
    Variant { jvm: Some(jvm), ..variant.clone() }
}

fn set_sizes(variants: &mut [Variant], alike: &Variant, minimum: Bytes) {
    for variant in variants {
        let is_alike = Variant { name: alike.name.clone(), ..searched(variant) } == *alike;
        if let (true, Some(factor), Some(jvm)) = (is_alike, multiple(variant), &mut variant.jvm) {
            let size = (minimum.get() as f64 * factor).ceil() as u64;
            jvm.heap = Some(HeapSize::Fixed(Bytes::new(size.next_multiple_of(STEP))));
        }
    }
}

#[cfg(test)]
mod tests {
    use weighbridge_model::experiment::Experiment;

    use super::*;

    #[test]
    fn one_search_sizes_all_that_differ_in_collector_and_heap_alone() {
        let text = "[workload]\nname = 'trade'\n[matrix]\nservice = ['java-trade']\njvm.collector = ['serial', 'z']\n\
                    jvm.heap = ['1.5x', '3x', '64 MiB']\nprotocol = ['http1-json', 'soap']\n";
        let mut variants = Experiment::parse("x.toml", text).expect("an experiment").variants;
        let first = searched(&variants[0]);
        set_sizes(&mut variants, &first, Bytes::new(15 << 20));
        let heaps: Vec<_> = variants
            .iter()
            .map(|one| {
                (one.name.as_str(), one.jvm.as_ref().and_then(|jvm| jvm.heap).map(|heap| heap.to_string()))
            })
            .map(|(name, heap)| format!("{name}: {}", heap.expect("a heap")))
            .collect();
        let expected = |collector: &str| {
            [("1.5x", "23 MiB"), ("3x", "45 MiB"), ("64 MiB", "64 MiB")].map(|(heap, size)| {
                let name = format!("java-trade/{collector}/{heap}");
                let soap = if heap.ends_with('x') { heap } else { size };
                [format!("{name}/http1-json: {size}"), format!("{name}/soap: {soap}")]
            })
        };
        assert_eq!(
            heaps,
            [expected("serial"), expected("z")].into_iter().flatten().flatten().collect::<Vec<_>>()
        );
    }
}
