//! Think times and sessions on a virtual clock against queueing theory, with the loop's window and think schedule;
//! the server is one queue with exponential service.

use std::collections::VecDeque;

use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use weighbridge_load::pace::Flow;
use weighbridge_load::think::ThinkSchedule;
use weighbridge_load::window::{Continuation, Load, OpenEnd, QUEUE, Slots, Stop, Window};
use weighbridge_model::experiment::{Arrivals, SessionLength, Think};
use weighbridge_model::quantity::{Nanoseconds, PerSecond, Timestamp};
use weighbridge_model::record::WindowEnd;

const SERVICE: f64 = 20_000.0;

/// One request in the system.
#[derive(Clone, Copy)]
struct Job {
    slot: u32,
    due: Timestamp,
}

/// One window on one server that takes requests first come, first served.
struct World {
    now: Timestamp,
    window: Window,
    think: ThinkSchedule,
    random: ChaCha8Rng,
    /// Slots that wait for a session.
    free: VecDeque<u32>,
    queue: VecDeque<Job>,
    served: Option<(Timestamp, Job)>,
    seen: Seen,
}

/// Results of the simulation.
#[derive(Default)]
struct Seen {
    requests: u64,
    response: f64,
    /// Sum and count of times from a reply to the slot's next due time.
    think: f64,
    thoughts: u64,
    last_done: Timestamp,
}

impl World {
    fn new(load: &Load, slots: u32, seed: u64, start: Timestamp) -> Self {
        let mut think = ThinkSchedule::new();
        think.begin(load, slots, seed);
        let mut free = VecDeque::new();
        for slot in 0..slots {
            if think.has_sessions() {
                free.push_back(slot);
            } else {
                let due = think.first_due(slot, start);
                think.push(slot, due);
            }
        }
        Self {
            now: start,
            window: Window::new(load, seed, start),
            think,
            random: ChaCha8Rng::seed_from_u64(seed ^ 0x5eed),
            free,
            queue: VecDeque::new(),
            served: None,
            seen: Seen::default(),
        }
    }

    fn run(mut self) -> (Seen, Timestamp, u64) {
        loop {
            self.complete();
            self.send();
            self.serve();
            if let Some(end) = self.window.end(self.now) {
                assert_eq!(end, WindowEnd::Complete);
                assert_eq!(self.window.not_sent(), 0);
                return (self.seen, self.now, self.window.requests());
            }
            let slots = if self.free.is_empty() { Slots::NoneFree } else { Slots::SomeFree };
            let wake = self.window.wake(self.now, slots, self.think.next_due());
            let done = self.served.map(|(done, _)| done);
            let next = [wake, done].into_iter().flatten().min().expect("something is ahead");
            assert!(next > self.now, "the clock stands still");
            self.now = next;
        }
    }

    fn complete(&mut self) {
        let Some((done, job)) = self.served.filter(|(done, _)| *done <= self.now) else { return };
        self.served = None;
        self.window.completed();
        self.seen.requests += 1;
        self.seen.response += done.since(job.due).as_nanos() as f64;
        self.seen.last_done = done;
        if self.think.in_session(job.slot) && !self.think.has_operation_left(job.slot) {
            self.think.close_session(job.slot);
            self.window.sessions_ended(1);
            self.free.push_back(job.slot);
            return;
        }
        let due = self.think.due_after(job.slot, done);
        self.seen.think += due.since(done).as_nanos() as f64;
        self.seen.thoughts += 1;
        self.think.push(job.slot, due);
    }

    fn send(&mut self) {
        while let Some((slot, due)) = self.think.pop_due(self.now) {
            let sent = if self.think.in_session(slot) {
                self.think.take_operation(slot);
                (self.window.continue_session(self.now) == Continuation::Send).then_some(due)
            } else {
                self.window.take(self.now, due)
            };
            self.queue.extend(sent.map(|due| Job { slot, due }));
        }
        while let Some(&slot) = self.free.front() {
            let Some(due) = self.window.take(self.now, self.now) else { return };
            self.free.pop_front();
            self.think.open_session(slot);
            self.queue.push_back(Job { slot, due });
        }
    }

