//! Escapes text for a page. All text from outside this crate passes through here.

use crate::text::{UNITS, clean};

/// For element content: no line breaks between a number and its unit; control characters are shown as their codes.
pub(crate) fn escape(text: &str) -> String {
    escape_exactly(&unbroken(text))
}

/// With no-break spaces between numbers and units.
fn unbroken(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut words = text.split(' ').peekable();
    while let Some(word) = words.next() {
        out.push_str(word);
        let Some(next) = words.peek() else { break };
        let unit = next.split(|c: char| !(c.is_alphanumeric() || c == '%')).next().unwrap_or_default();
        let is_number = word.ends_with(|c: char| c.is_ascii_digit() || c == ']');
        out.push(if is_number && UNITS.contains(&unit) { '\u{a0}' } else { ' ' });
    }
    out
}

/// For attributes, and for text to copy.
pub(crate) fn escape_exactly(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in clean(text).chars() {
        push(&mut out, c);
    }
    out
}

/// [`escape_exactly`] for a `<pre>`: keeps line ends.
pub(crate) fn escape_lines(text: &str) -> String {
    text.lines().map(escape_exactly).collect::<Vec<_>>().join("\n")
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
    pairs.iter().map(|(name, value)| format!(" data-{name}=\"{}\"", escape_exactly(value))).collect()
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
    fn a_number_and_its_unit_stay_on_one_line() {
        assert_eq!(escape("[+20.2, +21.6] % of 5 %, 1 pp"), "[+20.2, +21.6]\u{a0}% of 5\u{a0}%, 1\u{a0}pp");
        assert_eq!(escape("64 B: 3 µs; 4 blocks, 2 sizes"), "64\u{a0}B: 3\u{a0}µs; 4 blocks, 2 sizes");
        assert_eq!(escape("a % b"), "a % b");
        assert_eq!(attributes(&[("point", "5 %")]), " data-point=\"5 %\"");
    }

    #[test]
    fn line_ends_stay_in_preformatted_text_only() {
        assert_eq!(escape_lines("a <\r\nb\n"), "a &lt;\nb");
        assert_eq!(escape("a\nb"), "a\\u{a}b");
    }
}
