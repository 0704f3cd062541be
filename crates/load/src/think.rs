//! Think times of slots, and how many operations are left in their sessions.
//!
//! A state machine without clock, sockets or bytes; the pool and the simulation tests drive it. Draws depend only on
//! the seed and on the slot (closed load) or the session (partly open load), so every variant's users think alike
//! however fast their replies come. Nothing is allocated after [`ThinkSchedule::begin`].

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use weighbridge_model::experiment::{SessionLength, Think};
use weighbridge_model::quantity::{Nanoseconds, Timestamp};

use crate::window::Load;

/// Most operations of a session; a longer geometric draw is cut.
const SESSION_MOST: f64 = 1e9;

/// Whether slots are bound to sessions.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Sessions {
    /// A slot's next request is any that is due.
    Free,
    /// A slot in a session sends only that session's requests until it is over.
    Bound(SessionLength),
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    random: Mix,
    /// Operations left in its session; `None` outside a session.
    remaining: Option<u32>,
}

/// When each slot of a window has thought, and which slots are in a session.
#[derive(Debug)]
pub struct ThinkSchedule {
    think: Think,
    sessions: Sessions,
    seed: u64,
    /// Sessions begun.
    begun: u64,
    slots: Vec<Slot>,
    /// Slots that think, and when each is done.
    thinking: BinaryHeap<Reverse<(Timestamp, u32)>>,
}

impl ThinkSchedule {
    /// A schedule without slots; see [`begin`](Self::begin).
    pub fn new() -> Self {
        Self {
            think: Think::None,
            sessions: Sessions::Free,
            seed: 0,
            begun: 0,
            slots: Vec::new(),
            thinking: BinaryHeap::new(),
        }
    }

    /// Prepares for a window of this load with this many slots.
    pub fn begin(&mut self, load: &Load, slots: u32, substream: u64) {
        (self.think, self.sessions) = match load {
            Load::Closed(_) | Load::Open { .. } => (Think::None, Sessions::Free),
            Load::Thinking { think, .. } => (*think, Sessions::Free),
            Load::PartlyOpen { think, length, .. } => (*think, Sessions::Bound(*length)),
        };
        self.seed = substream;
        self.begun = 0;
        self.thinking.clear();
        self.slots.clear();
        if self.is_needed() {
            let slot = |at: u32| Slot { random: Mix::new(substream, u64::from(at)), remaining: None };
            self.slots.extend((0..slots).map(slot));
            self.thinking.reserve(slots as usize);
        }
    }

    /// Whether there is think time or a session to track; if not, the other calls are not needed.
    pub fn is_needed(&self) -> bool {
        self.think != Think::None || self.sessions != Sessions::Free
    }

    /// Whether slots are bound to sessions.
    pub fn has_sessions(&self) -> bool {
        self.sessions != Sessions::Free
    }

    /// Whether the workload decides how long a session is.
    pub fn workload_ends_sessions(&self) -> bool {
        self.sessions == Sessions::Bound(SessionLength::Workload)
    }

    /// When a slot sends first in a window that begins at `start`: after the rest of a think time in progress
    /// (the law's equilibrium residual), so that slots do not start in step.
    pub fn first_due(&mut self, slot: u32, start: Timestamp) -> Timestamp {
        let random = &mut self.slots[slot as usize].random;
        start + residual(self.think, random)
    }

    /// When a slot whose last request ended at `done` is due to send again.
    pub fn due_after(&mut self, slot: u32, done: Timestamp) -> Timestamp {
        done + draw(self.think, &mut self.slots[slot as usize].random)
    }

    /// Lets a slot think until `due`.
    pub fn push(&mut self, slot: u32, due: Timestamp) {
        self.thinking.push(Reverse((due, slot)));
    }

