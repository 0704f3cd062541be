//! Charts as files, byte for byte as SVG and pixel for pixel as PNG, from synthetic runs. `UPDATE_GOLDEN=1
//! cargo test -p weighbridge-report --test plot` rewrites the golden files; look at them before you keep
//! them.

use std::collections::BTreeSet;
use std::path::PathBuf;

use weighbridge_model::detail::Detail;
use weighbridge_report::plot::{Drawing, Kind, Options, PlotError, Plotter, Theme, png};
use weighbridge_report::{Format, Report, Style, TextOptions, render};

use crate::support;
use crate::support::plot::{Case, cases, dots};

/// Run, kind and theme of each golden SVG. The first of each kind, and all of `pair`, have a golden PNG too.
const KEPT: [(&str, Kind, Theme); 40] = [
    ("pair", Kind::Forest, Theme::Light),
    ("pair", Kind::Forest, Theme::Dark),
    ("pair", Kind::Percentiles, Theme::Light),
    ("pair", Kind::Percentiles, Theme::Print),
    ("pair", Kind::Density, Theme::Light),
    ("pair", Kind::Time, Theme::Light),
    ("pair", Kind::Time, Theme::Dark),
    ("pair", Kind::Samples, Theme::Light),
    ("pair", Kind::Resources, Theme::Light),
    ("pair", Kind::Resources, Theme::Print),
    ("pair", Kind::Radar, Theme::Light),
    ("crowd", Kind::Forest, Theme::Light),
    ("crowd", Kind::Percentiles, Theme::Dark),
    ("crowd", Kind::Density, Theme::Print),
    ("crowd", Kind::Time, Theme::Light),
    ("crowd", Kind::Resources, Theme::Dark),
    ("crowd", Kind::Operations, Theme::Light),
    ("crowd", Kind::Radar, Theme::Dark),
    ("trade", Kind::Operations, Theme::Light),
    ("trade", Kind::Operations, Theme::Dark),
    ("trade", Kind::Forest, Theme::Light),
    ("trade", Kind::Radar, Theme::Print),
    ("matrix", Kind::Size, Theme::Light),
    ("matrix", Kind::Heatmap, Theme::Light),
    ("matrix", Kind::Heatmap, Theme::Dark),
    ("layers", Kind::Waterfall, Theme::Light),
    ("layers", Kind::Waterfall, Theme::Dark),
    ("capacity", Kind::Capacity, Theme::Light),
    ("capacity", Kind::Capacity, Theme::Print),
    ("dots", Kind::Samples, Theme::Light),
    ("pairs", Kind::Heatmap, Theme::Light),
    ("pairs", Kind::Heatmap, Theme::Dark),
    ("sizes", Kind::Latency, Theme::Light),
    ("sizes", Kind::LatencyRelative, Theme::Dark),
    ("sizes", Kind::Transfer, Theme::Dark),
    ("sizes", Kind::TransferRelative, Theme::Light),
    ("sizes", Kind::Requests, Theme::Print),
    ("sizes", Kind::RequestsRelative, Theme::Print),
    ("troubled", Kind::Forest, Theme::Light),
    ("bare", Kind::Forest, Theme::Light),
];

fn options(theme: Theme) -> Options {
    Options { theme, ..Options::default() }
}

fn golden(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata/plot").join(name)
}

fn case(name: &str) -> Case {
    cases().into_iter().find(|case| case.name == name).expect("a case of this name")
}

fn plotter(case: &Case) -> Plotter {
    Plotter::new(&case.summary, &case.detail).expect("the library loads")
}

/// The contents of the `text` elements of a chart.
fn texts(svg: &str) -> Vec<String> {
    let inside = |part: &str| Some(part.split_once('>')?.1.split_once("</text>")?.0.to_owned());
    let plain = |text: String| {
        text.replace("&lt;", "<")
            .replace("&gt;", ">")
            .replace("&quot;", "\"")
            .replace("&#39;", "'")
            .replace("&amp;", "&")
            .replace('\u{a0}', " ")
    };
    svg.split("<text").skip(1).filter_map(inside).map(plain).collect()
}

