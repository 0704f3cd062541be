//! Service times split at the kernel's time stamps into three *legs*: the setting that asks for stamps, the
//! histograms of legs, and what is recorded of them for windows, runs and loads.
//!
//! Facts and plain sums. Nothing here reads a clock, estimates or compares.

use hdrhistogram::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::histogram::{TimeHistogram, time_histogram};
use crate::quantity::Nanoseconds;

/// Whether the kernel stamps what the generator's connections send and receive (SO_TIMESTAMPING).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Stamps {
    /// No stamps are requested or read.
    #[default]
    Off,
    /// Two more system calls for each request; its service time is split into three legs.
    Kernel,
}

/// One part of a request's service time. The three are consecutive and sum up to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Leg {
    /// From `sent` until the last byte of that write was handed to the network driver.
    ClientSend,
    /// From there until the driver handed over the last packet of the reply: wire and server.
    Outside,
    /// From there until `done`: the kernel's receive queue, waking the generator, its loop.
    ClientReceive,
}

impl Leg {
    /// Every leg, in the order of time.
    pub const ALL: [Self; 3] = [Self::ClientSend, Self::Outside, Self::ClientReceive];

    /// As in JSON and columns: `client_send`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ClientSend => "client_send",
            Self::Outside => "outside",
            Self::ClientReceive => "client_receive",
        }
    }
}

/// Histograms of the three legs of good replies. Without stamps it is empty and allocates nothing.
#[derive(Debug, Clone, Default)]
pub struct Legs {
    times: Option<Box<[TimeHistogram; 3]>>,
}

impl PartialEq for Legs {
    /// Allocated but empty histograms equal none.
    fn eq(&self, other: &Self) -> bool {
        Leg::ALL.into_iter().all(|leg| self.get(leg) == other.get(leg))
    }
}

impl Legs {
    /// The times of one leg; `None` if none were recorded.
    pub fn get(&self, leg: Leg) -> Option<&TimeHistogram> {
        self.times.as_ref().map(|times| &times[leg as usize]).filter(|times| !times.is_empty())
    }

    /// Allocates the histograms, so that [`record`](Self::record) does not.
    pub fn allocate(&mut self) {
        self.times_mut();
    }

    /// Adds one request's legs, in the order of [`Leg::ALL`].
    pub fn record(&mut self, legs: [Nanoseconds; 3]) {
        for (times, leg) in self.times_mut().iter_mut().zip(legs) {
            times.saturating_record(leg.as_nanos().max(1));
        }
    }

    pub fn add(&mut self, leg: Leg, times: &TimeHistogram) {
        self.times_mut()[leg as usize].add(times).expect("same bounds");
    }

    pub fn merge(&mut self, other: &Self) {
        for leg in Leg::ALL {
            if let Some(times) = other.get(leg) {
                self.add(leg, times);
            }
        }
    }

    pub fn clear(&mut self) {
        self.times.iter_mut().flat_map(|times| times.iter_mut()).for_each(Histogram::reset);
    }

    fn times_mut(&mut self) -> &mut [TimeHistogram; 3] {
        self.times.get_or_insert_with(|| Box::new([time_histogram(), time_histogram(), time_histogram()]))
    }
}

/// One leg of a window's good replies. Quantiles have the histograms' 3 digits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LegFigures {
    pub sum: Nanoseconds,
    pub p50: Nanoseconds,
    pub p90: Nanoseconds,
    pub p99: Nanoseconds,
}

/// What the kernel's stamps show for one window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StampFigures {
    /// Good replies with both stamps; the legs are computed from these.
    pub requests: u64,
    /// Good replies of which a stamp is missing, or lies outside of `sent` to `done`.
    pub unmatched: u64,
    /// Possible error of converting the wall clock, on which the kernel stamps, to the monotonic clock. It
    /// moves time between the client's two legs and leaves the one outside as it is.
    pub clock_error: Nanoseconds,
    /// The shortest round trip that TCP measured on these connections, if any: wire and both kernels, without
    /// the server's process.
    pub round_trip: Option<Nanoseconds>,
    /// The legs, in the order of [`Leg::ALL`].
    pub legs: [LegFigures; 3],
}

/// The result of requesting the kernel's stamps in one window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum KernelStamps {
    Taken(StampFigures),
    /// There are none; the reason in words.
    Unavailable(String),
}

/// Statistics of one part of the service time. A quantile is absent where fewer than 20 requests lie beyond
/// it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LegTimes {
    #[serde(rename = "mean_ns")]
    pub mean: Nanoseconds,
    #[serde(rename = "p50_ns")]
    pub p50: Option<Nanoseconds>,
    #[serde(rename = "p90_ns")]
    pub p90: Option<Nanoseconds>,
    #[serde(rename = "p99_ns")]
    pub p99: Option<Nanoseconds>,
}

/// The legs of all good replies of a load, or of a variant at a point.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StampSummary {
    pub requests: u64,
    pub unmatched: u64,
    /// Why there are no stamps, in all windows or in some.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub unavailable: Option<String>,
    /// The largest clock error of any window.
    #[serde(rename = "clock_error_ns")]
    pub clock_error: Nanoseconds,
    /// The shortest round trip that TCP measured: wire and both kernels, without the server's process.
    #[serde(rename = "round_trip_ns")]
    pub round_trip: Option<Nanoseconds>,
    /// From `sent` to the driver; absent without stamps.
    pub client_send: Option<LegTimes>,
    /// Wire and server; absent without stamps.
    pub outside: Option<LegTimes>,
    /// `outside` minus the shortest round trip: an upper bound for the server's time.
    pub server_at_most: Option<LegTimes>,
    /// From the driver to `done`; absent without stamps.
    pub client_receive: Option<LegTimes>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn legs_add_up_by_merging_and_forget_without_giving_memory_back() {
        let nanos = Nanoseconds::from_nanos;
        let (mut one, mut both) = (Legs::default(), Legs::default());
        assert_eq!(one.get(Leg::Outside), None);
        one.record([nanos(0), nanos(1_000), nanos(30)]);
        both.merge(&one);
        both.merge(&one);
        let counts = Leg::ALL.map(|leg| both.get(leg).map(|times| (times.len(), times.max())));
        assert_eq!(counts, [Some((2, 1)), Some((2, 1_000)), Some((2, 30))]);
        one.clear();
        assert_eq!((one.get(Leg::ClientSend), &one), (None, &Legs::default()));
    }
}
