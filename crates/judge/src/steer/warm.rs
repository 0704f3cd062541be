//! When a variant is warm, and how long the next warm-up window is.

use weighbridge_model::quantity::{Nanoseconds, PerSecond};

use super::window::Pace;
use crate::stats::steady::drift;
use crate::thresholds::{WARM_CHANGE, WARM_NOISE, WARM_SPAN, WARM_WINDOWS};

/// By how much a warm-up window may be longer than the one before: the first requests of a process can be a thousand times
/// slower than its later ones, and the pace they show must not decide a long window.
const GROWTH: u64 = 4;

/// p above which a change is taken for noise.
const NOISE_P: f64 = 0.05;

/// What decides a warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WarmRule {
    /// Fewest time to spend.
    pub least: Nanoseconds,
    /// Most time to spend, whatever the figures do.
    pub most: Nanoseconds,
    /// Wanted length of a window; not above a 20th of the least time, so that enough of them tell whether it is warm.
    pub nominal: Nanoseconds,
    /// Requests outstanding at once.
    pub slots: u64,
}

/// One warm-up window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WarmWindow {
    /// Requests answered.
    pub requests: u64,
    /// First sent to last done.
    pub time: Nanoseconds,
    /// Median response time; `None` without a good reply.
    pub p50: Option<Nanoseconds>,
}

/// What to do next in a warm-up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum WarmStep {
    /// Run a window of so many requests.
    Window(u64),
    /// The variant is warm.
    Warm(Pace),
    /// The time is up and the variant still changes; it is measured, and the diagnosis will see a drift if it goes on.
    TimeUp(Pace),
}

impl WarmRule {
    /// The next step after `history`, windows in the order they ran.
    ///
    /// Warm is: at least the least time and 20 windows, and over the later half of the windows the p50 changed by less than
    /// 1 % along the Theil–Sen line, drawn out to half a second where that half is shorter, or by less than 10 % so
    /// and no more than noise (Mann–Kendall p above 5 %).
    pub fn next(&self, history: &[WarmWindow]) -> WarmStep {
        let spent: Nanoseconds = history.iter().map(|window| window.time).sum();
        if spent >= self.least && is_warm(history) {
            return WarmStep::Warm(pace(history));
        }
        if spent >= self.most.max(self.least) {
            return WarmStep::TimeUp(pace(history));
        }
        WarmStep::Window(self.requests(history.last()))
    }

    /// As many requests as fill the wanted length at the last window's pace, at most four times as many as then.
    fn requests(&self, last: Option<&WarmWindow>) -> u64 {
        let Some(last) = last else { return self.slots.max(1) };
        let rate = PerSecond::from_count(last.requests, last.time).get();
        let length = self.nominal.min(self.least / WARM_WINDOWS as u64);
        let wanted = (rate * length.as_secs_f64()).round() as u64;
        wanted.clamp(1, last.requests.saturating_mul(GROWTH).max(1)).max(self.slots)
    }
}

/// Whether at least 20 windows ran and the p50 is steady over the later half of them.
pub fn is_warm(history: &[WarmWindow]) -> bool {
    let later = &history[history.len() / 2..];
    let logs: Vec<f64> =
        later.iter().filter_map(|w| w.p50).map(|p50| (p50.as_nanos().max(1) as f64).ln()).collect();
    // Over a few milliseconds even a server that becomes 10 % faster in each second changes by little.
    let span: Nanoseconds = later.iter().map(|window| window.time).sum();
    let drawn_out = (WARM_SPAN.as_secs_f64() / span.as_secs_f64().max(1e-9)).max(1.0);
    let steady = drift(&logs).is_some_and(|drift| {
        let change = drift.change.abs() * drawn_out;
        // Noise hides what a handful of requests would show: without a bound the noisiest would be warm first.
        change < WARM_CHANGE || (drift.p > NOISE_P && change < WARM_NOISE)
    });
    history.len() >= WARM_WINDOWS && steady
}

