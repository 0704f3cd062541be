//! Whether this host's limits allow a number of connections: open files and local ports.
//!
//! This is checked before the first connection is opened, so that a load is refused with one message instead
//! of failing half way. The soft limit of open files is raised as far as the connections need, within the
//! hard limit. Services that start afterwards inherit it, because each holds the other end of its
//! connections. It is not raised further, since some programs allocate memory for every possible file, or
//! close each one by one. Ports are only counted; no system setting is changed.

use std::io;

use weighbridge_model::environment::{Limit, PortRange};

use crate::host::facts;
use crate::host::sys;

/// Open files of a generator's thread besides its connections: standard streams, event queue, timer, and the
/// few that verification and the system's libraries open briefly.
pub const OWN_FILES: u64 = 64;

/// Open files of a service besides its connections: what an ordinary runtime has open (libraries, archives,
/// logs), with a reserve.
pub const SERVICE_FILES: u64 = 512;

/// Why this many connections cannot be opened here.
#[derive(Debug, thiserror::Error)]
pub enum ResourceLimitError {
    #[error(
        "{connections} connections need {needed} open files, and this process may have {hard}; raise the hard limit (`ulimit -Hn {needed}` as root, `LimitNOFILE={needed}` of a unit, `--ulimit nofile={needed}:{needed}` of a container), or use fewer connections"
    )]
    Files {
        /// Connections in one table of files.
        connections: u64,
        /// Files that they need.
        needed: u64,
        /// The most files that the process may have.
        hard: u64,
    },
    #[error(
        "raising the limit of open files from {soft} to {wanted} was refused: {source}; run `ulimit -n {wanted}` first"
    )]
    Raise {
        /// The limit in force.
        soft: u64,
        /// What was requested.
        wanted: u64,
        /// The kernel's reason.
        source: io::Error,
    },
    #[error(
        "{connections} connections to `{peer}` need a local port each, and there are {available} ({}); widen the range (`sysctl net.ipv4.ip_local_port_range='1024 65535'` as root), or use fewer connections", range_text(*.range, *.reserved)
    )]
    Ports {
        /// Connections to one address.
        connections: u64,
        /// The address.
        peer: String,
        /// Available ports.
        available: u32,
        /// The range of local ports.
        range: PortRange,
        /// Ports of the range that are reserved for other uses.
        reserved: u32,
    },
}

/// `32768 to 60999`, with the number of reserved ports if there are any.
pub(crate) fn range_text(range: PortRange, reserved: u32) -> String {
    let kept = if reserved > 0 { format!(", {reserved} of them reserved") } else { String::new() };
    format!("{} to {}{kept}", range.first, range.last)
}

/// Connections that one thread of the generator can hold with this limit of open files, its soft limit
/// raised.
pub fn connections_with(files: Limit) -> u64 {
    files.hard.max(files.soft).saturating_sub(OWN_FILES)
}

/// Connections that one thread, or one server, of this process can hold once its soft limit is raised.
pub fn most_connections() -> u64 {
    connections_with(sys::open_file_limit())
}

/// Connections to one address that these local ports allow, `reserved` of which have other uses.
pub fn connections_over(ports: PortRange, reserved: u32) -> u32 {
    ports.count().saturating_sub(reserved)
}

/// The soft limit needed for this many connections in one table of files; `None` if it is high enough.
fn soft_limit(files: Limit, connections: u64) -> Result<Option<u64>, ResourceLimitError> {
    let needed = connections.saturating_add(OWN_FILES);
    let hard = files.hard.max(files.soft);
    if needed > hard {
        return Err(ResourceLimitError::Files { connections, needed, hard });
    }
    let wanted = needed.max(connections.saturating_add(SERVICE_FILES)).min(hard);
    Ok((wanted > files.soft).then_some(wanted))
}

/// Whether a process of this host may have the files for this many connections in one table. Changes nothing.
pub fn check_files(connections: u64) -> Result<(), ResourceLimitError> {
    soft_limit(sys::open_file_limit(), connections).map(drop)
}

