//! The queue before a number of servers: first come, first served. Pure, with time as an argument.

use std::collections::VecDeque;
use std::num::NonZeroUsize;

use weighbridge_model::quantity::Timestamp;

/// Requests that wait, and those in service, each until a moment that is known when its service begins.
#[derive(Debug)]
pub struct Station<T> {
    servers: NonZeroUsize,
    waiting: VecDeque<T>,
    /// The one that ends next is the last.
    serving: Vec<InService<T>>,
}

#[derive(Debug)]
struct InService<T> {
    end: Timestamp,
    request: T,
}

impl<T> Station<T> {
    /// With all servers free.
    pub fn new(servers: NonZeroUsize) -> Self {
        Self { servers, waiting: VecDeque::new(), serving: Vec::new() }
    }

    /// Puts a request at the end of the queue.
    pub fn arrive(&mut self, request: T) {
        self.waiting.push_back(request);
    }

    /// Takes the request that has waited longest, if a server is free; [`Self::begin`] must follow.
    pub fn next(&mut self) -> Option<T> {
        if self.serving.len() < self.servers.get() { self.waiting.pop_front() } else { None }
    }

    /// How many requests wait.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Occupies a server until `end`.
    pub fn begin(&mut self, request: T, end: Timestamp) {
        let at = self.serving.partition_point(|other| other.end > end);
        self.serving.insert(at, InService { end, request });
    }

    /// When the next service ends.
    pub fn next_end(&self) -> Option<Timestamp> {
        self.serving.last().map(|next| next.end)
    }

    /// Frees the server whose service ends first, if that is due at `now`.
    pub fn finish(&mut self, now: Timestamp) -> Option<T> {
        self.serving.pop_if(|next| next.end <= now).map(|next| next.request)
    }
}

#[cfg(test)]
mod tests {
    use weighbridge_model::quantity::Bytes;

    use super::*;
    use crate::runner::{Runner, Sampler};

    const MEAN_NS: f64 = 1e7;

    /// The waits of requests that arrive at intervals drawn with this mean, replayed without a clock.
    fn waits(servers: usize, law: &str, interval: &str, count: usize) -> Vec<f64> {
        let mut station = Station::new(NonZeroUsize::new(servers).unwrap());
        let mut runner = Runner::new(&law.parse().unwrap());
        let mut intervals = Sampler::new(interval.parse().unwrap(), 7);
        let (mut arrival, mut waits) = (Timestamp::from_nanos(1), Vec::new());
        let mut begin = |station: &mut Station<Timestamp>, now: Timestamp| {
            while let Some(arrived) = station.next() {
                waits.push(now.since(arrived).as_nanos() as f64);
                runner.crowd(station.waiting());
                station.begin(arrived, now + runner.next(now, Bytes::new(4)).time());
            }
        };
        for _ in 0..count {
            arrival = arrival + intervals.draw();
            while let Some(end) = station.next_end().filter(|end| *end <= arrival) {
                station.finish(end).unwrap();
                begin(&mut station, end);
            }
            station.arrive(arrival);
            begin(&mut station, arrival);
        }
        waits
    }

    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    /// The mean wait of M/M/c in units of the mean service, by Erlang's C at `load` erlangs.
    fn erlang_c_wait(servers: usize, load: f64) -> f64 {
        // Erlang B by its recursion, then C = B / (1 − ρ (1 − B)).
        let blocked = (1..=servers).fold(1.0, |b, n| load * b / (n as f64 + load * b));
        let rho = load / servers as f64;
        let queued = blocked / (1.0 - rho * (1.0 - blocked));
        queued / (servers as f64 - load)
    }

    #[test]
    fn the_oracle_knows_two_closed_forms() {
        // M/M/1: ρ / (1 − ρ). M/M/2: ρ² / (1 − ρ²).
        assert!((erlang_c_wait(1, 0.8) - 4.0).abs() < 1e-12);
        assert!((erlang_c_wait(2, 1.6) - 0.64 / 0.36).abs() < 1e-12);
    }

    #[test]
    fn exponential_requests_wait_as_in_m_m_c() {
        for (servers, rho) in [(1, 0.7), (2, 0.7), (4, 0.5), (4, 0.8), (16, 0.9)] {
            let load = servers as f64 * rho;
            let interval = format!("exponential:mean={}ns", (MEAN_NS / load).round());
            let waits = waits(servers, "exponential:mean=10ms,seed=3", &interval, 1_000_000);
            let (found, wanted) = (mean(&waits) / MEAN_NS, erlang_c_wait(servers, load));
            assert!((found / wanted - 1.0).abs() < 0.04, "{servers} at {rho}: {found}, by Erlang {wanted}");
            // The test can fail: another number of servers is told apart.
            let other = erlang_c_wait(servers + 1, load);
            assert!((found / other - 1.0).abs() > 0.2, "{servers} at {rho}: {found}, not {other}");
        }
    }

    #[test]
    fn the_first_come_is_served_first_and_the_shortest_ends_first() {
        let at = Timestamp::from_nanos;
        let mut station = Station::new(NonZeroUsize::new(2).unwrap());
        "abcd".chars().for_each(|name| station.arrive(name));
        for (name, end) in [('a', 30), ('b', 20)] {
            assert_eq!(station.next(), Some(name));
            station.begin(name, at(end));
        }
        assert_eq!((station.next(), station.waiting(), station.next_end()), (None, 2, Some(at(20))));
        assert_eq!((station.finish(at(19)), station.finish(at(20))), (None, Some('b')));
        assert_eq!(station.next(), Some('c'));
        // Ends at the same moment as the one before it, so after it.
        station.begin('c', at(30));
        assert_eq!([station.finish(at(40)), station.finish(at(40))], [Some('a'), Some('c')]);
        assert_eq!((station.finish(at(40)), station.next_end(), station.waiting()), (None, None, 1));
    }

    #[test]
    fn a_crowd_makes_a_station_collapse_and_stay_so() {
        // Once the queue is long, 3 ms a request is more than the 2 ms between arrivals, so it never empties again; a
        // probe that is never crowded serves the same arrivals at half its capacity.
        let law = "crowded:mean=1ms,above=8,factor=3,seed=2";
        let waits = waits(1, law, "exponential:mean=2ms", 200_000);
        let begun = waits.iter().position(|wait| *wait > 1e9).expect("it collapses");
        assert!(waits[begun..].iter().all(|wait| *wait > 5e8), "and does not recover");
        assert!(mean(&waits[..begun / 2]) < 1e8, "it was fast before");
    }
}
