//! Metered latency: an analysis of a closed log. What would each request have waited, had requests started at
//! a smooth rate instead of whenever a slot became free?
//!
//! In closed load nobody sends while the service stalls, so the requests that users would have sent then are
//! missing (coordinated omission). Metered latency puts an estimate of their wait back, by moving starts; it
//! is no measurement of an open load.
//!
//! The idea and the windows are DaCapo Chopin's (Blackburn et al. 2025, *Rethinking Java Performance
//! Analysis*, ASPLOS), as its code and its issues 266, 267 and 283 have it. Times are whole nanoseconds here,
//! where DaCapo has 32-bit floating point, so results are exact.

use std::collections::BTreeMap;

use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::record::RequestRecord;

/// The shortest smoothing window of [`ClosedLog::by_window`] but 0.
const SHORTEST_WINDOW: Nanoseconds = Nanoseconds::from_micros(100);
/// 2^(k/8), the steps of an octave of windows. A table, since a power function differs between machines.
const EIGHTHS: [f64; 8] = [
    1.0,
    1.090_507_732_665_257_7,
    1.189_207_115_002_721,
    1.296_839_554_651_009_6,
    std::f64::consts::SQRT_2,
    1.542_210_825_407_940_7,
    1.681_792_830_507_429,
    1.834_008_086_409_342_4,
];

/// One request of a closed log. Times are since any one moment before all of them, up to 2⁶³ − 1 ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClosedRequest {
    /// The slot that sent it: a connection, or a thread, with one request at a time.
    pub slot: u32,
    /// When the slot was free to send it: *due*.
    pub start: Nanoseconds,
    /// When its reply was complete: *done*. Not before `start`.
    pub end: Nanoseconds,
}

/// Why requests are not a closed log. Positions count from 0, in the order in which they were given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotClosed {
    #[error("the log holds no request")]
    Empty,
    #[error("request {position} of the log ends before it starts")]
    EndsBeforeStart { position: usize },
    #[error(
        "request {position} of the log starts while slot {slot} still waits for another reply; \
         metered latency is of closed load, where a slot has one request at a time"
    )]
    Overlaps { position: usize, slot: u32 },
    #[error(
        "request {position} of the log starts when no slot becomes free; metered latency is of closed load without think time"
    )]
    NoSlot { position: usize },
}

/// The requests of a closed load, cut to its base stretch.
///
/// The *base stretch* goes from the first start to the moment at which the first slot has done its last
/// request. From then on the load is less than it was, and the rate falls for that reason alone (DaCapo's
/// issue 266). With one slot it ends with the last reply, not with the last start (issue 267). Requests that
/// start later are left out; one in flight at that moment stays, with its own end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClosedLog {
    /// By start, and by end where starts are equal; never empty.
    requests: Vec<RequestSpan>,
    until: u64,
    left_out: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct RequestSpan {
    start: u64,
    end: u64,
}

/// Quantiles of the metered latency of one smoothing window, by nearest rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MeteredQuantiles {
    /// The smoothing window; 0 has simple latency.
    pub window: Nanoseconds,
    pub p50: Nanoseconds,
    pub p90: Nanoseconds,
    pub p99: Nanoseconds,
    pub p999: Nanoseconds,
    pub max: Nanoseconds,
}

impl ClosedLog {
    /// Requests in any order. A slot whose first request never came is not in the log, and so cannot end the
    /// base stretch.
    ///
    /// # Errors
    ///
    /// [`NotClosed`]: no request, one that ends before it starts, or two at once of one slot.
    pub fn new(requests: &[ClosedRequest]) -> Result<Self, NotClosed> {
        if let Some(position) = requests.iter().position(|request| request.end < request.start) {
            return Err(NotClosed::EndsBeforeStart { position });
        }
        let until = first_idle(requests)?.as_nanos();
        let mut kept: Vec<RequestSpan> = requests
            .iter()
            .map(|request| RequestSpan { start: request.start.as_nanos(), end: request.end.as_nanos() })
            .filter(|span| span.start <= until)
            .collect();
        kept.sort_unstable();
        Ok(Self { left_out: requests.len() - kept.len(), requests: kept, until })
    }

