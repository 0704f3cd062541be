//! Shapes of load: laws of arrivals, profiles of the rate over time, think time, length of sessions, churn.
//!
//! Values and their arithmetic (lengths, means). Nothing here is random or reads a clock; text forms are in
//! `spell`.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use crate::quantity::{Nanoseconds, PerSecond, Ratio};

pub const PROFILE_LONGEST: Nanoseconds = Nanoseconds::from_secs(24 * 3600);

pub const STEPS_MOST: usize = 1_000;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum LoadModel {
    /// A new request when a connection is free, after the think time.
    Closed,
    /// Requests are due by a schedule, whatever the replies do.
    Open { flow: Flow },
    /// Sessions begin by a schedule; inside a session the next operation is due after the reply and the think
    /// time.
    PartlyOpen { flow: Flow, length: SessionLength },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Flow {
    /// By a profile of the rate and a law of the gaps.
    Law {
        profile: Profile,
        arrivals: Arrivals,
    },
    Trace(TraceSpec),
}

/// Law of the gaps between arrivals, for any rate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Arrivals {
    Constant,
    /// Equal gaps, but each arrival is moved by up to this share of a gap in either direction, uniformly.
    /// Above 0, at most one half, which keeps the order. The grid itself does not move, so deviations do not
    /// add up.
    Jitter(Ratio),
    #[default]
    Poisson,
    /// Independent gaps by the generalized Pareto law of this shape `k`, scaled to the rate. From 0, where it
    /// is the exponential law, to below one half, so that gaps have a variance.
    Gpd(f64),
}

impl Arrivals {
    /// The default jitter: a tenth of a gap in either direction.
    pub const JITTER: Ratio = Ratio::new(0.1);

    /// The shape of the gaps at Facebook's servers of pool ETC (mutilate's `fb_ia`).
    pub const FB_IA: f64 = 0.154971;
}

/// A file of arrival times.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TraceSpec {
    /// The file, relative to the experiment's folder.
    pub file: String,
    /// Speed relative to the recording; above zero.
    pub speed: f64,
    /// SHA-256 of the file in hexadecimal, if known; a file with another hash is refused.
    pub sha256: Option<String>,
}

