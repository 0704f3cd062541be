//! Header blocks that use the dynamic table, as ordinary clients' do: a field is spelled out when a connection sends it for the
//! first time, and is an index from then on.
//!
//! It works on blocks as [`field`](super::field) writes them, and compares fields as they are spelled there. Nothing is ever
//! evicted: what might not fit is spelled out each time, so that a stream of ever new paths leaves the other fields known.

use super::encode::integer;

/// Fields in the static table.
const STATIC: usize = 61;

/// What each entry takes besides its texts (RFC 7541, section 4.1).
const ENTRY: usize = 32;

/// Most entries, which are searched one after another.
const ENTRIES: usize = 32;

/// The dynamic table of one connection as its peer has it, with the last block.
#[derive(Debug, Default)]
pub struct Indexer {
    /// The fields of the table as they are spelled, the oldest first, and where each ends.
    spelled: Vec<u8>,
    ends: Vec<usize>,
    /// An upper bound of the size of the table.
    size: usize,
    /// The block that was indexed last without a change of the table, and what became of it.
    head: Vec<u8>,
    block: Vec<u8>,
}

impl Indexer {
    /// Becomes that of a new connection, keeping its memory.
    pub fn reset(&mut self) {
        self.spelled.clear();
        self.ends.clear();
        self.size = 0;
        self.head.clear();
    }

    /// The block of these fields for a table of at most `limit` bytes; it must be sent before the next.
    pub fn index(&mut self, head: &[u8], limit: usize) -> &[u8] {
        if self.head == head && !head.is_empty() {
            return &self.block;
        }
        let before = self.ends.len();
        self.block.clear();
        let mut rest = head;
        while !rest.is_empty() {
            let field = Spelled::first_of(rest);
            let (spelled, behind) = rest.split_at(field.length);
            self.put(spelled, &field, limit);
            rest = behind;
        }
        self.head.clear();
        if self.ends.len() == before {
            self.head.extend_from_slice(head);
        }
        &self.block
    }

    fn put(&mut self, spelled: &[u8], field: &Spelled, limit: usize) {
        let Some(size) = field.size else {
            self.block.extend_from_slice(spelled);
            return;
        };
        if let Some(age) = self.age_of(spelled) {
            return integer(STATIC + 1 + age, 7, 0x80, &mut self.block);
        }
        if self.ends.len() == ENTRIES || self.size + size > limit {
            self.block.extend_from_slice(spelled);
            return;
        }
        integer(field.name, 6, 0x40, &mut self.block);
        self.block.extend_from_slice(&spelled[field.name_length..]);
        self.spelled.extend_from_slice(spelled);
        self.ends.push(self.spelled.len());
        self.size += size;
    }

    /// How many entries are newer than this field's, if it has one.
    fn age_of(&self, spelled: &[u8]) -> Option<usize> {
        let starts = [0].into_iter().chain(self.ends.iter().copied());
        let found = starts.zip(&self.ends).position(|(start, end)| self.spelled[start..*end] == *spelled)?;
        Some(self.ends.len() - 1 - found)
    }
}

/// A field at the start of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Spelled {
    length: usize,
    /// The static index of its name, 0 if the name is spelled, and the bytes of that number.
    name: usize,
    name_length: usize,
    /// The most that it takes in a table; `None` if it is an index.
    size: Option<usize>,
}

impl Spelled {
    fn first_of(block: &[u8]) -> Self {
        if block[0] & 0x80 != 0 {
            let (_, length) = read_integer(block, 7);
            return Self { length, name: 0, name_length: 0, size: None };
        }
        let (name, name_length) = read_integer(block, 4);
        let (mut length, mut size) = (name_length, ENTRY);
        // The longest name of the static table has 27 letters.
        for is_spelled in [name == 0, true] {
            if is_spelled {
                let (bytes, prefix) = read_integer(&block[length..], 7);
                length += prefix + bytes;
                // The shortest code of Huffman's has five bits.
                size += bytes * 8 / 5 + 1;
            } else {
                size += 27;
            }
        }
        Self { length, name, name_length, size: Some(size) }
    }
}

