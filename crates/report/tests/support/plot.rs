//! Synthetic runs for charts, one for each difficulty. They are built from the model's types, so a change of
//! the types shows here.

use weighbridge_model::capacity::{CapacityFound, CapacityOutcome};
use weighbridge_model::detail::{
    Axis, Capacity, CapacityStep, Density, Detail, DotKind, Kept, Level, RoleUse, Samples, Scale, TimeKind,
    Waterfall,
};
use weighbridge_model::estimate::{ContrastKind, Effect, Estimate, Quantity, Unit, Validity, Verdict};
use weighbridge_model::id::PointLabel;
use weighbridge_model::quantity::{Bytes, Ratio};
use weighbridge_model::sizes::{
    Bounded, CliffChange, OverSize, SizeAdvice, SizeCliff, SizeCurve, SizeGuide, SizeQuantile, SizeRange,
    SizeRatio, SizeRatios, SizeSamples, SizeTime,
};
use weighbridge_model::summary::{Cost, Figure, Relay, SampleCounts, Summary, VariantSummary};

use super::{add_times, add_windows, detail, estimate, noise, troubled, valid};

/// A run by the name of its golden files.
pub struct Case {
    pub name: &'static str,
    pub summary: Summary,
    pub detail: Detail,
}

/// Three languages asking each other.
pub fn pairs() -> Case {
    let mut summary = empty("Which half of a pair makes it slow?");
    let laws = [("rust", 1.0), ("node", 1.9), ("python", 2.86)];
    for (service, asking) in laws {
        for (peer, answering) in laws {
            let name = format!("{service}/{peer}");
            let base = |quantity: Quantity, _: &str| base_of(quantity);
            let ratio = |_: Quantity, _: &str| 0.7 * asking + 0.3 * answering;
            fill(&mut summary, (&name, &PointLabel::new()), &["pong"], &base, &ratio);
            let last = summary.variants.last_mut().expect("just filled");
            last.relay = Some(Relay { service: service.into(), peer: peer.into() });
        }
    }
    Case { name: "pairs", summary, detail: Detail::default() }
}

/// Three variants over message sizes: one with a step, one with a bend, one worse for small messages and
/// better for large ones; with advice, cliffs and guides as the judge gives them.
pub fn sizes() -> Case {
    let mut summary = empty("Which language for which size?");
    let mut detail = Detail::default();
    let laws: [(&str, &dyn Fn(f64) -> f64); 3] = [
        ("rust", &|size| 30_000.0 + 0.9 * size + if size > 87_380.0 { 60_000.0 } else { 0.0 }),
        ("java", &|size| 52_000.0 + 0.4 * size),
        ("ruby", &|size| 240_000.0 + 1.6 * size + 3.0 * (size - 131_072.0).max(0.0)),
    ];
    let places: Vec<u64> = (0..60).map(|at| (4.0 * 1.22_f64.powi(at)).round() as u64).collect();
    for (place, (name, law)) in laws.iter().enumerate() {
        let base = |quantity: Quantity, _: &str| base_of(quantity);
        let ratio = |_: Quantity, _: &str| law(8_192.0) / laws[0].1(8_192.0);
        fill(&mut summary, (name, &PointLabel::new()), &["pong"], &base, &ratio);
        for time in [SizeTime::Response, SizeTime::Service] {
            let waited = if time == SizeTime::Response { 4_000.0 } else { 0.0 };
            let median = |size: u64| law(size as f64) + waited;
            detail.size_curves.push(SizeCurve {
                variant: (*name).into(),
                point: PointLabel::new(),
                operation: "pong".into(),
                time,
                requests: 1_200,
                size_bytes: places.clone(),
                quantiles: [(0.05, 0.8), (0.25, 0.92), (0.5, 1.0), (0.75, 1.12), (0.95, 1.5)]
                    .map(|(quantile, factor)| SizeQuantile {
                        quantile,
                        time_ns: places.iter().map(|size| Some(factor * median(*size))).collect(),
                    })
                    .into(),
                median_interval_ns: places
                    .iter()
                    .map(|size| Some((0.97 * median(*size), 1.03 * median(*size))))
                    .collect(),
                ratio: match place {
                    0 => Vec::new(),
                    _ => places
                        .iter()
                        .map(|size| over_size(law(*size as f64), laws[0].1(*size as f64)))
                        .collect(),
                },
            });
            let sizes: Vec<u64> = (0..400).map(|at| (4.0 * 1.0299_f64.powi(at)) as u64).collect();
            let mut noise = noise(977 * (place as u32 + 1));
            let times = sizes.iter().map(|size| (median(*size) * (0.85 + 0.4 * noise())) as u64).collect();
            detail.size_samples.push(SizeSamples {
                variant: (*name).into(),
                point: PointLabel::new(),
                operation: "pong".into(),
                time,
                time_ns: times,
                size_bytes: sizes,
                failed: 0,
            });
        }
    }
    detail.size_ratios.push(SizeRatios {
        variant: "ruby".into(),
        reference: "java".into(),
        point: PointLabel::new(),
        operation: "pong".into(),
        time: SizeTime::Service,
        ratio: places
            .iter()
            .map(|size| over_size(laws[2].1(*size as f64), laws[1].1(*size as f64)))
            .collect(),
    });
    summary.over_size = said_of_sizes();
    Case { name: "sizes", summary, detail }
}

