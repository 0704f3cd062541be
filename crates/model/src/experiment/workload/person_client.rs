//! The workload `person-client`: the calls of `person`, made by the ordinary client of a relay. It has the keys of `person`.

use serde::{Deserialize, Serialize};
use toml::Table;

use super::{PersonOperation, PersonSpec, Spec, Variant, WorkloadSpec, has_no_peer};
use crate::experiment::node::{Read, Reader};

/// What a relay calls at its peer; a service without a peer answers the same calls itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PersonClientSpec(pub PersonSpec);

impl Spec for PersonClientSpec {
    const NAME: &'static str = "person-client";
    const PEER: Option<&'static str> = Some(PersonSpec::NAME);

    fn read(reader: &Reader<'_>) -> Read<Self> {
        let calls = PersonSpec::read(reader)?;
        let is_a_call = |one: &PersonOperation| {
            !matches!(one, PersonOperation::StreamPersons | PersonOperation::ProgramComposition)
        };
        if let Some(other) = calls.operations.iter().find(|one| !is_a_call(one)) {
            let allowed = PersonOperation::ALL.into_iter().filter(is_a_call);
            let allowed: Vec<_> = allowed.map(|one| format!("`{}`", one.name())).collect();
            let message = format!(
                "`workload.operation`: a relay makes single calls, and `{}` is none; allowed: {}",
                other.name(),
                allowed.join(", ")
            );
            return Err(reader.error(reader.line(), message));
        }
        Ok(Self(calls))
    }

    fn write(&self, table: &mut Table) {
        self.0.write(table);
    }

    fn operations(&self) -> Vec<String> {
        self.0.operations()
    }

    fn words(&self) -> String {
        self.0.words().replacen(PersonSpec::NAME, Self::NAME, 1)
    }

    fn for_variant(&self, variant: &Variant) -> Option<WorkloadSpec> {
        has_no_peer(variant).then(|| self.0.clone().into())
    }

    fn offered_as(&self, variant: &Variant) -> Option<&'static str> {
        if has_no_peer(variant) { Some(PersonSpec::NAME) } else { Some(Self::NAME) }
    }

    fn keeps_samples(&self) -> bool {
        true
    }

    /// Together with a relay, services without a peer are asked directly.
    fn check_variants(&self, variants: &[Variant]) -> Result<(), String> {
        match variants.first().filter(|_| variants.iter().all(has_no_peer)) {
            None => Ok(()),
            Some(variant) => Err(format!(
                "`workload.name`: `person-client` is asked of a service that calls a peer, and variant `{}` has none; give it `peer = {{ service = \"<service>\", protocol = \"<protocol>\" }}`",
                variant.name
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::experiment::{Experiment, Protocol};

    fn experiment(workload: &str, variants: &str) -> Result<Experiment, String> {
        let text = format!("[workload]\nname = 'person-client'\n{workload}\n{variants}\n");
        Experiment::parse("x.toml", &text).map_err(|error| error.to_string())
    }

    #[test]
    fn it_reads_what_it_writes_and_a_service_without_a_peer_is_asked_itself() {
        let text = "[[variant]]\nservice = 'go'\npeer = { service = 'rust', protocol = 'grpc' }\n\
                    [[variant]]\nservice = 'rust'\nprotocol = 'grpc'";
        let first = experiment("operation = 'listPersons'\npersons = 9", text).expect("an experiment");
        let (spec, [relay, alone]) = (&first.points[0].workload, &first.variants[..]) else { panic!("two") };
        assert_eq!(spec.words(), "person-client listPersons, 9 persons");
        assert_eq!(relay.name, "go to rust over grpc");
        assert_eq!(relay.peer.as_ref().map(|peer| peer.protocol), Some(Protocol::GRPC));
        assert_eq!(
            [relay, alone].map(|variant| spec.offered_as(variant)),
            [Some("person-client"), Some("person")]
        );
        assert_eq!(
            [relay, alone].map(|variant| spec.for_variant(variant).name()),
            ["person-client", "person"]
        );
        let again = Experiment::parse("x.toml", &first.to_toml()).expect("what was written");
        assert_eq!(again, first, "{}", first.to_toml());
    }

    #[test]
    fn a_matrix_varies_the_peers_protocol() {
        let text =
            "[matrix]\nservice = ['go']\npeer.service = ['rust']\npeer.protocol = ['http1-json', 'grpc']";
        let experiment = experiment("", text).expect("an experiment");
        let names: Vec<_> = experiment.variants.iter().map(|variant| variant.name.as_str()).collect();
        assert_eq!(names, ["go/rust/http1-json", "go/rust/grpc"]);
    }

    #[test]
    fn errors_say_what_is_allowed() {
        let relay = "[[variant]]\nservice = 'go'\npeer = 'go'";
        for (workload, variant, expected) in [
            ("operation = 'streamPersons'", relay, "`getMissing`"),
            ("", "[[variant]]\nservice = 'go'", "variant `go` has none; give it `peer = {"),
            ("", "[[variant]]\nservice = 'go'\nprotocol = 'grpc'\npeer = 'go'", "over `http1-json` only"),
        ] {
            let error = experiment(workload, variant).expect_err(workload);
            assert!(error.contains(expected), "{workload}: {error}");
        }
    }
}
