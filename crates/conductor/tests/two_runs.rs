//! Compares stored runs: through a common baseline, with a calibrated deviation, or not at all and why.

#[path = "../../judge/tests/common/mod.rs"]
mod common;

use std::path::Path;

use common::{Place, add_window, good, trial};
use tempfile::TempDir;
use weighbridge_conductor::compare::across::compare_runs;
use weighbridge_judge::{self as judge, Cores, Placement, Question};
use weighbridge_model::environment::{Environment, HostFacts, VariantBuild, WeighBuild};
use weighbridge_model::estimate::{Quantity, Validity, Verdict};
use weighbridge_model::experiment::Experiment;
use weighbridge_model::id::VariantId;
use weighbridge_model::quantity::{Nanoseconds, Ratio};
use weighbridge_model::record::TrialRecord;
use weighbridge_model::reliability::{
    HostCalibration, HostIdentity, RELIABILITY_VERSION, RunToRun, VariantReliability,
};
use weighbridge_model::summary::{Cost, Severity, Summary};
use weighbridge_store::{Calibrations, Participant, RunFolder, RunWriter, UtcTime};

/// The description of a stored run.
#[derive(Clone)]
struct Made {
    title: &'static str,
    size: &'static str,
    /// Name, words of the command, digest, and how long a request takes in nanoseconds.
    variants: Vec<(&'static str, &'static str, &'static str, f64)>,
    kernel: &'static str,
    machine: &'static str,
    started_unix_s: u64,
    blocks: u32,
}

impl Made {
    fn of(variants: &[(&'static str, &'static str, &'static str, f64)]) -> Self {
        Self {
            title: "a story",
            size: "64 B",
            variants: variants.to_vec(),
            kernel: "Linux 6.1",
            machine: "aaaa",
            started_unix_s: 1_795_296_124,
            blocks: 6,
        }
    }

    fn experiment(&self) -> String {
        let mut text = format!(
            "title = '{}'\n[workload]\nname = 'pingpong'\nsize = '{}'\n[load]\nconnections = 1\n\
             [plan]\nblocks = {{ min = 6, max = 6 }}\n",
            self.title, self.size
        );
        for (name, command, _, _) in &self.variants {
            text += &format!("[[variant]]\nname = '{name}'\ncommand = ['{command}']\n");
        }
        text
    }

    /// The blocks of every variant alternate ± 0.1 % about its time; neighbouring variants are in opposite
    /// phase.
    fn trials(&self) -> Vec<TrialRecord> {
        let mut trials = Vec::new();
        for block in 0..self.blocks {
            for (at, (_, _, _, time)) in self.variants.iter().enumerate() {
                let step = if (block as usize + at).is_multiple_of(2) { 1.001 } else { 0.999 };
                let mut one = trial(block, at as u16);
                for round in 0..10 {
                    add_window(
                        &mut one,
                        Place::measured(round, at as u32),
                        &[good((time * step) as u64); 100],
                    );
                }
                trials.push(one);
            }
        }
        trials
    }

    fn store(&self, out: &Path) -> RunFolder {
        let started = UtcTime::from_unix_ns(self.started_unix_s * 1_000_000_000);
        let mut writer = RunWriter::create(out, self.title, started).expect("a run");
        let experiment = Experiment::parse("test", &self.experiment()).expect("an experiment");
        writer.write_experiment(&experiment.to_toml()).expect("written");
        let variants: Vec<_> = self
            .variants
            .iter()
            .map(|(name, _, digest, _)| VariantBuild {
                name: (*name).to_owned(),
                binary_sha256: Some((*digest).to_owned()),
                ..VariantBuild::default()
            })
            .collect();
        let word = |text: &str| Some(text.to_owned());
        let host = HostFacts {
            processor: word("P"),
            kernel: word(self.kernel),
            hostname_sha256: word(self.machine),
            ..HostFacts::default()
        };
        let weigh = WeighBuild { executable_sha256: word("e"), version: None };
        let facts = Environment { weigh: Some(weigh), host: Some(host), variants, ..Environment::default() };
        writer.write_environment(&facts).expect("written");
        let participants: Vec<Participant> = (0..)
            .map(VariantId)
            .zip(&self.variants)
            .map(|(variant, made)| Participant { variant, name: made.0.to_owned() })
            .collect();
        let trials = self.trials();
        for block in trials.chunk_by(|a, b| a.block == b.block) {
            writer.write_block(&participants, block).expect("written");
        }
        let name = writer.folder().path().file_name().expect("a name").to_string_lossy().into_owned();
        let run = judge::Run { title: self.title.to_owned(), name, ..judge::Run::default() };
        let cores = Cores { service: Some(1), placement: Placement::Apart };
        let summary = judge::summarise(&Question::new(&experiment, run, cores), &trials);
        writer.write_summary(&summary).expect("written");
        RunFolder::open(writer.folder().path()).expect("a run folder")
    }
}

fn calibration(title: &str, key: &str, deviation: f64) -> HostCalibration {
    let runs = |quantity| RunToRun {
        quantity,
        deviation: Ratio::new(deviation),
        lower: Ratio::new(deviation / 2.0),
        upper: Ratio::new(deviation * 2.0),
        level: 0.95,
        runs: 30,
    };
    HostCalibration {
        schema: RELIABILITY_VERSION,
        experiment: title.to_owned(),
        conditions: String::new(),
        headline: Quantity::ResponseP50,
        started: "2026-01-01T00:00:00Z".to_owned(),
        started_unix_s: 1,
        took: Nanoseconds::from_secs(300),
        host: HostIdentity { key: key.to_owned(), ..HostIdentity::default() },
        variants: vec![VariantReliability {
            variant: "base".to_owned(),
            blocks: 6,
            rounds: 10.0,
            measured: Nanoseconds::from_secs(1),
            false_alarms: None,
            lost: 0,
            quantities: Vec::new(),
            planted: None,
            run_to_run: [Quantity::ResponseP50, Quantity::ResponseMean].map(runs).into(),
            spread_over: Nanoseconds::from_secs(300),
        }],
        noise: Vec::new(),
    }
}

struct Stage {
    folder: TempDir,
}

impl Stage {
    fn new() -> Self {
        Self { folder: TempDir::new().expect("a folder") }
    }

    fn compare(&self, first: &Made, second: &Made, named: &[&str]) -> Summary {
        let out = self.folder.path().join("runs");
        let folders = [first, second].map(|made| made.store(&out));
        let named: Vec<String> = named.iter().map(|name| (*name).to_owned()).collect();
        compare_runs(&folders[0], &folders[1], &named, Some(&self.folder.path().join("calibration")))
            .expect("compared")
    }

    fn calibrate(&self, title: &str, deviation: f64) {
        // The key of `P` and `Linux 6.1`: printf 'kernel=Linux 6.1\nprocessor=P\n' | sha256sum
        let store = Calibrations::at(self.folder.path().join("calibration"));
        store.keep(&calibration(title, "f3c6c4516799fef8", deviation)).expect("kept");
    }
}

fn headline(summary: &Summary) -> &Cost {
    summary.costs.iter().find(|cost| cost.headline).expect("a headline")
}

#[track_caller]
fn assert_refused(summary: &Summary, words: &[&str]) {
    let cost = headline(summary);
    assert_eq!((cost.verdict, summary.validity), (Verdict::Invalid, Validity::Invalid), "{cost:?}");
    let reason = cost.reason.as_deref().expect("a reason");
    for word in ["not measured together", "put both into one experiment"].iter().chain(words) {
        assert!(reason.contains(word), "`{word}` is not in `{reason}`");
    }
}

/// `base` at 1 ms with `old` at 1.04 times that; later, on a host 30 % slower, `base` with `new` at 1.10
/// times that.
fn pair() -> (Made, Made) {
    let first = Made::of(&[("base", "/bin/base", "b1", 1e6), ("old", "/bin/it", "o1", 1.04e6)]);
    let second = Made::of(&[("base", "/bin/base", "b1", 1.3e6), ("new", "/bin/it", "n1", 1.43e6)]);
    (first, Made { started_unix_s: 1_795_299_724, ..second })
}

#[test]
fn a_baseline_that_both_hold_carries_what_the_host_became() {
    let (first, second) = pair();
    let found = Stage::new().compare(&first, &second, &[]);
    let cost = headline(&found);
    let ratio = cost.ratio.expect("a ratio");
    assert!((ratio.point - 1.10 / 1.04).abs() < 1e-4, "{ratio:?}");
    assert_eq!((cost.verdict, found.validity), (Verdict::Higher, Validity::Valid));
    assert!(cost.variant.starts_with("new (2026"), "{}", cost.variant);
    let baseline: Vec<_> = found.variants.iter().filter(|v| v.baseline).map(|v| v.name.as_str()).collect();
    assert!(baseline.len() == 1 && baseline[0].starts_with("old (2026"), "{baseline:?}");
    let note = &found.findings[0];
    assert_eq!((note.severity, &*note.name), (Severity::Note, "two runs"));
    for words in ["through `base` in both runs", "ratio of ratios", "taken for granted"] {
        assert!(note.evidence.contains(words), "{}", note.evidence);
    }
    // With the runs exchanged, the ratio is inverted.
    let turned = Stage::new().compare(&second, &first, &[]);
    assert!((headline(&turned).ratio.expect("a ratio").point * ratio.point - 1.0).abs() < 1e-9);
}

#[test]
fn a_baseline_that_is_not_the_same_program_carries_nothing() {
    let (first, second) = pair();
    let changed = |digest: &'static str, command: &'static str| {
        let mut made = second.clone();
        (made.variants[0].2, made.variants[0].1) = (digest, command);
        made
    };
    let none = "not calibrated (`weigh calibrate`)";
    let stage = Stage::new();
    assert_refused(&stage.compare(&first, &changed("b2", "/bin/base"), &[]), &["another hash", none]);
    assert_refused(&stage.compare(&first, &changed("b1", "/bin/other"), &[]), &["another target", none]);
    let larger = Made { size: "64 KiB", ..second.clone() };
    assert_refused(&stage.compare(&first, &larger, &[]), &["workload, load or points differ"]);
    let elsewhere = Made { kernel: "Linux 6.2", ..second };
    let words = ["the hosts differ: kernel was Linux 6.1, is Linux 6.2"];
    assert_refused(&stage.compare(&first, &elsewhere, &[]), &words);
}

#[test]
fn variants_are_told_by_name_where_several_can_be_meant() {
    let three = |time: f64, factor: f64| {
        Made::of(&[
            ("base", "/bin/base", "b1", time),
            ("x", "/bin/x", "x1", 1.2 * time),
            ("y", "/bin/y", "y1", 1.5 * factor * time),
        ])
    };
    let (first, second) = (three(1e6, 1.0), three(1.1e6, 1.1));
    let stage = Stage::new();
    assert_refused(&stage.compare(&first, &second, &[]), &["add their names", "`base`, `x`, `y`"]);
    let y = stage.compare(&first, &second, &["y"]);
    assert!((headline(&y).ratio.expect("a ratio").point - 1.1).abs() < 1e-4, "{:?}", headline(&y));
    let across = stage.compare(&first, &second, &["x", "y"]);
    assert!((headline(&across).ratio.expect("a ratio").point - 1.65 / 1.2).abs() < 1e-4);
    let out = stage.folder.path().join("more");
    let folders = [first.store(&out), second.store(&out)];
    let error = compare_runs(&folders[0], &folders[1], &["z".to_owned()], None).expect_err("no such variant");
    assert!(error.to_string().contains("no variant `z`; it has `base`, `x`, `y`"), "{error}");
}

#[test]
fn a_calibrated_host_lends_its_deviation_from_run_to_run() {
    let first = Made::of(&[("it", "/bin/it", "v1", 1e6)]);
    let second =
        Made { started_unix_s: first.started_unix_s + 120, ..Made::of(&[("it", "/bin/it", "v2", 1.2e6)]) };
    let stage = Stage::new();
    assert_refused(&stage.compare(&first, &second, &[]), &["share no baseline", "not calibrated"]);
    stage.calibrate("a story", 0.03);
    let found = stage.compare(&first, &second, &[]);
    let cost = headline(&found);
    assert_eq!((cost.verdict, found.validity), (Verdict::Higher, Validity::Valid), "{cost:?}");
    let ratio = cost.ratio.expect("a ratio");
    // √2 · 3 % and blocks of ± 0.1 %, 29 degrees: t = 2.0452.
    let half = 2.0452 * (2.0_f64 * 0.03 * 0.03 + 2.0 * 0.001_f64.powi(2) / 5.0).sqrt();
    assert!((ratio.lower.expect("a bound").ln() - (1.2_f64.ln() - half)).abs() < 2e-4, "{ratio:?}");
    assert!(found.findings[0].evidence.contains("deviation from run to run"), "{:?}", found.findings);
    let throughput = found.costs.iter().find(|cost| cost.quantity == Quantity::Throughput).expect("a row");
    assert_eq!(throughput.verdict, Verdict::Withheld, "it was not calibrated");
    // The calibration covers five minutes, not a day.
    let later = Made { started_unix_s: first.started_unix_s + 86_400, ..second.clone() };
    let found = stage.compare(&first, &later, &[]);
    assert_eq!((found.validity, found.findings[0].severity), (Validity::Suspect, Severity::Warning));
    assert!(found.findings[0].evidence.contains("may not be in it"), "{:?}", found.findings[0]);
    let other = Made { machine: "bbbb", ..second };
    assert_refused(&stage.compare(&first, &other, &[]), &["two machines"]);
}

#[test]
fn another_experiments_calibration_is_said_to_be_that() {
    let first = Made::of(&[("it", "/bin/it", "v1", 1e6)]);
    let second = Made { started_unix_s: first.started_unix_s + 60, ..first.clone() };
    let stage = Stage::new();
    stage.calibrate("built-in probe", 0.02);
    let found = stage.compare(&first, &second, &[]);
    assert!(found.findings[0].evidence.ends_with("another experiment"), "{:?}", found.findings[0]);
    assert_eq!(headline(&found).verdict, Verdict::Undecided, "±6 % holds 0 and more than the margin");
}

#[test]
fn one_run_and_itself_is_that_run() {
    let (first, _) = pair();
    let stage = Stage::new();
    let folder = first.store(&stage.folder.path().join("runs"));
    let found = compare_runs(&folder, &folder, &[], None).expect("compared");
    assert_eq!(found, folder.summary().expect("a summary"));
}

#[test]
fn three_blocks_are_too_few_for_either() {
    let (first, second) = pair();
    let found = Stage::new().compare(&first, &Made { blocks: 3, ..second }, &[]);
    let cost = headline(&found);
    assert_eq!((cost.verdict, cost.ratio), (Verdict::Withheld, None));
    assert!(cost.reason.as_deref().expect("a reason").starts_with("3 blocks"), "{cost:?}");
}
