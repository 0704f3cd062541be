//! Stories of run folders that were damaged after the run: every kind of run, and in each of them files changed, cut,
//! removed, replaced and added. Whatever reads a run refuses it and names the file, or says what it says of the run as it
//! was; nothing hangs, and no link, pipe or device is opened.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use weighbridge_model::record::TrialRecord;
use weighbridge_model::summary::{Detail, Summary};
use weighbridge_store::{ReadError, RunFolder};

use crate::look::Served;
use crate::recorded::{RUNS, copy_of, interrupted};
use crate::support::{Ended, World};

/// Changes of each kind of run that the readers of the store are tried with, and those that every verb is, where all are
/// asked for.
const CHANGES: usize = 220;
const SHOWN: usize = 12;

/// All of them take minutes: without `DAMAGE=all` it is the first third.
fn asked(all: usize) -> usize {
    if std::env::var("DAMAGE").is_ok_and(|asked| asked == "all") { all } else { all.div_ceil(3) }
}

fn kinds() -> Vec<String> {
    let names = fs::read_dir(&*RUNS).expect("runs").flatten().map(|entry| entry.file_name());
    names.map(|name| name.into_string().expect("UTF-8")).collect::<BTreeSet<_>>().into_iter().collect()
}

/// Numbers from a seed: xorshift.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end.max(1) as u64) as usize
    }
}

/// What happens to one file of a run.
#[derive(Debug, Clone, Copy)]
enum Change {
    Bit(usize),
    /// Only so many bytes are left.
    Cut(usize),
    /// So many bytes are gone, in the middle.
    Hole(usize),
    Removed,
    Folder,
    Pipe,
    Device,
    /// A link to the same bytes elsewhere.
    Link,
}

/// A run in which one file is changed, until it is dropped.
struct Damaged {
    place: PathBuf,
    bytes: Vec<u8>,
}

impl Damaged {
    fn new(run: &Path, file: &Path, change: Change) -> Self {
        let place = run.join(file);
        let bytes = fs::read(&place).expect("a file");
        fs::remove_file(&place).expect("it goes");
        match change {
            Change::Bit(at) => {
                let mut changed = bytes.clone();
                changed[at] ^= 1 << (at % 7);
                fs::write(&place, changed).expect("a file");
            }
            Change::Cut(end) => fs::write(&place, &bytes[..end]).expect("a file"),
            Change::Hole(at) => {
                let rest = (at + 16).min(bytes.len());
                fs::write(&place, [&bytes[..at], &bytes[rest..]].concat()).expect("a file");
            }
            Change::Removed => {}
            Change::Folder => fs::create_dir(&place).expect("a folder"),
            Change::Pipe => assert!(Command::new("mkfifo").arg(&place).status().expect("mkfifo").success()),
            Change::Device => symlink("/dev/zero", &place).expect("a link"),
            Change::Link => {
                let elsewhere = run.parent().expect("a folder").with_extension("elsewhere");
                fs::write(&elsewhere, &bytes).expect("a file");
                symlink(elsewhere, &place).expect("a link");
            }
        }
        Self { place, bytes }
    }
}

impl Drop for Damaged {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.place);
        let _ = fs::remove_file(&self.place);
        fs::write(&self.place, &self.bytes).expect("it is put back");
    }
}

/// Files of a run, by their paths in it.
fn files(run: &Path, within: &Path, found: &mut Vec<PathBuf>) {
    let mut names: Vec<_> = fs::read_dir(run.join(within)).expect("a folder").flatten().collect();
    names.sort_by_key(fs::DirEntry::file_name);
    for entry in names {
        let path = within.join(entry.file_name());
        if entry.path().is_dir() {
            files(run, &path, found);
        } else if entry.metadata().is_ok_and(|facts| facts.len() > 0) {
            found.push(path);
        }
    }
}

