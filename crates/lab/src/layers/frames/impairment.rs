//! What the packet relay does to the frames of one direction: delay, jitter, loss, a limit of its queue.
//! Reads and writes `key=value,…`; what it writes reads back as the same value.
//!
//! Unknown keys, keys given twice, and values that contradict each other are errors that name what is
//! allowed.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use weighbridge_model::experiment::Bursts;
use weighbridge_model::quantity::{Nanoseconds, QuantityError, Ratio};

/// How a direction without keys is written.
const NULL: &str = "null";
const KEYS: &str = "`delay`, `jitter`, `distribution`, `loss`, `p`, `r`, `bad`, `good`, `order` and `limit`";

/// The longest delay. A minute exceeds every path on Earth; a longer value is most likely a wrong unit.
pub const LONGEST_DELAY: Nanoseconds = Nanoseconds::from_secs(60);

/// Default number of frames that one direction may hold. netem gets as many for the same layers: a second of
/// full frames at 1 Gbit/s. (netem's own default of 1000 turns a long delay into loss at modest rates.)
pub const DEFAULT_LIMIT: NonZeroU32 = NonZeroU32::new(100_000).unwrap();

/// The highest limit of a direction; each waiting frame takes at least one page of memory.
pub const HIGHEST_LIMIT: u32 = 1_000_000;

/// Smallest ratio of the mean of a normal delay to its deviation. Fewer than 14 in 10,000 draws are more than
/// three deviations below the mean, and only those are cut at zero.
const DEVIATIONS: u64 = 3;

/// Invalid text or values for an impairment.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ImpairmentError {
    #[error("`{part}` is not `key=value`; write for instance `delay=1ms,jitter=200us,loss=1%`, or `null`")]
    NotAPair {
        /// What was given.
        part: String,
    },
    #[error("`{key}` is nothing that can be done to frames; there are {KEYS}")]
    UnknownKey {
        /// What was given.
        key: String,
    },
    #[error("`{key}` is given twice; give it once")]
    Twice { key: &'static str },
    #[error("`{key}`: {source}")]
    Value {
        key: &'static str,
        /// What is wrong with it.
        source: QuantityError,
    },
    #[error("`{key}={value}`: {key} must be {wanted}")]
    Choice {
        key: &'static str,
        /// What was given.
        value: String,
        /// What is allowed.
        wanted: &'static str,
    },
    #[error("a delay of {delay} is beyond the longest, {LONGEST_DELAY}; check its unit")]
    TooLong {
        /// As given.
        delay: Nanoseconds,
    },
    #[error(
        "a delay of {delay} ± {jitter} would let frames leave before they came; `jitter` must be at most {most} \
         with this `delay` and distribution `{distribution}`"
    )]
    Jitter {
        /// As given.
        delay: Nanoseconds,
        /// As given.
        jitter: Nanoseconds,
        /// What the jitter may be.
        most: Nanoseconds,
        /// The law of the jitter.
        distribution: Distribution,
    },
    #[error("`loss` is {loss}; it must be from `0 %` to `100 %`")]
    Loss {
        /// As given.
        loss: Ratio,
    },
    #[error("{why}; bursts have `p` and `r`, and may have `bad` and `good`, without `loss`")]
    Bursts {
        /// Which value is wrong, and what is allowed.
        why: String,
    },
    #[error("`distribution` says nothing without `jitter`; give `jitter` too, or leave both out")]
    DistributionAlone,
}

/// The law of the jitter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Distribution {
    /// Evenly from delay − jitter to delay + jitter.
    #[default]
    Uniform,
    /// Normal about the delay with the jitter as standard deviation, cut at zero.
    Normal,
}

/// The delays of frames, drawn around a middle.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Delay {
    time: Nanoseconds,
    jitter: Nanoseconds,
    distribution: Distribution,
}

impl Delay {
    /// `time` ± `jitter`; with a jitter of zero, always `time`.
    pub fn try_new(
        time: Nanoseconds,
        jitter: Nanoseconds,
        distribution: Distribution,
    ) -> Result<Self, ImpairmentError> {
        if time > LONGEST_DELAY {
            return Err(ImpairmentError::TooLong { delay: time });
        }
        let most = match distribution {
            Distribution::Uniform => time,
            Distribution::Normal => time / DEVIATIONS,
        };
        if jitter > most {
            return Err(ImpairmentError::Jitter { delay: time, jitter, most, distribution });
        }
        // Without jitter the distribution has no meaning, so it is normalised to make equal delays compare
        // equal.
        let distribution = if jitter == Nanoseconds::ZERO { Distribution::default() } else { distribution };
        Ok(Self { time, jitter, distribution })
    }

