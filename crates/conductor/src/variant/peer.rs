//! The peer of a variant, started before the service that passes requests on to it.
//!
//! It runs on the server's host, where the variant has one: requests from a relay to its peer do not pass the
//! layers. A peer is a service of the catalogue that runs the workload which the relay asks for, over the protocol of
//! its `peer`. Only its variant's service sends requests to it.

use std::net::SocketAddr;
use std::path::PathBuf;

use weighbridge_lab::layers::Site;
use weighbridge_lab::process::Running;
use weighbridge_lab::process::launch::Allowed;
use weighbridge_lab::service::runtime;
use weighbridge_lab::service::state::StateFolder;
use weighbridge_model::experiment::{Peer, Protocol};
use weighbridge_model::record::{PeerFacts, RuntimeFacts};

use crate::prepare::launch_spec::{self, PeerLaunchSpec};
use crate::variant::VariantError;
use crate::variant::launcher::{VariantLauncher, VariantStart};
use crate::variant::network::listen_at;
use crate::variant::output::OutputCapture;

#[derive(Debug)]
pub(crate) struct StartedPeer {
    pub running: Running,
    pub protocol: Protocol,
    pub facts: PeerFacts,
    /// stderr first.
    pub logs: [OutputCapture; 2],
    pub runtime: PathBuf,
    pub state: StateFolder,
}

impl StartedPeer {
    /// What tells its relay of it.
    pub fn variables(&self, site: &Site) -> [(String, String); 2] {
        let address = SocketAddr::new(site.server_address(), self.running.port()).to_string();
        [("PEER".to_owned(), address), ("PEER_PROTOCOL".to_owned(), self.protocol.name().to_owned())]
    }
}

impl VariantLauncher<'_> {
    pub(super) fn start_peer(
        &self,
        start: VariantStart<'_>,
        peer: &Peer,
        launch_spec: &PeerLaunchSpec,
        site: &Site,
    ) -> Result<StartedPeer, VariantError> {
        let variant = start.variant;
        let logs = self.captures(start, ["peer-err", "peer-out"])?;
        let [stderr, stdout] = logs.each_ref().map(OutputCapture::path);
        let runtime = self.runtime_file(start, "peer-runtime");
        let state = self.state_folder(start, "-peer")?;
        let workload = start.workload.peer_workload().unwrap_or_default();
        let mut launch = launch_spec.service.launch(workload, peer.protocol.name(), &stdout, &stderr);
        launch.name = format!("{} (peer of {})", peer.service, variant.name);
        launch.cores = Some(self.cores(start).to_vec());
        launch.environment.push((runtime::VARIABLE.to_owned(), runtime.display().to_string()));
        launch.environment.push(state.variable());
        launch.environment.extend(self.data.variable(variant));
        listen_at(&mut launch, site);
        launch.environment.extend(launch_spec::lookup(&variant.name, &peer.env)?);
        let running = self.launch_in(site, variant, &launch, Allowed::default(), &logs)?;
        let facts = PeerFacts {
            service: peer.service.clone(),
            version: launch_spec.version.clone(),
            binary_sha256: launch_spec.hash.clone(),
            start: running.ready_after(),
            runtime: None,
        };
        Ok(StartedPeer { running, protocol: peer.protocol, facts, logs, runtime, state })
    }
}

/// Run-time facts of a process at the end of its last window; `said` is what it wrote itself.
pub(crate) fn runtime_facts(
    running: &mut Running,
    said: std::collections::BTreeMap<String, String>,
) -> RuntimeFacts {
    let cores = running.cores().unwrap_or_default();
    RuntimeFacts {
        threads: running.threads(),
        cores: cores.into_iter().map(|core| core.get()).collect(),
        said,
    }
}
