//! The user's own program as a variant: what is started, from which folder and revision, and how it reports
//! that it accepts connections.
//!
//! Only the description: nothing here checks whether a folder, a revision or a program exists.

use std::collections::HashMap;
use std::path::PathBuf;

use regex::Regex;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use super::node::{ExperimentError, Node, Reader, Value as NodeValue};
use super::read::positive_time;
use super::{Scheme, Target, Url, Variant};
use crate::quantity::Nanoseconds;

/// Names of the working tree as it is, including uncommitted changes.
pub const WORKING_TREE: [&str; 2] = ["worktree", "."];

/// A program that is not ready after this time will not become ready.
const READY_TIMEOUT: Nanoseconds = Nanoseconds::from_secs(30);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// Program and arguments; `{port}` is replaced by the chosen port.
    pub argv: Vec<String>,
    pub ready: Readiness,
    /// If it is not ready after this time, its start has failed.
    pub ready_timeout: Nanoseconds,
    /// Folder in which it is built and runs, relative to the current one; `None` for the current one.
    #[serde(default)]
    pub folder: Option<PathBuf>,
    /// The revision of the current folder's repository that is checked out for it; `None` for the files as
    /// they are.
    #[serde(default)]
    pub revision: Option<String>,
    /// Command for `sh -c` that builds it; `None` if nothing is to be built.
    #[serde(default)]
    pub build: Option<String>,
}

/// How a program reports that it accepts connections.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Readiness {
    /// It prints `ready <port>`; it is started with `PORT=0`.
    Line,
    /// It listens on the port that it received as `PORT` and `{port}`.
    Port,
    /// It always listens on this port.
    Fixed(u16),
    /// An address answers as expected; the port is as with [`Self::Port`].
    Asked(ReadyAddress),
    /// It prints a matching line. The port is as with [`Self::Port`], unless the pattern captures it.
    Log(ReadyPattern),
}

/// An address that answers as expected once a program is ready.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadyAddress {
    /// A path, or a whole address with `{port}` for the port.
    text: String,
    /// The expected status; `None` for any 2xx.
    status: Option<u16>,
}

impl ReadyAddress {
    fn read(text: &str, status: Option<u16>) -> Result<Self, String> {
        let address = Self { text: text.to_owned(), status };
        let url = address.url(1, Scheme::Http)?;
        match url.scheme {
            Scheme::Http | Scheme::Https => Ok(address),
            other => Err(format!(
                "`{text}`: `{}://` cannot be asked; allowed: `http://`, `https://`",
                other.name()
            )),
        }
    }

    /// The address for a port; a path is asked by `scheme` on the loopback address.
    ///
    /// Errors: the text is not an address; never for a value that was read from a file.
    pub fn url(&self, port: u16, scheme: Scheme) -> Result<Url, String> {
        let text = self.text.replace("{port}", &port.to_string());
        match self.is_path() {
            true => Url::parse(&format!("{}://127.0.0.1:{port}{text}", scheme.name())),
            false => Url::parse(&text),
        }
    }

    pub fn shown(&self, scheme: Scheme) -> String {
        if self.is_path() {
            format!("{}://127.0.0.1:{{port}}{}", scheme.name(), self.text)
        } else {
            self.text.clone()
        }
    }

    /// Whether it is a path of the service itself.
    pub fn is_path(&self) -> bool {
        self.text.starts_with('/')
    }

    pub fn accepts(&self, status: u16) -> bool {
        self.status.map_or((200..300).contains(&status), |wanted| wanted == status)
    }
}

/// A regular expression that a line of a program's output matches once it is ready.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ReadyPattern(String);

impl ReadyPattern {
    fn read(text: &str) -> Result<Self, String> {
        match Regex::new(text) {
            Ok(pattern) if pattern.is_match("") => {
                Err(format!("`{text}` matches every line; say what stands in the one that is meant"))
            }
            Ok(_) => Ok(Self(text.to_owned())),
            Err(error) => {
                let why = error.to_string();
                let why =
                    why.lines().last().unwrap_or_default().trim().trim_start_matches("error: ").to_owned();
                Err(format!("`{text}` is no regular expression: {why}"))
            }
        }
    }

