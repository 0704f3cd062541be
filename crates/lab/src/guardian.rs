//! The guardian: a second process of our own program that ends what a run started when the run itself cannot,
//! `kill -9` included.
//!
//! It holds the reading end of a pipe on which the run tells what it takes and releases. `bye` sends it away. At end of
//! file it thaws and kills everything still held, removes the control groups, and goes. It sits in a session of its
//! own and ignores what a terminal or a shell may send. It never touches a process whose start time differs from
//! what it was told.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use weighbridge_model::quantity::Nanoseconds;

use crate::cgroup;
use crate::checkout;
use crate::container;
use crate::custody::{Change, Thing, in_order_of_ending};
use crate::net::namespace;
use crate::procfs::{self, Pid, ProcessIdentity};
use crate::sys::{self, Signal, Target};

/// What it says on its standard output once it stands guard.
const READY: &str = "guarding";
/// What sends it away with nothing to do.
const BYE: &str = "bye";
/// Starting our own program again takes milliseconds; a loaded machine gets three orders of magnitude more.
const START_PATIENCE: Duration = Duration::from_secs(10);
/// Killing and removing takes milliseconds.
const END_PATIENCE: Nanoseconds = Nanoseconds::from_secs(10);

/// Why there is no guardian.
#[derive(Debug, thiserror::Error)]
pub enum GuardianError {
    /// The program could not be executed again.
    #[error("could not start the guardian `{program}`; check that the file is still there and executable")]
    Start {
        /// The program.
        program: String,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    /// It ended, or said something else than that it is ready.
    #[error(
        "the guardian `{program}` did not stand guard within {START_PATIENCE:?}; run the same `weigh` again"
    )]
    NotReady {
        /// The program.
        program: String,
    },
    /// It is gone, so that nothing would clean up after us.
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
    /// Starts `program argument` (our own executable and its hidden verb, which calls [`run`]) and waits until it
    /// stands guard.
    ///
    /// # Errors
    /// Where it cannot be executed or does not answer.
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
        ProcessIdentity::of(Pid::new(i32::try_from(self.child.id()).ok()?))
    }

    /// Tells of one change. The line lies in the pipe when this returns, so it counts even if we end at once.
    ///
    /// # Errors
    /// [`GuardianError::Gone`].
    pub fn tell(&mut self, change: &Change) -> Result<(), GuardianError> {
        let line = serde_json::to_string(change).map_err(|error| GuardianError::Gone(error.into()))?;
        self.write(&line)
    }

    /// Sends the guardian away; it leaves everything as it is.
    ///
    /// # Errors
    /// [`GuardianError::Gone`] where it had gone before.
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

/// How a guard ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Parting {
    /// Sent away.
    Dismissed,
    /// The run ended without a word; these things were ended in its place.
    Ended(Vec<Thing>),
}

/// Stands guard until `input` ends: what the hidden verb does with its standard input and output, and all it does.
/// It returns in order that `main` may exit.
///
/// # Errors
/// Where `output` cannot be written, that is, nobody waits for a guardian.
pub fn run(input: impl Read, mut output: impl Write) -> io::Result<Parting> {
    for signal in [Signal::Interrupt, Signal::Terminate, Signal::TerminalStop, Signal::HangUp, Signal::Quit] {
        sys::ignore(signal);
    }
    // It fails only where we lead a group already, and then a terminal cannot reach us through our parent's.
    let _ = sys::new_session();
    // A guardian must not keep a file system busy; where `/` cannot be entered nothing is lost.
    let _ = std::env::set_current_dir("/");
    writeln!(output, "{READY}")?;
    output.flush()?;
    let (things, dismissed) = listen(input);
    if dismissed {
        return Ok(Parting::Dismissed);
    }
    for thing in in_order_of_ending(&things) {
        end(thing);
    }
    Ok(Parting::Ended(things))
}

/// Follows the pipe to its end; the things then held, and whether we were sent away.
fn listen(input: impl Read) -> (Vec<Thing>, bool) {
    let mut things = Vec::new();
    for line in BufReader::new(input).lines() {
        match line {
            Ok(line) if line == BYE => return (things, true),
            // A line that was cut off by the end of the run told of a thing that was then never made.
            Ok(line) => {
                if let Ok(change) = serde_json::from_str::<Change>(&line) {
                    change.apply(&mut things);
                }
            }
            Err(_) => break,
        }
    }
    (things, false)
}

