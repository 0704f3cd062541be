//! A process of the service under test: started in a process group of its own, listened to, and killed with all its
//! group on every path.
//!
//! What it says is kept up to a bound and read on threads, so that neither silence nor chatter can hold us up. A
//! process that leaves the group (a daemon) is not followed.

use std::fmt;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::Subject;
use super::limits::left;
use super::outcome::{Shortfall, differs, quoted};
use super::sys;

/// The variables that a service reads. Ours are not passed on; all others are.
const VARIABLES: [&str; 11] = [
    "HOST", "PORT", "WORKLOAD", "PROTOCOL", "PEER", "NAGLE", "TLS_CERT", "TLS_KEY", "DIRECT", "DATA", "STATE",
];

/// How often a process is looked at while it is waited for.
const LOOK: Duration = Duration::from_millis(1);

/// For the last words of a process that has ended.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// A started process. Dropping it kills its group.
#[derive(Debug)]
pub(super) struct Running {
    child: Child,
    leader: Leader,
    input: Option<ChildStdin>,
    stdout: Output,
    stderr: Output,
    /// Removed once its group is killed.
    _state: TempDir,
}

/// Whether the number of the group is still its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leader {
    Unreaped,
    Reaped,
}

/// How a process ended by itself.
#[derive(Debug)]
pub(super) struct Ended {
    /// `None` where the system would not tell.
    pub(super) status: Option<ExitStatus>,
    /// What it wrote, without a `ready` line that was read before.
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
}

/// When to lose patience with a process that should end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Patience {
    UntilDeadline,
    /// As soon as it says something on stdout, though it should be silent there.
    UntilItSpeaks,
}

/// Starts the service with `PORT=0` and a folder of its own for `STATE`, then `environment` over it.
pub(super) fn start(
    subject: &Subject,
    arguments: &[&str],
    environment: &[(&str, &str)],
) -> Result<Running, Shortfall> {
    spawn(subject, arguments, environment, Stdio::null())
}

/// The same without arguments, and with a standard input to talk to it.
pub(super) fn start_talking(subject: &Subject, environment: &[(&str, &str)]) -> Result<Running, Shortfall> {
    spawn(subject, &[], environment, Stdio::piped())
}

fn spawn(
    subject: &Subject,
    arguments: &[&str],
    environment: &[(&str, &str)],
    stdin: Stdio,
) -> Result<Running, Shortfall> {
    let Some((program, leading)) = subject.start.split_first() else {
        return Err(Shortfall::Failed("expected a start command, came an empty list".to_owned()));
    };
    let folder = std::path::absolute(&subject.folder).unwrap_or_else(|_| subject.folder.clone());
    let path = if program.contains('/') { folder.join(program) } else { PathBuf::from(program) };
    let mut command = Command::new(path);
    command.args(leading).args(arguments).current_dir(&folder);
    command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
    for name in VARIABLES {
        command.env_remove(name);
    }
    let state = tempfile::tempdir()
        .map_err(|error| differs("a folder for its state", "an empty one", format_args!("{error}")))?;
    command.env("PORT", "0").env("STATE", state.path()).envs(environment.iter().copied());
    sys::lead_group_and_die_with_us(&mut command);
    let mut child = command.spawn().map_err(|error| {
        differs(format_args!("start of `{program}`"), "a process", format_args!("{error}; build the service"))
    })?;
    let input = child.stdin.take();
    let stdout = Output::reading(child.stdout.take());
    let stderr = Output::reading(child.stderr.take());
    Ok(Running { child, leader: Leader::Unreaped, input, stdout, stderr, _state: state })
}

impl Running {
    /// Waits for the `ready` line and returns its port.
    ///
    /// Errors: where the process ends, says something else first, or says nothing until the deadline.
    pub(super) fn ready(&mut self, deadline: Instant) -> Result<u16, Shortfall> {
        let expected = "`ready <port>` and a line feed on stdout";
        let fail = |came: String| Err(differs("start", expected, came));
        let begin = Instant::now();
        loop {
            // Asked before the last look at stdout: what a process says before its end is then seen.
            let ended = self.has_ended();
            if ended {
                self.stdout.take_rest()
            } else {
                self.stdout.take_in(LOOK)
            }
            if let Some(line) = self.stdout.take_line() {
                return port_of(&line).map_or_else(|| fail(quoted(&line)), Ok);
            }
            if ended {
                return fail(self.reap().to_string());
            }
            if Instant::now() >= deadline {
                let said = quoted(&self.stdout.bytes);
                return fail(format!("{said} and nothing more within {:.1?}", begin.elapsed()));
            }
        }
    }

    /// Says a line to a process that was started to be talked to.
    pub(super) fn say(&mut self, line: &str) -> Result<(), Shortfall> {
        let said = self.input.as_mut().map(|input| input.write_all(format!("{line}\n").as_bytes()));
        match said {
            Some(Err(error)) => Err(differs(format_args!("`{line}`"), "a process that reads it", error)),
            _ => Ok(()),
        }
    }