    /// The compiled expression; never `None`, since it was compiled when it was read.
    pub fn compiled(&self) -> Option<Regex> {
        Regex::new(&self.0).ok()
    }

    /// Whether a group named `port` captures the port, which the program then chooses itself.
    pub fn finds_port(&self) -> bool {
        self.compiled().is_some_and(|pattern| pattern.capture_names().flatten().any(|name| name == "port"))
    }
}

impl Program {
    /// A program in the current folder that is not built.
    pub fn new(argv: Vec<String>, ready: Readiness) -> Self {
        Self { argv, ready, ready_timeout: READY_TIMEOUT, folder: None, revision: None, build: None }
    }

    pub fn is_working_tree(&self) -> bool {
        self.revision.as_deref().is_some_and(|revision| WORKING_TREE.contains(&revision))
    }
}

/// The keys that belong to `command`; they are read whether there is a command or not.
pub(super) struct CommandKeys {
    line: usize,
    ready: Option<Readiness>,
    ready_timeout: Option<Nanoseconds>,
    folder: Option<PathBuf>,
    revision: Option<String>,
    build: Option<String>,
}

pub(super) fn read(reader: &Reader<'_>) -> Result<CommandKeys, ExperimentError> {
    let filled = |key: &'static str| {
        reader.value(key, |node| match &node.value {
            NodeValue::Text(text) if !text.trim().is_empty() => Ok(text.clone()),
            _ => Err(format!("`{}` must be text in quotes, and not empty", node.show())),
        })
    };
    Ok(CommandKeys {
        line: reader.line(),
        ready: ready(reader)?,
        ready_timeout: positive_time(reader, "ready_timeout")?,
        folder: filled("folder")?.map(PathBuf::from),
        revision: filled("revision")?,
        build: filled("build")?,
    })
}

impl CommandKeys {
    /// The program. Without a command, none of the keys is allowed.
    pub(super) fn program(
        self,
        reader: &Reader<'_>,
        command: Option<Vec<String>>,
    ) -> Result<Option<Program>, ExperimentError> {
        let Some(argv) = command else { return self.absent(reader).map(|()| None) };
        let by_port = argv.iter().any(|word| word.contains("{port}"));
        let ready = self.ready.unwrap_or(if by_port { Readiness::Port } else { Readiness::Line });
        let finds = matches!(&ready, Readiness::Log(pattern) if pattern.finds_port());
        if by_port && (finds || ready == Readiness::Line) {
            let message = "`{port}` in `command` gives the program its port, and `ready` waits for one that it chooses; keep one of them";
            return Err(reader.error(self.line, message));
        }
        Ok(Some(Program {
            ready_timeout: self.ready_timeout.unwrap_or(READY_TIMEOUT),
            folder: self.folder,
            revision: self.revision,
            build: self.build,
            ..Program::new(argv, ready)
        }))
    }

    fn absent(&self, reader: &Reader<'_>) -> Result<(), ExperimentError> {
        let given = [
            ("ready", self.ready.is_some()),
            ("ready_timeout", self.ready_timeout.is_some()),
            ("folder", self.folder.is_some()),
            ("revision", self.revision.is_some()),
            ("build", self.build.is_some()),
        ];
        match given.iter().find(|(_, given)| *given) {
            Some((key, _)) => Err(reader.error(self.line, format!("`{key}` belongs to `command`"))),
            None => Ok(()),
        }
    }
}

fn ready(reader: &Reader<'_>) -> Result<Option<Readiness>, ExperimentError> {
    const ALLOWED: &str = "allowed: `line`, `port`, a path such as `/health`, an address such as `http://127.0.0.1:{port}/health`, or a table with `url`, `log` or `port`";
    let Some(node) = reader.node("ready") else { return Ok(None) };
    if let NodeValue::Table(_) = node.value {
        let Some(table) = reader.table("ready")? else { return Ok(None) };
        return ready_table(reader, table, ALLOWED).map(Some);
    }
    reader.value("ready", |node| match &node.value {
        NodeValue::Text(text) if text == "line" => Ok(Readiness::Line),
        NodeValue::Text(text) if text == "port" => Ok(Readiness::Port),
        NodeValue::Text(text) if text.starts_with('/') || text.contains("://") => {
            ReadyAddress::read(text, None).map(Readiness::Asked)
        }
        _ => Err(format!("`{}` is not known; {ALLOWED}", node.show())),
    })
}