/// How a thing was ended.
#[derive(Debug)]
pub(crate) enum Ending {
    /// It was there, and is gone now.
    Ended,
    /// There was nothing.
    AlreadyGone,
    /// It is still there.
    Failed(io::Error),
}

/// Thaws and kills a process's session, thaws, kills and removes a control group or a container, or removes a network or a worktree.
/// Somebody else may be doing the same: what is gone has gone, whatever stood in the way.
pub(crate) fn end(thing: &Thing) -> Ending {
    if !thing.exists() {
        return Ending::AlreadyGone;
    }
    match try_to_end(thing) {
        Ok(()) => Ending::Ended,
        Err(_) if !thing.exists() => Ending::AlreadyGone,
        Err(error) => Ending::Failed(error),
    }
}

fn try_to_end(thing: &Thing) -> io::Result<()> {
    match thing {
        Thing::Process(process) => end_session(*process),
        Thing::Worktree { path, repository } => checkout::remove(path, repository),
        Thing::Container { runtime, id, folder } => {
            // Whoever made it would have hidden what is secret in it, and cannot any more.
            container::forget(folder);
            container::end(runtime, id, folder)
        }
        Thing::Namespace { path, with_folder } => namespace::remove(path, *with_folder),
        Thing::Cgroup { path } => {
            // Kernels before 5.14 cannot kill what is frozen; where the file is missing nothing is frozen.
            let _ = std::fs::write(path.join("cgroup.freeze"), "0");
            cgroup::kill_members(path).and_then(|()| cgroup::remove(path, Duration::from_secs(5)))
        }
    }
}

/// The members of the session that `leader` made. While its number still names a session or group the kernel gives
/// it to no new process; so either the leader lives, or it is dead and the members are its children. Where a process
/// of the number has another start time, the session was gone and the number is a stranger's.
pub(crate) fn surviving_members(leader: ProcessIdentity) -> Vec<procfs::ProcessStat> {
    let stranger =
        procfs::ProcessStat::read(leader.pid).is_some_and(|stat| stat.start_time != leader.start_time);
    if stranger { Vec::new() } else { procfs::session_members(leader.pid) }
}

fn end_session(leader: ProcessIdentity) -> io::Result<()> {
    let mut members = surviving_members(leader);
    let start = sys::monotonic();
    while !members.is_empty() {
        for member in &members {
            // Either fails only where the member has just ended.
            let _ = sys::signal(Target::Process(member.pid), Signal::Kill);
            let _ = sys::signal(Target::Process(member.pid), Signal::Continue);
        }
        if sys::monotonic().since(start) > END_PATIENCE {
            return Err(io::ErrorKind::TimedOut.into());
        }
        std::thread::sleep(Duration::from_millis(1));
        members = surviving_members(leader);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn line(change: &Change) -> String {
        format!("{}\n", serde_json::to_string(change).expect("plain data"))
    }

    #[test]
    fn what_is_taken_and_not_released_is_held_at_the_end_of_the_pipe() {
        let thing = |name: &str| Thing::Cgroup { path: PathBuf::from(name) };
        let mut text = String::new();
        text += &line(&Change::Taken(thing("a")));
        text += &line(&Change::Taken(thing("b")));
        text += "not a change\n";
        text += &line(&Change::Released(thing("a")));
        text += &line(&Change::Taken(thing("c")))[..20];
        assert_eq!(listen(text.as_bytes()), (vec![thing("b")], false));
        text += "\nbye\n";
        assert_eq!(listen(text.as_bytes()), (vec![thing("b")], true));
    }

    #[test]
    fn a_process_of_another_start_time_is_a_stranger() {
        let own = ProcessIdentity::own().expect("/proc is mounted");
        let stranger = ProcessIdentity { start_time: own.start_time + 1, ..own };
        assert_eq!(surviving_members(stranger), []);
        assert!(matches!(end(&Thing::Process(stranger)), Ending::AlreadyGone));
    }

    #[test]
    fn a_program_that_is_no_guardian_is_refused() {
        let error = Guardian::start(Path::new("/bin/echo"), "hello").expect_err("echo does not guard");
        assert!(matches!(error, GuardianError::NotReady { .. }), "{error}");
        let error = Guardian::start(Path::new("/nonexistent/weigh"), "guard").expect_err("no such program");
        assert!(matches!(error, GuardianError::Start { .. }), "{error}");
    }
}
