//! When to send and when a window ends: a state machine whose only clock is its arguments.
//!
//! The event loop drives it with the host's clock, the simulation test with a virtual one. It knows nothing of
//! connections, bytes or outcomes. The caller asks [`Window::take`] whenever a slot is free, reports each request's end
//! with [`Window::completed`], and calls [`Window::end`] after either.

use std::collections::VecDeque;

use weighbridge_model::experiment::{SessionLength, Think};
use weighbridge_model::id::OperationId;
use weighbridge_model::quantity::{Nanoseconds, Timestamp};
use weighbridge_model::record::WindowEnd;

use crate::pace::{Flow, Schedule};

/// Default limit of due requests that wait for a slot; further ones are counted as not sent.
pub const QUEUE: u32 = 1_000_000;

/// Due requests for which memory is reserved in advance; more of them waiting means an overloaded server.
const QUEUE_START: u32 = 4_096;

/// A window of sessions is saturated if more than one in so many of them wait for a slot when the last becomes due, …
const WAITING_SHARE: u64 = 10;
/// … and more than so many, which may be chance.
const WAITING_FEW: u64 = 4;

/// Least time for what waits when a schedule by time stops, unless its limit is shorter.
const DRAIN_LEAST: Nanoseconds = Nanoseconds::from_secs(1);

/// How much is issued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// Exactly this many requests.
    Count(u64),
    /// The requests due within this time of the start.
    Time(Nanoseconds),
}

/// How a window of open load ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenEnd {
    /// After this nominal length the schedule continues until nothing is outstanding or overdue. A window then consists
    /// of whole busy cycles, so sums over windows are unbiased for the steady state (see [`Window`]).
    BusyCycles(Nanoseconds),
    /// The schedule stops; requests due by then are sent and awaited.
    Drain {
        /// Where the schedule stops.
        stop: Stop,
        /// How long after the schedule's end waiting requests may still be sent, but no longer than the schedule was
        /// (but 1 s at least); the rest are counted as not sent.
        limit: Nanoseconds,
    },
    /// In partly open load: so many sessions begin, and each is awaited to its end. The window is saturated if many still
    /// wait for a slot when the last becomes due.
    Sessions {
        /// How many.
        count: u64,
        /// About how many requests they send in all.
        requests: u64,
        /// How long after the last of them is due those that wait may still begin; the rest are counted as not sent.
        limit: Nanoseconds,
    },
}

/// When requests are due.
#[derive(Debug, Clone, PartialEq)]
pub enum Load {
    /// A request is due when a slot becomes free.
    Closed(Stop),
    /// A slot thinks from when it becomes free; its next request is due after that.
    Thinking {
        /// How much is issued.
        stop: Stop,
        /// How long a slot thinks.
        think: Think,
    },
    /// Requests are due by a schedule.
    Open {
        /// When requests are due.
        flow: Flow,
        /// Most due requests that wait for a slot.
        queue: u32,
        /// How the window ends.
        end: OpenEnd,
    },
    /// Sessions begin by a schedule. Each occupies one slot until it is over. Its first request is due when it begins,
    /// each further one when the last reply has come and the slot has thought.
    PartlyOpen {
        /// When sessions begin.
        flow: Flow,
        /// Most due sessions that wait for a slot.
        queue: u32,
        /// How the window ends. A count or a time limits requests, and a session in progress when the schedule stops
        /// sends no more.
        end: OpenEnd,
        /// Requests of a session.
        length: SessionLength,
        /// How long a session thinks between a reply and its next request.
        think: Think,
    },
}

/// One window's schedule, counts and end.
///
/// A window of [`OpenEnd::BusyCycles`] begins with an empty system, and ends at the first instant from its nominal
/// length on at which the system is empty. Divide time at each arrival that finds the system empty. For renewal
/// arrivals the pieces (a busy period and the idle period after it) are independent and identically distributed, and
/// whether piece *k* + 1 belongs to the window depends on pieces 1 to *k* only. In partly open load the system is empty
/// when there is no session, not even one that is thinking. So by Wald's identity a window's expected sum is the
/// expected number of its pieces times the expected sum over one, for response times and for requests alike. The ratio
/// of their sums over many windows converges to the steady state's mean, however short the windows.
#[derive(Debug)]
pub struct Window {
    start: Timestamp,
    issue: Issue,
    requests: u64,
    outstanding: u64,
}

