//! What a run's environment was, and whether it is still the same.

use std::path::Path;

use serde_json::{Value, json};
use weighbridge_lab::host::HostFacts;
use weighbridge_lab::host::identity::identity;
use weighbridge_lab::layers;
use weighbridge_model::experiment::{Experiment, Hooks, Target, WorkloadSpec};
use weighbridge_model::idle::IdleWait;
use weighbridge_model::reliability::HostIdentity;
use weighbridge_store::redact::{is_secret, redacted as redacted_value};
use weighbridge_store::scrub::redact_named;

use crate::actor::Recipe;
use crate::failures::names_secret;
use crate::idle::idle_of;
use crate::programs::own_sha256;

/// The fact of a host's identity that tells how its idle cores waited in a run.
pub(crate) const IDLE_CORES: &str = "idle cores";

/// `environment.json`: host, toolchains, this program, and every variant's service.
pub(crate) fn environment(
    experiment: &Experiment,
    recipes: &[Recipe],
    folder: Option<&Path>,
    idle: &IdleWait,
) -> Value {
    let variant = |(variant, recipe): (&weighbridge_model::experiment::Variant, &Recipe)| {
        let (version, hash) = recipe.identity();
        let mut facts = json!({ "name": variant.name, "version": version, "binary_sha256": hash });
        if let Some(peer) = recipe.peer() {
            facts["peer"] = peer.identity();
        }
        if let Some(revision) = recipe.revision() {
            facts["revision"] = revision.to_json();
        }
        facts
    };
    json!({
        "weigh": { "version": env!("CARGO_PKG_VERSION"), "executable_sha256": own_sha256() },
        // A fact that does not become JSON cannot be shown; the rest still can.
        "host": serde_json::to_value(HostFacts::collect(folder)).unwrap_or(Value::Null),
        "idle": idle,
        "network": layers::programs(experiment.variants.iter().map(|variant| &variant.layers)),
        "variants": experiment.variants.iter().zip(recipes).map(variant).collect::<Vec<_>>(),
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

/// The experiment without its secrets. Values given as `env:NAME` stay as they are: they hold none.
pub(crate) fn redacted(experiment: &Experiment) -> Experiment {
    let mut experiment = experiment.clone();
    let hide = |pairs: &mut Vec<(String, String)>| {
        for (key, value) in pairs {
            // Where a value has places, the secret part is not in it.
            if is_secret(key) && !value.starts_with("env:") && !value.contains("${") {
                *value = redacted_value(value).into_owned();
            } else {
                hide_named(value);
            }
        }
    };
    for point in &mut experiment.points {
        match &mut point.workload {
            WorkloadSpec::Http { requests, .. } => {
                for request in requests {
                    hide(&mut request.headers);
                    hide_named(&mut request.path);
                    if let Some(body) = redact_named(&request.body) {
                        request.body = body;
                    }
                }
            }
            WorkloadSpec::Commands { setup, .. } => {
                let given = setup.password.as_mut().filter(|password| !password.starts_with("env:"));
                if let Some(password) = given {
                    *password = redacted_value(password).into_owned();
                }
            }
            WorkloadSpec::Grpc { calls, .. } => calls.iter_mut().for_each(|call| hide(&mut call.metadata)),
            WorkloadSpec::Pingpong(_) => {}
        }
    }
    for variant in &mut experiment.variants {
        hide(&mut variant.env);
        if let Some(peer) = &mut variant.peer {
            hide(&mut peer.env);
        }
        match &mut variant.target {
            Target::Command(program) => {
                hide_arguments(&mut program.argv);
                program.build.iter_mut().for_each(hide_named);
            }
            Target::Url(url) => hide_named(&mut url.path),
            Target::Service { .. } => {}
        }
    }
    let Hooks { prepare, reset, cleanup } = &mut experiment.hooks;
    [prepare, reset, cleanup].into_iter().flatten().for_each(hide_named);
    experiment
}

/// Redacts what stands behind names of secrets in a text.
fn hide_named(text: &mut String) {
    if let Some(hidden) = redact_named(text.as_bytes()) {
        *text = String::from_utf8_lossy(&hidden).into_owned();
    }
}

/// The same of a command line, where a value may be the next word.
fn hide_arguments(argv: &mut [String]) {
    argv.iter_mut().for_each(hide_named);
    for at in 1..argv.len() {
        if names_secret(&argv[at - 1]) {
            argv[at] = redacted_value(&argv[at]).into_owned();
        }
    }
}
