//! JSON: no blanks, fields in the order of the model, an absent one `null`.

use serde_json::{Map, Value};

use super::{
    DecodeError, Field, FieldType, Presence, Record, complete, field, int, list, long, offset, text,
};

pub(super) fn encode(record: &Record, value: &Value, bytes: &mut Vec<u8>) {
    for (index, one) in record.fields.iter().enumerate() {
        bytes.push(if index == 0 { b'{' } else { b',' });
        put_text(one.name, bytes);
        bytes.push(b':');
        match field(one, value) {
            Some(value) => put(one.kind, value, bytes),
            None => bytes.extend_from_slice(b"null"),
        }
    }
    if record.fields.is_empty() {
        bytes.push(b'{');
    }
    bytes.push(b'}');
}

fn put(kind: FieldType, value: &Value, bytes: &mut Vec<u8>) {
    match kind {
        FieldType::Text => put_text(text(value), bytes),
        FieldType::Int => bytes.extend_from_slice(int(value).to_string().as_bytes()),
        FieldType::Long => bytes.extend_from_slice(long(value).to_string().as_bytes()),
        FieldType::Record(record) => encode(record, value, bytes),
        FieldType::List(record) => {
            bytes.push(b'[');
            for (index, one) in list(value).iter().enumerate() {
                if index > 0 {
                    bytes.push(b',');
                }
                encode(record, one, bytes);
            }
            bytes.push(b']');
        }
    }
}

fn put_text(text: &str, bytes: &mut Vec<u8>) {
    serde_json::to_writer(bytes, text).expect("a text has a JSON form, and memory takes it");
}

pub(super) fn decode(record: &Record, bytes: &[u8]) -> Result<Value, DecodeError> {
    let value = serde_json::from_slice(bytes).map_err(|error| {
        let at = offset(bytes, error.line(), error.column());
        DecodeError { message: format!("not JSON: {error}"), at }
    })?;
    of_record(record, value).map_err(|message| DecodeError { message, at: 0 })
}

fn of_record(record: &Record, value: Value) -> Result<Value, String> {
    let Value::Object(mut found) = value else { return Err(format!("`{}` is not an object", record.name)) };
    let mut fields = Map::new();
    for Field { name, kind, presence, .. } in record.fields {
        match found.remove(*name) {
            None => {}
            Some(Value::Null) if *presence == Presence::Optional => {}
            Some(value) => {
                let value =
                    of_type(*kind, value).map_err(|why| format!("`{name}` of `{}`: {why}", record.name))?;
                fields.insert((*name).to_owned(), value);
            }
        }
    }
    if let Some(unknown) = found.keys().next() {
        return Err(format!("`{}` has no field `{unknown}`", record.name));
    }
    complete(record, fields, 0).map_err(|error| error.message)
}

fn of_type(kind: FieldType, value: Value) -> Result<Value, String> {
    match (kind, value) {
        (FieldType::Text, Value::String(text)) => Ok(Value::String(text)),
        (FieldType::Int, Value::Number(number)) => {
            match number.as_i64().and_then(|int| i32::try_from(int).ok()) {
                Some(int) => Ok(int.into()),
                None => Err(format!("{number} is no whole number of 32 bits")),
            }
        }
        (FieldType::Long, Value::Number(number)) => match number.as_i64() {
            Some(long) => Ok(long.into()),
            None => Err(format!("{number} is no whole number of 64 bits")),
        },
        (FieldType::Record(record), value) => of_record(record, value),
        (FieldType::List(record), Value::Array(values)) => {
            values.into_iter().map(|value| of_record(record, value)).collect()
        }
        (FieldType::Text, _) => Err("not a text".to_owned()),
        (FieldType::Int | FieldType::Long, _) => Err("not a number".to_owned()),
        (FieldType::List(_), _) => Err("not a list".to_owned()),
    }
}
