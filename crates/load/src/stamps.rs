//! The kernel's time stamps (SO_TIMESTAMPING) of connections, and how they divide a request's service time into legs.
//!
//! The stamp of a write arrives through the socket's error queue, with the number of the write's last byte; the stamp
//! of received bytes arrives with them. Both are on the wall clock. That clock is compared with ours at the beginning
//! and at the end of each window; if the two comparisons differ, the wall clock was set meanwhile and the window's
//! stamps are discarded. A request has legs only if both its stamps lie between `sent` and `done`; nothing is guessed.
//!
//! Requires one request in flight on a connection: otherwise one packet carries parts of several requests.

pub mod control;
mod sys;
mod watch;

use std::io;
use std::net::UdpSocket;
use std::os::fd::BorrowedFd;

use weighbridge_model::legs::{KernelStamps, Leg, LegFigures, Legs, StampFigures};
use weighbridge_model::quantity::{Nanoseconds, Timestamp};
use weighbridge_model::record::{RequestRecord, Tallies};

use control::WallTime;

/// Most entries taken from the error queue at once; a write usually causes one.
const TAKEN: usize = 16;

/// Comparisons of the two clocks, of which the closest counts.
const READINGS: usize = 8;

/// Stamps of one connection for its request.
#[derive(Debug, Default)]
pub(crate) struct SocketStamps {
    /// Bytes written since stamps were turned on, modulo 2³², as the kernel numbers them.
    written: u32,
    /// Number of the last byte of the write that carries the request's first byte.
    awaited: Option<u32>,
    /// When that byte was passed to the driver.
    departed: Option<WallTime>,
    /// When the last packet of the last read came in.
    arrived: Option<WallTime>,
}

impl SocketStamps {
    /// A request begins with the next write, which has this many bytes.
    pub fn begin(&mut self, bytes: usize) {
        self.awaited = Some(self.written.wrapping_add(bytes as u32).wrapping_sub(1));
        (self.departed, self.arrived) = (None, None);
    }

    /// The socket took this many bytes.
    pub fn wrote(&mut self, bytes: usize) {
        self.written = self.written.wrapping_add(bytes as u32);
    }

    /// Reads what has arrived and notes its stamp.
    fn receive(&mut self, socket: BorrowedFd<'_>, into: &mut [u8]) -> io::Result<usize> {
        let mut control = sys::NO_CONTROL;
        let (count, length) = sys::receive(socket, into, &mut control)?;
        if count > 0 {
            self.arrived = control::read(&control[..length]).stamp;
        }
        Ok(count)
    }

    /// Takes stamps off the error queue until the awaited one is found, the queue is empty or the limit is reached.
    /// Returns how many entries it took.
    pub fn collect(&mut self, socket: BorrowedFd<'_>) -> usize {
        for taken in 0..TAKEN {
            let mut control = sys::NO_CONTROL;
            let Ok(length) = sys::take_error(socket, &mut control) else { return taken };
            if self.note(control::read(&control[..length])) {
                return taken + 1;
            }
        }
        TAKEN
    }

    /// Whether this is the awaited stamp. If it comes twice, for bytes sent again, the first counts.
    fn note(&mut self, control: control::Control) -> bool {
        let found = control.departed.is_some() && control.departed == self.awaited && self.departed.is_none();
        if found {
            self.departed = control.stamp;
        }
        found
    }
}

/// Reads from a socket, with its stamps if they are on.
pub(crate) fn receive(
    stamps: &mut Option<Box<SocketStamps>>,
    socket: BorrowedFd<'_>,
    into: &mut [u8],
) -> io::Result<usize> {
    match stamps {
        None => crate::sys::receive(socket, into),
        Some(stamps) => stamps.receive(socket, into),
    }
}

/// Converts the wall clock to ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Conversion {
    /// Wall clock minus ours.
    offset: i64,
    /// Bound on the error of `offset`.
    error: Nanoseconds,
}

impl Conversion {
    /// Reads the wall clock between two readings of ours, several times. The true offset is between those of the two
    /// readings, so the closest pair bounds the error by half its distance.
    fn measure(mut read: impl FnMut() -> (Timestamp, u64, Timestamp)) -> Self {
        let one = |(before, wall, after): (Timestamp, u64, Timestamp)| {
            let between = after.since(before);
            let middle = before.as_nanos() + between.as_nanos() / 2;
            let error = Nanoseconds::from_nanos(between.as_nanos().div_ceil(2));
            Self { offset: wall.wrapping_sub(middle) as i64, error }
        };
        let mut best = one(read());
        for _ in 1..READINGS {
            let next = one(read());
            if next.error < best.error {
                best = next;
            }
        }
        best
    }

    fn now() -> Self {
        Self::measure(|| (crate::sys::clock(), sys::wall_clock(), crate::sys::clock()))
    }

    /// Whether both can be true. The two clocks run at the same speed, so they differ only if the wall clock was set.
    fn agrees(self, other: Self) -> bool {
        self.offset.abs_diff(other.offset) <= (self.error + other.error).as_nanos()
    }

