//! What peers said about requests that failed: the first few distinct texts, and how often each came.
//!
//! Texts are foreign bytes, kept unchanged but truncated; the code that displays them must escape them. However many
//! texts a hostile peer invents, they take no more memory than [`DISTINCT`] of [`LONGEST`] bytes; the rest is only
//! counted.

use weighbridge_model::record::ErrorKind;

/// Most distinct texts that are kept.
pub const DISTINCT: usize = 5;

/// Most bytes of a text that are kept. Longer than any display, so that secrets in it are recognised whole.
pub const LONGEST: usize = 256;

/// A text and how often it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub kind: ErrorKind,
    /// The peer's bytes, at most [`LONGEST`].
    pub text: Box<[u8]>,
    /// What the first of them was about, such as a key; empty where nothing is known, and at most [`LONGEST`] bytes.
    pub example: Box<[u8]>,
    /// How often.
    pub count: u64,
}

/// The texts of failed replies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Failures {
    texts: Vec<Failure>,
    unlisted: u64,
}

impl Failures {
    /// Counts one failure with that text.
    pub fn note(&mut self, kind: ErrorKind, text: &[u8], example: &[u8]) {
        let cut = |bytes: &[u8]| bytes[..bytes.len().min(LONGEST)].into();
        self.add(&Failure { kind, text: cut(text), example: cut(example), count: 1 });
    }

    /// Adds the counts of another.
    pub fn merge(&mut self, other: &Self) {
        other.texts.iter().for_each(|failure| self.add(failure));
        self.unlisted += other.unlisted;
    }

    /// The texts in the order in which they first came.
    pub fn texts(&self) -> &[Failure] {
        &self.texts
    }

    /// Failures with a text that is not among [`texts`](Self::texts).
    pub fn unlisted(&self) -> u64 {
        self.unlisted
    }

    fn add(&mut self, more: &Failure) {
        let is_alike = |known: &Failure| (known.kind, &known.text) == (more.kind, &more.text);
        match self.texts.iter().position(is_alike) {
            Some(at) => self.texts[at].count += more.count,
            None if self.texts.len() < DISTINCT => self.texts.push(more.clone()),
            None => self.unlisted += more.count,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_texts_are_kept_and_the_others_counted() {
        let mut failures = Failures::default();
        for k in 0..100_000u32 {
            let text = format!("error {} {}", k % 50_000, "x".repeat(1000));
            failures.note(ErrorKind::Status, text.as_bytes(), format!("{k}").as_bytes());
        }
        let counts: Vec<u64> = failures.texts().iter().map(|failure| failure.count).collect();
        assert_eq!((counts, failures.unlisted()), (vec![2; DISTINCT], 100_000 - 2 * DISTINCT as u64));
        assert!(failures.texts().iter().all(|failure| failure.text.len() == LONGEST));
        assert!(failures.texts()[1].text.starts_with(b"error 1 "));
        assert_eq!(*failures.texts()[1].example, *b"1", "the first, not 50001");
    }

    #[test]
    fn merging_loses_no_failure() {
        let failures = |texts: &[&str]| {
            let mut failures = Failures::default();
            texts.iter().for_each(|text| failures.note(ErrorKind::Check, text.as_bytes(), b""));
            failures
        };
        let mut all = failures(&["a", "b", "a"]);
        all.merge(&failures(&["b", "c", "d", "e", "f", "g"]));
        assert_eq!(all.texts().iter().map(|failure| failure.count).collect::<Vec<_>>(), [2, 2, 1, 1, 1]);
        assert_eq!(
            all.unlisted(),
            2,
            "`f`, for which there was no room, and `g`, for which there was none before"
        );
    }
}
