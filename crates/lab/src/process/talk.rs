//! Exchanges lines with a role over its standard input and output.
//!
//! Every wait and the length of every line are limited. The caller knows what lines mean.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::process::{ChildStdin, ChildStdout};
use std::time::Duration;

use weighbridge_model::quantity::Nanoseconds;

use crate::host::sys;

/// The line by which such a role reports that it is ready.
pub(crate) const READY_DIRECT: &str = "ready direct";

/// The longest line that is accepted: a body of 100 MB in one line, with a reserve.
const LONGEST: usize = 128 << 20;
/// A pipe with room takes at least this many bytes without blocking: Linux' `PIPE_BUF`.
const ROOM: usize = 4096;
/// Bytes per read.
const PIECE: usize = 64 << 10;

/// Why no further line can be exchanged.
#[derive(Debug, thiserror::Error)]
pub enum TalkError {
    #[error("it has closed its standard output")]
    Closed,
    #[error("its line has not ended after 128 MiB")]
    Endless,
    #[error("its pipe broke: {0}")]
    Broken(#[from] io::Error),
}

/// The other ends of a role's standard input and output.
#[derive(Debug)]
pub struct Talk {
    input: ChildStdin,
    output: ChildStdout,
    /// Bytes to write that are not in the pipe yet.
    unsaid: Vec<u8>,
    /// Bytes read beyond the last returned line.
    rest: Vec<u8>,
    /// Length of the prefix of `rest` that holds no line feed.
    searched: usize,
}

impl Talk {
    pub(crate) const fn new(input: ChildStdin, output: ChildStdout) -> Self {
        Self { input, output, unsaid: Vec::new(), rest: Vec::new(), searched: 0 }
    }

    /// Sends a line without line feeds. What does not fit into the pipe at once is written while waiting for
    /// an answer.
    pub fn say(&mut self, line: &str) -> Result<(), TalkError> {
        self.unsaid.extend_from_slice(line.as_bytes());
        self.unsaid.push(b'\n');
        while !self.unsaid.is_empty() {
            let room = sys::wait_for(self.output.as_fd(), Some(self.input.as_fd()), Duration::ZERO)?;
            if !room.writable {
                break;
            }
            self.push()?;
        }
        Ok(())
    }

    /// The next line without its line feed; `None` if it has not ended within `patience`. A further call
    /// continues there.
    pub fn line(&mut self, patience: Nanoseconds) -> Result<Option<Vec<u8>>, TalkError> {
        let since = sys::monotonic();
        loop {
            if let Some(end) = self.rest[self.searched..].iter().position(|byte| *byte == b'\n') {
                let mut line: Vec<u8> = self.rest.drain(..=self.searched + end).collect();
                line.pop();
                self.searched = 0;
                return Ok(Some(line));
            }
            self.searched = self.rest.len();
            if self.searched > LONGEST {
                return Err(TalkError::Endless);
            }
            let left = patience.saturating_sub(sys::monotonic().since(since));
            let to = (!self.unsaid.is_empty()).then(|| self.input.as_fd());
            let open = sys::wait_for(self.output.as_fd(), to, Duration::from_nanos(left.as_nanos()))?;
            if open.readable {
                self.pull()?;
            } else if open.writable {
                self.push()?;
            } else if sys::monotonic().since(since) >= patience {
                return Ok(None);
            }
        }
    }

    /// Writes some unsent bytes into a pipe that has room.
    fn push(&mut self) -> Result<(), TalkError> {
        let piece = self.unsaid.len().min(ROOM);
        match self.input.write(&self.unsaid[..piece]) {
            Ok(written) => drop(self.unsaid.drain(..written)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Reads what is available.
    fn pull(&mut self) -> Result<(), TalkError> {
        let held = self.rest.len();
        self.rest.resize(held + PIECE, 0);
        let read = self.output.read(&mut self.rest[held..]);
        self.rest.truncate(held + *read.as_ref().unwrap_or(&0));
        match read {
            Ok(0) => Err(TalkError::Closed),
            Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error.into()),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command, Stdio};

    use super::*;

    const SECOND: Nanoseconds = Nanoseconds::from_secs(1);

    fn talker(script: &str) -> (Talk, Child) {
        let mut shell = Command::new("sh");
        let mut child =
            shell.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a shell");
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (input, output) = pipes.expect("they are piped");
        (Talk::new(input, output), child)
    }

    fn text(talk: &mut Talk) -> String {
        let line = talk.line(SECOND * 60).expect("an open pipe").expect("a line");
        String::from_utf8(line).expect("plain text")
    }

    #[test]
    fn lines_are_exchanged_however_reads_split_them() {
        let (mut talk, mut child) =
            talker("while read -r a; do printf \"$a\"; sleep 0.05; printf ' b\\nc\\n\\n'; done");
        for word in ["x", "y"] {
            talk.say(word).expect("it reads");
            let said: Vec<_> = (0..3).map(|_| text(&mut talk)).collect();
            assert_eq!(said, [format!("{word} b"), "c".to_owned(), String::new()]);
        }
        // No further line yet; a later one is not lost.
        assert!(talk.line(Nanoseconds::ZERO).expect("an open pipe").is_none());
        talk.say("z").expect("it reads");
        assert_eq!(text(&mut talk), "z b");
        drop(talk);
        assert!(child.wait().expect("it is ours").success(), "the end of its input ends it");
    }

    #[test]
    fn a_long_line_arrives_whole_and_half_a_line_does_not_count() {
        let (mut talk, mut child) = talker("head -c 1000000 /dev/zero | tr '\\0' o; echo; printf half");
        assert_eq!(text(&mut talk).len(), 1_000_000);
        assert!(matches!(talk.line(SECOND * 60), Err(TalkError::Closed)));
        child.wait().expect("it is ours");
        assert!(matches!(talk.say("anybody"), Err(TalkError::Broken(_))));
    }

    #[test]
    fn a_line_longer_than_a_pipe_is_sent_while_waiting_for_the_answer() {
        let (mut talk, mut child) = talker("head -n 1 | wc -c; cat > /dev/null");
        talk.say(&"x".repeat(1_000_000)).expect("it reads");
        assert_eq!(text(&mut talk).trim(), "1000001");
        drop(talk);
        child.wait().expect("it is ours");
    }

    #[test]
    fn a_role_that_does_not_read_does_not_block_the_caller() {
        let (mut talk, mut child) = talker("exec sleep 600");
        talk.say(&"x".repeat(1_000_000)).expect("its input is open");
        assert!(talk.line(Nanoseconds::from_millis(20)).expect("an open pipe").is_none());
        child.kill().expect("it is ours");
        child.wait().expect("it is ours");
        assert!(talk.line(SECOND * 60).is_err());
    }
}
