//! What came of a passage: how its requests and actions went, and how long they took.

use crate::engine::Fault;

/// Into how many requests an action is cut.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Grain {
    /// One for each call.
    Fine,
    /// One for the action.
    Coarse,
}

impl Grain {
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "fine" => Some(Self::Fine),
            "coarse" => Some(Self::Coarse),
            _ => None,
        }
    }

    /// What is told of a passage.
    fn operations(self) -> &'static [Operation] {
        use Operation::*;
        match self {
            Self::Fine => &[
                Login, Logout, Account, Holdings, Quote, Buy, Sell, Update, Register, Home, Portfolio,
                SellFirst, SwitchUser,
            ],
            Self::Coarse => &[Login, Logout, Quote, Buy, Update, Home, Portfolio, SellFirst, SwitchUser],
        }
    }
}

/// A request. Of fine grain the last four are actions of several.
#[derive(Clone, Copy)]
pub enum Operation {
    Login,
    Logout,
    Account,
    Holdings,
    Quote,
    Buy,
    Sell,
    Update,
    Register,
    Home,
    Portfolio,
    SellFirst,
    SwitchUser,
}

/// By the number of their operation.
const NAMES: [&str; 13] = [
    "login",
    "logout",
    "account",
    "holdings",
    "quote",
    "buy",
    "sell",
    "update",
    "register",
    "home",
    "portfolio",
    "sell-first",
    "switch-user",
];

/// What came of an operation.
#[derive(Clone, Default)]
pub struct Tally {
    pub good: u64,
    pub failed: u64,
    /// Attempts behind the first.
    pub retried: u64,
    /// In ns, of those that were good.
    pub times: Vec<u64>,
}

/// What came of sessions.
#[derive(Default)]
pub struct Played {
    /// The sum of the sessions' hashes.
    pub digest: u64,
    tallies: [Tally; NAMES.len()],
    /// What the first failed request said.
    pub problem: Option<String>,
    /// Used again by each reply, and by each portfolio.
    pub text: String,
    pub quotes: Vec<(String, u64)>,
}

impl Played {
    /// With what another thread played.
    pub fn with(mut self, other: Self) -> Self {
        self.digest = self.digest.wrapping_add(other.digest);
        for (tally, other) in self.tallies.iter_mut().zip(other.tallies) {
            tally.good += other.good;
            tally.failed += other.failed;
            tally.retried += other.retried;
            tally.times.extend(other.times);
        }
        self.problem = self.problem.or(other.problem);
        self
    }

    /// What came of each operation of the grain.
    pub fn operations(&self, grain: Grain) -> impl Iterator<Item = (&'static str, &Tally)> {
        grain
            .operations()
            .iter()
            .map(|operation| (NAMES[*operation as usize], &self.tallies[*operation as usize]))
    }

    /// Without a time where it has failed.
    pub fn count(&mut self, operation: Operation, time: Option<u64>, retried: u64) {
        let tally = &mut self.tallies[operation as usize];
        tally.retried += retried;
        match time {
            Some(time) => {
                tally.good += 1;
                tally.times.push(time);
            }
            None => tally.failed += 1,
        }
    }

    pub fn tell(&mut self, operation: Operation, user: &str, fault: &Fault) {
        self.problem.get_or_insert_with(|| format!("{} of {user}: {fault:?}", NAMES[operation as usize]));
    }
}
