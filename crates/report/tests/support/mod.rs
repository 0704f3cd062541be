//! Synthetic results. They are built from the model's types, so a change of the types shows here.

#![allow(dead_code)] // each test file uses its own part

pub mod factorial;
pub mod layered;
pub mod pixels;
pub mod plot;

use serde_json::{Value, json};
use weighbridge_model::detail::{
    Axis, Course, Curve, Density, DotKind, RoleUse, Samples, Scale, Span, TimeKind,
};
use weighbridge_model::distribution::{Percentile, TimeBucket, TimeDistribution};
use weighbridge_model::estimate::{Effect, Estimate, Quantity, Validity, Verdict};
use weighbridge_model::id::PointLabel;
use weighbridge_model::legs::{LegTimes, StampSummary};
use weighbridge_model::pairing::Pairing;
use weighbridge_model::quantity::{Bytes, Nanoseconds, PerSecond, Ratio};
use weighbridge_model::record::{ErrorCounts, HandshakeKind, Traffic};
use weighbridge_model::reliability::{CalibrationQuote, Detectable, RunToRun, Share};
use weighbridge_model::summary::{
    BlockCounts, Cost, CpuRoles, Detail, Figure, Finding, Goal, PointPairing, SCHEMA_VERSION, Severity,
    Slots, Summary, VariantSummary,
};
use weighbridge_report::load::{
    Failure, Handshakes, LoadModel, LoadSummary, QUEUE_GREW, StatusCount, Times, withheld,
};
use weighbridge_report::{Format, HowToRepeat, Report, TextOptions, render};

const SIZES: [&str; 2] = ["64 B", "64 KiB"];

/// An estimate with a symmetric interval over 6 blocks.
pub fn estimate(point: f64, half_width: f64) -> Estimate {
    Estimate {
        point,
        lower: Some(point - half_width),
        upper: Some(point + half_width),
        level: 0.95,
        blocks: 6,
        bootstrap: None,
    }
}

pub fn point(size: &str) -> PointLabel {
    PointLabel::from([("workload.size".to_owned(), size.to_owned())])
}

/// Figures of the baseline at 64 B and the ratio of `go` to it.
const FIGURES: [(Quantity, f64, f64); 12] = [
    (Quantity::ResponseP50, 15_340.0, 1.209),
    (Quantity::ResponseP90, 19_870.0, 1.244),
    (Quantity::ResponseP99, 31_200.0, 2.31),
    (Quantity::ResponseMean, 16_480.0, 1.262),
    (Quantity::ServiceP50, 15_310.0, 1.208),
    (Quantity::ServiceP90, 19_840.0, 1.244),
    (Quantity::ServiceP99, 31_150.0, 2.312),
    (Quantity::ServiceMean, 16_450.0, 1.262),
    (Quantity::Throughput, 58_900.0, 0.792),
    (Quantity::CpuPerOperation, 11_900.0, 1.348),
    (Quantity::BytesPerOperation, 214.0, 1.0093),
    (Quantity::MemoryPeak, 4_404_019.0, 3.02),
];

/// The ratio at 64 KiB, where the payload matters more than the language.
fn near(ratio: f64) -> f64 {
    1.0 + (ratio - 1.0) * 0.06
}

/// Relative half-width of a ratio: smallest for the median, largest for the tail.
fn spread(quantity: Quantity) -> f64 {
    match quantity {
        Quantity::ResponseP50 | Quantity::ServiceP50 => 0.006,
        Quantity::ResponseP99 | Quantity::ServiceP99 => 0.11,
        Quantity::BytesPerOperation => 0.0004,
        _ => 0.021,
    }
}

