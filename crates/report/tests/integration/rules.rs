//! Rules for every result: foreign text is never markup, nothing is wider than the terminal, bad news comes
//! first, and withheld figures are not shown.

use weighbridge_model::estimate::Verdict;
use weighbridge_model::summary::{Cost, Detail, Finding, Severity, Summary};
use weighbridge_report::{
    Comparison, DEFAULT_COLUMNS, Format, HowToRepeat, Report, Style, TextOptions, headline_sentences, load,
    page, render,
};

use crate::support;

fn made(summary: &Summary, format: Format) -> String {
    support::made(summary, format, &TextOptions::default())
}

fn hostile(format: Format) -> String {
    let (summary, detail, environment, how) = support::hostile();
    let report =
        Report { summary: &summary, detail: &detail, environment: &environment, how: &how, gates: &[] };
    render(format, &report, &TextOptions::default())
}

/// A page's markup without style, data and script.
fn markup(page: &str) -> String {
    let (head, rest) = page.split_once("<style>").unwrap();
    let (_, body) = rest.split_once("</style>").unwrap();
    let (body, data) = body.split_once("<script type=\"application/json\" id=\"data\">").unwrap();
    assert_eq!(data.matches("<script>").count(), 1, "one script");
    assert_eq!(data.matches("</script>").count(), 2, "of the data and of the script");
    format!("{head}{body}")
}

#[test]
fn a_page_holds_no_markup_of_foreign_text() {
    let page = hostile(Format::Html);
    let markup = markup(&page);
    for forbidden in ["<script", "<img", "onerror=y>", "\x1b", "\u{202e}", "'1'"] {
        assert!(!markup.contains(forbidden), "`{forbidden:?}` is in the page");
    }
    assert!(markup.contains("&lt;script&gt;alert(&#39;1&#39;)"));
    assert!(markup.matches("&lt;script&gt;").count() > 50, "hostile names reach every section");
    let (_, data) = page.split_once("id=\"data\">").unwrap();
    let (data, _) = data.split_once("</script>").unwrap();
    for forbidden in ["<", ">", "&", "\x1b", "\u{202e}"] {
        assert!(!data.contains(forbidden), "`{forbidden:?}` is in the data");
    }
    let (summary, ..) = support::hostile();
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    assert_eq!(serde_json::from_value::<Summary>(data["runs"][0]["summary"].clone()).unwrap(), summary);
}

#[test]
fn a_page_is_well_formed_and_asks_for_nothing() {
    for page in [hostile(Format::Html), made(&support::valid(), Format::Html)] {
        let policy = "default-src 'none'; script-src 'sha256-";
        assert!(page.contains(policy), "the policy names the only script");
        let markup = markup(&page);
        let markup = markup.split("<pre>").next().unwrap();
        for forbidden in ["http:", "https:", "src=\"", "url(", "@import", "NaN", "<script"] {
            assert!(!markup.contains(forbidden), "`{forbidden}` is in the page");
        }
        for element in [
            "article", "section", "details", "table", "tbody", "tr", "td", "th", "ul", "li", "p", "span",
            "div",
        ] {
            let opened =
                page.matches(&format!("<{element}>")).count() + page.matches(&format!("<{element} ")).count();
            assert_eq!(opened, page.matches(&format!("</{element}>")).count(), "<{element}>");
        }
    }
}

/// A browser runs the script only if the policy names its hash.
#[test]
fn the_built_script_can_stand_in_a_page() {
    let page = made(&support::valid(), Format::Html);
    let (_, script) = page.rsplit_once("<script>").unwrap();
    for forbidden in ["<!--", "<script"] {
        assert!(!script.contains(forbidden), "`{forbidden}` in the script changes how HTML reads it");
    }
}

/// Self-check, precision and their marks say the same as the list of findings.
#[test]
fn a_note_and_a_missing_goal_are_no_good_news() {
    let mut summary = support::valid();
    let page = made(&summary, Format::Html);
    assert!(page.contains("<li class=\"fine\"><h3>Self-check</h3><p class=\"value\">passed</p>"));
    assert!(page.contains("Nothing was found that speaks against these figures."));
    summary.goal = None;
    summary.findings.push(Finding {
        severity: Severity::Note,
        name: "not warm".into(),
        subject: "go".into(),
        evidence: "in 4 of 4 trials the warm-up ended while the p50 changed".into(),
        remedy: "allow a longer `warmup`".into(),
    });
    let page = made(&summary, Format::Html);
    assert!(page.contains("<li class=\"neutral\"><h3>Self-check</h3><p class=\"value\">no warning</p>"));
    assert!(page.contains("1 note: not warm; see Warnings.") && !page.contains("Nothing was found"));
    assert!(page.contains("<li class=\"neutral\"><h3>Precision</h3><p class=\"value\">no goal</p>"));
}

