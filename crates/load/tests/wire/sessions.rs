//! Think time, partly open load, profiles, traces and churn through the loop, against small well-behaved servers.

use crate::support;

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use support::{Fixed, HELLO, Server, VARIANT, closed, generator, millis, read_head, run, send, settings};
use weighbridge_load::generator::WindowSpec;
use weighbridge_load::pace::{Flow, Part, Schedule, Source};
use weighbridge_load::window::{Load, OpenEnd, QUEUE, Stop};
use weighbridge_load::{Generator, KeepAlive, Recording, Settings};
use weighbridge_model::experiment::{Arrivals, SessionLength, Think};
use weighbridge_model::id::OperationId;
use weighbridge_model::quantity::{Nanoseconds, PerSecond, Timestamp};
use weighbridge_model::record::{RequestRecord, Tallies, WindowEnd, WindowFigures};
use weighbridge_model::trace::Trace;

fn whole(n: u32) -> NonZeroU32 {
    NonZeroU32::new(n).expect("not zero")
}

fn spec(load: Load) -> WindowSpec {
    WindowSpec { substream: 3, load, recording: Recording::Exact }
}

fn drain(stop: Stop) -> OpenEnd {
    OpenEnd::Drain { stop, limit: Nanoseconds::from_secs(10) }
}

/// Runs a window and returns its figures and its requests in the order in which they were due.
fn observed(generator: &mut Generator, load: Load) -> (WindowFigures, Vec<RequestRecord>) {
    let mut samples = Vec::new();
    let report = generator
        .run(VARIANT, &spec(load), &mut Tallies::default(), Some(&mut samples), None)
        .expect("the window runs");
    samples.sort_by_key(|sample| sample.due);
    (report.figures, samples)
}

#[test]
fn a_thinking_slot_is_due_exactly_its_think_time_after_its_reply() {
    let server = Server::answering(HELLO);
    let mut generator = generator(server.address, settings(1), Fixed::get());
    generator.connect(VARIANT).expect("connects");
    let think = Think::Constant { time: millis(2) };
    let (figures, samples) = observed(&mut generator, Load::Thinking { stop: Stop::Count(30), think });
    assert_eq!((figures.end, figures.requests, samples.len()), (WindowEnd::Complete, 30, 30));
    for two in samples.windows(2) {
        assert_eq!(two[1].due.since(two[0].done), millis(2));
        assert!(two[1].sent >= two[1].due, "the time to think is not cut short");
    }
}

#[test]
fn thinking_users_start_apart_and_think_alike_on_every_server() {
    let server = Server::answering(HELLO);
    let mut generator = generator(server.address, settings(20), Fixed::get());
    generator.connect(VARIANT).expect("connects");
    let think = Think::Constant { time: millis(20) };
    let mut first = || {
        let (_, samples) = observed(&mut generator, Load::Thinking { stop: Stop::Count(20), think });
        let start = samples[0].due;
        samples.iter().map(|sample| sample.due.since(start).as_nanos()).collect::<Vec<_>>()
    };
    let (one, other) = (first(), first());
    assert!(one[19] > 5_000_000, "twenty users begin within {} ns", one[19]);
    assert!(one.windows(2).all(|two| two[0] < two[1]), "two set out together");
    // A slot that replies before the twentieth has started thinks for longer than is left, so the order is that of the
    // seed.
    assert_eq!(one, other);
}

#[test]
fn a_thinking_window_by_time_issues_for_that_time_and_ends() {
    let server = Server::answering(HELLO);
    let mut generator = generator(server.address, settings(4), Fixed::get());
    generator.connect(VARIANT).expect("connects");
    let think = Think::Exponential { mean: millis(5) };
    let load = Load::Thinking { stop: Stop::Time(millis(200)), think };
    let (figures, samples) = observed(&mut generator, load);
    assert_eq!((figures.end, figures.errors.total()), (WindowEnd::Complete, 0));
    assert_eq!(figures.requests, samples.len() as u64);
    assert!(figures.health.wall >= millis(200), "it does not end before its time");
}

