//! The parts of a request that are single values: a segment of its path, a value of its query, a header field or a
//! cookie, a text or number of its body. Such a value can be replaced by a placeholder; everything else is escaped so
//! that it is read literally.
//!
//! It knows the parts and their encodings; the caller decides which value to replace.

use percent_encoding::percent_decode_str;
use weighbridge_model::experiment::Template;

use crate::Request;

/// Where a value is, which decides how it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// A segment of the path.
    Segment,
    /// A value of the query or of a form, percent-encoded.
    Pair,
    /// A header field, or what follows the scheme of one.
    Header,
    Cookie,
    /// A text of a JSON body.
    JsonText,
    /// A number of a JSON body.
    JsonNumber,
}

/// One value of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Parameter<'a> {
    /// Its position.
    pub place: Place,
    /// Its name there; empty for a segment of a path.
    pub key: &'a str,
    /// Its decoded value.
    pub value: &'a str,
    /// Its text as written.
    pub raw: &'a str,
}

/// The replacement of a parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Put {
    /// A value of the session, in the encoding of the place.
    Value(String),
    /// A value of the session that already has the encoding of the place.
    Raw(String),
    /// An environment variable; it contains the value without any encoding.
    Variable(String),
}

/// Chooses the replacement of a parameter; `None` leaves it unchanged.
pub(crate) type Choose<'a> = &'a mut dyn FnMut(&Parameter<'_>) -> Option<Put>;

impl Put {
    fn text(&self, place: Place) -> String {
        let form = match (place, self) {
            (_, Self::Raw(_)) | (Place::Header | Place::Cookie | Place::JsonNumber, _) => "",
            (Place::Segment | Place::Pair, _) => ":url",
            (Place::JsonText, _) => ":json",
        };
        match self {
            Self::Value(name) | Self::Raw(name) => format!("${{{name}{form}}}"),
            Self::Variable(name) => format!("${{env:{name}{form}}}"),
        }
    }
}

/// Rewrites path, header fields and body.
pub(crate) fn rewrite(request: &mut Request, choose: Choose<'_>) {
    request.path = target(&request.path, choose);
    let mut is_form = false;
    for (name, value) in &mut request.headers {
        is_form |= name.eq_ignore_ascii_case("content-type")
            && value.to_ascii_lowercase().starts_with("application/x-www-form-urlencoded");
        *value = match name.eq_ignore_ascii_case("cookie") {
            true => cookies(value, choose),
            false => field(name, value, choose),
        };
    }
    if let Some(body) = &mut request.body {
        *body = if is_form {
            pairs(body, choose)
        } else if serde_json::from_str::<serde::de::IgnoredAny>(body).is_ok() {
            json(body, choose)
        } else {
            Template::escaped(body)
        };
    }
}

fn target(path: &str, choose: Choose<'_>) -> String {
    let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
    let segments: Vec<String> =
        path.split('/').map(|raw| encoded(Place::Segment, "", raw, raw, choose)).collect();
    let mut text = segments.join("/");
    if let Some(query) = query {
        text.push('?');
        text.push_str(&pairs(query, choose));
    }
    text
}

fn pairs(text: &str, choose: Choose<'_>) -> String {
    let pair = |pair: &str| match pair.split_once('=') {
        None => Template::escaped(pair),
        Some((key, raw)) => {
            let spaced = raw.replace('+', " ");
            let value = encoded(Place::Pair, key, raw, &spaced, choose);
            format!("{}={value}", Template::escaped(key))
        }
    };
    text.split('&').map(pair).collect::<Vec<_>>().join("&")
}

/// A percent-encoded value; one that would be encoded differently stays unchanged.
fn encoded(place: Place, key: &str, raw: &str, spaced: &str, choose: Choose<'_>) -> String {
    let Ok(value) = percent_decode_str(spaced).decode_utf8() else { return Template::escaped(raw) };
    // A key is a name, whatever its encoding.
    let name = percent_decode_str(key).decode_utf8_lossy();
    let put =
        if raw.is_empty() { None } else { choose(&Parameter { place, key: &name, value: &value, raw }) };
    match put {
        Some(put) => put.text(place),
        None => Template::escaped(raw),
    }
}

fn field(name: &str, value: &str, choose: Choose<'_>) -> String {
    let mut ask = |value| choose(&Parameter { place: Place::Header, key: name, value, raw: value });
    if let Some(put) = ask(value) {
        return put.text(Place::Header);
    }
    let after_scheme = value.split_once(' ').filter(|(_, rest)| !rest.contains(' '));
    if let Some((scheme, put)) = after_scheme.and_then(|(scheme, rest)| Some((scheme, ask(rest)?))) {
        return format!("{} {}", Template::escaped(scheme), put.text(Place::Header));
    }
    Template::escaped(value)
}

/// Cookies one by one; if none of them is replaced, the field is left unchanged. If some are, the others are offered
/// together, under the name of the field.
fn cookies(value: &str, choose: Choose<'_>) -> String {
    let mut rest = Vec::new();
    let mut put = Vec::new();
    for pair in value.split(';').map(str::trim).filter(|pair| !pair.is_empty()) {
        let found = pair.split_once('=').and_then(|(key, value)| {
            let parameter = Parameter { place: Place::Cookie, key, value, raw: value };
            Some(format!("{}={}", Template::escaped(key), choose(&parameter)?.text(Place::Cookie)))
        });
        match found {
            Some(text) => put.push(text),
            None => rest.push(pair),
        }
    }
    if put.is_empty() {
        return Template::escaped(value);
    }
    if !rest.is_empty() {
        let rest = rest.join("; ");
        let parameter = Parameter { place: Place::Header, key: "Cookie", value: &rest, raw: &rest };
        put.extend(choose(&parameter).map(|put| put.text(Place::Header)));
    }
    put.join("; ")
}

/// A JSON text, its strings and numbers one by one; everything between them stays unchanged.
fn json(text: &str, choose: Choose<'_>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut key = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '"' => text_length(rest),
            '-' | '0'..='9' => {
                rest.find(|c: char| !c.is_ascii_alphanumeric() && !"+-.".contains(c)).unwrap_or(rest.len())
            }
            _ => {
                out.push(first);
                rest = &rest[first.len_utf8()..];
                continue;
            }
        };
        let (token, after) = rest.split_at(length);
        rest = after;
        let inside = token.trim_matches('"');
        let value = serde_json::from_str::<String>(token).unwrap_or_else(|_| token.to_owned());
        if first == '"' && after.trim_start().starts_with(':') {
            key = value;
            out.push_str(&Template::escaped(token));
            continue;
        }
        let place = if first == '"' { Place::JsonText } else { Place::JsonNumber };
        match choose(&Parameter { place, key: &key, value: &value, raw: inside }) {
            Some(put) if first == '"' => out.push_str(&format!("\"{}\"", put.text(place))),
            Some(put) => out.push_str(&put.text(place)),
            None => out.push_str(&Template::escaped(token)),
        }
    }
    out
}

/// Length of the JSON string that begins here, with its quotes.
fn text_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}
