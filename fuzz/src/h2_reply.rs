//! HTTP/2 replies as the generator reads them. The events, and what is written back, are the same however the bytes are
//! cut; every request ends at most once and is not heard of afterwards; a good reply has the length it announced; and
//! neither what is kept back nor what is owed grows with what a peer sends.
//!
//! The first three bytes choose the requests (plain, HEAD, a long body, a call), whether the connection ends, and the
//! lengths of the pieces; the rest is what the server sends. `F` as the fourth byte means that the server's SETTINGS come
//! first and the rest is frames.

use weighbridge_load::Framing;
use weighbridge_load::framer::{Event, Framer, In, Out, UNIT_LIMIT};
use weighbridge_load::h2::{Http2, Http2Settings};
use weighbridge_load::request::{Call, Rendered, ReplyShape, Request, Sending};
use weighbridge_model::id::OperationId;
use weighbridge_model::record::{ErrorKind, Outcome};

/// Bits of the first byte; the two lowest count the requests.
const EOF: u8 = 8;
const CALLS: u8 = 16;

/// Most bytes that wait to be written after one piece of a few kilobytes: bodies aside, a thousand acknowledgements.
const OWED: usize = 64 * 1024 + 100_000;

/// Most bytes that are played: no more than a thousand frames to be acknowledged. Beyond, it matters when they are read.
const MOST: usize = 9 * 1000;

/// An event without its borrow; data of one reply is joined, since its borders mean nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Seen {
    Head { id: u64, status: u16, lengths: Vec<Vec<u8>> },
    Data(u64, Vec<u8>),
    Message(u64, u32),
    Trailers(u64),
    Done(u64, Outcome),
    Drain,
    Broken,
}

/// Plays all but the first three bytes of `data` as a server.
pub fn check(data: &[u8]) {
    let [flags, one, other, bytes @ ..] = data else { return };
    let bytes = &bytes[..bytes.len().min(MOST)];
    let requests: Vec<Rendered> = (0..=(flags & 3)).map(|at| request(at, flags & CALLS != 0)).collect();
    let ends = flags & EOF != 0;
    let bytes = match bytes {
        [b'F', frames @ ..] => [&[0, 0, 0, 4, 0, 0, 0, 0, 0], frames].concat(),
        bytes => bytes.to_vec(),
    };

    let whole = run(&requests, std::iter::once(&bytes[..]), ends);
    assert_eq!(run(&requests, bytes.chunks(1), ends), whole, "byte by byte");
    let pieces = bytes.chunks(1 + usize::from(*one)).flat_map(|piece| piece.chunks(1 + usize::from(*other)));
    assert_eq!(run(&requests, pieces, ends), whole, "cut in pieces");

    let (seen, _) = whole;
    each_request_ends_once(&seen, &requests, ends);
    no_good_reply_has_another_length(&seen, &requests);
}

fn request(at: u8, calls: bool) -> Rendered {
    let framing = Framing::Http2(Http2Settings::default());
    if calls {
        let messages = [b"one".to_vec(), vec![0; 70_000], Vec::new()];
        let sending = if at.is_multiple_of(2) { Sending::Alternating } else { Sending::Together };
        let call =
            Call { path: "/a.B/C", authority: "localhost", messages: &messages, sending, ..Call::default() };
        return framing.render_call(&call).expect("a plain call");
    }
    let (method, body) = match at {
        0 => ("GET", 0),
        1 => ("HEAD", 0),
        _ => ("POST", 70_000),
    };
    let request = Request {
        method: method.to_owned(),
        target: "/".to_owned(),
        authority: "localhost".to_owned(),
        body: vec![b'x'; body],
        ..Request::default()
    };
    framing.render(OperationId(0), &request).expect("a plain request")
}

/// Hands the pieces over as a connection would, and watches what is kept back and owed.
fn run<'p>(
    requests: &[Rendered],
    pieces: impl Iterator<Item = &'p [u8]>,
    ends: bool,
) -> (Vec<Seen>, Vec<u8>) {
    let (mut framer, mut out, mut seen) = (Http2::new(Http2Settings::default()), Out::default(), Vec::new());
    for (id, request) in (0..).zip(requests) {
        framer.start(id, request, &mut out).expect("room for a few");
    }
    out.clear();
    let (mut kept, mut written): (Vec<u8>, Vec<u8>) = (Vec::new(), Vec::new());
    for piece in pieces {
        kept.extend_from_slice(piece);
        let mut input = In::new(&kept);
        framer.receive(&mut input, &mut out, &mut |event| note(&mut seen, event));
        let consumed = input.consumed();
        kept.drain(..consumed);
        assert!(out.pending().len() <= OWED + 3 * 70_000, "{} bytes are owed", out.pending().len());
        if seen.last() == Some(&Seen::Broken) {
            // How much was written before that depends on when it was noticed: nobody will send it.
            assert_eq!(framer.room(), 0, "a broken connection takes a request");
            return (seen, Vec::new());
        }
        written.extend_from_slice(out.pending());
        out.clear();
        assert!(kept.len() < UNIT_LIMIT, "{} bytes are kept back", kept.len());
    }
    if ends {
        framer.eof(&mut |event| note(&mut seen, event));
        assert_eq!(framer.room(), 0, "a closed connection takes a request");
    }
    (seen, written)
}

