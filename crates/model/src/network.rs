//! The words of a trial's network: which layers stood there and by what, and what passed over their links.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::PointId;
use crate::quantity::{Bytes, Nanoseconds};
use crate::relayed::Relayed;

/// What a variant's layers were in one trial.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NetworkFacts {
    /// The layers from the client's end inward.
    pub layers: Vec<LayerFacts>,
    /// Largest packet between the ends of the innermost link, in bytes; `None` where there are no hosts.
    pub mtu: Option<u32>,
    /// How TCP adapts to the link, as both hosts have it; `None` where there are no hosts.
    pub congestion_control: Option<String>,
    /// What passed over each link from the moment the service was ready to the trial's end.
    pub links: Vec<LinkCounters>,
    /// What TCP of either host sent from the moment the service was ready to the trial's end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub segments: Vec<HostSegments>,
    /// What the tunnels of overlays passed from the moment the service was ready to the trial's end, by their own account.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tunnels: Vec<TunnelCounts>,
    /// What crossed the client's link while each point was measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub crossed: Vec<Crossed>,
    /// The programs of layers, and what they counted themselves from the moment they were ready to the trial's end.
    #[serde(default)]
    pub programs: Vec<ProgramFacts>,
    /// Why links and programs do not show that the trial's packets took this way; `None` where they do.
    pub unproved: Option<String>,
    /// What the relay in user space carried, where one stood there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relayed: Option<Box<Relayed>>,
}

/// One layer as it was put in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LayerFacts {
    /// Its kind, as an experiment file names it: `rate`.
    pub layer: String,
    /// Its name with its settings: `rate 100 Mbit/s`.
    pub name: String,
    /// What it is made of: `tbf`, `netem`, a program with its version.
    pub by: String,
}

/// What passed one end of an overlay's tunnel, by its own account: each packet of its kind on the link below, and no other.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TunnelCounts {
    /// The layer's name: `ovs-gre`.
    pub layer: String,
    /// Whose end: `client` or `server`.
    pub host: String,
    /// What its packets are on the link below: `UDP 4789`, `GRE`.
    pub kind: String,
    /// Packets that came in; `None` where it counts bytes alone.
    pub received_packets: Option<u64>,
    /// Their bytes.
    pub received_bytes: u64,
    /// Packets that went out; `None` where it counts bytes alone.
    pub sent_packets: Option<u64>,
    /// Their bytes.
    pub sent_bytes: u64,
}

impl TunnelCounts {
    /// Bytes in both directions.
    pub const fn bytes(&self) -> Bytes {
        Bytes::new(self.received_bytes + self.sent_bytes)
    }
}

/// What crossed the link of a variant's client while one point was measured: from before its first lead-in to after its
/// last window, warm-up left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Crossed {
    /// The point.
    pub point: PointId,
    /// Requests answered in that time, well or not.
    pub requests: u64,
    /// Packets both ways; one that is handed over whole and cut later counts once.
    pub packets: u64,
    /// Their bytes, from the Ethernet header on.
    pub bytes: Bytes,
}

/// One program of a layer, such as a proxy.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramFacts {
    /// The layer's name: `sidecar:haproxy`.
    pub layer: String,
    /// Its role, under which its CPU time and memory are told apart.
    pub role: String,
    /// Its version as it says itself.
    pub version: String,
    /// Time from start to ready.
    #[serde(rename = "start_ns")]
    pub start: Nanoseconds,
    /// Connections that it accepted.
    pub connections: u64,
    /// Requests that it read; `None` where it passes bytes on.
    pub requests: Option<u64>,
}

/// What TCP of a host sent, over all its connections, as the kernel counts it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostSegments {
    /// Whose: `client` or `server`.
    pub host: String,
    /// Segments, those sent again left out.
    pub sent: u64,
    /// Segments that were sent again.
    pub again: u64,
}

impl HostSegments {
    /// What was sent since `before`, which is of the same host.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            host: self.host.clone(),
            sent: self.sent.saturating_sub(before.sent),
            again: self.again.saturating_sub(before.again),
        }
    }
}

/// What passed over one link, as the kernel counts it: a packet that is handed over whole and cut later counts once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LinkCounters {
    /// Whose end of the link: `client`, `switch`, `server`, or `container` for the service's own network.
    pub host: String,
    /// The device there.
    pub device: String,
    /// Packets that came in.
    pub received_packets: u64,
    /// Their bytes, from the Ethernet header on.
    pub received_bytes: u64,
    /// Packets that went out.
    pub sent_packets: u64,
    /// Their bytes, from the Ethernet header on.
    pub sent_bytes: u64,
}

impl LinkCounters {
    /// What passed since `before`, which is of the same device.
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

    /// Packets in both directions.
    pub const fn packets(&self) -> u64 {
        self.received_packets + self.sent_packets
    }

    /// Bytes in both directions.
    pub const fn bytes(&self) -> Bytes {
        Bytes::new(self.received_bytes + self.sent_bytes)
    }
}

/// What passed between two readings, device by device; one that is new counts from zero.
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
