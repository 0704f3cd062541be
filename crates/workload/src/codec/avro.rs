//! Avro's binary encoding of a datum, without schema: fields in order, lengths and numbers in zigzag, an optional field behind
//! the index of its branch in `["null", …]`. See <https://avro.apache.org/docs/1.12.0/specification/#binary-encoding>.

use serde_json::{Map, Value};

use super::cursor::{Cursor, put_zigzag};
use super::{DecodeError, FieldType, Presence, Record, field, int, list, long, text};

pub(super) fn encode(record: &Record, value: &Value, bytes: &mut Vec<u8>) {
    for one in record.fields {
        let value = field(one, value);
        if one.presence == Presence::Optional {
            put_zigzag(i64::from(value.is_some()), bytes);
        }
        if let Some(value) = value {
            put(one.kind, value, bytes);
        }
    }
}

fn put(kind: FieldType, value: &Value, bytes: &mut Vec<u8>) {
    match kind {
        FieldType::Text => {
            put_zigzag(text(value).len() as i64, bytes);
            bytes.extend_from_slice(text(value).as_bytes());
        }
        FieldType::Int => put_zigzag(i64::from(int(value)), bytes),
        FieldType::Long => put_zigzag(long(value), bytes),
        FieldType::Record(record) => encode(record, value, bytes),
        // One block, then the empty one that ends it.
        FieldType::List(record) => {
            let values = list(value);
            if !values.is_empty() {
                put_zigzag(values.len() as i64, bytes);
                values.iter().for_each(|value| encode(record, value, bytes));
            }
            put_zigzag(0, bytes);
        }
    }
}

pub(super) fn decode(record: &Record, bytes: &[u8]) -> Result<Value, DecodeError> {
    let mut from = Cursor::new(bytes);
    let value = read_record(record, &mut from)?;
    from.finish()?;
    Ok(value)
}

fn read_record(record: &Record, from: &mut Cursor<'_>) -> Result<Value, DecodeError> {
    let mut fields = Map::new();
    for field in record.fields {
        if field.presence == Presence::Optional {
            match from.zigzag()? {
                0 => continue,
                1 => {}
                branch => return Err(from.error(format!("`{}` has no branch {branch}", field.name))),
            }
        }
        fields.insert(field.name.to_owned(), read(field.kind, from)?);
    }
    Ok(Value::Object(fields))
}

fn read(kind: FieldType, from: &mut Cursor<'_>) -> Result<Value, DecodeError> {
    match kind {
        FieldType::Text => {
            let length = from.zigzag()?;
            let length = from.length(length)?;
            Ok(from.text(length)?.into())
        }
        FieldType::Int => {
            let int = from.zigzag()?;
            Ok(from.int(int)?.into())
        }
        FieldType::Long => Ok(from.zigzag()?.into()),
        FieldType::Record(record) => read_record(record, from),
        FieldType::List(record) => read_list(record, from),
    }
}

/// Blocks until an empty one. A negative count is followed by the bytes of its block.
fn read_list(record: &Record, from: &mut Cursor<'_>) -> Result<Value, DecodeError> {
    let mut values = Vec::new();
    loop {
        let count = from.zigzag()?;
        if count == 0 {
            return Ok(Value::Array(values));
        }
        let (count, block) = match count < 0 {
            true => {
                let length = from.zigzag()?;
                (count.checked_neg().unwrap_or(-1), Some(from.at() + from.length(length)?))
            }
            false => (count, None),
        };
        let count = from.length(count)?;
        // A record without fields has no bytes, so that a count could not be held against them.
        if count > from.left() {
            return Err(from.error(format!("a block of {count} in {} bytes", from.left())));
        }
        for _ in 0..count {
            values.push(read_record(record, from)?);
        }
        if block.is_some_and(|end| end != from.at()) {
            return Err(from.error("a block has not the bytes that it announces"));
        }
    }
}
