//! How variants are paired: what an experiment asks for, and what was done.
//!
//! `judge::steer` decides, the conductor carries it out.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quantity::Nanoseconds;

/// What an experiment asks for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PairingChoice {
    /// Windows if they hold enough requests, else requests if variants are almost idle, else sequential.
    #[default]
    Auto,
    /// [`Pairing::Windows`], without fallback.
    Windows,
    /// [`Pairing::Duet`], without fallback.
    Duet,
    /// [`Pairing::Requests`].
    Requests,
    /// [`Pairing::Sequential`].
    Sequential,
}

impl PairingChoice {
    pub const ALL: [Self; 5] = [Self::Auto, Self::Windows, Self::Duet, Self::Requests, Self::Sequential];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Windows => "windows",
            Self::Duet => "duet",
            Self::Requests => "requests",
            Self::Sequential => "sequential",
        }
    }
}

/// How the variants of a block were paired at one point.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Pairing {
    /// Two variants at the same time, each on its own cores, which they swap by round; nothing frozen. Paired
    /// by round.
    Duet,
    /// Short windows in turn, the other variants frozen. Paired by round.
    #[default]
    Windows,
    /// All variants in the same windows, asked in turn, request by request; nothing frozen.
    Requests,
    /// Each variant for its whole share of the time, the others frozen. Not paired.
    Sequential,
}

impl Pairing {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Duet => "duet",
            Self::Windows => "windows",
            Self::Requests => "requests",
            Self::Sequential => "sequential",
        }
    }

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
    /// The median response time was steady, and the variant idle without requests.
    Steady,
    /// The time was up; the median response time still varied, but was not falling.
    Varying,
    /// The time was up; the median response time was still falling.
    Faster,
    /// The time was up; the variant worked without requests, like a just-in-time compiler, while the median
    /// response time changed.
    Working,
    /// The time was up; the variant worked without requests, like one that polls for work, and the median
    /// response time was steady.
    Busy,
}

impl WarmEnd {
    /// Whether the service still behaves like one that has just started.
    pub const fn is_cold(self) -> bool {
        matches!(self, Self::Faster | Self::Working)
    }
}

/// A variant's warm-up at one point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WarmUp {
    /// How it ended.
    pub end: WarmEnd,
    /// How long it took, including rests.
    #[serde(rename = "time_ns")]
    pub time: Nanoseconds,
    /// Windows of the warm-up. Later windows of this kind belong to the choice of the window length in the
    /// first block.
    pub windows: u32,
}

/// How much a freeze before a window changes a variant's p50.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TurnEffect {
    /// Nominal length of the windows.
    #[serde(rename = "window_ns")]
    pub window: Nanoseconds,
    /// ln of the p50 after a freeze over the p50 without one.
    pub change: f64,
    /// Its standard error.
    pub error: f64,
}

/// What was found out about a variant at one point before measuring.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Preparation {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warm_up: Option<WarmUp>,
    /// The nominal window length that the first block chose; absent if the experiment sets one, and for other
    /// kinds of windows.
    #[serde(rename = "window_ns", skip_serializing_if = "Option::is_none")]
    pub window: Option<Nanoseconds>,
    /// The lengths that were tried for that choice; only in the block that chose.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub turns: Vec<TurnEffect>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_files() {
        for choice in PairingChoice::ALL {
            assert_eq!(serde_json::to_value(choice).expect("serialises"), choice.name());
        }
        for pairing in [Pairing::Duet, Pairing::Windows, Pairing::Requests, Pairing::Sequential] {
            assert_eq!(serde_json::to_value(pairing).expect("serialises"), pairing.name());
        }
    }
}
