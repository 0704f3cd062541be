//! The layers `sidecar:…`: proxies in front of the service, on the server's host, the client's, or both.

pub mod proxy;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock, PoisonError};

use weighbridge_model::experiment::{FramingName, Protocol, Sidecar, SidecarMode, SidecarProgram};
use weighbridge_model::network::ProgramFacts;

use super::{LayerError, Part, Site};
use crate::host::ports;
use crate::process::launch::{Lab, Launch};
use crate::unavailable::Unavailable;
use proxy::{Gauge, Passed, Program, Setup, SidecarError, Wire};

/// A proxy in front of the service, or two.
#[derive(Debug)]
pub(super) struct SidecarPart {
    layer: Sidecar,
    program: Program,
    version: OnceLock<Result<String, Unavailable>>,
    /// Those that run, the server's first.
    up: Mutex<Vec<RunningProxy>>,
}

#[derive(Debug)]
struct RunningProxy {
    gauge: Gauge,
    facts: ProgramFacts,
}

impl SidecarPart {
    pub fn new(layer: Sidecar) -> Self {
        let program = match layer.program {
            SidecarProgram::Haproxy => Program::Haproxy,
            SidecarProgram::Nginx => Program::Nginx,
            SidecarProgram::Envoy => Program::Envoy,
        };
        Self { layer, program, version: OnceLock::new(), up: Mutex::default() }
    }

    fn version(&self) -> Result<&str, Unavailable> {
        self.version.get_or_init(|| self.program.version()).as_ref().map(String::as_str).map_err(Clone::clone)
    }

    fn wire(&self, protocol: Protocol) -> Wire {
        match (self.layer.mode, protocol.framing()) {
            (SidecarMode::Tcp, _) => Wire::Tcp,
            (SidecarMode::Http, FramingName::Http2) => Wire::Http2,
            (SidecarMode::Http, FramingName::Grpc) => Wire::Grpc,
            // The reader of experiments rejects other values.
            (SidecarMode::Http, _) => Wire::Http1,
        }
    }

    /// Starts a proxy that listens at `host` and forwards to `service`; returns its address.
    fn start(
        &self,
        lab: &Lab,
        site: &mut Site,
        side: Side,
        service: SocketAddr,
    ) -> Result<SocketAddr, LayerError> {
        let role = format!("sidecar-{}", side.name());
        let host = match side {
            Side::Server => site.server_address(),
            Side::Client => IpAddr::V4(Ipv4Addr::LOCALHOST),
        };
        let executable = self.program.find()?;
        let folder: PathBuf = site.variant().folder.join(&role);
        let (wire, connections) = (self.wire(site.variant().protocol), site.variant().connections);
        let cores = Some(site.config().cores.clone()).filter(|cores| !cores.is_empty());
        let program = self.program;
        let launched = side.within(site, || {
            let port = ports::free_port()
                .map_err(|source| SidecarError::NoPort { program: program.name(), source })?;
            let setup = Setup { program, wire, listen: (host, port).into(), service, connections, folder };
            let launch = Launch { cores, name: role.clone(), ..setup.prepare(&executable)? };
            let running = lab.launch(&launch)?;
            Ok::<_, SidecarError>((setup.listen, setup.adopt(running)?))
        })?;
        let (listen, sidecar) = launched?;
        let facts = ProgramFacts {
            layer: self.layer.name().to_owned(),
            role: role.clone(),
            version: self.version().unwrap_or_default().to_owned(),
            start: sidecar.running.ready_after(),
            connections: 0,
            requests: None,
        };
        self.up
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(RunningProxy { gauge: sidecar.gauge, facts });
        site.keep(role, sidecar.running);
        Ok(listen)
    }
}

/// The host of a proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Client,
    Server,
}

impl Side {
    const fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }

    fn within<R: Send>(self, site: &Site, job: impl FnOnce() -> R + Send) -> Result<R, LayerError> {
        Ok(match self {
            Self::Client => site.in_client(job)?,
            Self::Server => site.in_server(job)?,
        })
    }
}

impl Part for SidecarPart {
    fn by(&self) -> String {
        match self.version() {
            Ok(version) => format!("{} {version}", self.program.name()),
            Err(_) => self.program.name().to_owned(),
        }
    }

    fn probe(&self) -> Result<(), Unavailable> {
        self.version().map(drop).map_err(|missing| Unavailable::new(missing.reason, missing.remedy))
    }

    fn start_proxy(&self, lab: &Lab, site: &mut Site, service: SocketAddr) -> Result<SocketAddr, LayerError> {
        let mut at = service;
        if self.layer.side.is_at_server() {
            at = self.start(lab, site, Side::Server, at)?;
        }
        if self.layer.side.is_at_client() {
            at = self.start(lab, site, Side::Client, at)?;
        }
        Ok(at)
    }

    fn counted(&self) -> Result<Vec<ProgramFacts>, String> {
        let mut up = self.up.lock().unwrap_or_else(PoisonError::into_inner);
        let read = |up: &mut RunningProxy| {
            let Passed { connections, requests } = up.gauge.passed().map_err(|error| error.to_string())?;
            Ok(ProgramFacts { connections, requests, ..up.facts.clone() })
        };
        up.iter_mut().map(read).collect()
    }
}
