//! Costs as comma-separated values, quoted by RFC 4180: one cost a line, figures in the base unit that stands beside
//! them, nothing rounded. Absent figures are empty fields.

use weighbridge_model::summary::{Cost, Effect, Estimate, PointLabel, Summary};

use crate::words::baseline;

const HEADER: &str = "run,point,variant,baseline,operation,quantity,unit,difference,difference_lower,\
difference_upper,ratio,ratio_lower,ratio_upper,level,blocks,verdict,effect,reason,p,headline";

/// The costs of one or several runs under one header; lines end with CR LF.
pub fn costs(summaries: &[&Summary]) -> String {
    let mut text = format!("{HEADER}\r\n");
    for summary in summaries {
        for cost in &summary.costs {
            line(&mut text, &fields(summary, cost));
        }
    }
    text
}

/// One line of `fields`, quoted where they need it.
pub(crate) fn line(text: &mut String, fields: &[String]) {
    let quoted: Vec<String> = fields.iter().map(|field| quote(field)).collect();
    text.push_str(&quoted.join(","));
    text.push_str("\r\n");
}

fn fields(summary: &Summary, cost: &Cost) -> Vec<String> {
    let effect = cost.effect.map_or("", |effect| match effect {
        Effect::Better => "better",
        Effect::Worse => "worse",
    });
    let any = cost.difference.as_ref().or(cost.ratio.as_ref());
    let mut fields = vec![
        summary.run.clone(),
        point(&cost.point),
        cost.variant.clone(),
        baseline(summary, &cost.point).to_owned(),
        cost.operation.clone(),
        cost.quantity.name().to_owned(),
        unit(cost.unit).to_owned(),
    ];
    fields.extend(figures(cost.difference.as_ref()));
    fields.extend(figures(cost.ratio.as_ref()));
    fields.extend([
        any.map(|estimate| estimate.level.to_string()).unwrap_or_default(),
        any.map(|estimate| estimate.blocks.to_string()).unwrap_or_default(),
        cost.verdict.name().to_owned(),
        effect.to_owned(),
        cost.reason.clone().unwrap_or_default(),
        optional(cost.p),
        cost.headline.to_string(),
    ]);
    fields
}

/// The unit as in JSON.
const fn unit(unit: weighbridge_model::summary::Unit) -> &'static str {
    use weighbridge_model::summary::Unit;
    match unit {
        Unit::Ns => "ns",
        Unit::Bytes => "bytes",
        Unit::PerSecond => "per_second",
    }
}

fn figures(estimate: Option<&Estimate>) -> [String; 3] {
    estimate.map_or_else(Default::default, |e| [e.point.to_string(), optional(e.lower), optional(e.upper)])
}

fn optional(value: Option<f64>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

fn point(label: &PointLabel) -> String {
    label.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(";")
}

/// A field as RFC 4180 wants it: quoted where it holds a comma, a quote or a line end, quotes doubled.
fn quote(field: &str) -> String {
    if field.contains([',', '"', '\r', '\n']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_only_where_needed() {
        for (field, quoted) in [
            ("plain", "plain"),
            ("a,b", "\"a,b\""),
            ("say \"hi\"", "\"say \"\"hi\"\"\""),
            ("two\r\nlines", "\"two\r\nlines\""),
        ] {
            assert_eq!(quote(field), quoted);
        }
    }
}
