//! The check of `/mping/{n}` and `/call/…`: what a relay reports about the request that it made of its peer.
//!
//! The reply is one small JSON object, collected in a buffer of fixed size and read without
//! allocation. It is right if the relay's own request was, whatever time it took: status 200 and the whole body, or the
//! digest of what was read of the peer's reply.

use std::borrow::Cow;

use serde::Deserialize;
use weighbridge_load::framer::Head;
use weighbridge_load::session::Check;
use weighbridge_model::quantity::{Bytes, Nanoseconds};
use weighbridge_model::record::samples::Relayed;
use weighbridge_model::record::{ErrorKind, Outcome};

use crate::checks::explain::{Explain, status_line};
use crate::checks::{Reset, SeenReply};

/// Longest object of the contract, including any blanks that a server would write.
const LONGEST: usize = 512;

/// The object of `/mping/{n}`, by the contract.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MpingReply {
    duration_ns: u64,
    length: u64,
    code: u16,
    retries: u32,
}

/// The object of `/call/…`, by the contract.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CallReply<'a> {
    duration_ns: u64,
    calls: u32,
    digest: &'a str,
}

/// What a right report tells.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Told {
    /// The bytes of the peer's body.
    Length(Bytes),
    /// The digest of the fields that the relay's client read.
    Digest(Digest),
}

/// As the contract writes it: 16 hexadecimal digits.
pub(crate) type Digest = [u8; 16];

/// The content of a reply to `/mping/{n}`; `None` if it breaks the contract.
pub fn read_mping(body: &[u8]) -> Option<Relayed> {
    // Serde would also read a list of four numbers.
    let object = body.trim_ascii_start().first() == Some(&b'{');
    let MpingReply { duration_ns, length, code, retries } =
        object.then(|| serde_json::from_slice(body).ok()).flatten()?;
    let (duration, length) = (Nanoseconds::from_nanos(duration_ns), Bytes::new(length));
    Some(Relayed { duration, status: code, length, retries })
}

/// The content of a reply to `/call/…`, and its digest; `None` if it breaks the contract.
fn read_call(body: &[u8]) -> Option<(Relayed, Digest)> {
    let object = body.trim_ascii_start().first() == Some(&b'{');
    let reply = object.then(|| serde_json::from_slice(body).ok()).flatten();
    let CallReply { duration_ns, calls: 1, digest } = reply? else { return None };
    let (duration, length) = (Nanoseconds::from_nanos(duration_ns), Bytes::new(0));
    Some((Relayed { duration, status: 200, length, retries: 0 }, digest.as_bytes().try_into().ok()?))
}

/// A reply to `/mping/{n}` or `/call/…` that tells this.
#[derive(Debug, Clone)]
pub(crate) struct RelayCheck {
    wanted: Told,
    status: u16,
    body: [u8; LONGEST],
    seen: usize,
    relayed: Option<Relayed>,
}

impl RelayCheck {
    pub fn new(wanted: Told) -> Self {
        Self { wanted, status: 0, body: [0; LONGEST], seen: 0, relayed: None }
    }

    /// Resets the check for another size.
    pub fn resize(&mut self, size: Bytes) {
        self.wanted = Told::Length(size);
        self.reset();
    }

    /// The reply's status, once its head has come.
    pub fn status(&self) -> Option<u16> {
        (self.status != 0).then_some(self.status)
    }

    /// Bytes of the reply's body so far.
    pub fn length(&self) -> Bytes {
        Bytes::new(self.seen as u64)
    }

    /// The relay's report, once the reply was checked.
    pub fn relayed(&self) -> Option<Relayed> {
        self.relayed
    }
}

impl Reset for RelayCheck {
    fn reset(&mut self) {
        (self.status, self.seen, self.relayed) = (0, 0, None);
    }

    fn seen(&self) -> SeenReply {
        SeenReply { status: self.status(), length: self.length(), relayed: self.relayed() }
    }
}

impl Check for RelayCheck {
    fn head(&mut self, head: &Head<'_>) {
        self.status = head.status;
    }

    fn data(&mut self, bytes: &[u8]) {
        let start = self.seen.min(LONGEST);
        let end = (start + bytes.len()).min(LONGEST);
        self.body[start..end].copy_from_slice(&bytes[..end - start]);
        self.seen = self.seen.saturating_add(bytes.len());
    }

