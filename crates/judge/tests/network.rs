//! Layers: packets that took another way make a variant invalid, and where packets are lost on purpose segments that are
//! sent again speak against nothing.

mod common;

use common::{good, question, run};
use weighbridge_judge::network::ANOTHER_WAY;
use weighbridge_judge::summarise;
use weighbridge_model::network::{LayerFacts, NetworkFacts};
use weighbridge_model::record::TrialRecord;
use weighbridge_model::summary::{Finding, Severity, Summary, Validity};

/// Six blocks of two variants, the second behind a layer.
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
