//! A buffer for one frame in the kernel's format: its `virtio_net_hdr`, then the frame.
//!
//! That header describes pending offloads: which checksum to compute, and into which segments to cut a frame
//! of up to 64 KiB. It is passed on with the frame, so that neither end notices.

/// Length of the `virtio_net_hdr` of a packet socket (linux/virtio_net.h).
pub(super) const OFFLOAD_HEADER: usize = 10;
/// Bytes of both addresses of an Ethernet frame; a VLAN tag follows them.
const ADDRESSES: usize = 12;
/// Length of a VLAN tag.
const TAG: usize = 4;
/// Bytes of the largest frame that TCP sends by default (`gso_max_size`), with addresses, type, and preceding
/// headers.
const ROOM: usize = TAG + OFFLOAD_HEADER + ADDRESSES + TAG + 2 + 65_536;

/// `VIRTIO_NET_HDR_F_NEEDS_CSUM`: a checksum must be computed from `csum_start` on.
const NEEDS_CHECKSUM: u8 = 1;
/// Offset of `gso_type`; its value is 0 if the frame is one packet.
const SEGMENTATION: usize = 1;
/// Offset of `hdr_len`: two bytes in native order.
const HEADER_LENGTH: usize = 2;
/// Offset of `csum_start`.
const CHECKSUM_START: usize = 6;

/// A VLAN tag, which the kernel removes from a received frame and reports separately.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct VlanTag {
    /// Its protocol, such as 0x8100.
    pub protocol: u16,
    /// Priority and number.
    pub control: u16,
}

/// A buffer for one frame, and the frame in it.
#[derive(Debug)]
pub(super) struct Frame {
    room: Box<[u8]>,
    /// Offset of the header. The space before it allows inserting a tag.
    start: usize,
    end: usize,
}

impl Frame {
    /// An empty buffer. The kernel allocates its pages as they are written.
    pub fn new() -> Self {
        Self { room: vec![0; ROOM].into_boxed_slice(), start: TAG, end: TAG }
    }

    /// Where to write header and frame.
    pub fn room(&mut self) -> &mut [u8] {
        self.start = TAG;
        self.end = TAG;
        &mut self.room[TAG..]
    }

    /// Declares that `length` bytes were written to [`Self::room`], and reinserts the removed tag.
    pub fn fill(&mut self, length: usize, tag: Option<VlanTag>) {
        self.end = (TAG + length).min(self.room.len());
        let moved = OFFLOAD_HEADER + ADDRESSES;
        let Some(tag) = tag.filter(|_| self.end >= TAG + moved) else { return };
        self.room.copy_within(TAG..TAG + moved, 0);
        self.room[moved..moved + 2].copy_from_slice(&tag.protocol.to_be_bytes());
        self.room[moved + 2..moved + TAG].copy_from_slice(&tag.control.to_be_bytes());
        self.start = 0;
        if self.room[0] & NEEDS_CHECKSUM != 0 {
            self.add_at(CHECKSUM_START);
        }
        if self.is_super() {
            self.add_at(HEADER_LENGTH);
        }
    }

    /// Adds the tag's length to a field of the header.
    fn add_at(&mut self, at: usize) {
        let field = [self.room[at], self.room[at + 1]];
        let longer = u16::from_ne_bytes(field).saturating_add(TAG as u16);
        self.room[at..at + 2].copy_from_slice(&longer.to_ne_bytes());
    }

    /// Header and frame.
    pub fn bytes(&self) -> &[u8] {
        &self.room[self.start..self.end]
    }

    /// Length of the Ethernet frame, without preamble and checksum.
    pub fn length(&self) -> usize {
        (self.end - self.start).saturating_sub(OFFLOAD_HEADER)
    }

    /// Whether it combines several packets that are still to be segmented.
    pub fn is_super(&self) -> bool {
        self.end > self.start + SEGMENTATION && self.room[self.start + SEGMENTATION] != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header with these fields, and a frame of addresses, type and payload.
    fn given(flags: u8, segmentation: u8, payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![flags, segmentation];
        for field in [54_u16, 1448, 34, 16] {
            bytes.extend(field.to_ne_bytes());
        }
        bytes.extend(*b"bbbbbbaaaaaa\x08\x00");
        bytes.extend(payload);
        bytes
    }

    fn filled(bytes: &[u8], tag: Option<VlanTag>) -> Frame {
        let mut frame = Frame::new();
        frame.room()[..bytes.len()].copy_from_slice(bytes);
        frame.fill(bytes.len(), tag);
        frame
    }

    #[test]
    fn a_frame_has_the_bytes_that_were_put_in() {
        let bytes = given(1, 0, b"payload");
        let frame = filled(&bytes, None);
        assert_eq!(frame.bytes(), bytes);
        assert_eq!((frame.length(), frame.is_super()), (14 + 7, false));
        assert!(filled(&given(1, 1, b"payload"), None).is_super());
    }

    #[test]
    fn a_tag_is_reinserted_and_offsets_behind_it_move() {
        let tag = Some(VlanTag { protocol: 0x8100, control: 0x2064 });
        let frame = filled(&given(1, 1, b"payload"), tag);
        assert_eq!(&frame.bytes()[OFFLOAD_HEADER..], b"bbbbbbaaaaaa\x81\x00\x20\x64\x08\x00payload");
        assert_eq!((frame.length(), frame.is_super()), (14 + 4 + 7, true));
        let field = |at: usize| u16::from_ne_bytes([frame.bytes()[at], frame.bytes()[at + 1]]);
        assert_eq!([2, 4, 6, 8].map(field), [58, 1448, 38, 16]);
        // Without a checksum to compute, no offset changes.
        let plain = filled(&given(0, 0, b"payload"), tag);
        assert_eq!(plain.bytes()[..OFFLOAD_HEADER], given(0, 0, b"")[..OFFLOAD_HEADER]);
    }

    #[test]
    fn a_reused_buffer_is_as_new() {
        let mut frame = filled(&given(0, 0, b"payload"), Some(VlanTag { protocol: 0x8100, control: 1 }));
        let bytes = given(0, 0, b"other");
        frame.room()[..bytes.len()].copy_from_slice(&bytes);
        frame.fill(bytes.len(), None);
        assert_eq!(frame.bytes(), bytes);
        // A frame that is too short to have addresses gets no tag.
        frame.fill(OFFLOAD_HEADER + 3, Some(VlanTag { protocol: 0x8100, control: 1 }));
        assert_eq!(frame.length(), 3);
        assert!(Frame::new().room().len() >= OFFLOAD_HEADER + 14 + 65_535);
    }
}
