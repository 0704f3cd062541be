//! The parts of the time of relayed requests: byte for byte as text and Markdown, and with foreign names
//! escaped in the page. `UPDATE_GOLDEN=1` rewrites the golden files.

use weighbridge_model::estimate::{Effect, Estimate, Verdict};
use weighbridge_model::id::PointLabel;
use weighbridge_model::parts::{
    Carried, PartCost, PartTimes, RelayParts, SizedCarried, SizedParts, TimePart,
};
use weighbridge_model::summary::{RoleUse, Summary};
use weighbridge_report::{Format, Style, TextOptions};

use crate::support::{self, golden};

fn estimate(point: f64) -> Estimate {
    let half = point.abs() * 0.01;
    let (lower, upper) = (Some(point - half), Some(point + half));
    Estimate { point, lower, upper, level: 0.95, blocks: 6, bootstrap: None }
}

fn parts(scale: f64, against: Option<Verdict>) -> Vec<PartTimes> {
    let means = [400.0, 41_000.0, 62_000.0, 24_000.0, 38_000.0, 103_400.0];
    let each = TimePart::ALL.into_iter().zip(means).map(|(part, mean)| {
        let single = !matches!(part, TimePart::Server | TimePart::Client);
        let cost = against.filter(|_| single).map(|verdict| PartCost {
            difference: estimate(mean * (scale - 1.0)),
            ratio: estimate(scale),
            verdict,
            effect: (verdict == Verdict::Higher).then_some(Effect::Worse),
            reason: None,
            p: Some(0.001),
        });
        PartTimes {
            part,
            mean_ns: estimate(mean * scale),
            p50_ns: single.then(|| estimate(0.9 * mean * scale)),
            cost,
        }
    });
    each.collect()
}

fn relay(variant: &str, scale: f64, against: Option<Verdict>) -> RelayParts {
    let size = |bytes, requests| SizedParts {
        from_bytes: bytes,
        to_bytes: bytes,
        requests,
        parts: parts(scale, None),
    };
    RelayParts {
        variant: variant.to_owned(),
        point: support::valid().variants[0].point.clone(),
        operation: "mping".to_owned(),
        requests: 96_000,
        failed: 3,
        left_out: if against.is_some() { 1_200 } else { 0 },
        retried: if against.is_some() { 2 } else { 0 },
        retries: if against.is_some() { 5 } else { 0 },
        direct: Some("rust alone".to_owned()),
        parts: parts(scale, against),
        sizes: vec![size(1_024, 48_000), size(65_536, 48_000)],
    }
}

fn relayed() -> Summary {
    let mut summary = support::valid();
    // The rest of the summary is kept short.
    let point = summary.variants[0].point.clone();
    summary.costs.retain(|cost| cost.point == point && cost.headline);
    summary.variants.retain(|variant| variant.point == point);
    summary.conditions.truncate(1);
    summary.relays = vec![relay("rust", 1.0, None), relay("go", 1.4, Some(Verdict::Higher))];
    let point = &summary.variants[0].point;
    summary.carried = vec![carried("rust", 612e6, point), carried("go", 433e6, point)];
    summary.roles =
        [("service", 31_000.0), ("peer", 17_500.0)].map(|(role, cpu)| used("go", role, cpu, point)).into();
    summary
}

fn carried(variant: &str, rate: f64, point: &PointLabel) -> Carried {
    let size = |bytes, share: f64| SizedCarried {
        from_bytes: bytes,
        to_bytes: bytes,
        requests: 48_000,
        bytes_per_s: estimate(rate * share),
    };
    Carried {
        variant: variant.to_owned(),
        point: point.clone(),
        bytes_per_s: Some(estimate(rate)),
        sockets_bytes_per_s: Some(estimate(rate / 300.0)),
        sizes: vec![size(1_024, 1.0 / 65.0), size(65_536, 64.0 / 65.0)],
    }
}

fn used(variant: &str, role: &str, cpu: f64, point: &PointLabel) -> RoleUse {
    RoleUse {
        variant: variant.to_owned(),
        point: point.clone(),
        role: role.to_owned(),
        cpu_per_operation: Some(estimate(cpu)),
        memory_peak: Some(estimate(cpu * 1_000.0)),
    }
}

fn made(summary: &Summary, format: Format) -> String {
    let options = TextOptions { style: Style::Plain, columns: 80, place: None, details: true };
    support::made(summary, format, &options)
}

#[test]
fn a_run_of_relays_is_told_in_parts() {
    let summary = relayed();
    golden("relayed.txt", &made(&summary, Format::Text));
    golden("relayed.md", &made(&summary, Format::Markdown));
    let page = made(&summary, Format::Html).replace('\u{a0}', " ");
    assert!(page.contains("<h2>Where the time went</h2>"));
    for said in [
        "client: what is left",
        "<summary>By size</summary>",
        "higher (worse)",
        "rust, 64 B: 1 KiB, 48,000 requests",
    ] {
        assert!(page.contains(said), "{said}");
    }
    assert!(!made(&support::valid(), Format::Html).contains("Where the time went"));
}

#[test]
fn lines_fit_and_foreign_names_form_no_markup() {
    let mut summary = relayed();
    for relay in &mut summary.relays {
        relay.variant = "<script>alert(1)</script>".to_owned();
        relay.direct = Some("<b>|`x`".to_owned());
    }
    let (text, page) = (made(&summary, Format::Text), made(&summary, Format::Html));
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(!page.contains("<script>alert") && !page.contains("<b>|"));
    assert!(!made(&summary, Format::Markdown).contains("<script>"));
}
