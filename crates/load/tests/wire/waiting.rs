//! How the loop waits, as the kernel counts it: sleeping is a voluntary context switch.

use crate::support;

use std::fs;
use std::time::Duration;

use support::{Fixed, HELLO, Server, VARIANT, closed, read_head, run, send, settings};
use weighbridge_load::Framing;
use weighbridge_load::Recording;
use weighbridge_load::dial::SocketDial;
use weighbridge_load::generator::{Generator, LoopOptions, Waiting, WindowSpec};
use weighbridge_load::pace::Flow;
use weighbridge_load::window::{Load, OpenEnd, QUEUE, Stop};
use weighbridge_model::experiment::Arrivals;
use weighbridge_model::quantity::{Nanoseconds, PerSecond};

/// Requests of a window; a sleeping loop sleeps at least once for nearly each of them.
const REQUESTS: u64 = 100;

/// How often this thread has gone to sleep.
fn sleeps() -> u64 {
    let status = fs::read_to_string("/proc/thread-self/status").expect("the kernel tells");
    let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    line.and_then(|count| count.trim().parse().ok()).expect("a count")
}

/// Sleeps of the loop in a window, each request answered after a millisecond.
fn sleeps_of(waiting: Waiting, spec: &WindowSpec) -> u64 {
    let server = Server::start(|mut stream| {
        while read_head(&mut stream).is_some() {
            std::thread::sleep(Duration::from_millis(1));
            if !send(&mut stream, HELLO) {
                return;
            }
        }
    });
    let dial = Box::new(SocketDial::to(VARIANT, [server.address]));
    let options = LoopOptions { waiting, ..LoopOptions::default() };
    let mut generator = Generator::new(dial, options).expect("a generator");
    generator.attach(VARIANT, settings(1), Framing::Http1, Box::new(Fixed::get()));
    generator.connect(VARIANT).expect("connects");
    let before = sleeps();
    let report = run(&mut generator, spec);
    let after = sleeps();
    assert_eq!((report.figures.requests, report.figures.errors.total()), (REQUESTS, 0));
    after - before
}

/// Arrivals 4 ms apart, so that the loop waits alternately for a reply and an arrival.
fn open() -> WindowSpec {
    let rate = PerSecond::from_count(250, Nanoseconds::from_secs(1));
    let end = OpenEnd::Drain { stop: Stop::Count(REQUESTS), limit: Nanoseconds::from_secs(60) };
    let load = Load::Open { flow: Flow::steady(rate, Arrivals::Constant), end, queue: QUEUE };
    WindowSpec { substream: 1, load, recording: Recording::Exact }
}

#[test]
fn awake_the_loop_never_sleeps() {
    for spec in [closed(Stop::Count(REQUESTS)), open()] {
        let count = sleeps_of(Waiting::Awake, &spec);
        // A page fault or a lock in the kernel may still cost one.
        assert!(count < REQUESTS / 4, "{count} sleeps in {spec:?}");
    }
}

#[test]
fn asleep_the_loop_sleeps_for_every_reply_and_arrival() {
    for waiting in [Waiting::Asleep, Waiting::AwakeIfBrief] {
        let count = sleeps_of(waiting, &closed(Stop::Count(REQUESTS)));
        assert!(count > REQUESTS / 2, "{waiting:?}: {count} sleeps in closed load");
        let count = sleeps_of(waiting, &open());
        assert!(count > REQUESTS / 2, "{waiting:?}: {count} sleeps in open load");
    }
}