fn cost(size: &str, quantity: Quantity, base: f64, ratio: f64) -> Cost {
    let half = ratio * spread(quantity);
    let (lower, upper) = (ratio - half - 1.0, ratio + half - 1.0);
    let (verdict, reason) = match () {
        () if lower >= -0.02 && upper <= 0.02 => {
            let measurable = (lower > 0.0).then(|| format!("measurable: {:+.1} %", (ratio - 1.0) * 100.0));
            (Verdict::NoRelevantDifference, measurable)
        }
        () if lower > 0.0 => (Verdict::Higher, None),
        () if upper < 0.0 => (Verdict::Lower, None),
        () => (Verdict::Undecided, None),
    };
    let worse = match verdict {
        Verdict::Higher => Some(quantity.higher_is() == Effect::Worse),
        Verdict::Lower => Some(quantity.higher_is() == Effect::Better),
        _ => None,
    };
    Cost {
        point: point(size),
        variant: "go".into(),
        operation: "pong".into(),
        quantity,
        unit: quantity.unit(),
        difference: Some(estimate(base * (ratio - 1.0), base * half)),
        ratio: Some(estimate(ratio, half)),
        verdict,
        effect: worse.map(|worse| if worse { Effect::Worse } else { Effect::Better }),
        reason,
        p: Some(0.0004),
        headline: quantity == Quantity::ResponseP50,
    }
}

fn variant(name: &str, size: &str, scale: f64) -> VariantSummary {
    let large = if size == "64 KiB" { 2.4 } else { 1.0 };
    let figures = FIGURES.map(|(quantity, base, ratio)| {
        let at = if quantity == Quantity::Throughput { base / large } else { base * large };
        let ratio = if large > 1.0 { near(ratio) } else { ratio };
        let value = at * if name == "rust" { 1.0 } else { ratio * scale };
        Figure {
            operation: "pong".into(),
            quantity,
            unit: quantity.unit(),
            estimate: Some(estimate(value, value * 0.008)),
            reason: None,
        }
    });
    let versions = [("rust", "Rust 1.95.0 hyper 1.7.0"), ("go", "Go 1.26.8 net/http 1.26.8")];
    let runtime: &[_] =
        if name == "go" { &[("cores", "1"), ("gc", "Copy"), ("heap_bytes", "268435456")] } else { &[] };
    VariantSummary {
        name: name.into(),
        point: point(size),
        baseline: name == "rust",
        validity: Validity::Valid,
        reasons: Vec::new(),
        requests: if name == "rust" { 1_204_332 } else { 1_204_332 - 4 },
        errors: 0,
        errors_by_kind: ErrorCounts::default(),
        other_windows: Default::default(),
        samples: None,
        connects: 0,
        not_sent: 0,
        resent: 0,
        windows: 1_830,
        blocks: 6,
        batches: Vec::new(),
        version: versions.iter().find(|(of, _)| *of == name).map(|(_, version)| (*version).to_owned()),
        runtime: runtime.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
        slots: (name == "go").then_some(Slots { connections: 1, in_flight: 4, pipelined: false }),
        relay: None,
        figures: figures.into(),
        traffic: Traffic {
            sent: Bytes::new(84_303_240),
            received: Bytes::new(173_423_808),
            segments_out: 1_204_390,
            segments_in: 1_204_402,
            retransmits: if name == "rust" { 0 } else { 3 },
            payload_sent: Bytes::new(0),
            payload_received: Bytes::new(77_069_312),
        },
        kernel_timestamps: None,
    }
}

/// The part of a result at its first point.
pub fn at_one_point(mut summary: Summary) -> Summary {
    let here = summary.variants[0].point.clone();
    summary.variants.retain(|variant| variant.point == here);
    summary.costs.retain(|cost| cost.point == here);
    summary.pairings.truncate(1);
    summary.conditions.truncate(1);
    summary
}