    fn serve(&mut self) {
        if self.served.is_none()
            && let Some(job) = self.queue.pop_front()
        {
            let uniform = ((self.random.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64;
            let time = (-uniform.ln() * SERVICE).round().max(1.0) as u64;
            self.served = Some((self.now + Nanoseconds::from_nanos(time), job));
        }
    }
}

fn time(services: f64) -> Nanoseconds {
    Nanoseconds::from_nanos((services * SERVICE) as u64)
}

/// Mean response time of a closed network of `slots` users who think `think` services on average and one exponential
/// server, in services: mean value analysis (Reiser and Lavenberg 1980), exact.
fn mean_value(slots: u32, think: f64) -> f64 {
    let (mut queue, mut response) = (0.0, 1.0);
    for users in 1..=slots {
        response = 1.0 + queue;
        queue = f64::from(users) / (response + think) * response;
    }
    response
}

#[test]
fn a_closed_network_keeps_the_interactive_response_time_law() {
    for (slots, services) in [(1, 3.0), (4, 3.0), (12, 10.0), (40, 10.0)] {
        for think in [
            Think::Exponential { mean: time(services) },
            Think::Constant { time: time(services) },
            Think::Uniform { low: time(services * 0.5), high: time(services * 1.5) },
        ] {
            let load = Load::Thinking { stop: Stop::Count(1_000_000), think };
            let start = Timestamp::from_nanos(77);
            let (seen, _, requests) = World::new(&load, slots, 3, start).run();
            assert_eq!((seen.requests, requests), (1_000_000, 1_000_000));
            let response = seen.response / seen.requests as f64;
            let throughput = seen.requests as f64 / seen.last_done.since(start).as_nanos() as f64;
            let thought = seen.think / seen.thoughts as f64;
            // R = N/X − Z is an identity except for the users who are cut at the window's two ends.
            let law = f64::from(slots) / throughput - thought;
            assert!((response / law - 1.0).abs() < 1e-3, "{slots} {think:?}: {response} against {law}");
            // The mean response depends only on the mean of the think time (product form: BCMP 1975).
            let exact = mean_value(slots, services) * SERVICE;
            assert!((response / exact - 1.0).abs() < 0.02, "{slots} {think:?}: {response} against {exact}");
        }
    }
}

/// Pools windows of partly open load: mean response of a request over the service time, and requests per session.
fn partly_open(utilisation: f64, length: SessionLength, think: f64, requests: u64, seed: u64) -> (f64, f64) {
    let sessions = utilisation / (SERVICE * length.mean()) * 1e9;
    let think = match think {
        0.0 => Think::None,
        services => Think::Exponential { mean: time(services) },
    };
    let load = Load::PartlyOpen {
        flow: Flow::steady(PerSecond::new(sessions).expect("a rate"), Arrivals::Poisson),
        queue: QUEUE,
        end: OpenEnd::BusyCycles(time(50.0)),
        length,
        think,
    };
    let (mut pooled, mut now, mut windows) = (Seen::default(), Timestamp::from_nanos(0), 0u64);
    while pooled.requests < requests {
        let (seen, end, _) = World::new(&load, 1_000, seed + windows, now).run();
        pooled.requests += seen.requests;
        pooled.response += seen.response;
        pooled.thoughts += seen.thoughts;
        (now, windows) = (end, windows + 1);
    }
    let begun = pooled.requests - pooled.thoughts;
    (pooled.response / pooled.requests as f64 / SERVICE, pooled.requests as f64 / begun as f64)
}

#[test]
fn sessions_on_one_queue_respond_as_an_open_network() {
    // Sessions of geometric length that return to the queue make an open Jackson network: each visit responds as in
    // M/M/1 with the arrival rate of all visits, 1/(1 − ρ) services, with or without think time in between.
    let geometric = SessionLength::Geometric { mean: 5.0 };
    for (utilisation, think) in [(0.3, 0.0), (0.7, 0.0), (0.3, 2.0), (0.7, 1.0)] {
        let (response, length) = partly_open(utilisation, geometric, think, 3_000_000, 11);
        let exact = 1.0 / (1.0 - utilisation);
        let context = format!("ρ = {utilisation}, think {think}: {response:.3} against {exact:.3}");
        assert!((response / exact - 1.0).abs() < 0.03, "{context}");
        assert!((length / 5.0 - 1.0).abs() < 0.02, "{length} requests a session");
    }
}

#[test]
fn sessions_of_fixed_length_have_exactly_that_many_requests() {
    let fixed = SessionLength::Fixed { operations: std::num::NonZeroU32::new(7).expect("not zero") };
    let (_, length) = partly_open(0.5, fixed, 0.5, 100_000, 5);
    assert_eq!(length, 7.0);
    let single = SessionLength::Fixed { operations: std::num::NonZeroU32::MIN };
    let (response, length) = partly_open(0.5, single, 0.0, 2_000_000, 5);
    assert_eq!(length, 1.0);
    assert!((response / 2.0 - 1.0).abs() < 0.03, "of one request each it is open load: {response}");
}
