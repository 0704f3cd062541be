//! Laws as text, `kind:key=value,…`, parsed and formatted; formatted text parses to the same law.
//!
//! An unknown, missing or duplicate kind or key is an error that names it and the allowed ones.

use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;

use weighbridge_model::quantity::{Bytes, Nanoseconds, QuantityError, Ratio};

use super::{
    Bimodal, Cliff, Cold, Crowded, Distribution, Law, NanosecondsPerByte, PeriodicStall, Span, Stall,
    StallPoint, Trend, Uniform,
};

const KINDS: &str = "`null`, `constant`, `exponential`, `uniform`, `bimodal`, `stall`, `periodic-stall`, `cliff`, `trend`, `cold` or `crowded`";

/// The default seed of a law's draws.
const DEFAULT_SEED: u64 = 1;

/// Why text or values are not a law.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LawError {
    #[error("`{kind}` is no law; a law is {KINDS}")]
    UnknownKind {
        /// What was given.
        kind: String,
    },
    #[error("`{part}` in law `{kind}` is not `key=value`; write for instance `constant:time=200us`")]
    NotAPair {
        /// The law's kind.
        kind: String,
        /// What was given.
        part: String,
    },
    #[error("law `{kind}` has no use for `{key}` here; it takes each of {allowed} at most once")]
    SurplusKey {
        /// The law's kind.
        kind: String,
        /// What was given.
        key: String,
        /// The keys of this law.
        allowed: &'static str,
    },
    #[error("law `{kind}` lacks `{key}`; it takes {allowed}")]
    MissingKey {
        /// The law's kind.
        kind: String,
        /// What is missing.
        key: &'static str,
        /// The keys of this law.
        allowed: &'static str,
    },
    #[error("`{key}` of law `{kind}`: {source}")]
    Value {
        /// The law's kind.
        kind: String,
        key: &'static str,
        /// What is wrong with the value.
        source: QuantityError,
    },
    #[error("`{key}={value}` of law `{kind}` is not {wanted}")]
    Number {
        /// The law's kind.
        kind: String,
        key: &'static str,
        /// What was given.
        value: String,
        wanted: &'static str,
    },
    #[error("`low` ({low}) is longer than `high` ({high}); exchange them")]
    Order {
        /// As given.
        low: Nanoseconds,
        /// As given.
        high: Nanoseconds,
    },
    #[error("`share` is {share}; it must be from `0 %` to `100 %`")]
    Share {
        /// As given.
        share: Ratio,
    },
    #[error("a stop of {length} in every {every} cannot be; `length` must be above zero and below `every`")]
    Period {
        /// As given.
        every: Nanoseconds,
        /// As given.
        length: Nanoseconds,
    },
    #[error("a trend cannot be over in no time; `over` must be above zero")]
    NoSpan,
    #[error("`factor` is {factor}; a crowded probe is slower, so it must be a number from 1 on")]
    Factor {
        /// As given.
        factor: f64,
    },
    #[error("`below` is {below}; it must be from 1 to {most}, which is `above` and one more")]
    Below {
        /// As given.
        below: u64,
        most: u64,
    },
}

impl FromStr for Law {
    type Err = LawError;
    fn from_str(text: &str) -> Result<Self, LawError> {
        let (kind, _) = split(text);
        Ok(match kind {
            "null" => {
                Keys::read(text, "no keys")?.finish()?;
                Self::Null
            }
            "stall" => Self::Stall(read_stall(text)?),
            "periodic-stall" => Self::PeriodicStall(read_periodic_stall(text)?),
            "cliff" => Self::Cliff(read_cliff(text)?),
            "trend" => Self::Trend(read_trend(text)?),
            "cold" => Self::Cold(read_cold(text)?),
            "crowded" => Self::Crowded(read_crowded(text)?),
            _ => {
                let (distribution, seed) = read_distribution(text, Seeded::Optional)?;
                Self::Delay { distribution, seed: seed.unwrap_or(DEFAULT_SEED) }
            }
        })
    }
}

impl FromStr for Distribution {
    type Err = LawError;
    fn from_str(text: &str) -> Result<Self, LawError> {
        read_distribution(text, Seeded::Never).map(|(distribution, _)| distribution)
    }
}

