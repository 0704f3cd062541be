//! The HTTP/2 framer against frames written by hand: legal ones in every order, whole and cut anywhere, and one test
//! for each error of a peer.

use crate::support;

use proptest::prelude::*;
use support::http2::{
    END_HEADERS, END_STREAM, PADDED, block, data, frame, framing, goaway, headers, ping, rendered, reset,
    settings, window_update,
};
use weighbridge_load::framer::{Cancel, Event, Framer, In, Out, UNIT_LIMIT};
use weighbridge_load::h2::{Http2, Http2Settings};
use weighbridge_load::request::{Call, Rendered, Sending};
use weighbridge_model::id::OperationId;
use weighbridge_model::quantity::{Nanoseconds, Timestamp};
use weighbridge_model::record::{ErrorKind, Outcome};

const RESET: Outcome = Outcome::Error(ErrorKind::Reset);
const PROTOCOL: Outcome = Outcome::Error(ErrorKind::Protocol);

/// An event as an owned value; the pieces of one reply's data are joined, since their boundaries mean nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Seen {
    Head(u64, u16, Vec<(String, String)>),
    Data(u64, Vec<u8>),
    Message(u64, u32),
    Trailers(u64, u16, Vec<(String, String)>),
    Done(u64, Outcome),
    Refused(u64),
    Drain,
    Broken(ErrorKind),
}

use Seen::{Broken, Data, Done, Drain, Head, Message, Refused, Trailers};

const BROKEN: Seen = Broken(ErrorKind::Protocol);

fn fields(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn note(seen: &mut Vec<Seen>, event: Event<'_>) {
    let own = |head: &weighbridge_load::framer::Head<'_>| {
        let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
        head.fields.iter().map(|field| (field.name.to_owned(), text(field.value))).collect()
    };
    let event = match event {
        Event::Head(id, head) => Head(id, head.status, own(&head)),
        Event::Trailers(id, head) => Trailers(id, head.status, own(&head)),
        Event::Message(id, count) => Message(id, count),
        Event::Value(..) => panic!("HTTP/2 has no values of several keys"),
        Event::Done(id, outcome) => Done(id, outcome),
        Event::Refused(id) => Refused(id),
        Event::Drain => Drain,
        Event::Broken(kind) => Broken(kind),
        Event::Data(id, bytes) => match seen.last_mut() {
            Some(Data(last, joined)) if *last == id => return joined.extend_from_slice(bytes),
            _ => Data(id, bytes.to_vec()),
        },
    };
    seen.push(event);
}

/// A connection to a server played by the test.
struct Side {
    framer: Http2,
    out: Out,
    rest: Vec<u8>,
    seen: Vec<Seen>,
}

impl Side {
    fn new() -> Self {
        Self::with(Http2Settings::default())
    }

    fn with(settings: Http2Settings) -> Self {
        Self { framer: Http2::new(settings), out: Out::default(), rest: Vec::new(), seen: Vec::new() }
    }

    /// A connection that has sent its first requests and received the server's settings.
    fn greeted(requests: &[Rendered]) -> Self {
        let mut side = Self::new();
        for (id, request) in (0..).zip(requests) {
            side.framer.start(id, request, &mut side.out).expect("room");
        }
        side.hear(&settings(&[]));
        assert_eq!(side.seen, []);
        side.written();
        side
    }

    fn hear(&mut self, bytes: &[u8]) -> &[Seen] {
        self.rest.extend_from_slice(bytes);
        let mut input = In::new(&self.rest);
        let seen = &mut self.seen;
        self.framer.receive(&mut input, &mut self.out, &mut |event| note(seen, event));
        let consumed = input.consumed();
        self.rest.drain(..consumed);
        &self.seen
    }

    /// The frames written since the last call.
    fn written(&mut self) -> Vec<(u8, u8, u32, Vec<u8>)> {
        let mut rest = self.out.pending().to_vec();
        self.out.clear();
        if let Some(behind) = rest.strip_prefix(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") {
            rest = behind.to_vec();
        }
        let mut frames = Vec::new();
        while let Some([a, b, c, kind, flags, id @ ..]) = rest.first_chunk::<9>().copied() {
            let length = u32::from_be_bytes([0, a, b, c]) as usize;
            frames.push((kind, flags, u32::from_be_bytes(id), rest[9..9 + length].to_vec()));
            rest.drain(..9 + length);
        }
        assert!(rest.is_empty(), "whole frames");
        frames
    }
}

fn get() -> Rendered {
    rendered("GET", "/", b"")
}

fn post(length: usize) -> Rendered {
    rendered("POST", "/", &vec![b'x'; length])
}

