//! Verdicts and gates as test cases in JUnit's XML, which CI systems show: a failed gate is a failure, what must not be
//! used is an error, what could not be had is skipped. A verdict by itself never fails: whether `higher` is acceptable is
//! for a gate to say.

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};
use weighbridge_model::estimate::{Validity, Verdict};
use weighbridge_model::summary::{Cost, Summary};

use crate::text::clean;
use crate::view::{self, Pair};
use crate::words;

/// A gate and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateCase {
    /// The condition as written, with its kind: `fail_if p50 > +2 %`.
    pub condition: String,
    /// Why it failed; absent where it passed.
    pub failed: Option<String>,
}

/// One test case.
struct Case {
    class: String,
    name: String,
    result: CaseResult,
    /// Figures in words.
    said: Option<String>,
}

/// How a case ended.
enum CaseResult {
    Passed,
    Failed(String),
    Error(String),
    Skipped(String),
}

/// The cases of one point, or of the gates.
struct Suite {
    name: String,
    cases: Vec<Case>,
}

/// The whole document.
pub(crate) fn cases(summary: &Summary, gates: &[GateCase]) -> String {
    let suites = suites(summary, gates);
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    // Writing to memory cannot fail, and text goes through the library's escaping.
    let written = document(&mut writer, summary, &suites);
    debug_assert!(written.is_ok());
    let mut text = String::from_utf8(writer.into_inner()).unwrap_or_default();
    text.push('\n');
    text
}

fn suites(summary: &Summary, gates: &[GateCase]) -> Vec<Suite> {
    let mut suites: Vec<Suite> = view::points(summary)
        .iter()
        .map(|point| Suite {
            name: named(&summary.title, &words::point(point.label)),
            cases: point.pairs.iter().flat_map(|pair| pair_cases(summary, pair)).collect(),
        })
        .collect();
    if !gates.is_empty() {
        let cases = gates.iter().map(|gate| gate_case(summary, gate)).collect();
        suites.push(Suite { name: named(&summary.title, "gates"), cases });
    }
    if !summary.unavailable.is_empty() {
        let case = |(name, reason): &(String, String)| Case {
            class: summary.title.clone(),
            name: name.clone(),
            result: CaseResult::Skipped(reason.clone()),
            said: None,
        };
        let cases = summary.unavailable.iter().map(case).collect();
        suites.push(Suite { name: named(&summary.title, "unavailable"), cases });
    }
    suites
}

fn named(title: &str, what: &str) -> String {
    if what.is_empty() { title.to_owned() } else { format!("{title}: {what}") }
}

fn pair_cases(summary: &Summary, pair: &Pair<'_>) -> Vec<Case> {
    let several = words::several_operations(summary);
    let case = |cost: &&Cost| {
        let operation = if several { format!("{} ", cost.operation) } else { String::new() };
        let reason = || cost.reason.clone().unwrap_or_else(|| cost.verdict.name().to_owned());
        let (result, said) = match cost.verdict {
            Verdict::Invalid => (CaseResult::Error(reason()), None),
            Verdict::Withheld => (CaseResult::Skipped(reason()), None),
            _ => (CaseResult::Passed, Some(words::sentence(summary, cost))),
        };
        let class = format!("{} against {}", pair.variant, pair.baseline);
        Case { class, name: format!("{operation}{}", cost.quantity.label()), result, said }
    };
    pair.costs.iter().map(case).collect()
}

/// A gate that passed on figures that must not be used has shown nothing.
fn gate_case(summary: &Summary, gate: &GateCase) -> Case {
    let result = match &gate.failed {
        Some(why) => CaseResult::Failed(why.clone()),
        None if summary.validity == Validity::Invalid => {
            CaseResult::Error("the run is invalid: its figures must not be used".to_owned())
        }
        None => CaseResult::Passed,
    };
    Case { class: summary.title.clone(), name: gate.condition.clone(), result, said: None }
}

fn document(writer: &mut Writer<Vec<u8>>, summary: &Summary, suites: &[Suite]) -> std::io::Result<()> {
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let all = || suites.iter().flat_map(|suite| &suite.cases);
    let [tests, failures, errors, skipped] = counts(all());
    let took = format!("{:.3}", summary.took.as_secs_f64());
    writer
        .create_element("testsuites")
        .with_attribute(("name", plain(&summary.run).as_str()))
        .with_attributes([("tests", tests.as_str()), ("failures", &failures), ("errors", &errors)])
        .with_attributes([("skipped", skipped.as_str()), ("time", &took)])
        .write_inner_content(|writer| suites.iter().try_for_each(|one| suite(writer, summary, one)))?;
    Ok(())
}

fn suite(writer: &mut Writer<Vec<u8>>, summary: &Summary, suite: &Suite) -> std::io::Result<()> {
    let [tests, failures, errors, skipped] = counts(suite.cases.iter());
    writer
        .create_element("testsuite")
        .with_attribute(("name", plain(&suite.name).as_str()))
        .with_attribute(("timestamp", plain(&summary.started).as_str()))
        .with_attributes([("tests", tests.as_str()), ("failures", &failures), ("errors", &errors)])
        .with_attribute(("skipped", skipped.as_str()))
        .write_inner_content(|writer| suite.cases.iter().try_for_each(|one| case(writer, one)))?;
    Ok(())
}

fn case(writer: &mut Writer<Vec<u8>>, case: &Case) -> std::io::Result<()> {
    let element = writer
        .create_element("testcase")
        .with_attribute(("classname", plain(&case.class).as_str()))
        .with_attribute(("name", plain(&case.name).as_str()));
    let ended = match &case.result {
        CaseResult::Passed => None,
        CaseResult::Failed(why) => Some(("failure", "gate", why)),
        CaseResult::Error(why) => Some(("error", "invalid", why)),
        CaseResult::Skipped(why) => Some(("skipped", "", why)),
    };
    if ended.is_none() && case.said.is_none() {
        element.write_empty()?;
        return Ok(());
    }
    element.write_inner_content(|writer| {
        if let Some((name, kind, why)) = ended {
            let element = writer.create_element(name).with_attribute(("message", plain(why).as_str()));
            let element = if kind.is_empty() { element } else { element.with_attribute(("type", kind)) };
            element.write_empty()?;
        }
        if let Some(said) = &case.said {
            writer.create_element("system-out").write_text_content(BytesText::new(&plain(said)))?;
        }
        Ok(())
    })?;
    Ok(())
}

/// Cases, failures, errors and skipped ones.
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

/// Foreign text in characters that XML may hold at all; the library escapes the rest.
fn plain(text: &str) -> String {
    clean(text).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}
