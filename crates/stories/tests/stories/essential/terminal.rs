//! Stories of a person at a terminal: what stands on the screen while something is measured, and that nothing of it stays.
//!
//! The program runs under a pseudo-terminal of its own, and a terminal emulator says what its screen shows.

use std::io::{Read, Write};
use std::process::ExitStatus;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use pty_process::Size;
use pty_process::blocking::{Command, open};
use vt100::Parser;

use crate::support::{WEIGH, World, measuring, probe, send, state};

/// Rows of the terminals: what is printed need not scroll.
const ROWS: u16 = 100;
/// Columns of the terminals.
const COLUMNS: u16 = 80;

/// What a person does at some moment.
enum Deed {
    Nothing,
    Type(&'static [u8]),
    /// Makes the terminal so wide.
    Widen(u16),
}

/// What was seen in the end.
struct Seen {
    status: ExitStatus,
    parser: Parser,
    bytes: Vec<u8>,
}

impl Seen {
    /// The lines on the screen.
    fn lines(&self) -> Vec<String> {
        lines(&self.parser)
    }

    #[track_caller]
    fn assert_clean(&self) {
        let lines = self.lines();
        assert!(!self.parser.screen().hide_cursor(), "the cursor is hidden: {lines:#?}");
        let left_over =
            |line: &&String| line.contains('╌') || line.starts_with("block ") || line.contains("recent");
        let found: Vec<_> = lines.iter().filter(left_over).collect();
        assert!(found.is_empty(), "{found:#?} stayed in {lines:#?}");
    }
}

fn lines(parser: &Parser) -> Vec<String> {
    parser.screen().contents().lines().map(|line| line.trim_end().to_owned()).collect()
}

/// Runs `weigh` in the world's folder at a terminal until it ends. `act` is asked again and again what to do, with what is
/// on the screen and the program's number.
fn at_terminal(
    world: &World,
    (arguments, environment): (&[&str], &[(&str, &str)]),
    mut act: impl FnMut(&Parser, u32) -> Deed,
) -> Seen {
    let (mut pty, pts) = open().expect("a pseudo-terminal");
    pty.resize(Size::new(ROWS, COLUMNS)).expect("a size");
    let command = Command::new(WEIGH).args(arguments).current_dir(world.path("")).env_clear();
    let command = command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    let command = command.env("HOME", world.path("")).env("XDG_STATE_HOME", world.path("state"));
    let command = command.env("TERM", "xterm-256color").envs(environment.iter().copied());
    let mut child = command.spawn(pts).expect("it starts");
    let own = std::os::fd::AsFd::as_fd(&pty).try_clone_to_owned().expect("a second handle");
    let (chunks, screen) = channel();
    let reader = std::thread::spawn(move || {
        let (mut own, mut buffer) = (std::fs::File::from(own), [0; 16_384]);
        // Where nobody holds the other end any more, reading fails.
        while let Ok(length @ 1..) = own.read(&mut buffer) {
            if chunks.send(buffer[..length].to_vec()).is_err() {
                break;
            }
        }
    });
    let (mut parser, mut bytes) = (Parser::new(ROWS, COLUMNS, 0), Vec::new());
    let began = Instant::now();
    loop {
        match screen.recv_timeout(Duration::from_millis(20)) {
            Ok(chunk) => {
                parser.process(&chunk);
                bytes.extend(chunk);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        match act(&parser, child.id()) {
            Deed::Nothing => {}
            Deed::Type(keys) => pty.write_all(keys).expect("typed"),
            Deed::Widen(columns) => {
                pty.resize(Size::new(ROWS, columns)).expect("resized");
                parser.screen_mut().set_size(ROWS, columns);
            }
        }
        if began.elapsed() > Duration::from_secs(120) {
            let _ = child.kill();
            panic!("it does not end: {:#?}", lines(&parser));
        }
    }
    reader.join().expect("the reader ends");
    Seen { status: child.wait().expect("it ended"), parser, bytes }
}

fn two_probes() -> World {
    let world = World::new();
    world.experiment(&[&probe("a", "null"), &probe("b", "delay 50us")]);
    world
}

const RUN: &[&str] = &["run", "experiment.toml", "--out", "runs", "--details", "--color", "always"];

#[test]
fn a_run_is_seen_live_and_leaves_its_table_alone_on_the_screen() {
    measuring(|| {
        let world = two_probes();
        let mut seen_rows = Vec::new();
        let (mut measuring, mut hidden) = (false, false);
        let seen = at_terminal(&world, (RUN, &[]), |parser, _| {
            let lines = lines(parser);
            let places = lines.iter().filter(|line| line.starts_with("block ")).count();
            assert!(places <= 1, "the view stands there twice: {lines:#?}");
            if lines.iter().any(|line| line.contains("measuring, round") && line.starts_with("block ")) {
                measuring = true;
                hidden |= parser.screen().hide_cursor();
                assert!(lines.iter().any(|line| line.contains(" left")), "{lines:#?}");
                seen_rows.extend(lines.into_iter().filter(|line| line.starts_with("b ")));
            }
            Deed::Nothing
        });
        assert!(seen.status.success(), "{:#?}", seen.lines());
        assert!(measuring && hidden, "{:#?}", seen.lines());
        assert!(seen_rows.iter().any(|row| row.contains("µs")), "{seen_rows:#?}");
        assert!(seen_rows.iter().any(|row| row.ends_with(" so far")), "{seen_rows:#?}");
        seen.assert_clean();

        // The table is the one that a pipe gets.
        let run = format!("runs/{}", world.run_folder().file_name().expect("a name").to_string_lossy());
        let piped = world.weigh(&["export", &run]).end();
        let table: Vec<_> = piped.stdout.lines().map(str::trim_end).collect();
        let lines = seen.lines();
        // What was warned of before anything was measured stands above it.
        let warned = lines.iter().take_while(|line| line.starts_with("warning: ")).count();
        // Only the run itself has written its page.
        let shown =
            lines[warned..warned + table.len()].iter().map(|line| line.trim_end_matches(" (report.html)"));
        assert_eq!(shown.collect::<Vec<_>>(), table);
        assert!(table.iter().all(|line| line.chars().count() <= 80), "{table:#?}");
    });
}

#[test]
fn ctrl_c_leaves_the_screen_clean() {
    let world = two_probes();
    let mut pressed = false;
    let seen = at_terminal(&world, (RUN, &[]), |parser, _| {
        let due = !pressed && lines(parser).iter().any(|line| line.contains("measuring, round"));
        pressed |= due;
        if due { Deed::Type(b"\x03") } else { Deed::Nothing }
    });
    assert!(pressed && seen.status.code() == Some(2), "{:?}: {:#?}", seen.status, seen.lines());
    assert!(seen.lines().iter().any(|line| line.contains("interrupted")), "{:#?}", seen.lines());
    seen.assert_clean();
}

#[test]
fn plain_lines_hold_no_control_character() {
    for environment in [("CI", "true"), ("NO_COLOR", "1")] {
        let world = two_probes();
        let mut pressed = false;
        let arguments = &RUN[..RUN.len() - 2];
        let seen = at_terminal(&world, (arguments, &[environment]), |parser, _| {
            let due = !pressed && lines(parser).iter().any(|line| line.starts_with("block "));
            pressed |= due;
            if due { Deed::Type(b"\x03") } else { Deed::Nothing }
        });
        assert!(pressed, "{environment:?}: {:#?}", seen.lines());
        let coloured = environment.0 == "CI";
        let controls = seen.bytes.iter().filter(|byte| **byte < 0x20 && !b"\r\n\x03".contains(byte));
        let controls = controls.filter(|byte| !(coloured && **byte == 0x1b)).count();
        assert_eq!(controls, 0, "{environment:?}: {}", String::from_utf8_lossy(&seen.bytes));
    }
}

#[test]
fn a_load_is_seen_live_stands_still_on_a_clean_screen_and_goes_on() {
    let world = World::new();
    let mut server = world.weigh(&["probe", "null", "--port", "0"]).start();
    while !server.stdout().starts_with("ready ") {
        server.until("it is ready", |_| true);
        std::thread::sleep(Duration::from_millis(5));
    }
    let url = format!("http://127.0.0.1:{}/", server.stdout().trim_start_matches("ready ").trim());
    let is_live = |parser: &Parser| {
        let lines = lines(parser);
        assert!(lines.iter().filter(|line| **line == url).count() <= 1, "twice: {lines:#?}");
        lines.iter().any(|line| line.contains("p50") && line.contains("p99"))
            && lines.iter().any(|l| l.contains("━"))
    };
    let (mut step, mut clean, mut again) = (0, false, false);
    let arguments = ["load", "-d", "3s", "--color", "always", &url];
    let seen = at_terminal(&world, (&arguments, &[]), |parser, pid| match step {
        0 if is_live(parser) => {
            step = 1;
            Deed::Widen(40)
        }
        1 if is_live(parser) => {
            step = 2;
            Deed::Type(b"\x1a")
        }
        2 if state(pid) == Some('T') => {
            step = 3;
            Deed::Nothing
        }
        // It writes no more, but what it wrote before it stopped may still be on its way: so often 20 ms.
        3.. if step < 100 && !clean => {
            step += 1;
            clean = !parser.screen().hide_cursor() && !lines(parser).iter().any(|line| line.contains("p99"));
            if clean || step == 100 {
                send("CONT", pid);
            }
            Deed::Nothing
        }
        _ => {
            again |= clean && is_live(parser);
            Deed::Nothing
        }
    });
    assert!(seen.status.success(), "{:#?}", seen.lines());
    assert!(clean && again, "{step}, {clean}, {again}: {:#?}", seen.lines());
    assert!(seen.lines().iter().any(|line| line.contains("begun anew")), "{:#?}", seen.lines());
    assert!(!seen.parser.screen().hide_cursor());
    server.end_by("TERM");
}
