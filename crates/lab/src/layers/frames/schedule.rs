//! When each frame of one direction leaves and which are lost: a state machine on the caller's clock.
//!
//! The fate of the n-th frame (lost or not, its own delay) is a function of seed, direction and n alone. Two
//! runs with one seed therefore treat the same frames alike, and a change of jitter does not move losses.
//! This module neither reads a clock nor sends.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::f64::consts::TAU;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use weighbridge_model::experiment::Bursts;
use weighbridge_model::quantity::{Nanoseconds, Timestamp};

use super::impairment::{Delay, Distribution, Impairment, Order};

/// The direction of frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the first interface to the second.
    Forward,
    /// From the second to the first.
    Reverse,
}

/// What happens to one frame, independent of the other frames' times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Lost,
    /// It is held for at least this long.
    Held(Nanoseconds),
}

/// The law of the loss; all shares are from 0 to 1.
#[derive(Debug, Clone, Copy)]
enum Loss {
    /// Each frame is lost with this share.
    Independent(f64),
    /// See [`weighbridge_model::experiment::Bursts`].
    Bursts { p: f64, r: f64, bad: f64, good: f64, is_bad: bool },
}

impl Loss {
    fn from_impairment(impairment: &Impairment) -> Self {
        impairment.bursts().map_or(
            Self::Independent(impairment.loss().get()),
            |Bursts { p, r, bad, good }| Self::Bursts {
                p: p.get(),
                r: r.get(),
                bad: bad.get(),
                good: good.get(),
                is_bad: false,
            },
        )
    }

    /// Whether the next frame is lost.
    fn draw(&mut self, random: &mut ChaCha8Rng) -> bool {
        match self {
            Self::Independent(loss) => *loss > 0.0 && random.random::<f64>() < *loss,
            // As in netem, the loss of a frame follows from the state that the previous frame left.
            Self::Bursts { p, r, bad, good, is_bad } => {
                let (loss, turn) = if *is_bad { (*bad, *r) } else { (*good, *p) };
                let lost = random.random::<f64>() < loss;
                *is_bad ^= random.random::<f64>() < turn;
                lost
            }
        }
    }
}

/// The fates of the frames of one direction, in order of arrival.
#[derive(Debug, Clone)]
pub struct Fates {
    delay: Delay,
    loss: Loss,
    losses: ChaCha8Rng,
    delays: ChaCha8Rng,
}

impl Fates {
    /// The fates from the first frame on.
    pub fn new(impairment: &Impairment, seed: u64, direction: Direction) -> Self {
        let stream = |number: u64| {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            random.set_stream(number);
            random
        };
        let first = match direction {
            Direction::Forward => 0,
            Direction::Reverse => 2,
        };
        Self {
            delay: impairment.delay(),
            loss: Loss::from_impairment(impairment),
            losses: stream(first),
            delays: stream(first + 1),
        }
    }

    /// The fate of the next frame. Each draws equally many random numbers, lost or not.
    pub fn draw(&mut self) -> Fate {
        let lost = self.loss.draw(&mut self.losses);
        let held = self.draw_delay();
        if lost { Fate::Lost } else { Fate::Held(held) }
    }

    fn draw_delay(&mut self) -> Nanoseconds {
        let (time, jitter) = (self.delay.time(), self.delay.jitter());
        if jitter == Nanoseconds::ZERO {
            return time;
        }
        match self.delay.distribution() {
            // The jitter is at most the time, so the smallest value is not below zero.
            Distribution::Uniform => {
                let width = jitter.as_nanos() * 2;
                time.saturating_sub(jitter) + Nanoseconds::from_nanos(self.delays.random_range(0..=width))
            }
            Distribution::Normal => {
                // Box and Muller 1958: two uniform draws give a normal one. The first is above zero, so its
                // logarithm is finite.
                let (radius, angle) = (1.0 - self.delays.random::<f64>(), self.delays.random::<f64>());
                let deviations = (-2.0 * radius.ln()).sqrt() * (TAU * angle).cos();
                let nanos = time.as_nanos() as f64 + deviations * jitter.as_nanos() as f64;
                // The cast cuts negative values to zero.
                Nanoseconds::from_nanos(nanos.round() as u64)
            }
        }
    }
}

