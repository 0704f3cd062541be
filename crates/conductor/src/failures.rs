//! Texts that servers returned for failed requests, made safe to display: secrets redacted, control
//! characters escaped, length limited.
//!
//! A value that the user gave under a secret name is hidden wherever a server repeats it, and so is the value
//! in a server's own `name=value` or `name:value`. Nothing else is guessed.

use weighbridge_load::failures::{Failures, LONGEST};
use weighbridge_model::record::ErrorKind;
use weighbridge_store::redact::{is_secret, redacted};
use weighbridge_store::scrub::Secrets;

/// In bytes.
pub const SHOWN: usize = 120;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailureText {
    /// At most [`SHOWN`] bytes, without control characters.
    pub text: String,
    pub kind: ErrorKind,
    /// What the first of them was about; empty where nothing is known.
    pub example: String,
    pub count: u64,
}

/// Most frequent first. Texts that are equal after redaction and cutting are merged.
pub fn shown(failures: &Failures, secrets: &Secrets) -> Vec<FailureText> {
    let mut shown: Vec<FailureText> = Vec::new();
    for failure in failures.texts() {
        let text = displayable(&failure.text, secrets);
        match shown.iter_mut().find(|other| (&other.text, other.kind) == (&text, failure.kind)) {
            Some(other) => other.count += failure.count,
            None => {
                let example = match &*failure.example {
                    [] => String::new(),
                    about => displayable(about, secrets),
                };
                shown.push(FailureText { text, kind: failure.kind, example, count: failure.count });
            }
        }
    }
    shown.sort_by_key(|failure| std::cmp::Reverse(failure.count));
    shown
}

fn displayable(bytes: &[u8], secrets: &Secrets) -> String {
    let mut text = secrets.hide(&String::from_utf8_lossy(bytes)).into_owned();
    if bytes.len() == LONGEST {
        secrets.values().iter().for_each(|secret| hide_beginning(&mut text, secret));
    }
    let text = redact_named_values(&text);
    if text.is_empty() { "(no text)".to_owned() } else { truncated(&escaped(&text)) }
}

/// Hides the beginning of a secret that was cut off at the end of the text.
fn hide_beginning(text: &mut String, secret: &str) {
    let ends = secret.char_indices().map(|(at, _)| at).skip(1);
    if let Some(end) = ends.filter(|end| text.ends_with(&secret[..*end])).last() {
        text.truncate(text.len() - end);
        text.push_str(&redacted(secret));
    }
}

/// The text with the values of secret names in it redacted: `token=abc`, `"password":"abc"`.
fn redact_named_values(text: &str) -> String {
    let word = |word: &str| match word.split_once(['=', ':']) {
        // Redacted values contain a blank, so this split would tear them apart.
        Some((name, value)) if !value.is_empty() && !value.starts_with('<') && is_secret(name) => {
            format!("{name}{}{}", &word[name.len()..=name.len()], redacted(value))
        }
        _ => word.to_owned(),
    };
    text.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// Replaces unprintable characters by escapes, so that a terminal does not interpret them.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '\'' | '\\' => out.push(c),
            c => out.extend(c.escape_debug()),
        }
    }
    out
}

fn truncated(text: &str) -> String {
    if text.len() <= SHOWN {
        return text.to_owned();
    }
    const MARK: char = '…';
    let most = SHOWN - MARK.len_utf8();
    let end = (0..=most).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    format!("{}{MARK}", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    // First 8 digits of `printf swordfish | sha256sum`.
    const HIDDEN: &str = "<redacted sha256:b9f195c5>";

    fn displayed(text: &[u8], secrets: &[&str]) -> String {
        displayable(text, &Secrets::new(secrets.iter().map(|secret| (*secret).to_owned())))
    }

    #[test]
    fn control_characters_and_broken_text_are_shown_and_do_nothing() {
        assert_eq!(
            displayed(b"ERR \x1b[2J\x07\r\nx \x9b31m", &[]),
            "ERR \\u{1b}[2J\\u{7}\\r\\nx \u{fffd}31m"
        );
        assert_eq!(
            displayed("a\u{202e}b \u{2066}c \u{9b}d 'e' é".as_bytes(), &[]),
            "a\\u{202e}b \\u{2066}c \\u{9b}d 'e' é"
        );
        assert_eq!(displayed(b"", &[]), "(no text)");
    }

    #[test]
    fn a_text_is_cut_between_characters_whatever_escaping_made_of_it() {
        for text in ["x".repeat(256), "é".repeat(128), "\u{1b}".repeat(256), "a\u{1b}é".repeat(60)] {
            let shown = displayed(text.as_bytes(), &[]);
            assert!(shown.len() <= SHOWN && shown.len() > SHOWN - 12, "{} {shown}", shown.len());
            assert!(shown.ends_with('…') && shown.chars().all(|c| !c.is_control()), "{shown}");
        }
        assert_eq!(displayed("x".repeat(SHOWN).as_bytes(), &[]), "x".repeat(SHOWN));
    }

    #[test]
    fn secrets_are_hidden_wherever_a_peer_repeats_them() {
        assert_eq!(displayed(b"no user swordfish here", &["swordfish"]), format!("no user {HIDDEN} here"));
        assert_eq!(displayed(b"wrong token=swordfish, try again", &[]).find("swordfish"), None);
        assert_eq!(displayed(b"{\"password\":\"swordfish\"}", &[]).find("swordfish"), None);
        assert_eq!(displayed(b"the token: expired", &[]), "the token: expired");
        assert_eq!(displayed(b"token=swordfish", &[]), format!("token={HIDDEN}"));
        assert_eq!(displayed(b"token=swordfish", &["swordfish"]), format!("token={HIDDEN}"));
        // Cut where nobody sees the rest.
        let long = [&[b'x'; LONGEST - 5][..], b"sword"].concat();
        assert_eq!(displayed(&long, &["swordfish"]).find("sword"), None);
        let near = [&[b'x'; 100][..], &[b'y'; 300][..]].concat();
        let secret = "y".repeat(300);
        assert!(!displayed(&near[..LONGEST], &[&secret]).contains("yy"));
    }

    #[test]
    fn texts_come_by_their_number() {
        let mut failures = Failures::default();
        for (text, count) in [("rare", 1), ("often", 3), ("secret 1234", 2)] {
            (0..count).for_each(|_| failures.note(ErrorKind::Status, text.as_bytes(), b""));
        }
        let shown = shown(&failures, &Secrets::new(["1234".to_owned()]));
        let told: Vec<(&str, u64)> = shown.iter().map(|f| (f.text.as_str(), f.count)).collect();
        assert_eq!(told[0], ("often", 3));
        assert!(told[1].0.starts_with("secret <redacted") && told[2] == ("rare", 1), "{told:?}");
    }
}
