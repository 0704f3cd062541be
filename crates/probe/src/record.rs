//! What the probe really did with each request: the truth with which a load generator's results are compared.
//!
//! Times are `CLOCK_MONOTONIC`, comparable with those of a client on the same host. A [`Served`] gives the whole time
//! for which a request occupied the probe, including its reading and writing, so that the Lindley recursion Wᵢ₊₁ =
//! max(0, Wᵢ + occupiedᵢ − Aᵢ₊₁) over a client's schedule predicts the waiting.

use std::fmt::Write as _;
use std::num::NonZeroUsize;

use weighbridge_model::quantity::{Bytes, Nanoseconds, Timestamp};

/// One request as the probe served it: `turned ≤ begin`, `read ≤ begin` and `begin ≤ end ≤ written`. Records are in the
/// order of `written`. Without `servers` requests are served strictly one after the other, so `turned` is never before
/// the previous request's `written`; with c servers at most c are between `begin` and `end` at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Served {
    /// When the probe became free for it: it woke from idleness for it, or finished the request whose server it got.
    pub turned: Timestamp,
    /// After the read that delivered its last byte. Requests delivered by one read share this time, and `turned` of all
    /// but the first of them is later.
    pub read: Timestamp,
    /// Begin of service: the later of `read` and `turned`.
    pub begin: Timestamp,
    /// End of service, before the write; equal to `begin` if the law has no delay.
    pub end: Timestamp,
    /// After the write that carried the reply, or as much of it as the socket took at once.
    pub written: Timestamp,
    /// The delay that the law drew.
    pub drawn: Nanoseconds,
    /// Size of the reply's body.
    pub size: Bytes,
}

impl Served {
    /// The time really spent on the law (spinning or asleep): never below `drawn`.
    pub const fn spent(&self) -> Nanoseconds {
        self.end.since(self.begin)
    }
    /// The whole time the request occupied the probe.
    pub const fn occupied(&self) -> Nanoseconds {
        self.written.since(self.turned)
    }
}

/// Sums over all requests, kept even when there is no room for more single records.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Requests under the law.
    pub requests: u64,
    /// Connections with at least one of them.
    pub connections: u64,
    /// Sum of the delays that the law drew.
    pub drawn: Nanoseconds,
    /// Sum of the times really spent on the law.
    pub spent: Nanoseconds,
    /// The longest time spent on one request.
    pub spent_max: Nanoseconds,
    /// Sum of the whole times requests occupied the probe.
    pub occupied: Nanoseconds,
    /// The longest time one request occupied the probe.
    pub occupied_max: Nanoseconds,
}

/// Keeps records up to a limit, and totals without one.
#[derive(Debug)]
pub(crate) struct Recorder {
    capacity: usize,
    records: Vec<Served>,
    totals: Totals,
}

impl Recorder {
    /// Room for `capacity` records. It is reserved at once, so recording never allocates, but the kernel allocates its
    /// pages only as they fill.
    pub fn new(capacity: Option<NonZeroUsize>) -> Self {
        let capacity = capacity.map_or(0, NonZeroUsize::get);
        Self { capacity, records: Vec::with_capacity(capacity), totals: Totals::default() }
    }

    /// Adds one request.
    pub fn add(&mut self, served: Served) {
        let (spent, occupied) = (served.spent(), served.occupied());
        let totals = &mut self.totals;
        totals.requests += 1;
        totals.drawn += served.drawn;
        totals.spent += spent;
        totals.spent_max = totals.spent_max.max(spent);
        totals.occupied += occupied;
        totals.occupied_max = totals.occupied_max.max(occupied);
        if self.records.len() < self.capacity {
            self.records.push(served);
        }
    }

    /// Counts a connection at its first request.
    pub fn connection(&mut self) {
        self.totals.connections += 1;
    }

    /// The records so far as CSV.
    pub fn csv(&self) -> String {
        to_csv(&self.records)
    }

    /// `{"law":…,"requests":…,"connections":…,"recorded":…,"drawn_ns":{…},"spent_ns":{…},"occupied_ns":{…}}`. The three
    /// groups are `null` if `untimed`, the number of requests of a probe that takes no times, is given.
    pub fn summary(&self, law: &str, untimed: Option<u64>) -> String {
        let totals = &self.totals;
        let groups = [
            ("drawn_ns", totals.drawn, None),
            ("spent_ns", totals.spent, Some(totals.spent_max)),
            ("occupied_ns", totals.occupied, Some(totals.occupied_max)),
        ];
        let requests = untimed.unwrap_or(totals.requests);
        let (connections, recorded) = (totals.connections, self.records.len());
        let mut json = format!(
            "{{\"law\":\"{law}\",\"requests\":{requests},\"connections\":{connections},\"recorded\":{recorded}"
        );
        for (name, sum, longest) in groups {
            let group = match untimed {
                None => group_json(sum, longest, requests),
                Some(_) => "null".to_owned(),
            };
            write!(json, ",\"{name}\":{group}").expect("a string takes all");
        }
        json.push_str("}\n");
        json
    }

    /// Returns the records and totals.
    pub fn finish(self) -> (Vec<Served>, Totals) {
        (self.records, self.totals)
    }
}

/// Sum, mean (`null` without requests) and, if known, the longest.
fn group_json(sum: Nanoseconds, longest: Option<Nanoseconds>, requests: u64) -> String {
    let mean = match requests {
        0 => "null".to_owned(),
        n => format!("{:.1}", sum.as_nanos() as f64 / n as f64),
    };
    let longest = longest.map_or(String::new(), |time| format!(",\"max\":{}", time.as_nanos()));
    format!("{{\"sum\":{},\"mean\":{mean}{longest}}}", sum.as_nanos())
}

