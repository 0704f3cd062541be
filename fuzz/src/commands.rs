//! What the checks of memcached's and Redis' replies share: a framer's events from bytes cut in any way, and what holds
//! for every protocol whose replies come in the order of the requests.

use weighbridge_load::framer::{Event, Framer, In, Out, UNIT_LIMIT};
use weighbridge_load::keyed::KeyedDialect;
use weighbridge_load::request::Rendered;
use weighbridge_model::id::OperationId;
use weighbridge_model::record::Outcome;

/// Keys of a batch.
const KEYS: [&[u8]; 3] = [b"k", b"l", b"m"];

/// An event without its borrow; data of one reply is joined, since its borders mean nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Seen {
    Head(u64, u16),
    Data(u64, Vec<u8>),
    Value(u64, u16),
    Late(u64, u16),
    Done(u64, Outcome),
    Broken,
}

/// Reads `bytes` as replies to `requests`: whole, in pieces of two lengths in turn and byte by byte; returns what was
/// seen, which must be the same each time.
pub(crate) fn read_however_cut<C: Framer>(
    framer: impl Fn() -> C,
    requests: &[Rendered],
    bytes: &[u8],
    (lengths, ends): ([u8; 2], bool),
) -> Vec<Seen> {
    let whole = run(framer(), requests, std::iter::once(bytes), ends);
    let pieces = Pieces { rest: bytes, next: lengths };
    assert_eq!(run(framer(), requests, pieces, ends), whole, "cut in pieces");
    assert_eq!(run(framer(), requests, bytes.chunks(1), ends), whole, "byte by byte");
    each_request_ends_once(&whole, requests, ends);
    values_rise(&whole);
    whole
}

/// Pieces of two lengths in turn.
struct Pieces<'a> {
    rest: &'a [u8],
    next: [u8; 2],
}

impl<'a> Iterator for Pieces<'a> {
    type Item = &'a [u8];
    fn next(&mut self) -> Option<&'a [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        let (piece, rest) = self.rest.split_at(self.rest.len().min(1 + usize::from(self.next[0])));
        self.rest = rest;
        self.next.reverse();
        Some(piece)
    }
}

/// Hands the pieces over as a connection would, and watches what is kept back.
fn run<'p>(
    mut framer: impl Framer,
    requests: &[Rendered],
    pieces: impl Iterator<Item = &'p [u8]>,
    ends: bool,
) -> Vec<Seen> {
    let (mut out, mut seen) = (Out::default(), Vec::new());
    for (id, request) in (0..).zip(requests) {
        framer.start(id, request, &mut out).expect("room for a few");
    }
    let mut kept: Vec<u8> = Vec::new();
    for piece in pieces {
        kept.extend_from_slice(piece);
        let mut input = In::new(&kept);
        framer.receive(&mut input, &mut out, &mut |event| note(&mut seen, event));
        let consumed = input.consumed();
        kept.drain(..consumed);
        if seen.last() == Some(&Seen::Broken) {
            assert_eq!(framer.room(), 0, "a broken connection takes a request");
            return seen;
        }
        assert!(kept.len() < UNIT_LIMIT, "{} bytes are kept back", kept.len());
    }
    if ends {
        framer.eof(&mut |event| note(&mut seen, event));
        assert_eq!(framer.room(), 0, "a closed connection takes a request");
    }
    seen
}

fn note(seen: &mut Vec<Seen>, event: Event<'_>) {
    let event = match event {
        Event::Head(id, head) => Seen::Head(id, head.status),
        Event::Data(id, bytes) => {
            if let Some(Seen::Data(last, joined)) = seen.last_mut()
                && *last == id
            {
                joined.extend_from_slice(bytes);
                return;
            }
            Seen::Data(id, bytes.to_vec())
        }
        Event::Value(id, index) => Seen::Value(id, index),
        Event::Trailers(id, head) => Seen::Late(id, head.status),
        Event::Done(id, outcome) => Seen::Done(id, outcome),
        Event::Broken(_) => Seen::Broken,
        Event::Message(..) | Event::Refused(_) | Event::Drain => {
            panic!("neither messages nor a drain are known here")
        }
    };
    seen.push(event);
}

/// Indices of a reply's values rise.
fn values_rise(seen: &[Seen]) {
    let mut last = None;
    for event in seen {
        match event {
            Seen::Head(..) => last = None,
            Seen::Value(_, index) => {
                assert!(last < Some(*index) && usize::from(*index) < KEYS.len(), "{seen:?}");
                last = Some(*index);
            }
            _ => {}
        }
    }
}

/// Replies end in the order of their requests, each once and a good one with a head; all of them where the connection
/// ends unbroken.
fn each_request_ends_once(seen: &[Seen], requests: &[Rendered], ends: bool) {
    let (mut open, mut heads) = (0, 0);
    for event in seen {
        match event {
            Seen::Head(id, _) => {
                assert_eq!((*id, heads), (open, 0), "{seen:?}");
                heads = 1;
            }
            Seen::Data(id, _) | Seen::Value(id, _) | Seen::Late(id, _) => {
                assert_eq!((*id, heads), (open, 1), "{seen:?}")
            }
            Seen::Done(id, outcome) => {
                assert_eq!(*id, open, "{seen:?}");
                assert!(*outcome != Outcome::Ok || heads == 1, "{seen:?}");
                (open, heads) = (open + 1, 0);
            }
            Seen::Broken => {}
        }
    }
    assert!(open <= requests.len() as u64, "{seen:?}");
    assert!(!ends || seen.contains(&Seen::Broken) || open == requests.len() as u64, "{seen:?}");
}

/// Bytes of values told.
pub(crate) fn told(seen: &[Seen]) -> usize {
    seen.iter().map(|event| if let Seen::Data(_, data) = event { data.len() } else { 0 }).sum()
}

/// A get of three keys.
pub(crate) fn batch(dialect: &KeyedDialect) -> Rendered {
    let mut buffer = dialect.buffer();
    dialect.fill_batch(OperationId(0), KEYS.into_iter(), &mut buffer);
    buffer.rendered().clone()
}
