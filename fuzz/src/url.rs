//! Addresses: what is accepted is written so that it reads back the same, and can stand in a request.

use weighbridge_load::Framing;
use weighbridge_load::request::Request;
use weighbridge_model::experiment::{TypedUrl, Url};
use weighbridge_model::id::OperationId;

/// Reads `data` as an address.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(TypedUrl { url, protocol }) = TypedUrl::parse(text) {
        assert_eq!(protocol.is_some(), Url::parse(text).is_err(), "{text:?} is typed");
        assert_eq!(Url::parse(&url.to_string()), Ok(url), "{text:?}");
    }
    let Ok(url) = Url::parse(text) else { return };
    let written = url.to_string();
    assert_eq!(Url::parse(&written), Ok(url.clone()), "{text:?} is written {written:?}");
    assert!(url.port != 0 && !url.host.is_empty() && url.path.starts_with('/'), "{url:?}");

    // Rendering refuses what is not ASCII; nothing that an address lets through may end a line.
    let request = Request {
        method: "GET".to_owned(),
        target: url.path.clone(),
        authority: url.authority(),
        ..Request::default()
    };
    match Framing::Http1.render(OperationId(0), &request) {
        Ok(rendered) => {
            let lines = rendered.bytes().iter().filter(|byte| **byte == b'\n').count();
            assert_eq!(lines, 3, "request line, `Host` and the empty line: {rendered:?}");
        }
        Err(error) => assert!(!text.is_ascii(), "{text:?} is an address that cannot be requested: {error}"),
    }
}
