//! Laws of the lengths of keys and values in mutilate's language, and laws of popularity: short text, read and written.
//!
//! What is written reads back as the same value. Numbers are drawn elsewhere.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::quantity::Ratio;

/// Longest key of memcached.
pub const KEY_MOST: u32 = 250;
/// Longest value: memcached refuses items of more than 1 MiB.
pub const VALUE_MOST: u32 = 1_000_000;

const LENGTHS: &str = "`16`, `fixed:16`, `uniform:1,100`, `normal:30,8`, `exponential:0.01` (mean 100), \
    `pareto:LOCATION,SCALE,SHAPE`, `gev:LOCATION,SCALE,SHAPE`, `list:16=7,1024=3`, `fb_key` or `fb_value` (also \
    `fb_value:conditional`, `fb_value:gpd`)";

const POPULARITIES: &str =
    "`uniform`, `zipf:0.99`, `hotspot:20%=80%`, `piecewise:1%=55%,50%=99%` or `etc`, which is that one";

/// Law of lengths in bytes. Draws are rounded, and moved to the next length that is allowed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LengthLaw {
    Fixed(u32),
    /// Each whole number from `low` to `high` alike.
    Uniform {
        low: u32,
        high: u32,
    },
    Normal {
        mean: f64,
        deviation: f64,
    },
    /// Of mean 1 / `rate`.
    Exponential {
        rate: f64,
    },
    /// The generalized Pareto law.
    Pareto {
        location: f64,
        scale: f64,
        shape: f64,
    },
    /// The generalized law of extreme values.
    Gev {
        location: f64,
        scale: f64,
        shape: f64,
    },
    /// Value sizes of pool ETC at Facebook: fifteen shares of 0 to 14 bytes, and a tail.
    FbValue(FbTail),
    List(Vec<WeightedLength>),
}

/// How the tail of `fb_value` is read: the paper has a Pareto law of location 0 beside the shares of 0 to 14 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FbTail {
    /// It begins at 15 (mutilate).
    Shifted,
    /// It begins at 0; what is drawn is at least 15.
    Conditional,
    /// It begins at 0 and is all there is: no shares of small sizes.
    Gpd,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct WeightedLength {
    pub length: u32,
    /// Above zero.
    pub weight: f64,
}

impl LengthLaw {
    /// Key sizes of pool ETC at Facebook.
    pub const FB_KEY: Self = Self::Gev { location: 30.7984, scale: 8.20449, shape: 0.078688 };

    /// The lengths that are given one by one.
    pub fn given(&self) -> Vec<u32> {
        match self {
            Self::Fixed(length) => vec![*length],
            Self::Uniform { low, high } => vec![*low, *high],
            Self::List(lengths) => lengths.iter().map(|one| one.length).collect(),
            _ => Vec::new(),
        }
    }
}

impl FromStr for LengthLaw {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a law of lengths; write {LENGTHS}");
        let (name, rest) = text.trim().split_once(':').unwrap_or((text.trim(), ""));
        let numbers: Option<Vec<f64>> =
            rest.split(',').map(|part| part.trim().parse().ok().filter(|x: &f64| x.is_finite())).collect();
        let whole =
            |x: f64| (x.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&x)).then_some(x as u32);
        let law = match (name, numbers.as_deref().unwrap_or_default()) {
            ("fixed", &[length]) => whole(length).map(Self::Fixed),
            ("uniform", &[high]) => {
                whole(high).filter(|high| *high > 0).map(|high| Self::Uniform { low: 1, high })
            }
            ("uniform", &[low, high]) if low <= high => {
                whole(low).zip(whole(high)).map(|(low, high)| Self::Uniform { low, high })
            }
            ("normal", &[mean, deviation]) if deviation >= 0.0 => Some(Self::Normal { mean, deviation }),
            ("exponential", &[rate]) if rate > 0.0 => Some(Self::Exponential { rate }),
            ("pareto", &[location, scale, shape]) if scale > 0.0 => {
                Some(Self::Pareto { location, scale, shape })
            }
            ("gev", &[location, scale, shape]) if scale > 0.0 => Some(Self::Gev { location, scale, shape }),
            ("list", _) => weighted(rest).map(Self::List),
            ("fb_key", _) if rest.is_empty() => Some(Self::FB_KEY),
            ("fb_value", _) => match rest {
                "" => Some(Self::FbValue(FbTail::Shifted)),
                "conditional" => Some(Self::FbValue(FbTail::Conditional)),
                "gpd" => Some(Self::FbValue(FbTail::Gpd)),
                _ => None,
            },
            (number, _) if rest.is_empty() => number.parse().ok().map(Self::Fixed),
            _ => None,
        };
        law.ok_or_else(wrong)
    }
}

