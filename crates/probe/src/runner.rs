//! The work that a law demands for one request after another: pure state machines and samplers, with time as an
//! argument.
//!
//! Nothing here waits or reads a clock. The server calls [`Runner::next`] when a request begins, performs the returned
//! work, and reports the end of a sleep by [`Runner::resumed`]; a test does the same on a virtual clock.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use weighbridge_model::quantity::{Bytes, Nanoseconds, Timestamp};

use crate::law::{Cliff, Cold, Crowded, Distribution, Law, PeriodicStall, Span, Stall, StallPoint, Trend};

/// What the probe must do for a request before it replies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    Nothing,
    /// Keep the CPU busy until this long after the request began.
    Spin(Nanoseconds),
    /// Sleep this long, the whole process.
    Sleep(Nanoseconds),
}

impl Work {
    /// The requested time.
    pub const fn time(self) -> Nanoseconds {
        match self {
            Self::Nothing => Nanoseconds::ZERO,
            Self::Spin(time) | Self::Sleep(time) => time,
        }
    }
}

/// The state of a law.
#[derive(Debug, Clone)]
pub struct Runner(LawState);

#[derive(Debug, Clone)]
enum LawState {
    Null,
    Delay(Box<Sampler>),
    Stall(StallOnce),
    PeriodicStall(StallClock),
    Cliff(Cliff),
    Trend(Trending),
    Cold(Cooling),
    Crowded(Box<Crowding>),
}

impl Runner {
    /// The law in its initial state.
    pub fn new(law: &Law) -> Self {
        Self(match *law {
            Law::Null => LawState::Null,
            Law::Delay { distribution, seed } => LawState::Delay(Box::new(Sampler::new(distribution, seed))),
            Law::Stall(stall) => LawState::Stall(StallOnce::new(stall)),
            Law::PeriodicStall(stall) => LawState::PeriodicStall(StallClock::new(stall)),
            Law::Cliff(cliff) => LawState::Cliff(cliff),
            Law::Trend(trend) => LawState::Trend(Trending { trend, first: None, seen: 0 }),
            Law::Cold(cold) => LawState::Cold(Cooling { cold, over: None, left: cold.requests }),
            Law::Crowded(crowded) => LawState::Crowded(Box::new(Crowding::new(crowded))),
        })
    }

    /// The work for the next request, which begins at `begin` and whose reply has a body of `size`.
    pub fn next(&mut self, begin: Timestamp, size: Bytes) -> Work {
        match &mut self.0 {
            LawState::Null => Work::Nothing,
            LawState::Delay(sampler) => Work::Spin(sampler.draw()),
            LawState::Stall(stall) => stall.next(begin).map_or(Work::Nothing, Work::Sleep),
            LawState::PeriodicStall(clock) => clock.next(begin).map_or(Work::Nothing, Work::Sleep),
            LawState::Cliff(cliff) => Work::Spin(cliff.delay(size)),
            LawState::Trend(trending) => Work::Spin(trending.next(begin)),
            LawState::Cold(cooling) => Work::Spin(cooling.next(begin)),
            LawState::Crowded(crowding) => Work::Spin(crowding.next()),
        }
    }

    /// Reports how many requests wait besides the next.
    pub fn crowd(&mut self, waiting: usize) {
        if let LawState::Crowded(crowding) = &mut self.0 {
            crowding.is_crowded = crowding.crowded.is_crowded(crowding.is_crowded, waiting as u64);
        }
    }

    /// Reports that a [`Work::Sleep`] ended at `now`.
    pub fn resumed(&mut self, now: Timestamp) {
        if let LawState::PeriodicStall(clock) = &mut self.0 {
            clock.resumed(now);
        }
    }
}

/// Seeded draws from a distribution.
#[derive(Debug, Clone)]
pub struct Sampler {
    distribution: Distribution,
    random: ChaCha8Rng,
}

impl Sampler {
    /// The stream of draws that belongs to `seed`.
    pub fn new(distribution: Distribution, seed: u64) -> Self {
        Self { distribution, random: ChaCha8Rng::seed_from_u64(seed) }
    }

