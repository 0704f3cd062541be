//! One switch of Open vSwitch: its database and its daemon in one of our networks, with their own folder, and
//! the programs that configure the switch and read its counters.
//!
//! The datapath is the one in user space (`datapath_type=netdev`), which needs only packet sockets and TUN
//! devices from the kernel. The host's own switch, if it has one, is never contacted: every program is
//! pointed to our folder. The caller decides which bridges and ports there are.

use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use weighbridge_model::quantity::Nanoseconds;

use crate::host::cores::CoreId;
use crate::process::launch::{Asking, Lab, Launch, LaunchError, Ready};
use crate::process::{Running, Wrapping};
use crate::unavailable::Unavailable;

/// Where packages install the schema of the database.
const SCHEMAS: [&str; 2] =
    ["/usr/share/openvswitch/vswitch.ovsschema", "/usr/local/share/openvswitch/vswitch.ovsschema"];
const REMEDY: &str =
    "install it (`apt-get install openvswitch-switch`, `dnf install openvswitch`); its service need not run";
/// The daemons are ready within a second; a loaded machine gets much more.
const READY_TIMEOUT: Nanoseconds = Nanoseconds::from_secs(60);
/// How long the tools wait for a daemon. It usually answers within milliseconds, but may be stuck.
const PATIENCE: &str = "--timeout=30";
/// Seconds that a command waits until the daemon has carried it out.
const COMMAND_PATIENCE: u32 = 60;
/// How long to wait for a version.
const VERSION_PATIENCE: Duration = Duration::from_secs(10);

const DATABASE: &str = "conf.db";
const DATABASE_SOCKET: &str = "db.sock";
const SWITCH_SOCKET: &str = "switch.ctl";

/// Why a switch could not be made or asked.
#[derive(Debug, thiserror::Error)]
pub enum OvsError {
    #[error(transparent)]
    Missing(#[from] Unavailable),
    #[error("could not make the folder `{}` of Open vSwitch: {source}; free space or check the folder above", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    #[error(transparent)]
    Launch(#[from] LaunchError),
    #[error("`{command}` failed: {said}; the daemons' logs are in `{}`", folder.display())]
    Command {
        /// Program and arguments.
        command: String,
        said: String,
        /// The switch's folder.
        folder: PathBuf,
    },
}

/// What passed a port, by the switch's own counters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PortCounts {
    /// Packets that came in by it.
    pub received: u64,
    pub received_bytes: u64,
    /// Packets that went out by it.
    pub sent: u64,
    pub sent_bytes: u64,
}

impl PortCounts {
    /// What passed since `before`.
    #[must_use]
    pub const fn since(self, before: Self) -> Self {
        Self {
            received: self.received.saturating_sub(before.received),
            received_bytes: self.received_bytes.saturating_sub(before.received_bytes),
            sent: self.sent.saturating_sub(before.sent),
            sent_bytes: self.sent_bytes.saturating_sub(before.sent_bytes),
        }
    }
}

/// Open vSwitch's programs, and the schema of its database.
#[derive(Debug, Clone)]
struct Programs {
    database: PathBuf,
    database_tool: PathBuf,
    switch: PathBuf,
    schema: PathBuf,
}

impl Programs {
    fn find() -> Result<Self, Unavailable> {
        let schema = SCHEMAS.map(PathBuf::from).into_iter().find(|path| path.is_file());
        let schema = schema.ok_or_else(|| {
            Unavailable::new(format!("`{}` of Open vSwitch is not there", SCHEMAS[0]), REMEDY)
        })?;
        for program in ["ovs-vsctl", "ovs-appctl", "ovs-ofctl"] {
            find(program)?;
        }
        Ok(Self {
            database: find("ovsdb-server")?,
            database_tool: find("ovsdb-tool")?,
            switch: find("ovs-vswitchd")?,
            schema,
        })
    }
}

/// One of its programs: searched in `PATH`, then where systems install programs for administrators.
fn find(name: &str) -> Result<PathBuf, Unavailable> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from));
    let mut files = folders.map(|folder| folder.join(name));
    files.find(|file| file.is_file()).ok_or_else(|| {
        Unavailable::new(format!("the program `{name}` of Open vSwitch is not installed"), REMEDY)
    })
}

