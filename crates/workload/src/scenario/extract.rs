//! Values taken from replies: from a JSON text, a header field, or a match of a regular expression.
//!
//! A value is bounded and must fit every place where it is used later; if one does not fit or is missing, the reply is
//! wrong. Memory is kept from reply to reply, so that taking values allocates nothing in the steady state.

use std::fmt;

use regex::bytes::{CaptureLocations, Regex};
use weighbridge_load::framer::Head;
use weighbridge_model::experiment::{Extract, ExtractFrom, VALUE_LONGEST};

use super::values::Fitness;
use crate::json::{self, Pointer};

/// Where and how a value is found.
#[derive(Debug, Clone)]
pub(crate) struct Extractor {
    name: String,
    from: ReplyPart,
    regex: Option<Regex>,
    /// Index of the session's value that it sets.
    value: usize,
    fitness: Fitness,
}

#[derive(Debug, Clone)]
enum ReplyPart {
    Body,
    Json(Pointer),
    Header(String),
}

/// Why there is no value, or none that can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExtractError {
    Nothing,
    /// The body is not JSON.
    NotJson,
    /// The body is too long to be searched.
    Body,
    /// JSON's null.
    Null,
    /// The value has this many bytes.
    Long(usize),
    /// It does not fit where it is used.
    Unfit(&'static str),
}

/// What is kept of one reply, and then the values taken from it.
#[derive(Debug)]
pub(crate) struct Taken {
    /// The value of each extractor; for a header field first its text.
    values: Vec<Vec<u8>>,
    found: Vec<bool>,
    locations: Vec<Option<CaptureLocations>>,
    /// Buffer for a value before the regular expression is applied to it.
    whole: Vec<u8>,
    /// The first extractor that found no value.
    missing: Option<(usize, ExtractError)>,
}

impl Extractor {
    /// The extractor for `spec`, which sets the session's value number `value`.
    pub fn new(spec: &Extract, value: usize, fitness: Fitness) -> Result<Self, regex::Error> {
        let from = match &spec.from {
            ExtractFrom::Body => ReplyPart::Body,
            ExtractFrom::Json(pointer) => ReplyPart::Json(Pointer::new(pointer)),
            ExtractFrom::Header(name) => ReplyPart::Header(name.clone()),
        };
        let regex = spec.regex.as_deref().map(Regex::new).transpose()?;
        Ok(Self { name: spec.name.clone(), from, regex, value, fitness })
    }

    /// Index of the session's value that it sets.
    pub fn value(&self) -> usize {
        self.value
    }

    /// Whether it needs the body.
    pub fn needs_body(&self) -> bool {
        !matches!(self.from, ReplyPart::Header(_))
    }

    /// Takes its value from the header fields.
    fn head(&self, head: &Head<'_>, locations: Option<&mut CaptureLocations>, into: &mut Vec<u8>) -> bool {
        let ReplyPart::Header(name) = &self.from else { return false };
        let mut fields = head.fields.iter().filter(|field| field.name.eq_ignore_ascii_case(name));
        match (&self.regex, locations) {
            (Some(regex), Some(locations)) => {
                fields.any(|field| matched(regex, locations, field.value, into))
            }
            _ => fields.next().is_some_and(|field| {
                keep(field.value, into);
                true
            }),
        }
    }

    /// Takes its value from the body.
    fn body(
        &self,
        body: &[u8],
        locations: Option<&mut CaptureLocations>,
        whole: &mut Vec<u8>,
        into: &mut Vec<u8>,
    ) -> Result<(), ExtractError> {
        let text = match &self.from {
            ReplyPart::Header(_) => return Ok(()),
            ReplyPart::Body => body,
            ReplyPart::Json(pointer) => {
                let found = json::find(body, pointer).map_err(|_| ExtractError::NotJson)?;
                let found = found.ok_or(ExtractError::Nothing)?;
                if found == b"null" {
                    return Err(ExtractError::Null);
                }
                whole.clear();
                json::append(found, whole);
                whole
            }
        };
        match (&self.regex, locations) {
            (Some(regex), Some(locations)) => {
                if matched(regex, locations, text, into) {
                    Ok(())
                } else {
                    Err(ExtractError::Nothing)
                }
            }
            _ => {
                keep(text, into);
                Ok(())
            }
        }
    }

    /// Checks a value that was found.
    fn judge(&self, value: &[u8]) -> Result<(), ExtractError> {
        if value.len() > VALUE_LONGEST {
            return Err(ExtractError::Long(value.len()));
        }
        self.fitness.check(value).map_err(ExtractError::Unfit)
    }
}