/// Two variants at two points, without findings.
pub fn valid() -> Summary {
    let costs = SIZES.iter().flat_map(|size| {
        let large = *size == "64 KiB";
        FIGURES.map(|(quantity, base, ratio)| {
            let at = if large && quantity != Quantity::Throughput { base * 2.4 } else { base };
            let near = if large { near(ratio) } else { ratio };
            cost(size, quantity, at, near)
        })
    });
    Summary {
        schema: SCHEMA_VERSION,
        title: "What does a reply of Go cost against one of Rust?".into(),
        run: "2026-11-21T10-15-00-languages".into(),
        started: "2026-11-21T10:15:00Z".into(),
        took: Nanoseconds::from_millis(142_300),
        quick: false,
        validity: Validity::Valid,
        headline: Quantity::ResponseP50,
        margin: Ratio::new(0.02),
        share_margin: None,
        blocks: BlockCounts { used: 6, void: 0, min: 6, max: 30 },
        goal: Some(Goal { until: Ratio::new(0.01), half_width: Some(Ratio::new(0.0073)), reached: true }),
        conditions: SIZES
            .map(|size| format!("pingpong of {size} over http1-json, closed load, 4 connections"))
            .into(),
        pairings: SIZES
            .iter()
            .map(|size| PointPairing { point: point(size), pairing: Pairing::Windows })
            .collect(),
        costs: costs.collect(),
        variants: SIZES
            .iter()
            .flat_map(|size| [variant("rust", size, 1.0), variant("go", size, 1.0)])
            .collect(),
        findings: Vec::new(),
        cpu_roles: Some(CpuRoles {
            span: Nanoseconds::from_secs(240),
            busy: estimate(1.612, 0.012),
            generator: estimate(0.981, 0.004),
            beside_generator: estimate(0.631, 0.011),
            service: estimate(0.588, 0.009),
            unattributed: estimate(0.043, 0.008),
            resolution: 0.00125,
        }),
        spread: Vec::new(),
        over_size: Default::default(),
        tags: Default::default(),
        relays: Vec::new(),
        carried: Vec::new(),
        roles: Vec::new(),
        tables: Vec::new(),
        layering: Default::default(),
        factorials: Vec::new(),
        capacities: Vec::new(),
        common_rates: Vec::new(),
        idle: None,
        unavailable: Vec::new(),
        calibration: Some(quote()),
    }
}

fn quote() -> CalibrationQuote {
    CalibrationQuote {
        experiment: "built-in probe".into(),
        started: "2026-11-20T08:00:00Z".into(),
        age: Nanoseconds::from_secs(94_500),
        headline: Quantity::ResponseP50,
        false_alarms: Some(Share {
            hits: 1,
            of: 29,
            point: 1.0 / 29.0,
            lower: 0.0009,
            upper: 0.1776,
            level: 0.95,
        }),
        detectable: Some(Detectable {
            measured: Nanoseconds::from_secs(60),
            blocks: 6,
            change: Ratio::new(0.0066),
        }),
        position: Some(Estimate {
            point: 0.9998,
            lower: Some(0.9991),
            upper: Some(1.0005),
            level: 0.95,
            blocks: 29,
            bootstrap: None,
        }),
        run_to_run: Some(RunToRun {
            quantity: Quantity::ResponseP50,
            deviation: Ratio::new(0.061),
            lower: Ratio::new(0.049),
            upper: Ratio::new(0.082),
            level: 0.95,
            runs: 43,
        }),
        changed: vec![
            "the machine was started again".into(),
            "governor was performance, is powersave".into(),
        ],
    }
}

