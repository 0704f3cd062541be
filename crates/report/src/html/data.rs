//! The results as JSON in the page, for its script. Nothing in it can end its element.

use std::borrow::Cow;
use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Serialize;
use weighbridge_model::summary::{Detail, Summary};

use crate::Report;

/// What the page's script reads.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PageData<'a> {
    /// The runs, in the order of the page.
    runs: Vec<PageRun<'a>>,
}

/// One run of the page.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PageRun<'a> {
    /// Verdicts, figures, findings.
    summary: &'a Summary,
    /// What the charts draw.
    detail: &'a Detail,
}

/// Most single requests over size per run: more would make the page slow to open, and fall onto the same
/// pixels.
const MOST_SIZE_SAMPLES: usize = 150_000;

pub(crate) fn embedded(reports: &[Report<'_>]) -> String {
    let details: Vec<Cow<'_, Detail>> = reports.iter().map(|report| thinned(report.detail)).collect();
    let runs = reports.iter().zip(&details);
    let data =
        PageData { runs: runs.map(|(report, detail)| PageRun { summary: report.summary, detail }).collect() };
    let json = serde_json::to_string(&data).expect("maps have keys of text, and nothing else can fail");
    escape_json(&json)
}

/// Thins single requests over size to [`MOST_SIZE_SAMPLES`]. Of each series, every n-th is kept in the order
/// of sizes and times, so that no size or time is favoured. Charts take the number of requests from the
/// curves.
fn thinned(detail: &Detail) -> Cow<'_, Detail> {
    let all: usize = detail.size_samples.iter().map(|samples| samples.size_bytes.len()).sum();
    if all <= MOST_SIZE_SAMPLES {
        return Cow::Borrowed(detail);
    }
    let mut detail = detail.clone();
    let most = MOST_SIZE_SAMPLES / detail.size_samples.len().max(1);
    for samples in &mut detail.size_samples {
        let step = samples.size_bytes.len().div_ceil(most.max(1)).max(1);
        let mut at = 0..;
        samples.size_bytes.retain(|_| at.next().is_some_and(|at: usize| at.is_multiple_of(step)));
        let mut at = 0..;
        samples.time_ns.retain(|_| at.next().is_some_and(|at: usize| at.is_multiple_of(step)));
    }
    Cow::Owned(detail)
}

/// Escapes every character that HTML, JavaScript or an editor could interpret. In JSON they only occur inside
/// strings, where each may be written as an escape.
fn escape_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len() + json.len() / 64);
    for c in json.chars() {
        let is_special = matches!(c, '<' | '>' | '&' | '\u{7f}'..='\u{9f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' | '\u{feff}');
        if is_special {
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use weighbridge_model::sizes::{SizeSamples, SizeTime};

    use super::*;

    #[test]
    fn many_requests_over_size_are_thinned_alike_and_few_are_kept() {
        let samples = |count: u64| SizeSamples {
            variant: "a".to_owned(),
            point: Default::default(),
            operation: "pong".to_owned(),
            time: SizeTime::Service,
            size_bytes: (0..count).collect(),
            time_ns: (0..count).map(|at| 10 * at).collect(),
            failed: 0,
        };
        let detail = |counts: &[u64]| Detail {
            size_samples: counts.iter().map(|count| samples(*count)).collect(),
            ..Detail::default()
        };
        assert!(matches!(thinned(&detail(&[75_000, 75_000])), Cow::Borrowed(_)));
        let much = detail(&[300_000, 20_000]);
        let thin = thinned(&much);
        let [first, second] = &thin.size_samples[..] else { panic!("two series") };
        assert_eq!((first.size_bytes.len(), second.size_bytes.len()), (75_000, 20_000));
        assert_eq!((first.size_bytes[1], first.time_ns[1], first.size_bytes[74_999]), (4, 40, 299_996));
    }

    #[test]
    fn nothing_ends_the_element_and_everything_reads_back() {
        let text = "</script><!-- & \u{2028}\u{202e}\u{feff}\"\\\n µ";
        let json = serde_json::to_string(text).unwrap();
        let escaped = escape_json(&json);
        assert!(!escaped.contains(['<', '>', '&', '\u{2028}', '\u{202e}', '\u{feff}']), "{escaped}");
        assert_eq!(serde_json::from_str::<String>(&escaped).unwrap(), text);
    }
}