#[derive(Debug)]
enum Issue {
    Closed(Stop),
    Open(Box<Open>),
}

#[derive(Debug)]
struct Open {
    schedule: Schedule,
    /// The next arrival, not yet due; `None` where the schedule is over.
    next: Option<Timestamp>,
    /// The last arrival that became due (the start before the first).
    last_due: Timestamp,
    waiting: VecDeque<Arrival>,
    /// The operation of the request last taken, if the schedule names it.
    named: Option<OperationId>,
    bound: usize,
    end: OpenEnd,
    offered: u64,
    overflow: u64,
    discarded: u64,
    /// Sessions that have a slot; `None` if requests arrive instead of sessions.
    present: Option<u64>,
    /// What the schedule gave, due or not.
    drawn: u64,
    /// How many waited when the last became due.
    waiting_at_last: usize,
}

/// An arrival that is due.
#[derive(Debug, Clone, Copy)]
struct Arrival {
    due: Timestamp,
    operation: Option<OperationId>,
}

impl Window {
    /// A window that starts at `start` with nothing outstanding; arrivals are drawn from `substream`.
    pub fn new(load: &Load, substream: u64, start: Timestamp) -> Self {
        match load {
            Load::Closed(stop) | Load::Thinking { stop, .. } => {
                Self { start, issue: Issue::Closed(*stop), requests: 0, outstanding: 0 }
            }
            Load::Open { flow, queue, end } => {
                let start = flow.origin.unwrap_or(start);
                let open = Open::new(flow, substream, start, *queue, *end, None);
                Self { start, issue: Issue::Open(Box::new(open)), requests: 0, outstanding: 0 }
            }
            Load::PartlyOpen { flow, queue, end, .. } => {
                let start = flow.origin.unwrap_or(start);
                let open = Open::new(flow, substream, start, *queue, *end, Some(0));
                Self { start, issue: Issue::Open(Box::new(open)), requests: 0, outstanding: 0 }
            }
        }
    }

    /// A window without a schedule of its own: requests (in partly open load: sessions) become due by calls of
    /// [`offer`](Self::offer), and the caller decides when it ends. `nominal` only serves [`wake`](Self::wake).
    pub fn unscheduled(load: &Load, nominal: Nanoseconds, start: Timestamp) -> Self {
        let (queue, present) = match load {
            Load::Closed(_) | Load::Thinking { .. } => (QUEUE, None),
            Load::Open { queue, .. } => (*queue, None),
            Load::PartlyOpen { queue, .. } => (*queue, Some(0)),
        };
        let end = OpenEnd::BusyCycles(nominal);
        let open = Open::with_schedule(Schedule::never(start), start, queue, end, present);
        Self { start, issue: Issue::Open(Box::new(open)), requests: 0, outstanding: 0 }
    }

    /// Adds a request due at `due` to a window that is [unscheduled](Self::unscheduled); `operation` is the operation that its schedule
    /// names, if any.
    pub fn offer(&mut self, due: Timestamp, operation: Option<OperationId>) {
        if let Issue::Open(open) = &mut self.issue {
            open.admit(due, operation);
        }
    }

    /// Whether nothing is outstanding, no due request waits and no session is present.
    pub fn is_empty(&self) -> bool {
        self.outstanding == 0
            && match &self.issue {
                Issue::Closed(_) => true,
                Issue::Open(open) => open.waiting.is_empty() && open.present.unwrap_or(0) == 0,
            }
    }

    /// Called at `now` for a slot that became free (or had thought) at `freed`. Returns when the request that it must
    /// send was due, or `None` if there is nothing to send now. The request then counts as outstanding. In partly open
    /// load it is the first of a session, which is present until [`sessions_ended`](Self::sessions_ended).
    pub fn take(&mut self, now: Timestamp, freed: Timestamp) -> Option<Timestamp> {
        let due = match &mut self.issue {
            Issue::Closed(stop) => {
                let goes_on = match *stop {
                    Stop::Count(count) => self.requests < count,
                    Stop::Time(time) => now.since(self.start) < time,
                };
                goes_on.then_some(freed)
            }
            Issue::Open(open) => {
                open.advance(self.start, now);
                let Arrival { due, operation } = open.waiting.pop_front()?;
                open.named = operation;
                if let Some(present) = &mut open.present {
                    *present += 1;
                }
                Some(due)
            }
        }?;
        self.requests += 1;
        self.outstanding += 1;
        Some(due)
    }

