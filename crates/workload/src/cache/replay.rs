//! The requests of a trace, as Twitter and Meta publish them: parsed row by row, and kept in 12 bytes each.
//!
//! Keys are anonymous, so only which are alike matters: each gets a number, in the order of first use, and a name of its
//! own length. A key has one length of values, the first above zero that a row tells, as the laws have it; rows that
//! tell another are counted. What has no counterpart is counted too, and nothing is passed over in silence.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};

use weighbridge_model::experiment::{
    CacheOperation, KEY_MOST, ReplayFormat, ReplaySets, ReplaySpec, VALUE_MOST, suggestion,
};
use weighbridge_model::quantity::{Nanoseconds, grouped};
use weighbridge_model::trace::{Trace, TraceError};

use super::draw::{mixed, unit};

const SECOND: u64 = 1_000_000_000;

/// What operations of traces become; `None` has no counterpart.
const OPERATIONS: [(&str, Option<CacheOperation>); 15] = [
    ("get", Some(CacheOperation::Get)),
    ("gets", Some(CacheOperation::Get)),
    ("get_lease", Some(CacheOperation::Get)),
    ("set", Some(CacheOperation::Set)),
    ("add", Some(CacheOperation::Set)),
    ("replace", Some(CacheOperation::Set)),
    ("cas", Some(CacheOperation::Set)),
    ("append", Some(CacheOperation::Set)),
    ("prepend", Some(CacheOperation::Set)),
    ("set_lease", Some(CacheOperation::Set)),
    ("delete", Some(CacheOperation::Delete)),
    ("head", Some(CacheOperation::Head)),
    ("incr", None),
    ("decr", None),
    ("touch", None),
];

/// The columns of Meta's traces that are used.
const META: [&str; 6] = ["key", "op", "size", "op_time", "op_count", "key_size"];

/// Requests in their order, and what is known of their keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replay {
    requests: Vec<ReplayedRequest>,
    keys: Vec<ReplayedKey>,
    has_times: bool,
    notes: ReplayNotes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ReplayedRequest {
    pub key: u32,
    /// Whole seconds since the first.
    second: u32,
    pub operation: CacheOperation,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ReplayedKey {
    name: u8,
    /// Bytes of its values; 0 also if no row tells.
    value: u32,
}

/// What is not sent as the file has it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct ReplayNotes {
    /// Requests left out, by what they are.
    left_out: BTreeMap<&'static str, u64>,
    /// Rows that tell another length of their key's values.
    resized: u64,
    /// Values and names that are too long, by row.
    long_values: u64,
    long_names: u64,
}

impl Replay {
    pub(super) fn at(&self, number: u64) -> ReplayedRequest {
        self.requests[(number % self.requests.len() as u64) as usize]
    }

    pub(super) fn requests(&self) -> &[ReplayedRequest] {
        &self.requests
    }

    pub fn len(&self) -> u64 {
        self.requests.len() as u64
    }

    /// Never: a trace has a request.
    pub fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    pub fn keys(&self) -> u32 {
        self.keys.len() as u32
    }

    /// How often an operation occurs.
    pub fn count(&self, operation: CacheOperation) -> u64 {
        self.requests.iter().filter(|request| request.operation == operation).count() as u64
    }

    pub(super) fn value_length(&self, key: u32) -> u32 {
        self.keys[key as usize].value
    }

    /// Bytes of a key's name, which needs a letter and a number.
    pub(super) fn name_length(&self, key: u32) -> u32 {
        u32::from(self.keys[key as usize].name).max(self.shortest_name())
    }

    fn shortest_name(&self) -> u32 {
        self.keys().saturating_sub(1).checked_ilog10().unwrap_or(0) + 2
    }

    /// Without the keys of which nothing is asked, since their rows were left out.
    fn with_used_keys(mut self) -> Self {
        let mut numbers = vec![u32::MAX; self.keys.len()];
        let mut used = 0;
        for request in &self.requests {
            let number = &mut numbers[request.key as usize];
            if *number == u32::MAX {
                (*number, used) = (used, used + 1);
            }
        }
        let mut keys = vec![ReplayedKey { name: 0, value: 0 }; used as usize];
        for (key, number) in self.keys.iter().zip(&numbers).filter(|(_, number)| **number != u32::MAX) {
            keys[*number as usize] = *key;
        }
        self.requests.iter_mut().for_each(|request| request.key = numbers[request.key as usize]);
        self.keys = keys;
        self
    }

