//! Why a role could not be started, with the next step for the user.

use std::io;
use std::path::PathBuf;

use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::record::MemoryFacts;

use crate::cleanup::tracker::CleanupTrackerError;
use crate::host::procfs::Pid;
use crate::process::Exit;
use crate::process::logs::excerpt;
use crate::process::memory::NoLimit;
use crate::process::quota::NoQuota;

/// Why a role could not be started. Nothing of it runs.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    #[error("`{name}` has an empty command; give a program to start")]
    NoCommand {
        /// The role.
        name: String,
    },
    #[error("`{name}` should start in `{}`, which is not a folder", folder.display())]
    NoFolder {
        /// The role.
        name: String,
        folder: PathBuf,
    },
    #[error("could not write the log `{}` of `{name}`: {source}; free space or check the folder", path.display())]
    Log {
        /// The role.
        name: String,
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    #[error("could not execute `{program}` for `{name}`: {source}; build it or correct the command")]
    NotExecutable {
        /// The role.
        name: String,
        program: String,
        /// The system's reason.
        source: io::Error,
    },
    #[error("`{name}` could not {step}: {source}")]
    Setup {
        /// The role.
        name: String,
        /// What could not be done.
        step: String,
        /// The system's reason.
        source: io::Error,
    },
    #[error("`{name}`: {source}")]
    NoQuota {
        /// The role.
        name: String,
        /// Why CPU time cannot be limited.
        source: NoQuota,
    },
    #[error("`{name}`: {source}")]
    NoLimit {
        /// The role.
        name: String,
        /// Why memory cannot be limited.
        source: NoLimit,
    },
    #[error("`{name}` was killed for want of memory before it was ready{}; give `memory` more{}", at_limit(.facts), excerpt(.output))]
    OutOfMemory {
        /// The role.
        name: String,
        /// Its limit.
        facts: MemoryFacts,
        /// Its last lines.
        output: Vec<String>,
    },
    #[error(transparent)]
    Tracker(#[from] CleanupTrackerError),
    /// Its port is in use: found before the start, or reported by exit code 3.
    #[error("the port of `{name}`{} is in use{}; stop what holds it or choose another{}", named(.port), held(.holder), excerpt(.output))]
    PortInUse {
        /// The role.
        name: String,
        /// The port, if known.
        port: Option<u16>,
        /// The process that has it, if visible.
        holder: Option<Pid>,
        /// The role's last lines.
        output: Vec<String>,
    },
    /// It reports by exit code 2 that its configuration is invalid.
    #[error("`{name}` refused its configuration (exit code 2); check protocol, workload and environment{}", excerpt(.output))]
    BadConfiguration {
        /// The role.
        name: String,
        /// Its last lines.
        output: Vec<String>,
    },
    #[error("`{name}` ended with {exit} before it was ready; it must stay in the foreground{}", excerpt(.output))]
    Exited {
        /// The role.
        name: String,
        /// How it ended.
        exit: Exit,
        /// Its last lines.
        output: Vec<String>,
    },
    #[error("`{name}` was not ready within {waited}: {wanted}{}", excerpt(.output))]
    NeverReady {
        /// The role.
        name: String,
        /// How long we waited.
        waited: Nanoseconds,
        /// What was awaited.
        wanted: String,
        /// Its last lines.
        output: Vec<String>,
    },
    #[error("the start of `{name}` was called off")]
    Cancelled {
        /// The role.
        name: String,
    },
    #[error("`{name}` said `{line}`; with `DIRECT=1` it must say `ready direct`")]
    NotDirect {
        /// The role.
        name: String,
        line: String,
    },
    #[error("`{name}` said `{line}`; it must say {wanted} with a port from 1 to 65535")]
    BadReadyLine {
        /// The role.
        name: String,
        line: String,
        /// What it should have printed.
        wanted: String,
    },
}

fn named(port: &Option<u16>) -> String {
    port.map(|port| format!(" ({port})")).unwrap_or_default()
}

/// A limit of memory and the peak, as text to append.
fn at_limit(facts: &MemoryFacts) -> String {
    let peak = facts.peak.map(|peak| format!(", of which it held {peak}")).unwrap_or_default();
    format!(": its limit is {}{peak}", facts.limit)
}

fn held(holder: &Option<Pid>) -> String {
    holder.map(|pid| format!(" by process {pid}")).unwrap_or_default()
}

impl LaunchError {
    /// The role's own texts in the error, for sanitising before they are shown.
    pub fn foreign_mut(&mut self) -> &mut [String] {
        match self {
            Self::PortInUse { output, .. }
            | Self::BadConfiguration { output, .. }
            | Self::OutOfMemory { output, .. }
            | Self::Exited { output, .. }
            | Self::NeverReady { output, .. } => output,
            Self::BadReadyLine { line, .. } => std::slice::from_mut(line),
            _ => &mut [],
        }
    }

    /// The last lines that the role wrote, oldest first, at most 20.
    pub fn output(&self) -> &[String] {
        match self {
            Self::PortInUse { output, .. }
            | Self::BadConfiguration { output, .. }
            | Self::OutOfMemory { output, .. }
            | Self::Exited { output, .. }
            | Self::NeverReady { output, .. } => output,
            _ => &[],
        }
    }
}
