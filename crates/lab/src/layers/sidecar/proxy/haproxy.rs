//! HAProxy: its configuration and its `show stat`.

use super::{Passed, Setup, Wire, ask::SOCKET};

/// The command that prints all counters as CSV.
pub(super) const QUESTION: &str = "show stat\n";

/// Connections that it may hold besides the client's: checks for readiness, and those being replaced.
const SPARE: u32 = 64;

pub(super) fn arguments(file: &str) -> Vec<String> {
    // Without `-db` it would go to the background.
    ["-db", "-q", "-f", file].map(str::to_owned).to_vec()
}

pub(super) fn configuration(setup: &Setup) -> String {
    let Setup { listen, service, connections, .. } = setup;
    let most = connections.saturating_add(SPARE);
    let (mode, proto, reuse) = match setup.wire {
        Wire::Http1 => ("http", "", "    http-reuse always\n"),
        Wire::Http2 | Wire::Grpc => ("http", " proto h2", "    http-reuse always\n"),
        Wire::Tcp => ("tcp", "", ""),
    };
    // Idle connections to the service are kept while the variant is frozen.
    let pool = if setup.wire == Wire::Tcp { "" } else { " pool-purge-delay 1h" };
    format!(
        "global\n    nbthread 1\n    maxconn {most}\n    stats socket unix@{SOCKET} mode 600 level operator\n\n\
         defaults\n    mode {mode}\n    maxconn {most}\n    timeout connect 5s\n    timeout client 1h\n    timeout server 1h\n{reuse}\n\
         frontend in\n    bind {listen}{proto}\n    default_backend service\n\n\
         backend service\n    server service {service}{proto}{pool}\n"
    )
}

/// Parses `HAProxy version 2.6.12-1+deb12u4 2026/10/17 - https://haproxy.org/`.
pub(super) fn version(said: &str) -> Option<&str> {
    said.lines().find_map(|line| line.strip_prefix("HAProxy version ")?.split_whitespace().next())
}

/// The counters in our frontend's row. Columns are found by name, since versions add some.
pub(super) fn count(answer: &str) -> Option<Passed> {
    let header = answer.lines().find_map(|line| line.strip_prefix("# "))?;
    let row: Vec<&str> = answer.lines().find(|line| line.starts_with("in,FRONTEND,"))?.split(',').collect();
    let cell = |name: &str| row.get(header.split(',').position(|column| column == name)?)?.parse().ok();
    Some(Passed { connections: cell("stot")?, requests: cell("req_tot") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_frontends_row_is_read_by_the_names_of_its_columns() {
        let answer = "# pxname,svname,qcur,stot,req_tot,\nin,FRONTEND,,7,31,\nservice,service,0,1,30,\n\n";
        assert_eq!(count(answer), Some(Passed { connections: 7, requests: Some(31) }));
        let tcp = "# pxname,svname,stot,req_tot,\nin,FRONTEND,7,,\n";
        assert_eq!(count(tcp), Some(Passed { connections: 7, requests: None }));
        assert_eq!(count("Unknown command.\n"), None);
        assert_eq!(count("# pxname,svname\nin,FRONTEND,"), None);
    }

    #[test]
    fn the_version_is_the_third_word() {
        let said = "HAProxy version 2.6.12-1+deb12u4 2026/10/17 - https://haproxy.org/\nStatus: stable";
        assert_eq!(version(said), Some("2.6.12-1+deb12u4"));
        assert_eq!(version("HA-Proxy"), None);
    }
}
