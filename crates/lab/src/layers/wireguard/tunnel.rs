//! One end of a WireGuard tunnel: its daemon where the kernel has no WireGuard, its keys, its configuration,
//! and its counters.
//!
//! Daemons listen at `/var/run/wireguard/<device>.sock`, a folder that all daemons of a host share. Each of
//! ours gets a mount namespace with an empty memory file system there, so that it writes nothing to the
//! host's disk and its socket conflicts with no other. Private keys are generated here, kept in memory, and
//! passed only by socket or standard input. The caller decides which ends there are, and their addresses.

use std::fmt::{self, Write as _};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use weighbridge_model::experiment::WireguardImplementation as Implementation;
use weighbridge_model::quantity::Nanoseconds;

use crate::host::cores::CoreId;
use crate::host::procfs::Pid;
use crate::host::sys;
use crate::net::NamespaceError;
use crate::process::launch::{Asking, Lab, Launch, LaunchError, Ready};
use crate::process::{Running, Wrapping};
use crate::unavailable::Unavailable;

/// The device of either end.
pub const DEVICE: &str = "wg0";
/// The UDP port of either end.
pub const PORT: u16 = 51820;

/// Folder of the daemons' sockets, fixed when they are built.
const SOCKETS: &str = "/var/run";
/// A daemon is ready within a second; a loaded machine gets much more.
const READY_TIMEOUT: Nanoseconds = Nanoseconds::from_secs(60);
/// How long to wait for an answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// A tunnel with one peer reports less than a thousand bytes.
const MOST: u64 = 1 << 16;

const TOOLS_REMEDY: &str = "install it (`apt-get install wireguard-tools`, `dnf install wireguard-tools`), or take `implementation = \"wireguard-go\"`";

/// Why a tunnel could not be made or asked.
#[derive(Debug, thiserror::Error)]
pub enum WireguardError {
    #[error(transparent)]
    Missing(#[from] Unavailable),
    #[error(
        "could not read random bytes for the keys of WireGuard from `/dev/urandom`: {0}; check that it is there"
    )]
    NoKey(#[source] io::Error),
    #[error("could not give a daemon of WireGuard its own mounts: {source}; this needs CAP_SYS_ADMIN")]
    Mounts {
        /// The system's reason.
        source: io::Error,
    },
    #[error(transparent)]
    Launch(#[from] LaunchError),
    #[error("`{by}` did not carry out `{what}`: {why}; see its log beside the trial's")]
    Refused {
        /// The program.
        by: &'static str,
        /// What it was asked to do.
        what: &'static str,
        /// What it reported instead.
        why: String,
    },
    #[error(
        "the ends of WireGuard's tunnel did not agree on keys within {waited}; their logs are beside the trial's, and a link \
         that loses nearly all packets may be why"
    )]
    NoHandshake {
        /// How long we waited.
        waited: Nanoseconds,
    },
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
}

/// What passed a tunnel, by its own counters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Transfer {
    /// Bytes that came from the other end.
    pub received: u64,
    /// Bytes that went to it.
    pub sent: u64,
    /// When both ends last agreed on keys, in whole seconds since 1970; 0 if they have not yet.
    pub handshake: u64,
}

impl Transfer {
    /// What passed since `before`, with the latest handshake.
    #[must_use]
    pub const fn since(self, before: Self) -> Self {
        Self {
            received: self.received.saturating_sub(before.received),
            sent: self.sent.saturating_sub(before.sent),
            handshake: self.handshake,
        }
    }
}

/// The implementation's program, if it has one.
const fn program(implementation: Implementation) -> &'static str {
    match implementation {
        Implementation::Kernel => "wg",
        Implementation::WireguardGo => "wireguard-go",
        Implementation::Boringtun => "boringtun-cli",
    }
}

const fn remedy(implementation: Implementation) -> &'static str {
    match implementation {
        Implementation::Kernel => TOOLS_REMEDY,
        Implementation::WireguardGo => {
            "install it (`apt-get install wireguard-go`, or build `golang.zx2c4.com/wireguard` by Go under this name) and put it on `PATH`"
        }
        Implementation::Boringtun => "install it (`cargo install boringtun-cli`) and put it on `PATH`",
    }
}

/// An implementation's program: searched in `PATH`, then where systems install programs for administrators.
fn find(implementation: Implementation) -> Result<PathBuf, Unavailable> {
    let name = program(implementation);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from));
    let mut files = folders.map(|folder| folder.join(name));
    files.find(|file| file.is_file()).ok_or_else(|| {
        Unavailable::new(format!("the program `{name}` is not installed"), remedy(implementation))
    })
}