    /// The times at which its requests were recorded: those within a second are spread over it, each at random within
    /// an equal part, so that their order stays.
    ///
    /// Errors: if it has no times, or too many.
    pub fn times(&self, file: &str) -> Result<Trace, TraceError> {
        if !self.has_times {
            let message = "has no column `op_time`; leave `load.arrivals` out and give a `rate`".to_owned();
            return Err(TraceError { file: file.to_owned(), line: 1, message });
        }
        let mut times = Vec::with_capacity(self.requests.len());
        for within in self.requests.chunk_by(|one, next| one.second == next.second) {
            let (second, parts) = (u64::from(within[0].second) * SECOND, within.len() as f64);
            for at in 0..within.len() {
                let part = (at as f64 + unit(mixed(times.len() as u64))) / parts;
                times.push(Nanoseconds::from_nanos(second + (part * SECOND as f64) as u64));
            }
        }
        Trace::from_times(file, times)
    }

    /// What it holds, and what is not sent as the file has it, in words.
    pub fn described(&self) -> String {
        let counts = CacheOperation::ALL.map(|operation| (self.count(operation), operation.name()));
        let counts = counts.into_iter().filter(|(count, _)| *count > 0);
        let counts: Vec<String> = counts.map(|(count, name)| format!("{} {name}", grouped(count))).collect();
        let (requests, keys) = (grouped(self.len()), grouped(u64::from(self.keys())));
        format!("{requests} requests for {keys} keys: {}", counts.join(", "))
    }

    /// What is not sent as the file has it; `None` if everything is.
    pub fn noted(&self) -> Option<String> {
        let ReplayNotes { left_out, resized, long_values, long_names } = &self.notes;
        let mut text = String::new();
        let mut add = |count: u64, what: &str| {
            if count > 0 {
                let _ = write!(text, "{}{what}: {}", if text.is_empty() { "" } else { "; " }, grouped(count));
            }
        };
        for (name, count) in left_out {
            add(*count, &format!("`{name}` left out"));
        }
        add(*resized, "rows with another size of value than their key's first, which it keeps");
        add(*long_values, &format!("values cut to {} B", grouped(u64::from(VALUE_MOST))));
        add(*long_names, &format!("keys cut to {KEY_MOST} B"));
        let shortest = self.shortest_name();
        let short = self.keys.iter().filter(|key| u32::from(key.name) < shortest).count() as u64;
        add(short, &format!("keys lengthened to {shortest} B, so that each has a name of its own"));
        add(
            self.keys.iter().filter(|key| key.value == 0).count() as u64,
            "keys with empty values, since no row tells a size above zero",
        );
        (!text.is_empty()).then_some(text)
    }

    /// As rows in Twitter's format, of keys by their numbers; for tests.
    #[doc(hidden)]
    pub fn rows(&self) -> String {
        let mut text = String::new();
        for request in &self.requests {
            let ReplayedRequest { key, second, operation } = request;
            let (name, value) = (self.keys[*key as usize].name, self.value_length(*key));
            let _ = writeln!(text, "{second},{key},{name},{value},0,{},0", operation.name());
        }
        text
    }
}

/// Reads rows one after another.
#[derive(Debug)]
pub struct ReplayParser<'a> {
    file: String,
    spec: &'a ReplaySpec,
    /// Where Meta's columns are; `None` before the header.
    columns: Option<[Option<usize>; META.len()]>,
    line: usize,
    passed: u64,
    /// Of the first request that is kept, and of the latest row.
    first_time: Option<u64>,
    last_time: u64,
    /// Keys by a hash of 64 bits: of ten million keys two are taken for one in three of a million files.
    known: HashMap<u64, u32>,
    replay: Replay,
}

/// A row's fields.
struct TraceRow<'r> {
    time: Option<&'r str>,
    key: &'r str,
    name: Option<&'r str>,
    value: &'r str,
    operation: &'r str,
    count: Option<&'r str>,
}

impl<'a> ReplayParser<'a> {
    pub fn new(spec: &'a ReplaySpec) -> Self {
        let replay =
            Replay { requests: Vec::new(), keys: Vec::new(), has_times: true, notes: ReplayNotes::default() };
        Self {
            file: spec.file.clone(),
            spec,
            columns: None,
            line: 0,
            passed: 0,
            first_time: None,
            last_time: 0,
            known: HashMap::new(),
            replay,
        }
    }

    /// The next line, with or without its end. Returns whether more are wanted.
    ///
    /// Errors: file, line, and what is allowed.
    pub fn line(&mut self, line: &[u8]) -> Result<bool, TraceError> {
        self.line += 1;
        self.parse(line).map_err(|message| self.error(message))
    }

