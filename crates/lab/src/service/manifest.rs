//! A service: its `service.toml`, the probe of its toolchain, its build, and the identity of what was built.
//!
//! `services/README.md` fixes the file's format; unknown keys are errors. Nothing here depends on a language:
//! every question is asked with the commands in the file.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde::Deserialize;
use sha2::{Digest, Sha256};
use weighbridge_model::experiment::CacheSettings;
use weighbridge_model::hex;
use weighbridge_model::quantity::Nanoseconds;

use crate::host::ask;
use crate::host::sys;
use crate::process::command::{self, CommandOutcome};
use crate::process::launch::{Launch, Ready, Wrapping};
use crate::process::logs::last_lines;
use crate::service::error::ServiceError;
use crate::service::offer::{self, WorkloadOffer};
use crate::service::stock::{BadKey, Stock, WireStock};

pub const FILE: &str = "service.toml";

/// A version question starts a run-time at most; the slowest take seconds on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// Most services start in well under a second, virtual machines in a few.
const READY_TIMEOUT: Nanoseconds = Nanoseconds::from_secs(30);

/// The variables that the contract lets a service read. They are set to the empty text, which counts as unset
/// there, so that variables of the user's shell (some set `HOST`) configure nothing.
const CONTRACT_VARIABLES: [&str; 12] = [
    "CACHE_LIMIT",
    "CACHE_LOAD_FACTOR",
    "CACHE_POLICY",
    "DATA",
    "DATABASE",
    "DIRECT",
    "NAGLE",
    "PEER",
    "PEER_PROTOCOL",
    "STATE",
    "TLS_CERT",
    "TLS_KEY",
];

/// The protocol of a client that is not listed.
const HTTP1_JSON: &str = "http1-json";

