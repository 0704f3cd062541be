//! What `scripts/oracles` cannot do with the command: judge a stored run again, and run a duet on a machine
//! with fewer than four cores.

use std::error::Error;
use std::fs;
use std::path::Path;

use weighbridge_conductor::run::run;
use weighbridge_conductor::{Checked, Control, Options, conditions};
use weighbridge_judge::{Cores, Placement, Question, Run, whole};
use weighbridge_lab::host::cores::CoreLayout;
use weighbridge_lab::host::lanes::Lanes;
use weighbridge_model::experiment::Experiment;
use weighbridge_store::RunFolder;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["rejudge", run, into] => rejudge(Path::new(run), Path::new(into)),
        ["duet", file, out, weigh] => duet(Path::new(file), Path::new(out), Path::new(weigh)),
        _ => Err("usage: oracle rejudge RUN INTO | oracle duet EXPERIMENT OUT WEIGH".into()),
    }
}

/// Judges the stored trials and writes `summary.json` and `detail.json`. The question is made from the run
/// folder alone, so that every build asks the same one.
fn rejudge(run: &Path, into: &Path) -> Result<(), Box<dyn Error>> {
    let folder = RunFolder::open(run)?;
    let experiment = Experiment::parse("experiment.toml", &folder.experiment()?)?;
    let stored = folder.summary()?;
    let facts = Run {
        title: stored.title,
        name: stored.run,
        started: stored.started,
        took: stored.took,
        quick: stored.quick,
        conditions: conditions(&experiment),
        tags: stored.tags,
        unavailable: stored.unavailable,
    };
    let cores = Cores { service: Some(1), placement: Placement::Apart };
    let question = Question {
        guides: stored.over_size.guides,
        idle: stored.idle,
        ..Question::new(&experiment, facts, cores)
    };
    let trials: Vec<_> = folder.load_blocks()?.into_iter().flatten().collect();
    let (summary, detail) = whole(&question, &trials);
    fs::write(into.join("summary.json"), serde_json::to_string_pretty(&summary)?)?;
    fs::write(into.join("detail.json"), serde_json::to_string_pretty(&detail)?)?;
    Ok(())
}

/// Both clients share the last core, both services the others: the figures mean nothing, but the record is
/// that of a duet.
fn duet(file: &Path, out: &Path, weigh: &Path) -> Result<(), Box<dyn Error>> {
    let layout = CoreLayout::detect()?;
    let lane = || (layout.client(), layout.service().to_vec());
    let options = Options {
        out: out.to_owned(),
        quick: false,
        measured_budget: false,
        allow_remote: false,
        guardian: (weigh.to_owned(), "guardian".to_owned()),
        experiment_folder: None,
        connect_to: None,
        hold_back: None,
        lanes: Some(Lanes::sharing([lane(), lane()])),
        calibrations: None,
        control: Control::default(),
    };
    let experiment = Experiment::parse("experiment.toml", &fs::read_to_string(file)?)?;
    run(Checked::new(experiment, &options)?, &options, &mut |_| {})?;
    Ok(())
}