#[test]
fn runs_beside_each_other_say_that_they_were_not_measured_together() {
    let (detail, environment, how) = (support::detail(), support::environment(), support::how());
    let summaries = [support::valid(), support::valid(), support::valid()];
    let reports = summaries.each_ref().map(|summary| Report {
        summary,
        detail: &detail,
        environment: &environment,
        how: &how,
        gates: &[],
    });
    let comparisons = [
        Comparison::Refused("the runs share no baseline".into()),
        Comparison::Allowed(Box::new(support::valid())),
    ];
    let page = page(&reports, &comparisons);
    assert_eq!(page.matches("Not measured together.").count(), 1);
    assert!(page.contains("the runs share no baseline") && page.contains("Run 1 and run 3 may be compared"));
    for id in ["id=\"run-1\"", "id=\"run-3\"", "id=\"trust\"", "id=\"trust-3\""] {
        assert_eq!(page.matches(id).count(), 1, "{id}");
    }
    assert_eq!(made(&summaries[0], Format::Html).matches("Not measured together.").count(), 0);
}

#[test]
fn a_terminal_gets_no_control_characters() {
    let screen = hostile(Format::Text);
    assert!(screen.chars().all(|c| c == '\n' || !c.is_control()), "{screen:?}");
    assert!(!screen.contains('\u{202e}'));
    let mut load = support::load();
    load.url = support::HOSTILE.into();
    load.reasons = vec![support::HOSTILE.into()];
    load.failures[0].text = support::HOSTILE.into();
    let screen = load::render(Format::Text, &load, &[], &TextOptions::default()).unwrap();
    assert!(screen.chars().all(|c| c == '\n' || !c.is_control()), "{screen:?}");
}

#[test]
fn markdown_mentions_nobody_and_keeps_its_tables() {
    let text = hostile(Format::Markdown);
    for forbidden in ["<script", "<img", "@all", "\x1b", "[x"] {
        assert!(!text.contains(forbidden), "`{forbidden:?}`");
    }
    let bars = |line: &str| line.replace("\\|", "").matches('|').count();
    let rows: Vec<usize> = text.lines().filter(|line| line.starts_with('|')).map(bars).collect();
    assert!(!rows.is_empty() && rows.iter().all(|bars| *bars == rows[0]), "{rows:?}");
}

#[test]
fn text_fits_eighty_columns() {
    let loads = [support::load(), support::load_valid()];
    let loads =
        loads.map(|summary| load::render(Format::Text, &summary, &[], &TextOptions::default()).unwrap());
    let runs = [support::valid(), support::troubled()].map(|summary| made(&summary, Format::Text));
    for line in runs.iter().chain(&loads).flat_map(|text| text.lines()) {
        assert!(line.chars().count() <= DEFAULT_COLUMNS, "{line}");
        assert_eq!(line, line.trim_end());
    }
}

#[test]
fn long_names_do_not_push_figures_off_the_screen() {
    let mut summary = support::valid();
    let name = "go+veth+vxlan+wireguard, GOGC=off, 2 cpus";
    summary.variants.iter_mut().filter(|v| v.name == "go").for_each(|v| v.name = name.into());
    summary.costs.iter_mut().for_each(|cost| cost.variant = name.into());
    let text = made(&summary, Format::Text);
    assert!(text.lines().all(|line| line.chars().count() <= DEFAULT_COLUMNS), "{text}");
}

#[test]
fn bad_news_changes_the_first_line() {
    let first = |summary: &Summary| made(summary, Format::Text).lines().next().unwrap().to_owned();
    let mut summary = support::valid();
    assert_eq!(first(&summary), summary.title);
    summary.variants[1].errors_by_kind.status = 12;
    summary.variants[1].errors = 12;
    assert_eq!(first(&summary), "12 of 4,817,320 requests failed: 12 status");
    assert_eq!(first(&support::troubled()), "invalid: these figures must not be used");
    let load = |summary| load::render(Format::Text, &summary, &[], &TextOptions::default()).unwrap();
    assert!(load(support::load()).starts_with("12 of 10,000 requests failed: 12 status\n"));
    assert!(load(support::load_valid()).starts_with("http://127.0.0.1:8080/person/1\n"));
}

#[test]
fn the_headline_is_said_in_words_with_interval_ratio_and_verdict() {
    let sentences = headline_sentences(&support::valid());
    assert_eq!(
        sentences[0],
        "go against rust (baseline), 64 B: response p50 +20.9 % [+20.2, +21.6], +3.21 µs: higher (worse)"
    );
    let sentences = headline_sentences(&support::troubled());
    assert_eq!(
        sentences[1],
        "go against rust (baseline), 64 KiB: response p50 invalid: generator lag p99 of 312 µs is above 100 µs"
    );
}

