//! Replies held back, which only calibration uses.

use crate::support;

use support::{Fixed, HELLO, Server, VARIANT, closed, read_head, run, send, settings};
use weighbridge_load::Framing;
use weighbridge_load::Settings;
use weighbridge_load::dial::SocketDial;
use weighbridge_load::generator::{Generator, LoopOptions};
use weighbridge_load::window::Stop;
use weighbridge_model::quantity::Nanoseconds;

const REQUESTS: u64 = 50;

#[test]
fn every_reply_is_held_back_by_at_least_what_was_asked() {
    let server =
        Server::start(|mut stream| while read_head(&mut stream).is_some() && send(&mut stream, HELLO) {});
    let dial = Box::new(SocketDial::to(VARIANT, [server.address]));
    let mut generator = Generator::new(dial, LoopOptions::default()).expect("a generator");
    let held = Nanoseconds::from_millis(2);
    let settings = Settings { hold_back: Some(held), ..settings(1) };
    generator.attach(VARIANT, settings, Framing::Http1, Box::new(Fixed::get()));
    generator.connect(VARIANT).expect("connects");
    let report = run(&mut generator, &closed(Stop::Count(REQUESTS)));
    let all = report.figures.all.expect("good replies");
    assert_eq!((all.ok, report.figures.errors.total()), (REQUESTS, 0));
    assert!(all.response_p50 >= held && all.service_p50 >= held, "{all:?}");
    assert!(all.response_sum >= held * REQUESTS, "not one escaped: {all:?}");
    assert!(report.figures.ended.since(report.figures.started) >= held * REQUESTS, "throughput has it too");
}

#[test]
fn the_real_hold_is_at_most_a_clock_reading_shorter_than_asked() {
    for asked in [Nanoseconds::from_micros(1), Nanoseconds::from_micros(20)] {
        let really = Generator::really_held(asked);
        assert!(really + Nanoseconds::from_micros(1) > asked, "{really} of {asked}");
    }
}
