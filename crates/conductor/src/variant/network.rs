//! A variant's site and layers, which the lab implements: made before its programs start, entered for
//! requests from the client's side, read at the end.

use std::net::SocketAddr;

use weighbridge_lab::layers::{Answered, LayerError, Site, SiteConfig, VariantFacts};
use weighbridge_lab::net::{Connector, NamespaceError};
use weighbridge_lab::process::Running;
use weighbridge_lab::process::launch::{Allowed, Launch, LaunchError};
use weighbridge_model::experiment::{CpuLimit, Variant};
use weighbridge_model::id::PointId;
use weighbridge_model::network::{Crossed, LinkCounters, NetworkFacts};

use crate::variant::VariantError;
use crate::variant::launcher::{VariantLauncher, VariantStart};
use crate::variant::output::OutputCapture;
use crate::variant::running::RunningVariant;
use crate::with_variant::WithVariant;

/// Makes a program listen on the address that the client will use.
pub(crate) fn listen_at(launch: &mut Launch, site: &Site) {
    let host = site.service_address();
    if launch.host != host {
        launch.host = host;
        launch.environment.push(("HOST".to_owned(), host.to_string()));
    }
}

fn layer_error(variant: &str, source: impl Into<LayerError>) -> VariantError {
    WithVariant { variant: variant.to_owned(), source: Box::new(source.into()) }.into()
}

impl VariantLauncher<'_> {
    pub(super) fn site(&self, start: VariantStart<'_>) -> Result<Site, VariantError> {
        let variant = start.variant;
        let given = SiteConfig {
            variant: self.number_in_run(start.id).index(),
            cores: self.cores(start).to_vec(),
            logs: self.logs_of(start),
        };
        let facts = VariantFacts {
            folder: self.runtime_file(start, "layers").with_extension(""),
            protocol: variant.protocol,
            connections: self.connections,
        };
        let mut site = Site::make(self.lab, given, &variant.layers)
            .map_err(|source| layer_error(&variant.name, source))?;
        site.set_variant(facts);
        Ok(site)
    }

    /// Starts a service behind the proxies of its layers, and returns the address for the client.
    pub(super) fn launch_at(
        &self,
        site: &mut Site,
        variant: &Variant,
        mut launch: Launch,
        logs: &[OutputCapture],
    ) -> Result<(Running, SocketAddr), VariantError> {
        let failed = |source| layer_error(&variant.name, source);
        site.configure(self.lab, &mut launch).map_err(failed)?;
        let quota = variant.limits.cpu.map(CpuLimit::quota);
        let allowed = Allowed { quota, memory: variant.limits.memory };
        let running = self.launch_in(site, variant, &launch, allowed, logs)?;
        let at = SocketAddr::new(site.service_address(), running.port());
        let at = site.start_proxy(self.lab, at).map_err(failed)?;
        Ok((running, at))
    }

    /// Starts a program of a variant inside its network and waits until it is ready.
    pub(super) fn launch_in(
        &self,
        site: &Site,
        variant: &Variant,
        launch: &Launch,
        allowed: Allowed,
        logs: &[OutputCapture],
    ) -> Result<Running, VariantError> {
        let launched: Result<Result<Running, LaunchError>, NamespaceError> =
            site.in_service(|| self.lab.launch_within(launch, allowed));
        launched
            .map_err(|source| layer_error(&variant.name, source))?
            .map_err(|source| self.launch_failed(source, logs))
    }
}

impl RunningVariant {
    fn site(&self) -> Option<&Site> {
        self.own.as_ref().map(|own| &own.site)
    }

    /// Runs `job` in the network namespace of the client, so that its connections pass the layers.
    pub(crate) fn as_client<R: Send>(&self, job: impl FnOnce() -> R + Send) -> Result<R, VariantError> {
        match self.site() {
            Some(site) => site.in_client(job).map_err(|source| layer_error(&self.name, source)),
            None => Ok(job()),
        }
    }

    /// Makes the sockets of its client; `None` where no other namespace is involved.
    pub(crate) fn connector(&self) -> Option<Connector> {
        self.site()?.connector()
    }

    /// Counters of its client's link; `None` where it has no link of its own.
    pub(crate) fn link_counters(&self) -> Option<LinkCounters> {
        self.site()?.crossing()
    }

    /// Records the traffic of a point since `before`, during which `requests` were answered.
    pub(crate) fn record_traffic(&mut self, before: &LinkCounters, point: PointId, requests: u64) {
        let Some(now) = self.link_counters() else { return };
        let passed = now.since(before);
        let crossed = Crossed { point, requests, packets: passed.packets(), bytes: passed.bytes() };
        self.facts.network.get_or_insert_default().crossed.push(crossed);
    }

    pub(crate) fn record_network(&mut self, answered: Answered) -> Result<(), VariantError> {
        if self.site().is_some_and(Site::has_layers) {
            // A layer's program answers only while it runs.
            self.thaw()?;
            let crossed = self.facts.network.take().map(|network| network.crossed).unwrap_or_default();
            let site = self.site();
            self.facts.network = site.map(|site| Box::new(NetworkFacts { crossed, ..site.facts(answered) }));
            self.freeze()?;
        }
        Ok(())
    }
}
