//! `total.hlog`: a trial's histograms in the HdrHistogram interval-log format, version 1.3, V2 compressed,
//! base64, which its Java, JavaScript, Python and Rust implementations read. Values are nanoseconds.
//!
//! A tag says what a line counts. For each point: `point=0;operation=0;outcome=ok;time=response`, then the
//! same of `service`, for each operation and outcome; `point=0;operation=1;outcome=ok;time=message` for each
//! operation of messages, or of sessions by outcome; if there were any, `point=0;time=handshake_full`, `point=0;time=handshake_resumed`,
//! `point=0;time=client_send`, `point=0;time=outside` and `point=0;time=client_receive`; last
//! `point=0;time=lag` and `point=0;time=loop_delay`.
//!
//! `steps.hlog` is the same of the steps of a search for capacity: `step=0;…` instead of `point=0;…`.
//!
//! All lines have the trial's measured time as their interval, because readers skip lines that begin before
//! the first one.

use std::io::Read;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use hdrhistogram::serialization::interval_log::{
    IntervalLogIterator, IntervalLogWriter, IntervalLogWriterBuilder, LogEntry, Tag,
};
use hdrhistogram::serialization::{Deserializer, V2DeflateSerializer};
use weighbridge_model::histogram::{TimeHistogram, time_histogram};
use weighbridge_model::id::OperationId;
use weighbridge_model::legs::{Leg, Legs};
use weighbridge_model::record::{
    ErrorKind, HandshakeKind, Handshakes, MessageTally, Outcome, Tallies, Tally, WindowKind, WindowRecord,
};

use crate::error::Problem;

/// The header that readers of the format expect.
const FORMAT: &str = "[Histogram log format version 1.3]";
const LEGEND: &str =
    "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n";

/// First bytes of a V2 compressed histogram.
const V2_COMPRESSED: [u8; 4] = 0x1c84_9314_u32.to_be_bytes();

/// Longest number in the V2 encoding: LEB128 with a whole ninth byte.
const LONGEST_NUMBER: usize = 9;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Time {
    Response,
    Service,
    Message,
    Handshake(HandshakeKind),
    Leg(Leg),
    Lag,
    LoopDelay,
}

/// What the tallies of a log are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Series {
    Points,
    Steps,
}

/// What a line counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Label {
    series: Series,
    /// The number of the point or step.
    at: usize,
    request: Option<(OperationId, Outcome)>,
    time: Time,
}

/// Writes a log of a trial; the windows give the interval.
///
/// Errors: which histogram cannot be stored, and why.
pub(crate) fn write_histograms<'a>(
    series: Series,
    tallies: impl IntoIterator<Item = &'a Tallies>,
    windows: &[WindowRecord],
) -> Result<Vec<u8>, String> {
    let (start, length) = measured_interval(windows);
    let mut bytes = Vec::new();
    IntervalLogWriterBuilder::new()
        .add_comment(FORMAT)
        .begin_log_with(&mut bytes, &mut V2DeflateSerializer::new())
        .map_err(|error| error.to_string())?;
    bytes.extend_from_slice(LEGEND.as_bytes());
    let mut serializer = V2DeflateSerializer::new();
    let mut log = IntervalLogWriterBuilder::new()
        .begin_log_with(&mut bytes, &mut serializer)
        .map_err(|error| error.to_string())?;
    for (tallies, at) in tallies.into_iter().zip(0..) {
        for (label, histogram) in labelled(series, at, tallies) {
            write_line(&mut log, label, histogram, start, length)
                .map_err(|problem| format!("{}: {problem}", label.text()))?;
        }
    }
    drop(log);
    Ok(bytes)
}