fn over_size(time: f64, reference: f64) -> Option<SizeRatio> {
    let point = time / reference;
    Some(SizeRatio { point, interval: Some((point / 1.04, point * 1.04)) })
}

fn said_of_sizes() -> OverSize {
    let bounded = |lower, point, upper| Bounded { point, lower, upper };
    let cliff = SizeCliff {
        variant: "rust".into(),
        point: PointLabel::new(),
        operation: "pong".into(),
        change: CliffChange::Level,
        place_bytes: bounded(87_102.0, 87_380.0, 87_700.0),
        period_bytes: None,
        height: bounded(57e3, 60e3, 63e3),
        before: 108_642.0,
        cause: None,
    };
    let bend = SizeCliff {
        variant: "ruby".into(),
        change: CliffChange::Slope,
        place_bytes: bounded(128_000.0, 131_000.0, 134_100.0),
        height: bounded(2.8, 3.0, 3.2),
        before: 1.6,
        cause: Some("initial receive buffer (tcp_rmem), 131072 B, lies in the interval".into()),
        ..cliff.clone()
    };
    let range = |from_bytes, to_bytes, best: &[&str], lead| SizeRange {
        from_bytes,
        to_bytes,
        best: best.iter().map(|name| (*name).into()).collect(),
        few_blocks: Vec::new(),
        lead,
    };
    let guide = |name: &str, bytes| SizeGuide { name: name.into(), bytes: Bytes::new(bytes) };
    OverSize {
        cliffs: vec![cliff, bend],
        judged: Vec::new(),
        advice: vec![SizeAdvice {
            point: PointLabel::new(),
            operation: "pong".into(),
            ranges: vec![
                range(4, 38_000, &["rust"], Some(0.06)),
                range(38_000, 52_000, &["rust", "java"], Some(2.1)),
                range(52_000, 502_000, &["java"], Some(0.31)),
            ],
        }],
        guides: vec![
            guide("initial send buffer (tcp_wmem)", 16_384),
            guide("segment (loopback's MTU less heads)", 65_484),
            guide("initial receive window (half of tcp_rmem)", 65_536),
            guide("initial receive buffer (tcp_rmem)", 131_072),
        ],
    }
}

pub fn cases() -> Vec<Case> {
    vec![
        Case { name: "pair", summary: valid(), detail: detail() },
        Case { name: "troubled", summary: troubled(), detail: detail() },
        crowd(),
        trade(),
        matrix(),
        capacity(),
        layers(),
        dots(500),
        sizes(),
        pairs(),
        Case { name: "bare", summary: bare(), detail: Detail::default() },
    ]
}

/// What a variant's figures are, relative to the baseline's.
type Law<'a> = dyn Fn(Quantity, &str) -> f64 + 'a;

