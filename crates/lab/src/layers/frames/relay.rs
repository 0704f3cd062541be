//! The packet relay: one thread that receives frames from two packet sockets, holds them for the time that
//! their schedules give, and sends them out on the other side.
//!
//! It sleeps until a frame arrives or the next one is nearly due, and polls only for the last
//! [`Settings::spin`]. While it polls it keeps receiving, so that no frame is time-stamped late. It creates
//! and changes no interface.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};

use weighbridge_model::quantity::{Bytes, Nanoseconds, Timestamp};
use weighbridge_model::relayed::{Relayed, RelayedWay};

use super::frame::Frame;
use super::impairment::Impairment;
use super::report::Distribution;
use super::schedule::{Admission, Direction, Schedule};
use super::sys::{self, BATCH, Taken};
use crate::host::cores::{self, CoreError, CoreId};
use crate::host::sys::monotonic;
use crate::process::talk::READY_DIRECT;

/// The hidden verb that makes our own program a relay.
pub const VERB: &str = "frames";

/// Default time before a frame is due for which the relay polls. On a busy host a timer ends about 10 µs
/// late, and 15 µs late in the worst tenth.
pub const DEFAULT_SPIN: Nanoseconds = Nanoseconds::from_micros(30);

/// Two different interfaces of this namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterfacePair([String; 2]);

impl InterfacePair {
    pub fn try_new(first: String, second: String) -> Result<Self, FramesError> {
        if first == second { Err(FramesError::Same { name: first }) } else { Ok(Self([first, second])) }
    }
}

/// What the relay carries, and how.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    pub between: InterfacePair,
    /// The impairment of frames from the first interface to the second.
    pub forward: Impairment,
    /// The impairment of frames from the second interface to the first.
    pub reverse: Impairment,
    /// Seed of losses and jitter.
    pub seed: u64,
    /// How long before a frame is due the relay polls. A longer time costs CPU; a shorter one makes frames
    /// late.
    pub spin: Nanoseconds,
    /// The core that it is pinned to, if any.
    pub core: Option<CoreId>,
}

/// Whether this process may make packet sockets.
///
/// Errors: the reason; [`io::ErrorKind::PermissionDenied`] without CAP_NET_RAW.
pub fn available() -> io::Result<()> {
    sys::packet_socket().map(drop)
}

impl Settings {
    /// A null relay: frames pass unchanged.
    pub fn null(between: InterfacePair) -> Self {
        let none = Impairment::default();
        Self { between, forward: none, reverse: none, seed: 1, spin: DEFAULT_SPIN, core: None }
    }

    /// The arguments that make our own program this relay.
    pub fn arguments(&self) -> Vec<String> {
        let [first, second] = self.between.0.clone();
        let mut arguments = vec![VERB.to_owned(), "--between".to_owned(), first, second];
        let mut give = |flag: &str, value: String| arguments.extend([flag.to_owned(), value]);
        give("--forth", self.forward.to_string());
        give("--back", self.reverse.to_string());
        give("--seed", self.seed.to_string());
        give("--spin", format!("{}ns", self.spin.as_nanos()));
        if let Some(core) = self.core {
            give("--core", core.get().to_string());
        }
        arguments
    }
}

/// The descriptors that control the relay.
#[derive(Debug)]
pub struct Watch {
    /// A line requests a report. End of file ends the relay, so that it does not outlive the other side's
    /// owner.
    pub orders: File,
    /// Readable once a signal to end has arrived; see [`watch_signals`].
    pub signals: Option<OwnedFd>,
}

/// Turns SIGTERM, SIGINT and SIGHUP into a readable descriptor. They are blocked in the calling thread and
/// those that it starts, so call it before any other thread exists. Errors are the kernel's.
pub fn watch_signals() -> io::Result<OwnedFd> {
    sys::termination()
}