    /// The slot whose think time was over first by `now`, if any, and when that was.
    pub fn pop_due(&mut self, now: Timestamp) -> Option<(u32, Timestamp)> {
        let Reverse((due, _)) = *self.thinking.peek()?;
        if due > now {
            return None;
        }
        let Reverse((due, slot)) = self.thinking.pop()?;
        Some((slot, due))
    }

    /// When the next think time is over.
    pub fn next_due(&self) -> Option<Timestamp> {
        self.thinking.peek().map(|Reverse((due, _))| *due)
    }

    /// Delays every due time by `time`: the window began that much later than it was prepared.
    pub fn shift(&mut self, time: Nanoseconds) {
        let mut waiting = std::mem::take(&mut self.thinking).into_vec();
        for Reverse((due, _)) in &mut waiting {
            *due = *due + time;
        }
        self.thinking = waiting.into();
    }

    /// Begins the next session of the stream on this slot with its first operation.
    pub fn open_session(&mut self, slot: u32) {
        let Sessions::Bound(length) = self.sessions else { return };
        let mut random = Mix::new(self.seed, self.begun);
        self.begun += 1;
        let operations = match length {
            SessionLength::Workload => u32::MAX,
            SessionLength::Fixed { operations } => operations.get(),
            SessionLength::Geometric { mean } => geometric(mean, &mut random),
        };
        self.slots[slot as usize] = Slot { random, remaining: Some(operations.saturating_sub(1)) };
    }

    pub fn in_session(&self, slot: u32) -> bool {
        self.slots.get(slot as usize).is_some_and(|slot| slot.remaining.is_some())
    }

    /// Whether the slot's session has an operation left.
    pub fn has_operation_left(&self, slot: u32) -> bool {
        self.slots.get(slot as usize).and_then(|slot| slot.remaining).is_some_and(|remaining| remaining > 0)
    }

    /// Counts one operation of the slot's session as taken.
    pub fn take_operation(&mut self, slot: u32) {
        let remaining = &mut self.slots[slot as usize].remaining;
        *remaining = remaining.map(|remaining| remaining.saturating_sub(1));
    }

    /// Ends the slot's session.
    pub fn close_session(&mut self, slot: u32) {
        self.slots[slot as usize].remaining = None;
    }
}

impl Default for ThinkSchedule {
    fn default() -> Self {
        Self::new()
    }
}

/// SplitMix64 (Steele, Lea and Flood 2014): eight bytes of state, so that every slot can have its own stream.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mix(u64);

impl Mix {
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

