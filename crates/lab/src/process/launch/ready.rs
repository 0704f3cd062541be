//! How a role signals that it accepts connections, and checks for that signal.
//!
//! Each check is short and returns what it saw, so that the error about a role that never gets ready can say
//! what was awaited and how far it came. The launch decides how long to wait.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use regex::Regex;

use crate::process::launch::{Launch, LaunchError};
use crate::process::logs::LineFinder;
use crate::process::talk::READY_DIRECT;

/// Pause between two checks of a starting role: the resolution of its start time.
const PAUSE: Duration = Duration::from_millis(1);
/// The same if each check is a request.
const PAUSE_BETWEEN_REQUESTS: Duration = Duration::from_millis(10);

/// How a role signals that it is ready, which means that it accepts connections except for [`Ready::Direct`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ready {
    /// It prints `ready <port>` on its standard output. It gets `PORT=0`, chooses a free port and prints it.
    Line,
    /// It accepts TCP connections on this port of the loopback address. It gets the port as `PORT`.
    Port(u16),
    /// Like `Port`, on a free port that is chosen for it.
    AnyPort,
    /// It answers a request successfully, on a free port that is chosen for it.
    Asked(Asking),
    /// It prints a line that matches. A free port is chosen for it, unless the pattern has a group named
    /// `port`: then it gets `PORT=0` and the group gives the port.
    Log(LinePattern),
    /// It prints `ready direct` on its standard output and does not listen. Its standard input and output
    /// become [pipes](crate::process::talk::Talk) to us.
    Direct,
}

/// A request whose answer shows that a role is ready.
#[derive(Clone)]
pub struct Asking {
    /// The request for messages, with `{port}` for the port.
    pub shown: String,
    ask: Arc<dyn Fn(SocketAddr) -> Result<(), String> + Send + Sync>,
}

impl Asking {
    /// `ask` is called with the role's address until it succeeds. Its error is text such as `status 503`. It
    /// should take a second at most.
    pub fn new(
        shown: String,
        ask: impl Fn(SocketAddr) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        Self { shown, ask: Arc::new(ask) }
    }
}

impl fmt::Debug for Asking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Asking").field(&self.shown).finish()
    }
}

impl PartialEq for Asking {
    fn eq(&self, other: &Self) -> bool {
        self.shown == other.shown && Arc::ptr_eq(&self.ask, &other.ask)
    }
}

impl Eq for Asking {}

/// A regular expression for a line of output.
#[derive(Debug, Clone)]
pub struct LinePattern(Regex);

impl LinePattern {
    /// Lines that this matches.
    pub const fn new(pattern: Regex) -> Self {
        Self(pattern)
    }

    fn finds_port(&self) -> bool {
        self.0.capture_names().flatten().any(|name| name == "port")
    }
}

impl PartialEq for LinePattern {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_str() == other.0.as_str()
    }
}

impl Eq for LinePattern {}

impl Ready {
    /// Whether the role chooses its port itself.
    pub(crate) fn is_chosen_by_role(&self) -> bool {
        match self {
            Self::Line | Self::Direct => true,
            Self::Log(pattern) => pattern.finds_port(),
            Self::Port(_) | Self::AnyPort | Self::Asked(_) => false,
        }
    }
}

/// Checks whether one role is ready.
pub(crate) struct Watch<'a> {
    launch: &'a Launch,
    port: Option<u16>,
    lines: Vec<LineFinder>,
    last: String,
}

impl<'a> Watch<'a> {
    /// `port` is the port chosen for the role, if one was.
    pub fn new(launch: &'a Launch, port: Option<u16>) -> Self {
        let lines = match launch.ready {
            Ready::Line => vec![LineFinder::new(&launch.stdout)],
            Ready::Log(_) if launch.stdout == launch.stderr => vec![LineFinder::new(&launch.stdout)],
            Ready::Log(_) => vec![LineFinder::new(&launch.stdout), LineFinder::new(&launch.stderr)],
            Ready::Port(_) | Ready::AnyPort | Ready::Asked(_) | Ready::Direct => Vec::new(),
        };
        Self { launch, port, lines, last: String::new() }
    }