/// Appends the first group that matches, or the whole match if there is no group.
fn matched(regex: &Regex, locations: &mut CaptureLocations, text: &[u8], into: &mut Vec<u8>) -> bool {
    if regex.captures_read(locations, text).is_none() {
        return false;
    }
    let group = usize::from(locations.len() > 1);
    let Some((begin, end)) = locations.get(group) else { return false };
    keep(&text[begin..end], into);
    true
}

/// Keeps a value, or as much of it as shows that it is too long.
fn keep(value: &[u8], into: &mut Vec<u8>) {
    into.extend_from_slice(&value[..value.len().min(VALUE_LONGEST + 1)]);
}

impl Taken {
    pub fn new(extractors: &[Extractor]) -> Self {
        let locations = |extractor: &Extractor| extractor.regex.as_ref().map(Regex::capture_locations);
        Self {
            values: vec![Vec::new(); extractors.len()],
            found: vec![false; extractors.len()],
            locations: extractors.iter().map(locations).collect(),
            whole: Vec::new(),
            missing: None,
        }
    }

    /// Drops the values of the last reply.
    pub fn reset(&mut self) {
        self.values.iter_mut().for_each(Vec::clear);
        self.found.fill(false);
        self.missing = None;
    }

    /// Takes values from the header fields.
    pub fn head(&mut self, extractors: &[Extractor], head: &Head<'_>) {
        for (at, extractor) in extractors.iter().enumerate() {
            self.found[at] = extractor.head(head, self.locations[at].as_mut(), &mut self.values[at]);
        }
    }

    /// Takes the other values from the whole body (`None` if it was too long to be kept), and checks all. Returns
    /// whether every value was found.
    pub fn body(&mut self, extractors: &[Extractor], body: Option<&[u8]>) -> bool {
        self.missing = None;
        for (at, extractor) in extractors.iter().enumerate() {
            if extractor.needs_body() {
                self.values[at].clear();
            }
            let taken = match (extractor.needs_body(), body) {
                (false, _) if self.found[at] => Ok(()),
                (false, _) => Err(ExtractError::Nothing),
                (true, None) => Err(ExtractError::Body),
                (true, Some(body)) => {
                    let locations = self.locations[at].as_mut();
                    extractor.body(body, locations, &mut self.whole, &mut self.values[at])
                }
            };
            if let Err(missing) = taken.and_then(|()| extractor.judge(&self.values[at])) {
                self.missing.get_or_insert((at, missing));
            }
        }
        self.missing.is_none()
    }

    /// The value of extractor `at`, to be swapped with other memory.
    pub fn value_mut(&mut self, at: usize) -> &mut Vec<u8> {
        &mut self.values[at]
    }

    /// The values found so far.
    pub fn values(&self) -> impl Iterator<Item = &[u8]> {
        self.values.iter().map(Vec::as_slice).filter(|value| !value.is_empty())
    }

    /// Why a value is missing, in words that contain nothing of the reply.
    pub fn explain(&self, extractors: &[Extractor]) -> Option<String> {
        let (at, missing) = self.missing?;
        let extractor = &extractors[at];
        let place = match &extractor.from {
            ReplyPart::Body => "the body".to_owned(),
            ReplyPart::Json(pointer) => format!("`{}` of the JSON body", pointer.text()),
            ReplyPart::Header(name) => format!("header `{name}`"),
        };
        let what = if extractor.regex.is_some() { "no match in " } else { "nothing at " };
        Some(match missing {
            ExtractError::Nothing => format!("extract `{}`: {what}{place}", extractor.name),
            missing => format!("extract `{}`: {place} {missing}", extractor.name),
        })
    }
}