/// Rate over time. At its end a profile starts again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Profile {
    Constant {
        /// Above zero.
        rate: PerSecond,
    },
    Steps {
        /// At least one, at most [`STEPS_MOST`]; not all at rate zero.
        steps: Vec<RateStep>,
    },
    /// A linear change from one rate to another.
    Ramp {
        from: PerSecond,
        /// At the end; `from` and `to` are not both zero.
        to: PerSecond,
        over: Nanoseconds,
    },
    /// `mean + amplitude · sin(2πt / period)`.
    Sine {
        /// Above zero.
        mean: PerSecond,
        /// At most the mean.
        amplitude: PerSecond,
        period: Nanoseconds,
    },
    /// `peak` for the first `length` of each `every`, `base` otherwise.
    Burst {
        /// Between bursts; may be zero.
        base: PerSecond,
        /// In a burst; above zero.
        peak: PerSecond,
        /// From burst to burst.
        every: Nanoseconds,
        /// How long each lasts, below `every`.
        length: Nanoseconds,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RateStep {
    /// May be zero.
    pub rate: PerSecond,
    /// Above zero.
    #[serde(rename = "for")]
    pub lasts: Nanoseconds,
}

/// Time between a reply and the moment at which the next request is due.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "law")]
pub enum Think {
    /// The next request is due at once.
    #[default]
    None,
    /// Always the same; above zero.
    Constant { time: Nanoseconds },
    Exponential {
        /// Its mean, above zero.
        mean: Nanoseconds,
    },
    /// Uniform from `low` to `high`.
    Uniform {
        /// Below `high`.
        low: Nanoseconds,
        high: Nanoseconds,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "law")]
pub enum SessionLength {
    /// As in the workload's own sessions.
    Workload,
    Fixed {
        /// At least 1.
        operations: NonZeroU32,
    },
    /// Geometric: after each operation the session ends with the same probability, 1/mean.
    Geometric {
        /// At least 1.
        mean: f64,
    },
}

impl LoadModel {
    pub const fn open(rate: PerSecond, arrivals: Arrivals) -> Self {
        Self::Open { flow: Flow::Law { profile: Profile::Constant { rate }, arrivals } }
    }

    /// `None` in closed load.
    pub const fn flow(&self) -> Option<&Flow> {
        match self {
            Self::Closed => None,
            Self::Open { flow } | Self::PartlyOpen { flow, .. } => Some(flow),
        }
    }

    /// Mean requests per arrival: 1 in open load; in partly open load the mean length of a session, 1 if
    /// unknown.
    pub fn requests_per_arrival(&self) -> f64 {
        match self {
            Self::Closed | Self::Open { .. } => 1.0,
            Self::PartlyOpen { length, .. } => length.mean(),
        }
    }
}

impl Flow {
    /// `None` for a trace, which has its own rate.
    pub const fn profile(&self) -> Option<&Profile> {
        match self {
            Self::Law { profile, .. } => Some(profile),
            Self::Trace(_) => None,
        }
    }
}

impl Profile {
    /// After this time it starts again; `None` if the rate is constant.
    pub fn length(&self) -> Option<Nanoseconds> {
        match self {
            Self::Constant { .. } => None,
            Self::Steps { steps } => Some(steps.iter().map(|step| step.lasts).sum()),
            Self::Ramp { over, .. } => Some(*over),
            Self::Sine { period, .. } => Some(*period),
            Self::Burst { every, .. } => Some(*every),
        }
    }

    /// Whether it has an end (steps, ramp), at which a load without another end stops.
    pub const fn ends(&self) -> bool {
        matches!(self, Self::Steps { .. } | Self::Ramp { .. })
    }

    pub fn mean(&self) -> PerSecond {
        let mean = match self {
            Self::Constant { rate } => rate.get(),
            Self::Steps { steps } => {
                let total: f64 = steps.iter().map(|step| step.lasts.as_secs_f64()).sum();
                steps.iter().map(|step| step.rate.get() * (step.lasts.as_secs_f64() / total)).sum()
            }
            Self::Ramp { from, to, .. } => from.get() / 2.0 + to.get() / 2.0,
            Self::Sine { mean, .. } => mean.get(),
            Self::Burst { base, peak, every, length } => {
                let share = length.share_of(*every).get();
                peak.get() * share + base.get() * (1.0 - share)
            }
        };
        PerSecond::new(mean).unwrap_or_else(|| self.peak())
    }

    /// The same profile with every rate multiplied by `factor`.
    pub fn scaled(&self, factor: f64) -> Self {
        let scaled = |rate: PerSecond| PerSecond::new(rate.get() * factor).unwrap_or(rate);
        match self.clone() {
            Self::Constant { rate } => Self::Constant { rate: scaled(rate) },
            Self::Steps { steps } => {
                let step = |step: RateStep| RateStep { rate: scaled(step.rate), ..step };
                Self::Steps { steps: steps.into_iter().map(step).collect() }
            }
            Self::Ramp { from, to, over } => Self::Ramp { from: scaled(from), to: scaled(to), over },
            Self::Sine { mean, amplitude, period } => {
                Self::Sine { mean: scaled(mean), amplitude: scaled(amplitude), period }
            }
            Self::Burst { base, peak, every, length } => {
                Self::Burst { base: scaled(base), peak: scaled(peak), every, length }
            }
        }
    }

    pub fn peak(&self) -> PerSecond {
        let highest = |a: PerSecond, b: PerSecond| if a.get() >= b.get() { a } else { b };
        match self {
            Self::Constant { rate } => *rate,
            Self::Steps { steps } => steps
                .iter()
                .map(|step| step.rate)
                .reduce(highest)
                .unwrap_or(PerSecond::from_count(0, Nanoseconds::ZERO)),
            Self::Ramp { from, to, .. } => highest(*from, *to),
            Self::Sine { mean, amplitude, .. } => {
                PerSecond::new(mean.get() + amplitude.get()).unwrap_or(*mean)
            }
            Self::Burst { base, peak, .. } => highest(*base, *peak),
        }
    }

    /// Errors: in words, why the values are not a profile.
    pub fn check(&self) -> Result<(), String> {
        if self.peak().get() <= 0.0 {
            return Err("the rate is never above zero; raise one".to_owned());
        }
        match self {
            Self::Steps { steps } if steps.len() > STEPS_MOST => {
                return Err(format!("{} steps; at most {STEPS_MOST} are allowed", steps.len()));
            }
            Self::Steps { steps } if steps.iter().any(|step| step.lasts == Nanoseconds::ZERO) => {
                return Err("each step must last longer than zero, such as `for = \"10 s\"`".to_owned());
            }
            Self::Sine { mean, amplitude, .. } if amplitude.get() > mean.get() => {
                return Err(format!(
                    "the amplitude {amplitude} is above the mean {mean}; a rate is never negative"
                ));
            }
            Self::Burst { every, length, .. } if *length == Nanoseconds::ZERO || length >= every => {
                return Err(format!(
                    "a burst of {length} in every {every} cannot be; it must be above zero and shorter"
                ));
            }
            _ => {}
        }
        match self.length() {
            Some(Nanoseconds::ZERO) => Err("its time must be above zero, such as `\"10 s\"`".to_owned()),
            Some(length) if length > PROFILE_LONGEST => {
                Err(format!("it lasts {length}; at most 24 h are allowed"))
            }
            _ => Ok(()),
        }
    }
}

impl Think {
    pub fn mean(self) -> Nanoseconds {
        match self {
            Self::None => Nanoseconds::ZERO,
            Self::Constant { time } => time,
            Self::Exponential { mean } => mean,
            Self::Uniform { low, high } => low + high.saturating_sub(low) / 2,
        }
    }
}

impl SessionLength {
    /// The mean; 1 if the workload decides.
    pub fn mean(self) -> f64 {
        match self {
            Self::Workload => 1.0,
            Self::Fixed { operations } => f64::from(operations.get()),
            Self::Geometric { mean } => mean,
        }
    }
}