#[test]
fn every_kind_as_svg_and_png() {
    let update = std::env::var_os("UPDATE_GOLDEN").is_some();
    let mut drawn = BTreeSet::new();
    let mut open: Option<(&str, Plotter)> = None;
    for (name, kind, theme) in KEPT {
        if open.as_ref().is_none_or(|(other, _)| *other != name) {
            open = Some((name, plotter(&case(name))));
        }
        let (_, plotter) = open.as_ref().expect("just opened");
        let svg = plotter.svg(kind, &options(theme)).unwrap_or_else(|error| panic!("{name} {kind}: {error}"));
        let theme = format!("{theme:?}").to_lowercase();
        let file = format!("{name}-{kind}-{theme}");
        let picture =
            (drawn.insert(kind.name()) || name == "pair").then(|| png(&svg, 1.0).expect("a picture"));
        if update {
            std::fs::write(golden(&format!("{file}.svg")), &svg).unwrap();
            if let Some(picture) = picture {
                std::fs::write(golden(&format!("{file}.png")), &picture).unwrap();
            }
            continue;
        }
        let kept = std::fs::read_to_string(golden(&format!("{file}.svg"))).unwrap_or_default();
        assert!(kept == svg, "`{file}.svg` differs; if that is meant, set UPDATE_GOLDEN=1");
        if let Some(picture) = picture {
            let kept = std::fs::read(golden(&format!("{file}.png"))).unwrap_or_default();
            support::pixels::assert_alike(&kept, &picture, &file);
        }
    }
    assert_eq!(drawn.len(), Kind::ALL.len(), "every kind is kept: {drawn:?}");
}

/// A renderer that lacks a font drops text without an error.
#[test]
fn no_text_is_dropped_from_pictures() {
    for name in ["pair", "crowd", "layers"] {
        let plotter = plotter(&case(name));
        let mut kinds: Vec<Drawing> = plotter.list().unwrap();
        kinds.dedup_by_key(|drawing| drawing.kind);
        for drawing in kinds {
            let svg = plotter.svg(drawing.kind, &options(Theme::Light)).unwrap();
            let (wanted, shaped) = (texts(&svg).len(), support::pixels::shaped_texts(&svg));
            assert!(wanted > 5, "{name} {}: {wanted}", drawing.kind);
            assert_eq!(shaped, wanted, "{name} {}: texts with glyphs", drawing.kind);
        }
    }
}

#[test]
fn names_units_and_intervals_stand_in_each_drawing() {
    let wanted: [(&str, Kind, &[&str]); 16] = [
        (
            "pair",
            Kind::Forest,
            &[
                "go: response p50 higher (worse): +20.9 % [+20.2, +21.6] against rust",
                "memory peak",
                "higher (worse)",
                "go · 64 KiB",
            ],
        ),
        ("pair", Kind::Percentiles, &["99.9 %", "time (logarithmic)", "rust", "go", "20 µs"]),
        ("pair", Kind::Density, &["response time (logarithmic)", "rust", "p50 15.34 µs [15.22, 15.46]"]),
        ("pair", Kind::Time, &["response p50", "time since the first window", "18 µs", "100 s"]),
        ("pair", Kind::Samples, &["response p50", "20 s"]),
        ("matrix", Kind::Size, &["64 B", "4 MiB", "size (logarithmic)"]),
        (
            "pair",
            Kind::Resources,
            &["CPU/op", "memory peak", "generator", "service", "cores", "10 µs", "4.20 MiB"],
        ),
        ("trade", Kind::Operations, &["buy", "sell", "portfolio", "withheld", "rust"]),
        ("pair", Kind::Radar, &["throughput", "CPU/op", "0 %"]),
        ("matrix", Kind::Heatmap, &["4 MiB", "withheld", "soap · connections 16", "[−33.9, −32.6]"]),
        (
            "pairs",
            Kind::Heatmap,
            &["client (ping)", "server (pong)", "node", "212.0 µs", "baseline", "+186 %"],
        ),
        (
            "sizes",
            Kind::Latency,
            &[
                "From 30.0 µs (rust) to 240 µs (ruby) at 4 B, from 251 µs (java) to 2.14 ms (ruby) at 486 KiB",
                "service time (logarithmic)",
                "message size (logarithmic)",
                "A  16,384 B initial send buffer (tcp_wmem)",
                "1  rust above 87,380 B [87,102, 87,700]: the median steps by +60.0 µs [+57.0 µs, +63.0 µs]; no known cause",
            ],
        ),
        (
            "sizes",
            Kind::LatencyRelative,
            &["ruby against rust: time ×8 [7.69, 8.32] at 4 B, ×3.97 [3.82, 4.13] at 486 KiB"],
        ),
        ("sizes", Kind::Transfer, &["1 GiB/s", "transfer rate: size ÷ service time (logarithmic)"]),
        (
            "layers",
            Kind::Waterfall,
            &["sidecar:envoy", "+61.3 µs [+59.9, +62.7]", "bare", "all layers", "response p50"],
        ),
        ("capacity", Kind::Capacity, &["p99 < 1 ms", "requests offered", "50k/s", "go"]),
    ];
    for (name, kind, parts) in wanted {
        let svg = plotter(&case(name)).svg(kind, &options(Theme::Light)).unwrap();
        let texts = texts(&svg);
        for part in parts {
            assert!(texts.iter().any(|text| text == part), "{name} {kind}: `{part}` is not in {texts:#?}");
        }
    }
}

