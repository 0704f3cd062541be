//! Layers: packets that took another way make a variant invalid; where packets are lost on purpose,
//! retransmitted segments are only a note.

use crate::common;

use common::{good, question, run};
use weighbridge_judge::checks::network::{ANOTHER_WAY, NO_NULL_PATH};
use weighbridge_judge::question::StackElement;
use weighbridge_judge::summarise;
use weighbridge_model::estimate::Validity;
use weighbridge_model::network::{HostSegments, LayerFacts, NetworkFacts};
use weighbridge_model::record::TrialRecord;
use weighbridge_model::summary::{Finding, Severity, Summary};

fn behind(layer: &str) -> Vec<TrialRecord> {
    let mut trials = run(6, 10, |_, _, _| vec![good(100_000); 200]);
    for trial in trials.iter_mut().filter(|trial| trial.variant.0 == 1) {
        let facts = LayerFacts { layer: layer.to_owned(), name: layer.to_owned(), by: "tbf".to_owned() };
        trial.service.network =
            Some(Box::new(NetworkFacts { layers: vec![facts], ..NetworkFacts::default() }));
    }
    trials
}

fn judged(trials: &[TrialRecord]) -> Summary {
    summarise(&question(&["bare", "layered"]), trials)
}

fn finding<'s>(summary: &'s Summary, name: &str) -> Option<&'s Finding> {
    summary.findings.iter().find(|finding| finding.name == name)
}

#[test]
fn one_trial_whose_packets_took_another_way_makes_its_variant_invalid() {
    let mut trials = behind("vxlan");
    assert_eq!(finding(&judged(&trials), ANOTHER_WAY), None);
    let why = "layer `vxlan`: 7 requests were answered, and `vxlan0` saw nothing";
    let one = trials.iter_mut().find(|trial| trial.variant.0 == 1 && trial.block == 3).expect("a trial");
    one.service.network.as_mut().expect("a network").unproved = Some(why.to_owned());
    let summary = judged(&trials);
    let found = finding(&summary, ANOTHER_WAY).expect("it is told");
    assert_eq!((found.severity, found.subject.as_str()), (Severity::Problem, "layered"));
    assert_eq!(found.evidence, format!("in one trial {why}"));
    assert_eq!(summary.variants[1].validity, Validity::Invalid);
    assert_eq!(summary.variants[0].validity, Validity::Valid);
}

#[test]
fn what_hosts_send_again_is_a_note_unless_packets_are_lost_on_purpose() {
    for (layer, again, is_reported) in [("ovs", 30, true), ("ovs", 15, false), ("loss", 30, false)] {
        let mut trials = behind(layer);
        for trial in trials.iter_mut().filter(|trial| trial.variant.0 == 1) {
            let network = trial.service.network.get_or_insert_default();
            let host = |host: &str, again| HostSegments { host: host.to_owned(), sent: 500, again };
            network.segments = vec![host("client", 0), host("server", again)];
        }
        let summary = judged(&trials);
        let found = finding(&summary, "lost on the way");
        assert_eq!(found.is_some(), is_reported, "{layer} {again}: {found:?}");
        assert_eq!(summary.variants[1].validity, Validity::Valid, "{layer}");
    }
}

#[test]
fn segments_sent_again_are_a_note_where_packets_are_lost_on_purpose() {
    for (layer, validity) in
        [("veth", Validity::Suspect), ("loss", Validity::Valid), ("rate", Validity::Valid)]
    {
        let mut trials = behind(layer);
        for trial in trials.iter_mut().filter(|trial| trial.variant.0 == 1) {
            for window in &mut trial.windows {
                window.figures.traffic.segments_out = 1_000;
                window.figures.traffic.retransmits = 10;
            }
        }
        let summary = judged(&trials);
        assert!(finding(&summary, "retransmits").is_some(), "{layer}");
        assert_eq!(summary.variants[1].validity, validity, "{layer}");
    }
}

#[test]
fn a_relay_in_user_space_without_its_null_path_is_a_note() {
    let mut trials = behind("delay");
    let judged = |trials: &[TrialRecord], null: &[&str]| {
        let mut question = question(&["null", "layered"]);
        question.variants[0].stack.elements = null.iter().copied().map(StackElement::layer).collect();
        summarise(&question, trials)
    };
    // The kernel's netem needs no packet relay.
    assert_eq!(finding(&judged(&trials, &["veth"]), NO_NULL_PATH), None);
    for trial in trials.iter_mut().filter(|trial| trial.variant.0 == 1) {
        trial.service.network.get_or_insert_default().relayed = Some(Box::default());
    }
    let summary = judged(&trials, &["veth"]);
    let found = finding(&summary, NO_NULL_PATH).expect("it is told");
    assert_eq!((found.severity, found.subject.as_str()), (Severity::Note, "layered"));
    assert_eq!(finding(&judged(&trials, &["veth", "relay"]), NO_NULL_PATH), None);
    assert!(finding(&judged(&trials, &["veth", "relay", "loss 1 %"]), NO_NULL_PATH).is_some());
}

#[test]
fn an_overlay_needs_its_lower_network_as_a_variant() {
    let trials = run(6, 10, |_, _, _| vec![good(100_000); 200]);
    for (base, overlay, is_reported) in [
        (&[][..], &["veth", "vxlan"][..], true),
        (&[], &["veth mtu 9000", "vxlan flannel", "sidecar:haproxy"], true),
        (&["veth"], &["veth", "vxlan"], false),
        (&["veth", "vxlan"], &["veth", "vxlan", "sidecar:haproxy"], false),
        (&[], &["sidecar:haproxy"], false),
        (&[], &["veth"], false),
        (&["veth"], &["veth", "ovs", "tunnel vxlan"], true),
        (&["veth", "ovs"], &["veth", "ovs", "tunnel vxlan"], false),
    ] {
        let mut question = question(&["base", "overlay"]);
        for (variant, layers) in question.variants.iter_mut().zip([base, overlay]) {
            variant.stack.elements = layers.iter().copied().map(StackElement::layer).collect();
        }
        let summary = summarise(&question, &trials);
        let found = finding(&summary, NO_NULL_PATH);
        assert_eq!(found.is_some(), is_reported, "{base:?} {overlay:?}: {found:?}");
    }
}
