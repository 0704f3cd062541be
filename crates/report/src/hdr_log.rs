//! Histograms of requests as an HdrHistogram interval log, format 1.3. A line holds one variant, point,
//! operation, outcome and kind of time, with all valid blocks merged. Values are nanoseconds.
//!
//! The tag names the line: `variant=go;operation=pong;outcome=ok;time=response`, with `point=` before the
//! operation if there are several points. The format allows neither commas nor spaces in tags, so everything
//! but letters, digits and `-._~/:` is percent-encoded.

use std::time::Duration;

use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use weighbridge_model::evidence::{Evidence, Extent, OperationEvidence};
use weighbridge_model::histogram::TimeHistogram;
use weighbridge_model::summary::Summary;

use crate::columns::point_text;
use crate::text::clean;

/// Readers of the format expect these lines before the first histogram.
const FORMAT: &str = "[Histogram log format version 1.3]";
const LEGEND: &str =
    "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n";

/// The whole log. Sums over operations are left out, because readers that add lines up would count them
/// twice.
pub(crate) fn log(summary: &Summary, evidence: &Evidence) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    IntervalLogWriterBuilder::new()
        .add_comment(FORMAT)
        .add_comment(&clean(&format!("run {}: {}", summary.run, summary.title)))
        .add_comment("values are nanoseconds")
        .begin_log_with(&mut bytes, &mut V2DeflateSerializer::new())
        .map_err(|error| error_text(&error))?;
    bytes.extend_from_slice(LEGEND.as_bytes());
    let mut serializer = V2DeflateSerializer::new();
    let mut log = IntervalLogWriterBuilder::new()
        .begin_log_with(&mut bytes, &mut serializer)
        .map_err(|error| error_text(&error))?;
    for operation in evidence.operations.iter().filter(|operation| operation.extent == Extent::Single) {
        let length = operation.measured.as_duration();
        for (text, histogram) in lines(operation) {
            let tag = Tag::new(&text);
            log.write_histogram(histogram, Duration::ZERO, length, tag)
                .map_err(|error| error_text(&error))?;
        }
    }
    drop(log);
    Ok(bytes)
}

fn error_text(problem: &dyn std::fmt::Debug) -> String {
    format!("{problem:?}")
}

fn lines(operation: &OperationEvidence) -> Vec<(String, &TimeHistogram)> {
    let point = match operation.point.is_empty() {
        true => String::new(),
        false => format!("point={};", encoded(&point_text(&operation.point))),
    };
    let subject =
        format!("variant={};{point}operation={}", encoded(&operation.variant), encoded(&operation.operation));
    let both = operation.outcomes.iter().flat_map(|times| {
        let tag = |time| format!("{subject};outcome={};time={time}", times.outcome.name());
        [(tag("response"), &times.response), (tag("service"), &times.service)]
    });
    both.collect()
}

fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' | b':' => {
                out.push(char::from(byte));
            }
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_tags_are_encoded_as_in_a_url() {
        assert_eq!(encoded("go 1.26, 64 B"), "go%201.26%2C%2064%20B");
        assert_eq!(encoded("a=b;c%\n"), "a%3Db%3Bc%25%0A");
        assert_eq!(encoded("µs"), "%C2%B5s");
    }
}
