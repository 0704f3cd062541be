//! Codecs: values of a model to bytes and back, one file a codec.
//!
//! A model is described once, by [`Record`]s, whatever codec carries it. Values are JSON values: an object for a record,
//! without the fields that are absent. A decoder takes every legal spelling and refuses what is not of the model; it reads no
//! further than its input and keeps to the depth of the model, whatever lengths say.

mod avro;
mod cursor;
mod json;
mod protobuf;
mod thrift;
pub(crate) mod xml;

use serde_json::{Map, Value};
use weighbridge_model::experiment::CodecName;

/// A record of the model: its fields in order.
#[derive(Debug)]
pub(crate) struct Record {
    pub name: &'static str,
    pub fields: &'static [Field],
}

#[derive(Debug)]
pub(crate) struct Field {
    pub name: &'static str,
    /// Its number in Protocol Buffers and Thrift, 1 to 15; 0 for the value that a call of Thrift or SOAP returns.
    pub number: u8,
    pub kind: FieldType,
    pub presence: Presence,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presence {
    Required,
    Optional,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum FieldType {
    Text,
    /// 32 bits, signed.
    Int,
    /// 64 bits, signed.
    Long,
    Record(&'static Record),
    List(&'static Record),
}

impl Field {
    pub const fn required(number: u8, name: &'static str, kind: FieldType) -> Self {
        Self { name, number, kind, presence: Presence::Required }
    }

    pub const fn optional(number: u8, name: &'static str, kind: FieldType) -> Self {
        Self { name, number, kind, presence: Presence::Optional }
    }
}

/// Why bytes are no value of a record: what, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} (byte {at})")]
pub(crate) struct DecodeError {
    pub message: String,
    /// Offset of the byte at which it was found.
    pub at: usize,
}

/// The value's bytes.
///
/// # Panics
///
/// Where the value is not of the record.
pub(crate) fn encode(codec: CodecName, record: &Record, value: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    match codec {
        CodecName::Json => json::encode(record, value, &mut bytes),
        CodecName::Protobuf => protobuf::encode(record, value, &mut bytes),
        CodecName::Avro => avro::encode(record, value, &mut bytes),
        CodecName::Binary => thrift::encode(thrift::Wire::Binary, record, value, &mut bytes),
        CodecName::Compact => thrift::encode(thrift::Wire::Compact, record, value, &mut bytes),
        CodecName::Xml => xml::encode(record, value, &mut bytes),
    }
    bytes
}

/// The value of exactly these bytes.
pub(crate) fn decode(codec: CodecName, record: &Record, bytes: &[u8]) -> Result<Value, DecodeError> {
    match codec {
        CodecName::Json => json::decode(record, bytes),
        CodecName::Protobuf => protobuf::decode(record, bytes),
        CodecName::Avro => avro::decode(record, bytes),
        CodecName::Binary => thrift::decode(thrift::Wire::Binary, record, bytes),
        CodecName::Compact => thrift::decode(thrift::Wire::Compact, record, bytes),
        CodecName::Xml => xml::decode(record, bytes),
    }
}

/// A field's value in a record; `None` where it is absent.
fn field<'v>(field: &Field, value: &'v Value) -> Option<&'v Value> {
    let found = value.get(field.name);
    assert!(found.is_some() || field.presence == Presence::Optional, "`{}` is missing: {value}", field.name);
    found
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("not a text: {value}"))
}

fn long(value: &Value) -> i64 {
    value.as_i64().unwrap_or_else(|| panic!("not a number of 64 bits: {value}"))
}

fn int(value: &Value) -> i32 {
    let int = value.as_i64().and_then(|int| i32::try_from(int).ok());
    int.unwrap_or_else(|| panic!("not a number of 32 bits: {value}"))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("not a list: {value}"))
}

/// The record of these fields, if none that it needs is missing.
fn complete(record: &Record, fields: Map<String, Value>, at: usize) -> Result<Value, DecodeError> {
    let is_missing =
        |field: &&Field| field.presence == Presence::Required && !fields.contains_key(field.name);
    match record.fields.iter().find(is_missing) {
        Some(field) => {
            Err(DecodeError { message: format!("`{}` of `{}` is missing", field.name, record.name), at })
        }
        None => Ok(Value::Object(fields)),
    }
}

/// The byte behind so many columns of a line, which are counted from 1.
fn offset(bytes: &[u8], line: usize, column: usize) -> usize {
    let lines_before = bytes.split_inclusive(|byte| *byte == b'\n').take(line.saturating_sub(1));
    lines_before.map(<[u8]>::len).sum::<usize>() + column
}
