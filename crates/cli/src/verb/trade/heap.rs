//! `weigh trade heap`: the smallest heap with which a variant carries out whole passages.

use std::path::Path;

use anyhow::bail;
use serde_json::{Value, json};
use weighbridge_conductor::passages::{HEAP_PASSAGES, HeapTry, MinimumHeap, SLOWDOWN_LIMIT, minimum_heap};
use weighbridge_model::experiment::Experiment;
use weighbridge_report::Format;

use super::passages::{Chosen, say};
use crate::exit::Exit;
use crate::printer::Printer;

pub fn run(path: &Path, only: Option<&str>, format: Format, printer: &Printer) -> anyhow::Result<Exit> {
    if !matches!(format, Format::Text | Format::Json) {
        bail!("`{format}` is not available for a heap; use `text` or `json`");
    }
    let Chosen { experiment, checked, options } = Chosen::new(path, only)?;
    let mut told = |tried: &HeapTry| printer.progress(shown(tried));
    let found = minimum_heap(checked, &options, &mut |event| say(event, printer), &mut told)?;
    let text = match format {
        Format::Json => serde_json::to_string_pretty(&as_json(&experiment.variants[0].name, &found))?,
        _ => as_text(&experiment, &found),
    };
    printer.data(&text)?;
    Ok(Exit::Fine)
}

/// `256 MiB: passes, the slowest passage takes 412 ms`
pub fn shown(tried: &HeapTry) -> String {
    match &tried.outcome {
        Ok(slowest) => format!("{}: passes, the slowest passage takes {slowest}", tried.heap),
        // Whatever it led to, that is why.
        Err(why) if why.contains("OutOfMemoryError") => format!("{}: too small, out of memory", tried.heap),
        // What a service said to it is in JSON.
        Err(why) => format!("{}: too small, {}", tried.heap, why.split("; ").next().unwrap_or_default()),
    }
}

fn as_text(experiment: &Experiment, found: &MinimumHeap) -> String {
    let sessions = experiment.points[0].workload.sessions_of_a_passage().unwrap_or_default();
    format!(
        "minimum heap of `{}`: {} (with {} it fails)\n\
         {} starts, each of {HEAP_PASSAGES} passages of {sessions} sessions; none may take more than {SLOWDOWN_LIMIT} times as long as the \
         slowest with {}",
        experiment.variants[0].name,
        found.minimum,
        found.too_small,
        found.tries.len(),
        found.tries.iter().find(|tried| tried.outcome.is_ok()).map(|tried| tried.heap).unwrap_or_default(),
    )
}

fn as_json(variant: &str, found: &MinimumHeap) -> Value {
    let tries = found.tries.iter().map(|tried| {
        let heap = tried.heap.get();
        match &tried.outcome {
            Ok(slowest) => {
                json!({ "heap_bytes": heap, "passes": true, "slowest_passage_ns": slowest.as_nanos() })
            }
            Err(why) => json!({ "heap_bytes": heap, "passes": false, "why": why }),
        }
    });
    json!({
        "variant": variant,
        "minimum_bytes": found.minimum.get(),
        "too_small_bytes": found.too_small.get(),
        "tries": tries.collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use weighbridge_model::quantity::{Bytes, Nanoseconds};

    use super::*;

    fn found() -> MinimumHeap {
        let tried = |mb: u64, outcome| HeapTry { heap: Bytes::new(mb << 20), outcome };
        let (minimum, too_small) = (Bytes::new(24 << 20), Bytes::new(23 << 20));
        let fails = "variant `g1`: a passage takes more than 2.00 s".to_owned();
        let tries = vec![tried(256, Ok(Nanoseconds::from_millis(412))), tried(23, Err(fails))];
        MinimumHeap { minimum, too_small, tries }
    }

    #[test]
    fn a_heap_is_told_with_the_largest_that_fails_and_how_it_was_found() {
        let text =
            "[workload]\nname = 'trade'\nsize = 'small'\n[[variant]]\nname = 'g1'\nservice = 'java-trade'\n";
        let experiment = Experiment::parse("e.toml", text).expect("an experiment");
        assert_eq!(
            as_text(&experiment, &found()),
            "minimum heap of `g1`: 24 MiB (with 23 MiB it fails)\n2 starts, each of 2 passages of 32 sessions; none \
             may take more than 10 times as long as the slowest with 256 MiB"
        );
        let died = "ended with exit code 1; it said: java.lang.OutOfMemoryError: Java heap space".to_owned();
        assert_eq!(
            shown(&HeapTry { heap: Bytes::new(8 << 20), outcome: Err(died) }),
            "8 MiB: too small, out of memory"
        );
        assert_eq!(shown(&found().tries[0]), "256 MiB: passes, the slowest passage takes 412 ms");
        let refused = "`g1` refused its configuration (exit code 2); check protocol; it said: no".to_owned();
        assert_eq!(
            shown(&HeapTry { heap: Bytes::new(8 << 20), outcome: Err(refused) }),
            "8 MiB: too small, `g1` refused its configuration (exit code 2)"
        );
        assert_eq!(
            shown(&found().tries[1]),
            "23 MiB: too small, variant `g1`: a passage takes more than 2.00 s"
        );
    }

    #[test]
    fn json_has_every_try() {
        let expected = json!({
            "variant": "g1", "minimum_bytes": 24 << 20, "too_small_bytes": 23 << 20,
            "tries": [
                { "heap_bytes": 256 << 20, "passes": true, "slowest_passage_ns": 412_000_000 },
                { "heap_bytes": 23 << 20, "passes": false, "why": "variant `g1`: a passage takes more than 2.00 s" },
            ],
        });
        assert_eq!(as_json("g1", &found()), expected);
    }
}
