//! Thrift's binary and compact protocols: structs without the envelope of a call, which is the framing's. Unknown fields are
//! skipped. See <https://github.com/apache/thrift/blob/master/doc/specs/thrift-binary-protocol.md> and
//! `thrift-compact-protocol.md` beside it.

use serde_json::{Map, Value};

use super::cursor::{Cursor, put_varint, put_zigzag};
use super::{DecodeError, FieldType, Record, complete, field, int, list, long, text};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wire {
    Binary,
    Compact,
}

/// What a value is, by its number in either protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    True,
    False,
    Byte,
    Int16,
    Int32,
    Int64,
    Double,
    Text,
    List,
    Set,
    Map,
    Struct,
}

/// Numbers in the binary and in the compact protocol. A boolean of a struct's field has its value in the compact type; the
/// binary protocol has one type for both.
const KINDS: [(Kind, u8, u8); 12] = [
    (Kind::True, 2, 1),
    (Kind::False, 2, 2),
    (Kind::Byte, 3, 3),
    (Kind::Int16, 6, 4),
    (Kind::Int32, 8, 5),
    (Kind::Int64, 10, 6),
    (Kind::Double, 4, 7),
    (Kind::Text, 11, 8),
    (Kind::List, 15, 9),
    (Kind::Set, 14, 10),
    (Kind::Map, 13, 11),
    (Kind::Struct, 12, 12),
];

/// The end of a struct, in both.
const STOP: u8 = 0;

/// The deepest value that is skipped.
const DEPTH: u32 = 32;

impl Kind {
    const fn of(kind: FieldType) -> Self {
        match kind {
            FieldType::Text => Self::Text,
            FieldType::Int => Self::Int32,
            FieldType::Long => Self::Int64,
            FieldType::Record(_) => Self::Struct,
            FieldType::List(_) => Self::List,
        }
    }

    fn number(self, wire: Wire) -> u8 {
        let (_, binary, compact) =
            KINDS.into_iter().find(|(kind, ..)| *kind == self).expect("all are listed");
        if wire == Wire::Binary { binary } else { compact }
    }

    fn numbered(wire: Wire, number: u8) -> Option<Self> {
        let is_it = |(_, binary, compact): &(Self, u8, u8)| match wire {
            Wire::Binary => *binary == number,
            Wire::Compact => *compact == number,
        };
        KINDS.into_iter().find(is_it).map(|(kind, ..)| kind)
    }
}

pub(super) fn encode(wire: Wire, record: &Record, value: &Value, bytes: &mut Vec<u8>) {
    let mut last = 0;
    for one in record.fields {
        let Some(value) = field(one, value) else { continue };
        let kind = Kind::of(one.kind).number(wire);
        match wire {
            Wire::Binary => bytes.extend_from_slice(&[kind, 0, one.number]),
            // The number of a result comes first and is 0, which has no short form; all others rise by at most 15.
            Wire::Compact if one.number == 0 => bytes.extend_from_slice(&[kind, 0]),
            Wire::Compact => bytes.push((one.number - last) << 4 | kind),
        }
        last = one.number;
        put(wire, one.kind, value, bytes);
    }
    bytes.push(STOP);
}

fn put(wire: Wire, shape: FieldType, value: &Value, bytes: &mut Vec<u8>) {
    match shape {
        FieldType::Text => {
            match wire {
                Wire::Binary => bytes.extend_from_slice(&(text(value).len() as u32).to_be_bytes()),
                Wire::Compact => put_varint(text(value).len() as u64, bytes),
            }
            bytes.extend_from_slice(text(value).as_bytes());
        }
        FieldType::Int => match wire {
            Wire::Binary => bytes.extend_from_slice(&int(value).to_be_bytes()),
            Wire::Compact => put_zigzag(int(value).into(), bytes),
        },
        FieldType::Long => match wire {
            Wire::Binary => bytes.extend_from_slice(&long(value).to_be_bytes()),
            Wire::Compact => put_zigzag(long(value), bytes),
        },
        FieldType::Record(record) => encode(wire, record, value, bytes),
        FieldType::List(record) => {
            let (values, kind) = (list(value), Kind::Struct.number(wire));
            match wire {
                Wire::Binary => {
                    bytes.push(kind);
                    bytes.extend_from_slice(&(values.len() as u32).to_be_bytes());
                }
                Wire::Compact if values.len() < 15 => bytes.push((values.len() as u8) << 4 | kind),
                Wire::Compact => {
                    bytes.push(0xf0 | kind);
                    put_varint(values.len() as u64, bytes);
                }
            }
            values.iter().for_each(|value| encode(wire, record, value, bytes));
        }
    }
}

pub(super) fn decode(wire: Wire, record: &Record, bytes: &[u8]) -> Result<Value, DecodeError> {
    let mut reader = Reader { wire, from: Cursor::new(bytes) };
    let value = reader.record(record)?;
    reader.from.finish()?;
    Ok(value)
}

struct Reader<'a> {
    wire: Wire,
    from: Cursor<'a>,
}

