//! What making networks needs: capabilities, and the programs `ip` and `tc` of iproute2.
//!
//! Programs instead of netlink make the commands readable and repeatable by hand. Each runs on the calling
//! thread, and so in its namespace; nothing here chooses one.

use crate::unavailable::Unavailable;
use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// How a process gets what networks need. Engines also forbid containers to mount and make `/proc/sys`
/// read-only, which no capability changes.
pub const AS_ROOT: &str = "run as root (`sudo -E weigh …`); in a container of Docker or Podman give it `--privileged`, or \
    `--cap-add=SYS_ADMIN --cap-add=NET_ADMIN --cap-add=NET_RAW --security-opt apparmor=unconfined` and a `/proc/sys` that can be \
    written (`--security-opt systempaths=unconfined`, of Podman `--security-opt unmask=ALL`)";

/// A Linux capability that layers need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Capability {
    /// Links, addresses, queues.
    NetAdmin,
    /// Sockets of raw packets.
    NetRaw,
    /// Namespaces and mounts.
    SysAdmin,
}

impl Capability {
    /// Its name as in capabilities(7).
    pub const fn name(self) -> &'static str {
        match self {
            Self::NetAdmin => "CAP_NET_ADMIN",
            Self::NetRaw => "CAP_NET_RAW",
            Self::SysAdmin => "CAP_SYS_ADMIN",
        }
    }

    const fn bit(self) -> u32 {
        match self {
            Self::NetAdmin => 12,
            Self::NetRaw => 13,
            Self::SysAdmin => 21,
        }
    }
}

/// The capabilities of `wanted` that this process lacks.
pub fn missing(wanted: &[Capability]) -> Vec<Capability> {
    let status = fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let has = effective(&status);
    wanted.iter().copied().filter(|capability| has & (1 << capability.bit()) == 0).collect()
}

/// The effective capabilities in the text of `/proc/<pid>/status`; 0 if it has no such line.
fn effective(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    line.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or(0)
}

/// Whether this process has these capabilities.
pub fn need(wanted: &[Capability]) -> Result<(), Unavailable> {
    let missing: Vec<&str> = missing(wanted).into_iter().map(Capability::name).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(Unavailable::new(format!("this process lacks {}", missing.join(" and ")), AS_ROOT))
}

/// A program of iproute2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// Links, addresses, routes.
    Ip,
    /// Queues.
    Tc,
    /// Forwarding of bridges and VXLANs.
    Bridge,
}

impl Tool {
    /// Its file name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ip => "ip",
            Self::Tc => "tc",
            Self::Bridge => "bridge",
        }
    }

    /// The program, in `PATH` or where systems install programs for administrators.
    pub fn find(self) -> Result<PathBuf, Unavailable> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::env::split_paths(&path).chain(["/usr/sbin", "/sbin"].map(PathBuf::from));
        let mut files = folders.map(|folder| folder.join(self.name()));
        files.find(|file| file.is_file()).ok_or_else(|| {
            Unavailable::new(
                format!("the program `{}` of iproute2 is not there", self.name()),
                "install iproute2 (`apt install iproute2`, `dnf install iproute iproute-tc`)",
            )
        })
    }

    /// The version line that it prints: `ip utility, iproute2-6.1.0, libbpf 1.1.2`; `None` if it is missing.
    pub fn version(self) -> Option<String> {
        let output = Command::new(self.find().ok()?).arg("-V").process_group(0).output().ok()?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned()).filter(|text| !text.is_empty())
    }
}

/// Why a command of a program failed.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    #[error(transparent)]
    Missing(#[from] Unavailable),
    #[error("could not execute `{program}`: {source}; check that it may be executed")]
    Execute {
        program: String,
        /// The system's reason.
        source: io::Error,
    },
    #[error("`{command}` was refused: {said}")]
    Refused {
        /// The command, or all of several.
        command: String,
        /// The program's output.
        said: String,
    },
}

/// Commands for one program, executed together and in order, up to the first that fails.
#[derive(Debug, Clone)]
pub struct Batch {
    tool: Tool,
    lines: Vec<String>,
}

impl Batch {
    /// An empty batch.
    pub const fn new(tool: Tool) -> Self {
        Self { tool, lines: Vec::new() }
    }

    /// Adds a command, without the program's name.
    #[must_use]
    pub fn with(mut self, line: impl fmt::Display) -> Self {
        self.lines.push(line.to_string());
        self
    }

    /// Executes the commands in the namespace of the calling thread.
    pub fn run(&self) -> Result<(), ToolError> {
        let program = self.tool.find()?;
        let output = feed(&program, &self.lines)
            .map_err(|source| ToolError::Execute { program: program.display().to_string(), source })?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let failed = failed_line(&said).and_then(|number| self.lines.get(number.checked_sub(1)?));
        let command = failed.map_or_else(|| self.lines.join("; "), String::clone);
        let said: Vec<&str> = said.lines().filter(|line| !line.starts_with("Command failed")).collect();
        Err(ToolError::Refused { command: format!("{} {command}", self.tool.name()), said: said.join(", ") })
    }
}

fn feed(program: &Path, lines: &[String]) -> io::Result<std::process::Output> {
    let mut command = Command::new(program);
    // Its messages are quoted, so they must be in one language. Signals from the terminal must not end or
    // stop it half way.
    command.args(["-batch", "-"]).env("LC_ALL", "C").process_group(0);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
    if let Some(mut input) = child.stdin.take() {
        // The input fits into a pipe; a program that has ended reports its reason itself.
        let _ = input.write_all((lines.join("\n") + "\n").as_bytes());
    }
    child.wait_with_output()
}

/// The number, from 1, of the command that failed: `Command failed -:3`.
fn failed_line(said: &str) -> Option<usize> {
    said.lines()
        .find_map(|line| line.strip_prefix("Command failed ")?.rsplit(':').next()?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_are_read_from_their_bits() {
        let status = "Name:\tweigh\nCapPrm:\t0000000000000000\nCapEff:\t0000000000201000\n";
        assert_eq!(effective(status), (1 << 12) | (1 << 21));
        assert_eq!(effective("Name:\tweigh\n"), 0);
    }

    #[test]
    fn the_command_that_failed_is_named() {
        assert_eq!(failed_line("RTNETLINK answers: File exists\nCommand failed -:2\n"), Some(2));
        assert_eq!(failed_line("Cannot find device\n"), None);
        let batch = Batch::new(Tool::Ip).with("link show lo").with("link show wb-none");
        let error = batch.run().expect_err("no such device").to_string();
        assert!(error.contains("`ip link show wb-none`") && error.contains("wb-none"), "{error}");
    }
}
