//! Several variants in one window: on a virtual clock the orders, the arrivals and the end; on loopback exact counts,
//! each variant's times, and peers that die or stall.

use crate::support;

use std::collections::BTreeMap;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use support::{Fixed, HELLO, Server, millis, read_head, send, settings};
use weighbridge_load::Framing;
use weighbridge_load::dial::SocketDial;
use weighbridge_load::generator::{LoopOptions, RunError, Share, WindowReport, WindowSpec};
use weighbridge_load::interleave::Interleave;
use weighbridge_load::pace::{Flow, Schedule};
use weighbridge_load::window::{Load, OpenEnd, QUEUE, Stop};
use weighbridge_load::{Generator, Recording, Settings};
use weighbridge_model::experiment::{Arrivals, SessionLength, Think};
use weighbridge_model::id::VariantId;
use weighbridge_model::quantity::{Nanoseconds, PerSecond, Timestamp};
use weighbridge_model::record::{ErrorKind, Outcome, RequestRecord, Tallies, WindowEnd};

const START: Timestamp = Timestamp::from_nanos(1_000_000_000);

fn flow(rate: f64, arrivals: Arrivals) -> Flow {
    Flow::steady(PerSecond::new(rate).expect("a rate"), arrivals)
}

fn open(rate: f64, arrivals: Arrivals, end: OpenEnd) -> Load {
    Load::Open { flow: flow(rate, arrivals), queue: QUEUE, end }
}

fn drain(stop: Stop) -> OpenEnd {
    OpenEnd::Drain { stop, limit: Nanoseconds::from_secs(10) }
}

/// One request on the virtual clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Sent {
    due: Timestamp,
    at: Timestamp,
    variant: usize,
}

/// Runs a window on a virtual clock against servers that take `service(variant)` for each request, `slots` at once.
fn simulate(
    load: &Load,
    (variants, slots): (usize, u32),
    substream: u64,
    service: impl Fn(usize) -> Nanoseconds,
) -> (Vec<Sent>, WindowEnd, Timestamp) {
    let mut window = Interleave::new(load, variants, slots, substream, START);
    let mut free = vec![vec![START; slots as usize]; variants];
    let mut replies: BTreeMap<(Timestamp, usize, usize), ()> = BTreeMap::new();
    let (mut sent, mut now) = (Vec::new(), START);
    loop {
        while let Some(first) = replies.first_entry().filter(|first| first.key().0 <= now) {
            let ((done, variant, _), ()) = first.remove_entry();
            free[variant].push(done);
            window.completed(variant, done);
        }
        window.advance(now);
        for (variant, slots) in free.iter_mut().enumerate() {
            while let Some(&since) = slots.last() {
                let Some(due) = window.window(variant).take(now, since) else { break };
                slots.pop();
                replies.insert((now + service(variant), variant, sent.len()), ());
                sent.push(Sent { due, at: now, variant });
            }
        }
        if let Some(end) = window.end(now) {
            for variant in 0..variants {
                assert_eq!(window.window(variant).requests(), window.rounds(), "whole rounds of requests");
            }
            return (sent, end, now);
        }
        let reply = replies.keys().next().map(|(done, ..)| *done);
        let next = [window.wake(now), reply].into_iter().flatten().min();
        now = next.expect("something will happen").max(now);
    }
}

/// The variants of each round of requests, where rounds do not overlap.
fn orders(sent: &[Sent], variants: usize) -> Vec<Vec<usize>> {
    sent.chunks(variants).map(|round| round.iter().map(|sent| sent.variant).collect()).collect()
}

#[test]
fn a_slot_of_closed_load_goes_through_all_variants_in_orders_that_balance() {
    let load = Load::Closed(Stop::Count(200));
    let tell = |substream| simulate(&load, (3, 1), substream, |variant| millis(1 + variant as u64));
    let (sent, end, over) = tell(5);
    assert_eq!((sent.len(), end), (600, WindowEnd::Complete));
    assert_eq!(over, START + millis(200 * (1 + 2 + 3)), "one after another, without a gap");
    let mut seen = BTreeMap::new();
    for pair in orders(&sent, 3).chunks(2) {
        let mut reversed = pair[0].clone();
        reversed.reverse();
        assert_eq!(pair[1], reversed);
        let mut sorted = pair[0].clone();
        sorted.sort_unstable();
        assert_eq!(sorted, [0, 1, 2]);
        *seen.entry(pair[0].clone()).or_insert(0) += 1;
    }
    // Of six orders each has a sixth of 100: within five standard deviations.
    assert!(seen.len() == 6 && seen.values().all(|count| (1..=36).contains(count)), "{seen:?}");
    assert_eq!(sent, tell(5).0, "a substream replays");
    assert_ne!(orders(&sent, 3), orders(&tell(6).0, 3));
}

