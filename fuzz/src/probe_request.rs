//! Request heads as a probe reads them: the same however the bytes arrive, never beyond them, and never in
//! contradiction to `httparse`.

use weighbridge_probe::request::{HEAD_LIMIT, Head, Refusal, parse};

/// Reads `data` as the beginning of a request, whole and as it grows.
pub fn check(data: &[u8]) {
    let whole = parse(data, 0);
    match whole {
        Ok(Some(head)) => {
            assert!(head.length <= data.len().min(HEAD_LIMIT), "{head:?}");
            assert!(data[..head.length].ends_with(b"\r\n\r\n"), "{head:?}");
            // What follows a head does not change it.
            assert_eq!(parse(&data[..head.length], 0), Ok(Some(head)));
            agrees_with_httparse(data, &head);
        }
        Ok(None) => assert!(data.len() < HEAD_LIMIT, "a head without an end is kept for ever"),
        Err(refusal) => assert!(!refusal.to_string().is_empty()),
    }
    assert_eq!(growing(data), whole, "the head depends on how it arrives");
}

/// What a connection sees that gets the bytes one by one and remembers how far it has looked.
fn growing(data: &[u8]) -> Result<Option<Head<'_>>, Refusal> {
    let mut scanned = 0;
    for end in 1..=data.len() {
        match parse(&data[..end], scanned) {
            Ok(None) => scanned = end.saturating_sub(3),
            other => return other,
        }
    }
    Ok(None)
}

fn agrees_with_httparse(data: &[u8], head: &Head<'_>) {
    let mut fields = [httparse::EMPTY_HEADER; 64];
    let mut request = httparse::Request::new(&mut fields);
    // It is stricter with field names and values, and more lenient with line ends.
    let Ok(httparse::Status::Complete(length)) = request.parse(&data[..head.length]) else { return };
    assert_eq!(length, head.length, "a head that ends elsewhere smuggles a request");
    assert_eq!(request.method.map(str::as_bytes), Some(head.method));
    let target = request.path.unwrap_or_default().as_bytes();
    assert!(target.ends_with(head.target) || head.target == b"/", "{head:?}");
    let lengths = request.headers.iter().filter(|field| field.name.eq_ignore_ascii_case("content-length"));
    for field in lengths {
        let stated = std::str::from_utf8(field.value).ok().and_then(|value| value.parse().ok());
        assert_eq!(stated, Some(head.body), "{head:?}");
    }
}
