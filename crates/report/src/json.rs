//! JSON for programs, under the published schemas.

use serde::Serialize;
use weighbridge_model::summary::Summary;

#[derive(Serialize)]
struct Suite<'a> {
    experiments: &'a [&'a Summary],
}

pub fn run(summary: &Summary) -> String {
    pretty(summary)
}

/// `{"experiments":[…]}`
pub fn suite(summaries: &[&Summary]) -> String {
    pretty(&Suite { experiments: summaries })
}

/// Indented, with a final newline.
pub(crate) fn pretty(value: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(value).expect("string keys, written to memory");
    text.push('\n');
    text
}
