//! Compares two stored runs: which of their variants, through what, and why not.
//!
//! The runs were not measured together. So nothing is concluded unless a baseline common to both accounts for
//! what changed between them, or the host's deviation from run to run is calibrated. Figures and verdicts
//! come from the judge.

use std::collections::BTreeMap;
use std::path::Path;

use weighbridge_judge::across::{ComparedRun, through_baseline, through_calibration};
use weighbridge_judge::reliability::changed;
use weighbridge_judge::{self as judge, Question};
use weighbridge_model::environment::VariantBuild;
use weighbridge_model::estimate::{Validity, Verdict};
use weighbridge_model::experiment::{Experiment, Variant};
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::record::TrialRecord;
use weighbridge_model::reliability::{HostCalibration, HostIdentity};
use weighbridge_model::sizes::{OverSize, SizeCliff, SizeGuide, SizeJudged};
use weighbridge_model::summary::{BlockCounts, Cost, Finding, Severity, Summary, VariantSummary};
use weighbridge_store::{Calibrations, RunFolder};

use crate::compare::{CompareError, compare_variants, experiment_of, keep_variants, question_of, trials_of};
use crate::prepare::environment::identity_of;

struct Stored {
    experiment: Experiment,
    trials: Vec<TrialRecord>,
    summary: Summary,
    host: Option<HostIdentity>,
    /// Digests of the variants' programs, by name.
    digests: BTreeMap<String, String>,
    started_unix_s: u64,
}

/// One run with only the compared variants, judged by itself.
struct Excerpt {
    question: Question,
    trials: Vec<TrialRecord>,
    summary: Summary,
}

enum Reference {
    /// Indices of the common variant.
    Baseline([usize; 2]),
    Calibration(Box<HostCalibration>),
}

/// Compares a variant of `second` with one of `first`. `named` holds no name where each run has one candidate
/// only, and one name where it is the same in both.
pub fn compare_runs(
    first: &RunFolder,
    second: &RunFolder,
    named: &[String],
    calibrations: Option<&Path>,
) -> Result<Summary, CompareError> {
    let path = |folder: &RunFolder| std::fs::canonicalize(folder.path()).ok();
    if path(first).is_some() && path(first) == path(second) {
        // A run against itself: its variants were measured together.
        return match named {
            [baseline, variant] => compare_variants(first, baseline, variant),
            _ => Ok(first.summary()?),
        };
    }
    let runs = [Stored::read(first)?, Stored::read(second)?];
    let wanted = wanted(&runs, named)?;
    let reference = match shared(&runs, wanted) {
        Ok(places) => Ok(Reference::Baseline(places)),
        Err(no_baseline) => match calibration(&runs, calibrations) {
            Ok(found) => Ok(Reference::Calibration(Box::new(found))),
            // A reason that prevents both is reported once.
            Err(reason) if reason == no_baseline => Err(reason),
            Err(reason) => Err(format!("{no_baseline}; {reason}")),
        },
    };
    let chosen = reference.and_then(|reference| Ok((choose(&runs, &reference, wanted)?, reference)));
    Ok(match chosen {
        Ok((places, reference)) => compared(runs, places, &reference),
        Err(reason) => not_together(runs, &reason),
    })
}

impl Stored {
    fn read(folder: &RunFolder) -> Result<Self, CompareError> {
        let environment = folder.environment()?;
        let digest = |variant: &VariantBuild| {
            let own = variant.binary_sha256.as_deref()?;
            // A relay is the same program only with the same peer, and a service with the same server for its database.
            let digest = match (&variant.peer, &variant.database) {
                (None, None) => own.to_owned(),
                (Some(peer), _) => format!("{own} {}", peer.binary_sha256.as_deref()?),
                (None, Some(database)) => format!("{own} {}", database.version.as_deref()?),
            };
            Some((variant.name.clone(), digest))
        };
        Ok(Self {
            experiment: experiment_of(folder)?,
            trials: trials_of(folder)?,
            summary: folder.summary()?,
            host: identity_of(&environment),
            digests: environment.variants.iter().filter_map(digest).collect(),
            started_unix_s: folder.started().unix_ns() / 1_000_000_000,
        })
    }

