//! The generator's error: measured responses compared with those that the probe's own record implies.
//!
//! A probe serves one request after the other and records how long each occupied it. From these times and the
//! times at which requests were due, the recursion of a first-come-first-served queue gives every true
//! response. The rest of the measured response is the error of generator, kernel and wire together.

use weighbridge_model::calibration::{ErrorCurve, ErrorQuantile};
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::record::RequestRecord;

/// The fewest requests beyond a quantile that is reported.
const BEYOND: f64 = 20.0;

/// Two-sided 95 % quantile of the standard normal distribution.
const NORMAL_95: f64 = 1.959_963_984_540_054;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Replayed {
    /// done − due.
    pub measured: Nanoseconds,
    pub truth: Nanoseconds,
}

impl Replayed {
    /// In nanoseconds.
    pub fn error(self) -> i64 {
        self.measured.as_nanos() as i64 - self.truth.as_nanos() as i64
    }
}

/// Replays one window; `occupied[k]` is the time for which the probe's k-th request occupied it. The probe
/// serves one at a time, so the k-th request that was done is the k-th that was served. Lindley's recursion:
/// freeₖ = max(freeₖ₋₁, dueₖ) + occupiedₖ and truthₖ = freeₖ − dueₖ.
///
/// `None` if the counts differ: a request was lost or is missing in the record.
pub fn replay(requests: &[RequestRecord], occupied: &[Nanoseconds]) -> Option<Vec<Replayed>> {
    if requests.len() != occupied.len() {
        return None;
    }
    let mut by_done: Vec<&RequestRecord> = requests.iter().collect();
    // Replies of one read are done at the same time; they were served in the order in which they were due.
    by_done.sort_by_key(|request| (request.done, request.due));
    let mut free = 0;
    let replayed = by_done.into_iter().zip(occupied).map(|(request, occupied)| {
        let due = request.due.as_nanos();
        free = free.max(due) + occupied.as_nanos();
        Replayed { measured: request.done.since(request.due), truth: Nanoseconds::from_nanos(free - due) }
    });
    Some(replayed.collect())
}

/// The error curve of replayed requests; `None` if there are none. The error beyond another law's is left
/// open, for [`beyond`].
pub fn error_curve(law: &str, shape: &str, replayed: &[Replayed]) -> Option<ErrorCurve> {
    let mut errors: Vec<i64> = replayed.iter().map(|one| one.error()).collect();
    let mut truths: Vec<u64> = replayed.iter().map(|one| one.truth.as_nanos()).collect();
    errors.sort_unstable();
    truths.sort_unstable();
    let max = *errors.last()?;
    Some(ErrorCurve {
        law: law.to_owned(),
        shape: shape.to_owned(),
        requests: errors.len() as u64,
        truth_p50: Nanoseconds::from_nanos(truths[rank(truths.len(), 0.5)]),
        p50: quantile(&errors, 0.5),
        p90: supported(&errors, 0.9),
        p99: supported(&errors, 0.99),
        max,
        beyond_null_p50: None,
        beyond_null_p99: None,
    })
}

/// Fills in each curve's error beyond the curve of the same shape under `law`.
pub fn beyond(curves: &mut [ErrorCurve], law: &str) {
    let bases: Vec<ErrorCurve> = curves.iter().filter(|curve| curve.law == law).cloned().collect();
    for curve in curves.iter_mut().filter(|curve| curve.law != law) {
        let Some(base) = bases.iter().find(|base| base.shape == curve.shape) else { continue };
        curve.beyond_null_p50 = Some(curve.p50.point - base.p50.point);
        curve.beyond_null_p99 = curve.p99.zip(base.p99).map(|(own, base)| own.point - base.point);
    }
}

/// The index of quantile `q` among `count` sorted values, by nearest rank.
fn rank(count: usize, q: f64) -> usize {
    ((q * count as f64).ceil() as usize).clamp(1, count) - 1
}

fn supported(sorted: &[i64], q: f64) -> Option<ErrorQuantile> {
    (sorted.len() as f64 * (1.0 - q) >= BEYOND).then(|| quantile(sorted, q))
}

