//! kill -9 at random moments: the run loses at most the block being written, and goes on.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use weighbridge_model::event::{Event, TimedEvent};
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_store::{RunFolder, RunWriter};

use crate::support::*;

const FOLDER: &str = "WEIGHBRIDGE_TEST_RUN_FOLDER";
const KILLS: usize = 20;

#[test]
fn a_killed_writer_loses_at_most_the_block_it_was_writing() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        write_until_killed(Path::new(&folder));
    }
    let out = tempfile::tempdir().unwrap();
    let folder = RunWriter::create(out.path(), "crash", STARTED).unwrap().folder().path().to_owned();
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut before = 0;
    for _ in 0..KILLS {
        let wanted = random.random_range(1..=3);
        let stored =
            before + run_and_kill(&folder, wanted, Duration::from_micros(random.random_range(0..20_000)));
        let blocks = RunFolder::open(&folder).unwrap().load_blocks().unwrap();
        let found = blocks.len();
        // The marker may be in place although the writer did not live to say so.
        assert!(found == stored || found == stored + 1, "{found} blocks found, {stored} reported");
        assert!(blocks.into_iter().zip(0..).all(|(trials, number)| trials == block(number)));
        before = found;
    }
    // Each writer found what its predecessors had stored, and every event line is whole.
    let events = RunFolder::open(&folder).unwrap().events().unwrap();
    assert!(events.len() >= before, "{} events for {before} blocks", events.len());
    let mut last = RunWriter::resume(&folder).unwrap();
    last.discard_incomplete().unwrap();
    let trials = std::fs::read_dir(folder.join("trials")).unwrap().count();
    assert_eq!(trials, before * participants().len(), "nothing but the trials of whole blocks is left");
}

/// Starts a writer, waits until it reports `wanted` blocks, kills it `delay` later; returns the blocks it
/// reported.
fn run_and_kill(folder: &Path, wanted: usize, delay: Duration) -> usize {
    let mut writer = Command::new(std::env::current_exe().unwrap())
        .args(["crash::a_killed_writer_loses_at_most_the_block_it_was_writing", "--exact", "--nocapture"])
        .env(FOLDER, folder)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(writer.stdout.take().unwrap()).lines();
    let mut reports = lines.map_while(Result::ok).filter(|line| line == "stored");
    let mut stored = reports.by_ref().take(wanted).count();
    std::thread::sleep(delay);
    writer.kill().unwrap();
    writer.wait().unwrap();
    stored += reports.count();
    assert!(stored >= wanted, "the writer ended by itself");
    stored
}

/// The child's part: goes on with the run, block after block, for ever.
fn write_until_killed(folder: &Path) -> ! {
    let mut run = RunWriter::resume(folder).unwrap();
    run.discard_incomplete().unwrap();
    let first = run.folder().blocks().unwrap().len() as u32;
    for number in first.. {
        let event = Event::BlockStarted { block: number, of: u32::MAX };
        run.append_event(&TimedEvent { at: Nanoseconds::ZERO, event }).unwrap();
        run.write_block(&participants(), &block(number)).unwrap();
        std::io::stdout().write_all(b"stored\n").unwrap();
    }
    unreachable!("the parent kills this process")
}