/// [`valid`] with everything that can go wrong: failures, an invalid variant, quantiles withheld, findings, a
/// variant that is missing.
pub fn troubled() -> Summary {
    let mut summary = valid();
    summary.quick = true;
    summary.validity = Validity::Invalid;
    summary.blocks.void = 1;
    summary.goal =
        Some(Goal { until: Ratio::new(0.005), half_width: Some(Ratio::new(0.0073)), reached: false });
    for cost in &mut summary.costs {
        let small = cost.point == point("64 B");
        if small && matches!(cost.quantity, Quantity::ResponseP99 | Quantity::ServiceP99) {
            let why = "76 requests lie beyond p99, 100 are needed";
            void(cost, Verdict::Withheld, why);
        } else if !small && cost.quantity.is_response() {
            void(cost, Verdict::Invalid, "generator lag p99 of 312 µs is above 100 µs");
        }
    }
    let go = &mut summary.variants[3];
    go.validity = Validity::Invalid;
    go.reasons = vec!["generator lag p99 of 312 µs is above 100 µs".into()];
    go.errors_by_kind = ErrorCounts { status: 10, timeout: 2, ..ErrorCounts::default() };
    go.errors = go.errors_by_kind.total();
    summary.variants[1].validity = Validity::Suspect;
    summary.variants[1].reasons = vec!["loop delay p50 is 23 % of service p50".into()];
    for (index, quantity) in [(0, Quantity::ResponseP99), (1, Quantity::ResponseP99)] {
        let figures = &mut summary.variants[index].figures;
        let figure = figures.iter_mut().find(|figure| figure.quantity == quantity).unwrap();
        figure.estimate = None;
        figure.reason = Some("12 of 20 requests needed beyond it in a block".into());
    }
    summary.findings = findings();
    summary.unavailable =
        vec![("scala".into(), "no `mvn` was found; install maven or set `services.scala.build`".into())];
    summary
}

fn void(cost: &mut Cost, verdict: Verdict, reason: &str) {
    cost.difference = None;
    cost.ratio = None;
    cost.p = None;
    cost.effect = None;
    cost.verdict = verdict;
    cost.reason = Some(reason.to_owned());
}

fn findings() -> Vec<Finding> {
    let finding = |severity, name: &str, subject: &str, evidence: &str, remedy: &str| Finding {
        severity,
        name: name.into(),
        subject: subject.into(),
        evidence: evidence.into(),
        remedy: remedy.into(),
    };
    vec![
        finding(
            Severity::Problem,
            "generator late",
            "go, 64 KiB",
            "requests were sent 312 µs late at p99; the service was not the cause",
            "lower the rate, or give the client a core of its own",
        ),
        finding(
            Severity::Warning,
            "carry-over",
            "go, 64 B",
            "windows after rust are 0.8 % ± 0.3 % faster than windows after go",
            "lengthen the lead-in: `plan.lead_in = \"5 ms\"`",
        ),
        finding(
            Severity::Note,
            "one service core",
            "",
            "the host has two cores: costs are CPU costs, no parallelism",
            "",
        ),
    ]
}

/// Pseudo-random numbers from 0 to 1, by a linear congruential generator of Numerical Recipes, which is good
/// enough for a chart.
pub fn noise(seed: u32) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(state >> 8) / f64::from(1 << 24)
    }
}

/// The data of all charts of [`valid`].
pub fn detail() -> Detail {
    let mut detail = Detail {
        axes: vec![Axis {
            key: "workload.size".into(),
            scale: Scale::Bytes,
            values: vec![("64 B".into(), 64.0), ("64 KiB".into(), 65_536.0)],
        }],
        ..Detail::default()
    };
    for size in SIZES {
        let large = if size == "64 KiB" { 2.4 } else { 1.0 };
        for (name, factor, seed) in [("rust", 1.0, 7), ("go", 1.209, 11)] {
            let factor = if large > 1.0 { near(factor) } else { factor };
            let base = 15_340.0 * large * factor;
            let tail = if name == "go" { 3.65 } else { 1.1 };
            add_times(&mut detail, (name, size), base, tail);
            add_windows(&mut detail, (name, size), base, seed);
            let role = |role: &str, cpu: f64, memory: Option<f64>| RoleUse {
                variant: name.into(),
                point: point(size),
                role: role.into(),
                cpu_per_operation: Some(estimate(cpu, cpu * 0.021)),
                memory_peak: memory.map(|bytes| estimate(bytes, bytes * 0.008)),
            };
            let own = 11_900.0 * large * factor * factor;
            detail.roles.push(role("service", own, Some(4_404_019.0 * factor.powi(5))));
            detail.roles.push(role("generator", 3_150.0 * large.sqrt(), None));
        }
    }
    detail
}

