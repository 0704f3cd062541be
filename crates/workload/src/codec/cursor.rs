//! Reading bytes one part after another, never beyond their end.

use super::DecodeError;

#[derive(Debug, Clone)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    end: usize,
}

impl<'a> Cursor<'a> {
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, end: bytes.len() }
    }

    pub const fn is_empty(&self) -> bool {
        self.at == self.end
    }

    pub const fn at(&self) -> usize {
        self.at
    }

    pub const fn left(&self) -> usize {
        self.end - self.at
    }

    pub fn error(&self, message: impl Into<String>) -> DecodeError {
        DecodeError { message: message.into(), at: self.at }
    }

    pub fn byte(&mut self) -> Result<u8, DecodeError> {
        Ok(self.take(1)?[0])
    }

    pub fn take(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        if count > self.left() {
            return Err(self.error(format!("{count} bytes are announced, and {} are left", self.left())));
        }
        let taken = &self.bytes[self.at..self.at + count];
        self.at += count;
        Ok(taken)
    }

    /// The next `count` bytes, with positions as in the whole.
    pub fn part(&mut self, count: usize) -> Result<Self, DecodeError> {
        let start = self.at;
        self.take(count)?;
        Ok(Self { bytes: self.bytes, at: start, end: self.at })
    }

    pub fn text(&mut self, count: usize) -> Result<&'a str, DecodeError> {
        let error = self.error("the text is not UTF-8");
        std::str::from_utf8(self.take(count)?).map_err(|_| error)
    }

    /// A number of up to 64 bits, seven to a byte, the lowest first.
    pub fn varint(&mut self) -> Result<u64, DecodeError> {
        let mut value = 0;
        for shift in (0..70).step_by(7) {
            let byte = self.byte()?;
            let low = u64::from(byte & 0x7f);
            if shift == 63 && low > 1 {
                break;
            }
            value |= low << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(self.error("a number has more than 64 bits"))
    }

    /// The same for a signed number, small in either direction.
    pub fn zigzag(&mut self) -> Result<i64, DecodeError> {
        let value = self.varint()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// A length or a count, which cannot be negative.
    pub fn length(&self, value: i64) -> Result<usize, DecodeError> {
        usize::try_from(value).map_err(|_| self.error(format!("a length of {value}")))
    }

    pub fn int(&self, value: i64) -> Result<i32, DecodeError> {
        i32::try_from(value).map_err(|_| self.error(format!("{value} has more than 32 bits")))
    }

    pub fn finish(&self) -> Result<(), DecodeError> {
        if self.is_empty() { Ok(()) } else { Err(self.error(format!("{} bytes too many", self.left()))) }
    }
}

pub(super) fn put_varint(mut value: u64, bytes: &mut Vec<u8>) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

pub(super) fn put_zigzag(value: i64, bytes: &mut Vec<u8>) {
    put_varint(((value << 1) ^ (value >> 63)) as u64, bytes);
}