impl fmt::Display for ExtractError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("is not there"),
            Self::NotJson => f.write_str("cannot be found: the body is not JSON"),
            Self::Body => f.write_str("cannot be found: the body is longer than 16 MiB"),
            Self::Null => f.write_str("is null"),
            Self::Long(_) => write!(f, "gives more than {VALUE_LONGEST} bytes"),
            Self::Unfit(why) => write!(f, "gives a value that {why}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use httparse::Header;
    use proptest::prelude::*;

    use super::*;

    fn spec(from: ExtractFrom, regex: Option<&str>) -> Extract {
        Extract { name: "v".to_owned(), from, regex: regex.map(str::to_owned) }
    }

    fn take(spec: &Extract, fields: &[(&str, &[u8])], body: &[u8]) -> Result<Vec<u8>, String> {
        let extractors = [Extractor::new(spec, 0, Fitness::default()).expect("an expression")];
        let fields: Vec<Header<'_>> = fields.iter().map(|(name, value)| Header { name, value }).collect();
        let mut taken = Taken::new(&extractors);
        // The second time with the memory of the first.
        for _ in 0..2 {
            taken.reset();
            taken.head(&extractors, &Head { status: 200, fields: &fields });
            if !taken.body(&extractors, Some(body)) {
                return Err(taken.explain(&extractors).expect("a reason"));
            }
        }
        Ok(taken.value_mut(0).clone())
    }

    #[test]
    fn values_come_from_json_fields_and_expressions() {
        use ExtractFrom::{Body, Header, Json};
        let body = br#"{"id": 17, "name": "a\"b", "on": true, "list": [1, {"x": 2.50}], "none": null, "next": "/a?page=3"}"#;
        let fields =
            [("Set-Cookie", &b"theme=dark"[..]), ("set-cookie", b"sid=abc; Path=/"), ("ETag", b"\"7\"")];
        let json = |pointer: &str| Json(pointer.to_owned());
        let header = |name: &str| Header(name.to_owned());
        for (spec, value) in [
            (spec(json("/id"), None), &b"17"[..]),
            (spec(json("/name"), None), b"a\"b"),
            (spec(json("/on"), None), b"true"),
            (spec(json("/list/1/x"), None), b"2.50"),
            (spec(json("/list"), None), b"[1, {\"x\": 2.50}]"),
            (spec(json("/next"), Some("page=([0-9]+)")), b"3"),
            (spec(header("etag"), None), b"\"7\""),
            (spec(header("Set-Cookie"), None), b"theme=dark"),
            (spec(header("Set-Cookie"), Some("sid=([^;]+)")), b"abc"),
            (spec(Body, Some("\"id\": ([0-9]+)")), b"17"),
            (spec(Body, Some("na.e")), b"name"),
        ] {
            assert_eq!(take(&spec, &fields, body).as_deref(), Ok(value), "{spec:?}");
        }
        for (spec, why) in [
            (spec(json("/nothing"), None), "extract `v`: nothing at `/nothing` of the JSON body"),
            (spec(json("/none"), None), "extract `v`: `/none` of the JSON body is null"),
            (spec(json("/next"), Some("x=(1)")), "extract `v`: no match in `/next` of the JSON body"),
            (spec(header("Location"), None), "extract `v`: nothing at header `Location`"),
            (spec(header("ETag"), Some("8")), "extract `v`: no match in header `ETag`"),
            (spec(Body, Some("zzz")), "extract `v`: no match in the body"),
            (spec(Body, Some("(z)?na")), "extract `v`: no match in the body"),
        ] {
            assert_eq!(take(&spec, &fields, body).expect_err("missing"), why);
        }
        let why = take(&spec(json("/id"), None), &[], b"<html>").expect_err("no JSON");
        assert_eq!(why, "extract `v`: `/id` of the JSON body cannot be found: the body is not JSON");
        assert!(Extractor::new(&spec(Body, Some("(")), 0, Fitness::default()).is_err());
    }

    #[test]
    fn values_are_bounded_and_must_fit() {
        let text = |length: usize| format!("\"{}\"", "x".repeat(length)).into_bytes();
        let whole = spec(ExtractFrom::Json(String::new()), None);
        assert_eq!(take(&whole, &[], &text(VALUE_LONGEST)).map(|value| value.len()), Ok(VALUE_LONGEST));
        let why = take(&whole, &[], &text(VALUE_LONGEST + 1)).expect_err("too long");
        assert!(why.ends_with("gives more than 8192 bytes"), "{why}");
        let fields = Fitness { field: true, path_begins: false };
        let extractors = [Extractor::new(&whole, 0, fields).expect("none")];
        let mut taken = Taken::new(&extractors);
        assert!(!taken.body(&extractors, Some(br#""a\r\nX: y""#)));
        assert!(taken.explain(&extractors).expect("why").contains("control character"));
        taken.reset();
        assert!(!taken.body(&extractors, None));
        assert!(taken.explain(&extractors).expect("why").contains("longer than 16 MiB"));
    }

    proptest! {
        #[test]
        fn no_reply_makes_a_value_longer_than_the_bound(
            body in prop::collection::vec(any::<u8>(), 0..200),
            value in prop::collection::vec(any::<u8>(), 0..50),
            regex in prop::option::of(prop::sample::select(vec!["(.)", "[a-z]+", "(?s).*", "x(y)?"])),
            from in 0..3,
        ) {
            let from = match from {
                0 => ExtractFrom::Body,
                1 => ExtractFrom::Json("/a".to_owned()),
                _ => ExtractFrom::Header("x".to_owned()),
            };
            let spec = spec(from, regex);
            let body = body.repeat(100);
            if let Ok(taken) = take(&spec, &[("X", &value)], &body) {
                prop_assert!(taken.len() <= VALUE_LONGEST);
            }
        }
    }
}
