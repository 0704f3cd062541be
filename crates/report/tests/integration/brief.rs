//! What a terminal shows by default: few lines, and no interval that speaks against the verdict beside it.

use weighbridge_model::estimate::{Effect, Estimate, Quantity, Verdict};
use weighbridge_model::gate::{Gate, GateKind, GateResult};
use weighbridge_model::summary::{Cost, Finding, Severity, Summary};
use weighbridge_report::{DEFAULT_COLUMNS, Format, Report, TextOptions, headline_sentences, render};

use crate::support::{self, golden, made};

const MARGIN: f64 = 0.02;
/// What stands beside a verdict that the interval alone does not give.
const CORRECTED: &str = "alone, not after correcting for";

fn brief(summary: &Summary) -> String {
    let place = Some("runs/2026-11-21T10-15-00-languages");
    made(summary, Format::Text, &TextOptions { place, ..TextOptions::default() })
}

/// [`support::troubled`] at one point, with the findings of an ordinary run on two cores.
fn with_findings() -> Summary {
    let mut summary = support::at_one_point(support::troubled());
    let note = |name: &str, evidence: &str| {
        Finding {
        severity: Severity::Note,
        name: name.into(),
        subject: "go".into(),
        evidence: evidence.into(),
        remedy: "the first is what a lightly loaded machine shows, the second what the software costs; `idle` says".into(),
    }
    };
    let sleeps = "response p50 against the baseline: with cores that sleep between requests -15.3 %; kept awake +67.4 %";
    summary.findings.extend([
        note("depends on idle cores", sleeps),
        note("few tail events", "response mean: on average 3.5 windows of a block cause much of the spread"),
        note("two levels of starts", "the cost is near 64.6 % in 3 starts and near 70.2 % in 3"),
        note("spread", "most of it is between starts"),
    ]);
    summary
}

#[test]
fn two_variants_at_one_point_fill_one_screen() {
    for (name, summary) in
        [("brief", support::at_one_point(support::valid())), ("brief-troubled", with_findings())]
    {
        let text = brief(&summary);
        golden(&format!("{name}.txt"), &text);
        assert!(text.lines().count() <= 24, "{} lines:\n{text}", text.lines().count());
        for line in text.lines() {
            assert!(line.chars().count() <= DEFAULT_COLUMNS, "{line}");
        }
        assert!(text.ends_with("run: runs/2026-11-21T10-15-00-languages\n"), "{text}");
    }
}

#[test]
fn each_gate_is_told_with_its_figure_and_a_mark_in_every_format_for_people() {
    let result = |text: &str, passed, figure: &str| GateResult {
        gate: Gate::parse(GateKind::Require, text).unwrap(),
        passed,
        figure: figure.to_owned(),
    };
    let gates = [
        result("p95 <= 5 ms", true, "response p95 of go: 3.20 ms [3.10 ms, 3.30 ms], at most 5 ms"),
        result("p50 <= +2 %", false, "response p50 of <go>: +20.90 % [+20.20 %, +21.60 %], at most +2 %"),
    ];
    let summary = support::at_one_point(support::valid());
    let (detail, environment, how) = (support::detail(), support::environment(), support::how());
    let report =
        Report { summary: &summary, detail: &detail, environment: &environment, how: &how, gates: &gates };
    let made = |format| render(format, &report, &TextOptions::default());
    let text = made(Format::Text);
    assert!(text.contains("\nresponse p95 of go: 3.20 ms [3.10 ms, 3.30 ms], at most 5 ms ✓\n"), "{text}");
    assert!(
        text.contains("\nresponse p50 of <go>: +20.90 % [+20.20 %, +21.60 %], at most +2 % ✗\n"),
        "{text}"
    );
    assert!(text.lines().count() <= 24, "{text}");
    let markdown = made(Format::Markdown);
    assert!(markdown.contains("\n- ✓ response p95 of go: 3.20 ms"), "{markdown}");
    assert!(markdown.contains("\n- ✗ response p50 of ") && !markdown.contains("<go>"), "{markdown}");
    let page = made(Format::Html);
    assert!(page.contains("<li class=\"better\">✓ response p95 of go: 3.20\u{a0}ms"));
    assert!(page.contains("<li class=\"problem\">✗ response p50 of &lt;go&gt;: +20.90\u{a0}%"));
}

