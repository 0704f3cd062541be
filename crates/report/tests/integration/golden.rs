//! Every format that a user sees, byte for byte. `UPDATE_GOLDEN=1 cargo test -p weighbridge-report` rewrites
//! the golden files; read the difference before you keep it.

use weighbridge_model::summary::Summary;
use weighbridge_report::{Format, Report, Style, TextOptions, load, render_suite};

use crate::support::{self, golden, made};

fn text(columns: usize, style: Style) -> TextOptions<'static> {
    TextOptions {
        style,
        columns,
        place: Some("runs/2026-11-21T10-15-00-languages/report.html"),
        details: true,
    }
}

/// A page without style, script and data, which are long and have tests of their own.
fn without_parts(page: &str) -> String {
    let mut page = page.to_owned();
    for (from, to) in [("<style>", "</style>"), ("id=\"data\">", "</script>"), ("<script>", "</script>")] {
        let start = page.rfind(from).expect("every page has it") + from.len();
        let end = start + page[start..].find(to).expect("which ends");
        page.replace_range(start..end, "…");
    }
    let policy = page.find("sha256-").expect("the policy names the script");
    page.replace_range(policy..policy + 51, "sha256-…");
    page
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
            let made = made(&summary, format, &plain);
            golden(
                &format!("{name}.{ending}"),
                &if format == Format::Html { without_parts(&made) } else { made },
            );
        }
    }
}

#[test]
fn a_run_of_layers_shows_what_each_adds() {
    let summary = support::layered::layered();
    for (name, columns) in [("layered", 80), ("layered.wide", 120)] {
        golden(&format!("{name}.txt"), &made(&summary, Format::Text, &text(columns, Style::Plain)));
    }
    golden("layered.md", &made(&summary, Format::Markdown, &text(80, Style::Plain)));
    golden("layered.json", &made(&summary, Format::Json, &text(80, Style::Plain)));
    golden("layered.html", &without_parts(&made(&summary, Format::Html, &text(80, Style::Plain))));
}

#[test]
fn a_wide_terminal_shows_the_interval_of_the_ratio_and_colours_mean_something() {
    let summary = support::troubled();
    golden("troubled-wide.txt", &made(&summary, Format::Text, &text(120, Style::Plain)));
    golden("troubled-colour.txt", &made(&summary, Format::Text, &text(80, Style::Ansi)));
}

#[test]
fn one_url_in_every_format() {
    for (name, summary) in [
        ("load", support::load()),
        ("load-valid", support::load_valid()),
        ("load-overloaded", support::load_overloaded()),
        ("load-late", support::load_late()),
    ] {
        for (format, ending) in
            [(Format::Text, "txt"), (Format::Json, "json"), (Format::Csv, "csv"), (Format::Markdown, "md")]
        {
            let made = load::render(format, &summary, &[], &TextOptions::default()).unwrap();
            golden(&format!("{name}.{ending}"), &made);
        }
    }
    let error =
        load::render(Format::Html, &support::load(), &[], &TextOptions::default()).unwrap_err().to_string();
    assert!(error.contains("`html`") && error.contains("markdown"), "{error}");
}

/// A summary whose names are too long for any table.
fn long_names() -> Summary {
    let mut summary = support::valid();
    let first = summary.variants[0].name.clone();
    let long = |name: &str| {
        let host = if name == first { "blue" } else { "green" };
        format!(
            "https://{host}.service.internal.example:8443/api/v2/customers/{name}?expand=orders,addresses"
        )
    };
    for variant in &mut summary.variants {
        variant.name = long(&variant.name);
        variant.figures.iter_mut().for_each(|figure| {
            figure.operation =
                format!("GET /api/v2/customers/with/a/very/long/path/and/{}", figure.operation);
        });
    }
    for cost in &mut summary.costs {
        cost.variant = long(&cost.variant);
        cost.operation = format!("GET /api/v2/customers/with/a/very/long/path/and/{}", cost.operation);
    }
    summary
}

#[test]
fn text_fits_its_terminal_and_long_names_are_cut_in_their_middle() {
    let mut load = support::load();
    load.url = format!("http://127.0.0.1:8080/{}", "customers/".repeat(12));
    for operation in &mut load.operations {
        operation.name = format!("GET /api/v2/customers/with/a/very/long/path/{}", operation.name);
    }
    for (columns, ending) in [(80, ""), (120, "-wide")] {
        let options = text(columns, Style::Plain);
        let names = made(&long_names(), Format::Text, &options);
        let load_text = load::render(Format::Text, &load, &[], &options).unwrap();
        for (name, made) in [("long-names", &names), ("load-long", &load_text)] {
            golden(&format!("{name}{ending}.txt"), made);
            let wide: Vec<_> = made.lines().filter(|line| line.chars().count() > columns).collect();
            assert!(wide.is_empty(), "{name} at {columns}: {wide:#?}");
        }
    }
    // Other formats have the whole names.
    let json = made(&long_names(), Format::Json, &text(80, Style::Plain));
    assert!(json.contains("https://green.service.internal.example:8443/api/v2/customers/"));
}

#[test]
fn colours_of_one_url_mean_something() {
    golden(
        "load-colour.txt",
        &load::render(Format::Text, &support::load(), &[], &text(80, Style::Ansi)).unwrap(),
    );
}

#[test]
fn a_suite_is_a_list_of_experiments() {
    let (first, second) = (support::valid(), support::troubled());
    let (detail, environment, how) = (support::detail(), support::environment(), support::how());
    let report =
        |summary| Report { summary, detail: &detail, environment: &environment, how: &how, gates: &[] };
    let reports = [report(&first), report(&second)];
    let made = render_suite(Format::Json, &reports, &TextOptions::default());
    let value: serde_json::Value = serde_json::from_str(&made).unwrap();
    let experiments = value["experiments"].as_array().unwrap();
    assert_eq!(experiments.len(), 2);
    assert_eq!(serde_json::from_value::<Summary>(experiments[1].clone()).unwrap(), second);
    let csv = render_suite(Format::Csv, &reports, &TextOptions::default());
    assert_eq!(csv.matches("run,point,").count(), 1);
    assert_eq!(csv.lines().count(), 1 + first.costs.len() + second.costs.len());
    let page = render_suite(Format::Html, &reports, &TextOptions::default());
    let from = page.find("<section id=\"runs\"").expect("it stands first");
    let list = &page[from..from + page[from..].find("</section>").expect("which ends") + 10];
    golden("suite-list.html", list);
    for (at, summary) in [&first, &second].iter().enumerate() {
        assert_eq!(page.matches(&format!("id=\"run-{}\"", at + 1)).count(), 1);
        assert_eq!(list.matches(&format!("href=\"#run-{}\"", at + 1)).count(), 1);
        let headlines = summary.costs.iter().filter(|cost| cost.headline).count();
        assert!(headlines > 0 && list.matches("<br>").count() >= headlines, "{list}");
    }
    assert!(!page.contains("Not measured together."), "nothing is put beside each other");
}

#[test]
fn json_reads_back_as_the_same_summary() {
    let summary = support::troubled();
    let text = made(&summary, Format::Json, &TextOptions::default());
    assert_eq!(serde_json::from_str::<Summary>(&text).unwrap(), summary);
}