/// What became of an arriving frame.
#[derive(Debug, PartialEq, Eq)]
pub enum Admission<T> {
    /// It waits to be released.
    Waits,
    /// It was lost on purpose and is returned.
    Lost(T),
    /// The queue is full and the frame is returned.
    Full(T),
}

/// A frame that is due.
#[derive(Debug, PartialEq, Eq)]
pub struct Released<T> {
    /// When it arrived.
    pub arrived: Timestamp,
    /// When it should leave.
    pub due: Timestamp,
    pub frame: T,
}

/// The frames of one direction that have arrived and not left.
#[derive(Debug)]
pub struct Schedule<T> {
    fates: Fates,
    order: Order,
    limit: usize,
    waiting: BinaryHeap<Waiting<T>>,
    /// Number of frames admitted. Frames that are due at the same time leave in order of arrival.
    admitted: u64,
    /// When the last admitted frame is due.
    last: Timestamp,
}

impl<T> Schedule<T> {
    /// An empty schedule.
    pub fn new(impairment: &Impairment, seed: u64, direction: Direction) -> Self {
        Self {
            fates: Fates::new(impairment, seed, direction),
            order: impairment.order,
            limit: impairment.limit().get() as usize,
            waiting: BinaryHeap::new(),
            admitted: 0,
            last: Timestamp::default(),
        }
    }

    /// Admits a frame that arrives at `now`, which must not decrease between calls.
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
        self.waiting.push(Waiting { due, number: self.admitted, arrived: now, frame });
        self.admitted += 1;
        Admission::Waits
    }

    /// When the next frame leaves.
    pub fn next_due(&self) -> Option<Timestamp> {
        self.waiting.peek().map(|first| first.due)
    }

    /// The next frame that is due at or before `now`.
    pub fn release(&mut self, now: Timestamp) -> Option<Released<T>> {
        if self.next_due()? > now {
            return None;
        }
        let Waiting { due, arrived, frame, .. } = self.waiting.pop()?;
        Some(Released { arrived, due, frame })
    }

    /// Number of waiting frames.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }
}

#[derive(Debug)]
struct Waiting<T> {
    due: Timestamp,
    number: u64,
    arrived: Timestamp,
    frame: T,
}

