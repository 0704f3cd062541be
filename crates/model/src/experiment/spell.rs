//! Shapes of load as short text, read and written: `ramp:1000/s..5000/s over 30s`, `exponential:mean=10ms`.
//!
//! The experiment file and the command line use the same text. What is written reads back as the same value.
//! An error shows the right form.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use super::shape::{Arrivals, Profile, RateStep, SessionLength, Think};
use crate::quantity::{Nanoseconds, PerSecond, Ratio};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ShapeError(String);

const PROFILES: &str = "`steps:1000/s for 10s, 2000/s for 10s`, `ramp:1000/s..5000/s over 30s`, \
    `sine:3000/s +- 1000/s every 10s` or `burst:1000/s..5000/s for 200ms every 2s`";

const ARRIVALS: &str =
    "`poisson`, `constant`, `jitter`, `jitter:20%`, `gpd:k=0.154971` or `fb_ia`, which is the same";

const THINKS: &str = "`10ms`, `exponential:mean=10ms` or `uniform:low=5ms,high=15ms`";

const LENGTHS: &str = "`10`, `geometric:mean=10` or `workload`";

type Parsed<T> = Result<T, ShapeError>;

fn wrong<T>(text: &str, what: &str, forms: &str) -> Parsed<T> {
    Err(ShapeError(format!("`{text}` is not {what}; write {forms}")))
}

/// Parses a part of `whole` as a quantity; the error quotes `whole`.
fn quantity<T: FromStr<Err: fmt::Display>>(whole: &str, part: &str) -> Parsed<T> {
    part.trim().parse().map_err(|error: T::Err| ShapeError(format!("`{whole}`: {error}")))
}

fn time_above_zero(whole: &str, part: &str) -> Parsed<Nanoseconds> {
    match quantity(whole, part)? {
        Nanoseconds::ZERO => {
            let part = part.trim();
            Err(ShapeError(format!("`{whole}`: the time `{part}` must be above zero, such as `10s`")))
        }
        time => Ok(time),
    }
}

impl FromStr for Profile {
    type Err = ShapeError;
    fn from_str(text: &str) -> Parsed<Self> {
        let not_one = || wrong(text, "a profile", PROFILES);
        let Some((kind, rest)) = text.split_once(':') else { return not_one() };
        let profile = match kind.trim() {
            "constant" => Some(Self::Constant { rate: quantity(text, rest)? }),
            "steps" => {
                let step = |part: &str| -> Parsed<Option<RateStep>> {
                    let Some((rate, lasts)) = part.split_once(" for ") else { return Ok(None) };
                    Ok(Some(RateStep { rate: quantity(text, rate)?, lasts: time_above_zero(text, lasts)? }))
                };
                let steps = rest.split(',').map(step).collect::<Parsed<Option<Vec<_>>>>()?;
                steps.map(|steps| Self::Steps { steps })
            }
            "ramp" => match split3(rest, "..", " over ") {
                Some((from, to, over)) => Some(Self::Ramp {
                    from: quantity(text, from)?,
                    to: quantity(text, to)?,
                    over: time_above_zero(text, over)?,
                }),
                None => None,
            },
            "sine" => match split3(rest, "+-", " every ").or_else(|| split3(rest, "±", " every ")) {
                Some((mean, amplitude, period)) => Some(Self::Sine {
                    mean: quantity(text, mean)?,
                    amplitude: quantity(text, amplitude)?,
                    period: time_above_zero(text, period)?,
                }),
                None => None,
            },
            "burst" => read_burst(text, rest)?,
            _ => None,
        };
        let Some(profile) = profile else { return not_one() };
        profile.check().map_err(|message| ShapeError(format!("`{text}`: {message}")))?;
        Ok(profile)
    }
}

fn read_burst(text: &str, rest: &str) -> Parsed<Option<Profile>> {
    let Some((base, peak, times)) = split3(rest, "..", " for ") else { return Ok(None) };
    let Some((length, every)) = times.split_once(" every ") else { return Ok(None) };
    Ok(Some(Profile::Burst {
        base: quantity(text, base)?,
        peak: quantity(text, peak)?,
        length: time_above_zero(text, length)?,
        every: time_above_zero(text, every)?,
    }))
}

