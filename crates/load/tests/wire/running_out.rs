//! Sessions that run out: each is carried out whole, slots without one stay idle, and the window ends with the last.

use crate::support::{Fixed, HELLO, Server, VARIANT, settings};
use weighbridge_load::dial::SocketDial;
use weighbridge_load::generator::{Generator, LoopOptions, WindowSpec};
use weighbridge_load::pace::Flow;
use weighbridge_load::request::Rendered;
use weighbridge_load::session::{Check, Reply, RequestId, Sessions, Step};
use weighbridge_load::window::{Load, OpenEnd, Stop};
use weighbridge_load::{Framing, Recording};
use weighbridge_model::experiment::{Arrivals, SessionLength, Think};
use weighbridge_model::quantity::{Nanoseconds, PerSecond};
use weighbridge_model::record::{Outcome, Tallies, WindowEnd, WindowFigures};

/// So many sessions a window, of three requests each; one whose reply is wrong is over.
struct Counted {
    requests: Fixed,
    sessions: u32,
    opened: u32,
}

impl Sessions for Counted {
    fn prepare(&mut self, slots: u32) {
        self.requests.prepare(slots);
    }
    fn rewind(&mut self, _substream: u64) {
        self.opened = 0;
    }
    fn open(&mut self, slot: u32) -> RequestId {
        self.opened += 1;
        assert!(self.opened <= self.sessions, "none is left to open");
        self.requests.open(slot)
    }
    fn next(&mut self, slot: u32, reply: &Reply) -> Step {
        if reply.outcome == Outcome::Ok { self.requests.next(slot, reply) } else { Step::End }
    }
    fn has_follow_ups(&self) -> bool {
        true
    }
    fn has_ended(&self) -> bool {
        self.opened == self.sessions
    }
    fn request(&self, id: RequestId) -> &Rendered {
        self.requests.request(id)
    }
    fn check(&mut self, slot: u32) -> &mut dyn Check {
        self.requests.check(slot)
    }
}

/// Two windows of one generator, each with all sessions.
fn windows(connections: u32, sessions: u32, body: &[u8], load: &Load) -> Vec<WindowFigures> {
    let server = Server::answering(HELLO);
    let requests = Fixed::of(&[("GET", 0), ("POST", 10), ("GET", 0)]).expecting(200, body);
    let dial = Box::new(SocketDial::to(VARIANT, vec![server.address]));
    let mut generator = Generator::new(dial, LoopOptions::default()).expect("a generator");
    let counted = Box::new(Counted { requests, sessions, opened: 0 });
    generator.attach(VARIANT, settings(connections), Framing::Http1, counted);
    generator.connect(VARIANT).expect("connects");
    let spec = WindowSpec { substream: 1, load: load.clone(), recording: Recording::Exact };
    let mut window =
        || generator.run(VARIANT, &spec, &mut Tallies::default(), None, None).expect("runs").figures;
    vec![window(), window()]
}

fn closed(requests: u64) -> Load {
    Load::Closed(Stop::Count(requests))
}

/// So many sessions arrive, 1 ms apart.
fn arriving(count: u64) -> Load {
    let rate = PerSecond::new(1_000.0).expect("a rate");
    let end = OpenEnd::Sessions { count, requests: 3 * count, limit: Nanoseconds::from_secs(60) };
    Load::PartlyOpen {
        flow: Flow::steady(rate, Arrivals::Constant),
        queue: 100,
        end,
        length: SessionLength::Workload,
        think: Think::None,
    }
}

#[test]
fn every_session_is_carried_out_whole_by_any_number_of_slots() {
    for connections in [1, 3, 16] {
        for figures in windows(connections, 7, b"hello", &closed(21)) {
            let seen = (figures.end, figures.requests, figures.errors.total());
            assert_eq!(seen, (WindowEnd::Complete, 21, 0), "{connections} connections");
        }
    }
}

#[test]
fn a_window_ends_where_sessions_were_cut_short_or_more_was_asked_for() {
    for figures in windows(2, 7, b"other", &closed(21)) {
        assert_eq!((figures.end, figures.requests, figures.errors.total()), (WindowEnd::Complete, 7, 7));
    }
    for figures in windows(2, 7, b"hello", &closed(1_000)) {
        assert_eq!((figures.end, figures.requests), (WindowEnd::Complete, 21));
    }
}

#[test]
fn sessions_that_arrive_are_carried_out_whole_and_no_further_one_is_due() {
    for connections in [1, 3, 16] {
        for figures in windows(connections, 7, b"hello", &arriving(7)) {
            let seen = (figures.end, figures.requests, figures.offered, figures.errors.total());
            assert_eq!(seen, (WindowEnd::Complete, 21, 21, 0), "{connections} connections");
            let lasted = figures.ended.since(figures.started);
            assert!(lasted >= Nanoseconds::from_millis(6), "the last arrives 6 ms after the first: {lasted}");
        }
    }
    // One whose reply is wrong is over, and the window goes on with those that arrive.
    for figures in windows(2, 7, b"other", &arriving(7)) {
        assert_eq!((figures.end, figures.requests, figures.errors.total()), (WindowEnd::Complete, 7, 7));
    }
}
