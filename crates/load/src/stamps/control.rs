//! Reads from the control messages of `recvmsg` a time stamp, and the number of the byte whose departure it reports.
//!
//! A pure parser of the bytes that the kernel wrote, in the layout of the running machine. It makes no system call, and
//! trusts no length.

use std::mem::size_of;

/// A moment on the wall clock (`CLOCK_REALTIME`), in nanoseconds since 1970, as the kernel stamps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct WallTime(pub u64);

/// The contents of a packet's control messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Control {
    /// When it was received or sent; the first such stamp.
    pub stamp: Option<WallTime>,
    /// The number of its last byte, counted modulo 2³² from the moment stamps were turned on, if the stamp is of its
    /// departure to the driver.
    pub departed: Option<u32>,
}

/// `cmsg_len`, `cmsg_level`, `cmsg_type`.
const HEADER: usize = size_of::<usize>() + 8;
/// Three times: by software, unused, by hardware.
const STAMPS: usize = 48;
/// `struct sock_extended_err`.
const EXTENDED_ERROR: usize = 16;
/// `SCM_TSTAMP_SND`: the packet was handed to the driver.
const DEPARTED: u32 = 0;

/// Reads control messages up to the first incomplete one.
pub fn read(mut bytes: &[u8]) -> Control {
    let mut control = Control::default();
    while let Some(length) = bytes.first_chunk().map(|length| usize::from_ne_bytes(*length)) {
        if length < HEADER || length > bytes.len() {
            break;
        }
        let (level, kind) = (word(bytes, HEADER - 8), word(bytes, HEADER - 4));
        let content = &bytes[HEADER..length];
        match (level as i32, kind as i32) {
            (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING) => control.stamp = control.stamp.or(stamp(content)),
            (libc::IPPROTO_IP, libc::IP_RECVERR) | (libc::IPPROTO_IPV6, libc::IPV6_RECVERR) => {
                control.departed = control.departed.or(departed(content));
            }
            _ => {}
        }
        let next = length.next_multiple_of(size_of::<usize>());
        bytes = bytes.get(next..).unwrap_or_default();
    }
    control
}

/// The software stamp; the kernel writes zero if it has none.
fn stamp(content: &[u8]) -> Option<WallTime> {
    if content.len() < STAMPS {
        return None;
    }
    let long = |at: usize| content[at..at + 8].try_into().ok().map(i64::from_ne_bytes);
    let (seconds, nanos) = (u64::try_from(long(0)?).ok()?, u64::try_from(long(8)?).ok()?);
    if (seconds, nanos) == (0, 0) || nanos >= 1_000_000_000 {
        return None;
    }
    seconds.checked_mul(1_000_000_000)?.checked_add(nanos).map(WallTime)
}

/// The byte whose departure is reported, if this is such a report.
fn departed(content: &[u8]) -> Option<u32> {
    let error = content.get(..EXTENDED_ERROR)?;
    let (number, origin, what, byte) = (word(error, 0), error[4], word(error, 8), word(error, 12));
    let is_stamp = number == libc::ENOMSG as u32 && origin == libc::SO_EE_ORIGIN_TIMESTAMPING;
    (is_stamp && what == DEPARTED).then_some(byte)
}

/// The word at `at`, which must exist.
fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(level: i32, kind: i32, content: &[u8]) -> Vec<u8> {
        let mut bytes = (HEADER + content.len()).to_ne_bytes().to_vec();
        bytes.extend(level.to_ne_bytes());
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(content);
        bytes.resize(bytes.len().next_multiple_of(size_of::<usize>()), 0);
        bytes
    }

    fn stamped(seconds: i64, nanos: i64) -> Vec<u8> {
        let times = [seconds, nanos, 0, 0, 0, 0];
        let content: Vec<u8> = times.into_iter().flat_map(i64::to_ne_bytes).collect();
        message(libc::SOL_SOCKET, libc::SCM_TIMESTAMPING, &content)
    }

    fn departure(what: u32, byte: u32) -> Vec<u8> {
        let mut content = (libc::ENOMSG as u32).to_ne_bytes().to_vec();
        content.extend([libc::SO_EE_ORIGIN_TIMESTAMPING, 0, 0, 0]);
        content.extend(what.to_ne_bytes());
        content.extend(byte.to_ne_bytes());
        content.extend([0; 16]);
        message(libc::IPPROTO_IP, libc::IP_RECVERR, &content)
    }

    #[test]
    fn a_stamp_and_its_byte_are_found_among_other_messages() {
        let other = message(libc::SOL_SOCKET, libc::SCM_RIGHTS, &[1, 2, 3]);
        let bytes = [other, stamped(1_700_000_000, 5), departure(DEPARTED, 99)].concat();
        let stamp = Some(WallTime(1_700_000_000_000_000_005));
        assert_eq!(read(&bytes), Control { stamp, departed: Some(99) });
        // However it is cut, nothing else is reported.
        for end in 0..bytes.len() {
            let cut = read(&bytes[..end]);
            assert!(cut.stamp.is_none() || cut.stamp == stamp, "{end}");
            assert_eq!(cut.departed, None, "{end}");
        }
    }

    #[test]
    fn other_messages_and_invalid_times_are_ignored() {
        let (queued, acknowledged) = (1, 2);
        for what in [queued, acknowledged, u32::MAX] {
            assert_eq!(read(&departure(what, 7)).departed, None);
        }
        for (seconds, nanos) in [(0, 0), (-1, 0), (1, -1), (1, 1_000_000_000), (i64::MAX, 0)] {
            assert_eq!(read(&stamped(seconds, nanos)).stamp, None, "{seconds} {nanos}");
        }
        let mut long = stamped(1, 1);
        long[..size_of::<usize>()].copy_from_slice(&usize::MAX.to_ne_bytes());
        assert_eq!(read(&long), Control::default());
    }
}
