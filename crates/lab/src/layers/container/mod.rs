//! The layer `container`: an OCI container around the service, in its variant's network or in its own.

pub mod oci;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock, PoisonError};

use weighbridge_model::experiment::{self, ContainerEngine, ContainerNetwork, ContainerRuntime, Seccomp};
use weighbridge_model::network::LinkCounters;

use super::proof::check_device;
use super::published::Forwarder;
use super::site::SiteProgram;
use super::veth::CAPABILITIES;
use super::{Answered, HostRole, LayerError, Part, Site};
use crate::host::procfs::Pid;
use crate::net::{Capability, Namespace};
use crate::process::launch::{Lab, Launch, LinePattern, Ready};
use crate::service::Freezing;
use crate::unavailable::Unavailable;
use oci::{Container, ENGINE_PORT, ENGINE_UP, Engine, EngineSettings, Runtime, Settings};

/// The role of an engine's daemon and its helpers, without the container itself.
pub const ENGINE: &str = "container-engine";
/// Suffix of the container's name after its site's, and the name of its folder.
const CONTAINER: &str = "container";

/// A container around the service.
#[derive(Debug)]
pub(super) struct ContainerPart {
    settings: Settings,
    engine: Option<Engine>,
    network: ContainerNetwork,
    /// What publishes its port without an engine, if the port is to be published.
    forwarder: Option<Result<Forwarder, Unavailable>>,
    by: OnceLock<String>,
    started: Mutex<Started>,
}

/// What exists in a trial until the part is dropped: a container, and the network of an engine's daemon,
/// which is not its containers' network.
type Started = (Option<Container>, Option<Namespace>);

impl ContainerPart {
    pub fn new(layer: experiment::Container) -> Self {
        let settings = Settings {
            runtime: match layer.runtime {
                ContainerRuntime::Runc => Runtime::Runc,
                ContainerRuntime::Crun => Runtime::Crun,
            },
            read_only: layer.read_only,
            filtered: layer.seccomp == Seccomp::Default,
        };
        let engine = layer.engine.map(|engine| match engine {
            ContainerEngine::Docker => Engine::Docker,
            ContainerEngine::Podman => Engine::Podman,
        });
        let by_forwarder = layer.network == ContainerNetwork::Published && engine.is_none();
        Self {
            settings,
            engine,
            network: layer.network,
            forwarder: by_forwarder.then(|| Forwarder::find(layer.publish)),
            by: OnceLock::new(),
            started: Mutex::default(),
        }
    }

    /// Name and version of what runs it.
    fn programs(&self) -> String {
        let named = |name: &str, version: Result<String, Unavailable>| match version {
            Ok(version) => format!("{name} {version}"),
            Err(_) => name.to_owned(),
        };
        let runtime = named(self.settings.runtime.name(), self.settings.runtime.version());
        let engine = self.engine.map(|engine| named(engine.name(), engine.version()));
        let forwarder = self.forwarder().ok().flatten().map(Forwarder::by);
        engine.into_iter().chain([runtime]).chain(forwarder).collect::<Vec<_>>().join(", ")
    }

    fn forwarder(&self) -> Result<Option<&Forwarder>, Unavailable> {
        self.forwarder.as_ref().map(Result::as_ref).transpose().map_err(Clone::clone)
    }

    fn is_published_by_engine(&self) -> bool {
        self.engine.is_some() && self.network == ContainerNetwork::Published
    }

