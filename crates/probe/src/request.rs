//! Parses HTTP/1.x request heads from foreign bytes: in place, without allocation, in bounded time.
//!
//! It knows as much of HTTP as a probe needs: where the head ends, how long the body is, whether the connection stays
//! open. It refuses chunked bodies, heads longer than [`HEAD_LIMIT`] and everything that is not a request.

/// The longest request head, in bytes.
pub const HEAD_LIMIT: usize = 16 * 1024;

/// A whole request head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head<'a> {
    /// The method, as sent.
    pub method: &'a [u8],
    /// Path and query, without the scheme and authority of an absolute form.
    pub target: &'a [u8],
    /// Whether the connection stays open.
    pub persistence: Persistence,
    /// Length of the body that follows.
    pub body: u64,
    /// Whether the client waits for `100 Continue` before the body.
    pub expectation: Expectation,
    /// Length of the head itself, the empty line included.
    pub length: usize,
}

/// Whether a connection stays open after a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Persistence {
    /// It stays open, the default of HTTP/1.1.
    Keep,
    /// It stays open because an HTTP/1.0 client asked for it; the reply must say so.
    KeepAnnounced,
    /// It is closed, and the reply says so.
    Close,
}

/// Whether a client waits for `100 Continue` before it sends a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expectation {
    /// It does not wait.
    None,
    /// It waits.
    Continue,
}

/// Why a probe refuses a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Not HTTP. Status 400.
    #[error("the request is malformed; send an HTTP/1.1 request")]
    Malformed,
    /// No end within [`HEAD_LIMIT`]. Status 431.
    #[error("the request head is longer than {HEAD_LIMIT} bytes; send fewer headers")]
    HeadTooLong,
    /// A transfer coding. Status 501.
    #[error("the request has a transfer coding; send a `Content-Length`")]
    TransferCoding,
    /// Neither HTTP/1.1 nor HTTP/1.0. Status 505.
    #[error("the request is neither HTTP/1.1 nor HTTP/1.0; use one of them")]
    Version,
}

/// The head at the start of `bytes`; `None` if it is incomplete. The first `scanned` bytes are known not to contain the
/// end of a head, so a head that comes in many pieces is not searched repeatedly.
pub fn parse(bytes: &[u8], scanned: usize) -> Result<Option<Head<'_>>, Refusal> {
    // Empty lines before a request are forgiven (RFC 9112, 2.2); they count as part of the head.
    let leading = bytes.chunks_exact(2).take_while(|pair| pair == b"\r\n").count() * 2;
    match find_end(bytes, scanned.max(leading)) {
        Some(end) if end <= HEAD_LIMIT => head_of(&bytes[leading..end], end).map(Some),
        Some(_) => Err(Refusal::HeadTooLong),
        None if bytes.len() >= HEAD_LIMIT => Err(Refusal::HeadTooLong),
        None => Ok(None),
    }
}

/// The position after the first CRLF CRLF that begins at or after `from`, by Horspool's rule: the byte under the
/// pattern's last position decides how far it can be shifted.
fn find_end(bytes: &[u8], from: usize) -> Option<usize> {
    let mut last = from + 3;
    while let Some(&byte) = bytes.get(last) {
        last += match byte {
            b'\n' if &bytes[last - 3..last] == b"\r\n\r" => return Some(last + 1),
            b'\n' => 2,
            b'\r' => 1,
            _ => 4,
        };
    }
    None
}

/// Parses a head that ends in CRLF CRLF; `length` includes leading empty lines.
fn head_of(bytes: &[u8], length: usize) -> Result<Head<'_>, Refusal> {
    let mut lines = Lines(&bytes[..bytes.len() - 2]);
    let (method, target, version) = request_line(lines.next().ok_or(Refusal::Malformed)??)?;
    let persistence = match version {
        Version::One => Persistence::Keep,
        Version::Zero => Persistence::Close,
    };
    let mut head = Head { method, target, persistence, body: 0, expectation: Expectation::None, length };
    let mut body = None;
    for line in lines {
        let line = line?;
        let colon = line.iter().position(|&byte| byte == b':').ok_or(Refusal::Malformed)?;
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        if name.is_empty() || !name.iter().all(u8::is_ascii_graphic) {
            return Err(Refusal::Malformed);
        }
        // Compares lengths first, so that most header names are not compared.
        match name.len() {
            6 if name.eq_ignore_ascii_case(b"expect") && value.eq_ignore_ascii_case(b"100-continue") => {
                head.expectation = Expectation::Continue;
            }
            10 if name.eq_ignore_ascii_case(b"connection") => {
                head.persistence = persistence_of(value, version, head.persistence);
            }
            14 if name.eq_ignore_ascii_case(b"content-length") => {
                let length = decimal(value).ok_or(Refusal::Malformed)?;
                if body.replace(length).is_some_and(|before| before != length) {
                    return Err(Refusal::Malformed);
                }
            }
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => return Err(Refusal::TransferCoding),
            _ => {}
        }
    }
    head.body = body.unwrap_or(0);
    Ok(head)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    Zero,
    One,
}

