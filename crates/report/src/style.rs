//! Colours for text with a meaning. The caller decides whether there are any; no information is lost without
//! them, because every colour comes with a word.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Without colours.
    Plain,
    /// With ANSI escape sequences.
    Ansi,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Plain,
    /// A heading, or the headline.
    Strong,
    /// The variant does better than the baseline.
    Better,
    /// The variant does worse than the baseline.
    Worse,
    /// Undecided, withheld or suspect.
    Undecided,
    /// Invalid figures, or failures.
    Problem,
    /// Less important.
    Secondary,
}

impl Style {
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
