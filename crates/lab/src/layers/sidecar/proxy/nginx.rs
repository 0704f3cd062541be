//! nginx: its configuration and its `stub_status`.

use super::{Passed, Setup, Wire, ask::SOCKET};

/// The request for the page of counters; with HTTP/1.0 the connection closes after the answer.
pub(super) const QUESTION: &str = "GET /status HTTP/1.0\r\n\r\n";

/// Descriptors besides those of connections: listeners, logs, checks for readiness.
const SPARE: u32 = 64;

pub(super) fn arguments(file: &str) -> Vec<String> {
    // Without `-e` early errors would go to a system log.
    ["-e", "stderr", "-p", ".", "-c", file].map(str::to_owned).to_vec()
}

pub(super) fn configuration(setup: &Setup) -> String {
    let Setup { listen, service, connections, .. } = setup;
    // Each request uses one connection on each side.
    let most = connections.saturating_mul(2).saturating_add(SPARE);
    let (kind, pass) = match setup.wire {
        Wire::Http2 | Wire::Grpc => (
            " http2",
            "            grpc_pass grpc://service;\n            grpc_read_timeout 1h;\n            grpc_send_timeout 1h;\n",
        ),
        Wire::Http1 | Wire::Tcp => (
            "",
            "            proxy_pass http://service;\n            proxy_http_version 1.1;\n            \
             proxy_set_header Connection \"\";\n            proxy_set_header Host $http_host;\n            \
             proxy_read_timeout 1h;\n            proxy_max_temp_file_size 0;\n",
        ),
    };
    let folders: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("    {kind}_temp_path temp-{kind};\n"))
        .concat();
    // A worker started by root would change to another user, who may lack access to the folder.
    format!(
        "daemon off;\nuser root;\nworker_processes 1;\npid nginx.pid;\nerror_log stderr warn;\n\n\
         events {{\n    worker_connections {most};\n}}\n\n\
         http {{\n    access_log off;\n    keepalive_timeout 1h;\n    keepalive_requests 4000000000;\n    \
         client_max_body_size 0;\n{folders}\n    \
         upstream service {{\n        server {service};\n        keepalive {connections};\n        \
         keepalive_timeout 1h;\n        keepalive_requests 4000000000;\n    }}\n\n    \
         server {{\n        listen {listen}{kind};\n        location / {{\n{pass}        }}\n    }}\n\n    \
         server {{\n        listen unix:{SOCKET};\n        location = /status {{\n            stub_status;\n        }}\n    }}\n}}\n"
    )
}

/// Parses `nginx version: nginx/1.22.1`.
pub(super) fn version(said: &str) -> Option<&str> {
    said.lines().find_map(|line| line.split_once("nginx/")?.1.split_whitespace().next())
}

/// Parses the numbers of accepted and handled connections and of requests, below the line that names them.
pub(super) fn count(answer: &str) -> Option<Passed> {
    let mut lines = answer.lines().skip_while(|line| line.trim() != "server accepts handled requests");
    let mut numbers = lines.nth(1)?.split_whitespace().map(str::parse::<u64>);
    let mut number = || numbers.next()?.ok();
    let (accepted, _handled, requests) = (number()?, number()?, number()?);
    Some(Passed { connections: accepted, requests: Some(requests) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_below_their_names() {
        let page = "HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\n\r\nActive connections: 1 \n\
                    server accepts handled requests\n 5 5 41 \nReading: 0 Writing: 1 Waiting: 0 \n";
        assert_eq!(count(page), Some(Passed { connections: 5, requests: Some(41) }));
        assert_eq!(count("HTTP/1.1 404 Not Found\r\n\r\n"), None);
        assert_eq!(count("server accepts handled requests\n 5 5\n"), None);
    }

    #[test]
    fn the_version_is_after_a_slash() {
        assert_eq!(version("nginx version: nginx/1.22.1 (Debian)"), Some("1.22.1"));
        assert_eq!(version("no such option"), None);
    }
}
