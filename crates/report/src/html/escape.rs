//! Escapes text for a page. All text from outside this crate passes through here.

use crate::text::clean;

/// For element content and double-quoted attributes; control characters are shown as their codes.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in clean(text).chars() {
        push(&mut out, c);
    }
    out
}

/// [`escape`] for a `<pre>`: keeps line ends.
pub(crate) fn escape_lines(text: &str) -> String {
    text.lines().map(escape).collect::<Vec<_>>().join("\n")
}

/// Escapes a figure, and turns hyphens into minus signs.
pub(crate) fn figure(text: &str) -> String {
    escape(text).replace('-', "−")
}

/// `, 64 B` to follow a caption; empty if `text` is.
pub(crate) fn suffix(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(", {}", escape(text)) }
}

/// Attributes by which the page's script filters: `data-variant="go"`.
pub(crate) fn attributes(pairs: &[(&str, &str)]) -> String {
    pairs.iter().map(|(name, value)| format!(" data-{name}=\"{}\"", escape(value))).collect()
}

fn push(out: &mut String, c: char) {
    match c {
        '&' => out.push_str("&amp;"),
        '<' => out.push_str("&lt;"),
        '>' => out.push_str("&gt;"),
        '"' => out.push_str("&quot;"),
        '\'' => out.push_str("&#39;"),
        _ => out.push(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_character_of_markup_survives() {
        assert_eq!(
            escape("<script>\"a\" & 'b'\x1b\u{202e}"),
            "&lt;script&gt;&quot;a&quot; &amp; &#39;b&#39;\\u{1b}\\u{202e}"
        );
    }

    #[test]
    fn line_ends_stay_in_preformatted_text_only() {
        assert_eq!(escape_lines("a <\r\nb\n"), "a &lt;\nb");
        assert_eq!(escape("a\nb"), "a\\u{a}b");
    }
}
