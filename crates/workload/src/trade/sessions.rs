//! The sessions of a passage: a free slot takes the next one of the script, and each reply is compared with the model's.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde_json::Value;
use weighbridge_load::failures::Failures;
use weighbridge_load::framer::Head;
use weighbridge_load::request::Rendered;
use weighbridge_load::session::{Check, Reply, RequestId, Sessions, Step};
use weighbridge_model::experiment::{GrpcStatus, TradeOperation};
use weighbridge_model::id::OperationId;
use weighbridge_model::record::counts::{Count, Counts};
use weighbridge_model::record::{ErrorKind, Outcome};

use super::calls::{TradeCarrier, reply_record};
use super::client::says_again;
use super::passage::{Passage, PassageStep, StepRequest};
use super::records::append_canonical;
use crate::cache::draw::below;
use crate::canonical::Received;
use crate::checks::Reset;
use crate::checks::explain::{Explain, FailureLog, Noted, status_line};
use crate::direct::fnv1a;
use crate::expect::Expect;
use crate::grpc::Envelope;

/// Longest reply that is kept; a longer one is wrong.
const KEPT: usize = 1 << 20;

/// How often a request is made at most, where the answer is *again*.
pub const ATTEMPTS: u32 = 5;

pub(crate) struct PassageSessions {
    passage: Arc<Passage>,
    /// Whether this window plays the script.
    plays: bool,
    /// The next session that nobody has taken.
    next: u32,
    /// Of the quotes beside the script.
    random: ChaCha8Rng,
    slots: Vec<PassageSlot>,
    failures: FailureLog,
}

/// A place for a request in flight.
struct PassageSlot {
    /// Steps that the session has still to do; the first is under way.
    left: Range<u32>,
    check: Noted<TradeCheck>,
    /// The request that names a holding.
    sale: Option<Rendered>,
}

impl PassageSessions {
    pub fn new(passage: Arc<Passage>) -> Self {
        Self {
            passage,
            plays: false,
            next: 0,
            random: ChaCha8Rng::seed_from_u64(0),
            slots: Vec::new(),
            failures: FailureLog::default(),
        }
    }

    /// Makes a step the slot's request.
    fn begin(&mut self, slot: u32, session: Option<u32>, step: PassageStep) -> RequestId {
        let number = slot;
        let slot = &mut self.slots[slot as usize];
        let at = slot.left.start;
        let check = slot.check.inner();
        check.reset();
        check.asked = AskedStep { session, at, step };
        match step.request {
            StepRequest::Rendered(request) => RequestId(request + self.slots.len() as u32),
            StepRequest::Sale(_) => RequestId(number),
        }
    }
}

impl Sessions for PassageSessions {
    fn prepare(&mut self, slots: u32) {
        let slot = |_| PassageSlot {
            left: 0..0,
            check: Noted::new(TradeCheck::new(Arc::clone(&self.passage)), &self.failures),
            sale: None,
        };
        self.slots = (0..slots).map(slot).collect();
    }

    fn rewind(&mut self, substream: u64) {
        self.plays = self.passage.begins();
        self.next = 0;
        self.random = ChaCha8Rng::seed_from_u64(substream);
        self.failures.take();
        self.take_counts();
    }

    fn open(&mut self, slot: u32) -> RequestId {
        if self.plays && self.next < self.passage.sessions() {
            let session = self.next;
            self.next += 1;
            self.slots[slot as usize].left = self.passage.steps_of(session);
            let step = self.passage.step(self.slots[slot as usize].left.start);
            return self.begin(slot, Some(session), step);
        }
        self.slots[slot as usize].left = 0..0;
        let stock = below(&mut self.random, self.passage.stocks().len() as u32);
        self.begin(slot, None, self.passage.quote(stock))
    }

    /// A session whose reply was wrong is over: what comes next would rest on it.
    fn next(&mut self, slot: u32, reply: &Reply) -> Step {
        let own = &mut self.slots[slot as usize];
        own.left.start = (own.left.start + 1).min(own.left.end);
        if reply.outcome != Outcome::Ok || own.left.is_empty() {
            return Step::End;
        }
        let step = self.passage.step(own.left.start);
        if let StepRequest::Sale(sale) = step.request {
            let rendered = own.check.inner().holding.take();
            let rendered =
                rendered.and_then(|holding| self.passage.render_sale(self.passage.sale(sale), holding).ok());
            match rendered {
                Some(rendered) => own.sale = Some(rendered),
                None => return Step::End,
            }
        }
        let session = own.check.inner().asked.session;
        Step::Send(self.begin(slot, session, step))
    }

