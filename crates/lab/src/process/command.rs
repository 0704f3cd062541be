//! Runs a user's command to its end: a build, a hook. It may take minutes, so it can be cancelled.
//!
//! It leads its own session, so that cancelling it also ends its children. If we are killed it gets SIGTERM,
//! and if it is tracked for clean-up the guardian ends its whole session. Background processes that it leaves
//! on purpose are not ended. Not for services.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use weighbridge_model::quantity::Nanoseconds;

use crate::cleanup::owned_resource::OwnedResource;
use crate::cleanup::tracker::CleanupTracker;
use crate::host::procfs::{Pid, ProcessIdentity};
use crate::host::sys::{self, Gate, Signal, SignalTarget};

/// Pause between two checks: the delay that it adds to a command.
const PAUSE: Duration = Duration::from_millis(2);
/// The time that a cancelled command gets to end by itself.
const GRACE: Nanoseconds = Nanoseconds::from_secs(2);

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandOutcome {
    /// By itself.
    Ended(ExitStatus),
    /// It was cancelled; nothing of its process group runs.
    Cancelled,
}

/// Runs `command` to its end, or until `is_cancelled` returns true (it is called every few milliseconds).
pub fn run(command: Command, is_cancelled: &dyn Fn() -> bool) -> io::Result<CommandOutcome> {
    run_tracked(&CleanupTracker::default(), command, is_cancelled)
}

/// Like [`run`], but tracked for clean-up: if we are killed meanwhile, the guardian also ends the command's
/// children.
pub fn run_tracked(
    tracker: &CleanupTracker,
    command: Command,
    is_cancelled: &dyn Fn() -> bool,
) -> io::Result<CommandOutcome> {
    let (mut child, resource) = spawn(tracker, command)?;
    let ended = wait(&mut child, is_cancelled);
    if ended.is_err() {
        end(&mut child)?;
    }
    // If this fails, the guardian later finds nothing, which is harmless.
    let _ = tracker.release(resource);
    ended
}

/// Forks, tracks the child while it waits at a gate, and then lets it execute. If we are killed at any time,
/// the child has either not executed or is tracked.
fn spawn(tracker: &CleanupTracker, mut command: Command) -> io::Result<(Child, OwnedResource)> {
    let ((gate_read, gate_write), (mut report_read, report_write)) = (io::pipe()?, io::pipe()?);
    let (wait, release, report) = (gate_read.as_fd(), gate_write.as_fd(), report_write.as_fd());
    let gate = Gate { wait, release, report, keeper: None };
    sys::terminate_with_us(&mut command);
    sys::prepare_child(&mut command, &[], None, gate)?;
    let admit = move || {
        let mut pid = [0; 4];
        report_read.read_exact(&mut pid)?;
        // If a step failed the number is negative, and spawning returns the reason.
        let identity = ProcessIdentity::read(Pid::new(i32::from_ne_bytes(pid)));
        let resource = identity.map(OwnedResource::Process).ok_or(io::ErrorKind::NotFound)?;
        tracker.track(resource.clone()).map_err(io::Error::other)?;
        // If the child is gone, the result of spawning shows it. Without this byte the child ends at the
        // gate.
        let _ = (&gate_write).write_all(b"!");
        Ok::<_, io::Error>(resource)
    };
    std::thread::scope(|scope| {
        // Spawning returns only after exec, and the child ends with the thread that forks it, so another
        // thread opens the gate.
        let admitting = scope.spawn(admit);
        let spawned = command.spawn();
        // If no child exists, the report ends here and its reader notices.
        drop(report_write);
        let admitted = admitting.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()));
        match (spawned, admitted) {
            (Ok(child), Ok(resource)) => Ok((child, resource)),
            (Ok(mut child), Err(error)) => end(&mut child).and(Err(error)),
            (Err(error), Ok(resource)) => {
                let _ = tracker.release(resource);
                Err(error)
            }
            // The child could not be tracked and ended at the gate.
            (Err(spawning), Err(admitting)) => {
                let ended_at_gate = spawning.raw_os_error() == Some(sys::ENDED_AT_GATE);
                Err(if ended_at_gate { admitting } else { spawning })
            }
        }
    })
}

fn wait(child: &mut Child, is_cancelled: &dyn Fn() -> bool) -> io::Result<CommandOutcome> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(CommandOutcome::Ended(status));
        }
        if is_cancelled() {
            end(child)?;
            return Ok(CommandOutcome::Cancelled);
        }
        std::thread::sleep(PAUSE);
    }
}

/// Sends SIGTERM to the group, and SIGKILL after the grace.
fn end(child: &mut Child) -> io::Result<()> {
    let group = SignalTarget::Group(Pid::new(child.id() as i32));
    let start = sys::monotonic();
    // The leader is not reaped while it is checked, so that the group's id is not reused.
    let _ = sys::signal(group, Signal::TERM);
    while sys::peek_exit(Pid::new(child.id() as i32))?.is_none() && sys::monotonic().since(start) < GRACE {
        std::thread::sleep(PAUSE);
    }
    let _ = sys::signal(group, Signal::KILL);
    child.wait().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::path::Path;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.arg("-c").arg(script);
        command
    }

    #[test]
    fn a_command_runs_to_its_end_and_its_status_is_returned() {
        let Ok(CommandOutcome::Ended(status)) = run(shell("exit 7"), &|| false) else {
            panic!("it ends by itself")
        };
        assert_eq!(status.code(), Some(7));
        let missing = run(Command::new("wb-no-such-program"), &|| false).expect_err("no such program");
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_cancelled_command_leaves_no_child() {
        let folder = tempfile::tempdir().expect("a folder");
        let note = folder.path().join("child");
        let script = format!("sleep 600 & echo $! > {0}.part; mv {0}.part {0}; wait", note.display());
        // Cancelled once the child is known.
        let end = run(shell(&script), &|| note.exists()).expect("it can be run");
        assert_eq!(end, CommandOutcome::Cancelled);
        let child = std::fs::read_to_string(&note).expect("a note");
        let gone = || {
            let stat = std::fs::read_to_string(Path::new("/proc").join(child.trim()).join("stat"));
            stat.is_err() || stat.is_ok_and(|stat| stat.contains(") Z "))
        };
        let looks = Cell::new(0);
        while !gone() && looks.get() < 5_000 {
            looks.set(looks.get() + 1);
            std::thread::sleep(PAUSE);
        }
        assert!(gone(), "process {child} still runs");
    }
}
