//! Records what happened in a window: fixed-size entries while it runs, histograms and exact quantiles when it is over.
//!
//! While the loop sends, an entry is one push onto memory reserved before. Long loads that keep no entries move them to
//! histograms in small batches. It estimates nothing but the window's own quantiles.

use weighbridge_model::histogram::TimeHistogram;
use weighbridge_model::id::OperationId;
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::record::{ErrorCounts, OperationFigures, Outcome, RequestRecord, Tallies};

/// Entries for which memory is reserved from the start (3 MiB).
const SET_ASIDE: usize = 65_536;

/// Most entries kept for exact quantiles; a window with more continues in batches and takes its quantiles from the
/// histograms (3 digits).
const KEPT: usize = 4 << 20;

/// Entries per batch, if none are kept.
const BATCH: usize = 256;

/// How a window's requests are recorded while it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Recording {
    /// Kept until the window is over: exact quantiles, and no counting while requests are outstanding. For windows.
    #[default]
    Exact,
    /// Moved to histograms in batches of 256: bounded memory, quantiles to 3 digits. For loads of any length.
    Batched,
}

/// The time that one message of a reply took: since the one before, or since its request was sent. Or that of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MessageTime {
    pub operation: OperationId,
    pub time: Nanoseconds,
    pub outcome: Outcome,
}

/// The loop's delay for the events of one wait.
#[derive(Debug, Clone, Copy)]
struct Delay {
    nanos: u64,
    events: u32,
}

/// Sums of one operation's good replies.
#[derive(Debug, Clone, Copy)]
struct Sums {
    operation: OperationId,
    ok: u64,
    response: Nanoseconds,
    service: Nanoseconds,
    longest: Nanoseconds,
}

/// Where the quantiles of a window come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Keep,
    Spill,
}

/// Entries that are not in the histograms yet.
#[derive(Debug)]
struct Held {
    entries: Vec<RequestRecord>,
    lags: Vec<u64>,
    delays: Vec<Delay>,
    /// No memory is reserved for these: most workloads have none.
    messages: Vec<MessageTime>,
}

/// Collects the requests of one window after another.
#[derive(Debug)]
pub(crate) struct Recorder {
    mode: Mode,
    held: Held,
    /// What was moved out of `held` before the window's end.
    spilled: Tallies,
    sums: Vec<Sums>,
    /// Sums of messages and sessions, which are not requests.
    message_sums: Vec<Sums>,
    errors: ErrorCounts,
    good: u64,
    scratch: Vec<u64>,
}

/// A window's figures about requests and the loop's punctuality.
#[derive(Debug)]
pub(crate) struct Recorded {
    pub errors: ErrorCounts,
    pub operations: Vec<OperationFigures>,
    pub all: Option<OperationFigures>,
    pub lag_p99: Nanoseconds,
    pub loop_delay_p50: Nanoseconds,
}

impl Recorder {
    pub fn new() -> Self {
        Self {
            mode: Mode::Keep,
            held: Held {
                entries: Vec::with_capacity(SET_ASIDE),
                lags: Vec::with_capacity(SET_ASIDE),
                delays: Vec::with_capacity(SET_ASIDE),
                messages: Vec::new(),
            },
            spilled: Tallies::default(),
            sums: Vec::with_capacity(16),
            message_sums: Vec::new(),
            errors: ErrorCounts::default(),
            good: 0,
            scratch: Vec::with_capacity(SET_ASIDE),
        }
    }

    /// Begins a window of about `expected` requests.
    pub fn begin(&mut self, recording: Recording, expected: u64) {
        self.mode = match recording {
            Recording::Exact => Mode::Keep,
            Recording::Batched => Mode::Spill,
        };
        self.held.clear();
        self.sums.clear();
        self.message_sums.clear();
        self.errors = ErrorCounts::default();
        self.good = 0;
        if self.mode == Mode::Keep {
            let room = usize::try_from(expected).unwrap_or(KEPT).min(KEPT);
            self.held.reserve(room);
            self.scratch.reserve(room);
        }
    }

