//! Values that tell which write made them: eleven letters that name key and edition, then letters of one shared block at
//! an offset that depends on both. Made by copying, and compared as they arrive: nothing is kept of a value but its
//! beginning.

use super::draw::mixed;

/// Letters of values: none needs to be escaped in JSON.
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
/// Letters that name key and edition; a shorter value has the first of them.
pub(super) const NAME: usize = 11;
const BLOCK: usize = 1 << 20;
/// Bits of an edition in a value's name; the rest is the number of the key.
const EDITION_BITS: u32 = 30;
/// The largest edition.
pub(super) const EDITION_MOST: u32 = (1 << EDITION_BITS) - 1;
/// An odd factor and its inverse modulo 2⁶⁴.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
const INVERSE: u64 = inverse(FACTOR);

/// The letters behind the names of all values.
#[derive(Debug)]
pub(super) struct LetterBlock(Box<[u8]>);

/// Which write of which key made a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Origin {
    /// The number of the key, modulo 2³⁴.
    pub number: u64,
    pub edition: u32,
}

impl Origin {
    pub fn new(number: u64, edition: u32) -> Self {
        Self { number: number & (u64::MAX >> EDITION_BITS), edition }
    }

    fn word(self) -> u64 {
        self.number << EDITION_BITS | u64::from(self.edition)
    }

    /// The name's letters. Every bit of key and edition has a part in each of the first, so that short values differ too.
    pub fn name(self) -> [u8; NAME] {
        let word = self.word();
        let word = (word ^ word >> 32).wrapping_mul(FACTOR);
        let word = word ^ word >> 32;
        std::array::from_fn(|at| LETTERS[(word >> (6 * at) & 63) as usize])
    }

    /// What a name names; `None` if letters do not make one.
    fn of_name(name: &[u8; NAME]) -> Option<Self> {
        let mut word = 0u128;
        for (at, letter) in name.iter().enumerate() {
            word |= u128::from(value_of(*letter)?) << (6 * at);
        }
        let word = u64::try_from(word).ok()?;
        let word = (word ^ word >> 32).wrapping_mul(INVERSE);
        let word = word ^ word >> 32;
        Some(Self { number: word >> EDITION_BITS, edition: word as u32 & EDITION_MOST })
    }

    fn offset(self) -> usize {
        mixed(self.word()) as usize & (BLOCK - 1)
    }
}

const fn inverse(factor: u64) -> u64 {
    // Each step of Newton's method doubles the number of right bits, of which an odd number has three.
    let (mut inverse, mut step) = (factor, 0);
    while step < 5 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(factor.wrapping_mul(inverse)));
        step += 1;
    }
    inverse
}

const fn value_of(letter: u8) -> Option<u8> {
    match letter {
        b'A'..=b'Z' => Some(letter - b'A'),
        b'a'..=b'z' => Some(letter - b'a' + 26),
        b'0'..=b'9' => Some(letter - b'0' + 52),
        b'-' => Some(62),
        b'_' => Some(63),
        _ => None,
    }
}

impl LetterBlock {
    pub fn new() -> Self {
        let letter = |at| LETTERS[(mixed(at) & 63) as usize];
        Self((0..BLOCK as u64).map(letter).collect())
    }

    /// Appends a value of so many bytes.
    pub fn append(&self, origin: Origin, length: usize, into: &mut Vec<u8>) {
        let name = origin.name();
        into.extend_from_slice(&name[..length.min(NAME)]);
        let (mut at, mut left) = (origin.offset(), length.saturating_sub(NAME));
        while left > 0 {
            let piece = left.min(BLOCK - at);
            into.extend_from_slice(&self.0[at..at + piece]);
            (at, left) = (0, left - piece);
        }
    }

    /// Whether bytes are the value's from this position on, which is behind its name.
    fn is_piece(&self, origin: Origin, position: usize, mut bytes: &[u8]) -> bool {
        let mut at = (origin.offset() + position - NAME) & (BLOCK - 1);
        while !bytes.is_empty() {
            let (piece, rest) = bytes.split_at(bytes.len().min(BLOCK - at));
            if *piece != self.0[at..at + piece.len()] {
                return false;
            }
            (at, bytes) = (0, rest);
        }
        true
    }
}

/// A value as it arrives.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arriving {
    name: [u8; NAME],
    seen: usize,
    origin: Option<Origin>,
    is_right: bool,
}

/// What arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arrived {
    /// A value that is what its name says, of this many bytes.
    Whole(Origin, usize),
    /// A value with a name but other letters behind it.
    Mixed(Origin),
    /// A beginning of a name.
    Short([u8; NAME], usize),
    /// No value that this workload makes.
    Unknown,
}

impl Arriving {
    pub const NOTHING: Self = Self { name: [0; NAME], seen: 0, origin: None, is_right: true };

    pub fn piece(&mut self, block: &LetterBlock, bytes: &[u8]) {
        let mut rest = bytes;
        if self.seen < NAME {
            let (name, behind) = bytes.split_at(bytes.len().min(NAME - self.seen));
            self.name[self.seen..self.seen + name.len()].copy_from_slice(name);
            self.seen += name.len();
            rest = behind;
            if self.seen == NAME {
                self.origin = Origin::of_name(&self.name);
            }
        }
        if let Some(origin) = self.origin.filter(|_| self.is_right && !rest.is_empty()) {
            self.is_right = block.is_piece(origin, self.seen, rest);
        }
        self.seen += rest.len();
    }

    /// Bytes so far.
    pub const fn length(&self) -> usize {
        self.seen
    }

    pub fn arrived(&self) -> Arrived {
        match self.origin {
            _ if self.seen < NAME => Arrived::Short(self.name, self.seen),
            Some(origin) if self.is_right => Arrived::Whole(origin, self.seen),
            Some(origin) => Arrived::Mixed(origin),
            None => Arrived::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_recognised_however_they_are_cut() {
        let block = LetterBlock::new();
        for (number, edition) in [(0, 0), (1, 2), (77_777, 12_346), (u64::MAX, EDITION_MOST)] {
            let origin = Origin::new(number, edition);
            assert_eq!(Origin::of_name(&origin.name()), Some(origin));
            for length in [0, 1, 10, 11, 12, 1000, BLOCK + 100] {
                let mut value = Vec::new();
                block.append(origin, length, &mut value);
                assert_eq!(value.len(), length);
                for size in [1, 7, 4096, length.max(1)] {
                    let mut arriving = Arriving::NOTHING;
                    value.chunks(size).for_each(|piece| arriving.piece(&block, piece));
                    assert_eq!(arriving.length(), length);
                    match arriving.arrived() {
                        Arrived::Whole(found, seen) => assert_eq!((found, seen), (origin, length)),
                        Arrived::Short(name, seen) => {
                            assert_eq!((&name[..seen], seen), (&origin.name()[..seen], length));
                        }
                        other => panic!("{other:?}"),
                    }
                }
            }
        }
    }

    #[test]
    fn every_changed_letter_is_seen() {
        let block = LetterBlock::new();
        let origin = Origin::new(5, 8);
        let mut value = Vec::new();
        block.append(origin, 300, &mut value);
        for at in 0..300 {
            let mut changed = value.clone();
            changed[at] = if changed[at] == b'x' { b'y' } else { b'x' };
            let mut arriving = Arriving::NOTHING;
            arriving.piece(&block, &changed);
            assert_ne!(arriving.arrived(), Arrived::Whole(origin, 300), "letter {at}");
            if at >= NAME {
                assert_eq!(arriving.arrived(), Arrived::Mixed(origin), "letter {at}");
            }
        }
    }
}