/// Figures and costs of several variants and operations at one point, made of the baseline's and a law.
fn fill(
    summary: &mut Summary,
    (name, point): (&str, &PointLabel),
    operations: &[&str],
    base: &dyn Fn(Quantity, &str) -> f64,
    law: &Law<'_>,
) {
    let baseline = summary.variants.iter().find(|v| v.point == *point).is_none();
    let mut figures = Vec::new();
    for operation in operations {
        for quantity in Quantity::ALL.into_iter().filter(|quantity| !is_of_some(*quantity)) {
            let whole_only = matches!(
                quantity,
                Quantity::CpuPerOperation | Quantity::BytesPerOperation | Quantity::MemoryPeak
            );
            if whole_only && *operation != operations[0] {
                continue;
            }
            let (from, ratio) = (base(quantity, operation), law(quantity, operation));
            let half = if quantity.name().ends_with("p99") { 0.05 } else { 0.008 };
            let (unit, operation) = (quantity.unit(), (*operation).to_owned());
            figures.push(Figure {
                operation: operation.clone(),
                quantity,
                unit,
                estimate: Some(estimate(from * ratio, from * ratio * half)),
                reason: None,
            });
            if !baseline {
                let cost = Cost {
                    operation,
                    point: point.clone(),
                    variant: name.into(),
                    ..cost(quantity, from, ratio, half)
                };
                summary.costs.push(Cost {
                    headline: cost.operation == operations[0] && quantity == summary.headline,
                    ..cost
                });
            }
        }
    }
    let like = valid().variants.remove(0);
    summary.variants.push(VariantSummary {
        name: name.into(),
        point: point.clone(),
        baseline,
        validity: Validity::Valid,
        figures,
        samples: Some(SampleCounts { kept: 120_000, left_out: 1_084_332 }),
        ..like
    });
}

fn cost(quantity: Quantity, base: f64, ratio: f64, half: f64) -> Cost {
    let ratio_half = ratio * half * 1.2;
    let (lower, upper) = (ratio - ratio_half - 1.0, ratio + ratio_half - 1.0);
    let verdict = match () {
        () if lower >= -0.02 && upper <= 0.02 => Verdict::NoRelevantDifference,
        () if lower > 0.0 => Verdict::Higher,
        () if upper < 0.0 => Verdict::Lower,
        () => Verdict::Undecided,
    };
    let effect = match verdict {
        Verdict::Higher => Some(quantity.higher_is()),
        Verdict::Lower if quantity.higher_is() == Effect::Worse => Some(Effect::Better),
        Verdict::Lower => Some(Effect::Worse),
        _ => None,
    };
    Cost {
        point: PointLabel::new(),
        variant: String::new(),
        operation: String::new(),
        quantity,
        unit: quantity.unit(),
        difference: Some(estimate(base * (ratio - 1.0), base * ratio_half)),
        ratio: Some(estimate(ratio, ratio_half)),
        verdict,
        effect,
        reason: None,
        p: Some(0.001),
        headline: false,
    }
}

fn base_of(quantity: Quantity) -> f64 {
    match quantity {
        Quantity::ResponseP50 | Quantity::ServiceP50 => 212_000.0,
        Quantity::ResponseP90 | Quantity::ServiceP90 => 305_000.0,
        Quantity::ResponseP95 => 402_000.0,
        Quantity::ResponseP99 | Quantity::ServiceP99 => 812_000.0,
        Quantity::ResponseMean | Quantity::ServiceMean => 238_000.0,
        Quantity::Throughput => 18_400.0,
        Quantity::CpuPerOperation => 171_000.0,
        Quantity::BytesPerOperation => 1_482.0,
        Quantity::PayloadBytesPerOperation => 1_204.0,
        Quantity::WireBytesPerOperation => 1_620.0,
        Quantity::SegmentsPerOperation => 2.0,
        Quantity::MemoryPeak => 41_000_000.0,
        Quantity::Capacity => 14_900.0,
        Quantity::RestoreTime => 2_300_000.0,
        Quantity::ActionThroughput => 10_400.0,
        share => unreachable!("{share} is not drawn"),
    }
}

/// Whether not every run has a quantity.
fn is_of_some(quantity: Quantity) -> bool {
    let of_some = [
        Quantity::WireBytesPerOperation,
        Quantity::SegmentsPerOperation,
        Quantity::Capacity,
        Quantity::ActionThroughput,
        Quantity::RestoreTime,
    ];
    of_some.contains(&quantity) || quantity.contrast() == ContrastKind::Plain
}

fn empty(title: &str) -> Summary {
    Summary { title: title.into(), costs: Vec::new(), variants: Vec::new(), ..valid() }
}