/// A curve and a density of each time: log-normal but for a tail that grows with depth.
pub fn add_times(detail: &mut Detail, (name, size): (&str, &str), base: f64, tail: f64) {
    for (time, shift) in [(TimeKind::Response, 1.0), (TimeKind::Service, 0.985)] {
        let points = curve(base * shift, tail);
        let wide = |(q, time): &(f64, f64)| (1.0 - 0.004 - 0.05 * q.powi(60), *time);
        let band =
            points.iter().map(wide).map(|(share, time)| (time * share, time * (2.0 - share))).collect();
        let (variant, operation) = (name.to_owned(), "pong".to_owned());
        detail.curves.push(Curve { variant, point: point(size), operation, time, points, band });
        let lowest = if size == "64 KiB" { 2.0 } else { 0.83 };
        let bell = |at: u32| {
            let from = 15_340.0 * lowest;
            let away = f64::from(at) + 0.5 - (base / from).ln() / 1.011_f64.ln();
            let away = away / if away < 0.0 { 4.0 } else { 5.0 + tail };
            if away.abs() < 3.3 { (-0.5 * away * away).exp() } else { 0.0 }
        };
        let sum: f64 = (0..90).map(bell).sum();
        detail.densities.push(Density {
            variant: name.to_owned(),
            point: point(size),
            operation: "pong".to_owned(),
            time,
            from_ns: 15_340.0 * shift * lowest,
            step: 1.011,
            shares: (0..90).map(|at| 0.998 * bell(at) / sum).collect(),
        });
    }
}

fn curve(median: f64, tail: f64) -> Vec<(f64, f64)> {
    let at = |n: u32| 1.0 - 10f64.powf(-f64::from(n) / 20.0);
    let time = |q: f64| median * (0.9 + 0.33 * q.powi(3) + tail * 0.08 * (1.0 / (1.0 - q)).log10().powf(3.2));
    (0..=90).map(at).map(|q| (q, time(q).round())).collect()
}

/// Windows of six blocks: a course, and a dot for each.
pub fn add_windows(detail: &mut Detail, (name, size): (&str, &str), base: f64, seed: u32) {
    let mut noise = noise(seed + size.len() as u32);
    let (mut spans, mut dots) = (Vec::new(), Vec::new());
    for block in 0..6u32 {
        let level = base * (1.0 + 0.012 * (noise() - 0.5));
        let at = |round: u32| {
            f64::from(block) * 23.0 + f64::from(round) * 0.31 + if name == "go" { 0.02 } else { 0.0 }
        };
        for round in 0..60u32 {
            let stall = if noise() > 0.985 { 0.09 } else { 0.0 };
            dots.push((at(round), level * (1.0 + stall + 0.02 * (noise() - 0.5))));
        }
        for span in 0..6 {
            let middle = level * (1.0 + 0.004 * (noise() - 0.5));
            let time = |share: f64| Nanoseconds::from_nanos((middle * share) as u64);
            spans.push(Span {
                block,
                from: Nanoseconds::from_secs_f64(at(span * 10)),
                to: Nanoseconds::from_secs_f64(at(span * 10 + 9)),
                windows: 10,
                lower: time(0.994),
                median: time(1.0),
                upper: time(1.007),
            });
        }
    }
    detail.courses.push(Course { variant: name.into(), point: point(size), spans });
    detail.samples.push(Samples {
        variant: name.into(),
        point: point(size),
        operation: "pong".into(),
        kind: DotKind::Window,
        at_ns: dots.iter().map(|(at, _)| (at * 1e9) as u64).collect(),
        time_ns: dots.iter().map(|(_, time)| *time as u64).collect(),
    });
}

