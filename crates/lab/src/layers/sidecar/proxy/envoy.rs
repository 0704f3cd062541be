//! Envoy: its configuration and its statistics.

use serde_json::{Value, json};

use super::{Passed, Setup, Wire, ask::SOCKET};

/// The path that returns the counters of our listener.
pub(super) const QUESTION: &str =
    "GET /stats?filter=in.downstream_(cx|rq)_total$ HTTP/1.1\r\nHost: admin\r\nConnection: close\r\n\r\n";

const TYPES: &str = "type.googleapis.com/envoy.extensions";

/// Above what any load has in flight. Meshes set it too, since the default of 1024 rejects requests.
const NO_LIMIT: u32 = u32::MAX;

pub(super) fn arguments(file: &str) -> Vec<String> {
    let words = ["-c", file, "--concurrency", "1", "--disable-hot-restart", "--log-level", "error"];
    words.map(str::to_owned).to_vec()
}

pub(super) fn configuration(setup: &Setup) -> String {
    let filter = match setup.wire {
        Wire::Tcp => json!({
            "name": "envoy.filters.network.tcp_proxy",
            "typed_config": {
                "@type": format!("{TYPES}.filters.network.tcp_proxy.v3.TcpProxy"),
                "stat_prefix": "in",
                "cluster": "service"
            }
        }),
        wire => connection_manager(wire),
    };
    let whole = json!({
        "admin": { "address": { "pipe": { "path": SOCKET, "mode": 0o600 } } },
        "static_resources": {
            "listeners": [{
                "name": "in",
                "address": address(setup.listen),
                "filter_chains": [{ "filters": [filter] }]
            }],
            "clusters": [cluster(setup)]
        }
    });
    format!("{whole:#}\n")
}

fn address(at: std::net::SocketAddr) -> Value {
    json!({ "socket_address": { "address": at.ip().to_string(), "port_value": at.port() } })
}

fn connection_manager(wire: Wire) -> Value {
    let codec = if wire == Wire::Http1 { "HTTP1" } else { "HTTP2" };
    // Without a timeout of the route, long streams and bodies are limited by the client only.
    let route = json!({ "match": { "prefix": "/" }, "route": { "cluster": "service", "timeout": "0s" } });
    json!({
        "name": "envoy.filters.network.http_connection_manager",
        "typed_config": {
            "@type": format!("{TYPES}.filters.network.http_connection_manager.v3.HttpConnectionManager"),
            "stat_prefix": "in",
            "codec_type": codec,
            "stream_idle_timeout": "0s",
            "route_config": {
                "virtual_hosts": [{ "name": "service", "domains": ["*"], "routes": [route] }]
            },
            "http_filters": [{
                "name": "envoy.filters.http.router",
                "typed_config": { "@type": format!("{TYPES}.filters.http.router.v3.Router") }
            }]
        }
    })
}

fn cluster(setup: &Setup) -> Value {
    let threshold = json!({
        "max_connections": NO_LIMIT, "max_pending_requests": NO_LIMIT,
        "max_requests": NO_LIMIT, "max_retries": NO_LIMIT
    });
    let mut cluster = json!({
        "name": "service",
        "type": "STATIC",
        "connect_timeout": "5s",
        "circuit_breakers": { "thresholds": [threshold] },
        "load_assignment": {
            "cluster_name": "service",
            "endpoints": [{ "lb_endpoints": [{ "endpoint": { "address": address(setup.service) } }] }]
        }
    });
    if matches!(setup.wire, Wire::Http2 | Wire::Grpc) {
        cluster["typed_extension_protocol_options"] = json!({
            "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
                "@type": format!("{TYPES}.upstreams.http.v3.HttpProtocolOptions"),
                "explicit_http_config": { "http2_protocol_options": {} }
            }
        });
    }
    cluster
}

/// Parses `envoy  version: 9e5580…/1.40.0/Clean/RELEASE/BoringSSL`.
pub(super) fn version(said: &str) -> Option<&str> {
    said.lines().find_map(|line| line.split_once("version: ")?.1.split('/').nth(1))
}

/// Parses `http.in.downstream_rq_total: 41`, or `tcp.in.…` if it does not parse requests.
pub(super) fn count(answer: &str) -> Option<Passed> {
    let value = |name: &str| -> Option<u64> {
        let rest = answer.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))?;
        rest.trim().parse().ok()
    };
    let connections = value("http.in.downstream_cx_total").or_else(|| value("tcp.in.downstream_cx_total"))?;
    Some(Passed { connections, requests: value("http.in.downstream_rq_total") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_found_by_their_whole_names() {
        let answer = "HTTP/1.1 200 OK\r\n\r\n5a\r\nhttp.in.downstream_cx_total: 3\n\
                      http.in.downstream_rq_total: 41\r\n0\r\n\r\n";
        assert_eq!(count(answer), Some(Passed { connections: 3, requests: Some(41) }));
        let tcp = "tcp.in.downstream_cx_total: 3\n";
        assert_eq!(count(tcp), Some(Passed { connections: 3, requests: None }));
        assert_eq!(count("http.in.downstream_cx_total_2: 3\n"), None);
    }

    #[test]
    fn the_version_is_the_second_part() {
        let said = "\n/usr/bin/envoy  version: 9e55/1.40.0/Clean/RELEASE/BoringSSL\n";
        assert_eq!(version(said), Some("1.40.0"));
        assert_eq!(version("envoy"), None);
    }
}