    /// Adds one request that ended.
    pub fn request(&mut self, record: RequestRecord, samples: Option<&mut Vec<RequestRecord>>) {
        match record.outcome {
            Outcome::Ok => self.good += 1,
            Outcome::Error(kind) => *self.errors.get_mut(kind) += 1,
        }
        if let Some(samples) = samples {
            samples.push(record);
        }
        self.held.entries.push(record);
        let full = match self.mode {
            Mode::Keep => KEPT,
            Mode::Spill => BATCH,
        };
        if self.held.entries.len() >= full {
            self.mode = Mode::Spill;
            self.spill();
        }
    }

    /// Adds one message of a reply, or a session.
    pub fn message(&mut self, message: MessageTime) {
        self.held.messages.push(message);
        let full = match self.mode {
            Mode::Keep => KEPT,
            Mode::Spill => BATCH,
        };
        if self.held.messages.len() >= full {
            self.mode = Mode::Spill;
            self.spill();
        }
    }

    /// Adds the lateness of one request that was sent.
    pub fn lag(&mut self, lag: Nanoseconds) {
        self.held.lags.push(lag.as_nanos());
    }

    /// Adds the delay of one of the `events` of a wait, which represents all of them.
    pub fn loop_delay(&mut self, delay: Nanoseconds, events: u32) {
        self.held.delays.push(Delay { nanos: delay.as_nanos(), events });
        if self.mode == Mode::Spill && self.held.delays.len() >= BATCH {
            self.spill();
        }
    }

    /// Good replies so far.
    pub fn good(&self) -> u64 {
        self.good
    }

    /// Errors so far.
    pub fn errors(&self) -> ErrorCounts {
        self.errors
    }

    /// Ends the window: adds it to `tallies` and returns its figures.
    pub fn finish(&mut self, tallies: &mut Tallies) -> Recorded {
        match self.mode {
            Mode::Keep => self.finish_kept(tallies),
            Mode::Spill => {
                let recorded = self.finish_spilled();
                tallies.merge(&std::mem::take(&mut self.spilled));
                recorded
            }
        }
    }

    fn finish_kept(&mut self, tallies: &mut Tallies) -> Recorded {
        self.held.empty_into(tallies, &mut self.sums, &mut self.message_sums);
        let mut operations = Vec::with_capacity(self.sums.len() + self.message_sums.len());
        for at in 0..self.sums.len() {
            let sums = self.sums[at];
            operations.push(self.exact_figures(sums, |record| record.operation == sums.operation));
        }
        let all = match operations.as_slice() {
            [] => None,
            [only] => Some(*only),
            _ => Some(self.exact_figures(total(&self.sums), |_| true)),
        };
        for at in 0..self.message_sums.len() {
            operations.push(self.exact_message_figures(self.message_sums[at]));
        }
        operations.sort_by_key(|figures| figures.operation);
        self.scratch.clear();
        self.scratch.extend_from_slice(&self.held.lags);
        let lag_p99 = nearest_rank(&mut self.scratch, 0.99);
        let loop_delay_p50 = self.median_delay();
        self.held.clear();
        Recorded { errors: self.errors, operations, all, lag_p99, loop_delay_p50 }
    }

    fn finish_spilled(&mut self) -> Recorded {
        self.spill();
        let from_histograms = |sums: &Sums, response: &TimeHistogram, service: &TimeHistogram| {
            sums.figures(
                [quantile(response, 0.5), quantile(service, 0.5)],
                [quantile(response, 0.9), quantile(service, 0.9)],
            )
        };
        let mut operations: Vec<_> = self
            .sums
            .iter()
            .filter_map(|sums| {
                let tally = self.spilled.get(sums.operation, Outcome::Ok)?;
                Some(from_histograms(sums, &tally.response, &tally.service))
            })
            .collect();
        let all = (!operations.is_empty()).then(|| {
            let (response, service) = self.spilled.ok();
            from_histograms(&total(&self.sums), &response, &service)
        });
        operations.extend(self.message_sums.iter().filter_map(|sums| {
            let times = self.spilled.messages_of(sums.operation, Outcome::Ok)?;
            Some(from_histograms(sums, times, times))
        }));
        operations.sort_by_key(|figures| figures.operation);
        Recorded {
            errors: self.errors,
            operations,
            all,
            lag_p99: quantile(&self.spilled.lag, 0.99),
            loop_delay_p50: quantile(&self.spilled.loop_delay, 0.5),
        }
    }

