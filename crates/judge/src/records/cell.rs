//! One variant at one point in one block: its windows, and what they add up to.

use std::collections::BTreeMap;

use weighbridge_model::estimate::{Quantity, Statistic};
use weighbridge_model::histogram::time_histogram;
use weighbridge_model::id::PointId;
use weighbridge_model::network::Crossed;
use weighbridge_model::pairing::Pairing;
use weighbridge_model::quantity::{Nanoseconds, PerSecond};
use weighbridge_model::record::counts::{Count, Counts};
use weighbridge_model::record::steps::{Step, StepEnd, StepKind};
use weighbridge_model::record::{
    ErrorCounts, ErrorKind, OperationFigures, Outcome, Traffic, TrialRecord, WindowKind, WindowRecord,
};

use super::{Times, WindowSelection, quantile};
use crate::question::Scope;
use crate::stats::sample::median;

/// The role for CPU time that belongs to no process; it counts for no variant.
const UNATTRIBUTED: &str = "unattributed";

/// One variant at one point in one block.
#[derive(Debug, Clone)]
pub struct Cell<'a> {
    pub block: u32,
    /// One trial; of the baseline, one for each batch.
    pub trials: Vec<&'a TrialRecord>,
    /// The selected windows, in the order they ran.
    pub windows: Vec<&'a WindowRecord>,
    pub(super) point: PointId,
    pub(super) selection: WindowSelection,
    pub(super) pairing: Pairing,
}

#[derive(Debug, Clone)]
pub struct CellTotals<'a> {
    pub cell: Cell<'a>,
    pub totals: Totals,
}

#[derive(Debug, Clone)]
pub struct CellPair<'a> {
    pub variant: Cell<'a>,
    pub baseline: Cell<'a>,
}

pub fn scope_figures(window: &WindowRecord, scope: Scope) -> Option<&OperationFigures> {
    match scope {
        Scope::All | Scope::Only => window.figures.all.as_ref(),
        Scope::One(operation) => window.figures.operations.iter().find(|f| f.operation == operation),
    }
}

/// A time of a window's good replies, in nanoseconds.
pub(crate) type Figure = fn(&OperationFigures) -> f64;

pub(crate) fn response_p50(figures: &OperationFigures) -> f64 {
    figures.response_p50.as_nanos() as f64
}

pub(crate) fn response_mean(figures: &OperationFigures) -> f64 {
    figures.response_sum.as_nanos() as f64 / figures.ok.max(1) as f64
}

/// Logarithms of a figure of a cell's windows, in the order they ran.
pub(crate) fn window_logs(cell: &Cell<'_>, figure: Figure) -> Vec<f64> {
    let figures = cell.windows.iter().filter_map(|window| window.figures.all.as_ref());
    figures.map(|figures| figure(figures).max(1.0).ln()).collect()
}

impl<'a> Cell<'a> {
    pub fn pairing(&self) -> Pairing {
        self.pairing
    }

    pub fn batches(&self) -> impl Iterator<Item = u32> {
        self.trials.iter().map(|trial| trial.batch)
    }

    /// The cell with the windows of some rounds only, and without figures that need a trial's histograms or
    /// memory.
    pub fn part(&self, rounds: std::ops::Range<u32>) -> Self {
        let within = |window: &&'a WindowRecord| rounds.contains(&window.round);
        let windows = self.windows.iter().copied().filter(within).collect();
        Self { trials: Vec::new(), windows, ..*self }
    }

    /// The cell with these windows only, and without figures that need a trial's histograms or memory.
    pub(crate) fn with(&self, windows: Vec<&'a WindowRecord>) -> Self {
        Self { trials: Vec::new(), windows, ..*self }
    }

