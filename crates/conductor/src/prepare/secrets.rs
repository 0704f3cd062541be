//! Secrets of an experiment: found by names, and hidden in what is stored of it.

use weighbridge_model::experiment::{
    Experiment, Hooks, Target, TextVisitor, WorkloadSpec, environment_names,
};
use weighbridge_store::redact::{is_secret, redacted as redacted_value};
use weighbridge_store::scrub::{Secrets, named_values, redact_named};

/// Values that the workload was given under secret names or from the environment.
pub(crate) fn workload_secrets(
    workload: &WorkloadSpec,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Vec<String> {
    let mut finder = Finder { environment, found: Vec::new() };
    workload.clone().visit_texts(&mut finder);
    finder.found
}

struct Finder<'a> {
    environment: &'a dyn Fn(&str) -> Option<String>,
    found: Vec<String>,
}

impl TextVisitor for Finder<'_> {
    fn named(&mut self, name: &str, value: &mut String) {
        add(name, value, self.environment, &mut self.found);
    }

    // Has no name of its own: only named values in the text and values from the environment count.
    fn text(&mut self, text: &mut String) {
        self.named("", text);
    }

    fn bytes(&mut self, bytes: &mut Vec<u8>) {
        self.named("", &mut String::from_utf8_lossy(bytes).into_owned());
    }

    fn secret(&mut self, value: &mut String) {
        self.named("password", value);
    }
}

/// Collects the secrets in a value: what is read from the environment, the whole value under a secret name
/// (except placeholders, which are filled with the secret later), and values after secret names inside it.
fn add(name: &str, value: &str, environment: &dyn Fn(&str) -> Option<String>, found: &mut Vec<String>) {
    let variables = environment_names(value);
    found.extend(variables.iter().filter_map(|variable| environment(variable)));
    if is_secret(name) && variables.is_empty() && !value.contains("${") {
        found.push(value.to_owned());
    }
    found.extend(named_values(value));
}

/// Includes variants' environments, commands and addresses, and hooks.
pub(crate) fn experiment_secrets(experiment: &Experiment) -> Secrets {
    let environment = &|name: &str| std::env::var(name).ok();
    let mut found: Vec<String> =
        experiment.points.iter().flat_map(|point| workload_secrets(&point.workload, environment)).collect();
    for variant in &experiment.variants {
        let peers = variant.peer.iter().flat_map(|peer| &peer.env);
        let all = variant.env.iter().chain(peers);
        all.for_each(|(name, value)| add(name, value, environment, &mut found));
        match &variant.target {
            Target::Command(program) => {
                found.extend(argument_secrets(&program.argv));
                program.build.iter().for_each(|build| found.extend(named_values(build)));
            }
            Target::Url(url) => found.extend(named_values(&url.path)),
            Target::Service { .. } => {}
        }
    }
    let Hooks { prepare, reset, cleanup } = &experiment.hooks;
    [prepare, reset, cleanup].into_iter().flatten().for_each(|hook| found.extend(named_values(hook)));
    Secrets::new(found)
}

/// Values in a command line: `--password=abc`, `--password abc`, `password:abc`.
fn argument_secrets(argv: &[String]) -> Vec<String> {
    let behind = argv.windows(2).filter(|two| names_secret(&two[0])).map(|two| two[1].clone());
    argv.iter().flat_map(|word| named_values(word)).chain(behind).collect()
}

/// Whether a word is a flag whose value, a secret, is the next word.
fn names_secret(word: &str) -> bool {
    word.starts_with('-') && !word.contains('=') && is_secret(word)
}

/// The experiment without its secrets. Values given as `env:NAME` contain none and stay.
pub(crate) fn redacted(experiment: &Experiment) -> Experiment {
    let mut experiment = experiment.clone();
    let hide = |pairs: &mut Vec<(String, String)>| {
        pairs.iter_mut().for_each(|(key, value)| Redactor.named(key, value));
    };
    experiment.points.iter_mut().for_each(|point| point.workload.visit_texts(&mut Redactor));
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

struct Redactor;

impl TextVisitor for Redactor {
    fn named(&mut self, name: &str, value: &mut String) {
        // The secret is filled into the placeholders and is not part of the text.
        if is_secret(name) && !value.contains("${") {
            self.secret(value);
        } else {
            hide_named(value);
        }
    }

    fn text(&mut self, text: &mut String) {
        hide_named(text);
    }

    fn bytes(&mut self, bytes: &mut Vec<u8>) {
        if let Some(hidden) = redact_named(bytes) {
            *bytes = hidden;
        }
    }

    fn secret(&mut self, value: &mut String) {
        if !value.starts_with("env:") {
            *value = redacted_value(value).into_owned();
        }
    }
}

fn hide_named(text: &mut String) {
    if let Some(hidden) = redact_named(text.as_bytes()) {
        *text = String::from_utf8_lossy(&hidden).into_owned();
    }
}

/// The same for a command line, where a value may be the next word.
fn hide_arguments(argv: &mut [String]) {
    argv.iter_mut().for_each(hide_named);
    for at in 1..argv.len() {
        if names_secret(&argv[at - 1]) {
            argv[at] = redacted_value(&argv[at]).into_owned();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weighbridge_model::experiment::{
        CallSpec, CommandsSpec, DescriptorSource, Equality, GrpcSpec, RespSetup,
    };

    #[test]
    fn secrets_are_what_was_given_under_secret_names_or_from_the_environment() {
        let mut call = CallSpec::new("a.B/C");
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        call.metadata =
            vec![pair("authorization", "Bearer abcdef"), pair("x-id", "17"), pair("x-env", "env:ID")];
        let source = DescriptorSource::Reflection;
        let spec = WorkloadSpec::Grpc(GrpcSpec { source, calls: vec![call], equal: Equality::Status });
        let environment = |name: &str| (name == "ID").then(|| "swordfish".to_owned());
        assert_eq!(workload_secrets(&spec, &environment), ["Bearer abcdef", "swordfish"]);
        let setup = RespSetup { password: Some("pass".to_owned()), ..RespSetup::default() };
        let spec =
            WorkloadSpec::Commands(CommandsSpec { commands: Vec::new(), equal: Equality::Status, setup });
        assert_eq!(workload_secrets(&spec, &environment), ["pass"]);
    }

    #[test]
    fn secrets_of_a_variant_and_of_its_peer_are_redacted() {
        let text = "[workload]\nname = 'pingpong'\n[[variant]]\nservice = 'go'\nenv = { API_TOKEN = 'swordfish' }\n\
                    peer = { service = 'rust', env = { DB_PASSWORD = 'trout', PLAIN = 'carp' } }";
        let experiment = Experiment::parse("x.toml", text).expect("an experiment");
        let variant = &redacted(&experiment).variants[0];
        let value = |pairs: &[(String, String)], name: &str| {
            pairs.iter().find(|(one, _)| one == name).map(|(_, value)| value.clone()).expect("it is there")
        };
        let peer = &variant.peer.as_ref().expect("a peer").env;
        assert!(value(&variant.env, "API_TOKEN").starts_with("<redacted sha256:"), "{variant:?}");
        assert!(value(peer, "DB_PASSWORD").starts_with("<redacted sha256:"), "{variant:?}");
        assert_eq!(value(peer, "PLAIN"), "carp");
    }
}