    fn done(&mut self) -> Outcome {
        if self.status != 200 {
            return Outcome::Error(ErrorKind::Status);
        }
        let body = self.body.get(..self.seen).unwrap_or_default();
        let report = match self.wanted {
            Told::Length(size) => read_mping(body).map(|relayed| (relayed, relayed.length == size)),
            Told::Digest(digest) => read_call(body).map(|(relayed, told)| (relayed, told == digest)),
        };
        self.relayed = report.map(|(relayed, _)| relayed);
        match report {
            // The relay works, its peer does not.
            Some((relayed, _)) if relayed.status != 200 => Outcome::Error(ErrorKind::Status),
            Some((_, true)) => Outcome::Ok,
            _ => Outcome::Error(ErrorKind::Check),
        }
    }
}

impl Explain for RelayCheck {
    fn explain(&self) -> Option<Cow<'_, [u8]>> {
        let peers = self.relayed.map(|relayed| relayed.status).filter(|status| *status != 200);
        let text = match peers {
            Some(status) => format!("its peer answered {}", status_line(status)),
            None if self.status != 200 => status_line(self.status),
            None => return None,
        };
        Some(text.into_bytes().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(size: u64, status: u16, body: &str) -> (Outcome, Option<Relayed>) {
        told(Told::Length(Bytes::new(size)), status, body)
    }

    fn told(wanted: Told, status: u16, body: &str) -> (Outcome, Option<Relayed>) {
        let mut check = RelayCheck::new(wanted);
        // State of an earlier reply must not matter.
        check.data(&[b'x'; 2 * LONGEST]);
        check.reset();
        check.head(&Head { status, fields: &[] });
        body.as_bytes().chunks(7).for_each(|piece| check.data(piece));
        (check.done(), check.relayed)
    }

    #[test]
    fn a_relays_report_is_read_and_checked() {
        let right = r#"{"code":200,"duration_ns":18446744073709551615,"length":1000,"retries":2}"#;
        let relayed = Relayed {
            duration: Nanoseconds::from_nanos(u64::MAX),
            status: 200,
            length: Bytes::new(1000),
            retries: 2,
        };
        assert_eq!(outcome(1000, 200, right), (Outcome::Ok, Some(relayed)));
        assert_eq!(outcome(1001, 200, right).0, Outcome::Error(ErrorKind::Check), "another size");
        assert_eq!(outcome(1000, 502, right).0, Outcome::Error(ErrorKind::Status));
        let refused = right.replace("200,", "404,");
        assert_eq!(outcome(1000, 200, &refused).0, Outcome::Error(ErrorKind::Status), "the peer's status");
        for wrong in [
            String::new(),
            right.replace("1000", "1e3"),
            right.replace("1000", "-1000"),
            right.replace("1000", "\"1000\""),
            right.replace('}', ",\"more\":1}"),
            right.replace(",\"retries\":2", ""),
            format!("{right}{{}}"),
            "[7,1000,200,2]".to_owned(),
            format!("{right}{}", " ".repeat(LONGEST)),
        ] {
            assert_eq!(outcome(1000, 200, &wrong).0, Outcome::Error(ErrorKind::Check), "{wrong}");
        }
    }

    #[test]
    fn a_call_is_right_by_its_digest() {
        let right = r#"{"duration_ns": 7, "calls": 1, "digest": "0123456789abcdef"}"#;
        let wanted = Told::Digest(*b"0123456789abcdef");
        let relayed =
            Relayed { duration: Nanoseconds::from_nanos(7), status: 200, length: Bytes::new(0), retries: 0 };
        assert_eq!(told(wanted, 200, right), (Outcome::Ok, Some(relayed)));
        assert_eq!(told(wanted, 502, right).0, Outcome::Error(ErrorKind::Status));
        for (from, to) in [
            ("abcdef", "abcdee"),
            ("abcdef", "ABCDEF"),
            ("abcdef", "abcdef0"),
            ("\"calls\": 1", "\"calls\": 2"),
            ("\"calls\": 1, ", ""),
            ("7", "7.5"),
            ("}", ", \"code\": 200}"),
        ] {
            let wrong = right.replace(from, to);
            assert_ne!(wrong, right);
            assert_eq!(told(wanted, 200, &wrong).0, Outcome::Error(ErrorKind::Check), "{wrong}");
        }
    }
}