    fn has_follow_ups(&self) -> bool {
        true
    }

    fn has_ended(&self) -> bool {
        self.plays && self.next >= self.passage.sessions()
    }

    fn request(&self, id: RequestId) -> &Rendered {
        let slots = self.slots.len() as u32;
        match id.0.checked_sub(slots) {
            Some(request) => self.passage.rendered(request),
            None => self.slots[id.0 as usize].sale.as_ref().expect("it was rendered when it was chosen"),
        }
    }

    fn check(&mut self, slot: u32) -> &mut dyn Check {
        &mut self.slots[slot as usize].check
    }

    fn take_failures(&mut self) -> Failures {
        self.failures.take()
    }

    fn take_counts(&mut self) -> Option<Counts> {
        let mut all = Counts::default();
        for slot in &mut self.slots {
            all.merge(&std::mem::take(&mut slot.check.inner().counts));
        }
        Some(all)
    }
}

/// The request under way.
#[derive(Debug, Clone, Copy)]
struct AskedStep {
    /// `None` for a quote beside the script.
    session: Option<u32>,
    /// The place of its step.
    at: u32,
    step: PassageStep,
}

/// Compares one reply after another with the model's.
#[derive(Debug)]
struct TradeCheck {
    passage: Arc<Passage>,
    asked: AskedStep,
    status: u16,
    envelope: Envelope,
    body: Vec<u8>,
    messages: u32,
    /// The canonical text of the reply, or why it has none.
    text: String,
    is_readable: bool,
    /// The holding that the next request sells.
    holding: Option<i64>,
    /// Attempts that were made before this one.
    attempts: u32,
    counts: Counts,
}

impl TradeCheck {
    fn new(passage: Arc<Passage>) -> Self {
        let asked = AskedStep { session: None, at: 0, step: passage.quote(0) };
        Self {
            passage,
            asked,
            status: 0,
            envelope: Envelope::default(),
            body: Vec::new(),
            messages: 0,
            text: String::new(),
            is_readable: true,
            holding: None,
            attempts: 0,
            counts: Counts::default(),
        }
    }

    fn says_again(&self) -> bool {
        says_again(self.passage.caller.carrier(), self.status, &self.envelope, &self.body)
    }

    fn is_grpc(&self) -> bool {
        self.passage.caller.carrier() == TradeCarrier::Grpc
    }

    /// A session goes on only after a right reply, so an action's last one completes it.
    fn count_action(&mut self) {
        let AskedStep { session: Some(session), at, step } = self.asked else { return };
        let is_last = at + 1 == self.passage.steps_of(session).end;
        if is_last || self.passage.step(at + 1).action != step.action {
            self.counts.add(Count::Actions, 1);
        }
    }

    /// The first holding, by id, that the session's next request sells.
    fn find_holding(&mut self, reply: &Value) {
        let is_last = |session| self.asked.at + 1 == self.passage.steps_of(session).end;
        if self.asked.session.is_none_or(is_last) || self.asked.step.operation != TradeOperation::Holdings {
            return;
        }
        let StepRequest::Sale(sale) = self.passage.step(self.asked.at + 1).request else { return };
        let sale = self.passage.sale(sale);
        let is_sold = |one: &&Value| {
            one["symbol"] == *sale.symbol && one["quantity"].as_i64() == Some(sale.quantity.into())
        };
        let holdings = reply["holdings"].as_array().into_iter().flatten();
        self.holding = holdings.filter(is_sold).filter_map(|one| one["id"].as_i64()).min();
    }
}

impl Reset for TradeCheck {
    fn reset(&mut self) {
        (self.status, self.messages, self.holding, self.is_readable) = (0, 0, None, true);
        self.attempts = 0;
        self.envelope.reset();
        self.body.clear();
        self.text.clear();
    }
}

impl Check for TradeCheck {
    fn head(&mut self, head: &Head<'_>) {
        self.status = head.status;
        self.envelope.head(head);
    }

    fn data(&mut self, bytes: &[u8]) {
        if self.body.len() + bytes.len() <= KEPT {
            self.body.extend_from_slice(bytes);
        }
    }

    fn messages(&mut self, count: u32) {
        self.messages += count;
    }

    fn trailers(&mut self, fields: &Head<'_>) {
        self.envelope.trailers(fields);
    }

