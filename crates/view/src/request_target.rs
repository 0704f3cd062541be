//! The target of a request: its path and query, decoded once, made of plain names only.

use hyper::Uri;
use percent_encoding::percent_decode_str;

/// Longest path and query, in bytes.
const LONGEST: usize = 4096;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RequestTarget {
    /// Segments of the path, decoded; none contains a slash, a backslash or a control character, or is `.` or `..`. A
    /// path that ends in a slash has an empty last segment.
    pub segments: Vec<String>,
    /// Names and values of the query, decoded, in order.
    pub query: Vec<(String, String)>,
}

/// Why a target is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InvalidTarget {
    /// It is longer than 4 KiB.
    TooLong,
    /// It contains something that is not a plain name.
    NotPlain,
}

impl RequestTarget {
    /// Decodes a request's target once; `None` if it is longer than 4 KiB or contains anything but plain names.
    pub fn parse(target: &str) -> Option<Self> {
        Self::from_uri(&target.parse().ok()?).ok()
    }

    /// Does the same for a URI, and gives the reason when it refuses.
    pub(crate) fn from_uri(uri: &Uri) -> Result<Self, InvalidTarget> {
        let (path, query) = (uri.path(), uri.query().unwrap_or_default());
        if path.len() + query.len() > LONGEST {
            return Err(InvalidTarget::TooLong);
        }
        let path = path.strip_prefix('/').ok_or(InvalidTarget::NotPlain)?;
        let segments = path
            .split('/')
            .map(|segment| decoded_segment(segment).ok_or(InvalidTarget::NotPlain))
            .collect::<Result<_, _>>()?;
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        let pair = |pair: &str| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Some((decoded_field(name)?, decoded_field(value)?))
        };
        let query = pairs.map(|text| pair(text).ok_or(InvalidTarget::NotPlain)).collect::<Result<_, _>>()?;
        Ok(Self { segments, query })
    }

    /// The first value in the query with this name.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// One segment, decoded; `None` if it could be more than a name.
fn decoded_segment(segment: &str) -> Option<String> {
    let text = percent_decode_str(segment).decode_utf8().ok()?.into_owned();
    let plain =
        !text.contains(['/', '\\']) && !text.chars().any(char::is_control) && text != "." && text != "..";
    plain.then_some(text)
}

/// A name or value of a form field, in which a plus is a space.
fn decoded_field(text: &str) -> Option<String> {
    Some(percent_decode_str(&text.replace('+', " ")).decode_utf8().ok()?.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_decoded_once_and_holds_plain_names() {
        let read = |text: &str| RequestTarget::from_uri(&text.parse().unwrap());
        let segments = |text: &str| read(text).unwrap().segments;
        assert_eq!(segments("/"), [""]);
        assert_eq!(segments("/run/a%20b/"), ["run", "a b", ""]);
        assert_eq!(segments("/run/%252e%252e"), ["run", "%2e%2e"]);
        for bad in
            ["/..", "/run/../x", "/run/%2e%2e/x", "/run/a%2fb", "/run/a%5Cb", "/run/a%00", "/%ff", "/./"]
        {
            assert_eq!(read(bad), Err(InvalidTarget::NotPlain), "{bad}");
        }
        let query = read("/compare?run=a+b&against=%26&x").unwrap();
        assert_eq!(query.value("run"), Some("a b"));
        assert_eq!((query.value("against"), query.value("x"), query.value("y")), (Some("&"), Some(""), None));
        let long = format!("/{}", "a".repeat(LONGEST));
        assert_eq!(read(&long), Err(InvalidTarget::TooLong));
    }
}
