//! How variants are put side by side: what an experiment asks for, and what was done.
//!
//! Words only; who decides is `judge::steer`, who carries it out the conductor.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quantity::Nanoseconds;

/// What an experiment asks for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PairingChoice {
    /// Windows where they hold enough requests, else requests where variants are almost idle, else one after another.
    #[default]
    Auto,
    /// [`Pairing::Windows`] or nothing.
    Windows,
    /// [`Pairing::Duet`] or nothing.
    Duet,
    /// [`Pairing::Requests`].
    Requests,
    /// [`Pairing::Sequential`].
    Sequential,
}

impl PairingChoice {
    /// Every choice.
    pub const ALL: [Self; 5] = [Self::Auto, Self::Windows, Self::Duet, Self::Requests, Self::Sequential];

    /// Its name in TOML.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Windows => "windows",
            Self::Duet => "duet",
            Self::Requests => "requests",
            Self::Sequential => "sequential",
        }
    }

    /// The choice of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|choice| choice.name() == name)
    }
}

/// How the variants of a block were put side by side at one point.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Pairing {
    /// Two variants at the same time, each on cores of its own, swapped by round; nothing frozen: paired by round.
    Duet,
    /// Short windows in turn, the others frozen: paired by round.
    #[default]
    Windows,
    /// All of them in the same windows, sent to in turn, request by request; nothing frozen.
    Requests,
    /// Each its whole share of the time at once, the others frozen: not paired.
    Sequential,
}

impl Pairing {
    /// Its name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Duet => "duet",
            Self::Windows => "windows",
            Self::Requests => "requests",
            Self::Sequential => "sequential",
        }
    }

    /// The pairing in words, for a reader of reports.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Duet => {
                "at the same time, each on cores of its own, which they swap from round to round, paired by round"
            }
            Self::Windows => "in windows by turns, paired by round",
            Self::Requests => "request by request in common windows, nothing frozen",
            Self::Sequential => "one after another, not paired: drift of the host is not shared",
        }
    }
}

/// How a warm-up ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WarmEnd {
    /// The median response time was steady, and the variant idle when it was asked nothing.
    Steady,
    /// The time was up, and the median response time still varied, without becoming shorter.
    Varying,
    /// The time was up, and the median response time still became shorter.
    Faster,
    /// The time was up, and the variant still worked when it was asked nothing, as a compiler beside the service does, while
    /// the median response time changed.
    Working,
    /// The time was up, and the variant still worked when it was asked nothing, as one that polls for work does; the median
    /// response time was steady.
    Busy,
}

impl WarmEnd {
    /// Whether figures would be those of a service that has just been started.
    pub const fn is_cold(self) -> bool {
        matches!(self, Self::Faster | Self::Working)
    }
}

/// A variant's warm-up at one point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WarmUp {
    /// How it ended.
    pub end: WarmEnd,
    /// How long it took, rests included.
    #[serde(rename = "time_ns")]
    pub time: Nanoseconds,
    /// Its windows. Warm-up windows behind them are those in which the first block looked at turns.
    pub windows: u32,
}

/// How much a variant's p50 in windows that follow a freeze differs from that in windows that follow none.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TurnEffect {
    /// The windows' nominal length.
    #[serde(rename = "window_ns")]
    pub window: Nanoseconds,
    /// ln of the p50 behind a freeze over that without a break.
    pub change: f64,
    /// Its standard error.
    pub error: f64,
}

/// What was found of a variant before it was measured at one point.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Preparation {
    /// Its warm-up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warm_up: Option<WarmUp>,
    /// The nominal length of windows that the first block chose; absent where the experiment names one, and where windows
    /// are of another kind.
    #[serde(rename = "window_ns", skip_serializing_if = "Option::is_none")]
    pub window: Option<Nanoseconds>,
    /// What the choice rests on: the lengths that were tried. Only in the block that chose.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub turns: Vec<TurnEffect>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_files() {
        for choice in PairingChoice::ALL {
            assert_eq!(PairingChoice::named(choice.name()), Some(choice));
            assert_eq!(serde_json::to_value(choice).expect("serialises"), choice.name());
        }
        for pairing in [Pairing::Duet, Pairing::Windows, Pairing::Requests, Pairing::Sequential] {
            assert_eq!(serde_json::to_value(pairing).expect("serialises"), pairing.name());
        }
        assert_eq!(PairingChoice::named("trio"), None);
    }
}
