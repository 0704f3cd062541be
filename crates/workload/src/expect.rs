//! The expected reply to one request: how it is checked as it arrives, and its canonical answer.

use std::fmt;

use httparse::Header;
use serde_json::Value;
use sha2::{Digest, Sha256};
use weighbridge_load::framer::Head;
use weighbridge_model::experiment::Equality;
use weighbridge_model::quantity::Bytes;
use weighbridge_model::record::{ErrorKind, Outcome};

use crate::canonical::{Canonical, Received, excerpt, forget, wrong_status};
use crate::checks::Reset;
use crate::checks::explain::FailureLog;
use crate::json::Pointer;

/// What makes a reply good. Each workload has its own.
pub(crate) trait Expect: fmt::Debug + Send + Sync {
    /// Checks one reply after another as their bytes arrive, and notes into `log` why they fail.
    fn check(&self, log: &FailureLog) -> Box<dyn Reset + Send>;

    /// The requested size; 0 if there is none.
    fn size(&self) -> Bytes {
        Bytes::new(0)
    }

    /// Whether a reply is useful only per request: a relay's own measurement.
    fn is_kept(&self) -> bool {
        false
    }

    /// The canonical answer of a reply whose check has verified all of it, whatever the equality.
    fn amounts_to(&self, _received: &Received<'_>) -> Option<Canonical> {
        None
    }

    /// In words, how the content of a reply with the right status is wrong, if that can be said better than by its beginning.
    fn wrong_content(&self, _received: &Received<'_>) -> Option<String> {
        None
    }

    /// The status that matters.
    fn status(&self, received: &Received<'_>) -> u16 {
        received.status
    }

    /// The body as a JSON value.
    fn json(&self, received: &Received<'_>, hide: &dyn Fn(&str) -> String) -> Result<Value, String> {
        serde_json::from_slice(received.body)
            .map_err(|e| format!("the body is not JSON ({e}): {}", excerpt(received.body, hide)))
    }
}

/// The canonical answer of a whole reply, or why the reply is wrong.
pub(crate) fn canonical(
    equality: Equality,
    ignored: &[Pointer],
    expect: &dyn Expect,
    received: &Received<'_>,
    hide: &dyn Fn(&str) -> String,
) -> Result<Canonical, String> {
    judge(expect, received, hide)?;
    if let Some(canonical) = expect.amounts_to(received) {
        return Ok(canonical);
    }
    let (status, body) = (expect.status(received), received.body);
    Ok(match equality {
        Equality::Status => Canonical::Status(status),
        Equality::Length => Canonical::Length(status, body.len()),
        Equality::Json => {
            let mut value = expect.json(received, hide)?;
            for pointer in ignored {
                forget(&mut value, &pointer.text().split('/').skip(1).collect::<Vec<_>>());
            }
            Canonical::Json(status, value)
        }
        Equality::Bytes => Canonical::Bytes(status, body.len(), Sha256::digest(body).into()),
    })
}

/// Runs the check over a whole reply; returns why it fails.
fn judge(expect: &dyn Expect, received: &Received<'_>, hide: &dyn Fn(&str) -> String) -> Result<(), String> {
    let Received { status, headers, body, messages } = *received;
    let fields: Vec<_> =
        headers.iter().map(|(name, value)| Header { name, value: value.as_bytes() }).collect();
    let mut check = expect.check(&FailureLog::default());
    check.head(&Head { status, fields: &fields });
    let mut start = 0;
    for end in messages {
        check.data(&body[start..*end]);
        check.messages(1);
        start = *end;
    }
    check.data(&body[start..]);
    match check.done() {
        Outcome::Ok => Ok(()),
        Outcome::Error(ErrorKind::Status) => Err(wrong_status(received, hide)),
        Outcome::Error(ErrorKind::Protocol) => {
            Err("the reply is not of gRPC: its `content-type` or its `grpc-status` is missing".to_owned())
        }
        Outcome::Error(_) => {
            let how = expect.wrong_content(received).map(|how| hide(&how));
            let how = how.unwrap_or_else(|| excerpt(body, hide));
            Err(format!("the reply is not what the workload expects: {how}"))
        }
    }
}