    /// The operation of the request last [taken](Self::take), if the schedule names one.
    pub fn named_operation(&self) -> Option<OperationId> {
        match &self.issue {
            Issue::Closed(_) => None,
            Issue::Open(open) => open.named,
        }
    }

    /// Whether a session that is present may send another request `now`; that then counts as outstanding.
    pub fn continue_session(&mut self, now: Timestamp) -> Continuation {
        let Issue::Open(open) = &mut self.issue else { return Continuation::Stopped };
        if !open.admits(self.start, now) {
            return Continuation::Stopped;
        }
        open.offered += 1;
        if !matches!(open.end, OpenEnd::Sessions { .. }) {
            open.last_due = open.last_due.max(now);
        }
        self.requests += 1;
        self.outstanding += 1;
        Continuation::Send
    }

    /// This many sessions ended.
    pub fn sessions_ended(&mut self, sessions: u64) {
        if let Issue::Open(open) = &mut self.issue
            && let Some(present) = &mut open.present
        {
            *present = present.saturating_sub(sessions);
        }
    }

    /// A request to which a reply has led is sent: outstanding, but no load.
    pub fn follow_up(&mut self) {
        self.outstanding += 1;
    }

    /// A request that was taken is over.
    pub fn completed(&mut self) {
        self.outstanding = self.outstanding.saturating_sub(1);
    }

    /// How the window ended, if it has by `now`.
    pub fn end(&mut self, now: Timestamp) -> Option<WindowEnd> {
        let elapsed = now.since(self.start);
        let nothing_outstanding = self.outstanding == 0;
        match &mut self.issue {
            Issue::Closed(stop) => {
                let over = match *stop {
                    Stop::Count(count) => self.requests >= count,
                    Stop::Time(time) => elapsed >= time,
                };
                (over && nothing_outstanding).then_some(WindowEnd::Complete)
            }
            Issue::Open(open) => {
                open.advance(self.start, now);
                let empty = nothing_outstanding && open.waiting.is_empty();
                let no_sessions = empty && open.present.unwrap_or(0) == 0;
                match open.end {
                    OpenEnd::BusyCycles(nominal) if no_sessions && elapsed >= nominal => {
                        Some(WindowEnd::Complete)
                    }
                    OpenEnd::BusyCycles(nominal) if elapsed >= cap(nominal) => {
                        open.discard();
                        Some(WindowEnd::Saturated)
                    }
                    OpenEnd::BusyCycles(_) => None,
                    OpenEnd::Drain { stop, .. } => {
                        let over = empty && open.schedule_over(stop, elapsed);
                        over.then(|| open.drained())
                    }
                    OpenEnd::Sessions { .. } => (no_sessions && open.next.is_none()).then(|| open.drained()),
                }
            }
        }
    }

    /// Gives up: due requests that wait will not be sent.
    pub fn abort(&mut self, now: Timestamp) {
        if let Issue::Open(open) = &mut self.issue {
            open.advance(self.start, now);
            open.discard();
        }
    }

    /// When to call [`take`](Self::take) (if `slots` says that one is free) and [`end`](Self::end) again if nothing
    /// else happens before: `now` if there is something to send already, `None` if only a reply can change anything.
    /// `think_end` is when the next thinking slot is done.
    pub fn wake(&self, now: Timestamp, slots: Slots, think_end: Option<Timestamp>) -> Option<Timestamp> {
        let think_end = think_end.filter(|_| self.issuing(now)).map(|think_end| think_end.max(now));
        [self.wake_without_think(now, slots), think_end].into_iter().flatten().min()
    }

