//! Local TCP ports: a free one, and the process that listens on a given one.
//!
//! Only the network namespace of the calling thread is examined, and only what `/proc` shows to this user.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, TcpListener};

use crate::host::procfs::{self, Pid};

/// State `LISTEN` in `/proc/net/tcp`.
const LISTEN: &str = "0A";

/// A TCP port of the loopback address on which nothing listens now. Another process may take it before it is
/// used; the code that starts a service on it checks for that.
///
/// Errors: the system's, if no port is left.
pub fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

/// The process that listens on a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listener {
    Nobody,
    Process(Pid),
    /// A process whose descriptors this user may not see.
    Hidden,
}

impl Listener {
    /// The process, if visible.
    pub const fn pid(self) -> Option<Pid> {
        match self {
            Self::Process(pid) => Some(pid),
            Self::Nobody | Self::Hidden => None,
        }
    }
}

/// The process that listens on local TCP port `port`, on any address. If several share the port
/// (`SO_REUSEPORT`, or a parent and its workers), the one with the lowest id: usually the parent.
pub fn listener_of(port: u16) -> Listener {
    let table = |name: &str| fs::read_to_string(format!("/proc/thread-self/net/{name}")).unwrap_or_default();
    let inodes: Vec<u64> =
        ["tcp", "tcp6"].iter().flat_map(|name| listening_inodes(&table(name), port)).collect();
    if inodes.is_empty() {
        return Listener::Nobody;
    }
    let mut pids: Vec<Pid> = procfs::processes().iter().map(|stat| stat.pid).collect();
    pids.sort_unstable();
    let holds = |pid: &Pid| {
        procfs::socket_inodes(*pid).is_ok_and(|open| open.iter().any(|inode| inodes.contains(inode)))
    };
    pids.into_iter().find(holds).map_or(Listener::Hidden, Listener::Process)
}

/// The inodes of the sockets that listen on `port`, from the text of `/proc/net/tcp` or `tcp6`.
fn listening_inodes(table: &str, port: u16) -> Vec<u64> {
    let row = |line: &str| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let (_, local_port) = fields.get(1)?.rsplit_once(':')?;
        let wanted = u16::from_str_radix(local_port, 16).ok()? == port && *fields.get(3)? == LISTEN;
        if wanted { fields.get(9)?.parse().ok() } else { None }
    };
    table.lines().skip(1).filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
        \x20  0: 00000000:07E8 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1137 1 00 100 0 0 10 0\n\
        \x20  1: 0100007F:1F90 0100007F:C001 01 00000000:00000000 00:00000000 00000000     0        0 2222 1 00 20 4 30 10 -1\n\
        \x20  2: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 3333 1 00 100 0 0 10 0\n";

    #[test]
    fn only_listening_sockets_of_the_port_count() {
        assert_eq!(listening_inodes(TABLE, 2024), [1137]);
        assert_eq!(listening_inodes(TABLE, 8080), [3333]);
        assert!(listening_inodes(TABLE, 49153).is_empty());
        assert!(listening_inodes("", 1).is_empty());
    }

    #[test]
    fn version_6_rows_have_longer_addresses() {
        let table = "header\n   0: 00000000000000000000000001000000:0050 00000000000000000000000000000000:0000 0A \
                     00000000:00000000 00:00000000 00000000     0        0 4444 1 00 100 0 0 10 0\n";
        assert_eq!(listening_inodes(table, 80), [4444]);
    }

    #[test]
    fn our_own_listener_is_found_and_gone_when_closed() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let port = listener.local_addr().expect("bound").port();
        assert_eq!(listener_of(port), Listener::Process(Pid::own()));
        drop(listener);
        // A child that another test forks now holds a copy of the descriptor until it executes.
        let gone = (0..10_000).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(1));
            listener_of(port) == Listener::Nobody
        });
        assert!(gone, "port {port} is still listened on by {:?}", listener_of(port));
    }

    #[test]
    fn a_free_port_can_be_bound() {
        let port = free_port().expect("a port");
        assert_ne!(port, 0);
    }
}
