//! A bar that shows an interval beside its figures, relative to no change and to the margin.
//!
//! It repeats what the cells say, so it is hidden from screen readers.

use weighbridge_model::estimate::{Estimate, Quantity, Unit};
use weighbridge_model::summary::Cost;

use super::escape::figure;
use crate::words;

/// The largest ratio shown, in either direction; larger ones end at the edge.
const WIDEST: f64 = 10.0;
/// The smallest range, as a ratio.
const NARROWEST: f64 = 1.05;

/// Quantities whose changes are alike in size, so that their bars share a scale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GaugeKind {
    Time,
    Rate,
    Cpu,
    Memory,
    /// Bytes and segments.
    Traffic,
    Share,
}

impl GaugeKind {
    pub(crate) fn of(quantity: Quantity) -> Self {
        match (quantity, quantity.unit()) {
            (Quantity::MemoryPeak, _) => Self::Memory,
            (_, Unit::Ns) if quantity.is_response() || quantity.is_service() => Self::Time,
            (_, Unit::Ns) => Self::Cpu,
            (_, Unit::PerSecond) => Self::Rate,
            (_, Unit::Bytes | Unit::Count) => Self::Traffic,
            (_, Unit::Share) => Self::Share,
        }
    }
}

/// The scale that bars share; `reach` is the logarithm of the ratio at its edges.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Gauge {
    reach: f64,
    margin: f64,
}

impl Gauge {
    /// The scale that fits all `costs` with figures, up to [`WIDEST`].
    pub(crate) fn fitting<'a>(costs: impl Iterator<Item = &'a Cost>, margin: f64) -> Self {
        let ends = costs
            .filter(|cost| words::has_figures(cost))
            .filter_map(|cost| cost.ratio.as_ref())
            .flat_map(ends);
        let logarithms = ends.filter(|ratio| *ratio > 0.0).map(|ratio| ratio.ln().abs());
        let largest = logarithms.fold(NARROWEST.ln(), f64::max).max(margin.ln_1p() * 1.5);
        Self { reach: largest.min(WIDEST.ln()), margin }
    }

    /// A bar between the changes at its edges, for a cell; empty if the cost has no figures.
    pub(crate) fn cell(self, cost: &Cost) -> String {
        let [least, most] = self.edges();
        let bar = self.bar(cost).map(|bar| format!("<span>{least}</span>{bar}<span>{most}</span>"));
        format!("<td class=\"gauge\" aria-hidden=\"true\">{}</td>", bar.unwrap_or_default())
    }

    /// The bar of a cost, if it has figures.
    pub(crate) fn bar(self, cost: &Cost) -> Option<String> {
        let ratio = cost.ratio.as_ref().filter(|_| words::has_figures(cost))?;
        let (lower, upper) = ratio.interval().unwrap_or((ratio.point, ratio.point));
        let (margin_from, margin_to) = (self.place(1.0 - self.margin), self.place(1.0 + self.margin));
        let (lower, upper, point) = (self.place(lower), self.place(upper), self.place(ratio.point));
        Some(format!(
            "<i style=\"--a:{margin_from:.1}%;--b:{margin_to:.1}%;--l:{lower:.1}%;--u:{upper:.1}%;--p:{point:.1}%\"></i>"
        ))
    }

    /// The changes at both edges: `−17 %`, `+20 %`.
    pub(crate) fn edges(self) -> [String; 2] {
        let change = |ratio: f64| figure(&format!("{:+.0} %", (ratio - 1.0) * 100.0));
        [change((-self.reach).exp()), change(self.reach.exp())]
    }

    /// Percent from the left edge; the middle is no change.
    fn place(self, ratio: f64) -> f64 {
        if ratio.is_nan() || ratio <= 0.0 {
            return 0.0;
        }
        (50.0 + 50.0 * ratio.ln() / self.reach).clamp(0.0, 100.0)
    }
}

fn ends(ratio: &Estimate) -> [f64; 2] {
    let (lower, upper) = ratio.interval().unwrap_or((ratio.point, ratio.point));
    [lower, upper]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_mirrored_and_end_at_the_edge() {
        let gauge = Gauge { reach: 2f64.ln(), margin: 0.02 };
        assert_eq!((gauge.place(1.0), gauge.place(2.0), gauge.place(0.5)), (50.0, 100.0, 0.0));
        assert_eq!((gauge.place(9.0), gauge.place(0.0), gauge.place(f64::NAN)), (100.0, 0.0, 0.0));
        assert_eq!(gauge.edges(), ["−50\u{a0}%", "+100\u{a0}%"]);
        let narrow = Gauge::fitting(std::iter::empty(), 0.02);
        assert!((narrow.reach - NARROWEST.ln()).abs() < 1e-12);
    }
}
