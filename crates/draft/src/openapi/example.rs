//! Example values: the description's own if it has one, else generated from the schema, the same each time.
//!
//! Generated values respect type, bounds, length, list of values and known formats. They are not derived from patterns.

use serde_json::{Map, Value, json};

use super::Api;

/// Deepest value that is generated.
const DEEPEST: usize = 12;
/// Most values of one example: schemas that refer to themselves twice would grow without end.
const MOST: usize = 2_000;

/// Generates examples for one description.
pub(super) struct Examples<'a, 'b> {
    pub api: &'b Api<'a>,
}

/// The parts of one example generated so far.
struct Made {
    values: usize,
    within: Vec<*const Value>,
}

impl<'a> Examples<'a, '_> {
    /// The value of a parameter: its example or default, or a generated one if it is required.
    pub fn of_parameter(&self, parameter: &'a Value, required: bool) -> Result<Option<Value>, String> {
        let media =
            parameter.get("content").and_then(Value::as_object).and_then(|content| content.values().next());
        if let Some(media) = media {
            return if required {
                self.of_media(media).map(|value| Some(Value::String(value.to_string())))
            } else {
                Ok(None)
            };
        }
        if let Some(example) = self.stated(parameter) {
            return Ok(Some(example.clone()));
        }
        let Some(schema) = parameter.get("schema") else {
            return if required { Err("has neither an example nor a schema".to_owned()) } else { Ok(None) };
        };
        let target = self.target(schema)?;
        if let Some(example) = self.stated(target) {
            return Ok(Some(example.clone()));
        }
        if required { self.of_schema(schema).map(Some) } else { Ok(None) }
    }

    /// The value of a body.
    pub fn of_media(&self, media: &'a Value) -> Result<Value, String> {
        if let Some(example) = self.stated(media) {
            return Ok(example.clone());
        }
        match media.get("schema") {
            Some(schema) => self.of_schema(schema),
            None => Err("has neither an example nor a schema".to_owned()),
        }
    }

    fn of_schema(&self, schema: &'a Value) -> Result<Value, String> {
        self.make(schema, &mut Made { values: 0, within: Vec::new() })
    }

    /// The first example that a parameter, a media type or a schema has.
    fn stated(&self, owner: &'a Value) -> Option<&'a Value> {
        if let Some(example) = owner.get("example") {
            return Some(example);
        }
        match owner.get("examples") {
            Some(Value::Array(list)) => list.first(),
            Some(Value::Object(named)) => {
                let example = self.target(named.values().next()?).ok()?;
                example.get("value")
            }
            _ => None,
        }
    }

    fn target(&self, value: &'a Value) -> Result<&'a Value, String> {
        self.api.follow("", value).map_err(|error| match error {
            super::OpenApiError::Wrong { message, .. } => message,
            other => other.to_string(),
        })
    }

    fn make(&self, schema: &'a Value, made: &mut Made) -> Result<Value, String> {
        let schema = self.target(schema)?;
        made.values += 1;
        if made.values > MOST
            || made.within.len() >= DEEPEST
            || made.within.contains(&std::ptr::from_ref(schema))
        {
            return Err("its schema contains itself and has no example".to_owned());
        }
        for key in ["example", "const", "default"] {
            if let Some(value) = schema.get(key) {
                return Ok(value.clone());
            }
        }
        if let Some(Value::Array(list)) = schema.get("examples").filter(|list| list.get(0).is_some()) {
            return Ok(list[0].clone());
        }
        if let Some(first) = schema.get("enum").and_then(|list| list.get(0)) {
            return Ok(first.clone());
        }
        made.within.push(std::ptr::from_ref(schema));
        let value = self.by_shape(schema, made);
        made.within.pop();
        value
    }

    fn by_shape(&self, schema: &'a Value, made: &mut Made) -> Result<Value, String> {
        if let Some(parts) = schema.get("allOf").and_then(Value::as_array) {
            return self.all_of(schema, parts, made);
        }
        for key in ["oneOf", "anyOf"] {
            let choices = schema.get(key).and_then(Value::as_array);
            let found = choices.into_iter().flatten().find_map(|choice| self.make(choice, made).ok());
            if let Some(value) = found {
                return Ok(value);
            }
        }
        match kind(schema) {
            "object" => self.object(schema, made),
            "array" => self.array(schema, made),
            "string" => Ok(Value::String(text(schema))),
            "integer" => Ok(integer(schema)),
            "number" => Ok(number(schema)),
            "boolean" => Ok(json!(true)),
            "null" => Ok(Value::Null),
            other => Err(format!("`{other}` is no type of a schema")),
        }
    }

    /// The parts of an `allOf` merged; if they are not objects, the first that can be generated.
    fn all_of(&self, schema: &'a Value, parts: &'a [Value], made: &mut Made) -> Result<Value, String> {
        let mut whole = Map::new();
        let own = schema.get("properties").is_some().then(|| self.object(schema, made)).transpose()?;
        for part in parts.iter().map(|part| self.make(part, made)).chain(own.map(Ok)) {
            match part? {
                Value::Object(fields) => whole.extend(fields),
                Value::Null => {}
                other if whole.is_empty() => return Ok(other),
                _ => {}
            }
        }
        Ok(Value::Object(whole))
    }

    fn object(&self, schema: &'a Value, made: &mut Made) -> Result<Value, String> {
        let required = schema.get("required").and_then(Value::as_array);
        let needed = |name: &str| required.is_some_and(|list| list.iter().any(|entry| entry == name));
        let mut fields = Map::new();
        for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let target = self.target(property)?;
            if target.get("readOnly") == Some(&Value::Bool(true)) {
                continue;
            }
            match self.make(property, made) {
                Ok(value) => drop(fields.insert(name.clone(), value)),
                Err(why) if needed(name) => return Err(why),
                Err(_) => {}
            }
        }
        Ok(Value::Object(fields))
    }

    fn array(&self, schema: &'a Value, made: &mut Made) -> Result<Value, String> {
        let least = schema.get("minItems").and_then(Value::as_u64).unwrap_or(0);
        let Some(items) = schema.get("items") else { return Ok(json!([])) };
        match self.make(items, made) {
            Ok(item) => {
                let wanted = usize::try_from(least.max(1)).unwrap_or(usize::MAX);
                // Copies count too: lists within lists multiply.
                made.values = made.values.saturating_add(size(&item).saturating_mul(wanted));
                if made.values > MOST {
                    return Err("its list is too long to be made here".to_owned());
                }
                Ok(Value::Array(vec![item; wanted]))
            }
            Err(_) if least == 0 => Ok(json!([])),
            Err(why) => Err(why),
        }
    }
}

