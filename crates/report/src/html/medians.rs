//! Medians over message size as tables: the curves at about ten sizes, with their intervals.

use weighbridge_model::id::PointLabel;
use weighbridge_model::quantity::{display_bytes, display_nanos};
use weighbridge_model::sizes::{SizeCurve, SizeTime};
use weighbridge_model::summary::{Detail, Summary};

use super::escape::{attributes, escape, figure, suffix};
use super::tables::number;
use crate::{view, words};

const SIZES: usize = 10;
const MEDIAN: f64 = 0.5;
/// In the order in which the charts choose one.
const TIMES: [SizeTime; 3] = [SizeTime::Service, SizeTime::Response, SizeTime::Relayed];

/// A table per point and operation, in a `<details>`.
pub(crate) fn tables(summary: &Summary, detail: &Detail) -> String {
    let curves = &detail.size_curves;
    let Some(time) = TIMES.into_iter().find(|time| curves.iter().any(|curve| curve.time == *time)) else {
        return String::new();
    };
    let here: Vec<&SizeCurve> = curves.iter().filter(|curve| curve.time == time).collect();
    let families = view::distinct(here.iter().map(|curve| (&curve.point, &*curve.operation)));
    let table = |(point, operation): &(&PointLabel, &str)| {
        let own: Vec<&SizeCurve> = here
            .iter()
            .copied()
            .filter(|curve| (&curve.point, &*curve.operation) == (*point, *operation))
            .collect();
        table(summary, point, operation, time, &own)
    };
    let all: String = families.iter().map(table).collect();
    format!("<details><summary>Medians over size as a table</summary>\n{all}</details>\n")
}

fn table(
    summary: &Summary,
    point: &PointLabel,
    operation: &str,
    time: SizeTime,
    curves: &[&SizeCurve],
) -> String {
    let point = words::point(point);
    let filter = attributes(&[("operation", operation), ("point", &point)]);
    let of_operation = suffix(if words::several_operations(summary) { operation } else { "" });
    let at_point = suffix(&point);
    let heads: String = curves
        .iter()
        .map(|curve| format!("<th scope=\"col\" class=\"n\">{}</th>", escape(&curve.variant)))
        .collect();
    let sizes = curves.first().map(|curve| &curve.size_bytes[..]).unwrap_or_default();
    let rows: String = chosen(sizes.len()).into_iter().map(|at| row(sizes[at], at, curves)).collect();
    format!(
        "<div class=\"scroll\"{filter}><table class=\"medians\"><caption>Median {} time{of_operation}{at_point}, in brackets its 95 % interval over \
         blocks, where there are four</caption><thead><tr><th scope=\"col\" class=\"n\">about</th>{heads}</tr></thead>\n<tbody>\n\
         {rows}</tbody></table></div>\n",
        time.name()
    )
}

/// At most [`SIZES`] evenly spaced indices below `count`, with both ends.
fn chosen(count: usize) -> Vec<usize> {
    let steps = (SIZES - 1).min(count.saturating_sub(1));
    match count {
        0 => Vec::new(),
        1 => vec![0],
        _ => (0..=steps).map(|step| step * (count - 1) / steps).collect(),
    }
}

fn row(size: u64, at: usize, curves: &[&SizeCurve]) -> String {
    let cell = |curve: &&SizeCurve| {
        let median = curve.quantiles.iter().find(|one| (one.quantile - MEDIAN).abs() < 1e-9);
        let known = median.and_then(|one| one.time_ns.get(at).copied().flatten());
        let interval = curve.median_interval_ns.get(at).copied().flatten();
        let interval = interval.map_or_else(String::new, |(low, high)| {
            let ends = format!("[{}, {}]", display_nanos(low), display_nanos(high));
            format!(" <span class=\"interval\">{}</span>", figure(&ends))
        });
        match known {
            Some(median) => {
                format!(
                    "<td class=\"n\"{}>{}{interval}</td>",
                    number(Some(median)),
                    figure(&display_nanos(median))
                )
            }
            None => "<td class=\"n quiet\">–</td>".to_owned(),
        }
    };
    format!(
        "<tr><th scope=\"row\" class=\"n\"{}>{}</th>{}</tr>\n",
        number(Some(size as f64)),
        display_bytes(size as f64),
        curves.iter().map(cell).collect::<String>()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_a_table_are_few_and_hold_both_ends() {
        assert_eq!(chosen(100), [0, 11, 22, 33, 44, 55, 66, 77, 88, 99]);
        assert_eq!(chosen(3), [0, 1, 2]);
        assert_eq!((chosen(1), chosen(0)), (vec![0], vec![]));
    }
}
