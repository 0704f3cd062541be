//! Physical quantities as newtypes: a rate cannot be added to a time, and each constructor names its unit.
//!
//! `Display` chooses the scale for a reader; serialisation writes integers in the base unit. `FromStr` reads
//! what an experiment file or a flag may say (`20us`, `1.5 ms`, `64 KiB`, `5000/s`, `2 %`).

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Sub};
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A length of time in whole nanoseconds, 0 to 584 years.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Nanoseconds(u64);

/// A point on the host's monotonic clock (`CLOCK_MONOTONIC`), in nanoseconds since an arbitrary start.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Timestamp(u64);

/// An amount of data in bytes.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Bytes(u64);

/// How fast a link carries data, in whole bits per second.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct BitsPerSecond(u64);

/// Events per second; finite and never negative.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct PerSecond(f64);

/// A dimensionless share or factor: 0.02 is 2 %.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Ratio(f64);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {wanted}")]
pub struct QuantityError {
    text: String,
    wanted: &'static str,
}

impl Nanoseconds {
    pub const ZERO: Self = Self(0);

    pub const fn from_nanos(n: u64) -> Self {
        Self(n)
    }
    pub const fn from_micros(n: u64) -> Self {
        Self(n * 1_000)
    }
    pub const fn from_millis(n: u64) -> Self {
        Self(n * 1_000_000)
    }
    pub const fn from_secs(n: u64) -> Self {
        Self(n * 1_000_000_000)
    }
    pub fn from_secs_f64(s: f64) -> Self {
        Self((s * 1e9).round() as u64)
    }
    pub const fn as_nanos(self) -> u64 {
        self.0
    }
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
    pub const fn as_duration(self) -> std::time::Duration {
        std::time::Duration::from_nanos(self.0)
    }
    /// `self - other`, or zero where `other` is longer.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
    pub fn share_of(self, whole: Self) -> Ratio {
        Ratio(if whole.0 == 0 { 0.0 } else { self.0 as f64 / whole.0 as f64 })
    }
}

impl Timestamp {
    pub const fn from_nanos(n: u64) -> Self {
        Self(n)
    }
    pub const fn as_nanos(self) -> u64 {
        self.0
    }
    /// Time since `earlier`; zero where `earlier` is in fact later.
    pub const fn since(self, earlier: Self) -> Nanoseconds {
        Nanoseconds(self.0.saturating_sub(earlier.0))
    }
}

impl Bytes {
    pub const fn new(n: u64) -> Self {
        Self(n)
    }
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl BitsPerSecond {
    pub const fn new(n: u64) -> Self {
        Self(n)
    }
    pub const fn get(self) -> u64 {
        self.0
    }
    /// Time to carry `bytes` at this rate; the longest `Nanoseconds` at rate zero.
    pub fn transfer_time(self, bytes: Bytes) -> Nanoseconds {
        let nanos = (u128::from(bytes.0) * 8_000_000_000).checked_div(u128::from(self.0));
        Nanoseconds(nanos.and_then(|nanos| u64::try_from(nanos).ok()).unwrap_or(u64::MAX))
    }
}

impl PerSecond {
    pub const ONE: Self = Self(1.0);

    pub fn new(rate: f64) -> Option<Self> {
        (rate.is_finite() && rate >= 0.0).then_some(Self(rate))
    }
    /// `count` events in `time`; zero where no time passed.
    pub fn from_count(count: u64, time: Nanoseconds) -> Self {
        Self(if time.0 == 0 { 0.0 } else { count as f64 / time.as_secs_f64() })
    }
    pub const fn get(self) -> f64 {
        self.0
    }
    /// The mean gap between events; `None` at rate zero.
    pub fn gap(self) -> Option<Nanoseconds> {
        (self.0 > 0.0).then(|| Nanoseconds((1e9 / self.0).round() as u64))
    }
}

impl Ratio {
    pub const fn new(value: f64) -> Self {
        Self(value)
    }
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl Add for Nanoseconds {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}
impl AddAssign for Nanoseconds {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}
impl Sum for Nanoseconds {
    fn sum<I: Iterator<Item = Self>>(times: I) -> Self {
        times.fold(Self::ZERO, Add::add)
    }
}
impl Mul<u64> for Nanoseconds {
    type Output = Self;
    fn mul(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }
}
impl Div<u64> for Nanoseconds {
    type Output = Self;
    fn div(self, parts: u64) -> Self {
        Self(self.0 / parts)
    }
}
impl Add<Nanoseconds> for Timestamp {
    type Output = Self;
    fn add(self, time: Nanoseconds) -> Self {
        Self(self.0.saturating_add(time.0))
    }
}
impl Sub for Timestamp {
    type Output = Nanoseconds;
    fn sub(self, earlier: Self) -> Nanoseconds {
        self.since(earlier)
    }
}
impl Add for Bytes {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}
impl Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self(0), Add::add)
    }
}