    /// Ends its standard input.
    pub(super) fn end_input(&mut self) {
        self.input = None;
    }

    /// The next line on stdout, without its line feed.
    ///
    /// Errors: where the process ends or says none until the deadline; `what` it was that should bring it.
    pub(super) fn line(&mut self, what: &str, deadline: Instant) -> Result<Vec<u8>, Shortfall> {
        loop {
            // As in `ready`.
            let ended = self.has_ended();
            if ended {
                self.stdout.take_rest()
            } else {
                self.stdout.take_in(LOOK)
            }
            if let Some(mut line) = self.stdout.take_line() {
                line.pop();
                return Ok(line);
            }
            if ended {
                return Err(differs(what, "a line on stdout", self.reap()));
            }
            if Instant::now() >= deadline {
                let came = format!("{} and nothing more in time", quoted(&self.stdout.bytes));
                return Err(differs(what, "a line on stdout", came));
            }
        }
    }

    /// Sends SIGTERM to the started process and returns when that was.
    pub(super) fn terminate(&self) -> Result<Instant, Shortfall> {
        let signalled = Instant::now();
        sys::terminate(&self.child).map_err(|error| differs("SIGTERM", "a process that takes it", error))?;
        Ok(signalled)
    }

    /// Waits until the process has ended by itself.
    pub(super) fn end(mut self, deadline: Instant, patience: Patience) -> Result<Ended, String> {
        let begin = Instant::now();
        while !self.has_ended() {
            self.stdout.take_in(LOOK);
            if patience == Patience::UntilItSpeaks && !self.stdout.bytes.is_empty() {
                return Err(format!("{} on stdout of a process that goes on", quoted(&self.stdout.bytes)));
            }
            if Instant::now() >= deadline {
                self.stderr.take_in(LOOK);
                let (stdout, stderr) = (quoted(&self.stdout.bytes), quoted(&self.stderr.bytes));
                let waited = begin.elapsed();
                return Err(format!("no end within {waited:.1?}, stdout {stdout}, stderr {stderr}"));
            }
        }
        Ok(self.reap())
    }

    /// How the process ended, if it has or does within `patience`.
    pub(super) fn death(&mut self, patience: Duration) -> Option<Ended> {
        let deadline = Instant::now() + patience;
        while !self.has_ended() {
            if Instant::now() >= deadline {
                return None;
            }
            thread::sleep(LOOK);
        }
        Some(self.reap())
    }

    /// Kills the process and returns what it had written on stdout behind the `ready` line.
    pub(super) fn kill(mut self) -> Vec<u8> {
        self.reap().stdout
    }

    fn has_ended(&self) -> bool {
        // The call can fail only on a child that is not ours or was reaped: then there is nothing to wait for.
        sys::has_ended(&self.child).unwrap_or(true)
    }

    /// Kills what is left of the group, then reaps its leader, in this order: afterwards the number may be another's.
    fn reap(&mut self) -> Ended {
        self.kill_group();
        let status = self.child.wait().ok();
        self.leader = Leader::Reaped;
        self.stdout.take_rest();
        self.stderr.take_rest();
        Ended {
            status,
            stdout: std::mem::take(&mut self.stdout.bytes),
            stderr: std::mem::take(&mut self.stderr.bytes),
        }
    }

    fn kill_group(&self) {
        if self.leader == Leader::Unreaped {
            // Nobody left to kill is what is wanted.
            let _ = sys::kill_group(&self.child);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill_group();
        // The standard library remembers the end of a child that was reaped before.
        let _ = self.child.wait();
    }
}

impl Ended {
    /// The exit code; `None` where a signal ended the process.
    pub(super) fn code(&self) -> Option<i32> {
        self.status.and_then(|status| status.code())
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let status = self.status.map_or_else(|| "an unknown end".to_owned(), |status| status.to_string());
        write!(f, "{status}, stdout {}, stderr {}", quoted(&self.stdout), quoted(&self.stderr))
    }
}

/// The port of a `ready` line, from 1 on, in canonical digits.
fn port_of(line: &[u8]) -> Option<u16> {
    let digits = std::str::from_utf8(line).ok()?.strip_prefix("ready ")?.strip_suffix('\n')?;
    let port: u16 = digits.parse().ok()?;
    (port > 0 && port.to_string() == digits).then_some(port)
}

/// One of the streams that a process writes, read on a thread of its own.
#[derive(Debug)]
struct Output {
    chunks: Receiver<Vec<u8>>,
    bytes: Vec<u8>,
}

impl Output {
    /// More than any honest service says is read but not kept.
    const MOST: usize = 64 << 10;

    fn reading(pipe: Option<impl Read + Send + 'static>) -> Self {
        let (sender, chunks) = mpsc::channel();
        if let Some(mut pipe) = pipe {
            thread::spawn(move || {
                let mut kept = 0;
                let mut buffer = [0; 4096];
                while let Ok(length @ 1..) = pipe.read(&mut buffer) {
                    if kept < Self::MOST {
                        kept += length;
                        // Nobody listens any more; the pipe is read on so that the process is not stopped by it.
                        let _ = sender.send(buffer[..length].to_vec());
                    }
                }
            });
        }
        Self { chunks, bytes: Vec::new() }
    }

