//! Requests that wait in the probe itself, before one server or several, and are in service until a timer ends.
//!
//! So that a law sees how many wait, and several can be in service at once, a connection is read as soon as it can be:
//! its requests wait here and no longer in its socket. On HTTP/1.1 and Thrift one of a connection is under way at a
//! time, so replies keep their order; on HTTP/2 as many as it has streams. What was read is served even if its client
//! leaves.

use std::io;
use std::num::NonZeroUsize;
use std::os::fd::AsRawFd;

use weighbridge_model::quantity::{Bytes, Timestamp};

use super::{Server, TIMER, push_reply_under_law};
use crate::connection::{Connection, ParsedRequest, Place};
use crate::options::Options;
use crate::record::Served;
use crate::station::Station;
use crate::sys::{self, End, Epoll, Event, Timer, Trigger};

/// The queue, its servers, and how their services end.
pub(super) struct Queue {
    station: Station<Job>,
    /// What ends a service of one that sleeps; without it the probe is busy.
    timer: Option<Timer>,
    armed: Option<Timestamp>,
}

struct Job {
    place: Place,
    request: ParsedRequest,
    /// What is known of it so far.
    served: Served,
}

impl Queue {
    /// The queue of a probe that needs one.
    pub fn new(options: &Options, epoll: &Epoll) -> io::Result<Option<Self>> {
        let (servers, timer) = match options.servers {
            None if !options.law.sees_waiting() => return Ok(None),
            None => (NonZeroUsize::MIN, None),
            Some(servers) => {
                let timer = Timer::new()?;
                epoll.add(timer.as_raw_fd(), Trigger::ReadableLevel, TIMER)?;
                (servers, Some(timer))
            }
        };
        Ok(Some(Self { station: Station::new(servers), timer, armed: None }))
    }

    /// Whether the probe must not sleep now.
    pub fn is_busy(&self) -> bool {
        self.timer.is_none() && self.station.next_end().is_some()
    }

    /// Sets the timer to the end of the next service.
    pub fn arm(&mut self) -> io::Result<()> {
        let next = self.station.next_end();
        if let Some(timer) = self.timer.as_ref().filter(|_| next != self.armed) {
            timer.set(next)?;
            self.armed = next;
        }
        Ok(())
    }
}

impl Server {
    /// Lets a request wait for a server, which may be free.
    pub(super) fn enqueue(&mut self, connection: &mut Connection, request: ParsedRequest, size: Bytes) {
        let Some(queue) = &mut self.queue else { return };
        connection.under_way += 1;
        let served = Served { read: connection.read_at, size, ..Served::default() };
        queue.station.arrive(Job { place: connection.place, request, served });
        self.begin_services();
    }

    /// Occupies free servers with those that wait.
    fn begin_services(&mut self) {
        let Some(queue) = &mut self.queue else { return };
        while let Some(mut job) = queue.station.next() {
            let served = &mut job.served;
            served.turned = self.turned;
            served.begin = served.read.max(self.turned);
            self.runner.crowd(queue.station.waiting());
            served.drawn = self.runner.next(served.begin, served.size).time();
            let end = served.begin + served.drawn;
            queue.station.begin(job, end);
        }
    }

    /// Replies to all requests whose service has ended, and begins the next.
    pub(super) fn finish_services(&mut self) {
        while let Some(queue) = &mut self.queue {
            let end = sys::now();
            let Some(Job { place, request, served }) = queue.station.finish(end) else { return };
            let connection = self.connections.get_mut(place.slot).and_then(Option::as_deref_mut);
            let connection = connection.filter(|connection| connection.place == place);
            let is_there = connection.is_some();
            if let Some(connection) = connection {
                connection.under_way -= 1;
                push_reply_under_law(connection, request);
                // An error comes again when the connection goes on.
                let _ = connection.flush();
            }
            self.turned = sys::now();
            self.recorder.add(Served { end, written: self.turned, ..served });
            self.begin_services();
            if is_there {
                self.advance(Event { token: place.slot as u64, end: End::NotSeen });
            }
        }
    }
}
