//! The first look at an experiment: what it names is read and looked up, and mistakes that can be seen without starting
//! anything are refused.
//!
//! What was found is carried on and never looked up again: the loads, the cores, the catalogue, the revisions, the secrets.

use weighbridge_lab::service::catalog::Catalog;
use weighbridge_model::experiment::{Experiment, Target};
use weighbridge_store::scrub::Secrets;
use weighbridge_workload::{Address, Given, GrpcError, UrlScheme, Workload, WorkloadError};

use crate::options::Options;
use crate::prepare::cores::CorePlacement;
use crate::prepare::error::PrepareError;
use crate::prepare::shapes::{self, Shape};
use crate::prepare::sources::{self, Revisions};
use crate::prepare::{connections, launch_spec, limits, secrets, services};

/// Open load above this against an address that is neither loopback nor private must be allowed explicitly.
pub const REMOTE_RATE: f64 = 1_000.0;

/// An experiment without a mistake that can be seen before anything is started.
#[derive(Debug)]
pub struct Checked {
    /// With the hashes of the files that it names.
    pub(crate) experiment: Experiment,
    pub(crate) shapes: Vec<Shape>,
    pub(crate) placement: CorePlacement,
    /// `None` where no service is named.
    pub(crate) catalog: Option<Catalog>,
    pub(crate) revisions: Revisions,
    /// What is hidden in whatever is kept or said.
    pub(crate) secrets: Secrets,
}

impl Checked {
    /// Refuses a service that is in no catalogue, a rate that needs permission, a trace that cannot be read, a value that
    /// the environment lacks, a request that cannot be sent.
    pub fn new(experiment: Experiment, options: &Options) -> Result<Self, PrepareError> {
        let checked = Self::again(experiment, options)?;
        checked.check(options).map_err(|error| error.without(&checked.secrets))?;
        Ok(checked)
    }

    /// The same of an experiment that was not refused when its run began: what it names is looked up only.
    pub(crate) fn again(mut experiment: Experiment, options: &Options) -> Result<Self, PrepareError> {
        let folder = options.experiment_folder.as_deref();
        Ok(Self {
            shapes: shapes::shapes(&mut experiment, folder)?,
            placement: CorePlacement::detect(&experiment, options)?,
            catalog: services::catalog_of(&experiment, folder)?,
            revisions: sources::revisions(&experiment)?,
            secrets: secrets::of_experiment(&experiment),
            experiment,
        })
    }

    /// The experiment, with the hashes of the files that it names.
    pub const fn experiment(&self) -> &Experiment {
        &self.experiment
    }

    fn check(&self, options: &Options) -> Result<(), PrepareError> {
        shapes::check_windows(&self.experiment, &self.shapes)?;
        self.check_remote(options.allow_remote)?;
        connections::check(&self.experiment, options.connect_to.as_ref())?;
        limits::check(&self.experiment, &self.placement)?;
        self.check_requests()
    }

    fn check_remote(&self, allowed: bool) -> Result<(), PrepareError> {
        let peaks = self.shapes.iter().filter_map(Shape::peak_rate);
        for rate in peaks.filter(|rate| !allowed && rate.get() > REMOTE_RATE) {
            for variant in self.experiment.variants.iter().filter(|variant| variant.unix.is_none()) {
                let Target::Url(url) = &variant.target else { continue };
                if is_public(&url.host, url.port) {
                    let (variant, host) = (variant.name.clone(), url.host.clone());
                    return Err(PrepareError::Remote { variant, host, rate: rate.get() });
                }
            }
        }
        Ok(())
    }

    /// Looks up every value of the environment and renders every request.
    fn check_requests(&self) -> Result<(), PrepareError> {
        // Where a request goes to makes no difference to whether it can be rendered.
        let anywhere =
            Address { authority: "localhost".to_owned(), base: "/".to_owned(), scheme: UrlScheme::default() };
        let set = |name: &str| std::env::var(name).ok();
        for variant in &self.experiment.variants {
            launch_spec::environment(variant)?;
            if let Some(peer) = &variant.peer {
                launch_spec::lookup(&variant.name, &peer.env)?;
            }
            launch_spec::secured(variant)?;
            for (point, shape) in self.experiment.points.iter().zip(&self.shapes) {
                let given = Given { environment: &set, rows: shape.rows() };
                let asked = point.workload.for_variant(variant);
                match Workload::with_rows(&asked, &point.load, variant.protocol, &anywhere, given) {
                    // A server that has not been started cannot have been asked for its descriptors.
                    Err(WorkloadError::Grpc(error)) if *error == GrpcError::Unreflected => {}
                    bound => drop(bound?),
                }
            }
        }
        Ok(())
    }
}

/// Whether any address of the host is neither loopback, private (RFC 1918, RFC 4193) nor link-local. A host that
/// cannot be resolved is reported elsewhere.
pub fn is_public(host: &str, port: u16) -> bool {
    use std::net::IpAddr;
    let public = |address: IpAddr| match address {
        IpAddr::V4(a) => !(a.is_loopback() || a.is_private() || a.is_link_local() || a.is_unspecified()),
        IpAddr::V6(a) => {
            !(a.is_loopback() || a.is_unique_local() || a.is_unicast_link_local() || a.is_unspecified())
        }
    };
    weighbridge_load::dial::resolve(host, port)
        .is_ok_and(|addresses| addresses.iter().any(|address| public(address.ip())))
}