pub fn environment() -> Value {
    json!({
        "cpu": {"model": "Example CPU at 2.5 GHz", "cores": 2, "governor": null, "smt": false},
        "kernel": "6.18.0", "clock_source": "tsc",
        "memory": "24 GiB",
        "network": {"mtu": 65536, "congestion_control": "cubic", "buffers": [4096, 131072, 6291456]},
        "services": [
            {"name": "rust", "version": "Rust 1.95.0 hyper 1.7.0", "sha256": "5f70bf18a086007016e948b04aed3b82"},
            {"name": "go", "version": "Go 1.26.8 net/http 1.26.8", "sha256": "9c56cc51b374c3ba189210d5b6d4bf57"}
        ],
        "tool": {"version": "0.1.0", "git": "75e4d96"}
    })
}

/// A result in a format, with [`detail`] and [`environment`].
pub fn made(summary: &Summary, format: Format, options: &TextOptions<'_>) -> String {
    let (detail, environment, how) = (detail(), environment(), how());
    let report = Report { summary, detail: &detail, environment: &environment, how: &how, gates: &[] };
    render(format, &report, options)
}

pub fn how() -> HowToRepeat {
    HowToRepeat {
        command: "weigh run suites/languages/pingpong.toml --seed 1".into(),
        folder: "runs/2026-11-21T10-15-00-languages".into(),
        seed: 1,
        experiment_toml:
            "title = \"What does a reply of Go cost against one of Rust?\"\n\n[workload]\nname = \
                          \"pingpong\"\n\n[load]\nmodel = \"closed\"\nconnections = 4\n\n[matrix]\nservice = \
                          [\"rust\", \"go\"]\nworkload.size = [\"64 B\", \"64 KiB\"]\n"
                .into(),
    }
}

/// A hostile name: markup, quotes, entities, escape sequences, a reversal of the line.
pub const HOSTILE: &str = "<script>alert('1')</script>\"&\x1b[31m\u{202e}|`@all\r\n](x)<img src=x onerror=y>";

/// [`troubled`] with every foreign text hostile.
pub fn hostile() -> (Summary, Detail, Value, HowToRepeat) {
    let text = || HOSTILE.to_owned();
    let label = || PointLabel::from([(text(), text())]);
    let mut summary = troubled();
    (summary.title, summary.run, summary.started) = (text(), text(), text());
    summary.conditions = vec![text(), text(), text()];
    for cost in &mut summary.costs {
        (cost.variant, cost.operation, cost.point) = (text(), text(), label());
        cost.reason = Some(text());
    }
    for variant in &mut summary.variants {
        (variant.name, variant.point, variant.version) = (text(), label(), Some(text()));
        variant.reasons = vec![text()];
        for figure in &mut variant.figures {
            (figure.operation, figure.reason) = (text(), Some(text()));
        }
    }
    for finding in &mut summary.findings {
        (finding.name, finding.subject) = (text(), text());
        (finding.evidence, finding.remedy) = (text(), text());
    }
    summary.unavailable = vec![(text(), text())];
    let sizes = plot::sizes();
    summary.over_size = sizes.summary.over_size;
    for cliff in &mut summary.over_size.cliffs {
        (cliff.variant, cliff.point, cliff.operation) = (text(), label(), text());
        cliff.cause = Some(text());
    }
    for advice in &mut summary.over_size.advice {
        (advice.point, advice.operation) = (label(), text());
        advice.ranges.iter_mut().flat_map(|range| &mut range.best).for_each(|name| *name = text());
    }
    summary.over_size.guides.iter_mut().for_each(|guide| guide.name = text());
    let mut detail = detail();
    detail.size_curves = sizes.detail.size_curves;
    for curve in &mut detail.size_curves {
        (curve.variant, curve.point, curve.operation) = (text(), label(), text());
    }
    for curve in &mut detail.curves {
        (curve.variant, curve.point, curve.operation) = (text(), label(), text());
    }
    for density in &mut detail.densities {
        (density.variant, density.point, density.operation) = (text(), label(), text());
    }
    for course in &mut detail.courses {
        (course.variant, course.point) = (text(), label());
    }
    for samples in &mut detail.samples {
        (samples.variant, samples.point, samples.operation) = (text(), label(), text());
    }
    for role in &mut detail.roles {
        (role.variant, role.point, role.role) = (text(), label(), text());
    }
    detail.axes = vec![Axis { key: text(), scale: Scale::Count, values: vec![(text(), 1.0)] }];
    let how = HowToRepeat { command: text(), folder: text(), seed: 1, experiment_toml: text() };
    (summary, detail, json!({ HOSTILE: { "list": [HOSTILE], "objects": [{ HOSTILE: HOSTILE }] } }), how)
}

