//! What the user asks of a running measurement: stop, or stand still for a while.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Flags that signal handlers set and the conductor obeys. Whoever sets one also sets `window`, so that the window
/// that is running ends at once.
#[derive(Debug, Clone, Default)]
pub struct Control {
    /// Stop: end what was started, keep whole blocks.
    pub interrupted: Arc<AtomicBool>,
    /// Stand still: thaw everything, call `stop`, void the block.
    pub suspended: Arc<AtomicBool>,
    /// Cut the window that is running.
    pub window: Arc<AtomicBool>,
    /// Stops this process until somebody continues it; nothing without one.
    pub stop: Option<fn()>,
}

/// What to do about the flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ask {
    /// Nothing was asked.
    GoOn,
    /// Stand still.
    Suspend,
    /// Stop.
    Interrupt,
}

impl Control {
    pub(crate) fn ask(&self) -> Ask {
        if self.interrupted.load(Ordering::SeqCst) {
            Ask::Interrupt
        } else if self.suspended.load(Ordering::SeqCst) {
            Ask::Suspend
        } else {
            Ask::GoOn
        }
    }

    /// Stands still until continued, then forgets that it was asked to.
    pub(crate) fn stand_still(&self) {
        if let Some(stop) = self.stop {
            stop();
        }
        self.suspended.store(false, Ordering::SeqCst);
        if !self.interrupted.load(Ordering::SeqCst) {
            self.window.store(false, Ordering::SeqCst);
        }
    }
}