/// The number of values in a value.
fn size(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(size).sum::<usize>(),
        Value::Object(fields) => 1 + fields.values().map(size).sum::<usize>(),
        _ => 1,
    }
}

/// The type that a schema states or implies.
fn kind(schema: &Value) -> &str {
    match schema.get("type") {
        Some(Value::String(one)) => one,
        Some(Value::Array(several)) => {
            let names = || several.iter().filter_map(Value::as_str);
            names().find(|name| *name != "null").or_else(|| names().next()).unwrap_or("null")
        }
        _ if schema.get("properties").is_some() => "object",
        _ if schema.get("items").is_some() => "array",
        _ if schema.get("minimum").is_some() || schema.get("maximum").is_some() => "number",
        _ => "string",
    }
}

fn text(schema: &Value) -> String {
    let format = schema.get("format").and_then(Value::as_str).unwrap_or_default();
    let known = match format {
        "date" => "2026-01-31",
        "date-time" => "2026-01-31T12:00:00Z",
        "time" => "12:00:00Z",
        "duration" => "PT1M",
        "uuid" => "3fa85f64-5717-4562-b3fc-2c963f66afa6",
        "email" => "user@example.org",
        "uri" | "url" | "uri-reference" => "https://example.org/",
        "hostname" => "example.org",
        "ipv4" => "192.0.2.1",
        "ipv6" => "2001:db8::1",
        "byte" => "dGV4dA==",
        _ => "",
    };
    if !known.is_empty() {
        return known.to_owned();
    }
    let length = |key: &str| schema.get(key).and_then(Value::as_u64);
    let least = length("minLength").unwrap_or(0).min(10_000) as usize;
    let most = length("maxLength").map_or(usize::MAX, |most| most.min(10_000) as usize);
    let mut text = "text".repeat(least.div_ceil(4).max(1));
    text.truncate(least.max(4).min(most));
    text
}

fn bound(schema: &Value, plain: &str, exclusive: &str, step: f64) -> Option<f64> {
    let number = |key: &str| schema.get(key).and_then(Value::as_f64);
    // In 3.0 `exclusiveMinimum` is a truth value beside `minimum`, in 3.1 the bound itself.
    match (number(plain), schema.get(exclusive)) {
        (Some(bound), Some(Value::Bool(true))) => Some(bound + step),
        (bound, _) => match number(exclusive) {
            Some(outer) => Some(bound.map_or(outer + step, |bound| bound.max(outer + step))),
            None => bound,
        },
    }
}

fn integer(schema: &Value) -> Value {
    let least = bound(schema, "minimum", "exclusiveMinimum", 1.0).map_or(i64::MIN, |x| x.ceil() as i64);
    let most = match (schema.get("maximum"), schema.get("exclusiveMaximum")) {
        (None, None) => i64::MAX,
        _ => bound(schema, "maximum", "exclusiveMaximum", -1.0).map_or(i64::MAX, |x| x.floor() as i64),
    };
    let step = schema.get("multipleOf").and_then(Value::as_i64).filter(|step| *step > 0).unwrap_or(1);
    let wanted = step.max(least).min(most.max(least));
    let up = wanted.checked_add((step - wanted.rem_euclid(step)) % step);
    json!(up.filter(|up| *up <= most).unwrap_or(wanted))
}

fn number(schema: &Value) -> Value {
    let least = bound(schema, "minimum", "exclusiveMinimum", 0.5);
    let most = bound(schema, "maximum", "exclusiveMaximum", -0.5);
    let wanted = least.map_or(1.5_f64, |least| least.max(1.5));
    json!(most.map_or(wanted, |most| wanted.min(most)))
}
