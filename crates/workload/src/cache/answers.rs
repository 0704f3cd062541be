//! What is asked of a cache before anything is timed: a value is set, found, deleted and missed. Answers are compared by
//! what they mean, since protocols say it differently.

use std::borrow::Cow;
use std::sync::Arc;

use weighbridge_load::framer::Head;
use weighbridge_load::session::Check;
use weighbridge_model::experiment::{CacheOperation, CacheSpec, KEY_MOST};
use weighbridge_model::id::OperationId;
use weighbridge_model::record::{ErrorKind, Outcome};

use super::reply::{Carrier, ReplyMeaning, ValueReply};
use super::requests::{KeyedValue, Requests};
use super::value::{Arrived, LetterBlock, Origin};
use crate::Entry;
use crate::canonical::{Canonical, Received};
use crate::checks::Reset;
use crate::checks::explain::{Explain, FailureLog, Noted, Words, status_line};
use crate::expect::Expect;

/// Bytes of the value.
const LENGTH: usize = 100;

const CONVERSATION: [(CacheOperation, ReplyMeaning, &str); 6] = [
    (CacheOperation::Set, ReplyMeaning::Done, "set of a key"),
    (CacheOperation::Head, ReplyMeaning::Done, "head of a key that was set"),
    (CacheOperation::Get, ReplyMeaning::Done, "get of a key that was set"),
    (CacheOperation::Delete, ReplyMeaning::Done, "delete of a key that was set"),
    (CacheOperation::Delete, ReplyMeaning::Nothing, "delete of a key that was deleted"),
    (CacheOperation::Get, ReplyMeaning::Nothing, "get of a key that was deleted"),
];

/// One request of each kind for a key that the load does not use, with the operation to which it belongs; heads only where
/// the load has them, since not every server has.
pub(super) fn entries(spec: &CacheSpec, carrier: Carrier, requests: &Requests) -> Vec<Entry> {
    let operations = spec.mixed();
    let block = Arc::new(LetterBlock::new());
    let key: Arc<[u8]> =
        format!("{:w<1$}", "weighbridge", spec.shortest_key().min(KEY_MOST) as usize).into_bytes().into();
    let asked = CONVERSATION.into_iter().filter(|(operation, ..)| {
        *operation != CacheOperation::Head || operations.contains(&CacheOperation::Head)
    });
    let entry = |(operation, meaning, title): (CacheOperation, ReplyMeaning, &str), is_batch: bool| {
        let at = operations.iter().position(|one| *one == operation).unwrap_or(0);
        let value = KeyedValue { key: &key, block: &block, origin: Origin::new(0, 0), length: LENGTH };
        let mut buffer = requests.buffer();
        let id = OperationId(at as u16);
        match is_batch {
            true => {
                // Another name of the same length: all letters of the key's are smaller.
                let other: Vec<u8> = key.iter().map(|_| b'x').collect();
                requests.fill_batch(id, [&key[..], &other].into_iter(), &mut buffer);
            }
            false => requests.fill(id, operation, &value, &mut buffer),
        }
        let (requests, block, key) = (requests.clone(), Arc::clone(&block), Arc::clone(&key));
        Entry {
            name: operations[at].name().to_owned(),
            title: title.to_owned(),
            rendered: buffer.rendered().clone(),
            expect: Arc::new(AnswerExpect { requests, carrier, operation, meaning, block, key }),
        }
    };
    let mut entries = Vec::new();
    for step in asked {
        entries.push(entry(step, false));
        if spec.batch > 1 && step.0 == CacheOperation::Get && step.1 == ReplyMeaning::Done {
            entries.push(entry((step.0, step.1, "get of a key that was set and one that was not"), true));
        }
    }
    entries
}

#[derive(Debug, Clone)]
struct AnswerExpect {
    requests: Requests,
    carrier: Carrier,
    operation: CacheOperation,
    meaning: ReplyMeaning,
    block: Arc<LetterBlock>,
    key: Arc<[u8]>,
}

impl Expect for AnswerExpect {
    fn check(&self, log: &FailureLog) -> Box<dyn Reset + Send> {
        let value = ValueReply::new(self.carrier);
        Box::new(Noted::new(
            AnswerCheck { expect: self.clone(), status: 0, value, text: Words::default() },
            log,
        ))
    }

    fn amounts_to(&self, _received: &Received<'_>) -> Option<Canonical> {
        Some(Canonical::Status(match self.meaning {
            ReplyMeaning::Done => 200,
            ReplyMeaning::Nothing => 404,
            ReplyMeaning::Refused => 507,
        }))
    }

    fn wrong_content(&self, received: &Received<'_>) -> Option<String> {
        let body = String::from_utf8_lossy(&received.body[..received.body.len().min(80)]).into_owned();
        Some(match self.meaning {
            ReplyMeaning::Done => format!("the value that was set was expected, and `{body}` came"),
            ReplyMeaning::Nothing => format!("the key is deleted, and `{body}` came"),
            ReplyMeaning::Refused => format!("no room was expected, and `{body}` came"),
        })
    }
}

#[derive(Debug, Clone)]
struct AnswerCheck {
    expect: AnswerExpect,
    status: u16,
    value: ValueReply,
    text: Words,
}

impl Reset for AnswerCheck {
    fn reset(&mut self) {
        self.status = 0;
        self.value = ValueReply::new(self.expect.carrier);
        self.text.clear();
    }
}

impl Check for AnswerCheck {
    fn head(&mut self, head: &Head<'_>) {
        self.status = head.status;
    }

    fn data(&mut self, bytes: &[u8]) {
        self.value.piece(&self.expect.block, &self.expect.key, bytes);
        self.text.push(bytes);
    }

    fn done(&mut self) -> Outcome {
        let AnswerExpect { requests, operation, meaning, .. } = &self.expect;
        let Some(found) = requests.meaning(*operation, self.status, self.text.bytes()) else {
            return Outcome::Error(ErrorKind::Status);
        };
        let is_value = *operation == CacheOperation::Get && found == ReplyMeaning::Done;
        let is_right =
            self.value.is_whole() && self.value.value.arrived() == Arrived::Whole(Origin::new(0, 0), LENGTH);
        match found == *meaning && (!is_value || is_right) {
            true => Outcome::Ok,
            false => Outcome::Error(ErrorKind::Check),
        }
    }
}

impl Explain for AnswerCheck {
    fn explain(&self) -> Option<Cow<'_, [u8]>> {
        Some(status_line(self.status).into_bytes().into())
    }
}