fn ready_table(reader: &Reader<'_>, table: Reader<'_>, allowed: &str) -> Result<Readiness, ExperimentError> {
    let status = table.integer("status", 100, 599)?.map(|status| status as u16);
    let text = |node: &Node| match &node.value {
        NodeValue::Text(text) => Ok(text.clone()),
        _ => Err(format!("`{}` must be text in quotes", node.show())),
    };
    let url = table.value("url", |node| ReadyAddress::read(&text(node)?, status))?;
    let log = table.value("log", |node| ReadyPattern::read(&text(node)?))?;
    let port = table.integer("port", 1, 65_535)?.map(|port| port as u16);
    let line = table.line();
    table.finish()?;
    let found = match (url, log, port) {
        (Some(url), None, None) => Readiness::Asked(url),
        (None, Some(pattern), None) => Readiness::Log(pattern),
        (None, None, Some(port)) => Readiness::Fixed(port),
        _ => return Err(reader.error(line, format!("`variant.ready` wants exactly one; {allowed}"))),
    };
    if status.is_some() && !matches!(found, Readiness::Asked(_)) {
        return Err(reader.error(line, "`variant.ready.status` belongs to `url`"));
    }
    Ok(found)
}

/// Refuses variants with the same fixed port, since variants run side by side.
pub(super) fn check_ports(file: &str, variants: &[Variant], nodes: &[Node]) -> Result<(), ExperimentError> {
    let fixed = |variant: &Variant| match &variant.target {
        Target::Command(Program { ready: Readiness::Fixed(port), .. }) => Some(*port),
        _ => None,
    };
    let mut seen: HashMap<u16, &str> = HashMap::new();
    for (variant, node) in variants.iter().zip(nodes) {
        let Some(port) = fixed(variant) else { continue };
        if let Some(other) = seen.insert(port, &variant.name) {
            let message = format!(
                "`{other}` and `{}` both listen on port {port}, and variants live side by side; let them take their port from `{{port}}` or the variable `PORT`",
                variant.name
            );
            return Err(ExperimentError { file: file.to_owned(), line: node.line, message });
        }
    }
    Ok(())
}

