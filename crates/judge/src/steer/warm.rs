//! When a variant is warm, and what its warm-up does next.

use weighbridge_model::pairing::WarmEnd;
use weighbridge_model::quantity::{Nanoseconds, PerSecond};

use super::window::Pace;
use crate::stats::steady::drift;
use crate::thresholds::{
    REST, REST_BUSY, REST_EVERY, REST_LONGEST, WARM_CHANGE, WARM_NOISE, WARM_SPAN, WARM_WINDOWS,
};

/// The factor by which a warm-up window may be longer than the one before. The first requests of a process
/// can be a thousand times slower than later ones, so their pace must not decide a long window.
const GROWTH: u64 = 4;

const NOISE_P: f64 = 0.05;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WarmRule {
    pub least: Nanoseconds,
    /// Most time for a variant whose figures vary without becoming faster.
    pub most: Nanoseconds,
    /// Most time for a variant that still becomes faster, or still works in its rests.
    pub longest: Nanoseconds,
    /// Wanted length of a window; limited to a 20th of the least time, so that there are enough windows to
    /// judge.
    pub nominal: Nanoseconds,
    /// Requests outstanding at once.
    pub slots: u64,
    /// Whether the variant's CPU time is known, so that rests are useful.
    pub rests: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WarmWindow {
    pub requests: u64,
    /// First sent to last done.
    pub time: Nanoseconds,
    /// Median response time; `None` without a good reply.
    pub p50: Option<Nanoseconds>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rest {
    pub time: Nanoseconds,
    pub cpu: Nanoseconds,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WarmHistory {
    pub windows: Vec<WarmWindow>,
    /// Each with the number of windows before it.
    pub rests: Vec<(usize, Rest)>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum WarmStep {
    Window(u64),
    Rest(Nanoseconds),
    End(Pace, WarmEnd),
}

impl WarmRule {
    /// The rule of variants that are warmed by the same windows, all of which last as long as the slowest needs: no warm-up
    /// takes longer than `share`, unless [`most`](Self::most) is more.
    pub fn within(self, share: Nanoseconds) -> Self {
        Self { longest: self.longest.min(share.max(self.most)), ..self }
    }

    /// A variant is warm after at least the least time and 20 windows, if over the last third of the windows'
    /// time its p50 is steady and it was idle in its rests. The p50 is steady if its change along the
    /// Theil–Sen line, extrapolated to half a second if that third is shorter, is below 1 %, or is below 10 %
    /// and no more than noise (Mann–Kendall p above 5 %); and if the change's 95 % interval lies within 10 %.
    /// A variant that is busy in a rest is left resting, so that its background work (compiling) gets a whole
    /// core.
    pub fn next(&self, history: &WarmHistory) -> WarmStep {
        let windows = &history.windows;
        let spent = history.spent();
        let end = history.end();
        let limit = match end {
            WarmEnd::Steady => self.least,
            // A handful of windows does not show whether it becomes faster.
            WarmEnd::Varying if windows.len() >= WARM_WINDOWS => self.most.max(self.least),
            _ => self.longest.max(self.most).max(self.least),
        };
        let may_rest = self.rests && spent < self.longest;
        if may_rest && history.wants_rest() {
            return WarmStep::Rest(REST);
        }
        let used = if end == WarmEnd::Steady { total_time(windows) } else { spent };
        if used >= limit {
            // Only a rest shows that nothing is compiled beside the requests.
            return match may_rest && end == WarmEnd::Steady && !history.has_rested_lately() {
                true => WarmStep::Rest(REST),
                false => WarmStep::End(pace(windows), end),
            };
        }
        WarmStep::Window(self.requests(windows.last()))
    }

    /// What is known of a variant whose warm-up ends for another reason than its own.
    pub fn assess(&self, history: &WarmHistory) -> (Pace, WarmEnd) {
        (pace(&history.windows), history.end())
    }

    /// As many requests as fill the wanted length at the last window's pace, at most four times as many as in
    /// that window.
    fn requests(&self, last: Option<&WarmWindow>) -> u64 {
        let Some(last) = last else { return self.slots.max(1) };
        let rate = PerSecond::from_count(last.requests, last.time).get();
        let length = self.nominal.min(self.least / WARM_WINDOWS as u64);
        let wanted = (rate * length.as_secs_f64()).round() as u64;
        wanted.clamp(1, last.requests.saturating_mul(GROWTH).max(1)).max(self.slots)
    }
}

impl Rest {
    fn is_busy(&self) -> bool {
        self.cpu.share_of(self.time).get() >= REST_BUSY
    }
}

impl WarmHistory {
    pub fn spent(&self) -> Nanoseconds {
        let rested: Nanoseconds = self.rests.iter().map(|(_, rest)| rest.time).sum();
        total_time(&self.windows) + rested
    }

    fn end(&self) -> WarmEnd {
        let works = self.works(self.windows.len() - recent(&self.windows).len());
        match settling(&self.windows) {
            WarmEnd::Steady if works => WarmEnd::Busy,
            _ if works => WarmEnd::Working,
            end => end,
        }
    }

    fn has_rested_lately(&self) -> bool {
        let from = self.windows.len() - recent(&self.windows).len();
        self.rests.last().is_some_and(|(before, _)| *before > from)
    }

    /// Whether the variant worked for more than a tenth of its rests from that window on, or in the last rest
    /// of all.
    fn works(&self, from: usize) -> bool {
        if self.rests.last().is_some_and(|(_, last)| last.is_busy()) {
            return true;
        }
        let rests = self.rests.iter().filter(|(before, _)| *before > from).map(|(_, rest)| rest);
        let (time, cpu) = rests.fold((Nanoseconds::ZERO, Nanoseconds::ZERO), |(time, cpu), rest| {
            (time + rest.time, cpu + rest.cpu)
        });
        time > Nanoseconds::ZERO && cpu.share_of(time).get() >= REST_BUSY
    }

    /// Whether a rest is due: a quarter of a second of windows after the last one, and again while the
    /// variant works in it, up to two seconds.
    fn wants_rest(&self) -> bool {
        let here = self.windows.len();
        let Some((before, last)) = self.rests.last() else { return total_time(&self.windows) >= REST_EVERY };
        if *before < here {
            return total_time(&self.windows[*before..]) >= REST_EVERY;
        }
        let row = self.rests.iter().rev().take_while(|(before, _)| *before == here);
        let rested: Nanoseconds = row.map(|(_, rest)| rest.time).sum();
        last.is_busy() && rested < REST_LONGEST
    }
}

fn total_time(windows: &[WarmWindow]) -> Nanoseconds {
    windows.iter().map(|window| window.time).sum()
}

/// The windows of the last third of their time, at least the last ten.
fn recent(windows: &[WarmWindow]) -> &[WarmWindow] {
    let whole = total_time(windows);
    let (mut from, mut time) = (windows.len(), Nanoseconds::ZERO);
    while from > 0 && (time * 3 < whole || windows.len() - from < WARM_WINDOWS / 2) {
        from -= 1;
        time += windows[from].time;
    }
    &windows[from..]
}

/// Whether at least 20 windows ran and the p50 is steady over the last third of their time.
pub fn is_warm(windows: &[WarmWindow]) -> bool {
    windows.len() >= WARM_WINDOWS && settling(windows) == WarmEnd::Steady
}

/// The trend of the p50 over the last third of the windows' time.
fn settling(windows: &[WarmWindow]) -> WarmEnd {
    let recent = recent(windows);
    let logs: Vec<f64> =
        recent.iter().filter_map(|w| w.p50).map(|p50| (p50.as_nanos().max(1) as f64).ln()).collect();
    let Some(drift) = drift(&logs) else { return WarmEnd::Varying };
    // Over a few milliseconds, even a server that becomes 10 % faster every second changes little.
    let extrapolation = (WARM_SPAN.as_secs_f64() / total_time(recent).as_secs_f64().max(1e-9)).max(1.0);
    let change = drift.change * extrapolation;
    let noise = drift.p > NOISE_P;
    // A handful of requests shows only noise: without bounds, the noisiest variant would be warm first.
    let steady = change.abs() < WARM_CHANGE || (noise && change.abs() < WARM_NOISE);
    let is_sure = drift.lower > -WARM_NOISE && drift.upper < WARM_NOISE;
    match steady && is_sure && windows.len() >= WARM_WINDOWS {
        true => WarmEnd::Steady,
        false if !noise && (change < 0.0 || drift.lower <= -WARM_NOISE) => WarmEnd::Faster,
        false => WarmEnd::Varying,
    }
}

fn pace(windows: &[WarmWindow]) -> Pace {
    let recent = recent(windows);
    Pace { requests: recent.iter().map(|window| window.requests).sum(), time: total_time(recent), busy: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: WarmRule = WarmRule {
        least: Nanoseconds::from_millis(500),
        most: Nanoseconds::from_secs(5),
        longest: Nanoseconds::from_secs(5),
        nominal: Nanoseconds::from_millis(20),
        slots: 1,
        rests: false,
    };

    /// Follows the rule against a server whose service time after n requests is `law(n)` nanoseconds.
    fn follow(rule: &WarmRule, law: impl Fn(u64) -> u64) -> (WarmStep, Vec<WarmWindow>) {
        let (end, history) = follow_with(rule, law, Nanoseconds::ZERO);
        (end, history.windows)
    }

    /// The same for a server that has `compile` to do after its first window. Rests reduce it, and until it
    /// is done, requests take twice as long.
    fn follow_with(
        rule: &WarmRule,
        law: impl Fn(u64) -> u64,
        mut backlog: Nanoseconds,
    ) -> (WarmStep, WarmHistory) {
        let (mut history, mut served) = (WarmHistory::default(), 0);
        loop {
            match rule.next(&history) {
                WarmStep::Window(requests) => {
                    let slower = if backlog > Nanoseconds::ZERO { 2 } else { 1 };
                    let each = Nanoseconds::from_nanos(law(served) * slower);
                    history.windows.push(WarmWindow { requests, time: each * requests, p50: Some(each) });
                    served += requests;
                }
                WarmStep::Rest(time) => {
                    let cpu = backlog.min(time);
                    backlog = backlog.saturating_sub(cpu);
                    history.rests.push((history.windows.len(), Rest { time, cpu }));
                }
                end @ WarmStep::End(..) => return (end, history),
            }
        }
    }

    fn is_steady(end: &WarmStep) -> bool {
        matches!(end, WarmStep::End(_, WarmEnd::Steady))
    }

    #[test]
    fn a_server_that_compiles_is_left_to_it_and_warm_once_it_is_idle() {
        let rule = WarmRule { rests: true, longest: Nanoseconds::from_secs(30), ..RULE };
        let (end, history) = follow_with(&rule, |_| 20_000, Nanoseconds::from_secs(5));
        assert!(is_steady(&end), "{end:?}");
        assert_eq!(
            history.windows.last().and_then(|window| window.p50),
            Some(Nanoseconds::from_nanos(20_000))
        );
        let spent = history.spent();
        assert!(spent > Nanoseconds::from_secs(5) && spent < Nanoseconds::from_secs(12), "{spent}");
    }

    #[test]
    fn a_server_that_is_idle_rests_a_twentieth_of_its_warm_up() {
        let rule = WarmRule { rests: true, ..RULE };
        let (end, history) = follow_with(&rule, |_| 20_000, Nanoseconds::ZERO);
        let rested: Nanoseconds = history.rests.iter().map(|(_, rest)| rest.time).sum();
        assert!(is_steady(&end) && !history.rests.is_empty());
        assert!(rested * 20 <= history.spent(), "{rested} of {}", history.spent());
    }

    #[test]
    fn a_server_that_never_stops_working_is_said_to_work_when_the_longest_time_is_over() {
        let rule = WarmRule { rests: true, longest: Nanoseconds::from_secs(10), ..RULE };
        let faster = |n: u64| (400_000.0 * 0.5_f64.powf(n as f64 / 10_000.0)) as u64;
        for (changes, expected) in [(false, WarmEnd::Busy), (true, WarmEnd::Working)] {
            let law = |n: u64| if changes { faster(n) } else { 20_000 };
            let (end, history) = follow_with(&rule, law, Nanoseconds::from_secs(100));
            assert!(matches!(end, WarmStep::End(_, end) if end == expected), "{end:?}");
            let spent = history.spent();
            assert!(spent >= rule.longest && spent < rule.longest + Nanoseconds::from_secs(1), "{spent}");
        }
    }

    /// Before 250 ms of windows no rest is due, and a compiler's work beside them would not be seen.
    #[test]
    fn a_short_warm_up_rests_before_it_is_over() {
        let rule = WarmRule {
            least: Nanoseconds::from_millis(100),
            rests: true,
            longest: Nanoseconds::from_secs(30),
            ..RULE
        };
        let (end, history) = follow_with(&rule, |_| 20_000, Nanoseconds::ZERO);
        assert!(is_steady(&end) && history.rests.len() == 1, "{:?}", history.rests);
        let (end, history) = follow_with(&rule, |_| 20_000, Nanoseconds::from_secs(5));
        let last = history.windows.last().and_then(|window| window.p50);
        assert!(is_steady(&end) && last == Some(Nanoseconds::from_nanos(20_000)), "{last:?}");
    }

    #[test]
    fn a_share_limits_the_longest_warm_up_but_not_below_the_most_for_one_that_varies() {
        let rule = WarmRule { longest: Nanoseconds::from_secs(60), ..RULE };
        let longest = |secs: u64| rule.within(Nanoseconds::from_secs(secs)).longest;
        assert_eq!(
            [1, 15, 90].map(longest),
            [RULE.most, Nanoseconds::from_secs(15), Nanoseconds::from_secs(60)]
        );
        // Of a server that becomes faster for 15 s.
        let rule = rule.within(Nanoseconds::from_secs(10));
        let (end, history) =
            follow(&rule, |n| (200_000.0 * 0.5_f64.powf(n as f64 / 60_000.0)).max(20_000.0) as u64);
        assert!(matches!(end, WarmStep::End(_, WarmEnd::Faster)), "{end:?}");
        let spent = total_time(&history);
        assert!(spent >= rule.longest && spent < rule.longest + Nanoseconds::from_secs(1), "{spent}");
    }

    #[test]
    fn requests_as_long_as_windows_are_not_said_to_become_shorter() {
        let rule = WarmRule { longest: Nanoseconds::from_secs(12), ..RULE };
        let (end, history) = follow(&rule, |_| 700_000_000);
        assert!(matches!(end, WarmStep::End(_, WarmEnd::Varying)), "{end:?}");
        assert!(total_time(&history) >= rule.longest);
    }

    #[test]
    fn who_becomes_faster_has_longer_than_who_only_varies() {
        let rule = WarmRule { longest: Nanoseconds::from_secs(40), ..RULE };
        let (end, history) =
            follow(&rule, |n| (200_000.0 * 0.5_f64.powf(n as f64 / 60_000.0)).max(20_000.0) as u64);
        assert!(is_steady(&end), "{end:?}");
        let spent = total_time(&history);
        assert!(spent > RULE.most && spent < rule.longest, "{spent}");
        // Slower by a fifth in each 10,000 requests.
        let (end, history) = follow(&rule, |n| 20_000 + n * 2 / 5);
        assert!(matches!(end, WarmStep::End(_, WarmEnd::Varying)), "{end:?}");
        assert!(total_time(&history) < RULE.most + Nanoseconds::from_secs(1));
    }

    #[test]
    fn windows_grow_from_one_request_to_the_nominal_length() {
        let (end, history) = follow(&RULE, |_| 20_000);
        let sizes: Vec<u64> = history.iter().take(7).map(|w| w.requests).collect();
        assert_eq!(sizes, [1, 4, 16, 64, 256, 1000, 1000]);
        let WarmStep::End(pace, WarmEnd::Steady) = end else { panic!("{end:?}") };
        assert_eq!(PerSecond::from_count(pace.requests, pace.time).get().round(), 50_000.0);
    }

    #[test]
    fn a_steady_server_is_warm_after_the_least_time() {
        let (end, history) = follow(&RULE, |_| 20_000);
        let spent: Nanoseconds = history.iter().map(|w| w.time).sum();
        assert!(is_steady(&end));
        assert!(spent >= RULE.least && spent <= RULE.least + RULE.nominal * 2, "{spent}");
    }

    /// Three windows of 2 s, as for a setting with a period, would take ten times a warm-up of half a second.
    #[test]
    fn long_windows_are_cut_so_that_a_steady_server_is_warm_in_time() {
        let (end, history) = follow(&WarmRule { nominal: Nanoseconds::from_secs(2), ..RULE }, |_| 20_000);
        let spent: Nanoseconds = history.iter().map(|w| w.time).sum();
        assert!(is_steady(&end) && history.len() >= WARM_WINDOWS, "{end:?}");
        assert!(spent < RULE.least * 2, "{spent}");
    }

    /// Method defect 7: figures were taken while the servers still became faster.
    #[test]
    fn defect_7_a_server_that_still_becomes_faster_is_not_called_warm() {
        // Halves its service time every 30,000 requests down to 20 µs: falling until request 100,000.
        let law = |n: u64| (200_000.0 * 0.5_f64.powf(n as f64 / 30_000.0)).max(20_000.0) as u64;
        let patient = WarmRule { longest: Nanoseconds::from_secs(60), ..RULE };
        let (end, history) = follow(&patient, law);
        let served: u64 = history.iter().map(|w| w.requests).sum();
        assert!(is_steady(&end) && served > 100_000, "{served}");
        let (end, _) = follow(&RULE, |n| (200_000.0 * 0.5_f64.powf(n as f64 / 60_000.0)) as u64);
        assert!(!is_steady(&end), "{end:?}");
    }

    #[test]
    fn a_short_warm_up_is_not_long_enough_to_hide_a_slow_one() {
        // 20 % in each 10,000 requests: half a per cent over the later half of 50 ms.
        let law = |n: u64| (400_000.0 * (1.0 - 0.2 * (n as f64 / 10_000.0).min(1.0))) as u64;
        let (least, most) = (Nanoseconds::from_millis(50), Nanoseconds::from_millis(500));
        let (end, _) = follow(&WarmRule { least, most, longest: most, ..RULE }, law);
        assert!(!is_steady(&end), "{end:?}");
    }

    #[test]
    fn noise_does_not_make_a_server_warm_that_has_hardly_been_asked() {
        // Up and down by a third from window to window, and 10 % faster in each 100 requests.
        let law = |n: u64| (400_000.0 * (1.0 - n as f64 / 1_000.0).max(0.25)) as u64 * (3 + n % 2) / 3;
        let (least, most) = (Nanoseconds::from_millis(20), Nanoseconds::from_millis(200));
        let (_, history) = follow(&WarmRule { least, most, longest: most, ..RULE }, law);
        assert!(history.iter().map(|w| w.requests).sum::<u64>() > 500);
    }

    #[test]
    fn a_server_without_a_good_reply_ends_with_the_time() {
        let window = WarmWindow { requests: 1000, time: Nanoseconds::from_millis(100), p50: None };
        let after = |count| RULE.next(&WarmHistory { windows: vec![window; count], rests: Vec::new() });
        assert!(matches!(after(49), WarmStep::Window(_)));
        assert!(matches!(after(50), WarmStep::End(_, WarmEnd::Varying)));
    }
}
