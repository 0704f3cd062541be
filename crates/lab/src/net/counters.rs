//! What passed over the links of one of our networks, by the kernel's counters.
//!
//! It only reads them; the layers know what should have passed.

use std::fs;

use weighbridge_model::network::{HostSegments, LinkCounters};

/// The counters of the devices in the text of `/proc/net/dev`, without loopback, as those of `host`.
pub fn parse_devices(host: &str, text: &str) -> Vec<LinkCounters> {
    let devices = parse_all(host, text);
    devices.filter(|counters| counters.device != "lo").collect()
}

fn parse_all(host: &str, text: &str) -> impl Iterator<Item = LinkCounters> {
    text.lines().filter_map(move |line| parse_device(host, line))
}

fn parse_device(host: &str, line: &str) -> Option<LinkCounters> {
    let (device, rest) = line.split_once(':')?;
    let fields: Vec<u64> =
        rest.split_ascii_whitespace().map(|field| field.parse().ok()).collect::<Option<_>>()?;
    let field = |at: usize| fields.get(at).copied();
    Some(LinkCounters {
        host: host.to_owned(),
        device: device.trim().to_owned(),
        received_bytes: field(0)?,
        received_packets: field(1)?,
        sent_bytes: field(8)?,
        sent_packets: field(9)?,
    })
}

/// The counters of the links in the namespace of the calling thread.
pub(crate) fn own(host: &str) -> Vec<LinkCounters> {
    parse_devices(host, &text())
}

/// Like [`own`], with loopback.
pub(crate) fn with_loopback(host: &str) -> Vec<LinkCounters> {
    parse_all(host, &text()).collect()
}

/// What TCP has sent so far in the namespace of the calling thread, as that of `host`; `None` if the kernel
/// does not report it.
pub(crate) fn own_segments(host: &str) -> Option<HostSegments> {
    parse_segments(host, &fs::read_to_string("/proc/thread-self/net/snmp").ok()?)
}

/// What TCP sent, from the text of `/proc/net/snmp`: for each protocol a line of names, then one of numbers.
pub fn parse_segments(host: &str, text: &str) -> Option<HostSegments> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Tcp:"));
    let (names, numbers) = (lines.next()?.split_ascii_whitespace(), lines.next()?.split_ascii_whitespace());
    let mut found = names.zip(numbers);
    let mut number = |wanted: &str| found.find(|(name, _)| *name == wanted)?.1.parse().ok();
    Some(HostSegments { host: host.to_owned(), sent: number("OutSegs")?, again: number("RetransSegs")? })
}

fn text() -> String {
    fs::read_to_string("/proc/thread-self/net/dev").unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEVICES: &str = "Inter-|   Receive                                                |  Transmit\n \
        face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n    \
        lo: 420 5 0 0 0 0 0 0 420 5 0 0 0 0 0 0\n  \
        eth0: 1816 12 0 0 0 0 0 0 1274 11 0 0 0 0 0 0\n";

    #[test]
    fn segments_are_found_by_their_names() {
        let text = "Ip: Forwarding\nIp: 1\n\
            Tcp: RtoAlgorithm MaxConn ActiveOpens InSegs OutSegs RetransSegs InErrs\nTcp: 1 -1 33 56 78 9 0\n\
            Udp: OutSegs\nUdp: 4\n";
        let wanted = HostSegments { host: "server".to_owned(), sent: 78, again: 9 };
        assert_eq!(parse_segments("server", text), Some(wanted));
        assert_eq!(parse_segments("server", "Tcp: OutSegs RetransSegs\nTcp: 78\n"), None);
        assert_eq!(parse_segments("server", ""), None);
        assert!(own_segments("here").is_some());
    }

    #[test]
    fn bytes_and_packets_are_counted_by_device_and_direction() {
        let eth0 = LinkCounters {
            host: "client".to_owned(),
            device: "eth0".to_owned(),
            received_bytes: 1816,
            received_packets: 12,
            sent_bytes: 1274,
            sent_packets: 11,
        };
        assert_eq!(parse_devices("client", DEVICES), [eth0]);
        assert_eq!(parse_devices("client", "eth0: 1 2 x\nnothing\n"), []);
    }
}
