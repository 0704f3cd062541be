//! Requests to which replies lead: when they are sent, by which slot, and that they are no load.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::support::{Fixed, HELLO, Server, VARIANT, millis, settings};
use weighbridge_load::dial::SocketDial;
use weighbridge_load::generator::{Generator, LoopOptions, WindowSpec};
use weighbridge_load::pace::Flow;
use weighbridge_load::request::Rendered;
use weighbridge_load::session::{Check, FollowUp, Later, Reply, RequestId, Sessions, Step};
use weighbridge_load::window::{Load, OpenEnd, QUEUE, Stop};
use weighbridge_load::{Framing, Recording};
use weighbridge_model::experiment::Arrivals;
use weighbridge_model::id::OperationId;
use weighbridge_model::quantity::{Nanoseconds, PerSecond};
use weighbridge_model::record::{RequestRecord, Tallies, WindowEnd, WindowFigures};

const GET: OperationId = OperationId(0);
const REFILL: OperationId = OperationId(1);
const DELAY: Nanoseconds = Nanoseconds::from_millis(2);

/// Each reply to the first request leads to the second one.
struct Refilling {
    requests: Fixed,
    /// Whether the request on each slot is the second one.
    refills: Vec<bool>,
    sent: Arc<AtomicU64>,
}

impl Sessions for Refilling {
    fn prepare(&mut self, slots: u32) {
        self.refills = vec![false; slots as usize];
        self.requests.prepare(slots);
    }
    fn rewind(&mut self, substream: u64) {
        self.requests.rewind(substream);
    }
    fn open(&mut self, slot: u32) -> RequestId {
        self.refills[slot as usize] = false;
        self.requests.open_with(slot, GET)
    }
    fn next(&mut self, slot: u32, reply: &Reply) -> Step {
        match self.refills[slot as usize] {
            true => Step::End,
            false => {
                let follow_up = FollowUp(reply.request.0.into());
                Step::Later(Later { follow_up, delay: DELAY, operation: REFILL })
            }
        }
    }
    fn has_follow_ups(&self) -> bool {
        true
    }
    fn open_follow_up(&mut self, slot: u32, follow_up: FollowUp) -> RequestId {
        assert_eq!(follow_up, FollowUp(0));
        self.refills[slot as usize] = true;
        self.sent.fetch_add(1, Ordering::Relaxed);
        self.requests.open_with(slot, REFILL)
    }
    fn request(&self, id: RequestId) -> &Rendered {
        self.requests.request(id)
    }
    fn check(&mut self, slot: u32) -> &mut dyn Check {
        self.requests.check(slot)
    }
}

/// Runs a window. Returns its figures, its requests as they were due, and how many follow-ups were sent.
fn observed(connections: u32, load: Load) -> (WindowFigures, Vec<RequestRecord>, u64) {
    let (server, sent) = (Server::answering(HELLO), Arc::new(AtomicU64::new(0)));
    let requests = Fixed::of(&[("GET", 0), ("POST", 10)]);
    let sessions = Refilling { requests, refills: Vec::new(), sent: Arc::clone(&sent) };
    let dial = Box::new(SocketDial::to(VARIANT, vec![server.address]));
    let mut generator = Generator::new(dial, LoopOptions::default()).expect("a generator");
    generator.attach(VARIANT, settings(connections), Framing::Http1, Box::new(sessions));
    generator.connect(VARIANT).expect("connects");
    let spec = WindowSpec { substream: 1, load, recording: Recording::Exact };
    let (mut tallies, mut samples) = (Tallies::default(), Vec::new());
    let report = generator.run(VARIANT, &spec, &mut tallies, Some(&mut samples), None).expect("runs");
    samples.sort_by_key(|sample| sample.due);
    (report.figures, samples, sent.load(Ordering::Relaxed))
}

fn recorded(figures: &WindowFigures, operation: OperationId) -> u64 {
    figures.operations.iter().find(|one| one.operation == operation).map_or(0, |one| one.ok)
}

#[test]
fn in_closed_load_the_slot_of_the_reply_waits_for_what_it_leads_to() {
    let (figures, samples, sent) = observed(1, Load::Closed(Stop::Count(20)));
    assert_eq!((figures.end, figures.requests, figures.errors.total()), (WindowEnd::Complete, 20, 0));
    assert_eq!((samples.len(), sent), (20, 20), "follow-ups are no samples");
    for two in samples.windows(2) {
        assert!(two[1].due.since(two[0].done) > DELAY, "the next request comes after the follow-up");
    }
    // The last one was not due when the window was over: it is sent, and has no time.
    assert_eq!((recorded(&figures, GET), recorded(&figures, REFILL)), (20, 19));
    assert_eq!(figures.all.map(|all| all.ok), Some(20), "follow-ups are in no total");
}

#[test]
fn in_open_load_any_slot_sends_what_a_reply_leads_to_and_the_schedule_goes_on() {
    let rate = PerSecond::new(1_000.0).expect("a rate");
    let flow = Flow::steady(rate, Arrivals::Poisson);
    let end = OpenEnd::Drain { stop: Stop::Time(millis(100)), limit: millis(10_000) };
    let (figures, samples, sent) = observed(2, Load::Open { flow, queue: QUEUE, end });
    assert_eq!((figures.end, figures.errors.total()), (WindowEnd::Complete, 0));
    assert_eq!((figures.offered, figures.requests), (samples.len() as u64, samples.len() as u64));
    assert_eq!(sent, figures.requests, "each reply led to one");
    let refills = recorded(&figures, REFILL);
    assert!(refills > 0 && refills < sent, "{refills} of {sent} were due before the end");
}
