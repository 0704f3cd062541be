//! Reading header blocks: the decoder with its dynamic table (RFC 7541).
//!
//! A block is read whole. Until then its fields are positions in tables and buffers, so no byte of a field that is in a
//! table is copied, and nothing is allocated once the buffers have grown. Bytes of entries that a block evicts stay
//! where they are until the next block, because the same block may refer to them.
//!
//! Content that no field may have (upper case in a name, line breaks in a value) makes the block malformed, but not
//! undecodable: the table stays in step and other replies continue.

use std::collections::VecDeque;

use httparse::{EMPTY_HEADER, Header};

use super::huffman;
use super::table::STATIC;

/// Most fields of one block; a block with more is malformed.
pub const FIELDS: usize = 1024;

/// What an entry of the table counts in addition to its bytes (RFC 7541, section 4.1).
const OVERHEAD: usize = 32;

/// Bytes that buffers may keep between blocks in addition to what the table holds.
const SLACK: usize = 8 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the header block is not HPACK; the peer is at fault")]
pub struct Undecodable;

/// Whether a decoded block is valid HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Soundness {
    /// HTTP allows every field.
    Sound,
    /// HTTP does not allow some field, or there are more than [`FIELDS`]: the message is in error.
    Malformed,
}

/// A range of a buffer.
#[derive(Debug, Clone, Copy)]
struct Span {
    at: u32,
    length: u32,
}

/// Where a name or value is stored.
#[derive(Debug, Clone, Copy)]
enum TextLocation {
    /// In the static table, at this index less one.
    Static(u8),
    /// In the dynamic table's buffers.
    Kept(Span),
    /// In the buffers of this block only.
    Passing(Span),
}

#[derive(Debug, Clone, Copy)]
struct Field {
    name: TextLocation,
    value: TextLocation,
}

/// An entry of the dynamic table.
#[derive(Debug, Clone, Copy)]
struct Entry {
    /// `None` for an invalid field.
    field: Option<Field>,
    /// The length of its name, valid or not.
    name: u32,
    size: u32,
}

/// The name of a literal.
#[derive(Debug, Clone, Copy)]
struct Name {
    /// `None` for an invalid name.
    place: Option<TextLocation>,
    length: usize,
}

/// Names and values, each appended after the one before.
#[derive(Debug, Default)]
struct Texts {
    names: String,
    values: Vec<u8>,
}

/// The state that the blocks of one connection share.
#[derive(Debug)]
pub struct Decoder {
    /// The newest entry first.
    entries: VecDeque<Entry>,
    size: usize,
    /// The size that the peer chose.
    limit: usize,
    /// The largest size that it may choose.
    allowed: usize,
    kept: Texts,
    passing: Texts,
    /// The last block's fields.
    fields: Vec<Field>,
    soundness: Soundness,
    /// The name just read, before it is validated.
    name_read: Vec<u8>,
}

/// Whether a literal goes into the dynamic table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Indexing {
    Added,
    Left,
}

impl Decoder {
    /// The decoder of a new connection, whose table may grow to `allowed` bytes.
    pub fn new(allowed: usize) -> Self {
        Self {
            entries: VecDeque::new(),
            size: 0,
            limit: allowed,
            allowed,
            kept: Texts::default(),
            passing: Texts::default(),
            fields: Vec::new(),
            soundness: Soundness::Sound,
            name_read: Vec::new(),
        }
    }

    /// Becomes the decoder of a new connection, keeping its memory.
    pub fn reset(&mut self) {
        self.entries.clear();
        (self.size, self.limit) = (0, self.allowed);
        self.kept.clear();
        self.passing.clear();
        self.fields.clear();
        self.soundness = Soundness::Sound;
    }

    /// Reads a whole block; then [`with_fields`](Self::with_fields) gives its fields.
    ///
    /// Errors: [`Undecodable`], after which the decoder must be reset.
    pub fn decode(&mut self, block: &[u8]) -> Result<Soundness, Undecodable> {
        self.fields.clear();
        self.passing.clear();
        self.forget_evicted();
        self.soundness = Soundness::Sound;
        let mut rest = block;
        let mut updates = Updates::Allowed;
        while let Some(&first) = rest.first() {
            match first {
                0x80.. => {
                    let index = integer(&mut rest, 7)?;
                    let field = self.entry(index)?;
                    self.add(field);
                }
                0x40.. => self.literal(&mut rest, 6, Indexing::Added)?,
                0x20.. => {
                    let size = integer(&mut rest, 5)?;
                    if updates == Updates::Over || size > self.allowed {
                        return Err(Undecodable);
                    }
                    self.limit = size;
                    self.evict(0);
                    continue;
                }
                _ => self.literal(&mut rest, 4, Indexing::Left)?,
            }
            updates = Updates::Over;
        }
        Ok(self.soundness)
    }

