//! The plateau at 40 ms: Nagle's algorithm at one end of a connection and delayed acknowledgements at the other.
//!
//! A server that writes a reply in two small parts (head, then body) with Nagle's algorithm on holds the second back until
//! the first is acknowledged (RFC 896); the client's kernel holds that acknowledgement back in the hope of data to send it
//! with (RFC 1122, §4.2.3.2), on Linux 40 ms at least (`TCP_DELACK_MIN`). So service times pile up at 40 ms and what the
//! service itself takes, with next to nothing just below. A service that itself waits 40 ms looks alike: times cannot
//! tell the two apart, and the remedy says so.

use weighbridge_model::quantity::{Nanoseconds, Ratio};
use weighbridge_model::record::TimeHistogram;
use weighbridge_model::summary::Validity;

use crate::diagnose::Alarm;
use crate::thresholds::{PLATEAU_BELOW, PLATEAU_FROM, PLATEAU_LEAST, PLATEAU_SHARE, PLATEAU_TO};

/// Name of the finding.
pub const DELAYED_ACKNOWLEDGEMENT: &str = "delayed acknowledgement";

/// Says so where good replies' service times pile up at 40 ms.
pub fn plateau(service: &TimeHistogram) -> Option<Alarm> {
    let between =
        |from: Nanoseconds, to: Nanoseconds| service.count_between(from.as_nanos(), to.as_nanos() - 1);
    let piled = between(PLATEAU_FROM, PLATEAU_TO);
    // As wide a stretch, in proportion, just below it.
    let below = between(
        Nanoseconds::from_secs_f64(PLATEAU_FROM.as_secs_f64().powi(2) / PLATEAU_TO.as_secs_f64()),
        PLATEAU_FROM,
    );
    let share = Ratio::new(piled as f64 / service.len().max(1) as f64);
    let is_pile = piled >= PLATEAU_LEAST && share.get() >= PLATEAU_SHARE;
    (is_pile && below as f64 <= PLATEAU_BELOW * piled as f64).then(|| Alarm {
        validity: Validity::Valid,
        name: DELAYED_ACKNOWLEDGEMENT,
        evidence: format!(
            "{share} of {} service times lie at 40 ms ({PLATEAU_FROM} to {PLATEAU_TO}), {below} in the stretch just below",
            service.len()
        ),
        remedy: "if the service does not itself wait 40 ms: let it set TCP_NODELAY on accepted connections (reference \
                 services: leave `NAGLE` out) or write head and body at once",
    })
}

#[cfg(test)]
mod tests {
    use weighbridge_model::record::time_histogram;

    use super::*;

    /// Times in microseconds, each so many times.
    fn of(times: &[(u64, u64)]) -> TimeHistogram {
        let mut histogram = time_histogram();
        for (micros, count) in times {
            histogram.record_n(micros * 1000, *count).expect("within the bounds");
        }
        histogram
    }

    #[test]
    fn a_pile_at_40_ms_is_told_with_its_share() {
        let all = plateau(&of(&[(40_300, 800), (44_100, 190), (41_000, 5), (900, 5)])).unwrap();
        assert!(all.evidence.starts_with("99.5 % of 1000 service times lie at 40 ms"), "{}", all.evidence);
        assert!(all.remedy.contains("TCP_NODELAY") && all.remedy.contains("`NAGLE`"));
        // Where a few sizes alone take two writes, a tenth piles up.
        assert!(plateau(&of(&[(300, 800), (2_000, 100), (40_700, 100)])).is_some());
    }

    #[test]
    fn a_healthy_service_is_passed_over_in_silence() {
        assert_eq!(plateau(&of(&[(200, 900), (350, 90), (5_000, 10)])), None);
        assert_eq!(plateau(&of(&[])), None);
        // A tail that passes 40 ms, and a service about as slow as that: as many lie just below.
        assert_eq!(plateau(&of(&[(300, 980), (36_000, 5), (41_000, 5), (47_000, 5), (60_000, 5)])), None);
        let broad: Vec<(u64, u64)> = (20..70).map(|ms| (1000 * ms + 500, 20)).collect();
        assert_eq!(plateau(&of(&broad)), None);
        // Of few requests some were held up by the host.
        assert_eq!(plateau(&of(&[(300, 51), (41_000, 9)])), None);
        // A collector's pause of 40 ms now and then is no plateau.
        assert_eq!(plateau(&of(&[(300, 9_990), (40_500, 10)])), None);
    }
}