#[test]
fn slots_of_closed_load_move_independently_and_finish_their_rounds() {
    for (slots, rounds) in [(4, 101), (8, 3), (3, 0)] {
        let load = Load::Closed(Stop::Count(rounds));
        let (sent, end, _) = simulate(&load, (2, slots), 1, |variant| millis(1 + 4 * variant as u64));
        assert_eq!((sent.len() as u64, end), (2 * rounds, WindowEnd::Complete));
        assert!(sent.iter().all(|sent| sent.due == sent.at), "a slot that is free sends at once");
    }
    let (sent, _, over) = simulate(&Load::Closed(Stop::Time(millis(100))), (2, 2), 1, |_| millis(7));
    // Rounds begin at 0, 14 … 98 ms, on two slots.
    assert_eq!((sent.len(), over), (2 * 2 * 8, START + millis(8 * 14)));
}

#[test]
fn users_think_between_their_requests() {
    let think = Think::Constant { time: millis(10) };
    let load = Load::Thinking { stop: Stop::Count(50), think };
    let (sent, end, over) = simulate(&load, (2, 1), 3, |_| millis(5));
    assert_eq!((sent.len(), end), (100, WindowEnd::Complete));
    let first = sent[0].at.since(START);
    assert!(first < millis(10), "in the middle of a think time: {first}");
    assert_eq!(over, START + first + millis(99 * 15 + 5));
}

/// The arrivals of the load's own law, four times each, at positions a quarter of the mean gap apart.
#[test]
fn every_variant_has_the_arrivals_of_the_law_shifted_by_its_position() {
    let place = Nanoseconds::from_micros(2_500);
    for arrivals in [Arrivals::Constant, Arrivals::Poisson, Arrivals::Jitter(Arrivals::JITTER)] {
        let load = open(100.0, arrivals, drain(Stop::Count(400)));
        let (mut sent, end, _) = simulate(&load, (4, 64), 9, |variant| millis(1 + 30 * variant as u64));
        assert_eq!((sent.len(), end), (1_600, WindowEnd::Complete));
        assert!(sent.iter().all(|sent| sent.due == sent.at), "nobody waits for another variant");
        let mut schedule = Schedule::new(&flow(100.0, arrivals), 9, START);
        let arrived: Vec<_> = (0..400).filter_map(|_| schedule.next_arrival()).collect();
        let mut expected: Vec<_> =
            arrived.iter().flat_map(|at| (0..4).map(move |k| *at + place * k)).collect();
        expected.sort_unstable();
        sent.sort_unstable();
        assert_eq!(sent.iter().map(|sent| sent.due).collect::<Vec<_>>(), expected);
        if arrivals == Arrivals::Constant {
            // Rounds do not overlap: each is four neighbours.
            let mut places = [[0u32; 4]; 4];
            for round in orders(&sent, 4) {
                round.iter().enumerate().for_each(|(place, variant)| places[*variant][place] += 1);
            }
            assert!(places.iter().all(|of| of.iter().sum::<u32>() == 400), "{places:?}");
            let means = places.map(|of| of.iter().zip(0..).map(|(count, at)| count * at).sum::<u32>());
            assert_eq!(means, [600; 4], "every variant has the same mean place: {places:?}");
        }
    }
}

