//! Our side of a keeper: the process above a role where no control group holds what the role starts. What it is
//! for and what it does stands in `crate::host::keeper`.

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use crate::host::keeper::{BY_SIGNAL, MESSAGE};
use crate::host::procfs::{Pid, ProcessIdentity};
use crate::host::sys::Ended;

/// A line between us and a keeper that is to be made.
#[derive(Debug)]
pub(crate) struct KeeperLine {
    ours: UnixStream,
    theirs: OwnedFd,
}

impl KeeperLine {
    pub(crate) fn new() -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        Ok(Self { ours, theirs: theirs.into() })
    }

    /// The keeper's end, for the child that becomes it.
    pub(crate) fn theirs(&self) -> BorrowedFd<'_> {
        self.theirs.as_fd()
    }

    /// Our side, once the keeper exists.
    pub(crate) fn into_keeper(self, pid: Pid) -> Option<Keeper> {
        let identity = ProcessIdentity::read(pid)?;
        Some(Keeper { identity, line: Some(self.ours), ended: None })
    }
}

/// Our side of a keeper.
#[derive(Debug)]
pub(crate) struct Keeper {
    identity: ProcessIdentity,
    line: Option<UnixStream>,
    ended: Option<Ended>,
}

/// What a keeper says of the role's first process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FirstProcess {
    Running,
    Ended(Ended),
    /// The keeper was killed, so nobody will say.
    Untold,
}

impl Keeper {
    pub(crate) const fn identity(&self) -> ProcessIdentity {
        self.identity
    }

    /// Whether it runs and still reserves the id of the role's first process.
    pub(crate) fn reserves(&self) -> bool {
        self.line.is_some() && self.identity.is_alive()
    }

    /// What became of the role's first process.
    pub(crate) fn first(&mut self) -> FirstProcess {
        if let Some(ended) = self.ended {
            return FirstProcess::Ended(ended);
        }
        let Some(line) = &mut self.line else { return FirstProcess::Untold };
        let mut message = [0; MESSAGE];
        match line.read_exact(&mut message) {
            Ok(()) => {
                let ended = decode(message);
                self.ended = Some(ended);
                FirstProcess::Ended(ended)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => FirstProcess::Running,
            Err(_) => FirstProcess::Untold,
        }
    }

    /// Lets the keeper end with the last process below it, and collect the role's first process.
    pub(crate) fn let_go(&mut self) {
        self.line = None;
    }
}

fn decode(message: [u8; MESSAGE]) -> Ended {
    let (kind, value) = message.split_at(MESSAGE / 2);
    let number = |bytes: &[u8]| i32::from_ne_bytes(bytes.try_into().unwrap_or_default());
    match number(kind) {
        BY_SIGNAL => Ended::Signal(number(value)),
        _ => Ended::Code(number(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::keeper::encode;

    #[test]
    fn a_message_says_how_the_first_process_ended() {
        assert_eq!(decode(encode(libc::CLD_EXITED, 3)), Ended::Code(3));
        assert_eq!(decode(encode(libc::CLD_KILLED, 9)), Ended::Signal(9));
        assert_eq!(decode(encode(libc::CLD_DUMPED, 6)), Ended::Signal(6));
    }
}
