//! A socket that keeps the kernel stamping received packets.
//!
//! The kernel begins this for all sockets together, some time after the first of them asked: a kernel worker must run
//! for it, which a busy core may delay for a second. When the last socket is closed it stops again. This socket sends
//! to itself until its own packets are stamped, and stays open as long as others want stamps. The wait is limited:
//! packets that are not stamped by then count as unmatched.

use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::AsFd;

use weighbridge_model::quantity::Nanoseconds;

use super::{control, sys};
use crate::sys::{Interest, wait_for};

/// Time between two checks, in which the worker can run.
const LOOK: Nanoseconds = Nanoseconds::from_millis(1);

/// Most checks: about two seconds.
const LOOKS: usize = 2_000;

/// A socket on loopback that asks for stamps; returned once the kernel stamps, or after about two seconds.
pub(super) fn begin() -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    socket.connect(socket.local_addr()?)?;
    socket.set_nonblocking(true)?;
    sys::stamp_received_only(socket.as_fd())?;
    for _ in 0..LOOKS {
        socket.send(&[0])?;
        wait_for(socket.as_fd(), Interest::Read, LOOK)?;
        let (mut byte, mut control) = ([0], sys::NO_CONTROL);
        let stamped = sys::receive(socket.as_fd(), &mut byte, &mut control)
            .is_ok_and(|(_, length)| control::read(&control[..length]).stamp.is_some());
        if stamped {
            break;
        }
        // Nothing more can arrive, so this only sleeps.
        wait_for(socket.as_fd(), Interest::Read, LOOK)?;
    }
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_it_received_packets_are_stamped() {
        let socket = begin().expect("a socket on loopback");
        socket.send(&[1]).expect("sent");
        assert!(wait_for(socket.as_fd(), Interest::Read, Nanoseconds::from_secs(10)).expect("waits"));
        let (mut byte, mut control) = ([0], sys::NO_CONTROL);
        let (count, length) = sys::receive(socket.as_fd(), &mut byte, &mut control).expect("received");
        assert_eq!((count, byte), (1, [1]));
        assert!(control::read(&control[..length]).stamp.is_some());
    }
}