/// Poisson arrivals shifted by random positions are still Poisson: the counts of one variant in intervals of 50 ms have
/// their mean as variance. (3,900 intervals; the standard error of the ratio is about 2.3 %.)
#[test]
fn poisson_arrivals_stay_poisson_for_every_variant() {
    let load = open(100.0, Arrivals::Poisson, drain(Stop::Count(20_000)));
    let (sent, ..) = simulate(&load, (3, 1), 11, |_| Nanoseconds::from_nanos(1));
    for variant in 0..3 {
        let mut counts = [0.0f64; 3_900];
        for sent in sent.iter().filter(|sent| sent.variant == variant) {
            if let Some(count) = counts.get_mut((sent.due.since(START).as_nanos() / 50_000_000) as usize) {
                *count += 1.0;
            }
        }
        let mean = counts.iter().sum::<f64>() / counts.len() as f64;
        let variance = counts.iter().map(|n| (n - mean).powi(2)).sum::<f64>() / counts.len() as f64;
        assert!((mean - 5.0).abs() < 0.18, "mean {mean}");
        assert!((variance / mean - 1.0).abs() < 0.12, "variance {variance} of mean {mean}");
    }
}

#[test]
fn a_window_of_busy_cycles_ends_when_nothing_is_outstanding_or_to_come() {
    let nominal = OpenEnd::BusyCycles(millis(1_000));
    for substream in 0..200 {
        let load = open(20.0, Arrivals::Poisson, nominal);
        let (sent, end, over) = simulate(&load, (2, 16), substream, |_| millis(4));
        assert_eq!(end, WindowEnd::Complete);
        let last = sent.last().map_or(START, |sent| sent.at + millis(4));
        assert_eq!(
            over,
            last.max(START + millis(1_000)),
            "at the first empty moment from the nominal length on"
        );
    }
    // Requests of 70 ms, one every 50 ms, overlap forever: the schedule stops after another nominal length.
    let load = open(10.0, Arrivals::Constant, nominal);
    let (sent, end, over) = simulate(&load, (2, 16), 1, |_| millis(70));
    assert_eq!((sent.len(), end, over), (40, WindowEnd::Complete, START + millis(1_950 + 70)));
}

#[test]
fn a_window_that_never_drains_is_saturated_at_its_cap() {
    let load = open(10.0, Arrivals::Constant, OpenEnd::BusyCycles(millis(100)));
    let mut window = Interleave::new(&load, 2, 1, 1, START);
    let taken = (0..2).filter_map(|variant| window.window(variant).take(START, START)).count();
    assert_eq!(taken, 1, "the other is due 50 ms later");
    assert_eq!(window.end(START + millis(10_099)), None);
    assert_eq!(window.end(START + millis(10_100)), Some(WindowEnd::Saturated));
    window.abort(START + millis(10_100));
    let not_sent: u64 = (0..2).map(|variant| window.window(variant).not_sent()).sum();
    assert_eq!((window.rounds(), not_sent), (2, 3), "rounds began at 0 and at 100 ms");
}

#[test]
fn arriving_sessions_are_independent() {
    let load = Load::PartlyOpen {
        flow: flow(50.0, Arrivals::Poisson),
        queue: QUEUE,
        end: drain(Stop::Count(30)),
        length: SessionLength::Fixed { operations: 3.try_into().expect("above zero") },
        think: Think::Constant { time: millis(2) },
    };
    let servers = [Server::answering(HELLO), Server::answering(HELLO)];
    let (reports, samples) = run(&servers, settings(16), load);
    for (report, samples) in reports.iter().zip(&samples) {
        assert_eq!((report.figures.end, report.figures.requests), (WindowEnd::Complete, 90));
        assert_eq!((samples.len(), report.figures.errors.total()), (90, 0));
    }
}

// --- On loopback -------------------------------------------------------------------------------------------------

fn variants(servers: &[Server]) -> Vec<VariantId> {
    (0..servers.len() as u16).map(VariantId).collect()
}

fn generator(servers: &[Server], settings: Settings, options: LoopOptions) -> Generator {
    let mut dial = SocketDial::default();
    for (variant, server) in variants(servers).into_iter().zip(servers) {
        dial.set(variant, [server.address]);
    }
    let mut generator = Generator::new(Box::new(dial), options).expect("a generator");
    for variant in variants(servers) {
        generator.attach(variant, settings, Framing::Http1, Box::new(Fixed::get()));
        generator.connect(variant).expect("connects");
    }
    generator
}

type Outcomes = (Result<Vec<WindowReport>, RunError>, Vec<Vec<RequestRecord>>, Vec<Tallies>);