/// The version that an implementation's program reports, such as `0.0.20250522`; for the kernel's, that of
/// `wg`.
pub fn version(implementation: Implementation) -> Result<String, Unavailable> {
    let path = find(implementation)?;
    let command = [path.display().to_string(), "--version".to_owned()];
    let said = crate::host::ask::ask(&command, None, PATIENCE).unwrap_or_default();
    parse_version(&said).map(str::to_owned).ok_or_else(|| {
        Unavailable::new(format!("`{} --version` says no version", path.display()), remedy(implementation))
    })
}

/// The second word of the first line, without a leading `v`: `wireguard-tools v1.0.20210914 - https://…`.
fn parse_version(said: &str) -> Option<&str> {
    let word = said.lines().next()?.split_ascii_whitespace().nth(1)?;
    let version = word.strip_prefix('v').unwrap_or(word);
    version.starts_with(|first: char| first.is_ascii_digit()).then_some(version)
}

/// 32 bytes of a key.
#[derive(Clone, Copy)]
struct Key([u8; 32]);

/// The private key of an end, and the public key for the other. Neither is ever shown.
#[derive(Clone, Copy)]
pub struct Keys {
    own: Key,
    public: Key,
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keys")
    }
}

impl Keys {
    /// New keys from the system's random bytes.
    pub fn make() -> Result<Self, WireguardError> {
        let mut own = [0; 32];
        let random = File::open("/dev/urandom").and_then(|mut random| random.read_exact(&mut own));
        random.map_err(WireguardError::NoKey)?;
        let public = x25519_dalek::x25519(own, x25519_dalek::X25519_BASEPOINT_BYTES);
        Ok(Self { own: Key(own), public: Key(public) })
    }
}

impl Key {
    fn hex(self) -> String {
        self.0.iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    }

    /// The format that `wg` reads.
    fn base64(self) -> String {
        BASE64_STANDARD.encode(self.0)
    }
}

/// The configuration of one end.
#[derive(Debug, Clone, Copy)]
pub struct TunnelConfig {
    pub own: Keys,
    /// The other end's keys, of which only the public one is used.
    pub theirs: Keys,
    /// Address of the other end on the link below.
    pub endpoint: Ipv4Addr,
    /// The other end's address inside the tunnel, the only one that it may send from.
    pub peer: Ipv4Addr,
}

impl TunnelConfig {
    /// As a request for a daemon's socket.
    fn request(&self) -> String {
        let Self { own, theirs, endpoint, peer } = self;
        format!(
            "set=1\nprivate_key={}\nlisten_port={PORT}\nreplace_peers=true\npublic_key={}\nendpoint={}\n\
             replace_allowed_ips=true\nallowed_ip={peer}/32\n\n",
            own.own.hex(),
            theirs.public.hex(),
            SocketAddrV4::new(*endpoint, PORT)
        )
    }

    /// As text for `wg setconf`.
    fn configuration(&self) -> String {
        let Self { own, theirs, endpoint, peer } = self;
        format!(
            "[Interface]\nPrivateKey = {}\nListenPort = {PORT}\n[Peer]\nPublicKey = {}\nEndpoint = {}\n\
             AllowedIPs = {peer}/32\n",
            own.own.base64(),
            theirs.public.base64(),
            SocketAddrV4::new(*endpoint, PORT)
        )
    }
}

/// One end of a tunnel, by how it is configured and asked.
#[derive(Debug, Clone)]
pub enum End {
    /// The kernel's, by `wg` in its network namespace.
    Kernel,
    /// A daemon's, by its socket.
    Daemon {
        /// Which daemon.
        implementation: Implementation,
        /// Path of its socket from outside its mount namespace.
        socket: PathBuf,
    },
}

impl End {
    /// Starts a daemon in the network namespace of the calling thread. That thread must end afterwards, since
    /// its mounts are changed.
    ///
    /// Errors: [`WireguardError`]; nothing runs then.
    pub fn start(
        lab: &Lab,
        implementation: Implementation,
        role: &str,
        logs: &Path,
        cores: Option<&[CoreId]>,
    ) -> Result<(Self, Running), WireguardError> {
        let executable = find(implementation)?.display().to_string();
        // From outside, symbolic links in the daemon's mounts would be followed in ours.
        let folder = fs::canonicalize(SOCKETS).map_err(|source| WireguardError::Mounts { source })?;
        let inside = folder.join("wireguard").join(format!("{DEVICE}.sock"));
        sys::hide_folder(&folder).map_err(|source| WireguardError::Mounts { source })?;
        let log = |stream: &str| {
            let mut path = logs.as_os_str().to_owned();
            path.push(format!("-{role}-{stream}.log"));
            PathBuf::from(path)
        };
        let asked = inside.clone();
        let launch = Launch {
            name: role.to_owned(),
            command: command(implementation, executable),
            environment: Vec::new(),
            folder: None,
            host: Ipv4Addr::LOCALHOST.into(),
            cores: cores.map(<[CoreId]>::to_vec),
            stdout: log("out"),
            stderr: log("err"),
            ready: Ready::Asked(Asking::new(format!("`get=1` at `{}`", inside.display()), move |_| {
                talk(&asked, "get=1\n\n").map(drop).map_err(|error| error.to_string())
            })),
            ready_timeout: READY_TIMEOUT,
            wrapping: Wrapping::None,
        };
        let running = lab.launch(&launch)?;
        let socket = seen_from_outside(running.pid(), &inside);
        Ok((Self::Daemon { implementation, socket }, running))
    }

