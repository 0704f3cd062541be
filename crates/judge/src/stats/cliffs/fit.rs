//! Weighted least squares of a smooth course plus terms that begin at a place: steps, kinks, gentle bends and
//! stairs.
//!
//! This module knows neither blocks nor what is worth reporting.

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Shape {
    /// 0 below the place, 1 above.
    Step,
    /// A step that rises linearly from this far below the place to this far above.
    Ramp(f64),
    /// 0 below the place, the distance from it above: the slope changes there.
    Kink,
    /// A kink whose slope changes evenly from place/f to place·f.
    Bend(f64),
    /// 0 below the place, 1 above, and another 1 after each further period.
    Stairs(f64),
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Term {
    pub shape: Shape,
    pub place: f64,
}

impl Term {
    /// Kinks and bends measure sizes in `unit`, so that all columns have the same order of magnitude.
    pub fn at(self, size: f64, unit: f64) -> f64 {
        match self.shape {
            Shape::Step => f64::from(u8::from(size > self.place)),
            Shape::Ramp(half) => (0.5 + 0.5 * (size - self.place) / half).clamp(0.0, 1.0),
            Shape::Kink => (size - self.place).max(0.0) / unit,
            Shape::Bend(factor) => {
                let (from, to) = (self.place / factor, self.place * factor);
                let within = (size - from).clamp(0.0, to - from);
                (within * within / (2.0 * (to - from)) + (size - to).max(0.0)) / unit
            }
            Shape::Stairs(period) => ((size - self.place) / period).ceil().max(0.0),
        }
    }

    /// The mean over a bin: of stairs over the bin's range, since a step may be inside; of other shapes at
    /// the mean size.
    fn over(self, size: f64, from: f64, to: f64, unit: f64) -> f64 {
        match self.shape {
            Shape::Stairs(period) if to > from => {
                // ∫ ⌈u⌉ du from 0 to u.
                let area = |size: f64| {
                    let u = ((size - self.place) / period).max(0.0);
                    let whole = u.floor();
                    0.5 * whole * (whole + 1.0) + (u - whole) * (whole + 1.0)
                };
                (area(to) - area(from)) * period / (to - from)
            }
            _ => self.at(size, unit),
        }
    }
}

/// The smooth part: a constant, and functions that grow with the size, its root and its logarithm. A
/// transfer's time is level + size/rate; the others take up curvature without a corner.
const SMOOTH: [fn(f64) -> f64; 4] = [|_| 1.0, |u| u, f64::sqrt, |u| u.max(1e-12).ln()];

#[derive(Debug, Clone)]
pub(super) struct Fit {
    pub terms: Vec<Term>,
    /// One for each smooth function, then one for each term; 0 for those that are not distinguishable.
    coefficients: Vec<f64>,
    /// Residuals times the roots of the weights.
    pub rest: Vec<f64>,
    unit: f64,
    basis: Vec<Vec<f64>>,
    root_weight: Vec<f64>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Data<'a> {
    pub size: &'a [f64],
    pub range: &'a [(f64, f64)],
    pub time: &'a [f64],
    pub error: &'a [f64],
}

impl Data<'_> {
    /// The coefficients of two further columns beside a course with these terms.
    pub fn beside(&self, terms: &[Term], further: [Vec<f64>; 2]) -> [f64; 2] {
        let unit = self.size.last().copied().unwrap_or(1.0);
        let smooth = SMOOTH.iter().map(|f| self.size.iter().map(|size| f(size / unit)).collect());
        let terms = terms.iter().map(|term| self.column(*term, unit));
        let columns: Vec<Vec<f64>> = smooth.chain(terms).chain(further).collect();
        let found = coefficients(&columns, self.time, self.error);
        [found[found.len() - 2], found[found.len() - 1]]
    }

    pub fn column(&self, term: Term, unit: f64) -> Vec<f64> {
        let each = self.size.iter().zip(self.range);
        each.map(|(size, range)| term.over(*size, range.0, range.1, unit)).collect()
    }
}

impl Fit {
    pub fn new(data: &Data<'_>, terms: Vec<Term>) -> Self {
        let unit = data.size.last().copied().unwrap_or(1.0);
        let root_weight: Vec<f64> = data.error.iter().map(|error| 1.0 / error).collect();
        let mut triangle: Vec<Option<Vec<f64>>> = Vec::new();
        let mut basis: Vec<Vec<f64>> = Vec::new();
        let smooth = SMOOTH.iter().map(|f| data.size.iter().map(|size| f(size / unit)).collect::<Vec<_>>());
        let rising = terms.iter().map(|term| data.column(*term, unit));
        for column in smooth.chain(rising) {
            let weighted = column.iter().zip(&root_weight).map(|(value, weight)| value * weight).collect();
            triangle.push(orthogonal(weighted, &basis).map(|(unit_column, mut along, norm)| {
                along.push(norm);
                basis.push(unit_column);
                along
            }));
        }
        let mut rest: Vec<f64> =
            data.time.iter().zip(&root_weight).map(|(time, weight)| time * weight).collect();
        let along: Vec<f64> = basis.iter().map(|column| take_out(&mut rest, column)).collect();
        let coefficients = back(&triangle, &along);
        Self { terms, coefficients, rest, unit, basis, root_weight }
    }

