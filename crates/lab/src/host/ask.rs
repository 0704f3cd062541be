//! Runs a program for one short answer (`cargo --version`), with a time limit.
//!
//! The program runs in its own process group with empty input, and is killed if it takes too long. Not for
//! services and builds.

use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use weighbridge_model::quantity::Nanoseconds;

use crate::host::procfs::Pid;
use crate::host::sys::{self, Signal, SignalTarget};

/// Time to read the remaining output of a program that has ended. Tests of what it says do not depend on it.
const LAST_WORDS: Duration = Duration::from_secs(if cfg!(test) { 60 } else { 1 });

/// Output beyond this length is not kept; a short answer has less.
const MOST: u64 = 1 << 20;

/// Why there was no answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    #[error("the command is empty")]
    Empty,
    #[error("could not execute `{program}`: {source}")]
    NotExecutable {
        program: String,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    #[error("`{command}` ended with {status}{}", quoted(.said))]
    Refused {
        /// The whole command.
        command: String,
        /// How it ended.
        status: ExitStatus,
        /// The last line it wrote to its standard error, if any.
        said: Option<String>,
    },
    #[error("`{command}` did not end within {patience:?} and was killed")]
    TooSlow {
        /// The whole command.
        command: String,
        /// How long we waited.
        patience: Duration,
    },
}

fn quoted(said: &Option<String>) -> String {
    said.as_ref().map(|line| format!(": {line}")).unwrap_or_default()
}

/// Runs `command` in `folder` and returns its standard output, trimmed.
///
/// Errors: it cannot be executed, ends with a code other than 0, or takes longer than `patience`.
pub fn ask(command: &[String], folder: Option<&Path>, patience: Duration) -> Result<String, AskError> {
    let (program, arguments) = command.split_first().ok_or(AskError::Empty)?;
    let mut prepared = Command::new(program);
    prepared.args(arguments).process_group(0);
    prepared.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    if let Some(folder) = folder {
        prepared.current_dir(folder);
    }
    let mut child =
        prepared.spawn().map_err(|source| AskError::NotExecutable { program: program.clone(), source })?;
    let output = child.stdout.take().map(collect);
    let complaint = child.stderr.take().map(collect);
    let Some(status) = wait(&mut child, patience) else {
        return Err(AskError::TooSlow { command: command.join(" "), patience });
    };
    let text = |from: Option<Receiver<String>>| {
        // A background child may keep the pipe open; what it has not written by now is not part of the
        // answer.
        from.and_then(|receiver| receiver.recv_timeout(LAST_WORDS).ok()).unwrap_or_default()
    };
    if status.success() {
        return Ok(text(output).trim().to_owned());
    }
    let said = text(complaint).lines().rev().find(|line| !line.trim().is_empty()).map(str::to_owned);
    Err(AskError::Refused { command: command.join(" "), status, said })
}

fn collect(mut pipe: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // What was read before an error is kept as the answer.
        let _ = pipe.by_ref().take(MOST).read_to_end(&mut bytes);
        let _ = sender.send(String::from_utf8_lossy(&bytes).into_owned());
        // Draining the pipe keeps a program with much output from blocking.
        let _ = io::copy(&mut pipe, &mut io::sink());
    });
    receiver
}

fn wait(child: &mut Child, patience: Duration) -> Option<ExitStatus> {
    let start = sys::monotonic();
    let patience = Nanoseconds::from_nanos(u64::try_from(patience.as_nanos()).unwrap_or(u64::MAX));
    loop {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
        if sys::monotonic().since(start) > patience {
            // The leader of the group is not yet reaped, so the id is not reused.
            let _ = sys::signal(SignalTarget::Group(Pid::new(child.id() as i32)), Signal::KILL);
            let _ = child.wait();
            return None;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, patience: Duration) -> Result<String, AskError> {
        ask(&["sh".to_owned(), "-c".to_owned(), script.to_owned()], None, patience)
    }
    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn the_answer_is_the_trimmed_standard_output() {
        assert_eq!(shell("echo; echo 1.2.3; echo noise >&2", LONG).expect("an answer"), "1.2.3");
    }

    #[test]
    fn a_refusal_names_command_code_and_last_words() {
        let error = shell("echo first >&2; echo no such option >&2; exit 4", LONG).expect_err("exit 4");
        let text = error.to_string();
        assert!(text.contains("exit status: 4") && text.ends_with(": no such option"), "{text}");
    }

    #[test]
    fn a_program_that_does_not_end_is_killed() {
        let error = shell("sleep 600", Duration::from_millis(20)).expect_err("ten minutes");
        assert!(matches!(error, AskError::TooSlow { .. }), "{error}");
    }

    #[test]
    fn a_missing_program_and_an_empty_command_are_different_errors() {
        let error = ask(&["wb-no-such-program".to_owned()], None, LONG).expect_err("no such program");
        assert!(matches!(error, AskError::NotExecutable { .. }), "{error}");
        assert!(matches!(ask(&[], None, LONG), Err(AskError::Empty)));
    }

    #[test]
    fn more_than_a_pipe_holds_does_not_block() {
        let long = shell("head -c 300000 /dev/zero | tr '\\0' x", LONG).expect("an answer");
        assert_eq!(long.len(), 300_000);
    }
}
