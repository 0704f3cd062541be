//! Which names say that a value is a secret.
//!
//! It goes by names alone and refuses to guess secrets from values.

/// Parts of a key, lower case and without separators, that make its value a secret.
const SECRET_PARTS: [&str; 11] = [
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

/// Whether a key (a header's, a variable's, a setting's) names a secret: Authorization, Cookie, X-Api-Key, and
/// anything like a password, secret, token, credential or private key. Case, `-` and `_` do not matter.
pub fn is_secret(key: &str) -> bool {
    let plain: String =
        key.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    SECRET_PARTS.iter().any(|part| plain.contains(part))
}
