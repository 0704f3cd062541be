//! A synthetic run whose variants differ only in layers: a chain, a sum check, and costs at two sizes.

use weighbridge_model::detail::{Level, Waterfall};
use weighbridge_model::estimate::{Estimate, Quantity, Validity};
use weighbridge_model::id::PointLabel;
use weighbridge_model::layering::{
    Additivity, Chain, Interaction, Layering, Missing, Single, Slope, Stage, StageCost, SumCheck, SumRow,
    Unchecked,
};
use weighbridge_model::summary::{Detail, Summary};

use super::factorial::factorials;
use super::{estimate, point, valid};

/// Each stage with its variant and its p50, CPU, memory, bytes on the wire and segments.
const STAGES: [(&str, &str, [f64; 5]); 4] = [
    ("bare", "rust bare", [31_200.0, 11_900.0, 4_404_019.0, 0.0, 2.0]),
    ("veth", "rust veth", [35_100.0, 13_400.0, 4_404_019.0, 478.0, 2.0]),
    ("vxlan", "rust veth + vxlan", [43_240.0, 17_800.0, 4_404_019.0, 578.0, 2.0]),
    (
        "sidecar:haproxy",
        "rust veth + vxlan + sidecar:haproxy",
        [91_300.0, 49_200.0, 17_301_504.0, 579.0, 2.0],
    ),
];
const QUANTITIES: [Quantity; 5] = [
    Quantity::ResponseP50,
    Quantity::CpuPerOperation,
    Quantity::MemoryPeak,
    Quantity::WireBytesPerOperation,
    Quantity::SegmentsPerOperation,
];

fn half(quantity: Quantity, value: f64) -> f64 {
    match quantity {
        Quantity::SegmentsPerOperation => 0.002,
        Quantity::WireBytesPerOperation => 0.6,
        _ => value * 0.006,
    }
}

fn ratio_of(now: f64, before: f64) -> Estimate {
    let ratio = now / before;
    estimate(ratio, ratio * 0.008)
}

fn cost(at: usize, place: usize, before: usize) -> StageCost {
    let quantity = QUANTITIES[at];
    let (now, then) = (STAGES[place].2[at], STAGES[before].2[at]);
    let is_there = then > 0.0 && place != before;
    let reason = (at == 3 && place != before && then == 0.0)
        .then(|| format!("`{}` has no such figure", STAGES[before].1));
    StageCost {
        quantity,
        unit: quantity.unit(),
        figure: (now > 0.0).then(|| estimate(now, half(quantity, now))),
        difference: is_there.then(|| estimate(now - then, half(quantity, now))),
        ratio: is_there.then(|| ratio_of(now, then)),
        against: None,
        reason,
    }
}

fn chain(point: PointLabel) -> Chain {
    let costs = |place: usize| (0..5).map(|at| cost(at, place, place.saturating_sub(1))).collect();
    let stage = |(place, (name, variant, _)): (usize, &(&str, &str, [f64; 5]))| Stage {
        name: (*name).into(),
        variant: (*variant).into(),
        validity: Validity::Valid,
        costs: costs(place),
    };
    Chain {
        point,
        of: "rust".into(),
        stages: STAGES.iter().enumerate().map(stage).collect(),
        whole: (0..5).map(|at| StageCost { figure: None, ..cost(at, 3, 0) }).collect(),
        missing: Vec::new(),
    }
}

/// The same with an invalid stage, so that the next is compared with the one below it, and with an
/// unavailable one.
fn broken(point: PointLabel) -> Chain {
    let mut chain = chain(point);
    let vxlan = &mut chain.stages[2];
    vxlan.validity = Validity::Invalid;
    for cost in &mut vxlan.costs {
        (cost.figure, cost.difference, cost.ratio) = (None, None, None);
        cost.reason = Some("invalid: another way: in one trial `vxlan0` saw nothing".into());
    }
    let over = |at: usize| StageCost {
        against: Some(STAGES[1].1.into()),
        reason: Some(format!("against `{}`, since `{}` is invalid", STAGES[1].1, STAGES[2].1)),
        ..cost(at, 3, 1)
    };
    chain.stages[3].costs = (0..5).map(over).collect();
    chain.missing = vec![Missing {
        variant: "rust veth + ovs".into(),
        below: STAGES[2].1.into(),
        reason: "no `ovs-vswitchd` is installed; install openvswitch-switch".into(),
    }];
    chain
}

