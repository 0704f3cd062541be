//! The peer of a variant: how it is found, identified and started, before the service that passes requests on to it.
//!
//! It stands on the server's host, where the variant has one: what a relay asks of its peer does not pass the layers.
//! A peer is a service of the catalogue that runs the workload `pingpong` over `http1-json`, whatever its variant is. It
//! is nobody's to ask but its variant's service.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde_json::{Value, json};
use weighbridge_lab::host::lanes::Lane;
use weighbridge_lab::layers::Site;
use weighbridge_lab::process::Running;
use weighbridge_lab::process::launch::Allowed;
use weighbridge_lab::service::catalog::Catalog;
use weighbridge_lab::service::runtime;
use weighbridge_lab::service::{Freezing, Service};
use weighbridge_model::experiment::{Peer, Protocol, Variant};
use weighbridge_model::id::VariantId;
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::record::{PeerFacts, RuntimeFacts};

use crate::actor::{ActorError, Stage, allowed_cores, lookup};
use crate::network::listen_at;
use crate::printed::Printed;

/// How a variant's peer is started in every block.
#[derive(Debug, Clone)]
pub(crate) struct PeerRecipe {
    service: Service,
    version: Option<String>,
    hash: Option<String>,
}

impl PeerRecipe {
    /// Asks a built service who it is.
    pub fn new(service: Service) -> Self {
        let (version, hash) = (service.version().ok(), service.binary_sha256());
        Self { service, version, hash }
    }

    /// Whether stopping it for a while leaves its behaviour unchanged.
    pub fn is_freezable(&self) -> bool {
        self.service.freezing() == Freezing::Safe
    }

    /// The longest time constant that it declares.
    pub fn period(&self) -> Option<Nanoseconds> {
        self.service.period()
    }

    /// The time for which it is to be warmed at least.
    pub fn warmup(&self) -> Option<Nanoseconds> {
        self.service.warmup()
    }

    /// Who it is, for the environment and for resuming.
    pub fn identity(&self) -> Value {
        json!({ "service": self.service.name(), "version": self.version, "binary_sha256": self.hash })
    }
}

/// A peer that is up.
#[derive(Debug)]
pub(crate) struct Started {
    pub running: Running,
    pub facts: PeerFacts,
    /// Where its output goes, stderr first.
    pub logs: [Printed; 2],
    /// Where it writes what its run-time saw.
    pub runtime: PathBuf,
}

impl Started {
    /// Where it is asked, for `PEER`.
    pub fn address(&self, site: &Site) -> String {
        SocketAddr::new(site.server_address(), self.running.port()).to_string()
    }
}

impl Stage<'_> {
    /// Starts a variant's peer on the cores of its lane and waits until it is ready.
    pub(crate) fn start_peer(
        &self,
        (block, lane): (u32, Lane),
        id: VariantId,
        (variant, site): (&Variant, &Site),
        (peer, recipe): (&Peer, &PeerRecipe),
    ) -> Result<Started, ActorError> {
        let logs = self.printed(block, id, variant, ["peer-err", "peer-out"])?;
        let [stderr, stdout] = logs.each_ref().map(Printed::path);
        let said = self.said(block, id, "peer-runtime");
        let mut launch = recipe.service.launch("pingpong", Protocol::Http1Json.name(), &stdout, &stderr);
        launch.name = format!("{} (peer of {})", peer.service, variant.name);
        launch.cores = Some(allowed_cores(self.seating.at(lane).service(), variant.limits).to_vec());
        launch.environment.push((runtime::VARIABLE.to_owned(), said.display().to_string()));
        listen_at(&mut launch, site);
        launch.environment.extend(lookup(&variant.name, &peer.env)?);
        let running = self.launch_in(site, variant, (&launch, Allowed::default()), &logs)?;
        let facts = PeerFacts {
            service: peer.service.clone(),
            version: recipe.version.clone(),
            binary_sha256: recipe.hash.clone(),
            start: running.ready_after(),
            runtime: None,
        };
        Ok(Started { running, facts, logs, runtime: said })
    }
}

/// What a peer's run-time shows at the end of its last window.
pub(crate) fn seen(running: &mut Running, said: std::collections::BTreeMap<String, String>) -> RuntimeFacts {
    let cores = running.cores().unwrap_or_default();
    RuntimeFacts {
        threads: running.threads(),
        cores: cores.into_iter().map(|core| core.get()).collect(),
        said,
    }
}

/// Looks a variant's peer up and says why it cannot be used here.
pub(crate) fn find(peer: &Peer, catalog: &Catalog) -> Result<Service, String> {
    let found = || -> Result<Service, String> {
        let service = catalog.get(&peer.service).map_err(|error| error.to_string())?;
        service.offers("pingpong", Protocol::Http1Json.name()).map_err(|error| error.to_string())?;
        service.probe().map_err(|error| error.to_string())?;
        Ok(service)
    };
    found().map_err(|why| of_peer(peer, &why))
}

/// A reason that is the peer's and not the service's.
pub(crate) fn of_peer(peer: &Peer, why: &str) -> String {
    format!("its peer `{}`: {why}", peer.service)
}