/// Whether a distribution's text may end in a seed: a law's does, a bare distribution's does not.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seeded {
    Optional,
    Never,
}

fn read_distribution(text: &str, seeded: Seeded) -> Result<(Distribution, Option<u64>), LawError> {
    let (kind, _) = split(text);
    let allowed = match kind {
        "constant" => "`time`",
        "exponential" => "`mean`, `seed`",
        "uniform" => "`low`, `high`, `seed`",
        "bimodal" => "`low`, `high`, `share`, `seed`",
        _ => return Err(LawError::UnknownKind { kind: kind.to_owned() }),
    };
    let mut keys = Keys::read(text, allowed)?;
    let distribution = match kind {
        "constant" => Distribution::Constant(keys.time("time")?),
        "exponential" => Distribution::Exponential { mean: keys.time("mean")? },
        "uniform" => Distribution::Uniform(Uniform::try_new(keys.time("low")?, keys.time("high")?)?),
        _ => {
            let (low, high) = (keys.time("low")?, keys.time("high")?);
            let share: Ratio = keys.required("share")?;
            Distribution::Bimodal(Bimodal::try_new(low, high, share)?)
        }
    };
    let seed = if seeded == Seeded::Optional && kind != "constant" { keys.whole("seed")? } else { None };
    keys.finish()?;
    Ok((distribution, seed))
}

fn read_stall(text: &str) -> Result<Stall, LawError> {
    let mut keys = Keys::read(text, "`after` or `requests`, `length`")?;
    let length = keys.time("length")?;
    let at = match keys.whole("requests")? {
        Some(count) => StallPoint::AfterRequests(count),
        None => StallPoint::AfterTime(keys.time("after")?),
    };
    keys.finish()?;
    Ok(Stall { at, length })
}

fn read_periodic_stall(text: &str) -> Result<PeriodicStall, LawError> {
    let mut keys = Keys::read(text, "`every`, `length`, `gap`")?;
    let stall = PeriodicStall::try_new(keys.time("every")?, keys.time("length")?)?;
    let gap = keys.optional::<Nanoseconds>("gap")?;
    let kind = keys.kind.to_owned();
    keys.finish()?;
    let Some(gap) = gap else { return Ok(stall) };
    NonZeroU64::new(gap.as_nanos()).map(|gap| stall.with_gap(gap)).ok_or(LawError::Number {
        kind,
        key: "gap",
        value: "0".to_owned(),
        wanted: "a time above zero",
    })
}

fn read_cliff(text: &str) -> Result<Cliff, LawError> {
    let mut keys = Keys::read(text, "`above`, `step`, `base`, `slope`, `corner`, `slope_above`")?;
    let slope = keys.slope("slope")?.unwrap_or_default();
    let above = keys.required::<Bytes>("above")?;
    let cliff = Cliff {
        base: keys.optional("base")?.unwrap_or_default(),
        above,
        step: keys.optional("step")?.unwrap_or_default(),
        slope,
        corner: keys.optional("corner")?.unwrap_or(above),
        slope_above: keys.slope("slope_above")?.unwrap_or(slope),
    };
    keys.finish()?;
    Ok(cliff)
}

fn read_trend(text: &str) -> Result<Trend, LawError> {
    let mut keys = Keys::read(text, "`from`, `to`, `requests` or `over`")?;
    let (from, to) = (keys.time("from")?, keys.time("to")?);
    let span = match keys.take("requests") {
        Some(value) => Span::Requests(
            value.parse().map_err(|_| keys.wrong_number("requests", value, "a whole number above zero"))?,
        ),
        None => Span::Time(keys.time("over")?),
    };
    keys.finish()?;
    Trend::try_new(from, to, span)
}

fn read_cold(text: &str) -> Result<Cold, LawError> {
    let mut keys = Keys::read(text, "`idle`, `requests`, `cold`, `warm`")?;
    let cold = Cold {
        idle: keys.time("idle")?,
        requests: keys.required_whole("requests")?,
        cold: keys.time("cold")?,
        warm: keys.optional("warm")?.unwrap_or_default(),
    };
    keys.finish()?;
    Ok(cold)
}