    /// The requests of one window of closed load without think time. Records do not say which slot sent a request, but it
    /// follows: all slots are free when the window begins, and from then on a request is due at the very moment at
    /// which its slot's last one was done. Of slots that became free in the same nanosecond, any may be the one.
    ///
    /// # Errors
    ///
    /// [`NotClosed`]: no request, one that is done before it is due, or due when no slot became free.
    pub fn of_records(records: &[RequestRecord]) -> Result<Self, NotClosed> {
        let mut order: Vec<usize> = (0..records.len()).collect();
        order.sort_by_key(|&at| (records[at].due, records[at].done));
        let first_due = order.first().map(|&at| records[at].due).ok_or(NotClosed::Empty)?;
        let mut free: BTreeMap<_, Vec<u32>> = BTreeMap::new();
        let mut slots = 0;
        let mut requests = Vec::with_capacity(records.len());
        for position in order {
            let RequestRecord { due, done, .. } = records[position];
            let slot = match free.get_mut(&due).and_then(Vec::pop) {
                Some(slot) => slot,
                None if due == first_due => {
                    slots += 1;
                    slots - 1
                }
                None => return Err(NotClosed::NoSlot { position }),
            };
            if done < due {
                return Err(NotClosed::EndsBeforeStart { position });
            }
            free.entry(done).or_default().push(slot);
            requests.push(ClosedRequest { slot, start: due.since(first_due), end: done.since(first_due) });
        }
        Self::new(&requests)
    }

    /// Length of the base stretch.
    pub fn stretch(&self) -> Nanoseconds {
        Nanoseconds::from_nanos(self.until - self.mark(0))
    }

    /// Twice the base stretch: the shortest window that smooths all starts.
    pub fn full_window(&self) -> Nanoseconds {
        Nanoseconds::from_nanos(self.stretch().as_nanos().saturating_mul(2))
    }

    /// Requests of the base stretch.
    pub const fn kept(&self) -> usize {
        self.requests.len()
    }

    /// Requests that start after the base stretch; they are in no latency.
    pub const fn left_out(&self) -> usize {
        self.left_out
    }

    /// Metered latency of each request of the base stretch, in the order of their starts (of their ends where
    /// starts are equal), with starts smoothed over `window`. O(n).
    ///
    /// Let b₀ ≤ b₁ ≤ … ≤ bₙ₋₁ be the starts, eᵢ the ends and bₙ the end of the base stretch. Of request i,
    /// let bₗ be the first and bᵣ the last of b₀ … bₙ that are no further from bᵢ than half the window. At the
    /// rate between these two it would have started at
    ///
    /// ```text
    /// sᵢ = bₗ + ⌊(i − l) (bᵣ − bₗ) / (r − l)⌋,  or bᵢ where l = r
    /// ```
    ///
    /// and its metered latency is eᵢ − min(bᵢ, sᵢ): a start is moved to an earlier time or not at all. At the
    /// edges of the base stretch, only what of the window lies within it counts. It follows that
    ///
    /// * window 0 has simple latency, eᵢ − bᵢ; so has any window where starts are equally far apart;
    /// * from twice the base stretch on, all starts are: sᵢ = b₀ + ⌊i (bₙ − b₀) / n⌋;
    /// * metered latency is at least simple latency and at most half the window more: a pause that keeps starts
    ///   further apart than that is not seen;
    /// * it need not grow with the window: a longer one spreads a pause over more requests.
    pub fn metered(&self, window: Nanoseconds) -> Vec<Nanoseconds> {
        let half = window.as_nanos() / 2;
        let mut latencies = Vec::with_capacity(self.requests.len());
        let (mut first, mut last) = (0, 0);
        for (at, request) in self.requests.iter().enumerate() {
            while request.start - self.mark(first) > half {
                first += 1;
            }
            while last < self.requests.len() && self.mark(last + 1).saturating_sub(request.start) <= half {
                last += 1;
            }
            let stretch = u128::from(self.mark(last) - self.mark(first));
            let passed = (at - first) as u128 * stretch / (last - first).max(1) as u128;
            // At most the stretch, since `at` is at most `last`.
            let synthetic = self.mark(first) + passed as u64;
            latencies.push(Nanoseconds::from_nanos(request.end - synthetic.min(request.start)));
        }
        latencies
    }

