//! The law of a generated script: its size, its seed, and how often each step comes.

use serde::Serialize;
use weighbridge_model::experiment::{SESSIONS_MOST, SKEW_MOST, STOCKS_MOST, ScriptSize};

use super::script::ActionKind;

/// Probability that a step ends the session.
pub const END: f64 = 0.06;

/// DaCapo's target of an action. Without login and logout these and [`END`] are the law of a step, and add up to 1. A session
/// has one login, and one logout besides that of each `register`; so all nine add up to 1.065.
pub const fn target(kind: ActionKind) -> f64 {
    match kind {
        ActionKind::Home => 0.20,
        ActionKind::Portfolio | ActionKind::Buy | ActionKind::Sell => 0.09,
        ActionKind::Quote => 0.45,
        ActionKind::Update => 0.015,
        ActionKind::Register => 0.005,
        ActionKind::Login => END,
        ActionKind::Logout => 0.065,
    }
}

/// The share of all actions that an action has by the law: its target among the sum of all.
pub fn expected_share(kind: ActionKind) -> f64 {
    target(kind) / ActionKind::ALL.map(target).iter().sum::<f64>()
}

/// Why a script cannot be made.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LawError {
    #[error(
        "`{0}` is no size of a script; allowed: small (32 sessions), default (256), large (1,024), huge (8,192)"
    )]
    Size(String),
    #[error("`sessions` is {0}; allowed: 1 to 1,048,576")]
    Sessions(u64),
    #[error("`stocks` is {0}; allowed: 1 to 10,000")]
    Stocks(u64),
    #[error("`skew` is {0}; allowed: 0 (every stock alike) to 3, such as 0.55")]
    Skew(f64),
}

/// From what a script follows; checked.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ScriptLaw {
    pub(super) sessions: u32,
    seed: u64,
    stocks: u32,
    skew: f64,
    /// Sessions of each user.
    #[serde(skip_serializing_if = "is_one")]
    sharing: u32,
}

const fn is_one(sharing: &u32) -> bool {
    *sharing == 1
}

/// The script of 256 sessions.
impl Default for ScriptLaw {
    fn default() -> Self {
        Self { sessions: ScriptSize::Default.sessions(), seed: 1, stocks: 1_098, skew: 0.55, sharing: 1 }
    }
}

impl ScriptLaw {
    /// So many sessions, 1 to [`SESSIONS_MOST`].
    pub fn with_sessions(self, sessions: u64) -> Result<Self, LawError> {
        match u32::try_from(sessions) {
            Ok(sessions @ 1..=SESSIONS_MOST) => Ok(Self { sessions, ..self }),
            _ => Err(LawError::Sessions(sessions)),
        }
    }

    pub fn with_seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// So many stocks, 1 to [`STOCKS_MOST`].
    pub fn with_stocks(self, stocks: u64) -> Result<Self, LawError> {
        match u32::try_from(stocks) {
            Ok(stocks @ 1..=STOCKS_MOST) => Ok(Self { stocks, ..self }),
            _ => Err(LawError::Stocks(stocks)),
        }
    }

    /// The stock of rank r by capitalisation is asked for in proportion to r^−skew, from 0 to 3.
    pub fn with_skew(self, skew: f64) -> Result<Self, LawError> {
        if (0.0..=SKEW_MOST).contains(&skew) { Ok(Self { skew, ..self }) } else { Err(LawError::Skew(skew)) }
    }

    /// So many sessions of each user, 1 or more.
    pub const fn with_sharing(self, sharing: u32) -> Self {
        Self { sharing, ..self }
    }

    pub const fn sharing(&self) -> u32 {
        self.sharing
    }

    pub const fn sessions(&self) -> u32 {
        self.sessions
    }

    pub const fn seed(&self) -> u64 {
        self.seed
    }

    pub const fn stocks(&self) -> u32 {
        self.stocks
    }

    pub const fn skew(&self) -> f64 {
        self.skew
    }

    /// Users of so many sessions: half as many again, rounded up.
    pub const fn users_of(sessions: u32) -> u32 {
        sessions + sessions.div_ceil(2)
    }

    /// The user of a session: every third user is spare.
    pub const fn user_of(&self, session: u32) -> u32 {
        let first = session / self.sharing;
        first + first / 2
    }
}