/// An integer below 2^28 with so many bits of its first byte, and its bytes. Our own blocks have no others.
fn read_integer(bytes: &[u8], prefix: u32) -> (usize, usize) {
    let most = (1usize << prefix) - 1;
    let mut value = usize::from(bytes[0]) & most;
    if value < most {
        return (value, 1);
    }
    for (index, byte) in bytes[1..].iter().enumerate() {
        value += usize::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            return (value, index + 2);
        }
    }
    (value, bytes.len())
}

#[cfg(test)]
mod tests {
    use super::super::{Decoder, Soundness, field};
    use super::*;

    const TABLE: usize = 4096;

    fn block(fields: &[(&str, &str)]) -> Vec<u8> {
        let mut block = Vec::new();
        fields.iter().for_each(|(name, value)| field(name, value.as_bytes(), &mut block));
        block
    }

    fn get_person(id: usize) -> Vec<(&'static str, String)> {
        vec![
            (":method", "POST".to_owned()),
            (":scheme", "http".to_owned()),
            (":authority", "127.0.0.1:50051".to_owned()),
            (":path", format!("/weighbridge.person.v1.People/GetPerson{id}")),
            ("te", "trailers".to_owned()),
            ("content-type", "application/grpc".to_owned()),
            ("x-long", "long".repeat(40)),
        ]
    }

    fn read(decoder: &mut Decoder, block: &[u8]) -> Vec<(String, String)> {
        assert_eq!(decoder.decode(block), Ok(Soundness::Sound));
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
        decoder.with_fields(|fields| fields.iter().map(|f| (f.name.to_owned(), text(f.value))).collect())
    }

    /// Every block means the same to a decoder, whatever was sent before; known fields take a byte each.
    #[test]
    fn a_second_request_is_a_byte_a_field() {
        let (mut indexer, mut decoder) = (Indexer::default(), Decoder::new(TABLE));
        let fields = get_person(0);
        let plain: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let head = block(&plain);
        let lengths: Vec<usize> = (0..4)
            .map(|_| {
                let indexed = indexer.index(&head, TABLE).to_vec();
                let expected: Vec<_> = fields.iter().map(|(n, v)| ((*n).to_owned(), v.clone())).collect();
                assert_eq!(read(&mut decoder, &indexed), expected);
                indexed.len()
            })
            .collect();
        // The number of a name takes a byte less in a field that is to be known.
        assert_eq!(lengths, [head.len() - 1, 7, 7, 7]);
    }

    #[test]
    fn ever_new_paths_evict_nothing() {
        let (mut indexer, mut decoder) = (Indexer::default(), Decoder::new(TABLE));
        for id in (0..300).chain(0..300) {
            let fields = get_person(id);
            let plain: Vec<(&str, &str)> =
                fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
            let indexed = indexer.index(&block(&plain), TABLE).to_vec();
            let expected: Vec<_> = fields.iter().map(|(n, v)| ((*n).to_owned(), v.clone())).collect();
            assert_eq!(read(&mut decoder, &indexed), expected, "{id}");
            assert!(decoder.table_size() <= TABLE && indexer.size >= decoder.table_size());
            assert!(id == 0 || indexed.len() < 50, "{id}: {} bytes", indexed.len());
        }
        assert_eq!(indexer.ends.len(), ENTRIES);
    }

    #[test]
    fn a_small_table_is_not_overrun_and_a_new_connection_begins_anew() {
        let (mut indexer, mut decoder) = (Indexer::default(), Decoder::new(100));
        let head = block(&[(":authority", "a:1"), ("x-one", "1"), ("x-two", "2"), ("x-three", "3")]);
        for _ in 0..3 {
            let indexed = indexer.index(&head, 100).to_vec();
            assert_eq!(read(&mut decoder, &indexed).len(), 4);
        }
        indexer.reset();
        let mut decoder = Decoder::new(TABLE);
        assert_eq!(read(&mut decoder, indexer.index(&head, TABLE)).len(), 4);
    }
}
