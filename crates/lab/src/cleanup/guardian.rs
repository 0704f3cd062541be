//! The guardian: a second process of our own program that ends what a run started if the run itself cannot,
//! even after `kill -9`.
//!
//! This is the run's end of the pipe on which it reports what it takes and releases. `crate::removal::guard`
//! is the guardian's side.

use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use weighbridge_model::quantity::Nanoseconds;

use crate::cleanup::owned_resource::Change;
use crate::host::procfs::{Pid, ProcessIdentity};
use crate::host::sys;

/// What it prints on its standard output once it is ready.
pub(crate) const READY: &str = "guarding";
/// The line that ends it without removing anything.
pub(crate) const BYE: &str = "bye";
/// Begins the line that names the run's registry.
pub(crate) const REGISTRY: &str = "registry ";
/// Starting our own program again takes milliseconds; a loaded machine gets a thousand times as long.
const START_PATIENCE: Duration = Duration::from_secs(10);
/// Killing and removing takes milliseconds.
pub(crate) const END_PATIENCE: Nanoseconds = Nanoseconds::from_secs(10);

/// Why there is no guardian.
#[derive(Debug, thiserror::Error)]
pub enum GuardianError {
    #[error("could not start the guardian `{program}`; check that the file is still there and executable")]
    Start {
        program: String,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    #[error(
        "the guardian `{program}` did not stand guard within {START_PATIENCE:?}; run the same `weigh` again"
    )]
    NotReady { program: String },
    #[error("the guardian is gone, and nothing may be started without it; run again and do not kill it")]
    Gone(#[source] io::Error),
}

/// The run's end of the pipe. Dropping it makes the guardian end everything still listed.
#[derive(Debug)]
pub struct Guardian {
    child: Child,
    pipe: Option<ChildStdin>,
}

impl Guardian {
    /// Starts `program argument` (our own executable and its hidden verb, which calls
    /// [`crate::removal::guard::run`]) and waits until it is ready.
    pub fn start(program: &Path, argument: &str) -> Result<Self, GuardianError> {
        let name = program.display().to_string();
        let mut command = Command::new(program);
        command.arg(argument).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child =
            command.spawn().map_err(|source| GuardianError::Start { program: name.clone(), source })?;
        let pipe = child.stdin.take();
        let (sender, answer) = mpsc::channel();
        if let Some(output) = child.stdout.take() {
            // The thread ends with its line, or when the child does.
            std::thread::spawn(move || {
                let line = BufReader::new(output).lines().next();
                let _ = sender.send(line.and_then(Result::ok));
            });
        }
        let mut guardian = Self { child, pipe };
        match answer.recv_timeout(START_PATIENCE) {
            Ok(Some(line)) if line == READY => Ok(guardian),
            _ => {
                // It is our child and knows of no resources yet.
                let _ = guardian.child.kill();
                Err(GuardianError::NotReady { program: name })
            }
        }
    }

    /// Its identity, for a process that cleans up after both of us.
    pub fn identity(&self) -> Option<ProcessIdentity> {
        ProcessIdentity::read(Pid::new(i32::try_from(self.child.id()).ok()?))
    }

    /// Reports one change. The line is in the pipe when this returns, so it counts even if we end at once.
    pub fn tell(&mut self, change: &Change) -> Result<(), GuardianError> {
        let line = serde_json::to_string(change).map_err(|error| GuardianError::Gone(error.into()))?;
        self.write(&line)
    }

    /// Names the registry in which the guardian notes the keepers that it has seen end.
    pub(crate) fn tell_registry(&mut self, path: &Path) -> Result<(), GuardianError> {
        // A path that is no line of text is not told: the doctor then knows less of what became of a keeper.
        match path.to_str().filter(|path| !path.contains('\n')) {
            Some(path) => self.write(&format!("{REGISTRY}{path}")),
            None => Ok(()),
        }
    }

    /// Ends the guardian without removing anything.
    pub fn dismiss(mut self) -> Result<(), GuardianError> {
        self.write(BYE)
    }

    fn write(&mut self, line: &str) -> Result<(), GuardianError> {
        let Some(pipe) = &mut self.pipe else {
            return Err(GuardianError::Gone(io::ErrorKind::BrokenPipe.into()));
        };
        pipe.write_all(format!("{line}\n").as_bytes()).map_err(GuardianError::Gone)
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        self.pipe = None;
        let start = sys::monotonic();
        // Callers rely on everything listed being gone once the guardian has ended.
        while matches!(self.child.try_wait(), Ok(None)) && sys::monotonic().since(start) < END_PATIENCE {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_no_guardian_is_refused() {
        let error = Guardian::start(Path::new("/bin/echo"), "hello").expect_err("echo does not guard");
        assert!(matches!(error, GuardianError::NotReady { .. }), "{error}");
        let error = Guardian::start(Path::new("/nonexistent/weigh"), "guard").expect_err("no such program");
        assert!(matches!(error, GuardianError::Start { .. }), "{error}");
    }
}