    /// The port, once the role is ready.
    pub fn look(&mut self) -> Result<Option<u16>, LaunchError> {
        let name = &self.launch.name;
        match (&self.launch.ready, self.port) {
            (Ready::Line, _) => {
                let wanted = |line: &str| line == "ready" || line.starts_with("ready ");
                let found = self.lines.iter_mut().find_map(|lines| lines.find(&wanted));
                found.map(|line| parse_ready(name, &line)).transpose()
            }
            (Ready::Log(LinePattern(pattern)), port) => {
                let found =
                    self.lines.iter_mut().find_map(|lines| lines.find(&|line| pattern.is_match(line)));
                let Some(line) = found else { return Ok(None) };
                port.map_or_else(|| port_in(name, pattern, &line), Ok).map(Some)
            }
            (Ready::Asked(asking), Some(port)) => match (asking.ask)(SocketAddr::new(self.launch.host, port))
            {
                Ok(()) => Ok(Some(port)),
                Err(why) => {
                    self.last = why;
                    Ok(None)
                }
            },
            (Ready::Port(_) | Ready::AnyPort | Ready::Asked(_), port) => {
                Ok(port.filter(|port| accepts(self.launch.host, *port)))
            }
            // It does not listen.
            (Ready::Direct, _) => Ok(None),
        }
    }

    /// How long to wait before the next check.
    pub fn pause(&self) -> Duration {
        match self.launch.ready {
            Ready::Asked(_) => PAUSE_BETWEEN_REQUESTS,
            _ => PAUSE,
        }
    }

    /// What was awaited and did not happen.
    pub fn wanted(&self, wrote: bool) -> String {
        // The usual reason for a missing line.
        let buffered = if wrote {
            ""
        } else {
            "; it has written nothing, perhaps it keeps its output back until there is more (Python: `python3 -u`)"
        };
        match (&self.launch.ready, self.port) {
            (Ready::Line, _) => format!(
                "it did not print `ready <port>`{buffered}; where its command takes the port, write `{{port}}`, and where it reads the variable `PORT`, `ready = \"port\"`"
            ),
            (Ready::Direct, _) => format!("it did not print `{READY_DIRECT}`{buffered}"),
            (Ready::Log(LinePattern(pattern)), _) => {
                format!("no line of its output matched `{}`{buffered}", pattern.as_str())
            }
            (Ready::Asked(asking), port) => {
                let shown = asking.shown.replace("{port}", &port.unwrap_or(0).to_string());
                format!("`{shown}` was not answered well: {}", self.last)
            }
            (Ready::Port(_) | Ready::AnyPort, port) => {
                let port = port.unwrap_or(0);
                let host = self.launch.host;
                let others = if host.is_loopback() { "" } else { "variables `HOST` and " };
                format!(
                    "it accepts no connection on {host}:{port}, which {others}`{{port}}` or the variable `PORT` named"
                )
            }
        }
    }
}

/// Whether connections are accepted at the client's target; on this host, at either loopback address.
fn accepts(host: IpAddr, port: u16) -> bool {
    let connects = |address| {
        TcpStream::connect_timeout(&SocketAddr::new(address, port), Duration::from_millis(250)).is_ok()
    };
    connects(host) || (host.is_loopback() && connects(IpAddr::V6(Ipv6Addr::LOCALHOST)))
}

fn bad_line(name: &str, line: &str, wanted: String) -> LaunchError {
    LaunchError::BadReadyLine { name: name.to_owned(), line: line.to_owned(), wanted }
}

fn parse_ready(name: &str, line: &str) -> Result<u16, LaunchError> {
    let port = line.strip_prefix("ready ").and_then(|port| port.trim().parse().ok()).filter(|port| *port > 0);
    port.ok_or_else(|| bad_line(name, line, "`ready <port>`".to_owned()))
}

fn port_in(name: &str, pattern: &Regex, line: &str) -> Result<u16, LaunchError> {
    let found =
        pattern.captures(line).and_then(|found| found.name("port").map(|port| port.as_str().to_owned()));
    let port = found.and_then(|port| port.parse().ok()).filter(|port| *port > 0);
    port.ok_or_else(|| {
        bad_line(name, line, format!("a line in which `{}` finds one as `port`,", pattern.as_str()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ready_line_names_a_port_or_is_quoted() {
        assert_eq!(parse_ready("go", "ready 8081").expect("a port"), 8081);
        for line in ["ready", "ready 0", "ready 99999", "ready soon"] {
            let error = parse_ready("go", line).expect_err(line);
            assert!(error.to_string().contains(&format!("`{line}`")), "{error}");
        }
    }

    #[test]
    fn a_pattern_finds_the_port_in_a_line() {
        let pattern = Regex::new(r"listening on \S+:(?<port>\d+)").expect("an expression");
        assert_eq!(port_in("s", &pattern, "now listening on 0.0.0.0:8081").expect("a port"), 8081);
        let error = port_in("s", &pattern, "listening on h:99999").expect_err("no port").to_string();
        assert!(error.contains("`listening on h:99999`") && error.contains("from 1 to 65535"), "{error}");
        assert!(LinePattern::new(pattern).finds_port());
    }
}
