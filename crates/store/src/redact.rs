//! Keeps secrets out of the record: a value whose key names a secret is replaced by the beginning of its
//! hash, so that it remains visible whether two runs used the same secret.
//!
//! Only names decide; values are not guessed. Eight digits of a hash do not protect a secret that can be
//! guessed; they only keep it from being read.

use std::borrow::Cow;

use serde_json::Value;
use sha2::{Digest, Sha256};
use weighbridge_model::hex;

pub use weighbridge_model::secret::is_secret;

/// The value as it may be stored under this key: unchanged, or [`redacted`] if the key [names a
/// secret](is_secret).
pub fn redact<'a>(key: &str, value: &'a str) -> Cow<'a, str> {
    if is_secret(key) { redacted(value) } else { Cow::Borrowed(value) }
}

/// `<redacted sha256:XXXXXXXX>`, whatever the key, for values given as `env:NAME`. Redacted and empty values
/// are unchanged.
pub fn redacted(value: &str) -> Cow<'_, str> {
    if value.is_empty() || is_redacted(value) {
        return Cow::Borrowed(value);
    }
    let digest = Sha256::digest(value.as_bytes());
    Cow::Owned(format!("{OPENING}{}>", hex::encode(&digest[..4])))
}

/// Redacts text under secret keys anywhere in a JSON value, and list elements such as `key: value` or
/// `key=value` (header lines, environments).
pub fn redact_json(value: &mut Value) {
    match value {
        Value::Object(map) => {
            for (key, inner) in map {
                if is_secret(key) { redact_all(inner) } else { redact_json(inner) }
            }
        }
        Value::Array(list) => {
            for element in list {
                match element {
                    Value::String(text) => redact_line(text),
                    other => redact_json(other),
                }
            }
        }
        _ => {}
    }
}

const OPENING: &str = "<redacted sha256:";

fn is_redacted(value: &str) -> bool {
    let digits = value.strip_prefix(OPENING).and_then(|rest| rest.strip_suffix('>'));
    digits.is_some_and(|digits| digits.len() == 8 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Redacts every text below a secret key, also in lists and objects.
fn redact_all(value: &mut Value) {
    match value {
        Value::String(text) => *text = redacted(text).into_owned(),
        Value::Array(list) => list.iter_mut().for_each(redact_all),
        Value::Object(map) => map.values_mut().for_each(redact_all),
        _ => {}
    }
}

fn redact_line(text: &mut String) {
    let Some(at) = text.find([':', '=']) else { return };
    let (key, value) = (&text[..at], &text[at + 1..]);
    // A key has no spaces; prose with a colon is not a header line.
    if is_secret(key) && !key.trim().contains(' ') {
        let start = text.len() - value.trim_start().len();
        let kept = redacted(&text[start..]).into_owned();
        text.replace_range(start.., &kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // First 8 digits of `printf swordfish | sha256sum`.
    const SWORDFISH: &str = "<redacted sha256:b9f195c5>";

    #[test]
    fn secrets_are_replaced_by_the_beginning_of_their_hash() {
        for key in [
            "Authorization",
            "cookie",
            "Set-Cookie",
            "Proxy-Authorization",
            "X-Api-Key",
            "PGPASSWORD",
            "db_password",
            "CLIENT_SECRET",
            "github-token",
            "AWS_ACCESS_KEY_ID",
            "passphrase",
        ] {
            assert_eq!(redact(key, "swordfish"), SWORDFISH, "{key}");
        }
    }

    #[test]
    fn everything_else_is_kept() {
        for key in ["Content-Type", "GOGC", "keyboard", "PATH", "author", "key"] {
            assert_eq!(redact(key, "swordfish"), "swordfish", "{key}");
        }
    }

    #[test]
    fn redacting_twice_changes_nothing() {
        assert_eq!(redacted(SWORDFISH), SWORDFISH);
        assert_eq!(redacted(""), "");
        assert_ne!(redacted("<redacted sha256:not hex!>"), "<redacted sha256:not hex!>");
    }

    #[test]
    fn json_is_searched_to_the_bottom() {
        let mut value = serde_json::json!({
            "headers": ["Authorization: swordfish", "Accept: text/plain", "a token: not a header"],
            "variants": [{ "env": { "DB_PASSWORD": "swordfish", "GOGC": "off" } }],
            "environment": ["API_KEY=swordfish", "HOME=/home/me"],
            "tokens": { "all": ["swordfish"], "count": 3 },
        });
        redact_json(&mut value);
        assert_eq!(
            value,
            serde_json::json!({
                "headers": [format!("Authorization: {SWORDFISH}"), "Accept: text/plain", "a token: not a header"],
                "variants": [{ "env": { "DB_PASSWORD": SWORDFISH, "GOGC": "off" } }],
                "environment": [format!("API_KEY={SWORDFISH}"), "HOME=/home/me"],
                "tokens": { "all": [SWORDFISH], "count": 3 },
            })
        );
    }
}
