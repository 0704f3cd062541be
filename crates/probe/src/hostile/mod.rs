//! Servers that misbehave on purpose, each in one way that has a name; loopback only.
//!
//! A [`Case`] is a declaration: the protocol it speaks, what it does, what a good client must report, and its steps.
//! The cases do not use this project's own framers: they write bytes. Those whose [`Expected`] is `ok` are odd but
//! legal, and a client that fails on them is wrong. The module listens on loopback only, does not judge clients, and
//! uses no CPU while nobody reads.

mod certificates;
mod grpc;
mod http1;
mod http2;
mod memcached;
mod oddities;
mod peer;
mod resp;
mod script;
mod server;
mod tls;

use std::fmt::{self, Display, Write as _};

use weighbridge_model::record::ErrorKind;

pub use certificates::{Authority, CertificateError};
pub use server::{Hostile, serve};

use script::Script;

/// One misbehaviour.
#[derive(Clone, Copy)]
pub struct Case {
    /// Its name, unique, such as `close-mid-body`.
    pub name: &'static str,
    /// What it speaks, or pretends to.
    pub protocol: Protocol,
    /// What it does, as the rest of a sentence that begins with "the server".
    pub does: &'static str,
    /// What a good client reports.
    pub expected: Expected,
    /// What the client has to send or do for it; `None` if any request will do.
    pub needs: Option<Needs>,
    script: fn() -> Script,
}

/// The protocol of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.1 in clear text.
    Http1,
    /// HTTP/2 with prior knowledge, in clear text.
    Http2,
    /// gRPC over HTTP/2 in clear text.
    Grpc,
    /// HTTP/1.1 over TLS.
    Tls,
    /// memcached's text protocol, including meta commands.
    Memcached,
    /// Redis' protocol, both versions.
    Resp,
}

/// What a good client reports of its requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// Every request succeeds: odd, but legal.
    Ok,
    /// Every request fails as this kind.
    Every(ErrorKind),
    /// Requests that the misbehaviour did not reach may succeed; at least one fails, and all failures are of this kind.
    Some(ErrorKind),
    /// Every request fails, each as one of these: clients may defend themselves or wait for their timeout.
    OneOf(&'static [ErrorKind]),
}

/// What a client must do so that the case has an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// A body of at least 4 MiB, larger than any buffer in between.
    LargeBody,
    /// Pauses between requests: the misbehaviour comes while nothing is outstanding.
    Pauses,
    /// To trust the authority of the probe's certificates.
    Trust,
    /// To verify no certificates.
    NoVerification,
}

impl Protocol {
    /// Every protocol, in the order of the table.
    pub const ALL: [Self; 6] = [Self::Http1, Self::Http2, Self::Grpc, Self::Tls, Self::Memcached, Self::Resp];

    /// The name, as in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Http1 => "http/1.1",
            Self::Http2 => "http/2",
            Self::Grpc => "grpc",
            Self::Tls => "tls",
            Self::Memcached => "memcached",
            Self::Resp => "resp",
        }
    }

    /// The scheme of the URL that reaches it.
    pub const fn scheme(self) -> &'static str {
        match self {
            Self::Http1 | Self::Http2 => "http",
            Self::Grpc => "grpc",
            Self::Tls => "https",
            Self::Memcached => "memcached",
            Self::Resp => "redis",
        }
    }
}

impl Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ok => write!(f, "ok"),
            Self::Every(kind) => write!(f, "{}", kind.name()),
            Self::Some(kind) => write!(f, "{} (some)", kind.name()),
            Self::OneOf(kinds) => {
                let names: Vec<_> = kinds.iter().map(|kind| kind.name()).collect();
                write!(f, "{}", names.join(" or "))
            }
        }
    }
}

impl Display for Needs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LargeBody => "a body of 4 MiB or more",
            Self::Pauses => "pauses between requests",
            Self::Trust => "the probe's authority",
            Self::NoVerification => "no verification",
        })
    }
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Case")
            .field("name", &self.name)
            .field("expected", &self.expected)
            .finish_non_exhaustive()
    }
}

impl Case {
    /// The same case with a requirement for the client.
    const fn needs(self, needs: Needs) -> Self {
        Self { needs: Some(needs), ..self }
    }
}

/// Declares a case.
const fn case(
    name: &'static str,
    protocol: Protocol,
    expected: Expected,
    does: &'static str,
    script: fn() -> Script,
) -> Case {
    Case { name, protocol, does, expected, needs: None, script }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no misbehaviour `{name}`; did you mean `{nearest}`? `weigh hostile --list` shows all")]
pub struct UnknownCase {
    name: String,
    nearest: &'static str,
}

/// Every case, by protocol, misbehaviours before legal oddities.
pub fn cases() -> impl Iterator<Item = &'static Case> {
    let groups: [&'static [Case]; 7] =
        [http1::CASES, oddities::CASES, http2::CASES, grpc::CASES, tls::CASES, memcached::CASES, resp::CASES];
    groups.into_iter().flatten()
}

pub fn find(name: &str) -> Result<&'static Case, UnknownCase> {
    if let Some(case) = cases().find(|case| case.name == name) {
        return Ok(case);
    }
    let nearest = cases().map(|case| case.name).min_by_key(|other| strsim::levenshtein(name, other));
    Err(UnknownCase { name: name.to_owned(), nearest: nearest.unwrap_or_default() })
}

/// All cases as a Markdown table.
pub fn table() -> String {
    let mut text =
        "| misbehaviour | protocol | a good client reports | the server |\n| --- | --- | --- | --- |\n"
            .to_owned();
    for case in cases() {
        let needs = case.needs.map(|needs| format!("; needs {needs}")).unwrap_or_default();
        let (name, protocol) = (case.name, case.protocol.name());
        // Writing to a string cannot fail.
        let _ = writeln!(text, "| `{name}` | {protocol} | {} | {}{needs} |", case.expected, case.does);
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_and_plain() {
        let names: Vec<_> = cases().map(|case| case.name).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
        for name in names {
            assert!(
                name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'),
                "{name}"
            );
        }
    }

    #[test]
    fn every_protocol_is_misbehaved_in() {
        for protocol in Protocol::ALL {
            let bad = cases().filter(|case| case.protocol == protocol && case.expected != Expected::Ok);
            assert!(bad.count() >= 5, "{}", protocol.name());
        }
    }

    #[test]
    fn every_script_can_be_made_and_does_something() {
        for case in cases() {
            assert!(!(case.script)().is_empty(), "{}", case.name);
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_nearest() {
        assert!(find("close-mid-body").is_ok());
        let error = find("close-mid-bdoy").expect_err("a slip");
        assert!(error.to_string().contains("did you mean `close-mid-body`"), "{error}");
        let distance = strsim::levenshtein;
        assert_eq!((distance("kitten", "sitting"), distance("", "abc"), distance("a", "a")), (3, 3, 0));
    }
}
