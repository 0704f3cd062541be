//! From an interval and a margin to a verdict, and Holm's correction over a table of verdicts.
//!
//! With [l, u] the interval of ratio − 1, or of a difference of shares, and m its margin: *no relevant difference* if −m ≤ l and u ≤ m (even
//! if 0 is outside, then "measurable"); else *higher* if l > 0; *lower* if u < 0; else *undecided*. Nothing
//! here changes a figure.

use weighbridge_model::estimate::{ContrastKind, Effect, Estimate, Quantity, Verdict};
use weighbridge_model::quantity::Ratio;
use weighbridge_model::summary::Cost;

use crate::estimate::Contrast;
use crate::question::{Point, Scope};
use crate::stats::interval::{Interval, Mean};
use crate::stats::multiple::{holm, p_against_zero, p_equivalence};
use crate::thresholds::{BLOCKS_FOR_INTERVAL, FAMILY_ERROR, LEVEL};

pub(crate) fn cost_without_verdict(
    point: &Point,
    scope: Scope,
    variant: &str,
    quantity: Quantity,
    headline: Quantity,
) -> Cost {
    Cost {
        point: point.label.clone(),
        variant: variant.to_owned(),
        operation: point.name(scope).to_owned(),
        quantity,
        unit: quantity.unit(),
        difference: None,
        ratio: None,
        verdict: Verdict::Withheld,
        effect: None,
        reason: None,
        p: None,
        headline: quantity == headline && scope.is_whole(),
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Conclusion {
    pub verdict: Verdict,
    /// Only with `higher` and `lower`.
    pub effect: Option<Effect>,
    /// What the verdict alone does not say.
    pub reason: Option<String>,
    /// For Holm's correction; `None` without an interval.
    pub p: Option<f64>,
}

/// The verdict on [`lower`, `upper`], bounds of ratio − 1 or of a plain difference.
pub fn verdict_from_interval(lower: f64, upper: f64, margin: f64) -> Verdict {
    if -margin <= lower && upper <= margin {
        Verdict::NoRelevantDifference
    } else if lower > 0.0 {
        Verdict::Higher
    } else if upper < 0.0 {
        Verdict::Lower
    } else {
        Verdict::Undecided
    }
}

/// min(two-sided p against 0, 2 × TOST p against the margins), on the scale of the contrast: ln(1−m) and ln(1+m) where
/// logarithms are compared, −m and m where differences are.
///
/// It is at most 0.05 exactly if the 95 % interval gives a verdict other than `undecided`.
pub fn p_value(mean: Mean, kind: ContrastKind, margin: Ratio) -> f64 {
    let margin = margin.get();
    let (below, above) = match kind {
        ContrastKind::Log => ((1.0 - margin).max(0.0).ln(), margin.ln_1p()),
        ContrastKind::Plain => (-margin, margin),
    };
    p_against_zero(mean).min(2.0 * p_equivalence(mean, below, above)).min(1.0)
}

pub fn effect(quantity: Quantity, verdict: Verdict) -> Option<Effect> {
    let opposite = |effect| match effect {
        Effect::Better => Effect::Worse,
        Effect::Worse => Effect::Better,
    };
    match verdict {
        Verdict::Higher => Some(quantity.higher_is()),
        Verdict::Lower => Some(opposite(quantity.higher_is())),
        _ => None,
    }
}

/// The conclusion before any correction.
pub fn conclude(contrast: &Contrast, quantity: Quantity, margin: Ratio) -> Conclusion {
    let Some(mean) = contrast.mean() else {
        let blocks = contrast.blocks().len();
        let reason = format!("{blocks} blocks; an interval needs {BLOCKS_FOR_INTERVAL}");
        return Conclusion { verdict: Verdict::Undecided, effect: None, reason: Some(reason), p: None };
    };
    conclude_from_mean(mean, quantity, margin)
}

pub fn conclude_from_mean(mean: Mean, quantity: Quantity, margin: Ratio) -> Conclusion {
    let (kind, interval) = (quantity.contrast(), mean.interval(LEVEL));
    let Interval { point, lower, upper } = match kind {
        ContrastKind::Log => interval.exp().minus_one(),
        ContrastKind::Plain => interval,
    };
    let verdict = verdict_from_interval(lower, upper, margin.get());
    let measurable = verdict == Verdict::NoRelevantDifference && (lower > 0.0 || upper < 0.0);
    let change = match kind {
        ContrastKind::Log => signed_percent(point),
        ContrastKind::Plain => signed_points(point),
    };
    Conclusion {
        verdict,
        effect: effect(quantity, verdict),
        reason: measurable.then(|| format!("measurable: {change}")),
        p: Some(p_value(mean, kind, margin)),
    }
}

/// A remark if the bootstrap-t interval of a ratio gives another verdict. The two differ with few or skewed
/// blocks; the verdict stays.
pub fn bootstrap_differs(ratio: &Estimate, margin: Ratio, verdict: Verdict) -> Option<String> {
    let bounds = ratio.bootstrap?;
    let (lower, upper) = (bounds.lower - 1.0, bounds.upper - 1.0);
    let other = verdict_from_interval(lower, upper, margin.get());
    (other != verdict).then(|| {
        let (lower, upper) = (signed_percent(lower), signed_percent(upper));
        format!("bootstrap-t [{lower}, {upper}] alone would say `{}`", other.name())
    })
}

pub(crate) fn append_reason(reason: &mut Option<String>, more: String) {
    *reason = Some(match reason.take() {
        Some(first) => format!("{first}; {more}"),
        None => more,
    });
}

/// `+1.0 %`; two decimals below 0.1 %.
pub(crate) fn signed_percent(change: f64) -> String {
    let percent = 100.0 * change;
    let text = if percent.abs() < 0.1 { format!("{percent:+.2} %") } else { format!("{percent:+.1} %") };
    if text == "-0.00 %" { "+0.00 %".to_owned() } else { text }
}

/// Why a conclusion does not stand: `significant alone, not after correcting for 36 comparisons`.
pub(crate) fn only_alone(what: &str, tests: usize) -> String {
    format!("{what} alone, not after correcting for {tests} comparisons")
}

/// A difference of shares in percentage points: `+1.0 pp`; two decimals below 0.1.
pub(crate) fn signed_points(difference: f64) -> String {
    signed_percent(difference).replace('%', "pp")
}

/// Holm's correction at 5 % over one table (the costs of one point): rows with an adjusted p above 5 % become
/// `undecided`, except headlines. Invalid and withheld rows test nothing and are left out.
pub fn correct(table: &mut [Cost]) {
    let tested: Vec<usize> = (0..table.len())
        .filter(|&at| !table[at].headline && table[at].p.is_some())
        .filter(|&at| !matches!(table[at].verdict, Verdict::Invalid | Verdict::Withheld))
        .collect();
    let p_values: Vec<f64> = tested.iter().filter_map(|&at| table[at].p).collect();
    for (&at, adjusted) in tested.iter().zip(holm(&p_values)) {
        let row = &mut table[at];
        if adjusted > FAMILY_ERROR && row.verdict != Verdict::Undecided {
            let is_within = row.verdict == Verdict::NoRelevantDifference;
            let alone = if is_within { "within the margin" } else { "significant" };
            row.reason = Some(only_alone(alone, tested.len()));
            row.verdict = Verdict::Undecided;
            row.effect = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::BlockEstimate;
    use weighbridge_model::estimate::Unit;

    const MARGIN: Ratio = Ratio::new(0.02);

    /// Six blocks whose ratios have exactly this interval: log-ratios at ±d about the middle.
    fn contrast(lower: f64, upper: f64) -> Contrast {
        let (low, high) = (lower.ln_1p(), upper.ln_1p());
        let middle = 0.5 * (low + high);
        // Three at +d, three at −d: s = d·√(6/5), half-width t·s/√6 = t·d/√5.
        let half = 0.5 * (high - low);
        let d = half * 5.0_f64.sqrt() / crate::stats::student::two_sided_quantile(0.95, 5.0);
        let block = |block: u32| BlockEstimate {
            block,
            compared: middle + if block.is_multiple_of(2) { d } else { -d },
            difference: 0.0,
        };
        Contrast::new((0..6).map(block).collect(), 6)
    }

    #[test]
    fn each_branch_of_the_rule_is_taken_where_the_rule_says() {
        use Verdict::{Higher, Lower, NoRelevantDifference, Undecided};
        for (lower, upper, verdict) in [
            (-0.01, 0.01, NoRelevantDifference),
            (-0.02, 0.02, NoRelevantDifference),
            (0.005, 0.015, NoRelevantDifference),
            (-0.015, -0.005, NoRelevantDifference),
            (0.005, 0.025, Higher),
            (0.30, 1.40, Higher),
            (-0.025, -0.005, Lower),
            (-0.9, -0.5, Lower),
            (-0.001, 0.021, Undecided),
            (-0.03, 0.01, Undecided),
            (0.0, 0.03, Undecided),
            (-0.03, 0.0, Undecided),
        ] {
            assert_eq!(verdict_from_interval(lower, upper, 0.02), verdict, "[{lower}, {upper}]");
        }
    }

    #[test]
    fn a_small_difference_that_is_seen_is_measurable_and_not_relevant() {
        let seen = conclude(&contrast(0.005, 0.015), Quantity::ResponseP50, MARGIN);
        assert_eq!(seen.verdict, Verdict::NoRelevantDifference);
        assert_eq!(seen.reason.as_deref(), Some("measurable: +1.0 %"));
        let unseen = conclude(&contrast(-0.005, 0.015), Quantity::ResponseP50, MARGIN);
        assert_eq!((unseen.verdict, unseen.reason), (Verdict::NoRelevantDifference, None));
    }

    #[test]
    fn news_is_good_or_bad_by_the_quantity() {
        for (quantity, lower, upper, wanted) in [
            (Quantity::ResponseP50, 0.05, 0.10, Some(Effect::Worse)),
            (Quantity::ResponseP50, -0.10, -0.05, Some(Effect::Better)),
            (Quantity::Throughput, 0.05, 0.10, Some(Effect::Better)),
            (Quantity::Throughput, -0.10, -0.05, Some(Effect::Worse)),
            (Quantity::CpuPerOperation, -0.01, 0.10, None),
        ] {
            assert_eq!(conclude(&contrast(lower, upper), quantity, MARGIN).effect, wanted);
        }
    }

    #[test]
    fn a_bootstrap_with_another_verdict_is_reported() {
        let ratio = |lower: f64, upper: f64| Estimate {
            bootstrap: Some(weighbridge_model::estimate::Bounds { lower: 1.0 + lower, upper: 1.0 + upper }),
            ..contrast(0.03, 0.10).ratio().unwrap()
        };
        assert_eq!(bootstrap_differs(&ratio(0.02, 0.11), MARGIN, Verdict::Higher), None);
        let remark = bootstrap_differs(&ratio(-0.001, 0.09), MARGIN, Verdict::Higher).unwrap();
        assert_eq!(remark, "bootstrap-t [-0.1 %, +9.0 %] alone would say `undecided`");
        assert_eq!(contrast(0.03, 0.10).ratio().unwrap().bootstrap, None, "six blocks are too few");
    }

    #[test]
    fn below_four_blocks_there_is_no_interval_and_no_verdict() {
        let blocks = contrast(0.05, 0.10).blocks()[..3].to_vec();
        let few = Contrast::new(blocks, 6);
        let conclusion = conclude(&few, Quantity::ResponseP50, MARGIN);
        assert_eq!((conclusion.verdict, conclusion.p), (Verdict::Undecided, None));
        assert_eq!(conclusion.reason.as_deref(), Some("3 blocks; an interval needs 4"));
        assert_eq!(few.ratio().unwrap().interval(), None);
    }

    #[test]
    fn p_is_at_most_five_percent_exactly_where_the_interval_decides() {
        for (lower, upper) in [
            (-0.0199, 0.0199),
            (-0.0201, 0.0199),
            (-0.0199, 0.0201),
            (0.0001, 0.5),
            (-0.0001, 0.5),
            (-0.5, -0.0001),
            (-0.5, 0.0001),
            (0.005, 0.015),
        ] {
            let conclusion = conclude(&contrast(lower, upper), Quantity::ResponseP50, MARGIN);
            let decided = conclusion.verdict != Verdict::Undecided;
            assert_eq!(conclusion.p.unwrap() <= 0.05, decided, "[{lower}, {upper}]: {conclusion:?}");
        }
    }

    fn row(p: Option<f64>, verdict: Verdict, headline: bool) -> Cost {
        Cost {
            point: Default::default(),
            variant: "b".to_owned(),
            operation: "all".to_owned(),
            quantity: Quantity::ResponseP90,
            unit: Unit::Ns,
            difference: None,
            ratio: None,
            verdict,
            effect: effect(Quantity::ResponseP90, verdict),
            reason: None,
            p,
            headline,
        }
    }

    #[test]
    fn holm_takes_verdicts_back_and_leaves_headlines_alone() {
        use Verdict::{Higher, Invalid, Lower, NoRelevantDifference, Undecided, Withheld};
        // The worked example of `stats::multiple`: of 0.01 0.04 0.03 0.005 only the first and the last
        // remain.
        let mut table = vec![
            row(Some(0.049), Higher, true),
            row(Some(0.01), Higher, false),
            row(Some(0.04), Lower, false),
            row(Some(0.03), NoRelevantDifference, false),
            row(Some(0.005), Lower, false),
            row(Some(0.9), Invalid, false),
            row(Some(0.9), Withheld, false),
            row(None, Undecided, false),
        ];
        correct(&mut table);
        let verdicts: Vec<_> = table.iter().map(|row| row.verdict).collect();
        assert_eq!(verdicts, [Higher, Higher, Undecided, Undecided, Lower, Invalid, Withheld, Undecided]);
        assert_eq!(table[2].effect, None);
        assert_eq!(
            table[2].reason.as_deref(),
            Some("significant alone, not after correcting for 4 comparisons")
        );
    }
}