    /// Moves the held entries into the histograms.
    fn spill(&mut self) {
        self.held.empty_into(&mut self.spilled, &mut self.sums, &mut self.message_sums);
        self.held.clear();
    }

    /// Exact quantiles over the kept good replies that `wanted` selects.
    fn exact_figures(&mut self, sums: Sums, wanted: impl Fn(&RequestRecord) -> bool) -> OperationFigures {
        let times: [fn(&RequestRecord) -> Nanoseconds; 2] =
            [|record| record.done.since(record.due), |record| record.done.since(record.sent)];
        let mut medians = [Nanoseconds::ZERO; 2];
        let mut nineties = [Nanoseconds::ZERO; 2];
        for (at, time) in times.into_iter().enumerate() {
            self.scratch.clear();
            let good =
                self.held.entries.iter().filter(|record| record.outcome == Outcome::Ok && wanted(record));
            self.scratch.extend(good.map(|record| time(record).as_nanos()));
            medians[at] = nearest_rank(&mut self.scratch, 0.5);
            nineties[at] = nearest_rank(&mut self.scratch, 0.9);
        }
        sums.figures(medians, nineties)
    }

    /// Exact quantiles over the kept messages or good sessions of an operation; their response and service times are the same.
    fn exact_message_figures(&mut self, sums: Sums) -> OperationFigures {
        self.scratch.clear();
        let is_of_it = |one: &&MessageTime| one.operation == sums.operation && one.outcome == Outcome::Ok;
        let of_it = self.held.messages.iter().filter(is_of_it);
        self.scratch.extend(of_it.map(|message| message.time.as_nanos()));
        let [median, ninety] = [0.5, 0.9].map(|quantile| nearest_rank(&mut self.scratch, quantile));
        sums.figures([median; 2], [ninety; 2])
    }

    /// The median over events, each wait's delay counted once per event.
    fn median_delay(&mut self) -> Nanoseconds {
        self.held.delays.sort_unstable_by_key(|delay| delay.nanos);
        let events: u64 = self.held.delays.iter().map(|delay| u64::from(delay.events)).sum();
        let mut below = 0;
        let median = self.held.delays.iter().find(|delay| {
            below += u64::from(delay.events);
            below * 2 >= events
        });
        median.map_or(Nanoseconds::ZERO, |delay| Nanoseconds::from_nanos(delay.nanos))
    }
}

impl Held {
    fn clear(&mut self) {
        self.entries.clear();
        self.lags.clear();
        self.delays.clear();
        self.messages.clear();
    }

    fn reserve(&mut self, room: usize) {
        self.entries.reserve(room);
        self.lags.reserve(room);
        self.delays.reserve(room);
    }

    fn empty_into(&self, tallies: &mut Tallies, sums: &mut Vec<Sums>, message_sums: &mut Vec<Sums>) {
        for record in &self.entries {
            tallies.record(record);
            if record.outcome == Outcome::Ok {
                let (response, service) = (record.done.since(record.due), record.done.since(record.sent));
                add(sums, record.operation, response, service);
            }
        }
        for MessageTime { operation, time, outcome } in &self.messages {
            tallies.record_message(*operation, *outcome, *time);
            if *outcome == Outcome::Ok {
                add(message_sums, *operation, *time, *time);
            }
        }
        // A histogram's first bucket begins at 1 ns.
        for lag in &self.lags {
            tallies.lag.saturating_record((*lag).max(1));
        }
        for delay in &self.delays {
            let (value, events) = (delay.nanos.max(1), u64::from(delay.events));
            tallies.loop_delay.saturating_record_n(value, events);
        }
    }
}

