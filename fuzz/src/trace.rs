//! Traces: whatever is accepted is in order from zero, no longer than it says, and written out in nanoseconds reads back as
//! the same trace; whatever is refused names a line that is there.

use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::trace::Trace;

/// Reads `data` as a trace.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match Trace::parse("t.csv", text) {
        Ok(trace) => {
            let times = trace.times();
            assert_eq!(times.first(), Some(&Nanoseconds::ZERO));
            assert!(times.is_sorted() && times.last() < Some(&trace.length()));
            let written: String = times.iter().map(|time| format!("{}\n", time.as_nanos())).collect();
            let again =
                Trace::parse("again.csv", &format!("ns\n{written}")).expect("what was written is read");
            assert_eq!(again, trace);
        }
        Err(error) => {
            assert!((1..=text.lines().count().max(1)).contains(&error.line), "line {}", error.line);
            assert!(error.to_string().starts_with("t.csv:"), "{error}");
        }
    }
}