    fn convert(self, wall: WallTime) -> Timestamp {
        Timestamp::from_nanos(wall.0.wrapping_sub(self.offset as u64))
    }
}

/// The legs of a request, which sum up to its service time exactly; `None` if the stamps are not in order between
/// `sent` and `done`, within the conversion's error, so that they cannot be this request's.
fn legs(
    record: &RequestRecord,
    departed: WallTime,
    arrived: WallTime,
    clock: Conversion,
) -> Option<[Nanoseconds; 3]> {
    let (out, back) = (clock.convert(departed), clock.convert(arrived));
    let in_order =
        out + clock.error >= record.sent && arrived >= departed && back <= record.done + clock.error;
    if !in_order {
        return None;
    }
    let out = out.clamp(record.sent, record.done);
    let back = back.clamp(out, record.done);
    Some([out.since(record.sent), back.since(out), record.done.since(back)])
}

/// The stamps of one variant's connections, window by window.
#[derive(Debug)]
pub(crate) struct StampBook {
    clock: Conversion,
    legs: Legs,
    sums: [Nanoseconds; 3],
    requests: u64,
    unmatched: u64,
    round_trip: Option<Nanoseconds>,
    /// Why there are no stamps, if there cannot be any.
    refusal: Option<String>,
    /// Keeps the kernel stamping while the book exists; `None` if that failed, which costs some stamps.
    _watch: Option<UdpSocket>,
}

impl StampBook {
    /// A book for connections with this many requests in flight; reserves its memory here. Waits until the kernel
    /// stamps, which takes milliseconds on an idle machine.
    pub fn new(in_flight: u32) -> Self {
        let mut legs = Legs::default();
        legs.allocate();
        let refusal = (in_flight > 1).then(|| {
            format!(
                "{in_flight} requests in flight on a connection share packets; only one has stamps of its own"
            )
        });
        Self {
            clock: Conversion { offset: 0, error: Nanoseconds::ZERO },
            legs,
            sums: [Nanoseconds::ZERO; 3],
            requests: 0,
            unmatched: 0,
            round_trip: None,
            _watch: if refusal.is_none() { watch::begin().ok() } else { None },
            refusal,
        }
    }

    /// What a connection needs to note stamps.
    pub fn for_connection(&self) -> Option<Box<SocketStamps>> {
        self.refusal.is_none().then(Box::default)
    }

    /// Turns stamps on for a connection that was just established and has sent nothing.
    pub fn turn_on(&mut self, stamps: &mut Option<Box<SocketStamps>>, socket: BorrowedFd<'_>) {
        let Some(stamps) = stamps else { return };
        **stamps = SocketStamps::default();
        if !sys::is_tcp(socket) {
            self.refusal = Some("only TCP sockets are stamped".to_owned());
        } else if let Err(error) = sys::turn_on(socket) {
            self.refusal = Some(format!("the kernel refuses SO_TIMESTAMPING ({error})"));
        }
        self.note_round_trip(socket);
    }

    /// Notes the shortest round trip that TCP measured on this socket.
    pub fn note_round_trip(&mut self, socket: BorrowedFd<'_>) {
        if let Some(time) = sys::round_trip(socket) {
            self.round_trip = Some(self.round_trip.map_or(time, |least| least.min(time)));
        }
    }

    /// Begins a window.
    pub fn begin(&mut self) {
        self.legs.clear();
        (self.sums, self.requests, self.unmatched) = ([Nanoseconds::ZERO; 3], 0, 0);
        self.clock = Conversion::now();
    }

    /// Divides a request by the stamps of its connection; an open `socket` may still have some.
    pub fn attribute(
        &mut self,
        stamps: &mut SocketStamps,
        socket: Option<BorrowedFd<'_>>,
        record: &RequestRecord,
    ) {
        if let (None, Some(socket)) = (stamps.departed, socket) {
            stamps.collect(socket);
        }
        let both = stamps.departed.zip(stamps.arrived);
        match both.and_then(|(departed, arrived)| legs(record, departed, arrived, self.clock)) {
            None => self.unmatched += 1,
            Some(legs) => {
                self.requests += 1;
                self.legs.record(legs);
                for (sum, leg) in self.sums.iter_mut().zip(legs) {
                    *sum += leg;
                }
            }
        }
    }

    /// Ends the window: adds its legs to `tallies` and returns its figures.
    pub fn finish(&mut self, tallies: &mut Tallies) -> KernelStamps {
        if let Some(refusal) = &self.refusal {
            return KernelStamps::Unavailable(refusal.clone());
        }
        let after = Conversion::now();
        if !self.clock.agrees(after) {
            let apart = Nanoseconds::from_nanos(self.clock.offset.abs_diff(after.offset));
            return KernelStamps::Unavailable(format!("the wall clock was set by {apart} meanwhile"));
        }
        if self.requests == 0 && self.unmatched > 0 {
            return KernelStamps::Unavailable("the kernel took the option and stamped nothing".to_owned());
        }
        tallies.legs.merge(&self.legs);
        KernelStamps::Taken(StampFigures {
            requests: self.requests,
            unmatched: self.unmatched,
            clock_error: self.clock.error,
            round_trip: self.round_trip,
            legs: Leg::ALL.map(|leg| self.figures(leg)),
        })
    }

