//! Synthetic main effects and interactions of framing and codec: one table that adds up in part, and one that is missing.

use weighbridge_model::estimate::{Effect, Estimate, Quantity, Unit, Verdict};
use weighbridge_model::factorial::{CellInteraction, DifferenceParts, Factorial, FactorialTable, MainEffect};
use weighbridge_model::layering::Additivity;

use super::{estimate, point};

fn effect(value: &str, against: &str, difference: f64, ratio: f64, verdict: Verdict) -> MainEffect {
    let ratio = estimate(ratio, 0.004);
    let effect = match verdict {
        Verdict::Higher => Some(Effect::Worse),
        Verdict::Lower => Some(Effect::Better),
        _ => None,
    };
    MainEffect {
        value: value.into(),
        against: against.into(),
        difference: estimate(difference, 310.0),
        ratio,
        p: Some(0.0004),
        effect,
        verdict,
        reason: (verdict == Verdict::Undecided)
            .then(|| "significant alone, not after correcting for 5 comparisons".into()),
    }
}

fn interaction(framing: &str, difference: f64, verdict: Additivity) -> CellInteraction {
    CellInteraction {
        framing: framing.into(),
        codec: "protobuf".into(),
        difference: estimate(difference, 280.0),
        p: Some(0.002),
        verdict,
        reason: None,
    }
}

fn table(quantity: Quantity, scale: f64) -> FactorialTable {
    let figure = |value: f64| -> Estimate { estimate(scale * value, scale * 240.0) };
    FactorialTable {
        quantity,
        unit: Unit::Ns,
        figures: [[61_200.0, 60_050.0], [70_100.0, 69_300.0], [74_900.0, 76_200.0]]
            .map(|row| row.map(figure).to_vec())
            .to_vec(),
        framings: vec![
            effect("http2", "http1", 9_080.0, 1.149, Verdict::Higher),
            effect("grpc", "http1", 14_930.0, 1.246, Verdict::Higher),
        ],
        codecs: vec![effect("protobuf", "json", -220.0, 0.997, Verdict::Undecided)],
        interactions: vec![
            interaction("http2", 350.0, Additivity::Agrees),
            interaction("grpc", 2_450.0, Additivity::Interaction),
        ],
        parts: vec![DifferenceParts {
            framing: "grpc".into(),
            codec: "protobuf".into(),
            whole: estimate(15_000.0, 260.0),
            of_framing: estimate(13_700.0, 240.0),
            of_codec: estimate(-1_150.0, 190.0),
            of_both: estimate(2_450.0, 280.0),
        }],
    }
}

/// At the first point two quantities, at the second none.
pub fn factorials(points: [&str; 2]) -> Vec<Factorial> {
    let strings = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let whole = Factorial {
        point: point(points[0]),
        of: "rust".into(),
        framings: strings(&["http1", "http2", "grpc"]),
        codecs: strings(&["json", "protobuf"]),
        variants: vec![
            strings(&["rust", "rust/http1/protobuf"]),
            strings(&["rust/http2/json", "rust/http2/protobuf"]),
            strings(&["rust/grpc/json", "rust/grpc/protobuf"]),
        ],
        tables: vec![table(Quantity::ResponseP50, 1.0), table(Quantity::CpuPerOperation, 0.4)],
        reason: None,
    };
    let missing = Factorial {
        point: point(points[1]),
        tables: Vec::new(),
        reason: Some("`rust/grpc/json` is invalid: no good reply".into()),
        ..whole.clone()
    };
    vec![whole, missing]
}
