//! HTTP/1.1 replies as the generator reads them. The events are the same however the bytes are cut; every request ends
//! once; no more than one unit is ever kept back; and no reply shorter than its `Content-Length` is a good one.
//!
//! The first three bytes choose the requests (how many, HEAD or GET, end of the connection or not, an endless peer) and the
//! lengths of the pieces; the rest is what the peer sends.

use weighbridge_load::Framing;
use weighbridge_load::framer::{Event, Framer, In, Out, UNIT_LIMIT};
use weighbridge_load::http1::Http1;
use weighbridge_load::request::{Rendered, ReplyShape, Request};
use weighbridge_model::id::OperationId;
use weighbridge_model::record::{ErrorKind, Outcome};

/// Bits of the first byte; the two lowest count the requests.
const HEAD: u8 = 4;
const EOF: u8 = 8;
const ENDLESS: u8 = 16;

/// An event without its borrow; data of one reply is joined, since its borders mean nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Seen {
    Head { id: u64, status: u16, lengths: Vec<Vec<u8>>, coded: bool },
    Data(u64, Vec<u8>),
    Done(u64, Outcome),
    Drain,
    Broken,
}

/// Reads all but the first three bytes of `data` as replies.
pub fn check(data: &[u8]) {
    let [flags, one, other, bytes @ ..] = data else { return };
    let requests: Vec<Rendered> =
        (0..=(flags & 3)).map(|at| rendered(at == 0 && flags & HEAD != 0)).collect();
    let ends = flags & EOF != 0;

    let whole = run(&requests, std::iter::once(bytes), ends);
    assert_eq!(run(&requests, Pieces { rest: bytes, next: [*one, *other] }, ends), whole, "cut in pieces");
    assert_eq!(run(&requests, bytes.chunks(1), ends), whole, "byte by byte");

    each_request_ends_once(&whole, &requests, ends);
    no_good_reply_is_cut_short(&whole, &requests);
    let body: usize =
        whole.iter().map(|seen| if let Seen::Data(_, body) = seen { body.len() } else { 0 }).sum();
    assert!(body <= bytes.len(), "more body than bytes");
    if flags & ENDLESS != 0 && !bytes.is_empty() {
        let tail = &bytes[bytes.len() - bytes.len().min(64)..];
        let filler = tail.repeat(1 + 4096 / tail.len());
        let endless =
            std::iter::once(bytes).chain(std::iter::repeat_n(&filler[..], 2 * UNIT_LIMIT / filler.len()));
        run(&requests, endless, false);
    }
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

fn rendered(head: bool) -> Rendered {
    let request = Request {
        method: if head { "HEAD" } else { "GET" }.to_owned(),
        target: "/".to_owned(),
        authority: "localhost".to_owned(),
        ..Request::default()
    };
    Framing::Http1.render(OperationId(0), &request).expect("a plain request")
}

/// Hands the pieces over as a connection would, and watches what is kept back.
fn run<'p>(requests: &[Rendered], pieces: impl Iterator<Item = &'p [u8]>, ends: bool) -> Vec<Seen> {
    let (mut framer, mut out, mut seen) = (Http1::new(), Out::default(), Vec::new());
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
        Event::Head(id, head) => {
            let named = |name: &'static str| {
                head.fields.iter().filter(move |field| field.name.eq_ignore_ascii_case(name))
            };
            let lengths = named("content-length").map(|field| field.value.to_vec()).collect();
            Seen::Head { id, status: head.status, lengths, coded: named("transfer-encoding").count() > 0 }
        }
        Event::Data(id, bytes) => {
            if let Some(Seen::Data(last, joined)) = seen.last_mut()
                && *last == id
            {
                joined.extend_from_slice(bytes);
                return;
            }
            Seen::Data(id, bytes.to_vec())
        }
        Event::Message(..) | Event::Value(..) | Event::Trailers(..) => {
            panic!("HTTP/1.1 reports neither messages, values of keys nor trailers")
        }
        Event::Done(id, outcome) => Seen::Done(id, outcome),
        // An end like any other here.
        Event::Refused(id) => Seen::Done(id, Outcome::Error(ErrorKind::Reset)),
        Event::Drain => Seen::Drain,
        Event::Broken(_) => Seen::Broken,
    };
    seen.push(event);
}

/// Replies end in the order of their requests, each once; all of them where the connection ends unbroken.
fn each_request_ends_once(seen: &[Seen], requests: &[Rendered], ends: bool) {
    let done: Vec<u64> =
        seen.iter().filter_map(|seen| if let Seen::Done(id, _) = seen { Some(*id) } else { None }).collect();
    assert!(done.iter().copied().eq(0..done.len() as u64), "{seen:?}");
    assert!(done.len() <= requests.len(), "{seen:?}");
    let broken = seen.contains(&Seen::Broken);
    assert!(!ends || broken || done.len() == requests.len(), "{seen:?}");
    let mut open = 0;
    for event in seen {
        match event {
            Seen::Head { id, .. } | Seen::Data(id, _) => assert_eq!(*id, open, "{seen:?}"),
            Seen::Done(id, _) => open = id + 1,
            Seen::Drain | Seen::Broken => {}
        }
    }
}

/// A reply that states one length, is not coded and may have a body is good only with exactly that much of it.
fn no_good_reply_is_cut_short(seen: &[Seen], requests: &[Rendered]) {
    for event in seen {
        let Seen::Done(id, Outcome::Ok) = event else { continue };
        let head = seen.iter().find_map(|seen| match seen {
            Seen::Head { id: of, status, lengths, coded } if of == id => Some((*status, lengths, *coded)),
            _ => None,
        });
        let (status, lengths, coded) = head.expect("no good reply without a head");
        let body: usize = seen
            .iter()
            .map(|s| {
                if let Seen::Data(of, b) = s
                    && of == id
                {
                    b.len()
                } else {
                    0
                }
            })
            .sum();
        let bodiless = requests[*id as usize].reply() == ReplyShape::NoBody || matches!(status, 204 | 304);
        match &lengths[..] {
            _ if bodiless => assert_eq!(body, 0, "{seen:?}"),
            [one] if !coded => {
                // A list of equal lengths counts once (RFC 9110, 8.6).
                let text = String::from_utf8_lossy(one);
                let stated = text.split(',').map(str::trim).find(|item| !item.is_empty());
                assert_eq!(stated.map(str::parse), Some(Ok(body)), "{seen:?}");
            }
            _ => {}
        }
    }
}