    /// Takes in what there is, waiting for at most `wait` where there is nothing.
    fn take_in(&mut self, wait: Duration) {
        match self.chunks.recv_timeout(wait) {
            Ok(chunk) => self.bytes.extend(chunk),
            Err(RecvTimeoutError::Timeout) => {}
            // A closed stream has nothing to wake us: without the sleep, waiting for the process would spin.
            Err(RecvTimeoutError::Disconnected) => thread::sleep(wait),
        }
        self.bytes.extend(self.chunks.try_iter().flatten());
    }

    /// Takes in all until the stream ends, for at most `LAST_WORDS`: who left the group may hold it open for ever.
    fn take_rest(&mut self) {
        let deadline = Instant::now() + LAST_WORDS;
        while let Ok(chunk) = self.chunks.recv_timeout(left(deadline)) {
            self.bytes.extend(chunk);
        }
    }

    fn take_line(&mut self) -> Option<Vec<u8>> {
        let end = self.bytes.iter().position(|byte| *byte == b'\n')?;
        let rest = self.bytes.split_off(end + 1);
        Some(std::mem::replace(&mut self.bytes, rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Running {
        let subject = Subject {
            name: "shell".to_owned(),
            language: "sh".to_owned(),
            folder: std::env::temp_dir(),
            start: ["sh", "-c", script].map(str::to_owned).to_vec(),
            workloads: std::collections::BTreeMap::new(),
            tls: super::super::TlsOffer::Absent,
        };
        start(&subject, &[], &[("WORKLOAD", "w")]).expect("a shell")
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_millis(50)
    }

    fn later() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    fn text(shortfall: &Shortfall) -> &str {
        let (Shortfall::Failed(text) | Shortfall::Skipped(text) | Shortfall::Warned(text)) = shortfall;
        text
    }

    #[test]
    fn a_ready_line_gives_its_port_and_what_follows_is_kept() {
        let mut running = shell("echo ready 4711; echo more; sleep 600");
        assert_eq!(running.ready(later()), Ok(4711));
        assert_eq!(
            running.end(later(), Patience::UntilItSpeaks).expect_err("it goes on").matches("more").count(),
            1
        );
    }

    #[test]
    fn any_other_line_is_not_ready() {
        for line in
            ["ready", "ready 0", "ready 65536", "ready +1", "ready 01", "ready 1 ", " ready 1", "Ready 1"]
        {
            let shortfall =
                shell(&format!("echo '{line}'; sleep 600")).ready(later()).expect_err("not ready");
            assert!(text(&shortfall).contains(&format!("came `{line}\\n`")), "{shortfall:?}");
        }
    }

    #[test]
    fn silence_and_death_before_ready_are_told_apart() {
        let silent = shell("printf 'ready 1'; sleep 600").ready(soon()).expect_err("no line feed");
        assert!(text(&silent).contains("and nothing more within"), "{silent:?}");
        let dead = shell("echo oops >&2; exit 3").ready(later()).expect_err("no line");
        assert!(text(&dead).ends_with("came exit status: 3, stdout ``, stderr `oops\\n`"), "{dead:?}");
    }

    #[test]
    fn the_environment_is_ours() {
        let ended =
            shell("echo $PORT $WORKLOAD $HOST").end(later(), Patience::UntilDeadline).expect("it ends");
        assert_eq!((ended.code(), ended.stdout.as_slice()), (Some(0), b"0 w\n".as_slice()));
    }

    #[test]
    fn what_does_not_end_is_said_so() {
        let came =
            shell("echo words >&2; sleep 600").end(soon(), Patience::UntilDeadline).expect_err("ten minutes");
        assert!(came.starts_with("no end within"), "{came}");
    }

    #[test]
    fn chatter_is_neither_waited_for_nor_kept() {
        let mut running = shell("yes ready; true");
        let shortfall = running.ready(later()).expect_err("no port");
        assert!(text(&shortfall).contains("came `ready\\n`"), "{shortfall:?}");
        let kept = running.kill().len();
        assert!(kept <= Output::MOST + 4096, "{kept} bytes");
    }

    #[test]
    fn the_whole_group_dies_even_where_its_leader_has_ended() {
        // The child holds stdout; the leader says its number and ends.
        let ended = shell("sleep 600 & echo $!").end(later(), Patience::UntilDeadline).expect("it ends");
        let child = String::from_utf8(ended.stdout).expect("digits");
        let state = || std::fs::read_to_string(format!("/proc/{}/stat", child.trim())).unwrap_or_default();
        let deadline = later();
        // Whoever inherits the child reaps it in time of its own.
        while !state().is_empty() && !state().contains(") Z ") {
            assert!(Instant::now() < deadline, "{}", state());
            thread::sleep(LOOK);
        }
    }
}