    fn wake_without_think(&self, now: Timestamp, slots: Slots) -> Option<Timestamp> {
        let later = |moment: Timestamp| (moment > now).then_some(moment);
        match &self.issue {
            Issue::Closed(_) if slots == Slots::SomeFree && self.issuing(now) => Some(now),
            Issue::Closed(Stop::Count(_)) => None,
            Issue::Closed(Stop::Time(time)) => later(self.start + *time),
            Issue::Open(open) => {
                let waits = slots == Slots::SomeFree && !open.waiting.is_empty();
                let next = if waits { Some(now) } else { open.next.filter(|_| slots == Slots::SomeFree) };
                let (first, second) = match open.end {
                    OpenEnd::BusyCycles(nominal) => {
                        (later(self.start + nominal), later(self.start + cap(nominal)))
                    }
                    OpenEnd::Drain { stop, limit } => {
                        let stops = match stop {
                            Stop::Time(time) => later(self.start + time),
                            Stop::Count(_) => None,
                        };
                        let deadline = open.drain_deadline(self.start, stop, limit);
                        (stops, deadline.filter(|_| !open.waiting.is_empty()).and_then(later))
                    }
                    OpenEnd::Sessions { limit, .. } => {
                        let waits = open.next.is_none() && !open.waiting.is_empty();
                        (None, later(open.last_due + limit).filter(|_| waits))
                    }
                };
                [next, first, second].into_iter().flatten().min()
            }
        }
    }

    /// Whether more requests can still be taken.
    pub fn issuing(&self, now: Timestamp) -> bool {
        match &self.issue {
            Issue::Closed(Stop::Count(count)) => self.requests < *count,
            Issue::Closed(Stop::Time(time)) => now.since(self.start) < *time,
            Issue::Open(open) => {
                open.next.is_some()
                    || !open.waiting.is_empty()
                    || (open.present.unwrap_or(0) > 0 && open.admits(self.start, now))
            }
        }
    }

    /// Whether only replies can end the window, because no time limit applies.
    pub fn ends_by_replies(&self) -> bool {
        match &self.issue {
            Issue::Closed(stop) => matches!(stop, Stop::Count(_)),
            Issue::Open(open) => matches!(open.end, OpenEnd::BusyCycles(_)),
        }
    }

    /// When the window started.
    pub fn start(&self) -> Timestamp {
        self.start
    }

    /// Requests due so far.
    pub fn offered(&self) -> u64 {
        match &self.issue {
            Issue::Closed(_) => self.requests,
            Issue::Open(open) => open.offered,
        }
    }

    /// Requests taken so far.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// Requests taken and not over.
    pub fn outstanding(&self) -> u64 {
        self.outstanding
    }

    /// Requests that were due and will never be sent.
    pub fn not_sent(&self) -> u64 {
        match &self.issue {
            Issue::Closed(_) => 0,
            Issue::Open(open) => open.overflow + open.discarded,
        }
    }
}

/// What a session does after it has thought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Continuation {
    /// It sends its next request.
    Send,
    /// The load has stopped: the session is over.
    Stopped,
}

/// Whether a slot is free to send the next due request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slots {
    /// At least one is.
    SomeFree,
    /// None is: an arrival only joins the queue.
    NoneFree,
}

/// Longest a window of busy cycles may last before it counts as saturated.
pub(crate) fn cap(nominal: Nanoseconds) -> Nanoseconds {
    let grace = Nanoseconds::from_secs(5).max(nominal * 100);
    (nominal + grace).min(Nanoseconds::from_secs(30).max(nominal))
}

impl Open {
    fn new(
        flow: &Flow,
        substream: u64,
        start: Timestamp,
        queue: u32,
        end: OpenEnd,
        present: Option<u64>,
    ) -> Self {
        let mut open = Self::with_schedule(Schedule::new(flow, substream, start), start, queue, end, present);
        open.draw(start);
        open
    }

    fn with_schedule(
        schedule: Schedule,
        start: Timestamp,
        queue: u32,
        end: OpenEnd,
        present: Option<u64>,
    ) -> Self {
        Self {
            schedule,
            next: None,
            last_due: start,
            waiting: VecDeque::with_capacity(queue.min(QUEUE_START) as usize),
            named: None,
            bound: queue as usize,
            end,
            offered: 0,
            overflow: 0,
            discarded: 0,
            present,
            drawn: 0,
            waiting_at_last: 0,
        }
    }