/// `16=7,1024=3`.
fn weighted(text: &str) -> Option<Vec<WeightedLength>> {
    let one = |part: &str| {
        let (length, weight) = part.split_once('=')?;
        let weight: f64 = weight.trim().parse().ok()?;
        let length = length.trim().parse().ok()?;
        (weight > 0.0 && weight.is_finite()).then_some(WeightedLength { length, weight })
    };
    text.split(',').map(one).collect()
}

impl fmt::Display for LengthLaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(length) => write!(f, "fixed:{length}"),
            Self::Uniform { low, high } => write!(f, "uniform:{low},{high}"),
            Self::Normal { mean, deviation } => write!(f, "normal:{mean},{deviation}"),
            Self::Exponential { rate } => write!(f, "exponential:{rate}"),
            Self::Pareto { location, scale, shape } => write!(f, "pareto:{location},{scale},{shape}"),
            law if *law == Self::FB_KEY => f.write_str("fb_key"),
            Self::Gev { location, scale, shape } => write!(f, "gev:{location},{scale},{shape}"),
            Self::FbValue(FbTail::Shifted) => f.write_str("fb_value"),
            Self::FbValue(FbTail::Conditional) => f.write_str("fb_value:conditional"),
            Self::FbValue(FbTail::Gpd) => f.write_str("fb_value:gpd"),
            Self::List(lengths) => {
                let parts: Vec<_> =
                    lengths.iter().map(|one| format!("{}={}", one.length, one.weight)).collect();
                write!(f, "list:{}", parts.join(","))
            }
        }
    }
}

/// How requests are spread over keys, from the most popular key on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Popularity {
    Uniform,
    /// The key of rank r takes a share in proportion to r to the power of minus this exponent, which is 0 or more.
    Zipf(f64),
    /// Shares of all keys and the shares of all requests that these take, both rising and below one; alike in between.
    Piecewise(Vec<PopularShare>),
}

/// The most popular keys and what they take.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PopularShare {
    pub keys: Ratio,
    pub requests: Ratio,
}

impl Popularity {
    /// Of pool ETC at Facebook.
    pub fn etc() -> Self {
        let share = |keys, requests| PopularShare { keys: Ratio::new(keys), requests: Ratio::new(requests) };
        Self::Piecewise(vec![share(0.01, 0.55), share(0.5, 0.99)])
    }

    /// Errors: in words, if a share of so few keys is not a key.
    pub(super) fn check(&self, keys: u32) -> Result<(), String> {
        let Self::Piecewise(shares) = self else { return Ok(()) };
        let mut before = 0;
        for share in shares {
            let within = (share.keys.get() * f64::from(keys)).round() as u32;
            if within <= before || within >= keys {
                return Err(format!(
                    "`{self}` splits {keys} keys into parts of which one has no key; give more `keys`"
                ));
            }
            before = within;
        }
        Ok(())
    }
}

impl FromStr for Popularity {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a law of popularity; write {POPULARITIES}");
        let (name, rest) = text.trim().split_once(':').unwrap_or((text.trim(), ""));
        match (name, rest) {
            ("uniform", "") => Ok(Self::Uniform),
            ("etc", "") => Ok(Self::etc()),
            ("zipf", exponent) => match exponent.trim().parse() {
                Ok(exponent) if (0.0..=20.0).contains(&exponent) => Ok(Self::Zipf(exponent)),
                _ => {
                    Err(format!("`{text}`: the exponent must be a number from 0 to 20, such as `zipf:0.99`"))
                }
            },
            ("hotspot", rest) if rest.contains(',') => Err(wrong()),
            ("hotspot" | "piecewise", rest) => {
                let shares: Option<Vec<PopularShare>> = rest.split(',').map(popular_share).collect();
                let shares = shares.ok_or_else(wrong)?;
                match is_rising(&shares) {
                    true => Ok(Self::Piecewise(shares)),
                    false => Err(format!("`{text}`: shares must rise and lie between 0 % and 100 %")),
                }
            }
            _ => Err(wrong()),
        }
    }
}