fn sum_check(point: PointLabel) -> SumCheck {
    let row = |quantity: Quantity, sum: f64, whole: f64, verdict| SumRow {
        quantity,
        unit: quantity.unit(),
        singles: vec![estimate(sum * 0.2, sum * 0.01), estimate(sum * 0.8, sum * 0.015)],
        sum: estimate(sum, sum * 0.02),
        whole: estimate(whole, whole * 0.01),
        interaction: estimate(whole - sum, 700.0),
        p: Some(0.0008),
        verdict,
        reason: (verdict == Additivity::Undecided)
            .then(|| "the interval holds 0, and more than the margin".to_owned()),
    };
    let single = |name: &str| Single { name: name.into(), variant: format!("rust veth + {name}") };
    SumCheck {
        point,
        of: "rust".into(),
        base: "rust veth".into(),
        singles: vec![single("vxlan"), single("sidecar:haproxy")],
        whole: STAGES[3].1.into(),
        rows: vec![
            row(Quantity::ResponseP50, 53_100.0, 56_200.0, Additivity::Interaction),
            row(Quantity::CpuPerOperation, 35_600.0, 35_800.0, Additivity::Agrees),
            row(Quantity::MemoryPeak, 12_897_485.0, 12_897_600.0, Additivity::Undecided),
        ],
        unchecked: vec![Unchecked {
            quantity: Some(Quantity::WireBytesPerOperation),
            reason: "`rust veth`: not measured".into(),
        }],
    }
}

/// The same without a variant for one of the single layers.
fn unchecked(point: PointLabel) -> SumCheck {
    let reason = "`rust veth + sidecar:haproxy` is unavailable: no `haproxy` is installed".to_owned();
    SumCheck { rows: Vec::new(), unchecked: vec![Unchecked { quantity: None, reason }], ..sum_check(point) }
}

/// What layers cost at two sizes.
fn layering() -> Layering {
    let sizes = ["64 B", "64 KiB"];
    let interaction = |stage: &str, variant: usize, more: f64, verdict| Interaction {
        of: "rust".into(),
        stage: stage.into(),
        variant: STAGES[variant].1.into(),
        above: STAGES[if stage == "whole" { 0 } else { variant - 1 }].1.into(),
        factor: "workload.size".into(),
        from: point(sizes[0]),
        to: point(sizes[1]),
        quantity: Quantity::ResponseP50,
        unit: Quantity::ResponseP50.unit(),
        difference: estimate(more, 900.0),
        p: Some(0.01),
        verdict,
        reason: None,
    };
    let slope = |stage: &str, variant: usize, per_operation: f64, per_byte: f64| Slope {
        of: "rust".into(),
        stage: stage.into(),
        variant: STAGES[variant].1.into(),
        above: STAGES[variant - 1].1.into(),
        point: PointLabel::new(),
        sizes: vec![64, 65_536],
        quantity: Quantity::ResponseP50,
        unit: Quantity::ResponseP50.unit(),
        per_operation: estimate(per_operation, 240.0),
        per_byte: estimate(per_byte, 0.014),
    };
    Layering {
        chains: vec![chain(point(sizes[0])), broken(point(sizes[1]))],
        sums: vec![sum_check(point(sizes[0])), unchecked(point(sizes[1]))],
        interactions: vec![
            interaction("veth", 1, 120.0, Additivity::Agrees),
            interaction("vxlan", 2, 19_700.0, Additivity::Interaction),
            interaction("whole", 3, 19_900.0, Additivity::Interaction),
        ],
        slopes: vec![slope("veth", 1, 3_900.0, 0.002), slope("vxlan", 2, 8_120.0, 0.301)],
    }
}

/// The whole run; everything but the layers is that of a run of languages.
pub fn layered() -> Summary {
    Summary {
        title: "What does each layer cost?".into(),
        layering: layering(),
        factorials: factorials(["64 B", "64 KiB"]),
        capacities: Vec::new(),
        common_rates: Vec::new(),
        ..valid()
    }
}

pub fn detail() -> Detail {
    let level = |name: &str, value: f64, quantity| Level {
        name: name.into(),
        estimate: estimate(value, half(quantity, value)),
    };
    let waterfall = |label: &str, service: &str, at: usize, first: usize| {
        let quantity = QUANTITIES[at];
        let steps = STAGES.windows(2).skip(first);
        Waterfall {
            point: point(label),
            of: service.into(),
            operation: "pong".into(),
            quantity,
            unit: quantity.unit(),
            from: level(STAGES[first].0, STAGES[first].2[at], quantity),
            layers: steps.map(|two| level(two[1].0, two[1].2[at] - two[0].2[at], quantity)).collect(),
            to: level("all together", STAGES[3].2[at], quantity),
        }
    };
    let waterfalls = vec![
        waterfall("64 B", "rust", 0, 0),
        waterfall("64 B", "rust", 3, 1),
        waterfall("64 KiB", "rust", 0, 0),
        waterfall("64 KiB", "go", 0, 0),
    ];
    Detail { waterfalls, ..super::detail() }
}
