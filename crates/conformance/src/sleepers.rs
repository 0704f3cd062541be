//! Rows that mostly wait, run in parallel with the others: each on a thread and with its own instances.
//!
//! They are reported in the table's order; running them in parallel only saves time. A row that needs much
//! CPU time or checks short times does not belong here.

use std::panic::resume_unwind;
use std::thread::{Scope, ScopedJoinHandle};

use super::harness::Harness;
use super::outcome::Verdict;
use super::{Depth, Subject, attempt, table};

/// Their names: a connection that is idle for 15 s; clients that keep a process until the end of its grace.
const NAMES: [&str; 7] = ["H19", "S5", "S6", "S7", "F16", "G17", "T12"];

/// The rows that run in parallel.
#[derive(Debug, Default)]
pub(super) struct Sleepers<'scope> {
    begun: Option<Vec<(&'static str, ScopedJoinHandle<'scope, Verdict>)>>,
}

impl<'scope> Sleepers<'scope> {
    /// Starts all of them, once.
    pub(super) fn begin<'env>(
        &mut self,
        scope: &'scope Scope<'scope, 'env>,
        subject: &'env Subject,
        depth: Depth,
    ) {
        if self.begun.is_some() {
            return;
        }
        let tests = table().filter(|test| NAMES.contains(&test.id));
        let rows = tests
            .map(|test| (test.id, scope.spawn(move || attempt(&mut Harness::new(subject), test, depth))));
        self.begun = Some(rows.collect());
    }

    /// Waits for a started row's result; `None` for any other row.
    pub(super) fn verdict(&mut self, id: &str) -> Option<Verdict> {
        let begun = self.begun.as_mut()?;
        let place = begun.iter().position(|(name, _)| *name == id)?;
        let (_, row) = begun.swap_remove(place);
        Some(row.join().unwrap_or_else(|panic| resume_unwind(panic)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sleeper_is_a_row() {
        let found = table().filter(|test| NAMES.contains(&test.id)).count();
        assert_eq!(found, NAMES.len());
    }
}