    fn names(&self) -> String {
        self.experiment.variants.iter().map(|v| format!("`{}`", v.name)).collect::<Vec<_>>().join(", ")
    }

    fn find(&self, name: &str) -> Result<usize, CompareError> {
        let found = self.experiment.variants.iter().position(|variant| variant.name == name);
        found.ok_or_else(|| CompareError::NoVariant {
            run: self.summary.run.clone(),
            name: name.to_owned(),
            allowed: self.names(),
        })
    }

    fn excerpt(mut self, kept: &[usize]) -> Excerpt {
        keep_variants(&mut self.experiment, &mut self.trials, kept);
        let question = question_of(self.summary, &self.experiment);
        let summary = judge::summarise(&question, &self.trials);
        Excerpt { question, trials: self.trials, summary }
    }
}

impl Excerpt {
    fn part(&self) -> ComparedRun<'_> {
        ComparedRun { question: &self.question, trials: &self.trials, summary: &self.summary }
    }
}

fn wanted(runs: &[Stored; 2], named: &[String]) -> Result<[Option<usize>; 2], CompareError> {
    let names = match named {
        [] => return Ok([None, None]),
        [both] => [both, both],
        [first, second] => [first, second],
        _ => return Err(CompareError::Choice("name one variant of each run at most".to_owned())),
    };
    Ok([Some(runs[0].find(names[0])?), Some(runs[1].find(names[1])?)])
}

/// The indices of a common variant, none of the wanted ones; the baselines of both are tried first.
fn shared(runs: &[Stored; 2], wanted: [Option<usize>; 2]) -> Result<[usize; 2], String> {
    let [one, two] = runs;
    same_host(one, two)?;
    same_idle(one, two)?;
    if one.experiment.points != two.experiment.points {
        return Err("workload, load or points differ".to_owned());
    }
    let mut reasons = Vec::new();
    for (i, a) in one.experiment.variants.iter().enumerate() {
        for (j, b) in two.experiment.variants.iter().enumerate() {
            if wanted[0] == Some(i) || wanted[1] == Some(j) {
                continue;
            }
            match same_program(one, a, two, b) {
                Ok(()) if one.experiment.variants.len() > 1 && two.experiment.variants.len() > 1 => {
                    return Ok([i, j]);
                }
                Ok(()) => reasons.push(format!("beside `{}` a run holds nothing to compare", a.name)),
                Err(why) if a.name == b.name || (i, j) == (0, 0) => {
                    reasons.push(format!("`{}` and `{}`: {why}", a.name, b.name));
                }
                Err(_) => {}
            }
        }
    }
    let why = if reasons.is_empty() { String::new() } else { format!(" ({})", reasons.join(", ")) };
    Err(format!("they share no baseline{why}"))
}

fn same_program(one: &Stored, a: &Variant, two: &Stored, b: &Variant) -> Result<(), &'static str> {
    let plain = |v: &Variant| Variant { name: String::new(), ..v.clone() };
    match (one.digests.get(&a.name), two.digests.get(&b.name)) {
        (Some(first), Some(second)) if first == second => {}
        (Some(_), Some(_)) => return Err("another hash"),
        _ => return Err("no hash is known of what was not started by `weigh`"),
    }
    match plain(a) == plain(b) {
        true => Ok(()),
        false => Err("another target, protocol or other settings"),
    }
}

fn same_host(one: &Stored, two: &Stored) -> Result<(), String> {
    match (&one.host, &two.host) {
        (Some(a), Some(b)) if a.key == b.key => Ok(()),
        (Some(a), Some(b)) => {
            let before = HostIdentity { passing: b.passing.clone(), ..a.clone() };
            Err(format!("the hosts differ: {}", changed(&before, b).join(", ")))
        }
        _ => Err("the host of a run is unknown".to_owned()),
    }
}