    /// The next delay, to the nearest nanosecond.
    pub fn draw(&mut self) -> Nanoseconds {
        // From [0, 1), so 1 − u is never zero and its logarithm is finite.
        let mut u = || self.random.random::<f64>();
        match self.distribution {
            Distribution::Constant(time) => time,
            // Inversion: F(t) = 1 − exp(−t/mean), so t = −mean · ln(1 − u).
            Distribution::Exponential { mean } => rounded(mean.as_nanos() as f64 * -(-u()).ln_1p()),
            Distribution::Uniform(range) => {
                let width = range.high().saturating_sub(range.low());
                range.low() + rounded(width.as_nanos() as f64 * u())
            }
            Distribution::Bimodal(two) => {
                if u() < two.share().get() {
                    two.high()
                } else {
                    two.low()
                }
            }
        }
    }
}

fn rounded(nanos: f64) -> Nanoseconds {
    Nanoseconds::from_nanos(nanos.round() as u64)
}

/// The state of [`Stall`].
#[derive(Debug, Clone)]
struct StallOnce {
    stall: Stall,
    first: Option<Timestamp>,
    seen: u64,
    done: bool,
}

impl StallOnce {
    fn new(stall: Stall) -> Self {
        Self { stall, first: None, seen: 0, done: false }
    }

    fn next(&mut self, begin: Timestamp) -> Option<Nanoseconds> {
        let first = *self.first.get_or_insert(begin);
        let reached = match self.stall.at {
            StallPoint::AfterTime(time) => begin.since(first) >= time,
            StallPoint::AfterRequests(count) => self.seen >= count,
        };
        self.seen += 1;
        let due = reached && !self.done;
        self.done |= due;
        due.then_some(self.stall.length)
    }
}

/// The state of [`PeriodicStall`], whose docs derive the rule.
#[derive(Debug, Clone)]
struct StallClock {
    stall: PeriodicStall,
    /// When the last request began, or, if a stop was made in it, when that stop ended: bᵢ + sᵢ.
    last: Option<Timestamp>,
    /// S: the served time so far.
    served: Nanoseconds,
    /// (k − ½) · (every − length): the served time at which the next stop is due.
    due: Nanoseconds,
}

impl StallClock {
    fn new(stall: PeriodicStall) -> Self {
        Self { stall, last: None, served: Nanoseconds::ZERO, due: service_share(&stall) / 2 }
    }

    fn next(&mut self, begin: Timestamp) -> Option<Nanoseconds> {
        let gap = self.last.map_or(Nanoseconds::ZERO, |last| begin.since(last));
        self.last = Some(begin);
        self.served += gap.min(self.stall.gap());
        if self.served < self.due {
            return None;
        }
        self.due += service_share(&self.stall);
        Some(self.stall.length())
    }

    fn resumed(&mut self, now: Timestamp) {
        self.last = Some(now);
    }
}

/// The progress of a [`Trend`].
#[derive(Debug, Clone)]
struct Trending {
    trend: Trend,
    first: Option<Timestamp>,
    seen: u64,
}

impl Trending {
    fn next(&mut self, begin: Timestamp) -> Nanoseconds {
        let first = *self.first.get_or_insert(begin);
        let share = match self.trend.span() {
            Span::Requests(count) => self.seen as f64 / count.get() as f64,
            Span::Time(time) => begin.since(first).share_of(time).get(),
        };
        self.seen += 1;
        self.trend.delay(share)
    }
}

/// Whether a probe under [`Cold`] is cold.
#[derive(Debug, Clone)]
struct Cooling {
    cold: Cold,
    /// When the last request ended.
    over: Option<Timestamp>,
    /// Requests until it is warm.
    left: u64,
}

impl Cooling {
    fn next(&mut self, begin: Timestamp) -> Nanoseconds {
        if self.over.is_some_and(|over| begin.since(over) > self.cold.idle) {
            self.left = self.cold.requests;
        }
        let delay = if self.left > 0 { self.cold.cold } else { self.cold.warm };
        self.left = self.left.saturating_sub(1);
        // Of several servers another may end later.
        self.over = self.over.max(Some(begin + delay));
        delay
    }
}

/// Whether a probe under [`Crowded`] is crowded.
#[derive(Debug, Clone)]
struct Crowding {
    crowded: Crowded,
    sampler: Sampler,
    is_crowded: bool,
}

