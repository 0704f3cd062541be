//! Where the service of a variant keeps its records: the key `database`, read and written. Which databases a service
//! has is its own to say; whether PostgreSQL is on this host is looked up elsewhere.

use std::fmt;

use serde::{Deserialize, Serialize};
use toml::{Table, Value as Toml};

use super::node::{ExperimentError, Node, Reader, Value};
use super::{Layer, Target, Variant};

/// The contract's variable of the same meaning.
pub const DATABASE_VARIABLE: &str = "DATABASE";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "engine")]
pub enum Database {
    /// Embedded in the service, in its memory.
    Memory,
    /// Embedded in the service, in files of its state.
    File,
    /// Apache Derby, embedded in the service, in its memory.
    Derby,
    /// A server that is started for the variant.
    Postgres(PostgresSettings),
}

/// How a server of PostgreSQL is reached, and what it promises.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PostgresSettings {
    pub via: DatabaseVia,
    pub durability: Durability,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DatabaseVia {
    /// A socket in a folder of its own.
    #[default]
    Unix,
    /// A port of the loopback address.
    Tcp,
}

/// Whether a commit is on the disk before it is answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    #[default]
    On,
    Off,
}

impl DatabaseVia {
    pub const ALL: [Self; 2] = [Self::Unix, Self::Tcp];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Unix => "unix",
            Self::Tcp => "tcp",
        }
    }
}

impl Durability {
    pub const ALL: [Self; 2] = [Self::On, Self::Off];

    pub const fn name(self) -> &'static str {
        match self {
            Self::On => "on",
            Self::Off => "off",
        }
    }
}

impl Database {
    /// Every engine, with its usual settings.
    const NAMED: [(&'static str, Self); 4] = [
        ("memory", Self::Memory),
        ("file", Self::File),
        ("derby", Self::Derby),
        ("postgres", Self::Postgres(PostgresSettings { via: DatabaseVia::Unix, durability: Durability::On })),
    ];

    pub const fn engine(&self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::File => "file",
            Self::Derby => "derby",
            Self::Postgres(_) => "postgres",
        }
    }

    /// The settings of a server that is started for the variant; `None` of what is embedded in the service.
    pub const fn postgres(&self) -> Option<PostgresSettings> {
        match self {
            Self::Postgres(settings) => Some(*settings),
            Self::Memory | Self::File | Self::Derby => None,
        }
    }
}

/// For readers: `memory`, `postgres over tcp, durability off`.
impl fmt::Display for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.engine())?;
        let PostgresSettings { via, durability } = self.postgres().unwrap_or_default();
        if via != DatabaseVia::default() {
            write!(f, " over {}", via.name())?;
        }
        if durability != Durability::default() {
            write!(f, ", durability {}", durability.name())?;
        }
        Ok(())
    }
}

/// Reads `database = "memory"` or a table with `engine` and, of PostgreSQL, `via` and `durability`.
pub(super) fn read(reader: &Reader<'_>) -> Result<Option<Database>, ExperimentError> {
    let Some(Node { value: Value::Table(_), line }) = reader.node("database") else {
        return reader.choice("database", &Database::NAMED);
    };
    let Some(table) = reader.table("database")? else { return Ok(None) };
    let engine = table.choice("engine", &Database::NAMED)?;
    let via = table.choice("via", &DatabaseVia::ALL.map(|via| (via.name(), via)))?;
    let durability = table.choice("durability", &Durability::ALL.map(|one| (one.name(), one)))?;
    table.finish()?;
    match engine {
        Some(Database::Postgres(usual)) => Ok(Some(Database::Postgres(PostgresSettings {
            via: via.unwrap_or(usual.via),
            durability: durability.unwrap_or(usual.durability),
        }))),
        Some(embedded) if via.is_some() || durability.is_some() => {
            let message = format!(
                "`variant.database`: `via` and `durability` are settings of the engine `postgres`, and `{}` is embedded in the service; leave them out",
                embedded.engine()
            );
            Err(reader.error(*line, message))
        }
        Some(embedded) => Ok(Some(embedded)),
        None => {
            let names = Database::NAMED.map(|(name, _)| format!("`{name}`")).join(", ");
            Err(reader.error(*line, format!("`variant.database` names no `engine`; allowed: {names}")))
        }
    }
}

/// Errors: in words, why the variant cannot have its database.
pub(super) fn check(variant: &Variant) -> Result<(), String> {
    let Some(database) = variant.database else { return Ok(()) };
    match &variant.target {
        Target::Service { .. } => {}
        Target::Command(_) => {
            return Err("`database` belongs to `service`, to which the contract tells it: a program of your own opens its database itself, as its `command` or `env` says".to_owned());
        }
        Target::Url(_) => {
            return Err(
                "`database` belongs to `service`: the server of a `url` has its own, from whoever runs it"
                    .to_owned(),
            );
        }
    }
    if variant.env.iter().any(|(name, _)| name == DATABASE_VARIABLE) {
        return Err(format!(
            "`env.{DATABASE_VARIABLE}` beside `database`: both tell the service where it keeps its records; leave one out"
        ));
    }
    if database.postgres().is_none() {
        return Ok(());
    }
    let limits = [("cpu", variant.limits.cpu.is_some()), ("memory", variant.limits.memory.is_some())];
    if let Some((key, _)) = limits.iter().find(|(_, is_set)| *is_set) {
        return Err(format!(
            "`database = \"postgres\"` beside `{key}`: a limit is of one program, and this variant has two, the service and its server; leave one out"
        ));
    }
    if variant.layers.iter().any(|layer| matches!(layer, Layer::Container(_))) {
        return Err("`database = \"postgres\"` beside the layer `container`: its server runs outside, where a service in a container does not reach it; leave one out, or use a database that is embedded in the service".to_owned());
    }
    Ok(())
}

