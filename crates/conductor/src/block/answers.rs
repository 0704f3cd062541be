//! Checks answers before timing: every variant is sent every kind of request, and their answers must agree.

use std::sync::atomic::AtomicBool;

use weighbridge_load::dial::Endpoint;
use weighbridge_load::exchange::{Collected, ExchangeError, Limits, exchange};
use weighbridge_load::{Stack, TlsClient};
use weighbridge_model::experiment::WorkloadSpec;
use weighbridge_model::quantity::{Bytes, Nanoseconds};
use weighbridge_store::scrub::Secrets;
use weighbridge_workload::{Canonical, Conversation, Received, Workload};

use crate::control::Control;
use crate::variant::direct::{Direct, DirectError};

const BODY_LIMIT: Bytes = Bytes::new(128 << 20);

#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    #[error("`{variant}` does not answer `{request}`: {source}")]
    Exchange { variant: String, request: String, source: ExchangeError },
    #[error("`{variant}` does not answer `{request}`: {source}")]
    Direct { variant: String, request: String, source: DirectError },
    #[error("`{variant}` answers `{request}` wrongly: {why}; fix the service or the `check`")]
    Wrong { variant: String, request: String, why: String },
    #[error(
        "answers to `{request}` differ{place}: `{first}` says {one}, `{second}` says {two}; costs of different work cannot be compared{advice}"
    )]
    Differ {
        request: Box<str>,
        first: Box<str>,
        one: Box<str>,
        /// Where in the answer, to follow the word "differ".
        place: Box<str>,
        /// Advice, to follow the message.
        advice: &'static str,
        second: Box<str>,
        two: Box<str>,
    },
}

pub(crate) struct AskedVariant<'a> {
    pub name: &'a str,
    pub addresses: &'a [Endpoint],
    pub tls: Option<&'a TlsClient>,
    pub workload: &'a Workload,
    pub secrets: &'a Secrets,
}

/// One request and the canonical form of its answer.
#[derive(Debug)]
pub(crate) struct CheckedAnswer {
    request: String,
    canonical: Canonical,
    /// Values extracted from the session's earlier replies, hidden in messages.
    hidden: Vec<String>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct QuestionLimits<'a> {
    pub timeout: Nanoseconds,
    pub stop: &'a AtomicBool,
}

/// Sends every kind of session to one variant, request by request.
pub(crate) fn answers(
    asked: &AskedVariant<'_>,
    limits: QuestionLimits<'_>,
) -> Result<Vec<CheckedAnswer>, AnswerError> {
    let mut all = Vec::new();
    for number in 0..asked.workload.conversations() {
        let mut conversation = asked.workload.conversation(number);
        while let Some(answered) = answer(asked, &mut conversation, limits)? {
            all.push(answered);
        }
    }
    Ok(all)
}

/// Sends the conversation's next request; `None` at its end.
fn answer(
    asked: &AskedVariant<'_>,
    conversation: &mut Conversation<'_>,
    limits: QuestionLimits<'_>,
) -> Result<Option<CheckedAnswer>, AnswerError> {
    let Some(question) = conversation.question() else { return Ok(None) };
    let (variant, request) = (asked.name.to_owned(), question.title.to_owned());
    let collected = exchange(
        asked.addresses,
        Stack { framing: asked.workload.framing(), tls: asked.tls.cloned() },
        question.rendered,
        Limits { timeout: limits.timeout, body: BODY_LIMIT, stop: Some(limits.stop) },
    );
    let collected = match collected {
        Ok(collected) => collected,
        Err(source) => return Err(AnswerError::Exchange { variant, request, source }),
    };
    let received = received(&collected);
    let hide = |text: &str| asked.secrets.hide(text).into_owned();
    match conversation.answer(&received, &hide) {
        Ok(canonical) => {
            Ok(Some(CheckedAnswer { request, canonical, hidden: conversation.hidden().to_vec() }))
        }
        Err(why) => Err(AnswerError::Wrong { variant, request, why }),
    }
}

pub(super) fn received(collected: &Collected) -> Received<'_> {
    let Collected { status, headers, body, messages, .. } = collected;
    Received { status: *status, headers, body, messages }
}

/// Asks a variant of protocol `direct` for one reply of every listed size.
pub(crate) fn direct_answers(
    direct: &mut Direct,
    name: &str,
    workload: &Workload,
    spec: &WorkloadSpec,
    control: &Control,
) -> Result<Vec<CheckedAnswer>, AnswerError> {
    let mut answer = |(kind, size): (usize, &Bytes)| {
        let (variant, request) = (name.to_owned(), workload.title(kind).to_owned());
        let body = match direct.reply(*size, control) {
            Ok(body) => body,
            Err(source) => return Err(AnswerError::Direct { variant, request, source }),
        };
        let received = Received { status: 200, headers: &[], body: &body, messages: &[] };
        match workload.canonical(kind, &received) {
            Ok(canonical) => Ok(CheckedAnswer { request, canonical, hidden: Vec::new() }),
            Err(why) => Err(AnswerError::Wrong { variant, request, why }),
        }
    };
    spec.listed_sizes().iter().enumerate().map(&mut answer).collect()
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct VariantAnswers<'a> {
    pub name: &'a str,
    pub answers: &'a [CheckedAnswer],
}

/// Fails at the first answer that differs from the first variant's.
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
