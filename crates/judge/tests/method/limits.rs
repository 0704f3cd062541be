//! Limits of CPU time and memory are reported with the figures; only a process killed at a limit makes them
//! invalid.

use crate::common;

use common::{good, question, run};
use weighbridge_judge::checks::limits::{CPU_QUOTA, MEMORY_LIMIT, OUT_OF_MEMORY};
use weighbridge_judge::summarise;
use weighbridge_model::estimate::Validity;
use weighbridge_model::quantity::{Bytes, Nanoseconds};
use weighbridge_model::record::{CpuQuota, MemoryFacts, QuotaFacts, QuotaOrigin, Throttling, TrialRecord};
use weighbridge_model::summary::{Finding, Severity, Summary};

const MILLIS: fn(u64) -> Nanoseconds = Nanoseconds::from_millis;

/// Six blocks of two variants, the second under a quota.
fn limited(origin: QuotaOrigin, throttling: Option<Throttling>) -> Vec<TrialRecord> {
    let mut trials = run(6, 10, |_, _, _| vec![good(100_000); 200]);
    for trial in trials.iter_mut().filter(|trial| trial.variant.0 == 1) {
        let quota = CpuQuota { time: MILLIS(50), period: MILLIS(100) };
        trial.service.quota = Some(QuotaFacts { quota, origin, throttling });
    }
    trials
}

fn notes(summary: &Summary) -> Vec<&Finding> {
    summary.findings.iter().filter(|finding| finding.name == CPU_QUOTA).collect()
}

#[test]
fn what_a_quota_did_is_summed_over_blocks_and_reported_as_a_note() {
    let throttling = Throttling { periods: 100, throttled: 90, time: MILLIS(4_000) };
    let summary =
        summarise(&question(&["whole", "half"]), &limited(QuotaOrigin::Experiment, Some(throttling)));
    let [note] = notes(&summary)[..] else { panic!("{:?}", summary.findings) };
    assert_eq!((note.severity, note.subject.as_str()), (Severity::Note, "half"));
    for part in ["50", "100", "0.5 cores", "540 of 600 periods", "24"] {
        assert!(note.evidence.contains(part), "`{part}` is not in `{}`", note.evidence);
    }
    assert_eq!(summary.variants[1].validity, Validity::Valid);
    assert!(summary.variants[1].reasons.is_empty(), "{:?}", summary.variants[1].reasons);
}

#[test]
fn a_quota_of_somebody_else_says_so_and_what_to_do() {
    let summary = summarise(&question(&["whole", "half"]), &limited(QuotaOrigin::Host, None));
    let [note] = notes(&summary)[..] else { panic!("{:?}", summary.findings) };
    assert!(note.evidence.contains("not set by the experiment"), "{}", note.evidence);
    assert!(note.evidence.contains("the kernel does not tell"), "{}", note.evidence);
    assert!(note.remedy.contains("`cpu`"), "{}", note.remedy);
}

/// Six blocks of two variants, the second under a limit of memory at which `killed` processes were killed in
/// each.
fn confined(killed: u64) -> Summary {
    let mut trials = run(6, 10, |_, _, _| vec![good(100_000); 200]);
    for trial in trials.iter_mut().filter(|trial| trial.variant.0 == 1) {
        let (limit, peak) = (Bytes::new(256_000_000), Some(Bytes::new(123_000_000)));
        trial.service.memory = Some(MemoryFacts { limit, peak, met: 2, killed });
    }
    summarise(&question(&["whole", "small"]), &trials)
}

#[test]
fn a_limit_of_memory_is_a_note_with_what_was_held() {
    let summary = confined(0);
    let found = summary.findings.iter().find(|finding| finding.name == MEMORY_LIMIT).expect("a note");
    assert_eq!((found.severity, found.subject.as_str()), (Severity::Note, "small"));
    for part in ["256 MB of memory", "123 MB at most", "met 12 times"] {
        assert!(found.evidence.contains(part), "`{part}` is not in `{}`", found.evidence);
    }
    assert_eq!(summary.variants[1].validity, Validity::Valid);
}

#[test]
fn where_a_process_was_killed_for_want_of_memory_the_figures_are_invalid() {
    let summary = confined(1);
    let found = summary.findings.iter().find(|finding| finding.name == OUT_OF_MEMORY).expect("a finding");
    assert!(found.evidence.contains("6 of its processes were killed"), "{}", found.evidence);
    assert!(found.remedy.contains("`memory`"), "{}", found.remedy);
    assert_eq!(summary.variants[1].validity, Validity::Invalid);
    assert_eq!(summary.variants[0].validity, Validity::Valid);
}

#[test]
fn without_a_quota_there_is_no_note() {
    let trials = run(6, 10, |_, _, _| vec![good(100_000); 200]);
    assert!(notes(&summarise(&question(&["one", "other"]), &trials)).is_empty());
}
