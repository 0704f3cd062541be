//! Proxies beside the client or the service: the layers `sidecar:haproxy`, `sidecar:nginx` and
//! `sidecar:envoy`.

use std::fmt;

use serde::{Deserialize, Serialize};
use toml::Table;

use super::super::node::{ExperimentError, Reader};
use super::super::{FramingName, Variant};

/// A proxy that all requests pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sidecar {
    pub program: SidecarProgram,
    pub side: SidecarSide,
    pub mode: SidecarMode,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SidecarProgram {
    Haproxy,
    Nginx,
    Envoy,
}

/// Where a sidecar runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SidecarSide {
    /// Beside the client: requests pass it before the network.
    Client,
    /// Beside the service: requests pass it after the network.
    Server,
    Both,
}

/// How a sidecar handles requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SidecarMode {
    /// It parses requests and uses its own connections to the service.
    Http,
    /// It forwards bytes, connection by connection.
    Tcp,
}

impl SidecarProgram {
    pub const ALL: [Self; 3] = [Self::Haproxy, Self::Nginx, Self::Envoy];

    /// Its name in TOML, without the family's.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Haproxy => "haproxy",
            Self::Nginx => "nginx",
            Self::Envoy => "envoy",
        }
    }
}

impl SidecarSide {
    pub const ALL: [Self; 3] = [Self::Client, Self::Server, Self::Both];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
            Self::Both => "both",
        }
    }

    pub const fn is_at_client(self) -> bool {
        matches!(self, Self::Client | Self::Both)
    }

    pub const fn is_at_server(self) -> bool {
        matches!(self, Self::Server | Self::Both)
    }

    /// Whether both have one on the same side.
    pub const fn meets(self, other: Self) -> bool {
        self.is_at_client() && other.is_at_client() || self.is_at_server() && other.is_at_server()
    }
}

impl SidecarMode {
    pub const ALL: [Self; 2] = [Self::Http, Self::Tcp];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Tcp => "tcp",
        }
    }
}

/// Reads the settings; the layer's name contains the program.
pub(super) fn read(reader: &Reader<'_>) -> Result<Sidecar, ExperimentError> {
    let name = reader.text("layer")?.unwrap_or_default();
    let named = name.strip_prefix("sidecar:").unwrap_or_default();
    let Some(program) = SidecarProgram::ALL.into_iter().find(|program| program.name() == named) else {
        let names = SidecarProgram::ALL.map(|program| format!("`sidecar:{}`", program.name()));
        let message = format!(
            "`{}`: `{name}` is no layer; allowed of this kind: {}",
            reader.full_key("layer"),
            names.join(", ")
        );
        return Err(reader.error(reader.line(), message));
    };
    let side = reader.choice("side", &SidecarSide::ALL.map(|side| (side.name(), side)))?;
    let mode = reader.choice("mode", &SidecarMode::ALL.map(|mode| (mode.name(), mode)))?;
    Ok(Sidecar {
        program,
        side: side.unwrap_or(SidecarSide::Server),
        mode: mode.unwrap_or(SidecarMode::Http),
    })
}

impl Sidecar {
    pub const fn name(&self) -> &'static str {
        match self.program {
            SidecarProgram::Haproxy => "sidecar:haproxy",
            SidecarProgram::Nginx => "sidecar:nginx",
            SidecarProgram::Envoy => "sidecar:envoy",
        }
    }

    /// Whether it writes messages anew; they may then be shorter.
    pub const fn rewrites(&self) -> bool {
        matches!(self.mode, SidecarMode::Http)
    }

    pub(super) fn write(&self, table: &mut Table) {
        table.insert("side".into(), self.side.name().into());
        table.insert("mode".into(), self.mode.name().into());
    }

    pub(super) fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.side {
            SidecarSide::Server => {}
            SidecarSide::Client => f.write_str(" at the client")?,
            SidecarSide::Both => f.write_str(" on both sides")?,
        }
        match self.mode {
            SidecarMode::Http => Ok(()),
            SidecarMode::Tcp => f.write_str(" tcp"),
        }
    }

    /// Errors: in words, why a variant's requests cannot pass it.
    pub(super) fn check(&self, variant: &Variant) -> Result<(), String> {
        let name = self.name();
        let protocol = variant.protocol.name();
        let http = variant.protocol.is_http();
        let nginx = self.program == SidecarProgram::Nginx;
        match self.mode {
            SidecarMode::Tcp if nginx => Err(format!(
                "`{name}` with `mode = \"tcp\"`: nginx passes bytes on by a module that counts nothing; take `sidecar:haproxy` or `sidecar:envoy`"
            )),
            SidecarMode::Tcp => Ok(()),
            SidecarMode::Http if variant.tls.is_some() => Err(format!(
                "`{name}` beside `tls`: it cannot read what is encrypted from end to end; write `mode = \"tcp\"`"
            )),
            SidecarMode::Http if !http => Err(format!(
                "`{name}` beside protocol `{protocol}`, which is no HTTP; write `mode = \"tcp\"`"
            )),
            SidecarMode::Http if nginx && variant.protocol.framing() == FramingName::Http2 => Err(format!(
                "`{name}` beside protocol `{protocol}`: nginx speaks HTTP/2 to servers for gRPC alone; take `sidecar:haproxy` or `sidecar:envoy`"
            )),
            SidecarMode::Http => Ok(()),
        }
    }
}
