//! The keeper's own code. It runs in a child between fork and exec, so it makes only async-signal-safe system
//! calls, never allocates and never returns.

use std::io;
use std::os::fd::RawFd;

/// Bytes of a keeper's only message: how the role's first process ended.
pub(crate) const MESSAGE: usize = 8;

const BY_CODE: i32 = 1;
pub(crate) const BY_SIGNAL: i32 = 2;

/// What a process list shows; at most 15 bytes.
const NAME: &std::ffi::CStr = c"wb-keeper";

/// Called in a forked child before exec: it becomes the keeper and forks again. Only the new child returns,
/// with the keeper's id; `line` is the keeper's end of its line.
///
/// Errors: the system allows no further process; then nothing was forked.
pub(crate) fn fork_below(line: RawFd) -> io::Result<i32> {
    // SAFETY: plain system calls without memory. `clone` with only a signal and no stack is fork; made
    // directly, it takes no lock of the C library that another thread may have held when we were forked.
    unsafe {
        if libc::setsid() < 0 || libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0 {
            return Err(io::Error::last_os_error());
        }
        let own = libc::getpid();
        match libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) {
            0 => Ok(own),
            child if child > 0 => keep(child as libc::pid_t, line),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// Collects what ends below us, tells how `first` ended, and exits with the last.
fn keep(first: libc::pid_t, line: RawFd) -> ! {
    // SAFETY: the set is valid memory of ours. Blocked signals can end us no more than ignored ones, and
    // unlike those they are not inherited: `first` was forked before.
    unsafe {
        let mut all = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigfillset(all.as_mut_ptr());
        libc::sigprocmask(libc::SIG_BLOCK, all.as_ptr(), std::ptr::null_mut());
        libc::prctl(libc::PR_SET_NAME, NAME.as_ptr(), 0, 0, 0);
        // Nothing of the run or the role may stay open or in use because of us.
        libc::chdir(c"/".as_ptr());
        libc::dup2(line, 0);
        if libc::syscall(libc::SYS_close_range, 1, libc::c_uint::MAX, 0) != 0 {
            // Before Linux 5.9.
            (1..65_536).for_each(|descriptor| {
                libc::close(descriptor);
            });
        }
    }
    while let Some((pid, how, value)) = next(libc::WNOWAIT) {
        if pid == first {
            tell(encode(how, value));
            break;
        }
        collect(pid);
    }
    while next(0).is_some() {}
    // SAFETY: it ends this process at once.
    unsafe { libc::_exit(0) }
}

/// The next of our children to end: its id, how, and its code or signal; `None` if there are no more.
fn next(more: libc::c_int) -> Option<(libc::pid_t, i32, i32)> {
    let mut info = std::mem::MaybeUninit::<libc::siginfo_t>::zeroed();
    // SAFETY: the pointer is valid for one siginfo_t, and all zeros is one.
    unsafe {
        if libc::waitid(libc::P_ALL, 0, info.as_mut_ptr(), libc::WEXITED | more) != 0 {
            return None;
        }
        let info = info.assume_init();
        Some((info.si_pid(), info.si_code, info.si_status()))
    }
}

fn collect(pid: libc::pid_t) {
    let mut info = std::mem::MaybeUninit::<libc::siginfo_t>::zeroed();
    // SAFETY: the pointer is valid for one siginfo_t.
    unsafe { libc::waitid(libc::P_PID, pid as libc::id_t, info.as_mut_ptr(), libc::WEXITED) };
}

/// Sends the message, then waits until the other side lets go.
fn tell(message: [u8; MESSAGE]) {
    let mut byte = 0_u8;
    // SAFETY: the pointers are valid for their lengths. SIGPIPE is blocked.
    unsafe {
        libc::write(0, message.as_ptr().cast(), message.len());
        while libc::read(0, (&raw mut byte).cast(), 1) > 0 {}
    }
}

pub(crate) fn encode(how: i32, value: i32) -> [u8; MESSAGE] {
    let kind = if how == libc::CLD_EXITED { BY_CODE } else { BY_SIGNAL };
    let mut message = [0; MESSAGE];
    message[..MESSAGE / 2].copy_from_slice(&kind.to_ne_bytes());
    message[MESSAGE / 2..].copy_from_slice(&value.to_ne_bytes());
    message
}
