//! Whether idle cores can be kept awake while something is measured.

use super::{Finding, Level, Observation, Subject};

/// A sleeping core must be woken for each request of a lightly loaded service. Results therefore differ
/// between hosts whose cores can be kept awake and others.
pub(super) fn idle_states(seen: &Observation) -> Option<Finding> {
    let states = seen.facts.idle.in_words();
    match &seen.awake {
        Ok(()) => {
            let evidence = format!("kept awake while measured ({states})");
            Some(Finding::new(Level::Fine, Subject::IdleStates, evidence))
        }
        Err((why, remedy)) => {
            let evidence = format!("idle cores cannot be kept awake: {why} ({states})");
            Some(Finding::new(Level::Warning, Subject::IdleStates, evidence).with_remedy(remedy.clone()))
        }
    }
}