fn read_crowded(text: &str) -> Result<Crowded, LawError> {
    let mut keys = Keys::read(text, "`time` or `mean` and `seed`, `above`, `factor`, `below`")?;
    let (base, seed) = match keys.optional("mean")? {
        Some(mean) => (Distribution::Exponential { mean }, keys.whole("seed")?),
        None => (Distribution::Constant(keys.time("time")?), None),
    };
    let above = keys.required_whole("above")?;
    let factor = keys.take("factor").ok_or_else(|| keys.missing("factor"))?;
    let factor = factor.parse().map_err(|_| keys.wrong_number("factor", factor, "a number from 1 on"))?;
    let below = keys.whole("below")?;
    keys.finish()?;
    let crowded = Crowded::try_new(base, seed.unwrap_or(DEFAULT_SEED), above, factor)?;
    below.map_or(Ok(crowded), |below| crowded.with_below(below))
}

/// Splits `kind:rest`.
fn split(text: &str) -> (&str, &str) {
    let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
    (kind.trim(), rest)
}

/// The pairs of one law's text, taken one by one.
struct Keys<'a> {
    kind: &'a str,
    pairs: Vec<(&'a str, &'a str)>,
    allowed: &'static str,
}

impl<'a> Keys<'a> {
    fn read(text: &'a str, allowed: &'static str) -> Result<Self, LawError> {
        let (kind, rest) = split(text);
        let pairs = rest
            .split(',')
            .filter(|part| !part.trim().is_empty())
            .map(|part| {
                let pair = part.split_once('=').map(|(key, value)| (key.trim(), value.trim()));
                pair.ok_or_else(|| LawError::NotAPair { kind: kind.to_owned(), part: part.trim().to_owned() })
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { kind, pairs, allowed })
    }

    fn take(&mut self, key: &str) -> Option<&'a str> {
        let at = self.pairs.iter().position(|(name, _)| *name == key)?;
        Some(self.pairs.remove(at).1)
    }

    fn optional<T: FromStr<Err = QuantityError>>(
        &mut self,
        key: &'static str,
    ) -> Result<Option<T>, LawError> {
        let Some(value) = self.take(key) else { return Ok(None) };
        match value.parse() {
            Ok(quantity) => Ok(Some(quantity)),
            Err(source) => Err(LawError::Value { kind: self.kind.to_owned(), key, source }),
        }
    }

    fn required<T: FromStr<Err = QuantityError>>(&mut self, key: &'static str) -> Result<T, LawError> {
        self.optional(key)?.ok_or_else(|| self.missing(key))
    }

    fn missing(&self, key: &'static str) -> LawError {
        LawError::MissingKey { kind: self.kind.to_owned(), key, allowed: self.allowed }
    }

    fn time(&mut self, key: &'static str) -> Result<Nanoseconds, LawError> {
        self.required(key)
    }

    fn whole(&mut self, key: &'static str) -> Result<Option<u64>, LawError> {
        let Some(value) = self.take(key) else { return Ok(None) };
        value.parse().map(Some).map_err(|_| self.wrong_number(key, value, "a whole number"))
    }

    fn required_whole(&mut self, key: &'static str) -> Result<u64, LawError> {
        self.whole(key)?.ok_or_else(|| self.missing(key))
    }

    fn slope(&mut self, key: &'static str) -> Result<Option<NanosecondsPerByte>, LawError> {
        let Some(value) = self.take(key) else { return Ok(None) };
        let slope = value.parse().map(Some);
        slope.map_err(|_| self.wrong_number(key, value, "a time per byte such as `0.5ns/B`"))
    }

    fn wrong_number(&self, key: &'static str, value: &str, wanted: &'static str) -> LawError {
        LawError::Number { kind: self.kind.to_owned(), key, value: value.to_owned(), wanted }
    }

    fn finish(self) -> Result<(), LawError> {
        match self.pairs.first() {
            None => Ok(()),
            Some((key, _)) => Err(LawError::SurplusKey {
                kind: self.kind.to_owned(),
                key: (*key).to_owned(),
                allowed: self.allowed,
            }),
        }
    }
}