    /// Quantiles against the smoothing window: 0, then from 100 µs in steps of 2^(1/8) while shorter than
    /// twice the base stretch, then twice the base stretch, which smooths fully. O(n log n) for each window.
    pub fn by_window(&self) -> Vec<MeteredQuantiles> {
        smoothing_windows(self.full_window()).into_iter().map(|window| self.quantiles(window)).collect()
    }

    /// Quantiles of the metered latency with starts smoothed over `window`. O(n log n).
    pub fn quantiles(&self, window: Nanoseconds) -> MeteredQuantiles {
        let mut ascending = self.metered(window);
        ascending.sort_unstable();
        let rank = |per_mille: usize| ascending[(ascending.len() * per_mille).div_ceil(1000) - 1];
        MeteredQuantiles {
            window,
            p50: rank(500),
            p90: rank(900),
            p99: rank(990),
            p999: rank(999),
            max: rank(1000),
        }
    }

    /// The start of request `at`; of one beyond the last, the end of the base stretch.
    fn mark(&self, at: usize) -> u64 {
        self.requests.get(at).map_or(self.until, |request| request.start)
    }
}

/// The earliest of the slots' last ends.
fn first_idle(requests: &[ClosedRequest]) -> Result<Nanoseconds, NotClosed> {
    let mut order: Vec<usize> = (0..requests.len()).collect();
    order.sort_unstable_by_key(|&at| (requests[at].slot, requests[at].start, requests[at].end, at));
    for pair in order.windows(2) {
        let (before, after) = (&requests[pair[0]], &requests[pair[1]]);
        if before.slot == after.slot && after.start < before.end {
            return Err(NotClosed::Overlaps { position: pair[1], slot: after.slot });
        }
    }
    let of_slots = order.chunk_by(|&one, &next| requests[one].slot == requests[next].slot);
    // A slot's requests do not overlap, so the one that starts last also ends last.
    of_slots.filter_map(|slot| slot.last()).map(|&at| requests[at].end).min().ok_or(NotClosed::Empty)
}

fn smoothing_windows(full: Nanoseconds) -> Vec<Nanoseconds> {
    let octaves = std::iter::successors(Some(SHORTEST_WINDOW.as_nanos() as f64), |octave| Some(2.0 * octave));
    let steps = octaves
        .flat_map(|octave| EIGHTHS.map(|eighth| Nanoseconds::from_nanos((octave * eighth).round() as u64)))
        .take_while(|window| *window < full);
    let mut windows: Vec<Nanoseconds> = std::iter::once(Nanoseconds::ZERO).chain(steps).collect();
    if full > Nanoseconds::ZERO {
        windows.push(full);
    }
    windows
}

#[cfg(test)]
mod tests {
    use weighbridge_model::id::OperationId;
    use weighbridge_model::quantity::Timestamp;
    use weighbridge_model::record::Outcome;

    use super::*;

    const MS: u64 = 1_000_000;

    fn request(slot: u32, start: u64, end: u64) -> ClosedRequest {
        ClosedRequest { slot, start: Nanoseconds::from_nanos(start), end: Nanoseconds::from_nanos(end) }
    }

    fn log(requests: &[ClosedRequest]) -> ClosedLog {
        ClosedLog::new(requests).expect("a closed log")
    }

    fn nanos(times: &[Nanoseconds]) -> Vec<u64> {
        times.iter().map(|time| time.as_nanos()).collect()
    }

    fn metered(log: &ClosedLog, window: u64) -> Vec<u64> {
        nanos(&log.metered(Nanoseconds::from_nanos(window)))
    }

    /// One slot, 1,000 requests of 1 ms from `from` on, the 500th of which takes 100 ms more: request i starts
    /// at i ms up to i = 499, at i + 100 ms from i = 500 on, and the base stretch is 1,100 ms.
    fn paused(from: u64) -> ClosedLog {
        let start = |at: u64| from + (at + if at >= 500 { 100 } else { 0 }) * MS;
        let requests: Vec<_> = (0..1000).map(|at| request(0, start(at), start(at + 1))).collect();
        log(&requests)
    }

