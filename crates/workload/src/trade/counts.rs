//! How many actions of each kind sessions have, and the table in which DaCapo prints it.

use std::collections::BTreeMap;
use std::fmt;

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::script::{Action, ActionKind, Session};

/// Actions of so many sessions, by kind. A `register` counts as a logout too, since the user before it leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ActionCounts {
    sessions: u64,
    counts: [u64; ActionKind::ALL.len()],
}

impl ActionCounts {
    pub fn of<'a>(sessions: impl IntoIterator<Item = &'a Session>) -> Self {
        let mut counts = Self::default();
        sessions.into_iter().for_each(|session| counts.add(session));
        counts
    }

    pub fn add(&mut self, session: &Session) {
        self.sessions += 1;
        session.whole().for_each(|action| self.add_action(action));
    }

    fn add_action(&mut self, action: &Action) {
        self.counts[action.kind() as usize] += 1;
        if action.kind() == ActionKind::Register {
            self.counts[ActionKind::Logout as usize] += 1;
        }
    }

    pub const fn sessions(&self) -> u64 {
        self.sessions
    }

    pub const fn count(&self, kind: ActionKind) -> u64 {
        self.counts[kind as usize]
    }

    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The part of all actions, 0 where there are none.
    pub fn share(&self, kind: ActionKind) -> f64 {
        self.count(kind) as f64 / self.total().max(1) as f64
    }
}

/// As DaCapo prints it.
impl fmt::Display for ActionCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Completed {} trade sessions comprising {} trader actions", self.sessions, self.total())?;
        for kind in ActionKind::ALL {
            let name = kind.name();
            let (first, rest) = name.split_at(1);
            let name = format!("{}{rest} ", first.to_uppercase());
            writeln!(f, "{name:.<25} {} ({:>4.1}%)", self.count(kind), 100.0 * self.share(kind))?;
        }
        Ok(())
    }
}

/// An object of `sessions`, `actions` and `counts`, an object with each action's.
impl Serialize for ActionCounts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let counts: BTreeMap<_, _> = ActionKind::ALL.map(|kind| (kind.name(), self.count(kind))).into();
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("sessions", &self.sessions)?;
        map.serialize_entry("actions", &self.total())?;
        map.serialize_entry("counts", &counts)?;
        map.end()
    }
}
