//! The formats of a calibration, byte for byte. `UPDATE_GOLDEN=1 cargo test -p weighbridge-report` rewrites
//! the golden files.

use std::path::PathBuf;

use weighbridge_model::estimate::{Estimate, Quantity};
use weighbridge_model::quantity::{Nanoseconds, Ratio};
use weighbridge_model::reliability::{
    Detectable, HostCalibration, HostIdentity, NoiseSource, Planted, PlantedRun, Planting, QuantitySpread,
    RELIABILITY_VERSION, RunToRun, Share, VariantReliability,
};
use weighbridge_report::reliability::render;
use weighbridge_report::{Format, TextOptions};

fn golden(name: &str, made: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, made).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == made, "`{name}` differs; if that is meant, set UPDATE_GOLDEN=1\n{made}");
}

fn estimate(point: f64, half: f64) -> Estimate {
    let (lower, upper) = (Some(point - half), Some(point + half));
    Estimate { point, lower, upper, level: 0.95, blocks: 6, bootstrap: None }
}

fn share(hits: u32, of: u32, lower: f64, upper: f64) -> Share {
    Share { hits, of, point: f64::from(hits) / f64::from(of), lower, upper, level: 0.95 }
}

fn spread(quantity: Quantity, figure: f64, parts: Option<(f64, f64)>) -> QuantitySpread {
    let detectable = |seconds: u64, change: f64| Detectable {
        measured: Nanoseconds::from_secs(seconds),
        blocks: 6,
        change: Ratio::new(change),
    };
    QuantitySpread {
        quantity,
        unit: quantity.unit(),
        figure,
        blocks: 174,
        deviation: Ratio::new(0.0085),
        start: parts.map(|(start, _)| Ratio::new(start)),
        round: parts.map(|(_, round)| Ratio::new(round)),
        detectable: match parts {
            Some(_) => vec![detectable(20, 0.0081), detectable(60, 0.0066), detectable(300, 0.0059)],
            None => vec![detectable(3, 0.124)],
        },
        position: (quantity != Quantity::Throughput).then(|| estimate(0.9998, 0.0007)),
    }
}

fn planted() -> Planted {
    Planted {
        planting: Planting::Probe,
        asked: Nanoseconds::from_nanos(306),
        found: share(11, 14, 0.4920, 0.9534),
        covered: Some(share(14, 14, 0.7684, 1.0)),
        difference: Some(estimate(351.0, 24.0)),
        truth: Some(361.0),
        runs: vec![PlantedRun {
            ratio: estimate(1.023, 0.004),
            difference: estimate(352.0, 60.0),
            truth: Some(361.0),
        }],
    }
}

fn calibration() -> HostCalibration {
    let run_to_run = |quantity, deviation| RunToRun {
        quantity,
        deviation: Ratio::new(deviation),
        lower: Ratio::new(deviation * 0.8),
        upper: Ratio::new(deviation * 1.35),
        level: 0.95,
        runs: 43,
    };
    let noise = |source: &str, value, evidence: &str, effect: &str| NoiseSource {
        source: source.to_owned(),
        value,
        unit: "share".to_owned(),
        evidence: evidence.to_owned(),
        effect: effect.to_owned(),
    };
    HostCalibration {
        schema: RELIABILITY_VERSION,
        experiment: "built-in probe".to_owned(),
        conditions: "pingpong 64 B; closed load, 1 connection".to_owned(),
        headline: Quantity::ResponseP50,
        started: "2026-11-21T10:15:00Z".to_owned(),
        started_unix_s: 1_795_256_100,
        took: Nanoseconds::from_secs(298),
        host: HostIdentity {
            key: "0123456789abcdef".to_owned(),
            lasting: [("kernel".to_owned(), "Linux 6.1".to_owned())].into(),
            passing: [("clock source".to_owned(), "tsc".to_owned())].into(),
        },
        variants: vec![VariantReliability {
            variant: "probe".to_owned(),
            blocks: 6,
            rounds: 13.4,
            measured: Nanoseconds::from_millis(3_300),
            false_alarms: Some(share(1, 29, 0.0009, 0.1776)),
            lost: 1,
            quantities: vec![
                spread(Quantity::ResponseP50, 15_300.0, Some((0.0052, 0.0231))),
                spread(Quantity::ResponseP99, 41_000.0, None),
                spread(Quantity::Throughput, 61_000.0, Some((0.0112, 0.0944))),
            ],
            planted: Some(planted()),
            run_to_run: vec![
                run_to_run(Quantity::ResponseP50, 0.061),
                run_to_run(Quantity::ResponseP90, 0.2),
            ],
            spread_over: Nanoseconds::from_secs(296),
        }],
        noise: vec![
            noise(
                "steal",
                Some(0.0),
                "0 % of CPU time taken by the hypervisor",
                "none seen; some hypervisors do not tell",
            ),
            noise(
                "frequency",
                None,
                "unavailable: the kernel has no cpufreq for the client's core",
                "unknown",
            ),
        ],
    }
}

#[test]
fn a_calibration_in_every_format() {
    let text = render(Format::Text, &calibration(), &TextOptions::default()).unwrap();
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    golden("reliability.txt", &text);
    golden("reliability.json", &render(Format::Json, &calibration(), &TextOptions::default()).unwrap());
    for format in [Format::Csv, Format::Markdown, Format::Html] {
        assert!(render(format, &calibration(), &TextOptions::default()).is_err());
    }
}

#[test]
fn json_reads_back_as_the_same_calibration() {
    let text = render(Format::Json, &calibration(), &TextOptions::default()).unwrap();
    assert_eq!(serde_json::from_str::<HostCalibration>(&text).unwrap(), calibration());
}

#[test]
fn names_from_a_file_move_no_cursor() {
    let mut hostile = calibration();
    hostile.experiment = "a\x1b[2Jb".to_owned();
    hostile.variants[0].variant = "c\x07".to_owned();
    let text = render(Format::Text, &hostile, &TextOptions::default()).unwrap();
    assert!(!text.contains('\x1b') && !text.contains('\x07'), "{text}");
}
