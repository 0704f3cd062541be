//! Which requests a window reads, and which single requests are kept where sizes are spread over a range or a
//! relay reports its own requests.
//!
//! Windows of a round read the same part of the sequence of sizes, those of the next round the part after it,
//! and blocks begin at different places, so that every size is asked for once before any is asked for twice.
//! Where there are too many requests to keep, whole rounds are left out and counted. Nothing is estimated
//! here.

use std::collections::BTreeSet;

use weighbridge_judge::steer::Pace;
use weighbridge_load::session::Seen;
use weighbridge_load::window::{Load, OpenEnd, Stop};
use weighbridge_model::event::Event;
use weighbridge_model::experiment::SizeSpread;
use weighbridge_model::id::PointId;
use weighbridge_model::quantity::{Bytes, Nanoseconds, PerSecond};
use weighbridge_model::record::samples::Sample;
use weighbridge_model::record::{RequestRecord, TrialRecord, WindowKind};

use super::Block;
use super::turn::WindowPlace;

/// Most samples kept of a trial at a point. The others are counted and left out, whole rounds at a time. Ten
/// variants in six blocks then have 1.2 million, five times as many as those for which docs/PERFORMANCE.md
/// gives the time of judging; judging this many has not been timed. Curves use a tenth of the requests around
/// a size and at most 1,000 of them, so more samples would narrow no interval made of blocks.
const SAMPLES_MOST: usize = 20_000;

/// Bits that distinguish streams which begin at the same place.
const SALT_BITS: u32 = 24;

impl Block<'_, '_> {
    fn spread(&self, point: PointId) -> Option<&SizeSpread> {
        self.context.experiment.points[point.index()].workload.spread()
    }

    /// The stream of a window of about `requests`: the same for a round, separate for each kind of window.
    pub(super) fn substream(&self, place: WindowPlace, requests: u64) -> u64 {
        let round = match place.kind {
            WindowKind::Measured => place.round,
            WindowKind::LeadIn => place.round | 1 << 31,
            WindowKind::WarmUp => place.round | 1 << 30,
            WindowKind::Check => place.round | 1 << 29,
            WindowKind::IdleCheck => place.round | 1 << 27,
            WindowKind::Step => place.round | 1 << 26,
        };
        let drawn = self.context.plan.substream(self.number, place.point, round);
        let Some(spread) = self.spread(place.point) else { return drawn };
        let salt = drawn >> (u64::BITS - SALT_BITS);
        let position = match place.kind {
            WindowKind::Measured => {
                let blocks = u64::from(self.context.experiment.plan.blocks_min);
                let first = u64::from(self.number) * spread.passage().div_ceil(blocks);
                first + u64::from(place.round) * requests
            }
            // Windows that are not evaluated may begin anywhere.
            WindowKind::LeadIn
            | WindowKind::WarmUp
            | WindowKind::Check
            | WindowKind::IdleCheck
            | WindowKind::Step => drawn % spread.passage(),
        };
        SizeSpread::stream(salt, position)
    }

    /// A buffer for a window's single requests; `None` where they are not kept.
    pub(super) fn sample_buffer(&self, place: WindowPlace, requests: u64) -> Option<Vec<RequestRecord>> {
        let workload = &self.context.experiment.points[place.point.index()].workload;
        let kept =
            place.kind == WindowKind::Measured && workload.keeps_samples() || self.passage_requests.is_some();
        // A window limited by time may answer more requests than expected.
        kept.then(|| Vec::with_capacity(2 * requests as usize + 64))
    }

    pub(super) fn keep(
        &mut self,
        index: usize,
        place: WindowPlace,
        records: Vec<RequestRecord>,
        seen: Vec<Seen>,
    ) {
        if let Some(requests) = &mut self.passage_requests {
            *requests = records;
            return;
        }
        if self.number == 0 && place.kind == WindowKind::Measured {
            self.kept_samples.asked.resize(self.trials.len(), BTreeSet::new());
            self.kept_samples.asked[index].extend(seen.iter().map(|seen| seen.size));
        }
        let trial = &mut self.trials[index];
        let Some(first) = trial.windows.first() else { return };
        if records.is_empty() || !place.round.is_multiple_of(self.kept_samples.every) {
            return;
        }
        let origin = first.figures.started;
        let sample = |(record, seen): (RequestRecord, Seen)| Sample {
            kind: place.kind,
            point: place.point,
            round: place.round,
            operation: record.operation,
            size: seen.size,
            due: record.due.since(origin),
            sent: record.sent.since(origin),
            done: record.done.since(origin),
            outcome: record.outcome,
            status: seen.status,
            length: seen.length,
            relayed: seen.relayed,
        };
        trial.samples.extend(records.into_iter().zip(seen).map(sample).take(SAMPLES_MOST));
        thin(&mut self.trials, index, place.point, &mut self.kept_samples.every, SAMPLES_MOST);
    }