    #[test]
    fn a_pause_smoothed_over_everything_delays_all_that_follow_it() {
        // Starts are 1.1 ms apart, at 1.1 i ms. Up to i = 499 that is later than i ms, so latency is simple.
        // From i = 500 on a request ends at i + 101 ms, and its latency is 101 − 0.1 i ms.
        let wanted: Vec<u64> = (0..1000)
            .map(|at| match at {
                0..499 => MS,
                499 => 101 * MS,
                _ => 101 * MS - at * MS / 10,
            })
            .collect();
        // The nanosecond clock is large where a host has long been up; a 32-bit float would see nothing.
        for from in [0, 7_000_000_000_000_000_123] {
            let log = paused(from);
            assert_eq!(log.stretch(), Nanoseconds::from_millis(1100));
            assert_eq!(metered(&log, 2200 * MS), wanted);
            assert_eq!(metered(&log, u64::MAX), wanted);
            // Sorted: 499 of 1 ms, then 1.1, 1.2 … 51 ms (rank r has 1.1 + 0.1 (r − 500) ms), then 101 ms.
            let full = *log.by_window().last().expect("windows");
            let of_rows = [full.window, full.p50, full.p90, full.p99, full.p999, full.max];
            assert_eq!(
                nanos(&of_rows),
                [2_200_000_000, 1_100_000, 41_100_000, 50_100_000, 51_000_000, 101_000_000]
            );
        }
    }

    #[test]
    fn a_shorter_window_gives_those_right_behind_a_pause_more_of_it() {
        let log = paused(0);
        // Up to 200 ms the request behind the pause, 600 ms, sees no start before it: the last was at 499 ms.
        assert_eq!(metered(&log, 200 * MS), metered(&log, 0));
        // At 202 ms it sees 499 ms and, 102 requests on, 701 ms: 499 ms + 202 ms / 102 = 500,980,392 ns.
        let barely = metered(&log, 202 * MS);
        assert_eq!(barely[499..502], [101 * MS, 601 * MS - 500_980_392, MS]);
        // At 300 ms the starts around it go from 450 ms, 50 before it, to 750 ms, 200 on: one each 1.5 ms. It
        // would have started at 525 ms and took until 601 ms. Fully smoothed it had 51 ms.
        assert_eq!(metered(&log, 300 * MS)[500], 76 * MS);
    }

    #[test]
    fn window_zero_is_simple_latency_and_so_is_any_of_equal_gaps() {
        let log = paused(0);
        let mut simple = vec![MS; 1000];
        simple[499] = 101 * MS;
        assert_eq!(metered(&log, 0), simple);
        assert_eq!(metered(&log, 1), simple);

        let even = log_of_equal_gaps();
        for row in even.by_window() {
            assert_eq!(even.metered(row.window), even.metered(Nanoseconds::ZERO), "{}", row.window);
        }
    }

    /// Two slots with requests of 10 ms, 5 ms apart, so that one starts each 5 ms. The first slot is idle at
    /// 1,000 ms, when the second has 5 ms to go.
    fn log_of_equal_gaps() -> ClosedLog {
        let of_slot = |slot: u32| {
            (0..100).map(move |at| {
                let start = (10 * at + 5 * u64::from(slot)) * MS;
                request(slot, start, start + 10 * MS)
            })
        };
        log(&of_slot(0).chain(of_slot(1)).collect::<Vec<_>>())
    }

    #[test]
    fn the_base_stretch_ends_where_the_first_slot_has_no_more_requests() {
        // Slot 7 is done at 30: its end is the base stretch's. A request that starts there is in it.
        let requests = [
            request(3, 0, 25),
            request(7, 10, 30),
            request(3, 25, 30),
            request(3, 30, 90),
            request(3, 90, 95),
        ];
        let log = log(&requests);
        assert_eq!((log.stretch(), log.left_out()), (Nanoseconds::from_nanos(30), 1));
        assert_eq!(metered(&log, 0), [25, 20, 5, 60]);
        // Fully smoothed the four start at 0, 7.5, 15 and 22.5, rounded down.
        assert_eq!(metered(&log, 60), [25, 23, 15, 68]);
    }

