//! A disk that fills up, or that nobody may write to: the error says what to do, and earlier blocks stay.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use weighbridge_model::detail::{Curve, TimeKind};
use weighbridge_model::event::{Event, TimedEvent};
use weighbridge_model::id::PointLabel;
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::summary::Detail;
use weighbridge_store::{RunFolder, RunWriter, WriteError};

use crate::support::*;

/// Pages that a block of two trials may need, and some more.
const PAGES: usize = 26;
const PAGE: usize = 4096;

/// Starting `mount` and `umount` copies this process's open files for a moment, and a removed file takes
/// space as long as it is open anywhere: tests that count pages must not run beside tests that start
/// processes.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// A small file system of its own, unmounted on drop.
struct Tmpfs {
    folder: tempfile::TempDir,
    _alone: MutexGuard<'static, ()>,
}

impl Tmpfs {
    /// `None`, and a line on standard error, where this user or host cannot mount one.
    fn mount(size: &str) -> Option<Self> {
        let alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = tempfile::tempdir().unwrap();
        match mount(&["-t", "tmpfs", "-o", &format!("size={size}"), "weighbridge-test"], folder.path()) {
            Ok(()) => Some(Self { folder, _alone: alone }),
            Err(reason) => {
                let hint = "run as root to test full disks";
                let line = format!("SKIPPED: no tmpfs can be mounted here ({reason}); {hint}\n");
                // Not `eprintln!`, which the test harness keeps to itself where a test passes.
                std::io::stderr().write_all(line.as_bytes()).unwrap();
                None
            }
        }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Fills it up but for `pages` pages.
    fn leave(&self, pages: usize) -> PathBuf {
        let ballast = self.path().join("ballast");
        let mut file = fs::File::create_new(&ballast).unwrap();
        while file.write_all(&[0; PAGE]).is_ok() {}
        let filled = file.metadata().unwrap().len() as usize;
        file.set_len(filled.saturating_sub(pages * PAGE) as u64).unwrap();
        ballast
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(self.path()).status();
    }
}

fn mount(options: &[&str], folder: &Path) -> Result<(), String> {
    let output =
        Command::new("mount").args(options).arg(folder).output().map_err(|error| error.to_string())?;
    let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    if output.status.success() { Ok(()) } else { Err(message) }
}

#[test]
fn a_full_disk_at_any_moment_loses_no_earlier_block() {
    let Some(disk) = Tmpfs::mount("1m") else { return };
    let mut failures = 0;
    for pages in 0..PAGES {
        let mut run = RunWriter::create(disk.path(), "full", STARTED).unwrap();
        run.write_block(&participants(), &block(0)).unwrap();
        let ballast = disk.leave(pages);
        let written = run.write_block(&participants(), &block(1));
        let whole = run.folder().load_blocks().unwrap();
        match &written {
            Ok(()) => assert_blocks(&whole, &[block(0), block(1)], "it fitted"),
            Err(error) => {
                failures += 1;
                assert!(matches!(error, WriteError::DiskFull { .. }), "{pages} pages left: {error}");
                let folder = run.folder().path().display().to_string();
                let text = error.to_string();
                assert!(text.contains(&format!("continue with `weigh run --resume {folder}`")), "{text}");
                assert_blocks(&whole, &[block(0)], "after the failure");
                // Space is freed: the same process goes on, or another one does.
                fs::remove_file(&ballast).unwrap();
                if pages % 2 == 0 {
                    let folder = run.folder().path().to_owned();
                    drop(run);
                    run = RunWriter::resume(folder).unwrap();
                }
                run.write_block(&participants(), &block(1)).unwrap();
                assert_blocks(
                    &run.folder().load_blocks().unwrap(),
                    &[block(0), block(1)],
                    "after freeing space",
                );
            }
        }
        let _ = fs::remove_file(&ballast);
        fs::remove_dir_all(run.folder().path()).unwrap();
    }
    assert!(
        (5..PAGES).contains(&failures),
        "{failures} of {PAGES} fillings failed: the sweep misses the edge"
    );
}

#[test]
fn a_file_that_cannot_be_replaced_stays_as_it_was() {
    let Some(disk) = Tmpfs::mount("256k") else { return };
    let run = RunWriter::create(disk.path(), "replaced", STARTED).unwrap();
    let detail = |curves: usize| {
        let point = PointLabel::new();
        let curve = Curve {
            variant: "grpc".to_owned(),
            point,
            operation: "all".to_owned(),
            time: TimeKind::Response,
            points: Vec::new(),
            band: Vec::new(),
        };
        Detail { curves: vec![curve; curves], ..Detail::default() }
    };
    run.write_detail(&detail(1)).unwrap();
    for pages in 0..3 {
        let ballast = disk.leave(pages);
        let error = run.write_detail(&detail(500)).unwrap_err();
        assert!(matches!(error, WriteError::DiskFull { .. }), "{error}");
        assert_eq!(run.folder().detail().unwrap(), detail(1), "{pages} pages left");
        fs::remove_file(ballast).unwrap();
    }
    run.write_detail(&detail(500)).unwrap();
    assert_eq!(run.folder().detail().unwrap(), detail(500));
}

#[test]
fn a_disk_that_is_full_from_the_start_leaves_no_folder() {
    let Some(disk) = Tmpfs::mount("64k") else { return };
    let ballast = disk.leave(0);
    let error = RunWriter::create(disk.path(), "full", STARTED).unwrap_err();
    assert!(matches!(error, WriteError::DiskFull { .. }), "{error}");
    assert!(error.to_string().contains("`--out DIR`"), "{error}");
    fs::remove_file(ballast).unwrap();
    assert_eq!(fs::read_dir(disk.path()).unwrap().count(), 0);
    RunWriter::create(disk.path(), "full", STARTED).unwrap();
}

#[test]
fn a_read_only_disk_is_named_and_can_still_be_read() {
    let Some(disk) = Tmpfs::mount("1m") else { return };
    let mut run = RunWriter::create(disk.path(), "read only", STARTED).unwrap();
    run.write_block(&participants(), &block(0)).unwrap();
    let folder = run.folder().path().to_owned();
    drop(run);
    mount(&["-o", "remount,ro"], disk.path()).unwrap();
    for error in [
        RunWriter::create(disk.path(), "another", STARTED).unwrap_err(),
        RunWriter::resume(&folder).unwrap_err(),
        RunFolder::open(&folder).unwrap().write_derived("report.html", b"x").unwrap_err(),
    ] {
        assert!(matches!(error, WriteError::Denied { .. }), "{error}");
        assert!(error.to_string().contains("make it writable and"), "{error}");
    }
    assert_blocks(&RunFolder::open(&folder).unwrap().load_blocks().unwrap(), &[block(0)], "read only");
}

#[test]
fn events_on_a_full_disk_stay_whole_lines() {
    let Some(disk) = Tmpfs::mount("256k") else { return };
    let mut run = RunWriter::create(disk.path(), "events", STARTED).unwrap();
    let ballast = disk.leave(2);
    let event = |number: usize| TimedEvent {
        at: Nanoseconds::from_nanos(number as u64),
        event: Event::Warning { text: "w".repeat(1000 + number) },
    };
    let mut kept = 0;
    let error = loop {
        match run.append_event(&event(kept)) {
            Ok(()) => kept += 1,
            Err(error) => break error,
        }
        assert!(kept < 64, "two pages never filled up");
    };
    assert!(matches!(error, WriteError::DiskFull { .. }), "{error}");
    fs::remove_file(ballast).unwrap();
    run.append_event(&event(kept)).unwrap();
    assert_eq!(run.folder().events().unwrap(), (0..=kept).map(event).collect::<Vec<_>>());
}
