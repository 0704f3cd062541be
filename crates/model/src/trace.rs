//! Arrival times from a file: one time a line, read and checked before anything is sent.
//!
//! It reads text that somebody else opened, and refuses what is not in order; it draws nothing.

use crate::quantity::{Nanoseconds, PerSecond};

/// Most arrivals of a trace (80 MB in memory).
pub const TRACE_MOST: usize = 10_000_000;

/// Longest time from the first arrival to the last: a year.
const LONGEST: u64 = 366 * 24 * 3600 * 1_000_000_000;

/// Why a text is not a trace: where, what, and what would be right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct TraceError {
    /// The file's name as given.
    pub file: String,
    /// Line, from 1; the last one where the whole file is meant.
    pub line: usize,
    /// What is wrong and what is allowed.
    pub message: String,
}

/// Arrival times, counted from the first one, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    times: Vec<Nanoseconds>,
    length: Nanoseconds,
}

impl Trace {
    /// Reads one arrival a line. A plain number is seconds; a first line `ns`, `us`, `ms` or `s` names another unit
    /// for all, and a number may carry its own (`1.5 ms`). Empty lines and lines that begin with `#` are passed
    /// over. Times never fall; what comes before the first one is no part of the trace.
    ///
    /// # Errors
    /// [`TraceError`] with the line.
    pub fn parse(file: &str, text: &str) -> Result<Self, TraceError> {
        let error = |line, message: String| TraceError { file: file.to_owned(), line, message };
        let (mut unit, mut begun) = ("s", false);
        let mut times: Vec<u64> = Vec::new();
        let mut last_line = 1;
        for (line, content) in (1..).zip(text.lines()) {
            last_line = line;
            let content = content.trim();
            if content.is_empty() || content.starts_with('#') {
                continue;
            }
            if !std::mem::replace(&mut begun, true)
                && let Some(named) = ["ns", "us", "ms", "s"].into_iter().find(|unit| *unit == content)
            {
                unit = named;
                continue;
            }
            let time = read_time(content, unit).map_err(|message| error(line, message))?;
            if times.last().is_some_and(|last| time < *last) {
                let message = format!("`{content}` is earlier than the arrival before it; sort the times");
                return Err(error(line, message));
            }
            if times.len() == TRACE_MOST {
                return Err(error(line, format!("more than {TRACE_MOST} arrivals; cut the trace")));
            }
            times.push(time);
        }
        let (Some(&first), Some(&last)) = (times.first(), times.last()) else {
            return Err(error(last_line, "no arrival; write one time a line, in seconds".to_owned()));
        };
        if first == last {
            let message = "all arrivals are at the same time; a trace needs two that differ".to_owned();
            return Err(error(last_line, message));
        }
        if last - first > LONGEST {
            return Err(error(
                last_line,
                "the arrivals are more than a year apart; check the unit".to_owned(),
            ));
        }
        // Played again, the next first arrival comes after one mean gap, which keeps the mean rate.
        let gap = ((last - first) as f64 / (times.len() - 1) as f64).round() as u64;
        let length = Nanoseconds::from_nanos(last - first + gap.max(1));
        Ok(Self {
            times: times.into_iter().map(|time| Nanoseconds::from_nanos(time - first)).collect(),
            length,
        })
    }

    /// The times, the first of which is zero.
    pub fn times(&self) -> &[Nanoseconds] {
        &self.times
    }

    /// After this time it starts again: from the first arrival to the last, and one mean gap.
    pub fn length(&self) -> Nanoseconds {
        self.length
    }

    /// Mean arrivals per second as recorded.
    pub fn mean(&self) -> PerSecond {
        PerSecond::from_count(self.times.len() as u64, self.length)
    }
}

/// A number with or without unit, in nanoseconds. Whole numbers are read exactly, whatever their length.
fn read_time(content: &str, unit: &str) -> Result<u64, String> {
    let shown: String = content.chars().take(40).collect();
    let wrong = || {
        if content.contains([',', ';', '\t']) {
            return format!("`{shown}` has more than one column; a trace has one time a line");
        }
        format!("`{shown}` is not a time; write seconds such as `1.25`, or a unit: `1250 ms`")
    };
    let plain = content.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let end = content.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(content.len());
    let (digits, unit) = if plain { (content, unit) } else { (&content[..end], content[end..].trim_start()) };
    let places = match unit {
        "ns" => 0,
        "us" | "µs" | "μs" => 3,
        "ms" => 6,
        "s" => 9,
        _ => return Err(wrong()),
    };
    decimal(digits, places).ok_or_else(wrong)
}

/// `digits · 10^places` to the nearest whole number; decimal, so that `0.1 s` is exactly 100,000,000 ns.
fn decimal(digits: &str, places: usize) -> Option<u64> {
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    if (whole.is_empty() && part.is_empty()) || part.contains('.') {
        return None;
    }
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let mut fraction = 0u64;
    for at in 0..places {
        let digit = part.as_bytes().get(at).map_or(0, |byte| u64::from(byte - b'0'));
        fraction = fraction * 10 + digit;
    }
    let up = part.as_bytes().get(places).is_some_and(|byte| *byte >= b'5');
    whole.checked_mul(10u64.pow(places as u32))?.checked_add(fraction)?.checked_add(u64::from(up))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nanos(text: &str) -> Vec<u64> {
        let trace = Trace::parse("t.csv", text).expect("a trace");
        trace.times().iter().map(|time| time.as_nanos()).collect()
    }

    fn refused(text: &str) -> String {
        Trace::parse("t.csv", text).expect_err("not a trace").to_string()
    }

    #[test]
    fn times_are_exact_to_the_nanosecond_and_count_from_the_first() {
        assert_eq!(nanos("0\n0.1\n0.3\n"), [0, 100_000_000, 300_000_000]);
        assert_eq!(nanos("1700000000.000000001\n1700000000.000000002"), [0, 1]);
        assert_eq!(nanos("ns\n5\n5\n17000000000000005"), [0, 0, 17_000_000_000_000_000]);
        assert_eq!(nanos("# a comment\n\nms\n1.5\n2\n"), [0, 500_000]);
        assert_eq!(nanos("0\n20 us\n1.5 ms"), [0, 20_000, 1_500_000]);
        assert_eq!(nanos("0\n0.0000000005"), [0, 1], "rounded to the nearest nanosecond");
    }

    #[test]
    fn it_is_played_again_after_one_mean_gap() {
        let trace = Trace::parse("t", "0\n1\n4").expect("a trace");
        assert_eq!(trace.length(), Nanoseconds::from_secs(6));
        assert!((trace.mean().get() - 0.5).abs() < 1e-12);
    }

    #[test]
    fn errors_name_file_line_and_remedy() {
        assert_eq!(
            refused("0\n1\nx\n"),
            "t.csv:3: `x` is not a time; write seconds such as `1.25`, or a unit: `1250 ms`"
        );
        assert!(refused("0\n2\n1\n").starts_with("t.csv:3: `1` is earlier"));
        assert!(refused("0\n1,get\n").starts_with("t.csv:2: `1,get` has more than one column"));
        assert!(refused("").contains("no arrival"));
        assert!(refused("1\n1\n").contains("the same time"));
        assert!(refused("0\n1700000000\n").contains("more than a year"));
        for bad in ["-1", "1.2.3", ".", "1e5", "99999999999999999999", "5 min"] {
            assert!(refused(&format!("0\n{bad}\n")).starts_with("t.csv:2: "), "{bad}");
        }
    }
}
