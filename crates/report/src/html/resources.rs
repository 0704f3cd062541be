//! What a variant uses: CPU, memory and bytes with their intervals, and the kernel's counts on the sockets.

use weighbridge_model::record::Traffic;
use weighbridge_model::summary::{CpuRoles, Estimate, Quantity, Summary, VariantSummary};

use super::axis::{Scale, Spread};
use super::escape::{escape, figure};
use super::svg::{Anchor, Canvas};
use super::{figure_element, label, quiet, series};
use crate::text::grouped;
use crate::view::{self, Point};
use crate::words;

const QUANTITIES: [Quantity; 3] =
    [Quantity::CpuPerOperation, Quantity::MemoryPeak, Quantity::BytesPerOperation];
const WIDTH: f64 = 300.0;
const ROW: f64 = 40.0;

/// Dot plots and a table for each point.
pub(crate) fn section(summary: &Summary) -> String {
    let each = view::points(summary);
    let body: String =
        each.iter().map(|point| format!("{}{}", plots(summary, point), table(point))).collect();
    let body = format!("{body}{}", summary.cpu_roles.as_ref().map(roles).unwrap_or_default());
    if body.is_empty() { quiet("No resources were accounted in this run.") } else { body }
}

/// The machine's CPU by role, which is of the run as a whole.
fn roles(roles: &CpuRoles) -> String {
    let rows = [
        ("whole machine", &roles.busy),
        ("generator", &roles.generator),
        ("machine without generator", &roles.beside_generator),
        ("service: all variants", &roles.service),
        ("unattributed: interrupts, kernel threads, others", &roles.unattributed),
    ];
    let row = |(name, estimate): (&str, &Estimate)| {
        let interval = match estimate.interval() {
            Some((lower, upper)) => format!("{lower:.3} to {upper:.3}"),
            None => "too few blocks".to_owned(),
        };
        let point = figure(&format!("{:.3}", estimate.point));
        format!(
            "<tr><th scope=\"row\">{name}</th><td class=\"n\">{point}</td><td class=\"n\">{}</td></tr>\n",
            figure(&interval)
        )
    };
    format!(
        "<div class=\"scroll\"><table class=\"roles\"><caption>Cores kept busy while variants were measured, all together, \
         with 95 % intervals over blocks. The kernel tells whole ticks: in a block the machine may be off by {:.3}.\
         </caption><thead><tr><th scope=\"col\">role</th><th scope=\"col\">cores</th><th scope=\"col\">interval</th>\
         </tr></thead><tbody>\n{}</tbody></table></div>\n",
        roles.resolution,
        rows.map(row).concat()
    )
}

fn plots(summary: &Summary, point: &Point<'_>) -> String {
    let plots: String = QUANTITIES.into_iter().map(|quantity| plot(summary, point, quantity)).collect();
    if plots.is_empty() { plots } else { format!("<div class=\"trio\">{plots}</div>\n") }
}

fn plot(summary: &Summary, point: &Point<'_>, quantity: Quantity) -> String {
    let rows: Vec<(&VariantSummary, &Estimate)> =
        point.variants.iter().filter_map(|v| Some((*v, view::overall(v, quantity)?))).collect();
    let highest = rows.iter().map(|(_, e)| e.upper.unwrap_or(e.point).max(e.point)).fold(0.0, f64::max);
    if highest <= 0.0 {
        return String::new();
    }
    let scale = Scale::new(Spread::Linear, (0.0, highest * 1.05), (6.0, WIDTH - 6.0));
    let bottom = ROW * rows.len() as f64 + 8.0;
    let mut canvas = Canvas::new(WIDTH, bottom + 26.0);
    for (value, text) in scale.labelled(quantity.unit(), 3) {
        let x = scale.at(value);
        canvas.line((x, 0.0), (x, bottom), "grid");
        let anchor = if value == 0.0 { Anchor::Start } else { Anchor::Middle };
        canvas.figures((if value == 0.0 { 0.0 } else { x }, bottom + 16.0), anchor, "tick", &text);
    }
    for (at, of_variant) in rows.iter().enumerate() {
        row(&mut canvas, summary, *of_variant, quantity, &scale, ROW * at as f64);
    }
    let of = words::point(point.label);
    let name = super::capital(&label(quantity));
    let title = if of.is_empty() { name } else { format!("{name}, {of}") };
    figure_element(&title, &canvas.finish(&title), "")
}

fn row(
    canvas: &mut Canvas,
    summary: &Summary,
    (variant, estimate): (&VariantSummary, &Estimate),
    quantity: Quantity,
    scale: &Scale,
    top: f64,
) {
    let shown = words::absolute(quantity.unit(), estimate);
    let class = series(summary, &variant.name);
    canvas.text((6.0, top + 16.0), Anchor::Start, "label", &short(&variant.name));
    canvas.figures((WIDTH - 6.0, top + 16.0), Anchor::End, "label strong", &shown.point);
    let y = top + 28.0;
    canvas.line((scale.at(0.0), y), (scale.at(estimate.point), y), &format!("stem {class}"));
    if let Some((lower, upper)) = estimate.interval() {
        canvas.line((scale.at(lower), y), (scale.at(upper), y), &format!("whisker {class}"));
    }
    let title = format!("{} {}", shown.point, shown.interval.unwrap_or_default());
    canvas.dot((scale.at(estimate.point), y), 4.5, &format!("dot {class}"), &title);
}

/// A name that fits a small plot.
fn short(name: &str) -> String {
    const MOST: usize = 26;
    if name.chars().count() <= MOST {
        return name.to_owned();
    }
    format!("{}…", name.chars().take(MOST - 1).collect::<String>())
}

fn table(point: &Point<'_>) -> String {
    if point.variants.is_empty() {
        return String::new();
    }
    let of = words::point(point.label);
    let of = if of.is_empty() { of } else { format!(", {}", escape(&of)) };
    let mut text = format!(
        "<div class=\"scroll\"><table class=\"resources\"><caption>Figures with 95 % intervals, and traffic on the generator’s \
         sockets{of}</caption><thead><tr><th scope=\"col\">variant</th><th scope=\"col\">CPU per operation</th>\
         <th scope=\"col\">memory peak</th><th scope=\"col\">bytes per operation</th><th scope=\"col\">throughput</th>\
         <th scope=\"col\">sent</th><th scope=\"col\">received</th><th scope=\"col\">segments out / in</th>\
         <th scope=\"col\">retransmits</th></tr></thead><tbody>\n"
    );
    for variant in &point.variants {
        text.push_str(&format!("<tr><th scope=\"row\">{}</th>", escape(&variant.name)));
        for quantity in QUANTITIES.into_iter().chain([Quantity::Throughput]) {
            text.push_str(&super::tables::estimate_cell(quantity.unit(), view::overall(variant, quantity)));
        }
        let traffic = &variant.traffic;
        let counts = [
            traffic.sent.to_string(),
            traffic.received.to_string(),
            segments(
                traffic,
                format!("{} / {}", grouped(traffic.segments_out), grouped(traffic.segments_in)),
            ),
            segments(traffic, grouped(traffic.retransmits)),
        ];
        text.push_str(&counts.map(|count| format!("<td class=\"n\">{}</td>", figure(&count))).concat());
        text.push_str("</tr>\n");
    }
    text.push_str("</tbody></table></div>\n");
    text
}

/// A count of segments, where there are any: bytes without one went through Unix sockets, which have none.
fn segments(traffic: &Traffic, shown: String) -> String {
    let is_unix = traffic.segments_out == 0 && traffic.sent.get() > 0;
    if is_unix { "not available".to_owned() } else { shown }
}