#[test]
fn service_times_are_shown_only_where_they_differ() {
    let mut summary = support::at_one_point(support::valid());
    assert!(!brief(&summary).contains("service p50"));
    let service = summary.costs.iter_mut().find(|cost| cost.quantity == Quantity::ServiceP50).unwrap();
    service.verdict = Verdict::Undecided;
    service.effect = None;
    service.ratio = Some(support::estimate(1.01, 0.03));
    assert!(brief(&summary).contains("\n  service p50 "), "{}", brief(&summary));
}

#[test]
fn what_is_not_shown_is_named_with_the_reason() {
    let mut summary = support::at_one_point(support::valid());
    for cost in &mut summary.costs {
        let reason = match cost.quantity {
            Quantity::ResponseP99 => {
                "needs about 2,000 requests in each block, fewer than 400 were answered; more"
            }
            Quantity::CpuPerOperation | Quantity::MemoryPeak => "not started by weigh; use `service`",
            _ => continue,
        };
        (cost.difference, cost.ratio, cost.p, cost.effect) = (None, None, None, None);
        (cost.verdict, cost.reason) = (Verdict::Withheld, Some(reason.into()));
    }
    let words = brief(&summary).split_whitespace().collect::<Vec<_>>().join(" ");
    let wanted = "not shown: response p99: needs about 2,000 requests in each block, fewer than 400 were answered; \
                  CPU/op, memory peak: not started by weigh `--details`: all quantities";
    assert!(words.contains(wanted), "{words}");
}

/// What a line says of an effect.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Said {
    Differs,
    Within,
    Undecided,
}

fn said(line: &str) -> Option<Said> {
    let has = |words: &[&str]| words.iter().any(|word| line.contains(word));
    match () {
        () if has(&["no relevant difference"]) => Some(Said::Within),
        () if has(&["undecided"]) => Some(Said::Undecided),
        () if has(&["higher (", "lower (", " than with ", "| higher", "| lower", "**higher", "**lower"]) => {
            Some(Said::Differs)
        }
        () => None,
    }
}

/// An interval of a change as printed: its bounds less what no change would be, and half of its last digit.
#[derive(Debug)]
struct Printed {
    lower: f64,
    upper: f64,
    digit: f64,
}

fn intervals(line: &str) -> Vec<Printed> {
    let line = line.replace("\\[", "[").replace("\\]", "]");
    let unchanged = if line.contains('×') { 1.0 } else { 0.0 };
    let inside = line.split('[').skip(1).filter_map(|rest| rest.split_once(']')).map(|(inside, _)| inside);
    let parsed = inside.filter_map(|inside| {
        let (lower, upper) = inside.split_once(", ")?;
        // An absolute figure has no sign, and says nothing of a change.
        (unchanged > 0.0 || lower.starts_with(['+', '-', '0'])).then_some(())?;
        let digit = lower.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        let [lower, upper] = [lower, upper].map(|bound| bound.replace(',', "").parse::<f64>().ok());
        let digit = 0.5 * 10f64.powi(-i32::try_from(digit).ok()?);
        Some(Printed { lower: lower? - unchanged, upper: upper? - unchanged, digit })
    });
    parsed.collect()
}

/// Asserts that no interval in `text` speaks against the verdict beside it. Returns how many were looked at.
#[track_caller]
fn check(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().flat_map(|line| line.split("; ")).collect();
    let mut count = 0;
    for (at, line) in lines.iter().enumerate() {
        let Some(said) = said(line) else { continue };
        let intervals = intervals(line);
        // Whether layers add up is told by differences, with a margin in the unit of their quantity.
        if line.contains("interaction in ") || line.contains("(the interval holds 0") || intervals.is_empty()
        {
            continue;
        }
        let [interval] = &intervals[..] else { panic!("several intervals beside a verdict: {line}") };
        let holds_no_change = interval.lower <= 0.0 && interval.upper >= 0.0;
        let most = 100.0 * MARGIN + interval.digit;
        match said {
            Said::Differs => assert!(!holds_no_change, "{line}"),
            Said::Within => assert!(-most <= interval.lower && interval.upper <= most, "{line}"),
            Said::Undecided if holds_no_change => {}
            Said::Undecided => assert!(lines[at..].iter().any(|line| line.contains(CORRECTED)), "{line}"),
        }
        count += 1;
    }
    count
}