    /// Errors: if there is no request.
    pub fn finish(self) -> Result<Replay, TraceError> {
        match self.replay.requests.is_empty() {
            false => Ok(self.replay.with_used_keys()),
            true if self.passed > 0 => {
                Err(self
                    .error(format!("only {} requests, and all are passed over; lower `from`", self.passed)))
            }
            true => Err(self.error(
                "no request; rows are as `0,key,3,100,0,get,0` (`twitter`) or have a header (`meta`)"
                    .to_owned(),
            )),
        }
    }

    /// An error at the current line.
    pub fn error(&self, message: String) -> TraceError {
        TraceError { file: self.file.clone(), line: self.line.max(1), message }
    }

    fn parse(&mut self, line: &[u8]) -> Result<bool, String> {
        let text = std::str::from_utf8(line)
            .map_err(|_| "is not text; `.gz` and `.zst` need their names".to_owned())?;
        let text = text.trim_end_matches(['\r', '\n']);
        if text.trim().is_empty() {
            return Ok(true);
        }
        let row = match (self.spec.format, self.columns) {
            (ReplayFormat::Twitter, _) => twitter(text)?,
            (ReplayFormat::Meta, None) => {
                self.columns = Some(header(text)?);
                return Ok(true);
            }
            (ReplayFormat::Meta, Some(columns)) => meta(text, &columns)?,
        };
        self.add(&row)
    }

    fn add(&mut self, row: &TraceRow<'_>) -> Result<bool, String> {
        let count = row.count.map_or(Ok(1), |count| number("op_count", count, 1, u64::from(u32::MAX)))?;
        let operation = operation(row.operation)?;
        let value = number("the size of the value", row.value, 0, u64::from(u32::MAX))?;
        let name = match row.name {
            Some(size) => number("the size of the key", size, 0, u64::from(u32::MAX))?,
            None => row.key.len() as u64,
        };
        self.keep_time(row.time)?;
        let over = count.min(self.spec.from - self.passed);
        self.passed += over;
        let count = count - over;
        let left_out = match operation {
            _ if count == 0 => return Ok(true),
            (name, None) => Some(name),
            (_, Some(CacheOperation::Set)) if self.spec.sets == ReplaySets::Ignore => Some("set"),
            _ => None,
        };
        // What is left out still tells how long values are.
        let key = self.key(row.key, name, value)?;
        let Some(operation) = operation.1.filter(|_| left_out.is_none()) else {
            *self.replay.notes.left_out.entry(left_out.unwrap_or_default()).or_default() += count;
            return Ok(true);
        };
        let room = self.spec.limit - self.replay.len();
        let second = self.second()?;
        let request = ReplayedRequest { key, second, operation };
        self.replay.requests.extend(std::iter::repeat_n(request, count.min(room) as usize));
        Ok(count < room)
    }

    fn keep_time(&mut self, time: Option<&str>) -> Result<(), String> {
        let Some(time) = time else {
            self.replay.has_times = false;
            return Ok(());
        };
        let at = number("the time", time, 0, u64::MAX)?;
        if at < self.last_time {
            return Err(format!("`{time}` is earlier than the time before it; sort the rows"));
        }
        self.last_time = at;
        Ok(())
    }

    /// Seconds from the first request to the latest row.
    fn second(&mut self) -> Result<u32, String> {
        let first = *self.first_time.get_or_insert(self.last_time);
        let wrong = || {
            format!("`{}` is more than 136 years after the first time; times are in seconds", self.last_time)
        };
        u32::try_from(self.last_time - first).map_err(|_| wrong())
    }

    /// The number of a key; notes how long it and its values are.
    fn key(&mut self, text: &str, name: u64, value: u64) -> Result<u32, String> {
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        let Replay { keys, notes, .. } = &mut self.replay;
        notes.long_values += u64::from(value > u64::from(VALUE_MOST));
        let value = value.min(u64::from(VALUE_MOST)) as u32;
        let next = keys.len() as u32;
        let key = *self.known.entry(hasher.finish()).or_insert(next);
        if key == next {
            notes.long_names += u64::from(name > u64::from(KEY_MOST));
            keys.push(ReplayedKey { name: name.min(u64::from(KEY_MOST)) as u8, value });
        }
        let known = &mut keys[key as usize];
        match (known.value, value) {
            (0, value) => known.value = value,
            (_, 0) => {}
            (known, value) => notes.resized += u64::from(known != value),
        }
        Ok(key)
    }
}

