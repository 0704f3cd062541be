//! How a block's time was spent, as the conductor measured it or as the windows of a stored block show it.

use std::collections::BTreeMap;

use weighbridge_model::id::PointId;
use weighbridge_model::quantity::{Nanoseconds, Timestamp};
use weighbridge_model::record::{TrialRecord, WindowKind, WindowRecord};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct BlockTimes {
    /// Starts, checks of answers, warm-ups, stops.
    pub overhead: Nanoseconds,
    pub measured: Nanoseconds,
    pub round: Nanoseconds,
}

impl BlockTimes {
    /// The times of a stored block. Checks of answers and stops are not recorded, so the overhead is slightly
    /// too short. Batches follow one another: their times add up.
    pub fn from_trials(trials: &[TrialRecord]) -> Self {
        let mut batches: BTreeMap<u32, Vec<&TrialRecord>> = BTreeMap::new();
        for trial in trials {
            batches.entry(trial.batch).or_default().push(trial);
        }
        let mut times = Self::default();
        for batch in batches.values() {
            let Self { overhead, measured, round } = Self::from_batch(batch);
            times.overhead += overhead;
            times.measured += measured;
            times.round += round;
        }
        times
    }

    fn from_batch(trials: &[&TrialRecord]) -> Self {
        let starts = trials.iter().filter_map(|trial| trial.service.start).sum();
        let mut times = Self { overhead: starts, ..Self::default() };
        let points = trials.iter().map(|trial| trial.tallies.len()).max().unwrap_or(0);
        for point in (0..points).map(|index| PointId(index as u16)) {
            let (mut warm_up, mut later) = (Vec::new(), Vec::new());
            for trial in trials {
                let own = trial.preparations.get(point.index()).and_then(|prepared| prepared.warm_up);
                let mut left = own.map_or(u32::MAX, |warm_up| warm_up.windows);
                for window in trial.windows.iter().filter(|window| window.point == point) {
                    let is_own = window.kind == WindowKind::WarmUp && left > 0;
                    left -= u32::from(is_own);
                    if is_own { &mut warm_up } else { &mut later }.push(window);
                }
            }
            // Turns are compared once, outside the rounds.
            let looked = later.iter().filter(|window| window.kind == WindowKind::WarmUp);
            let looked_until = looked.map(|window| window.figures.ended).max();
            let rounds = later.iter().filter(|w| w.kind == WindowKind::Measured).map(|w| w.round + 1).max();
            let in_rounds = later.iter().filter(|window| Some(window.figures.started) >= looked_until);
            times.round += span(in_rounds.copied()) / u64::from(rounds.unwrap_or(0).max(1));
            times.overhead += span(warm_up.into_iter());
            times.measured += span(later.into_iter());
        }
        times
    }
}

fn span<'a>(windows: impl Iterator<Item = &'a WindowRecord>) -> Nanoseconds {
    let ends = |(from, to): (Timestamp, Timestamp), w: &WindowRecord| {
        (from.min(w.figures.started), to.max(w.figures.ended))
    };
    let both = windows
        .fold(None, |span: Option<_>, w| Some(ends(span.unwrap_or((w.figures.started, w.figures.ended)), w)));
    both.map(|(from, to)| to.since(from)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use weighbridge_model::id::VariantId;
    use weighbridge_model::pairing::{Preparation, WarmEnd, WarmUp};
    use weighbridge_model::record::{ServiceFacts, Tallies, WindowFigures};

    fn window(kind: WindowKind, round: u32, from: u64, to: u64) -> WindowRecord {
        let at = |millis: u64| Timestamp::from_nanos(millis * 1_000_000);
        let figures =
            WindowFigures { started: at(from), ended: at(to), offered: 1, requests: 1, ..Default::default() };
        let (point, variant) = (PointId(0), VariantId(0));
        WindowRecord { kind, point, round, variant, figures, ..Default::default() }
    }

    #[test]
    fn a_stored_block_tells_its_times() {
        let trial = |windows| TrialRecord {
            variant: VariantId(0),
            service: ServiceFacts { start: Some(Nanoseconds::from_millis(7)), ..ServiceFacts::default() },
            windows,
            tallies: vec![Tallies::default()],
            ..Default::default()
        };
        let one = trial(vec![
            window(WindowKind::WarmUp, 0, 100, 150),
            window(WindowKind::LeadIn, 0, 300, 301),
            window(WindowKind::Measured, 0, 302, 320),
        ]);
        let two =
            trial(vec![window(WindowKind::WarmUp, 0, 200, 290), window(WindowKind::Measured, 1, 380, 400)]);
        let times = BlockTimes::from_trials(&[one.clone(), two.clone()]);
        assert_eq!(times.overhead, Nanoseconds::from_millis(7 + 7 + 190));
        assert_eq!(times.measured, Nanoseconds::from_millis(100));
        assert_eq!(times.round, Nanoseconds::from_millis(50));
        assert_eq!(BlockTimes::from_trials(&[]), BlockTimes::default());
        // The comparison of turns after the warm-up is measured time but belongs to no round.
        let mut looked = one.clone();
        looked
            .windows
            .splice(1..1, [window(WindowKind::LeadIn, 0, 292, 293), window(WindowKind::WarmUp, 1, 293, 298)]);
        let warm_up = WarmUp { end: WarmEnd::Steady, time: Nanoseconds::from_millis(50), windows: 1 };
        looked.preparations = vec![Preparation { warm_up: Some(warm_up), ..Preparation::default() }];
        let longer = BlockTimes::from_trials(&[looked, two.clone()]);
        assert_eq!(longer.overhead, Nanoseconds::from_millis(7 + 7 + 190));
        assert_eq!(longer.measured, Nanoseconds::from_millis(108));
        assert_eq!(longer.round, Nanoseconds::from_millis(50));
        // A second batch an hour later takes as long again; the hour between them counts nowhere.
        let later = |mut trial: TrialRecord| {
            trial.batch = 1;
            for window in &mut trial.windows {
                let figures = &mut window.figures;
                for time in [&mut figures.started, &mut figures.ended] {
                    *time = *time + Nanoseconds::from_secs(3_600);
                }
            }
            trial
        };
        let both = BlockTimes::from_trials(&[one.clone(), two.clone(), later(one), later(two)]);
        assert_eq!(
            (both.overhead, both.measured, both.round),
            (times.overhead * 2, times.measured * 2, times.round * 2)
        );
    }
}