/// Reads the log, one element per point or step.
pub(crate) fn read_histograms(series: Series, bytes: &[u8]) -> Result<Vec<Tallies>, Problem> {
    let mut all = Vec::new();
    let mut open = Tallies::default();
    let mut waiting: Option<(Label, TimeHistogram)> = None;
    let mut last = 0;
    for (line, number) in bytes.split_inclusive(|byte| *byte == b'\n').zip(1..) {
        last = number;
        let Some((label, histogram)) =
            read_line(series, line).map_err(|what| Problem::on_line(number, what))?
        else {
            continue;
        };
        let expected =
            |what: &str| Problem::on_line(number, format!("`{}` where {what} is next", label.text()));
        if label.at != all.len() {
            return Err(expected(&format!("{} {}", series.unit(), all.len())));
        }
        waiting = match (waiting.take(), label.request, label.time) {
            (None, Some(_), Time::Response) => Some((label, histogram)),
            (Some((first, response)), Some((operation, outcome)), Time::Service)
                if first.request == label.request =>
            {
                open.entries.push(Tally {
                    operation,
                    outcome,
                    response: response.into(),
                    service: histogram.into(),
                });
                None
            }
            (None, Some((operation, outcome)), Time::Message) => {
                open.messages.push(MessageTally { operation, outcome, times: histogram });
                None
            }
            (None, None, Time::Handshake(kind)) => {
                open.handshakes.add(kind, &histogram);
                None
            }
            (None, None, Time::Leg(leg)) => {
                open.legs.add(leg, &histogram);
                None
            }
            (None, None, Time::Lag) => Some((label, histogram)),
            (Some((first, lag)), None, Time::LoopDelay) if first.time == Time::Lag => {
                let (lag, loop_delay) = (lag.into(), histogram.into());
                let mut tallies = Tallies { lag, loop_delay, ..std::mem::take(&mut open) };
                // Of a run all trials are read before any is judged.
                tallies.fold();
                all.push(tallies);
                None
            }
            (Some((first, _)), ..) => return Err(expected(&format!("the partner of `{}`", first.text()))),
            (None, ..) => return Err(expected("a response time or a lag")),
        };
    }
    let unfinished = !open.entries.is_empty()
        || !open.messages.is_empty()
        || open.handshakes != Handshakes::default()
        || open.legs != Legs::default();
    if waiting.is_some() || unfinished {
        return Err(Problem::on_line(last, format!("the log ends within {} {}", series.unit(), all.len())));
    }
    Ok(all)
}

/// The histograms of a point or step in the order of the file.
fn labelled(series: Series, at: usize, tallies: &Tallies) -> impl Iterator<Item = (Label, &TimeHistogram)> {
    let label = move |request, time| Label { series, at, request, time };
    let requests = tallies.entries.iter().flat_map(move |tally| {
        let request = Some((tally.operation, tally.outcome));
        [(label(request, Time::Response), &*tally.response), (label(request, Time::Service), &*tally.service)]
    });
    let handshakes = HandshakeKind::ALL.into_iter().filter_map(move |kind| {
        tallies.handshakes.get(kind).map(|times| (label(None, Time::Handshake(kind)), times))
    });
    let messages = tallies
        .messages
        .iter()
        .map(move |tally| (label(Some((tally.operation, tally.outcome)), Time::Message), &tally.times));
    let legs = Leg::ALL
        .into_iter()
        .filter_map(move |leg| tallies.legs.get(leg).map(|times| (label(None, Time::Leg(leg)), times)));
    requests.chain(messages).chain(handshakes).chain(legs).chain([
        (label(None, Time::Lag), &*tallies.lag),
        (label(None, Time::LoopDelay), &*tallies.loop_delay),
    ])
}

fn write_line(
    log: &mut IntervalLogWriter<'_, '_, Vec<u8>, V2DeflateSerializer>,
    label: Label,
    histogram: &TimeHistogram,
    start: Duration,
    length: Duration,
) -> Result<(), String> {
    check_bounds(histogram)?;
    let text = label.text();
    log.write_histogram(histogram, start, length, Tag::new(&text)).map_err(|error| error.to_string())
}

/// The label and histogram of a line; `None` for a comment or the legend.
fn read_line(series: Series, line: &[u8]) -> Result<Option<(Label, TimeHistogram)>, String> {
    let interval = match IntervalLogIterator::new(line).next() {
        None | Some(Ok(LogEntry::StartTime(_) | LogEntry::BaseTime(_))) => return Ok(None),
        Some(Ok(LogEntry::Interval(interval))) => interval,
        Some(Err(_)) => return Err("neither a comment nor a whole histogram line".to_owned()),
    };
    let tag = interval.tag().ok_or("a histogram without a tag")?;
    let label =
        Label::parse(series, tag.as_str()).ok_or_else(|| format!("`{}` is not a known tag", tag.as_str()))?;
    let encoded =
        STANDARD.decode(interval.encoded_histogram()).map_err(|error| format!("base64: {error}"))?;
    let histogram = inflate(&encoded)
        .and_then(|plain| Deserializer::new().deserialize(&mut &plain[..]).map_err(|error| error.to_string()))
        .map_err(|error| format!("histogram of `{}`: {error}", tag.as_str()))?;
    check_bounds(&histogram)?;
    Ok(Some((label, histogram)))
}

