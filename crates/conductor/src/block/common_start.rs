//! A moment at which several threads begin together.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};

use weighbridge_lab::host::clock::monotonic_now;
use weighbridge_model::quantity::{Nanoseconds, Timestamp};

#[derive(Debug)]
pub(crate) struct CommonStart {
    ready: Barrier,
    head: Nanoseconds,
    /// Nanoseconds on the monotonic clock.
    at: AtomicU64,
}

impl CommonStart {
    /// The threads begin `head` after the last of them is ready.
    pub fn new(threads: usize, head: Nanoseconds) -> Self {
        Self { ready: Barrier::new(threads), head, at: AtomicU64::new(0) }
    }

    /// Waits for every thread, also those that failed, and returns the same moment to each.
    pub fn meet(&self) -> Timestamp {
        if self.ready.wait().is_leader() {
            self.at.store((monotonic_now() + self.head).as_nanos(), Ordering::SeqCst);
        }
        self.ready.wait();
        Timestamp::from_nanos(self.at.load(Ordering::SeqCst))
    }

    /// [`meet`](Self::meet), then busy-waits for that moment: threads differ in how long waking up takes.
    pub fn begin(&self) {
        let at = self.meet();
        while monotonic_now() < at {
            std::thread::yield_now();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_begin_at_one_moment_and_none_before_it() {
        let start = CommonStart::new(3, Nanoseconds::from_micros(200));
        let arrive = || {
            let mine = monotonic_now();
            let at = start.meet();
            (mine, at)
        };
        let met: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..3).map(|_| scope.spawn(arrive)).collect();
            threads.into_iter().map(|thread| thread.join().expect("it only waits")).collect()
        });
        assert!(met.iter().all(|(_, at)| *at == met[0].1), "{met:?}");
        let last = met.iter().map(|(arrived, _)| *arrived).max().expect("three");
        assert!(met[0].1 >= last + Nanoseconds::from_micros(200), "{met:?}");
        let alone = CommonStart::new(1, Nanoseconds::from_micros(50));
        let before = monotonic_now();
        alone.begin();
        assert!(monotonic_now() >= before + Nanoseconds::from_micros(50));
    }
}