pub(super) fn write(table: &mut Table, program: &Program) {
    let argv: Vec<Value> = program.argv.iter().cloned().map(Value::from).collect();
    table.insert("command".into(), argv.into());
    let one = |key: &str, value: Value| Value::from(Table::from_iter([(key.to_owned(), value)]));
    let ready = match &program.ready {
        Readiness::Line => "line".into(),
        Readiness::Port => "port".into(),
        Readiness::Fixed(port) => one("port", i64::from(*port).into()),
        Readiness::Log(pattern) => one("log", pattern.0.clone().into()),
        Readiness::Asked(ReadyAddress { text, status: None }) => text.clone().into(),
        Readiness::Asked(ReadyAddress { text, status: Some(status) }) => {
            let pairs =
                [("url".to_owned(), text.clone().into()), ("status".to_owned(), i64::from(*status).into())];
            Table::from_iter(pairs).into()
        }
    };
    table.insert("ready".into(), ready);
    table.insert("ready_timeout".into(), super::write::time(program.ready_timeout));
    if let Some(folder) = &program.folder {
        table.insert("folder".into(), folder.to_string_lossy().into_owned().into());
    }
    for (key, value) in [("revision", &program.revision), ("build", &program.build)] {
        if let Some(value) = value {
            table.insert(key.into(), value.clone().into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Experiment;
    use super::*;

    fn parse(lines: &str) -> Result<Program, String> {
        let text = format!("[workload]\nname = 'http'\n[[variant]]\n{lines}\n");
        let experiment = Experiment::parse("x", &text).map_err(|error| error.to_string())?;
        let again = Experiment::parse("again", &experiment.to_toml()).expect("what is stored is read");
        assert_eq!(again, experiment);
        match experiment.variants.into_iter().next().map(|variant| variant.target) {
            Some(Target::Command(program)) => Ok(program),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn readiness_is_a_word_a_path_an_address_a_line_or_a_port() {
        let readiness =
            |ready: &str| parse(&format!("command = 's'\nready = {ready}")).map(|program| program.ready);
        assert_eq!(readiness("'port'"), Ok(Readiness::Port));
        assert_eq!(readiness("{ port = 9000 }"), Ok(Readiness::Fixed(9000)));
        let Ok(Readiness::Asked(path)) = readiness("'/health'") else { panic!() };
        let url = path.url(81, Scheme::Https).expect("a path");
        assert_eq!(url.to_string(), "https://127.0.0.1:81/health");
        assert!(path.accepts(204) && !path.accepts(503) && !path.accepts(302));
        let Ok(Readiness::Asked(whole)) = readiness("{ url = 'http://localhost:{port}/up', status = 401 }")
        else {
            panic!()
        };
        assert_eq!(whole.url(81, Scheme::Https).expect("an address").to_string(), "http://localhost:81/up");
        assert!(whole.accepts(401) && !whole.accepts(200));
        let Ok(Readiness::Log(pattern)) = readiness(r"{ log = 'on port (?<port>\d+)$' }") else { panic!() };
        assert!(pattern.finds_port());
        let Ok(Readiness::Log(pattern)) = readiness("{ log = 'started' }") else { panic!() };
        assert!(!pattern.finds_port());
    }

    #[test]
    fn a_wrong_readiness_is_told_with_what_is_allowed() {
        for (lines, part) in [
            ("command = 's'\nready = 'soon'", "`soon` is not known; allowed: `line`, `port`, a path"),
            ("command = 's'\nready = 'ftp://h/'", "scheme `ftp` is not supported"),
            ("command = 's'\nready = 'redis://h/'", "allowed: `http://`, `https://`"),
            ("command = 's'\nready = { log = '(' }", "`(` is no regular expression"),
            ("command = 's'\nready = { log = 'x*' }", "matches every line"),
            ("command = 's'\nready = { log = 'x', port = 1 }", "wants exactly one"),
            ("command = 's'\nready = { log = 'x', status = 200 }", "`variant.ready.status` belongs to `url`"),
            ("command = 's'\nready = { lag = 'x' }", "did you mean `log`?"),
            ("command = 's'\nready = {}", "wants exactly one"),
            ("command = 's'\nready = { port = 0 }", "from 1 to 65535"),
            ("command = 's {port}'\nready = 'line'", "keep one of them"),
            ("command = 's {port}'\nready = { log = '(?<port>1)' }", "keep one of them"),
            ("command = 's'\nready_timeout = '0 s'", "above zero"),
            ("command = 's'\nrevision = ''", "not empty"),
            ("service = 'go'\nrevision = 'main'", "`revision` belongs to `command`"),
            ("url = 'h'\nbuild = 'make'", "`build` belongs to `command`"),
        ] {
            let error = parse(lines).expect_err(lines);
            assert!(error.contains(part), "{lines}: {error}");
        }
    }

    #[test]
    fn a_revision_its_build_and_its_folder_are_kept() {
        let program = parse("command = './s {port}'\nrevision = 'main~1'\nbuild = 'make'\nfolder = 'api'");
        let program = program.expect("a program");
        assert_eq!(program.revision.as_deref(), Some("main~1"));
        assert_eq!((program.build.as_deref(), program.folder), (Some("make"), Some(PathBuf::from("api"))));
        for (revision, is) in [(".", true), ("worktree", true), ("main", false)] {
            let program = parse(&format!("command = 's'\nrevision = '{revision}'")).expect("a program");
            assert_eq!(program.is_working_tree(), is);
        }
    }
}
