//! Every format a user sees, byte for byte. `UPDATE_GOLDEN=1 cargo test -p weighbridge-report` writes them anew; the
//! difference is then read before it is kept.

mod support;

use std::path::PathBuf;

use weighbridge_model::summary::Summary;
use weighbridge_report::{Format, Report, Style, TextOptions, load, render, render_suite};

fn golden(name: &str, made: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, made).unwrap();
        return;
    }
    let kept = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}; set UPDATE_GOLDEN=1 to write it", path.display()));
    let differs = kept.lines().zip(made.lines()).position(|(kept, made)| kept != made);
    assert!(
        kept == made,
        "`{name}` differs (first line that does: {differs:?}); if that is meant, set UPDATE_GOLDEN=1"
    );
}

fn text(columns: usize, style: Style) -> TextOptions<'static> {
    TextOptions { style, columns, place: Some("runs/2026-11-21T10-15-00-languages/report.html") }
}

fn made(summary: &Summary, format: Format, options: &TextOptions<'_>) -> String {
    let (detail, environment, how) = (support::detail(), support::environment(), support::how());
    render(format, &Report { summary, detail: &detail, environment: &environment, how: &how }, options)
}

#[test]
fn a_run_in_every_format() {
    let plain = text(80, Style::Plain);
    for (name, summary) in [("valid", support::valid()), ("troubled", support::troubled())] {
        for (format, ending) in [
            (Format::Text, "txt"),
            (Format::Json, "json"),
            (Format::Csv, "csv"),
            (Format::Markdown, "md"),
            (Format::Html, "html"),
        ] {
            golden(&format!("{name}.{ending}"), &made(&summary, format, &plain));
        }
    }
}

#[test]
fn a_wide_terminal_shows_the_interval_of_the_ratio_and_colours_mean_something() {
    let summary = support::troubled();
    golden("troubled-wide.txt", &made(&summary, Format::Text, &text(120, Style::Plain)));
    golden("troubled-colour.txt", &made(&summary, Format::Text, &text(80, Style::Ansi)));
}

#[test]
fn one_url_in_every_format() {
    for (name, summary) in [("load", support::load()), ("load-valid", support::load_valid())] {
        for (format, ending) in
            [(Format::Text, "txt"), (Format::Json, "json"), (Format::Csv, "csv"), (Format::Markdown, "md")]
        {
            let made = load::render(format, &summary, Style::Plain).unwrap();
            golden(&format!("{name}.{ending}"), &made);
        }
    }
    let error = load::render(Format::Html, &support::load(), Style::Plain).unwrap_err().to_string();
    assert!(error.contains("`html`") && error.contains("markdown"), "{error}");
}

#[test]
fn a_suite_is_a_list_of_experiments() {
    let (first, second) = (support::valid(), support::troubled());
    let made = render_suite(Format::Json, &[&first, &second], &TextOptions::default()).unwrap();
    let value: serde_json::Value = serde_json::from_str(&made).unwrap();
    let experiments = value["experiments"].as_array().unwrap();
    assert_eq!(experiments.len(), 2);
    assert_eq!(serde_json::from_value::<Summary>(experiments[1].clone()).unwrap(), second);
    let csv = render_suite(Format::Csv, &[&first, &second], &TextOptions::default()).unwrap();
    assert_eq!(csv.matches("run,point,").count(), 1);
    assert_eq!(csv.lines().count(), 1 + first.costs.len() + second.costs.len());
    assert!(render_suite(Format::Html, &[&first], &TextOptions::default()).is_err());
}

#[test]
fn json_reads_back_as_the_same_summary() {
    let summary = support::troubled();
    let text = made(&summary, Format::Json, &TextOptions::default());
    assert_eq!(serde_json::from_str::<Summary>(&text).unwrap(), summary);
}
