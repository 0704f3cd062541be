//! What the user requests of a running measurement: to stop, or to be suspended.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use weighbridge_lab::host::clock::ClockReading;

/// Flags that signal handlers set. Whoever sets one of the first two also sets `window`, so that waits end.
#[derive(Debug, Clone, Default)]
pub struct Control {
    /// Stop: end every started process and keep the complete blocks.
    pub interrupted: Arc<AtomicBool>,
    /// Suspend: thaw every process, call `stop`, void the block.
    pub suspended: Arc<AtomicBool>,
    /// Cancel the window, start or question in progress.
    pub window: Arc<AtomicBool>,
    /// Set by the conductor while something is measured or frozen. While it is clear, this process has
    /// nothing to put in order, and a signal handler may stop it directly.
    pub engaged: Arc<AtomicBool>,
    /// Stops this process until somebody continues it. Without it, a suspend request only voids the block.
    pub stop: Option<fn()>,
    /// Reads the host's clocks; without it, [`ClockReading::take`]. Tests simulate a clock jump here.
    pub clocks: Option<fn() -> ClockReading>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ControlRequest {
    GoOn,
    Suspend,
    Interrupt,
}

impl Control {
    pub fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::SeqCst)
    }

    pub(crate) fn request(&self) -> ControlRequest {
        if self.is_interrupted() {
            ControlRequest::Interrupt
        } else if self.suspended.load(Ordering::SeqCst) {
            ControlRequest::Suspend
        } else {
            ControlRequest::GoOn
        }
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.window.load(Ordering::SeqCst)
    }

    pub(crate) fn clocks(&self) -> ClockReading {
        self.clocks.unwrap_or(ClockReading::take)()
    }

    pub(crate) fn engage(&self) -> Engaged<'_> {
        self.engaged.store(true, Ordering::SeqCst);
        Engaged(self)
    }

    /// Stops this process until it is continued, then clears the request.
    pub(crate) fn suspend(&self) {
        if let Some(stop) = self.stop {
            stop();
        }
        self.suspended.store(false, Ordering::SeqCst);
        if !self.is_interrupted() {
            self.window.store(false, Ordering::SeqCst);
        }
    }
}

/// The conductor is engaged as long as this guard lives.
#[derive(Debug)]
pub(crate) struct Engaged<'a>(&'a Control);

impl Drop for Engaged<'_> {
    fn drop(&mut self) {
        self.0.engaged.store(false, Ordering::SeqCst);
        // The request came too late to void a block, and nothing is frozen any more.
        if self.0.request() == ControlRequest::Suspend {
            self.0.suspend();
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
        control.suspend();
        assert_eq!(control.request(), ControlRequest::GoOn);
        assert!(!control.window.load(Ordering::SeqCst));
        for flag in [&control.suspended, &control.window, &control.interrupted] {
            flag.store(true, Ordering::SeqCst);
        }
        control.suspend();
        assert_eq!(control.request(), ControlRequest::Interrupt);
        assert!(control.window.load(Ordering::SeqCst), "what is waited for must still end");
    }

    #[test]
    fn a_wish_that_comes_at_the_end_of_a_block_is_granted_after_it() {
        let control = Control::default();
        let engaged = control.engage();
        assert!(control.engaged.load(Ordering::SeqCst));
        control.suspended.store(true, Ordering::SeqCst);
        drop(engaged);
        assert_eq!(control.request(), ControlRequest::GoOn);
        assert!(!control.engaged.load(Ordering::SeqCst));
    }
}
