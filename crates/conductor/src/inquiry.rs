//! Asks services for their version: each is started, asked with `GET /version`, and stopped.
//!
//! A run should record the version that a service reports while it serves. Only where that fails is its
//! program asked with `--version`, and the answer says so.

use std::net::SocketAddr;

use tempfile::TempDir;
use weighbridge_lab::cleanup::guardian::{Guardian, GuardianError};
use weighbridge_lab::cleanup::tracker::CleanupTrackerError;
use weighbridge_lab::process::GRACE;
use weighbridge_lab::process::launch::Lab;
use weighbridge_lab::service::Service;
use weighbridge_lab::service::catalog::{VersionAnswer, by_program};
use weighbridge_lab::service::state::StateFolder;
use weighbridge_load::Framing;
use weighbridge_load::Stack;
use weighbridge_load::exchange::{Limits, exchange};
use weighbridge_load::h2::Http2Settings;
use weighbridge_load::request::Request;
use weighbridge_model::experiment::Protocol;
use weighbridge_model::id::OperationId;
use weighbridge_model::quantity::{Bytes, Nanoseconds};

pub use weighbridge_lab::service::catalog::Asked;

use crate::options::Options;

/// Longest wait for the answer of a service that is ready.
const PATIENCE: Nanoseconds = Nanoseconds::from_secs(10);
const LONGEST: Bytes = Bytes::new(1 << 16);
/// The workload started where a service offers several: it needs no peer.
const WORKLOAD: &str = "pingpong";

#[derive(Debug, thiserror::Error)]
pub enum InquiryError {
    #[error(transparent)]
    Guardian(#[from] GuardianError),
    #[error(transparent)]
    CleanupTracker(#[from] CleanupTrackerError),
    #[error("could not make a folder for the output of services: {0}; free space or set `TMPDIR`")]
    Folder(#[from] std::io::Error),
}

/// Threads may share it, to ask several services at once.
#[derive(Debug)]
pub struct Inquiry {
    lab: Lab,
    logs: TempDir,
}

impl Inquiry {
    /// Starts a guardian first. Starts end early once `options.control` cancels them.
    pub fn open(options: &Options) -> Result<Self, InquiryError> {
        let (program, verb) = &options.guardian;
        let logs = tempfile::Builder::new().prefix("weigh-services-").tempdir()?;
        let lab =
            Lab::new(&format!("inquiry-{}", std::process::id()), Some(Guardian::start(program, verb)?), None);
        Ok(Self { lab: lab.cancelled_by(options.control.window.clone()), logs })
    }

    /// The version that a built service reports while it runs, or else that of its program, with the reason. A
    /// stock server knows nothing of `/version`.
    pub fn ask(&self, service: &Service) -> Result<VersionAnswer, String> {
        if service.is_stock() {
            return by_program(service);
        }
        let why = match self.ask_running(service) {
            Ok(version) => return Ok(VersionAnswer { version, asked: Asked::Running, reason: None }),
            Err(why) => format!("not asked while running: {why}"),
        };
        let answer = by_program(service).map_err(|error| format!("{why}; {error}"))?;
        Ok(VersionAnswer { reason: Some(why), ..answer })
    }

    fn ask_running(&self, service: &Service) -> Result<String, String> {
        let (workload, protocol, framing) = version_protocol(service)?;
        let log = self.logs.path().join(service.name());
        let mut launch = service.launch(workload, protocol.name(), &log, &log);
        let state = StateFolder::make(&self.lab, self.logs.path(), service.name());
        let state = state.map_err(|error| error.to_string())?;
        launch.environment.push(state.variable());
        let running = self.lab.launch(&launch).map_err(|error| error.to_string())?;
        let answer = get_version(running.port(), framing);
        running.stop(GRACE);
        answer
    }

    pub fn close(self) -> Result<(), InquiryError> {
        Ok(self.lab.close().map(drop)?)
    }
}

/// A protocol over which `/version` can be requested, and a workload that the service offers over it.
fn version_protocol(service: &Service) -> Result<(&str, Protocol, Framing), String> {
    let offered = [
        (Protocol::HTTP1_JSON, Framing::Http1),
        (Protocol::HTTP2_JSON, Framing::Http2(Http2Settings::default())),
    ];
    let mut version_protocol = offered.into_iter().filter_map(|(protocol, framing)| {
        let first = service.first_over(protocol.name()).ok()?;
        // The service's first workload may wait for a peer; this one does not.
        let usual = service.offers(WORKLOAD, protocol.name()).map(|()| WORKLOAD);
        Some((usual.unwrap_or(&first.name), protocol, framing))
    });
    version_protocol.next().ok_or_else(|| "it speaks neither `http1-json` nor `http2-json`".to_owned())
}

fn get_version(port: u16, framing: Framing) -> Result<String, String> {
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let request = Request {
        method: "GET".to_owned(),
        target: "/version".to_owned(),
        authority: address.to_string(),
        ..Request::default()
    };
    let rendered = framing.render(OperationId(0), &request).map_err(|error| error.to_string())?;
    let limits = Limits { timeout: PATIENCE, body: LONGEST, stop: None };
    let stack = Stack { framing, tls: None };
    let reply = exchange(&[address], stack, &rendered, limits).map_err(|error| error.to_string())?;
    version_of(reply.status, &reply.body)
}

/// The body of a successful reply, if it is one line.
fn version_of(status: u16, body: &[u8]) -> Result<String, String> {
    if status != 200 {
        return Err(format!("`GET /version` has status {status}"));
    }
    let line = String::from_utf8_lossy(body).trim().to_owned();
    if line.is_empty() || line.lines().count() > 1 {
        return Err("`GET /version` answers something else than one line".to_owned());
    }
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_one_line_of_a_good_reply() {
        assert_eq!(version_of(200, b"Go 1.26 net/http\n"), Ok("Go 1.26 net/http".to_owned()));
        for (status, body) in [(404, &b"Go 1"[..]), (200, b""), (200, b" \n"), (200, b"Go 1\nand more")] {
            let error = version_of(status, body).expect_err("no version");
            assert!(error.starts_with("`GET /version` "), "{error}");
        }
    }
}