fn call(messages: &[&[u8]], sending: Sending) -> Rendered {
    let messages: Vec<Vec<u8>> = messages.iter().map(|message| message.to_vec()).collect();
    let call =
        Call { path: "/a.B/C", authority: "localhost", messages: &messages, sending, ..Call::default() };
    framing().render_call(&call).expect("renders")
}

/// The events that a connection with these requests reports for `frames`.
#[track_caller]
fn heard(requests: &[Rendered], frames: &[Vec<u8>]) -> Vec<Seen> {
    let mut side = Side::greeted(requests);
    side.hear(&frames.concat()).to_vec()
}

const OK: &[(&str, &str)] = &[(":status", "200")];

fn ok(id: u64) -> Seen {
    Head(id, 200, Vec::new())
}

#[test]
fn the_preface_comes_first_and_once_whatever_is_written_first() {
    let mut started = Side::new();
    started.framer.start(0, &get(), &mut started.out).expect("room");
    assert!(started.out.pending().starts_with(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\x12\x04\0\0\0\0\0"));
    let frames = started.written();
    let kinds: Vec<u8> = frames.iter().map(|(kind, ..)| *kind).collect();
    assert_eq!(kinds, [4, 8, 1], "SETTINGS, WINDOW_UPDATE, HEADERS");
    assert_eq!(frames[0].3, [[0, 2, 0, 0, 0, 0], [0, 4, 0, 16, 0, 0], [0, 6, 0, 4, 0, 0]].concat());
    assert_eq!(frames[1].3, (16u32 * 1024 * 1024 - 65_535).to_be_bytes());
    assert_eq!((frames[2].1, frames[2].2), (END_STREAM | END_HEADERS, 1));
    // A server that speaks first is acknowledged after the preface.
    let mut spoken_to = Side::new();
    spoken_to.hear(&settings(&[]));
    assert!(spoken_to.out.pending().starts_with(b"PRI * "));
    assert_eq!(spoken_to.written().last(), Some(&(4, 1, 0, Vec::new())));
    spoken_to.framer.start(0, &get(), &mut spoken_to.out).expect("room");
    assert!(!spoken_to.out.pending().starts_with(b"PRI * "));
}

#[test]
fn replies_come_in_any_order_with_every_kind_of_end() {
    let requests = [get(), get(), get(), rendered("HEAD", "/", b""), get()];
    let length: &[(&str, &str)] = &[(":status", "200"), ("content-length", "5")];
    let seen = heard(
        &requests,
        &[
            headers(0, 3, length),
            headers(0, 1, OK),
            data(0, 3, b"he"),
            data(END_STREAM, 1, b"first"),
            data(END_STREAM, 3, b"llo"),
            headers(END_STREAM, 7, length),
            headers(END_STREAM, 5, &[(":status", "204")]),
            headers(0, 9, OK),
            headers(END_STREAM, 9, &[("x-sum", "0")]),
        ],
    );
    let announced = fields(&length[1..]);
    assert_eq!(
        seen,
        [
            Head(1, 200, announced.clone()),
            ok(0),
            Data(1, b"he".to_vec()),
            Data(0, b"first".to_vec()),
            Done(0, Outcome::Ok),
            Data(1, b"llo".to_vec()),
            Done(1, Outcome::Ok),
            Head(3, 200, announced),
            Done(3, Outcome::Ok),
            Head(2, 204, Vec::new()),
            Done(2, Outcome::Ok),
            ok(4),
            Trailers(4, 200, fields(&[("x-sum", "0")])),
            Done(4, Outcome::Ok),
        ]
    );
}

#[test]
fn padding_priorities_continuations_and_foreign_frames_change_nothing() {
    let whole = block(&[(":status", "200"), ("x-long", &"l".repeat(100))]);
    let (first, rest) = whole.split_at(20);
    let (second, third) = rest.split_at(0);
    // Two bytes of padding, five of priority.
    let begin = [&[2, 0, 0, 0, 0, 7], first, &[0, 0]].concat();
    let seen = heard(
        &[get()],
        &[
            frame(0xfa, 0xff, 1, b"what may this be"),
            frame(2, 0, 1, &[0, 0, 0, 0, 16]),
            frame(1, PADDED | 0x20, 1, &begin),
            frame(9, 0, 1, second),
            frame(9, END_HEADERS, 1, third),
            data(PADDED, 1, b"\x03he\0\0\0"),
            data(PADDED, 1, b"\x02\0\0"),
            data(PADDED, 1, b"\x00llo"),
            data(PADDED | END_STREAM, 1, b"\x04\0\0\0\0"),
        ],
    );
    let head = Head(0, 200, fields(&[("x-long", &"l".repeat(100))]));
    assert_eq!(seen, [head, Data(0, b"hello".to_vec()), Done(0, Outcome::Ok)]);
}

#[test]
fn interim_heads_are_skipped_and_what_they_add_to_the_table_stays() {
    let added = [&block(&[(":status", "103")])[..], b"\x40\x03x-a\x01b"].concat();
    let head = [&block(OK)[..], &[0xbe]].concat();
    let seen = heard(
        &[get()],
        &[
            headers(0, 1, &[(":status", "100")]),
            frame(1, END_HEADERS, 1, &added),
            frame(1, END_HEADERS | END_STREAM, 1, &head),
        ],
    );
    assert_eq!(seen, [Head(0, 200, fields(&[("x-a", "b")])), Done(0, Outcome::Ok)]);
}

/// Each of these ends the reply on stream 1 as a protocol error and resets it; the reply on stream 3 is still good.
#[test]
fn a_reply_in_error_ends_alone() {
    let length: &[(&str, &str)] = &[(":status", "200"), ("content-length", "3")];
    let upper = [&block(OK)[..], b"\x00\x03X-A\x01b"].concat();
    let cases: &[(&str, Vec<Vec<u8>>)] = &[
        ("data before the head", vec![data(0, 1, b"a")]),
        ("no status", vec![headers(0, 1, &[("x", "y")])]),
        ("an empty head", vec![headers(0, 1, &[])]),
        ("two statuses", vec![headers(0, 1, &[(":status", "200"), (":status", "200")])]),
        ("a status of letters", vec![headers(0, 1, &[(":status", "2xx")])]),
        ("a status of two digits", vec![headers(0, 1, &[(":status", "20")])]),
        ("a status below 100", vec![headers(0, 1, &[(":status", "099")])]),
        ("a field of requests", vec![headers(0, 1, &[(":status", "200"), (":path", "/")])]),
        ("a status behind a field", vec![headers(0, 1, &[("x", "y"), (":status", "200")])]),
        ("an upper-case name", vec![frame(1, END_HEADERS, 1, &upper)]),
        ("switching protocols", vec![headers(0, 1, &[(":status", "101")])]),
        ("an interim head at the end", vec![headers(END_STREAM, 1, &[(":status", "103")])]),
        ("less than announced", vec![headers(0, 1, length), data(END_STREAM, 1, b"ab")]),
        ("nothing of what was announced", vec![headers(END_STREAM, 1, length)]),
        ("more than announced", vec![headers(0, 1, length), data(0, 1, b"abcd")]),
        ("differing lengths", vec![headers(0, 1, &[(":status", "200"), ("content-length", "3, 4")])]),
        ("a length of letters", vec![headers(0, 1, &[(":status", "200"), ("content-length", "x")])]),
        ("a body where none may be", vec![headers(0, 1, &[(":status", "304")]), data(0, 1, b"a")]),
        ("trailers in the middle", vec![headers(0, 1, OK), headers(0, 1, &[("x", "y")])]),
        ("trailers with a status", vec![headers(0, 1, OK), headers(END_STREAM, 1, OK)]),
        ("a window enlarged by nothing", vec![window_update(1, 0)]),
        ("a window too large", vec![window_update(1, (1 << 31) - 1)]),
    ];
    for (what, frames) in cases {
        let mut side = Side::greeted(&[get(), get()]);
        side.hear(&frames.concat());
        let of_first: Vec<_> = side.seen.iter().filter(|seen| matches!(seen, Done(..) | Broken(_))).collect();
        assert_eq!(of_first, [&Done(0, PROTOCOL)], "{what}: {:?}", side.seen);
        let resets: Vec<u32> =
            side.written().into_iter().filter(|frame| frame.0 == 3).map(|frame| frame.2).collect();
        assert_eq!(resets, [1], "{what}");
        // Frames still on their way for it are ignored.
        side.seen.clear();
        side.hear(&[headers(0, 3, OK), data(0, 1, b"late"), data(END_STREAM, 3, b"b")].concat());
        assert_eq!(side.seen, [ok(1), Data(1, b"b".to_vec()), Done(1, Outcome::Ok)], "{what}");
    }
}

/// Each of these breaks the connection.
#[test]
fn a_connection_in_error_is_broken() {
    let open = || headers(0, 1, OK);
    let unfinished = || frame(1, 0, 1, &block(OK));
    let cases: &[(&str, Vec<Vec<u8>>)] = &[
        ("a frame above the limit", vec![data(0, 1, &vec![0; 16_385])]),
        ("a head above the limit", vec![frame(1, END_HEADERS, 1, &vec![0; 16_385])]),
        ("data of no stream", vec![data(0, 0, b"a")]),
        ("data of a stream never opened", vec![data(0, 3, b"a")]),
        ("data of a stream of the server's", vec![data(0, 2, b"a")]),
        ("a head of a stream never opened", vec![headers(0, 5, OK)]),
        ("a head of a stream that is over", vec![headers(END_STREAM, 1, OK), headers(END_STREAM, 1, OK)]),
        ("data of a stream that is over", vec![headers(END_STREAM, 1, OK), data(0, 1, b"a")]),
        ("more padding than data", vec![open(), data(PADDED, 1, b"\x02a")]),
        ("padding without its length", vec![open(), data(PADDED, 1, b"")]),
        ("more padding than head", vec![frame(1, END_HEADERS | PADDED, 1, b"\x09\x88")]),
        ("a head without room for its priority", vec![frame(1, END_HEADERS | 0x20, 1, b"\0\0\0\0")]),
        ("what is not HPACK", vec![frame(1, END_HEADERS, 1, b"\xff\xff\xff\xff\xff\xff")]),
        ("a table too large", vec![frame(1, END_HEADERS, 1, b"\x3f\xe2\x1f\x88")]),
        ("a push", vec![frame(5, END_HEADERS, 1, b"\0\0\0\x02\x88")]),
        ("a continuation of nothing", vec![frame(9, END_HEADERS, 1, b"\x88")]),
        ("data within a head", vec![unfinished(), data(0, 1, b"a")]),
        ("settings within a head", vec![unfinished(), settings(&[])]),
        ("a foreign frame within a head", vec![unfinished(), frame(0xfa, 0, 1, b"")]),
        ("a continuation of another stream", vec![unfinished(), frame(9, END_HEADERS, 3, b"")]),
        ("a reset of no stream", vec![reset(0, 8)]),
        ("a reset of a stream never opened", vec![reset(3, 8)]),
        ("a reset of three bytes", vec![frame(3, 0, 1, b"abc")]),
        ("a priority of no stream", vec![frame(2, 0, 0, &[0; 5])]),
        ("a priority of four bytes", vec![frame(2, 0, 1, &[0; 4])]),
        ("settings of a stream", vec![frame(4, 0, 1, b"")]),
        ("settings of five bytes", vec![frame(4, 0, 0, b"abcde")]),
        ("an acknowledgement with content", vec![frame(4, 1, 0, &[0; 6])]),
        ("settings that allow pushes", vec![settings(&[(2, 1)])]),
        ("settings of a window too large", vec![settings(&[(4, 1 << 31)])]),
        ("settings of a frame too small", vec![settings(&[(5, 16_383)])]),
        ("settings of a frame too large", vec![settings(&[(5, 1 << 24)])]),
        (
            "settings that make a window too large",
            vec![window_update(1, 1 << 30), settings(&[(4, (1 << 31) - 1)])],
        ),
        ("a ping of a stream", vec![frame(6, 0, 1, &[0; 8])]),
        ("a ping of seven bytes", vec![frame(6, 0, 0, &[0; 7])]),
        ("a farewell of a stream", vec![frame(7, 0, 1, &[0; 8])]),
        ("a farewell of seven bytes", vec![frame(7, 0, 0, &[0; 7])]),
        ("the window enlarged by nothing", vec![window_update(0, 0)]),
        ("the window too large", vec![window_update(0, (1 << 31) - 1)]),
        ("a window of three bytes", vec![frame(8, 0, 1, b"abc")]),
        ("a window of a stream never opened", vec![window_update(3, 1)]),
    ];
    for (what, frames) in cases {
        let mut side = Side::greeted(&[get()]);
        side.hear(&frames.concat());
        assert_eq!(side.seen.last(), Some(&BROKEN), "{what}");
        assert_eq!(side.framer.room(), 0, "{what}");
        // Nothing more is read, and a reset makes it new.
        side.seen.clear();
        assert_eq!(side.hear(&settings(&[])), [], "{what}");
        side.framer.reset();
        assert!(side.framer.room() > 0, "{what}");
    }
}

#[test]
fn a_peer_that_does_not_begin_with_settings_is_no_http2_peer() {
    for bytes in [&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], &ping(0, b"12345678"), &frame(4, 1, 0, b"")] {
        let mut side = Side::new();
        side.framer.start(0, &get(), &mut side.out).expect("room");
        assert_eq!(side.hear(bytes), [BROKEN]);
    }
}

#[test]
fn pings_and_settings_are_acknowledged() {
    let mut side = Side::greeted(&[get()]);
    side.hear(
        &[ping(0, b"12345678"), settings(&[(3, 5)]), ping(1, b"87654321"), frame(4, 1, 0, b"")].concat(),
    );
    assert_eq!(side.written(), [(6, 1, 0, b"12345678".to_vec()), (4, 1, 0, Vec::new())]);
    assert_eq!((side.framer.room(), side.seen.len()), (4, 0), "five streams, one of them open");
}

#[test]
fn acknowledgements_are_bounded_if_the_peer_reads_none() {
    for flood in [ping(0, b"12345678"), settings(&[])] {
        let mut side = Side::greeted(&[get()]);
        while side.seen.is_empty() {
            side.hear(&flood.repeat(100));
            assert!(side.out.pending().len() < 64 * 1024, "{}", side.out.pending().len());
        }
        assert_eq!(side.seen, [BROKEN]);
        // A peer that reads them may continue forever.
        let mut side = Side::greeted(&[get()]);
        for _ in 0..100 {
            assert_eq!(side.hear(&flood.repeat(100)), []);
            side.out.clear();
        }
    }
}

#[test]
fn heads_without_an_end_are_cut_off() {
    for piece in [frame(9, 0, 1, &[0x88; 16_384]), frame(9, 0, 1, b"")] {
        let mut side = Side::greeted(&[get()]);
        side.hear(&frame(1, 0, 1, b"\x88"));
        let mut heard = 0;
        while side.seen.is_empty() {
            side.hear(&piece);
            heard += piece.len();
            assert!(heard <= UNIT_LIMIT + 2 * 16_400, "{heard}");
        }
        assert_eq!(side.seen, [BROKEN]);
    }
}

#[test]
fn goaway_refuses_requests_the_server_will_not_answer_and_starts_no_more() {
    let mut side = Side::greeted(&[get(), get(), get()]);
    side.hear(&goaway((1 << 31) - 1, 0));
    assert_eq!((side.seen.as_slice(), side.framer.room()), (&[Drain][..], 0));
    side.hear(&goaway(3, 0));
    assert_eq!(side.seen, [Drain, Refused(2)]);
    let late = [headers(0, 5, OK), headers(END_STREAM, 3, OK), headers(END_STREAM, 1, OK)].concat();
    side.hear(&[late, goaway(3, 2)].concat());
    assert_eq!(
        side.seen[2..],
        [ok(1), Done(1, Outcome::Ok), ok(0), Done(0, Outcome::Ok)],
        "the streams it took are answered, and it goes away once"
    );
    assert_eq!(side.framer.start(9, &get(), &mut side.out), Err(weighbridge_load::framer::Full));
}

#[test]
fn a_reset_ends_a_request_but_is_ignored_after_a_whole_reply() {
    let seen = heard(
        &[get(), get()],
        &[
            reset(1, 7),
            headers(0, 3, OK),
            data(END_STREAM, 3, b"b"),
            reset(3, 0),
            window_update(3, 5),
            reset(1, 8),
        ],
    );
    assert_eq!(seen, [Done(0, RESET), ok(1), Data(1, b"b".to_vec()), Done(1, Outcome::Ok)]);
}

#[test]
fn a_cancelled_request_is_not_reported_but_its_data_counts() {
    let mut side = Side::greeted(&[get(), get()]);
    side.hear(&[headers(0, 1, OK), data(0, 1, b"a")].concat());
    // In the middle of a frame.
    side.hear(&data(0, 1, &[b'a'; 1000])[..500]);
    side.seen.clear();
    assert_eq!(side.framer.cancel(0, &mut side.out), Cancel::Request);
    assert_eq!(side.written(), [(3, 0, 1, vec![0, 0, 0, 8])]);
    // Its slot can be used again at once.
    side.framer.start(0, &get(), &mut side.out).expect("room");
    side.hear(&data(0, 1, &[b'a'; 1000])[500..]);
    side.written();
    for _ in 0..512 {
        side.hear(&data(0, 1, &[b'a'; 16_384]));
    }
    assert_eq!(side.seen, []);
    let updates = side.written();
    assert!(matches!(updates[..], [(8, 0, 0, _)]), "half of 16 MiB came: {updates:?}");
    side.hear(&[data(END_STREAM, 1, b""), headers(END_STREAM, 5, OK)].concat());
    assert_eq!(side.seen, [ok(0), Done(0, Outcome::Ok)]);
    assert_eq!(side.framer.cancel(77, &mut side.out), Cancel::Request, "what is not known is over");
}

#[test]
fn a_stream_window_is_restored_by_halves() {
    let stream = Http2Settings { stream_window: 70_000, ..Http2Settings::default() };
    let mut side = Side::with(stream);
    side.framer.start(0, &get(), &mut side.out).expect("room");
    side.hear(&[settings(&[]), headers(0, 1, OK)].concat());
    side.written();
    side.hear(&data(0, 1, &[0; 16_384]).repeat(2));
    assert_eq!(side.written(), [], "less than half");
    side.hear(&data(0, 1, &[0; 16_384]));
    assert_eq!(side.written(), [(8, 0, 1, 49_152u32.to_be_bytes().to_vec())]);
    side.hear(&data(0, 1, &[0; 16_384]).repeat(2));
    side.hear(&data(END_STREAM, 1, &[0; 16_384]));
    assert_eq!(side.written(), [], "nothing for a stream that ends");
}

#[test]
fn padding_is_part_of_the_windows_that_are_restored() {
    let stream = Http2Settings { stream_window: 70_000, ..Http2Settings::default() };
    let mut side = Side::with(stream);
    side.framer.start(0, &get(), &mut side.out).expect("room");
    side.hear(&[settings(&[]), headers(0, 1, OK)].concat());
    side.written();
    // Its length, one byte of data, and 255 of padding: 257 bytes of a window.
    let padded = data(PADDED, 1, &[&[255, b'a'][..], &[0; 255]].concat());
    side.hear(&padded.repeat(136));
    assert_eq!(side.written(), [], "less than half");
    side.hear(&padded);
    assert_eq!(side.written(), [(8, 0, 1, (137 * 257_u32).to_be_bytes().to_vec())]);
}

#[test]
fn bodies_wait_for_windows_and_frames_keep_to_the_peers_size() {
    let mut side = Side::new();
    side.framer.start(0, &post(100_000), &mut side.out).expect("room");
    side.framer.start(1, &post(10), &mut side.out).expect("room");
    let sent = |side: &mut Side| -> Vec<(u32, usize, u8)> {
        let data = side.written().into_iter().filter(|frame| frame.0 == 0);
        data.map(|(_, flags, stream, bytes)| (stream, bytes.len(), flags)).collect()
    };
    // The first stream uses up the connection's window.
    assert_eq!(sent(&mut side), [(1, 16_384, 0), (1, 16_384, 0), (1, 16_384, 0), (1, 16_383, 0)]);
    side.hear(&[settings(&[(4, 65_535), (5, 20_000)]), window_update(0, 5)].concat());
    // Only the second stream has window left.
    assert_eq!(sent(&mut side), [(3, 5, 0)]);
    side.hear(&window_update(1, 30_000));
    assert_eq!(sent(&mut side), [], "the connection's window is used up");
    side.hear(&window_update(0, 100_000));
    assert_eq!(sent(&mut side), [(1, 20_000, 0), (1, 10_000, 0), (3, 5, END_STREAM)]);
    // A smaller window of the peer makes the stream's window negative, a larger one releases the rest.
    side.hear(&settings(&[(4, 60_000)]));
    side.hear(&window_update(1, 5_535));
    assert_eq!(sent(&mut side), []);
    side.hear(&settings(&[(4, 100_000)]));
    assert_eq!(sent(&mut side), [(1, 4_465, END_STREAM)]);
    assert_eq!(side.seen, []);
}

#[test]
fn a_reply_before_the_whole_request_ends_sending() {
    let mut side = Side::greeted(&[post(100_000)]);
    side.hear(&[headers(END_STREAM, 1, OK), window_update(0, 100_000), window_update(1, 100_000)].concat());
    assert_eq!(side.seen, [ok(0), Done(0, Outcome::Ok)]);
    assert_eq!(side.written(), [(3, 0, 1, vec![0, 0, 0, 0])], "no error, and not a byte more");
}

#[test]
fn a_block_beyond_the_peers_frames_goes_on_in_continuations() {
    let mut request = weighbridge_load::request::Request {
        method: "GET".into(),
        target: "/".into(),
        authority: "localhost".into(),
        ..Default::default()
    };
    request.headers.push(("x-long".into(), "\\".repeat(40_000)));
    let rendered = framing().render(OperationId(0), &request).expect("renders");
    let mut side = Side::greeted(std::slice::from_ref(&rendered));
    side.hear(&settings(&[(1, 0)]));
    side.written();
    side.framer.start(1, &rendered, &mut side.out).expect("room");
    let frames = side.written();
    let shapes: Vec<(u8, u8, u32)> =
        frames.iter().map(|(kind, flags, stream, _)| (*kind, *flags, *stream)).collect();
    assert_eq!(shapes, [(1, END_STREAM, 3), (9, 0, 3), (9, END_HEADERS, 3)]);
    assert!(frames.iter().all(|frame| frame.3.len() <= 16_384));
    let block: Vec<u8> = frames.into_iter().flat_map(|frame| frame.3).collect();
    // The peer wants no dynamic table, and is informed once that there is none.
    assert_eq!(block[0], 0x20);
    assert_eq!(block[1..], *rendered.head());
    side.framer.start(2, &get(), &mut side.out).expect("room");
    assert_eq!(side.written()[0].3, get().head());
}

#[test]
fn a_peer_that_allows_no_stream_is_given_a_second() {
    let mut side = Side::new();
    side.hear(&settings(&[(3, 0)]));
    assert_eq!(side.framer.room(), 0);
    let start = Timestamp::from_nanos(5);
    let tick = |side: &mut Side, at| {
        let seen = &mut side.seen;
        side.framer.tick(at, &mut side.out, &mut |event| note(seen, event))
    };
    let until = start + Nanoseconds::from_secs(1);
    assert_eq!(tick(&mut side, start), Some(until));
    side.hear(&settings(&[(3, 1)]));
    assert_eq!(tick(&mut side, until), None);
    side.hear(&settings(&[(3, 0)]));
    let again = until + Nanoseconds::from_secs(1);
    assert_eq!(tick(&mut side, until), Some(again));
    assert_eq!((tick(&mut side, again), side.seen.as_slice()), (None, &[BROKEN][..]));
}

#[test]
fn the_end_of_the_connection_ends_every_request() {
    let mut side = Side::greeted(&[get(), post(100_000), get()]);
    side.hear(&[headers(END_STREAM, 5, OK), headers(0, 1, OK)].concat());
    side.seen.clear();
    let seen = &mut side.seen;
    side.framer.eof(&mut |event| note(seen, event));
    assert_eq!(side.seen, [Done(0, RESET), Done(1, RESET)]);
    assert_eq!(side.framer.room(), 0);
}

const GRPC: &[(&str, &str)] = &[(":status", "200"), ("content-type", "application/grpc+proto")];
const STATUS: &[(&str, &str)] = &[("grpc-status", "0")];

fn grpc_head(id: u64) -> Seen {
    Head(id, 200, fields(&GRPC[1..]))
}

#[test]
fn messages_of_a_call_are_separated() {
    let seen = heard(
        &[call(&[b"question"], Sending::Together)],
        &[
            headers(0, 1, GRPC),
            data(0, 1, b"\0\0\0\0\x03one\0\0\0\0\0\0\0\0"),
            data(0, 1, b"\0\x05th"),
            data(0, 1, b"ree"),
            headers(END_STREAM, 1, STATUS),
        ],
    );
    assert_eq!(
        seen,
        [
            grpc_head(0),
            Data(0, b"one".to_vec()),
            Message(0, 1),
            Message(0, 1),
            Data(0, b"three".to_vec()),
            Message(0, 1),
            Trailers(0, 200, fields(STATUS)),
            Done(0, Outcome::Ok),
        ]
    );
}

#[test]
fn a_reply_of_trailers_only_is_a_head_and_one_of_no_messages_is_plain() {
    let only = &[(":status", "200"), ("content-type", "application/grpc"), ("grpc-status", "12")];
    let seen = heard(&[call(&[b"q"], Sending::Together)], &[headers(END_STREAM, 1, only)]);
    assert_eq!(seen, [Head(0, 200, fields(&only[1..])), Done(0, Outcome::Ok)]);
    for plain in [&[(":status", "503"), ("content-type", "application/grpc")][..], &[(":status", "200")]] {
        let mut side = Side::greeted(&[call(&[b"q"], Sending::Together)]);
        side.hear(&[headers(0, 1, plain), data(END_STREAM, 1, b"words")].concat());
        assert_eq!(side.seen[1..], [Data(0, b"words".to_vec()), Done(0, Outcome::Ok)]);
    }
    let seen = heard(&[get()], &[headers(0, 1, GRPC), data(END_STREAM, 1, b"\x01")]);
    assert_eq!(seen[1..], [Data(0, b"\x01".to_vec()), Done(0, Outcome::Ok)], "no call, no messages");
}

#[test]
fn calls_that_end_within_a_message_or_are_compressed_are_in_error() {
    for (what, body) in [
        ("within a prefix", &b"\0\0\0\0\x01a\0"[..]),
        ("within a message", b"\0\0\0\0\x02a"),
        ("compressed", b"\x01\0\0\0\x01a"),
        ("too long", b"\0\x04\0\0\x01a"),
    ] {
        let frames = [headers(0, 1, GRPC), data(0, 1, body), headers(END_STREAM, 1, STATUS)];
        let seen = heard(&[call(&[b"q"], Sending::Together)], &frames);
        assert_eq!(seen.last(), Some(&Done(0, PROTOCOL)), "{what}");
    }
}

#[test]
fn alternating_calls_send_each_message_when_the_last_was_answered() {
    let mut side = Side::new();
    let request = call(&[b"one", b"", b"three"], Sending::Alternating);
    side.framer.start(0, &request, &mut side.out).expect("room");
    let sent = |side: &mut Side| -> Vec<(Vec<u8>, u8)> {
        let data = side.written().into_iter().filter(|frame| frame.0 == 0);
        data.map(|(_, flags, _, bytes)| (bytes, flags)).collect()
    };
    assert_eq!(sent(&mut side), [(b"\0\0\0\0\x03one".to_vec(), 0)]);
    side.hear(&[settings(&[]), headers(0, 1, GRPC)].concat());
    assert_eq!(sent(&mut side), []);
    side.hear(&data(0, 1, b"\0\0\0\0\x01A"));
    assert_eq!(sent(&mut side), [(b"\0\0\0\0\0".to_vec(), 0)]);
    side.hear(&data(0, 1, b"\0\0\0\0\0"));
    assert_eq!(sent(&mut side), [(b"\0\0\0\0\x05three".to_vec(), END_STREAM)]);
    side.hear(&[data(0, 1, b"\0\0\0\0\x01C"), headers(END_STREAM, 1, STATUS)].concat());
    assert_eq!(sent(&mut side), []);
    assert_eq!(side.seen.last(), Some(&Done(0, Outcome::Ok)));
}

/// A server's frames for a few requests, legal and not.
fn frames() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let stream = || prop::sample::select(vec![1u32, 3, 5, 1, 3, 5, 0, 2, 7, 9]);
    let status = prop::sample::select(vec!["200", "200", "200", "404", "103", "x"]);
    let flags = || prop::sample::select(vec![0, 0, END_STREAM]);
    let head = (stream(), flags(), status, prop::option::of(0u32..20)).prop_map(
        |(stream, flags, status, length)| {
            let length = length.map(|length| length.to_string());
            let mut fields = vec![(":status", status)];
            fields.extend(length.as_deref().map(|length| ("content-length", length)));
            headers(flags, stream, &fields)
        },
    );
    let call_head = stream().prop_map(|stream| headers(0, stream, GRPC));
    let split = (stream(), 0usize..8).prop_map(|(stream, at)| {
        let block = block(GRPC);
        let (first, rest) = block.split_at(at.min(block.len()));
        [frame(1, 0, stream, first), frame(9, END_HEADERS, stream, rest)].concat()
    });
    let trailers = stream().prop_map(|stream| headers(END_STREAM, stream, STATUS));
    let body = (stream(), flags(), prop::collection::vec(prop_oneof![3 => Just(0u8), 1 => 0u8..4], 0..20))
        .prop_map(|(stream, flags, bytes)| data(flags, stream, &bytes));
    let padded = (stream(), flags(), 0u8..6)
        .prop_map(|(stream, flags, padding)| data(flags | PADDED, stream, &[padding, 0, 0, 0, 0]));
    prop::collection::vec(
        prop_oneof![
            6 => head,
            3 => call_head,
            2 => split,
            2 => trailers,
            6 => body,
            2 => padded,
            1 => (stream(), 0u32..12).prop_map(|(stream, code)| reset(stream, code)),
            1 => (stream(), 0u32..9).prop_map(|(stream, by)| window_update(stream, by)),
            1 => stream().prop_map(|last| goaway(last, 0)),
            1 => Just(ping(0, b"12345678")),
            1 => (1u16..7, 0u32..100_000).prop_map(|entry| settings(&[entry])),
            1 => prop::collection::vec(any::<u8>(), 0..30),
        ],
        0..20,
    )
}

