//! What a run's environment was, and whether it is still the same.

use std::path::Path;

use serde_json::{Value, json};
use weighbridge_lab::host::facts;
use weighbridge_lab::host::identity::identity;
use weighbridge_lab::layers;
use weighbridge_model::environment::HostFacts;
use weighbridge_model::experiment::{Experiment, Variant};
use weighbridge_model::idle::IdleWait;
use weighbridge_model::reliability::HostIdentity;

use crate::prepare::idle::idle_of;
use crate::prepare::launch_spec::LaunchSpec;
use crate::prepare::programs::own_sha256;

/// The fact of a host's identity that tells how its idle cores waited in a run.
pub(crate) const IDLE_CORES: &str = "idle cores";

/// `environment.json`: host, toolchains, this program, and every variant's service.
pub(crate) fn environment(
    experiment: &Experiment,
    launch_specs: &[LaunchSpec],
    folder: Option<&Path>,
    idle: &IdleWait,
) -> Value {
    let variant = |(variant, launch_spec): (&Variant, &LaunchSpec)| {
        let (version, hash) = launch_spec.identity();
        let mut facts = json!({ "name": variant.name, "version": version, "binary_sha256": hash });
        if let Some(peer) = launch_spec.peer() {
            facts["peer"] = peer.identity();
        }
        if let Some(revision) = launch_spec.revision() {
            facts["revision"] = revision.to_json();
        }
        facts
    };
    json!({
        "weigh": { "version": env!("CARGO_PKG_VERSION"), "executable_sha256": own_sha256() },
        // A fact that does not become JSON cannot be shown; the rest still can.
        "host": serde_json::to_value(facts::collect(folder)).unwrap_or(Value::Null),
        "idle": idle,
        "network": layers::programs(experiment.variants.iter().map(|variant| &variant.layers)),
        "variants": experiment.variants.iter().zip(launch_specs).map(variant).collect::<Vec<_>>(),
    })
}

/// Which host an environment is of; `None` where it does not tell.
pub(crate) fn identity_of(environment: &Value) -> Option<HostIdentity> {
    let facts: HostFacts = serde_json::from_value(environment["host"].clone()).ok()?;
    let mut found = identity(&facts, environment.pointer("/weigh/executable_sha256").and_then(Value::as_str));
    found
        .passing
        .extend(idle_of(environment).map(|idle| (IDLE_CORES.to_owned(), idle.was.name().to_owned())));
    (!found.lasting.is_empty()).then_some(found)
}

/// What differs between two environments so that blocks of one cannot stand beside blocks of the other.
pub(crate) fn changed(before: &Value, now: &Value) -> Option<String> {
    let paths = [
        ("/host/boot_id", "the machine was started again"),
        ("/host/hostname_sha256", "this is another machine"),
        ("/weigh/executable_sha256", "this is another build of `weigh`"),
        ("/idle/was", "idle cores were kept awake and cannot be now, or the other way round"),
    ];
    let differs = |path: &str| before.pointer(path) != now.pointer(path);
    if let Some((_, why)) = paths.iter().find(|(path, _)| differs(path)) {
        return Some((*why).to_owned());
    }
    let variants = |value: &Value| value["variants"].as_array().cloned().unwrap_or_default();
    let changed = variants(before).into_iter().zip(variants(now)).find(|(a, b)| a != b);
    changed
        .map(|(a, _)| format!("the program of variant `{}` has changed", a["name"].as_str().unwrap_or("?")))
}
