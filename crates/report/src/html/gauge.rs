//! An interval beside its figures, as a bar of the page's style: where it lies against no change and the margin.
//!
//! It repeats what the cells say; it is no chart and hidden from those who have the page read to them.

use weighbridge_model::estimate::Estimate;
use weighbridge_model::summary::Cost;

use super::escape::figure;
use crate::words;

/// The widest change that a gauge shows; what lies beyond ends at its edge. A factor of ten either way.
const WIDEST: f64 = 10.0;
/// The narrowest scale: ten times the margin would be empty.
const NARROWEST: f64 = 1.05;

/// What all bars of one table share: the logarithm of the largest ratio, either way.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Gauge {
    reach: f64,
    margin: f64,
}

impl Gauge {
    /// A scale on which all `costs` that have figures fit, up to a factor of ten.
    pub(crate) fn fitting<'a>(costs: impl Iterator<Item = &'a Cost>, margin: f64) -> Self {
        let ends = costs
            .filter(|cost| words::has_figures(cost))
            .filter_map(|cost| cost.ratio.as_ref())
            .flat_map(ends);
        let logarithms = ends.filter(|ratio| *ratio > 0.0).map(|ratio| ratio.ln().abs());
        let largest = logarithms.fold(NARROWEST.ln(), f64::max).max(margin.ln_1p() * 1.5);
        Self { reach: largest.min(WIDEST.ln()), margin }
    }

    /// The bar of a cost; `None` where it has no figures.
    pub(crate) fn bar(self, cost: &Cost) -> Option<String> {
        let ratio = cost.ratio.as_ref().filter(|_| words::has_figures(cost))?;
        let (lower, upper) = ratio.interval().unwrap_or((ratio.point, ratio.point));
        let (margin_from, margin_to) = (self.place(1.0 - self.margin), self.place(1.0 + self.margin));
        let (lower, upper, point) = (self.place(lower), self.place(upper), self.place(ratio.point));
        Some(format!(
            "<i style=\"--a:{margin_from:.1}%;--b:{margin_to:.1}%;--l:{lower:.1}%;--u:{upper:.1}%;--p:{point:.1}%\"></i>"
        ))
    }

    /// What its two edges stand for, as changes: `−17 %`, `+20 %`.
    pub(crate) fn edges(self) -> [String; 2] {
        let change = |ratio: f64| figure(&format!("{:+.0} %", (ratio - 1.0) * 100.0));
        [change((-self.reach).exp()), change(self.reach.exp())]
    }

    /// From the left edge, in percent; the middle is no change.
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
        assert_eq!(gauge.edges(), ["−50 %", "+100 %"]);
        let narrow = Gauge::fitting(std::iter::empty(), 0.02);
        assert!((narrow.reach - NARROWEST.ln()).abs() < 1e-12);
    }
}
