//! What passed over the links of a network of ours, as the kernel counts it.
//!
//! Reading is all it does; what should have passed is for the layers to say.

use std::fs;

use weighbridge_model::network::LinkCounters;

/// The counters of the devices in the text of `/proc/net/dev`, loopback left out, as those of `host`.
pub fn parse_devices(host: &str, text: &str) -> Vec<LinkCounters> {
    let devices = text.lines().filter_map(|line| parse_device(host, line));
    devices.filter(|counters| counters.device != "lo").collect()
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
    parse_devices(host, &fs::read_to_string("/proc/thread-self/net/dev").unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEVICES: &str = "Inter-|   Receive                                                |  Transmit\n \
        face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n    \
        lo: 420 5 0 0 0 0 0 0 420 5 0 0 0 0 0 0\n  \
        eth0: 1816 12 0 0 0 0 0 0 1274 11 0 0 0 0 0 0\n";

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
