//! The check of `/mping/{n}`: what a relay reports about the request that it made of its peer.
//!
//! The reply is one small JSON object of four whole numbers, collected in a buffer of fixed size and read without
//! allocation. It is right if the relay's own request was: status 200 and the whole body, whatever time it took.

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

/// The object, by the contract.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MpingReply {
    duration_ns: u64,
    length: u64,
    code: u16,
    retries: u32,
}

/// The content of a reply to `/mping/{n}`; `None` if it breaks the contract.
pub fn read_mping(body: &[u8]) -> Option<Relayed> {
    // Serde would also read a list of four numbers.
    let object = body.trim_ascii_start().first() == Some(&b'{');
    let MpingReply { duration_ns, length, code, retries } =
        object.then(|| serde_json::from_slice(body).ok()).flatten()?;
    let (duration, length) = (Nanoseconds::from_nanos(duration_ns), Bytes::new(length));
    Some(Relayed { duration, status: code, length, retries })
}

/// A reply to `/mping/{n}` for a body of that size.
#[derive(Debug, Clone)]
pub(crate) struct MpingCheck {
    size: Bytes,
    status: u16,
    body: [u8; LONGEST],
    seen: usize,
    relayed: Option<Relayed>,
}

impl MpingCheck {
    pub fn new(size: Bytes) -> Self {
        Self { size, status: 0, body: [0; LONGEST], seen: 0, relayed: None }
    }

    /// Resets the check for another size.
    pub fn resize(&mut self, size: Bytes) {
        self.size = size;
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

impl Reset for MpingCheck {
    fn reset(&mut self) {
        (self.status, self.seen, self.relayed) = (0, 0, None);
    }

    fn seen(&self) -> SeenReply {
        SeenReply { status: self.status(), length: self.length(), relayed: self.relayed() }
    }
}

impl Check for MpingCheck {
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
        self.relayed = self.body.get(..self.seen).and_then(read_mping);
        match self.relayed {
            // The relay works, its peer does not.
            Some(relayed) if relayed.status != 200 => Outcome::Error(ErrorKind::Status),
            Some(relayed) if relayed.length == self.size => Outcome::Ok,
            _ => Outcome::Error(ErrorKind::Check),
        }
    }
}

impl Explain for MpingCheck {
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
        let mut check = MpingCheck::new(Bytes::new(size));
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
}