/// One URL that was asked for more than it answers.
pub fn load_overloaded() -> LoadSummary {
    let names = ["mean", "p50", "p90", "p99", "p99.9", "max"];
    let rate = |per_second: f64| PerSecond::new(per_second).unwrap();
    LoadSummary {
        requests: 25_000,
        good: 10_000,
        not_sent: 15_000,
        errors: 0,
        errors_by_kind: ErrorCounts::default(),
        failures: Vec::new(),
        failures_unlisted: 0,
        load: LoadModel::Open {
            rate: rate(12_500.0),
            arrivals: "poisson".into(),
            profile: None,
            offered: rate(12_500.0),
        },
        response: Times {
            withheld: names.map(|name| (name.to_owned(), QUEUE_GREW.to_owned())).into(),
            ..Times::default()
        },
        validity: Validity::Invalid,
        reasons: vec!["the server kept up with 4984/s of 12.5k/s; the queue grew until the end".into()],
        ..load()
    }
}

/// One URL, some of whose replies failed, with a tail too short for p99.9.
pub fn load() -> LoadSummary {
    let micros = |n: f64| Some(Nanoseconds::from_nanos((n * 1e3) as u64));
    let times = |shift: f64| Times {
        p50: micros(270.0 + shift),
        p90: micros(412.0 + shift),
        p99: micros(1_310.0 + shift),
        p99_9: None,
        mean: micros(301.0 + shift),
        max: micros(8_120.0 + shift),
        withheld: [("p99.9".to_owned(), withheld(9))].into(),
    };
    LoadSummary {
        schema: LoadSummary::SCHEMA,
        url: "http://127.0.0.1:8080/person/1".into(),
        requests: 10_000,
        good: 9_988,
        errors: 12,
        errors_by_kind: ErrorCounts { status: 12, ..ErrorCounts::default() },
        failures: vec![
            Failure { text: "503 Service Unavailable".into(), count: 9 },
            Failure { text: "429 Too Many Requests".into(), count: 2 },
        ],
        failures_unlisted: 1,
        not_sent: 0,
        resent: 0,
        took: Nanoseconds::from_millis(2_004),
        connections: 16,
        threads: 1,
        idle: Default::default(),
        wait: "brief",
        connects: 17,
        handshakes: vec![
            Handshakes {
                kind: HandshakeKind::Full,
                count: 16,
                mean: Nanoseconds::from_micros(1_310),
                max: Nanoseconds::from_micros(2_904),
            },
            Handshakes {
                kind: HandshakeKind::Resumed,
                count: 1_017,
                mean: Nanoseconds::from_micros(412),
                max: Nanoseconds::from_micros(1_205),
            },
        ],
        load: LoadModel::Open {
            rate: PerSecond::new(5_000.0).unwrap(),
            arrivals: "poisson".into(),
            profile: None,
            offered: PerSecond::new(4_990.0).unwrap(),
        },
        think: None,
        churn: None,
        latency: None,
        statuses: Vec::new(),
        operations: Vec::new(),
        messages: Vec::new(),
        throughput: PerSecond::new(4_984.0).unwrap(),
        response: times(0.0),
        service: times(-3.0),
        sent: Bytes::new(790_000),
        received: Bytes::new(2_140_000),
        kernel_timestamps: Some(stamps()),
        lag_p99: Some(Nanoseconds::from_nanos(4_200)),
        validity: Validity::Valid,
        reasons: Vec::new(),
        findings: vec![plateau()],
    }
}