impl Sums {
    fn figures(&self, medians: [Nanoseconds; 2], nineties: [Nanoseconds; 2]) -> OperationFigures {
        OperationFigures {
            operation: self.operation,
            ok: self.ok,
            response_sum: self.response,
            service_sum: self.service,
            response_p50: medians[0],
            service_p50: medians[1],
            response_p90: nineties[0],
            service_p90: nineties[1],
            response_max: self.longest,
        }
    }
}

fn add(sums: &mut Vec<Sums>, operation: OperationId, response: Nanoseconds, service: Nanoseconds) {
    let at = sums.iter().position(|sum| sum.operation == operation).unwrap_or_else(|| {
        // In the workload's order.
        let at = sums.partition_point(|sum| sum.operation < operation);
        let none = Nanoseconds::ZERO;
        let fresh = Sums { operation, ok: 0, response: none, service: none, longest: none };
        sums.insert(at, fresh);
        at
    });
    let sum = &mut sums[at];
    sum.ok += 1;
    sum.response += response;
    sum.service += service;
    sum.longest = sum.longest.max(response);
}

/// All operations together, under the first one's number.
fn total(sums: &[Sums]) -> Sums {
    Sums {
        operation: sums.first().map_or(OperationId(0), |first| first.operation),
        ok: sums.iter().map(|sum| sum.ok).sum(),
        response: sums.iter().map(|sum| sum.response).sum(),
        service: sums.iter().map(|sum| sum.service).sum(),
        longest: sums.iter().map(|sum| sum.longest).max().unwrap_or_default(),
    }
}

/// The smallest value that at least the share `quantile` of the values do not exceed; zero if there are none. Reorders
/// them.
fn nearest_rank(values: &mut [u64], quantile: f64) -> Nanoseconds {
    if values.is_empty() {
        return Nanoseconds::ZERO;
    }
    let rank = ((values.len() as f64 * quantile).ceil() as usize).clamp(1, values.len());
    Nanoseconds::from_nanos(*values.select_nth_unstable(rank - 1).1)
}

fn quantile(histogram: &TimeHistogram, quantile: f64) -> Nanoseconds {
    Nanoseconds::from_nanos(histogram.value_at_quantile(quantile))
}

#[cfg(test)]
mod tests {
    use super::*;
    use weighbridge_model::quantity::Timestamp;
    use weighbridge_model::record::ErrorKind;

    fn record(operation: u16, response: u64, service: u64, outcome: Outcome) -> RequestRecord {
        RequestRecord {
            due: Timestamp::from_nanos(1_000),
            sent: Timestamp::from_nanos(1_000 + response - service),
            done: Timestamp::from_nanos(1_000 + response),
            operation: OperationId(operation),
            outcome,
        }
    }

    /// 1,000 replies of operation 1 (1 to 1,000 ns, shuffled), 10 of operation 0, 3 timeouts.
    fn fill(recorder: &mut Recorder) {
        for k in 0..1000u64 {
            let response = (k * 617) % 1000 + 1;
            recorder.request(record(1, response, response.div_ceil(2), Outcome::Ok), None);
            recorder.lag(Nanoseconds::from_nanos(k + 1));
        }
        for k in 1..=10 {
            recorder.request(record(0, 5_000 + k, 1, Outcome::Ok), None);
        }
        for _ in 0..3 {
            recorder.request(record(1, 1_000_000, 9, Outcome::Error(ErrorKind::Timeout)), None);
        }
        recorder.loop_delay(Nanoseconds::from_nanos(500), 1);
        recorder.loop_delay(Nanoseconds::from_nanos(100), 3);
    }

