//! Arrival times from a file: one a line, optionally with the name of the operation to send then. The whole
//! file is checked before anything is sent.
//!
//! The caller reads the file; this module parses its text. Times that are not in order are refused. Nothing
//! is random here.

mod cells;

use std::collections::HashMap;

use crate::experiment::suggestion;
use crate::id::OperationId;
use crate::quantity::{Nanoseconds, PerSecond};
use cells::cells;

/// Most arrivals of a trace (100 MB in memory).
pub const TRACE_MOST: usize = 10_000_000;

/// Most different operations that a trace may name.
const NAMES_MOST: usize = 10_000;

const LONGEST: u64 = 366 * 24 * 3600 * 1_000_000_000;

const OPERATION: &str = "operation";

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct TraceError {
    /// As the caller gave it.
    pub file: String,
    /// Line, from 1; the last one for an error of the whole file.
    pub line: usize,
    /// What is wrong and what is allowed.
    pub message: String,
}

/// Arrival times since the first arrival, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    times: Vec<Nanoseconds>,
    length: Nanoseconds,
    names: Names,
    /// The operation of each name; empty until [`resolve`](Self::resolve).
    operations: Vec<OperationId>,
}

/// The operations that lines name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Names {
    /// Each name once, with the line on which it occurs first.
    list: Vec<(String, usize)>,
    /// For each arrival, the index of its name in the list. Empty if no line names any.
    by_arrival: Vec<Option<u16>>,
}

impl Trace {
    /// Reads one arrival a line: its time and, after a comma, optionally the name of an operation (CSV, RFC
    /// 4180; a name with a comma stands in quotes). A plain number is in seconds; a number may carry its own
    /// unit (`1.5 ms`). The first line may be a header: `time`, or `ns`, `us`, `ms` or `s`, which is the unit
    /// of plain numbers, optionally followed by `,operation`. Empty lines and lines that begin with `#` are
    /// ignored. Times must not fall.
    pub fn parse(file: &str, text: &str) -> Result<Self, TraceError> {
        let error = |line, message: String| TraceError { file: file.to_owned(), line, message };
        let mut rows = Rows::default();
        let mut last_line = 1;
        for (line, content) in (1..).zip(text.lines()) {
            last_line = line;
            let content = content.trim();
            if !content.is_empty() && !content.starts_with('#') {
                rows.add(line, content).map_err(|message| error(line, message))?;
            }
        }
        rows.finish().map_err(|message| error(last_line, message))
    }

    /// Of times that another file has, in order, without names.
    pub fn from_times(file: &str, times: Vec<Nanoseconds>) -> Result<Self, TraceError> {
        let error = |message| TraceError { file: file.to_owned(), line: times.len().max(1), message };
        if times.len() > TRACE_MOST {
            return Err(error(format!("more than {TRACE_MOST} arrivals; set a `limit`")));
        }
        let nanos = times.iter().map(|time| time.as_nanos()).collect();
        Rows { times: nanos, ..Rows::default() }.finish().map_err(error)
    }

    /// Looks up the operation of each name.
    pub fn resolve(&mut self, file: &str, allowed: &[(OperationId, String)]) -> Result<(), TraceError> {
        let find = |(name, line): &(String, usize)| {
            let found = allowed.iter().find(|(_, known)| known == name).map(|(operation, _)| *operation);
            found.ok_or_else(|| {
                let names: Vec<&str> = allowed.iter().map(|(_, name)| &**name).collect();
                let message =
                    format!("`{name}` is no operation of this workload{}", suggestion(name, &names));
                TraceError { file: file.to_owned(), line: *line, message }
            })
        };
        self.operations = self.names.list.iter().map(find).collect::<Result<_, _>>()?;
        Ok(())
    }

    /// Arrival times; the first is zero.
    pub fn times(&self) -> &[Nanoseconds] {
        &self.times
    }

    /// The name on the line of arrival number `at` (from 0), if it has one.
    pub fn name(&self, at: usize) -> Option<&str> {
        Some(self.names.list[self.place(at)?].0.as_str())
    }

    /// The operation of arrival number `at` (from 0). `None` if its line names none, and before
    /// [`resolve`](Self::resolve).
    pub fn operation(&self, at: usize) -> Option<OperationId> {
        self.operations.get(self.place(at)?).copied()
    }

    fn place(&self, at: usize) -> Option<usize> {
        self.names.by_arrival.get(at).copied().flatten().map(usize::from)
    }

    /// After this time the trace starts again: the time from the first arrival to the last, and one mean gap.
    pub fn length(&self) -> Nanoseconds {
        self.length
    }

    /// Mean arrivals per second as recorded.
    pub fn mean(&self) -> PerSecond {
        PerSecond::from_count(self.times.len() as u64, self.length)
    }
}

/// What has been parsed so far.
#[derive(Default)]
struct Rows {
    /// The unit of plain numbers; `None` before the first line.
    unit: Option<&'static str>,
    times: Vec<u64>,
    names: Names,
    places: HashMap<String, u16>,
}

impl Rows {
    /// Parses one line that is neither empty nor a comment.
    fn add(&mut self, line: usize, content: &str) -> Result<(), String> {
        let (first, second) = cells(content)?;
        let unit = match self.unit {
            Some(unit) => unit,
            None => {
                let header = header(&first, second.as_deref())?;
                self.unit = Some(header.unwrap_or("s"));
                if header.is_some() {
                    return Ok(());
                }
                "s"
            }
        };
        let time = read_time(&first, unit)?;
        if self.times.last().is_some_and(|last| time < *last) {
            return Err(format!("`{first}` is earlier than the arrival before it; sort the times"));
        }
        if self.times.len() == TRACE_MOST {
            return Err(format!("more than {TRACE_MOST} arrivals; cut the trace"));
        }
        self.times.push(time);
        match second.filter(|name| !name.is_empty()) {
            Some(name) => self.add_name(line, &name),
            None if self.names.by_arrival.is_empty() => Ok(()),
            None => {
                self.names.by_arrival.push(None);
                Ok(())
            }
        }
    }

