//! Ends of the axes of charts over message size: checks that the typed quantity is the axis's. It sees no
//! data; the chart reports if nothing is between the ends.

use anyhow::bail;
use weighbridge_report::plot::Kind;

use crate::args::{AxisEnd, EndOf, Over};

/// Ends of both axes of one kind of chart.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub struct Ends {
    /// Of the axis of sizes.
    pub x: [Option<f64>; 2],
    /// Of the vertical axis.
    pub y: [Option<f64>; 2],
}

/// What a vertical axis shows: its name, an example of an end, and the quantities allowed.
fn upright(kind: Kind) -> Option<(&'static str, &'static str, &'static [EndOf])> {
    match kind {
        Kind::Latency => Some(("a time", "100 us", &[EndOf::Time])),
        Kind::Transfer => Some(("bytes in a second", "10 MB/s", &[EndOf::Transfer, EndOf::Size])),
        Kind::Requests => Some(("requests in a second", "200/s", &[EndOf::Rate])),
        Kind::LatencyRelative | Kind::TransferRelative | Kind::RequestsRelative => {
            Some(("a ratio", "0.5", &[]))
        }
        _ => None,
    }
}

fn fits(end: Option<&AxisEnd>, allowed: &[EndOf]) -> bool {
    end.and_then(|end| end.of).is_none_or(|of| allowed.contains(&of))
}

/// The ends of a chart's axes; those of the vertical one only if they have its quantity.
pub fn ends(kind: Kind, typed: &Over) -> Ends {
    let allowed = upright(kind).map_or(&[][..], |(_, _, allowed)| allowed);
    let y = [&typed.y_min, &typed.y_max].map(Option::as_ref);
    let shown = y.iter().all(|end| fits(*end, allowed));
    let figure = |end: Option<&AxisEnd>| end.map(|end| end.figure);
    Ends {
        x: [&typed.x_min, &typed.x_max].map(|end| figure(end.as_ref())),
        y: if shown { y.map(figure) } else { [None, None] },
    }
}

/// Refuses ends that no chart can have: the lower above the upper, or of another quantity than the axis of
/// every named kind, or of all kinds if none is named.
pub fn check(kinds: &[Kind], typed: &Over) -> anyhow::Result<()> {
    for (axis, what, low, high) in
        [("x", "a size", &typed.x_min, &typed.x_max), ("y", "a figure", &typed.y_min, &typed.y_max)]
    {
        if let (Some(low), Some(high)) = (low, high)
            && low.figure >= high.figure
        {
            bail!(
                "`--{axis}-min` is not below `--{axis}-max`; an axis begins at {what} below that at which it ends"
            );
        }
    }
    for (flag, end) in [("--x-min", &typed.x_min), ("--x-max", &typed.x_max)] {
        if !fits(end.as_ref(), &[EndOf::Size]) {
            bail!("`{flag}` takes a size, such as `500 kB`: that is what the axis shows");
        }
    }
    let over: Vec<Kind> = Kind::ALL.into_iter().filter(|kind| upright(*kind).is_some()).collect();
    let asked: Vec<Kind> = kinds.iter().copied().filter(|kind| over.contains(kind)).collect();
    for (flag, end) in [("--y-min", &typed.y_min), ("--y-max", &typed.y_max)] {
        let wrong = |kind: &&Kind| upright(**kind).is_some_and(|(_, _, of)| !fits(end.as_ref(), of));
        if let Some((kind, (what, such, _))) =
            asked.iter().find(wrong).and_then(|kind| Some((kind, upright(*kind)?)))
        {
            bail!("`{flag}` of a chart `{kind}` takes {what}, such as `{such}`: that is what its axis shows");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Typed {
        #[command(flatten)]
        over: Over,
    }

    fn typed(line: &str) -> Over {
        Typed::parse_from(std::iter::once("plot").chain(line.split('|').filter(|word| !word.is_empty()))).over
    }

    #[test]
    fn an_end_has_the_quantity_of_its_axis() {
        let said = |kinds: &[Kind], line: &str| check(kinds, &typed(line)).map_err(|error| error.to_string());
        assert_eq!(said(&[Kind::Latency], "--y-max|100 us|--x-max|500 kB"), Ok(()));
        assert_eq!(said(&[Kind::Transfer], "--y-max|10 MB/s"), Ok(()));
        assert_eq!(
            said(&[Kind::Latency, Kind::Requests], "--y-max|5"),
            Ok(()),
            "a plain number is of every unit"
        );
        assert_eq!(said(&[], "--y-max|100 us"), Ok(()), "where no kind is named those that show it have it");
        let unit = said(&[Kind::Latency], "--y-max|10 MB/s").unwrap_err();
        assert!(unit.contains("takes a time, such as `100 us`"), "{unit}");
        let ratio = said(&[Kind::LatencyRelative], "--y-min|1 ms").unwrap_err();
        assert!(ratio.contains("takes a ratio"), "{ratio}");
        assert!(said(&[], "--x-min|1 ms").unwrap_err().contains("takes a size"));
        assert!(said(&[], "--x-min|2 kB|--x-max|1 kB").unwrap_err().contains("is not below"));
        assert!(said(&[], "--y-min|1|--y-max|1").unwrap_err().contains("is not below"));
    }

    #[test]
    fn a_chart_of_another_quantity_ignores_the_ends() {
        let own = |kind: Kind| ends(kind, &typed("--y-max|100 us|--x-min|1 kB"));
        assert_eq!(own(Kind::Latency), Ends { x: [Some(1000.0), None], y: [None, Some(100_000.0)] });
        assert_eq!(own(Kind::Transfer), Ends { x: [Some(1000.0), None], y: [None, None] });
    }
}
