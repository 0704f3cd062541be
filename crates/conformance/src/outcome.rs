//! How a row did not pass, as text: what was expected and what came.
//!
//! Foreign text is escaped and truncated before it enters a message; nothing here contacts a service.

use std::fmt::Display;

/// Why a row did not pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Shortfall {
    /// The service breaks the contract; the text says what was expected and what came.
    Failed(String),
    /// The row could not be tried; the text says why.
    Skipped(String),
    /// The contract is kept, but measurements will suffer; the text says how.
    Warned(String),
}

impl Shortfall {
    /// Appends a remark to a failure.
    pub(super) fn behind(self, remark: impl Display) -> Self {
        match self {
            Self::Failed(text) => Self::Failed(format!("{text}{remark}")),
            other => other,
        }
    }
}

/// The result of a row.
pub(super) type Verdict = Result<(), Shortfall>;

/// A failure of `what`.
pub(super) fn differs(what: impl Display, expected: impl Display, came: impl Display) -> Shortfall {
    Shortfall::Failed(format!("{what}: expected {expected}, came {came}"))
}

/// Foreign bytes for a message: escaped, in backticks, at most 160 characters.
pub(super) fn quoted(bytes: &[u8]) -> String {
    const MOST: usize = 160;
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * MOST)]).into_owned();
    let short: String = text.chars().take(MOST).collect();
    let more = if short.len() < bytes.len() { "…" } else { "" };
    format!("`{}{more}`", short.escape_debug())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_is_escaped_and_cut() {
        assert_eq!(quoted(b"ready 1\n\x1b[31m"), "`ready 1\\n\\u{1b}[31m`");
        assert_eq!(quoted(&[b'x'; 161]), format!("`{}…`", "x".repeat(160)));
        assert_eq!(quoted(&[b'x'; 160]), format!("`{}`", "x".repeat(160)));
    }
}
