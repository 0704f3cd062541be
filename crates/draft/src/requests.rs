//! Requests of an experiment, and what every source needs to make them: targets without blanks, header fields that may
//! be sent, unique names.

use std::collections::HashMap;

use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, utf8_percent_encode};
use weighbridge_model::experiment::{Extract, Template, TemplatePiece};

/// Characters that must be encoded in a request's target; `%` stays, since targets come encoded.
const TARGET: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'<').add(b'>').add(b'\\').add(b'^').add(b'`');

/// Fields that belong to one connection, or that the generator writes itself.
const OF_THE_CONNECTION: [&str; 12] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// One request of an experiment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Unique.
    pub name: String,
    /// In upper case.
    pub method: String,
    /// Path and query, beginning with `/`.
    pub path: String,
    /// Name and value, each name once; secrets are replaced by variables.
    pub headers: Vec<(String, String)>,
    pub body: Option<String>,
    /// Share of the mix; 1 in a session.
    pub weight: u64,
    /// The status of a good reply, if it is known.
    pub status: Option<u16>,
    /// Values that later requests of the session take from its reply.
    pub extract: Vec<Extract>,
}

impl Request {
    /// A `GET` of a path, without a name yet.
    pub fn get(path: &str) -> Self {
        Self {
            name: String::new(),
            method: "GET".to_owned(),
            path: target(path),
            headers: Vec::new(),
            body: None,
            weight: 1,
            status: None,
            extract: Vec::new(),
        }
    }
}

/// A path and query encoded for sending.
pub(crate) fn target(text: &str) -> String {
    let text = text.split('#').next().unwrap_or_default();
    let begun = if text.starts_with('/') { text.to_owned() } else { format!("/{text}") };
    utf8_percent_encode(&begun, TARGET).to_string()
}

/// Characters that need no encoding in a part of a query or a form: the unreserved ones of RFC 3986.
const PART: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A part of a query, a path or a form, every reserved character encoded.
pub(crate) fn form(text: &str) -> String {
    utf8_percent_encode(text, PART).to_string()
}

/// Whether an experiment accepts a method.
pub(crate) fn is_method(text: &str) -> bool {
    !text.is_empty() && text.len() <= 32 && text.bytes().all(|byte| byte.is_ascii_alphabetic())
}

/// Adds a header field; if the name exists already, both values go into one field. `false` if the field cannot be sent:
/// an invalid name, or a value with control characters or bytes beyond ASCII.
#[must_use]
pub(crate) fn add_header(headers: &mut Vec<(String, String)>, name: &str, value: &str) -> bool {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    let value = value.trim();
    let plain = value.bytes().all(|byte| byte == b'\t' || (b' '..0x7f).contains(&byte));
    if name.is_empty() || !name.bytes().all(token) || !plain {
        return false;
    }
    match headers.iter_mut().find(|(given, _)| given.eq_ignore_ascii_case(name)) {
        Some((_, before)) => {
            let between = if name.eq_ignore_ascii_case("cookie") { "; " } else { ", " };
            before.push_str(between);
            before.push_str(value);
        }
        None => headers.push((name.to_owned(), value.to_owned())),
    }
    true
}

/// Whether a field belongs to one connection, or is written by the generator.
pub(crate) fn is_of_the_connection(name: &str) -> bool {
    name.starts_with(':') || OF_THE_CONNECTION.iter().any(|own| own.eq_ignore_ascii_case(name))
}

/// Longest name that a request gets.
const LONGEST_NAME: usize = 60;

/// A path with the names of its values in braces, as descriptions of APIs write them.
fn shown(path: &str) -> String {
    let Ok(template) = Template::parse(path) else { return path.to_owned() };
    let piece = |piece: &TemplatePiece| match piece {
        TemplatePiece::Text(text) => text.clone(),
        TemplatePiece::Value { name, .. } => format!("{{{name}}}"),
        TemplatePiece::Environment { .. } => "…".to_owned(),
    };
    template.pieces().iter().map(piece).collect()
}

/// Names unnamed requests by method and path: without the query if that is unique, and numbered if even the whole path
/// is not.
pub(crate) fn name_all(requests: &mut [Request]) {
    let plain = |request: &Request| {
        let whole = shown(&request.path);
        let path = whole.split('?').next().unwrap_or_default();
        format!("{} {path}", request.method)
    };
    let mut count: HashMap<String, usize> = HashMap::new();
    for request in requests.iter().filter(|request| request.name.is_empty()) {
        *count.entry(plain(request)).or_default() += 1;
    }
    let mut taken: HashMap<String, usize> = HashMap::new();
    for request in requests {
        if request.name.is_empty() {
            let short = plain(request);
            let whole = format!("{} {}", request.method, shown(&request.path));
            request.name = if count.get(&short).is_some_and(|count| *count > 1) { whole } else { short };
        }
        let cut: String = request.name.chars().take(LONGEST_NAME).collect();
        let mut name = cut.clone();
        // A name with a number after it may be another's own.
        while taken.contains_key(&name) {
            let number = taken.entry(cut.clone()).or_insert(1);
            *number += 1;
            name = format!("{cut} #{number}");
        }
        taken.insert(name.clone(), 1);
        request.name = name;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_short_if_possible() {
        let of = |path: &str| Request::get(path);
        let mut requests = [of("/a?x=1"), of("/b?x=1"), of("/b?x=2"), of("/b?x=2"), of("/b?x=2")];
        requests[4].name = "GET /b?x=2 #2".to_owned();
        name_all(&mut requests);
        let names: Vec<&str> = requests.iter().map(|request| &*request.name).collect();
        assert_eq!(names, ["GET /a", "GET /b?x=1", "GET /b?x=2", "GET /b?x=2 #2", "GET /b?x=2 #2 #2"]);
    }

    #[test]
    fn a_target_is_encoded_once() {
        assert_eq!(target("/a b%20c?q=ü#place"), "/a%20b%20c?q=%C3%BC");
        assert_eq!(target(""), "/");
        assert_eq!(target("?a"), "/?a");
    }

    #[test]
    fn a_field_given_twice_is_one_field_with_both_values() {
        let mut headers = Vec::new();
        for (name, value) in [("Accept", "a"), ("accept", " b "), ("Cookie", "x=1"), ("cookie", "y=2")] {
            assert!(add_header(&mut headers, name, value));
        }
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(headers, [pair("Accept", "a, b"), pair("Cookie", "x=1; y=2")]);
        for (name, value) in [("", "a"), ("a b", "c"), ("a", "b\nc"), ("a", "ü")] {
            assert!(!add_header(&mut headers, name, value), "{name}: {value}");
        }
    }
}
