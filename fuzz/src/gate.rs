//! Gates: a condition shows as it was written and reads back the same, in either kind; its bound is a number.

use weighbridge_model::gate::{Bound, Comparison, Gate, GateKind};

/// Reads `data` as a condition.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(gate) = Gate::parse(GateKind::FailIf, text) else {
        assert!(Gate::parse(GateKind::Require, text).is_err(), "the kind decides what parses: {text:?}");
        return;
    };
    assert_eq!(gate.to_string(), text);
    assert_eq!(Gate::parse(gate.kind, &gate.to_string()).as_ref(), Ok(&gate));
    let required = Gate::parse(GateKind::Require, text).expect("the kind decides nothing");
    assert_eq!(required, Gate { kind: GateKind::Require, ..gate.clone() });

    let (Bound::Change(bound) | Bound::Absolute(bound)) = gate.bound;
    assert!(bound.is_finite(), "{text:?} is bounded by {bound}");
    // An interval around the bound shows nothing; one wholly on the asked side shows the condition.
    let beyond = bound.abs().mul_add(1e-3, 1.0);
    assert!(!gate.is_shown(bound - beyond, bound + beyond, bound), "{text:?}");
    let (lower, upper) = match gate.comparison {
        Comparison::Above => (bound + beyond, bound + 2.0 * beyond),
        Comparison::Below => (bound - 2.0 * beyond, bound - beyond),
    };
    assert!(gate.is_shown(lower, upper, bound), "{text:?}");
}
