//! Flow control (RFC 9113, section 5.2): how much may be sent, and when the peer is allowed to send more.
//!
//! Received bytes are processed at once, so one update restores a window as soon as half of it is used. Sending beyond
//! a window is not checked: whenever a frame comes at least half of the window is open, which is more than a frame (and
//! a peer may not have read yet that a smaller stream window was set).

use super::frame::{Fault, LARGEST};

/// The window every stream and connection begins with, in bytes.
pub(super) const INITIAL: u32 = 65_535;

/// How much we may send. Negative if the peer made its window smaller than what was already sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SendWindow(i64);

impl SendWindow {
    pub fn new(size: u32) -> Self {
        Self(i64::from(size))
    }

    /// Bytes that may be sent now.
    pub fn available(self) -> usize {
        self.0.max(0) as usize
    }

    /// Notes that `count` of the available bytes were sent.
    pub fn take(&mut self, count: usize) {
        self.0 -= count as i64;
    }

    /// Changes the window. A window above 2³¹ − 1 is an error of the peer.
    pub fn change(&mut self, by: i64) -> Result<(), Fault> {
        self.0 += by;
        if self.0 > i64::from(LARGEST) { Err(Fault) } else { Ok(()) }
    }
}

/// How much the peer may send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ReceiveWindow {
    /// Bytes received since the last update.
    used: u32,
}

impl ReceiveWindow {
    pub fn new() -> Self {
        Self { used: 0 }
    }

    /// Counts `count` received bytes against a window of `size`. Returns by how much to enlarge it now, if half is
    /// used.
    pub fn receive(&mut self, count: usize, size: u32) -> Option<u32> {
        self.used = self.used.saturating_add(count as u32);
        let due = self.used > 0 && self.used >= size / 2;
        due.then(|| std::mem::take(&mut self.used))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_send_window_may_be_negative_but_never_too_large() {
        let mut window = SendWindow::new(10);
        window.take(10);
        assert_eq!(window.change(-4), Ok(()));
        assert_eq!(window.available(), 0);
        assert_eq!(window.change(5), Ok(()));
        assert_eq!(window.available(), 1);
        assert_eq!(window.change(i64::from(LARGEST) - 1), Ok(()));
        assert_eq!(window.change(1), Err(Fault));
    }

    #[test]
    fn a_receive_window_is_restored_by_halves() {
        let mut window = ReceiveWindow::new();
        assert_eq!(window.receive(0, 100), None);
        assert_eq!(window.receive(49, 100), None);
        assert_eq!(window.receive(1, 100), Some(50));
        assert_eq!(window.receive(100, 100), Some(100));
        assert_eq!(window.receive(1, 1), Some(1));
    }
}