/// The pace over the later half of the warm-up.
fn pace(history: &[WarmWindow]) -> Pace {
    let later = &history[history.len() / 2..];
    Pace {
        requests: later.iter().map(|window| window.requests).sum(),
        time: later.iter().map(|window| window.time).sum(),
        busy: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: WarmRule = WarmRule {
        least: Nanoseconds::from_millis(500),
        most: Nanoseconds::from_secs(5),
        nominal: Nanoseconds::from_millis(20),
        slots: 1,
    };

    /// Follows the rule against a server whose service time after n requests is `law(n)` nanoseconds.
    fn follow(rule: &WarmRule, law: impl Fn(u64) -> u64) -> (WarmStep, Vec<WarmWindow>) {
        let (mut history, mut served) = (Vec::new(), 0);
        loop {
            match rule.next(&history) {
                WarmStep::Window(requests) => {
                    let each = Nanoseconds::from_nanos(law(served));
                    history.push(WarmWindow { requests, time: each * requests, p50: Some(each) });
                    served += requests;
                }
                end => return (end, history),
            }
        }
    }

    #[test]
    fn windows_grow_from_one_request_to_the_nominal_length() {
        let (end, history) = follow(&RULE, |_| 20_000);
        let sizes: Vec<u64> = history.iter().take(7).map(|w| w.requests).collect();
        assert_eq!(sizes, [1, 4, 16, 64, 256, 1000, 1000]);
        let WarmStep::Warm(pace) = end else { panic!("{end:?}") };
        assert_eq!(PerSecond::from_count(pace.requests, pace.time).get().round(), 50_000.0);
    }

    #[test]
    fn a_steady_server_is_warm_after_the_least_time() {
        let (end, history) = follow(&RULE, |_| 20_000);
        let spent: Nanoseconds = history.iter().map(|w| w.time).sum();
        assert!(matches!(end, WarmStep::Warm(_)));
        assert!(spent >= RULE.least && spent <= RULE.least + RULE.nominal * 2, "{spent}");
    }

    /// Windows of 2 s, as a setting with a period has them, would fill ten times a warm-up of half a second with three.
    #[test]
    fn long_windows_are_cut_so_that_a_steady_server_is_warm_in_time() {
        let (end, history) = follow(&WarmRule { nominal: Nanoseconds::from_secs(2), ..RULE }, |_| 20_000);
        let spent: Nanoseconds = history.iter().map(|w| w.time).sum();
        assert!(matches!(end, WarmStep::Warm(_)) && history.len() >= WARM_WINDOWS, "{end:?}");
        assert!(spent < RULE.least * 2, "{spent}");
    }

    /// Method defect 7: figures were taken while the servers still became faster.
    #[test]
    fn defect_7_a_server_that_still_becomes_faster_is_not_called_warm() {
        // Halves its service time every 30,000 requests down to 20 µs: falling until request 100,000.
        let law = |n: u64| (200_000.0 * 0.5_f64.powf(n as f64 / 30_000.0)).max(20_000.0) as u64;
        let patient = WarmRule { most: Nanoseconds::from_secs(60), ..RULE };
        let (end, history) = follow(&patient, law);
        let served: u64 = history.iter().map(|w| w.requests).sum();
        assert!(matches!(end, WarmStep::Warm(_)) && served > 100_000, "{served}");
        let (end, _) = follow(&RULE, |n| (200_000.0 * 0.5_f64.powf(n as f64 / 60_000.0)) as u64);
        assert!(matches!(end, WarmStep::TimeUp(_)), "{end:?}");
    }

    #[test]
    fn a_short_warm_up_is_not_long_enough_to_hide_a_slow_one() {
        // 20 % in each 10,000 requests: half a per cent over the later half of 50 ms.
        let law = |n: u64| (400_000.0 * (1.0 - 0.2 * (n as f64 / 10_000.0).min(1.0))) as u64;
        let (least, most) = (Nanoseconds::from_millis(50), Nanoseconds::from_millis(500));
        let (end, _) = follow(&WarmRule { least, most, ..RULE }, law);
        assert!(matches!(end, WarmStep::TimeUp(_)), "{end:?}");
    }

    #[test]
    fn noise_does_not_make_a_server_warm_that_has_hardly_been_asked() {
        // Up and down by a third from window to window, and 10 % faster in each 100 requests.
        let law = |n: u64| (400_000.0 * (1.0 - n as f64 / 1_000.0).max(0.25)) as u64 * (3 + n % 2) / 3;
        let (least, most) = (Nanoseconds::from_millis(20), Nanoseconds::from_millis(200));
        let (_, history) = follow(&WarmRule { least, most, ..RULE }, law);
        assert!(history.iter().map(|w| w.requests).sum::<u64>() > 500);
    }

    #[test]
    fn a_server_without_a_good_reply_ends_with_the_time() {
        let failing = |history: &[WarmWindow]| RULE.next(history);
        let window = WarmWindow { requests: 1000, time: Nanoseconds::from_millis(100), p50: None };
        assert!(matches!(failing(&[window; 49]), WarmStep::Window(_)));
        assert!(matches!(failing(&[window; 50]), WarmStep::TimeUp(_)));
    }
}
