//! gRPC's messages within a body, each preceded by five bytes: a flag and a length.
//!
//! It passes on the bytes between the prefixes and reports where each message ends. It refuses compressed messages,
//! which are never requested, and does not look into messages.

/// Longest message of a reply, in bytes; a longer one is a protocol error.
pub const MESSAGE_LIMIT: u32 = 64 << 20;

/// Bytes before each message.
pub(crate) const PREFIX: usize = 5;

/// Where in a reply's messages its next byte belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Messages {
    /// The reply has no messages, only bytes.
    None,
    /// In a prefix, of which `have` bytes have come.
    Prefix { have: u8, bytes: [u8; PREFIX] },
    /// In a message, of which `left` bytes are missing; never 0.
    Payload { left: u32 },
}

/// A piece of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MessagePiece<'a> {
    /// A piece of a message.
    Data(&'a [u8]),
    /// The end of a message.
    End,
}

/// A compressed message, or one that is too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BadMessage;

impl Messages {
    /// The state before the first message.
    pub const START: Self = Self::Prefix { have: 0, bytes: [0; PREFIX] };

    /// Whether the body may end here.
    pub fn is_whole(self) -> bool {
        matches!(self, Self::None | Self::Prefix { have: 0, .. })
    }

    /// Parses the next piece of `bytes`.
    pub fn advance(
        &mut self,
        mut bytes: &[u8],
        mut piece: impl FnMut(MessagePiece<'_>),
    ) -> Result<(), BadMessage> {
        while !bytes.is_empty() {
            match self {
                Self::None => {
                    piece(MessagePiece::Data(bytes));
                    return Ok(());
                }
                Self::Prefix { have, bytes: prefix } => {
                    let begun = usize::from(*have);
                    let count = bytes.len().min(PREFIX - begun);
                    let (now, rest) = bytes.split_at(count);
                    prefix[begun..begun + count].copy_from_slice(now);
                    *have += count as u8;
                    bytes = rest;
                    if usize::from(*have) == PREFIX {
                        *self = Self::after_prefix(*prefix)?;
                        if *self == Self::START {
                            piece(MessagePiece::End);
                        }
                    }
                }
                Self::Payload { left } => {
                    let count = bytes.len().min(*left as usize);
                    let (now, rest) = bytes.split_at(count);
                    *left -= count as u32;
                    bytes = rest;
                    let ends = *left == 0;
                    piece(MessagePiece::Data(now));
                    if ends {
                        *self = Self::START;
                        piece(MessagePiece::End);
                    }
                }
            }
        }
        Ok(())
    }

    /// The state after a whole prefix.
    fn after_prefix([compressed, length @ ..]: [u8; PREFIX]) -> Result<Self, BadMessage> {
        match u32::from_be_bytes(length) {
            length if compressed != 0 || length > MESSAGE_LIMIT => Err(BadMessage),
            0 => Ok(Self::START),
            left => Ok(Self::Payload { left }),
        }
    }
}

/// Appends a message with its prefix.
pub(crate) fn append(message: &[u8], into: &mut Vec<u8>) {
    into.push(0);
    into.extend_from_slice(&(message.len() as u32).to_be_bytes());
    into.extend_from_slice(message);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(cuts: &[&[u8]]) -> Result<(Vec<Vec<u8>>, Messages), BadMessage> {
        let (mut state, mut whole, mut open) = (Messages::START, Vec::new(), Vec::new());
        for bytes in cuts {
            state.advance(bytes, |piece| match piece {
                MessagePiece::Data(data) => open.extend_from_slice(data),
                MessagePiece::End => whole.push(std::mem::take(&mut open)),
            })?;
        }
        whole.push(open);
        Ok((whole, state))
    }

    #[test]
    fn messages_are_separated_however_they_are_cut() {
        let mut body = Vec::new();
        for message in [&b"first"[..], b"", b"third one"] {
            append(message, &mut body);
        }
        let expected = vec![b"first".to_vec(), Vec::new(), b"third one".to_vec(), Vec::new()];
        for at in 0..body.len() {
            let (left, right) = body.split_at(at);
            assert_eq!(pieces(&[left, right]), Ok((expected.clone(), Messages::START)));
        }
        let single: Vec<&[u8]> = body.chunks(1).collect();
        assert_eq!(pieces(&single), Ok((expected, Messages::START)));
    }

    #[test]
    fn a_body_may_end_only_between_messages() {
        let ends = |bytes: &[u8]| pieces(&[bytes]).expect("legal").1.is_whole();
        assert!(ends(b"") && ends(b"\0\0\0\0\x01a") && ends(b"\0\0\0\0\0"));
        assert!(!ends(b"\0") && !ends(b"\0\0\0\0\x01") && !ends(b"\0\0\0\0\x02a"));
    }

    #[test]
    fn compressed_and_overlong_messages_are_refused() {
        assert_eq!(pieces(&[b"\x01\0\0\0\x01a"]), Err(BadMessage));
        assert_eq!(pieces(&[b"\0\x04\0\0\x01"]), Err(BadMessage), "one byte above the limit");
        assert!(pieces(&[b"\0\x04\0\0\0"]).is_ok(), "the limit");
    }
}