#[test]
fn a_chart_says_the_figures_of_the_terminal() {
    for name in ["pair", "trade", "capacity"] {
        let case = case(name);
        let environment = support::environment();
        let how = support::how();
        let report = Report {
            summary: &case.summary,
            detail: &case.detail,
            environment: &environment,
            how: &how,
            gates: &[],
        };
        let table = render(
            Format::Text,
            &report,
            &TextOptions { style: Style::Plain, columns: 140, place: None, details: true },
        );
        let svg = plotter(&case).svg(Kind::Forest, &options(Theme::Light)).unwrap();
        let intervals: Vec<String> =
            texts(&svg).into_iter().filter(|text| text.contains(" % [") && !text.contains(':')).collect();
        assert!(intervals.len() > 8, "{intervals:?}");
        for shown in intervals {
            let (point, interval) = shown.split_once(" [").unwrap();
            let (point, interval) = (point.replace('−', "-"), format!("[{}", interval.replace('−', "-")));
            let in_table = |line: &str| line.contains(&point) && line.contains(&interval);
            assert!(table.lines().any(in_table), "{name}: `{point}` with `{interval}` is not in\n{table}");
        }
    }
}

/// The page has the data of a chart over size as a table too, and the advice with the verdict.
#[test]
fn medians_over_size_and_the_advice_stand_in_the_page() {
    let case = case("sizes");
    let (environment, how) = (support::environment(), support::how());
    let report = Report {
        summary: &case.summary,
        detail: &case.detail,
        environment: &environment,
        how: &how,
        gates: &[],
    };
    let page = render(
        Format::Html,
        &report,
        &TextOptions { style: Style::Plain, columns: 140, place: None, details: true },
    );
    let page = page.replace('\u{a0}', " ");
    let verdict = page.split_once("data-part=\"verdict\"").unwrap().1.split_once("</section>").unwrap().0;
    assert!(
        verdict.contains("Fastest at single message sizes, by the median service time: ")
            && verdict.contains("<b>rust</b>"),
        "{verdict}"
    );
    let table = page.split_once("<table class=\"medians\">").unwrap().1.split_once("</table>").unwrap().0;
    assert!(table.contains("Median service time, in brackets its 95 % interval"), "{table}");
    let rows: Vec<&str> = table.split("<tr>").skip(2).collect();
    assert_eq!(rows.len(), 10, "{table}");
    // The first size is 4 B: 30 µs and 0.9 ns a byte; java's is 52 µs and 0.4 ns a byte.
    assert!(
        rows[0].contains(">4 B<") && rows[0].contains(">30.0 µs ") && rows[0].contains(">52.0 µs "),
        "{table}"
    );
    assert!(rows[0].contains("[29.1 µs, 30.9 µs]"), "{table}");
    assert_eq!(rows[0].matches("<td").count(), 3);
}

#[test]
fn what_was_withheld_is_not_drawn() {
    let case = case("troubled");
    let plotter = plotter(&case);
    let svg = plotter.svg(Kind::Forest, &options(Theme::Light)).unwrap();
    let texts = texts(&svg);
    assert!(texts.iter().any(|text| text == "withheld") && texts.iter().any(|text| text == "invalid"));
    assert!(!texts.iter().any(|text| text.contains("+131 %")), "p99 at 64 B was withheld: {texts:?}");
}

