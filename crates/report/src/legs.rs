//! The legs of service times, as text rows for every format.

use weighbridge_model::legs::{LegTimes, StampSummary};
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::summary::VariantSummary;

use crate::style::Style;
use crate::table::{Align, Cell, Table};
use crate::text::{clean, counted, hanging};

type Statistic = (&'static str, fn(&LegTimes) -> Option<Nanoseconds>);

pub(crate) const STATISTICS: [Statistic; 4] = [
    ("mean", |times| Some(times.mean)),
    ("p50", |times| times.p50),
    ("p90", |times| times.p90),
    ("p99", |times| times.p99),
];

pub(crate) fn shown(time: Option<Nanoseconds>) -> String {
    time.map_or_else(|| "–".to_owned(), |time| time.to_string())
}

/// Each row's name in words, its name in files, and the times.
pub(crate) fn rows(stamps: &StampSummary) -> Vec<(&'static str, &'static str, LegTimes)> {
    let rows = [
        ("client send", "client_send", stamps.client_send),
        ("outside: wire and server", "outside", stamps.outside),
        ("  server at most", "server_at_most", stamps.server_at_most),
        ("client receive", "client_receive", stamps.client_receive),
    ];
    rows.into_iter().filter_map(|(words, name, times)| Some((words, name, times?))).collect()
}

/// A sentence on the stamps that the rows are computed from, or why there are none.
pub(crate) fn basis(stamps: &StampSummary) -> String {
    let unavailable = stamps.unavailable.as_deref().map(|why| format!("unavailable: {}", clean(why)));
    if stamps.outside.is_none() {
        return format!("kernel time stamps {}", unavailable.unwrap_or_else(|| "of no request".to_owned()));
    }
    let unmatched = match stamps.unmatched {
        0 => String::new(),
        count => format!(", {count} without"),
    };
    let wire = stamps.round_trip.map_or_else(String::new, |time| format!("; shortest round trip {time}"));
    let some = unavailable.map_or_else(String::new, |why| format!("; {why}"));
    let requests = counted(stamps.requests, "request");
    format!("kernel time stamps of {requests}{unmatched}; clocks to ±{}{wire}{some}", stamps.clock_error)
}

/// The table of one variant or load, with its basis.
pub(crate) fn lines(stamps: &StampSummary, style: Style, columns: usize) -> Vec<String> {
    let mut align = vec![Align::Right; STATISTICS.len() + 1];
    align[0] = Align::Left;
    let mut table = Table::new(align, 3);
    let rows = rows(stamps);
    if !rows.is_empty() {
        let heads = STATISTICS.map(|(name, _)| Cell::new(name));
        table.push(std::iter::once(Cell::new("where the service time went")).chain(heads).collect());
    }
    for (words, _, times) in rows {
        let figures = STATISTICS.map(|(_, statistic)| Cell::new(shown(statistic(&times))));
        table.push(std::iter::once(Cell::new(format!("  {words}"))).chain(figures).collect());
    }
    let mut lines = table.lines(style, columns);
    lines.push(hanging("  ", &basis(stamps), columns));
    lines
}

/// The tables of those variants for which stamps were asked for.
pub(crate) fn variant_lines(variants: &[&VariantSummary], style: Style, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for variant in variants {
        if let Some(stamps) = &variant.kernel_timestamps {
            lines.extend([String::new(), clean(&variant.name)]);
            lines.extend(self::lines(stamps, style, columns));
        }
    }
    lines
}
