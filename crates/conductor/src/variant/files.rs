//! The files of a variant in one block: what it prints, what its run-time says of itself, what it keeps.

use std::path::PathBuf;

use weighbridge_lab::process::launch::LaunchError;
use weighbridge_lab::service::state::StateFolder;
use weighbridge_model::id::VariantId;

use crate::of_variant::of_variant;
use crate::variant::VariantError;
use crate::variant::launcher::{Numbering, Start, VariantLauncher};
use crate::variant::output::OutputCapture;

impl VariantLauncher<'_> {
    /// The error as it may be told, and the logs as they may be kept.
    pub(super) fn launch_failed(&self, mut source: LaunchError, logs: &[OutputCapture]) -> VariantError {
        for text in source.foreign_mut() {
            *text = self.secrets.hide(text).into_owned();
        }
        for log in logs {
            // What cannot be written anew is not kept.
            let _ = log.keep(self.secrets);
        }
        VariantError::Launch(source)
    }

    /// Where a service says what its run-time saw.
    pub(super) fn runtime_file(&self, start: Start<'_>, stream: &str) -> PathBuf {
        let file = self.log(start, stream).with_extension("txt");
        // A service runs in its own folder. A path that cannot be made absolute is one that nothing is said at.
        std::path::absolute(&file).unwrap_or(file)
    }

    /// An empty folder for the state of one of a variant's services: its own, or its peer with `role` `-peer`.
    pub(super) fn state_folder(&self, start: Start<'_>, role: &str) -> Result<StateFolder, VariantError> {
        let name = format!("{}{role}", self.file_stem(start));
        Ok(StateFolder::make(self.lab, self.logs, &name).map_err(of_variant(&start.variant.name))?)
    }

    /// Where a variant's output goes, by its streams, stderr first.
    pub(super) fn captures(
        &self,
        start: Start<'_>,
        streams: [&str; 2],
    ) -> Result<[OutputCapture; 2], VariantError> {
        let name = &start.variant.name;
        let make = |stream| {
            let path = self.log(start, stream);
            // Of a block that was begun before.
            let _ = std::fs::remove_file(&path);
            OutputCapture::new(path.clone(), self.secrets)
                .map_err(|source| VariantError::Launch(LaunchError::Log { name: name.clone(), path, source }))
        };
        let [stderr, stdout] = streams;
        Ok([make(stderr)?, make(stdout)?])
    }

    /// Where a stream of a variant's output is kept, by its number in the run.
    fn log(&self, start: Start<'_>, stream: &str) -> PathBuf {
        let mut path = self.logs_of(start).into_os_string();
        path.push(format!("-{stream}.log"));
        path.into()
    }

    /// What the paths of all logs of a variant begin with.
    pub(super) fn logs_of(&self, start: Start<'_>) -> PathBuf {
        self.logs.join(self.file_stem(start))
    }

    /// What the names of all files of a variant in one block begin with.
    fn file_stem(&self, start: Start<'_>) -> String {
        let (block, number) = (start.block, self.number_in_run(start.id).0);
        match self.numbering {
            None => format!("{block:03}-{number}"),
            Some(Numbering { batch, .. }) => format!("{block:03}-{number}-batch-{batch}"),
        }
    }

    /// The number in the run of a variant that is started.
    pub(super) fn number_in_run(&self, id: VariantId) -> VariantId {
        self.numbering.map_or(id, |numbering| numbering.members[id.index()])
    }
}