/// `a<first>b<second>c` as its three parts.
fn split3<'a>(text: &'a str, first: &str, second: &str) -> Option<(&'a str, &'a str, &'a str)> {
    let (a, rest) = text.split_once(first)?;
    let (b, c) = rest.split_once(second)?;
    Some((a, b, c))
}

/// A rate that reads back as the same number.
fn rate(rate: PerSecond) -> String {
    format!("{}/s", rate.get())
}

fn time(time: Nanoseconds) -> String {
    format!("{}ns", time.as_nanos())
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant { rate: at } => write!(f, "constant:{}", rate(*at)),
            Self::Steps { steps } => {
                let steps: Vec<_> = steps
                    .iter()
                    .map(|step| format!("{} for {}", rate(step.rate), time(step.lasts)))
                    .collect();
                write!(f, "steps:{}", steps.join(", "))
            }
            Self::Ramp { from, to, over } => {
                write!(f, "ramp:{}..{} over {}", rate(*from), rate(*to), time(*over))
            }
            Self::Sine { mean, amplitude, period } => {
                write!(f, "sine:{} +- {} every {}", rate(*mean), rate(*amplitude), time(*period))
            }
            Self::Burst { base, peak, every, length } => {
                write!(
                    f,
                    "burst:{}..{} for {} every {}",
                    rate(*base),
                    rate(*peak),
                    time(*length),
                    time(*every)
                )
            }
        }
    }
}

impl Profile {
    /// For people, with rounded figures: `ramp 1000/s to 5000/s over 30.0 s`.
    pub fn words(&self) -> String {
        match self {
            Self::Constant { rate } => rate.to_string(),
            Self::Steps { steps } => match &steps[..] {
                [first, .., last] => format!("{} steps from {} to {}", steps.len(), first.rate, last.rate),
                _ => format!("a step of {}", self.peak()),
            },
            Self::Ramp { from, to, over } => format!("ramp {from} to {to} over {over}"),
            Self::Sine { mean, amplitude, period } => format!("sine {mean} ± {amplitude} every {period}"),
            Self::Burst { base, peak, every, length } => {
                format!("{base}, bursts of {peak} for {length} every {every}")
            }
        }
    }
}

impl FromStr for Arrivals {
    type Err = ShapeError;
    fn from_str(text: &str) -> Parsed<Self> {
        match text.trim() {
            "poisson" => Ok(Self::Poisson),
            "constant" => Ok(Self::Constant),
            "jitter" => Ok(Self::Jitter(Self::JITTER)),
            "fb_ia" => Ok(Self::Gpd(Self::FB_IA)),
            other => match (other.strip_prefix("jitter:"), other.strip_prefix("gpd:k=")) {
                (Some(share), _) => Self::jitter(quantity(text, share)?).map_err(ShapeError),
                (None, Some(shape)) => Self::gpd(shape).map_err(ShapeError),
                (None, None) => wrong(text, "a law of arrivals", ARRIVALS),
            },
        }
    }
}

impl Arrivals {
    /// Jitter by this share of a gap in either direction.
    ///
    /// Errors: in words, if the share is not above 0 and at most one half.
    pub fn jitter(share: Ratio) -> Result<Self, String> {
        if share.get() > 0.0 && share.get() <= 0.5 {
            Ok(Self::Jitter(share))
        } else {
            Err(format!(
                "jitter of `{share}` must be above 0 % and at most 50 % of a gap: beyond it the order would not stay"
            ))
        }
    }

