//! JSON for programs: the summary as it is, under the published schema.

use serde::Serialize;
use weighbridge_model::summary::Summary;

#[derive(Serialize)]
struct Suite<'a> {
    experiments: &'a [&'a Summary],
}

pub fn run(summary: &Summary) -> String {
    pretty(summary)
}

/// The runs of a suite: `{"experiments":[…]}`.
pub fn suite(summaries: &[&Summary]) -> String {
    pretty(&Suite { experiments: summaries })
}

/// `value` indented, with a final newline.
pub(crate) fn pretty(value: &impl Serialize) -> String {
    // Keys are strings and writing goes to memory: the two ways in which this can fail cannot occur.
    let mut text = serde_json::to_string_pretty(value).expect("string keys, written to memory");
    text.push('\n');
    text
}
