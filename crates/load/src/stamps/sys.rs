//! The system calls for the kernel's time stamps: turning them on, and reading with control messages.
//!
//! Linux only. No policy: [`super`] decides when to read.

use std::io;
use std::mem::{size_of, size_of_val, zeroed};
use std::os::fd::{AsRawFd, BorrowedFd};

use libc::{c_int, c_uint};
use weighbridge_model::quantity::Nanoseconds;

/// Room for the control messages of one packet: a stamp (64 bytes) and an extended error with an address (64).
const CONTROL: usize = 256;

/// Buffer for a packet's control messages.
pub(super) type ControlBuffer = [u8; CONTROL];

/// An empty buffer.
pub(super) const NO_CONTROL: ControlBuffer = [0; CONTROL];

/// Software stamps: of the last byte of each write when it is passed to the driver, reported through the error queue
/// with the byte's number and without the packet; of received packets when the driver passes them on.
const WANTED: c_uint = libc::SOF_TIMESTAMPING_TX_SOFTWARE
    | libc::SOF_TIMESTAMPING_RX_SOFTWARE
    | libc::SOF_TIMESTAMPING_SOFTWARE
    | libc::SOF_TIMESTAMPING_OPT_ID
    | libc::SOF_TIMESTAMPING_OPT_TSONLY;

/// Whether it is a TCP socket: others accept the option but do not stamp what they send.
pub(super) fn is_tcp(socket: BorrowedFd<'_>) -> bool {
    let number = |name| option(socket, libc::SOL_SOCKET, name, &mut [0; 4]).ok();
    let is = |name, wanted: c_int| number(name) == Some(wanted.to_ne_bytes());
    is(libc::SO_PROTOCOL, libc::IPPROTO_TCP)
        && (is(libc::SO_DOMAIN, libc::AF_INET) || is(libc::SO_DOMAIN, libc::AF_INET6))
}

/// Turns stamps on; bytes are numbered from here, so no byte may be in flight.
pub(super) fn turn_on(socket: BorrowedFd<'_>) -> io::Result<()> {
    // Numbers count bytes written, not acknowledged. With nothing in flight both are equal; refused before Linux 6.2.
    match set(socket, WANTED | libc::SOF_TIMESTAMPING_OPT_ID_TCP) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => set(socket, WANTED),
        other => other,
    }
}

/// Stamps received packets only.
pub(super) fn stamp_received_only(socket: BorrowedFd<'_>) -> io::Result<()> {
    set(socket, libc::SOF_TIMESTAMPING_RX_SOFTWARE | libc::SOF_TIMESTAMPING_SOFTWARE)
}

fn set(socket: BorrowedFd<'_>, flags: c_uint) -> io::Result<()> {
    // SAFETY: `flags` lives through the call, which reads its size.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_TIMESTAMPING,
            (&raw const flags).cast(),
            size_of_val(&flags) as libc::socklen_t,
        )
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Reads an option of at most the size of `value`, and returns it.
fn option<const N: usize>(
    socket: BorrowedFd<'_>,
    level: c_int,
    name: c_int,
    value: &mut [u8; N],
) -> io::Result<[u8; N]> {
    let mut length = N as libc::socklen_t;
    // SAFETY: `value` has `length` bytes and both live through the call.
    let result = unsafe {
        libc::getsockopt(socket.as_raw_fd(), level, name, value.as_mut_ptr().cast(), &raw mut length)
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(*value) }
}

/// The shortest round trip that TCP measured on this socket in the last minutes (`tcpi_min_rtt`, whole microseconds).
pub(super) fn round_trip(socket: BorrowedFd<'_>) -> Option<Nanoseconds> {
    /// Its offset in `struct tcp_info` of linux/tcp.h.
    const MIN_RTT: usize = 148;
    let info = option(socket, libc::IPPROTO_TCP, libc::TCP_INFO, &mut [0; MIN_RTT + 4]).ok()?;
    let micros = u32::from_ne_bytes([info[MIN_RTT], info[MIN_RTT + 1], info[MIN_RTT + 2], info[MIN_RTT + 3]]);
    // All ones before the first; zero if an old kernel fills less.
    (micros != u32::MAX && micros != 0).then(|| Nanoseconds::from_micros(u64::from(micros)))
}

/// Reads received bytes and their control messages; returns how many bytes of each. No bytes mean the end.
pub(super) fn receive(
    socket: BorrowedFd<'_>,
    into: &mut [u8],
    control: &mut ControlBuffer,
) -> io::Result<(usize, usize)> {
    message(socket, into, control, 0)
}

/// Takes one entry off the error queue; returns how many bytes its control messages have. `WouldBlock` if there is
/// none.
pub(super) fn take_error(socket: BorrowedFd<'_>, control: &mut ControlBuffer) -> io::Result<usize> {
    message(socket, &mut [], control, libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT).map(|(_, length)| length)
}