#[test]
fn a_run_without_detail_has_what_its_summary_fills_and_says_so_of_the_rest() {
    let case = case("bare");
    let plotter = plotter(&case);
    let kinds: Vec<Kind> = plotter.list().unwrap().into_iter().map(|drawing| drawing.kind).collect();
    assert!(kinds.contains(&Kind::Forest) && !kinds.contains(&Kind::Percentiles), "{kinds:?}");
    let error = plotter.svg(Kind::Percentiles, &options(Theme::Light)).unwrap_err();
    assert_eq!(error, PlotError::Nothing(Kind::Percentiles));
    let nothing = Plotter::new(
        &weighbridge_model::summary::Summary { variants: Vec::new(), costs: Vec::new(), ..case.summary },
        &Detail::default(),
    )
    .unwrap();
    assert_eq!(nothing.list().unwrap(), []);
}

#[test]
fn options_choose_what_is_drawn() {
    let case = case("crowd");
    let plotter = plotter(&case);
    let one = Options {
        variants: Some(vec!["go-grpc".into()]),
        width: Some(640),
        height: Some(300),
        ..Options::default()
    };
    let svg = plotter.svg(Kind::Percentiles, &one).unwrap();
    assert!(svg.contains(r#"width="640" height="300""#), "{}", &svg[..200]);
    assert!(svg.contains("go-grpc") && !svg.contains("node-grpc-js"));
    let none = Options { variants: Some(Vec::new()), ..Options::default() };
    assert_eq!(plotter.svg(Kind::Percentiles, &none), Err(PlotError::Nothing(Kind::Percentiles)));
}

#[test]
fn hostile_names_are_text() {
    let (summary, detail, ..) = support::hostile();
    let plotter = Plotter::new(&summary, &detail).unwrap();
    let drawings = plotter.list().unwrap();
    assert!(drawings.len() > 4, "{drawings:?}");
    for drawing in drawings {
        let svg = plotter.svg(drawing.kind, &options(Theme::Light)).unwrap();
        assert!(!svg.contains("<script") && !svg.contains("<img"), "{}", drawing.kind);
        assert!(!svg.contains('\u{1b}') && !svg.contains('\u{202e}'), "{}", drawing.kind);
        png(&svg, 0.5).unwrap_or_else(|error| panic!("{}: {error}", drawing.kind));
    }
}

#[test]
fn a_drawing_does_not_depend_on_those_before_it() {
    let case = case("pair");
    let plotter = plotter(&case);
    let first = plotter.svg(Kind::Radar, &options(Theme::Light)).unwrap();
    plotter.svg(Kind::Forest, &options(Theme::Dark)).unwrap();
    assert_eq!(plotter.svg(Kind::Radar, &options(Theme::Light)).unwrap(), first);
}

/// However many dots there are, a chart holds no more than it has pixels.
#[test]
fn a_quarter_of_a_million_dots_stay_a_small_drawing() {
    let case = dots(25_000);
    let svg = plotter(&case).svg(Kind::Samples, &options(Theme::Light)).unwrap();
    assert!(svg.len() < 1_000_000, "{} bytes", svg.len());
    assert!(svg.contains("250,000 requests"));
}

#[test]
fn kinds_are_those_of_the_library() {
    let names: Vec<String> = Kind::ALL.iter().map(|kind| format!("\"{kind}\"")).collect();
    let source = include_str!("../../../../web/src/charts/types.ts");
    let list = source.split_once("kinds = [").and_then(|(_, rest)| rest.split_once(']')).unwrap().0;
    let theirs: Vec<&str> = list.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    assert_eq!(theirs, names);
    assert_eq!("Forest ".parse(), Ok(Kind::Forest));
    let error = "pie".parse::<Kind>().unwrap_err().to_string();
    assert!(error.contains("`pie`") && error.contains("heatmap"), "{error}");
}

#[cfg(feature = "pdf")]
#[test]
fn a_chart_as_a_page_has_its_font_inside() {
    let svg = plotter(&case("layers")).svg(Kind::Waterfall, &options(Theme::Print)).unwrap();
    let page = weighbridge_report::plot::pdf(&svg).unwrap();
    assert!(page.starts_with(b"%PDF-"));
    let holds = |text: &[u8]| page.windows(text.len()).any(|window| window == text);
    assert!(holds(b"Inter-Regular") && holds(b"Inter-SemiBold") && holds(b"/ToUnicode"));
}
