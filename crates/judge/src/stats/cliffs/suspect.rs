//! Where a curve may step or bend: stretches of sizes in which further observations would tell most.
//!
//! A suspicion costs a few requests and nothing is reported of it, so less is asked of it than of a cliff:
//! that a term gains more than chance would, whether it is sharp or not, and however many blocks there are.

use super::super::scatter::Scatter;
use super::fit::Shape;
use super::search::{Course, Search};

/// Squared standard errors that a suspected term must gain, beside 2 ln n of n bins.
const SUSPICION: f64 = 4.0;
/// Gaps between bins on either side of a suspected step.
const AROUND: usize = 2;
/// A bend is examined from its place over this factor to its place times it: its slopes on both sides place
/// it.
const REACH: f64 = 2.0;

/// Of stairs so many are examined.
const WHOLE: f64 = 3.0;

/// A stretch of sizes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Suspect {
    /// Smallest size.
    pub from: f64,
    /// Largest size.
    pub to: f64,
}

/// The stretches, rising; those that overlap are one. Empty where there are too few sizes for a curve to have
/// parts.
pub fn suspects(scatter: &Scatter) -> Vec<Suspect> {
    let Some(Course { bins, fit, .. }) = Course::new(scatter, SUSPICION) else { return Vec::new() };
    let gaps = &Search::new(&bins, SUSPICION).gaps;
    let (first, last) = (bins.range[0].0, bins.range[bins.len() - 1].1);
    let stretch = |shape: Shape, place: f64| match shape {
        Shape::Step | Shape::Ramp(_) => {
            let gap = gaps.partition_point(|gap| *gap < place);
            let (from, to) = (gap.saturating_sub(AROUND), (gap + AROUND).min(gaps.len() - 1));
            Suspect { from: gaps[from], to: gaps[to] }
        }
        Shape::Stairs(period) => Suspect { from: place, to: (place + WHOLE * period).min(last) },
        Shape::Kink | Shape::Bend(_) => {
            Suspect { from: (place / REACH).max(first), to: (place * REACH).min(last) }
        }
    };
    let stretches = fit.terms.iter().map(|term| stretch(term.shape, term.place));
    stretches.filter(|suspect| suspect.from < suspect.to).collect()
}