/// The columns of Twitter. A key may hold commas.
fn twitter(text: &str) -> Result<TraceRow<'_>, String> {
    let wrong = || {
        format!(
            "`{}` does not have seven columns: time, key, size of the key, size of the value, client, operation, time to live",
            shown(text)
        )
    };
    let (time, rest) = text.split_once(',').ok_or_else(wrong)?;
    let mut back = rest.rsplitn(6, ',');
    let mut next = || back.next().ok_or_else(wrong);
    let [ttl, operation, _client, value, name, key] = [next()?, next()?, next()?, next()?, next()?, next()?];
    number("the time to live", ttl, 0, u64::MAX)?;
    Ok(TraceRow { time: Some(time), key, name: Some(name), value, operation, count: None })
}

/// Where the columns of Meta are.
fn header(text: &str) -> Result<[Option<usize>; META.len()], String> {
    let names: Vec<&str> = text.split(',').map(str::trim).collect();
    let columns = META.map(|wanted| names.iter().position(|name| *name == wanted));
    for (wanted, found) in META.iter().zip(columns).take(3) {
        if found.is_none() {
            return Err(format!(
                "`{}` is no header with a column `{wanted}`; needed are `key`, `op` and `size`, and known `op_time`, `op_count` and `key_size`",
                shown(text)
            ));
        }
    }
    Ok(columns)
}

fn meta<'r>(text: &'r str, columns: &[Option<usize>; META.len()]) -> Result<TraceRow<'r>, String> {
    let mut fields = [None; META.len()];
    for (at, field) in text.split(',').enumerate() {
        if let Some(column) = columns.iter().position(|column| *column == Some(at)) {
            fields[column] = Some(field.trim());
        }
    }
    let missing = (0..META.len()).find(|at| columns[*at].is_some() && fields[*at].is_none());
    if let Some(missing) = missing {
        return Err(format!("`{}` has no column `{}`, which the header names", shown(text), META[missing]));
    }
    let [key, operation, value, time, count, name] = fields;
    let [key, operation, value] = [key, operation, value].map(Option::unwrap_or_default);
    Ok(TraceRow { time, key, name, value, operation, count })
}

/// The operation as the file may write it, and what it becomes.
fn operation(text: &str) -> Result<(&'static str, Option<CacheOperation>), String> {
    let found = OPERATIONS.iter().find(|(name, _)| name.eq_ignore_ascii_case(text.trim()));
    found.copied().ok_or_else(|| {
        let names = OPERATIONS.map(|(name, _)| name);
        format!("`{}` is no operation of a trace{}", shown(text), suggestion(text, &names))
    })
}

fn number(what: &str, text: &str, least: u64, most: u64) -> Result<u64, String> {
    let text = text.trim();
    match text.parse() {
        Ok(number) if (least..=most).contains(&number) => Ok(number),
        _ => Err(format!("`{}`: {what} must be a whole number from {least} to {most}", shown(text))),
    }
}