/// Every time includes waking an idle core, so runs with and without it count as runs of two hosts.
fn same_idle(one: &Stored, two: &Stored) -> Result<(), String> {
    let waited = |run: &Stored| run.summary.idle.as_ref().map(|idle| idle.was);
    match (waited(one), waited(two)) {
        (Some(a), Some(b)) if a != b => {
            Err("idle cores were kept awake in one run and slept in the other".to_owned())
        }
        _ => Ok(()),
    }
}

/// A calibration whose deviation from run to run applies to both runs.
fn calibration(runs: &[Stored; 2], folder: Option<&Path>) -> Result<HostCalibration, String> {
    let [one, two] = runs;
    same_host(one, two)?;
    same_idle(one, two)?;
    let (Some(a), Some(b)) = (&one.host, &two.host) else { return Err("the host is unknown".to_owned()) };
    if a.passing.get("name") != b.passing.get("name") {
        return Err("the runs are of two machines, whose difference no calibration knows".to_owned());
    }
    if one.experiment.points != two.experiment.points {
        return Err("workload, load or points differ".to_owned());
    }
    let none = || "this host is not calibrated (`weigh calibrate`)".to_owned();
    let store = Calibrations::at(folder.ok_or_else(none)?);
    let found = store.for_run(&a.key, &one.summary.title).map_err(|error| error.to_string())?;
    let found = found.ok_or_else(none)?;
    let usable = found.variants.first().is_some_and(|variant| !variant.run_to_run.is_empty());
    usable
        .then_some(found)
        .ok_or_else(|| "its calibration had too few runs for a deviation from run to run".to_owned())
}

/// The compared variants: those wanted; else the only ones besides the common one, or those of the one name
/// that both runs have.
fn choose(
    runs: &[Stored; 2],
    reference: &Reference,
    wanted: [Option<usize>; 2],
) -> Result<[usize; 2], String> {
    if let [Some(first), Some(second)] = wanted {
        return Ok([first, second]);
    }
    let left = |at: usize| {
        let without = match reference {
            Reference::Baseline(places) => Some(places[at]),
            Reference::Calibration(_) => None,
        };
        (0..runs[at].experiment.variants.len()).filter(|place| Some(*place) != without).collect::<Vec<_>>()
    };
    let (first, second) = (left(0), left(1));
    if let ([a], [b]) = (&first[..], &second[..]) {
        return Ok([*a, *b]);
    }
    let name = |at: usize, place: usize| &runs[at].experiment.variants[place].name;
    let pairs = first.iter().flat_map(|a| second.iter().map(move |b| [*a, *b]));
    let alike: Vec<[usize; 2]> = pairs.filter(|[a, b]| name(0, *a) == name(1, *b)).collect();
    match &alike[..] {
        [one] => Ok(*one),
        _ => Err(format!(
            "which variants are meant is open: add their names behind the runs; `{}` has {}, `{}` has {}",
            runs[0].summary.run,
            runs[0].names(),
            runs[1].summary.run,
            runs[1].names()
        )),
    }
}

fn compared(runs: [Stored; 2], places: [usize; 2], reference: &Reference) -> Summary {
    let note = note(&runs, places, reference);
    let [one, two] = runs;
    let kept = |at: usize| match reference {
        Reference::Baseline(shared) => vec![shared[at], places[at]],
        Reference::Calibration(_) => vec![places[at]],
    };
    let (stored, baseline) = (one.summary.clone(), one.experiment.variants[places[0]].name.clone());
    let (first, second) = (one.excerpt(&kept(0)), two.excerpt(&kept(1)));
    let costs = match reference {
        Reference::Baseline(_) => through_baseline(first.part(), second.part()),
        Reference::Calibration(found) => {
            let deviations = found.variants.first().map(|variant| &*variant.run_to_run).unwrap_or_default();
            through_calibration(first.part(), second.part(), deviations)
        }
    };
    let mut summary = whole(stored, [&first.summary, &second.summary], Some(&baseline), costs);
    if note.severity > Severity::Note && summary.validity == Validity::Valid {
        summary.validity = Validity::Suspect;
    }
    summary.findings.push(note);
    summary
}