/// The version that the daemon reports: `3.1.0`.
pub fn version() -> Result<String, Unavailable> {
    let switch = Programs::find()?.switch;
    let command = [switch.display().to_string(), "--version".to_owned()];
    let said = crate::host::ask::ask(&command, None, VERSION_PATIENCE).map_err(|error| error.to_string());
    let version = said.as_deref().ok().and_then(|said| said.lines().next()?.rsplit(' ').next());
    version
        .map(str::to_owned)
        .ok_or_else(|| Unavailable::new(format!("`{} --version` says no version", switch.display()), REMEDY))
}

/// A switch, by the location of its files.
#[derive(Debug, Clone)]
pub struct Switch {
    folder: PathBuf,
}

/// The two daemons of a switch, the database's first.
pub type Daemons = [Running; 2];

impl Switch {
    /// Starts a switch without bridges in the network of the calling thread, on `cores`, with its files in
    /// `folder`. Messages name its daemons after `name`.
    ///
    /// Errors: [`OvsError`]; nothing runs then.
    pub fn start(
        lab: &Lab,
        folder: PathBuf,
        name: &str,
        cores: Option<&[CoreId]>,
    ) -> Result<(Self, Daemons), OvsError> {
        let programs = Programs::find()?;
        // Both daemons need absolute paths, and an earlier trial's files must not be reused.
        let folder = std::path::absolute(&folder).unwrap_or(folder);
        let failed = |source| OvsError::Folder { path: folder.clone(), source };
        match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        fs::create_dir_all(&folder).map_err(failed)?;
        let switch = Self { folder };
        let schema = programs.schema.display().to_string();
        switch.run_program(&programs.database_tool, &["create", DATABASE, &schema])?;
        let start = |what: &str, program: &Path, arguments: &[String], ready: Asking| {
            let command = std::iter::once(program.display().to_string()).chain(arguments.iter().cloned());
            lab.launch(&switch.launch(&format!("{name}'s {what}"), what, command.collect(), ready, cores))
        };
        let database = switch.database_arguments();
        let database = start("database", &programs.database, &database, switch.answers_database())?;
        let daemon = switch.daemon_arguments();
        let daemon = start("daemon", &programs.switch, &daemon, switch.answers_daemon())?;
        Ok((switch, [database, daemon]))
    }

    fn launch(
        &self,
        name: &str,
        file: &str,
        command: Vec<String>,
        ready: Asking,
        cores: Option<&[CoreId]>,
    ) -> Launch {
        Launch {
            name: name.to_owned(),
            command,
            environment: self.environment().map(|(key, value)| (key.to_owned(), value)).to_vec(),
            folder: Some(self.folder.clone()),
            host: std::net::Ipv4Addr::LOCALHOST.into(),
            cores: cores.map(<[CoreId]>::to_vec),
            stdout: self.folder.join(format!("{file}-out.log")),
            stderr: self.folder.join(format!("{file}-err.log")),
            ready: Ready::Asked(ready),
            ready_timeout: READY_TIMEOUT,
            wrapping: Wrapping::None,
        }
    }