    /// The residual sum of squares, in squared standard errors.
    pub fn left(&self) -> f64 {
        self.rest.iter().map(|r| r * r).sum()
    }

    /// By how much a further term would lower [`left`](Self::left).
    pub fn gain(&self, data: &Data<'_>, term: Term) -> f64 {
        let mut column = data.column(term, self.unit);
        column.iter_mut().zip(&self.root_weight).for_each(|(value, weight)| *value *= weight);
        let before = dot(&column, &column);
        // The basis is orthonormal and the residuals are orthogonal to it, so nothing has to be taken out of the column. What
        // cancels costs at most seven of sixteen digits, since less than a billionth of a column is none.
        let within: f64 = self.basis.iter().map(|unit_column| dot(&column, unit_column).powi(2)).sum();
        let square = before - within;
        if square <= 1e-9 * before { 0.0 } else { dot(&column, &self.rest).powi(2) / square }
    }

    /// A step's height, or a kink's change of slope per unit of size.
    pub fn height(&self, term: usize) -> f64 {
        let coefficient = self.coefficients[SMOOTH.len() + term];
        match self.terms[term].shape {
            Shape::Step | Shape::Ramp(_) | Shape::Stairs(_) => coefficient,
            Shape::Kink | Shape::Bend(_) => coefficient / self.unit,
        }
    }

    pub fn at(&self, size: f64) -> f64 {
        let smooth = SMOOTH.iter().zip(&self.coefficients).map(|(f, c)| f(size / self.unit) * c);
        let terms = self.terms.iter().zip(&self.coefficients[SMOOTH.len()..]);
        smooth.sum::<f64>() + terms.map(|(term, c)| term.at(size, self.unit) * c).sum::<f64>()
    }
}

/// Weighted least squares: one coefficient for each column, 0 for one that depends linearly on those before.
pub(super) fn coefficients(columns: &[Vec<f64>], values: &[f64], errors: &[f64]) -> Vec<f64> {
    let weighted =
        |column: &[f64]| column.iter().zip(errors).map(|(value, error)| value / error).collect::<Vec<_>>();
    let (mut basis, mut triangle) = (Vec::new(), Vec::new());
    for column in columns {
        triangle.push(orthogonal(weighted(column), &basis).map(|(unit_column, mut along, norm)| {
            along.push(norm);
            basis.push(unit_column);
            along
        }));
    }
    let mut rest = weighted(values);
    let along: Vec<f64> = basis.iter().map(|column| take_out(&mut rest, column)).collect();
    back(&triangle, &along)
}

/// A column less its projection on the basis, scaled to norm 1; the projection's coefficients and the norm.
/// `None` if almost nothing remains.
fn orthogonal(mut column: Vec<f64>, basis: &[Vec<f64>]) -> Option<(Vec<f64>, Vec<f64>, f64)> {
    let before = dot(&column, &column).sqrt();
    let mut along = vec![0.0; basis.len()];
    // Twice is enough (Giraud, Langou, Rozložník 2005).
    for _ in 0..2 {
        for (sum, unit_column) in along.iter_mut().zip(basis) {
            *sum += take_out(&mut column, unit_column);
        }
    }
    let norm = dot(&column, &column).sqrt();
    (norm > 1e-7 * before).then(|| {
        column.iter_mut().for_each(|value| *value /= norm);
        (column, along, norm)
    })
}

/// Four sums, which processors add at once.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<4>(), b.as_chunks::<4>());
    let mut sums = [0.0; 4];
    for (a, b) in a.iter().zip(b) {
        sums.iter_mut().zip(a.iter().zip(b)).for_each(|(sum, (a, b))| *sum += a * b);
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums[0] + sums[1] + sums[2] + sums[3] + rest
}

/// Subtracts the projection of `column` on `unit_column` and returns its length.
fn take_out(column: &mut [f64], unit_column: &[f64]) -> f64 {
    let along = dot(column, unit_column);
    column.iter_mut().zip(unit_column).for_each(|(value, unit)| *value -= along * unit);
    along
}