impl fmt::Display for Law {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Delay { distribution: distribution @ Distribution::Constant(_), .. } => distribution.fmt(f),
            Self::Delay { distribution, seed } => write!(f, "{distribution},seed={seed}"),
            Self::Stall(Stall { at: StallPoint::AfterTime(after), length }) => {
                write!(f, "stall:after={},length={}", Exact(*after), Exact(*length))
            }
            Self::Stall(Stall { at: StallPoint::AfterRequests(count), length }) => {
                write!(f, "stall:requests={count},length={}", Exact(*length))
            }
            Self::PeriodicStall(PeriodicStall { every, length, gap }) => {
                write!(f, "periodic-stall:every={},length={}", Exact(*every), Exact(*length))?;
                if *gap == PeriodicStall::GAP { Ok(()) } else { write!(f, ",gap={}", Exact(*gap)) }
            }
            Self::Cliff(Cliff { base, above, step, slope, corner, slope_above }) => {
                write!(f, "cliff:above={}B,step={},base={}", above.get(), Exact(*step), Exact(*base))?;
                write!(f, ",slope={slope},corner={}B,slope_above={slope_above}", corner.get())
            }
            Self::Trend(Trend { from, to, span }) => {
                write!(f, "trend:from={},to={},", Exact(*from), Exact(*to))?;
                match span {
                    Span::Requests(count) => write!(f, "requests={count}"),
                    Span::Time(time) => write!(f, "over={}", Exact(*time)),
                }
            }
            Self::Cold(Cold { idle, requests, cold, warm }) => {
                write!(f, "cold:idle={},requests={requests}", Exact(*idle))?;
                write!(f, ",cold={},warm={}", Exact(*cold), Exact(*warm))
            }
            Self::Crowded(crowded) => crowded.fmt(f),
        }
    }
}

impl fmt::Display for Crowded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { base, seed, above, below, factor } = self;
        // The base's text without its kind.
        write!(f, "crowded:{},above={above},factor={factor}", split(&base.to_string()).1)?;
        if *below != above.saturating_add(1) {
            write!(f, ",below={below}")?;
        }
        if let Distribution::Constant(_) = base { Ok(()) } else { write!(f, ",seed={seed}") }
    }
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant(time) => write!(f, "constant:time={}", Exact(*time)),
            Self::Exponential { mean } => write!(f, "exponential:mean={}", Exact(*mean)),
            Self::Uniform(Uniform { low, high }) => {
                write!(f, "uniform:low={},high={}", Exact(*low), Exact(*high))
            }
            Self::Bimodal(Bimodal { low, high, share }) => {
                write!(f, "bimodal:low={},high={},share={}", Exact(*low), Exact(*high), share.get())
            }
        }
    }
}

/// A time in the largest unit that loses no digit, without a space; the usual format has only three digits.
struct Exact(Nanoseconds);

