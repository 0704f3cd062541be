//! Why a service cannot be used.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

use crate::host::ask::AskError;

#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    #[error("could not read `{}`; check that it is there and may be read", path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("`{}`{place}: {message}", path.display())]
    Invalid {
        path: PathBuf,
        /// Line and key, where they are known, to follow the file.
        place: String,
        /// What is wrong, and what is allowed.
        message: String,
    },
    #[error("`{}`: `{key}` is `{value}`, allowed is {allowed}", path.display())]
    BadValue { path: PathBuf, key: String, value: String, allowed: String },
    #[error("{reason}; {remedy}")]
    Unavailable { reason: AskError, remedy: String },
    #[error("service `{service}` has no workload `{workload}`; it has {}", listed(.offered))]
    NoWorkload { service: String, workload: String, offered: Vec<String> },
    #[error(
        "service `{service}` has no protocol `{protocol}` for the workload `{workload}`; it has {}",
        listed(.offered)
    )]
    NoProtocol {
        service: String,
        workload: String,
        protocol: String,
        /// The protocols over which it offers the workload.
        offered: Vec<String>,
    },
    #[error(
        "service `{service}` has no client that calls `{workload}` over `{protocol}`; it has {}",
        listed(.offered)
    )]
    NoClient { service: String, workload: String, protocol: String, offered: Vec<String> },
    #[error("service `{service}` has no protocol `{protocol}`; it has {}", listed(.offered))]
    NotSpoken { service: String, protocol: String, offered: Vec<String> },
    #[error("service `{service}` does not offer TLS; take `tls` away from its variant, or another service")]
    NoTls { service: String },
    #[error("service `{service}` cannot have `cache.{setting}`: {why}")]
    NoCacheSetting { service: String, setting: String, why: String },
    #[error("`cache` has no use for service `{service}` but with the workload `cache`; leave it out")]
    NoCache { service: String },
    #[error(
        "the probe of `{service}` printed `{printed}`, in which its `toolchain.version` finds no version"
    )]
    NoVersionFound { service: String, printed: String },
    #[error("could not run `{command}` to build `{service}` with the log `{}`: {source}", log.display())]
    BuildNotRun { service: String, command: String, log: PathBuf, source: io::Error },
    #[error(
        "building `{service}` ended with {status}; see `{}`: {}; if its toolchain is the cause, {remedy}",
        log.display(),
        output.join(" | ")
    )]
    BuildFailed {
        service: String,
        status: ExitStatus,
        log: PathBuf,
        /// The last lines.
        output: Vec<String>,
        /// What to do about a toolchain that exists but does not work.
        remedy: String,
    },
    #[error("building `{service}` was called off")]
    BuildCancelled { service: String },
    #[error(
        "service `{service}` does not tell its version: {source}; build it with `weigh services build {service}`"
    )]
    NoVersion { service: String, source: AskError },
}

fn listed(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
