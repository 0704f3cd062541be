//! Services of the catalogue that an experiment names, looked up before anything starts.
//!
//! A name that is in no catalogue is a mistake of the file and refused. A variant whose service exists but
//! cannot be used here is left out.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use weighbridge_lab::service::Service;
use weighbridge_lab::service::catalog::{Catalog, CatalogError};
use weighbridge_model::experiment::{Experiment, Peer, Target, Variant, WorkloadSpec};

/// Writes the services that come with the program, and returns the folder that holds them, or why it could not.
static SHIPPED: OnceLock<fn() -> Result<PathBuf, String>> = OnceLock::new();

/// Names what is asked for services where the user has none.
pub fn offer_services(unpack: fn() -> Result<PathBuf, String>) {
    SHIPPED.get_or_init(|| unpack);
}

pub fn find_catalog(experiment_folder: Option<&Path>) -> Result<Catalog, CatalogError> {
    let current = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    let own = Catalog::find(experiment_folder, &current, std::env::var_os("WEIGH_SERVICES").as_deref());
    own.or_else(|missing| match SHIPPED.get().map(|unpack| unpack()) {
        Some(Ok(folder)) => Catalog::find(None, &folder, None),
        Some(Err(why)) => Err(CatalogError::NotUnpacked { missing: Box::new(missing), why }),
        None => Err(missing),
    })
}

#[derive(Debug, thiserror::Error)]
#[error("variant `{variant}`: `{key}`: {source}")]
pub struct NameError {
    pub variant: String,
    pub key: Key,
    pub source: Box<CatalogError>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    Service,
    Peer,
}

impl fmt::Display for Key {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Service => "service",
            Self::Peer => "peer",
        })
    }
}

fn named(variant: &Variant) -> impl Iterator<Item = (Key, &str)> {
    let own = match &variant.target {
        Target::Service { name } => Some((Key::Service, name.as_str())),
        _ => None,
    };
    own.into_iter().chain(variant.peer.as_ref().map(|peer| (Key::Peer, peer.service.as_str())))
}

/// The catalogue, which has every service that is named; `None` where none is named.
pub(crate) fn catalog_of(
    experiment: &Experiment,
    folder: Option<&Path>,
) -> Result<Option<Catalog>, NameError> {
    let mut catalog: Option<Catalog> = None;
    for variant in &experiment.variants {
        for (key, name) in named(variant) {
            let found = match &catalog {
                Some(catalog) => catalog.get(name).map(drop),
                None => find_catalog(folder).and_then(|found| catalog.insert(found).get(name).map(drop)),
            };
            found.map_err(|source| NameError {
                variant: variant.name.clone(),
                key,
                source: Box::new(source),
            })?;
        }
    }
    Ok(catalog)
}

/// A variant's service; `None` if it is none.
pub(crate) fn service_of(variant: &Variant, catalog: &Catalog) -> Option<Service> {
    match &variant.target {
        Target::Service { name } => catalog.get(name).ok(),
        _ => None,
    }
}

/// Looks up a variant's service, or says why it cannot be used here.
pub(crate) fn find_service(
    variant: &Variant,
    workload: &WorkloadSpec,
    catalog: &Catalog,
) -> Result<Service, String> {
    let Target::Service { name } = &variant.target else { return Err("not a service".to_owned()) };
    let service = catalog.get(name).map_err(|error| error.to_string())?;
    let protocol = variant.protocol.name();
    let offered = match workload.offered_as(variant) {
        Some(name) => service.offers(name, protocol),
        None => service.first_over(protocol).map(drop),
    };
    offered.map_err(|error| error.to_string())?;
    if let Some((peer, workload)) = variant.peer.as_ref().zip(workload.peer_workload()) {
        service.calls(workload, peer.protocol.name()).map_err(|error| error.to_string())?;
    }
    if let Some(cache) = &variant.cache {
        service.takes_cache(cache, workload.offered_as(variant)).map_err(|error| error.to_string())?;
    }
    if variant.tls.is_some() {
        service.offers_tls().map_err(|error| error.to_string())?;
    }
    service.probe().map_err(|error| error.to_string())?;
    Ok(service)
}

pub(crate) fn find_peer(peer: &Peer, workload: &WorkloadSpec, catalog: &Catalog) -> Result<Service, String> {
    let found = || -> Result<Service, String> {
        let service = catalog.get(&peer.service).map_err(|error| error.to_string())?;
        let workload = workload.peer_workload().unwrap_or_default();
        service.offers(workload, peer.protocol.name()).map_err(|error| error.to_string())?;
        service.probe().map_err(|error| error.to_string())?;
        Ok(service)
    };
    found().map_err(|why| peer_reason(peer, &why))
}

pub(crate) fn peer_reason(peer: &Peer, why: &str) -> String {
    format!("its peer `{}`: {why}", peer.service)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaint(variant: &str) -> String {
        let text =
            format!("[workload]\nname = 'pingpong'\n[[variant]]\nservice = 'rust'\n[[variant]]\n{variant}");
        let experiment = Experiment::parse("x.toml", &text).expect("an experiment");
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        catalog_of(&experiment, Some(folder)).expect_err("a slip").to_string()
    }

    #[test]
    fn a_peer_is_refused_as_a_service_is_with_the_nearest_name() {
        for (variant, who) in [
            ("name = 'a'\nservice = 'rsut'", "variant `a`: `service`: there is no service `rsut`"),
            ("name = 'b'\nservice = 'go'\npeer = 'rsut'", "variant `b`: `peer`: there is no service `rsut`"),
            (
                "name = 'c'\nservice = 'go'\npeer = { service = 'rsut' }",
                "variant `c`: `peer`: there is no service `rsut`",
            ),
        ] {
            let error = complaint(variant);
            assert!(error.starts_with(who) && error.contains(", did you mean `rust`; "), "{error}");
        }
    }
}