/// The longest time that `Display` shows exactly. Half a second more would be rounded up to 18,446,744,074 s,
/// which is beyond 64 bits.
const LONGEST_SHOWN: u64 = 18_446_744_073_490_000_000;

/// `value` with three significant digits: `1.20`, `15.3`, `131`, `6241`.
fn three_digits(value: f64) -> String {
    match value.abs() {
        v if v >= 99.95 => format!("{value:.0}"),
        v if v >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

fn whole_or_three_digits(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { three_digits(value) }
}

/// A signed time in nanoseconds, in a unit of its size: `15.3 µs`, `-1.20 ms`.
pub fn display_nanos(nanos: f64) -> String {
    match nanos.abs() {
        n if n >= 999.5e6 => format!("{} s", three_digits(nanos / 1e9)),
        n if n >= 999.5e3 => format!("{} ms", three_digits(nanos / 1e6)),
        n if n >= 999.5 => format!("{} µs", three_digits(nanos / 1e3)),
        _ => format!("{nanos:.0} ns"),
    }
}

/// `1,204,332`
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A signed amount of data in bytes, in a unit of its size (powers of 1024): `64 KiB`, `1.50 MiB`.
pub fn display_bytes(bytes: f64) -> String {
    let (scaled, unit) = match bytes.abs() {
        b if b >= 1073741824.0 => (bytes / 1073741824.0, "GiB"),
        b if b >= 1048576.0 => (bytes / 1048576.0, "MiB"),
        b if b >= 1024.0 => (bytes / 1024.0, "KiB"),
        _ => (bytes, "B"),
    };
    format!("{} {unit}", whole_or_three_digits(scaled))
}

/// A signed rate, in a unit of its size: `812/s`, `52.3k/s`.
pub fn display_rate(per_second: f64) -> String {
    match per_second.abs() {
        r if r >= 999.5e6 => format!("{}G/s", three_digits(per_second / 1e9)),
        r if r >= 999.5e3 => format!("{}M/s", three_digits(per_second / 1e6)),
        r if r >= 9999.5 => format!("{}k/s", three_digits(per_second / 1e3)),
        _ => format!("{}/s", three_digits(per_second)),
    }
}

/// A signed plain number: `2.01`, `131`.
pub fn display_count(count: f64) -> String {
    three_digits(count)
}

/// A share of 1 in percent, with three digits of what it lacks to 0 or 1: `81.2 %`, `99.987 %`.
pub fn display_share(share: f64) -> String {
    let percent = 100.0 * share;
    let decimals = match percent.abs().min((100.0 - percent).abs()) {
        0.0 => 0,
        d if d >= 9.95 => 1,
        d if d >= 0.995 => 2,
        _ => 3,
    };
    format!("{percent:.decimals$} %")
}

/// A bit rate, in a unit of its size (powers of 1000): `100 Mbit/s`, `2.50 Gbit/s`.
fn display_bits(bits: f64) -> String {
    let (scaled, unit) = match bits {
        b if b >= 1e9 => (bits / 1e9, "Gbit/s"),
        b if b >= 1e6 => (bits / 1e6, "Mbit/s"),
        b if b >= 1e3 => (bits / 1e3, "kbit/s"),
        _ => (bits, "bit/s"),
    };
    format!("{} {unit}", whole_or_three_digits(scaled))
}

impl fmt::Display for Nanoseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The longest times, rounded up, would exceed 64 bits and could not be read back.
        f.pad(&display_nanos(self.0.min(LONGEST_SHOWN) as f64))
    }
}
/// In the decimal or binary unit that gives a whole number (`500 kB`, `64 KiB`), else as [`display_bytes`].
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0;
        // A whole number of both units was probably written in the binary one.
        let units = [(1_000_000_000, 1 << 30, "GB"), (1_000_000, 1 << 20, "MB"), (1_000, 1 << 10, "kB")];
        let decimal = units.into_iter().find(|(unit, binary, _)| {
            bytes / unit > 0
                && bytes / unit < 1000
                && bytes.is_multiple_of(*unit)
                && !bytes.is_multiple_of(*binary)
        });
        match decimal {
            Some((unit, _, name)) => f.pad(&format!("{} {name}", bytes / unit)),
            None => f.pad(&display_bytes(bytes as f64)),
        }
    }
}
impl fmt::Display for BitsPerSecond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&display_bits(self.0 as f64))
    }
}
impl fmt::Display for PerSecond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&display_rate(self.0))
    }
}
impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{} %", whole_or_three_digits(self.0 * 100.0)))
    }
}

