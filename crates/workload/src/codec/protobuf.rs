//! Protocol Buffers, version 3: fields by their numbers, what is empty or 0 left out. When read: fields in any order, several
//! times, and unknown ones. See <https://protobuf.dev/programming-guides/encoding>.

use serde_json::{Map, Value};

use super::cursor::{Cursor, put_varint};
use super::{DecodeError, Field, FieldType, Presence, Record, complete, field, int, list, long, text};

/// A number of up to 64 bits, seven to a byte.
const VARINT: u64 = 0;
const FIXED64: u64 = 1;
/// A length and so many bytes.
const LENGTH: u64 = 2;
const FIXED32: u64 = 5;

pub(super) fn encode(record: &Record, value: &Value, bytes: &mut Vec<u8>) {
    for one in record.fields {
        let Some(value) = field(one, value) else { continue };
        match one.kind {
            FieldType::Text if text(value).is_empty() => {}
            FieldType::Text => put_bytes(one.number, text(value).as_bytes(), bytes),
            FieldType::Int if int(value) == 0 => {}
            FieldType::Int => {
                put_varint(u64::from(one.number) << 3 | VARINT, bytes);
                // Negative numbers are extended to 64 bits.
                put_varint(i64::from(int(value)) as u64, bytes);
            }
            // An optional number is there even if it is 0.
            FieldType::Long if long(value) == 0 && one.presence == Presence::Required => {}
            FieldType::Long => {
                put_varint(u64::from(one.number) << 3 | VARINT, bytes);
                put_varint(long(value) as u64, bytes);
            }
            FieldType::Record(inner) => put_record(one.number, inner, value, bytes),
            FieldType::List(inner) => {
                list(value).iter().for_each(|value| put_record(one.number, inner, value, bytes));
            }
        }
    }
}

fn put_bytes(number: u8, content: &[u8], bytes: &mut Vec<u8>) {
    put_varint(u64::from(number) << 3 | LENGTH, bytes);
    put_varint(content.len() as u64, bytes);
    bytes.extend_from_slice(content);
}

fn put_record(number: u8, record: &Record, value: &Value, bytes: &mut Vec<u8>) {
    let mut content = Vec::new();
    encode(record, value, &mut content);
    put_bytes(number, &content, bytes);
}

pub(super) fn decode(record: &Record, bytes: &[u8]) -> Result<Value, DecodeError> {
    read(record, Cursor::new(bytes), Map::new())
}

/// The record of `from` on top of what was read of it before: messages that come twice are merged.
fn read(record: &Record, mut from: Cursor<'_>, mut fields: Map<String, Value>) -> Result<Value, DecodeError> {
    while !from.is_empty() {
        let tag = from.varint()?;
        let (number, wire) = (tag >> 3, tag & 7);
        if number == 0 || number > u64::from(u32::MAX >> 3) {
            return Err(from.error(format!("field number {number}")));
        }
        match record.fields.iter().find(|field| u64::from(field.number) == number) {
            Some(field) => read_field(field, wire, &mut from, &mut fields)?,
            None => skip(wire, &mut from)?,
        }
    }
    let is_absent = |field: &&Field| field.presence == Presence::Required && !fields.contains_key(field.name);
    let absent: Vec<_> = record.fields.iter().filter(is_absent).collect();
    for field in absent {
        let empty = match field.kind {
            FieldType::Text => Value::String(String::new()),
            FieldType::Int | FieldType::Long => 0.into(),
            FieldType::List(_) => Value::Array(Vec::new()),
            // A message has no empty form that could be left out.
            FieldType::Record(_) => continue,
        };
        fields.insert(field.name.to_owned(), empty);
    }
    complete(record, fields, from.at())
}

fn read_field(
    field: &Field,
    wire: u64,
    from: &mut Cursor<'_>,
    fields: &mut Map<String, Value>,
) -> Result<(), DecodeError> {
    let wanted = if matches!(field.kind, FieldType::Int | FieldType::Long) { VARINT } else { LENGTH };
    if wire != wanted {
        return Err(from.error(format!("`{}` has wire type {wire}, not {wanted}", field.name)));
    }
    let name = field.name.to_owned();
    // The upper half of a longer number is dropped.
    if let FieldType::Int = field.kind {
        fields.insert(name, (from.varint()? as i32).into());
        return Ok(());
    }
    if let FieldType::Long = field.kind {
        fields.insert(name, (from.varint()? as i64).into());
        return Ok(());
    }
    let length = from.varint()?;
    let length = from.length(i64::try_from(length).unwrap_or(i64::MAX))?;
    let value = match field.kind {
        FieldType::Record(inner) => {
            let before = match fields.remove(field.name) {
                Some(Value::Object(before)) => before,
                _ => Map::new(),
            };
            read(inner, from.part(length)?, before)?
        }
        FieldType::List(inner) => {
            let one = read(inner, from.part(length)?, Map::new())?;
            let all = fields.entry(name).or_insert_with(|| Value::Array(Vec::new()));
            all.as_array_mut().expect("a list, since nothing else is put there").push(one);
            return Ok(());
        }
        FieldType::Text | FieldType::Int | FieldType::Long => Value::String(from.text(length)?.to_owned()),
    };
    fields.insert(name, value);
    Ok(())
}

fn skip(wire: u64, from: &mut Cursor<'_>) -> Result<(), DecodeError> {
    match wire {
        VARINT => from.varint().map(drop),
        FIXED64 => from.take(8).map(drop),
        FIXED32 => from.take(4).map(drop),
        LENGTH => {
            let length = from.varint()?;
            from.take(usize::try_from(length).unwrap_or(usize::MAX)).map(drop)
        }
        _ => Err(from.error(format!("wire type {wire}"))),
    }
}