    /// Gaps by the generalized Pareto law of this shape.
    fn gpd(shape: &str) -> Result<Self, String> {
        match shape.trim().parse() {
            Ok(shape) if (0.0..0.5).contains(&shape) => Ok(Self::Gpd(shape)),
            _ => Err(format!(
                "the shape `k={shape}` must be from 0, the exponential law, to below 0.5: beyond it gaps have no variance"
            )),
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Constant => "constant",
            Self::Jitter(_) => "jitter",
            Self::Poisson => "poisson",
            Self::Gpd(_) => "gpd",
        }
    }
}

impl fmt::Display for Arrivals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Jitter(share) => write!(f, "jitter:{}", share.get()),
            Self::Gpd(shape) => write!(f, "gpd:k={shape}"),
            other => f.write_str(other.name()),
        }
    }
}

impl FromStr for Think {
    type Err = ShapeError;
    fn from_str(text: &str) -> Parsed<Self> {
        let Some((law, rest)) = text.split_once(':') else {
            return match text.trim().parse::<Nanoseconds>() {
                Ok(Nanoseconds::ZERO) => Ok(Self::None),
                Ok(time) => Ok(Self::Constant { time }),
                Err(_) => wrong(text, "a think time", THINKS),
            };
        };
        match (law.trim(), &pairs(rest)[..]) {
            ("exponential", [("mean", mean)]) => Self::exponential(quantity(text, mean)?).map_err(ShapeError),
            ("uniform", [("low", low), ("high", high)] | [("high", high), ("low", low)]) => {
                Self::uniform(quantity(text, low)?, quantity(text, high)?).map_err(ShapeError)
            }
            _ => wrong(text, "a think time", THINKS),
        }
    }
}

impl Think {
    pub fn exponential(mean: Nanoseconds) -> Result<Self, String> {
        if mean == Nanoseconds::ZERO {
            return Err("the mean think time must be above zero; leave `think` out for none".to_owned());
        }
        Ok(Self::Exponential { mean })
    }

    pub fn uniform(low: Nanoseconds, high: Nanoseconds) -> Result<Self, String> {
        if low >= high {
            return Err(format!("`low` ({low}) must be below `high` ({high}) in a uniform think time"));
        }
        Ok(Self::Uniform { low, high })
    }
}

fn pairs(text: &str) -> Vec<(&str, &str)> {
    text.split(',')
        .map(|part| part.split_once('=').unwrap_or((part, "")))
        .map(|(key, value)| (key.trim(), value.trim()))
        .collect()
}

impl fmt::Display for Think {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("0ns"),
            Self::Constant { time: of } => f.write_str(&time(*of)),
            Self::Exponential { mean } => write!(f, "exponential:mean={}", time(*mean)),
            Self::Uniform { low, high } => write!(f, "uniform:low={},high={}", time(*low), time(*high)),
        }
    }
}

impl FromStr for SessionLength {
    type Err = ShapeError;
    fn from_str(text: &str) -> Parsed<Self> {
        let trimmed = text.trim();
        if trimmed == "workload" {
            return Ok(Self::Workload);
        }
        if let Some(rest) = trimmed.strip_prefix("geometric:") {
            if let [("mean", mean)] = pairs(rest)[..]
                && let Ok(mean) = mean.parse::<f64>()
            {
                return Self::geometric(mean).map_err(ShapeError);
            }
            return wrong(text, "a length of sessions", LENGTHS);
        }
        match trimmed.parse::<NonZeroU32>() {
            Ok(operations) if operations.get() <= 1_000_000 => Ok(Self::Fixed { operations }),
            _ => wrong(text, "a length of sessions", LENGTHS),
        }
    }
}

impl SessionLength {
    /// Errors: in words, if the mean is not from 1 to a million.
    pub fn geometric(mean: f64) -> Result<Self, String> {
        if (1.0..=1e6).contains(&mean) {
            Ok(Self::Geometric { mean })
        } else {
            Err(format!("a mean of `{mean}` operations must be from 1 to 1000000"))
        }
    }
}

impl fmt::Display for SessionLength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Workload => f.write_str("workload"),
            Self::Fixed { operations } => write!(f, "{operations}"),
            Self::Geometric { mean } => write!(f, "geometric:mean={mean}"),
        }
    }
}
