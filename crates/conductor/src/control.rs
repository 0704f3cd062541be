//! What the user asks of a running measurement: stop, or stand still for a while.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use weighbridge_lab::host::clock::ClockReading;

/// Flags that signal handlers set and the conductor obeys. Whoever sets one of the first two also sets `window`, so
/// that whatever is waited for ends at once.
#[derive(Debug, Clone, Default)]
pub struct Control {
    /// Stop: end what was started, keep whole blocks.
    pub interrupted: Arc<AtomicBool>,
    /// Stand still: thaw everything, call `stop`, void the block.
    pub suspended: Arc<AtomicBool>,
    /// Cut the window, the start or the question that is waited for.
    pub window: Arc<AtomicBool>,
    /// Set by the conductor while something is measured or frozen. While it is not, nothing must be put in order before
    /// this process is stopped: a handler may do that by itself.
    pub engaged: Arc<AtomicBool>,
    /// Stops this process until somebody continues it; nothing without one.
    pub stop: Option<fn()>,
    /// Reads the host's clocks; without one [`ClockReading::take`]. A test puts a jump here, which it must not make.
    pub clocks: Option<fn() -> ClockReading>,
}

/// What to do about the flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ControlRequest {
    /// Nothing was asked.
    GoOn,
    /// Stand still.
    Suspend,
    /// Stop.
    Interrupt,
}

impl Control {
    /// Whether the user asked to stop.
    pub fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::SeqCst)
    }

    pub(crate) fn ask(&self) -> ControlRequest {
        if self.is_interrupted() {
            ControlRequest::Interrupt
        } else if self.suspended.load(Ordering::SeqCst) {
            ControlRequest::Suspend
        } else {
            ControlRequest::GoOn
        }
    }

    /// Whether nobody wants what is waited for to end.
    pub(crate) fn goes_on(&self) -> bool {
        !self.window.load(Ordering::SeqCst)
    }

    /// The host's clocks now.
    pub(crate) fn clocks(&self) -> ClockReading {
        self.clocks.unwrap_or(ClockReading::take)()
    }

    /// Says that something is measured, until the value returned is dropped.
    pub(crate) fn engage(&self) -> Engaged<'_> {
        self.engaged.store(true, Ordering::SeqCst);
        Engaged(self)
    }

    /// Stands still until continued, then forgets that it was asked to.
    pub(crate) fn stand_still(&self) {
        if let Some(stop) = self.stop {
            stop();
        }
        self.suspended.store(false, Ordering::SeqCst);
        if !self.is_interrupted() {
            self.window.store(false, Ordering::SeqCst);
        }
    }
}

/// Something is measured or frozen as long as this lives.
#[derive(Debug)]
pub(crate) struct Engaged<'a>(&'a Control);

impl Drop for Engaged<'_> {
    fn drop(&mut self) {
        self.0.engaged.store(false, Ordering::SeqCst);
        // Asked too late to void anything: nothing is frozen any more, so standing still is all there is to do.
        if self.0.ask() == ControlRequest::Suspend {
            self.0.stand_still();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standing_still_forgets_the_wish_but_never_an_interrupt() {
        let control = Control::default();
        for flag in [&control.suspended, &control.window] {
            flag.store(true, Ordering::SeqCst);
        }
        control.stand_still();
        assert_eq!(control.ask(), ControlRequest::GoOn);
        assert!(!control.window.load(Ordering::SeqCst));
        for flag in [&control.suspended, &control.window, &control.interrupted] {
            flag.store(true, Ordering::SeqCst);
        }
        control.stand_still();
        assert_eq!(control.ask(), ControlRequest::Interrupt);
        assert!(control.window.load(Ordering::SeqCst), "what is waited for must still end");
    }

    #[test]
    fn a_wish_that_comes_at_the_end_of_a_block_is_granted_after_it() {
        let control = Control::default();
        let engaged = control.engage();
        assert!(control.engaged.load(Ordering::SeqCst));
        control.suspended.store(true, Ordering::SeqCst);
        drop(engaged);
        assert_eq!(control.ask(), ControlRequest::GoOn);
        assert!(!control.engaged.load(Ordering::SeqCst));
    }
}
