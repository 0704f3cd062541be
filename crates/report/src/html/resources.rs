//! What variants use: CPU, memory and bytes with their intervals, and the kernel's counts of the sockets.

use weighbridge_model::estimate::{Estimate, Quantity};
use weighbridge_model::record::Traffic;
use weighbridge_model::summary::{CpuRoles, Summary, VariantSummary};

use super::escape::{attributes, escape, figure, suffix};
use super::quiet;
use super::tables::{estimate_cell, number};
use crate::text::grouped;
use crate::view::{self, Point};
use crate::words;

const QUANTITIES: [Quantity; 4] =
    [Quantity::CpuPerOperation, Quantity::MemoryPeak, Quantity::BytesPerOperation, Quantity::Throughput];

pub(crate) fn section(summary: &Summary) -> String {
    let body: String = view::points(summary).iter().map(table).collect();
    let body = format!("{body}{}", summary.cpu_roles.as_ref().map(roles).unwrap_or_default());
    if body.is_empty() { quiet("No resources were accounted in this run.") } else { body }
}

/// CPU by role over the whole run.
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
         </caption><thead><tr><th scope=\"col\">role</th><th scope=\"col\" class=\"n\">cores</th><th scope=\"col\" class=\"n\">\
         interval</th></tr></thead><tbody>\n{}</tbody></table></div>\n",
        roles.resolution,
        rows.map(row).concat()
    )
}

fn table(point: &Point<'_>) -> String {
    if point.variants.is_empty() {
        return String::new();
    }
    let name = words::point(point.label);
    let (filter, suffix) = (attributes(&[("point", &name)]), suffix(&name));
    let heads = ["CPU/op", "memory peak", "bytes/op", "throughput", "sent", "received"]
        .into_iter()
        .chain(["segments out / in", "retransmits"])
        .map(|head| format!("<th scope=\"col\" class=\"n\">{head}</th>"))
        .collect::<String>();
    format!(
        "<div class=\"scroll\"{filter}><table class=\"resources sortable\"><caption>Figures with 95 % intervals, and traffic on \
         the generator’s sockets{suffix}</caption><thead><tr><th scope=\"col\">variant</th>{heads}</tr></thead><tbody>\n{}\
         </tbody></table></div>\n",
        point.variants.iter().map(|variant| row(variant)).collect::<String>()
    )
}

fn row(variant: &VariantSummary) -> String {
    let filter = attributes(&[("variant", &variant.name), ("point", &words::point(&variant.point))]);
    let estimates: String = QUANTITIES
        .into_iter()
        .map(|quantity| estimate_cell(quantity.unit(), view::overall(variant, quantity)))
        .collect();
    let traffic = &variant.traffic;
    let pairs = format!("{} / {}", grouped(traffic.segments_out), grouped(traffic.segments_in));
    let counts = [
        (traffic.sent.get(), traffic.sent.to_string()),
        (traffic.received.get(), traffic.received.to_string()),
        (traffic.segments_out, segments(traffic, pairs)),
        (traffic.retransmits, segments(traffic, grouped(traffic.retransmits))),
    ];
    let counts = counts.map(|(count, shown)| {
        format!("<td class=\"n\"{}>{}</td>", number(Some(count as f64)), figure(&shown))
    });
    format!(
        "<tr{filter}><th scope=\"row\">{}</th>{estimates}{}</tr>\n",
        escape(&variant.name),
        counts.concat()
    )
}

/// A count of segments. If bytes were sent without any, they went through Unix sockets, which have none.
fn segments(traffic: &Traffic, shown: String) -> String {
    let is_unix = traffic.segments_out == 0 && traffic.sent.get() > 0;
    if is_unix { "not available".to_owned() } else { shown }
}
