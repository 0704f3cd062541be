//! Texts with places for values: what is read is written so that it reads back the same, text without places is itself, and
//! what is meant as text is read as that text.

use weighbridge_model::experiment::{
    Template, TemplatePiece, environment_names, expand_environment, is_value_name,
};

/// Reads `data` as a text with places.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(template) = Template::parse(text) {
        assert_eq!(Template::parse(&template.to_string()), Ok(template.clone()), "{text:?}");
        assert!(template.values().all(is_value_name));
        for two in template.pieces().windows(2) {
            assert!(!matches!(two, [TemplatePiece::Text(_), TemplatePiece::Text(_)]), "{text:?}");
        }
        if !text.contains("${") {
            assert_eq!(template.to_string(), text);
        }
        let known: Vec<&str> = template.variables().collect();
        if !text.starts_with("env:") {
            assert_eq!(environment_names(text), known, "{text:?}");
        }
    }
    let meant = Template::parse(&Template::escaped(text)).expect("text is a template");
    match meant.pieces() {
        [] => assert!(text.is_empty()),
        [TemplatePiece::Text(read)] => assert_eq!(read, text),
        other => panic!("{text:?} is read as {other:?}"),
    }
    // Every variable is known: the only texts left are those between.
    let expanded = expand_environment(text, &|_| Some(String::new())).expect("all are known");
    assert!(expanded.len() <= text.len());
    if environment_names(text).is_empty() && !text.contains("${$}") {
        assert_eq!(expanded, text);
    }
}
