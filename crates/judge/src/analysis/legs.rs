//! Legs of service times by the kernel's time stamps, pooled over windows.
//!
//! These are plain sums and quantiles of merged histograms, without intervals or verdicts.

use weighbridge_model::histogram::TimeHistogram;
use weighbridge_model::legs::{KernelStamps, Leg, LegTimes, Legs, StampFigures, StampSummary};
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::record::WindowFigures;

use crate::thresholds::BEYOND_PER_BLOCK;

/// Sums up the stamps of these windows; `legs` holds their merged histograms. `None` where no window was
/// asked for stamps.
pub fn stamps<'a>(windows: impl IntoIterator<Item = &'a WindowFigures>, legs: &Legs) -> Option<StampSummary> {
    let asked: Vec<&KernelStamps> = windows.into_iter().filter_map(|window| window.stamps.as_ref()).collect();
    let taken: Vec<&StampFigures> = asked
        .iter()
        .filter_map(|stamps| match stamps {
            KernelStamps::Taken(figures) => Some(figures),
            KernelStamps::Unavailable(_) => None,
        })
        .collect();
    let round_trip = taken.iter().filter_map(|figures| figures.round_trip).min();
    let outside = leg_times(Leg::Outside, &taken, legs);
    (!asked.is_empty()).then(|| StampSummary {
        requests: taken.iter().map(|figures| figures.requests).sum(),
        unmatched: taken.iter().map(|figures| figures.unmatched).sum(),
        unavailable: unavailable(&asked),
        clock_error: taken.iter().map(|figures| figures.clock_error).max().unwrap_or_default(),
        round_trip,
        client_send: leg_times(Leg::ClientSend, &taken, legs),
        outside,
        server_at_most: outside.zip(round_trip).map(|(outside, wire)| less(outside, wire)),
        client_receive: leg_times(Leg::ClientReceive, &taken, legs),
    })
}

/// Why some windows have no stamps: the reason of the first.
fn unavailable(asked: &[&KernelStamps]) -> Option<String> {
    let mut reasons = asked.iter().filter_map(|stamps| match stamps {
        KernelStamps::Unavailable(reason) => Some(reason),
        KernelStamps::Taken(_) => None,
    });
    let reason = reasons.next()?;
    let count = reasons.count() + 1;
    Some(if count == asked.len() {
        reason.clone()
    } else {
        format!("in {count} of {} windows: {reason}", asked.len())
    })
}

fn leg_times(leg: Leg, taken: &[&StampFigures], legs: &Legs) -> Option<LegTimes> {
    let times = legs.get(leg)?;
    let sum: Nanoseconds = taken.iter().map(|figures| figures.legs[leg as usize].sum).sum();
    let requests: u64 = taken.iter().map(|figures| figures.requests).sum();
    Some(LegTimes {
        mean: if requests > 0 { sum / requests } else { Nanoseconds::ZERO },
        p50: quantile(times, 0.5),
        p90: quantile(times, 0.9),
        p99: quantile(times, 0.99),
    })
}

/// `None` if too few requests lie beyond the quantile.
fn quantile(times: &TimeHistogram, q: f64) -> Option<Nanoseconds> {
    let beyond = times.len() - (q * times.len() as f64).ceil() as u64;
    (beyond >= BEYOND_PER_BLOCK).then(|| Nanoseconds::from_nanos(times.value_at_quantile(q)))
}

/// Subtracts a time that is the same for all requests from every statistic.
fn less(times: LegTimes, constant: Nanoseconds) -> LegTimes {
    let less = |time: Nanoseconds| time.saturating_sub(constant);
    LegTimes {
        mean: less(times.mean),
        p50: times.p50.map(less),
        p90: times.p90.map(less),
        p99: times.p99.map(less),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weighbridge_model::legs::LegFigures;

    fn window(stamps: Option<KernelStamps>) -> WindowFigures {
        WindowFigures { stamps, ..Default::default() }
    }

    const fn micros(n: u64) -> Nanoseconds {
        Nanoseconds::from_micros(n)
    }

    /// Figures and histograms of `requests` equal requests.
    fn taken(requests: u64, outside: u64, round_trip: Option<u64>, legs: &mut Legs) -> KernelStamps {
        let times = [micros(2), micros(outside), micros(5)];
        (0..requests).for_each(|_| legs.record(times));
        let figures = times.map(|time| LegFigures { sum: time * requests, p50: time, p90: time, p99: time });
        KernelStamps::Taken(StampFigures {
            requests,
            unmatched: 1,
            clock_error: Nanoseconds::from_nanos(requests),
            round_trip: round_trip.map(micros),
            legs: figures,
        })
    }

    #[test]
    fn windows_are_pooled_and_the_server_has_what_the_shortest_round_trip_leaves() {
        let mut legs = Legs::default();
        let each = [
            Some(taken(60, 100, Some(20), &mut legs)),
            Some(taken(20, 300, Some(30), &mut legs)),
            Some(KernelStamps::Unavailable("why".to_owned())),
        ];
        let windows = each.map(window);
        let summary = stamps(&windows, &legs).expect("they were asked for");
        assert_eq!((summary.requests, summary.unmatched), (80, 2));
        assert_eq!(summary.unavailable.as_deref(), Some("in 1 of 3 windows: why"));
        assert_eq!((summary.clock_error.as_nanos(), summary.round_trip), (60, Some(micros(20))));
        let (outside, server) = (summary.outside.expect("legs"), summary.server_at_most.expect("a wire"));
        // 60 times 100 and 20 times 300.
        assert_eq!((outside.mean, server.mean), (micros(150), micros(130)));
        let near = |time: Option<Nanoseconds>, micros: f64| {
            (time.expect("enough").as_nanos() as f64 / (micros * 1e3) - 1.0).abs() < 0.002
        };
        assert!(near(outside.p50, 100.0) && near(server.p50, 80.0), "{outside:?} {server:?}");
        assert_eq!(outside.p90, None, "8 of 80 lie beyond");
        assert_eq!(summary.client_send.map(|leg| leg.mean), Some(micros(2)));
    }

    #[test]
    fn stamps_not_asked_for_are_absent_and_unavailable_ones_say_why() {
        assert_eq!(stamps(&[window(None)], &Legs::default()), None);
        let windows = [window(Some(KernelStamps::Unavailable("why".to_owned())))];
        let summary = stamps(&windows, &Legs::default()).expect("they were asked for");
        assert_eq!((summary.unavailable.as_deref(), summary.outside), (Some("why"), None));
    }
}
