//! Makes foreign text safe to show, and folds or cuts text to a width.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};
pub use weighbridge_model::quantity::grouped;

/// Replaces control and direction-changing characters by their codes (`\u{1b}`): a service's name must not
/// move the cursor or reverse a line.
pub fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control()
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

/// Columns that `text` takes in a terminal: two for wide characters, none for combining ones.
pub fn columns(text: &str) -> usize {
    text.width()
}

/// Cuts `text` to at most `most` columns. It is cut in the middle, marked by `…`, because similar names
/// differ at their ends.
pub fn shorten(text: &str, most: usize) -> String {
    if columns(text) <= most {
        return text.to_owned();
    }
    let left = most.saturating_sub(1);
    let head = prefix_within(text.chars(), left.div_ceil(2));
    let tail: String = prefix_within(text.chars().rev(), left - columns(&head)).chars().rev().collect();
    if most == 0 { String::new() } else { format!("{head}…{tail}") }
}

/// Cuts a sentence to at most `most` columns, at the end of a word.
pub fn cut(text: &str, most: usize) -> String {
    let lines = fold(text, "", "", most.saturating_sub(2), Wide::Cut);
    if columns(text) <= most {
        text.to_owned()
    } else {
        format!("{} …", lines[0].trim_end_matches([',', ';', ':']))
    }
}

/// The longest prefix of at most `most` columns.
fn prefix_within(characters: impl Iterator<Item = char>, most: usize) -> String {
    let mut width = 0;
    let fits = |c: &char| {
        width += c.width().unwrap_or(0);
        width <= most
    };
    characters.take_while(fits).collect()
}

/// How [`fold`] handles a word that is wider than a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wide {
    /// Cut in the middle: names and other text to read.
    Cut,
    /// Left whole on a line of its own: text to copy, such as a path.
    Whole,
}

/// What follows a number and stays on its line.
pub(crate) const UNITS: [&str; 12] =
    ["%", "pp", "ns", "µs", "ms", "s", "min", "B", "kB", "KiB", "MiB", "GiB"];

/// The words of `text`; a number and its unit are one.
fn words_of(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let is_unit = UNITS.contains(&word.trim_end_matches([',', ';', ':', '.', ')', ']', '…']));
        match words.last_mut() {
            Some(last) if is_unit && last.ends_with(|c: char| c.is_ascii_digit() || c == ']') => {
                last.push(' ');
                last.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}

/// Folds `lead` and `text` at spaces into lines of at most `width` columns; later lines begin with `indent`. No line
/// ends between a number and its unit.
pub fn fold(text: &str, lead: &str, indent: &str, width: usize, wide: Wide) -> Vec<String> {
    let mut lines = vec![lead.to_owned()];
    let mut is_fresh = true;
    for word in words_of(text) {
        let room =
            width.saturating_sub(columns(indent).max(if lines.len() == 1 { columns(lead) } else { 0 }));
        let word = if wide == Wide::Cut { shorten(&word, room.max(1)) } else { word };
        let line = lines.last_mut().expect("never empty");
        if is_fresh || columns(line) + 1 + columns(&word) <= width {
            line.push_str(if is_fresh { "" } else { " " });
            line.push_str(&word);
        } else {
            lines.push(format!("{indent}{word}"));
        }
        is_fresh = false;
    }
    lines
}

/// [`fold`] as one text; later lines are indented by the width of `lead`, at least by 2.
pub fn hanging(lead: &str, text: &str, width: usize) -> String {
    folded(lead, text, width, Wide::Cut)
}

/// [`hanging`] that cuts no word.
pub fn hanging_whole(lead: &str, text: &str, width: usize) -> String {
    folded(lead, text, width, Wide::Whole)
}

fn folded(lead: &str, text: &str, width: usize, wide: Wide) -> String {
    fold(text, lead, &" ".repeat(columns(lead).max(2)), width, wide).join("\n").trim_end().to_owned()
}

/// `1 block`, `6 blocks`
pub fn counted(count: u64, word: &str) -> String {
    format!("{} {word}{}", grouped(count), if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_and_reversals_become_visible() {
        assert_eq!(clean("a\x1b[31mb\n\u{202e}c"), "a\\u{1b}[31mb\\u{a}\\u{202e}c");
    }

    #[test]
    fn folding_keeps_every_word_and_the_width() {
        let text = "one two three four five six seven";
        let lines = fold(text, "", "  ", 10, Wide::Cut);
        assert!(lines.iter().all(|line| columns(line) <= 10), "{lines:?}");
        assert_eq!(lines.join(" ").replace("   ", " "), text);
        assert_eq!(lines[1], "  three");
        assert_eq!(hanging("a: ", "b", 80), "a: b");
        assert_eq!(hanging("at ", "/var/lib/somewhere now", 12), "at /var…here\n   now");
        assert_eq!(hanging_whole("at ", "/var/lib/somewhere now", 12), "at /var/lib/somewhere\n   now");
    }

    #[test]
    fn a_number_and_its_unit_stay_on_one_line() {
        assert_eq!(hanging("", "interval of 95 % and more", 16), "interval of 95 %\n  and more");
        assert_eq!(hanging("", "interval of 95 % and more", 15), "interval of\n  95 % and more");
        assert_eq!(hanging("", "by [+2.0, +3.1] %, so", 12), "by [+2.0,\n  +3.1] %,\n  so");
        assert_eq!(hanging("", "in each of the % of a", 14), "in each of the\n  % of a");
        let all: Vec<String> =
            (1..60).map(|width| hanging("", "a 95 % bc 1.5 MiB) d 20 ms.", width)).collect();
        let is_torn =
            |text: &String| ["%", "MiB", "ms"].iter().any(|unit| text.contains(&format!("\n  {unit}")));
        assert!(!all.iter().skip(8).any(is_torn), "{all:?}");
    }

    #[test]
    fn names_are_cut_in_their_middle() {
        assert_eq!(shorten("http://127.0.0.1:8080/", 22), "http://127.0.0.1:8080/");
        assert_eq!(shorten("http://127.0.0.1:8080/", 12), "http:/…8080/");
        assert_eq!((shorten("abcdef", 4), shorten("abcdef", 1)), ("ab…f".into(), "…".into()));
        assert_eq!(shorten("abcdef", 0), "");
        // Wide characters take two columns, so one column may stay empty.
        assert_eq!(shorten("測定測定測定", 8), "測定…定");
        for most in 0..30 {
            assert!(columns(&shorten("service-測-with-a-long-name", most)) <= most);
        }
    }

    #[test]
    fn thousands_stand_apart() {
        for (count, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (12_345_678, "12,345,678")] {
            assert_eq!(grouped(count), text);
        }
    }
}
