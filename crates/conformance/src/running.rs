//! A process of the service under test: started in its own process group, its output read, and killed with
//! the whole group on every path.
//!
//! Threads read its output up to a limit, so that neither silence nor much output can block us. A process
//! that leaves the group (a daemon) is not followed.

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
const VARIABLES: [&str; 13] = [
    "HOST",
    "PORT",
    "WORKLOAD",
    "PROTOCOL",
    "PEER",
    "PEER_PROTOCOL",
    "NAGLE",
    "TLS_CERT",
    "TLS_KEY",
    "DIRECT",
    "DATA",
    "DATABASE",
    "STATE",
];

/// Pause between two checks of a process while waiting for it.
const LOOK: Duration = Duration::from_millis(1);

/// Time to read the remaining output of a process that has ended. Tests of what it says do not depend on it.
const LAST_WORDS: Duration = Duration::from_secs(if cfg!(test) { 60 } else { 2 });

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

/// Whether the group's id still belongs to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leader {
    Unreaped,
    Reaped,
}

/// How a process ended by itself.
#[derive(Debug)]
pub(super) struct Ended {
    /// `None` if the system does not report it.
    pub(super) status: Option<ExitStatus>,
    /// Its output, without a `ready` line that was read before.
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
}

/// When to stop waiting for a process that should end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Patience {
    UntilDeadline,
    /// As soon as it writes to stdout, which it should not.
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

/// Like [`start`], without arguments and with a pipe as standard input.
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
    /// Errors: the process ends, writes something else first, or writes nothing until the deadline.
    pub(super) fn ready(&mut self, deadline: Instant) -> Result<u16, Shortfall> {
        let expected = "`ready <port>` and a line feed on stdout";
        let fail = |came: String| Err(differs("start", expected, came));
        let begin = Instant::now();
        loop {
            // Asked before the last read of stdout, so that output before the end is not missed.
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

    /// Writes a line to a process that has a pipe as standard input.
    pub(super) fn say(&mut self, line: &str) -> Result<(), Shortfall> {
        let said = self.input.as_mut().map(|input| input.write_all(format!("{line}\n").as_bytes()));
        match said {
            Some(Err(error)) => Err(differs(format_args!("`{line}`"), "a process that reads it", error)),
            _ => Ok(()),
        }
    }

    /// Whether it has read all that was said. Where the system does not tell, it is taken to have.
    pub(super) fn has_read_all(&self) -> bool {
        let unread = self.input.as_ref().and_then(|input| rustix::io::ioctl_fionread(input).ok());
        unread.unwrap_or(0) == 0
    }

    /// Closes its standard input.
    pub(super) fn end_input(&mut self) {
        self.input = None;
    }

    /// The next line on stdout, without its line feed.
    ///
    /// Errors: the process ends or writes no line until the deadline; `what` names the request for messages.
    pub(super) fn line(&mut self, what: &str, deadline: Instant) -> Result<Vec<u8>, Shortfall> {
        loop {
            // Asked first, as in `ready`.
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

    /// Sends SIGTERM to the started process and returns the time.
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
                return Err(format!(
                    "{} on stdout of a process that keeps running",
                    quoted(&self.stdout.bytes)
                ));
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

    /// How the process ended, if it has ended or does within `patience`.
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

    /// Kills the process and returns what it wrote to stdout after the `ready` line.
    pub(super) fn kill(mut self) -> Vec<u8> {
        self.reap().stdout
    }

    fn has_ended(&self) -> bool {
        // The call fails only for a child that is not ours or was reaped; then there is nothing to wait for.
        sys::has_ended(&self.child).unwrap_or(true)
    }

    /// Kills the rest of the group, then reaps its leader. The order matters: once reaped, the id may be
    /// reused.
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
            // An error means that no process is left, which is the goal.
            let _ = sys::kill_group(&self.child);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill_group();
        // The standard library remembers the status of a child that was reaped before.
        let _ = self.child.wait();
    }
}

impl Ended {
    /// The exit code; `None` if a signal ended the process.
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

/// The port of a `ready` line, at least 1, in canonical digits.
fn port_of(line: &[u8]) -> Option<u16> {
    let digits = std::str::from_utf8(line).ok()?.strip_prefix("ready ")?.strip_suffix('\n')?;
    let port: u16 = digits.parse().ok()?;
    (port > 0 && port.to_string() == digits).then_some(port)
}

/// One of a process's output streams, read on its own thread.
#[derive(Debug)]
struct Output {
    chunks: Receiver<Vec<u8>>,
    bytes: Vec<u8>,
}

impl Output {
    /// Further output is read but not kept; no correct service writes that much.
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
                        // If the receiver is gone, reading continues so that the process does not block on
                        // the pipe.
                        let _ = sender.send(buffer[..length].to_vec());
                    }
                }
            });
        }
        Self { chunks, bytes: Vec::new() }
    }

    /// Takes the output read so far; waits for at most `wait` if there is none.
    fn take_in(&mut self, wait: Duration) {
        match self.chunks.recv_timeout(wait) {
            Ok(chunk) => self.bytes.extend(chunk),
            Err(RecvTimeoutError::Timeout) => {}
            // A closed stream does not wake us; without the sleep, waiting for the process would spin.
            Err(RecvTimeoutError::Disconnected) => thread::sleep(wait),
        }
        self.bytes.extend(self.chunks.try_iter().flatten());
    }

    /// Takes all output until the stream ends, for at most `LAST_WORDS`: a process that left the group may
    /// hold it open.
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
            clients: Vec::new(),
            others: Vec::new(),
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
    fn silence_and_death_before_ready_are_different_failures() {
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
    fn a_process_that_does_not_end_is_reported() {
        let came =
            shell("echo words >&2; sleep 600").end(soon(), Patience::UntilDeadline).expect_err("ten minutes");
        assert!(came.starts_with("no end within"), "{came}");
    }

    #[test]
    fn excess_output_is_neither_awaited_nor_kept() {
        let mut running = shell("yes ready; true");
        let shortfall = running.ready(later()).expect_err("no port");
        assert!(text(&shortfall).contains("came `ready\\n`"), "{shortfall:?}");
        let kept = running.kill().len();
        assert!(kept <= Output::MOST + 4096, "{kept} bytes");
    }

    #[test]
    fn the_whole_group_dies_even_where_its_leader_has_ended() {
        // The child holds stdout; the leader prints the child's id and ends.
        let ended = shell("sleep 600 & echo $!").end(later(), Patience::UntilDeadline).expect("it ends");
        let child = String::from_utf8(ended.stdout).expect("digits");
        let state = || std::fs::read_to_string(format!("/proc/{}/stat", child.trim())).unwrap_or_default();
        let deadline = later();
        // The process that adopts the child may take a while to reap it.
        while !state().is_empty() && !state().contains(") Z ") {
            assert!(Instant::now() < deadline, "{}", state());
            thread::sleep(LOOK);
        }
    }
}
