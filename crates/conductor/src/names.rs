//! Names of services in an experiment: each is sought in the catalogue before anything starts, whoever names it.
//!
//! A name that is in no catalogue is a mistake of the file and refused as one. A service that is there and cannot be used
//! here is another matter: its variant is left out.

use std::fmt;
use std::path::Path;

use weighbridge_lab::service::catalog::{Catalog, CatalogError};
use weighbridge_model::experiment::{Experiment, Target, Variant};

use crate::run::find_catalog;

/// A service that is in no catalogue, and who named it.
#[derive(Debug, thiserror::Error)]
#[error("variant `{variant}`: `{key}`: {source}")]
pub struct NameError {
    /// The variant.
    pub variant: String,
    /// The key that names it.
    pub key: Key,
    /// What is wrong, with the nearest name where one comes near.
    pub source: Box<CatalogError>,
}

/// A key of a variant that names a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// The service itself.
    Service,
    /// The one that it passes requests on to.
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

/// The services that a variant names.
fn named(variant: &Variant) -> impl Iterator<Item = (Key, &str)> {
    let own = match &variant.target {
        Target::Service { name } => Some((Key::Service, name.as_str())),
        _ => None,
    };
    own.into_iter().chain(variant.peer.as_ref().map(|peer| (Key::Peer, peer.service.as_str())))
}

/// Looks every name up in the catalogue of an experiment in `folder`; none is sought where none is named.
///
/// # Errors
/// [`NameError`] of the first that is not there.
pub(crate) fn check(experiment: &Experiment, folder: Option<&Path>) -> Result<(), NameError> {
    let mut catalog = None;
    for variant in &experiment.variants {
        for (key, name) in named(variant) {
            look_up(&mut catalog, folder, name).map_err(|source| NameError {
                variant: variant.name.clone(),
                key,
                source: Box::new(source),
            })?;
        }
    }
    Ok(())
}

fn look_up(catalog: &mut Option<Catalog>, folder: Option<&Path>, name: &str) -> Result<(), CatalogError> {
    let catalog = match catalog {
        Some(catalog) => catalog,
        None => catalog.insert(find_catalog(folder)?),
    };
    catalog.get(name).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaint(variant: &str) -> String {
        let text =
            format!("[workload]\nname = 'pingpong'\n[[variant]]\nservice = 'rust'\n[[variant]]\n{variant}");
        let experiment = Experiment::parse("x.toml", &text).expect("an experiment");
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        check(&experiment, Some(folder)).expect_err("a slip").to_string()
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
