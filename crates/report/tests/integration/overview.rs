//! What `weigh summary` and `weigh cite` print, byte for byte. `UPDATE_GOLDEN=1 cargo test -p
//! weighbridge-report --test overview` rewrites the golden files; read the difference before you keep it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use weighbridge_model::estimate::Validity;
use weighbridge_model::overview::{Origin, Overview, OverviewFigure, OverviewRow};
use weighbridge_model::sizes::SizeTime;
use weighbridge_report::cite::{self, Citation, CitedRun, CitedVariant, Software};
use weighbridge_report::{Style, overview};

fn golden(path: &str, made: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, made).expect("a file");
    }
    let kept = std::fs::read_to_string(&path).expect("a golden file; UPDATE_GOLDEN=1 writes it");
    assert_eq!(made, kept, "{}", path.display());
}

fn bounded(point: f64) -> Option<OverviewFigure> {
    Some(OverviewFigure::new(point, Some((0.97 * point, 1.04 * point))))
}

fn set(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn shown() -> Overview {
    let measured = OverviewRow {
        run: "20260101-120000-languages".to_owned(),
        variant: "go".to_owned(),
        point: set(&[("workload.size", "64 B")]),
        machine: Some("m3.large".to_owned()),
        experiment: "bare/go".to_owned(),
        name: "Go, bare on two cores".to_owned(),
        tags: set(&[("experiment", "bare"), ("machine", "m3.large"), ("zone", "a, b")]),
        origin: Origin::Measured,
        validity: Some(Validity::Valid),
        requests: 1_234_567,
        failed: 12,
        retried: None,
        size_from_bytes: Some(64),
        size_to_bytes: Some(64),
        time: SizeTime::Service,
        median_ns: bounded(12_345.6),
        p90_ns: bounded(45_678.9),
        transfer_median_bytes_per_s: bounded(5_184_033.5),
        throughput_per_s: bounded(54_321.0),
    };
    let doubted = OverviewRow {
        variant: "r*by".to_owned(),
        machine: None,
        experiment: "r*by".to_owned(),
        name: "r*by".to_owned(),
        tags: BTreeMap::new(),
        validity: Some(Validity::Invalid),
        size_from_bytes: None,
        size_to_bytes: None,
        median_ns: None,
        p90_ns: None,
        transfer_median_bytes_per_s: None,
        ..measured.clone()
    };
    let imported = OverviewRow {
        run: "20260102-080000-imported".to_owned(),
        variant: "docker-dart on m3.xlarge".to_owned(),
        point: BTreeMap::new(),
        machine: Some("m3.xlarge".to_owned()),
        experiment: "docker-dart".to_owned(),
        name: "docker-dart on m3.xlarge".to_owned(),
        tags: set(&[("experiment", "docker-dart"), ("machine", "m3.xlarge")]),
        origin: Origin::Imported,
        validity: None,
        requests: 4_999,
        failed: 1,
        retried: Some(3),
        size_from_bytes: Some(17),
        size_to_bytes: Some(499_981),
        time: SizeTime::Relayed,
        median_ns: bounded(3.62e6),
        p90_ns: bounded(6.1e6),
        transfer_median_bytes_per_s: bounded(47_892_000.0),
        throughput_per_s: None,
    };
    let few = few(&imported);
    Overview { rows: vec![measured, doubted, imported, few] }
}

/// A series of too few rows for intervals.
fn few(like: &OverviewRow) -> OverviewRow {
    OverviewRow {
        variant: "few".to_owned(),
        machine: None,
        experiment: "few".to_owned(),
        name: "few".to_owned(),
        tags: set(&[("experiment", "few")]),
        requests: 4,
        failed: 0,
        retried: None,
        median_ns: Some(OverviewFigure::new(3.62e6, None)),
        p90_ns: Some(OverviewFigure::new(6.1e6, None)),
        transfer_median_bytes_per_s: None,
        ..like.clone()
    }
}

#[test]
fn a_summary_of_runs_in_every_format() {
    let shown = shown();
    let narrow = overview::text(&shown, Style::Plain, 80);
    assert!(narrow.lines().all(|line| line.chars().count() <= 80), "{narrow}");
    golden("testdata/overview.txt", &narrow);
    golden("testdata/overview-wide.txt", &overview::text(&shown, Style::Plain, 220));
    golden("testdata/overview.json", &overview::json(&shown));
    golden("testdata/overview.csv", &overview::csv(&shown));
    golden("testdata/overview.md", &overview::markdown(&shown));
    let back: Overview = serde_json::from_str(&overview::json(&shown)).expect("its own JSON");
    assert_eq!(back, shown);
    let csv = overview::csv(&shown);
    let columns: Vec<usize> = csv.lines().map(|line| line.replace(", b", "").split(',').count()).collect();
    assert_eq!(columns, [27; 5], "every row has a field for every column");
}

#[test]
fn a_citation_in_every_format() {
    let software = Software { version: "1.2.3", ..cite::WEIGHBRIDGE };
    let run = CitedRun {
        run: "20260101-120000-languages".to_owned(),
        title: "Go & Rust: 50 % of {it}".to_owned(),
        started: "2026-01-01T12:00:00Z".to_owned(),
        host: Some("AMD EPYC, 2 cores, 24.0 GiB, Linux 6.18".to_owned()),
        weigh: Some("1.2.3".to_owned()),
        variants: vec![
            CitedVariant { name: "go".to_owned(), version: Some("Go 1.26.8 net/http 1.26.8".to_owned()) },
            CitedVariant { name: "mine_too".to_owned(), version: None },
        ],
        digest: "ab".repeat(32),
    };
    let citation = Citation { software, run: Some(run) };
    golden("testdata/cite.txt", &cite::text(&citation));
    golden("testdata/cite.bib", &cite::bibtex(&citation));
    golden("testdata/cite.json", &cite::json(&citation));
    let alone = Citation { run: None, ..citation };
    assert_eq!((cite::text(&alone).lines().count(), cite::bibtex(&alone).matches('@').count()), (1, 1));
}

#[test]
fn the_citation_file_of_the_repository_is_what_the_program_says() {
    golden("../../CITATION.cff", &cite::cff(&cite::WEIGHBRIDGE));
}