    fn configure_engine(
        &self,
        engine: Engine,
        lab: &Lab,
        site: &mut Site,
        folder: PathBuf,
        launch: &mut Launch,
    ) -> Result<Started, LayerError> {
        let published = self.is_published_by_engine().then(|| site.server_address());
        // The thread is in another network namespace here, while the process is in the host's.
        let here = PathBuf::from(format!("/proc/{}/ns/net", Pid::own()));
        let network = site.hosts().map_or(here, |hosts| hosts.server.path().to_owned());
        let mut aside = None;
        let container = Container::by_engine::<LayerError>(
            lab,
            site.name_of(CONTAINER),
            folder,
            EngineSettings { engine, settings: self.settings, network: &network, published },
            launch,
            |command| {
                let ready = Ready::Log(LinePattern::new(listening()?));
                let mut all = Vec::new();
                if published.is_none() {
                    let own = Namespace::make(&lab.tracker_handle(), &site.name_of("engine"))?;
                    let enter = format!("--net={}", own.path().display());
                    all.extend(["nsenter".to_owned(), enter]);
                    aside = Some(own);
                }
                all.extend(command);
                let (host, command) = (HostRole::Server, all);
                site.start(lab, SiteProgram { host, role: ENGINE, command, ready, folder: None })?;
                let pid = site.pid_of(ENGINE);
                pid.ok_or_else(|| Unavailable::new("the engine is gone", "see its log").into())
            },
        )?;
        Ok((Some(container), aside))
    }
}

/// The line by which dockerd reports that it accepts requests.
fn listening() -> Result<regex::Regex, LayerError> {
    let pattern = regex::Regex::new(ENGINE_UP);
    pattern.map_err(|error| Unavailable::new(error.to_string(), "report this").into())
}

impl Part for ContainerPart {
    fn by(&self) -> String {
        self.by.get_or_init(|| self.programs()).clone()
    }

    fn needs(&self) -> &'static [Capability] {
        match (self.engine, &self.forwarder) {
            (None, None) => &[Capability::SysAdmin],
            _ => &CAPABILITIES,
        }
    }

    /// A program that publishes a port in user space implements TCP itself, and must acknowledge to the
    /// container. A pasta of 2023 may never recover if all data is sent again while it is frozen.
    fn freezing(&self) -> Freezing {
        if self.forwarder.is_some() { Freezing::Unsafe } else { Freezing::Safe }
    }

    fn probe(&self) -> Result<(), Unavailable> {
        if let Some(forwarder) = self.forwarder()? {
            forwarder.probe()?;
        }
        let runtime = self.settings.runtime;
        let probed = match self.engine {
            Some(engine) => engine.probe(runtime, self.is_published_by_engine()),
            None => runtime.probe(),
        };
        probed.map_err(|missing| Unavailable::new(missing.reason, missing.remedy))
    }

    fn install(&self, lab: &Lab, site: &mut Site) -> Result<(), LayerError> {
        if let Some(forwarder) = self.forwarder()? {
            forwarder.install(lab, site)?;
        }
        if self.is_published_by_engine() {
            site.listen_everywhere();
        }
        Ok(())
    }

    fn configure(&self, lab: &Lab, site: &mut Site, launch: &mut Launch) -> Result<(), LayerError> {
        let folder = site.variant().folder.join(CONTAINER);
        let started = match self.engine {
            None => {
                (Some(Container::around(lab, site.name_of(CONTAINER), folder, self.settings, launch)?), None)
            }
            Some(engine) => self.configure_engine(engine, lab, site, folder, launch)?,
        };
        *self.started.lock().unwrap_or_else(PoisonError::into_inner) = started;
        Ok(())
    }

    fn start_proxy(&self, lab: &Lab, site: &mut Site, service: SocketAddr) -> Result<SocketAddr, LayerError> {
        if self.is_published_by_engine() {
            return Ok(SocketAddr::new(site.server_address(), ENGINE_PORT));
        }
        match (self.forwarder()?, site.inner_path()) {
            (Some(forwarder), Some(network)) => forwarder.start(lab, site, &network, service.port()),
            _ => Ok(service),
        }
    }

    fn prove(&self, passed: &[LinkCounters], answered: Answered) -> Result<(), String> {
        match (self.forwarder(), self.engine) {
            (Ok(Some(forwarder)), _) => forwarder.prove(passed, answered),
            (_, Some(engine)) if self.is_published_by_engine() => {
                let bridges = ["docker0", "podman0", "cni-podman0"];
                let there =
                    |link: &&LinkCounters| link.host == "server" && bridges.contains(&link.device.as_str());
                match passed.iter().find(there) {
                    Some(link) => check_device("server", &link.device, passed, answered),
                    None => Err(format!("there is no bridge of {} at the end of the trial", engine.name())),
                }
            }
            _ => Ok(()),
        }
    }
}
