//! Stalls of 40 ms: Nagle's algorithm at one end of a connection and delayed acknowledgements at the other.
//!
//! A server with Nagle's algorithm on that writes a reply in two small parts (head, then body) holds the
//! second back until the first is acknowledged (RFC 896). The client's kernel delays that acknowledgement, to
//! send it with data (RFC 1122, §4.2.3.2), on Linux by at least 40 ms (`TCP_DELACK_MIN`). The generator sees
//! the first part at once, and then a pause. A service that itself takes 40 ms sends nothing meanwhile, and
//! is not reported.
//!
//! Between a relay and its peer, parts cannot be seen. There the times themselves pile up at 40 ms, with
//! hardly any just below: the relay's reported call times, or else the client's times. A peer that itself
//! takes 40 ms looks the same, and the remedy says so.

use weighbridge_model::histogram::{TimeHistogram, time_histogram};
use weighbridge_model::quantity::{Nanoseconds, Ratio, grouped};
use weighbridge_model::record::HELD_UP;

use super::network::is_delayed;
use super::{Alarm, CheckContext, Impact};
use crate::question::Scope;
use crate::thresholds::{DELAYED_ACK_BELOW, DELAYED_ACK_LEAST, DELAYED_ACK_SHARE};

pub const DELAYED_ACKNOWLEDGEMENT: &str = "delayed acknowledgement";

/// Replies that stalled on the way to the client, or to the relay that asked for them.
pub(super) fn stalls(context: &CheckContext<'_>) -> Option<Alarm> {
    let totals = &context.totals;
    let windows = || totals.cells.iter().flat_map(|cell| &cell.windows).map(|window| &window.figures);
    let held_up = windows().map(|figures| figures.held_up).sum();
    let good = totals.cells.iter().map(|cell| cell.good(Scope::All)).sum();
    replies_stalled(held_up, good).or_else(|| {
        let variant = context.variant_facts().filter(|variant| variant.relay.is_some())?;
        let mut calls = time_histogram();
        let samples =
            totals.trials().flat_map(|trial| &trial.samples).filter(|sample| sample.point == context.point);
        for relayed in samples.filter_map(|sample| sample.relayed) {
            calls.saturating_record(relayed.duration.as_nanos());
        }
        // An intended delay is in the client's times, but in none of the relay's calls.
        match calls.is_empty() {
            false => relay_calls_stalled(&calls, "calls to its peer"),
            true if is_delayed(variant) => None,
            true => relay_calls_stalled(&totals.service, "replies"),
        }
    })
}

/// Reports good replies that stalled for 40 ms between two of their parts.
pub fn replies_stalled(stalled: u64, good: u64) -> Option<Alarm> {
    let share = Ratio::new(stalled as f64 / good.max(1) as f64);
    is_frequent(stalled, share).then(|| Alarm {
        impact: Impact::Note,
        name: DELAYED_ACKNOWLEDGEMENT,
        evidence: format!(
            "{share} of {} replies paused for 40 ms ({} to {}) between two of their parts",
            grouped(good),
            HELD_UP.start(),
            HELD_UP.end()
        ),
        remedy: "if the service does not itself wait between them: let it set TCP_NODELAY on accepted connections (reference \
                 services: leave `NAGLE` out) or write head and body at once",
    })
}

/// Reports a pile of a relay's times at 40 ms; `what` names the times, such as `calls to its peer`.
pub fn relay_calls_stalled(times: &TimeHistogram, what: &str) -> Option<Alarm> {
    let between =
        |from: Nanoseconds, to: Nanoseconds| times.count_between(from.as_nanos(), to.as_nanos() - 1);
    let (from, to) = (*HELD_UP.start(), *HELD_UP.end());
    let piled = between(from, to);
    // The range just below, of the same relative width.
    let below = between(Nanoseconds::from_secs_f64(from.as_secs_f64().powi(2) / to.as_secs_f64()), from);
    let share = Ratio::new(piled as f64 / times.len().max(1) as f64);
    let is_pile = is_frequent(piled, share) && below as f64 <= DELAYED_ACK_BELOW * piled as f64;
    is_pile.then(|| Alarm {
        impact: Impact::Note,
        name: DELAYED_ACKNOWLEDGEMENT,
        evidence: format!(
            "{share} of the relay's {} {what} took 40 ms ({from} to {to}), {below} lie in the stretch just below",
            times.len()
        ),
        remedy: "if the peer does not itself take 40 ms: let it set TCP_NODELAY on accepted connections (reference services: \
                 leave `NAGLE` out of `peer.env`) or write head and body at once",
    })
}

fn is_frequent(count: u64, share: Ratio) -> bool {
    count >= DELAYED_ACK_LEAST && share.get() >= DELAYED_ACK_SHARE
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALLS: &str = "calls to its peer";

    /// Pairs of a time in microseconds and its count.
    fn histogram(times: &[(u64, u64)]) -> TimeHistogram {
        let mut histogram = time_histogram();
        for (micros, count) in times {
            histogram.record_n(micros * 1000, *count).expect("within the bounds");
        }
        histogram
    }

    #[test]
    fn replies_that_stand_still_are_told_with_their_share() {
        let all = replies_stalled(990, 1_000).unwrap();
        assert!(all.evidence.starts_with("99 % of 1,000 replies paused for 40 ms"), "{}", all.evidence);
        assert!(all.remedy.contains("TCP_NODELAY") && all.remedy.contains("`NAGLE`"));
        // If only some sizes take two writes, a tenth of the replies stalls.
        assert!(replies_stalled(100, 1_000).is_some());
        // The host stalls some of few requests, and one of many now and then.
        assert_eq!(replies_stalled(9, 60), None);
        assert_eq!(replies_stalled(40, 10_000), None);
        assert_eq!(replies_stalled(0, 0), None);
    }

    #[test]
    fn a_pile_of_calls_at_40_ms_is_reported_with_its_share() {
        let all =
            relay_calls_stalled(&histogram(&[(40_300, 800), (44_100, 190), (41_000, 5), (900, 5)]), CALLS)
                .unwrap();
        assert!(
            all.evidence.starts_with("99.5 % of the relay's 1000 calls to its peer took 40 ms"),
            "{}",
            all.evidence
        );
        assert!(all.remedy.contains("TCP_NODELAY") && all.remedy.contains("`NAGLE`"));
        assert!(relay_calls_stalled(&histogram(&[(300, 800), (2_000, 100), (40_700, 100)]), CALLS).is_some());
    }

    #[test]
    fn a_healthy_peer_is_passed_over_in_silence() {
        assert_eq!(relay_calls_stalled(&histogram(&[(200, 900), (350, 90), (5_000, 10)]), CALLS), None);
        assert_eq!(relay_calls_stalled(&histogram(&[]), CALLS), None);
        // A tail that passes 40 ms, and a peer about as slow as that: as many lie just below.
        assert_eq!(
            relay_calls_stalled(
                &histogram(&[(300, 980), (36_000, 5), (41_000, 5), (47_000, 5), (60_000, 5)]),
                CALLS
            ),
            None
        );
        let broad: Vec<(u64, u64)> = (20..70).map(|ms| (1000 * ms + 500, 20)).collect();
        assert_eq!(relay_calls_stalled(&histogram(&broad), CALLS), None);
        // The host stalled some of few requests.
        assert_eq!(relay_calls_stalled(&histogram(&[(300, 51), (41_000, 9)]), CALLS), None);
        // A collector's pause of 40 ms now and then is no plateau.
        assert_eq!(relay_calls_stalled(&histogram(&[(300, 9_990), (40_500, 10)]), CALLS), None);
    }
}