    /// Whether sessions in progress may send more.
    fn admits(&self, start: Timestamp, now: Timestamp) -> bool {
        match self.end {
            OpenEnd::BusyCycles(_) | OpenEnd::Sessions { .. } => true,
            OpenEnd::Drain { stop: Stop::Count(count), .. } => self.offered < count,
            OpenEnd::Drain { stop: Stop::Time(time), .. } => now.since(start) < time,
        }
    }

    /// Draws the next arrival, if the schedule has one.
    fn draw(&mut self, start: Timestamp) {
        let goes_on = match self.end {
            OpenEnd::Drain { stop: Stop::Count(count), .. } => self.offered < count,
            OpenEnd::Sessions { count, .. } => self.drawn < count,
            _ => true,
        };
        self.next = if goes_on { self.schedule.next_arrival() } else { None };
        self.drawn += u64::from(self.next.is_some());
        if self.next.is_none() {
            self.waiting_at_last = self.waiting.len();
        }
        if let OpenEnd::Drain { stop: Stop::Time(time), .. } = self.end {
            self.next = self.next.filter(|due| due.since(start) < time);
        }
    }

    /// Moves every arrival due by `now` to the queue.
    fn advance(&mut self, start: Timestamp, now: Timestamp) {
        if let OpenEnd::Drain { stop: Stop::Count(count), .. } = self.end
            && self.offered >= count
        {
            // Requests of sessions in progress have used up the count.
            self.next = None;
        }
        while let Some(due) = self.next.filter(|due| *due <= now) {
            self.admit(due, self.schedule.operation());
            self.draw(start);
        }
        if let OpenEnd::Drain { stop, limit } = self.end
            && self.drain_deadline(start, stop, limit).is_some_and(|deadline| now >= deadline)
        {
            self.discard();
        }
        if let OpenEnd::Sessions { limit, .. } = self.end
            && self.next.is_none()
            && now >= self.last_due + limit
        {
            self.discard();
        }
    }

    /// Puts an arrival into the queue.
    fn admit(&mut self, due: Timestamp, operation: Option<OperationId>) {
        self.offered += 1;
        self.last_due = due;
        if self.waiting.len() < self.bound {
            self.waiting.push_back(Arrival { due, operation });
        } else {
            self.overflow += 1;
        }
    }

    /// When waiting requests are given up; `None` while the schedule continues.
    fn drain_deadline(&self, start: Timestamp, stop: Stop, limit: Nanoseconds) -> Option<Timestamp> {
        if self.next.is_some() {
            return None;
        }
        Some(match stop {
            Stop::Time(time) => start + time + limit.min(time.max(DRAIN_LEAST)),
            Stop::Count(_) => self.last_due + limit,
        })
    }

    /// How a schedule that is over ends the window.
    fn drained(&self) -> WindowEnd {
        let was_crowded = match self.end {
            OpenEnd::Sessions { count, .. } => {
                let waited = self.waiting_at_last as u64;
                waited > WAITING_FEW && waited * WAITING_SHARE > count
            }
            _ => false,
        };
        if self.discarded > 0 || was_crowded { WindowEnd::Saturated } else { WindowEnd::Complete }
    }

    fn discard(&mut self) {
        self.discarded += self.waiting.len() as u64;
        self.waiting.clear();
    }

