//! A command of the user's that is waited for: a build, a hook. It may take minutes, so it can be called off.
//!
//! It leads a session of its own, so that calling it off ends its children too. When we are killed it is told to end,
//! and in custody the guardian ends all of its session. What it starts in the background and leaves there on purpose is
//! its own business. Not for services.

use std::io;
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use weighbridge_model::quantity::Nanoseconds;

use crate::custody::{Custody, Thing};
use crate::procfs::{Pid, ProcessIdentity};
use crate::sys::{self, Signal, Target};

/// Pause between two looks: what it adds to an errand.
const PAUSE: Duration = Duration::from_millis(2);
/// What a command gets to end by itself when it is called off.
const GRACE: Nanoseconds = Nanoseconds::from_secs(2);

/// How an errand ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Errand {
    /// By itself.
    Ended(ExitStatus),
    /// It was called off; nothing of its process group runs.
    CalledOff,
}

/// Runs `command` to its end, or until `called_off` says so (asked every few milliseconds).
///
/// # Errors
/// Where it cannot be executed or waited for.
pub fn run(command: Command, called_off: &dyn Fn() -> bool) -> io::Result<Errand> {
    run_in(&Custody::default(), command, called_off)
}

/// The same in custody: where we are killed meanwhile, the guardian ends its children too.
///
/// # Errors
/// Where it cannot be executed, written down or waited for.
pub fn run_in(custody: &Custody, mut command: Command, called_off: &dyn Fn() -> bool) -> io::Result<Errand> {
    sys::terminate_with_us(&mut command);
    let mut child = command.spawn()?;
    // It has begun already: until it is written down, only its own death with ours holds.
    let thing = ProcessIdentity::of(Pid::new(child.id() as i32)).map(Thing::Process);
    let taken = thing.clone().map_or(Ok(()), |thing| custody.take(thing));
    let ended = taken.map_err(io::Error::other).and_then(|()| wait(&mut child, called_off));
    if ended.is_err() {
        end(&mut child)?;
    }
    if let Some(thing) = thing {
        // The guardian finds nothing there later, which is harmless.
        let _ = custody.release(thing);
    }
    ended
}

fn wait(child: &mut Child, called_off: &dyn Fn() -> bool) -> io::Result<Errand> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Errand::Ended(status));
        }
        if called_off() {
            end(child)?;
            return Ok(Errand::CalledOff);
        }
        std::thread::sleep(PAUSE);
    }
}

/// SIGTERM to the group, and SIGKILL when the grace is over.
fn end(child: &mut Child) -> io::Result<()> {
    let group = Target::Group(Pid::new(child.id() as i32));
    let start = sys::monotonic();
    // The leader is looked at without being reaped: until then the group's number is its own.
    let _ = sys::signal(group, Signal::Terminate);
    while sys::peek_exit(Pid::new(child.id() as i32))?.is_none() && sys::monotonic().since(start) < GRACE {
        std::thread::sleep(PAUSE);
    }
    let _ = sys::signal(group, Signal::Kill);
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
    fn an_errand_is_waited_for_and_its_status_told() {
        let Ok(Errand::Ended(status)) = run(shell("exit 7"), &|| false) else { panic!("it ends by itself") };
        assert_eq!(status.code(), Some(7));
        let missing = run(Command::new("wb-no-such-program"), &|| false).expect_err("no such program");
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn an_errand_that_is_called_off_leaves_no_child() {
        let folder = tempfile::tempdir().expect("a folder");
        let note = folder.path().join("child");
        let script = format!("sleep 600 & echo $! > {0}.part; mv {0}.part {0}; wait", note.display());
        // Called off once the child is known.
        let end = run(shell(&script), &|| note.exists()).expect("it can be run");
        assert_eq!(end, Errand::CalledOff);
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
