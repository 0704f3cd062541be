//! Sessions over sizes spread over a range: which size comes next, and what was seen of each reply.
//!
//! Every request is rendered beforehand, and each slot has one check that is set to its next size, so that nothing is
//! allocated while a window runs. The specification defines the sizes and their order; single requests are noted only
//! if the loop reports their ends.

use std::sync::Arc;

use weighbridge_load::failures::Failures;
use weighbridge_load::request::Rendered;
use weighbridge_load::session::{Check, Fate, Reply, RequestId, Seen, Sessions, Step};
use weighbridge_model::experiment::SizeSpread;
use weighbridge_model::quantity::Bytes;

use crate::checks::explain::{Explain, FailureLog, Noted};
use crate::checks::{PongCheck, Reset, SeenReply};

/// Requests of a window for whose notes memory is reserved from the start.
pub(crate) const SET_ASIDE: usize = 16_384;

/// Most sizes that are requested and compared before anything is timed.
const COMPARED: usize = 12;

/// The kind of reply to a sized request, by the workload's operation and protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SizedReply {
    /// A body over HTTP.
    Pong,
    /// A body in a message of gRPC.
    PongMessage,
    /// A relay's measurement.
    Mping,
}

/// Sizes with their requests, ascending.
#[derive(Debug)]
pub(crate) struct Spread {
    spec: SizeSpread,
    sizes: Vec<Bytes>,
    rendered: Vec<Rendered>,
    reply: SizedReply,
}

impl Spread {
    /// Every size of `spec` with the request that asks for it.
    pub fn new<E>(
        spec: SizeSpread,
        reply: SizedReply,
        render: impl Fn(Bytes) -> Result<Rendered, E>,
    ) -> Result<Self, E> {
        let sizes = spec.sizes();
        let rendered = sizes.iter().map(|size| render(*size)).collect::<Result<_, _>>()?;
        Ok(Self { spec, sizes, rendered, reply })
    }

    /// A sample of sizes for comparing answers: both ends and some between, ascending.
    pub fn compared(spec: &SizeSpread) -> Vec<Bytes> {
        let sizes = spec.sizes();
        let last = sizes.len() - 1;
        let steps = COMPARED.min(sizes.len()) - 1;
        (0..=steps).map(|step| sizes[(last * step).checked_div(steps).unwrap_or(0)]).collect()
    }
}

/// A check that is set to the requested size before each reply.
pub(crate) trait SizedCheck: Reset {
    /// The next reply is to a request for `size` bytes.
    fn begin(&mut self, size: Bytes);
}

impl SizedCheck for PongCheck {
    fn begin(&mut self, size: Bytes) {
        *self = Self::new(size);
    }
}

impl<C: SizedCheck + Explain> SizedCheck for Noted<C> {
    fn begin(&mut self, size: Bytes) {
        self.inner().begin(size);
    }
}

/// Where in the order the next request stands.
#[derive(Debug, Default)]
struct PassageCursor {
    /// Which passage `order` is of.
    passage: u64,
    /// The next size's position in it.
    at: usize,
    /// How often that size was already requested.
    repeated: u32,
    order: Vec<u32>,
}

/// Sessions of one request each, drawn from one order that all slots share.
pub(crate) struct SpreadSessions {
    of: Arc<Spread>,
    cursor: PassageCursor,
    slots: Vec<Box<dyn SizedCheck + Send>>,
    seen: Vec<Seen>,
    failures: FailureLog,
}

impl SpreadSessions {
    pub fn new(of: Arc<Spread>) -> Self {
        let mut cursor = PassageCursor::default();
        of.spec.order(0, &mut cursor.order);
        Self {
            of,
            cursor,
            slots: Vec::new(),
            seen: Vec::with_capacity(SET_ASIDE),
            failures: FailureLog::default(),
        }
    }

    fn check_of(&self) -> Box<dyn SizedCheck + Send> {
        self.of.reply.check(self.of.sizes[0], &self.failures)
    }

    /// Returns the index of the next size and moves on.
    fn advance(&mut self) -> u32 {
        let PassageCursor { passage, at, repeated, order } = &mut self.cursor;
        if *at == order.len() {
            *passage += 1;
            *at = 0;
            self.of.spec.order(*passage, order);
        }
        let size = order[*at];
        *repeated += 1;
        if *repeated == self.of.spec.repetitions {
            (*repeated, *at) = (0, *at + 1);
        }
        size
    }
}

impl Sessions for SpreadSessions {
    fn prepare(&mut self, slots: u32) {
        self.slots = (0..slots).map(|_| self.check_of()).collect();
    }

    fn rewind(&mut self, substream: u64) {
        let position = SizeSpread::position(substream);
        let repetitions = u64::from(self.of.spec.repetitions);
        let passage = self.of.spec.passage();
        let within = position % passage;
        let cursor = &mut self.cursor;
        if cursor.passage != position / passage {
            cursor.passage = position / passage;
            self.of.spec.order(cursor.passage, &mut cursor.order);
        }
        cursor.at = (within / repetitions) as usize;
        cursor.repeated = (within % repetitions) as u32;
        self.seen.clear();
        self.failures.take();
    }

    fn open(&mut self, slot: u32) -> RequestId {
        let size = self.advance();
        self.slots[slot as usize].begin(self.of.sizes[size as usize]);
        RequestId(size)
    }

    fn next(&mut self, _slot: u32, _reply: &Reply) -> Step {
        Step::End
    }