#[test]
fn sessions_are_due_by_the_schedule_and_their_requests_after_replies() {
    let server = Server::answering(HELLO);
    // With one slot sessions come one after another, so a request belongs to the last session that was due before it.
    let mut generator = generator(server.address, settings(1), Fixed::of(&[("GET", 0), ("OPTIONS", 0)]));
    generator.connect(VARIANT).expect("connects");
    let flow = Flow::steady(PerSecond::new(100.0).expect("a rate"), Arrivals::Constant);
    let load = Load::PartlyOpen {
        flow,
        queue: QUEUE,
        end: OpenEnd::BusyCycles(millis(200)),
        length: SessionLength::Fixed { operations: whole(3) },
        think: Think::Constant { time: millis(1) },
    };
    let (figures, mut samples) = observed(&mut generator, load);
    assert_eq!(figures.end, WindowEnd::Complete);
    assert_eq!((figures.offered, figures.requests), (samples.len() as u64, samples.len() as u64));
    assert_eq!(samples.len() % 3, 0, "whole sessions");
    samples.sort_by_key(|sample| sample.sent);
    let start = samples[0].due;
    for (number, session) in (0..).zip(samples.chunks(3)) {
        assert_eq!(session[0].due.since(start), millis(10) * number, "due by the schedule");
        for two in session.windows(2) {
            assert_eq!(two[1].due.since(two[0].done), millis(1), "due by the reply");
        }
        let operations: Vec<_> = session.iter().map(|sample| sample.operation.0).collect();
        assert_eq!(operations, [0, 1, 0], "a session of the load opens sessions of the workload");
    }
}

#[test]
fn the_workload_may_decide_how_long_a_session_is() {
    let server = Server::answering(HELLO);
    let sessions = Fixed::of(&[("GET", 0), ("OPTIONS", 0), ("TRACE", 0)]);
    let mut generator = generator(server.address, settings(4), sessions);
    generator.connect(VARIANT).expect("connects");
    let load = Load::PartlyOpen {
        flow: Flow::steady(PerSecond::new(500.0).expect("a rate"), Arrivals::Poisson),
        queue: QUEUE,
        end: OpenEnd::BusyCycles(millis(100)),
        length: SessionLength::Workload,
        think: Think::None,
    };
    let (figures, samples) = observed(&mut generator, load);
    assert_eq!((figures.end, figures.errors.total()), (WindowEnd::Complete, 0));
    let of = |operation| samples.iter().filter(|sample| sample.operation.0 == operation).count();
    assert!(of(0) > 10);
    assert_eq!((of(0), of(0)), (of(1), of(2)));
}

#[test]
fn a_session_keeps_its_slot_and_others_wait_for_one() {
    let server = Server::answering(HELLO);
    let mut generator = generator(server.address, settings(2), Fixed::get());
    generator.connect(VARIANT).expect("connects");
    // Twenty sessions at once on two slots.
    let text: String = (0..20).map(|k| format!("{k} ns\n")).collect();
    let trace = Arc::new(Trace::parse("burst", &text).expect("a trace"));
    let load = Load::PartlyOpen {
        flow: Flow::new(Source::Trace { trace, speed: 1e-3 }),
        queue: 12,
        end: drain(Stop::Count(15)),
        length: SessionLength::Fixed { operations: whole(1) },
        think: Think::None,
    };
    let (figures, _) = observed(&mut generator, load);
    // 0, 1 … 14 µs; the queue and two slots hold most of them, and the rest is counted.
    assert_eq!((figures.offered, figures.requests), (15, 15));
    assert!(figures.begun() >= 12);
}

#[test]
fn a_partly_open_load_by_count_sends_exactly_that_many() {
    let server = Server::answering(HELLO);
    let mut generator = generator(server.address, settings(4), Fixed::get());
    generator.connect(VARIANT).expect("connects");
    let load = |end| Load::PartlyOpen {
        flow: Flow::steady(PerSecond::new(400.0).expect("a rate"), Arrivals::Poisson),
        queue: QUEUE,
        end,
        length: SessionLength::Geometric { mean: 4.0 },
        think: Think::Exponential { mean: millis(1) },
    };
    let (figures, samples) = observed(&mut generator, load(drain(Stop::Count(150))));
    assert_eq!((figures.end, figures.requests, samples.len()), (WindowEnd::Complete, 150, 150));
    assert_eq!((figures.offered, figures.not_sent), (150, 0));
}

