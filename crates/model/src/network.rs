//! The network of one trial: its layers, and what their links and tunnels carried.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::PointId;
use crate::quantity::{Bytes, Nanoseconds};
use crate::relayed::Relayed;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NetworkFacts {
    /// The layers from the client's end inward.
    pub layers: Vec<LayerFacts>,
    /// Largest packet between the ends of the innermost link, in bytes; `null` without hosts.
    pub mtu: Option<u32>,
    /// TCP congestion control of both hosts; `null` without hosts.
    pub congestion_control: Option<String>,
    /// Traffic of each link from the moment the service was ready to the trial's end.
    pub links: Vec<LinkCounters>,
    /// Segments that each host's TCP sent from the moment the service was ready to the trial's end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub segments: Vec<HostSegments>,
    /// Traffic of the overlays' tunnels, as they count it, from the moment the service was ready to the
    /// trial's end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tunnels: Vec<TunnelCounts>,
    /// Traffic on the client's link while each point was measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub crossed: Vec<Crossed>,
    /// The programs of layers, with what they counted themselves from the moment they were ready to the
    /// trial's end.
    #[serde(default)]
    pub programs: Vec<ProgramFacts>,
    /// Why the counters do not show that the trial's packets passed all layers; `null` if they do.
    pub unproved: Option<String>,
    /// What the packet relay carried, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relayed: Option<Box<Relayed>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LayerFacts {
    /// Its kind, as an experiment file names it: `rate`.
    pub layer: String,
    /// Its name with its settings: `rate 100 Mbit/s`.
    pub name: String,
    /// What implements it: `tbf`, `netem`, a program with its version.
    pub by: String,
}

/// Traffic at one end of an overlay's tunnel, as the tunnel counts it: every packet of its kind on the link
/// below, and no other.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TunnelCounts {
    /// The layer's name: `ovs-gre`.
    pub layer: String,
    /// Which end: `client` or `server`.
    pub host: String,
    /// The kind of its packets on the link below: `UDP 4789`, `GRE`.
    pub kind: String,
    /// Received packets; `null` if the tunnel counts only bytes.
    pub received_packets: Option<u64>,
    pub received_bytes: u64,
    /// Sent packets; `null` if the tunnel counts only bytes.
    pub sent_packets: Option<u64>,
    pub sent_bytes: u64,
}

impl TunnelCounts {
    pub const fn bytes(&self) -> Bytes {
        Bytes::new(self.received_bytes + self.sent_bytes)
    }
}

/// Traffic on the link of a variant's client while one point was measured: from before its first lead-in to
/// after its last window, without the warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Crossed {
    pub point: PointId,
    /// Requests answered in that time, good and failed ones.
    pub requests: u64,
    /// Packets both ways; a packet that is segmented later (offload) counts once.
    pub packets: u64,
    /// Bytes, including the Ethernet header.
    pub bytes: Bytes,
}

/// One program of a layer, such as a proxy.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramFacts {
    /// The layer's name: `sidecar:haproxy`.
    pub layer: String,
    /// The role to which its CPU time and memory are attributed.
    pub role: String,
    pub version: String,
    /// From start to ready.
    #[serde(rename = "start_ns")]
    pub start: Nanoseconds,
    pub connections: u64,
    /// Requests that it read; `null` if it passes on bytes without reading requests.
    pub requests: Option<u64>,
}

/// TCP segments that a host sent over all its connections, as the kernel counts them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostSegments {
    /// `client` or `server`.
    pub host: String,
    /// Segments without retransmissions.
    pub sent: u64,
    /// Retransmitted segments.
    pub again: u64,
}

impl HostSegments {
    /// Counts since `before`, a reading of the same host.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            host: self.host.clone(),
            sent: self.sent.saturating_sub(before.sent),
            again: self.again.saturating_sub(before.again),
        }
    }
}

/// Traffic of one link, as the kernel counts it: a packet that is segmented later (offload) counts once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LinkCounters {
    /// Which end of the link: `client`, `switch`, `server`, or `container` for the service's own network.
    pub host: String,
    /// Name of the network device.
    pub device: String,
    pub received_packets: u64,
    /// Bytes, including the Ethernet header.
    pub received_bytes: u64,
    pub sent_packets: u64,
    /// Bytes, including the Ethernet header.
    pub sent_bytes: u64,
}

impl LinkCounters {
    /// Counts since `before`, a reading of the same device.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            host: self.host.clone(),
            device: self.device.clone(),
            received_packets: self.received_packets.saturating_sub(before.received_packets),
            received_bytes: self.received_bytes.saturating_sub(before.received_bytes),
            sent_packets: self.sent_packets.saturating_sub(before.sent_packets),
            sent_bytes: self.sent_bytes.saturating_sub(before.sent_bytes),
        }
    }

    pub const fn packets(&self) -> u64 {
        self.received_packets + self.sent_packets
    }

    pub const fn bytes(&self) -> Bytes {
        Bytes::new(self.received_bytes + self.sent_bytes)
    }
}

/// Traffic between two readings, device by device; a new device counts from zero.
pub fn passed(before: &[LinkCounters], after: &[LinkCounters]) -> Vec<LinkCounters> {
    let same = |a: &LinkCounters, b: &LinkCounters| a.host == b.host && a.device == b.device;
    let since = |now: &LinkCounters| match before.iter().find(|then| same(then, now)) {
        Some(then) => now.since(then),
        None => now.clone(),
    };
    after.iter().map(since).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passed_is_the_difference_of_the_same_device() {
        let counters = |device: &str, sent_packets| LinkCounters {
            host: "client".to_owned(),
            device: device.to_owned(),
            sent_packets,
            ..LinkCounters::default()
        };
        let before = [counters("eth0", 10)];
        let after = [counters("vx0", 3), counters("eth0", 15)];
        assert_eq!(passed(&before, &after), [counters("vx0", 3), counters("eth0", 5)]);
        assert_eq!(after[0].packets(), 3);
    }
}
