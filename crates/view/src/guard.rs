//! Which requests are answered: only those that read, name loopback and this port, and come from no foreign page.
//!
//! A page of another site can make a browser send requests here. If it also points its own host name at loopback, it
//! could read the answers (DNS rebinding). But then its name is in `Host` and its origin in `Origin`, and a page can
//! forge neither.

use hyper::header::{HOST, HeaderMap, ORIGIN};
use hyper::{Method, StatusCode, Uri};

use crate::request_target::{InvalidTarget, RequestTarget};

/// Host names of loopback.
const NAMES: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];
/// The port that URLs leave out.
const UNWRITTEN_PORT: u16 = 80;

/// Why a request is not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) text: &'static str,
}

const fn refusal(status: StatusCode, text: &'static str) -> Refusal {
    Refusal { status, text }
}

/// The target of a request, if the request is allowed.
pub(crate) fn check(
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
    port: u16,
) -> Result<RequestTarget, Refusal> {
    check_host(uri, headers, port)?;
    check_origin(headers, port)?;
    if method != Method::GET && method != Method::HEAD {
        return Err(refusal(StatusCode::METHOD_NOT_ALLOWED, "this view is read-only: GET and HEAD\n"));
    }
    target(uri)
}

/// Every authority in the request must be a loopback name with this port.
fn check_host(uri: &Uri, headers: &HeaderMap, port: u16) -> Result<(), Refusal> {
    let wrong = refusal(
        StatusCode::MISDIRECTED_REQUEST,
        "this view answers to 127.0.0.1, localhost and [::1] with its own port\n",
    );
    let mut hosts = headers.get_all(HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else {
        return Err(refusal(StatusCode::BAD_REQUEST, "a request names one host\n"));
    };
    let host = host.to_str().map_err(|_| wrong)?;
    let authority = uri.authority().map(|authority| authority.as_str());
    let fits = std::iter::once(host).chain(authority).all(|name| is_ours(name, port));
    if fits { Ok(()) } else { Err(wrong) }
}

/// Browsers name the page that sends a request in `Origin`, except for plain visits.
fn check_origin(headers: &HeaderMap, port: u16) -> Result<(), Refusal> {
    let is_own = |origin: &hyper::header::HeaderValue| {
        let origin = origin.to_str().unwrap_or_default();
        origin.strip_prefix("http://").is_some_and(|authority| is_ours(authority, port))
    };
    if headers.get_all(ORIGIN).iter().all(is_own) {
        return Ok(());
    }
    Err(refusal(StatusCode::FORBIDDEN, "this view is not for pages of other origins\n"))
}

/// Whether an authority is a loopback name with this port.
fn is_ours(authority: &str, port: u16) -> bool {
    let name_and_port = match authority.rsplit_once(':') {
        // The colons inside `[::1]` do not separate a port.
        Some((name, text)) if !text.ends_with(']') => (name, text.parse().ok().filter(|_| is_digits(text))),
        _ => (authority, Some(UNWRITTEN_PORT)),
    };
    let (name, given) = name_and_port;
    given == Some(port) && NAMES.iter().any(|ours| name.eq_ignore_ascii_case(ours))
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The target of the request.
fn target(uri: &Uri) -> Result<RequestTarget, Refusal> {
    RequestTarget::from_uri(uri).map_err(|why| match why {
        InvalidTarget::NotPlain => refusal(StatusCode::BAD_REQUEST, "this is no path of this view\n"),
        InvalidTarget::TooLong => {
            refusal(StatusCode::URI_TOO_LONG, "this path is longer than any of this view\n")
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_loopback_with_this_port_are_ours() {
        for good in ["127.0.0.1:7878", "localhost:7878", "LocalHost:7878", "[::1]:7878"] {
            assert!(is_ours(good, 7878), "{good}");
        }
        for bad in [
            "",
            "127.0.0.1",
            "localhost",
            "[::1]",
            "127.0.0.1:7879",
            "127.0.0.1:+7878",
            "127.0.0.1:",
            "evil.example:7878",
            "localhost.evil.example:7878",
            "evil.example#localhost:7878",
            "127.0.0.1.evil.example:7878",
            "user@localhost:7878",
            "0.0.0.0:7878",
            "127.0.0.2:7878",
            "localhost:7878:7878",
            "::1:7878",
        ] {
            assert!(!is_ours(bad, 7878), "{bad}");
        }
        assert!(is_ours("localhost", 80) && is_ours("[::1]", 80));
    }

    #[test]
    fn invalid_targets_are_refused_with_the_reason() {
        let status = |text: &str| target(&text.parse().unwrap()).unwrap_err().status;
        assert_eq!(status("/run/../x"), StatusCode::BAD_REQUEST);
        assert_eq!(status(&format!("/{}", "a".repeat(4096))), StatusCode::URI_TOO_LONG);
    }
}
