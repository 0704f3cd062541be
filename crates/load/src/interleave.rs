//! Several variants in one window, request by request: which variant's request is due when, and when the window ends.
//!
//! A state machine like [`crate::window`], whose only clock is its arguments; the event loop and the tests drive it. A
//! *round of requests* is one request to each variant, in a new seeded random order. Rounds come in pairs of which the
//! second reverses the first's order, so that over a pair every variant has the same mean position. It knows nothing of
//! connections or bytes, and never leaves a round of requests half begun.
//!
//! Open load: round *i* begins with the load's own arrival *i*, at t_i, and the variant at position k of K is due at
//! t_i + k/(K·rate). So every variant has the arrivals of the load's law, each shifted by its position. Poisson
//! arrivals shifted independently at random are Poisson arrivals of the same rate (the displacement theorem; Kingman
//! 1993, section 5.5); here two neighbours are shifted in opposite directions, by less than a mean gap. A due request
//! is sent whatever the other variants are doing.
//!
//! Closed load: each slot moves from variant to variant, round after round. Its next request is due when its last was
//! answered and it has thought.
//!
//! Windows of [`OpenEnd::BusyCycles`] end like those of one variant: at the first instant from the nominal length on at
//! which no variant has anything outstanding and no round has requests left. If there is no such instant within another
//! nominal length (long requests that overlap), no further round begins and the window waits for the rest.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use weighbridge_model::experiment::Think;
use weighbridge_model::id::OperationId;
use weighbridge_model::quantity::{Nanoseconds, Timestamp};
use weighbridge_model::record::WindowEnd;

use crate::pace::Schedule;
use crate::think::{Mix, draw, residual};
use crate::window::{Load, OpenEnd, Stop, Window, cap};

/// The generator's random stream from which orders are drawn; not the arrivals' one.
const STREAM: u64 = 0x706c_6163_6573_0000;

/// Memory reserved per variant, in requests of rounds that have begun.
const UPCOMING: usize = 1_024;

/// Rounds of requests to several variants at once.
#[derive(Debug)]
pub struct Interleave {
    start: Timestamp,
    windows: Vec<Window>,
    order: RoundOrder,
    /// Requests of rounds that have begun, not yet due.
    upcoming: BinaryHeap<Reverse<Upcoming>>,
    /// Orders requests due at the same time, so that the earlier round comes first.
    sequence: u64,
    issue: Issue,
    rounds: u64,
}

/// A request that will be due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Upcoming {
    due: Timestamp,
    sequence: u64,
    variant: u16,
    operation: Option<OperationId>,
}

#[derive(Debug)]
enum Issue {
    Open(Box<Open>),
    Closed(Closed),
}

#[derive(Debug)]
struct Open {
    schedule: Schedule,
    next: Option<Timestamp>,
    last_begun: Timestamp,
    /// Time from one position to the next.
    gap: Nanoseconds,
    end: OpenEnd,
}

#[derive(Debug)]
struct Closed {
    stop: Stop,
    think: Think,
    slots: Vec<RovingSlot>,
    /// The orders of the slots' rounds, one after another.
    orders: Vec<u16>,
    /// Slots whose request each variant has, the one there for longest first.
    at: Vec<VecDeque<u32>>,
}

/// A slot on its way from variant to variant.
#[derive(Debug, Clone, Copy)]
struct RovingSlot {
    random: Mix,
    /// How many requests of its round are over; `None` before its first round.
    place: Option<usize>,
}

#[derive(Debug)]
struct RoundOrder {
    random: ChaCha8Rng,
    last: Vec<u16>,
    drawn: u64,
}

impl RoundOrder {
    fn new(variants: usize, substream: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(substream);
        random.set_stream(STREAM);
        Self { random, last: (0..variants as u16).collect(), drawn: 0 }
    }

    /// The order of the next round.
    fn draw(&mut self) -> &[u16] {
        match self.drawn % 2 {
            0 => self.last.shuffle(&mut self.random),
            _ => self.last.reverse(),
        }
        self.drawn += 1;
        &self.last
    }
}

