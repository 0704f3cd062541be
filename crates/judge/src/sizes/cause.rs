//! What lies at a cliff on this host: a likely cause by its place, or by its height. Likely, never proven: a cliff that
//! moves with the value is.

use std::ops::RangeInclusive;

use weighbridge_model::sizes::SizeGuide;

use crate::stats::cliffs::{Change, Cliff};

/// A body of so many bytes less than a guide's value fills it together with the head of its reply.
const HEAD: f64 = 512.0;
/// Most windows, buffers or segments of which a multiple is still worth naming.
const MULTIPLES: u32 = 4;
/// Steps of so many nanoseconds are those of the delayed acknowledgement: 40 ms is Linux' least delay, to which the
/// timer's ticks and the request's own time come.
const DELAYED_ACKNOWLEDGEMENT: RangeInclusive<f64> = 36e6..=46e6;

/// In words; `None` where nothing known lies there.
pub(super) fn cause(cliff: &Cliff, guides: &[SizeGuide]) -> Option<String> {
    if cliff.change == Change::Level && DELAYED_ACKNOWLEDGEMENT.contains(&cliff.height.point.abs()) {
        return Some(
            "delayed acknowledgement: the step is as high as Linux holds one back (40 ms)".to_owned(),
        );
    }
    let near = guides.iter().flat_map(|guide| (1..=MULTIPLES).map(move |times| (guide, times)));
    let within = near.filter(|(guide, times)| {
        let value = guide.bytes.get() as f64 * f64::from(*times);
        cliff.place.lower <= value && value - HEAD <= cliff.place.upper
    });
    // A plain value before a multiple, then the nearest.
    let distance = |(guide, times): &(&SizeGuide, u32)| {
        (guide.bytes.get() as f64 * f64::from(*times) / cliff.place.point).ln().abs()
    };
    let (guide, times) = within.min_by(|a, b| a.1.cmp(&b.1).then(distance(a).total_cmp(&distance(b))))?;
    let factor = if times > 1 { format!("{times} × ") } else { String::new() };
    Some(format!("{factor}{}, {} B, lies in the interval", guide.name, guide.bytes.get()))
}

#[cfg(test)]
mod tests {
    use weighbridge_model::quantity::Bytes;

    use super::*;
    use crate::stats::cliffs::Bounded;

    fn cliff(place: [f64; 3], height: f64) -> Cliff {
        let bounded = |[lower, point, upper]: [f64; 3]| Bounded { point, lower, upper };
        Cliff {
            change: Change::Level,
            place: bounded(place),
            height: bounded([0.9 * height, height, 1.1 * height]),
            before: 1e6,
        }
    }

    #[test]
    fn a_cause_is_what_lies_in_the_interval() {
        let guide = |name: &str, bytes| SizeGuide { name: name.to_owned(), bytes: Bytes::new(bytes) };
        let guides =
            [guide("receive buffer", 131_072), guide("segment", 65_483), guide("send buffer", 16_384)];
        let told = |place: [f64; 3], height| cause(&cliff(place, height), &guides);
        let found = told([130_000.0, 131_000.0, 132_000.0], 5e6).unwrap();
        assert_eq!(found, "receive buffer, 131072 B, lies in the interval");
        // With its head the reply fills the buffer a little earlier.
        assert!(told([130_500.0, 130_750.0, 130_900.0], 5e6).unwrap().starts_with("receive buffer"));
        assert!(told([32_700.0, 32_760.0, 32_800.0], 5e6).unwrap().starts_with("2 × send buffer"));
        assert_eq!(told([87_000.0, 87_380.0, 88_000.0], 5e6), None);
        assert!(told([87_000.0, 87_380.0, 88_000.0], 41e6).unwrap().starts_with("delayed acknowledgement"));
        assert!(told([87_000.0, 87_380.0, 88_000.0], -41e6).unwrap().starts_with("delayed acknowledgement"));
    }
}
