//! A likely cause of a cliff on this host, by its place or its height. It is not proven unless the cliff
//! moves with the setting.

use std::ops::RangeInclusive;

use weighbridge_model::sizes::SizeGuide;

use crate::stats::cliffs::{Change, Cliff};
use crate::stats::interval::Interval;

/// A body may be up to this many bytes below a guide's value: the head of its reply fills the rest.
const HEAD: f64 = 512.0;
/// The largest multiple of a window, buffer or segment that is worth naming.
const MULTIPLES: u32 = 4;
/// Steps of this many nanoseconds are those of the delayed acknowledgement: Linux waits at least 40 ms; the
/// timer's ticks and the request's own time add to that.
const DELAYED_ACKNOWLEDGEMENT: RangeInclusive<f64> = 36e6..=46e6;

/// A guide is named only if an interval of this relative width, moved over the places from half to twice the
/// cliff's, would hold a guide at no more than this share of them. A wide interval, or one where guides are
/// dense, holds a guide by chance.
const CHANCE: f64 = 0.25;

/// In words; `None` where no known value lies in the interval, or where one would lie by chance.
pub(super) fn cause(cliff: &Cliff, guides: &[SizeGuide]) -> Option<String> {
    let is_step = cliff.change != Change::Slope;
    if is_step && DELAYED_ACKNOWLEDGEMENT.contains(&cliff.height.point.abs()) {
        return Some(
            "delayed acknowledgement: the step is as high as Linux holds one back (40 ms)".to_owned(),
        );
    }
    // For stairs the distance is known better than the place of the first.
    let (place, whose) = match cliff.period {
        Some(period) => (period, "the interval of the distance"),
        None => (cliff.place, "the interval"),
    };
    let all = || guides.iter().flat_map(|guide| (1..=MULTIPLES).map(move |times| (guide, times)));
    let value = |guide: &SizeGuide, times: u32| guide.bytes.get() as f64 * f64::from(times);
    if chance(place, all().map(|(guide, times)| value(guide, times))) > CHANCE {
        return None;
    }
    let within = |(guide, times): &(&SizeGuide, u32)| {
        let value = value(guide, *times);
        place.lower <= value && value - HEAD <= place.upper
    };
    // Plain values before multiples, and each guide once.
    let mut held: Vec<(&SizeGuide, u32)> = all().filter(within).collect();
    held.sort_by_key(|(guide, times)| (*times, guide.bytes));
    held.dedup_by_key(|(guide, _)| guide.bytes);
    let is_plain = held.iter().any(|(_, times)| *times == 1);
    held.retain(|(_, times)| !is_plain || *times == 1);
    let named = |(guide, times): &(&SizeGuide, u32)| {
        let factor = if *times > 1 { format!("{times} × ") } else { String::new() };
        format!("{factor}{}, {} B", guide.name, guide.bytes.get())
    };
    match &held[..] {
        [] => None,
        [one] => Some(format!("{}, lies in {whose}", named(one))),
        several => {
            let names: Vec<String> = several.iter().map(named).collect();
            Some(format!("one of these, which all lie in {whose}: {}", names.join("; ")))
        }
    }
}

/// The share of places from half to twice this one, on a logarithmic scale, at which an interval of the same
/// relative width would hold one of the values.
fn chance(place: Interval, values: impl Iterator<Item = f64>) -> f64 {
    let (from, to) = ((0.5 * place.point).ln(), (2.0 * place.point).ln());
    let [below, above] = [place.point / place.lower.max(1.0), place.upper / place.point].map(f64::ln);
    // An interval matches from where its upper bound reaches the value less the head.
    let mut caught: Vec<(f64, f64)> = values
        .map(|value| ((value - HEAD).max(0.5 * value).ln() - above, value.ln() + below))
        .map(|(low, high)| (low.max(from), high.min(to)))
        .filter(|(low, high)| low < high)
        .collect();
    caught.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut covered, mut reached) = (0.0, from);
    for (low, high) in caught {
        covered += (high - low.max(reached)).max(0.0);
        reached = reached.max(high);
    }
    covered / (to - from)
}