impl Interleave {
    /// A window over `variants` variants, with nothing outstanding, from `start` on. Counts and times of `load` are of
    /// rounds of requests (of sessions, in partly open load); arrivals and orders are drawn from `substream`. `slots`
    /// is the number per variant.
    pub fn new(load: &Load, variants: usize, slots: u32, substream: u64, start: Timestamp) -> Self {
        let issue = match load {
            Load::Closed(stop) => Issue::Closed(Closed::new(*stop, Think::None, variants, slots, substream)),
            Load::Thinking { stop, think } => {
                Issue::Closed(Closed::new(*stop, *think, variants, slots, substream))
            }
            Load::Open { flow, end, .. } | Load::PartlyOpen { flow, end, .. } => {
                let gap = Nanoseconds::from_secs_f64(1.0 / (flow.mean().max(1e-9) * variants as f64));
                let schedule = Schedule::new(flow, substream, flow.origin.unwrap_or(start));
                Issue::Open(Box::new(Open { schedule, next: None, last_begun: start, gap, end: *end }))
            }
        };
        let nominal = match load {
            Load::Open { end: OpenEnd::BusyCycles(nominal), .. }
            | Load::PartlyOpen { end: OpenEnd::BusyCycles(nominal), .. } => *nominal,
            _ => Nanoseconds::ZERO,
        };
        let room = UPCOMING.max(slots as usize) * variants;
        let mut interleave = Self {
            start,
            windows: (0..variants).map(|_| Window::unscheduled(load, nominal, start)).collect(),
            order: RoundOrder::new(variants, substream),
            upcoming: BinaryHeap::with_capacity(room),
            sequence: 0,
            issue,
            rounds: 0,
        };
        interleave.draw();
        for slot in 0..slots {
            interleave.begin_round(slot as usize, start, start);
        }
        interleave.advance(start);
        interleave
    }

    /// Each variant's own window, from which it takes requests.
    pub fn window(&mut self, variant: usize) -> &mut Window {
        &mut self.windows[variant]
    }

    /// Rounds of requests begun.
    pub fn rounds(&self) -> u64 {
        self.rounds
    }

    /// Begins the rounds that are due by `now`, and offers every variant its due requests.
    pub fn advance(&mut self, now: Timestamp) {
        self.begin_arrived(now);
        while let Some(Reverse(next)) = self.upcoming.peek().copied().filter(|next| next.0.due <= now) {
            self.upcoming.pop();
            self.windows[usize::from(next.variant)].offer(next.due, next.operation);
        }
    }

    /// Begins the rounds of open load that have arrived by `now`.
    fn begin_arrived(&mut self, now: Timestamp) {
        loop {
            let Issue::Open(open) = &mut self.issue else { return };
            let Some(arrived) = open.next.filter(|next| *next <= now) else { return };
            open.last_begun = arrived;
            let (gap, operation) = (open.gap, open.schedule.operation());
            self.rounds += 1;
            for (place, &variant) in (0..).zip(self.order.draw()) {
                let next =
                    Upcoming { due: arrived + gap * place, sequence: self.sequence, variant, operation };
                self.sequence += 1;
                self.upcoming.push(Reverse(next));
            }
            self.draw();
        }
    }

    /// Draws the next arrival of open load, if another round may begin.
    fn draw(&mut self) {
        let Issue::Open(open) = &mut self.issue else { return };
        let since = |time: Timestamp| time.since(self.start);
        let goes_on = match open.end {
            OpenEnd::Drain { stop: Stop::Count(count), .. } | OpenEnd::Sessions { count, .. } => {
                self.rounds < count
            }
            OpenEnd::Drain { stop: Stop::Time(_), .. } | OpenEnd::BusyCycles(_) => true,
        };
        open.next = if goes_on { open.schedule.next_arrival() } else { None };
        open.next = open.next.filter(|next| match open.end {
            OpenEnd::BusyCycles(nominal) => since(*next) < nominal * 2,
            OpenEnd::Drain { stop: Stop::Time(time), .. } => since(*next) < time,
            OpenEnd::Drain { stop: Stop::Count(_), .. } | OpenEnd::Sessions { .. } => true,
        });
    }

    /// Reports that a request of this variant ended at `done`.
    pub fn completed(&mut self, variant: usize, done: Timestamp) {
        self.windows[variant].completed();
        let Issue::Closed(closed) = &mut self.issue else { return };
        // Any slot at this variant will do: they differ only in where they go next.
        let Some(slot) = closed.at[variant].pop_front() else { return };
        let slot = slot as usize;
        let roving = &mut closed.slots[slot];
        let due = done + draw(closed.think, &mut roving.random);
        let place = roving.place.map_or(0, |place| place + 1);
        roving.place = Some(place);
        if place < self.windows.len() {
            self.queue_at(slot, place, due);
        } else {
            self.begin_round(slot, done, due);
        }
    }

    /// Lets a slot of closed load begin a round, if another may begin `now`; its first request is due at `due`. At the
    /// start of a window with think time, the slot begins part-way through its think time.
    fn begin_round(&mut self, slot: usize, now: Timestamp, due: Timestamp) {
        let Issue::Closed(closed) = &mut self.issue else { return };
        let may_begin = match closed.stop {
            Stop::Count(count) => self.rounds < count,
            Stop::Time(time) => now.since(self.start) < time,
        };
        if !may_begin {
            return;
        }
        let roving = &mut closed.slots[slot];
        let due = match roving.place {
            None => due + residual(closed.think, &mut roving.random),
            Some(_) => due,
        };
        roving.place = Some(0);
        self.rounds += 1;
        let variants = self.windows.len();
        closed.orders[slot * variants..][..variants].copy_from_slice(self.order.draw());
        self.queue_at(slot, 0, due);
    }