/// Twelve variants with long names over a factor of fifty, five operations besides all of them together.
pub fn crowd() -> Case {
    let names = [
        "rust-hyper-http1-json",
        "rust-tonic-grpc",
        "go-net-http-http1-json",
        "go-grpc",
        "java-httpserver-virtual-threads-http1-json",
        "java-netty-grpc-with-epoll-transport",
        "node-fastify-http1-json",
        "node-grpc-js",
        "python-uvicorn-uvloop-httptools-http1-json",
        "python-grpcio",
        "ruby-puma-http1-json-behind-sidecar:envoy",
        "dart-io-http1-json",
    ];
    let operations = [
        "all",
        "getPerson",
        "listPersons",
        "putPerson",
        "deletePerson",
        "searchPersonsByLastNameAndFirstName",
    ];
    let mut summary = empty("What does the stack cost?");
    let mut detail = Detail::default();
    let point = PointLabel::new();
    for (place, name) in names.iter().enumerate() {
        let factor = 1.42_f64.powi(place as i32);
        let weight = |operation: &str| {
            0.55 + 0.3 * operations.iter().position(|o| *o == operation).unwrap_or(0) as f64
        };
        let base = |quantity: Quantity, operation: &str| match quantity {
            Quantity::Throughput if operation != "all" => base_of(quantity) / 5.0,
            Quantity::Throughput
            | Quantity::CpuPerOperation
            | Quantity::BytesPerOperation
            | Quantity::MemoryPeak => base_of(quantity),
            _ => base_of(quantity) * weight(operation),
        };
        let law = |quantity: Quantity, operation: &str| match quantity {
            _ if place == 0 => 1.0,
            Quantity::Throughput => 1.0 / factor,
            Quantity::BytesPerOperation => {
                if name.contains("grpc") {
                    0.41
                } else {
                    1.003
                }
            }
            Quantity::MemoryPeak => factor.sqrt() * 1.7,
            _ => factor * (0.9 + 0.1 * weight(operation)),
        };
        fill(&mut summary, (name, &point), &operations, &base, &law);
        let base = 116_000.0 * factor;
        add_bare_times(&mut detail, name, base, 0.7 + 0.1 * place as f64, 20.0 * factor);
        add_windows(&mut detail, (name, ""), base, 3 + place as u32);
        add_roles(&mut detail, name, 171_000.0 * factor, 41e6 * (factor.sqrt() * 1.7));
    }
    detail.courses.iter_mut().for_each(|course| course.point.clear());
    for samples in &mut detail.samples {
        samples.point.clear();
        samples.operation = "all".into();
    }
    Case { name: "crowd", summary, detail }
}

/// Three variants and four operations, one of whose figures is withheld.
pub fn trade() -> Case {
    let mut summary = empty("What does a remote trade cost?");
    let operations = ["all", "buy", "sell", "portfolio", "quote"];
    let names = ["direct", "rust", "soap"];
    for (place, name) in names.iter().enumerate() {
        let weight = |operation: &str| {
            0.4 + 0.35 * operations.iter().position(|o| *o == operation).unwrap_or(0) as f64
        };
        let base = |quantity: Quantity, operation: &str| match quantity {
            Quantity::Throughput if operation != "all" => base_of(quantity) / 4.0,
            Quantity::Throughput
            | Quantity::CpuPerOperation
            | Quantity::BytesPerOperation
            | Quantity::MemoryPeak => base_of(quantity),
            _ => base_of(quantity) * weight(operation),
        };
        let law = |quantity: Quantity, operation: &str| match (place, quantity) {
            (0, _) => 1.0,
            (1, Quantity::Throughput) => 0.93,
            (1, _) => 1.0 + 0.11 * weight(operation),
            (_, Quantity::Throughput) => 0.41,
            (_, _) => 1.6 + 0.6 * weight(operation),
        };
        fill(&mut summary, (name, &PointLabel::new()), &operations, &base, &law);
    }
    let figures = summary.variants[1].figures.iter_mut();
    for figure in figures.filter(|figure| figure.operation == "quote" && figure.quantity == summary.headline)
    {
        figure.estimate = None;
        figure.reason = Some("12 of 20 requests needed beyond it in a block".into());
    }
    for cost in &mut summary.costs {
        if cost.operation == "quote" && cost.variant == "rust" && cost.quantity == summary.headline {
            super::void(cost, Verdict::Withheld, "12 of 20 requests needed beyond it in a block");
        }
    }
    Case { name: "trade", summary, detail: Detail::default() }
}

fn add_bare_times(detail: &mut Detail, name: &str, base: f64, tail: f64, spread: f64) {
    let mut own = Detail::default();
    add_times(&mut own, (name, ""), base, tail);
    own.curves.iter_mut().for_each(|curve| {
        curve.point.clear();
        curve.operation = "all".into();
    });
    // Bins shared by all variants, over three decades.
    let bell = |at: usize| {
        let away = (at as f64 + 0.5 - (base / 5_000.0).ln() / 1.065_f64.ln() - 2.0)
            / if spread > 100.0 { 9.0 } else { 5.0 };
        if away.abs() < 3.3 { (-0.5 * away * away).exp() } else { 0.0 }
    };
    let sum: f64 = (0..160).map(bell).sum();
    detail.densities.extend(TimeKind::ALL.map(|time| Density {
        variant: name.into(),
        point: PointLabel::new(),
        operation: "all".into(),
        time,
        from_ns: 5_000.0,
        step: 1.065,
        shares: (0..160).map(|at| 0.998 * bell(at) / sum).collect(),
    }));
    detail.curves.append(&mut own.curves);
}

