//! Did the variant answer, and answer well?

use weighbridge_model::quantity::{Ratio, grouped};
use weighbridge_model::record::{ErrorCounts, ErrorKind, FailedReplies, WindowRecord};

use super::{Alarm, CheckContext, Impact, VariantTotals};
use crate::question::Scope;
use crate::records::Cell;
use crate::thresholds::{ERROR_SHARE, WRONG_SHARE};

pub(super) fn not_measured() -> Alarm {
    Alarm {
        impact: Impact::Invalid,
        name: "not measured",
        evidence: "no block counts".to_owned(),
        remedy: "look at why blocks were void, and run it again",
    }
}

pub(super) fn no_good_reply(context: &CheckContext<'_>) -> Option<Alarm> {
    let good: u64 = context.totals.cells.iter().map(|cell| cell.good(Scope::All)).sum();
    (good == 0).then(|| Alarm {
        impact: Impact::Invalid,
        name: "no good reply",
        evidence: format!("none of {} requests was answered well", context.totals.requests),
        remedy: "run `weigh verify` and look at the errors by kind",
    })
}

pub(super) fn errors(context: &CheckContext<'_>) -> Option<Alarm> {
    let mut counts = ErrorCounts::default();
    context.totals.cells.iter().for_each(|cell| counts.add(cell.errors()));
    (context.totals.failed > 0).then(|| Alarm {
        impact: if context.totals.error_share() > ERROR_SHARE { Impact::Suspect } else { Impact::Note },
        name: "errors",
        evidence: format!(
            "{} of {} requests failed: {}",
            grouped(context.totals.failed),
            grouped(context.totals.requests),
            by_kind(&counts)
        ),
        remedy: "look at the service's output; times and throughput are of good replies",
    })
}

/// Replies of good status with wrong content, in any window, as the kinds are counted: what answers wrongly does other work, however
/// fast, and its owner wants to know.
pub(super) fn wrong_replies(context: &CheckContext<'_>) -> Option<Alarm> {
    let trials = || context.totals.cells.iter().flat_map(|cell| &cell.trials);
    let (mut wrong, mut requests) = (0, 0);
    let is_here = |window: &&WindowRecord| window.point == context.point;
    for window in trials().flat_map(|trial| &trial.windows).filter(is_here) {
        wrong += window.figures.errors.check;
        requests += window.figures.begun();
    }
    let mut said: Vec<FailedReplies> = Vec::new();
    let told = trials().flat_map(|trial| &trial.failures);
    for one in told.filter(|one| one.point == context.point && one.kind == ErrorKind::Check) {
        match said.iter_mut().find(|known| known.text == one.text) {
            Some(known) => known.count += one.count,
            None => said.push(one.clone()),
        }
    }
    let kind = |one: &FailedReplies| {
        let example =
            if one.example.is_empty() { String::new() } else { format!(" (first: {})", one.example) };
        format!("{} {}{example}", grouped(one.count), one.text)
    };
    let kinds: Vec<String> = said.iter().map(kind).collect();
    let kinds = if kinds.is_empty() { String::new() } else { format!(": {}", kinds.join("; ")) };
    (wrong > 0).then(|| Alarm {
        impact: if wrong as f64 >= WRONG_SHARE * requests as f64 { Impact::Invalid } else { Impact::Suspect },
        name: "wrong replies",
        evidence: format!("{} of {} replies have wrong content{kinds}", grouped(wrong), grouped(requests)),
        remedy: "mend the service: a reply that is wrong costs nothing that can be compared",
    })
}

/// No figure includes these errors, but the variant failed.
pub(super) fn errors_elsewhere(context: &CheckContext<'_>) -> Option<Alarm> {
    let (mut counts, mut requests) = (ErrorCounts::default(), 0);
    for window in context.totals.cells.iter().flat_map(Cell::other_windows) {
        counts.add(window.figures.errors);
        requests += window.figures.begun();
    }
    (counts.total() > 0).then(|| Alarm {
        impact: Impact::Note,
        name: "errors elsewhere",
        evidence: format!(
            "{} of {requests} requests of longer windows and idle checks failed: {}",
            counts.total(),
            by_kind(&counts)
        ),
        remedy: "look at the service's output; they are in no figure, and gates on `errors` see them",
    })
}

fn by_kind(counts: &ErrorCounts) -> String {
    let kinds = ErrorKind::ALL.into_iter().filter(|kind| counts.get(*kind) > 0);
    kinds.map(|kind| format!("{} {}", counts.get(kind), kind.name())).collect::<Vec<_>>().join(", ")
}

pub(super) fn timeouts(context: &CheckContext<'_>) -> Option<Alarm> {
    let count: u64 = context.totals.cells.iter().map(|cell| cell.errors().timeout).sum();
    (count > 0).then(|| Alarm {
        impact: Impact::Note,
        name: "lower bounds",
        evidence: format!("{count} timeouts count as if answered when given up: true times are longer"),
        remedy: "allow a longer `timeout` where the tail matters",
    })
}

/// Connections that had to be opened while it was measured: its figures include their cost.
pub(super) fn reconnects(context: &CheckContext<'_>) -> Option<Alarm> {
    let count: u64 =
        context.totals.cells.iter().flat_map(|cell| &cell.windows).map(|w| w.figures.connects).sum();
    (count > 0).then(|| Alarm {
        impact: Impact::Note,
        name: "reconnects",
        evidence: format!(
            "{count} connections were opened in measured windows, one for every {:.0} requests",
            context.totals.requests as f64 / count as f64
        ),
        remedy: "see whether the service closes connections, and whether all variants do so alike",
    })
}

/// A variant that fails more often than another does less work, so its cost is not that of the same work.
pub(super) fn other_errors(context: &CheckContext<'_>) -> Option<Alarm> {
    let beside: Vec<_> = context.pairs().into_iter().map(|pair| pair.baseline).collect();
    if context.is_baseline() || beside.is_empty() {
        return None;
    }
    let baseline = VariantTotals::from_cells(beside, context.point);
    let (mine, theirs) = (context.totals.error_share(), baseline.error_share());
    ((mine - theirs).abs() > ERROR_SHARE).then(|| Alarm {
        impact: Impact::Suspect,
        name: "unequal errors",
        evidence: format!(
            "{} of its requests failed, {} of the baseline's",
            Ratio::new(mine),
            Ratio::new(theirs)
        ),
        remedy: "make both answer well before comparing their times",
    })
}
