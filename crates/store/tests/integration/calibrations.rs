//! Calibrations are kept whole, the newest counts, and what cannot be read stands in nobody's way.

use std::fs;

use weighbridge_model::estimate::Quantity;
use weighbridge_model::quantity::{Nanoseconds, Ratio};
use weighbridge_model::reliability::{
    HostCalibration, HostIdentity, NoiseSource, RELIABILITY_VERSION, RunToRun, Share, VariantReliability,
};
use weighbridge_store::{Calibrations, WriteError};

const KEY: &str = "0123456789abcdef";

fn calibration(experiment: &str, started_unix_s: u64) -> HostCalibration {
    HostCalibration {
        schema: RELIABILITY_VERSION,
        experiment: experiment.to_owned(),
        conditions: "pingpong".to_owned(),
        headline: Quantity::ResponseP50,
        started: "2026-11-21T21:22:04Z".to_owned(),
        started_unix_s,
        took: Nanoseconds::from_secs(300),
        host: HostIdentity { key: KEY.to_owned(), ..HostIdentity::default() },
        variants: vec![VariantReliability {
            variant: "null".to_owned(),
            blocks: 6,
            rounds: 12.5,
            measured: Nanoseconds::from_secs(3),
            false_alarms: Some(Share {
                hits: 1,
                of: 29,
                point: 1.0 / 29.0,
                lower: 0.0009,
                upper: 0.1776,
                level: 0.95,
            }),
            lost: 0,
            quantities: Vec::new(),
            planted: None,
            run_to_run: vec![RunToRun {
                quantity: Quantity::ResponseP50,
                deviation: Ratio::new(0.1 / 3.0),
                lower: Ratio::new(0.02),
                upper: Ratio::new(0.05),
                level: 0.95,
                runs: 29,
            }],
            spread_over: Nanoseconds::from_secs(290),
        }],
        noise: vec![NoiseSource {
            source: "steal".to_owned(),
            value: None,
            unit: "share".to_owned(),
            evidence: "unavailable: no `/proc`".to_owned(),
            effect: "unknown".to_owned(),
        }],
    }
}

#[test]
fn what_is_kept_is_read_back_to_the_last_bit_and_the_newest_counts() {
    let folder = tempfile::tempdir().unwrap();
    let store = Calibrations::at(folder.path().join("not/there/yet"));
    assert_eq!(store.for_host(KEY).unwrap(), []);
    assert_eq!(store.for_run(KEY, "a").unwrap(), None);
    let (old, new, own) = (calibration("b", 1_000), calibration("b", 3_000), calibration("a", 2_000));
    for one in [&new, &old, &own] {
        store.keep(one).unwrap();
    }
    assert_eq!(store.for_host(KEY).unwrap(), [new.clone(), own.clone(), old]);
    assert_eq!(store.for_run(KEY, "a").unwrap(), Some(own), "its own experiment first");
    assert_eq!(store.for_run(KEY, "c").unwrap(), Some(new), "else the newest");
    assert_eq!(store.for_host("ffff").unwrap(), [], "another host");
    assert_eq!(store.hosts().unwrap(), [KEY]);
    let path = store.keep(&calibration("JSON vs. gRPC", 1_795_296_124)).unwrap();
    assert!(path.ends_with("0123456789abcdef/20261121-212204-json-vs-grpc.json"), "{}", path.display());
}

#[test]
fn damaged_files_and_other_versions_are_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let store = Calibrations::at(folder.path());
    let kept = store.keep(&calibration("a", 1_000)).unwrap();
    let beside = |name: &str, text: &str| fs::write(kept.with_file_name(name), text).unwrap();
    let newer = fs::read_to_string(&kept).unwrap().replace("\"schema\": 1", "\"schema\": 99");
    beside("20990101-000000-a.json", &newer);
    beside("20990101-000001-a.json", "{\"schema\": 1, \"exper");
    beside(".20990101-000002-a.json.7.partial", "{}");
    beside("notes.txt", "hello");
    assert_eq!(store.for_host(KEY).unwrap(), [calibration("a", 1_000)]);
}

#[test]
fn a_key_cannot_lead_out_of_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let store = Calibrations::at(folder.path().join("calibration"));
    let mut foreign = calibration("a", 1_000);
    foreign.host.key = "../elsewhere".to_owned();
    assert!(matches!(store.keep(&foreign), Err(WriteError::NotStorable { .. })));
    assert_eq!(store.for_host("../elsewhere").unwrap(), []);
    assert!(!folder.path().join("elsewhere").exists());
}