/// The header of a record file. `spent_ns` and `occupied_ns` follow from the columns before them.
pub const CSV_HEADER: &str =
    "request,turned_ns,read_ns,begin_ns,end_ns,written_ns,drawn_ns,bytes,spent_ns,occupied_ns";

/// Records as CSV: the header, then one line each, numbered from 0 in the order of their replies.
pub fn to_csv(records: &[Served]) -> String {
    let mut csv = String::with_capacity(CSV_HEADER.len() + 1 + records.len() * 112);
    csv.push_str(CSV_HEADER);
    csv.push('\n');
    for (request, served) in records.iter().enumerate() {
        let times = [served.turned, served.read, served.begin, served.end, served.written];
        write!(csv, "{request}").expect("a string takes all");
        let times = times.into_iter().map(Timestamp::as_nanos);
        let lengths = [
            served.drawn.as_nanos(),
            served.size.get(),
            served.spent().as_nanos(),
            served.occupied().as_nanos(),
        ];
        for value in times.chain(lengths) {
            write!(csv, ",{value}").expect("a string takes all");
        }
        csv.push('\n');
    }
    csv
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the probe's record is `{text}`, not a line of `{CSV_HEADER}`; record again")]
pub struct CsvError {
    /// Counted from 1.
    line: usize,
    text: String,
}

/// Parses what [`to_csv`] wrote.
pub fn from_csv(csv: &str) -> Result<Vec<Served>, CsvError> {
    let mut lines = csv.lines().enumerate();
    let error = |(at, text): (usize, &str)| CsvError { line: at + 1, text: text.to_owned() };
    let header = lines.next().unwrap_or((0, ""));
    if header.1 != CSV_HEADER {
        return Err(error(header));
    }
    lines.map(|line| served_of(line.1).ok_or_else(|| error(line))).collect()
}

fn served_of(line: &str) -> Option<Served> {
    let mut values = [0_u64; 10];
    let mut fields = line.split(',');
    for value in &mut values {
        *value = fields.next()?.parse().ok()?;
    }
    let [_, turned, read, begin, end, written, drawn, size, spent, occupied] = values;
    let served = Served {
        turned: Timestamp::from_nanos(turned),
        read: Timestamp::from_nanos(read),
        begin: Timestamp::from_nanos(begin),
        end: Timestamp::from_nanos(end),
        written: Timestamp::from_nanos(written),
        drawn: Nanoseconds::from_nanos(drawn),
        size: Bytes::new(size),
    };
    let consistent = served.spent().as_nanos() == spent && served.occupied().as_nanos() == occupied;
    (consistent && fields.next().is_none()).then_some(served)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn served(turned: u64, spent: u64) -> Served {
        Served {
            turned: Timestamp::from_nanos(turned),
            read: Timestamp::from_nanos(turned + 10),
            begin: Timestamp::from_nanos(turned + 10),
            end: Timestamp::from_nanos(turned + 10 + spent),
            written: Timestamp::from_nanos(turned + 15 + spent),
            drawn: Nanoseconds::from_nanos(spent - 1),
            size: Bytes::new(64),
        }
    }

    #[test]
    fn a_record_becomes_one_line_and_is_read_back() {
        let records = [served(100, 20), served(1_000, 300)];
        let csv = to_csv(&records);
        let second = csv.lines().nth(2).unwrap();
        assert_eq!(second, "1,1000,1010,1010,1310,1315,299,64,300,315");
        assert_eq!(from_csv(&csv).unwrap(), records);
    }

    #[test]
    fn a_damaged_record_is_refused_by_line() {
        let csv = to_csv(&[served(100, 20), served(1_000, 300)]);
        for (from, to, line) in [
            ("request", "requests", "line 1"),
            (",315", "", "line 3"),
            (",315", ",316", "line 3"),
            (",315", ",315,1", "line 3"),
            ("0,100,", "0,x,", "line 2"),
        ] {
            let message = from_csv(&csv.replacen(from, to, 1)).unwrap_err().to_string();
            assert!(message.contains(line), "{from} to {to}: {message}");
        }
        assert!(from_csv("").is_err());
    }

    #[test]
    fn totals_continue_beyond_the_records() {
        let mut recorder = Recorder::new(NonZeroUsize::new(2));
        for i in 0..5 {
            recorder.add(served(i * 1_000, 100 + i));
        }
        recorder.connection();
        let json = recorder.summary("null", None);
        // 100 + 101 + … + 104 = 510; each drew 1 less, and occupies the probe 15 more.
        assert_eq!(
            json,
            "{\"law\":\"null\",\"requests\":5,\"connections\":1,\"recorded\":2,\"drawn_ns\":{\"sum\":505,\"mean\":101.0},\
             \"spent_ns\":{\"sum\":510,\"mean\":102.0,\"max\":104},\
             \"occupied_ns\":{\"sum\":585,\"mean\":117.0,\"max\":119}}\n"
        );
        let (records, totals) = recorder.finish();
        assert_eq!((records.len(), totals.requests), (2, 5));
    }

    #[test]
    fn a_summary_without_times_says_null() {
        let untimed = Recorder::new(None).summary("null", Some(7));
        assert!(untimed.contains("\"requests\":7") && untimed.contains("\"spent_ns\":null"), "{untimed}");
        let none_yet = Recorder::new(None).summary("null", None);
        assert!(none_yet.contains("\"spent_ns\":{\"sum\":0,\"mean\":null,\"max\":0}"), "{none_yet}");
    }
}
