//! How one variant is started in every block, determined once: its service, program or server, and its peer.

use std::path::Path;

use weighbridge_lab::service::{Freezing, Service};
use weighbridge_load::dial::{Endpoint, ResolveError, resolve};
use weighbridge_model::environment::PeerBuild;
use weighbridge_model::experiment::{JVM_VARIABLE, Program, Target, Url, Variant, expand_environment};
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_workload::Address;

use crate::prepare::forecast;
use crate::prepare::programs::program_sha256;
use crate::prepare::sources::{ProgramSource, Revision};
use crate::tls::{Secured, TlsError, scheme};
use crate::with_variant::{WithVariant, with_variant};

#[derive(Debug, Clone)]
pub(crate) enum LaunchSpec {
    Service {
        service: Box<Service>,
        version: Option<String>,
        hash: Option<String>,
        peer: Option<Box<PeerLaunchSpec>>,
    },
    /// A program of the user, with the digest of the files that its command names.
    Command {
        program: Box<Program>,
        program_source: ProgramSource,
        hash: Option<String>,
    },
    Url {
        address: Address,
        addresses: Vec<Endpoint>,
    },
}

/// The built services of a variant; `None` where its program is not from the catalogue.
#[derive(Default)]
pub(crate) struct Services {
    pub own: Option<Service>,
    pub peer: Option<Service>,
}

#[derive(Debug, thiserror::Error)]
pub enum LaunchSpecError {
    #[error(transparent)]
    Resolve(#[from] WithVariant<ResolveError>),
    #[error("variant `{variant}`: `{key}` asks for `env:{name}`, which is not set; export it and run again")]
    Environment { variant: String, key: String, name: String },
    #[error(transparent)]
    Tls(#[from] WithVariant<TlsError>),
}

/// The host's addresses, or the Unix socket in their place.
pub(crate) fn endpoints(url: &Url, unix: Option<&Path>) -> Result<Vec<Endpoint>, ResolveError> {
    match unix {
        Some(path) => Ok(vec![Endpoint::Unix(path.to_owned())]),
        None => Ok(resolve(&url.host, url.port)?.into_iter().map(Endpoint::Tcp).collect()),
    }
}

impl LaunchSpec {
    pub fn new(
        variant: &Variant,
        services: Services,
        program_source: ProgramSource,
    ) -> Result<Self, LaunchSpecError> {
        Ok(match &variant.target {
            Target::Service { .. } => {
                let service = services.own.expect("the caller looked the service up");
                let (version, hash) = (service.version().ok(), service.binary_sha256());
                let peer = services.peer.map(|peer| Box::new(PeerLaunchSpec::new(peer)));
                Self::Service { service: Box::new(service), version, hash, peer }
            }
            Target::Command(program) => Self::Command {
                hash: program_sha256(&program.argv, program_source.folder.as_deref()),
                program: Box::new(program.clone()),
                program_source,
            },
            Target::Url(url) => {
                let addresses =
                    endpoints(url, variant.unix.as_deref()).map_err(with_variant(&variant.name))?;
                Self::Url {
                    address: Address {
                        authority: url.authority(),
                        base: url.path.clone(),
                        scheme: scheme(variant.tls.as_ref()),
                    },
                    addresses,
                }
            }
        })
    }

    /// Version and digest of the program, for the environment and for resuming.
    pub fn identity(&self) -> (Option<&str>, Option<&str>) {
        match self {
            Self::Service { version, hash, .. } => (version.as_deref(), hash.as_deref()),
            Self::Command { hash, .. } => (None, hash.as_deref()),
            Self::Url { .. } => (None, None),
        }
    }

    pub fn peer(&self) -> Option<&PeerLaunchSpec> {
        match self {
            Self::Service { peer, .. } => peer.as_deref(),
            _ => None,
        }
    }

    pub fn revision(&self) -> Option<&Revision> {
        match self {
            Self::Command { program_source, .. } => program_source.revision.as_ref(),
            _ => None,
        }
    }

    /// The program of the user that it starts, and the folder in which.
    pub fn program(&self) -> Option<(&str, Option<&Path>)> {
        match self {
            Self::Command { program, program_source, .. } => {
                Some((program.argv.first()?, program_source.folder.as_deref()))
            }
            _ => None,
        }
    }

    pub fn addresses(&self) -> &[Endpoint] {
        match self {
            Self::Url { addresses, .. } => addresses,
            _ => &[],
        }
    }

    pub fn is_ours(&self) -> bool {
        !matches!(self, Self::Url { .. })
    }

    /// Whether stopping its processes for a while leaves their behaviour unchanged.
    pub fn is_freezable(&self) -> bool {
        match self {
            Self::Service { service, peer, .. } => {
                service.freezing() == Freezing::Safe
                    && peer.as_deref().is_none_or(PeerLaunchSpec::is_freezable)
            }
            Self::Command { .. } => true,
            Self::Url { .. } => false,
        }
    }

    pub fn period(&self) -> Option<Nanoseconds> {
        match self {
            Self::Service { service, peer, .. } => {
                service.period().max(peer.as_deref().and_then(PeerLaunchSpec::period))
            }
            _ => None,
        }
    }

    /// The longest time constant of such a variant, as far as it is known before anything is started.
    pub fn period_of(&self, variant: &Variant) -> Option<Nanoseconds> {
        self.period().max(forecast::period_of(variant))
    }

    pub fn warmup(&self) -> Option<Nanoseconds> {
        match self {
            Self::Service { service, peer, .. } => {
                service.warmup().max(peer.as_deref().and_then(PeerLaunchSpec::warmup))
            }
            _ => None,
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct PeerLaunchSpec {
    pub service: Service,
    pub version: Option<String>,
    pub hash: Option<String>,
}

impl PeerLaunchSpec {
    pub fn new(service: Service) -> Self {
        let (version, hash) = (service.version().ok(), service.binary_sha256());
        Self { service, version, hash }
    }

    pub fn is_freezable(&self) -> bool {
        self.service.freezing() == Freezing::Safe
    }

    /// The longest time constant that it declares.
    pub fn period(&self) -> Option<Nanoseconds> {
        self.service.period()
    }

    pub fn warmup(&self) -> Option<Nanoseconds> {
        self.service.warmup()
    }

    pub fn identity(&self) -> PeerBuild {
        PeerBuild {
            service: self.service.name().to_owned(),
            version: self.version.clone(),
            binary_sha256: self.hash.clone(),
        }
    }
}

/// The variant's environment with `env:` values looked up.
pub(crate) fn environment(variant: &Variant) -> Result<Vec<(String, String)>, LaunchSpecError> {
    let mut environment = lookup(&variant.name, &variant.env)?;
    environment.extend(variant.jvm.iter().map(|jvm| (JVM_VARIABLE.to_owned(), jvm.options())));
    Ok(environment)
}

/// The same for any of a variant's environments.
pub(crate) fn lookup(
    variant: &str,
    environment: &[(String, String)],
) -> Result<Vec<(String, String)>, LaunchSpecError> {
    let lookup = |name: &str| std::env::var(name).ok();
    let resolve = |(key, value): &(String, String)| match expand_environment(value, &lookup) {
        Ok(value) => Ok((key.clone(), value)),
        Err(name) => {
            Err(LaunchSpecError::Environment { variant: variant.to_owned(), key: key.clone(), name })
        }
    };
    environment.iter().map(resolve).collect()
}

pub(crate) fn secured(variant: &Variant) -> Result<Secured, LaunchSpecError> {
    Ok(Secured::new(variant).map_err(with_variant(&variant.name))?)
}