fn time_between(runs: &[Stored; 2]) -> Nanoseconds {
    Nanoseconds::from_secs(runs[0].started_unix_s.abs_diff(runs[1].started_unix_s))
}

/// States what connects the two runs, and the assumption behind it.
fn note(runs: &[Stored; 2], places: [usize; 2], reference: &Reference) -> Finding {
    let name = |at: usize, place: usize| runs[at].experiment.variants[place].name.clone();
    let subject = format!("{} against {}", name(1, places[1]), name(0, places[0]));
    let finding = |severity, evidence: String, remedy: &str| Finding {
        severity,
        name: "two runs".to_owned(),
        subject: subject.clone(),
        evidence,
        remedy: remedy.to_owned(),
    };
    match reference {
        Reference::Baseline([a, b]) => {
            let (a, b) = (name(0, *a), name(1, *b));
            let who = if a == b { format!("`{a}`") } else { format!("`{a}` and `{b}`, one program,") };
            let evidence = format!(
                "not measured together; compared through {who} in both runs, as a ratio of ratios: it is taken for \
                 granted that what changed on the host between them changed baseline and variants by the same factor"
            );
            finding(Severity::Note, evidence, "put both into one experiment for a narrower interval")
        }
        Reference::Calibration(found) => {
            let over = found.variants.first().map(|variant| variant.spread_over).unwrap_or_default();
            let between = time_between(runs);
            let mut evidence = format!(
                "not measured together; the error holds the host's deviation from run to run, calibrated {} with {} over \
                 {over}; the runs began {between} apart",
                found.started, found.experiment
            );
            let far = between > over;
            if far {
                evidence.push_str(", and what changes in so long a time may not be in it");
            }
            let other = found.experiment != runs[0].summary.title;
            if other {
                evidence.push_str("; that was another experiment");
            }
            let severity = if far || other { Severity::Warning } else { Severity::Note };
            finding(severity, evidence, "put both into one experiment, or let both runs hold one baseline")
        }
    }
}

fn not_together(runs: [Stored; 2], reason: &str) -> Summary {
    let [one, two] = runs;
    let (first, second) = (one.summary, two.summary);
    let cost = |variant: &VariantSummary| Cost {
        point: variant.point.clone(),
        variant: variant.name.clone(),
        operation: "all".to_owned(),
        quantity: first.headline,
        unit: first.headline.unit(),
        difference: None,
        ratio: None,
        verdict: Verdict::Invalid,
        effect: None,
        reason: Some(format!("not measured together: {reason}; put both into one experiment")),
        p: None,
        headline: true,
    };
    let costs = second.variants.iter().map(cost).collect();
    let mut summary = whole(first.clone(), [&first, &second], None, costs);
    summary.validity = Validity::Invalid;
    summary
}

fn named(name: &str, run: &str) -> String {
    format!("{name} ({run})")
}

/// What each run found over sizes by itself, without advice: between two runs, advice follows from costs
/// only. Guide lines are those of the first run, and of the second where its host differs.
fn over_size(runs: [&Summary; 2]) -> OverSize {
    let mut over = OverSize::default();
    for run in runs {
        let of = |cliff: &SizeCliff| SizeCliff { variant: named(&cliff.variant, &run.run), ..cliff.clone() };
        over.cliffs.extend(run.over_size.cliffs.iter().map(of));
        let judged = |one: &SizeJudged| SizeJudged { variant: named(&one.variant, &run.run), ..one.clone() };
        over.judged.extend(run.over_size.judged.iter().map(judged));
        let new = |guide: &&SizeGuide| !over.guides.contains(guide);
        let guides: Vec<SizeGuide> = run.over_size.guides.iter().filter(new).cloned().collect();
        over.guides.extend(guides);
    }
    over.guides.sort_by_key(|guide| guide.bytes);
    over
}