fn plateau() -> Finding {
    Finding {
        severity: Severity::Note,
        name: "delayed acknowledgement".into(),
        subject: String::new(),
        evidence: "97 % of 9,988 replies paused for 40 ms (38.0 ms to 48.0 ms) between two of their parts"
            .into(),
        remedy: "let the service set TCP_NODELAY".into(),
    }
}

/// Legs of a load, too few of them for a p99 of the last.
pub fn stamps() -> StampSummary {
    let micros = |n: f64| Nanoseconds::from_nanos((n * 1e3) as u64);
    let leg = |n: f64| LegTimes {
        mean: micros(n * 1.1),
        p50: Some(micros(n)),
        p90: Some(micros(n * 1.5)),
        p99: Some(micros(n * 4.0)),
    };
    StampSummary {
        requests: 9_986,
        unmatched: 2,
        unavailable: None,
        clock_error: Nanoseconds::from_nanos(75),
        round_trip: Some(Nanoseconds::from_micros(31)),
        client_send: Some(leg(6.2)),
        outside: Some(leg(241.0)),
        server_at_most: Some(leg(210.0)),
        client_receive: Some(LegTimes { p99: None, ..leg(19.5) }),
    }
}

/// [`load`] in closed load without failures.
fn latency() -> TimeDistribution {
    let micros = |n: f64| Nanoseconds::from_nanos((n * 1e3) as u64);
    let quantiles = [(0.5, 270.0), (0.75, 301.0), (0.9, 412.0), (0.95, 702.0), (0.99, 1_310.0)];
    let counts = [(100.0, 200.0, 31), (200.0, 500.0, 9_200), (500.0, 1_000.0, 0), (1_000.0, 2_000.0, 769)];
    TimeDistribution {
        percentiles: quantiles.map(|(quantile, time)| Percentile { quantile, time: micros(time) }).into(),
        histogram: counts
            .map(|(above, to, count)| TimeBucket { above: micros(above), to: micros(to), count })
            .into(),
    }
}

pub fn load_valid() -> LoadSummary {
    LoadSummary {
        good: 10_000,
        errors: 0,
        errors_by_kind: ErrorCounts::default(),
        failures: Vec::new(),
        failures_unlisted: 0,
        connects: 16,
        handshakes: Vec::new(),
        findings: Vec::new(),
        kernel_timestamps: None,
        load: LoadModel::Closed,
        latency: Some(latency()),
        statuses: vec![StatusCount { status: "2xx".into(), count: load().requests }],
        throughput: PerSecond::new(52_345.0).unwrap(),
        ..load()
    }
}

/// A load whose mean and p90 the generator could have moved.
pub fn load_late() -> LoadSummary {
    let mut summary = LoadSummary { latency: None, statuses: Vec::new(), ..load_valid() };
    let late = [[935, 142], [3_640, 1_940]].map(|[at_most, late]| {
        weighbridge_report::load::sent_late(Nanoseconds::from_micros(at_most), Nanoseconds::from_micros(late))
    });
    (summary.response.mean, summary.response.p90) = (None, None);
    summary.response.withheld.extend(["mean", "p90"].map(str::to_owned).into_iter().zip(late));
    summary
}

/// Compares `made` with the golden file of that name; with `UPDATE_GOLDEN` it writes the file.
pub fn golden(name: &str, made: &str) {
    let path = std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, made).unwrap();
        return;
    }
    let kept = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}; set UPDATE_GOLDEN=1 to write it", path.display()));
    let differs = kept.lines().zip(made.lines()).position(|(kept, made)| kept != made);
    assert!(
        kept == made,
        "`{name}` differs (first line that does: {differs:?}); if that is meant, set UPDATE_GOLDEN=1"
    );
}