#[test]
fn requests_are_due_when_the_profile_and_the_trace_say() {
    let server = Server::answering(HELLO);
    let mut generator = generator(server.address, settings(8), Fixed::get());
    generator.connect(VARIANT).expect("connects");
    let text: String = (0..50u64).map(|k| format!("{} us\n", k * k * 20)).collect();
    let trace = Arc::new(Trace::parse("squares", &text).expect("a trace"));
    let law =
        |profile: &str, arrivals| Source::Law { profile: profile.parse().expect("a profile"), arrivals };
    for source in [
        law("ramp:100/s..2000/s over 100ms", Arrivals::Poisson),
        law("sine:1000/s +- 900/s every 50ms", Arrivals::Jitter(Arrivals::JITTER)),
        Source::Trace { trace: Arc::clone(&trace), speed: 1.0 },
        Source::Trace { trace, speed: 0.7 },
    ] {
        let mut flow = Flow::new(source);
        flow.origin = Some(Generator::clock() + millis(5));
        let load = Load::Open { flow: flow.clone(), queue: QUEUE, end: drain(Stop::Count(100)) };
        let (figures, samples) = observed(&mut generator, load);
        assert_eq!((figures.end, figures.requests), (WindowEnd::Complete, 100));
        let mut schedule = Schedule::new(&flow, 3, flow.origin.expect("set above"));
        let due: Vec<Timestamp> = (0..100).map_while(|_| schedule.next_arrival()).collect();
        // Samples are in the order of their replies, which differs from the order of requests if they overlap.
        let mut seen: Vec<_> = samples.iter().map(|sample| sample.due).collect();
        seen.sort_unstable();
        assert_eq!(seen, due);
    }
}

/// A trace whose lines name the operations `a`, `b` and `c`, which are 0, 1 and 2.
fn named(text: &str) -> Arc<Trace> {
    let mut trace = Trace::parse("named", text).expect("a trace");
    let allowed: Vec<_> = (0..).map(OperationId).zip(["a", "b", "c"].map(str::to_owned)).collect();
    trace.resolve("named", &allowed).expect("known names");
    Arc::new(trace)
}

#[test]
fn operations_that_a_trace_names_are_sent_at_its_times() {
    let server = Server::answering(HELLO);
    let sessions = Fixed::of(&[("GET", 0), ("OPTIONS", 0), ("TRACE", 0)]);
    let mut generator = generator(server.address, settings(4), sessions);
    generator.connect(VARIANT).expect("connects");
    let lines = [("c", 0), ("b", 700), ("c", 700), ("b", 1_333), ("a", 2_001), ("c", 5_000_001)];
    let text: String = lines.iter().map(|(name, at)| format!("{at} ns,{name}\n")).collect();
    let mut flow = Flow::new(Source::Trace { trace: named(&text), speed: 1.0 });
    // Twice, from the third line on: lines before it are not part of the window.
    flow.offset = Nanoseconds::from_nanos(701);
    let start = Generator::clock() + millis(5);
    flow.origin = Some(start);
    let length = flow.length().expect("it has one").as_nanos();
    let load = Load::Open { flow, queue: QUEUE, end: drain(Stop::Count(9)) };
    let (figures, samples) = observed(&mut generator, load);
    assert_eq!((figures.end, figures.requests, figures.errors.total()), (WindowEnd::Complete, 9, 0));
    // Samples are in the order of their replies, which differs from the order of requests if they overlap.
    let mut seen: Vec<_> =
        samples.iter().map(|s| (s.due.since(start).as_nanos() + 701, s.operation.0)).collect();
    seen.sort_unstable();
    let all = lines.iter().map(|(name, at)| (*at, u16::from(name.as_bytes()[0] - b'a')));
    let twice = all.clone().skip(3).chain(all.map(|(at, operation)| (at + length, operation)));
    assert_eq!(seen, twice.collect::<Vec<_>>());
}

#[test]
fn a_session_begins_with_the_operation_that_the_trace_names() {
    let server = Server::answering(HELLO);
    let sessions = Fixed::of(&[("GET", 0), ("OPTIONS", 0), ("TRACE", 0)]);
    let mut generator = generator(server.address, settings(4), sessions);
    generator.connect(VARIANT).expect("connects");
    let load = Load::PartlyOpen {
        flow: Flow::new(Source::Trace { trace: named("ms\n0,b\n5,c\n10,a\n15,b\n60000,a"), speed: 1.0 }),
        queue: QUEUE,
        end: drain(Stop::Count(8)),
        length: SessionLength::Workload,
        think: Think::None,
    };
    let (figures, samples) = observed(&mut generator, load);
    assert_eq!((figures.end, figures.errors.total()), (WindowEnd::Complete, 0));
    let of = |operation| samples.iter().filter(|sample| sample.operation.0 == operation).count();
    assert_eq!([of(0), of(1), of(2)], [1, 3, 4], "b c, c, a b c, b c");
}