/// Decompresses to the V2 encoding and checks it, because the decoder does not: it allocates any length that
/// the data claims (up to 4 GiB), inflates without limit, and negates any number.
fn inflate(encoded: &[u8]) -> Result<Vec<u8>, String> {
    /// Cookie and length.
    const ENVELOPE: usize = 8;
    /// Envelope, offset, digits, lowest and highest value, ratio.
    const HEADER: usize = 40;
    let most = HEADER + LONGEST_NUMBER * time_histogram().distinct_values();
    let compressed = encoded.get(ENVELOPE..).ok_or("it is cut short")?;
    if encoded[..4] != V2_COMPRESSED {
        return Err("it is not in the V2 compressed encoding".to_owned());
    }
    let mut plain = Vec::new();
    let read = ZlibDecoder::new(compressed).take(most as u64 + 1).read_to_end(&mut plain);
    read.map_err(|error| format!("zlib: {error}"))?;
    if plain.len() > most {
        return Err(format!("it is longer than the {most} bytes of any histogram of these bounds"));
    }
    let length = plain.get(4..ENVELOPE).and_then(|bytes| bytes.try_into().ok()).map(u32::from_be_bytes);
    let counts = plain.get(HEADER..).ok_or("it is cut short")?;
    if length.map(|length| length as usize) != Some(counts.len()) {
        return Err("its length is not what its head says".to_owned());
    }
    check_numbers(counts)?;
    Ok(plain)
}

/// Refuses the one number that cannot be negated; in zigzag encoding it is the largest, nine bytes of ones.
fn check_numbers(mut counts: &[u8]) -> Result<(), String> {
    while !counts.is_empty() {
        let most = counts.len().min(LONGEST_NUMBER);
        let length = counts[..most].iter().position(|byte| byte & 0x80 == 0).map_or(most, |last| last + 1);
        let (number, rest) = counts.split_at(length);
        if number == [0xff; LONGEST_NUMBER] {
            return Err("a run of empty buckets is longer than any".to_owned());
        }
        counts = rest;
    }
    Ok(())
}

/// Histograms are merged by addition, which needs equal bounds.
fn check_bounds(histogram: &TimeHistogram) -> Result<(), String> {
    let bounds = |h: &TimeHistogram| (h.low(), h.high(), h.sigfig());
    let (found, expected) = (bounds(histogram), bounds(&time_histogram()));
    if found == expected {
        return Ok(());
    }
    Err(format!("histogram bounds (lowest, highest, digits) are {found:?}, expected {expected:?}"))
}

/// Start of the first measured window on the monotonic clock, and the time to the end of the last; of all
/// windows if none is measured.
fn measured_interval(windows: &[WindowRecord]) -> (Duration, Duration) {
    let span = |measured_only: bool| {
        let taken = windows.iter().filter(|w| !measured_only || w.kind == WindowKind::Measured);
        let start = taken.clone().map(|w| w.figures.started).min()?;
        let end = taken.map(|w| w.figures.ended).max()?;
        Some((Duration::from_nanos(start.as_nanos()), end.since(start).as_duration()))
    };
    span(true).or_else(|| span(false)).unwrap_or_default()
}

impl Time {
    const ALL: [Self; 10] = [
        Self::Response,
        Self::Service,
        Self::Message,
        Self::Handshake(HandshakeKind::Full),
        Self::Handshake(HandshakeKind::Resumed),
        Self::Leg(Leg::ClientSend),
        Self::Leg(Leg::Outside),
        Self::Leg(Leg::ClientReceive),
        Self::Lag,
        Self::LoopDelay,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Response => "response",
            Self::Service => "service",
            Self::Message => "message",
            Self::Handshake(HandshakeKind::Full) => "handshake_full",
            Self::Handshake(HandshakeKind::Resumed) => "handshake_resumed",
            Self::Leg(leg) => leg.name(),
            Self::Lag => "lag",
            Self::LoopDelay => "loop_delay",
        }
    }
}

impl Series {
    const fn unit(self) -> &'static str {
        match self {
            Self::Points => "point",
            Self::Steps => "step",
        }
    }
}