fn shown(text: &str) -> String {
    text.chars().take(60).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(format: ReplayFormat) -> ReplaySpec {
        let (file, sets) = ("t.csv".to_owned(), ReplaySets::Send);
        ReplaySpec { file, format, from: 0, limit: 1000, sets, sha256: None }
    }

    fn parsed(spec: &ReplaySpec, text: &str) -> Result<Replay, String> {
        let mut parser = ReplayParser::new(spec);
        for line in text.split_inclusive('\n') {
            if !parser.line(line.as_bytes()).map_err(|error| error.to_string())? {
                break;
            }
        }
        parser.finish().map_err(|error| error.to_string())
    }

    const TWITTER: &str = "7,a,30,0,1,get,0\n7,b,20,40,1,set,60\n7,a,30,100,2,gets,0\n9,b,20,50,2,cas,0\n\
        9,a,b,12,7,2,add,0\n9,b,20,0,2,incr,0\n10,b,20,0,2,delete,0\n";

    #[test]
    fn rows_of_twitter_are_requests() {
        let replay = parsed(&spec(ReplayFormat::Twitter), TWITTER).expect("a trace");
        assert_eq!(
            replay.rows(),
            "0,0,30,100,0,get,0\n0,1,20,40,0,set,0\n0,0,30,100,0,get,0\n2,1,20,40,0,set,0\n2,2,12,7,0,set,0\n3,1,20,40,0,delete,0\n"
        );
        assert_eq!(replay.described(), "6 requests for 3 keys: 2 get, 3 set, 1 delete");
        let noted = replay.noted().expect("notes");
        assert_eq!(
            noted,
            "`incr` left out: 1; rows with another size of value than their key's first, which it keeps: 1"
        );
        let times = replay.times("t.csv").expect("times");
        let seconds: Vec<u64> = times.times().iter().map(|time| time.as_nanos() / SECOND).collect();
        assert!(times.times().is_sorted() && seconds.last() >= Some(&2), "{seconds:?}");
    }

    #[test]
    fn both_headers_of_meta_are_read() {
        let old = "key,op,size,op_count,key_size\n11,GET,300,3,21\n12,SET,5,1,21\n11,GET_LEASE,0,1,21\n";
        let replay = parsed(&spec(ReplayFormat::Meta), old).expect("a trace");
        assert_eq!(replay.described(), "5 requests for 2 keys: 4 get, 1 set");
        assert_eq!((replay.value_length(0), replay.name_length(0)), (300, 21));
        assert!(replay.times("t.csv").expect_err("no times").message.contains("no column `op_time`"));
        let new = "op_time,key,key_size,op,op_count,size,cache_hits,ttl,usecase\n100,x,7,GET,2,8,1,0,u\n103,y,7,DELETE,1,0,0,0,u\n";
        let replay = parsed(&spec(ReplayFormat::Meta), new).expect("a trace");
        assert_eq!(replay.rows(), "0,0,7,8,0,get,0\n0,0,7,8,0,get,0\n3,1,7,0,0,delete,0\n");
        assert!(replay.times("t.csv").is_ok());
    }

    #[test]
    fn a_part_of_a_trace_is_read_and_sets_are_ignored() {
        let mut spec = spec(ReplayFormat::Meta);
        (spec.from, spec.limit, spec.sets) = (2, 3, ReplaySets::Ignore);
        let text = "key,op,size,op_count\n1,GET,5,4\n2,SET,9,1\n3,DELETE,0,1\n4,GET,0,1\n";
        let replay = parsed(&spec, text).expect("a trace");
        assert_eq!(replay.described(), "3 requests for 2 keys: 2 get, 1 delete");
        assert!(replay.noted().expect("notes").starts_with("`set` left out: 1"));
        spec.from = 100;
        assert!(parsed(&spec, text).expect_err("nothing left").contains("lower `from`"));
    }

    #[test]
    fn errors_name_file_line_and_what_is_allowed() {
        let mut printed = String::new();
        for (format, text) in [
            (ReplayFormat::Twitter, ""),
            (ReplayFormat::Twitter, "0,a,1,1,0,get,0\n1,2\n"),
            (ReplayFormat::Twitter, "0,a,1,1,0,gett,0\n"),
            (ReplayFormat::Twitter, "0.5,a,1,1,0,get,0\n"),
            (ReplayFormat::Twitter, "0,a,1,-1,0,get,0\n"),
            (ReplayFormat::Twitter, "0,a,x,1,0,get,0\n"),
            (ReplayFormat::Twitter, "0,a,1,1,0,get,never\n"),
            (ReplayFormat::Twitter, "5,a,1,1,0,get,0\n4,a,1,1,0,get,0\n"),
            (ReplayFormat::Twitter, "5,a,1,1,0,get,0\n4300000000000,a,1,1,0,get,0\n"),
            (ReplayFormat::Meta, "0,a,1,1,0,get,0\n"),
            (ReplayFormat::Meta, "key,op,size,op_count\na,GET\n"),
            (ReplayFormat::Meta, "key,op,size,op_count\na,GET,1,0\n"),
        ] {
            let error = parsed(&spec(format), text).expect_err(text);
            printed.push_str(&error);
            printed.push('\n');
        }
        let golden = include_str!("../../testdata/replay-errors.txt");
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            let path = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/replay-errors.txt");
            std::fs::write(path, &printed).expect("a golden file");
        } else {
            assert_eq!(printed, golden);
        }
        let error = ReplayParser::new(&spec(ReplayFormat::Twitter)).line(&[0x1f, 0x8b]).expect_err("packed");
        assert!(error.to_string().starts_with("t.csv:1: is not text"), "{error}");
    }

    #[test]
    fn lengths_that_cannot_be_sent_are_told() {
        let text = "0,a,300,2000000,0,set,0\n0,b,1,0,0,get,0\n";
        let replay = parsed(&spec(ReplayFormat::Twitter), text).expect("a trace");
        assert_eq!(
            (replay.name_length(0), replay.value_length(0), replay.name_length(1)),
            (250, 1_000_000, 2)
        );
        assert_eq!(
            replay.noted().expect("notes"),
            "values cut to 1,000,000 B: 1; keys cut to 250 B: 1; keys lengthened to 2 B, so that each has a name of its own: 1; \
             keys with empty values, since no row tells a size above zero: 1"
        );
    }
}