    /// Gives the latest arrival this name.
    fn add_name(&mut self, line: usize, name: &str) -> Result<(), String> {
        let place = match self.places.get(name) {
            Some(place) => *place,
            None if self.names.list.len() == NAMES_MOST => {
                return Err(format!(
                    "more than {NAMES_MOST} different operations; is this the right column?"
                ));
            }
            None => {
                let place = self.names.list.len() as u16;
                self.places.insert(name.to_owned(), place);
                self.names.list.push((name.to_owned(), line));
                place
            }
        };
        // Arrivals before the first that has a name have none.
        self.names.by_arrival.resize(self.times.len() - 1, None);
        self.names.by_arrival.push(Some(place));
        Ok(())
    }

    fn finish(self) -> Result<Trace, String> {
        let times = self.times;
        let (Some(&first), Some(&last)) = (times.first(), times.last()) else {
            return Err("no arrival; write one time a line, in seconds".to_owned());
        };
        if first == last {
            return Err("all arrivals are at the same time; a trace needs two that differ".to_owned());
        }
        if last - first > LONGEST {
            return Err("the arrivals are more than a year apart; check the unit".to_owned());
        }
        // When the trace repeats, its first arrival follows after one mean gap, which keeps the mean rate.
        let gap = ((last - first) as f64 / (times.len() - 1) as f64).round() as u64;
        let length = Nanoseconds::from_nanos(last - first + gap.max(1));
        let times = times.into_iter().map(|time| Nanoseconds::from_nanos(time - first)).collect();
        Ok(Trace { times, length, names: self.names, operations: Vec::new() })
    }
}

/// The unit that a header names; `None` if the line is not a header.
fn header(first: &str, second: Option<&str>) -> Result<Option<&'static str>, String> {
    let columns = [("time", "s"), ("ns", "ns"), ("us", "us"), ("ms", "ms"), ("s", "s")];
    let Some((column, unit)) = columns.into_iter().find(|(column, _)| *column == first) else {
        return Ok(None);
    };
    match second {
        None | Some(OPERATION) => Ok(Some(unit)),
        Some(other) => {
            Err(format!("`{other}` is no column of a trace; its header is `{column},{OPERATION}`"))
        }
    }
}

/// A number with or without unit, in nanoseconds. Integers of any length are read exactly.
fn read_time(content: &str, unit: &str) -> Result<u64, String> {
    let shown: String = content.chars().take(40).collect();
    let wrong = || {
        if content.contains([';', '\t']) {
            return format!("`{shown}` is not a time; columns are parted by a comma: `1.25,get`");
        }
        if content.starts_with('-') {
            return format!(
                "`{shown}` is before the start; times count from 0, or from any moment before the first"
            );
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
        assert!(refused("").contains("no arrival"));
        assert!(refused("1\n1\n").contains("the same time"));
        assert!(refused("0\n1700000000\n").contains("more than a year"));
        assert!(refused("0\n-1\n").contains("`-1` is before the start"));
        assert!(refused("0;get\n").contains("parted by a comma"));
        assert!(refused("time,op\n0,get\n").starts_with("t.csv:1: `op` is no column"));
        for bad in ["-1", "1.2.3", ".", "1e5", "99999999999999999999", "5 min"] {
            assert!(refused(&format!("0\n{bad}\n")).starts_with("t.csv:2: "), "{bad}");
        }
    }

    fn names(text: &str) -> Vec<Option<String>> {
        let trace = Trace::parse("t.csv", text).expect("a trace");
        (0..trace.times().len()).map(|at| trace.name(at).map(str::to_owned)).collect()
    }

    #[test]
    fn lines_may_name_operations() {
        let some = |names: &[&str]| names.iter().map(|name| Some((*name).to_owned())).collect::<Vec<_>>();
        assert_eq!(names("0,get\n1, put \n2,get"), some(&["get", "put", "get"]));
        assert_eq!(names("ms,operation\n0,GET /a\n5,GET /a"), some(&["GET /a", "GET /a"]));
        assert_eq!(names("\"time\",\"operation\"\n\"0\",\"a,\"\"b\"\"\"\n1,c"), some(&["a,\"b\"", "c"]));
        assert_eq!(
            names("time\n0\n1,a\n2\n3,\n4,b"),
            [None, some(&["a"])[0].clone(), None, None, some(&["b"])[0].clone()]
        );
        assert_eq!(names("0\n1"), [None, None]);
        assert!(refused("0,a,b\n").starts_with("t.csv:1: `0,a,b` has more than two columns"));
    }

    #[test]
    fn names_stand_for_operations_once_they_are_resolved() {
        let mut trace = Trace::parse("t.csv", "0,put\n1\n2,get\n").expect("a trace");
        assert_eq!(trace.operation(0), None);
        let allowed = [(OperationId(0), "get".to_owned()), (OperationId(3), "put".to_owned())];
        trace.resolve("t.csv", &allowed).expect("both are known");
        let operations: Vec<_> = (0..3).map(|at| trace.operation(at)).collect();
        assert_eq!(operations, [Some(OperationId(3)), None, Some(OperationId(0))]);
        let mut trace = Trace::parse("t.csv", "0,put\n1,gett\n2,gett\n").expect("a trace");
        assert_eq!(
            trace.resolve("t.csv", &allowed).expect_err("unknown").to_string(),
            "t.csv:2: `gett` is no operation of this workload; did you mean `get`? allowed: `get`, `put`"
        );
    }
}