/// `1%=55%`.
fn popular_share(part: &str) -> Option<PopularShare> {
    let (keys, requests) = part.split_once('=')?;
    Some(PopularShare { keys: keys.trim().parse().ok()?, requests: requests.trim().parse().ok()? })
}

fn is_rising(shares: &[PopularShare]) -> bool {
    let mut before = PopularShare { keys: Ratio::new(0.0), requests: Ratio::new(0.0) };
    shares.iter().all(|share| {
        let rises = share.keys.get() > before.keys.get() && share.requests.get() > before.requests.get();
        before = *share;
        rises && share.keys.get() < 1.0 && share.requests.get() < 1.0
    })
}

impl fmt::Display for Popularity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uniform => f.write_str("uniform"),
            Self::Zipf(exponent) => write!(f, "zipf:{exponent}"),
            law if *law == Self::etc() => f.write_str("etc"),
            Self::Piecewise(shares) => {
                let part = |share: &PopularShare| format!("{}={}", share.keys.get(), share.requests.get());
                write!(f, "piecewise:{}", shares.iter().map(part).collect::<Vec<_>>().join(","))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn laws_read_back_as_they_are_written() {
        for text in [
            "16",
            "fixed:0",
            "uniform:100",
            "uniform:7,9",
            "normal:30,8",
            "exponential:0.01",
            "pareto:15,214.476,0.348238",
            "gev:30,8,0.1",
            "gev:30,8,0",
            "fb_key",
            "fb_value",
            "fb_value:conditional",
            "fb_value:gpd",
            "list:16=7, 1024=2.5",
        ] {
            let law: LengthLaw = text.parse().unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(law.to_string().parse(), Ok(law), "{text}");
        }
        for text in ["uniform", "zipf:0", "zipf:1.2", "hotspot:20%=80%", "piecewise:1%=55%,50%=99%", "etc"] {
            let law: Popularity = text.parse().unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(law.to_string().parse(), Ok(law), "{text}");
        }
        assert_eq!("gev:30.7984,8.20449,0.078688".parse(), Ok(LengthLaw::FB_KEY));
        assert!("hotspot:1%=55%,50%=99%".parse::<Popularity>().is_err());
    }

    #[test]
    fn wrong_laws_say_what_can_be_written() {
        for text in [
            "",
            "fixed",
            "fixed:1.5",
            "-1",
            "uniform:9,7",
            "uniform:0",
            "normal:3",
            "normal:1,-1",
            "exponential:0",
            "pareto:1,2",
            "gev:1,0,1",
            "gev:1,inf,1",
            "fb_key:2",
            "fb_value:x",
            "list:",
            "list:16",
            "list:16=0",
            "gamma:1",
        ] {
            let error = text.parse::<LengthLaw>().expect_err(text);
            assert!(error.starts_with(&format!("`{text}` is not a law of lengths; write `16`")), "{error}");
        }
        for (text, part) in [
            ("gauss", "is not a law of popularity; write `uniform`"),
            ("uniform:1", "write `uniform`"),
            ("zipf", "from 0 to 20"),
            ("zipf:-1", "from 0 to 20"),
            ("hotspot:20%", "write `uniform`"),
            ("piecewise:50%=99%,1%=55%", "must rise"),
            ("piecewise:50%=100%", "must rise"),
        ] {
            let error = text.parse::<Popularity>().expect_err(text);
            assert!(error.contains(part), "{error}");
        }
        assert!(Popularity::etc().check(100).is_ok());
        let error = Popularity::etc().check(10).expect_err("no key");
        assert!(error.contains("give more `keys`"), "{error}");
    }
}
