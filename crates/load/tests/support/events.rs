//! A framer's events as owned values, from bytes that arrive whole or in pieces.

// Each test binary uses a part of it.
#![allow(dead_code)]

use weighbridge_load::framer::{Event, Framer, In, Out};
use weighbridge_load::request::Rendered;
use weighbridge_model::record::{ErrorKind, Outcome};

/// An event as an owned value; the pieces of one reply's data are joined, since their boundaries mean nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    Head(u64, u16),
    Data(u64, Vec<u8>),
    Value(u64, u16),
    Late(u64, u16),
    Done(u64, Outcome),
    Broken(ErrorKind),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    Eof,
    Nothing,
}

/// Most bytes that any framer here may keep: its longest unit.
const KEPT: usize = weighbridge_load::framer::UNIT_LIMIT;

fn note(seen: &mut Vec<Seen>, event: Event<'_>) {
    let event = match event {
        Event::Head(id, head) => {
            assert!(head.fields.is_empty());
            Seen::Head(id, head.status)
        }
        Event::Data(id, bytes) => {
            assert!(!bytes.is_empty(), "a piece of nothing");
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
        Event::Broken(kind) => Seen::Broken(kind),
        Event::Message(..) | Event::Refused(_) | Event::Drain => {
            panic!("neither messages nor a drain are known here")
        }
    };
    seen.push(event);
}

/// Starts every request on one connection, then passes the pieces as reads would.
pub fn run<'p>(
    framer: &mut dyn Framer,
    requests: &[Rendered],
    pieces: impl Iterator<Item = &'p [u8]>,
    after: After,
) -> Vec<Seen> {
    let (mut out, mut seen, mut rest) = (Out::default(), Vec::new(), Vec::new());
    for (id, request) in (0..).zip(requests) {
        framer.start(id, request, &mut out).expect("room");
    }
    for piece in pieces {
        rest.extend_from_slice(piece);
        let mut input = In::new(&rest);
        framer.receive(&mut input, &mut out, &mut |event| note(&mut seen, event));
        let consumed = input.consumed();
        rest.drain(..consumed);
        if matches!(seen.last(), Some(Seen::Broken(_))) {
            assert_eq!(framer.room(), 0);
            return seen;
        }
        assert!(rest.len() < KEPT, "{} bytes are kept back", rest.len());
    }
    if after == After::Eof {
        framer.eof(&mut |event| note(&mut seen, event));
        assert_eq!(framer.room(), 0);
    }
    seen
}

/// One whole reply as status, value and late status; `None` if the reply is not whole.
pub fn reply(seen: &[Seen], id: u64) -> Option<(u16, String, Option<u16>)> {
    let of_id = |seen: &&Seen| match seen {
        Seen::Head(of, _) | Seen::Data(of, _) | Seen::Late(of, _) | Seen::Done(of, _) => *of == id,
        // Of batches, which are compared event by event.
        Seen::Value(..) | Seen::Broken(_) => false,
    };
    let (mut status, mut value, mut late) = (None, Vec::new(), None);
    for event in seen.iter().filter(of_id) {
        match event {
            Seen::Head(_, head) => {
                assert_eq!(status.replace(*head), None, "one head");
                assert!(value.is_empty(), "the head comes first");
            }
            Seen::Data(_, data) => value.extend_from_slice(data),
            Seen::Late(_, head) => assert_eq!(late.replace(*head), None, "one trailer"),
            Seen::Done(_, Outcome::Ok) => {
                let value = String::from_utf8_lossy(&value).into_owned();
                return Some((status.expect("a head before the end"), value, late));
            }
            Seen::Value(..) | Seen::Done(..) | Seen::Broken(_) => return None,
        }
    }
    None
}

/// Asserts that the bytes mean the same however they are cut.
pub fn assert_same_however_cut(
    framer: &dyn Fn() -> Box<dyn Framer>,
    requests: &[Rendered],
    bytes: &[u8],
    after: After,
    cuts: &[usize],
) {
    let run = |pieces: &mut dyn Iterator<Item = &[u8]>| run(framer().as_mut(), requests, pieces, after);
    let expected = run(&mut std::iter::once(bytes));
    assert_eq!(run(&mut bytes.chunks(1)), expected, "byte by byte");
    for cut in 0..=bytes.len().min(200) {
        let (a, b) = bytes.split_at(cut);
        assert_eq!(run(&mut [a, b].into_iter()), expected, "cut at {cut}");
    }
    let mut at: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
    at.extend([0, bytes.len()]);
    at.sort_unstable();
    assert_eq!(run(&mut at.windows(2).map(|two| &bytes[two[0]..two[1]])), expected, "cut at {at:?}");
}
