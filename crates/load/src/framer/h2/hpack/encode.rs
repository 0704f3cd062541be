//! Writing header blocks once, to be sent many times on any connection.
//!
//! Blocks refer to the static table only and add nothing to the dynamic one, so that the same bytes mean the same on
//! every connection and in any order; [`Indexer`](super::Indexer) makes of them what one connection sends. Strings are Huffman-coded if that is shorter.

use super::huffman;
use super::table::{Known, lookup};

/// Appends one field in the shortest representation that does not change the dynamic table. The name must be in lower
/// case.
pub fn field(name: &str, value: &[u8], into: &mut Vec<u8>) {
    match lookup(name, value) {
        Known::Field(index) => integer(index, 7, 0x80, into),
        Known::Name(index) => {
            integer(index, 4, 0, into);
            string(value, into);
        }
        Known::Neither => {
            into.push(0);
            string(name.as_bytes(), into);
            string(value, into);
        }
    }
}

/// Appends an integer whose first byte has `prefix` bits of it below the bits of `pattern` (RFC 7541, section 5.1).
pub(super) fn integer(value: usize, prefix: u32, pattern: u8, into: &mut Vec<u8>) {
    let most = (1usize << prefix) - 1;
    if value < most {
        into.push(pattern | value as u8);
        return;
    }
    into.push(pattern | most as u8);
    let mut rest = value - most;
    while rest >= 0x80 {
        into.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    into.push(rest as u8);
}

fn string(text: &[u8], into: &mut Vec<u8>) {
    let coded = huffman::coded_length(text);
    if coded < text.len() {
        integer(coded, 7, 0x80, into);
        huffman::encode(text, into);
    } else {
        integer(text.len(), 7, 0, into);
        into.extend_from_slice(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 7541, appendix C.1.
    #[test]
    fn integers_are_those_of_the_standard() {
        for (value, prefix, bytes) in
            [(10, 5, &[0b01010][..]), (1337, 5, &[0b11111, 0b1001_1010, 0b0000_1010]), (42, 8, &[42])]
        {
            let mut written = Vec::new();
            integer(value, prefix, 0, &mut written);
            assert_eq!(written, bytes);
        }
    }

    #[test]
    fn a_known_field_takes_one_byte_and_a_known_name_is_not_spelled_out() {
        let written = |name: &str, value: &[u8]| {
            let mut bytes = Vec::new();
            field(name, value, &mut bytes);
            bytes
        };
        assert_eq!(written(":method", b"GET"), [0x82]);
        // RFC 7541, appendix C.4.1, but without indexing: index 1, then the Huffman-coded value.
        let authority = written(":authority", b"www.example.com");
        assert_eq!(authority[..2], [0x01, 0x8c]);
        assert_eq!(authority[2..], *b"\xf1\xe3\xc2\xe5\xf2\x3a\x6b\xa0\xab\x90\xf4\xff");
        // Not shorter when coded.
        assert_eq!(written("x", b"\\~"), [0, 1, b'x', 2, b'\\', b'~']);
    }
}