impl fmt::Display for Exact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.as_nanos();
        let units = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)];
        match units.into_iter().find(|(_, size)| nanos > 0 && nanos.is_multiple_of(*size)) {
            Some((unit, size)) => write!(f, "{}{unit}", nanos / size),
            None => write!(f, "{nanos}ns"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_law_reads_back_as_it_was_written() {
        for text in [
            "null",
            "constant:time=200us",
            "exponential:mean=1ms,seed=7",
            "uniform:low=100us,high=300500ns,seed=1",
            "bimodal:low=100us,high=2ms,share=0.05,seed=3",
            "stall:after=5s,length=1s",
            "stall:requests=1000,length=20ms",
            "periodic-stall:every=2s,length=100ms",
            "periodic-stall:every=2s,length=100ms,gap=1ms",
            "cliff:above=65536B,step=200us,base=1ms,slope=0.1ns/B,corner=250000B,slope_above=0.25ns/B",
            "trend:from=400us,to=100us,requests=1000",
            "trend:from=100us,to=200us,over=10s",
            "cold:idle=5ms,requests=100,cold=300us,warm=50us",
            "crowded:time=100us,above=8,factor=4",
            "crowded:time=100us,above=0,factor=1.5",
            "crowded:mean=100us,above=8,factor=2.5,below=4,seed=9",
        ] {
            let law: Law = text.parse().unwrap();
            assert_eq!(law.to_string(), text);
        }
    }

    #[test]
    fn what_is_left_out_has_a_default() {
        for (short, long) in [
            ("exponential:mean=1ms", "exponential:mean=1ms,seed=1"),
            (
                " cliff: above = 64 KiB, slope=2 ns/B",
                "cliff:above=65536B,step=0ns,base=0ns,slope=2ns/B,corner=65536B,slope_above=2ns/B",
            ),
            ("bimodal:high=2ms,low=1ms,share=50 %", "bimodal:low=1ms,high=2ms,share=0.5,seed=1"),
            ("periodic-stall:every=2s,length=100ms,gap=10ms", "periodic-stall:every=2s,length=100ms"),
            ("cold:requests=1,cold=1us,idle=1ms", "cold:idle=1ms,requests=1,cold=1us,warm=0ns"),
            ("crowded:above=8,factor=4.0,below=9,time=1us", "crowded:time=1us,above=8,factor=4"),
            ("crowded:above=8,factor=4,mean=1us", "crowded:mean=1us,above=8,factor=4,seed=1"),
        ] {
            assert_eq!(short.parse::<Law>().unwrap().to_string(), long);
        }
    }

    #[test]
    fn an_error_names_the_law_the_key_and_what_is_allowed() {
        for (text, parts) in [
            ("slow", ["`slow`", "`exponential`"]),
            ("constant", ["`constant`", "lacks `time`"]),
            ("constant:20us", ["`20us`", "`key=value`"]),
            ("constant:time=20", ["`time` of law `constant`", "`20 ms`"]),
            ("constant:time=20us,seed=1", ["`seed`", "`time` at most once"]),
            ("constant:time=20us,time=30us", ["`time`", "at most once"]),
            ("exponential:mean=1ms,seed=-1", ["`seed=-1`", "whole number"]),
            ("null:x=1", ["`x`", "no keys"]),
            ("stall:after=1s,requests=3,length=1s", ["`after`", "`length`"]),
            ("stall:length=1s", ["lacks `after`", "`requests`"]),
            ("periodic-stall:every=2s,length=2s", ["below `every`", "2.00 s"]),
            ("periodic-stall:every=2s,length=1s,gap=0ns", ["`gap=0`", "above zero"]),
            ("cliff:above=1,slope=3", ["`slope=3`", "`0.5ns/B`"]),
            ("uniform:low=2ms,high=1ms", ["`low` (2.00 ms)", "exchange"]),
            ("trend:from=1us,to=2us,requests=0", ["`requests=0`", "above zero"]),
            ("trend:from=1us,to=2us,over=0s", ["`over`", "above zero"]),
            ("trend:from=1us,to=2us", ["lacks `over`", "`requests`"]),
            ("trend:from=1us,to=2us,requests=3,over=1s", ["`over`", "at most once"]),
            ("cold:idle=1ms,cold=1us", ["lacks `requests`", "`warm`"]),
            ("crowded:above=8,factor=4", ["lacks `time`", "`mean`"]),
            ("crowded:time=1us,factor=4", ["lacks `above`", "`below`"]),
            ("crowded:time=1us,above=8", ["lacks `factor`", "`above`"]),
            ("crowded:time=1us,above=8,factor=x", ["`factor=x`", "from 1 on"]),
            ("crowded:time=1us,above=8,factor=0.5", ["`factor` is 0.5", "from 1 on"]),
            ("crowded:time=1us,above=8,factor=inf", ["`factor` is inf", "from 1 on"]),
            ("crowded:time=1us,above=8,factor=4,below=10", ["`below` is 10", "from 1 to 9"]),
            ("crowded:time=1us,above=8,factor=4,below=0", ["`below` is 0", "from 1 to 9"]),
            ("crowded:time=1us,above=8,factor=4,seed=2", ["`seed`", "at most once"]),
            ("crowded:time=1us,mean=1us,above=8,factor=4", ["`time`", "at most once"]),
            ("bimodal:low=1ms,high=2ms,share=150%", ["150 %", "`100 %`"]),
        ] {
            let message = text.parse::<Law>().unwrap_err().to_string();
            assert!(parts.iter().all(|part| message.contains(part)), "{text}: {message}");
        }
    }

    #[test]
    fn a_bare_distribution_takes_no_seed() {
        let expected = Distribution::Exponential { mean: Nanoseconds::from_micros(5) };
        assert_eq!("exponential:mean=5us".parse(), Ok(expected));
        assert!("exponential:mean=5us,seed=1".parse::<Distribution>().is_err());
    }
}