#[cfg(test)]
mod tests {
    use weighbridge_model::quantity::Bytes;

    use super::*;

    fn cliff(place: [f64; 3], height: f64) -> Cliff {
        let bounded = |[lower, point, upper]: [f64; 3]| Interval { point, lower, upper };
        Cliff {
            change: Change::Level,
            place: bounded(place),
            period: None,
            height: bounded([0.9 * height, height, 1.1 * height]),
            before: 1e6,
        }
    }

    #[test]
    fn a_cause_is_what_lies_in_the_interval() {
        let guide = |name: &str, bytes| SizeGuide { name: name.to_owned(), bytes: Bytes::new(bytes) };
        let guides =
            [guide("receive buffer", 131_072), guide("segment", 65_483), guide("send buffer", 16_384)];
        let cause_at = |place: [f64; 3], height| cause(&cliff(place, height), &guides);
        let found = cause_at([130_000.0, 131_000.0, 132_000.0], 5e6).unwrap();
        assert_eq!(found, "receive buffer, 131072 B, lies in the interval");
        // With its head the reply fills the buffer at a slightly smaller body.
        assert!(cause_at([130_500.0, 130_750.0, 130_900.0], 5e6).unwrap().starts_with("receive buffer"));
        assert!(cause_at([32_700.0, 32_760.0, 32_800.0], 5e6).unwrap().starts_with("2 × send buffer"));
        assert_eq!(cause_at([87_000.0, 87_380.0, 88_000.0], 5e6), None);
        assert!(
            cause_at([87_000.0, 87_380.0, 88_000.0], 41e6).unwrap().starts_with("delayed acknowledgement")
        );
        assert!(
            cause_at([87_000.0, 87_380.0, 88_000.0], -41e6).unwrap().starts_with("delayed acknowledgement")
        );
    }

    fn usual() -> Vec<SizeGuide> {
        let guide = |name: &str, bytes| SizeGuide { name: name.to_owned(), bytes: Bytes::new(bytes) };
        [("segment", 65_483), ("receive buffer", 131_072), ("half of it", 65_536), ("send buffer", 16_384)]
            .into_iter()
            .chain([
                ("8 KiB", 8 << 10),
                ("16 KiB", 16_000),
                ("32 KiB", 32 << 10),
                ("window of HTTP/2", 65_535),
            ])
            .map(|(name, bytes)| guide(name, bytes))
            .collect()
    }

    /// Eight guides and their multiples are so dense that a wide interval nearly always holds one.
    #[test]
    fn a_wide_interval_names_none_and_indistinguishable_guides_are_named_together() {
        let cause_at = |place: [f64; 3]| cause(&cliff(place, 5e6), &usual());
        assert_eq!(cause_at([55_000.0, 65_536.0, 75_000.0]), None);
        assert_eq!(cause_at([60_000.0, 65_536.0, 70_000.0]), None);
        assert_eq!(
            cause_at([65_400.0, 65_500.0, 65_600.0]).unwrap(),
            "one of these, which all lie in the interval: segment, 65483 B; window of HTTP/2, 65535 B; half of it, 65536 B"
        );
        assert_eq!(cause_at([71_000.0, 71_100.0, 71_200.0]), None);
    }

    #[test]
    fn stairs_have_the_cause_of_their_distance() {
        let bounded = |lower, point, upper| Interval { point, lower, upper };
        let stairs = Cliff {
            change: Change::Stairs,
            period: Some(bounded(16_300.0, 16_380.0, 16_450.0)),
            ..cliff([14_000.0, 16_000.0, 18_000.0], 5e5)
        };
        let found = cause(&stairs, &usual()).unwrap();
        assert_eq!(found, "send buffer, 16384 B, lies in the interval of the distance");
    }
}
