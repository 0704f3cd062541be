//! TLS of a variant's connections: the key `tls`, read and written. Files are named here and never opened.

use serde::{Deserialize, Serialize};
use toml::{Table, Value as Toml};

use super::node::{ExperimentError, Node, Reader, Value};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum TlsVersion {
    #[serde(rename = "1.2")]
    V12,
    #[serde(rename = "1.3")]
    V13,
}

impl TlsVersion {
    /// Every version, the oldest first.
    pub const ALL: [Self; 2] = [Self::V12, Self::V13];

    /// As in TOML and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::V12 => "1.2",
            Self::V13 => "1.3",
        }
    }
}

/// TLS of a variant's connections. Files are named; their content is never stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TlsSpec {
    /// File of certificates (PEM) to trust instead of the system's.
    pub ca: Option<String>,
    /// Whether any certificate is accepted.
    pub insecure: bool,
    /// File of the client's certificate chain (PEM); needs `key`.
    pub cert: Option<String>,
    /// File of the client's private key (PEM).
    pub key: Option<String>,
    /// The name that the certificate must contain and that is sent (SNI), if it is not the host.
    pub server_name: Option<String>,
    /// Whether a connection may resume the session of an earlier one.
    pub resumption: bool,
    pub min: TlsVersion,
    pub max: TlsVersion,
}

impl Default for TlsSpec {
    fn default() -> Self {
        Self {
            ca: None,
            insecure: false,
            cert: None,
            key: None,
            server_name: None,
            resumption: true,
            min: TlsVersion::V12,
            max: TlsVersion::V13,
        }
    }
}

/// Reads `tls = true`, `tls = false` or a table.
pub(super) fn read(reader: &Reader<'_>) -> Result<Option<Option<TlsSpec>>, ExperimentError> {
    let Some(node) = reader.node("tls") else { return Ok(None) };
    match &node.value {
        Value::Boolean(on) => Ok(Some(on.then(TlsSpec::default))),
        Value::Table(_) => table(reader, node).map(|spec| Some(Some(spec))),
        _ => {
            let message =
                format!("`{}`: `{}` must be `true` or a table", reader.full_key("tls"), node.show());
            Err(reader.error(node.line, message))
        }
    }
}

fn table(outer: &Reader<'_>, node: &Node) -> Result<TlsSpec, ExperimentError> {
    let Some(reader) = outer.table("tls")? else { return Ok(TlsSpec::default()) };
    let versions = TlsVersion::ALL.map(|version| (version.name(), version));
    let default = TlsSpec::default();
    let spec = TlsSpec {
        ca: reader.text("ca")?,
        insecure: reader.boolean("insecure")?.unwrap_or(default.insecure),
        cert: reader.text("cert")?,
        key: reader.text("key")?,
        server_name: reader.text("server_name")?,
        resumption: reader.boolean("resumption")?.unwrap_or(default.resumption),
        min: reader.choice("min", &versions)?.unwrap_or(default.min),
        max: reader.choice("max", &versions)?.unwrap_or(default.max),
    };
    reader.finish()?;
    spec.check()
        .map_err(|message| outer.error(node.line, format!("`{}`: {message}", outer.full_key("tls"))))?;
    Ok(spec)
}

impl TlsSpec {
    /// Errors: in words, which settings contradict each other.
    pub fn check(&self) -> Result<(), String> {
        match (&self.cert, &self.key) {
            (Some(_), None) => return Err("`cert` needs its `key`".to_owned()),
            (None, Some(_)) => return Err("`key` needs its `cert`".to_owned()),
            _ => {}
        }
        if self.insecure && self.ca.is_some() {
            return Err("`insecure` accepts any certificate, so `ca` has no use; leave one out".to_owned());
        }
        if self.min > self.max {
            let (min, max) = (self.min.name(), self.max.name());
            return Err(format!("`min` {min} is newer than `max` {max}; allowed: `1.2`, `1.3`"));
        }
        Ok(())
    }
}

/// The value of the key `tls`; `true` if every setting has its default.
pub(super) fn write(spec: &TlsSpec) -> Toml {
    let default = TlsSpec::default();
    if *spec == default {
        return true.into();
    }
    let mut table = Table::new();
    let texts =
        [("ca", &spec.ca), ("cert", &spec.cert), ("key", &spec.key), ("server_name", &spec.server_name)];
    for (key, text) in texts {
        if let Some(text) = text {
            table.insert(key.into(), text.clone().into());
        }
    }
    table.insert("insecure".into(), spec.insecure.into());
    table.insert("resumption".into(), spec.resumption.into());
    table.insert("min".into(), spec.min.name().into());
    table.insert("max".into(), spec.max.name().into());
    table.into()
}