fn interleaved(generator: &mut Generator, variants: &[VariantId], load: Load) -> Outcomes {
    let mut samples = vec![Vec::new(); variants.len()];
    let mut tallies = vec![Tallies::default(); variants.len()];
    let parts = variants.iter().zip(samples.iter_mut().zip(&mut tallies));
    let share = |(&variant, (samples, tallies))| Share { variant, tallies, samples: Some(samples) };
    let mut shares: Vec<Share<'_>> = parts.map(share).collect();
    let spec = WindowSpec { substream: 4, load, recording: Recording::Exact };
    let reports = generator.run_interleaved(&mut shares, &spec);
    (reports, samples, tallies)
}

fn run(servers: &[Server], settings: Settings, load: Load) -> (Vec<WindowReport>, Vec<Vec<RequestRecord>>) {
    let mut generator = generator(servers, settings, LoopOptions::default());
    let (reports, samples, _) = interleaved(&mut generator, &variants(servers), load);
    (reports.expect("runs"), samples)
}

/// Answers after a delay, each connection independently.
fn after(time: Duration) -> Server {
    Server::start(move |mut stream| {
        while read_head(&mut stream).is_some() {
            std::thread::sleep(time);
            if !send(&mut stream, HELLO) {
                return;
            }
        }
    })
}

#[test]
fn every_variant_is_recorded_separately_and_gets_the_same_requests() {
    let servers = [Server::answering(HELLO), after(Duration::from_millis(5)), Server::answering(HELLO)];
    let mut generator = generator(&servers, settings(2), LoopOptions::default());
    for load in [Load::Closed(Stop::Count(40)), open(200.0, Arrivals::Poisson, drain(Stop::Count(40)))] {
        let (reports, samples, tallies) = interleaved(&mut generator, &variants(&servers), load);
        let reports = reports.expect("runs");
        for ((report, samples), tallies) in reports.iter().zip(&samples).zip(&tallies) {
            let figures = &report.figures;
            assert_eq!((figures.end, figures.requests, figures.offered), (WindowEnd::Complete, 40, 40));
            assert_eq!((figures.not_sent, figures.errors.total(), samples.len()), (0, 0, 40));
            assert_eq!((tallies.ok().0.len(), tallies.lag.len()), (40, 40));
            assert!(figures.traffic.sent.get() > 0 && figures.health.wall > Nanoseconds::ZERO);
            assert_eq!(figures.health.busy, reports[0].figures.health.busy, "one loop for all");
        }
        let shortest = samples[1].iter().map(|sample| sample.done.since(sample.sent)).min();
        assert!(shortest >= Some(millis(5)), "{shortest:?}");
    }
}

#[test]
fn a_part_of_the_variants_can_share_a_window_and_the_others_are_left_alone() {
    let servers = [Server::answering(HELLO), Server::answering(HELLO), Server::answering(HELLO)];
    let mut generator = generator(&servers, settings(1), LoopOptions::default());
    let mut ask =
        |variants: &[VariantId]| interleaved(&mut generator, variants, Load::Closed(Stop::Count(5))).0;
    let two = ask(&[VariantId(2), VariantId(0)]).expect("runs");
    assert_eq!(two.iter().map(|report| report.figures.requests).collect::<Vec<_>>(), [5, 5]);
    let missing = ask(&[VariantId(0), VariantId(7)]);
    assert!(matches!(missing, Err(RunError::NotAttached(VariantId(7)))));
    // A refused run has changed nothing.
    assert_eq!(ask(&variants(&servers)).expect("runs").len(), 3);
}

/// Answers this many requests, then closes every connection and answers none.
fn dying(after: u64) -> Server {
    let served = Arc::new(AtomicU64::new(0));
    Server::start(move |mut stream: TcpStream| {
        while read_head(&mut stream).is_some() {
            if served.fetch_add(1, Ordering::SeqCst) >= after || !send(&mut stream, HELLO) {
                return;
            }
        }
    })
}

