//! Rows of traces of requests: whatever is accepted, written as rows of Twitter's format, reads back as the same requests;
//! whatever is refused names a line that is there.

use weighbridge_model::experiment::{ReplayFormat, ReplaySets, ReplaySpec};
use weighbridge_model::trace::TraceError;
use weighbridge_workload::{Replay, ReplayParser};

/// A repeated row may stand for this many requests, and no more are kept.
const LIMIT: u64 = 10_000;

/// Reads `data` as a trace of each format.
pub fn check(data: &[u8]) {
    for format in [ReplayFormat::Twitter, ReplayFormat::Meta] {
        match parse(format, data) {
            Ok(replay) => {
                let rows = replay.rows();
                assert_eq!(rows.lines().count() as u64, replay.len());
                let again = parse(ReplayFormat::Twitter, rows.as_bytes()).expect("what was written is read");
                assert_eq!(again.rows(), rows);
                assert_eq!((again.len(), again.keys() <= replay.keys()), (replay.len(), true));
            }
            Err(error) => {
                let lines = data.split_inclusive(|byte| *byte == b'\n').count().max(1);
                assert!((1..=lines).contains(&error.line), "line {}", error.line);
                assert!(error.to_string().starts_with("t.csv:") && !error.message.contains('\n'), "{error}");
            }
        }
    }
}

fn parse(format: ReplayFormat, data: &[u8]) -> Result<Replay, TraceError> {
    let (file, sets) = ("t.csv".to_owned(), ReplaySets::Send);
    let spec = ReplaySpec { file, format, from: 0, limit: LIMIT, sets, sha256: None };
    let mut parser = ReplayParser::new(&spec);
    for line in data.split_inclusive(|byte| *byte == b'\n') {
        if !parser.line(line)? {
            break;
        }
    }
    parser.finish()
}
