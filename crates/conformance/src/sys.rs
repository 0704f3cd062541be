//! The few system calls of a verification that the standard library lacks, each behind a safe function: signals,
//! looking at a dead child without reaping it, resetting a connection.
//!
//! The only file here with `unsafe`. It decides nothing: no policy, no retries, no state.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

fn check(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Sends SIGTERM to the child alone. The caller must not have reaped it.
pub(super) fn terminate(child: &Child) -> io::Result<()> {
    // SAFETY: kill takes plain numbers and touches no memory of ours.
    check(unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGTERM) })
}

/// Sends SIGKILL to the whole group that the child leads. The caller must not have reaped it: until then the number
/// is its own.
pub(super) fn kill_group(leader: &Child) -> io::Result<()> {
    // SAFETY: kill takes plain numbers and touches no memory of ours.
    check(unsafe { libc::kill(-(leader.id() as libc::pid_t), libc::SIGKILL) })
}

/// Whether the child has ended. It is left unreaped, so that its group can still be named.
pub(super) fn has_ended(child: &Child) -> io::Result<bool> {
    let mut news = MaybeUninit::<libc::siginfo_t>::zeroed();
    let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: the pointer is valid for one siginfo_t.
    check(unsafe { libc::waitid(libc::P_PID, child.id(), news.as_mut_ptr(), options) })?;
    // SAFETY: all zeros is a siginfo_t, and waitid has filled it where there was news; a process id of 0 means none.
    Ok(unsafe { news.assume_init().si_pid() } != 0)
}

/// Adds to `command` that its child leads a process group of its own and is killed when this thread ends, even by
/// SIGKILL.
pub(super) fn lead_group_and_die_with_us(command: &mut Command) {
    command.process_group(0);
    let parent = std::process::id();
    let child = move || {
        // SAFETY: prctl with these arguments takes plain numbers and touches no memory.
        check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) })?;
        // A parent that died before the call above is not noticed by it.
        // SAFETY: getppid takes nothing and cannot fail.
        if unsafe { libc::getppid() } as u32 == parent {
            Ok(())
        } else {
            Err(io::Error::from_raw_os_error(libc::ESRCH))
        }
    };
    // SAFETY: between fork and exec the closure makes only async-signal-safe system calls and never allocates
    // (errors are made from plain numbers).
    unsafe { command.pre_exec(child) };
}

/// Closing the stream will reset the connection instead of ending it.
pub(super) fn reset_on_close(stream: &impl AsRawFd) -> io::Result<()> {
    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
    // SAFETY: the pointer is valid for one linger, whose size is given.
    check(unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_LINGER,
            (&raw const linger).cast(),
            size_of_val(&linger) as libc::socklen_t,
        )
    })
}