/// Splits `12.5 ms` into 12.5 and `ms`; `None` where no number leads or it is negative.
fn number_and_unit(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
    let number: f64 = text[..end].replace('_', "").parse().ok()?;
    Some((number, text[end..].trim_start()))
}

fn parse_scaled(
    text: &str,
    wanted: &'static str,
    factor: impl Fn(&str) -> Option<f64>,
) -> Result<f64, QuantityError> {
    number_and_unit(text)
        .and_then(|(number, unit)| Some(number * factor(unit)?))
        .filter(|value| value.is_finite() && *value <= u64::MAX as f64)
        .ok_or_else(|| QuantityError { text: text.to_owned(), wanted })
}

impl FromStr for Nanoseconds {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let wanted = "a time such as `250 us`, `20 ms`, `1.5 s`, `10 min` or `1 h`";
        // `1m30s` has a number behind a unit.
        let second = text.trim().find(char::is_alphabetic).and_then(|unit| {
            let behind = text.trim()[unit..].find(|c: char| c.is_ascii_digit())?;
            Some(unit + behind)
        });
        if let Some(at) = second {
            let [first, rest] = [&text.trim()[..at], &text.trim()[at..]].map(str::parse::<Self>);
            let whole = first.ok().zip(rest.ok()).and_then(|(first, rest)| first.0.checked_add(rest.0));
            return whole.map(Self).ok_or_else(|| QuantityError { text: text.to_owned(), wanted });
        }
        parse_scaled(text, wanted, |unit| {
            Some(match unit {
                "ns" => 1.0,
                "us" | "µs" | "μs" => 1e3,
                "ms" => 1e6,
                "s" | "sec" => 1e9,
                "m" | "min" => 60e9,
                "h" => 3600e9,
                _ => return None,
            })
        })
        .map(|nanos| Self(nanos.round() as u64))
    }
}

impl FromStr for Bytes {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        parse_scaled(
            text,
            "a size such as `64`, `100 kB` or `64 KiB`, in B, kB, MB, GB, KiB, MiB or GiB",
            |unit| {
                Some(match unit {
                    "" | "B" => 1.0,
                    "kB" | "KB" => 1e3,
                    "MB" => 1e6,
                    "GB" => 1e9,
                    "KiB" => 1024.0,
                    "MiB" => 1048576.0,
                    "GiB" => 1073741824.0,
                    _ => return None,
                })
            },
        )
        .map(|bytes| Self(bytes.round() as u64))
    }
}

impl FromStr for BitsPerSecond {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        parse_scaled(text, "a bit rate such as `100 Mbit/s`, `1 Gbit/s` or `500 kbit/s`", |unit| {
            Some(match unit {
                "bit/s" => 1.0,
                "kbit/s" | "kbit" => 1e3,
                "Mbit/s" | "Mbit" => 1e6,
                "Gbit/s" | "Gbit" => 1e9,
                _ => return None,
            })
        })
        .map(|bits| Self(bits.round() as u64))
    }
}

impl FromStr for PerSecond {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        parse_scaled(text, "a rate such as `5000/s`, `20k/s` or `90/min`", |unit| {
            Some(match unit {
                "" | "/s" => 1.0,
                "k" | "k/s" => 1e3,
                "M" | "M/s" => 1e6,
                "/min" => 1.0 / 60.0,
                _ => return None,
            })
        })
        .map(Self)
    }
}

impl FromStr for Ratio {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        parse_scaled(text, "a share such as `2 %` or `0.02`", |unit| match unit {
            "%" => Some(0.01),
            "" => Some(1.0),
            _ => None,
        })
        .map(Self)
    }
}