/// In a workload's protocols: the service carries out operations in its own process.
const DIRECT: &str = "direct";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireService {
    #[serde(default)]
    kind: WireKind,
    name: String,
    language: String,
    workloads: toml::Table,
    #[serde(default)]
    clients: toml::Table,
    #[serde(default)]
    tls: bool,
    freeze: WireFreeze,
    period: Option<String>,
    warmup: Option<String>,
    #[serde(default)]
    load_factor: bool,
    toolchain: WireToolchain,
    build: Option<WireCommand>,
    start: WireCommand,
    cache: Option<WireStock>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum WireKind {
    #[default]
    Contract,
    Stock,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum WireFreeze {
    Safe,
    Unsafe,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireToolchain {
    probe: Vec<String>,
    remedy: String,
    version: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireCommand {
    command: Vec<String>,
}

/// Whether stopping a service for a while leaves its later behaviour unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freezing {
    Safe,
    /// Behaviour changes (timers, a collector that works while idle): only long windows, or no freezing.
    Unsafe,
}

/// Whether a service speaks TLS when given a certificate and a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tls {
    /// Over each of its protocols.
    Offered,
    /// It refuses both.
    Absent,
}

/// What a service keeps to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    Contract {
        /// Whether its cache takes a load factor.
        load_factor: bool,
    },
    Stock(Stock),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    kind: Kind,
    folder: PathBuf,
    name: String,
    language: String,
    workloads: Vec<WorkloadOffer>,
    /// The protocols over which it can call a service that offers a workload.
    clients: Vec<WorkloadOffer>,
    tls: Tls,
    freezing: Freezing,
    period: Option<Nanoseconds>,
    warmup: Option<Nanoseconds>,
    probe: Vec<String>,
    remedy: String,
    build: Vec<String>,
    start: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Built {
    pub took: Nanoseconds,
    /// See [`Service::binary_sha256`].
    pub binary_sha256: Option<String>,
}

impl Service {
    pub fn read(folder: &Path) -> Result<Self, ServiceError> {
        let path = folder.join(FILE);
        let text = fs::read_to_string(&path)
            .map_err(|source| ServiceError::Unreadable { path: path.clone(), source })?;
        Self::parse(folder, &text)
    }

    /// The service that `text` describes, in `folder`.
    pub fn parse(folder: &Path, text: &str) -> Result<Self, ServiceError> {
        let path = folder.join(FILE);
        let invalid = |span: Option<Range<usize>>, message: &str| ServiceError::Invalid {
            path: path.clone(),
            place: span.map(|span| place(text, span)).unwrap_or_default(),
            message: message.to_owned(),
        };
        if let Some(span) = offer::place_of_lists(text) {
            return Err(invalid(Some(span), offer::INSTEAD_OF_LISTS));
        }
        let mut wire: WireService =
            toml::from_str(text).map_err(|error| invalid(error.span(), error.message()))?;
        let bad = |key: &str, value: &str, allowed: &str| ServiceError::BadValue {
            path: path.clone(),
            key: key.to_owned(),
            value: value.to_owned(),
            allowed: allowed.to_owned(),
        };
        let kind = kind(&mut wire).map_err(|key| bad(&key.key, &key.value, key.allowed))?;
        let folder_name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
        if let Some(folder_name) = folder_name.filter(|folder_name| *folder_name != wire.name) {
            return Err(bad("name", &wire.name, &format!("the folder's name, `{folder_name}`")));
        }
        let build = wire.build.as_ref().map(|build| ("build.command", &build.command));
        let lists = [("toolchain.probe", &wire.toolchain.probe), ("start.command", &wire.start.command)];
        for (key, list) in lists.into_iter().chain(build) {
            if list.first().is_none_or(String::is_empty) {
                return Err(bad(key, "[]", "a list with at least one text"));
            }
        }
        let offers = |table, key| {
            offer::offers(table, key).map_err(|offer| bad(&offer.key, &offer.value, offer.allowed))
        };
        let workloads = offers(wire.workloads, "workloads")?;
        let clients = if wire.clients.is_empty() { Vec::new() } else { offers(wire.clients, "clients")? };
        let time = |key: &str, text: &Option<String>| {
            let parsed = text.as_deref().map(|text| {
                text.parse::<Nanoseconds>().map_err(|_| bad(key, text, "a time such as `100 ms`"))
            });
            parsed.transpose()
        };
        let (period, warmup) = (time("period", &wire.period)?, time("warmup", &wire.warmup)?);
        Ok(Self {
            kind,
            folder: folder.to_owned(),
            name: wire.name,
            language: wire.language,
            workloads,
            clients,
            tls: if wire.tls { Tls::Offered } else { Tls::Absent },
            freezing: match wire.freeze {
                WireFreeze::Safe => Freezing::Safe,
                WireFreeze::Unsafe => Freezing::Unsafe,
            },
            period,
            warmup,
            probe: wire.toolchain.probe,
            remedy: wire.toolchain.remedy,
            build: wire.build.map(|build| build.command).unwrap_or_default(),
            start: wire.start.command,
        })
    }

    pub fn name(&self) -> &str {
        &self.name
    }
    pub fn language(&self) -> &str {
        &self.language
    }
    pub fn folder(&self) -> &Path {
        &self.folder
    }
    pub(super) const fn kind(&self) -> &Kind {
        &self.kind
    }
    pub(super) fn start(&self) -> &[String] {
        &self.start
    }
    /// At least one, in the order of its file.
    pub fn workloads(&self) -> &[WorkloadOffer] {
        &self.workloads
    }
    /// The protocols of all its workloads, in the order of its file.
    pub fn protocols(&self) -> Vec<&str> {
        let mut protocols: Vec<&str> = Vec::new();
        for protocol in self.workloads.iter().flat_map(|offer| &offer.protocols) {
            if !protocols.contains(&protocol.as_str()) {
                protocols.push(protocol);
            }
        }
        protocols
    }
    pub const fn tls(&self) -> Tls {
        self.tls
    }
    pub const fn freezing(&self) -> Freezing {
        self.freezing
    }
    /// The longest time constant that it declares.
    pub const fn period(&self) -> Option<Nanoseconds> {
        self.period
    }

    /// The shortest warm-up that it declares.
    pub const fn warmup(&self) -> Option<Nanoseconds> {
        self.warmup
    }

    pub fn offers(&self, workload: &str, protocol: &str) -> Result<(), ServiceError> {
        let service = || self.name.clone();
        match self.workloads.iter().find(|offer| offer.name == workload) {
            Some(offer) if offer.is_over(protocol) => Ok(()),
            Some(offer) => Err(ServiceError::NoProtocol {
                service: service(),
                workload: workload.to_owned(),
                protocol: protocol.to_owned(),
                offered: offer.protocols.clone(),
            }),
            None => Err(ServiceError::NoWorkload {
                service: service(),
                workload: workload.to_owned(),
                offered: self.workloads.iter().map(|offer| offer.name.clone()).collect(),
            }),
        }
    }

    /// The protocols over which it can call services that offer a workload; what it does not list, over `http1-json`.
    pub fn clients(&self, workload: &str) -> Vec<String> {
        let listed = self.clients.iter().find(|offer| offer.name == workload);
        listed.map_or_else(|| vec![HTTP1_JSON.to_owned()], |offer| offer.protocols.clone())
    }

    /// Whether its client can call a peer with this workload.
    pub fn calls(&self, workload: &str, protocol: &str) -> Result<(), ServiceError> {
        let offered = self.clients(workload);
        if offered.iter().any(|one| one == protocol) {
            return Ok(());
        }
        let (service, workload) = (self.name.clone(), workload.to_owned());
        Err(ServiceError::NoClient { service, workload, protocol: protocol.to_owned(), offered })
    }

    /// The first workload that it offers over a protocol, which runs where the requests are the user's own.
    pub fn first_over(&self, protocol: &str) -> Result<&WorkloadOffer, ServiceError> {
        self.workloads.iter().find(|offer| offer.is_over(protocol)).ok_or_else(|| ServiceError::NotSpoken {
            service: self.name.clone(),
            protocol: protocol.to_owned(),
            offered: self.protocols().into_iter().map(str::to_owned).collect(),
        })
    }

    pub fn offers_tls(&self) -> Result<(), ServiceError> {
        match self.tls {
            Tls::Offered => Ok(()),
            Tls::Absent => Err(ServiceError::NoTls { service: self.name.clone() }),
        }
    }

    /// Runs the probe of its toolchain.
    pub fn probe(&self) -> Result<(), ServiceError> {
        self.run_probe().map(drop)
    }

    /// What the probe prints.
    fn run_probe(&self) -> Result<String, ServiceError> {
        let asked = ask::ask(&self.resolve(&self.probe), Some(&self.folder), PATIENCE);
        asked.map_err(|reason| ServiceError::Unavailable { reason, remedy: self.remedy.clone() })
    }

    /// Its answer to `--version`, once it is built; of a stock server, name and version.
    pub fn version(&self) -> Result<String, ServiceError> {
        if let Kind::Stock(stock) = &self.kind {
            let printed = self.run_probe()?;
            let version = stock.version_in(&printed).map(|version| format!("{} {version}", self.name));
            return version
                .ok_or_else(|| ServiceError::NoVersionFound { service: self.name.clone(), printed });
        }
        let mut command = self.resolve(&self.start);
        command.push("--version".to_owned());
        ask::ask(&command, Some(&self.folder), PATIENCE)
            .map_err(|source| ServiceError::NoVersion { service: self.name.clone(), source })
    }

    /// Whether there is something to start: the program, if it is a path, and at least one of the relative
    /// paths in the start command. Only its build knows whether that is up to date.
    pub fn is_built(&self) -> bool {
        if self.is_stock() {
            return true;
        }
        let is_there = |word: &String| Path::new(word).is_relative() && self.folder.join(word).exists();
        let program = self.start.first().is_none_or(|program| !program.contains('/') || is_there(program));
        program && self.start.iter().any(is_there)
    }

    /// Builds it with its own command. All output goes to `log`, which is kept only if the build fails. It
    /// ends early once `is_cancelled` returns true.
    pub fn build(&self, log: &Path, is_cancelled: &dyn Fn() -> bool) -> Result<Built, ServiceError> {
        self.probe()?;
        if self.is_stock() {
            return Ok(Built { took: Nanoseconds::ZERO, binary_sha256: None });
        }
        let not_run = |source| ServiceError::BuildNotRun {
            service: self.name.clone(),
            command: self.build.join(" "),
            log: log.to_owned(),
            source,
        };
        let output = File::create(log).map_err(not_run)?;
        let words = self.resolve(&self.build);
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).current_dir(&self.folder).stdin(Stdio::null());
        command.stdout(output.try_clone().map_err(not_run)?).stderr(output);
        std::env::vars_os().filter(|(name, _)| is_of_cargo(name)).for_each(|(name, _)| {
            command.env_remove(name);
        });
        let start = sys::monotonic();
        let status = match command::run(command, is_cancelled).map_err(not_run)? {
            CommandOutcome::Ended(status) => status,
            CommandOutcome::Cancelled => {
                let _ = fs::remove_file(log);
                return Err(ServiceError::BuildCancelled { service: self.name.clone() });
            }
        };
        if !status.success() {
            return Err(ServiceError::BuildFailed {
                service: self.name.clone(),
                status,
                log: log.to_owned(),
                output: last_lines(log, 5),
                remedy: self.remedy.clone(),
            });
        }
        let _ = fs::remove_file(log);
        Ok(Built { took: sys::monotonic().since(start), binary_sha256: self.binary_sha256() })
    }

    /// SHA-256, hexadecimal, of what is executed: of the one file that the start command names, or of the
    /// digests of several (an interpreter's script, an archive) in their order. Only files in the service's
    /// folder count; `None` where there is none, or it is not built.
    pub fn binary_sha256(&self) -> Option<String> {
        let files = self.start.iter().filter(|word| Path::new(word).is_relative());
        let mut digests = files
            .map(|word| self.folder.join(word))
            .filter(|path| path.is_file())
            .map(|path| file_digest(&path));
        let first = digests.next()?.ok()?;
        let rest: Vec<[u8; 32]> = digests.collect::<Result<_, _>>().ok()?;
        if rest.is_empty() {
            return Some(hex::encode(&first));
        }
        let all =
            rest.iter().fold(Sha256::new().chain_update(first), |hash, digest| hash.chain_update(digest));
        Some(hex::encode(&all.finalize()))
    }

    /// How to start it for a workload and a protocol. The caller adds cores and the variant's settings.
    pub fn launch(&self, workload: &str, protocol: &str, stdout: &Path, stderr: &Path) -> Launch {
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let mut environment: Vec<(String, String)> =
            CONTRACT_VARIABLES.iter().map(|name| pair(name, "")).collect();
        environment.extend([pair("HOST", "127.0.0.1"), pair("WORKLOAD", workload)]);
        let ready = if protocol == DIRECT {
            environment.extend([pair("PROTOCOL", ""), pair("DIRECT", "1")]);
            Ready::Direct
        } else {
            environment.push(pair("PROTOCOL", protocol));
            if self.is_stock() { Ready::AnyPort } else { Ready::Line }
        };
        let mut launch = Launch {
            name: self.name.clone(),
            command: self.resolve(&self.start),
            environment,
            folder: Some(self.folder.clone()),
            host: IpAddr::V4(Ipv4Addr::LOCALHOST),
            cores: None,
            stdout: stdout.to_owned(),
            stderr: stderr.to_owned(),
            ready,
            ready_timeout: READY_TIMEOUT,
            wrapping: Wrapping::None,
        };
        self.set_cache(&CacheSettings::default(), &mut launch);
        launch
    }

    /// A program with a slash is a path from the service's folder, as the contract says.
    pub(super) fn resolve(&self, command: &[String]) -> Vec<String> {
        let mut words = command.to_vec();
        if let Some(program) = words.first_mut().filter(|program| program.contains('/')) {
            // A relative program would be searched from our own folder.
            let path = std::path::absolute(self.folder.join(&*program));
            *program = path.map_or_else(|_| program.clone(), |path| path.to_string_lossy().into_owned());
        }
        words
    }
}

