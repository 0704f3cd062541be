//! Progress of a load while it runs: each thread stores it in a slot of its own, and the waiting thread
//! collects the slots.
//!
//! Watching never delays a generator: it skips a locked slot, and the watching thread stays off its cores.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use weighbridge_lab::host::cores::{CoreId, CoreLayout, Pinned};
use weighbridge_load::generator::Progress;
use weighbridge_load::live::{LiveCounts, LiveTimes};

const INTERVAL: Duration = Duration::from_millis(250);

/// The sum over all threads so far.
#[derive(Debug, Clone)]
pub struct Seen {
    pub progress: Progress,
    /// Response times of good replies.
    pub times: LiveCounts,
}

#[derive(Debug)]
pub(super) struct ThreadProgress {
    latest: Mutex<Option<Progress>>,
    /// `None` where nobody watches.
    times: Option<Arc<LiveTimes>>,
}

impl ThreadProgress {
    pub fn new(watched: bool) -> Self {
        Self { latest: Mutex::default(), times: watched.then(Arc::default) }
    }

    pub fn times(&self) -> Option<Arc<LiveTimes>> {
        self.times.clone()
    }

    pub fn is_watched(&self) -> bool {
        self.times.is_some()
    }

    /// Stores the generator's progress, unless the slot is being read at this moment.
    pub fn show(&self, progress: Progress) {
        if let Ok(mut latest) = self.latest.try_lock() {
            *latest = Some(progress);
        }
    }

    fn latest(&self) -> Option<Progress> {
        *self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) struct Watcher<'a> {
    pub report: &'a mut dyn FnMut(&Seen),
    /// The core to watch from.
    pub core: Option<CoreId>,
}

impl Watcher<'_> {
    /// The threads were started before, or they would inherit this thread's core.
    pub fn watch(self, threads: &[ThreadProgress], is_over: &dyn Fn() -> bool) {
        // If pinning fails, the scheduler places the thread.
        let _pinned = self.core.and_then(|core| Pinned::current_thread(core).ok());
        while !is_over() {
            std::thread::park_timeout(INTERVAL);
            if let Some(progress) = threads.iter().filter_map(ThreadProgress::latest).reduce(add) {
                let mut times = LiveCounts::default();
                threads.iter().flat_map(|thread| &thread.times).for_each(|live| times.merge(&live.counts()));
                (self.report)(&Seen { progress, times });
            }
        }
    }
}

pub(super) fn spare_core(layout: &CoreLayout, taken: &[CoreId]) -> Option<CoreId> {
    let mut all = layout.service().iter().copied().chain([layout.client()]);
    all.find(|core| !taken.contains(core))
}

fn add(a: Progress, b: Progress) -> Progress {
    let mut errors = a.errors;
    errors.add(b.errors);
    Progress {
        elapsed: a.elapsed.max(b.elapsed),
        good: a.good + b.good,
        errors,
        outstanding: a.outstanding + b.outstanding,
        connections: a.connections + b.connections,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_watcher_keeps_off_the_generators_cores() {
        let core = CoreId::new;
        let layout = CoreLayout::from_allowed(&[core(0), core(1), core(2)]).expect("cores");
        assert_eq!(spare_core(&layout, &[core(2)]), Some(core(0)));
        assert_eq!(spare_core(&layout, &[core(0)]), Some(core(1)));
        assert_eq!(spare_core(&layout, &[core(0), core(1), core(2)]), None);
    }
}
