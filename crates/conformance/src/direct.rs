//! Rows D1 to D7: operations that run in the service's own process, requested over its standard input.

use std::time::{Duration, Instant};

use weighbridge_model::experiment::Protocol;
use weighbridge_model::quantity::Bytes;
use weighbridge_workload::direct::Ask;

use super::harness::Harness;
use super::limits::{START, STOP};
use super::outcome::{Shortfall, Verdict, differs, quoted};
use super::process::refuses_value;
use super::running::{Patience, Running, start_talking};
use super::{Needs, Test, row};

/// What the rows require.
const NEEDS: Needs = Needs::Speaks(Protocol::DIRECT);

pub(super) const ROWS: &[Test] = &[
    row("D1", "with `DIRECT=1` stdout is exactly `ready direct`, and SIGTERM ends it with exit code 0")
        .tried(NEEDS, ready_and_ended),
    row("D2", "`reply` is answered with the body in a line").tried(NEEDS, replies),
    row(
        "D3",
        "a window is answered with its requests, times that add up and the digest of the right replies",
    )
    .tried(NEEDS, |harness| {
        windows(harness, &[64], &[(7, 1, 1), (8, 1_000, 1), (9, 100_000, 18_446_744_073_709_551_615)])
    }),
    row("D4", "sizes are drawn from the seed as those of a variant with a protocol are")
        .tried(NEEDS, |harness| {
            windows(harness, &[4, 5, 1_000, 65_536], &[(1, 500, 42), (2, 500, 43), (3, 500, 42)])
        }),
    row("D5", "a line that asks for nothing that there is is answered by `error <text>`, the next as ever")
        .tried(NEEDS, wrong_lines),
    row("D6", "SIGTERM lets the window at work be answered, the end of stdin ends the process; exit code 0")
        .tried(NEEDS, ends),
    row("D7", "a `DIRECT` other than 1 is refused in one line, exit code 2").tried(NEEDS, |harness| {
        ["0", "yes", "2"].into_iter().try_for_each(|value| refuses_value(harness, "DIRECT", value, &[]))
    }),
];

/// A service that has printed `ready direct`.
fn started(harness: &Harness) -> Result<Running, Shortfall> {
    let mut running = start_talking(harness.subject, &[("DIRECT", "1")])?;
    let line = running.line("start with `DIRECT=1`", harness.limits().within(START))?;
    if line == b"ready direct" {
        return Ok(running);
    }
    Err(differs("start with `DIRECT=1`", "`ready direct` and a line feed on stdout", quoted(&line)))
}

/// Sends a line and returns the answer.
fn asked(harness: &Harness, running: &mut Running, line: &str) -> Result<Vec<u8>, Shortfall> {
    running.say(line)?;
    running.line(&format!("`{line}`"), harness.limits().for_reply(0))
}

/// Waits for exit code 0 without output.
fn over(running: Running, harness: &Harness, what: &str) -> Verdict {
    let expected = "exit code 0 within 5 s, nothing more on stdout, nothing on stderr";
    match running.end(harness.limits().within(STOP), Patience::UntilDeadline) {
        Ok(ended) if ended.code() == Some(0) && ended.stdout.is_empty() && ended.stderr.is_empty() => Ok(()),
        Ok(ended) => Err(differs(what, expected, ended)),
        Err(came) => Err(differs(what, expected, came)),
    }
}

fn ready_and_ended(harness: &mut Harness) -> Verdict {
    let running = started(harness)?;
    running.terminate()?;
    over(running, harness, "SIGTERM")
}

fn replies(harness: &mut Harness) -> Verdict {
    let mut running = started(harness)?;
    [4, 5, 6, 99, 1_000, 40_000].into_iter().try_for_each(|size| reply(harness, &mut running, size))
}

fn reply(harness: &Harness, running: &mut Running, size: usize) -> Verdict {
    let line = format!("reply {size}");
    let came = asked(harness, running, &line)?;
    let right = format!("p{}ng", "o".repeat(size - 3));
    if came == right.as_bytes() {
        return Ok(());
    }
    let length = came.len();
    Err(differs(
        format_args!("`{line}`"),
        format_args!("pong({size})"),
        format_args!("{length} bytes, {}", quoted(&came)),
    ))
}

/// Checks that each of these windows (number, requests, seed) is answered correctly.
fn windows(harness: &mut Harness, sizes: &[u64], windows: &[(u64, u64, u64)]) -> Verdict {
    let sizes: Vec<Bytes> = sizes.iter().copied().map(Bytes::new).collect();
    let mut running = started(harness)?;
    windows.iter().try_for_each(|(id, requests, seed)| {
        let ask = Ask { id: *id, requests: *requests, seed: *seed, sizes: &sizes };
        let came = asked(harness, &mut running, &ask.to_string())?;
        ask.answered_by(&String::from_utf8_lossy(&came))
            .map(drop)
            .map_err(|error| differs(format_args!("`{ask}`"), "an answer of services/README.md", error))
    })
}

fn wrong_lines(harness: &mut Harness) -> Verdict {
    let mut running = started(harness)?;
    for line in [
        "frobnicate",
        "window",
        "window 1 0 1 64",
        "window 1 10 1 3",
        "window 1 10 1 64,",
        "window 1 -1 1 64",
        "reply 100000001",
        "reply",
    ] {
        let came = asked(harness, &mut running, line)?;
        if came.strip_prefix(b"error ").is_none_or(<[u8]>::is_empty) {
            return Err(differs(format_args!("`{line}`"), "`error <text>`", quoted(&came)));
        }
    }
    reply(harness, &mut running, 5)
}

fn ends(harness: &mut Harness) -> Verdict {
    let mut running = started(harness)?;
    let sizes = [Bytes::new(64)];
    let ask = Ask { id: 1, requests: 2_000_000, seed: 1, sizes: &sizes };
    running.say(&ask.to_string())?;
    // Only a window that has begun must be answered; on a busy host it may take long to read the line.
    let deadline = harness.limits().within(START);
    while !running.has_read_all() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(Duration::from_millis(20));
    running.terminate()?;
    let came = running.line("SIGTERM in a window", harness.limits().within(STOP))?;
    ask.answered_by(&String::from_utf8_lossy(&came))
        .map_err(|error| differs("SIGTERM in a window", "its answer", error))?;
    over(running, harness, "SIGTERM in a window")?;
    let mut running = started(harness)?;
    reply(harness, &mut running, 5)?;
    running.end_input();
    over(running, harness, "end of stdin")
}
