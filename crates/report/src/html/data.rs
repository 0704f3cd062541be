//! The results as JSON inside the page, for its script. Nothing that is there can end the element it stands in.

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

/// The content of the element that holds the data.
pub(crate) fn embedded(reports: &[Report<'_>]) -> String {
    let run = |&Report { summary, detail, .. }| PageRun { summary, detail };
    let data = PageData { runs: reports.iter().map(run).collect() };
    let json = serde_json::to_string(&data).expect("maps have keys of text, and nothing else can fail");
    harmless(&json)
}

/// `json` without any character that HTML, JavaScript or an editor could take for more than text. None of them stands
/// outside JSON's strings, and inside they may all be written as escapes.
fn harmless(json: &str) -> String {
    let mut out = String::with_capacity(json.len() + json.len() / 64);
    for c in json.chars() {
        let suspicious = matches!(c, '<' | '>' | '&' | '\u{7f}'..='\u{9f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' | '\u{feff}');
        if suspicious {
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_ends_the_element_and_everything_reads_back() {
        let text = "</script><!-- & \u{2028}\u{202e}\u{feff}\"\\\n µ";
        let json = serde_json::to_string(text).unwrap();
        let made = harmless(&json);
        assert!(!made.contains(['<', '>', '&', '\u{2028}', '\u{202e}', '\u{feff}']), "{made}");
        assert_eq!(serde_json::from_str::<String>(&made).unwrap(), text);
    }
}