fn played(pieces: &[&[u8]]) -> (Vec<Seen>, Vec<u8>) {
    let requests = [call(&[b"one", b"two"], Sending::Alternating), get(), post(70_000)];
    let mut side = Side::greeted(&requests);
    let mut written = Vec::new();
    for piece in pieces {
        side.hear(piece);
        written.extend_from_slice(side.out.pending());
        side.out.clear();
        if side.seen.last() == Some(&BROKEN) {
            break;
        }
    }
    (side.seen, written)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// However the bytes are cut, the same events are reported, and the same bytes are sent.
    #[test]
    fn cutting_anywhere_changes_nothing(frames in frames(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8)) {
        let bytes = frames.concat();
        let whole = played(&[&bytes]);
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        prop_assert_eq!(&played(&single), &whole);
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        places.sort_unstable();
        let mut pieces = Vec::new();
        let mut from = 0;
        for place in places.into_iter().chain([bytes.len()]) {
            pieces.push(&bytes[from..place]);
            from = place;
        }
        prop_assert_eq!(&played(&pieces), &whole);
        // Every request ends at most once, and no event for it follows.
        for id in 0..3 {
            let of_it = |seen: &&Seen| match seen {
                Head(of, ..) | Data(of, _) | Message(of, _) | Trailers(of, ..) => *of == id,
                Done(of, _) | Refused(of) => *of == id,
                Drain | Broken(_) => false,
            };
            let of_it: Vec<&Seen> = whole.0.iter().filter(of_it).collect();
            let done = of_it.iter().position(|seen| matches!(seen, Done(..) | Refused(_)));
            prop_assert!(done.is_none_or(|at| at + 1 == of_it.len()), "{:?}", of_it);
        }
    }
}
