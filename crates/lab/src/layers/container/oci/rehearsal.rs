//! A rehearsal: a container that does nothing, run once per program by each runtime and engine in use. It
//! shows whatever this host denies them (mounts, groups, filters of system calls) before anything is
//! measured.

use std::fs;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::OnceLock;

use weighbridge_model::quantity::Nanoseconds;

use super::{Container, ContainerError, Engine, EngineSettings, Runtime, Settings};
use crate::host::procfs::Pid;
use crate::layers::rehearsal::Rehearsal;
use crate::net::tools::AS_ROOT;
use crate::process::Wrapping;
use crate::process::launch::{Launch, Ready};
use crate::unavailable::Unavailable;

/// It is ready within a second; a loaded machine gets much more.
const PATIENCE: Nanoseconds = Nanoseconds::from_secs(30);
/// Prints what a service would, and waits to be stopped.
const PROGRAM: &str = "echo ready 1; exec sleep 1000";

/// Whether a container starts here by this runtime, optionally through an engine without a daemon.
pub(super) fn rehearse(runtime: Runtime, engine: Option<Engine>) -> Result<(), Unavailable> {
    static TRIED: [OnceLock<Result<(), Unavailable>>; 4] = [const { OnceLock::new() }; 4];
    let by_runtime = usize::from(runtime == Runtime::Crun);
    let tried = &TRIED[2 * usize::from(engine.is_some()) + by_runtime];
    let by = engine.map_or(runtime.name(), Engine::name);
    let refused = |why: String| Unavailable {
        reason: format!("a container by {by} does not come up here: {why}"),
        remedy: AS_ROOT.to_owned(),
    };
    tried.get_or_init(|| run(runtime, engine).map_err(refused)).clone()
}

fn run(runtime: Runtime, engine: Option<Engine>) -> Result<(), String> {
    let words = |error: &dyn std::fmt::Display| error.to_string();
    let rehearsal = Rehearsal::begin().map_err(|error| words(&error))?;
    let (lab, folder) = (&rehearsal.lab, rehearsal.folder());
    let own = folder.join("service");
    fs::create_dir(&own).map_err(|error| words(&error))?;
    let mut launch = Launch {
        name: "probe".to_owned(),
        command: ["sh", "-c", PROGRAM].map(str::to_owned).to_vec(),
        environment: Vec::new(),
        folder: Some(own),
        host: Ipv4Addr::LOCALHOST.into(),
        cores: None,
        stdout: folder.join("out.log"),
        stderr: folder.join("err.log"),
        ready: Ready::Line,
        ready_timeout: PATIENCE,
        wrapping: Wrapping::None,
    };
    let settings = Settings { runtime, read_only: true, filtered: true };
    let (id, bundle) = (format!("{}-container", lab.prefix()), folder.join("container"));
    let container = match engine {
        None => Container::around(lab, id, bundle, settings, &mut launch),
        Some(engine) => {
            let here = PathBuf::from(format!("/proc/{}/ns/net", Pid::own()));
            let no_daemon =
                |_| Err(Unavailable { reason: "it has a daemon".to_owned(), remedy: String::new() }.into());
            let by = EngineSettings { engine, settings, network: &here, published: None };
            Container::by_engine::<ContainerError>(lab, id, bundle, by, &mut launch, no_daemon)
        }
    };
    let _container = container.map_err(|error| words(&error))?;
    // Dropping it kills it.
    lab.launch(&launch).map(drop).map_err(|error| words(&error))
}
