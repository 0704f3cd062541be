//! A variant whose operations run in its own process: it is asked for one window at a time over its standard
//! input, and measures with its own clock.
//!
//! This module takes the generator's part for it. It rejects inconsistent answers.

use std::sync::Arc;

use serde_json::Value;
use weighbridge_lab::host::clock::monotonic_now;
use weighbridge_lab::process::talk::{Talk, TalkError};
use weighbridge_load::window::{Load, Stop};
use weighbridge_model::quantity::{Bytes, Nanoseconds};
use weighbridge_model::record::{LoopHealth, WindowFigures};
use weighbridge_workload::direct::{AnswerError, Ask, DirectResult};
use weighbridge_workload::trade::ScriptInProcess;

use crate::control::Control;

/// A window takes a second as a rule; a service that has not answered by then will not.
const PATIENCE: Nanoseconds = Nanoseconds::from_secs(60);
/// Interval at which requests of the user are checked during a wait.
const LOOK: Nanoseconds = Nanoseconds::from_millis(50);

#[derive(Debug, thiserror::Error)]
pub enum DirectError {
    #[error(transparent)]
    Talk(#[from] TalkError),
    #[error("it did not answer `{asked}` within {PATIENCE}")]
    Silent { asked: String },
    #[error("asked `{asked}`: {source}; services/README.md says what a service has to answer")]
    Answer { asked: String, source: AnswerError },
    #[error("asked `{asked}`: `{answer}` is no answer; services/README.md says what a service has to answer")]
    Other { asked: &'static str, answer: String },
    #[error("called off")]
    Cancelled,
}

#[derive(Debug)]
pub(crate) struct Direct {
    talk: Talk,
    windows: u64,
    cpu: Nanoseconds,
    work: Work,
}

/// What it carries out at a point.
#[derive(Debug)]
pub(crate) enum Work {
    /// Pongs of these sizes, with equal shares.
    Pongs(Vec<Bytes>),
    /// Sessions of a script, on so many threads.
    Sessions { script: Arc<ScriptInProcess>, threads: u32 },
}

impl Direct {
    pub const fn new(talk: Talk) -> Self {
        Self { talk, windows: 0, cpu: Nanoseconds::ZERO, work: Work::Pongs(Vec::new()) }
    }

    /// From now on it carries out `work`.
    pub fn set_work(&mut self, work: Work) {
        self.work = work;
    }

    /// CPU time of all windows so far, as the service reports it: without the time for its input and output.
    pub const fn cpu(&self) -> Nanoseconds {
        self.cpu
    }

    /// Carries out a window of so many requests, whose sizes are drawn by `seed`; of a script, the fewest sessions that have
    /// as many.
    pub fn window(
        &mut self,
        requests: u64,
        seed: u64,
        control: &Control,
    ) -> Result<(WindowFigures, DirectResult), DirectError> {
        self.windows += 1;
        let (id, started) = (self.windows, monotonic_now());
        let (asked, result) = match &self.work {
            Work::Pongs(sizes) => {
                let sizes = sizes.clone();
                let ask = Ask { id, requests, seed, sizes: &sizes };
                let line = self.ask(&ask.to_string(), control)?;
                let answer = ask.answered_by(&String::from_utf8_lossy(&line));
                (ask.to_string(), answer.map(|answer| answer.result()))
            }
            Work::Sessions { script, threads } => {
                let (script, threads) = (Arc::clone(script), *threads);
                let ask = script.ask(id, requests, threads);
                let line = self.ask(&ask.to_string(), control)?;
                (ask.to_string(), ask.answered_by(&String::from_utf8_lossy(&line)))
            }
        };
        let result = result.map_err(|source| DirectError::Answer { asked, source })?;
        self.cpu += result.cpu;
        let figures = WindowFigures {
            started,
            ended: started + result.elapsed,
            offered: result.requests,
            requests: result.requests,
            operations: result.figures(),
            all: result.all(),
            counts: result.counts,
            health: LoopHealth { wall: result.elapsed, ..LoopHealth::default() },
            ..Default::default()
        };
        Ok((figures, result))
    }

    /// Whether it may be asked for requests before a window: those of a script would be others than those of the window.
    pub const fn can_lead_in(&self) -> bool {
        matches!(self.work, Work::Pongs(_))
    }

    /// Makes the database what it was at first.
    pub fn reset(&mut self, control: &Control) -> Result<(), DirectError> {
        self.asked_for_json("reset", control).map(|_| ())
    }

    /// What its database holds, in numbers.
    pub fn state(&mut self, control: &Control) -> Result<Value, DirectError> {
        self.asked_for_json("state", control)
    }

    fn asked_for_json(&mut self, asked: &'static str, control: &Control) -> Result<Value, DirectError> {
        let line = self.ask(asked, control)?;
        serde_json::from_slice(&line).map_err(|_| DirectError::Other {
            asked,
            answer: String::from_utf8_lossy(&line).chars().take(80).collect(),
        })
    }

    pub fn reply(&mut self, size: Bytes, control: &Control) -> Result<Vec<u8>, DirectError> {
        self.ask(&format!("reply {}", size.get()), control)
    }

    fn ask(&mut self, line: &str, control: &Control) -> Result<Vec<u8>, DirectError> {
        self.talk.say(line)?;
        let since = monotonic_now();
        loop {
            if let Some(answer) = self.talk.line(LOOK)? {
                return Ok(answer);
            }
            if control.is_cancelled() {
                return Err(DirectError::Cancelled);
            }
            if monotonic_now().since(since) > PATIENCE {
                return Err(DirectError::Silent { asked: line.to_owned() });
            }
        }
    }
}

/// Experiments with other loads were refused before anything was started.
pub(crate) fn requests(load: &Load) -> u64 {
    match load {
        Load::Closed(Stop::Count(requests)) => *requests,
        _ => 0,
    }
}
