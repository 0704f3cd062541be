//! A recording as one session: what a later request takes from an earlier reply (a token, an identifier, a cookie)
//! becomes a value of the session.
//!
//! A value is taken over where a request holds exactly what a reply held before, where the client cannot have known it
//! earlier, and where it looks as if it had been made up by the server. It refuses to guess beyond that: what is not
//! found in a JSON text or a header field stays as it was recorded.

use std::collections::{HashMap, HashSet};

use serde_json::Value;
use weighbridge_model::experiment::{Extract, ExtractFrom, VALUE_LONGEST, is_value_name};
use weighbridge_model::secret::is_secret;

use super::Answered;
use crate::Request;
use crate::parameters::{Parameter, Place, Put, rewrite};
use crate::secret::Vault;

/// A shorter value is taken for one of the server's own only under a name that says so.
const TELLING: usize = 8;

/// A value that a reply held.
struct ReplyValue {
    /// Place of its request.
    at: usize,
    key: String,
    text: String,
    from: ExtractFrom,
    regex: Option<String>,
    writing: Writing,
    /// Its name, once a later request takes it.
    name: Option<String>,
}

/// How the text of a source is to be compared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Writing {
    /// By what it says.
    Plain,
    /// It is percent-encoded, as in an address.
    Encoded,
    Cookie,
}

/// What later requests take from earlier replies.
#[derive(Default)]
struct Dependencies {
    sources: Vec<ReplyValue>,
    /// The first source of each text.
    by_text: HashMap<String, Vec<usize>>,
    /// What requests have held so far.
    known: HashSet<String>,
    names: HashSet<String>,
    extracts: Vec<Vec<Extract>>,
}

/// Rewrites requests in the order of their recording, and gives each the values that later ones take from its reply.
/// Gives the names of these values in the order of their first use.
pub(super) fn connect(requests: &mut [(Request, &Answered)], vault: &mut Vault) -> Vec<String> {
    let mut dependencies =
        Dependencies { extracts: vec![Vec::new(); requests.len()], ..Dependencies::default() };
    let mut names = Vec::new();
    for (at, (request, answered)) in requests.iter_mut().enumerate() {
        let mut held = Vec::new();
        rewrite(request, &mut |parameter| {
            held.extend([parameter.value.to_owned(), parameter.raw.to_owned()]);
            let put = dependencies.take(parameter, &mut names);
            put.or_else(|| vault.put(parameter))
        });
        dependencies.known.extend(held);
        dependencies.learn(at, answered);
    }
    for ((request, _), extracts) in requests.iter_mut().zip(dependencies.extracts) {
        request.extract = extracts;
    }
    names
}

impl Dependencies {
    /// The value of an earlier reply that a parameter holds.
    fn take(&mut self, parameter: &Parameter<'_>, names: &mut Vec<String>) -> Option<Put> {
        let texts = [parameter.value, parameter.raw];
        let found = texts.iter().filter_map(|text| self.by_text.get(*text)).flatten().copied();
        let at = found.into_iter().find(|at| fits(&self.sources[*at], parameter))?;
        let name = match &self.sources[at].name {
            Some(name) => name.clone(),
            None => {
                let name = self.name(&self.sources[at].key.clone());
                names.push(name.clone());
                let source = &mut self.sources[at];
                source.name = Some(name.clone());
                let (from, regex) = (source.from.clone(), source.regex.clone());
                self.extracts[source.at].push(Extract { name: name.clone(), from, regex });
                name
            }
        };
        Some(match self.sources[at].writing {
            Writing::Encoded => Put::Raw(name),
            Writing::Plain | Writing::Cookie => Put::Value(name),
        })
    }

