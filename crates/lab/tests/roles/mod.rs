//! How tests launch a process.

use std::net::Ipv4Addr;
use std::path::Path;

use weighbridge_lab::process::launch::{Launch, Ready, Wrapping};
use weighbridge_model::quantity::Nanoseconds;

/// A command that says that it is ready by a line, on any core, its output in a folder.
pub fn role(folder: &Path, command: &[&str]) -> Launch {
    Launch {
        name: "role".to_owned(),
        command: command.iter().map(|word| (*word).to_owned()).collect(),
        environment: Vec::new(),
        folder: None,
        host: Ipv4Addr::LOCALHOST.into(),
        cores: None,
        stdout: folder.join("out.log"),
        stderr: folder.join("err.log"),
        ready: Ready::Line,
        ready_timeout: Nanoseconds::from_secs(60),
        wrapping: Wrapping::None,
    }
}
