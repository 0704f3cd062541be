//! Slots that think or are in sessions: when each has its turn, and when its session is over.
//!
//! The part of the pool that uses [`crate::turns`]; plain closed and open load only come to [`Pool::take`].

use weighbridge_model::quantity::Timestamp;

use super::Pool;
use crate::connection::{LaneState, Parked};
use crate::session::Step;
use crate::window::{Follow, Window};

impl Pool {
    /// Lists lanes that think or are in sessions: a lane in a session, or that thinks, waits for its turn; any other
    /// waits for a session.
    pub(super) fn list_by_turns(&mut self, index: usize) {
        let first = index as u32 * self.settings.in_flight;
        for slot in first..first + self.settings.in_flight {
            let at = (slot - first) as usize;
            if self.connections[index].lanes[at].state != LaneState::Free {
                continue;
            }
            if self.turns.in_session(slot) && !self.session_goes_on(index, slot) {
                self.end_session(index, slot);
            }
            let lane = &mut self.connections[index].lanes[at];
            if self.turns.keeps_sessions() && !self.turns.in_session(slot) {
                lane.state = LaneState::Listed;
                self.ready.push_back(slot);
                continue;
            }
            let fresh = lane.reply.is_none() && lane.onward.is_none();
            let due = lane.planned.unwrap_or_else(|| match fresh {
                true => self.turns.first(slot, lane.freed),
                false => self.turns.after(slot, lane.freed),
            });
            lane.planned = Some(due);
            lane.state = LaneState::Thinking;
            self.turns.wait(slot, due);
        }
    }

    /// Whether the session on this slot, whose last request ended, has another request.
    fn session_goes_on(&mut self, index: usize, slot: u32) -> bool {
        if !self.turns.asks_the_workload() {
            return self.turns.goes_on(slot);
        }
        let lane = &mut self.connections[index].lanes[(slot % self.settings.in_flight) as usize];
        if lane.onward.is_none()
            && let Some(Step::Send(request)) = lane.reply.take().map(|reply| self.sessions.next(slot, &reply))
        {
            lane.onward = Some(request);
        }
        lane.onward.is_some()
    }

    /// Ends the session on this slot; the next one there begins a new session of the workload.
    fn end_session(&mut self, index: usize, slot: u32) {
        self.turns.close(slot);
        self.left += 1;
        let lane = &mut self.connections[index].lanes[(slot % self.settings.in_flight) as usize];
        (lane.reply, lane.planned, lane.onward) = (None, None, None);
    }

    /// Lets every slot act whose turn has come: it becomes ready, or sends the next request of its session.
    pub(super) fn take_turns(&mut self, window: &mut Window, now: Timestamp) {
        let in_flight = self.settings.in_flight;
        while let Some((slot, due)) = self.turns.take(now) {
            let index = (slot / in_flight) as usize;
            let connection = &mut self.connections[index];
            let takes_more = connection.takes_more();
            let lane = &mut connection.lanes[(slot % in_flight) as usize];
            // A failure that it was charged with meanwhile came later.
            let due = due.max(lane.freed);
            if !takes_more {
                (lane.state, lane.planned) = (LaneState::Free, Some(due));
                connection.parked = Parked::Some;
                continue;
            }
            if self.turns.in_session(slot) {
                if self.session_goes_on(index, slot) && window.follow(now) == Follow::Send {
                    self.turns.follow(slot);
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

    /// When the request is due that a connection's failure is charged to: the next one of its first lane's session, or
    /// any. It skips the think time, so that a server that refuses fails without delay.
    pub(super) fn due_of_charge(
        &mut self,
        index: u32,
        window: &mut Window,
        now: Timestamp,
        freed: Timestamp,
    ) -> Option<Timestamp> {
        let slot = index * self.settings.in_flight;
        if self.turns.in_session(slot) {
            if self.session_goes_on(index as usize, slot) && window.follow(now) == Follow::Send {
                self.turns.follow(slot);
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
        self.turns.open(slot);
        if let Some(operation) = window.named() {
            let (index, lane) = (slot / self.settings.in_flight, slot % self.settings.in_flight);
            let lane = &mut self.connections[index as usize].lanes[lane as usize];
            (lane.reply, lane.onward) = (None, Some(self.sessions.open_with(slot, operation)));
        }
        Some(due)
    }
}