    fn request(&self, id: RequestId) -> &Rendered {
        &self.of.rendered[id.0 as usize]
    }

    fn check(&mut self, slot: u32) -> &mut dyn Check {
        self.slots[slot as usize].as_mut()
    }

    fn over(&mut self, slot: u32, request: RequestId, fate: Fate) {
        let size = self.of.sizes[request.0 as usize];
        let SeenReply { status, length, relayed } = match fate {
            Fate::Sent => self.slots[slot as usize].seen(),
            Fate::NeverSent => SeenReply::default(),
        };
        self.seen.push(Seen { size, status, length, relayed });
    }

    fn take_seen(&mut self) -> Vec<Seen> {
        // The reserved memory is kept for the next window.
        let taken = self.seen.clone();
        self.seen.clear();
        taken
    }

    fn take_failures(&mut self) -> Failures {
        self.failures.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weighbridge_load::Framing;
    use weighbridge_load::framer::Head;
    use weighbridge_load::request::Request;
    use weighbridge_model::experiment::{SizeCount, Spacing};
    use weighbridge_model::id::OperationId;
    use weighbridge_model::record::{ErrorKind, Outcome};

    fn sessions(number: u32, repetitions: u32) -> SpreadSessions {
        let (min, max) = (Bytes::new(4), Bytes::new(10_003));
        let (count, spacing) = (SizeCount::Number(number), Spacing::Linear);
        let spec = SizeSpread { min, max, spacing, count, repetitions, seed: 5 };
        let request = |size: Bytes| Request {
            method: "GET".to_owned(),
            target: format!("/pong/{}", size.get()),
            authority: "h".to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
        };
        let render = |size| Framing::Http1.render(OperationId(0), &request(size));
        let spread = Spread::new(spec, SizedReply::Pong, render).expect("plain requests");
        let mut sessions = SpreadSessions::new(Arc::new(spread));
        sessions.prepare(2);
        sessions
    }

    fn read(sessions: &mut SpreadSessions, from: u64, count: usize) -> Vec<u32> {
        sessions.rewind(SizeSpread::stream(9, from));
        (0..count).map(|at| sessions.open(at as u32 % 2).0).collect()
    }

    #[test]
    fn windows_continue_one_order_and_passages_have_every_size() {
        let mut sessions = sessions(100, 1);
        let whole = read(&mut sessions, 0, 300);
        for from in [0, 1, 99, 100, 150, 250] {
            assert_eq!(
                read(&mut sessions, from, 50),
                whole[from as usize..from as usize + 50],
                "from {from}"
            );
        }
        for passage in whole.chunks(100) {
            let mut sorted = passage.to_vec();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..100).collect::<Vec<u32>>());
        }
        assert_ne!(whole[..100], whole[100..200]);
    }

    #[test]
    fn repetitions_are_in_a_row_wherever_a_window_begins() {
        let mut sessions = sessions(10, 3);
        let whole = read(&mut sessions, 0, 60);
        assert!(whole.chunks(3).all(|three| three.iter().all(|size| *size == three[0])), "{whole:?}");
        for from in 0..40 {
            assert_eq!(read(&mut sessions, from, 20), whole[from as usize..from as usize + 20]);
        }
    }

    #[test]
    fn what_was_seen_belongs_to_the_ended_request() {
        let mut sessions = sessions(10, 1);
        sessions.rewind(0);
        let (first, second) = (sessions.open(0), sessions.open(1));
        let sizes = sessions.of.sizes.clone();
        let size = |id: RequestId| sizes[id.0 as usize];
        let whole = [&b"p"[..], &vec![b'o'; size(first).get() as usize - 3], b"ng"].concat();
        sessions.check(0).head(&Head { status: 200, fields: &[] });
        sessions.check(0).data(&whole);
        assert_eq!(sessions.check(0).done(), Outcome::Ok);
        sessions.over(0, first, Fate::Sent);
        sessions.check(1).head(&Head { status: 500, fields: &[] });
        sessions.check(1).data(b"oh");
        assert_eq!(sessions.check(1).done(), Outcome::Error(ErrorKind::Status));
        sessions.over(1, second, Fate::Sent);
        let third = sessions.open(0);
        sessions.over(0, third, Fate::Sent);
        let fourth = sessions.open(0);
        // The slot went on before its last request was reported.
        let fifth = sessions.open(0);
        sessions.over(0, fourth, Fate::NeverSent);
        sessions.over(0, fifth, Fate::Sent);
        let none = |size| Seen { size, status: None, length: Bytes::new(0), relayed: None };
        assert_eq!(
            sessions.take_seen(),
            [
                Seen { status: Some(200), length: size(first), ..none(size(first)) },
                Seen { status: Some(500), length: Bytes::new(2), ..none(size(second)) },
                none(size(third)),
                none(size(fourth)),
                none(size(fifth)),
            ]
        );
        assert_eq!(sessions.take_seen(), []);
    }

    #[test]
    fn what_is_compared_has_both_ends() {
        for (number, compared) in [(1, 1), (2, 2), (12, 12), (13, 12), (500, 12)] {
            let sessions = sessions(number, 1);
            let found = Spread::compared(&sessions.of.spec);
            assert_eq!(found.len(), compared);
            assert_eq!((found.first(), found.last()), (sessions.of.sizes.first(), sessions.of.sizes.last()));
            assert!(found.windows(2).all(|two| two[0] < two[1]));
        }
    }
}
