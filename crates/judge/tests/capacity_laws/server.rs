//! Queues in virtual time: requests of a Poisson process, served first come, first served.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use weighbridge_model::id::OperationId;
use weighbridge_model::quantity::{Nanoseconds, Timestamp};
use weighbridge_model::record::{ErrorKind, Outcome, RequestRecord};

pub const START: Timestamp = Timestamp::from_nanos(1_000_000_000);

/// A law of service times, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Law {
    Exponential {
        mean: f64,
    },
    Constant {
        mean: f64,
    },
    /// A share of long ones among short ones.
    Bimodal {
        short: f64,
        long: f64,
        share: f64,
    },
}

/// What a service does beside serving.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Habit {
    None,
    /// Slower by this factor while more than so many wait.
    Crowded {
        above: usize,
        factor: f64,
    },
    /// After this much time without a request the next one takes so long.
    Cold {
        after: f64,
        takes: f64,
    },
    /// While more than so many wait, requests are refused.
    Sheds {
        above: usize,
    },
    /// Above this rate it stands still for so long in every tenth of a second.
    Stalls {
        beyond: f64,
        lasting: f64,
    },
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Service {
    pub law: Law,
    pub servers: usize,
    pub habit: Habit,
}

/// A life of a service.
pub struct Server {
    service: Service,
    /// By which its service times are longer than the law's.
    slower: f64,
    random: ChaCha8Rng,
    requests: Vec<RequestRecord>,
}

impl Law {
    /// E Sⁿ for n = 1, 2.
    pub fn moment(&self, n: i32) -> f64 {
        match *self {
            Self::Exponential { mean } => mean.powi(n) * f64::from(n),
            Self::Constant { mean } => mean.powi(n),
            Self::Bimodal { short, long, share } => (1.0 - share) * short.powi(n) + share * long.powi(n),
        }
    }

    fn draw(&self, random: &mut ChaCha8Rng) -> f64 {
        match *self {
            Self::Exponential { mean } => mean * exponential(random),
            Self::Constant { mean } => mean,
            Self::Bimodal { short, long, share } => {
                if random.random::<f64>() < share {
                    long
                } else {
                    short
                }
            }
        }
    }
}

fn exponential(random: &mut ChaCha8Rng) -> f64 {
    -(1.0 - random.random::<f64>()).ln()
}

fn normal(random: &mut ChaCha8Rng) -> f64 {
    (2.0 * exponential(random)).sqrt() * (std::f64::consts::TAU * random.random::<f64>()).cos()
}

impl Server {
    pub fn start(service: Service, starts: f64, random: &mut ChaCha8Rng) -> Self {
        let slower = (starts * normal(random)).exp();
        Self { service, slower, random: ChaCha8Rng::seed_from_u64(random.random()), requests: Vec::new() }
    }

    /// Requests it serves a second when it never waits for any.
    pub fn pace(&self) -> f64 {
        self.service.servers as f64 / (self.service.law.moment(1) * self.slower)
    }

    /// A step that begins with an empty queue.
    pub fn requests(&mut self, rate: f64, length: Nanoseconds) -> &[RequestRecord] {
        let length = length.as_secs_f64();
        let mut dues = Vec::with_capacity((rate * length * 1.1) as usize);
        let mut at = 0.0;
        loop {
            at += exponential(&mut self.random) / rate;
            if at >= length {
                break;
            }
            dues.push(at);
        }
        self.requests.clear();
        self.serve(rate, &dues);
        &self.requests
    }

    fn serve(&mut self, rate: f64, dues: &[f64]) {
        let mut free = vec![0.0_f64; self.service.servers];
        let mut begun = Vec::new();
        let mut come = 0;
        for (at, due) in dues.iter().copied().enumerate() {
            let server = (0..free.len()).min_by(|a, b| free[*a].total_cmp(&free[*b])).expect("a server");
            let mut start = free[server].max(due);
            let mut time = self.service.law.draw(&mut self.random) * self.slower;
            let mut outcome = Outcome::Ok;
            match self.service.habit {
                Habit::None => {}
                Habit::Crowded { above, factor } => {
                    come = come.max(at);
                    come += dues[come..].iter().take_while(|due| **due <= start).count();
                    time *= if come - at > above { factor } else { 1.0 };
                }
                Habit::Cold { after, takes } => {
                    time = if due - free[server] > after { takes } else { time };
                }
                Habit::Sheds { above } => {
                    begun.retain(|begun| *begun > due);
                    if begun.len() > above {
                        outcome = Outcome::Error(ErrorKind::Status);
                    } else {
                        begun.push(start);
                    }
                }
                Habit::Stalls { beyond, lasting } => {
                    let phase = (10.0 * start).fract() / 10.0;
                    if rate > beyond && phase < lasting {
                        start += lasting - phase;
                    }
                }
            }
            let done = if outcome == Outcome::Ok { start + time } else { due + 1e-6 };
            if outcome == Outcome::Ok {
                free[server] = done;
            }
            self.requests.push(request(due, done, outcome));
        }
    }
}

fn request(due: f64, done: f64, outcome: Outcome) -> RequestRecord {
    let moment = |seconds: f64| START + Nanoseconds::from_secs_f64(seconds);
    RequestRecord {
        due: moment(due),
        sent: moment(due),
        done: moment(done),
        operation: OperationId(0),
        outcome,
    }
}