#[test]
fn a_peer_that_dies_ends_the_window_for_all_and_is_named() {
    let servers = [Server::answering(HELLO), dying(10)];
    let impatient = Settings { patience: millis(300), ..settings(2) };
    let load = open(200.0, Arrivals::Constant, OpenEnd::BusyCycles(Nanoseconds::from_secs(20)));
    let (reports, samples) = run(&servers, impatient, load);
    assert!(reports.iter().all(|report| report.figures.end == WindowEnd::Aborted));
    assert_eq!(reports[0].trouble, None);
    let trouble = reports[1].trouble.as_ref().expect("it is named");
    assert!(trouble.peer.contains(&servers[1].address.port().to_string()), "{trouble}");
    assert_eq!(trouble.last, ErrorKind::Reset);
    let good = |samples: &[RequestRecord]| samples.iter().filter(|s| s.outcome == Outcome::Ok).count();
    assert_eq!(good(&samples[1]), 10);
    assert!(good(&samples[0]) > 10, "the other was answered on");
    let (errors, given_up) = (&reports[0].figures.errors, reports[0].given_up);
    assert_eq!((errors.reset, errors.total()), (given_up, given_up), "in flight at the end");
    assert!(given_up <= 2, "as many as slots: {given_up}");
    assert_eq!(good(&samples[0]) as u64 + given_up, samples[0].len() as u64);
    assert_eq!(reports[1].given_up, 0, "its own failures are not excused");
}

#[test]
fn a_peer_that_stalls_does_not_hold_up_the_other_under_open_load() {
    let asked = AtomicU64::new(0);
    let stalls = Server::start(move |mut stream| {
        while read_head(&mut stream).is_some() {
            if asked.fetch_add(1, Ordering::SeqCst) == 5 {
                std::thread::sleep(Duration::from_millis(400));
            }
            if !send(&mut stream, HELLO) {
                return;
            }
        }
    });
    let servers = [Server::answering(HELLO), stalls];
    // One connection each: requests due meanwhile wait only for the stalled variant.
    let load = open(100.0, Arrivals::Constant, drain(Stop::Count(60)));
    let (reports, samples) = run(&servers, settings(1), load);
    assert!(reports.iter().all(|report| report.figures.end == WindowEnd::Complete));
    assert!(reports.iter().all(|r| (r.figures.requests, r.figures.errors.total()) == (60, 0)));
    let late = samples[1].iter().filter(|s| s.done.since(s.due) >= millis(200)).count();
    assert!(late >= 15, "{late} of the one that stalls waited");
    // The stalled variant's requests were sent when it continued; the other's all the time.
    let stalled = samples[1].iter().find(|s| s.done.since(s.sent) >= millis(400)).expect("it stalled");
    let meanwhile = samples[0].iter().filter(|s| s.sent > stalled.sent && s.done < stalled.done).count();
    assert!(meanwhile >= 10, "{meanwhile} of the other were answered meanwhile");
}

#[test]
fn a_peer_that_never_answers_times_out_and_the_others_do_not() {
    let silent = Server::start(|mut stream| while read_head(&mut stream).is_some() {});
    let servers = [Server::answering(HELLO), silent];
    let hasty = Settings { timeout: millis(500), ..settings(16) };
    let load = open(50.0, Arrivals::Constant, drain(Stop::Count(10)));
    let (reports, samples) = run(&servers, hasty, load);
    assert_eq!(reports[0].figures.errors.total(), 0);
    assert_eq!(reports[1].figures.errors.timeout, 10, "{:?}", reports[1].figures.errors);
    assert_eq!(samples.iter().map(Vec::len).collect::<Vec<_>>(), [10, 10]);
    // In closed load the slots wait for it, then continue to the other.
    let (reports, _) = run(&servers, hasty, Load::Closed(Stop::Count(16)));
    assert_eq!((reports[0].figures.requests, reports[0].figures.errors.total()), (16, 0));
    assert_eq!(reports[1].figures.errors.timeout, 16);
}

#[test]
fn the_stop_flag_ends_it_for_all() {
    let stop = Arc::new(AtomicBool::new(false));
    let servers = [Server::answering(HELLO), after(Duration::from_millis(20))];
    let options = LoopOptions { stop: Arc::clone(&stop), ..LoopOptions::default() };
    let mut generator = generator(&servers, settings(2), options);
    let stopper = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        stop.store(true, Ordering::SeqCst);
    });
    let endless = open(50.0, Arrivals::Poisson, OpenEnd::BusyCycles(Nanoseconds::from_secs(1_000)));
    let (reports, ..) = interleaved(&mut generator, &variants(&servers), endless);
    stopper.join().expect("it ends");
    let reports = reports.expect("runs");
    assert!(reports.iter().all(|r| r.figures.end == WindowEnd::Aborted && r.trouble.is_none()));
}
