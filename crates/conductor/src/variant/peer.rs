//! The peer of a variant: how it is found, identified and started, before the service that passes requests on to it.
//!
//! It stands on the server's host, where the variant has one: what a relay asks of its peer does not pass the layers.
//! A peer is a service of the catalogue that runs the workload `pingpong` over `http1-json`, whatever its variant is. It
//! is nobody's to ask but its variant's service.

use std::net::SocketAddr;
use std::path::PathBuf;

use weighbridge_lab::lanes::Lane;
use weighbridge_lab::launch::Allowed;
use weighbridge_lab::layers::Site;
use weighbridge_lab::process::Running;
use weighbridge_lab::runtime;
use weighbridge_model::experiment::{Peer, Protocol, Variant};
use weighbridge_model::id::VariantId;
use weighbridge_model::record::{PeerFacts, RuntimeFacts};

use crate::prepare::launch_spec::{self, PeerRecipe};
use crate::variant::actor::{ActorError, Stage, allowed_cores};
use crate::variant::network::listen_at;
use crate::variant::output::Printed;

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
        launch.environment.extend(launch_spec::lookup(&variant.name, &peer.env)?);
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