/// The earliest is the greatest, since a heap returns its greatest first.
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FRAMES: usize = 100_000;
    /// The Kolmogorov distance that this many draws of the right law exceed once in a million:
    /// √(ln(2·10⁶)/2n).
    const DISTANCE: f64 = 0.00852;

    fn impairment(text: &str) -> Impairment {
        text.parse().expect("an impairment")
    }

    fn at(nanos: u64) -> Timestamp {
        Timestamp::from_nanos(nanos)
    }

    /// The delays of the first frames under `text`, ascending.
    fn drawn(text: &str) -> Vec<f64> {
        let mut fates = Fates::new(&impairment(text), 3, Direction::Forward);
        let mut delays: Vec<f64> = (0..FRAMES)
            .map(|_| match fates.draw() {
                Fate::Held(held) => held.as_nanos() as f64,
                Fate::Lost => panic!("nothing is lost"),
            })
            .collect();
        delays.sort_by(f64::total_cmp);
        delays
    }

    /// The greatest distance between the share of `sorted` below a value and the share that `law` gives.
    fn distance(sorted: &[f64], law: impl Fn(f64) -> f64) -> f64 {
        let n = sorted.len() as f64;
        let distances = sorted.iter().zip(0..).map(|(value, index)| {
            let expected = law(*value);
            (expected - f64::from(index) / n).abs().max((f64::from(index + 1) / n - expected).abs())
        });
        distances.fold(0.0, f64::max)
    }

    /// The normal distribution by Abramowitz and Stegun 7.1.26, accurate to 1.5·10⁻⁷.
    fn normal(z: f64) -> f64 {
        let x = z.abs() / std::f64::consts::SQRT_2;
        let t = 1.0 / (1.0 + 0.327_591_1 * x);
        let series = [0.254_829_592, -0.284_496_736, 1.421_413_741, -1.453_152_027, 1.061_405_429];
        let sum = series.iter().rev().fold(0.0, |sum, factor| (sum + factor) * t);
        let upper = sum * (-x * x).exp() / 2.0;
        if z < 0.0 { upper } else { 1.0 - upper }
    }

    #[test]
    fn uniform_jitter_fills_its_width_evenly() {
        let delays = drawn("delay=1ms,jitter=200us");
        let off = distance(&delays, |value| ((value - 800_000.0) / 400_000.0).clamp(0.0, 1.0));
        assert!(off < DISTANCE, "{off}");
        assert!(delays[0] >= 800_000.0 && delays[FRAMES - 1] <= 1_200_000.0);
        // With as much jitter as delay some frames leave at once, and none earlier.
        assert!(drawn("delay=1us,jitter=1us")[0] == 0.0);
    }

    #[test]
    fn normal_jitter_has_its_deviation() {
        let delays = drawn("delay=1ms,jitter=100us,distribution=normal");
        let off = distance(&delays, |value| normal((value - 1e6) / 1e5));
        assert!(off < DISTANCE, "{off}");
        // Three deviations fit below the mean; what is further below is cut at zero.
        let cut = drawn("delay=300us,jitter=100us,distribution=normal");
        let share = cut.iter().filter(|value| **value == 0.0).count() as f64 / FRAMES as f64;
        assert!((share - normal(-3.0)).abs() < 5.0 * (normal(-3.0) / FRAMES as f64).sqrt(), "{share}");
    }

    #[test]
    fn a_delay_without_jitter_is_exact() {
        let delays = drawn("delay=1234567ns");
        assert!(delays.iter().all(|delay| *delay == 1_234_567.0));
    }

    #[test]
    fn loss_is_a_share_of_all_and_independent_of_the_frame_before() {
        let mut fates = Fates::new(&impairment("loss=10%"), 5, Direction::Reverse);
        let lost: Vec<bool> = (0..FRAMES).map(|_| fates.draw() == Fate::Lost).collect();
        let n = FRAMES as f64;
        let share = lost.iter().filter(|lost| **lost).count() as f64 / n;
        // Five standard deviations of a binomial share: exceeded by one seed in two million.
        assert!((share - 0.1).abs() < 5.0 * (0.1_f64 * 0.9 / n).sqrt(), "{share}");
        let pairs = lost.windows(2).filter(|pair| pair[0] && pair[1]).count() as f64 / n;
        assert!((pairs - 0.01).abs() < 6.0 * (0.01_f64 / n).sqrt(), "{pairs}");
        let mut all = Fates::new(&impairment("loss=100%"), 5, Direction::Reverse);
        assert!((0..1000).all(|_| all.draw() == Fate::Lost));
    }

    /// Share of the frames that are lost, and the mean number of consecutive losses.
    fn measure_bursts(text: &str) -> (f64, f64) {
        const MANY: usize = 20 * FRAMES;
        let mut fates = Fates::new(&impairment(text), 5, Direction::Forward);
        let lost: Vec<bool> = (0..MANY).map(|_| fates.draw() == Fate::Lost).collect();
        let count = lost.iter().filter(|lost| **lost).count() as f64;
        let begun = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
        (count / MANY as f64, count / begun)
    }

    #[test]
    fn bursts_have_the_share_and_the_length_of_the_closed_form() {
        for (p, r, bad) in [(0.01, 0.25, 1.0), (0.001, 0.05, 1.0), (0.05, 0.5, 1.0), (0.02, 0.2, 0.5)] {
            let (share, length) = measure_bursts(&format!("p={p},r={r},bad={bad}"));
            // A burst continues while the state stays bad and loses the next frame too.
            let (expected, mean) = (p / (p + r) * bad, 1.0 / (1.0 - (1.0 - r) * bad));
            // The variance of the share of a chain of two states, over n frames: Var ≈
            // π(1−π)(2−p−r)/((p+r)n); five deviations.
            let chain = p / (p + r) * r / (p + r) * (2.0 - p - r) / ((p + r) * 20.0 * FRAMES as f64);
            assert!(
                (share - expected).abs() < 5.0 * chain.sqrt().max(1e-4),
                "{p} {r} {bad}: {share}, not {expected}"
            );
            assert!((length / mean - 1.0).abs() < 0.1, "{p} {r} {bad}: {length}, not {mean}");
        }
        // Equal shares in both states give independent losses.
        let (share, length) = measure_bursts("p=10%,r=10%,bad=10%,good=10%");
        assert!((share - 0.1).abs() < 0.002 && (length - 1.0 / 0.9).abs() < 0.02, "{share} {length}");
    }

    #[test]
    fn fates_follow_from_seed_direction_and_number() {
        let draw = |text: &str, seed, direction| {
            let mut fates = Fates::new(&impairment(text), seed, direction);
            (0..200).map(|_| fates.draw()).collect::<Vec<_>>()
        };
        let text = "delay=1ms,jitter=1ms,loss=20%";
        let first = draw(text, 7, Direction::Forward);
        assert_eq!(first, draw(text, 7, Direction::Forward));
        assert_ne!(first, draw(text, 8, Direction::Forward));
        assert_ne!(first, draw(text, 7, Direction::Reverse));
        // Another jitter loses the same frames; without loss frames are held equally long.
        let lost = |fates: &[Fate]| fates.iter().map(|fate| *fate == Fate::Lost).collect::<Vec<_>>();
        assert_eq!(lost(&first), lost(&draw("delay=5ms,loss=20%", 7, Direction::Forward)));
        let kept = draw("delay=1ms,jitter=1ms", 7, Direction::Forward);
        assert!(first.iter().zip(&kept).all(|(fate, kept)| *fate == Fate::Lost || fate == kept));
    }

    #[test]
    fn frames_above_the_limit_are_returned_and_buffers_are_reused() {
        let mut schedule = Schedule::new(&impairment("delay=10ns,limit=2"), 1, Direction::Forward);
        assert_eq!(schedule.admit(at(100), 'a'), Admission::Waits);
        assert_eq!(schedule.admit(at(101), 'b'), Admission::Waits);
        assert_eq!(schedule.admit(at(102), 'c'), Admission::Full('c'));
        assert_eq!(schedule.release(at(109)), None);
        assert_eq!(schedule.release(at(115)), Some(Released { arrived: at(100), due: at(110), frame: 'a' }));
        assert_eq!(schedule.admit(at(115), 'd'), Admission::Waits);
        assert_eq!((schedule.waiting(), schedule.next_due()), (2, Some(at(111))));
    }

    proptest! {
        /// For any arrivals: each frame leaves once, not before its delay is over, in order of due times.
        /// Frames leave in order of arrival if order is kept, and otherwise exactly when their delay is over.
        #[test]
        fn every_frame_leaves_once_and_in_its_time(
            gaps in prop::collection::vec(0..2_000_000_u64, 1..200),
            free: bool,
            seed: u64,
        ) {
            let order = if free { "free" } else { "kept" };
            let impairment = impairment(&format!("delay=1ms,jitter=1ms,loss=10%,limit=1000,order={order}"));
            let mut schedule = Schedule::new(&impairment, seed, Direction::Forward);
            let mut fates = Fates::new(&impairment, seed, Direction::Forward);
            let (mut now, mut expected, mut left) = (at(1), Vec::new(), Vec::new());
            for (gap, number) in gaps.iter().zip(0..) {
                now = now + Nanoseconds::from_nanos(*gap);
                while let Some(released) = schedule.release(now) {
                    left.push(released);
                }
                match (fates.draw(), schedule.admit(now, number)) {
                    (Fate::Lost, Admission::Lost(lost)) => prop_assert_eq!(lost, number),
                    (Fate::Held(held), Admission::Waits) => expected.push((number, now, now + held)),
                    other => prop_assert!(false, "{:?}", other),
                }
            }
            while let Some(due) = schedule.next_due() {
                left.push(schedule.release(due).expect("it is due"));
                prop_assert!(schedule.next_due().is_none_or(|next| next >= due));
            }
            prop_assert_eq!(schedule.waiting(), 0);
            if free {
                expected.sort_by_key(|(number, _, due)| (*due, *number));
                let exact: Vec<_> = left.iter().map(|one| (one.frame, one.arrived, one.due)).collect();
                prop_assert_eq!(exact, expected);
            } else {
                let order: Vec<i32> = left.iter().map(|one| one.frame).collect();
                prop_assert_eq!(order, expected.iter().map(|(number, ..)| *number).collect::<Vec<_>>());
                let mut last = at(0);
                for (one, (_, arrived, earliest)) in left.iter().zip(&expected) {
                    prop_assert_eq!((one.arrived, one.due), (*arrived, (*earliest).max(last)));
                    last = one.due;
                }
            }
        }
    }
}
