//! Facts about a variant's processes beside its windows: memory, CPU quota, run-time, network, failures.

use weighbridge_judge::steer::{Extent, WindowRule};
use weighbridge_judge::thresholds::WINDOW_PERIODS;
use weighbridge_lab::layers::Answered;
use weighbridge_load::failures::Failures;
use weighbridge_model::event::Event;
use weighbridge_model::id::PointId;
use weighbridge_model::network::LinkCounters;
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::record::{
    FailedReplies, RoleMemory, Traffic, WindowFigures, WindowKind, WindowRecord,
};

use super::{Abort, Block, BoundWorkload};
use crate::failures::{self, FailureText};
use crate::variant::roles::Role;
use crate::variant::running::RunningVariant;

impl Block<'_, '_> {
    /// The longest time constant of any running variant.
    pub(super) fn period(&self) -> Option<Nanoseconds> {
        self.variants.iter().filter_map(|running| running.period).max()
    }

    /// Warns once where windows are longer than the experiment asks, and names the variant that causes it.
    pub(super) fn warn_lengthened(&mut self, rule: &WindowRule) {
        let slowest = self.variants.iter().find(|running| running.period == rule.period);
        let text = lengthened(rule, slowest.map_or("", |running| &running.name));
        if let Some(text) = text.filter(|_| self.number == 0) {
            (self.emit)(Event::Warning { text });
        }
    }

    /// Whether every variant's window holds 20 of its own periods. Without a period it may be shorter.
    pub(super) fn holds_periods(&self, extent: Extent, bound: &[BoundWorkload]) -> bool {
        let Extent::Requests(requests) = extent else { return true };
        let pairs = || self.variants.iter().zip(bound);
        pairs().all(|(running, BoundWorkload { pace, .. })| {
            let each = pace.time.as_secs_f64() / pace.requests.max(1) as f64;
            let wanted = running.period.unwrap_or_default() * WINDOW_PERIODS;
            each * requests as f64 >= wanted.as_secs_f64() * 0.99
        })
    }

    pub(super) fn add_failures(&mut self, index: usize, failures: &Failures) {
        if *failures != Failures::default() {
            self.failures.entry(index).or_default().merge(failures);
        }
    }

    /// Tells what was said of failed requests at a point, and records it.
    pub(super) fn warn_failures(&mut self, point: PointId) {
        for (index, failures) in std::mem::take(&mut self.failures) {
            let name = &self.variants[index].name;
            for FailureText { text, kind, example, count } in
                failures::shown(&failures, self.context.launcher.secrets)
            {
                (self.emit)(Event::Warning { text: format!("requests to `{name}` failed: {text}") });
                self.trials[index].failures.push(FailedReplies { point, kind, text, example, count });
            }
        }
    }

    pub(super) fn link_counters(&self) -> Vec<Option<LinkCounters>> {
        self.variants.iter().map(RunningVariant::link_counters).collect()
    }

    /// Records the traffic of a point: since `before`, all of its windows but the warm-up have run.
    pub(super) fn record_traffic(&mut self, point: PointId, before: &[Option<LinkCounters>]) {
        for ((running, trial), before) in self.variants.iter_mut().zip(&self.trials).zip(before) {
            let since = |window: &&WindowRecord| window.point == point && window.kind != WindowKind::WarmUp;
            let answered = trial.windows.iter().filter(since).map(|window| window.figures.answered()).sum();
            if let Some(before) = before {
                running.record_traffic(before, point, answered);
            }
        }
    }

    pub(super) fn record_memory(&mut self, point: PointId) {
        for (running, trial) in self.variants.iter_mut().zip(&mut self.trials) {
            let peaks = running.memory_peaks().into_iter();
            let memory = |(role, peak): (Role, _)| RoleMemory { role: role.name().to_owned(), point, peak };
            trial.memory.extend(peaks.map(memory));
        }
    }

    pub(super) fn record_processes(&mut self) -> Result<(), Abort> {
        for (running, trial) in self.variants.iter_mut().zip(&mut self.trials) {
            running.record_processes();
            running.record_network(answered(&trial.windows))?;
            trial.service.clone_from(&running.facts);
        }
        Ok(())
    }
}

/// The good replies of a variant, and the bytes that TCP carried for it.
fn answered(windows: &[WindowRecord]) -> Answered {
    let figures = || windows.iter().map(|window| &window.figures);
    let bytes = |traffic: &Traffic| traffic.sent.get() + traffic.received.get();
    Answered {
        requests: figures().map(WindowFigures::good).sum(),
        bytes: figures().map(|figures| bytes(&figures.traffic)).sum(),
    }
}

fn lengthened(rule: &WindowRule, variant: &str) -> Option<String> {
    let (wanted, period) = (rule.nominal?, rule.period?);
    (wanted < rule.nominal()).then(|| {
        format!(
            "`window = {wanted}` is lengthened to {}: shorter windows would show where in its period of {period} variant `{variant}` stood, not what it costs",
            rule.nominal()
        )
    })
}

#[cfg(test)]
mod tests {
    use weighbridge_model::estimate::Quantity;

    use super::*;

    #[test]
    fn a_cpu_quota_with_short_windows_lengthens_them_and_says_so() {
        let millis = Nanoseconds::from_millis;
        let rule = |window: u64, period: Option<u64>| WindowRule {
            nominal: Some(millis(window)),
            period: period.map(millis),
            slots: 1,
            headline: Quantity::ResponseP50,
        };
        let text = lengthened(&rule(20, Some(100)), "half").expect("a warning");
        assert!(
            text.contains("`window = 20.0 ms`") && text.contains("2.00 s") && text.contains("`half`"),
            "{text}"
        );
        assert_eq!(lengthened(&rule(2_000, Some(100)), "half"), None);
        assert_eq!(lengthened(&rule(20, None), "half"), None);
    }

    /// `docs/STUDY.md`: shorter windows lengthen its requests, and during 2 s the host changes.
    #[test]
    fn the_service_in_java_has_windows_of_100_ms() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../services/java");
        let service = weighbridge_lab::service::Service::read(&folder).expect("it is ours");
        let rule =
            WindowRule { nominal: None, period: service.period(), slots: 1, headline: Quantity::ResponseP50 };
        assert_eq!(rule.nominal(), Nanoseconds::from_millis(100));
        assert_eq!(rule.longest(), Nanoseconds::from_secs(1));
    }
}
