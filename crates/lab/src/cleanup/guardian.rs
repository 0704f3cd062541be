//! The guardian: a second process of our own program that ends what a run started when the run itself cannot,
//! `kill -9` included.
//!
//! This is the run's end of the pipe on which it tells what it takes and releases. What the guardian does at
//! the other end is in `crate::removal::guard`.

use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use weighbridge_model::quantity::Nanoseconds;

use crate::cleanup::owned_resource::Change;
use crate::host::procfs::{Pid, ProcessIdentity};
use crate::host::sys;

/// What it says on its standard output once it stands guard.
pub(crate) const READY: &str = "guarding";
/// What sends it away with nothing to do.
pub(crate) const BYE: &str = "bye";
/// Starting our own program again takes milliseconds; a loaded machine gets three orders of magnitude more.
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

/// The run's end of the pipe. Dropped, it makes the guardian end everything still held.
#[derive(Debug)]
pub struct Guardian {
    child: Child,
    pipe: Option<ChildStdin>,
}

impl Guardian {
    /// Starts `program argument` (our own executable and its hidden verb, which calls
    /// [`crate::removal::guard::run`]) and waits until it stands guard.
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
                // It is our child and has been told nothing yet.
                let _ = guardian.child.kill();
                Err(GuardianError::NotReady { program: name })
            }
        }
    }

    /// Who it is, for whoever would clean up after both of us.
    pub fn identity(&self) -> Option<ProcessIdentity> {
        ProcessIdentity::read(Pid::new(i32::try_from(self.child.id()).ok()?))
    }

    /// Tells of one change. The line lies in the pipe when this returns, so it counts even if we end at once.
    pub fn tell(&mut self, change: &Change) -> Result<(), GuardianError> {
        let line = serde_json::to_string(change).map_err(|error| GuardianError::Gone(error.into()))?;
        self.write(&line)
    }

    /// Sends the guardian away; it leaves everything as it is.
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
        // Once it is gone, everything that it was told of is too: callers rely on that order.
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