/// Lines that end in CRLF; a bare LF, CR or NUL is invalid.
struct Lines<'a>(&'a [u8]);

impl<'a> Iterator for Lines<'a> {
    type Item = Result<&'a [u8], Refusal>;
    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let end = self.0.iter().position(|&byte| matches!(byte, b'\r' | b'\n' | 0)).unwrap_or(self.0.len());
        if self.0.get(end..end + 2) != Some(b"\r\n") {
            self.0 = &[];
            return Some(Err(Refusal::Malformed));
        }
        let line = &self.0[..end];
        self.0 = &self.0[end + 2..];
        Some(Ok(line))
    }
}

fn request_line(line: &[u8]) -> Result<(&[u8], &[u8], Version), Refusal> {
    let mut words = line.split(|&byte| byte == b' ');
    let (Some(method), Some(target), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(Refusal::Malformed);
    };
    let is_method =
        !method.is_empty() && method.iter().all(|byte| byte.is_ascii_alphabetic() || *byte == b'-');
    if !is_method || !target.iter().all(u8::is_ascii_graphic) {
        return Err(Refusal::Malformed);
    }
    let version = match version {
        b"HTTP/1.1" => Version::One,
        b"HTTP/1.0" => Version::Zero,
        [b'H', b'T', b'T', b'P', b'/', major, b'.', minor]
            if major.is_ascii_digit() && minor.is_ascii_digit() =>
        {
            return Err(Refusal::Version);
        }
        _ => return Err(Refusal::Malformed),
    };
    Ok((method, path_of(target).ok_or(Refusal::Malformed)?, version))
}

/// The path of a target in origin form or `*`; of an absolute form, what follows the authority.
fn path_of(target: &[u8]) -> Option<&[u8]> {
    if target.first() == Some(&b'/') || target == b"*" {
        return Some(target);
    }
    let rest = target.strip_prefix(b"http://").or_else(|| target.strip_prefix(b"https://"))?;
    match rest.iter().position(|&byte| byte == b'/') {
        Some(slash) => Some(&rest[slash..]),
        None => Some(b"/"),
    }
}

/// Applies a `Connection` header, a list of words, to the version's default; `close` is final.
fn persistence_of(value: &[u8], version: Version, before: Persistence) -> Persistence {
    let mut words = value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii);
    if words.clone().any(|word| word.eq_ignore_ascii_case(b"close")) {
        return Persistence::Close;
    }
    match version {
        Version::Zero if words.any(|word| word.eq_ignore_ascii_case(b"keep-alive")) => {
            Persistence::KeepAnnounced
        }
        _ => before,
    }
}