    /// Sends a slot to the variant at a position of its round.
    fn queue_at(&mut self, slot: usize, place: usize, due: Timestamp) {
        let Issue::Closed(closed) = &mut self.issue else { return };
        let variant = closed.orders[slot * self.windows.len() + place];
        closed.at[usize::from(variant)].push_back(slot as u32);
        self.upcoming.push(Reverse(Upcoming { due, sequence: self.sequence, variant, operation: None }));
        self.sequence += 1;
    }

    /// How the window ended, if it has by `now`.
    pub fn end(&mut self, now: Timestamp) -> Option<WindowEnd> {
        self.advance(now);
        let elapsed = now.since(self.start);
        let empty = self.upcoming.is_empty() && self.windows.iter().all(Window::is_empty);
        let Issue::Open(open) = &self.issue else { return empty.then_some(WindowEnd::Complete) };
        let (over, deadline) = match open.end {
            OpenEnd::BusyCycles(nominal) => (elapsed >= nominal, self.start + cap(nominal)),
            OpenEnd::Drain { stop, limit } => {
                let over = open.next.is_none()
                    && match stop {
                        Stop::Count(_) => true,
                        Stop::Time(time) => elapsed >= time,
                    };
                (over, self.drain_deadline(open, stop, limit))
            }
            OpenEnd::Sessions { count, limit, .. } => {
                (open.next.is_none(), self.drain_deadline(open, Stop::Count(count), limit))
            }
        };
        match over && empty {
            true => Some(WindowEnd::Complete),
            false => (now >= deadline).then_some(WindowEnd::Saturated),
        }
    }

    /// When the rest of a schedule that stopped is given up.
    fn drain_deadline(&self, open: &Open, stop: Stop, limit: Nanoseconds) -> Timestamp {
        let Open { next: None, last_begun, gap, .. } = open else { return Timestamp::from_nanos(u64::MAX) };
        let last = *last_begun + *gap * self.windows.len() as u64;
        let stopped = match stop {
            Stop::Time(time) => last.max(self.start + time),
            Stop::Count(_) => last,
        };
        stopped + limit
    }

    /// Gives up: due requests that wait, and requests left in rounds that have begun, will not be sent.
    pub fn abort(&mut self, now: Timestamp) {
        while let Some(Reverse(next)) = self.upcoming.pop() {
            self.windows[usize::from(next.variant)].offer(next.due, next.operation);
        }
        if let Issue::Open(open) = &mut self.issue {
            open.next = None;
        }
        self.windows.iter_mut().for_each(|window| window.abort(now));
    }

    /// Whether any variant may still take requests.
    pub fn issuing(&self, now: Timestamp) -> bool {
        let more = match &self.issue {
            Issue::Open(open) => open.next.is_some(),
            // A slot at a variant continues its round.
            Issue::Closed(closed) => closed.at.iter().any(|there| !there.is_empty()),
        };
        more || !self.upcoming.is_empty() || self.windows.iter().any(|window| window.issuing(now))
    }

    /// When to call [`advance`](Self::advance) and [`end`](Self::end) again if nothing else happens before; `None` if
    /// only a reply can change anything. Each variant's window has a wake time of its own.
    pub fn wake(&self, now: Timestamp) -> Option<Timestamp> {
        let later = |moment: Timestamp| (moment > now).then_some(moment);
        let next = self.upcoming.peek().map(|Reverse(next)| next.due);
        let Issue::Open(open) = &self.issue else { return next };
        let ends = match open.end {
            OpenEnd::BusyCycles(nominal) => [later(self.start + nominal), later(self.start + cap(nominal))],
            OpenEnd::Drain { stop, limit } => {
                let stops = match stop {
                    Stop::Time(time) => later(self.start + time),
                    Stop::Count(_) => None,
                };
                [stops, later(self.drain_deadline(open, stop, limit))]
            }
            OpenEnd::Sessions { count, limit, .. } => {
                [None, later(self.drain_deadline(open, Stop::Count(count), limit))]
            }
        };
        [next, open.next, ends[0], ends[1]].into_iter().flatten().min()
    }
}

impl Closed {
    fn new(stop: Stop, think: Think, variants: usize, slots: u32, substream: u64) -> Self {
        let slot = |at: u32| RovingSlot { random: Mix::new(substream, u64::from(at)), place: None };
        Self {
            stop,
            think,
            slots: (0..slots).map(slot).collect(),
            orders: vec![0; slots as usize * variants],
            at: (0..variants).map(|_| VecDeque::with_capacity(slots as usize)).collect(),
        }
    }
}