    fn done(&mut self) -> Outcome {
        if self.is_grpc() {
            if let Err(kind) = self.envelope.judge(GrpcStatus::OK) {
                return Outcome::Error(kind);
            }
            if self.messages != 1 {
                self.text = format!("{} messages instead of one", self.messages);
                self.is_readable = false;
                return Outcome::Error(ErrorKind::Check);
            }
        } else if self.status != 200 {
            return Outcome::Error(ErrorKind::Status);
        }
        let operation = self.asked.step.operation;
        match self.passage.caller.read(operation, &self.body) {
            Err(error) => {
                self.text = error.to_string();
                self.is_readable = false;
            }
            Ok(reply) => {
                append_canonical(reply_record(operation), &reply, &mut self.text);
                self.passage.retain_compared(&mut self.text);
                if fnv1a(self.text.as_bytes()) == self.asked.step.hash {
                    self.find_holding(&reply);
                    self.count_action();
                    return Outcome::Ok;
                }
            }
        }
        Outcome::Error(ErrorKind::Check)
    }

    fn asks_again(&mut self) -> Option<OperationId> {
        if !self.says_again() {
            return None;
        }
        self.counts.add(Count::Aborts, 1);
        let attempts = self.attempts + 1;
        if attempts == ATTEMPTS {
            self.counts.add(Count::GivenUp, 1);
            return None;
        }
        self.reset();
        self.attempts = attempts;
        Some(TradeOperation::again(self.passage.grain()))
    }
}

impl Explain for TradeCheck {
    /// Session, action, request, and the first field that differs; nothing where another attempt follows.
    fn explain(&self) -> Option<Cow<'_, [u8]>> {
        let is_last = self.attempts + 1 == ATTEMPTS;
        let says_again = self.says_again();
        if says_again && !is_last {
            return None;
        }
        let AskedStep { session, at, step } = self.asked;
        let operation = step.operation.name();
        let place = match session {
            None => format!("{operation} beside the script"),
            Some(session) => format!("session {}, action {}, {operation}", session + 1, step.action + 1),
        };
        let what = match () {
            () if self.is_grpc() && self.envelope.judge(GrpcStatus::OK).is_err() => {
                let words = self.envelope.explain(GrpcStatus::OK)?;
                String::from_utf8_lossy(&words).into_owned()
            }
            () if !self.is_grpc() && self.status != 200 => {
                format!("{}: {}", status_line(self.status), String::from_utf8_lossy(&self.body))
            }
            () if !self.is_readable => self.text.clone(),
            () => match session {
                None => "another quote than the script's".to_owned(),
                Some(session) => difference(&self.passage.right_reply(session, at), &self.text),
            },
        };
        let in_all =
            if says_again { format!("answered *again* {ATTEMPTS} times in a row, ") } else { String::new() };
        Some(format!("{place}: {in_all}{what}").into_bytes().into())
    }
}

/// What the quote of the first stock should be, asked before anything is timed.
#[derive(Debug)]
pub(super) struct QuoteExpect {
    passage: Arc<Passage>,
}

impl QuoteExpect {
    pub fn new(passage: Arc<Passage>) -> Self {
        Self { passage }
    }
}

impl Expect for QuoteExpect {
    fn check(&self, log: &FailureLog) -> Box<dyn Reset + Send> {
        Box::new(Noted::new(TradeCheck::new(Arc::clone(&self.passage)), log))
    }

    fn json(&self, received: &Received<'_>, _hide: &dyn Fn(&str) -> String) -> Result<Value, String> {
        let read = self.passage.caller.read(TradeOperation::Quote, received.body);
        read.map_err(|error| error.to_string())
    }
}

/// The first line in which two canonical texts differ.
fn difference(expected: &str, got: &str) -> String {
    let (mut expected, mut got) = (expected.lines(), got.lines());
    loop {
        match (expected.next(), got.next()) {
            (None, None) => return "the same".to_owned(),
            (expected, got) if expected == got => {}
            (Some(expected), Some(got)) => {
                let field = |line: &str| {
                    line.split_once('=').map(|(field, value)| [field.to_owned(), value.to_owned()])
                };
                return match (field(expected), field(got)) {
                    (Some([field, expected]), Some([other, got])) if field == other => {
                        format!("`{field}` is `{got}`, expected `{expected}`")
                    }
                    _ => format!("`{got}`, expected `{expected}`"),
                };
            }
            (Some(expected), None) => return format!("nothing, expected `{expected}`"),
            (None, Some(got)) => return format!("`{got}`, expected nothing more"),
        }
    }
}
