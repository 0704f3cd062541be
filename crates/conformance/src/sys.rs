//! System calls of a verification, each behind its own function: signals, checking for the end of a child
//! without reaping it, resetting a connection.
//!
//! The only file here with `unsafe`. It holds no policy, retries or state.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::time::Duration;

use rustix::net::sockopt::set_socket_linger;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, getpid, getppid, kill_process, kill_process_group,
    set_parent_process_death_signal, waitid,
};

/// Sends SIGTERM to the child alone. The caller must not have reaped it.
pub(super) fn terminate(child: &Child) -> io::Result<()> {
    Ok(kill_process(Pid::from_child(child), Signal::TERM)?)
}

/// Sends SIGKILL to the whole group that the child leads. The caller must not have reaped it, so that its id
/// is not reused.
pub(super) fn kill_group(leader: &Child) -> io::Result<()> {
    Ok(kill_process_group(Pid::from_child(leader), Signal::KILL)?)
}

/// Whether the child has ended. It is not reaped, so that its group keeps its id.
pub(super) fn has_ended(child: &Child) -> io::Result<bool> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    Ok(waitid(WaitId::Pid(Pid::from_child(child)), options)?.is_some())
}

/// Makes the child of `command` lead its own process group and be killed when this thread ends, even by
/// SIGKILL.
pub(super) fn lead_group_and_die_with_us(command: &mut Command) {
    command.process_group(0);
    let parent = getpid();
    let child = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // The call above does not notice a parent that ended before it.
        if getppid() == Some(parent) { Ok(()) } else { Err(rustix::io::Errno::SRCH.into()) }
    };
    // SAFETY: between fork and exec the closure makes only async-signal-safe system calls and never allocates
    // (errors are made from plain numbers).
    unsafe { command.pre_exec(child) };
}

/// Makes closing the stream reset the connection.
pub(super) fn reset_on_close(stream: &impl AsFd) -> io::Result<()> {
    Ok(set_socket_linger(stream, Some(Duration::ZERO))?)
}
