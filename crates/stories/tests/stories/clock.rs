//! A jump of the wall clock against the monotonic one, in the middle of a block of a real run.
//!
//! No test may set the clock of the host it runs on. So the run is conducted here, as the verb does it, with a reader of the
//! clocks that takes the true readings and adds a minute to the wall clock once, when the first window has been measured;
//! everything else is the program's own: the probes, the guardian, the windows, the record.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use weighbridge_conductor::run::run;
use weighbridge_conductor::{Checked, Control, Options};
use weighbridge_lab::host::clock::ClockReading;
use weighbridge_model::event::{Event, TimedEvent};
use weighbridge_model::experiment::Experiment;
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::record::Void;
use weighbridge_model::summary::Severity;

use crate::support::{WEIGH, World, experiment, measuring, note_disturbance, probe};

/// Whether the wall clock has been set forward.
static SET: AtomicBool = AtomicBool::new(false);
/// Readings taken.
static READ: AtomicU32 = AtomicU32::new(0);

fn clocks() -> ClockReading {
    READ.fetch_add(1, Ordering::SeqCst);
    let reading = ClockReading::take();
    let minute = if SET.load(Ordering::SeqCst) { Nanoseconds::from_secs(60) } else { Nanoseconds::ZERO };
    ClockReading { realtime: reading.realtime + minute, ..reading }
}

#[test]
fn a_wall_clock_that_is_set_in_the_middle_of_a_block_voids_it_and_the_run_measures_another() {
    measuring(|| {
        SET.store(false, Ordering::SeqCst);
        READ.store(0, Ordering::SeqCst);
        let world = World::new();
        let text = experiment("", &[&probe("a", "null"), &probe("b", "null")]);
        let experiment = Experiment::parse("experiment.toml", &text).expect("an experiment");
        let options = Options {
            out: world.path("runs"),
            quick: false,
            measured_budget: false,
            allow_remote: false,
            guardian: (WEIGH.into(), "guardian".to_owned()),
            experiment_folder: None,
            connect_to: None,
            hold_back: None,
            lanes: None,
            calibrations: None,
            control: Control { clocks: Some(clocks), ..Control::default() },
        };
        let mut void = Vec::new();
        let finished = run(
            Checked::new(experiment, &options).expect("no mistake"),
            &options,
            &mut |timed: &TimedEvent| match &timed.event {
                // The second block has begun and its variants are warm.
                Event::Warm { .. } if void.is_empty() && READ.load(Ordering::SeqCst) > 150 => {
                    SET.store(true, Ordering::SeqCst);
                }
                Event::BlockVoid { block, reason } => {
                    note_disturbance(reason);
                    void.push((*block, reason.clone()));
                }
                _ => {}
            },
        );
        let finished = finished.expect("the run goes on");
        assert!(SET.load(Ordering::SeqCst), "the clock was set");
        assert_eq!(void.len(), 1, "one block is void: {void:?}");
        let (number, reason) = &void[0];
        assert!(reason.contains("the wall clock jumped"), "{reason}");
        let blocks = finished.folder.load_blocks().expect("its record");
        let jumped = |trials: &&Vec<_>| {
            trials
                .iter()
                .any(|trial: &weighbridge_model::record::TrialRecord| trial.void == Some(Void::ClockJump))
        };
        let voided: Vec<_> = blocks.iter().filter(jumped).collect();
        assert_eq!(voided.len(), 1, "the record keeps it, as void");
        assert!(voided[0].iter().all(|trial| trial.block == *number));
        let counts = finished.summary.blocks;
        assert_eq!((counts.used, counts.void), (4, 1), "it was measured anew");
        let told = finished.summary.findings.iter().find(|finding| finding.name == "void block");
        assert!(told.is_some_and(|f| f.severity == Severity::Note && f.evidence.contains("the wall clock jumped")));
    });
}