fn message(
    socket: BorrowedFd<'_>,
    into: &mut [u8],
    control: &mut ControlBuffer,
    flags: c_int,
) -> io::Result<(usize, usize)> {
    let mut part = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    // SAFETY: null pointers with lengths of zero are a message header that asks for nothing.
    let mut header: libc::msghdr = unsafe { zeroed() };
    header.msg_iov = &raw mut part;
    header.msg_iovlen = 1;
    header.msg_control = control.as_mut_ptr().cast();
    header.msg_controllen = size_of::<ControlBuffer>() as _;
    // SAFETY: the header points to one part of `into` and to `control` with their lengths, all alive through the call.
    // Called directly: the C library's wrapper first declares the thread cancellable.
    let result = unsafe { libc::syscall(libc::SYS_recvmsg, socket.as_raw_fd(), &raw mut header, flags) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok((result as usize, (header.msg_controllen as usize).min(CONTROL)))
}

/// The wall clock, on which the kernel stamps, in nanoseconds since 1970.
pub(super) fn wall_clock() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` lives through the call, which fills it; the clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_REALTIME, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stamps::control::{Control, WallTime, read};
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, Ipv6Addr, TcpListener, TcpStream};
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    /// The same by the C library's macros.
    fn by_macros(control: &ControlBuffer, length: usize) -> Control {
        let mut parsed = Control::default();
        // SAFETY: null pointers with lengths of zero are a message header that asks for nothing.
        let mut header: libc::msghdr = unsafe { zeroed() };
        header.msg_control = control.as_ptr().cast_mut().cast();
        header.msg_controllen = length as _;
        // SAFETY: the header names `length` bytes of `control` that the kernel filled, which live through the walk; the
        // content of each message has the type that its level and kind say, and is copied out without alignment.
        unsafe {
            let mut message = libc::CMSG_FIRSTHDR(&raw const header);
            while !message.is_null() {
                let content = libc::CMSG_DATA(message);
                match ((*message).cmsg_level, (*message).cmsg_type) {
                    (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING) => {
                        let time: libc::timespec = content.cast::<libc::timespec>().read_unaligned();
                        parsed.stamp =
                            Some(WallTime(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64));
                    }
                    (libc::IPPROTO_IP, libc::IP_RECVERR) | (libc::IPPROTO_IPV6, libc::IPV6_RECVERR) => {
                        let error: libc::sock_extended_err =
                            content.cast::<libc::sock_extended_err>().read_unaligned();
                        parsed.departed = Some(error.ee_data);
                    }
                    other => panic!("a message of kind {other:?}"),
                }
                message = libc::CMSG_NXTHDR(&raw const header, message);
            }
        }
        parsed
    }

    fn pair(listener: TcpListener) -> (TcpStream, TcpStream) {
        let client = TcpStream::connect(listener.local_addr().expect("bound")).expect("connects");
        client.set_nodelay(true).expect("an option");
        (client, listener.accept().expect("accepted").0)
    }

    #[test]
    fn control_messages_are_read_as_the_c_library_does() {
        let mut listeners = vec![TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port")];
        listeners.extend(TcpListener::bind((Ipv6Addr::LOCALHOST, 0)));
        for listener in listeners {
            let (mut client, mut server) = pair(listener);
            assert!(is_tcp(client.as_fd()));
            turn_on(client.as_fd()).expect("this kernel stamps");
            let mut last = 0;
            for length in [100, 1, 70_000] {
                let before = wall_clock();
                client.write_all(&vec![b'x'; length]).expect("written");
                server.read_exact(&mut vec![0; length]).expect("received");
                last += length as u32;
                let mut control = NO_CONTROL;
                let mut parsed = Control::default();
                // A long write may take more than one call, each with its stamp.
                while parsed.departed != Some(last - 1) {
                    let filled = take_error(client.as_fd(), &mut control).expect("a stamp");
                    parsed = read(&control[..filled]);
                    assert_eq!(parsed, by_macros(&control, filled));
                }
                let departed = parsed.stamp.expect("a stamp");
                assert!((before..=wall_clock()).contains(&departed.0), "{before} {departed:?}");
                let empty = take_error(client.as_fd(), &mut control).expect_err("one entry a write");
                assert_eq!(empty.kind(), io::ErrorKind::WouldBlock);

                server.write_all(b"hello").expect("answered");
                let (mut bytes, mut control) = ([0; 100], NO_CONTROL);
                let (count, filled) = receive(client.as_fd(), &mut bytes, &mut control).expect("received");
                assert_eq!(&bytes[..count], b"hello");
                let parsed = read(&control[..filled]);
                assert_eq!(parsed, by_macros(&control, filled));
                assert!(parsed.stamp.is_none_or(|arrived| arrived > departed), "{parsed:?} {departed:?}");
            }
            assert!(round_trip(client.as_fd()).is_some());
        }
    }

    #[test]
    fn unix_sockets_are_distinguished() {
        let (one, _other) = UnixStream::pair().expect("a pair");
        assert!(!is_tcp(one.as_fd()));
        assert_eq!(round_trip(one.as_fd()), None);
    }
}
