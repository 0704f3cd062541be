//! A variant's files in one block: its output, its run-time facts, its state.

use std::path::PathBuf;

use weighbridge_lab::process::launch::LaunchError;
use weighbridge_lab::service::state::StateFolder;
use weighbridge_model::id::VariantId;

use crate::variant::VariantError;
use crate::variant::launcher::{Numbering, VariantLauncher, VariantStart};
use crate::variant::output::OutputCapture;
use crate::with_variant::with_variant;

impl VariantLauncher<'_> {
    /// The error of a failed start with secrets hidden; scrubs the logs too.
    pub(super) fn launch_failed(&self, mut source: LaunchError, logs: &[OutputCapture]) -> VariantError {
        for text in source.foreign_mut() {
            *text = self.secrets.hide(text).into_owned();
        }
        for log in logs {
            // A log that cannot be rewritten is removed.
            let _ = log.keep(self.secrets);
        }
        VariantError::Launch(source)
    }

    /// The file in which a service writes its run-time facts.
    pub(super) fn runtime_file(&self, start: VariantStart<'_>, stream: &str) -> PathBuf {
        let file = self.log(start, stream).with_extension("txt");
        // A service runs in its own folder. If the path cannot be made absolute, the facts are lost.
        std::path::absolute(&file).unwrap_or(file)
    }

    /// An empty folder for the state of a variant's service, or of its peer where `role` is `-peer`.
    pub(super) fn state_folder(
        &self,
        start: VariantStart<'_>,
        role: &str,
    ) -> Result<StateFolder, VariantError> {
        let name = format!("{}{role}", self.file_stem(start));
        Ok(StateFolder::make(self.lab, self.logs, &name).map_err(with_variant(&start.variant.name))?)
    }

    /// stderr first.
    pub(super) fn captures(
        &self,
        start: VariantStart<'_>,
        streams: [&str; 2],
    ) -> Result<[OutputCapture; 2], VariantError> {
        let name = &start.variant.name;
        let make = |stream| {
            let path = self.log(start, stream);
            // Left over from an earlier attempt at this block.
            let _ = std::fs::remove_file(&path);
            OutputCapture::new(path.clone(), self.secrets)
                .map_err(|source| VariantError::Launch(LaunchError::Log { name: name.clone(), path, source }))
        };
        let [stderr, stdout] = streams;
        Ok([make(stderr)?, make(stdout)?])
    }

    fn log(&self, start: VariantStart<'_>, stream: &str) -> PathBuf {
        let mut path = self.logs_of(start).into_os_string();
        path.push(format!("-{stream}.log"));
        path.into()
    }

    /// The path prefix of a variant's logs.
    pub(super) fn logs_of(&self, start: VariantStart<'_>) -> PathBuf {
        self.logs.join(self.file_stem(start))
    }

    /// The prefix of a variant's file names in one block, with its number in the run.
    pub(super) fn file_stem(&self, start: VariantStart<'_>) -> String {
        let (block, number) = (start.block, self.number_in_run(start.id).0);
        match self.numbering {
            None => format!("{block:03}-{number}"),
            Some(Numbering { batch, .. }) => format!("{block:03}-{number}-batch-{batch}"),
        }
    }

    pub(super) fn number_in_run(&self, id: VariantId) -> VariantId {
        self.numbering.map_or(id, |numbering| numbering.members[id.index()])
    }
}
