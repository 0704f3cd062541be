//! Slots that think or are in sessions: when each sends, and when its session is over.
//!
//! The part of the pool that uses [`crate::think`]; plain closed and open load only come to [`Pool::take`].

use weighbridge_model::quantity::Timestamp;

use super::Pool;
use crate::connection::{LaneState, Parked};
use crate::session::Step;
use crate::window::{Continuation, Window};

impl Pool {
    /// Lists the free lanes of a connection: one that is in a session, or that thinks, waits for its think time to
    /// end; any other waits for a session.
    pub(super) fn list_thinking_lanes(&mut self, index: usize) {
        let first = index as u32 * self.settings.in_flight;
        for slot in first..first + self.settings.in_flight {
            let at = (slot - first) as usize;
            if self.connections[index].lanes[at].state != LaneState::Free {
                continue;
            }
            if self.think.in_session(slot) && !self.session_goes_on(index, slot) {
                self.end_session(index, slot);
            }
            let lane = &mut self.connections[index].lanes[at];
            if self.think.has_sessions() && !self.think.in_session(slot) {
                lane.state = LaneState::Listed;
                self.ready.push_back(slot);
                continue;
            }
            let fresh = lane.reply.is_none() && lane.prefetched.is_none();
            let due = lane.planned.unwrap_or_else(|| match fresh {
                true => self.think.first_due(slot, lane.freed),
                false => self.think.due_after(slot, lane.freed),
            });
            lane.planned = Some(due);
            lane.state = LaneState::Thinking;
            self.think.push(slot, due);
        }
    }

    /// Whether the session on this slot, whose last request ended, has another request.
    fn session_goes_on(&mut self, index: usize, slot: u32) -> bool {
        if !self.think.workload_ends_sessions() {
            return self.think.has_operation_left(slot);
        }
        let lane = &mut self.connections[index].lanes[(slot % self.settings.in_flight) as usize];
        if lane.prefetched.is_none()
            && let Some(Step::Send(request)) = lane.reply.take().map(|reply| self.sessions.next(slot, &reply))
        {
            lane.prefetched = Some(request);
        }
        lane.prefetched.is_some()
    }

    /// Ends the session on this slot; the next one there begins a new session of the workload.
    fn end_session(&mut self, index: usize, slot: u32) {
        self.think.close_session(slot);
        self.ended_sessions += 1;
        let lane = &mut self.connections[index].lanes[(slot % self.settings.in_flight) as usize];
        (lane.reply, lane.planned, lane.prefetched) = (None, None, None);
    }

    /// Handles slots whose think time is over: each becomes ready, or sends the next request of its session.
    pub(super) fn end_think_times(&mut self, window: &mut Window, now: Timestamp) {
        let in_flight = self.settings.in_flight;
        while let Some((slot, due)) = self.think.pop_due(now) {
            let index = (slot / in_flight) as usize;
            let connection = &mut self.connections[index];
            let takes_more = connection.takes_more();
            let lane = &mut connection.lanes[(slot % in_flight) as usize];
            // A request of this slot may have failed meanwhile, unsent.
            let due = due.max(lane.freed);
            if !takes_more {
                (lane.state, lane.planned) = (LaneState::Free, Some(due));
                connection.parked = Parked::Some;
                continue;
            }
            if self.think.in_session(slot) {
                if self.session_goes_on(index, slot) && window.continue_session(now) == Continuation::Send {
                    self.think.take_operation(slot);
                    self.start(slot, due, now);
                    continue;
                }
                self.end_session(index, slot);
            } else {
                lane.freed = due;
            }
            self.connections[index].lanes[(slot % in_flight) as usize].state = LaneState::Listed;
            self.ready.push_back(slot);
        }
    }

    /// When the request is due that fails with a connection's error: the next one of its first lane's session, or any. It
    /// skips the think time, so that a server that refuses fails without delay.
    pub(super) fn due_of_failed(
        &mut self,
        index: u32,
        window: &mut Window,
        now: Timestamp,
        freed: Timestamp,
    ) -> Option<Timestamp> {
        let slot = index * self.settings.in_flight;
        if self.think.in_session(slot) {
            if self.session_goes_on(index as usize, slot)
                && window.continue_session(now) == Continuation::Send
            {
                self.think.take_operation(slot);
                return Some(freed);
            }
            self.end_session(index as usize, slot);
        }
        self.take(slot, window, now, freed)
    }

    /// Takes the next request or session that is due for this slot, with the operation that the schedule names, if any.
    pub(super) fn take(
        &mut self,
        slot: u32,
        window: &mut Window,
        now: Timestamp,
        freed: Timestamp,
    ) -> Option<Timestamp> {
        let due = window.take(now, freed)?;
        self.think.open_session(slot);
        if let Some(operation) = window.named_operation() {
            let (index, lane) = (slot / self.settings.in_flight, slot % self.settings.in_flight);
            let lane = &mut self.connections[index as usize].lanes[lane as usize];
            (lane.reply, lane.prefetched) = (None, Some(self.sessions.open_with(slot, operation)));
        }
        Some(due)
    }
}
