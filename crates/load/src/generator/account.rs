//! The sums of one variant's requests in a window, and the detection of a peer that has gone.
//!
//! It passes what a pool has finished to the recorder; it neither sends nor waits.

use weighbridge_model::quantity::Timestamp;
use weighbridge_model::record::{
    ErrorKind, HandshakeKind, LoopHealth, Outcome, RequestRecord, Tallies, WindowEnd, WindowFigures,
};

use super::Trouble;
use crate::connection::{Finished, Reason};
use crate::live::LiveTimes;
use crate::pool::{Io, Pool};
use crate::recorder::{MessageTime, Recorder};
use crate::session::Fate;
use crate::window::Window;

/// Fewest failures in a row before a window is aborted.
const FAILURES: u64 = 3;

/// One variant's part of a running window.
pub(super) struct Account<'a> {
    pub recorder: &'a mut Recorder,
    /// Counts response times for live progress.
    pub times: Option<&'a LiveTimes>,
    samples: Option<&'a mut Vec<RequestRecord>>,
    first_sent: Option<Timestamp>,
    last_done: Option<Timestamp>,
    last_reply: Timestamp,
    failures: u64,
    last_failure: ErrorKind,
    /// Good replies that paused between two of their parts.
    held_up: u64,
    /// Requests in flight when the window was stopped.
    pub given_up: u64,
}

impl<'a> Account<'a> {
    pub fn new(
        recorder: &'a mut Recorder,
        samples: Option<&'a mut Vec<RequestRecord>>,
        start: Timestamp,
    ) -> Self {
        Self {
            recorder,
            times: None,
            samples,
            first_sent: None,
            last_done: None,
            last_reply: start,
            failures: 0,
            last_failure: ErrorKind::Connect,
            held_up: 0,
            given_up: 0,
        }
    }

    /// Records the requests that ended and calls `over` with each. Returns when the last of them ended.
    pub fn settle(&mut self, pool: &mut Pool, mut over: impl FnMut(&Finished)) -> Option<Timestamp> {
        let mut last = None;
        for message in pool.messages.drain(..) {
            self.recorder.message(message);
        }
        let Pool { finished, sessions, .. } = pool;
        for finished in finished.drain(..) {
            let record = finished.record;
            let is_load = finished.reason == Reason::Load;
            if self.samples.is_some() && is_load {
                let fate = if finished.lag.is_some() { Fate::Sent } else { Fate::NeverSent };
                sessions.over(finished.slot, finished.request, fate);
            }
            over(&finished);
            if let Some(lag) = finished.lag {
                self.first_sent = Some(self.first_sent.map_or(record.sent, |first| first.min(record.sent)));
                self.recorder.lag(lag);
            }
            last = last.max(Some(record.done));
            self.held_up += u64::from(finished.is_held_up);
            if let Some(session) = finished.session {
                self.recorder.message(session);
            }
            match record.outcome {
                Outcome::Error(kind) if !kind.is_answered() => {
                    self.failures += 1;
                    self.last_failure = kind;
                }
                Outcome::Ok | Outcome::Error(_) => {
                    self.failures = 0;
                    self.last_reply = record.done;
                }
            }
            match finished.reason {
                Reason::Load => {
                    if let (Some(times), Outcome::Ok) = (self.times, record.outcome) {
                        times.record(record.done.since(record.due));
                    }
                    self.recorder.request(record, self.samples.as_deref_mut());
                }
                Reason::FollowUp(operation) => {
                    let RequestRecord { due, done, outcome, .. } = record;
                    self.recorder.message(MessageTime { operation, time: done.since(due), outcome });
                }
                Reason::Remainder => {}
            }
        }
        self.last_done = self.last_done.max(last);
        last
    }

    /// The loop ends before the window: what is in flight fails, since no reply to it will be read. It is the peer's
    /// failure where the window ends for `is_own` trouble. Call [`settle`](Self::settle) afterwards.
    pub fn give_up(&mut self, pool: &mut Pool, is_own: bool, now: Timestamp) {
        pool.abandon(ErrorKind::Reset, now);
        if !is_own {
            let requests = pool.finished.iter().filter(|finished| finished.reason == Reason::Load);
            self.given_up += requests.count() as u64;
        }
    }

    /// Whether to abort a window that only replies can end: for longer than the variant's patience there were only
    /// failures, at least one per slot.
    pub fn trouble(&self, pool: &mut Pool, io: &Io, now: Timestamp) -> Option<Trouble> {
        let slots = u64::from(pool.settings.connections) * u64::from(pool.settings.in_flight);
        let silence = now.since(self.last_reply);
        let hopeless = self.failures >= FAILURES
            && silence >= pool.settings.patience
            && (self.failures >= slots || pool.open_count() == 0);
        hopeless.then(|| Trouble {
            peer: io.dial.peer(pool.variant),
            silence,
            failures: self.failures,
            last: self.last_failure,
            detail: pool.connect_failure.take().map(|error| error.to_string()),
        })
    }

    /// Ends the window: adds it to `tallies` and returns its figures.
    pub fn figures(
        self,
        pool: &mut Pool,
        window: &Window,
        end: WindowEnd,
        health: LoopHealth,
        tallies: &mut Tallies,
    ) -> WindowFigures {
        let traffic = pool.end_window();
        let handshakes = HandshakeKind::ALL.map(|kind| pool.handshakes.count(kind));
        tallies.handshakes.merge(&pool.handshakes);
        let recorded = self.recorder.finish(tallies);
        let stamps = pool.end_stamps(tallies);
        let start = window.start();
        WindowFigures {
            started: self.first_sent.unwrap_or(start),
            ended: self.last_done.unwrap_or(start),
            end,
            offered: window.offered(),
            requests: window.requests() + window.not_sent(),
            not_sent: window.not_sent(),
            errors: recorded.errors,
            resent: pool.resent(),
            held_up: self.held_up,
            connects: pool.window_connects(),
            handshakes: handshakes.iter().sum(),
            resumed: handshakes[HandshakeKind::Resumed as usize],
            operations: recorded.operations,
            all: recorded.all,
            traffic,
            health: LoopHealth {
                loop_delay_p50: recorded.loop_delay_p50,
                lag_p99: recorded.lag_p99,
                ..health
            },
            stamps,
            counts: pool.sessions.take_counts(),
        }
    }
}
