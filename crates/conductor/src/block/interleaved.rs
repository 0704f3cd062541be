//! Windows that all variants share: requests go to them in turn, and nothing is frozen.
//!
//! The generator decides whose request is due when.

use weighbridge_judge::steer::{Extent, RoundRule};
use weighbridge_load::Recording;
use weighbridge_load::generator::{Share, WindowReport, WindowSpec};
use weighbridge_load::window::Load;
use weighbridge_model::id::{PointId, VariantId};
use weighbridge_model::record::{Tallies, WindowKind};

use super::samples::expected;
use super::turn::WindowPlace;
use super::{Abort, Block, BlockError, BoundWorkload};
use crate::variant::roles::Clocks;

impl Block<'_, '_> {
    /// Rounds of shared windows after one lead-in. A variant's CPU time includes that used during others'
    /// requests.
    pub(super) fn interleaved_rounds(
        &mut self,
        point: PointId,
        bound: &[BoundWorkload],
        extent: Extent,
        rule: RoundRule,
    ) -> Result<(), Abort> {
        for running in &mut self.variants {
            running.thaw()?;
        }
        let place = WindowPlace { kind: WindowKind::LeadIn, point, round: 0, position: 0 };
        let slowest = bound.iter().map(|bound| bound.pace).min_by(|a, b| a.requests.cmp(&b.requests));
        if let Some(pace) = slowest {
            let load = self.lead_in(point, self.period(), pace);
            self.common_window(place, load)?;
        }
        let round = |block: &mut Self, kind, round| {
            let place = WindowPlace { kind, round, ..place };
            let load = block.measured_load(extent, place);
            (0..block.variants.len()).try_for_each(|index| block.empty_for(place, index, bound).map(drop))?;
            block.set_idle(VariantId(0));
            block.common_window(place, load)
        };
        let rounds = self.rounds(point, rule, &mut |block, at| round(block, WindowKind::Measured, at))?;
        self.idle_check(point, rounds, &mut |block, count| {
            (0..count).try_for_each(|at| round(block, WindowKind::IdleCheck, at))
        })?;
        for running in &mut self.variants {
            running.freeze()?;
        }
        Ok(())
    }

    fn common_window(&mut self, place: WindowPlace, load: Load) -> Result<(), Abort> {
        self.check_control()?;
        let requests = expected(&load, None);
        let substream = self.substream(place, requests);
        let measured = place.kind == WindowKind::Measured;
        let variants: Vec<VariantId> = self.variants.iter().map(|running| running.variant).collect();
        let tallies: Vec<Tallies> = match measured {
            true => (0..variants.len()).map(|index| self.take_tallies(index, place.point)).collect(),
            false => vec![Tallies::default(); variants.len()],
        };
        let before = self.cpu_times();
        let buffers: Vec<_> = variants.iter().map(|_| self.sample_buffer(place, requests)).collect();
        let (reports, tallies, buffers) = self.context.clients.get(VariantId(0)).call(move |generator| {
            let (mut tallies, mut buffers) = (tallies, buffers);
            let spec = WindowSpec { substream, load, recording: Recording::Exact };
            let shares = variants.into_iter().zip(&mut tallies).zip(&mut buffers);
            let mut shares: Vec<_> = shares
                .map(|((variant, tallies), buffer)| Share { variant, tallies, samples: buffer.as_mut() })
                .collect();
            let reports = generator.run_interleaved(&mut shares, &spec);
            (reports, tallies, buffers)
        });
        let reports = reports.map_err(BlockError::Generator)?;
        let after = self.cpu_times();
        if measured {
            for (trial, tallies) in self.trials.iter_mut().zip(tallies) {
                trial.tallies[place.point.index()] = tallies;
            }
        }
        for (index, (report, buffer)) in reports.iter().zip(buffers).enumerate() {
            let used = after[index].since(&before[index], report.figures.begun());
            self.record(index, place, &report.figures, used);
            let record = self.trials[index].windows.last_mut().expect("the window was just recorded");
            record.pauses = after[index].pauses_since(&before[index]);
            self.keep(index, place, buffer.unwrap_or_default(), report.seen.clone());
        }
        self.check_control()?;
        // The variant that caused the abort comes first: the others' windows were only cut with it.
        let mut order: Vec<usize> = (0..reports.len()).collect();
        order.sort_by_key(|index| reports[*index].trouble.is_none());
        for index in order {
            self.add_failures(index, &reports[index].failures);
            let WindowReport { figures, trouble, .. } = &reports[index];
            self.check_alive(index, place.kind, figures, trouble.clone())?;
        }
        Ok(())
    }

    pub(super) fn cpu_times(&mut self) -> Vec<Clocks> {
        self.variants.iter_mut().map(super::RunningVariant::clocks).collect()
    }
}
