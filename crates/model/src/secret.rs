//! What must not be shown: names that mark secrets, and characters that control a terminal. Secrets are
//! recognised by name only; values are not guessed.

/// Parts of a key that make its value a secret, in lower case and without separators.
pub const SECRET_PARTS: [&str; 11] = [
    "authorization",
    "cookie",
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "credential",
    "apikey",
    "privatekey",
    "accesskey",
];

/// Whether a key (a header's, a variable's, a setting's) names a secret: Authorization, Cookie, X-Api-Key,
/// and anything like a password, secret, token, credential or private key. Case, `-` and `_` do not matter.
pub fn is_secret(key: &str) -> bool {
    let plain: String =
        key.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    SECRET_PARTS.iter().any(|part| plain.contains(part))
}

/// A path with its query, in which values of [secret](is_secret) names are replaced by `…`, so that it can be
/// a name in tables. References to the environment stay as written.
pub fn shown_path(path: &str) -> String {
    let Some((path, query)) = path.split_once('?') else { return path.to_owned() };
    let pair = |pair: &str| match pair.split_once('=') {
        Some((key, value)) if is_secret(key) && !value.is_empty() && !value.starts_with("${") => {
            format!("{key}=…")
        }
        _ => pair.to_owned(),
    };
    format!("{path}?{}", query.split('&').map(pair).collect::<Vec<_>>().join("&"))
}

/// Control characters, and characters that have no width or change the direction of text.
pub fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// The text with every [unprintable](is_unprintable) character except tabs escaped.
pub fn printable(text: &str) -> std::borrow::Cow<'_, str> {
    if !text.chars().any(|c| c != '\t' && is_unprintable(c)) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if c != '\t' && is_unprintable(c) { out.extend(c.escape_debug()) } else { out.push(c) }
    }
    out.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_shown_as_its_code() {
        assert_eq!(printable("a\u{1b}[2J\rb\u{202e}\u{9b}c\td é"), "a\\u{1b}[2J\\rb\\u{202e}\\u{9b}c\td é");
        assert!(matches!(printable("plain"), std::borrow::Cow::Borrowed("plain")));
    }

    #[test]
    fn a_query_is_shown_without_its_secrets() {
        for (path, shown) in [
            ("/a/b", "/a/b"),
            ("/a?x=1&api_key=swordfish&y", "/a?x=1&api_key=…&y"),
            ("?token=swordfish", "?token=…"),
            ("/a?token=", "/a?token="),
            ("/a?token=${env:TOKEN}&password=${word}", "/a?token=${env:TOKEN}&password=${word}"),
        ] {
            assert_eq!(shown_path(path), shown);
        }
    }
}