impl Label {
    /// The tag. The format forbids commas and spaces.
    fn text(self) -> String {
        let (unit, at, time) = (self.series.unit(), self.at, self.time.name());
        match self.request {
            Some((operation, outcome)) => {
                format!("{unit}={at};operation={};outcome={};time={time}", operation.0, outcome.name())
            }
            None => format!("{unit}={at};time={time}"),
        }
    }

    fn parse(series: Series, text: &str) -> Option<Self> {
        let mut fields = text.split(';');
        let mut field = |key: &str| fields.next()?.strip_prefix(key)?.strip_prefix('=');
        let at = field(series.unit())?.parse().ok()?;
        let request = if text.contains(";operation=") {
            let operation = OperationId(field("operation")?.parse().ok()?);
            Some((operation, outcome(field("outcome")?)?))
        } else {
            None
        };
        let name = field("time")?;
        let time = Time::ALL.into_iter().find(|time| time.name() == name)?;
        Some(Self { series, at, request, time })
    }
}

pub(crate) fn outcome(name: &str) -> Option<Outcome> {
    let errors = ErrorKind::ALL.into_iter().map(Outcome::Error);
    std::iter::once(Outcome::Ok).chain(errors).find(|outcome| outcome.name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log_with(values: &[u64]) -> String {
        let mut tallies = Tallies::default();
        let tally = tallies.entry(OperationId(3), Outcome::Error(ErrorKind::Timeout));
        for value in values {
            tally.response.record(*value).unwrap();
            tally.service.record(*value).unwrap();
        }
        String::from_utf8(write_histograms(Series::Points, &[tallies], &[]).unwrap()).unwrap()
    }

    #[test]
    fn the_head_is_what_other_implementations_expect() {
        let log = log_with(&[1]);
        assert!(
            log.starts_with(&format!("#{FORMAT}\n{LEGEND}Tag=point=0;operation=3;outcome=timeout;")),
            "{log}"
        );
    }

    #[test]
    fn tags_are_read_as_they_are_written() {
        for request in
            [None, Some((OperationId(7), Outcome::Ok)), Some((OperationId(0), outcome("check").unwrap()))]
        {
            for time in Time::ALL {
                for series in [Series::Points, Series::Steps] {
                    let label = Label { series, at: 12, request, time };
                    assert_eq!(Label::parse(series, &label.text()), Some(label));
                    assert!(Tag::new(&label.text()).is_some());
                }
            }
        }
        for text in [
            "",
            "point=0",
            "step=0;time=lag",
            "point=0;time=late",
            "point=x;time=lag",
            "point=0;operation=1;time=lag",
        ] {
            assert_eq!(Label::parse(Series::Points, text), None, "{text}");
        }
    }

    #[test]
    fn damage_is_found_with_its_line() {
        let log = log_with(&[1_000, 2_000_000]);
        let lines: Vec<&str> = log.lines().collect();
        assert_eq!(lines.len(), 6);
        let without = |dropped: usize| {
            let kept = lines.iter().zip(0..).filter(|(_, at)| *at != dropped);
            kept.map(|(line, _)| format!("{line}\n")).collect::<String>()
        };
        for (text, line) in [
            (without(2), 3),
            (without(3), 4),
            (without(4), 5),
            (without(5), 5),
            (
                log.replace(
                    "operation=3;outcome=timeout;time=service",
                    "operation=4;outcome=timeout;time=service",
                ),
                4,
            ),
            (log.replace("point=0;time=lag", "point=1;time=lag"), 5),
            (log.replace("point=0;time=lag", "point=0;time=late"), 5),
            (log.replacen("HISTFAAA", "HISSFAAA", 1), 3),
            (log.replacen("HISTFAAA", "HIST*AAA", 1), 3),
            (log.replacen("Tag=", "", 1), 3),
            (log[..log.len() - 10].to_owned(), 6),
        ] {
            let problem =
                read_histograms(Series::Points, text.as_bytes()).map(|points| points.len()).unwrap_err();
            assert_eq!(problem.line, Some(line), "{problem:?}\n{text}");
        }
    }

    #[test]
    fn a_histogram_of_other_bounds_is_refused_both_ways() {
        let tallies = Tallies {
            lag: TimeHistogram::new_with_bounds(1, 1_000_000, 3).unwrap().into(),
            ..Tallies::default()
        };
        let problem = write_histograms(Series::Points, &[tallies], &[]).unwrap_err();
        assert!(problem.contains("point=0;time=lag") && problem.contains("1000000"), "{problem}");
    }
}