/// Back substitution; coefficients of omitted columns are 0.
fn back(triangle: &[Option<Vec<f64>>], along: &[f64]) -> Vec<f64> {
    let mut coefficients = vec![0.0; triangle.len()];
    let kept: Vec<usize> = (0..triangle.len()).filter(|at| triangle[*at].is_some()).collect();
    for (row, &at) in kept.iter().enumerate().rev() {
        let later: f64 = kept[row + 1..]
            .iter()
            .map(|&other| triangle[other].as_ref().map_or(0.0, |column| column[row]) * coefficients[other])
            .sum();
        let diagonal = triangle[at].as_ref().map_or(1.0, |column| column[row]);
        coefficients[at] = (along[row] - later) / diagonal;
    }
    coefficients
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alone(size: &[f64]) -> Vec<(f64, f64)> {
        size.iter().map(|size| (*size, *size)).collect()
    }

    #[test]
    fn an_exact_course_is_found_to_the_last_term() {
        let size: Vec<f64> = (1..=60).map(|n| 1000.0 * f64::from(n)).collect();
        let terms =
            vec![Term { shape: Shape::Step, place: 20_500.0 }, Term { shape: Shape::Kink, place: 40_000.0 }];
        let law = |s: f64| {
            7.0 + 0.002 * s + 50.0 * f64::from(u8::from(s > 20_500.0)) + 0.03 * (s - 40_000.0).max(0.0)
        };
        let time: Vec<f64> = size.iter().map(|s| law(*s)).collect();
        let error = vec![0.5; 60];
        let data = Data { size: &size, range: &alone(&size), time: &time, error: &error };
        let fit = Fit::new(&data, terms);
        assert!(fit.left() < 1e-12, "{}", fit.left());
        assert!((fit.height(0) - 50.0).abs() < 1e-6 && (fit.height(1) - 0.03).abs() < 1e-9);
        assert!([500.0, 20_400.0, 20_600.0, 59_000.0].iter().all(|s| (fit.at(*s) - law(*s)).abs() < 1e-4));
    }

    #[test]
    fn the_gain_of_a_term_is_what_fitting_it_takes_away() {
        let size: Vec<f64> = (1..=50).map(f64::from).collect();
        let time: Vec<f64> = size.iter().map(|s| (s * 12.9898).sin() * 3.0 + s).collect();
        let error: Vec<f64> = size.iter().map(|s| 1.0 + 0.01 * s).collect();
        let range = alone(&size);
        let data = Data { size: &size, range: &range, time: &time, error: &error };
        let plain = Fit::new(&data, Vec::new());
        for shape in [Shape::Step, Shape::Ramp(4.0), Shape::Kink, Shape::Bend(1.5), Shape::Stairs(7.0)] {
            let term = Term { shape, place: 23.5 };
            let with = Fit::new(&data, vec![term]);
            assert!((plain.gain(&data, term) - (plain.left() - with.left())).abs() < 1e-8, "{shape:?}");
        }
        assert_eq!(plain.gain(&data, Term { shape: Shape::Step, place: 99.0 }), 0.0);
    }

    #[test]
    fn soft_shapes_meet_the_sharp_ones_outside_their_width() {
        let (kink, bend) =
            (Term { shape: Shape::Kink, place: 100.0 }, Term { shape: Shape::Bend(1.5), place: 100.0 });
        assert_eq!((bend.at(60.0, 1.0), bend.at(66.0, 1.0)), (0.0, 0.0));
        // Above, a bend is a kink at the middle of its width: (100/1.5 + 150)/2 = 108.33.
        assert!((bend.at(200.0, 1.0) - (kink.at(200.0, 1.0) - 8.333_333)).abs() < 1e-5);
        let ramp = Term { shape: Shape::Ramp(10.0), place: 100.0 };
        assert_eq!([90.0, 95.0, 100.0, 110.0].map(|size| ramp.at(size, 1.0)), [0.0, 0.25, 0.5, 1.0]);
    }
    #[test]
    fn a_bin_over_a_stair_has_the_mean_of_both_sides() {
        let stairs = Term { shape: Shape::Stairs(10.0), place: 8.0 };
        assert_eq!([8.0, 8.1, 18.0, 18.1, 30.0].map(|size| stairs.at(size, 1.0)), [0.0, 1.0, 1.0, 2.0, 3.0]);
        assert_eq!(stairs.over(15.0, 15.0, 15.0, 1.0), 1.0);
        assert!((stairs.over(18.0, 16.0, 20.0, 1.0) - 1.5).abs() < 1e-12);
        assert!((stairs.over(6.0, 4.0, 8.0, 1.0)).abs() < 1e-12);
    }

    #[test]
    fn plain_columns_are_fitted_and_one_that_says_nothing_new_is_left_out() {
        let at: Vec<f64> = (0..20).map(f64::from).collect();
        let columns = [vec![1.0; 20], at.clone(), at.iter().map(|x| 2.0 * x).collect()];
        let values: Vec<f64> = at.iter().map(|x| 3.0 + 5.0 * x).collect();
        let found = coefficients(&columns, &values, &[0.5; 20]);
        assert!(
            (found[0] - 3.0).abs() < 1e-9 && (found[1] - 5.0).abs() < 1e-9 && found[2] == 0.0,
            "{found:?}"
        );
    }
}
