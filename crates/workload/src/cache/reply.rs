//! What a reply means, whatever carries it, and its value as it arrives.

use super::value::{Arriving, LetterBlock};

/// How replies are carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Carrier {
    /// A status, and of gets a JSON object `{"key", "value"}`.
    Rest,
    /// A status of ours, and the bytes of values.
    Commands,
}

/// What a good reply says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReplyMeaning {
    /// There is a value, it was stored, or it was deleted.
    Done,
    /// There is none.
    Nothing,
    /// A value was not stored, since nothing is evicted to make room.
    Refused,
}

/// A JSON object with the texts `key` and `value`, member by member, as it arrives. Values of this workload need no escapes,
/// nor do its keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct JsonReply {
    place: JsonPlace,
    member: Member,
    /// The letters of the current member's name, or of the key, that have come.
    letters: usize,
    has_key: bool,
    has_value: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum JsonPlace {
    Open,
    /// Before a member's name, or the end of an empty object.
    Name,
    InName,
    Colon,
    /// Before a member's text.
    Text,
    InText,
    Comma,
    End,
    Wrong,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Member {
    Unknown,
    Key,
    Value,
}

impl JsonReply {
    pub const NOTHING: Self = Self {
        place: JsonPlace::Open,
        member: Member::Unknown,
        letters: 0,
        has_key: false,
        has_value: false,
    };

    /// The next piece; `value` gets the value's bytes.
    pub fn piece(&mut self, mut bytes: &[u8], key: &[u8], mut value: impl FnMut(&[u8])) {
        while let Some((&byte, rest)) = bytes.split_first() {
            if matches!(self.place, JsonPlace::InName | JsonPlace::InText) {
                let end = bytes.iter().position(|byte| matches!(byte, b'"' | b'\\'));
                let text = &bytes[..end.unwrap_or(bytes.len())];
                self.text(text, key, &mut value);
                let Some(end) = end else { return };
                if bytes[end] == b'\\' {
                    self.place = JsonPlace::Wrong;
                } else if self.place != JsonPlace::Wrong {
                    self.close(key);
                }
                bytes = &bytes[end + 1..];
                continue;
            }
            if !byte.is_ascii_whitespace() {
                self.place = self.after(byte);
            }
            bytes = rest;
        }
    }

    fn after(&mut self, byte: u8) -> JsonPlace {
        match (self.place, byte) {
            (JsonPlace::Open, b'{') => JsonPlace::Name,
            (JsonPlace::Name, b'"') => {
                (self.member, self.letters) = (Member::Unknown, 0);
                JsonPlace::InName
            }
            (JsonPlace::Colon, b':') => JsonPlace::Text,
            (JsonPlace::Text, b'"') => {
                self.letters = 0;
                JsonPlace::InText
            }
            (JsonPlace::Comma, b',') => JsonPlace::Name,
            (JsonPlace::Comma, b'}') => JsonPlace::End,
            _ => JsonPlace::Wrong,
        }
    }

    /// More letters of a name or a text.
    fn text(&mut self, text: &[u8], key: &[u8], value: &mut impl FnMut(&[u8])) {
        let at = self.letters;
        self.letters += text.len();
        let is_part = |whole: &[u8]| whole.get(at..at + text.len()) == Some(text);
        match (self.place, self.member) {
            (JsonPlace::InName, member) => {
                let is_empty = at == 0;
                self.member = match member {
                    Member::Key | Member::Unknown
                        if is_part(b"key") && (is_empty || member == Member::Key) =>
                    {
                        Member::Key
                    }
                    Member::Value | Member::Unknown
                        if is_part(b"value") && (is_empty || member == Member::Value) =>
                    {
                        Member::Value
                    }
                    _ => Member::Unknown,
                };
            }
            (_, Member::Key) if !is_part(key) => self.place = JsonPlace::Wrong,
            (_, Member::Value) => value(text),
            (_, Member::Key | Member::Unknown) => {}
        }
    }

    /// The end of a name or a text.
    fn close(&mut self, key: &[u8]) {
        let length = self.letters;
        self.place = match (self.place, self.member) {
            (JsonPlace::InName, Member::Key) if length != b"key".len() || self.has_key => JsonPlace::Wrong,
            (JsonPlace::InName, Member::Value) if length != b"value".len() || self.has_value => {
                JsonPlace::Wrong
            }
            (JsonPlace::InName, _) => JsonPlace::Colon,
            (_, Member::Key) if length != key.len() => JsonPlace::Wrong,
            (_, member) => {
                self.has_key |= member == Member::Key;
                self.has_value |= member == Member::Value;
                JsonPlace::Comma
            }
        };
    }

    /// Whether it is a whole object with the key that was asked for and a value.
    pub fn is_whole(&self) -> bool {
        self.place == JsonPlace::End && self.has_key && self.has_value
    }
}

/// The value of a reply as it arrives.
#[derive(Debug, Clone, Copy)]
pub(super) struct ValueReply {
    carrier: Carrier,
    json: JsonReply,
    pub value: Arriving,
}

impl ValueReply {
    pub const fn new(carrier: Carrier) -> Self {
        Self { carrier, json: JsonReply::NOTHING, value: Arriving::NOTHING }
    }

    pub fn piece(&mut self, block: &LetterBlock, key: &[u8], bytes: &[u8]) {
        let Self { carrier, json, value } = self;
        match carrier {
            Carrier::Rest => json.piece(bytes, key, |bytes| value.piece(block, bytes)),
            Carrier::Commands => value.piece(block, bytes),
        }
    }

    /// Whether what is around the value is right.
    pub fn is_whole(&self) -> bool {
        self.carrier == Carrier::Commands || self.json.is_whole()
    }
}
