//! The packet relay's system calls, each behind a safe function: packet sockets, batches of frames, waits
//! with nanosecond timeouts, signals as a descriptor.
//!
//! The relay's only module with `unsafe`. It decides nothing.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use rustix::net::{AddressFamily, SocketType};
use rustix::time::{ClockId, clock_gettime};
use weighbridge_model::quantity::Nanoseconds;

use super::frame::{Frame, VlanTag};

/// The most frames that one call receives or sends.
pub(super) const BATCH: usize = 32;

/// Bytes of frames, with the kernel's overhead for each, that a socket may hold unread or unsent: several
/// times what arrives at 10 Gbit/s while the relay is delayed by 10 ms. It is a limit and reserves nothing.
const SOCKET_BUFFER: libc::c_int = 64 << 20;

/// From linux/if_packet.h; `libc` has it for some C libraries only.
const PACKET_AUXDATA: libc::c_int = 8;
/// Like `PACKET_AUXDATA`.
const PACKET_VNET_HDR: libc::c_int = 15;
/// Like `PACKET_AUXDATA`. It keeps frames that another socket sends over the interface from being received.
const PACKET_IGNORE_OUTGOING: libc::c_int = 23;

/// Properties of an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Link {
    /// The largest packet without its Ethernet header.
    pub mtu: u32,
    /// Whether it carries anything.
    pub is_up: bool,
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn owned(result: libc::c_int) -> io::Result<OwnedFd> {
    check(result)?;
    // SAFETY: the kernel returned a new descriptor that nothing else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(result) })
}

fn set<T>(socket: &OwnedFd, level: libc::c_int, option: libc::c_int, value: &T) -> io::Result<()> {
    let length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the pointer and the length are those of `value`, which the kernel only reads.
    check(unsafe {
        libc::setsockopt(socket.as_raw_fd(), level, option, std::ptr::from_ref(value).cast(), length)
    })
}

/// The index of an interface in this thread's network namespace.
pub(super) fn interface_index(name: &str) -> io::Result<u32> {
    let any = rustix::net::socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    Ok(rustix::net::netdevice::name_to_index(any, name)?)
}

/// A packet socket without a protocol, which receives nothing yet. It fails without CAP_NET_RAW.
pub(super) fn packet_socket() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: takes plain numbers.
    owned(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })
}

/// Makes the socket receive every frame that comes in by an interface, for any receiver, with its offload
/// header and VLAN tag, and none that goes out.
pub(super) fn attach(socket: &OwnedFd, interface: u32) -> io::Result<()> {
    let on: libc::c_int = 1;
    set(socket, libc::SOL_PACKET, PACKET_VNET_HDR, &on)?;
    set(socket, libc::SOL_PACKET, PACKET_AUXDATA, &on)?;
    set(socket, libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, &on)?;
    for (force, plain) in [(libc::SO_RCVBUFFORCE, libc::SO_RCVBUF), (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF)] {
        // A buffer above the system's limit needs another capability; without it the limit applies.
        set(socket, libc::SOL_SOCKET, force, &SOCKET_BUFFER)
            .or_else(|_| set(socket, libc::SOL_SOCKET, plain, &SOCKET_BUFFER))?;
    }
    // SAFETY: sockaddr_ll is plain numbers, for which zeros are a valid value.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = interface as libc::c_int;
    let length = size_of_val(&address) as libc::socklen_t;
    // SAFETY: the pointer and the length are those of `address`, which the kernel only reads.
    check(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) })?;
    let membership = libc::packet_mreq {
        mr_ifindex: interface as libc::c_int,
        mr_type: libc::PACKET_MR_PROMISC as u16,
        mr_alen: 0,
        mr_address: [0; 8],
    };
    set(socket, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &membership)
}