    #[test]
    fn a_single_request_has_its_simple_latency() {
        let single = log(&[request(0, 40, 90)]);
        let rows = single.by_window();
        assert_eq!(rows.iter().map(|row| row.window.as_nanos()).collect::<Vec<_>>(), [0, 100]);
        assert!(rows.iter().all(|row| nanos(&[row.p50, row.p999, row.max]) == [50, 50, 50]));

        let instant = log(&[request(0, 40, 40)]).by_window();
        assert_eq!(instant.len(), 1);
        assert_eq!(instant[0].max, Nanoseconds::ZERO);
    }

    #[test]
    fn what_is_not_a_closed_log_is_refused() {
        assert_eq!(ClosedLog::new(&[]), Err(NotClosed::Empty));
        assert_eq!(
            ClosedLog::new(&[request(0, 1, 2), request(1, 5, 4)]),
            Err(NotClosed::EndsBeforeStart { position: 1 })
        );
        // As due and done of an open load: the second was due before the slot was free.
        assert_eq!(
            ClosedLog::new(&[request(4, 9, 20), request(2, 0, 30), request(4, 0, 10)]),
            Err(NotClosed::Overlaps { position: 0, slot: 4 })
        );
        assert!(ClosedLog::new(&[request(4, 10, 20), request(4, 10, 10), request(4, 0, 10)]).is_ok());
    }

    fn record(due: u64, done: u64) -> RequestRecord {
        let (due, done) = (Timestamp::from_nanos(due), Timestamp::from_nanos(done));
        RequestRecord { due, sent: due, done, operation: OperationId(0), outcome: Outcome::Ok }
    }

    /// As in `the_base_stretch_ends_where_the_first_slot_has_no_more_requests`, but all slots are free when a window begins.
    #[test]
    fn slots_follow_from_when_requests_are_due() {
        let records = [
            record(1_000, 1_025),
            record(1_000, 1_030),
            record(1_025, 1_040),
            record(1_040, 1_090),
            record(1_090, 1_095),
        ];
        let mut turned = records;
        turned.reverse();
        for given in [records, turned] {
            let log = ClosedLog::of_records(&given).expect("a closed log");
            let slotted = [
                request(3, 0, 25),
                request(7, 0, 30),
                request(3, 25, 40),
                request(3, 40, 90),
                request(3, 90, 95),
            ];
            assert_eq!(log, ClosedLog::new(&slotted).expect("a closed log"));
            assert_eq!((log.stretch(), log.kept(), log.left_out()), (Nanoseconds::from_nanos(30), 3, 2));
        }
        assert_eq!(ClosedLog::of_records(&[]), Err(NotClosed::Empty));
        // Thought for a nanosecond, or arrived.
        let thought = [record(0, 10), record(11, 20)];
        assert_eq!(ClosedLog::of_records(&thought), Err(NotClosed::NoSlot { position: 1 }));
        let backwards = [record(0, 10), record(10, 9)];
        assert_eq!(ClosedLog::of_records(&backwards), Err(NotClosed::EndsBeforeStart { position: 1 }));
    }

    #[test]
    fn windows_grow_by_eighths_of_an_octave_to_twice_the_base_stretch() {
        let windows = nanos(&smoothing_windows(Nanoseconds::from_millis(60_000)));
        assert_eq!(windows[..4], [0, 100_000, 109_051, 118_921]);
        assert_eq!((windows[9], windows[17]), (200_000, 400_000), "an octave is eight steps");
        for pair in windows[1..windows.len() - 1].windows(2) {
            let step = pair[1] as f64 / pair[0] as f64;
            assert!((step - 2_f64.powf(0.125)).abs() < 1e-5, "{pair:?}");
        }
        let last = &windows[windows.len() - 2..];
        assert!(last[1] == 60_000_000_000 && last[0] < last[1] && last[0] as f64 * 1.0906 > last[1] as f64);
        assert_eq!(nanos(&smoothing_windows(Nanoseconds::from_micros(100))), [0, 100_000]);
        assert_eq!(nanos(&smoothing_windows(Nanoseconds::from_nanos(u64::MAX))).last(), Some(&u64::MAX));
    }
}
