//! The Huffman code of HPACK (RFC 7541, appendix B).
//!
//! The code is canonical: among codes of one length, codes rise with their symbols, and each length continues where the
//! one before ended. So the table of lengths defines the code, and everything else is derived from it at compile time.

/// The end-of-string symbol; it never occurs in a valid string, and its leading bits pad the last byte.
const EOS: usize = 256;

/// Bits of the longest code.
const LONGEST: usize = 30;

/// Bits of each symbol's code, `EOS` last.
#[rustfmt::skip]
const LENGTHS: [u8; 257] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28,
    28, 28, 28, 28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5,
    5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, 15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6,
    6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23, 22,
    23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22,
    21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20,
    22, 22, 22, 23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19,
    21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22,
    22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, 30,
];

/// The code, arranged for reading and for writing.
struct Tables {
    /// Each symbol's code, in its low bits.
    codes: [u32; 257],
    /// Symbols in the order of their codes.
    symbols: [u16; 257],
    /// The first code of each length.
    first_code: [u32; LONGEST + 1],
    /// Where in `symbols` each length begins.
    first_symbol: [u16; LONGEST + 1],
    /// How many symbols have each length.
    count: [u16; LONGEST + 1],
    /// By the next eight bits: symbol and length of the code at their start, if it has at most eight.
    short: [(u8, u8); 256],
}

static TABLES: Tables = tables();

const fn tables() -> Tables {
    let mut tables = Tables {
        codes: [0; 257],
        symbols: [0; 257],
        first_code: [0; LONGEST + 1],
        first_symbol: [0; LONGEST + 1],
        count: [0; LONGEST + 1],
        short: [(0, 0); 256],
    };
    let (mut length, mut code, mut place) = (1, 0, 0);
    while length <= LONGEST {
        code <<= 1;
        tables.first_code[length] = code;
        tables.first_symbol[length] = place as u16;
        let mut symbol = 0;
        while symbol <= EOS {
            if LENGTHS[symbol] as usize == length {
                tables.codes[symbol] = code;
                tables.symbols[place] = symbol as u16;
                tables.count[length] += 1;
                if length <= 8 {
                    let begin = (code as usize) << (8 - length);
                    let mut at = begin;
                    while at < begin + (1 << (8 - length)) {
                        tables.short[at] = (symbol as u8, length as u8);
                        at += 1;
                    }
                }
                code += 1;
                place += 1;
            }
            symbol += 1;
        }
        length += 1;
    }
    tables
}

/// The string is not a sequence of codes padded with fewer than eight one-bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BadCode;

/// Appends the decoded text of `coded`.
pub(super) fn decode(coded: &[u8], into: &mut Vec<u8>) -> Result<(), BadCode> {
    // The low `held` bits are read and not yet decoded.
    let (mut bits, mut held) = (0u64, 0u32);
    let mut rest = coded.iter();
    loop {
        while held <= 56
            && let Some(byte) = rest.next()
        {
            bits = bits << 8 | u64::from(*byte);
            held += 8;
        }
        let ones = (1u64 << held.min(8)) - 1;
        if held < 8 && bits & ones == ones {
            return Ok(());
        }
        // The next 32 bits; one-bits after the end.
        let next = match held {
            32.. => (bits >> (held - 32)) as u32,
            _ => (bits << (32 - held)) as u32 | ((1u64 << (32 - held)) - 1) as u32,
        };
        let (symbol, length) = match TABLES.short[(next >> 24) as usize] {
            (_, 0) => long(next)?,
            short => short,
        };
        if u32::from(length) > held {
            return Err(BadCode);
        }
        held -= u32::from(length);
        into.push(symbol);
    }
}

/// The symbol of the code of more than eight bits at the start of `next`, and its length.
fn long(next: u32) -> Result<(u8, u8), BadCode> {
    for length in 9..=LONGEST {
        let code = next >> (32 - length);
        let offset = code.wrapping_sub(TABLES.first_code[length]);
        if offset < u32::from(TABLES.count[length]) {
            let symbol = TABLES.symbols[usize::from(TABLES.first_symbol[length]) + offset as usize];
            return u8::try_from(symbol).map(|symbol| (symbol, length as u8)).map_err(|_| BadCode);
        }
    }
    Err(BadCode)
}

/// Length of `text` when coded, in bytes.
pub(super) fn coded_length(text: &[u8]) -> usize {
    let bits: usize = text.iter().map(|byte| usize::from(LENGTHS[usize::from(*byte)])).sum();
    bits.div_ceil(8)
}

/// Appends the code of `text`.
pub(super) fn encode(text: &[u8], into: &mut Vec<u8>) {
    let (mut bits, mut held) = (0u64, 0u32);
    for byte in text {
        let length = u32::from(LENGTHS[usize::from(*byte)]);
        bits = bits << length | u64::from(TABLES.codes[usize::from(*byte)]);
        held += length;
        while held >= 8 {
            held -= 8;
            into.push((bits >> held) as u8);
        }
    }
    if held > 0 {
        let padding = 8 - held;
        into.push((bits << padding) as u8 | ((1u16 << padding) - 1) as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(coded: &[u8]) -> Result<Vec<u8>, BadCode> {
        let mut text = Vec::new();
        decode(coded, &mut text).map(|()| text)
    }

    /// Codes taken from RFC 7541, appendix B, of each length.
    #[test]
    fn the_derived_codes_are_those_of_the_standard() {
        for (symbol, code, length) in [
            (0, 0x1ff8, 13),
            (10, 0x3fff_fffc, 30),
            (22, 0x3fff_fffe, 30),
            (48, 0x0, 5),
            (97, 0x3, 5),
            (116, 0x9, 5),
            (32, 0x14, 6),
            (58, 0x5c, 7),
            (88, 0xfc, 8),
            (92, 0x7fff0, 19),
            (128, 0xfffe6, 20),
            (249, 0x0fff_fffe, 28),
            (255, 0x03ff_ffee, 26),
            (EOS, 0x3fff_ffff, 30),
        ] {
            assert_eq!((TABLES.codes[symbol], LENGTHS[symbol]), (code, length), "symbol {symbol}");
        }
    }

    #[test]
    fn every_byte_and_pair_of_bytes_comes_back() {
        for first in 0..=255 {
            for second in [0, b'0', b'a', b'~', 0x80, 0xff, first] {
                let text = [first, second, first];
                let mut coded = Vec::new();
                encode(&text, &mut coded);
                assert_eq!(coded.len(), coded_length(&text));
                assert_eq!(decoded(&coded).as_deref(), Ok(&text[..]));
            }
        }
    }

    #[test]
    fn padding_is_short_and_of_ones() {
        assert_eq!(decoded(&[]).as_deref(), Ok(&b""[..]));
        // `0` is five zero-bits; three ones pad it.
        assert_eq!(decoded(&[0b0000_0111]).as_deref(), Ok(&b"0"[..]));
        assert_eq!(decoded(&[0b0000_0110]), Err(BadCode), "a zero in the padding");
        assert_eq!(decoded(&[0b0000_0111, 0xff]), Err(BadCode), "eleven bits of padding");
        assert_eq!(decoded(&[0xff]), Err(BadCode), "eight bits of padding");
        assert_eq!(decoded(&[0xff, 0xff, 0xff, 0xff]), Err(BadCode), "the end-of-string symbol");
        assert_eq!(decoded(&[0xff, 0xff, 0xff, 0xfc]), Err(BadCode), "a long code cut short by padding");
    }
}