fn add_roles(detail: &mut Detail, name: &str, cpu: f64, memory: f64) {
    let use_of = |role: &str, cpu: f64, memory: Option<f64>| RoleUse {
        variant: name.into(),
        point: PointLabel::new(),
        role: role.into(),
        cpu_per_operation: Some(estimate(cpu, cpu * 0.02)),
        memory_peak: memory.map(|bytes| estimate(bytes, bytes * 0.01)),
    };
    detail.roles.push(use_of("service", cpu, Some(memory)));
    if name.contains("sidecar") {
        detail.roles.push(use_of("sidecar", cpu * 0.4, Some(62e6)));
    }
    detail.roles.push(use_of("generator", 9_200.0, None));
}

/// Three variants over five sizes and three numbers of connections.
pub fn matrix() -> Case {
    let sizes: [(&str, f64); 5] = [
        ("64 B", 64.0),
        ("1 KiB", 1024.0),
        ("16 KiB", 16_384.0),
        ("256 KiB", 262_144.0),
        ("4 MiB", 4_194_304.0),
    ];
    let connections: [(&str, f64); 3] = [("1", 1.0), ("4", 4.0), ("16", 16.0)];
    let mut summary = empty("Does the protocol matter more than the size?");
    for (count, many) in connections {
        for (size, bytes) in sizes {
            let point = PointLabel::from([
                ("load.connections".into(), count.into()),
                ("workload.size".into(), size.into()),
            ]);
            let base = |quantity: Quantity, _: &str| {
                base_of(quantity) * (0.4 + bytes / 90_000.0) * (0.7 + 0.3 * many)
            };
            let share = 1.0 / (1.0 + bytes / 30_000.0);
            for (name, extra) in [("http1-json", 0.0), ("grpc", -0.32), ("soap", 1.4)] {
                let law = |quantity: Quantity, _: &str| match quantity {
                    Quantity::Throughput => 1.0 / (1.0 + extra * share),
                    _ => 1.0 + extra * share + if many > 10.0 { 0.04 * extra } else { 0.0 },
                };
                fill(&mut summary, (name, &point), &["pong"], &base, &law);
            }
        }
    }
    // One cell withheld, one undecided.
    let cells: Vec<usize> = (0..summary.costs.len()).filter(|at| summary.costs[*at].headline).collect();
    super::void(
        &mut summary.costs[cells[5]],
        Verdict::Withheld,
        "76 requests lie beyond p99, 100 are needed",
    );
    summary.costs[cells[9]].verdict = Verdict::Undecided;
    summary.costs[cells[9]].effect = None;
    let axis = |key: &str, scale, values: &[(&str, f64)]| Axis {
        key: key.into(),
        scale,
        values: values.iter().map(|(text, number)| ((*text).to_owned(), *number)).collect(),
    };
    let axes = vec![
        axis("load.connections", Scale::Count, &connections),
        axis("workload.size", Scale::Bytes, &sizes),
    ];
    Case { name: "matrix", summary, detail: Detail { axes, ..Detail::default() } }
}

/// Two variants whose times rise near their capacity.
pub fn capacity() -> Case {
    let mut summary = empty("How much can each take below 1 ms at p99?");
    let mut capacities = Vec::new();
    for (name, most) in [("rust", 52_300.0), ("go", 40_100.0)] {
        let law = |quantity: Quantity, _: &str| match quantity {
            Quantity::Throughput => most / 52_300.0,
            _ => 52_300.0 / most,
        };
        fill(&mut summary, (name, &PointLabel::new()), &["pong"], &|quantity, _| base_of(quantity), &law);
        let steps = (1..=13).map(|n| {
            let offered = 5_000.0 * f64::from(n) * most / 52_300.0;
            let load = offered / (most * 1.21);
            let time = 190_000.0 / (1.0 - load.min(0.986)).powf(0.95);
            let kept = match time {
                t if t > 1.1e6 => Kept::No,
                t if t > 0.9e6 => Kept::Undecided,
                _ => Kept::Yes,
            };
            let is_cut = load > 1.02;
            CapacityStep {
                offered_per_s: offered,
                answered_per_s: offered.min(most * 1.21),
                figure: (!is_cut).then(|| estimate(time, time * (0.02 + 0.12 * load.powi(6)))),
                kept,
            }
        });
        capacities.push(Capacity {
            found: CapacityFound {
                variant: name.into(),
                point: PointLabel::new(),
                objective: "p99 < 1 ms".into(),
                highest: Some(estimate(most, most * 0.012)),
                limited_by: Some("p99 < 1 ms".into()),
                outcome: CapacityOutcome::Estimated,
            },
            measure: "p99".into(),
            unit: Unit::Ns,
            limit: 1e6,
            steps: steps.collect(),
        });
    }
    Case { name: "capacity", summary, detail: Detail { capacities, ..Detail::default() } }
}