    fn refused(&self, what: &'static str) -> impl FnOnce(String) -> WireguardError {
        let by = match self {
            Self::Kernel => program(Implementation::Kernel),
            Self::Daemon { implementation, .. } => program(*implementation),
        };
        move |why| WireguardError::Refused { by, what, why }
    }

    /// Sets its keys and its peer.
    pub fn configure(&self, config: &TunnelConfig) -> Result<(), WireguardError> {
        let done = match self {
            Self::Kernel => wg(&["setconf", DEVICE, "/dev/stdin"], &config.configuration()).map(drop),
            Self::Daemon { socket, .. } => talk(socket, &config.request())
                .map_err(|error| error.to_string())
                .and_then(|said| parse_errno(&said).map_or_else(|| Err("it gives no `errno`".to_owned()), Ok))
                .and_then(|errno| {
                    if errno == 0 {
                        return Ok(());
                    }
                    Err(io::Error::from_raw_os_error(i32::try_from(errno.abs()).unwrap_or(i32::MAX))
                        .to_string())
                }),
        };
        done.map_err(self.refused("set"))
    }

    /// What passed it. A daemon must not be frozen. The kernel's is asked in the network of the calling
    /// thread.
    pub fn transfer(&self) -> Result<Transfer, WireguardError> {
        let found = match self {
            Self::Kernel => wg(&["show", DEVICE, "transfer"], "").and_then(|transfer| {
                let handshake = wg(&["show", DEVICE, "latest-handshakes"], "")?;
                Ok(parse_shown(&transfer, &handshake))
            }),
            // The answer contains the private key, so it is never shown.
            Self::Daemon { socket, .. } => {
                talk(socket, "get=1\n\n").map(|said| parse_transfer(&said)).map_err(|error| error.to_string())
            }
        };
        let found = found.and_then(|found| found.ok_or_else(|| "its answer has no such numbers".to_owned()));
        found.map_err(self.refused("get"))
    }
}

/// Path of a file in the mount namespace of a process.
fn seen_from_outside(pid: Pid, path: &Path) -> PathBuf {
    let below = path.strip_prefix("/").unwrap_or(path);
    Path::new("/proc").join(pid.to_string()).join("root").join(below)
}

/// The command that starts a daemon in the foreground and as the current user.
fn command(implementation: Implementation, executable: String) -> Vec<String> {
    let flags: &[&str] = match implementation {
        Implementation::Boringtun => &["--foreground", "--disable-drop-privileges"],
        Implementation::Kernel | Implementation::WireguardGo => &["--foreground"],
    };
    let words = flags.iter().copied().chain([DEVICE]).map(str::to_owned);
    std::iter::once(executable).chain(words).collect()
}

/// Asks a daemon; its answer ends with an empty line.
fn talk(socket: &Path, request: &str) -> io::Result<String> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(request.as_bytes())?;
    let mut answer = BufReader::new(stream.take(MOST));
    let mut said = Vec::new();
    while !said.ends_with(b"\n\n") && answer.read_until(b'\n', &mut said)? > 0 {}
    Ok(String::from_utf8_lossy(&said).into_owned())
}

/// Runs `wg` in the network of the calling thread.
fn wg(arguments: &[&str], input: &str) -> Result<String, String> {
    let program = find(Implementation::Kernel).map_err(|why| why.to_string())?;
    let mut command = Command::new(program);
    // Signals from the terminal must not end or stop it half way.
    command.args(arguments).env("LC_ALL", "C").process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    if let Some(mut pipe) = child.stdin.take() {
        // The input fits into a pipe; a program that has ended reports its reason itself.
        let _ = pipe.write_all(input.as_bytes());
    }
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().replace('\n', ", "));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The whole number on the only line with this key.
fn number<N: std::str::FromStr>(text: &str, key: &str) -> Option<N> {
    let mut values = text.lines().filter_map(|line| line.split_once('=')).filter(|(name, _)| *name == key);
    let (_, value) = values.next()?;
    if values.next().is_some() {
        return None;
    }
    value.parse().ok()
}