impl Reader<'_> {
    fn record(&mut self, record: &Record) -> Result<Value, DecodeError> {
        let mut fields = Map::new();
        let mut last = 0;
        while let Some((kind, number)) = self.header(last)? {
            last = number;
            let known = record.fields.iter().find(|field| i16::from(field.number) == number);
            match known {
                Some(field) if kind == Kind::of(field.kind) => {
                    fields.insert(field.name.to_owned(), self.value(field.kind)?);
                }
                Some(field) => return Err(self.from.error(format!("`{}` is a {kind:?}", field.name))),
                None => self.skip(kind, DEPTH)?,
            }
        }
        complete(record, fields, self.from.at())
    }

    /// Kind and number of a struct's next field; `None` at its end.
    fn header(&mut self, last: i16) -> Result<Option<(Kind, i16)>, DecodeError> {
        let first = self.from.byte()?;
        let kind = if self.wire == Wire::Binary { first } else { first & 0xf };
        if first == STOP {
            return Ok(None);
        }
        let number = match (self.wire, first >> 4) {
            (Wire::Binary, _) => self.int16()?,
            (Wire::Compact, 0) => {
                let number = self.from.zigzag()?;
                i16::try_from(number).map_err(|_| self.from.error(format!("field number {number}")))?
            }
            (Wire::Compact, delta) => last.wrapping_add(i16::from(delta)),
        };
        Ok(Some((self.kind(kind)?, number)))
    }

    fn kind(&self, number: u8) -> Result<Kind, DecodeError> {
        Kind::numbered(self.wire, number).ok_or_else(|| self.from.error(format!("type {number}")))
    }

    fn value(&mut self, shape: FieldType) -> Result<Value, DecodeError> {
        match shape {
            FieldType::Text => {
                let length = self.length()?;
                Ok(self.from.text(length)?.into())
            }
            FieldType::Int => Ok(self.int32()?.into()),
            FieldType::Long => Ok(self.int64()?.into()),
            FieldType::Record(record) => self.record(record),
            FieldType::List(record) => {
                let (kind, count) = self.list()?;
                if count > 0 && kind != Kind::Struct {
                    return Err(self.from.error(format!("a list of {kind:?}")));
                }
                (0..count).map(|_| self.record(record)).collect()
            }
        }
    }

    fn int16(&mut self) -> Result<i16, DecodeError> {
        let bytes = self.from.take(2)?;
        Ok(i16::from_be_bytes([bytes[0], bytes[1]]))
    }

    fn int32(&mut self) -> Result<i32, DecodeError> {
        if self.wire == Wire::Compact {
            let value = self.from.zigzag()?;
            return self.from.int(value);
        }
        let bytes = self.from.take(4)?;
        Ok(i32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    fn int64(&mut self) -> Result<i64, DecodeError> {
        if self.wire == Wire::Compact {
            return self.from.zigzag();
        }
        let bytes = self.from.take(8)?;
        Ok(i64::from_be_bytes(bytes.try_into().expect("eight were taken")))
    }

    /// The length of a text, or a count: in the compact protocol without a sign.
    fn length(&mut self) -> Result<usize, DecodeError> {
        let length = match self.wire {
            Wire::Binary => i64::from(self.int32()?),
            Wire::Compact => i64::try_from(self.from.varint()?).unwrap_or(-1),
        };
        self.from.length(length)
    }

    /// What a list holds, and how many; each takes a byte at least.
    fn list(&mut self) -> Result<(Kind, usize), DecodeError> {
        let first = self.from.byte()?;
        let (kind, count) = match self.wire {
            Wire::Binary => (first, self.length()?),
            Wire::Compact if first >> 4 == 15 => (first & 0xf, self.length()?),
            Wire::Compact => (first & 0xf, usize::from(first >> 4)),
        };
        if count > self.from.left() {
            return Err(self.from.error(format!("a list of {count} in {} bytes", self.from.left())));
        }
        Ok((self.kind(kind)?, count))
    }

    fn skip(&mut self, kind: Kind, depth: u32) -> Result<(), DecodeError> {
        if depth == 0 {
            return Err(self.from.error("values lie too deep in each other"));
        }
        match kind {
            Kind::True | Kind::False if self.wire == Wire::Binary => self.from.take(1).map(drop),
            // The type has said it.
            Kind::True | Kind::False => Ok(()),
            Kind::Byte => self.from.take(1).map(drop),
            Kind::Int16 | Kind::Int32 | Kind::Int64 if self.wire == Wire::Compact => {
                self.from.varint().map(drop)
            }
            Kind::Int16 => self.from.take(2).map(drop),
            Kind::Int32 => self.from.take(4).map(drop),
            Kind::Int64 | Kind::Double => self.from.take(8).map(drop),
            Kind::Text => {
                let length = self.length()?;
                self.from.take(length).map(drop)
            }
            Kind::List | Kind::Set => {
                let (kind, count) = self.list()?;
                (0..count).try_for_each(|_| self.skip_element(kind, depth - 1))
            }
            Kind::Map => self.skip_map(depth - 1),
            Kind::Struct => {
                let mut last = 0;
                while let Some((kind, number)) = self.header(last)? {
                    last = number;
                    self.skip(kind, depth - 1)?;
                }
                Ok(())
            }
        }
    }

    /// A boolean among others is a byte in both protocols.
    fn skip_element(&mut self, kind: Kind, depth: u32) -> Result<(), DecodeError> {
        match kind {
            Kind::True | Kind::False => self.from.take(1).map(drop),
            _ => self.skip(kind, depth),
        }
    }

    fn skip_map(&mut self, depth: u32) -> Result<(), DecodeError> {
        let (keys, values, count) = match self.wire {
            Wire::Binary => {
                let (keys, values) = (self.from.byte()?, self.from.byte()?);
                (keys, values, self.length()?)
            }
            Wire::Compact => match self.length()? {
                0 => return Ok(()),
                count => {
                    let both = self.from.byte()?;
                    (both >> 4, both & 0xf, count)
                }
            },
        };
        if count > self.from.left() {
            return Err(self.from.error(format!("a map of {count} in {} bytes", self.from.left())));
        }
        if count == 0 {
            return Ok(());
        }
        let (keys, values) = (self.kind(keys)?, self.kind(values)?);
        (0..count).try_for_each(|_| {
            self.skip_element(keys, depth)?;
            self.skip_element(values, depth)
        })
    }
}
