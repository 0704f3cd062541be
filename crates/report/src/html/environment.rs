//! The environment as rows of path and value. Nested objects become dotted paths; nothing is left out.

use serde_json::Value;

use super::escape::escape;
use super::quiet;

pub(crate) fn table(environment: &Value) -> String {
    let rows = rows(environment);
    if rows.is_empty() {
        return quiet("No environment was stored with this run.");
    }
    let body: String = rows
        .iter()
        .map(|(path, value)| {
            format!("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", escape(path), escape(value))
        })
        .collect();
    format!(
        "<div class=\"scroll\"><table class=\"environment\"><caption>Host, kernel, tools and services as found when \
         the run started</caption><tbody>\n{body}</tbody></table></div>\n"
    )
}

/// Each leaf with its path; a list of plain values is one leaf.
fn rows(environment: &Value) -> Vec<(String, String)> {
    let mut rows = Vec::new();
    flatten("", environment, &mut rows);
    rows
}

fn flatten(path: &str, value: &Value, rows: &mut Vec<(String, String)>) {
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| flatten(&below(key), value, rows)),
        Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
            items.iter().enumerate().for_each(|(at, item)| flatten(&below(&at.to_string()), item, rows));
        }
        Value::Array(items) => {
            rows.push((path.to_owned(), items.iter().map(leaf).collect::<Vec<_>>().join(", ")));
        }
        Value::Null if path.is_empty() => {}
        leaf_value => rows.push((path.to_owned(), leaf(leaf_value))),
    }
}

fn leaf(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "unknown".to_owned(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn nested_values_become_paths() {
        let environment =
            json!({"cpu": {"model": "x", "flags": ["a", "b"]}, "disks": [{"name": "d"}], "smt": null});
        let expected = [("cpu.flags", "a, b"), ("cpu.model", "x"), ("disks.0.name", "d"), ("smt", "unknown")];
        let rows = rows(&environment);
        assert_eq!(rows, expected.map(|(path, value)| (path.to_owned(), value.to_owned())));
        assert!(super::rows(&Value::Null).is_empty());
    }
}
