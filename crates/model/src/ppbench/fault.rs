//! Why the time of a row may not be used: ppbench leaves such rows out in silence, here each is counted by its cause.

use std::fmt;

use super::Row;

/// Bodies are as long as asked for from this size on: below it, ppbench's services differ in what they send.
const WHOLE_FROM: u64 = 4;
/// The shortest time that a clock can have measured: one nanosecond.
const SHORTEST_MS: f64 = 1e-6;

/// Why a row's time may not be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Some of its requests failed.
    Failed,
    /// It has another status than 200.
    Status,
    /// Its body is not as long as was asked for.
    Length,
    /// Its time is not above 0: the writer's clock went backwards.
    Time,
}

/// Rows by their fault.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Faults([u64; Fault::ALL.len()]);

impl Fault {
    /// All, in the order in which they are looked for: of a row that has several the first counts.
    pub const ALL: [Self; 4] = [Self::Failed, Self::Status, Self::Length, Self::Time];

    /// Behind a count of rows.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Status => "of another status than 200",
            Self::Length => "of another length than asked for",
            Self::Time => "of a time not above 0",
        }
    }

    fn is_of(self, row: &Row) -> bool {
        match self {
            Self::Failed => row.failed > 0,
            Self::Status => row.status.is_some_and(|status| status != 200),
            Self::Length => row.size >= WHOLE_FROM && row.length != Some(row.size),
            Self::Time => row.time_ms < SHORTEST_MS,
        }
    }
}

impl Row {
    /// Why its time may not be used; `None` where it may.
    pub fn fault(&self) -> Option<Fault> {
        Fault::ALL.into_iter().find(|fault| fault.is_of(self))
    }

    /// Whether its time may be used.
    pub fn is_good(&self) -> bool {
        self.fault().is_none()
    }

    /// Whether it tells of a reply whose status was not 200.
    pub fn has_other_status(&self) -> bool {
        self.status.is_some_and(|status| status != 0 && status != 200)
    }
}

impl Faults {
    /// Counts one row.
    pub fn add(&mut self, fault: Fault) {
        self.0[fault as usize] += 1;
    }

    /// Rows of one fault.
    pub fn get(self, fault: Fault) -> u64 {
        self.0[fault as usize]
    }

    /// All of them.
    pub fn total(self) -> u64 {
        self.0.iter().sum()
    }
}

impl std::iter::Sum for Faults {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self(std::array::from_fn(|at| sum.0[at] + one.0[at])))
    }
}

/// `3 failed, 1 of another length than asked for`; nothing where there is none.
impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let there = Fault::ALL.into_iter().filter(|fault| self.get(*fault) > 0);
        let words: Vec<String> =
            there.map(|fault| format!("{} {}", self.get(fault), fault.words())).collect();
        f.write_str(&words.join(", "))
    }
}