    #[test]
    fn kept_windows_have_exact_nearest_rank_quantiles() {
        let mut recorder = Recorder::new();
        let mut tallies = Tallies::default();
        recorder.begin(Recording::Exact, 0);
        fill(&mut recorder);
        let figures = recorder.finish(&mut tallies);
        let [first, second] = figures.operations[..] else { panic!("two operations") };
        assert_eq!((first.operation, first.ok, first.response_p50.as_nanos()), (OperationId(0), 10, 5_005));
        assert_eq!((second.ok, second.response_p50.as_nanos()), (1000, 500));
        assert_eq!((second.response_p90.as_nanos(), second.service_p90.as_nanos()), (900, 450));
        assert_eq!((second.response_sum.as_nanos(), second.response_max.as_nanos()), (500_500, 1000));
        let all = figures.all.expect("good replies");
        // The 505th of 1,010 values is 505, since the ten of operation 0 are larger.
        assert_eq!((all.ok, all.response_p50.as_nanos(), all.response_max.as_nanos()), (1010, 505, 5_010));
        assert_eq!(figures.errors, ErrorCounts { timeout: 3, ..ErrorCounts::default() });
        assert_eq!((figures.lag_p99.as_nanos(), figures.loop_delay_p50.as_nanos()), (990, 100));
        let timeouts = tallies.get(OperationId(1), Outcome::Error(ErrorKind::Timeout)).expect("tallied");
        assert_eq!(timeouts.response.len(), 3);
        assert_eq!((tallies.ok().0.len(), tallies.lag.len(), tallies.loop_delay.len()), (1010, 1000, 4));
    }

    #[test]
    fn batches_give_the_same_counts_and_sums_and_quantiles_to_three_digits() {
        let (mut kept, mut batched) = (Tallies::default(), Tallies::default());
        let mut recorder = Recorder::new();
        recorder.begin(Recording::Exact, 0);
        fill(&mut recorder);
        let exact = recorder.finish(&mut kept);
        recorder.begin(Recording::Batched, 0);
        fill(&mut recorder);
        let figures = recorder.finish(&mut batched);
        assert_eq!(batched, kept, "the same histograms");
        assert_eq!(figures.errors, exact.errors);
        for (a, b) in figures.operations.iter().zip(&exact.operations) {
            assert_eq!((a.ok, a.response_sum, a.service_sum), (b.ok, b.response_sum, b.service_sum));
            let ratio = a.response_p50.as_nanos() as f64 / b.response_p50.as_nanos() as f64;
            assert!((ratio - 1.0).abs() < 0.002, "{ratio}");
        }
        assert_eq!(figures.all.map(|all| all.ok), Some(1010));
    }

    #[test]
    fn messages_have_figures_of_their_own_and_count_as_no_request() {
        for recording in [Recording::Exact, Recording::Batched] {
            let (mut recorder, mut tallies) = (Recorder::new(), Tallies::default());
            recorder.begin(recording, 0);
            fill(&mut recorder);
            for k in 1..=300 {
                let time = Nanoseconds::from_nanos(k);
                recorder.message(MessageTime { operation: OperationId(2), time, outcome: Outcome::Ok });
            }
            let (time, timeout) = (Nanoseconds::from_nanos(900), Outcome::Error(ErrorKind::Timeout));
            recorder.message(MessageTime { operation: OperationId(2), time, outcome: timeout });
            let figures = recorder.finish(&mut tallies);
            let [_, _, messages] = figures.operations[..] else { panic!("three operations") };
            assert_eq!((messages.operation, messages.ok), (OperationId(2), 300), "{recording:?}");
            assert_eq!((messages.response_p50.as_nanos(), messages.service_p90.as_nanos()), (150, 270));
            assert_eq!((messages.response_sum.as_nanos(), messages.response_max.as_nanos()), (45_150, 300));
            assert_eq!(figures.all.map(|all| all.ok), Some(1010));
            let [good, late] =
                [Outcome::Ok, timeout].map(|outcome| tallies.messages_of(OperationId(2), outcome));
            assert_eq!([good, late].map(|times| times.map_or(0, |times| times.len())), [300, 1]);
            assert_eq!((tallies.ok().0.len(), tallies.entries.len()), (1010, 3));
        }
    }

    #[test]
    fn a_window_does_not_affect_the_next() {
        let mut recorder = Recorder::new();
        for recording in [Recording::Exact, Recording::Batched] {
            recorder.begin(recording, 0);
            fill(&mut recorder);
            recorder.finish(&mut Tallies::default());
            recorder.begin(recording, 0);
            let mut tallies = Tallies::default();
            let figures = recorder.finish(&mut tallies);
            assert!(figures.operations.is_empty() && figures.all.is_none() && tallies == Tallies::default());
        }
    }
}