    /// Number of fields in the last block.
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// Whether the last block has no field.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// Size of the dynamic table in bytes, as HPACK counts it.
    pub fn table_size(&self) -> usize {
        self.size
    }

    /// Passes the fields of the last block, in order, to `act`.
    pub fn with_fields<R>(&self, act: impl FnOnce(&[Header<'_>]) -> R) -> R {
        // Most replies have few fields; the smallest array is the cheapest to prepare.
        match self.fields.len() {
            0..=16 => self.in_table::<16, R>(act),
            17..=128 => self.in_table::<128, R>(act),
            _ => self.in_table::<FIELDS, R>(act),
        }
    }

    fn in_table<const SIZE: usize, R>(&self, act: impl FnOnce(&[Header<'_>]) -> R) -> R {
        let mut table = [EMPTY_HEADER; SIZE];
        for (header, field) in table.iter_mut().zip(&self.fields) {
            header.name = match field.name {
                TextLocation::Static(at) => STATIC[usize::from(at)].0,
                TextLocation::Kept(span) => &self.kept.names[span.range()],
                TextLocation::Passing(span) => &self.passing.names[span.range()],
            };
            header.value = match field.value {
                TextLocation::Static(at) => STATIC[usize::from(at)].1.as_bytes(),
                TextLocation::Kept(span) => &self.kept.values[span.range()],
                TextLocation::Passing(span) => &self.passing.values[span.range()],
            };
        }
        act(&table[..self.fields.len()])
    }

    fn add(&mut self, field: Option<Field>) {
        match field {
            Some(field) if self.fields.len() < FIELDS => self.fields.push(field),
            Some(_) | None => self.soundness = Soundness::Malformed,
        }
    }

    /// The field at an index of both tables.
    fn entry(&self, index: usize) -> Result<Option<Field>, Undecodable> {
        let at = index.checked_sub(1).ok_or(Undecodable)?;
        if at < STATIC.len() {
            let place = TextLocation::Static(at as u8);
            return Ok(Some(Field { name: place, value: place }));
        }
        self.entries.get(at - STATIC.len()).map(|entry| entry.field).ok_or(Undecodable)
    }

    fn literal(&mut self, rest: &mut &[u8], prefix: u32, indexing: Indexing) -> Result<(), Undecodable> {
        let name = match integer(rest, prefix)? {
            0 => {
                self.name_read.clear();
                string(rest, &mut self.name_read)?;
                self.new_name(indexing)
            }
            index => self.known_name(index, indexing)?,
        };
        let texts = match indexing {
            Indexing::Added => &mut self.kept,
            Indexing::Left => &mut self.passing,
        };
        let at = texts.values.len();
        string(rest, &mut texts.values)?;
        let value = &texts.values[at..];
        let length = value.len();
        let sound = is_value(value);
        let value = indexing.place(Span { at: at as u32, length: length as u32 });
        let field = name.place.filter(|_| sound).map(|name| Field { name, value });
        self.add(field);
        if indexing == Indexing::Added {
            let size = (name.length + length + OVERHEAD) as u32;
            self.insert(Entry { field, size, name: name.length as u32 });
        }
        Ok(())
    }

    /// Puts the name just read where its field expects it.
    fn new_name(&mut self, indexing: Indexing) -> Name {
        let length = self.name_read.len();
        let text = std::str::from_utf8(&self.name_read).ok().filter(|name| is_name(name.as_bytes()));
        let names = match indexing {
            Indexing::Added => &mut self.kept.names,
            Indexing::Left => &mut self.passing.names,
        };
        let place = text.map(|text| {
            let at = names.len() as u32;
            names.push_str(text);
            indexing.place(Span { at, length: length as u32 })
        });
        Name { place, length }
    }

    /// The name of an entry. A dynamic name is copied for a new entry, because the old entry may be evicted first.
    fn known_name(&mut self, index: usize, indexing: Indexing) -> Result<Name, Undecodable> {
        let at = index.checked_sub(1).ok_or(Undecodable)?;
        if let Some((name, _)) = STATIC.get(at) {
            return Ok(Name { place: Some(TextLocation::Static(at as u8)), length: name.len() });
        }
        let entry = self.entries.get(at - STATIC.len()).ok_or(Undecodable)?;
        let length = entry.name as usize;
        let mut place = entry.field.map(|field| field.name);
        if let (Some(TextLocation::Kept(span)), Indexing::Added) = (place, indexing) {
            let at = self.kept.names.len() as u32;
            self.kept.names.extend_from_within(span.range());
            place = Some(TextLocation::Kept(Span { at, ..span }));
        }
        Ok(Name { place, length })
    }

    /// Adds an entry as the newest; one that is larger than the table empties it (RFC 7541, section 4.4).
    fn insert(&mut self, entry: Entry) {
        let size = entry.size as usize;
        self.evict(size);
        if size <= self.limit {
            self.entries.push_front(entry);
            self.size += size;
        }
    }

    /// Drops the oldest entries until `more` bytes fit or none is left.
    fn evict(&mut self, more: usize) {
        while self.size + more > self.limit
            && let Some(entry) = self.entries.pop_back()
        {
            self.size -= entry.size as usize;
        }
    }

    /// Compacts the buffers when they hold much more than the table.
    fn forget_evicted(&mut self) {
        if self.kept.names.len() + self.kept.values.len() <= self.size + SLACK {
            return;
        }
        let (mut names, mut values) = (self.kept.names.len(), self.kept.values.len());
        for field in self.entries.iter().filter_map(|entry| entry.field) {
            if let TextLocation::Kept(span) = field.name {
                names = names.min(span.at as usize);
            }
            if let TextLocation::Kept(span) = field.value {
                values = values.min(span.at as usize);
            }
        }
        self.kept.drain(names, values);
        for field in self.entries.iter_mut().filter_map(|entry| entry.field.as_mut()) {
            if let TextLocation::Kept(span) = &mut field.name {
                span.at -= names as u32;
            }
            if let TextLocation::Kept(span) = &mut field.value {
                span.at -= values as u32;
            }
        }
    }
}

/// Whether the table's size may still be changed: only before the first field of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Updates {
    Allowed,
    Over,
}

impl Indexing {
    /// A range of the buffers that such a literal goes into.
    fn place(self, span: Span) -> TextLocation {
        match self {
            Self::Added => TextLocation::Kept(span),
            Self::Left => TextLocation::Passing(span),
        }
    }
}

impl Span {
    fn range(self) -> std::ops::Range<usize> {
        self.at as usize..(self.at + self.length) as usize
    }
}

impl Texts {
    /// Empties the buffers and frees memory beyond the slack.
    fn clear(&mut self) {
        self.names.clear();
        self.values.clear();
        self.names.shrink_to(SLACK);
        self.values.shrink_to(SLACK);
    }

    fn drain(&mut self, names: usize, values: usize) {
        self.names.drain(..names);
        self.values.drain(..values);
        self.names.shrink_to(2 * SLACK);
        self.values.shrink_to(2 * SLACK);
    }
}

/// Reads an integer whose first byte holds `prefix` bits of it (RFC 7541, section 5.1).
fn integer(rest: &mut &[u8], prefix: u32) -> Result<usize, Undecodable> {
    let (&first, mut behind) = rest.split_first().ok_or(Undecodable)?;
    let most = (1u32 << prefix) - 1;
    let mut value = u32::from(first) & most;
    if value == most {
        let mut shift = 0;
        loop {
            let (&byte, next) = behind.split_first().ok_or(Undecodable)?;
            behind = next;
            // Four bytes hold 28 bits: no valid length or index in a block is larger.
            if shift > 21 {
                return Err(Undecodable);
            }
            value += u32::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                break;
            }
        }
    }
    *rest = behind;
    Ok(value as usize)
}

/// Reads a string, appending it to `into`.
fn string(rest: &mut &[u8], into: &mut Vec<u8>) -> Result<(), Undecodable> {
    let coded = rest.first().is_some_and(|first| first & 0x80 != 0);
    let length = integer(rest, 7)?;
    let (text, behind) = rest.split_at_checked(length).ok_or(Undecodable)?;
    *rest = behind;
    if coded {
        huffman::decode(text, into).map_err(|huffman::BadCode| Undecodable)
    } else {
        into.extend_from_slice(text);
        Ok(())
    }
}

/// Whether this is a valid name of a field, in lower case, or of a pseudo-field (RFC 9113, section 8.2.1).
fn is_name(name: &[u8]) -> bool {
    let token = name.strip_prefix(b":").unwrap_or(name);
    let plain =
        |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"!#$%&'*+-.^_`|~".contains(byte);
    !token.is_empty() && token.iter().all(plain)
}

/// Whether this is a valid field value (RFC 9113, section 8.2.1).
fn is_value(value: &[u8]) -> bool {
    let blank = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    !blank(value.first())
        && !blank(value.last())
        && !value.iter().any(|byte| matches!(byte, 0 | b'\r' | b'\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(decoder: &Decoder) -> Vec<(String, String)> {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
        decoder.with_fields(|fields| fields.iter().map(|f| (f.name.to_owned(), text(f.value))).collect())
    }

    fn bytes(hex: &str) -> Vec<u8> {
        let digits: Vec<u8> = hex.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
        let byte =
            |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).expect("hex"), 16).expect("hex");
        digits.chunks(2).map(byte).collect()
    }

    /// One block of an example, its fields and the table's size after it.
    type Step<'a> = (&'a str, &'a [(&'a str, &'a str)], usize);

    fn follow(decoder: &mut Decoder, steps: &[Step<'_>]) {
        for (hex, fields, size) in steps {
            assert_eq!(decoder.decode(&bytes(hex)), Ok(Soundness::Sound), "{hex}");
            let expected: Vec<_> = fields.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
            assert_eq!((shown(decoder), decoder.table_size()), (expected, *size), "{hex}");
        }
    }

    #[test]
    fn single_fields_are_read_as_in_appendix_c_2() {
        let mut decoder = Decoder::new(4096);
        follow(
            &mut decoder,
            &[
                (
                    "400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572",
                    &[("custom-key", "custom-header")],
                    55,
                ),
                ("040c 2f73 616d 706c 652f 7061 7468", &[(":path", "/sample/path")], 55),
                ("1008 7061 7373 776f 7264 0673 6563 7265 74", &[("password", "secret")], 55),
                ("82", &[(":method", "GET")], 55),
            ],
        );
    }

    const FIRST: &[(&str, &str)] =
        &[(":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "www.example.com")];
    const SECOND: &[(&str, &str)] = &[
        (":method", "GET"),
        (":scheme", "http"),
        (":path", "/"),
        (":authority", "www.example.com"),
        ("cache-control", "no-cache"),
    ];
    const THIRD: &[(&str, &str)] = &[
        (":method", "GET"),
        (":scheme", "https"),
        (":path", "/index.html"),
        (":authority", "www.example.com"),
        ("custom-key", "custom-value"),
    ];

    #[test]
    fn requests_without_huffman_are_read_as_in_appendix_c_3() {
        follow(
            &mut Decoder::new(4096),
            &[
                ("8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d", FIRST, 57),
                ("8286 84be 5808 6e6f 2d63 6163 6865", SECOND, 110),
                ("8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65", THIRD, 164),
            ],
        );
    }

    #[test]
    fn requests_with_huffman_are_read_as_in_appendix_c_4() {
        follow(
            &mut Decoder::new(4096),
            &[
                ("8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff", FIRST, 57),
                ("8286 84be 5886 a8eb 1064 9cbf", SECOND, 110),
                ("8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf", THIRD, 164),
            ],
        );
    }

    const DATES: [&str; 2] = ["Mon, 21 Oct 2013 20:13:21 GMT", "Mon, 21 Oct 2013 20:13:22 GMT"];
    const PLACE: &str = "https://www.example.com";
    const COOKIE: &str = "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1";

    /// The replies of appendices C.5 and C.6: the same fields and evictions, with and without Huffman coding.
    fn replies(coded: [&str; 3]) {
        let head = |status, date| {
            [(":status", status), ("cache-control", "private"), ("date", date), ("location", PLACE)]
        };
        let third = [
            (":status", "200"),
            ("cache-control", "private"),
            ("date", DATES[1]),
            ("location", PLACE),
            ("content-encoding", "gzip"),
            ("set-cookie", COOKIE),
        ];
        follow(
            &mut Decoder::new(256),
            &[
                (coded[0], &head("302", DATES[0]), 222),
                (coded[1], &head("307", DATES[0]), 222),
                (coded[2], &third, 215),
            ],
        );
    }

    #[test]
    fn replies_without_huffman_are_read_as_in_appendix_c_5() {
        replies([
            "4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a \
             3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
            "4803 3330 37c1 c0bf",
            "88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 \
             677a 6970 7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 \
             553b 206d 6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e 3d31",
        ]);
    }

    #[test]
    fn replies_with_huffman_are_read_as_in_appendix_c_6() {
        replies([
            "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e \
             919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
            "4883 640e ffc1 c0bf",
            "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 \
             821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed \
             4ee5 b106 3d50 07",
        ]);
    }

    #[test]
    fn what_is_not_hpack_is_undecodable() {
        let refused = |hex: &str| {
            assert_eq!(Decoder::new(4096).decode(&bytes(hex)), Err(Undecodable), "{hex}");
        };
        refused("80"); // index 0
        refused("be"); // index 62 of an empty table
        refused("00 85 61"); // a string longer than the block
        refused("40"); // a literal without a name
        refused("ff ff ff ff ff 7f"); // an index beyond any table
        refused("3f e2 1f"); // a table of 4,097 bytes
        refused("82 20"); // a size update after a field
        refused("00 81 ff 00"); // a name that is only padding
    }

    #[test]
    fn invalid_fields_are_malformed_and_leave_the_table_in_step() {
        for (name, value) in
            [("X", "1"), ("", "1"), ("a b", "1"), ("a", " 1"), ("a", "1\t"), ("a", "1\r\nb: 2")]
        {
            let mut decoder = Decoder::new(4096);
            let mut block = vec![0x40, name.len() as u8];
            block.extend_from_slice(name.as_bytes());
            block.push(value.len() as u8);
            block.extend_from_slice(value.as_bytes());
            assert_eq!(decoder.decode(&block), Ok(Soundness::Malformed), "{name:?}: {value:?}");
            assert_eq!(decoder.table_size(), name.len() + value.len() + 32);
            assert_eq!(decoder.decode(&[0xbe]), Ok(Soundness::Malformed), "the entry is remembered as such");
            assert_eq!(decoder.decode(&[0x88]), Ok(Soundness::Sound));
        }
    }

    #[test]
    fn a_size_update_and_a_too_large_entry_empty_the_table() {
        let mut decoder = Decoder::new(4096);
        follow(&mut decoder, &[("4001 6101 62", &[("a", "b")], 34)]);
        assert_eq!(decoder.decode(&[0x20, 0x3f, 0x09, 0x82]), Ok(Soundness::Sound));
        assert_eq!(decoder.table_size(), 0);
        // 40 bytes: an entry of 34 fits, one of 41 empties the table.
        follow(
            &mut decoder,
            &[
                ("4001 6101 62", &[("a", "b")], 34),
                ("4001 6108 3132 3334 3536 3738", &[("a", "12345678")], 0),
            ],
        );
    }

    #[test]
    fn more_fields_than_allowed_are_malformed_and_buffers_stay_small() {
        let mut decoder = Decoder::new(4096);
        assert_eq!(decoder.decode(&[0x88; FIELDS]), Ok(Soundness::Sound));
        assert_eq!(decoder.decode(&[0x88; FIELDS + 1]), Ok(Soundness::Malformed));
        // Every block adds an entry, so evicted bytes must be compacted.
        let mut block = vec![0x40, 1, b'n', 100];
        block.extend_from_slice(&[b'v'; 100]);
        for round in 0..10_000u32 {
            block[4..8].copy_from_slice(&round.to_be_bytes().map(|byte| byte | 0x40));
            assert_eq!(decoder.decode(&block), Ok(Soundness::Sound));
            assert!(decoder.kept.values.capacity() <= 4 * SLACK, "{}", decoder.kept.values.capacity());
            let expected = &block[4..];
            decoder.with_fields(|fields| assert_eq!((fields[0].name, fields[0].value), ("n", expected)));
        }
    }
}
