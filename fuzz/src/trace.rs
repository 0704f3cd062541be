//! Traces: whatever is accepted is in order from zero, no longer than it says, and written out in nanoseconds reads back as
//! the same trace, with the same operations; whatever is refused names a line that is there.

use std::collections::BTreeSet;

use weighbridge_model::id::OperationId;
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::trace::Trace;

/// Reads `data` as a trace.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match Trace::parse("t.csv", text) {
        Ok(mut trace) => {
            let times = trace.times().to_vec();
            assert_eq!(times.first(), Some(&Nanoseconds::ZERO));
            assert!(times.is_sorted() && times.last() < Some(&trace.length()));
            let written: String = (0..times.len()).map(|at| line(&trace, at)).collect();
            let again = Trace::parse("again.csv", &format!("ns,operation\n{written}"))
                .expect("what was written is read");
            assert_eq!((again.times(), again.length()), (&times[..], trace.length()));
            for at in 0..times.len() {
                assert_eq!(again.name(at), trace.name(at), "arrival {at}");
            }
            resolves(&mut trace);
        }
        Err(error) => {
            assert!((1..=text.lines().count().max(1)).contains(&error.line), "line {}", error.line);
            assert!(error.to_string().starts_with("t.csv:"), "{error}");
        }
    }
}

/// An arrival as a line of CSV.
fn line(trace: &Trace, at: usize) -> String {
    let name = trace.name(at).map(|name| format!(",\"{}\"", name.replace('"', "\"\"")));
    format!("{}{}\n", trace.times()[at].as_nanos(), name.unwrap_or_default())
}

/// Every name stands for an operation where all are allowed, and for none where one is missing.
fn resolves(trace: &mut Trace) {
    let count = trace.times().len();
    let names: BTreeSet<String> = (0..count).filter_map(|at| trace.name(at)).map(str::to_owned).collect();
    let mut allowed: Vec<_> = (0..).map(OperationId).zip(names).collect();
    trace.resolve("t.csv", &allowed).expect("all are allowed");
    for at in 0..count {
        let named = trace.operation(at).map(|operation| allowed[operation.index()].1.as_str());
        assert_eq!(named, trace.name(at), "arrival {at}");
    }
    if let Some((_, missing)) = allowed.pop() {
        let error = trace.resolve("t.csv", &allowed).expect_err("one is missing");
        assert!(error.message.contains(&missing), "{error}");
    }
}
