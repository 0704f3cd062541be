//! What a server is told when it starts. All else is PostgreSQL's default.

use std::collections::BTreeMap;
use std::path::Path;

use weighbridge_model::experiment::{DatabaseVia, PostgresSettings};

/// The user of the database, who owns it.
pub(super) const USER: &str = "trade";
/// The database; `initdb` makes it.
pub(super) const DATABASE: &str = "postgres";
/// The only address at which it listens, if it listens at all.
pub(super) const ADDRESS: &str = "127.0.0.1";

/// The settings that a record names, each with its value.
pub(super) fn settings(asked: PostgresSettings) -> BTreeMap<String, String> {
    let durable = asked.durability.name();
    let address = if asked.via == DatabaseVia::Tcp { ADDRESS } else { "" };
    let all = [
        ("listen_addresses", address),
        // More than any service's pool opens.
        ("max_connections", "500"),
        // What happens by the clock would fall into the windows of some variants and not of others: no vacuum, no
        // checkpoint by time, and none by volume within a trial.
        ("autovacuum", "off"),
        ("checkpoint_timeout", "1d"),
        ("max_wal_size", "16GB"),
        ("fsync", durable),
        ("synchronous_commit", durable),
        ("full_page_writes", durable),
        // In its folder, so that nothing of it is left in `/dev/shm` if it is killed.
        ("dynamic_shared_memory_type", "mmap"),
        ("lc_messages", "C"),
    ];
    all.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}

/// The same as arguments, with what differs from start to start: its socket's folder and its port.
pub(super) fn arguments(asked: PostgresSettings, folder: &Path) -> Vec<String> {
    let socket = match asked.via {
        DatabaseVia::Unix => folder.display().to_string(),
        DatabaseVia::Tcp => String::new(),
    };
    let own = [("unix_socket_directories", socket), ("port", "{port}".to_owned())];
    let own = own.map(|(name, value)| (name.to_owned(), value));
    let all = settings(asked).into_iter().chain(own);
    all.flat_map(|(name, value)| ["-c".to_owned(), format!("{name}={value}")]).collect()
}

/// Who may connect: the user of the database, from where the service does, without a password.
pub(super) fn access(asked: PostgresSettings) -> String {
    match asked.via {
        DatabaseVia::Unix => format!("local {DATABASE} {USER} trust\n"),
        DatabaseVia::Tcp => format!("host {DATABASE} {USER} {ADDRESS}/32 trust\n"),
    }
}

/// How a client finds it, in libpq's words.
pub(super) fn words(asked: PostgresSettings, folder: &Path, port: u16) -> String {
    let host = match asked.via {
        DatabaseVia::Unix => folder.display().to_string(),
        DatabaseVia::Tcp => ADDRESS.to_owned(),
    };
    format!("host={host} port={port} user={USER} dbname={DATABASE}")
}

#[cfg(test)]
mod tests {
    use weighbridge_model::experiment::Durability;

    use super::*;

    const FOLDER: &str = "/var/tmp/wb-01234567-database-000-0-state";

    #[test]
    fn settings_follow_the_way_and_the_durability_that_are_asked_for() {
        for (via, durability, address, host) in [
            (DatabaseVia::Unix, Durability::On, "", FOLDER),
            (DatabaseVia::Tcp, Durability::Off, "127.0.0.1", "127.0.0.1"),
        ] {
            let asked = PostgresSettings { via, durability };
            let settings = settings(asked);
            assert_eq!(settings["listen_addresses"], address);
            for name in ["fsync", "synchronous_commit", "full_page_writes"] {
                assert_eq!(settings[name] == "on", durability == Durability::On, "{name}");
            }
            assert_eq!((&*settings["autovacuum"], &*settings["checkpoint_timeout"]), ("off", "1d"));
            let words = words(asked, Path::new(FOLDER), 6000);
            assert_eq!(words, format!("host={host} port=6000 user=trade dbname=postgres"));
        }
    }

    #[test]
    fn a_server_with_a_socket_does_not_listen_and_one_that_listens_has_no_socket() {
        let arguments = |via| {
            arguments(PostgresSettings { via, ..PostgresSettings::default() }, Path::new(FOLDER)).join(" ")
        };
        let (unix, tcp) = (arguments(DatabaseVia::Unix), arguments(DatabaseVia::Tcp));
        let socket = format!("-c unix_socket_directories={FOLDER} -c port={{port}}");
        assert!(unix.contains("-c listen_addresses= ") && unix.ends_with(&socket), "{unix}");
        assert!(tcp.contains("-c listen_addresses=127.0.0.1 "), "{tcp}");
        assert!(tcp.ends_with("-c unix_socket_directories= -c port={port}"), "{tcp}");
        let access = |via| access(PostgresSettings { via, ..PostgresSettings::default() });
        assert_eq!(access(DatabaseVia::Unix), "local postgres trade trust\n");
        assert_eq!(access(DatabaseVia::Tcp), "host postgres trade 127.0.0.1/32 trust\n");
    }

    #[test]
    fn the_path_of_a_socket_fits_into_its_address() {
        let longest = "/var/tmp/wb-01234567-database-9999-9999-batch-9999-state/.s.PGSQL.65535";
        // `sun_path` of unix(7), with the byte that ends it.
        assert!(longest.len() < 108);
    }
}
