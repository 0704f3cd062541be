//! The workload `trade` in the service's own process: the lines, and what they answer.

use serde_json::Value;
use tempfile::TempDir;
use weighbridge_model::experiment::Protocol;

use super::harness::Harness;
use super::limits::{START, STOP};
use super::outcome::{Shortfall, Verdict, differs, quoted};
use super::running::{Patience, Running, start_talking};
use super::trade_calls::same_state;
use super::trade_model::{Model, script_folder};

/// A process that plays the small script.
struct Player {
    running: Running,
    /// Of its files.
    _folder: TempDir,
}

impl Player {
    fn start(harness: &Harness) -> Result<Self, Shortfall> {
        let folder = script_folder()?;
        let data = folder.path().display().to_string();
        let environment = [("WORKLOAD", "trade"), ("DIRECT", "1"), ("DATA", data.as_str())];
        let mut running = start_talking(harness.subject, &environment)?;
        let line = running.line("start with `DIRECT=1`", harness.limits().within(START))?;
        if line != b"ready direct" {
            return Err(differs("start with `DIRECT=1`", "`ready direct` on stdout", quoted(&line)));
        }
        Ok(Self { running, _folder: folder })
    }

    fn answer(&mut self, harness: &Harness, line: &str) -> Result<Vec<u8>, Shortfall> {
        self.running.say(line)?;
        self.running.line(&format!("`{line}`"), harness.limits().within(START))
    }

    fn value(&mut self, harness: &Harness, line: &str) -> Result<Value, Shortfall> {
        let answer = self.answer(harness, line)?;
        serde_json::from_slice(&answer)
            .map_err(|_| differs(format_args!("`{line}`"), "JSON on one line", quoted(&answer)))
    }

    fn reset(&mut self, harness: &Harness) -> Verdict {
        let answer = self.value(harness, "reset")?;
        if answer == Value::Object(serde_json::Map::new()) {
            return Ok(());
        }
        Err(differs("`reset`", "`{}`", format_args!("`{answer}`")))
    }

    fn has(&mut self, harness: &Harness, when: &str, expected: &Value) -> Verdict {
        same_state(when, expected, &self.value(harness, "state")?)
    }
}

fn is_offered(harness: &Harness) -> bool {
    harness.subject.offers("trade", Protocol::DIRECT)
}

fn in_process(shortfall: Shortfall) -> Shortfall {
    shortfall.behind(" (in process)")
}

pub(super) fn population(harness: &Harness, opening: &Value) -> Verdict {
    if !is_offered(harness) {
        return Ok(());
    }
    Player::start(harness)?.has(harness, "at first", opening).map_err(in_process)
}

pub(super) fn passages(harness: &Harness, model: &Model) -> Verdict {
    if !is_offered(harness) {
        return Ok(());
    }
    let mut player = Player::start(harness)?;
    let mut passage = |threads: u64| {
        player.reset(harness)?;
        player.has(harness, "after a reset", &model.opening)?;
        let line = format!("window {threads} {} {threads} {}", model.sessions, model.grain_name());
        let came = player.value(harness, &line)?;
        window(&line, threads, model, &came)?;
        player.has(harness, &format!("the end of `{line}`"), &model.end)
    };
    [1, 16].into_iter().try_for_each(&mut passage).map_err(in_process)
}

/// A window must have its number, times that can be, the model's digest, and each operation as often as the model.
fn window(line: &str, id: u64, model: &Model, came: &Value) -> Verdict {
    let differs = |field: &str, expected: &dyn std::fmt::Display, came: &Value| {
        Err(differs(format_args!("`{line}`, `{field}`"), expected, format_args!("`{came}`")))
    };
    if came["id"] != id {
        return differs("id", &id, &came["id"]);
    }
    if came["digest"] != model.digest {
        return differs(
            "digest",
            &format_args!("that of the right replies, {}", model.digest),
            &came["digest"],
        );
    }
    for field in ["elapsed_ns", "cpu_ns"] {
        // CPU time may be told in steps that are longer than the passage.
        let least = u64::from(field == "elapsed_ns");
        if came[field].as_u64().is_none_or(|time| time < least) {
            return differs(field, &"a time in ns", &came[field]);
        }
    }
    let operations = came["operations"].as_object();
    let names: Vec<_> = operations.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    let known = |name: &&str| model.operations.contains_key(*name);
    if names.len() != model.operations.len() || !names.iter().all(known) {
        return differs("operations", &format_args!("{:?}", model.operations.keys()), &came["operations"]);
    }
    for (name, good) in &model.operations {
        let told = &came["operations"][*name];
        let times: Vec<_> = told["times_ns"].as_array().into_iter().flatten().map(Value::as_u64).collect();
        let is_right = told["good"] == *good
            && told["failed"] == 0
            && told["retried"].is_u64()
            && times.len() as u64 == *good
            && times.is_sorted()
            && times.iter().all(Option::is_some);
        if !is_right {
            let expected = format!("{good} good ones with as many times, rising, and none that failed");
            return differs(&format!("operations.{name}"), &expected, told);
        }
    }
    Ok(())
}

pub(super) fn lines(harness: &mut Harness) -> Verdict {
    if !is_offered(harness) {
        let name = &harness.subject.name;
        return Err(Shortfall::Skipped(format!("`{name}` does not offer `trade` in its process")));
    }
    let mut player = Player::start(harness)?;
    for line in [
        "",
        "frobnicate",
        "reset now",
        "state now",
        "window",
        "window 1 1 1",
        "window 1 1 1 medium",
        "window 1 1 1 FINE",
        "window 1 1 1 fine coarse",
        "window x 1 1 fine",
        "window 1 0 1 fine",
        "window 1 01 1 fine",
        "window 1 33 1 fine",
        "window 1 1 0 fine",
        "window 1 1 -1 fine",
        "window 1 1 1025 fine",
    ] {
        let came = player.answer(harness, line)?;
        if came.strip_prefix(b"error ").is_none_or(<[u8]>::is_empty) {
            return Err(differs(format_args!("`{line}`"), "`error <text>`", quoted(&came)));
        }
    }
    let model = Model::of(weighbridge_model::experiment::Grain::Fine);
    player.has(harness, "after lines that are none", &model.opening)?;
    let line = format!("window 7 {} 1024 fine", model.sessions);
    window(&line, 7, &model, &player.value(harness, &line)?)?;
    ends(harness, player)
}

/// The end of stdin ends the process.
fn ends(harness: &Harness, mut player: Player) -> Verdict {
    player.running.end_input();
    let expected = "exit code 0 within 5 s, nothing more on stdout, nothing on stderr";
    match player.running.end(harness.limits().within(STOP), Patience::UntilDeadline) {
        Ok(ended) if ended.code() == Some(0) && ended.stdout.is_empty() && ended.stderr.is_empty() => Ok(()),
        Ok(ended) => Err(differs("end of stdin", expected, ended)),
        Err(came) => Err(differs("end of stdin", expected, came)),
    }
}