/// Layers from a bare connection to an overlay with a sidecar; one of them saves time.
pub fn layers() -> Case {
    let mut summary = empty("What does each layer cost?");
    let steps: [(&str, f64); 6] = [
        ("veth", 3_900.0),
        ("container", 450.0),
        ("vxlan", 8_140.0),
        ("wireguard", 14_600.0),
        ("sidecar:envoy", 61_300.0),
        ("delay relay off", -2_300.0),
    ];
    let bare = 31_200.0;
    let all: f64 = bare + steps.iter().map(|step| step.1).sum::<f64>();
    for (name, ratio) in [("bare", 1.0), ("all layers", all / bare)] {
        fill(&mut summary, (name, &PointLabel::new()), &["pong"], &|_, _| bare, &|_, _| ratio);
    }
    let level =
        |name: &str, value: f64, half: f64| Level { name: name.into(), estimate: estimate(value, half) };
    let waterfall = Waterfall {
        point: PointLabel::new(),
        of: "rust".into(),
        operation: "pong".into(),
        quantity: Quantity::ResponseP50,
        unit: Unit::Ns,
        from: level("bare", bare, 180.0),
        layers: steps.iter().map(|(name, cost)| level(name, *cost, 210.0 + cost.abs() * 0.02)).collect(),
        to: level("all layers", all, 640.0),
    };
    Case { name: "layers", summary, detail: Detail { waterfalls: vec![waterfall], ..Detail::default() } }
}

/// Ten variants with `each` dots of single requests, some of them far above the rest.
pub fn dots(each: usize) -> Case {
    let mut summary = empty("Every request");
    let mut detail = Detail::default();
    for place in 0..10_u32 {
        let name = format!("variant-{}", place + 1);
        let factor = 1.0 + 0.22 * f64::from(place);
        let law = |quantity: Quantity, _: &str| {
            if quantity == Quantity::Throughput { 1.0 / factor } else { factor }
        };
        fill(&mut summary, (&name, &PointLabel::new()), &["pong"], &|quantity, _| base_of(quantity), &law);
        let mut noise = noise(91 + place);
        let mut dot = |n: usize| {
            let at = (n as f64 + noise()) * 60e9 / each as f64;
            let slow = if noise() > 0.995 { 6.0 + 20.0 * noise() } else { 1.0 };
            let time = 180_000.0 * factor * (0.8 - 0.28 * (1.0 - noise()).ln()) * slow;
            (at as u64, time as u64)
        };
        let dots: Vec<(u64, u64)> = (0..each).map(&mut dot).collect();
        detail.samples.push(Samples {
            variant: name,
            point: PointLabel::new(),
            operation: "pong".into(),
            kind: DotKind::Request,
            at_ns: dots.iter().map(|dot| dot.0).collect(),
            time_ns: dots.iter().map(|dot| dot.1).collect(),
        });
    }
    Case { name: "dots", summary, detail }
}

/// A run of three blocks with few requests: no interval, no curve.
fn bare() -> Summary {
    let mut summary = valid();
    let strip = |estimate: &mut Option<Estimate>| {
        if let Some(estimate) = estimate {
            (estimate.lower, estimate.upper, estimate.blocks) = (None, None, 3);
        }
    };
    for cost in &mut summary.costs {
        strip(&mut cost.ratio);
        strip(&mut cost.difference);
        (cost.verdict, cost.effect) = (Verdict::Undecided, None);
    }
    summary.variants.iter_mut().flat_map(|v| &mut v.figures).for_each(|figure| strip(&mut figure.estimate));
    summary.margin = Ratio::new(0.02);
    summary.cpu_roles = None;
    summary
}
