//! Whether idle cores can be kept awake while something is measured.

use super::{Finding, Level, Observation, Subject};

/// A core that sleeps is woken for each request of a lightly loaded service: a host on which that cannot be
/// kept from being measured gives other figures than one on which it can.
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
