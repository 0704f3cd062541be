//! Control messages of the kernel, from which time stamps are read. What is told by a part of the bytes is told by all of
//! them, and what is told reads back the same from messages written anew.

use weighbridge_load::stamps::control::{Control, WallTime, read};

/// Longest buffer that is tried at every cut; the generator's own is shorter.
const LONGEST: usize = 512;

/// Reads `data` as control messages.
pub fn check(data: &[u8]) {
    let data = &data[..data.len().min(LONGEST)];
    let whole = read(data);
    let mut told = Control::default();
    for end in 0..=data.len() {
        let part = read(&data[..end]);
        assert!(told.stamp.is_none() || part.stamp == told.stamp, "{told:?}, then {part:?} at {end}");
        assert!(
            told.departed.is_none() || part.departed == told.departed,
            "{told:?}, then {part:?} at {end}"
        );
        told = part;
    }
    assert_eq!(told, whole);
    assert_eq!(read(&written(whole)), whole);
}

/// The messages that a kernel would write to say this.
fn written(control: Control) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(WallTime(nanos)) = control.stamp {
        let times = [(nanos / 1_000_000_000) as i64, (nanos % 1_000_000_000) as i64, 0, 0, 0, 0];
        let content: Vec<u8> = times.into_iter().flat_map(i64::to_ne_bytes).collect();
        message(&mut bytes, (1, 37), &content); // SOL_SOCKET, SCM_TIMESTAMPING
    }
    if let Some(byte) = control.departed {
        let enomsg = 42u32.to_ne_bytes();
        let content = [enomsg, [4, 0, 0, 0], [0; 4], byte.to_ne_bytes()].concat();
        message(&mut bytes, (41, 25), &content); // IPPROTO_IPV6, IPV6_RECVERR
    }
    bytes
}

fn message(bytes: &mut Vec<u8>, (level, kind): (i32, i32), content: &[u8]) {
    bytes.extend((size_of::<usize>() + 8 + content.len()).to_ne_bytes());
    bytes.extend(level.to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(content);
    bytes.resize(bytes.len().next_multiple_of(size_of::<usize>()), 0);
}