/// Quantile `q` of sorted values with its interval. The count below the true quantile is binomial(n, q), so
/// the ends are the values at n·q ± 1.96·√(n·q·(1−q)) (normal approximation; David & Nagaraja, Order
/// Statistics, section 7.1).
fn quantile(sorted: &[i64], q: f64) -> ErrorQuantile {
    let n = sorted.len() as f64;
    let half_width = NORMAL_95 * (n * q * (1.0 - q)).sqrt();
    let last = sorted.len() - 1;
    let lower = ((n * q - half_width).floor().max(1.0) as usize - 1).min(last);
    let upper = ((n * q + half_width).ceil() as usize).min(last);
    ErrorQuantile { point: sorted[rank(sorted.len(), q)], lower: sorted[lower], upper: sorted[upper] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weighbridge_model::id::OperationId;
    use weighbridge_model::quantity::Timestamp;
    use weighbridge_model::record::Outcome;

    fn request(due: u64, done: u64) -> RequestRecord {
        let at = Timestamp::from_nanos;
        RequestRecord {
            due: at(due),
            sent: at(due),
            done: at(done),
            operation: OperationId(0),
            outcome: Outcome::Ok,
        }
    }

    fn nanos(values: &[u64]) -> Vec<Nanoseconds> {
        values.iter().copied().map(Nanoseconds::from_nanos).collect()
    }

    #[test]
    fn the_recursion_is_that_of_a_queue_worked_out_by_hand() {
        // Due at 0, 10, 20 and 100, each 30 long: the server is free at 30, 60, 90 and 130.
        let requests = [request(0, 31), request(10, 62), request(20, 93), request(100, 130)];
        let replayed = replay(&requests, &nanos(&[30; 4])).unwrap();
        let truths: Vec<u64> = replayed.iter().map(|one| one.truth.as_nanos()).collect();
        assert_eq!(truths, [30, 50, 70, 30]);
        assert_eq!(replayed.iter().map(|one| one.error()).collect::<Vec<_>>(), [1, 2, 3, 0]);
        assert_eq!(replay(&requests, &nanos(&[30; 3])), None);
    }

    #[test]
    fn requests_are_matched_in_the_order_of_their_ends() {
        // The second to be due was served first.
        let requests = [request(0, 60), request(5, 25)];
        let replayed = replay(&requests, &nanos(&[20, 30])).unwrap();
        assert_eq!(replayed.iter().map(|one| one.truth.as_nanos()).collect::<Vec<_>>(), [20, 55]);
    }

    #[test]
    fn quantiles_come_with_the_interval_of_their_ranks() {
        let values: Vec<i64> = (1..=10_000).collect();
        // Ranks 5000 ± 98 and 9900 ± 19.5.
        assert_eq!(quantile(&values, 0.5), ErrorQuantile { point: 5_000, lower: 4_902, upper: 5_099 });
        assert_eq!(
            supported(&values, 0.99),
            Some(ErrorQuantile { point: 9_900, lower: 9_880, upper: 9_921 })
        );
        assert_eq!(supported(&values[..1_999], 0.99), None);
        assert_eq!(quantile(&values[..1], 0.5), ErrorQuantile { point: 1, lower: 1, upper: 1 });
    }

    #[test]
    fn what_lies_beyond_the_null_law_is_of_the_same_shape() {
        let curve = |law: &str, shape: &str, error: u64| {
            let one = Replayed {
                measured: Nanoseconds::from_nanos(100 + error),
                truth: Nanoseconds::from_nanos(100),
            };
            error_curve(law, shape, &[one; 3]).unwrap()
        };
        let mut curves = [curve("none", "closed", 7), curve("slow", "closed", 9), curve("slow", "open", 9)];
        beyond(&mut curves, "none");
        assert_eq!(curves.map(|curve| curve.beyond_null_p50), [None, Some(2), None]);
        assert_eq!(error_curve("none", "closed", &[]), None);
    }
}
