//! A command of the user's that is waited for: a build, a hook. It may take minutes, so it can be called off.
//!
//! It leads a session of its own, so that calling it off ends its children too. When we are killed it is told
//! to end, and where it is tracked for clean-up the guardian ends all of its session. What it starts in the
//! background and leaves there on purpose is its own business. Not for services.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use weighbridge_model::quantity::Nanoseconds;

use crate::cleanup::owned_resource::OwnedResource;
use crate::cleanup::tracker::CleanupTracker;
use crate::host::procfs::{Pid, ProcessIdentity};
use crate::host::sys::{self, Gate, Signal, SignalTarget};

/// Pause between two looks: what it adds to a command.
const PAUSE: Duration = Duration::from_millis(2);
/// What a command gets to end by itself when it is called off.
const GRACE: Nanoseconds = Nanoseconds::from_secs(2);

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandOutcome {
    /// By itself.
    Ended(ExitStatus),
    /// It was called off; nothing of its process group runs.
    CalledOff,
}

/// Runs `command` to its end, or until `called_off` says so (asked every few milliseconds).
pub fn run(command: Command, called_off: &dyn Fn() -> bool) -> io::Result<CommandOutcome> {
    run_tracked(&CleanupTracker::default(), command, called_off)
}

/// The same, tracked for clean-up: where we are killed meanwhile, the guardian ends its children too.
pub fn run_tracked(
    tracker: &CleanupTracker,
    command: Command,
    called_off: &dyn Fn() -> bool,
) -> io::Result<CommandOutcome> {
    let (mut child, resource) = spawn(tracker, command)?;
    let ended = wait(&mut child, called_off);
    if ended.is_err() {
        end(&mut child)?;
    }
    // The guardian finds nothing there later, which is harmless.
    let _ = tracker.release(resource);
    ended
}

/// Forks, has the child written down while it waits at a gate, and lets it execute: whenever we are killed,
/// what it starts is either not begun or known.
fn spawn(tracker: &CleanupTracker, mut command: Command) -> io::Result<(Child, OwnedResource)> {
    let ((gate_read, gate_write), (mut report_read, report_write)) = (io::pipe()?, io::pipe()?);
    let gate = Gate { wait: gate_read.as_fd(), release: gate_write.as_fd(), report: report_write.as_fd() };
    sys::terminate_with_us(&mut command);
    sys::prepare_child(&mut command, &[], None, gate)?;
    let admit = move || {
        let mut pid = [0; 4];
        report_read.read_exact(&mut pid)?;
        // Of a step that failed the number is negative, and spawning tells why.
        let identity = ProcessIdentity::read(Pid::new(i32::from_ne_bytes(pid)));
        let resource = identity.map(OwnedResource::Process).ok_or(io::ErrorKind::NotFound)?;
        tracker.track(resource.clone()).map_err(io::Error::other)?;
        // One that is gone already shows in what spawning returns. Without this byte it ends at the gate.
        let _ = (&gate_write).write_all(b"!");
        Ok::<_, io::Error>(resource)
    };
    std::thread::scope(|scope| {
        // Spawning returns only after exec, and the child ends with the thread that forks it: so another one
        // opens the gate.
        let admitting = scope.spawn(admit);
        let spawned = command.spawn();
        // Without a child the report ends here, and who reads it learns that.
        drop(report_write);
        let admitted = admitting.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()));
        match (spawned, admitted) {
            (Ok(child), Ok(resource)) => Ok((child, resource)),
            (Ok(mut child), Err(error)) => end(&mut child).and(Err(error)),
            (Err(error), Ok(resource)) => {
                let _ = tracker.release(resource);
                Err(error)
            }
            // The child was ended at the gate where it could not be written down.
            (Err(spawning), Err(admitting)) => {
                let ended_at_gate = spawning.raw_os_error() == Some(sys::ENDED_AT_GATE);
                Err(if ended_at_gate { admitting } else { spawning })
            }
        }
    })
}

fn wait(child: &mut Child, called_off: &dyn Fn() -> bool) -> io::Result<CommandOutcome> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(CommandOutcome::Ended(status));
        }
        if called_off() {
            end(child)?;
            return Ok(CommandOutcome::CalledOff);
        }
        std::thread::sleep(PAUSE);
    }
}

/// SIGTERM to the group, and SIGKILL when the grace is over.
fn end(child: &mut Child) -> io::Result<()> {
    let group = SignalTarget::Group(Pid::new(child.id() as i32));
    let start = sys::monotonic();
    // The leader is looked at without being reaped: until then the group's number is its own.
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
    fn a_command_is_waited_for_and_its_status_told() {
        let Ok(CommandOutcome::Ended(status)) = run(shell("exit 7"), &|| false) else {
            panic!("it ends by itself")
        };
        assert_eq!(status.code(), Some(7));
        let missing = run(Command::new("wb-no-such-program"), &|| false).expect_err("no such program");
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_command_that_is_called_off_leaves_no_child() {
        let folder = tempfile::tempdir().expect("a folder");
        let note = folder.path().join("child");
        let script = format!("sleep 600 & echo $! > {0}.part; mv {0}.part {0}; wait", note.display());
        // Called off once the child is known.
        let end = run(shell(&script), &|| note.exists()).expect("it can be run");
        assert_eq!(end, CommandOutcome::CalledOff);
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
