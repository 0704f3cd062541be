//! The peer of a variant, to which it passes requests on: the key `peer`, read and written.

use serde::{Deserialize, Serialize};
use toml::{Table, Value as Toml};

use super::node::{ExperimentError, Reader, Value};
use super::read::pairs;
use super::{Protocol, Target, Variant, protocol};

/// A service of the catalogue. It is started before its variant, which receives its address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Peer {
    pub service: String,
    /// How it is asked by the variant's service.
    #[serde(default)]
    pub protocol: Protocol,
    /// Environment added to the service's; a value `env:NAME` is read when the run starts.
    #[serde(default)]
    pub env: Vec<(String, String)>,
}

/// Reads `peer = "go"` or a table with `service`, `protocol` and `env`.
pub(super) fn read(reader: &Reader<'_>) -> Result<Option<Peer>, ExperimentError> {
    let Some(node) = reader.node("peer") else { return Ok(None) };
    if let Value::Table(_) = node.value {
        let Some(table) = reader.table("peer")? else { return Ok(None) };
        let line = table.line();
        let Some(service) = table.text("service")? else {
            return Err(table.error(line, "`variant.peer` names no `service`; give one of the catalogue"));
        };
        let protocol = protocol::read(&table)?.unwrap_or_default();
        let env = pairs(&table, "env")?;
        table.finish()?;
        return Ok(Some(Peer { service, protocol, env }));
    }
    let plain = |service| Peer { service, protocol: Protocol::default(), env: Vec::new() };
    Ok(reader.text("peer")?.map(plain))
}

/// Errors: in words, why the variant cannot have a peer.
pub(super) fn check(variant: &Variant) -> Result<(), String> {
    let Some(peer) = &variant.peer else { return Ok(()) };
    if peer.service.is_empty() {
        return Err("`variant.peer` is empty; name a service of the catalogue".to_owned());
    }
    if !matches!(variant.target, Target::Service { .. }) {
        return Err("`peer` belongs to `service`: a program of your own knows its peers itself".to_owned());
    }
    if variant.protocol != Protocol::HTTP1_JSON {
        return Err(format!(
            "`peer` beside protocol `{}`: services that pass requests on are asked over `http1-json` only",
            variant.protocol.name()
        ));
    }
    if variant.tls.is_some() {
        return Err("`peer` beside `tls`: services pass requests on in clear text only".to_owned());
    }
    if let Some(key) = variant.limits.named() {
        return Err(format!(
            "`peer` beside `{key}`: a limit is of one service, and this variant is two; leave one out"
        ));
    }
    Ok(())
}

pub(super) fn write(peer: &Peer) -> Toml {
    let Peer { service, protocol, env } = peer;
    if env.is_empty() && *protocol == Protocol::default() {
        return service.clone().into();
    }
    let entries = [
        ("service".to_owned(), Toml::from(service.clone())),
        ("protocol".to_owned(), protocol.name().into()),
        ("env".to_owned(), super::write::pairs(env).into()),
    ];
    Table::from_iter(entries).into()
}

#[cfg(test)]
mod tests {
    use super::super::{Experiment, PingpongOperation, WorkloadSpec};
    use super::*;

    fn parse(workload: &str, variant: &str) -> Result<Experiment, String> {
        let text = format!("[workload]\nname = 'pingpong'\n{workload}\n[[variant]]\n{variant}\n");
        let experiment = Experiment::parse("x.toml", &text).map_err(|error| error.to_string())?;
        let again = Experiment::parse("again", &experiment.to_toml()).expect("what is stored is read");
        assert_eq!(again, experiment);
        Ok(experiment)
    }

    fn asked(experiment: &Experiment, variant: usize) -> PingpongOperation {
        let asked = experiment.points[0].workload.for_variant(&experiment.variants[variant]);
        let WorkloadSpec::Pingpong(spec) = &*asked else { panic!("pingpong") };
        spec.operation
    }

    #[test]
    fn a_peer_is_a_name_or_a_table_and_bodies_go_through_it() {
        let plain = parse("", "service = 'go'\npeer = 'rust'\n[[variant]]\nservice = 'rust'").expect("right");
        let rust = |protocol, env| Some(Peer { service: "rust".to_owned(), protocol, env });
        assert_eq!(plain.variants[0].peer, rust(Protocol::HTTP1_JSON, Vec::new()));
        assert_eq!((asked(&plain, 0), asked(&plain, 1)), (PingpongOperation::Ping, PingpongOperation::Pong));
        assert_eq!(plain.variants[0].name, "go to rust");
        let table = parse("", "service = 'go'\npeer = { service = 'rust', env = { NAGLE = 'default' } }");
        let env = vec![("NAGLE".to_owned(), "default".to_owned())];
        assert_eq!(table.expect("right").variants[0].peer, rust(Protocol::HTTP1_JSON, env));
        let measured = parse("operation = 'mping'", "service = 'go'\npeer = 'go'").expect("right");
        assert_eq!(asked(&measured, 0), PingpongOperation::Mping);
        assert_eq!(measured.points[0].workload.operations(), ["mping"]);
        assert_eq!(plain.points[0].workload.operations(), ["pong"]);
    }

    #[test]
    fn a_matrix_crosses_services_and_peers() {
        let text =
            "[workload]\nname = 'pingpong'\n[matrix]\nservice = ['go', 'rust']\npeer = ['go', 'rust']\n";
        let experiment = Experiment::parse("x.toml", text).expect("right");
        let pairs: Vec<_> = experiment
            .variants
            .iter()
            .map(|variant| (variant.name.as_str(), variant.peer.as_ref().expect("a peer").service.as_str()))
            .collect();
        assert_eq!(pairs, [("go/go", "go"), ("go/rust", "rust"), ("rust/go", "go"), ("rust/rust", "rust")]);
    }

    #[test]
    fn what_cannot_have_a_peer_is_refused() {
        for (workload, variant, said) in [
            ("", "url = 'http://h'\npeer = 'go'", "`peer` belongs to `service`"),
            ("", "service = 'go'\nprotocol = 'grpc'\npeer = 'go'", "over `http1-json` only"),
            (
                "",
                "service = 'go'\npeer = { service = 'go', protocol = 'grpc' }",
                "`peer.protocol` belongs to",
            ),
            ("", "service = 'go'\npeer = { service = 'go', protocol = 'http3' }", "`http3`"),
            ("", "service = 'go'\ntls = true\npeer = 'go'", "in clear text only"),
            ("", "service = 'go'\ncpu = '0.5'\npeer = 'go'", "`peer` beside `cpu`"),
            ("", "service = 'go'\npeer = ''", "`variant.peer` is empty"),
            ("", "service = 'go'\npeer = { env = {} }", "names no `service`"),
            ("", "service = 'go'\npeer = { service = 'go', tls = true }", "tls"),
            ("operation = 'mping'", "service = 'go'", "variant `go` has no peer"),
            ("operation = 'ping'", "service = 'go'", "variant `go` has no peer"),
            ("operation = 'pling'", "service = 'go'", "`ping`"),
        ] {
            let error = parse(workload, variant).expect_err(variant);
            assert!(error.contains(said), "{variant}: {error}");
        }
        let text = "[workload]\nname = 'http'\n[[variant]]\nservice = 'go'\npeer = 'go'\n";
        let error = Experiment::parse("x.toml", text).expect_err("another workload").to_string();
        assert!(error.contains("`peer` belongs to the workloads `pingpong`"), "{error}");
    }
}
