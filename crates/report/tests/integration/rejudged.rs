//! A stored summary beside what the judge makes of its records now.

use weighbridge_model::estimate::Verdict;
use weighbridge_model::summary::Summary;
use weighbridge_report::rejudged::Rejudged;
use weighbridge_report::{DEFAULT_COLUMNS, Style};

use crate::support;

fn of<'s>(stored: &'s Summary, again: &'s Summary) -> Rejudged<'s> {
    Rejudged { stored, again, stored_by: Some("0.1.0"), judged_by: "0.2.0" }
}

#[test]
fn what_follows_from_the_records_is_one_line() {
    let stored = support::valid();
    let text = of(&stored, &stored).text(Style::Plain, DEFAULT_COLUMNS);
    assert!(text.contains("the stored summary follows from its records: "), "{text}");
    assert!(text.trim_end().lines().count() <= 2, "{text}");
}

#[test]
fn rounding_is_no_difference() {
    let (stored, mut again) = (support::valid(), support::valid());
    let ratio = again.costs[0].ratio.as_mut().expect("a ratio");
    ratio.point *= 1.0 + 1e-12;
    assert_eq!(of(&stored, &again).differences(), []);
    again.costs[0].ratio.as_mut().expect("a ratio").point *= 1.0 + 1e-6;
    let places: Vec<String> = of(&stored, &again).differences().into_iter().map(|one| one.place).collect();
    assert_eq!(places, ["/costs/0/ratio/point"]);
}

#[test]
fn other_words_are_told_and_are_no_difference() {
    let (stored, mut again) = (support::troubled(), support::troubled());
    again.findings[0].evidence.push_str(" indeed");
    let result = of(&stored, &again);
    assert!(result.agrees(), "{:?}", result.differences());
    let text = result.text(Style::Plain, DEFAULT_COLUMNS);
    assert!(text.contains("follows from its records") && text.contains("1 text worded otherwise"), "{text}");
}

#[test]
fn costs_that_differ_stand_side_by_side() {
    let (stored, mut again) = (support::valid(), support::valid());
    (again.costs[0].verdict, again.costs[0].effect) = (Verdict::Undecided, None);
    again.costs[0].ratio = Some(support::estimate(1.01, 0.04));
    again.costs.pop();
    again.findings.clear();
    again.margin = weighbridge_model::quantity::Ratio::new(0.05);
    support::golden("rejudged.txt", &of(&stored, &again).text(Style::Plain, DEFAULT_COLUMNS));
}