    fn figures(&self, leg: Leg) -> LegFigures {
        let Some(times) = self.legs.get(leg) else { return LegFigures::default() };
        let [p50, p90, p99] = [0.5, 0.9, 0.99].map(|q| Nanoseconds::from_nanos(times.value_at_quantile(q)));
        LegFigures { sum: self.sums[leg as usize], p50, p90, p99 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weighbridge_model::id::OperationId;
    use weighbridge_model::record::Outcome;

    const fn at(nanos: u64) -> Timestamp {
        Timestamp::from_nanos(nanos)
    }

    fn request(sent: u64, done: u64) -> RequestRecord {
        let (due, sent, done) = (at(sent), at(sent), at(done));
        RequestRecord { due, sent, done, operation: OperationId(0), outcome: Outcome::Ok }
    }

    const CLOCK: Conversion = Conversion { offset: 1_000_000, error: Nanoseconds::from_nanos(50) };

    fn cut(sent: u64, out: u64, back: u64, done: u64) -> Option<[u64; 3]> {
        let wall = |nanos: u64| WallTime(nanos + 1_000_000);
        let legs = legs(&request(sent, done), wall(out), wall(back), CLOCK)?;
        assert_eq!(legs.into_iter().sum::<Nanoseconds>().as_nanos(), done - sent, "the legs are the whole");
        Some(legs.map(Nanoseconds::as_nanos))
    }

    #[test]
    fn legs_sum_up_to_the_service_time_and_are_never_negative() {
        assert_eq!(cut(1_000, 1_100, 1_700, 2_000), Some([100, 600, 300]));
        // The clock comparison was wrong by no more than its error.
        assert_eq!(cut(1_000, 960, 1_700, 2_000), Some([0, 700, 300]));
        assert_eq!(cut(1_000, 1_100, 2_050, 2_000), Some([100, 900, 0]));
        assert_eq!(cut(1_000, 2_010, 2_020, 2_000), Some([1_000, 0, 0]));
    }

    #[test]
    fn stamps_that_cannot_be_the_requests_own_give_no_legs() {
        assert_eq!(cut(1_000, 900, 1_700, 2_000), None, "it went out before it was sent");
        assert_eq!(cut(1_000, 1_100, 2_100, 2_000), None, "the reply came after it was read");
        assert_eq!(cut(1_000, 1_700, 1_600, 2_000), None, "the reply came before the request went out");
    }

    #[test]
    fn of_several_readings_the_closest_counts_and_bounds_the_error() {
        let mut width = 0;
        let truth = 5_000_000_000;
        let clock = Conversion::measure(|| {
            width = (width + 300) % 1_000;
            // The wall clock is read at the very end of each comparison.
            (at(7_000), 7_000 + truth + width, at(7_000 + width))
        });
        // 300, 600, 900, 200 …
        assert_eq!(clock.error, Nanoseconds::from_nanos(50));
        assert!(clock.offset.abs_diff(truth as i64) <= 50, "{clock:?}");
        assert_eq!(clock.convert(WallTime(truth + 9_000)).since(at(9_000)).as_nanos(), 0);
        let back = Conversion::measure(|| (at(2_000_000), 1_000, at(2_000_000)));
        assert_eq!(back.convert(WallTime(1_001)), at(2_000_001), "a wall clock that stands before ours");
    }

    #[test]
    fn a_wall_clock_that_was_set_is_noticed() {
        assert!(CLOCK.agrees(Conversion { offset: CLOCK.offset + 100, ..CLOCK }));
        assert!(!CLOCK.agrees(Conversion { offset: CLOCK.offset - 101, ..CLOCK }));
        let (first, second) = (Conversion::now(), Conversion::now());
        assert!(first.agrees(second), "{first:?} {second:?}");
        let mut book = StampBook::new(1);
        book.begin();
        book.requests = 1;
        book.legs.record([Nanoseconds::from_nanos(1); 3]);
        book.clock.offset -= 1_000_000_000;
        let mut tallies = Tallies::default();
        let KernelStamps::Unavailable(reason) = book.finish(&mut tallies) else { panic!("it was set") };
        assert!(reason.contains("the wall clock was set by 1"), "{reason}");
        assert_eq!(tallies, Tallies::default(), "nothing of the window is kept");
    }

    #[test]
    fn only_the_awaited_byte_departs_and_only_once() {
        let departure = |byte, nanos| control::Control { stamp: Some(WallTime(nanos)), departed: Some(byte) };
        let mut stamps = SocketStamps { written: u32::MAX - 9, ..SocketStamps::default() };
        stamps.begin(100);
        assert_eq!(stamps.awaited, Some(89), "numbers begin again after the last");
        stamps.wrote(100);
        assert!(!stamps.note(departure(88, 1)) && !stamps.note(control::Control::default()));
        assert!(stamps.note(departure(89, 2)) && !stamps.note(departure(89, 3)));
        assert_eq!((stamps.departed, stamps.written), (Some(WallTime(2)), 90));
    }
}
