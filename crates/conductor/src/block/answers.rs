//! Correctness first: every kind of request is asked of every variant, and the answers must agree before timing.

use std::sync::atomic::AtomicBool;

use weighbridge_load::dial::Endpoint;
use weighbridge_load::exchange::{ExchangeError, Limits, exchange};
use weighbridge_load::{Stack, TlsClient};
use weighbridge_model::experiment::WorkloadSpec;
use weighbridge_model::quantity::{Bytes, Nanoseconds};
use weighbridge_store::scrub::Secrets;
use weighbridge_workload::{Canonical, Conversation, Received, Workload};

use crate::control::Control;
use crate::variant::direct::{Direct, DirectError};

/// Longest body that is fetched for comparison.
const BODY_LIMIT: Bytes = Bytes::new(128 << 20);

/// Why answers are not what they must be.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    #[error("`{variant}` does not answer `{request}`: {source}")]
    Exchange {
        variant: String,
        /// The operation.
        request: String,
        /// What went wrong.
        source: ExchangeError,
    },
    #[error("`{variant}` does not answer `{request}`: {source}")]
    Direct {
        variant: String,
        /// The operation.
        request: String,
        /// What went wrong.
        source: DirectError,
    },
    #[error("`{variant}` answers `{request}` wrongly: {why}; mend the service or the `check`")]
    Wrong {
        variant: String,
        /// The operation.
        request: String,
        /// In which way.
        why: String,
    },
    #[error(
        "answers to `{request}` differ{place}: `{first}` says {one}, `{second}` says {two}; costs of different work cannot be compared{advice}"
    )]
    Differ {
        /// The operation.
        request: Box<str>,
        /// A variant.
        first: Box<str>,
        /// Its answer.
        one: Box<str>,
        /// Where in the answer, to follow the words.
        place: Box<str>,
        /// What can be done, to follow the message.
        advice: &'static str,
        /// Another variant.
        second: Box<str>,
        /// Its answer.
        two: Box<str>,
    },
}

/// A variant that can be asked.
pub(crate) struct Asked<'a> {
    pub name: &'a str,
    pub addresses: &'a [Endpoint],
    pub tls: Option<&'a TlsClient>,
    pub workload: &'a Workload,
    pub secrets: &'a Secrets,
}

/// What one question was and what its answer amounts to.
#[derive(Debug)]
pub(crate) struct Answered {
    request: String,
    canonical: Canonical,
    /// What was taken from the session's replies by then.
    hidden: Vec<String>,
}

/// How long one question may take, and the flag that ends it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience<'a> {
    pub timeout: Nanoseconds,
    pub stop: &'a AtomicBool,
}

/// Asks every kind of session of one variant, request by request; returns what the answers amount to.
pub(crate) fn answers(asked: &Asked<'_>, patience: Patience<'_>) -> Result<Vec<Answered>, AnswerError> {
    let mut all = Vec::new();
    for number in 0..asked.workload.conversations() {
        let mut conversation = asked.workload.conversation(number);
        while let Some(answered) = answer(asked, &mut conversation, patience)? {
            all.push(answered);
        }
    }
    Ok(all)
}

/// Asks what comes next, if anything does.
fn answer(
    asked: &Asked<'_>,
    conversation: &mut Conversation<'_>,
    patience: Patience<'_>,
) -> Result<Option<Answered>, AnswerError> {
    let Some(question) = conversation.question() else { return Ok(None) };
    let (variant, request) = (asked.name.to_owned(), question.title.to_owned());
    let collected = exchange(
        asked.addresses,
        Stack { framing: asked.workload.framing(), tls: asked.tls.cloned() },
        question.rendered,
        Limits { timeout: patience.timeout, body: BODY_LIMIT, stop: Some(patience.stop) },
    );
    let collected = match collected {
        Ok(collected) => collected,
        Err(source) => return Err(AnswerError::Exchange { variant, request, source }),
    };
    let received = Received {
        status: collected.status,
        headers: &collected.headers,
        body: &collected.body,
        messages: &collected.messages,
    };
    let hide = |text: &str| asked.secrets.hide(text).into_owned();
    match conversation.answer(&received, &hide) {
        Ok(canonical) => Ok(Some(Answered { request, canonical, hidden: conversation.hidden().to_vec() })),
        Err(why) => Err(AnswerError::Wrong { variant, request, why }),
    }
}

/// What the replies of a variant that runs in its own process amount to, for every size that is asked.
pub(crate) fn direct_answers(
    direct: &mut Direct,
    name: &str,
    workload: &Workload,
    spec: &WorkloadSpec,
    control: &Control,
) -> Result<Vec<Answered>, AnswerError> {
    let mut answer = |(kind, size): (usize, &Bytes)| {
        let (variant, request) = (name.to_owned(), workload.title(kind).to_owned());
        let body = match direct.reply(*size, control) {
            Ok(body) => body,
            Err(source) => return Err(AnswerError::Direct { variant, request, source }),
        };
        let received = Received { status: 200, headers: &[], body: &body, messages: &[] };
        match workload.canonical(kind, &received) {
            Ok(canonical) => Ok(Answered { request, canonical, hidden: Vec::new() }),
            Err(why) => Err(AnswerError::Wrong { variant, request, why }),
        }
    };
    spec.listed_sizes().iter().enumerate().map(&mut answer).collect()
}

/// What a variant answered to all questions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct VariantAnswers<'a> {
    pub name: &'a str,
    pub answers: &'a [Answered],
}

/// Compares a variant's answers with the first variant's.
pub(crate) fn compare(
    secrets: &Secrets,
    first: &VariantAnswers<'_>,
    second: &VariantAnswers<'_>,
) -> Result<(), AnswerError> {
    let Some((one, two)) =
        first.answers.iter().zip(second.answers).find(|(one, two)| one.canonical != two.canonical)
    else {
        return Ok(());
    };
    let hide = |text: &str| {
        let taken = one.hidden.iter().chain(&two.hidden);
        let text = taken.fold(text.to_owned(), |text, value| text.replace(value.as_str(), "<extracted>"));
        secrets.hide(&text).into_owned()
    };
    let (place, said, other) = one.canonical.difference(&two.canonical, &hide);
    Err(AnswerError::Differ {
        request: one.request.as_str().into(),
        first: first.name.into(),
        one: said.into(),
        advice: if place.is_empty() { "" } else { "; where it may differ, name it in `workload.ignore`" },
        place: place.into(),
        second: second.name.into(),
        two: other.into(),
    })
}
