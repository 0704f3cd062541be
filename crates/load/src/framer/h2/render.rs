//! Requests as header blocks.
//!
//! A block is written once and serves every connection. Fields about an HTTP/1.1 connection are left out, names are in
//! lower case, and a `Host` field becomes the authority (RFC 9113, sections 8.2.2 and 8.3.1).

use super::hpack;
use super::settings::Scheme;
use crate::framer::request::{Call, Request};

/// Fields that HTTP/2 forbids, and `host`, which `:authority` replaces.
const LEFT_OUT: [&str; 7] = [
    "connection",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-connection",
    "transfer-encoding",
    "upgrade",
];

/// The header block of a plain request.
pub(crate) fn request_block(scheme: Scheme, request: &Request) -> Vec<u8> {
    let given = |wanted: &str| {
        request
            .headers
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(wanted))
            .map(|(_, value)| value.trim())
    };
    let authority = given("host").unwrap_or(&request.authority);
    let mut block = Vec::new();
    pseudo(&mut block, &request.method, scheme, authority, &request.target);
    fields(&mut block, &request.headers);
    // Methods that normally have a body announce an empty one too (RFC 9110, section 8.6).
    let expects_body = matches!(request.method.as_str(), "POST" | "PUT" | "PATCH");
    if (expects_body || !request.body.is_empty()) && given("content-length").is_none() {
        hpack::field("content-length", request.body.len().to_string().as_bytes(), &mut block);
    }
    block
}

/// The header block of a gRPC call.
pub(crate) fn call_block(scheme: Scheme, call: &Call<'_>) -> Vec<u8> {
    let mut block = Vec::new();
    pseudo(&mut block, "POST", scheme, call.authority, call.path);
    let named = |wanted: &str| call.metadata.iter().any(|(name, _)| name.eq_ignore_ascii_case(wanted));
    if !named("te") {
        hpack::field("te", b"trailers", &mut block);
    }
    if !named("content-type") {
        hpack::field("content-type", b"application/grpc", &mut block);
    }
    fields(&mut block, call.metadata);
    block
}

fn pseudo(block: &mut Vec<u8>, method: &str, scheme: Scheme, authority: &str, path: &str) {
    hpack::field(":method", method.as_bytes(), block);
    hpack::field(":scheme", scheme.name().as_bytes(), block);
    hpack::field(":authority", authority.as_bytes(), block);
    hpack::field(":path", path.as_bytes(), block);
}

fn fields(block: &mut Vec<u8>, fields: &[(String, String)]) {
    for (name, value) in fields {
        let (name, value) = (name.to_ascii_lowercase(), value.trim());
        if is_sent(&name, value) {
            hpack::field(&name, value.as_bytes(), block);
        }
    }
}

/// Whether HTTP/2 allows a field; its name must be in lower case.
pub(crate) fn is_sent(name: &str, value: &str) -> bool {
    let foreign_te = name == "te" && !value.eq_ignore_ascii_case("trailers");
    !LEFT_OUT.contains(&name) && !foreign_te
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(block: &[u8]) -> Vec<(String, String)> {
        let mut decoder = hpack::Decoder::new(4096);
        assert_eq!(decoder.decode(block), Ok(hpack::Soundness::Sound));
        assert_eq!(decoder.table_size(), 0, "nothing is added to the dynamic table");
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
        decoder.with_fields(|fields| fields.iter().map(|f| (f.name.to_owned(), text(f.value))).collect())
    }

    fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
        expected.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_request_drops_http1_fields_and_gains_its_length() {
        let headers = [
            ("Host", "other:1"),
            ("Connection", "close"),
            ("X-Kind", " Pot "),
            ("TE", "gzip"),
            ("Upgrade", "h2c"),
        ];
        let request = Request {
            method: "POST".into(),
            target: "/a?b".into(),
            authority: "localhost".into(),
            headers: pairs(&headers),
            body: b"four".to_vec(),
        };
        let expected = [
            (":method", "POST"),
            (":scheme", "https"),
            (":authority", "other:1"),
            (":path", "/a?b"),
            ("x-kind", "Pot"),
            ("content-length", "4"),
        ];
        assert_eq!(read(&request_block(Scheme::Https, &request)), pairs(&expected));
    }

    #[test]
    fn a_call_has_the_fields_that_grpc_requires() {
        let metadata = pairs(&[("GRPC-Timeout", "1S")]);
        let call = Call { path: "/a.B/C", authority: "h:1", metadata: &metadata, ..Call::default() };
        let expected = [
            (":method", "POST"),
            (":scheme", "http"),
            (":authority", "h:1"),
            (":path", "/a.B/C"),
            ("te", "trailers"),
            ("content-type", "application/grpc"),
            ("grpc-timeout", "1S"),
        ];
        assert_eq!(read(&call_block(Scheme::Http, &call)), pairs(&expected));
    }
}
