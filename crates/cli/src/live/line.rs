//! One line of a view: pieces of text with a tone, cut to a width before they are coloured.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};
use weighbridge_report::{Style, Tone};

/// Pieces of text in a row.
#[derive(Debug, Clone, Default)]
pub struct StyledLine(Vec<(Tone, String)>);

impl StyledLine {
    /// A line of one piece.
    pub fn new(tone: Tone, text: impl Into<String>) -> Self {
        Self(vec![(tone, text.into())])
    }

    /// Adds a piece.
    pub fn push(&mut self, tone: Tone, text: impl Into<String>) {
        self.0.push((tone, text.into()));
    }

    /// The line as text of at most `columns` columns; `…` marks a cut.
    pub fn fitted(&self, columns: usize, style: Style) -> String {
        let whole: usize = self.0.iter().map(|(_, text)| text.width()).sum();
        let mut left = if whole <= columns { columns } else { columns.saturating_sub(1) };
        let mut out = String::new();
        for (tone, text) in &self.0 {
            let part = head(text, left);
            left -= part.width();
            out.push_str(&style.paint(*tone, part));
            if part.len() < text.len() {
                left = 0;
            }
        }
        if whole > columns {
            out.push('…');
        }
        out
    }
}

/// The longest prefix of `text` that takes at most `columns` columns.
fn head(text: &str, columns: usize) -> &str {
    let mut width = 0;
    let end = text.char_indices().find(|(_, c)| {
        width += c.width().unwrap_or(0);
        width > columns
    });
    end.map_or(text, |(at, _)| &text[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_at_the_terminals_width_with_a_mark() {
        let mut line = StyledLine::new(Tone::Strong, "pong: ");
        line.push(Tone::Plain, "Rust against Go");
        assert_eq!(line.fitted(40, Style::Plain), "pong: Rust against Go");
        assert_eq!(line.fitted(21, Style::Plain), "pong: Rust against Go");
        assert_eq!(line.fitted(11, Style::Plain), "pong: Rust…");
        assert_eq!(line.fitted(4, Style::Plain), "pon…");
        assert_eq!(line.fitted(11, Style::Ansi), "\x1b[1mpong: \x1b[0mRust…");
    }

    #[test]
    fn wide_characters_take_two_columns() {
        assert_eq!(StyledLine::new(Tone::Plain, "測定測定").fitted(6, Style::Plain), "測定…");
        assert_eq!(StyledLine::new(Tone::Plain, "測定測定").fitted(8, Style::Plain), "測定測定");
    }
}