/// The properties of the interface with that name.
pub(super) fn link(socket: &OwnedFd, name: &str) -> io::Result<Link> {
    // SAFETY: ifreq is plain numbers, for which zeros are a valid value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if name.len() >= request.ifr_name.len() {
        return Err(io::Error::from_raw_os_error(libc::ENODEV));
    }
    for (place, byte) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *place = byte as libc::c_char;
    }
    // SAFETY: the request lives through the call and its name ends with a zero byte.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFMTU as _, &raw mut request) })?;
    // SAFETY: after SIOCGIFMTU this is the field of the union that was written.
    let mtu = u32::try_from(unsafe { request.ifr_ifru.ifru_mtu }).unwrap_or_default();
    // SAFETY: as above.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFFLAGS as _, &raw mut request) })?;
    // SAFETY: after SIOCGIFFLAGS this is the field of the union that was written.
    let flags = unsafe { request.ifr_ifru.ifru_flags };
    Ok(Link { mtu, is_up: libc::c_int::from(flags) & libc::IFF_UP != 0 })
}

/// Room for the control data of a frame: one header, and `tpacket_auxdata` of 20 bytes.
const BESIDE: usize = 64;

#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Beside([u8; BESIDE]);

/// The result of receiving one frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    /// The whole frame is in its buffer.
    Whole,
    /// The frame was longer than the buffer.
    Cut,
}

/// Receives available frames into `rooms`, at most [`BATCH`], and writes each result to `taken`. Fails with
/// [`io::ErrorKind::WouldBlock`] if none is available.
pub(super) fn receive(
    socket: &OwnedFd,
    rooms: &mut [Frame],
    taken: &mut [Taken; BATCH],
) -> io::Result<usize> {
    let count = rooms.len().min(BATCH);
    let mut beside = [Beside([0; BESIDE]); BATCH];
    let mut vectors = [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; BATCH];
    // SAFETY: mmsghdr is pointers and numbers, for which zeros are a valid value.
    let mut messages: [libc::mmsghdr; BATCH] = unsafe { std::mem::zeroed() };
    for (index, frame) in rooms.iter_mut().take(count).enumerate() {
        let room = frame.room();
        vectors[index] = libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: room.len() };
        let header = &mut messages[index].msg_hdr;
        header.msg_iov = &raw mut vectors[index];
        header.msg_iovlen = 1;
        header.msg_control = (&raw mut beside[index]).cast();
        header.msg_controllen = BESIDE as _;
    }
    let flags = libc::MSG_DONTWAIT as _;
    // SAFETY: `count` messages whose vectors point into rooms and control buffers that outlive the call, with
    // their lengths.
    let received = unsafe {
        libc::recvmmsg(socket.as_raw_fd(), messages.as_mut_ptr(), count as _, flags, std::ptr::null_mut())
    };
    check(received)?;
    let received = (received as usize).min(count);
    for ((message, frame), taken) in messages.iter().zip(rooms).zip(taken).take(received) {
        frame.fill(message.msg_len as usize, tag(&message.msg_hdr));
        *taken = if message.msg_hdr.msg_flags & libc::MSG_TRUNC == 0 { Taken::Whole } else { Taken::Cut };
    }
    Ok(received)
}

/// The VLAN tag that the kernel removed from a frame.
fn tag(header: &libc::msghdr) -> Option<VlanTag> {
    // SAFETY: the control buffer of a message that was received outlives this call, and its length is the
    // kernel's.
    let first = unsafe { libc::CMSG_FIRSTHDR(header) };
    // SAFETY: null, or a whole header within the buffer, which is aligned for it.
    let control = unsafe { first.as_ref() }?;
    if (control.cmsg_level, control.cmsg_type) != (libc::SOL_PACKET, PACKET_AUXDATA) {
        return None;
    }
    // SAFETY: a header of this type is followed by a tpacket_auxdata, of any alignment.
    let beside = unsafe { libc::CMSG_DATA(first).cast::<libc::tpacket_auxdata>().read_unaligned() };
    if beside.tp_status & libc::TP_STATUS_VLAN_VALID == 0 {
        return None;
    }
    let named = beside.tp_status & libc::TP_STATUS_VLAN_TPID_VALID != 0;
    let protocol = if named { beside.tp_vlan_tpid } else { libc::ETH_P_8021Q as u16 };
    Some(VlanTag { protocol, control: beside.tp_vlan_tci })
}

