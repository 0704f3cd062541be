//! Runs of a simulation on every core.

use std::ops::Range;

/// Simulates `runs` in tasks of `chunk`; `merge` adds what a task or a thread found. The outcome does not depend on which
/// thread does what.
pub fn simulated<T: Default + Send>(
    runs: u64,
    chunk: u64,
    simulate: impl Fn(Range<u64>) -> T + Sync,
    merge: impl Fn(&mut T, &T) + Sync,
) -> T {
    let threads = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let mine = |thread: u64| {
        let mut outcome = T::default();
        for from in (thread * chunk..runs).step_by((threads * chunk) as usize) {
            merge(&mut outcome, &simulate(from..(from + chunk).min(runs)));
        }
        outcome
    };
    std::thread::scope(|scope| {
        let mine = &mine;
        let workers: Vec<_> = (0..threads).map(|thread| scope.spawn(move || mine(thread))).collect();
        let mut all = T::default();
        for worker in workers {
            merge(&mut all, &worker.join().expect("a simulation does not panic"));
        }
        all
    })
}