/// So many changes, of every file and each sort of change in turn.
fn changes(run: &Path, count: usize) -> Vec<(PathBuf, Change)> {
    let mut all = Vec::new();
    files(run, Path::new(""), &mut all);
    let mut random = Random(26);
    let mut change = |number: usize| {
        let file = all[(number + number / all.len()) % all.len()].clone();
        let at = random.below(fs::metadata(run.join(&file)).expect("a file").len() as usize);
        let change = match random.below(16) {
            0 => Change::Removed,
            1 => Change::Folder,
            2 => Change::Pipe,
            3 => Change::Device,
            4 => Change::Link,
            5 | 6 => Change::Cut(at),
            7 => Change::Hole(at),
            _ => Change::Bit(at),
        };
        (file, change)
    };
    (0..count).map(&mut change).collect()
}

/// Everything that the verbs read of a run.
#[derive(Debug, PartialEq)]
struct Read {
    /// Of a run that has ended.
    results: Option<(Summary, Detail)>,
    texts: [String; 3],
    trials: Vec<Vec<TrialRecord>>,
}

fn read(run: &Path) -> Result<Read, ReadError> {
    let run = RunFolder::open(run)?;
    let results = run.has_ended().then(|| Ok::<_, ReadError>((run.summary()?, run.detail()?))).transpose()?;
    let texts = [run.experiment()?, format!("{:?}", run.plan()?), format!("{:?}", run.environment()?)];
    Ok(Read { results, texts, trials: run.load_blocks()? })
}

/// Whether a message names the run and the file in it, or says that it is not there. Where digests were changed (a block
/// has those of its trials), it may name the file that they are wrong about.
fn names(message: &str, run: &Path, file: &Path) -> bool {
    let says = |path: &Path| message.contains(path.to_str().expect("UTF-8"));
    let has_digests = file == Path::new("digests.json") || file.starts_with("blocks");
    let is_absent = message.contains("has no `run.json`") || message.contains("has no summary");
    says(run) && (has_digests || says(file)) || is_absent
}

#[test]
fn no_change_of_any_kind_of_run_is_read_as_something_else() {
    let world = World::idle();
    let mut tried = 0;
    for kind in kinds() {
        let run = world.path(&kind);
        copy_of(&kind, &run);
        let original = read(&run).expect("it is whole");
        for (file, change) in changes(&run, asked(CHANGES)) {
            let damaged = Damaged::new(&run, &file, change);
            match read(&run) {
                Err(error) => {
                    assert!(names(&error.to_string(), &run, &file), "{kind}, {file:?}, {change:?}: {error}");
                }
                // A block that is gone from the end was not written yet, and results that are not there either.
                Ok(found) if original.results.is_none() || found.results.is_none() => {
                    let is_subset = found.trials.iter().all(|block| original.trials.contains(block));
                    assert!(is_subset && found.texts == original.texts, "{kind}, {file:?}, {change:?}");
                }
                Ok(found) => assert_eq!(found, original, "{kind}, {file:?}, {change:?}"),
            }
            drop(damaged);
            tried += 1;
        }
        assert_eq!(read(&run).expect("it is whole again"), original);
    }
    assert_eq!(tried, kinds().len() * asked(CHANGES));
    assert!(kinds().len() >= 12);
}

/// Of every file that its digests speak for; a stored summary alone would still be shown of most.
#[test]
fn no_result_is_printed_where_any_file_of_the_record_was_changed() {
    let world = World::idle();
    let run = world.path("run");
    copy_of("cache", &run);
    let mut all = Vec::new();
    files(&run, Path::new(""), &mut all);
    let is_of_the_record = |file: &&PathBuf| file.starts_with("trials") || file.starts_with("blocks");
    let (of_the_record, mut tried) = (all.iter().filter(is_of_the_record), BTreeSet::new());
    for file in of_the_record {
        let middle = fs::metadata(run.join(file)).expect("a file").len() as usize / 2;
        let _damaged = Damaged::new(&run, file, Change::Bit(middle));
        let ended = world.weigh(&["export", "run", "--format", "json"]).end();
        ended.assert_code(2);
        assert!(ended.stdout.is_empty() && names(&ended.stderr, Path::new("run"), file), "{file:?}: {ended}");
        tried.insert(file.file_name().expect("a name").to_owned());
    }
    assert!(tried.contains(OsStr::new("operations.csv")) && tried.len() >= 6, "{tried:?}");
}