    /// Warns once where the plan's blocks will not ask for every size, and where samples are left out.
    pub(super) fn warn_samples(&mut self, point: PointId) {
        if self.number > 0 {
            return;
        }
        if let Some(spread) = self.spread(point) {
            let number = u64::from(spread.number());
            // Variants whose single requests are not seen have no sizes.
            let asked =
                self.kept_samples.asked.iter().map(|sizes| sizes.len() as u64).filter(|sizes| *sizes > 0);
            let said = asked
                .min()
                .and_then(|fewest| too_few_sizes(fewest, self.context.experiment.plan.blocks_min, number));
            if let Some(text) = said {
                (self.emit)(Event::Warning { text });
            }
        }
        let left_out =
            self.trials.iter().map(|trial| trial.samples_left_out(point)).max().unwrap_or_default();
        if left_out > 0 {
            let rounds = match self.kept_samples.every {
                1 => "all rounds".to_owned(),
                every => format!("one round in {every}"),
            };
            let text = format!(
                "of each variant at most {SAMPLES_MOST} requests a block are kept one by one, those of {rounds}; up to {left_out} more are in all other figures only"
            );
            (self.emit)(Event::Warning { text });
        }
    }
}

#[derive(Debug)]
pub(super) struct KeptSamples {
    /// Only rounds whose number is a multiple of this are kept.
    every: u32,
    /// The sizes that measured windows asked for, by trial; only in the first block.
    asked: Vec<BTreeSet<Bytes>>,
}

impl Default for KeptSamples {
    fn default() -> Self {
        Self { every: 1, asked: Vec::new() }
    }
}

/// Leaves out every second kept round of a point, repeatedly, while the trial that has grown has more samples
/// than `most`. The same rounds of every trial are left out, so that the rest are of the same requests.
/// Rounds from the first to the last remain, so that samples show a trend through the block as all other
/// figures do. A single round remains however large it is.
fn thin(trials: &mut [TrialRecord], grown: usize, point: PointId, every: &mut u32, most: usize) {
    let here = |sample: &&Sample| sample.point == point;
    while trials[grown].samples.iter().filter(here).count() > most {
        let is_dropped = |sample: &Sample| sample.point == point && !sample.round.is_multiple_of(*every * 2);
        if !trials.iter().any(|trial| trial.samples.iter().any(is_dropped)) {
            return;
        }
        trials.iter_mut().for_each(|trial| trial.samples.retain(|sample| !is_dropped(sample)));
        *every *= 2;
    }
}

/// Blocks begin at equal distances in the sequence of sizes.
fn too_few_sizes(fewest: u64, blocks: u32, number: u64) -> Option<String> {
    (fewest * u64::from(blocks) < number).then(|| {
        format!(
            "{blocks} blocks of {fewest} sizes do not ask for all of {number}; raise `budget` or lower their number"
        )
    })
}

