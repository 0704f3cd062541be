//! The experiment's hooks: the user's commands, run by `sh -c` outside every timed part.
//!
//! Their output goes into a log, since stdout is for data. The error of a failed hook quotes that log.

use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use weighbridge_lab::cleanup::tracker::CleanupTracker;
use weighbridge_lab::process::command::{self, CommandOutcome};
use weighbridge_lab::process::logs::{LINES_QUOTED, excerpt, last_lines};
use weighbridge_store::scrub::{Secrets, redact_named};

use crate::control::{Control, ControlRequest};
use crate::variant::output::OutputCapture;

#[derive(Debug, thiserror::Error)]
pub enum HookError {
    #[error("hook `{name}` (`{command}`) ended with {status}{said}; fix the command or remove it")]
    Failed {
        /// `prepare`, `reset` or `cleanup`.
        name: &'static str,
        command: String,
        status: std::process::ExitStatus,
        /// Its last lines of output, to follow the status.
        said: String,
    },
    #[error("hook `{name}` (`{command}`) could not be run with the log `{}`: {source}", log.display())]
    NotRun {
        /// `prepare`, `reset` or `cleanup`.
        name: &'static str,
        command: String,
        log: PathBuf,
        source: io::Error,
    },
    #[error("hook `{0}` was called off")]
    Cancelled(&'static str),
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum CancelOn<'a> {
    /// A request of the user to stop or suspend.
    Request(&'a Control),
    /// Nothing: a cleanup must run even when the user has asked to stop.
    Never,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct HookContext<'a> {
    pub logs: &'a Path,
    /// Hidden in the log and in messages.
    pub secrets: &'a Secrets,
    /// Ends the hook's processes if this process is killed.
    pub tracker: Option<&'a CleanupTracker>,
}

/// Runs `command` by `sh -c` and waits for it. Its output is appended to `<logs>/hook-<name>.log`.
pub(crate) fn run(
    name: &'static str,
    command: &str,
    HookContext { logs, secrets, tracker }: HookContext<'_>,
    cancel_on: CancelOn<'_>,
) -> Result<(), HookError> {
    let log = logs.join(format!("hook-{name}.log"));
    // The command may contain a password.
    let shown = redact_named(command.as_bytes());
    let shown =
        shown.map_or_else(|| command.to_owned(), |shown| String::from_utf8_lossy(&shown).into_owned());
    let shown = secrets.hide(&shown).into_owned();
    let not_run = |source| HookError::NotRun { name, command: shown.clone(), log: log.clone(), source };
    let printed = OutputCapture::new(log.clone(), secrets).map_err(not_run)?;
    let output = OpenOptions::new().create(true).append(true).open(printed.path()).map_err(not_run)?;
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(command).stdin(Stdio::null());
    shell.stdout(output.try_clone().map_err(not_run)?).stderr(output);
    let asked = || match cancel_on {
        CancelOn::Request(control) => control.request() != ControlRequest::GoOn,
        CancelOn::Never => false,
    };
    let nobody = CleanupTracker::default();
    let ended = command::run_tracked(tracker.unwrap_or(&nobody), shell, &asked).map_err(not_run)?;
    printed.keep(secrets).map_err(not_run)?;
    match ended {
        CommandOutcome::Cancelled => Err(HookError::Cancelled(name)),
        CommandOutcome::Ended(status) if status.success() => Ok(()),
        CommandOutcome::Ended(status) => {
            let said = excerpt(&last_lines(&log, LINES_QUOTED));
            Err(HookError::Failed { name, command: shown, status, said })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context<'a>(logs: &'a Path, secrets: &'a Secrets) -> HookContext<'a> {
        HookContext { logs, secrets, tracker: None }
    }

    #[test]
    fn a_hook_that_fails_is_quoted_and_what_it_prints_goes_into_a_log() {
        let logs = tempfile::tempdir().expect("a folder");
        run("reset", "echo well", context(logs.path(), &Secrets::default()), CancelOn::Never)
            .expect("exit status 0");
        let error = run(
            "reset",
            "echo no table >&2; exit 4",
            context(logs.path(), &Secrets::default()),
            CancelOn::Never,
        )
        .expect_err("exit 4");
        let text = error.to_string();
        assert!(text.starts_with("hook `reset` (`echo no table >&2; exit 4`) ended with exit status: 4"));
        assert!(text.contains("no table;"), "{text}");
        let log = std::fs::read_to_string(logs.path().join("hook-reset.log")).expect("a log");
        assert_eq!(log, "well\nno table\n");
    }

    #[test]
    fn a_hook_is_called_off_unless_it_cleans_up() {
        let logs = tempfile::tempdir().expect("a folder");
        let control = Control::default();
        control.interrupted.store(true, std::sync::atomic::Ordering::SeqCst);
        let error =
            run("reset", "sleep 600", context(logs.path(), &Secrets::default()), CancelOn::Request(&control))
                .expect_err("asked to stop");
        assert!(matches!(error, HookError::Cancelled("reset")), "{error}");
        run("cleanup", "sleep 0.05", context(logs.path(), &Secrets::default()), CancelOn::Never)
            .expect("it runs to its end");
    }
}