#[test]
fn a_request_turned_away_drops_its_operation() {
    let server = Server::answering(HELLO);
    let mut generator = generator(server.address, settings(1), Fixed::of(&[("GET", 0), ("OPTIONS", 0)]));
    generator.connect(VARIANT).expect("connects");
    // All are due in the past: two can wait, and the others are turned away.
    let mut flow =
        Flow::new(Source::Trace { trace: named("0,a\n1 ns,b\n2 ns,a\n3 ns,a\n4 ns,a"), speed: 1.0 });
    flow.origin = Some(Generator::clock());
    let load = Load::Open { flow, queue: 2, end: drain(Stop::Count(5)) };
    let (figures, samples) = observed(&mut generator, load);
    assert_eq!((figures.requests, figures.not_sent), (5, 3));
    assert_eq!(samples.iter().map(|sample| sample.operation.0).collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn parts_on_several_loops_are_one_flow() {
    let server = Server::answering(HELLO);
    let origin = Generator::clock() + millis(50);
    let due = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for index in 0..3 {
            let (due, address) = (&due, server.address);
            scope.spawn(move || {
                let mut generator = generator(address, settings(2), Fixed::get());
                generator.connect(VARIANT).expect("connects");
                let mut flow = Flow::steady(PerSecond::new(1_000.0).expect("a rate"), Arrivals::Constant);
                (flow.part, flow.origin) = (Part { index, of: 3 }, Some(origin));
                let end = drain(Stop::Count(if index == 0 { 34 } else { 33 }));
                let load = Load::Open { flow, queue: QUEUE, end };
                let (_, samples) = observed(&mut generator, load);
                due.lock().expect("unpoisoned").extend(samples.iter().map(|sample| sample.due));
            });
        }
    });
    let mut due = due.into_inner().expect("unpoisoned");
    due.sort_unstable();
    let expected: Vec<Timestamp> = (0..100).map(|k| origin + millis(k)).collect();
    assert_eq!(due, expected);
}

/// A server that counts the requests of each of its connections.
fn counting() -> (Server, Arc<Mutex<Vec<u64>>>) {
    let served = Arc::new(Mutex::new(Vec::new()));
    let numbers = AtomicU64::new(0);
    let kept = Arc::clone(&served);
    let server = Server::start(move |mut stream| {
        let number = numbers.fetch_add(1, Ordering::SeqCst) as usize;
        {
            let mut served = kept.lock().expect("unpoisoned");
            if served.len() <= number {
                served.resize(number + 1, 0);
            }
        }
        while read_head(&mut stream).is_some() {
            // Counted before the answer, so that the test cannot read the count too early.
            kept.lock().expect("unpoisoned")[number] += 1;
            if !send(&mut stream, HELLO) {
                return;
            }
        }
    });
    (server, served)
}

#[test]
fn churn_opens_a_connection_every_so_many_requests() {
    for (churn, in_flight) in [(1, 1), (3, 1), (10, 1), (10, 4), (7, 16)] {
        let (server, served) = counting();
        let settings = Settings { keep_alive: KeepAlive::Every(whole(churn)), in_flight, ..settings(2) };
        let mut generator = generator(server.address, settings, Fixed::get());
        let figures = run(&mut generator, &closed(Stop::Count(400))).figures;
        let context = format!("every {churn}, {in_flight} in flight");
        assert_eq!((figures.all.map(|all| all.ok), figures.errors.total()), (Some(400), 0), "{context}");
        let served: Vec<u64> =
            served.lock().expect("unpoisoned").iter().copied().filter(|n| *n > 0).collect();
        assert_eq!(served.iter().sum::<u64>(), 400, "{context}");
        let full = served.iter().filter(|n| **n == u64::from(churn)).count();
        assert!(served.iter().all(|n| *n <= u64::from(churn)), "{context}: {served:?}");
        assert!(served.len() - full <= 2, "{context}: only the last of each two are not full: {served:?}");
        // The server may have accepted one or two more connections that were never used.
        let connects = figures.connects as usize;
        assert!((served.len()..=served.len() + 2).contains(&connects), "{context}: {connects} connects");
    }
}

#[test]
fn churn_works_with_open_load_and_connects_count_in_response_times() {
    let (server, _) = counting();
    let settings = Settings { keep_alive: KeepAlive::Every(whole(2)), ..settings(1) };
    let mut generator = generator(server.address, settings, Fixed::get());
    generator.connect(VARIANT).expect("connects");
    let flow = Flow::steady(PerSecond::new(100_000.0).expect("a rate"), Arrivals::Constant);
    let load = Load::Open { flow, queue: QUEUE, end: drain(Stop::Count(100)) };
    let (figures, mut samples) = observed(&mut generator, load);
    assert_eq!((figures.requests, figures.errors.total(), figures.not_sent), (100, 0, 0));
    assert!((49..=51).contains(&figures.connects), "{}", figures.connects);
    samples.sort_by_key(|sample| sample.sent);
    for two in samples.windows(2) {
        // Each request waits for the one before it, and every other one for a new connection too: all are sent late.
        assert!(two[1].sent >= two[0].done && two[1].due < two[1].sent);
    }
}