fn note(seen: &mut Vec<Seen>, event: Event<'_>) {
    let event = match event {
        Event::Head(id, head) => {
            assert!(head.status >= 200, "an interim head");
            for field in head.fields {
                assert!(!field.name.is_empty() && !field.name.bytes().any(|byte| byte.is_ascii_uppercase()));
                assert!(!field.value.iter().any(|byte| matches!(byte, 0 | b'\r' | b'\n')));
            }
            let named = head.fields.iter().filter(|field| field.name == "content-length");
            Seen::Head { id, status: head.status, lengths: named.map(|field| field.value.to_vec()).collect() }
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
        Event::Message(id, count) => Seen::Message(id, count),
        Event::Value(..) => panic!("HTTP/2 has no values of several keys"),
        Event::Trailers(id, _) => Seen::Trailers(id),
        Event::Done(id, outcome) => Seen::Done(id, outcome),
        // An end like any other here.
        Event::Refused(id) => Seen::Done(id, Outcome::Error(ErrorKind::Reset)),
        Event::Drain => Seen::Drain,
        Event::Broken(_) => Seen::Broken,
    };
    seen.push(event);
}

fn id_of(seen: &Seen) -> Option<u64> {
    match seen {
        Seen::Head { id, .. }
        | Seen::Data(id, _)
        | Seen::Message(id, _)
        | Seen::Trailers(id)
        | Seen::Done(id, _) => Some(*id),
        Seen::Drain | Seen::Broken => None,
    }
}

/// Of each request: one head before all else, one end behind it; all end where the connection does, unbroken.
fn each_request_ends_once(seen: &[Seen], requests: &[Rendered], ends: bool) {
    let broken = seen.contains(&Seen::Broken);
    for id in 0..requests.len() as u64 {
        let of_it: Vec<&Seen> = seen.iter().filter(|seen| id_of(seen) == Some(id)).collect();
        let done = of_it.iter().position(|seen| matches!(seen, Seen::Done(..)));
        assert!(done.is_none_or(|at| at + 1 == of_it.len()), "{of_it:?}");
        assert!(!ends || broken || done.is_some(), "{seen:?}");
        let heads = of_it.iter().filter(|seen| matches!(seen, Seen::Head { .. })).count();
        let first =
            matches!(of_it.first(), None | Some(Seen::Head { .. } | Seen::Done(_, Outcome::Error(_))));
        assert!(heads <= 1 && first, "{of_it:?}");
    }
    assert!(seen.iter().all(|seen| id_of(seen).is_none_or(|id| id < requests.len() as u64)), "{seen:?}");
    assert!(seen.iter().filter(|seen| **seen == Seen::Drain).count() <= 1, "{seen:?}");
}

/// A good plain reply that states its length and may have a body has exactly that much of it.
fn no_good_reply_has_another_length(seen: &[Seen], requests: &[Rendered]) {
    for event in seen {
        let Seen::Done(id, Outcome::Ok) = event else { continue };
        let request = &requests[*id as usize];
        let head = seen.iter().find_map(|seen| match seen {
            Seen::Head { id: of, status, lengths } if of == id => Some((*status, lengths)),
            _ => None,
        });
        let (status, lengths) = head.expect("no good reply without a head");
        let length = |seen: &Seen| match seen {
            Seen::Data(of, bytes) if of == id => bytes.len(),
            _ => 0,
        };
        let body: usize = seen.iter().map(length).sum();
        let bodiless = request.reply() == ReplyShape::NoBody || matches!(status, 204 | 304);
        if bodiless {
            assert_eq!(body, 0, "{seen:?}");
        } else if let ([one], false) = (&lengths[..], request.is_call()) {
            let text = String::from_utf8_lossy(one);
            let stated = text.split(',').map(str::trim).find(|item| !item.is_empty());
            assert_eq!(stated.map(str::parse), Some(Ok(body)), "{seen:?}");
        }
    }
}
