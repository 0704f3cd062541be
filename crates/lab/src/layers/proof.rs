//! Whether the counters of links and tunnels in a trial prove that the answers passed the layers.
//!
//! Other modules read the counters before and after. Here the differences are compared with what was
//! answered, and a contradiction is returned as text.

use weighbridge_model::network::{LinkCounters, TunnelCounts};

use super::Answered;
use super::veth::DEVICE;

/// Whether a device passed packets both ways, and as many bytes as were answered, since hosts that only
/// resolve each other's hardware address also pass some packets. Replies may share a packet, so not one
/// packet per request is required.
pub(super) fn check_device(
    host: &str,
    device: &str,
    passed: &[LinkCounters],
    answered: Answered,
) -> Result<(), String> {
    let Some(link) = passed.iter().find(|link| link.host == host && link.device == device) else {
        return Err(format!("`{device}` of the {host} was gone at the end of the trial"));
    };
    let requests = answered.requests;
    let is_silent = link.sent_packets == 0 || link.received_packets == 0;
    if requests > 0 && is_silent {
        return Err(format!(
            "{requests} requests were answered, and `{device}` of the {host} saw {} packets out and {} in: they took another way",
            link.sent_packets, link.received_packets
        ));
    }
    if !answered.is_within(link.bytes().get()) {
        return Err(format!(
            "{requests} requests were answered, with {} bytes in all, and `{device}` of the {host} saw {}: they took another way",
            answered.bytes,
            link.bytes().get()
        ));
    }
    Ok(())
}

/// Whether both ends of a tunnel passed what was answered.
pub(super) fn check_tunnels(tunnels: &[TunnelCounts], answered: Answered) -> Result<(), String> {
    let is_short = |end: &&TunnelCounts| {
        let is_silent = answered.requests > 0 && (end.sent_bytes == 0 || end.received_bytes == 0);
        is_silent || !answered.is_within(end.bytes().get())
    };
    match tunnels.iter().find(is_short) {
        None => Ok(()),
        Some(end) => Err(format!(
            "{} requests were answered, with {} bytes in all, and the tunnel's end of the {} counts {} bytes out and {} in, as {}: \
             they took another way",
            answered.requests, answered.bytes, end.host, end.sent_bytes, end.received_bytes, end.kind
        )),
    }
}

/// Whether the host's link passed the packets of the device above it. A tenth may be missing: between the
/// readings of both devices, a user-space switch holds packets that only one of them has counted. Fewer
/// packets suffice if as many bytes passed, since a tunnel's daemon may merge several packets.
pub(super) fn check_link_below(host: &str, above: &str, passed: &[LinkCounters]) -> Result<(), String> {
    let link = |device: &str| passed.iter().find(|link| link.host == host && link.device == device);
    let packets = |device: &str| link(device).map_or(0, LinkCounters::packets);
    let bytes = |device: &str| link(device).map_or(0, |link| link.received_bytes + link.sent_bytes);
    let has_fewer = packets(DEVICE) < packets(above) - packets(above) / 10;
    if has_fewer && bytes(DEVICE) < bytes(above) - bytes(above) / 10 {
        return Err(format!(
            "{} packets passed `{above}` of the {host} and only {} the link below it",
            packets(above),
            packets(DEVICE)
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tunnel_must_have_passed_the_answers_both_ways() {
        let end = |received_bytes, sent_bytes| TunnelCounts {
            layer: "ovs-gre".to_owned(),
            host: "client".to_owned(),
            kind: "GRE".to_owned(),
            received_bytes,
            sent_bytes,
            ..TunnelCounts::default()
        };
        let answered = Answered { requests: 10, bytes: 2_000 };
        assert_eq!(check_tunnels(&[], answered), Ok(()), "there is none");
        assert_eq!(check_tunnels(&[end(900, 900)], answered), Ok(()), "some may not have been added up");
        for short in [end(900, 899), end(0, 2_000), end(2_000, 0)] {
            let why = check_tunnels(&[end(5_000, 5_000), short], answered).expect_err("it passed less");
            assert!(
                why.contains("10 requests were answered, with 2000 bytes in all") && why.contains("as GRE"),
                "{why}"
            );
        }
        assert_eq!(check_tunnels(&[end(0, 0)], Answered::default()), Ok(()), "nothing was to pass");
    }
}
