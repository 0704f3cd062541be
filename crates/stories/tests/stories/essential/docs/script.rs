//! The script of `docs/RECORD.md` that computes a headline from the files of a run alone, against the judge.

use std::fs;
use std::path::Path;
use std::process::Command;

use weighbridge_judge::{Cores, Placement, Question, Run, summarise};
use weighbridge_model::experiment::Experiment;
use weighbridge_model::id::{OperationId, VariantId};
use weighbridge_model::pairing::Pairing;
use weighbridge_model::plan::{PlanFile, RunPlan};
use weighbridge_model::quantity::{Nanoseconds, Timestamp};
use weighbridge_model::record::{
    OperationFigures, Tallies, TrialRecord, Void, WindowFigures, WindowKind, WindowRecord,
};
use weighbridge_store::{Participant, RunWriter, UtcTime};

use super::{blocks, read, whole};

/// A measured window whose p50 is `p50` nanoseconds.
fn window(place: (u32, u16, u32), p50: u64) -> WindowRecord {
    let (block, variant, round) = place;
    let time = Nanoseconds::from_nanos(p50);
    let started = Timestamp::from_nanos(1_000_000_000 * u64::from(round + 1));
    let figures = OperationFigures {
        operation: OperationId(0),
        ok: 200,
        response_sum: time * 200,
        service_sum: time * 200,
        response_p50: time,
        service_p50: time,
        response_p90: time,
        service_p90: time,
        response_max: time,
    };
    WindowRecord {
        kind: WindowKind::Measured,
        block,
        round,
        position: u32::from(variant),
        variant: VariantId(variant),
        figures: WindowFigures {
            started,
            ended: started + time * 200,
            offered: 200,
            requests: 200,
            operations: vec![figures],
            all: Some(figures),
            ..Default::default()
        },
        ..Default::default()
    }
}

/// Seven blocks of twelve rounds, four of them the first stage and the fourth void: the variant near 1.2 times.
fn small_run() -> Vec<Vec<TrialRecord>> {
    let trial = |block: u32, variant: u16| {
        let p50 = |round: u32| {
            let noise = u64::from((block * 7_919 + round * 104_729 + u32::from(variant) * 271) % 997);
            let slow = if block == 3 { 9 } else { 1 };
            (100_000 + 20 * noise) * (10 + 2 * u64::from(variant) * slow) / 10
        };
        TrialRecord {
            block,
            variant: VariantId(variant),
            windows: (0..12).map(|round| window((block, variant, round), p50(round))).collect(),
            tallies: vec![Tallies::default()],
            pairings: vec![Pairing::Windows],
            void: (block == 3 && variant == 1).then_some(Void::ClockJump),
            ..Default::default()
        }
    };
    (0..7).map(|block| vec![trial(block, 0), trial(block, 1)]).collect()
}

#[test]
fn the_documented_script_finds_the_headline_from_the_files_alone() {
    let page = read("docs/RECORD.md");
    let script = blocks(&page).into_iter().find(|block| block.info == "python").expect("a script").text;
    let text = whole(
        "[plan]\nblocks = { min = 4, max = 10 }\n[[variant]]\nservice = \"a\"\n[[variant]]\nservice = \"b\"\n",
    );
    let experiment = Experiment::parse("small", &text).expect("an experiment");
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("docs-{}", std::process::id()));
    let mut run = RunWriter::create(&out, "small", UtcTime::from_unix_ns(0)).expect("a run folder");
    let plan = RunPlan { rules: experiment.plan.clone(), ..RunPlan::default() };
    run.write_plan(&PlanFile::Measured(Box::new(plan))).expect("a plan");
    let participant = |(variant, name): (VariantId, &str)| Participant { variant, name: name.to_owned() };
    let participants: Vec<_> = (0..).map(VariantId).zip(["a", "b"]).map(participant).collect();
    let trials = small_run();
    for block in &trials {
        run.write_block(&participants, block).expect("a block");
    }
    let output =
        Command::new("python3").args(["-c", &script]).arg(run.folder().path()).output().expect("Python runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8(output.stdout).expect("text");
    let said: Vec<f64> = said.split_whitespace().skip(1).map(|x| x.parse().expect("a number")).collect();

    let cores = Cores { service: Some(1), placement: Placement::Apart };
    let trials: Vec<_> = trials.into_iter().flatten().collect();
    let summary = summarise(&Question::new(&experiment, Run::default(), cores), &trials);
    assert_eq!((summary.blocks.used, summary.blocks.void), (6, 1));
    let ratio = summary.costs[0].ratio.expect("a ratio");
    let (lower, upper) = ratio.interval().expect("an interval");
    for (said, judged) in said.iter().zip([ratio.point, lower, upper]) {
        assert!((said / judged - 1.0).abs() < 1e-5, "the script says {said}, the judge {judged}");
    }
    assert_eq!(said.len(), 3);
    drop(run);
    fs::remove_dir_all(out).expect("the folder can be removed");
}
