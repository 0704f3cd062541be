//! The settings of each side of a connection.

use weighbridge_model::experiment::HeaderTable;

use super::flow::INITIAL;
use super::frame::{FRAME_LIMIT, Fault, LARGEST, setting};
use crate::framer::UNIT_LIMIT;

/// The scheme in requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Scheme {
    /// Cleartext.
    #[default]
    Http,
    /// Over TLS.
    Https,
}

impl Scheme {
    /// Its name in `:scheme`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }
}

/// How we use HTTP/2 on every connection of a variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Http2Settings {
    /// The scheme in requests.
    pub scheme: Scheme,
    /// How much a server may send on one stream before our next update, in bytes, at most 2³¹ − 1. A value below 65,535
    /// takes effect once the server has read our settings.
    pub stream_window: u32,
    /// The same for the whole connection, in bytes; clamped to between 65,535 and 2³¹ − 1.
    pub connection_window: u32,
    /// Whether header fields that a connection has sent are indices from then on, as far as the peer's table allows.
    pub header_table: HeaderTable,
}

impl Default for Http2Settings {
    /// 1 MiB per stream and 16 MiB per connection: a reply below half a mebibyte needs no WINDOW_UPDATE for its stream.
    fn default() -> Self {
        Self {
            scheme: Scheme::Http,
            stream_window: 1 << 20,
            connection_window: 16 << 20,
            header_table: HeaderTable::Used,
        }
    }
}

impl Http2Settings {
    /// The settings frame we send.
    pub(super) fn frame(&self) -> [(u16, u32); 3] {
        [
            (setting::ENABLE_PUSH, 0),
            (setting::INITIAL_WINDOW_SIZE, self.stream_window.min(LARGEST)),
            (setting::MAX_HEADER_LIST_SIZE, UNIT_LIMIT as u32),
        ]
    }

    /// What a server may send on the connection.
    pub(super) fn connection_limit(&self) -> u32 {
        self.connection_window.clamp(INITIAL, LARGEST)
    }
}

/// Streams that we assume the peer allows until it says how many: the minimum that RFC 9113 advises (section 6.5.2).
const STREAMS_AT_FIRST: u32 = 100;

/// The peer's settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PeerSettings {
    /// Most streams open at a time.
    pub streams: u32,
    /// The window that a stream begins with.
    pub window: u32,
    /// Longest payload of a frame.
    pub frame: usize,
    /// Whether its first SETTINGS frame has come.
    pub known: Known,
    /// What our header blocks must say about the dynamic table.
    pub table: TableSizeUpdate,
}

/// Whether the peer's settings have come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    NotYet,
    Received,
}

/// What our header blocks must say about the dynamic table. Where the peer allows less than the default it is not used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TableSizeUpdate {
    /// Nothing: the peer never asked for less than the default.
    Unsaid,
    /// The next block begins with an update to zero (RFC 7541, section 4.2).
    Due,
    /// It was set to zero, which is valid whatever the peer asks for.
    Zero,
}

impl PeerSettings {
    /// The settings before the peer's have come.
    pub fn new() -> Self {
        Self {
            streams: STREAMS_AT_FIRST,
            window: INITIAL,
            frame: FRAME_LIMIT,
            known: Known::NotYet,
            table: TableSizeUpdate::Unsaid,
        }
    }

    /// Applies a SETTINGS frame. Returns by how much the window of open streams changes.
    pub fn apply(&mut self, payload: &[u8]) -> Result<i64, Fault> {
        let (entries, []) = payload.as_chunks::<6>() else { return Err(Fault) };
        let before = i64::from(self.window);
        if self.known == Known::NotYet {
            self.known = Known::Received;
            self.streams = u32::MAX;
        }
        for [a, b, value @ ..] in entries {
            let value = u32::from_be_bytes(*value);
            match u16::from_be_bytes([*a, *b]) {
                setting::HEADER_TABLE_SIZE if value < 4096 && self.table == TableSizeUpdate::Unsaid => {
                    self.table = TableSizeUpdate::Due;
                }
                // A server must not enable push.
                setting::ENABLE_PUSH if value != 0 => return Err(Fault),
                setting::MAX_CONCURRENT_STREAMS => self.streams = value,
                setting::INITIAL_WINDOW_SIZE if value > LARGEST => return Err(Fault),
                setting::INITIAL_WINDOW_SIZE => self.window = value,
                setting::MAX_FRAME_SIZE if !(FRAME_LIMIT as u32..1 << 24).contains(&value) => {
                    return Err(Fault);
                }
                setting::MAX_FRAME_SIZE => self.frame = value as usize,
                _ => {}
            }
        }
        Ok(i64::from(self.window) - before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(entries: &[(u16, u32)]) -> Result<(i64, PeerSettings), Fault> {
        let payload: Vec<u8> = entries
            .iter()
            .flat_map(|(id, value)| [&id.to_be_bytes()[..], &value.to_be_bytes()].concat())
            .collect();
        let mut settings = PeerSettings::new();
        settings.apply(&payload).map(|change| (change, settings))
    }

    #[test]
    fn every_setting_is_taken_over_and_unknown_ones_are_ignored() {
        let (change, settings) =
            applied(&[(1, 0), (2, 0), (3, 7), (4, 70_000), (5, 20_000), (6, 5), (0x99, 1)]).expect("legal");
        assert_eq!(change, 70_000 - 65_535);
        assert_eq!((settings.streams, settings.window, settings.frame), (7, 70_000, 20_000));
        assert_eq!((settings.known, settings.table), (Known::Received, TableSizeUpdate::Due));
        let (change, settings) = applied(&[]).expect("legal");
        assert_eq!((change, settings.streams, settings.table), (0, u32::MAX, TableSizeUpdate::Unsaid));
    }

    #[test]
    fn values_out_of_bounds_are_faults() {
        for entry in [(2, 1), (4, 1 << 31), (5, 16_383), (5, 1 << 24)] {
            assert_eq!(applied(&[entry]), Err(Fault), "{entry:?}");
        }
        assert_eq!(PeerSettings::new().apply(&[0; 5]), Err(Fault));
    }
}
