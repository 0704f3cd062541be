//! Colour with meaning: worse, better, undecided. Whether there is colour at all is the caller's decision; a reader
//! without it loses nothing, because every colour stands beside its word.

/// Whether text carries ANSI colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// None.
    Plain,
    /// ANSI escape sequences.
    Ansi,
}

/// What a piece of text means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Nothing in particular.
    Plain,
    /// A heading or the headline.
    Strong,
    /// The variant does better than the baseline.
    Better,
    /// The variant does worse than the baseline.
    Worse,
    /// It cannot be said, or was withheld.
    Undecided,
    /// Figures must not be used.
    Problem,
    /// Beside the point.
    Secondary,
}

impl Style {
    /// `text` in the colour of `tone`.
    pub fn paint(self, tone: Tone, text: &str) -> String {
        let code = match tone {
            Tone::Plain => return text.to_owned(),
            Tone::Strong => "1",
            Tone::Better => "32",
            Tone::Worse => "31",
            Tone::Undecided => "33",
            Tone::Problem => "1;31",
            Tone::Secondary => "2",
        };
        match self {
            Self::Plain => text.to_owned(),
            Self::Ansi => format!("\x1b[{code}m{text}\x1b[0m"),
        }
    }
}