    /// The middle.
    pub const fn time(self) -> Nanoseconds {
        self.time
    }
    /// Half the width (uniform) or the standard deviation (normal); zero if all frames are delayed alike.
    pub const fn jitter(self) -> Nanoseconds {
        self.jitter
    }
    /// The law of the jitter.
    pub const fn distribution(self) -> Distribution {
        self.distribution
    }
}

/// Whether frames keep the order of their arrival.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Order {
    /// A frame with a short delay waits behind one with a long delay, as on a path with queues.
    #[default]
    Kept,
    /// Each frame leaves when its own delay is over, as in netem with jitter.
    Free,
}

/// What is done to the frames of one direction. The default passes frames unchanged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Impairment {
    delay: Delay,
    loss: Ratio,
    /// The law of the loss if frames are lost in bursts.
    bursts: Option<Bursts>,
    /// Whether the order is kept.
    pub order: Order,
    /// How many frames may wait at once; further frames are dropped and counted.
    limit: NonZeroU32,
}

impl Default for Impairment {
    fn default() -> Self {
        Self {
            delay: Delay::default(),
            loss: Ratio::new(0.0),
            bursts: None,
            order: Order::Kept,
            limit: DEFAULT_LIMIT,
        }
    }
}

impl Impairment {
    /// Delays frames, and loses each independently with probability `loss`.
    pub fn try_new(delay: Delay, loss: Ratio) -> Result<Self, ImpairmentError> {
        if !(0.0..=1.0).contains(&loss.get()) {
            return Err(ImpairmentError::Loss { loss });
        }
        Ok(Self { delay, loss, ..Self::default() })
    }

    /// Delays frames, and loses them in bursts.
    pub fn with_bursts(delay: Delay, bursts: Bursts) -> Result<Self, ImpairmentError> {
        let Bursts { p, r, bad, good } = bursts;
        let bursts = Bursts::try_new(p, r, bad, good)
            .map_err(|(key, why)| ImpairmentError::Bursts { why: format!("`{key}`: {why}") })?;
        Ok(Self { delay, loss: bursts.share(), bursts: Some(bursts), ..Self::default() })
    }

    /// The delay of its frames.
    pub const fn delay(&self) -> Delay {
        self.delay
    }
    /// The law by which frames are lost in bursts; `None` if each is lost independently.
    pub const fn bursts(&self) -> Option<Bursts> {
        self.bursts
    }
    /// The share of frames that are lost in the long run, from 0 to 1.
    pub const fn loss(&self) -> Ratio {
        self.loss
    }
    /// How many frames may wait at once.
    pub const fn limit(&self) -> NonZeroU32 {
        self.limit
    }
    /// Whether frames pass unchanged.
    pub fn is_null(&self) -> bool {
        self.delay.time == Nanoseconds::ZERO && self.loss.get() == 0.0
    }
}

/// The values given for each key.
#[derive(Default)]
struct Given {
    delay: Option<Nanoseconds>,
    jitter: Option<Nanoseconds>,
    distribution: Option<Distribution>,
    loss: Option<Ratio>,
    /// `p`, `r`, `bad` and `good`.
    bursts: [Option<Ratio>; 4],
    order: Option<Order>,
    limit: Option<NonZeroU32>,
}

impl Given {
    fn take(&mut self, key: &str, value: &str) -> Result<(), ImpairmentError> {
        match key {
            "delay" => set("delay", &mut self.delay, quantity("delay", value)?),
            "jitter" => set("jitter", &mut self.jitter, quantity("jitter", value)?),
            "loss" => set("loss", &mut self.loss, quantity("loss", value)?),
            "p" => set("p", &mut self.bursts[0], quantity("p", value)?),
            "r" => set("r", &mut self.bursts[1], quantity("r", value)?),
            "bad" => set("bad", &mut self.bursts[2], quantity("bad", value)?),
            "good" => set("good", &mut self.bursts[3], quantity("good", value)?),
            "distribution" => set(
                "distribution",
                &mut self.distribution,
                match value {
                    "uniform" => Distribution::Uniform,
                    "normal" => Distribution::Normal,
                    _ => return Err(choice("distribution", value, "`uniform` or `normal`")),
                },
            ),
            "order" => set(
                "order",
                &mut self.order,
                match value {
                    "kept" => Order::Kept,
                    "free" => Order::Free,
                    _ => return Err(choice("order", value, "`kept` or `free`")),
                },
            ),
            "limit" => {
                let limit = value.parse().ok().filter(|limit: &NonZeroU32| limit.get() <= HIGHEST_LIMIT);
                let limit =
                    limit.ok_or_else(|| choice("limit", value, "a number of frames from 1 to 1000000"))?;
                set("limit", &mut self.limit, limit)
            }
            _ => Err(ImpairmentError::UnknownKey { key: key.to_owned() }),
        }
    }
}

