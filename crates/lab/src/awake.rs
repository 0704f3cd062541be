//! Keeps the client's core from falling asleep between replies, so that being woken takes the same time however long the
//! wait was.
//!
//! A core with nothing to do is halted, and the deeper and the longer it sleeps the longer it takes to come back: on a
//! virtual machine 5 µs after a wait of 100 µs, and 25 µs after 10 ms, when the hypervisor has given the core away. That
//! lateness is in every time the client takes, so a slow variant would be charged more of it than a fast one. A thread of
//! the lowest class (`SCHED_IDLE`) that does nothing keeps the core running instead; whoever has work there takes the core
//! from it at once. It is for a core that is the client's alone, and it refuses to touch frequency or sleep states of the
//! host, which are the user's.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use crate::cores::{CoreId, pin_current_thread};
use crate::sys;

/// Looks at the flag once in so many pauses: some ten microseconds.
const PAUSES: usize = 100;

/// A core that is kept awake while this lives.
#[derive(Debug)]
pub struct KeptAwake {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl KeptAwake {
    /// Keeps `core` awake from now on.
    ///
    /// # Errors
    /// Where the thread cannot be made, pinned, or put into the lowest class: it would take time from others then.
    pub fn on(core: CoreId) -> io::Result<Self> {
        let over = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&over);
        let (ready, started) = std::sync::mpsc::channel();
        let thread = std::thread::Builder::new().name("keep-awake".to_owned()).spawn(move || {
            let set =
                sys::become_idle_class().and_then(|()| pin_current_thread(core).map_err(io::Error::other));
            let goes_on = set.is_ok();
            drop(ready.send(set));
            while goes_on && !seen.load(Ordering::Relaxed) {
                // Pauses leave most of the core to a sibling thread of the processor.
                (0..PAUSES).for_each(|_| std::hint::spin_loop());
            }
        })?;
        let set = started.recv().unwrap_or_else(|_| Err(io::Error::other("the thread ended")));
        let kept = Self { over, thread: Some(thread) };
        set.map(|()| kept)
    }
}

impl Drop for KeptAwake {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It has nothing in which to panic.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cores::CoreLayout;

    /// The state, class and core of our threads of that name, from `/proc`.
    fn keepers() -> Vec<(char, u32, u32)> {
        let tasks = std::fs::read_dir("/proc/self/task").expect("our threads");
        let stats = tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("stat")).ok());
        let ours = stats.filter(|stat| stat.contains("(keep-awake)"));
        ours.map(|stat| {
            let after = stat.rsplit(") ").next().expect("fields").split(' ').collect::<Vec<_>>();
            // Fields 3, 41 and 39 of proc(5); `after` begins with field 3.
            let number = |field: usize| after[field - 3].parse().expect("a number");
            (after[0].chars().next().expect("a state"), number(41), number(39))
        })
        .collect()
    }

    #[test]
    fn a_core_is_kept_awake_by_a_thread_of_the_lowest_class_until_it_is_dropped() {
        const SCHED_IDLE: u32 = 5;
        let core = CoreLayout::detect().expect("cores").client();
        assert_eq!(keepers(), []);
        let kept = KeptAwake::on(core).expect("kept");
        assert_eq!(keepers(), [('R', SCHED_IDLE, core.get())]);
        drop(kept);
        assert_eq!(keepers(), []);
        KeptAwake::on(CoreId::new(u32::from(u16::MAX))).expect_err("no such core");
        assert_eq!(keepers(), []);
    }
}
