//! Did the packets go where the variant says, and did they arrive?
//!
//! The lab reads the counters and records what it missed there; here that becomes a finding.

use weighbridge_model::record::TrialRecord;

use super::{Alarm, CheckContext, Impact};
use crate::question::{RELAYED, StackElement, Transport, Variant};
use crate::records::Cell;
use crate::thresholds::{LOST_SHARE, RETRANSMIT_SHARE};

pub const ANOTHER_WAY: &str = "another way";

pub const LOST_ON_THE_WAY: &str = "lost on the way";

pub const NO_NULL_PATH: &str = "no null path";

/// Layers that lose packets by design: because they are told to, or because the link is slower than the load.
const LOSING: [&str; 2] = ["loss", "rate"];

/// A variant must be what its name says: bytes on the wire over TCP, none in process.
pub(super) fn wrong_transport(context: &CheckContext<'_>) -> Option<Alarm> {
    let transport = context.variant_facts().map_or(Transport::Uncounted, |variant| variant.transport);
    let bytes: u64 =
        context.totals.cells.iter().map(Cell::traffic).map(|t| t.sent.get() + t.received.get()).sum();
    let evidence = match (transport, bytes) {
        (Transport::Tcp, 0) => "not one byte was counted on its connections".to_owned(),
        (Transport::InProcess, 1..) => format!("{bytes} bytes were counted on connections of a direct call"),
        _ => return None,
    };
    Some(Alarm {
        impact: Impact::Suspect,
        name: "not what it says",
        evidence,
        remedy: "check the variant's protocol: what ran is not what its name says",
    })
}

/// Invalid: the links of a trial do not show that its packets passed the variant's layers.
pub(super) fn another_way(context: &CheckContext<'_>) -> Option<Alarm> {
    let networks = context.totals.trials().filter_map(|trial| trial.service.network.as_ref());
    let unproved: Vec<&str> = networks.filter_map(|network| network.unproved.as_deref()).collect();
    let first = unproved.first()?;
    Some(Alarm {
        impact: Impact::Invalid,
        name: ANOTHER_WAY,
        evidence: match unproved.len() {
            1 => format!("in one trial {first}"),
            several => format!("in {several} trials; in the first {first}"),
        },
        remedy: "see whether the service listens on `HOST` alone, and look at the links in `trial.json`",
    })
}

pub(super) fn retransmits(context: &CheckContext<'_>) -> Option<Alarm> {
    let traffic = || context.totals.cells.iter().map(Cell::traffic);
    let again: u64 = traffic().map(|t| t.retransmits).sum();
    let sent: u64 = traffic().map(|t| t.segments_out).sum();
    (again as f64 > RETRANSMIT_SHARE * sent as f64).then(|| Alarm {
        impact: if loses(context.totals.trials()) { Impact::Note } else { Impact::Suspect },
        name: "retransmits",
        evidence: format!("{again} of {sent} segments were sent again"),
        remedy: "look for loss or a full buffer between client and service",
    })
}

/// Whether layers of these trials lose packets, so that retransmitted segments are no defect of the host.
fn loses<'t>(mut trials: impl Iterator<Item = &'t TrialRecord>) -> bool {
    trials.any(|trial| {
        let layers = trial.service.network.iter().flat_map(|network| &network.layers);
        layers.into_iter().any(|facts| LOSING.contains(&facts.layer.as_str()))
    })
}

/// A note: the hosts of a variant retransmitted much. The generator's own sockets send little and cannot show
/// it.
pub(super) fn lost_on_the_way(context: &CheckContext<'_>) -> Option<Alarm> {
    let networks = context.totals.trials().filter_map(|trial| trial.service.network.as_ref());
    let hosts = networks.flat_map(|network| &network.segments);
    let (sent, again) = hosts.fold((0, 0), |(sent, again), host| (sent + host.sent, again + host.again));
    let is_much = again as f64 > LOST_SHARE * sent as f64;
    (is_much && !loses(context.totals.trials())).then(|| Alarm {
        impact: Impact::Note,
        name: LOST_ON_THE_WAY,
        evidence: format!("{again} segments were sent again by the variant's hosts, beside {sent} that were new"),
        remedy: "a reply that is lost takes 200 ms and more: read its high quantiles and mean, and compare again at a lower \
                 load; what stands on the way has a buffer that overflows, as switches in user space have",
    })
}

/// A note: the cost of a variant includes something below its layers that no variant of the run prices: a
/// packet relay or switch in user space, or the two hosts and their links.
pub(super) fn no_null_path(context: &CheckContext<'_>) -> Option<Alarm> {
    let CheckContext { question, variant, .. } = context;
    let is_relayed = context.totals.trials().any(|trial| {
        let network = trial.service.network.as_ref();
        network.is_some_and(|network| {
            let mut kinds = network.layers.iter().map(|facts| &facts.layer[..]);
            network.relayed.is_some() && kinds.any(|kind| RELAYED.contains(&kind))
        })
    });
    let all: Vec<Vec<&str>> = question.variants.iter().map(kinds).collect();
    let (own, baseline) = (all.get(variant.index())?, all.first()?);
    let is_null_of_relay =
        |kinds: &Vec<&str>| kinds.contains(&"relay") && !kinds.iter().any(|kind| RELAYED.contains(kind));
    let alarm = |evidence: &str, remedy| Alarm {
        impact: Impact::Note,
        name: NO_NULL_PATH,
        evidence: evidence.to_owned(),
        remedy,
    };
    if is_relayed && !all.iter().any(is_null_of_relay) {
        return Some(alarm(
            "its packets pass a program in user space, whose own price is in the cost",
            "add a variant with the layers `veth` and `relay`, and read the cost against that one",
        ));
    }
    let has_tunnel = own.contains(&"ovs") && own.contains(&"tunnel");
    let is_switch_alone = |kinds: &Vec<&str>| kinds.contains(&"ovs") && !kinds.contains(&"tunnel");
    if has_tunnel && !all.iter().any(is_switch_alone) {
        return Some(alarm(
            "its packets pass Open vSwitch in user space, whose own price is in the cost of the tunnel",
            "add a variant with the layers `veth` and `ovs`, and read the cost against that one",
        ));
    }
    let has_hosts = |kinds: &Vec<&str>| kinds.contains(&"veth");
    let is_above_hosts = own.len() > 1 && has_hosts(own) && !has_hosts(baseline);
    (is_above_hosts && !all.iter().any(|kinds| kinds[..] == ["veth"])).then(|| {
        alarm(
            "it is on hosts of its own and the baseline is not: what two hosts and a switch cost is in the cost of its layers",
            "add a variant with the layer `veth` alone, and read the cost against that one",
        )
    })
}

pub(super) fn is_delayed(variant: &Variant) -> bool {
    kinds(variant).contains(&"delay")
}

fn kinds(variant: &Variant) -> Vec<&str> {
    variant.stack.elements.iter().filter(|element| element.is_layer).map(StackElement::kind).collect()
}
