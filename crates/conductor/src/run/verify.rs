//! Starts every variant once and compares their answers; nothing is measured.

use weighbridge_judge::steer::BlockRule;
use weighbridge_model::event::{Event, TimedEvent};
use weighbridge_model::idle::Idle;
use weighbridge_model::quantity::Nanoseconds;

use crate::block::BlockError;
use crate::block::batch::Batch;
use crate::options::Options;
use crate::prepare::checked::Checked;
use crate::prepare::idle::IdleCores;
use crate::prepare::prepare;
use crate::run::RunError;
use crate::run::resources::RunResources;
use crate::variant::VariantError;
use crate::with_variant::WithVariant;

/// Returns how many requests were compared.
pub fn verify(
    checked: Checked,
    options: &Options,
    sink: &mut dyn FnMut(&TimedEvent),
) -> Result<usize, RunError> {
    let secrets = checked.secrets.clone();
    verify_run(checked, options, sink).map_err(|error| error.without(&secrets))
}

fn verify_run(
    checked: Checked,
    options: &Options,
    sink: &mut dyn FnMut(&TimedEvent),
) -> Result<usize, RunError> {
    let mut prepared = prepare(checked, options, sink)?;
    prepared.raise_limits()?;
    let logs = std::env::temp_dir().join(format!("weigh-verify-{}", std::process::id()));
    // Nothing is measured, so idle cores need no particular state.
    prepared.idle = IdleCores::for_load(Idle::Host, Vec::new());
    let rule = BlockRule::once(prepared.experiment.plan.budget);
    let resources = RunResources::open("verify", &prepared, options, &logs)?;
    let outcome = loop {
        let batches = Batch::all(&prepared.experiment, &prepared.launch_specs, &prepared.batches);
        match resources.batch_runner(&prepared, &batches, options, rule, |_| None).verify() {
            Err(BlockError::RunningVariant(VariantError::Layer(WithVariant { variant, source }))) => {
                let event =
                    prepared.leave_out(&variant, &format!("its layers could not be put in: {source}"))?;
                sink(&TimedEvent { at: Nanoseconds::ZERO, event });
            }
            other => break other,
        }
    };
    if let Some(text) = resources.close()? {
        sink(&TimedEvent { at: Nanoseconds::ZERO, event: Event::Warning { text } });
    }
    // Kept where a service failed: its output says why.
    if matches!(outcome, Ok(_) | Err(BlockError::Interrupted)) {
        let _ = std::fs::remove_dir_all(&logs);
    }
    outcome.map_err(|error| match error {
        BlockError::Interrupted => RunError::InterruptedEarly,
        error => RunError::Block(error),
    })
}
