//! A run's environment, and whether it is still the same.

use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use weighbridge_lab::host::facts;
use weighbridge_lab::host::identity::identity;
use weighbridge_lab::layers;
use weighbridge_lab::service::postgres::Postgres;
use weighbridge_model::environment::{DatabaseBuild, Environment, HostFacts, VariantBuild, WeighBuild};
use weighbridge_model::experiment::{Database, Variant};
use weighbridge_model::reliability::HostIdentity;
use weighbridge_store::scrub::Secrets;

use crate::prepare::Prepared;
use crate::prepare::launch_spec::{LaunchSpec, PeerLaunchSpec};
use crate::prepare::programs::own_sha256;
use crate::prepare::sources::Revision;

/// The fact in a host's identity that states how its idle cores waited in a run.
pub(crate) const IDLE_CORES: &str = "idle cores";

/// The content of `environment.json`.
pub(crate) fn environment(prepared: &Prepared, folder: Option<&Path>) -> Environment {
    let Prepared { experiment, launch_specs, postgres, idle, .. } = prepared;
    let server = |(database, postgres): (Database, &Postgres)| {
        let build = DatabaseBuild {
            engine: database.engine().to_owned(),
            version: Some(postgres.version().to_owned()),
        };
        database.postgres().map(|_| build)
    };
    let variant = |(variant, launch_spec): (&Variant, &LaunchSpec)| {
        let (version, binary_sha256) = launch_spec.identity();
        VariantBuild {
            name: variant.name.clone(),
            version: version.map(str::to_owned),
            binary_sha256: binary_sha256.map(str::to_owned),
            peer: launch_spec.peer().map(PeerLaunchSpec::identity),
            database: variant.database.zip(postgres.as_ref()).and_then(server),
            revision: launch_spec.revision().map(Revision::built),
        }
    };
    let version = Some(env!("CARGO_PKG_VERSION").to_owned());
    Environment {
        weigh: Some(WeighBuild { version, executable_sha256: own_sha256() }),
        host: Some(facts::collect(folder)),
        idle: Some(idle.wait().clone()),
        network: Some(layers::programs(experiment.variants.iter().map(|variant| &variant.layers))),
        variants: experiment.variants.iter().zip(launch_specs).map(variant).collect(),
        imported: None,
    }
}

/// The environment without secrets. Where a secret is also a word of our own format (`host`, `random`), the
/// part that cannot be parsed without that word is left out.
pub(crate) fn without(secrets: &Secrets, environment: Environment) -> Environment {
    let Environment { weigh, host, idle, network, variants, imported } = environment;
    Environment {
        weigh: weigh.and_then(|weigh| hidden(secrets, &weigh)),
        host: host.and_then(|host| hidden(secrets, &host)),
        idle: idle.and_then(|idle| hidden(secrets, &idle)),
        network: network.and_then(|network| hidden(secrets, &network)),
        variants: hidden(secrets, &variants).unwrap_or_default(),
        imported,
    }
}

/// A part with secrets hidden in all its texts; `None` where the result no longer parses.
fn hidden<T: Serialize + DeserializeOwned>(secrets: &Secrets, part: &T) -> Option<T> {
    let mut value = serde_json::to_value(part).ok()?;
    secrets.hide_json(&mut value);
    serde_json::from_value(value).ok()
}

/// Which host an environment describes; `None` where it does not say.
pub(crate) fn identity_of(environment: &Environment) -> Option<HostIdentity> {
    let mut found = identity(environment.host.as_ref()?, executable(environment));
    found
        .passing
        .extend(environment.idle.as_ref().map(|idle| (IDLE_CORES.to_owned(), idle.was.name().to_owned())));
    (!found.lasting.is_empty()).then_some(found)
}

fn executable(environment: &Environment) -> Option<&str> {
    environment.weigh.as_ref()?.executable_sha256.as_deref()
}

/// Why blocks of two environments cannot be combined.
pub(crate) fn changed(before: &Environment, now: &Environment) -> Option<String> {
    let [boot, name] =
        [|host: &HostFacts| host.boot_id.clone(), |host: &HostFacts| host.hostname_sha256.clone()]
            .map(|fact| [before, now].map(|of| of.host.as_ref().and_then(fact)));
    let was = |of: &Environment| of.idle.as_ref().map(|idle| idle.was);
    let facts = [
        (boot[0] == boot[1], "the machine was started again"),
        (name[0] == name[1], "this is another machine"),
        (executable(before) == executable(now), "this is another build of `weigh`"),
        (was(before) == was(now), "idle cores were kept awake and cannot be now, or the other way round"),
    ];
    if let Some((_, why)) = facts.into_iter().find(|(same, _)| !same) {
        return Some(why.to_owned());
    }
    let mut variants = before.variants.iter().zip(&now.variants);
    variants.find(|(a, b)| a != b).map(|(a, _)| format!("the program of variant `{}` has changed", a.name))
}

#[cfg(test)]
mod tests {
    use weighbridge_model::environment::PeerBuild;
    use weighbridge_model::idle::{Idle, IdleWait};

    use super::*;

    #[test]
    fn whatever_has_changed_of_a_program_keeps_its_run_from_going_on() {
        let with = |variant: VariantBuild| Environment { variants: vec![variant], ..Environment::default() };
        let text = |text: &str| Some(text.to_owned());
        let built = VariantBuild {
            name: "go".to_owned(),
            version: text("go 1"),
            binary_sha256: text("aa"),
            ..VariantBuild::default()
        };
        let before = with(built.clone());
        assert_eq!(changed(&before, &before), None);
        let peer =
            PeerBuild { service: "rust".to_owned(), binary_sha256: text("cc"), ..PeerBuild::default() };
        for now in [
            VariantBuild { version: text("go 2"), ..built.clone() },
            VariantBuild { binary_sha256: text("bb"), ..built.clone() },
            VariantBuild { binary_sha256: None, ..built.clone() },
            VariantBuild { peer: Some(peer), ..built.clone() },
        ] {
            let why = changed(&before, &with(now.clone()));
            assert_eq!(why.as_deref(), Some("the program of variant `go` has changed"), "{now:?}");
        }
    }

    #[test]
    fn a_secret_that_is_one_of_our_words_takes_only_the_part_that_needs_it() {
        let wait = IdleWait { refused: Some("swordfish".to_owned()), ..IdleWait::default() };
        let variants = vec![VariantBuild { name: "polled".to_owned(), ..VariantBuild::default() }];
        let environment = Environment { idle: Some(wait), variants, ..Environment::default() };
        let secrets = |value: &str| Secrets::new([value.to_owned()]);
        let hidden = without(&secrets("swordfish"), environment.clone());
        let idle = hidden.idle.expect("it can do without");
        assert_eq!((idle.was, idle.refused.as_deref()), (Idle::Polled, Some("<redacted sha256:b9f195c5>")));
        let hidden = without(&secrets("polled"), environment);
        assert_eq!(hidden.idle, None);
        assert!(hidden.variants[0].name.starts_with("<redacted"));
    }
}
