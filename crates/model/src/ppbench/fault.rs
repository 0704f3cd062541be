//! Why the time of a row may not be used. ppbench leaves such rows out silently; here each is counted by its
//! cause.

use std::fmt;

use super::Row;

/// From this size on, bodies are as long as requested. Below it, ppbench's services differ in what they send.
const WHOLE_FROM: u64 = 4;
/// The shortest time that a clock can measure: one nanosecond.
const SHORTEST_MS: f64 = 1e-6;

/// Why a row's time may not be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Some of its requests failed.
    Failed,
    /// Its status is not 200.
    Status,
    /// Its body does not have the requested length.
    Length,
    /// Its time is not above 0: the writer's clock went backwards.
    Time,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Faults([u64; Fault::ALL.len()]);

impl Fault {
    /// In the order of checking: a row with several faults counts for the first.
    pub const ALL: [Self; 4] = [Self::Failed, Self::Status, Self::Length, Self::Time];

    pub const fn words(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Status => "of another status than 200",
            Self::Length => "of another length than asked for",
            Self::Time => "of a time not above 0",
        }
    }

    fn affects(self, row: &Row) -> bool {
        match self {
            Self::Failed => row.failed > 0,
            Self::Status => row.status.is_some_and(|status| status != 200),
            Self::Length => row.size >= WHOLE_FROM && row.length != Some(row.size),
            Self::Time => row.time_ms < SHORTEST_MS,
        }
    }
}

impl Row {
    /// `None` if its time may be used.
    pub fn fault(&self) -> Option<Fault> {
        Fault::ALL.into_iter().find(|fault| fault.affects(self))
    }

    pub fn is_good(&self) -> bool {
        self.fault().is_none()
    }

    /// Whether it reports a status other than 200; 0 means no reply.
    pub fn has_other_status(&self) -> bool {
        self.status.is_some_and(|status| status != 0 && status != 200)
    }
}

impl Faults {
    pub fn add(&mut self, fault: Fault) {
        self.0[fault as usize] += 1;
    }

    pub fn get(self, fault: Fault) -> u64 {
        self.0[fault as usize]
    }

    pub fn total(self) -> u64 {
        self.0.iter().sum()
    }
}

impl std::iter::Sum for Faults {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self(std::array::from_fn(|at| sum.0[at] + one.0[at])))
    }
}

/// `3 failed, 1 of another length than asked for`; empty if there are none.
impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let there = Fault::ALL.into_iter().filter(|fault| self.get(*fault) > 0);
        let words: Vec<String> =
            there.map(|fault| format!("{} {}", self.get(fault), fault.words())).collect();
        f.write_str(&words.join(", "))
    }
}