impl Crowding {
    fn new(crowded: Crowded) -> Self {
        Self { crowded, sampler: Sampler::new(crowded.base(), crowded.seed()), is_crowded: false }
    }

    fn next(&mut self) -> Nanoseconds {
        let time = self.sampler.draw();
        if self.is_crowded { self.crowded.lengthened(time) } else { time }
    }
}

/// The part of a period in which requests are served.
fn service_share(stall: &PeriodicStall) -> Nanoseconds {
    stall.every().saturating_sub(stall.length())
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: usize = 100_000;

    fn draws(text: &str, seed: u64) -> Vec<f64> {
        let mut sampler = Sampler::new(text.parse().unwrap(), seed);
        (0..DRAWS).map(|_| sampler.draw().as_nanos() as f64).collect()
    }

    /// The Kolmogorov–Smirnov distance between a sample and a distribution function.
    fn distance(mut sample: Vec<f64>, cdf: impl Fn(f64) -> f64) -> f64 {
        sample.sort_by(f64::total_cmp);
        let n = sample.len() as f64;
        let gaps = sample.iter().enumerate().map(|(i, &x)| {
            let f = cdf(x);
            (f - i as f64 / n).abs().max((f - (i + 1) as f64 / n).abs())
        });
        gaps.fold(0.0, f64::max)
    }

    /// Kolmogorov's limit at level 1 %: 1.628 / √n.
    fn critical() -> f64 {
        1.628 / (DRAWS as f64).sqrt()
    }

    #[test]
    fn exponential_draws_follow_the_exponential_law() {
        for seed in 1..=3 {
            let found = distance(draws("exponential:mean=1ms", seed), |x| 1.0 - (-x / 1e6).exp());
            assert!(found < critical(), "seed {seed}: {found}");
        }
        // The test must be able to fail: it detects a mean that is 3 % off.
        let wrong = distance(draws("exponential:mean=1030us", 1), |x| 1.0 - (-x / 1e6).exp());
        assert!(wrong > critical(), "{wrong}");
    }

    #[test]
    fn uniform_draws_follow_the_uniform_law() {
        for seed in 1..=3 {
            let found = distance(draws("uniform:low=1ms,high=3ms", seed), |x| (x - 1e6) / 2e6);
            assert!(found < critical(), "seed {seed}: {found}");
        }
    }

    #[test]
    fn bimodal_draws_are_one_of_two_in_the_right_share() {
        let sample = draws("bimodal:low=100us,high=2ms,share=5%", 1);
        let high = sample.iter().filter(|&&x| x == 2e6).count();
        let low = sample.iter().filter(|&&x| x == 1e5).count();
        assert_eq!(high + low, DRAWS);
        // Binomial: the bounds are four standard deviations around n·p.
        let bound = 4.0 * (DRAWS as f64 * 0.05 * 0.95).sqrt();
        assert!((high as f64 - DRAWS as f64 * 0.05).abs() < bound, "{high}");
    }

    #[test]
    fn constant_draws_are_constant_and_extremes_hold() {
        assert!(draws("constant:time=7us", 1).iter().all(|&x| x == 7e3));
        assert!(draws("bimodal:low=1us,high=2us,share=0", 1).iter().all(|&x| x == 1e3));
        assert!(draws("bimodal:low=1us,high=2us,share=1", 1).iter().all(|&x| x == 2e3));
        assert!(draws("uniform:low=3us,high=3us", 1).iter().all(|&x| x == 3e3));
        assert!(draws("exponential:mean=0ns", 1).iter().all(|&x| x == 0.0));
    }

    #[test]
    fn moments_match_the_closed_forms() {
        // (text, mean, variance); the sample mean is within four standard errors.
        for (text, mean, variance) in [
            ("exponential:mean=1ms", 1e6, 1e12),
            ("uniform:low=1ms,high=3ms", 2e6, 4e12 / 12.0),
            ("bimodal:low=100us,high=2ms,share=5%", 0.95 * 1e5 + 0.05 * 2e6, 0.05 * 0.95 * 1.9e6 * 1.9e6),
        ] {
            let sample = draws(text, 11);
            let n = DRAWS as f64;
            let sample_mean = sample.iter().sum::<f64>() / n;
            let sample_variance = sample.iter().map(|x| (x - sample_mean).powi(2)).sum::<f64>() / (n - 1.0);
            assert!((sample_mean - mean).abs() < 4.0 * (variance / n).sqrt(), "{text}: {sample_mean}");
            assert!((sample_variance / variance - 1.0).abs() < 0.05, "{text}: {sample_variance}");
        }
    }

    #[test]
    fn a_seed_replays_and_another_does_not() {
        assert_eq!(draws("exponential:mean=1ms", 5), draws("exponential:mean=1ms", 5));
        assert_ne!(draws("exponential:mean=1ms", 5), draws("exponential:mean=1ms", 6));
    }

    /// One connection in closed load on a virtual clock: each request takes `service` in addition to the law's work.
    /// Returns the times from one reply to the next; `freeze` is added before every `freeze_every`-th request.
    struct ClosedLoop {
        runner: Runner,
        now: u64,
        stops: Vec<(usize, u64)>,
        replies: Vec<u64>,
    }

    impl ClosedLoop {
        fn new(text: &str) -> Self {
            let runner = Runner::new(&text.parse().unwrap());
            Self { runner, now: 1_000_000_000, stops: Vec::new(), replies: Vec::new() }
        }

        fn request(&mut self, service: u64) {
            let begun = self.now;
            let work = self.runner.next(Timestamp::from_nanos(self.now), Bytes::new(4));
            if let Work::Sleep(length) = work {
                self.stops.push((self.replies.len(), self.now));
                self.now += length.as_nanos();
                self.runner.resumed(Timestamp::from_nanos(self.now));
            }
            self.now += service;
            self.replies.push(self.now - begun);
        }

        fn wall(&self) -> u64 {
            self.now - 1_000_000_000
        }
    }

    #[test]
    fn a_periodic_stall_takes_exactly_its_share_of_a_closed_loop() {
        let service = 15_000;
        let mut load = ClosedLoop::new("periodic-stall:every=2s,length=100ms");
        while load.stops.len() < 100 {
            load.request(service);
        }
        // The rest of the last period.
        for _ in 0..950_000_000 / service {
            load.request(service);
        }
        let requests = load.replies.len() as u64;
        // 100 periods, except for the first request, which no gap precedes, and rounding to whole requests: 190 s of
        // service and 10 s of stops.
        let expected_wall = 200_000_000_000;
        assert!(load.wall().abs_diff(expected_wall) <= 3 * service, "{}", load.wall());
        let throughput = requests as f64 / load.wall() as f64 * service as f64;
        assert!((throughput - 0.95).abs() < 1e-6, "{throughput}");
        let mean = load.replies.iter().sum::<u64>() as f64 / requests as f64 / service as f64;
        assert!((mean - 1.0 / 0.95).abs() < 1e-6, "{mean}");
        let mut sorted = load.replies.clone();
        sorted.sort_unstable();
        assert_eq!(sorted[sorted.len() / 2], service, "the median does not move");
    }

    #[test]
    fn the_stops_of_a_periodic_stall_do_not_drift() {
        // 7 µs does not divide 1.9 s: the excess over a threshold must count towards the next.
        let mut load = ClosedLoop::new("periodic-stall:every=2s,length=100ms");
        while load.stops.len() < 50 {
            load.request(7_000);
        }
        for (k, &(_, at)) in load.stops.iter().enumerate() {
            let ideal = 1_000_000_000 + 950_000_000 + k as u64 * 2_000_000_000;
            assert!(at >= ideal && at - ideal < 7_000, "stop {k} at {at}, ideal {ideal}");
        }
    }

    #[test]
    fn frozen_time_counts_as_one_gap_and_no_more() {
        // 19 requests 0.1 ms apart, then a freeze of 1 s: each cycle counts 1.9 ms + 10 ms = 11.9 ms.
        let mut load = ClosedLoop::new("periodic-stall:every=2s,length=100ms");
        let mut cycles = 0;
        while load.stops.is_empty() {
            for _ in 0..19 {
                load.request(100_000);
            }
            load.now += 1_000_000_000 - 100_000;
            load.request(100_000);
            cycles += 1;
        }
        // The freeze is between the 19th and the 20th request of a cycle: its gap is exactly 1 s, counted as 10 ms; the
        // other 19 gaps are 0.1 ms. 0.95 s / 11.9 ms = 79.83, so the first stop is made in the 80th cycle.
        assert_eq!(cycles, 80);
    }

    #[test]
    fn a_smaller_gap_counts_less_of_a_freeze() {
        let mut load = ClosedLoop::new("periodic-stall:every=2s,length=100ms,gap=1ms");
        while load.stops.is_empty() {
            load.request(5_000_000);
        }
        // Every gap is 5 ms and counts 1 ms, so the first stop falls in the request after 950 gaps.
        assert_eq!(load.stops[0].0, 950);
    }

    #[test]
    fn a_single_stall_comes_once_where_it_was_asked_for() {
        let mut by_count = ClosedLoop::new("stall:requests=1000,length=1s");
        let mut by_time = ClosedLoop::new("stall:after=1s,length=1s");
        for _ in 0..10_000 {
            by_count.request(1_000_000);
            by_time.request(1_000_000);
        }
        assert_eq!(by_count.stops, vec![(1000, 2_000_000_000)]);
        assert_eq!(by_time.stops, vec![(1000, 2_000_000_000)]);
    }

    /// The delays of a law for requests that begin at these times, in microseconds.
    fn asked(text: &str, begins_us: &[u64]) -> Vec<u64> {
        let mut runner = Runner::new(&text.parse().unwrap());
        let ask = |us: &u64| runner.next(Timestamp::from_nanos(us * 1_000), Bytes::new(4)).time();
        begins_us.iter().map(ask).map(|time| time.as_nanos() / 1_000).collect()
    }

    #[test]
    fn a_trend_follows_requests_or_time_and_then_stays() {
        let begins: Vec<u64> = (0..6).map(|n| 5_000 + n * 1_000).collect();
        let falling = asked("trend:from=400us,to=100us,requests=3", &begins);
        assert_eq!(falling, [400, 300, 200, 100, 100, 100]);
        let rising = asked("trend:from=100us,to=200us,over=4ms", &begins);
        assert_eq!(rising, [100, 125, 150, 175, 200, 200]);
    }

    #[test]
    fn a_cold_probe_warms_with_requests_and_cools_in_pauses() {
        let law = "cold:idle=5ms,requests=2,cold=300us,warm=50us";
        // 5,750 begins exactly 5 ms after the end of the one before, which is not longer than `idle`; 10,801 is 1 µs
        // more.
        let begins = [0, 300, 600, 700, 5_750, 10_801, 11_101, 11_401];
        assert_eq!(asked(law, &begins), [300, 300, 50, 50, 50, 300, 300, 50]);
    }

    #[test]
    fn a_crowded_probe_is_slow_until_fewer_wait() {
        let times = |law: &str| {
            let mut runner = Runner::new(&law.parse().unwrap());
            [0, 8, 9, 8, 5, 4, 3, 8, 9].map(|waiting| {
                runner.crowd(waiting);
                runner.next(Timestamp::from_nanos(1), Bytes::new(4)).time().as_nanos()
            })
        };
        assert_eq!(times("crowded:time=10ns,above=8,factor=4.5"), [10, 10, 45, 10, 10, 10, 10, 10, 45]);
        let lasting = times("crowded:time=10ns,above=8,factor=4.5,below=4");
        assert_eq!(lasting, [10, 10, 45, 45, 45, 45, 10, 10, 45]);
        // The times of a crowd are those drawn without one.
        let (calm, slow) = ("crowded:mean=1us,above=9,factor=2", "crowded:mean=1us,above=0,factor=2,below=1");
        let doubled = times(calm).map(|time| 2 * time);
        assert_eq!(times(slow)[1..], doubled[1..]);
    }

    #[test]
    fn null_has_no_delay_and_a_cliff_delays_by_size() {
        let now = Timestamp::from_nanos(1);
        assert_eq!(Runner::new(&Law::Null).next(now, Bytes::new(4)), Work::Nothing);
        let mut cliff = Runner::new(&"cliff:above=10,step=1us".parse().unwrap());
        assert_eq!(cliff.next(now, Bytes::new(10)).time(), Nanoseconds::ZERO);
        assert_eq!(cliff.next(now, Bytes::new(11)), Work::Spin(Nanoseconds::from_micros(1)));
    }
}
