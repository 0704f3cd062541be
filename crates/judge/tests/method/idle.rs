//! The idle check: rounds in which idle cores waited the other way, and the findings on them.

use weighbridge_judge::{Question, summarise};
use weighbridge_model::estimate::Validity;
use weighbridge_model::idle::{Idle, IdleWait};
use weighbridge_model::pairing::Pairing;
use weighbridge_model::record::{TrialRecord, WindowKind};
use weighbridge_model::summary::{Finding, Severity, Summary};

use crate::common::{Place, add_window, noisy, normal, question, random, ratio, run};

/// Six blocks of twenty rounds in which the variant takes `cost` times the baseline's time, and of four check
/// rounds in which it takes `checked` times that.
fn with_check(seed: u64, cost: f64, checked: f64) -> Vec<TrialRecord> {
    let mut random = random(seed);
    let starts: Vec<f64> = (0..6).map(|_| 0.003 * normal(&mut random)).collect();
    let middle = |variant: u16, block: u32, cost: f64| match variant {
        0 => 100_000.0,
        _ => 100_000.0 * cost * starts[block as usize].exp(),
    };
    let mut trials =
        run(6, 20, |variant, block, _| noisy(&mut random, middle(variant, block, cost), 0.02, 200));
    for trial in &mut trials {
        for round in 0..4 {
            let middle = middle(trial.variant.0, trial.block, checked);
            let place =
                Place { kind: WindowKind::IdleCheck, ..Place::measured(round, u32::from(trial.variant.0)) };
            add_window(trial, place, &noisy(&mut random, middle, 0.02, 200));
        }
    }
    trials
}

fn asked(was: Idle) -> Question {
    Question {
        idle: Some(IdleWait { asked: Idle::Polled, was, ..IdleWait::default() }),
        ..question(&["a", "b"])
    }
}

fn found<'a>(summary: &'a Summary, name: &str) -> Option<&'a Finding> {
    summary.findings.iter().find(|finding| finding.name == name)
}

#[test]
fn both_costs_are_reported_if_they_differ_and_neither_is_called_wrong() {
    let awake = summarise(&asked(Idle::Polled), &with_check(1, 1.14, 1.48));
    let finding = found(&awake, "depends on idle cores").expect("a finding");
    assert_eq!(
        finding.evidence,
        "response p50 against the baseline: with cores that sleep between requests +48.0 %; kept awake +14.0 %"
    );
    assert_eq!((finding.severity, awake.validity), (Severity::Note, Validity::Valid));
    assert!((ratio(&awake, awake.headline) - 1.14).abs() < 0.005, "the check is in no estimate");
    // The same record, but the run left cores as the host has them: the two costs change places.
    let asleep = summarise(&asked(Idle::Host), &with_check(1, 1.14, 1.48));
    let evidence = &found(&asleep, "depends on idle cores").expect("a finding").evidence;
    assert!(evidence.ends_with("sleep between requests +14.0 %; kept awake +48.0 %"), "{evidence}");
}

#[test]
fn a_cost_that_is_pooled_is_checked_by_its_windows() {
    for pairing in [Pairing::Sequential, Pairing::Requests] {
        let mut trials = with_check(2, 1.14, 1.48);
        trials.iter_mut().for_each(|trial| trial.pairings = vec![pairing]);
        let summary = summarise(&asked(Idle::Polled), &trials);
        assert!(found(&summary, "depends on idle cores").is_some(), "{pairing:?}: {:?}", summary.findings);
    }
}

/// p below 1 %, and outside the interval too: fewer than four of 100 runs.
#[test]
fn a_cost_that_is_the_same_either_way_is_seldom_reported_to_differ() {
    let alarms = (0..100).filter(|seed| {
        let summary = summarise(&asked(Idle::Polled), &with_check(100 + seed, 1.1, 1.1));
        found(&summary, "depends on idle cores").is_some()
    });
    assert!(alarms.count() < 4);
}

#[test]
fn a_run_that_could_not_keep_cores_awake_says_why_and_what_would_help() {
    let refused = Question {
        idle: Some(IdleWait {
            asked: Idle::Polled,
            was: Idle::Host,
            refused: Some("the device may not be opened".to_owned()),
            remedy: Some("run as root".to_owned()),
        }),
        ..question(&["a", "b"])
    };
    let summary = summarise(&refused, &with_check(3, 1.1, 1.1));
    let finding = found(&summary, "cores sleep").expect("a finding");
    assert_eq!(
        finding.evidence,
        "idle cores could not be kept awake: the device may not be opened; the price of waking them is in every time"
    );
    assert_eq!(finding.remedy, "run as root");
    assert_eq!(summary.idle.expect("it is known").was, Idle::Host);
}
