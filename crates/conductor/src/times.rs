//! Where the time of blocks went, as the conductor saw it, or as the windows of a stored block tell it.

use std::collections::BTreeMap;

use weighbridge_model::quantity::{Nanoseconds, Timestamp};
use weighbridge_model::record::{PointId, TrialRecord, WindowKind, WindowRecord};

/// Where the time of a block went.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct BlockTimes {
    /// Starts, checks of answers, warm-ups, stops.
    pub overhead: Nanoseconds,
    /// Rounds, switches included.
    pub measured: Nanoseconds,
    /// One round at every point.
    pub round: Nanoseconds,
}

impl BlockTimes {
    /// The times of a block that was measured before this process began. Checks of answers and stops have left no
    /// trace, so the overhead is a little too short.
    ///
    /// Batches follow one another: their times add up.
    pub fn of(trials: &[TrialRecord]) -> Self {
        let mut batches: BTreeMap<u32, Vec<&TrialRecord>> = BTreeMap::new();
        for trial in trials {
            batches.entry(trial.batch).or_default().push(trial);
        }
        let mut times = Self::default();
        for batch in batches.values() {
            let Self { overhead, measured, round } = Self::of_batch(batch);
            times.overhead += overhead;
            times.measured += measured;
            times.round += round;
        }
        times
    }

    fn of_batch(trials: &[&TrialRecord]) -> Self {
        let starts = trials.iter().filter_map(|trial| trial.service.start).sum();
        let mut times = Self { overhead: starts, ..Self::default() };
        let points = trials.iter().map(|trial| trial.tallies.len()).max().unwrap_or(0);
        for point in (0..points).map(|index| PointId(index as u16)) {
            let windows = || trials.iter().flat_map(|trial| &trial.windows).filter(|w| w.point == point);
            let span = |of: fn(&WindowRecord) -> bool| span(windows().filter(|w| of(w)));
            let rounds = windows().filter(|w| w.kind == WindowKind::Measured).map(|w| w.round + 1).max();
            let measured = span(|w| w.kind != WindowKind::WarmUp);
            times.overhead += span(|w| w.kind == WindowKind::WarmUp);
            times.measured += measured;
            times.round += measured / u64::from(rounds.unwrap_or(0).max(1));
        }
        times
    }
}

/// From the beginning of the first window to the end of the last.
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
    use weighbridge_model::record::{
        ErrorCounts, LoopHealth, ServiceFacts, Tallies, Traffic, VariantId, WindowEnd, WindowFigures,
    };

    fn window(kind: WindowKind, round: u32, from: u64, to: u64) -> WindowRecord {
        let at = |millis: u64| Timestamp::from_nanos(millis * 1_000_000);
        let figures = WindowFigures {
            started: at(from),
            ended: at(to),
            end: WindowEnd::Complete,
            offered: 1,
            requests: 1,
            not_sent: 0,
            errors: ErrorCounts::default(),
            connects: 0,
            handshakes: 0,
            resumed: 0,
            operations: Vec::new(),
            all: None,
            traffic: Traffic::default(),
            health: LoopHealth::default(),
            stamps: None,
        };
        let (point, variant) = (PointId(0), VariantId(0));
        WindowRecord { kind, block: 0, point, round, position: 0, variant, figures, cpu: Vec::new() }
    }

    #[test]
    fn a_stored_block_tells_its_times() {
        let trial = |windows| TrialRecord {
            block: 0,
            batch: 0,
            variant: VariantId(0),
            service: ServiceFacts { start: Some(Nanoseconds::from_millis(7)), ..ServiceFacts::default() },
            windows,
            tallies: vec![Tallies::default()],
            samples: Vec::new(),
            pairings: Vec::new(),
            memory: Vec::new(),
            steal: 0.0,
            machine: None,
            void: None,
        };
        let one = trial(vec![
            window(WindowKind::WarmUp, 0, 100, 150),
            window(WindowKind::LeadIn, 0, 300, 301),
            window(WindowKind::Measured, 0, 302, 320),
        ]);
        let two =
            trial(vec![window(WindowKind::WarmUp, 0, 200, 290), window(WindowKind::Measured, 1, 380, 400)]);
        let times = BlockTimes::of(&[one.clone(), two.clone()]);
        assert_eq!(times.overhead, Nanoseconds::from_millis(7 + 7 + 190));
        assert_eq!(times.measured, Nanoseconds::from_millis(100));
        assert_eq!(times.round, Nanoseconds::from_millis(50));
        assert_eq!(BlockTimes::of(&[]), BlockTimes::default());
        // A second batch an hour later takes as long again, and the hour between them is in neither.
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
        let both = BlockTimes::of(&[one.clone(), two.clone(), later(one), later(two)]);
        assert_eq!(
            (both.overhead, both.measured, both.round),
            (times.overhead * 2, times.measured * 2, times.round * 2)
        );
    }
}