impl Given {
    /// The impairment of a delay with the given loss.
    fn impairment(&self, delay: Delay) -> Result<Impairment, ImpairmentError> {
        match (self.loss, self.bursts) {
            (loss, [None, None, None, None]) => Impairment::try_new(delay, loss.unwrap_or(Ratio::new(0.0))),
            (None, [Some(p), Some(r), bad, good]) => {
                let (bad, good) = (bad.unwrap_or(Ratio::new(1.0)), good.unwrap_or(Ratio::new(0.0)));
                Impairment::with_bursts(delay, Bursts { p, r, bad, good })
            }
            (Some(_), _) => {
                Err(ImpairmentError::Bursts { why: "`loss` stands beside a key of bursts".to_owned() })
            }
            _ => Err(ImpairmentError::Bursts { why: "`p` or `r` is missing".to_owned() }),
        }
    }
}

fn set<T>(key: &'static str, place: &mut Option<T>, value: T) -> Result<(), ImpairmentError> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(ImpairmentError::Twice { key }),
    }
}

fn quantity<T: FromStr<Err = QuantityError>>(key: &'static str, value: &str) -> Result<T, ImpairmentError> {
    value.parse().map_err(|source| ImpairmentError::Value { key, source })
}

fn choice(key: &'static str, value: &str, wanted: &'static str) -> ImpairmentError {
    ImpairmentError::Choice { key, value: value.to_owned(), wanted }
}

impl FromStr for Impairment {
    type Err = ImpairmentError;
    fn from_str(text: &str) -> Result<Self, ImpairmentError> {
        let mut given = Given::default();
        if text.trim() != NULL {
            for part in text.split(',') {
                let pair = part.split_once('=');
                let (key, value) = pair.ok_or_else(|| ImpairmentError::NotAPair { part: part.to_owned() })?;
                given.take(key.trim(), value.trim())?;
            }
        }
        if given.distribution.is_some() && given.jitter.is_none() {
            return Err(ImpairmentError::DistributionAlone);
        }
        let delay = Delay::try_new(
            given.delay.unwrap_or_default(),
            given.jitter.unwrap_or_default(),
            given.distribution.unwrap_or_default(),
        )?;
        let impairment = given.impairment(delay)?;
        let (order, limit) = (given.order.unwrap_or_default(), given.limit.unwrap_or(DEFAULT_LIMIT));
        Ok(Self { order, limit, ..impairment })
    }
}

