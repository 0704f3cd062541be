//! Verdicts and gates as test cases in JUnit's XML, which CI systems show. A failed gate is a failure, a
//! figure that must not be used is an error, and a withheld one is skipped. A verdict never fails by itself:
//! a gate decides whether `higher` is acceptable.

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};
use weighbridge_model::estimate::{Validity, Verdict};
use weighbridge_model::gate::GateResult;
use weighbridge_model::summary::{Cost, Summary};

use crate::text::clean;
use crate::view::{self, Pair};
use crate::words;

struct Case {
    class: String,
    name: String,
    result: CaseResult,
    /// The cost in words, as the case's output.
    output: Option<String>,
}

enum CaseResult {
    Passed,
    Failed(String),
    Error(String),
    Skipped(String),
}

/// The cases of one point, of the gates, or of unavailable variants.
struct Suite {
    name: String,
    cases: Vec<Case>,
}

pub(crate) fn cases(summary: &Summary, gates: &[GateResult]) -> String {
    let suites = suites(summary, gates);
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    // Writing to memory cannot fail.
    let written = document(&mut writer, summary, &suites);
    debug_assert!(written.is_ok());
    let mut text = String::from_utf8(writer.into_inner()).unwrap_or_default();
    text.push('\n');
    text
}

fn suites(summary: &Summary, gates: &[GateResult]) -> Vec<Suite> {
    let mut suites: Vec<Suite> = view::points(summary)
        .iter()
        .map(|point| Suite {
            name: suite_name(&summary.title, &words::point(point.label)),
            cases: point.pairs.iter().flat_map(|pair| pair_cases(summary, pair)).collect(),
        })
        .collect();
    if !gates.is_empty() {
        let cases = gates.iter().map(|gate| gate_case(summary, gate)).collect();
        suites.push(Suite { name: suite_name(&summary.title, "gates"), cases });
    }
    if !summary.unavailable.is_empty() {
        let case = |(name, reason): &(String, String)| Case {
            class: summary.title.clone(),
            name: name.clone(),
            result: CaseResult::Skipped(reason.clone()),
            output: None,
        };
        let cases = summary.unavailable.iter().map(case).collect();
        suites.push(Suite { name: suite_name(&summary.title, "unavailable"), cases });
    }
    suites
}

fn suite_name(title: &str, what: &str) -> String {
    if what.is_empty() { title.to_owned() } else { format!("{title}: {what}") }
}

fn pair_cases(summary: &Summary, pair: &Pair<'_>) -> Vec<Case> {
    let several = words::several_operations(summary);
    let case = |cost: &&Cost| {
        let operation = if several { format!("{} ", cost.operation) } else { String::new() };
        let reason = || cost.reason.clone().unwrap_or_else(|| cost.verdict.name().to_owned());
        let (result, output) = match cost.verdict {
            Verdict::Invalid => (CaseResult::Error(reason()), None),
            Verdict::Withheld => (CaseResult::Skipped(reason()), None),
            _ => (CaseResult::Passed, Some(words::sentence(summary, cost))),
        };
        let class = format!("{} against {}", pair.variant, pair.baseline);
        Case { class, name: format!("{operation}{}", words::label(cost.quantity)), result, output }
    };
    pair.costs.iter().map(case).collect()
}

/// A gate that passed on an invalid run shows nothing, so it is an error.
fn gate_case(summary: &Summary, gate: &GateResult) -> Case {
    let (result, output) = match gate.passed {
        false => (CaseResult::Failed(gate.to_string()), None),
        true if summary.validity == Validity::Invalid => {
            (CaseResult::Error("the run is invalid: its figures must not be used".to_owned()), None)
        }
        true => (CaseResult::Passed, Some(gate.to_string())),
    };
    let name = format!("{} {}", gate.gate.kind.name(), gate.gate);
    Case { class: summary.title.clone(), name, result, output }
}

fn document(writer: &mut Writer<Vec<u8>>, summary: &Summary, suites: &[Suite]) -> std::io::Result<()> {
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let all = || suites.iter().flat_map(|suite| &suite.cases);
    let [tests, failures, errors, skipped] = counts(all());
    let took = format!("{:.3}", summary.took.as_secs_f64());
    writer
        .create_element("testsuites")
        .with_attribute(("name", xml_text(&summary.run).as_str()))
        .with_attributes([("tests", tests.as_str()), ("failures", &failures), ("errors", &errors)])
        .with_attributes([("skipped", skipped.as_str()), ("time", &took)])
        .write_inner_content(|writer| suites.iter().try_for_each(|one| suite(writer, summary, one)))?;
    Ok(())
}

fn suite(writer: &mut Writer<Vec<u8>>, summary: &Summary, suite: &Suite) -> std::io::Result<()> {
    let [tests, failures, errors, skipped] = counts(suite.cases.iter());
    writer
        .create_element("testsuite")
        .with_attribute(("name", xml_text(&suite.name).as_str()))
        .with_attribute(("timestamp", xml_text(&summary.started).as_str()))
        .with_attributes([("tests", tests.as_str()), ("failures", &failures), ("errors", &errors)])
        .with_attribute(("skipped", skipped.as_str()))
        .write_inner_content(|writer| suite.cases.iter().try_for_each(|one| case(writer, one)))?;
    Ok(())
}

fn case(writer: &mut Writer<Vec<u8>>, case: &Case) -> std::io::Result<()> {
    let element = writer
        .create_element("testcase")
        .with_attribute(("classname", xml_text(&case.class).as_str()))
        .with_attribute(("name", xml_text(&case.name).as_str()));
    let ended = match &case.result {
        CaseResult::Passed => None,
        CaseResult::Failed(why) => Some(("failure", "gate", why)),
        CaseResult::Error(why) => Some(("error", "invalid", why)),
        CaseResult::Skipped(why) => Some(("skipped", "", why)),
    };
    if ended.is_none() && case.output.is_none() {
        element.write_empty()?;
        return Ok(());
    }
    element.write_inner_content(|writer| {
        if let Some((name, kind, why)) = ended {
            let element = writer.create_element(name).with_attribute(("message", xml_text(why).as_str()));
            let element = if kind.is_empty() { element } else { element.with_attribute(("type", kind)) };
            element.write_empty()?;
        }
        if let Some(output) = &case.output {
            writer.create_element("system-out").write_text_content(BytesText::new(&xml_text(output)))?;
        }
        Ok(())
    })?;
    Ok(())
}

/// Numbers of cases, failures, errors and skipped cases.
fn counts<'a>(cases: impl Iterator<Item = &'a Case> + Clone) -> [String; 4] {
    let count = |wanted: fn(&CaseResult) -> bool| {
        cases.clone().filter(|case| wanted(&case.result)).count().to_string()
    };
    [
        count(|_| true),
        count(|result| matches!(result, CaseResult::Failed(_))),
        count(|result| matches!(result, CaseResult::Error(_))),
        count(|result| matches!(result, CaseResult::Skipped(_))),
    ]
}

/// Replaces characters that XML forbids; the library escapes the rest.
fn xml_text(text: &str) -> String {
    clean(text).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}
