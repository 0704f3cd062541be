//! A whole run: a checked experiment is prepared and measured; or an interrupted run is resumed.

mod error;
pub(crate) mod question;
pub mod quote;
pub(crate) mod resources;
mod resume;
pub(crate) mod run_loop;
mod verify;

use std::path::Path;

use weighbridge_model::environment::Environment;
use weighbridge_model::event::TimedEvent;
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::summary::{Detail, Summary};
use weighbridge_store::scrub::Secrets;
use weighbridge_store::{RunFolder, RunWriter};

use crate::block::BlockError;
use crate::clock::utc_now;
use crate::options::Options;
use crate::prepare::checked::Checked;
use crate::prepare::prepare;
use crate::run::run_loop::{RunFiles, measure};
use crate::variant::VariantError;
use crate::with_variant::WithVariant;

pub use error::RunError;
pub use resume::resume;
pub use verify::verify;

#[derive(Debug)]
pub struct Finished {
    pub summary: Summary,
    pub detail: Detail,
    pub environment: Environment,
    pub folder: RunFolder,
}

/// Carries out an experiment. `sink` receives every event as it happens. After an error, the complete blocks
/// are in the run folder.
pub fn run(
    checked: Checked,
    options: &Options,
    sink: &mut dyn FnMut(&TimedEvent),
) -> Result<Finished, RunError> {
    let secrets = checked.secrets.clone();
    execute(checked, options, sink).map_err(|error| error.without(&secrets))
}

fn execute(
    checked: Checked,
    options: &Options,
    sink: &mut dyn FnMut(&TimedEvent),
) -> Result<Finished, RunError> {
    let mut prepared = prepare(checked, options, sink)?;
    let started = utc_now();
    let mut writer = RunWriter::create(&options.out, &prepared.experiment.title, started)?;
    let mut facts = prepared.write_files(&writer, options)?;
    let logs = writer.folder().path().join("logs");
    prepared
        .sources
        .keep_logs(&logs, &prepared.secrets)
        .map_err(|source| RunError::Logs { path: logs.clone(), source })?;
    let measured = loop {
        let files = RunFiles { writer: &mut writer, started, facts };
        match measure(&prepared, options, files, Vec::new(), sink) {
            // Until a block is stored, variants may still be left out.
            Err(RunError::Block(BlockError::RunningVariant(VariantError::Layer(WithVariant {
                variant,
                source,
            }))))
                if writer.folder().load_blocks().is_ok_and(|blocks| blocks.is_empty()) =>
            {
                let event =
                    prepared.leave_out(&variant, &format!("its layers could not be put in: {source}"))?;
                let timed = TimedEvent { at: Nanoseconds::ZERO, event };
                sink(&timed);
                writer.append_event(&timed)?;
                facts = prepared.write_files(&writer, options)?;
            }
            other => break other,
        }
    };
    // A partly installed layer was not removed with its variant, and its logs were not scrubbed.
    hide_in_logs(&logs, &prepared.secrets);
    measured
}

/// Hides secrets in logs and layers' configurations that an aborted run left unscrubbed. A file that cannot
/// be rewritten is removed.
fn hide_in_logs(logs: &Path, secrets: &Secrets) {
    let Ok(entries) = std::fs::read_dir(logs) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => hide_in_logs(&path, secrets),
            Ok(kind) if kind.is_file() && secrets.hide_file(&path).is_err() => {
                let _ = std::fs::remove_file(&path);
            }
            _ => {}
        }
    }
}
