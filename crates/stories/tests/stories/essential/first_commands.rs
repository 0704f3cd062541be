//! What a newcomer types first, without having read anything: each answer fits a screen.

use crate::support::server::{GOOD, Server};
use crate::support::{Ended, WEIGH, World, measuring};

/// A terminal that nobody has made larger.
const LINES: usize = 24;
const COLUMNS: usize = 80;

/// Lines on that terminal, where what is longer is wrapped. Progress, which a terminal takes away at the end, is left out.
fn lines(ended: &Ended) -> usize {
    let is_progress = |line: &&str| {
        ["block ", "story: ", "load: ", "plan: "].iter().any(|word| line.starts_with(word))
            || line.contains(" blocks, ")
    };
    let told = ended.stdout.lines().chain(ended.stderr.lines().filter(|line| !is_progress(line)));
    told.map(|line| line.chars().count().div_ceil(COLUMNS).max(1)).sum()
}

#[track_caller]
fn assert_fits(typed: &str, ended: &Ended) {
    let count = lines(ended);
    assert!(count <= LINES, "`weigh {typed}` takes {count} lines: {ended}");
}

#[test]
fn what_is_asked_before_anything_is_measured_fits_a_screen() {
    let world = World::idle();
    for (typed, code) in [
        ("", 2),
        ("-h", 0),
        ("help", 0),
        ("load -h", 0),
        ("run -h", 0),
        ("init -h", 0),
        ("doctor -h", 0),
        ("history", 0),
        ("summary", 2),
        ("report", 2),
        ("init", 0),
    ] {
        let words: Vec<&str> = typed.split_whitespace().collect();
        let ended = world.weigh(&words).env("COLUMNS", "80").end();
        ended.assert_code(code);
        assert_fits(typed, &ended);
    }
    // Of every suite a line: more than a screen, and none wraps.
    let suites = world.weigh(&["suites"]).env("COLUMNS", "80").end();
    suites.assert_code(0);
    let count = world.weigh(&["suites", "--format", "json"]).end().json().as_array().map(Vec::len);
    assert_eq!(count.map(|count| count + 2), Some(lines(&suites)), "{suites}");
    let folder = world.weigh(&["suites", "capacity"]).end();
    let told = folder.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("A request that waits for a free connection is late too."), "{folder}");
    world.weigh(&["suites", "capcity"]).end().assert_error(&["`capcity`", "`weigh suites` lists them"]);
}

#[test]
fn what_is_measured_first_fits_a_screen() {
    measuring(|| {
        let world = World::new();
        // Each finding that is worse than a note has its remedy: a host that has many of them needs more.
        let doctor = world.weigh(&["doctor"]).env("COLUMNS", "80").end();
        assert!(matches!(doctor.code, Some(0 | 3)), "{doctor}");
        let is_bad = |line: &&str| line.starts_with("warning ") || line.starts_with("problem ");
        if doctor.stdout.lines().filter(is_bad).count() <= 5 {
            assert_fits("doctor", &doctor);
        }
        let (one, other) = (Server::answering(GOOD), Server::answering(GOOD));
        // Named as a newcomer's own programs are, and slower than the generator.
        for (name, time) in [("one", "200us"), ("other", "300us")] {
            world.script(name, &format!("exec '{WEIGH}' probe delay {time} --port \"$1\""));
        }
        let [program, alternative] = ["./one {port}", "./other {port}"];
        let urls = [one.url(), other.url()];
        for (typed, words) in [
            ("load URL", &["load", "-d", "1s", &urls[0]][..]),
            ("load URL URL", &["load", "-d", "2s", &urls[0], &urls[1]]),
            (
                "run --command A --command B",
                &["run", "--quick", "--budget", "2s", "--command", program, "--command", alternative],
            ),
            ("history", &["history"]),
            ("summary", &["summary"]),
            ("report", &["report"]),
        ] {
            let ended = world.weigh(words).end();
            ended.assert_measured();
            assert_fits(typed, &ended);
        }
        world.assert_nothing_left();
    });
}
