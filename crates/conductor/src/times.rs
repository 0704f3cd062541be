//! Where the time of blocks went, as the conductor saw it, or as the windows of a stored block tell it.

use std::collections::BTreeMap;

use weighbridge_judge::steer::WindowRule;
use weighbridge_judge::thresholds::ROUNDS_LEAST;
use weighbridge_lab::layers;
use weighbridge_model::experiment::{CpuLimit, Experiment, Variant};
use weighbridge_model::id::PointId;
use weighbridge_model::pairing::PairingChoice;
use weighbridge_model::plan::{Batches, Plan};
use weighbridge_model::quantity::{Nanoseconds, Timestamp};
use weighbridge_model::record::{TrialRecord, WindowKind, WindowRecord};

/// The longest time constant of a variant's limits and layers.
pub fn period_of(variant: &Variant) -> Option<Nanoseconds> {
    let limit = variant.limits.cpu.map(|_| CpuLimit::PERIOD);
    limit.max(layers::period(&variant.layers))
}

/// Why a run will take longer than its budget, where that is known before anything is measured: windows are as long as was asked
/// for and hold 20 of the longest period, and there are at least ten rounds of them. `period` tells each variant's.
pub fn foreseen(
    experiment: &Experiment,
    batches: &Batches,
    period: impl Fn(&Variant) -> Option<Nanoseconds>,
) -> Option<String> {
    let rules = &experiment.plan;
    if matches!(rules.pairing, PairingChoice::Sequential | PairingChoice::Requests) {
        return None;
    }
    let plan = Plan::new(rules.seed, experiment.variants.len(), experiment.points.len());
    let (mut round, mut longest) = (Nanoseconds::ZERO, Nanoseconds::ZERO);
    for (number, members) in (0..).zip(batches.iter()) {
        let period = members.iter().filter_map(|id| period(&experiment.variants[id.index()])).max();
        if period.or(rules.window).is_none() {
            continue;
        }
        let rule = WindowRule { nominal: rules.window, period, slots: 1, headline: rules.headline };
        let turns = match rules.pairing {
            PairingChoice::Duet => 1,
            _ => plan.of_batch(number, members.len()).round(0, PointId(0), 0).len() as u64,
        };
        round += rule.nominal() * turns;
        longest = longest.max(rule.nominal());
    }
    let rounds = u64::from(rules.blocks_min) * u64::from(ROUNDS_LEAST) * experiment.points.len() as u64;
    let least = round * rounds;
    (least > rules.budget).then(|| {
        format!(
            "it will take about {least}, not {}: windows are {longest} long, and each of {} blocks has at least {ROUNDS_LEAST} rounds of them",
            rules.budget, rules.blocks_min
        )
    })
}

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
            // Turns are looked at once, in no round.
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
    use weighbridge_model::id::VariantId;
    use weighbridge_model::pairing::{Preparation, WarmEnd, WarmUp};
    use weighbridge_model::record::{
        ErrorCounts, LoopHealth, ServiceFacts, Tallies, Traffic, WindowEnd, WindowFigures,
    };

    fn limited(budget: &str, more: &str) -> Experiment {
        let text = format!(
            "[workload]\nname = \"pingpong\"\n[plan]\nblocks = {{ min = 4, max = 4 }}\nbudget = \"{budget}\"\n{more}\n\
             [[variant]]\nname = \"whole\"\nservice = \"go\"\n[[variant]]\nname = \"half\"\nservice = \"go\"\ncpu = 0.5\n"
        );
        Experiment::parse("x.toml", &text).expect("an experiment")
    }

    #[test]
    fn what_declared_periods_make_longer_than_the_budget_is_foreseen() {
        let of = |experiment: &Experiment| foreseen(experiment, &Batches::even(2, 5), period_of);
        // 4 blocks of 10 rounds of 2 windows of 2 s.
        let text = of(&limited("60 s", "")).expect("longer");
        assert!(
            text.contains("about 160 s, not 60.0 s") && text.contains("windows are 2.00 s long"),
            "{text}"
        );
        assert_eq!(of(&limited("160 s", "")), None);
        assert_eq!(of(&limited("60 s", "pairing = \"sequential\"")), None);
        let mut unlimited = limited("60 s", "");
        unlimited.variants[1].limits.cpu = None;
        assert_eq!(of(&unlimited), None);
        unlimited.plan.window = Some(Nanoseconds::from_secs(3));
        assert!(of(&unlimited).is_some_and(|text| text.contains("about 240 s")));
    }

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
            held_up: 0,
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
        WindowRecord {
            kind,
            block: 0,
            point,
            round,
            position: 0,
            variant,
            figures,
            cpu: Vec::new(),
            core_latency: None,
        }
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
            preparations: Vec::new(),
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
        // A look at turns behind the warm-up is time of the block and of no round.
        let mut looked = one.clone();
        looked
            .windows
            .splice(1..1, [window(WindowKind::LeadIn, 0, 292, 293), window(WindowKind::WarmUp, 1, 293, 298)]);
        let warm_up = WarmUp { end: WarmEnd::Steady, time: Nanoseconds::from_millis(50), windows: 1 };
        looked.preparations = vec![Preparation { warm_up: Some(warm_up), ..Preparation::default() }];
        let longer = BlockTimes::of(&[looked, two.clone()]);
        assert_eq!(longer.overhead, Nanoseconds::from_millis(7 + 7 + 190));
        assert_eq!(longer.measured, Nanoseconds::from_millis(108));
        assert_eq!(longer.round, Nanoseconds::from_millis(50));
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