    fn schedule_over(&self, stop: Stop, elapsed: Nanoseconds) -> bool {
        self.next.is_none()
            && match stop {
                Stop::Time(time) => elapsed >= time,
                Stop::Count(_) => true,
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weighbridge_model::experiment::Arrivals;
    use weighbridge_model::quantity::PerSecond;

    const fn at(millis: u64) -> Timestamp {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    fn flow(rate: f64) -> Flow {
        Flow::steady(PerSecond::new(rate).expect("a rate"), Arrivals::Constant)
    }

    fn open(rate: f64, queue: u32, end: OpenEnd) -> Window {
        Window::new(&Load::Open { flow: flow(rate), queue, end }, 0, at(0))
    }

    fn nominal(millis: u64) -> OpenEnd {
        OpenEnd::BusyCycles(Nanoseconds::from_millis(millis))
    }

    #[test]
    fn closed_by_count_issues_exactly_that_many_and_ends_at_the_last_reply() {
        let mut window = Window::new(&Load::Closed(Stop::Count(2)), 0, at(0));
        assert_eq!(window.take(at(0), at(0)), Some(at(0)));
        assert_eq!(window.take(at(5), at(4)), Some(at(4)), "due when the slot became free");
        assert_eq!(window.take(at(6), at(6)), None);
        window.completed();
        assert_eq!(window.end(at(7)), None);
        window.completed();
        assert_eq!(window.end(at(8)), Some(WindowEnd::Complete));
        assert_eq!((window.requests(), window.offered(), window.not_sent()), (2, 2, 0));
    }

    #[test]
    fn closed_by_time_stops_issuing_and_drains() {
        let mut window = Window::new(&Load::Closed(Stop::Time(Nanoseconds::from_millis(10))), 0, at(0));
        assert_eq!(window.take(at(9), at(9)), Some(at(9)));
        assert_eq!(window.wake(at(9), Slots::NoneFree, None), Some(at(10)));
        assert_eq!(window.take(at(10), at(10)), None);
        assert_eq!(window.end(at(10)), None, "one is outstanding");
        window.completed();
        assert_eq!(window.end(at(12)), Some(WindowEnd::Complete));
    }

    #[test]
    fn a_window_of_busy_cycles_ends_only_when_nothing_is_outstanding_or_overdue() {
        let mut window = open(1000.0, 10, nominal(3));
        assert_eq!(window.take(at(0), at(0)), Some(at(0)));
        assert_eq!(window.take(at(0), at(0)), None, "the next is due at 1 ms");
        window.completed();
        // 1, 2, 3 and 4 ms are due by now.
        assert_eq!(window.take(at(4), at(0)), Some(at(1)));
        window.completed();
        assert_eq!(window.end(at(4)), None, "three are overdue");
        for due in [2, 3, 4] {
            assert_eq!(window.take(at(4), at(4)), Some(at(due)));
            window.completed();
        }
        assert_eq!(window.end(at(4)), Some(WindowEnd::Complete));
        assert_eq!((window.offered(), window.requests()), (5, 5));
    }

    #[test]
    fn an_idle_window_ends_at_its_nominal_length() {
        let mut window = open(1.0, 10, nominal(20));
        assert_eq!(window.take(at(0), at(0)), Some(at(0)));
        window.completed();
        assert_eq!(window.end(at(1)), None);
        assert_eq!(window.wake(at(1), Slots::SomeFree, None), Some(at(20)));
        assert_eq!(window.end(at(20)), Some(WindowEnd::Complete));
    }

    #[test]
    fn a_window_that_never_drains_is_saturated_at_its_cap() {
        let mut window = open(1000.0, 1_000_000, nominal(20));
        assert_eq!(window.take(at(0), at(0)), Some(at(0)));
        assert_eq!(window.end(at(5_019)), None);
        assert_eq!(window.end(at(5_020)), Some(WindowEnd::Saturated));
        assert_eq!((window.offered(), window.requests(), window.not_sent()), (5_021, 1, 5_020));
        assert_eq!(cap(Nanoseconds::from_secs(1)), Nanoseconds::from_secs(30));
        assert_eq!(cap(Nanoseconds::from_millis(100)), Nanoseconds::from_millis(10_100));
    }

    #[test]
    fn the_queue_is_bounded_and_what_it_turns_away_is_counted() {
        let mut window = open(1000.0, 3, nominal(5));
        assert_eq!(window.take(at(9), at(0)), Some(at(0)));
        assert_eq!(window.offered(), 10);
        assert_eq!(window.not_sent(), 7);
        assert_eq!(window.take(at(9), at(9)), Some(at(1)));
    }

    #[test]
    fn a_drained_load_sends_what_was_due_before_its_end() {
        let stop = Stop::Time(Nanoseconds::from_millis(3));
        let mut window = open(1000.0, 10, OpenEnd::Drain { stop, limit: Nanoseconds::from_millis(5) });
        assert_eq!(window.take(at(7), at(0)), Some(at(0)));
        assert_eq!(window.offered(), 3, "0, 1 and 2 ms; 3 ms is past the end");
        window.completed();
        assert_eq!(window.end(at(7)), None);
        assert_eq!(window.end(at(8)), Some(WindowEnd::Saturated), "two were given up");
        assert_eq!(window.not_sent(), 2);
    }

    #[test]
    fn a_queue_is_drained_for_no_longer_than_it_grew() {
        for (seconds, drained) in [(2, 2_000), (20, 10_000)] {
            let stop = Stop::Time(Nanoseconds::from_secs(seconds));
            let mut window =
                open(1000.0, 100_000, OpenEnd::Drain { stop, limit: Nanoseconds::from_secs(10) });
            let deadline = seconds * 1_000 + drained;
            assert_eq!(window.end(at(deadline - 1)), None);
            assert_eq!(window.end(at(deadline)), Some(WindowEnd::Saturated));
            assert_eq!((window.offered(), window.not_sent()), (seconds * 1_000, seconds * 1_000));
        }
    }

    #[test]
    fn a_drained_load_by_count_offers_exactly_that_many() {
        let end = OpenEnd::Drain { stop: Stop::Count(4), limit: Nanoseconds::from_secs(1) };
        let mut window = open(1000.0, 10, end);
        let taken = (0..10).filter_map(|_| window.take(at(100), at(0))).count();
        assert_eq!(taken, 4);
        (0..4).for_each(|_| window.completed());
        assert_eq!(window.end(at(100)), Some(WindowEnd::Complete));
        let none = OpenEnd::Drain { stop: Stop::Count(0), limit: Nanoseconds::ZERO };
        assert_eq!(open(1000.0, 10, none).end(at(0)), Some(WindowEnd::Complete));
    }

    #[test]
    fn an_aborted_window_counts_what_was_due_as_not_sent() {
        let mut window = open(1000.0, 10, nominal(100));
        window.abort(at(4));
        assert_eq!((window.offered(), window.not_sent()), (5, 5));
    }

    /// So many sessions, which arrive at this rate.
    fn arriving(count: u64, rate: f64, limit: Nanoseconds) -> Window {
        let end = OpenEnd::Sessions { count, requests: 2 * count, limit };
        let (length, think) = (SessionLength::Workload, Think::None);
        Window::new(&Load::PartlyOpen { flow: flow(rate), queue: 99, end, length, think }, 0, at(0))
    }

    #[test]
    fn so_many_sessions_begin_and_the_window_ends_with_the_last_of_them() {
        let two = || arriving(2, 100.0, Nanoseconds::from_millis(30));
        let first = |window: &mut Window| (0..100).find(|ms| window.take(at(*ms), at(0)).is_some());
        let mut window = two();
        let begun = first(&mut window).expect("it arrives");
        window.completed();
        assert_eq!(window.continue_session(at(begun + 1)), Continuation::Send, "whatever the count is");
        window.completed();
        window.sessions_ended(1);
        assert_eq!(window.end(at(begun + 2)), None, "the second is still to come");
        let second = (begun..100).find(|ms| window.take(at(*ms), at(0)).is_some()).expect("it arrives");
        assert_eq!(window.take(at(1_000), at(1_000)), None, "there is no third");
        window.completed();
        assert_eq!(window.end(at(second + 1)), None, "it may send more");
        window.sessions_ended(1);
        assert_eq!(window.end(at(second + 1)), Some(WindowEnd::Complete));
        assert_eq!((window.offered(), window.requests(), window.not_sent()), (3, 3, 0));

        // The second waits for longer than the limit.
        let mut window = two();
        first(&mut window).expect("it arrives");
        assert_eq!(window.end(at(second + 29)), None);
        assert_eq!(window.end(at(second + 31)), None, "the first is still there");
        window.completed();
        window.sessions_ended(1);
        assert_eq!(window.end(at(second + 31)), Some(WindowEnd::Saturated));
        assert_eq!((window.offered(), window.not_sent()), (2, 1));
    }

    #[test]
    fn sessions_that_come_faster_than_they_are_served_saturate_their_window() {
        // One slot serves a session each so many milliseconds; one arrives each millisecond.
        let served = |each: usize| {
            let mut window = arriving(60, 1_000.0, Nanoseconds::from_secs(1));
            for now in (0..1_000).step_by(each) {
                window.completed();
                window.sessions_ended(1);
                if let Some(end) = window.end(at(now)) {
                    return (end, window.requests());
                }
                window.take(at(now), at(now));
            }
            panic!("it does not end");
        };
        assert_eq!(served(1), (WindowEnd::Complete, 60));
        assert_eq!(served(2), (WindowEnd::Saturated, 60));
    }
}