/// Every verb that reads a run, with what it is told.
fn verbs(run: &str, kind: &str) -> Vec<Vec<String>> {
    let words = |text: String| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let formats =
        ["text", "json", "detail", "csv", "markdown", "html", "hdr-log", "jmh", "junit", "ppbench-csv"];
    let exports = formats.map(|format| format!("export {run} --format {format}"));
    let others = [
        format!("report {run} -o -"),
        format!("report {run} runs/gates -o -"),
        format!("summary {run}"),
        format!("summary {run} --unverified"),
        format!("cite {run}"),
        format!("compare {run}"),
        format!("compare {run} a b"),
        format!("compare {run} runs/gates"),
        format!("plot {run} --list"),
        format!("plot {run} forest -o -"),
        format!("judge {run}"),
        format!("run --resume {run}"),
        "history --out runs".to_owned(),
    ];
    // It would go on measuring.
    let is_safe = |verb: &String| kind != "interrupted" || !verb.starts_with("run ");
    exports.into_iter().chain(others).filter(is_safe).map(words).collect()
}

/// What a verb says without what differs from call to call.
fn said(ended: &Ended) -> (Option<i32>, String, String) {
    (ended.code, ended.stdout.clone(), ended.stderr.clone())
}

#[test]
fn every_verb_refuses_a_damaged_run_or_says_what_it_says_of_the_whole() {
    let world = World::idle();
    fs::create_dir(world.path("runs")).expect("a folder");
    copy_of("gates", &world.path("runs/gates"));
    for kind in kinds() {
        let (name, run) = (format!("runs/copy-{kind}"), world.path(&format!("runs/copy-{kind}")));
        copy_of(&kind, &run);
        let verbs = verbs(&name, &kind);
        let mut whole = HashMap::new();
        for (turn, (file, change)) in changes(&run, asked(SHOWN)).into_iter().enumerate() {
            // Each verb meets each kind of run, and several changes.
            for verb in verbs.iter().skip(turn % 4).step_by(4) {
                let expected = whole.entry(verb).or_insert_with(|| said(&world.weigh(verb).end())).clone();
                let damaged = Damaged::new(&run, &file, change);
                let ended = world.weigh(verb).end();
                drop(damaged);
                assert_right(&ended, &expected, verb, (&Path::new(&name).join(&file), change));
            }
        }
        fs::remove_dir_all(&run).expect("it goes");
    }
    world.assert_nothing_left();
}

/// As it was, or refused with the file's name and nothing on stdout.
fn assert_right(
    ended: &Ended,
    expected: &(Option<i32>, String, String),
    verb: &[String],
    (file, change): (&Path, Change),
) {
    if said(ended) == *expected {
        return;
    }
    let context = format!("{verb:?}, {}, {change:?}", file.display());
    let unverified = verb.iter().any(|word| word == "--unverified");
    if verb[0] == "history" {
        let named = ended.stdout.contains(file.parent().and_then(Path::to_str).expect("UTF-8"));
        assert!(ended.code == Some(0) && named && ended.stdout.contains("runs/gates"), "{context}: {ended}");
    } else if !(unverified && ended.code == Some(0)) {
        assert!(ended.code == Some(2) && ended.stdout.is_empty(), "{context}: {ended}");
        let errors = ended.stderr.lines().filter(|line| line.starts_with("error: ")).count();
        let folder = file.components().take(2).collect::<PathBuf>();
        let rest = file.strip_prefix(&folder).expect("within");
        assert!(errors == 1 && names(&ended.stderr, &folder, rest), "{context}: {ended}");
    }
}