pub(super) fn write(database: &Database) -> Toml {
    match database.postgres() {
        None => database.engine().into(),
        Some(PostgresSettings { via, durability }) => Table::from_iter([
            ("engine".to_owned(), Toml::from(database.engine())),
            ("via".to_owned(), via.name().into()),
            ("durability".to_owned(), durability.name().into()),
        ])
        .into(),
    }
}

/// A database in the name of a variant of a matrix: `file`, `postgres tcp`.
pub(super) fn short(node: &Node) -> String {
    match &node.value {
        Value::Table(entries) => entries.iter().map(|(_, value)| value.show()).collect::<Vec<_>>().join(" "),
        _ => node.show(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::read_back;
    use super::*;

    fn parse(variant: &str) -> Result<Option<Database>, String> {
        let text = format!("[workload]\nname = 'trade'\n[[variant]]\n{variant}\n");
        Ok(read_back(&text)?.variants[0].database)
    }

    #[test]
    fn a_database_is_a_name_or_a_table_and_postgres_is_short_for_its_usual_settings() {
        let postgres = |via, durability| Some(Database::Postgres(PostgresSettings { via, durability }));
        let usual = postgres(DatabaseVia::Unix, Durability::On);
        for (written, expected, shown) in [
            ("'memory'", Some(Database::Memory), "memory"),
            ("'file'", Some(Database::File), "file"),
            ("{ engine = 'derby' }", Some(Database::Derby), "derby"),
            ("'postgres'", usual, "postgres"),
            ("{ engine = 'postgres' }", usual, "postgres"),
            (
                "{ engine = 'postgres', via = 'tcp' }",
                postgres(DatabaseVia::Tcp, Durability::On),
                "postgres over tcp",
            ),
            (
                "{ engine = 'postgres', via = 'tcp', durability = 'off' }",
                postgres(DatabaseVia::Tcp, Durability::Off),
                "postgres over tcp, durability off",
            ),
        ] {
            let found = parse(&format!("service = 'rust-trade'\ndatabase = {written}"));
            assert_eq!(found, Ok(expected), "{written}");
            assert_eq!(expected.map(|one| one.to_string()).as_deref(), Some(shown));
        }
        assert_eq!(parse("service = 'rust-trade'"), Ok(None));
        assert_eq!(parse("service = 'rust-trade'\nenv = { DATABASE = 'file' }"), Ok(None));
    }

    #[test]
    fn databases_are_a_factor_of_a_matrix() {
        let text = "[workload]\nname = 'trade'\n[matrix]\nservice = ['rust-trade']\n\
            database = ['memory', { engine = 'postgres', via = 'tcp' }]\n";
        let variants = read_back(text).expect("right").variants;
        let named: Vec<_> = variants
            .iter()
            .map(|one| (one.name.as_str(), one.database.map(|database| database.to_string())))
            .collect();
        let shown = |text: &str| Some(text.to_owned());
        assert_eq!(
            named,
            [("rust-trade/memory", shown("memory")), ("rust-trade/postgres tcp", shown("postgres over tcp"))]
        );
    }

    #[test]
    fn a_database_that_cannot_be_is_refused_with_what_is_allowed() {
        for (variant, part) in [
            ("database = 'oracle'", "allowed: `memory`, `file`, `derby`, `postgres`"),
            ("database = 'postgre'", "did you mean `postgres`?"),
            ("database = { engine = 'oracle' }", "`variant.database.engine`: `oracle` is not known"),
            ("database = { via = 'tcp' }", "`variant.database` names no `engine`; allowed: `memory`"),
            ("database = { engine = 'postgres', via = 'udp' }", "allowed: `unix`, `tcp`"),
            ("database = { engine = 'postgres', durability = 'maybe' }", "allowed: `on`, `off`"),
            ("database = { engine = 'postgres', durability = true }", "allowed: `on`, `off`"),
            ("database = { engine = 'postgres', port = 5432 }", "unknown key `port` in `[variant.database]`"),
            ("database = { engine = 'file', durability = 'off' }", "`file` is embedded in the service"),
            ("database = 'file'\nenv = { DATABASE = 'memory' }", "`env.DATABASE` beside `database`"),
            ("database = 'postgres'\ncpu = 1", "beside `cpu`: a limit is of one program"),
            ("database = 'postgres'\nmemory = '1 GB'", "beside `memory`: a limit is of one program"),
            ("database = 'postgres'\nlayers = ['container']", "does not reach it"),
        ] {
            let error = parse(&format!("service = 'rust-trade'\n{variant}")).expect_err(variant);
            assert!(error.contains(part), "{variant}: {error}");
            assert_eq!(error.lines().count(), 1, "{error}");
        }
        for (target, part) in [
            ("url = 'h'", "the server of a `url` has its own"),
            ("command = 's'", "a program of your own opens its database itself"),
        ] {
            let error = parse(&format!("{target}\ndatabase = 'memory'")).expect_err(target);
            assert!(error.contains(part), "{error}");
        }
        let text = "[workload]\nname = 'pingpong'\n[[variant]]\nservice = 'go'\ndatabase = 'memory'\n";
        let error = read_back(text).expect_err("another workload");
        let part = "variant `go`: `database` belongs to the workload `trade`, and this one is `pingpong`";
        assert!(error.contains(part), "{error}");
    }
}