    /// The stream of `number` under `seed`.
    pub fn new(seed: u64, number: u64) -> Self {
        let mut outer = Self(seed);
        let key = outer.next();
        let mut inner = Self(key ^ number.wrapping_mul(0xd134_2543_de82_ef95));
        Self(inner.next())
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(Self::GOLDEN);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A draw from (0, 1].
    fn unit(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }
}

fn nanos(time: f64) -> Nanoseconds {
    Nanoseconds::from_nanos(time.round() as u64)
}

/// Draws a think time.
pub(crate) fn draw(think: Think, random: &mut Mix) -> Nanoseconds {
    match think {
        Think::None | Think::Constant { .. } => time_at(think, 1.0),
        Think::Exponential { .. } | Think::Uniform { .. } => time_at(think, random.unit()),
    }
}

/// The time that a law gives for a draw from (0, 1].
pub fn time_at(law: Think, unit: f64) -> Nanoseconds {
    match law {
        Think::None => Nanoseconds::ZERO,
        Think::Constant { time } => time,
        Think::Exponential { mean } => nanos(-unit.ln() * mean.as_nanos() as f64),
        Think::Uniform { low, high } => {
            nanos(low.as_nanos() as f64 + unit * high.saturating_sub(low).as_nanos() as f64)
        }
    }
}

/// The rest of a think time at a random moment within one: a uniform share of a think time drawn with probability
/// proportional to its length (Cox 1962, section 5.2). The exponential law is its own residual.
pub(crate) fn residual(think: Think, random: &mut Mix) -> Nanoseconds {
    let length = match think {
        Think::None => return Nanoseconds::ZERO,
        Think::Exponential { .. } => return draw(think, random),
        Think::Constant { time } => time.as_nanos() as f64,
        Think::Uniform { low, high } => {
            // The density is proportional to x on [low, high], so x² is uniform on [low², high²].
            let (low, high) = (low.as_nanos() as f64, high.as_nanos() as f64);
            (low * low + random.unit() * (high * high - low * low)).sqrt()
        }
    };
    nanos(length * random.unit())
}

/// The number of the first success of trials that succeed with probability 1/mean, by inversion.
fn geometric(mean: f64, random: &mut Mix) -> u32 {
    if mean <= 1.0 {
        return 1;
    }
    let tries = (random.unit().ln() / (-1.0 / mean).ln_1p()).floor();
    1 + tries.min(SESSION_MOST) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(count: u32, mut draw: impl FnMut(&mut Mix) -> f64) -> (f64, f64) {
        let values: Vec<f64> = (0..count).map(|at| draw(&mut Mix::new(7, u64::from(at)))).collect();
        let mean = values.iter().sum::<f64>() / f64::from(count);
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / f64::from(count);
        (mean, variance)
    }

    #[test]
    fn draws_have_the_moments_of_their_laws() {
        // A hundred thousand draws; the bounds of means are five standard errors.
        let time = |millis| Nanoseconds::from_millis(millis);
        let millis = |time: Nanoseconds| time.as_nanos() as f64 / 1e6;
        let exponential = Think::Exponential { mean: time(10) };
        let uniform = Think::Uniform { low: time(5), high: time(15) };
        for (think, mean, variance) in [
            (Think::Constant { time: time(10) }, 10.0, 0.0),
            (exponential, 10.0, 100.0),
            (uniform, 10.0, 100.0 / 12.0),
        ] {
            let (seen, spread) = sample(100_000, |random| millis(draw(think, random)));
            assert!((seen - mean).abs() <= 5.0 * (variance / 1e5_f64).sqrt() + 1e-9, "{think:?}: {seen}");
            assert!((spread - variance).abs() <= 0.05 * variance + 1e-9, "{think:?}: {spread}");
        }
        // The mean residual of a renewal process is E[X²] / 2 E[X].
        for (think, mean) in [
            (Think::Constant { time: time(10) }, 5.0),
            (exponential, 10.0),
            (uniform, (100.0 + 100.0 / 12.0) / 20.0),
        ] {
            let (seen, spread) = sample(100_000, |random| millis(residual(think, random)));
            assert!((seen - mean).abs() <= 5.0 * (spread / 1e5_f64).sqrt(), "{think:?}: {seen}");
        }
        for mean in [1.0, 1.5, 10.0] {
            let (seen, spread) = sample(100_000, |random| f64::from(geometric(mean, random)));
            let variance = mean * (mean - 1.0);
            assert!((seen - mean).abs() <= 5.0 * (variance / 1e5_f64).sqrt() + 1e-9, "{mean}: {seen}");
            assert!((spread - variance).abs() <= 0.05 * variance + 1e-9, "{mean}: {spread}");
        }
    }

    #[test]
    fn due_times_come_in_order_and_can_be_moved() {
        let at = Timestamp::from_nanos;
        let mut think = ThinkSchedule::new();
        for (slot, due) in [(3, 30), (1, 10), (2, 20)] {
            think.push(slot, at(due));
        }
        think.shift(Nanoseconds::from_nanos(5));
        assert_eq!(think.next_due(), Some(at(15)));
        assert_eq!(think.pop_due(at(14)), None);
        assert_eq!((think.pop_due(at(99)), think.pop_due(at(99))), (Some((1, at(15))), Some((2, at(25)))));
        assert_eq!((think.pop_due(at(34)), think.pop_due(at(35))), (None, Some((3, at(35)))));
    }
}
