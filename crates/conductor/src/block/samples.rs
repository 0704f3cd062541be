//! Which requests a window reads, and what is kept of them one by one where sizes are spread over a range or a relay tells of
//! its own requests.
//!
//! Windows of a round read the same piece of the order of sizes, those of the next round the piece behind it, and blocks
//! begin apart from each other, so that the sizes of all blocks together are none twice before all are through. Nothing
//! is estimated here.

use weighbridge_judge::steer::Extent;
use weighbridge_load::session::Seen;
use weighbridge_load::window::{Load, OpenEnd, Stop};
use weighbridge_model::event::Event;
use weighbridge_model::experiment::{SizeSpread, WorkloadSpec};
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::record::{PointId, RequestRecord, WindowKind};
use weighbridge_model::samples::Sample;

use super::Block;
use super::turn::{Place, measured_load};

/// Most samples that are kept of a trial at a point; those behind them are counted and left out.
const KEPT: usize = 20_000;

/// Bits of a stream's number that tell streams apart which begin at the same place.
const SALT_BITS: u32 = 24;

impl Block<'_, '_> {
    /// The range over which a point's sizes are spread.
    fn spread(&self, point: PointId) -> Option<&SizeSpread> {
        match &self.bench.experiment.points[point.index()].workload {
            WorkloadSpec::Pingpong(spec) => spec.spread(),
            _ => None,
        }
    }

    /// The stream of requests that a window of that load reads: shared by all windows of a round, apart for each kind.
    pub(super) fn substream(&self, place: Place, load: &Load) -> u64 {
        let round = match place.kind {
            WindowKind::Measured => place.round,
            WindowKind::LeadIn => place.round | 1 << 31,
            WindowKind::WarmUp => place.round | 1 << 30,
            WindowKind::Check => place.round | 1 << 29,
            WindowKind::Extra => place.round | 1 << 28,
        };
        let drawn = self.bench.plan.substream(self.number, place.point, round);
        let Some(spread) = self.spread(place.point) else { return drawn };
        let salt = drawn >> (u64::BITS - SALT_BITS);
        let position = match place.kind {
            WindowKind::Measured => {
                let blocks = u64::from(self.bench.experiment.plan.blocks_min);
                let first = u64::from(self.number) * spread.passage().div_ceil(blocks);
                first + u64::from(place.round) * requests(load)
            }
            // Every block has sizes of its own, and windows of a round read the same piece.
            WindowKind::Extra => {
                return SizeSpread::extra_stream(salt, u64::from(place.round) * requests(load));
            }
            // What is not evaluated may begin anywhere.
            WindowKind::LeadIn | WindowKind::WarmUp | WindowKind::Check => drawn % spread.passage(),
        };
        SizeSpread::stream(salt, position)
    }

    /// Where a window's requests go one by one, with room for them; `None` where they are not kept.
    pub(super) fn sheet(&self, place: Place, load: &Load) -> Option<Vec<RequestRecord>> {
        let workload = &self.bench.experiment.points[place.point.index()].workload;
        let keeps = matches!(workload, WorkloadSpec::Pingpong(spec) if spec.keeps_requests());
        let kept = matches!(place.kind, WindowKind::Measured | WindowKind::Extra) && keeps;
        // In open load as many again may come before the window ends.
        kept.then(|| Vec::with_capacity(2 * requests(load) as usize + 64))
    }

    /// The load of a window of further sizes beside a measured one of so many requests; `None` where a block asks for none.
    pub(super) fn further(&self, place: Place, requests: u64) -> Option<Load> {
        let spread = self.spread(place.point)?;
        let asked = self.extra.get(place.point.index()).is_some_and(|extra| !extra.is_empty());
        let count = (spread.adaptive * requests as f64).round().max(1.0) as u64;
        (asked && place.kind == WindowKind::Measured).then(|| {
            let place = Place { kind: WindowKind::Extra, ..place };
            measured_load(&self.bench.shapes[place.point.index()], Extent::Requests(count), place)
        })
    }

    /// What rounds of so long take with their windows of further sizes.
    pub(super) fn with_further(&self, point: PointId, round: Nanoseconds) -> Nanoseconds {
        let asked = self.extra.get(point.index()).is_some_and(|extra| !extra.is_empty());
        let share = self.spread(point).filter(|_| asked).map_or(0.0, |spread| spread.adaptive);
        round + Nanoseconds::from_secs_f64(share * round.as_secs_f64())
    }

    /// Keeps what a window showed of each of its requests, up to the bound.
    pub(super) fn keep(
        &mut self,
        index: usize,
        place: Place,
        (records, seen): (Vec<RequestRecord>, Vec<Seen>),
    ) {
        let trial = &mut self.trials[index];
        let Some(first) = trial.windows.first() else { return };
        let origin = first.figures.started;
        let sample = |(record, seen): (RequestRecord, Seen)| Sample {
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
        let before = trial.samples.iter().filter(|sample| sample.point == place.point).count();
        let pairs = records.into_iter().zip(seen);
        trial.samples.extend(pairs.map(sample).take(KEPT.saturating_sub(before)));
    }

    /// Tells once where the blocks of the plan will not ask for every size, and where samples are left out.
    pub(super) fn tell_samples(&mut self, point: PointId) {
        if self.number > 0 {
            return;
        }
        if let Some(spread) = self.spread(point) {
            self.tell_unasked(point, spread.passage(), spread.number());
        }
        let left_out: u64 =
            self.trials.iter().map(|trial| trial.samples_left_out()).max().unwrap_or_default();
        if left_out > 0 {
            let text = format!(
                "of each variant at most {KEPT} requests a block are kept one by one; up to {left_out} more are in all other figures only"
            );
            (self.emit)(Event::Warning { text });
        }
    }

    fn tell_unasked(&mut self, point: PointId, passage: u64, number: u32) {
        let measured = |trial: &weighbridge_model::record::TrialRecord| -> u64 {
            let here = |window: &&weighbridge_model::record::WindowRecord| {
                window.point == point && window.kind == WindowKind::Measured
            };
            trial.windows.iter().filter(here).map(|window| window.figures.requests).sum()
        };
        let fewest = self.trials.iter().map(measured).min().unwrap_or_default();
        let blocks = u64::from(self.bench.experiment.plan.blocks_min);
        if fewest * blocks < passage {
            let text = format!(
                "{blocks} blocks of {fewest} requests do not ask for all of {number} sizes; raise `budget` or lower their number"
            );
            (self.emit)(Event::Warning { text });
        }
    }
}

/// About how many requests a window has, the same for all windows of a round.
fn requests(load: &Load) -> u64 {
    let arriving = |rate: f64, end: &OpenEnd| match end {
        OpenEnd::Drain { stop: Stop::Count(count), .. } => *count,
        OpenEnd::BusyCycles(time) | OpenEnd::Drain { stop: Stop::Time(time), .. } => {
            (rate * time.as_secs_f64()).ceil() as u64
        }
    };
    match load {
        Load::Closed(Stop::Count(count)) | Load::Thinking { stop: Stop::Count(count), .. } => *count,
        Load::Closed(Stop::Time(_)) | Load::Thinking { stop: Stop::Time(_), .. } => 0,
        Load::Open { flow, end, .. } => arriving(flow.mean(), end),
        Load::PartlyOpen { flow, end, length, .. } => arriving(flow.mean() * length.mean(), end),
    }
}