#[test]
fn pages_of_a_damaged_run_say_what_is_wrong_or_what_they_said_before() {
    let world = World::idle();
    fs::create_dir(world.path("runs")).expect("a folder");
    copy_of("gates", &world.path("runs/gates"));
    copy_of("sizes", &world.path("runs/sizes"));
    let run = world.path("runs/gates");
    // None of them is a run of this folder.
    symlink(RUNS.join("matrix"), world.path("runs/linked")).expect("a link");
    symlink("/dev/zero", world.path("runs/zero")).expect("a link");
    assert!(Command::new("mkfifo").arg(world.path("runs/pipe")).status().expect("mkfifo").success());
    let served = Served::start(&world);
    let pages = [
        "/",
        "/run/gates/",
        "/run/gates/report",
        "/run/gates/export/json",
        "/run/gates/export/csv/windows",
        "/run/gates/export/hdr-log",
        "/compare?run=gates&baseline=a&variant=b",
        "/compare?run=sizes&against=gates&variant=a",
    ];
    for missing in ["linked", "zero", "pipe"] {
        assert_eq!(served.get(&format!("/run/{missing}/")).status, 404, "{missing}");
    }
    let whole = pages.map(|page| served.page(page));
    for (file, change) in changes(&run, 60) {
        let _damaged = Damaged::new(&run, &file, change);
        for (page, whole) in pages.iter().zip(&whole) {
            let reply = served.get(page);
            // A verdict of the damaged run stands nowhere: the list says that it cannot be read, in place of its headline.
            let is_refused = match *page {
                "/" => reply.body.contains("cannot be read"),
                _ => matches!(reply.status, 404 | 500),
            };
            // Without its manifest it is no run, and changed digests are wrong about another file.
            let is_named = ["run.json", "digests.json"].iter().any(|name| file == Path::new(name))
                || reply.body.contains(file.to_str().expect("UTF-8"));
            // Without its summary it is a run that has not ended.
            let is_unended = file == Path::new("summary.json")
                && ["not ended", "did not end"].iter().any(|words| reply.body.contains(words));
            assert!(
                reply.body == *whole || (is_refused && is_named) || is_unended,
                "{page}, {file:?}, {change:?}, {}: {}",
                reply.status,
                reply.body
            );
        }
    }
    assert_eq!(pages.map(|page| served.page(page)), whole);
    let listed = world.weigh(&["history", "--out", "runs"]).end();
    assert!(!listed.stdout.contains("linked") && !listed.stdout.contains("zero"), "{listed}");
    served.end();
}

#[test]
fn a_run_that_goes_on_writes_to_no_link_and_waits_for_no_pipe() {
    let world = World::idle();
    // Only on the host that made it may it go on.
    interrupted(&world);
    let run = world.path("run");
    fs::rename(world.run_folder(), &run).expect("a run");
    let before = fs::read_dir(run.join("trials")).expect("trials").count();
    for (file, change) in [
        ("lock", Change::Link),
        ("lock", Change::Pipe),
        ("events.jsonl", Change::Link),
        ("events.jsonl", Change::Pipe),
        ("plan.json", Change::Pipe),
        ("trials/000/windows.csv", Change::Link),
        ("trials/001/total.hlog", Change::Removed),
        ("blocks/000.json", Change::Bit(0)),
    ] {
        let damaged = Damaged::new(&run, Path::new(file), change);
        world.weigh(&["run", "--resume", "run"]).end().assert_error(&[file]);
        drop(damaged);
    }
    let precious = world.write("precious", "precious");
    symlink(&precious, run.join("logs/link.log")).expect("a link");
    world.weigh(&["run", "--resume", "run"]).end().assert_error(&["logs/link.log", "must be removed first"]);
    assert_eq!(fs::read_to_string(&precious).expect("a file"), "precious");
    assert_eq!(fs::read_dir(run.join("trials")).expect("trials").count(), before, "nothing is removed");

    // Rows of another program beside a run that was measured say nothing; charts go through no link.
    copy_of("gates", &world.path("measured"));
    let shown = world.weigh(&["summary", "measured"]).end();
    fs::copy(RUNS.join("imported/imported.csv"), world.path("measured/imported.csv")).expect("a copy");
    fs::create_dir(world.path("measured/charts")).expect("a folder");
    symlink(&precious, world.path("measured/charts/forest.svg")).expect("a link");
    assert_eq!(said(&world.weigh(&["summary", "measured"]).end()), said(&shown));
    world.weigh(&["plot", "measured", "forest"]).end().assert_code(0);
    assert_eq!(fs::read_to_string(&precious).expect("a file"), "precious");
}
