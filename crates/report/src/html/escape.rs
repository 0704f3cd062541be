//! Foreign text in a page: nothing of it is markup. Every text that is not written in this crate passes here.

use crate::text::clean;

/// `text` for element content and double-quoted attributes; control characters are shown as their codes.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in clean(text).chars() {
        push(&mut out, c);
    }
    out
}

/// [`escape`] for several lines in a `<pre>`: line ends stay.
pub(crate) fn escape_lines(text: &str) -> String {
    text.lines().map(escape).collect::<Vec<_>>().join("\n")
}

/// A figure made by this crate: escaped, with a true minus sign.
pub(crate) fn figure(text: &str) -> String {
    escape(text).replace('-', "−")
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