/// The `errno` of a daemon's answer; 0 means success.
pub fn parse_errno(text: &str) -> Option<i64> {
    number(text, "errno")
}

/// The one peer's counters in a daemon's answer to `get=1`; `None` if it has no or several peers or reports
/// an error.
pub fn parse_transfer(text: &str) -> Option<Transfer> {
    if parse_errno(text)? != 0 {
        return None;
    }
    Some(Transfer {
        received: number(text, "rx_bytes")?,
        sent: number(text, "tx_bytes")?,
        // Some daemons omit the time before the first handshake.
        handshake: number(text, "last_handshake_time_sec")
            .or_else(|| (!text.contains("last_handshake_time_sec=")).then_some(0))?,
    })
}

/// Like [`parse_transfer`], from what `wg show` prints of transfers and handshakes.
pub fn parse_shown(transfer: &str, handshakes: &str) -> Option<Transfer> {
    let only = |text: &str| {
        let mut lines = text.lines();
        let fields: Vec<String> = lines.next()?.split('\t').skip(1).map(str::to_owned).collect();
        lines.next().is_none().then_some(fields)
    };
    let (transfer, handshakes) = (only(transfer)?, only(handshakes)?);
    let ([received, sent], [handshake]) = (transfer.as_slice(), handshakes.as_slice()) else { return None };
    Some(Transfer {
        received: received.parse().ok()?,
        sent: sent.parse().ok()?,
        handshake: handshake.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_what_each_program_prints() {
        for (said, version) in [
            ("wireguard-go v0.0.20250522\n\nUserspace WireGuard daemon", Some("0.0.20250522")),
            ("wireguard-tools v1.0.20210914 - https://git.zx2c4.com/", Some("1.0.20210914")),
            ("boringtun 0.7.1", Some("0.7.1")),
            ("usage: wg", None),
            ("", None),
        ] {
            assert_eq!(parse_version(said), version, "{said}");
        }
    }

    #[test]
    fn keys_are_pairs_and_are_never_shown() {
        let (one, two) = (Keys::make().expect("keys"), Keys::make().expect("keys"));
        let shared = |own: Keys, theirs: Keys| x25519_dalek::x25519(own.own.0, theirs.public.0);
        assert_eq!(shared(one, two), shared(two, one));
        assert_ne!(one.own.0, two.own.0);
        let address = Ipv4Addr::LOCALHOST;
        let config = TunnelConfig { own: one, theirs: two, endpoint: address, peer: address };
        assert!(!format!("{config:?}").contains(|c: char| c.is_ascii_digit()
            && c != '1'
            && c != '2'
            && c != '7'
            && c != '0'));
        assert!(
            config.request().contains(&one.own.hex()) && config.configuration().contains(&one.own.base64())
        );
        assert!(!config.request().contains(&two.own.hex()), "the other's stays with it");
    }

    #[test]
    fn keys_are_written_in_the_formats_of_daemons_and_wg() {
        let key = Key(std::array::from_fn(|at| at as u8 * 8));
        assert_eq!(key.hex(), "0008101820283038404850586068707880889098a0a8b0b8c0c8d0d8e0e8f0f8");
        assert_eq!(key.base64(), "AAgQGCAoMDhASFBYYGhweICIkJigqLC4wMjQ2ODo8Pg=");
    }

    #[test]
    fn transfers_are_parsed_from_output_of_daemons_and_wg() {
        let transfer = |received, sent, handshake| Some(Transfer { received, sent, handshake });
        let said = "private_key=00\nlisten_port=51820\npublic_key=11\nlast_handshake_time_sec=9\n\
                    last_handshake_time_nsec=1\ntx_bytes=52360\nrx_bytes=1340\nerrno=0\n\n";
        assert_eq!(parse_transfer(said), transfer(1340, 52360, 9));
        assert_eq!(parse_transfer("rx_bytes=1\ntx_bytes=2\nerrno=0\n\n"), transfer(1, 2, 0));
        for text in [
            "",
            "rx_bytes=1\ntx_bytes=2\n",
            "rx_bytes=1\ntx_bytes=2\nerrno=22\n",
            "rx_bytes=1\ntx_bytes=2\nlast_handshake_time_sec=x\nerrno=0\n",
            "rx_bytes=1\ntx_bytes=2\nrx_bytes=1\ntx_bytes=2\nerrno=0\n",
        ] {
            assert_eq!(parse_transfer(text), None, "{text}");
        }
        assert_eq!(parse_shown("key=\t10\t20\n", "key=\t1700000000\n"), transfer(10, 20, 1_700_000_000));
        assert_eq!(parse_shown("key=\t10\t20\nother=\t1\t2\n", "key=\t0\n"), None);
        assert_eq!(parse_shown("", ""), None);
    }
}