/// What the keys of a file make it.
fn kind(wire: &mut WireService) -> Result<Kind, BadKey> {
    let (cache, version) = (wire.cache.take(), wire.toolchain.version.take());
    let bad = |value: &str, allowed| Err(BadKey { key: "kind".to_owned(), value: value.to_owned(), allowed });
    match (wire.kind, cache, version, &wire.build) {
        (WireKind::Contract, None, None, Some(_)) => Ok(Kind::Contract { load_factor: wire.load_factor }),
        (WireKind::Stock, Some(cache), Some(version), None) if !(wire.tls || wire.load_factor) => {
            Stock::new(cache, version).map(Kind::Stock)
        }
        (WireKind::Contract, ..) => {
            bad("contract", "with `[build]`, without `[cache]` and `toolchain.version`")
        }
        (WireKind::Stock, ..) => {
            bad("stock", "with `[cache]` and `toolchain.version`, without `[build]`, `tls` and `load_factor`")
        }
    }
}

/// Line and key of a place in a TOML text, to follow the file's name.
fn place(text: &str, span: Range<usize>) -> String {
    let before = &text[..span.start.min(text.len())];
    let number = before.matches('\n').count() + 1;
    let line = text.lines().nth(number - 1).unwrap_or_default();
    match line.split_once('=') {
        Some((key, _)) => format!(" line {number}, key `{}`", key.trim()),
        None => format!(" line {number}"),
    }
}

