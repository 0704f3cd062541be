//! The parts of the time of relayed requests, as text rows for every format.

use weighbridge_model::estimate::{Unit, Verdict};
use weighbridge_model::id::PointLabel;
use weighbridge_model::parts::{PartCost, PartTimes, RelayParts, TimePart};
use weighbridge_model::summary::Summary;

use crate::style::{Style, Tone};
use crate::table::{Align, Cell, Table};
use crate::text::{clean, counted, hanging};
use crate::words;

/// A terminal shows sizes up to this many.
const FEW_SIZES: usize = 3;

/// Columns after the part's name.
pub(crate) const HEADS: [&str; 5] = ["mean", "95 % interval", "p50", "mean against baseline", "verdict"];

/// The part in words, and the cells under [`HEADS`].
pub(crate) struct PartRow {
    pub(crate) part: String,
    pub(crate) cells: [String; 5],
    pub(crate) tone: Tone,
}

pub(crate) fn at<'a>(summary: &'a Summary, point: &PointLabel) -> Vec<&'a RelayParts> {
    summary.relays.iter().filter(|relay| relay.point == *point).collect()
}

pub(crate) fn rows(relay: &RelayParts) -> Vec<PartRow> {
    relay.parts.iter().map(|part| row(relay, part)).collect()
}

/// The rows of one relay, by range of sizes in words.
pub(crate) fn sized(relay: &RelayParts) -> Vec<(String, Vec<PartRow>)> {
    let class_rows = |class: &weighbridge_model::parts::SizedParts| {
        let rows = class.parts.iter().map(|part| row(relay, part)).collect();
        (format!("{}, {}", range(class.from_bytes, class.to_bytes), counted(class.requests, "request")), rows)
    };
    relay.sizes.iter().map(class_rows).collect()
}

/// `64 B`, `100 B to 999 B`
pub(crate) fn range(from: u64, to: u64) -> String {
    let size = |bytes: u64| weighbridge_model::quantity::Bytes::new(bytes).to_string();
    if from == to { size(from) } else { format!("{} to {}", size(from), size(to)) }
}

fn row(relay: &RelayParts, part: &PartTimes) -> PartRow {
    let mean = words::absolute(Unit::Ns, &part.mean_ns);
    let p50 = part.p50_ns.as_ref().map_or_else(|| "–".to_owned(), |p50| words::absolute(Unit::Ns, p50).point);
    let (against, verdict, tone) =
        part.cost.as_ref().map_or_else(|| (String::new(), String::new(), Tone::Plain), cost);
    PartRow {
        part: name(part.part, relay.direct.as_deref()),
        cells: [mean.point, mean.interval.unwrap_or_default(), p50, against, verdict],
        tone,
    }
}

fn cost(cost: &PartCost) -> (String, String, Tone) {
    let tone = words::tone_of(cost.verdict, cost.effect);
    if cost.verdict == Verdict::Invalid {
        return (String::new(), cost.verdict.name().to_owned(), tone);
    }
    let verdict = words::verdict_of(cost.verdict, cost.effect);
    (words::joined(&words::change(&cost.ratio)), verdict, tone)
}

fn name(part: TimePart, direct: Option<&str>) -> String {
    match part {
        TimePart::Waiting => "waiting at the client".to_owned(),
        TimePart::Outside => "outside its call: its server".to_owned(),
        TimePart::Inside => "inside its call".to_owned(),
        TimePart::Server => format!("  server: {}, directly", clean(direct.unwrap_or("the peer"))),
        TimePart::Client => "  client: what is left".to_owned(),
        TimePart::Response => "response time".to_owned(),
    }
}

/// A sentence on the requests that the rows are computed from.
pub(crate) fn basis(relay: &RelayParts) -> String {
    let mut text = format!("of {}", counted(relay.requests, "good reply").replace("replys", "replies"));
    if relay.left_out > 0 {
        text.push_str(&format!("; {} not kept one by one", counted(relay.left_out, "request")));
    }
    text.push_str(&format!("; {} failed", counted(relay.failed, "request")));
    text.push_str(&match relay.retried {
        0 => "; the relay repeated none".to_owned(),
        retried => format!(
            "; the relay repeated {}, {} in all",
            counted(retried, "request"),
            counted(relay.retries, "time")
        ),
    });
    text.push_str("; means add up, medians do not");
    text
}

/// The costs of the parts in a sentence, if there are any.
fn against(relay: &RelayParts) -> Option<String> {
    let part = |part: &PartTimes| {
        let (difference, verdict, _) = cost(part.cost.as_ref()?);
        Some(format!("{} {difference} {verdict}", part.part.name()))
    };
    let costs: Vec<String> = relay.parts.iter().filter_map(part).collect();
    (!costs.is_empty()).then(|| format!("means against the baseline's: {}", costs.join("; ")))
}

/// The tables of a point's relays for a terminal.
pub(crate) fn point_lines(relays: &[&RelayParts], style: Style, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for relay in relays {
        let mut table = Table::new([Align::Left, Align::Right, Align::Left, Align::Right], 2);
        let title = std::iter::once("where the time went").chain(HEADS.into_iter().take(3));
        table.push(title.map(Cell::new).collect());
        rows(relay).into_iter().for_each(|row| push(&mut table, "  ", row));
        against(relay).into_iter().for_each(|text| table.line(hanging("  ", &text, columns)));
        let sizes = sized(relay);
        for (size, rows) in sizes.into_iter().filter(|_| relay.sizes.len() <= FEW_SIZES) {
            table.line(format!("  {size}"));
            rows.into_iter().for_each(|row| push(&mut table, "    ", row));
        }
        lines.extend([String::new(), clean(&relay.variant)]);
        lines.extend(table.lines(style, columns));
        lines.push(hanging("  ", &basis(relay), columns));
    }
    lines
}

fn push(table: &mut Table, lead: &str, row: PartRow) {
    let [mean, interval, p50, ..] = row.cells;
    table.push([format!("{lead}{}", row.part), mean, interval, p50].into_iter().map(Cell::new).collect());
}
