//! Addresses on the command line: the schemes of experiment files, and aliases such as `grpc://` that also
//! name a protocol, for which a file has a key.
//!
//! Every list of schemes in an error is made here. Which protocols a command can speak is decided elsewhere.

use super::{Protocol, Scheme, Url};

/// Aliases of a scheme together with a protocol.
const ALIASES: [(&str, Scheme, Protocol); 2] =
    [("grpc", Scheme::Http, Protocol::GRPC), ("grpcs", Scheme::Https, Protocol::GRPC)];

/// An address, and the protocol if the scheme is an alias.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypedUrl {
    pub url: Url,
    pub protocol: Option<Protocol>,
}

impl TypedUrl {
    /// Parses what [`Url::parse`] parses, and `grpc://host[:port][/path]` and `grpcs://…` with the ports of
    /// HTTP.
    ///
    /// Errors: in words; for an unknown scheme with the known ones.
    pub fn parse(text: &str) -> Result<Self, String> {
        let Some((name, rest)) = text.split_once("://") else {
            return Url::parse(text).map(|url| Self { url, protocol: None });
        };
        if let Some((_, scheme, protocol)) = ALIASES.into_iter().find(|(alias, ..)| *alias == name) {
            let url = Url::read(text, scheme, rest)?;
            return Ok(Self { url, protocol: Some(protocol) });
        }
        let scheme = Scheme::named(name).ok_or_else(|| {
            format!("`{text}`: scheme `{name}` is not supported; use {}", typed_schemes(|_| true))
        })?;
        Url::read(text, scheme, rest).map(|url| Self { url, protocol: None })
    }
}

/// The schemes, including aliases, of which the plain scheme is `wanted`, for a sentence: `` `http://` or
/// `grpc://` ``.
pub fn typed_schemes(wanted: impl Fn(Scheme) -> bool) -> String {
    let plain = Scheme::ALL.into_iter().map(|scheme| (scheme.name(), scheme));
    let all = plain.chain(ALIASES.into_iter().map(|(name, scheme, _)| (name, scheme)));
    listed(all.filter(|(_, scheme)| wanted(*scheme)).map(|(name, _)| name))
}

/// The error for an address with this scheme in a file.
pub(super) fn unknown_scheme(text: &str, name: &str) -> String {
    if let Some((_, scheme, protocol)) = ALIASES.into_iter().find(|(alias, ..)| *alias == name) {
        let (scheme, protocol) = (scheme.name(), protocol.name());
        return format!("`{text}`: write `{scheme}://`, and `protocol = \"{protocol}\"` beside it");
    }
    let known = listed(Scheme::ALL.into_iter().map(Scheme::name));
    format!("`{text}`: scheme `{name}` is not supported; use {known}")
}

/// `` `a://`, `b://` or `c://` ``.
fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut names: Vec<String> = names.map(|name| format!("`{name}://`")).collect();
    match names.pop() {
        Some(last) if !names.is_empty() => format!("{} or {last}", names.join(", ")),
        last => last.unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aliases_are_http_with_a_protocol() {
        for (text, plain, protocol) in [
            ("grpc://h:50051/a.B/C", "http://h:50051/a.B/C", Some(Protocol::GRPC)),
            ("grpcs://h/", "https://h/", Some(Protocol::GRPC)),
            ("https://h:1/", "https://h:1/", None),
            ("redis://h/2", "redis://h/2", None),
            ("grpc.example.com/x", "http://grpc.example.com/x", None),
        ] {
            let url = Url::parse(plain).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(TypedUrl::parse(text), Ok(TypedUrl { url, protocol }), "{text}");
        }
    }

    #[test]
    fn an_unknown_scheme_is_told_every_known_one() {
        let all = "`http://`, `https://`, `memcached://`, `redis://`, `rediss://`, `grpc://` or `grpcs://`";
        let told = TypedUrl::parse("ftp://h").expect_err("unknown");
        assert_eq!(told, format!("`ftp://h`: scheme `ftp` is not supported; use {all}"));
        assert_eq!(typed_schemes(Scheme::is_secured), "`https://`, `rediss://` or `grpcs://`");
        let told = TypedUrl::parse("grpc://").expect_err("no host");
        assert!(told.starts_with("`grpc://` is not an address"), "{told}");
    }

    #[test]
    fn a_file_is_told_its_own_schemes_and_how_it_names_grpc() {
        let told = Url::parse("ftp://h").expect_err("unknown");
        assert!(
            told.ends_with("use `http://`, `https://`, `memcached://`, `redis://` or `rediss://`"),
            "{told}"
        );
        let told = Url::parse("grpcs://h").expect_err("not in a file");
        assert_eq!(told, "`grpcs://h`: write `https://`, and `protocol = \"grpc\"` beside it");
    }
}