#[test]
fn no_interval_of_a_golden_file_speaks_against_its_verdict() {
    let folder = format!("{}/testdata", env!("CARGO_MANIFEST_DIR"));
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "txt" || ending == "md") {
            count += check(&std::fs::read_to_string(&path).unwrap());
        }
    }
    assert!(count > 100, "{count} verdicts with an interval were looked at");
}

/// A cost whose log ratio is `middle` ± `half`, by the rule of verdicts.
fn cost(quantity: Quantity, [middle, half]: [f64; 2], corrected: bool) -> Cost {
    let [lower, point, upper] = [middle - half, middle, middle + half].map(f64::exp);
    let verdict = match (lower - 1.0, upper - 1.0) {
        (lower, upper) if -MARGIN <= lower && upper <= MARGIN => Verdict::NoRelevantDifference,
        (lower, _) if lower > 0.0 => Verdict::Higher,
        (_, upper) if upper < 0.0 => Verdict::Lower,
        _ => Verdict::Undecided,
    };
    let is_taken_back = corrected && verdict != Verdict::Undecided;
    let ratio = Estimate { lower: Some(lower), upper: Some(upper), ..support::estimate(point, 0.0) };
    // Of the difference, the interval is another one: it holds 0.
    let difference = support::estimate(159_000.0, 268_000.0);
    let opposite = if quantity.higher_is() == Effect::Better { Effect::Worse } else { Effect::Better };
    Cost {
        quantity,
        unit: quantity.unit(),
        ratio: Some(ratio),
        difference: Some(difference),
        verdict: if is_taken_back { Verdict::Undecided } else { verdict },
        effect: match verdict {
            _ if is_taken_back => None,
            Verdict::Higher => Some(quantity.higher_is()),
            Verdict::Lower => Some(opposite),
            _ => None,
        },
        reason: is_taken_back.then(|| format!("significant {CORRECTED} 36 comparisons")),
        ..support::valid().costs[0].clone()
    }
}

#[test]
fn no_interval_of_any_contrast_speaks_against_its_verdict() {
    let mut summary = support::at_one_point(support::valid());
    let mut random = support::noise(25);
    let options =
        [false, true].map(|details| TextOptions { columns: 400, details, ..TextOptions::default() });
    let mut counts = [0; 4];
    for round in 0..400 {
        for (at, cost_of_it) in summary.costs.iter_mut().enumerate() {
            // Effects and widths of all magnitudes; some bounds next to no change, or to the margin.
            let half = 10f64.powf(-5.0 + 5.5 * random());
            let sign = if random() < 0.5 { -1.0 } else { 1.0 };
            let middle = match (random() * 4.0) as u32 {
                0 => sign * 10f64.powf(-5.0 + 6.0 * random()),
                1 => sign * half * (1.0 + 1e-4 * (random() - 0.5)),
                2 => sign * MARGIN.ln_1p() - half + 1e-5 * (random() - 0.5),
                _ => 0.0,
            };
            let is_headline = at == 0;
            let corrected = !is_headline && random() < 0.2;
            let made = cost(cost_of_it.quantity, [middle, half], corrected);
            *cost_of_it = Cost { headline: is_headline, ..made };
        }
        counts[0] += check(&made(&summary, Format::Text, &options[0]));
        counts[1] += check(&made(&summary, Format::Text, &options[1]));
        counts[2] += check(&made(&summary, Format::Markdown, &options[1]));
        counts[3] += check(&headline_sentences(&summary).join("\n"));
        assert!(counts[3] == round + 1, "the headline has an interval");
    }
    assert!(counts[0] > 400 * 6 && counts[1] > 400 * 12 && counts[2] > 400 * 12, "{counts:?}");
}