    /// The cell with the steps at one rate only, without those that say nothing of the variant; `None` where none is left.
    pub(crate) fn at_rate(&self, rate: PerSecond) -> Option<Self> {
        let says_something = |step: &&Step| {
            matches!(step.kind, StepKind::Grid | StepKind::Extra)
                && matches!(step.end, StepEnd::Complete | StepEnd::Cut)
        };
        let of_trial = |trial: &&'a TrialRecord| {
            let steps = trial.steps.get(self.point.index()).into_iter().flatten().map(|one| &one.step);
            let steps = steps.filter(|step| step.rate == rate).filter(says_something);
            let numbers: Vec<u32> = steps.map(|step| step.number).collect();
            let is_it = |window: &&'a WindowRecord| {
                let is_step = window.kind == WindowKind::Step && window.point == self.point;
                is_step && numbers.contains(&window.round)
            };
            trial.windows.iter().filter(is_it).collect::<Vec<_>>()
        };
        let windows: Vec<_> = self.trials.iter().flat_map(of_trial).collect();
        (!windows.is_empty()).then(|| self.with(windows))
    }

    /// The windows' figures of a scope; windows without a good reply are left out.
    fn figures(&self, scope: Scope) -> impl Iterator<Item = &'a OperationFigures> {
        self.windows.iter().filter_map(move |window| scope_figures(window, scope))
    }

    /// The warm-up windows of its trials, in the order they ran.
    pub(crate) fn warm_up(&self) -> Vec<&'a WindowRecord> {
        let warm_up_windows = |trial: &&'a TrialRecord| {
            let is_warm_up =
                |window: &&WindowRecord| window.kind == WindowKind::WarmUp && window.point == self.point;
            // Later ones compare turns in the first block, and some of them follow a freeze.
            let warm_up = trial.preparations.get(self.point.index()).and_then(|prepared| prepared.warm_up);
            let count = warm_up.map_or(usize::MAX, |warm_up| warm_up.windows as usize);
            trial.windows.iter().filter(is_warm_up).take(count).collect::<Vec<_>>()
        };
        self.trials.iter().flat_map(warm_up_windows).collect()
    }

    pub fn good(&self, scope: Scope) -> u64 {
        self.figures(scope).map(|f| f.ok).sum()
    }

    /// The service times of its good replies, added up.
    pub(crate) fn service_sum(&self) -> Nanoseconds {
        self.figures(Scope::All).map(|figures| figures.service_sum).sum()
    }

    pub fn requests(&self) -> u64 {
        self.windows.iter().map(|w| w.figures.requests).sum()
    }

    pub fn begun(&self) -> u64 {
        self.windows.iter().map(|w| w.figures.begun()).sum()
    }

    pub fn not_sent(&self) -> u64 {
        self.windows.iter().map(|w| w.figures.not_sent).sum()
    }

    pub fn errors(&self) -> ErrorCounts {
        let mut counts = ErrorCounts::default();
        self.windows.iter().for_each(|w| counts.add(w.figures.errors));
        counts
    }

    /// Windows of its trials with proper load that are in no figure: longer ones, and those in which idle
    /// cores waited the other way.
    pub fn other_windows(&self) -> impl Iterator<Item = &'a WindowRecord> {
        let windows = self.trials.iter().flat_map(|trial| &trial.windows);
        let is_other = |kind| matches!(kind, WindowKind::Check | WindowKind::IdleCheck);
        windows.filter(move |window| window.point == self.point && is_other(window.kind))
    }

    pub fn traffic(&self) -> Traffic {
        let mut traffic = Traffic::default();
        self.windows.iter().for_each(|w| traffic.add(w.figures.traffic));
        traffic
    }

    /// The sum of the windows' times, from first sent to last done. Windows that several variants share count
    /// whole, since a variant's few requests may lie far from both ends.
    pub fn time(&self) -> Nanoseconds {
        let time = |w: &WindowRecord| match self.pairing {
            Pairing::Requests => w.figures.health.wall,
            Pairing::Duet | Pairing::Windows | Pairing::Sequential => {
                w.figures.ended.since(w.figures.started)
            }
        };
        self.windows.iter().map(|window| time(window)).sum()
    }

    /// CPU time of the variant's own processes per answered request; `None` if it was not accounted.
    ///
    /// It is a sum over a sum. Each role counts the requests of its own interval, from thaw to freeze, which
    /// is longer than the window by the lead-in.
    pub fn cpu_per_request(&self) -> Option<f64> {
        let mut roles: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        for role in self.windows.iter().flat_map(|w| &w.cpu).filter(|role| role.role != UNATTRIBUTED) {
            let (cpu, requests) = roles.entry(&role.role).or_default();
            *cpu += role.cpu.as_nanos();
            *requests += role.requests;
        }
        let each = roles.values().filter(|(_, requests)| *requests > 0);
        let sum: f64 = each.map(|&(cpu, requests)| cpu as f64 / requests as f64).sum();
        (sum > 0.0).then_some(sum)
    }

    fn answered(&self) -> u64 {
        self.windows.iter().map(|window| window.figures.answered()).sum()
    }

    /// Requests that were due in the windows.
    fn due(&self) -> u64 {
        self.windows.iter().map(|window| window.figures.offered).sum()
    }

    /// What the workload counted in the windows; `None` where it counts nothing.
    pub(crate) fn counts(&self) -> Option<Counts> {
        let counted = self.windows.iter().filter_map(|window| window.figures.counts);
        counted.reduce(|mut all, counts| {
            all.merge(&counts);
            all
        })
    }

    /// A total over a total, in parts of 1; `None` for what is no share, and where there is nothing to share.
    fn share(&self, quantity: Quantity) -> Option<f64> {
        let of_lookups = |count| Some((self.counts()?.get(count), self.counts()?.lookups()));
        let (part, whole) = match quantity {
            Quantity::Availability => (self.answered(), self.due()),
            Quantity::Reliability => (self.good(Scope::All), self.due()),
            Quantity::HitRate => of_lookups(Count::Hits)?,
            Quantity::ByteHitRate => {
                let counts = self.counts()?;
                (counts.get(Count::HitBytes), counts.get(Count::AskedBytes))
            }
            Quantity::CompulsoryMisses => of_lookups(Count::CompulsoryMisses)?,
            Quantity::CapacityMisses => of_lookups(Count::CapacityMisses)?,
            Quantity::InvalidatedMisses => of_lookups(Count::InvalidatedMisses)?,
            Quantity::ExpiredMisses => of_lookups(Count::ExpiredMisses)?,
            Quantity::UnderWayMisses => of_lookups(Count::UnderWayMisses)?,
            Quantity::RefillRate => of_lookups(Count::Refills)?,
            Quantity::AbortRate => {
                let aborts = self.counts()?.get(Count::Aborts);
                (aborts, aborts + self.good(Scope::All))
            }
            _ => return None,
        };
        (whole > 0).then(|| part as f64 / whole as f64)
    }

    /// Bytes on the connections both ways per answered request; `None` if none were counted.
    fn bytes_per_request(&self) -> Option<f64> {
        let traffic = self.traffic();
        per(traffic.sent.get() + traffic.received.get(), self.answered())
    }

    /// Payload both ways per answered request; `None` if none was counted.
    fn payload_per_request(&self) -> Option<f64> {
        let traffic = self.traffic();
        per(traffic.payload_sent.get() + traffic.payload_received.get(), self.answered())
    }

    /// Segments both ways per answered request; `None` if none were counted.
    fn segments_per_request(&self) -> Option<f64> {
        let traffic = self.traffic();
        per(traffic.segments_out + traffic.segments_in, self.answered())
    }

    /// Bytes on the link of the client's host per answered request; both include lead-ins and longer windows.
    /// `None` if there is no such link.
    fn wire_bytes_per_request(&self) -> Option<f64> {
        let networks = self.trials.iter().filter_map(|trial| trial.service.network.as_ref());
        let here = |crossed: &&Crossed| crossed.point == self.point;
        let crossed: Vec<_> = networks.flat_map(|network| &network.crossed).filter(here).collect();
        let bytes = crossed.iter().map(|crossed| crossed.bytes.get()).sum();
        per(bytes, crossed.iter().map(|crossed| crossed.requests).sum())
    }

    /// The largest resident memory of the variant's processes at the point, summed over roles; `None` if
    /// unknown.
    fn memory_peak(&self) -> Option<f64> {
        let here = |trial: &&TrialRecord| {
            trial.memory.iter().filter(|role| role.point == self.point).map(|role| role.peak.get()).sum()
        };
        let peaks = self.trials.iter().map(here);
        peaks.max().filter(|peak: &u64| *peak > 0).map(|peak| peak as f64)
    }

    /// The mean before a window; `None` where nothing was restored.
    fn restore_time(&self) -> Option<f64> {
        let times: Vec<Nanoseconds> = self.windows.iter().filter_map(|window| window.restore).collect();
        per(times.iter().map(|time| time.as_nanos()).sum(), times.len() as u64)
    }

    /// Merged histograms of a scope; empty unless the measured windows are selected.
    pub fn times(&self, scope: Scope) -> Times {
        let mut times = Times { response: time_histogram(), service: time_histogram() };
        if self.selection == WindowSelection::Measured {
            for trial in &self.trials {
                times.add_trial(trial, self.point, scope);
            }
        }
        times
    }

    pub(crate) fn with_totals(self, scope: Scope) -> CellTotals<'a> {
        CellTotals { totals: self.totals(scope), cell: self }
    }

    /// Every total of the cell. Its p50 is the pooled one; the typical of closed load needs two cells.
    pub fn totals(&self, scope: Scope) -> Totals {
        // A histogram takes a quarter of a megabyte, so none is made unless something was recorded.
        let recorded = self.selection == WindowSelection::Measured
            && self.trials.iter().any(|trial| !trial.tallies.is_empty());
        let times = recorded.then(|| self.times(scope));
        let timeouts = (recorded && self.errors().timeout > 0)
            .then(|| self.times_with_outcome(scope, Outcome::Error(ErrorKind::Timeout)));
        let count = times.as_ref().map_or(0, |times| times.response.len());
        let lookups = self.counts().map_or(0, |counts| counts.lookups());
        let values = [None; Quantity::ALL.len()];
        let mut totals = Totals { values, recorded: count, due: self.due(), lookups };
        for quantity in Quantity::ALL {
            let histogram = times.as_ref().map(|times| times.histogram(quantity));
            totals.values[quantity as usize] = match quantity.statistic() {
                Statistic::Quantile(q) => histogram.and_then(|histogram| quantile(histogram, q)),
                Statistic::Mean => self.mean(scope, quantity, timeouts.as_ref()),
                Statistic::Other => self.other(scope, quantity),
            };
        }
        totals
    }

    /// Sum of times over count: good replies exactly, from the windows; timeouts, which are lower bounds,
    /// from the histograms.
    fn mean(&self, scope: Scope, quantity: Quantity, timeouts: Option<&Times>) -> Option<f64> {
        let pick: fn(&OperationFigures) -> Nanoseconds = match quantity.is_response() {
            true => |f| f.response_sum,
            false => |f| f.service_sum,
        };
        let good: f64 = self.figures(scope).map(|f| pick(f).as_nanos() as f64).sum();
        let late = timeouts.map(|times| times.histogram(quantity)).filter(|late| !late.is_empty());
        let (bounds, given_up) = late.map_or((0.0, 0), |late| (late.mean() * late.len() as f64, late.len()));
        let count = self.good(scope) + given_up;
        (self.good(scope) > 0).then(|| (good + bounds) / count as f64)
    }

    pub fn times_with_outcome(&self, scope: Scope, outcome: Outcome) -> Times {
        let mut times = Times { response: time_histogram(), service: time_histogram() };
        for trial in &self.trials {
            times.add(trial, self.point, scope, outcome);
        }
        times
    }

    fn other(&self, scope: Scope, quantity: Quantity) -> Option<f64> {
        match quantity {
            Quantity::Throughput => {
                let (good, time) = (self.good(scope), self.time().as_secs_f64());
                (good > 0 && time > 0.0).then(|| good as f64 / time)
            }
            Quantity::CpuPerOperation if scope.has(quantity) => self.cpu_per_request(),
            Quantity::BytesPerOperation if scope.has(quantity) => self.bytes_per_request(),
            Quantity::PayloadBytesPerOperation if scope.has(quantity) => self.payload_per_request(),
            Quantity::WireBytesPerOperation if scope.has(quantity) => self.wire_bytes_per_request(),
            Quantity::SegmentsPerOperation if scope.has(quantity) => self.segments_per_request(),
            Quantity::MemoryPeak if scope.has(quantity) => self.memory_peak(),
            Quantity::RestoreTime if scope.has(quantity) => self.restore_time(),
            Quantity::ActionThroughput if scope.has(quantity) => {
                let actions = self.counts()?.get(Count::Actions);
                let time = self.time().as_secs_f64();
                (actions > 0 && time > 0.0).then(|| actions as f64 / time)
            }
            _ if scope.has(quantity) => self.share(quantity),
            _ => None,
        }
    }

    /// The median of the windows' p50 in nanoseconds; in a duet, of the means of pairs of rounds, between
    /// which the cores were swapped. `None` if no window has a good reply.
    pub fn middle_p50(&self, scope: Scope, quantity: Quantity) -> Option<f64> {
        let windows = self.medians_by_round(scope, quantity).into_iter();
        let in_round =
            |(round, p50s): (u32, Vec<f64>)| p50s.into_iter().map(move |value| RoundValue { round, value });
        let p50s: Vec<RoundValue> = windows.flat_map(in_round).collect();
        match self.pairing {
            Pairing::Duet => median(&means_of_swapped(&p50s)),
            _ => median(&p50s.iter().map(|one| one.value).collect::<Vec<_>>()),
        }
    }

    /// The windows' p50 in a scope, in nanoseconds, by round.
    pub fn medians_by_round(&self, scope: Scope, quantity: Quantity) -> BTreeMap<u32, Vec<f64>> {
        let mut rounds: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for window in &self.windows {
            if let Some(figures) = scope_figures(window, scope) {
                let p50 = if quantity.is_response() { figures.response_p50 } else { figures.service_p50 };
                rounds.entry(window.round).or_default().push(p50.as_nanos() as f64);
            }
        }
        rounds
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct RoundValue {
    pub round: u32,
    pub value: f64,
}

/// The mean of each pair of rounds between which the cores were swapped, in order; if one round of a pair has
/// no value, the other's stands for both.
pub(crate) fn means_of_swapped(values: &[RoundValue]) -> Vec<f64> {
    let pairs = values.chunk_by(|a, b| a.round / 2 == b.round / 2);
    pairs.map(|pair| pair.iter().map(|one| one.value).sum::<f64>() / pair.len() as f64).collect()
}

#[derive(Debug, Clone, Copy)]
pub struct Totals {
    values: [Option<f64>; Quantity::ALL.len()],
    /// Replies in the merged histogram.
    pub recorded: u64,
    due: u64,
    lookups: u64,
}

impl Totals {
    /// In the quantity's unit; `None` if it was not measured.
    pub fn get(&self, quantity: Quantity) -> Option<f64> {
        self.values[quantity as usize]
    }

    /// How many tries a share is of. A byte hit rate has as many as there were lookups, not bytes: the bytes of one
    /// value are found together.
    pub fn tries(&self, quantity: Quantity) -> u64 {
        if matches!(quantity, Quantity::Availability | Quantity::Reliability) {
            self.due
        } else {
            self.lookups
        }
    }

    /// Nothing was measured.
    pub(crate) fn unknown() -> Self {
        Self { values: [None; Quantity::ALL.len()], recorded: 0, due: 0, lookups: 0 }
    }

    /// With a capacity, which no block has by itself.
    pub(crate) fn with_capacity(mut self, value: Option<f64>) -> Self {
        self.values[Quantity::Capacity as usize] = value;
        self
    }
}

/// `None` if either count is 0.
fn per(count: u64, requests: u64) -> Option<f64> {
    (count > 0 && requests > 0).then(|| count as f64 / requests as f64)
}
