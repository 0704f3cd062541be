//! Pauses: windows with one long stop of a service, such as a garbage collector's.
//!
//! A p50 does not see them and a total includes them fully; the finding says how many, how long and how
//! often, and so why the two differ. The host stops both variants alike; such stops are not reported.

use weighbridge_model::id::PointId;
use weighbridge_model::quantity::{Nanoseconds, Ratio, display_nanos};
use weighbridge_model::record::{OperationFigures, WindowKind, WindowRecord};

use super::{Alarm, CheckContext, Impact};
use crate::records::Cell;
use crate::stats::interval::Mean;
use crate::stats::multiple::p_against_zero;
use crate::stats::sample::{mean, median, standard_deviation};
use crate::thresholds::{BLOCKS_FOR_INTERVAL, PAUSE_FACTOR, PAUSE_LEAST, PAUSE_P, PAUSE_SHARE};

/// Pauses are regular if the coefficient of variation of the time between them is below this; at random times
/// it is 1.
const REGULAR: f64 = 0.35;

/// The fewest times between pauses from which to judge regularity.
const INTERVALS: usize = 4;

/// A pause is longer than the other variant's longest response by this factor.
const BEYOND_THE_HOST: f64 = 1.25;

#[derive(Debug, Clone, Default, PartialEq)]
struct Paused {
    lengths: Vec<f64>,
    /// Running time of the variant from one pause to the next.
    between: Vec<f64>,
    running: f64,
}

impl Paused {
    fn new(cell: &Cell<'_>, point: PointId, limit: f64) -> Self {
        let mut paused = Self::default();
        let mut last = None;
        let windows = cell.trials.iter().flat_map(|trial| &trial.windows);
        let ran = |w: &&WindowRecord| w.kind != WindowKind::WarmUp && w.point == point;
        for window in windows.filter(ran) {
            let longest = window.figures.all.as_ref().map_or(Nanoseconds::ZERO, |all| all.response_max);
            paused.running += window.figures.ended.since(window.figures.started).as_nanos() as f64;
            if longest.as_nanos() as f64 >= limit {
                paused.lengths.push(longest.as_nanos() as f64);
                paused.between.extend(last.map(|last| paused.running - last));
                last = Some(paused.running);
            }
        }
        paused
    }

    fn share(&self) -> f64 {
        self.lengths.iter().sum::<f64>() / self.running.max(1.0)
    }
}

/// Whether one of a variant and the baseline pauses and the other does not.
///
/// A pause is the longest response of a window if it is above 1 ms, above 20 times the p50, and above the
/// longest that the other variant has in a median block (the host stops both). Pauses are reported if they
/// take at least 1 % of the time more than the other variant's, over blocks, with p below 5 %.
pub(super) fn pauses(context: &CheckContext<'_>) -> Option<Alarm> {
    let &CheckContext { point, .. } = context;
    if context.is_baseline() {
        return None;
    }
    let (mine, theirs): (Vec<_>, Vec<_>) =
        context.pairs().into_iter().map(|pair| (pair.variant, pair.baseline)).unzip();
    let mine_more = || Some(("its", pauses_in_excess(&mine, &theirs, point)?));
    let theirs_more = || Some(("the baseline's", pauses_in_excess(&theirs, &mine, point)?));
    let (whose, said) = mine_more().or_else(theirs_more)?;
    Some(Alarm {
        impact: Impact::Note,
        name: "pauses",
        evidence: format!("{whose} {said}"),
        remedy: "mean, throughput and far quantiles hold them, p50 does not; give every block time for five",
    })
}

fn pauses_in_excess(ones: &[Cell<'_>], others: &[Cell<'_>], point: PointId) -> Option<String> {
    let times = |cell: &Cell<'_>, time: fn(&OperationFigures) -> Nanoseconds| -> Vec<f64> {
        let figures = cell.windows.iter().filter_map(|window| window.figures.all.as_ref());
        figures.map(|all| time(all).as_nanos() as f64).collect()
    };
    let usual = |cell: &Cell<'_>| median(&times(cell, |all| all.response_p50));
    let usual = ones.iter().chain(others).filter_map(usual).fold(0.0, f64::max);
    let longest = |cell: &Cell<'_>| times(cell, |all| all.response_max).into_iter().fold(0.0, f64::max);
    let host = median(&others.iter().map(longest).collect::<Vec<_>>())?;
    let limit = (PAUSE_FACTOR * usual).max(PAUSE_LEAST.as_nanos() as f64).max(host * BEYOND_THE_HOST);
    let paused = |cell: &Cell<'_>| Paused::new(cell, point, limit);
    let (ones, others): (Vec<_>, Vec<_>) =
        (ones.iter().map(paused).collect(), others.iter().map(paused).collect());
    let excess: Vec<f64> = ones.iter().zip(&others).map(|(one, other)| one.share() - other.share()).collect();
    let excess = Mean::new(&excess).filter(|_| excess.len() >= BLOCKS_FOR_INTERVAL)?;
    let few: usize = others.iter().map(|paused| paused.lengths.len()).sum();
    (excess.point >= PAUSE_SHARE && p_against_zero(excess) < PAUSE_P)
        .then(|| format!("{}; the other has {few}", in_words(&ones)))
}

fn in_words(blocks: &[Paused]) -> String {
    let all =
        |pick: fn(&Paused) -> &Vec<f64>| -> Vec<f64> { blocks.iter().flat_map(pick).copied().collect() };
    let (lengths, between) = (all(|paused| &paused.lengths), all(|paused| &paused.between));
    let running: f64 = blocks.iter().map(|paused| paused.running).sum();
    let share = Ratio::new(lengths.iter().sum::<f64>() / running.max(1.0));
    let variation = standard_deviation(&between).zip(mean(&between)).map(|(s, mean)| s / mean);
    let often = match variation.filter(|_| between.len() >= INTERVALS) {
        Some(variation) if variation < REGULAR => {
            format!("about every {}", display_nanos(median(&between).unwrap_or_default()))
        }
        _ => format!("one in {} on average", display_nanos(running / lengths.len().max(1) as f64)),
    };
    format!(
        "windows are not alike: {} hold a pause near {}, {share} of its running time, {often} of it",
        lengths.len(),
        display_nanos(median(&lengths).unwrap_or_default()),
    )
}