/// A difference of shares: `1 pp`, `-0.5 pp`, or in parts of 1.
pub fn percentage_points(text: &str) -> Option<Ratio> {
    let text = text.trim();
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    let (number, unit) = number_and_unit(rest)?;
    let factor = match unit {
        "pp" => 0.01,
        "" => 1.0,
        _ => return None,
    };
    number.is_finite().then_some(Ratio(sign * number * factor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_chooses_the_scale() {
        for (nanos, text) in [
            (0, "0 ns"),
            (999, "999 ns"),
            (1_000, "1.00 µs"),
            (15_340, "15.3 µs"),
            (999_600, "1.00 ms"),
            (2_310_000_000, "2.31 s"),
        ] {
            assert_eq!(Nanoseconds::from_nanos(nanos).to_string(), text);
        }
        assert_eq!(Bytes::new(65536).to_string(), "64 KiB");
        assert_eq!(Bytes::new(1500).to_string(), "1.46 KiB");
        assert_eq!(PerSecond::new(62_345.0).unwrap().to_string(), "62.3k/s");
        assert_eq!(Ratio::new(0.02).to_string(), "2 %");
        for (share, text) in
            [(0.0, "0 %"), (0.812, "81.2 %"), (0.0123, "1.23 %"), (0.99987, "99.987 %"), (1.0, "100 %")]
        {
            assert_eq!(display_share(share), text);
        }
    }

    #[test]
    fn text_becomes_quantities() {
        assert_eq!("1.5 ms".parse(), Ok(Nanoseconds::from_micros(1500)));
        assert_eq!("10 min".parse(), Ok(Nanoseconds::from_secs(600)));
        assert_eq!("1m30s".parse(), Ok(Nanoseconds::from_secs(90)));
        assert_eq!("1 h 2 min 3.5 s".parse(), Ok(Nanoseconds::from_millis(3_723_500)));
        for wrong in ["1m30", "1m 30x", "s30", "1m-30s"] {
            assert!(wrong.parse::<Nanoseconds>().is_err(), "{wrong}");
        }
        assert_eq!("64 KiB".parse(), Ok(Bytes::new(65536)));
        assert_eq!("5000/s".parse(), Ok(PerSecond(5000.0)));
        assert_eq!("100 Mbit/s".parse(), Ok(BitsPerSecond(100_000_000)));
        assert_eq!("1 %".parse(), Ok(Ratio(0.01)));
    }

    /// The displayed time reads back as the same time, to its three digits.
    #[track_caller]
    fn reads_back(nanos: u64) {
        let shown = Nanoseconds::from_nanos(nanos).to_string();
        let back = shown.parse::<Nanoseconds>().unwrap_or_else(|error| panic!("{nanos}: {error}"));
        // Half of the last digit of `1.00`, or half a nanosecond.
        let off = back.as_nanos().abs_diff(nanos);
        assert!(off as f64 <= 0.0051 * nanos as f64, "{nanos} is shown as `{shown}`, read as {back:?}");
    }

    #[test]
    fn every_time_of_64_bits_is_shown_as_text_that_reads_back() {
        for (base, by) in
            [(0, 1), (17_999_999_999_900_000_000, 99_999_999), (u64::MAX, 0), (18_446_744_073_490_000_000, 1)]
        {
            (0..1_000).for_each(|step: u64| reads_back(u64::saturating_add(base, step * by)));
        }
        // Around every power of two and of ten; then 200,000 pseudo-random numbers of every length (Knuth's
        // linear congruential generator).
        let powers = (0..64).map(|n| 1_u64 << n).chain((0..20).map(|n| 10_u64.pow(n)));
        for power in powers {
            let near = [power - 1, power, power.saturating_add(1), power.saturating_mul(9) / 2];
            near.into_iter().for_each(reads_back);
        }
        let mut state = 1_u64;
        for step in 0..200_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            reads_back(state >> (step % 64));
        }
    }

    #[test]
    fn differences_of_shares_are_in_percentage_points() {
        for (text, points) in [("1 pp", 0.01), ("-0.5pp", -0.005), ("+2 pp", 0.02), ("0.003", 0.003)] {
            let found = percentage_points(text).expect(text);
            assert!((found.get() - points).abs() < 1e-15, "{text}: {found:?}");
        }
        for text in ["1 %", "pp", "one pp", "1 pps", "--1 pp"] {
            assert_eq!(percentage_points(text), None, "{text}");
        }
    }

    #[test]
    fn a_bit_rate_says_how_long_bytes_take() {
        let rate: BitsPerSecond = "100 Mbit/s".parse().expect("a bit rate");
        assert_eq!(rate.transfer_time(Bytes::new(32_000)), Nanoseconds::from_micros(2_560));
        assert_eq!(rate.to_string(), "100 Mbit/s");
        assert_eq!(BitsPerSecond::new(2_500_000_000).to_string(), "2.50 Gbit/s");
        assert_eq!(BitsPerSecond::new(0).transfer_time(Bytes::new(1)).as_nanos(), u64::MAX);
        assert!("100 MB/s".parse::<BitsPerSecond>().is_err());
    }

    #[test]
    fn what_exceeds_64_bits_is_refused() {
        assert_eq!("18446744073709551615 ns".parse(), Ok(Nanoseconds::from_nanos(u64::MAX)));
        for text in ["18446744074 s", "1e30 h", "5124096 h"] {
            assert!(text.parse::<Nanoseconds>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_wrong_unit_is_named_with_what_is_allowed() {
        let error = "10 parsecs".parse::<Nanoseconds>().unwrap_err().to_string();
        assert!(error.contains("`10 parsecs`") && error.contains("`20 ms`"), "{error}");
        assert!("-1 ms".parse::<Nanoseconds>().is_err());
        assert!("".parse::<Bytes>().is_err());
        assert!("nan/s".parse::<PerSecond>().is_err());
    }
}
