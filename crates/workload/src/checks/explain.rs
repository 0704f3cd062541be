//! Why replies failed, in the peers' words: noted by the checks, only for failures.
//!
//! It keeps foreign bytes, truncated, and does not escape them for display.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weighbridge_load::failures::{Failures, LONGEST};
use weighbridge_load::framer::Head;
use weighbridge_load::session::{Check, LongerTime};
use weighbridge_model::id::OperationId;
use weighbridge_model::record::Outcome;

use super::{Reset, SeenReply};

/// A check that keeps what the peer said about a failure.
pub(crate) trait Explain: Reset {
    /// What the peer said, if the reply just checked is a failure.
    fn explain(&self) -> Option<Cow<'_, [u8]>>;

    /// What that reply was about, such as a key; empty where nothing is known.
    fn example(&self) -> &[u8] {
        &[]
    }
}

/// The texts of one variant's failed replies, shared by its checks. Locked only when a reply has failed.
#[derive(Debug, Clone, Default)]
pub(crate) struct FailureLog(Arc<Mutex<Failures>>);

impl FailureLog {
    /// The texts since they were last taken.
    pub fn take(&self) -> Failures {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Failures> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A check that notes the texts of failures.
#[derive(Debug)]
pub(crate) struct Noted<C> {
    check: C,
    log: FailureLog,
}

impl<C: Explain> Noted<C> {
    pub fn new(check: C, log: &FailureLog) -> Self {
        Self { check, log: log.clone() }
    }

    /// The check itself, to be modified.
    pub fn inner(&mut self) -> &mut C {
        &mut self.check
    }
}

impl<C: Explain> Reset for Noted<C> {
    fn reset(&mut self) {
        self.check.reset();
    }

    fn seen(&self) -> SeenReply {
        self.check.seen()
    }
}

impl<C: Explain> Check for Noted<C> {
    fn head(&mut self, head: &Head<'_>) {
        self.check.head(head);
    }

    fn data(&mut self, bytes: &[u8]) {
        self.check.data(bytes);
    }

    fn value(&mut self, index: u16) {
        self.check.value(index);
    }

    fn messages(&mut self, count: u32) {
        self.check.messages(count);
    }

    fn trailers(&mut self, fields: &Head<'_>) {
        self.check.trailers(fields);
    }

    fn done(&mut self) -> Outcome {
        let outcome = self.check.done();
        if let Outcome::Error(kind) = outcome
            && let Some(text) = self.check.explain()
        {
            self.log.lock().note(kind, &text, self.check.example());
        }
        outcome
    }

    fn asks_again(&mut self) -> Option<OperationId> {
        self.check.asks_again()
    }

    fn recorded_as(&self) -> Option<OperationId> {
        self.check.recorded_as()
    }

    fn longer_time(&self) -> Option<LongerTime> {
        self.check.longer_time()
    }
}

/// Text as it arrives, at most [`LONGEST`] bytes. Allocates with the first byte and keeps the memory.
#[derive(Debug, Clone, Default)]
pub(crate) struct Words(Vec<u8>);

impl Words {
    /// Appends as much as the limit allows.
    pub fn push(&mut self, bytes: &[u8]) {
        let room = LONGEST - self.0.len().min(LONGEST);
        self.0.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    /// Empties the text.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The text.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// An HTTP status with its registered name: `503 Service Unavailable`.
pub(crate) fn status_line(status: u16) -> String {
    match STATUSES.iter().find(|(number, _)| *number == status) {
        Some((number, name)) => format!("{number} {name}"),
        None => status.to_string(),
    }
}

/// Statuses of final replies, as registered by IANA. The reason phrase of HTTP/1.1 is the server's own and HTTP/2 has
/// none.
const STATUSES: [(u16, &str); 58] = [
    (200, "OK"),
    (201, "Created"),
    (202, "Accepted"),
    (203, "Non Authoritative Information"),
    (204, "No Content"),
    (205, "Reset Content"),
    (206, "Partial Content"),
    (207, "Multi-Status"),
    (208, "Already Reported"),
    (226, "IM Used"),
    (300, "Multiple Choices"),
    (301, "Moved Permanently"),
    (302, "Found"),
    (303, "See Other"),
    (304, "Not Modified"),
    (305, "Use Proxy"),
    (307, "Temporary Redirect"),
    (308, "Permanent Redirect"),
    (400, "Bad Request"),
    (401, "Unauthorized"),
    (402, "Payment Required"),
    (403, "Forbidden"),
    (404, "Not Found"),
    (405, "Method Not Allowed"),
    (406, "Not Acceptable"),
    (407, "Proxy Authentication Required"),
    (408, "Request Timeout"),
    (409, "Conflict"),
    (410, "Gone"),
    (411, "Length Required"),
    (412, "Precondition Failed"),
    (413, "Payload Too Large"),
    (414, "URI Too Long"),
    (415, "Unsupported Media Type"),
    (416, "Range Not Satisfiable"),
    (417, "Expectation Failed"),
    (418, "I'm a teapot"),
    (421, "Misdirected Request"),
    (422, "Unprocessable Entity"),
    (423, "Locked"),
    (424, "Failed Dependency"),
    (425, "Too Early"),
    (426, "Upgrade Required"),
    (428, "Precondition Required"),
    (429, "Too Many Requests"),
    (431, "Request Header Fields Too Large"),
    (451, "Unavailable For Legal Reasons"),
    (500, "Internal Server Error"),
    (501, "Not Implemented"),
    (502, "Bad Gateway"),
    (503, "Service Unavailable"),
    (504, "Gateway Timeout"),
    (505, "HTTP Version Not Supported"),
    (506, "Variant Also Negotiates"),
    (507, "Insufficient Storage"),
    (508, "Loop Detected"),
    (510, "Not Extended"),
    (511, "Network Authentication Required"),
];

#[cfg(test)]
mod tests {
    use super::super::HttpCheck;
    use super::*;
    use tonic::codegen::http::StatusCode;
    use weighbridge_model::experiment::ReplyCheck;
    use weighbridge_model::record::ErrorKind;

    #[test]
    fn statuses_have_the_names_that_another_implementation_gives_them() {
        for status in 200..1000 {
            let theirs = StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
            let theirs = theirs.map_or(status.to_string(), |name| format!("{status} {name}"));
            assert_eq!(status_line(status), theirs);
        }
    }

    #[test]
    fn failures_are_noted_and_good_replies_are_not() {
        let log = FailureLog::default();
        let mut check = Noted::new(HttpCheck::new(ReplyCheck::default()), &log);
        for status in [200, 503, 503, 299, 404] {
            check.reset();
            check.head(&Head { status, fields: &[] });
            let good = (200..300).contains(&status);
            let want = if good { Outcome::Ok } else { Outcome::Error(ErrorKind::Status) };
            assert_eq!(check.done(), want, "{status}");
        }
        let failures = log.take();
        let noted: Vec<(&[u8], u64)> = failures.texts().iter().map(|f| (&*f.text, f.count)).collect();
        assert_eq!(noted, [(&b"503 Service Unavailable"[..], 2), (b"404 Not Found", 1)]);
        assert_eq!(log.take(), Failures::default());
    }

    #[test]
    fn words_are_cut_however_they_arrive() {
        let mut words = Words::default();
        (0..1000).for_each(|_| words.push(b"abc"));
        assert_eq!(words.bytes().len(), LONGEST);
        words.clear();
        words.push(&[b'x'; 1000]);
        assert_eq!(words.bytes().len(), LONGEST);
    }
}