    /// Variables that replace each folder of the system's own switch by ours.
    fn environment(&self) -> [(&'static str, String); 4] {
        let folder = || self.folder.display().to_string();
        ["OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR", "OVS_SYSCONFDIR"].map(|name| (name, folder()))
    }

    fn socket(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    fn database_arguments(&self) -> [String; 6] {
        [
            self.socket(DATABASE),
            format!("--remote=punix:{}", self.socket(DATABASE_SOCKET)),
            format!("--unixctl={}", self.socket("database.ctl")),
            "--no-chdir".to_owned(),
            "-vconsole:warn".to_owned(),
            "-vsyslog:off".to_owned(),
        ]
    }

    fn daemon_arguments(&self) -> [String; 5] {
        [
            format!("unix:{}", self.socket(DATABASE_SOCKET)),
            format!("--unixctl={}", self.socket(SWITCH_SOCKET)),
            "--no-chdir".to_owned(),
            "-vconsole:warn".to_owned(),
            "-vsyslog:off".to_owned(),
        ]
    }

    fn answers_database(&self) -> Asking {
        let switch = self.clone();
        Asking::new("`ovs-vsctl init`".to_owned(), move |_| {
            switch.run("ovs-vsctl", &switch.to_database(1, &["--no-wait", "init"])).map_err(said)
        })
    }

    fn answers_daemon(&self) -> Asking {
        let switch = self.clone();
        Asking::new("`ovs-appctl version`".to_owned(), move |_| {
            switch.run("ovs-appctl", &switch.to_daemon(&["version"])).map_err(said)
        })
    }

    fn to_database(&self, seconds: u32, arguments: &[&str]) -> Vec<String> {
        let own = [format!("--db=unix:{}", self.socket(DATABASE_SOCKET)), format!("--timeout={seconds}")];
        own.into_iter().chain(arguments.iter().map(|word| (*word).to_owned())).collect()
    }

    fn to_daemon(&self, arguments: &[&str]) -> Vec<String> {
        let own = ["-t".to_owned(), self.socket(SWITCH_SOCKET), PATIENCE.to_owned()];
        own.into_iter().chain(arguments.iter().map(|word| (*word).to_owned())).collect()
    }

    /// Changes the switch by commands of `ovs-vsctl`, and waits until the daemon has applied them.
    pub fn configure(&self, commands: &str) -> Result<(), OvsError> {
        let words: Vec<&str> = commands.split_ascii_whitespace().collect();
        self.run("ovs-vsctl", &self.to_database(COMMAND_PATIENCE, &words))
    }

    /// Sends the daemon a command, as `ovs-appctl` does.
    pub fn tell(&self, words: &[&str]) -> Result<(), OvsError> {
        self.run("ovs-appctl", &self.to_daemon(words))
    }

    /// What has passed a port of a bridge. The daemon adds up its flows' counters about once a second, and
    /// must not be frozen.
    pub fn counts(&self, bridge: &str, port: &str) -> Result<PortCounts, OvsError> {
        let words = [PATIENCE, "dump-ports", bridge, port].map(str::to_owned);
        let said = self.asked(&find("ovs-ofctl")?, &words)?;
        parse_port_counts(&said).ok_or_else(|| OvsError::Command {
            command: format!("ovs-ofctl {}", words.join(" ")),
            said: format!("`{}` has no such numbers", said.trim()),
            folder: self.folder.clone(),
        })
    }

    fn run(&self, program: &str, arguments: &[String]) -> Result<(), OvsError> {
        self.asked(&find(program)?, arguments).map(drop)
    }

    fn run_program(&self, program: &Path, arguments: &[&str]) -> Result<(), OvsError> {
        let arguments: Vec<String> = arguments.iter().map(|word| (*word).to_owned()).collect();
        self.asked(program, &arguments).map(drop)
    }

    /// Runs one of its programs and returns its output.
    fn asked(&self, program: &Path, arguments: &[String]) -> Result<String, OvsError> {
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        let failed = |said: String| OvsError::Command {
            command: format!("{name} {}", arguments.join(" ")),
            said,
            folder: self.folder.clone(),
        };
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&self.folder).envs(self.environment()).env("LC_ALL", "C");
        // Signals from the terminal must not end or stop it half way.
        command.process_group(0);
        let output = command.output().map_err(|error| failed(error.to_string()))?;
        if !output.status.success() {
            return Err(failed(String::from_utf8_lossy(&output.stderr).trim().replace('\n', ", ")));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

fn said(error: OvsError) -> String {
    match error {
        OvsError::Command { said, .. } => said,
        other => other.to_string(),
    }
}

/// Parses the one port's counters in an answer of `ovs-ofctl dump-ports`.
pub fn parse_port_counts(text: &str) -> Option<PortCounts> {
    let number = |text: &str| -> Option<u64> {
        let digits = text.find(|c: char| !c.is_ascii_digit()).map_or(text, |end| &text[..end]);
        digits.parse().ok()
    };
    let after = |what: &str| {
        let rest = text.split_once(what)?.1;
        Some((number(rest)?, number(rest.split_once(", bytes=")?.1)?))
    };
    let ((received, received_bytes), (sent, sent_bytes)) = (after("rx pkts=")?, after("tx pkts=")?);
    Some(PortCounts { received, received_bytes, sent, sent_bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_of_a_port_are_read_from_what_ofctl_prints() {
        let text = "OFPST_PORT reply (xid=0x4): 1 ports\n  \
            port  tun0: rx pkts=31, bytes=2266, drop=?, errs=?, frame=?, over=?, crc=?\n           \
            tx pkts=32, bytes=90, drop=?, errs=?, coll=?\n";
        let counts = PortCounts { received: 31, received_bytes: 2266, sent: 32, sent_bytes: 90 };
        assert_eq!(parse_port_counts(text), Some(counts));
        for text in [
            "",
            "rx pkts=?, bytes=1 tx pkts=3, bytes=4",
            "rx pkts=1, bytes=2",
            "rx pkts=1, tx pkts=2",
            "rx pkts=99999999999999999999, bytes=1, tx pkts=1, bytes=1",
        ] {
            assert_eq!(parse_port_counts(text), None, "{text}");
        }
    }
}
