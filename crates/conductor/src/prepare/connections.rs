//! The open files and local ports that a load's connections need on this host.

use std::collections::BTreeMap;

use weighbridge_lab::host::resource_limits::{ResourceLimitError, check_files, check_ports, make_files};
use weighbridge_load::FileTable;
use weighbridge_load::dial::Endpoint;
use weighbridge_model::experiment::{Experiment, Target};
use weighbridge_model::plan::Batches;

/// Makes room for the connections of one server, divided among so many threads.
pub(crate) fn ensure_for_threads(
    addresses: &[Endpoint],
    connections: u32,
    threads: u32,
) -> Result<(), ResourceLimitError> {
    let connections = u64::from(connections);
    // All connections go to the first address that answers, whichever it is.
    if let Some(address) = addresses.iter().find_map(Endpoint::tcp) {
        check_ports(&address.to_string(), connections)?;
    }
    make_files(connections_per_table(connections, u64::from(threads), threads_have_tables))
}

fn connections_per_table(connections: u64, threads: u64, apart: impl FnOnce() -> bool) -> u64 {
    if threads > 1 && apart() { connections.div_ceil(threads) } else { connections }
}

/// Whether the kernel gives threads file tables of their own. Only a new thread may ask.
fn threads_have_tables() -> bool {
    let trial = std::thread::spawn(weighbridge_load::own_files);
    trial.join().is_ok_and(|table| table == FileTable::Own)
}

/// Whether an experiment's connections fit on this host. Changes nothing.
pub(crate) fn check(
    experiment: &Experiment,
    connect_to: Option<&(String, u16)>,
) -> Result<(), ResourceLimitError> {
    for (peer, connections) in by_address(experiment, connect_to) {
        check_ports(&peer, connections)?;
    }
    check_files(total_connections(experiment))
}

/// Raises the limit of files for an experiment's connections, which are all in the generator's thread.
pub(crate) fn raise_limit(experiment: &Experiment) -> Result<(), ResourceLimitError> {
    make_files(total_connections(experiment))
}

/// The most connections open at once: those of all variants of a batch at one point.
fn total_connections(experiment: &Experiment) -> u64 {
    connections_per_variant(experiment) * variants_at_once(experiment)
}

fn variants_at_once(experiment: &Experiment) -> u64 {
    Batches::even(experiment.variants.len(), experiment.plan.together as usize).largest() as u64
}

fn connections_per_variant(experiment: &Experiment) -> u64 {
    u64::from(experiment.most_connections())
}

/// The most connections to each address, which URL variants may share. Unix sockets need no ports.
fn by_address(experiment: &Experiment, connect_to: Option<&(String, u16)>) -> BTreeMap<String, u64> {
    let mut found = BTreeMap::new();
    for variant in experiment.variants.iter().filter(|variant| variant.unix.is_none()) {
        let peer = match (&variant.target, connect_to) {
            (Target::Url(_), Some((host, port))) => format!("{host}:{port}"),
            (Target::Url(url), None) => format!("{}:{}", url.host, url.port),
            _ => format!("variant {}", variant.name),
        };
        let connections = found.entry(peer).or_insert(0);
        *connections =
            (*connections + connections_per_variant(experiment)).min(total_connections(experiment));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use weighbridge_model::experiment::PlanRules;

    fn experiment(load: &str, variants: &str) -> Experiment {
        let text = format!("title = \"t\"\n[workload]\nname = \"pingpong\"\n[load]\n{load}\n{variants}");
        Experiment::parse("t.toml", &text).expect("an experiment")
    }

    const VARIANTS: &str = "[[variant]]\nname = \"a\"\nurl = \"http://127.0.0.1:1/\"\n\
        [[variant]]\nname = \"b\"\nurl = \"http://127.0.0.1:1/other\"\n\
        [[variant]]\nname = \"c\"\nurl = \"http://127.0.0.1:2/\"\n\
        [[variant]]\nname = \"d\"\ncommand = [\"true\"]\n";

    #[test]
    fn connections_of_all_variants_stand_in_one_table_and_add_up_by_address() {
        let experiment = experiment("connections = 7", VARIANTS);
        assert_eq!(total_connections(&experiment), 28);
        let found = by_address(&experiment, None);
        let found: Vec<_> = found.iter().map(|(peer, count)| (peer.as_str(), *count)).collect();
        assert_eq!(found, [("127.0.0.1:1", 14), ("127.0.0.1:2", 7), ("variant d", 7)]);
        let redirected = by_address(&experiment, Some(&("localhost".to_owned(), 9)));
        assert_eq!(redirected["localhost:9"], 21);
        let pairs = Experiment { plan: PlanRules { together: 2, ..experiment.plan.clone() }, ..experiment };
        assert_eq!(total_connections(&pairs), 14, "batches follow one another");
        assert_eq!(by_address(&pairs, Some(&("localhost".to_owned(), 9)))["localhost:9"], 14);
    }

    #[test]
    fn too_many_connections_are_refused_before_anything_is_started() {
        let experiment = experiment("connections = 60000", VARIANTS);
        let message = check(&experiment, None).expect_err("too many").to_string();
        assert!(message.contains("120000 connections to `127.0.0.1:1` need a local port each"), "{message}");
    }

    #[test]
    fn threads_share_a_table_only_where_they_must() {
        assert_eq!(connections_per_table(10_001, 3, || true), 3_334);
        assert_eq!(connections_per_table(10_001, 3, || false), 10_001);
        assert_eq!(connections_per_table(10_001, 1, || unreachable!("one thread")), 10_001);
    }
}
