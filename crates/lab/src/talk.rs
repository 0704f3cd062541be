//! Talking to a role over its standard input and output: a line there, a line back.
//!
//! Every wait ends, and so does every line. What lines mean is the caller's business.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::process::{ChildStdin, ChildStdout};
use std::time::Duration;

use weighbridge_model::quantity::Nanoseconds;

use crate::sys;

/// The longest line that is taken in: a body of 100 MB in one line, and some more.
const LONGEST: usize = 128 << 20;
/// Bytes read at once.
const PIECE: usize = 64 << 10;

/// Why a role says nothing more.
#[derive(Debug, thiserror::Error)]
pub enum TalkError {
    /// It has closed its output, or ended.
    #[error("it has closed its standard output")]
    Closed,
    /// Its line does not end.
    #[error("its line has not ended after 128 MiB")]
    Endless,
    /// The pipe broke.
    #[error("its pipe broke: {0}")]
    Broken(#[from] io::Error),
}

/// The other ends of a role's standard input and output.
#[derive(Debug)]
pub struct Talk {
    input: ChildStdin,
    output: ChildStdout,
    /// What was read and belongs to no line that was returned.
    rest: Vec<u8>,
    /// How much of it holds no line feed.
    searched: usize,
}

impl Talk {
    pub(crate) const fn new(input: ChildStdin, output: ChildStdout) -> Self {
        Self { input, output, rest: Vec::new(), searched: 0 }
    }

    /// Says a line, which holds no line feed.
    ///
    /// # Errors
    /// [`TalkError::Broken`] where nobody reads it.
    pub fn say(&mut self, line: &str) -> Result<(), TalkError> {
        self.input.write_all(format!("{line}\n").as_bytes())?;
        Ok(self.input.flush()?)
    }

    /// The next line without its line feed, or `None` where it has not ended within `patience`; asked again, it goes on
    /// where it was.
    ///
    /// # Errors
    /// [`TalkError`].
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
            if !sys::readable(self.output.as_fd(), Duration::from_nanos(left.as_nanos()))? {
                return Ok(None);
            }
            self.rest.resize(self.searched + PIECE, 0);
            let read = self.output.read(&mut self.rest[self.searched..]);
            self.rest.truncate(self.searched + *read.as_ref().unwrap_or(&0));
            match read {
                Ok(0) => return Err(TalkError::Closed),
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error.into()),
                _ => {}
            }
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
    fn a_line_there_and_lines_back_however_they_are_cut() {
        let (mut talk, mut child) =
            talker("while read -r a; do printf \"$a\"; sleep 0.05; printf ' b\\nc\\n\\n'; done");
        for word in ["x", "y"] {
            talk.say(word).expect("it reads");
            let said: Vec<_> = (0..3).map(|_| text(&mut talk)).collect();
            assert_eq!(said, [format!("{word} b"), "c".to_owned(), String::new()]);
        }
        // Nothing more was said; what is asked for later is not lost.
        assert!(talk.line(Nanoseconds::ZERO).expect("an open pipe").is_none());
        talk.say("z").expect("it reads");
        assert_eq!(text(&mut talk), "z b");
        drop(talk);
        assert!(child.wait().expect("it is ours").success(), "the end of its input ends it");
    }

    #[test]
    fn a_long_line_comes_whole_and_half_a_line_is_none() {
        let (mut talk, mut child) = talker("head -c 1000000 /dev/zero | tr '\\0' o; echo; printf half");
        assert_eq!(text(&mut talk).len(), 1_000_000);
        assert!(matches!(talk.line(SECOND * 60), Err(TalkError::Closed)));
        child.wait().expect("it is ours");
        assert!(matches!(talk.say("anybody"), Err(TalkError::Broken(_))));
    }
}