#[test]
fn figures_of_an_invalid_or_withheld_cost_are_never_shown() {
    let mut summary = support::valid();
    for cost in &mut summary.costs {
        cost.verdict = Verdict::Invalid;
        cost.effect = None;
        cost.reason = Some("a reason".into());
    }
    let shown = made(&support::valid(), Format::Text);
    assert!(shown.contains("[+20.2, +21.6]") && shown.contains("+20.9 %"));
    for format in [Format::Text, Format::Markdown, Format::Html] {
        let text = made(&summary, format);
        let text = if format == Format::Html { markup(&text) } else { text }.replace('−', "-");
        assert!(!text.contains("20.2, +21.6") && !text.contains("+20.9 %"), "{format}");
        assert!(text.contains("a reason"), "{format}");
    }
}

#[test]
fn a_run_without_anything_is_still_a_report() {
    let mut summary = support::valid();
    (summary.costs, summary.variants, summary.conditions) = Default::default();
    summary.goal = None;
    let (detail, how) = (Detail::default(), HowToRepeat::default());
    let environment = serde_json::Value::Null;
    let report =
        Report { summary: &summary, detail: &detail, environment: &environment, how: &how, gates: &[] };
    for format in Format::ALL {
        assert!(!render(format, &report, &TextOptions::default()).is_empty(), "{format}");
    }
}

#[test]
fn colours_take_nothing_from_the_words() {
    let summary = support::troubled();
    let options = TextOptions { style: Style::Ansi, ..TextOptions::default() };
    let (detail, environment, how) = (support::detail(), support::environment(), support::how());
    let report =
        Report { summary: &summary, detail: &detail, environment: &environment, how: &how, gates: &[] };
    let mut coloured = render(Format::Text, &report, &options);
    for code in ["0", "1", "2", "31", "32", "33", "1;31"] {
        coloured = coloured.replace(&format!("\x1b[{code}m"), "");
    }
    assert_eq!(coloured, made(&summary, Format::Text));
}

/// With many pairs, only `--details`, the export and the report have the table of each.
#[test]
fn of_many_variants_the_terminal_tells_the_headlines_and_names_of_notes() {
    let mut summary = support::valid();
    let pair: Vec<_> = summary.costs.clone();
    let finding = |subject: &str, severity| Finding {
        severity,
        name: "spread".to_owned(),
        subject: subject.to_owned(),
        evidence: format!("told of {subject}"),
        remedy: "so it is".to_owned(),
    };
    summary.findings = ["v0", "v1"].map(|variant| finding(variant, Severity::Note)).into();
    summary.findings.push(finding("v2", Severity::Warning));
    for number in 0..8 {
        summary.costs.extend(pair.iter().cloned().map(|cost| Cost { variant: format!("v{number}"), ..cost }));
    }
    let brief = made(&summary, Format::Text);
    assert!(brief.contains("v7 against ") && !brief.contains("response p99"), "{brief}");
    assert!(
        brief.contains("`--details`: all quantities, notes on spread") && !brief.contains("told of v0"),
        "{brief}"
    );
    assert!(brief.contains("warning: spread (v2): told of v2\n  -> so it is\n"), "{brief}");
    let (detail, environment, how) = (support::detail(), support::environment(), support::how());
    let report =
        Report { summary: &summary, detail: &detail, environment: &environment, how: &how, gates: &[] };
    let whole = render(Format::Text, &report, &TextOptions { details: true, ..TextOptions::default() });
    assert!(whole.contains("v7 against ") && whole.contains("response p90") && whole.contains("told of v0"));
    assert!(
        whole.contains("note: spread\n     v0: told of v0\n     v1: told of v1\n  -> so it is\n"),
        "{whole}"
    );
}

#[test]
fn which_variant_for_which_size_stands_with_the_verdict_and_once() {
    let mut summary = support::valid();
    summary.findings.push(Finding {
        severity: Severity::Note,
        name: "best by size".to_owned(),
        subject: String::new(),
        evidence: "`pong`: 4 B to 64 KiB `rust`".to_owned(),
        remedy: "the lowest median service time".to_owned(),
    });
    let text = made(&summary, Format::Text);
    let advice = text.find("best by size: `pong`: 4 B to 64 KiB `rust`").expect("the advice is there");
    let table = text.find("▸ ").expect("there is a table");
    assert!(advice < table, "{text}");
    assert_eq!(text.matches("best by size").count(), 1, "{text}");
}

#[test]
fn of_an_import_nothing_is_said_that_only_a_measured_run_has() {
    let mut summary = support::valid();
    summary.blocks = Default::default();
    let page = markup(&made(&summary, Format::Html));
    assert!(page.contains("measured by another program, each series once"));
    for untrue in ["· took ", "of 0 to 0 planned", "weigh run "] {
        assert!(!page.contains(untrue), "{untrue}");
    }
    let text = made(&summary, Format::Text);
    assert!(text.contains("imported: measured by another program") && !text.contains("took"), "{text}");
}