/// Raises this process's soft limit of open files to what this many connections in one table need, if it is
/// lower.
pub fn make_files(connections: u64) -> Result<(), ResourceLimitError> {
    let Limit { soft, hard } = sys::open_file_limit();
    let Some(wanted) = soft_limit(Limit { soft, hard }, connections)? else { return Ok(()) };
    match sys::set_open_file_limit(Limit { soft: wanted, hard }) {
        // Files that only a service may want are no reason to refuse a load that fits.
        Err(source) if soft < connections.saturating_add(OWN_FILES) => {
            Err(ResourceLimitError::Raise { soft, wanted, source })
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Whether there are local ports for this many connections to one address. Connections to different addresses
/// can share a local port. Ports that other programs use now, or that closed connections still hold, are not
/// considered.
pub fn check_ports(peer: &str, connections: u64) -> Result<(), ResourceLimitError> {
    let facts = facts::ports();
    let Some(range) = facts.local_ports else { return Ok(()) };
    fits(range, facts.reserved_ports.unwrap_or(0), peer, connections)
}

fn fits(range: PortRange, reserved: u32, peer: &str, connections: u64) -> Result<(), ResourceLimitError> {
    let available = connections_over(range, reserved);
    if connections <= u64::from(available) {
        return Ok(());
    }
    Err(ResourceLimitError::Ports { connections, peer: peer.to_owned(), available, range, reserved })
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn limit(soft: u64, hard: u64) -> Limit {
        Limit { soft, hard }
    }

    #[test]
    fn the_soft_limit_is_raised_as_far_as_connections_need_and_no_further() {
        let wanted = |files, connections| soft_limit(files, connections).expect("fits");
        // The usual limit is enough for the usual load, so nothing changes.
        assert_eq!(wanted(limit(1024, 524_288), 16), None);
        assert_eq!(wanted(limit(1024, 524_288), 512), None);
        assert_eq!(wanted(limit(1024, 524_288), 513), Some(1025));
        assert_eq!(wanted(limit(1024, 1 << 30), 10_000), Some(10_512));
        // Files for the service are optional, files for connections are required.
        assert_eq!(wanted(limit(1024, 10_064), 10_000), Some(10_064));
        assert_eq!(wanted(limit(10_064, 10_064), 10_000), None);
    }

    #[test]
    fn a_hard_limit_that_is_too_low_is_refused_with_what_is_needed() {
        let refused = |files, connections| soft_limit(files, connections).expect_err("too many").to_string();
        let message = refused(limit(1024, 10_063), 10_000);
        for words in ["10000 connections need 10064 open files", "may have 10063", "`ulimit -Hn 10064`"] {
            assert!(message.contains(words), "`{words}` is not in: {message}");
        }
        assert!(refused(limit(1024, 4096), u64::MAX).contains("open files"));
    }

    #[test]
    fn doctor_and_refusal_count_alike() {
        for files in [limit(1024, 4096), limit(20_000, 20_000), limit(64, 64), limit(3, 10)] {
            let most = connections_with(files);
            assert!(most == 0 || soft_limit(files, most).is_ok(), "{files:?}");
            assert!(soft_limit(files, most + 1).is_err(), "{files:?}");
        }
        let range = PortRange { first: 32_768, last: 60_999 };
        let most = u64::from(connections_over(range, 32));
        assert_eq!(most, 28_200);
        assert!(fits(range, 32, "a:1", most).is_ok());
        let message = fits(range, 32, "a:1", most + 1).expect_err("one too many").to_string();
        for words in
            ["28201 connections to `a:1`", "there are 28200 (32768 to 60999, 32 of them reserved)", "sysctl"]
        {
            assert!(message.contains(words), "`{words}` is not in: {message}");
        }
    }

    #[test]
    fn the_limit_of_this_process_can_be_raised_and_keeps_what_it_has() {
        let Limit { soft: before, hard } = sys::open_file_limit();
        make_files(1).expect("a connection fits");
        assert_eq!(sys::open_file_limit(), Limit { soft: before.max(513.min(hard)), hard });
        // Not raised further, since processes that other tests start would inherit it.
        let most = connections_with(limit(before, hard));
        let some = most.min(4_000);
        make_files(some).expect("they fit");
        let raised = sys::open_file_limit();
        assert_eq!(raised, Limit { soft: before.max((some + SERVICE_FILES).min(hard)), hard });
        assert!(matches!(make_files(most + 1), Err(ResourceLimitError::Files { .. })));
        assert!(matches!(check_files(most + 1), Err(ResourceLimitError::Files { .. })));
        assert_eq!(sys::open_file_limit(), raised);
    }
}