    /// A name for a value, unique.
    fn name(&mut self, key: &str) -> String {
        let base: String = key
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '_' })
            .take(40)
            .collect();
        let base = if is_value_name(&base) { base } else { "value".to_owned() };
        let mut name = base.clone();
        let mut number = 1;
        while !self.names.insert(name.clone()) {
            number += 1;
            name = format!("{base}_{number}");
        }
        name
    }

    /// Keeps what a reply holds and no request has held before.
    fn learn(&mut self, at: usize, answered: &Answered) {
        if let Some(body) = answered.content.json() {
            self.walk(at, &body, &mut Vec::new());
        }
        for field in &answered.headers {
            // Some browsers write several fields of one name into one.
            for value in field.value.split('\n') {
                self.header(at, field.name.trim(), value.trim());
            }
        }
    }

    fn walk(&mut self, at: usize, value: &Value, path: &mut Vec<String>) {
        let text = match value {
            Value::Object(members) => {
                for (key, member) in members {
                    path.push(key.clone());
                    self.walk(at, member, path);
                    path.pop();
                }
                return;
            }
            Value::Array(items) => {
                for (place, item) in items.iter().enumerate() {
                    path.push(place.to_string());
                    self.walk(at, item, path);
                    path.pop();
                }
                return;
            }
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            Value::Null | Value::Bool(_) => return,
        };
        let pointer: String =
            path.iter().map(|part| format!("/{}", part.replace('~', "~0").replace('/', "~1"))).collect();
        let is_index = |part: &&String| part.bytes().all(|byte| byte.is_ascii_digit());
        let key = path.iter().rev().find(|part| !is_index(part)).cloned().unwrap_or_default();
        self.keep(ReplyValue {
            at,
            key,
            text,
            from: ExtractFrom::Json(pointer),
            regex: None,
            writing: Writing::Plain,
            name: None,
        });
    }

    fn header(&mut self, at: usize, name: &str, value: &str) {
        let from = || ExtractFrom::Header(name.to_owned());
        if name.eq_ignore_ascii_case("set-cookie") {
            let pair = value.split(';').next().unwrap_or_default();
            if let Some((key, text)) = pair.split_once('=').filter(|(key, _)| is_word(key)) {
                let regex = Some(format!("^{}=([^;]*)", literal(key)));
                self.keep(ReplyValue {
                    at,
                    key: key.to_owned(),
                    text: text.to_owned(),
                    from: from(),
                    regex,
                    writing: Writing::Cookie,
                    name: None,
                });
            }
            return;
        }
        if name.eq_ignore_ascii_case("location") || name.eq_ignore_ascii_case("content-location") {
            self.address(at, name, value);
            return;
        }
        self.keep(ReplyValue {
            at,
            key: name.to_owned(),
            text: value.to_owned(),
            from: from(),
            regex: None,
            writing: Writing::Plain,
            name: None,
        });
    }

    /// The last segment of an address, and the values of its query.
    fn address(&mut self, at: usize, name: &str, value: &str) {
        let from = || ExtractFrom::Header(name.to_owned());
        let value = value.split('#').next().unwrap_or_default();
        let (path, query) = value.split_once('?').unwrap_or((value, ""));
        let mut segments = path.rsplit('/').filter(|segment| !segment.is_empty());
        if let (Some(last), Some(before)) = (segments.next(), segments.next())
            && is_word(before)
        {
            let regex = Some(format!("/{}/([^/?#]+)", literal(before)));
            // The segment before names what the last one identifies.
            let key = format!("{}_id", before.trim_end_matches('s'));
            self.keep(ReplyValue {
                at,
                key,
                text: last.to_owned(),
                from: from(),
                regex,
                writing: Writing::Encoded,
                name: None,
            });
        }
        for (key, text) in query.split('&').filter_map(|pair| pair.split_once('=')) {
            if is_word(key) {
                let regex = Some(format!("[?&]{}=([^&#]+)", literal(key)));
                self.keep(ReplyValue {
                    at,
                    key: key.to_owned(),
                    text: text.to_owned(),
                    from: from(),
                    regex,
                    writing: Writing::Encoded,
                    name: None,
                });
            }
        }
    }

    fn keep(&mut self, source: ReplyValue) {
        let ReplyValue { key, text, writing, .. } = &source;
        let is_made = *writing == Writing::Cookie || names_an_identifier(key) || looks_made(text);
        if text.is_empty() || text.len() > VALUE_LONGEST || !is_made || self.known.contains(text) {
            return;
        }
        // Two sources of one reply or of two: the first is taken, unless it does not fit the place.
        self.by_text.entry(text.clone()).or_default().push(self.sources.len());
        self.sources.push(source);
    }
}

/// Whether a parameter holds the value of a source.
fn fits(source: &ReplyValue, parameter: &Parameter<'_>) -> bool {
    match (source.writing, parameter.place) {
        (Writing::Cookie, Place::Cookie) => source.key == parameter.key && source.text == parameter.value,
        (Writing::Encoded, Place::Segment | Place::Pair) => {
            source.text == parameter.raw && is_at_home(source, parameter)
        }
        (Writing::Plain, _) => source.text == parameter.value && is_at_home(source, parameter),
        (Writing::Cookie | Writing::Encoded, _) => false,
    }
}

/// Whether a value that could stand anywhere stands where its name says that it is meant.
fn is_at_home(source: &ReplyValue, parameter: &Parameter<'_>) -> bool {
    looks_made(&source.text) || parameter.place == Place::Segment || names_an_identifier(parameter.key)
}

/// Whether a text looks as if it had been drawn rather than written: no blanks, some length, and digits.
fn looks_made(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_graphic();
    text.len() >= TELLING && text.bytes().all(plain) && text.bytes().any(|byte| byte.is_ascii_digit())
}

/// Whether a name says that its value stands for one thing among many.
fn names_an_identifier(key: &str) -> bool {
    let lower = key.to_ascii_lowercase();
    let whole = ["id", "uuid", "guid", "cursor", "nonce"].contains(&&*lower);
    let ends =
        ["_id", "-id", "_uuid", "uuid", "guid", "cursor", "csrf"].iter().any(|end| lower.ends_with(end));
    whole || ends || key.ends_with("Id") || key.ends_with("ID") || is_secret(key)
}

/// Whether a name can stand in a regular expression as it is, but for its dots.
fn is_word(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    !name.is_empty() && name.len() <= 100 && name.bytes().all(plain)
}

/// A [word](is_word) as a regular expression.
fn literal(word: &str) -> String {
    word.replace('.', "\\.")
}