/// About how many requests a window with this load has, the same for all windows of a round. In closed load
/// limited by time it is as many as a variant with this pace answers.
pub(super) fn expected(load: &Load, pace: Option<Pace>) -> u64 {
    let arriving = |rate: f64, end: &OpenEnd| match end {
        OpenEnd::Drain { stop: Stop::Count(count), .. } => *count,
        OpenEnd::Sessions { requests, .. } => *requests,
        OpenEnd::BusyCycles(time) | OpenEnd::Drain { stop: Stop::Time(time), .. } => {
            (rate * time.as_secs_f64()).ceil() as u64
        }
    };
    let answered = |time: &Nanoseconds| {
        let rate = |pace: Pace| PerSecond::from_count(pace.requests, pace.time).get();
        pace.map_or(0, |pace| (rate(pace) * time.as_secs_f64()).ceil() as u64)
    };
    match load {
        Load::Closed(Stop::Count(count)) | Load::Thinking { stop: Stop::Count(count), .. } => *count,
        Load::Closed(Stop::Time(time)) | Load::Thinking { stop: Stop::Time(time), .. } => answered(time),
        Load::Open { flow, end, .. } => arriving(flow.mean(), end),
        Load::PartlyOpen { flow, end, length, .. } => arriving(flow.mean() * length.mean(), end),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weighbridge_model::id::{OperationId, VariantId};
    use weighbridge_model::record::Outcome;

    /// Each of the `each` samples of a round takes as many nanoseconds as the round's number.
    fn trial(variant: u16, rounds: u32, each: usize) -> TrialRecord {
        let sample = |round: u32| Sample {
            kind: WindowKind::Measured,
            point: PointId(0),
            round,
            operation: OperationId(0),
            size: Bytes::new(4),
            due: Nanoseconds::ZERO,
            sent: Nanoseconds::ZERO,
            done: Nanoseconds::from_nanos(u64::from(round)),
            outcome: Outcome::Ok,
            status: Some(200),
            length: Bytes::new(4),
            relayed: None,
        };
        TrialRecord {
            variant: VariantId(variant),
            samples: (0..rounds).flat_map(|round| std::iter::repeat_n(sample(round), each)).collect(),
            ..Default::default()
        }
    }

    fn rounds(trial: &TrialRecord) -> BTreeSet<u32> {
        trial.samples.iter().map(|sample| sample.round).collect()
    }

    #[test]
    fn whole_rounds_go_alike_of_every_trial_and_the_course_of_a_block_stays() {
        // The baseline has two windows in each round.
        let mut trials = vec![trial(0, 1_000, 40), trial(1, 1_000, 20)];
        let mut every = 1;
        thin(&mut trials, 0, PointId(0), &mut every, SAMPLES_MOST);
        assert_eq!((every, trials[0].samples.len(), trials[1].samples.len()), (2, 20_000, 10_000));
        assert_eq!(rounds(&trials[0]), (0..1_000).step_by(2).collect());
        assert_eq!(rounds(&trials[0]), rounds(&trials[1]));
        // The time rises through the block: the first 20,000 samples would show half of it.
        let times = trials[0].samples.iter().map(|sample| sample.service().as_nanos());
        assert_eq!(times.sum::<u64>() / 20_000, 499);
        thin(&mut trials, 0, PointId(0), &mut every, SAMPLES_MOST);
        assert_eq!(every, 2, "as many as may be are kept");
        let first = trials[1].samples[0];
        trials[1].samples.push(first);
        thin(&mut trials, 1, PointId(0), &mut every, 10_000);
        assert_eq!((every, trials[0].samples.len(), trials[1].samples.len()), (4, 10_000, 5_001));
    }

    #[test]
    fn other_points_and_a_round_by_itself_stay() {
        let mut trials = vec![trial(0, 1, 500)];
        let (mut every, mut other) = (1, trials[0].samples[0]);
        (other.point, other.round) = (PointId(1), 3);
        trials[0].samples.push(other);
        thin(&mut trials, 0, PointId(0), &mut every, 100);
        assert_eq!((every, trials[0].samples.len()), (1, 501));
        trials[0].samples.push(Sample { point: PointId(0), ..other });
        thin(&mut trials, 0, PointId(0), &mut every, 100);
        assert_eq!((every, trials[0].samples.len()), (2, 501));
    }

    #[test]
    fn a_window_as_long_as_a_time_has_as_many_requests_as_the_variant_s_pace_says() {
        let pace = Pace { requests: 4_000, time: Nanoseconds::from_secs(2), busy: None };
        let window = Load::Closed(Stop::Time(Nanoseconds::from_millis(20)));
        assert_eq!((expected(&window, Some(pace)), expected(&window, None)), (40, 0));
        assert_eq!(expected(&Load::Closed(Stop::Count(7)), Some(pace)), 7);
    }

    #[test]
    fn sizes_that_nobody_asks_for_are_told() {
        assert_eq!(too_few_sizes(50, 4, 200), None);
        let text = too_few_sizes(49, 4, 200).expect("four are left");
        assert!(text.contains("4 blocks of 49 sizes do not ask for all of 200"), "{text}");
    }
}
