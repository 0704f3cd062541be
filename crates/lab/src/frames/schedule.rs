//! When each frame of one direction leaves, and which do not: a state machine on whatever clock its caller keeps.
//!
//! The fate of the n-th frame (lost or not, its own delay) is a function of seed, direction and n alone, so that two runs
//! of one seed treat the same frames alike, and loss stays where it is when the jitter is changed. It neither reads a clock
//! nor sends.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::f64::consts::TAU;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use weighbridge_model::quantity::{Nanoseconds, Timestamp};

use super::way::{Delay, Distribution, Order, Way};

/// Which way frames go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the first interface to the second.
    Forth,
    /// From the second to the first.
    Back,
}

/// What happens to one frame, before anything is known of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It is lost.
    Lost,
    /// It is held for this long at least.
    Held(Nanoseconds),
}

/// The fates of the frames of one direction, in the order in which they come.
#[derive(Debug, Clone)]
pub struct Fates {
    delay: Delay,
    /// 0 to 1.
    loss: f64,
    losses: ChaCha8Rng,
    delays: ChaCha8Rng,
}

impl Fates {
    /// From the first frame on.
    pub fn new(way: &Way, seed: u64, direction: Direction) -> Self {
        let stream = |number: u64| {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            random.set_stream(number);
            random
        };
        let first = match direction {
            Direction::Forth => 0,
            Direction::Back => 2,
        };
        Self { delay: way.delay(), loss: way.loss().get(), losses: stream(first), delays: stream(first + 1) }
    }

    /// That of the next frame. Each draws as much as any other, lost or not.
    pub fn draw(&mut self) -> Fate {
        let lost = self.loss > 0.0 && self.losses.random::<f64>() < self.loss;
        let held = self.draw_delay();
        if lost { Fate::Lost } else { Fate::Held(held) }
    }

    fn draw_delay(&mut self) -> Nanoseconds {
        let (time, jitter) = (self.delay.time(), self.delay.jitter());
        if jitter == Nanoseconds::ZERO {
            return time;
        }
        match self.delay.distribution() {
            // The jitter is at most the time, so that the least is not below zero.
            Distribution::Uniform => {
                let width = jitter.as_nanos() * 2;
                time.saturating_sub(jitter) + Nanoseconds::from_nanos(self.delays.random_range(0..=width))
            }
            Distribution::Normal => {
                // Box and Muller 1958: two even draws make a normal one. The first is above zero, so that its logarithm is
                // finite.
                let (radius, angle) = (1.0 - self.delays.random::<f64>(), self.delays.random::<f64>());
                let deviations = (-2.0 * radius.ln()).sqrt() * (TAU * angle).cos();
                let nanos = time.as_nanos() as f64 + deviations * jitter.as_nanos() as f64;
                // Below zero it is cut; a float becomes a whole number in that way.
                Nanoseconds::from_nanos(nanos.round() as u64)
            }
        }
    }
}

/// What became of a frame that came.
#[derive(Debug, PartialEq, Eq)]
pub enum Admission<T> {
    /// It waits to be released.
    Waits,
    /// It was lost on purpose; here it is.
    Lost(T),
    /// As many wait as may; here it is.
    Full(T),
}

/// A frame whose time has come.
#[derive(Debug, PartialEq, Eq)]
pub struct Released<T> {
    /// When it came.
    pub came: Timestamp,
    /// When it was to leave.
    pub due: Timestamp,
    /// The frame.
    pub frame: T,
}

/// The frames of one direction that have come and not left.
#[derive(Debug)]
pub struct Schedule<T> {
    fates: Fates,
    order: Order,
    limit: usize,
    waiting: BinaryHeap<Waiting<T>>,
    /// How many have been let in: frames that are due at once leave in the order in which they came.
    admitted: u64,
    /// When the last that was let in is due.
    last: Timestamp,
}

impl<T> Schedule<T> {
    /// Nothing waits yet.
    pub fn new(way: &Way, seed: u64, direction: Direction) -> Self {
        Self {
            fates: Fates::new(way, seed, direction),
            order: way.order,
            limit: way.limit().get() as usize,
            waiting: BinaryHeap::new(),
            admitted: 0,
            last: Timestamp::default(),
        }
    }

    /// A frame came at `now`, which is never earlier than before.
    pub fn admit(&mut self, now: Timestamp, frame: T) -> Admission<T> {
        let held = match self.fates.draw() {
            Fate::Lost => return Admission::Lost(frame),
            Fate::Held(_) if self.waiting.len() >= self.limit => return Admission::Full(frame),
            Fate::Held(held) => held,
        };
        let due = match self.order {
            Order::Kept => (now + held).max(self.last),
            Order::Free => now + held,
        };
        self.last = due;
        self.waiting.push(Waiting { due, number: self.admitted, came: now, frame });
        self.admitted += 1;
        Admission::Waits
    }

    /// When the next frame leaves.
    pub fn next_due(&self) -> Option<Timestamp> {
        self.waiting.peek().map(|first| first.due)
    }

    /// The next frame that is due at `now` or was before.
    pub fn release(&mut self, now: Timestamp) -> Option<Released<T>> {
        if self.next_due()? > now {
            return None;
        }
        let Waiting { due, came, frame, .. } = self.waiting.pop()?;
        Some(Released { came, due, frame })
    }

    /// How many wait.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }
}

#[derive(Debug)]
struct Waiting<T> {
    due: Timestamp,
    number: u64,
    came: Timestamp,
    frame: T,
}

/// The earliest is the greatest, since a heap gives its greatest first.
impl<T> Ord for Waiting<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.due, other.number).cmp(&(self.due, self.number))
    }
}
impl<T> PartialOrd for Waiting<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl<T> PartialEq for Waiting<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl<T> Eq for Waiting<T> {}