/// Why frames are not carried.
#[derive(Debug, thiserror::Error)]
pub enum FramesError {
    #[error("`{name}` is named for both sides; a relay stands between two interfaces")]
    Same {
        /// The interface.
        name: String,
    },
    #[error("there is no interface `{name}` in this network namespace; `ip link` lists those that there are")]
    NoInterface {
        /// The name given.
        name: String,
    },
    #[error(
        "packets of `{name}` may not be taken: the relay needs the capability CAP_NET_RAW in its network namespace; run as \
         root"
    )]
    NotPermitted {
        /// The interface.
        name: String,
    },
    #[error("interface `{name}` is down; bring it up with `ip link set {name} up`")]
    Down {
        /// The interface.
        name: String,
    },
    #[error("`{first}` has an MTU of {first_mtu} and `{second}` one of {second_mtu}; give both the same")]
    Mtu {
        /// The first interface.
        first: String,
        /// Its MTU in bytes.
        first_mtu: u32,
        /// The second interface.
        second: String,
        /// Its MTU in bytes.
        second_mtu: u32,
    },
    #[error("interface `{name}` went down or away; leave it up until the relay has ended")]
    Gone {
        /// The interface.
        name: String,
    },
    #[error("the relay could not be put on its core")]
    Core(#[from] CoreError),
    #[error("could not {what} of `{name}`; this kernel may lack packet sockets (CONFIG_PACKET)")]
    System {
        /// What was attempted.
        what: &'static str,
        /// The interface.
        name: String,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    #[error("the relay lost its input or output")]
    Lost(#[source] io::Error),
}

/// Carries frames until `watch` says to end. Writes `ready direct` to `output` once it does (see
/// [`crate::process::talk`]), then a [`Relayed`] as one line of JSON for each line of orders, and one at the
/// end.
///
/// Errors: if it cannot begin, nothing was written; if an interface disappears, the last report is missing.
pub fn run(settings: &Settings, watch: Watch, output: &mut dyn Write) -> Result<Relayed, FramesError> {
    if let Some(core) = settings.core {
        cores::pin_current_thread(core)?;
    }
    crate::host::sys::set_timer_slack(Nanoseconds::from_nanos(1));
    let mut relay = PacketRelay::open(settings)?;
    say(output, READY_DIRECT)?;
    while let RelayCommand::Report = relay.carry(&watch)? {
        say(output, &line(&relay.report()?)?)?;
    }
    let report = relay.report()?;
    match say(output, &line(&report)?) {
        // If the reader has gone, the last report is not needed.
        Err(FramesError::Lost(error)) if error.kind() == io::ErrorKind::BrokenPipe => {}
        said => said?,
    }
    Ok(report)
}

fn line(report: &Relayed) -> Result<String, FramesError> {
    serde_json::to_string(report).map_err(|error| FramesError::Lost(error.into()))
}

fn say(output: &mut dyn Write, line: &str) -> Result<(), FramesError> {
    writeln!(output, "{line}").and_then(|()| output.flush()).map_err(FramesError::Lost)
}

/// What the relay is asked to do.
enum RelayCommand {
    Report,
    End,
}

/// One interface and its socket.
struct Port {
    name: String,
    socket: OwnedFd,
}

impl Port {
    fn open(name: &str) -> Result<Self, FramesError> {
        let named = || name.to_owned();
        let failed = |what, source: io::Error| FramesError::System { what, name: named(), source };
        let socket = sys::packet_socket().map_err(|error| match error.kind() {
            io::ErrorKind::PermissionDenied => FramesError::NotPermitted { name: named() },
            _ => failed("make a packet socket for frames", error),
        })?;
        let index = sys::interface_index(name).map_err(|_| FramesError::NoInterface { name: named() })?;
        sys::attach(&socket, index).map_err(|error| failed("take frames", error))?;
        Ok(Self { name: named(), socket })
    }

    fn failed(&self, what: &'static str, source: io::Error) -> FramesError {
        let name = self.name.clone();
        match source.raw_os_error() {
            Some(libc::ENETDOWN | libc::ENXIO | libc::ENODEV) => FramesError::Gone { name },
            _ => FramesError::System { what, name, source },
        }
    }
}

/// The frames of one direction: those that wait, and counts of the others.
struct DirectionState {
    impairment: Impairment,
    schedule: Schedule<Frame>,
    sent: u64,
    sent_bytes: u64,
    arrived: u64,
    whole: u64,
    lost: u64,
    full: u64,
    overflowed: u64,
    refused: u64,
    cut: u64,
    waiting_max: usize,
    delay: Distribution,
    lateness: Distribution,
}

impl DirectionState {
    fn new(impairment: &Impairment, seed: u64, direction: Direction) -> Self {
        Self {
            impairment: *impairment,
            schedule: Schedule::new(impairment, seed, direction),
            sent: 0,
            sent_bytes: 0,
            arrived: 0,
            whole: 0,
            lost: 0,
            full: 0,
            overflowed: 0,
            refused: 0,
            cut: 0,
            waiting_max: 0,
            delay: Distribution::new(),
            lateness: Distribution::new(),
        }
    }

    fn report(&self) -> RelayedWay {
        RelayedWay {
            way: self.impairment.to_string(),
            came: self.arrived,
            sent: self.sent,
            sent_bytes: Bytes::new(self.sent_bytes),
            whole: self.whole,
            lost: self.lost,
            full: self.full,
            overflowed: self.overflowed,
            refused: self.refused,
            cut: self.cut,
            waiting: self.schedule.waiting() as u64,
            waiting_max: self.waiting_max as u64,
            delay: self.delay.times(),
            lateness: self.lateness.times(),
        }
    }
}

/// Buffers for frames, reused, the last one returned first because its memory is most likely in a cache.
#[derive(Default)]
struct FramePool(Vec<Frame>);

impl FramePool {
    fn get(&mut self) -> Frame {
        self.0.pop().unwrap_or_else(Frame::new)
    }
    fn put(&mut self, frame: Frame) {
        self.0.push(frame);
    }
}

/// Sockets and schedules. In both arrays index 0 is forward and 1 is reverse: frames of `directions[0]` come in
/// at `ports[0]` and leave at `ports[1]`.
struct PacketRelay {
    ports: [Port; 2],
    directions: [DirectionState; 2],
    frames: FramePool,
    /// [`BATCH`] buffers to receive into.
    incoming: Vec<Frame>,
    /// The frames that the next call sends.
    outgoing: Vec<Frame>,
    spin: Nanoseconds,
    seed: u64,
    begun: Timestamp,
    cpu_begun: Nanoseconds,
}

impl PacketRelay {
    fn open(settings: &Settings) -> Result<Self, FramesError> {
        let [first, second] = &settings.between.0;
        let ports = [Port::open(first)?, Port::open(second)?];
        let mut mtus = [0; 2];
        for (port, mtu) in ports.iter().zip(&mut mtus) {
            let link = sys::link(&port.socket, &port.name)
                .map_err(|error| port.failed("ask for flags and MTU", error))?;
            if !link.is_up {
                return Err(FramesError::Down { name: port.name.clone() });
            }
            *mtu = link.mtu;
        }
        let [first_mtu, second_mtu] = mtus;
        if first_mtu != second_mtu {
            let (first, second) = (first.clone(), second.clone());
            return Err(FramesError::Mtu { first, first_mtu, second, second_mtu });
        }
        let state = |impairment, direction| DirectionState::new(impairment, settings.seed, direction);
        Ok(Self {
            ports,
            directions: [
                state(&settings.forward, Direction::Forward),
                state(&settings.reverse, Direction::Reverse),
            ],
            frames: FramePool::default(),
            incoming: Vec::with_capacity(BATCH),
            outgoing: Vec::with_capacity(BATCH),
            spin: settings.spin,
            seed: settings.seed,
            begun: monotonic(),
            cpu_begun: sys::thread_cpu(),
        })
    }

    /// Carries frames until an order arrives.
    fn carry(&mut self, watch: &Watch) -> Result<RelayCommand, FramesError> {
        loop {
            for from in 0..2 {
                self.release(from)?;
            }
            let patience = self.patience(monotonic());
            let descriptors = [
                Some(self.ports[0].socket.as_fd()),
                Some(self.ports[1].socket.as_fd()),
                Some(watch.orders.as_fd()),
                watch.signals.as_ref().map(AsFd::as_fd),
            ];
            let [first, second, orders, signals] =
                sys::wait(descriptors, patience).map_err(FramesError::Lost)?;
            for (from, ready) in [first, second].into_iter().enumerate() {
                if ready {
                    self.take(from)?;
                }
            }
            if signals {
                return Ok(RelayCommand::End);
            }
            if orders && let Some(told) = read_order(&watch.orders)? {
                return Ok(told);
            }
        }
    }

    /// How long to wait for events: until shortly before the next frame is due, zero if that is near, without
    /// limit if no frame waits.
    fn patience(&self, now: Timestamp) -> Option<Nanoseconds> {
        let due = self.directions.iter().filter_map(|state| state.schedule.next_due()).min()?;
        Some(due.since(now).saturating_sub(self.spin))
    }

    /// Receives the frames that are ready at a port and schedules each.
    fn take(&mut self, from: usize) -> Result<(), FramesError> {
        while self.incoming.len() < BATCH {
            self.incoming.push(self.frames.get());
        }
        let (port, state) = (&self.ports[from], &mut self.directions[from]);
        let mut taken = [Taken::Whole; BATCH];
        let received = match sys::receive(&port.socket, &mut self.incoming, &mut taken) {
            Ok(received) => received,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
                // The kernel could not describe the frame's pending offloads and dropped it.
                state.arrived += 1;
                state.cut += 1;
                return Ok(());
            }
            Err(error) => return Err(port.failed("take frames", error)),
        };
        let now = monotonic();
        for (frame, taken) in self.incoming.drain(..received).zip(taken) {
            state.arrived += 1;
            state.whole += u64::from(frame.is_super());
            if taken == Taken::Cut {
                state.cut += 1;
                self.frames.put(frame);
                continue;
            }
            match state.schedule.admit(now, frame) {
                Admission::Waits => {}
                Admission::Lost(frame) => {
                    state.lost += 1;
                    self.frames.put(frame);
                }
                Admission::Full(frame) => {
                    state.full += 1;
                    self.frames.put(frame);
                }
            }
        }
        state.waiting_max = state.waiting_max.max(state.schedule.waiting());
        Ok(())
    }

    /// Sends every due frame that came in at a port.
    fn release(&mut self, from: usize) -> Result<(), FramesError> {
        while self.directions[from].schedule.next_due().is_some() {
            let now = monotonic();
            let state = &mut self.directions[from];
            while self.outgoing.len() < BATCH
                && let Some(released) = state.schedule.release(now)
            {
                state.delay.add(released.due.since(released.arrived));
                state.lateness.add(now.since(released.due));
                self.outgoing.push(released.frame);
            }
            if self.outgoing.is_empty() {
                break;
            }
            self.send(from)?;
        }
        Ok(())
    }

    /// Sends the outgoing frames. Those that the interface refuses are lost, as on a wire.
    fn send(&mut self, from: usize) -> Result<(), FramesError> {
        let (port, state) = (&self.ports[1 - from], &mut self.directions[from]);
        let mut rest = &self.outgoing[..];
        while !rest.is_empty() {
            let passed = match sys::send(&port.socket, rest) {
                Ok(count) => {
                    state.sent += count as u64;
                    state.sent_bytes += rest[..count].iter().map(|frame| frame.length() as u64).sum::<u64>();
                    count
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
                Err(error) if is_of_one_frame(&error) => {
                    state.refused += 1;
                    1
                }
                Err(error) => return Err(port.failed("send frames", error)),
            };
            rest = &rest[passed..];
        }
        for frame in self.outgoing.drain(..) {
            self.frames.put(frame);
        }
        Ok(())
    }

    fn report(&mut self) -> Result<Relayed, FramesError> {
        for (port, state) in self.ports.iter().zip(&mut self.directions) {
            state.overflowed +=
                sys::overflowed(&port.socket).map_err(|error| port.failed("ask for lost frames", error))?;
        }
        Ok(Relayed {
            between: [self.ports[0].name.clone(), self.ports[1].name.clone()],
            seed: self.seed,
            forth: self.directions[0].report(),
            back: self.directions[1].report(),
            time_ns: monotonic().since(self.begun),
            cpu_ns: sys::thread_cpu().saturating_sub(self.cpu_begun),
        })
    }
}

/// Whether a sending error concerns only this frame and not the next: no buffer space, longer than the MTU,
/// or an unsupported offload.
fn is_of_one_frame(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock
        || matches!(error.raw_os_error(), Some(libc::ENOBUFS | libc::EMSGSIZE | libc::EINVAL))
}

/// The next order; `None` if only part of a line has arrived.
fn read_order(orders: &File) -> Result<Option<RelayCommand>, FramesError> {
    let mut text = [0; 256];
    let mut orders = orders;
    match orders.read(&mut text) {
        Ok(0) => Ok(Some(RelayCommand::End)),
        Ok(length) => Ok(text[..length].contains(&b'\n').then_some(RelayCommand::Report)),
        Err(error) if matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock) => {
            Ok(None)
        }
        Err(error) => Err(FramesError::Lost(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relay_needs_two_existing_interfaces() {
        let same = InterfacePair::try_new("lo".to_owned(), "lo".to_owned()).expect_err("one interface");
        assert_eq!(same.to_string(), "`lo` is named for both sides; a relay stands between two interfaces");
    }
}