impl fmt::Display for Impairment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        let Delay { time, jitter, distribution } = self.delay;
        if time > Nanoseconds::ZERO {
            parts.push(format!("delay={}ns", time.as_nanos()));
        }
        if jitter > Nanoseconds::ZERO {
            parts.push(format!("jitter={}ns,distribution={distribution}", jitter.as_nanos()));
        }
        if let Some(Bursts { p, r, bad, good }) = self.bursts {
            parts.push(format!("p={},r={},bad={},good={}", p.get(), r.get(), bad.get(), good.get()));
        } else if self.loss.get() > 0.0 {
            parts.push(format!("loss={}", self.loss.get()));
        }
        if self.order == Order::Free {
            parts.push("order=free".to_owned());
        }
        if self.limit != DEFAULT_LIMIT {
            parts.push(format!("limit={}", self.limit));
        }
        f.pad(&if parts.is_empty() { NULL.to_owned() } else { parts.join(",") })
    }
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Uniform => "uniform",
            Self::Normal => "normal",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn refusal(text: &str) -> String {
        text.parse::<Impairment>().expect_err(text).to_string()
    }

    #[test]
    fn an_impairment_is_read_key_by_key_in_any_order() {
        let impairment: Impairment =
            " loss = 1 %, limit=7,jitter=300us ,delay=1 ms,order=free,distribution=normal".parse().unwrap();
        assert_eq!(impairment.delay().time(), Nanoseconds::from_millis(1));
        assert_eq!(impairment.delay().jitter(), Nanoseconds::from_micros(300));
        assert_eq!(impairment.delay().distribution(), Distribution::Normal);
        assert_eq!(
            (impairment.loss().get(), impairment.limit().get(), impairment.order),
            (0.01, 7, Order::Free)
        );
        assert!(!impairment.is_null());
        assert_eq!("null".parse(), Ok(Impairment::default()));
        assert!(Impairment::default().is_null());
        assert!(!"loss=0.1".parse::<Impairment>().unwrap().is_null());
        // Without jitter a distribution has no effect.
        assert_eq!("delay=1ms,jitter=0us,distribution=normal".parse::<Impairment>(), "delay=1ms".parse());
    }

    #[test]
    fn invalid_values_are_refused_with_what_is_allowed() {
        for (text, complaint) in [
            ("", "`` is not `key=value`; write for instance `delay=1ms,jitter=200us,loss=1%`, or `null`"),
            (
                "delay",
                "`delay` is not `key=value`; write for instance `delay=1ms,jitter=200us,loss=1%`, or `null`",
            ),
            (
                "rate=1",
                "`rate` is nothing that can be done to frames; there are `delay`, `jitter`, `distribution`, `loss`, \
                 `p`, `r`, `bad`, `good`, `order` and `limit`",
            ),
            ("delay=1ms,delay=2ms", "`delay` is given twice; give it once"),
            ("delay=5", "`delay`: `5` is not a time such as `250 us`, `20 ms`, `1.5 s`, `10 min` or `1 h`"),
            ("delay=61s", "a delay of 61.0 s is beyond the longest, 60.0 s; check its unit"),
            (
                "delay=1ms,jitter=2ms",
                "a delay of 1.00 ms ± 2.00 ms would let frames leave before they came; `jitter` must be at most 1.00 ms \
                 with this `delay` and distribution `uniform`",
            ),
            (
                "delay=3ms,jitter=2ms,distribution=normal",
                "a delay of 3.00 ms ± 2.00 ms would let frames leave before they came; `jitter` must be at most 1.00 ms \
                 with this `delay` and distribution `normal`",
            ),
            ("loss=101%", "`loss` is 101 %; it must be from `0 %` to `100 %`"),
            (
                "delay=1ms,distribution=normal",
                "`distribution` says nothing without `jitter`; give `jitter` too, or leave both out",
            ),
            (
                "delay=1ms,jitter=1us,distribution=pareto",
                "`distribution=pareto`: distribution must be `uniform` or `normal`",
            ),
            (
                "loss=1%,p=1%,r=9%",
                "`loss` stands beside a key of bursts; bursts have `p` and `r`, and may have `bad` and `good`, without \
                 `loss`",
            ),
            (
                "p=1%,bad=9%",
                "`p` or `r` is missing; bursts have `p` and `r`, and may have `bad` and `good`, without `loss`",
            ),
            (
                "p=1%,r=0%",
                "`r`: 0 % must be above 0 % and at most 100 %; bursts have `p` and `r`, and may have `bad` and \
                 `good`, without `loss`",
            ),
            ("order=mixed", "`order=mixed`: order must be `kept` or `free`"),
            ("limit=0", "`limit=0`: limit must be a number of frames from 1 to 1000000"),
            ("limit=1000001", "`limit=1000001`: limit must be a number of frames from 1 to 1000000"),
        ] {
            assert_eq!(refusal(text), complaint, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(
            time in 0..60_000_000_000_u64,
            share in 0.0..=1.0_f64,
            normal: bool,
            loss in 0.0..=1.0_f64,
            bursts in prop::option::of((0.001..=1.0_f64, 0.001..=1.0_f64, 0.001..=1.0_f64, 0.0..=1.0_f64)),
            free: bool,
            limit in 1..=HIGHEST_LIMIT,
        ) {
            let distribution = if normal { Distribution::Normal } else { Distribution::Uniform };
            let most = if normal { time / DEVIATIONS } else { time };
            let jitter = Nanoseconds::from_nanos((most as f64 * share) as u64);
            let delay = Delay::try_new(Nanoseconds::from_nanos(time), jitter, distribution).unwrap();
            let share = Ratio::new;
            let impairment = match bursts {
                None => Impairment::try_new(delay, Ratio::new(loss)),
                Some((p, r, bad, good)) => {
                    let bursts = Bursts { p: share(p), r: share(r), bad: share(bad), good: share(good * bad) };
                    Impairment::with_bursts(delay, bursts)
                }
            };
            let impairment = Impairment {
                order: if free { Order::Free } else { Order::Kept },
                limit: NonZeroU32::new(limit).unwrap(),
                ..impairment.unwrap()
            };
            prop_assert_eq!(impairment.to_string().parse::<Impairment>(), Ok(impairment));
        }
    }
}
