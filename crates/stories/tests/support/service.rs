//! The reference services, built once and started directly, for stories that put load on them.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use serde::Deserialize;
use weighbridge_conductor::tls::Certificates;

/// The folder of all services.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../services").canonicalize().expect("there are services")
}

/// The parts of a `service.toml` needed here.
#[derive(Deserialize)]
struct Manifest {
    start: Step,
}

#[derive(Deserialize)]
struct Step {
    command: Vec<String>,
}

/// A running service. Dropping it stops it.
pub struct Service {
    child: Child,
    pub port: u16,
    /// The certificates that a client must trust, with TLS.
    pub certificates: Option<Certificates>,
}

/// Builds a service.
pub fn build(name: &str) {
    static BUILDING: Mutex<()> = Mutex::new(());
    let _turn = BUILDING.lock().unwrap_or_else(PoisonError::into_inner);
    let mut build = Command::new(super::WEIGH);
    // Cargo sets it for this test; it would override the toolchain that the service pins.
    build.args(["services", "build", name]).env("WEIGH_SERVICES", folder()).env_remove("RUSTUP_TOOLCHAIN");
    let output = build.output().expect("the built program starts");
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
}

fn manifest(name: &str) -> (PathBuf, Manifest) {
    let folder = folder().join(name);
    let text = std::fs::read_to_string(folder.join("service.toml")).expect("a service.toml");
    (folder, toml::from_str(&text).expect("a service.toml of the contract"))
}

impl Service {
    /// Starts a service that uses this protocol in plain text.
    pub fn start(name: &str, protocol: &str) -> Self {
        Self::start_with(name, protocol, None, &[])
    }

    /// Like [`Self::start`], with variables of the contract.
    pub fn start_set(name: &str, protocol: &str, settings: &[(&str, &str)]) -> Self {
        Self::start_with(name, protocol, None, settings)
    }

    /// Like [`Self::start`], with TLS.
    pub fn start_secured(name: &str, protocol: &str) -> Self {
        Self::start_with(name, protocol, Some(Certificates::make().expect("certificates")), &[])
    }

    fn start_with(
        name: &str,
        protocol: &str,
        certificates: Option<Certificates>,
        settings: &[(&str, &str)],
    ) -> Self {
        build(name);
        let (folder, manifest) = manifest(name);
        let words = &manifest.start.command;
        let mut command = Command::new(folder.join(&words[0]));
        command.args(&words[1..]).env("PORT", "0").env("PROTOCOL", protocol).env_remove("HOST");
        command.envs(settings.iter().copied());
        command.envs(certificates.iter().flat_map(Certificates::environment));
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("it starts");
        let mut line = String::new();
        let stdout = child.stdout.as_mut().expect("piped");
        BufReader::new(stdout).read_line(&mut line).expect("its first line");
        let port = line.trim().strip_prefix("ready ").and_then(|port| port.parse().ok());
        Self { child, port: port.unwrap_or_else(|| panic!("`ready <port>`, not `{line}`")), certificates }
    }

    /// The file of the authority that a client must trust.
    pub fn authority(&self) -> String {
        let certificates = self.certificates.as_ref().expect("it is secured");
        certificates.authority().to_str().expect("a plain path").to_owned()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
