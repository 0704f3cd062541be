//! Renders the calibration of the generator as text or JSON.

use weighbridge_model::calibration::{
    Ceiling, ErrorCurve, ErrorQuantile, GeneratorCalibration, HostGaps, Pacing, Waiting,
};

use crate::style::{Style, Tone};
use crate::table::{Align, Cell, Table};
use crate::text::grouped;
use crate::{Format, FormatError, TextOptions, json};

pub fn render(
    format: Format,
    calibration: &GeneratorCalibration,
    options: &TextOptions<'_>,
) -> Result<String, FormatError> {
    match format {
        Format::Text => Ok(text(calibration, options.style, options.width())),
        Format::Json => Ok(json::pretty(calibration)),
        Format::Csv | Format::Markdown | Format::Html => {
            Err(FormatError::Unavailable { format, what: "a calibration", allowed: "text, json" })
        }
    }
}

fn text(calibration: &GeneratorCalibration, style: Style, columns: usize) -> String {
    let mut lines = Vec::new();
    let mut section = |title: &str, table: &Table| {
        lines.push(style.paint(Tone::Strong, title));
        lines.extend(table.lines(style, columns));
        lines.push(String::new());
    };
    section(
        "Error: measured response minus replayed truth, per request, in µs",
        &errors(&calibration.errors),
    );
    section("Punctuality of open load against a server without delay", &pacing(&calibration.pacing));
    section("Ceiling: closed load against a server without delay", &ceilings(&calibration.ceilings));
    if let Some(gaps) = &calibration.gaps {
        lines.extend(host(gaps, style));
    }
    lines.join("\n")
}

/// From this share of time on, gaps of the host appear in a 99th percentile.
const IN_A_P99: f64 = 0.01;

/// Time that the host takes, and its effect on a percentile.
fn host(gaps: &HostGaps, style: Style) -> Vec<String> {
    let share = gaps.share.get();
    let mut lines = vec![
        style.paint(
            Tone::Strong,
            "Host: what others took of the client's core while the services' cores were busy",
        ),
        format!("  {:.2} % of the time, {:.1} gaps/s of 50 µs or more", share * 100.0, gaps.rate.get()),
        format!("  the longest {}", gaps.longest),
    ];
    if share >= IN_A_P99 {
        lines.push("  that is in every 99th percentile; quiet the machine".to_owned());
    }
    lines.push(String::new());
    lines
}

/// One line per law and shape; only JSON has the intervals.
fn errors(curves: &[ErrorCurve]) -> Table {
    let mut table = Table::new([&[Align::Left][..], &[Align::Right; 6]].concat(), 2);
    let titles = ["  shape", "requests", "p50", "p99", "max", "p50 beyond", "p99 beyond"];
    table.push(titles.map(Cell::new).to_vec());
    let mut law = None;
    for curve in curves {
        if law != Some(&curve.law) {
            table.line(curve.law.clone());
            law = Some(&curve.law);
        }
        let point = |quantile: ErrorQuantile| micros(quantile.point);
        table.push(vec![
            Cell::new(format!("  {}", curve.shape)),
            Cell::new(grouped(curve.requests)),
            Cell::new(point(curve.p50)),
            Cell::new(curve.p99.map_or("–".to_owned(), point)),
            Cell::new(micros(curve.max)),
            Cell::new(curve.beyond_null_p50.map(micros).unwrap_or_default()),
            Cell::new(curve.beyond_null_p99.map(micros).unwrap_or_default()),
        ]);
    }
    table
}

fn pacing(rows: &[Pacing]) -> Table {
    let mut table = Table::new([&[Align::Right, Align::Left][..], &[Align::Right; 4]].concat(), 2);
    let titles = ["rate", "waiting", "due", "achieved", "lag p50", "lag p99"];
    table.push(titles.map(Cell::new).to_vec());
    for row in rows {
        let waiting = match row.waiting {
            Waiting::Sleeping => "sleeping",
            Waiting::Spinning => "spinning",
        };
        table.push(vec![
            Cell::new(format!("{}/s", grouped(row.rate.get() as u64))),
            Cell::new(waiting),
            Cell::new(grouped(row.due)),
            Cell::new(format!("{:.2} %", row.achieved.get() * 100.0)),
            Cell::new(format!("{} µs", micros(row.lag_p50.as_nanos() as i64))),
            Cell::new(format!("{} µs", micros(row.lag_p99.as_nanos() as i64))),
        ]);
    }
    table
}

fn ceilings(rows: &[Ceiling]) -> Table {
    let mut table = Table::new([Align::Right; 4], 2);
    let titles = ["connections", "in flight", "requests/s", "requests/CPU s"];
    table.push(titles.map(Cell::new).to_vec());
    for row in rows {
        table.push(vec![
            Cell::new(grouped(u64::from(row.connections))),
            Cell::new(grouped(u64::from(row.in_flight))),
            Cell::new(grouped(row.throughput.get() as u64)),
            Cell::new(grouped(row.per_cpu_second.get() as u64)),
        ]);
    }
    table
}

fn micros(nanos: i64) -> String {
    format!("{:.1}", nanos as f64 / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use weighbridge_model::calibration::CALIBRATION_VERSION;
    use weighbridge_model::quantity::{Nanoseconds, PerSecond, Ratio};

    #[test]
    fn the_text_is_the_golden_one_and_fits_a_terminal() {
        let quantile = |point| ErrorQuantile { point, lower: point - 100, upper: point + 100 };
        let curve = |law: &str, shape: &str, p99, beyond| ErrorCurve {
            law: law.to_owned(),
            shape: shape.to_owned(),
            requests: 2_000,
            truth_p50: Nanoseconds::from_micros(100),
            p50: quantile(12_340),
            p90: Some(quantile(15_000)),
            p99,
            max: 1_234_567,
            beyond_null_p50: beyond,
            beyond_null_p99: beyond,
        };
        let per_second = |count| PerSecond::from_count(count, Nanoseconds::from_secs(1));
        let calibration = GeneratorCalibration {
            idle: Default::default(),
            schema: CALIBRATION_VERSION,
            gaps: Some(HostGaps {
                watched: Nanoseconds::from_secs(2),
                share: Ratio::new(0.0327),
                rate: per_second(25),
                longest: Nanoseconds::from_micros(19_395),
            }),
            errors: vec![
                curve("constant:time=0ns", "closed, 1 connection", Some(quantile(20_000)), None),
                curve("bimodal:low=100us,high=2ms,share=5%", "open, Poisson", None, Some(-300)),
            ],
            pacing: vec![Pacing {
                rate: per_second(40_000),
                waiting: Waiting::Spinning,
                due: 80_000,
                achieved: Ratio::new(0.9999),
                lag_p50: Nanoseconds::from_nanos(900),
                lag_p99: Nanoseconds::from_nanos(14_200),
            }],
            ceilings: vec![Ceiling {
                connections: 16,
                in_flight: 1,
                throughput: per_second(180_000),
                per_cpu_second: per_second(400_000),
            }],
            took: Nanoseconds::from_secs(100),
        };
        let text = render(Format::Text, &calibration, &TextOptions::default()).expect("text");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/calibration.txt");
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(golden, &text).expect("written");
        }
        assert_eq!(text, std::fs::read_to_string(golden).expect("the golden file"));
        assert!(render(Format::Csv, &calibration, &TextOptions::default()).is_err());
    }
}