fn file_digest(path: &Path) -> io::Result<[u8; 32]> {
    let mut hash = Sha256::new();
    io::copy(&mut File::open(path)?, &mut hash)?;
    Ok(hash.finalize().into())
}

/// Whether Cargo sets this variable for the programs that it runs. Build scripts look at some of them, so a service would be
/// built anew whenever we are started now by Cargo and now by a shell.
fn is_of_cargo(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    ["CARGO_MANIFEST_", "CARGO_PKG_"].iter().any(|start| name.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GO: &str = r#"
name = "go"
language = "Go"
freeze = "safe"

[workloads]
pingpong = ["http1-json", "grpc"]
ping = ["http1-json"]

[toolchain]
probe = ["go", "version"]
remedy = "install Go from https://go.dev/dl"

[build]
command = ["go", "build", "-o", "bin/weigh-go", "."]

[start]
command = ["bin/weigh-go"]
"#;

    fn parse(text: &str) -> Result<Service, ServiceError> {
        Service::parse(Path::new("/s/go"), text)
    }

    fn complaint(text: &str) -> String {
        parse(text).expect_err("a wrong file").to_string()
    }

    #[test]
    fn a_whole_file_becomes_a_service() {
        let service = parse(GO).expect("a right file");
        assert_eq!((service.name(), service.language()), ("go", "Go"));
        assert_eq!(service.freezing(), Freezing::Safe);
        assert_eq!((service.period(), service.warmup()), (None, None));
        let slow = GO.replace("\"safe\"", "\"unsafe\"\nperiod = \"100 ms\"\nwarmup = \"4 s\"");
        let slow = parse(&slow).expect("a right file");
        assert_eq!(slow.freezing(), Freezing::Unsafe);
        assert_eq!(slow.period(), Some(Nanoseconds::from_millis(100)));
        assert_eq!(slow.warmup(), Some(Nanoseconds::from_secs(4)));
    }

    #[test]
    fn an_error_names_file_line_key_and_what_is_allowed() {
        let unknown = complaint(&GO.replace("language", "langauge"));
        assert!(unknown.starts_with("`/s/go/service.toml` line 3, key `langauge`: "), "{unknown}");
        assert!(unknown.contains("`language`"), "{unknown}");
        let kind = complaint(&GO.replace("\"safe\"", "true"));
        assert!(kind.contains("line 4, key `freeze`"), "{kind}");
        let value = complaint(&GO.replace("\"safe\"", "\"maybe\""));
        assert!(value.contains("`maybe`") && value.contains("`unsafe`"), "{value}");
        let missing = complaint(&GO.replace("remedy", "# remedy"));
        assert!(missing.contains("`remedy`"), "{missing}");
        let nested = complaint(&GO.replace("[start]", "[start]\nshell = true"));
        assert!(nested.contains("`shell`") && nested.contains("`command`"), "{nested}");
    }

    #[test]
    fn a_foreign_name_an_empty_command_and_a_bad_period_are_errors() {
        assert!(complaint(&GO.replace("\"go\"\nlang", "\"rust\"\nlang")).contains("the folder's name, `go`"));
        assert!(complaint(&GO.replace("[\"bin/weigh-go\"]", "[]")).contains("`start.command` is `[]`"));
        let period = GO.replace("\"safe\"", "\"safe\"\nperiod = \"soon\"");
        assert!(complaint(&period).contains("`period` is `soon`"));
    }

    #[test]
    fn lists_of_the_old_form_are_answered_by_what_replaces_them() {
        let old = GO.replace("freeze", "workloads = [\"pingpong\"]\nprotocols = [\"grpc\"]\nfreeze");
        let old =
            old.replace("[workloads]\npingpong = [\"http1-json\", \"grpc\"]\nping = [\"http1-json\"]\n", "");
        let half = GO.replace("freeze", "protocols = [\"grpc\"]\nfreeze");
        // Other mistakes do not hide it.
        let slip = old.replace("language", "langauge");
        for (text, key) in [(&old, "workloads"), (&half, "protocols"), (&slip, "workloads")] {
            let message = complaint(text);
            assert!(message.contains(&format!("line 4, key `{key}`: ")), "{message}");
            assert!(message.contains("write a table `[workloads]`"), "{message}");
        }
    }

    #[test]
    fn each_workload_has_protocols() {
        let with = |table: &str| {
            GO.replace("pingpong = [\"http1-json\", \"grpc\"]\nping = [\"http1-json\"]\n", table)
        };
        for (table, message) in [
            ("", "`workloads` is ``, allowed is a table with at least one workload"),
            ("ping = []", "`workloads.ping` is `[]`, allowed is a list with at least one protocol"),
            ("ping = 'grpc'", "`workloads.ping` is `\"grpc\"`, allowed is a list"),
            ("ping = [1]", "`workloads.ping` is `[1]`, allowed is a list"),
        ] {
            let came = complaint(&with(table));
            assert!(came.contains(message), "{came}");
        }
    }

    #[test]
    fn what_is_not_offered_is_listed() {
        let service = parse(GO).expect("a right file");
        service.offers("pingpong", "http1-json").expect("it offers that");
        let complaint =
            |workload, protocol| service.offers(workload, protocol).expect_err("none").to_string();
        assert_eq!(
            complaint("ping", "grpc"),
            "service `go` has no protocol `grpc` for the workload `ping`; it has `http1-json`"
        );
        assert_eq!(
            complaint("person", "grpc"),
            "service `go` has no workload `person`; it has `pingpong`, `ping`"
        );
        let error = service.first_over("direct").expect_err("no direct").to_string();
        assert_eq!(error, "service `go` has no protocol `direct`; it has `http1-json`, `grpc`");
        let error = service.offers_tls().expect_err("no TLS").to_string();
        assert!(error.starts_with("service `go` does not offer TLS; "), "{error}");
        let safe = parse(&GO.replace("freeze", "tls = true\nfreeze")).expect("a right file");
        safe.offers_tls().expect("it offers that");
    }

    #[test]
    fn offers_keep_the_order_of_the_file() {
        let service = parse(&GO.replace("ping = [\"http1-json\"]", "another = [\"http2-json\"]"));
        let service = service.expect("a right file");
        assert_eq!(service.protocols(), ["http1-json", "grpc", "http2-json"]);
        assert_eq!(service.workloads()[0].name, "pingpong");
        assert_eq!(service.first_over("http2-json").expect("one offers that").name, "another");
    }

    #[test]
    fn a_client_calls_over_what_is_listed_and_over_http1_json_otherwise() {
        let text = GO.replace("[toolchain]", "[clients]\nperson = [\"grpc\", \"grpc-avro\"]\n\n[toolchain]");
        let service = parse(&text).expect("a right file");
        service.calls("person", "grpc-avro").expect("it is listed");
        service.calls("pingpong", "http1-json").expect("as every client");
        let error = service.calls("person", "http1-json").expect_err("it is not listed").to_string();
        assert_eq!(
            error,
            "service `go` has no client that calls `person` over `http1-json`; it has `grpc`, `grpc-avro`"
        );
        let error = parse(&text.replace("[\"grpc\", \"grpc-avro\"]", "[]")).expect_err("none").to_string();
        assert!(error.contains("`clients.person` is `[]`, allowed is a list"), "{error}");
    }

    #[test]
    fn paths_count_from_the_folder_and_names_are_sought_on_the_path() {
        let service = parse(GO).expect("a right file");
        assert_eq!(service.resolve(&service.start), ["/s/go/bin/weigh-go"]);
        assert_eq!(service.resolve(&service.probe), ["go", "version"]);
    }

    #[test]
    fn a_launch_shields_the_service_from_the_users_shell() {
        let launch =
            parse(GO).expect("a right file").launch("pingpong", "http1-json", Path::new("o"), Path::new("e"));
        let value = |key: &str| {
            launch.environment.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
        };
        assert_eq!(value("HOST"), Some("127.0.0.1"));
        assert_eq!([value("TLS_KEY"), value("DATA"), value("STATE")], [Some(""); 3]);
        assert_eq!(value("PROTOCOL"), Some("http1-json"));
        assert_eq!(launch.ready, Ready::Line);
    }

    #[test]
    fn the_hash_is_that_of_the_file_that_is_executed() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("go");
        fs::create_dir_all(root.join("bin")).expect("a folder");
        let service = Service::parse(&root, GO).expect("a right file");
        assert_eq!(service.binary_sha256(), None);
        fs::write(root.join("bin/weigh-go"), "abc").expect("a file");
        // The SHA-256 test vector of FIPS 180-2 for "abc".
        let vector = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(service.binary_sha256().as_deref(), Some(vector));
    }

    #[test]
    fn a_missing_toolchain_is_told_with_its_remedy() {
        let text = GO.replace("[\"go\", \"version\"]", "[\"wb-no-such-toolchain\"]");
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("go");
        fs::create_dir_all(&root).expect("a folder");
        let error =
            Service::parse(&root, &text).expect("a right file").probe().expect_err("no such toolchain");
        let message = error.to_string();
        assert!(message.starts_with("could not execute `wb-no-such-toolchain`"), "{message}");
        assert!(message.ends_with("; install Go from https://go.dev/dl"), "{message}");
    }

    #[test]
    fn a_failed_build_shows_its_last_lines_and_names_log_and_remedy() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("go");
        fs::create_dir_all(&root).expect("a folder");
        let text = GO
            .replace("[\"go\", \"version\"]", "[\"true\"]")
            .replace("[\"go\", \"build\"", "[\"sh\", \"-c\", \"echo one; echo two >&2; exit 7\"");
        let log = folder.path().join("build.log");
        let error =
            Service::parse(&root, &text).expect("a right file").build(&log, &|| false).expect_err("exit 7");
        let message = error.to_string();
        assert!(message.contains("exit status: 7") && message.contains(": one | two; "), "{message}");
        assert!(message.ends_with(", install Go from https://go.dev/dl"), "{message}");
        assert_eq!(fs::read_to_string(&log).expect("the log"), "one\ntwo\n");
    }

    #[test]
    fn a_build_does_not_see_that_cargo_started_us() {
        assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some(), "Cargo started this test");
        let folder = tempfile::tempdir().expect("a folder");
        let text = GO
            .replace("[\"go\", \"version\"]", "[\"true\"]")
            .replace("[\"go\", \"build\", \"-o\", \"bin/weigh-go\", \".\"]", "['sh', '-c', 'env > seen']");
        let root = folder.path().join("go");
        fs::create_dir_all(&root).expect("a folder");
        let service = Service::parse(&root, &text).expect("a right file");
        service.build(&folder.path().join("build.log"), &|| false).expect("a build");
        let seen = fs::read_to_string(root.join("seen")).expect("what it saw");
        assert!(seen.contains("PATH=") && !seen.contains("CARGO_MANIFEST_DIR"), "{seen}");
        assert!(!seen.contains("CARGO_PKG_NAME"), "{seen}");
    }

    #[test]
    fn a_build_is_run_in_the_services_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("go");
        fs::create_dir_all(&root).expect("a folder");
        let script =
            "mkdir -p bin && printf '#!/bin/sh\\necho Go 1 lib 2\\n' > bin/weigh-go && chmod +x bin/weigh-go";
        let text = GO.replace("[\"go\", \"version\"]", "[\"true\"]").replace(
            "[\"go\", \"build\", \"-o\", \"bin/weigh-go\", \".\"]",
            &format!("['sh', '-c', '''{script}''']"),
        );
        let service = Service::parse(&root, &text).expect("a right file");
        assert!(matches!(service.version(), Err(ServiceError::NoVersion { .. })) && !service.is_built());
        let built = service.build(&folder.path().join("build.log"), &|| false).expect("a build");
        assert_eq!(built.binary_sha256, service.binary_sha256());
        assert!(built.binary_sha256.is_some());
        assert_eq!(service.version().expect("built now"), "Go 1 lib 2");
        assert!(service.is_built());
        // An interpreter or a folder of classes that exists is not enough, nor is more needed.
        for (start, built) in
            [("'bin/python', 'bin/weigh-go'", false), ("'java', '-cp', 'bin', 'Pong'", true)]
        {
            let text = text
                .replace("[start]\ncommand = [\"bin/weigh-go\"]", &format!("[start]\ncommand = [{start}]"));
            assert_eq!(Service::parse(&root, &text).expect("a right file").is_built(), built, "{start}");
        }
    }
}