/// Sends frames in order, at most [`BATCH`]; returns how many the interface accepted. An error is that of the
/// first frame.
pub(super) fn send(socket: &OwnedFd, frames: &[Frame]) -> io::Result<usize> {
    let count = frames.len().min(BATCH);
    let mut vectors = [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; BATCH];
    // SAFETY: mmsghdr is pointers and numbers, for which zeros are a valid value.
    let mut messages: [libc::mmsghdr; BATCH] = unsafe { std::mem::zeroed() };
    for (index, frame) in frames.iter().take(count).enumerate() {
        let bytes = frame.bytes();
        // The kernel only reads it, but the type is shared with receiving.
        vectors[index] = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
        messages[index].msg_hdr.msg_iov = &raw mut vectors[index];
        messages[index].msg_hdr.msg_iovlen = 1;
    }
    let flags = (libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL) as _;
    // SAFETY: `count` messages whose vectors point at frames that outlive the call, with their lengths.
    let sent = unsafe { libc::sendmmsg(socket.as_raw_fd(), messages.as_mut_ptr(), count as _, flags) };
    check(sent)?;
    Ok(sent as usize)
}

/// Frames that the socket had no room for since the last call.
pub(super) fn overflowed(socket: &OwnedFd) -> io::Result<u64> {
    let mut statistics = MaybeUninit::<libc::tpacket_stats>::zeroed();
    let mut length = size_of::<libc::tpacket_stats>() as libc::socklen_t;
    // SAFETY: the pointer is valid for as many bytes as `length` says.
    check(unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            statistics.as_mut_ptr().cast(),
            &raw mut length,
        )
    })?;
    // SAFETY: it was zeroed, and the kernel filled it.
    Ok(u64::from(unsafe { statistics.assume_init() }.tp_drops))
}

/// Which descriptors are readable (or at end of file, or broken), in order.
pub(super) fn wait<const N: usize>(
    from: [Option<BorrowedFd<'_>>; N],
    patience: Option<Nanoseconds>,
) -> io::Result<[bool; N]> {
    let mut watched = from.map(|fd| libc::pollfd {
        // The kernel ignores a negative descriptor.
        fd: fd.map_or(-1, |fd| fd.as_raw_fd()),
        events: libc::POLLIN,
        revents: 0,
    });
    let time = patience.map(|patience| libc::timespec {
        // Of another width in other C libraries.
        tv_sec: (patience.as_nanos() / 1_000_000_000) as _,
        tv_nsec: (patience.as_nanos() % 1_000_000_000) as libc::c_long,
    });
    let time = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: N pollfd and, unless null, one timespec, which all outlive the call; no mask of signals.
    let ready = unsafe { libc::ppoll(watched.as_mut_ptr(), N as libc::nfds_t, time, std::ptr::null()) };
    match check(ready) {
        Ok(()) => Ok(watched.map(|one| one.revents != 0)),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok([false; N]),
        Err(error) => Err(error),
    }
}

/// A descriptor that becomes readable when SIGTERM, SIGINT or SIGHUP arrives. The signals no longer kill:
/// they are blocked in the calling thread and those that it starts.
pub(super) fn termination() -> io::Result<OwnedFd> {
    let mut signals = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: sigemptyset initialises the set before it is read; all pointers are to that one live value, and
    // a null old set is allowed.
    unsafe {
        libc::sigemptyset(signals.as_mut_ptr());
        for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
            libc::sigaddset(signals.as_mut_ptr(), signal);
        }
        let error = libc::pthread_sigmask(libc::SIG_BLOCK, signals.as_ptr(), std::ptr::null_mut());
        if error != 0 {
            return Err(io::Error::from_raw_os_error(error));
        }
        owned(libc::signalfd(-1, signals.as_ptr(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK))
    }
}

/// CPU time that the calling thread has used.
pub(super) fn thread_cpu() -> Nanoseconds {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Nanoseconds::from_nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}
