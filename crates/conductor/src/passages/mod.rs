//! Whole passages of a brokerage's script by one variant, outside a run: played as DaCapo plays them, and to find the
//! smallest heap that they take, of which heaps of an experiment may be multiples.

mod bracket;
mod heap;
mod multiples;
mod play;

use std::path::PathBuf;

use weighbridge_judge::steer::BlockRule;
use weighbridge_model::event::{Event, TimedEvent};
use weighbridge_model::experiment::{Experiment, Target, Variant};
use weighbridge_model::idle::Idle;
use weighbridge_model::pairing::PairingChoice;
use weighbridge_model::quantity::Nanoseconds;

use crate::block::BlockError;
use crate::block::batch::Batch;
use crate::block::passages::{PassageLimits, PassagesEnd};
use crate::options::Options;
use crate::prepare::checked::Checked;
use crate::prepare::idle::IdleCores;
use crate::prepare::{Prepared, prepare};
use crate::run::RunError;
use crate::run::resources::RunResources;

pub use heap::{HEAP_PASSAGES, HeapError, HeapTry, MinimumHeap, SLOWDOWN_LIMIT, minimum_heap};
pub use multiples::{HeapSearch, NoSearch};
pub use play::{Convergence, PassageKind, PlayError, Played, WarmUps, play};

/// Why an experiment has no passages that can be carried out.
#[derive(Debug, thiserror::Error)]
pub enum NoPassages {
    #[error("`{0}` has no passages to carry out; name an experiment of the workload `trade`")]
    Workload(&'static str),
    #[error("variant `{0}` is a server that is not started here; name another one")]
    NotOurs(String),
}

/// The experiment with its first variant and point alone, so that it can be checked.
///
/// # Errors
///
/// [`NoPassages`]: its workload has none, or the variant is not started here.
pub fn experiment_of_passages(mut experiment: Experiment) -> Result<Experiment, NoPassages> {
    experiment.variants.truncate(1);
    experiment.points.truncate(1);
    experiment.plan.pairing = PairingChoice::Auto;
    experiment.gates.clear();
    let workload = &experiment.points[0].workload;
    if workload.sessions_of_a_passage().is_none() {
        return Err(NoPassages::Workload(workload.name()));
    }
    match &experiment.variants[0] {
        variant if matches!(variant.target, Target::Url(_)) => Err(NoPassages::NotOurs(variant.name.clone())),
        _ => Ok(experiment),
    }
}

/// The only variant of an experiment, ready to be started.
struct Player<'a> {
    prepared: Prepared,
    resources: RunResources,
    options: &'a Options,
    logs: PathBuf,
}

impl<'a> Player<'a> {
    fn open(
        checked: Checked,
        options: &'a Options,
        sink: &mut dyn FnMut(&TimedEvent),
    ) -> Result<Self, RunError> {
        let secrets = checked.secrets.clone();
        let prepared = prepare(checked, options, sink);
        let mut prepared = prepared.map_err(|error| RunError::from(error).without(&secrets))?;
        prepared.raise_limits()?;
        // Nothing is measured, so idle cores need no particular state.
        prepared.idle = IdleCores::for_load(Idle::Host, Vec::new());
        let logs = std::env::temp_dir().join(format!("weigh-passages-{}", std::process::id()));
        let resources = RunResources::open("passages", &prepared, options, &logs)?;
        Ok(Self { prepared, resources, options, logs })
    }

    fn without_secrets(&self, error: &BlockError) -> String {
        self.prepared.secrets.hide(&error.to_string()).into_owned()
    }

    fn variant(&self) -> String {
        self.prepared.experiment.variants[0].name.clone()
    }

    /// Starts the variant, for the `number`th time from 0 and as `adjust` makes it, and lets it carry out passages.
    fn carry_out(
        &self,
        number: u32,
        adjust: impl FnOnce(&mut Variant),
        limits: PassageLimits<'_>,
    ) -> Result<PassagesEnd, BlockError> {
        let mut experiment = self.prepared.experiment.clone();
        adjust(&mut experiment.variants[0]);
        let rule = BlockRule::once(experiment.plan.budget);
        let batches = Batch::all(&experiment, &self.prepared.launch_specs, &self.prepared.batches);
        let runner = self.resources.batch_runner(&self.prepared, &batches, self.options, rule, |_| None);
        runner.contexts[0].passages(number, limits)
    }

    /// Ends all that was started. What the service said last is in errors, so its output is of no more use.
    fn close(self, sink: &mut dyn FnMut(&TimedEvent)) -> Result<(), RunError> {
        if let Some(text) = self.resources.close()? {
            sink(&TimedEvent { at: Nanoseconds::ZERO, event: Event::Warning { text } });
        }
        let _ = std::fs::remove_dir_all(&self.logs);
        Ok(())
    }
}