/// A summary of costs between two runs, with variants named after their runs. `compared` is the first run's
/// variant used as the baseline; without it, that run's baseline is used.
fn whole(
    stored: Summary,
    [first, second]: [&Summary; 2],
    compared: Option<&str>,
    costs: Vec<Cost>,
) -> Summary {
    let against = |variant: &VariantSummary| compared.map_or(variant.baseline, |name| variant.name == name);
    let of = |summary: &Summary, against: &dyn Fn(&VariantSummary) -> bool| -> Vec<VariantSummary> {
        let rename = |variant: &VariantSummary| VariantSummary {
            name: named(&variant.name, &summary.run),
            baseline: against(variant),
            ..variant.clone()
        };
        summary.variants.iter().map(rename).collect()
    };
    let variants = [of(first, &against), of(second, &|_| false)].concat();
    Summary {
        title: format!("{} against {}", second.run, first.run),
        took: first.took + second.took,
        quick: first.quick || second.quick,
        validity: variants.iter().map(|variant| variant.validity).max().unwrap_or_default(),
        blocks: BlockCounts {
            used: first.blocks.used + second.blocks.used,
            void: first.blocks.void + second.blocks.void,
            ..stored.blocks
        },
        goal: None,
        share_margin: first.share_margin.or(second.share_margin),
        costs: costs
            .into_iter()
            .map(|cost| Cost { variant: named(&cost.variant, &second.run), ..cost })
            .collect(),
        variants,
        findings: Vec::new(),
        spread: Vec::new(),
        over_size: over_size([first, second]),
        // These name variants without their runs.
        tags: Default::default(),
        relays: Vec::new(),
        carried: Vec::new(),
        roles: Vec::new(),
        tables: Vec::new(),
        layering: Default::default(),
        factorials: Vec::new(),
        capacities: Vec::new(),
        unavailable: Vec::new(),
        ..stored
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weighbridge_model::id::PointLabel;
    use weighbridge_model::quantity::Bytes;
    use weighbridge_model::sizes::{Bounded, CliffChange};

    fn run(name: &str, cliff_at: f64, guides: &[(&str, u64)]) -> Summary {
        let (mut summary, _) =
            judge::imported::imported(&[], judge::Run { name: name.to_owned(), ..Default::default() });
        let at = |point: f64| Bounded { point, lower: 0.9 * point, upper: 1.1 * point };
        summary.over_size.cliffs = vec![SizeCliff {
            variant: "go".to_owned(),
            point: PointLabel::new(),
            operation: "pong".to_owned(),
            change: CliffChange::Level,
            place_bytes: at(cliff_at),
            period_bytes: None,
            height: at(5e6),
            before: 1e6,
            cause: None,
        }];
        let guide =
            |(name, bytes): &(&str, u64)| SizeGuide { name: (*name).to_owned(), bytes: Bytes::new(*bytes) };
        summary.over_size.guides = guides.iter().map(guide).collect();
        summary
    }

    #[test]
    fn cliffs_of_two_runs_are_told_apart_by_their_runs_and_nothing_is_advised() {
        let one = run("a", 87_380.0, &[("buffer", 100), ("window", 300)]);
        let two = run("b", 40_000.0, &[("buffer", 200), ("window", 300)]);
        let over = over_size([&one, &two]);
        let cliffs: Vec<_> = over.cliffs.iter().map(|c| (c.variant.as_str(), c.place_bytes.point)).collect();
        assert_eq!(cliffs, [("go (a)", 87_380.0), ("go (b)", 40_000.0)]);
        let guides: Vec<_> = over.guides.iter().map(|guide| guide.bytes.get()).collect();
        assert_eq!(guides, [100, 200, 300]);
        assert!(over.advice.is_empty());
    }
}
