//! Correctness first: every kind of request is asked of every variant, and the answers must agree before timing.

use std::sync::atomic::AtomicBool;

use weighbridge_load::dial::Endpoint;
use weighbridge_load::exchange::{ExchangeError, Limits, exchange};
use weighbridge_load::{Stack, TlsClient};
use weighbridge_model::quantity::{Bytes, Nanoseconds};
use weighbridge_workload::{Received, Workload};

use crate::direct::DirectError;

/// Longest body that is fetched for comparison.
const BODY_LIMIT: Bytes = Bytes::new(128 << 20);

/// Why answers are not what they must be.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    /// No whole reply came.
    #[error("`{variant}` does not answer `{request}`: {source}")]
    Exchange {
        /// The variant.
        variant: String,
        /// The operation.
        request: String,
        /// What went wrong.
        source: ExchangeError,
    },
    /// A service that runs operations in its own process gave none.
    #[error("`{variant}` does not answer `{request}`: {source}")]
    Direct {
        /// The variant.
        variant: String,
        /// The operation.
        request: String,
        /// What went wrong.
        source: DirectError,
    },
    /// A reply is wrong in itself.
    #[error("`{variant}` answers `{request}` wrongly: {why}; mend the service or the `check`")]
    Wrong {
        /// The variant.
        variant: String,
        /// The operation.
        request: String,
        /// In which way.
        why: String,
    },
    /// Two variants answer differently.
    #[error(
        "answers to `{request}` differ: `{first}` says {one}, `{second}` says {two}; costs of different work cannot be compared"
    )]
    Differ {
        /// The operation.
        request: String,
        /// A variant.
        first: String,
        /// Its answer.
        one: String,
        /// Another variant.
        second: String,
        /// Its answer.
        two: String,
    },
}

/// A variant that can be asked.
pub(crate) struct Asked<'a> {
    pub name: &'a str,
    pub addresses: &'a [Endpoint],
    pub tls: Option<&'a TlsClient>,
    pub workload: &'a Workload,
}

/// How long one question may take, and the flag that ends it.
pub(crate) type Patience<'a> = (Nanoseconds, &'a AtomicBool);

/// Asks every kind of request of one variant; returns what the answers amount to.
pub(crate) fn answers(
    asked: &Asked<'_>,
    patience: Patience<'_>,
) -> Result<Vec<weighbridge_workload::Canonical>, AnswerError> {
    (0..asked.workload.len()).map(|kind| answer(asked, kind, patience)).collect()
}

fn answer(
    asked: &Asked<'_>,
    kind: usize,
    (timeout, stop): Patience<'_>,
) -> Result<weighbridge_workload::Canonical, AnswerError> {
    let workload = asked.workload;
    let request = || workload.title(kind).to_owned();
    let collected = exchange(
        asked.addresses,
        Stack { framing: workload.framing(), tls: asked.tls.cloned() },
        workload.rendered(kind),
        Limits { timeout, body: BODY_LIMIT, stop: Some(stop) },
    )
    .map_err(|source| AnswerError::Exchange {
        variant: asked.name.to_owned(),
        request: request(),
        source,
    })?;
    let received = Received {
        status: collected.status,
        headers: &collected.headers,
        body: &collected.body,
        messages: &collected.messages,
    };
    workload.canonical(kind, &received).map_err(|why| AnswerError::Wrong {
        variant: asked.name.to_owned(),
        request: request(),
        why,
    })
}

/// Compares a variant's answers with the first variant's.
pub(crate) fn compare(
    workload: &Workload,
    (first, ones): (&str, &[weighbridge_workload::Canonical]),
    (second, twos): (&str, &[weighbridge_workload::Canonical]),
) -> Result<(), AnswerError> {
    for (kind, (one, two)) in ones.iter().zip(twos).enumerate() {
        if one != two {
            return Err(AnswerError::Differ {
                request: workload.title(kind).to_owned(),
                first: first.to_owned(),
                one: one.to_string(),
                second: second.to_owned(),
                two: two.to_string(),
            });
        }
    }
    Ok(())
}
