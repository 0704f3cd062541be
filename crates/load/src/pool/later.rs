//! What is known as soon as a reply has come: requests to which it leads, when each falls due and which slot sends it; and
//! that no session is left for a slot.
//!
//! The part of the pool for sessions with [follow-ups](crate::session::Sessions::has_follow_ups).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use weighbridge_model::quantity::{Nanoseconds, Timestamp};

use super::Pool;
use crate::connection::{LaneState, Parked, Reason};
use crate::session::{Later, Step};
use crate::window::{Load, Slots, Window};

/// The follow-ups of a window that are not sent yet.
#[derive(Debug, Default)]
pub(crate) struct FollowUps {
    pending: BinaryHeap<Reverse<PendingFollowUp>>,
    /// How many there were, which orders those that fall due together.
    count: u64,
    /// Whether the slot of the reply waits, as in closed load.
    holds_slots: bool,
    /// When those that are left are given up, once the window is over otherwise.
    give_up_at: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PendingFollowUp {
    due: Timestamp,
    number: u64,
    later: Later,
    /// The slot that waits for it.
    held: Option<u32>,
}

impl PartialOrd for PendingFollowUp {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for PendingFollowUp {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.due, self.number).cmp(&(other.due, other.number))
    }
}

impl FollowUps {
    /// Prepares for a window of this load; nothing is pending.
    pub fn begin(&mut self, load: &Load) {
        self.pending.clear();
        (self.count, self.give_up_at) = (0, None);
        self.holds_slots = matches!(load, Load::Closed(_));
    }

    pub fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// When one can be sent, as far as a slot is or becomes free by itself.
    pub fn wake(&self, now: Timestamp, slots: Slots) -> Option<Timestamp> {
        let Reverse(first) = self.pending.peek()?;
        let can_send = slots == Slots::SomeFree || first.held.is_some();
        let due = if self.give_up_at.is_some() { now } else { first.due.max(now) };
        can_send.then_some(due)
    }

    fn add(&mut self, due: Timestamp, later: Later, held: Option<u32>) {
        self.count += 1;
        self.pending.push(Reverse(PendingFollowUp { due, number: self.count, later, held }));
    }

    fn next_due(&self, now: Timestamp) -> Option<PendingFollowUp> {
        let Reverse(first) = *self.pending.peek()?;
        (first.due <= now || self.give_up_at.is_some()).then_some(first)
    }
}

impl Pool {
    /// Asks for the next step of each lane of a connection whose request has ended.
    pub(super) fn take_follow_ups(&mut self, index: usize) {
        let first = index as u32 * self.settings.in_flight;
        for (lane, slot) in self.connections[index].lanes.iter_mut().zip(first..) {
            if lane.state != LaneState::Free {
                continue;
            }
            let Some(reply) = lane.reply.take() else { continue };
            match self.sessions.next(slot, &reply) {
                Step::Send(request) => lane.prefetched = Some(request),
                Step::End => {}
                Step::Later(later) => {
                    let held = self.follow_ups.holds_slots.then_some(slot);
                    if held.is_some() {
                        lane.state = LaneState::Thinking;
                    }
                    self.follow_ups.add(lane.freed + later.delay, later, held);
                }
            }
        }
    }

    /// The ready slot whose session goes on, or for which one is left to open; it stays in the list. Others stay idle.
    pub(super) fn session_slot(&mut self) -> Option<u32> {
        loop {
            let slot = self.ready_slot()?;
            let connection = &mut self.connections[(slot / self.settings.in_flight) as usize];
            let lane = &mut connection.lanes[(slot % self.settings.in_flight) as usize];
            if lane.prefetched.is_some() || !self.sessions.has_ended() {
                return Some(slot);
            }
            lane.state = LaneState::Free;
            self.ready.pop_front();
        }
    }

    /// Whether nothing is left to send in this window, once nothing is outstanding: the last session was opened, and none
    /// goes on.
    pub fn has_ended(&self) -> bool {
        let goes_on = || {
            let mut lanes = self.connections.iter().flat_map(|connection| &connection.lanes);
            lanes.any(|lane| lane.prefetched.is_some())
        };
        self.sessions.has_ended() && self.ready.is_empty() && !goes_on()
    }

    /// Sends the follow-ups that are due and have a slot.
    pub(super) fn send_follow_ups(&mut self, window: &mut Window, now: Timestamp) {
        while let Some(next) = self.follow_ups.next_due(now) {
            let slot = match next.held {
                None => self.ready_slot(),
                Some(slot) => self.held_slot(slot),
            };
            if next.held.is_none() && slot.is_none() {
                return;
            }
            self.follow_ups.pending.pop();
            let Some(slot) = slot else {
                // Its connection takes no more now: any other slot may send it.
                self.follow_ups.add(next.due, next.later, None);
                continue;
            };
            if next.held.is_none() {
                self.ready.pop_front();
            }
            let reason = match next.due <= now {
                true => Reason::FollowUp(next.later.operation),
                false => Reason::Remainder,
            };
            let (index, lane) = (slot / self.settings.in_flight, slot % self.settings.in_flight);
            let request = self.sessions.open_follow_up(slot, next.later.follow_up);
            let lane = &mut self.connections[index as usize].lanes[lane as usize];
            (lane.prefetched, lane.reason) = (Some(request), reason);
            window.follow_up();
            self.start(slot, next.due.min(now), now);
        }
    }

    /// A slot that waits for its follow-up, unless its connection takes no more requests: then it becomes free.
    fn held_slot(&mut self, slot: u32) -> Option<u32> {
        let connection = &mut self.connections[(slot / self.settings.in_flight) as usize];
        if connection.takes_more() {
            return Some(slot);
        }
        connection.lanes[(slot % self.settings.in_flight) as usize].state = LaneState::Free;
        connection.parked = Parked::Some;
        None
    }

    /// The window is over but for what is pending here: that is sent at once, apart. Returns whether there is something to
    /// wait for.
    pub fn finish_follow_ups(&mut self, now: Timestamp) -> bool {
        if self.follow_ups.is_empty() {
            return false;
        }
        let most: Nanoseconds = self.settings.timeout;
        let give_up_at = *self.follow_ups.give_up_at.get_or_insert(now + most);
        if now >= give_up_at {
            self.follow_ups.pending.clear();
        }
        now < give_up_at
    }
}