/// A whole number of at most 64 bits, digits only.
pub(crate) fn decimal(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0_u64, |number, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn whole(text: &str) -> Head<'_> {
        parse(text.as_bytes(), 0).unwrap().unwrap()
    }

    #[test]
    fn a_plain_request_is_read() {
        let text = "GET /pong/64?x=1 HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP";
        let head = whole(text);
        assert_eq!(head.method, b"GET");
        assert_eq!(head.target, b"/pong/64?x=1");
        assert_eq!((head.persistence, head.body), (Persistence::Keep, 0));
        assert_eq!(&text.as_bytes()[head.length..], b"GET / HTTP");
    }

    #[test]
    fn leading_empty_lines_are_allowed() {
        let text = "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n";
        assert_eq!(whole(text).length, text.len());
        assert_eq!(parse(b"\r\n\r\n", 0), Ok(None));
    }

    #[test]
    fn version_and_connection_header_decide_the_persistence() {
        for (text, expected) in [
            ("GET / HTTP/1.1\r\n\r\n", Persistence::Keep),
            ("GET / HTTP/1.1\r\nConnection: keep-alive\r\n\r\n", Persistence::Keep),
            ("GET / HTTP/1.1\r\nconnection: TE, Close\r\n\r\n", Persistence::Close),
            ("GET / HTTP/1.0\r\n\r\n", Persistence::Close),
            ("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", Persistence::KeepAnnounced),
            ("GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n", Persistence::Close),
        ] {
            assert_eq!(whole(text).persistence, expected, "{text:?}");
        }
    }

    #[test]
    fn bodies_have_a_length_and_may_need_100_continue() {
        let head = whole("PUT / HTTP/1.1\r\nContent-Length:  17 \r\nExpect: 100-continue\r\n\r\n");
        assert_eq!((head.body, head.expectation), (17, Expectation::Continue));
        assert_eq!(whole("PUT / HTTP/1.1\r\nContent-Length: 3\r\ncontent-length: 3\r\n\r\n").body, 3);
    }

    #[test]
    fn the_absolute_form_is_a_path_too() {
        assert_eq!(whole("GET http://a:80/pong/4 HTTP/1.1\r\n\r\n").target, b"/pong/4");
        assert_eq!(whole("GET http://a HTTP/1.1\r\n\r\n").target, b"/");
    }

    #[test]
    fn what_is_not_a_request_is_refused() {
        for (text, refusal) in [
            ("GET /\r\n\r\n", Refusal::Malformed),
            ("GET  / HTTP/1.1\r\n\r\n", Refusal::Malformed),
            ("GET / HTTP/1.1 \r\n\r\n", Refusal::Malformed),
            ("G(T / HTTP/1.1\r\n\r\n", Refusal::Malformed),
            ("GET pong HTTP/1.1\r\n\r\n", Refusal::Malformed),
            ("GET / HTTQ/1.1\r\n\r\n", Refusal::Malformed),
            ("GET / HTTP/1.1\nHost: a\r\n\r\n", Refusal::Malformed),
            ("GET / HTTP/1.1\r\nHost: a\r\r\n\r\n", Refusal::Malformed),
            ("GET / HTTP/1.1\r\nHost\r\n\r\n", Refusal::Malformed),
            ("GET / HTTP/1.1\r\n: a\r\n\r\n", Refusal::Malformed),
            ("GET / HTTP/1.1\r\nHost : a\r\n\r\n", Refusal::Malformed),
            ("GET / HTTP/1.1\r\n folded: a\r\n\r\n", Refusal::Malformed),
            ("GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", Refusal::Malformed),
            ("GET / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n", Refusal::Malformed),
            ("GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", Refusal::Malformed),
            ("GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", Refusal::TransferCoding),
            ("GET / HTTP/2.0\r\n\r\n", Refusal::Version),
        ] {
            assert_eq!(parse(text.as_bytes(), 0), Err(refusal), "{text:?}");
        }
    }

    #[test]
    fn the_length_of_a_head_is_limited() {
        let padded = |length: usize| {
            let frame = "GET / HTTP/1.1\r\nA: \r\n\r\n".len();
            format!("GET / HTTP/1.1\r\nA: {}\r\n\r\n", "x".repeat(length - frame))
        };
        assert_eq!(whole(&padded(HEAD_LIMIT)).length, HEAD_LIMIT);
        assert_eq!(parse(padded(HEAD_LIMIT + 1).as_bytes(), 0), Err(Refusal::HeadTooLong));
        assert_eq!(parse(&[b'x'; HEAD_LIMIT], 0), Err(Refusal::HeadTooLong));
        assert_eq!(parse(&[b'x'; HEAD_LIMIT - 1], 0), Ok(None));
    }

    /// Bytes with many line ends.
    fn bytes_with_many_line_ends() -> impl Strategy<Value = Vec<u8>> {
        let byte = prop_oneof![Just(b'\r'), Just(b'\n'), Just(b'a'), any::<u8>()];
        prop::collection::vec(byte, 0..64)
    }

    proptest! {
        #[test]
        fn the_end_is_found_where_a_plain_search_finds_it(bytes in bytes_with_many_line_ends()) {
            let plain = bytes.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4);
            prop_assert_eq!(find_end(&bytes, 0), plain);
        }

        #[test]
        fn any_bytes_are_refused_or_read_within_their_length(bytes in bytes_with_many_line_ends()) {
            if let Ok(Some(head)) = parse(&bytes, 0) {
                prop_assert!(head.length <= bytes.len());
            }
        }

        #[test]
        fn a_request_in_two_pieces_is_the_same_request(cut in 0_usize..60) {
            let text = b"\r\nPOST /pong/7 HTTP/1.1\r\nContent-Length: 2\r\nConnection: close\r\n\r\n";
            prop_assert_eq!(parse(&text[..cut], 0), Ok(None));
            prop_assert_eq!(parse(text, cut.saturating_sub(3)), parse(text, 0));
        }
    }
}
