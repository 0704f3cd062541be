//! The layer `container`: an OCI container around the service, in the server's network or one of its own.

use std::sync::{Mutex, OnceLock, PoisonError};

use weighbridge_model::experiment::{self, ContainerNetwork, ContainerRuntime, Seccomp};

use super::{LayerError, Part, Site};
use crate::container::{Container, Missing, Network, Runtime, Settings};
use crate::launch::{Lab, Launch};
use crate::net::Unavailable;

/// A container around the service.
#[derive(Debug)]
pub(super) struct ContainerPart {
    settings: Settings,
    version: OnceLock<Result<String, Missing>>,
    up: Mutex<Option<Container>>,
}

impl ContainerPart {
    pub fn new(layer: experiment::Container) -> Self {
        let settings = Settings {
            runtime: match layer.runtime {
                ContainerRuntime::Runc => Runtime::Runc,
                ContainerRuntime::Crun => Runtime::Crun,
            },
            network: match layer.network {
                ContainerNetwork::Host => Network::Inherited,
                ContainerNetwork::Published => Network::Own,
            },
            read_only: layer.read_only,
            filtered: layer.seccomp == Seccomp::Default,
        };
        Self { settings, version: OnceLock::new(), up: Mutex::default() }
    }
}

impl Part for ContainerPart {
    fn by(&self) -> String {
        let runtime = self.settings.runtime;
        match self.version.get_or_init(|| runtime.version()) {
            Ok(version) => format!("{} {version}", runtime.name()),
            Err(_) => runtime.name().to_owned(),
        }
    }

    fn probe(&self) -> Result<(), Unavailable> {
        if self.settings.network == Network::Own {
            return Err(Unavailable::new(
                "`network = \"published\"` is not part of this version",
                "write `network = \"host\"`, which is also that of other layers",
            ));
        }
        let probed = self.settings.runtime.probe();
        probed.map_err(|missing| Unavailable::new(missing.reason, missing.remedy))
    }

    fn dress(&self, lab: &Lab, site: &mut Site, launch: &mut Launch) -> Result<(), LayerError> {
        let place = (site.name_of("container"), site.ground().folder.join("container"));
        let container = Container::around(lab, place, self.settings, launch)?;
        *self.up.lock().unwrap_or_else(PoisonError::into_inner) = Some(container);
        Ok(())
    }
}
